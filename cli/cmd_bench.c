/*
 * stoker bench: a loader runs over a dataset, and says where the time went.
 *
 * The consumer does nothing with a batch but let go of it, so the figures are those of the loader
 * alone. CPU time is that of the whole process from before opening the dataset's loader to the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli.h"
#include "feed.h"
#include "out_human.h"
#include "out_json.h"
#include "progress.h"
#include "where.h"

enum { DRAW_NS = 100 * 1000 * 1000, BAR_WIDTH = 24, EPOCHS_MOST = 1000 };

typedef struct settings {
    feed_settings feed;
    uint64_t epochs, steps;
    bool json, quiet;
} settings;

static const option options[] = {
    FEED_OPTIONS(settings),
    {"epochs", 'e', OPTION_NUMBER, offsetof(settings, epochs), 1, EPOCHS_MOST, "N",
        "Epochs; the first one is told apart from the later ones. 2."},
    {"steps", 0, OPTION_NUMBER, offsetof(settings, steps), 1, UINT64_MAX, "N",
        "Stop after N batches, even in mid-epoch."},
    {"json", 0, OPTION_FLAG, offsetof(settings, json), 0, 0, NULL, "One JSON document."},
    {"quiet", 'q', OPTION_FLAG, offsetof(settings, quiet), 0, 0, NULL, "No progress."},
};

/* One epoch, or what of it was run. */
typedef struct lap {
    uint64_t samples, ns;
} lap;

typedef struct bench_run {
    const settings *s;
    feed feed;
    stk_loader *loader;
    lap laps[EPOCHS_MOST];
    size_t lap_count;
    uint64_t samples, batches, steps; /* steps: to run, at most */
    double cpu_seconds;
    uint64_t peak_bytes; /* of the process */
    char shape[256];     /* of the first batch */
    progress bar;
    stk_loader_stats stats;
} bench_run;

static double cpu_seconds(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Highest resident memory of the process so far, in bytes; 0: the system does not tell. */
static uint64_t peak_memory(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    unsigned long long kib = 0;
    char line[256];

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoull(line + 6, NULL, 10);
    }
    if (fclose(file) != 0)
        return 0;
    return kib * 1024;
}

static void describe_batch(bench_run *r, const stk_batch *batch)
{
    const stk_tensor *tensor;
    size_t used = 0;

    for (size_t nth = 0; (tensor = stk_batch_tensor(batch, nth)) != NULL; nth++) {
        char shape[96] = "";
        size_t at = 0;
        int length;

        for (int32_t i = 0; i < tensor->ndim && tensor->offsets == NULL; i++) {
            length = snprintf(shape + at, sizeof shape - at, "%s%lld", i > 0 ? ", " : "",
                (long long)tensor->shape[i]);
            at += length > 0 && at + (size_t)length < sizeof shape ? (size_t)length : 0;
        }
        length = snprintf(r->shape + used, sizeof r->shape - used, "%s%s (%s) %s",
            nth > 0 ? ", " : "", tensor->name, tensor->offsets != NULL ? "ragged" : shape,
            stk_dtype_name(tensor->dtype));
        used += length > 0 && used + (size_t)length < sizeof r->shape ? (size_t)length : 0;
    }
}

/* The next batch; the progress is drawn while waiting for it. */
static stk_status next_batch(bench_run *r, stk_batch **batch_out, stk_error *err)
{
    stk_status st;

    while ((st = stk_loader_next_timed(r->loader, DRAW_NS, batch_out, err)) == STK_AGAIN)
        progress_draw(&r->bar);
    return st;
}

static stk_status run_epoch(bench_run *r, uint64_t start_ns, stk_error *err)
{
    lap *here = &r->laps[r->lap_count];
    uint64_t drawn_ns = start_ns;
    stk_batch *batch;
    stk_status st = STK_OK;

    while (r->batches < r->steps && (st = next_batch(r, &batch, err)) == STK_OK) {
        uint64_t rows = stk_batch_rows(batch);

        if (r->batches == 0)
            describe_batch(r, batch);
        here->samples += rows;
        r->batches++;
        progress_add(&r->bar, rows, 0);
        stk_batch_unref(batch);
        if (clock_ns() - drawn_ns > DRAW_NS) {
            drawn_ns = clock_ns();
            progress_draw(&r->bar);
        }
    }
    if (st < 0)
        return st;
    here->ns = clock_ns() - start_ns;
    r->samples += here->samples;
    r->lap_count++;
    return STK_OK;
}

static stk_status measure(bench_run *r, stk_dataset *dataset, stk_error *err)
{
    double cpu = cpu_seconds();
    uint64_t start_ns = clock_ns();
    stk_status st = stk_loader_open_dataset(dataset, &r->feed.options, &r->loader, err);

    if (st < 0)
        return st;
    progress_start(&r->bar, "running", "samples",
        stk_dataset_count(dataset) / r->s->feed.world_size * r->s->epochs, r->s->quiet);
    for (uint64_t epoch = 0; epoch < r->s->epochs && st >= 0 && r->batches < r->steps; epoch++) {
        st = run_epoch(r, start_ns, err);
        start_ns = clock_ns();
    }
    progress_end(&r->bar);
    stk_loader_get_stats(r->loader, &r->stats);
    r->cpu_seconds = cpu_seconds() - cpu;
    r->peak_bytes = peak_memory();
    return st;
}

static double rate(uint64_t count, uint64_t ns)
{
    return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

/* All epochs but the first. */
static lap later_laps(const bench_run *r)
{
    lap later = {0, 0};

    for (size_t i = 1; i < r->lap_count; i++) {
        later.samples += r->laps[i].samples;
        later.ns += r->laps[i].ns;
    }
    return later;
}

static uint64_t busy_total(const stk_loader_stats *stats)
{
    uint64_t total = 0;

    for (int i = 0; i < STK_STAGE_COUNT; i++)
        total += stats->stages[i].busy_ns;
    return total;
}

static void say_rate(const char *name, const lap *l)
{
    say("%-14s %11s samples/s   %s samples in %s\n", name,
        real_text(rate(l->samples, l->ns), 0).text, count_text(l->samples).text,
        seconds_text((double)l->ns * 1e-9).text);
}

static void say_stages(const bench_run *r)
{
    const stk_loader_stats *stats = &r->stats;
    uint64_t total = busy_total(stats);

    say("\n%-10s %10s  %7s  %-*s %11s %12s\n", "stage", "busy", "share", BAR_WIDTH + 2, "",
        "a sample", "bytes/s");
    for (int i = STK_STAGE_NONE + 1; i < STK_STAGE_COUNT; i++) {
        const stk_stage_stats *stage = &stats->stages[i];
        double share = total > 0 ? (double)stage->busy_ns / (double)total : 0;
        char bytes[40] = "-";

        if (stage->count == 0)
            continue;
        if (stage->bytes > 0 &&
            snprintf(bytes, sizeof bytes, "%s/s",
                bytes_text((uint64_t)rate(stage->bytes, stage->busy_ns)).text) < 0)
            bytes[0] = '\0';
        say("%-10s %10s  %5.1f %%  [", stk_stage_name((stk_stage)i),
            seconds_text((double)stage->busy_ns * 1e-9).text, share * 100);
        say_bar(share, BAR_WIDTH);
        say("] %11s %12s\n",
            seconds_text(r->samples > 0 ? (double)stage->busy_ns * 1e-9 / (double)r->samples : 0)
                .text,
            bytes);
    }
}

static void say_report(const bench_run *r, const stk_dataset *dataset)
{
    const stk_loader_stats *stats = &r->stats;
    uint32_t shards = stk_dataset_shard_count(dataset);
    lap later = later_laps(r);
    char line[256];

    feed_describe(&r->feed, &r->s->feed, line, sizeof line);
    say("%-14s %s samples in %s shard%s\n", "dataset", count_text(stk_dataset_count(dataset)).text,
        count_text(shards).text, plural(shards));
    say("%-14s %s\n", "work", line);
    say("%-14s %s\n", "batch", r->shape);
    say("%-14s %u to decode, %u to read; %u batches in memory\n\n", "threads", stats->threads,
        stats->io_threads, stats->slots);
    say("%-14s %11s after opening\n", "first batch",
        seconds_text((double)stats->first_batch_ns * 1e-9).text);
    if (r->lap_count > 0)
        say_rate("first epoch", &r->laps[0]);
    if (later.samples > 0)
        say_rate("later epochs", &later);
    say("%-14s %11s for 1,000 samples\n", "CPU time",
        seconds_text(r->samples > 0 ? r->cpu_seconds * 1000 / (double)r->samples : 0).text);
    say("%-14s %11s resident; the loader allocated %s at most\n", "peak memory",
        bytes_text(r->peak_bytes).text, bytes_text(stats->memory_peak_bytes).text);
    if (stk_loader_damage_count(r->loader) > 0)
        say("%-14s %11s samples\n", "damaged", count_text(stk_loader_damage_count(r->loader)).text);
    say_stages(r);
    say("\nverdict: %s\n", stats->verdict);
}

static void json_stages(json *out, const bench_run *r)
{
    uint64_t total = busy_total(&r->stats);

    json_array(out, "stages", true);
    for (int i = STK_STAGE_NONE + 1; i < STK_STAGE_COUNT; i++) {
        const stk_stage_stats *stage = &r->stats.stages[i];

        json_object(out, NULL, false);
        json_text(out, "stage", stk_stage_name((stk_stage)i));
        json_count(out, "count", stage->count);
        json_count(out, "busy_ns", stage->busy_ns);
        json_real(out, "share", total > 0 ? (double)stage->busy_ns / (double)total : 0);
        json_count(out, "bytes", stage->bytes);
        json_end_object(out);
    }
    json_end_array(out);
}

static void json_report(const bench_run *r, const stk_dataset *dataset)
{
    const stk_loader_stats *stats = &r->stats;
    lap later = later_laps(r);
    json out;

    json_start(&out, stdout);
    json_object(&out, NULL, true);
    json_text(&out, "version", stk_version());
    json_count(&out, "dataset_samples", stk_dataset_count(dataset));
    json_text(&out, "batch", r->shape);
    json_count(&out, "batch_size", r->s->feed.batch_size);
    json_count(&out, "threads", stats->threads);
    json_count(&out, "io_threads", stats->io_threads);
    json_count(&out, "slots", stats->slots);
    json_count(&out, "samples", r->samples);
    json_count(&out, "batches", r->batches);
    json_real(&out, "first_batch_seconds", (double)stats->first_batch_ns * 1e-9);
    json_real(&out, "first_epoch_rate", rate(r->laps[0].samples, r->laps[0].ns));
    if (later.ns > 0) {
        json_real(&out, "later_epochs_rate", rate(later.samples, later.ns));
    } else {
        json_text(&out, "later_epochs_rate", NULL);
    }
    json_array(&out, "epochs", false);
    for (size_t i = 0; i < r->lap_count; i++) {
        json_object(&out, NULL, false);
        json_count(&out, "samples", r->laps[i].samples);
        json_real(&out, "seconds", (double)r->laps[i].ns * 1e-9);
        json_end_object(&out);
    }
    json_end_array(&out);
    json_real(&out, "cpu_seconds", r->cpu_seconds);
    json_real(&out, "cpu_seconds_per_1000",
        r->samples > 0 ? r->cpu_seconds * 1000 / (double)r->samples : 0);
    json_count(&out, "peak_memory_bytes", r->peak_bytes);
    json_count(&out, "loader_memory_bytes", stats->memory_peak_bytes);
    json_count(&out, "allocations", stats->allocations);
    json_count(&out, "cold_reads", stats->cold_reads);
    json_count(&out, "wait_ns", stats->wait_ns);
    json_count(&out, "damaged", stk_loader_damage_count(r->loader));
    json_stages(&out, r);
    json_text(&out, "limit", stk_stage_name(stats->limit));
    json_text(&out, "verdict", stats->verdict);
    json_end_object(&out);
}

static int run(const command *self, int argc, char **argv)
{
    settings s = {.feed = FEED_SETTINGS_INIT, .epochs = 2, .steps = UINT64_MAX};
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_dataset *dataset = NULL;
    bench_run *r;
    int code;
    words w;

    if (!options_read(self, argc, argv, &s, &w))
        return EXIT_USAGE;
    code = where_open(self, &w, &opening, s.json, &dataset);
    if (code != EXIT_DONE)
        return code;
    r = memory_get(NULL, 1, sizeof *r);
    *r = (bench_run){.s = &s, .steps = s.steps};
    feed_init(&r->feed, &s.feed, dataset);
    if (measure(r, dataset, &err) < 0) {
        code = fail(&err, s.json);
    } else if (s.json) {
        json_report(r, dataset);
    } else {
        say_report(r, dataset);
    }
    stk_loader_close(r->loader);
    stk_dataset_unref(dataset);
    free(r);
    return code;
}

const command command_bench = {
    .name = "bench",
    .summary = "run a loader over a dataset, and say where the time goes",
    .usage = "WHERE... [options]",
    .about = "Runs the loader as training would, without the training: throughput of the first\n"
             "epoch and of later ones, time to the first batch, CPU time, peak memory, and the\n"
             "time of each stage, with the one that limits and what to change.",
    .examples = "stoker bench \"train-*.tar\"\n"
                "stoker bench photos/ --transforms resize --size 256 --normalize --threads 8\n"
                "stoker bench train.tar --steps 100 --json | jq .later_epochs_rate",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};

/*
 * stoker plan: what an epoch will be: steps, samples of each rank, the tail, memory.
 *
 * The number of steps and the memory are the loader's own; how the last step is dealt out is the
 * rule of docs/order.md.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "feed.h"
#include "out_human.h"
#include "out_json.h"
#include "where.h"

typedef struct settings {
    feed_settings feed;
    bool json;
} settings;

static const option options[] = {
    FEED_OPTIONS(settings),
    {"json", 0, OPTION_FLAG, offsetof(settings, json), 0, 0, NULL, "One JSON document."},
};

/* An epoch of `count` samples. */
typedef struct epoch_plan {
    uint64_t count, steps;
    uint64_t global;      /* samples of a step on all ranks */
    uint64_t full;        /* steps of full batches */
    uint64_t rest;        /* samples after them */
    uint64_t last_batch;  /* of the last step on rank 0; the batch size if the step is full */
    uint64_t least_batch; /* the same on the last rank */
    uint64_t larger;      /* ranks whose last batch is last_batch; the others have least_batch */
    uint64_t repeated, left_out;
} epoch_plan;

static epoch_plan make_plan(const feed_settings *s, uint64_t count, uint64_t steps)
{
    epoch_plan p = {.count = count, .steps = steps, .global = s->batch_size * s->world_size};

    p.full = count / p.global;
    p.rest = count % p.global;
    p.last_batch = p.least_batch = s->batch_size;
    p.larger = s->world_size;
    if (p.rest == 0)
        return p;
    switch ((stk_tail)s->tail) {
    case STK_TAIL_SHORT:
        p.least_batch = p.rest / s->world_size;
        p.larger = p.rest % s->world_size;
        p.last_batch = p.least_batch + (p.larger > 0);
        p.larger = p.larger > 0 ? p.larger : s->world_size;
        break;
    case STK_TAIL_DROP:
        p.left_out = p.rest;
        break;
    case STK_TAIL_WRAP:
        p.repeated = p.global - p.rest;
        break;
    }
    return p;
}

/* Samples of a rank in the whole epoch. */
static uint64_t rank_total(const feed_settings *s, const epoch_plan *p, uint64_t rank)
{
    return (p->steps - 1) * s->batch_size + (rank < p->larger ? p->last_batch : p->least_batch);
}

static void say_ranks(const feed_settings *s, const epoch_plan *p)
{
    if (p->larger == s->world_size) {
        say("%-12s %s samples on each of %s rank%s\n", "ranks",
            count_text(rank_total(s, p, 0)).text, count_text(s->world_size).text,
            plural(s->world_size));
        return;
    }
    say("%-12s %s samples on rank%s 0", "ranks", count_text(rank_total(s, p, 0)).text,
        plural(p->larger));
    if (p->larger > 1)
        say(" to %llu", (unsigned long long)(p->larger - 1));
    say(", %s on rank%s %llu", count_text(rank_total(s, p, p->larger)).text,
        plural(s->world_size - p->larger), (unsigned long long)p->larger);
    if (s->world_size - p->larger > 1)
        say(" to %llu", (unsigned long long)(s->world_size - 1));
    say("\n");
}

static void say_tail(const feed_settings *s, const epoch_plan *p)
{
    static const char *const names[] = {"short", "drop", "wrap"};

    say("%-12s %s: ", "tail", names[s->tail]);
    if (p->rest == 0) {
        say("the last step is full\n");
    } else if (p->repeated > 0) {
        say("the last step has %s new samples and %s from the start of the order\n",
            count_text(p->rest).text, count_text(p->repeated).text);
    } else if (p->left_out > 0) {
        say("%s sample%s at the end of the order %s left out\n", count_text(p->left_out).text,
            plural(p->left_out), p->left_out == 1 ? "is" : "are");
    } else if (p->last_batch == p->least_batch) {
        say("the last step has %s on each rank\n", count_text(p->last_batch).text);
    } else {
        say("the last step has %s on %s rank%s, %s on %s\n", count_text(p->last_batch).text,
            count_text(p->larger).text, plural(p->larger), count_text(p->least_batch).text,
            count_text(s->world_size - p->larger).text);
    }
    if (p->least_batch == 0)
        say("%-12s some ranks get an empty batch in it: the loader wants allow_empty\n", "");
}

static void say_plan(
    const feed *f, const feed_settings *s, const epoch_plan *p, const stk_loader_stats *stats)
{
    char line[256];

    feed_describe(f, s, line, sizeof line);
    say("%-12s %s\n", "samples", count_text(p->count).text);
    say("%-12s %s\n", "work", line);
    say("%-12s %s on every rank, of %s samples each, %s on all ranks\n", "steps",
        count_text(p->steps).text, count_text(s->batch_size).text, count_text(p->global).text);
    say_ranks(s, p);
    say_tail(s, p);
    say("%-12s %s of at most %s: %u batches in memory, %u thread%s to decode, %u to read\n",
        "memory", bytes_text(stats->memory_peak_bytes).text, bytes_text(s->memory).text,
        stats->slots, stats->threads, plural(stats->threads), stats->io_threads);
}

static void json_plan(const feed_settings *s, const epoch_plan *p, const stk_loader_stats *stats)
{
    json out;

    json_start(&out, stdout);
    json_object(&out, NULL, true);
    json_count(&out, "samples", p->count);
    json_count(&out, "steps", p->steps);
    json_count(&out, "batch_size", s->batch_size);
    json_count(&out, "world_size", s->world_size);
    json_count(&out, "global_batch", p->global);
    json_count(&out, "left_out", p->left_out);
    json_count(&out, "repeated", p->repeated);
    json_array(&out, "ranks", false);
    for (uint64_t first = 0; first < s->world_size;
        first = first < p->larger ? p->larger : s->world_size) {
        json_object(&out, NULL, false);
        json_count(&out, "first", first);
        json_count(&out, "count", first == 0 ? p->larger : s->world_size - p->larger);
        json_count(&out, "samples", rank_total(s, p, first));
        json_count(&out, "last_batch", first == 0 ? p->last_batch : p->least_batch);
        json_end_object(&out);
    }
    json_end_array(&out);
    json_count(&out, "memory_bytes", stats->memory_peak_bytes);
    json_count(&out, "memory_ceiling_bytes", s->memory);
    json_count(&out, "slots", stats->slots);
    json_count(&out, "threads", stats->threads);
    json_count(&out, "io_threads", stats->io_threads);
    json_end_object(&out);
}

static int plan(const settings *s, stk_dataset *dataset)
{
    stk_error err = STK_ERROR_INIT;
    stk_loader *loader = NULL;
    stk_loader_stats stats;
    stk_batch *batch;
    epoch_plan p;
    feed f;

    feed_init(&f, &s->feed, dataset);
    if (stk_loader_open_dataset(dataset, &f.options, &loader, &err) < 0)
        return fail(&err, s->json);
    /* one step, so that all memory of a running loader is there */
    if (stk_loader_next(loader, &batch, &err) < 0) {
        stk_loader_close(loader);
        return fail(&err, s->json);
    }
    stk_batch_unref(batch);
    stk_loader_get_stats(loader, &stats);
    p = make_plan(&s->feed, stk_dataset_count(dataset), stk_loader_steps(loader));
    stk_loader_close(loader);
    if (s->json) {
        json_plan(&s->feed, &p, &stats);
    } else {
        say_plan(&f, &s->feed, &p, &stats);
    }
    return EXIT_DONE;
}

static int run(const command *self, int argc, char **argv)
{
    settings s = {.feed = FEED_SETTINGS_INIT};
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    stk_dataset *dataset;
    int code;
    words w;

    if (!options_read(self, argc, argv, &s, &w))
        return EXIT_USAGE;
    if (s.feed.rank >= s.feed.world_size) {
        return usage_error(self, "--rank is %llu; it must be below --world-size, which is %llu",
            (unsigned long long)s.feed.rank, (unsigned long long)s.feed.world_size);
    }
    code = where_open(self, &w, &opening, s.json, &dataset);
    if (code != EXIT_DONE)
        return code;
    code = plan(&s, dataset);
    stk_dataset_unref(dataset);
    return code;
}

const command command_plan = {
    .name = "plan",
    .summary = "steps, samples of each rank, the tail and the memory of an epoch",
    .usage = "WHERE... [options]",
    .about =
        "Tells what an epoch will be before it runs. Every rank has the same number of steps.\n"
        "The memory is that of one running loader with these options.",
    .examples = "stoker plan \"train-*.tar\" --batch-size 256 --world-size 8\n"
                "stoker plan \"train-*.tar\" --world-size 8 --tail drop --json",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};

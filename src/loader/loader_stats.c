/* Figures of a loader and what they mean; see <stoker/loader.h>. */
#include "base/text.h"
#include "loader/handle.h"
#include "os/clock.h"

/* The consumer limits when it waited for less than this share of the time. */
#define IDLE_CONSUMER 0.05

/* Threads that sleep this share of the time while the consumer waits are short of bytes. */
#define IDLE_THREADS 0.30

static stk_stage busiest(const stk_loader_stats *stats)
{
    stk_stage most = STK_STAGE_DECODE;

    for (int i = 0; i < STK_STAGE_COUNT; i++) {
        if (stats->stages[i].busy_ns > stats->stages[most].busy_ns)
            most = (stk_stage)i;
    }
    return most;
}

static const char *advice(stk_stage stage)
{
    switch (stage) {
    case STK_STAGE_READ:
        return "keep the data on a faster disk, use shuffle=\"shards\", or raise io_threads";
    case STK_STAGE_DECODE:
        return "more threads help, and so do smaller stored pictures";
    case STK_STAGE_TRANSFORM:
        return "more threads help, and so does a smaller output or uint8 instead of float32";
    case STK_STAGE_PLAN:
        return "a larger batch_size costs less planning for each sample";
    default:
        return "more threads help";
    }
}

static void judge(stk_loader_stats *stats)
{
    stk__text line = {.data = stats->verdict, .capacity = sizeof stats->verdict};
    double elapsed = (double)(stats->elapsed_ns > 0 ? stats->elapsed_ns : 1);
    double waited = (double)stats->wait_ns / elapsed;
    double idle = stats->threads > 0 ? (double)stats->idle_ns / elapsed / stats->threads : 0;

    if (stats->batches == 0) {
        stats->limit = STK_STAGE_NONE;
        stk__text_put(&line, "nothing was handed out yet");
    } else if (stats->threads > 0 && waited < IDLE_CONSUMER) {
        stats->limit = STK_STAGE_DELIVER;
        stk__text_put(&line,
            "the consumer limits: it waited %.1f %% of the time; fewer threads would do",
            waited * 100);
    } else if (stats->threads > 0 && idle > IDLE_THREADS && stats->cold_reads > 0) {
        stats->limit = STK_STAGE_READ;
        stk__text_put(&line,
            "reading limits: %llu reads waited for the disk and threads idled %.0f %% of the time; "
            "%s",
            (unsigned long long)stats->cold_reads, idle * 100, advice(STK_STAGE_READ));
    } else {
        stats->limit = busiest(stats);
        stk__text_put(&line,
            "%s limits: it takes most of the threads' time and the consumer waited %.0f %%; %s",
            stk_stage_name(stats->limit), waited * 100, advice(stats->limit));
    }
}

void stk_loader_get_stats(stk_loader *loader, stk_loader_stats *stats_out)
{
    stk__window_stats window = {0};

    *stats_out = (stk_loader_stats){0};
    if (stk__arena_foreign(loader->arena))
        return;
    stk__window_get_stats(loader->window, &window);
    for (int i = 0; i < STK_STAGE_COUNT; i++)
        stats_out->stages[i] = (stk_stage_stats){.count = window.stages[i].count,
            .busy_ns = window.stages[i].busy_ns,
            .bytes = window.stages[i].bytes};
    stats_out->samples = loader->samples;
    stats_out->batches = loader->batches;
    stats_out->cold_reads = window.cold_reads;
    stats_out->wait_ns = loader->wait_ns;
    stats_out->elapsed_ns = stk__clock_ns() - loader->opened_ns;
    stats_out->idle_ns = window.idle_ns;
    stats_out->first_batch_ns = loader->first_batch_ns;
    stats_out->memory_bytes = stk__load_relaxed_u64(&loader->heap->used_bytes);
    stats_out->memory_peak_bytes = stk__load_relaxed_u64(&loader->heap->peak_bytes);
    stats_out->allocations = stk__load_relaxed_u64(&loader->heap->allocations);
    stats_out->threads = loader->threads;
    stats_out->io_threads = loader->threads == 0 ? 0 : (uint32_t)loader->options.io_threads;
    stats_out->slots = window.slots;
    stats_out->slots_held = window.slots_held;
    judge(stats_out);
}

/*
 * The loader: opening, handing out, closing. See <stoker/loader.h>; the work is done in pipeline/.
 *
 * The consumer's place (epoch, step, skipped) is what has been handed out; what is in flight never
 * counts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loader/handle.h"
#include "os/clock.h"
#include "os/cpu.h"

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static stk_status copy_damaged(
    stk_loader *loader, const stk_loader_options *options, stk_error *err)
{
    size_t count = options->known_damage_count;

    if (count == 0)
        return STK_OK;
    loader->damaged = stk__heap_alloc(loader->heap, count, sizeof *loader->damaged);
    if (loader->damaged == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for %zu known damages", count);
    loader->damaged_count = count;
    memcpy(loader->damaged, options->known_damage, count * sizeof *loader->damaged);
    qsort(loader->damaged, count, sizeof *loader->damaged, compare_numbers); /* ties are equal */
    return STK_OK;
}

static stk_status make_order(stk_loader *loader, const stk_loader_options *options, stk_error *err)
{
    uint32_t shards = stk_dataset_shard_count(loader->dataset);
    stk__order_spec spec = {
        .kind = (stk__order_kind)options->shuffle,
        .count = stk_dataset_count(loader->dataset),
        .seed = options->seed,
        .shard_count = shards,
        .window = options->shuffle_window,
        .weights = options->weights,
    };
    uint64_t *starts = NULL;
    stk_status st;

    if (options->shuffle == STK_SHUFFLE_SHARDS) {
        starts = stk__heap_alloc(loader->heap, (size_t)shards + 1, sizeof *starts);
        if (starts == NULL)
            return STK_FAIL(err, STK_ENOMEM, "no memory for the starts of %u shards", shards);
        for (uint32_t i = 0; i <= shards; i++)
            starts[i] = stk_dataset_shard_start(loader->dataset, i);
        spec.shard_starts = starts;
    }
    st = stk__order_new(loader->heap, &spec, &loader->order, err);
    stk__heap_free(loader->heap, starts, (size_t)shards + 1, sizeof *starts);
    return st;
}

static stk_status make_columns(stk_loader *loader, stk_error *err)
{
    size_t count = loader->plan.count;
    stk__column_spec *specs = stk__heap_zalloc(loader->heap, count, sizeof *specs);
    stk_status st;

    if (specs == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for the columns of a batch");
    stk__field_plan_columns(&loader->plan, loader->options.batch_size, specs);
    st = stk__arena_set_columns(loader->arena, specs, count, loader->options.batch_size, err);
    stk__heap_free(loader->heap, specs, count, sizeof *specs);
    return st;
}

static void make_schedule(stk_loader *loader)
{
    const stk_loader_options *options = &loader->options;

    loader->schedule = (stk__schedule){
        .plan = &loader->plan,
        .ranks = {.count = stk_dataset_count(loader->dataset),
            .batch = options->batch_size,
            .rank = options->rank,
            .world = options->world_size,
            .tail = (stk__tail_kind)options->tail},
        .seed = options->seed,
        .on_error = options->on_error,
        .damaged = loader->damaged,
        .damaged_count = loader->damaged_count,
        .by_size = options->shuffle == STK_SHUFFLE_FULL || options->shuffle == STK_SHUFFLE_WEIGHTED,
    };
    loader->schedule.steps = stk__ranks_steps(&loader->schedule.ranks);
}

static stk_status build(stk_loader *loader, const stk_loader_options *options, stk_error *err)
{
    stk__window_options window;

    loader->options = *options;
    loader->threads =
        options->threads == STK_THREADS_AUTO ? stk__cpu_usable() : (uint32_t)options->threads;
    STK_TRY(stk__field_plan_init(&loader->plan, loader->heap, loader->dataset, options, err));
    STK_TRY(copy_damaged(loader, options, err));
    STK_TRY(make_order(loader, options, err));
    STK_TRY(make_columns(loader, err));
    make_schedule(loader);
    STK_TRY(stk__loader_plan_memory(loader, err));
    window = (stk__window_options){.arena = loader->arena,
        .schedule = &loader->schedule,
        .order = loader->order,
        .threads = loader->threads,
        .io_threads = (uint32_t)options->io_threads,
        .prefetch = loader->prefetch};
    return stk__window_new(&window, &loader->window, err);
}

/* It is named by its first file. */
static stk_status no_samples(const stk_dataset *dataset, stk_error *err)
{
    char path[4096];
    stk__place place = {.stage = STK_STAGE_OPEN};

    if (stk_dataset_source_path(dataset, 0, path, sizeof path) < sizeof path)
        place.source = path;
    return stk__error_in(STK_FAIL(err, STK_EINVAL, "the dataset has no samples"), &place, err);
}

stk_status stk_loader_open_dataset(stk_dataset *dataset, const stk_loader_options *options,
    stk_loader **loader_out, stk_error *err)
{
    const stk__place place = {.stage = STK_STAGE_OPEN};
    uint64_t opened_ns = stk__clock_ns();
    stk__arena *arena;
    stk_loader *loader;
    stk_status st;

    if (stk_dataset_count(dataset) == 0)
        return no_samples(dataset, err);
    STK_TRY(stk__loader_check_options(options, stk_dataset_count(dataset), err));
    STK_TRY(stk__arena_new(options->memory_bytes, &arena, err));
    loader = stk__heap_zalloc(stk__arena_heap(arena), 1, sizeof *loader);
    if (loader == NULL) {
        stk__arena_unref(arena);
        return STK_FAIL(err, STK_ENOMEM, "no memory for a loader");
    }
    loader->arena = arena; /* before anything else can fail: closing needs it */
    loader->heap = stk__arena_heap(arena);
    loader->dataset = stk_dataset_ref(dataset);
    loader->opened_ns = opened_ns;
    st = build(loader, options, err);
    if (st < 0) {
        stk_loader_close(loader);
        return stk__error_in(st, &place, err);
    }
    *loader_out = loader;
    return STK_OK;
}

stk_status stk_loader_open(
    const char *where, const stk_loader_options *options, stk_loader **loader_out, stk_error *err)
{
    stk_dataset_options dataset_options = STK_DATASET_OPTIONS_INIT;
    stk_dataset *dataset;
    stk_status st;

    if (options->struct_bytes != sizeof *options)
        return STK_FAIL(err, STK_EINVAL, "options: start from STK_LOADER_OPTIONS_INIT");
    dataset_options.limits = options->limits;
    STK_TRY(stk_dataset_open(&where, 1, &dataset_options, &dataset, err));
    st = stk_loader_open_dataset(dataset, options, loader_out, err);
    stk_dataset_unref(dataset);
    return st;
}

void stk_loader_close(stk_loader *loader)
{
    stk__arena *arena;

    if (loader == NULL || stk__arena_foreign(loader->arena))
        return;
    arena = loader->arena;
    stk__window_free(loader->window);
    stk__order_free(loader->order);
    stk__field_plan_fini(&loader->plan);
    stk__heap_free(loader->heap, loader->damaged, loader->damaged_count, sizeof *loader->damaged);
    stk__heap_free(loader->heap, loader->account, loader->account_room, sizeof *loader->account);
    stk_dataset_unref(loader->dataset);
    stk__heap_free(loader->heap, loader, 1, sizeof *loader);
    stk__arena_unref(arena);
}

static stk_status check_usable(const stk_loader *loader, stk_error *err)
{
    if (stk__arena_foreign(loader->arena))
        return STK_FAIL(err, STK_EFORK, "the loader was opened before this process was forked");
    if (loader->budget_spent) {
        if (err != NULL)
            *err = loader->budget_error;
        return STK_EBUDGET;
    }
    return STK_OK;
}

static void begin_epoch(stk_loader *loader, uint64_t epoch)
{
    loader->epoch = epoch;
    loader->step = 0;
    loader->skipped = 0;
    loader->epoch_rows = 0;
    loader->epoch_damage = 0;
}

/* The end of an epoch: once, and the next call begins the next one. */
static stk_status end_epoch(stk_loader *loader, stk_error *err)
{
    bool lost_all = loader->epoch_rows == 0 && loader->epoch_damage > 0;
    uint64_t lost = loader->epoch_damage;

    begin_epoch(loader, loader->epoch + 1);
    if (lost_all)
        return STK_FAIL(err, STK_EBUDGET, "all %llu samples of the epoch are damaged",
            (unsigned long long)lost);
    return STK_END;
}

/* Settle a complete step and take it. STK_AGAIN: it was empty, on a single rank, and passed over.
 */
static stk_status deliver(
    stk_loader *loader, stk__step *step, stk_batch **batch_out, stk_error *err)
{
    uint64_t begin = stk__clock_ns(), skipped = loader->skipped;
    stk__stage_counter *stage = &stk__window_worker(loader->window)->stages[STK_STAGE_DELIVER];
    size_t rows = 0;
    stk_batch *batch;
    stk_status st = stk__loader_settle(loader, step, &rows, err);

    if (st < 0) {
        loader->skipped = skipped;
        stk__window_restart(loader->window, loader->epoch, loader->step);
        return st;
    }
    stk__slot_set_rows(step->slot, rows);
    batch = stk__window_accept(loader->window);
    loader->step++;
    loader->epoch_rows += rows;
    stk__stage_add(stage, 1, stk__clock_ns() - begin, 0);
    if (rows == 0 && loader->options.world_size == 1) {
        stk_batch_unref(batch);
        return STK_AGAIN;
    }
    loader->samples += rows;
    loader->batches++;
    if (loader->first_batch_ns == 0)
        loader->first_batch_ns = stk__clock_ns() - loader->opened_ns;
    *batch_out = batch;
    return STK_OK;
}

static stk_status next_until(
    stk_loader *loader, uint64_t deadline_ns, stk_batch **batch_out, stk_error *err)
{
    STK_TRY(check_usable(loader, err));
    while (loader->step < loader->schedule.steps) {
        uint64_t begin = stk__clock_ns();
        stk__step *step = NULL;
        stk_status st = stk__window_next(loader->window, deadline_ns, &step, err);

        loader->wait_ns += stk__clock_ns() - begin;
        if (st != STK_OK) {
            if (st < 0 && st != STK_EBUSY)
                stk__window_restart(loader->window, loader->epoch, loader->step);
            return st;
        }
        st = deliver(loader, step, batch_out, err);
        if (st != STK_AGAIN)
            return st;
    }
    return end_epoch(loader, err);
}

stk_status stk_loader_next(stk_loader *loader, stk_batch **batch_out, stk_error *err)
{
    return next_until(loader, UINT64_MAX, batch_out, err);
}

stk_status stk_loader_next_timed(
    stk_loader *loader, uint64_t wait_ns, stk_batch **batch_out, stk_error *err)
{
    uint64_t now = stk__clock_ns();

    return next_until(
        loader, wait_ns < UINT64_MAX - now ? now + wait_ns : UINT64_MAX, batch_out, err);
}

size_t stk_loader_waits_for(stk_loader *loader, char *line, size_t capacity)
{
    if (capacity > 0)
        line[0] = '\0';
    if (capacity == 0 || stk__arena_foreign(loader->arena))
        return 0;
    stk__window_waits_for(loader->window, line, capacity);
    return strlen(line);
}

stk_status stk_loader_set_epoch(stk_loader *loader, uint64_t epoch, stk_error *err)
{
    if (stk__arena_foreign(loader->arena))
        return STK_FAIL(err, STK_EFORK, "the loader was opened before this process was forked");
    loader->budget_spent = false;
    if (loader->epoch == epoch && loader->step == 0)
        return STK_OK; /* what is in flight is what is wanted */
    begin_epoch(loader, epoch);
    stk__window_restart(loader->window, epoch, 0);
    return STK_OK;
}

uint64_t stk_loader_steps(const stk_loader *loader)
{
    return loader->schedule.steps;
}

uint64_t stk_loader_epoch(const stk_loader *loader)
{
    return loader->epoch;
}

uint64_t stk_loader_step(const stk_loader *loader)
{
    return loader->step;
}

stk_dataset *stk_loader_dataset(stk_loader *loader)
{
    return loader->dataset;
}

stk_status stk_loader_order(
    stk_loader *loader, uint64_t epoch, uint64_t position, uint64_t *sample_out, stk_error *err)
{
    uint64_t count = stk_dataset_count(loader->dataset);

    if (stk__arena_foreign(loader->arena))
        return STK_FAIL(err, STK_EFORK, "the loader was opened before this process was forked");
    if (position >= count)
        return STK_FAIL(err, STK_ERANGE, "position %llu of an epoch of %llu samples",
            (unsigned long long)position, (unsigned long long)count);
    stk__epoch_set(stk__window_epoch(loader->window), epoch);
    *sample_out = stk__epoch_at(stk__window_epoch(loader->window), position);
    return STK_OK;
}

/* A slot of one row, its ragged columns empty. */
static stk_status one_row(stk_loader *loader, stk_batch **slot_out, stk_error *err)
{
    const uint64_t nothing = 0;
    stk_batch *slot = stk__window_spare_slot(loader->window);

    if (slot == NULL)
        return STK_FAIL(err, STK_EBUSY, "the memory ceiling allows no batch slot for one sample");
    for (size_t i = 0; i < loader->plan.count; i++) {
        if (stk_batch_tensor(slot, i)->offsets != NULL)
            STK_IGNORE(stk__slot_lay_ragged(slot, i, &nothing, 1, NULL) < 0); /* needs no memory */
    }
    stk__slot_set_rows(slot, 1);
    *slot_out = slot;
    return STK_OK;
}

stk_status stk_loader_at(
    stk_loader *loader, uint64_t epoch, uint64_t position, stk_batch **batch_out, stk_error *err)
{
    uint64_t sample;
    stk_batch *slot;
    stk_draw draw;
    stk_status st;

    STK_TRY(stk_loader_order(loader, epoch, position, &sample, err));
    STK_TRY(one_row(loader, &slot, err));
    draw = (stk_draw){.seed = loader->options.seed, .epoch = epoch, .sample = sample};
    st = stk__worker_row(stk__window_worker(loader->window), sample, &draw, slot, 0, err);
    if (st < 0) {
        stk_batch_unref(slot);
        return st;
    }
    stk__slot_set_place(slot, epoch,
        position / ((uint64_t)loader->options.batch_size * loader->options.world_size));
    *batch_out = slot;
    return STK_OK;
}

/* Options of a loader: ranges, each refused by its name. See <stoker/loader.h>. */
#include "base/error.h"
#include "loader/handle.h"

#define MAX_BATCH   (1u << 20)
#define MIN_MEMORY  ((uint64_t)16 << 20)
#define MAX_THREADS 1024

static stk_status check_ranks(const stk_loader_options *options, uint64_t samples, stk_error *err)
{
    const stk__ranks ranks = {.count = samples,
        .batch = options->batch_size,
        .rank = options->rank,
        .world = options->world_size,
        .tail = (stk__tail_kind)options->tail};

    if (options->world_size == 0)
        return STK_FAIL(err, STK_EINVAL, "world_size is 0; it must be 1 or more");
    if (options->rank >= options->world_size)
        return STK_FAIL(err, STK_EINVAL, "rank is %u; it must be below world_size, which is %u",
            options->rank, options->world_size);
    if (options->tail != STK_TAIL_SHORT && options->tail != STK_TAIL_DROP &&
        options->tail != STK_TAIL_WRAP)
        return STK_FAIL(err, STK_EINVAL, "tail is %d", (int)options->tail);
    if (stk__ranks_steps(&ranks) == 0)
        return STK_FAIL(err, STK_EINVAL,
            "tail \"drop\" leaves no step: %llu sample%s fewer than one batch of %u on %u rank%s",
            (unsigned long long)samples, samples == 1 ? " is" : "s are", options->batch_size,
            options->world_size, options->world_size == 1 ? "" : "s");
    if (options->tail == STK_TAIL_SHORT && !options->allow_empty && stk__ranks_has_empty(&ranks))
        return STK_FAIL(err, STK_EINVAL,
            "the last step has fewer samples than the %u ranks, so that some would get an empty "
            "batch; use tail \"drop\" or \"wrap\", or allow_empty",
            options->world_size);
    return STK_OK;
}

static stk_status check_order(const stk_loader_options *options, stk_error *err)
{
    switch (options->shuffle) {
    case STK_SHUFFLE_NONE:
    case STK_SHUFFLE_FULL:
        return STK_OK;
    case STK_SHUFFLE_SHARDS:
        if (options->shuffle_window == 0)
            return STK_FAIL(err, STK_EINVAL, "shuffle_window is 0; it must be 1 or more");
        return STK_OK;
    case STK_SHUFFLE_WEIGHTED:
        if (options->weights == NULL)
            return STK_FAIL(err, STK_EINVAL, "shuffle is \"weighted\", but there are no weights");
        return STK_OK;
    }
    return STK_FAIL(err, STK_EINVAL, "shuffle is %d", (int)options->shuffle);
}

stk_status stk__loader_check_options(
    const stk_loader_options *options, uint64_t samples, stk_error *err)
{
    if (options->struct_bytes != sizeof *options)
        return STK_FAIL(err, STK_EINVAL, "options: start from STK_LOADER_OPTIONS_INIT");
    if (samples == 0)
        return STK_FAIL(err, STK_EINVAL, "the dataset has no samples");
    if (options->batch_size == 0 || options->batch_size > MAX_BATCH)
        return STK_FAIL(err, STK_EINVAL, "batch_size is %u; it must be 1 to %u",
            options->batch_size, MAX_BATCH);
    if (options->threads < STK_THREADS_AUTO || options->threads > MAX_THREADS)
        return STK_FAIL(err, STK_EINVAL, "threads is %d; it must be 0 to %d, or STK_THREADS_AUTO",
            (int)options->threads, MAX_THREADS);
    if (options->io_threads < 1 || options->io_threads > 64)
        return STK_FAIL(
            err, STK_EINVAL, "io_threads is %d; it must be 1 to 64", (int)options->io_threads);
    if (options->prefetch < 1 || options->prefetch > 64)
        return STK_FAIL(err, STK_EINVAL, "prefetch is %u; it must be 1 to 64", options->prefetch);
    if (options->memory_bytes < MIN_MEMORY)
        return STK_FAIL(err, STK_EINVAL, "memory is %llu bytes; it must be 16 MiB or more",
            (unsigned long long)options->memory_bytes);
    if (options->on_error != STK_ON_ERROR_RAISE && options->on_error != STK_ON_ERROR_SKIP &&
        options->on_error != STK_ON_ERROR_REPLACE)
        return STK_FAIL(err, STK_EINVAL, "on_error is %d", (int)options->on_error);
    if (!(options->max_error_rate >= 0 && options->max_error_rate <= 1))
        return STK_FAIL(
            err, STK_EINVAL, "max_error_rate is %g; it must be 0 to 1", options->max_error_rate);
    STK_TRY(check_order(options, err));
    return check_ranks(options, samples, err);
}

/* State of a loader: a few numbers; see <stoker/loader.h>. */
#include "base/error.h"
#include "loader/handle.h"

#define STATE_VERSION 1u

static uint64_t global_batch(const stk_loader *loader)
{
    return (uint64_t)loader->options.batch_size * loader->options.world_size;
}

void stk_loader_get_state(stk_loader *loader, stk_loader_state *state_out)
{
    const stk_loader_options *options = &loader->options;
    uint64_t position = loader->step * global_batch(loader);
    uint64_t count = stk_dataset_count(loader->dataset);

    *state_out = (stk_loader_state){
        .version = STATE_VERSION,
        .batch_size = options->batch_size,
        .world_size = options->world_size,
        .shuffle = (uint32_t)options->shuffle,
        .shuffle_window = options->shuffle == STK_SHUFFLE_SHARDS ? options->shuffle_window : 0,
        .tail = (uint32_t)options->tail,
        .samples = count,
        .seed = options->seed,
        .weights_hash = stk__order_weights_hash(loader->order),
        .epoch = loader->epoch,
        .position = position < count ? position : count,
        .skipped = loader->skipped,
    };
    stk_dataset_fingerprint(loader->dataset, state_out->fingerprint);
}

static stk_status same(const char *what, uint64_t theirs, uint64_t ours, stk_error *err)
{
    if (theirs == ours)
        return STK_OK;
    return STK_FAIL(err, STK_ESTATE, "the state was saved with %s %llu, this loader has %llu", what,
        (unsigned long long)theirs, (unsigned long long)ours);
}

static stk_status same_dataset(
    const stk_loader_state *state, const stk_loader_state *own, stk_error *err)
{
    if (state->fingerprint[0] == own->fingerprint[0] &&
        state->fingerprint[1] == own->fingerprint[1] && state->samples == own->samples)
        return STK_OK;
    return STK_FAIL(err, STK_ESTATE,
        "the state belongs to dataset %016llx%016llx of %llu samples, this is %016llx%016llx of "
        "%llu",
        (unsigned long long)state->fingerprint[0], (unsigned long long)state->fingerprint[1],
        (unsigned long long)state->samples, (unsigned long long)own->fingerprint[0],
        (unsigned long long)own->fingerprint[1], (unsigned long long)own->samples);
}

static stk_status check_state(
    stk_loader *loader, const stk_loader_state *state, uint64_t global, stk_error *err)
{
    stk_loader_state own;

    stk_loader_get_state(loader, &own);
    STK_TRY(same("version", state->version, STATE_VERSION, err));
    STK_TRY(same_dataset(state, &own, err));
    STK_TRY(same("seed", state->seed, own.seed, err));
    STK_TRY(same("shuffle", state->shuffle, own.shuffle, err));
    STK_TRY(same("shuffle_window", state->shuffle_window, own.shuffle_window, err));
    STK_TRY(same("tail", state->tail, own.tail, err));
    STK_TRY(same("weights of hash", state->weights_hash, own.weights_hash, err));
    STK_TRY(same("batch_size times world_size of", (uint64_t)state->batch_size * state->world_size,
        global, err));
    if (state->world_size != own.world_size && state->skipped != 0)
        return STK_FAIL(err, STK_ESTATE,
            "the state has %llu skipped samples on %u ranks, this loader has %u ranks; on_error "
            "\"replace\" can be resumed on any number",
            (unsigned long long)state->skipped, state->world_size, own.world_size);
    if (state->position > state->samples ||
        (state->position % global != 0 && state->position != state->samples))
        return STK_FAIL(err, STK_ESTATE, "position %llu is no border of a step of %llu samples",
            (unsigned long long)state->position, (unsigned long long)global);
    return STK_OK;
}

stk_status stk_loader_set_state(stk_loader *loader, const stk_loader_state *state, stk_error *err)
{
    uint64_t global = global_batch(loader), steps = loader->schedule.steps, step;

    if (stk__arena_foreign(loader->arena))
        return STK_FAIL(err, STK_EFORK, "the loader was opened before this process was forked");
    STK_TRY(check_state(loader, state, global, err));
    step = state->position / global;
    if (state->position % global != 0 || step > steps)
        step = steps; /* the whole epoch was handed out */
    loader->epoch = state->epoch;
    loader->step = step;
    loader->skipped = state->skipped;
    loader->epoch_rows = step * loader->options.batch_size;
    loader->epoch_damage = state->skipped;
    loader->budget_spent = false;
    stk__window_restart(loader->window, loader->epoch, loader->step);
    return STK_OK;
}

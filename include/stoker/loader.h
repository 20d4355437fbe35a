/**
 * stoker/loader.h: batches of a dataset, read, decoded, transformed and collated by threads of C.
 *
 * The order of an epoch is a pure function of dataset, seed and epoch (docs/order.md), whatever the
 * number of threads and ranks. Example:
 *
 *     stk_field_spec fields[2] = {STK_FIELD_SPEC_INIT, STK_FIELD_SPEC_INIT};
 *     fields[0].name = "image"; fields[0].source = "jpg;png"; fields[0].kind = STK_FIELD_IMAGE;
 *     fields[1].name = "label"; fields[1].source = "cls";     fields[1].kind = STK_FIELD_LABEL;
 *     stk_loader_options opt = STK_LOADER_OPTIONS_INIT;
 *     opt.fields = fields; opt.field_count = 2;
 *     st = stk_loader_open("train-{000000..000127}.tar", &opt, &loader, &err);
 *     for (stk_batch *batch; (st = stk_loader_next(loader, &batch, &err)) == STK_OK;
 *          stk_batch_unref(batch))
 *         train(stk_batch_tensor(batch, 0), stk_batch_tensor(batch, 1));
 */
#ifndef STOKER_LOADER_H
#define STOKER_LOADER_H

#include <stoker/batch.h>
#include <stoker/dataset.h>
#include <stoker/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stk_loader stk_loader;

/**
 * Open a loader over one pattern (stk_dataset_open() with the default options).
 *
 * Threads start here; the first steps are read at once.
 *
 * @return STK_OK; what stk_dataset_open() returns; STK_EINVAL (an option outside its range: the
 *         text names it); STK_EFIELD (no sample has the field); STK_ESHAPE (a chain does not fit
 *         the first picture); STK_ENOMEM (the plan does not fit `memory_bytes`: the text says what
 *         needs how much).
 */
STK_API STK_MUST_CHECK stk_status stk_loader_open(
    const char *where, const stk_loader_options *options, stk_loader **loader_out, stk_error *err);

/** The same over an open dataset; the loader keeps a reference to it. */
STK_API STK_MUST_CHECK stk_status stk_loader_open_dataset(stk_dataset *dataset,
    const stk_loader_options *options, stk_loader **loader_out, stk_error *err);

/**
 * The next batch of the epoch. The caller owns a reference: stk_batch_unref().
 *
 * @return STK_OK; STK_END after the last step of an epoch, once: the call after that begins the
 *         next epoch; the failure of a sample under STK_ON_ERROR_RAISE, after which the position
 *         stays before the failed step and the next call tries it again; STK_EBUDGET; STK_EBUSY;
 *         STK_EFORK; STK_ECLOSED.
 * Blocks until the batch is complete.
 */
STK_API STK_MUST_CHECK stk_status stk_loader_next(
    stk_loader *loader, stk_batch **batch_out, stk_error *err);

/** The same, at most `wait_ns`: STK_AGAIN when the batch is not complete by then. With threads 0
 *  the work itself is done in the call and is not cut short. */
STK_API STK_MUST_CHECK stk_status stk_loader_next_timed(
    stk_loader *loader, uint64_t wait_ns, stk_batch **batch_out, stk_error *err);

/** What a loader waits for right now, one line for a person: "step 812: sample n0144 in decode". */
STK_API size_t stk_loader_waits_for(stk_loader *loader, char *line, size_t capacity);

/** Go to the start of an epoch. What is in flight is dropped. @return STK_OK, STK_EFORK. */
STK_API STK_MUST_CHECK stk_status stk_loader_set_epoch(
    stk_loader *loader, uint64_t epoch, stk_error *err);

/** Steps of every epoch on every rank. */
STK_API uint64_t stk_loader_steps(const stk_loader *loader);

/** The epoch, and in it the number of steps handed out so far. */
STK_API uint64_t stk_loader_epoch(const stk_loader *loader);
STK_API uint64_t stk_loader_step(const stk_loader *loader);

/** The dataset. Borrowed from the loader. */
STK_API stk_dataset *stk_loader_dataset(stk_loader *loader);

/**
 * Where a loader stands: enough to go on with the next sample, in another process, with another
 * number of threads, and with another number of ranks of the same global batch. Plain numbers.
 */
typedef struct stk_loader_state {
    uint32_t version; /* 1 */
    uint32_t batch_size, world_size;
    uint32_t shuffle, shuffle_window, tail; /* as in the options */
    uint64_t fingerprint[2];                /* of the dataset */
    uint64_t samples;                       /* in it */
    uint64_t seed;
    uint64_t weights_hash; /* 0 without weights */
    uint64_t epoch;
    uint64_t position; /* in the order of the epoch: the first not yet handed out, over all ranks */
    uint64_t skipped;  /* rows of this epoch and rank that a later sample has filled */
} stk_loader_state;

STK_API void stk_loader_get_state(stk_loader *loader, stk_loader_state *state_out);

/**
 * Go to where a state says. What is in flight is dropped; costs the same at any position.
 *
 * @return STK_OK; STK_ESTATE (another dataset: both fingerprints are named; another seed, shuffle,
 *         tail or global batch; another world size while `skipped` is not 0; an unknown version).
 */
STK_API STK_MUST_CHECK stk_status stk_loader_set_state(
    stk_loader *loader, const stk_loader_state *state, stk_error *err);

/**
 * One sample of any epoch and position, computed again exactly, as a batch of one row.
 *
 * Made in the calling thread, beside what is in flight. @return as stk_loader_next(), STK_ERANGE.
 */
STK_API STK_MUST_CHECK stk_status stk_loader_at(
    stk_loader *loader, uint64_t epoch, uint64_t position, stk_batch **batch_out, stk_error *err);

/** Index in the dataset of the sample at a position of an epoch. @return STK_OK, STK_ERANGE. */
STK_API STK_MUST_CHECK stk_status stk_loader_order(
    stk_loader *loader, uint64_t epoch, uint64_t position, uint64_t *sample_out, stk_error *err);

/** One lost sample. `error` has source, shard, key, field, offset, text and the sample's index. */
typedef struct stk_damage {
    uint64_t epoch, step;
    uint64_t substitute; /* sample that took its row; UINT64_MAX: none */
    stk_error error;
} stk_damage;

/** Damage delivered so far, in order; samples of known_damage included. @return STK_OK, STK_ERANGE.
 */
STK_API uint64_t stk_loader_damage_count(stk_loader *loader);
STK_API STK_MUST_CHECK stk_status stk_loader_get_damage(
    stk_loader *loader, uint64_t nth, stk_damage *damage_out, stk_error *err);

/** Time of one stage, over all threads, since the loader opened. */
typedef struct stk_stage_stats {
    uint64_t count;   /* how often: samples, or reads, or steps */
    uint64_t busy_ns; /* threads at work in it */
    uint64_t bytes;   /* that went through */
} stk_stage_stats;

typedef struct stk_loader_stats {
    stk_stage_stats stages[STK_STAGE_COUNT];
    uint64_t samples, batches; /* handed out */
    uint64_t cold_reads;       /* reads that had to wait for the disk */
    uint64_t wait_ns;          /* the consumer waited inside next() */
    uint64_t elapsed_ns;       /* since the loader opened */
    uint64_t idle_ns;          /* compute threads had nothing to do, summed */
    uint64_t first_batch_ns;   /* from opening to the first complete batch */
    uint64_t memory_bytes;     /* allocated by the loader now */
    uint64_t memory_peak_bytes;
    uint64_t allocations; /* since it opened: constant in steady state */
    uint32_t threads, io_threads;
    uint32_t slots, slots_held; /* made; in the hands of the consumer */
    stk_stage limit;            /* which stage limits: STK_STAGE_DELIVER when it is the consumer */
    char verdict[256];          /* the same, as a sentence with what to change */
} stk_loader_stats;

STK_API void stk_loader_get_stats(stk_loader *loader, stk_loader_stats *stats_out);

/**
 * Stop all threads and free; takes NULL. Batches still held stay valid. Returns within 100 ms of
 * the end of the samples being decoded. In a forked child it frees nothing that the parent owns.
 */
STK_API void stk_loader_close(stk_loader *loader);

#ifdef __cplusplus
}
#endif

#endif

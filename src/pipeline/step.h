/*
 * One step on its way: which samples, which bytes, who failed.
 *
 * A step is planned by one thread, its jobs are done by any, and the last of them lands it. Who may
 * touch what is the window's business (window.h); the functions here take no lock.
 */
#ifndef STK__STEP_H
#define STK__STEP_H

#include "pipeline/worker.h"
#include "sampler/order.h"
#include "sampler/ranks.h"

/* What decides which samples a step has and what happens to damaged ones. Constant. */
typedef struct stk__schedule {
    const stk__field_plan *plan;
    stk__ranks ranks;
    uint64_t seed;
    uint64_t steps; /* of an epoch */
    stk_on_error on_error;
    const uint64_t *damaged; /* known ones, ascending */
    size_t damaged_count;
    bool by_size; /* large jobs first: no use where reads are sequential */
} stk__schedule;

/* One row of a step. */
typedef struct stk__row {
    uint64_t sample;     /* of the order */
    uint64_t substitute; /* that stands in its place; UINT64_MAX: none */
    uint32_t bad_field;  /* the lowest of its fields that failed; UINT32_MAX: none */
    uint32_t tried;      /* substitutes that were no good either */
    stk_error *error;    /* of that field; owned */
} stk__row;

/* One member to make. */
typedef struct stk__piece {
    uint32_t row, field;
    uint32_t source;
    uint64_t offset, size;
} stk__piece;

/* One read, and the pieces that lie in it. */
typedef struct stk__job {
    uint32_t source;
    uint32_t first, count; /* in step.sorted */
    uint64_t offset, size;
} stk__job;

typedef struct stk__step {
    stk__heap *heap;
    const stk__schedule *schedule;
    uint64_t epoch, step;
    uint64_t first_nth; /* of its rows in this rank's epoch */
    stk_batch *slot;    /* owned while in flight */
    size_t rows, capacity;
    stk__row *row;    /* capacity of them; so too below, times fields for the rest */
    stk__need *need;  /* of one row, one for each field */
    uint64_t *ragged; /* sizes of one column, capacity of them */
    stk__piece *piece;
    uint32_t *sorted; /* pieces in the order of their bytes */
    stk__job *job;
    uint32_t *turn; /* jobs in the order in which they are done */
    size_t piece_count, job_count;
} stk__step;

STK_MUST_CHECK stk_status stk__step_init(
    stk__step *step, stk__heap *heap, const stk__schedule *schedule, stk_error *err);
void stk__step_fini(stk__step *step);

/* A merged read is at most this large; a member that is larger is read by itself. */
#define STK__MERGED_BYTES ((uint64_t)1 << 20)

/* Bytes of the largest read that any step of the plan can ask for. */
uint64_t stk__step_read_bytes(const stk__field_plan *plan);

/* Bytes that a step needs beside its slot, for the plan. */
uint64_t stk__step_bytes(const stk__schedule *schedule);

/* Plan a step into its slot. Rows whose index entry is at fault are marked and get no pieces. Fails
 * only as a whole: STK_ENOMEM for ragged rows over the ceiling. */
STK_MUST_CHECK stk_status stk__step_plan(
    stk__step *step, stk__epoch *order, uint64_t epoch, uint64_t number, stk_error *err);

/* Forget errors and pieces; the slot was given away. */
void stk__step_clear(stk__step *step);

/* Make all pieces of a job from its bytes. */
void stk__step_make(stk__step *step, stk__worker *worker, const stk__job *job, const uint8_t *bytes,
    void (*failed)(void *ctx, stk__row *row, uint32_t field, const stk_error *err), void *ctx);

/* The same after the read of the whole job failed: each piece is read by itself, so that only those
 * that are really bad fail. */
void stk__step_make_singly(stk__step *step, stk__worker *worker, const stk__job *job,
    void (*failed)(void *ctx, stk__row *row, uint32_t field, const stk_error *err), void *ctx);

/* Mark a row as failed in a field. Only the lowest field counts, so that the error does not depend
 * on which thread was first. One thread at a time for one step. */
void stk__step_fail(stk__step *step, stk__row *row, uint32_t field, const stk_error *err);

/* Substitutes for all failed rows, by the law of STK_ON_ERROR_REPLACE (docs/order.md). */
void stk__step_replace(stk__step *step, stk__worker *worker);

/* Is the sample listed as damaged? */
bool stk__schedule_knows(const stk__schedule *schedule, uint64_t sample);

#endif

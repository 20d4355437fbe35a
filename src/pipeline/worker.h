/*
 * What one thread needs to turn bytes into rows: decoder, image runs, scratch, counters.
 *
 * A worker belongs to one thread at a time. It allocates while it warms up and nothing after.
 */
#ifndef STK__WORKER_H
#define STK__WORKER_H

#include "codec/codec.h"
#include "metrics/stage_counter.h"
#include "pipeline/field_plan.h"

typedef struct stk__worker {
    stk__heap *heap;
    const stk__field_plan *plan;
    stk__decoder *decoder; /* made for the first picture; so too below */
    stk__image_run **runs; /* one for each field; NULL where it is no image */
    uint8_t *bytes;        /* read buffer */
    size_t bytes_capacity;
    uint8_t *pictures[2]; /* for EXIF orientation: as stored, as seen; RGBX */
    size_t picture_capacity[2];
    stk__atomic_u64 at_sample; /* atomic, a figure: sample + 1 that it is at; 0: none */
    stk__stage_counter stages[STK_STAGE_COUNT]; /* written by the owner, read by anybody */
} stk__worker;

STK_MUST_CHECK stk_status stk__worker_init(
    stk__worker *worker, stk__heap *heap, const stk__field_plan *plan, stk_error *err);
void stk__worker_fini(stk__worker *worker);

/* Make the read buffer as large as it will ever have to be. */
STK_MUST_CHECK stk_status stk__worker_warm(stk__worker *worker, size_t read_bytes, stk_error *err);

/* The read buffer with room for size bytes, or NULL over the ceiling. Former content is lost. */
uint8_t *stk__worker_buffer(stk__worker *worker, size_t size);

/* One member of one sample on its way into a row. All of it is borrowed. */
typedef struct stk__member_job {
    size_t field;    /* number in the plan */
    uint64_t sample; /* of the dataset */
    uint64_t offset; /* of bytes in the source */
    uint32_t source;
    stk_view bytes;
    stk_draw draw;
    stk_batch *slot;
    size_t row;
} stk__member_job;

/* Decode, transform and store a member; errors name their place. */
STK_MUST_CHECK stk_status stk__worker_member(
    stk__worker *worker, const stk__member_job *job, stk_error *err);

/*
 * Read and make a whole row, waiting for the disk where needed: the repair of a damaged row, and
 * single samples. The slot's ragged rows are resized to fit.
 */
STK_MUST_CHECK stk_status stk__worker_row(stk__worker *worker, uint64_t sample,
    const stk_draw *draw, stk_batch *slot, size_t row, stk_error *err);

/* What a field of a sample is before any byte is read. */
typedef struct stk__need {
    bool read; /* `member` is to be read */
    stk_sample_field member;
    uint64_t ragged_bytes; /* ragged fields: size of the row */
    int64_t label;         /* labels that need no bytes */
    stk_view key;          /* STK_FIELD_KEY */
} stk__need;

/* Look one field of one sample up in the index. STK_EFIELD (with the place) where it is missing. */
STK_MUST_CHECK stk_status stk__need_of(const stk__field_plan *plan, size_t field, uint64_t sample,
    stk__need *need_out, stk_error *err);

/* Store what needs no bytes (key, class of the folder, missing optional label). */
void stk__need_store(
    const stk__field_plan *plan, size_t nth, const stk__need *need, stk_batch *slot, size_t row);

/* Add shard, key, field and sample to an error. */
stk_status stk__name_place(const stk__field_plan *plan, uint64_t sample, size_t field,
    stk_stage stage, uint32_t source, uint64_t base, stk_status st, stk_error *err);

#endif

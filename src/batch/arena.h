/*
 * The arena: slots that batches lie in, and their way back.
 *
 * A slot holds one batch: for each column either a block of rows of one shape, or ragged rows with
 * offsets. Slots are made once and used again; a slot that somebody holds is never touched. The
 * arena also carries the heap of its loader, since a batch may outlive the loader and must still
 * know what to give its memory back to.
 *
 * References: the loader holds one on the arena, every batch handed out holds one on its slot and,
 * through it, on the arena. The last one frees everything, on whatever thread that happens.
 *
 * The mutex and the condition are the arena's because a returning batch must wake who waits for a
 * slot, and may come after the loader is gone. The window of the pipeline uses the same two for all
 * that it guards.
 */
#ifndef STK__ARENA_H
#define STK__ARENA_H

#include <stoker/batch.h>

#include "base/heap.h"
#include "os/thread.h"

/* One column of every batch. */
typedef struct stk__column_spec {
    const char *name; /* copied */
    stk_dtype dtype;
    bool ragged;  /* rows of bytes; shape is not used */
    bool text;    /* ragged and UTF-8 */
    int32_t ndim; /* of one row: 0 to 7 */
    int64_t shape[STK_TENSOR_MAX_DIMS - 1];
    size_t start_bytes; /* ragged: capacity to begin with */
} stk__column_spec;

typedef struct stk__arena stk__arena;

/* An arena without columns and slots. */
STK_MUST_CHECK stk_status stk__arena_new(
    uint64_t ceiling_bytes, stk__arena **arena_out, stk_error *err);

/* Set the columns, once, before the first slot: they are known only after the heap was used. rows:
 * capacity of every slot, 1 and more. */
STK_MUST_CHECK stk_status stk__arena_set_columns(stk__arena *arena, const stk__column_spec *columns,
    size_t column_count, size_t rows, stk_error *err);

/* Drop the loader's reference; takes NULL. */
void stk__arena_unref(stk__arena *arena);

/* Was it made by an ancestor of this process? Its mutex may then be held by a thread that does not
 * exist here: nothing of it is freed or locked in the child. */
bool stk__arena_foreign(const stk__arena *arena);

stk__heap *stk__arena_heap(stk__arena *arena);
stk__mutex *stk__arena_mutex(stk__arena *arena);
stk__cond *stk__arena_cond(stk__arena *arena);

/* Bytes of one slot as far as they are known beforehand. */
uint64_t stk__arena_slot_bytes(const stk__arena *arena);

/* A free slot, with one reference, or NULL. The caller holds the mutex. */
stk_batch *stk__arena_take_locked(stk__arena *arena);

/* Give back a slot that was taken but not handed to anybody. The caller holds the mutex, and a
 * reference on the arena. */
void stk__arena_return_locked(stk__arena *arena, stk_batch *slot);

/* Make one more slot and take it; NULL when the ceiling or the system refuses. What does not fit
 * the ceiling takes nothing of it meanwhile. The caller holds the mutex, so that between a look for
 * a free slot and this none can come back. */
stk_batch *stk__arena_grow_locked(stk__arena *arena);

/* Slots made so far, and those in other hands than the free list. The caller holds the mutex. */
uint32_t stk__arena_slots_locked(const stk__arena *arena);
uint32_t stk__arena_held_locked(const stk__arena *arena);

/* Rows of a slot for this use: sets the shape of every tensor; also leaves rows off at the end. */
void stk__slot_set_rows(stk_batch *slot, size_t rows);
void stk__slot_set_place(stk_batch *slot, uint64_t epoch, uint64_t step);

/* Number of the sample of each row. */
uint64_t *stk__slot_samples(stk_batch *slot);

/* Where row `row` of the nth column, of one shape, begins. */
void *stk__slot_row(stk_batch *slot, size_t nth, size_t row);

/* Lay out ragged rows: offsets from sizes (rows of them), room for all. The memory of the column
 * may move; its content is lost. STK_ENOMEM over the ceiling. */
STK_MUST_CHECK stk_status stk__slot_lay_ragged(
    stk_batch *slot, size_t column, const uint64_t *sizes, size_t rows, stk_error *err);

/* Where a ragged row begins; its room is what it was laid out for. */
void *stk__slot_ragged(stk_batch *slot, size_t nth, size_t row, size_t *room_out);

/* Give a ragged row another size: rows behind it move; the row's own bytes are unspecified.
 * STK_ENOMEM over the ceiling. */
STK_MUST_CHECK stk_status stk__slot_resize_ragged(
    stk_batch *slot, size_t column, size_t row, uint64_t size, stk_error *err);

#endif

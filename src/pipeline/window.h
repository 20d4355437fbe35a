/*
 * The window: steps in flight, the threads that work on them, and their delivery in order.
 *
 * Steps are numbered through all epochs, so that the first steps of the next epoch are read while
 * the last ones of this epoch are handed out. A step is opened when it has a slot, its jobs are
 * claimed one by one from the oldest step that has some left, and it is handed out when it is the
 * oldest and all its jobs have landed: a slow sample holds back its own step and no other work.
 *
 * Compute threads take bytes that are in memory already without a detour. A read that would have to
 * wait for the disk goes to the I/O threads and comes back as a job that is ready. The environment
 * variable STOKER_READ=threads sends all reads there.
 *
 * Threads: one consumer at a time calls next, restart and at; the figures may be read by anybody.
 */
#ifndef STK__WINDOW_H
#define STK__WINDOW_H

#include "pipeline/step.h"

typedef struct stk__window stk__window;

typedef struct stk__window_options {
    stk__arena *arena; /* outlives the window */
    const stk__schedule *schedule;
    const stk__order *order;
    uint32_t threads; /* 0: inline */
    uint32_t io_threads;
    uint32_t prefetch; /* steps in flight */
    uint64_t epoch, step;
} stk__window_options;

/* Make the window and start its threads. Everything in options outlives it. */
STK_MUST_CHECK stk_status stk__window_new(
    const stk__window_options *options, stk__window **window_out, stk_error *err);

/* Stop, join, free; takes NULL. */
void stk__window_free(stk__window *window);

/* The oldest step, complete; it stays in the window until accept or restart. STK_AGAIN after
 * deadline_ns (stk__clock_ns; UINT64_MAX: never), STK_EBUSY when no slot can be had, STK_ENOMEM. */
STK_MUST_CHECK stk_status stk__window_next(
    stk__window *window, uint64_t deadline_ns, stk__step **step_out, stk_error *err);

/* Take the slot of the step that next gave and let the window go on; the caller owns the batch. */
stk_batch *stk__window_accept(stk__window *window);

/* Drop all in flight and go on from a step of an epoch. */
void stk__window_restart(stk__window *window, uint64_t epoch, uint64_t step);

/* The consumer's own worker and epoch, for repairs and single samples. */
stk__worker *stk__window_worker(stk__window *window);
stk__epoch *stk__window_epoch(stk__window *window);

/* A slot outside the window: for single samples. NULL over the ceiling. */
stk_batch *stk__window_spare_slot(stk__window *window);

/* What the consumer would wait for now. */
void stk__window_waits_for(stk__window *window, char *line, size_t capacity);

/* Sum of the figures of all threads. */
typedef struct stk__window_stats {
    stk__stage_sum stages[STK_STAGE_COUNT];
    uint64_t idle_ns, cold_reads;
    uint32_t slots, slots_held;
} stk__window_stats;

void stk__window_get_stats(stk__window *window, stk__window_stats *stats_out);

#endif

/*
 * The loader inside: what its files share.
 *
 * A loader is a dataset, a plan of fields, an order, a window of steps, and the consumer's place in
 * the epoch. Only the consumer's thread touches what is not constant.
 */
#ifndef STK__HANDLE_H
#define STK__HANDLE_H

#include <stoker/loader.h>

#include "pipeline/window.h"

struct stk_loader {
    stk__arena *arena; /* owns the heap, and so outlives the loader while batches are held */
    stk__heap *heap;
    stk_dataset *dataset; /* a reference of its own; constant, as all until prefetch */
    stk__field_plan plan;
    stk__order *order;
    uint64_t *damaged;
    size_t damaged_count;
    stk__schedule schedule;
    stk__window *window;
    stk_loader_options options; /* pointers in it are not to be used */
    uint32_t threads, prefetch;

    uint64_t epoch, step; /* of the next batch */
    uint64_t skipped;     /* rows of this epoch that later samples have filled */
    uint64_t epoch_rows;  /* handed out in this epoch */
    uint64_t epoch_damage;
    bool budget_spent;
    stk_error budget_error;

    stk_damage *account; /* the first account_count of account_room */
    size_t account_count, account_room;
    uint64_t damage_count; /* more than account_count when memory ran out */

    uint64_t opened_ns, first_batch_ns, wait_ns, samples, batches;
};

/* Check the options against a dataset of so many samples. */
STK_MUST_CHECK stk_status stk__loader_check_options(
    const stk_loader_options *options, uint64_t samples, stk_error *err);

/* Settle the damage of a complete step by the policy. Rows to hand out are in rows_out. */
STK_MUST_CHECK stk_status stk__loader_settle(
    stk_loader *loader, stk__step *step, size_t *rows_out, stk_error *err);

/* Fit slots, threads and buffers under the ceiling, lowering prefetch if need be. */
STK_MUST_CHECK stk_status stk__loader_plan_memory(stk_loader *loader, stk_error *err);

#endif

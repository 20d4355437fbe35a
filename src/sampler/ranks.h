/*
 * Which positions of an epoch a rank gets in which step. Pure arithmetic (docs/order.md).
 *
 * A step of all ranks takes G = batch * world positions; rank r takes the r-th slice of them. The
 * tail decides about the rest, so that every rank has the same number of steps.
 */
#ifndef STK__RANKS_H
#define STK__RANKS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum stk__tail_kind { /* numbers are those of stk_tail */
    STK__TAIL_SHORT = 0,
    STK__TAIL_DROP = 1,
    STK__TAIL_WRAP = 2,
} stk__tail_kind;

typedef struct stk__ranks {
    uint64_t count;       /* positions of an epoch */
    uint32_t batch;       /* samples per step and rank, 1 and more */
    uint32_t rank, world; /* rank < world */
    stk__tail_kind tail;
} stk__ranks;

/* A run of positions: first, first + 1, ...; under WRAP they are to be taken modulo the count. */
typedef struct stk__slice {
    uint64_t first;
    uint32_t count;
} stk__slice;

/* Steps of every rank. */
uint64_t stk__ranks_steps(const stk__ranks *ranks);

/* The slice of this rank in a step below the number of steps. */
stk__slice stk__ranks_slice(const stk__ranks *ranks, uint64_t step);

/* Samples of this rank in a whole epoch, and the position of the nth of them, below the count: the
 * nth stands in row nth % batch of step nth / batch. */
uint64_t stk__ranks_total(const stk__ranks *ranks);
uint64_t stk__ranks_position(const stk__ranks *ranks, uint64_t nth);

/* Is there a rank with an empty slice in the last step? */
bool stk__ranks_has_empty(const stk__ranks *ranks);

#endif

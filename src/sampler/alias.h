/*
 * Draws by weight: a table by which one sample is drawn in constant time, whatever the weights.
 *
 * Made by Vose's form of Walker's alias method, in integers, so that the table is the same on every
 * machine and a weight of 0 is never drawn (docs/order.md).
 * Source: M. D. Vose, "A linear algorithm for generating random numbers with a given distribution",
 * IEEE Transactions on Software Engineering 17 (9), 1991.
 */
#ifndef STK__ALIAS_H
#define STK__ALIAS_H

#include <stoker/base.h>

#include "base/heap.h"

/* Largest number of weights. */
#define STK__ALIAS_MAX (1ull << 32)

/* Never changes once made; any number of threads may use it. Zero it before stk__alias_init(). */
typedef struct stk__alias {
    stk__heap *heap;      /* not ours */
    uint64_t count;       /* of columns, one for each weight */
    uint64_t *thresholds; /* a column is itself below its threshold of 2^64, */
    uint32_t *others;     /* and this one from there on */
} stk__alias;

/* STK_EINVAL: count 0 or above STK__ALIAS_MAX, a weight negative or not finite, all 0. */
STK_MUST_CHECK stk_status stk__alias_init(
    stk__alias *alias, stk__heap *heap, const double *weights, uint64_t count, stk_error *err);

/* Takes one that is zero or half-made. */
void stk__alias_fini(stk__alias *alias);

/* The index drawn by two random words. */
uint64_t stk__alias_draw(const stk__alias *alias, uint64_t word0, uint64_t word1);

#endif

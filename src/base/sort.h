/*
 * Sorting without allocation: heap sort over an array of numbers that stand for things.
 *
 * qsort may allocate and is not stable; here ties are the caller's to break, by position.
 */
#ifndef STK__SORT_H
#define STK__SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is a to stand before b? A strict order; ctx is the caller's. */
typedef bool stk__before_fn(const void *ctx, uint32_t a, uint32_t b);

/* Sort `count` numbers; linear when they are sorted already. */
void stk__sort_u32(uint32_t *numbers, size_t count, stk__before_fn *before, const void *ctx);

#endif

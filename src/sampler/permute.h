/*
 * A keyed permutation of [0, n) in constant memory: any position is computed alone.
 *
 * docs/order.md specifies it bit by bit, with test vectors.
 */
#ifndef STK__PERMUTE_H
#define STK__PERMUTE_H

#include <stdint.h>

/* Rounds of the network. */
#define STK__PERMUTE_ROUNDS 8

/* Never changes once made; any number of threads may use it. Keep it on the stack. */
typedef struct stk__permute {
    uint64_t n;
    uint32_t left_bits, right_bits;
    uint64_t round_keys[STK__PERMUTE_ROUNDS];
} stk__permute;

/* n is 1 to 2^48; `stream` tells permutations of one (seed, epoch) apart (0: samples, 1: shards,
 * 2 + w: window w of STK_SHUFFLE_SHARDS). */
void stk__permute_init(
    stk__permute *permute, uint64_t n, uint64_t seed, uint64_t epoch, uint64_t stream);

/* Image of position < n. */
uint64_t stk__permute_at(const stk__permute *permute, uint64_t position);

/* The position whose image is value < n. */
uint64_t stk__permute_find(const stk__permute *permute, uint64_t value);

#endif

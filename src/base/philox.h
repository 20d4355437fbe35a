/*
 * Philox4x64-10: random numbers as a pure function of (key, counter).
 *
 * Source: Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
 * docs/order.md says which key and counter each draw of Stoker uses.
 */
#ifndef STK__PHILOX_H
#define STK__PHILOX_H

#include <stdint.h>

typedef struct stk__philox_block {
    uint64_t word[4];
} stk__philox_block;

/* High and low half of a 64 by 64 bit product. */
static inline uint64_t stk__mul_high(uint64_t a, uint64_t b, uint64_t *low)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;

    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

static inline stk__philox_block stk__philox(
    uint64_t key0, uint64_t key1, uint64_t c0, uint64_t c1, uint64_t c2, uint64_t c3)
{
    for (int round = 0; round < 10; round++) {
        uint64_t low0, low1;
        uint64_t high0 = stk__mul_high(0xD2E7470EE14C6C93u, c0, &low0);
        uint64_t high1 = stk__mul_high(0xCA5A826395121157u, c2, &low1);

        c0 = high1 ^ c1 ^ key0;
        c1 = low1;
        c2 = high0 ^ c3 ^ key1;
        c3 = low0;
        key0 += 0x9E3779B97F4A7C15u;
        key1 += 0xBB67AE8584CAA73Bu;
    }
    return (stk__philox_block){{c0, c1, c2, c3}};
}

/* [0, 1) with 53 bits. */
static inline double stk__unit(uint64_t word)
{
    return (double)(word >> 11) * 0x1p-53;
}

/* [0, bound): the high half of word * bound; off from uniform by less than bound / 2^64. */
static inline uint64_t stk__below(uint64_t word, uint64_t bound)
{
    uint64_t low;

    return stk__mul_high(word, bound, &low);
}

#endif

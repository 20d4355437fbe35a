/* What every C test includes: cmocka with the headers it wants before it, and small helpers. */
#ifndef STK_TEST_H
#define STK_TEST_H

/* cmocka.h leans on the headers before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

/* A small generator of random test input; its seed is printed by rng_seed. */
typedef struct rng {
    uint64_t state;
} rng;

/* Seed from STK_TEST_SEED or a fixed number, and print it. */
static inline rng rng_seed(void)
{
    const char *wish = getenv("STK_TEST_SEED");
    rng r = {wish != NULL ? strtoull(wish, NULL, 0) : 20261129u};

    print_message("seed %llu (set STK_TEST_SEED to change it)\n", (unsigned long long)r.state);
    return r;
}

/* SplitMix64 */
static inline uint64_t rng_next(rng *r)
{
    uint64_t x = r->state += 0x9E3779B97F4A7C15u;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static inline uint64_t rng_below(rng *r, uint64_t bound)
{
    return rng_next(r) % bound;
}

static inline float rng_float(rng *r, float low, float high)
{
    return low + (high - low) * (float)(rng_next(r) >> 40) * 0x1p-24f;
}

static inline void rng_fill(rng *r, void *data, size_t size)
{
    unsigned char *p = data;

    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)rng_next(r);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif

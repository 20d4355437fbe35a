/* A keyed permutation: see permute.h, and docs/order.md for the specification. */
#include "sampler/permute.h"

#include <assert.h>
#include <string.h>

#include "base/philox.h"
#include "sampler/counters.h"

/* Words of (seed, epoch, stream), one after the other: the nth is word nth % 4 of block nth / 4. */
typedef struct words {
    uint64_t seed, epoch, stream, nth;
    stk__philox_block block;
} words;

static uint64_t next_word(words *w)
{
    if (w->nth % 4 == 0)
        w->block = stk__philox(w->seed, w->epoch, w->stream, STK__COUNTER_PERMUTE, w->nth / 4, 0);
    return w->block.word[w->nth++ % 4];
}

/* Fisher and Yates, from the last place to the second. */
static void fill_table(stk__permute *permute, words *w)
{
    for (uint64_t i = 0; i < permute->n; i++)
        permute->table[i] = (uint8_t)i;
    for (uint64_t i = permute->n - 1; i > 0; i--) {
        uint64_t j = stk__below(next_word(w), i + 1);
        uint8_t kept = permute->table[i];

        permute->table[i] = permute->table[j];
        permute->table[j] = kept;
    }
}

/* The smallest r with r * r >= n, for n up to 2^48: bit by bit, no floating point. */
static uint64_t root_above(uint64_t n)
{
    uint64_t root = 0;

    for (uint64_t bit = 1u << 24; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) < n)
            root += bit;
    }
    return root + 1;
}

void stk__permute_init(
    stk__permute *permute, uint64_t n, uint64_t seed, uint64_t epoch, uint64_t stream)
{
    words w = {.seed = seed, .epoch = epoch, .stream = stream};

    assert(n >= 1 && n <= STK__PERMUTE_MAX);
    permute->n = n;
    if (n <= STK__PERMUTE_TABLE) {
        fill_table(permute, &w);
        return;
    }
    permute->rows = root_above(n);
    permute->columns = (n + permute->rows - 1) / permute->rows;
    for (int round = 0; round < STK__PERMUTE_ROUNDS; round++)
        permute->round_keys[round] = next_word(&w);
}

/* What a round adds to one half: a number below `bound`, from the other half and the key. Two
 * multiplications, since one leaves neighbouring halves in step with each other. */
static inline uint64_t round_term(uint64_t half, uint64_t key, uint64_t bound)
{
    uint64_t x = (half ^ key) * 0xff51afd7ed558ccdu;

    x = (x ^ x >> 32) * 0xc4ceb9fe1a85ec53u;
    return stk__below(x, bound);
}

/* (a + b) mod m and (a - b) mod m, for a and b below m. */
static inline uint64_t add_mod(uint64_t a, uint64_t b, uint64_t m)
{
    uint64_t sum = a + b;

    return sum >= m ? sum - m : sum;
}

static inline uint64_t sub_mod(uint64_t a, uint64_t b, uint64_t m)
{
    return a >= b ? a - b : a + m - b;
}

static uint64_t forward(const stk__permute *p, uint64_t point)
{
    uint64_t row = point / p->columns, column = point % p->columns;

    for (int round = 0; round < STK__PERMUTE_ROUNDS; round += 2) {
        row = add_mod(row, round_term(column, p->round_keys[round], p->rows), p->rows);
        column = add_mod(column, round_term(row, p->round_keys[round + 1], p->columns), p->columns);
    }
    return row * p->columns + column;
}

static uint64_t backward(const stk__permute *p, uint64_t point)
{
    uint64_t row = point / p->columns, column = point % p->columns;

    for (int round = STK__PERMUTE_ROUNDS; round > 0; round -= 2) {
        column = sub_mod(column, round_term(row, p->round_keys[round - 1], p->columns), p->columns);
        row = sub_mod(row, round_term(column, p->round_keys[round - 2], p->rows), p->rows);
    }
    return row * p->columns + column;
}

uint64_t stk__permute_at(const stk__permute *permute, uint64_t position)
{
    assert(position < permute->n);
    if (permute->n <= STK__PERMUTE_TABLE)
        return permute->table[position];
    /* A walk ends at the latest back at `position`, which lies inside. */
    do {
        position = forward(permute, position);
    } while (position >= permute->n);
    return position;
}

uint64_t stk__permute_find(const stk__permute *permute, uint64_t value)
{
    assert(value < permute->n);
    if (permute->n <= STK__PERMUTE_TABLE) {
        const uint8_t *found = memchr(permute->table, (int)value, (size_t)permute->n);
        return (uint64_t)(found - permute->table);
    }
    do {
        value = backward(permute, value);
    } while (value >= permute->n);
    return value;
}

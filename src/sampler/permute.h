/*
 * A keyed permutation of [0, n) in constant memory: any position is computed alone.
 *
 * Up to STK__PERMUTE_TABLE it is a table shuffled by Fisher and Yates: every one of the n!
 * permutations is as likely as any other, which no network of a few rounds gives on so few points.
 * Above that it is a network of 8 rounds in the manner of Feistel over rows x columns, the smallest
 * near-square rectangle that holds n points; a point that falls outside [0, n) goes through the
 * network again (cycle walking), which happens to fewer than one in sqrt(n).
 *
 * docs/order.md specifies it bit by bit, with test vectors. It is no cipher: it mixes, and hides
 * nothing.
 */
#ifndef STK__PERMUTE_H
#define STK__PERMUTE_H

#include <stdint.h>

/* Rounds of the network: an even number. */
#define STK__PERMUTE_ROUNDS 8

/* Largest n that is kept as a table. */
#define STK__PERMUTE_TABLE 256

/* Largest n of all. */
#define STK__PERMUTE_MAX (1ull << 48)

/* Which permutation of one (seed, epoch): the window w of STK_SHUFFLE_SHARDS has
 * STK__PERMUTE_WINDOW + w. */
enum {
    STK__PERMUTE_SAMPLES = 0,
    STK__PERMUTE_SHARDS = 1,
    STK__PERMUTE_WINDOW = 2,
};

/* Never changes once made; any number of threads may use it. Keep it on the stack. */
typedef struct stk__permute {
    uint64_t n;
    uint64_t rows, columns; /* of the network: rows * columns >= n, each 2^24 at most */
    uint64_t round_keys[STK__PERMUTE_ROUNDS];
    uint8_t table[STK__PERMUTE_TABLE]; /* instead of the network, for small n */
} stk__permute;

/* n is 1 to 2^48; `stream` tells permutations of one (seed, epoch) apart. */
void stk__permute_init(
    stk__permute *permute, uint64_t n, uint64_t seed, uint64_t epoch, uint64_t stream);

/* Image of position < n. */
uint64_t stk__permute_at(const stk__permute *permute, uint64_t position);

/* The position whose image is value < n. */
uint64_t stk__permute_find(const stk__permute *permute, uint64_t value);

#endif

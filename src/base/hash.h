/*
 * Two hashes: CRC-32C for what may be damaged, a 128-bit mix for fingerprints of our own data.
 *
 * The fingerprint is not meant against an adversary.
 */
#ifndef STK__HASH_H
#define STK__HASH_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720 B.4) of more bytes; start with 0. */
uint32_t stk__crc32c(uint32_t crc, const void *data, size_t size);

/* A running 128-bit fingerprint. Zero it to start. Order and cuts of the input matter: each call
 * adds its length, so that ("ab", "c") and ("a", "bc") differ. */
typedef struct stk__fingerprint {
    uint64_t a, b;
} stk__fingerprint;

void stk__fingerprint_add(stk__fingerprint *print, const void *data, size_t size);
void stk__fingerprint_add_u64(stk__fingerprint *print, uint64_t number);

/* A 64-bit mix of one number (the finaliser of MurmurHash3). */
static inline uint64_t stk__mix64(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    x ^= x >> 33;
    return x;
}

#endif

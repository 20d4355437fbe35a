/* Arithmetic on sizes that come from files: false instead of a wrap. */
#ifndef STK__SIZE_H
#define STK__SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool stk__size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool stk__size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool stk__u64_add(uint64_t a, uint64_t b, uint64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool stk__u64_mul(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* Up to the next multiple of a power of two; the caller knows that it does not wrap. */
static inline size_t stk__size_align(size_t size, size_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

static inline uint64_t stk__u64_align(uint64_t size, uint64_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

static inline size_t stk__size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t stk__size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline uint64_t stk__u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif

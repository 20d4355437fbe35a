/* Atomics whose names say the order. fetch-and-op functions return the value before. */
#ifndef STK__ATOMIC_H
#define STK__ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint32_t stk__atomic_u32;
typedef _Atomic uint64_t stk__atomic_u64;

#define STK__ATOMIC_OPS(type, suffix)                                                     \
    static inline type stk__load_relaxed_##suffix(const _Atomic type *a)                  \
    {                                                                                     \
        return atomic_load_explicit(a, memory_order_relaxed);                             \
    }                                                                                     \
    static inline type stk__load_acquire_##suffix(const _Atomic type *a)                  \
    {                                                                                     \
        return atomic_load_explicit(a, memory_order_acquire);                             \
    }                                                                                     \
    static inline void stk__store_relaxed_##suffix(_Atomic type *a, type x)               \
    {                                                                                     \
        atomic_store_explicit(a, x, memory_order_relaxed);                                \
    }                                                                                     \
    static inline void stk__store_release_##suffix(_Atomic type *a, type x)               \
    {                                                                                     \
        atomic_store_explicit(a, x, memory_order_release);                                \
    }                                                                                     \
    static inline type stk__add_relaxed_##suffix(_Atomic type *a, type x)                 \
    {                                                                                     \
        return atomic_fetch_add_explicit(a, x, memory_order_relaxed);                     \
    }                                                                                     \
    static inline type stk__add_acq_rel_##suffix(_Atomic type *a, type x)                 \
    {                                                                                     \
        return atomic_fetch_add_explicit(a, x, memory_order_acq_rel);                     \
    }                                                                                     \
    static inline type stk__sub_acq_rel_##suffix(_Atomic type *a, type x)                 \
    {                                                                                     \
        return atomic_fetch_sub_explicit(a, x, memory_order_acq_rel);                     \
    }                                                                                     \
    static inline bool stk__cas_acq_rel_##suffix(_Atomic type *a, type *expected, type x) \
    {                                                                                     \
        return atomic_compare_exchange_strong_explicit(                                   \
            a, expected, x, memory_order_acq_rel, memory_order_acquire);                  \
    }

/* NOLINTBEGIN(readability-non-const-parameter): what was found is written to `expected` */
STK__ATOMIC_OPS(uint32_t, u32)
STK__ATOMIC_OPS(uint64_t, u64)
/* NOLINTEND(readability-non-const-parameter) */
#undef STK__ATOMIC_OPS

#endif

/* What compilers spell differently, in one place. */
#ifndef STK__COMPILER_H
#define STK__COMPILER_H

#if defined(__GNUC__)
#    define STK__PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#    define STK__LIKELY(x)                  __builtin_expect(!!(x), 1)
#    define STK__UNLIKELY(x)                __builtin_expect(!!(x), 0)
#    define STK__INLINE                     static inline __attribute__((always_inline))
#    define STK__MALLOC                     __attribute__((malloc))
#else
#    define STK__PRINTF(format_at, args_at)
#    define STK__LIKELY(x)   (x)
#    define STK__UNLIKELY(x) (x)
#    define STK__INLINE      static inline
#    define STK__MALLOC
#endif

/* A failure that is ignored on purpose; the reason stands beside it. */
#define STK_IGNORE(expr) \
    do {                 \
        if (expr) {      \
        }                \
    } while (0)

#define STK__COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif

/*
 * Errors inside the engine.
 *
 * A failure is recorded where it happens by STK_FAIL; every layer above adds the place that it
 * alone knows with stk__error_in() and rewrites nothing.
 */
#ifndef STK__ERROR_H
#define STK__ERROR_H

#include <stoker/base.h>

#include "base/compiler.h"

/* Where something failed, as far as one layer knows; the rest stays empty. */
typedef struct stk__place {
    stk_stage stage;
    const char *source, *shard;
    stk_view key, field; /* not NUL-terminated: they often lie in an index */
    uint64_t base;       /* where the bytes that the layer below counted begin in `source` */
    uint64_t sample;     /* index + 1; 0: not known */
} stk__place;

/* Fill what is empty in err, shift an offset it has by place->base, return `st` as it is. */
stk_status stk__error_in(stk_status st, const stk__place *place, stk_error *err);

/* Record a failure with its text; a former content of err is dropped. err may be NULL. */
void stk__error_set(stk_error *err, stk_status st, const char *format, ...) STK__PRINTF(3, 4);

/* The same with a byte offset in what the failing layer was given. */
void stk__error_set_at(stk_error *err, stk_status st, uint64_t offset, const char *format, ...)
    STK__PRINTF(4, 5);

/* The same for a failed system call: adds os_errno and its text. */
void stk__error_set_os(stk_error *err, stk_status st, int os_errno, const char *format, ...)
    STK__PRINTF(4, 5);

/* They are macros, so that analysers see a constant. */
#define STK_FAIL(err, st, ...) (stk__error_set((err), (st), __VA_ARGS__), (st))
#define STK_FAIL_AT(err, st, offset, ...) \
    (stk__error_set_at((err), (st), (offset), __VA_ARGS__), (st))
#define STK_FAIL_OS(err, st, os_errno, ...) \
    (stk__error_set_os((err), (st), (os_errno), __VA_ARGS__), (st))

/* Return a failure upward, only where nothing has to be released. */
#define STK_TRY(expr)                        \
    do {                                     \
        stk_status stk__try_status = (expr); \
        if (stk__try_status < 0)             \
            return stk__try_status;          \
    } while (0)

#endif

/*
 * Many files behind few descriptors: reads at any offset of any of them, by any threads.
 *
 * At most STK__FILE_SET_OPEN files are kept open; the least recently used makes room. A read holds
 * on to its descriptor, so that it is never closed under it; while more than a bucket's worth of
 * files are being read at once, the rest are opened for one read. When the system refuses another
 * descriptor, the set gives back one of its own and tries again.
 *
 * Threads: all calls but new and free, at any time. After fork the child may go on: descriptors are
 * inherited, and locks that other threads of the parent held are made anew there.
 */
#ifndef STK__FILE_SET_H
#define STK__FILE_SET_H

#include <stoker/base.h>

#include "base/heap.h"

enum { STK__FILE_SET_OPEN = 64 };

typedef struct stk__file_set stk__file_set;

/* Path of a file, by its number: written into `path`, NUL-terminated, as far as it fits. Returns
 * the bytes needed without the NUL. */
typedef size_t stk__file_path(const void *ctx, uint32_t id, char *path, size_t capacity);

/* A read of one file. */
typedef struct stk__file_want {
    uint32_t id;
    uint64_t offset;
    uint64_t indexed_bytes; /* of the whole file when it was indexed */
    bool exact;             /* a file of another size is refused when it is opened */
} stk__file_want;

/* `heap` and `ctx` are kept. */
STK_MUST_CHECK stk_status stk__file_set_new(stk__heap *heap, stk__file_path *path, const void *ctx,
    stk__file_set **set_out, stk_error *err);

/* Takes NULL. */
void stk__file_set_free(stk__file_set *set);

/* Read all of dst. STK_ESOURCE, STK_ECORRUPT (the file is not what was indexed); both name it. */
STK_MUST_CHECK stk_status stk__file_set_read(
    stk__file_set *set, const stk__file_want *want, stk_span dst, stk_error *err);

/* The same without waiting for the disk, but for opening: STK_AGAIN. */
STK_MUST_CHECK stk_status stk__file_set_try_read(
    stk__file_set *set, const stk__file_want *want, stk_span dst, stk_error *err);

/* Descriptors that the set keeps open now. For tests and messages. */
uint32_t stk__file_set_count(stk__file_set *set);

#endif

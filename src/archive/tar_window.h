/*
 * The bytes of an archive, through a window that slides over the file.
 *
 * One aligned buffer is refilled by large reads; what lies in it is handed out as a view without a
 * copy. Pieces that are larger than half of it get a second buffer that grows to the largest of
 * them and no further than the file is long.
 */
#ifndef STK__TAR_WINDOW_H
#define STK__TAR_WINDOW_H

#include <stoker/base.h>

#include "base/heap.h"

/* Where bytes come from; read as stk__file_read_at() does. Must outlive the window. */
typedef struct stk__tar_source {
    stk_status (*read)(void *ctx, uint64_t offset, stk_span dst, size_t *got_out, stk_error *err);
    void *ctx;
    uint64_t size_bytes;
} stk__tar_source;

typedef struct stk__tar_window {
    stk__heap *heap;
    stk__tar_source source;
    uint8_t *buffer;
    size_t capacity;
    uint64_t start; /* offset of the buffer's first byte */
    size_t filled;
    size_t ahead; /* bytes that the next refill wants */
    uint8_t *large;
    size_t large_capacity;
} stk__tar_window;

STK_MUST_CHECK stk_status stk__tar_window_init(
    stk__tar_window *window, stk__heap *heap, const stk__tar_source *source, stk_error *err);

/* Give memory back; fine for a zeroed one. */
void stk__tar_window_fini(stk__tar_window *window);

/* Are all of [offset, offset + size) in the buffer? */
static inline bool stk__tar_window_holds(
    const stk__tar_window *window, uint64_t offset, uint64_t size)
{
    uint64_t skip = offset - window->start; /* huge when offset lies before it */

    return skip <= window->filled && size <= window->filled - skip;
}

/* Bytes that are: valid until the window moves. */
static inline const uint8_t *stk__tar_window_at(const stk__tar_window *window, uint64_t offset)
{
    return window->buffer + (offset - window->start);
}

/*
 * The bytes [offset, offset + size), which lie inside the file; size is not 0. Views given before
 * become invalid, except when stk__tar_window_holds() them already.
 *
 * @return STK_OK, STK_ENOMEM, STK_ECORRUPT (the file became shorter), what the source returns.
 */
STK_MUST_CHECK stk_status stk__tar_window_get(stk__tar_window *window, uint64_t offset,
    uint64_t size, const uint8_t **bytes_out, stk_error *err);

/* The same for bytes away from where reading goes on: the window stays, and its views with it. */
STK_MUST_CHECK stk_status stk__tar_window_get_aside(stk__tar_window *window, uint64_t offset,
    uint64_t size, const uint8_t **bytes_out, stk_error *err);

/* Much was stepped over: read little at the next place, and more again as long as it is near. */
void stk__tar_window_far(stk__tar_window *window);

#endif

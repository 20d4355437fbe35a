/* The bytes of an archive: see tar_window.h. */
#include "archive/tar_window.h"

#include <string.h>

#include "archive/tar_head.h"
#include "base/error.h"
#include "base/size.h"

enum {
    WINDOW_BYTES = 1 << 20,
    LEAST_BYTES = 8 << 10, /* two pages: a header, and a small member or two behind it */
};

stk_status stk__tar_window_init(
    stk__tar_window *window, stk__heap *heap, const stk__tar_source *source, stk_error *err)
{
    *window = (stk__tar_window){.heap = heap, .source = *source};
    window->capacity = WINDOW_BYTES;
    if (source->size_bytes < WINDOW_BYTES) /* a small file needs no more than itself */
        window->capacity = stk__size_align((size_t)source->size_bytes, STK_ALIGN_BYTES);
    window->ahead = window->capacity;
    window->buffer = stk__heap_alloc_aligned(heap, window->capacity);
    if (window->buffer == NULL)
        return STK_FAIL(
            err, STK_ENOMEM, "no memory to read an archive through: %zu bytes", window->capacity);
    return STK_OK;
}

void stk__tar_window_fini(stk__tar_window *window)
{
    stk__heap_free_aligned(window->heap, window->buffer, window->capacity);
    stk__heap_free_aligned(window->heap, window->large, window->large_capacity);
    *window = (stk__tar_window){0};
}

void stk__tar_window_far(stk__tar_window *window)
{
    window->ahead = stk__size_min(LEAST_BYTES, window->capacity);
}

/* Copy what the buffer has of [offset, ...) to dst and read the rest of `want` bytes behind it. */
static stk_status gather(
    stk__tar_window *window, uint64_t offset, uint8_t *dst, size_t want, stk_error *err)
{
    uint64_t skip = offset - window->start;
    size_t have = skip < window->filled ? window->filled - (size_t)skip : 0;
    size_t got = 0;

    have = stk__size_min(have, want);
    if (have > 0)
        memmove(dst, window->buffer + skip, have);
    if (dst == window->buffer) { /* whatever happens now, this much is true of it */
        window->start = offset;
        window->filled = have;
    }
    if (have < want)
        STK_TRY(window->source.read(
            window->source.ctx, offset + have, (stk_span){dst + have, want - have}, &got, err));
    if (have + got < want)
        return STK_FAIL_AT(
            err, STK_ECORRUPT, offset + have + got, "the file became shorter while it was read");
    if (dst == window->buffer)
        window->filled = want;
    return STK_OK;
}

static stk_status grow_large(stk__tar_window *window, size_t size, stk_error *err)
{
    size_t capacity = stk__size_max(size, window->large_capacity + window->large_capacity / 2);

    if (size <= window->large_capacity)
        return STK_OK;
    if (capacity > window->source.size_bytes)
        capacity = (size_t)window->source.size_bytes; /* size is not more than that */
    stk__heap_free_aligned(window->heap, window->large, window->large_capacity);
    window->large_capacity = 0;
    window->large = stk__heap_alloc_aligned(window->heap, capacity);
    if (window->large == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a member of %zu bytes", size);
    window->large_capacity = capacity;
    return STK_OK;
}

stk_status stk__tar_window_get_aside(stk__tar_window *window, uint64_t offset, uint64_t size,
    const uint8_t **bytes_out, stk_error *err)
{
    if (stk__tar_window_holds(window, offset, size)) {
        *bytes_out = stk__tar_window_at(window, offset);
        return STK_OK;
    }
    if (size > SIZE_MAX)
        return STK_FAIL(err, STK_ENOMEM, "a member is larger than this machine can address");
    STK_TRY(grow_large(window, (size_t)size, err));
    STK_TRY(gather(window, offset, window->large, (size_t)size, err));
    *bytes_out = window->large;
    return STK_OK;
}

/* Move the window to `offset`. */
static stk_status slide(stk__tar_window *window, uint64_t offset, size_t least, stk_error *err)
{
    uint64_t left = window->source.size_bytes - offset;
    uint64_t want = stk__u64_min(stk__size_max(window->ahead, least), left);

    window->ahead = stk__size_min(2 * window->ahead, window->capacity);
    return gather(window, offset, window->buffer, (size_t)want, err);
}

stk_status stk__tar_window_get(stk__tar_window *window, uint64_t offset, uint64_t size,
    const uint8_t **bytes_out, stk_error *err)
{
    if (!stk__tar_window_holds(window, offset, size)) {
        if (size > stk__size_max(window->capacity / 2, STK__TAR_BLOCK))
            return stk__tar_window_get_aside(window, offset, size, bytes_out, err);
        STK_TRY(slide(window, offset, (size_t)size, err));
    }
    *bytes_out = stk__tar_window_at(window, offset);
    return STK_OK;
}

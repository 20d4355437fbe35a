/*
 * The heap of a loader or a call: every allocation of the engine goes through one.
 *
 * It checks the multiplication, counts against a ceiling, and is where faults are injected. It owns
 * nothing itself: who allocates frees, with the same count and size, so that no header is stored
 * and the figures stay exact.
 *
 * Threads: one heap may be used by any number of threads at once.
 */
#ifndef STK__HEAP_H
#define STK__HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

typedef struct stk__heap {
    uint64_t ceiling_bytes;      /* set at creation; 0: none */
    stk__atomic_u64 used_bytes;  /* atomic: now */
    stk__atomic_u64 peak_bytes;  /* atomic: the most so far */
    stk__atomic_u64 allocations; /* atomic: successful ones so far */
} stk__heap;

/* count * size bytes, aligned for any type; NULL over the ceiling, on overflow and out of memory.
 * count * size may be 0: the result is then not NULL and must be freed. */
void *stk__heap_alloc(stk__heap *heap, size_t count, size_t size);

/* The same, all zero. */
void *stk__heap_zalloc(stk__heap *heap, size_t count, size_t size);

/* The same, aligned to STK_ALIGN_BYTES; from 2 MiB on in pages of its own that are as large as the
 * system gives. Freed with stk__heap_free_aligned(). */
void *stk__heap_alloc_aligned(stk__heap *heap, size_t size_bytes);

/* Grow an array from old_count to new_count elements, contents kept; NULL leaves the old one. */
void *stk__heap_grow(stk__heap *heap, void *old, size_t old_count, size_t new_count, size_t size);

/* Give back; takes NULL. count and size are those of the allocation. */
void stk__heap_free(stk__heap *heap, void *memory, size_t count, size_t size);
void stk__heap_free_aligned(stk__heap *heap, void *memory, size_t size_bytes);

/* A copy of `length` bytes with a NUL behind. Freed with stk__heap_free(heap, text, length + 1, 1).
 */
char *stk__heap_text(stk__heap *heap, const char *text, size_t length);

/* Count memory that a library allocates by itself. @return false over the ceiling. */
_Bool stk__heap_reserve(stk__heap *heap, size_t size_bytes);
void stk__heap_unreserve(stk__heap *heap, size_t size_bytes);

#endif

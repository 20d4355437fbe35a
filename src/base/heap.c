/* The heap of a loader or a call: see heap.h. */
#include "base/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <stoker/base.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/size.h"

/* From here on memory comes straight from the system: pages of its own, huge where it can. */
#define LARGE_BYTES ((size_t)2 << 20)

/* Count without looking at the system yet. Checked before it is added, so that no other thread is
 * refused for what this one never got. */
static bool count_in(stk__heap *heap, size_t size_bytes)
{
    uint64_t used = stk__load_relaxed_u64(&heap->used_bytes);
    uint64_t wanted;

    do {
        if (!stk__u64_add(used, size_bytes, &wanted) ||
            (heap->ceiling_bytes != 0 && wanted > heap->ceiling_bytes))
            return false;
    } while (!stk__cas_acq_rel_u64(&heap->used_bytes, &used, wanted));
    return true;
}

/* The peak is a figure of what was really there: raised after the system gave the memory. */
static void raise_peak(stk__heap *heap)
{
    uint64_t used = stk__load_relaxed_u64(&heap->used_bytes);
    uint64_t peak = stk__load_relaxed_u64(&heap->peak_bytes);

    while (used > peak && !stk__cas_acq_rel_u64(&heap->peak_bytes, &peak, used))
        ;
}

_Bool stk__heap_reserve(stk__heap *heap, size_t size_bytes)
{
    if (!count_in(heap, size_bytes))
        return false;
    raise_peak(heap);
    return true;
}

void stk__heap_unreserve(stk__heap *heap, size_t size_bytes)
{
    stk__sub_acq_rel_u64(&heap->used_bytes, size_bytes);
}

/* Pass the checks that every allocation passes. */
static bool admit(stk__heap *heap, size_t count, size_t size, size_t *bytes_out)
{
    if (!stk__size_mul(count, size, bytes_out) || stk__fault_hit(STK__FAULT_ALLOC))
        return false;
    return count_in(heap, *bytes_out);
}

static void *admitted(stk__heap *heap, void *memory, size_t bytes)
{
    if (memory == NULL) {
        stk__heap_unreserve(heap, bytes);
        return NULL;
    }
    raise_peak(heap);
    stk__add_relaxed_u64(&heap->allocations, 1); /* a figure only: nothing is ordered by it */
    return memory;
}

void *stk__heap_alloc(stk__heap *heap, size_t count, size_t size)
{
    size_t bytes;

    if (!admit(heap, count, size, &bytes))
        return NULL;
    return admitted(heap, malloc(bytes > 0 ? bytes : 1), bytes);
}

void *stk__heap_zalloc(stk__heap *heap, size_t count, size_t size)
{
    size_t bytes;

    if (!admit(heap, count, size, &bytes))
        return NULL;
    return admitted(heap, calloc(bytes > 0 ? bytes : 1, 1), bytes);
}

static void *pages_of_its_own(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
#if defined(MADV_HUGEPAGE)
    STK_IGNORE(
        madvise(memory, bytes, MADV_HUGEPAGE) != 0); /* a hint: small pages are correct too */
#endif
    return memory;
}

void *stk__heap_alloc_aligned(stk__heap *heap, size_t size_bytes)
{
    size_t bytes;

    if (size_bytes > SIZE_MAX - STK_ALIGN_BYTES || !admit(heap, size_bytes, 1, &bytes))
        return NULL;
    if (bytes >= LARGE_BYTES)
        return admitted(heap, pages_of_its_own(bytes), bytes);
    return admitted(heap,
        aligned_alloc(STK_ALIGN_BYTES, stk__size_align(bytes > 0 ? bytes : 1, STK_ALIGN_BYTES)),
        bytes);
}

void stk__heap_free_aligned(stk__heap *heap, void *memory, size_t size_bytes)
{
    if (memory == NULL)
        return;
    stk__heap_unreserve(heap, size_bytes);
    if (size_bytes >= LARGE_BYTES)
        STK_IGNORE(munmap(memory, size_bytes) != 0); /* fails only for what is no mapping */
    else
        free(memory);
}

void *stk__heap_grow(stk__heap *heap, void *old, size_t old_count, size_t new_count, size_t size)
{
    size_t old_bytes = old_count * size; /* was checked when it was allocated */
    size_t new_bytes;
    void *memory;

    if (!stk__size_mul(new_count, size, &new_bytes) || new_bytes < old_bytes ||
        stk__fault_hit(STK__FAULT_ALLOC) || !count_in(heap, new_bytes - old_bytes))
        return NULL;
    memory = realloc(old, new_bytes > 0 ? new_bytes : 1);
    return admitted(heap, memory, new_bytes - old_bytes);
}

void stk__heap_free(stk__heap *heap, void *memory, size_t count, size_t size)
{
    if (memory == NULL)
        return;
    stk__heap_unreserve(heap, count * size);
    free(memory);
}

char *stk__heap_text(stk__heap *heap, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? stk__heap_alloc(heap, length + 1, 1) : NULL;

    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

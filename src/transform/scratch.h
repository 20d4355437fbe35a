/* Memory that a run keeps from picture to picture: it grows to the largest need and stays. */
#ifndef STK__SCRATCH_H
#define STK__SCRATCH_H

#include "base/heap.h"
#include "base/size.h"

typedef struct stk__scratch {
    void *data;
    size_t size_bytes;
} stk__scratch;

static inline void stk__scratch_fini(stk__scratch *scratch, stk__heap *heap)
{
    stk__heap_free_aligned(heap, scratch->data, scratch->size_bytes);
    *scratch = (stk__scratch){0};
}

/* count * size bytes and `slack` behind them, aligned to STK_ALIGN_BYTES; NULL: no memory. If it
 * has to grow, what was there is lost, and there is room for `room` of them, where that is more. */
static inline void *stk__scratch_need(
    stk__scratch *scratch, stk__heap *heap, size_t count, size_t room, size_t size, size_t slack)
{
    size_t bytes;

    if (!stk__size_mul(count, size, &bytes) || !stk__size_add(bytes, slack, &bytes))
        return NULL;
    if (scratch->data != NULL && bytes <= scratch->size_bytes)
        return scratch->data;
    if (!stk__size_mul(stk__size_max(count, room), size, &bytes) ||
        !stk__size_add(bytes, slack, &bytes))
        return NULL;
    stk__scratch_fini(scratch, heap);
    scratch->data = stk__heap_alloc_aligned(heap, bytes);
    if (scratch->data != NULL)
        scratch->size_bytes = bytes;
    return scratch->data;
}

#endif

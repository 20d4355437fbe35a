/* Heap sort: see sort.h. */
#include "base/sort.h"

/* Let numbers[root] sink in the heap of the first `count`. */
static void sink(
    uint32_t *numbers, size_t root, size_t count, stk__before_fn *before, const void *ctx)
{
    uint32_t moved = numbers[root];

    for (;;) {
        size_t child = 2 * root + 1;

        if (child >= count)
            break;
        if (child + 1 < count && before(ctx, numbers[child], numbers[child + 1]))
            child++;
        if (!before(ctx, moved, numbers[child]))
            break;
        numbers[root] = numbers[child];
        root = child;
    }
    numbers[root] = moved;
}

static bool is_sorted(
    const uint32_t *numbers, size_t count, stk__before_fn *before, const void *ctx)
{
    for (size_t i = 1; i < count; i++) {
        if (before(ctx, numbers[i], numbers[i - 1]))
            return false;
    }
    return true;
}

void stk__sort_u32(uint32_t *numbers, size_t count, stk__before_fn *before, const void *ctx)
{
    if (is_sorted(numbers, count, before, ctx))
        return;
    for (size_t i = count / 2; i > 0; i--)
        sink(numbers, i - 1, count, before, ctx);
    for (size_t end = count - 1; end > 0; end--) {
        uint32_t last = numbers[0];

        numbers[0] = numbers[end];
        numbers[end] = last;
        sink(numbers, 0, end, before, ctx);
    }
}

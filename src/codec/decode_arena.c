/* Memory of one picture after the other: see decode_arena.h. */
#include "codec/decode_arena.h"

#include <stoker/base.h>

#include "base/size.h"

#define FIRST_BYTES ((size_t)256 << 10)

struct stk__arena_block {
    stk__arena_block *older;
    size_t size_bytes; /* with this head */
};

#define HEAD_BYTES stk__size_align(sizeof(stk__arena_block), STK_ALIGN_BYTES)

void stk__arena_init(stk__arena *arena, stk__heap *heap)
{
    *arena = (stk__arena){.heap = heap, .wish_bytes = FIRST_BYTES};
}

static void drop_blocks(stk__arena *arena)
{
    while (arena->block != NULL) {
        stk__arena_block *block = arena->block;

        arena->block = block->older;
        stk__heap_free_aligned(arena->heap, block, block->size_bytes);
    }
}

void stk__arena_fini(stk__arena *arena)
{
    drop_blocks(arena);
}

static bool add_block(stk__arena *arena, size_t need_bytes)
{
    size_t size_bytes = stk__size_max(arena->wish_bytes, need_bytes + HEAD_BYTES);
    stk__arena_block *block = stk__heap_alloc_aligned(arena->heap, size_bytes);

    if (block == NULL && size_bytes > need_bytes + HEAD_BYTES) {
        size_bytes = need_bytes + HEAD_BYTES; /* near the ceiling: no more than has to be */
        block = stk__heap_alloc_aligned(arena->heap, size_bytes);
    }
    if (block == NULL)
        return false;
    *block = (stk__arena_block){.older = arena->block, .size_bytes = size_bytes};
    arena->block = block;
    arena->used_bytes = HEAD_BYTES;
    return true;
}

void *stk__arena_take(stk__arena *arena, size_t size_bytes)
{
    uint8_t *piece;

    if (size_bytes > SIZE_MAX / 2)
        return NULL;
    size_bytes = stk__size_align(size_bytes, STK_ALIGN_BYTES);
    if ((arena->block == NULL || arena->block->size_bytes - arena->used_bytes < size_bytes) &&
        !add_block(arena, size_bytes))
        return NULL;
    piece = (uint8_t *)arena->block + arena->used_bytes;
    arena->used_bytes += size_bytes;
    arena->taken_bytes += size_bytes;
    return piece;
}

uint8_t **stk__arena_rows(stk__arena *arena, size_t row_bytes, uint32_t count)
{
    size_t pitch_bytes = stk__size_align(row_bytes, STK_ALIGN_BYTES);
    uint8_t **rows = stk__arena_take(arena, count * sizeof *rows);
    uint8_t *first = NULL;
    size_t bytes;

    if (pitch_bytes >= row_bytes && stk__size_mul(pitch_bytes, (size_t)count + 1, &bytes))
        first = stk__arena_take(arena, bytes);
    if (rows == NULL || first == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = first + i * pitch_bytes;
    return rows;
}

void stk__arena_reset(stk__arena *arena)
{
    bool several = arena->block != NULL && arena->block->older != NULL;
    size_t whole = stk__size_align(arena->taken_bytes + HEAD_BYTES, 4096);

    if (several && whole <= STK__ARENA_KEEP_BYTES)
        arena->wish_bytes = stk__size_max(arena->wish_bytes, whole);
    if (several || (arena->block != NULL && arena->block->size_bytes > STK__ARENA_KEEP_BYTES))
        drop_blocks(arena);
    arena->used_bytes = HEAD_BYTES;
    arena->taken_bytes = 0;
}

/*
 * Memory of one picture after the other.
 *
 * A library asks for memory while it decodes a picture and is done with all of it at the end. The
 * arena hands out pieces of one block; a reset takes them all back and keeps the block, so that a
 * stream of pictures of like size allocates nothing. When a picture needs more than the block has,
 * further blocks are added, and the reset after it makes one of their whole size.
 */
#ifndef STK__DECODE_ARENA_H
#define STK__DECODE_ARENA_H

#include "base/heap.h"

typedef struct stk__arena_block stk__arena_block;

typedef struct stk__arena {
    stk__heap *heap;         /* counted against; not ours */
    stk__arena_block *block; /* the one in use; older ones behind it */
    size_t used_bytes;       /* of the block in use */
    size_t taken_bytes;      /* since the last reset, over all blocks */
    size_t wish_bytes;       /* size of the next first block */
} stk__arena;

void stk__arena_init(stk__arena *arena, stk__heap *heap);
void stk__arena_fini(stk__arena *arena);

/* size_bytes aligned to STK_ALIGN_BYTES, not cleared, until the next reset; NULL if the heap has no
 * more. */
void *stk__arena_take(stk__arena *arena, size_t size_bytes);

/* An array of `count` pointers to rows of row_bytes, each aligned so, with as much behind the last
 * one that vector code may write past its end. NULL as above. */
uint8_t **stk__arena_rows(stk__arena *arena, size_t row_bytes, uint32_t count);

/* Take everything back. Up to STK__ARENA_KEEP_BYTES stay with the arena, more goes to the heap. */
void stk__arena_reset(stk__arena *arena);

/* A progressive picture of 12 million pixels in 4:2:0 needs 36 MB for its coefficients. */
#define STK__ARENA_KEEP_BYTES ((size_t)48 << 20)

#endif

/* A copy of a name that is kept from call to call: its memory grows and is used again. */
#ifndef STK__TAR_TEXT_H
#define STK__TAR_TEXT_H

#include <string.h>

#include <stoker/base.h>

#include "base/heap.h"
#include "base/size.h"

typedef struct stk__tar_text {
    char *data;
    size_t size, capacity;
} stk__tar_text;

/* Append; false: no memory, and the text is as it was. */
static inline bool stk__tar_text_add(stk__heap *heap, stk__tar_text *text, stk_view more)
{
    size_t size;

    if (!stk__size_add(text->size, more.size, &size))
        return false;
    if (text->data == NULL || size > text->capacity) {
        size_t capacity = stk__size_align(size, 64);
        char *data =
            capacity < size ? NULL : stk__heap_grow(heap, text->data, text->capacity, capacity, 1);

        if (data == NULL)
            return false;
        text->data = data;
        text->capacity = capacity;
    }
    if (more.size > 0)
        memcpy(text->data + text->size, more.data, more.size);
    text->size = size;
    return true;
}

/* Replace what is there by `from`, which must not lie in the text itself. */
static inline bool stk__tar_text_set(stk__heap *heap, stk__tar_text *text, stk_view from)
{
    text->size = 0;
    return stk__tar_text_add(heap, text, from);
}

static inline stk_view stk__tar_text_view(const stk__tar_text *text)
{
    return (stk_view){text->data, text->size};
}

static inline void stk__tar_text_fini(stk__heap *heap, stk__tar_text *text)
{
    stk__heap_free(heap, text->data, text->capacity, 1);
    *text = (stk__tar_text){0};
}

#endif

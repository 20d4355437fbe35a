/* Use every entry of an index, as whoever opens one may: what is not refused must lie inside it. */
#ifndef STK_WALK_INDEX_H
#define STK_WALK_INDEX_H

#include <string.h>

#include "archive/index_file.h"

/* Takes in all bytes that an index hands out, so that reading them cannot be left out. */
typedef struct index_sink {
    volatile uint64_t sum;
} index_sink;

static inline void touch(index_sink *sink, const void *data, size_t size)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < size; i++)
        sink->sum = sink->sum * 31 + p[i];
}

/* A text with a NUL behind it, which is looked at, too; false if there is none. */
static inline bool touch_closed(index_sink *sink, stk_view view)
{
    touch(sink, view.data, view.size + 1);
    return ((const char *)view.data)[view.size] == '\0';
}

/* Walks at most the first `most` entries of each kind; false if one makes no sense. */
static inline bool walk_index(const stk__index *index, uint64_t most)
{
    index_sink sink = {0};
    uint64_t first, end;
    stk__index_entry entry;
    stk__index_field field;
    stk__index_class class;
    stk__index_note note;
    stk__index_folder folder;
    uint32_t id;
    bool sound = true;

    for (uint64_t i = 0; i <= most && sound; i++) {
        if (stk__index_sample(index, i, &first, &end))
            sound = sound && first < end && end <= index->members;
        if (stk__index_member(index, i, &entry)) {
            touch(&sink, entry.name.data, entry.name.size);
            sound = sound && entry.key_bytes <= entry.name.size &&
                    entry.offset + entry.size_bytes >= entry.offset;
        }
        if (stk__index_member_field(index, i, &id))
            sound = sound && id < index->section[STK__INDEX_FIELDS].count;
        if (stk__index_get_field(index, i, &field))
            sound = sound && touch_closed(&sink, field.name);
        if (stk__index_get_class(index, i, &class))
            sound =
                sound && touch_closed(&sink, class.name) && class.first_sample <= index->samples;
        if (stk__index_get_note(index, i, &note))
            touch(&sink, note.text, strlen(note.text) + 1);
        if (stk__index_get_folder(index, i, &folder))
            sound = sound && touch_closed(&sink, folder.path);
    }
    return sound;
}

#endif

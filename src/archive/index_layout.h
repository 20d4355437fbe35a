/* Where things stand in an index file (docs/formats.md), for those who read and write its bytes. */
#ifndef STK__INDEX_LAYOUT_H
#define STK__INDEX_LAYOUT_H

#include "archive/index_file.h"

/* Like the signature of PNG: not text, and both kinds of line end show up when they were changed.
 */
#define STK__INDEX_MAGIC       "\x89STKIX\r\n"
#define STK__INDEX_MAGIC_BYTES 8u
#define STK__INDEX_VERSION     2u

/* CRCs of a source cover this much of each end. */
#define STK__INDEX_END_BYTES 4096u

/* Offsets in the header. What is not named is zero. */
enum {
    STK__HEAD_VERSION = 8,
    STK__HEAD_KIND = 12,
    STK__HEAD_FLAGS = 16,
    STK__HEAD_SECTIONS = 20,
    STK__HEAD_FILE_BYTES = 24,
    STK__HEAD_SOURCE_BYTES = 32,
    STK__HEAD_SOURCE_MTIME = 40,
    STK__HEAD_SOURCE_HEAD = 48,
    STK__HEAD_SOURCE_TAIL = 52,
    STK__HEAD_FINGERPRINT = 56,
    STK__HEAD_SAMPLES = 72,
    STK__HEAD_MEMBERS = 80,
    STK__HEAD_TABLE_CRC = 152,
    STK__HEAD_CRC = 156, /* of all bytes before it */
};

/* A member has the offset of its name in the lower 40 bits of a word, the key's length above. */
#define STK__NAME_OFFSET_BITS 40
#define STK__NAME_OFFSET_MASK (((uint64_t)1 << STK__NAME_OFFSET_BITS) - 1)
#define STK__NAME_MAX_BYTES   (((uint32_t)1 << (64 - STK__NAME_OFFSET_BITS)) - 1)

extern const uint32_t stk__index_entry_bytes[STK__INDEX_SECTION_COUNT];
extern const char *const stk__index_section_name[STK__INDEX_SECTION_COUNT];

/* Arrays that grow, one a section; an index takes them over from its builder. */
typedef struct stk__index_grown {
    struct {
        uint8_t *data;
        size_t size, capacity;
    } section[STK__INDEX_SECTION_COUNT];
} stk__index_grown;

/* An empty handle; and the end of grown arrays. Takes NULL. */
STK_MUST_CHECK stk_status stk__index_new(stk__heap *heap, stk__index **index_out, stk_error *err);
void stk__index_grown_free(stk__heap *heap, stk__index_grown *grown);

#endif

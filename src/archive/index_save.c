/* Writing an index: see index_file.h. Whoever opens the final name meets a whole index or none. */
#include <string.h>

#include "archive/index_file.h"
#include "archive/index_layout.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/size.h"
#include "os/draft.h"

/* Sections begin at multiples of this. */
#define SECTION_ALIGN_BYTES 64u

/* The header, and the table of sections behind it. */
typedef struct front {
    uint8_t bytes[STK__INDEX_HEAD_BYTES + STK__INDEX_SECTION_COUNT * STK__INDEX_SECTION_BYTES];
    size_t size;
    uint64_t offset[STK__INDEX_SECTION_COUNT];
    uint64_t file_bytes;
} front;

static uint64_t section_bytes(const stk__index *index, uint32_t id)
{
    return index->section[id].count * stk__index_entry_bytes[id]; /* they lie in memory */
}

static void place_sections(const stk__index *index, front *f)
{
    uint8_t *row = f->bytes + STK__INDEX_HEAD_BYTES;
    uint64_t at = sizeof f->bytes;

    for (uint32_t id = 1; id < STK__INDEX_SECTION_COUNT; id++) {
        const stk__index_section *section = &index->section[id];

        if (section->count == 0)
            continue;
        at = stk__u64_align(at, SECTION_ALIGN_BYTES);
        f->offset[id] = at;
        stk__put_le32(row, id);
        stk__put_le32(row + 4, stk__index_entry_bytes[id]);
        stk__put_le64(row + 8, at);
        stk__put_le64(row + 16, section->count);
        stk__put_le32(row + 24, stk__crc32c(0, section->data, (size_t)section_bytes(index, id)));
        at += section_bytes(index, id);
        row += STK__INDEX_SECTION_BYTES;
    }
    f->size = (size_t)(row - f->bytes);
    f->file_bytes = at;
}

static void make_front(const stk__index *index, front *f)
{
    static const char magic[] = STK__INDEX_MAGIC;
    uint8_t *head = f->bytes;

    memset(f, 0, sizeof *f);
    place_sections(index, f);
    for (size_t i = 0; i < STK__INDEX_MAGIC_BYTES; i++)
        head[i] = (uint8_t)magic[i];
    stk__put_le32(head + STK__HEAD_VERSION, STK__INDEX_VERSION);
    stk__put_le32(head + STK__HEAD_KIND, (uint32_t)index->kind);
    stk__put_le32(head + STK__HEAD_FLAGS, index->flags);
    stk__put_le32(head + STK__HEAD_SECTIONS,
        (uint32_t)((f->size - STK__INDEX_HEAD_BYTES) / STK__INDEX_SECTION_BYTES));
    stk__put_le64(head + STK__HEAD_FILE_BYTES, f->file_bytes);
    stk__put_le64(head + STK__HEAD_SOURCE_BYTES, index->source.size_bytes);
    stk__put_le64(head + STK__HEAD_SOURCE_MTIME, (uint64_t)index->source.mtime_ns);
    stk__put_le32(head + STK__HEAD_SOURCE_HEAD, index->source.head_crc);
    stk__put_le32(head + STK__HEAD_SOURCE_TAIL, index->source.tail_crc);
    stk__put_le64(head + STK__HEAD_FINGERPRINT, index->fingerprint[0]);
    stk__put_le64(head + STK__HEAD_FINGERPRINT + 8, index->fingerprint[1]);
    stk__put_le64(head + STK__HEAD_SAMPLES, index->samples);
    stk__put_le64(head + STK__HEAD_MEMBERS, index->members);
    stk__put_le32(head + STK__HEAD_TABLE_CRC,
        stk__crc32c(0, head + STK__INDEX_HEAD_BYTES, f->size - STK__INDEX_HEAD_BYTES));
    stk__put_le32(head + STK__HEAD_CRC, stk__crc32c(0, head, STK__HEAD_CRC));
}

static stk_status write_all(const stk__index *index, const front *f, const stk__file *file,
    const char *path, stk_error *err)
{
    static const uint8_t zeros[SECTION_ALIGN_BYTES];
    uint64_t at = sizeof f->bytes;

    STK_TRY(stk__file_write(file, path, (stk_view){f->bytes, sizeof f->bytes}, err));
    for (uint32_t id = 1; id < STK__INDEX_SECTION_COUNT; id++) {
        size_t gap;

        if (f->offset[id] == 0)
            continue;
        gap = (size_t)(f->offset[id] - at);
        STK_TRY(stk__file_write(file, path, (stk_view){zeros, gap}, err));
        STK_TRY(stk__file_write(file, path,
            (stk_view){index->section[id].data, (size_t)section_bytes(index, id)}, err));
        at = f->offset[id] + section_bytes(index, id);
    }
    return stk__file_sync(file, path, err);
}

stk_status stk__index_save(const stk__index *index, const char *path, stk_error *err)
{
    stk__draft draft = STK__DRAFT_NONE;
    stk_status st;
    front f;

    make_front(index, &f);
    st = stk__draft_create(&draft, path, err);
    if (st >= 0)
        st = write_all(index, &f, &draft.file, path, err);
    if (st >= 0)
        st = stk__draft_publish(&draft, path, err);
    stk__draft_fini(&draft);
    return st;
}

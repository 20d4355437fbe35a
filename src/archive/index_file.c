/*
 * Opening an index and reading its entries: see index_file.h.
 *
 * The header and the table of sections have checksums of their own and are checked at once; so are
 * the sections, up to a length of all that takes half a second. Beyond, and since whoever can write
 * the sections can write the checksums, too, every entry is taken as a claim.
 */
#include "archive/index_file.h"

#include <errno.h>
#include <string.h>

#include "archive/index_layout.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/size.h"

/* Up to this size an index is read: that costs less than a mapping and its page faults. */
#define READ_WHOLE_BYTES ((uint64_t)16 << 10)

/* Up to this size all of an index is checked when it is opened: 0.45 ms for each MiB of a file that
 * is in memory. An entry that was damaged and makes sense gives wrong samples in silence, so this
 * takes in all but the indexes of some 14 million files and more. Those open in constant time, and
 * are checked by stk__index_verify() when somebody asks. */
#define CHECK_WHOLE_BYTES ((uint64_t)1 << 30)

const uint32_t stk__index_entry_bytes[STK__INDEX_SECTION_COUNT] = {
#define BYTES(number, name, bytes) [number] = (bytes),
    STK__INDEX_SECTION_LIST(BYTES)
#undef BYTES
};

const char *const stk__index_section_name[STK__INDEX_SECTION_COUNT] = {
#define NAME(number, name, bytes) [number] = #name,
    STK__INDEX_SECTION_LIST(NAME)
#undef NAME
};

stk_status stk__index_source_of(
    const stk__file *file, const char *path, stk__index_source *source_out, stk_error *err)
{
    uint8_t end[STK__INDEX_END_BYTES];
    stk__index_source source = {0};
    stk__file_stat found;
    uint64_t tail;
    size_t got;

    STK_TRY(stk__file_stat_of(file, path, &found, err));
    source.size_bytes = found.size_bytes;
    source.mtime_ns = found.mtime_ns;
    STK_TRY(stk__file_read_at(file, path, 0, (stk_span){end, sizeof end}, &got, err));
    source.head_crc = stk__crc32c(0, end, got);
    tail = found.size_bytes > sizeof end ? found.size_bytes - sizeof end : 0;
    if (tail > 0)
        STK_TRY(stk__file_read_at(file, path, tail, (stk_span){end, sizeof end}, &got, err));
    source.tail_crc = stk__crc32c(0, end, got);
    *source_out = source;
    return STK_OK;
}

bool stk__index_source_equal(const stk__index_source *a, const stk__index_source *b)
{
    return a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns &&
           a->head_crc == b->head_crc && a->tail_crc == b->tail_crc;
}

/* One row of the table of sections: known ones must lie behind the table and inside the file. */
static stk_status take_section(
    stk__index *index, const uint8_t *row, stk_view bytes, uint64_t table_end, stk_error *err)
{
    uint32_t id = stk__get_le32(row);
    uint32_t entry_bytes = stk__get_le32(row + 4);
    uint64_t offset = stk__get_le64(row + 8);
    uint64_t count = stk__get_le64(row + 16);
    uint64_t size, end;

    if (id == 0 || id >= STK__INDEX_SECTION_COUNT)
        return STK_OK;
    if (entry_bytes != stk__index_entry_bytes[id] || index->section[id].data != NULL ||
        !stk__u64_mul(count, entry_bytes, &size) || !stk__u64_add(offset, size, &end) ||
        offset < table_end || end > bytes.size)
        return STK_FAIL(err, STK_EINDEX, "section %s of the index is out of place",
            stk__index_section_name[id]);
    index->section[id] = (stk__index_section){
        .data = (const uint8_t *)bytes.data + offset,
        .count = count,
        .crc = stk__get_le32(row + 24),
    };
    return STK_OK;
}

static stk_status check_head(const uint8_t *head, stk_view bytes, stk_error *err)
{
    if (bytes.size < STK__INDEX_HEAD_BYTES ||
        memcmp(head, STK__INDEX_MAGIC, STK__INDEX_MAGIC_BYTES) != 0)
        return STK_FAIL(err, STK_EINDEX, "this is no index of Stoker");
    if (stk__get_le32(head + STK__HEAD_CRC) != stk__crc32c(0, head, STK__HEAD_CRC))
        return STK_FAIL(err, STK_EINDEX, "the header of the index is damaged");
    if (stk__get_le32(head + STK__HEAD_VERSION) != STK__INDEX_VERSION)
        return STK_FAIL(err, STK_ENOTSUP, "the index has version %u; this build reads version %u",
            stk__get_le32(head + STK__HEAD_VERSION), STK__INDEX_VERSION);
    if (stk__get_le64(head + STK__HEAD_FILE_BYTES) != bytes.size)
        return STK_FAIL(err, STK_EINDEX, "the index has %llu bytes of %llu",
            (unsigned long long)bytes.size,
            (unsigned long long)stk__get_le64(head + STK__HEAD_FILE_BYTES));
    return STK_OK;
}

static void take_head(stk__index *index, const uint8_t *head)
{
    index->kind = (stk__index_kind)stk__get_le32(head + STK__HEAD_KIND);
    index->flags = stk__get_le32(head + STK__HEAD_FLAGS);
    index->source = (stk__index_source){
        .size_bytes = stk__get_le64(head + STK__HEAD_SOURCE_BYTES),
        .mtime_ns = (int64_t)stk__get_le64(head + STK__HEAD_SOURCE_MTIME),
        .head_crc = stk__get_le32(head + STK__HEAD_SOURCE_HEAD),
        .tail_crc = stk__get_le32(head + STK__HEAD_SOURCE_TAIL),
    };
    index->fingerprint[0] = stk__get_le64(head + STK__HEAD_FINGERPRINT);
    index->fingerprint[1] = stk__get_le64(head + STK__HEAD_FINGERPRINT + 8);
    index->samples = stk__get_le64(head + STK__HEAD_SAMPLES);
    index->members = stk__get_le64(head + STK__HEAD_MEMBERS);
}

static stk_status parse(stk__index *index, stk_view bytes, stk_error *err)
{
    const uint8_t *head = bytes.data;
    uint64_t sections, table_end;

    STK_TRY(check_head(head, bytes, err));
    take_head(index, head);
    sections = stk__get_le32(head + STK__HEAD_SECTIONS);
    table_end = STK__INDEX_HEAD_BYTES + sections * STK__INDEX_SECTION_BYTES;
    if (sections > STK__INDEX_MAX_SECTIONS || table_end > bytes.size ||
        stk__get_le32(head + STK__HEAD_TABLE_CRC) !=
            stk__crc32c(0, head + STK__INDEX_HEAD_BYTES, sections * STK__INDEX_SECTION_BYTES))
        return STK_FAIL(err, STK_EINDEX, "the table of sections of the index is damaged");
    for (uint64_t i = 0; i < sections; i++)
        STK_TRY(take_section(index, head + STK__INDEX_HEAD_BYTES + i * STK__INDEX_SECTION_BYTES,
            bytes, table_end, err));
    if ((index->kind != STK__INDEX_TAR && index->kind != STK__INDEX_FOLDER) ||
        index->section[STK__INDEX_MEMBERS].count != index->members ||
        index->samples > index->members ||
        index->section[STK__INDEX_SAMPLES].count != index->samples + 1 ||
        index->section[STK__INDEX_FIELDS].count > UINT32_MAX ||
        index->section[STK__INDEX_CLASSES].count > UINT32_MAX)
        return STK_FAIL(err, STK_EINDEX, "the counts of the index disagree");
    return STK_OK;
}

static stk_status read_all(stk__index *index, const stk__file *file, const char *path,
    uint64_t size, stk_view *bytes_out, stk_error *err)
{
    size_t got;

    index->memory = size > SIZE_MAX ? NULL : stk__heap_alloc(index->heap, (size_t)size, 1);
    if (index->memory == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for the index");
    index->memory_bytes = (size_t)size;
    STK_TRY(stk__file_read_at(
        file, path, 0, (stk_span){index->memory, index->memory_bytes}, &got, err));
    *bytes_out = (stk_view){index->memory, got};
    return STK_OK;
}

/* Bring the bytes of an open file into reach. */
static stk_status fetch(stk__index *index, const stk__file *file, const char *path, bool read_whole,
    stk_view *bytes_out, stk_error *err)
{
    stk__file_stat found;

    STK_TRY(stk__file_stat_of(file, path, &found, err));
    if (!found.regular || found.size_bytes < STK__INDEX_HEAD_BYTES)
        return STK_FAIL(err, STK_EINDEX, "this is no index of Stoker");
    if (read_whole || found.size_bytes <= READ_WHOLE_BYTES)
        return read_all(index, file, path, found.size_bytes, bytes_out, err);
    if (stk__file_map(file, path, &index->map, NULL) >= 0) {
        *bytes_out = index->map;
        return STK_OK;
    }
    return read_all(index, file, path, found.size_bytes, bytes_out, err); /* no map is left */
}

stk_status stk__index_new(stk__heap *heap, stk__index **index_out, stk_error *err)
{
    stk__index *index = stk__heap_zalloc(heap, 1, sizeof *index);

    if (index == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for an index");
    index->heap = heap;
    *index_out = index;
    return STK_OK;
}

stk_status stk__index_open(
    stk__heap *heap, const char *path, bool read_whole, stk__index **index_out, stk_error *err)
{
    stk__file file = STK__FILE_NONE;
    stk__index *index = NULL;
    stk_view bytes;
    stk_status st;

    st = stk__file_open(&file, path, err);
    if (st < 0)
        goto out;
    st = stk__index_new(heap, &index, err);
    if (st < 0)
        goto out;
    st = fetch(index, &file, path, read_whole, &bytes, err);
    if (st < 0)
        goto out;
    st = parse(index, bytes, err);
    if (st >= 0 && bytes.size <= CHECK_WHOLE_BYTES)
        st = stk__index_verify(index, err);
    if (st < 0)
        goto out;
    *index_out = index;
    index = NULL;
out:
    stk__index_close(index);
    stk__file_fini(&file);
    return stk__error_in(st, &(stk__place){.stage = STK_STAGE_OPEN, .source = path}, err);
}

stk_status stk__index_open_bytes(
    stk__heap *heap, stk_view bytes, stk__index **index_out, stk_error *err)
{
    stk__index *index = NULL;
    stk_status st = stk__index_new(heap, &index, err);

    if (st >= 0)
        st = parse(index, bytes, err);
    if (st < 0) {
        stk__index_close(index);
        return st;
    }
    *index_out = index;
    return STK_OK;
}

void stk__index_close(stk__index *index)
{
    if (index == NULL)
        return;
    stk__file_unmap(&index->map); /* nothing, if it was never mapped; so too below */
    stk__heap_free(index->heap, index->memory, index->memory_bytes, 1);
    stk__index_grown_free(index->heap, index->grown);
    stk__heap_free(index->heap, index, 1, sizeof *index);
}

stk_status stk__index_verify(const stk__index *index, stk_error *err)
{
    for (uint32_t id = 1; id < STK__INDEX_SECTION_COUNT && index->grown == NULL; id++) {
        const stk__index_section *section = &index->section[id];
        size_t size = (size_t)section->count * stk__index_entry_bytes[id]; /* it lies in memory */

        if (section->data != NULL && stk__crc32c(0, section->data, size) != section->crc)
            return STK_FAIL(
                err, STK_EINDEX, "section %s of the index is damaged", stk__index_section_name[id]);
    }
    return STK_OK;
}

/* The nth entry of a section, or NULL past its end. */
static const uint8_t *entry_at(const stk__index *index, uint32_t id, uint64_t nth)
{
    const stk__index_section *section = &index->section[id];

    return nth < section->count ? section->data + nth * stk__index_entry_bytes[id] : NULL;
}

/* A text of the names, with a NUL behind if `closed`. */
static bool name_at(
    const stk__index *index, uint64_t offset, uint64_t length, bool closed, stk_view *name_out)
{
    const stk__index_section *names = &index->section[STK__INDEX_NAMES];

    if (offset > names->count || names->count - offset < length + (closed ? 1 : 0) ||
        length > SIZE_MAX - 1)
        return false;
    if (closed && names->data[offset + length] != 0)
        return false;
    *name_out = (stk_view){names->data == NULL ? NULL : names->data + offset, (size_t)length};
    return true;
}

bool stk__index_sample(
    const stk__index *index, uint64_t sample, uint64_t *first_out, uint64_t *end_out)
{
    const uint8_t *entry = entry_at(index, STK__INDEX_SAMPLES, sample);
    uint64_t first, end;

    if (entry == NULL || sample >= index->samples)
        return false;
    first = stk__get_le64(entry);
    end = stk__get_le64(entry + 8); /* there is one entry more than there are samples */
    if (first >= end || end > index->members || end - first > UINT32_MAX)
        return false;
    *first_out = first;
    *end_out = end;
    return true;
}

bool stk__index_member(const stk__index *index, uint64_t member, stk__index_entry *entry_out)
{
    const uint8_t *entry = entry_at(index, STK__INDEX_MEMBERS, member);
    stk__index_entry found;
    uint64_t packed, end;

    if (entry == NULL)
        return false;
    found.offset = stk__get_le64(entry);
    found.size_bytes = stk__get_le64(entry + 8);
    packed = stk__get_le64(entry + 16);
    found.key_bytes = (size_t)(packed >> STK__NAME_OFFSET_BITS);
    found.field = stk__get_le32(entry + 28);
    if (!name_at(
            index, packed & STK__NAME_OFFSET_MASK, stk__get_le32(entry + 24), false, &found.name) ||
        found.key_bytes > found.name.size || found.field >= index->section[STK__INDEX_FIELDS].count)
        return false;
    if (!stk__u64_add(found.offset, found.size_bytes, &end) ||
        (index->kind == STK__INDEX_TAR && end > index->source.size_bytes))
        return false;
    *entry_out = found;
    return true;
}

bool stk__index_member_field(const stk__index *index, uint64_t member, uint32_t *field_out)
{
    const uint8_t *entry = entry_at(index, STK__INDEX_MEMBERS, member);

    if (entry == NULL)
        return false;
    *field_out = stk__get_le32(entry + 28);
    return *field_out < index->section[STK__INDEX_FIELDS].count;
}

bool stk__index_get_field(const stk__index *index, uint64_t nth, stk__index_field *field_out)
{
    const uint8_t *entry = entry_at(index, STK__INDEX_FIELDS, nth);

    if (entry == NULL ||
        !name_at(index, stk__get_le64(entry), stk__get_le32(entry + 8), true, &field_out->name))
        return false;
    field_out->max_bytes = stk__get_le64(entry + 16);
    field_out->members = stk__get_le64(entry + 24);
    return true;
}

bool stk__index_get_class(const stk__index *index, uint64_t nth, stk__index_class *class_out)
{
    const uint8_t *entry = entry_at(index, STK__INDEX_CLASSES, nth);

    if (entry == NULL ||
        !name_at(index, stk__get_le64(entry), stk__get_le32(entry + 8), true, &class_out->name))
        return false;
    class_out->first_sample = stk__get_le64(entry + 16);
    return class_out->first_sample <= index->samples;
}

bool stk__index_get_note(const stk__index *index, uint64_t nth, stk__index_note *note_out)
{
    const uint8_t *entry = entry_at(index, STK__INDEX_NOTES, nth);
    stk_view text;

    if (entry == NULL ||
        !name_at(index, stk__get_le64(entry), stk__get_le32(entry + 8), true, &text))
        return false;
    note_out->text = text.data;
    note_out->offset = stk__get_le64(entry + 16);
    return true;
}

bool stk__index_get_folder(const stk__index *index, uint64_t nth, stk__index_folder *folder_out)
{
    const uint8_t *entry = entry_at(index, STK__INDEX_FOLDERS, nth);

    if (entry == NULL ||
        !name_at(index, stk__get_le64(entry), stk__get_le32(entry + 8), true, &folder_out->path))
        return false;
    folder_out->mtime_ns = (int64_t)stk__get_le64(entry + 16);
    folder_out->names_hash = stk__get_le64(entry + 24);
    return true;
}

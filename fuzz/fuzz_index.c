/*
 * Fuzz target: an index, as it is and with the checksums of its head made right.
 *
 * What opens hands out only what lies inside it, as an index and as the one part of a dataset; a
 * sample has members that follow each other, and a field that is found is one of the sample's.
 */
#include "archive/index_layout.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "dataset/dataset.h"
#include "dataset/dataset_int.h"
#include "fuzz_target.h"

/* Entries of each kind that are looked at. */
enum { MOST = 200 };

static volatile uint64_t sink;

static void touch(stk_view view, bool closed)
{
    const uint8_t *p = view.data;

    for (size_t i = 0; i < view.size; i++)
        sink += p[i];
    if (closed)
        FUZZ_CHECK(p[view.size] == 0);
}

static void walk(const stk__index *index)
{
    uint64_t first, end, last_end = 0;
    stk__index_entry entry;
    stk__index_field field;
    stk__index_class class;
    stk__index_note note;
    stk__index_folder folder;

    for (uint64_t i = 0; i < MOST; i++) {
        if (stk__index_sample(index, i, &first, &end)) {
            FUZZ_CHECK(i < index->samples && first < end && end <= index->members);
            FUZZ_CHECK(i == 0 || last_end == first || last_end == 0);
            last_end = end;
        } else {
            last_end = 0;
        }
        if (stk__index_member(index, i, &entry)) {
            FUZZ_CHECK(i < index->members && entry.key_bytes <= entry.name.size);
            FUZZ_CHECK(entry.offset + entry.size_bytes >= entry.offset);
            touch(entry.name, false);
        }
        if (stk__index_get_field(index, i, &field))
            touch(field.name, true);
        if (stk__index_get_class(index, i, &class))
            touch(class.name, true);
        if (stk__index_get_note(index, i, &note))
            touch((stk_view){note.text, strlen(note.text)}, true);
        if (stk__index_get_folder(index, i, &folder))
            touch(folder.path, true);
    }
}

static void use_sample(stk_dataset *ds, uint64_t nth)
{
    stk_sample sample;
    stk_sample_field field, found;
    uint64_t index;
    char path[64];

    if (stk_dataset_sample(ds, nth, &sample, NULL) != STK_OK)
        return;
    FUZZ_CHECK(sample.index == nth && sample.shard < stk_dataset_shard_count(ds));
    FUZZ_CHECK(sample.label < (int64_t)stk_dataset_class_count(ds));
    touch(sample.key, false);
    if (stk_dataset_find(ds, sample.key, &index, NULL) == STK_OK)
        FUZZ_CHECK(index <= nth);
    for (uint32_t k = 0; k < sample.field_count && k < MOST; k++) {
        if (stk_dataset_sample_field(ds, nth, k, &field, NULL) != STK_OK)
            continue;
        FUZZ_CHECK(field.field_id < stk_dataset_field_count(ds));
        touch(field.field, true);
        touch(field.name, false);
        sink += stk_dataset_source_path(ds, field.source, path, sizeof path);
        if (stk__dataset_locate(ds, nth, &field.field_id, 1, &found, NULL) == STK_OK)
            FUZZ_CHECK(found.field_id == field.field_id);
    }
}

/* The index as the only part of a dataset, which then owns it. */
static void join(stk__index *index)
{
    stk_error err = STK_ERROR_INIT;
    stk_dataset *ds = NULL;

    FUZZ_CHECK(stk__dataset_new(NULL, &ds, NULL) == STK_OK);
    ds->tar = index->kind == STK__INDEX_TAR;
    ds->parts = stk__heap_zalloc(&ds->heap, 1, sizeof *ds->parts);
    FUZZ_CHECK(ds->parts != NULL);
    ds->part_count = 1;
    ds->parts[0].index = index;
    ds->parts[0].path = stk__heap_text(&ds->heap, "d", 1);
    ds->parts[0].path_bytes = 1;
    if (stk__dataset_join(ds, &err) == STK_OK)
        for (uint64_t i = 0; i < MOST && i < stk_dataset_count(ds); i++)
            use_sample(ds, i);
    else
        FUZZ_CHECK(err.status == STK_EINDEX || err.status == STK_ELIMIT);
    stk_dataset_unref(ds);
}

static void check(const uint8_t *data, size_t size)
{
    static stk__heap heap;
    stk_error err = STK_ERROR_INIT;
    stk__index *index = NULL;
    stk_status st = stk__index_open_bytes(&heap, (stk_view){data, size}, &index, &err);

    FUZZ_CHECK(st == STK_OK || st == STK_EINDEX || st == STK_ENOTSUP);
    if (st < 0) {
        FUZZ_CHECK(err.text[0] != '\0');
        return;
    }
    walk(index);
    st = stk__index_verify(index, &err);
    FUZZ_CHECK(st == STK_OK || st == STK_EINDEX);
    join(index);
    FUZZ_CHECK(stk__load_relaxed_u64(&heap.used_bytes) == 0);
}

/* The checksums that stand between a change and its effect. */
static void seal(uint8_t *data, size_t size)
{
    uint64_t table;

    if (size < STK__INDEX_HEAD_BYTES)
        return;
    table = stk__get_le32(data + STK__HEAD_SECTIONS) * (uint64_t)STK__INDEX_SECTION_BYTES;
    stk__put_le64(data + STK__HEAD_FILE_BYTES, size);
    if (table <= size - STK__INDEX_HEAD_BYTES)
        stk__put_le32(data + STK__HEAD_TABLE_CRC,
            stk__crc32c(0, data + STK__INDEX_HEAD_BYTES, (size_t)table));
    stk__put_le32(data + STK__HEAD_CRC, stk__crc32c(0, data, STK__HEAD_CRC));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact;

    if (size == 0)
        return 0; /* an empty file is told apart before it is looked at */
    exact = fuzz_exact(data, size);
    check(exact, size);
    seal(exact, size);
    check(exact, size);
    free(exact);
    return 0;
}

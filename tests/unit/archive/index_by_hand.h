/* An index of three samples with all kinds of sections, and a folder for each test. */
#ifndef INDEX_BY_HAND_H
#define INDEX_BY_HAND_H

#include "archive/index_build.h"
#include "archive/index_file.h"
#include "support/temp_tree.h"
#include "support/test.h"

static stk__heap heap;

static inline int make_place(void **state)
{
    *state = make_temp_folder();
    return 0;
}

static inline int remove_place(void **state)
{
    remove_tree(*state);
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
    return 0;
}

static inline void add(stk__index_build *build, const char *name, size_t key, uint64_t offset)
{
    const stk__index_told told = {
        .name = {name, strlen(name)},
        .key = {name, key},
        .field = {name + key + 1, strlen(name) - key - 1},
        .offset = offset,
        .size_bytes = 10,
    };

    assert_int_equal(stk__index_build_member(build, &told, NULL), STK_OK);
}

/* Three samples, with all kinds of sections. */
static inline stk__index *make_index(stk__index_kind kind)
{
    static const stk__index_source source = {
        .size_bytes = 10000, .mtime_ns = -5, .head_crc = 7, .tail_crc = 9};
    stk__index_build *build;
    stk__index *index;

    assert_int_equal(stk__index_build_new(&heap, kind, 0, &build, NULL), STK_OK);
    if (kind == STK__INDEX_FOLDER) {
        assert_int_equal(stk__index_build_class(build, (stk_view){"ape", 3}, NULL), STK_OK);
        assert_int_equal(
            stk__index_build_folder(build, (stk_view){"ape", 3}, 12345, 99, NULL), STK_OK);
    }
    add(build, "a.jpg", 1, 512);
    add(build, "a.cls", 1, 1536);
    add(build, "dir/b.jpg", 5, 2560);
    if (kind == STK__INDEX_FOLDER)
        assert_int_equal(stk__index_build_class(build, (stk_view){"bee", 3}, NULL), STK_OK);
    add(build, "c.seg.PNG", 1, 3584);
    assert_int_equal(
        stk__index_build_note(build, STK__NOTE_ARCHIVE, 77, NULL, "a note of %d", 1), STK_OK);
    assert_int_equal(
        stk__index_build_finish(build, kind == STK__INDEX_TAR ? &source : NULL, &index, NULL),
        STK_OK);
    stk__index_build_free(build);
    return index;
}

static inline void assert_text(stk_view view, const char *text)
{
    assert_int_equal(view.size, strlen(text));
    assert_memory_equal(view.data, text, view.size);
}

static inline void assert_is_that_index(const stk__index *index)
{
    uint64_t first, end;
    stk__index_entry entry;
    stk__index_field field;
    stk__index_note note;

    assert_int_equal(index->samples, 3);
    assert_int_equal(index->members, 4);
    assert_true(stk__index_sample(index, 0, &first, &end));
    assert_int_equal(first, 0);
    assert_int_equal(end, 2);
    assert_true(stk__index_sample(index, 2, &first, &end));
    assert_int_equal(first, 3);
    assert_int_equal(end, 4);
    assert_false(stk__index_sample(index, 3, &first, &end));
    assert_true(stk__index_member(index, 2, &entry));
    assert_text(entry.name, "dir/b.jpg");
    assert_int_equal(entry.key_bytes, 5);
    assert_int_equal(entry.offset, 2560);
    assert_int_equal(entry.size_bytes, 10);
    assert_int_equal(entry.field, 0);
    assert_false(stk__index_member(index, 4, &entry));
    assert_true(stk__index_get_field(index, 2, &field));
    assert_text(field.name, "seg.png");
    assert_int_equal(field.max_bytes, 10);
    assert_int_equal(field.members, 1);
    assert_false(stk__index_get_field(index, 3, &field));
    assert_true(stk__index_get_note(index, 0, &note));
    assert_string_equal(note.text, "a note of 1");
    assert_int_equal(note.offset, 77);
}

#endif

/*
 * A whole archive as one text, so that a test says all that it expects in one place:
 *
 *     file a.jpg "AAAA"
 *     hard b.jpg -> a.jpg "AAAA"
 *     soft c.jpg -> a.jpg
 *     folder d/
 *     other u.bin
 *     end
 *
 * Data is shown in quotes where it is short and printable, as 700*B where all its bytes are alike,
 * else as its size and CRC-32C. The last line is "end" with the notes, or the failure: status,
 * offset, key. Every archive is read in four ways, from a file by the public functions and from
 * memory, with data and without, and they must agree.
 */
#ifndef STK_READ_TAR_H
#define STK_READ_TAR_H

#include <stdarg.h>
#include <stdio.h>

#include <stoker/archive.h>

#include "archive/tar_read.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

typedef struct tar_story {
    char text[1 << 16];
    size_t used;
    stk_error err; /* of the failure that ended it */
} tar_story;

STK__PRINTF(2, 3)

static inline void story_add(tar_story *story, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(story->text + story->used, sizeof story->text - story->used, format, args);
    va_end(args);
    assert_true(length >= 0 && (size_t)length < sizeof story->text - story->used);
    story->used += (size_t)length;
}

static inline void story_data(tar_story *story, stk_view data)
{
    const unsigned char *p = data.data;
    bool printable = data.size <= 16, alike = data.size > 1;

    for (size_t i = 0; i < data.size; i++) {
        printable = printable && p[i] >= ' ' && p[i] < 127;
        alike = alike && p[i] == p[0];
    }
    if (printable)
        story_add(story, " \"%.*s\"", (int)data.size, (const char *)p);
    else if (alike)
        story_add(story, " %zu*%c", data.size, p[0]);
    else
        story_add(story, " %zu:%08x", data.size, stk__crc32c(0, p, data.size));
}

/* With places instead of data, so that stories with and without data can be compared. */
static inline void story_member(tar_story *story, const stk_member *m, bool data, bool places)
{
    static const char *const kinds[] = {"file", "hard", "soft", "folder", "other"};

    story_add(story, "%s %.*s", kinds[m->kind], (int)m->name.size, (const char *)m->name.data);
    if (m->kind == STK_MEMBER_HARD_LINK || m->kind == STK_MEMBER_SYMBOLIC_LINK)
        story_add(story, " -> %.*s", (int)m->link.size, (const char *)m->link.data);
    else
        assert_int_equal(m->link.size, 0);
    if (places)
        story_add(story, " @%llu,%llu,%llu", (unsigned long long)m->header_offset,
            (unsigned long long)m->data_offset, (unsigned long long)m->size_bytes);
    if (data && (m->kind == STK_MEMBER_FILE || m->data.data != NULL)) {
        assert_int_equal(m->data.size, m->size_bytes);
        if (!places)
            story_data(story, m->data);
    }
    story_add(story, "\n");
}

static inline void story_end(tar_story *story, stk_status st, const stk_tar *tar)
{
    stk_tar_notes notes = {0};

    if (tar != NULL)
        stk_tar_get_notes(tar, &notes);
    if (st == STK_END)
        story_add(story, "end");
    else
        story_add(story, "%s %llu %s", stk_status_name(st), (unsigned long long)story->err.offset,
            story->err.key);
    if (notes.no_end_marker)
        story_add(story, " no-end-marker");
    if (notes.lone_zero_block)
        story_add(story, " lone-zero-block");
    if (notes.data_after_end)
        story_add(story, " after-end@%llu", (unsigned long long)notes.after_offset);
    if (notes.skipped_links > 0)
        story_add(story, " links=%llu", (unsigned long long)notes.skipped_links);
    if (notes.skipped_others > 0)
        story_add(story, " others=%llu", (unsigned long long)notes.skipped_others);
    story_add(story, "\n");
}

/* Read to the end or to the failure, and once more: that must be the same again. */
static inline void story_of(tar_story *story, stk_status st, stk_tar *tar, bool data, bool places)
{
    stk_member member;
    stk_error again = STK_ERROR_INIT;

    while (st == STK_OK) {
        st = stk_tar_next(tar, &member, &story->err);
        if (st == STK_OK)
            story_member(story, &member, data, places);
    }
    story_end(story, st, tar);
    if (tar != NULL) {
        assert_int_equal(stk_tar_next(tar, &member, &again), st);
        assert_string_equal(again.text, story->err.text);
        assert_int_equal(again.offset, story->err.offset);
    }
    stk_tar_close(tar);
}

static inline void read_by_path(
    tar_story *story, const char *path, stk_tar_options options, bool places)
{
    stk_tar *tar = NULL;

    story->used = 0;
    story->err = (stk_error)STK_ERROR_INIT;
    stk_status st = stk_tar_open(path, &options, &tar, &story->err);
    assert_true((st == STK_OK) == (tar != NULL));
    story_of(story, st, tar, options.data, places);
}

static inline void read_in_memory(
    tar_story *story, const void *data, size_t size, stk_tar_options options, bool places)
{
    unsigned char *exact = malloc(size > 0 ? size : 1); /* so that one byte too far is seen */
    stk__heap heap = {.ceiling_bytes = 64u << 20};
    stk_view bytes = {exact, size};
    stk_tar *tar = NULL;

    assert_non_null(exact);
    if (size > 0)
        memcpy(exact, data, size);
    story->used = 0;
    story->err = (stk_error)STK_ERROR_INIT;
    stk_status st = stk__tar_open_memory(&heap, &bytes, "memory.tar", &options, &tar, &story->err);
    assert_true((st == STK_OK) == (tar != NULL));
    story_of(story, st, tar, options.data, places);
    assert_int_equal(heap.used_bytes, 0);
    free(exact);
}

/* The story of an archive, after all four ways agreed. */
static inline void read_tar_with(
    tar_story *story, const char *path, const made_tar *t, stk_tar_options options)
{
    tar_story *a = malloc(sizeof *a), *b = malloc(sizeof *b);

    assert_true(a != NULL && b != NULL);
    save_file(path, t->data, t->size);
    options.data = false;
    read_by_path(a, path, options, true);
    read_in_memory(b, t->data, t->size, options, true);
    assert_string_equal(a->text, b->text);
    options.data = true;
    read_by_path(b, path, options, true);
    assert_string_equal(a->text, b->text);
    read_in_memory(b, t->data, t->size, options, false);
    read_by_path(story, path, options, false);
    assert_string_equal(story->text, b->text);
    free(a);
    free(b);
}

/* The same with default options: the archive must tell `expected`. Frees the archive. */
static inline void expect_story(made_tar *t, const char *expected)
{
    const stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    char *folder = make_temp_folder();

    assert_non_null(story);
    read_tar_with(story, in_folder(folder, "t.tar"), t, options);
    assert_string_equal(story->text, expected);
    free(story);
    remove_tree(folder);
    tar_free(t);
}

/* Give the header at that offset other bytes, and a checksum that fits. */
static inline void tar_bend(
    made_tar *t, size_t header_offset, size_t at, const void *data, size_t size)
{
    unsigned char *block = t->data + header_offset;
    char number[16];
    unsigned sum = 0;

    memcpy(block + at, data, size);
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++)
        sum += block[i];
    snprintf(number, sizeof number, "%06o", sum);
    memcpy(block + 148, number, 7);
}

/* An extended header with these records, which are made by tar_pax_record(). */
static inline void tar_extended(made_tar *t, char type, const void *records, size_t size)
{
    tar_put_head(t, &(tar_head){.name = "PaxHeaders/x", .size = size, .type = type});
    tar_put(t, records, size);
    tar_pad(t);
}

/* The same with one record. */
static inline void tar_pax(made_tar *t, char type, const char *key, const char *value)
{
    char record[4096];

    tar_extended(t, type, record, tar_pax_record(record, sizeof record, key, value, strlen(value)));
}

#endif

/* Without these: an index that was cut or has a flipped bit crashes a training run, or leads to the
 * bytes of another sample. */
#include "archive/index_layout.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "index_by_hand.h"
#include "support/walk_index.h"

/* Enough samples that the file is mapped instead of read. */
static void a_large_index_is_mapped(void **state)
{
    const char *path = in_folder(*state, "x.stoker");
    stk__index_build *build;
    stk__index *index;
    stk__index_entry entry;
    char name[32];
    int fds;

    assert_int_equal(stk__index_build_new(&heap, STK__INDEX_FOLDER, 0, &build, NULL), STK_OK);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "%06d.jpg", i);
        add(build, name, 6, 0);
    }
    assert_int_equal(stk__index_build_finish(build, NULL, &index, NULL), STK_OK);
    stk__index_build_free(build);
    assert_int_equal(stk__index_save(index, path, NULL), STK_OK);
    stk__index_close(index);

    fds = fd_count();
    assert_int_equal(stk__index_open(&heap, path, false, &index, NULL), STK_OK);
    assert_int_equal(fd_count(), fds);
    assert_non_null(index->map.data);
    assert_null(index->memory);
    assert_true(stk__index_member(index, 4999, &entry));
    assert_text(entry.name, "004999.jpg");
    assert_int_equal(stk__index_verify(index, NULL), STK_OK);
    stk__index_close(index);
    assert_int_equal(stk__index_open(&heap, path, true, &index, NULL), STK_OK);
    assert_null(index->map.data);
    assert_true(stk__index_member(index, 4999, &entry));
    assert_text(entry.name, "004999.jpg");
    stk__index_close(index);
}

/* The bytes of a saved index; freed by the caller. */
static unsigned char *saved_bytes(void **state, stk__index_kind kind, size_t *size_out)
{
    const char *path = in_folder(*state, "x.stoker");
    stk__index *index = make_index(kind);

    assert_int_equal(stk__index_save(index, path, NULL), STK_OK);
    stk__index_close(index);
    return load_file(path, size_out);
}

/* Open a copy in a block of exactly that size, so that a byte too far is seen. */
static stk_status open_exact(const unsigned char *bytes, size_t size, bool *whole_out)
{
    unsigned char *exact = malloc(size > 0 ? size : 1);
    stk__index *index = NULL;
    stk_status st;

    if (exact == NULL)
        abort();
    memcpy(exact, bytes, size);
    st = stk__index_open_bytes(&heap, (stk_view){exact, size}, &index, NULL);
    *whole_out = st == STK_OK && stk__index_verify(index, NULL) == STK_OK;
    if (st == STK_OK)
        assert_true(walk_index(index, 8));
    stk__index_close(index);
    free(exact);
    return st;
}

static void every_flipped_bit_is_noticed(void **state)
{
    for (stk__index_kind kind = STK__INDEX_TAR; kind <= STK__INDEX_FOLDER; kind++) {
        size_t size, head, padding = 0;
        unsigned char *bytes = saved_bytes(state, kind, &size);
        bool whole;

        head = STK__INDEX_HEAD_BYTES +
               stk__get_le32(bytes + STK__HEAD_SECTIONS) * (size_t)STK__INDEX_SECTION_BYTES;
        for (size_t i = 0; i < size; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                stk_status st;

                bytes[i] ^= (unsigned char)(1u << bit);
                st = open_exact(bytes, size, &whole);
                bytes[i] ^= (unsigned char)(1u << bit);
                if (i < head) /* at once */
                    assert_int_equal(st, STK_EINDEX);
                else if (st == STK_OK && whole)
                    padding++; /* between sections: it means nothing */
            }
        }
        assert_true(padding < (size_t)8 * 64 * (STK__INDEX_SECTION_COUNT + 3));
        free(bytes);
    }
}

static void every_shorter_file_is_refused(void **state)
{
    size_t size;
    unsigned char *bytes = saved_bytes(state, STK__INDEX_TAR, &size);
    bool whole;

    for (size_t i = 0; i < size; i++)
        assert_int_equal(open_exact(bytes, i, &whole), STK_EINDEX);
    assert_int_equal(open_exact(bytes, size, &whole), STK_OK);
    assert_true(whole);
    free(bytes);
}

/* Put right checksums on the head and the table, as somebody who means harm would. */
static void seal(unsigned char *bytes)
{
    size_t table = stk__get_le32(bytes + STK__HEAD_SECTIONS) * (size_t)STK__INDEX_SECTION_BYTES;

    if (table <= (size_t)STK__INDEX_SECTION_COUNT * STK__INDEX_SECTION_BYTES)
        stk__put_le32(
            bytes + STK__HEAD_TABLE_CRC, stk__crc32c(0, bytes + STK__INDEX_HEAD_BYTES, table));
    stk__put_le32(bytes + STK__HEAD_CRC, stk__crc32c(0, bytes, STK__HEAD_CRC));
}

static void no_claim_of_a_header_is_believed(void **state)
{
    static const uint64_t claims[] = {0, 1, 2, 5, 64, 160, 1000, UINT32_MAX, 1ull << 32, 1ull << 40,
        1ull << 61, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
    rng r = rng_seed();
    size_t size;
    unsigned char *bytes = saved_bytes(state, STK__INDEX_TAR, &size);
    unsigned char *copy = malloc(size);
    size_t words = (STK__INDEX_HEAD_BYTES + 4 * STK__INDEX_SECTION_BYTES) / 4;
    bool whole;

    if (copy == NULL)
        abort();
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, bytes, size);
        for (uint64_t n = rng_below(&r, 3) + 1; n > 0; n--) {
            size_t at = 4 * rng_below(&r, words);
            uint64_t claim = claims[rng_below(&r, COUNT_OF(claims))];

            if (rng_below(&r, 2) == 0)
                claim = stk__get_le64(bytes + at) + rng_below(&r, 5) - 2;
            stk__put_le64(copy + at, claim);
        }
        seal(copy);
        open_exact(copy, size, &whole); /* any status; ASan and the walk see what is wrong */
    }
    free(copy);
    free(bytes);
}

/* Indexes that tools/make_index_corpus.py made by the documentation alone. */
static void what_other_hands_wrote_is_read(void **state)
{
    const char *folder = STK_TEST_SOURCE_DIR "/fuzz/corpus/index";
    uint64_t first, end;
    stk__index_entry entry;
    stk__index_field field;
    stk__index_class class;
    stk__index_note note;
    stk__index_folder in;
    stk__index *index;
    (void)state;

    assert_int_equal(
        stk__index_open(&heap, in_folder(folder, "tar.stoker"), false, &index, NULL), STK_OK);
    assert_int_equal(stk__index_verify(index, NULL), STK_OK);
    assert_int_equal(index->kind, STK__INDEX_TAR);
    assert_int_equal(index->source.size_bytes, 4096);
    assert_int_equal(index->source.mtime_ns, -5);
    assert_int_equal(index->source.head_crc, 7);
    assert_int_equal(index->source.tail_crc, 9);
    assert_int_equal(index->fingerprint[1], 42);
    assert_int_equal(index->samples, 2);
    assert_true(stk__index_sample(index, 0, &first, &end));
    assert_int_equal(end, 2);
    assert_true(stk__index_member(index, 2, &entry));
    assert_text(entry.name, "dir/b.Seg.PNG");
    assert_int_equal(entry.key_bytes, 5);
    assert_int_equal(entry.offset, 3072);
    assert_int_equal(entry.size_bytes, 10);
    assert_true(stk__index_get_field(index, entry.field, &field));
    assert_text(field.name, "seg.png");
    assert_int_equal(field.max_bytes, 10);
    assert_true(stk__index_get_note(index, 0, &note));
    assert_string_equal(note.text, "no end-of-archive marker");
    assert_int_equal(note.offset, 77);
    stk__index_close(index);

    assert_int_equal(
        stk__index_open(&heap, in_folder(folder, "tree.stoker"), false, &index, NULL), STK_OK);
    assert_true(stk__index_get_class(index, 2, &class));
    assert_text(class.name, "bee");
    assert_int_equal(class.first_sample, 1);
    assert_true(stk__index_get_folder(index, 1, &in));
    assert_text(in.path, "ape");
    assert_int_equal(in.mtime_ns, 1700000000000000000);
    assert_true(in.names_hash == UINT64_MAX);
    stk__index_close(index);
    assert_int_equal(
        stk__index_open(&heap, in_folder(folder, "empty.stoker"), false, &index, NULL), STK_OK);
    assert_int_equal(index->samples, 0);
    stk__index_close(index);
}

/* A later version may add sections: this one steps over them. */
static void unknown_sections_are_stepped_over(void **state)
{
    size_t size;
    unsigned char *bytes = saved_bytes(state, STK__INDEX_TAR, &size);
    uint32_t sections = stk__get_le32(bytes + STK__HEAD_SECTIONS);
    unsigned char *row =
        bytes + STK__INDEX_HEAD_BYTES + (size_t)sections * STK__INDEX_SECTION_BYTES;
    bool whole;

    stk__put_le32(row, 40);
    stk__put_le32(row + 4, 12);
    stk__put_le64(row + 8, UINT64_MAX);
    stk__put_le64(row + 16, UINT64_MAX);
    stk__put_le32(bytes + STK__HEAD_SECTIONS, sections + 1);
    seal(bytes);
    assert_int_equal(open_exact(bytes, size, &whole), STK_OK);
    assert_true(whole);
    free(bytes);
}

/* Also in one that is not small: an offset with a flipped bit may well be that of other data. */
static void damage_in_a_large_file_is_found_when_it_is_opened(void **state)
{
    const char *path = in_folder(*state, "x.stoker");
    stk_error err = STK_ERROR_INIT;
    stk__index_build *build;
    stk__index *index;
    unsigned char *bytes;
    char name[32];
    size_t size;

    assert_int_equal(stk__index_build_new(&heap, STK__INDEX_FOLDER, 0, &build, NULL), STK_OK);
    for (int i = 0; i < 40000; i++) {
        snprintf(name, sizeof name, "%08d.jpg", i);
        add(build, name, 8, 0);
    }
    assert_int_equal(stk__index_build_finish(build, NULL, &index, NULL), STK_OK);
    stk__index_build_free(build);
    assert_int_equal(stk__index_save(index, path, NULL), STK_OK);
    stk__index_close(index);
    bytes = load_file(path, &size);
    assert_true(size > (size_t)1 << 20);
    bytes[size / 2] ^= 1;
    save_file(path, bytes, size);
    assert_int_equal(stk__index_open(&heap, path, false, &index, &err), STK_EINDEX);
    assert_string_equal(err.text, "section MEMBERS of the index is damaged");
    bytes[size / 2] ^= 1;
    save_file(path, bytes, size);
    assert_int_equal(stk__index_open(&heap, path, false, &index, &err), STK_OK);
    stk__index_close(index);
    free(bytes);
}

static void tells_why_it_does_not_open(void **state)
{
    const char *path = in_folder(*state, "x.stoker");
    stk_error err = STK_ERROR_INIT;
    stk__index *index = NULL;
    size_t size;
    unsigned char *bytes;

    assert_int_equal(stk__index_open(&heap, path, false, &index, &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, 2);
    assert_string_equal(err.source, path);
    bytes = saved_bytes(state, STK__INDEX_TAR, &size);
    stk__put_le32(bytes + STK__HEAD_VERSION, 7);
    seal(bytes);
    save_file(path, bytes, size);
    assert_int_equal(stk__index_open(&heap, path, false, &index, &err), STK_ENOTSUP);
    assert_string_equal(err.text, "the index has version 7; this build reads version 2");
    save_text(path, "no index at all, but a text that is longer than the header of one is, which "
                    "has a hundred and sixty bytes; so here are some more words until it is long");
    assert_int_equal(stk__index_open(&heap, path, false, &index, &err), STK_EINDEX);
    assert_string_equal(err.text, "this is no index of Stoker");
    assert_int_equal(stk__index_open(&heap, *state, false, &index, &err), STK_EINDEX);
    assert_null(index);
    free(bytes);
}

static void a_source_is_known_by_size_time_and_ends(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk__index_source sources[4];
    stk__file file;
    char data[20000];

    memset(data, 'x', sizeof data);
    for (int i = 0; i < 4; i++) {
        struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

        if (i == 1)
            data[4095] = 'y'; /* the last byte of the head */
        if (i == 2)
            data[sizeof data - 4096] = 'y'; /* the first of the tail */
        if (i == 3)
            data[10000] = 'y'; /* in neither: not seen */
        save_file(path, data, sizeof data);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_int_equal(stk__file_open(&file, path, NULL), STK_OK);
        assert_int_equal(stk__index_source_of(&file, path, &sources[i], NULL), STK_OK);
        stk__file_fini(&file);
    }
    assert_int_equal(sources[0].size_bytes, sizeof data);
    assert_int_equal(sources[0].mtime_ns, 1000000000000);
    assert_false(stk__index_source_equal(&sources[0], &sources[1]));
    assert_false(stk__index_source_equal(&sources[1], &sources[2]));
    assert_true(stk__index_source_equal(&sources[2], &sources[3]));
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(a_large_index_is_mapped),
        WITH_PLACE(every_flipped_bit_is_noticed),
        WITH_PLACE(every_shorter_file_is_refused),
        WITH_PLACE(no_claim_of_a_header_is_believed),
        cmocka_unit_test(what_other_hands_wrote_is_read),
        WITH_PLACE(unknown_sections_are_stepped_over),
        WITH_PLACE(damage_in_a_large_file_is_found_when_it_is_opened),
        WITH_PLACE(tells_why_it_does_not_open),
        WITH_PLACE(a_source_is_known_by_size_time_and_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

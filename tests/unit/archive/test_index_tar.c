/* Without these: what a tar reader met is lost on the way into the index, and a shard that is still
 * being written is indexed as if it were whole. */
#include "archive/index_tar.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

static stk__heap heap;

static int make_place(void **state)
{
    *state = make_temp_folder();
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
    return 0;
}

static stk_status index_of(
    void **state, made_tar *t, uint32_t flags, stk__index **out, stk_error *err)
{
    const char *path = in_folder(*state, "x.tar");

    *out = NULL;
    save_file(path, t->data, t->size);
    tar_free(t);
    return stk__index_tar(&heap, path, flags, NULL, NULL, out, err);
}

/* Offset of the note that has this text; -1: there is none. */
static int64_t note_at(const stk__index *index, const char *part)
{
    stk__index_note note;

    for (uint64_t i = 0; stk__index_get_note(index, i, &note); i++)
        if (strstr(note.text, part) != NULL)
            return (int64_t)note.offset;
    return -1;
}

static void remembers_the_source_and_where_members_lie(void **state)
{
    stk__index_entry entry;
    stk__index *index;
    made_tar t = {0};
    char data[1000] = {0};

    tar_file(&t, "a.bin", data, sizeof data);
    tar_named(&t, "dir with a very long name that is not ustar/b.bin", 49, "xy", 2);
    tar_end(&t);
    assert_int_equal(index_of(state, &t, 0, &index, NULL), STK_OK);
    assert_int_equal(index->kind, STK__INDEX_TAR);
    assert_int_equal(index->source.size_bytes, 512 + 1024 + 1024 + 512 + 512 + 1024);
    assert_true(stk__index_member(index, 0, &entry));
    assert_int_equal(entry.offset, 512);
    assert_int_equal(entry.size_bytes, 1000);
    assert_true(stk__index_member(index, 1, &entry));
    assert_int_equal(entry.offset, 512 + 1024 + 1024 + 512);
    assert_int_equal(entry.size_bytes, 2);
    assert_int_equal(entry.key_bytes, 45);
    assert_int_equal(index->section[STK__INDEX_NOTES].count, 0);
    stk__index_close(index);
}

/* C17, C19, C20 */
static void what_was_met_at_the_end_is_noted(void **state)
{
    static const char zeros[512];
    stk__index *index;
    made_tar t = {0};

    tar_text(&t, "a.bin", "1");
    assert_int_equal(index_of(state, &t, 0, &index, NULL), STK_OK);
    assert_int_equal(note_at(index, "no end-of-archive marker"), 0);
    stk__index_close(index);

    tar_text(&t, "a.bin", "1");
    tar_put(&t, zeros, sizeof zeros);
    tar_text(&t, "b.bin", "1");
    tar_end(&t);
    assert_int_equal(index_of(state, &t, 0, &index, NULL), STK_OK);
    assert_int_equal(index->samples, 2);
    assert_int_equal(note_at(index, "a single block of zeros"), 0);
    stk__index_close(index);

    for (int flags = 0; flags <= STK__INDEX_CONCATENATED; flags += STK__INDEX_CONCATENATED) {
        tar_text(&t, "a.bin", "1");
        tar_end(&t);
        tar_text(&t, "late.bin", "1");
        tar_end(&t);
        assert_int_equal(index_of(state, &t, (uint32_t)flags, &index, NULL), STK_OK);
        assert_int_equal(index->flags, flags);
        assert_int_equal(index->samples, flags == 0 ? 1 : 2);
        assert_int_equal(note_at(index, "data follows"), flags == 0 ? 2048 : -1);
        stk__index_close(index);
    }
}

static void folders_and_others_are_no_part_of_a_sample(void **state)
{
    stk__index *index;
    made_tar t = {0};

    tar_put_head(&t, &(tar_head){.name = "d.x/", .type = '5'});
    tar_text(&t, "d.x/a.bin", "1");
    tar_put_head(&t, &(tar_head){.name = "fifo.bin", .type = '6'});
    tar_text(&t, "d.x/a.cls", "1");
    tar_end(&t);
    assert_int_equal(index_of(state, &t, 0, &index, NULL), STK_OK);
    assert_int_equal(index->samples, 1);
    assert_int_equal(index->members, 2);
    stk__index_close(index);
}

static void damage_is_an_error_or_the_last_note(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk__index *index;
    made_tar t = {0};

    for (uint32_t flags = 0; flags <= STK__INDEX_LENIENT; flags += STK__INDEX_LENIENT) {
        stk_status st;

        tar_text(&t, "a.bin", "1");
        tar_text(&t, "b.bin", "1");
        t.data[1024 + 150] ^= 1; /* the checksum of b's header */
        tar_end(&t);
        st = index_of(state, &t, flags, &index, &err);
        assert_int_equal(st, flags == 0 ? STK_ECORRUPT : STK_OK);
        if (flags == 0) {
            assert_int_equal(err.offset, 1024);
            assert_string_equal(err.source, in_folder(*state, "x.tar"));
        } else {
            assert_int_equal(index->samples, 1);
            assert_int_equal(index->flags, STK__INDEX_LENIENT);
            assert_int_equal(note_at(index, "checksum"), 1024);
        }
        stk__index_close(index);
    }
    /* No tar at all: nothing stands before the damage. What cannot be read is no damage. */
    save_text(in_folder(*state, "y.tar"), "this is no tar");
    assert_int_equal(stk__index_tar(&heap, in_folder(*state, "y.tar"), STK__INDEX_LENIENT, NULL,
                         NULL, &index, &err),
        STK_OK);
    assert_int_equal(index->samples, 0);
    stk__index_close(index);
    assert_int_equal(stk__index_tar(&heap, in_folder(*state, "gone.tar"), STK__INDEX_LENIENT, NULL,
                         NULL, &index, &err),
        STK_ESOURCE);
}

/* C22 */
static void compressed_shards_are_refused_even_leniently(void **state)
{
    static const char gzip[600] = "\x1f\x8b\x08";
    stk_error err = STK_ERROR_INIT;
    stk__index *index = NULL;

    save_file(in_folder(*state, "x.tar"), gzip, sizeof gzip);
    assert_int_equal(stk__index_tar(&heap, in_folder(*state, "x.tar"), STK__INDEX_LENIENT, NULL,
                         NULL, &index, &err),
        STK_ENOTSUP);
    assert_non_null(strstr(err.text, "gzip"));
    assert_null(index);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(remembers_the_source_and_where_members_lie),
        WITH_PLACE(what_was_met_at_the_end_is_noted),
        WITH_PLACE(folders_and_others_are_no_part_of_a_sample),
        WITH_PLACE(damage_is_an_error_or_the_last_note),
        WITH_PLACE(compressed_shards_are_refused_even_leniently),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

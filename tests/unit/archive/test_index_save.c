/* Without these: what is written is not what was built, or a run that dies leaves half an index
 * under the name of a whole one. */
#include <signal.h>
#include <sys/resource.h>

#include "index_by_hand.h"

static void a_saved_index_is_the_one_that_was_built(void **state)
{
    const char *path = in_folder(*state, "x.stoker");
    stk__index *built = make_index(STK__INDEX_TAR), *read;
    stk__index_class class;
    stk__index_folder folder;

    assert_is_that_index(built);
    assert_int_equal(stk__index_save(built, path, NULL), STK_OK);
    assert_int_equal(count_entries(*state), 1); /* no temporary file is left */
    assert_int_equal(stk__index_open(&heap, path, false, &read, NULL), STK_OK);
    assert_is_that_index(read);
    assert_int_equal(stk__index_verify(read, NULL), STK_OK);
    assert_true(stk__index_source_equal(&read->source, &built->source));
    assert_memory_equal(read->fingerprint, built->fingerprint, sizeof read->fingerprint);
    stk__index_close(read);
    stk__index_close(built);

    built = make_index(STK__INDEX_FOLDER);
    assert_int_equal(stk__index_save(built, path, NULL), STK_OK); /* over the one before */
    stk__index_close(built);
    assert_int_equal(stk__index_open(&heap, path, false, &read, NULL), STK_OK);
    assert_is_that_index(read);
    assert_true(stk__index_get_class(read, 1, &class));
    assert_text(class.name, "bee");
    assert_int_equal(class.first_sample, 2);
    assert_true(stk__index_get_folder(read, 0, &folder));
    assert_text(folder.path, "ape");
    assert_int_equal(folder.mtime_ns, 12345);
    assert_int_equal(folder.names_hash, 99);
    stk__index_close(read);
}

static void nothing_stays_where_it_cannot_be_saved(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk__index *index = make_index(STK__INDEX_TAR);

    assert_int_equal(
        stk__index_save(index, in_folder(*state, "missing/x.stoker"), &err), STK_ESOURCE);
    make_folder(in_folder(*state, "taken"));
    make_folder(in_folder(*state, "taken/in"));
    assert_int_equal(stk__index_save(index, in_folder(*state, "taken"), &err), STK_ESOURCE);
    assert_int_equal(count_entries(*state), 1);
    stk__index_close(index);
}

/* The file that has the name already is good until the new one is whole. */
static void a_failed_writer_leaves_the_old_index(void **state)
{
    const char *path = in_folder(*state, "x.stoker");
    stk__index *index = make_index(STK__INDEX_TAR);
    struct rlimit before, lower;
    size_t size, after_size;
    unsigned char *bytes, *after;

    assert_int_equal(stk__index_save(index, path, NULL), STK_OK);
    bytes = load_file(path, &size);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    lower = before;
    lower.rlim_cur = 500; /* the disk is full after 500 bytes */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &lower), 0);
    assert_int_equal(stk__index_save(index, path, NULL), STK_ESOURCE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    after = load_file(path, &after_size);
    assert_int_equal(after_size, size);
    assert_memory_equal(after, bytes, size);
    assert_int_equal(count_entries(*state), 1);
    free(bytes);
    free(after);
    stk__index_close(index);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(a_saved_index_is_the_one_that_was_built),
        WITH_PLACE(nothing_stays_where_it_cannot_be_saved),
        WITH_PLACE(a_failed_writer_leaves_the_old_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

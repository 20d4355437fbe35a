/* Without these: keys of listed files change when the data is moved, and with them every saved
 * state.
 */
#include "dataset/listed.h"
#include "support/test.h"

static stk__heap heap;

static void the_common_folder_is_left_out(void **state)
{
    static char one[] = "/d/p/a.jpg", two[] = "/d/p/b.jpg", three[] = "/d/pq/c.jpg",
                bare[] = "a.jpg", top[] = "/x.jpg", down[] = "p/a.jpg";
    const stk__path files[] = {{.name = one}, {.name = two}, {.name = three}};
    const stk__path other = {.name = bare}, root = {.name = top};
    const stk__path mixed[] = {{.name = down}, {.name = bare}};
    (void)state;

    assert_int_equal(stk__listed_root(files, 1), 4);
    assert_int_equal(stk__listed_root(files, 2), 4);
    assert_int_equal(stk__listed_root(files, 3), 2);
    assert_int_equal(stk__listed_root(&other, 1), 0);
    assert_int_equal(stk__listed_root(&root, 1), 1);
    assert_int_equal(stk__listed_root(mixed, 2), 0);
}

static void each_file_is_a_sample_named_below_the_common_folder(void **state)
{
    static char one[] = "/d/p/a.JPG", two[] = "/d/p/a.json", three[] = "/d/q.v1/noext",
                four[] = "/d/q.v1/.x.jpg", five[] = "/d/q.v1/b.seg.png";
    const stk__path files[] = {{.name = one, .size_bytes = 5}, {.name = two}, {.name = three},
        {.name = four}, {.name = five}};
    stk_error err = STK_ERROR_INIT;
    stk__index_entry entry;
    stk__index_field field;
    stk__index *index;
    (void)state;

    assert_int_equal(
        stk__listed_index(&heap, files, 5, stk__listed_root(files, 5), 0, &index, NULL), STK_OK);
    assert_int_equal(index->samples, 3);
    assert_int_equal(index->section[STK__INDEX_NOTES].count, 2);
    assert_true(stk__index_member(index, 0, &entry));
    assert_int_equal(entry.name.size, 7);
    assert_memory_equal(entry.name.data, "p/a.JPG", 7);
    assert_int_equal(entry.key_bytes, 3);
    assert_int_equal(entry.size_bytes, 5);
    assert_true(stk__index_member(index, 2, &entry));
    assert_int_equal(entry.key_bytes, 6);
    assert_true(stk__index_get_field(index, entry.field, &field));
    assert_string_equal(field.name.data, "seg.png");
    stk__index_close(index);
    assert_int_equal(stk__listed_index(&heap, files + 2, 2, 8, 0, &index, &err), STK_ESOURCE);
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_common_folder_is_left_out),
        cmocka_unit_test(each_file_is_a_sample_named_below_the_common_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

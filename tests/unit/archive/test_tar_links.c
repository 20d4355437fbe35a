/* Without these: a hard link leads to the bytes of another member, or to none. */
#include "archive/tar_links.h"
#include "support/test.h"

static stk_view number_name(char *text, size_t room, unsigned number)
{
    int size = snprintf(text, room, "dir/%u.jpg", number);

    return (stk_view){text, (size_t)size};
}

static void finds_each_of_many_and_no_other(void **state)
{
    enum { COUNT = 20000 };

    stk__heap heap = {0};
    stk__tar_links links = {0};
    char text[32];
    (void)state;

    assert_null(stk__tar_links_find(&links, (stk_view){"a", 1}));
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(stk__tar_links_put(
            &heap, &links, number_name(text, sizeof text, i), 512 + 1024ull * i, i));
    assert_int_equal(links.count, COUNT);
    for (unsigned i = 0; i < 2 * COUNT; i++) {
        const stk__tar_target *found =
            stk__tar_links_find(&links, number_name(text, sizeof text, i));

        if (i >= COUNT) {
            assert_null(found);
            continue;
        }
        assert_non_null(found);
        assert_int_equal(found->data_offset, 512 + 1024ull * i);
        assert_int_equal(found->size_bytes, i);
    }
    stk__tar_links_fini(&heap, &links);
    assert_int_equal(heap.used_bytes, 0);
}

static void a_later_member_takes_the_place(void **state)
{
    stk__heap heap = {0};
    stk__tar_links links = {0};
    (void)state;

    assert_true(stk__tar_links_put(&heap, &links, (stk_view){"a", 1}, 512, 1));
    assert_true(stk__tar_links_put(&heap, &links, (stk_view){"a", 1}, 1536, 2));
    assert_int_equal(links.count, 1);
    assert_int_equal(stk__tar_links_find(&links, (stk_view){"a", 1})->data_offset, 1536);
    stk__tar_links_fini(&heap, &links);
}

static void without_memory_it_stays_as_it_was(void **state)
{
    stk__heap heap = {
        .ceiling_bytes = 64 * sizeof(stk__tar_target)}; /* the first table, no other */
    stk__tar_links links = {0};
    char text[32];
    unsigned count = 0;
    (void)state;

    while (stk__tar_links_put(&heap, &links, number_name(text, sizeof text, count), 512, 1))
        count++;
    assert_true(count > 10);
    assert_non_null(stk__tar_links_find(&links, number_name(text, sizeof text, count - 1)));
    assert_null(stk__tar_links_find(&links, number_name(text, sizeof text, count)));
    stk__tar_links_fini(&heap, &links);
    assert_int_equal(heap.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_of_many_and_no_other),
        cmocka_unit_test(a_later_member_takes_the_place),
        cmocka_unit_test(without_memory_it_stays_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

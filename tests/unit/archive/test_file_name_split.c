/* Without these: pictures of a folder whose names have dots fall into one sample, or the fields of
 * one sample fall apart. */
#include <stoker/archive.h>

#include "support/test.h"

static void the_last_dot_ends_the_key_unless_a_known_word_stands_before_it(void **state)
{
    static const struct {
        const char *name, *key, *field; /* key NULL: part of no sample */
    } rows[] = {
        {"a.jpg", "a", "jpg"},
        {"2020.01.01.jpg", "2020.01.01", "jpg"},
        {"cat.0.jpg", "cat.0", "jpg"},
        {"1.5_foo.JPG", "1.5_foo", "JPG"},
        {"street.rf.0a1b2c.jpg", "street.rf.0a1b2c", "jpg"},
        {"photo.final.jpg", "photo.final", "jpg"},
        {"dir.v2/x.y/a.b.png", "dir.v2/x.y/a.b", "png"},
        {"./a.b.png", "./a.b", "png"},
        {"a..jpg", "a.", "jpg"},
        {"a.", "a", ""},
        {"a.b.", "a.b", ""},
        /* fields of one sample */
        {"a.seg.png", "a", "seg.png"},
        {"2020.01.01.seg.png", "2020.01.01", "seg.png"},
        {"a.SEG.png", "a", "SEG.png"},
        {"a.depth.gt.npy", "a", "depth.gt.npy"},
        {"d.1/a.mask.0.png", "d.1/a.mask.0", "png"},
        {"seg.png", "seg", "png"},
        {"a.segment.png", "a.segment", "png"},
        /* formats in front of formats, but a picture is one by itself */
        {"a.json.gz", "a", "json.gz"},
        {"a.jpg.json", "a", "jpg.json"},
        {"a.nii.gz", "a", "nii.gz"},
        {"a.jpg.jpg", "a.jpg", "jpg"},
        {"a.png.JPEG", "a.png", "JPEG"},
        /* no sample */
        {"noext", NULL, NULL},
        {"dir.v2/noext", NULL, NULL},
        {".hidden.jpg", NULL, NULL},
        {"dir/.hidden.jpg", NULL, NULL},
        {"dir/", NULL, NULL},
        {"__a.b__", NULL, NULL},
        {"", NULL, NULL},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        stk_view name = {rows[i].name, strlen(rows[i].name)}, key, field;
        bool split = stk_file_name_split(name, &key, &field);

        if (split != (rows[i].key != NULL))
            fail_msg("%s: %s", rows[i].name, split ? "split" : "not split");
        if (!split)
            continue;
        assert_ptr_equal(key.data, name.data);
        assert_int_equal(key.size + 1 + field.size, name.size);
        if (key.size != strlen(rows[i].key) || memcmp(key.data, rows[i].key, key.size) != 0)
            fail_msg("%s: the key is %.*s", rows[i].name, (int)key.size, (const char *)key.data);
        assert_string_equal(field.data, rows[i].field);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_dot_ends_the_key_unless_a_known_word_stands_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

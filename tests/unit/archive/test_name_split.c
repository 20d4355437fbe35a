/* Without these: samples fall apart, or members that belong to nobody become samples. */
#include <stoker/archive.h>

#include "support/test.h"

static void splits_as_webdataset_does(void **state)
{
    static const struct {
        const char *name, *key, *field; /* key NULL: part of no sample */
    } rows[] = {
        {"a.jpg", "a", "jpg"},
        {"a.JPG", "a", "JPG"}, /* the caller folds */
        {"a.seg.png", "a", "seg.png"},
        {"a.b.c.json", "a", "b.c.json"},
        {"dir.v2/a.jpg", "dir.v2/a", "jpg"},
        {"./a.jpg", "./a", "jpg"},
        {"/abs/a.jpg", "/abs/a", "jpg"},
        {"../a.jpg", "../a", "jpg"},
        {"1.5_foo.jpg", "1", "5_foo.jpg"},
        {"n 2.0 (x).mp3", "n 2", "0 (x).mp3"},
        {"train.v1/22.0/1.png", "train.v1/22.0/1", "png"},
        {"a.", "a", ""},
        {"a..jpg", "a", ".jpg"},
        {"noext", NULL, NULL},
        {"dir/noext", NULL, NULL},
        {"dir.v2/noext", NULL, NULL},
        {"", NULL, NULL},
        {".", NULL, NULL},
        {"..", NULL, NULL},
        {"d/", NULL, NULL},
        {"d.x/", NULL, NULL},
        /* a dot in front */
        {".hidden.jpg", NULL, NULL},
        {"._a.jpg", NULL, NULL},
        {"..jpg", NULL, NULL},
        {"./.x", NULL, NULL},
        {"x./.y", NULL, NULL},
        {"a.b/.x", NULL, NULL},
        {"a/x.b/.y", NULL, NULL},
        {"dir/.hidden.jpg", "dir/", "hidden.jpg"},
        {"dir/..x", "dir/", ".x"},
        {"./dir/.h.jpg", "./dir/", "h.jpg"},
        {"a.b/c/.x", "a.b/c/", "x"},
        {"a/b/.x", "a/b/", "x"},
        {"/.x", "/", "x"},
        {"//.x", "//", "x"},
        {"dir/.", "dir/", ""},
        /* about the archive itself */
        {"__meta__", NULL, NULL},
        {"__.__", NULL, NULL},
        {"____", NULL, NULL},
        {"__a.b__", NULL, NULL},
        {"__d__/x.json", NULL, NULL},
        {"__d__/e/x.json", NULL, NULL},
        {"____/x.json", NULL, NULL},
        {"__x__.json", "__x__", "json"},
        {"dir/__x__/a.jpg", "dir/__x__/a", "jpg"},
        {"___/a.jpg", "___/a", "jpg"}, /* the two pairs of underscores do not overlap */
        {"__a/b__/c.jpg", "__a/b__/c", "jpg"},
        {"a.__key__", "a", "__key__"}, /* refused where samples are made */
        /* any byte is a character, a newline too */
        {"a b.j pg", "a b", "j pg"},
        {"d.1\n/a.jpg", "d.1\n/a", "jpg"},
        {"a\nb.jpg", "a\nb", "jpg"},
        {"a.jpg\n", "a", "jpg\n"},
        {"caf\xe9.jpg", "caf\xe9", "jpg"},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        stk_view key = {"untouched", 9}, field = {"untouched", 9};
        bool split = stk_name_split((stk_view){rows[i].name, strlen(rows[i].name)}, &key, &field);

        if (split != (rows[i].key != NULL))
            fail_msg("\"%s\" was %s", rows[i].name, split ? "taken" : "left out");
        if (!split) {
            assert_int_equal(key.size, 9);
            continue;
        }
        assert_int_equal(key.size, strlen(rows[i].key));
        assert_memory_equal(key.data, rows[i].key, key.size);
        assert_int_equal(field.size, strlen(rows[i].field));
        assert_memory_equal(field.data, rows[i].field, field.size);
    }
}

/* The patterns as WebDataset writes them, tried in every way, against the scans. */
static bool slow_split(const char *name, size_t size, size_t *dot_out)
{
    for (size_t folder = size + 1; folder-- > 0;) { /* greedy: the longest folder first */
        if (folder > 0 && name[folder - 1] != '/')
            continue;
        for (size_t dot = folder; dot < size; dot++) {
            if (name[dot] != '.')
                continue;
            if (dot > folder && memchr(name + dot, '/', size - dot) == NULL) {
                *dot_out = dot;
                return true;
            }
            break; /* the run before the dot has no dot in it */
        }
    }
    return false;
}

static bool slow_meta(const char *name, size_t size)
{
    const char *slash = memchr(name, '/', size);
    size_t first = slash == NULL ? size : (size_t)(slash - name);

    return first >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + first - 2, "__", 2) == 0;
}

static void equals_the_patterns_on_all_short_names(void **state)
{
    static const char letters[] = "a._/";
    size_t total = 1;
    (void)state;

    for (size_t size = 1; size <= 8; size++) {
        total *= 4;
        for (size_t number = 0; number < total; number++) {
            char name[9] = {0};
            size_t dot = 0;
            stk_view key, field;
            bool expected, split;

            for (size_t i = 0, rest = number; i < size; i++, rest /= 4)
                name[i] = letters[rest % 4];
            expected = !slow_meta(name, size) && slow_split(name, size, &dot);
            split = stk_name_split((stk_view){name, size}, &key, &field);
            if (split != expected)
                fail_msg("\"%s\" was %s", name, split ? "taken" : "left out");
            if (split) {
                assert_ptr_equal(key.data, name);
                assert_int_equal(key.size, dot);
                assert_ptr_equal(field.data, name + dot + 1);
                assert_int_equal(field.size, size - dot - 1);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_as_webdataset_does),
        cmocka_unit_test(equals_the_patterns_on_all_short_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Names of members and of files: key, dot and field are the name again, and which names are split
 * where is what a plain reading of the rules says.
 */
#include <stoker/archive.h>

#include "fuzz_target.h"

enum { LONGEST = 4096 }; /* the plain reading is quadratic */

static bool has(stk_view text, char c)
{
    return text.size > 0 && memchr(text.data, c, text.size) != NULL;
}

static stk_view after_slash(stk_view name)
{
    const char *p = name.data, *slash = name.size > 0 ? memrchr(p, '/', name.size) : NULL;

    return slash == NULL ? name : (stk_view){slash + 1, (size_t)(p + name.size - slash - 1)};
}

/* ^__[^/]*__($|/) */
static bool is_meta(stk_view name)
{
    const char *p = name.data;
    size_t first = 0;

    while (first < name.size && p[first] != '/')
        first++;
    return first >= 4 && memcmp(p, "__", 2) == 0 && memcmp(p + first - 2, "__", 2) == 0;
}

/* ^((?:.*[/]|)[^.]+)[.]([^/]*)$, where "." is any byte: tried as the expression is, the longest
 * folder first. @return where the dot stands, or name.size. */
static size_t dot_by_expression(stk_view name)
{
    const char *p = name.data;
    size_t folder = name.size + 1;

    while (folder-- > 0) {
        size_t dot = folder;

        if (folder > 0 && p[folder - 1] != '/')
            continue;
        while (dot < name.size && p[dot] != '.')
            dot++;
        if (dot > folder && dot < name.size && !has((stk_view){p + dot, name.size - dot}, '/'))
            return dot;
    }
    return name.size;
}

/* Do key, dot and field tile the name? Nothing was written if there are none. */
static void check_split(bool split, stk_view name, stk_view key, stk_view field)
{
    const char *p = name.data;

    if (!split) {
        FUZZ_CHECK(key.data == NULL && key.size == 0 && field.data == NULL && field.size == 0);
        return;
    }
    FUZZ_CHECK(key.data == name.data && key.size > 0 && key.size < name.size);
    FUZZ_CHECK(p[key.size] == '.' && field.data == p + key.size + 1);
    FUZZ_CHECK(key.size + 1 + field.size == name.size);
    FUZZ_CHECK(!has(field, '/'));
}

static void check_member(stk_view name)
{
    stk_view key = {NULL, 0}, field = {NULL, 0};
    size_t dot = is_meta(name) ? name.size : dot_by_expression(name);
    bool split = stk_name_split(name, &key, &field);

    check_split(split, name, key, field);
    FUZZ_CHECK(split == (dot < name.size));
    FUZZ_CHECK(!split || key.size == dot);
}

/* A word before the last one of the name of a file: a known one is of the field, any other of the
 * key, also when a known one begins so. */
static void check_word(stk_view key, const char *word, bool known, stk_view last)
{
    size_t between = strlen(word) + 2, size = key.size + between + last.size;
    char *name = malloc(size);
    stk_view key2 = {NULL, 0}, field2 = {NULL, 0};

    FUZZ_CHECK(name != NULL);
    memcpy(name, key.data, key.size);
    name[key.size] = name[key.size + between - 1] = '.';
    memcpy(name + key.size + 1, word, between - 2);
    memcpy(name + key.size + between, last.data, last.size);
    FUZZ_CHECK(stk_file_name_split((stk_view){name, size}, &key2, &field2));
    FUZZ_CHECK(key2.size == key.size + (known ? 0 : between - 1));
    FUZZ_CHECK(field2.size == last.size + (known ? between - 1 : 0));
    free(name);
}

/* A name is split if it has a dot, is not hidden and no __meta__; its folder alone is no key. */
static void check_file(stk_view name)
{
    stk_view base = after_slash(name), key = {NULL, 0}, field = {NULL, 0};
    bool split = stk_file_name_split(name, &key, &field);

    check_split(split, name, key, field);
    FUZZ_CHECK(split == (has(base, '.') && *(const char *)base.data != '.' && !is_meta(base)));
    if (split) {
        const char *f = field.data, *dot = memrchr(f - 1, '.', field.size + 1);
        stk_view last = {dot + 1, (size_t)(f + field.size - dot - 1)};

        FUZZ_CHECK(key.size > name.size - base.size);
        check_word(key, "seg", true, last);
        check_word(key, "se", false, last);
        check_word(key, "segs", false, last);
    }
}

/* Folders and the case of letters change nothing about where the name of a file is split. */
static void check_alike(stk_view name)
{
    stk_view base = after_slash(name), key = {NULL, 0}, field = {NULL, 0}, key2 = {NULL, 0},
             field2 = {NULL, 0};
    char *other = malloc(base.size + 2);
    bool split;

    FUZZ_CHECK(other != NULL);
    other[0] = '.';
    other[1] = '/';
    for (size_t i = 0; i < base.size; i++) {
        char c = ((const char *)base.data)[i];

        other[i + 2] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    split = stk_file_name_split(name, &key, &field);
    FUZZ_CHECK(stk_file_name_split((stk_view){other, base.size + 2}, &key2, &field2) == split);
    FUZZ_CHECK(field.size == field2.size);
    free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = fuzz_exact(data, size < LONGEST ? size : LONGEST);
    stk_view name = {exact, size < LONGEST ? size : LONGEST}, key, field;

    check_member(name);
    check_file(name);
    check_alike(name);
    FUZZ_CHECK(!stk_name_split((stk_view){NULL, 0}, &key, &field));
    FUZZ_CHECK(!stk_file_name_split((stk_view){NULL, 0}, &key, &field));
    free(exact);
    return 0;
}

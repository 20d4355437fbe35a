/* Without these: members end up in the wrong sample, and the shard's index says so for ever. */
#include "archive/index_build.h"
#include "support/test.h"

static stk__heap heap;

static int nothing_is_left(void **state)
{
    (void)state;
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
    return 0;
}

static stk_status add(
    stk__index_build *build, const char *key, const char *field, uint64_t offset, stk_error *err)
{
    char name[64];
    stk__index_told told;
    int length = snprintf(name, sizeof name, "%s.%s", key, field);

    told = (stk__index_told){
        .name = {name, (size_t)length},
        .key = {name, strlen(key)},
        .field = {name + strlen(key) + 1, strlen(field)},
        .header = offset,
        .offset = offset + 512,
        .size_bytes = 1,
    };
    return stk__index_build_member(build, &told, err);
}

static stk__index_build *new_build(stk__index_kind kind, uint32_t flags)
{
    stk__index_build *build;

    assert_int_equal(stk__index_build_new(&heap, kind, flags, &build, NULL), STK_OK);
    return build;
}

static stk__index *finish(stk__index_build *build)
{
    static const stk__index_source source = {.size_bytes = 1u << 30};
    stk__index *index;

    assert_int_equal(stk__index_build_finish(build, &source, &index, NULL), STK_OK);
    stk__index_build_free(build);
    return index;
}

/* The naive way: one list of samples, each a key and the numbers of its members. */
enum { MOST_MEMBERS = 400 };

typedef struct model {
    int samples, twice;
    bool came_back;
    const char *key[MOST_MEMBERS];
    int count[MOST_MEMBERS];
    int member[MOST_MEMBERS][MOST_MEMBERS];
} model;

static const char *const keys[] = {"a", "b", "A", "dir/a", "dir/", "ab", "a b", "\xe9"};
static const char *const fields[] = {"jpg", "JPG", "cls", "seg.png", "Seg.png", "", "x"};

static bool same_folded(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if ((*a >= 'A' && *a <= 'Z' ? *a + 32 : *a) != (*b >= 'A' && *b <= 'Z' ? *b + 32 : *b))
            return false;
    return *a == *b;
}

static void group_naively(const int *drawn_keys, const int *drawn_fields, int n, model *m)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < n; i++) {
        const char *key = keys[drawn_keys[i]];
        bool twice = false;
        int s;

        if (m->samples == 0 || strcmp(m->key[m->samples - 1], key) != 0) {
            for (int k = 0; k < m->samples; k++)
                m->came_back = m->came_back || strcmp(m->key[k], key) == 0;
            m->key[m->samples++] = key;
        }
        s = m->samples - 1;
        for (int k = 0; k < m->count[s]; k++)
            twice = twice ||
                    same_folded(fields[drawn_fields[m->member[s][k]]], fields[drawn_fields[i]]);
        if (twice)
            m->twice++;
        else
            m->member[s][m->count[s]++] = i;
    }
}

static void assert_same(const stk__index *index, const model *m, const int *drawn_fields)
{
    uint64_t first, end, all = 0;
    stk__index_entry entry;
    stk__index_field field;

    assert_int_equal(index->samples, m->samples);
    for (int s = 0; s < m->samples; s++) {
        assert_true(stk__index_sample(index, (uint64_t)s, &first, &end));
        assert_int_equal(first, all);
        assert_int_equal(end - first, m->count[s]);
        for (int k = 0; k < m->count[s]; k++) {
            int i = m->member[s][k];
            char name[64];

            assert_true(stk__index_member(index, first + (uint64_t)k, &entry));
            assert_int_equal(entry.offset, 1024 * i + 512);
            snprintf(
                name, sizeof name, "%.*s", (int)entry.key_bytes, (const char *)entry.name.data);
            assert_string_equal(name, m->key[s]);
            assert_true(stk__index_get_field(index, entry.field, &field));
            assert_true(same_folded(field.name.data, fields[drawn_fields[i]]));
        }
        all = end;
    }
    assert_int_equal(index->members, all);
}

static int count_notes(const stk__index *index, const char *part)
{
    stk__index_note note;
    int count = 0;

    for (uint64_t i = 0; stk__index_get_note(index, i, &note); i++)
        count += strstr(note.text, part) != NULL;
    return count;
}

static void groups_random_members_as_the_naive_way_does(void **state)
{
    static model m;
    rng r = rng_seed();
    (void)state;

    for (int round = 0; round < 2000; round++) {
        stk__index_build *build = new_build(STK__INDEX_TAR, STK__INDEX_LENIENT);
        int n = (int)rng_below(&r, round % 10 == 0 ? MOST_MEMBERS : 12);
        int drawn_keys[MOST_MEMBERS], drawn_fields[MOST_MEMBERS];
        int stay = (int)rng_below(&r, 8);
        stk__index *index;

        for (int i = 0; i < n; i++) {
            bool same = i > 0 && (int)rng_below(&r, 8) < stay;
            drawn_keys[i] = same ? drawn_keys[i - 1] : (int)rng_below(&r, COUNT_OF(keys));
            drawn_fields[i] = (int)rng_below(&r, COUNT_OF(fields));
            assert_int_equal(
                add(build, keys[drawn_keys[i]], fields[drawn_fields[i]], 1024u * (unsigned)i, NULL),
                STK_OK);
        }
        index = finish(build);
        group_naively(drawn_keys, drawn_fields, n, &m);
        assert_same(index, &m, drawn_fields);
        assert_int_equal(count_notes(index, "comes back"), m.came_back);
        assert_int_equal((index->flags & STK__INDEX_LENIENT) != 0, m.twice > 0);
        stk__index_close(index);
    }
}

static void many_keys_and_fields_find_their_numbers(void **state)
{
    stk__index_build *build = new_build(STK__INDEX_TAR, 0);
    stk__index_entry entry;
    stk__index_field field;
    char key[16], name[16];
    stk__index *index;
    (void)state;

    for (unsigned i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "k%u", i);
        snprintf(name, sizeof name, "f%u", i % 3000);
        assert_int_equal(add(build, key, name, 1024u * i, NULL), STK_OK);
    }
    index = finish(build);
    assert_int_equal(index->samples, 20000);
    assert_int_equal(index->section[STK__INDEX_FIELDS].count, 3000);
    assert_int_equal(index->section[STK__INDEX_NOTES].count, 0);
    assert_true(stk__index_member(index, 12345, &entry));
    assert_true(stk__index_get_field(index, entry.field, &field));
    assert_string_equal(field.name.data, "f345");
    assert_int_equal(field.members, 7);
    stk__index_close(index);

    /* One sample of many fields: no quadratic search for a field that came before. */
    build = new_build(STK__INDEX_TAR, 0);
    for (unsigned i = 0; i < 200000; i++) {
        snprintf(name, sizeof name, "f%u", i);
        assert_int_equal(add(build, "k", name, 1024u * i, NULL), STK_OK);
    }
    assert_int_equal(add(build, "k", "F0", 0, NULL), STK_EFIELD);
    stk__index_build_free(build);
}

static void notes_of_a_kind_are_counted_when_they_get_many(void **state)
{
    stk__index_build *build = new_build(STK__INDEX_TAR, 0);
    stk__index *index;
    (void)state;

    for (int i = 0; i < 1000; i++)
        assert_int_equal(
            stk__index_build_note(build, STK__NOTE_LINK, 0, NULL, "link %d", i), STK_OK);
    index = finish(build);
    assert_int_equal(index->section[STK__INDEX_NOTES].count, 9);
    assert_int_equal(count_notes(index, "992 more fields that are links without data"), 1);
    stk__index_close(index);
}

static void refuses_a_field_twice_with_its_place(void **state)
{
    stk__index_build *build = new_build(STK__INDEX_TAR, 0);
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(add(build, "a", "jpg", 0, &err), STK_OK);
    assert_int_equal(add(build, "a", "JPG", 1024, &err), STK_EFIELD);
    assert_string_equal(err.key, "a");
    assert_string_equal(err.field, "JPG");
    assert_int_equal(err.offset, 1024);
    stk__index_build_free(build);

    build = new_build(STK__INDEX_TAR, STK__INDEX_KEEP_CASE);
    assert_int_equal(add(build, "a", "jpg", 0, NULL), STK_OK);
    assert_int_equal(add(build, "a", "JPG", 1024, NULL), STK_OK);
    stk__index_build_free(build);
}

static void a_break_begins_a_sample(void **state)
{
    stk__index_build *build = new_build(STK__INDEX_FOLDER, 0);
    stk__index *index;
    (void)state;

    assert_int_equal(add(build, "a", "jpg", 0, NULL), STK_OK);
    stk__index_build_break(build);
    assert_int_equal(add(build, "a", "jpg", 0, NULL), STK_OK);
    index = finish(build);
    assert_int_equal(index->samples, 2);
    stk__index_close(index);
}

static void a_dropped_sample_leaves_no_trace_among_samples(void **state)
{
    stk__index_build *build = new_build(STK__INDEX_TAR, STK__INDEX_LENIENT);
    stk__index *index;
    uint64_t first, end;
    (void)state;

    assert_int_equal(add(build, "a", "jpg", 0, NULL), STK_OK);
    assert_int_equal(add(build, "b", "jpg", 1024, NULL), STK_OK);
    assert_int_equal(add(build, "b", "cls", 2048, NULL), STK_OK);
    stk__index_build_drop_sample(build, (stk_view){"a", 1}); /* is not the open one */
    stk__index_build_drop_sample(build, (stk_view){"b", 1});
    stk__index_build_drop_sample(build, (stk_view){"b", 1}); /* is gone already */
    assert_int_equal(stk__index_build_note(build, STK__NOTE_DAMAGE, 0, NULL, "damage"), STK_OK);
    index = finish(build);
    assert_int_equal(index->samples, 1);
    assert_int_equal(index->members, 1);
    assert_true(stk__index_sample(index, 0, &first, &end));
    assert_int_equal(index->flags, STK__INDEX_LENIENT);
    stk__index_close(index);
}

static void fingerprints_tell_names_sizes_and_order_apart(void **state)
{
    static const char *const lists[][3] = {
        {"a", "b", NULL}, {"b", "a", NULL}, {"a", "b", "c"}, {"a", NULL, NULL}, {"ab", NULL, NULL}};
    uint64_t prints[COUNT_OF(lists) + 1][2];
    (void)state;

    for (size_t i = 0; i <= COUNT_OF(lists); i++) {
        stk__index_build *build = new_build(STK__INDEX_TAR, 0);
        const char *const *list = lists[i % COUNT_OF(lists)];
        stk__index *index;

        for (int k = 0; k < 3 && list[k] != NULL; k++)
            assert_int_equal(add(build, list[k], "x", 1024u * (unsigned)k, NULL), STK_OK);
        index = finish(build);
        memcpy(prints[i], index->fingerprint, sizeof prints[i]);
        stk__index_close(index);
    }
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (size_t k = i + 1; k < COUNT_OF(lists); k++)
            assert_memory_not_equal(prints[i], prints[k], sizeof prints[i]);
    assert_memory_equal(prints[0], prints[COUNT_OF(lists)], sizeof prints[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(groups_random_members_as_the_naive_way_does, nothing_is_left),
        cmocka_unit_test_teardown(many_keys_and_fields_find_their_numbers, nothing_is_left),
        cmocka_unit_test_teardown(notes_of_a_kind_are_counted_when_they_get_many, nothing_is_left),
        cmocka_unit_test_teardown(refuses_a_field_twice_with_its_place, nothing_is_left),
        cmocka_unit_test_teardown(a_break_begins_a_sample, nothing_is_left),
        cmocka_unit_test_teardown(a_dropped_sample_leaves_no_trace_among_samples, nothing_is_left),
        cmocka_unit_test_teardown(fingerprints_tell_names_sizes_and_order_apart, nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

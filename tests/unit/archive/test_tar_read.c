/* Without these: views show other bytes once an archive is longer than the window, damage takes
 * members with it that stand before it, and precedence of names depends on luck. */
#include "support/read_tar.h"

/* --- Names and sizes from several places --- */

static void pax_beats_gnu_beats_header(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "././@LongLink", .size = 4, .type = 'L'});
    tar_put(&t, "gnu", 4);
    tar_pad(&t);
    tar_pax(&t, 'x', "path", "pax");
    tar_text(&t, "header", "1");
    tar_put_head(&t, &(tar_head){.name = "././@LongLink", .size = 4, .type = 'L'});
    tar_put(&t, "gnu", 4);
    tar_pad(&t);
    tar_text(&t, "header", "2");
    tar_text(&t, "header", "3"); /* what was said held for one member */
    tar_end(&t);
    expect_story(&t, "file pax \"1\"\nfile gnu \"2\"\nfile header \"3\"\nend\n");
}

static void global_records_hold_until_overridden(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_pax(&t, 'g', "size", "3");
    tar_put_head(&t, &(tar_head){.name = "a", .size = 0});
    tar_put(&t, "abc", 3);
    tar_pad(&t);
    tar_pax(&t, 'x', "size", "1");
    tar_put_head(&t, &(tar_head){.name = "b", .size = 0});
    tar_put(&t, "b", 1);
    tar_pad(&t);
    tar_put_head(&t, &(tar_head){.name = "c", .size = 0});
    tar_put(&t, "def", 3);
    tar_pad(&t);
    tar_pax(&t, 'g', "size", ""); /* taken back */
    tar_text(&t, "d", "d");
    tar_end(&t);
    expect_story(&t, "file a \"abc\"\nfile b \"b\"\nfile c \"def\"\nfile d \"d\"\nend\n");
}

static void several_extended_headers_add_up(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_pax(&t, 'x', "path", "name");
    tar_pax(&t, 'X', "size", "2"); /* as an old Solaris wrote it */
    tar_put_head(&t, &(tar_head){.name = "a", .size = 0});
    tar_put(&t, "ab", 2);
    tar_pad(&t);
    tar_end(&t);
    expect_story(&t, "file name \"ab\"\nend\n");
}

static void a_long_name_ends_at_its_nul(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "././@LongLink", .size = 9, .type = 'L'});
    tar_put(&t, "long\0junk", 9);
    tar_pad(&t);
    tar_text(&t, "a", "1");
    tar_put_head(&t, &(tar_head){.name = "././@LongLink", .size = 0, .type = 'L'}); /* empty */
    tar_text(&t, "b", "2");
    tar_end(&t);
    expect_story(&t, "file long \"1\"\nfile b \"2\"\nend\n");
}

static void the_first_of_the_headers_is_the_member_s(void **state)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    made_tar t = {0};
    (void)state;

    tar_pax(&t, 'g', "comment", "of no member");
    tar_pax(&t, 'x', "mtime", "1");
    tar_pax(&t, 'x', "mtime", "2");
    tar_text(&t, "a", "1");
    tar_text(&t, "b", "2");
    tar_end(&t);
    read_in_memory(story, t.data, t.size, options, true);
    assert_string_equal(story->text, "file a @1024,3584,1\nfile b @4096,4608,1\nend\n");
    tar_free(&t);
    free(story);
}

static void long_headers_are_limited(void **state)
{
    stk_limits limits = STK_LIMITS_INIT;
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    char name[2000];
    made_tar t = {0};
    (void)state;

    options.limits = &limits;
    memset(name, 'n', sizeof name);
    tar_text(&t, "fine", "1");
    tar_named(&t, name, sizeof name, "2", 1);
    tar_end(&t);
    limits.max_header_bytes = 2010; /* "2010 path=" and a newline around the name: 2011 */
    read_in_memory(story, t.data, t.size, options, false);
    assert_string_equal(story->text, "file fine \"1\"\nSTK_ELIMIT 1024 \n");
    assert_non_null(strstr(story->err.text, "max_header_bytes"));
    limits.max_header_bytes = 2011;
    read_in_memory(story, t.data, t.size, options, false);
    assert_string_equal(story->text + story->used - 4, "end\n");

    limits.max_member_bytes = 0; /* only of data that is asked for */
    read_in_memory(story, t.data, t.size, options, false);
    assert_string_equal(story->text, "STK_ELIMIT 0 fine\n");
    options.data = false;
    read_in_memory(story, t.data, t.size, options, false);
    assert_string_equal(story->text + story->used - 4, "end\n");
    tar_free(&t);
    free(story);
}

static void dumpdir_data_and_odd_types_are_stepped_over(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "d/", .type = 'D', .size = 6});
    tar_put(&t, "Ya\0\0\0", 6);
    tar_pad(&t);
    tar_put_head(&t, &(tar_head){.name = "volume", .type = 'V'});
    tar_put_head(&t, &(tar_head){.name = "rest", .type = 'M', .size = 3});
    tar_put(&t, "abc", 3);
    tar_pad(&t);
    tar_text(&t, "a", "1");
    tar_end(&t);
    expect_story(&t, "folder d/\nother volume\nother rest\nfile a \"1\"\nend others=2\n");
}

/* --- Archives longer than the window --- */

typedef struct expected_member {
    uint64_t seed; /* of its bytes */
    size_t size;
    size_t target; /* 0: a file; else 1 + the number of the member that it is a link to */
} expected_member;

static void name_of(char *name, size_t room, size_t number, rng *r)
{
    size_t length = (size_t)snprintf(name, room, "%zu-", number);

    if (number % 5 == 0) { /* some need a long form */
        size_t more = rng_below(r, 200);

        memset(name + length, 'n', more);
        length += more;
    }
    strcpy(name + length, ".bin");
}

/* Members of all sizes, and links back to any of them. */
static void make_long_archive(made_tar *t, expected_member *members, size_t count, rng *r)
{
    static const size_t bounds[] = {3, 600, 20000, 300000, 1 << 20, 2500000};
    char (*names)[256] = calloc(count, sizeof *names);

    for (size_t i = 0; i < count; i++) {
        expected_member *m = &members[i];

        name_of(names[i], sizeof names[i], i, r);
        if (i > 0 && rng_below(r, 6) == 0) {
            size_t target = rng_below(r, i);

            m->target = 1 + target;
            m->seed = members[target].seed;
            m->size = members[target].size;
            tar_pax(t, 'x', "path", names[i]);
            tar_pax(t, 'x', "linkpath", names[target]);
            tar_link(t, "short", '1', "short");
        } else {
            rng bytes = {m->seed = rng_next(r)};
            unsigned char *data;

            m->size = rng_below(r, bounds[rng_below(r, COUNT_OF(bounds))]);
            data = malloc(m->size + 1);
            rng_fill(&bytes, data, m->size);
            if (strlen(names[i]) > 100 || rng_below(r, 4) == 0)
                tar_named(t, names[i], strlen(names[i]), data, m->size);
            else /* its name is a view of the window, which moves before the data are there */
                tar_file(t, names[i], data, m->size);
            free(data);
        }
    }
    tar_end(t);
    free(names);
}

static void check_data(stk_view data, const expected_member *m)
{
    rng bytes = {m->seed};
    unsigned char *expected = malloc(m->size + 1);

    rng_fill(&bytes, expected, m->size);
    assert_int_equal(data.size, m->size);
    assert_memory_equal(data.data, expected, m->size);
    free(expected);
}

static void every_byte_is_right_at_any_length(void **state)
{
    enum { COUNT = 150 };

    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    expected_member members[COUNT] = {0};
    stk__heap heap = {0};
    rng r = rng_seed();
    made_tar t = {0};
    (void)state;

    make_long_archive(&t, members, COUNT, &r);
    for (int data = 0; data < 2; data++) {
        stk_view bytes = {t.data, t.size};
        stk_error err = STK_ERROR_INIT;
        stk_tar *tar = NULL;
        stk_member member;
        uint64_t end = 0;

        options.data = data == 1;
        assert_int_equal(
            stk__tar_open_memory(&heap, &bytes, "long.tar", &options, &tar, &err), STK_OK);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(stk_tar_next(tar, &member, &err), STK_OK);
            assert_int_equal(strtoull(member.name.data, NULL, 10), i);
            assert_int_equal(member.header_offset, end);
            assert_int_equal(member.size_bytes, members[i].size);
            check_data(
                (stk_view){t.data + member.data_offset, (size_t)member.size_bytes}, &members[i]);
            if (options.data)
                check_data(member.data, &members[i]);
            if (members[i].target == 0) {
                assert_int_equal(member.kind, STK_MEMBER_FILE);
                end = member.data_offset + (member.size_bytes + 511) / 512 * 512;
            } else {
                assert_int_equal(member.kind, STK_MEMBER_HARD_LINK);
                end += 5 * 512; /* two extended headers of two blocks, and its own */
            }
        }
        assert_int_equal(stk_tar_next(tar, &member, &err), STK_END);
        stk_tar_close(tar);
    }
    assert_int_equal(heap.used_bytes, 0);
    tar_free(&t);
}

/* A memory file that counts what is read of it. */
typedef struct counted {
    stk_view bytes;
    uint64_t read_bytes;
} counted;

static stk_status read_counted(
    void *ctx, uint64_t offset, stk_span dst, size_t *got_out, stk_error *err)
{
    counted *file = ctx;
    size_t left = file->bytes.size - (size_t)offset;

    (void)err;
    *got_out = left < dst.size ? left : dst.size;
    memcpy(dst.data, (const char *)file->bytes.data + offset, *got_out);
    file->read_bytes += *got_out;
    return STK_OK;
}

static uint64_t bytes_read_for(const made_tar *t, bool data)
{
    counted file = {.bytes = {t->data, t->size}};
    const stk__tar_source source = {.read = read_counted, .ctx = &file, .size_bytes = t->size};
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk__heap heap = {0};
    stk_tar *tar = NULL;
    stk_member member;
    stk_status st;

    options.data = data;
    assert_int_equal(
        stk__tar_open_source(&heap, &source, "counted.tar", &options, &tar, &err), STK_OK);
    while ((st = stk_tar_next(tar, &member, &err)) == STK_OK)
        ;
    assert_int_equal(st, STK_END);
    stk_tar_close(tar);
    return file.read_bytes;
}

static void headers_alone_leave_large_members_unread(void **state)
{
    enum { SIZE = 1 << 20, COUNT = 40 };

    made_tar t = {0};
    char *data = calloc(1, SIZE);
    char name[32];
    (void)state;

    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "%d.bin", i);
        tar_file(&t, name, data, SIZE);
    }
    tar_end(&t);
    assert_true(bytes_read_for(&t, true) >= (uint64_t)COUNT * SIZE);
    assert_true(bytes_read_for(&t, true) < (uint64_t)COUNT * SIZE + COUNT * 4096);
    assert_true(bytes_read_for(&t, false) < (uint64_t)COUNT * 8192 + 2 * SIZE);
    tar_free(&t);
    free(data);
}

static void nothing_small_is_read_twice(void **state)
{
    made_tar t = {0};
    char name[32];
    (void)state;

    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "%d.bin", i);
        tar_file(&t, name, name, (size_t)i % 32);
    }
    tar_end(&t);
    assert_int_equal(bytes_read_for(&t, true), t.size);
    assert_true(bytes_read_for(&t, false) <= t.size);
    tar_free(&t);
}

/* Steady state allocates nothing. */
static void members_cost_no_allocation(void **state)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    stk__heap heap = {0};
    stk_view bytes;
    stk_error err = STK_ERROR_INIT;
    stk_tar *tar = NULL;
    stk_member member;
    uint64_t after_first = 0;
    made_tar t = {0};
    (void)state;

    for (int i = 0; i < 3000; i++) {
        tar_pax(&t, 'x', "path", "the/same/name.jpg");
        tar_text(&t, "short", "data");
    }
    tar_end(&t);
    bytes = (stk_view){t.data, t.size};
    assert_int_equal(stk__tar_open_memory(&heap, &bytes, "t.tar", &options, &tar, &err), STK_OK);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(stk_tar_next(tar, &member, &err), STK_OK);
        if (i == 1000) /* the window has moved by then */
            after_first = heap.allocations;
    }
    assert_int_equal(heap.allocations, after_first);
    stk_tar_close(tar);
    tar_free(&t);
}

/* --- Damage --- */

/* One of everything, small enough to be cut at each byte. */
static void make_small_archive(made_tar *t)
{
    char name[160];

    memset(name, 'l', sizeof name);
    strcpy(name + 150, ".jpg");
    tar_pax(t, 'g', "comment", "made by a test");
    tar_text(t, "a.jpg", "first");
    tar_put_head(t, &(tar_head){.name = "d/", .type = '5'});
    tar_named(t, name, strlen(name), "pax", 3);
    tar_put_head(t, &(tar_head){.name = "././@LongLink", .size = strlen(name) + 1, .type = 'L'});
    tar_put(t, name, strlen(name) + 1);
    tar_pad(t);
    tar_file(t, "cut", memset((char[700]){0}, 'g', 700), 700);
    tar_link(t, "b.jpg", '1', "a.jpg");
    tar_link(t, "c.jpg", '2', "a.jpg");
    tar_text(t, "e.jpg", "");
    tar_text(t, "z.jpg", "last");
    tar_end(t);
}

/* Where the nth line of a story ends. */
static size_t lines_in_common(const char *a, const char *b)
{
    size_t lines = 0;

    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
        lines += a[i] == '\n';
    return lines;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static void every_prefix_gives_its_members_exactly(void **state)
{
    const stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *whole = malloc(sizeof *whole), *part = malloc(sizeof *part);
    size_t clean_ends = 0;
    made_tar t = {0};
    (void)state;

    make_small_archive(&t);
    read_in_memory(whole, t.data, t.size, options, false);
    for (size_t size = 0; size < t.size; size++) {
        size_t lines;
        const char *last;

        read_in_memory(part, t.data, size, options, false);
        lines = count_lines(part->text);
        assert_true(lines_in_common(part->text, whole->text) >= lines - 1); /* all but the last */
        last = part->text + part->used - 1;
        while (last > part->text && last[-1] != '\n')
            last--;
        if (strncmp(last, "end no-end-marker", 17) == 0)
            clean_ends++;
        else
            assert_int_equal(strncmp(last, "STK_ECORRUPT", 12), 0);
        if (strncmp(last, "STK_ECORRUPT", 12) == 0)
            assert_true(part->err.has_offset && part->err.offset <= size);
    }
    /* Behind the global header, behind each of 8 members, and anywhere in the end marker. */
    assert_int_equal(clean_ends, 1 + 8 + 1023);
    tar_free(&t);
    free(whole);
    free(part);
}

/* The members in front of the damage are exact; nothing is read outside the archive (ASan). */
static void flipped_bits_do_no_harm(void **state)
{
    const stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *whole = malloc(sizeof *whole), *bent = malloc(sizeof *bent);
    size_t told = 0;
    rng r = rng_seed();
    made_tar t = {0};
    (void)state;

    make_small_archive(&t);
    read_in_memory(whole, t.data, t.size, options, false);
    for (int round = 0; round < 4000; round++) {
        uint64_t bit = rng_below(&r, 8 * t.size);

        t.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        read_in_memory(bent, t.data, t.size, options, false);
        told += strcmp(bent->text, whole->text) != 0;
        t.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_in_range(told, 1500, 4000); /* padding and mtime of the like may change unseen */
    tar_free(&t);
    free(whole);
    free(bent);
}

/* Header bytes changed at random, checksums made good again: what only the parser can catch. */
static void headers_full_of_nonsense_do_no_harm(void **state)
{
    const stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *bent = malloc(sizeof *bent);
    rng r = rng_seed();
    (void)state;

    for (int round = 0; round < 4000; round++) {
        made_tar t = {0};
        size_t at;

        make_small_archive(&t);
        for (uint64_t left = 1 + rng_below(&r, 4); left > 0; left--) {
            at = 512 * rng_below(&r, t.size / 512);
            if (t.data[at] == 0 || memcmp(t.data + at + 257, "ustar", 5) != 0)
                continue;
            unsigned char byte = (unsigned char)rng_next(&r);
            size_t field = rng_below(&r, 3) == 0 ? 156 : 124 + rng_below(&r, 12);

            tar_bend(&t, at, field, &byte, 1);
        }
        read_in_memory(bent, t.data, t.size, options, false);
        tar_free(&t);
    }
    free(bent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pax_beats_gnu_beats_header),
        cmocka_unit_test(global_records_hold_until_overridden),
        cmocka_unit_test(several_extended_headers_add_up),
        cmocka_unit_test(a_long_name_ends_at_its_nul),
        cmocka_unit_test(the_first_of_the_headers_is_the_member_s),
        cmocka_unit_test(long_headers_are_limited),
        cmocka_unit_test(dumpdir_data_and_odd_types_are_stepped_over),
        cmocka_unit_test(every_byte_is_right_at_any_length),
        cmocka_unit_test(headers_alone_leave_large_members_unread),
        cmocka_unit_test(nothing_small_is_read_twice),
        cmocka_unit_test(members_cost_no_allocation),
        cmocka_unit_test(every_prefix_gives_its_members_exactly),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(headers_full_of_nonsense_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

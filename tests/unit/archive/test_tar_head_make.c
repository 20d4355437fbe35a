/* Without these: long names collide after being cut, and two machines write two archives. */
#include "archive/tar_head.h"
#include "archive/tar_head_make.h"
#include "archive/tar_number.h"
#include "support/read_tar.h"

/* The headers of one file of size 0 by that name, as an archive; checked to read back. */
static size_t blocks_for(const char *name, size_t size)
{
    const stk_tar_options options = STK_TAR_OPTIONS_INIT;
    stk__heap heap = {0};
    stk__tar_text blocks = {0};
    stk_error err = STK_ERROR_INIT;
    stk_view bytes;
    stk_tar *tar = NULL;
    stk_member member;
    size_t made;

    assert_true(stk__tar_head_make(&heap, &blocks, (stk_view){name, size}, 0, 1700000000));
    bytes = stk__tar_text_view(&blocks);
    assert_int_equal(stk__tar_open_memory(&heap, &bytes, "made.tar", &options, &tar, &err), STK_OK);
    assert_int_equal(stk_tar_next(tar, &member, &err), STK_OK);
    assert_int_equal(member.name.size, size);
    assert_memory_equal(member.name.data, name, size);
    assert_int_equal(member.header_offset, 0);
    assert_int_equal(stk_tar_next(tar, &member, &err), STK_END);
    stk_tar_close(tar);
    made = blocks.size / 512;
    assert_int_equal(blocks.size % 512, 0);
    stk__tar_text_fini(&heap, &blocks);
    assert_int_equal(heap.used_bytes, 0);
    return made;
}

/* A name of that length with slashes at these places (0: none). */
static size_t blocks_of_length(size_t size, size_t slash, size_t other)
{
    char name[1024];

    memset(name, 'n', sizeof name);
    if (slash > 0)
        name[slash] = '/';
    if (other > 0)
        name[other] = '/';
    return blocks_for(name, size);
}

static void names_stay_in_ustar_while_they_fit(void **state)
{
    (void)state;
    assert_int_equal(blocks_of_length(1, 0, 0), 1);
    assert_int_equal(blocks_of_length(100, 0, 0), 1);
    assert_int_equal(blocks_of_length(101, 0, 0), 3); /* no slash to split at */
    assert_int_equal(blocks_of_length(101, 1, 0), 1);
    assert_int_equal(blocks_of_length(102, 1, 0), 1);
    assert_int_equal(blocks_of_length(103, 1, 0), 3); /* 101 bytes behind the slash */
    assert_int_equal(blocks_of_length(255, 155, 0), 1);
    assert_int_equal(blocks_of_length(255, 154, 0), 1);
    assert_int_equal(blocks_of_length(255, 153, 0), 3);
    assert_int_equal(blocks_of_length(256, 155, 0), 1); /* the longest: 155 and 100 */
    assert_int_equal(blocks_of_length(256, 156, 0), 3); /* 156 bytes before the slash */
    assert_int_equal(blocks_of_length(256, 156, 20), 3);
    assert_int_equal(blocks_of_length(257, 156, 0), 3);
    assert_int_equal(blocks_of_length(200, 20, 150), 1);  /* the second slash is the right one */
    assert_int_equal(blocks_of_length(502, 200, 300), 3); /* with its record: one block */
    assert_int_equal(blocks_of_length(503, 200, 300), 4);
    assert_int_equal(blocks_of_length(1000, 0, 0), 4);
    for (size_t size = 980; size < 1010; size++) /* where a record's length gets another digit */
        assert_int_equal(blocks_of_length(size, 0, 0), 4);
}

static void a_slash_at_the_start_or_end_of_a_part_is_kept(void **state)
{
    char name[160];
    (void)state;

    memset(name, 'n', sizeof name);
    name[0] = '/';
    assert_int_equal(blocks_for(name, 101), 3); /* the prefix would be empty */
    name[60] = '/';
    assert_int_equal(blocks_for(name, 150), 1);
    name[61] = '/'; /* twice */
    assert_int_equal(blocks_for(name, 150), 1);
}

static void names_in_pax_headers_say_if_they_are_no_utf8(void **state)
{
    static const struct {
        const char *bytes;
        bool utf8;
    } cases[] = {
        {"abc", true},
        {"caf\xc3\xa9", true},
        {"\xe2\x82\xac", true},
        {"\xf0\x9f\x98\x80", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"caf\xe9", false},
        {"\xc3", false},             /* cut */
        {"\xc0\xaf", false},         /* overlong */
        {"\xe0\x80\xaf", false},     /* the same */
        {"\xed\xa0\x80", false},     /* a surrogate */
        {"\xf0\x80\x80\xaf", false}, /* overlong */
        {"\xf4\x90\x80\x80", false}, /* past the last character */
        {"\xff", false},
        {"\xe2\x82\x41", false},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk__heap heap = {0};
        stk__tar_text blocks = {0};
        char name[128];

        memset(name, 'n', sizeof name);
        memcpy(name + 120 - strlen(cases[i].bytes), cases[i].bytes, strlen(cases[i].bytes));
        assert_true(stk__tar_head_make(&heap, &blocks, (stk_view){name, 120}, 0, 0));
        assert_int_equal(blocks.size, 1536);
        assert_int_equal(
            memcmp(blocks.data + 512, "21 hdrcharset=BINARY\n", 21) == 0, !cases[i].utf8);
        blocks_for(name, 120);
        stk__tar_text_fini(&heap, &blocks);
    }
}

static void sizes_over_8_gib_go_to_a_pax_header(void **state)
{
    static const uint64_t sizes[] = {(1ull << 33) - 1, 1ull << 33, 1ull << 40};
    static const char *const records[] = {NULL, "19 size=8589934592\n", "22 size=1099511627776\n"};
    (void)state;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        stk__heap heap = {0};
        stk__tar_text blocks = {0};
        stk__tar_head head;
        uint64_t octal;

        assert_true(stk__tar_head_make(&heap, &blocks, (stk_view){"a.bin", 5}, sizes[i], 0));
        assert_int_equal(blocks.size, records[i] == NULL ? 512 : 1536);
        if (records[i] != NULL)
            assert_memory_equal(blocks.data + 512, records[i], strlen(records[i]));
        stk__tar_head_read((const uint8_t *)blocks.data + blocks.size - 512, &head);
        assert_true(stk__tar_number(head.size, &octal));
        assert_true(octal == (records[i] == NULL ? sizes[i] : 0));
        stk__tar_text_fini(&heap, &blocks);
    }
}

/* The header, byte for byte: readers of other people depend on it, and so do checksums of shards.
 */
static void a_header_is_these_bytes(void **state)
{
    stk__heap heap = {0};
    stk__tar_text blocks = {0};
    uint8_t expected[512] = {0};
    (void)state;

    memcpy(expected, "dir/a.jpg", 9);
    memcpy(expected + 100,
        "0000644\0"
        "0000000\0"
        "0000000\0"
        "00000001274\0"
        "14524770400\0",
        48);
    memcpy(expected + 148, "010753\0 0", 9);
    memcpy(expected + 257,
        "ustar\0"
        "00",
        8);
    memcpy(expected + 329,
        "0000000\0"
        "0000000\0",
        16);
    assert_true(stk__tar_head_make(&heap, &blocks, (stk_view){"dir/a.jpg", 9}, 700, 1700000000));
    assert_int_equal(blocks.size, 512);
    assert_memory_equal(blocks.data, expected, 512);
    stk__tar_text_fini(&heap, &blocks);
}

static void without_memory_it_says_so(void **state)
{
    char name[300];
    (void)state;

    memset(name, 'n', sizeof name);
    for (size_t ceiling = 1; ceiling < 1800; ceiling += 64) {
        stk__heap heap = {.ceiling_bytes = ceiling};
        stk__tar_text blocks = {0};

        assert_false(stk__tar_head_make(&heap, &blocks, (stk_view){name, sizeof name}, 0, 0));
        stk__tar_text_fini(&heap, &blocks);
        assert_int_equal(heap.used_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stay_in_ustar_while_they_fit),
        cmocka_unit_test(a_slash_at_the_start_or_end_of_a_part_is_kept),
        cmocka_unit_test(names_in_pax_headers_say_if_they_are_no_utf8),
        cmocka_unit_test(sizes_over_8_gib_go_to_a_pax_header),
        cmocka_unit_test(a_header_is_these_bytes),
        cmocka_unit_test(without_memory_it_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Without these: damaged headers pass, or whole ones with odd bytes do not. */
#include "archive/tar_head.h"
#include "support/make_tar.h"
#include "support/test.h"

/* The sum by the words of POSIX. */
static uint32_t slow_sum(const uint8_t *block, bool as_signed)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < STK__TAR_BLOCK; i++) {
        uint8_t byte = i >= 148 && i < 156 ? ' ' : block[i];

        sum += byte;
        if (as_signed && byte >= 0x80)
            sum -= 256;
    }
    return sum;
}

static void put_sum(uint8_t *block, uint32_t sum)
{
    char number[16];

    snprintf(number, sizeof number, "%06o", sum);
    memcpy(block + 148, number, 7);
    block[155] = ' ';
}

static void adds_as_posix_says(void **state)
{
    rng r = rng_seed();
    uint8_t block[STK__TAR_BLOCK];
    (void)state;

    memset(block, 0xff, sizeof block); /* no lane may run over */
    assert_int_equal(stk__tar_head_sum(block), slow_sum(block, false));
    memset(block, 0, sizeof block);
    assert_int_equal(stk__tar_head_sum(block), slow_sum(block, false));
    for (int round = 0; round < 2000; round++) {
        rng_fill(&r, block, sizeof block);
        assert_int_equal(stk__tar_head_sum(block), slow_sum(block, false));
    }
}

static void takes_unsigned_and_signed_sums(void **state)
{
    rng r = rng_seed();
    uint8_t block[STK__TAR_BLOCK];
    (void)state;

    for (int round = 0; round < 500; round++) {
        uint32_t sum;

        rng_fill(&r, block, sizeof block);
        sum = slow_sum(block, false);
        put_sum(block, sum);
        assert_true(stk__tar_head_valid(block));
        put_sum(block, sum + 1);
        assert_false(stk__tar_head_valid(block));
        sum = slow_sum(block, true);
        if ((int32_t)sum < 0)
            continue; /* what no writer can put into an octal field */
        put_sum(block, sum);
        assert_true(stk__tar_head_valid(block));
    }
}

static void takes_a_signed_sum_whatever_stood_in_its_field(void **state)
{
    made_tar t = {0};
    uint32_t sum;
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "caf\xe9.jpg", .size = 3});
    sum = slow_sum(t.data, true);
    assert_true(sum != slow_sum(t.data, false));
    put_sum(t.data, sum);
    t.data[155] = 0xff; /* a byte of the field itself: counted as a space, so no part of the sum */
    assert_true(stk__tar_head_valid(t.data));
    tar_free(&t);
}

static void refuses_zeros_and_a_sum_that_is_no_number(void **state)
{
    uint8_t block[STK__TAR_BLOCK] = {0};
    (void)state;

    assert_false(stk__tar_head_valid(block));
    memcpy(block + 148, "JUNKJUNK", 8);
    assert_false(stk__tar_head_valid(block));
}

static void any_bit_matters(void **state)
{
    made_tar t = {0};
    (void)state;

    tar_put_head(&t, &(tar_head){.name = "a.jpg", .size = 700, .prefix = "p"});
    for (size_t bit = 0; bit < 8 * (size_t)STK__TAR_BLOCK; bit++) {
        if (bit / 8 >= 154 && bit / 8 < 156)
            continue; /* behind the checksum's digits: the end of its text, and nothing */
        if (bit / 8 >= 148 && bit / 8 < 154 && bit % 8 > 2)
            continue; /* a leading 0 may become a blank, which is the same number */
        t.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_false(stk__tar_head_valid(t.data));
        t.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(stk__tar_head_valid(t.data));
    tar_free(&t);
}

static void check_view(stk_view view, const char *expected)
{
    assert_int_equal(view.size, strlen(expected));
    assert_memory_equal(view.data, expected, view.size);
}

static void takes_a_header_apart(void **state)
{
    char full[156];
    made_tar t = {0};
    stk__tar_head head;
    (void)state;

    memset(full, 'p', 155);
    full[155] = '\0';
    tar_put_head(&t, &(tar_head){.name = "n", .prefix = full, .link = "l", .type = '1', .size = 8});
    stk__tar_head_read(t.data, &head);
    check_view(head.name, "n");
    check_view(head.prefix, full);
    check_view(head.link, "l");
    assert_int_equal(head.size.size, 12);
    assert_memory_equal(head.size.data, "00000000010", 12);
    assert_int_equal(head.type, '1');
    tar_free(&t);
}

static void zero_means_every_byte(void **state)
{
    uint8_t bytes[STK__TAR_BLOCK + 3] = {0};
    (void)state;

    for (size_t size = 0; size <= sizeof bytes; size++)
        assert_true(stk__tar_is_zero(bytes, size));
    for (size_t at = 0; at < sizeof bytes; at++) {
        bytes[at] = 0x80;
        assert_false(stk__tar_is_zero(bytes, sizeof bytes));
        assert_true(stk__tar_is_zero(bytes, at));
        bytes[at] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_as_posix_says),
        cmocka_unit_test(takes_unsigned_and_signed_sums),
        cmocka_unit_test(takes_a_signed_sum_whatever_stood_in_its_field),
        cmocka_unit_test(refuses_zeros_and_a_sum_that_is_no_number),
        cmocka_unit_test(any_bit_matters),
        cmocka_unit_test(takes_a_header_apart),
        cmocka_unit_test(zero_means_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

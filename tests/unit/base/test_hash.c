/* Without these: a damaged index passes its checksum on one machine, or two datasets are taken for
 * one and a state goes on with the wrong samples. */
#include <stdbool.h>

#include "base/hash.h"
#include "support/test.h"

static void crc32c_equals_the_known_answers(void **state)
{
    uint8_t data[32];
    (void)state;

    assert_int_equal(stk__crc32c(0, "123456789", 9), 0xE3069283u); /* the check value of all CRCs */
    assert_int_equal(stk__crc32c(0, NULL, 0), 0);
    memset(data, 0, sizeof data); /* RFC 3720 B.4, from here on */
    assert_int_equal(stk__crc32c(0, data, sizeof data), 0x8A9136AAu);
    memset(data, 0xff, sizeof data);
    assert_int_equal(stk__crc32c(0, data, sizeof data), 0x62A8AB43u);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)i;
    assert_int_equal(stk__crc32c(0, data, sizeof data), 0x46DD794Eu);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)(31 - i);
    assert_int_equal(stk__crc32c(0, data, sizeof data), 0x113FDB5Cu);
}

static void crc32c_goes_on_where_it_stopped(void **state)
{
    const char *digits = "123456789";
    (void)state;

    for (size_t cut = 0; cut <= 9; cut++) {
        uint32_t crc = stk__crc32c(0, digits, cut);
        assert_int_equal(stk__crc32c(crc, digits + cut, 9 - cut), 0xE3069283u);
    }
}

static bool same(stk__fingerprint a, stk__fingerprint b)
{
    return a.a == b.a && a.b == b.b;
}

static stk__fingerprint of(
    const char *first, size_t first_size, const char *second, size_t second_size)
{
    stk__fingerprint print = {0};

    stk__fingerprint_add(&print, first, first_size);
    stk__fingerprint_add(&print, second, second_size);
    return print;
}

static void fingerprints_see_cuts_order_and_every_bit(void **state)
{
    char text[40] = "the quick brown fox jumps over the lazy";
    const stk__fingerprint whole = of(text, sizeof text, "", 0);
    (void)state;

    assert_true(same(whole, of(text, sizeof text, "", 0)));
    assert_false(same(of("ab", 2, "c", 1), of("a", 1, "bc", 2)));
    assert_false(same(of("ab", 2, "c", 1), of("c", 1, "ab", 2)));
    assert_false(same(of("", 0, "", 0), of("", 0, "\0", 1)));
    assert_false(same(of("a", 1, "", 0), of("a\0", 2, "", 0)));
    for (size_t bit = 0; bit < sizeof text * 8; bit++) {
        stk__fingerprint other;

        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        other = of(text, sizeof text, "", 0);
        assert_true(other.a != whole.a && other.b != whole.b);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    }
}

/* Saved states and indexes hold them: the numbers may never change. */
static void fingerprints_are_what_they_always_were(void **state)
{
    const stk__fingerprint print = of("train-000012.tar", 16, "n01440764_10026", 15);
    (void)state;

    assert_true(print.a == 0x99724c312c916b3eu && print.b == 0xd00ada48a4912f4fu);
}

/* Counting numbers, which differ in few bits: no half of the print repeats. */
static void fingerprints_of_counters_do_not_meet(void **state)
{
    enum { MANY = 4096 };

    static uint64_t seen[MANY];
    (void)state;

    for (uint64_t i = 0; i < MANY; i++) {
        stk__fingerprint print = {0};

        stk__fingerprint_add_u64(&print, i);
        seen[i] = print.a;
        for (uint64_t k = 0; k < i; k++)
            assert_true(seen[k] != print.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_equals_the_known_answers),
        cmocka_unit_test(crc32c_goes_on_where_it_stopped),
        cmocka_unit_test(fingerprints_see_cuts_order_and_every_bit),
        cmocka_unit_test(fingerprints_are_what_they_always_were),
        cmocka_unit_test(fingerprints_of_counters_do_not_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

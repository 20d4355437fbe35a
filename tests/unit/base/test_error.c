/* Without these: an error names the wrong byte or shard, two long paths look alike, or a password
 * of a URL ends in a log. */
#include <errno.h>

#include "base/error.h"
#include "support/test.h"

static void statuses_have_their_names_for_ever(void **state)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {
        {0, "STK_OK"},
        {1, "STK_END"},
        {2, "STK_AGAIN"},
        {-1, "STK_EINVAL"},
        {-2, "STK_ENOMEM"},
        {-3, "STK_ESOURCE"},
        {-4, "STK_ECORRUPT"},
        {-5, "STK_ENOTSUP"},
        {-6, "STK_ELIMIT"},
        {-7, "STK_ESHAPE"},
        {-8, "STK_EFIELD"},
        {-9, "STK_ESTATE"},
        {-10, "STK_EINDEX"},
        {-11, "STK_EBUDGET"},
        {-12, "STK_EBUSY"},
        {-13, "STK_EFORK"},
        {-14, "STK_ECLOSED"},
        {-15, "STK_ERANGE"},
        {-16, "STK_EEXIST"},
        {-17, "STK_ESTOPPED"},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        assert_string_equal(stk_status_name((stk_status)known[i].number), known[i].name);
        assert_true(strlen(stk_status_text((stk_status)known[i].number)) > 3);
        assert_non_null(stk_status_cure((stk_status)known[i].number));
    }
    assert_string_equal(stk_status_name((stk_status)-99), "STK_?");
    assert_string_equal(stk_status_text((stk_status)99), "unknown status");
    assert_string_equal(stk_status_cure((stk_status)99), "");
    assert_string_equal(stk_stage_name(STK_STAGE_NONE), "");
    assert_string_equal(stk_stage_name(STK_STAGE_DECODE), "decode");
    assert_string_equal(stk_stage_name(STK_STAGE_COUNT), "");
    assert_string_equal(stk_stage_name((stk_stage)-1), "");
    assert_string_equal(stk_version(), STK__VERSION);
}

static const char *cure(stk_status st, stk_stage stage, int os_errno, const char *source)
{
    stk_error err = STK_ERROR_INIT;

    err.status = st;
    err.stage = stage;
    err.os_errno = os_errno;
    snprintf(err.source, sizeof err.source, "%s", source);
    return stk_error_cure(&err);
}

static void a_cure_goes_by_what_is_known(void **state)
{
    const char *usual;

    (void)state;
    for (int st = STK_EEXIST; st < STK_ESOURCE; st++) /* with nothing known that of the status */
        assert_string_equal(
            cure((stk_status)st, STK_STAGE_NONE, 0, ""), stk_status_cure((stk_status)st));
    assert_string_equal(cure(STK_ESOURCE, STK_STAGE_OPEN, 0, "a"), "");
    usual = cure(STK_ECORRUPT, STK_STAGE_DECODE, 0, "a.tar");
    assert_non_null(strstr(usual, "on_error"));
    assert_non_null(
        strstr(cure(STK_ECORRUPT, STK_STAGE_MEMBER, 0, "a.tar"), "skip_damaged_shards"));
    assert_non_null(strstr(cure(STK_ENOTSUP, STK_STAGE_MEMBER, 0, "a.tar"), "skip_damaged_shards"));
    assert_string_equal(cure(STK_ENOTSUP, STK_STAGE_OPEN, 0, "a.tar"), ""); /* the text says it */
    assert_non_null(strstr(cure(STK_ENOTSUP, STK_STAGE_DECODE, 0, "a.tar"), "doctor"));
    usual = cure(STK_ESOURCE, STK_STAGE_READ, ENOENT, "a.tar");
    assert_string_not_equal(usual, cure(STK_ESOURCE, STK_STAGE_READ, EACCES, "a.tar"));
    assert_string_not_equal(usual, cure(STK_ESOURCE, STK_STAGE_READ, ENOENT, "*.tar"));
    assert_non_null(strstr(cure(STK_ESOURCE, STK_STAGE_READ, EACCES, "a"), "read"));
    assert_null(strstr(cure(STK_ESOURCE, STK_STAGE_READ, EACCES, "a"), "leave it out"));
    assert_non_null(strstr(cure(STK_ESOURCE, STK_STAGE_MEMBER, EACCES, "a"), "leave it out"));
    assert_non_null(strstr(cure(STK_ESOURCE, STK_STAGE_WRITE, EACCES, "a"), "write"));
    assert_non_null(strstr(cure(STK_ESOURCE, STK_STAGE_WRITE, ENOSPC, "a"), "room"));
    assert_non_null(strstr(cure(STK_ESOURCE, STK_STAGE_OPEN, EMFILE, "a"), "ulimit -n"));
}

static void fills_what_is_empty_and_rewrites_nothing(void **state)
{
    const stk__place below = {
        .stage = STK_STAGE_DECODE, .source = "a/b.tar", .key = {"n0144xyz", 5}, .base = 1000};
    const stk__place above = {.stage = STK_STAGE_READ,
        .source = "other.tar",
        .shard = "b.tar",
        .key = {"k", 1},
        .field = {"jpg", 3},
        .base = 7,
        .sample = 12};
    stk_error err = STK_ERROR_INIT;
    char line[600];
    size_t needed;
    (void)state;

    assert_int_equal(STK_FAIL_AT(&err, STK_ECORRUPT, 24, "row %d of %d", 212, 375), STK_ECORRUPT);
    assert_int_equal(stk__error_in(STK_ECORRUPT, &below, &err), STK_ECORRUPT);
    assert_int_equal(stk__error_in(STK_ECORRUPT, &above, &err), STK_ECORRUPT);
    assert_int_equal(err.status, STK_ECORRUPT);
    assert_int_equal(err.stage, STK_STAGE_DECODE);
    assert_string_equal(err.text, "row 212 of 375");
    assert_string_equal(err.source, "a/b.tar");
    assert_string_equal(err.shard, "b.tar");
    assert_string_equal(err.key, "n0144");
    assert_string_equal(err.field, "jpg");
    assert_true(err.has_offset);
    assert_int_equal(err.offset, 1024); /* shifted once, by who knew the source */
    assert_int_equal(err.sample, 11);
    needed = stk_error_format(&err, line, sizeof line);
    assert_int_equal(needed, strlen(line));
    assert_string_equal(
        line, "row 212 of 375 (b.tar, sample n0144, field jpg, byte 1,024, stage decode)");
}

static void success_and_null_are_left_alone(void **state)
{
    const stk__place place = {.stage = STK_STAGE_READ, .source = "a.tar"};
    const stk_error untouched = STK_ERROR_INIT;
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(stk__error_in(STK_OK, &place, &err), STK_OK);
    assert_int_equal(stk__error_in(STK_END, &place, &err), STK_END);
    assert_memory_equal(&err, &untouched, sizeof err);
    assert_int_equal(STK_FAIL(NULL, STK_EINVAL, "%d", 1), STK_EINVAL);
    assert_int_equal(STK_FAIL_AT(NULL, STK_EINVAL, 3, "%d", 1), STK_EINVAL);
    assert_int_equal(STK_FAIL_OS(NULL, STK_ESOURCE, 5, "%d", 1), STK_ESOURCE);
    assert_int_equal(stk__error_in(STK_EINVAL, &place, NULL), STK_EINVAL);
}

static void a_new_failure_drops_the_old_one(void **state)
{
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(STK_FAIL_AT(&err, STK_ECORRUPT, 24, "the first"), STK_ECORRUPT);
    err.sample = 5;
    strcpy(err.key, "old");
    assert_int_equal(STK_FAIL(&err, STK_EBUDGET, "after: %s", err.text), STK_EBUDGET);
    assert_string_equal(err.text, "after: the first"); /* its own text may be an argument */
    assert_false(err.has_offset);
    assert_int_equal(err.sample, UINT64_MAX);
    assert_string_equal(err.key, "");
}

static void system_errors_say_why(void **state)
{
    stk_error err = STK_ERROR_INIT;
    char line[600];
    (void)state;

    assert_int_equal(STK_FAIL_OS(&err, STK_ESOURCE, 2, "could not open it"), STK_ESOURCE);
    assert_int_equal(err.os_errno, 2);
    assert_string_equal(err.text, "could not open it: no such file or folder");
    stk_error_format(&err, line, sizeof line);
    assert_string_equal(line, "could not open it: no such file or folder"); /* no place, no () */
}

static void texts_are_cut_and_never_overrun(void **state)
{
    char longest[2000], line[64];
    stk_error err = STK_ERROR_INIT;
    stk__place place = {.source = longest, .shard = longest};
    (void)state;

    memset(longest, 'x', sizeof longest);
    memcpy(longest + sizeof longest - 6, "Z.tar", 6);
    place.key = (stk_view){longest, sizeof longest - 1};
    place.field = place.key;
    assert_int_equal(STK_FAIL_OS(&err, STK_ESOURCE, 2, "%s", longest), STK_ESOURCE);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(stk__error_in(STK_ESOURCE, &place, &err), STK_ESOURCE);
    assert_int_equal(strlen(err.source), sizeof err.source - 1);
    assert_int_equal(strncmp(err.source, "...xxx", 6), 0);
    assert_string_equal(err.source + sizeof err.source - 6, "Z.tar"); /* the tail tells */
    assert_string_equal(err.shard + sizeof err.shard - 6, "Z.tar");
    assert_int_equal(strlen(err.key), sizeof err.key - 1);
    assert_int_equal(strlen(err.field), sizeof err.field - 1);

    memset(line, 'q', sizeof line);
    assert_true(stk_error_format(&err, line, 20) > 256);
    assert_int_equal(strlen(line), 19);
    assert_int_equal(line[20], 'q');
    assert_true(stk_error_format(&err, NULL, 0) > 256); /* asking for the size alone */
}

/* A cut never leaves half a character, which would not decode as UTF-8. */
static void cuts_fall_between_characters(void **state)
{
    char text[2000];
    (void)state;

    for (size_t shift = 0; shift < 4; shift++) {
        stk_error err = STK_ERROR_INIT;
        stk__place place = {.source = text};
        size_t used = 0;

        memset(text, 'a', shift);
        for (used = shift; used + 4 < sizeof text; used += 3)
            memcpy(text + used, "\xe2\x82\xac", 3);
        text[used] = '\0';
        place.key = (stk_view){text, used};
        assert_int_equal(STK_FAIL(&err, STK_EINVAL, "x"), STK_EINVAL);
        assert_int_equal(stk__error_in(STK_EINVAL, &place, &err), STK_EINVAL);
        assert_int_equal((strlen(err.key) - shift) % 3, 0);
        assert_true(strlen(err.key) >= sizeof err.key - 3);
        assert_int_equal((unsigned char)err.source[3], 0xe2);
        assert_true(strlen(err.source) >= sizeof err.source - 3);
    }
}

static void urls_lose_what_may_be_secret(void **state)
{
    static const struct {
        const char *given, *kept;
    } cases[] = {
        {"https://user:pa:ss@host.example/a/b.tar?sig=secret#x", "https://host.example/a/b.tar"},
        {"s3://key:secret@bucket/train.tar", "s3://bucket/train.tar"},
        {"https://a@b:c@host/x@y.tar", "https://host/x@y.tar"},
        {"https://host?token=1", "https://host"},
        {"http://", "http://"},
        {"/data/what?/a@b.tar", "/data/what?/a@b.tar"},
        {"./odd dir://a@b?c", "./odd dir://a@b?c"},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const stk__place place = {.source = cases[i].given};
        stk_error err = STK_ERROR_INIT;

        assert_int_equal(STK_FAIL(&err, STK_ESOURCE, "x"), STK_ESOURCE);
        assert_int_equal(stk__error_in(STK_ESOURCE, &place, &err), STK_ESOURCE);
        assert_string_equal(err.source, cases[i].kept);
    }
}

static void a_long_url_keeps_its_tail_and_no_secret(void **state)
{
    char url[1600] = "https://user:secret@host/";
    const stk__place place = {.source = url};
    stk_error err = STK_ERROR_INIT;
    (void)state;

    memset(url + strlen(url), 'd', 1400);
    strcat(url, "/b.tar?secret");
    assert_int_equal(STK_FAIL(&err, STK_ESOURCE, "x"), STK_ESOURCE);
    assert_int_equal(stk__error_in(STK_ESOURCE, &place, &err), STK_ESOURCE);
    assert_null(strstr(err.source, "secret"));
    assert_string_equal(err.source + strlen(err.source) - 6, "/b.tar");
}

/* A name out of an archive must not move the cursor of a terminal or begin a second line. */
static void the_line_stays_one_line(void **state)
{
    const stk__place place = {.shard = "a\nb", .key = {"k\x1b[31m\x7f", 7}};
    stk_error err = STK_ERROR_INIT;
    char line[200];
    (void)state;

    assert_int_equal(STK_FAIL(&err, STK_EINVAL, "bad \r\n text"), STK_EINVAL);
    assert_int_equal(stk__error_in(STK_EINVAL, &place, &err), STK_EINVAL);
    stk_error_format(&err, line, sizeof line);
    assert_string_equal(line, "bad ?? text (a?b, sample k?[31m?)");
    assert_string_equal(err.shard, "a\nb"); /* as it is stored */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_have_their_names_for_ever),
        cmocka_unit_test(a_cure_goes_by_what_is_known),
        cmocka_unit_test(fills_what_is_empty_and_rewrites_nothing),
        cmocka_unit_test(success_and_null_are_left_alone),
        cmocka_unit_test(a_new_failure_drops_the_old_one),
        cmocka_unit_test(system_errors_say_why),
        cmocka_unit_test(texts_are_cut_and_never_overrun),
        cmocka_unit_test(cuts_fall_between_characters),
        cmocka_unit_test(urls_lose_what_may_be_secret),
        cmocka_unit_test(a_long_url_keeps_its_tail_and_no_secret),
        cmocka_unit_test(the_line_stays_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Without these: a build draws other crops than docs/draws.md says, and a resumed run augments its
 * samples anew. */
#include "base/philox.h"
#include "transform/det_math.h"
#include "transform/image_laws.h"
#include "vectors.h"

static stk__draws draws_of(const char *line, uint64_t sample)
{
    return (stk__draws){vector_number(line, "seed"), vector_number(line, "epoch"), sample,
        vector_number(line, "number"), 0};
}

static void reals(const char *line, const char *field, double *values, int count)
{
    const char *text = vector_value(line, field);

    for (int i = 0; i < count; i++) {
        char *end;

        values[i] = strtod(text, &end);
        assert_ptr_not_equal(end, text);
        text = end + 1;
    }
}

static int64_t take(const char **text)
{
    char *end;
    int64_t number = strtoll(*text, &end, 0);

    assert_ptr_not_equal(end, *text);
    *text = end + 1;
    return number;
}

static void check_draw(const char *line)
{
    const char *text = vector_answer(line);
    stk__draws draws = draws_of(line, vector_number(line, "sample"));
    stk__draws same = draws;

    for (uint64_t i = vector_number(line, "count"); i > 0; i--) {
        uint64_t word = strtoull(text, NULL, 0);
        uint64_t bound = 1 + (word >> 20);

        text = strchr(text, '0') + 19;
        assert_true(stk__draws_unit(&draws) == (double)(word >> 11) * 0x1p-53);
        assert_int_equal(stk__draws_below(&same, bound), stk__below(word, bound));
    }
}

static void check_function(const char *line, double (*function)(double))
{
    double x, want = strtod(vector_answer(line), NULL), got;

    reals(line, "x", &x, 1);
    got = function(x);
    assert_memory_equal(&got, &want, sizeof want);
}

static void check_crop(const char *line)
{
    stk_transform t = STK_TRANSFORM_INIT;
    const char *text = vector_answer(line);

    reals(line, "scale", t.scale, 2);
    reals(line, "ratio", t.ratio, 2);
    for (uint64_t sample = 0; sample < vector_number(line, "samples"); sample++) {
        stk__draws draws = draws_of(line, sample);
        stk_rect rect = stk__law_random_resized_crop(&t, (uint32_t)vector_number(line, "width"),
            (uint32_t)vector_number(line, "height"), &draws);

        assert_int_equal(rect.left, take(&text));
        assert_int_equal(rect.top, take(&text));
        assert_int_equal(rect.width, take(&text));
        assert_int_equal(rect.height, take(&text));
    }
}

static void check_window(const char *line)
{
    stk_transform t = STK_TRANSFORM_INIT;
    const char *text = vector_answer(line), *crop = vector_value(line, "crop");
    const char *padding = vector_value(line, "padding");

    t.width = (uint32_t)take(&crop);
    t.height = (uint32_t)take(&crop);
    for (int side = 0; side < 4; side++)
        t.padding[side] = (uint32_t)take(&padding);
    t.pad_if_needed = vector_number(line, "if_needed") != 0;
    for (uint64_t sample = 0; sample < vector_number(line, "samples"); sample++) {
        stk__draws draws = draws_of(line, sample);
        stk__window window = stk__law_random_crop(&t, (uint32_t)vector_number(line, "width"),
            (uint32_t)vector_number(line, "height"), &draws);

        assert_int_equal(window.left, take(&text));
        assert_int_equal(window.top, take(&text));
        assert_int_equal(window.width, t.width);
        assert_int_equal(window.height, t.height);
    }
}

static void check_flip(const char *line)
{
    stk_transform t = STK_TRANSFORM_INIT;
    const char *text = vector_answer(line);

    reals(line, "p", &t.probability, 1);
    for (uint64_t sample = 0; sample < vector_number(line, "samples"); sample++) {
        stk__draws draws = draws_of(line, sample);

        assert_int_equal(stk__law_flip(&t, &draws), take(&text));
        assert_int_equal(draws.next, 1);
    }
}

static void check(const char *line)
{
    if (vector_named(line, "draw"))
        check_draw(line);
    else if (vector_named(line, "log"))
        check_function(line, stk__log);
    else if (vector_named(line, "exp"))
        check_function(line, stk__exp);
    else if (vector_named(line, "crop"))
        check_crop(line);
    else if (vector_named(line, "window"))
        check_window(line);
    else if (vector_named(line, "flip"))
        check_flip(line);
    else
        fail_msg("a vector of no kind: %s", line);
}

static void gives_the_vectors_of_the_specification(void **state)
{
    (void)state;

    assert_true(each_vector(STK_TEST_SOURCE_DIR "/docs/draws.md", check) >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_vectors_of_the_specification),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Without these: a build computes another order than docs/order.md says, and a state saved by one
 * machine goes on with other samples on the next. */
#include "base/philox.h"
#include "sampler/order.h"
#include "sampler/permute.h"
#include "sampler/ranks.h"
#include "support/test.h"

enum { LINE_BYTES = 1024, LIST_MAX = 64 };

/* A list of numbers in a vector. */
typedef struct list {
    uint64_t number[LIST_MAX];
    size_t count;
} list;

/* Where the value of a field begins: "seed" in "permute n=10 seed=7: ..." */
static const char *value_of(const char *line, const char *field)
{
    char pattern[32];
    const char *found;

    snprintf(pattern, sizeof pattern, " %s=", field);
    found = strstr(line, pattern);
    if (found == NULL)
        fail_msg("no %s in: %s", field, line);
    return found + strlen(pattern);
}

static uint64_t number_of(const char *line, const char *field)
{
    return strtoull(value_of(line, field), NULL, 0);
}

/* Numbers from `text` on with `gap` between them, to the end of the word or line. */
static list numbers(const char *text, char gap)
{
    list l = {.count = 0};
    char *end;

    for (;; text = end + 1) {
        assert_true(l.count < LIST_MAX);
        l.number[l.count++] = strtoull(text, &end, 0);
        assert_ptr_not_equal(end, text);
        if (*end != gap)
            return l;
    }
}

static list doubles(const char *text, double *weights)
{
    list l = {.count = 0};
    char *end;

    for (;; text = end + 1) {
        assert_true(l.count < LIST_MAX);
        weights[l.count++] = strtod(text, &end);
        if (*end != ',')
            return l;
    }
}

static const char *answer_of(const char *line)
{
    const char *colon = strchr(line, ':');

    assert_non_null(colon);
    assert_int_equal(colon[1], ' ');
    return colon + 2;
}

static void check_philox(const char *line)
{
    list key = numbers(value_of(line, "key"), ','), c = numbers(value_of(line, "counter"), ',');
    list want = numbers(answer_of(line), ' ');
    stk__philox_block block = stk__philox(
        key.number[0], key.number[1], c.number[0], c.number[1], c.number[2], c.number[3]);

    assert_int_equal(want.count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(block.word[i], want.number[i]);
}

static void check_permute(const char *line)
{
    list at = numbers(value_of(line, "at"), ','), want = numbers(answer_of(line), ' ');
    stk__permute permute;

    stk__permute_init(&permute, number_of(line, "n"), number_of(line, "seed"),
        number_of(line, "epoch"), number_of(line, "stream"));
    assert_int_equal(at.count, want.count);
    for (size_t i = 0; i < at.count; i++) {
        assert_int_equal(stk__permute_at(&permute, at.number[i]), want.number[i]);
        assert_int_equal(stk__permute_find(&permute, want.number[i]), at.number[i]);
    }
}

/* The positions of `at` in the order of a vector, from a fresh epoch and from one that was used. */
static void check_order(const char *line, const stk__order_spec *spec)
{
    list at = numbers(value_of(line, "at"), ','), want = numbers(answer_of(line), ' ');
    stk__heap heap = {0};
    stk__order *order = NULL;
    stk__epoch *epoch = NULL;

    assert_int_equal(stk__order_new(&heap, spec, &order, NULL), STK_OK);
    assert_int_equal(stk__epoch_new(&heap, order, &epoch, NULL), STK_OK);
    assert_int_equal(at.count, want.count);
    for (int again = 0; again < 2; again++) {
        stk__epoch_set(epoch, number_of(line, "epoch"));
        for (size_t i = 0; i < at.count; i++)
            assert_int_equal(stk__epoch_at(epoch, at.number[i]), want.number[i]);
        for (size_t i = at.count; i-- > 0;) /* backwards, too: no position leans on the last one */
            assert_int_equal(stk__epoch_at(epoch, at.number[i]), want.number[i]);
        stk__epoch_set(epoch, 77);
        assert_true(stk__epoch_at(epoch, 0) < spec->count);
    }
    stk__epoch_free(epoch);
    stk__order_free(order);
    assert_int_equal(heap.used_bytes, 0);
}

static void check_shards(const char *line)
{
    list starts = numbers(value_of(line, "starts"), ',');
    const stk__order_spec spec = {
        .kind = STK__ORDER_SHARDS,
        .count = starts.number[starts.count - 1],
        .seed = number_of(line, "seed"),
        .shard_starts = starts.number,
        .shard_count = (uint32_t)starts.count - 1,
        .window = (uint32_t)number_of(line, "window"),
    };

    check_order(line, &spec);
}

static void check_weighted(const char *line)
{
    double weights[LIST_MAX];
    list l = doubles(value_of(line, "weights"), weights);
    const stk__order_spec spec = {
        .kind = STK__ORDER_WEIGHTED,
        .count = l.count,
        .seed = number_of(line, "seed"),
        .weights = weights,
    };

    check_order(line, &spec);
}

static void check_weights_hash(const char *line)
{
    double weights[LIST_MAX];
    list l = doubles(value_of(line, "weights"), weights);
    const stk__order_spec spec = {
        .kind = STK__ORDER_WEIGHTED, .count = l.count, .weights = weights};
    stk__heap heap = {0};
    stk__order *order = NULL;

    assert_int_equal(stk__order_new(&heap, &spec, &order, NULL), STK_OK);
    assert_int_equal(stk__order_weights_hash(order), strtoull(answer_of(line), NULL, 0));
    stk__order_free(order);
}

static stk__tail_kind tail_of(const char *line)
{
    const char *tail = value_of(line, "tail");

    if (strncmp(tail, "drop", 4) == 0)
        return STK__TAIL_DROP;
    return strncmp(tail, "wrap", 4) == 0 ? STK__TAIL_WRAP : STK__TAIL_SHORT;
}

/* Write the steps of a rank as the vectors have them. */
static void check_ranks(const char *line)
{
    const stk__ranks ranks = {
        .count = number_of(line, "count"),
        .batch = (uint32_t)number_of(line, "batch"),
        .rank = (uint32_t)number_of(line, "rank"),
        .world = (uint32_t)number_of(line, "world"),
        .tail = tail_of(line),
    };
    char got[LINE_BYTES] = "";
    uint64_t nth = 0;

    for (uint64_t step = 0; step < stk__ranks_steps(&ranks); step++) {
        stk__slice slice = stk__ranks_slice(&ranks, step);
        size_t used = strlen(got);

        for (uint32_t i = 0; i < slice.count; i++, nth++) {
            uint64_t position = (slice.first + i) % ranks.count;

            assert_int_equal(stk__ranks_position(&ranks, nth), position);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%llu",
                i > 0      ? ","
                : step > 0 ? " "
                           : "",
                (unsigned long long)position);
        }
        if (strlen(got) == used)
            snprintf(got + used, sizeof got - used, "%s-", step > 0 ? " " : "");
    }
    assert_int_equal(nth, stk__ranks_total(&ranks));
    assert_string_equal(got, answer_of(line));
}

static void check_substitute(const char *line)
{
    const stk__order_spec spec = {
        .kind = STK__ORDER_NONE,
        .count = number_of(line, "count"),
        .seed = number_of(line, "seed"),
    };
    list want = numbers(answer_of(line), ' ');
    stk__heap heap = {0};
    stk__order *order = NULL;

    assert_int_equal(stk__order_new(&heap, &spec, &order, NULL), STK_OK);
    assert_int_equal(want.count, number_of(line, "attempts"));
    for (uint32_t i = 0; i < want.count; i++)
        assert_int_equal(
            stk__order_substitute(order, number_of(line, "epoch"), number_of(line, "sample"), i),
            want.number[i]);
    stk__order_free(order);
}

static const struct {
    const char *name;
    void (*check)(const char *line);
    int at_least; /* vectors of it that the document must have */
} kinds[] = {
    {"philox", check_philox, 3},
    {"permute", check_permute, 15},
    {"shards", check_shards, 5},
    {"weighted", check_weighted, 4},
    {"weights_hash", check_weights_hash, 3},
    {"ranks", check_ranks, 12},
    {"substitute", check_substitute, 2},
};

static void all_vectors_of_the_document_hold(void **state)
{
    int seen[COUNT_OF(kinds)] = {0};
    char line[LINE_BYTES];
    bool inside = false;
    FILE *document = fopen(STK_TEST_SOURCE_DIR "/docs/order.md", "r");
    (void)state;

    assert_non_null(document);
    while (fgets(line, sizeof line, document) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "```", 3) == 0)
            inside = strcmp(line, "```vectors") == 0;
        for (size_t i = 0; inside && i < COUNT_OF(kinds); i++) {
            size_t length = strlen(kinds[i].name);
            if (strncmp(line, kinds[i].name, length) == 0 && line[length] == ' ') {
                kinds[i].check(line);
                seen[i]++;
            }
        }
    }
    fclose(document);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        assert_true(seen[i] >= kinds[i].at_least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_vectors_of_the_document_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

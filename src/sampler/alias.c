/* The alias table: see alias.h, and docs/order.md for the specification. */
#include "sampler/alias.h"

#include <math.h>

#include "base/error.h"
#include "base/philox.h"

__extension__ typedef unsigned __int128 u128;

/* Weights become whole numbers below 2^52, relative to the largest. */
#define WEIGHT_BITS 52

/* What is needed while the table is made. */
typedef struct workshop {
    u128 *amounts;         /* left of each column's own weight, times the number of columns */
    uint32_t *queue;       /* columns below the mean from the front, the others from the back */
    uint64_t small, large; /* how many of each */
    u128 mean;             /* what each column holds */
} workshop;

static stk_status check(const double *weights, uint64_t count, double *most_out, stk_error *err)
{
    double most = 0;

    if (count == 0 || count > STK__ALIAS_MAX)
        return STK_FAIL(err, STK_EINVAL, "%llu weights were given; 1 to 2^32 can be drawn from",
            (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(weights[i]) || weights[i] < 0)
            return STK_FAIL(err, STK_EINVAL,
                "weight %llu is %s; it must be finite and not negative", (unsigned long long)i,
                isfinite(weights[i]) ? "negative" : "not finite");
        if (weights[i] > most)
            most = weights[i];
    }
    if (most == 0)
        return STK_FAIL(
            err, STK_EINVAL, "every one of %llu weights is 0", (unsigned long long)count);
    *most_out = most;
    return STK_OK;
}

static void push(workshop *shop, uint64_t count, uint64_t column)
{
    if (shop->amounts[column] < shop->mean)
        shop->queue[shop->small++] = (uint32_t)column;
    else
        shop->queue[count - ++shop->large] = (uint32_t)column;
}

/* Scale the weights to whole numbers and part the columns. */
static void part(workshop *shop, const double *weights, uint64_t count, double most)
{
    int exponent;

    STK_IGNORE(frexp(most, &exponent) < 0); /* only the exponent is wanted */
    for (uint64_t i = 0; i < count; i++) {
        uint64_t whole = (uint64_t)ldexp(weights[i], WEIGHT_BITS - exponent);

        shop->mean += whole;
        shop->amounts[i] = (u128)whole * count;
    }
    for (uint64_t i = 0; i < count; i++)
        push(shop, count, i);
}

/* amount / mean as a fraction of 2^64, cut; amount is below the mean. */
static uint64_t threshold(u128 amount, u128 mean)
{
    while (mean >> 63 != 0) {
        amount >>= 1;
        mean >>= 1;
    }
    return amount < mean ? (uint64_t)((amount << 64) / mean) : UINT64_MAX;
}

/* Fill every small column up from a large one; the amounts are exact, so the last ones fit. */
static void deal(stk__alias *alias, workshop *shop)
{
    while (shop->small > 0 && shop->large > 0) {
        uint32_t small = shop->queue[--shop->small];
        uint32_t large = shop->queue[alias->count - shop->large--];

        alias->thresholds[small] = threshold(shop->amounts[small], shop->mean);
        alias->others[small] = large;
        shop->amounts[large] -= shop->mean - shop->amounts[small];
        push(shop, alias->count, large);
    }
    for (; shop->large > 0; shop->large--) { /* exactly full */
        uint32_t large = shop->queue[alias->count - shop->large];

        alias->thresholds[large] = UINT64_MAX;
        alias->others[large] = large;
    }
}

stk_status stk__alias_init(
    stk__alias *alias, stk__heap *heap, const double *weights, uint64_t count, stk_error *err)
{
    workshop shop = {0};
    double most;
    stk_status st;

    st = check(weights, count, &most, err);
    if (st < 0)
        return st;
    alias->heap = heap;
    alias->count = count;
    alias->thresholds = stk__heap_alloc(heap, (size_t)count, sizeof *alias->thresholds);
    alias->others = stk__heap_alloc(heap, (size_t)count, sizeof *alias->others);
    shop.amounts = stk__heap_alloc(heap, (size_t)count, sizeof *shop.amounts);
    shop.queue = stk__heap_alloc(heap, (size_t)count, sizeof *shop.queue);
    if (alias->thresholds == NULL || alias->others == NULL || shop.amounts == NULL ||
        shop.queue == NULL) {
        st = STK_FAIL(
            err, STK_ENOMEM, "no memory for a table of %llu weights", (unsigned long long)count);
        goto out;
    }
    part(&shop, weights, count, most);
    deal(alias, &shop);
out:
    stk__heap_free(heap, shop.queue, (size_t)count, sizeof *shop.queue);
    stk__heap_free(heap, shop.amounts, (size_t)count, sizeof *shop.amounts);
    if (st < 0)
        stk__alias_fini(alias);
    return st;
}

void stk__alias_fini(stk__alias *alias)
{
    if (alias->heap == NULL)
        return;
    stk__heap_free(alias->heap, alias->others, (size_t)alias->count, sizeof *alias->others);
    stk__heap_free(alias->heap, alias->thresholds, (size_t)alias->count, sizeof *alias->thresholds);
    *alias = (stk__alias){0};
}

uint64_t stk__alias_draw(const stk__alias *alias, uint64_t word0, uint64_t word1)
{
    uint64_t column = stk__below(word0, alias->count);

    return word1 < alias->thresholds[column] ? column : alias->others[column];
}

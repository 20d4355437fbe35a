/* Random input for each kernel, given to two tables: all bytes must agree, guards included. */
#ifndef STK_KERNEL_CHECK_H
#define STK_KERNEL_CHECK_H

#include "os/cpu.h"
#include "support/test.h"
#include "transform/kernels/kernels.h"

enum {
    GUARD = 64,
    SKIPPED = 77, /* exit status: the processor lacks the instructions */
};

/* Memory of exactly `size` bytes, full of noise; a sanitizer sees one byte too far. */
static inline uint8_t *noise(rng *r, size_t size)
{
    uint8_t *memory = malloc(size > 0 ? size : 1);

    assert_non_null(memory);
    rng_fill(r, memory, size);
    return memory;
}

/* A part of every second byte extreme, so that sums reach their ends. */
static inline void sharpen(rng *r, uint8_t *bytes, size_t size)
{
    if (rng_below(r, 2) == 0) {
        for (size_t i = 0; i < size; i++)
            bytes[i] = bytes[i] < 128 ? 0 : 255;
    }
}

typedef struct random_taps {
    stk__taps taps;
    uint32_t *first;
    int16_t *weight;
} random_taps;

/* Any weights whose sums of magnitudes stay below 2^23: times 255, and below 2^31. */
static inline void fill_weights(rng *r, int16_t *weight, size_t outputs, uint32_t per)
{
    for (size_t i = 0; i < outputs * per; i++) {
        uint32_t most = per <= 128 ? 32767u : (1u << 22) / per;

        weight[i] = (int16_t)((int32_t)rng_below(r, 2 * most + 1) - (int32_t)most);
    }
}

static inline random_taps make_taps(rng *r)
{
    random_taps t;
    uint32_t count = 1 + (uint32_t)rng_below(r, 90), per = 2 + 2 * (uint32_t)rng_below(r, 6);
    uint32_t step = (uint32_t)rng_below(r, 5), inputs, at = 0;
    bool falls = rng_below(r, 2) > 0;

    if (rng_below(r, 3) == 0)
        per = 4;
    inputs = per + step * count / 2 + (uint32_t)rng_below(r, 9);
    t.first = (uint32_t *)(void *)noise(r, count * sizeof *t.first + STK__ROW_SLACK);
    t.weight = (int16_t *)(void *)noise(r, count * per * sizeof *t.weight + STK__ROW_SLACK);
    fill_weights(r, t.weight, count, per);
    t.taps = (stk__taps){.count = count,
        .inputs = inputs,
        .per = per,
        .precision = 14 + (uint32_t)rng_below(r, 9),
        .first = t.first,
        .weight = t.weight};
    for (uint32_t i = 0; i < count; i++) {
        at += (uint32_t)rng_below(r, step + 1);
        at = at + per <= inputs ? at : inputs - per;
        t.first[falls ? count - 1 - i : i] = at;
    }
    for (uint32_t i = 0; i + 3 < count; i++) {
        uint32_t a = t.first[i], b = t.first[i + 3], apart = a < b ? b - a : a - b;

        t.taps.spread = apart > t.taps.spread ? apart : t.taps.spread;
    }
    return t;
}

static inline void check_horizontal(rng *r, const stk__kernels *want, const stk__kernels *got)
{
    random_taps t = make_taps(r);
    uint32_t rows = 1 + (uint32_t)rng_below(r, STK__ROWS_AT_ONCE);
    size_t bytes = (size_t)t.taps.count * 3;
    uint8_t *src[STK__ROWS_AT_ONCE], *a[STK__ROWS_AT_ONCE], *b[STK__ROWS_AT_ONCE];
    const uint8_t *from[STK__ROWS_AT_ONCE];

    for (uint32_t row = 0; row < rows; row++) {
        from[row] = src[row] = noise(r, (size_t)t.taps.inputs * 4);
        sharpen(r, src[row], (size_t)t.taps.inputs * 4);
        a[row] = noise(r, bytes + STK__ROW_SLACK);
        b[row] = noise(r, bytes + STK__ROW_SLACK);
    }
    want->horizontal(a, from, rows, &t.taps);
    got->horizontal(b, from, rows, &t.taps);
    for (uint32_t row = 0; row < rows; row++) {
        assert_memory_equal(b[row], a[row], bytes);
        free(src[row]);
        free(a[row]);
        free(b[row]);
    }
    free(t.first);
    free(t.weight);
}

static inline void check_vertical(rng *r, const stk__kernels *want, const stk__kernels *got)
{
    enum { MOST = 14 };

    uint32_t taps = 2 + 2 * (uint32_t)rng_below(r, MOST / 2);
    uint32_t precision = 14 + (uint32_t)rng_below(r, 9);
    size_t bytes = 1 + rng_below(r, 400);
    const uint8_t *rows[MOST];
    uint8_t *memory[MOST], *a = noise(r, bytes), *b = noise(r, bytes);
    int16_t weight[MOST];

    for (uint32_t t = 0; t < taps; t++) {
        rows[t] = memory[t] = noise(r, bytes + STK__ROW_SLACK);
        sharpen(r, memory[t], bytes);
    }
    fill_weights(r, weight, 1, taps);
    want->vertical(a, rows, weight, taps, bytes, precision);
    got->vertical(b, rows, weight, taps, bytes, precision);
    assert_memory_equal(b, a, bytes);
    for (uint32_t t = 0; t < taps; t++)
        free(memory[t]);
    free(a);
    free(b);
}

static inline void check_convert(
    rng *r, stk__convert_fn *want, stk__convert_fn *got, size_t src_pixel, size_t dst_pixel)
{
    size_t count = rng_below(r, 120);
    uint8_t *src = noise(r, count * src_pixel), *a = noise(r, count * dst_pixel);
    uint8_t *b = noise(r, count * dst_pixel);

    want(a, src, count);
    got(b, src, count);
    assert_memory_equal(b, a, count * dst_pixel);
    free(src);
    free(a);
    free(b);
}

static inline void check_planes(rng *r, const stk__kernels *want, const stk__kernels *got)
{
    size_t count = rng_below(r, 200);
    uint8_t *src = noise(r, count * 3 + STK__ROW_SLACK), *a[3], *b[3];

    for (int c = 0; c < 3; c++) {
        a[c] = noise(r, count);
        b[c] = noise(r, count);
    }
    want->planes(a[0], a[1], a[2], src, count);
    got->planes(b[0], b[1], b[2], src, count);
    for (int c = 0; c < 3; c++) {
        assert_memory_equal(b[c], a[c], count);
        free(a[c]);
        free(b[c]);
    }
    free(src);
}

static inline void check_values(rng *r, stk__values_fn *want, stk__values_fn *got, size_t size)
{
    size_t count = rng_below(r, 400);
    uint8_t *src = noise(r, count), *a = noise(r, count * size), *b = noise(r, count * size);
    stk__values values = {.plain = rng_below(r, 3) == 0};

    for (int i = 0; i < STK__VALUE_PERIOD; i++) {
        values.mean[i] = rng_float(r, -1, 1);
        values.std[i] = rng_float(r, -1, 1) * (rng_below(r, 4) ? 1 : 1e-5f);
        values.std[i] = values.std[i] != 0 ? values.std[i] : 1e-40f; /* values past every type */
    }
    want(a, src, count, &values);
    got(b, src, count, &values);
    assert_memory_equal(b, a, count * size);
    free(src);
    free(a);
    free(b);
}

/* The filters of random axes, as doubles bit for bit, and their rounding. */
static inline void check_weights(rng *r, const stk__kernels *want, const stk__kernels *got)
{
    uint32_t outputs = 1 + (uint32_t)rng_below(r, 60), most = 1 + (uint32_t)rng_below(r, 9);
    uint32_t precision = 14 + (uint32_t)rng_below(r, 9), per = (most + 1) & ~1u;
    size_t count = (size_t)outputs * most;
    uint32_t *first = calloc(outputs, sizeof *first), *taps = calloc(outputs, sizeof *taps);
    double *a = calloc(count, sizeof *a), *b = calloc(count, sizeof *b);
    double *total = calloc(outputs, sizeof *total), largest;
    int16_t *weight_a = calloc(outputs * per, sizeof *weight_a);
    int16_t *weight_b = calloc(outputs * per, sizeof *weight_b);
    stk__axis_build build = {.outputs = outputs, .most = most, .first = first, .taps = taps};
    bool cubic = rng_below(r, 2) > 0;

    assert_true(first && taps && a && b && total && weight_a && weight_b);
    build.scale = (double)rng_float(r, 0.1f, (float)most / 2);
    build.inputs = (uint32_t)(build.scale * outputs) + most;
    build.total = total;
    for (uint32_t i = 0; i < outputs; i++) { /* taps around the centre, as an axis has them */
        uint32_t centre = (uint32_t)(build.scale * (i + 0.5));

        taps[i] = 1 + (uint32_t)rng_below(r, most);
        first[i] = centre - (taps[i] > 2 && centre > 0 ? 1 : 0);
    }
    build.exact = a;
    largest = want->filter(&build, cubic);
    want->round(&build, precision, weight_a, per);
    build.exact = b;
    assert_true(got->filter(&build, cubic) == largest);
    assert_memory_equal(b, a, count * sizeof *a);
    got->round(&build, precision, weight_b, per);
    assert_memory_equal(weight_b, weight_a, (size_t)outputs * per * sizeof *weight_a);
    free(first);
    free(taps);
    free(a);
    free(b);
    free(total);
    free(weight_a);
    free(weight_b);
}

#endif

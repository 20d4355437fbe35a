/*
 * The inner loops of image transforms.
 *
 * A table of functions, filled once for a processor. The scalar twins (*_scalar.c) are the
 * specification; the others give the same bits. Kernels allocate nothing and keep nothing.
 *
 * Pixels are 8-bit: RGBX has 4 bytes, the fourth of which may be anything; RGB has 3. A row that a
 * kernel may overrun has STK__ROW_SLACK bytes more than its pixels, as said beside each.
 */
#ifndef STK__KERNELS_H
#define STK__KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STK__ROW_SLACK = 64,    /* bytes behind a row that may be read and written */
    STK__ROWS_AT_ONCE = 4,  /* rows of one horizontal call, at most */
    STK__VALUE_PERIOD = 48, /* mean and std repeat after so many values: 3 channels, 16 lanes */
};

/*
 * How the outputs of one axis come from its inputs: each is the sum of `per` inputs from
 * first[output] on, times weight[output * per ...], plus one half, shifted down by precision and
 * clipped to 0 to 255. |sums| stay below 2^31.
 */
typedef struct stk__taps {
    uint32_t count;        /* outputs */
    uint32_t inputs;       /* every first + per is at most this */
    uint32_t per;          /* inputs of each output, even; weights past the taps are 0 */
    uint32_t precision;    /* 1 to 22 */
    uint32_t spread;       /* the most that first changes by over three outputs */
    const uint32_t *first; /* count of them, never falling or never rising; STK__ROW_SLACK bytes
                              behind them may be read */
    const int16_t *weight; /* count * per; STK__ROW_SLACK bytes behind them may be read */
} stk__taps;

/*
 * One axis of an antialiased resampling while its weights are made: exact[tap * outputs + i] is the
 * weight of tap number `tap` of output i, before rounding.
 */
typedef struct stk__axis_build {
    uint32_t inputs, outputs;
    uint32_t most;         /* taps of an output, at most */
    double scale;          /* inputs per output */
    const uint32_t *first; /* first input of each output */
    const uint32_t *taps;  /* inputs of each output, 1 to most */
    double *exact;         /* most * outputs */
    double *total;         /* outputs; scratch */
} stk__axis_build;

/* Make b->exact: the filter (triangle, or Keys' cubic with a = -0.5) at each tap, divided by the
 * sum over the output's taps, which are added up in order; 0 past an output's taps. Returns the
 * largest weight. */
typedef double stk__filter_fn(const stk__axis_build *b, bool cubic);

/* To integers: exact * 2^precision, halves away from 0, at weight[i * per + tap]; 0 from tap `most`
 * to `per`. */
typedef void stk__round_fn(
    const stk__axis_build *b, uint32_t precision, int16_t *weight, uint32_t per);

/* Rows 0 to `rows` of RGBX are resampled to RGB of taps->count pixels. Source rows are read inside
 * taps->inputs pixels only; destination rows have slack. 1 <= rows <= STK__ROWS_AT_ONCE. */
typedef void stk__horizontal_fn(
    uint8_t *const *dst, const uint8_t *const *src, uint32_t rows, const stk__taps *taps);

/* One row from `taps` rows of `bytes` bytes each: dst[i] is the sum of rows[t][i] * weight[t].
 * taps is even. Writes exactly `bytes` bytes; rows are read inside `bytes` and their slack. */
typedef void stk__vertical_fn(uint8_t *dst, const uint8_t *const *rows, const int16_t *weight,
    uint32_t taps, size_t bytes, uint32_t precision);

/* RGB to RGBX (X is 255) or back; reads and writes exactly `count` pixels of each. pack_reversed
 * makes the last pixel the first. */
typedef void stk__convert_fn(uint8_t *dst, const uint8_t *src, size_t count);

/* RGB into three planes of `count` bytes each, exactly; src has slack. */
typedef void stk__planes_fn(
    uint8_t *red, uint8_t *green, uint8_t *blue, const uint8_t *src, size_t count);

/* What becomes of a byte x: ((float)x * (float)(1 / 255.0) - mean) / std, each operation rounded to
 * float. Value i of a row takes mean and std number i % STK__VALUE_PERIOD. */
typedef struct stk__values {
    bool plain; /* every mean is 0 and every std 1: they change nothing and are left out */
    float mean[STK__VALUE_PERIOD], std[STK__VALUE_PERIOD];
} stk__values;

/* `count` bytes to values: float, IEEE half or bfloat16, the last two rounded to nearest even from
 * the float. Reads and writes exactly count elements; dst is aligned to its type. */
typedef void stk__values_fn(void *dst, const uint8_t *src, size_t count, const stk__values *values);

typedef struct stk__kernels {
    stk__filter_fn *filter;
    stk__round_fn *round;
    stk__horizontal_fn *horizontal;
    stk__vertical_fn *vertical;
    stk__convert_fn *expand, *pack, *pack_reversed;
    stk__planes_fn *planes;
    stk__values_fn *values_f32, *values_f16, *values_bf16;
} stk__kernels;

/* Fill the whole table for `cpu`: the flags of stk__cpu_flags(), or 0 for the scalar twins. */
void stk__kernels_init(stk__kernels *kernels, uint32_t cpu);

/* Replace what this architecture has faster ones for: kernels_x86.c, or kernels_none.c. */
void stk__kernels_arch(stk__kernels *kernels, uint32_t cpu);

/* The scalar twins: also the tails of the others. */
stk__filter_fn stk__filter_scalar;
stk__round_fn stk__round_scalar;
stk__horizontal_fn stk__horizontal_scalar;
stk__vertical_fn stk__vertical_scalar;
stk__convert_fn stk__expand_scalar, stk__pack_scalar, stk__pack_reversed_scalar;
stk__planes_fn stk__planes_scalar;
stk__values_fn stk__values_f32_scalar, stk__values_f16_scalar, stk__values_bf16_scalar;

/* The two filters at distance x from the centre of an output. */
static inline double stk__triangle(double x)
{
    x = x < 0 ? -x : x;
    return x < 1 ? 1 - x : 0;
}

static inline double stk__cubic(double x, double a)
{
    x = x < 0 ? -x : x;
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/* One value, as stk__values says. */
static inline float stk__value(uint8_t byte, float mean, float std, bool plain)
{
    float x = (float)byte * (float)(1.0 / 255.0);

    return plain ? x : (x - mean) / std;
}

#endif

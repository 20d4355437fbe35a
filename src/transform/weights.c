/* Weights of resampling: see weights.h. Sources: torch 2.14's description of its own uint8 path,
 * checked bit by bit against it (tools/make_resize_golden.py); Keys 1981 for the cubic. */
#include "transform/weights.h"

#include <math.h>
#include <string.h>

enum {
    PRECISION_MOST = 22,
    WEIGHT_END = 1 << 15,
};

/* The weights of an axis before rounding: exact[tap * outputs + i], so that the loops over outputs
 * are plain ones that a compiler can spread over lanes. */
typedef struct axis_build {
    uint32_t inputs, outputs, most; /* most: taps of an output, at most */
    double scale;                   /* inputs per output */
    uint32_t *first, *taps;
    double *exact, *total;
} axis_build;

void stk__weights_fini(stk__weights *weights, stk__heap *heap)
{
    stk__scratch_fini(&weights->reach, heap);
    stk__scratch_fini(&weights->exact, heap);
    stk__scratch_fini(&weights->rounded, heap);
    *weights = (stk__weights){0};
}

/* Keys' cubic: a = -0.5 antialiased, -0.75 not. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double filter_radius(stk_interpolation interpolation)
{
    return interpolation == STK_BICUBIC ? 2 : 1;
}

/* Taps of an output, at most. */
static uint32_t most_taps(double scale, stk_interpolation interpolation, bool antialias)
{
    double radius = filter_radius(interpolation);

    if (!antialias)
        return (uint32_t)(2 * radius);
    return (uint32_t)ceil(scale >= 1 ? radius * scale : radius) * 2 + 1;
}

/* Centre and reach of each output: the inputs whose centres lie within the filter. */
static void antialiased_reach(axis_build *b, double support)
{
    for (uint32_t i = 0; i < b->outputs; i++) {
        double centre = b->scale * (i + 0.5);
        int32_t low = (int32_t)(centre - support + 0.5);
        int32_t high = (int32_t)(centre + support + 0.5);
        int32_t taps;

        low = low > 0 ? low : 0;
        high = high < (int32_t)b->inputs ? high : (int32_t)b->inputs;
        taps = high - low;
        b->first[i] = (uint32_t)low;
        b->taps[i] = (uint32_t)(taps<0 ? 0 : taps>(int32_t) b->most ? (int32_t)b->most : taps);
    }
}

static void antialiased_weights(axis_build *b, stk_interpolation interpolation)
{
    double *restrict total = b->total;
    const uint32_t *restrict first = b->first, *restrict taps = b->taps;
    const double shrink = b->scale >= 1 ? 1 / b->scale : 1, scale = b->scale;
    const uint32_t outputs = b->outputs;

    memset(total, 0, outputs * sizeof *total);
    for (uint32_t tap = 0; tap < b->most; tap++) {
        double *restrict exact = b->exact + (size_t)tap * outputs;

        for (uint32_t i = 0; i < outputs; i++) {
            double x = ((double)(int32_t)(tap + first[i]) - scale * (i + 0.5) + 0.5) * shrink;
            double w = interpolation == STK_BICUBIC ? cubic(x, -0.5) : triangle(x);

            exact[i] = tap < taps[i] ? w : 0;
            total[i] += exact[i];
        }
    }
    for (uint32_t tap = 0; tap < b->most; tap++) {
        double *restrict exact = b->exact + (size_t)tap * outputs;

        for (uint32_t i = 0; i < outputs; i++)
            exact[i] /= total[i] != 0 ? total[i] : 1;
    }
}

/* Two or four taps around the source point; those outside the axis fall on its ends. Returns the
 * largest sum that stood anywhere on the way: torch takes its precision from that. */
static double plain_weights(axis_build *b, stk_interpolation interpolation)
{
    const bool is_cubic = interpolation == STK_BICUBIC;
    const int64_t inputs = b->inputs, reach = is_cubic ? 2 : 1;
    double largest = 0;

    memset(b->exact, 0, (size_t)b->most * b->outputs * sizeof *b->exact);
    for (uint32_t i = 0; i < b->outputs; i++) {
        double at = b->scale * (i + 0.5) - 0.5, lambda;
        int64_t index, low, first, end, taps;

        if (!is_cubic && at < 0)
            at = 0;
        index = (int64_t)floorf((float)at); /* in float, as torch has it */
        index = index < inputs - 1 ? index : inputs - 1;
        lambda = at - (double)index;
        lambda = lambda < 0 ? 0 : lambda > 1 ? 1 : lambda;
        low = index - reach + 1;
        first = low > 0 ? low : 0;
        end = index + reach + 1 < inputs ? index + reach + 1 : inputs;
        taps = end - first;
        b->first[i] = (uint32_t)first;
        b->taps[i] = (uint32_t)taps;
        for (int64_t j = 0; j < 2 * reach; j++) {
            double x = (double)(j + 1 - reach) - lambda, *sum;
            int64_t tap = low + j - first;

            tap = tap < 0 ? 0 : tap < taps ? tap : taps - 1;
            sum = &b->exact[(size_t)tap * b->outputs + i];
            *sum += is_cubic ? cubic(x, -0.75) : triangle(x);
            largest = *sum > largest ? *sum : largest;
        }
    }
    return largest;
}

/* The largest precision up to 22 for which the largest weight stays a positive 16-bit number. */
static uint32_t precision_for(double largest)
{
    uint32_t p = 0;

    while (p < PRECISION_MOST &&
           (int32_t)(0.5 + largest * (double)(1 << (p + 1))) < (int32_t)WEIGHT_END)
        p++;
    return p;
}

static double largest_of(const axis_build *b)
{
    const size_t count = (size_t)b->most * b->outputs;
    double largest = 0;

    for (size_t i = 0; i < count; i++)
        largest = b->exact[i] > largest ? b->exact[i] : largest;
    return largest;
}

static void round_weights(const axis_build *b, stk__weights *weights)
{
    const double unit = (double)(1 << weights->precision);
    const uint32_t per = weights->per, outputs = b->outputs;

    for (uint32_t tap = 0; tap < per; tap++) {
        const double *exact = b->exact + (size_t)tap * outputs;
        int16_t *weight = weights->weight + tap;

        for (uint32_t i = 0; i < outputs; i++) {
            double w = exact[i] * unit;

            weight[(size_t)i * per] = (int16_t)(int32_t)(w < 0 ? w - 0.5 : w + 0.5);
        }
    }
}

/* Taps that any output has. */
static uint32_t most_used(const axis_build *b)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < b->outputs; i++)
        most = b->taps[i] > most ? b->taps[i] : most;
    return most;
}

static bool reserve(axis_build *b, stk__weights *weights, stk__heap *heap)
{
    b->first = stk__scratch_need(&weights->reach, heap, b->outputs, 2 * sizeof *b->first, 0);
    b->total = stk__scratch_need(
        &weights->exact, heap, b->outputs, ((size_t)b->most + 1) * sizeof *b->exact, 0);
    if (b->first == NULL || b->total == NULL)
        return false;
    b->taps = b->first + b->outputs;
    b->exact = b->total + b->outputs;
    return true;
}

bool stk__weights_make(stk__weights *weights, stk__heap *heap, uint32_t inputs, uint32_t outputs,
    stk_interpolation interpolation, bool antialias)
{
    axis_build b = {.inputs = inputs, .outputs = outputs};
    double largest;

    if (weights->inputs == inputs && weights->outputs == outputs &&
        weights->interpolation == interpolation && weights->antialias == antialias)
        return true;
    weights->outputs = 0;
    b.scale = (double)inputs / outputs;
    b.most = most_taps(b.scale, interpolation, antialias);
    if (!reserve(&b, weights, heap))
        return false;
    if (antialias) {
        double radius = filter_radius(interpolation);

        antialiased_reach(&b, b.scale >= 1 ? radius * b.scale : radius);
        b.most = most_used(&b);
        antialiased_weights(&b, interpolation);
        largest = largest_of(&b);
    } else {
        largest = plain_weights(&b, interpolation);
        b.most = most_used(&b);
    }
    weights->per = b.most;
    weights->weight =
        stk__scratch_need(&weights->rounded, heap, outputs, b.most * sizeof(int16_t), 0);
    if (weights->weight == NULL)
        return false;
    weights->precision = precision_for(largest);
    round_weights(&b, weights);
    weights->first = b.first;
    weights->taps = b.taps;
    weights->inputs = inputs;
    weights->outputs = outputs;
    weights->interpolation = interpolation;
    weights->antialias = antialias;
    return true;
}

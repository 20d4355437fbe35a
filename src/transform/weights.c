/* Weights of resampling: see weights.h. The rules are those of torch 2.14's uint8 kernels, found
 * from what they give and checked bit by bit (tools/make_resize_golden.py); Keys 1981 for the
 * cubic.
 */
#include "transform/weights.h"

#include <math.h>
#include <string.h>

enum {
    PRECISION_MOST = 22,
    WEIGHT_END = 1 << 15,
};

void stk__weights_fini(stk__weights *weights, stk__heap *heap)
{
    stk__scratch_fini(&weights->reach, heap);
    stk__scratch_fini(&weights->exact, heap);
    stk__scratch_fini(&weights->rounded, heap);
    *weights = (stk__weights){0};
}

static double filter_radius(stk_interpolation interpolation)
{
    return interpolation == STK_BICUBIC ? 2 : 1;
}

/* Inputs per output. */
static double scale_of(const stk__axis_resize *of)
{
    return (double)of->inputs / of->outputs;
}

/* Half the width of an antialiased filter, in inputs. */
static double filter_support(double scale, stk_interpolation interpolation)
{
    return scale >= 1 ? filter_radius(interpolation) * scale : filter_radius(interpolation);
}

/* Taps of an output, at most. */
static uint32_t most_taps(const stk__axis_resize *of)
{
    if (!of->antialias)
        return (uint32_t)(2 * filter_radius(of->interpolation));
    return (uint32_t)ceil(filter_support(scale_of(of), of->interpolation)) * 2 + 1;
}

/* The reach of each output: the inputs whose centres lie within the filter. */
static void antialiased_reach(stk__weights *weights, uint32_t limit)
{
    uint32_t *restrict first = weights->first, *restrict taps = weights->taps;
    const int32_t inputs = (int32_t)weights->of.inputs, most = (int32_t)limit;
    const double scale = scale_of(&weights->of);
    const double support = filter_support(scale, weights->of.interpolation);

    for (int32_t i = 0; i < (int32_t)weights->of.outputs; i++) {
        double centre = scale * (i + 0.5);
        int32_t low = (int32_t)(centre - support + 0.5);
        int32_t high = (int32_t)(centre + support + 0.5);
        int32_t count;

        low = low > 0 ? low : 0;
        high = high < inputs ? high : inputs;
        count = high - low;
        first[i] = (uint32_t)low;
        taps[i] = (uint32_t)(count < most ? count : most);
    }
}

/* Where output i of a resampling that is not antialiased lies: input `index` and a part of the way
 * to the next one. */
static int64_t source_point(
    double scale, uint32_t i, uint32_t inputs, bool is_cubic, double *part_out)
{
    double at = scale * (i + 0.5) - 0.5, part;
    int64_t index;

    if (!is_cubic && at < 0)
        at = 0;
    index = (int64_t)floorf((float)at); /* in float, as torch has it */
    if (index > (int64_t)inputs - 1)
        index = (int64_t)inputs - 1;
    part = at - (double)index;
    *part_out = part < 0 ? 0 : part > 1 ? 1 : part;
    return index;
}

/* Two or four taps around the source point; those outside the axis fall on its ends. Returns the
 * largest sum that stood anywhere on the way: torch takes its precision from that. */
static double plain_weights(const stk__axis_build *b, stk__weights *weights)
{
    const bool is_cubic = weights->of.interpolation == STK_BICUBIC;
    const int64_t inputs = b->inputs, reach = is_cubic ? 2 : 1;
    double largest = 0;

    memset(b->exact, 0, (size_t)b->most * b->outputs * sizeof *b->exact);
    for (uint32_t i = 0; i < b->outputs; i++) {
        double part;
        const int64_t index = source_point(b->scale, i, b->inputs, is_cubic, &part);
        const int64_t low = index - reach + 1, first = low > 0 ? low : 0;
        const int64_t end = index + reach + 1 < inputs ? index + reach + 1 : inputs;

        weights->first[i] = (uint32_t)first;
        weights->taps[i] = (uint32_t)(end - first);
        for (int64_t j = 0; j < 2 * reach; j++) {
            double x = (double)(j + 1 - reach) - part, *sum;
            int64_t tap = low + j - first;

            tap = tap < 0 ? 0 : tap < end - first ? tap : end - first - 1;
            sum = &b->exact[(size_t)tap * b->outputs + i];
            *sum += is_cubic ? stk__cubic(x, -0.75) : stk__triangle(x);
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

/* Taps that any output has. */
static uint32_t most_used(const stk__weights *weights)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < weights->of.outputs; i++)
        most = weights->taps[i] > most ? weights->taps[i] : most;
    return most;
}

static uint32_t even(uint32_t taps)
{
    return (taps + 1) & ~1u;
}

/* b: inputs and outputs are set, most is what an output may have. Memory for the taps it has. */
static bool reserve_weights(stk__weights *weights, stk__heap *heap, stk__axis_build *b)
{
    const size_t per = weights->per, room = weights->room;

    b->total = stk__scratch_need(
        &weights->exact, heap, per + 1, room + 1, b->outputs * sizeof *b->exact, 0);
    weights->weight =
        stk__scratch_need(&weights->rounded, heap, per, room, b->outputs * sizeof(int16_t), 0);
    if (b->total == NULL || weights->weight == NULL)
        return false;
    b->exact = b->total + b->outputs;
    return true;
}

static bool make(stk__weights *weights, stk__heap *heap, const stk__kernels *kernels)
{
    const stk__axis_resize *of = &weights->of;
    stk__axis_build b = {
        .inputs = of->inputs, .outputs = of->outputs, .most = most_taps(of), .scale = scale_of(of)};
    double largest;

    weights->first = stk__scratch_need(
        &weights->reach, heap, b.outputs, b.outputs, 2 * sizeof *weights->first, 0);
    if (weights->first == NULL)
        return false;
    weights->taps = weights->first + b.outputs;
    if (of->antialias) {
        antialiased_reach(weights, b.most);
        b.most = most_used(weights);
    }
    b.first = weights->first;
    b.taps = weights->taps;
    weights->per = even(b.most);
    if (!reserve_weights(weights, heap, &b))
        return false;
    if (of->antialias)
        largest = kernels->filter(&b, of->interpolation == STK_BICUBIC);
    else
        largest = plain_weights(&b, weights);
    weights->precision = precision_for(largest);
    kernels->round(&b, weights->precision, weights->weight, weights->per);
    return true;
}

bool stk__weights_make(stk__weights *weights, stk__heap *heap, const stk__kernels *kernels,
    const stk__axis_resize *of, uint32_t most_inputs)
{
    const stk__axis_resize *old = &weights->of;
    stk__axis_resize most = *of;

    if (old->inputs == of->inputs && old->outputs == of->outputs &&
        old->interpolation == of->interpolation && old->antialias == of->antialias)
        return true;
    most.inputs = most_inputs > of->inputs ? most_inputs : of->inputs;
    weights->of = *of;
    weights->room = even(most_taps(&most));
    if (make(weights, heap, kernels))
        return true;
    weights->of.outputs = 0;
    return false;
}

/* The part of an axis of weights that is wanted, in the form of kernels: see weights.h. */
#include <string.h>

#include "transform/weights.h"

void stk__taps_fini(stk__taps_memory *memory, stk__heap *heap)
{
    stk__scratch_fini(&memory->axis, heap);
    stk__scratch_fini(&memory->rounded, heap);
    *memory = (stk__taps_memory){0};
}

/* Neither end of the reach ever goes back from an output to the next, so the first and the last
 * output tell the span. */
void stk__weights_span(
    const stk__weights *weights, const stk__taps_part *part, uint32_t *low_out, uint32_t *high_out)
{
    const uint32_t end = part->begin + part->count - 1;
    const uint32_t low = weights->first[part->begin];
    const uint32_t high = weights->first[end] + weights->taps[end] - 1;

    *low_out = part->mirrored ? weights->of.inputs - 1 - high : low;
    *high_out = part->mirrored ? weights->of.inputs - 1 - low : high;
}

/* The taps of one output the other way round; what is past them stays behind. */
static void mirror(int16_t *weight, uint32_t taps)
{
    for (uint32_t t = 0, u = taps - 1; t < u; t++, u--) {
        int16_t w = weight[t];

        weight[t] = weight[u];
        weight[u] = w;
    }
}

/* Begin `by` inputs earlier: zeros come in front, and the zeros past the taps go. */
static void move_back(int16_t *weight, uint32_t per, uint32_t by)
{
    memmove(weight + by, weight, (per - by) * sizeof *weight);
    memset(weight, 0, by * sizeof *weight);
}

/* Weights of the part, in the order of kernels. */
static void copy_weights(const stk__weights *weights, const stk__taps_part *part, int16_t *weight)
{
    const size_t per = weights->per, bytes = per * sizeof *weight;
    const int16_t *from = weights->weight + part->begin * per;

    if (!part->backward) {
        memcpy(weight, from, part->count * bytes);
    } else if (per == 4) { /* the usual number, known to the compiler */
        for (size_t k = 0; k < part->count; k++)
            memcpy(weight + k * 4, from + (part->count - 1 - k) * 4, 4 * sizeof *weight);
    } else {
        for (size_t k = 0; k < part->count; k++)
            memcpy(weight + k * per, from + (part->count - 1 - k) * per, bytes);
    }
}

static uint32_t spread_of(const uint32_t *first, uint32_t count)
{
    uint32_t spread = 0;

    for (uint32_t i = 0; i + 3 < count; i++) {
        uint32_t a = first[i], b = first[i + 3], apart = a < b ? b - a : a - b;

        spread = apart > spread ? apart : spread;
    }
    return spread;
}

bool stk__weights_taps(const stk__weights *weights, const stk__taps_part *part,
    stk__taps_memory *memory, stk__heap *heap)
{
    const uint32_t count = part->count, per = weights->per;
    uint32_t low, high, inputs, *first, *last;
    int16_t *weight;

    stk__weights_span(weights, part, &low, &high);
    inputs = high - low + 1 > per ? high - low + 1 : per;
    first = stk__scratch_need(
        &memory->axis, heap, count, weights->of.outputs, 2 * sizeof *first, STK__ROW_SLACK);
    weight = stk__scratch_need(&memory->rounded, heap, (size_t)count * per,
        (size_t)weights->of.outputs * weights->room, sizeof *weight, STK__ROW_SLACK);
    if (first == NULL || weight == NULL)
        return false;
    last = first + count;
    copy_weights(weights, part, weight);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = part->begin + (part->backward ? count - 1 - k : k);
        const uint32_t taps = weights->taps[i];
        uint32_t at = weights->first[i];

        if (part->mirrored) {
            at = weights->of.inputs - at - taps;
            mirror(weight + (size_t)k * per, taps);
        }
        at -= low;
        last[k] = at + taps - 1;
        if (at + per > inputs) {
            move_back(weight + (size_t)k * per, per, at + per - inputs);
            at = inputs - per;
        }
        first[k] = at;
    }
    memory->last = last;
    memory->taps = (stk__taps){
        .count = count,
        .inputs = inputs,
        .per = per,
        .precision = weights->precision,
        .spread = spread_of(first, count),
        .first = first,
        .weight = weight,
    };
    return true;
}

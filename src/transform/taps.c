/* The part of an axis of weights that is wanted, in the form of kernels: see weights.h. */
#include <string.h>

#include "transform/weights.h"

void stk__taps_fini(stk__taps_memory *memory, stk__heap *heap)
{
    stk__scratch_fini(&memory->axis, heap);
    stk__scratch_fini(&memory->rounded, heap);
    *memory = (stk__taps_memory){0};
}

void stk__weights_span(
    const stk__weights *weights, const stk__taps_part *part, uint32_t *low_out, uint32_t *high_out)
{
    uint32_t low = weights->inputs, high = 0;

    for (uint32_t i = part->begin; i < part->begin + part->count; i++) {
        uint32_t last = weights->first[i] + weights->taps[i] - 1;

        low = weights->first[i] < low ? weights->first[i] : low;
        high = last > high ? last : high;
    }
    *low_out = part->mirrored ? weights->inputs - 1 - high : low;
    *high_out = part->mirrored ? weights->inputs - 1 - low : high;
}

/* The weights of one output as `per` in a row, `lead` zeros before them. */
static void place(
    int16_t *dst, uint32_t per, uint32_t lead, const int16_t *weight, uint32_t taps, bool mirrored)
{
    for (uint32_t t = 0; t < per; t++)
        dst[t] = 0;
    for (uint32_t t = 0; t < taps; t++)
        dst[lead + t] = mirrored ? weight[taps - 1 - t] : weight[t];
}

bool stk__weights_taps(const stk__weights *weights, const stk__taps_part *part,
    stk__taps_memory *memory, stk__heap *heap)
{
    const uint32_t count = part->count, per = (weights->per + 1) & ~1u;
    uint32_t low, high, inputs, *first, *last;
    int16_t *weight;

    stk__weights_span(weights, part, &low, &high);
    inputs = high - low + 1 > per ? high - low + 1 : per;
    first = stk__scratch_need(&memory->axis, heap, count, 2 * sizeof *first, STK__ROW_SLACK);
    weight = stk__scratch_need(&memory->rounded, heap, count, per * sizeof *weight, STK__ROW_SLACK);
    if (first == NULL || weight == NULL)
        return false;
    last = first + count;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = part->begin + (part->backward ? count - 1 - k : k);
        uint32_t taps = weights->taps[i], at = weights->first[i], start;

        if (part->mirrored)
            at = weights->inputs - at - taps;
        at -= low;
        start = at + per <= inputs ? at : inputs - per;
        first[k] = start;
        last[k] = at + taps - 1;
        place(weight + (size_t)k * per, per, at - start, weights->weight + (size_t)i * weights->per,
            taps, part->mirrored);
    }
    memory->last = last;
    memory->taps = (stk__taps){
        .count = count,
        .inputs = inputs,
        .per = per,
        .precision = weights->precision,
        .first = first,
        .weight = weight,
    };
    return true;
}

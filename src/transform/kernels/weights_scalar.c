/* Weights of an antialiased resampling: the specification. */
#include "transform/kernels/kernels.h"

static double filtered(const stk__axis_build *b, uint32_t i, uint32_t tap, bool cubic)
{
    const double shrink = b->scale >= 1 ? 1 / b->scale : 1;
    const double centre = b->scale * (i + 0.5);
    const double x = ((double)(b->first[i] + tap) - centre + 0.5) * shrink;

    return cubic ? stk__cubic(x, -0.5) : stk__triangle(x);
}

double stk__filter_scalar(const stk__axis_build *b, bool cubic)
{
    double largest = 0;

    for (uint32_t i = 0; i < b->outputs; i++) {
        double total = 0; /* never 0 in the end: an input lies within half a filter of the centre */

        for (uint32_t tap = 0; tap < b->most; tap++) {
            double weight = tap < b->taps[i] ? filtered(b, i, tap, cubic) : 0;

            b->exact[(size_t)tap * b->outputs + i] = weight;
            total += weight;
        }
        for (uint32_t tap = 0; tap < b->most; tap++) {
            double *weight = &b->exact[(size_t)tap * b->outputs + i];

            *weight /= total;
            largest = *weight > largest ? *weight : largest;
        }
    }
    return largest;
}

void stk__round_scalar(const stk__axis_build *b, uint32_t precision, int16_t *weight, uint32_t per)
{
    const double unit = (double)(1 << precision);

    for (size_t i = 0; i < b->outputs; i++, weight += per) {
        for (uint32_t tap = 0; tap < per; tap++) {
            double w = tap < b->most ? b->exact[(size_t)tap * b->outputs + i] * unit : 0;

            weight[tap] = (int16_t)(int32_t)(w < 0 ? w - 0.5 : w + 0.5);
        }
    }
}

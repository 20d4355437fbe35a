/* Both passes of resampling: the specification. */
#include "transform/kernels/kernels.h"

static uint8_t clip(int32_t sum, uint32_t precision)
{
    int32_t value = sum >> precision;

    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void one_row(uint8_t *dst, const uint8_t *src, const stk__taps *taps)
{
    const int16_t *weight = taps->weight;

    for (uint32_t i = 0; i < taps->count; i++, dst += 3, weight += taps->per) {
        const uint8_t *pixel = src + (size_t)taps->first[i] * 4;
        int32_t half = 1 << (taps->precision - 1);
        int32_t red = half, green = half, blue = half;

        for (uint32_t t = 0; t < taps->per; t++, pixel += 4) {
            red += pixel[0] * weight[t];
            green += pixel[1] * weight[t];
            blue += pixel[2] * weight[t];
        }
        dst[0] = clip(red, taps->precision);
        dst[1] = clip(green, taps->precision);
        dst[2] = clip(blue, taps->precision);
    }
}

void stk__horizontal_scalar(
    uint8_t *const *dst, const uint8_t *const *src, uint32_t rows, const stk__taps *taps)
{
    for (uint32_t row = 0; row < rows; row++)
        one_row(dst[row], src[row], taps);
}

void stk__vertical_scalar(uint8_t *dst, const uint8_t *const *rows, const int16_t *weight,
    uint32_t taps, size_t bytes, uint32_t precision)
{
    for (size_t i = 0; i < bytes; i++) {
        int32_t sum = 1 << (precision - 1);

        for (uint32_t t = 0; t < taps; t++)
            sum += rows[t][i] * weight[t];
        dst[i] = clip(sum, precision);
    }
}

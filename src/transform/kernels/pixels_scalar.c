/* Pixels from one arrangement to another, bytes to values: the specification. */
#include <string.h>

#include "transform/kernels/kernels.h"

void stk__expand_scalar(uint8_t *dst, const uint8_t *src, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(dst + i * 4, src + i * 3, 3);
        dst[i * 4 + 3] = 255;
    }
}

void stk__pack_scalar(uint8_t *dst, const uint8_t *src, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(dst + i * 3, src + i * 4, 3);
}

void stk__pack_reversed_scalar(uint8_t *dst, const uint8_t *src, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(dst + i * 3, src + (count - 1 - i) * 4, 3);
}

void stk__planes_scalar(
    uint8_t *red, uint8_t *green, uint8_t *blue, const uint8_t *src, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        red[i] = src[i * 3];
        green[i] = src[i * 3 + 1];
        blue[i] = src[i * 3 + 2];
    }
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Finite or infinite float to IEEE half, to nearest even. */
static uint16_t half_of(float x)
{
    uint32_t bits = bits_of(x);
    uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;

    if (size >= 0x477ff000u) /* 65,520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (size < 0x38800000u) { /* below 2^-14: a multiple of 2^-24, rounded by the addition */
        float aligned;

        memcpy(&aligned, &size, sizeof aligned);
        return (uint16_t)(sign | (bits_of(aligned + 0.5f) - bits_of(0.5f)));
    }
    size += 0xfffu + (size >> 13 & 1); /* half of what is cut off, less a bit if that is even */
    return (uint16_t)(sign | ((size - 0x38000000u) >> 13));
}

static uint16_t bfloat_of(float x)
{
    uint32_t bits = bits_of(x);

    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* Call `store` with each value; the period is walked, not divided out. */
#define EACH_VALUE(store)                                                                         \
    for (size_t i = 0, place = 0; i < count; i++) {                                               \
        float value = stk__value(src[i], values->mean[place], values->std[place], values->plain); \
        store;                                                                                    \
        place = place + 1 == STK__VALUE_PERIOD ? 0 : place + 1;                                   \
    }

void stk__values_f32_scalar(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    float *out = dst;

    EACH_VALUE(out[i] = value)
}

void stk__values_f16_scalar(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    uint16_t *out = dst;

    EACH_VALUE(out[i] = half_of(value))
}

void stk__values_bf16_scalar(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    uint16_t *out = dst;

    EACH_VALUE(out[i] = bfloat_of(value))
}

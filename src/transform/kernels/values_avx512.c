/* Bytes to values for AVX-512 (F, BW, VL): built with the flags of these and no others. */
#include <immintrin.h>

#include "base/compiler.h"
#include "transform/kernels/kernels_x86.h"

typedef enum value_kind {
    VALUE_F32,
    VALUE_F16,
    VALUE_BF16,
} value_kind;

/* Up to 16 values, those of `lanes`; `place` is a multiple of 16 below STK__VALUE_PERIOD. */
STK__INLINE __m512 some_values(
    const uint8_t *src, __mmask16 lanes, const stk__values *values, size_t place, bool plain)
{
    const __m128i bytes = _mm_maskz_loadu_epi8(lanes, src);
    __m512 x = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));

    x = _mm512_mul_ps(x, _mm512_set1_ps((float)(1.0 / 255.0)));
    if (plain)
        return x;
    x = _mm512_sub_ps(x, _mm512_loadu_ps(values->mean + place));
    return _mm512_div_ps(x, _mm512_loadu_ps(values->std + place));
}

/* The upper half of each float, rounded to nearest even. */
STK__INLINE __m256i bfloat_of(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));

    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(sum, 16));
}

STK__INLINE void store_values(void *dst, size_t i, __m512 x, __mmask16 lanes, value_kind kind)
{
    if (kind == VALUE_F32)
        _mm512_mask_storeu_ps((float *)dst + i, lanes, x);
    else if (kind == VALUE_F16)
        _mm256_mask_storeu_epi16((uint16_t *)dst + i, lanes,
            _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    else
        _mm256_mask_storeu_epi16((uint16_t *)dst + i, lanes, bfloat_of(x));
}

STK__INLINE void all_values(void *dst, const uint8_t *src, size_t count, const stk__values *values,
    bool plain, value_kind kind)
{
    size_t i = 0, place = 0;

    for (; i < count; i += 16) {
        const size_t left = count - i;
        const __mmask16 lanes = (__mmask16)(left < 16 ? (1u << left) - 1 : 0xffff);

        store_values(dst, i, some_values(src + i, lanes, values, place, plain), lanes, kind);
        place = place + 16 == STK__VALUE_PERIOD ? 0 : place + 16;
    }
}

STK__INLINE void fast_values(
    void *dst, const uint8_t *src, size_t count, const stk__values *values, value_kind kind)
{
    if (values->plain)
        all_values(dst, src, count, values, true, kind);
    else
        all_values(dst, src, count, values, false, kind);
}

void stk__values_f32_avx512(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    fast_values(dst, src, count, values, VALUE_F32);
}

void stk__values_f16_avx512(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    fast_values(dst, src, count, values, VALUE_F16);
}

void stk__values_bf16_avx512(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    fast_values(dst, src, count, values, VALUE_BF16);
}

/* Bytes to values for AVX2: built with -mavx2 and no other flag of its own. */
#include <immintrin.h>
#include <string.h>

#include "base/compiler.h"
#include "transform/kernels/kernels_x86.h"

/* Eight values; `place` is a multiple of 8 below STK__VALUE_PERIOD. */
STK__INLINE __m256 eight_values(
    const uint8_t *src, const stk__values *values, size_t place, bool plain)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)src);
    __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));

    x = _mm256_mul_ps(x, _mm256_set1_ps((float)(1.0 / 255.0)));
    if (plain)
        return x;
    x = _mm256_sub_ps(x, _mm256_loadu_ps(values->mean + place));
    return _mm256_div_ps(x, _mm256_loadu_ps(values->std + place));
}

/* Eight numbers of at most 16 bits each, close together. */
STK__INLINE void store_halves(uint16_t *dst, __m256i words)
{
    __m256i close = _mm256_packus_epi32(words, words);

    close = _mm256_permute4x64_epi64(close, 0x08);
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_castsi256_si128(close));
}

/* Float to IEEE half, to nearest even; the cases of the scalar twin, all three computed. */
STK__INLINE __m256i half_of(__m256 x)
{
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x8000));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(size, 13), _mm256_set1_epi32(1));
    const __m256i normal = _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(size, odd), _mm256_set1_epi32(0xfff - 0x38000000)), 13);
    const __m256 aligned = _mm256_add_ps(_mm256_castsi256_ps(size), _mm256_set1_ps(0.5f));
    const __m256i small =
        _mm256_sub_epi32(_mm256_castps_si256(aligned), _mm256_castps_si256(_mm256_set1_ps(0.5f)));
    const __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x38800000), size);
    const __m256i is_large = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x477fefff));
    __m256i half = _mm256_blendv_epi8(normal, small, is_small);

    half = _mm256_blendv_epi8(half, _mm256_set1_epi32(0x7c00), is_large);
    return _mm256_or_si256(half, sign);
}

STK__INLINE __m256i bfloat_of(__m256 x)
{
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));

    return _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff)), 16);
}

typedef enum value_kind {
    VALUE_F32,
    VALUE_F16,
    VALUE_BF16,
} value_kind;

STK__INLINE void store_values(void *dst, size_t i, __m256 x, value_kind kind)
{
    if (kind == VALUE_F32)
        _mm256_storeu_ps((float *)dst + i, x);
    else if (kind == VALUE_F16)
        store_halves((uint16_t *)dst + i, half_of(x));
    else
        store_halves((uint16_t *)dst + i, bfloat_of(x));
}

/* Fewer than eight values, by way of memory that holds eight. */
STK__INLINE void last_values(void *dst, const uint8_t *src, size_t count, const stk__values *values,
    size_t place, bool plain, value_kind kind)
{
    const size_t size = kind == VALUE_F32 ? sizeof(float) : sizeof(uint16_t);
    uint8_t bytes[8] = {0};
    float out[8];

    memcpy(bytes, src, count);
    store_values(out, 0, eight_values(bytes, values, place, plain), kind);
    memcpy(dst, out, count * size);
}

STK__INLINE void all_values(void *dst, const uint8_t *src, size_t count, const stk__values *values,
    bool plain, value_kind kind)
{
    const size_t size = kind == VALUE_F32 ? sizeof(float) : sizeof(uint16_t);
    size_t i = 0, place = 0;

    for (; i + 8 <= count; i += 8) {
        store_values(dst, i, eight_values(src + i, values, place, plain), kind);
        place = place + 8 == STK__VALUE_PERIOD ? 0 : place + 8;
    }
    if (i < count)
        last_values((uint8_t *)dst + i * size, src + i, count - i, values, place, plain, kind);
}

STK__INLINE void fast_values(
    void *dst, const uint8_t *src, size_t count, const stk__values *values, value_kind kind)
{
    if (values->plain)
        all_values(dst, src, count, values, true, kind);
    else
        all_values(dst, src, count, values, false, kind);
}

void stk__values_f32_avx2(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    fast_values(dst, src, count, values, VALUE_F32);
}

void stk__values_f16_avx2(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    fast_values(dst, src, count, values, VALUE_F16);
}

void stk__values_bf16_avx2(void *dst, const uint8_t *src, size_t count, const stk__values *values)
{
    fast_values(dst, src, count, values, VALUE_BF16);
}

/* Pixels from one arrangement to another for AVX2: built with -mavx2 and no other flag of its own.
 */
#include <immintrin.h>

#include "base/compiler.h"
#include "transform/kernels/kernels_x86.h"

STK__INLINE __m256i load_lanes(const uint8_t *first, const uint8_t *second)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)first)),
        _mm_loadu_si128((const __m128i *)(const void *)second), 1);
}

STK__INLINE void store_lanes(uint8_t *first, uint8_t *second, __m256i lanes)
{
    _mm_storeu_si128((__m128i *)(void *)first, _mm256_castsi256_si128(lanes));
    _mm_storeu_si128((__m128i *)(void *)second, _mm256_extracti128_si256(lanes, 1));
}

/* Eight pixels at a time; 28 bytes of the source are read for 24 that count. */
void stk__expand_avx2(uint8_t *dst, const uint8_t *src, size_t count)
{
    const __m256i order = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 0,
        1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m256i alpha = _mm256_set1_epi32((int)0xff000000u);
    size_t i = 0;

    for (; i + 10 <= count; i += 8) {
        __m256i rgb = load_lanes(src + i * 3, src + i * 3 + 12);

        _mm256_storeu_si256((__m256i *)(void *)(dst + i * 4),
            _mm256_or_si256(_mm256_shuffle_epi8(rgb, order), alpha));
    }
    stk__expand_scalar(dst + i * 4, src + i * 3, count - i);
}

/* The first 12 bytes of each lane are RGB. */
STK__INLINE __m256i packed(__m256i rgbx)
{
    const __m256i order = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);

    return _mm256_shuffle_epi8(rgbx, order);
}

/* Eight pixels at a time; 28 bytes are written, of which 4 lie over the next pixels. */
void stk__pack_avx2(uint8_t *dst, const uint8_t *src, size_t count)
{
    size_t i = 0;

    for (; i + 10 <= count; i += 8) {
        __m256i rgbx = _mm256_loadu_si256((const __m256i *)(const void *)(src + i * 4));

        store_lanes(dst + i * 3, dst + i * 3 + 12, packed(rgbx));
    }
    stk__pack_scalar(dst + i * 3, src + i * 4, count - i);
}

void stk__pack_reversed_avx2(uint8_t *dst, const uint8_t *src, size_t count)
{
    const __m256i backward = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    size_t i = 0;

    for (; i + 10 <= count; i += 8) {
        const uint8_t *from = src + (count - i - 8) * 4;
        __m256i rgbx = _mm256_loadu_si256((const __m256i *)(const void *)from);

        store_lanes(
            dst + i * 3, dst + i * 3 + 12, packed(_mm256_permutevar8x32_epi32(rgbx, backward)));
    }
    stk__pack_reversed_scalar(dst + i * 3, src, count - i);
}

/*
 * 16 pixels of a lane are 48 bytes in three registers. The bytes of one channel stand at different
 * places of the three, so two blends bring them together and a shuffle into order.
 */
STK__INLINE __m256i channel(
    __m256i a, __m256i b, __m256i c, __m256i of_b, __m256i of_c, __m256i order)
{
    return _mm256_shuffle_epi8(_mm256_blendv_epi8(_mm256_blendv_epi8(a, b, of_b), c, of_c), order);
}

STK__INLINE __m256i twice(__m128i lane)
{
    return _mm256_broadcastsi128_si256(lane);
}

void stk__planes_avx2(uint8_t *red, uint8_t *green, uint8_t *blue, const uint8_t *src, size_t count)
{
    /* bytes at places 0, 1 and 2 modulo 3 */
    const __m256i third0 =
        twice(_mm_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1));
    const __m256i third1 =
        twice(_mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0));
    const __m256i third2 =
        twice(_mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0));
    const __m256i red_order =
        twice(_mm_setr_epi8(0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13));
    const __m256i green_order =
        twice(_mm_setr_epi8(1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14));
    const __m256i blue_order =
        twice(_mm_setr_epi8(2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15));
    size_t i = 0;

    for (; i + 32 <= count; i += 32, src += 96) {
        const __m256i a = load_lanes(src, src + 48);
        const __m256i b = load_lanes(src + 16, src + 64);
        const __m256i c = load_lanes(src + 32, src + 80);

        _mm256_storeu_si256(
            (__m256i *)(void *)(red + i), channel(a, b, c, third2, third1, red_order));
        _mm256_storeu_si256(
            (__m256i *)(void *)(green + i), channel(a, b, c, third0, third2, green_order));
        _mm256_storeu_si256(
            (__m256i *)(void *)(blue + i), channel(a, b, c, third1, third0, blue_order));
    }
    stk__planes_scalar(red + i, green + i, blue + i, src, count - i);
}

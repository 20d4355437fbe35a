/*
 * Both passes of resampling for AVX2: built with -mavx2 and no other flag of its own.
 *
 * Horizontal: two rows, one in each 128-bit lane. Two neighbouring pixels of a row are shuffled to
 * pairs of 16-bit numbers of one channel, which one multiply-add takes with its pair of weights.
 * Vertical: two rows are interleaved to such pairs. Sums are 32-bit integers, so their order does
 * not matter and the bits are those of the scalar twins.
 */
#include <immintrin.h>
#include <string.h>

#include "base/compiler.h"
#include "transform/kernels/kernels_x86.h"

/* Sums of one output for two pairs of rows. */
typedef struct sums {
    __m256i a, b;
} sums;

/* Pixels 0 and 1, or 2 and 3, of each lane to pairs of one channel, zero extended. */
STK__INLINE __m256i low_pairs(__m256i pixels)
{
    const __m256i order = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1,
        0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);

    return _mm256_shuffle_epi8(pixels, order);
}

STK__INLINE __m256i high_pairs(__m256i pixels)
{
    const __m256i order = _mm256_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15,
        -1, 8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);

    return _mm256_shuffle_epi8(pixels, order);
}

STK__INLINE __m256i four_pixels(const uint8_t *first, const uint8_t *second)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)first)),
        _mm_loadu_si128((const __m128i *)(const void *)second), 1);
}

STK__INLINE __m256i two_pixels(const uint8_t *first, const uint8_t *second)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(const void *)first)),
        _mm_loadl_epi64((const __m128i *)(const void *)second), 1);
}

STK__INLINE __m256i weight_pair(const int16_t *weight)
{
    int32_t pair;

    memcpy(&pair, weight, sizeof pair);
    return _mm256_set1_epi32(pair);
}

/* One output of 2 or 4 rows. `per` is a constant where the caller knows it. */
STK__INLINE sums one_output(const uint8_t *const *src, bool four_rows, size_t at,
    const int16_t *weight, uint32_t per, __m256i half)
{
    sums s = {half, half};
    uint32_t t = 0;

    for (; t + 4 <= per; t += 4, at += 16) {
        const __m256i low = weight_pair(weight + t), high = weight_pair(weight + t + 2);
        __m256i pixels = four_pixels(src[0] + at, src[1] + at);

        s.a = _mm256_add_epi32(s.a, _mm256_madd_epi16(low_pairs(pixels), low));
        s.a = _mm256_add_epi32(s.a, _mm256_madd_epi16(high_pairs(pixels), high));
        if (four_rows) {
            pixels = four_pixels(src[2] + at, src[3] + at);
            s.b = _mm256_add_epi32(s.b, _mm256_madd_epi16(low_pairs(pixels), low));
            s.b = _mm256_add_epi32(s.b, _mm256_madd_epi16(high_pairs(pixels), high));
        }
    }
    if (t < per) {
        const __m256i pair = weight_pair(weight + t);
        __m256i pixels = two_pixels(src[0] + at, src[1] + at);

        s.a = _mm256_add_epi32(s.a, _mm256_madd_epi16(low_pairs(pixels), pair));
        if (four_rows) {
            pixels = two_pixels(src[2] + at, src[3] + at);
            s.b = _mm256_add_epi32(s.b, _mm256_madd_epi16(low_pairs(pixels), pair));
        }
    }
    return s;
}

/* Four outputs of two rows: shifted, clipped, as RGB. 16 bytes of each row are written. */
STK__INLINE void store_four(uint8_t *first, uint8_t *second, __m256i s0, __m256i s1, __m256i s2,
    __m256i s3, __m128i precision)
{
    const __m256i rgb = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0,
        1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i low =
        _mm256_packs_epi32(_mm256_sra_epi32(s0, precision), _mm256_sra_epi32(s1, precision));
    const __m256i high =
        _mm256_packs_epi32(_mm256_sra_epi32(s2, precision), _mm256_sra_epi32(s3, precision));
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_packus_epi16(low, high), rgb);

    _mm_storeu_si128((__m128i *)(void *)first, _mm256_castsi256_si128(bytes));
    _mm_storeu_si128((__m128i *)(void *)second, _mm256_extracti128_si256(bytes, 1));
}

STK__INLINE void some_rows(uint8_t *const *dst, const uint8_t *const *src, bool four_rows,
    const stk__taps *taps, uint32_t per)
{
    const __m256i half = _mm256_set1_epi32(1 << (taps->precision - 1));
    const __m128i precision = _mm_cvtsi32_si128((int)taps->precision);
    const uint32_t *first = taps->first;

    for (uint32_t i = 0; i < taps->count;) {
        const int16_t *weight = taps->weight + (size_t)i * per;
        sums s[4];

        for (size_t k = 0; k < 4; k++)
            s[k] =
                one_output(src, four_rows, (size_t)first[i + k] * 4, weight + k * per, per, half);
        store_four(dst[0] + (size_t)i * 3, dst[1] + (size_t)i * 3, s[0].a, s[1].a, s[2].a, s[3].a,
            precision);
        if (four_rows)
            store_four(dst[2] + (size_t)i * 3, dst[3] + (size_t)i * 3, s[0].b, s[1].b, s[2].b,
                s[3].b, precision);
        i += 4;
        if (i < taps->count && i + 4 > taps->count)
            i = taps->count - 4; /* the last four once more in part */
    }
}

void stk__horizontal_avx2(
    uint8_t *const *dst, const uint8_t *const *src, uint32_t rows, const stk__taps *taps)
{
    uint8_t *to[STK__ROWS_AT_ONCE];
    const uint8_t *from[STK__ROWS_AT_ONCE];

    if (taps->count < 4) {
        stk__horizontal_scalar(dst, src, rows, taps);
        return;
    }
    for (uint32_t row = 0; row < STK__ROWS_AT_ONCE; row++) { /* an odd row is made twice */
        to[row] = dst[row < rows ? row : rows - 1];
        from[row] = src[row < rows ? row : rows - 1];
    }
    if (rows > 2) {
        if (taps->per == 2)
            some_rows(to, from, true, taps, 2);
        else if (taps->per == 4)
            some_rows(to, from, true, taps, 4);
        else
            some_rows(to, from, true, taps, taps->per);
    } else {
        some_rows(to, from, false, taps, taps->per);
    }
}

/* The sums of 32 bytes of a row, in the order of unpacking. */
typedef struct row_sums {
    __m256i s[4];
} row_sums;

/* Two more rows, from byte `at` on. */
STK__INLINE row_sums two_rows(
    row_sums sum, const uint8_t *first, const uint8_t *second, __m256i pair)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)first);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)second);
    const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);

    sum.s[0] = _mm256_add_epi32(sum.s[0], _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), pair));
    sum.s[1] = _mm256_add_epi32(sum.s[1], _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), pair));
    sum.s[2] =
        _mm256_add_epi32(sum.s[2], _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), pair));
    sum.s[3] =
        _mm256_add_epi32(sum.s[3], _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), pair));
    return sum;
}

STK__INLINE __m256i clipped(row_sums sum, __m128i precision)
{
    const __m256i low = _mm256_packs_epi32(
        _mm256_sra_epi32(sum.s[0], precision), _mm256_sra_epi32(sum.s[1], precision));
    const __m256i high = _mm256_packs_epi32(
        _mm256_sra_epi32(sum.s[2], precision), _mm256_sra_epi32(sum.s[3], precision));

    return _mm256_packus_epi16(low, high);
}

STK__INLINE void down_rows(uint8_t *dst, const uint8_t *const *rows, const int16_t *weight,
    uint32_t taps, size_t bytes, uint32_t precision)
{
    const __m256i half = _mm256_set1_epi32(1 << (precision - 1));
    const __m128i shift = _mm_cvtsi32_si128((int)precision);

    for (size_t i = 0; i < bytes;) {
        row_sums sum = {{half, half, half, half}};

        for (uint32_t t = 0; t < taps; t += 2)
            sum = two_rows(sum, rows[t] + i, rows[t + 1] + i, weight_pair(weight + t));
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), clipped(sum, shift));
        i += 32;
        if (i < bytes && i + 32 > bytes)
            i = bytes - 32; /* the last 32 once more in part */
    }
}

void stk__vertical_avx2(uint8_t *dst, const uint8_t *const *rows, const int16_t *weight,
    uint32_t taps, size_t bytes, uint32_t precision)
{
    if (bytes < 32)
        stk__vertical_scalar(dst, rows, weight, taps, bytes, precision);
    else if (taps == 2)
        down_rows(dst, rows, weight, 2, bytes, precision);
    else if (taps == 4)
        down_rows(dst, rows, weight, 4, bytes, precision);
    else
        down_rows(dst, rows, weight, taps, bytes, precision);
}

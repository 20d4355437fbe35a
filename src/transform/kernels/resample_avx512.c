/*
 * Both passes of resampling for AVX-512 (F, BW, VL): built with the flags of these and no others.
 *
 * Horizontal: four outputs of one row, one in each 128-bit lane. One permutation brings the taps of
 * all four from 16 pixels in a row, which reach as long as the scale is below about four; wider
 * filters and short rows are left to AVX2. Vertical: as for AVX2, 64 bytes at a time.
 */
#include <immintrin.h>
#include <string.h>

#include "base/compiler.h"
#include "transform/kernels/kernels_x86.h"

enum {
    REACH = 16,   /* pixels of one load */
    OUTPUTS = 16, /* of one step: four groups of four */
    PER_MOST = 8, /* weights of four outputs fill a register */
};

/* Pixels 0 and 1, or 2 and 3, of each lane to pairs of one channel, zero extended. */
STK__INLINE __m512i low_pairs(__m512i pixels)
{
    const __m512i order = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));

    return _mm512_shuffle_epi8(pixels, order);
}

STK__INLINE __m512i high_pairs(__m512i pixels)
{
    const __m512i order = _mm512_broadcast_i32x4(
        _mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1));

    return _mm512_shuffle_epi8(pixels, order);
}

/* Four outputs: where their 16 pixels begin, and which of them are taps 0 to 3 of each lane. */
typedef struct group {
    size_t at;
    __m512i index;
} group;

STK__INLINE uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* first[] of a group rises or, for a flipped picture, falls. */
STK__INLINE group group_at(const uint32_t *first, uint32_t inputs)
{
    const uint32_t base = lower(lower(first[0], first[3]), inputs - REACH);
    const __m512i spread = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i tap = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    const __m512i firsts = _mm512_permutexvar_epi32(
        spread, _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)first)));
    group g;

    g.at = (size_t)base * 4;
    g.index = _mm512_add_epi32(_mm512_sub_epi32(firsts, _mm512_set1_epi32((int)base)), tap);
    return g;
}

/* Weight pair number `pair` of each of four outputs, in its lane. */
STK__INLINE __m512i weights_of(const int16_t *weight, uint32_t per, uint32_t pair)
{
    const int step = (int)(per / 2), p = (int)pair;
    const __m512i index = _mm512_add_epi32(_mm512_set1_epi32(p),
        _mm512_setr_epi32(0, 0, 0, 0, step, step, step, step, 2 * step, 2 * step, 2 * step,
            2 * step, 3 * step, 3 * step, 3 * step, 3 * step));

    return _mm512_permutexvar_epi32(index, _mm512_loadu_si512(weight));
}

/* Sums of a group of one row, weights in registers already for up to four taps. */
STK__INLINE __m512i few_taps(
    const uint8_t *src, group g, __m512i low, __m512i high, uint32_t per, __m512i half)
{
    const __m512i pixels = _mm512_permutexvar_epi32(g.index, _mm512_loadu_si512(src + g.at));
    __m512i sum = _mm512_add_epi32(half, _mm512_madd_epi16(low_pairs(pixels), low));

    if (per > 2)
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(high_pairs(pixels), high));
    return sum;
}

STK__INLINE __m512i more_taps(
    const uint8_t *src, group g, const int16_t *weight, uint32_t per, __m512i half)
{
    const __m512i row = _mm512_loadu_si512(src + g.at);
    __m512i sum = half;

    for (uint32_t t = 0; t < per; t += 4) {
        const __m512i index = _mm512_add_epi32(g.index, _mm512_set1_epi32((int)t));
        const __m512i pixels = _mm512_permutexvar_epi32(index, row);

        sum = _mm512_add_epi32(
            sum, _mm512_madd_epi16(low_pairs(pixels), weights_of(weight, per, t / 2)));
        if (t + 2 < per)
            sum = _mm512_add_epi32(
                sum, _mm512_madd_epi16(high_pairs(pixels), weights_of(weight, per, t / 2 + 1)));
    }
    return sum;
}

/* 16 outputs of a row, group g in s[g]: shifted, clipped, as 48 bytes of RGB. */
STK__INLINE void store_sixteen(uint8_t *dst, const __m512i *s, __m128i precision)
{
    const __m512i by_groups =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i rgb = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m512i close = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
    const __m512i low =
        _mm512_packs_epi32(_mm512_sra_epi32(s[0], precision), _mm512_sra_epi32(s[1], precision));
    const __m512i high =
        _mm512_packs_epi32(_mm512_sra_epi32(s[2], precision), _mm512_sra_epi32(s[3], precision));
    __m512i bytes = _mm512_permutexvar_epi32(by_groups, _mm512_packus_epi16(low, high));

    bytes = _mm512_permutexvar_epi32(close, _mm512_shuffle_epi8(bytes, rgb));
    _mm512_mask_storeu_epi32(dst, 0x0fff, bytes);
}

/* `per` is a constant where the caller knows it. */
STK__INLINE void all_rows(uint8_t *const *dst, const uint8_t *const *src, uint32_t rows,
    const stk__taps *taps, uint32_t per)
{
    const __m512i half = _mm512_set1_epi32(1 << (taps->precision - 1));
    const __m128i precision = _mm_cvtsi32_si128((int)taps->precision);

    for (uint32_t i = 0; i < taps->count;) {
        const int16_t *weight = taps->weight + (size_t)i * per;
        group g[4];
        __m512i low[4], high[4], s[4];

        for (size_t k = 0; k < 4; k++) {
            g[k] = group_at(taps->first + i + k * 4, taps->inputs);
            low[k] = weights_of(weight + k * 4 * per, per, 0);
            high[k] = per > 2 ? weights_of(weight + k * 4 * per, per, 1) : low[k];
        }
        for (uint32_t row = 0; row < rows; row++) {
            for (size_t k = 0; k < 4; k++)
                s[k] = per <= 4 ? few_taps(src[row], g[k], low[k], high[k], per, half)
                                : more_taps(src[row], g[k], weight + k * 4 * per, per, half);
            store_sixteen(dst[row] + (size_t)i * 3, s, precision);
        }
        i += OUTPUTS;
        if (i < taps->count && i + OUTPUTS > taps->count)
            i = taps->count - OUTPUTS; /* the last of them once more in part */
    }
}

void stk__horizontal_avx512(
    uint8_t *const *dst, const uint8_t *const *src, uint32_t rows, const stk__taps *taps)
{
    if (taps->count < OUTPUTS || taps->inputs < REACH || taps->per > PER_MOST ||
        taps->spread + taps->per > REACH)
        stk__horizontal_avx2(dst, src, rows, taps);
    else if (taps->per == 2)
        all_rows(dst, src, rows, taps, 2);
    else if (taps->per == 4)
        all_rows(dst, src, rows, taps, 4);
    else
        all_rows(dst, src, rows, taps, taps->per);
}

/* The sums of 64 bytes of a row, in the order of unpacking. */
typedef struct row_sums {
    __m512i s[4];
} row_sums;

/* Two more rows. */
STK__INLINE row_sums two_rows(
    row_sums sum, const uint8_t *first, const uint8_t *second, __m512i pair)
{
    const __m512i zero = _mm512_setzero_si512();
    const __m512i a = _mm512_loadu_si512(first), b = _mm512_loadu_si512(second);
    const __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);

    sum.s[0] = _mm512_add_epi32(sum.s[0], _mm512_madd_epi16(_mm512_unpacklo_epi8(low, zero), pair));
    sum.s[1] = _mm512_add_epi32(sum.s[1], _mm512_madd_epi16(_mm512_unpackhi_epi8(low, zero), pair));
    sum.s[2] =
        _mm512_add_epi32(sum.s[2], _mm512_madd_epi16(_mm512_unpacklo_epi8(high, zero), pair));
    sum.s[3] =
        _mm512_add_epi32(sum.s[3], _mm512_madd_epi16(_mm512_unpackhi_epi8(high, zero), pair));
    return sum;
}

STK__INLINE __m512i clipped(row_sums sum, __m128i precision)
{
    const __m512i low = _mm512_packs_epi32(
        _mm512_sra_epi32(sum.s[0], precision), _mm512_sra_epi32(sum.s[1], precision));
    const __m512i high = _mm512_packs_epi32(
        _mm512_sra_epi32(sum.s[2], precision), _mm512_sra_epi32(sum.s[3], precision));

    return _mm512_packus_epi16(low, high);
}

STK__INLINE __m512i weight_pair(const int16_t *weight)
{
    int32_t pair;

    memcpy(&pair, weight, sizeof pair);
    return _mm512_set1_epi32(pair);
}

STK__INLINE void down_rows(uint8_t *dst, const uint8_t *const *rows, const int16_t *weight,
    uint32_t taps, size_t bytes, uint32_t precision)
{
    const __m512i half = _mm512_set1_epi32(1 << (precision - 1));
    const __m128i shift = _mm_cvtsi32_si128((int)precision);

    for (size_t i = 0; i < bytes;) {
        row_sums sum = {{half, half, half, half}};

        for (uint32_t t = 0; t < taps; t += 2)
            sum = two_rows(sum, rows[t] + i, rows[t + 1] + i, weight_pair(weight + t));
        _mm512_storeu_si512(dst + i, clipped(sum, shift));
        i += 64;
        if (i < bytes && i + 64 > bytes)
            i = bytes - 64; /* the last 64 once more in part */
    }
}

void stk__vertical_avx512(uint8_t *dst, const uint8_t *const *rows, const int16_t *weight,
    uint32_t taps, size_t bytes, uint32_t precision)
{
    if (bytes < 64)
        stk__vertical_avx2(dst, rows, weight, taps, bytes, precision);
    else if (taps == 2)
        down_rows(dst, rows, weight, 2, bytes, precision);
    else if (taps == 4)
        down_rows(dst, rows, weight, 4, bytes, precision);
    else
        down_rows(dst, rows, weight, taps, bytes, precision);
}

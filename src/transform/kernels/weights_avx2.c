/*
 * Weights of an antialiased resampling for AVX2: built with -mavx2 and no other flag of its own.
 *
 * Four outputs at a time, tap by tap: the operations of the scalar twin in the same order, so the
 * doubles are the same bit for bit.
 */
#include <immintrin.h>
#include <string.h>

#include "base/compiler.h"
#include "transform/kernels/kernels_x86.h"

STK__INLINE __m256d size_of(__m256d x)
{
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}

STK__INLINE __m256d triangles(__m256d x)
{
    const __m256d one = _mm256_set1_pd(1), size = size_of(x);

    return _mm256_and_pd(_mm256_sub_pd(one, size), _mm256_cmp_pd(size, one, _CMP_LT_OQ));
}

/* a * b + c with two roundings */
STK__INLINE __m256d times_plus(__m256d a, __m256d b, double c)
{
    return _mm256_add_pd(_mm256_mul_pd(a, b), _mm256_set1_pd(c));
}

/* stk__cubic(x, -0.5): both pieces, then the one that holds. */
STK__INLINE __m256d cubics(__m256d x)
{
    const double a = -0.5;
    const __m256d size = size_of(x);
    __m256d near = _mm256_sub_pd(_mm256_mul_pd(_mm256_set1_pd(a + 2), size), _mm256_set1_pd(a + 3));
    __m256d far = times_plus(_mm256_sub_pd(size, _mm256_set1_pd(5)), size, 8);

    near = times_plus(_mm256_mul_pd(near, size), size, 1);
    far = _mm256_sub_pd(_mm256_mul_pd(far, size), _mm256_set1_pd(4));
    far = _mm256_mul_pd(far, _mm256_set1_pd(a));
    far = _mm256_and_pd(far, _mm256_cmp_pd(size, _mm256_set1_pd(2), _CMP_LT_OQ));
    return _mm256_blendv_pd(far, near, _mm256_cmp_pd(size, _mm256_set1_pd(1), _CMP_LT_OQ));
}

/* Outputs i to i + 3. Returns the larger of `largest` and their weights, lane by lane. */
STK__INLINE __m256d four_outputs(const stk__axis_build *b, uint32_t i, bool cubic, __m256d largest)
{
    const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)(b->first + i));
    const __m128i taps = _mm_loadu_si128((const __m128i *)(const void *)(b->taps + i));
    const __m256d shrink = _mm256_set1_pd(b->scale >= 1 ? 1 / b->scale : 1);
    const __m256d number = _mm256_add_pd(_mm256_set1_pd(i + 0.5), _mm256_setr_pd(0, 1, 2, 3));
    const __m256d centre = _mm256_mul_pd(_mm256_set1_pd(b->scale), number);
    const __m256d half = _mm256_set1_pd(0.5);
    __m256d total = _mm256_setzero_pd();

    for (uint32_t tap = 0; tap < b->most; tap++) {
        const __m128i at = _mm_set1_epi32((int)tap);
        const __m256d inside =
            _mm256_castsi256_pd(_mm256_cvtepi32_epi64(_mm_cmpgt_epi32(taps, at)));
        __m256d x = _mm256_sub_pd(_mm256_cvtepi32_pd(_mm_add_epi32(first, at)), centre);
        __m256d weight;

        x = _mm256_mul_pd(_mm256_add_pd(x, half), shrink);
        weight = _mm256_and_pd(cubic ? cubics(x) : triangles(x), inside);
        _mm256_storeu_pd(b->exact + (size_t)tap * b->outputs + i, weight);
        total = _mm256_add_pd(total, weight);
    }
    for (uint32_t tap = 0; tap < b->most; tap++) {
        double *at = b->exact + (size_t)tap * b->outputs + i;
        const __m256d weight = _mm256_div_pd(_mm256_loadu_pd(at), total);

        _mm256_storeu_pd(at, weight);
        largest = _mm256_max_pd(largest, weight);
    }
    return largest;
}

STK__INLINE double all_outputs(const stk__axis_build *b, bool cubic)
{
    __m256d largest = _mm256_setzero_pd();
    double lanes[4];

    for (uint32_t i = 0; i < b->outputs;) {
        largest = four_outputs(b, i, cubic, largest);
        i += 4;
        if (i < b->outputs && i + 4 > b->outputs)
            i = b->outputs - 4; /* the last four once more in part */
    }
    _mm256_storeu_pd(lanes, largest);
    for (int k = 1; k < 4; k++)
        lanes[0] = lanes[k] > lanes[0] ? lanes[k] : lanes[0];
    return lanes[0];
}

double stk__filter_avx2(const stk__axis_build *b, bool cubic)
{
    if (b->outputs < 4)
        return stk__filter_scalar(b, cubic);
    return cubic ? all_outputs(b, true) : all_outputs(b, false);
}

/* Four numbers to the nearest integers, halves away from 0. */
STK__INLINE __m128i rounded(const double *exact, __m256d unit)
{
    const __m256d w = _mm256_mul_pd(_mm256_loadu_pd(exact), unit);
    const __m256d sign = _mm256_and_pd(_mm256_set1_pd(-0.0), w);

    return _mm256_cvttpd_epi32(_mm256_add_pd(w, _mm256_or_pd(_mm256_set1_pd(0.5), sign)));
}

void stk__round_avx2(const stk__axis_build *b, uint32_t precision, int16_t *weight, uint32_t per)
{
    const __m256d unit = _mm256_set1_pd((double)(1 << precision));

    if (b->outputs < 4) {
        stk__round_scalar(b, precision, weight, per);
        return;
    }
    for (size_t i = 0; i < b->outputs;) {
        for (uint32_t tap = 0; tap < per; tap++) {
            int32_t four[4] = {0};

            if (tap < b->most) {
                __m128i whole = rounded(b->exact + (size_t)tap * b->outputs + i, unit);
                memcpy(four, &whole, sizeof four);
            }
            for (size_t k = 0; k < 4; k++)
                weight[(i + k) * per + tap] = (int16_t)four[k];
        }
        i += 4;
        if (i < b->outputs && i + 4 > b->outputs)
            i = b->outputs - 4;
    }
}

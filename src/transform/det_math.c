/* exp and log that give the same bits on every machine: see det_math.h. */
#include "transform/det_math.h"

#include <stdint.h>
#include <string.h>

/* ln 2 in two parts: the first has 17 trailing zero bits, so that its product with an exponent is
 * exact. */
#define LN2_HIGH 0x1.62e42fefa0000p-1
#define LN2_LOW  0x1.cf79abc9e3b3ap-40

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2 to the n, -1022 <= n <= 1023. */
static double power_of_two(int n)
{
    return double_of((uint64_t)(n + 1023) << 52);
}

double stk__round_even(double x)
{
    double down = (double)(int64_t)x, rest;

    if (down > x)
        down -= 1;
    rest = x - down; /* exact */
    if (rest > 0.5 || (rest == 0.5 && ((int64_t)down & 1) != 0))
        down += 1;
    return down;
}

/*
 * x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). With s = f / (2 + f):
 * log(1 + f) = 2 (s + s^3/3 + s^5/5 + ...) = f - s (f - R), R = 2 (s^2/3 + s^4/5 + ...),
 * whose large part is exact. |s| < 0.1716: the term after s^22/23 is below 2^-60.
 */
double stk__log(double x)
{
    static const double coefficient[] = {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13,
        2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    int exponent = 0;
    uint64_t bits;
    double f, s, square, rest = 0;

    if (x < 0x1p-1022) {
        x *= 0x1p54;
        exponent = -54;
    }
    bits = bits_of(x);
    exponent += (int)(bits >> 52) - 1023;
    x = double_of((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
    if (x >= 0x1.6a09e667f3bcdp+0) {
        x *= 0.5;
        exponent++;
    }
    f = x - 1;
    s = f / (2 + f);
    square = s * s;
    for (int i = (int)(sizeof coefficient / sizeof coefficient[0]) - 1; i >= 0; i--)
        rest = rest * square + coefficient[i];
    rest *= square;
    if (exponent == 0)
        return f - s * (f - rest);
    return exponent * LN2_HIGH - ((s * (f - rest) - exponent * LN2_LOW) - f);
}

/*
 * x = k ln 2 + r, |r| <= ln 2 / 2; e^r = 1 + (r + r^2 (1/2 + r/6 + ...)) by its series: the term
 * after r^14/14! is below 2^-62.
 */
double stk__exp(double x)
{
    static const double coefficient[] = {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600,
        1.0 / 6227020800, 1.0 / 87178291200};
    double k, r, sum = 0;
    int n;

    if (x > 709.79)
        return double_of(0x7ff0000000000000u);
    if (x < -745.14)
        return 0;
    k = stk__round_even(x * 0x1.71547652b82fep+0);
    r = (x - k * LN2_HIGH) - k * LN2_LOW;
    for (int i = (int)(sizeof coefficient / sizeof coefficient[0]) - 1; i >= 0; i--)
        sum = sum * r + coefficient[i];
    sum = 1 + (r + r * r * sum);
    n = (int)k;
    if (n > 1023) /* by two steps where 2^n itself is no number */
        return sum * 2 * power_of_two(n - 1);
    if (n < -1022)
        return sum * power_of_two(n + 54) * 0x1p-54;
    return sum * power_of_two(n);
}

/*
 * exp and log that give the same bits on every machine.
 *
 * The sizes of random crops are rounded from them, so one bit in the last place moves a crop by a
 * pixel; libraries of C differ in that bit. Only +, -, * and / of doubles are used, which IEEE 754
 * fixes, and the build forbids contraction. sqrt() is exact by the same standard and taken from
 * libm.
 */
#ifndef STK__DET_MATH_H
#define STK__DET_MATH_H

/* Natural logarithm of a finite x > 0, subnormal ones included. Off by less than 1 unit in the last
 * place. */
double stk__log(double x);

/* e to the x, for finite x; 0 below the smallest subnormal, infinity above the largest number. Off
 * by less than 1 unit in the last place of a normal result. */
double stk__exp(double x);

/* To the nearest integer, halves to the even one, whatever the rounding mode says. |x| < 2^52. */
double stk__round_even(double x);

#endif

// Elementary functions that give the same bits on every machine, from every compiler and at every
// level of optimisation: the C library's functions differ between versions and processors in the
// last bit, and a draw that differs could fall to the other side of a nanosecond. The functions use
// only + - * /, which IEEE 754 defines exactly, and no fused multiply-add (-ffp-contract=off).
// Errors are below one unit in the last place. Of a million arguments each the largest errors were
// 0.87 (sinpi and cospi), 0.75 for subnormal results, 0.52 else:
// tests/unit/kernel/functions_test.cpp.
//
// SPDX-License-Identifier: MIT
#pragma once

namespace retrysim::kernel {

// The result is NaN for NaN, infinity if it is too large, and 0 if it is too small.

double exp(double x);
/// 2 to the power of `x`.
double exp2(double x);
/// Natural logarithm; minus infinity at 0, NaN below.
double log(double x);
/// log(1 + x), exact also for small `x`.
double log1p(double x);
/// `x` to the power of `y`, for x >= 0; NaN below. Anything to the power of 0 is 1.
double pow(double x, double y);
double cbrt(double x);
double tanh(double x);
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
double erf(double x);
/// The gamma function, for x > 0; infinity at 0, NaN below. Takes a microsecond.
double tgamma(double x);
/// The sine and cosine of pi x, for finite `x`.
double sinpi(double x);
double cospi(double x);

}  // namespace retrysim::kernel

// The functions of SLEEF that the engine uses, by the C library: SLEEF's source is no package that
// the build could use. Their last bits may differ.
//
// SPDX-License-Identifier: MIT
#pragma once
#include <math.h>

inline double Sleef_cinz_powd1_u10purec(double x, double y) { return pow(x, y); }
inline double Sleef_cinz_expd1_u10purec(double x) { return exp(x); }
inline double Sleef_cinz_logd1_u10purec(double x) { return log(x); }
inline double Sleef_cinz_log1pd1_u10purec(double x) { return log1p(x); }
inline double Sleef_cinz_exp2d1_u10purec(double x) { return exp2(x); }
inline double Sleef_cinz_tanhd1_u10purec(double x) { return tanh(x); }
inline double Sleef_cinz_cbrtd1_u10purec(double x) { return cbrt(x); }
inline double Sleef_cinz_erfd1_u10purec(double x) { return erf(x); }
inline double Sleef_cinz_tgammad1_u10purec(double x) { return tgamma(x); }
inline double Sleef_cinz_cospid1_u05purec(double x) { return cos(M_PI * x); }
inline double Sleef_cinz_sinpid1_u05purec(double x) { return sin(M_PI * x); }

// Boost.Math without work before main. For number types that are made from text, Boost.Math
// computes some values of each function that a program uses before main begins, so that constants
// are ready before there are threads. The constants of long double are known to the compiler:
// computing them anyway costs time at every start, and ends the program under valgrind, where long
// double is shorter than the compiler says. Every file that uses Boost.Math includes this header as
// well; otherwise the test cli/start fails.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <boost/math/tools/config.hpp>

namespace boost::math {

struct nothing_before_main {
  static void force_instantiate() {}
};

namespace lanczos {
template <class Lanczos, class T>
struct lanczos_initializer;
template <class Lanczos>
struct lanczos_initializer<Lanczos, long double> : nothing_before_main {};
}  // namespace lanczos

namespace detail {
template <class T, class Policy>
struct digamma_initializer;
template <class T, class Policy, class tag>
struct erf_initializer;
template <class T, class Policy>
struct erf_inv_initializer;
template <class T, class Policy, class tag>
struct expm1_initializer;
template <class T, class Policy>
struct igamma_initializer;
template <class T, class Policy>
struct lgamma_initializer;
template <class T, class Policy, class tag>
struct log1p_initializer;
template <class T>
struct min_shift_initializer;
template <class T, class Policy>
struct trigamma_initializer;

template <class Policy>
struct digamma_initializer<long double, Policy> : nothing_before_main {};
template <class Policy, class tag>
struct erf_initializer<long double, Policy, tag> : nothing_before_main {};
template <class Policy>
struct erf_inv_initializer<long double, Policy> : nothing_before_main {};
template <class Policy, class tag>
struct expm1_initializer<long double, Policy, tag> : nothing_before_main {};
template <class Policy>
struct igamma_initializer<long double, Policy> : nothing_before_main {};
template <class Policy>
struct lgamma_initializer<long double, Policy> : nothing_before_main {};
template <class Policy, class tag>
struct log1p_initializer<long double, Policy, tag> : nothing_before_main {};
template <>
struct min_shift_initializer<double> : nothing_before_main {};
template <>
struct min_shift_initializer<long double> : nothing_before_main {};
template <class Policy>
struct trigamma_initializer<long double, Policy> : nothing_before_main {};
}  // namespace detail

}  // namespace boost::math

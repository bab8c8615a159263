// SPDX-License-Identifier: MIT
#include "measure/fourier.hpp"

#include <retrysim/stop.hpp>

#include <sleef.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace retrysim::stats {
namespace {

struct Complex {
  double re = 0, im = 0;
};

Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex conjugate(Complex a) { return {a.re, -a.im}; }
double square(Complex a) { return a.re * a.re + a.im * a.im; }

/// exp(-i pi `half_turns`).
Complex unit(double half_turns) {
  return {Sleef_cinz_cospid1_u05purec(half_turns), -Sleef_cinz_sinpid1_u05purec(half_turns)};
}

/// unit(2 k / n) for k < n / 2; n is a power of two. Every replication asks for the same ones,
/// which take longer to compute than the rest of a transform, so each thread keeps them.
const std::vector<Complex>& roots_of_unity(std::size_t n) {
  thread_local std::map<std::size_t, std::vector<Complex>> kept;
  std::vector<Complex>& roots = kept[n];
  if (roots.empty()) {
    for (std::size_t k = 0; k < n / 2; ++k) {
      roots.push_back(unit(2 * static_cast<double>(k) / static_cast<double>(n)));
    }
  }
  return roots;
}

/// unit(k^2 / n) for k < n. Each thread keeps those of the last n.
const std::vector<Complex>& chirp_of(std::size_t n) {
  thread_local std::vector<Complex> chirp;
  if (chirp.size() != n) {
    chirp.clear();
    for (std::uint64_t k = 0; k < n; ++k) {
      chirp.push_back(unit(static_cast<double>(k * k % (2 * n)) / static_cast<double>(n)));
    }
  }
  return chirp;
}

/// The discrete Fourier transform in place, by radix two; the length is a power of two.
void transform(std::vector<Complex>& x) {
  const std::size_t n = x.size();
  for (std::size_t i = 1, reversed = 0; i < n; ++i) {
    std::size_t bit = n / 2;
    for (; reversed & bit; bit /= 2) reversed ^= bit;
    reversed ^= bit;
    if (i < reversed) std::swap(x[i], x[reversed]);
  }
  const std::vector<Complex>& roots = roots_of_unity(n);
  for (std::size_t half = 1; half < n; half *= 2) {
    stop_point();
    const std::size_t stride = n / (2 * half);
    for (std::size_t from = 0; from < n; from += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const Complex even = x[from + k], odd = x[from + k + half] * roots[k * stride];
        x[from + k] = even + odd;
        x[from + k + half] = even - odd;
      }
    }
  }
}

/// The inverse of `transform`.
void transform_back(std::vector<Complex>& x) {
  for (Complex& c : x) c = conjugate(c);
  transform(x);
  const double scale = 1 / static_cast<double>(x.size());
  for (Complex& c : x) c = {c.re * scale, -c.im * scale};
}

std::vector<double> around_the_mean(std::span<const double> values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::vector<double> centred(values.begin(), values.end());
  for (double& v : centred) v -= mean;
  return centred;
}

}  // namespace

// Bluestein's algorithm: jk = (j^2 + k^2 - (k - j)^2) / 2 turns a transform of any length into a
// convolution, which transforms of a power of two compute.
std::vector<double> periodogram(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 3) return {};
  const std::vector<double> centred = around_the_mean(values);
  const std::size_t length = std::bit_ceil(2 * n - 1);
  const std::vector<Complex>& chirp = chirp_of(n);
  std::vector<Complex> a(length), b(length);
  for (std::size_t k = 0; k < n; ++k) {
    a[k] = {centred[k] * chirp[k].re, centred[k] * chirp[k].im};
    b[k] = conjugate(chirp[k]);
    if (k > 0) b[length - k] = b[k];
  }
  transform(a);
  transform(b);
  for (std::size_t k = 0; k < length; ++k) a[k] = a[k] * b[k];
  transform_back(a);
  std::vector<double> ordinates;
  for (std::size_t k = 1; k <= (n - 1) / 2; ++k) {
    ordinates.push_back(square(a[k] * chirp[k]) / static_cast<double>(n));
  }
  return ordinates;
}

std::vector<double> autocorrelations(std::span<const double> values, std::size_t max_lag) {
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
    return {};
  }
  const std::vector<double> centred = around_the_mean(values);
  // Zeros behind the values keep the far ends apart: the transform goes round in a circle.
  std::vector<Complex> x(std::bit_ceil(values.size() + max_lag));
  for (std::size_t i = 0; i < centred.size(); ++i) x[i].re = centred[i];
  transform(x);
  for (Complex& c : x) c = {square(c), 0};
  transform_back(x);
  std::vector<double> correlations{1};
  for (std::size_t lag = 1; lag <= max_lag; ++lag) {
    correlations.push_back(x[lag].re / x[0].re);
  }
  return correlations;
}

}  // namespace retrysim::stats

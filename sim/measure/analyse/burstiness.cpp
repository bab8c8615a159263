// Fourier transforms of any length, and the burstiness figures computed with them.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/burstiness.hpp"

#include "kernel/functions.hpp"
#include "kernel/stop.hpp"

#include "measure/analyse/recovery.hpp"

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
Complex unit(double half_turns) { return {kernel::cospi(half_turns), -kernel::sinpi(half_turns)}; }

/// unit(2 k / n) for k < n / 2; n is a power of two. Every replication needs the same roots, which
/// take longer to compute than the rest of a transform, so each thread keeps them.
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

/// unit(k^2 / n) for k < n. Each thread keeps the values for the last n.
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

// --- Burstiness ----------------------------------------------------------------------------------

namespace {

constexpr std::size_t kMaxBins = 16384;
constexpr std::size_t kMinBins = 8;      // fewest bins for correlations and spectra
constexpr std::size_t kMinWindows = 30;  // fewest windows for an index of dispersion

/// Pairs of neighbours joined; an odd one at the end is left out.
ArrivalCounts pairs_of(const ArrivalCounts& arrivals) {
  ArrivalCounts pairs;
  pairs.bin_s = 2 * arrivals.bin_s;
  for (std::size_t i = 1; i < arrivals.counts.size(); i += 2) {
    pairs.counts.push_back(arrivals.counts[i - 1] + arrivals.counts[i]);
  }
  return pairs;
}

double integer_power(double base, std::size_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) power *= base;
  }
  return power;
}

std::optional<Echo> find_strongest_echo(const ArrivalCounts& arrivals) {
  if (arrivals.counts.size() < kMinBins) return std::nullopt;
  const std::vector<double> correlations =
      autocorrelations(arrivals.counts, arrivals.counts.size() / 4);
  if (correlations.empty()) return std::nullopt;
  const auto largest = std::max_element(correlations.begin() + 1, correlations.end());
  const auto lag = static_cast<double>(largest - correlations.begin());
  return Echo{lag * arrivals.bin_s, *largest};
}

std::optional<SpectralPeak> find_spectral_peak(const ArrivalCounts& arrivals) {
  if (arrivals.counts.size() < kMinBins) return std::nullopt;
  std::vector<double> ordinates = periodogram(arrivals.counts);
  const auto largest = std::max_element(ordinates.begin(), ordinates.end());
  const auto cycles = static_cast<double>(largest - ordinates.begin() + 1);
  const double peak = *largest;
  const double sum = std::accumulate(ordinates.begin(), ordinates.end(), 0.0);
  const auto middle = ordinates.begin() + static_cast<std::ptrdiff_t>(ordinates.size() / 2);
  std::nth_element(ordinates.begin(), middle, ordinates.end());
  // After a transform, a value that should be zero is a rounding error, and a ratio to it would
  // mean nothing.
  constexpr double kRounding = 1e-20;
  if (*middle <= kRounding * peak || peak <= 0) return std::nullopt;
  const double length_s = static_cast<double>(arrivals.counts.size()) * arrivals.bin_s;
  return SpectralPeak{cycles / length_s, peak / *middle,
                      fisher_p_value(peak / sum, ordinates.size())};
}

/// The last result of a function of arrival counts: several metrics ask for parts of one result,
/// and all groups together are often just the one group that there is.
template <typename Result>
class Remembered {
 public:
  template <typename Function>
  const Result& value(const ArrivalCounts& arrivals, Function function) {
    if (!known_ || arrivals.bin_s != arrivals_.bin_s || arrivals.counts != arrivals_.counts) {
      result_ = function(arrivals);
      arrivals_ = arrivals;
      known_ = true;
    }
    return result_;
  }

 private:
  ArrivalCounts arrivals_;
  Result result_;
  bool known_ = false;
};

}  // namespace

ArrivalCounts arrival_counts(const RunResult& run, std::span<const ClientBin> bins, bool join) {
  ArrivalCounts arrivals;
  arrivals.bin_s = run.interval.in_seconds();
  const BinRange range = window_bins(run, bins);
  for (std::size_t i = range.first; i < range.last; ++i) {
    arrivals.counts.push_back(static_cast<double>(bins[i].flow.arrivals));
  }
  while (join && arrivals.counts.size() > kMaxBins) arrivals = pairs_of(arrivals);
  return arrivals;
}

std::optional<double> dispersion_index(std::span<const double> counts) {
  if (counts.size() < 2) return std::nullopt;
  const double n = static_cast<double>(counts.size());
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / n;
  if (mean <= 0) return std::nullopt;
  double squares = 0;
  for (const double c : counts) squares += (c - mean) * (c - mean);
  return squares / (n - 1) / mean;
}

std::vector<Dispersion> dispersion_ladder(const ArrivalCounts& arrivals) {
  std::vector<Dispersion> ladder;
  for (ArrivalCounts a = arrivals; a.counts.size() >= kMinWindows; a = pairs_of(a)) {
    if (const auto index = dispersion_index(a.counts)) ladder.push_back({a.bin_s, *index});
  }
  return ladder;
}

std::optional<Echo> strongest_echo(const ArrivalCounts& arrivals) {
  thread_local Remembered<std::optional<Echo>> last;
  return last.value(arrivals, find_strongest_echo);
}

std::optional<SpectralPeak> spectral_peak(const ArrivalCounts& arrivals) {
  thread_local Remembered<std::optional<SpectralPeak>> last;
  return last.value(arrivals, find_spectral_peak);
}
// Sum over k >= 1, while k g < 1, of (-1)^(k-1) C(q, k) (1 - k g)^(q-1).
double fisher_p_value(double g, std::size_t q) {
  const auto n = static_cast<double>(q);
  const double expected = n * integer_power(1 - g, q - 1);  // expected number of ordinates so large
  // Terms of opposite sign would cancel beyond recognition where the answer is 1 - 2e-9 or more.
  constexpr double kSurelyMany = 20;
  if (expected > kSurelyMany) return 1;
  double p = 0, binomial = 1, sign = 1;
  for (std::size_t k = 1; k <= q && static_cast<double>(k) * g < 1; ++k, sign = -sign) {
    const auto i = static_cast<double>(k);
    binomial *= (n - i + 1) / i;
    const double term = binomial * integer_power(1 - i * g, q - 1);
    p += sign * term;
    if (term < 1e-17) break;
  }
  return std::clamp(p, 0.0, 1.0);
}

}  // namespace retrysim::stats

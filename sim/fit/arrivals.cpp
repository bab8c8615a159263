// SPDX-License-Identifier: MIT
#include "fit/arrivals.hpp"

#include "kernel/boost_math.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace retrysim::fit {
namespace {

constexpr double kRequestsInBin = 100;
constexpr double kMaxBins = 2000;
constexpr std::size_t kParts = 10;  // parts of a bin
constexpr std::size_t kMinBins = 5;
constexpr std::size_t kBatches = 20;

double nice_width(double least_s) {
  constexpr std::array<double, 9> kLong = {60, 120, 300, 900, 1800, 3600, 7200, 21600, 86400};
  constexpr double kMinute = 60;
  if (least_s > kMinute / 2) {
    const auto at = std::ranges::lower_bound(kLong, least_s);
    return at != kLong.end() ? *at : kLong.back() * std::ceil(least_s / kLong.back());
  }
  double power = std::pow(10.0, std::floor(std::log10(least_s)));
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    if (power * step >= least_s * (1 - 1e-9)) return power * step;
  }
  return 10 * power;
}

/// Numbers of requests in `count` intervals of width `width_ns`.
std::vector<double> counts(std::span<const std::int64_t> times_ns, double width_ns,
                           std::size_t count) {
  std::vector<double> in(count, 0);
  for (const std::int64_t t : times_ns) {
    const auto at = static_cast<std::size_t>(static_cast<double>(t - times_ns.front()) / width_ns);
    if (at < count) in[at] += 1;  // the last bin, which is not whole, is left out
  }
  return in;
}

Dispersion dispersion(double chi_squared, std::size_t degrees) {
  if (degrees == 0) return {};
  const auto df = static_cast<double>(degrees);
  const boost::math::chi_squared_distribution<double> law(df);
  return {chi_squared / df, quantile(law, kChance) / df, quantile(complement(law, kChance)) / df,
          degrees};
}

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

// Standard error of the rate from the variation between batches of bins, valid for any arrival
// process.
double error_of_rate(std::span<const double> bins, double rate, double span_s) {
  const double poisson = std::sqrt(rate / span_s);
  if (bins.size() < 2 * kBatches) return poisson;
  const std::size_t length = bins.size() / kBatches;
  std::array<double, kBatches> batch{};
  for (std::size_t i = 0; i < kBatches; ++i) batch[i] = sum_of(bins.subspan(i * length, length));
  const double mean = sum_of(batch) / kBatches;
  double squares = 0;
  for (const double b : batch) squares += (b - mean) * (b - mean);
  const double deviation = std::sqrt(squares / (kBatches - 1) / kBatches);
  return std::max(poisson, mean == 0 ? 0 : rate * deviation / mean);
}

/// Fills in peak, trough and the rate with its interval.
void describe_rates(FittedArrivals& fit, std::span<const double> in_bin, double rate) {
  fit.peak = *std::ranges::max_element(fit.rates);
  fit.trough = *std::ranges::min_element(fit.rates);
  const boost::math::students_t_distribution<double> t(static_cast<double>(kBatches - 1));
  const double half =
      quantile(complement(t, (1 - kCertainty) / 2)) * error_of_rate(in_bin, rate, fit.span_s);
  fit.rate = {rate, std::max(0.0, rate - half), rate + half};
}

Dispersion dispersion_between(std::span<const double> in_bin) {
  const double mean = sum_of(in_bin) / static_cast<double>(in_bin.size());
  double between = 0;
  for (const double count : in_bin) between += (count - mean) * (count - mean) / mean;
  return dispersion(between, in_bin.size() - 1);
}

}  // namespace

FittedArrivals fit_counts(std::vector<double> counts, double width_s) {
  FittedArrivals fit;
  const double all = sum_of(counts);
  fit.requests = static_cast<std::size_t>(all);
  fit.bin_s = width_s;
  fit.span_s = width_s * static_cast<double>(counts.size());
  for (const double count : counts) fit.rates.push_back(count / width_s);
  describe_rates(fit, counts, all / fit.span_s);
  if (counts.size() < kMinBins) return fit;
  fit.between_bins = dispersion_between(counts);
  if (fit.between_bins.too_high()) fit.kind = ArrivalKind::kVarying;
  return fit;
}

FittedArrivals fit_arrivals(std::span<const std::int64_t> times_ns, std::int64_t resolution_ns) {
  FittedArrivals fit;
  fit.requests = times_ns.size();
  const auto n = static_cast<double>(times_ns.size());
  fit.span_s = static_cast<double>(times_ns.back() - times_ns.front()) * 1e-9;
  const double rate = (n - 1) / fit.span_s;
  const double resolution_s = static_cast<double>(resolution_ns) * 1e-9;
  fit.bin_s =
      nice_width(std::max({kRequestsInBin / rate, fit.span_s / kMaxBins, 10 * resolution_s, 1e-9}));
  const auto bins =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(fit.span_s / fit.bin_s)));
  std::vector<double> part =
      counts(times_ns, fit.bin_s * 1e9 / static_cast<double>(kParts), bins * kParts);
  std::vector<double> in_bin(bins);
  for (std::size_t b = 0; b < bins; ++b) {
    in_bin[b] = sum_of(std::span(part).subspan(b * kParts, kParts));
    fit.rates.push_back(in_bin[b] / std::min(fit.bin_s, fit.span_s));
  }
  describe_rates(fit, in_bin, rate);
  if (bins < kMinBins) return fit;

  double within = 0;
  std::size_t degrees = 0;
  double products = 0;
  std::size_t pairs = 0;
  for (std::size_t b = 0; b < bins; ++b) {
    // Requests per bin, for the chi-squared approximation to hold.
    constexpr double kFewest = 5.0 * kParts;
    if (in_bin[b] < kFewest) continue;
    const double expected = in_bin[b] / static_cast<double>(kParts);
    for (std::size_t i = 0; i < kParts; ++i) {
      const double off = (part[b * kParts + i] - expected) / std::sqrt(expected);
      within += off * off;
      if (i + 1 == kParts) continue;
      products += off * (part[b * kParts + i + 1] - expected) / std::sqrt(expected);
      ++pairs;
    }
    degrees += kParts - 1;
  }
  fit.between_bins = dispersion_between(in_bin);
  fit.within_bins = dispersion(within, degrees);
  if (pairs > 0) {
    // Given their sum, two parts of a bin have the covariance -expected / kParts.
    const double variance = within / static_cast<double>(degrees);
    fit.lag_correlation =
        products / static_cast<double>(pairs) / std::max(variance, 1e-12) + 1.0 / kParts;
    fit.lag_limit = quantile(complement(boost::math::normal(), kChance)) /
                    std::sqrt(static_cast<double>(pairs));
  }
  const bool random = !fit.within_bins.too_high() && !fit.within_bins.too_low() &&
                      !fit.between_bins.too_low() &&
                      (pairs == 0 || std::abs(fit.lag_correlation) <= fit.lag_limit);
  fit.kind = !random                       ? ArrivalKind::kOther
             : fit.between_bins.too_high() ? ArrivalKind::kVarying
                                           : ArrivalKind::kPoisson;
  return fit;
}

}  // namespace retrysim::fit

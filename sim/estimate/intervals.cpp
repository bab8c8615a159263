// The formulas of the intervals. Probabilities: Wilson 1927; Newcombe 1998, method 3;
// Clopper and Pearson 1934.
//
// SPDX-License-Identifier: MIT
#include "estimate/intervals.hpp"

#include <retrysim/metrics.hpp>

#include "kernel/boost_math.hpp"
#include "kernel/stop.hpp"

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retrysim::stats {

ProportionInterval wilson_interval(std::size_t hits, std::size_t trials) {
  if (trials == 0) return {};
  const double n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double z2 = kNormal95 * kNormal95;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      kNormal95 * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  // Without hits, or with hits only, the formula gives 0 or 1 only up to rounding errors.
  return {hits == 0 ? 0 : std::max(0.0, centre - half),
          hits == trials ? 1 : std::min(1.0, centre + half)};
}

ProportionInterval exact_interval(std::size_t hits, std::size_t trials) {
  if (trials == 0) return {};
  constexpr double kTail = 0.025;
  using Binomial = boost::math::binomial;
  const auto n = static_cast<double>(trials), x = static_cast<double>(hits);
  return {hits == 0 ? 0 : Binomial::find_lower_bound_on_p(n, x, kTail),
          hits == trials ? 1 : Binomial::find_upper_bound_on_p(n, x, kTail)};
}

// --- Ratios of counts ----------------------------------------------------------------------------

std::optional<Estimate> jackknife_ratio(std::span<const double> numerators,
                                        std::span<const double> denominators) {
  const std::size_t count = numerators.size();
  if (count < 2) return std::nullopt;
  double y = 0, x = 0;
  for (std::size_t i = 0; i < count; ++i) {
    y += numerators[i];
    x += denominators[i];
  }
  const auto n = static_cast<double>(count);
  std::vector<double> pseudo, own;
  for (std::size_t i = 0; i < count; ++i) {
    const double without = (y - numerators[i]) / (x - denominators[i]);
    pseudo.push_back(n * (y / x) - (n - 1) * without);
    own.push_back(numerators[i] / denominators[i]);
  }
  auto result = estimate(pseudo);
  result->min = *std::min_element(own.begin(), own.end());
  result->max = *std::max_element(own.begin(), own.end());
  return result;
}

Estimate bounded_jackknife_ratio(std::span<const double> y, std::span<const double> x) {
  Estimate result = jackknife_ratio(y, x).value();
  result.mean = std::clamp(result.mean, result.min, result.max);
  result.ci_low = std::min(*result.ci_low, result.mean);
  result.ci_high = std::max(*result.ci_high, result.mean);
  return result;
}

std::optional<Estimate> estimate_of_small_counts(std::span<const double> y,
                                                 std::span<const double> x) {
  if (x.size() < kMinToJackknife) return std::nullopt;
  const auto [fewest, most] = std::minmax_element(x.begin(), x.end());
  if (!(*fewest > 0) || *fewest >= kFewRequests || *fewest == *most) return std::nullopt;
  return bounded_jackknife_ratio(y, x);
}

std::optional<Estimate> estimate_of_small_counts(const MetricValues& values, std::size_t client,
                                                 std::size_t metric) {
  if (metric_table()[metric].per == nullptr) return std::nullopt;
  std::vector<double> y, x;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    const auto value = values.at(r, client, metric);
    if (!value) continue;
    x.push_back(values.per(r, client, metric));
    y.push_back(*value * x.back());
  }
  return estimate_of_small_counts(y, x);
}

// --- Pooled quantiles ----------------------------------------------------------------------------

namespace {

/// An interval around a middle that may be off by a bias: by `low` downwards, by `high` upwards.
struct Reach {
  double low, high;
};

/// Widens an interval for a bias. `half`: t standard errors, its reach without a bias. A bias of d
/// standard errors is made good by t + d of them, or by t sqrt(1 + d^2), which is less for a small
/// d and covers as often: with T of Student's law, density f and c = t + e, P(|T + d| <= c) is to
/// second order in d P(|T| <= t) + 2 e f(t) - d^2 |f'(t)|, and |f'(t)| <= t f(t) for t >= 1, so
/// that e = t d^2 / 2 is enough. (Armstrong and Kolesar, Econometrica 86, 2018, have the exact c.)
Reach with_bias(double half, double t, Reach bias) {
  const double either = std::hypot(half, t * std::max(bias.low, bias.high));
  if (2 * either < 2 * half + bias.low + bias.high) return {either, either};
  return {half + bias.low, half + bias.high};
}

/// Closer bounds on where a quantile lies in its bucket, from how evenly the values are spread over
/// the eight buckets around it. The largest deviation of a count from the line through these may be
/// a heap of equal values in the quantile's bucket; the remaining values lie on a slope. A law with
/// such a heap in each of the nine buckets is not told from an even one.
Histogram::Bounds even_quantile_bounds(const Histogram& histogram, double p) {
  constexpr int kAround = 4;
  const Histogram::Bounds edges = histogram.quantile_bounds(p);
  const double value = histogram.quantile(p);
  const std::size_t bucket = Histogram::index(static_cast<std::uint64_t>(value));
  if (bucket < Histogram::kSubBuckets + kAround || bucket + kAround >= Histogram::kBucketCount) {
    return edges;
  }
  const auto own_width = static_cast<double>(Histogram::width(bucket));
  const auto n = static_cast<double>(histogram.count());
  std::array<double, 2 * kAround + 1> counts{};  // counts, scaled to the quantile's bucket width
  double mean = 0, slope = 0, squares = 0;       // line through the counts of the neighbours
  for (int k = -kAround; k <= kAround; ++k) {
    const std::size_t i = bucket + static_cast<std::size_t>(k + kAround) - kAround;
    const auto first = static_cast<double>(Histogram::lower_bound(i));
    const auto width = static_cast<double>(Histogram::width(i));
    const double share =
        histogram.share_at_or_below(first + width - 1) - histogram.share_at_or_below(first - 1);
    const double count = share * n * own_width / width;
    counts[static_cast<std::size_t>(k + kAround)] = count;
    if (k == 0) continue;
    mean += count / (2 * kAround);
    slope += k * count;
    squares += k * k;
  }
  slope /= squares;
  double off = 0;
  for (int k = -kAround; k <= kAround; ++k) {
    off =
        std::max(off, std::fabs(counts[static_cast<std::size_t>(k + kAround)] - mean - k * slope));
  }
  const double own = std::max(counts[kAround], 1.0);
  const double heap = (off + std::sqrt(own)) / own;  // share of the heap, with an error for chance
  const double tilt = std::fabs(slope) / own;
  const double evenly = 1 - heap - tilt / 2;
  if (evenly <= 0) return edges;
  const double reach = own_width * (heap + tilt / 8) / evenly;
  return {std::max(edges.low, value - reach), std::min(edges.high, value + reach)};
}

}  // namespace

std::optional<PooledQuantile> pooled_quantile(std::span<const Histogram* const> replications,
                                              const Histogram& pooled, double p) {
  const std::optional<double> value = quantile_seconds(pooled, p);
  if (!value) return std::nullopt;
  PooledQuantile result{*value, std::nullopt, std::nullopt};
  const bool supported =
      std::all_of(replications.begin(), replications.end(),
                  [p](const Histogram* h) { return quantile_is_well_supported(*h, p); });
  if (replications.size() < 2 || !supported) return result;
  double squares = 0;
  for (const Histogram* histogram : replications) {
    const double distance = histogram->quantile(p) / 1e9 - *value;
    squares += distance * distance;
  }
  const auto n = static_cast<double>(replications.size());
  const double t = student_t_95(replications.size() - 1);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  // Replications that are all alike say nothing of how the values are spread.
  const Histogram::Bounds bounds =
      squares > 0 ? even_quantile_bounds(pooled, p) : pooled.quantile_bounds(p);
  const Reach reach = with_bias(half, t, {*value - bounds.low / 1e9, bounds.high / 1e9 - *value});
  result.ci_low_s = std::max(0.0, *value - reach.low);
  result.ci_high_s = *value + reach.high;
  return result;
}

namespace {

using Estimates = std::vector<std::optional<Estimate>>;
using SumsOf = const std::vector<double>& (*)(const RunSeries&, std::size_t);

/// Estimates of each bin and column for one group or service; `sums_of` gives its sums in a run.
Estimates estimates_of(const std::vector<RunSeries>& runs, std::size_t index, SumsOf sums_of,
                       std::size_t sums_per_bin, std::span<const SeriesColumn> columns) {
  Estimates estimates;
  std::vector<double> values;
  stop_point();  // bins may be few, and groups many
  StopCounter<1024> stop;
  for (std::size_t bin = 0; bin < runs.front().bins; ++bin) {
    stop.count();
    for (const SeriesColumn& column : columns) {
      values.clear();
      for (const RunSeries& run : runs) {
        const std::span<const double> sums = sums_of(run, index);
        const auto value =
            column.value(sums.subspan(bin * sums_per_bin, sums_per_bin), run.width.in_seconds());
        if (value) values.push_back(*value);
      }
      std::optional<Estimate> found = estimate(values);
      if (found) respect_range(*found, column.range);
      estimates.push_back(found);
    }
  }
  return estimates;
}

}  // namespace

MeanSeries mean_series(std::vector<RunSeries> runs) {
  MeanSeries mean;
  if (runs.empty()) return mean;
  for (const RunSeries& run : runs) mean.width = std::max(mean.width, run.width);
  for (RunSeries& run : runs) {
    widen(run, mean.width);
    mean.bins = std::max(mean.bins, run.bins);
  }
  for (RunSeries& run : runs) extend(run, mean.bins);
  const auto of_client = [](const RunSeries& run, std::size_t i) -> const std::vector<double>& {
    return run.clients[i];
  };
  const auto of_service = [](const RunSeries& run, std::size_t i) -> const std::vector<double>& {
    return run.services[i];
  };
  for (std::size_t i = 0; i < runs.front().clients.size(); ++i) {
    mean.clients.push_back(estimates_of(runs, i, of_client, kClientSums, client_columns()));
  }
  for (std::size_t i = 0; i < runs.front().services.size(); ++i) {
    mean.services.push_back(estimates_of(runs, i, of_service, kServiceSums, service_columns()));
  }
  return mean;
}

}  // namespace retrysim::stats

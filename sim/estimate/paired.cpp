// SPDX-License-Identifier: MIT
#include "estimate/paired.hpp"

#include <retrysim/metrics.hpp>

#include "kernel/boost_math.hpp"

#include <fmt/format.h>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace retrysim::stats {
namespace {

/// `p` rounded to 6 significant digits, in decimal: the same on every machine.
double rounded_p_value(double p) {
  const std::string text = fmt::format("{:.5e}", p);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double rounded_to_decimals(double x) { return std::round(x * 1e10) / 1e10; }

/// The values of the replications that both sides have.
struct Pairs {
  std::vector<double> variant, baseline, difference;
  std::size_t only_variant = 0, only_baseline = 0;
};

Pairs match(const Series& variant, const Series& baseline) {
  Pairs pairs;
  for (std::size_t k = 0; k < std::max(variant.size(), baseline.size()); ++k) {
    const auto a = k < variant.size() ? variant[k] : std::nullopt;
    const auto b = k < baseline.size() ? baseline[k] : std::nullopt;
    if (a && b) {
      pairs.variant.push_back(*a);
      pairs.baseline.push_back(*b);
      pairs.difference.push_back(*a - *b);
    } else if (a) {
      ++pairs.only_variant;
    } else if (b) {
      ++pairs.only_baseline;
    }
  }
  return pairs;
}

/// Sample covariance; the means are those of the two series.
double covariance(const std::vector<double>& x, double mean_x, const std::vector<double>& y,
                  double mean_y) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += (x[k] - mean_x) * (y[k] - mean_y);
  return sum / static_cast<double>(x.size() - 1);
}

/// Whether `up` of `pairs` pairs that go up and `down` that go down are within `z` standard errors
/// of what a true `difference` makes one expect. The standard error is that under the difference:
/// the share of pairs that go down is then the larger root of A q^2 + B q + C = 0, its maximum
/// likelihood.
bool is_within(double up, double down, double pairs, double difference, double z) {
  if (difference < 0) return is_within(down, up, pairs, -difference, z);
  const double a = 2 * pairs;
  const double b = (2 * pairs - up + down) * difference - up - down;
  const double c = -down * difference * (1 - difference);
  const double root = std::sqrt(b * b - 4 * a * c);  // c <= 0
  // The form of the root that subtracts nothing, which avoids cancellation.
  const double q = b <= 0 ? (root - b) / (2 * a) : -2 * c / (root + b);
  const double excess = up - down - pairs * difference;
  return excess * excess <= z * z * pairs * (2 * q + difference * (1 - difference));
}

class Comparison {
 public:
  Comparison(const Series& variant, const Series& baseline)
      : pairs_(match(variant, baseline)), n_(static_cast<double>(pairs_.difference.size())) {
    result_.pairs = pairs_.difference.size();
    result_.only_variant = pairs_.only_variant;
    result_.only_baseline = pairs_.only_baseline;
    if (result_.pairs == 0) return;
    variant_ = *estimate(pairs_.variant);
    baseline_ = *estimate(pairs_.baseline);
    difference_ = *estimate(pairs_.difference);
    result_.mean = variant_.mean;
    result_.baseline_mean = baseline_.mean;
    result_.difference = difference_.mean;
    result_.identical = difference_.min == 0 && difference_.max == 0;
    if (baseline_.mean > 0) result_.relative = difference_.mean / baseline_.mean;
    if (result_.pairs > 1) compare_spread();
  }

  std::size_t pairs() const { return result_.pairs; }

  /// Student's interval and p value, for error probability `error` of the interval.
  PairedDifference student(double error) {
    if (result_.pairs < 2) return result_;
    const std::size_t freedom = result_.pairs - 1;
    const double s = *difference_.stddev;
    const double t = student_quantile(freedom, error);
    const double half = t * s / std::sqrt(n_);
    result_.interval = {difference_.mean - half, difference_.mean + half};
    if (s > 0) {
      result_.p_value = student_p_value(difference_.mean / (s / std::sqrt(n_)), freedom);
    } else {  // every pair has the same difference: no chance
      result_.p_value = difference_.mean == 0 ? 1 : 0;
    }
    set_fieller(t);
    return result_;
  }

  /// McNemar's p value, and Tango's interval widened to zero where the test does not reject.
  PairedDifference mcnemar(double error) {
    if (result_.pairs < 2) return result_;
    std::size_t up = 0;
    std::size_t down = 0;
    for (const double d : pairs_.difference) {
      up += d > 0 ? 1 : 0;
      down += d < 0 ? 1 : 0;
    }
    result_.p_value = mcnemar_p_value(up, down);
    Interval interval = tango_interval(up, down, result_.pairs, error);
    if (*result_.p_value > error) {
      interval = {std::min(interval.low, 0.0), std::max(interval.high, 0.0)};
    }
    result_.interval = interval;
    return result_;
  }

 private:
  void compare_spread() {
    const double s_a = *variant_.stddev;
    const double s_b = *baseline_.stddev;
    const double s_d = *difference_.stddev;
    if (s_d > 0) result_.variance_reduction = (s_a * s_a + s_b * s_b) / (s_d * s_d);
    if (s_a == 0 || s_b == 0) return;
    const double shared =
        covariance(pairs_.variant, variant_.mean, pairs_.baseline, baseline_.mean);
    // Equal differences are perfect correlation, whatever rounding makes of the quotient.
    result_.correlation = s_d == 0 ? 1.0 : std::clamp(shared / (s_a * s_b), -1.0, 1.0);
  }

  // All ratios 1 + r for which mean(d) - r mean(b) is within t standard errors of zero:
  //   A r^2 - 2 B r + C <= 0. Finite on both sides if the baseline differs from zero (A > 0).
  void set_fieller(double t) {
    if (!result_.relative) return;
    const double q = t * t / n_;
    const double s_b = *baseline_.stddev;
    const double s_d = *difference_.stddev;
    const double s_db =
        covariance(pairs_.difference, difference_.mean, pairs_.baseline, baseline_.mean);
    const double a = baseline_.mean * baseline_.mean - q * s_b * s_b;
    if (a <= 0) return;
    const double b = difference_.mean * baseline_.mean - q * s_db;
    const double c = difference_.mean * difference_.mean - q * s_d * s_d;
    const double root = std::sqrt(std::max(0.0, b * b - a * c));
    result_.relative_interval = {(b - root) / a, (b + root) / a};
  }

  Pairs pairs_;
  double n_;
  PairedDifference result_;
  Estimate variant_, baseline_, difference_;
};

}  // namespace

double student_p_value(double t, std::size_t degrees_of_freedom) {
  if (std::isinf(t)) return 0;  // the spread is next to nothing
  const boost::math::students_t distribution(static_cast<double>(degrees_of_freedom));
  return rounded_p_value(2 * boost::math::cdf(distribution, -std::fabs(t)));
}

double student_quantile(std::size_t degrees_of_freedom, double error) {
  const boost::math::students_t distribution(static_cast<double>(degrees_of_freedom));
  return rounded_to_decimals(
      boost::math::quantile(boost::math::complement(distribution, error / 2)));
}

double mcnemar_p_value(std::size_t b, std::size_t c) {
  if (b + c == 0) return 1;
  const boost::math::binomial disagreeing(static_cast<double>(b + c), 0.5);
  const double tail = boost::math::cdf(disagreeing, static_cast<double>(std::min(b, c)));
  return rounded_p_value(std::min(1.0, 2 * tail));
}

Interval tango_interval(std::size_t up, std::size_t down, std::size_t pairs, double error) {
  const auto rise = static_cast<double>(up), fall = static_cast<double>(down);
  const auto n = static_cast<double>(pairs);
  const double z = rounded_to_decimals(
      boost::math::quantile(boost::math::complement(boost::math::normal(), error / 2)));
  // Bisects between the estimate, which is in the interval, and `outermost`.
  const auto end_towards = [&](double outermost) {
    double inside = (rise - fall) / n;
    if (is_within(rise, fall, n, outermost, z)) return outermost;
    double outside = outermost;
    while (std::fabs(outside - inside) > 1e-13) {
      const double middle = (inside + outside) / 2;
      (is_within(rise, fall, n, middle, z) ? inside : outside) = middle;
    }
    return rounded_to_decimals(inside);
  };
  return {end_towards(-1), end_towards(1)};
}

std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return *p_values[a] < *p_values[b]; });
  std::vector<std::optional<double>> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double factor = static_cast<double>(order.size() - i);
    largest = std::max(largest, std::min(1.0, factor * *p_values[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

std::vector<PairedDifference> paired_differences(std::span<const Series> variants,
                                                 const Series& baseline, PairedTest test,
                                                 double error) {
  std::vector<Comparison> comparisons;
  for (const Series& variant : variants) comparisons.emplace_back(variant, baseline);
  const auto family = std::count_if(comparisons.begin(), comparisons.end(),
                                    [](const Comparison& c) { return c.pairs() > 1; });
  const double each = error / static_cast<double>(std::max<std::ptrdiff_t>(family, 1));
  std::vector<PairedDifference> results;
  std::vector<std::optional<double>> p_values;
  for (Comparison& c : comparisons) {
    results.push_back(test == PairedTest::kMcNemar ? c.mcnemar(each) : c.student(each));
    p_values.push_back(results.back().p_value);
  }
  const std::vector<std::optional<double>> adjusted = holm(p_values);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].p_holm = adjusted[i];
    results[i].significant = adjusted[i] && *adjusted[i] <= error;
  }
  return results;
}

void respect_range(PairedDifference& d, MetricRange range) {
  if (range != MetricRange::kNotNegative && d.interval) {
    const double most = range == MetricRange::kShare ? 1 : 2;  // correlations: -1 to 1
    d.interval = {std::max(d.interval->low, -most), std::min(d.interval->high, most)};
  }
  if (range != MetricRange::kCorrelation && d.relative_interval) {
    d.relative_interval->low = std::max(d.relative_interval->low, -1.0);
  }
}

void respect_baseline(PairedDifference& d, MetricRange range, const Series& variant,
                      const Series& baseline, double error) {
  if (range != MetricRange::kShare || d.pairs < 2 || !d.interval) return;
  const Pairs pairs = match(variant, baseline);
  const Estimate own = *estimate(pairs.baseline);
  const double half =
      student_quantile(d.pairs - 1, error) * *own.stddev / std::sqrt(static_cast<double>(d.pairs));
  const double low = std::max(0.0, own.mean - half), high = std::min(1.0, own.mean + half);
  d.interval = {std::max(d.interval->low, -high), std::min(d.interval->high, 1 - low)};
  if (d.relative_interval && low > 0) {
    d.relative_interval->high = std::min(d.relative_interval->high, 1 / low - 1);
  }
}

std::vector<PairedDifference> metric_differences(const MetricInfo& metric,
                                                 std::span<const Series> variants,
                                                 const Series& baseline, double error) {
  const bool is_proportion = metric.summary == MetricSummary::kProportion;
  auto results = paired_differences(
      variants, baseline, is_proportion ? PairedTest::kMcNemar : PairedTest::kStudent, error);
  const auto family =
      std::ranges::count_if(results, [](const PairedDifference& d) { return d.pairs > 1; });
  const double each = error / static_cast<double>(std::max<std::ptrdiff_t>(family, 1));
  for (std::size_t i = 0; i < results.size(); ++i) {
    respect_range(results[i], metric.range);
    if (!is_proportion) {
      respect_baseline(results[i], metric.range, variants[i], baseline, each);
    }
  }
  return results;
}

}  // namespace retrysim::stats

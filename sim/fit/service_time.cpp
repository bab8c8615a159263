// SPDX-License-Identifier: MIT
#include "fit/service_time.hpp"

#include "kernel/boost_math.hpp"
#include "kernel/sorting.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/math/distributions/exponential.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/pareto.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace retrysim::fit {
namespace {

namespace bm = boost::math;

constexpr std::size_t kMaxCompared = 20'000;  // values from which laws are found
constexpr std::size_t kMinForLaw = 50;
constexpr std::size_t kEmpiricalValues = 1'000;
constexpr double kSmallCv = 1e-3;  // coefficient of variation below which a time counts as constant
constexpr double kFarFromLaw = 0.02;  // Kolmogorov distance
constexpr double kCloseAic = 10;
constexpr double kFarInTail = 0.1;  // relative error of the 99 % quantile
constexpr int kMaxSteps = 500;
constexpr double kLogSqrtTwoPi = 0.9189385332046727;

/// The log-likelihood of values under a mixture of two densities, given as logarithms a and b: the
/// sum of ln(e^a + e^b). A value costs one exponential, and many values one logarithm.
class MixtureLikelihood {
 public:
  /// Returns the share of the first density at this value.
  double add(double a, double b) {
    const double smaller = std::exp(-std::abs(a - b));
    larger_ += std::max(a, b);
    product_ *= 1 + smaller;
    if (++factors_ == kFactors) take_logarithm();
    return (a > b ? 1 : smaller) / (1 + smaller);
  }
  double log() {
    take_logarithm();
    return larger_;
  }

 private:
  // Each factor is at most 2, so that this many are finite.
  static constexpr int kFactors = 512;

  void take_logarithm() {
    larger_ += std::log(product_);
    product_ = 1;
    factors_ = 0;
  }

  double larger_ = 0, product_ = 1;
  int factors_ = 0;
};

/// The values that laws are compared by, with what most of them need.
struct Values {
  std::vector<double> x, log_x;  // sorted
  double mean = 0, mean_log = 0, deviation_log = 0;

  double n() const { return static_cast<double>(x.size()); }
};

Values values_of(std::vector<double> sorted) {
  Values v;
  v.x = std::move(sorted);
  for (const double x : v.x) v.mean += x / v.n();
  for (const double x : v.x) v.log_x.push_back(std::log(x));
  for (const double l : v.log_x) v.mean_log += l / v.n();
  for (const double l : v.log_x) {
    v.deviation_log += (l - v.mean_log) * (l - v.mean_log) / v.n();
  }
  v.deviation_log = std::sqrt(v.deviation_log);
  return v;
}

// Maximum-likelihood fits of each law; `aic` first holds the logarithm of the likelihood.

Law exponential(const Values& v) {
  return {LawKind::kExponential, {v.mean}, -v.n() * (1 + std::log(v.mean)), 0};
}

// ln(shape) - digamma(shape) = ln(mean) - mean of the logarithms.
Law gamma(const Values& v) {
  const double s = std::log(v.mean) - v.mean_log;
  double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  for (int i = 0; i < kMaxSteps; ++i) {
    const double step =
        (std::log(shape) - bm::digamma(shape) - s) / (1 / shape - bm::trigamma(shape));
    const double next = std::max(shape / 2, shape - step);
    if (std::abs(next - shape) < 1e-10 * shape) break;
    shape = next;
  }
  const double scale = v.mean / shape;
  const double likelihood =
      v.n() * ((shape - 1) * v.mean_log - shape - bm::lgamma(shape) - shape * std::log(scale));
  return {LawKind::kGamma, {shape, scale}, likelihood, 0};
}

Law lognormal(const Values& v) {
  const double likelihood = -v.n() * (v.mean_log + std::log(v.deviation_log) + kLogSqrtTwoPi + 0.5);
  return {LawKind::kLognormal, {std::exp(v.mean_log), v.deviation_log}, likelihood, 0};
}

// The shape is where sum(x^k ln x) / sum(x^k) - 1 / k - mean(ln x) = 0, which grows with k.
Law weibull(const Values& v) {
  const double top = v.log_x.back();
  const auto moments = [&](double k) {
    stop_point();
    double sum = 0, with_log = 0;
    for (const double l : v.log_x) {
      const double power = std::exp(k * (l - top));
      sum += power;
      with_log += power * l;
    }
    return std::pair(sum, with_log);
  };
  const auto slope = [&](double k) {
    const auto [sum, with_log] = moments(k);
    return with_log / sum - 1 / k - v.mean_log;
  };
  std::uintmax_t steps = kMaxSteps;
  constexpr double kGuess = 1.2825;  // pi / sqrt(6): the deviation of ln x times the shape
  const auto [low, high] = bm::tools::bracket_and_solve_root(
      slope, kGuess / v.deviation_log, 2.0, true, bm::tools::eps_tolerance<double>(40), steps);
  const double shape = (low + high) / 2;
  const double log_scale = top + std::log(moments(shape).first / v.n()) / shape;
  const double likelihood =
      v.n() * (std::log(shape) - shape * log_scale + (shape - 1) * v.mean_log - 1);
  return {LawKind::kWeibull, {shape, std::exp(log_scale)}, likelihood, 0};
}

Law pareto(const Values& v) {
  const double excess = v.mean_log - v.log_x.front();
  const double shape = 1 / excess;
  const double likelihood =
      v.n() * (std::log(shape) + shape * v.log_x.front() - (shape + 1) * v.mean_log);
  return {LawKind::kPareto, {v.x.front(), shape}, likelihood, 0};
}

// The EM algorithm (expectation and maximization) from several starting points: the share of short
// values.
Law hyperexponential(const Values& v) {
  Law best{LawKind::kHyperexponential, {}, -std::numeric_limits<double>::infinity(), 0};
  for (const double share : {0.3, 0.6, 0.9}) {
    const auto cut = static_cast<std::size_t>(share * v.n());
    double p = share;
    double mean1 =
        std::accumulate(v.x.begin(), v.x.begin() + static_cast<std::ptrdiff_t>(cut), 0.0) /
        static_cast<double>(cut);
    double mean2 = std::accumulate(v.x.begin() + static_cast<std::ptrdiff_t>(cut), v.x.end(), 0.0) /
                   (v.n() - static_cast<double>(cut));
    double likelihood = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < kMaxSteps; ++i) {
      stop_point();
      double in1 = 0, sum1 = 0, sum = 0;
      MixtureLikelihood mixture;
      const double log1 = std::log(p / mean1), log2 = std::log((1 - p) / mean2);
      for (const double x : v.x) {
        const double w = mixture.add(log1 - x / mean1, log2 - x / mean2);
        in1 += w;
        sum1 += w * x;
        sum += x;
      }
      const double now = mixture.log();
      if (in1 < 1 || v.n() - in1 < 1) break;
      p = in1 / v.n();
      mean1 = sum1 / in1;
      mean2 = (sum - sum1) / (v.n() - in1);
      const bool done = now - likelihood < 1e-8 * std::abs(now);
      likelihood = now;
      if (done) break;
    }
    if (likelihood > best.aic)
      best = {LawKind::kHyperexponential, {p, mean1, mean2}, likelihood, 0};
  }
  return best;
}

Law two_lognormals(const Values& v) {
  Law best{LawKind::kTwoLognormals, {}, -std::numeric_limits<double>::infinity(), 0};
  // A narrower law could shrink to one value with an infinite likelihood.
  const double narrowest = std::max(1e-4, 1e-2 * v.deviation_log);
  for (const double share : {0.2, 0.5, 0.8, 0.95}) {
    const auto cut = static_cast<std::size_t>(share * v.n());
    double p = share;
    double mean1 = 0, mean2 = 0;
    for (std::size_t i = 0; i < v.log_x.size(); ++i) (i < cut ? mean1 : mean2) += v.log_x[i];
    mean1 /= static_cast<double>(cut);
    mean2 /= v.n() - static_cast<double>(cut);
    double deviation1 = v.deviation_log / 2, deviation2 = v.deviation_log / 2;
    double likelihood = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < kMaxSteps; ++i) {
      stop_point();
      double in1 = 0, sum1 = 0, sum2 = 0, squares1 = 0, squares2 = 0, sum = 0;
      MixtureLikelihood mixture;
      const double log1 = std::log(p / deviation1), log2 = std::log((1 - p) / deviation2);
      for (const double l : v.log_x) {
        const double z1 = (l - mean1) / deviation1, z2 = (l - mean2) / deviation2;
        const double w = mixture.add(log1 - z1 * z1 / 2, log2 - z2 * z2 / 2);
        in1 += w;
        sum1 += w * l;
        sum2 += (1 - w) * l;
        squares1 += w * l * l;
        squares2 += (1 - w) * l * l;
        sum += l;
      }
      const double now = mixture.log() - v.n() * kLogSqrtTwoPi - sum;
      if (in1 < 2 || v.n() - in1 < 2) break;
      p = in1 / v.n();
      mean1 = sum1 / in1;
      mean2 = sum2 / (v.n() - in1);
      deviation1 = std::max(narrowest, std::sqrt(std::max(0.0, squares1 / in1 - mean1 * mean1)));
      deviation2 =
          std::max(narrowest, std::sqrt(std::max(0.0, squares2 / (v.n() - in1) - mean2 * mean2)));
      const bool done = now - likelihood < 1e-7 * std::abs(now);
      likelihood = now;
      if (done) break;
    }
    if (likelihood <= best.aic) continue;
    if (mean1 > mean2) {
      std::swap(mean1, mean2);
      std::swap(deviation1, deviation2);
      p = 1 - p;
    }
    best = {LawKind::kTwoLognormals,
            {p, std::exp(mean1), deviation1, std::exp(mean2), deviation2},
            likelihood,
            0};
  }
  return best;
}

double distance_of(const Law& law, const std::vector<double>& sorted) {
  double most = 0;
  const auto n = static_cast<double>(sorted.size());
  StopCounter<1024> compared;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    compared.count();
    const double f = law.cumulative(sorted[i]);
    most = std::max({most, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return most;
}

/// The p-quantile with an interval by the binomial distribution of how many values lie below it,
/// which needs no law.
Estimate quantile_of(const std::vector<double>& sorted, double p, double step_s) {
  const auto n = static_cast<double>(sorted.size());
  const double z = quantile(complement(bm::normal(), (1 - kCertainty) / 2));
  const double half = z * std::sqrt(n * p * (1 - p)) + 1;
  const auto at = [&](double rank) {
    return sorted[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))];
  };
  return {at(std::ceil(n * p) - 1), std::max(0.0, at(std::floor(n * p - half)) - step_s / 2),
          at(std::ceil(n * p + half)) + step_s / 2};
}

/// An even subsample of the values, at most kMaxCompared.
std::vector<double> thinned(const std::vector<double>& values) {
  if (values.size() <= kMaxCompared) return values;
  std::vector<double> kept;
  const double step = static_cast<double>(values.size()) / static_cast<double>(kMaxCompared);
  for (std::size_t i = 0; i < kMaxCompared; ++i) {
    kept.push_back(values[static_cast<std::size_t>(static_cast<double>(i) * step)]);
  }
  return kept;
}

/// How far rounding moves the mean, at most (95 %), of sorted values that are multiples of a step,
/// each with `added_s` added.
/// Where the density is even over a few steps, it does not. A multiple that is more frequent than
/// both of its neighbours may be a peak narrower than a step, anywhere within half a step: requests
/// that take 2.1 to 2.5 ms are all written as 2 ms.
double rounding_of_mean(const std::vector<double>& sorted, double step_s, double added_s) {
  struct Multiple {
    double at = 0, count = 0;
  };
  // There may be as many multiples as values, so only three are kept at a time.
  Multiple before, now, after;
  double squares = 0;
  const auto go_on = [&](const Multiple& next) {
    const auto beside = [&](const Multiple& other, double distance) {
      return other.at == now.at + distance ? other.count : 0.0;
    };
    const double most = std::max(beside(before, -1), beside(after, 1));
    const double peak = std::max(0.0, now.count - most);
    const double share = peak / static_cast<double>(sorted.size());
    squares += share * share;
    before = now;
    now = after;
    after = next;
  };
  Multiple counted;
  for (const double x : sorted) {
    const double at = std::round((x - added_s) / step_s);
    if (counted.count > 0 && counted.at < at) {
      go_on(counted);
      counted = {};
    }
    counted.at = at;
    ++counted.count;
  }
  go_on(counted);
  go_on({});
  go_on({});
  return kCertainty / 2 * step_s * std::sqrt(squares);
}

/// The mean of independent values with an interval. Hall, "On the removal of skewness by
/// transformation", J. R. Statist. Soc. B 54 (1992). A few long values also make the deviation
/// uncertain: the next term of the same expansion (Hall, "The Bootstrap and Edgeworth Expansion",
/// 1992, 2.6) widens both sides.
Estimate mean_of(const std::vector<double>& sorted, double mean, double deviation, double step_s,
                 double added_s) {
  const auto n = static_cast<double>(sorted.size());
  double cubes = 0, fourths = 0;
  for (const double x : sorted) {
    const double square = (x - mean) * (x - mean);
    cubes += square * (x - mean) / n;
    fourths += square * square / n;
  }
  const double error = deviation / std::sqrt(n);
  const double a = deviation > 0 ? cubes / (deviation * deviation * deviation) / std::sqrt(n) : 0;
  const double z = quantile(complement(bm::normal(), (1 - kCertainty) / 2));
  constexpr double kStraight = 1e-4;
  // Student's t whose transformed value has the normal distribution.
  const auto t = [&](double u) {
    return std::abs(a) < kStraight ? u : 3 / a * (std::cbrt(1 + a * (u - a / 6)) - 1);
  };
  const double excess = deviation > 0 ? fourths / std::pow(deviation, 4) / n - 3 / n : 0;
  const double z2 = z * z;
  const double wider = 1 + std::max(0.0, a * a * (z2 * z2 + 2 * z2 - 3) / 18 -
                                             excess * (z2 - 3) / 12 + (z2 + 3) / 4 / n);
  const double rounding = rounding_of_mean(sorted, step_s, added_s);
  const double below = std::hypot(wider * error * t(z), rounding);
  const double above = std::hypot(wider * error * t(-z), rounding);
  return {mean, std::max(0.0, mean - below), mean + above};
}

/// Whether times were surely cut off to multiples of the resolution: then there are about as many
/// of less than one multiple as the numbers of one and two lead on to, and if they were rounded,
/// half as many. Fewer tell nothing: short times may be rare.
bool are_cut_off(const std::vector<double>& values, double resolution_s) {
  constexpr double kHalf = 0.5, kOneAndAHalf = 1.5, kTwoAndAHalf = 2.5;
  constexpr double kFar = 3, kNear = 2, kAbout = 0.25;  // standard errors; share
  double none = 0, one = 0, two = 0;
  for (const double x : values) {
    const double multiples = x / resolution_s;
    if (multiples <= kHalf) {
      ++none;
    } else if (multiples <= kOneAndAHalf) {
      ++one;
    } else if (multiples <= kTwoAndAHalf) {
      ++two;
    }
  }
  // What a density that is a line leads on to, with the variance of the difference from it.
  const auto led_to = [&](double of_one, double of_two) {
    return std::pair(std::max(0.0, of_one * one - of_two * two),
                     std::sqrt(none + of_one * of_one * one + of_two * of_two * two));
  };
  const auto [if_cut, error_cut] = led_to(2, 1);
  const auto [if_rounded, error_rounded] = led_to(0.875, 0.375);
  return none - if_rounded > kFar * error_rounded &&
         std::abs(none - if_cut) <= kAbout * if_cut + kNear * error_cut;
}

/// Spreads equal ones of sorted times evenly over the interval that is written like them. Many at
/// one point would look like a separate kind of requests, and densities need values above 0.
void spread(std::vector<double>& sorted, double resolution_s) {
  constexpr double kHalf = 0.5, kLeast_s = 1e-12;
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = std::upper_bound(begin, sorted.end(), *begin);
    const double low = std::max(0.0, *begin - resolution_s / 2), high = *begin + resolution_s / 2;
    const auto count = static_cast<double>(end - begin);
    for (double i = kHalf; begin != end; ++begin, ++i) {
      *begin = std::max(low + (high - low) * i / count, kLeast_s);
    }
  }
}

// Says whether the law has two peaks: the density of the mixture, of the logarithms, has a valley
// between its medians.
std::string two_kinds_in(const Law& law) {
  const double p = law.parameters[0];
  const double m1 = std::log(law.parameters[1]), m2 = std::log(law.parameters[3]);
  const double d1 = law.parameters[2], d2 = law.parameters[4];
  const auto density = [&](double l) {
    const auto bump = [&](double m, double d) {
      return std::exp(-(l - m) * (l - m) / (2 * d * d)) / d;
    };
    return p * bump(m1, d1) + (1 - p) * bump(m2, d2);
  };
  constexpr int kSteps = 200;
  constexpr double kFewest = 0.02, kValley = 0.8;
  if (std::min(p, 1 - p) < kFewest) return "";
  double least = std::numeric_limits<double>::infinity();
  for (int i = 1; i < kSteps; ++i) least = std::min(least, density(m1 + (m2 - m1) * i / kSteps));
  if (least > kValley * std::min(density(m1), density(m2))) return "";
  return fmt::format(
      "There are two kinds of requests: {} % of them take about {}, the others about {}.",
      scenario::said_number(100 * p), time_words(law.parameters[1]), time_words(law.parameters[3]));
}

}  // namespace

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string second_words(double seconds) {
  constexpr double kFourDigits = 1e4;
  return seconds < kFourDigits ? scenario::said_number(seconds, 4) : scenario::said_whole(seconds);
}

std::string duration_text(double seconds) {
  constexpr double kSixDigits = 1e6;
  if (seconds == 0) return "0s";
  if (seconds < 1e-3) return fmt::format("{:.6g}us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.6g}ms", seconds * 1e3);
  return seconds < kSixDigits ? fmt::format("{:.6g}s", seconds) : fmt::format("{:.0f}s", seconds);
}

std::string time_words(double seconds) {
  if (seconds < 1e-3) return fmt::format("{} us", scenario::said_number(seconds * 1e6));
  if (seconds < 1) return fmt::format("{} ms", scenario::said_number(seconds * 1e3));
  return fmt::format("{} s", scenario::said_number(seconds));
}

double Law::cumulative(double x) const {
  const std::vector<double>& a = parameters;
  if (x <= 0) return 0;
  const auto of_logs = [x](double median, double deviation) {
    return bm::cdf(bm::normal(), std::log(x / median) / deviation);
  };
  switch (kind) {
    case LawKind::kExponential:
      return -std::expm1(-x / a[0]);
    case LawKind::kGamma:
      return bm::cdf(bm::gamma_distribution<double>(a[0], a[1]), x);
    case LawKind::kLognormal:
      return of_logs(a[0], a[1]);
    case LawKind::kWeibull:
      return -std::expm1(-std::pow(x / a[1], a[0]));
    case LawKind::kPareto:
      return x <= a[0] ? 0 : 1 - std::pow(a[0] / x, a[1]);
    case LawKind::kHyperexponential:
      return -a[0] * std::expm1(-x / a[1]) - (1 - a[0]) * std::expm1(-x / a[2]);
    case LawKind::kTwoLognormals:
      return a[0] * of_logs(a[1], a[2]) + (1 - a[0]) * of_logs(a[3], a[4]);
    default:
      return x >= a[0] ? 1 : 0;
  }
}

double Law::mean() const {
  const std::vector<double>& a = parameters;
  switch (kind) {
    case LawKind::kGamma:
      return a[0] * a[1];
    case LawKind::kLognormal:
      return a[0] * std::exp(a[1] * a[1] / 2);
    case LawKind::kWeibull:
      return a[1] * std::tgamma(1 + 1 / a[0]);
    case LawKind::kPareto:
      return a[1] > 1 ? a[0] * a[1] / (a[1] - 1) : std::numeric_limits<double>::infinity();
    case LawKind::kHyperexponential:
      return a[0] * a[1] + (1 - a[0]) * a[2];
    case LawKind::kTwoLognormals:
      return a[0] * a[1] * std::exp(a[2] * a[2] / 2) +
             (1 - a[0]) * a[3] * std::exp(a[4] * a[4] / 2);
    default:
      return a[0];
  }
}

double Law::quantile(double p) const {
  double low = 0, high = std::max(parameters[0], 1e-9);
  while (cumulative(high) < p && high < 1e12) high *= 2;
  constexpr int kHalvings = 100;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (cumulative(middle) < p ? low : high) = middle;
  }
  return high;
}

FittedServiceTime fit_service_time(std::vector<double> values_s, double resolution_s,
                                   HowRounded rounding) {
  FittedServiceTime fit;
  fit.values = values_s.size();
  constexpr double kNanosecond_s = 1e-9;
  fit.step_s = resolution_s;
  fit.rounding = rounding;
  if (rounding == HowRounded::kUnknown && are_cut_off(values_s, resolution_s)) {
    fit.rounding = HowRounded::kCut;
  }
  const double added_s = fit.rounding == HowRounded::kCut ? resolution_s / 2 : 0;
  for (double& value : values_s) value += added_s;
  const auto n = static_cast<double>(values_s.size());
  double mean = 0, squares = 0;
  for (const double x : values_s) mean += x / n;
  for (const double x : values_s) squares += (x - mean) * (x - mean);
  const double deviation = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  fit.cv = mean > 0 ? deviation / mean : 0;

  std::vector<double> compared = thinned(values_s);
  kernel::sort(values_s);
  fit.mean = mean_of(values_s, mean, deviation, resolution_s, added_s);
  kernel::sort(compared);
  constexpr double kHalf = 0.5, kNearlyAll = 0.99;
  fit.p50 = quantile_of(values_s, kHalf, resolution_s);
  fit.p99 = quantile_of(values_s, kNearlyAll, resolution_s);
  if (fit.rounding == HowRounded::kUnknown) {  // all values may be half a step too short
    for (Estimate* e : {&fit.mean, &fit.p50, &fit.p99}) e->high += resolution_s / 2;
  }

  if (fit.cv < kSmallCv ||
      values_s.back() - values_s.front() <= 2 * std::min(resolution_s, kNanosecond_s)) {
    fit.chosen = {LawKind::kConstant, {mean}, 0, 0};
    fit.why = "All durations are the same.";
    return fit;
  }
  const auto take_values = [&](std::string why) {
    fit.chosen = {LawKind::kEmpirical, {mean}, 0, 0};
    fit.why = std::move(why);
    const std::size_t count = std::min(kEmpiricalValues, values_s.size());
    for (std::size_t i = 0; i < count; ++i) {
      // Each quantile is the mean of one of `count` equal parts, which preserves the mean.
      const std::size_t begin = i * values_s.size() / count;
      const std::size_t end = (i + 1) * values_s.size() / count;
      double sum = 0;
      for (std::size_t j = begin; j < end; ++j) sum += values_s[j];
      fit.quantiles_s.push_back(sum / static_cast<double>(end - begin));
    }
  };
  spread(compared, resolution_s);
  const Values v = values_of(std::move(compared));
  if (v.x.size() < kMinForLaw || v.deviation_log < 1e-6) {
    take_values(fmt::format("{} durations are too few to tell a law from.", v.x.size()));
    return fit;
  }
  fit.laws = {exponential(v),      gamma(v),         lognormal(v), weibull(v), pareto(v),
              hyperexponential(v), two_lognormals(v)};
  for (Law& law : fit.laws) {
    law.aic = 2 * static_cast<double>(law.parameters.size()) - 2 * law.aic;
    if (law.parameters.empty()) continue;
    law.distance = distance_of(law, v.x);
    if (law.kind == LawKind::kTwoLognormals) fit.two_kinds = two_kinds_in(law);
  }
  std::erase_if(fit.laws,
                [](const Law& law) { return law.parameters.empty() || !std::isfinite(law.aic); });
  std::ranges::stable_sort(fit.laws, {}, &Law::aic);
  // Among laws that are about equally good, the simplest is chosen: chance alone makes such
  // differences.
  const auto simpler = [&](const Law& a, const Law& b) {
    const auto size = [&](const Law& law) {
      const bool close = law.aic - fit.laws.front().aic < kCloseAic;
      return close ? law.parameters.size() : std::numeric_limits<std::size_t>::max();
    };
    return size(a) < size(b);
  };
  const Law& best = *std::ranges::min_element(fit.laws, simpler);
  const double tail = best.quantile(kNearlyAll) / fit.p99.value - 1;
  const double in_mean = best.mean() / mean - 1;
  if (best.kind == LawKind::kTwoLognormals) {
    take_values(
        "A mixture of two lognormal laws fits best. Scenarios have no such law: they draw from the "
        "durations of the log.");
  } else if (best.distance > kFarFromLaw + 1.63 / std::sqrt(v.n())) {
    take_values(
        fmt::format("No law comes close (the best has Kolmogorov distance {}): the "
                    "scenario draws from the durations of the log.",
                    scenario::said_number(best.distance)));
  } else if (std::abs(tail) > kFarInTail || best.mean() < fit.mean.low ||
             best.mean() > fit.mean.high) {
    take_values(
        fmt::format("The law that fits best is {:.1f} % off at the 99 % quantile and {:.1f} "
                    "% in the mean: the scenario draws from the durations of the log.",
                    100 * std::abs(tail), 100 * std::abs(in_mean)));
  } else {
    fit.chosen = best;
    fit.why = &best == &fit.laws.front()
                  ? "It has the least AIC."
                  : fmt::format("Its AIC is within {} of the least, and it is simpler.", kCloseAic);
  }
  return fit;
}

}  // namespace retrysim::fit

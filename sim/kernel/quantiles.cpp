// SPDX-License-Identifier: MIT
#include "kernel/quantiles.hpp"

#include "kernel/functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace retrysim::kernel {
namespace {

using Kind = Distribution::Kind;
using Quantiles = std::span<const Quantile>;

template <std::size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {
  double sum = 0;
  for (std::size_t i = N; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// -kernel::log(1 - share): the quantile of the exponential law with mean 1.
double exponential_quantile(double share) { return -kernel::log1p(-share); }

// --- Gamma ---------------------------------------------------------------------------------------

/// P(shape, x), the regularized lower incomplete gamma function. `gamma_of_shape` is
/// tgamma(shape).
double gamma_share(double shape, double gamma_of_shape, double log_x) {
  const double x = kernel::exp(log_x);
  if (x == 0) return 0;
  const double front = kernel::exp(shape * log_x - x) / gamma_of_shape;
  constexpr double kSmall = 1e-17;
  constexpr int kMaxTerms = 10'000;
  if (x < shape + 1) {
    double term = 1 / shape, sum = term;
    for (int n = 1; n < kMaxTerms && term > sum * kSmall; ++n) {
      term *= x / (shape + n);
      sum += term;
    }
    return front * sum;
  }
  // The remaining share is a continued fraction, by Lentz's method.
  double b = x + 1 - shape, c = 1e300, d = 1 / b, fraction = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    const double a = n * (shape - n);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    const double factor = c * d;
    fraction *= factor;
    if (std::abs(factor - 1) < 1e-16) break;
  }
  return 1 - front * fraction;
}

double log_gamma_quantile(double shape, double share) {
  const double gamma_of_shape = kernel::tgamma(shape);
  double low = -700, high = 9;  // logarithms of x: 8,100 is far beyond every shape
  for (int i = 0; i < 64; ++i) {
    const double middle = (low + high) / 2;
    (gamma_share(shape, gamma_of_shape, middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// --- One parameter beside the scale --------------------------------------------------------------

// A law with a scale is known by the logarithms of its quantiles at scale 1. The logarithms of
// given quantiles differ from these by the logarithm of the scale and by the error, which is least
// if the scale is in the middle between the largest and the smallest difference.

struct Differences {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double width() const { return high - low; }
  double middle() const { return (high + low) / 2; }
};

template <class LogQuantile>
Differences differences(Quantiles quantiles, const LogQuantile& log_quantile) {
  Differences all;
  for (const Quantile& q : quantiles) {
    const double one = kernel::log(q.value_s) - log_quantile(q.share);
    all.low = std::min(all.low, one);
    all.high = std::max(all.high, one);
  }
  return all;
}

/// The value between `low` and `high` at which `f`, which falls and then rises, is least.
template <class Function>
double least_at(double low, double high, const Function& f) {
  constexpr double kGolden = 0.61803398874989485;
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  double at_a = f(a), at_b = f(b);
  for (int i = 0; i < 90; ++i) {
    if (at_a <= at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - kGolden * (high - low);
      at_a = f(a);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + kGolden * (high - low);
      at_b = f(b);
    }
  }
  return (low + high) / 2;
}

// The function t of the share p in the quantiles of lognormal, weibull and pareto: log Q(p) =
// spread t(p).
double unit_log_quantile(Kind kind, double share) {
  switch (kind) {
    case Kind::kLognormal:
      return normal_quantile(share);
    case Kind::kWeibull:
      return kernel::log(exponential_quantile(share));
    default:
      return exponential_quantile(share);  // pareto
  }
}

/// The spread with the least error; if there are only two quantiles, the slope that goes exactly
/// through both.
double spread_of(Kind kind, Quantiles quantiles) {
  const Quantile first = quantiles.front(), last = quantiles.back();
  const auto slope = [&](const Quantile& a, const Quantile& b) {
    return kernel::log(b.value_s / a.value_s) /
           (unit_log_quantile(kind, b.share) - unit_log_quantile(kind, a.share));
  };
  if (quantiles.size() == 2) return slope(first, last);
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (std::size_t i = 1; i < quantiles.size(); ++i) {
    const double one = slope(quantiles[i - 1], quantiles[i]);
    low = std::min(low, one);
    high = std::max(high, one);
  }
  return least_at(low, high, [&](double spread) {
    return differences(quantiles, [&](double p) { return spread * unit_log_quantile(kind, p); })
        .width();
  });
}

/// The logarithm of the shape of the gamma law with the least error.
double log_shape_of(Quantiles quantiles) {
  const auto width = [&](double log_shape) {
    return differences(quantiles,
                       [&](double p) { return log_gamma_quantile(kernel::exp(log_shape), p); });
  };
  const double low = kernel::log(kMinFittedShape), high = kernel::log(kMaxFittedShape);
  if (quantiles.size() > 2) return least_at(low, high, [&](double s) { return width(s).width(); });
  // The ratio of two quantiles falls as the shape rises.
  const double ratio = kernel::log(quantiles[1].value_s / quantiles[0].value_s);
  const auto ratio_at = [&](double log_shape) {
    const double shape = kernel::exp(log_shape);
    return log_gamma_quantile(shape, quantiles[1].share) -
           log_gamma_quantile(shape, quantiles[0].share);
  };
  double a = low, b = high;
  for (int i = 0; i < 64; ++i) {
    const double middle = (a + b) / 2;
    (ratio_at(middle) > ratio ? a : b) = middle;
  }
  return (a + b) / 2;
}

// --- Laws ----------------------------------------------------------------------------------------

[[noreturn]] void fail(const char* sentence) { throw std::invalid_argument(sentence); }

void check(Kind kind, Quantiles quantiles) {
  const bool only_two = kind == Kind::kUniform || kind == Kind::kNormal;
  if (only_two && quantiles.size() != 2) fail("it takes two percentiles");
  if (kind != Kind::kExponential && quantiles.size() < 2) {
    fail("one percentile does not say how much values vary; give a second one");
  }
  for (std::size_t i = 1; i < quantiles.size(); ++i) {
    if (!(quantiles[i].value_s > quantiles[i - 1].value_s)) {
      fail("a higher percentile must be a longer time");
    }
  }
}

/// Adds the law's own quantiles and their errors, given its quantiles at scale 1.
template <class LogQuantile>
QuantileLaw with_errors(Distribution law, Quantiles quantiles, double log_scale,
                        const LogQuantile& log_quantile) {
  QuantileLaw result{std::move(law), {}, 0};
  for (const Quantile& q : quantiles) {
    const double own = kernel::exp(log_scale + log_quantile(q.share));
    result.values_s.push_back(own);
    result.off = std::max(result.off, std::max(own / q.value_s, q.value_s / own) - 1);
  }
  if (quantiles.size() <= 2 && result.off < 1e-9) result.off = 0;  // a rounding error
  return result;
}

QuantileLaw lognormal_law(Quantiles quantiles, double sigma) {
  const auto log_quantile = [&](double p) { return sigma * normal_quantile(p); };
  const double log_median = differences(quantiles, log_quantile).middle();
  // cv^2 = exp(sigma^2) - 1
  const double growth = kernel::exp(sigma * sigma);
  const double cv = sigma < 1e-4 ? sigma : std::sqrt(growth - 1);
  if (!(cv <= Distribution::kMaxCv)) fail("the percentiles are too far apart");
  return with_errors(Distribution::lognormal(kernel::exp(log_median + sigma * sigma / 2), cv),
                     quantiles, log_median, log_quantile);
}

QuantileLaw weibull_law(Quantiles quantiles) {
  const double spread = spread_of(Kind::kWeibull, quantiles);  // the spread is 1 / shape
  if (!(1 / spread >= Distribution::kMinWeibullShape)) fail("the percentiles are too far apart");
  const auto log_quantile = [&](double p) { return spread * unit_log_quantile(Kind::kWeibull, p); };
  const double log_scale = differences(quantiles, log_quantile).middle();
  return with_errors(
      Distribution::weibull(kernel::exp(log_scale) * kernel::tgamma(1 + spread), 1 / spread),
      quantiles, log_scale, log_quantile);
}

QuantileLaw pareto_law(Quantiles quantiles) {
  const double spread = spread_of(Kind::kPareto, quantiles);  // the spread is 1 / shape
  if (!(spread < 1)) fail("the percentiles are so far apart that it would have no mean");
  const auto log_quantile = [&](double p) { return spread * exponential_quantile(p); };
  const double log_scale = differences(quantiles, log_quantile).middle();
  return with_errors(Distribution::pareto(kernel::exp(log_scale) / (1 - spread), 1 / spread),
                     quantiles, log_scale, log_quantile);
}

QuantileLaw gamma_law(Quantiles quantiles) {
  const double shape = kernel::exp(log_shape_of(quantiles));
  const auto log_quantile = [&](double p) { return log_gamma_quantile(shape, p); };
  const double log_scale = differences(quantiles, log_quantile).middle();
  QuantileLaw result = with_errors(Distribution::gamma_scaled(shape, kernel::exp(log_scale)),
                                   quantiles, log_scale, log_quantile);
  if (quantiles.size() == 2 && result.off > 1e-6) {
    fail("its coefficient of variation would not be between 0.08 and 4.5");
  }
  return result;
}

QuantileLaw exponential_law(Quantiles quantiles) {
  const auto log_quantile = [](double p) { return kernel::log(exponential_quantile(p)); };
  const double log_mean = differences(quantiles, log_quantile).middle();
  return with_errors(Distribution::exponential(kernel::exp(log_mean)), quantiles, log_mean,
                     log_quantile);
}

QuantileLaw exact(Distribution law, Quantiles quantiles) {
  QuantileLaw result{std::move(law), {}, 0};
  for (const Quantile& q : quantiles) result.values_s.push_back(q.value_s);
  return result;
}

QuantileLaw uniform_law(Quantiles q) {
  const double width = (q[1].value_s - q[0].value_s) / (q[1].share - q[0].share);
  const double min = q[0].value_s - q[0].share * width;
  // A uniform law that begins at 0 may come out a rounding error below it.
  if (min < -1e-12 * width) fail("it would begin below 0");
  return exact(Distribution::uniform(std::max(0.0, min), std::max(0.0, min) + width), q);
}

QuantileLaw normal_law(Quantiles q) {
  const double low = normal_quantile(q[0].share), high = normal_quantile(q[1].share);
  const double sd = (q[1].value_s - q[0].value_s) / (high - low);
  const double mean = q[0].value_s - low * sd;
  constexpr double kDeviationsAbove0 = 4;  // 3 in 100,000 values are below 0
  if (mean < kDeviationsAbove0 * sd) {
    fail("it would go below 0, since its mean is less than 4 standard deviations");
  }
  return exact(Distribution::normal(mean, sd), q);
}

}  // namespace

double normal_quantile(double share) {
  const double q = share - 0.5;
  if (std::abs(q) <= 0.425) {
    constexpr std::array<double, 8> kAbove{3.3871328727963666080e0,  1.3314166789178437745e+2,
                                           1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                           4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                           3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr std::array<double, 8> kBelow{1.0,
                                           4.2313330701600911252e+1,
                                           6.8718700749205790830e+2,
                                           5.3941960214247511077e+3,
                                           2.1213794301586595867e+4,
                                           3.9307895800092710610e+4,
                                           2.8729085735721942674e+4,
                                           5.2264952788528545610e+3};
    const double r = 0.180625 - q * q;
    return q * polynomial(kAbove, r) / polynomial(kBelow, r);
  }
  double r = std::sqrt(-(q < 0 ? kernel::log(share) : kernel::log1p(-share)));
  double value = 0;
  if (r <= 5) {
    constexpr std::array<double, 8> kAbove{1.42343711074968357734e0,  4.63033784615654529590e0,
                                           5.76949722146069140550e0,  3.64784832476320460504e0,
                                           1.27045825245236838258e0,  2.41780725177450611770e-1,
                                           2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr std::array<double, 8> kBelow{1.0,
                                           2.05319162663775882187e0,
                                           1.67638483018380384940e0,
                                           6.89767334985100004550e-1,
                                           1.48103976427480074590e-1,
                                           1.51986665636164571966e-2,
                                           5.47593808499534494600e-4,
                                           1.05075007164441684324e-9};
    r -= 1.6;
    value = polynomial(kAbove, r) / polynomial(kBelow, r);
  } else {
    constexpr std::array<double, 8> kAbove{6.65790464350110377720e0,  5.46378491116411436990e0,
                                           1.78482653991729133580e0,  2.96560571828504891230e-1,
                                           2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr std::array<double, 8> kBelow{1.0,
                                           5.99832206555887937690e-1,
                                           1.36929880922735805310e-1,
                                           1.48753612908506148525e-2,
                                           7.86869131145613259100e-4,
                                           1.84631831751005468180e-5,
                                           1.42151175831644588870e-7,
                                           2.04426310338993978564e-15};
    r -= 5;
    value = polynomial(kAbove, r) / polynomial(kBelow, r);
  }
  return q < 0 ? -value : value;
}

double gamma_quantile(double shape, double share) {
  return kernel::exp(log_gamma_quantile(shape, share));
}

QuantileLaw law_of_quantiles(Kind kind, Quantiles quantiles) {
  check(kind, quantiles);
  switch (kind) {
    case Kind::kLognormal:
      return lognormal_law(quantiles, spread_of(kind, quantiles));
    case Kind::kWeibull:
      return weibull_law(quantiles);
    case Kind::kPareto:
      return pareto_law(quantiles);
    case Kind::kGamma:
      return gamma_law(quantiles);
    case Kind::kExponential:
      return exponential_law(quantiles);
    case Kind::kUniform:
      return uniform_law(quantiles);
    case Kind::kNormal:
      return normal_law(quantiles);
    case Kind::kConstant:
    case Kind::kErlang:
    case Kind::kHyperexponential:
    case Kind::kEmpirical:
      break;
  }
  fail("it has no percentiles to be given");
}

QuantileLaw nearest_law(Quantiles quantiles) {
  std::optional<QuantileLaw> nearest;
  for (const Kind kind : {Kind::kLognormal, Kind::kWeibull, Kind::kGamma, Kind::kPareto}) {
    try {
      QuantileLaw one = law_of_quantiles(kind, quantiles);
      if (!nearest || one.off < nearest->off) nearest = std::move(one);
    } catch (const std::invalid_argument&) {
      if (kind == Kind::kPareto && !nearest) throw;  // values that no law can have
    }
  }
  return *nearest;
}

QuantileLaw lognormal_of_cv(Quantile quantile, double cv) {
  if (!(cv > 0 && cv <= Distribution::kMaxCv)) fail("cv must be above 0 and at most 1e6");
  return lognormal_law({&quantile, 1}, std::sqrt(kernel::log1p(cv * cv)));
}

// The logarithm of the quantile over the mean is z sigma - sigma^2 / 2, a parabola in sigma.
QuantileLaw lognormal_of_mean(Quantile quantile, double mean_s) {
  const double z = normal_quantile(quantile.share),
               distance = kernel::log(quantile.value_s / mean_s);
  const double square = z * z - 2 * distance;
  if (distance == 0 || (z <= 0 && distance > 0)) {
    fail("no lognormal law has that percentile with that mean");
  }
  if (square < 0) fail("no lognormal law has a percentile so far above its mean");
  const double root = std::sqrt(square);
  const double sigma = distance > 0 ? z - root : z + root;
  return lognormal_law({&quantile, 1}, sigma);
}

}  // namespace retrysim::kernel

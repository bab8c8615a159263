// Samplers and checks of the duration distributions. Samples are made only with + - * /, sqrt
// (exact by IEEE 754) and the functions of functions.hpp, which says why.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernel/functions.hpp"
#include "kernel/ziggurat_tables.hpp"

namespace retrysim {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

void require(bool holds, const char* sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

void require_finite(double value, const std::string& name) {
  require(std::isfinite(value), (name + " must be a finite number").c_str());
}

/// Checks a length in seconds that must not be negative and returns it in nanoseconds.
double checked_length(double seconds, const std::string& name) {
  require_finite(seconds, name);
  require(seconds >= 0, (name + " must not be negative").c_str());
  require(seconds <= Distribution::kMaxSeconds,
          (name + " must be at most 9.2e9 seconds (292 years)").c_str());
  return seconds * kNanosecondsPerSecond;
}

/// As `checked_length`, for a length that must be positive.
double checked_positive_length(double seconds, const std::string& name) {
  require_finite(seconds, name);
  require(seconds > 0, (name + " must be positive").c_str());
  return checked_length(seconds, name);
}

void check_gamma_shape(double shape) {
  require_finite(shape, "shape");
  require(shape >= Distribution::kMinGammaShape && shape <= Distribution::kMaxGammaShape,
          "shape must be between 0.01 and 1e6");
}

/// E|X| for X normal: sd sqrt(2/pi) exp(-mean^2 / (2 sd^2)) + mean erf(mean / (sd sqrt 2)).
double folded_normal_mean(double mean, double sd) {
  if (sd == 0) return mean;
  constexpr double kSqrtTwoOverPi = 0x1.9884533d43651p-1;
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  const double ratio = mean / sd;
  return sd * kSqrtTwoOverPi * kernel::exp(-0.5 * ratio * ratio) +
         mean * kernel::erf(ratio * kSqrtHalf);
}

}  // namespace

double kernel::unit_exponential_outside(Draws& draws, std::uint64_t word) {
  double start = 0;  // the excess beyond the edge is again exponential
  for (;;) {
    const std::size_t layer = word & 255;
    const std::uint64_t position = word >> 11;
    const double x = static_cast<double>(position) * kExponentialLayers[layer].width;
    if (position < kExponentialLayers[layer].inside) return start + x;
    if (layer == 0) {
      start += kExponentialEdge;
    } else {
      // The wedge: a uniform point between the layer's lower and upper edge, kept if under exp(-x).
      const double low = kExponentialHeights[layer];
      const double high = kExponentialHeights[layer + 1];
      if (low + (high - low) * draws.uniform() < kernel::exp(-x)) return start + x;
    }
    word = draws.next();
  }
}

double kernel::unit_normal_outside(Draws& draws, std::uint64_t word) {
  for (;;) {
    const std::size_t layer = word & 255;
    const std::uint64_t position = word >> 11;
    const double x = static_cast<double>(position) * kNormalLayers[layer].width;
    if (position < kNormalLayers[layer].inside) return with_normal_sign(x, word);
    if (layer == 0) {
      // Beyond the edge r, the excess e over r has the density exp(-r e) exp(-e^2 / 2): it is an
      // exponential variate, kept with probability exp(-e^2 / 2) (Marsaglia 1964).
      for (;;) {
        const double excess = unit_exponential(draws) / kNormalEdge;
        if (2 * unit_exponential(draws) > excess * excess) {
          return with_normal_sign(kNormalEdge + excess, word);
        }
      }
    }
    // The wedge: a uniform point between the layer's lower and upper edge, kept if under the curve.
    const double low = kNormalHeights[layer];
    const double high = kNormalHeights[layer + 1];
    if (low + (high - low) * draws.uniform() < kernel::exp(-0.5 * x * x))
      return with_normal_sign(x, word);
    word = draws.next();
  }
}

namespace {

/// A gamma variate with scale 1 and a shape of at least 1 (Marsaglia and Tsang, "A simple method
/// for generating gamma variables", 2000). More than 95 % of the normal variates are accepted, so
/// the words of one identity never run out.
double unit_gamma_above_one(Draws& draws, double shape) {
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = unit_normal(draws);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, square = x * x;
    const double u = 1 - draws.uniform();  // (0, 1], so that the logarithm is finite
    if (u < 1 - 0.0331 * square * square) return d * v;
    if (kernel::log(u) < 0.5 * square + d * (1 - v + kernel::log(v))) return d * v;
  }
}

/// A gamma variate of any shape. If the shape is below 1, a variate of shape + 1 is multiplied by
/// U^(1/shape), where -log U is an exponential variate.
double unit_gamma(Draws& draws, double shape) {
  if (shape >= 1) return unit_gamma_above_one(draws, shape);
  const double larger = unit_gamma_above_one(draws, shape + 1);
  return larger * kernel::exp(-unit_exponential(draws) / shape);
}

}  // namespace

/// Walker's alias method with Vose's construction: cell i gives value i if the fraction of the word
/// inside the cell is below `threshold[i]` (in units of 2^-64), and value `other[i]` otherwise.
struct Distribution::Alias {
  Alias() = default;
  Alias(const std::vector<double>& values_s, const std::vector<double>& weights);

  Duration sample(std::uint64_t word) const {
    const WideProduct product = wide_product(word, values.size());
    const auto cell = static_cast<std::size_t>(product.high);
    return values[product.low < threshold[cell] ? cell : other[cell]];
  }

  std::vector<Duration> values;
  std::vector<std::uint64_t> threshold;
  std::vector<std::uint32_t> other;
  double mean_s = 0;
};

Distribution::Alias::Alias(const std::vector<double>& values_s,
                           const std::vector<double>& weights) {
  // Values of weight zero are left out, so that no rounding can ever select one. Weights are taken
  // relative to the largest, so that their sum cannot overflow.
  double largest = 0;
  for (const double w : weights) largest = w > largest ? w : largest;
  std::vector<double> share;  // share of each weight, in units of the average weight
  double sum = 0, weighted = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = weights[i] / largest;
    if (weight == 0) continue;
    values.push_back(Duration::from_seconds(values_s[i]));
    share.push_back(weight);
    sum += weight;
    weighted += weight * values_s[i];
  }
  mean_s = weighted / sum;

  const std::size_t n = values.size();
  threshold.assign(n, std::numeric_limits<std::uint64_t>::max());
  other.resize(n);
  std::vector<std::uint32_t> small, large;
  for (std::size_t i = 0; i < n; ++i) {
    share[i] *= static_cast<double>(n) / sum;
    other[i] = static_cast<std::uint32_t>(i);  // a cell without a partner gives its own value
    (share[i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t poor = small.back();
    const std::uint32_t rich = large.back();
    small.pop_back();
    threshold[poor] = static_cast<std::uint64_t>(share[poor] * 0x1p64);  // share < 1: it fits
    other[poor] = rich;
    share[rich] -= 1 - share[poor];
    if (share[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
}

Distribution::Parts Distribution::parts() const {
  Parts parts{kind_, phases_, constant_, mean_s_, a_, b_, c_, {}, {}, {}};
  if (alias_) {
    parts.values = alias_->values;
    parts.threshold = alias_->threshold;
    parts.other = alias_->other;
  }
  return parts;
}

Distribution Distribution::from_parts(Parts parts) {
  Distribution d(parts.kind, parts.mean_s);
  d.phases_ = parts.phases;
  d.constant_ = parts.constant;
  d.a_ = parts.a;
  d.b_ = parts.b;
  d.c_ = parts.c;
  if (!parts.values.empty()) {
    auto alias = std::make_shared<Alias>();
    alias->values = std::move(parts.values);
    alias->threshold = std::move(parts.threshold);
    alias->other = std::move(parts.other);
    alias->mean_s = parts.mean_s;
    d.alias_ = std::move(alias);
  }
  return d;
}

Distribution Distribution::constant(Duration value) {
  require(value >= Duration::zero(), "value must not be negative");
  Distribution d(Kind::kConstant, value.in_seconds());
  d.constant_ = value;
  return d;
}

Distribution Distribution::exponential(double mean_s) {
  Distribution d(Kind::kExponential, mean_s);
  d.a_ = checked_positive_length(mean_s, "mean");
  return d;
}

Distribution Distribution::uniform(double min_s, double max_s) {
  const double min_ns = checked_length(min_s, "min");
  const double max_ns = checked_length(max_s, "max");
  require(min_s < max_s, "min must be less than max");
  Distribution d(Kind::kUniform, min_s + (max_s - min_s) / 2);
  d.a_ = min_ns;
  d.b_ = max_ns - min_ns;
  return d;
}

Distribution Distribution::erlang(double mean_s, int shape) {
  Distribution d(Kind::kErlang, mean_s);
  const double mean_ns = checked_positive_length(mean_s, "mean");
  if (shape < 1 || shape > kMaxErlangShape) {
    throw std::invalid_argument("shape must be between 1 and " + std::to_string(kMaxErlangShape));
  }
  d.a_ = mean_ns / shape;
  d.phases_ = shape;
  return d;
}

Distribution Distribution::hyperexponential(double p, double mean1_s, double mean2_s) {
  require_finite(p, "p");
  require(p >= 0 && p <= 1, "p must be between 0 and 1");
  Distribution d(Kind::kHyperexponential, p * mean1_s + (1 - p) * mean2_s);
  d.a_ = p;
  d.b_ = checked_positive_length(mean1_s, "mean1");
  d.c_ = checked_positive_length(mean2_s, "mean2");
  return d;
}

Distribution Distribution::hyperexponential_cv(double mean_s, double cv) {
  const double mean_ns = checked_positive_length(mean_s, "mean");
  require_finite(cv, "cv");
  require(cv >= 1 && cv <= kMaxCv, "cv must be between 1 and 1e6");
  // p = (1 + s) / 2 with s = sqrt((cv^2 - 1) / (cv^2 + 1)); 1 - p is written without the
  // cancellation of 1 - s, because it is tiny where cv is large.
  const double square = cv * cv;
  const double s = std::sqrt((square - 1) / (square + 1));
  const double rare = 1 / ((square + 1) * (1 + s));  // 1 - p
  Distribution d(Kind::kHyperexponential, mean_s);
  d.a_ = (1 + s) / 2;
  d.b_ = mean_ns / (1 + s);
  d.c_ = mean_ns / (2 * rare);
  require(d.c_ <= kMaxSeconds * kNanosecondsPerSecond,
          "cv is too large for this mean: the rare long phase would exceed 292 years");
  return d;
}

Distribution Distribution::lognormal(double mean_s, double cv) {
  Distribution d(Kind::kLognormal, mean_s);
  const double mean_ns = checked_positive_length(mean_s, "mean");
  require_finite(cv, "cv");
  require(cv >= 0 && cv <= kMaxCv, "cv must be between 0 and 1e6");
  // sigma^2 = log(1 + cv^2), so the median exp(mu) = mean exp(-sigma^2 / 2) needs no logarithm.
  d.a_ = mean_ns / std::sqrt(1 + cv * cv);
  d.b_ = std::sqrt(kernel::log1p(cv * cv));
  return d;
}

Distribution Distribution::normal(double mean_s, double sd_s) {
  const double mean_ns = checked_positive_length(mean_s, "mean");
  const double sd_ns = checked_length(sd_s, "sd");
  Distribution d(Kind::kNormal, folded_normal_mean(mean_s, sd_s));
  d.a_ = mean_ns;
  d.b_ = sd_ns;
  return d;
}

Distribution Distribution::pareto(double mean_s, double shape) {
  Distribution d(Kind::kPareto, mean_s);
  const double mean_ns = checked_positive_length(mean_s, "mean");
  require_finite(shape, "shape");
  require(shape > 1, "shape must be greater than 1, so that the mean is finite");
  d.a_ = mean_ns * ((shape - 1) / shape);
  d.b_ = 1 / shape;
  return d;
}

Distribution Distribution::weibull(double mean_s, double shape) {
  Distribution d(Kind::kWeibull, mean_s);
  const double mean_ns = checked_positive_length(mean_s, "mean");
  require_finite(shape, "shape");
  require(shape > 0, "shape must be positive");
  require(shape >= kMinWeibullShape, "shape must be at least 0.01");
  d.b_ = 1 / shape;
  d.a_ = mean_ns / kernel::tgamma(1 + d.b_);
  return d;
}

Distribution Distribution::gamma(double mean_s, double shape) {
  const double mean_ns = checked_positive_length(mean_s, "mean");
  check_gamma_shape(shape);
  Distribution d(Kind::kGamma, mean_s);
  d.a_ = mean_ns / shape;
  d.b_ = shape;
  return d;
}

Distribution Distribution::gamma_scaled(double shape, double scale_s) {
  check_gamma_shape(shape);
  checked_positive_length(scale_s, "scale");
  require(scale_s * shape <= kMaxSeconds, "the mean, shape x scale, must be at most 9.2e9 seconds");
  return gamma(shape * scale_s, shape);
}

Distribution Distribution::empirical(std::vector<double> values_s, std::vector<double> weights) {
  require(!values_s.empty(), "an empirical distribution needs at least one value");
  require(values_s.size() == weights.size(), "there must be as many weights as values");
  require(values_s.size() <= std::numeric_limits<std::uint32_t>::max(),
          "an empirical distribution can have at most 2^32 - 1 values");
  bool positive = false;
  for (const double value : values_s) checked_length(value, "value");
  for (const double weight : weights) {
    require_finite(weight, "weight");
    require(weight >= 0, "weight must not be negative");
    positive = positive || weight > 0;
  }
  require(positive, "at least one weight must be positive");
  auto alias = std::make_shared<const Alias>(values_s, weights);
  Distribution d(Kind::kEmpirical, alias->mean_s);
  d.alias_ = std::move(alias);
  return d;
}

Distribution::Parameters Distribution::parameters() const {
  // Some parameters are not lengths: probabilities, reciprocals of shapes, and sigma.
  const bool probability_first = kind_ == Kind::kHyperexponential;
  const bool length_second =
      kind_ == Kind::kUniform || kind_ == Kind::kHyperexponential || kind_ == Kind::kNormal;
  return {probability_first ? a_ : a_ / 1e9, length_second ? b_ / 1e9 : b_, c_ / 1e9, phases_};
}

Duration Distribution::sample_anew(const RandomKey& key, DrawId id) const {
  Draws draws(key, id);
  return sample(draws);
}

Duration Distribution::sample_other(Draws& draws) const {
  double ns = 0;
  if (kind_ == Kind::kNormal) {
    ns = a_ + b_ * unit_normal(draws);
    return Duration::from_nanoseconds(ns < 0 ? -ns : ns);
  }
  switch (kind_) {
    case Kind::kConstant:
      return constant_;
    case Kind::kExponential:
      ns = a_ * unit_exponential(draws);
      break;
    case Kind::kUniform:
      ns = a_ + b_ * draws.uniform();
      break;
    case Kind::kErlang:
      for (std::int32_t i = 0; i < phases_; ++i) ns += unit_exponential(draws);
      ns *= a_;
      break;
    case Kind::kHyperexponential:
      ns = draws.uniform() < a_ ? b_ : c_;
      ns *= unit_exponential(draws);
      break;
    case Kind::kLognormal:
      ns = a_ * kernel::exp(b_ * unit_normal(draws));
      break;
    case Kind::kNormal:  // handled above
      break;
    case Kind::kPareto:
      // The sample is x_m U^(-1/shape), where -log U is an exponential variate: there is no need to
      // invert a uniform, whose 53 bits would cut off the tail.
      ns = a_ * kernel::exp(b_ * unit_exponential(draws));
      break;
    case Kind::kWeibull:
      ns = a_ * kernel::pow(unit_exponential(draws), b_);
      break;
    case Kind::kGamma:
      ns = a_ * unit_gamma(draws, b_);
      break;
    case Kind::kEmpirical:
      return alias_->sample(draws.next());
  }
  return Duration::from_nanoseconds(ns);
}

}  // namespace retrysim

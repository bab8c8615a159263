// Distributions of durations. The algorithms and their elementary functions are our own, so
// one seed gives the same nanosecond with every compiler and on every processor. Parameters are in
// seconds; samples are rounded to the nearest nanosecond.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/time.hpp>

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace retrysim {

namespace kernel {

/// One layer of a ziggurat, for a position of 53 random bits. Internal: declared here only so that
/// the fast paths of `unit_exponential` and `unit_normal` can be inlined.
struct ZigguratLayer {
  std::uint64_t inside;  ///< positions below this are under the density for sure
  double width;          ///< right edge of the layer times 2^-53
};
extern const ZigguratLayer kExponentialLayers[256];
extern const ZigguratLayer kNormalLayers[256];

/// `unit_exponential` for a first word that is not inside its layer (2.2 % of them).
double unit_exponential_outside(Draws& draws, std::uint64_t word);

/// As above, for `unit_normal` (1.5 % of them).
double unit_normal_outside(Draws& draws, std::uint64_t word);

/// A length with the sign of a normal variate, which is the word's bit above that of the layer.
inline double with_normal_sign(double length, std::uint64_t word) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(length) | (word & 256) << 55);
}

}  // namespace kernel

/// One exponential variate with mean 1 (256-layer ziggurat, Marsaglia and Tsang 2000). Takes one
/// word, in 2.2 % of the cases more.
inline double unit_exponential(Draws& draws) {
  const std::uint64_t word = draws.next();
  const kernel::ZigguratLayer& layer = kernel::kExponentialLayers[word & 255];
  const std::uint64_t position = word >> 11;
  if (position < layer.inside) [[likely]] {
    return static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
  }
  return kernel::unit_exponential_outside(draws, word);
}

/// One standard normal variate (256-layer ziggurat, as above). Takes one word, in 1.5 % of the
/// cases more.
inline double unit_normal(Draws& draws) {
  const std::uint64_t word = draws.next();
  const kernel::ZigguratLayer& layer = kernel::kNormalLayers[word & 255];
  const std::uint64_t position = word >> 11;
  if (position < layer.inside) [[likely]] {
    const double length = static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
    return kernel::with_normal_sign(length, word);
  }
  return kernel::unit_normal_outside(draws, word);
}

/// A distribution of non-negative durations: an immutable value, cheap to copy, safe to share
/// between threads. A sample that does not fit in a Duration is `Duration::max()`, "never".
class Distribution {
 public:
  enum class Kind : std::uint8_t {
    kConstant,
    kExponential,
    kUniform,
    kErlang,
    kHyperexponential,
    kLognormal,
    kNormal,
    kPareto,
    kWeibull,
    kEmpirical,
    kGamma,
  };

  static constexpr double kMaxSeconds = 9.2e9;      ///< longest mean, phase or value: 292 years
  static constexpr double kMaxCv = 1e6;             ///< largest coefficient of variation
  static constexpr int kMaxErlangShape = 1000;      ///< one identity has 2048 words (random.hpp)
  static constexpr double kMinWeibullShape = 0.01;  ///< below, Gamma(1 + 1 / shape) overflows soon
  static constexpr double kMinGammaShape = 0.01;    ///< cv 10; below, nearly all samples are 0 ns
  static constexpr double kMaxGammaShape = 1e6;     ///< cv 0.001

  Distribution() = default;  ///< constant zero

  /// Each maker checks its arguments and throws std::invalid_argument with a sentence that says
  /// what is wrong ("mean must be positive"); all arguments are finite, means and values at most
  /// `kMaxSeconds`. A mean of 0 is a constant and nothing else.
  static Distribution constant(Duration value);  ///< `value` >= 0; `Duration::max()` allowed
  static Distribution exponential(double mean_s);
  static Distribution uniform(double min_s, double max_s);  ///< on [min, max), 0 <= min < max
  static Distribution erlang(double mean_s, int shape);     ///< sum of `shape` phases
  /// With probability `p` exponential with mean `mean1_s`, otherwise with mean `mean2_s`.
  static Distribution hyperexponential(double p, double mean1_s, double mean2_s);
  /// Balanced means (p m1 = (1-p) m2) with coefficient of variation `cv` in [1, kMaxCv].
  static Distribution hyperexponential_cv(double mean_s, double cv);
  static Distribution lognormal(double mean_s, double cv);   ///< cv = sd / mean in [0, kMaxCv]
  static Distribution normal(double mean_s, double sd_s);    ///< |N(mean, sd)|: folded at 0
  static Distribution pareto(double mean_s, double shape);   ///< shape > 1 so that a mean exists
  static Distribution weibull(double mean_s, double shape);  ///< shape >= kMinWeibullShape
  /// With coefficient of variation 1 / sqrt(shape), kMinGammaShape <= shape <= kMaxGammaShape.
  static Distribution gamma(double mean_s, double shape);
  /// A gamma distribution with mean shape * scale.
  static Distribution gamma_scaled(double shape, double scale_s);
  /// Draws one of `values_s` with probability proportional to its weight. Same length, at least
  /// one; values >= 0; weights >= 0 and not all 0.
  static Distribution empirical(std::vector<double> values_s, std::vector<double> weights);

  Kind kind() const { return kind_; }
  bool is_constant() const { return kind_ == Kind::kConstant; }
  /// The value of a constant distribution; zero for the others.
  Duration constant_value() const { return constant_; }
  /// Exact mean in seconds, before rounding to nanoseconds. Normal: of the folded variable.
  double mean_seconds() const { return mean_s_; }

  /// The parameters of a distribution, for computing with it instead of drawing from it. Lengths
  /// are in seconds. Constant and empirical distributions have none. By kind:
  ///
  /// - exponential: `a` mean
  /// - uniform: `a` least value, `b` width
  /// - erlang: `a` mean of a phase
  /// - hyperexponential: `a` probability, `b` mean of the first phase, `c` of the second
  /// - lognormal: `a` median, `b` standard deviation of the logarithm
  /// - normal: `a` mean, `b` standard deviation, both before folding
  /// - pareto: `a` least value, `b` 1 / shape
  /// - weibull: `a` scale, `b` 1 / shape
  /// - gamma: `a` scale, `b` shape
  struct Parameters {
    double a = 0, b = 0, c = 0;
    int phases = 1;  ///< erlang
  };
  Parameters parameters() const;

  /// All that it is made of, as plain values: two distributions with equal parts draw the same.
  struct Parts {
    Kind kind = Kind::kConstant;
    std::int32_t phases = 0;
    Duration constant;
    double mean_s = 0, a = 0, b = 0, c = 0;
    std::vector<Duration> values;  ///< of an empirical one, with the two columns of its alias table
    std::vector<std::uint64_t> threshold;
    std::vector<std::uint32_t> other;
  };
  Parts parts() const;
  /// Takes what `parts` gave.
  static Distribution from_parts(Parts parts);

  /// One sample. All kinds but erlang take a handful of words from `draws`, erlang about one per
  /// phase. How many words a gamma variate takes depends on their values.
  Duration sample(Draws& draws) const {
    if (kind_ == Kind::kConstant) return constant_;
    if (kind_ == Kind::kExponential) {
      return Duration::from_nanoseconds(unit_exponential(draws) * a_);
    }
    return sample_other(draws);
  }

  /// One sample from the random words of `id`, none of which is computed for a constant.
  [[gnu::always_inline]] Duration sample(const RandomKey& key, DrawId id) const {
    if (kind_ == Kind::kConstant) return constant_;
    // Nearly all variates of a ziggurat take a single word, so there is no state to keep.
    const bool normal = kind_ == Kind::kNormal;
    if (normal || kind_ == Kind::kExponential) [[likely]] {
      const std::uint64_t word = Draws::first_word(key, id);
      const kernel::ZigguratLayer& layer =
          (normal ? kernel::kNormalLayers : kernel::kExponentialLayers)[word & 255];
      if (const std::uint64_t position = word >> 11; position < layer.inside) [[likely]] {
        const double length =
            static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
        if (!normal) return Duration::from_nanoseconds(length * a_);
        const double ns = a_ + b_ * kernel::with_normal_sign(length, word);
        return Duration::from_nanoseconds(ns < 0 ? -ns : ns);
      }
    }
    return sample_anew(key, id);
  }

 private:
  struct Alias;  // alias table of an empirical distribution

  Distribution(Kind kind, double mean_s) : kind_(kind), mean_s_(mean_s) {}
  Duration sample_other(Draws& draws) const;
  Duration sample_anew(const RandomKey& key, DrawId id) const;

  Kind kind_ = Kind::kConstant;
  std::int32_t phases_ = 0;  // erlang
  Duration constant_;
  double mean_s_ = 0;
  // The parameters the sampler needs, by kind; lengths in nanoseconds.
  //   exponential: a mean             uniform: a min, b width     erlang: a mean of a phase
  //   hyperexponential: a p, b mean of phase 1, c of phase 2      normal: a mean, b sd
  //   lognormal: a median, b sigma    pareto: a smallest value, b 1 / shape
  //   weibull: a scale, b 1 / shape   gamma: a scale, b shape
  double a_ = 0, b_ = 0, c_ = 0;
  std::shared_ptr<const Alias> alias_;
};

}  // namespace retrysim

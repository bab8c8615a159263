// Distributions of durations. The algorithms are our own or SLEEF's bit-reproducible functions, so
// one seed gives the same nanosecond with every compiler and on every processor. Parameters are in
// seconds; samples are rounded to the nearest nanosecond.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/time.hpp>

#include <memory>
#include <string>
#include <vector>

namespace retrysim {

/// One exponential variate with mean 1 (256-layer ziggurat, Marsaglia and Tsang 2000).
double unit_exponential(Draws& draws);

/// One standard normal variate (Box-Muller, one of the pair).
double unit_normal(Draws& draws);

/// A distribution of non-negative durations: an immutable value, cheap to copy.
class Distribution {
 public:
  enum class Kind : std::uint8_t {
    kConstant, kExponential, kUniform, kErlang, kHyperexponential,
    kLognormal, kNormal, kPareto, kWeibull, kEmpirical,
  };

  Distribution() = default;  ///< constant zero

  /// Each maker checks its arguments and throws std::invalid_argument with a sentence that says
  /// what is wrong ("mean must be positive"); all arguments are finite.
  static Distribution constant(Duration value);
  static Distribution exponential(double mean_s);
  static Distribution uniform(double min_s, double max_s);            ///< on [min, max)
  static Distribution erlang(double mean_s, int shape);               ///< sum of `shape` >= 1 phases
  static Distribution hyperexponential(double p, double mean1_s, double mean2_s);
  /// Balanced means (p m1 = (1-p) m2) with coefficient of variation `cv` >= 1.
  static Distribution hyperexponential_cv(double mean_s, double cv);
  static Distribution lognormal(double mean_s, double cv);            ///< cv = sd / mean >= 0
  static Distribution normal(double mean_s, double sd_s);             ///< |N(mean, sd)|: folded at 0
  static Distribution pareto(double mean_s, double shape);            ///< shape > 1 so a mean exists
  static Distribution weibull(double mean_s, double shape);           ///< shape > 0
  /// Draws one of `values_s` with probability proportional to its weight. Same length, at least
  /// one; values >= 0; weights >= 0 and not all 0.
  static Distribution empirical(std::vector<double> values_s, std::vector<double> weights);

  Kind kind() const { return kind_; }
  bool is_constant() const { return kind_ == Kind::kConstant; }
  /// The value of a constant distribution.
  Duration constant_value() const { return constant_; }
  /// Exact mean in seconds (normal: of the folded variable). Pareto, Weibull: as given.
  double mean_seconds() const;

  Duration sample(Draws& draws) const {
    if (kind_ == Kind::kConstant) return constant_;
    if (kind_ == Kind::kExponential) return Duration::from_nanoseconds(unit_exponential(draws) * a_);
    return sample_other(draws);
  }

 private:
  Duration sample_other(Draws& draws) const;

  Kind kind_ = Kind::kConstant;
  Duration constant_;
  double a_ = 0, b_ = 0, c_ = 0;  // meaning depends on the kind; lengths in nanoseconds
  struct Alias;                   // alias table of an empirical distribution
  std::shared_ptr<const Alias> alias_;
};

}  // namespace retrysim

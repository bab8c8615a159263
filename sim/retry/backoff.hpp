// The delay before a retry: exponential growth, cap and jitter. It is computed with + - * / alone,
// which IEEE 754 rounds the same way everywhere; for a factor of 2 every value before the jitter is
// exact. Sources: botocore retries/standard.py; PredefinedBackoffStrategies.java of the AWS SDK for
// Java 1.x, RetryMiddleware.php, RetryStrategy.cpp and lib/util.js for whole milliseconds;
// aws-sdk-go client/default_retryer.go and aws-sdk-go-v2 aws/retry/jitter_backoff.go for what
// happens above the cap; aws-c-io exponential_backoff_retry_strategy.c; the AWS Architecture Blog
// on jitter; Polly's RetryHelper.cs (173d6d1d) for decorrelated-v2, the only one with functions
// beyond these four.
//
// The code that nearly every retry needs is here, to be compiled into the decision; the rest is in
// backoff.cpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>
#include <optional>

namespace retrysim::backoff {

/// factor^exponent by repeated squaring; may be infinite.
double power_by_squaring(double factor, std::int64_t exponent);

inline double power(double factor, std::int64_t exponent) {
  constexpr std::int64_t kMost = 1023;  // the largest exponent of a double
  if (factor == 2 && exponent >= 1 - kMost && exponent <= kMost) [[likely]] {
    return std::bit_cast<double>((exponent + kMost) << 52);
  }
  return power_by_squaring(factor, exponent);
}

/// The growth g(n) of rules for which it is not a power of the factor.
double other_growth(const BackoffRules& rules, std::int64_t n);

/// The growth for the retry after attempt `attempts`: g(first_exponent + i), where i is its index
/// from 0.
inline double growth(const BackoffRules& rules, std::uint32_t attempts) {
  const std::int64_t retry_index = static_cast<std::int64_t>(attempts) - 1;
  const std::int64_t exponent =
      std::min<std::int64_t>(rules.first_exponent + retry_index, rules.max_exponent);
  if (rules.growth != Growth::kExponential) [[unlikely]]
    return other_growth(rules, exponent);
  return power(rules.factor, exponent);
}

inline double nanoseconds(Duration d) {
  return d == Duration::max() ? std::numeric_limits<double>::infinity()
                              : static_cast<double>(d.count());
}

/// `v` with its jitter, in the unit of `v`, nanoseconds or quanta. `share`: the share of
/// proportional jitter.
inline double spread(Jitter jitter, double share, double v, double uniform) {
  switch (jitter) {
    case Jitter::kFull:
      return uniform == 0 ? 0 : uniform * v;  // v may be infinite
    case Jitter::kEqual:
      return uniform == 0 ? v / 2 : v / 2 + uniform * (v / 2);
    case Jitter::kAdditive:
      return uniform == 0 ? v : v + uniform * v;
    case Jitter::kProportional: {
      const double factor = 1 - share + uniform * (2 * share);
      return factor == 0 ? 0 : factor * v;  // v may be infinite
    }
    case Jitter::kNone:
    case Jitter::kDecorrelated:
    case Jitter::kDecorrelatedV2:
    case Jitter::kPlusWidth:
    case Jitter::kPlusMinusWidth:
      break;
  }
  return v;
}

// These functions are for jitter that only few rules have.
Duration from_distribution(const BackoffRules& rules, const RetryProgress& progress, Draws& draws);
Duration decorrelated(const BackoffRules& rules, Duration base, const RetryProgress& progress,
                      double uniform);
/// `level`: the growth that the last retry has reached; set to that of this one.
Duration decorrelated_v2(const BackoffRules& rules, Duration base, std::uint32_t attempts,
                         double uniform, double& level);
/// `v` nanoseconds, a limited backoff, with a jitter of constant width.
Duration with_width(const BackoffRules& rules, Jitter jitter, double v, double uniform);
/// `v` nanoseconds with its jitter, in whole quanta as `rules.rounding` says.
Duration in_quanta(const BackoffRules& rules, Duration base, Jitter jitter, double v,
                   std::uint32_t attempts, double uniform);

/// The longest backoff that one retry can have; where `delays` or a distribution has no bound, its
/// mean.
Duration longest_delay(const RetryRules& rules);

/// Draws that have been made already, for the functions below. Such types have `uniform`, the next
/// uniform draw, and `all`, the draws themselves before any is taken.
struct GivenDraws {
  Draws& given;

  double uniform() const { return given.uniform(); }
  Draws& all() const { return given; }
};

/// `backoff_delay`, compiled into its caller. `level`: the level of decorrelated-v2 jitter, which
/// may change.
template <class BackoffDraws>
[[gnu::always_inline]] inline Duration delay(const BackoffRules& rules,
                                             ResponseClass response_class,
                                             const RetryProgress& progress, BackoffDraws& draws,
                                             const std::optional<double>& fixed_draw,
                                             double& level) {
  assert(progress.attempts >= 1);
  if (!rules.delays.empty()) [[unlikely]]
    return from_distribution(rules, progress, draws.all());

  const bool throttling = response_class == ResponseClass::kThrottling;
  const Duration base = throttling ? rules.throttle_base : rules.base;
  const Jitter jitter = throttling ? rules.throttle_jitter : rules.jitter;
  const double uniform = jitter == Jitter::kNone ? 0 : fixed_draw ? *fixed_draw : draws.uniform();
  if (static_cast<std::int64_t>(progress.attempts) <= rules.immediate_retries) [[unlikely]] {
    return Duration::zero();
  }
  if (jitter == Jitter::kDecorrelated) [[unlikely]]
    return decorrelated(rules, base, progress, uniform);
  if (jitter == Jitter::kDecorrelatedV2) [[unlikely]]
    return decorrelated_v2(rules, base, progress.attempts, uniform, level);

  const double cap = nanoseconds(rules.cap);
  // A base of zero stays zero, even if the power is infinite.
  double v = base == Duration::zero()
                 ? 0
                 : static_cast<double>(base.count()) * growth(rules, progress.attempts);
  if (v > cap && rules.over_cap == OverCap::kFlat) return rules.cap;
  if (!rules.jitter_before_cap && rules.over_cap != OverCap::kRedraw) v = std::min(v, cap);
  if (jitter >= Jitter::kPlusWidth) [[unlikely]]
    return with_width(rules, jitter, v, uniform);
  const Duration delay =
      rules.quantum > Duration::zero()
          ? in_quanta(rules, base, jitter, v, progress.attempts, uniform)
          : Duration::from_nanoseconds(spread(jitter, rules.jitter_share, v, uniform));
  if (delay <= rules.cap) [[likely]]
    return delay;
  // Only proportional jitter can raise a backoff that has already been capped.
  if (jitter == Jitter::kProportional && !rules.jitter_before_cap &&
      rules.over_cap != OverCap::kRedraw) {
    return delay;
  }
  if (rules.over_cap != OverCap::kRedraw) return rules.cap;
  const double again = fixed_draw ? *fixed_draw : draws.uniform();
  return Duration::from_nanoseconds(cap / 2 + again * (cap / 2));
}

}  // namespace retrysim::backoff

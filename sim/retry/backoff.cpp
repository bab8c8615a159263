// The parts of a retry's delay that few rules need; the other parts, and the sources, are in
// backoff.hpp.
//
// SPDX-License-Identifier: MIT
#include "retry/backoff.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include "kernel/functions.hpp"

namespace retrysim {
namespace backoff {
namespace {

constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();

/// `spread` by random integers, as Java's nextInt (`inclusive` false) and PHP's mt_rand (true) draw
/// them. A fixed draw of 1 gives the upper bound, which Java's full jitter itself never reaches.
std::int64_t spread_integers(Jitter jitter, double share, std::int64_t v, double uniform,
                             bool inclusive) {
  const auto random_to = [uniform](std::int64_t n, bool with_n) {
    const double drawn = uniform * (static_cast<double>(n) + (with_n ? 1 : 0));
    return drawn < static_cast<double>(n) ? static_cast<std::int64_t>(drawn) : n;
  };
  switch (jitter) {
    case Jitter::kFull:
      return random_to(v, inclusive);
    case Jitter::kEqual:
      return v / 2 + random_to(v / 2, true);
    case Jitter::kAdditive:
      return v > kLongest / 2 ? kLongest : v + random_to(v, inclusive);
    case Jitter::kProportional: {
      const auto reach = static_cast<std::int64_t>(share * static_cast<double>(v));
      return v > kLongest / 2 ? kLongest : v - reach + random_to(2 * reach, inclusive);
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

Duration before_rounding(const BackoffRules& rules, Duration base, const RetryProgress& progress,
                         double uniform) {
  const double cap = nanoseconds(rules.cap), start = nanoseconds(base);
  const Duration previous = progress.previous_delay;
  if (rules.decorrelated_from_full) {
    if (progress.attempts <= 1) return Duration::from_nanoseconds(uniform * std::min(start, cap));
    const double x = std::min(cap, 3 * nanoseconds(previous));
    const double low = std::min(start, x), high = std::max(start, x);
    return std::min(rules.cap, Duration::from_nanoseconds(low + uniform * (high - low)));
  }
  const double last = previous == Duration::zero() ? start : nanoseconds(previous);
  const double high = std::max(start, 3 * last);  // the throttling base may exceed 3 x last
  return std::min(rules.cap, Duration::from_nanoseconds(start + uniform * (high - start)));
}

/// Rounds down to whole quanta.
Duration floor_to_quantum(Duration d, Duration quantum) {
  if (quantum == Duration::zero() || d == Duration::max()) return d;
  return Duration::nanoseconds(d.count() / quantum.count() * quantum.count());
}

/// The time of `quanta` quanta, rounded down to whole ones; `quanta` may be infinite.
Duration whole_quanta(double quanta, Duration quantum) {
  return quanta < 9.2e18 ? quantum * static_cast<std::int64_t>(quanta) : Duration::max();
}

/// Full jitter: the draw on the base has the resolution of the quantum, and then grows.
double mantissa(const BackoffRules& rules, Duration base, std::uint32_t attempts, double uniform) {
  const auto quantum = static_cast<double>(rules.quantum.count());
  const double quanta = static_cast<double>(base.count()) / quantum;
  const auto drawn = static_cast<double>(static_cast<std::int64_t>(uniform * quanta));
  return drawn == 0 ? 0 : drawn * quantum * growth(rules, attempts);
}

}  // namespace

double power_by_squaring(double factor, std::int64_t exponent) {
  double square = factor;
  double result = 1;
  for (std::int64_t e = exponent < 0 ? -exponent : exponent; e > 0; e /= 2) {
    if (e % 2 != 0) result *= square;
    square *= square;
  }
  return exponent < 0 ? 1 / result : result;
}

double other_growth(const BackoffRules& rules, std::int64_t n) {
  switch (rules.growth) {
    case Growth::kExponential:
      return power(rules.factor, n);
    case Growth::kLinear:
      return std::max(0.0, 1 + static_cast<double>(n) * (rules.factor - 1));
    case Growth::kFibonacci: {
      double before = 0, now = n < 0 ? 0 : 1;
      constexpr double kForever = std::numeric_limits<double>::infinity();
      for (std::int64_t i = 0; i < n && now < kForever; ++i) {
        before += now;
        std::swap(before, now);
      }
      return now;
    }
    case Growth::kPolynomial:
      return n < 0 ? 0 : kernel::pow(static_cast<double>(n + 1), rules.power);
  }
  return 1;
}

Duration from_distribution(const BackoffRules& rules, const RetryProgress& progress, Draws& draws) {
  const std::size_t retry = progress.attempts - 1, listed = rules.delays.size();
  if (retry < listed) return rules.delays[retry].sample(draws);
  if (rules.delays_then == DelaysThen::kRepeat) return rules.delays[retry % listed].sample(draws);
  const Duration last = rules.delays.back().sample(draws);
  if (rules.delays_then == DelaysThen::kLast) return last;
  const double factor = power(rules.delays_factor, static_cast<std::int64_t>(retry + 1 - listed));
  const double grown = last == Duration::zero() ? 0 : nanoseconds(last) * factor;
  return std::min(Duration::from_nanoseconds(grown), rules.delays_cap);
}

// Spreads `v` by a constant width, which is added to the limited backoff; or the sum is limited, as
// `jitter_before_cap` says.
Duration with_width(const BackoffRules& rules, Jitter jitter, double v, double uniform) {
  const auto width = static_cast<double>(rules.jitter_width.count());
  const double low = jitter == Jitter::kPlusWidth ? v : v - width;
  const double high = v + width;
  const double drawn =
      v < std::numeric_limits<double>::infinity() ? std::max(0.0, low + uniform * (high - low)) : v;
  const Duration delay = floor_to_quantum(Duration::from_nanoseconds(drawn), rules.quantum);
  return rules.jitter_before_cap || rules.over_cap != OverCap::kLimit ? std::min(delay, rules.cap)
                                                                      : delay;
}

Duration decorrelated(const BackoffRules& rules, Duration base, const RetryProgress& progress,
                      double uniform) {
  return floor_to_quantum(before_rounding(rules, base, progress, uniform), rules.quantum);
}

// The formula is George Polevoy's (Polly issue 530); its scale makes the median delays about 1, 2,
// 4 times the base.
Duration decorrelated_v2(const BackoffRules& rules, Duration base, std::uint32_t attempts,
                         double uniform, double& level) {
  const double t = static_cast<double>(attempts - 1) + uniform;
  const double grown = power(2, static_cast<std::int64_t>(attempts) - 1) * kernel::exp2(uniform) *
                       kernel::tanh(std::sqrt(4 * t));
  const double added = grown - std::exchange(level, grown);
  if (base == Duration::zero()) return base;
  constexpr double kForever = std::numeric_limits<double>::infinity();
  const double ns =
      grown < kForever ? added * (1 / 1.4) * static_cast<double>(base.count()) : kForever;
  return floor_to_quantum(std::min(rules.cap, Duration::from_nanoseconds(ns)), rules.quantum);
}

Duration in_quanta(const BackoffRules& rules, Duration base, Jitter jitter, double v,
                   std::uint32_t attempts, double uniform) {
  if (rules.rounding == Rounding::kIntegers || rules.rounding == Rounding::kIntegersInclusive) {
    const Duration whole = Duration::from_nanoseconds(v);
    if (whole == Duration::max()) return rules.cap;
    const std::int64_t quanta = whole.count() / rules.quantum.count();
    return rules.quantum * spread_integers(jitter, rules.jitter_share, quanta, uniform,
                                           rules.rounding == Rounding::kIntegersInclusive);
  }
  if (rules.rounding == Rounding::kMantissa && jitter == Jitter::kFull) {
    return Duration::from_nanoseconds(mantissa(rules, base, attempts, uniform));
  }
  // The product is computed in quanta, as in the SDKs: in nanoseconds a product just below a whole
  // quantum would be rounded up to it.
  const double quanta = v / static_cast<double>(rules.quantum.count());
  return whole_quanta(spread(jitter, rules.jitter_share, quanta, uniform), rules.quantum);
}

Duration longest_delay(const RetryRules& rules) {
  if (rules.max_attempts < 2 || rules.mode == RetryMode::kNone) return Duration::zero();
  const BackoffRules& its = rules.backoff;
  if (!its.delays.empty()) {
    double longest = 0;
    for (const Distribution& d : its.delays) longest = std::max(longest, d.mean_seconds());
    if (its.delays_then != DelaysThen::kGrow || rules.max_attempts <= its.delays.size() + 1) {
      return Duration::from_seconds(longest);
    }
    const auto further = static_cast<std::int64_t>(rules.max_attempts - 1 - its.delays.size());
    const double grown = its.delays.back().mean_seconds() * power(its.delays_factor, further);
    const Duration last = Duration::from_seconds(std::isnan(grown) ? 0 : grown);
    return std::max(Duration::from_seconds(longest), std::min(last, its.delays_cap));
  }
  Duration base = std::max(its.base, its.throttle_base);
  for (const ErrorBase& own : rules.errors.bases) base = std::max(base, own.base);
  const bool width = its.jitter >= Jitter::kPlusWidth || its.throttle_jitter >= Jitter::kPlusWidth;
  const Duration beyond = width ? its.jitter_width : Duration::zero();
  if (its.growth != Growth::kExponential) {
    // The growth is taken at a far retry at most: most clients have a limit of attempts.
    constexpr std::uint32_t kFarOff = 1'000'000;
    const double most = growth(its, std::min(rules.max_attempts - 1, kFarOff));
    const double v = base == Duration::zero() ? 0 : static_cast<double>(base.count()) * most;
    return std::min(Duration::from_nanoseconds(v), its.cap) + beyond;
  }
  const bool decorrelated =
      its.jitter == Jitter::kDecorrelated || its.throttle_jitter == Jitter::kDecorrelated;
  // Decorrelated jitter draws up to three times the last delay.
  const double factor = decorrelated ? 3 : std::max(its.factor, 1.0);
  const std::uint64_t steps = static_cast<std::uint64_t>(std::max(its.first_exponent, 0)) +
                              (rules.max_attempts - 2) + (decorrelated ? 1 : 0);
  double longest = static_cast<double>(base.count());
  const double cap = static_cast<double>(its.cap.count());
  for (std::uint64_t i = 0; i < steps && factor > 1 && longest > 0 && longest < cap; ++i) {
    longest *= factor;
  }
  longest = std::min(longest, cap);
  const bool proportional =
      its.jitter == Jitter::kProportional || its.throttle_jitter == Jitter::kProportional;
  if (proportional && !its.jitter_before_cap) longest *= 1 + its.jitter_share;
  return Duration::from_nanoseconds(longest) + beyond;
}

}  // namespace backoff

Duration backoff_delay(const BackoffRules& rules, ResponseClass response_class,
                       const RetryProgress& progress, Draws& draws,
                       const std::optional<double>& fixed_draw, double* level) {
  backoff::GivenDraws given{draws};
  double reached = progress.jitter_level;
  const Duration delay =
      backoff::delay(rules, response_class, progress, given, fixed_draw, reached);
  if (level != nullptr) *level = reached;
  return delay;
}

}  // namespace retrysim

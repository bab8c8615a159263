// The delay before a retry: exponential growth, cap and jitter. Computed with + - * / alone, which
// IEEE 754 rounds the same way everywhere; for a factor of 2 every value before the jitter is
// exact. Sources: botocore retries/standard.py; PredefinedBackoffStrategies.java of the AWS SDK for
// Java 1.x, RetryMiddleware.php, RetryStrategy.cpp and lib/util.js for whole milliseconds;
// aws-sdk-go client/default_retryer.go and aws-sdk-go-v2 aws/retry/jitter_backoff.go for what
// happens above the cap; aws-c-io exponential_backoff_retry_strategy.c; the AWS Architecture Blog
// on jitter.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>

namespace retrysim {
namespace {

/// factor^exponent by repeated squaring; may be infinite.
double power(double factor, std::int64_t exponent) {
  constexpr std::int64_t kMost = 1023;  // the largest exponent of a double
  if (factor == 2 && exponent >= 1 - kMost && exponent <= kMost) [[likely]] {
    return std::bit_cast<double>((exponent + kMost) << 52);
  }
  double square = factor;
  double result = 1;
  for (std::int64_t e = exponent < 0 ? -exponent : exponent; e > 0; e /= 2) {
    if (e % 2 != 0) result *= square;
    square *= square;
  }
  return exponent < 0 ? 1 / result : result;
}

/// factor^(first_exponent + i) for the retry after attempt `attempts`.
double growth(const BackoffRules& rules, std::uint32_t attempts) {
  const std::int64_t retry_index = static_cast<std::int64_t>(attempts) - 1;
  const std::int64_t exponent =
      std::min<std::int64_t>(rules.first_exponent + retry_index, rules.max_exponent);
  return power(rules.factor, exponent);
}

double nanoseconds(Duration d) {
  return d == Duration::max() ? std::numeric_limits<double>::infinity()
                              : static_cast<double>(d.count());
}

/// `v` with its jitter; both in the same unit, nanoseconds or quanta.
double spread(Jitter jitter, double v, double uniform) {
  switch (jitter) {
    case Jitter::kFull:
      return uniform == 0 ? 0 : uniform * v;  // v may be infinite
    case Jitter::kEqual:
      return uniform == 0 ? v / 2 : v / 2 + uniform * (v / 2);
    case Jitter::kAdditive:
      return uniform == 0 ? v : v + uniform * v;
    case Jitter::kNone:
    case Jitter::kDecorrelated:
      break;
  }
  return v;
}

/// The same by random integers, as Java's nextInt (`inclusive` false) and PHP's mt_rand (true) draw
/// them. A fixed draw of 1 gives the upper bound, which Java's full jitter itself never reaches.
constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();
std::int64_t spread_integers(Jitter jitter, std::int64_t v, double uniform, bool inclusive) {
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
    case Jitter::kNone:
    case Jitter::kDecorrelated:
      break;
  }
  return v;
}

Duration decorrelated(const BackoffRules& rules, Duration base, const RetryProgress& progress,
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
  const double high = std::max(start, 3 * last);  // a throttling base may exceed 3 x the last delay
  return std::min(rules.cap, Duration::from_nanoseconds(start + uniform * (high - start)));
}

/// Rounds down to whole quanta.
Duration floor_to_quantum(Duration d, Duration quantum) {
  if (quantum == Duration::zero() || d == Duration::max()) return d;
  return Duration::nanoseconds(d.count() / quantum.count() * quantum.count());
}

/// Whole quanta below `quanta` of them, which may be infinite.
Duration whole_quanta(double quanta, Duration quantum) {
  return quanta < 9.2e18 ? quantum * static_cast<std::int64_t>(quanta) : Duration::max();
}

Duration from_distribution(const BackoffRules& rules, const RetryProgress& progress, Draws& draws) {
  const std::size_t last = rules.delays.size() - 1;
  return rules.delays[std::min<std::size_t>(progress.attempts - 1, last)].sample(draws);
}

/// Full jitter whose draw on the base has the resolution of the quantum and then grows.
double mantissa(const BackoffRules& rules, Duration base, std::uint32_t attempts, double uniform) {
  const auto quantum = static_cast<double>(rules.quantum.count());
  const double quanta = static_cast<double>(base.count()) / quantum;
  const auto drawn = static_cast<double>(static_cast<std::int64_t>(uniform * quanta));
  return drawn == 0 ? 0 : drawn * quantum * growth(rules, attempts);
}

}  // namespace

Duration backoff_delay(const BackoffRules& rules, ResponseClass response_class,
                       const RetryProgress& progress, Draws& draws,
                       const std::optional<double>& fixed_draw) {
  assert(progress.attempts >= 1);
  if (!rules.delays.empty()) [[unlikely]]
    return from_distribution(rules, progress, draws);

  const bool throttling = response_class == ResponseClass::kThrottling;
  const Duration base = throttling ? rules.throttle_base : rules.base;
  const Jitter jitter = throttling ? rules.throttle_jitter : rules.jitter;
  const double uniform = jitter == Jitter::kNone ? 0 : fixed_draw ? *fixed_draw : draws.uniform();
  if (static_cast<std::int64_t>(progress.attempts) <= rules.immediate_retries) [[unlikely]] {
    return Duration::zero();
  }
  if (jitter == Jitter::kDecorrelated) {
    return floor_to_quantum(decorrelated(rules, base, progress, uniform), rules.quantum);
  }

  const double cap = nanoseconds(rules.cap);
  // A base of zero stays zero, also where the power is infinite.
  double v = base == Duration::zero()
                 ? 0
                 : static_cast<double>(base.count()) * growth(rules, progress.attempts);
  if (v > cap && rules.over_cap == OverCap::kFlat) return rules.cap;
  if (!rules.jitter_before_cap && rules.over_cap != OverCap::kRedraw) v = std::min(v, cap);
  const bool quantized = rules.quantum > Duration::zero();
  const bool integers = quantized && (rules.rounding == Rounding::kIntegers ||
                                      rules.rounding == Rounding::kIntegersInclusive);
  Duration delay;
  if (integers) {
    const Duration whole = Duration::from_nanoseconds(v);
    if (whole == Duration::max()) return rules.cap;
    const std::int64_t quanta = whole.count() / rules.quantum.count();
    delay = rules.quantum * spread_integers(jitter, quanta, uniform,
                                            rules.rounding == Rounding::kIntegersInclusive);
  } else if (quantized && rules.rounding == Rounding::kMantissa && jitter == Jitter::kFull) {
    delay = Duration::from_nanoseconds(mantissa(rules, base, progress.attempts, uniform));
  } else if (quantized) {
    // In quanta, as the SDKs compute: in nanoseconds a product just below a whole quantum would be
    // rounded up to it.
    const double quanta = v / static_cast<double>(rules.quantum.count());
    delay = whole_quanta(spread(jitter, quanta, uniform), rules.quantum);
  } else {
    delay = Duration::from_nanoseconds(spread(jitter, v, uniform));
  }
  if (delay > rules.cap && rules.over_cap == OverCap::kRedraw) {
    const double again = fixed_draw ? *fixed_draw : draws.uniform();
    return Duration::from_nanoseconds(cap / 2 + again * (cap / 2));
  }
  return std::min(delay, rules.cap);
}

}  // namespace retrysim

// The delay before a retry: exponential growth, cap and jitter. Computed with + - * / alone, which
// IEEE 754 rounds the same way everywhere; for a factor of 2 every value before the jitter is
// exact. Sources: botocore retries/standard.py, PredefinedBackoffStrategies.java of the AWS SDK for
// Java 1.x (whole milliseconds), and the AWS Architecture Blog on jitter (the families).
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace retrysim {
namespace {

/// factor^exponent by repeated squaring; may be infinite.
double power(double factor, std::int64_t exponent) {
  double square = factor;
  double result = 1;
  for (std::int64_t e = exponent < 0 ? -exponent : exponent; e > 0; e /= 2) {
    if (e % 2 != 0) result *= square;
    square *= square;
  }
  return exponent < 0 ? 1 / result : result;
}

/// base * factor^exponent in nanoseconds for the retry after attempt `attempts`.
double exponential(const BackoffRules& rules, Duration base, std::uint32_t attempts) {
  if (base == Duration::zero()) return 0;  // also where the power is infinite
  const std::int64_t retry_index = static_cast<std::int64_t>(attempts) - 1;
  const std::int64_t exponent =
      std::min<std::int64_t>(rules.first_exponent + retry_index, rules.max_exponent);
  return static_cast<double>(base.count()) * power(rules.factor, exponent);
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
    case Jitter::kNone:
    case Jitter::kDecorrelated:
      break;
  }
  return v;
}

/// The same where delays are whole quanta, by random integers as Java's nextInt draws them. A fixed
/// draw of 1 gives the upper bound, which `full` itself never reaches.
std::int64_t spread_quanta(Jitter jitter, std::int64_t v, double uniform) {
  const auto scaled = [uniform](std::int64_t n) {
    return static_cast<std::int64_t>(uniform * static_cast<double>(n));
  };
  switch (jitter) {
    case Jitter::kFull:
      return scaled(v);
    case Jitter::kEqual:
      return v / 2 + std::min(scaled(v / 2 + 1), v / 2);
    case Jitter::kNone:
    case Jitter::kDecorrelated:
      break;
  }
  return v;
}

Duration decorrelated(const BackoffRules& rules, Duration base, Duration previous, double uniform) {
  const double low = nanoseconds(base);
  const double last = previous == Duration::zero() ? low : nanoseconds(previous);
  const double high = std::max(low, 3 * last);  // a throttling base may exceed 3 x the last delay
  return std::min(rules.cap, Duration::from_nanoseconds(low + uniform * (high - low)));
}

/// Rounds down to whole quanta.
Duration floor_to_quantum(Duration d, Duration quantum) {
  if (quantum == Duration::zero() || d == Duration::max()) return d;
  return Duration::nanoseconds(d.count() / quantum.count() * quantum.count());
}

Duration from_distribution(const BackoffRules& rules, const RetryToken& token, Draws& draws) {
  const std::size_t last = rules.delays.size() - 1;
  return rules.delays[std::min<std::size_t>(token.attempts - 1, last)].sample(draws);
}

}  // namespace

Duration backoff_delay(const BackoffRules& rules, ResponseClass response_class,
                       const RetryToken& token, Draws& draws, std::optional<double> fixed_draw) {
  assert(token.attempts >= 1);
  if (!rules.delays.empty()) [[unlikely]]
    return from_distribution(rules, token, draws);

  const bool throttling = response_class == ResponseClass::kThrottling;
  const Duration base = throttling ? rules.throttle_base : rules.base;
  const Jitter jitter = throttling ? rules.throttle_jitter : rules.jitter;
  const double uniform = jitter == Jitter::kNone ? 0 : fixed_draw ? *fixed_draw : draws.uniform();
  if (jitter == Jitter::kDecorrelated) {
    return floor_to_quantum(decorrelated(rules, base, token.previous_delay, uniform),
                            rules.quantum);
  }

  double v = exponential(rules, base, token.attempts);
  if (!rules.jitter_before_cap) v = std::min(v, nanoseconds(rules.cap));
  Duration delay;
  if (rules.quantum == Duration::zero()) {
    delay = Duration::from_nanoseconds(spread(jitter, v, uniform));
  } else {
    const Duration whole = Duration::from_nanoseconds(v);
    if (whole == Duration::max()) return std::min(whole, rules.cap);
    const std::int64_t quanta = whole.count() / rules.quantum.count();
    delay = rules.quantum * spread_quanta(jitter, quanta, uniform);
  }
  return std::min(delay, rules.cap);
}

}  // namespace retrysim

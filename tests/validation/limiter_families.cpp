// Adaptive mode's send-rate limiter: its CUBIC curve, and clients that always have work against a
// service with a hard limit on the rate. The limiter has constants of its own in seconds, so that a
// unit of time is a second here.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim {

/// Sets up the state that theory starts from; the calculations are the limiter's own.
struct SendRateLimiterTestAccess {
  static void set_measured_rate(SendRateLimiter& limiter, double rate) {
    limiter.measured_rate_ = rate;
  }
  static double time_window(const SendRateLimiter& limiter) { return limiter.time_window_; }
  static double rate_on_curve(const SendRateLimiter& limiter, Time now) {
    return limiter.rate_on_curve(now);
  }
};

namespace validation {
namespace {

using Access = SendRateLimiterTestAccess;

// The curve after a throttling error at time zero and rate w_max.

SendRateLimiter throttled_limiter(const Parameters& p) {
  SendRateLimiter limiter;
  Access::set_measured_rate(limiter, p.number("w_max"));
  limiter.on_response(Time::zero(), true);
  return limiter;
}

double rate_at(const SendRateLimiter& limiter, double time_s) {
  return Access::rate_on_curve(limiter, Time::zero() + Duration::from_nanoseconds(time_s * 1e9));
}

double time_window(const DirectRun& d) {
  return Access::time_window(throttled_limiter(d.parameters));
}

double fill_rate_after_throttle(const DirectRun& d) {
  return throttled_limiter(d.parameters).fill_rate();
}

/// "rate_at_1".
double rate_at_named_time(const DirectRun& d) {
  const std::string_view text = d.quantity.substr(d.quantity.rfind('_') + 1);
  return rate_at(throttled_limiter(d.parameters), Parameters("t=" + std::string(text)).number("t"));
}

/// Mean rate from one error to the next, if that comes when the old rate is reached. Simpson's rule
/// is exact for a cubic curve.
double mean_share_of_peak(const DirectRun& d) {
  const SendRateLimiter limiter = throttled_limiter(d.parameters);
  const double end = Access::time_window(limiter);
  const double sum = rate_at(limiter, 0) + 4 * rate_at(limiter, end / 2) + rate_at(limiter, end);
  return sum / 6 / d.parameters.number("w_max");
}

/// To the nanosecond.
double time_to_tenth_above(const DirectRun& d) {
  const SendRateLimiter limiter = throttled_limiter(d.parameters);
  const double wanted = 1.1 * d.parameters.number("w_max");
  std::int64_t below = 0, above = 1'000'000'000'000;
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    const double rate = Access::rate_on_curve(limiter, Time::from_nanoseconds(middle));
    (rate < wanted ? below : above) = middle;
  }
  return static_cast<double>(above) / 1e9;
}

constexpr Quantity kCubic[] = {
    {"K", "", nullptr, time_window},
    {"rate_after_throttle", "", nullptr, fill_rate_after_throttle},
    {"avg_fraction_of_peak", "", nullptr, mean_share_of_peak},
    {"rate_at_0", "", nullptr, rate_at_named_time},
    {"rate_at_0.5", "", nullptr, rate_at_named_time},
    {"rate_at_1", "", nullptr, rate_at_named_time},
    {"rate_at_3", "", nullptr, rate_at_named_time},
    {"rate_at_4.21716", "", nullptr, rate_at_named_time},
    {"rate_at_6", "", nullptr, rate_at_named_time},
    {"time_to_1.1w", "", nullptr, time_to_tenth_above},
};

// Clients that always have work, one attempt at a time, and come back at once.

System saturating_clients(const Parameters& p) {
  const double clients = p.number("N"), limit = p.number("X");
  const std::string throttle =
      fmt::format("throttle = {{ rate = {}, burst = {} }}\n", limit, p.text("burst"));
  const std::string retry =
      R"({ mode = "adaptive", max_attempts = "unlimited", quota.capacity = "unlimited", )"
      R"(backoff = { base = 0, throttle_base = 0 } })";
  System system{fmt::format("[network]\nlatency = {}\n", p.number("rtt") / 2) +
                service_table(R"("unlimited")", "0", throttle) +
                closed_client_table(clients, "0", retry)};
  system.requests_per_unit = limit * kUnitSeconds;
  system.memory_units = 1 / kUnitSeconds;
  system.warmup_units = p.number("warm") / kUnitSeconds;
  system.window_units = (p.number("horizon") - p.number("warm")) / kUnitSeconds;
  return system;
}

double window_seconds(const Observation& o) { return window_units(o.run) * kUnitSeconds; }

double attempts_per_second(const Observation& o) {
  return static_cast<double>(o.run.clients[0].window.attempts) / window_seconds(o);
}

double attempts_over_limit(const Observation& o) {
  return attempts_per_second(o) / o.parameters.number("X");
}

double goodput_over_limit(const Observation& o) {
  return static_cast<double>(o.run.clients[0].window.successes) / window_seconds(o) /
         o.parameters.number("X");
}

double throttled_fraction(const Observation& o) {
  const ClientFlow& window = o.run.clients[0].window;
  return static_cast<double>(window.throttled) / static_cast<double>(window.attempts);
}

/// Mean time from one throttling error of a client to its next.
double seconds_between_errors(const Observation& o) {
  return o.parameters.number("N") * window_seconds(o) /
         static_cast<double>(o.run.clients[0].window.throttled);
}

constexpr Quantity kSaturating[] = {
    {"goodput_over_X", "", goodput_over_limit},
    {"throttle_fraction", "", throttled_fraction},
    {"attempts_over_X", "", attempts_over_limit},
    {"sync_total_avg", "", attempts_per_second},
    {"sync_period", "", seconds_between_errors},
    {"floor_attempt_rate", "", attempts_per_second},
    {"floor_throttle_fraction", "", throttled_fraction},
};

constexpr Family kLimiterFamilies[] = {
    {"cubic", nullptr, kCubic},
    {"cubic_shared", saturating_clients, kSaturating},
    {"adaptive_limiter_ref", saturating_clients, kSaturating},
};

}  // namespace

std::span<const Family> limiter_families() { return kLimiterFamilies; }

}  // namespace validation
}  // namespace retrysim

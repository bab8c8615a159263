// The client-side send-rate limiter of adaptive mode: a token bucket whose fill rate follows a
// CUBIC curve after each throttling error. Sources: botocore/retries/adaptive.py, bucket.py,
// throttling.py; the AWS SDK reference's pseudo-code. Inactive until the first throttling error.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/time.hpp>

#include <cstdint>

namespace retrysim {

/// Every call passes the present time, which never goes back. Rates are per second. After a
/// throttling error at rate W_max the fill rate is 0.7 W_max; it is back at W_max after K seconds,
/// K^3 = 0.3 W_max / 0.4, and grows beyond it as 0.4 (t - K)^3 + W_max, never above twice the
/// measured send rate, never below the lowest rate, 0.5 by default. The bucket holds one second's
/// worth, at least one token.
class SendRateLimiter {
 public:
  /// A limiter as a client has it that was made at `start`.
  explicit SendRateLimiter(Time start = Time::zero(), const SendRateRules& rules = {});

  /// Takes `tokens` (>= 1) if there are as many now, or if the limiter is not active. A shortfall
  /// that would fill within one nanosecond, the resolution of time, counts as none. More tokens
  /// than the bucket holds are never granted.
  bool try_acquire(Time now, int tokens = 1);

  /// How long until `try_acquire` could succeed at the present fill rate, were the bucket large
  /// enough: zero or, rounded up, whole nanoseconds. Exact as long as no response arrives and
  /// nobody else acquires.
  Duration wait(Time now, int tokens = 1) const;

  /// Whether the bucket, as large as it is now, can ever hold so many tokens.
  bool can_hold(int tokens) const { return !enabled_ || tokens <= max_capacity_; }

  /// Takes the tokens at once, even if the level falls below zero, and says how long whoever took
  /// them has to wait for them at the present fill rate.
  Duration reserve(Time now, int tokens = 1);

  /// Takes note of a response: measures the send rate and sets the new fill rate.
  void on_response(Time now, bool throttling);

  bool enabled() const { return enabled_; }
  double measured_rate() const { return measured_rate_; }  ///< smoothed sends per second
  double fill_rate() const { return fill_rate_; }          ///< tokens per second
  double max_capacity() const { return max_capacity_; }
  double last_max_rate() const { return last_max_rate_; }  ///< rate at the last throttling error
  /// Tokens in the bucket at `now` (>= the last time passed in).
  double capacity(Time now) const;

 private:
  friend struct SendRateLimiterTestAccess;
  void refill(Time now);
  void measure(Time now);
  void set_rate(Time now, double rate);
  void set_last_max_rate(double rate);   // and K with it
  double rate_on_curve(Time now) const;  // the CUBIC curve, in tokens per second

  Time last_refill_ = Time::max();  // max(): never refilled
  Time last_throttle_;
  std::int64_t last_bucket_ = 0;  // in half seconds
  double fill_rate_ = 0;
  double max_capacity_ = 0;
  double current_capacity_ = 0;
  double measured_rate_ = 0;
  double last_max_rate_ = 0;
  double min_rate_ = 0.5;
  double time_window_ = 0;  // K: seconds until the curve is back at last_max_rate_
  std::uint32_t request_count_ = 0;
  bool enabled_ = false;
  bool round_rates_ = false;
};

}  // namespace retrysim

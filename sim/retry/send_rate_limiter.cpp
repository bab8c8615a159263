// The send-rate limiter of adaptive mode. Moments are integer nanoseconds; only differences of two
// moments become seconds in floating point, and measuring intervals are counted in whole half
// seconds, so that a response at exactly 1.0 s falls into the interval that begins there. Constants
// and equations: botocore retries/adaptive.py, bucket.py and throttling.py; smithy-rs
// client_rate_limiter.rs (which grants a token that is less than a nanosecond short).
//
// SPDX-License-Identifier: MIT
#include <retrysim/send_rate_limiter.hpp>

#include <sleef.h>

#include <algorithm>

namespace retrysim {
namespace {

constexpr double kMinCapacity = 1;  // tokens
constexpr double kBeta = 0.7;       // factor on the rate at a throttling error
constexpr double kScale = 0.4;      // of the CUBIC curve, in tokens / s^4
constexpr double kSmooth = 0.8;     // weight of the newest measurement
constexpr double kBucketSeconds = 0.5;
constexpr std::int64_t kBucketNanoseconds = 500'000'000;
constexpr double kNanosecondsPerSecond = 1e9;

double seconds(Duration d) { return static_cast<double>(d.count()) / kNanosecondsPerSecond; }

/// Time until a bucket with `capacity` tokens holds `tokens`; negative if it does already.
double nanoseconds_to_tokens(double capacity, int tokens, double fill_rate) {
  return (tokens - capacity) / fill_rate * kNanosecondsPerSecond;
}

/// Nearest multiple of 1e-8. Rates are far below 2^53 of these.
double rounded(double rate) {
  constexpr double kSteps = 1e8;
  if (!(rate < 1e10)) return rate;  // beyond what its steps could tell
  return static_cast<double>(static_cast<std::int64_t>(rate * kSteps + 0.5)) / kSteps;
}

}  // namespace

SendRateLimiter::SendRateLimiter(Time start, const SendRateRules& rules)
    : last_throttle_(start),
      // The first interval begins at a whole second, as botocore's does.
      last_bucket_(start.count() / (2 * kBucketNanoseconds) * 2),
      measured_rate_(rules.initial_measured_rate),
      min_rate_(rules.min_rate),
      round_rates_(rules.round_rates) {
  if (rules.initial_fill_rate > 0) {
    fill_rate_ = rules.initial_fill_rate;
    max_capacity_ = std::max(fill_rate_, kMinCapacity);
    last_refill_ = start;
  }
}

double SendRateLimiter::capacity(Time now) const {
  if (last_refill_ == Time::max()) return current_capacity_;
  return std::min(max_capacity_, current_capacity_ + seconds(now - last_refill_) * fill_rate_);
}

Duration SendRateLimiter::wait(Time now, int tokens) const {
  if (!enabled_) return Duration::zero();
  const double missing = nanoseconds_to_tokens(capacity(now), tokens, fill_rate_);
  if (missing < 1) return Duration::zero();
  if (missing >= 9e18) return Duration::max();
  const auto whole = static_cast<std::int64_t>(missing);
  return Duration::nanoseconds(static_cast<double>(whole) < missing ? whole + 1 : whole);
}

bool SendRateLimiter::try_acquire(Time now, int tokens) {
  if (!enabled_) return true;
  refill(now);
  // The same expression as in wait(), so that whoever has waited is granted the token.
  if (nanoseconds_to_tokens(current_capacity_, tokens, fill_rate_) >= 1) return false;
  current_capacity_ = std::max(0.0, current_capacity_ - tokens);
  return true;
}

Duration SendRateLimiter::reserve(Time now, int tokens) {
  if (!enabled_) return Duration::zero();
  const Duration time = wait(now, tokens);
  refill(now);
  current_capacity_ -= tokens;
  return time;
}

void SendRateLimiter::on_response(Time now, bool throttling) {
  measure(now);
  double rate;
  if (throttling) {
    // A client that is being limited may be sending less than it was allowed to, and the other way
    // round just after a cut: the smaller of the two is what the service refused.
    const double refused = enabled_ ? std::min(measured_rate_, fill_rate_) : measured_rate_;
    set_last_max_rate(refused);
    last_throttle_ = now;
    enabled_ = true;
    rate = refused * kBeta;
  } else {
    rate = rate_on_curve(now);
  }
  set_rate(now, std::min(rate, 2 * measured_rate_));
}

void SendRateLimiter::refill(Time now) {
  current_capacity_ = capacity(now);
  last_refill_ = now;
}

void SendRateLimiter::measure(Time now) {
  // The request that opens a new interval is counted in the one it closes.
  ++request_count_;
  const std::int64_t bucket = now.count() / kBucketNanoseconds;
  if (bucket <= last_bucket_) return;
  const double rate =
      request_count_ / (static_cast<double>(bucket - last_bucket_) * kBucketSeconds);
  measured_rate_ = rate * kSmooth + measured_rate_ * (1 - kSmooth);
  if (round_rates_) measured_rate_ = rounded(measured_rate_);
  request_count_ = 0;
  last_bucket_ = bucket;
}

void SendRateLimiter::set_rate(Time now, double rate) {
  refill(now);  // what has passed since the last refill was earned at the old rate
  fill_rate_ = std::max(round_rates_ ? rounded(rate) : rate, min_rate_);
  max_capacity_ = std::max(fill_rate_, kMinCapacity);  // capacity() holds the level below it
}

void SendRateLimiter::set_last_max_rate(double rate) {
  last_max_rate_ = rate;
  time_window_ = Sleef_cinz_cbrtd1_u10purec(rate * (1 - kBeta) / kScale);
}

double SendRateLimiter::rate_on_curve(Time now) const {
  const double t = seconds(now - last_throttle_) - time_window_;
  return kScale * (t * t * t) + last_max_rate_;
}

}  // namespace retrysim

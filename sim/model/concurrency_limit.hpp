// How many attempts a service lets in at the same time: a fixed number, or one that it finds from
// how long attempts take. The algorithms and their constants are those of Netflix's
// concurrency-limits library (January 2026): Gradient2Limit, AIMDLimit and SimpleLimiter, one
// sample an attempt.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retrysim::model {

/// Average of the first ten samples, then exponential with weight 2 / (window + 1).
class LongTermAverage {
 public:
  explicit LongTermAverage(double window) : weight_(2 / (window + 1)) {}

  double add(double sample) {
    if (count_ < kWarmUp) {
      sum_ += sample;
      return value_ = sum_ / ++count_;
    }
    return value_ = value_ * (1 - weight_) + sample * weight_;
  }
  void scale(double factor) { value_ *= factor; }

 private:
  static constexpr int kWarmUp = 10;
  double weight_, sum_ = 0, value_ = 0;
  int count_ = 0;
};

class ConcurrencyLimit {
 public:
  explicit ConcurrencyLimit(const ConcurrencySpec& spec)
      : spec_(&spec), limit_(static_cast<double>(spec.initial)), average_(spec.long_window) {}

  bool is_unlimited() const {
    return spec_->control == ConcurrencyControl::kFixed && spec_->limit == ServiceSpec::kUnlimited;
  }
  /// Attempts that may be at the service now.
  std::int64_t limit() const {
    return spec_->control == ConcurrencyControl::kFixed ? spec_->limit
                                                        : static_cast<std::int64_t>(limit_);
  }
  bool has_room() const { return present_ < limit(); }

  void enter(std::uint32_t attempt) {
    ++present_;
    if (spec_->control == ConcurrencyControl::kFixed) return;
    if (attempt >= present_at_entry_.size()) {
      present_at_entry_.resize(2 * std::size_t{attempt} + 64);
    }
    present_at_entry_[attempt] = present_;
  }

  /// The attempt has been at the service for `time`; `served` to the end, or not.
  void leave(std::uint32_t attempt, Duration time, bool served) {
    --present_;
    if (spec_->control == ConcurrencyControl::kFixed) return;
    learn(time, present_at_entry_[attempt], served);
  }

  /// A sample of the adaptive limits; `present`: how many were there when it came, itself included.
  void learn(Duration time, std::int64_t present, bool served) {
    if (spec_->control == ConcurrencyControl::kAimd) {
      aimd(time, static_cast<double>(present), served);
    } else {
      gradient(static_cast<double>(time.count()), static_cast<double>(present));
    }
    limit_ = std::clamp(limit_, static_cast<double>(spec_->min), static_cast<double>(spec_->max));
  }

  /// Forgets what it has learnt; nobody is there any more.
  void reset() { *this = ConcurrencyLimit(*spec_); }

 private:
  void aimd(Duration time, double present, bool served) {
    if (!served || time > spec_->slow) {
      limit_ = static_cast<double>(static_cast<std::int64_t>(limit_ * spec_->backoff_ratio));
    } else if (present * 2 >= limit_) {
      limit_ += 1;
    }
  }

  // The limit shrinks as far as attempts take longer than the long-term average (but by no more
  // than half), and otherwise grows by `headroom`; both smoothed.
  void gradient(double time_ns, double present) {
    const double average = average_.add(time_ns);
    if (average > 2 * time_ns) average_.scale(0.95);  // after an overload: back to normal sooner
    if (present < limit_ / 2) return;                 // the limit is not what holds it back
    const double slope =
        time_ns > 0 ? std::clamp(spec_->tolerance * average / time_ns, 0.5, 1.0) : 1.0;
    const double next = limit_ * slope + spec_->headroom;
    limit_ = limit_ * (1 - spec_->smoothing) + next * spec_->smoothing;
  }

  const ConcurrencySpec* spec_;
  double limit_;
  LongTermAverage average_;
  std::int64_t present_ = 0;
  std::vector<std::int64_t> present_at_entry_;  // by attempt
};

}  // namespace retrysim::model

// The limits on the attempts that a service lets in: a throttle on how many arrive in a time, and a
// limit on how many are there at once.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "kernel/memory.hpp"
#include "model/service/adaptive_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace retrysim::model {

/// Allowances of attempts at one rate, one for all or one for each client, operation or key, that
/// refill all the time (a token bucket) or at the start of each window.
class Allowances {
 public:
  /// What is left for the attempts that share a limit.
  struct Allowance {
    double left = 0;  ///< attempts
    Time since;       ///< the last refill
  };

  explicit Allowances(const ThrottleSpec& spec)
      : rate_(spec.rate),
        window_(spec.window),
        scope_(spec.scope),
        windows_(spec.window > Duration::zero()),
        most_(windows_ ? spec.window_limit() : spec.burst),
        of_all_{most_, {}} {}

  /// True if an attempt may pass: one of `number` of client group `group` where each client has an
  /// allowance; where each operation or key has one, that of this number.
  bool pass(std::uint16_t group, std::uint32_t number, Time now) {
    if (scope_ == ThrottleScope::kService) return take(of_all_, now);
    if (scope_ != ThrottleScope::kClient) group = 0;
    if (group >= of_groups_.size()) of_groups_.resize(group + std::size_t{1});
    std::vector<Allowance>& allowances = of_groups_[group];
    if (number >= allowances.size()) {
      allowances.resize(number + std::size_t{1}, Allowance{most_, {}});
    }
    return take(allowances[number], now);
  }

  /// As at the start of the run.
  void forget() {
    of_all_ = {most_, {}};
    of_groups_.clear();
  }

 private:
  // A token that is missing only by rounding (less than a billionth of it) counts, so that a rate
  // is kept exactly at exact intervals.
  bool take(Allowance& a, Time now) const {
    if (!windows_) {
      a.left = std::min(most_, a.left + (now - a.since).in_seconds() * rate_);
    } else if (now.count() / window_.count() != a.since.count() / window_.count()) {
      a.left = most_;
    }
    a.since = now;
    if (a.left < 1 - 1e-9) return false;
    a.left = std::max(0.0, a.left - 1);
    return true;
  }

  double rate_;
  Duration window_;
  ThrottleScope scope_;
  bool windows_;
  double most_;
  Allowance of_all_;
  std::vector<std::vector<Allowance>> of_groups_;
};

/// What a service lets pass: allowances at one rate for all requests, or at rates of their own for
/// some operations or keys.
class Throttle {
 public:
  /// Operations or keys that a limit of their own concerns, by the number of that.
  using Numbers = std::vector<std::uint32_t>;

  explicit Throttle(const ThrottleSpec& spec) : others_(spec) {
    const bool by_key = !spec.keys.empty();
    for (const ThrottleLimit& limit : by_key ? spec.keys : spec.operations) {
      const bool unlimited = limit.rate <= 0;
      limits_.push_back({kNobody, unlimited,
                         Allowances({limit.rate, limit.burst, spec.scope, {}, limit.window})});
    }
  }

  /// Says which operation or key each limit concerns: `numbers[i]` belongs to the i-th one.
  void set_numbers(const Numbers& numbers) {
    for (std::size_t i = 0; i < limits_.size(); ++i) limits_[i].concerns = numbers.at(i);
    std::ranges::stable_sort(limits_, {}, &Limit::concerns);
  }

  /// True if an attempt may pass: one of `number` of client group `group` where each client has an
  /// allowance; where each operation or key has one, that of this number.
  bool pass(std::uint16_t group, std::uint32_t number, Time now) {
    return others_.pass(group, number, now);
  }
  /// Admits an attempt whose operation or key, if there is a limit of its own for that, has the
  /// number `about`.
  bool pass(std::uint16_t group, std::uint32_t number, Time now, std::uint32_t about) {
    const auto limit = std::ranges::lower_bound(limits_, about, {}, &Limit::concerns);
    if (limit == limits_.end() || limit->concerns != about) return others_.pass(group, number, now);
    return limit->unlimited || limit->allowances.pass(group, number, now);
  }

  /// As at the start of the run.
  void forget() {
    others_.forget();
    for (Limit& limit : limits_) limit.allowances.forget();
  }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  struct Limit {
    std::uint32_t concerns;
    bool unlimited;
    Allowances allowances;
  };

  Allowances others_;
  std::vector<Limit> limits_;  // in the order of what they concern
};

// How many attempts a service lets in at the same time: a fixed number, or one that it finds from
// how long attempts take. The algorithms here and their constants are those of Netflix's
// concurrency-limits library (January 2026): Gradient2Limit, AIMDLimit and SimpleLimiter, one
// sample an attempt. The others are in adaptive_limits.cpp.

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
  /// By attempt: how many were present when it came, itself included.
  using Presence = kernel::BlockArray<std::int64_t>;

  /// `at_entry` is needed by an adaptive limit that attempts enter and leave, `key` by those that
  /// draw. The service has so many servers, and all of them work at the start.
  explicit ConcurrencyLimit(const ConcurrencySpec& spec, Presence* at_entry = nullptr,
                            const RandomKey& key = RandomKey(0, 0), std::int64_t servers = 1)
      : spec_(&spec),
        limit_(static_cast<double>(spec.initial)),
        average_(spec.long_window),
        at_entry_(at_entry),
        key_(key),
        servers_(servers),
        working_(servers),
        law_(make_limit_law(spec, key, servers, Time::zero())) {}

  bool is_adaptive() const { return spec_->control != ConcurrencyControl::kFixed; }
  /// Attempts that are there.
  std::int64_t present() const { return present_; }
  /// Attempts that may be there when one comes now; the largest number: any.
  std::int64_t limit(Time now) { return law_ == nullptr ? limit() : law_->limit(present_, now); }
  /// An attempt has come that the limit does not let in.
  void refused(Time now) {
    if (law_ != nullptr) law_->refused(now);
  }

  void enter(std::uint32_t attempt, Time now) {
    ++present_;
    if (!is_adaptive()) return;
    at_entry_->reach(attempt);
    (*at_entry_)[attempt] = present_;
    if (law_ != nullptr) law_->entered(present_, now);
  }

  /// The attempt has been at the service for `time`; `served` to the end, or not.
  void leave(std::uint32_t attempt, Duration time, bool served, Time now) {
    --present_;
    if (!is_adaptive()) return;
    const std::int64_t found = (*at_entry_)[attempt];
    if (law_ == nullptr) return learn(time, found, served);
    law_->left({now, time, found, present_, served});
  }

  /// `servers` work from now on.
  void set_working(std::int64_t servers, Time now) {
    working_ = servers;
    if (law_ != nullptr) law_->set_working(servers, now);
  }

  // The rules of limits without a law of their own.
  std::int64_t limit() const {
    return is_adaptive() ? static_cast<std::int64_t>(limit_) : spec_->limit;
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

  /// Forgets what it has learnt; no attempt is left.
  void reset(Time now) {
    limit_ = static_cast<double>(spec_->initial);
    average_ = LongTermAverage(spec_->long_window);
    present_ = 0;
    law_ = make_limit_law(*spec_, key_, servers_, now);
    if (law_ != nullptr) law_->set_working(working_, now);
  }

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
  Presence* at_entry_;
  RandomKey key_;
  std::int64_t servers_, working_;
  std::unique_ptr<LimitLaw> law_;
};

/// Who is let in under a limit on concurrency, by priority. The rule is that of Netflix's
/// concurrency-limits library (AbstractPartitionedLimiter, 78a74b98, January 2026): below the limit
/// all are let in, whatever their partition has used; from the limit on those whose partition has
/// fewer than its own places. So the service may hold more attempts than the limit. A partition has
/// the attempts of one priority; `PartitionSpec::refuse_from` puts a threshold in place of the
/// limit, which is not in the library.
class Partitions {
 public:
  explicit Partitions(const std::vector<PartitionSpec>& specs) {
    for (const PartitionSpec& spec : specs) all_.push_back({&spec});
  }

  bool empty() const { return all_.empty(); }

  /// Whether an attempt of this priority is let in while `present` attempts are there and `limit`
  /// may be; the largest number: any.
  bool let_in(std::uint8_t priority, std::int64_t present, std::int64_t limit) const {
    const Partition* own = find(priority);
    if (own == nullptr || limit == LimitLaw::kUnlimited) return present < limit;
    return present < threshold(*own->spec, limit) || own->present < places(*own->spec, limit);
  }

  void enter(std::uint8_t priority) { change(priority, 1); }
  void leave(std::uint8_t priority) { change(priority, -1); }

 private:
  struct Partition {
    const PartitionSpec* spec;
    std::int64_t present = 0;
  };

  // As the library computes it, rounding included.
  static std::int64_t places(const PartitionSpec& spec, std::int64_t limit) {
    if (spec.share < 0) return 0;
    const double exact = std::ceil(static_cast<double>(limit) * spec.share);
    return std::max(std::int64_t{1}, static_cast<std::int64_t>(exact));
  }
  static std::int64_t threshold(const PartitionSpec& spec, std::int64_t limit) {
    if (spec.refuse_from >= 1) return limit;
    constexpr double kRounding = 1e-9;  // 0.07 of 100 are 7
    const double exact = static_cast<double>(limit) * spec.refuse_from;
    return static_cast<std::int64_t>(std::ceil(exact * (1 - kRounding)));
  }

  const Partition* find(std::uint8_t priority) const {
    const auto own =
        std::ranges::find(all_, priority, [](const Partition& p) { return p.spec->priority; });
    return own == all_.end() ? nullptr : &*own;
  }
  void change(std::uint8_t priority, std::int64_t by) {
    for (Partition& p : all_) {
      if (p.spec->priority == priority) p.present += by;
    }
  }

  std::vector<Partition> all_;
};

}  // namespace retrysim::model

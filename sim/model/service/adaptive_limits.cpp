// SPDX-License-Identifier: MIT
#include "model/service/adaptive_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace retrysim::model {
namespace {

constexpr std::int64_t kNanosecondsPerMs = 1'000'000;

/// Whole milliseconds, begun ones included.
std::int64_t milliseconds_begun(Duration d) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(d.count()) / static_cast<double>(kNanosecondsPerMs)));
}

/// The limit of an attempt that is refused if more than `most` others are there.
std::int64_t limit_beyond(double most) {
  constexpr double kLargest = 9e18;
  return static_cast<std::int64_t>(std::min(kLargest, std::floor(most))) + 1;
}

/// In thousandths, rounded down.
std::int64_t in_thousandths(double use) {
  return std::min<std::int64_t>(1000, static_cast<std::int64_t>(use * 1000));
}

constexpr std::int64_t kUnlimited = LimitLaw::kUnlimited;

}  // namespace

namespace laws {

/// What most laws need not know.
class PlainLaw {
 public:
  void refused(Time /*now*/) {}
  void entered(std::int64_t /*present*/, Time /*now*/) {}
  void set_working(std::int64_t /*servers*/, Time /*now*/) {}
};

// --- Vegas (Netflix).

/// Compares each time with the least one: the limit grows while few attempts seem to queue, and
/// shrinks when many do. The least time is measured anew after some multiple of the limit of
/// samples.
class Vegas final : public PlainLaw {
 public:
  Vegas(const ConcurrencySpec& spec, const RandomKey& key)
      : spec_(&spec),
        key_(key),
        limit_(static_cast<double>(spec.initial)),
        jitter_(next_jitter()) {}

  std::int64_t limit(std::int64_t /*present*/, Time /*now*/) { return whole(limit_); }

  void left(const LimitSample& s) {
    // The library refuses a time of zero, which a clock of nanoseconds never shows it.
    const std::int64_t time = std::max<std::int64_t>(1, s.time.count());
    ++samples_;
    if (jitter_ * static_cast<double>(spec_->probe_multiplier) * limit_ <=
        static_cast<double>(samples_)) {
      jitter_ = next_jitter();
      samples_ = 0;
      least_ = time;
    } else if (least_ == 0 || time < least_) {
      least_ = time;
    } else {
      adapt(time, s);
    }
  }

 private:
  static std::int64_t whole(double limit) { return static_cast<std::int64_t>(limit); }

  /// The logarithm to base 10, rounded down, but at least one.
  static std::int64_t logarithm(std::int64_t n) {
    std::int64_t result = 0;
    for (; n >= 10; n /= 10) ++result;
    return std::max<std::int64_t>(1, result);
  }

  void adapt(std::int64_t time, const LimitSample& s) {
    const auto queue = static_cast<std::int64_t>(
        std::ceil(limit_ * (1 - static_cast<double>(least_) / static_cast<double>(time))));
    const std::int64_t unit = logarithm(whole(limit_));
    double next = limit_;
    if (!s.served) {
      next -= static_cast<double>(unit);
    } else if (static_cast<double>(s.found * 2) < limit_) {
      return;  // the limit is not what holds it back
    } else if (queue <= unit) {
      next += static_cast<double>(spec_->beta * unit);
    } else if (queue < spec_->alpha * unit) {
      next += static_cast<double>(unit);
    } else if (queue > spec_->beta * unit) {
      next -= static_cast<double>(unit);
    } else {
      return;
    }
    next =
        std::max(static_cast<double>(spec_->min), std::min(static_cast<double>(spec_->max), next));
    limit_ = (1 - spec_->smoothing) * limit_ + spec_->smoothing * next;
  }

  // Between a half and one.
  double next_jitter() {
    return Draws(key_, {draws_++, 0, 0, Purpose::kLimitProbe}).uniform() * 0.5 + 0.5;
  }

  const ConcurrencySpec* spec_;
  RandomKey key_;
  std::uint64_t draws_ = 0;
  double limit_;
  double jitter_;  // of the number of samples until the next measurement
  std::int64_t samples_ = 0;
  std::int64_t least_ = 0;  // in nanoseconds; 0: not known
};

// --- The gradient of Envoy.

/// Counts of times by their first two decimal digits, as libcircllhist keeps them.
class TwoDigitHistogram {
 public:
  void add(std::int64_t value) {
    ++bins_[bin_of(value)];
    ++count_;
  }
  void clear() {
    bins_.clear();
    count_ = 0;
  }
  std::int64_t count() const { return count_; }

  /// Interpolated within a bin. There is a value.
  double quantile(double q) const {
    const double rank = static_cast<double>(count_) * q;
    double lower = 0, upper = 0;
    auto bin = bins_.begin();
    for (;; ++bin) {
      lower = upper;
      upper = lower + static_cast<double>(bin->second);
      if (upper >= rank || std::next(bin) == bins_.end()) break;
    }
    const double width = power_of_ten(bin->first.exponent) / 10.0;
    const double left = bin->first.digits / 10.0 * power_of_ten(bin->first.exponent);
    if (bin->first.digits == 0 || lower == rank) return left;
    if (upper == rank) return left + width;
    return left + (rank - lower) / (upper - lower) * width;
  }

 private:
  struct Bin {
    int exponent, digits;  // from 10 to 99; 0: the value is zero
    auto operator<=>(const Bin&) const = default;
  };

  static Bin bin_of(std::int64_t value) {
    if (value == 0) return {0, 0};
    int exponent = 0;
    std::int64_t first = value;
    for (; first >= 100; first /= 10) ++exponent;
    return first < 10 ? Bin{0, static_cast<int>(first * 10)}
                      : Bin{exponent + 1, static_cast<int>(first)};
  }
  static double power_of_ten(int exponent) {
    double result = 1;
    for (; exponent > 0; --exponent) result *= 10;
    return result;
  }

  std::map<Bin, std::int64_t> bins_;
  std::int64_t count_ = 0;
};

/// Every now and then it lets in few attempts and takes a quantile of their times for the best
/// possible (minRTT). Otherwise it compares that, and a buffer, with the same quantile of each
/// window: the limit follows the ratio, and its root is added.
class EnvoyGradient final : public PlainLaw {
 public:
  EnvoyGradient(const ConcurrencySpec& spec, const RandomKey& key, Time start)
      : spec_(&spec), key_(key), limit_(spec.min), window_ends_(start + spec.interval) {
    if (measures()) {
      measure(start);
    } else {
      best_ns_ = spec.min_rtt.count();
    }
  }

  std::int64_t limit(std::int64_t /*present*/, Time now) {
    advance(now);
    return limit_;
  }

  void left(const LimitSample& s) {
    advance(s.now);
    const Time began = Time::from_nanoseconds(s.now.count() - s.time.count());
    if (!s.served || began < measured_since_) return;
    times_us_.add(s.time.count() / 1000);
    if (is_measuring() && times_us_.count() >= spec_->min_rtt_requests) finish_measuring(s.now);
  }

 private:
  static constexpr int kTooOftenAtMin = 5;

  bool measures() const { return spec_->min_rtt == Duration::max(); }
  bool is_measuring() const { return kept_limit_ > 0; }

  // The clocks that have run out by now, in order. Of two at one instant the window goes first.
  void advance(Time now) {
    for (;;) {
      if (window_ends_ <= next_measurement_) {
        if (window_ends_ > now) return;
        end_window(std::min(now, next_measurement_));
      } else {
        if (next_measurement_ > now) return;
        const Time when = next_measurement_;
        next_measurement_ = Time::max();
        measure(when);
      }
    }
  }

  // `until`: windows without any sample change nothing, so those before it are one.
  void end_window(Time until) {
    if (is_measuring()) {
      window_ends_ = Time::max();  // the end of the measurement begins the next one
      return;
    }
    const Time ended = window_ends_;
    if (times_us_.count() == 0) {
      const std::int64_t more = (until - ended).count() / spec_->interval.count();
      window_ends_ = ended + spec_->interval * (more + 1);
      return;
    }
    window_ends_ = ended + spec_->interval;
    set_limit(next_limit(quantile_ns()), ended);
  }

  void measure(Time now) {
    if (is_measuring()) return;
    kept_limit_ = limit_;
    if (spec_->measure_at_min) set_limit(spec_->min, now);
    times_us_.clear();
    measured_since_ = now;
  }

  void finish_measuring(Time now) {
    best_ns_ = quantile_ns();
    if (spec_->measure_at_min) set_limit(kept_limit_, now);
    kept_limit_ = 0;
    next_measurement_ = now + spec_->min_rtt_interval + jitter();
    window_ends_ = now + spec_->interval;
  }

  Duration jitter() {
    const double ms = static_cast<double>(spec_->min_rtt_interval.count() / kNanosecondsPerMs);
    const auto range = static_cast<std::uint64_t>(std::ceil(ms * spec_->min_rtt_jitter));
    if (range == 0) return {};
    const std::uint64_t word = Draws::first_word(key_, {draws_++, 0, 0, Purpose::kLimitProbe});
    return Duration::milliseconds(static_cast<std::int64_t>(word % range));
  }

  // The percentile of all times since the last call, which are then forgotten.
  std::int64_t quantile_ns() {
    const auto us = static_cast<std::int64_t>(times_us_.quantile(spec_->percentile));
    times_us_.clear();
    return us * 1000;
  }

  std::int64_t next_limit(std::int64_t time_ns) const {
    const auto best = static_cast<double>(best_ns_);
    // Zero by zero is not a number, which `min` takes for the two.
    const double ratio = (best + best * spec_->min_rtt_buffer) / static_cast<double>(time_ns);
    const double gradient = std::max(0.5, std::min(2.0, ratio));
    const double limit = static_cast<double>(limit_) * gradient;
    const auto next = static_cast<std::int64_t>(limit + std::sqrt(limit));
    return std::max(spec_->min, std::min(spec_->max, next));
  }

  // A limit that stays at the least may come from a bad measurement.
  void set_limit(std::int64_t next, Time now) {
    const bool stays = limit_ == spec_->min && next == spec_->min;
    limit_ = next;
    at_min_ = stays && !is_measuring() ? at_min_ + 1 : 0;
    if (at_min_ >= kTooOftenAtMin && measures()) next_measurement_ = now;
  }

  const ConcurrencySpec* spec_;
  RandomKey key_;
  std::uint64_t draws_ = 0;
  std::int64_t limit_;
  std::int64_t kept_limit_ = 0;  // for after the measurement; 0: there is none
  std::int64_t best_ns_ = 0;
  int at_min_ = 0;
  TwoDigitHistogram times_us_;
  Time measured_since_;
  Time window_ends_, next_measurement_ = Time::max();
};

// --- Limits that depend on how busy the servers are.

/// What was counted in one span of time.
struct Bucket {
  std::int64_t number = -1;  // of the span since the start; -1: none
  std::int64_t count = 0, sum = 0, least = std::numeric_limits<std::int64_t>::max();
};

/// The last spans of time, of which there are `size`.
class Buckets {
 public:
  explicit Buckets(std::size_t size) : all_(size) {}

  /// Adds a value to span `number`, which is the present one.
  void add(std::int64_t number, std::int64_t value) {
    Bucket& b = all_[static_cast<std::size_t>(number) % all_.size()];
    if (b.number != number) b = Bucket{number};
    ++b.count;
    b.sum += value;
    b.least = std::min(b.least, value);
    last_ = number;
  }
  /// Goes through the spans before the present one that are still remembered and had something to
  /// count; with `now_too` through the present one as well.
  template <class See>
  void for_each(std::int64_t present, bool now_too, See see) const {
    for (const Bucket& b : all_) {
      if (b.number > present - size() && (b.number < present || now_too) && b.number >= 0) see(b);
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(all_.size()); }
  /// The last span in which something was counted; at first the first.
  std::int64_t last() const { return last_; }

 private:
  std::vector<Bucket> all_;
  std::int64_t last_ = 0;
};

/// A law that looks at regular times at how busy the servers are: the attempts that are there, but
/// at most one for each server that works.
template <class Own>
class LoadLaw : public PlainLaw {
 public:
  void entered(std::int64_t present, Time now) {
    advance(now);
    present_ = present;
  }
  void left(const LimitSample& s) {
    advance(s.now);
    present_ = s.still_there;
    own().count(s);
  }
  void set_working(std::int64_t servers, Time now) {
    advance(now);
    servers_ = servers;
  }

 protected:
  LoadLaw(std::int64_t servers, Time start, Duration look_every)
      : start_(start),
        last_look_(start),
        since_(start),
        look_every_(look_every),
        servers_(servers) {}

  /// Looks as often as it was time to.
  void advance(Time now) {
    while (last_look_ + look_every_ <= now) {
      const bool nothing_happened = since_ == last_look_;
      last_look_ = last_look_ + look_every_;
      observe(last_look_);
      const double use = working_ns_ > 0 ? busy_ns_ / working_ns_ : 0;
      const bool changed = own().look(use, (last_look_ - start_).count() / look_every_.count());
      busy_ns_ = working_ns_ = 0;
      if (!nothing_happened || changed) continue;
      // One look is like another until now.
      last_look_ = last_look_ + look_every_ * ((now - last_look_).count() / look_every_.count());
      since_ = last_look_;
    }
    observe(now);
  }

  std::int64_t present() const { return present_; }
  Time start() const { return start_; }

 private:
  // What `Own` has: `count` takes a sample; `look` is the `number`-th look, where `use` is the
  // share of the servers' time since the one before that was used. True if that changed what it
  // knows, or another one like it would.
  Own& own() { return static_cast<Own&>(*this); }

  void observe(Time now) {
    if (now == since_) return;
    const auto elapsed = static_cast<double>((now - since_).count());
    const std::int64_t busy = std::clamp<std::int64_t>(present_, 0, servers_);
    busy_ns_ += elapsed * static_cast<double>(busy);
    working_ns_ += elapsed * static_cast<double>(servers_);
    since_ = now;
  }

  Time start_, last_look_;
  Time since_;  // up to then the levels have been added up
  Duration look_every_;
  std::int64_t servers_, present_ = 0;
  double busy_ns_ = 0, working_ns_ = 0;  // since the last look
};

/// The adaptive shedder of go-zero: refuses what goes beyond the best throughput times the best
/// time, less as the processor is busier, while it is busy and for a second after a refusal.
class GoZero final : public LoadLaw<GoZero> {
  friend LoadLaw;

 public:
  GoZero(const ConcurrencySpec& spec, std::int64_t servers, Time start)
      : LoadLaw(servers, start, Duration::milliseconds(250)),
        threshold_(std::llround(spec.cpu * 1000)),
        bucket_ns_(std::max<std::int64_t>(1, spec.window.count() / spec.buckets)),
        passes_(static_cast<std::size_t>(spec.buckets)),
        times_ms_(static_cast<std::size_t>(spec.buckets)) {}

  std::int64_t limit(std::int64_t /*present*/, Time now) {
    advance(now);
    if (!is_overloaded(now) && !is_still_hot(now)) return kUnlimited;
    const double most = most_attempts(now) * factor();
    return average_ > most ? limit_beyond(most) : kUnlimited;
  }
  void refused(Time /*now*/) { refused_lately_ = true; }

 private:
  bool look(double use, std::int64_t /*number*/) {
    const std::int64_t before = cpu_;
    cpu_ = static_cast<std::int64_t>(static_cast<double>(cpu_) * 0.95 +
                                     static_cast<double>(in_thousandths(use)) * 0.05);
    return cpu_ != before;
  }

  void count(const LimitSample& s) {
    average_ = average_ * 0.9 + static_cast<double>(s.still_there) * 0.1;
    if (!s.served) return;
    const std::int64_t number = bucket(s.now);
    times_ms_.add(number, milliseconds_begun(s.time));
    passes_.add(number, 1);
  }

  std::int64_t bucket(Time now) const { return (now - start()).count() / bucket_ns_; }

  bool is_overloaded(Time now) {
    if (cpu_ < threshold_) return false;
    overloaded_ = now;
    return true;
  }
  bool is_still_hot(Time now) {
    if (!refused_lately_ || !overloaded_) return false;
    if (now - *overloaded_ < Duration::seconds(1)) return true;
    refused_lately_ = false;
    return false;
  }

  double most_attempts(Time now) const {
    std::int64_t pass = 1;
    double time_ms = 1000;
    passes_.for_each(bucket(now), false, [&](const Bucket& b) { pass = std::max(pass, b.sum); });
    times_ms_.for_each(bucket(now), false, [&](const Bucket& b) {
      time_ms =
          std::min(time_ms, std::round(static_cast<double>(b.sum) / static_cast<double>(b.count)));
    });
    const double scale = 1e9 / static_cast<double>(bucket_ns_) / 1000;
    return std::max(1.0, static_cast<double>(pass) * time_ms * scale);
  }

  double factor() const {
    const double factor =
        (1000 - static_cast<double>(cpu_)) / (1000 - static_cast<double>(threshold_));
    return factor < 0.1 ? 0.1 : factor > 1 ? 1 : factor;
  }

  std::int64_t threshold_, bucket_ns_;
  Buckets passes_, times_ms_;
  std::int64_t cpu_ = 0;  // in thousandths
  double average_ = 0;    // of the attempts that one left behind when it went
  std::optional<Time> overloaded_;
  bool refused_lately_ = false;
};

/// The BBR limiter of kratos (aegis). Its best throughput and time are found once a bucket.
class Kratos final : public LoadLaw<Kratos> {
  friend LoadLaw;

 public:
  Kratos(const ConcurrencySpec& spec, std::int64_t servers, Time start)
      : LoadLaw(servers, start, Duration::milliseconds(500)),
        threshold_(std::llround(spec.cpu * 1000)),
        bucket_ns_(std::max<std::int64_t>(1, spec.window.count() / spec.buckets)),
        passes_(static_cast<std::size_t>(spec.buckets)),
        times_ms_(static_cast<std::size_t>(spec.buckets)) {}

  std::int64_t limit(std::int64_t present, Time now) {
    advance(now);
    if (cpu_ < threshold_) {
      if (!refusing_since_) return kUnlimited;
      if (now - *refusing_since_ > Duration::seconds(1)) {
        refusing_since_.reset();
        return kUnlimited;
      }
    }
    return present > 1 ? most_attempts(now) + 1 : kUnlimited;
  }
  void refused(Time now) {
    if (cpu_ >= threshold_ && !refusing_since_) refusing_since_ = now;
  }

 private:
  struct Kept {
    std::int64_t value = 0;
    std::optional<Time> found;
  };

  bool look(double use, std::int64_t /*number*/) {
    const std::int64_t now = in_thousandths(use), before = cpu_;
    if (now != 0) use_ = now;  // a look that sees nothing is taken for a failed one
    constexpr double kDecay = 0.95;
    cpu_ = static_cast<std::int64_t>(static_cast<double>(cpu_) * kDecay +
                                     static_cast<double>(use_) * (1.0 - kDecay));
    return cpu_ != before;
  }

  void count(const LimitSample& s) {
    const std::int64_t number = bucket(s.now);
    if (const std::int64_t ms = milliseconds_begun(s.time); ms > 0) times_ms_.add(number, ms);
    passes_.add(number, 1);
  }

  std::int64_t bucket(Time now) const { return (now - start()).count() / bucket_ns_; }

  template <class Find>
  std::int64_t keep(Kept& kept, Time now, Find find) {
    if (!kept.found || (now - *kept.found).count() >= bucket_ns_) kept = {find(), now};
    return kept.value;
  }

  std::int64_t most_attempts(Time now) {
    const std::int64_t number = bucket(now);
    const std::int64_t pass = keep(pass_, now, [&] {
      // After a whole window without any there is not even the least number.
      std::int64_t most = number - passes_.last() >= passes_.size() ? 0 : 1;
      passes_.for_each(number, false, [&](const Bucket& b) { most = std::max(most, b.sum); });
      return most;
    });
    const std::int64_t time = keep(time_ms_, now, [&] {
      std::optional<double> least;
      times_ms_.for_each(number, false, [&](const Bucket& b) {
        const double mean = static_cast<double>(b.sum) / static_cast<double>(b.count);
        least = std::min(least.value_or(mean), mean);
      });
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(least.value_or(1))));
    });
    const std::int64_t buckets_per_second = 1'000'000'000 / bucket_ns_;
    const double product = static_cast<double>(pass) * static_cast<double>(time) *
                           static_cast<double>(buckets_per_second);
    constexpr double kLargest = 9e18;
    return static_cast<std::int64_t>(std::min(kLargest, std::floor(product / 1000.0) + 0.5));
  }

  std::int64_t threshold_, bucket_ns_;
  Buckets passes_, times_ms_;
  std::int64_t use_ = 0, cpu_ = 0;  // in thousandths: the last look, the average
  Kept pass_, time_ms_;
  std::optional<Time> refusing_since_;
};

/// The system rule of Sentinel: while Linux's load of the last minute is high, it refuses what goes
/// beyond the best throughput times the best time of the last second; while the processor is too
/// busy, everything.
class Sentinel final : public LoadLaw<Sentinel> {
  friend LoadLaw;

 public:
  Sentinel(const ConcurrencySpec& spec, std::int64_t servers, Time start)
      : LoadLaw(servers, start, Duration::seconds(1)),
        spec_(&spec),
        highest_load_(spec.load * static_cast<double>(servers)),
        bucket_ms_(
            std::max<std::int64_t>(1, spec.window.count() / kNanosecondsPerMs / spec.buckets)),
        served_(static_cast<std::size_t>(spec.buckets)) {}

  std::int64_t limit(std::int64_t present, Time now) {
    advance(now);
    if (use_ > spec_->cpu) return 0;
    if (load() <= highest_load_ || present <= 1) return kUnlimited;
    return limit_beyond(most_attempts(now));
  }

 private:
  // Linux keeps the load as a number with 11 binary places (include/linux/sched/loadavg.h).
  static constexpr std::int64_t kOne = 1 << 11, kKept = 1884;
  static constexpr std::int64_t kLooksPerLoad = 5;

  bool look(double use, std::int64_t number) {
    const bool changed = use != use_;
    use_ = use;
    const std::int64_t before = load_, next = next_load();
    if (number % kLooksPerLoad == 0) load_ = next;
    return changed || next != before;
  }

  std::int64_t next_load() const {
    constexpr std::int64_t kMost = 1'000'000'000;
    const std::int64_t active = std::clamp<std::int64_t>(present(), 0, kMost) * kOne;
    std::int64_t next = load_ * kKept + active * (kOne - kKept);
    if (active >= load_) next += kOne - 1;
    return next / kOne;
  }
  double load() const { return static_cast<double>(load_) / static_cast<double>(kOne); }

  static std::int64_t in_ms(Time t) { return t.count() / kNanosecondsPerMs; }

  // Its clock shows whole milliseconds.
  void count(const LimitSample& s) {
    const std::int64_t began = (s.now.count() - s.time.count()) / kNanosecondsPerMs;
    served_.add(in_ms(s.now) / bucket_ms_, in_ms(s.now) - began);
  }

  double most_attempts(Time now) const {
    std::int64_t most = 1, least = 5000;  // `csp.sentinel.statistic.max.rt`
    served_.for_each(in_ms(now) / bucket_ms_, true, [&](const Bucket& b) {
      most = std::max(most, b.count);
      least = std::min(least, b.least);
    });
    const double window_s = static_cast<double>(spec_->window.count() / kNanosecondsPerMs) / 1000.0;
    const double per_second =
        static_cast<double>(most) * static_cast<double>(spec_->buckets) / window_s;
    return per_second * static_cast<double>(std::max<std::int64_t>(1, least)) / 1000;
  }

  const ConcurrencySpec* spec_;
  double highest_load_;
  std::int64_t bucket_ms_;
  Buckets served_;
  double use_ = 0;
  std::int64_t load_ = 0;
};

}  // namespace laws

struct LimitLaw::Laws {
  std::variant<laws::Vegas, laws::EnvoyGradient, laws::GoZero, laws::Kratos, laws::Sentinel> law;

  Laws(const ConcurrencySpec& spec, const RandomKey& key, std::int64_t servers, Time start)
      : law(std::in_place_type<laws::Vegas>, spec, key) {
    switch (spec.control) {
      case ConcurrencyControl::kEnvoy:
        law.emplace<laws::EnvoyGradient>(spec, key, start);
        break;
      case ConcurrencyControl::kGoZero:
        law.emplace<laws::GoZero>(spec, servers, start);
        break;
      case ConcurrencyControl::kKratos:
        law.emplace<laws::Kratos>(spec, servers, start);
        break;
      case ConcurrencyControl::kSentinel:
        law.emplace<laws::Sentinel>(spec, servers, start);
        break;
      default:
        break;
    }
  }
};

LimitLaw::LimitLaw(const ConcurrencySpec& spec, const RandomKey& key, std::int64_t servers,
                   Time start)
    : laws_(std::make_unique<Laws>(spec, key, servers, start)) {}
LimitLaw::~LimitLaw() = default;

std::int64_t LimitLaw::limit(std::int64_t present, Time now) {
  return std::visit([&](auto& law) { return law.limit(present, now); }, laws_->law);
}
void LimitLaw::refused(Time now) {
  std::visit([&](auto& law) { law.refused(now); }, laws_->law);
}
void LimitLaw::entered(std::int64_t present, Time now) {
  std::visit([&](auto& law) { law.entered(present, now); }, laws_->law);
}
void LimitLaw::left(const LimitSample& sample) {
  std::visit([&](auto& law) { law.left(sample); }, laws_->law);
}
void LimitLaw::set_working(std::int64_t servers, Time now) {
  std::visit([&](auto& law) { law.set_working(servers, now); }, laws_->law);
}

std::unique_ptr<LimitLaw> make_limit_law(const ConcurrencySpec& spec, const RandomKey& key,
                                         std::int64_t servers, Time start) {
  const bool has_law = spec.control >= ConcurrencyControl::kVegas;
  return has_law ? std::make_unique<LimitLaw>(spec, key, servers, start) : nullptr;
}

}  // namespace retrysim::model

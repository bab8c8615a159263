// The adaptive limits on concurrency once more, as plainly as their sources have them: rings of
// buckets that turn, clocks that tick whether or not anything happens, logarithms. The engine's are
// in sim/model/service. Times are nanoseconds.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/service_spec.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace retrysim::reference {

using Nanoseconds = std::int64_t;

/// One attempt that goes.
struct Departure {
  Nanoseconds now, time;
  std::int64_t found;   ///< attempts when it came, itself included
  std::int64_t inside;  ///< attempts that are left
  bool served;
};

class PlainLimit {
 public:
  virtual ~PlainLimit() = default;
  static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

  /// An attempt that comes where `inside` are enters below this number of them.
  virtual std::int64_t limit(std::int64_t inside, Nanoseconds now) = 0;
  virtual void refused(Nanoseconds /*now*/) {}
  virtual void went_in(std::int64_t /*inside*/, Nanoseconds /*now*/) {}
  virtual void went_out(const Departure& d) = 0;
  virtual void set_servers(std::int64_t /*servers*/, Nanoseconds /*now*/) {}
};

// --- concurrency-limits

class PlainGradient2 : public PlainLimit {
 public:
  explicit PlainGradient2(const ConcurrencySpec& s) : s_(s), limit_(double(s.initial)) {}
  std::int64_t limit(std::int64_t, Nanoseconds) override { return std::int64_t(limit_); }
  void went_out(const Departure& d) override {
    const double time = double(d.time);
    if (samples_ < 10) {
      sum_ += time;
      average_ = sum_ / ++samples_;
    } else {
      const double factor = 2 / (s_.long_window + 1);
      average_ = average_ * (1 - factor) + time * factor;
    }
    const double average = average_;
    if (average > 2 * time) average_ *= 0.95;
    if (double(d.found) < limit_ / 2) return;
    double gradient = 1;
    if (time > 0) gradient = std::max(0.5, std::min(1.0, s_.tolerance * average / time));
    const double next = limit_ * gradient + s_.headroom;
    limit_ = limit_ * (1 - s_.smoothing) + next * s_.smoothing;
    limit_ = std::max(double(s_.min), std::min(double(s_.max), limit_));
  }

 private:
  ConcurrencySpec s_;
  double limit_, sum_ = 0, average_ = 0;
  int samples_ = 0;
};

class PlainAimd : public PlainLimit {
 public:
  explicit PlainAimd(const ConcurrencySpec& s) : s_(s), limit_(s.initial) {}
  std::int64_t limit(std::int64_t, Nanoseconds) override { return limit_; }
  void went_out(const Departure& d) override {
    if (!d.served || d.time > s_.slow.count()) {
      limit_ = std::int64_t(double(limit_) * s_.backoff_ratio);
    } else if (d.found * 2 >= limit_) {
      ++limit_;
    }
    limit_ = std::min(s_.max, std::max(s_.min, limit_));
  }

 private:
  ConcurrencySpec s_;
  std::int64_t limit_;
};

class PlainVegas : public PlainLimit {
 public:
  PlainVegas(const ConcurrencySpec& s, const RandomKey& key)
      : s_(s), key_(key), limit_(double(s.initial)) {
    draw();
  }
  std::int64_t limit(std::int64_t, Nanoseconds) override { return std::int64_t(limit_); }
  void went_out(const Departure& d) override {
    const std::int64_t rtt = d.time > 0 ? d.time : 1;
    probe_count_ += 1;
    if (probe_jitter_ * double(s_.probe_multiplier) * limit_ <= double(probe_count_)) {
      draw();
      probe_count_ = 0;
      rtt_noload_ = rtt;
      return;
    }
    if (rtt_noload_ == 0 || rtt < rtt_noload_) {
      rtt_noload_ = rtt;
      return;
    }
    const int queue = int(std::ceil(limit_ * (1 - double(rtt_noload_) / double(rtt))));
    const int log = std::max(1, int(std::log10(double(int(limit_)))));
    double next = limit_;
    if (!d.served) {
      next = limit_ - log;
    } else if (double(d.found) * 2 < limit_) {
      return;
    } else {
      const std::int64_t alpha = s_.alpha * log, beta = s_.beta * log;
      if (queue <= log) {
        next = limit_ + double(beta);
      } else if (queue < alpha) {
        next = limit_ + log;
      } else if (queue > beta) {
        next = limit_ - log;
      } else {
        return;
      }
    }
    next = std::max(double(s_.min), std::min(double(s_.max), next));
    limit_ = (1 - s_.smoothing) * limit_ + s_.smoothing * next;
  }

 private:
  void draw() {
    Draws draws(key_, {drawn_++, 0, 0, Purpose::kLimitProbe});
    probe_jitter_ = 0.5 + 0.5 * draws.uniform();
  }

  ConcurrencySpec s_;
  RandomKey key_;
  double limit_, probe_jitter_ = 0;
  std::uint64_t drawn_ = 0;
  std::int64_t probe_count_ = 0, rtt_noload_ = 0;
};

// --- Envoy

class PlainEnvoy : public PlainLimit {
 public:
  PlainEnvoy(const ConcurrencySpec& s, const RandomKey& key, Nanoseconds start)
      : s_(s), key_(key), limit_(s.min) {
    if (s_.min_rtt == Duration::max()) {
      enter_window(start);
    } else {
      min_rtt_ = s_.min_rtt.count();
    }
    sample_timer_ = start + s_.interval.count();
  }
  std::int64_t limit(std::int64_t, Nanoseconds now) override {
    run_timers(now);
    return limit_;
  }
  void went_out(const Departure& d) override {
    run_timers(d.now);
    if (!d.served || d.now - d.time < epoch_) return;
    const double us = double(d.time / 1000);
    if (us == 0) {
      bins_[0] += 1;
    } else {
      const int exponent = int(std::floor(std::log10(us) + 1e-9));
      bins_[std::floor(us / std::pow(10, exponent) * 10 + 1e-9) / 10 * std::pow(10, exponent)] += 1;
    }
    if (!in_window_) return;
    if (total() < double(s_.min_rtt_requests)) return;
    min_rtt_ = summary();
    if (s_.measure_at_min) update(deferred_, d.now);
    in_window_ = false;
    Nanoseconds jitter = 0;
    const double interval_ms = double(s_.min_rtt_interval.count() / 1000000);
    if (const double range = std::ceil(interval_ms * s_.min_rtt_jitter); range > 0) {
      Draws draws(key_, {drawn_++, 0, 0, Purpose::kLimitProbe});
      jitter = Nanoseconds(draws.next() % std::uint64_t(range)) * 1000000;
    }
    min_rtt_timer_ = d.now + s_.min_rtt_interval.count() + jitter;
    sample_timer_ = d.now + s_.interval.count();
  }

 private:
  void run_timers(Nanoseconds now) {
    for (;;) {
      const bool sample = sample_timer_ && *sample_timer_ <= now &&
                          (!min_rtt_timer_ || *sample_timer_ <= *min_rtt_timer_);
      if (sample) {
        const Nanoseconds at = *sample_timer_;
        sample_timer_.reset();
        if (in_window_) continue;
        sample_timer_ = at + s_.interval.count();
        if (total() == 0) continue;
        const double sample_rtt = double(summary());
        const double buffered = double(min_rtt_) + double(min_rtt_) * s_.min_rtt_buffer;
        double gradient = buffered / sample_rtt;
        if (sample_rtt == 0 || gradient > 2) gradient = 2;
        if (gradient < 0.5) gradient = 0.5;
        const double limit = double(limit_) * gradient;
        const auto next = std::int64_t(limit + std::sqrt(limit));
        update(std::max(s_.min, std::min(s_.max, next)), at);
      } else if (min_rtt_timer_ && *min_rtt_timer_ <= now) {
        const Nanoseconds at = *min_rtt_timer_;
        min_rtt_timer_.reset();
        if (!in_window_) enter_window(at);
      } else {
        return;
      }
    }
  }
  void enter_window(Nanoseconds at) {
    deferred_ = limit_;
    in_window_ = true;
    if (s_.measure_at_min) update(s_.min, at);
    bins_.clear();
    epoch_ = at;
  }
  void update(std::int64_t next, Nanoseconds at) {
    const std::int64_t old = limit_;
    limit_ = next;
    at_min_ = !in_window_ && old == s_.min && next == s_.min ? at_min_ + 1 : 0;
    if (at_min_ >= 5 && s_.min_rtt == Duration::max()) min_rtt_timer_ = at;
  }
  double total() const {
    double n = 0;
    for (const auto& [left, count] : bins_) n += count;
    return n;
  }
  // The quantile in nanoseconds, of whole microseconds.
  Nanoseconds summary() {
    const double rank = total() * s_.percentile;
    double below = 0, result = 0;
    for (auto i = bins_.begin(); i != bins_.end(); ++i) {
      const double upper = below + i->second;
      if (upper < rank && std::next(i) != bins_.end()) {
        below = upper;
        continue;
      }
      const double left = i->first;
      const double width = left == 0 ? 0 : std::pow(10, std::floor(std::log10(left) + 1e-9)) / 10.0;
      result = left;
      if (below != rank && width > 0) {
        result = upper == rank ? left + width : left + (rank - below) / (upper - below) * width;
      }
      break;
    }
    bins_.clear();
    return Nanoseconds(result) * 1000;
  }

  ConcurrencySpec s_;
  RandomKey key_;
  std::int64_t limit_, deferred_ = 0;
  bool in_window_ = false;
  std::uint64_t drawn_ = 0;
  int at_min_ = 0;
  Nanoseconds min_rtt_ = 0, epoch_ = 0;
  std::optional<Nanoseconds> sample_timer_, min_rtt_timer_;
  std::map<double, double> bins_;  ///< counts by the left edge
};

// --- Limits by load

/// The servers' time: a clock that ticks.
class PlainLoad : public PlainLimit {
 public:
  void went_in(std::int64_t inside, Nanoseconds now) override {
    run(now);
    inside_ = inside;
  }
  void went_out(const Departure& d) override {
    run(d.now);
    inside_ = d.inside;
    note(d);
  }
  void set_servers(std::int64_t servers, Nanoseconds now) override {
    run(now);
    servers_ = servers;
  }

 protected:
  PlainLoad(std::int64_t servers, Nanoseconds start, Nanoseconds period)
      : start_(start), period_(period), servers_(servers), last_(start), tick_(start + period) {}

  /// More than `most` may not be there.
  static std::int64_t above(double most) { return std::int64_t(std::floor(most)) + 1; }

  void run(Nanoseconds now) {
    while (tick_ <= now) {
      pass_to(tick_);
      ++ticks_;
      tick(working_ == 0 ? 0 : double(busy_) / double(working_));
      busy_ = working_ = 0;
      tick_ += period_;
    }
    pass_to(now);
  }
  virtual void tick(double use) = 0;
  virtual void note(const Departure& d) = 0;

  Nanoseconds start_, period_;
  std::int64_t servers_, inside_ = 0, ticks_ = 0;

 private:
  void pass_to(Nanoseconds now) {
    busy_ += (now - last_) * std::max<std::int64_t>(0, std::min(inside_, servers_));
    working_ += (now - last_) * servers_;
    last_ = now;
  }

  Nanoseconds last_, tick_;
  std::int64_t busy_ = 0, working_ = 0;
};

inline std::int64_t permille(double use) {
  return std::min<std::int64_t>(1000, std::int64_t(use * 1000));
}
inline std::int64_t ceil_ms(Nanoseconds t) { return std::int64_t(std::ceil(double(t) / 1e6)); }

struct RingBucket {
  std::int64_t sum = 0, count = 0;
};

/// A ring of buckets that turns when something is added.
struct Ring {
  std::size_t size;
  Nanoseconds length, turned;
  std::size_t at = 0;
  std::vector<RingBucket> buckets = std::vector<RingBucket>(size);

  std::int64_t behind(Nanoseconds now) const { return (now - turned) / length; }
  void add(Nanoseconds now, std::int64_t value) {
    const std::int64_t n = behind(now);
    for (std::int64_t i = 1; i <= std::min(n, std::int64_t(size)); ++i) {
      buckets[(at + std::size_t(i)) % size] = {};
    }
    at = (at + std::size_t(n)) % size;
    turned += n * length;
    buckets[at].sum += value;
    buckets[at].count += 1;
  }
  /// The full buckets of the last `size`, the oldest first; nothing if all are older.
  std::vector<RingBucket> full(Nanoseconds now) const {
    const std::int64_t n = behind(now);
    const std::int64_t count = n == 0 ? std::int64_t(size) - 1 : std::int64_t(size) - n;
    std::vector<RingBucket> result;
    for (std::int64_t i = 0; i < count; ++i) {
      result.push_back(buckets[(at + std::size_t(n) + 1 + std::size_t(i)) % size]);
    }
    return result;
  }
};

class PlainGoZero : public PlainLoad {
 public:
  PlainGoZero(const ConcurrencySpec& s, std::int64_t servers, Nanoseconds start)
      : PlainLoad(servers, start, 250'000'000),
        threshold_(std::llround(s.cpu * 1000)),
        passes_{std::size_t(s.buckets), std::max<Nanoseconds>(1, s.window.count() / s.buckets),
                start},
        times_(passes_) {}

  std::int64_t limit(std::int64_t, Nanoseconds now) override {
    run(now);
    if (!hot(now)) return kAny;
    double best = 1, least = 1000;
    for (const RingBucket& b : passes_.full(now)) best = std::max(best, double(b.sum));
    for (const RingBucket& b : times_.full(now)) {
      if (b.count > 0) least = std::min(least, std::round(double(b.sum) / double(b.count)));
    }
    double most = std::max(1.0, best * least * (1e9 / double(passes_.length) / 1000));
    const double factor = (1000 - double(cpu_)) / (1000 - double(threshold_));
    most *= factor < 0.1 ? 0.1 : factor > 1 ? 1 : factor;
    return average_ > most ? above(most) : kAny;
  }
  void refused(Nanoseconds) override { dropped_ = true; }

 private:
  bool hot(Nanoseconds now) {
    if (cpu_ >= threshold_) {
      overload_ = now;
      return true;
    }
    if (!dropped_ || !overload_) return false;
    if (now - *overload_ < 1'000'000'000) return true;
    dropped_ = false;
    return false;
  }
  void tick(double use) override {
    cpu_ = std::int64_t(double(cpu_) * 0.95 + double(permille(use)) * 0.05);
  }
  void note(const Departure& d) override {
    average_ = average_ * 0.9 + double(d.inside) * 0.1;
    if (!d.served) return;
    times_.add(d.now, ceil_ms(d.time));
    passes_.add(d.now, 1);
  }

  std::int64_t threshold_, cpu_ = 0;
  Ring passes_, times_;
  double average_ = 0;
  std::optional<Nanoseconds> overload_;
  bool dropped_ = false;
};

class PlainKratos : public PlainLoad {
 public:
  PlainKratos(const ConcurrencySpec& s, std::int64_t servers, Nanoseconds start)
      : PlainLoad(servers, start, 500'000'000),
        threshold_(std::llround(s.cpu * 1000)),
        passes_{std::size_t(s.buckets), std::max<Nanoseconds>(1, s.window.count() / s.buckets),
                start},
        times_(passes_) {}

  std::int64_t limit(std::int64_t inside, Nanoseconds now) override {
    run(now);
    if (cpu_ >= threshold_) return most(inside, now);
    if (!first_drop_) return kAny;
    if (now - *first_drop_ <= 1'000'000'000) return most(inside, now);
    first_drop_.reset();
    return kAny;
  }
  void refused(Nanoseconds now) override {
    if (cpu_ >= threshold_ && !first_drop_) first_drop_ = now;
  }

 private:
  std::int64_t most(std::int64_t inside, Nanoseconds now) {
    if (inside <= 1) return kAny;
    if (!pass_at_ || now - *pass_at_ >= passes_.length) {
      pass_ = 0;
      if (passes_.behind(now) < std::int64_t(passes_.size)) {
        pass_ = 1;
        for (const RingBucket& b : passes_.full(now)) pass_ = std::max(pass_, b.sum);
      }
      pass_at_ = now;
    }
    if (!time_at_ || now - *time_at_ >= times_.length) {
      double least = -1;
      for (const RingBucket& b : times_.full(now)) {
        if (b.count == 0) continue;
        const double mean = double(b.sum) / double(b.count);
        if (least < 0 || mean < least) least = mean;
      }
      // Without any, Go on amd64 makes the largest number a negative one.
      time_ = least <= 0 ? 1 : std::int64_t(std::ceil(least));
      time_at_ = now;
    }
    const std::int64_t per_second = 1'000'000'000 / passes_.length;
    return above(std::floor(double(pass_ * time_ * per_second) / 1000.0) + 0.5);
  }
  void tick(double use) override {
    if (permille(use) != 0) seen_ = permille(use);
    const double decay = 0.95;
    cpu_ = std::int64_t(double(cpu_) * decay + double(seen_) * (1.0 - decay));
  }
  void note(const Departure& d) override {
    if (ceil_ms(d.time) > 0) times_.add(d.now, ceil_ms(d.time));
    passes_.add(d.now, 1);
  }

  std::int64_t threshold_, cpu_ = 0, seen_ = 0;
  Ring passes_, times_;
  std::int64_t pass_ = 0, time_ = 0;
  std::optional<Nanoseconds> pass_at_, time_at_, first_drop_;
};

class PlainSentinel : public PlainLoad {
 public:
  PlainSentinel(const ConcurrencySpec& s, std::int64_t servers, Nanoseconds start)
      : PlainLoad(servers, start, 1'000'000'000),
        s_(s),
        highest_(s.load * double(servers)),
        slots_(std::size_t(s.buckets)) {}

  std::int64_t limit(std::int64_t inside, Nanoseconds now) override {
    run(now);
    if (cpu_ > s_.cpu) return 0;
    if (double(load_) / 2048 <= highest_ || inside <= 1) return kAny;
    Slot& present = slot(now);
    std::int64_t best = 1, least = 5000;
    for (const Slot& s : slots_) {
      if (s.begin < 0 || present.begin - s.begin >= length_ms() * s_.buckets) continue;
      best = std::max(best, s.success);
      least = std::min(least, s.least);
    }
    const double seconds = double(s_.window.count() / 1000000) / 1000.0;
    const double qps = double(best) * double(s_.buckets) / seconds;
    return above(qps * double(std::max<std::int64_t>(1, least)) / 1000);
  }

 private:
  struct Slot {
    std::int64_t begin = -1, success = 0, least = 5000;
  };
  std::int64_t length_ms() const {
    return std::max<std::int64_t>(1, s_.window.count() / 1000000 / s_.buckets);
  }
  Slot& slot(Nanoseconds now) {
    const std::int64_t number = now / 1000000 / length_ms();
    Slot& s = slots_[std::size_t(number % s_.buckets)];
    if (s.begin != number * length_ms()) s = {number * length_ms(), 0, 5000};
    return s;
  }
  void tick(double use) override {
    cpu_ = use;
    if (ticks_ % 5 != 0) return;
    const std::int64_t active = std::max<std::int64_t>(0, inside_) * 2048;
    const std::int64_t sum = load_ * 1884 + active * (2048 - 1884);
    load_ = (active >= load_ ? sum + 2047 : sum) / 2048;
  }
  void note(const Departure& d) override {
    Slot& s = slot(d.now);
    s.success += 1;
    s.least = std::min(s.least, d.now / 1000000 - (d.now - d.time) / 1000000);
  }

  ConcurrencySpec s_;
  double highest_, cpu_ = 0;
  std::int64_t load_ = 0;
  std::vector<Slot> slots_;
};

/// Null: the limit is fixed.
inline std::unique_ptr<PlainLimit> plain_limit(const ConcurrencySpec& s, const RandomKey& key,
                                               std::int64_t servers, Nanoseconds start) {
  switch (s.control) {
    case ConcurrencyControl::kFixed:
      break;
    case ConcurrencyControl::kGradient2:
      return std::make_unique<PlainGradient2>(s);
    case ConcurrencyControl::kAimd:
      return std::make_unique<PlainAimd>(s);
    case ConcurrencyControl::kVegas:
      return std::make_unique<PlainVegas>(s, key);
    case ConcurrencyControl::kEnvoy:
      return std::make_unique<PlainEnvoy>(s, key, start);
    case ConcurrencyControl::kGoZero:
      return std::make_unique<PlainGoZero>(s, servers, start);
    case ConcurrencyControl::kKratos:
      return std::make_unique<PlainKratos>(s, servers, start);
    case ConcurrencyControl::kSentinel:
      return std::make_unique<PlainSentinel>(s, servers, start);
  }
  return nullptr;
}

}  // namespace retrysim::reference

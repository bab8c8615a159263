// The yardstick of the benchmarks: one system, written by hand as a single loop without any of the
// simulator's generality, as fast as we know how. Its CPU time per event is what an event costs
// when nothing is configurable; `scripts/bench` divides the simulator's figure for the same system
// by it.
//
// The system ("B1" at the default rate, an overload with rate=1200 qcap=2000): 10,000 clients, each
// an open Poisson source, call a service with 10 servers and one FIFO queue; service times are
// exponential with mean 9 ms. An attempt times out 1 s after it was sent, but the service still
// serves it. A full queue rejects at once. After a timeout or a rejection the client tries again,
// up to 3 attempts in all, after a delay uniform on [0, min(10 s, 100 ms * 2^(attempt - 1))].
// Clients are identical and memoryless, so their sources are drawn as one stream with a random
// client. In theory (Erlang C) the mean latency of B1 is 15.02 ms, at about three events a request.
//
// An event is an arrival, a service completion, a timeout fired, a timeout cancelled or the end of
// a backoff. Times are integer nanoseconds. Metrics are part of the job, as they are part of the
// simulator's: counters and latency quantiles in 1 s bins, and histograms of latency and waiting.
//
// Usage: reference_loop [rate=1000] [qcap=N] [secs=1000] [seed=1]
//
// SPDX-License-Identifier: MIT
#include "system_options.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kSecond = 1'000'000'000;

constexpr std::uint32_t kClients = 10'000;
constexpr std::uint32_t kServers = 10;
constexpr std::uint32_t kMaxAttempts = 3;
constexpr double kMeanServiceNs = 9e6;
constexpr std::uint64_t kTimeoutNs = kSecond;
constexpr double kBackoffBaseNs = 100e6;
constexpr double kBackoffCapNs = 10e9;

// xoshiro256++ 1.0 (Blackman and Vigna, 2019), its state filled by splitmix64.
class Xoshiro {
 public:
  explicit Xoshiro(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15;
      std::uint64_t z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_[4];
};

// Exponential variates with mean 1: the ziggurat of Marsaglia and Tsang (2000) with 256 layers of
// equal area. Layer i lies left of edge_[i]; layer 0 includes the tail right of kTailStart.
class Exponential {
 public:
  Exponential() {
    edge_[0] = kLayerArea / std::exp(-kTailStart);
    edge_[1] = kTailStart;
    for (int i = 2; i < kLayers; ++i) {
      edge_[i] = -std::log(std::exp(-edge_[i - 1]) + kLayerArea / edge_[i - 1]);
    }
    edge_[kLayers] = 0;
    for (int i = 0; i <= kLayers; ++i) {
      density_[i] = std::exp(-edge_[i]);
      scale_[i] = edge_[i] * 0x1p-53;
    }
  }

  double operator()(Xoshiro& random) const {
    const std::uint64_t bits = random.next();
    const std::size_t layer = bits & (kLayers - 1);
    const double x = static_cast<double>(bits >> 11) * scale_[layer];
    if (x < edge_[layer + 1]) [[likely]]
      return x;
    return outside(random, layer, x);
  }

 private:
  static constexpr int kLayers = 256;
  static constexpr double kTailStart = 7.69711747013104972;
  static constexpr double kLayerArea = 0.0039496598225815571993;

  [[gnu::noinline]] double outside(Xoshiro& random, std::size_t layer, double x) const {
    if (layer == 0) return kTailStart - std::log(1.0 - random.uniform());
    const double height = density_[layer + 1] - density_[layer];
    if (density_[layer] + height * random.uniform() < std::exp(-x)) return x;
    return (*this)(random);
  }

  double edge_[kLayers + 1];
  double density_[kLayers + 1];
  double scale_[kLayers + 1];  // edge_ times 2^-53
};

// First in, first out, in a ring of a power of two that doubles when it is full.
template <class T>
class Ring {
 public:
  bool empty() const { return head_ == tail_; }
  std::uint64_t size() const { return tail_ - head_; }
  const T& front() const { return slots_[head_ & mask_]; }
  void pop() { ++head_; }
  void push(const T& value) {
    if (size() > mask_) [[unlikely]]
      grow();
    slots_[tail_++ & mask_] = value;
  }

 private:
  [[gnu::noinline]] void grow() {
    std::vector<T> larger(slots_.size() * 2);
    for (std::uint64_t i = head_; i != tail_; ++i) {
      larger[i & (larger.size() - 1)] = slots_[i & mask_];
    }
    slots_.swap(larger);
    mask_ = slots_.size() - 1;
  }

  std::vector<T> slots_ = std::vector<T>(1024);
  std::uint64_t head_ = 0, tail_ = 0, mask_ = 1023;
};

// Something that happens at `time` to attempt `generation` of the request in `slot`.
struct Timer {
  std::uint64_t time;
  std::uint32_t slot;
  std::uint32_t generation;
};

// Pending backoffs: a 4-ary heap by time. The order of equal times does not matter here.
class TimerHeap {
 public:
  std::uint64_t next_time() const { return timers_.empty() ? kNever : timers_.front().time; }

  void push(const Timer& timer) {
    std::size_t i = timers_.size();
    timers_.push_back(timer);
    while (i > 0 && timer.time < timers_[(i - 1) / 4].time) {
      timers_[i] = timers_[(i - 1) / 4];
      i = (i - 1) / 4;
    }
    timers_[i] = timer;
  }

  Timer pop() {
    const Timer first = timers_.front();
    const Timer last = timers_.back();
    timers_.pop_back();
    if (!timers_.empty()) sift_down(last);
    return first;
  }

 private:
  // The earliest of four children, by arithmetic on indices: which one it is cannot be predicted,
  // so a branch would be wrong half of the time.
  std::size_t earliest_of_four(std::size_t child) const {
    const auto earlier = [this](std::size_t a, std::size_t b) {
      return static_cast<std::size_t>(timers_[a].time < timers_[b].time);
    };
    const std::size_t a = child + earlier(child + 1, child);
    const std::size_t b = child + 2 + earlier(child + 3, child + 2);
    return a + (b - a) * earlier(b, a);
  }

  void sift_down(const Timer& timer) {
    const std::size_t size = timers_.size();
    std::size_t i = 0;
    for (std::size_t child = 1; child < size; child = 4 * i + 1) {
      std::size_t least = child;
      if (child + 4 <= size) {
        least = earliest_of_four(child);
      } else {
        for (std::size_t c = child + 1; c < size; ++c) {
          if (timers_[c].time < timers_[least].time) least = c;
        }
      }
      if (timers_[least].time >= timer.time) break;
      timers_[i] = timers_[least];
      i = least;
    }
    timers_[i] = timer;
  }

  std::vector<Timer> timers_;
};

// Log-linear histogram of nanoseconds: 32 buckets for each power of two, about 3 % wide.
class Histogram {
 public:
  void add(std::uint64_t value) {
    ++counts_[index(value)];
    ++total_;
  }

  double quantile(double p) const {
    const auto rank = static_cast<std::uint64_t>(std::ceil(p * static_cast<double>(total_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= rank && seen > 0) return static_cast<double>(lower_bound(i));
    }
    return 0;
  }

  void clear() {
    if (total_ > 0) std::fill(counts_.begin(), counts_.end(), 0U);
    total_ = 0;
  }

 private:
  static std::size_t index(std::uint64_t value) {
    if (value < 32) return value;
    const int shift = 58 - std::countl_zero(value);  // leaves the six leading bits
    return static_cast<std::size_t>(shift) * 32 + (value >> shift);
  }
  static std::uint64_t lower_bound(std::size_t i) {
    return i < 64 ? i : (i % 32 + 32) << (i / 32 - 1);
  }

  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(60 * 32);
  std::uint64_t total_ = 0;
};

// One bin of one second.
struct Bin {
  std::uint32_t arrivals = 0, attempts = 0, completions = 0, successes = 0;
  std::uint32_t timeouts = 0, retries = 0, failures = 0, rejected = 0;
  std::uint64_t queue_area_ns = 0, queue_max = 0;
  double p50_ns = 0, p99_ns = 0;
};

// What is measured: bins, and histograms over the whole run.
class Metrics {
 public:
  Bin now;  // the current bin
  Histogram latency, waiting;

  std::uint64_t bin_end() const { return bin_end_; }

  // Closes every bin that ends at or before `time`.
  [[gnu::noinline]] void advance(std::uint64_t time, std::uint64_t queue_length) {
    while (time >= bin_end_) {
      queue_was(queue_length, bin_end_);
      now.p50_ns = bin_latency_.quantile(0.5);
      now.p99_ns = bin_latency_.quantile(0.99);
      bins_.push_back(now);
      now = Bin{};
      bin_latency_.clear();
      bin_end_ += kSecond;
    }
  }

  // The queue had `length` entries since its last change; it changes at `time`.
  void queue_was(std::uint64_t length, std::uint64_t time) {
    now.queue_area_ns += length * (time - queue_changed_);
    queue_changed_ = time;
  }

  void add_latency(std::uint64_t nanoseconds) {
    latency.add(nanoseconds);
    bin_latency_.add(nanoseconds);
  }

  const std::vector<Bin>& bins() const { return bins_; }

 private:
  std::vector<Bin> bins_;
  Histogram bin_latency_;
  std::uint64_t bin_end_ = kSecond;
  std::uint64_t queue_changed_ = 0;
};

struct Counts {
  std::uint64_t arrivals = 0, completions = 0, timeouts_fired = 0, timeouts_cancelled = 0;
  std::uint64_t backoffs = 0, successes = 0, failures = 0, rejected = 0, wasted = 0;
  std::uint64_t latency_sum_ns = 0;

  std::uint64_t events() const {
    return arrivals + completions + timeouts_fired + timeouts_cancelled + backoffs;
  }
};

struct Request {
  std::uint64_t submitted, sent;  // ns
  std::uint32_t client;
  std::uint32_t generation;  // changes whenever the running attempt stops to matter
  std::uint32_t attempts;
};

class Loop {
 public:
  explicit Loop(const Options& options)
      : queue_capacity_(options.queue_capacity),
        end_(static_cast<std::uint64_t>(options.seconds * 1e9)),
        mean_gap_ns_(1e9 / options.rate),
        random_(options.seed) {
    busy_.reserve(kServers + 1);
    next_arrival_ = draw(mean_gap_ns_);
  }

  void run() {
    for (;;) {
      const std::uint64_t completion = busy_.empty() ? kNever : busy_.back().time;
      const std::uint64_t timeout = timeouts_.empty() ? kNever : timeouts_.front().time;
      const std::uint64_t backoff = backoffs_.next_time();
      const std::uint64_t time =
          std::min(std::min(completion, next_arrival_), std::min(timeout, backoff));
      if (time >= end_) break;
      now_ = time;
      if (now_ >= metrics_.bin_end()) [[unlikely]]
        metrics_.advance(now_, queue_.size());
      if (time == completion) {
        complete();
      } else if (time == next_arrival_) {
        arrive();
      } else if (time == timeout) {
        time_out();
      } else {
        ++counts_.backoffs;
        ++metrics_.now.retries;
        send(backoffs_.pop().slot);
      }
    }
    metrics_.advance(end_, queue_.size());
  }

  const Counts& counts() const { return counts_; }
  const Metrics& metrics() const { return metrics_; }

 private:
  std::uint64_t draw(double mean_ns) {
    return static_cast<std::uint64_t>(exponential_(random_) * mean_ns);
  }

  void arrive() {
    next_arrival_ = now_ + draw(mean_gap_ns_);
    ++counts_.arrivals;
    ++metrics_.now.arrivals;
    const std::uint32_t client = random_.below(kClients);
    ++requests_of_[client];
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(requests_.size());
      requests_.push_back({});
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    Request& request = requests_[slot];
    request.submitted = now_;
    request.client = client;
    request.attempts = 0;
    send(slot);
  }

  void send(std::uint32_t slot) {
    Request& request = requests_[slot];
    ++request.attempts;
    request.sent = now_;
    ++metrics_.now.attempts;
    if (busy_.size() < kServers) {
      start_service(slot, request.generation);
    } else if (queue_.size() < queue_capacity_) {
      metrics_.queue_was(queue_.size(), now_);
      queue_.push({slot, request.generation});
      metrics_.now.queue_max = std::max(metrics_.now.queue_max, queue_.size());
    } else {
      ++counts_.rejected;
      ++metrics_.now.rejected;
      retry(slot);
      return;
    }
    timeouts_.push({now_ + kTimeoutNs, slot, request.generation});
  }

  void start_service(std::uint32_t slot, std::uint32_t generation) {
    metrics_.waiting.add(now_ - requests_[slot].sent);
    const Timer timer{now_ + draw(kMeanServiceNs), slot, generation};
    // Ten entries, the next one last: shifting a few is faster than any heap.
    std::size_t i = busy_.size();
    busy_.push_back(timer);
    for (; i > 0 && busy_[i - 1].time <= timer.time; --i) busy_[i] = busy_[i - 1];
    busy_[i] = timer;
  }

  void complete() {
    const Timer done = busy_.back();
    busy_.pop_back();
    ++counts_.completions;
    ++metrics_.now.completions;
    if (!queue_.empty()) {
      metrics_.queue_was(queue_.size(), now_);
      const auto [slot, generation] = queue_.front();
      queue_.pop();
      start_service(slot, generation);
    }
    if (requests_[done.slot].generation != done.generation) {
      ++counts_.wasted;
      return;
    }
    ++counts_.timeouts_cancelled;
    finish(done.slot, true);
    drop_dead_timeouts();
  }

  void time_out() {
    const Timer timer = timeouts_.front();
    timeouts_.pop();
    ++counts_.timeouts_fired;
    ++metrics_.now.timeouts;
    retry(timer.slot);
    drop_dead_timeouts();
  }

  // Timeouts expire in the order they were set, so they need no heap; cancelled ones are dropped
  // when they come to the front, which keeps the front alive.
  void drop_dead_timeouts() {
    while (!timeouts_.empty()) {
      const Timer& timer = timeouts_.front();
      if (requests_[timer.slot].generation == timer.generation) break;
      timeouts_.pop();
    }
  }

  void retry(std::uint32_t slot) {
    Request& request = requests_[slot];
    if (request.attempts >= kMaxAttempts) {
      finish(slot, false);
      return;
    }
    ++request.generation;
    const double limit =
        std::min(kBackoffCapNs, kBackoffBaseNs * static_cast<double>(1U << (request.attempts - 1)));
    const auto delay = static_cast<std::uint64_t>(random_.uniform() * limit);
    backoffs_.push({now_ + delay, slot, request.generation});
  }

  void finish(std::uint32_t slot, bool success) {
    Request& request = requests_[slot];
    ++request.generation;
    if (success) {
      ++counts_.successes;
      ++metrics_.now.successes;
      const std::uint64_t latency = now_ - request.submitted;
      counts_.latency_sum_ns += latency;
      metrics_.add_latency(latency);
    } else {
      ++counts_.failures;
      ++metrics_.now.failures;
      ++failures_of_[request.client];
    }
    free_.push_back(slot);
  }

  const std::uint64_t queue_capacity_, end_;
  const double mean_gap_ns_;
  const Exponential exponential_;
  Xoshiro random_;
  std::uint64_t now_ = 0;
  std::uint64_t next_arrival_ = 0;
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_;
  std::vector<Timer> busy_;                              // latest completion first
  Ring<std::pair<std::uint32_t, std::uint32_t>> queue_;  // (slot, generation)
  Ring<Timer> timeouts_;
  TimerHeap backoffs_;
  std::vector<std::uint32_t> requests_of_ = std::vector<std::uint32_t>(kClients);
  std::vector<std::uint32_t> failures_of_ = std::vector<std::uint32_t>(kClients);
  Counts counts_;
  Metrics metrics_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = read_options("reference_loop", argc, argv);
  if (!options) return 2;
  const double start = cpu_seconds();
  Loop loop(*options);
  loop.run();
  const double seconds = cpu_seconds() - start;

  const Counts& c = loop.counts();
  const auto count = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  const auto events = static_cast<double>(c.events());
  const double mean_ms = static_cast<double>(c.latency_sum_ns) * 1e-6 /
                         static_cast<double>(std::max<std::uint64_t>(c.successes, 1));
  std::printf(
      "events=%llu cpu_s=%.6f ns_per_event=%.2f mean_ms=%.4f p50_ms=%.3f p99_ms=%.3f "
      "wait_p99_ms=%.3f bins=%zu requests=%llu successes=%llu failures=%llu rejected=%llu "
      "timeouts=%llu backoffs=%llu wasted=%llu\n",
      count(c.events()), seconds, seconds * 1e9 / events, mean_ms,
      loop.metrics().latency.quantile(0.5) * 1e-6, loop.metrics().latency.quantile(0.99) * 1e-6,
      loop.metrics().waiting.quantile(0.99) * 1e-6, loop.metrics().bins().size(), count(c.arrivals),
      count(c.successes), count(c.failures), count(c.rejected), count(c.timeouts_fired),
      count(c.backoffs), count(c.wasted));
  return 0;
}

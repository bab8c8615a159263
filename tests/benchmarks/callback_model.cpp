// The system of reference_loop.cpp as one writes it for a general simulator whose events are
// callbacks: a closure for each arrival, completion, timeout and backoff. Between the two lies what
// a general engine costs; what retrysim adds to that is its model and its metrics.
//
// The engine is a binary heap of callbacks with their captures inline (no allocation), or, where it
// is installed, that of ns-3, a network simulator in C++ that research uses. Counters and mean
// latency are all that is measured.
//
// Usage: callback_model [rate=1000] [qcap=N] [secs=1000] [seed=1]
//
// SPDX-License-Identifier: MIT
#include "system_options.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef RETRYSIM_BENCHMARK_NS3
#include <ns3/event-id.h>
#include <ns3/nstime.h>
#include <ns3/simulator.h>
#endif

namespace {

#ifdef RETRYSIM_BENCHMARK_NS3

class Engine {
 public:
  using Event = ns3::EventId;

  std::int64_t now() const { return ns3::Simulator::Now().GetNanoSeconds(); }
  template <class Callback>
  Event after(std::int64_t nanoseconds, Callback callback) {
    return ns3::Simulator::Schedule(ns3::NanoSeconds(nanoseconds), std::move(callback));
  }
  void cancel(Event& event) { event.Cancel(); }
  void run(std::int64_t until) {
    ns3::Simulator::Stop(ns3::NanoSeconds(until));
    ns3::Simulator::Run();
  }
};

#else

class Engine {
 public:
  struct Event {
    std::uint32_t slot = 0, generation = 0;
  };

  std::int64_t now() const { return now_; }

  template <class Callback>
  Event after(std::int64_t nanoseconds, Callback callback) {
    static_assert(sizeof(Callback) <= kCapture && std::is_trivially_copyable_v<Callback>);
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    Slot& s = slots_[slot];
    new (s.capture) Callback(callback);
    s.call = [](void* capture) { (*std::launder(static_cast<Callback*>(capture)))(); };
    heap_.push_back({now_ + nanoseconds, order_++, slot, s.generation});
    std::push_heap(heap_.begin(), heap_.end());
    return {slot, s.generation};
  }

  /// What has been cancelled stays in the heap until its time.
  void cancel(Event event) {
    if (slots_[event.slot].generation == event.generation) release(event.slot);
  }

  void run(std::int64_t until) {
    while (!heap_.empty() && heap_.front().time < until) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Entry next = heap_.back();
      heap_.pop_back();
      if (slots_[next.slot].generation != next.generation) continue;
      now_ = next.time;
      Slot due = slots_[next.slot];  // the callback may schedule others
      release(next.slot);
      due.call(due.capture);
    }
  }

 private:
  static constexpr std::size_t kCapture = 24;
  struct Slot {
    alignas(8) std::byte capture[kCapture];
    void (*call)(void*) = nullptr;
    std::uint32_t generation = 0;
  };
  struct Entry {
    std::int64_t time;
    std::uint64_t order;
    std::uint32_t slot, generation;
    // The largest comes first in a heap of the standard library.
    bool operator<(const Entry& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  void release(std::uint32_t slot) {
    ++slots_[slot].generation;
    free_.push_back(slot);
  }

  std::int64_t now_ = 0;
  std::uint64_t order_ = 0;
  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

#endif

class Model {
 public:
  explicit Model(const Options& options) : options_(options), random_(options.seed) {}

  void run() {
    for (std::uint32_t client = 0; client < kClients; ++client) arrive_later();
    engine_.run(static_cast<std::int64_t>(options_.seconds * 1e9));
  }

  std::uint64_t events = 0, requests = 0, successes = 0, failures = 0;
  double latency_sum_ns = 0;

 private:
  static constexpr std::uint32_t kClients = 10'000, kServers = 10, kMaxAttempts = 3;
  static constexpr double kMeanServiceNs = 9e6, kTimeoutNs = 1e9;
  static constexpr double kBackoffBaseNs = 100e6, kBackoffCapNs = 10e9;

  struct Request {
    std::int64_t submitted = 0;
    std::uint32_t attempts = 0;
    std::uint32_t attempt = 0;  // the number of the one that is waited for, of all
    Engine::Event timeout;
  };
  /// An attempt at the service.
  struct Attempt {
    Request* request;
    std::uint32_t number;
  };

  std::int64_t exponential(double mean_ns) {
    return static_cast<std::int64_t>(exponential_(random_) * mean_ns);
  }

  void arrive_later() {
    engine_.after(exponential(1e9 * kClients / options_.rate), [this] { arrive(); });
  }

  void arrive() {
    arrive_later();
    ++events, ++requests;
    Request* request;
    if (free_.empty()) {
      all_.push_back(std::make_unique<Request>());
      request = all_.back().get();
    } else {
      request = free_.back();
      free_.pop_back();
    }
    request->submitted = engine_.now();
    request->attempts = 0;
    send(*request);
  }

  void send(Request& r) {
    ++r.attempts;
    ++r.attempt;
    if (busy_ < kServers) {
      serve({&r, r.attempt});
    } else if (queue_.size() < options_.queue_capacity) {
      queue_.push_back({&r, r.attempt});
    } else {
      return retry(r);
    }
    r.timeout = engine_.after(static_cast<std::int64_t>(kTimeoutNs), [this, &r] {
      ++events;
      retry(r);
    });
  }

  void serve(Attempt attempt) {
    ++busy_;
    engine_.after(exponential(kMeanServiceNs), [this, attempt] { complete(attempt); });
  }

  void complete(Attempt attempt) {
    ++events;
    --busy_;
    if (!queue_.empty()) {
      serve(queue_.front());
      queue_.pop_front();
    }
    Request& r = *attempt.request;
    if (r.attempt != attempt.number) return;  // its client has given up
    ++events;
    engine_.cancel(r.timeout);
    ++successes;
    latency_sum_ns += static_cast<double>(engine_.now() - r.submitted);
    end(r);
  }

  void retry(Request& r) {
    ++r.attempt;
    if (r.attempts == kMaxAttempts) {
      ++failures;
      return end(r);
    }
    const double longest = std::min(kBackoffCapNs, kBackoffBaseNs * std::exp2(r.attempts - 1));
    engine_.after(static_cast<std::int64_t>(uniform_(random_) * longest), [this, &r] {
      ++events;
      send(r);
    });
  }

  void end(Request& r) {
    ++r.attempt;
    free_.push_back(&r);
  }

  const Options options_;
  Engine engine_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> exponential_;
  std::uniform_real_distribution<double> uniform_;
  std::uint32_t busy_ = 0;
  std::deque<Attempt> queue_;
  std::vector<std::unique_ptr<Request>> all_;
  std::vector<Request*> free_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = read_options("callback_model", argc, argv);
  if (!options) return 2;
  const double start = cpu_seconds();
  Model model(*options);
  model.run();
  const double seconds = cpu_seconds() - start;
  const auto count = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "events=%llu cpu_s=%.6f ns_per_event=%.2f mean_ms=%.4f requests=%llu successes=%llu "
      "failures=%llu\n",
      count(model.events), seconds, seconds * 1e9 / static_cast<double>(model.events),
      model.latency_sum_ns * 1e-6 /
          static_cast<double>(std::max<std::uint64_t>(model.successes, 1)),
      count(model.requests), count(model.successes), count(model.failures));
  return 0;
}

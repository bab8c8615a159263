// Clients that send in bursts: each is on and off by turns, and sends at random while it is on
// (an interrupted Poisson process). They burst each on their own, or all together.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/event_queue.hpp"
#include "model/idle_steps.hpp"
#include "model/rate_function.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

class Bursts {
 public:
  struct Next {
    std::uint32_t client = 0;
    std::uint64_t entity = 0;
  };

  /// Nothing comes from `end` on; `key` is that of the client group, `sequence` the simulation's
  /// counter of scheduled events. More than `most_steps` bursts, pauses and arrivals that are left
  /// out are a `LimitExceeded`.
  Bursts(const ClientSpec& spec, const RandomKey& key, Time end, std::uint64_t* sequence,
         std::uint64_t most_steps = ~std::uint64_t{0});

  /// The memory that the bursts of these clients take.
  static std::uint64_t bytes(const ClientSpec& spec);

  /// Key of the next request; `EventKey::never()` after the last.
  kernel::EventKey head() const {
    return queue_.empty() ? kernel::EventKey::never() : queue_.front().key;
  }

  /// Takes the next request and schedules its sender's next one.
  Next pop();

 private:
  /// One client, or all of them as one.
  struct Sender {
    Time now;                    // of its last request, or where its walk to the next one stands
    Time edge;                   // end of the burst or pause
    double carried_ns = 0;       // fraction of a nanosecond after `now`
    std::uint32_t periods = 0;   // bursts and pauses begun
    std::uint64_t requests = 0;  // drawn, accepted or not
    bool on = false;
  };
  struct Entry {
    kernel::EventKey key;
    std::uint32_t sender = 0;
  };
  static bool later(const Entry& a, const Entry& b) { return b.key < a.key; }

  static std::uint32_t senders(const ClientSpec& spec) {
    return spec.arrivals.aligned ? 1 : spec.count;
  }
  template <class Take>
  static void take_memory(const ClientSpec& spec, std::vector<Sender>& senders_of,
                          std::vector<Entry>& queue, Take& take);
  void begin(std::uint32_t sender);
  void next_period(std::uint32_t sender);
  bool walk(std::uint32_t sender);
  std::uint64_t entity(std::uint32_t sender, std::uint64_t request) const {
    return (std::uint64_t{sender} << 32) + request;
  }
  Draws period_draws(std::uint32_t sender, std::uint32_t period) const;

  const ArrivalSpec* spec_;
  RandomKey key_;
  Time end_;
  std::uint64_t* sequence_;
  IdleSteps idle_;
  std::uint32_t count_;
  double mean_gap_ns_ = 0;            // within a burst, at the highest rate
  std::optional<RateFunction> rate_;  // if it varies: then requests are left out at lower rates
  double highest_rate_ = 0;
  std::vector<Sender> senders_;
  std::vector<Entry> queue_;  // a heap, the next request first
};

}  // namespace retrysim::model

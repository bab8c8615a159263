// One service: servers, a FIFO queue in front of them, a throttle before that. Knows attempts, but
// neither clients nor the network; what an attempt's fate means is decided by the simulation.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/event_order.hpp"
#include "kernel/pool.hpp"
#include "model/completion_set.hpp"
#include "model/request.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::model {

/// Token bucket: continuous refill, starts full. A token that is there but for rounding (less than
/// a billionth is missing) counts, so that a rate is kept exactly at exact intervals.
class TokenBucket {
 public:
  TokenBucket() = default;
  TokenBucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}

  bool take(Time now) {
    tokens_ = std::min(burst_, tokens_ + (now - last_).in_seconds() * rate_);
    last_ = now;
    if (tokens_ < 1 - 1e-9) return false;
    tokens_ = std::max(0.0, tokens_ - 1);
    return true;
  }

 private:
  double rate_ = 0, burst_ = 0, tokens_ = 0;
  Time last_;
};

/// What is wrong with a service, or the way to it, at present: all active faults together.
struct Impairment {
  double capacity = 1, speed = 1;
  Duration latency;
  bool unreachable = false;
  std::vector<std::pair<double, std::uint16_t>> errors;  ///< cumulative probability, answer
};

class Service {
 public:
  enum class Admission : std::uint8_t { kStarted, kQueued, kFull };

  Service(const ServiceSpec& spec, const RandomKey& key, kernel::Pool<Attempt>* attempts,
          std::uint64_t* sequence);

  const ServiceSpec& spec() const { return *spec_; }
  const Impairment& impairment() const { return impairment_; }
  std::int64_t busy() const { return busy_; }
  std::uint64_t queued() const { return queued_; }
  std::int64_t working_servers() const { return working_; }
  bool all_busy() const { return busy() >= working_; }

  /// Key of the next completion.
  kernel::EventKey next_completion() const { return in_service_.head(); }

  /// True if the throttle lets an attempt of this client of client group `group` pass.
  bool pass_throttle(std::uint16_t group, std::uint32_t client, Time now);

  /// Starts serving the attempt, queues it, or neither if the queue is full.
  Admission admit(std::uint32_t attempt, Time now);

  /// Ends the service that completes now.
  std::uint32_t complete(Time now);

  /// The attempt at the head of the queue leaves it, if a server is free for it; kNone if not.
  std::uint32_t take_from_queue();
  void start(std::uint32_t attempt, Time now);

  /// An attempt leaves the queue, or its server, before it is served.
  void remove_from_queue(std::uint32_t attempt);
  void abort(std::uint32_t attempt);

  /// The faults have changed. Work in progress goes on at the new speed.
  void impair(Impairment impairment, Time now);

  template <class Visit>
  void for_each_in_service(Visit visit) const {
    in_service_.for_each(visit);
  }

 private:
  void schedule(std::uint32_t attempt, Time now);

  const ServiceSpec* spec_;
  RandomKey key_;
  kernel::Pool<Attempt>* attempts_;
  std::uint64_t* sequence_;
  CompletionSet in_service_;
  std::uint32_t first_queued_ = kNone, last_queued_ = kNone;
  std::uint64_t queued_ = 0;
  std::uint64_t queue_capacity_;
  std::int64_t working_;
  std::int64_t busy_ = 0;  // attempts in service
  Impairment impairment_;
  TokenBucket throttle_;
  std::vector<std::vector<TokenBucket>> client_throttles_;  // scope "client": by group and client
};

}  // namespace retrysim::model

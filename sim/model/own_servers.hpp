// Servers that each work for one attempt at a time: a fixed number with a queue in front of them,
// or as many as it takes. This is one kind of server pool, processor_sharing.hpp has the other.
// Both have the same members, and a service asks its pool about everything that depends on how
// servers are given to attempts.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/memory.hpp"
#include "model/completion_set.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::model {

class OwnServers {
 public:
  /// `sequence`: the simulation's counter of scheduled events. `servers` work at first; there may
  /// be `most` later.
  OwnServers(kernel::LinkedPool<Attempt>* attempts, std::uint64_t* sequence, std::int64_t servers,
             std::int64_t most)
      : attempts_(attempts),
        sequence_(sequence),
        working_(servers),
        in_service_(std::max(servers, most)) {}

  /// Whether an attempt can be served at once; otherwise it has to queue.
  bool has_room() const { return taken_ < working_; }
  /// Whether `capacity` attempts are in service, where that is what the capacity limits.
  static bool is_full(std::uint64_t) { return false; }
  /// How many attempts the service time of the next one depends on.
  std::int64_t in_service() const { return taken_; }
  /// Attempts that are in service or held.
  std::int64_t attempts() const { return taken_; }
  std::int64_t busy() const { return taken_; }
  /// Whether it is a level how many servers work for attempts whose clients have given up:
  /// `wasting_servers`. Otherwise each of those attempts has a server to itself, whose time is
  /// wasted from `wasted_since` on.
  static bool waste_is_a_level() { return false; }
  static double wasting_servers() { return 0; }
  static Time wasted_since(const Attempt& a) { return std::max(a.started, a.gave_up); }
  /// Server time that an attempt was given that has been served.
  static double server_time_ns(const Attempt& a) {
    return static_cast<double>((a.finished - a.started).count());
  }

  /// Key of the next completion, and the attempt it is of; there must be one.
  kernel::EventKey head() const { return in_service_.head(); }
  std::uint32_t front() const { return in_service_.front(); }

  /// Begins with the attempt, whose `work` says how much there is to do.
  void start(Attempt& a, Time now) {
    ++taken_;
    schedule(a, now);
  }
  /// Ends the service that completes now.
  std::uint32_t complete(Time) {
    --taken_;
    return in_service_.pop();
  }
  /// Takes a server for an attempt that does nothing until `let_go`.
  void take() {
    ++taken_;
    ++held_;
  }
  /// Ends the service that completes now, but its server stays taken until `let_go`.
  std::uint32_t hold(Time) {
    ++held_;
    return in_service_.pop();
  }
  void let_go() {
    --held_;
    --taken_;
  }
  /// Ends the service of an attempt that is not done.
  void abort(std::uint32_t attempt, Time) {
    in_service_.erase(attempt);
    --taken_;
  }
  /// The client of an attempt in service has given up. True if that changes a level.
  static bool given_up(Time) { return false; }
  /// Takes out all that are in service, in the order of completion; what is held stays.
  std::vector<std::uint32_t> take_all(Time) {
    taken_ = held_;
    return in_service_.take_all();
  }

  /// From now on so many servers work, at this speed. Work in progress goes on.
  void set_power(std::int64_t servers, double speed, Time now) {
    working_ = servers;
    if (speed == speed_) return;
    const double old_speed = std::exchange(speed_, speed);
    for (const std::uint32_t id : in_service_.take_all()) {
      Attempt& a = (*attempts_)[id];
      const auto elapsed = static_cast<double>((now - a.work.since).count());
      a.work.left_ns = std::max(0.0, std::round(a.work.left_ns - elapsed * old_speed));
      schedule(a, now);
    }
  }

  template <class Visit>
  void for_each(Visit visit) const {
    in_service_.for_each(visit);
  }

 private:
  void schedule(Attempt& a, Time now) {
    a.work.since = now;
    constexpr double kNever = 9.2e18;
    Duration left = Duration::max();  // a server that stands still never finishes
    if (speed_ == 1 && a.work.left_ns < kNever) [[likely]] {
      left = Duration::nanoseconds(static_cast<std::int64_t>(a.work.left_ns));
    } else if (a.work.left_ns == 0) {
      left = Duration::zero();
    } else if (speed_ > 0) {
      left = Duration::from_nanoseconds(a.work.left_ns / speed_);
    }
    in_service_.insert(a.id, {now + left, (*sequence_)++});
  }

  kernel::LinkedPool<Attempt>* attempts_;
  std::uint64_t* sequence_;
  std::int64_t taken_ = 0;  // servers, by attempts in service or held
  std::int64_t held_ = 0;
  std::int64_t working_;
  double speed_ = 1;
  CompletionSet in_service_;
};

}  // namespace retrysim::model

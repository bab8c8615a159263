// Services that call other services: which calls an attempt makes between the end of its own
// service time and its answer, and how far it has got with them. Each call is a request of a client
// group that belongs to the calling service, so that it is retried, timed and counted as any other
// request is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/memory.hpp"
#include "model/run/request.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace retrysim::model {

struct RunState;

class Calls {
 public:
  /// Calls that are made together, or a single one: each is a request of one of these groups.
  struct Round {
    CallId id;  ///< by which they are told back
    std::span<const GroupId> groups;
  };

  explicit Calls(RunState& state) : state_(state) {}

  /// Finds out which services call which; throws std::invalid_argument if they do so in a circle.
  void link_services();

  /// The own work on the attempt is done, and it is going to make calls.
  void begin(AttemptId attempt);
  /// The next calls of the attempt.
  Round next(const Attempt& a);
  bool has_more(const Attempt& a) const;
  /// A call has ended. True if it was the last one under way of an attempt that still waits.
  bool ended(CallId id, bool succeeded);
  bool is_waiting(CallId id) const {
    const Progress& p = progress_[id.attempt];
    return p.active && p.serial == id.serial;
  }
  /// All calls of the attempt have ended, or are not made after a failure. True if one has failed.
  bool end(AttemptId attempt);
  /// The attempt does not wait any more. Calls under way run on to their own end.
  void cancel(AttemptId attempt) { progress_[attempt].active = false; }
  /// The attempts that wait for calls, wherever they are, and since which event.
  std::vector<HeldAttempt> waiting() const;

  std::uint64_t bytes() const { return kernel::bytes_of(progress_); }

 private:
  struct Progress {  // of an attempt
    std::uint64_t since = 0;
    std::uint32_t serial = 0;
    std::uint16_t next = 0;  // of its service's callees
    std::uint16_t open = 0;
    bool active = false, failed = false;
  };
  const std::vector<GroupId>& callees_of(const Attempt& a) const;

  RunState& state_;
  ByService<std::vector<GroupId>> callees_;  // the client groups of the service itself
  ByAttempt<Progress> progress_;
};

}  // namespace retrysim::model

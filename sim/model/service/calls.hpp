// Services that call other services: what happens between the end of an attempt's own service time
// and its answer. Each call is a request of a client group that belongs to the calling service, so
// that it is retried, timed and counted as any other request is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/memory.hpp"
#include "model/run/request.hpp"
#include "model/service/instance.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class CallTree {
 public:
  /// One attempt that makes calls. `serial` tells it from attempts that had the slot before.
  struct CallId {
    AttemptId attempt;
    std::uint32_t serial = 0;
  };

  CallTree(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// Finds out which services call which; throws std::invalid_argument if they do so in a circle.
  void link_services();

  /// The own work on the attempt that completes next is done. False if that ends it: it has failed,
  /// or was not to be executed.
  [[gnu::noinline]] bool begin(Service& s);
  /// The request is the call of an attempt; whether it belongs to the cohort, as that does.
  [[gnu::noinline]] bool enter(const Request& r, AttemptId caller);
  [[gnu::noinline]] void call_ended(RequestId request, bool succeeded);
  /// The calls that the attempt waited for have ended, unless it does not wait any more.
  void go_on(CallId id);
  /// The attempt does not wait any more. Calls under way run on to their own end.
  [[gnu::noinline]] void cancel(AttemptId attempt) { calls_[attempt].active = false; }
  /// The attempts at the service that wait for calls.
  std::vector<AttemptId> calling_at(const Service& s) const;

  std::uint64_t bytes() const { return kernel::bytes_of(calls_); }

 private:
  struct Calls {  // that an attempt waits for
    std::uint32_t serial = 0;
    std::uint16_t next = 0;  // of its service's callees
    std::uint16_t open = 0;
    bool active = false, failed = false;
  };
  void make_calls(AttemptId attempt);
  void end(AttemptId attempt);

  RunState& state_;
  Parts& parts_;
  ByService<std::vector<GroupId>> callees_;  // the client groups of the service itself
  ByAttempt<Calls> calls_;
  ByRequest<CallId> callers_;  // of those groups
};

}  // namespace retrysim::model

// Services that watch over what they have admitted: some limit how long an attempt may stay, some
// how many may be there, and want to hear of every one that goes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_queue.hpp"
#include "kernel/fifo_lane.hpp"
#include "model/request.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class AttemptWatch {
 public:
  AttemptWatch(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  void add_sources();

  /// An attempt has been admitted by a service that watches over its attempts.
  [[gnu::noinline]] void enter(Attempt& a);
  /// It is served, or it goes in another way.
  void leave(Attempt& a) {
    if (a.is(Attempt::kWatched)) [[unlikely]]
      end(a);
  }
  /// The service's own timeout ends its oldest attempt.
  void time_out(ServiceId service);
  kernel::EventKey next_timeout(ServiceId service) const;

 private:
  struct Limit {  // of one service
    kernel::TimerLane<AttemptId> lane;
    std::uint32_t source = kNone;
  };
  [[gnu::noinline]] void end(Attempt& a);
  auto link();

  RunState& state_;
  Parts& parts_;
  ByService<Limit> limits_;
  ByAttempt<kernel::LaneLink<AttemptId>> links_;  // of services that limit the time
};

}  // namespace retrysim::model

// What an attempt meets when it arrives at a service: random errors, the throttle, the queue. And
// how it is turned away.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/answers.hpp"
#include "model/event_loop.hpp"
#include "model/request.hpp"
#include "model/service.hpp"

#include <cstdint>

namespace retrysim::model {

struct Parts;
struct RunState;

class ServiceEntrance {
 public:
  ServiceEntrance(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  void arrive(Attempt& a);
  /// The same, compiled into the step that sends the attempt.
  RETRYSIM_IN_LOOP void arrive_here(Attempt& a);
  /// The same as all that happens in an event.
  void arrive_by_event(Attempt& a);
  /// The queue does not take the attempt, or sheds it.
  [[gnu::noinline]] void overflow(Attempt& a, Refusal refusal);

 private:
  RETRYSIM_IN_LOOP void overflow_here(Attempt& a, Refusal refusal);
  bool passes_throttle(const Attempt& a, Service& s);
  bool passes_limits(const Attempt& a, Service& s, std::uint32_t number);
  [[gnu::noinline]] bool answered_at_the_door(Attempt& a);
  void turn_away(Attempt& a, std::uint16_t answer);

  RunState& state_;
  Parts& parts_;
};

}  // namespace retrysim::model

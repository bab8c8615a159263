// Messages between clients and services: an attempt on its way to the service, an answer on its way
// back, and what gets lost.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/fifo_lane.hpp"
#include "kernel/timer_queue.hpp"
#include "model/client/group.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/service/instance.hpp"

#include <cstdint>

namespace retrysim::model {

struct Parts;
struct RunState;

class Transport {
 public:
  Transport(RunState& state, Parts& parts);

  void add_sources();

  /// The client makes its next attempt now.
  void send(ClientGroup& g, Request& r);
  /// The same, compiled into the steps that make nearly every attempt.
  RETRYSIM_IN_LOOP void send_here(ClientGroup& g, Request& r);
  /// Its attempt, or a further message of one, sets out.
  [[gnu::noinline]] void travel_to_service(Attempt& a);
  /// The next attempt on the way arrives. `late`: one of varying delay.
  void attempt_arrives(bool late);

  /// The answer to an attempt sets out. True if it takes no time, and is to be delivered at once.
  bool send_answer(Attempt& a, std::uint16_t answer);
  /// The attempt is answered now. An answer that takes no time is there when the event is over:
  /// what its client makes of it may come back to the service, which is in the midst of something.
  void answer_with(Attempt& a, std::uint16_t answer);
  /// The same for the next answer.
  void answer_arrives(bool late);

  std::uint64_t bytes() const {
    return late_requests_.bytes() + late_answers_.bytes() + requests_.bytes() + answers_.bytes();
  }

 private:
  [[gnu::noinline]] void prepare_in_steps(ClientGroup& g, Request& r, Attempt& a);
  [[gnu::noinline]] void travel_past_obstacles(Attempt& a);
  [[gnu::always_inline]] inline void arrive_in(Attempt& a, Duration time);
  [[gnu::always_inline]] inline Duration drawn(const Attempt& a, Purpose purpose) const;
  [[gnu::always_inline]] inline Duration delay(const Attempt& a, Purpose purpose) const;
  [[gnu::always_inline]] inline void schedule_answer(const Attempt& a, Duration delay);
  [[gnu::noinline]] bool lose_answer(Attempt& a);
  [[gnu::noinline]] bool answer_travels(const Attempt& a);

  RunState& state_;
  Parts& parts_;
  const Distribution& latency_;
  bool delays_differ_;  // a message may overtake another
  bool takes_time_;     // messages are events, not steps
  kernel::MessageLane requests_, answers_;
  kernel::TimerQueue late_requests_, late_answers_;  // of varying delay
  std::uint32_t request_source_ = kNone, answer_source_ = kNone;
  std::uint32_t late_request_source_ = kNone, late_answer_source_ = kNone;
};

}  // namespace retrysim::model

// The two things that move through the simulated world: a request (one logical call by the
// application) and its attempts (one try on the wire each). An attempt may outlive its request: the
// service goes on with work whose client has given up.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>

#include "kernel/fifo_lane.hpp"
#include "model/ids.hpp"

#include <cstdint>

namespace retrysim::model {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Both fill two cache lines exactly, which also makes finding one in its pool a shift.

struct alignas(64) Request {
  enum class Phase : std::uint8_t {
    kWaitingToSend,  ///< for a send token
    kWaitingForConnection,
    kInFlight,
    kInBackoff
  };

  std::uint64_t entity = 0;  ///< names its random draws
  Time submitted;
  Time phase_since;
  RetryProgress progress;
  Duration pending_delay;  ///< backoff that follows the wait for a send token
  ClientId client{0};
  AttemptId attempt;  ///< the attempt under way; the first of them when hedging
  GroupId group{0};
  Phase phase = Phase::kInFlight;
  bool in_cohort = false;
  bool open = false;                 ///< begun and not ended: the slot is in use
  bool retrying : 1 = false;         ///< a retry has been granted
  bool backoff_follows : 1 = false;  ///< after the wait for a send token
  bool connecting : 1 = false;       ///< the attempt to be sent opens a new connection
  bool mutating : 1 = false;         ///< it has side effects
  std::uint8_t send_tokens = 0;      ///< that the next attempt still needs
  kernel::LaneLink timeout, deadline;
  RequestId id;                            ///< its place among the requests
  std::uint32_t timeout_position = kNone;  ///< in the heap of varying timeouts
  RequestId next_waiter, previous_waiter;  ///< in a client's queue
};

struct alignas(64) Attempt {
  enum class Stage : std::uint8_t {
    kOnTheWire,  ///< travelling to the service or back
    kQueued,
    kInService,
    kCalling,  ///< its server waits: for other services, or for an attempt with the same token
    kLost,     ///< the service's side has ended; no answer will come
  };

  std::uint64_t entity = 0;  ///< of its request
  Time sent, arrived, started, finished;
  Time gave_up = Time::max();  ///< when its client stopped waiting
  double work_left_ns = 0;     ///< service demand left at `work_since`, at speed 1
  Time work_since;
  kernel::LaneLink limit;  ///< the service's own timeout
  RequestId request;       ///< only while its client waits
  ClientId client{0};
  std::uint32_t number = 1;  ///< 1 for the first attempt of a request
  AttemptId sibling;         ///< hedging: the next attempt of its request under way
  std::uint32_t next_in_queue = kNone, previous_in_queue = kNone;
  GroupId group{0};
  ServiceId service{0};
  InstanceId instance{0};    ///< of that service
  std::uint16_t answer = 0;  ///< index into the world's answers
  Stage stage = Stage::kOnTheWire;
  bool in_cohort = false;
  bool executed : 1 = false;     ///< served to the end
  bool connecting : 1 = false;   ///< on a new connection
  bool rejection : 1 = false;    ///< what it waits for, or a server does, is turning it away
  bool watched : 1 = false;      ///< the service wants to know when it leaves
  bool mutating : 1 = false;     ///< its request has side effects
  bool replay : 1 = false;       ///< answered because of its token, not executed
  bool has_session : 1 = false;  ///< its execution is the one that its token stands for
  // Of an attempt that consists of several calls (model "occ").
  bool goes_on : 1 = false;    ///< the answer under way asks for the next call
  std::uint8_t round : 2 = 0;  ///< calls done
  std::uint8_t priority : 6 = 0;
  std::uint32_t version = 0;  ///< of the row, as read

  bool given_up() const { return gave_up != Time::max(); }
};

static_assert(sizeof(Request) == 128 && sizeof(Attempt) == 128);

}  // namespace retrysim::model

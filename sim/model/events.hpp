// The kinds of events in a world, and the sources that they come from.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrysim::model {

/// Fingerprints hash these numbers.
enum class EventKind : std::uint8_t {
  kFault,
  kArrival,
  kCompletion,
  kTimeout,
  kDeadline,
  kBackoffEnd,
  kThinkEnd,
  kAttemptArrives,
  kResponseArrives,
  kSendTokenDue,
  kSendWaitEnd,
  kHedgeDue,
  kErrorReturned,  ///< long polling: after the delay of a retry that the quota refused
  kServiceTimeout,
  kScaling,
  kCheckDue,
  kHealthCheck,
  // Of sources only; their events are of a kind above.
  kVaryingTimeout,
  kLateAttempt,
  kLateResponse,
  kTimer,
};

struct ClientGroup;
class Service;

/// A source of the event queue.
struct EventSource {
  EventKind kind = EventKind::kTimer;
  std::uint32_t index = 0;  ///< of the group or service it belongs to
  /// The same for the two kinds that nearly all events are of.
  union {
    ClientGroup* group = nullptr;  ///< kArrival
    Service* instance;             ///< kCompletion
  };
};

}  // namespace retrysim::model

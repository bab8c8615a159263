// The events of a run: their kinds and sources, and what is compiled into the loop over them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// What is compiled into the loop over the events. The steps that nearly every request takes are one
// function there; elsewhere they are functions like others.
//
//   RETRYSIM_FLATTEN   of a function: all that it calls is compiled into it
//   RETRYSIM_IN_LOOP   of a function that is called in another file: so is it, for sure
//
// Not under sanitizers: with their checks that takes the compiler many minutes. Nor where the files
// of the model are compiled one by one: whoever does that defines RETRYSIM_FLATTEN as nothing.
#ifdef RETRYSIM_FLATTEN
#define RETRYSIM_IN_LOOP
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RETRYSIM_FLATTEN
#define RETRYSIM_IN_LOOP
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RETRYSIM_FLATTEN
#define RETRYSIM_IN_LOOP
#endif
#endif
#ifndef RETRYSIM_FLATTEN
#define RETRYSIM_FLATTEN [[gnu::flatten]]
#define RETRYSIM_IN_LOOP [[gnu::always_inline]] inline
#endif

namespace retrysim::model {

struct ClientGroup;
class Instance;

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

/// A source of the event queue.
struct EventSource {
  EventKind kind = EventKind::kTimer;
  std::uint32_t index = 0;  ///< of the group or service it belongs to
  /// The same for the two kinds that nearly all events are of.
  union {
    ClientGroup* group = nullptr;  ///< kArrival
    Instance* instance;            ///< kCompletion
  };
};

}  // namespace retrysim::model

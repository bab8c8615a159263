// The events of a run: their kinds and sources, what is compiled into the loop over them, and what
// they leave to be done at the same instant.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/run/request.hpp"

#include <cstdint>
#include <vector>

// What is compiled into the loop over the events. The steps that nearly every request takes are one
// function there; elsewhere they are functions like others.
//
//   RETRYSIM_FLATTEN   of a function: all that it calls is compiled into it
//   RETRYSIM_IN_LOOP   of a function: it is compiled into its callers, those in other files too
//
// Without RETRYSIM_FLATTEN the benchmarks take 5 to 19 % more instructions; with it on the loop
// alone, and not on the five steps of clients and network, 5 to 10 %. What few requests need is
// marked as `noinline`, so that it is not compiled into the loop: without these marks 3 % more.
//
// With a mere `inline` for RETRYSIM_IN_LOOP a study of backoff takes 1.8 % more instructions an
// attempt, the healthy system, closed loops and drawn times 0.7 to 0.9 % more an event (all above
// the ceilings of tests/benchmarks), an overload 0.9 % less.
//
// Not under sanitizers: with their checks that takes the compiler many minutes. Nor where the files
// of the model are compiled one by one: such a build defines RETRYSIM_FLATTEN as nothing.
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
  kEjection,  ///< a balancer looks at its instances, or the penalty of one is over
  // Kinds of sources; their events, but for the last kind, are of a kind above.
  kVaryingTimeout,
  kCallersDeadline,
  kAttemptOutOfOrder,
  kResponseOutOfOrder,
  kTimer,
  kConnectionWaitEnd,  ///< the longest wait for a connection, or for a place in the bulkhead
};

/// A source of the event queue.
struct EventSource {
  EventKind kind = EventKind::kTimer;
  std::uint32_t index = 0;  ///< of the group or service it belongs to
  /// Whose event it is, for the two kinds that nearly all events are of.
  union {
    ClientGroup* group = nullptr;  ///< kArrival
    Instance* instance;            ///< kCompletion
  };
};

// --- The agenda ----------------------------------------------------------------------------------

// The steps that an event leaves for the same instant. A step that could lead back to itself (an
// answer that takes no time, the hand-over of a connection, the end of a call) is not taken in the
// middle of another one: it is put down here, and taken when the event is over. So nothing
// recurses, however long a chain of such steps is, and no step finds another one half done.
//
// Modules append to it; only `World::settle` takes from it.

struct Agenda {
  /// The attempt's answer is there.
  void answered(Attempt& attempt) {
    answers.push_back(&attempt);
    due |= kPutDown;
  }
  /// The request, which waited for one, has got a connection, or a place in the bulkhead.
  void connected(RequestId request) {
    connections.push_back(request);
    due |= kPutDown;
    others_are_due = true;
  }
  /// The calls that an attempt waited for have ended.
  void calls_over(CallId id) {
    calls.push_back(id);
    due |= kPutDown;
    others_are_due = true;
  }
  /// The session that attempts with this token waited for has ended.
  void token_free(const Token& token) {
    tokens.push_back(token);
    due |= kPutDown;
    others_are_due = true;
  }

  static constexpr std::uint16_t kPutDown = 1;       ///< something has been put down
  static constexpr std::uint16_t kWatched = 1 << 8;  ///< somebody looks at the end of each event
  std::uint16_t due = 0;        ///< at the end of the event: one comparison tells if nothing is
  bool others_are_due = false;  ///< other steps than the delivery of answers
  std::vector<Attempt*> answers;
  std::vector<RequestId> connections;
  std::vector<CallId> calls;
  std::vector<Token> tokens;
};

}  // namespace retrysim::model

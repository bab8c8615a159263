// One client group as its own clients see it: the rules that they share, the state of their retry
// strategies, and how its requests and attempts begin.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "kernel/timer_queue.hpp"
#include "model/client/arrivals.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

/// When a group's clients stop waiting. Timeouts and deadlines that vary are in heaps of
/// `Timeouts`.
struct ClientTimers {
  kernel::TimerLane<Request*> timeouts;  ///< all of one length
  kernel::TimerLane<RequestId> deadlines;
  std::uint32_t timeout_source = kNone, deadline_source = kNone;  ///< kNone: there are none
  bool constant_timeout = false;
  bool deadlines_of_callers = false;  ///< `TimeoutSpec::deadline_of_caller`
  Duration constant_timeout_length;
};

/// The steps that the requests of a group need, so that simple groups skip the others.
struct ClientTraits {
  /// Sending may have to wait, or be refused: a limiter, a throttle, a limit on the send rate, a
  /// bulkhead, a connection pool, hedging.
  bool gated = false;
  bool pools_connections = false;  ///< it has connections, or a bulkhead
  bool counts_connections = false;
  bool has_bulkhead = false;
  bool may_not_send = false;  ///< an attempt may fail because its client does not send it
  bool hedges = false;
  bool extras_at_send = false;      ///< there is more to do when an attempt is sent
  bool ends_connections = false;    ///< the connections of its attempts are counted
  bool books_successes = false;     ///< the strategy learns of successes
  bool has_only_quotas = false;     ///< and a success changes nothing while the quota is full
  bool extras_at_begin = false;     ///< there is more to do when a request begins (also if `gated`)
  bool extras_at_end = false;       ///< there is more to do when a request ends
  bool closed = false;              ///< each client thinks, asks, thinks ...
  bool mutates = false;             ///< some requests have side effects
  bool reports_ends = false;        ///< a caller or a job waits for its requests
  bool counts_requests = false;     ///< the strategy is told when requests begin and end
  bool remembers = false;           ///< the retry strategy, from one request to the next
  bool keeps_states_apart = false;  ///< a client has several retry quotas or limiters
  bool extras_at_decision = false;  ///< there is more to a retry decision than the rules
  /// A circuit breaker is asked before each attempt, or before each request.
  bool breaker_of_attempts = false, breaker_of_requests = false;

  bool has_breaker() const { return breaker_of_attempts || breaker_of_requests; }
  bool asks_what_repeats = false;  ///< not each of its requests can be repeated after each error
};

struct ClientGroup : Group, ClientTraits {
  /// Makes it the group of this number. The answers of all services must be known, and the groups
  /// whose names come before.
  void set_up(RunState& state, ByGroup<ClientGroup>& groups, GroupId group,
              const OperationNames& operations);

  /// The run takes another branch now, which the group's key already has.
  void branch(Time now);

  ServiceId service_of(const Request& r) const {
    return calls_several ? about.service(*subject_key, r.entity) : ServiceId(spec->service);
  }
  /// The retry state that a request of this group uses.
  RetryState state_of(const Request& r) {
    if (!keeps_states_apart) return states->of(r.client);
    return states->of(r.client, place_of(r));
  }
  /// The number of the limiter that it uses.
  std::size_t limiter_of(const Request& r) const {
    if (!keeps_states_apart) return states->limiter_of(r.client);
    return states->limiter_of(r.client, place_of(r));
  }
  /// The client is going to make a request soon: fetches from memory what its strategy remembers,
  /// where that is one state.
  [[gnu::always_inline]] void prefetch_state_of(ClientId client) const {
    if (!remembers || keeps_states_apart) return;
    if (!states->quotas().empty()) kernel::prefetch(states->quotas()[states->quota_of(client)]);
    if (!states->limit_send_rate()) return;
    kernel::prefetch(states->limiter_place(states->limiter_of(client)));
  }
  /// Which of a client's states it uses, where they are kept apart.
  StatePlace place_of(const Request& r) const {
    StatePlace place = about.place(*subject_key, r.entity);
    if (takes_over == nullptr) return place;
    const TakenOver& taken = (*taken_over)[r.id];
    if (takes_over->callers_operation) place.operation = taken.operation;
    if (takes_over->callers_key) place.key = taken.key;
    return place;
  }

  /// Whether the request may be sent more than once, by where it comes from.
  bool may_repeat(const Request& r) const {
    switch (spec->retry_only_at) {
      case RetryOnlyAt::kAnywhere:
        break;
      case RetryOnlyAt::kEdge:
        return false;
      case RetryOnlyAt::kFirstAttempt:
        return !r.for_retry;
    }
    return true;
  }

  /// Whether the request can be sent again, by its body and its operation: after this answer, or
  /// beside an attempt that has none yet.
  bool can_repeat_after(const Request& r, std::uint16_t answer) const;
  bool can_be_hedged(const Request& r) const;

  std::optional<ArrivalStream> arrivals;  ///< open processes
  std::uint32_t arrival_source = kNone;
  std::optional<Polling> polling;  ///< arrivals are jobs
  RetryStates* states = nullptr;   ///< its own, or those of the group `holder`
  RetryStates own_states;
  GroupId holder;                ///< of the states: itself, or the first that shares them
  std::vector<GroupId> sharers;  ///< of the holder's states, if there are several groups
  const ByRequest<TakenOver>* taken_over = nullptr;  ///< of requests, where `takes_over` says so
  ClientTimers timers;
  Request new_request;  ///< as each of the group's requests begins
  Attempt new_attempt;  ///< as each of their attempts begins

 private:
  void share_states(const RunState& state, ByGroup<ClientGroup>& groups);
  void note_final_errors(const RunState& state);
  bool has_repeatable_body(const Request& r) const;

  /// The errors after which requests of one operation are not retried.
  struct FinalErrors {
    std::vector<bool> answers;  ///< by number: those after which it is not retried
    bool all = false;
  };
  std::vector<FinalErrors> final_errors_;  // by operation; empty: there are none
};

using ClientGroups = ByGroup<ClientGroup>;

/// Whether each client of a closed loop has a time at which its next request is due, whenever the
/// one before it ends: its think time runs from the start of that one.
inline bool has_due_times(const ClientSpec& client) {
  const ArrivalSpec& a = client.arrivals;
  return a.process == ArrivalProcess::kClosed && a.think_from_start && a.concurrency == 1;
}

}  // namespace retrysim::model

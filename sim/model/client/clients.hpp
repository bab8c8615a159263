// What clients do: a request from its submission to its end, the questions to the retry strategy on
// the way, and hedges.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/indexed_heap.hpp"
#include "kernel/memory.hpp"
#include "kernel/timer_queue.hpp"
#include "model/client/breakers.hpp"
#include "model/client/gates.hpp"
#include "model/client/group.hpp"
#include "model/client/workload.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace retrysim::model {

/// When clients stop waiting: for the answer to an attempt, and for a whole request.
class Timeouts {
 public:
  Timeouts(RunState& state, ClientGroups& groups) : state_(state), groups_(groups) {}

  void add_sources();

  /// The attempt timeout, if there is one, runs from now.
  RETRYSIM_IN_LOOP void arm(ClientGroup& g, Request& r);
  RETRYSIM_IN_LOOP void disarm(ClientGroup& g, Request& r);
  void arm_deadline(ClientGroup& g, Request& r);
  void disarm_deadline(ClientGroup& g, Request& r);
  /// Arms the deadline of a call that inherits what remains of its caller's: `end`, or none if that
  /// is `Time::max()`. False if `end` has already passed.
  bool arm_deadline_at(ClientGroup& g, Request& r, Time end);

  /// Whether the request has a deadline at `t` or before.
  bool deadline_is_by(const ClientGroup& g, const Request& r, Time t) const {
    return g.timers.deadline_source != kNone && t >= deadline_of(g, r);
  }
  /// When the client of an attempt under way will stop waiting for it; `Time::max()`: never.
  Time end_of_wait(const Attempt& a) const;

  /// The request whose timer expires now: the first one of the group, or of all that vary.
  RETRYSIM_IN_LOOP Request& expired(ClientGroup& g);
  Request& expired_varying() { return state_.requests[RequestId(varying_.front())]; }
  /// The request of the group whose deadline passes now.
  Request& past_deadline(const ClientGroup& g) {
    return state_.requests[g.timers.deadlines.front()];
  }
  Request& past_callers_deadline() { return state_.requests[RequestId(of_callers_.front())]; }

  /// Keys of the next timeouts and deadlines.
  RETRYSIM_IN_LOOP kernel::EventKey next_timeout(GroupId group) const;
  kernel::EventKey next_varying_timeout() const { return varying_.head(); }
  kernel::EventKey next_deadline(GroupId group) const;
  kernel::EventKey next_callers_deadline() const { return of_callers_.head(); }

  std::uint64_t bytes() const {
    return varying_.bytes() + deadlines_.bytes() + of_callers_.bytes() + callers_deadlines_.bytes();
  }

 private:
  // Timers of clients whose timeout varies, or who have none.
  [[gnu::noinline]] void arm_other(ClientGroup& g, Request& r);
  [[gnu::noinline]] void disarm_other(ClientGroup& g, Request& r);
  /// When the timer of `r`, which will be the first one of its group, expires; null: there is none.
  [[gnu::always_inline]] inline kernel::EventKey look_ahead(const Request* r) const;
  auto deadline_link();
  auto position();
  auto callers_position();
  /// The deadline of a request in a group that has them.
  Time deadline_of(const ClientGroup& g, const Request& r) const {
    if (g.timers.deadlines_of_callers) return callers_deadlines_[r.id].at;
    return kernel::armed(deadlines_[r.id].key()).time;
  }

  /// A deadline that is what remains of the caller's.
  struct CallersDeadline {
    Time at;  // `Time::max()`: there is none
    std::uint32_t position = kernel::IndexedHeap::kNotInHeap;
  };

  RunState& state_;
  ClientGroups& groups_;
  ByRequest<kernel::LaneLink<RequestId>> deadlines_;  // of groups that have them
  kernel::IndexedHeap varying_;                       // by request
  std::uint32_t varying_source_ = kNone;
  ByRequest<CallersDeadline> callers_deadlines_;  // of groups that have them
  kernel::IndexedHeap of_callers_;                // the same by request
  std::uint32_t of_callers_source_ = kNone;
};

class Attempts;
class Effects;
class Network;
class Services;

/// What a client's retry strategy is told, and asked: that a request begins, that it has succeeded,
/// and how to go on when an attempt has failed. The rules themselves are in sim/retry.
class RetryDecisions {
 public:
  /// Sums over all retry quotas of one group, for the check at the end.
  struct TokenBooks {
    std::int64_t refunded = 0;    ///< by successes after retries
    std::int64_t refundable = 0;  ///< what the rules let those give back at most
  };
  /// What it keeps of the clients of one group.
  struct OfGroup {
    ByClient<std::unique_ptr<CustomStrategy>> strategies;  ///< the user's own, one a client
    ByClient<std::uint64_t> strategy_requests;             ///< their requests so far
    RetryRules rules_after_retries_end;  ///< from SimulationOptions::retries_until on: one attempt
    RetryRules rules_without_retry;  ///< of requests that `ClientGroup::may_repeat` refuses retries
    TokenBooks tokens;

    template <class Take>
    void take_memory(const ClientSpec& client, Take& take) {
      if (client.strategy) take(strategy_requests, client.count);
    }
  };

  RetryDecisions(RunState& state, ClientGroups& groups, Breakers& breakers)
      : state_(state), groups_(groups), breakers_(breakers) {}

  /// Takes the memory for all groups, and makes the custom strategies.
  void prepare();

  /// A request begins, of a group for which there is something to do then. The strategy may hold it
  /// back for the time that this returns.
  [[gnu::noinline]] Duration open(ClientGroup& g, Request& r);
  [[gnu::noinline]] void book_success(ClientGroup& g, Request& r);
  /// Whether that would change anything, where the group's strategy learns of successes.
  RETRYSIM_IN_LOOP bool learns_from_success(const ClientGroup& g, const Request& r) const;
  /// What follows a failed attempt: by rules, or by a custom strategy. `answer`: the number of what
  /// it has come to, after which not each request can be repeated (`failure` need not say it);
  /// none: a breaker has refused it.
  RETRYSIM_IN_LOOP RetryDecision decide(ClientGroup& g, Request& r, const Failure& failure,
                                        std::optional<std::uint16_t> answer);
  bool permit_hedge(ClientGroup& g, Request& r);

  std::uint64_t bytes() const { return request_numbers_.bytes(); }
  const TokenBooks& tokens(GroupId group) const { return by_group_[group].tokens; }

 private:
  RETRYSIM_IN_LOOP const RetryRules& rules_of(const ClientGroup& g) const;
  RETRYSIM_IN_LOOP RetryDecision decide_and_note(ClientGroup& g, Request& r,
                                                 const RetryRules& rules, const Failure& failure);
  RETRYSIM_IN_LOOP RetryDecision decide_by_rules(ClientGroup& g, Request& r,
                                                 const RetryRules& rules, const RetryState& state,
                                                 const Failure& failure);
  [[gnu::noinline]] RetryDecision decide_extras(ClientGroup& g, Request& r, Failure failure,
                                                std::optional<std::uint16_t> answer);
  RetryDecision ask_strategy(ClientGroup& g, Request& r, const Failure& failure);
  void book_success_of(ClientGroup& g, const Request& r);
  std::int32_t note_quota(const ClientGroup& g, const RetryState& state, std::int32_t before);

  RunState& state_;
  ClientGroups& groups_;
  Breakers& breakers_;
  ByGroup<OfGroup> by_group_;
  // By request of a group with custom strategies: its number at its client.
  ByRequest<std::uint64_t> request_numbers_;
};

/// Hedges: attempts that a client makes without waiting for the end of the one before.
class Hedging {
 public:
  explicit Hedging(RunState& state) : state_(state) {}

  /// An attempt of the request has been sent: when the next follows it.
  [[gnu::noinline]] void schedule(const ClientGroup& g, const Request& r);
  /// The request has ended.
  [[gnu::noinline]] void cancel(RequestId request);
  /// Whether the timer with this sequence number, which has expired, calls for a hedge still.
  bool is_due(const Request& r, std::uint64_t sequence) const;

  std::uint64_t bytes() const { return sequences_.bytes(); }

 private:
  RunState& state_;
  // By request: the sequence number of the timer that its next hedge waits for.
  ByRequest<std::uint64_t> sequences_;
};

/// A request as its client sees it, from submission to end. It goes through these steps, each of
/// which calls the next one or leaves it to an event:
///
///   submit -> begin -> begin_attempt (the gates, which not every group has) -> send -> Network
///   Network -> answered, or an event: time_out
///   -> succeed: finish; or fail (the retry strategy) -> back_off -> begin_attempt, or finish
///
/// The helpers between two steps (gates, timeouts, decisions, workload) return the next step; only
/// this class takes it.
class Clients {
 public:
  Clients(RunState& state, Agenda& agenda, Network& network, Services& services, Effects& effects,
          Attempts& attempts)
      : state_(state),
        network_(network),
        services_(services),
        effects_(effects),
        attempts_(attempts),
        timeouts_(state, groups_),
        gate_(state, groups_, timeouts_),
        connections_(state, groups_, agenda),
        breakers_(state, groups_),
        decisions_(state, groups_, breakers_),
        hedging_(state),
        loops_(state, groups_),
        jobs_(state, groups_) {}
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  /// Makes the groups. The services are known.
  void prepare();
  /// Adds the sources of the open arrival processes; those of all timers that can be cancelled.
  void add_arrival_sources();
  void add_timeout_sources();
  /// The first arrivals of open processes; the first think times of closed loops.
  void offer_arrivals();
  /// The run takes another branch now, whose random numbers the streams already have.
  void branch();
  void start_loops() { loops_.start(); }

  /// A service calls another: `call` is told back when the request has ended
  /// (`Services::call_ended`). The calls belong to the cohort if the attempt does that makes them.
  [[gnu::noinline]] void submit_call(GroupId group, ClientId client, std::uint64_t entity,
                                     CallId call, bool in_cohort);
  /// The client has its answer, for which it has waited. The last step of an event, or of the
  /// agenda.
  RETRYSIM_IN_LOOP void answered(Attempt& a);
  /// The client has an answer other than a success.
  RETRYSIM_IN_LOOP void answered_with_error(Attempt& a);
  /// A request that waited for a connection has got one, and goes on.
  void connected(RequestId request);
  /// When the client of an attempt under way will stop waiting for it; `Time::max()`: never.
  Time end_of_wait(const Attempt& a) const { return timeouts_.end_of_wait(a); }

  // The events.
  void next_arrival(ClientGroup& g);
  [[gnu::noinline]] void timer_due();
  void attempt_times_out(GroupId group);
  void attempt_times_out_varying();
  void deadline_passes(GroupId group);
  void callers_deadline_passes();
  void send_token_due(GroupId group);
  void connection_wait_ends();
  /// When the next one of a source is due whose timers may have been cancelled.
  RETRYSIM_IN_LOOP kernel::EventKey next_timeout(GroupId group) const;
  kernel::EventKey next_varying_timeout() const { return timeouts_.next_varying_timeout(); }
  kernel::EventKey next_deadline(GroupId group) const { return timeouts_.next_deadline(group); }
  kernel::EventKey next_callers_deadline() const { return timeouts_.next_callers_deadline(); }
  kernel::EventKey next_send_token(GroupId group) const { return gate_.next_wake(group); }
  kernel::EventKey next_end_of_connection_wait() const { return connections_.next_end_of_wait(); }

  /// At the end of the run: requests and jobs that are still open are unfinished.
  void close();

  // For limits and books.
  const ClientGroups& groups() const { return groups_; }
  const RetryDecisions& decisions() const { return decisions_; }
  const Breakers& breakers() const { return breakers_; }
  bool jobs_are_open() const { return jobs_.are_open(); }
  std::uint64_t submitted() const { return submitted_; }
  std::uint64_t ended() const { return ended_; }
  std::uint64_t bytes() const {
    return timeouts_.bytes() + hedging_.bytes() + decisions_.bytes() + jobs_.bytes() +
           callers_.bytes() + breakers_.bytes() + connections_.bytes() + unsent_.bytes();
  }

 private:
  void submit(ClientGroup& g, ClientId client, std::uint64_t entity);
  [[gnu::noinline]] void take_over(ClientGroup& g, const Request& r, const Attempt& caller);
  RETRYSIM_IN_LOOP Request& new_request(ClientGroup& g, ClientId client, std::uint64_t entity);
  RETRYSIM_IN_LOOP void begin(ClientGroup& g, Request& r);
  [[gnu::noinline]] bool begin_extras(ClientGroup& g, Request& r);

  RETRYSIM_IN_LOOP void begin_attempt(ClientGroup& g, Request& r);
  [[gnu::noinline]] bool pass_gates(ClientGroup& g, Request& r);
  [[gnu::noinline]] bool enter(ClientGroup& g, Request& r);
  [[gnu::noinline]] bool passes(ClientGroup& g, Request& r, GateResult result);
  [[gnu::noinline]] void refuse(ClientGroup& g, Request& r);
  [[gnu::noinline]] void not_sent(ClientGroup& g, Request& r, GateResult why);
  /// How many attempts of the request have been sent.
  std::uint32_t sent_attempts(const ClientGroup& g, const Request& r) const {
    return g.may_not_send ? sent_of(r) : r.progress.attempts;
  }
  /// `sent_attempts` in a group that may not send an attempt.
  [[gnu::noinline]] std::uint32_t sent_of(const Request& r) const;
  void go_on(ClientGroup& g, Request& r);
  RETRYSIM_IN_LOOP void send(ClientGroup& g, Request& r);
  [[gnu::noinline]] void prepare_extras(ClientGroup& g, Request& r, Attempt& a);
  [[gnu::always_inline]] inline void prefetch_for(const kernel::TimerEntry& timer) const;
  [[gnu::noinline]] void check_due(ClientGroup& g, std::uint32_t job);
  [[gnu::noinline]] void send_wait_over(ClientGroup& g, Request& r);
  [[gnu::noinline]] void hedge_due(ClientGroup& g, Request& r, std::uint64_t sequence);

  RETRYSIM_IN_LOOP void succeed(ClientGroup& g, Request& r, Attempt& a);
  // `answered_with_error`, kept out of the steps of a success. As one function for both callers it
  // costs an overload 5.0 %.
  [[gnu::noinline]] void answered_with_error_apart(Attempt& a);
  RETRYSIM_IN_LOOP void end_attempt(ClientGroup& g, Request& r, Attempt& a, ResponseClass answer);
  [[gnu::noinline]] void end_connection(ClientGroup& g, const Request& r, const Attempt& a,
                                        ResponseClass answer);
  void forget(Request& r, const Attempt& a);
  [[gnu::noinline]] void forget_later(const Request& r, const Attempt& a);
  void time_out(ClientGroup& g, Request& r);
  void pass_deadline(ClientGroup& g, Request& r);
  Time end_of_caller(const Request& r) const;
  [[gnu::noinline]] void give_up(ClientGroup& g, Request& r, AttemptResult result);

  RETRYSIM_IN_LOOP void fail(ClientGroup& g, Request& r, std::uint16_t answer,
                             const Failure& failure);
  RETRYSIM_IN_LOOP void retry(ClientGroup& g, Request& r, const RetryDecision& decision);
  RETRYSIM_IN_LOOP void back_off(ClientGroup& g, Request& r, Duration delay,
                                 EventKind then = EventKind::kBackoffEnd);
  RETRYSIM_IN_LOOP void backoff_over(ClientGroup& g, Request& r, EventKind then);
  void finish(ClientGroup& g, Request& r, Outcome outcome);
  [[gnu::noinline]] void end_extras(ClientGroup& g, Request& r, Outcome outcome);
  [[gnu::noinline]] void report_end(ClientGroup& g, RequestId request, Outcome outcome);

  RunState& state_;
  Network& network_;
  Services& services_;
  Effects& effects_;
  Attempts& attempts_;
  ClientGroups groups_;
  Timeouts timeouts_;
  SendGate gate_;
  Connections connections_;
  Breakers breakers_;
  RetryDecisions decisions_;
  Hedging hedging_;
  ClosedLoop loops_;
  Jobs jobs_;
  ByRequest<CallId> callers_;        // of the groups of services that call others
  ByRequest<std::uint32_t> unsent_;  // attempts, of groups that may not send one
  std::uint64_t submitted_ = 0, ended_ = 0;
};

}  // namespace retrysim::model

// What clients do: a request from its submission to its end, what the retry strategy is asked on
// the way, and hedges.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "model/client/group.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/service/instance.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

/// A request from its submission to its end, as its application sees it.
class ClientRequests {
 public:
  ClientRequests(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// Adds the sources of the open arrival processes.
  void add_sources();
  /// The next request of an open arrival process, or its next job.
  void next_arrival(ClientGroup& g);
  /// `caller`: the attempt that a service's own client is to call for; none for others.
  void submit(ClientGroup& g, ClientId client, std::uint64_t entity, AttemptId caller = {});
  /// The next attempt is to be made now, if it passes the gates.
  [[gnu::noinline]] void begin_attempt(ClientGroup& g, Request& r);
  /// The same, compiled into the step that ends nearly every backoff.
  RETRYSIM_IN_LOOP void begin_attempt_here(ClientGroup& g, Request& r);
  void finish(ClientGroup& g, Request& r, Outcome outcome);
  /// The same, compiled into the step that ends nearly every request.
  RETRYSIM_IN_LOOP void finish_here(ClientGroup& g, Request& r, Outcome outcome);
  /// Requests that are still open at the end of the run are unfinished.
  void close();

  std::uint64_t submitted() const { return submitted_; }
  std::uint64_t ended() const { return ended_; }

 private:
  [[gnu::noinline]] bool begin_in_steps(ClientGroup& g, Request& r);
  [[gnu::noinline]] void end_in_steps(ClientGroup& g, Request& r, Outcome outcome);

  RunState& state_;
  Parts& parts_;
  std::uint64_t submitted_ = 0, ended_ = 0;
};

/// What a client's retry strategy is told, and asked: that a request begins, that it has succeeded,
/// and what follows when an attempt has failed. The rules themselves are in sim/retry.
class RetryDecisions {
 public:
  /// Of all retry quotas of one group, for the check at the end.
  struct TokenBooks {
    std::int64_t refunded = 0;    ///< by successes after retries
    std::int64_t refundable = 0;  ///< what the rules let those give back at most
  };
  /// What it keeps of the clients of one group.
  struct Clients {
    ByClient<std::unique_ptr<CustomStrategy>> strategies;  ///< the user's own, one a client
    ByClient<std::uint64_t> strategy_requests;             ///< their requests so far
    RetryRules last_rules;  ///< from SimulationOptions::retries_until on: one attempt
    TokenBooks tokens;

    template <class Take>
    void take_memory(const ClientSpec& client, Take& take) {
      if (client.strategy) take(strategy_requests, client.count);
    }
  };

  RetryDecisions(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// Takes the memory for all groups, and makes the strategies of the user's own.
  void prepare();

  /// A request begins, of a group for which there is something to do then. False if it is held
  /// back.
  [[gnu::noinline]] bool open(ClientGroup& g, Request& r);
  [[gnu::noinline]] void book_success(ClientGroup& g, Request& r);
  /// Whether that would change anything, where the group's strategy learns of successes.
  bool learns_from_success(const ClientGroup& g, const Request& r) const {
    if (!g.has_only_quotas) return true;
    const std::vector<RetryQuota>& quotas = g.states->quotas();
    const RetryQuota& quota = quotas[quotas.size() == 1 ? 0 : std::size_t{r.client}];
    return quota.available != g.spec->retry.quota.capacity;
  }
  /// Decides what follows a failed attempt.
  [[gnu::noinline]] void fail(ClientGroup& g, Request& r, const Failure& failure);
  /// The same, compiled into the steps that most often call for it.
  RETRYSIM_IN_LOOP void fail_here(ClientGroup& g, Request& r, const Failure& failure);
  /// Whether its body could be sent again.
  bool can_be_repeated(const ClientGroup& g, const Request& r) const {
    if (g.spec->unrepeatable <= 0) [[likely]]
      return true;
    Draws draws(*g.key, {r.entity, 0, 0, Purpose::kBody});
    return draws.uniform() >= g.spec->unrepeatable;
  }
  bool permit_hedge(ClientGroup& g, Request& r);
  /// Waits; `then`: kBackoffEnd, or kErrorReturned if the request fails at the end of the wait.
  RETRYSIM_IN_LOOP void back_off(ClientGroup& g, Request& r, Duration delay,
                                 EventKind then = EventKind::kBackoffEnd);
  RETRYSIM_IN_LOOP void backoff_over(ClientGroup& g, Request& r, EventKind then);

  const TokenBooks& tokens(GroupId group) const { return clients_[group].tokens; }

 private:
  RetryState state_of(ClientGroup& g, const Request& r);
  // What the strategy says about a failed attempt: by rules, or of the user's own.
  RETRYSIM_IN_LOOP RetryDecision decide(ClientGroup& g, Request& r, const Failure& failure);
  RETRYSIM_IN_LOOP RetryDecision decide_by_rules(ClientGroup& g, Request& r,
                                                 const RetryState& state, const Failure& failure);
  [[gnu::noinline]] RetryDecision ask_strategy(ClientGroup& g, Request& r, const Failure& failure);
  std::int32_t note_quota(const ClientGroup& g, const RetryState& state, std::int32_t before);

  RunState& state_;
  Parts& parts_;
  ByGroup<Clients> clients_;
  // By request of a group with the user's own strategies: its number at its client.
  ByRequest<std::uint64_t> request_numbers_;
};

/// Hedges: attempts that a client makes without waiting for the end of the one before.
class Hedging {
 public:
  Hedging(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// An attempt of the request has been sent: when the next follows it.
  [[gnu::noinline]] void schedule(ClientGroup& g, Request& r);
  /// The request has ended.
  [[gnu::noinline]] void cancel(RequestId request);
  /// The timer with this sequence number has expired.
  [[gnu::noinline]] void due(ClientGroup& g, Request& r, std::uint64_t sequence);

  std::uint64_t bytes() const { return kernel::bytes_of(sequences_); }

 private:
  RunState& state_;
  Parts& parts_;
  // By request: the sequence number of the timer that its next hedge waits for.
  ByRequest<std::uint64_t> sequences_;
};

/// How an attempt ends for its client: with an answer, or because the client stops waiting. And how
/// it ends at all: an attempt given up may be served all the same.
class Delivery {
 public:
  Delivery(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// The client has its answer, unless it has stopped waiting.
  void deliver(Attempt& a);
  /// The same, compiled into the step that ends nearly every attempt.
  RETRYSIM_IN_LOOP void deliver_here(Attempt& a);
  /// The same, compiled into the step that delivers nearly every refusal.
  RETRYSIM_IN_LOOP void deliver_put_down(Attempt& a);
  /// The client stops waiting for all that is under way; the service may go on with it.
  [[gnu::noinline]] void give_up(ClientGroup& g, Request& r, AttemptResult result);
  /// The same, compiled into the step that most often calls for it.
  RETRYSIM_IN_LOOP void give_up_here(ClientGroup& g, Request& r, AttemptResult result);
  /// The service's side of an attempt has ended, and no answer is on its way.
  void discard(Attempt& a);
  /// The attempt is no more.
  void release(Attempt& a);

 private:
  [[gnu::noinline]] void deliver_unawaited(Attempt& a);
  RETRYSIM_IN_LOOP void deliver_success(ClientGroup& g, Request& r, Attempt& a);
  [[gnu::noinline]] void deliver_failure(ClientGroup& g, Request& r, Attempt& a);
  RETRYSIM_IN_LOOP void deliver_failure_here(ClientGroup& g, Request& r, Attempt& a);
  RETRYSIM_IN_LOOP void end_attempt(ClientGroup& g, Request& r, Attempt& a, ResponseClass answer);
  RETRYSIM_IN_LOOP void release_here(Attempt& a);
  [[gnu::noinline]] void next_call(Attempt& a);
  RETRYSIM_IN_LOOP bool give_up_attempt(ClientGroup& g, Request& r, Attempt& a,
                                        AttemptResult result);
  [[gnu::noinline]] void end_connection(ClientGroup& g, const Request& r, const Attempt& a,
                                        ResponseClass answer);
  void forget(Request& r, const Attempt& a);
  [[gnu::noinline]] void forget_later(const Request& r, const Attempt& a);

  RunState& state_;
  Parts& parts_;
  std::vector<Service*> freed_;  // instances with servers that have just been set free
};

}  // namespace retrysim::model

// What a client's retry strategy is told, and asked: that a request begins, that it has succeeded,
// and what follows when an attempt has failed. The rules themselves are in sim/retry.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>

#include "model/client_group.hpp"
#include "model/event_loop.hpp"
#include "model/events.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

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

}  // namespace retrysim::model

// The circuit breakers of clients: which one a request asks, what it holds of its permit, and what
// the breaker is told in the end.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/breaker.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/memory.hpp"
#include "model/client/group.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

/// With `BreakerOrder::kRetryOutside` an attempt asks before all other gates, so that one that is
/// refused takes no send token and no connection; its permit is pending until it is sent, and then
/// its own. With `kBreakerOutside` the permit is the request's until that ends. Each permit that is
/// given comes back once: with a result, or without one if nobody saw how the call would have
/// ended.
///
/// With `BreakerScope::kHost` the instance is known before: the one that the balancer names
/// (`aim`). What the attempt does until it is sent, such as waiting for a connection, changes
/// nothing about that.
class Breakers {
 public:
  Breakers(RunState& state, ClientGroups& groups) : state_(state), groups_(groups) {}

  /// Takes the memory for all groups.
  void prepare();
  /// The memory of a group's breakers.
  static std::uint64_t bytes_of(const Scenario& scenario, const ClientSpec& client);

  /// A request of a group with breakers begins.
  void begin(const Request& r);
  /// Where its next attempt would go (`kHost`), and what it was told so last.
  void aim(const Request& r, InstanceId host) { held_[r.id].host = host; }
  InstanceId host(const Request& r) const { return held_[r.id].host; }
  /// Whether its next attempt, or the whole request, may go.
  bool ask(ClientGroup& g, const Request& r);
  /// The attempt that has asked is sent; it is not sent after all.
  void sent(const Request& r, const Attempt& a);
  void release_pending(ClientGroup& g, const Request& r);
  /// An attempt has failed unsent, with an error of this class, in no time.
  void not_sent(ClientGroup& g, const Request& r, ResponseClass error);
  /// An attempt has its answer, of this class; its client has stopped waiting for it.
  void ended(ClientGroup& g, const Request& r, const Attempt& a, ResponseClass answer);
  void gave_up(ClientGroup& g, const Request& r, const Attempt& a, AttemptResult result);
  /// A request has ended: what it holds comes back.
  void end(ClientGroup& g, const Request& r, Outcome outcome);

  /// Its latest try has failed. Returns `refusals`.
  std::uint32_t note_failure(const Request& r, const Failure& failure);
  /// How many of its tries a breaker has refused.
  std::uint32_t refusals(const Request& r) const { return held_[r.id].refusals; }

  // For limits and books.
  std::int64_t open_now(GroupId group) const;
  std::uint64_t bytes() const { return held_.bytes() + eras_.bytes(); }

 private:
  /// What a request of a group with breakers holds.
  struct Held {
    std::uint32_t era = 0;  // of its permit
    bool pending = false;   // there is one
    InstanceId host;        // whose breaker gave it
    ResponseClass last_failure = ResponseClass::kTransient;
    std::uint32_t refusals = 0;
  };
  /// The breakers of a group.
  struct OfGroup {
    std::vector<Breaker> all;  // client by client
    // By service, if a client has several: where those for it begin among the client's own.
    ByService<std::uint32_t> begin;
    std::uint32_t per_client = 1;
  };
  static OfGroup layout_of(const Scenario& scenario, const ClientSpec& client);
  template <class Take>
  static void take_memory(const Scenario& scenario, const ClientSpec& client, OfGroup& group,
                          Take& take);

  /// The one for a request's next attempt, or for one that goes to `host`.
  Breaker& of(const ClientGroup& g, const Request& r) { return of(g, r, held_[r.id].host); }
  Breaker& of(const ClientGroup& g, const Request& r, InstanceId host);
  void record(ClientGroup& g, Breaker& breaker, std::uint32_t era, ResponseClass result,
              Duration length);

  RunState& state_;
  ClientGroups& groups_;
  ByGroup<OfGroup> by_group_;
  ByRequest<Held> held_;
  ByAttempt<std::uint32_t> eras_;  // of the permits of attempts under way
};

}  // namespace retrysim::model

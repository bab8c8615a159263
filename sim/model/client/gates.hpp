// The gates that an attempt passes at its client before it is sent: the client-side throttle, a
// send token, a connection.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/indexed_heap.hpp"
#include "kernel/memory.hpp"
#include "model/client/group.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

class Timeouts;

/// A queue of requests that wait at their client, first come first served.
struct Waiters {
  RequestId first, last;

  void join(Request& r, IndexedBy<RequestId, kernel::LinkedPool<Request>>& requests) {
    r.waiting.previous = last;
    r.waiting.next = {};
    (last.exists() ? requests[last].waiting.next : first) = r.id;
    last = r.id;
  }
  void leave(const Request& r, IndexedBy<RequestId, kernel::LinkedPool<Request>>& requests) {
    (r.waiting.previous.exists() ? requests[r.waiting.previous].waiting.next : first) =
        r.waiting.next;
    (r.waiting.next.exists() ? requests[r.waiting.next].waiting.previous : last) =
        r.waiting.previous;
  }
};

/// The answer to an attempt that asks to be sent.
enum class GateResult : std::uint8_t {
  kGoes,
  kWaits,    ///< or was to be a hedge, which does not wait and is not made
  kNotSent,  ///< no send token: its request ends
  kTooLate,  ///< it would wait beyond its deadline: its request ends
};

/// What stands between the decision to make an attempt and its send: the client-side throttle, and
/// the send token of adaptive mode. (A connection comes after them: `Connections`.) Off the path
/// of most events, and kept out of the functions that are compiled into one.
class SendGate {
 public:
  struct Queue : Waiters {  ///< for a send token
    std::uint32_t wake_position = kNone;
  };
  /// The queues of one group in adaptive mode, or of all groups whose limiters it holds.
  struct Queues {
    std::vector<Queue> of_limiters;
    kernel::IndexedHeap wakes;  ///< by limiter: when its first waiter can have a token
    std::uint32_t source = kNone;

    template <class Take>
    void take_memory(std::size_t limiters, Take& take) {
      take(of_limiters, limiters);
    }
  };

  SendGate(RunState& state, ClientGroups& groups, const Timeouts& timeouts)
      : state_(state), groups_(groups), timeouts_(timeouts) {}

  /// Takes the memory for all groups, and adds their sources.
  void prepare();
  [[gnu::noinline]] GateResult pass(ClientGroup& g, Request& r);
  /// The client is going to make a request soon: fetches its limiter and queue from memory.
  [[gnu::always_inline]] void expect(const ClientGroup& g, ClientId client) const {
    if (!g.states->limit_send_rate() || g.keeps_states_apart) return;
    const std::size_t number = g.states->limiter_of(client);
    kernel::prefetch(g.states->limiter(number));
    kernel::prefetch(queues_[g.holder].of_limiters[number]);
  }
  /// Takes the send tokens that the request needs.
  [[gnu::noinline]] GateResult take_tokens(ClientGroup& g, Request& r);
  /// Waits for a time that is fixed when the wait begins.
  [[gnu::noinline]] GateResult wait_once(ClientGroup& g, Request& r, Duration time);
  /// That time is over.
  [[gnu::noinline]] GateResult wait_over(ClientGroup& g, Request& r);
  /// The deadline has passed meanwhile.
  void leave_queue(ClientGroup& g, Request& r);
  /// The limiter that the request uses may have changed its rate.
  [[gnu::noinline]] void limiter_changed(ClientGroup& g, const Request& r) {
    if (!g.states->limit_send_rate()) return;
    const std::size_t limiter = g.limiter_of(r);
    if (queues_[g.holder].of_limiters[limiter].first.exists()) schedule_wake(g, limiter);
  }
  /// The first waiter that is due, at one of the limiters that the group holds, can have its
  /// tokens: the request goes on. Null if it has to wait a little longer.
  [[gnu::noinline]] Request* wake(ClientGroup& g);
  kernel::EventKey next_wake(GroupId group) const { return queues_[group].wakes.head(); }

 private:
  void join_queue(ClientGroup& g, Request& r);
  void schedule_wake(ClientGroup& g, std::size_t limiter);

  RunState& state_;
  ClientGroups& groups_;
  const Timeouts& timeouts_;
  ByGroup<Queues> queues_;
};

/// The connection pools of clients.
class Connections {
 public:
  /// The connections of one client, and the requests that wait for one.
  struct Pool : Waiters {
    std::uint32_t open = 0, idle = 0;
  };
  /// The pools of one group, if its connections are simulated.
  struct Pools {
    std::vector<Pool> of_clients;  ///< of a group that calls several services, one for each

    template <class Take>
    void take_memory(const Scenario& scenario, const ClientSpec& client, Take& take) {
      if (!are_simulated(scenario, client)) return;
      const std::size_t pools = calls_one_service(client) ? 1 : scenario.services.size();
      take(of_clients, client.count * pools);
    }
  };

  Connections(RunState& state, ClientGroups& groups, Agenda& agenda)
      : state_(state), groups_(groups), agenda_(agenda) {}

  /// Takes the memory for all groups.
  void prepare();

  static bool are_simulated(const Scenario& scenario, const ClientSpec& client) {
    return connections_take_time(scenario) || client.max_connections != ClientSpec::kUnlimited;
  }

  /// Takes an idle connection, or opens one. False if the request waits, in order, or was to be a
  /// hedge, which does not wait.
  bool take(ClientGroup& g, Request& r);
  /// The attempt that had the connection has ended. The first in line gets it, or a new one in its
  /// place, when the event is over.
  [[gnu::noinline]] void give_back(ClientGroup& g, const Request& of, bool reusable);
  /// The deadline has passed meanwhile.
  void leave_queue(ClientGroup& g, Request& r);

 private:
  Pool& pool_of(const ClientGroup& g, const Request& r);

  RunState& state_;
  ClientGroups& groups_;
  Agenda& agenda_;
  ByGroup<Pools> pools_;
};

}  // namespace retrysim::model

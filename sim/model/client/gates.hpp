// The gates that an attempt passes at its client before it is sent, in this order: the client-side
// throttle, a send token of adaptive mode, the client's limit on its send rate, a place in the
// bulkhead, a connection.
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
  // The attempt has failed unsent, and the retry strategy decides.
  kNotPermitted,
  kBulkheadFull,
  kNoConnection,
};

/// The tokens of a client's limit on its send rate.
struct SendPermits {
  double tokens = 0;  ///< at `since`; below zero: for so many attempts that wait
  Time since;

  /// How long an attempt would wait; zero: it goes.
  Duration wait(const SendRateSpec& rules, Time now) const;
  void take(const SendRateSpec& rules, Time now);

 private:
  double at(const SendRateSpec& rules, Time now) const;
};

/// What stands between the decision to make an attempt and its send: the client-side throttle, the
/// send token of adaptive mode, and the limit on the send rate. (`Connections` come after them.)
/// Off the path of most events, and kept out of the functions that are compiled into one.
class SendGate {
 public:
  struct Queue : Waiters {  ///< for a send token
    std::uint32_t wake_position = kNone;
  };
  /// The queues of one group in adaptive mode, or of all groups whose limiters it holds.
  struct Queues {
    std::vector<Queue> of_limiters;  ///< by place (`RetryStates::place_of_limiter`)
    kernel::IndexedHeap wakes;       ///< by limiter: when its first waiter can have a token
    std::uint32_t source = kNone;

    template <class Take>
    void take_memory(std::size_t limiters, Take& take) {
      take.room(of_limiters, limiters, limiters);
    }
  };

  /// The permits of one group that limits its send rate.
  struct Permits {
    std::vector<SendPermits> of_clients;

    template <class Take>
    void take_memory(const ClientSpec& client, Take& take) {
      if (client.send_rate.in_use()) take(of_clients, client.count);
    }
  };

  SendGate(RunState& state, ClientGroups& groups, const Timeouts& timeouts)
      : state_(state), groups_(groups), timeouts_(timeouts) {}

  /// Takes the memory for all groups, and adds their sources.
  void prepare();
  [[gnu::noinline]] GateResult pass(ClientGroup& g, Request& r);
  /// Takes the send tokens that the request needs.
  [[gnu::noinline]] GateResult take_tokens(ClientGroup& g, Request& r);
  /// The limit on the send rate: asked when all before it is passed, and again after the wait that
  /// it has asked for.
  [[gnu::noinline]] GateResult permit(ClientGroup& g, Request& r);
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
    if (has_waiters(g, limiter)) schedule_wake(g, limiter);
  }
  /// The first waiter that is due, at one of the limiters that the group holds, can have its
  /// tokens: the request goes on. Null if it has to wait a little longer.
  [[gnu::noinline]] Request* wake(ClientGroup& g);
  kernel::EventKey next_wake(GroupId group) const { return queues_[group].wakes.head(); }

 private:
  /// Whether requests wait for tokens of a limiter; none do before it is active.
  bool has_waiters(const ClientGroup& g, std::size_t limiter) {
    return g.states->limiter(limiter).enabled() && queue_of(g, limiter).first.exists();
  }
  Queue& queue_of(const ClientGroup& g, std::size_t limiter);
  void join_queue(ClientGroup& g, Request& r);
  void schedule_wake(ClientGroup& g, std::size_t limiter);

  RunState& state_;
  ClientGroups& groups_;
  const Timeouts& timeouts_;
  ByGroup<Queues> queues_;
  ByGroup<Permits> permits_;
};

/// What clients have under way at once: their bulkheads, and their pools of connections.
class Connections {
 public:
  /// The connections of one client, or its bulkhead, and the requests that wait.
  struct Pool : Waiters {
    std::uint32_t open = 0;  ///< in the bulkhead: attempts under way
    std::uint32_t idle = 0;
    std::uint32_t waiting = 0;
  };
  /// The pools of one group, if they are simulated.
  struct Pools {
    std::vector<Pool> of_clients;  ///< of a group that calls several services, one for each
    std::vector<Pool> bulkheads;   ///< by client

    template <class Take>
    void take_memory(const Scenario& scenario, const ClientSpec& client, Take& take) {
      if (client.bulkhead.in_use()) take(bulkheads, client.count);
      if (!are_simulated(scenario, client)) return;
      const std::size_t pools = calls_one_service(client) ? 1 : scenario.services.size();
      take(of_clients, client.count * pools);
    }
  };

  Connections(RunState& state, ClientGroups& groups, Agenda& agenda)
      : state_(state), groups_(groups), agenda_(agenda) {}

  /// Takes the memory for all groups; adds the source of waits that end, if any may.
  void prepare();
  void add_source();

  /// Whether those of a group are counted: they take time, or are limited.
  static bool are_simulated(const Scenario& scenario, const ClientSpec& client) {
    return connections_take_time(scenario) || client.max_connections != ClientSpec::kUnlimited;
  }

  /// Takes a place in the bulkhead, and then an idle connection, or opens one. A hedge that would
  /// have to wait is not made.
  GateResult take(ClientGroup& g, Request& r);
  /// Takes a connection for the request that has got a place in the bulkhead.
  GateResult take_connection(ClientGroup& g, Request& r);
  /// The attempt that had the connection, and a place, has ended. The first in line gets it, or a
  /// new one in its place, when the event is over.
  [[gnu::noinline]] void give_back(ClientGroup& g, const Request& of, bool reusable);
  /// The request has a place in the bulkhead and needs it no more.
  void leave_bulkhead(ClientGroup& g, const Request& of);
  /// The request waits no more, and gives back what it has got.
  void give_up_waiting(ClientGroup& g, Request& r);

  /// The request whose longest wait is over now, and when the next one's is.
  Request& longest_waiter() { return state_.requests[RequestId(ends_of_waits_.front())]; }
  kernel::EventKey next_end_of_wait() const { return ends_of_waits_.head(); }

  std::uint64_t bytes() const { return ends_of_waits_.bytes() + places_.bytes(); }

 private:
  struct HeapPlace {
    std::uint32_t position = kernel::IndexedHeap::kNotInHeap;
  };

  Pool& pool_of(const ClientGroup& g, const Request& r);
  GateResult wait(ClientGroup& g, Request& r, Pool& pool, Duration longest, std::uint32_t queue);
  void leave_queue(ClientGroup& g, Request& r);
  auto position();

  RunState& state_;
  ClientGroups& groups_;
  Agenda& agenda_;
  ByGroup<Pools> pools_;
  kernel::IndexedHeap ends_of_waits_;  // by request
  ByRequest<HeapPlace> places_;
  std::uint32_t source_ = kNone;
};

}  // namespace retrysim::model

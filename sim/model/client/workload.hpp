// Clients whose next request depends on how the last one ended: closed loops, and jobs that are
// polled for.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "model/client/group.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

/// Clients of closed loops: each thinks, makes a request, waits for its end, and thinks again.
class ClosedLoop {
 public:
  /// What it keeps of the clients of one group.
  struct OfGroup {
    ByClient<std::uint32_t> ordinals;  ///< requests submitted
    /// Think times begun; empty where a client makes one request at a time, and so has begun as
    /// many before each as it has submitted requests.
    ByClient<std::uint32_t> thinks;
    ByClient<Time> due;  ///< if `has_due_times`: when a client's next or present request is due

    template <class Take>
    void take_memory(const ClientSpec& client, Take& take) {
      if (client.arrivals.process != ArrivalProcess::kClosed) return;
      take(ordinals, client.count);
      if (client.arrivals.concurrency > 1) take(thinks, client.count);
      if (has_due_times(client)) take(due, client.count);
    }
  };

  ClosedLoop(RunState& state, ClientGroups& groups) : state_(state), groups_(groups) {}

  /// Takes the memory for all groups.
  void prepare();
  /// All clients begin to think: the groups in the order of their names.
  void start();
  /// A client thinks before its next request.
  void think(ClientGroup& g, ClientId client, Time last_submitted);
  /// ... and makes it: the name of the request.
  std::uint64_t next_request(const ClientGroup& g, ClientId client) {
    return client_entity(client, clients_[g.index].ordinals[client]++);
  }

  /// The client's think time is going to end soon.
  [[gnu::always_inline]] void prefetch_client(const ClientGroup& g, ClientId client) const {
    kernel::prefetch(clients_[g.index].ordinals[client]);
    g.prefetch_state_of(client);
  }

  /// When the request that the client has under way was due; null if its group has no such times.
  const Time* due_time(const ClientGroup& g, ClientId client) const {
    const ByClient<Time>& due = clients_[g.index].due;
    return due.empty() ? nullptr : &due[client];
  }

 private:
  RunState& state_;
  ClientGroups& groups_;
  ByGroup<OfGroup> clients_;
};

/// Jobs of groups whose clients poll for them (`Polling`): from the first check to the last.
class Jobs {
 public:
  Jobs(RunState& state, ClientGroups& groups) : state_(state), groups_(groups) {}

  /// A job begins; its first check is due after a pause.
  [[gnu::noinline]] void begin(ClientGroup& g, ClientId client, std::uint64_t entity);
  /// The request, which was a check, has ended: the job has, too, or there will be another check.
  [[gnu::noinline]] void check_ended(ClientGroup& g, RequestId request, Outcome outcome);
  bool are_open() const;
  std::uint64_t bytes() const;
  /// At the end of the run.
  void close();

 private:
  void schedule_check(ClientGroup& g, std::uint32_t job);

  RunState& state_;
  ClientGroups& groups_;
  std::uint64_t slots_ = 0;  // for jobs, of all groups
};

}  // namespace retrysim::model

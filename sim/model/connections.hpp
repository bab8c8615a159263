// The connection pools of clients, and the time that a new connection takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/client_group.hpp"
#include "model/waiters.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class Connections {
 public:
  /// Those of one client, and the requests that wait for one.
  struct Pool : Waiters {
    std::uint32_t open = 0, idle = 0;
  };
  /// Of one group, if its connections are simulated.
  struct Pools {
    std::vector<Pool> of_clients;  ///< of a group that calls several services, one for each

    template <class Take>
    void take_memory(const Scenario& scenario, const ClientSpec& client, Take& take) {
      if (!are_simulated(scenario, client)) return;
      const std::size_t pools = calls_one_service(client) ? 1 : scenario.services.size();
      take(of_clients, client.count * pools);
    }
  };

  Connections(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// Takes the memory for all groups.
  void prepare();

  static bool take_time(const Scenario& scenario);
  static bool are_simulated(const Scenario& scenario, const ClientSpec& client) {
    return take_time(scenario) || client.max_connections != ClientSpec::kUnlimited;
  }

  /// Takes an idle connection, or opens one. False if the request waits, in order, or was to be a
  /// hedge, which does not wait.
  bool take(ClientGroup& g, Request& r);
  /// The attempt that had the connection has ended.
  [[gnu::noinline]] void give_back(ClientGroup& g, const Request& of, bool reusable);
  /// The deadline has passed meanwhile.
  void leave_queue(ClientGroup& g, Request& r);
  /// A request that waited has got its connection, and goes on.
  void got_one(Request& r);
  /// The time that opening the attempt's connection takes.
  Duration setup_time(const Attempt& a) const;

 private:
  Pool& pool_of(const ClientGroup& g, const Request& r);

  RunState& state_;
  Parts& parts_;
  ByGroup<Pools> pools_;
};

}  // namespace retrysim::model

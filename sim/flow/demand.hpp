// The demand of a scenario, worked out from its keys: new requests per second, calls per request
// through every layer of services, and the work that all of them bring to each service. All code
// that needs "rate times service time" takes it from here. Faults and chance are left out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "flow/capacity.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::flow {

/// Which attempts count.
enum class Attempts : std::uint8_t {
  kFirst,  ///< every request makes one, and so does every call between services
  /// Also the retries after random errors, lost messages and failed calls, if servers are there for
  /// all.
  kNeeded,
  kMost,  ///< every request and every call makes all that it may
};

/// The demand of a client group, or of calls between services (ClientSpec::makes_calls).
struct GroupDemand {
  double requests = 0;  ///< requests per second; infinite for a closed loop without a pause
  double attempts = 1;  ///< per request; may be infinite
  double success = 1;   ///< share of requests that succeed (kNeeded; else 1)
};

struct ServiceDemand {
  double requests = 0;  ///< new requests and calls per second
  double attempts = 0;  ///< attempts that arrive per second
  /// Attempts per second that take a server: the throttle lets them pass, and no random error of
  /// `model = "queue"` answers them at once.
  double served = 0;
  double own_time = 0;    ///< mean service time of such an attempt, s
  double calls_time = 0;  ///< time that such an attempt waits for its calls, at idle services, s
  double held_time =
      0;                ///< time that it keeps its server: with the calls, if it has one of its own
  double work = 0;      ///< servers kept busy by them; refusals of the throttle may add to it
  double capacity = 0;  ///< number of servers; infinite: no limit

  double load() const { return capacity == kNoLimit ? 0 : work / capacity; }
  /// The largest number of attempts that its servers finish per second.
  double throughput() const { return held_time > 0 ? capacity / held_time : kNoLimit; }
};

struct Demand {
  std::vector<GroupDemand> groups;      ///< one for each of Scenario::clients
  std::vector<ServiceDemand> services;  ///< one for each of Scenario::services
};

struct DemandOptions {
  bool surges = false;      ///< whether surges count in the mean rates
  bool loops_wait = false;  ///< whether closed loops ask for no more than servers can serve
};

/// Computes the demand. Services that cannot serve all that is asked of them call others no more
/// often than they finish attempts. Left out: waiting, quotas and limiters that depend on it,
/// hedging, conflicts of `model = "occ"`, limits of single operations and keys, reads before
/// retries.
Demand demand_of(const Scenario& scenario, Attempts attempts, const DemandOptions& options = {});

/// For each group of calls, its requests per attempt at the calling service, while no call fails; 0
/// for groups outside and for fallbacks. Where calls go by operation, the mix of operations at a
/// service is taken from the rates of the groups outside.
std::vector<double> calls_per_attempt(const Scenario& scenario);

/// Seconds of a server that an attempt of the group takes at `service` if it goes there and is
/// served: the mean over its operations, both passes of `model = "occ"`.
double service_seconds_at(const Scenario& scenario, const ClientSpec& client, std::size_t service);
/// `service_seconds_at` of any attempt: random errors that cost nothing count as 0.
double seconds_at(const Scenario& scenario, const ClientSpec& client, std::size_t service);
/// `seconds_at` with the calls that the server waits for, at idle services.
double held_seconds_at(const Scenario& scenario, const Demand& demand, const ClientSpec& client,
                       std::size_t service);
/// Attempts per second that `servers` servers can answer, random errors that cost nothing among
/// them; infinite if an attempt takes no time.
double answerable_rate(const Scenario& scenario, std::size_t service, double servers);

}  // namespace retrysim::flow

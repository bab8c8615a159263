// The demand of a scenario, worked out from its keys: new requests per second, calls per request
// through every layer of services, and the work that all of them bring to each service. All code
// that needs "rate times service time" takes it from here. Faults and chance are left out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Which attempts count.
enum class Attempts : std::uint8_t {
  kFirst,   ///< every request makes one, and so does every call between services
  kNeeded,  ///< those after random errors, lost messages and failed calls as well, while servers
            ///< are there for all
  kMost,    ///< every request and every call makes all that it may
};

/// The demand of a client group, or of calls between services (ClientSpec::makes_calls).
struct GroupDemand {
  double requests = 0;  ///< per second; infinite for a closed loop without a pause
  double attempts = 1;  ///< per request; may be infinite
  double success = 1;   ///< share of requests that succeed (kNeeded; else 1)
};

struct ServiceDemand {
  double requests = 0;  ///< new requests and calls per second
  double attempts = 0;  ///< that arrive per second
  double served = 0;    ///< of those, the ones that take a server: no random error of
                        ///< `model = "queue"` answers them at once, and the throttle lets them pass
  double own_time = 0;  ///< of one of these, the mean service time, s
  double calls_time = 0;  ///< that such an attempt waits for its calls, at idle services, s
  double held_time = 0;  ///< how long it keeps its server: with the calls, if it has one of its own
  double work = 0;       ///< servers that they keep busy; what the throttle refuses may add to it
  double capacity = 0;   ///< servers; infinite: no limit

  double load() const { return capacity == kNoLimit ? 0 : work / capacity; }
  /// Attempts that its servers finish per second at most.
  double throughput() const { return held_time > 0 ? capacity / held_time : kNoLimit; }
};

struct Demand {
  std::vector<GroupDemand> groups;      ///< one for each of Scenario::clients
  std::vector<ServiceDemand> services;  ///< one for each of Scenario::services
};

struct DemandOptions {
  bool surges = false;      ///< they count in the mean rates
  bool loops_wait = false;  ///< closed loops ask for no more than servers can serve
};

/// Services that cannot serve all that is asked of them call others no more often than they finish
/// attempts. Left out: waiting, quotas and limiters that depend on it, hedging, conflicts of
/// `model = "occ"`, limits of single operations and keys, reads before retries.
Demand demand_of(const Scenario& scenario, Attempts attempts, const DemandOptions& options = {});

/// New requests of an open group per second, on average over the duration; 0 for closed loops and
/// for calls between services. Each check of a polling job is a request.
double mean_request_rate(const Scenario& scenario, const ClientSpec& client, bool surges = false);
/// Polling: jobs per second.
double mean_job_rate(const Scenario& scenario, const ClientSpec& client, bool surges = false);

/// Requests (of a polling group: jobs) of an open group that are due between `warmup` and
/// `duration`, on average and with surges; 0 for closed loops and for calls between services.
double due_in_window(const Scenario& scenario, const ClientSpec& client);

/// Attempts that a request of the group may make, if nothing but its rules limits them; infinite:
/// no limit. Those of calls that are not made for a retry (`RetryOnlyAt::kFirstAttempt`).
double most_attempts(const ClientSpec& client);

/// Servers of all instances; infinite: unlimited.
double servers_of(const ServiceSpec& service);
/// The share of server time that random errors save: all of it where they are answered on arrival.
double free_error_share(const ServiceSpec& service);
/// Seconds of a server that an attempt of the group takes at `service` if it goes there: the mean
/// over its operations, both passes of `model = "occ"`, random errors that cost nothing left out.
double seconds_at(const Scenario& scenario, const ClientSpec& client, std::size_t service);
/// The same of an attempt that is served.
double service_seconds_at(const Scenario& scenario, const ClientSpec& client, std::size_t service);
/// `seconds_at` with the calls that the server waits for, at idle services.
double held_seconds_at(const Scenario& scenario, const Demand& demand, const ClientSpec& client,
                       std::size_t service);
/// Attempts per second, random errors that cost nothing among them, that so many servers can
/// answer; infinite if an attempt takes no time.
double answerable_rate(const Scenario& scenario, std::size_t service, double servers);
/// Attempts per second that may pass the throttle of a service, of all its clients together;
/// infinite if nothing limits them, or single operations or keys have limits.
double granted_rate(const Scenario& scenario, std::size_t service);
/// Whether another service calls this one, and nothing else does.
bool is_called_by_services_only(const Scenario& scenario, std::size_t service);

/// The table of a group in the scenario: "client.web", "service.front.calls.db".
std::string path_of(const ClientSpec& client);

// --- Times ---------------------------------------------------------------------------------------

/// Longest backoff that one retry can have: of the constants, or the mean where `delays` or a
/// distribution has no bound.
Duration longest_backoff(const RetryRules& rules);

/// How long it may take until a client that got no answer sends its next attempt: the longest
/// attempt timeout plus the longest backoff, of all groups. A backoff without a cap counts as
/// before the 10th attempt, and as five minutes at most. A system whose goodput has been back for
/// less than this may not have met the retries yet.
Duration longest_pause(const Scenario& scenario);

/// `recovery.hold` where it is not given: that, and at least 30 s.
Duration default_hold(const Scenario& scenario);

// --- Calls between services ----------------------------------------------------------------------

/// Who calls whom: an index of `Scenario::calls`. Keeps nothing of the scenario.
class CallGraph {
 public:
  /// Throws std::invalid_argument if a call names a service, a group or a fallback that there is
  /// not, if a group that makes calls does not make those of exactly one service, and if the rules
  /// of `CallSpec` are broken.
  explicit CallGraph(const Scenario& scenario);

  /// The calls of a service in their order, as indices into `Scenario::calls`.
  std::span<const std::size_t> calls_of(std::size_t service) const { return calls_[service]; }
  /// The client groups by which it makes them, each once.
  std::span<const std::size_t> groups_of(std::size_t service) const { return groups_[service]; }
  /// The service whose calls a group makes; none for groups outside.
  std::optional<std::size_t> caller_of(std::size_t group) const { return callers_[group]; }
  /// The stages in which a service makes its calls, in order: each is a list of calls, sorted by
  /// the names of their groups. Fallbacks are in no stage.
  std::span<const std::vector<std::size_t>> stages_of(std::size_t service) const {
    return stages_[service];
  }
  /// The call that is made if this one fails.
  std::optional<std::size_t> fallback_of(std::size_t call) const { return fallbacks_[call]; }

 private:
  void find_fallbacks(const Scenario& scenario, std::size_t service);
  void find_stages(const Scenario& scenario, std::size_t service);

  std::vector<std::vector<std::size_t>> calls_, groups_;       // of a service
  std::vector<std::vector<std::vector<std::size_t>>> stages_;  // of a service
  std::vector<std::optional<std::size_t>> callers_;            // of a group
  std::vector<std::optional<std::size_t>> fallbacks_;          // of a call
};

/// Requests of each group for one attempt whose service makes calls, while none fails; 0 for groups
/// outside and for fallbacks. Where calls go by operation, the mix of operations at a service is
/// taken from the rates of the groups outside.
std::vector<double> calls_per_attempt(const Scenario& scenario);

/// How many keys attempts at each service may ask for.
std::vector<std::uint32_t> keys_at(const Scenario& scenario);

/// The names of the operations that requests at each service may have.
std::vector<std::set<std::string_view>> operations_at(const Scenario& scenario);

/// Whether a call is a single request for every attempt, which fails with it (unless it is the
/// fallback of another one).
bool is_plain(const CallSpec& call);

/// Whether a service calls others.
bool calls_others(const Scenario& scenario, std::size_t service);

/// The services in an order in which those that call others come before these.
std::vector<std::size_t> callers_first(const Scenario& scenario);

// --- Consistency ---------------------------------------------------------------------------------

// Questions about the finished scenario that its parts cannot answer alone.

/// The services, by index and in the order of the calls, of a circle in which services call each
/// other; empty if there is none.
std::vector<std::size_t> circle_of_calls(const Scenario& scenario);

/// The parts of the scenario that can lose a message of `client` without an answer, as text for an
/// error; empty if nothing can. Its service and the faults must have been resolved.
std::string cause_of_lost_messages(const Scenario& scenario, const ClientSpec& client);

}  // namespace retrysim::scenario

// Who calls whom: the services that requests go to, the calls that services make for them, and what
// these calls pass on. Everything here follows from the scenario alone, without rates. The services
// of a single client group are in the public interface (`service_shares` and its neighbours in
// scenario.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim::flow {

/// An index of `Scenario::calls`. Keeps nothing of the scenario.
class CallGraph {
 public:
  /// Throws std::invalid_argument if a call names a service, a group or a fallback that does not
  /// exist, if a group that makes calls does not make those of exactly one service, and if the
  /// rules of `CallSpec` are broken.
  explicit CallGraph(const Scenario& scenario);

  /// The calls of a service in their order, as indices into `Scenario::calls`.
  std::span<const std::size_t> calls_of(std::size_t service) const { return calls_[service]; }
  /// The client groups by which a service makes its calls, each once.
  std::span<const std::size_t> groups_of(std::size_t service) const { return groups_[service]; }
  /// The service whose calls a group makes; empty for groups outside.
  std::optional<std::size_t> caller_of(std::size_t group) const { return callers_[group]; }
  /// The stages in which a service makes its calls, in order: each is a list of calls, sorted by
  /// the names of their groups. Fallbacks are in no stage.
  std::span<const std::vector<std::size_t>> stages_of(std::size_t service) const {
    return stages_[service];
  }
  /// The call that is made if the call fails; empty: none.
  std::optional<std::size_t> fallback_of(std::size_t call) const { return fallbacks_[call]; }

 private:
  void find_fallbacks(const Scenario& scenario, std::size_t service);
  void find_stages(const Scenario& scenario, std::size_t service);

  std::vector<std::vector<std::size_t>> calls_, groups_;       // by service
  std::vector<std::vector<std::vector<std::size_t>>> stages_;  // by service
  std::vector<std::optional<std::size_t>> callers_;            // by group
  std::vector<std::optional<std::size_t>> fallbacks_;          // by call
};

/// Whether a call is a single request for every attempt, which fails with it (unless it is the
/// fallback of another one).
bool is_plain(const CallSpec& call);

/// Whether a service calls others.
bool calls_others(const Scenario& scenario, std::size_t service);
/// Whether other services call the service, and no client group outside does.
bool is_called_by_services_only(const Scenario& scenario, std::size_t service);

/// The services in an order in which callers come before the services that they call.
std::vector<std::size_t> callers_first(const Scenario& scenario);
/// The services, by index and in the order of the calls, of a circle in which services call each
/// other; empty if no such circle exists.
std::vector<std::size_t> circle_of_calls(const Scenario& scenario);

/// For each service, how many keys attempts may ask for.
std::vector<std::uint32_t> keys_at(const Scenario& scenario);
/// For each service, the names of the operations that its requests may have.
std::vector<std::set<std::string_view>> operations_at(const Scenario& scenario);

}  // namespace retrysim::flow

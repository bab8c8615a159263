// What a run needs, before it begins: memory, part by part, and about how many events.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retrysim {

/// Memory that one thing takes, and the keys that make it more or less.
struct MemoryPart {
  std::string what;
  std::string keys;
  std::uint64_t bytes = 0;
};

std::uint64_t total_bytes(std::span<const MemoryPart> parts);

/// "1.5 GiB"; three significant digits, with the unit that fits.
std::string to_text_of_bytes(std::uint64_t bytes);

/// What one replication needs.
struct RunNeeds {
  /// While it runs, and not after: the clients with their retry states, and what is to arrive.
  std::vector<MemoryPart> clients;
  /// While it runs: the requests under way at once, if the service answers each at its first
  /// attempt; with the queue that it has in the end if more arrives than it can serve. The only
  /// figure that is an estimate by nature.
  std::vector<MemoryPart> requests;
  /// What its result keeps.
  std::vector<MemoryPart> result;
  /// For its statistics; taken for one replication after the other.
  MemoryPart analysis;
  /// Events, if each request succeeds at its first attempt.
  double events = 0;
};

/// Takes a valid scenario. Costs nothing to speak of, whatever the scenario asks for.
RunNeeds needs_of(const Scenario& scenario);

/// How replications share the memory that there is.
struct MemoryPlan {
  std::vector<MemoryPart> parts;  ///< all of it, with `at_once` replications running
  std::uint64_t total = 0;
  std::size_t at_once = 1;
  /// What the requests under way of one replication may grow to (SimulationOptions::max_memory).
  std::uint64_t each = ~std::uint64_t{0};
};

/// Up to `jobs` replications run at once; as many as fit into `limit` bytes, of which `kept` are
/// taken already. `runs` are the scenarios of the replications. With not even room for one:
/// LimitExceeded, whose message has the figure for each large part and the keys to change.
MemoryPlan plan_memory(std::span<const Scenario* const> runs, std::size_t jobs, std::uint64_t limit,
                       std::uint64_t kept = 0);

}  // namespace retrysim

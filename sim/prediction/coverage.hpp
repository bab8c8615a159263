// The coverage of theory: the keys that each part of theory models, and the combinations and values
// of these keys that it does not model. Any other key that a scenario uses is refused by itself,
// under its name and help in the table of keys: a new key needs no entry here to be safe.
// `predict`, `map`, their words, and the table in README.md use it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::prediction {

/// The parts of theory whose figures stand or fall together.
enum class Theory : std::uint8_t {
  kLoads,    ///< rates and work of first attempts; the warnings of overload and throttles
  kWaits,    ///< waiting while all is well (Erlang C), and figures from it
  kLate,     ///< the warnings of queues and of last attempts: that every answer comes too late
  kBalance,  ///< where the fluid settles: phase, vulnerable, tipping and dead load
  kRun,      ///< runs of the fluid: goodput, recovery, the shortest triggers that tip it
  kChain,    ///< the chain of queue and orbit
  kBound,    ///< the load if each request makes all of its attempts (`worst_load`)
};
inline constexpr std::size_t kTheories = 7;
inline constexpr std::string_view kTheoryNames[kTheories] = {
    "loads", "waits", "late answers", "balance", "runs", "chain", "worst load"};

/// A set of theories: bit i is theory i.
using Parts = unsigned;
/// "loads, waits"
std::string names_of(Parts parts);

/// Keys that some theories model, or that have no effect on them.
struct Modelled {
  Parts parts;
  /// Patterns separated by blanks: "service.*.servers", or a whole table: "client.*.keys.*". Those
  /// of client groups stand for calls between services as well.
  std::string_view keys;
  /// Modelled only while the key has one of these words: "lifo|random".
  std::string_view words = {};
  std::string_view but_for = {};  ///< what the figures of these theories leave out, if anything
};
std::span<const Modelled> modelled();

using ByService = bool (*)(const Scenario& scenario, std::size_t service);
using ByClient = bool (*)(const Scenario& scenario, const ClientSpec& client, std::size_t service);

/// What some theories do not model of the keys that they know: a combination of keys, or a value
/// beyond some bound.
struct Combination {
  std::string_view name;  ///< "a deadline that may come first"
  std::string_view said;  ///< the key to blame, in the table of the service or client: "deadline"
  // Whether a service, or a client group that calls it, has it; one of the two is null.
  ByService by_service;
  ByClient by_client;
  Parts parts;
  bool refused;           ///< true: the theories give no figure; false: their figures leave it out
  std::string_view text;  ///< why, or what is left out
};
std::span<const Combination> combinations();

/// The feature of a full queue that is short enough to answer in time, except while refusals take
/// servers from it.
inline constexpr std::string_view kRefusingMakesLate = "a full queue that makes late by refusing";

/// Why a part has no figures for a service.
struct Refusal {
  std::string feature;  ///< "retry breakers"; empty: no client calls the service
  std::string place;    ///< "client.web.retry.retry_breaker.failure_share"
  std::string why;      ///< "not modelled"
};
/// The first reason why a part has no figures; empty if it has figures.
std::optional<Refusal> refusal(Theory theory, const Scenario& scenario, std::size_t service);
/// The reason as "service.api.abandoned: ...".
std::optional<std::string> why_not(Theory theory, const Scenario& scenario, std::size_t service);
/// The reason as a sentence: "No phase for service.api: the fluid cannot model retry breakers
/// (client.web.retry.retry_breaker.failure_share)".
std::string sentence_of(const Refusal& refusal, std::string_view what, std::string_view theory,
                        std::string_view subject);
/// The features that a part leaves out, a few words each.
std::vector<std::string> left_out(Theory theory, const Scenario& scenario, std::size_t service);

/// Everything that the scenario uses and that some part does not model, each with its places, in
/// the order of services and tables.
std::vector<Unmodelled> unmodelled(const Scenario& scenario);

/// A row of the table of coverage in README.md: neighbouring keys that are treated alike, or a
/// combination.
struct CoverageRow {
  std::string feature, keys, modelled, left_out, no_figure;
};
std::vector<CoverageRow> coverage_table();

}  // namespace retrysim::prediction

// The coverage of theory: one table of the features of scenarios, and for each part of theory
// whether it models the feature, leaves it out and says so, or gives no figure where it is used,
// and why. `predict`, `map`, their words, and the table in README.md use it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>
#include <retrysim/scenario.hpp>

#include <array>
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

enum class Coverage : std::uint8_t {
  kModelled,  ///< or without effect on this part
  kLeftOut,   ///< and said beside each figure
  kRefused,   ///< no figure is given
};

struct Treatment {
  Coverage how = Coverage::kModelled;
  std::string_view text = {};  ///< what is left out, or why it is refused
};

struct Treatments {
  Treatment loads = {}, waits = {}, late = {}, balance = {}, run = {}, chain = {}, bound = {};

  const Treatment& of(Theory part) const;
};

/// Something that a scenario may use.
struct Feature {
  std::string_view name;  ///< "abandoned attempts that are not served"
  /// The keys that make it, "service.*.abandoned", separated by blanks. Those of client groups
  /// stand for calls between services as well.
  std::string_view keys;
  std::string_view said = {};  ///< key in front of a refusal: "abandoned"; empty: the table alone
  /// Whether a service, or a client group that calls it, uses the feature; null: others decide.
  bool (*by_service)(const Scenario& scenario, std::size_t service) = nullptr;
  bool (*by_client)(const Scenario& scenario, const ClientSpec& client,
                    std::size_t service) = nullptr;
  Treatments parts = {};
};

/// In the order in which reasons are looked for.
std::span<const Feature> features();

/// Why a part has no figures for a service.
struct Refusal {
  std::string feature;  ///< "circuit breakers"; empty: no client calls the service
  std::string place;    ///< "client.web.retry.breaker"
  std::string why;      ///< "it counts the few attempts of one client, which is chance"
};
/// The first reason; empty: the part has figures.
std::optional<Refusal> refusal(Theory part, const Scenario& scenario, std::size_t service);
/// The same as "service.api.abandoned: ...".
std::optional<std::string> why_not(Theory part, const Scenario& scenario, std::size_t service);
/// The same as a sentence: "No phase for service.api: the fluid cannot model circuit breakers
/// (client.web.retry.breaker)".
std::string sentence_of(const Refusal& refusal, std::string_view what, std::string_view theory,
                        std::string_view subject);
/// The features that a part leaves out, a few words each.
std::vector<std::string> left_out(Theory part, const Scenario& scenario, std::size_t service);

/// The features that the scenario uses and that some part does not model, each with its places, in
/// the order of the table.
std::vector<Unmodelled> unmodelled(const Scenario& scenario);

/// A row of the table in words: which parts leave something out, or give no figures, and why.
std::string words_of(const Feature& feature, Coverage how);

}  // namespace retrysim::prediction

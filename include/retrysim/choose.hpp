// Finds the best of up to a few hundred policies for a stated aim: a race in which all policies
// meet the same demand, replication by replication, and drop out as soon as another one is clearly
// better (selection.hpp has the rule and what it promises).
//
//     const std::vector<std::string> vary = {"client.*.retry.max_attempts=1,2,3,4"};
//     ChooseOptions options;
//     options.aim = {find_metric("goodput"), true, "all"};
//     options.limits = {parse_choice_limit("success_rate>=0.99")};
//     const PolicyChoice choice = choose(load_variants("dip.toml", {}, vary).variants, options);
//     if (choice.best) ... choice.policies[*choice.best].name ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/experiment.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/selection.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

class Tables;

/// The aim of the best policy.
struct ChoiceAim {
  const MetricInfo* metric = nullptr;  ///< never null
  bool maximize = true;
  std::string client = "all";  ///< name of a group that all policies have, or "all"
};

/// A limit on the mean of another metric of that client.
struct ChoiceLimit {
  const MetricInfo* metric = nullptr;  ///< never null
  bool at_least = true;                ///< otherwise at most
  double bound = 0;
  /// A mean this close to the bound may be judged either way. By default, for shares and
  /// probabilities a tenth of the bound's distance from 0 or 1, whichever is nearer; for other
  /// metrics 1 % of the bound. Required if that is 0.
  std::optional<double> tolerance;

  std::string text() const;  ///< "success_rate>=0.99"
};

/// Reads "METRIC>=VALUE" or "METRIC<=VALUE", with "+-TOLERANCE" after it if wanted. Values are in
/// the unit of the metric. Throws RequestError.
ChoiceLimit parse_choice_limit(const std::string& text);

/// How a race decides: selection.hpp has the rules, and what each promises.
enum class ChoiceProcedure : std::uint8_t {
  kBounds,  ///< for shares and probabilities only; assumes nothing about their distribution
  kNormal,  ///< assumes that observations are normally distributed; quicker
};
template <>
inline constexpr std::string_view kWords<ChoiceProcedure> = "bounds|normal";
static_assert(words_end_with(ChoiceProcedure::kNormal));

struct ChooseOptions {
  ChoiceAim aim;
  std::vector<ChoiceLimit> limits;
  /// By default kBounds if the metric of the aim has bounds, else kNormal. With kBounds, and by
  /// default, limits on metrics with bounds are tested by their bounds.
  std::optional<ChoiceProcedure> procedure;
  /// Differences smaller than this, in the metric's unit, do not matter. By default 1 % of the best
  /// mean of the first stage, or more if `max_replications` cannot resolve that
  /// (`SelectionRules::indifference`).
  std::optional<double> indifference;
  double confidence = 0.95;  ///< above 0.5 and below 1
  /// An observation is the average of this many successive replications. Averages are closer to the
  /// normal distribution that the race assumes.
  std::size_t batch = 1;
  std::size_t max_replications = 1000;  ///< of each policy; a longer race ends undecided
  /// How to run. `max_events` limits each replication, `max_memory` all that are in progress;
  /// `progress` starts again at each stage. `first`, `fingerprint` and `kept_memory` are ignored.
  ReplicationOptions run;
  /// Called before each stage is simulated, in the calling thread of the executor's owner: its
  /// number (from 1) and how many policies are in the race. May be empty.
  std::function<void(std::size_t stage, std::size_t racing)> stage;
};

/// Equal for equal policies and options, however they are run.
std::uint64_t id_of_choice(const std::vector<NamedScenario>& policies,
                           const ChooseOptions& options);

/// How one policy fared.
struct ChoicePolicy {
  std::string name;
  LoadedScenario loaded;
  std::vector<std::string> values = {};         ///< one for each of `PolicyChoice::keys`
  SelectionFate fate = SelectionFate::kRacing;  ///< kRacing for the selected one
  std::size_t by = 0;     ///< with kBeaten, kAsGood, kSame: another policy; kBreaksLimit: a limit
  std::size_t stage = 0;  ///< after which it left the race; the last one if it did not
  std::size_t replications = 0;
  std::vector<bool> keeps;              ///< the limits that it is known to keep
  const MetricInfo* missing = nullptr;  ///< with kDropped: the metric that a replication lacks
  std::size_t not_recovered = 0;        ///< replications that did not recover from a disturbance
  std::vector<double> aim;              ///< its observations: averages of batches
  std::vector<std::vector<double>> limited;  ///< [limit][observation]
};

enum class ChoiceOutcome : std::uint8_t {
  kChosen,
  kNoneKeepsLimits,  ///< every policy breaks one or lacks a value
  kNoneHasValues,    ///< each policy lacks a value in some replication
  kUndecided,        ///< several are left after `max_replications`
};
template <>
inline constexpr std::string_view kWords<ChoiceOutcome> =
    "chosen|none_keeps_limits|none_has_values|undecided";
static_assert(words_end_with(ChoiceOutcome::kUndecided));

struct PolicyChoice {
  ChoiceOutcome outcome = ChoiceOutcome::kUndecided;
  std::optional<std::size_t> best;  ///< index into `policies`; exists if chosen
  /// If none keeps the limits, the one that comes nearest.
  std::optional<std::size_t> nearest;
  std::vector<ChoicePolicy> policies;  ///< as given
  std::vector<std::string> keys;       ///< varied by `load_variants`; none if made by hand
  ChoiceAim aim;
  std::vector<ChoiceLimit> limits;  ///< with their tolerances
  ChoiceProcedure procedure = ChoiceProcedure::kBounds;
  double indifference = 0;
  bool from_first_stage = false;  ///< whether the indifference zone comes from the first stage
  /// If chosen, and all others left as good or the same: the largest difference between the means
  /// of the best one and another, over the replications of both; if the race ended early, the
  /// largest in any replication. There is nothing to choose between them.
  std::optional<double> all_within;
  /// The race ended early, because the policies left differed by next to nothing in all of so many
  /// replications that what happens in one of twenty would have been seen with probability 95 %.
  bool ended_early = false;
  double confidence = 0.95;
  std::size_t batch = 1;
  std::vector<std::size_t> stages;  ///< replications of each policy in the race after each stage
  std::size_t replications = 0;     ///< of all policies in the race
  /// How many replications of each policy a two-stage procedure needs for the same promise if it
  /// runs all policies equally often (`Selection::equal_allocation`). 0: there was no first stage.
  std::size_t equal_allocation = 0;
  /// If undecided: how many replications of each remaining policy would end the race, at the latest
  /// (kNormal) or probably (kBounds). Empty: unknown.
  std::optional<std::size_t> replications_needed;
  /// If undecided: of the remaining policies known to keep the limits, the one with the best mean.
  std::optional<std::size_t> leader;
  /// No remaining policy is better than the leader by more than this, with probability
  /// `confidence`.
  double margin = 0;
  /// If undecided about a mean latency: by how much a remaining policy may differ from the leader
  /// because of service times of which fewer than ten are expected in so many replications, or
  /// because of how many long ones came by chance.
  double unseen = 0;
  std::vector<std::string> notes;  ///< for the reader: limitations of the answer

  std::size_t count(SelectionFate fate) const;
  /// How many had left the race after stage `stage`, from 1.
  std::size_t gone_after(std::size_t stage) const;
};

/// Races `policies` (at least two). Without an indifference zone of the user's it ends early if the
/// policies left differ by less than a tenth of the zone in each of 59 replications. The normal
/// procedure decides nothing about times before 59 replications. The first stage has as many
/// replications as the scenarios say, which must be at least two batches; each further stage adds a
/// tenth of those so far, at least one batch. A policy that lacks a value in some replication has
/// no mean to compare and drops out. Throws RequestError for a request that makes no sense: options
/// out of the ranges above, a client or metric that does not exist, policies that differ in
/// `replications` or ask for an automatic warm-up. Otherwise throws what `simulate` throws.
PolicyChoice choose(std::vector<NamedScenario> policies, const ChooseOptions& options);

/// choose (a row for each policy) and race (for each stage and policy in it).
Tables tables(const PolicyChoice& choice);

}  // namespace retrysim

// What would help most? The usual remedies against overload and retry storms, tried on a scenario
// on common random numbers and ranked by what they do for it, with what each costs elsewhere.
//
//     RemediesResult r = load_remedies("deploy.toml");
//     if (!r.scenario) ...  // r.errors
//     const Advice advice = advise(*std::move(r.scenario), std::move(r.remedies));
//     for (const RemedyTrial& t : advice.trials) ... t.remedy.words, t.verdict, t.remedy.edits ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/experiment.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

class Tables;

// --- Remedies ------------------------------------------------------------------------------------

/// Whether a remedy can be tried on a scenario.
enum class RemedyState : std::uint8_t {
  kTried,
  kInPlace,        ///< the scenario has it already
  kNotApplicable,  ///< there is nothing that it could change
  kRefused,        ///< the scenario with its edits would not be valid
};
template <>
inline constexpr std::string_view kWords<RemedyState> = "tried|in-place|not-applicable|refused";
static_assert(words_end_with(RemedyState::kRefused));

/// A remedy as it fits one scenario: every client group, service and call that it can change is
/// changed, those that have it already stay as they are. Where services call each other, a remedy
/// that fits several callers is also one at each of them alone.
struct Remedy {
  std::string name;   ///< "short-queue"; at one place alone "no-retries@front.back"
  std::string words;  ///< what to do: "give the queue only as many places as there are servers"
  RemedyState state = RemedyState::kTried;
  std::string reason;  ///< why it is not tried; empty if it is
  /// PATH=VALUE texts as given to --set, which come after those that the scenario was loaded with.
  /// Empty if it is not tried.
  std::vector<std::string> edits;
  std::optional<LoadedScenario> loaded;  ///< with the edits, if it is tried
};

/// Either the scenario as it stands with all remedies, in the order of the table, or at least one
/// error of the scenario.
struct RemediesResult {
  std::optional<LoadedScenario> scenario;
  std::vector<Remedy> remedies;
  std::vector<Diagnostic> errors;
};

/// Loads the scenario file `file` with `edits`, and once more with each remedy that fits it. Those
/// at one caller alone come after the one at all of them, if there are eight callers at most.
RemediesResult load_remedies(const std::filesystem::path& file,
                             const std::vector<std::string>& edits = {});

// --- Advice --------------------------------------------------------------------------------------

/// One of the quantities that a remedy may change, of all client groups together.
struct AdviceMeasure {
  std::string_view name;   ///< in files: "quiet_success_rate"
  std::string_view label;  ///< "success before the disturbance"
  /// The metric, of which `in_quiet` has the value before the first fault or surge. Never null.
  const MetricInfo* metric = nullptr;
  bool in_quiet = false;
  bool is_aim = false;  ///< remedies are judged by it; the others are what they cost
};
/// The aims: success rate, probability of recovery, time to recover, success within the duration
/// (where the drain makes another figure), mean latency of successes. Then success during the
/// faults and surges and before them, p99 latency of successes, the wait for a connection, attempts
/// per request, wasted capacity, peak load.
std::span<const AdviceMeasure> advice_measures();

/// A remedy against the scenario as it stands, for one measure.
struct RemedyEffect {
  /// Without pairs where the measure does not exist on both sides. The intervals of all remedies
  /// hold jointly with probability 1 - kFamilyError, those of the aims even for all aims together.
  PairedDifference difference;
  /// 1: better, -1: worse; 0: not significantly different, or by too little to matter: see
  /// `is_negligible`; of the time to recover less than RecoverySpec::window, of the mean latency
  /// less than a tenth; of the latency of successes, where success differs, only if that of all
  /// requests differs in the same direction.
  int direction = 0;
};

/// What the aims say of a remedy. Success and recovery count first; only where neither changes, the
/// time to recover does, and where that stays, too, the latency of successes.
enum class RemedyVerdict : std::uint8_t {
  kHelps,
  kNoDifference,  ///< none that could be measured
  kMixed,         ///< more success but fewer recoveries, or the other way round
  kHarms,
};
template <>
inline constexpr std::string_view kWords<RemedyVerdict> = "helps|no-difference|mixed|harms";
static_assert(words_end_with(RemedyVerdict::kHarms));

/// A remedy that has been tried.
struct RemedyTrial {
  Remedy remedy;
  std::vector<std::optional<double>> means;  ///< over its own replications, by measure
  std::vector<RemedyEffect> effects;         ///< by measure
  RemedyVerdict verdict = RemedyVerdict::kNoDifference;
  /// Helps, and neither its success rate nor the latency of its successes is worse than that of the
  /// first one, as far as can be told.
  bool as_good_as_first = false;
};

/// The result. If no remedy changes anything, the probability that any of them is said to help or
/// to harm is at most kFamilyError, as far as means over the replications are normally distributed.
struct Advice {
  LoadedScenario scenario;                   ///< as it stands, with the warm-up found
  std::optional<FoundWarmup> warmup;         ///< of the scenario as it stands, for all
  std::vector<std::optional<double>> means;  ///< of the scenario as it stands, by measure
  /// By verdict, then by success to a tenth of a point, recovery and latency, the best first.
  std::vector<RemedyTrial> trials;
  std::vector<Remedy> not_tried;  ///< in the order of the table

  /// The trials that help, which come first.
  std::size_t helping() const;
};

/// Simulates all replications of the scenario and of each remedy that is tried. `precision` has no
/// effect, as in a comparison; `options.first` is ignored and its limits hold for all runs
/// together. With `warmup = "auto"` all get the warm-up of the scenario as it stands. Throws what
/// `find_warmup` and `simulate_all` throw.
Advice advise(LoadedScenario scenario, std::vector<Remedy> remedies,
              const ReplicationOptions& options = {});

/// advice: a row for the scenario as it stands and for each remedy.
Tables tables(const Advice& advice);

}  // namespace retrysim

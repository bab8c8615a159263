// Which of several variants is best? `compare` shows what each changes, `choose` finds the best one
// for an aim, and `advise` tries the usual remedies. All meet the same demand, replication by
// replication.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

class Tables;

// --- Comparing -----------------------------------------------------------------------------------

// On common random numbers all variants meet the same demand, so in each replication the variation
// alone explains the difference from the baseline.
//
// From a file:
//
//     const std::vector<std::string> vary = {"client.*.retry.mode=legacy,standard"};
//     const VariantsResult v = load_variants("herd.toml", {}, vary);
//     if (!v.errors.empty()) ...
//     const Comparison c = compare(v.variants);
//     const ComparisonRow* row = c.find(1, "all", *find_metric("success_rate"));
//
// Scenarios built in code work, too: `compare({{"no retries", {a}}, {"three attempts", {b}}})`.

namespace stats {
struct Storm;
}

/// The error probability of a family of intervals or tests.
inline constexpr double kFamilyError = 0.05;

struct Interval {
  double low = 0, high = 0;
};

/// One metric of a variant against the baseline, over the replications of both.
struct PairedDifference {
  std::size_t pairs = 0;  ///< replications in which both sides have the value
  std::size_t only_variant = 0, only_baseline = 0;  ///< replications in which only one side has it

  // Over the pairs, in the metric's unit; zero without pairs.
  double mean = 0, baseline_mean = 0, difference = 0;

  /// Interval of the difference; exists from two pairs on. The intervals of all variants hold
  /// jointly with probability 1 - kFamilyError.
  std::optional<Interval> interval;
  /// mean / baseline_mean - 1; exists if the baseline's mean is above zero.
  std::optional<double> relative;
  /// Exists if the baseline's mean differs significantly from zero, and not for values 0 or 1.
  std::optional<Interval> relative_interval;
  std::optional<double> p_value, p_holm;  ///< exist with the interval
  bool significant = false;               ///< p_holm <= kFamilyError
  /// Correlation of the two sides over the pairs; exists if both vary.
  std::optional<double> correlation;
  /// (variance of the variant + variance of the baseline) / variance of the difference: how many
  /// times as many replications independent runs would need. Exists if the difference varies.
  std::optional<double> variance_reduction;

  /// Every pair has the same value on both sides.
  bool identical = false;
};

/// A scenario that takes part in a comparison. Without a file: `{"name", {scenario}}`.
struct NamedScenario {
  std::string name;  ///< unique; "jitter=full"
  LoadedScenario loaded;
  /// The keys that make it differ from the others, and their values, where `load_variants` has made
  /// it.
  std::vector<std::string> keys = {}, values = {};
};

/// Either all variants, the baseline first, or at least one error (each mistake once, at most 20).
/// A note that several variants share is given for the first of them only.
struct VariantsResult {
  std::vector<NamedScenario> variants;
  std::vector<Diagnostic> errors;

  /// The variants; throws an InputError with all mistakes if there are any.
  std::vector<NamedScenario> value() && {
    check(errors);
    return std::move(variants);
  }
};

/// Loads every combination of the values that `vary` names (texts as for `parse_variations`), after
/// the `edits`, of the scenario file `file`. `baseline` is the name of a variant or its values
/// alone; empty: the first. Throws RequestError if there are fewer than 2 or more than 1000
/// variants, or none has the baseline's name.
VariantsResult load_variants(const std::filesystem::path& file,
                             const std::vector<std::string>& edits,
                             const std::vector<std::string>& vary,
                             const std::string& baseline = "");

struct CompareOptions {
  /// Never null; empty: `headline_metrics()`. `recovered` is added where there is a disturbance,
  /// and `success_rate_within_duration` beside `success_rate` where the drain makes another figure.
  std::vector<const MetricInfo*> metrics = {};
  /// Repeat each replication that does not recover, with no retries after the end of the fault or
  /// surge. This sets RunResult::metastable and provides the metric metastable_probability.
  bool twin = false;
  /// How to run; limits apply to all variants together. `first` is ignored.
  ReplicationOptions run = {};
};

/// One variant with its replications.
struct ComparedVariant {
  std::string name;
  LoadedScenario loaded;  ///< with the warm-up found, if it asked for one
  std::vector<RunResult> runs;
  MetricValues values;  ///< of `runs`
  /// With twins, the storms of each run with the verdicts of their twins, for the program's
  /// reports. Null without twins.
  std::shared_ptr<const std::vector<std::vector<stats::Storm>>> storms;
};

/// One variant against the baseline, for one metric of one client group.
struct ComparisonRow {
  std::size_t variant = 0;             ///< index into Comparison::variants; never 0, the baseline
  std::string client;                  ///< name of a group, or "all"
  const MetricInfo* metric = nullptr;  ///< never null
  PairedDifference difference;
};

/// The effect of one value of a key instead of the baseline's, averaged over the combinations of
/// the other keys: a main effect, for one metric of all clients together.
struct KeyEffect {
  std::string key, value, base_value;
  const MetricInfo* metric = nullptr;  ///< never null
  /// Differences of the averages over the combinations, replication by replication. The intervals
  /// of all values of a key hold jointly.
  PairedDifference difference;
  std::size_t combinations = 0;  ///< of the other keys, with both values
  /// Smallest and largest mean difference of a combination: how far the effect depends on it.
  double least = 0, most = 0;
};

/// The result of a comparison.
struct Comparison {
  std::vector<ComparedVariant> variants;  ///< the first one is the baseline
  /// Groups that some variant has, in their order, if there are several; then "all".
  std::vector<std::string> clients;
  std::vector<const MetricInfo*> metrics;
  /// By variant, client and metric. A metric that exists on neither side has no row; one that
  /// exists on one side only has a row without pairs.
  std::vector<ComparisonRow> rows;
  /// By key, value and metric, if more than four variants combine values of two or more keys (as in
  /// the name "servers=2 jitter=full"); otherwise empty.
  std::vector<KeyEffect> effects;

  const ComparedVariant& baseline() const { return variants.front(); }
  /// Null if there is none.
  const ComparisonRow* find(std::size_t variant, std::string_view client,
                            const MetricInfo& metric) const;
};

/// A difference that may be real but is too small to matter: below 1 %, for shares and
/// probabilities below a tenth of a point.
bool is_negligible(const MetricInfo& metric, const PairedDifference& difference);

/// The metrics that comparisons show by default, in order.
std::vector<const MetricInfo*> headline_metrics();

/// Simulates all replications of `variants`, the baseline first, and compares each variant with it.
/// Variants that ask for an automatic warm-up share one (`find_warmup`). `precision` has no effect:
/// pairs need equal numbers of replications. Throws RequestError without a variant, and what
/// `find_warmup` and `simulate_all` throw.
Comparison compare(std::vector<NamedScenario> variants, const CompareOptions& options = {});

/// The rows of variants that have been simulated already, at least one.
Comparison compare_runs(std::vector<ComparedVariant> variants,
                        std::vector<const MetricInfo*> metrics = headline_metrics());

/// Puts a warm-up found for `warmup = "auto"` into the scenario; its key then says how it was
/// found.
void take_warmup(LoadedScenario& loaded, const FoundWarmup& found);

/// The tables of a run, of all variants together, and the table `compare` (a row for each variant,
/// client and metric). The comparison must outlive them.
Tables tables(const Comparison& comparison);

// --- Choosing ------------------------------------------------------------------------------------

// The best of up to a few hundred policies for a stated aim is found by a race, which policies
// leave as soon as another one is clearly better (sim/estimate/selection.hpp has the rule and what
// it promises).
//
//     const std::vector<std::string> vary = {"client.*.retry.max_attempts=1,2,3,4"};
//     ChooseOptions options;
//     options.aim = {find_metric("goodput"), true, "all"};
//     options.limits = {parse_choice_limit("success_rate>=0.99")};
//     const PolicyChoice choice = choose(load_variants("dip.toml", {}, vary).variants, options);
//     if (choice.best) ... choice.policies[*choice.best].name ...

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
/// the unit of the metric, of shares from 0 to 1. Throws RequestError, which calls it `part`.
ChoiceLimit parse_choice_limit(const std::string& text, const std::string& part = "subject_to");

/// How a race decides: sim/estimate/selection.hpp has the rules, and what each promises.
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

/// A number that is equal for equal policies and options, however they are run.
std::uint64_t id_of_choice(const std::vector<NamedScenario>& policies,
                           const ChooseOptions& options);

/// Whether a policy is still in the race, or why it has left.
enum class SelectionFate : std::uint8_t {
  kRacing,
  kBeaten,       ///< another policy has the better mean, by more than the zone as observed
  kAsGood,       ///< no better than another one by more than the zone, which does better or leads
  kSame,         ///< another one had the same value in every observation and comes first
  kBreaksLimit,  ///< its mean is on the wrong side of a limit
  kDropped,      ///< a replication lacks a value to compare
};

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
  /// The race ended early: the policies left differed by next to nothing in all replications, which
  /// were enough to see what happens in one of twenty with probability 95 %.
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
  /// because of service times of which fewer than ten are expected in that many replications, or
  /// because of the number of long ones that came by chance.
  double unseen = 0;
  std::vector<std::string> notes;  ///< for the reader: limitations of the answer

  std::size_t count(SelectionFate fate) const;
  /// How many had left the race after stage `stage`, from 1.
  std::size_t gone_after(std::size_t stage) const;
};

/// Races `policies` (at least two). Without an indifference zone from the user it ends early if the
/// policies left differ by less than a tenth of the zone in each of 59 replications. The normal
/// procedure decides nothing about times before 59 replications. The first stage has as many
/// replications as the scenarios say, which must be at least two batches; each further stage adds a
/// tenth of those so far, at least one batch. A policy that lacks a value in some replication has
/// no mean to compare and drops out. Throws RequestError for a request that makes no sense: options
/// out of the ranges above, a client or metric that does not exist, policies that differ in
/// `replications` or ask for an automatic warm-up. Otherwise throws what `simulate` throws.
PolicyChoice choose(std::vector<NamedScenario> policies, const ChooseOptions& options);

/// The tables choose (a row for each policy) and race (for each stage and policy in it).
Tables tables(const PolicyChoice& choice);

// --- Advising ------------------------------------------------------------------------------------

// What would help most? The usual remedies against overload and retry storms, tried on a scenario
// on common random numbers and ranked by what they do for it, with what each costs elsewhere.
//
//     RemediesResult r = load_remedies("deploy.toml");
//     if (!r.scenario) ...  // r.errors
//     const Advice advice = advise(*std::move(r.scenario), std::move(r.remedies));
//     for (const RemedyTrial& t : advice.trials) ... t.remedy.words, t.verdict, t.remedy.edits ...

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
  /// PATH=VALUE texts, which come after those that the scenario was loaded with.
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
/// per request, wasted capacity, peak load, the shares of successes that are degraded and that were
/// executed twice.
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

/// A client group that remedies are also judged by alone.
struct AdvisedGroup {
  std::string client;
  std::uint8_t priority = 0;
  std::optional<double> success;  ///< success rate as it stands
};

/// What the aims say of a remedy. Success and recovery count first; only where neither changes, the
/// time to recover does, and where that stays, too, the latency of successes. Where groups have
/// different priorities, success is that of all requests and that of the highest priority at which
/// it changes.
enum class RemedyVerdict : std::uint8_t {
  kHelps,
  /// None that could be measured, but one that matters is as well possible: the interval of success
  /// goes further than one percentage point from none, or other runs recover.
  kNotClear,
  kNoDifference,  ///< none that could be measured
  kMixed,         ///< one of them gets better and another one worse
  kHarms,
};
template <>
inline constexpr std::string_view kWords<RemedyVerdict> =
    "helps|not-clear|no-difference|mixed|harms";
static_assert(words_end_with(RemedyVerdict::kHarms));

/// A remedy that has been tried.
struct RemedyTrial {
  Remedy remedy;
  std::vector<std::optional<double>> means;  ///< over its own replications, by measure
  std::vector<RemedyEffect> effects;         ///< by measure
  std::vector<RemedyEffect> groups;          ///< on the success of each of Advice::groups
  RemedyVerdict verdict = RemedyVerdict::kNoDifference;
  /// Helps, and neither its success rate (nor that of a group of Advice::groups) nor the latency of
  /// its successes is worse than that of the first one, as far as can be told.
  bool as_good_as_first = false;
};

/// The result. If no remedy changes anything, the probability that any of them is said to help or
/// to harm is at most kFamilyError, as far as means over the replications are normally distributed.
struct Advice {
  LoadedScenario scenario;                   ///< as it stands, with the warm-up found
  std::optional<FoundWarmup> warmup;         ///< of the scenario as it stands, for all
  std::vector<std::optional<double>> means;  ///< of the scenario as it stands, by measure
  /// The groups of clients outside, the highest priority first; none if all have the same.
  std::vector<AdvisedGroup> groups;
  /// By verdict, then by the success of `groups` to a point, success to a tenth of a point,
  /// recovery and latency, the best first.
  std::vector<RemedyTrial> trials;
  std::vector<Remedy> not_tried;  ///< in the order of the table
  /// The duration, s, with which all runs would have told whether they recover: those that do not
  /// have no value of that measure. 0 if all tell, or nothing goes wrong.
  double duration_to_judge_s = 0;

  /// The trials that help, which come first.
  std::size_t helping() const;
};

/// Simulates all replications of the scenario and of each remedy that is tried. `precision` has no
/// effect, as in a comparison; `options.first` is ignored and its limits hold for all runs
/// together. With `warmup = "auto"` all get the warm-up of the scenario as it stands. Throws what
/// `find_warmup` and `simulate_all` throw.
Advice advise(LoadedScenario scenario, std::vector<Remedy> remedies,
              const ReplicationOptions& options = {});

/// The table advice: a row for the scenario as it stands and for each remedy.
Tables tables(const Advice& advice);

}  // namespace retrysim

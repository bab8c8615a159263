// Comparing variants of a scenario on common random numbers: all variants meet the same demand, so
// in each replication the variation alone explains the difference from the baseline.
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
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/summary.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

class Tables;

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
  std::size_t only_variant = 0, only_baseline = 0;  ///< in which only one side has it

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

/// Those of a run, of all variants together, and compare (a row for each variant, client and
/// metric). The comparison must outlive them.
Tables tables(const Comparison& comparison);

}  // namespace retrysim

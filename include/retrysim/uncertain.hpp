// How sure is a scenario? Some of its values are known by an interval only, such as the number of
// servers that `retrysim fit` finds in a log: `[uncertain."service.api.servers"] low = 8,
// high = 12`. Each replication draws the values of these keys and simulates the scenario that has
// them. The answer: in how many draws the system recovers, and which keys decide that.
//
//     UncertainPlan plan = plan_uncertain({.scenario = "mine/scenario.toml"}).value();
//     const UncertainStudy study = study_uncertain(std::move(plan), {.jobs = 2});
//     study.answer.share() ... study.answer.deciding ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/error.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/table.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim {

/// The value of an uncertain key in a replication. It depends on nothing but the seed, the path of
/// the key, the number of the replication and the interval, so that variants of a scenario see the
/// same draws. The scenario's own value is the median. The logarithm is normally distributed on
/// either side of it, with the spread that leaves as much beyond each end as `certainty` says; the
/// value itself, if the interval begins at 0 or below. Counts are rounded, durations to
/// nanoseconds; what the key cannot take is drawn again.
double draw_uncertain(const UncertainKey& key, std::uint64_t seed, std::uint32_t replication);

/// The value as an edit of the scenario: `service.api.servers=9`.
std::string edit_of(const UncertainKey& key, double value);

/// Draws of a scenario unless somebody asks for another number.
inline constexpr int kUncertainDraws = 100;

struct UncertainRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};          ///< as `load_scenario_file` takes them
  std::vector<std::string> variant_edits = {};  ///< those of a `Variant`
  /// 0: as many as an edit of `replications` says, and otherwise kUncertainDraws.
  int draws = 0;
  /// A file that is put over the scenario's, or that is a scenario of its own and read instead.
  std::filesystem::path variant_file = {};
  /// Whether the scenario may have no uncertain key. All draws are the same scenario then.
  bool may_be_certain = false;
};

/// The scenario and its draws, all of which are valid.
struct UncertainPlan {
  LoadedScenario base;
  /// The keys of `base.uncertain` that are drawn: no edit has given them a value.
  std::vector<UncertainKey> keys;
  std::vector<std::vector<double>> draws;  ///< [draw][key]
  /// The scenario of a draw. May be called by several threads.
  std::function<std::shared_ptr<const Scenario>(std::size_t draw)> scenario;
};

using UncertainPlanResult = Planned<UncertainPlan>;

/// Loads the scenario and each draw. A draw that no scenario can have is an error, too, though each
/// of its values is one that its key can take: shares that come to more than 1, say. Throws
/// RequestError if no key is uncertain and one has to be, or if the warm-up has still to be found.
UncertainPlanResult plan_uncertain(const UncertainRequest& request);

// --- The answer ----------------------------------------------------------------------------------

/// What is asked of a draw.
enum class UncertainQuestion : std::uint8_t {
  kRecovers,  ///< something goes wrong: does goodput come back for good?
  kKeepsUp,   ///< nothing goes wrong: do about as many requests succeed as with the scenario's own
              ///< values?
};

/// Draws on one side of a value.
struct UncertainSide {
  double end = 0;  ///< the value of a draw that is nearest to the other side
  std::size_t good = 0, of = 0;
};

/// How a key decides: draws with smaller values against draws with larger ones, divided where the
/// shares of good draws differ most.
struct UncertainSplit {
  std::size_t key = 0;         ///< its number
  UncertainSide below, above;  ///< up to `below.end`, and from `above.end` on
  /// Probability of a difference as large at any place if the key decided nothing: the share of
  /// 999 permutations of the draws that have one.
  double p = 1;
  /// Whether the key decides: its p stands the test of Holm among all keys at 5 %.
  bool decides = false;
};

struct UncertainAnswer {
  UncertainQuestion question = UncertainQuestion::kRecovers;
  /// By draw; nothing: the run was too short to tell.
  std::vector<std::optional<bool>> good;
  std::size_t hits = 0, judged = 0;
  double low = 0, high = 1;  ///< Wilson's 95 % interval of the share of all possible draws
  /// Draws in which the system is not well even before anything goes wrong; they do not count as
  /// recovered.
  std::size_t ill_before = 0;
  std::vector<UncertainSplit> splits;  ///< of each key; none if all draws fare alike
  std::vector<std::size_t> deciding;   ///< places in `splits`, at most two, the surest first

  std::optional<double> share() const {
    if (judged == 0) return std::nullopt;
    return static_cast<double>(hits) / static_cast<double>(judged);
  }
};

/// What follows from the draws, [draw][key], and how each fared. It is pure.
UncertainAnswer answer_uncertain(UncertainQuestion question,
                                 std::span<const std::vector<double>> draws,
                                 std::vector<std::optional<bool>> good);

struct UncertainStudy {
  UncertainPlan plan;
  MetricValues drawn;  ///< by draw
  MetricValues own;    ///< of replications with the scenario's own values
  UncertainAnswer answer;
  /// Of the replications with the scenario's own values: how many are good, and how many could be
  /// judged.
  std::size_t own_hits = 0, own_judged = 0;
};

/// Simulates each draw once, as the replication of its number, and the scenario itself: as many
/// replications as it says, but no more than draws. Throws what `simulate_all` throws.
UncertainStudy study_uncertain(UncertainPlan plan, const ReplicationOptions& run = {});

/// The table uncertain: a row for each draw, with the values and what came of it.
Tables tables(const UncertainStudy& study);

// --- Variants ------------------------------------------------------------------------------------

// Does a change help in what the intervals allow? Each draw is simulated once with each variant, on
// common random numbers, and each variant is judged by the same standard.
//
//     UncertainVariantsRequest request{.scenario = "mine/scenario.toml"};
//     request.vary = {"client.web.retry.max_attempts=2,4"};
//     const UncertainComparison c =
//         compare_uncertain(plan_uncertain_variants(request).value(), {.run = {.jobs = 2}});
//     c.studies[1].answer.share() ... c.goods[0].difference ...

struct UncertainVariantsRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};  ///< as `load_scenario_file` takes them
  std::vector<std::string> vary = {};   ///< as `load_variants` takes them
  std::string baseline = {};            ///< a variant or its values; empty: the first
  /// "NAME=FILE": further variants; the scenario itself is "base" then.
  std::vector<std::string> files = {};
  int draws = 0;  ///< of each variant; 0: as for UncertainRequest
};

/// A variant, all of whose draws are valid.
struct UncertainVariant {
  std::string name;
  UncertainPlan plan;  ///< without keys if the variant leaves nothing uncertain
};

/// Either all variants, the baseline first, or at least one error.
struct UncertainVariantsResult {
  std::vector<UncertainVariant> variants;
  std::vector<Diagnostic> errors;

  /// The variants; throws an InputError with all mistakes if there are any.
  std::vector<UncertainVariant> value() && {
    check(errors);
    return std::move(variants);
  }
};

/// Loads each variant and its draws. Throws RequestError as `load_variants` and `plan_uncertain`
/// do; besides, if no variant has an uncertain key, if only some variants have a fault or surge to
/// recover from, and if their seeds, durations or numbers of draws differ.
UncertainVariantsResult plan_uncertain_variants(const UncertainVariantsRequest& request);

/// Variants over the same draws.
struct UncertainComparison {
  std::vector<std::string> names;       ///< of the variants, the baseline first
  std::vector<UncertainStudy> studies;  ///< by variant
  UncertainQuestion question = UncertainQuestion::kRecovers;
  /// Of each variant but the baseline: the shares of good draws, over the draws in which both could
  /// be judged. `only_variant` and `only_baseline` are draws in which only one of them could be.
  std::vector<PairedDifference> goods;
  /// Of each variant but the baseline: the draws in which it is good and the baseline is not, and
  /// the other way round.
  std::vector<std::size_t> only_it, only_baseline;
  std::vector<const MetricInfo*> metrics;
  std::vector<ComparisonRow> rows;  ///< of all clients together, by variant, then by metric
};

/// Simulates each draw of each variant once, and the replications with their own values. Of
/// `options`, how to run and the metrics count. A draw is good by the standard of the best variant
/// with its own values. Throws what `simulate_all` throws.
UncertainComparison compare_uncertain(std::vector<UncertainVariant> variants,
                                      const CompareOptions& options = {});

/// The tables compare (the differences), variants (what became of each), uncertain (a row for each
/// variant and draw).
Tables tables(const UncertainComparison& comparison);

}  // namespace retrysim

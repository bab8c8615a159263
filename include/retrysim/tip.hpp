// Tipping points. Bisects the size of a trigger (the length of an outage, the size of a surge, a
// load) for D50, the size from which half of the replications no longer recover.
//
// With common random numbers each replication has a threshold of its own: the size from which it no
// longer recovers. The number of replications that tip at a size is then the number of thresholds
// below it, and bisection for the size at which at least r of n tip closes in on the r-th smallest
// threshold. The median of the thresholds is D50. For any distribution, its median lies between the
// j-th smallest and the j-th largest threshold of n unless fewer than j of n fall on one of its
// sides. How many do is binomial with probability 1/2, and j is the largest number for which the
// interval misses the median with a probability of at most 5 %.
//
// From a file:
//
//     const Trigger trigger = parse_trigger("fault.outage.duration=0.9s:1.6s");
//     const TipResult r = find_tipping_point(scenarios_of("zombie.toml", {}, trigger),
//                                            {.first = trigger.first, .last = trigger.last});
//     if (r.point.d50) ... r.point.d50->middle() ...
//
// How the tipping point moves with other keys is a search for each combination of their values:
//
//     TipRequest request{.scenario = "zombie.toml", .trigger = trigger};
//     request.varying = {"client.web.arrivals.total_rate=250:400:50"};
//     TipPlanResult planned = plan_tip(request);
//     if (!planned.plan) ... planned.errors ...
//     for (const TipPoint& p : find_tipping_points(*planned.plan)) ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

class Tables;

/// The response of one replication to one size of the trigger.
enum class TippingResponse : std::uint8_t {
  kRecovers,
  kTips,
  kUnknown,  ///< the run was too short to tell
};

/// All replications at one size of the trigger.
struct TippingProbe {
  double value = 0;
  std::vector<TippingResponse> responses;  ///< by replication
  /// From the twins of the replications that tipped: how many recovered in time, and how many
  /// replications are therefore metastable.
  std::size_t twin_recovered = 0, metastable = 0;

  std::size_t count(TippingResponse response) const;
  std::size_t tipped() const { return count(TippingResponse::kTips); }
  /// Replications that ran long enough to tell whether they tip.
  std::size_t judged() const { return responses.size() - count(TippingResponse::kUnknown); }
};

/// Between two sizes that were tried, the lower one first in the direction of the search.
struct TippingBracket {
  double low = 0, high = 0;

  double middle() const { return (low + high) / 2; }
};

/// The bounds found for the threshold of one replication.
struct TippingThreshold {
  std::optional<double> low;   ///< empty: it already tips at the first size
  std::optional<double> high;  ///< empty: it recovers even at the last
  bool monotone = true;        ///< it recovers up to `low` and tips from `high` on
};

/// Where to look. Sizes are in the unit of the trigger; seconds for durations.
struct TippingSearch {
  double first = 0, last = 0;  ///< sizes: expected to recover, to tip; `last` may be the smaller
  double tolerance = 0.01;     ///< a bracket this narrow, relative to its ends, is closed
  bool whole_numbers = false;  ///< only whole numbers are tried
};

enum class TippingOutcome : std::uint8_t {
  kFound,
  kTipsAtFirst,     ///< half of the replications or more already tip at the first size
  kRecoversAtLast,  ///< fewer than half tip at the last
  kEndsExchanged,   ///< more than half tip at the first size, and fewer than half at the last
  kNotJudged,       ///< too many replications are unknown: at the first size, or from where on half
                    ///< would have to tip
};
template <>
inline constexpr std::string_view kWords<TippingOutcome> =
    "found|tips_at_first_value|recovers_at_last_value|ends_exchanged|not_judged";
static_assert(words_end_with(TippingOutcome::kNotJudged));

struct TippingPoint {
  TippingOutcome outcome = TippingOutcome::kFound;
  std::vector<TippingProbe> probes;          ///< from the first size to the last
  std::vector<TippingThreshold> thresholds;  ///< by replication
  /// The median threshold lies in it. With an even number of replications it reaches from the
  /// middle of one to the middle of the other of the two central brackets. Exists if found.
  std::optional<TippingBracket> d50;
  /// 95 % interval of the median; an end is empty if it lies outside of the sizes searched or could
  /// not be judged. With fewer than six replications there is no interval: both are empty.
  std::optional<double> ci_first, ci_last;
  std::size_t rank = 0;  ///< j, from 1; zero: too few replications for an interval
  double coverage = 0;   ///< of the interval, at least 0.95

  /// Replications that recover from a larger trigger than one that tips them.
  std::size_t not_monotone() const;
  /// No size between the ends of the interval was tried: it is a bracket, and says only where the
  /// search stopped.
  bool interval_is_bracket() const;
  /// Whether that end of the interval is missing because of unknown responses.
  bool first_end_not_judged() const;
  bool last_end_not_judged() const;
  /// Index of the probe at which the share that tips is nearest to one half; of equals, the first
  /// where more than half tip.
  std::size_t nearest_probe() const;
};

/// The scenario with the trigger at a size.
using ScenarioAt = std::function<Scenario(double value)>;

struct TipOptions {
  /// How to run. Limits on events and memory are those of the replications at one size; `timeout`
  /// is that of the whole search, and `progress` starts again at each size.
  ReplicationOptions run;
  /// Called before each size is simulated, in the calling thread, with the number of the size (from
  /// 1) and the size; may be empty.
  std::function<void(int probe, double value)> probing;
};

struct TipResult {
  TippingSearch search;
  TippingPoint point;
  std::vector<std::string> notes;  ///< for the reader: limitations of the answer
};

/// Bisects. Every size is simulated with the same number of replications (that of the scenario), on
/// common random numbers; those that tip run again with no retries after the end of the trigger.
/// Throws RequestError for an impossible search (equal ends; a tolerance outside of 1e-6 to 0.5),
/// what `scenario_at` throws, and what `run_replications` throws.
TipResult find_tipping_point(const ScenarioAt& scenario_at, const TippingSearch& search,
                             const TipOptions& options = {});

/// A key of a scenario that takes sizes from `first` to `last`.
struct Trigger {
  std::string path;
  double first = 0, last = 0;
  bool is_duration = false;    ///< values are seconds
  bool whole_numbers = false;  ///< the key takes whole numbers
  std::string unit = "1";      ///< of the values, as the table of keys has it

  /// `value` as an edit of a scenario: "fault.outage.duration=\"1.5s\"".
  std::string edit(double value) const;
};

/// Reads "PATH=LO:HI"; LO and HI are numbers, or durations such as 250ms. Throws RequestError.
Trigger parse_trigger(const std::string& text);

/// Loads `file` with `edits` and the trigger at `value`. Mistakes in that value are reported as
/// mistakes of `part`.
LoadResult load_at(const std::filesystem::path& file, std::vector<std::string> edits,
                   const Trigger& trigger, double value, const std::string& part = "trigger");

/// `load_at` for `find_tipping_point`. What it returns throws RequestError if the scenario has a
/// mistake, with the first one as the message.
ScenarioAt scenarios_of(const std::filesystem::path& file, const std::vector<std::string>& edits,
                        const Trigger& trigger);

/// Searches of a scenario file: one, or one for each combination of the varied keys.
struct TipRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};    ///< as `load_scenario_file` takes them
  std::vector<std::string> varying = {};  ///< as `parse_variations` takes them; may be empty
  Trigger trigger = {};
  double tolerance = 0.01;  ///< as in `TippingSearch`
};

/// One search of several.
struct TipCase {
  std::string name;               ///< "base" without variations
  std::vector<std::string> keys;  ///< the values of the varied keys
  ScenarioAt scenario;
};

/// The plan of searches; all scenarios are valid at both ends of the trigger.
struct TipPlan {
  LoadedScenario base;  ///< without the trigger and without variations
  Trigger trigger;
  TippingSearch search;
  std::vector<Variation> variations;
  std::vector<TipCase> cases;  ///< at least one; the last variation changes fastest
  /// A hash of the question: equal for plans that ask the same. 0 without a file.
  std::uint64_t id = 0;
  std::vector<std::filesystem::path> inputs = {};  ///< the CSV files that any case reads

  /// The varied keys, in order.
  std::vector<std::string> paths() const;
  /// The variation along which the tipping point makes a curve: the first one of a single key whose
  /// values are all numbers, or all durations. Empty if there is none.
  std::optional<std::size_t> axis() const;
};

/// Either a plan, or at least one error: each mistake once, at most 20.
struct TipPlanResult {
  std::optional<TipPlan> plan;
  std::vector<Diagnostic> errors;

  /// The plan; throws an InputError with all mistakes if there are any.
  TipPlan value() && {
    check(errors);
    return *std::move(plan);
  }
};

/// Loads the scenario and every case at both ends of the trigger. Throws RequestError if the
/// trigger is among the varied keys, if there are more than 10,000 cases or one of them asks for an
/// automatic warm-up, and for an impossible search; Interrupted.
TipPlanResult plan_tip(const TipRequest& request);

/// What can be said before anything runs: that runs are too short to judge what does not recover
/// from `first`, or from `last`, and how long they should be. Notes for the reader.
std::vector<std::string> notes_before(const TipPlan& plan);

/// Searches made by hand, at least one.
TipPlan plan_tip(std::vector<TipCase> cases, const TippingSearch& search);

struct TipSearchOptions {
  /// How to run; as in `TipOptions`, with the timeout that of all searches together.
  ReplicationOptions run;
  /// Called before each size is simulated, in the calling thread, with the name of the case, the
  /// number of the size (from 1) and the size; may be empty.
  std::function<void(const std::string& name, int probe, double value)> probing;
};

/// The tipping point of one case.
struct TipPoint {
  std::string name;
  std::vector<std::string> keys;
  TipResult found;
};

/// Finds all tipping points, in the order of the cases. Throws what `find_tipping_point` throws.
std::vector<TipPoint> find_tipping_points(const TipPlan& plan,
                                          const TipSearchOptions& options = {});

/// tip (a row for each size that was tried) and thresholds (for each replication); with variations
/// also curve (for each case). `points` are those of the plan.
Tables tables(const TipPlan& plan, const std::vector<TipPoint>& points);

}  // namespace retrysim

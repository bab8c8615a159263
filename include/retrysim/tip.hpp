// Where does a system tip? The trigger (the length of an outage, the size of a surge, a load) is
// bisected for D50, the size from which on half of the replications no longer recover.
//
// With common random numbers each replication has a threshold of its own: the size from which on it
// does not recover. The number of replications that tip at a size is then the number of thresholds
// below it, and bisection for the size at which at least r of n tip closes in on the r-th smallest
// threshold. The median of the thresholds is D50. Whatever their distribution, its median lies
// between the j-th smallest and the j-th largest threshold of n unless fewer than j of n fall on
// one of its sides. How many do is binomial with probability 1/2, and j is the largest number for
// which the interval misses the median with a probability of at most 5 %.
//
// From a file:
//
//     const Trigger trigger = parse_trigger("fault.outage.duration=0.9s:1.6s");
//     const TipResult r = find_tipping_point(scenarios_of("zombie.toml", {}, trigger),
//                                            {.first = trigger.first, .last = trigger.last});
//     if (r.point.d50) ... r.point.d50->middle() ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/replications.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/scenario_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace retrysim {

/// What one replication does at one size of the trigger.
enum class TippingResponse : std::uint8_t {
  kRecovers,
  kTips,
  kUnknown,  ///< the run was too short to tell
};

/// All replications at one size of the trigger.
struct TippingProbe {
  double value = 0;
  std::vector<TippingResponse> responses;  ///< by replication
  /// From the twins of those that tipped: how many recovered in time, and how many replications are
  /// therefore metastable.
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

/// What is known of the threshold of one replication.
struct TippingThreshold {
  std::optional<double> low;   ///< empty: it tips at the first size already
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
  kTipsAtFirst,     ///< half of the replications or more tip at the first size already
  kRecoversAtLast,  ///< fewer than half tip at the last
  kEndsExchanged,   ///< more than half tip at the first size, and fewer than half at the last
  kNotJudged,       ///< too many replications are unknown: at the first size, or from where on half
                    ///< would have to tip
};

struct TippingPoint {
  TippingOutcome outcome = TippingOutcome::kFound;
  std::vector<TippingProbe> probes;          ///< from the first size to the last
  std::vector<TippingThreshold> thresholds;  ///< by replication
  /// The median threshold lies in it; if the number of replications is even, from the middle of the
  /// bracket of the one to that of the other of the two in the middle. Exists if found.
  std::optional<TippingBracket> d50;
  /// 95 % interval of the median; an end is empty if it lies outside of the sizes searched or could
  /// not be judged, both with fewer than six replications.
  std::optional<double> ci_first, ci_last;
  std::size_t rank = 0;  ///< j, from 1; zero: too few replications for an interval
  double coverage = 0;   ///< of the interval, at least 0.95

  /// Replications that recover from a greater trigger than one they do not recover from.
  std::size_t not_monotone() const;
  /// Whether unknown responses are why that end of the interval is missing.
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
  /// is that of the whole search, and `progress` begins anew at each size.
  ReplicationOptions run;
  /// Called before each size is simulated, in the calling thread, with the number of the size (from
  /// 1) and the size; may be empty.
  std::function<void(int probe, double value)> probing;
};

struct TipResult {
  TippingSearch search;
  TippingPoint point;
  std::vector<std::string> notes;  ///< for the reader: what limits the answer
};

/// Bisects. Every size is simulated with the same number of replications (that of the scenario),
/// on common random numbers; those that tip run again without retries from the end of the trigger
/// on. Throws RequestError for an impossible search (equal ends; a tolerance outside of 1e-6 to
/// 0.5), what `scenario_at` throws, and what `run_replications` throws.
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

/// Loads `file` with `edits` and the trigger at `value`. Mistakes in the latter are ascribed to
/// `option`.
LoadResult load_at(const std::filesystem::path& file, std::vector<std::string> edits,
                   const Trigger& trigger, double value, const std::string& option = "--trigger");

/// `load_at` for `find_tipping_point`. What it returns throws RequestError if the scenario has a
/// mistake, with the first one as the message.
ScenarioAt scenarios_of(const std::filesystem::path& file, const std::vector<std::string>& edits,
                        const Trigger& trigger);

}  // namespace retrysim

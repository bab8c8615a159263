// Where does a system tip? A trigger of some size is applied to replications with common random
// numbers, and bisected.
//
// With common random numbers each replication has a threshold of its own: the size from which on it
// does not recover. The number of replications that tip at a size is then the number of thresholds
// below it, and bisection for the size at which at least r of n tip closes in on the r-th smallest
// threshold. The median of the thresholds is D50. Whatever their distribution, its median lies
// between the j-th smallest and the j-th largest threshold of n unless fewer than j of n fall on
// one of its sides, and that is a matter of tossing coins: j is the largest number for which the
// interval misses the median in at most 5 % of all cases.
//
// A replication that tips at one size and recovers at a greater one has no threshold; such
// replications are counted and told.
//
// Runs may be too short to tell whether they recover, and the greater the trigger the more of them
// are: a size that tips for sure is then looked for below, and what is unknown makes brackets
// wider.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace retrysim::stats {

enum class Response : std::uint8_t {
  kRecovers,
  kTips,
  kUnknown,  ///< the run was too short to tell
};

/// All replications at one size of the trigger.
struct TippingProbe {
  double value = 0;
  std::vector<Response> responses;  ///< by replication
  /// From the twins of those that tipped: how many recovered in time, and how many replications are
  /// metastable for it.
  std::size_t twin_recovered = 0, metastable = 0;

  std::size_t count(Response response) const;
  std::size_t tipped() const { return count(Response::kTips); }
  /// Replications of which is known whether they tip.
  std::size_t judged() const { return responses.size() - count(Response::kUnknown); }
};

/// Between two sizes that were tried, the lower one first in the direction of the search.
struct Bracket {
  double low = 0, high = 0;

  double middle() const { return (low + high) / 2; }
};

/// What is known of the threshold of one replication.
struct Threshold {
  std::optional<double> low;   ///< empty: it tips at the first size already
  std::optional<double> high;  ///< empty: it recovers even at the last
  bool monotone = true;        ///< it recovers up to `low` and tips from `high` on
};

struct TippingSearch {
  double first = 0, last = 0;  ///< sizes: expected to recover, to tip; `last` may be the smaller
  double tolerance = 0.01;     ///< a bracket this narrow, relative to its ends, is closed
  bool whole_numbers = false;
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
  std::vector<TippingProbe> probes;   ///< from the first size to the last
  std::vector<Threshold> thresholds;  ///< by replication
  /// The median threshold lies in it; if the number of replications is even, from the middle of the
  /// bracket of the one to that of the other of the two in the middle. Exists if found.
  std::optional<Bracket> d50;
  /// 95 % interval of the median; an end is empty if it lies outside of the sizes searched or could
  /// not be judged, both with fewer than six replications.
  std::optional<double> ci_first, ci_last;
  std::size_t rank = 0;  ///< j, from 1; zero: too few replications for an interval
  double coverage = 0;   ///< of the interval, at least 0.95

  std::size_t not_monotone() const;
  /// Whether unknown responses are why that end of the interval is missing.
  bool first_end_not_judged() const;
  bool last_end_not_judged() const;
  /// Index of the probe at which the share that tips is nearest to one half; of equals, the first
  /// where more than half tip.
  std::size_t nearest_probe() const;
};

/// The rank j for `n` replications; zero below six.
struct MedianRank {
  std::size_t rank = 0;
  double coverage = 0;
};
MedianRank median_rank(std::size_t n);

/// Bisects. `probe` says how each replication responds to a size; it is asked once for each size,
/// and always for the same number of replications, at least one. Replications of unknown response
/// count for the side that makes brackets wider.
TippingPoint find_tipping_point(const TippingSearch& search,
                                const std::function<std::vector<Response>(double)>& probe);

}  // namespace retrysim::stats

// How comparisons speak of metrics: the sentences that say what a variant does better or worse than
// the baseline.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/comparison.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// Whether a metric is 0 or 1 in each replication, so that its mean is a probability.
bool is_proportion(const MetricInfo& metric);

/// Whether people read its values as percentages, and differences in percentage points.
bool shown_as_percentage(const MetricInfo& metric);

/// Both sides are zero throughout: there is nothing to say.
bool is_nothing(const PairedDifference& difference);

/// A variant in a sentence: "full jitter" for the variant "jitter=full", "no jitter" for
/// "jitter=none"; numbers, several keys and "mode=none" as they are.
std::string spoken_name(std::string_view variant);

/// The size of a difference without its sign, with its interval: relative ("12 %", "9..15") where
/// that makes sense, as a factor ("9.1 times", "8.9..9.3") from twice as much on, in points for
/// shares and probabilities, else in the metric's unit.
struct Amount {
  std::string value;       ///< "12 %"
  std::string interval;    ///< "9..15", in the unit of the value; empty if there is none, or none
                           ///< as wide as the last digit
  bool is_factor = false;  ///< how many times as much as the baseline, not how much more
};
Amount amount_of(const ComparisonRow& row);

/// A difference that is real but too small to matter: below 1 %, for shares and probabilities below
/// a tenth of a point.
bool is_negligible(const ComparisonRow& row);

/// The client groups that are compared, in the order of calls, and last "all".
std::vector<std::string> clients_of(const ComparisonReport& comparison);

/// What each variant does differently, a sentence or two each: first where it matters most, then
/// at what price; and where no difference could be told from chance. For all clients together and,
/// where there are few, for each group.
std::vector<std::string> sentences(const ComparisonReport& comparison);

}  // namespace retrysim::report

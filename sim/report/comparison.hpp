// The output of `retrysim compare`: sentences on how each variant is better or worse than the
// baseline, and tables of the differences.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include "estimate/paired.hpp"
#include "estimate/told.hpp"
#include "report/document/document.hpp"
#include "report/run/evaluation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// Which replications of each variant tell whether they recover.
std::vector<stats::ToldRecoveries> told_by(std::span<const Evaluation> evaluations);

struct ComparisonReport {
  const Comparison& found;
  /// Evaluations of the variants, in the order of `found.variants`.
  std::span<const Evaluation> evaluations;
  bool was_asked_for = false;          ///< the user named the metrics
  std::vector<std::string> vary = {};  ///< what --vary was given, as the user wrote it
  bool show_variance = false;          ///< the table has the savings of common random numbers
  std::vector<stats::ToldRecoveries> told = told_by(evaluations);  ///< by variant

  std::size_t variants() const { return evaluations.size() - 1; }  ///< number without the baseline
  const Evaluation& baseline() const { return evaluations.front(); }
};

/// Whether both sides are zero throughout, so that there is no difference to report.
bool is_nothing(const PairedDifference& difference);
/// Whether both sides are the same throughout, but for rounding.
bool is_same(const PairedDifference& difference);

/// A variant in a sentence: "full jitter" for the variant "jitter=full", "no jitter" for
/// "jitter=none"; numbers, several keys and "mode=none" as they are.
std::string spoken_name(std::string_view variant);

/// The size of a difference without its sign, with its interval: relative ("12 %", "9..15") where
/// that makes sense, as a factor ("9.1 times", "8.9..9.3") from twice as much on, in points for
/// shares and probabilities, else in the metric's unit.
struct Amount {
  std::string value;  ///< the amount with its unit: "12 %"
  /// The ends of its interval in the unit of the value: "9..15"; empty if there is none, or if it
  /// is narrower than the last digit.
  std::string interval;
  bool is_factor = false;  ///< the value is a multiple of the baseline, not a difference from it
};
Amount amount_of(const ComparisonRow& row);

/// "-12 % (-15..-9) *": a difference with its interval, for a cell of a table; a star if it is
/// significant, a tilde if it also matters little. `replications`: how many there could be pairs
/// of. Null: there is no such difference.
std::string difference_cell(const ComparisonRow* row, std::size_t replications);

/// A share in percent with as many digits as tell it from another one, and from none and all:
/// "99.96 %", never "100 %" of what is less.
std::string telling_percent(double share, double other);

/// See retrysim/compare.hpp.
bool is_negligible(const ComparisonRow& row);

/// The client groups that are compared, in the order of calls, and last "all".
std::vector<std::string> clients_of(const ComparisonReport& comparison);

/// The differences of each variant in a sentence or two each: first the most important one, then
/// its price; and metrics whose differences could not be told from chance. For all clients together
/// and, where there are few, for each group.
std::vector<std::string> sentences(const ComparisonReport& comparison);

/// How a variant stands in one metric among all of them.
enum class Standing : std::uint8_t {
  /// Worse than the best; or no two variants could be told apart; or the metric has no better
  /// direction.
  kNone,
  kBest,    ///< better than every other variant
  kAsGood,  ///< has the best mean, or the pairs do not tell it from the best
};

/// The first screen: how each variant fares, for all clients together.
struct Overview {
  struct Column {
    const MetricInfo* metric = nullptr;  ///< never null
    std::string_view title;
  };
  struct Cell {
    std::optional<double> mean;  ///< mean as in summary.csv
    std::string text;            ///< mean as people read it; "-" without a value
    Standing standing = Standing::kNone;
  };
  std::vector<Column> columns;          ///< columns that some variant has
  std::vector<std::vector<Cell>> rows;  ///< cells by variant and column
  std::string legend;                   ///< the meaning of the marks
};
Overview overview_of(const ComparisonReport& comparison);

/// Notes on limitations of the comparison.
std::vector<std::string> comparison_notes(const ComparisonReport& comparison);

/// The comparison in sentences; where services call each other, the attempts of each layer for a
/// request; then for each client a table of metrics: the baseline's mean, and the difference of
/// each variant with its interval, marked where it is significant; if asked for, the savings of
/// common random numbers; and notes. compare.csv has a row for each variant, client and metric, and
/// result.json the same rows. The scenario files are up to the caller. Refers to the evaluations.
Document comparison_document(const ComparisonReport& comparison);

/// Adds the sentences, tables and notes of a comparison to a document of another command, which has
/// its own answer; then the members of result.json and all files, as `comparison_document` has
/// them.
void add_comparison(Document& document, const ComparisonReport& comparison);

/// The table compare.csv.
TableSource comparison_table(const ComparisonReport& comparison);

}  // namespace retrysim::report

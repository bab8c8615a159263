// What a comparison of variants found: the paired differences of every metric against the baseline,
// for each client group and for all together.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/variation.hpp>

#include "estimate/paired.hpp"
#include "report/evaluation.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// One variant against the baseline, for one metric of one client.
struct ComparisonRow {
  std::size_t variant = 0;  ///< index into Comparison::evaluations; never 0, the baseline
  std::string client;       ///< name of a group, or "all"
  const MetricInfo* metric = nullptr;  ///< never null
  stats::PairedDifference difference;
};

struct Comparison {
  /// The variants; the first one is the baseline.
  std::span<const Evaluation> evaluations;
  /// Groups that some variant has, in their order, if there are several; then "all".
  std::vector<std::string> clients;
  std::vector<const MetricInfo*> metrics;
  bool was_asked_for = false;  ///< the user named the metrics
  /// By variant, client and metric. What exists on neither side has no row; what exists on one
  /// side only has a row with no pairs.
  std::vector<ComparisonRow> rows;
  /// What was varied, as the user wrote it.
  std::vector<std::string> vary;

  std::size_t variants() const { return evaluations.size() - 1; }  ///< without the baseline
  const Evaluation& baseline() const { return evaluations.front(); }
  /// Null if there is none.
  const ComparisonRow* find(std::size_t variant, std::string_view client,
                            const MetricInfo& metric) const;
};

/// Compares `metrics` of all evaluations (at least one) with those of the first.
Comparison compare(std::span<const Evaluation> evaluations, std::vector<const MetricInfo*> metrics);

}  // namespace retrysim::report

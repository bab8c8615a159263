// A comparison of variants with what tables and files say about it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include "estimate/paired.hpp"
#include "report/evaluation.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace retrysim::report {

struct ComparisonReport {
  const Comparison& found;
  /// Of the variants, in their order.
  std::span<const Evaluation> evaluations;
  bool was_asked_for = false;     ///< the user named the metrics
  std::vector<std::string> vary;  ///< what was varied, as the user wrote it
  bool show_variance = false;     ///< the table has what common random numbers saved

  std::size_t variants() const { return evaluations.size() - 1; }  ///< without the baseline
  const Evaluation& baseline() const { return evaluations.front(); }
};

}  // namespace retrysim::report

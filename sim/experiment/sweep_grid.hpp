// The points of a sweep, each made from one scenario file that is parsed once.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/sweep.hpp>

#include "scenario/scenario_reader.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::experiment {

/// The variants of a sweep, or of a shard of it, and the scenario they start from.
class SweepGrid {
 public:
  /// Null, with `errors`, if something is wrong with the variations. Throws RequestError if there
  /// are too many points, and LimitExceeded if their list takes too much memory.
  static std::shared_ptr<const SweepGrid> of(const SweepRequest& request, std::string_view text,
                                             std::vector<Diagnostic>& errors);

  const std::vector<Variant>& variants() const { return variants_; }
  std::size_t grid_points() const { return grid_points_; }
  std::vector<std::string> paths() const;
  LoadResult load_base() const { return reader_.load(); }
  LoadResult load(std::size_t point) const { return reader_.load(variants_[point].edits); }
  /// The scenario of a point that has been valid before. Throws std::runtime_error if it is not.
  std::shared_ptr<const Scenario> scenario(std::size_t point) const;

 private:
  SweepGrid(const SweepRequest& request, std::string_view text);

  scenario::ScenarioReader reader_;
  std::vector<Variation> variations_;
  std::vector<Variant> variants_;
  std::size_t grid_points_ = 0;
};

}  // namespace retrysim::experiment

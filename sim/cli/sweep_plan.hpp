// What a sweep is going to do: the points of its grid, each validated before anything runs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>
#include <retrysim/variation.hpp>

#include "execution/journal.hpp"
#include "report/sweep_files.hpp"
#include "scenario/scenario_reader.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {

/// What the command line asks for.
struct SweepRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits;    ///< --set, --seed, --replications
  std::vector<std::string> varying;  ///< --vary
  std::optional<report::Shard> shard;
  std::uint64_t max_memory = ~std::uint64_t{0};  ///< bytes that the list of points may take
};

/// The variants of a sweep, or of a shard of it, and the scenario they start from.
class SweepPoints {
 public:
  /// Prints what is wrong with --vary; throws UsageError if there are too many points.
  static std::optional<SweepPoints> of(const SweepRequest& request, std::string_view text);

  std::size_t count() const { return variants_.size(); }
  std::size_t grid_count() const { return grid_count_; }
  const Variant& variant(std::size_t point) const { return variants_[point]; }
  std::vector<std::string> paths() const;
  LoadResult load_base() const { return reader_->load(); }
  LoadResult load(std::size_t point) const { return reader_->load(variants_[point].edits); }

 private:
  SweepPoints(const SweepRequest& request, std::string_view text);

  std::unique_ptr<scenario::ScenarioReader> reader_;
  std::vector<Variation> variations_;
  std::vector<Variant> variants_;
  std::size_t grid_count_ = 0;
};

/// Points that are all valid, and what is known of each.
struct SweepPlan {
  SweepPoints points;
  std::string text;  ///< of the scenario file
  LoadedScenario base;
  std::vector<std::uint32_t> replications;
  /// The scenario of each point; of one that may be large only what result files need: name, seed,
  /// length, names of the client groups, expectations.
  std::vector<std::shared_ptr<const Scenario>> outlines;
  std::vector<bool> is_whole;  ///< whether an outline is the whole scenario
  execution::Identity identity;
  std::uint64_t id = 0;  ///< of the identity without the shard
};

/// Loads the base and every point. Prints what is wrong, at most 20 mistakes, each with the points
/// it concerns; nothing then. Throws Interrupted.
std::optional<SweepPlan> plan_sweep(const SweepRequest& request);

}  // namespace retrysim::cli

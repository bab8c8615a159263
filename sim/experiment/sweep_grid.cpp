// SPDX-License-Identifier: MIT
#include "experiment/sweep_grid.hpp"

#include <retrysim/needs.hpp>
#include <retrysim/request_error.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <stdexcept>
#include <utility>

namespace retrysim::experiment {

SweepGrid::SweepGrid(const SweepRequest& request, std::string_view text)
    : reader_(text, request.scenario.string(), request.scenario.parent_path(), request.edits) {}

std::shared_ptr<const SweepGrid> SweepGrid::of(const SweepRequest& request, std::string_view text,
                                               std::vector<Diagnostic>& errors) {
  VariationsResult parsed = parse_variations(request.varying);
  if (!parsed.errors.empty()) {
    errors = std::move(parsed.errors);
    return nullptr;
  }
  const std::shared_ptr<SweepGrid> result(new SweepGrid(request, text));
  result->variations_ = std::move(parsed.variations);
  try {
    if (const double bytes = grid_bytes(result->variations_);
        bytes > static_cast<double>(request.max_memory)) {
      throw LimitExceeded(
          fmt::format("the list of points takes about {} of memory, but only {} may be used "
                      "(--max-memory); give --vary fewer values",
                      to_text_of_bytes(static_cast<std::uint64_t>(std::min(bytes, 1e18))),
                      to_text_of_bytes(request.max_memory)),
          LimitKind::kMemory);
    }
    result->variants_ = grid(result->variations_);
  } catch (const std::length_error& e) {
    throw RequestError(fmt::format("--vary: {}", e.what()));
  }
  result->grid_points_ = result->variants_.size();
  if (request.shard) {
    std::vector<Variant> own;
    for (std::size_t i = request.shard->index - 1; i < result->variants_.size();
         i += request.shard->count) {
      own.push_back(std::move(result->variants_[i]));
    }
    result->variants_ = std::move(own);
  }
  return result;
}

std::vector<std::string> SweepGrid::paths() const {
  std::vector<std::string> paths;
  for (const Variation& v : variations_) {
    paths.insert(paths.end(), v.paths.begin(), v.paths.end());
  }
  return paths;
}

std::shared_ptr<const Scenario> SweepGrid::scenario(std::size_t point) const {
  LoadResult result = load(point);
  if (!result.loaded) throw std::runtime_error(to_string(result.errors.front()));
  return std::make_shared<const Scenario>(std::move(result.loaded->scenario));
}

}  // namespace retrysim::experiment

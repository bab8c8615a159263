// A scenario file that is parsed once, and from which many variants are loaded.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/problems.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// The largest scenario file that is read.
inline constexpr std::uintmax_t kMaxScenarioBytes = std::uintmax_t{64} << 20;

class ScenarioReader {
 public:
  /// Parses `text` and applies `edits`, as given to --set. `file` names it in messages; CSV inputs
  /// are relative to `directory`. Mistakes come with every `load`.
  ScenarioReader(std::string_view text, const std::string& file, std::filesystem::path directory,
                 const std::vector<std::string>& edits);
  /// A reader with CSV inputs of `inputs` only, which must outlive the object.
  ScenarioReader(std::string_view text, const std::string& file, const InputTexts& inputs,
                 const std::vector<std::string>& edits);

  /// The scenario with the edits of a `Variant`. CSV inputs are read once, by the first variant
  /// that names them. Any number of threads may load at once.
  LoadResult load(const std::vector<std::string>& variant_edits = {}) const& {
    return load(variant_edits, memory_.get());
  }
  /// For a reader that loads only once, which keeps nothing for later.
  LoadResult load(const std::vector<std::string>& variant_edits = {}) && {
    return load(variant_edits, nullptr);
  }

 private:
  LoadResult load(const std::vector<std::string>& variant_edits, CsvMemory* memory) const;

  Sources sources_;
  Problems problems_;
  std::optional<Node> file_;  // if it has been edited: as it was before
  std::vector<std::string> edits_;
  std::vector<std::string> notes_;  ///< of names of earlier versions
  std::optional<Node> root_;
  std::filesystem::path directory_;
  const InputTexts* inputs_ = nullptr;
  std::unique_ptr<CsvMemory> memory_ = std::make_unique<CsvMemory>();
};

}  // namespace retrysim::scenario

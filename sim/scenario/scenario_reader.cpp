// Loading a scenario: parse and edit once; then for each variant edit, inherit, check names,
// resolve.
//
// SPDX-License-Identifier: MIT
#include "scenario/scenario_reader.hpp"

#include "scenario/csv_inputs.hpp"
#include "scenario/edits.hpp"
#include "scenario/inheritance.hpp"
#include "scenario/resolve.hpp"

#include <utility>

namespace retrysim::scenario {
namespace {

void apply(std::string_view option, const std::vector<std::string>& edits, Node& root,
           Sources& sources, Problems& problems) {
  for (const std::string& edit : edits) {
    apply_edit(root, sources, sources.add(std::string(option), edit), problems);
  }
}

}  // namespace

ScenarioReader::ScenarioReader(std::string_view text, const std::string& file,
                               std::filesystem::path directory,
                               const std::vector<std::string>& edits)
    : problems_(sources_), directory_(std::move(directory)) {
  root_ = parse_document(sources_, sources_.add(file, std::string(text)), problems_);
  if (root_) apply(kEditFile, edits, *root_, sources_, problems_);
}

LoadResult ScenarioReader::load(const std::vector<std::string>& variant_edits) const {
  Sources sources = sources_;
  Problems problems(problems_, sources);
  LoadResult result;
  if (root_) {
    Node root = *root_;
    apply(kVaryFile, variant_edits, root, sources, problems);
    const auto incomplete = apply_like(root, problems);
    check_names(root, problems);
    CsvFiles files(directory_, sources, problems);
    LoadedScenario loaded = resolve(root, incomplete, files);
    if (problems.empty()) result.loaded = std::move(loaded);
  }
  result.errors = problems.diagnostics();
  return result;
}

}  // namespace retrysim::scenario

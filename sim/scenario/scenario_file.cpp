// Loading a scenario: parse, edit, inherit, check names, resolve; and writing it back.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario_file.hpp>

#include "scenario/csv_inputs.hpp"
#include "scenario/document.hpp"
#include "scenario/edits.hpp"
#include "scenario/inheritance.hpp"
#include "scenario/problems.hpp"
#include "scenario/resolve.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace retrysim {
namespace {

constexpr std::uintmax_t kMostScenarioBytes = std::uintmax_t{64} << 20;

// The part of a path that makes a TOML section: "client.web" of "client.web.retry.mode".
std::string_view section_of(std::string_view path) {
  for (const std::string_view kind : {"service.", "fault.", "client.", "expect."}) {
    if (path.starts_with(kind)) return path.substr(0, path.find('.', kind.size()));
  }
  return {};
}

std::string origin_text(const ResolvedKey& key) {
  switch (key.origin) {
    case Origin::kDefault:
      return key.origin_detail.empty() ? "default" : key.origin_detail;
    case Origin::kPreset:
      return "preset " + key.origin_detail;
    case Origin::kEnvironment:
      return "environment " + key.origin_detail;
    case Origin::kScenario:
    case Origin::kSet:
      break;
  }
  return key.origin_detail;
}

}  // namespace

LoadResult load_scenario_text(std::string_view text, const std::string& file,
                              const std::filesystem::path& directory,
                              const std::vector<std::string>& edits,
                              const std::vector<std::string>& variant_edits) {
  scenario::Sources sources;
  scenario::Problems problems(sources);
  const int source = sources.add(file, std::string(text));
  LoadResult result;
  auto root = scenario::parse_document(sources, source, problems);
  if (root) {
    const auto apply = [&](std::string_view option, const std::vector<std::string>& texts) {
      for (const std::string& edit : texts) {
        scenario::apply_edit(*root, sources, sources.add(std::string(option), edit), problems);
      }
    };
    apply(scenario::kEditFile, edits);
    apply(scenario::kVaryFile, variant_edits);
    const auto incomplete = scenario::apply_like(*root, problems);
    scenario::check_names(*root, problems);
    scenario::CsvFiles files(directory, sources, problems);
    LoadedScenario loaded = scenario::resolve(*root, incomplete, files);
    if (problems.empty()) result.loaded = std::move(loaded);
  }
  result.errors = problems.diagnostics();
  return result;
}

LoadResult load_scenario_file(const std::filesystem::path& path,
                              const std::vector<std::string>& edits,
                              const std::vector<std::string>& variant_edits) {
  std::string error;
  const auto text = scenario::read_whole_file(path, kMostScenarioBytes, error);
  if (text) {
    return load_scenario_text(*text, path.string(), path.parent_path(), edits, variant_edits);
  }
  LoadResult result;
  Diagnostic& d = result.errors.emplace_back();
  d.file = path.string();
  d.message = error;
  return result;
}

std::string to_toml(const LoadedScenario& loaded, bool with_origins) {
  constexpr std::size_t kCommentColumn = 50;
  std::string result;
  std::string_view section;
  for (const ResolvedKey& key : loaded.keys) {
    // Its effect is written out, so that the file means the same everywhere.
    if (!with_origins && key.path.ends_with(".retry.from_environment")) continue;
    const std::string_view own = section_of(key.path);
    if (own != section) {
      section = own;
      result += "\n[" + std::string(section) + "]\n";
    }
    std::string_view name = key.path;
    if (!section.empty()) name.remove_prefix(section.size() + 1);
    std::string line = std::string(name) + " = " + key.toml;
    if (with_origins) {
      line.resize(std::max(line.size() + 1, kCommentColumn), ' ');
      line += "# " + origin_text(key);
    }
    result += line + "\n";
  }
  return result;
}

}  // namespace retrysim

// SPDX-License-Identifier: MIT
#include "report/document/heading.hpp"

#include "report/document/text.hpp"
#include "scenario/text/changes.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace retrysim::report {

namespace {

// A title is one line; a description may be a paragraph.
constexpr std::size_t kMaxInTitle = 3, kMaxInDescription = 10;
constexpr std::size_t kLongestPath = 60, kLongestInTitle = 40, kLongestInDescription = 80;

std::string shortened(std::string_view text, std::size_t columns) {
  if (scenario::columns_of(text) <= columns) return std::string(text);
  std::string result;
  for (std::size_t i = 1; i < columns; ++i) {
    const std::string_view character = scenario::first_character(text);
    result += character;
    text.remove_prefix(character.size());
  }
  return result + "…";
}

/// Changes as a list: "a = 1, b = 2 and c = 3"; of many changes the first ones "and 4 more".
std::string list_of(const std::vector<ScenarioChange>& changes, std::size_t most,
                    std::size_t longest) {
  const std::size_t count = changes.size();
  const std::size_t shown = count <= most ? count : most - 1;
  std::string list;
  for (std::size_t i = 0; i < shown; ++i) {
    list += i == 0 ? "" : i + 1 == count ? " and " : ", ";
    list += fmt::format("{} = {}", shortened(changes[i].path, kLongestPath),
                        shortened(changes[i].value, longest));
  }
  return shown < count ? fmt::format("{} and {} more", list, count - shown) : list;
}

bool is_edited(const LoadedScenario& scenario, std::string_view path) {
  return std::any_of(scenario.keys.begin(), scenario.keys.end(), [&](const ResolvedKey& key) {
    return key.path == path && key.origin == Origin::kSet;
  });
}

Heading heading_with(const LoadedScenario& loaded, std::vector<ScenarioChange> changes) {
  const Scenario& scenario = loaded.scenario;
  Heading heading{scenario.name, scenario.name, scenario.description, std::move(changes)};
  if (heading.changes.empty()) return heading;
  heading.title += ", with " + list_of(heading.changes, kMaxInTitle, kLongestInTitle);
  heading.description =
      fmt::format("Changed from the file: {}.",
                  list_of(heading.changes, kMaxInDescription, kLongestInDescription));
  if (scenario.description.empty()) return heading;
  heading.description += is_edited(loaded, "description")
                             ? " " + scenario.description
                             : " Description of the unchanged file: " + scenario.description;
  return heading;
}

}  // namespace

std::string Heading::text() const { return description.empty() ? name : name + ": " + description; }

Heading heading_of(const LoadedScenario& scenario, std::span<const std::string> varied) {
  std::vector<ScenarioChange> changes = scenario.changes;
  std::erase_if(changes, [&](const ScenarioChange& change) {
    return std::any_of(varied.begin(), varied.end(), [&](const std::string& path) {
      return scenario::covers(path, change.path);
    });
  });
  return heading_with(scenario, std::move(changes));
}

Heading heading_of(const std::vector<const LoadedScenario*>& variants) {
  std::vector<ScenarioChange> changes = variants.front()->changes;
  std::erase_if(changes, [&](const ScenarioChange& change) {
    return std::any_of(variants.begin(), variants.end(), [&](const LoadedScenario* variant) {
      return std::find(variant->changes.begin(), variant->changes.end(), change) ==
             variant->changes.end();
    });
  });
  return heading_with(*variants.front(), std::move(changes));
}

}  // namespace retrysim::report

// SPDX-License-Identifier: MIT
#include "cli/key_completion.hpp"

#include <retrysim/presets.hpp>
#include <retrysim/scenario_file.hpp>

#include "scenario/keys.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <set>

namespace retrysim::cli {
namespace {

using scenario::KeyInfo;
using scenario::NameTree;
using scenario::ValueKind;

std::vector<std::string_view> names_in(std::string_view path) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t dot = path.find('.');
    names.push_back(path.substr(0, dot));
    if (dot == path.npos) return names;
    path.remove_prefix(dot + 1);
  }
}

bool is_number(const KeyInfo& key) {
  return key.rules.kind == ValueKind::kDuration || key.rules.kind == ValueKind::kNumber ||
         key.rules.kind == ValueKind::kCount || key.rules.kind == ValueKind::kDistribution;
}

/// Whether there is a key of interest at or below `tree`.
bool has_keys(const NameTree& tree, bool only_numbers) {
  if (tree.key != nullptr && (!only_numbers || is_number(*tree.key))) return true;
  return std::any_of(tree.children.begin(), tree.children.end(),
                     [&](const NameTree& child) { return has_keys(child, only_numbers); });
}

/// The names that the scenario uses where `parents` end, a star among them being any name; a star,
/// too.
std::set<std::string> entity_names(const std::string& path,
                                   const std::vector<std::string_view>& parents) {
  std::set<std::string> found = {"*"};
  if (path.empty()) return found;
  const LoadResult result = load_scenario_file(path);
  if (!result.loaded) return found;
  for (const ResolvedKey& key : result.loaded->keys) {
    const auto names = names_in(key.path);
    const bool below = names.size() > parents.size() &&
                       std::equal(parents.begin(), parents.end(), names.begin(),
                                  [](std::string_view wanted, std::string_view name) {
                                    return wanted == "*" || wanted == name;
                                  });
    if (below) found.emplace(names[parents.size()]);
  }
  return found;
}

/// The names that presets have for retry.revision, retry.sdk or retry.api.
std::vector<std::string> words_of_presets(std::string_view key) {
  if (key == "retry.api") return {known_apis().begin(), known_apis().end()};
  std::set<std::string> words;
  for (const Preset& preset : presets()) {
    const std::string_view word = key == "retry.sdk"        ? preset.sdk
                                  : key == "retry.revision" ? preset.revision
                                                            : "";
    if (!word.empty()) words.emplace(word);
  }
  if (key == "retry.sdk") {
    for (const TurningPoint& p : turning_points()) {
      words.insert(std::string(p.sdk) + '@' + std::string(p.version));
    }
  }
  return {words.begin(), words.end()};
}

}  // namespace

std::vector<std::string> values_of(const KeyInfo& key) {
  std::vector<std::string> values;
  if (key.role == scenario::KeyRole::kPresetChoice) values = words_of_presets(key.name);
  if (key.rules.kind == ValueKind::kBoolean) values = {"false", "true"};
  for (const std::string_view word : scenario::split_words(key.rules.words)) {
    if (!word.empty()) values.emplace_back(word);
  }
  if (!key.rules.else_word.empty()) values.emplace_back(key.rules.else_word);
  return values;
}

std::vector<std::string> KeyCompletion::candidates(std::string_view word) const {
  std::vector<std::string> result;
  const std::size_t equals = word.find('=');
  // Of keys that move together (A,B=...) the last, and of values that commas separate.
  const std::size_t comma = word.find_last_of(",(");
  if (equals != word.npos) {
    const std::string_view paths = word.substr(0, equals);
    const std::string path(paths.substr(paths.rfind(',') + 1));
    const KeyInfo* key = retrysim::scenario::find_key(prefix + path);
    if (key == nullptr) return {};
    const std::size_t start = comma == word.npos || comma < equals ? equals + 1 : comma + 1;
    for (const std::string& value : values_of(*key)) {
      if (value.starts_with(word.substr(start))) {
        result.push_back(std::string(word.substr(0, start)) + value);
      }
    }
    return result;
  }
  const std::size_t start = comma == word.npos ? 0 : comma + 1;
  const std::string path = prefix + std::string(word.substr(start));
  std::vector<std::string_view> parents = names_in(path);
  const std::string_view unfinished = parents.back();
  parents.pop_back();
  const NameTree* tree = &retrysim::scenario::name_tree();
  for (const std::string_view name : parents) {
    tree = tree->find(name);
    if (tree == nullptr) return {};
  }
  const std::string before(word.substr(0, word.size() - unfinished.size()));
  for (const NameTree& child : tree->children) {
    if (!has_keys(child, only_numbers)) continue;
    std::set<std::string> names = {std::string(child.name)};
    if (child.name == "*") names = entity_names(this->scenario, parents);
    for (const std::string& name : names) {
      if (!name.starts_with(unfinished)) continue;
      if (child.key != nullptr && (!only_numbers || is_number(*child.key))) {
        result.push_back(before + name + "=");
      }
      if (!child.children.empty()) result.push_back(before + name + ".");
    }
  }
  return result;
}

}  // namespace retrysim::cli

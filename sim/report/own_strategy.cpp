// SPDX-License-Identifier: MIT
#include "report/own_strategy.hpp"

#include "scenario/text/document.hpp"
#include "scenario/text/names.hpp"

#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace retrysim::report {
namespace {

constexpr std::string_view kRules = ".retry.", kKey = ".retry.strategy";

}  // namespace

void name_strategy(LoadedScenario& loaded, const ClientSpec& group, const std::string& strategy) {
  const std::string path = scenario::path_of(group);
  ResolvedKey key{path + std::string(kKey), scenario::render_text(strategy), Origin::kFound,
                  "this file by itself does not repeat the run"};
  std::erase_if(loaded.keys, [&](const ResolvedKey& k) { return k.path == key.path; });
  auto place = loaded.keys.end();
  for (auto k = loaded.keys.begin(); k != loaded.keys.end(); ++k) {
    if (k->path.starts_with(path + std::string(kRules))) place = k + 1;
  }
  loaded.keys.insert(place, std::move(key));
}

std::vector<std::string> notes_on_strategies(const LoadedScenario& loaded) {
  std::vector<std::string> notes;
  for (const ResolvedKey& key : loaded.keys) {
    if (!key.path.ends_with(kKey)) continue;
    std::string strategy = scenario::shown_value(key.toml);
    std::erase(strategy, '"');
    notes.push_back(
        fmt::format("{} retries as the {} says; of the rules in retry only those that tell which "
                    "errors are worth a retry apply",
                    key.path.substr(0, key.path.size() - kKey.size()), strategy));
  }
  return notes;
}

}  // namespace retrysim::report

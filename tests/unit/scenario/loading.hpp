// What the scenario tests share: loading from text, and a folder for CSV inputs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace retrysim {

using Edits = std::vector<std::string>;
using test::TemporaryFolder;

/// Every error, as the user sees it, a line end after each.
inline std::string errors_of(const LoadResult& result) {
  std::string text;
  for (const Diagnostic& d : result.errors) text += to_string(d) + "\n";
  return text;
}

inline std::string errors_of(const std::string& text, const Edits& edits = {},
                             const std::filesystem::path& folder = {}) {
  const LoadResult result = load_scenario_text(text, "demo.toml", folder, edits);
  CHECK(result.loaded.has_value() == result.errors.empty());
  return errors_of(result);
}

/// The scenario; the test fails with the errors if there is none.
inline LoadedScenario load(const std::string& text, const Edits& edits = {},
                           const std::filesystem::path& folder = {}) {
  LoadResult result = load_scenario_text(text, "demo.toml", folder, edits);
  INFO(errors_of(result));
  REQUIRE(result.loaded.has_value());
  return *std::move(result.loaded);
}

/// A literal is text, too, and no path.
inline LoadedScenario load(const char* text, const Edits& edits = {},
                           const std::filesystem::path& folder = {}) {
  return load(std::string(text), edits, folder);
}

/// The value of a resolved key as TOML; empty if there is no such key.
inline std::string value_of(const LoadedScenario& loaded, const std::string& path) {
  for (const ResolvedKey& key : loaded.keys) {
    if (key.path == path) return key.toml;
  }
  return "";
}

/// The least that a scenario must say.
inline const std::string kSmall = R"(name = "small"
duration = "10s"
[service.api]
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", rate = 5 }
retry.mode = "none"
)";

}  // namespace retrysim

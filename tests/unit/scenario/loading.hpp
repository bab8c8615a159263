// What the scenario tests share: loading from text, and a folder for CSV inputs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace retrysim {

using Edits = std::vector<std::string>;

/// A folder of its own that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("retrysim-scenario-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

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

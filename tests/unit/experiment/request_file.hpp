// A scenario file, and a folder of its own, for tests of experiments that read one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "temporary_folder.hpp"

#include <filesystem>
#include <string>

namespace retrysim::test {

/// A service of 100 requests/s for 20 clients, and an outage of a tenth of a second.
inline constexpr const char* kSmallScenario = R"(
name = "small"
duration = "4s"
replications = 3
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "20ms" }
queue = { capacity = 50 }
[fault.outage]
start = "1s"
duration = "100ms"
capacity = 0
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 60 }
attempt_timeout = "500ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "10ms", cap = "1s" } }
)";

/// A folder that goes away with the test, with `kSmallScenario` in it.
class RequestFile {
 public:
  explicit RequestFile(const std::string& text = kSmallScenario) {
    folder_.write("small.toml", text);
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path scenario() const { return folder() / "small.toml"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace retrysim::test

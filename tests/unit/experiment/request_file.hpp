// A scenario file, and a folder of its own, for tests of experiments that read one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>
#include <filesystem>
#include <fstream>
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
    std::string name =
        (std::filesystem::temp_directory_path() / "retrysim-request-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::ofstream(scenario()) << text;
  }
  ~RequestFile() { std::filesystem::remove_all(folder_); }
  RequestFile(const RequestFile&) = delete;
  RequestFile& operator=(const RequestFile&) = delete;

  std::filesystem::path folder() const { return folder_; }
  std::filesystem::path scenario() const { return folder_ / "small.toml"; }

 private:
  std::filesystem::path folder_;
};

}  // namespace retrysim::test

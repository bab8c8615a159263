// Results of load tests are no access logs: they have the latency that a client saw, network and
// connections included, of requests that a fixed number of users or a fixed rate made. Files with a
// line for each request are read as such; summaries are refused, since no distribution is in them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/formats.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace retrysim::fit {

enum class LoadTool : std::uint8_t { kJmeter, kK6, kVegeta, kHey, kOha };

/// How the results of a load test are read.
struct LoadTestFormat {
  LoadTool tool = LoadTool::kJmeter;
  Format format;
  bool has_header = true;  ///< CSV
  /// Only lines whose `kFilter` is this; empty: all.
  std::string filter;
};

/// The lines that a tool writes for each request; nothing if they are none of a load test. Throws
/// BadLog, which says what the file is and what to do, for a summary. `file` is for the message.
std::optional<LoadTestFormat> load_test_of(std::span<const std::string_view> lines,
                                           const std::string& file);

/// What came of a request of a load test.
struct LoadTestAnswer {
  int status = 0;
  bool gave_up = false;  ///< the client's timeout ended it
};

/// A request without an answer, other than by a timeout: no connection, a connection that broke.
inline constexpr int kNoAnswer = 599;

/// Whether a line adds up those of several requests, as JMeter's Transaction Controllers write it.
/// `message` is that of the error column.
bool is_sum_of_requests(const LoadTestFormat& test, std::string_view message);

/// The meaning of the tool's words for the status and for the error.
LoadTestAnswer answer_of(LoadTool tool, std::string_view status, std::string_view error);

/// What is known of a load test besides its requests.
struct LoadTest {
  std::string tool;                  ///< "JMeter"
  std::optional<std::size_t> users;  ///< who made requests one after the other, if it is known
  bool users_change = false;         ///< they were not as many all the time
  std::size_t no_answers = 0, timeouts = 0;
  double think_s = 0;  ///< the mean pause of a user between two requests, if users are known
};

std::string_view tool_name(LoadTool tool);

}  // namespace retrysim::fit

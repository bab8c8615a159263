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
  /// The value that `kFilter` of a line must have; empty: all lines are read.
  std::string filter;
};

/// The format in which a tool writes a line for each request; empty if the lines are not those of a
/// load test. Throws BadLog, which says what the file is and what to do, for a summary. `file` is
/// for the message.
std::optional<LoadTestFormat> load_test_of(std::span<const std::string_view> lines,
                                           const std::string& file);

/// The outcome of a request in a load test.
struct LoadTestAnswer {
  int status = 0;
  bool gave_up = false;  ///< the client's timeout ended it
};

/// The status of a request that failed without an answer other than by a timeout: no connection, or
/// a broken one.
inline constexpr int kNoAnswer = 599;

/// Whether a line is the sum of several requests, as JMeter's Transaction Controllers write it.
/// `message` is the text of the error column.
bool is_sum_of_requests(const LoadTestFormat& test, std::string_view message);

/// The meaning of the tool's words for the status and for the error.
LoadTestAnswer answer_of(LoadTool tool, std::string_view status, std::string_view error);

/// What is known of a load test besides its requests.
struct LoadTest {
  std::string tool;  ///< "JMeter"
  /// Users that make requests one after the other; empty if unknown.
  std::optional<std::size_t> users;
  bool users_change = false;  ///< the number of users changed during the test
  std::size_t no_answers = 0, timeouts = 0;
  double think_s = 0;  ///< the mean pause of a user between two requests, if users are known
};

std::string_view tool_name(LoadTool tool);

}  // namespace retrysim::fit

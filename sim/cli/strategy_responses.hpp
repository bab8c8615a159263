// What the option --responses of `retrysim strategy` says: responses separated by commas, calls by
// semicolons.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/response.hpp>
#include <retrysim/time.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace retrysim::cli {

struct ListedResponse {
  std::string text;  ///< as the user wrote it
  Response response;
  Duration pause = {};              ///< before the call; only in its first response
  Duration takes = {};              ///< from the attempt to its answer
  std::optional<double> draw = {};  ///< in [0, 1]: replaces the random draws that follow it
};

/// The responses to one call, in order.
using Call = std::vector<ListedResponse>;

/// `status[:code][+retry-after=DURATION]`, also with what the service's model says about the error
/// (add_trait), `timeout` or `connect`. Throws UsageError.
Response parse_response(std::string_view text);

/// Throws UsageError, which names the first bad response and its position.
std::vector<Call> parse_calls(std::string_view text);

/// The parts of `text` between separators, without blanks around them.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The number that the whole of `text` spells, if it does.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

}  // namespace retrysim::cli

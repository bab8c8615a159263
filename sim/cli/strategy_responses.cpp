// Parses what `retrysim strategy` is told to answer:
// `status[:code][+retry-after=DURATION][+retryable]...`, `timeout` or `connect`. A duration without
// a unit is in milliseconds, as in the header. One whose value no client could read is kept as no
// suggestion, because ignoring it is one of the rules that can be tried out here.
//
// SPDX-License-Identifier: MIT
#include "cli/strategy_responses.hpp"

#include "cli/commands.hpp"
#include "report/terminal.hpp"
#include "scenario/values.hpp"

#include <fmt/format.h>

namespace retrysim::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The milliseconds that a duration with a unit stands for, as the header would have them; empty
/// for what is none, which is left to the clients to read or to ignore.
std::string in_milliseconds(std::string_view text) {
  const bool has_unit = text.find_first_of("nmsuh") != std::string_view::npos;
  const auto written = has_unit ? scenario::parse_duration(text) : std::nullopt;
  if (!written || written->duration < Duration::zero()) return "";
  const std::int64_t ns = written->duration.count();
  if (ns % 1'000'000 != 0) {
    throw UsageError(
        fmt::format("retry-after={} is not a whole number of milliseconds, which is what the "
                    "header takes",
                    text));
  }
  return std::to_string(ns / 1'000'000);
}

/// "retry-after=1500ms", "retry-after=1.5s"; without a unit milliseconds, as in the header itself.
/// Or what the service's model says about the error: "retryable", "throttling".
void parse_addition(std::string_view header, Response& response) {
  if (add_trait(header, response.traits)) return;
  const std::size_t equals = header.find('=');
  const std::string_view name = trimmed(header.substr(0, equals));
  if (name != "retry-after") {
    throw UsageError(
        fmt::format("unknown addition '{}'; known are retry-after, as in 500+retry-after=1500ms, "
                    "and what a service's model says about an error: retryable, not-retryable, "
                    "maybe-retryable, throttling, timeout, client-fault, server-fault",
                    name));
  }
  if (equals == std::string_view::npos) {
    throw UsageError("retry-after has no value; write it as in 500+retry-after=1500ms");
  }
  const std::string_view value = trimmed(header.substr(equals + 1));
  const std::string milliseconds = in_milliseconds(value);
  response.retry_after = parse_retry_after(milliseconds.empty() ? value : milliseconds);
  if (response.retry_after) return;
  // What a client cannot read it ignores, and so does the strategy: that can be tried out here.
  report::print_error(
      "note: '{}' is ignored, as clients do with a value that is not a whole number of "
      "milliseconds of at least 0\n",
      header);
}

}  // namespace

Response parse_response(std::string_view text) {
  Response response;
  const std::vector<std::string_view> parts = split(text, '+');
  if (text.empty()) throw UsageError("it is empty");
  if (parts[0] == "timeout" || parts[0] == "connect") {
    response.transport =
        parts[0] == "timeout" ? TransportError::kTimeout : TransportError::kConnection;
    if (parts.size() > 1) throw UsageError("an attempt without an answer has no headers");
    return response;
  }
  const std::size_t colon = parts[0].find(':');
  const auto status = parse_number<int>(parts[0].substr(0, colon));
  if (!status || *status < 100 || *status > 599) {
    throw UsageError(
        "a response is an HTTP status from 100 to 599 with an optional error code "
        "(400:ThrottlingException), or timeout, or connect");
  }
  response.status = *status;
  if (colon != std::string_view::npos) {
    response.code = parts[0].substr(colon + 1);
    if (response.code.empty()) throw UsageError("there is no error code after the colon");
  }
  for (std::size_t i = 1; i < parts.size(); ++i) parse_addition(parts[i], response);
  return response;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<Call> parse_calls(std::string_view text) {
  std::vector<Call> calls;
  for (const std::string_view listed : split(text, ';')) {
    Call& call = calls.emplace_back();
    for (const std::string_view response : split(listed, ',')) {
      try {
        call.push_back({std::string(response), parse_response(response), {}, {}, {}});
      } catch (const UsageError& error) {
        throw UsageError(fmt::format("--responses: response {} of call {} ('{}'): {}",
                                     call.size() + 1, calls.size(), response, error.what()));
      }
    }
  }
  return calls;
}

}  // namespace retrysim::cli

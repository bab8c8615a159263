// `retrysim strategy`: plays one client's retry strategy against a list of responses and prints
// every decision. It runs the strategy of the simulation, on rules that the scenario loader
// resolves, so it shows what a scenario with the same keys does.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "cli/commands.hpp"
#include "cli/list.hpp"
#include "cli/options.hpp"
#include "report/document/text.hpp"
#include "scenario/text/csv_library.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace retrysim::cli {

// --- Responses of --responses --------------------------------------------------------------------

// Responses are separated by commas, calls by semicolons.

struct ListedResponse {
  std::string text;  ///< the response as the user wrote it
  Response response;
  Duration pause = {};              ///< pause before the call; only in its first response
  Duration takes = {};              ///< time from the attempt to its answer
  std::optional<double> draw = {};  ///< in [0, 1]: replaces the random draws behind it
};

/// The responses to one call, in order.
using Call = std::vector<ListedResponse>;

/// Parses `status[:code][+retry-after=DURATION]`, also with traits of the error from the service's
/// model (add_trait), `timeout` or `connect`. Throws UsageError.
Response parse_response(std::string_view text);

/// Parses the calls of --responses. Throws UsageError, which names the first bad response and its
/// position.
std::vector<Call> parse_calls(std::string_view text);

/// The parts of `text` between separators, without blanks around them.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The number that `text` is as a whole; empty if it is none.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

// --- Calls of --calls ----------------------------------------------------------------------------

// Calls from a CSV file: the answers, how long they took, how long the client paused between calls,
// and its draws.

/// Thrown if a file of calls is missing, unreadable or wrong; the message names file and line.
class BadCallFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The calls of a file, in order; "-" is standard input. Columns are `call` and `response`, and
/// optionally `pause_s`, `takes_s` (both in seconds, empty: 0) and `draw` (in [0, 1]). Neighbouring
/// rows of the same `call` are one call; its pause is in the first row. Throws BadCallFile.
std::vector<Call> read_calls(const std::string& path);

// --- Decisions as a table, CSV or JSON -----------------------------------------------------------

enum class DecisionFormat { kTable, kCsv, kJson };

/// A decision, one line of the output. Members that do not apply are empty.
struct Decision {
  std::size_t call = 0;
  std::uint32_t attempt = 0;
  Time time;
  std::string response;
  std::string_view response_class;
  Outcome decision = Outcome::kRetry;
  std::optional<std::int32_t> quota;
  std::optional<Duration> delay;
  std::optional<double> measured_rate, fill_rate;  // per second
  std::optional<Duration> send_wait;
};

/// The decisions in a format, one line for each; empty columns of the table for people are left
/// out. A table that does not fit into `columns` becomes a block of lines for each decision.
std::string decision_table(const std::vector<Decision>& decisions, DecisionFormat format,
                           std::size_t columns);

// --- Reading calls -------------------------------------------------------------------------------

// Calls are read with fast-cpp-csv-parser. Number cells are taken as text and converted here, as in
// sim/scenario/text/csv_inputs.cpp.

namespace {

constexpr std::uintmax_t kMaxCallBytes = std::uintmax_t{64} << 20;
constexpr double kLongestSeconds = 9e9;
constexpr const char* kCallColumns[] = {"call", "response", "pause_s", "takes_s", "draw"};

using CallReader = io::CSVReader<5, io::trim_chars<' ', '\t'>, io::double_quote_escape<',', '"'>,
                                 io::throw_on_overflow, io::single_and_empty_line_comment<'#'>>;

struct CallRow {
  const char* call = nullptr;
  const char* response = nullptr;
  const char* pause_s = "";
  const char* takes_s = "";
  const char* draw = "";
};

class CallFile {
 public:
  CallFile(std::string name, const std::string& text)
      : name_(std::move(name)), reader_(name_, text.data(), text.data() + text.size()) {}

  std::vector<Call> read() {
    read_header();
    std::vector<Call> calls;
    std::string last;
    CallRow row;
    while (next(row)) {
      const bool new_call = calls.empty() || row.call != last;
      if (new_call) calls.emplace_back();
      last = row.call;
      calls.back().push_back(response_of(row, new_call));
    }
    if (calls.empty()) throw BadCallFile(name_ + ": no rows below the header line");
    return calls;
  }

 private:
  void read_header() {
    const auto& columns = kCallColumns;
    try {
      reader_.read_header(io::ignore_missing_column, columns[0], columns[1], columns[2], columns[3],
                          columns[4]);
    } catch (const io::error::base&) {
      throw BadCallFile(name_ + ": no usable header line; the columns are " +
                        fmt::format("{}", fmt::join(columns, ", ")));
    }
    for (const char* column : {columns[0], columns[1]}) {
      if (!reader_.has_column(column)) {
        throw BadCallFile(fmt::format("{}: column '{}' is missing", name_, column));
      }
    }
  }

  bool next(CallRow& row) {
    try {
      // A cell that the file does not have keeps its default.
      return reader_.read_row(row.call, row.response, row.pause_s, row.takes_s, row.draw);
    } catch (const io::error::base&) {
      throw BadCallFile(place() + "not a row of CSV with the cells that the header line names");
    }
  }

  ListedResponse response_of(const CallRow& row, bool new_call) const {
    try {
      ListedResponse listed{row.response, parse_response(row.response), {}, {}, {}};
      listed.pause = seconds("pause_s", row.pause_s);
      listed.takes = seconds("takes_s", row.takes_s);
      if (!new_call && listed.pause > Duration::zero()) {
        throw UsageError("only the first row of a call can have a pause_s");
      }
      listed.draw = number("draw", row.draw, 1);
      return listed;
    } catch (const UsageError& error) {
      throw BadCallFile(place() + error.what());
    }
  }

  static std::optional<double> number(const char* column, std::string_view text, double most) {
    if (text.empty()) return std::nullopt;
    const auto value = parse_number<double>(text);
    if (!value || !(*value >= 0 && *value <= most)) {
      throw UsageError(fmt::format("{}: '{}' is not a number from 0 to {}", column, text, most));
    }
    return value;
  }

  static Duration seconds(const char* column, std::string_view text) {
    return Duration::from_seconds(number(column, text, kLongestSeconds).value_or(0));
  }

  std::string place() const { return fmt::format("{}:{}: ", name_, reader_.get_file_line()); }

  std::string name_;
  CallReader reader_;
};

}  // namespace

std::vector<Call> read_calls(const std::string& path) {
  const bool standard_input = path == "-";
  std::string error;
  const auto text =
      scenario::read_whole_file(standard_input ? "/dev/stdin" : path, kMaxCallBytes, error);
  const std::string name = standard_input ? "standard input" : path;
  if (!text) throw BadCallFile(fmt::format("{} {}", name, error));
  return CallFile(name, *text).read();
}

// --- Reading responses ---------------------------------------------------------------------------

// A response is `status[:code][+retry-after=DURATION][+retryable]...`, `timeout` or `connect`. A
// duration without a unit is in milliseconds, as in the header. A duration that no client could
// read becomes no suggestion: clients ignore it, and that can be tried out here.

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The milliseconds of a duration with a unit, as in the header; empty for other texts, which
/// clients read or ignore themselves.
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

/// Parses an addition to a response: "retry-after=1500ms", "retry-after=1.5s", without a unit
/// milliseconds, as in the header itself; or a trait of the error from the service's model:
/// "retryable", "throttling".
void parse_addition(std::string_view header, Response& response) {
  if (add_trait(header, response.traits)) return;
  const std::size_t equals = header.find('=');
  const std::string_view name = trimmed(header.substr(0, equals));
  if (name != "retry-after") {
    throw UsageError(
        fmt::format("unknown addition '{}'; known are retry-after, as in 500+retry-after=1500ms, "
                    "and the traits of an error in a service's Smithy model: retryable, "
                    "not-retryable, maybe-retryable, throttling, timeout, client-fault, "
                    "server-fault",
                    name));
  }
  if (equals == std::string_view::npos) {
    throw UsageError("retry-after has no value; write it as in 500+retry-after=1500ms");
  }
  const std::string_view value = trimmed(header.substr(equals + 1));
  const std::string milliseconds = in_milliseconds(value);
  response.retry_after = parse_retry_after(milliseconds.empty() ? value : milliseconds);
  if (response.retry_after) return;
  // A value that a client cannot read is ignored, here as well: that can be tried out.
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

namespace {

constexpr std::array<std::string_view, 11> kColumns = {
    "call",  "attempt", "time_s",        "response",  "class",      "decision",
    "quota", "delay_s", "measured_rate", "fill_rate", "send_wait_s"};
constexpr std::size_t kMeasuredRate = 8;  // its column; the fill rate follows

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

/// The shortest text that reads back as the same number.
std::string number_text(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string();
}

/// The cells of a row in the order of kColumns; null for empty members.
std::array<nlohmann::ordered_json, kColumns.size()> cells_of(const Decision& row) {
  using Json = nlohmann::ordered_json;
  const auto optional = [](const auto& value) { return value ? Json(*value) : Json(); };
  const auto duration = [](const std::optional<Duration>& d) {
    return d ? Json(seconds(d->count())) : Json();
  };
  return {row.call,
          row.attempt,
          seconds(row.time.count()),
          row.response.empty() ? Json() : Json(row.response),
          row.response_class.empty() ? Json() : Json(row.response_class),
          Json(name(row.decision)),
          optional(row.quota),
          duration(row.delay),
          optional(row.measured_rate),
          optional(row.fill_rate),
          duration(row.send_wait)};
}

std::string cell_text(const nlohmann::ordered_json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float()) return number_text(cell.get<double>());
  return cell.dump();
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

using TextRow = std::array<std::string, kColumns.size()>;

std::string to_csv(const std::vector<TextRow>& rows) {
  std::string text;
  for (const TextRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_cell(row[i]);
    }
    text += '\n';
  }
  return text;
}

std::string to_blocks(const std::vector<TextRow>& rows, std::size_t columns) {
  report::Listing listing;
  listing.columns = {"call and attempt"};
  listing.columns.insert(listing.columns.end(), kColumns.begin() + 2, kColumns.end());
  for (std::size_t r = 1; r < rows.size(); ++r) {
    std::vector<std::string>& row = listing.rows.emplace_back();
    row.push_back(fmt::format("call {}, attempt {}", rows[r][0], rows[r][1]));
    row.insert(row.end(), rows[r].begin() + 2, rows[r].end());
  }
  return report::listing_in_blocks(listing, columns);
}

/// The rows as aligned columns; a column without any content is left out.
std::string to_table(std::vector<TextRow> rows, std::size_t columns, std::size_t gap = 2) {
  std::array<std::size_t, kColumns.size()> width{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    bool used = false;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      width[i] = std::max(width[i], rows[r][i].size());
      used = used || (r > 0 && !rows[r][i].empty());
    }
    if (!used) width[i] = 0;
  }
  std::size_t all = 0;
  for (const std::size_t w : width) all += w > 0 ? w + gap : 0;
  if (all > columns + gap) {
    if (gap == 1) return to_blocks(rows, columns);
    rows[0][1] = "try";
    return to_table(std::move(rows), columns, 1);
  }
  std::string text;
  for (const TextRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (width[i] == 0) continue;
      line += fmt::format("{:{}}{:{}}", "", line.empty() ? 0 : gap, row[i].empty() ? "-" : row[i],
                          width[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string decision_table(const std::vector<Decision>& rows, DecisionFormat format,
                           std::size_t columns) {
  if (format == DecisionFormat::kJson) {
    auto array = nlohmann::ordered_json::array();
    for (const Decision& row : rows) {
      const auto cells = cells_of(row);
      nlohmann::ordered_json object;
      for (std::size_t i = 0; i < cells.size(); ++i) object[std::string(kColumns[i])] = cells[i];
      array.push_back(std::move(object));
    }
    // Bytes that are not UTF-8 can only come from the command line; they are shown as U+FFFD.
    return array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
  }
  std::vector<TextRow> texts(1);
  std::copy(kColumns.begin(), kColumns.end(), texts[0].begin());
  for (const Decision& row : rows) {
    TextRow& text = texts.emplace_back();
    const auto cells = cells_of(row);
    std::transform(cells.begin(), cells.end(), text.begin(), cell_text);
    if (format == DecisionFormat::kTable) {  // people do not read 17 digits
      const auto rate_text = [](double rate) { return scenario::said_number(rate, 6); };
      if (row.measured_rate) text[kMeasuredRate] = rate_text(*row.measured_rate);
      if (row.fill_rate) text[kMeasuredRate + 1] = rate_text(*row.fill_rate);
    }
  }
  return format == DecisionFormat::kCsv ? to_csv(texts) : to_table(texts, columns);
}

namespace {

struct StrategyOptions {
  std::string mode, revision, sdk, api;
  std::optional<std::string> responses, file, times;  // options as given
  std::vector<Call> calls;
  std::optional<double> draw;
  std::optional<int> quota;
  std::vector<Time> at;  // a time for each response; empty: each attempt is answered at once
  bool long_poll = false;
  std::vector<std::string> edits;
  std::uint64_t seed = 1;
  DecisionFormat format = DecisionFormat::kTable;
};

// --- The command line ----------------------------------------------------------------------------

std::vector<Time> parse_times(std::string_view text, const std::vector<Call>& calls) {
  std::vector<Time> times;
  for (const std::string_view part : split(text, ',')) {
    const auto seconds = parse_number<double>(part);
    if (!seconds || !std::isfinite(*seconds) || *seconds < 0 || *seconds > 9e9) {
      throw UsageError(
          fmt::format("--at: '{}' is not a time in seconds; write --at 0.2,0.4", part));
    }
    times.push_back(Time::zero() + Duration::from_seconds(*seconds));
    if (times.size() > 1 && times.back() < times[times.size() - 2]) {
      throw UsageError(
          fmt::format("--at: {} comes after a later time; times must not go back", part));
    }
  }
  std::size_t responses = 0;
  for (const Call& call : calls) responses += call.size();
  if (times.size() != responses) {
    throw UsageError(fmt::format("--at gives {} times for {} responses; give one for each",
                                 times.size(), responses));
  }
  return times;
}

DecisionFormat parse_format(const std::string& text) {
  if (text == "table") return DecisionFormat::kTable;
  if (text == "csv") return DecisionFormat::kCsv;
  if (text == "json") return DecisionFormat::kJson;
  throw UsageError(fmt::format("--format: '{}' is none of table, csv, json", text));
}

Options<StrategyOptions> strategy_options() {
  using O = StrategyOptions;
  return std::vector<Option<O>>{
      {{"mode", "MODE",
        "none, legacy, standard, adaptive or custom; required, unless --sdk names a version, whose "
        "default it then is, or has only one"},
       into(&O::mode)},
      {{"responses", "LIST",
        "answers to the attempts: responses separated by ',', calls by ';'. A response is an HTTP "
        "status with an optional error code and header (500, 400:ThrottlingException, "
        "500+retry-after=1500ms), or timeout, or connect"},
       into(&O::responses)},
      {{"calls", "FILE",
        "the calls from a CSV file instead ('-': standard input) with the columns call and "
        "response "
        "and, optionally, pause_s (time before a call), takes_s (time until the answer) and draw "
        "(replaces the random draws after it)"},
       into(&O::file)},
      {{"revision", "REVISION",
        "revision of the standard rules: 2.0 (default, unless --sdk names a version), 2.1, smithy "
        "or "
        "smithy-2.1"},
       into(&O::revision)},
      {{"sdk", "SDK",
        "SDK whose rules apply, with its version if you like (botocore@1.44.0); botocore by "
        "default"},
       into(&O::sdk)},
      {{"api", "API", "a service with numbers of its own, such as dynamodb"}, into(&O::api)},
      {{"draw", "R", "replace every random draw by R in [0,1]: 1 shows the longest delays"},
       [](O& o, const std::string& text) {
         o.draw = parse_number<double>(text);
         if (o.draw && *o.draw >= 0 && *o.draw <= 1) return;
         throw UsageError(fmt::format("--draw: '{}' is not a number from 0 to 1", text));
       }},
      {{"quota", "N", "tokens in the retry quota at the start"},
       [](O& o, const std::string& text) {
         o.quota = parse_number<int>(text);
         if (o.quota && *o.quota >= 0) return;
         throw UsageError(fmt::format("--quota: '{}' is not a whole number of tokens", text));
       }},
      {{"at", "T,T,...",
        "times of the responses in seconds, one for each; delays are then shown but "
        "not waited for. By default each attempt is sent after its delay and answered "
        "at once"},
       into(&O::times)},
      {{"long-poll", "", "the calls are long-polling operations"}, into(&O::long_poll)},
      {{"set", "KEY=VALUE",
        "change a key of [client.X.retry], such as max_attempts=5 or backoff.jitter=equal", true},
       into(&O::edits)},
      {{"seed", "N", "random seed, 1 by default"},
       [](O& o, const std::string& text) {
         const auto seed = parse_number<std::uint64_t>(text);
         if (!seed) throw UsageError(fmt::format("--seed: '{}' is not a whole number", text));
         o.seed = *seed;
       }},
      {{"format", "table|csv|json", "table (default), csv or json"},
       [](O& o, const std::string& text) { o.format = parse_format(text); }}};
}

/// That no rules go by these names; `before` says what else is known of them.
UsageError no_rules(const std::string& names, const std::string& before = "") {
  return UsageError(fmt::format("there are no rules for '{}'{}; there are: {}", names, before,
                                scenario::presets_for("default")));
}

/// The only mode of an SDK. Throws UsageError if it has several, or is not known.
std::string only_mode(const std::string& sdk) {
  std::vector<std::string> modes;
  for (const Preset& preset : presets()) {
    const bool is_new = std::ranges::find(modes, preset.mode) == modes.end();
    if (!sdk.empty() && preset.sdk == canonical_sdk(sdk) && is_new) modes.emplace_back(preset.mode);
  }
  if (modes.size() == 1) return modes.front();
  if (sdk.empty()) throw UsageError("--mode is missing; expected one such as --mode standard");
  if (modes.empty()) throw no_rules(sdk);
  throw UsageError(
      fmt::format("--mode is missing; {} has the modes {}", sdk, fmt::join(modes, ", ")));
}

/// Completes options that depend on each other, and refuses those that cannot be combined.
void settle(StrategyOptions& o) {
  if (o.mode.empty() && !has_version(o.sdk)) o.mode = only_mode(o.sdk);
  if (!o.responses && !o.file) {
    throw UsageError("--responses is missing; expected some, such as --responses '500,200'");
  }
  if (o.file && o.responses) throw UsageError("--calls and --responses cannot be used together");
  if (o.file && o.times) throw UsageError("--calls and --at cannot be used together");
  o.calls = o.file ? read_calls(*o.file) : parse_calls(*o.responses);
  if (o.times) o.at = parse_times(*o.times, o.calls);
}

// --- The rules -----------------------------------------------------------------------------------

/// A scenario with the keys that the command line gives. Everything beyond [client.x.retry] is
/// there only because a scenario needs it.
std::string scenario_text(const StrategyOptions& options) {
  std::string text =
      "name = \"strategy\"\nduration = \"1s\"\n"
      "[service.s]\nservice_time = \"1ms\"\n"
      "[client.x]\narrivals = { process = \"poisson\", rate = 1 }\n[client.x.retry]\n";
  const auto add = [&text](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{} = \"{}\"\n", key, value);
  };
  add("mode", options.mode);
  add("revision", options.revision);
  add("sdk", options.sdk);
  add("api", options.api);
  return text;
}

/// An error of the loader in the words of this command, whose keys have no path before them.
std::string in_own_words(std::string message) {
  constexpr std::string_view kPath = "client.x.retry.";
  for (std::size_t i = 0; (i = message.find(kPath)) != std::string::npos;) {
    message.erase(i, kPath.size());
  }
  return message;
}

RetryRules resolve_rules(const StrategyOptions& options) {
  for (const std::string& word : {options.mode, options.revision, options.sdk, options.api}) {
    if (word.find_first_of("\"\\\n") != std::string::npos) {
      throw UsageError(fmt::format("'{}' is not a name", word));
    }
  }
  const std::string mode =
      options.mode.empty() ? std::string(release_mode(options.sdk)) : options.mode;
  if (const std::string problem = version_problem(options.sdk); !problem.empty()) {
    throw UsageError("--sdk: " + problem);
  }
  if (!find_preset(mode, options.revision, options.sdk, options.api)) {
    const std::array asked = {mode, options.revision, options.sdk};
    std::string combination;
    for (const std::string& word : asked) {
      if (!word.empty()) combination += (combination.empty() ? "" : " ") + word;
    }
    const std::string_view before =
        mode == "legacy" ? scenario::predecessor(options.sdk) : std::string_view();
    throw no_rules(
        combination,
        before.empty() ? "" : fmt::format(" (the predecessor of {} is {})", options.sdk, before));
  }
  std::vector<std::string> edits;
  for (const std::string& edit : options.edits) edits.push_back("client.x.retry." + edit);
  const LoadResult result = load_scenario_text(scenario_text(options), "strategy", ".", edits);
  if (!result.loaded) {
    std::string messages;
    for (const Diagnostic& error : result.errors) {
      if (!messages.empty()) messages += "\n";
      messages += (error.in_request ? "--set: " : "") + in_own_words(error.message);
    }
    throw UsageError(messages);
  }
  for (const std::string& note : result.loaded->notes) {
    report::print_error("note: {}\n", in_own_words(note));
  }
  if (const std::string note = version_note(*result.loaded); !note.empty()) {
    report::print_error("note: {}\n", note);
  }
  RetryRules rules = result.loaded->scenario.clients.at(0).retry;
  if (options.quota) {
    if (!rules.quota.enabled) throw UsageError("--quota: these rules have no retry quota");
    if (*options.quota > rules.quota.capacity) {
      throw UsageError(fmt::format("--quota: {} is more than the quota's capacity of {}",
                                   *options.quota, rules.quota.capacity));
    }
    rules.quota.initial = *options.quota;
  }
  const auto is_random = [](const Distribution& d) { return !d.is_constant(); };
  if (options.draw &&
      std::any_of(rules.backoff.delays.begin(), rules.backoff.delays.end(), is_random)) {
    throw UsageError("--draw has no meaning for delays that are distributions");
  }
  return rules;
}

// --- The play ------------------------------------------------------------------------------------

/// Plays the calls one after the other and keeps the decisions.
class Player {
 public:
  Player(const StrategyOptions& options, const RetryRules& rules)
      : options_(options), strategy_(rules, RandomKey(options.seed, 0)) {
    strategy_.fix_draws(options.draw);
  }

  std::vector<Decision> play() {
    for (const Call& call : options_.calls) {
      ++call_;
      const std::size_t next_response = response_ + call.size();
      play_call(call);
      response_ = next_response;  // also skips responses that the call did not get to
    }
    return std::move(rows_);
  }

 private:
  void play_call(const Call& call) {
    clock_ = clock_ + call.front().pause;
    RetryToken token = strategy_.acquire_initial_token(clock_);
    for (std::size_t i = 0; i < call.size(); ++i, ++response_) {
      Decision& row = rows_.emplace_back();
      row.call = call_;
      row.attempt = token.attempt();
      if (!send(token, row)) {
        describe_state(row);
        return note_unused(call, i, row.decision);
      }
      row.response = call[i].text;
      if (options_.at.empty()) clock_ = row.time = clock_ + call[i].takes;
      answer(call[i], token, row);
      describe_state(row);
      if (row.decision != Outcome::kRetry) return note_unused(call, i + 1, row.decision);
    }
    strategy_.abandon(std::move(token));  // the list of responses ends here
  }

  /// Waits for the delay and a send token, and sets the clock to the time of the answer. False if
  /// the strategy does not let the attempt go.
  bool send(RetryToken& token, Decision& row) {
    const bool timed = !options_.at.empty();
    const Time at = timed ? options_.at[response_] : Time::max();
    Time sent = std::min(clock_ + token.delay(), at);
    Duration waited;
    for (;;) {
      const Duration wait = strategy_.acquire_send_token(token, sent);
      if (!token.may_send()) {
        clock_ = row.time = sent;
        row.decision = Outcome::kNoSendToken;
        return false;
      }
      if (wait == Duration::zero()) break;
      if (wait == Duration::max()) {
        report::print_error(
            "retrysim strategy: note: attempt {} of call {} waits forever: it needs more "
            "send tokens than the bucket holds\n",
            token.attempt(), call_);
        row.decision = Outcome::kNoSendToken;
        clock_ = row.time = sent;
        strategy_.abandon(std::move(token));
        return false;
      }
      // The answer comes at the given time, even if the attempt would have to wait longer.
      if (sent + wait > at) break;
      waited += wait;
      sent = sent + wait;
    }
    if (strategy_.limiter() != nullptr) row.send_wait = waited;
    clock_ = row.time = timed ? at : sent;
    return true;
  }

  void answer(const ListedResponse& listed, RetryToken& token, Decision& row) {
    strategy_.fix_draws(listed.draw ? listed.draw : options_.draw);
    Failure failure = strategy_.failure_of(listed.response);
    failure.long_poll = options_.long_poll;
    row.response_class = name(failure.error.response_class);
    if (failure.error.response_class == ResponseClass::kSuccess) {
      strategy_.record_success(std::move(token), clock_);
      row.decision = Outcome::kSuccess;
      return;
    }
    token = strategy_.refresh_retry_token(std::move(token), failure, clock_);
    row.decision = token.outcome();
    if (token.may_send() || token.delay() > Duration::zero()) row.delay = token.delay();
    if (!token.may_send()) clock_ = clock_ + token.delay();
  }

  void describe_state(Decision& row) {
    row.quota = strategy_.quota();
    if (const SendRateLimiter* limiter = strategy_.limiter()) {
      row.measured_rate = limiter->measured_rate();
      row.fill_rate = limiter->fill_rate();
    }
  }

  void note_unused(const Call& call, std::size_t used, Outcome decision) const {
    if (used == call.size()) return;
    report::print_error(
        "retrysim strategy: note: call {} ended with {}; {} of its responses {} not "
        "used\n",
        call_, name(decision), call.size() - used, call.size() - used == 1 ? "was" : "were");
  }

  const StrategyOptions& options_;
  RetryStrategy strategy_;
  std::vector<Decision> rows_;
  Time clock_;
  std::size_t call_ = 0;
  std::size_t response_ = 0;  // index over all calls
};

constexpr const char* kStrategyUsage =
    "Usage: retrysim strategy --mode MODE --responses LIST [options]\n"
    "       retrysim strategy --mode MODE --calls FILE [options]\n"
    "\n"
    "Plays one client's retry strategy against responses and prints every decision.\n"
    "Example:\n"
    "  retrysim strategy --mode standard --revision 2.1 --draw 1 \\\n"
    "      --responses '500,500,200;503:SlowDown,timeout,200'\n";

int strategy(const Arguments& arguments) {
  auto options = strategy_options().read(arguments, kStrategyUsage);
  if (!options) return kDone;
  try {
    settle(*options);
    const RetryRules rules = resolve_rules(*options);
    report::print(
        decision_table(Player(*options, rules).play(), options->format, report::output_columns()));
    return kDone;
  } catch (const BadCallFile& error) {
    report::print_error("retrysim: error: {}\n", error.what());
    return kBadInput;
  }
}

constexpr Command kStrategyCommand{
    .name = "strategy",
    .arguments = "--mode M --responses LIST",
    .purpose = "play one client's retry strategy and print every decision",
    .run = strategy,
    .after = "list"};
RETRYSIM_COMMAND_ROW strategy_row = &kStrategyCommand;

}  // namespace
}  // namespace retrysim::cli

// SPDX-License-Identifier: MIT
#include "fit/load_tests.hpp"

#include "fit/log.hpp"
#include "fit/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace retrysim::fit {
namespace {

/// A column or member of a tool's results.
struct ToolColumn {
  std::string_view name;
  LinePart part;
  std::uint8_t units = kNoUnit;
  bool is_start = false;
};

using Columns = std::vector<ToolColumn>;

LoadTestFormat with_columns_of(LoadTool tool, Shape shape, const Columns& columns) {
  LoadTestFormat test;
  test.tool = tool;
  test.format.shape = shape;
  test.format.word = tool_name(tool);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ToolColumn& column = columns[i];
    if (column.part == LinePart::kNothing) continue;
    const auto part = static_cast<std::size_t>(column.part);
    test.format.meanings[part] = {column.part, column.units,     column.is_start,
                                  0,           FlagWords::kNone, false};
    test.format.names[part] = column.name;
    test.format.places[part] = i;
  }
  return test;
}

/// Sets the places of the columns that a header names.
void place_columns(Format& format, const std::vector<std::string_view>& header) {
  for (std::size_t part = 0; part < kLineParts; ++part) {
    const std::string& name = format.names[part];
    if (name.empty()) continue;
    const auto at = std::ranges::find(header, name);
    if (at == header.end()) {
      format.meanings[part] = {};
      format.names[part].clear();
    } else {
      format.places[part] = static_cast<std::size_t>(at - header.begin());
    }
  }
}

bool has(const std::vector<std::string_view>& header,
         std::initializer_list<std::string_view> names) {
  return std::ranges::all_of(names, [&](std::string_view name) {
    return std::ranges::find(header, name) != header.end();
  });
}

struct Refused {
  std::string_view begins, contains;  ///< the first lines begin with one, and have the other
  std::string_view what, instead;
};

constexpr Refused kRefused[] = {
    {"<?xml", "<testResults", "results of JMeter as XML",
     "save them as CSV (jmeter.save.saveservice.output_format=csv)"},
    {"<testResults", "", "results of JMeter as XML",
     "save them as CSV (jmeter.save.saveservice.output_format=csv)"},
    {"Type,Name,Request Count", "", "the statistics of Locust, which has no requests in it",
     "fit the access log of the server instead"},
    {"\"Type\",\"Name\",\"Request Count\"", "",
     "the statistics of Locust, which has no requests in it",
     "fit the access log of the server instead"},
    {"Timestamp,User Count,Type,Name", "",
     "the history of Locust: quantiles at intervals, and no requests",
     "fit the access log of the server instead"},
    {"\"Timestamp\",\"User Count\"", "",
     "the history of Locust: quantiles at intervals, and no requests",
     "fit the access log of the server instead"},
    {"Method,Name,Error,Occurrences", "", "the failures of Locust, without the other requests",
     "fit the access log of the server instead"},
    {"Running ", " test @ ", "the summary of wrk, which has no requests in it",
     "fit the access log of the server instead"},
    {"Requests      [total", "", "the report of vegeta, which has no requests in it",
     "write them with vegeta encode --to csv"},
    {"This is ApacheBench", "", "the summary of ab, which has no requests in it",
     "fit the access log of the server instead"},
    {"Percentage served,Time in ms", "", "the quantiles of ab, which has no requests in it",
     "fit the access log of the server instead"},
    {"starttime\tseconds\tctime\tdtime\tttime\twait", "",
     "requests of ab in the order of their durations, with the second they began in",
     "fit the access log of the server instead"},
    {"Summary:", "Success rate:", "the summary of oha, which has no requests in it",
     "write them with oha --output-format csv"},
    {"Summary:", "Requests/sec:", "the summary of hey, which has no requests in it",
     "write them with hey -o csv"},
    {"RUN\t", "", "a log of Gatling", "fit the access log of the server instead"},
};

void refuse_summaries(std::span<const std::string_view> lines, const std::string& file) {
  std::string head;
  for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 40); ++i) {
    head += lines[i].substr(0, 400);
    head += '\n';
  }
  const auto refuse = [&](std::string_view what, std::string_view instead) {
    throw BadLog(fmt::format("{}: this is no access log, but {}; {}", file, what, instead));
  };
  for (const Refused& row : kRefused) {
    if (head.starts_with(row.begins) && head.find(row.contains) != std::string::npos) {
      refuse(row.what, row.instead);
    }
  }
  // Members of JSON may come in any order, and logs have some of them, too.
  std::string object;
  for (const std::string_view line : lines.first(std::min<std::size_t>(lines.size(), 40))) {
    object += line.substr(0, 4000);
  }
  const auto has_all = [&](std::initializer_list<std::string_view> members) {
    return object.starts_with('{') && std::ranges::all_of(members, [&](std::string_view name) {
             return object.find(fmt::format("\"{}\"", name)) != std::string::npos;
           });
  };
  if (has_all({"latencies", "bytes_in", "bytes_out", "success", "status_codes"})) {
    refuse("the report of vegeta, which has no requests in it",
           "write them with vegeta encode --to csv");
  }
  if (has_all({"aggregate", "counters"}) || has_all({"aggregate", "scenariosCreated"})) {
    refuse("the report of Artillery, which has no requests in it",
           "fit the access log of the server instead");
  }
  if (head.starts_with('{') && head.find("\"root_group\"") != std::string::npos &&
      head.find("\"metrics\"") != std::string::npos) {
    refuse("the summary of k6, which has no requests in it",
           "write them with k6 run --out csv=FILE");
  }
  if (head.find("http_req_duration") != std::string::npos &&
      head.find("http_req_duration..") != std::string::npos) {
    refuse("the summary of k6, which has no requests in it",
           "write them with k6 run --out csv=FILE");
  }
}

bool is_whole_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

std::string_view tool_name(LoadTool tool) {
  constexpr std::string_view kNames[] = {"JMeter", "k6", "vegeta", "hey", "oha"};
  return kNames[static_cast<std::size_t>(tool)];
}

std::optional<LoadTestFormat> load_test_of(std::span<const std::string_view> lines,
                                           const std::string& file) {
  constexpr bool kStarts = true;
  refuse_summaries(lines, file);
  const std::string_view first = lines.front();
  if (first.starts_with('{')) {
    const auto any = [&](std::string_view one, std::string_view other) {
      return std::ranges::any_of(lines, [&](std::string_view line) {
        return line.find(one) != std::string_view::npos &&
               line.find(other) != std::string_view::npos;
      });
    };
    if (any("\"type\":\"Point\"", "\"metric\":") || any("\"type\":\"Metric\"", "\"metric\":")) {
      LoadTestFormat test = with_columns_of(LoadTool::kK6, Shape::kJson,
                                            {{"data.time", LinePart::kTime},
                                             {"data.value", LinePart::kDuration, kInMs},
                                             {"data.tags.status", LinePart::kStatus},
                                             {"data.tags.error_code", LinePart::kError},
                                             {"metric", LinePart::kFilter}});
      test.filter = "http_req_duration";
      return test;
    }
    if (any("\"seq\":", "\"latency\":") && any("\"attack\":", "\"code\":")) {
      return with_columns_of(LoadTool::kVegeta, Shape::kJson,
                             {{"timestamp", LinePart::kTime, kNoUnit, kStarts},
                              {"latency", LinePart::kDuration, kInNs},
                              {"code", LinePart::kStatus},
                              {"error", LinePart::kError}});
    }
    return std::nullopt;
  }
  std::vector<std::string_view> header;
  if (!split_csv(first, header)) return std::nullopt;
  std::optional<LoadTestFormat> test;
  if (has(header, {"timeStamp", "elapsed"})) {
    test = with_columns_of(LoadTool::kJmeter, Shape::kCsv,
                           {{"timeStamp", LinePart::kTime, kNoUnit, kStarts},
                            {"elapsed", LinePart::kDuration, kInMs},
                            {"responseCode", LinePart::kStatus},
                            {"responseMessage", LinePart::kError},
                            {"allThreads", LinePart::kUsers}});
  } else if (has(header, {"metric_name", "timestamp", "metric_value"})) {
    test = with_columns_of(LoadTool::kK6, Shape::kCsv,
                           {{"timestamp", LinePart::kTime},
                            {"metric_value", LinePart::kDuration, kInMs},
                            {"status", LinePart::kStatus},
                            {"error_code", LinePart::kError},
                            {"metric_name", LinePart::kFilter}});
    test->filter = "http_req_duration";
  } else if (has(header, {"response-time", "offset", "status-code"})) {
    test = with_columns_of(LoadTool::kHey, Shape::kCsv,
                           {{"offset", LinePart::kTime, kNoUnit, kStarts},
                            {"response-time", LinePart::kDuration, kInS},
                            {"status-code", LinePart::kStatus}});
  } else if (has(header, {"request-start", "request-duration", "status"})) {
    test = with_columns_of(LoadTool::kOha, Shape::kCsv,
                           {{"request-start", LinePart::kTime, kNoUnit, kStarts},
                            {"request-duration", LinePart::kDuration, kInS},
                            {"status", LinePart::kStatus}});
  }
  if (test) {
    place_columns(test->format, header);
    return test;
  }
  // vegeta encode --to csv: nanoseconds since 1970, status, latency, bytes out and in, error, ...
  constexpr std::size_t kVegetaColumns = 9, kNanoseconds = 19;
  if (header.size() >= kVegetaColumns && header[0].size() == kNanoseconds &&
      is_whole_number(header[0]) && is_whole_number(header[1]) && header[1].size() <= 3 &&
      is_whole_number(header[2])) {
    test = with_columns_of(LoadTool::kVegeta, Shape::kCsv,
                           {{"timestamp", LinePart::kTime, kNoUnit, kStarts},
                            {"code", LinePart::kStatus},
                            {"latency", LinePart::kDuration, kInNs},
                            {"bytes_out", LinePart::kNothing},
                            {"bytes_in", LinePart::kNothing},
                            {"error", LinePart::kError}});
    test->has_header = false;
  }
  return test;
}

bool is_sum_of_requests(const LoadTestFormat& test, std::string_view message) {
  return test.tool == LoadTool::kJmeter && message.starts_with("Number of samples in transaction");
}

LoadTestAnswer answer_of(LoadTool tool, std::string_view status, std::string_view error) {
  int code = 0;
  const auto [end, bad] = std::from_chars(status.data(), status.data() + status.size(), code);
  const bool number = bad == std::errc() && end == status.data() + status.size();
  if (number && code > 0 && code <= 999) return {code, says_gave_up(code)};
  constexpr std::string_view kK6Timeout = "1050";
  const bool timed_out = contains_any(status, {"SocketTimeout", "timed out", "timeout"}) ||
                         contains_any(error, {"SocketTimeout", "Read timed out",
                                              "deadline exceeded", "Client.Timeout"}) ||
                         (tool == LoadTool::kK6 && error == kK6Timeout);
  const bool connecting = contains_any(status, {"ConnectTimeout", "HttpHostConnect"}) ||
                          contains_any(error, {"connect timed out", "dial "});
  if (timed_out && !connecting) return {kClientGaveUp, true};
  return {kNoAnswer, false};
}

}  // namespace retrysim::fit

// Reads the calls of `retrysim strategy --calls` with fast-cpp-csv-parser. Number cells are taken
// as text and converted here, as in sim/scenario/csv_inputs.cpp.
//
// SPDX-License-Identifier: MIT
#include "cli/strategy_calls.hpp"

#include "cli/commands.hpp"
#include "scenario/csv_library.hpp"
#include "scenario/whole_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace retrysim::cli {
namespace {

constexpr std::uintmax_t kMostCallBytes = std::uintmax_t{64} << 20;
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
      // A cell that the file does not have keeps what is there.
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
      scenario::read_whole_file(standard_input ? "/dev/stdin" : path, kMostCallBytes, error);
  const std::string name = standard_input ? "standard input" : path;
  if (!text) throw BadCallFile(fmt::format("{} {}", name, error));
  return CallFile(name, *text).read();
}

}  // namespace retrysim::cli

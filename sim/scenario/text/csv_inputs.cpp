// Reading the CSV inputs with fast-cpp-csv-parser. Number cells are taken as text and converted
// here: the parser's own conversion reads an empty cell as 0 and does not round correctly.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/csv_inputs.hpp"

#include "kernel/stop.hpp"
#include "scenario/text/csv_library.hpp"
#include "scenario/text/result_names.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

namespace retrysim::scenario {
namespace {

constexpr std::uintmax_t kMaxCsvBytes = std::uintmax_t{512} << 20;

// Columns (from 1) at which the cells of a line begin, for messages; commas in quotes do not
// separate.
std::vector<int> cell_columns(std::string_view line) {
  std::vector<int> columns{1};
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') in_quotes = !in_quotes;
    if (line[i] == ',' && !in_quotes) columns.push_back(static_cast<int>(i) + 2);
  }
  return columns;
}

std::vector<std::string> split_header(std::string_view line) {
  std::vector<std::string> names;
  const std::vector<int> starts = cell_columns(line);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto begin = static_cast<std::size_t>(starts[i]) - 1;
    const std::size_t end =
        i + 1 < starts.size() ? static_cast<std::size_t>(starts[i + 1]) - 2 : line.size();
    std::string_view cell = trimmed(line.substr(begin, end - begin));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
      cell = cell.substr(1, cell.size() - 2);
    }
    names.emplace_back(cell);
  }
  return names;
}

// The first line that is neither empty nor a comment, as the parser sees it.
std::string_view header_line(const Sources& sources, int source) {
  std::string_view rest = sources.text(source);
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::string_view content = trimmed(line);
    if (!content.empty() && line.front() != '#') return content;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return {};
}

bool has_columns(const CsvFile& file, std::vector<std::string> names) {
  std::vector<std::string> header = file.header;
  std::sort(header.begin(), header.end());
  std::sort(names.begin(), names.end());
  return header == names;
}

// The rows of a file with N columns, each cell with its place.
template <unsigned N>
class Rows {
 public:
  using Cells = std::array<const char*, N>;

  Rows(const CsvFile& file, CsvFiles& files, const std::array<const char*, N>& names)
      : file_(file),
        sources_(files.sources()),
        problems_(files.problems()),
        names_(names),
        reader_(file.name, sources_.text(file.source).data(),
                sources_.text(file.source).data() + sources_.text(file.source).size()) {
    for (unsigned i = 0; i < N; ++i) {
      const auto at = std::find(file.header.begin(), file.header.end(), names[i]);
      position_[i] = static_cast<std::size_t>(at - file.header.begin());
    }
    read_header(std::make_index_sequence<N>{});
  }

  // Reads the next row; broken rows are reported and skipped. False at the end of the file.
  bool next(Cells& cells) {
    stop_.count();
    while (good_ && errors_ < Problems::kMost) {
      try {
        return read_row(cells, std::make_index_sequence<N>{});
      } catch (const io::error::line_length_limit_exceeded&) {
        fail("the line is longer than 16 MiB; expected rows of " + expected());
        return false;  // the parser cannot go on after this
      } catch (const io::error::too_few_columns&) {
        fail("too few cells; expected rows of " + expected());
      } catch (const io::error::too_many_columns&) {
        fail("too many cells; expected rows of " + expected());
      } catch (const io::error::base&) {
        fail("not a row of CSV; expected rows of " + expected());
      }
    }
    return false;
  }

  int line() const { return static_cast<int>(reader_.get_file_line()); }

  Place place_of(unsigned cell) const {
    const auto starts = cell_columns(sources_.line(file_.source, line()));
    const std::size_t i = position_[cell];
    return {file_.source, line(), i < starts.size() ? starts[i] : 1};
  }

  void fail(unsigned cell, std::string message) {
    ++errors_;
    problems_.add(place_of(cell), std::move(message));
  }

  // Reads a finite number from 0 to `most`; otherwise reports an error and returns nothing.
  std::optional<double> number(unsigned cell, const Cells& cells, double most = 1e18) {
    const std::string_view text = cells[cell];
    const std::string name = names_[cell];
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty()) {
      fail(cell, name + " is empty; expected a number >= 0");
    } else if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
      fail(cell, name + ": " + in_quotes(text) + " is not a finite number; expected a number >= 0");
    } else if (value < 0) {
      fail(cell, name + ": " + std::string(text) + " is negative; expected a number >= 0");
    } else if (value > most) {
      fail(cell, name + ": " + std::string(text) + " is too large; expected at most " +
                     fmt::format("{:.0f}", most));
    } else {
      return value;
    }
    return std::nullopt;
  }

  // The place of the header line; of the first line if there is no header.
  Place header_place() const {
    const std::string_view header = header_line(sources_, file_.source);
    if (header.empty()) return {file_.source, 1, 1};
    const char* text = sources_.text(file_.source).data();
    return {file_.source, 1 + static_cast<int>(std::count(text, header.data(), '\n')), 1};
  }

  // Whether the file had no mistake and at least one row.
  bool finish(std::size_t rows) {
    if (errors_ == 0 && rows == 0) {
      ++errors_;
      problems_.add(header_place(),
                    "no rows below the header line; expected rows of " + expected());
    }
    return errors_ == 0;
  }

 private:
  using Reader = io::CSVReader<N, io::trim_chars<' ', '\t'>, io::double_quote_escape<',', '"'>,
                               io::throw_on_overflow, io::single_and_empty_line_comment<'#'>>;

  template <std::size_t... I>
  void read_header(std::index_sequence<I...>) {
    try {
      reader_.read_header(io::ignore_no_column, names_[I]...);
    } catch (const io::error::base&) {
      good_ = false;
      ++errors_;
      problems_.add(header_place(), "no usable header line; expected " + expected());
    }
  }

  template <std::size_t... I>
  bool read_row(Cells& cells, std::index_sequence<I...>) {
    return reader_.read_row(cells[I]...);
  }

  void fail(std::string message) {
    ++errors_;
    problems_.add({file_.source, line(), 1}, std::move(message));
  }

  std::string expected() const {
    std::string result;
    for (const char* name : names_) result += (result.empty() ? "" : ",") + std::string(name);
    return result;
  }

  const CsvFile& file_;
  const Sources& sources_;
  Problems& problems_;
  std::array<const char*, N> names_;
  Reader reader_;
  std::array<std::size_t, N> position_{};
  std::size_t errors_ = 0;
  StopCounter<> stop_;
  bool good_ = true;
};

std::optional<int> digits(std::string_view& text, std::size_t count) {
  int value = 0;
  if (text.size() < count) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool skip(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Seconds east of UTC for "Z", "+02:00", "+0200", "+02" or no text; empty for other texts.
std::optional<int> parse_offset(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const int sign = text.front() == '-' ? -1 : 1;
  if (text.front() != '-' && text.front() != '+') return std::nullopt;
  text.remove_prefix(1);
  const auto hours = digits(text, 2);
  if (!hours || *hours > 23) return std::nullopt;
  if (text.empty()) return sign * *hours * 3600;
  skip(text, ':');
  const auto minutes = digits(text, 2);
  if (!minutes || *minutes > 59 || !text.empty()) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<std::string> CsvMemory::text(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  const auto known = texts_.find(file);
  return known == texts_.end() ? std::nullopt : std::optional(known->second);
}

void CsvMemory::keep_text(const std::string& file, const std::string& text) {
  const std::lock_guard lock(mutex_);
  texts_.emplace(file, text);
}

std::shared_ptr<const void> CsvMemory::table(const std::string& file, std::type_index type) const {
  const std::lock_guard lock(mutex_);
  const auto known = tables_.find({file, type});
  return known == tables_.end() ? nullptr : known->second;
}

void CsvMemory::keep_table(const std::string& file, std::type_index type,
                           std::shared_ptr<const void> table) {
  const std::lock_guard lock(mutex_);
  tables_.emplace(std::pair(file, type), std::move(table));
}

std::optional<std::string> CsvFiles::text_of(const std::filesystem::path& path,
                                             std::string& error) const {
  if (inputs_ == nullptr) {
    if (memory_ != nullptr) {
      if (auto known = memory_->text(path.string())) return known;
    }
    auto text = read_whole_file(path, kMaxCsvBytes, error);
    if (text && memory_ != nullptr) memory_->keep_text(path.string(), *text);
    return text;
  }
  const auto found = inputs_->find(path.string());
  if (found != inputs_->end()) return found->second;
  error = "is not among the files that came with the scenario";
  return std::nullopt;
}

const CsvFile* CsvFiles::open(const std::string& name, Place place) {
  const auto& directory = place.source == other_source_ ? other_directory_ : directory_;
  const std::filesystem::path path = (directory / name).lexically_normal();
  if (const auto known = files_.find(path); known != files_.end()) return &known->second;
  // The resolved scenario and its inputs lie beside the result files in one folder.
  if (is_taken_by_results(path.filename().native())) {
    problems_->add(place, in_quotes(name) + " has the name of a result file; rename it");
    return nullptr;
  }
  for (const auto& other : paths_) {
    if (other.filename() != path.filename()) continue;
    // The resolved scenario names its inputs by file name only, beside it in one folder.
    problems_->add(place, in_quotes(name) + " and " + in_quotes(other.string()) +
                              " are different files of the same name; rename one");
    return nullptr;
  }
  std::string error;
  std::optional<std::string> text = text_of(path, error);
  if (text && text->find('\0') != std::string::npos) {
    error = "is not a text file; expected CSV";
    text.reset();
  }
  if (!text) {
    problems_->add(place, in_quotes(path.string()) + " " + error);
    return nullptr;
  }
  CsvFile file{path.string(), sources_->add(path.string(), std::move(*text)), {}};
  file.header = split_header(header_line(*sources_, file.source));
  paths_.push_back(path);
  return &files_.emplace(path, std::move(file)).first->second;
}

bool is_monitoring_export(const CsvFile& file) { return has_columns(file, {"timestamp", "value"}); }
bool is_bucket_counts(const CsvFile& file) { return has_columns(file, {"le", "count"}); }
bool is_rate_profile(const CsvFile& file) { return has_columns(file, {"time_s", "rate"}); }
bool is_request_times(const CsvFile& file) { return has_columns(file, {"time_s"}); }

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  const auto year = digits(text, 4);
  if (!year || !skip(text, '-')) return std::nullopt;
  const auto month = digits(text, 2);
  if (!month || !skip(text, '-')) return std::nullopt;
  const auto day = digits(text, 2);
  if (!day || !(skip(text, ' ') || skip(text, 'T') || skip(text, 't'))) return std::nullopt;
  const auto hour = digits(text, 2);
  if (!hour || !skip(text, ':')) return std::nullopt;
  const auto minute = digits(text, 2);
  if (!minute) return std::nullopt;
  int second = 0;
  std::int64_t fraction_ns = 0;
  if (skip(text, ':')) {
    const auto seconds = digits(text, 2);
    if (!seconds) return std::nullopt;
    second = *seconds;
    if (skip(text, '.')) {
      std::int64_t unit = 100'000'000;
      if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
      for (; unit > 0 && !text.empty() && text[0] >= '0' && text[0] <= '9'; unit /= 10) {
        fraction_ns += (text[0] - '0') * unit;
        text.remove_prefix(1);
      }
    }
  }
  const auto offset = parse_offset(text);
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  // Times in 64-bit nanoseconds reach from 1678 to 2261.
  if (!offset || !date.ok() || *year < 1678 || *year > 2261) return std::nullopt;
  if (*hour > 23 || *minute > 59 || second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t seconds = days * 86400 + *hour * 3600 + *minute * 60 + second - *offset;
  return seconds * 1'000'000'000 + fraction_ns;
}

namespace {

/// The table of a file: from memory if it is known, or else read from its text.
template <typename CsvTable>
std::optional<CsvTable> known_or_read(const CsvFile& file, CsvFiles& files,
                                      std::optional<CsvTable> (*read)(const CsvFile&, CsvFiles&)) {
  CsvMemory* const memory = files.memory();
  if (memory == nullptr) return read(file, files);
  if (const auto known = memory->table<CsvTable>(file.name)) return *known;
  std::optional<CsvTable> table = read(file, files);
  if (table) memory->keep_table(file.name, *table);
  return table;
}

std::optional<MonitoringExport> parse_monitoring_export(const CsvFile& file, CsvFiles& files) {
  Rows<2> rows(file, files, {"timestamp", "value"});
  MonitoringExport result;
  std::int64_t first = 0;
  for (Rows<2>::Cells cells{}; rows.next(cells);) {
    const auto time = parse_timestamp(cells[0]);
    if (!time) {
      rows.fail(0, "timestamp: " + in_quotes(cells[0]) +
                       " is not a time; expected one such as 2014-04-10 00:04:00");
    }
    const auto count = rows.number(1, cells);
    if (!time || !count) continue;
    if (result.offsets_ns.empty()) first = *time;
    // Both times are within 64-bit range, but their difference may not be.
    std::int64_t offset = 0;
    if (__builtin_sub_overflow(*time, first, &offset) ||
        (!result.offsets_ns.empty() && offset <= result.offsets_ns.back())) {
      rows.fail(0, "timestamp: " + std::string(cells[0]) +
                       " is not later than the row before; expected increasing times");
      continue;
    }
    result.offsets_ns.push_back(offset);
    result.counts.push_back(*count);
    result.lines.push_back(rows.line());
  }
  if (!rows.finish(result.counts.size())) return std::nullopt;
  return result;
}

// Reads increasing `steps` from 0, and values >= 0 in `column`.
std::optional<TimedRates> read_steps(const CsvFile& file, CsvFiles& files, const char* column,
                                     const std::string& steps = "time_s") {
  Rows<2> rows(file, files, {steps.c_str(), column});
  const bool timed = steps == "time_s";
  constexpr double kMaxFactor = 1e6, kMaxRate = 1e12;
  const double most = std::string_view(column) == "rate" ? kMaxRate : kMaxFactor;
  TimedRates result;
  for (Rows<2>::Cells cells{}; rows.next(cells);) {
    const auto time = rows.number(0, cells);
    const auto rate = rows.number(1, cells, most);
    if (!time || !rate) continue;
    if (result.times_s.empty() && *time != 0) {
      rows.fail(0, steps + (timed ? ": the first time is " : ": the first number is ") +
                       std::string(cells[0]) + "; expected 0");
    } else if (!result.times_s.empty() && *time <= result.times_s.back()) {
      rows.fail(0, steps + ": " + std::string(cells[0]) +
                       (timed ? " is not later than the row before; expected increasing times"
                              : " is not larger than the row before; expected increasing numbers"));
      continue;
    }
    result.times_s.push_back(*time);
    result.rates.push_back(*rate);
  }
  if (!rows.finish(result.rates.size())) return std::nullopt;
  return result;
}

std::optional<TimedRates> parse_rate_profile(const CsvFile& file, CsvFiles& files) {
  return read_steps(file, files, "rate");
}

std::optional<TimedCapacities> parse_capacity_profile(const CsvFile& file, CsvFiles& files) {
  if (!has_columns(file, {"time_s", "capacity"})) {
    files.problems().add({file.source, 1, 1},
                         "a capacity profile needs the columns time_s,capacity; see the header "
                         "line");
    return std::nullopt;
  }
  auto rows = read_steps(file, files, "capacity");
  if (!rows) return std::nullopt;
  return TimedCapacities{std::move(rows->times_s), std::move(rows->rates)};
}

std::optional<SlowdownRows> parse_slowdown_table(const CsvFile& file, CsvFiles& files) {
  if (!has_columns(file, {"in_service", "factor"})) {
    files.problems().add({file.source, 1, 1},
                         "a slowdown table needs the columns in_service,factor; see the header "
                         "line");
    return std::nullopt;
  }
  auto rows = read_steps(file, files, "factor", "in_service");
  if (!rows) return std::nullopt;
  return SlowdownRows{std::move(rows->times_s), std::move(rows->rates)};
}

std::optional<std::vector<double>> parse_request_times(const CsvFile& file, CsvFiles& files) {
  Rows<1> rows(file, files, {"time_s"});
  std::vector<double> result;
  for (Rows<1>::Cells cells{}; rows.next(cells);) {
    const auto time = rows.number(0, cells);
    if (!time) continue;
    if (!result.empty() && *time < result.back()) {
      rows.fail(0, "time_s: " + std::string(cells[0]) +
                       " is earlier than the row before; expected times in order");
      continue;
    }
    result.push_back(*time);
  }
  if (!rows.finish(result.size())) return std::nullopt;
  return result;
}

std::optional<WeightedValues> parse_weighted_values(const CsvFile& file, CsvFiles& files) {
  if (!has_columns(file, {"value_s", "weight"})) {
    files.problems().add({file.source, 1, 1},
                         "an empirical distribution needs the columns "
                         "value_s,weight; see the header line");
    return std::nullopt;
  }
  Rows<2> rows(file, files, {"value_s", "weight"});
  WeightedValues result;
  for (Rows<2>::Cells cells{}; rows.next(cells);) {
    const auto value = rows.number(0, cells);
    const auto weight = rows.number(1, cells);
    if (!value || !weight) continue;
    result.values_s.push_back(*value);
    result.weights.push_back(*weight);
  }
  if (!rows.finish(result.weights.size())) return std::nullopt;
  return result;
}

std::optional<BucketCounts> parse_bucket_counts(const CsvFile& file, CsvFiles& files) {
  Rows<2> rows(file, files, {"le", "count"});
  BucketCounts result;
  for (Rows<2>::Cells cells{}; rows.next(cells);) {
    const std::string_view le = cells[0];
    const auto written = parse_duration(le);
    double bound = written ? written->seconds : 0;
    if (le == "+Inf" || le == "Inf") {
      bound = std::numeric_limits<double>::infinity();
    } else if (!written) {
      const auto number = rows.number(0, cells);
      if (!number) continue;
      bound = *number;
    }
    const auto count = rows.number(1, cells);
    if (!count) continue;
    result.le_s.push_back(bound);
    result.counts.push_back(*count);
    result.lines.push_back(rows.line());
  }
  if (!rows.finish(result.counts.size())) return std::nullopt;
  return result;
}

}  // namespace

std::optional<BucketCounts> read_bucket_counts(const CsvFile& file, CsvFiles& files) {
  return known_or_read(file, files, parse_bucket_counts);
}

std::optional<MonitoringExport> read_monitoring_export(const CsvFile& file, CsvFiles& files) {
  return known_or_read(file, files, parse_monitoring_export);
}

std::optional<TimedRates> read_rate_profile(const CsvFile& file, CsvFiles& files) {
  return known_or_read(file, files, parse_rate_profile);
}

std::optional<std::vector<double>> read_request_times(const CsvFile& file, CsvFiles& files) {
  return known_or_read(file, files, parse_request_times);
}

std::optional<TimedCapacities> read_capacity_profile(const CsvFile& file, CsvFiles& files) {
  return known_or_read(file, files, parse_capacity_profile);
}

std::optional<SlowdownRows> read_slowdown_table(const CsvFile& file, CsvFiles& files) {
  return known_or_read(file, files, parse_slowdown_table);
}

std::optional<WeightedValues> read_weighted_values(const CsvFile& file, CsvFiles& files) {
  return known_or_read(file, files, parse_weighted_values);
}

std::int64_t most_common_spacing(const std::vector<std::int64_t>& offsets_ns) {
  std::map<std::int64_t, std::size_t> counts;
  for (std::size_t i = 1; i < offsets_ns.size(); ++i) {
    ++counts[offsets_ns[i] - offsets_ns[i - 1]];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

}  // namespace retrysim::scenario

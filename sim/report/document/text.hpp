// Output on a terminal: numbers with their units, sentences broken into lines, the standard
// streams, to which only this file writes for people, and the line that shows progress.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>

#include "report/folder/output.hpp"

#include <fmt/format.h>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

/// A unit for people, and by how much values of files are multiplied for it.
struct DisplayUnit {
  double scale;
  std::string_view name;  ///< the unit's name with the blank before it; empty for none
};

/// The unit for people that suits the size of `value`, which is in `unit`: times in ns to s, rates
/// per second, else none.
DisplayUnit display_unit(double value, std::string_view unit);

/// The number of decimals that show `digits` significant digits of `value`; at most 9.
int decimals_for(double value, int digits);

/// A number with all digits before the point, and `digits` significant digits at least, without
/// zeros at the end: "12,345", "0.5".
std::string format_plain(double value, int digits = 4);

/// A number with exactly so many decimals, and commas as there: "12,345.60".
std::string format_fixed(double value, int decimals);

/// A share as a percentage with three significant digits: "3.14 %".
std::string percent(double share);

/// The last part of a key's path, as a heading: "capacity" of "service.api.queue.capacity".
std::string last_part(const std::string& path);

/// Number of columns that a text takes: its UTF-8 characters, as `scenario::printable` shows them.
std::size_t columns_of(std::string_view text);
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

/// Whether people read the values of a metric as percentages, and differences in percentage points:
/// shares, and metrics that are 0 or 1 in each replication, so that the mean is a probability.
bool shown_as_percentage(const MetricInfo& metric);

/// An argument as a shell takes it: in quotes if it has more than plain characters.
std::string shell_word(std::string_view text);

/// Columns that are assumed if the terminal's are unknown.
inline constexpr std::size_t kNarrowColumns = 80;

/// How sentences are broken into lines: at blanks only, so that a longer word sticks out.
struct Wrapping {
  std::size_t columns = kNarrowColumns;
  std::string_view first = "";     ///< in front of the first line
  std::string_view others = "  ";  ///< in front of all other lines
};

/// The text in lines, each with its line feed.
std::string wrapped(std::string_view text, const Wrapping& wrapping);

/// Opens /dev/null for those of the descriptors 0 to 2 that the caller has closed, so that no file
/// of the program gets one of these numbers. Writing to a closed standard output still fails;
/// output to a closed standard error is lost. Also makes writing to a broken pipe, or beyond the
/// limit on the size of files, fail like any other writing instead of ending the process. Call it
/// first of all.
void prepare_standard_streams();

/// The name of standard output in messages.
inline constexpr const char* kStandardOutput = "standard output";

/// How a text stands out on terminals with colours. No information is in the colour alone.
enum class Emphasis {
  kNone,
  kAnswer,  ///< bold: what the reader came for
  kGood,    ///< green
  kBad,     ///< red
  kUnsure,  ///< yellow
};

/// Standard output, through a buffer. For people, unprintable characters are written as escapes;
/// programs get the text as it is. Throws OutputError; call `flush` at the end.
class StandardOutput : public Sink {
 public:
  enum class For { kPeople, kPrograms };
  explicit StandardOutput(For readers);
  /// Writes for people if `format` is "table".
  explicit StandardOutput(std::string_view format)
      : StandardOutput(format == "table" ? For::kPeople : For::kPrograms) {}

  void write(std::string_view text) override;
  /// Sets how the text written from here on stands out. Works only on a terminal with colours: see
  /// `has_colors`.
  void emphasize(Emphasis emphasis);
  /// Number of lines written so far.
  std::size_t lines() const { return lines_; }
  /// Whether the last `lines` lines do not all fit on the terminal; false without a terminal.
  bool is_out_of_sight(std::size_t lines) const;
  void flush() { output_.flush(); }

 private:
  For readers_;
  DescriptorSink output_;
  bool has_colors_;
  std::size_t lines_ = 0;
};

/// Whether standard output is a terminal that shows colours, and the environment does not forbid
/// them: NO_COLOR is unset or empty (https://no-color.org), and TERM is neither unset nor "dumb".
/// False for the ranks of an MPI job.
bool has_colors();

/// The columns that tables and sentences may take, from 80 to 160: those of the variable COLUMNS,
/// or of the terminal at standard output; without either 80.
std::size_t output_columns();

/// Writes a whole text for people to standard output. Throws OutputError.
void print(std::string_view text);

/// Writes a message for people to standard error, with escapes as above. Never throws: if standard
/// error is closed, or its disk is full, the message is lost.
void print_error(std::string_view text) noexcept;

/// As `print_error`, without escapes: the text controls the terminal on purpose.
void print_error_raw(std::string_view text) noexcept;

/// Print a formatted text, as `print` and `print_error`.
template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0) {
  print(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <typename... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) noexcept
    requires(sizeof...(Args) > 0) {
  try {
    print_error(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  } catch (...) {  // out of memory: the message is lost
  }
}

/// The text of the line that shows progress: "name [=====>    ]  52 %  ~12 s left", at most
/// `columns` wide. `share` is clamped to [0, 1]; `elapsed_s` gives the estimate of the time left.
std::string progress_line(std::string_view name, double share, double elapsed_s,
                          std::size_t columns);

/// A line on standard error that shows progress. It appears only on a terminal, so that logs and
/// pipes stay clean; wall-clock figures appear here and nowhere else. Not for use by several
/// threads at once.
class ProgressBar {
 public:
  /// Draws nothing unless `wanted` and standard error is a terminal.
  ProgressBar(std::string name, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool visible() const { return visible_; }
  /// Redraws the line, at most ten times a second.
  void show(double share);
  /// Removes the line; to be called before anything else is written to the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
};

}  // namespace retrysim::report

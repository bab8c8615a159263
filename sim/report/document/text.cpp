// SPDX-License-Identifier: MIT
#include "report/document/text.hpp"

#include "scenario/text/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>

namespace retrysim::report {

DisplayUnit display_unit(double value, std::string_view unit) {
  if (unit == "1/s") return {1, " /s"};
  if (unit != "s") return {1, ""};
  const double size = std::fabs(value);
  if (size >= 1 || size == 0) return {1, " s"};
  if (size >= 1e-3) return {1e3, " ms"};
  if (size >= 1e-6) return {1e6, " µs"};
  return {1e9, " ns"};
}

int decimals_for(double value, int digits) {
  if (value == 0) return 0;
  // The small addition keeps 0.1 apart from the 0.0999... that a subtraction makes of it.
  const double size = std::fabs(value) * (1 + 1e-9);
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0, 9);
}

std::string format_plain(double value, int digits) {
  return scenario::said_decimals(value, decimals_for(value, digits));
}

std::string format_fixed(double value, int decimals) {
  constexpr double kFourDigits = 9999.5;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (!(std::fabs(value) >= kFourDigits)) return text;
  const std::size_t point = std::min(text.find('.'), text.size());
  const double whole = std::strtod(text.substr(0, point).c_str(), nullptr);
  return scenario::said_decimals(whole, 0) + text.substr(point);
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string percent(double share) { return scenario::said_number(100 * share) + " %"; }

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:/@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

bool shown_as_percentage(const MetricInfo& metric) {
  return metric.summary == MetricSummary::kProportion || metric.display.percentage;
}

std::size_t columns_of(std::string_view text) { return scenario::columns_of(text); }

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return std::string(width > used ? width - used : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

namespace {

/// The position at which the first word of a text ends; a number and its unit are one word.
std::size_t end_of_word(std::string_view text) {
  constexpr std::string_view kUnits[] = {"%",       "s",       "ms",      "µs",    "/s",
                                         "times",   "minutes", "points",  "hours", "±",
                                         "million", "billion", "trillion"};
  std::size_t end = std::min(text.find(' '), text.size());
  while (end < text.size() && end > 0) {
    const char last = text[end - 1];
    const std::string_view rest = text.substr(end + 1);
    std::string_view next = rest.substr(0, rest.find(' '));
    while (!next.empty() && (next.back() == ',' || next.back() == '.' || next.back() == ';' ||
                             next.back() == ')' || next.back() == ':')) {
      next.remove_suffix(1);
    }
    const bool is_number = last >= '0' && last <= '9';
    if (!is_number || std::find(std::begin(kUnits), std::end(kUnits), next) == std::end(kUnits)) {
      break;
    }
    end = std::min(text.find(' ', end + 1), text.size());
  }
  return end;
}

}  // namespace

std::string wrapped(std::string_view text, const Wrapping& wrapping) {
  std::string result, line(wrapping.first);
  bool is_empty = true;  // the line has nothing but its indent
  while (!text.empty()) {
    const std::size_t end = end_of_word(text);
    const std::string_view word = text.substr(0, end);
    if (!is_empty && columns_of(line) + 1 + columns_of(word) > wrapping.columns) {
      result += line + "\n";
      line = wrapping.others;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + line + "\n";
}

void prepare_standard_streams() {
  // Each descriptor is opened for the direction that nobody needs: using it fails as if it were
  // closed.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd <= 2; ++fd) {
    // `open` takes the lowest free number; those below are taken already.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", kModes[fd]);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

namespace {

/// Columns and lines of the terminal behind a descriptor; both 0 if it is not a terminal.
struct TerminalSize {
  std::size_t columns = 0, lines = 0;
};

TerminalSize terminal_size_of([[maybe_unused]] int descriptor) {
#if defined(TIOCGWINSZ)  // a browser has no terminals
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0) return {size.ws_col, size.ws_row};
#endif
  return {};
}

/// The sequence that changes a terminal's colours (ECMA-48, "select graphic rendition").
std::string_view sequence_of(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::kAnswer:
      return "\x1b[1m";
    case Emphasis::kGood:
      return "\x1b[32m";
    case Emphasis::kBad:
      return "\x1b[31m";
    case Emphasis::kUnsure:
      return "\x1b[33m";
    case Emphasis::kNone:
      break;
  }
  return "\x1b[0m";
}

}  // namespace

bool has_colors() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  // Open MPI gives its ranks a terminal even if its own output is a file.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return false;
  return ::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
         !variable("TERM").empty() && variable("TERM") != "dumb";
}

StandardOutput::StandardOutput(For readers)
    : readers_(readers),
      output_(STDOUT_FILENO, kStandardOutput),
      has_colors_(readers == For::kPeople && retrysim::report::has_colors()) {}

void StandardOutput::emphasize(Emphasis emphasis) {
  if (has_colors_) output_.write(sequence_of(emphasis));
}

bool StandardOutput::is_out_of_sight(std::size_t lines) const {
  const std::size_t visible = terminal_size_of(STDOUT_FILENO).lines;
  return visible > 0 && lines >= visible;
}

void StandardOutput::write(std::string_view text) {
  lines_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (readers_ == For::kPeople) {
    output_.write(scenario::printable(text));
  } else {
    output_.write(text);
  }
}

std::size_t output_columns() {
  constexpr std::size_t kWide = 160;
  std::size_t columns = 0;
  if (const char* text = std::getenv("COLUMNS")) {
    std::from_chars(text, text + std::strlen(text), columns);
  }
  if (columns == 0) columns = terminal_size_of(STDOUT_FILENO).columns;
  if (columns == 0) return kNarrowColumns;
  return std::clamp(columns, kNarrowColumns, kWide);
}

void print(std::string_view text) {
  StandardOutput out(StandardOutput::For::kPeople);
  out.write(text);
  out.flush();
}

void print_error(std::string_view text) noexcept {
  try {
    print_error_raw(scenario::printable(text));
  } catch (...) {  // out of memory: the message is lost
  }
}

void print_error_raw(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

namespace {

std::size_t terminal_columns() {
  const std::size_t columns = terminal_size_of(STDERR_FILENO).columns;
  return columns == 0 ? 80 : columns;
}

std::string remaining(double share, double elapsed_s) {
  // The first moments of a run say nothing about the rest.
  if (share < 0.01 || elapsed_s < 1 || share >= 1) return "";
  const double left = elapsed_s * (1 - share) / share;
  if (left < 100) return fmt::format("  ~{:.0f} s left", left);
  return fmt::format("  ~{:.0f} min left", left / 60);
}

}  // namespace

std::string progress_line(std::string_view name, double share, double elapsed_s,
                          std::size_t columns) {
  share = std::clamp(share, 0.0, 1.0);
  const std::string tail = fmt::format(" {:3.0f} %{}", share * 100, remaining(share, elapsed_s));
  const std::string head = fmt::format("{:.30} ", scenario::printable_line(name));
  const std::size_t used = columns_of(head) + tail.size() + 2;
  std::string line = head;
  if (columns > used + 10) {
    const std::size_t width = std::min<std::size_t>(columns - used - 1, 40);
    const auto done = static_cast<std::size_t>(share * static_cast<double>(width));
    line += '[' + std::string(done, '=') + (done < width ? ">" : "");
    line += std::string(width - std::min(done + 1, width), ' ') + ']';
  }
  line += tail;
  return line.substr(0, columns);
}

ProgressBar::ProgressBar(std::string name, bool wanted)
    : name_(std::move(name)), visible_(wanted && ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(double share) {
  if (!visible_) return;
  const Clock::time_point now = Clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string line =
      "\r\x1b[K" + progress_line(name_, share, elapsed, terminal_columns() - 1);
  print_error_raw(line);
}

void ProgressBar::clear() {
  if (!drawn_) return;
  print_error_raw("\r\x1b[K");
  drawn_ = false;
}

}  // namespace retrysim::report

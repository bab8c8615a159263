// One line on standard error that shows how far the work is.
//
// SPDX-License-Identifier: MIT
#include "report/progress_bar.hpp"

#include "report/display.hpp"
#include "report/terminal.hpp"
#include "scenario/printable.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>

namespace retrysim::report {
namespace {

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string remaining(double share, double elapsed_s) {
  // The first moments say nothing about the rest.
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

// SPDX-License-Identifier: MIT
#include "report/terminal.hpp"

#include "report/display.hpp"
#include "scenario/printable.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace retrysim::report {

void prepare_standard_streams() {
  // Each is opened for the direction that nobody needs: using it fails as it would when closed.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd <= 2; ++fd) {
    // The lowest free number is taken, and those below are not free any more.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", kModes[fd]);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

StandardOutput::StandardOutput(For readers)
    : readers_(readers), output_(STDOUT_FILENO, kStandardOutput) {}

void StandardOutput::write(std::string_view text) {
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
  winsize size{};
  if (columns == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
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
  } catch (...) {  // out of memory
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

}  // namespace retrysim::report

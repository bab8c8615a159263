// Buffered writing to a file descriptor.
//
// SPDX-License-Identifier: MIT
#include "report/sink.hpp"

#include <retrysim/stop.hpp>

#include "report/output_error.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <system_error>

namespace retrysim::report {
namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 18;
/// Texts of this size are not worth a copy.
constexpr std::size_t kLargeText = std::size_t{1} << 12;

bool is_regular_file(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

DescriptorSink::DescriptorSink(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), may_block_(!is_regular_file(descriptor)), path_(std::move(path)) {}

void DescriptorSink::write(std::string_view text) {
  if (buffer_.empty() && text.size() >= kLargeText) {
    write_all(text);
    return;
  }
  buffer_ += text;
  if (buffer_.size() >= kBufferSize) flush();
}

void DescriptorSink::flush() {
  write_all(buffer_);
  buffer_.clear();
}

void DescriptorSink::write_all(std::string_view text) {
  while (!text.empty()) {
    stop_point();
    text.remove_prefix(write_some(text));
  }
}

// How many bytes of `text` have been written; none while nobody takes them.
std::size_t DescriptorSink::write_some(std::string_view text) {
  if (may_block_) {
    constexpr int kWaitMs = 100;
    pollfd ready{descriptor_, POLLOUT, 0};
    // A signal ends the wait, too; writing would then block.
    const int count = ::poll(&ready, 1, kWaitMs);
    if (count == 0 || (count < 0 && errno == EINTR)) return 0;
    text = text.substr(0, PIPE_BUF);  // a pipe that is ready takes as much without waiting
  }
  const ssize_t written = ::write(descriptor_, text.data(), text.size());
  if (written >= 0) return static_cast<std::size_t>(written);
  if (errno == EINTR || errno == EAGAIN) return 0;
  if (errno == EPIPE) throw OutputClosed(path_);
  throw OutputError(path_, std::generic_category().message(errno));
}

}  // namespace retrysim::report

// Buffered writing to a file descriptor.
//
// SPDX-License-Identifier: MIT
#include "report/sink.hpp"

#include "report/output_error.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace retrysim::report {
namespace {
constexpr std::size_t kBufferSize = std::size_t{1} << 18;
}

DescriptorSink::DescriptorSink(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), path_(std::move(path)) {}

void DescriptorSink::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferSize) flush();
}

void DescriptorSink::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw OutputError(path_, std::generic_category().message(errno));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

}  // namespace retrysim::report

// A pipe is opened without waiting for its writer, and then looked at every tenth of a second:
// unlike a read that a signal interrupts, that cannot miss a signal that comes just before.
//
// SPDX-License-Identifier: MIT
#include "scenario/whole_file.hpp"

#include <retrysim/stop.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>
#include <vector>

namespace retrysim::scenario {
namespace {

constexpr int kLookMs = 100;

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return fd_ >= 0; }

  /// The next bytes; 0 at the end, -1 with errno if it cannot be read.
  ssize_t read(std::vector<char>& chunk) const {
    while (true) {
      stop_point();
      pollfd ready{fd_, POLLIN, 0};
      // A pipe without a writer is not ready until one has come, and gone.
      const int n = ::poll(&ready, 1, kLookMs);
      if (n < 0 && errno != EINTR) return -1;
      if (n <= 0) continue;
      const ssize_t got = ::read(fd_, chunk.data(), chunk.size());
      if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    }
  }

 private:
  int fd_;
};

}  // namespace

std::optional<std::string> read_whole_file(const std::filesystem::path& path,
                                           std::uintmax_t most_bytes, std::string& error) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    error = "is a folder; expected a file";
    return std::nullopt;
  }
  const auto unreadable = [&] {
    error = "cannot be read: " + std::generic_category().message(errno);
    return std::nullopt;
  };
  const File file(path);
  if (!file.is_open()) return unreadable();
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (true) {
    const ssize_t got = file.read(chunk);
    if (got < 0) return unreadable();
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes) {
      error = "is larger than " + std::to_string(most_bytes >> 20) + " MiB";
      return std::nullopt;
    }
  }
}

}  // namespace retrysim::scenario

// Reading scenarios and CSV inputs into memory, be they files or pipes.
//
// SPDX-License-Identifier: MIT
#include <retrysim/stop.hpp>

#include "scenario/csv_inputs.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>
#include <vector>

namespace retrysim::scenario {
namespace {

/// A file to be read. A pipe may keep its reader waiting for any time; asked to stop, this one ends
/// with `Interrupted` all the same.
class PatientFile {
 public:
  /// Throws std::system_error, as `read` does.
  explicit PatientFile(const std::filesystem::path& path)
      // Otherwise the system waits for the writer of a pipe, here and when reading.
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category());
  }
  ~PatientFile() { ::close(descriptor_); }
  PatientFile(const PatientFile&) = delete;
  PatientFile& operator=(const PatientFile&) = delete;

  /// Number of bytes put into `chunk`; 0 at the end of the file.
  std::size_t read(std::vector<char>& chunk) {
    for (;;) {
      stop_point();
      pollfd ready{descriptor_, POLLIN, 0};
      constexpr int kWaitMs = 100;
      if (::poll(&ready, 1, kWaitMs) < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category());
      }
      if (ready.revents == 0) continue;
      const ssize_t bytes = ::read(descriptor_, chunk.data(), chunk.size());
      if (bytes >= 0) return static_cast<std::size_t>(bytes);
      if (errno != EINTR && errno != EAGAIN) {
        throw std::system_error(errno, std::generic_category());
      }
    }
  }

 private:
  int descriptor_;
};

}  // namespace

std::optional<std::string> read_whole_file(const std::filesystem::path& path,
                                           std::uintmax_t most_bytes, std::string& error) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    error = "is a folder; expected a file";
    return std::nullopt;
  }
  std::string text;
  try {
    PatientFile in(path);
    std::vector<char> chunk(std::size_t{1} << 16);
    while (const std::size_t bytes = in.read(chunk)) {
      text.append(chunk.data(), bytes);
      if (text.size() > most_bytes) {
        error = "is larger than " + std::to_string(most_bytes >> 20) + " MiB";
        return std::nullopt;
      }
    }
  } catch (const std::system_error& e) {
    error = "cannot be read: " + e.code().message();
    return std::nullopt;
  }
  return text;
}

}  // namespace retrysim::scenario

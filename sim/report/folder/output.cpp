// SPDX-License-Identifier: MIT
#include "report/folder/output.hpp"

#include "kernel/stop.hpp"
#include "report/folder/result_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <fstream>
#include <system_error>
#include <utility>

namespace retrysim::report {

namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 18;
/// Texts from this size on are written without a copy.
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

// Writes a part of `text`; returns its bytes, 0 while nobody takes them.
std::size_t DescriptorSink::write_some(std::string_view text) {
  if (may_block_) {
    constexpr int kWaitMs = 100;
    pollfd ready{descriptor_, POLLOUT, 0};
    // A signal ends the wait, too; a write would then block.
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

namespace {

namespace fs = std::filesystem;

std::string kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "";
    case S_IFDIR:
      return "is a folder";
    case S_IFLNK:
      return "is a symbolic link";
    case S_IFIFO:
      return "is a pipe";
    case S_IFSOCK:
      return "is a socket";
    default:
      return "is a device";
  }
}

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  throw OutputError(path, std::generic_category().message(error));
}

bool is_stream_mode(mode_t mode) { return S_ISFIFO(mode) || S_ISCHR(mode); }

}  // namespace

std::string irregular_kind(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? kind_of(status.st_mode) : "";
}

bool is_one_of(const fs::path& path, const std::vector<fs::path>& files) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  return std::any_of(files.begin(), files.end(), [&](const fs::path& file) {
    struct stat other {};
    return ::stat(file.c_str(), &other) == 0 && other.st_dev == status.st_dev &&
           other.st_ino == status.st_ino;
  });
}

bool begins_with(const fs::path& path, std::string_view head) {
  std::ifstream in(path, std::ios::binary);
  std::string found(head.size(), '\0');
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  return in && found == head;
}

OutputFile::OutputFile(fs::path path, Replaceable replaceable)
    : path_(std::move(path)), replaceable_(std::move(replaceable)) {
  check();
}

bool OutputFile::is_stream() const {
  struct stat status {};
  return ::stat(path_.c_str(), &status) == 0 && is_stream_mode(status.st_mode);
}

void OutputFile::check() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    const int error = errno;
    if (error != ENOENT) fail_to_write(path_, error);
    if (!irregular_kind(path_).empty()) {
      throw OutputError(path_, "it is a symbolic link to a file that does not exist");
    }
    return;
  }
  if (is_stream_mode(status.st_mode)) return;
  if (!S_ISREG(status.st_mode)) throw OutputError(path_, "it " + kind_of(status.st_mode));
  if (is_one_of(path_, replaceable_.reads)) {
    throw OutputError(path_, "the command reads this file; choose another name");
  }
  if (replaceable_.force || replaceable_.is_ours(path_)) return;
  throw OutputError(path_, fmt::format("{}; --force replaces it", replaceable_.otherwise));
}

void OutputFile::write(std::string_view text) const {
  write([text](Sink& sink) { sink.write(text); });
}

void OutputFile::write(const std::function<void(Sink&)>& content) const {
  check();  // the path may have changed meanwhile
  if (is_stream()) {
    write_stream(content);
  } else {
    write_whole(content);
  }
}

void OutputFile::write_stream(const std::function<void(Sink&)>& content) const {
  const Descriptor stream(::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (stream.get() < 0 && errno == ENXIO)
    throw OutputError(path_, "no program reads from this pipe");
  if (stream.get() < 0) fail_to_write(path_, errno);
  struct stat status {};
  if (::fstat(stream.get(), &status) != 0 || !is_stream_mode(status.st_mode)) {
    throw OutputError(path_, "it has changed meanwhile");
  }
  DescriptorSink sink(stream.get(), path_);
  content(sink);
  sink.flush();
}

void OutputFile::write_whole(const std::function<void(Sink&)>& content) const {
  std::error_code error;
  fs::path place = path_;
  if (fs::is_symlink(fs::symlink_status(path_, error))) {
    place = fs::canonical(path_, error);
    if (error) throw OutputError(path_, error.message());
  }
  const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
  StagingFolder staging;
  try {
    {
      const FolderLock lock(folder);
      clean_up_after_killed_runs(folder);
    }
    staging.make(folder);
  } catch (const std::system_error& failure) {
    staging.remove();
    fail_to_write(path_, failure.code().value());
  }
  try {
    StagedFiles staged;
    staged.write(staging.result(), place.filename().string(), path_, content);
    staged.sync();
    const fs::path fresh = staging.result() / place.filename();
    struct stat before {};
    if (::stat(place.c_str(), &before) == 0) {
      (void)::chmod(fresh.c_str(), before.st_mode & 07777);
    }
    check();
    if (::rename(fresh.c_str(), place.c_str()) != 0) fail_to_write(path_, errno);
  } catch (...) {
    staging.remove();
    throw;
  }
  staging.remove();
}

}  // namespace retrysim::report

// The files of a result on their way to disk.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/result_manifest.hpp"
#include "report/sink.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace retrysim::report {

/// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

/// Writes files and makes them durable together. Flushing each one by itself would make the file
/// system commit its journal once for every file; here one commit serves them all.
class StagedFiles {
 public:
  /// Makes the file `name` in `folder`, where there must not be one; `content` fills it. Messages
  /// call it `path`. Size and checksum are those of what was written. The system has the file when
  /// this returns, but a power cut may still take it. Throws OutputError.
  FileRecord write(const std::filesystem::path& folder, const std::string& name,
                   const std::filesystem::path& path, const std::function<void(Sink&)>& content);
  /// Returns when everything that was written is on disk. Throws OutputError.
  void sync();

 private:
  struct Written {
    Descriptor file;
    std::filesystem::path path;
  };
  std::vector<Written> written_;
  std::string block_;  // of the file that is being written; kept for its memory
};

}  // namespace retrysim::report

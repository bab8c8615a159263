// The one error of everything that writes: which path, and why not.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace retrysim::report {

/// Output could not be written, or must not be written there. The message is
/// "cannot write PATH: REASON".
class OutputError : public std::runtime_error {
 public:
  OutputError(std::filesystem::path path, std::string reason)
      : std::runtime_error("cannot write " + path.string() + ": " + reason),
        path_(std::move(path)),
        reason_(std::move(reason)) {}

  const std::filesystem::path& path() const { return path_; }
  const std::string& reason() const { return reason_; }

 private:
  std::filesystem::path path_;
  std::string reason_;
};

/// Nobody reads any more from the pipe that output goes to, as after `| head`.
class OutputClosed : public OutputError {
 public:
  explicit OutputClosed(std::filesystem::path path)
      : OutputError(std::move(path), "nobody reads from this pipe") {}
};

}  // namespace retrysim::report

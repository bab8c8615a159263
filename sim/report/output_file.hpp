// The rule for every path that something is written to: only regular files are replaced, and none
// that the command reads; pipes and terminals are written to; whatever else is there is refused.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// What is at `path` if that is something, and not a regular file: "is a symbolic link", "is a
/// pipe",
/// ...; otherwise empty.
std::string irregular_kind(const std::filesystem::path& path);

/// Whether `path` leads to one of these files or folders, by whatever name.
bool is_one_of(const std::filesystem::path& path, const std::vector<std::filesystem::path>& files);

/// Which files an output file may replace.
struct Replaceable {
  /// Whether it is one that may be replaced, and otherwise why not ("it is no page of retrysim");
  /// `force` replaces it nevertheless.
  std::function<bool(const std::filesystem::path&)> is_ours;
  std::string_view otherwise;
  bool force = false;
  std::vector<std::filesystem::path> reads;  ///< never these
};

/// A file that is written as a whole: whoever opens it sees the earlier one or the new one. Of a
/// symbolic link it is the file that this leads to. What is written to a pipe or a character device
/// goes there as it comes.
class OutputFile {
 public:
  /// Throws OutputError if it must not be written.
  OutputFile(std::filesystem::path path, Replaceable replaceable);

  /// Whether what is written goes to somebody rather than into a file.
  bool is_stream() const;

  /// Throws OutputError. Does not wait for a reader of a pipe.
  void write(std::string_view text) const;

 private:
  void check() const;
  void write_stream(std::string_view text) const;
  void write_whole(std::string_view text) const;

  std::filesystem::path path_;
  Replaceable replaceable_;
};

}  // namespace retrysim::report

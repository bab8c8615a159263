// The lines of files, which may be packed with gzip; "-" is standard input.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::fit {

class LineReader {
 public:
  /// Throws BadLog if the file cannot be opened.
  explicit LineReader(const std::string& file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The file, as messages call it.
  const std::string& name() const { return name_; }
  /// Number of the line that was read last, from 1.
  std::uint64_t number() const { return number_; }

  /// The next line, without its end; empty at the end of the file. The text lives until the next
  /// call. Throws BadLog if the file cannot be read or a line has more than 1 MiB, and Interrupted.
  std::optional<std::string_view> next();

 private:
  class File;
  void refill();

  std::string name_;
  std::unique_ptr<File> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace retrysim::fit

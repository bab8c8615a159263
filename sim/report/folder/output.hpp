// Destinations of text: a string, a file descriptor, a file that is replaced as a whole; and the
// one error of all writers. Only regular files are replaced, and none that the command reads; pipes
// and terminals are written to; anything else is refused.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// Thrown if output could not be written, or must not be written there. The message is "cannot
/// write PATH: REASON".
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

/// Thrown if the pipe that output goes to has no reader any more, as after `| head`.
class OutputClosed : public OutputError {
 public:
  explicit OutputClosed(std::filesystem::path path)
      : OutputError(std::move(path), "no program reads from this pipe") {}
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::string_view text) = 0;
};

class StringSink : public Sink {
 public:
  void write(std::string_view text) override { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Writes to an open file descriptor through a buffer; does not own the descriptor. Throws
/// OutputError, which names `path`, if the system refuses (OutputClosed if a pipe has no reader),
/// and Interrupted if asked to stop, even while the reader of a pipe does not read. Call `flush` at
/// the end: the destructor drops the rest.
class DescriptorSink : public Sink {
 public:
  DescriptorSink(int descriptor, std::filesystem::path path);
  void write(std::string_view text) override;
  void flush();

 private:
  void write_all(std::string_view text);
  std::size_t write_some(std::string_view text);

  int descriptor_;
  bool may_block_;  // the descriptor is a pipe or a terminal
  std::filesystem::path path_;
  std::string buffer_;
};

/// The kind of file at `path` that is not a regular file: "is a symbolic link", "is a pipe", ...
/// Empty for a regular file, or if nothing is there.
std::string irregular_kind(const std::filesystem::path& path);

/// Whether `path` leads to one of `files` (files or folders), under any name.
bool is_one_of(const std::filesystem::path& path, const std::vector<std::filesystem::path>& files);

/// Whether a file begins with `head`, by which the files of this program are known.
bool begins_with(const std::filesystem::path& path, std::string_view head);

/// Which files an output file may replace.
struct Replaceable {
  /// Whether a file may be replaced; if not, `otherwise` says why ("it is not a page of retrysim"),
  /// and `force` replaces it nevertheless.
  std::function<bool(const std::filesystem::path&)> is_ours;
  std::string_view otherwise;
  bool force = false;
  std::vector<std::filesystem::path> reads;  ///< files that are never replaced
};

/// A file that is written as a whole: a reader sees the earlier file or the new one, and the next
/// writer removes what a killed one has left beside it. For a symbolic link, the file that it leads
/// to is written. Output to a pipe or a character device goes there directly.
class OutputFile {
 public:
  /// Throws OutputError if the file must not be written.
  OutputFile(std::filesystem::path path, Replaceable replaceable);

  /// Whether output goes to a reader rather than into a file.
  bool is_stream() const;

  /// Writes a text. Throws OutputError. Does not wait for a reader of a pipe.
  void write(std::string_view text) const;
  /// Writes what `content` writes, piece by piece; if it throws, no file is left.
  void write(const std::function<void(Sink&)>& content) const;

 private:
  void check() const;
  void write_stream(const std::function<void(Sink&)>& content) const;
  void write_whole(const std::function<void(Sink&)>& content) const;

  std::filesystem::path path_;
  Replaceable replaceable_;
};

}  // namespace retrysim::report

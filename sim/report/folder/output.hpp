// Where text goes: a string, a file descriptor, a file that is replaced as a whole; and the one
// error of everything that writes. Only regular files are replaced, and none that the command
// reads; pipes and terminals are written to; anything else is refused.
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

/// The pipe that output goes to has no reader any more, as after `| head`.
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
  bool may_block_;  // a pipe or a terminal
  std::filesystem::path path_;
  std::string buffer_;
};

/// What is at `path`, if it is anything but a regular file: "is a symbolic link", "is a pipe", ...
/// Empty for a regular file, or if nothing is there.
std::string irregular_kind(const std::filesystem::path& path);

/// Whether `path` leads to one of these files or folders, under any name.
bool is_one_of(const std::filesystem::path& path, const std::vector<std::filesystem::path>& files);

/// Whether a file begins with `head`, by which the files of this program are known.
bool begins_with(const std::filesystem::path& path, std::string_view head);

/// Which files an output file may replace.
struct Replaceable {
  /// Whether it is one that may be replaced, and otherwise why not ("it is not a page of
  /// retrysim"); `force` replaces it nevertheless.
  std::function<bool(const std::filesystem::path&)> is_ours;
  std::string_view otherwise;
  bool force = false;
  std::vector<std::filesystem::path> reads;  ///< never these
};

/// A file that is written as a whole: a reader sees the earlier one or the new one, and what a
/// killed writer has left beside it is removed by the next. Of a symbolic link it is the file that
/// this leads to. Output to a pipe or a character device goes there as it is written.
class OutputFile {
 public:
  /// Throws OutputError if it must not be written.
  OutputFile(std::filesystem::path path, Replaceable replaceable);

  /// Whether output goes to a reader rather than into a file.
  bool is_stream() const;

  /// Throws OutputError. Does not wait for a reader of a pipe.
  void write(std::string_view text) const;
  /// Writes what `content` writes, piece by piece; nothing is left if it throws.
  void write(const std::function<void(Sink&)>& content) const;

 private:
  void check() const;
  void write_stream(const std::function<void(Sink&)>& content) const;
  void write_whole(const std::function<void(Sink&)>& content) const;

  std::filesystem::path path_;
  Replaceable replaceable_;
};

}  // namespace retrysim::report

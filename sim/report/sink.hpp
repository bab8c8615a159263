// Where text goes: a string, a file descriptor, a file of a result folder.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace retrysim::report {

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
/// OutputError, which names `path`, if the system refuses (OutputClosed if nobody reads from the
/// other end of a pipe), and Interrupted if asked to stop, even
/// while nobody reads from the other end of a pipe. Call `flush` at the end: the destructor drops
/// what is left.
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

}  // namespace retrysim::report

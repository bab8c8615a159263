// Standard output and standard error: the one place that writes to either of them for people.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/sink.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::report {

/// Opens /dev/null for those of the descriptors 0 to 2 that the caller has closed, so that no file
/// of ours lands there. What is written to a closed standard output still fails; what is written to
/// a closed standard error is lost. And has writing to a broken pipe, or beyond the limit on the
/// size of files, fail like any other writing instead of ending the process. Call it first of all.
void prepare_standard_streams();

/// What messages call it.
inline constexpr const char* kStandardOutput = "standard output";

/// Standard output, through a buffer. For people, what a terminal might obey is written as an
/// escape; programs get the text as it is. Throws OutputError; call `flush` at the end.
class StandardOutput : public Sink {
 public:
  enum class For { kPeople, kPrograms };
  explicit StandardOutput(For readers);
  /// For people if `format` is "table".
  explicit StandardOutput(std::string_view format)
      : StandardOutput(format == "table" ? For::kPeople : For::kPrograms) {}

  void write(std::string_view text) override;
  void flush() { output_.flush(); }

 private:
  For readers_;
  DescriptorSink output_;
};

/// Columns that tables and sentences may take: those that COLUMNS says, or the terminal at standard
/// output, but from 80 to 160; without either 80.
std::size_t output_columns();

/// Writes a whole text for people to standard output. Throws OutputError.
void print(std::string_view text);

/// Writes to standard error what people are to read, with escapes as above. Never throws: whoever
/// closed standard error, or filled its disk, does not want to know.
void print_error(std::string_view text) noexcept;

/// As `print_error`, but the text as it is: what steers the terminal on purpose.
void print_error_raw(std::string_view text) noexcept;

/// `print` and `print_error` of a formatted text.
template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0) {
  print(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <typename... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) noexcept
    requires(sizeof...(Args) > 0) {
  try {
    print_error(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  } catch (...) {  // out of memory: there is nothing left to say it with
  }
}

}  // namespace retrysim::report

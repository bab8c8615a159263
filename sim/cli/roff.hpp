// Writing a manual page in the macros of man(7).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace retrysim::cli {

/// One manual page. Texts are plain; `code` between backquotes becomes bold.
class RoffPage {
 public:
  /// `section` is the part of the manual: 1 for commands, 5 for file formats, 7 for the rest.
  RoffPage(std::string_view name, int section, std::string_view purpose);

  void heading(std::string_view title);
  void subheading(std::string_view title);
  void paragraph(std::string_view text);
  /// Lines that are kept as they are, such as commands to type.
  void example(std::string_view lines);
  /// A term, what follows it (may be empty) in italics, and below it what it means.
  void item(std::string_view term, std::string_view argument, std::string_view meaning);
  /// A further paragraph on the last item.
  void continued_item(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The text so that roff prints it as it is.
std::string roff_escaped(std::string_view text);

}  // namespace retrysim::cli

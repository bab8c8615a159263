// SPDX-License-Identifier: MIT
#include "cli/roff.hpp"

#include <fmt/format.h>

namespace retrysim::cli {
namespace {

/// Upper case, as titles of manual pages have it.
std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

/// The words with one blank between two, as on one line.
std::string on_one_line(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!result.empty() && result.back() != ' ')) result += blank ? ' ' : c;
  }
  return result;
}

/// Escaped, with what stands between two backquotes in bold.
std::string with_bold_code(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t open = text.find('`');
    const std::size_t close = open == text.npos ? text.npos : text.find('`', open + 1);
    if (close == text.npos) break;
    result += roff_escaped(text.substr(0, open));
    result += fmt::format("\\fB{}\\fR", roff_escaped(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
  return result + roff_escaped(text);
}

/// A line of text: one that began with a dot or a quote would be a request.
std::string line_of(std::string_view text) {
  std::string line = with_bold_code(on_one_line(text));
  if (line.starts_with('.')) line.insert(0, "\\&");
  return line + "\n";
}

}  // namespace

std::string roff_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

RoffPage::RoffPage(std::string_view name, int section, std::string_view purpose)
    : text_(fmt::format(".TH {} {} \"\" \"retrysim {}\" \"retrysim\"\n", roff_escaped(upper(name)),
                        section, RETRYSIM_VERSION)) {
  heading("NAME");
  text_ += fmt::format("{} \\- {}\n", roff_escaped(name), roff_escaped(on_one_line(purpose)));
}

void RoffPage::heading(std::string_view title) {
  text_ += fmt::format(".SH \"{}\"\n", roff_escaped(title));
}

void RoffPage::subheading(std::string_view title) {
  text_ += fmt::format(".SS \"{}\"\n", roff_escaped(title));
}

void RoffPage::paragraph(std::string_view text) { text_ += ".PP\n" + line_of(text); }

void RoffPage::example(std::string_view lines) {
  text_ += ".PP\n.RS 4\n.nf\n";
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string line = roff_escaped(lines.substr(0, end));
    if (line.starts_with('.')) line.insert(0, "\\&");
    text_ += line + "\n";
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
  }
  text_ += ".fi\n.RE\n";
}

void RoffPage::item(std::string_view term, std::string_view argument, std::string_view meaning) {
  text_ += fmt::format(".TP\n\\fB{}\\fR", roff_escaped(term));
  if (!argument.empty()) text_ += fmt::format(" \\fI{}\\fR", roff_escaped(argument));
  text_ += "\n" + line_of(meaning);
}

void RoffPage::continued_item(std::string_view text) { text_ += ".IP\n" + line_of(text); }

}  // namespace retrysim::cli

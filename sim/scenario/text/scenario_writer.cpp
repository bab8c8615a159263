// SPDX-License-Identifier: MIT
#include "scenario/text/scenario_writer.hpp"

#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace retrysim::scenario {

namespace {

/// The text in lines of at most `columns` columns, broken at blanks; longer words stick out.
std::string in_lines(std::string_view text, std::size_t columns, std::string_view first,
                     std::string_view others) {
  std::string all, line(first);
  std::size_t width = columns_of(line);
  bool is_empty = true;  // the line has nothing but its prefix
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t its_width = columns_of(word);
    if (!is_empty && width + 1 + its_width > columns) {
      all += line + "\n";
      line = others;
      width = columns_of(line);
      is_empty = true;
    }
    if (!is_empty) {
      line += ' ';
      ++width;
    }
    line += word;
    width += its_width;
    is_empty = false;
  }
  return all + line + "\n";
}

}  // namespace

void ScenarioWriter::comment(std::string_view sentence, std::string_view first,
                             std::string_view others) {
  write_keys();
  text_ += in_lines(sentence, layout_.columns, first, others);
}

void ScenarioWriter::blank() {
  write_keys();
  text_ += '\n';
}

void ScenarioWriter::table(std::string_view path) {
  stop_point();
  blank();
  section(path);
}

void ScenarioWriter::line(std::string_view text) {
  write_keys();
  text_ += text;
  text_ += '\n';
}

void ScenarioWriter::section(std::string_view path) {
  write_keys();
  text_ += fmt::format("[{}]\n", path);
}

void ScenarioWriter::key(std::string_view name, std::string_view value, std::string_view comment) {
  keys_.push_back({std::string(name), std::string(value), std::string(comment)});
}

std::string ScenarioWriter::text() {
  write_keys();
  return text_;
}

void ScenarioWriter::write_keys() {
  const bool in_table = layout_.comments == Comments::kInTable;
  StopCounter<512> stop;
  std::size_t names = 0, widest = 0;
  const auto assignment = [&](const Line& line) {
    return fmt::format("{:<{}} = {}", line.key, in_table ? names : 0, line.value);
  };
  constexpr std::size_t kBetween = 4;  // columns of two blanks and "# "
  if (in_table) {
    for (const Line& line : keys_) names = std::max(names, line.key.size());
    for (const Line& line : keys_) {
      stop.count();
      const std::size_t width = columns_of(assignment(line));
      const bool fits = width + kBetween + columns_of(line.comment) <= layout_.columns;
      if (!line.comment.empty() && fits) widest = std::max(widest, width);
    }
  }
  for (const Line& line : keys_) {
    stop.count();
    std::string written = assignment(line);
    const std::size_t width = columns_of(written);
    if (line.comment.empty()) {
      text_ += written + "\n";
      continue;
    }
    std::size_t at = width + 2;
    if (in_table) at = std::max(widest, width) + 2;
    if (layout_.comments == Comments::kAt) at = std::max(layout_.comments_at, width + 1);
    const bool fits = at + 2 + columns_of(line.comment) <= layout_.columns;
    if (fits || layout_.comments == Comments::kBehind) {
      written += std::string(at - width, ' ') + "# " + line.comment;
    } else if (in_table) {
      text_ += in_lines(line.comment, layout_.columns, "# ", "#   ");
    } else {
      text_ += "# " + line.comment + "\n";
    }
    text_ += written + "\n";
  }
  keys_.clear();
}

}  // namespace retrysim::scenario

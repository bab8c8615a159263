// SPDX-License-Identifier: MIT
#include "scenario/condition.hpp"

#include <algorithm>

namespace retrysim::scenario {
namespace {

// Whether `word` is one of "a|b|c".
bool is_among(std::string_view word, std::string_view words) {
  while (words.size() > word.size()) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == word) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
  return words == word;
}

}  // namespace

Condition::Condition(std::string_view text) {
  const std::size_t first = text.find(' ');
  const std::size_t second = std::min(text.find(' ', first + 1), text.size());
  key = text.substr(0, first);
  relation = text.substr(first + 1, second - first - 1);
  words = text.substr(std::min(text.size(), second + 1));
}

bool Condition::holds_for(std::string_view value) const {
  return relation != "unset" && is_among(value, words) == (relation == "=");
}

std::string Condition::words_as_text() const {
  std::string text(words);
  const std::size_t last = text.rfind('|');
  if (last != std::string::npos) text.replace(last, 1, " or ");
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, ", ");
  }
  return text;
}

}  // namespace retrysim::scenario

// Conditions of the table of keys: "KEY = a|b", "KEY != a" or "KEY unset".
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace retrysim::scenario {

struct Condition {
  std::string_view key, relation, words;

  explicit Condition(std::string_view text);

  /// Whether it holds where the key has this value.
  bool holds_for(std::string_view value) const;
  /// "a, b or c".
  std::string words_as_text() const;
};

}  // namespace retrysim::scenario

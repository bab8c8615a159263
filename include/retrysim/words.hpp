// The words that scenario files, result files and messages use for the values of an enumeration.
// They stand beside each enumeration, in the order of its enumerators.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace retrysim {

/// "none|full|equal": specialized for each enumeration that has words.
template <class Enum>
inline constexpr std::string_view kWords = "";

/// The help text of the key that takes one of these words. It stands beside them so that a new word
/// is explained where it is added; specialized where words are likely to be added.
template <class Enum>
inline constexpr std::string_view kMeaning = "";

template <class Enum>
concept HasWords = !kWords<Enum>.empty();

/// Whether there is a word for every enumerator up to `last`, and no more.
template <HasWords Enum>
constexpr bool words_end_with(Enum last) {
  std::size_t count = 1;
  for (const char c : kWords<Enum>) count += c == '|';
  return count == static_cast<std::size_t>(last) + 1;
}

/// The word for a value.
template <HasWords Enum>
constexpr std::string_view name(Enum value) {
  std::string_view rest = kWords<Enum>;
  for (auto n = static_cast<std::size_t>(value); n > 0; --n) rest.remove_prefix(rest.find('|') + 1);
  return rest.substr(0, rest.find('|'));
}

}  // namespace retrysim

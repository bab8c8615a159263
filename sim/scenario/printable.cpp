// SPDX-License-Identifier: MIT
#include "scenario/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace retrysim::scenario {
namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

/// Overlong forms, surrogates and what lies beyond Unicode.
bool is_valid(std::uint32_t c, std::size_t size) {
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  return c >= kSmallest[size] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
}

bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0)          // C0, DEL, C1
         || c == 0x61C || c == 0x200E || c == 0x200F  // marks of direction
         || (c >= 0x2028 && c <= 0x202E)              // line separators, embeddings and overrides
         || (c >= 0x2066 && c <= 0x2069)              // isolates
         || c == 0xFEFF;                              // byte order mark
}

std::string escape(std::string_view character) {
  if (character == "\t") return "\\t";
  if (character == "\r") return "\\r";
  if (character == "\n") return "\\n";
  if (character.size() == 1) return fmt::format("\\x{:02X}", byte_at(character, 0));
  return fmt::format("\\u{:04X}", code_point(character));
}

std::string escaped(std::string_view text, bool keep_line_feeds) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (is_printable(character) || (keep_line_feeds && character == "\n")) {
      result += character;
    } else {
      result += escape(character);
    }
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

bool is_character(std::string_view character) {
  return character.size() > 1 || byte_at(character, 0) < 0x80;
}

std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return byte_at(character, 0);
  std::uint32_t value = byte_at(character, 0) & (0x7Fu >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) {
    value = value << 6 | (byte_at(character, i) & 0x3F);
  }
  return value;
}

std::string_view first_character(std::string_view text) {
  const std::uint32_t lead = byte_at(text, 0);
  const std::size_t size = lead < 0x80              ? 1
                           : (lead & 0xE0u) == 0xC0 ? 2
                           : (lead & 0xF0u) == 0xE0 ? 3
                           : (lead & 0xF8u) == 0xF0 ? 4
                                                    : 1;
  if (size == 1 || size > text.size()) return text.substr(0, 1);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, i) & 0xC0u) != 0x80) return text.substr(0, 1);
  }
  const std::string_view character = text.substr(0, size);
  return is_valid(code_point(character), size) ? character : text.substr(0, 1);
}

bool is_printable(std::string_view character) {
  return is_character(character) && !is_control(code_point(character));
}

std::string printable(std::string_view text) { return escaped(text, true); }

std::string printable_line(std::string_view text) { return escaped(text, false); }

std::size_t columns_of(std::string_view text) {
  const std::string shown = printable(text);
  return static_cast<std::size_t>(std::count_if(shown.begin(), shown.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace retrysim::scenario

// Numbers as little-endian bytes, whatever the machine.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace retrysim::execution {

template <std::unsigned_integral T>
void put(std::string& bytes, T value) {
  char little[sizeof(T)];
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(little, &value, sizeof(T));
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      little[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
  }
  bytes.append(little, sizeof(T));
}

inline void put_text(std::string& bytes, std::string_view text) {
  put(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

/// Takes values from the front of `bytes`; nothing if too few are left.
template <std::unsigned_integral T>
std::optional<T> take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, bytes.data(), sizeof(T));
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value =
          static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    }
  }
  bytes.remove_prefix(sizeof(T));
  return value;
}

inline std::optional<std::string> take_text(std::string_view& bytes) {
  const auto size = take<std::uint64_t>(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  std::string text(bytes.substr(0, *size));
  bytes.remove_prefix(*size);
  return text;
}

}  // namespace retrysim::execution

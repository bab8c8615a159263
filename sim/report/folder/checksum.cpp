// SPDX-License-Identifier: MIT
#include "report/folder/manifest.hpp"

#include <array>
#include <cstddef>

namespace retrysim::report {
namespace {

// Eight bytes at a time ("slicing by 8", Kounavis and Berry 2005): a byte at a time, as Boost does
// it, is a good part of writing a large result. Table k holds the CRC of a byte and k zeros.
constexpr std::size_t kCrcBytes = 8;
using CrcTables = std::array<std::array<std::uint32_t, 256>, kCrcBytes>;

constexpr CrcTables crc_tables() {
  constexpr std::uint32_t kPolynomial = 0xEDB88320;  // of CRC-32, its bits in reverse
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kCrcBytes; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = tables[0][before & 0xFF] ^ before >> 8;
    }
  }
  return tables;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  static constexpr CrcTables kTables = crc_tables();
  std::uint32_t crc = ~before;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::size_t i = 0;
  for (; i + kCrcBytes <= bytes.size(); i += kCrcBytes) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      next ^= kTables[kCrcBytes - 1 - k][(crc >> (8 * k) & 0xFF) ^ at(i + k)];
      next ^= kTables[kCrcBytes - 5 - k][at(i + k + 4)];
    }
    crc = next;
  }
  for (; i < bytes.size(); ++i) crc = kTables[0][(crc ^ at(i)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

}  // namespace retrysim::report

// Layout: width of a bin in nanoseconds, bins (64 bits each), groups, services (32 bits each),
// whether it drained (8 bits); then the sums of each group and service: two bits for each, and
// those that are not zero, as 8, 32 or 64 bits.
//
// SPDX-License-Identifier: MIT
#include "execution/series_bytes.hpp"

#include "execution/byte_order.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::execution {
namespace {

using stats::RunSeries;

enum class Size : std::uint8_t { kZero, kByte, kWord, kDouble };

bool is_whole_up_to(double value, double most) {
  return value >= 0 && value <= most &&
         static_cast<double>(static_cast<std::uint32_t>(value)) == value;
}

Size size_of(double value) {
  if (std::bit_cast<std::uint64_t>(value) == 0) return Size::kZero;
  if (std::bit_cast<std::uint64_t>(value) >> 63 != 0) return Size::kDouble;
  if (is_whole_up_to(value, 0xFF)) return Size::kByte;
  return is_whole_up_to(value, 0xFFFF'FFFF) ? Size::kWord : Size::kDouble;
}

void put_sums(std::string& bytes, const std::vector<double>& sums) {
  for (std::size_t i = 0; i < sums.size(); i += 4) {
    unsigned sizes = 0;
    for (std::size_t k = 0; k < 4 && i + k < sums.size(); ++k) {
      sizes |= static_cast<unsigned>(size_of(sums[i + k])) << (2 * k);
    }
    put(bytes, static_cast<std::uint8_t>(sizes));
  }
  for (const double value : sums) {
    switch (size_of(value)) {
      case Size::kZero:
        break;
      case Size::kByte:
        put(bytes, static_cast<std::uint8_t>(value));
        break;
      case Size::kWord:
        put(bytes, static_cast<std::uint32_t>(value));
        break;
      case Size::kDouble:
        put(bytes, std::bit_cast<std::uint64_t>(value));
        break;
    }
  }
}

std::optional<double> take_sum(std::string_view& bytes, Size size) {
  switch (size) {
    case Size::kZero:
      return 0.0;
    case Size::kByte:
      return take<std::uint8_t>(bytes);
    case Size::kWord:
      return take<std::uint32_t>(bytes);
    case Size::kDouble:
      break;
  }
  const auto bits = take<std::uint64_t>(bytes);
  return bits ? std::optional(std::bit_cast<double>(*bits)) : std::nullopt;
}

bool take_sums(std::string_view& bytes, std::vector<double>& sums, std::uint64_t count) {
  const std::uint64_t size_bytes = (count + 3) / 4;
  if (size_bytes > bytes.size()) return false;
  const std::string_view sizes = bytes.substr(0, size_bytes);
  bytes.remove_prefix(sizes.size());
  sums.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const unsigned bits = static_cast<unsigned char>(sizes[i / 4]);
    const auto sum = take_sum(bytes, static_cast<Size>(bits >> (2 * (i % 4)) & 3u));
    if (!sum) return false;
    sums.push_back(*sum);
  }
  return true;
}

}  // namespace

void put_series(std::string& bytes, const RunSeries& series) {
  put(bytes, static_cast<std::uint64_t>(series.width.count()));
  put(bytes, static_cast<std::uint64_t>(series.bins));
  put(bytes, static_cast<std::uint32_t>(series.clients.size()));
  put(bytes, static_cast<std::uint32_t>(series.services.size()));
  put(bytes, static_cast<std::uint8_t>(series.drained));
  for (const auto& sums : series.clients) put_sums(bytes, sums);
  for (const auto& sums : series.services) put_sums(bytes, sums);
}

std::optional<RunSeries> take_series(std::string_view& bytes) {
  const auto width = take<std::uint64_t>(bytes);
  const auto bins = take<std::uint64_t>(bytes);
  const auto clients = take<std::uint32_t>(bytes);
  const auto services = take<std::uint32_t>(bytes);
  const auto drained = take<std::uint8_t>(bytes);
  // Every sum has at least two bits, so that a damaged size is found before memory is reserved.
  if (!width || !bins || !clients || !services || !drained) return std::nullopt;
  if (*bins > bytes.size()) return std::nullopt;
  RunSeries series;
  series.width = Duration::nanoseconds(static_cast<std::int64_t>(*width));
  series.bins = *bins;
  series.drained = *drained != 0;
  for (std::uint32_t c = 0; c < *clients; ++c) {
    if (!take_sums(bytes, series.clients.emplace_back(), *bins * stats::kClientSums)) return {};
  }
  for (std::uint32_t s = 0; s < *services; ++s) {
    if (!take_sums(bytes, series.services.emplace_back(), *bins * stats::kServiceSums)) return {};
  }
  return series;
}

}  // namespace retrysim::execution

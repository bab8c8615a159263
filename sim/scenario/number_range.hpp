// The ranges of --vary: LO:HI:STEP and LO:HI:*N as lists of values.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// The most values that one range may have.
inline constexpr std::size_t kMostRangeValues = 1'000'000;

/// The values of a range as TOML texts, or what is wrong and with which part of it.
struct RangeResult {
  std::vector<std::string> values;
  std::string error;     ///< empty: none
  std::size_t part = 0;  ///< 0 LO, 1 HI, 2 STEP or *N
};

/// Whether `text` is a number or a duration with a unit, so that "LO:" begins a range.
bool is_range_end(std::string_view text);

/// The values of the range; see parse_variation for its rules. `step` starts with '*' if the range
/// is log-spaced. Numbers have at most 15 decimals and 18 digits.
RangeResult range_values(std::string_view low, std::string_view high, std::string_view step);

}  // namespace retrysim::scenario

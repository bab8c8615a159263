// Sorting with stop points: sorting many elements takes longer than anybody who has asked for a
// stop should wait.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/stop.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace retrysim::kernel {

/// As `std::ranges::sort`, with stop points. After `Interrupted` the elements are in any order.
template <class Range, class Less = std::ranges::less, class Projection = std::identity>
void sort(Range& range, Less less = {}, Projection projection = {}) {
  StopCounter<> comparisons;
  std::ranges::sort(
      range,
      [&](const auto& a, const auto& b) {
        comparisons.count();
        return std::invoke(less, a, b);
      },
      std::move(projection));
}

}  // namespace retrysim::kernel

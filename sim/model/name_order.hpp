// Groups, services, faults ... in the order of their names: what a world does with all of them in
// turn, it does in this order, so that the order of a scenario's tables does not matter.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace retrysim::model {

/// Indices of `all` by `name`; those of equal names keep their order.
template <class Spec>
std::vector<std::size_t> name_order(const std::vector<Spec>& all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) -> const auto& { return all[i].name; });
  return order;
}

}  // namespace retrysim::model

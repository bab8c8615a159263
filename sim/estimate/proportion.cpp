// Source of the formula: Wilson 1927; Newcombe 1998, method 3.
//
// SPDX-License-Identifier: MIT
#include "estimate/proportion.hpp"

#include <algorithm>
#include <cmath>

namespace retrysim::stats {

ProportionInterval wilson_interval(std::size_t hits, std::size_t trials) {
  if (trials == 0) return {};
  const double n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double z2 = kNormal95 * kNormal95;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      kNormal95 * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  // At the ends the formula gives 0 and 1 but for the last bits.
  return {hits == 0 ? 0 : std::max(0.0, centre - half),
          hits == trials ? 1 : std::min(1.0, centre + half)};
}

}  // namespace retrysim::stats

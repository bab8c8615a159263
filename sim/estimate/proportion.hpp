// How sure one can be of a probability that has been estimated by counting.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace retrysim::stats {

/// 97.5 % quantile of the standard normal distribution.
inline constexpr double kNormal95 = 1.959963984540054;

struct ProportionInterval {
  double low = 0, high = 1;
};

/// Wilson's 95 % score interval for a probability, after `hits` in `trials` independent trials;
/// from 0 to 1 without any. Unlike the mean plus or minus two standard errors it holds near 0 and
/// 1, and has a width there.
ProportionInterval wilson_interval(std::size_t hits, std::size_t trials);

}  // namespace retrysim::stats

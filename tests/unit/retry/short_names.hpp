// Names that the tests of retry rules share.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/time.hpp>

#include <cstdint>

namespace retrysim::test {

constexpr Time at_ms(std::int64_t n) { return Time::zero() + Duration::milliseconds(n); }

inline constexpr auto kTransient = ResponseClass::kTransient;
inline constexpr auto kThrottling = ResponseClass::kThrottling;
inline constexpr auto kNotRetryable = ResponseClass::kNotRetryable;

}  // namespace retrysim::test

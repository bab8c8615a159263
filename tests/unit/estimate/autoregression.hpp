// A first-order autoregressive series with normal values: correlation and variance are known.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace retrysim::test {

/// Standard normal variates (Box and Muller).
class NormalNumbers {
 public:
  explicit NormalNumbers(std::uint64_t seed) : engine_(seed) {}
  double next() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// Uniform on (0, 1].
  double uniform() { return static_cast<double>((engine_() >> 11) + 1) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

/// x' = correlation x + noise, with mean 0 and standard deviation 1 from the start.
class Autoregression {
 public:
  Autoregression(std::uint64_t seed, double correlation)
      : normal_(seed),
        correlation_(correlation),
        noise_(std::sqrt(1 - correlation * correlation)),
        value_(normal_.next()) {}
  double next() {
    const double value = value_;
    value_ = correlation_ * value_ + noise_ * normal_.next();
    return value;
  }

 private:
  NormalNumbers normal_;
  double correlation_, noise_, value_;
};

}  // namespace retrysim::test

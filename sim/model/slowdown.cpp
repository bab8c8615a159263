// SPDX-License-Identifier: MIT
#include "model/slowdown.hpp"

#include <sleef.h>

#include <algorithm>
#include <cstddef>

namespace retrysim::model {
namespace {

double from_table(const SlowdownTable& table, double n) {
  const auto after = std::upper_bound(table.in_service.begin(), table.in_service.end(), n);
  const auto i = static_cast<std::size_t>(after - table.in_service.begin());
  if (i == table.in_service.size()) return table.factors.back();
  const double from = table.in_service[i - 1], to = table.in_service[i];
  const double low = table.factors[i - 1], high = table.factors[i];
  return low + (high - low) * ((n - from) / (to - from));
}

double unlimited_factor(const ServiceSpec& spec, double n) {
  if (spec.slowdown.curve == SlowdownCurve::kTable) return from_table(spec.slowdown.table, n);
  if (spec.slowdown.curve == SlowdownCurve::kExponential) {
    return Sleef_cinz_expd1_u10purec(spec.slowdown.per_attempt * n);
  }
  return n == 0
             ? 1
             : 1 + spec.slowdown.per_attempt * Sleef_cinz_powd1_u10purec(n, spec.slowdown.exponent);
}

}  // namespace

double slowdown_factor(const ServiceSpec& spec, std::int64_t others) {
  const auto n = static_cast<double>(others);
  if (spec.slowdown.curve == SlowdownCurve::kLinear) return 1 + spec.slowdown.per_attempt * n;
  constexpr double kMost = 1e12;  // thirty years of a millisecond's work
  return std::min(kMost, unlimited_factor(spec, n));
}

}  // namespace retrysim::model

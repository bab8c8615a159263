// Integrating the noted levels of a service, two at a time.
//
// SPDX-License-Identifier: MIT
#include "measure/record/levels.hpp"

#include <cstdint>
#include <cstring>

namespace retrysim::stats {

namespace {

// Two numbers at a time: registers of 128 bits are what every processor of this kind has, and the
// compiler makes single steps of them elsewhere.
using TwoDoubles [[gnu::vector_size(16)]] = double;
using TwoLongs [[gnu::vector_size(16)]] = std::int64_t;

TwoLongs two_at(const std::int64_t* numbers) {
  TwoLongs two;
  std::memcpy(&two, numbers, sizeof two);
  return two;
}

/// Converts whole numbers from 0 to 2^52 - 1: they are the last bits of a double in [2^52, 2^53).
TwoDoubles exactly(TwoLongs numbers) {
  constexpr double kBase = 0x1p52;
  constexpr std::int64_t kBaseBits = std::int64_t{1023 + 52} << 52;
  TwoDoubles doubles;
  numbers |= kBaseBits;
  std::memcpy(&doubles, &numbers, sizeof doubles);
  return doubles - kBase;
}

}  // namespace

void StationLog::integrate() {
  if (!integrate_whole_numbers()) integrate_in_order();
  since_[0] = since_[last_];
  busy_[0] = busy_[last_];
  in_system_[0] = in_system_[last_];
  last_ = 0;
}

// Whole numbers below 2^53 are added without rounding, and since none of them is negative, none was
// larger on the way to a sum that is not.
bool StationLog::integrate_whole_numbers() {
  constexpr std::int64_t kLongest = std::int64_t{1} << 52;  // fifty days
  if (since_[last_] - since_[0] >= kLongest) return false;
  // The time after the last noted levels has no length: an odd one adds nothing.
  since_[last_ + 1] = since_[last_];
  const TwoDoubles servers = {servers_, servers_};
  TwoDoubles busy_sum = {}, sum = {}, squared_sum = {}, all_busy_sum = {};
  for (std::size_t i = 0; i < last_; i += 2) {
    const TwoDoubles dt = exactly(two_at(&since_[i + 1]) - two_at(&since_[i]));
    const TwoDoubles busy = exactly(two_at(&busy_[i]));
    const TwoDoubles in_system = exactly(two_at(&in_system_[i]));
    const TwoDoubles area = in_system * dt;
    busy_sum += busy * dt;
    sum += area;
    squared_sum += in_system * area;
    all_busy_sum += busy >= servers ? dt : TwoDoubles{};
  }
  const auto both = [](TwoDoubles two) { return two[0] + two[1]; };
  const Integrals sums = {sums_.busy + both(busy_sum), sums_.in_system + both(sum),
                          sums_.in_system_squared + both(squared_sum),
                          sums_.all_busy + both(all_busy_sum)};
  if (std::max({sums.busy, sums.in_system, sums.in_system_squared, sums.all_busy}) >= 0x1p53) {
    return false;
  }
  sums_ = sums;
  return true;
}

void StationLog::integrate_in_order() {
  for (std::size_t i = 0; i < last_; ++i) {
    const auto dt = static_cast<double>(since_[i + 1] - since_[i]);
    const auto busy = static_cast<double>(busy_[i]);
    const auto in_system = static_cast<double>(in_system_[i]);
    const double area = in_system * dt;
    sums_.busy += busy * dt;
    sums_.in_system += area;
    sums_.in_system_squared += in_system * area;
    sums_.all_busy += busy >= servers_ ? dt : 0;
  }
}

StationLog::Integrals StationLog::fold(Time end) {
  note(end, now());
  integrate();
  const Integrals sums = sums_;
  sums_ = {};
  return sums;
}

}  // namespace retrysim::stats

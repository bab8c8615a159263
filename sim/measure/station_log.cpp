// SPDX-License-Identifier: MIT
#include "measure/station_log.hpp"

#include <cstring>

namespace retrysim::stats {
namespace {

// Two numbers at a time: registers of 128 bits are what every processor of this kind has, and the
// compiler makes single steps of them elsewhere. Each number is rounded as it would be alone.
using TwoDoubles [[gnu::vector_size(16)]] = double;
using TwoLongs [[gnu::vector_size(16)]] = std::int64_t;
using TwoInts [[gnu::vector_size(8)]] = std::int32_t;

template <class Two, class Number>
Two two_at(const Number* numbers) {
  Two two;
  std::memcpy(&two, numbers, sizeof two);
  return two;
}

/// Of whole numbers from 0 to 2^52 - 1: as the last bits of a double from 2^52 on.
TwoDoubles exactly(TwoLongs numbers) {
  constexpr double kBase = 0x1p52;
  constexpr std::int64_t kBaseBits = std::int64_t{1023 + 52} << 52;
  TwoDoubles doubles;
  numbers |= kBaseBits;
  std::memcpy(&doubles, &numbers, sizeof doubles);
  return doubles - kBase;
}

constexpr std::int64_t kLongest = std::int64_t{1} << 52;  // fifty days

}  // namespace

void StationLog::integrate() {
  // What comes after the levels noted last has no length: the odd one is added as nothing.
  since_[last_ + 1] = since_[last_];
  TwoDoubles levels = {sums_.busy, sums_.in_system};
  TwoDoubles others = {sums_.in_system_squared, sums_.all_busy};
  const TwoDoubles servers = {servers_, servers_};
  const bool is_short = since_[last_] - since_[0] < kLongest;
  for (std::size_t i = 0; i < last_; i += 2) {
    const TwoLongs length = two_at<TwoLongs>(&since_[i + 1]) - two_at<TwoLongs>(&since_[i]);
    const TwoDoubles dt =
        is_short ? exactly(length)
                 : TwoDoubles{static_cast<double>(length[0]), static_cast<double>(length[1])};
    const auto busy = __builtin_convertvector(two_at<TwoInts>(&busy_[i]), TwoDoubles);
    const auto in_system = __builtin_convertvector(two_at<TwoInts>(&in_system_[i]), TwoDoubles);
    const TwoDoubles busy_area = busy * dt, area = in_system * dt;
    const TwoDoubles squared = in_system * area;
    const TwoDoubles all_busy = busy >= servers ? dt : TwoDoubles{};
    levels += TwoDoubles{busy_area[0], area[0]};
    levels += TwoDoubles{busy_area[1], area[1]};
    others += TwoDoubles{squared[0], all_busy[0]};
    others += TwoDoubles{squared[1], all_busy[1]};
  }
  sums_ = {levels[0], levels[1], others[0], others[1]};
  since_[0] = since_[last_];
  busy_[0] = busy_[last_];
  in_system_[0] = in_system_[last_];
  last_ = 0;
}

StationLog::Integrals StationLog::fold(Time end) {
  note(end, now());
  integrate();
  const Integrals sums = sums_;
  sums_ = {};
  return sums;
}

}  // namespace retrysim::stats

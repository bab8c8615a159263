// Standard deviations from integer sums, where floating-point sums would cancel.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include <cmath>

using namespace retrysim;

namespace {

DurationMoments moments_of(std::initializer_list<std::int64_t> values_ns) {
  DurationMoments m;
  for (const std::int64_t v : values_ns) m.add(Duration::nanoseconds(v));
  return m;
}

constexpr std::int64_t kDay = 86'400'000'000'000;
constexpr std::int64_t kThirtyYears = 1'000'000'000'000'000'000;

}  // namespace

TEST_CASE("the spread of equal durations is zero to the last bit") {
  CHECK(DurationMoments().standard_deviation_ns() == 0);
  for (const std::int64_t v :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{100'000'000}, kDay + 1, kThirtyYears - 7}) {
    DurationMoments m;
    for (int i = 0; i < 1001; ++i) m.add(Duration::nanoseconds(v));
    CHECK(m.standard_deviation_ns() == 0);
    DurationMoments merged = m;
    merged.merge(m);
    CHECK(merged.standard_deviation_ns() == 0);
  }
}

TEST_CASE("a spread of nanoseconds shows on durations of days") {
  CHECK(moments_of({kDay, kDay + 2}).standard_deviation_ns() == 1);
  // Deviations -1.5, -0.5, 0.5, 1.5: variance 5 / 4.
  CHECK(moments_of({kDay, kDay + 1, kDay + 2, kDay + 3}).standard_deviation_ns() ==
        Approx(std::sqrt(1.25)).epsilon(1e-15));
  CHECK(moments_of({0, 10}).standard_deviation_ns() == 5);
  // Its last digit is the same with every release of Boost.
  CHECK(moments_of({69'332'484'551, 83'368'801'128, 11'864'298'632}).standard_deviation_ns() ==
        0x1.ccf5daaf306c6p+34);
}

TEST_CASE("sums of squares beyond 128 bits stay exact") {
  // A thousand squares of 10^36 ns^2 are three times 2^128.
  DurationMoments low, high;
  for (int i = 0; i < 1000; ++i) {
    low.add(Duration::nanoseconds(kThirtyYears - 3));
    high.add(Duration::nanoseconds(kThirtyYears + 3));
  }
  CHECK(low.sum_squares_carry == 2);
  CHECK(low.standard_deviation_ns() == 0);
  low.merge(high);
  CHECK(low.sum_squares_carry == 5);  // 2000 * 10^36 / 2^128 = 5.88
  CHECK(low.standard_deviation_ns() == 3);
}

TEST_CASE("the order of adding and merging does not matter") {
  const DurationMoments all = moments_of({3, kDay, 17, kThirtyYears, 5});
  DurationMoments merged = moments_of({kThirtyYears, 5});
  merged.merge(moments_of({17, 3, kDay}));
  CHECK(merged.count == all.count);
  CHECK(merged.sum_ns == all.sum_ns);
  CHECK(merged.sum_squares_ns2 == all.sum_squares_ns2);
  CHECK(merged.standard_deviation_ns() == all.standard_deviation_ns());
}

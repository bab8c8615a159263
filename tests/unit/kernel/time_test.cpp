// Rounding, saturation and exactness of simulated time.
//
// SPDX-License-Identifier: MIT
#include <retrysim/time.hpp>

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>

using retrysim::Duration;
using retrysim::Time;

namespace {

// A moment and a length cannot be mixed up, and a bare number is neither.
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(Addable<Time, Duration>);
static_assert(!Addable<Time, Time>);
static_assert(!Addable<Time, std::int64_t>);
static_assert(!std::is_convertible_v<std::int64_t, Duration>);
static_assert(!std::is_convertible_v<Duration, Time>);

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("units of a duration are exact") {
  CHECK(Duration::nanoseconds(7).count() == 7);
  CHECK(Duration::microseconds(7).count() == 7'000);
  CHECK(Duration::milliseconds(7).count() == 7'000'000);
  CHECK(Duration::seconds(7).count() == 7'000'000'000);
  CHECK(Duration().count() == 0);
  CHECK(Duration::zero() == Duration());
  CHECK(Duration::milliseconds(1) < Duration::seconds(1));
}

TEST_CASE("doubles round to the nearest nanosecond, halves upwards") {
  CHECK(Duration::from_nanoseconds(1.49).count() == 1);
  CHECK(Duration::from_nanoseconds(1.5).count() == 2);
  CHECK(Duration::from_nanoseconds(2.5).count() == 3);
  CHECK(Duration::from_nanoseconds(0.5).count() == 1);
  // The largest double below a half: adding 0.5 to it gives 1 in double arithmetic.
  CHECK(Duration::from_nanoseconds(0x1.fffffffffffffp-2).count() == 0);
  // Above 2^52 doubles are whole numbers already; an odd one plus 0.5 would round to even.
  for (const std::int64_t odd :
       {(std::int64_t{1} << 52) + 1, (std::int64_t{1} << 52) + 3, (std::int64_t{1} << 53) - 1}) {
    CHECK(Duration::from_nanoseconds(static_cast<double>(odd)).count() == odd);
  }
  // Halves are representable up to 2^52.
  const std::int64_t big = (std::int64_t{1} << 51) + 1;
  CHECK(Duration::from_nanoseconds(static_cast<double>(big)).count() == big);
  CHECK(Duration::from_nanoseconds(static_cast<double>(big) + 0.5).count() == big + 1);
  CHECK(Duration::from_seconds(0.25).count() == 250'000'000);
  CHECK(Duration::from_seconds(1e-9).count() == 1);
}

TEST_CASE("doubles saturate at zero and at never") {
  CHECK(Duration::from_nanoseconds(-1).count() == 0);
  CHECK(Duration::from_seconds(-1e300).count() == 0);
  CHECK(Duration::from_nanoseconds(9.3e18) == Duration::max());
  CHECK(Duration::from_seconds(std::numeric_limits<double>::infinity()) == Duration::max());
  CHECK(Duration::from_nanoseconds(9.1e18) < Duration::max());
}

TEST_CASE("a decimal number of seconds survives the way there and back") {
  // in_seconds gives the double nearest to the decimal value, the one that a literal means.
  CHECK(Duration::milliseconds(10).in_seconds() == 0.01);
  CHECK(Duration::milliseconds(300).in_seconds() == 0.3);
  CHECK(Duration::nanoseconds(1).in_seconds() == 1e-9);
  CHECK(Time::from_nanoseconds(1'100'000'000).in_seconds() == 1.1);
  for (std::int64_t ms = 0; ms < 100'000; ms += 7) {
    REQUIRE(Duration::from_seconds(static_cast<double>(ms) / 1e3) == Duration::milliseconds(ms));
    REQUIRE(Duration::milliseconds(ms).in_seconds() == static_cast<double>(ms) / 1e3);
  }
}

TEST_CASE("never absorbs additions") {
  const Duration second = Duration::seconds(1);
  CHECK(Duration::max() + second == Duration::max());
  CHECK(second + Duration::max() == Duration::max());
  CHECK(Duration::max() + Duration::max() == Duration::max());
  CHECK(Duration::nanoseconds(kNever - 1) + second == Duration::max());
  Duration sum = Duration::max();
  sum += second;
  CHECK(sum == Duration::max());
  CHECK(Time::max() + second == Time::max());
  CHECK(Time::max() + (Duration::zero() - second) == Time::max());
  CHECK(Time::zero() + Duration::max() == Time::max());
  CHECK(Time::from_nanoseconds(5) + Duration::max() == Time::max());
  CHECK(Time::from_nanoseconds(kNever - 5) + Duration::nanoseconds(6) == Time::max());
}

TEST_CASE("sums, differences and products below the limit are exact") {
  CHECK(Duration::seconds(2) + Duration::nanoseconds(1) == Duration::nanoseconds(2'000'000'001));
  CHECK((Duration::seconds(1) - Duration::seconds(3)).count() == -2'000'000'000);
  CHECK(Duration::seconds(1) - Duration::seconds(3) + Duration::seconds(2) == Duration::zero());
  CHECK(Time::from_nanoseconds(10) + Duration::nanoseconds(-3) == Time::from_nanoseconds(7));
  CHECK(Time::from_nanoseconds(10) - Time::from_nanoseconds(4) == Duration::nanoseconds(6));
  CHECK(Time::from_nanoseconds(10) + Duration::nanoseconds(kNever - 11) ==
        Time::from_nanoseconds(kNever - 1));
  CHECK(Duration::milliseconds(3) * 1000 == Duration::seconds(3));
  CHECK(Duration::seconds(1) * kNever == Duration::max());
  CHECK(Duration::max() * 2 == Duration::max());
}

// The limiter's rules beyond the published tables: waiting, the resolution of a nanosecond, the
// limits on the rate, and the edges of measuring intervals.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <algorithm>

#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::at_ms;

namespace {

/// A limiter that was throttled at 1 s, when it measured `sends` / 1 s x 0.8.
SendRateLimiter throttled(int sends) {
  SendRateLimiter limiter;
  for (int i = 1; i < sends; ++i) limiter.on_response(Time::zero(), false);
  limiter.on_response(at_ms(1000), true);
  return limiter;
}

}  // namespace

TEST_CASE("without a throttling error nothing waits, whatever the fill rate") {
  SendRateLimiter limiter;
  for (int i = 0; i < 1000; ++i) {
    CHECK(limiter.try_acquire(at_ms(i)));
    CHECK(limiter.wait(at_ms(i)) == Duration::zero());
    limiter.on_response(at_ms(i), false);
  }
  CHECK_FALSE(limiter.enabled());
  limiter.on_response(at_ms(1000), true);
  CHECK(limiter.enabled());
  for (int i = 0; i < 1000; ++i) limiter.on_response(at_ms(1000 + i), false);
  CHECK(limiter.enabled());  // for good
}

TEST_CASE("the first cut takes the measured rate, later ones the smaller of it and the fill rate") {
  SendRateLimiter limiter = throttled(10);
  CHECK(limiter.measured_rate() == Approx(8));
  CHECK(limiter.last_max_rate() == Approx(8));
  CHECK(limiter.fill_rate() == Approx(5.6));
  limiter.on_response(at_ms(1000), true);
  CHECK(limiter.last_max_rate() == Approx(5.6));
  CHECK(limiter.fill_rate() == Approx(3.92));
  // After 10 s with one response a second the measured rate is the smaller one.
  for (int i = 2; i <= 11; ++i) limiter.on_response(at_ms(1000 * i), false);
  const double measured = limiter.measured_rate();
  CHECK(measured < limiter.fill_rate());
  limiter.on_response(at_ms(11'000), true);
  CHECK(limiter.last_max_rate() == Approx(measured));
}

TEST_CASE("the fill rate is at most twice the measured rate and at least 0.5") {
  SendRateLimiter limiter = throttled(100);
  limiter.on_response(at_ms(100'000), false);
  CHECK(limiter.fill_rate() == Approx(2 * limiter.measured_rate()));
  for (int i = 0; i < 40; ++i) limiter.on_response(at_ms(100'000), true);
  CHECK(limiter.fill_rate() == 0.5);
  CHECK(limiter.max_capacity() == 1);
}

TEST_CASE("a response at the edge of a half second closes the interval before it") {
  SendRateLimiter limiter;
  limiter.on_response(Time::from_nanoseconds(499'999'999), false);
  CHECK(limiter.measured_rate() == 0);
  limiter.on_response(at_ms(500), false);
  CHECK(limiter.measured_rate() == Approx(0.8 * 2 / 0.5));
  limiter.on_response(at_ms(500), false);
  CHECK(limiter.measured_rate() == Approx(0.8 * 2 / 0.5));
  // A client made within a second measures from that second's start.
  SendRateLimiter late(at_ms(1700));
  late.on_response(at_ms(2000), false);
  CHECK(late.measured_rate() == Approx(0.8 * 1 / 1.0));
}

TEST_CASE("whoever waits as told gets a token, and not a nanosecond earlier") {
  // Random rates, gaps and numbers of waiters; the bucket is asked twice on the way.
  Draws draws(RandomKey(2, 0), {});
  int forgiven = 0;
  for (int round = 0; round < 2000; ++round) {
    SendRateLimiter limiter = throttled(1 + static_cast<int>(draws.below(1000)));
    Time now = at_ms(1000);
    for (int i = 0; i < 20; ++i) {
      now = now + Duration::nanoseconds(draws.below(1'000'000'000));
      while (limiter.try_acquire(now)) continue;
      const Duration wait = limiter.wait(now);
      REQUIRE(wait > Duration::zero());
      const Time early = now + Duration::nanoseconds(wait.count() - 2);
      if (wait.count() > 2) REQUIRE_FALSE(SendRateLimiter(limiter).try_acquire(early));
      // One nanosecond early only the fraction that rounding up added is missing: that is forgiven.
      SendRateLimiter hasty = limiter;
      const Time hasty_time = now + Duration::nanoseconds(wait.count() - 1);
      const bool granted = hasty.wait(hasty_time) == Duration::zero();
      REQUIRE(hasty.try_acquire(hasty_time) == granted);
      forgiven += granted ? 1 : 0;
      if (draws.below(2) == 0) {
        const Time between = now + Duration::nanoseconds(wait.count() / 2);
        REQUIRE_FALSE(limiter.try_acquire(between));
      }
      now = now + wait;
      REQUIRE(limiter.wait(now) == Duration::zero());
      REQUIRE(limiter.try_acquire(now));
      REQUIRE(limiter.capacity(now) >= 0);
    }
  }
  CHECK(forgiven > 30'000);  // of 40 000: only a whole number of nanoseconds needs the last one
}

TEST_CASE("grants never exceed the capacity plus what flowed in") {
  Draws draws(RandomKey(4, 0), {});
  SendRateLimiter limiter = throttled(20);
  Time now = at_ms(1000);
  double inflow = 0, largest = limiter.max_capacity(), before = limiter.capacity(now);
  int granted = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Duration step = Duration::nanoseconds(draws.below(100'000'000));
    inflow += step.in_seconds() * limiter.fill_rate();
    now = now + step;
    granted += limiter.try_acquire(now) ? 1 : 0;
    if (draws.below(4) == 0) limiter.on_response(now, draws.below(10) == 0);
    largest = std::max(largest, limiter.max_capacity());
    REQUIRE(limiter.capacity(now) <= limiter.max_capacity());
    // Shortfalls below a nanosecond's worth may be forgiven: 1e-9 tokens at these rates.
    REQUIRE(granted <= before + inflow + granted * 1e-7);
  }
  CHECK(granted > 1000);
  CHECK(granted > 0.5 * largest);
}

TEST_CASE("a cut empties what the smaller bucket cannot hold") {
  SendRateLimiter limiter = throttled(100);
  const Time later = at_ms(1'000'000);
  REQUIRE(limiter.capacity(later) > 50);
  for (int i = 0; i < 3; ++i) limiter.on_response(later, true);
  CHECK(limiter.capacity(later) == limiter.max_capacity());
  CHECK(limiter.max_capacity() < 10);
}

TEST_CASE("a limiter that was idle holds one second's worth and no more") {
  SendRateLimiter limiter = throttled(100);
  const double capacity = limiter.max_capacity();
  CHECK(capacity == Approx(56));
  const Time later = at_ms(1'000'000);
  CHECK(limiter.capacity(later) == capacity);
  int granted = 0;
  while (limiter.try_acquire(later)) ++granted;
  CHECK(granted == 56);
}

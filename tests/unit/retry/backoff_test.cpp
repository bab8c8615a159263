// The rules of the delay that the published tables do not show: which base and jitter a class
// picks, limits of the exponent, whole milliseconds, the order of jitter and cap, and very long
// waits.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <set>

#include "retry/backoff.hpp"
#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::kThrottling;
using retrysim::test::kTransient;

namespace {

BackoffRules doubling(Duration base) {
  BackoffRules rules;
  rules.base = rules.throttle_base = base;
  return rules;
}

Duration delay(const BackoffRules& rules, std::uint32_t retry, double draw = 0,
               ResponseClass response_class = kTransient, Duration previous = {}) {
  Draws draws(RandomKey(1, 0), {});
  return backoff_delay(rules, response_class, {.attempts = retry, .previous_delay = previous},
                       draws, draw);
}

constexpr Duration ms(std::int64_t n) { return Duration::milliseconds(n); }

}  // namespace

TEST_CASE("the class of the error picks base and jitter") {
  BackoffRules rules;
  rules.base = ms(50);
  rules.throttle_base = ms(1000);
  rules.jitter = Jitter::kFull;
  rules.throttle_jitter = Jitter::kEqual;
  CHECK(delay(rules, 1, 0.5, kTransient) == ms(25));
  CHECK(delay(rules, 1, 0.5, ResponseClass::kTimeout) == ms(25));
  CHECK(delay(rules, 1, 0.5, kThrottling) == ms(750));
  // The exponent counts all retries, whatever their class.
  CHECK(delay(rules, 3, 0.5, kThrottling) == ms(3000));
}

TEST_CASE("the exponent starts where it is told and stops where it is told") {
  BackoffRules rules = doubling(ms(10));
  rules.first_exponent = 2;
  CHECK(delay(rules, 1) == ms(40));
  CHECK(delay(rules, 2) == ms(80));
  rules.max_exponent = 3;
  CHECK(delay(rules, 2) == ms(80));
  CHECK(delay(rules, 3) == ms(80));
  CHECK(delay(rules, 4'000'000'000) == ms(80));
  rules.first_exponent = -1;
  CHECK(delay(rules, 1) == ms(5));
}

TEST_CASE("any factor works") {
  BackoffRules rules = doubling(ms(10));
  rules.factor = 1.5;
  CHECK(delay(rules, 3) == Duration::microseconds(22'500));
  rules.factor = 1;
  CHECK(delay(rules, 4'000'000'000) == ms(10));
  rules.factor = 0.5;
  CHECK(delay(rules, 2) == ms(5));
  CHECK(delay(rules, 4'000'000'000) == Duration::zero());
}

TEST_CASE("an uncapped delay saturates at never, a capped one at the cap") {
  for (const Jitter jitter : {Jitter::kNone, Jitter::kFull, Jitter::kEqual}) {
    BackoffRules rules = doubling(ms(1000));
    rules.jitter = jitter;
    CHECK(delay(rules, 4'000'000'000, 1) == Duration::max());
    CHECK(delay(rules, 64, 1) == Duration::max());
    rules.quantum = ms(1);
    CHECK(delay(rules, 4'000'000'000, 1) == Duration::max());
    rules.cap = Duration::seconds(20);
    CHECK(delay(rules, 4'000'000'000, 1) == Duration::seconds(20));
    rules.jitter_before_cap = true;
    CHECK(delay(rules, 4'000'000'000, 1) == Duration::seconds(20));
  }
  // Full jitter of an infinite delay can still be zero; no NaN arises.
  BackoffRules rules = doubling(ms(1000));
  rules.jitter = Jitter::kFull;
  CHECK(delay(rules, 4'000'000'000, 0) == Duration::zero());
  CHECK(delay(doubling(Duration::zero()), 4'000'000'000) == Duration::zero());
}

TEST_CASE("jitter before the cap piles up at the cap") {
  BackoffRules rules = doubling(ms(1000));
  rules.jitter = Jitter::kFull;
  rules.cap = ms(3000);
  CHECK(delay(rules, 3, 0.5) == ms(1500));  // half of min(3, 4)
  rules.jitter_before_cap = true;
  CHECK(delay(rules, 3, 0.5) == ms(2000));   // min(3, half of 4)
  CHECK(delay(rules, 3, 0.75) == ms(3000));  // exactly at the cap
  CHECK(delay(rules, 3, 0.9) == ms(3000));
}

TEST_CASE("proportional jitter is a factor around 1, applied after the cap") {
  BackoffRules rules = doubling(ms(100));
  rules.jitter = Jitter::kProportional;
  rules.cap = ms(1000);
  CHECK(delay(rules, 1, 0) == ms(80));  // the share is 0.2 if nobody says otherwise
  CHECK(delay(rules, 1, 0.5) == ms(100));
  CHECK(delay(rules, 1, 1) == ms(120));
  CHECK(delay(rules, 3, 1) == ms(480));
  CHECK(delay(rules, 5, 0) == ms(800));  // min(1.6 s, 1 s), and 20 % to either side
  CHECK(delay(rules, 5, 1) == ms(1200));
  CHECK(delay(rules, 4'000'000'000, 1) == ms(1200));
  rules.jitter_share = 0.5;
  CHECK(delay(rules, 5, 1) == ms(1500));
  CHECK(delay(rules, 5, 0.25) == ms(750));
  rules.jitter_share = 0;
  CHECK(delay(rules, 2, 0.7) == ms(200));
  rules.jitter_share = 1;
  CHECK(delay(rules, 2, 0) == Duration::zero());
  CHECK(delay(rules, 2, 1) == ms(400));
  rules.jitter_share = 0.5;
  rules.jitter_before_cap = true;  // then the cap is the most
  CHECK(delay(rules, 5, 1) == ms(1000));
  CHECK(delay(rules, 5, 0) == ms(800));
  rules.jitter_before_cap = false;
  rules.over_cap = OverCap::kFlat;
  CHECK(delay(rules, 5, 1) == ms(1000));
  CHECK(delay(rules, 4, 1) == ms(1200));  // 800 ms is not above the cap
  rules.over_cap = OverCap::kRedraw;
  CHECK(delay(rules, 4, 1) == ms(1000));  // 1.2 s is: drawn anew between 0.5 and 1 s
  rules.over_cap = OverCap::kLimit;
  rules.base = Duration::microseconds(1'500);
  rules.quantum = ms(1);
  CHECK(delay(rules, 2, 0) == ms(1));  // 1.5, rounded down
  CHECK(delay(rules, 2, 1) == ms(4));  // 4.5
  rules.rounding = Rounding::kIntegers;
  CHECK(delay(rules, 2, 0) == ms(2));  // 3 - 1, and 0 or 1 more
  CHECK(delay(rules, 2, 0.99) == ms(3));
  rules.rounding = Rounding::kIntegersInclusive;
  CHECK(delay(rules, 2, 0.99) == ms(4));
  // Without a cap the longest delays saturate.
  BackoffRules longest = doubling(ms(1000));
  longest.jitter = Jitter::kProportional;
  CHECK(delay(longest, 4'000'000'000, 0.5) == Duration::max());
}

TEST_CASE("whole milliseconds are drawn as Java draws integers") {
  BackoffRules rules = doubling(ms(5));
  rules.quantum = ms(1);
  rules.rounding = Rounding::kIntegers;
  const auto values = [&rules](std::uint32_t retry) {
    std::set<std::int64_t> seen;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      Draws draws(RandomKey(3, 0), {.entity = i, .attempt = retry});
      seen.insert(backoff_delay(rules, kTransient, {.attempts = retry}, draws).count());
    }
    return seen;
  };
  rules.jitter = Jitter::kFull;  // 5 excluded; missing one of 5 values: 5 x 0.8^2000 < 1e-190
  CHECK(values(1) == std::set<std::int64_t>{0, 1'000'000, 2'000'000, 3'000'000, 4'000'000});
  rules.jitter = Jitter::kEqual;  // 5 / 2 = 2, and from 0 to 2 inclusive on top
  CHECK(values(1) == std::set<std::int64_t>{2'000'000, 3'000'000, 4'000'000});
  CHECK(delay(rules, 1, 1) == ms(4));
  rules.jitter = Jitter::kNone;
  rules.base = Duration::microseconds(2'700);
  CHECK(delay(rules, 1) == ms(2));  // rounded down
}

TEST_CASE("additive jitter, immediate retries and what happens above the cap") {
  BackoffRules rules = doubling(ms(10));
  rules.jitter = Jitter::kAdditive;
  CHECK(delay(rules, 1, 0.5) == ms(15));
  rules.immediate_retries = 1;
  CHECK(delay(rules, 1, 0.5) == Duration::zero());
  CHECK(delay(rules, 2, 0.5) == ms(30));
  rules.cap = ms(50);
  rules.over_cap = OverCap::kRedraw;
  CHECK(delay(rules, 3, 0.5) == ms(38) - Duration::microseconds(500));  // 60 > 50: redrawn
  CHECK(delay(rules, 3, 0) == ms(40));
  rules.over_cap = OverCap::kFlat;
  rules.jitter = Jitter::kFull;
  CHECK(delay(rules, 3, 0.5) == ms(20));
  CHECK(delay(rules, 4, 0) == ms(50));
  rules.cap = ms(40);  // met exactly by the third: that is not above the cap, and still has jitter
  CHECK(delay(rules, 3, 0.5) == ms(20));
  CHECK(delay(rules, 4, 0.5) == ms(40));
  // The longest delays saturate, by integers too.
  BackoffRules longest = doubling(Duration::seconds(9'000'000'000));
  longest.jitter = Jitter::kAdditive;
  longest.quantum = Duration::nanoseconds(1);
  for (const Rounding rounding : {Rounding::kIntegers, Rounding::kIntegersInclusive}) {
    longest.rounding = rounding;
    CHECK(delay(longest, 1, 1) == Duration::max());
  }
}

TEST_CASE("decorrelated jitter runs from the base to three times the last delay") {
  BackoffRules rules = doubling(ms(100));
  rules.throttle_base = ms(1000);
  rules.jitter = rules.throttle_jitter = Jitter::kDecorrelated;
  rules.cap = ms(1500);
  CHECK(delay(rules, 1, 0) == ms(100));
  CHECK(delay(rules, 1, 1) == ms(300));  // the base stands for the last delay
  CHECK(delay(rules, 2, 0.5, kTransient, ms(200)) == ms(350));
  CHECK(delay(rules, 9, 1, kTransient, ms(900)) == ms(1500));
  rules.quantum = ms(7);
  CHECK(delay(rules, 2, 0.5, kTransient, ms(200)) == ms(350));  // 50 of them
  CHECK(delay(rules, 9, 1, kTransient, ms(900)) == ms(1498));   // 214: rounded down
  rules.quantum = Duration::zero();
  // A throttling base above three times the last delay is waited in full.
  CHECK(delay(rules, 2, 0, kThrottling, ms(200)) == ms(1000));
  CHECK(delay(rules, 2, 1, kThrottling, ms(200)) == ms(1000));
}

TEST_CASE("decorrelated-v2 jitter is Polly's") {
  // RetryHelper.cs (173d6d1d), computed apart from it: (g(n + u) - g(n - 1 + u')) / 1.4 seconds
  // with g(t) = 2^t tanh(sqrt(4 t)), for variates of a half, then 0 and 1 in turn.
  BackoffRules rules = doubling(Duration::seconds(1));
  rules.jitter = rules.throttle_jitter = Jitter::kDecorrelatedV2;
  RetryProgress progress;
  Draws draws(RandomKey(1, 0), {});
  const auto next = [&](double draw) {
    ++progress.attempts;
    return backoff_delay(rules, kTransient, progress, draws, draw, &progress.jitter_level);
  };
  const auto is = [](Duration d, std::int64_t ns) {
    return std::abs((d - Duration::nanoseconds(ns)).count()) <= 1;
  };
  for (const std::int64_t ns : {897404936L, 1093003547L, 2035747963L, 4045979423L, 8083631610L})
    CHECK(is(next(0.5), ns));
  progress = {};
  CHECK(next(0) == Duration::zero());
  CHECK(is(next(1), 2837249558));
  CHECK(next(0) == Duration::zero());  // from the end of an octave to the beginning of the next
  // The cap limits a delay, not the growth; the factor means nothing to it.
  rules.cap = Duration::seconds(1);
  rules.factor = 7;
  progress = {};
  CHECK(is(next(0.5), 897404936));
  CHECK(next(0.5) == rules.cap);
  rules.cap = Duration::max();
  CHECK(is(next(0.5), 2035747963));
  rules.quantum = ms(7);
  progress = {};
  CHECK(next(0.5) == ms(896));
  // Far beyond what a double holds it is the cap.
  rules.cap = Duration::seconds(20);
  progress.attempts = 1200;
  CHECK(next(0.5) == rules.cap - Duration::milliseconds(20'000 % 7));
  CHECK(next(0.5) == rules.cap - Duration::milliseconds(20'000 % 7));
}

TEST_CASE("decorrelated jitter as in aws-c-io begins with full jitter") {
  BackoffRules rules = doubling(ms(100));
  rules.jitter = Jitter::kDecorrelated;
  rules.decorrelated_from_full = true;
  rules.cap = ms(1500);
  CHECK(delay(rules, 1, 0) == Duration::zero());
  CHECK(delay(rules, 1, 0.5) == ms(50));
  // Then from the base to three times the last delay, whichever of the two is longer.
  CHECK(delay(rules, 2, 0, kTransient, ms(200)) == ms(100));
  CHECK(delay(rules, 2, 0.5, kTransient, ms(200)) == ms(350));
  CHECK(delay(rules, 2, 0, kTransient, ms(20)) == ms(60));
  CHECK(delay(rules, 2, 0.5, kTransient, ms(20)) == ms(80));
  CHECK(delay(rules, 9, 0, kTransient, ms(900)) == ms(100));
  CHECK(delay(rules, 9, 1, kTransient, ms(900)) == ms(1500));
  rules.cap = ms(60);  // below the base
  CHECK(delay(rules, 1, 0.5) == ms(30));
  CHECK(delay(rules, 2, 1, kTransient, ms(200)) == ms(60));
}

TEST_CASE("integers are drawn around their middle, and at equal jitter from the half on") {
  BackoffRules rules = doubling(ms(9));
  rules.quantum = ms(1);
  for (const Rounding rounding : {Rounding::kIntegers, Rounding::kIntegersInclusive}) {
    rules.rounding = rounding;
    rules.jitter = Jitter::kEqual;  // half of 9 is 4, and from 0 to 4 on top
    CHECK(delay(rules, 1, 0) == ms(4));
    CHECK(delay(rules, 1, 0.5) == ms(6));
    CHECK(delay(rules, 1, 0.99) == ms(8));
  }
  rules.jitter = Jitter::kFull;  // both ends belong to it
  CHECK(delay(rules, 1, 0.05) == ms(0));
  CHECK(delay(rules, 1, 0.95) == ms(9));
}

TEST_CASE("a list of delays replaces the formula and its last one is repeated") {
  BackoffRules rules = doubling(ms(100));
  rules.delays = {Distribution::constant(ms(7)), Distribution::constant(ms(3))};
  CHECK(delay(rules, 1) == ms(7));
  CHECK(delay(rules, 2) == ms(3));
  CHECK(delay(rules, 3) == ms(3));
  CHECK(delay(rules, 4'000'000'000) == ms(3));
}

TEST_CASE("without jitter no random number is used, with jitter exactly one") {
  for (const Jitter jitter :
       {Jitter::kNone, Jitter::kFull, Jitter::kEqual, Jitter::kDecorrelated}) {
    BackoffRules rules = doubling(ms(100));
    rules.jitter = jitter;
    Draws used(RandomKey(1, 0), {}), reference(RandomKey(1, 0), {});
    backoff_delay(rules, kTransient, {.attempts = 1}, used);
    if (jitter != Jitter::kNone) reference.next();
    CHECK(used.next() == reference.next());
  }
}

TEST_CASE("The longest backoff of one retry") {
  RetryRules r;
  r.mode = RetryMode::kStandard;
  r.max_attempts = 3;
  r.backoff.base = Duration::milliseconds(50);
  r.backoff.throttle_base = Duration::seconds(1);
  r.backoff.cap = Duration::seconds(20);
  CHECK(backoff::longest_delay(r) == Duration::seconds(2));  // 1 s * 2^1
  r.max_attempts = 10;
  CHECK(backoff::longest_delay(r) == Duration::seconds(20));
  r.max_attempts = RetryRules::kUnlimited;
  CHECK(backoff::longest_delay(r) == Duration::seconds(20));
  r.max_attempts = 2;
  r.backoff.first_exponent = 1;
  CHECK(backoff::longest_delay(r) == Duration::seconds(2));
  r.backoff.first_exponent = 0;
  r.backoff.jitter = Jitter::kDecorrelated;
  CHECK(backoff::longest_delay(r) == Duration::seconds(3));  // three times the base
  r.max_attempts = 1;
  CHECK(backoff::longest_delay(r) == Duration::zero());
}

TEST_CASE("The longest of listed delays, and of what they grow to") {
  RetryRules r;
  r.mode = RetryMode::kCustom;
  r.max_attempts = 6;
  r.backoff.delays = {Distribution::constant(Duration::milliseconds(300)),
                      Distribution::constant(Duration::milliseconds(100))};
  CHECK(backoff::longest_delay(r) == Duration::milliseconds(300));
  r.backoff.delays_then = DelaysThen::kGrow;
  r.backoff.delays_factor = 2;
  r.backoff.delays_cap = Duration::seconds(60);
  CHECK(backoff::longest_delay(r) == Duration::milliseconds(800));  // the third after the list
  r.max_attempts = 3;                                               // of the list only
  CHECK(backoff::longest_delay(r) == Duration::milliseconds(300));
  r.max_attempts = 20;
  CHECK(backoff::longest_delay(r) == Duration::seconds(60));
}

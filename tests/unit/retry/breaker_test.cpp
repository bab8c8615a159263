// The circuit breaker that refuses calls: its states, its windows, and published examples of the
// libraries.
//
// SPDX-License-Identifier: MIT
#include <retrysim/breaker.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::at_ms;

namespace {

constexpr auto kOk = ResponseClass::kSuccess;
constexpr auto kError = ResponseClass::kTransient;

BreakerRules rules_of(std::string_view name) { return find_breaker_preset(name)->rules; }

/// One breaker with its rules; calls that end at once, or later.
struct Driven {
  explicit Driven(const BreakerRules& r) : rules(r), breaker(rules) {}

  /// A call at this time, in milliseconds, that ends at once; whether it was let through.
  bool call(std::int64_t ms, ResponseClass result = kError) {
    if (!breaker.ask(rules, at_ms(ms))) return false;
    breaker.record(rules, breaker.era(), result, Duration::zero(), at_ms(ms));
    return true;
  }
  /// A call that begins now; `end` with the number that it returns.
  std::uint32_t begin(std::int64_t ms) {
    REQUIRE(breaker.ask(rules, at_ms(ms)));
    return breaker.era();
  }
  void end(std::uint32_t era, std::int64_t ms, ResponseClass result,
           Duration length = Duration::zero()) {
    breaker.record(rules, era, result, length, at_ms(ms));
  }
  std::string state() const { return std::string(name(breaker.state())); }

  BreakerRules rules;
  Breaker breaker;
};

BreakerRules after_failures(std::uint32_t n) {
  BreakerRules r = rules_of("custom");
  r.failure_share = 0;
  r.consecutive = n;
  r.open = Duration::seconds(1);
  return r;
}

}  // namespace

TEST_CASE("a breaker opens after failures in a row, and a success in between counts anew",
          "[breaker]") {
  Driven b(after_failures(3));
  CHECK(b.call(0));
  CHECK(b.call(1));
  CHECK(b.call(2, kOk));
  CHECK(b.call(3));
  CHECK(b.call(4));
  CHECK(b.state() == "closed");
  CHECK(b.call(5));
  CHECK(b.state() == "open");
  CHECK_FALSE(b.call(6));
  CHECK_FALSE(b.call(1'004));
  CHECK(b.call(1'005, kOk));  // the probe: 1 s after it opened
  CHECK(b.state() == "closed");
}

TEST_CASE("a breaker opens at a share of failures, from its least number of calls on",
          "[breaker]") {
  BreakerRules r = rules_of("custom");
  r.min_calls = 4;
  r.window_calls = 10;
  Driven b(r);
  for (const auto result : {kError, kError, kError}) CHECK(b.call(0, result));
  CHECK(b.state() == "closed");
  CHECK(b.call(0, kOk));
  CHECK(b.state() == "closed");  // only failures are judged
  r.judges_successes = true;
  Driven judging(r);
  for (const auto result : {kError, kError, kError, kOk}) judging.call(0, result);
  CHECK(judging.state() == "open");
  CHECK(b.call(0));
  CHECK(b.state() == "open");
  // At the share, or only above it.
  r.judges_successes = false;
  r.above = true;
  Driven above(r);
  for (const auto result : {kOk, kOk, kError, kError}) above.call(0, result);
  CHECK(above.state() == "closed");
  above.call(0);
  CHECK(above.state() == "open");
}

TEST_CASE("a share that is a decimal is reached exactly", "[breaker]") {
  for (int percent = 1; percent <= 100; ++percent) {
    BreakerRules r = rules_of("custom");
    r.failure_share =
        std::stod("0." + std::string(percent < 10 ? "0" : "") + std::to_string(percent % 100)) +
        (percent == 100 ? 1 : 0);
    r.min_calls = r.window_calls = 100;
    Driven b(r);
    for (int i = 0; i < 100 - percent; ++i) b.call(0, kOk);
    for (int i = 0; i < percent - 1; ++i) b.call(0);
    CHECK(b.state() == "closed");
    b.call(0);
    CHECK(b.state() == "open");
  }
}

TEST_CASE("slow calls open a breaker, failed or not", "[breaker]") {
  BreakerRules r = rules_of("custom");
  r.failure_share = 0;
  r.slow_share = 0.5;
  r.slow_call = Duration::milliseconds(100);
  r.min_calls = 2;
  Driven b(r);
  b.end(b.begin(0), 100, kOk, Duration::milliseconds(100));  // not longer than that
  CHECK(b.state() == "closed");
  b.end(b.begin(100), 201, kOk, Duration::milliseconds(101));
  CHECK(b.state() == "open");
  // A slow probe opens it again.
  b.end(b.begin(60'000), 60'101, kOk, Duration::milliseconds(101));
  CHECK(b.state() == "open");
  b.end(b.begin(120'000), 120'001, kOk, Duration::milliseconds(1));
  CHECK(b.state() == "closed");
}

TEST_CASE("failures leave a window of time: on a grid, with the calls, or by turns", "[breaker]") {
  BreakerRules r = rules_of("custom");
  r.min_calls = 3;
  r.window = Duration::seconds(10);
  const auto third_opens = [&](BreakerSlices slicing, std::int64_t ms) {
    r.slicing = slicing;
    Driven b(r);
    b.call(900);
    b.call(1'100);
    b.call(ms);
    return b.state() == "open";
  };
  // The grid forgets whole seconds: that of 0.9 s at 10 s. A slice that began with the call at
  // 0.9 s is as old as the window at 10.9 s.
  CHECK(third_opens(BreakerSlices::kGrid, 9'999));
  CHECK_FALSE(third_opens(BreakerSlices::kGrid, 10'000));
  CHECK(third_opens(BreakerSlices::kCalls, 10'899));
  CHECK_FALSE(third_opens(BreakerSlices::kCalls, 10'900));
  CHECK(third_opens(BreakerSlices::kRing, 1'000'000));
}

TEST_CASE("errors may be successes to a breaker, or nothing", "[breaker]") {
  BreakerRules r = after_failures(2);
  Driven b(r);
  b.call(0);
  b.call(0, ResponseClass::kNotRetryable);  // a success
  b.call(0);
  CHECK(b.state() == "closed");
  r.ignored.add(ResponseClass::kThrottling);
  Driven ignoring(r);
  ignoring.call(0);
  ignoring.call(0, ResponseClass::kThrottling);
  ignoring.call(0);
  CHECK(ignoring.state() == "open");
  // The permit of a probe comes back.
  const std::uint32_t era = ignoring.begin(2'000);
  CHECK_FALSE(ignoring.call(2'001));
  ignoring.end(era, 2'002, ResponseClass::kThrottling);
  CHECK(ignoring.state() == "half-open");
  CHECK(ignoring.call(2'003, kOk));
  CHECK(ignoring.state() == "closed");
}

TEST_CASE("a half-open breaker lets so many probes pass and judges them", "[breaker]") {
  BreakerRules r = after_failures(1);
  r.min_calls = 100;
  r.probes = 3;
  const auto opened = [&] {
    Driven b(r);
    b.call(0);
    return b;
  };
  SECTION("all must succeed") {
    Driven b = opened();
    const auto first = b.begin(1'000), second = b.begin(1'000), third = b.begin(1'000);
    CHECK_FALSE(b.call(1'001));
    b.end(second, 1'002, kOk);
    b.end(first, 1'003, kOk);
    CHECK(b.state() == "half-open");
    CHECK_FALSE(b.call(1'004));
    b.end(third, 1'005, kOk);
    CHECK(b.state() == "closed");
    Driven other = opened();
    other.call(1'000, kOk);
    other.call(1'000);
    CHECK(other.state() == "open");
  }
  SECTION("their share decides when all have ended") {
    r.close_on = BreakerClose::kShare;
    r.failure_share = 0.5;
    Driven b = opened();
    b.call(1'000);
    b.call(1'000, kOk);
    CHECK(b.state() == "half-open");
    b.call(1'000, kOk);
    CHECK(b.state() == "closed");
    Driven other = opened();
    other.call(1'000, kOk);
    other.call(1'000);
    other.call(1'000);
    CHECK(other.state() == "open");
  }
  SECTION("so many in a row, and as many at once as there are permits") {
    r.close_on = BreakerClose::kConsecutive;
    r.close_after = 5;
    r.probes = 2;
    Driven b = opened();
    const auto first = b.begin(1'000), second = b.begin(1'000);
    CHECK_FALSE(b.call(1'001, kOk));
    b.end(first, 1'002, kOk);
    b.end(second, 1'002, kOk);
    for (int i = 0; i < 2; ++i) CHECK(b.call(1'003, kOk));
    CHECK(b.state() == "half-open");
    CHECK(b.call(1'003, kOk));
    CHECK(b.state() == "closed");
  }
}

TEST_CASE("a breaker stays open for longer each time that its probes fail", "[breaker]") {
  BreakerRules r = after_failures(1);
  r.open_factor = 2;
  r.open_cap = Duration::seconds(3);
  Driven b(r);
  std::int64_t now = 0;
  for (const std::int64_t ms : {1'000, 2'000, 3'000, 3'000}) {
    CHECK(b.call(now));
    CHECK(b.breaker.open_until() == at_ms(now + ms));
    CHECK_FALSE(b.call(now + ms - 1));
    now += ms;
  }
  CHECK(b.call(now, kOk));
  CHECK(b.call(now));
  CHECK(b.breaker.open_until() == at_ms(now + 1'000));  // anew
}

TEST_CASE("late results count for the state that they find, or not at all", "[breaker]") {
  BreakerRules r = after_failures(1);
  const auto state_after_late = [&](ResponseClass late) {
    Driven b(r);
    const auto early = b.begin(0);
    b.call(1);
    b.end(early, 500, late);  // open: nothing
    CHECK(b.state() == "open");
    Driven other(r);
    const auto before = other.begin(0);
    other.call(1);
    other.begin(1'001);  // a probe
    other.end(before, 1'002, late);
    return other.state();
  };
  CHECK(state_after_late(kOk) == "closed");
  CHECK(state_after_late(kError) == "open");
  r.counts_late = false;
  CHECK(state_after_late(kOk) == "half-open");
  CHECK(state_after_late(kError) == "half-open");
}

TEST_CASE("a permit comes back only to the state that gave it", "[breaker]") {
  Driven b(after_failures(1));
  const auto closed = b.begin(0);
  b.call(1);
  const auto probe = b.begin(1'001);
  b.breaker.release(closed);
  CHECK_FALSE(b.call(1'002));
  b.breaker.release(probe);
  CHECK(b.call(1'003, kOk));
}

// --- Published examples

TEST_CASE("Resilience4j: half-open judges after the least number of calls, if that is smaller",
          "[breaker]") {
  // resilience4j issue 1523: seven permitted, at least three calls, 60 %: three probes are made.
  BreakerRules r = rules_of("resilience4j-time");
  r.window = Duration::seconds(30);
  r.slices = 30;
  r.min_calls = 3;
  r.failure_share = 0.6;
  r.probes = 7;
  Driven b(r);
  int made = 0;
  for (int i = 0; i < 20; ++i) made += b.call(i);
  CHECK(made == 3);
  made = 0;
  for (int i = 0; i < 20; ++i) made += b.call(70'000 + i);
  CHECK(made == 3);
  CHECK(b.state() == "open");
}

TEST_CASE("Resilience4j: a ring of ten calls, of which half may fail", "[breaker]") {
  // The example of its documentation: slidingWindowSize 10, minimumNumberOfCalls 10: nine calls
  // may all fail. With the tenth the rate is judged.
  BreakerRules r = rules_of("resilience4j");
  r.window_calls = 10;
  r.min_calls = 10;
  Driven b(r);
  for (int i = 0; i < 9; ++i) b.call(i);
  CHECK(b.state() == "closed");
  b.call(9);
  CHECK(b.state() == "open");
  // Its default is 100 and 100, and a smaller window limits the least number.
  BreakerRules small = rules_of("resilience4j");
  small.window_calls = 5;
  Driven five(small);
  for (int i = 0; i < 4; ++i) five.call(i);
  CHECK(five.state() == "closed");
  five.call(4);
  CHECK(five.state() == "open");
}

TEST_CASE("Polly: breaks at 10 % of at least 100 in 30 s, for 5 s, with one trial", "[breaker]") {
  Driven b(rules_of("polly"));
  for (int i = 0; i < 90; ++i) b.call(i, kOk);
  for (int i = 0; i < 9; ++i) b.call(100 + i);
  CHECK(b.state() == "closed");  // 99 calls
  b.call(200);
  CHECK(b.state() == "open");
  CHECK_FALSE(b.call(5'199));
  const auto trial = b.begin(5'200);
  CHECK_FALSE(b.call(5'201, kOk));
  b.end(trial, 6'000, kError);
  CHECK(b.state() == "open");
  CHECK_FALSE(b.call(10'999));
  CHECK(b.call(11'000, kOk));
  CHECK(b.state() == "closed");
}

TEST_CASE("Polly: a success does not break the circuit, though it completes the throughput",
          "[breaker]") {
  BreakerRules r = rules_of("polly");
  r.failure_share = 0.5;
  r.min_calls = 4;
  Driven b(r);
  for (const auto result : {kError, kError, kError, kOk}) b.call(0, result);
  CHECK(b.state() == "closed");
  b.call(0);
  CHECK(b.state() == "open");
}

TEST_CASE("gobreaker: more than five failures in a row, 60 s, one request", "[breaker]") {
  Driven b(rules_of("gobreaker"));
  for (int i = 0; i < 5; ++i) b.call(i);
  CHECK(b.state() == "closed");
  b.call(5);
  CHECK(b.state() == "open");
  CHECK_FALSE(b.call(60'004));
  b.begin(60'005);
  CHECK_FALSE(b.call(60'006));
}

TEST_CASE("opossum: refused calls count, and the window goes on", "[breaker]") {
  Driven b(rules_of("opossum"));
  CHECK(b.call(100));  // one of one
  CHECK(b.state() == "open");
  for (int i = 0; i < 9; ++i) CHECK_FALSE(b.call(29'000 + i));
  CHECK(b.call(30'100, kOk));
  CHECK(b.state() == "closed");
  // Ten asked for in this window, none failed: it takes more than ten failures.
  int failed = 0;
  while (b.state() == "closed" && failed < 50) {
    b.call(30'200);
    ++failed;
  }
  CHECK(failed == 11);
}

TEST_CASE("the presets of breakers have names and sources", "[breaker]") {
  for (const BreakerPreset& preset : breaker_presets()) {
    INFO(preset.name);
    CHECK(preset.rules.enabled);
    CHECK_FALSE(preset.source.empty());
    CHECK(find_breaker_preset(preset.name) == &preset);
    Driven b(preset.rules);
    std::int64_t calls = 0;
    while (b.state() == "closed" && calls < 2'000) b.call(calls++);
    CHECK(b.state() == "open");  // all fail
    CHECK(b.call(calls + 100'000, kOk));
  }
  CHECK(find_breaker_preset("none") == nullptr);
}

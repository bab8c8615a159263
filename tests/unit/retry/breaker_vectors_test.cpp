// Circuit breakers against published examples: the sequences of calls in the unit tests of
// Resilience4j (af9e7c9), Polly (173d6d1) and Sentinel (d75a668), named after these tests.
//
// SPDX-License-Identifier: MIT
#include <retrysim/breaker.hpp>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstdint>
#include <deque>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "unit/retry/short_names.hpp"

namespace retrysim::published {

using test::at_ms;

namespace {

/// A sequence of steps, separated by spaces; `f*3` is three times `f`.
///   f, s    a call that fails or succeeds at once, and has to be let through; F, S: slow ones
///   i       one that ends with an error that the breaker ignores
///   x       a call that has to be refused
///   a       a call that has to be let through and goes on; then, of the oldest of these,
///   af, as  the end, with a failure or a success, and
///   ar      the end without a result
///   +500    500 ms later
///   open, closed, half-open    the breaker has to be in this state
///   9/2/1   its window has to have nine calls, of which two have failed and one was slow
struct Example {
  std::string_view test;
  BreakerRules rules;
  std::string_view steps;
};

class Played {
 public:
  explicit Played(const BreakerRules& rules)
      : rules_(rules), breaker_(rules), counts_(rules), slow_(rules.slow_call) {}

  void play(std::string_view steps) {
    std::istringstream in{std::string(steps)};
    for (std::string step; in >> step;) {
      const std::size_t star = step.find('*');
      const int times = star == std::string::npos ? 1 : std::stoi(step.substr(star + 1));
      for (int i = 0; i < times; ++i) {
        INFO(step << " at " << now_ << " ms");
        take(step.substr(0, star));
      }
    }
  }

 private:
  void take(const std::string& step) {
    if (step[0] == '+') {
      now_ += std::stoll(step.substr(1));
    } else if (step.find('/') != std::string::npos) {
      const BreakerCounts::Sums& sums = counts_.sums(at_ms(now_));
      CHECK(fmt::format("{}/{}/{}", sums.calls, sums.failures, sums.slow) == step);
    } else if (step == "x") {
      CHECK_FALSE(breaker_.ask(rules_, at_ms(now_)));
    } else if (step == "a") {
      CHECK(breaker_.ask(rules_, at_ms(now_)));
      begun_.push_back(breaker_.era());
    } else if (step == "af" || step == "as" || step == "ar") {
      REQUIRE_FALSE(begun_.empty());
      const std::uint32_t era = begun_.front();
      begun_.pop_front();
      if (step == "ar") return breaker_.release(era);
      record(era, step == "af" ? ResponseClass::kTransient : ResponseClass::kSuccess, false);
    } else if (step.size() == 1) {
      CHECK(breaker_.ask(rules_, at_ms(now_)));
      const bool failed = step == "f" || step == "F", slow = step == "F" || step == "S";
      if (step != "i") {
        counts_.add_call(at_ms(now_));
        counts_.add_result(failed, slow, at_ms(now_));
      }
      record(breaker_.era(),
             step == "i" ? ResponseClass::kNotRetryable
             : failed    ? ResponseClass::kTransient
                         : ResponseClass::kSuccess,
             slow);
    } else {
      CHECK(name(breaker_.state()) == step);
    }
  }

  void record(std::uint32_t era, ResponseClass result, bool slow) {
    const Duration length = slow ? slow_ + Duration::milliseconds(1) : Duration::zero();
    breaker_.record(rules_, era, result, length, at_ms(now_));
  }

  BreakerRules rules_;
  Breaker breaker_;
  BreakerCounts counts_;  // as in a breaker that stays closed
  Duration slow_;
  std::int64_t now_ = 0;
  std::deque<std::uint32_t> begun_;
};

BreakerRules preset(std::string_view name) { return find_breaker_preset(name)->rules; }

// --- Resilience4j

BreakerRules last_calls(std::uint32_t size) {
  BreakerRules r = preset("resilience4j");
  r.window_calls = size;
  return r;
}

/// A window only, in a breaker that stays closed.
BreakerRules window_of(BreakerRules r) {
  r.min_calls = 1'000;
  if (r.window_calls > 0) r.failure_share = r.slow_share = 0;
  return r;
}

BreakerRules last_seconds(std::uint32_t seconds) {
  BreakerRules r = preset("resilience4j-time");
  r.window = Duration::seconds(seconds);
  r.slices = seconds;
  return r;
}

/// That of CircuitBreakerStateMachineTest.
BreakerRules state_machine() {
  BreakerRules r = last_seconds(20);
  r.probes = 4;
  r.slow_call = Duration::seconds(4);
  r.slow_share = 0.5;
  r.min_calls = 5;
  r.open = Duration::seconds(5);
  r.ignored.add(ResponseClass::kNotRetryable);
  return r;
}

/// The same with a window of five calls, open for 5 s, then half as long again each time.
BreakerRules interval_function() {
  BreakerRules r = last_calls(5);
  r.probes = 4;
  r.open = Duration::seconds(5);
  r.open_factor = 1.5;
  return r;
}

// --- Polly

BreakerRules polly(double ratio, std::uint32_t throughput, std::int64_t sampling_s) {
  BreakerRules r = preset("polly");
  r.failure_share = ratio;
  r.min_calls = throughput;
  r.window = Duration::seconds(sampling_s);
  r.open = Duration::seconds(1);
  return r;
}

/// SingleHealthMetrics: a sampling duration below 200 ms is not cut into slices.
BreakerRules polly_single() {
  BreakerRules r = polly(0.1, 1'000, 1);
  r.window = Duration::milliseconds(100);
  r.slices = 1;
  return r;
}

// --- Sentinel

BreakerRules sentinel_errors(double ratio, std::uint32_t least) {
  BreakerRules r = preset("sentinel");
  r.failure_share = ratio;
  r.min_calls = least;
  return r;
}

/// Its rule on slow requests, which looks at nothing else.
BreakerRules sentinel_slow(double ratio) {
  BreakerRules r = preset("sentinel");
  r.failure_share = 0;
  r.failures = {};
  r.slow_call = Duration::milliseconds(50);
  r.slow_share = ratio;
  r.min_calls = 10;
  r.open = Duration::seconds(5);
  return r;
}

const Example kResilience4j[] = {
    // The windows.
    {"FixedSizeSlidingWindowMetrics.testSlidingWindowMetrics", window_of(last_calls(4)),
     "f 1/1/0 s 2/1/0 s 3/1/0 s 4/1/0 s 4/0/0"},
    {"FixedSizeSlidingWindowMetrics.testSlowCallsPercentage", window_of(last_calls(5)),
     "S F s*3 5/1/2"},
    {"FixedSizeSlidingWindowMetrics.testSlidingWindowMetricsWithSlowCalls",
     window_of(last_calls(2)), "F 1/1/1 S 2/1/2 s 2/0/1 s 2/0/0 s 2/0/0"},
    {"CircuitBreakerMetrics.testCircuitBreakerMetrics", window_of(last_calls(10)),
     "s*2 f*2 4/2/0 f*4 s*4 10/6/0 s*3 10/3/0"},
    {"SlidingTimeWindowMetrics.testSlidingTimeWindowMetrics", window_of(last_seconds(5)),
     "f 1/1/0 +100 s 2/1/0 +100 s 3/1/0 +1000 s 4/1/0 +1000 s 5/1/0 +1000 f 6/2/0 +1000 s 7/2/0 "
     "+1000 s 5/1/0 +1000 s 5/1/0 +5000 s 1/0/0"},
    {"SlidingTimeWindowMetrics.shouldClearSlidingTimeWindowMetrics", window_of(last_seconds(5)),
     "f 1/1/0 +100 s 2/1/0 +700 F 3/2/1 +4000 3/2/1 +1000 0/0/0 +100 s 1/0/0 +5000 s 1/0/0"},
    {"SlidingTimeWindowMetrics.testSlowCallsPercentage", window_of(last_seconds(5)),
     "S F s*3 5/1/2"},
    // Closed.
    {"shouldOpenAfterFailureRateThresholdExceeded", state_machine(), "f*3 s closed s open x"},
    {"shouldOpenAfterFailureRateThresholdExceeded2", state_machine(),
     "s +1000 s +1000 s +1000 f +1000 f closed +1000 closed f open"},
    {"shouldOpenAfterSlowCallRateThresholdExceeded", state_machine(), "F S f s closed S open"},
    {"shouldOpenAfterSlowCallRateThresholdExceededUsingMockClock", state_machine(),
     "+5000 S +5000 S +1000 s +1000 s closed +5000 S open"},
    // Open.
    {"shouldTransitionToHalfOpenAfterWaitDuration", state_machine(),
     "f*5 open x +3000 open x +3000 a half-open"},
    {"shouldTransitionToHalfOpenAfterWaitInterval", interval_function(),
     "f*5 open x +3000 x +3000 f*4 open +6000 x open +5000 a half-open"},
    // Half-open.
    {"shouldOnlyPermitFourCallsInHalfOpenState", state_machine(),
     "f*5 +5001 a*4 half-open x*2 af*4 open +5001 a*4 x*2"},
    {"shouldIncreaseCounterOnReleasePermission", state_machine(), "f*5 +5001 a*4 x*2 ar a x"},
    {"shouldTransitionBackToOpenStateWhenFailureRateIsAboveThreshold", state_machine(),
     "f*5 +5001 f*2 s half-open f open"},
    {"shouldTransitionBackToOpenStateWhenSlowCallRateIsAboveThreshold", state_machine(),
     "f*5 +5001 S*3 half-open s open"},
    {"shouldTransitionBackToClosedStateWhenFailureIsBelowThreshold", state_machine(),
     "f*5 +5001 f s*2 half-open s closed a closed"},
    {"shouldReleasePermissionWhenExceptionIgnored", state_machine(),
     "f*5 +5001 s half-open s half-open s half-open i half-open f closed"},
    {"shouldIgnoreExceptionsAndThenTransitionToClosed", state_machine(),
     "f*5 +5001 i*4 half-open s*3 half-open s closed"},
};

const Example kPolly[] = {
    // The windows.
    {"RollingHealthMetrics.Increment_Ok", window_of(polly(0.1, 0, 10)), "f s*4 5/1/0"},
    {"RollingHealthMetrics.GetHealthInfo_EnsureWindowRespected", window_of(polly(0.1, 0, 10)),
     "f s +2000 2/1/0 f s +2000 4/2/0 s*2 +2000 s*2 +2000 8/2/0 s*2 +2000 8/1/0 +2000 6/0/0"},
    {"RollingHealthMetrics.GetHealthInfo_EnsureWindowCapacityRespected",
     window_of(polly(0.1, 0, 10)),
     "s +1000 s +1000 s +1000 s +1000 s +1000 s +1000 s +1000 s +1000 s +1000 s +1000 9/0/0 +1000 "
     "8/0/0"},
    {"RollingHealthMetrics.GetHealthInfo_SamplingDurationRespected", window_of(polly(0.1, 0, 10)),
     "s*2 2/0/0 +10000 0/0/0"},
    {"SingleHealthMetrics.Increment_Ok", polly_single(), "f s*4 5/1/0"},
    {"SingleHealthMetrics.SamplingDurationRespected_Ok", polly_single(), "s*2 +100 0/0/0"},
    // Closed: calls, the least number, failures among them, and whether the last one breaks.
    {"OnActionFailure_WhenClosed: none of 10 failed", polly(0.1, 10, 30), "s*10 closed"},
    {"OnActionFailure_WhenClosed: 10 % of 10", polly(0.1, 10, 30), "s*9 closed f open"},
    {"OnActionFailure_WhenClosed: 20 % of 10", polly(0.1, 10, 30), "s*8 f closed f open"},
    {"OnActionFailure_WhenClosed: three of 11", polly(0.1, 10, 30), "f*2 s*8 closed f open"},
    {"OnActionFailure_WhenClosed: nine calls", polly(0.1, 10, 30), "s*8 f closed"},
    {"OnActionFailureAsync: a late failure while open", polly(0.5, 2, 30), "a f*2 open af open x"},
    // Open and half-open.
    {"AddCircuitBreaker_IntegrationTest", polly(0.5, 10, 10),
     "f*10 open x +500 x +500 f open x +1000 s closed"},
    {"HalfOpen_EnsureCorrectStateTransitionAfterExecution: success", polly(0.5, 2, 30),
     "f*2 +1000 a half-open as closed"},
    {"HalfOpen_EnsureCorrectStateTransitionAfterExecution: failure", polly(0.5, 2, 30),
     "f*2 +1000 a half-open af open"},
    {"OnActionPreExecute_HalfOpen", polly(0.5, 2, 30), "f*2 +1000 a x half-open"},
    {"OnActionSuccess_EnsureCorrectBehavior: closed", polly(0.5, 2, 30), "s*2 closed"},
};

const Example kSentinel[] = {
    // ExceptionCircuitBreakerTest: five requests at least, a share above the threshold.
    {"ExceptionCircuitBreaker, ratio", sentinel_errors(0.5, 5), "f*2 s*3 closed f closed f open"},
    {"ExceptionCircuitBreaker, whole seconds", sentinel_errors(0.5, 5), "f*4 +1000 f closed"},
    {"ExceptionCircuitBreaker, a ratio of 1 is not passed", sentinel_errors(1, 5), "f*9 closed"},
    {"ExceptionCircuitBreaker, half-open", sentinel_errors(0.5, 5),
     "f*5 open +9999 x +1 a half-open x as closed"},
    // ResponseTimeCircuitBreakerTest: above the ratio, or at it if that is 1, its default.
    {"ResponseTimeCircuitBreaker, ratio", sentinel_slow(0.5), "S*5 s*5 closed S open"},
    {"testMaxSlowRatioThreshold: a ratio of 1", sentinel_slow(1), "S*9 closed S open x"},
    {"ResponseTimeCircuitBreaker, ratio of 1, one fast", sentinel_slow(1), "s S*20 closed"},
    {"ResponseTimeCircuitBreaker, half-open: a fast failure closes it", sentinel_slow(1),
     "S*10 open +5000 f closed"},
};

void play_all(std::span<const Example> examples) {
  for (const Example& e : examples) {
    INFO(e.test << ": " << e.steps);
    Played(e.rules).play(e.steps);
  }
}

}  // namespace

TEST_CASE("Resilience4j's own examples", "[breaker][published]") { play_all(kResilience4j); }

TEST_CASE("Polly's own examples", "[breaker][published]") { play_all(kPolly); }

TEST_CASE("Sentinel's own examples", "[breaker][published]") { play_all(kSentinel); }

// HealthCountsStream: as many buckets as the health snapshot's interval, 500 ms, fits into the
// window, whatever the number of buckets of the statistics.
TEST_CASE("Hystrix forgets by half seconds", "[breaker][published]") {
  const auto opens_with = [](std::string_view steps) {
    Played played(preset("hystrix"));
    played.play(steps);
  };
  opens_with("+400 f*19 +9599 f open");
  opens_with("+400 f*19 +9600 f closed");
}

}  // namespace retrysim::published

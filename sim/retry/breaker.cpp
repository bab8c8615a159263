// The circuit breaker's states and counts, and the breakers of libraries. Sources are at the
// presets below, and in README.md.
//
// SPDX-License-Identifier: MIT
#include <retrysim/breaker.hpp>

#include "kernel/functions.hpp"

#include <algorithm>
#include <limits>

namespace retrysim {

// --- Counts --------------------------------------------------------------------------------------

namespace {

Duration slice_length(const BreakerRules& rules) {
  if (rules.window_calls > 0) return Duration::zero();
  const std::int64_t slices = std::max<std::int64_t>(rules.slices, 1);
  return Duration::nanoseconds(std::max<std::int64_t>(1, rules.window.count() / slices));
}

std::size_t slices_of(const BreakerRules& rules) {
  return std::max<std::size_t>(rules.window_calls > 0 ? rules.window_calls : rules.slices, 1);
}

}  // namespace

BreakerCounts::BreakerCounts(const BreakerRules& rules)
    : slices_(slices_of(rules)),
      slice_(slice_length(rules)),
      window_(slice_ * static_cast<std::int64_t>(slices_.size())),
      slicing_(rules.slicing) {}

std::size_t BreakerCounts::bytes() const {
  constexpr std::size_t kOfTheHeap = 2 * sizeof(void*);  // overhead of an allocation
  return slices_.capacity() * sizeof(Slice) + kOfTheHeap;
}

void BreakerCounts::clear() {
  count_ = 0;
  all_ = {};
}

void BreakerCounts::drop(std::size_t slice) {
  all_.calls -= slices_[slice].calls;
  all_.failures -= slices_[slice].failures;
  all_.slow -= slices_[slice].slow;
  --count_;
}

BreakerCounts::Slice& BreakerCounts::begin_slice(Time begin) {
  const std::size_t next = at_ + 1 == slices_.size() ? 0 : at_ + 1;
  if (count_ == slices_.size()) drop(next);
  at_ = next;
  ++count_;
  slices_[at_] = {{}, begin};
  return slices_[at_];
}

// Drops the slices that have left the window by now. On the grid the present slice belongs to the
// window, even if nothing has happened there yet.
void BreakerCounts::forget_before(Time now) {
  if (slice_ == Duration::zero() || slicing_ == BreakerSlices::kRing) return;
  while (count_ > 0) {
    const std::size_t oldest = (at_ + slices_.size() - (count_ - 1)) % slices_.size();
    if (slices_[oldest].begin + window_ > now) return;
    drop(oldest);
  }
}

BreakerCounts::Slice& BreakerCounts::present(Time now) {
  if (slice_ == Duration::zero()) return begin_slice(now);
  Slice* slice = count_ > 0 ? &slices_[at_] : nullptr;
  if (slice == nullptr || now - slice->begin >= slice_) {
    const bool grid = slicing_ == BreakerSlices::kGrid;
    slice = &begin_slice(
        grid ? Time::from_nanoseconds(now.count() / slice_.count() * slice_.count()) : now);
  }
  forget_before(now);
  return *slice;
}

void BreakerCounts::add_result(bool failed, bool slow, Time now) {
  const bool of_newest = slice_ == Duration::zero() && count_ > 0;
  Slice& slice = of_newest ? slices_[at_] : present(now);
  slice.failures += failed;
  slice.slow += slow;
  all_.failures += failed;
  all_.slow += slow;
}

const BreakerCounts::Sums& BreakerCounts::sums(Time now) {
  forget_before(now);
  return all_;
}

std::optional<ResponseClass> error_class(std::string_view word) {
  if (word == "throttling") return ResponseClass::kThrottling;
  if (word == "transient") return ResponseClass::kTransient;
  if (word == "timeout") return ResponseClass::kTimeout;
  if (word == "not-retryable") return ResponseClass::kNotRetryable;
  return std::nullopt;
}

// --- States --------------------------------------------------------------------------------------

void Breaker::enter(BreakerState state) {
  state_ = state;
  ++era_;
}

void Breaker::trip(const BreakerRules& rules, Time now) {
  Duration open = std::min(rules.open, rules.open_cap);
  if (openings_ > 0 && rules.open_factor != 1) {
    const double ns = static_cast<double>(rules.open.count()) *
                      kernel::pow(rules.open_factor, static_cast<double>(openings_));
    const auto cap = static_cast<double>(rules.open_cap.count());
    open = ns < cap ? Duration::from_nanoseconds(ns) : rules.open_cap;
  }
  openings_ += openings_ < std::numeric_limits<std::uint32_t>::max();
  open_until_ = now + open;
  enter(BreakerState::kOpen);
}

void Breaker::close(const BreakerRules& rules) {
  if (!rules.keeps_counts) counts_.clear();
  failures_in_row_ = 0;
  openings_ = 0;
  enter(BreakerState::kClosed);
}

bool Breaker::ask(const BreakerRules& rules, Time now) {
  if (rules.counts_asked) counts_.add_call(now);
  if (state_ == BreakerState::kClosed) return true;
  if (state_ == BreakerState::kOpen) {
    if (now < open_until_) return false;
    enter(BreakerState::kHalfOpen);
    permits_ = std::max(rules.probes, std::uint32_t{1});
    probes_ = {};
  }
  if (permits_ == 0) return false;
  --permits_;
  return true;
}

void Breaker::release(std::uint32_t era) {
  if (state_ == BreakerState::kHalfOpen && era == era_) ++permits_;
}

bool Breaker::shares_are_reached(const BreakerRules& rules, const BreakerCounts::Sums& of) const {
  const auto reached = [&](std::uint32_t n, double share, bool above) {
    if (share <= 0 || n == 0) return false;
    if (of.calls == 0) return true;  // opossum: the calls that failed have left the window
    // The quotient is the double nearest to the true ratio, as the share in the rules is.
    const double is = static_cast<double>(n) / static_cast<double>(of.calls);
    return above ? is > share : is >= share;
  };
  // In Sentinel no share is above 1, its default for slow calls; a share of 1 therefore counts as
  // reached.
  const bool slow_above = rules.above && rules.slow_share < 1;
  return reached(of.failures, rules.failure_share, rules.above) ||
         reached(of.slow, rules.slow_share, slow_above);
}

void Breaker::record(const BreakerRules& rules, std::uint32_t era, ResponseClass error,
                     Duration length, Time now) {
  const bool failed = rules.failures.has(error);
  if (error != ResponseClass::kSuccess && rules.ignored.has(error)) return release(era);
  if (!rules.counts_late && era != era_) return;
  const bool slow = rules.slow_share > 0 && length > rules.slow_call;
  if (state_ == BreakerState::kClosed || rules.keeps_counts) {
    if (!rules.counts_asked) counts_.add_call(now);
    counts_.add_result(failed, slow, now);
  }
  if (state_ == BreakerState::kHalfOpen) return record_probe(rules, failed, slow, now);
  if (state_ == BreakerState::kOpen) return;
  failures_in_row_ = failed ? failures_in_row_ + 1 : 0;
  if (!failed && !slow && !rules.judges_successes) return;
  const BreakerCounts::Sums& sums = counts_.sums(now);
  const std::uint32_t least =
      rules.window_calls > 0 ? std::min(rules.min_calls, rules.window_calls) : rules.min_calls;
  const bool in_row = rules.consecutive > 0 && failures_in_row_ >= rules.consecutive;
  if (in_row || (sums.calls >= least && shares_are_reached(rules, sums))) {
    trip(rules, now);
  }
}

void Breaker::record_probe(const BreakerRules& rules, bool failed, bool slow, Time now) {
  ++probes_.calls;
  probes_.failures += failed;
  probes_.slow += slow;
  const bool bad = failed || slow;
  bool closes = false;
  switch (rules.close_on) {
    case BreakerClose::kShare:
      // Resilience4j does not wait for more probes than its least number of calls.
      if (probes_.calls < std::min(rules.probes, rules.min_calls)) return;
      if (shares_are_reached(rules, probes_)) return trip(rules, now);
      closes = true;
      break;
    case BreakerClose::kAll:
      if (bad) return trip(rules, now);
      closes = probes_.calls >= rules.probes;
      break;
    case BreakerClose::kConsecutive:
      if (bad) return trip(rules, now);
      ++permits_;
      closes = probes_.calls >= rules.close_after;
      break;
  }
  if (!closes) return;
  close(rules);
  if (!rules.counts_probe) return;
  counts_.add_call(now);
  counts_.add_result(failed, slow, now);
}

// --- The breakers of libraries -------------------------------------------------------------------

namespace {

constexpr ErrorClasses kEveryError{ResponseClass::kThrottling, ResponseClass::kTransient,
                                   ResponseClass::kTimeout, ResponseClass::kNotRetryable};

constexpr BreakerRules make(void (*change)(BreakerRules&)) {
  BreakerRules rules;
  rules.enabled = true;
  rules.failures = kEveryError;
  change(rules);
  return rules;
}

constexpr void resilience4j(BreakerRules& r) {
  r.failure_share = 0.5;
  r.slow_share = 1;
  r.slow_call = Duration::seconds(60);
  r.min_calls = 100;
  r.window_calls = 100;
  r.judges_successes = true;
  r.open = Duration::seconds(60);
  r.probes = 10;
  r.close_on = BreakerClose::kShare;
}

constexpr void after_consecutive(BreakerRules& r, std::uint32_t failures, Duration open) {
  r.failure_share = 0;
  r.consecutive = failures;
  r.open = open;
}

constexpr BreakerPreset kBreakers[] = {
    {"custom",
     [] {
       BreakerRules rules;
       rules.enabled = true;
       rules.open = Duration::seconds(5);
       return rules;
     }(),
     "a plain starting point: half of at least ten calls in 10 s, 5 s, one probe; errors that are "
     "not retryable are successes"},
    {"resilience4j", make(resilience4j),
     "Resilience4j (af9e7c9) CircuitBreakerConfig.java, internal/CircuitBreakerStateMachine.java, "
     "CircuitBreakerMetrics.java: the last 100 calls"},
    {"resilience4j-time", make([](BreakerRules& r) {
       resilience4j(r);
       r.window_calls = 0;
       r.window = Duration::seconds(100);
       r.slices = 100;
     }),
     "the same with slidingWindowType TIME_BASED: SlidingTimeWindowMetrics.java, the last 100 s by "
     "whole seconds"},
    {"polly", make([](BreakerRules& r) {
       r.failure_share = 0.1;
       r.min_calls = 100;
       r.window = Duration::seconds(30);
       r.slicing = BreakerSlices::kCalls;
       r.open = Duration::seconds(5);
     }),
     "Polly 8.7 (173d6d1) CircuitBreakerConstants.cs, CircuitStateController.cs, "
     "AdvancedCircuitBehavior.cs, RollingHealthMetrics.cs"},
    {"hystrix", make([](BreakerRules& r) {
       r.failure_share = 0.5;
       r.min_calls = 20;
       r.window = Duration::seconds(10);
       r.slices = 20;
       r.judges_successes = true;
       r.open = Duration::seconds(5);
     }),
     "Hystrix 1.5.18 (7c03baf) HystrixCircuitBreaker.java, HystrixCommandProperties.java, "
     "HealthCountsStream.java: 20 requests in 10 s by half seconds, 50 %, 5 s, one probe"},
    {"sentinel", make([](BreakerRules& r) {
       r.failure_share = 0.5;
       r.above = true;
       r.min_calls = 5;
       r.window = Duration::seconds(1);
       r.slices = 1;
       r.judges_successes = true;
       r.open = Duration::seconds(10);
     }),
     "Sentinel (d75a668) ExceptionCircuitBreaker.java, AbstractCircuitBreaker.java, "
     "DegradeRule.java: "
     "five requests in whole seconds; share and time are the user's, here 50 % and 10 s"},
    {"gobreaker", make([](BreakerRules& r) {
       after_consecutive(r, 6, Duration::seconds(60));
       r.counts_late = false;
     }),
     "gobreaker v2/gobreaker.go (fed8e9e): more than five failures in a row, 60 s, one probe"},
    {"opossum", make([](BreakerRules& r) {
       r.failure_share = 0.5;
       r.above = true;
       r.min_calls = 0;
       r.window = Duration::seconds(10);
       r.counts_asked = true;
       r.keeps_counts = true;
       r.open = Duration::seconds(30);
     }),
     "opossum 9.0.0 lib/circuit.js, lib/status.js: above 50 % of the calls asked for in 10 s, "
     "refused ones included; 30 s, one probe"},
    {"cockatiel", make([](BreakerRules& r) {
       r.failure_share = 0.2;
       r.above = true;
       r.min_calls = 750;
       r.window = Duration::seconds(30);
       r.slices = 30;
       r.slicing = BreakerSlices::kRing;
       r.counts_probe = true;
       r.open = Duration::seconds(10);
     }),
     "cockatiel 3.2.1 CircuitBreakerPolicy.js, breaker/SamplingBreaker.js, with the numbers of its "
     "documentation: above 20 % in 30 s, at least 5 failures a second, 10 s"},
    {"failsafe", make([](BreakerRules& r) { after_consecutive(r, 1, Duration::seconds(60)); }),
     "Failsafe 3 (ed3f927) CircuitBreakerBuilder.java, internal/HalfOpenState.java, failsafe-go "
     "circuitbreakerbuilder.go (0e452f4): one failure, one minute, one success"},
};

}  // namespace

std::span<const BreakerPreset> breaker_presets() { return kBreakers; }

const BreakerPreset* find_breaker_preset(std::string_view name) {
  const auto* at = std::ranges::find(kBreakers, name, &BreakerPreset::name);
  return at == std::end(kBreakers) ? nullptr : at;
}

}  // namespace retrysim

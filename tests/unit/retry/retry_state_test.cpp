// Sliding counts, and the limits beyond the SDKs that stand on them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <set>

#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::at_ms;

TEST_CASE("counts over time leave slice by slice") {
  SlidingCounts counts(Duration::seconds(10));  // slices of 1 s
  for (int second = 0; second < 10; ++second) counts.add_first(at_ms(second * 1000 + 500), 2);
  counts.add_second(at_ms(9'900));
  CHECK(counts.first(at_ms(9'999)) == 20);
  CHECK(counts.first(at_ms(10'000)) == 18);
  CHECK(counts.first(at_ms(15'000)) == 8);
  CHECK(counts.second(at_ms(18'999)) == 1);
  CHECK(counts.second(at_ms(19'000)) == 0);
  CHECK(counts.first(at_ms(1'000'000)) == 0);
  counts.add_first(at_ms(1'000'000));
  CHECK(counts.first(at_ms(1'000'001)) == 1);
}

TEST_CASE("counts over calls leave call by call") {
  SlidingCounts counts(3);
  for (int i = 0; i < 5; ++i) {
    counts.add_first(Time::zero());
    if (i != 3) counts.add_second(Time::zero());
    CHECK(counts.first(Time::zero()) == static_cast<std::uint64_t>(std::min(i + 1, 3)));
  }
  CHECK(counts.second(Time::zero()) == 2);  // of calls 2 to 4, all but 3
}

TEST_CASE("a budget of the window allows a share of its requests and a minimum per second") {
  const BudgetRules rules{BudgetKind::kWindow, 0.2, 0.5, Duration::seconds(10)};
  RetryBudget budget(rules);
  int allowed = 0;
  for (int i = 0; i < 100; ++i) budget.request_begins(rules, at_ms(100));
  const auto acquire = [&](std::int64_t time_ms) {
    if (!budget.permits(rules, {}, at_ms(time_ms))) return false;
    budget.retry_granted(rules, false, at_ms(time_ms));
    return true;
  };
  while (acquire(200)) ++allowed;
  CHECK(allowed == 25);  // 0.2 x 100 + 0.5 x 10
  CHECK_FALSE(acquire(9'000));
  CHECK(acquire(20'000));  // all of it has left the window
}

TEST_CASE("a window of eleven tenths grants what its minimum gives in ten in eleven") {
  // tower's tps_budget.rs: ten slots that are over, and the one being written.
  BudgetRules rules{BudgetKind::kWindow, 0.2, 10, Duration::seconds(10), BudgetOf::kSuccesses};
  const auto granted = [&](int slices) {
    rules.slices = slices;
    RetryBudget budget(rules);
    int n = 0;
    for (std::int64_t t = 0; t < 110'000; t += 5) {
      if (!budget.permits(rules, {}, at_ms(t))) continue;
      budget.retry_granted(rules, {}, at_ms(t));
      ++n;
    }
    return n;
  };
  CHECK(granted(10) == 1100);  // 100 in each 10 s: 10 a second
  CHECK(granted(11) == 1000);  // 100 in each 11 s: 9.1 a second
}

TEST_CASE("a budget of what is under way counts retries until their requests end") {
  const BudgetRules rules{BudgetKind::kActive, 0.2, 3, Duration::seconds(10)};
  RetryBudget budget(rules);
  const auto begin = [&](int n) {
    for (int i = 0; i < n; ++i) budget.request_begins(rules, Time::zero());
  };
  const auto acquire = [&](bool again) {
    if (!budget.permits(rules, {.again = again}, Time::zero())) return false;
    budget.retry_granted(rules, again, Time::zero());
    return true;
  };
  begin(10);
  for (int i = 0; i < 3; ++i) CHECK(acquire(false));
  CHECK_FALSE(acquire(false));
  CHECK(acquire(true));  // a further retry of the same request
  begin(10);
  CHECK(acquire(false));  // 20 % of 20
  CHECK_FALSE(acquire(false));
  budget.request_ends(true);
  begin(1);
  CHECK(acquire(false));
  // Where one at a time may retry, the next one may as soon as the first has ended.
  const BudgetRules one{BudgetKind::kActive, 0, 1, Duration::seconds(10)};
  RetryBudget single(one);
  for (int i = 0; i < 3; ++i) {
    single.request_begins(one, Time::zero());
    CHECK(single.permits(one, {}, Time::zero()));
    single.retry_granted(one, false, Time::zero());
    CHECK_FALSE(single.permits(one, {}, Time::zero()));
    single.request_ends(true);
  }
}

TEST_CASE("a budget of what is under way does not count requests in a backoff") {
  const BudgetRules rules{BudgetKind::kActive, 0.5, 0, Duration::seconds(10)};
  RetryBudget budget(rules);
  const auto retries = [&](RetryAsked asked) {
    if (!budget.permits(rules, asked, Time::zero())) return false;
    budget.retry_granted(rules, asked.again, Time::zero());
    budget.backoff_begins();
    return true;
  };
  for (int i = 0; i < 6; ++i) budget.request_begins(rules, Time::zero());
  CHECK(retries({}));                                       // one of 6 / 2
  CHECK(retries({}));                                       // two of 5 / 2
  CHECK_FALSE(retries({}));                                 // three of 4 / 2
  CHECK_FALSE(retries({.again = true, .given_up = true}));  // two of 3 / 2: it is gone itself
  budget.backoff_ends();
  budget.backoff_ends();
  CHECK(retries({.again = true}));  // two of 6 / 2
  CHECK_FALSE(retries({}));         // three of 5 / 2
  budget.backoff_ends();
  CHECK(retries({.given_up = true}) == false);  // three of 5 / 2
  CHECK(retries({}));                           // three of 6 / 2
}

TEST_CASE("a budget by interval counts the attempts of a window and the retries under way") {
  const BudgetRules rules{BudgetKind::kInterval, 0.2, 3, Duration::seconds(10)};
  RetryBudget budget(rules);
  const auto begin = [&](std::int64_t time_ms, int n) {
    for (int i = 0; i < n; ++i) budget.request_begins(rules, at_ms(time_ms));
  };
  const auto granted = [&](std::int64_t time_ms, bool again = false) {
    if (!budget.permits(rules, {.again = again}, at_ms(time_ms))) return false;
    budget.retry_granted(rules, again, at_ms(time_ms));
    return true;
  };
  begin(100, 8);
  for (int i = 0; i < 8; ++i) budget.request_ends(false);  // ended requests count nevertheless
  begin(200, 10);
  for (int i = 0; i < 3; ++i) CHECK(granted(300));  // 0.2 x 18 = 3.6, and never less than 3
  CHECK(granted(300));                              // 0.2 x (18 + 3) = 4.2
  CHECK_FALSE(granted(300));                        // 0.2 x (18 + 4) = 4.4
  begin(400, 3);
  CHECK(granted(500));        // 0.2 x 25 = 5
  CHECK(granted(500, true));  // a further retry of a request takes no place of another's
  CHECK_FALSE(granted(500));  // 0.2 x 27 = 5.4
  budget.request_ends(true);
  CHECK(granted(600));  // one less is under way
  // All of it has left the window: the minimum is less than the 5 that are still under way.
  CHECK_FALSE(granted(20'000));
  CHECK_FALSE(granted(20'000, true));  // nor can one of these retry again: four others are
  for (int i = 0; i < 3; ++i) budget.request_ends(true);
  CHECK(granted(20'000));        // two are under way
  CHECK_FALSE(granted(20'000));  // three
}

TEST_CASE("a budget of successes gets nothing from requests that fail") {
  BudgetRules rules{BudgetKind::kWindow, 0.2, 1, Duration::seconds(10)};
  rules.of = BudgetOf::kSuccesses;
  RetryBudget budget(rules);
  const auto left = [&] {
    int n = 0;
    for (; budget.permits(rules, {}, at_ms(200)); ++n) {
      budget.retry_granted(rules, false, at_ms(200));
    }
    return n;
  };
  for (int i = 0; i < 100; ++i) budget.request_begins(rules, at_ms(100));
  CHECK(left() == 10);  // 1 per second for 10 s
  for (int i = 0; i < 50; ++i) budget.request_succeeded(rules, at_ms(100));
  CHECK(left() == 10);  // 0.2 x 50
}

TEST_CASE("clients have a state only if their rules remember something") {
  RetryRules rules = find_preset("custom", "", "fixed-delay", "")->rules;
  CHECK(RetryStates(rules, 3, Time::zero(), {}).empty());
  rules.retry_breaker.enabled = true;
  CHECK_FALSE(RetryStates(rules, 3, Time::zero(), {}).empty());
}

TEST_CASE("clients share the state that their scope says, and no other") {
  RetryRules rules = find_preset("adaptive", "", "", "")->rules;
  const StateCounts counts{.services = 2, .operations = 3, .keys = 5};
  struct Row {
    RetryScope scope;
    std::size_t states;  // of four clients
  };
  const StatePlace first{}, service{.service = 1}, operation{.operation = 2}, key{.key = 4};
  for (const Row& row :
       {Row{RetryScope::kClient, 4}, Row{RetryScope::kGroup, 1}, Row{RetryScope::kService, 8},
        Row{RetryScope::kOperation, 12}, Row{RetryScope::kKey, 20}}) {
    CAPTURE(name(row.scope));
    CHECK(RetryStates::states_of(row.scope, 4, counts) == row.states);
    rules.quota.scope = rules.rate_limit.scope = row.scope;
    RetryStates states(rules, 4, Time::zero(), counts);
    CHECK(states.quotas().size() == row.states);
    CHECK(states.limiters() == row.states);
    // Which of the others have the bucket and the limiter of a client's first place?
    const RetryState one = states.of(2, first);
    const auto shared = [&](std::size_t client, const StatePlace& place) {
      const RetryState other = states.of(client, place);
      CHECK((other.quota == one.quota) == (other.limiter == one.limiter));
      return other.quota == one.quota;
    };
    CHECK(shared(2, first));
    if (!states.keep_apart()) CHECK(&states.quotas()[states.quota_of(2)] == one.quota);
    CHECK(shared(3, first) == (row.scope == RetryScope::kGroup));
    CHECK(shared(2, service) == (row.scope != RetryScope::kService));
    CHECK(shared(2, operation) == (row.scope != RetryScope::kOperation));
    CHECK(shared(2, key) == (row.scope != RetryScope::kKey));
    // No two places share anything that is kept apart, up to the last one.
    std::set<const RetryQuota*> buckets;
    for (std::size_t client = 0; client < 4; ++client) {
      for (std::uint32_t s = 0; s < counts.services; ++s) {
        for (std::uint32_t o = 0; o < counts.operations; ++o) {
          for (std::uint32_t k = 0; k < counts.keys; ++k) {
            buckets.insert(states.of(client, {.service = s, .operation = o, .key = k}).quota);
          }
        }
      }
    }
    CHECK(buckets.size() == row.states);
    CHECK(*buckets.rbegin() <= &states.quotas().back());
  }
}

TEST_CASE("rules of a shared retryer are compared part by part") {
  const RetryRules a = find_preset("adaptive", "", "", "")->rules;
  RetryRules b = a;
  b.max_attempts = 9;
  b.backoff.base = Duration::seconds(7);
  CHECK(different_state_rules(a, b).empty());  // no part of the state
  b.guard.enabled = true;
  CHECK(different_state_rules(a, b) == "guard");
  b.retry_breaker.enabled = true;
  CHECK(different_state_rules(a, b) == "retry_breaker");
  b.rate_limit.min_rate = 2;
  CHECK(different_state_rules(a, b) == "rate_limit");
  b.quota.cost = 6;
  CHECK(different_state_rules(a, b) == "quota");
}

TEST_CASE("a credit fills a bucket to its capacity and leaves no fraction on top") {
  RetryQuota quota{9};
  QuotaAccrual accrual;
  accrual.add(0.75, quota, 10);
  CHECK(quota.available == 9);
  accrual.add(2.5, quota, 10);
  CHECK(quota.available == 10);
  quota.available = 9;  // one is taken: 0.75 more do not make it whole
  accrual.add(0.75, quota, 10);
  CHECK(quota.available == 9);
  accrual.add(0.25, quota, 10);
  CHECK(quota.available == 10);
}

TEST_CASE("a circuit breaker stops retries while too many attempts fail") {
  RetryRules rules = find_preset("custom", "", "retry-breaker", "")->rules;
  rules.max_attempts = RetryRules::kUnlimited;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  const auto fails_at = [&strategy](std::int64_t time_ms) {
    RetryToken token = strategy.acquire_initial_token(at_ms(time_ms));
    return strategy.refresh_retry_token(std::move(token), {}, at_ms(time_ms)).outcome();
  };
  for (int i = 0; i < 9; ++i) CHECK(fails_at(i) == Outcome::kRetry);  // too few to judge by
  CHECK(fails_at(10) == Outcome::kQuotaExceeded);
  for (int i = 0; i < 200; ++i) {
    strategy.record_success(strategy.acquire_initial_token(at_ms(2000)), at_ms(2000));
  }
  CHECK(fails_at(2001) == Outcome::kRetry);  // 11 of 211 is below 10 %
  CHECK(fails_at(60'000) == Outcome::kRetry);
}

TEST_CASE("a circuit breaker trips at exactly its share of failures, from its least number on") {
  RetryBreakerRules rules;
  rules.enabled = true;
  rules.failure_share = 0.5;
  rules.min_attempts = 4;
  RetryBreaker breaker(rules);
  breaker.attempt_ended(rules, true, at_ms(0));
  breaker.attempt_ended(rules, true, at_ms(0));
  breaker.attempt_ended(rules, false, at_ms(0));
  CHECK_FALSE(breaker.open(at_ms(0)));  // three are too few
  breaker.attempt_ended(rules, false, at_ms(0));
  CHECK(breaker.open(at_ms(0)));  // two of four
}

TEST_CASE("a circuit breaker that tripped stays open as long as it is told") {
  RetryBreakerRules rules{true, 0.5, 1, Duration::seconds(10), Duration::seconds(5)};
  RetryBreaker breaker(rules);
  breaker.attempt_ended(rules, true, at_ms(0));
  CHECK(breaker.open(at_ms(0)));
  for (int i = 0; i < 100; ++i) breaker.attempt_ended(rules, false, at_ms(1));
  CHECK(breaker.open(at_ms(5'000)));
  CHECK_FALSE(breaker.open(at_ms(5'002)));  // one of two still failed at 1 ms
}

// --- The retry guard

// `n` attempts at `time_ms`, of which `failed` fail.
void attempts_end(RetryGuard& guard, const GuardRules& rules, std::int64_t time_ms, int n,
                  int failed) {
  for (int i = 0; i < n; ++i) guard.attempt_ended(rules, i < failed, at_ms(time_ms));
}

constexpr GuardRules kThreeSamples{true, 0.2, Duration::seconds(1), 3, GuardStart::kOn};

TEST_CASE("a guard switches retries off after so many samples above its share, and on likewise") {
  const GuardRules& rules = kThreeSamples;
  RetryGuard guard(rules);
  for (int second = 0; second < 3; ++second) {
    CHECK(guard.permits(rules, {}, at_ms(second * 1000 + 999)));
    attempts_end(guard, rules, second * 1000 + 999, 10, 3);
  }
  CHECK_FALSE(guard.permits(rules, {}, at_ms(3000)));
  for (int second = 3; second < 6; ++second) {
    CHECK_FALSE(guard.permits(rules, {}, at_ms(second * 1000 + 999)));
    attempts_end(guard, rules, second * 1000 + 999, 10, 1);
  }
  CHECK(guard.permits(rules, {}, at_ms(6000)));
}

TEST_CASE("a sample at exactly its share interrupts a guard's count, whichever it is") {
  const GuardRules& rules = kThreeSamples;
  RetryGuard guard(rules);
  const int failed[] = {3, 3, 2, 3, 3, 3};  // of 10 in each sample
  for (int second = 0; second < 6; ++second) {
    CHECK(guard.permits(rules, {}, at_ms(second * 1000)));
    attempts_end(guard, rules, second * 1000, 10, failed[second]);
  }
  CHECK_FALSE(guard.permits(rules, {}, at_ms(6000)));
  attempts_end(guard, rules, 6000, 10, 1);
  attempts_end(guard, rules, 7000, 10, 2);
  for (int second = 8; second < 11; ++second) {
    CHECK_FALSE(guard.permits(rules, {}, at_ms(second * 1000)));
    attempts_end(guard, rules, second * 1000, 10, 1);
  }
  CHECK(guard.permits(rules, {}, at_ms(11'000)));
}

TEST_CASE("samples without attempts count as samples without failures for a guard") {
  const GuardRules& rules = kThreeSamples;
  RetryGuard guard(rules);
  for (int second = 0; second < 3; ++second) attempts_end(guard, rules, second * 1000, 1, 1);
  CHECK_FALSE(guard.permits(rules, {}, at_ms(5999)));
  CHECK(guard.permits(rules, {}, at_ms(6000)));
  GuardRules off = rules;
  off.starts = GuardStart::kOff;
  RetryGuard from_off(off);
  CHECK_FALSE(from_off.permits(off, {}, at_ms(2999)));
  CHECK(from_off.permits(off, {}, at_ms(3000)));
}

TEST_CASE("the client-side throttle refuses with the probability of the SRE book") {
  ThrottleRules rules;
  rules.enabled = true;
  rules.window_calls = 1000;
  ClientThrottle throttle(rules);
  for (int i = 0; i < 10; ++i) {  // 10 requests, of which 2 are accepted: (10 - 2 x 2) / 11
    CHECK(throttle.permit(rules, Time::zero(), 1));
    if (i < 2) throttle.attempt_ended(rules, false, Time::zero());
    if (i == 4) break;
  }
  // After 5 requests and 2 accepts: (5 - 4) / 6.
  CHECK_FALSE(ClientThrottle(throttle).permit(rules, Time::zero(), 0.16));
  CHECK(ClientThrottle(throttle).permit(rules, Time::zero(), 0.17));
}

TEST_CASE("a budget keeps what another rule refuses") {
  RetryRules rules = find_preset("custom", "", "envoy", "")->rules;
  rules.quota.enabled = true;
  rules.quota.capacity = 100;
  rules.quota.cost = 10;
  rules.quota.credit = 1;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  const auto fails = [&strategy] {
    RetryToken token = strategy.acquire_initial_token(Time::zero());
    return strategy.refresh_retry_token(std::move(token), {}, Time::zero()).outcome();
  };
  for (int i = 0; i < 20; ++i) CHECK(fails() == Outcome::kQuotaExceeded);
  for (int i = 0; i < 10; ++i) {
    strategy.record_success(strategy.acquire_initial_token(Time::zero()), Time::zero());
  }
  CHECK(strategy.quota() == 10);
  CHECK(fails() == Outcome::kRetry);
}

TEST_CASE("a quota that is asked first gives back what the budget refuses") {
  RetryRules rules = find_preset("standard", "2.0", "php", "")->rules;
  rules.budget = {BudgetKind::kWindow, 0, 0, Duration::seconds(10)};
  RetryStrategy strategy(rules, RandomKey(1, 0));
  RetryToken token = strategy.acquire_initial_token(Time::zero());
  token = strategy.refresh_retry_token(std::move(token), {}, Time::zero());
  CHECK(token.outcome() == Outcome::kQuotaExceeded);
  CHECK(strategy.quota() == 500);
}

TEST_CASE("A limiter is made when it is asked for, and stays with its client") {
  RetryRules rules;
  rules.rate_limit.enabled = true;
  RetryStates states(rules, 1000, Time::zero());
  CHECK(states.limiters() == 1000);
  CHECK(states.limit_send_rate());
  const Time later = Time::zero() + Duration::seconds(2);
  states.of(700).limiter->on_response(later, true);
  CHECK(states.place_of_limiter(700) == 0);
  CHECK(states.place_of_limiter(3) == 1);
  CHECK(states.place_of_limiter(999) == 2);
  CHECK(states.place_of_limiter(700) == 0);
  CHECK(states.limiter(700).enabled());
  CHECK_FALSE(states.limiter(3).enabled());
  // Whoever comes late begins as everybody did.
  SendRateLimiter alone(Time::zero(), rules.rate_limit);
  alone.on_response(later, false);
  states.limiter(999).on_response(later, false);
  CHECK(states.limiter(999).measured_rate() == alone.measured_rate());
  CHECK(states.limiter(999).fill_rate() == alone.fill_rate());
}

// What happens before an attempt is sent: connections, hedges, the client-side throttle, the ways
// of waiting for a send token, long polls, and strategies of the user's own. One rule a test, on
// worlds small enough to follow by hand.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <vector>

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// One client that submits requests at the times given; the service takes 100 ms and has room.
Scenario requests_at(std::vector<std::int64_t> times_ms) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  for (const std::int64_t t : times_ms) {
    s.clients[0].arrivals.rows.push_back(Time::zero() + ms(t));
  }
  return s;
}

double seconds(WideNanoseconds ns) { return static_cast<double>(ns) * 1e-9; }

TEST_CASE("A connection carries one attempt at a time, and the others wait in order") {
  Scenario s = requests_at({0, 10, 20});
  s.clients[0].max_connections = 1;
  const ClientResult c = simulate(s, 0).clients[0];
  // Sent at 0, 100 and 200 ms: waits of 0, 90 and 180 ms.
  CHECK(seconds(c.connection_wait_ns) == Approx(0.270));
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.100 + 0.190 + 0.280));
  CHECK(seconds(c.attempt_latency_m.sum_ns) == Approx(0.300));  // waiting is no attempt
  s.clients[0].max_connections = 2;
  CHECK(seconds(simulate(s, 0).clients[0].connection_wait_ns) == Approx(0.080));
}

TEST_CASE("A new connection costs its set-up, one that is reused does not") {
  Scenario s = requests_at({0, 500, 510});
  s.network.connect = Distribution::constant(ms(30));
  const ClientResult c = simulate(s, 0).clients[0];
  // At 0 a new one, at 500 ms the same again, at 510 ms another new one beside it.
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.130 + 0.100 + 0.130));
}

TEST_CASE("Answers decide whether a connection is kept") {
  Scenario s = requests_at({0, 1000});
  s.network.connect = Distribution::constant(ms(30));
  s.clients[0].retry.max_attempts = 1;
  const auto second_latency = [&s](const char* code, int status) {
    s.services[0].errors = {{{status, code}, 1.0}};
    return seconds(simulate(s, 0).clients[0].latency_m.sum_ns) - 0.030;  // answered at once
  };
  CHECK(second_latency("ThrottlingException", 400) == Approx(0).margin(1e-12));
  CHECK(second_latency("ValidationException", 400) == Approx(0).margin(1e-12));
  CHECK(second_latency("InternalError", 500) == Approx(0.030));  // dropped, made anew
  // After a timeout, too: the attempt at 1 s connects again.
  s.services[0].errors.clear();
  s.services[0].service_time = Distribution::constant(ms(100));
  test::set_timeout(s.clients[0], ms(120));
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, AttemptResult::kTimeout) == 2);
}

TEST_CASE("Who waited for a connection sets up a new one if that was dropped") {
  Scenario s = requests_at({0, 10});
  s.network.connect = Distribution::constant(ms(30));
  s.clients[0].max_connections = 1;
  s.clients[0].retry.max_attempts = 1;
  // Both are answered as soon as they arrive; the first at 30 ms. Then the second goes.
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  CHECK(seconds(simulate(s, 0).clients[0].latency_m.sum_ns) == Approx(0.030 + 0.050));
  s.services[0].errors = {{{400, "ValidationException"}, 1.0}};  // the connection is kept
  CHECK(seconds(simulate(s, 0).clients[0].latency_m.sum_ns) == Approx(0.030 + 0.020));
}

TEST_CASE("A connection that takes too long to set up is a timeout") {
  Scenario s = requests_at({0});
  s.network.connect = Distribution::constant(ms(500));
  s.clients[0].timeouts.connect = ms(200);
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.backoff.base = ms(50);
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], AttemptResult::kTimeout) == 2);
  CHECK(r.clients[0].arrivals == 0);  // neither reached the service
  CHECK(seconds(r.clients[0].latency_m.sum_ns) == Approx(0.200 + 0.050 + 0.200));
}

TEST_CASE("A connection that takes as long as it may is set up") {
  Scenario s = requests_at({0});
  s.network.connect = Distribution::constant(ms(200));
  s.clients[0].timeouts.connect = ms(200);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 1);
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.300));
}

TEST_CASE("A deadline ends the wait for a connection") {
  Scenario s = requests_at({0, 10, 20});
  s.clients[0].max_connections = 1;
  s.clients[0].timeouts.deadline = ms(150);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kSuccess) == 1);  // the second is cut off at 160 ms, under way
  CHECK(count(c, Outcome::kDeadlineExceeded) == 2);
  CHECK(c.attempts == 3);  // the third goes at 160 ms, and is cut off at 170 ms
  CHECK(seconds(c.connection_wait_ns) == Approx(0.090 + 0.140));
}

TEST_CASE("Thousands of requests behind one connection are rejected one after the other") {
  // Each answer comes at once and hands the connection on: no recursion, no loss.
  Scenario s = requests_at(std::vector<std::int64_t>(200'000, 0));
  s.clients[0].max_connections = 1;
  s.clients[0].retry.max_attempts = 1;
  s.services[0].servers = 1;
  s.services[0].queue.capacity = 0;
  s.services[0].errors = {{{400, "ValidationException"}, 1.0}};
  CHECK(count(simulate(s, 0).clients[0], Outcome::kNotRetryable) == 200'000);
}

Scenario hedging_world(Duration service_time) {
  Scenario s = requests_at({0});
  s.services[0].service_time = Distribution::constant(service_time);
  s.clients[0].retry = find_preset("custom", "", "hedging", "")->rules;
  s.clients[0].retry.hedging.delay = ms(40);
  return s;
}

TEST_CASE("A hedge is sent while no answer has come, up to the limit on attempts") {
  Scenario s = hedging_world(ms(100));
  ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 2);
  CHECK(count(c, AttemptResult::kSuccess) == 1);
  CHECK(count(c, AttemptResult::kAbandoned) == 1);
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.100));  // the first attempt answers first
  s.clients[0].retry.max_attempts = 5;
  CHECK(simulate(s, 0).clients[0].attempts == 3);  // at 0, 40 and 80 ms
  s.services[0].service_time = Distribution::constant(ms(30));
  CHECK(simulate(s, 0).clients[0].attempts == 1);
}

TEST_CASE("A hedge that is luckier ends the request") {
  Scenario s = hedging_world(ms(100));
  FaultSpec fault;  // the first attempt is lost on its way, the hedge at 40 ms is not
  fault.name = "loss";
  fault.duration = ms(20);
  fault.request_loss = 1;
  s.faults.push_back(fault);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 2);
  CHECK(c.lost == 1);
  CHECK(count(c, Outcome::kSuccess) == 1);
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.140));
}

TEST_CASE("A failure lets the next hedge go at once, and the last failure ends the request") {
  Scenario s = hedging_world(ms(100));
  s.clients[0].retry.max_attempts = 3;
  s.services[0].errors = {{{503, "ServiceUnavailable"}, 1.0}};
  ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 3);
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(c.latency_m.sum_ns == 0);
  s.services[0].errors = {{{400, "ValidationException"}, 1.0}};
  c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 1);
  CHECK(count(c, Outcome::kNotRetryable) == 1);
}

TEST_CASE("A timeout gives up all hedges, and runs from the latest") {
  Scenario s = hedging_world(ms(1000));
  test::set_timeout(s.clients[0], ms(100));
  const ClientResult c = simulate(s, 0).clients[0];
  // Attempts at 0 and 40 ms; both are given up at 140 ms.
  CHECK(count(c, AttemptResult::kTimeout) == 2);
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.140));
}

TEST_CASE("The quota pays for hedges") {
  Scenario s = hedging_world(ms(100));
  s.clients[0].retry.max_attempts = 9;
  s.clients[0].retry.hedging.delay = ms(10);
  QuotaRules& q = s.clients[0].retry.quota;
  q.enabled = true;
  q.capacity = q.initial = 12;
  q.cost = 5;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 3);  // two hedges at 5 tokens each
}

TEST_CASE("A budget of what is under way gets a hedge back when its request ends") {
  Scenario s = hedging_world(ms(100));
  s.clients[0].arrivals = {};
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 1;
  s.clients[0].retry.budget = {BudgetKind::kActive, 0, 1, Duration::seconds(10)};
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 2 * c.requests);  // one after the other, each with its hedge
  CHECK(c.requests > 50);
}

TEST_CASE("Neither hedges nor retries beside them wait for tokens of the quota") {
  Scenario s = hedging_world(ms(100));
  s.clients[0].retry.max_attempts = 3;
  QuotaRules& q = s.clients[0].retry.quota;
  q.enabled = true;
  q.capacity = q.cost = 5;
  q.refill_rate = 100;  // 5 tokens after 50 ms
  const auto on_empty = GENERATE(QuotaOnEmpty::kFail, QuotaOnEmpty::kWait);
  q.on_empty = on_empty;
  CHECK(simulate(s, 0).clients[0].attempts == 1);  // at 40 ms there are 4
  q.initial = 5;
  CHECK(simulate(s, 0).clients[0].attempts == 2);  // then 5, and 4 again at 80 ms
  q.initial = 0;
  s.services[0].errors = {{{503, "ServiceUnavailable"}, 1.0}};
  CHECK(count(simulate(s, 0).clients[0], Outcome::kQuotaExceeded) == 1);
}

TEST_CASE("A client-side throttle refuses attempts of a service that accepts none") {
  Scenario s = test::small_world();
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 10;
  s.clients[0].arrivals.aligned = true;
  s.services[0].errors = {{{503, "ServiceUnavailable"}, 1.0}};
  s.clients[0].retry = find_preset("custom", "", "sre", "")->rules;
  s.clients[0].retry.max_attempts = 1;
  const ClientResult c = simulate(s, 0).clients[0];
  // After n attempts the next is let go with probability 1 / (n + 1): some 7.5 in all of 1000
  // (harmonic sum); the standard deviation is below 3.
  CHECK(c.requests == 1000);
  CHECK(c.attempts < 30);
  CHECK(count(c, Outcome::kNoSendToken) == 1000 - c.attempts);
  s.services[0].errors.clear();
  s.services[0].service_time = Distribution::constant(ms(10));  // answered before the next request
  CHECK(simulate(s, 0).clients[0].attempts == 1000);
}

Scenario adaptive_world() {
  Scenario s = requests_at({0, 250, 500, 750});
  s.services[0].service_time = Distribution::constant(ms(1));
  s.services[0].throttle = {1e-6, 1, ThrottleScope::kService, Duration::zero()};
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].retry.rate_limit.enabled = true;
  return s;
}

TEST_CASE("Hedges take send tokens, and do not wait for them") {
  // The first request enables the limiter at 0 s. The second one waits for a token until it goes at
  // 2 s; its hedge finds none 40 ms later, and is not sent.
  Scenario s = hedging_world(ms(100));
  s.clients[0].arrivals.rows.push_back(Time::zero() + ms(1000));
  s.clients[0].retry.max_attempts = 2;
  SendRateRules& r = s.clients[0].retry.rate_limit;
  r.enabled = true;
  r.initial_fill_rate = 0.5;
  FaultSpec fault;
  fault.duration = ms(10);
  fault.errors = {{{400, "ThrottlingException"}, 1.0}};
  s.faults = {fault};
  const auto run = [&s] { return simulate(s, 0).clients[0]; };
  SECTION("no more than a token at a time") {
    const ClientResult c = run();
    INFO("attempts " << c.attempts << ", waits " << seconds(c.send_wait_ns));
    CHECK(c.attempts == 3);
    CHECK(count(c, Outcome::kSuccess) == 2);
  }
  SECTION("with a token it is sent") {
    r.min_rate = 100;
    CHECK(run().attempts == 4);
  }
  SECTION("only first attempts take any") {
    r.acquire = SendTokenTiming::kFirstAttempt;
    CHECK(run().attempts == 4);
  }
}

TEST_CASE("Waiting once: all go after the time that was computed at first") {
  // The second request is throttled at 250 ms; the bucket has been filling since the first response
  // at 1 ms, with 0.5 tokens a second, and will have one at 2.001 s.
  Scenario s = adaptive_world();
  const auto send_wait = [&s] { return seconds(simulate(s, 0).clients[0].send_wait_ns); };
  // In a queue: the third goes then, the fourth at 4.001 s.
  CHECK(send_wait() == Approx(1.501 + 3.251));
  // Once: both go at 2.001 s, and the bucket goes below zero.
  s.clients[0].retry.rate_limit.wait = SendTokenWait::kOnce;
  CHECK(send_wait() == Approx(1.501 + 1.251));
  // A fifth at 2.1 s finds 1 - 2 + 0.099 / 2 tokens: one is there 3.901 s later.
  s.clients[0].arrivals.rows.push_back(Time::zero() + ms(2100));
  CHECK(send_wait() == Approx(1.501 + 1.251 + 3.901));
  s.clients[0].arrivals.rows.pop_back();
  s.clients[0].timeouts.deadline = Duration::seconds(1);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kDeadlineExceeded) == 2);
  CHECK(c.attempts == 2);
}

TEST_CASE("Retries take their send tokens when their SDK does") {
  Scenario s = adaptive_world();
  s.clients[0].arrivals.rows = {Time::zero(), Time::zero() + ms(250)};
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.backoff.base = s.clients[0].retry.backoff.throttle_base = Duration::seconds(1);
  SendRateRules& r = s.clients[0].retry.rate_limit;
  const auto latency = [&s] {  // of the second request: throttled at 250 ms, and once more
    return seconds(simulate(s, 0).clients[0].latency_m.sum_ns) - 0.001;
  };
  // The token is there at 2.001 s, as above.
  CHECK(latency() == Approx(1.751));  // the backoff of 1 s runs meanwhile
  r.acquire = SendTokenTiming::kBeforeBackoff;
  CHECK(latency() == Approx(1.751 + 1.0));
  r.acquire = SendTokenTiming::kWithBackoff;
  CHECK(latency() == Approx(1.751 + 1.0));
  r.acquire = SendTokenTiming::kInsteadOfBackoff;
  CHECK(latency() == Approx(1.751));
  r.costly_retry_cost = 10;
  CHECK(latency() == Approx(19.751));
  r.acquire = SendTokenTiming::kFirstAttempt;
  CHECK(latency() == Approx(1.0));
  // More tokens than the bucket ever holds: the deadlock that was reported of smithy-rs.
  r.acquire = SendTokenTiming::kBeforeSend;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kUnfinished) == 1);
  CHECK(c.attempts == 2);
}

TEST_CASE("A limiter that sees only retried errors does not adapt without retries") {
  Scenario s = adaptive_world();
  s.clients[0].retry.rate_limit.update = LimiterUpdate::kRetried;
  CHECK(simulate(s, 0).clients[0].send_wait_ns == 0);
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.backoff.base = s.clients[0].retry.backoff.throttle_base = ms(1);
  CHECK(simulate(s, 0).clients[0].send_wait_ns > 0);
}

TEST_CASE("The .NET limiter sees errors whose retry the quota refuses") {
  Scenario s = adaptive_world();
  s.clients[0].retry = find_preset("adaptive", "2.0", "dotnet", "")->rules;
  s.clients[0].retry.quota.initial = 0;
  CHECK(simulate(s, 0).clients[0].send_wait_ns > 0);
}

TEST_CASE("Tokens that are reserved push those behind them back") {
  // Rust 2.0: the third and fourth request reserve at 0.5 and 0.75 s, and go at 2.001 and 4.001 s.
  Scenario s = adaptive_world();
  s.clients[0].retry.rate_limit.wait = SendTokenWait::kReserve;
  CHECK(seconds(simulate(s, 0).clients[0].send_wait_ns) == Approx(1.501 + 3.251));
}

TEST_CASE("Who checks again sleeps on when the rate grows, and a newcomer overtakes it") {
  Scenario s = adaptive_world();
  s.services[0].throttle = {};
  FaultSpec fault;  // only the second request is throttled
  fault.start = Time::zero() + ms(200);
  fault.duration = ms(100);
  fault.errors = {{{400, "ThrottlingException"}, 1.0}};
  s.faults = {fault};
  const auto send_wait = [&s] { return seconds(simulate(s, 0).clients[0].send_wait_ns); };
  // The third and fourth request wait for a token at 2.001 s, at 0.5 tokens a second. The third
  // takes it, and its success at 2.002 s raises the rate: in 2 s there were 3 answers, of which the
  // measured rate is 0.8 * 1.5; the curve is at 0.4 * 1.752^3 = 2.151 a second, below twice that.
  const double rate = 0.4 * 1.752 * 1.752 * 1.752;
  CHECK(send_wait() == Approx(1.501 + 1.252 + (1 - 0.0005) / rate));
  // The fourth looks again at 2.001 s, at the old rate, and sleeps until 4.001 s.
  s.clients[0].retry.rate_limit.wait = SendTokenWait::kRecheck;
  CHECK(send_wait() == Approx(1.501 + 3.251));
  // A fifth finds a token at 3 s and goes at once.
  s.clients[0].arrivals.rows.push_back(Time::zero() + ms(3000));
  CHECK(send_wait() == Approx(1.501 + 3.251));
  s.clients[0].timeouts.deadline = Duration::seconds(2);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kDeadlineExceeded) == 1);  // the fourth, when it would sleep too long
  CHECK(seconds(c.send_wait_ns) == Approx(1.501 + 1.251));
}

TEST_CASE("A long poll waits out the retry that an empty quota refuses") {
  Scenario s = requests_at({0});
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  RetryRules& rules = s.clients[0].retry;
  rules = find_preset("standard", "2.1", "", "")->rules;
  rules.quota.initial = 0;
  rules.backoff.jitter = Jitter::kNone;
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 0);
  s.clients[0].long_poll = true;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kQuotaExceeded) == 1);
  CHECK(c.attempts == 1);
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.050));
}

/// Holds requests back, and tries again twice after 10 ms each, but never request 1.
class Stubborn final : public CustomStrategy {
 public:
  explicit Stubborn(std::vector<std::uint64_t>* successes) : successes_(successes) {}
  Duration acquire_initial_token(std::uint64_t request, Time) override {
    return request == 2 ? ms(5) : Duration::zero();
  }
  RetryDecision refresh_retry_token(std::uint64_t request, std::uint32_t attempts,
                                    const Failure& failure, Time, Draws&) override {
    CHECK(failure.error.response_class == ResponseClass::kTransient);
    if (request == 1) return {Outcome::kNotRetryable, {}, 0};
    if (attempts == 3) return {Outcome::kMaxAttemptsExceeded, {}, 0};
    return {Outcome::kRetry, ms(10), 0};
  }
  void record_success(std::uint64_t request, std::uint32_t, Time) override {
    successes_->push_back(request);
  }

 private:
  std::vector<std::uint64_t>* successes_;
};

/// Answers every failure with what it is told.
class Wrong final : public CustomStrategy {
 public:
  explicit Wrong(RetryDecision decision) : decision_(decision) {}
  RetryDecision refresh_retry_token(std::uint64_t, std::uint32_t attempts, const Failure&, Time,
                                    Draws&) override {
    if (attempts > 3) return {Outcome::kMaxAttemptsExceeded, {}, 0};
    return decision_;
  }

 private:
  RetryDecision decision_;
};

TEST_CASE("A strategy of the user's own that answers nonsense is told so") {
  Scenario s = requests_at({0});
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].max_connections = 1;
  const auto run = [&s](RetryDecision decision) {
    s.clients[0].strategy = [decision](std::uint32_t) { return std::make_unique<Wrong>(decision); };
    return simulate(s, 0).clients[0].attempts;
  };
  CHECK_THROWS_AS(run({Outcome::kRetry, Duration::nanoseconds(-1), 0}), std::invalid_argument);
  CHECK_THROWS_AS(run({Outcome::kSuccess, {}, 0}), std::invalid_argument);
  CHECK_THROWS_AS(run({Outcome::kUnfinished, {}, 0}), std::invalid_argument);
  CHECK(run({Outcome::kRetry, ms(1), 5}) == 4);  // it has no limiter to take tokens from
}

TEST_CASE("A strategy of the user's own sends no hedges, whatever the rules it replaces say") {
  Scenario s = requests_at({0});
  s.clients[0].retry.hedging.enabled = true;
  s.clients[0].retry.hedging.delay = ms(1);
  s.services[0].service_time = Distribution::constant(ms(50));
  const auto attempts = [&s] { return simulate(s, 0).clients[0].attempts; };
  CHECK(attempts() > 1);
  s.clients[0].strategy = [](std::uint32_t) {
    return std::make_unique<Wrong>(RetryDecision{Outcome::kMaxAttemptsExceeded, {}, 0});
  };
  CHECK(attempts() == 1);
}

TEST_CASE("A strategy of the user's own runs in the simulation") {
  Scenario s = requests_at({0, 1000, 2000});
  std::vector<std::uint64_t> successes;
  s.clients[0].strategy = [&successes](std::uint32_t client) {
    CHECK(client == 0);
    return std::make_unique<Stubborn>(&successes);
  };
  CHECK(simulate(s, 0).clients[0].attempts == 3);
  CHECK(successes == std::vector<std::uint64_t>{0, 1, 2});
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 2);
  CHECK(count(c, Outcome::kNotRetryable) == 1);
  CHECK(c.attempts == 7);
  CHECK(seconds(c.latency_m.sum_ns) == Approx(0.020 + 0.025));
  CHECK(seconds(c.send_wait_ns) == Approx(0.005));
}

}  // namespace
}  // namespace retrysim

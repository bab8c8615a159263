// Requests that succeed without an effect: because their token was stored before an effect that did
// not happen, or because their token, made from what they say, is that of another request.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <cmath>
#include <stdexcept>

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// One request with side effects, which takes 100 ms and is tried again after another 100. Its
/// token is stored when a server begins.
Scenario token_first_world() {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].idempotency.window = Duration::seconds(10);
  s.services[0].idempotency.stored = TokenStored::kBeforeEffect;
  s.clients[0].side_effects.mutating = 1;
  s.clients[0].retry.backoff.base = ms(100);
  s.clients[0].retry.backoff.throttle_base = ms(100);
  s.clients[0].retry.backoff.factor = 1;
  return s;
}

FaultSpec fault(int start_ms, int duration_ms) {
  FaultSpec f;
  f.start = Time::zero() + ms(start_ms);
  f.duration = ms(duration_ms);
  return f;
}

/// What begins in the first 50 ms fails at its end.
FaultSpec early_failure() {
  FaultSpec f = fault(0, 50);
  f.errors = {{{500, "InternalError"}, 1.0}};
  f.errors_at.share = 1;
  return f;
}

void check_lost(const Scenario& s) {
  const RunResult r = simulate(s, 0);
  const ClientResult& c = r.clients[0];
  CHECK(count(c, Outcome::kSuccess) == 1);
  CHECK(c.mutating == 1);
  CHECK(c.effects == 0);
  CHECK(c.replays == 1);
  CHECK(c.lost_effects == 1);
  CHECK(c.swallowed == 0);
  CHECK(c.ambiguous == 0);
  CHECK(test::metric("lost_share", s, r) == 1);
  CHECK(test::metric("swallowed_share", s, r) == 0);
}
/// The same service with its tokens stored together with the effect.
void check_kept(Scenario s) {
  s.services[0].idempotency.stored = TokenStored::kWithEffect;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kSuccess) == 1);
  CHECK(c.effects == 1);
  CHECK(c.replays == 0);
  CHECK(c.lost_effects == 0);
}

TEST_CASE("A token that is stored first lets a retry succeed for nothing") {
  Scenario s = token_first_world();
  SECTION("after an error of the server") { s.faults = {early_failure()}; }
  SECTION("after a crash") {
    s.faults = {fault(50, 10)};
    s.faults[0].crash = true;
  }
  SECTION("after a restart, which does not erase tokens") {
    s.faults = {fault(50, 10)};
    s.faults[0].cold_restart = true;
  }
  SECTION("after the service's own timeout") {
    s.services[0].timeout = ms(110);
    s.faults = {fault(0, 150)};
    s.faults[0].speed = 0.5;
  }
  SECTION("after an attempt that was abandoned with its client") {
    s.services[0].abandoned = Abandoned::kAbort;
    s.clients[0].timeouts.has_attempt = true;
    s.clients[0].timeouts.attempt = Distribution::constant(ms(150));
    s.faults = {fault(0, 150)};
    s.faults[0].speed = 0.5;
  }
  SECTION("after a call to another service that failed") {
    s.services.push_back(s.services[0]);
    s.services[1].idempotency = {};
    s.services[1].service_time = Distribution::constant(ms(10));
    ClientSpec call = s.clients[0];
    call.service = 1;
    call.side_effects = {};
    call.retry.max_attempts = 1;
    test::add_call(s, 0, call);
    s.faults = {fault(0, 150)};
    s.faults[0].service = 1;
    s.faults[0].errors = {{{500, "InternalError"}, 1.0}};
  }
  check_lost(s);
  check_kept(s);
}

TEST_CASE("Where a retry is told that the effect is there, the request fails: it is not lost") {
  Scenario s = token_first_world();
  s.faults = {early_failure()};
  s.services[0].idempotency.replay = IdempotentReplay::kAlreadyExists;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kNotRetryable) == 1);
  CHECK(c.effects == 0);
  CHECK(c.lost_effects == 0);
}

TEST_CASE("A token that was stored for nothing is forgotten after its window, too") {
  // The first attempt ends at 100 ms, the second comes at 200 ms.
  Scenario s = token_first_world();
  s.faults = {early_failure()};
  const Duration window = GENERATE(ms(100), ms(101));
  s.services[0].idempotency.window = window;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kSuccess) == 1);
  CHECK(c.lost_effects == (window > ms(100) ? 1 : 0));
  CHECK(c.effects == 1 - c.lost_effects);
}

TEST_CASE("While the first attempt is in service, tokens stored first are like all others") {
  // The second attempt comes at 160 ms, when the first still has 140 ms to go.
  Scenario s = token_first_world();
  s.services[0].service_time = Distribution::constant(ms(300));
  test::set_timeout(s.clients[0], ms(60));
  SECTION("an error, until the effect is there") {
    s.clients[0].retry.max_attempts = 10;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.effects == 1);
    CHECK(c.lost_effects == 0);
    CHECK(count(c, AttemptResult::kThrottled) > 0);
  }
  SECTION("both are executed") {
    s.services[0].idempotency.in_progress = InProgress::kExecute;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.duplicated == 1);
    CHECK(c.lost_effects == 0);
  }
  SECTION("the second waits, and is answered like the third one after a crash") {
    s.services[0].idempotency.in_progress = InProgress::kWait;
    test::set_timeout(s.clients[0], ms(120));
    // The second holds its server from 220 ms on, when the first fails at its end at 300 ms.
    FaultSpec f = early_failure();
    s.faults = {f};
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.token_waits == 1);
    CHECK(c.executed == 1);
    CHECK(c.lost_effects == 1);
    CHECK(c.latency_m.sum_ns == 300'000'000);
  }
}

/// Requests with side effects one after the other, 10 ms each, from one client.
Scenario one_after_the_other(Duration run) {
  Scenario s = token_first_world();
  s.services[0].service_time = Distribution::constant(ms(1));
  s.services[0].idempotency.window = Duration::seconds(100'000);
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::constant(ms(9));
  s.clients[0].retry.backoff.base = ms(1);
  s.duration = run;
  return s;
}

// Of each request the first attempt decides. The count is binomial: six standard deviations are
// exceeded by one seed in 500 million.
TEST_CASE("As many requests are lost as first attempts fail", "[repetitive]") {
  Scenario s = one_after_the_other(Duration::seconds(200));
  s.services[0].errors = {{{500, "InternalError"}, 0.1}};
  s.services[0].errors_at.share = 1;
  const ClientResult c = simulate(s, 0).clients[0];
  const auto n = static_cast<double>(c.requests);
  REQUIRE(n > 15'000);
  CHECK(static_cast<double>(c.lost_effects) == Approx(0.1 * n).margin(6 * std::sqrt(0.09 * n)));
  CHECK(count(c, Outcome::kSuccess) == c.requests);
  CHECK(c.effects == c.requests - c.lost_effects);
  CHECK(c.duplicated == 0);
}

TEST_CASE("Every success has an effect, or is counted as lost", "[repetitive]") {
  Scenario s = token_first_world();
  s.duration = Duration::seconds(200);
  s.network.request_loss = 0.05;
  s.network.response_loss = 0.2;
  s.services[0].servers = 4;
  s.services[0].service_time = Distribution::exponential(0.03);
  s.services[0].abandoned = Abandoned::kAbort;
  s.services[0].errors = {{{500, "InternalError"}, 0.1}};
  s.services[0].errors_at.share = 0.5;
  s.services[0].idempotency.window = Duration::seconds(100'000);
  s.services[0].idempotency.in_progress = GENERATE(InProgress::kError, InProgress::kWait);
  s.clients[0].count = 50;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 1;
  s.clients[0].retry.backoff.base = ms(20);
  test::set_timeout(s.clients[0], ms(60));
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.lost_effects > 500);
  CHECK(c.duplicated == 0);
  CHECK(count(c, Outcome::kUnfinished) == 0);
  CHECK(c.lost_effects == count(c, Outcome::kSuccess) - (c.effects - c.ambiguous));
}

/// The same client; each request says what the one before said.
Scenario repetitive_world() {
  Scenario s = one_after_the_other(Duration::seconds(1));
  s.services[0].idempotency.stored = TokenStored::kWithEffect;
  s.clients[0].side_effects.token_from = TokenSource::kContent;
  s.clients[0].side_effects.token_reuse = 1;
  return s;
}

TEST_CASE("A request that says the same as another is taken for it") {
  Scenario s = repetitive_world();
  SECTION("and has no effect of its own") {
    const RunResult r = simulate(s, 0);
    const ClientResult& c = r.clients[0];
    REQUIRE(c.requests > 50);
    CHECK(count(c, Outcome::kSuccess) == c.requests);
    CHECK(c.effects == 1);  // the first request's
    CHECK(c.swallowed == c.requests - 1);
    CHECK(c.replays == c.requests - 1);
    CHECK(c.lost_effects == 0);
    CHECK(c.mismatches == 0);
    CHECK(test::metric("swallowed_share", s, r) ==
          Approx(1 - 1 / static_cast<double>(c.requests)).epsilon(1e-12));
  }
  SECTION("unless the other one has been forgotten") {
    s.services[0].idempotency.window = ms(9);  // the next request comes 9 ms after the effect
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.effects == c.requests);
    CHECK(c.swallowed == 0);
    CHECK(c.duplicated == 0);
    CHECK(c.expired_replays == 0);
  }
  SECTION("unless the other one failed") {
    s.faults = {early_failure()};
    s.faults[0].duration = ms(15);  // the first request comes at 9 ms
    s.clients[0].retry.max_attempts = 1;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.effects == 1);  // the second request's
    CHECK(c.swallowed == c.requests - 2);
    CHECK(c.lost_effects == 0);
  }
  SECTION("and is lost if that failed, too, but left its token") {
    s.services[0].idempotency.stored = TokenStored::kBeforeEffect;
    s.faults = {early_failure()};
    s.faults[0].duration = ms(15);  // the first request comes at 9 ms
    s.clients[0].retry.max_attempts = 1;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.effects == 0);
    CHECK(c.swallowed == 0);
    CHECK(c.lost_effects == c.requests - 1);
  }
  SECTION("of the same client only") {
    s.clients[0].count = 3;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.effects == 3);
    CHECK(c.swallowed == c.requests - 3);
  }
  SECTION("while that is in service as well, if both are to be executed") {
    s.services[0].idempotency.in_progress = InProgress::kExecute;
    s.clients[0].arrivals.concurrency = 2;
    s.duration = ms(15);  // the first request of each, at 9 ms
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.requests == 2);
    CHECK(c.effects == 2);
    CHECK(c.swallowed == 0);
    CHECK(c.duplicated == 0);
  }
}

// Binomial again: all requests but the first one repeat the one before with this probability.
TEST_CASE("As many requests are swallowed as say the same", "[repetitive]") {
  Scenario s = repetitive_world();
  s.duration = Duration::seconds(200);
  s.clients[0].side_effects.token_reuse = 0.3;
  const ClientResult c = simulate(s, 0).clients[0];
  const auto n = static_cast<double>(c.requests - 1);
  REQUIRE(n > 15'000);
  CHECK(static_cast<double>(c.swallowed) == Approx(0.3 * n).margin(6 * std::sqrt(0.21 * n)));
  CHECK(c.effects == c.requests - c.swallowed);
}

TEST_CASE("A token cannot be stored before the effect, and late") {
  Scenario s = token_first_world();
  s.services[0].idempotency.write_delay = Distribution::constant(ms(5));
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

}  // namespace
}  // namespace retrysim

// Envoy's budget of active requests, against numbers that follow from its source by hand:
// resource_manager_impl.h (01c2c1f) permits a retry while fewer than max(share x active requests,
// minimum), rounded down, are under way; retry_state_impl.cc gives back the place of a request's
// last retry before it asks for the next; streams that have failed are closed after the question,
// so a request in its backoff is no active one.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::ms;

/// One proxy with `burst` requests at once, after a minute, all of which fail after 10 ms.
Scenario burst_of(std::uint32_t burst, double share, double minimum, std::uint32_t attempts) {
  Scenario s = test::small_world();
  s.services[0].servers = 1000;
  s.services[0].service_time = Distribution::constant(ms(10));
  s.services[0].errors = {{{503, "ServiceUnavailable"}, 1.0}};
  s.services[0].errors_at = {1.0};
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.concurrency = burst;
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::seconds(60));
  RetryRules& r = s.clients[0].retry;
  r.max_attempts = attempts;
  r.backoff.base = r.backoff.throttle_base = ms(25);
  r.budget = {BudgetKind::kActive, share, minimum, Duration::seconds(10)};
  return s;
}

std::uint64_t retries(const Scenario& s) {
  const ClientResult c = simulate(s, 0).clients[0];
  return c.attempts - c.requests;
}

}  // namespace

TEST_CASE("Of six requests that fail at once three are retried, not all", "[budget]") {
  // The k-th question finds 7 - k active requests, and k - 1 retries: 3 < 3 fails.
  CHECK(retries(burst_of(6, 1, 0, 2)) == 3);
}

TEST_CASE("A request that retries again asks the budget again", "[budget]") {
  // Of 50, eight: the ninth finds 8 < 0.2 x 42 rounded down. Of the eight, which all fail at once
  // again, the first asks for 7 < 3 in vain and is gone, and so on; the last three, which find
  // fewer than 3 others, retry. These three do so a third time.
  CHECK(retries(burst_of(50, 0.2, 3, 2)) == 8);
  CHECK(retries(burst_of(50, 0.2, 3, 3)) == 8 + 3);
  CHECK(retries(burst_of(50, 0.2, 3, 4)) == 8 + 3 + 3);
}

TEST_CASE("A budget of active requests is one of attempts, however long backoffs are", "[budget]") {
  // 2,000 requests a second that all fail after 10 ms, backoff uniform up to 100 ms: at least the
  // balance of means, where 0.06 x = share x 0.01 (1 + x) of the requests are retried, 3.4, 9.1 and
  // 20 %; a little more, because retries are permitted where the number is above its mean. With all
  // requests counted it would be 4.5, 18 and 100 %.
  Scenario s = burst_of(1, 0, 3, 2);
  s.duration = Duration::seconds(20);
  s.clients[0].arrivals = {};
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 2000;
  s.clients[0].retry.backoff.base = s.clients[0].retry.backoff.throttle_base = ms(100);
  s.clients[0].retry.backoff.jitter = s.clients[0].retry.backoff.throttle_jitter = Jitter::kFull;
  const auto more = [&s](double share) {
    s.clients[0].retry.budget.share = share;
    const ClientResult c = simulate(s, 0).clients[0];
    return static_cast<double>(c.attempts) / static_cast<double>(c.requests) - 1;
  };
  // The bands are more than ten standard deviations wide, found with 20 seeds (below 0.0005).
  CHECK(more(0.2) == Approx(0.038).margin(0.003));
  CHECK(more(0.5) == Approx(0.103).margin(0.005));
  CHECK(more(1.0) == Approx(0.222).margin(0.008));
}

}  // namespace retrysim

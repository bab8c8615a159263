// Flows of several stretches of time, or of several groups, taken together.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include "measure/metrics/formulas.hpp"
#include "measure/record/phase_log.hpp"
#include "measure/record/totals.hpp"

#include <catch2/catch.hpp>

#include <type_traits>

using namespace retrysim;

namespace {

/// Sets the numbers of `field`, down to the last struct and array, to `value`.
template <typename T>
void set_all(T& field, int value) {
  if constexpr (stats::HasFields<T>) {
    fields([&](auto&... inner) { (set_all(inner, value), ...); }, field);
  } else if constexpr (requires { field += T(1); }) {
    field = static_cast<T>(value);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    for (auto& element : field) set_all(element, value);
  }
}

}  // namespace

TEST_CASE("flows add up, maxima do not") {
  ServiceFlow a;
  a.arrivals = 3;
  a.queue_ns = 5;
  a.queue_max = 7;
  ServiceFlow b;
  b.arrivals = 4;
  b.queue_ns = 6;
  b.queue_max = 2;
  a.merge(b);
  CHECK(a.arrivals == 7);
  CHECK(a.queue_ns == 11);
  CHECK(a.queue_max == 7);
  ClientFlow f;
  f.requests = 1;
  f.in_backoff_ns = 2;
  ClientFlow g;
  g.requests = 10;
  g.in_backoff_ns = 20;
  f.merge(g);
  CHECK(f.requests == 11);
  CHECK(f.in_backoff_ns == 22);
}

// Every field, so that a new one cannot be forgotten.
TEST_CASE("between two moments, counts and integrals have grown by their difference") {
  ServiceFlow before, after;
  set_all(before, 5);
  set_all(after, 12);
  const ServiceFlow at_service = stats::flow_between(before, after);
  fields([](const auto&... field) { CHECK(((field == 7) + ...) == sizeof...(field) - 1); },
         at_service);
  CHECK(at_service.queue_max == 0);

  ClientFlow then, now;
  set_all(then, 5);
  set_all(now, 12);
  const auto check_field = [](const auto& field) {
    // Integrals are left out.
    CHECK(field == (std::is_integral_v<std::decay_t<decltype(field)>> ? 7 : 0));
  };
  const ClientFlow of_clients = stats::counts_between(then, now);
  fields([&](const auto&... field) { (check_field(field), ...); }, of_clients);
}

TEST_CASE("an integral that grows by no more than the rounding of its sum has not grown") {
  ServiceFlow before, after;
  before.queue_ns = 1e17;
  after.queue_ns = 1e17 + 16;
  before.busy_ns = 1e17;
  after.busy_ns = 1e17 + 2000;
  CHECK(stats::flow_between(before, after).queue_ns == 0);
  CHECK(stats::flow_between(before, after).busy_ns == 2000);
}

TEST_CASE("every number of two groups together is the sum of theirs, and means are not") {
  Scenario scenario;
  scenario.services.resize(1);
  scenario.clients.resize(2);
  scenario.clients[0].count = 3;
  RunResult run;
  run.clients.resize(2);
  set_all(run.clients[0], 5);
  set_all(run.clients[1], 7);
  for (ClientResult& c : run.clients) {
    c.has_quota = true;
    c.latency.add(1'000);
    c.by_attempt.resize(2);
    for (AttemptNumberCounts& counts : c.by_attempt) set_all(counts, 2);
  }
  run.clients[1].by_attempt.resize(1);
  ClientResult expected;
  set_all(expected, 12);
  expected.latency.add(1'000);
  expected.latency.add(1'000);
  expected.has_quota = true;
  expected.quota_mean = (3 * 5 + 1 * 7) / 4.0;  // by buckets
  expected.by_attempt.resize(2);
  set_all(expected.by_attempt[0], 4);
  set_all(expected.by_attempt[1], 2);
  for (AttemptNumberCounts& counts : expected.by_attempt) counts.peak_sends_100ms = 0;
  CHECK(stats::merge_groups(scenario, run) == expected);
}

TEST_CASE("the mean level of the quotas of all groups does not depend on their order") {
  Scenario scenario;
  scenario.services.resize(1);
  scenario.clients.resize(3);
  // In this order they add up to more than in the other one: 0.6000000000000001 and 0.6.
  RunResult run, reversed;
  for (const double level : {0.1, 0.2, 0.3}) {
    ClientResult& group = run.clients.emplace_back();
    group.has_quota = true;
    group.quota_mean = level;
  }
  reversed.clients.assign(run.clients.rbegin(), run.clients.rend());
  CHECK(stats::merge_groups(scenario, run).quota_mean ==
        stats::merge_groups(scenario, reversed).quota_mean);
}

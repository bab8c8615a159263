// The polling loop, check by check, in a world where nothing else takes time; and its law.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <string_view>

#include "unit/model/small_world.hpp"

namespace retrysim::model {
namespace {

using test::ms;

/// Ten jobs a second for 100 s that take a second each; checks take no time and never fail.
Scenario polling_world() {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(Duration::zero());
  ArrivalSpec& a = s.clients[0].arrivals;
  a.process = ArrivalProcess::kPoll;
  a.rate = 10;
  a.job_time = Distribution::constant(Duration::seconds(1));
  s.clients[0].retry.max_attempts = 1;
  return s;
}

double value(const Scenario& s, const RunResult& run, std::string_view metric) {
  const auto v = metric_value(*find_metric(metric), s, run, 0);
  REQUIRE(v.has_value());
  return *v;
}

std::uint64_t ends(const RunResult& run, JobEnd end) {
  return run.clients[0].jobs.ends[static_cast<std::size_t>(end)];
}

TEST_CASE("The loop of the guidance: pauses of 100, 200, 400, ... ms, the first before a check") {
  const Scenario s = polling_world();
  const RunResult run = simulate(s, 0);
  const JobCounts& jobs = run.clients[0].jobs;
  // Checks 0.1, 0.3, 0.7 and 1.5 s after the job begins.
  CHECK(static_cast<double>(jobs.begun) == Approx(1000).margin(6 * 32));
  CHECK(ends(run, JobEnd::kSucceeded) == jobs.begun);  // the last ones after the duration
  CHECK(value(s, run, "checks_per_job") == 4);
  CHECK(value(s, run, "detection_delay_mean") == Approx(0.5).epsilon(1e-12));
  CHECK(jobs.detection_delay_m.standard_deviation_ns() == 0);
  CHECK(value(s, run, "job_success_rate") == 1);
  CHECK(test::total(run.clients[0]).requests == 4 * jobs.begun);
}

TEST_CASE("A cap keeps the pauses short, a limit ends the loop") {
  Scenario s = polling_world();
  s.clients[0].arrivals.poll.cap = ms(250);  // checks at 0.1, 0.3, 0.55, 0.8, 1.05
  const RunResult capped = simulate(s, 0);
  CHECK(value(s, capped, "checks_per_job") == 5);
  CHECK(value(s, capped, "detection_delay_mean") == Approx(0.05));
  s.clients[0].arrivals.poll.max_checks = 4;
  const RunResult limited = simulate(s, 0);
  CHECK(ends(limited, JobEnd::kGivenUp) == limited.clients[0].jobs.begun);
  CHECK(test::total(limited.clients[0]).requests == 4 * limited.clients[0].jobs.begun);
  CHECK(value(s, limited, "job_success_rate") == 0);
}

TEST_CASE("A check that succeeds at the last allowed time is a success") {
  Scenario s = polling_world();
  s.clients[0].arrivals.job_time = Distribution::constant(ms(300));  // done when check 2 reads it
  s.clients[0].arrivals.poll.max_checks = 2;
  const RunResult run = simulate(s, 0);
  CHECK(ends(run, JobEnd::kSucceeded) == run.clients[0].jobs.begun);
  CHECK(value(s, run, "detection_delay_mean") == 0);
}

TEST_CASE("What counts is the state when the service looked, not when the answer arrives") {
  Scenario s = polling_world();
  s.network.latency = Distribution::constant(ms(100));
  s.clients[0].arrivals.poll.base = Duration::seconds(1);
  s.clients[0].arrivals.job_time = Distribution::constant(ms(1150));
  // Sent at 1.0, read at 1.1: not ready. Heard at 1.2, sent at 3.2, read at 3.3, heard at 3.4.
  const RunResult run = simulate(s, 0);
  CHECK(value(s, run, "checks_per_job") == 2);
  CHECK(value(s, run, "detection_delay_mean") == Approx(3.4 - 1.15));
}

TEST_CASE("Throttled checks are asked again, other failures end the loop") {
  Scenario s = polling_world();
  s.services[0].model = ServiceModelKind::kIndependent;
  s.clients[0].arrivals.poll.max_checks = 6;
  SECTION("throttled") {
    s.services[0].errors = {{{400, "ThrottlingException"}, 1}};
    const RunResult run = simulate(s, 0);
    CHECK(ends(run, JobEnd::kGivenUp) == run.clients[0].jobs.begun);
    CHECK(test::total(run.clients[0]).requests == 6 * run.clients[0].jobs.begun);
  }
  SECTION("an error") {
    s.services[0].errors = {{{500, "InternalError"}, 1}};
    const RunResult run = simulate(s, 0);
    CHECK(ends(run, JobEnd::kFailed) == run.clients[0].jobs.begun);
    CHECK(test::total(run.clients[0]).requests == run.clients[0].jobs.begun);
  }
  SECTION("an error that the client's strategy retries is no failure of the check") {
    s.services[0].errors = {{{500, "InternalError"}, 0.5}};
    s.clients[0].retry.max_attempts = 100;
    const RunResult run = simulate(s, 0);
    CHECK(ends(run, JobEnd::kSucceeded) == run.clients[0].jobs.begun);
    CHECK(value(s, run, "checks_per_job") == 4);
    CHECK(value(s, run, "amplification") == Approx(2).margin(0.2));
  }
}

TEST_CASE("Jitter spreads the pauses within its bounds") {
  Scenario s = polling_world();
  PollSpec& p = s.clients[0].arrivals.poll;
  p.factor = 1;
  p.base = ms(400);
  s.clients[0].arrivals.job_time = Distribution::constant(ms(1));
  const auto moments = [&] { return simulate(s, 0).clients[0].jobs.detection_delay_m; };
  const auto mean = [](const DurationMoments& m) {
    return static_cast<double>(m.sum_ns) / static_cast<double>(m.count) / 1e9;
  };
  // Uniform on 400 ms has standard deviation 115 ms, on 200 ms 58 ms; a thousand jobs: margins of
  // six standard errors. (With full jitter a first pause below 1 ms is followed by another.)
  p.jitter = Jitter::kFull;
  CHECK(mean(moments()) == Approx(0.2).margin(0.022));
  CHECK(moments().standard_deviation_ns() == Approx(115e6).epsilon(0.1));
  p.jitter = Jitter::kEqual;
  CHECK(mean(moments()) == Approx(0.299).margin(0.011));
  CHECK(moments().standard_deviation_ns() == Approx(57.7e6).epsilon(0.1));
  p.jitter = Jitter::kDecorrelated;  // the first on [base, 3 base)
  CHECK(mean(moments()) == Approx(0.799).margin(0.044));
  p.cap = ms(500);  // the first is above the cap with probability 7/8
  CHECK(mean(moments()) == Approx(0.499 - 0.05 / 8).margin(0.006));
}

TEST_CASE("Jobs of exponential length take the number of checks that theory says") {
  Scenario s = polling_world();
  s.clients[0].arrivals.rate = 500;
  s.clients[0].arrivals.job_time = Distribution::exponential(2);
  const RunResult run = simulate(s, 0);
  // One, and one more for every check that comes too early: at 0.1 (2^k - 1) s.
  double expected = 1, squares = 1;
  for (int k = 1; k < 20; ++k) {
    const double too_early = std::exp(-0.1 * (std::exp2(k) - 1) / 2);
    expected += too_early;
    squares += (2 * k + 1) * too_early;
  }
  const double jobs = value(s, run, "jobs");
  CHECK(jobs > 48'000);
  const double standard_error = std::sqrt((squares - expected * expected) / jobs);
  CHECK(value(s, run, "checks_per_job") == Approx(expected).margin(6 * standard_error));
}

TEST_CASE("Without a drain, and beyond its limit, jobs are unfinished") {
  Scenario s = polling_world();
  s.clients[0].arrivals.job_time = Distribution::constant(Duration::seconds(1000));
  s.drain_limit = Duration::seconds(100);
  const RunResult run = simulate(s, 0);
  CHECK(ends(run, JobEnd::kUnfinished) == run.clients[0].jobs.begun);
  CHECK(run.ended <= Time::zero() + Duration::seconds(200));
  s.drain = false;
  const RunResult cut = simulate(s, 0);
  CHECK(ends(cut, JobEnd::kUnfinished) == cut.clients[0].jobs.begun);
  CHECK(cut.ended < Time::zero() + s.duration);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  CHECK_FALSE(metric_value(*find_metric("jobs"), s, simulate(s, 0), 0));
}

}  // namespace
}  // namespace retrysim::model

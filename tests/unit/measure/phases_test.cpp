// Phases: how a window is divided, and that what happens in it is counted in one of them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>

#include "measure/analyse/recovery.hpp"
#include "measure/metrics/phases.hpp"
#include "measure/record/totals.hpp"
#include "scenario_of.hpp"
#include "unit/model/small_world.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace retrysim {
namespace {

Time at_second(std::int64_t s) { return Time::zero() + Duration::seconds(s); }

FaultSpec fault(std::string name, std::int64_t start_s, std::int64_t duration_s) {
  FaultSpec f;
  f.name = std::move(name);
  f.start = at_second(start_s);
  f.duration = Duration::seconds(duration_s);
  return f;
}

/// 100 s with these faults.
Scenario with_faults(std::vector<FaultSpec> faults) {
  Scenario s = test::small_world();
  s.faults = std::move(faults);
  return s;
}

TEST_CASE("a run without fault, surge or named phase has no phases") {
  CHECK(phases_of(test::small_world()).empty());
  // What begins after the last request disturbs nothing.
  CHECK(phases_of(with_faults({fault("late", 100, 5)})).empty());
  CHECK(simulate(test::small_world(), 0).all_phases.empty());
}

TEST_CASE("one fault divides the window into before, during, recovering and after") {
  using enum PhaseKind;
  CHECK(phases_of(with_faults({fault("dip", 20, 10)})) ==
        std::vector<Phase>{{"before", kBefore, at_second(0), at_second(20)},
                           {"dip", kDuring, at_second(20), at_second(30)},
                           {"recovering", kRecovering, at_second(30), at_second(100)},
                           {"after", kAfter, at_second(30), at_second(100)}});
  CHECK(phases_of(with_faults({fault("dip", 0, 200)})) ==
        std::vector<Phase>{{"dip", kDuring, at_second(0), at_second(100)}});
}

TEST_CASE("overlapping faults make stretches of their own") {
  using enum PhaseKind;
  const Scenario s = with_faults({fault("b", 30, 20), fault("a", 20, 20), fault("c", 60, 5)});
  CHECK(phases_of(s) ==
        std::vector<Phase>{{"before", kBefore, at_second(0), at_second(20)},
                           {"a", kDuring, at_second(20), at_second(30)},
                           {"a+b", kDuring, at_second(30), at_second(40)},
                           {"b", kDuring, at_second(40), at_second(50)},
                           {"between", kBetween, at_second(50), at_second(60)},
                           {"c", kDuring, at_second(60), at_second(65)},
                           {"recovering", kRecovering, at_second(65), at_second(100)},
                           {"after", kAfter, at_second(65), at_second(100)}});
  // A pause in one fault is no new one, and neither is the same window elsewhere.
  Scenario nested = with_faults({fault("a", 20, 30), fault("b", 30, 10)});
  const std::vector<Phase> phases = phases_of(nested);
  REQUIRE(phases.size() == 6);
  CHECK(phases[1].name == "a");
  CHECK(phases[3].name == "a (2)");
  nested.clients[0].arrivals.surges = {{"a", at_second(20), Duration::seconds(30), 2}};
  CHECK(phases_of(nested) == phases);
}

TEST_CASE("phases lie inside the window") {
  using enum PhaseKind;
  Scenario s = with_faults({fault("dip", 5, 10)});
  s.warmup = Duration::seconds(10);
  CHECK(phases_of(s) ==
        std::vector<Phase>{{"dip", kDuring, at_second(10), at_second(15)},
                           {"recovering", kRecovering, at_second(15), at_second(100)},
                           {"after", kAfter, at_second(15), at_second(100)}});
  s.warmup = Duration::seconds(50);
  CHECK(phases_of(s) ==
        std::vector<Phase>{{"recovering", kRecovering, at_second(50), at_second(100)},
                           {"after", kAfter, at_second(50), at_second(100)}});
}

TEST_CASE("phases that the scenario names come last and may overlap") {
  using enum PhaseKind;
  Scenario s = with_faults({fault("dip", 20, 10)});
  s.phases = {{"late", at_second(90), Duration::seconds(50)},
              {"dip", at_second(0), Duration::seconds(25)}};
  const std::vector<Phase> phases = phases_of(s);
  REQUIRE(phases.size() == 6);
  CHECK(phases[4] == Phase{"dip (2)", kNamed, at_second(0), at_second(25)});
  CHECK(phases[5] == Phase{"late", kNamed, at_second(90), at_second(100)});
  s.faults.clear();
  CHECK(phases_of(s).size() == 2);
}

TEST_CASE("very many stretches are one phase") {
  std::vector<FaultSpec> faults;
  for (int i = 0; i < 51; ++i) {
    faults.push_back(fault("flap", 0, 1));
    faults.back().start = Time::zero() + Duration::milliseconds(100 * i + 100);
    faults.back().duration = Duration::milliseconds(50);
  }
  const std::vector<Phase> phases = phases_of(with_faults(faults));
  REQUIRE(phases.size() == 4);
  CHECK(phases[1].name == "disturbed");
  CHECK(phases[1].end == Time::zero() + Duration::milliseconds(5150));
}

TEST_CASE("sparse histograms add up to the whole one") {
  std::minstd_rand random(7);
  Histogram whole;
  std::vector<stats::SparseHistogram> parts;
  std::vector<const stats::SparseHistogram*> all;
  parts.reserve(9);
  for (int i = 0; i < 9; ++i) {
    Histogram part;
    for (int k = 0; k < 50 * (i % 4); ++k) {  // some are empty
      const std::uint64_t value = std::uint64_t{random()} << (random() % 12);
      part.add(value);
      whole.add(value);
    }
    parts.emplace_back(part);
    all.push_back(&parts.back());
  }
  CHECK(stats::SparseHistogram::sum(all) == whole);
  CHECK(stats::SparseHistogram::sum({}) == Histogram());
}

/// Something of everything: what it is, the draws decide.
class RandomScenario {
 public:
  explicit RandomScenario(unsigned seed) : random_(seed) {}

  std::string text() {
    std::string t = "name = \"random\"\nduration = \"20s\"\nreplications = 1\n";
    t += fmt::format("seed = {}\n", random_());
    t += one({"", "warmup = \"2s\"\n", "warmup = \"3500ms\"\n"});
    t += one({"", "interval = \"700ms\"\n", "interval = \"7s\"\n"});
    t += one({"", "drain = false\n", "drain_limit = \"1s\"\n"});
    t += one({"", "recovery = { hold = \"2s\" }\n"});
    t += one({"", "[network]\nlatency = { distribution = \"exponential\", mean = \"5ms\" }\n",
              "[network]\nlatency = \"2ms\"\nrequest_loss = 0.02\nresponse_loss = 0.02\n"});
    t += "[service.api]\nservers = 3\n";
    t += one({"service_time = \"25ms\"\n",
              "service_time = { distribution = \"exponential\", mean = \"25ms\" }\n"});
    t += one({"", "queue = { capacity = 20 }\n",
              "queue = { capacity = 20, discipline = \"lifo\" }\noverflow = \"throttled\"\n",
              "queue = { discipline = \"processor-sharing\", capacity = 20 }\n",
              "queue = { capacity = 5 }\noverflow = \"drop\"\n"});
    t += one({"", "abandoned = \"remove\"\n", "abandoned = \"abort\"\n"});
    t += one({"", "throttle = { rate = 100, burst = 5 }\n"});
    t += one({"", "errors = { \"500\" = 0.05 }\n"});
    t += one(
        {"",
         "[service.db]\nservers = \"unlimited\"\nservice_time = \"5ms\"\n"
         "[service.api.calls.db]\nattempt_timeout = \"300ms\"\nretry = { mode = \"standard\" }\n"});
    t += one({"",
              "[fault.dip]\nservice = \"api\"\nstart = \"5s\"\nduration = \"2300ms\"\n"
              "capacity = 0.3\n",
              "[fault.dip]\nservice = \"api\"\nstart = \"4s\"\nduration = \"1s\"\n"
              "unreachable = true\n"});
    t +=
        one({"",
             "[fault.slow]\nservice = \"api\"\nstart = \"6s\"\nduration = \"3s\"\n"
             "speed = 0.1\n",
             "[fault.slow]\nservice = \"api\"\nstart = \"15s\"\nduration = \"9s\"\nspeed = 0.5\n"});
    t += one({"", "[phase.mine]\nstart = \"1s\"\nend = \"9999ms\"\n"});
    t += "[client.web]\ncalls = \"api\"\ncount = 20\nattempt_timeout = \"150ms\"\n";
    t += one({"arrivals = { process = \"poisson\", total_rate = 90 }\n",
              "arrivals = { process = \"constant\", total_rate = 50 }\n",
              "arrivals = { process = \"closed\", think_time = \"100ms\" }\n"});
    t += one({"", "deadline = \"400ms\"\n"});
    t +=
        one({"retry = { mode = \"standard\" }\n", "retry = { mode = \"adaptive\" }\n",
             "retry = { mode = \"legacy\", max_attempts = 6 }\n", "retry = { mode = \"none\" }\n"});
    t += one({"",
              "[client.jobs]\ncalls = \"api\"\ncount = 5\nattempt_timeout = \"1s\"\n"
              "arrivals = { process = \"poll\", rate = 0.3, job_time = \"800ms\" }\n"
              "retry = { mode = \"legacy\" }\n",
              "[client.other]\ncalls = \"api\"\ncount = 5\nattempt_timeout = \"1s\"\n"
              "arrivals = { process = \"poisson\", rate = 2 }\nretry = { mode = \"standard\" }\n"
              "[client.other.surge.rush]\nstart = \"7s\"\nduration = \"2s\"\nfactor = 5\n"});
    return t;
  }

 private:
  std::string one(const std::vector<std::string>& choices) {
    return choices[random_() % choices.size()];
  }
  std::minstd_rand random_;
};

using test::scenario_of;

/// The phases of the division, which follow each other through the window.
PhaseResult sum_of(const Scenario& scenario, const RunResult& run,
                   const std::vector<PhaseResult>& phases) {
  const std::vector<Phase> planned = phases_of(scenario);
  REQUIRE(phases.size() == planned.size());
  PhaseResult sum;
  Time end = run.window_start;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (planned[i].kind == PhaseKind::kNamed) {
      CHECK(phases[i].start == planned[i].start);
      CHECK(phases[i].end == planned[i].end);
      continue;
    }
    CHECK(phases[i].start == end);
    end = phases[i].end;
    sum.made.merge(phases[i].made);
    sum.flow.merge(phases[i].flow);
    sum.service.merge(phases[i].service);
    sum.rejected += phases[i].rejected;
    sum.latency.count += phases[i].latency.count;
    sum.latency.sum_ns += phases[i].latency.sum_ns;
    sum.latency_ok.count += phases[i].latency_ok.count;
  }
  CHECK(end == run.window_end);
  return sum;
}

void check_same(const ClientFlow& a, const ClientFlow& b) {
  CHECK(a.requests == b.requests);
  CHECK(a.attempts == b.attempts);
  CHECK(a.retries == b.retries);
  CHECK(a.successes == b.successes);
  CHECK(a.failures == b.failures);
  CHECK(a.throttled == b.throttled);
  CHECK(a.errors == b.errors);
  CHECK(a.timeouts == b.timeouts);
  CHECK(a.quota_denied == b.quota_denied);
  CHECK(a.arrivals == b.arrivals);
  // Whole nanoseconds: exact in a double.
  CHECK(a.limiter_waiting_ns == b.limiter_waiting_ns);
  CHECK(a.connection_waiting_ns == b.connection_waiting_ns);
  CHECK(a.in_backoff_ns == b.in_backoff_ns);
  CHECK(a.in_flight_ns == b.in_flight_ns);
}

void check_same(const ServiceFlow& a, const ServiceFlow& b) {
  CHECK(a.arrivals == b.arrivals);
  CHECK(a.admitted == b.admitted);
  CHECK(a.rejected == b.rejected);
  CHECK(a.throttled == b.throttled);
  CHECK(a.errors == b.errors);
  CHECK(a.completions == b.completions);
  CHECK(a.wasted == b.wasted);
  CHECK(a.queue_ns == b.queue_ns);
  CHECK(a.busy_ns == b.busy_ns);
  CHECK(a.in_system_ns == b.in_system_ns);
  CHECK(a.all_busy_ns == b.all_busy_ns);
}

TEST_CASE("whatever happens in the window is counted in one phase") {
  int divided = 0, with_warmup = 0, recovering = 0, ended_late = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const std::string text = RandomScenario(seed).text();
    INFO(text);
    const Scenario scenario = scenario_of(text);
    const RunResult run = simulate(scenario, 0);
    if (stats::triggers(scenario).empty()) continue;
    ++divided;
    ClientFlow all;
    for (std::size_t g = 0; g < run.clients.size(); ++g) {
      const ClientResult& client = run.clients[g];
      const PhaseResult sum = sum_of(scenario, run, client.phases);
      check_same(sum.flow, client.window);
      if (!scenario.clients[g].makes_calls()) all.merge(client.window);
      if (const auto own = own_service(scenario, g)) {
        check_same(sum.service, run.services[*own].window);
      }
      // Requests count where they were made, whenever they end. Calls of services that are made
      // behind the window, for attempts of the cohort, belong to no phase.
      if (scenario.clients[g].makes_calls()) {
        CHECK(sum.made.requests() <= client.requests);
        continue;
      }
      CHECK(sum.made.outcomes == client.outcomes);
      CHECK(sum.made.requests() == client.requests);
      CHECK(sum.made.attempts == client.attempts);
      CHECK(sum.made.attempts - sum.made.retries() ==
            (client.by_attempt.empty() ? 0 : client.by_attempt[0].sent));
      CHECK(sum.latency.count == client.latency_m.count);
      CHECK(sum.latency.sum_ns == Approx(static_cast<double>(client.latency_m.sum_ns)));
      CHECK(sum.latency_ok.count == client.latency_ok_m.count);
      with_warmup += run.window_start > Time::zero();
      ended_late += client.ended_within < sum.latency.count;
      for (const PhaseResult& phase : client.phases) {
        recovering += phase.end > phase.start && phase.flow.failures > 0;
      }
    }
    const PhaseResult sum = sum_of(scenario, run, run.all_phases);
    check_same(sum.flow, all);
    ServiceFlow services;
    for (const ServiceResult& service : run.services) services.merge(service.window);
    check_same(sum.service, services);
  }
  // That the test means something.
  CHECK(divided > 20);
  CHECK(with_warmup > 5);
  CHECK(recovering > 20);
  CHECK(ended_late > 5);
}

TEST_CASE("phases change nothing else") {
  for (unsigned seed = 101; seed <= 115; ++seed) {
    const std::string text = RandomScenario(seed).text();
    INFO(text);
    Scenario scenario = scenario_of(text);
    scenario.phases.clear();
    const RunResult plain = simulate(scenario, 0);
    scenario.phases = {{"odd", Time::from_nanoseconds(1'234'567'891), Duration::milliseconds(4321)},
                       {"rest", at_second(8), Duration::seconds(30)}};
    RunResult named = simulate(scenario, 0);
    // But for the two that come last.
    const std::size_t before = plain.all_phases.size();
    REQUIRE(named.all_phases.size() == before + 2);
    for (ClientResult& client : named.clients) client.phases.resize(before);
    named.all_phases.resize(before);
    CHECK(named == plain);
  }
}

/// 100 requests/s of 50 ms at ten servers, all but one of which are gone from 20 s to 30 s. What
/// waits then keeps the service from answering anybody in time for some seconds more.
Scenario dip() {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(100);
  s.services[0].servers = 10;
  s.services[0].service_time = Distribution::constant(test::ms(50));
  s.faults = {fault("dip", 20, 10)};
  s.faults[0].capacity = 0.1;
  ClientSpec& c = s.clients[0];
  c.count = 100;
  c.arrivals.process = ArrivalProcess::kConstant;
  c.arrivals.rate = 1;
  c.retry.mode = RetryMode::kNone;
  c.retry.max_attempts = 1;
  test::set_timeout(c, test::ms(500));
  return s;
}

TEST_CASE("a phase has the latencies of the requests made in it, to the last") {
  // The requests of each phase wait until long after it: all servers are gone for 10 s.
  Scenario s = dip();
  s.faults[0].capacity = 0;
  s.clients[0].timeouts = {};
  const RunResult run = simulate(s, 0);
  const std::vector<PhaseResult>& phases = run.clients[0].phases;
  CHECK(phases[1].made.requests() == 1000);
  CHECK(phases[1].made.successes() == 1000);
  CHECK(phases[1].flow.successes < 10);
  REQUIRE(phases[1].latency.count == 1000);
  // A request made x before the end waits for x, and then for those in front of it.
  CHECK(phases[1].latency.sum_ns / 1e9 / 1000 == Approx(5 + 5 * 0.5).epsilon(0.02));
  CHECK(phases[1].latency.quantiles_s[0] == Approx(7.5).epsilon(0.02));
  CHECK(phases[0].latency.sum_ns / 1e9 / 2000 == Approx(0.05).epsilon(0.1));
  CHECK(phases[2].made.requests() + phases[3].made.requests() == 7000);
}

TEST_CASE("a phase has the figures of a service only for a group that has it to itself") {
  Scenario s = dip();
  const auto values_of_service = [&](std::optional<std::size_t> client) {
    const RunResult run = simulate(s, 0);
    const auto measured = stats::measure_phase(s, run, client, run.clients[0].phases[0]);
    const auto& all = phase_metrics();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->name == "utilization") return measured.values[i].has_value();
    }
    FAIL("there is no utilization in phases");
    return false;
  };
  CHECK(values_of_service(0));
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "other";
  CHECK_FALSE(values_of_service(0));
  CHECK_FALSE(values_of_service(1));
}

TEST_CASE("shares of a phase are those of the bins that make it up") {
  const Scenario s = dip();
  const RunResult run = simulate(s, 0);
  const std::vector<Phase> phases = phases_of(s);
  const auto metric = [&](std::size_t phase, std::string_view name) {
    const auto measured = stats::measure_phase(s, run, 0, run.clients[0].phases[phase]);
    const auto& all = phase_metrics();
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const MetricInfo* m) { return m->name == name; });
    REQUIRE(place != all.end());
    return measured.values[static_cast<std::size_t>(place - all.begin())];
  };
  for (const std::size_t p : {std::size_t{0}, std::size_t{1}}) {
    const auto first = static_cast<std::size_t>(phases[p].start.count() / 1'000'000'000);
    const auto last = static_cast<std::size_t>(phases[p].end.count() / 1'000'000'000);
    ClientFlow flow;
    ServiceFlow service;
    std::uint64_t rejected = 0;
    for (std::size_t i = first; i < last; ++i) {
      flow.merge(run.clients[0].bins[i].flow);
      service.merge(run.services[0].bins[i]);
      rejected += run.services[0].bins[i].rejected;
    }
    check_same(run.clients[0].phases[p].flow, flow);
    check_same(run.clients[0].phases[p].service, service);
    CHECK(run.clients[0].phases[p].rejected == rejected);
    const auto seconds = static_cast<double>(last - first);
    const auto ended = static_cast<double>(flow.successes + flow.failures);
    REQUIRE(ended > 0);
    // Shares of requests are of those made in it.
    std::uint64_t made = 0, failed = 0;
    const Duration width = run.count_width;
    for (std::size_t i = 0; i < run.clients[0].counts.size(); ++i) {
      const Time at = Time::zero() + width * static_cast<std::int64_t>(i);
      if (at < phases[p].start || at >= phases[p].end) continue;
      made += run.clients[0].counts[i].requests;
      failed += run.clients[0].counts[i].failed;
    }
    CHECK(metric(p, "requests") == static_cast<double>(made));
    CHECK(metric(p, "failures") == static_cast<double>(failed));
    CHECK(metric(p, "success_rate") ==
          static_cast<double>(made - failed) / static_cast<double>(made));
    CHECK(metric(p, "goodput") == static_cast<double>(flow.successes) / seconds);
    CHECK(metric(p, "amplification") == 1.0);
    CHECK(metric(p, "attempts") == static_cast<double>(made));
    CHECK(metric(p, "timeouts") == static_cast<double>(flow.timeouts));
    CHECK(metric(p, "utilization") == service.busy_ns / (10 * seconds * 1e9));
    CHECK(metric(p, "queue_mean") == service.queue_ns / (seconds * 1e9));
  }
  CHECK(metric(0, "success_rate") == 1.0);
  CHECK(metric(1, "success_rate").value() < 0.2);
  CHECK(metric(0, "latency_ok_p50").value() == Approx(0.05));
  CHECK(metric(0, "latency_ok_p99").value() == Approx(0.05));
}

TEST_CASE("recovering ends with the recovery, or at most a sixteenth later") {
  const Scenario s = dip();
  const RunResult run = simulate(s, 0);
  const double recovery_s = stats::final_recovery(s, run, 0)->seconds.value();
  REQUIRE(recovery_s > 1);
  const PhaseResult& recovering = run.clients[0].phases[2];
  const PhaseResult& after = run.clients[0].phases[3];
  const double length_s = (recovering.end - recovering.start).in_seconds();
  CHECK(recovering.start == at_second(30));
  CHECK(length_s >= recovery_s);
  CHECK(length_s <= recovery_s * 1.0625 + run.count_width.in_seconds());
  CHECK(after.start == recovering.end);
  CHECK(after.end == at_second(100));
  CHECK(run.clients[0].phases == run.all_phases);
}

TEST_CASE("a run that is back at once has no recovering, one that never is no after") {
  Scenario s = dip();
  s.faults[0].capacity = 1;
  RunResult run = simulate(s, 0);
  CHECK(run.clients[0].phases[2].start == at_second(30));
  CHECK(run.clients[0].phases[2].end == at_second(30));
  CHECK(run.clients[0].phases[2].flow == ClientFlow());
  CHECK(run.clients[0].phases[3].start == at_second(30));
  s.faults[0].capacity = 0;
  s.services[0].servers = 5;  // what waits never gets less
  run = simulate(s, 0);
  CHECK(run.clients[0].phases[2].end == at_second(100));
  CHECK(run.clients[0].phases[3].start == at_second(100));
  CHECK(run.clients[0].phases[3].flow == ClientFlow());
}

TEST_CASE("every group recovers in its own time") {
  Scenario s = dip();
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "elsewhere";
  s.services.push_back(s.services[0]);
  s.services[1].name = "db";
  s.clients[1].service = 1;
  const RunResult run = simulate(s, 0);
  CHECK(run.clients[0].phases[2].end > at_second(31));
  CHECK(run.clients[1].phases[2].end == at_second(30));
  CHECK(run.all_phases[1].service.completions == run.clients[0].phases[1].service.completions +
                                                     run.clients[1].phases[1].service.completions);
}

}  // namespace
}  // namespace retrysim

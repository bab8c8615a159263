// Faults at random times and what they use of an error budget, against closed forms, and with
// quiet times skipped against without.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/risk.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "measure/analyse/recovery.hpp"
#include "unit/experiment/request_file.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace retrysim {
namespace {

// Nearly nothing fails unless the service is down, nothing waits, and no retry makes it worse.
const std::string kCalm = R"(name = "calm"
duration = "300s"
recovery = { hold = "5s" }
[service.api]
servers = "unlimited"
service_time = "1ms"
[client.web]
count = 5
arrivals = { process = "poisson", total_rate = 10 }
attempt_timeout = "100ms"
retry = { mode = "none" }
[slo.web]
share = 0.99
)";

class Asked {
 public:
  explicit Asked(const std::string& text) : file_(text) {}

  RiskStudy find(RiskRequest request) const {
    request.scenario = file_.scenario();
    if (request.event == "collapse") request.event = "slo.web.budget>1";
    const RiskPlan plan = plan_risk(request).value();
    return find_risks(plan, {.jobs = 2}).front();
  }

 private:
  test::RequestFile file_;
};

struct MeanOf {
  double mean = 0, error = 0;
};
template <class Figure>
MeanOf mean_of(const DrawnPeriods& drawn, Figure figure) {
  double sum = 0, squares = 0;
  for (const DrawnPeriod& p : drawn.periods) {
    const double x = figure(p);
    sum += x;
    squares += x * x;
  }
  const double n = static_cast<double>(drawn.periods.size());
  return {sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * sum / n) / (n - 1))};
}

TEST_CASE("availability and budget of an alternating renewal process", "[budget_risk]") {
  // Up 6 h, down 90 s on average, both exponential: in the long run down for 90 / 21,690 of the
  // time, and 1 / 21,690 s outages begin. Goodput is back at once, but is seen to be a second
  // later at the latest, in which nothing is lost.
  const Asked asked(kCalm + R"([fault.outage]
mtbf = "6h"
length = { distribution = "exponential", mean = "90s" }
unreachable = true
)");
  const Duration period = Duration::seconds(5 * 43'200);
  const RiskStudy study = asked.find({.period = period, .precision = 0.05, .effort = 20'000'000});
  REQUIRE(study.drawn);
  const DrawnPeriods& drawn = *study.drawn;
  REQUIRE(drawn.periods.size() >= 100);
  CHECK(drawn.requests_per_s == Approx(10).epsilon(0.02));
  CHECK(drawn.quiet_bad == 0);
  const double cycle_s = 6 * 3'600 + 90, period_s = period.in_seconds();
  // Beginning up, not in the long run: p(t) = f (1 - exp(-t / tau)), tau = up down / cycle.
  const double tau = 6 * 3'600 * 90 / cycle_s, f = 90 / cycle_s;
  const double down = f * (period_s - tau);
  const MeanOf faults = mean_of(drawn, [](auto& p) { return static_cast<double>(p.faults); });
  const MeanOf bad = mean_of(drawn, [](auto& p) { return p.bad; });
  const MeanOf used = mean_of(drawn, [](auto& p) { return p.budget_used; });
  const MeanOf lost = mean_of(drawn, [](auto& p) { return 1 - p.availability; });
  // Four and a half standard errors: a false alarm in 150,000 for each. The rate is measured to
  // less than one per cent; an outage that goes on beyond the period counts whole.
  const auto agrees = [](const MeanOf& m, double value) {
    return std::abs(m.mean - value) < 4.5 * m.error + 0.012 * value;
  };
  CHECK(agrees(faults, (period_s - down) / (6 * 3'600)));
  CHECK(agrees(bad, 10 * down));
  CHECK(agrees(lost, down / period_s));
  CHECK(agrees(used, 10 * down / (0.01 * 10 * 30 * 86'400)));
  for (const DrawnPeriod& p : drawn.periods) REQUIRE(p.lasting == 0);
}

TEST_CASE("quiet times that are skipped change nothing", "[budget_risk]") {
  // Clients retry with a quota, faults overlap, and the second often comes before the quota is
  // full again. The same draws with and without skipping: the differences are those of chance.
  const Asked asked(R"(name = "busy"
duration = "120s"
recovery = { hold = "5s" }
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "50ms" }
queue = { capacity = 40 }
[client.web]
count = 4
arrivals = { process = "poisson", total_rate = 24 }
attempt_timeout = "500ms"
retry = { mode = "standard" }
[fault.dip]
mtbf = "20min"
length = { distribution = "uniform", min = "5s", max = "40s" }
capacity = 0.5
[fault.slow]
with = "dip"
probability = 0.5
start = "10s"
duration = "20s"
speed = 0.4
[slo.web]
share = 0.99
latency = "1s"
)");
  RiskRequest request{
      .period = Duration::seconds(4 * 3'600), .precision = 2, .effort = 2'000'000'000};
  request.event = "slo.web.budget>0.0035";  // about every second period, so few are enough
  const RiskStudy skipped = asked.find(request);
  request.plain = true;
  const RiskStudy whole = asked.find(request);
  REQUIRE(skipped.drawn);
  REQUIRE(whole.drawn);
  const std::size_t n = skipped.drawn->periods.size();
  REQUIRE(whole.drawn->periods.size() == n);
  REQUIRE(n >= 32);
  CHECK(skipped.drawn->simulated_s < 0.7 * whole.drawn->simulated_s);
  double bad = 0, bad_squares = 0, all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const DrawnPeriod& a = skipped.drawn->periods[i];
    const DrawnPeriod& b = whole.drawn->periods[i];
    REQUIRE(a.faults == b.faults);
    bad += a.bad - b.bad;
    bad_squares += (a.bad - b.bad) * (a.bad - b.bad);
    all += b.bad;
  }
  const double count = static_cast<double>(n);
  // Paired, four and a half standard errors of the sum: one false alarm in 150,000.
  CHECK(std::abs(bad) < 4.5 * std::sqrt(bad_squares));
  CHECK(std::sqrt(bad_squares / count) < 0.3 * all / count);
}

// Faults overlap, most come before the quota is full again, and now and then the service tips over
// without one: it is busy to 60 %, and its clients retry with little patience.
const std::string kWeek = R"(name = "busy"
duration = "360s"
recovery = { hold = "15s", window = "3s" }
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "150ms" }
queue = { capacity = 40 }
[client.web]
count = 4
arrivals = { process = "poisson", total_rate = 8 }
attempt_timeout = "1.5s"
retry = { mode = "standard" }
[fault.dip]
mtbf = "1h"
length = { distribution = "uniform", min = "15s", max = "120s" }
capacity = 0.5
[fault.slow]
with = "dip"
probability = 0.5
start = "30s"
duration = "60s"
speed = 0.4
[slo.web]
share = 0.99
latency = "3s"
)";

TEST_CASE("weeks with quiet times skipped are like weeks without", "[.][weeks-nightly][slow]") {
  const Asked asked(kWeek);
  RiskRequest request{
      .period = Duration::seconds(7 * 86'400), .precision = 0.15, .effort = 20'000'000'000};
  request.event = "slo.web.budget>0.545";  // about every second week
  const RiskStudy skipped = asked.find(request);
  request.plain = true;
  const RiskStudy whole = asked.find(request);
  REQUIRE(skipped.drawn);
  REQUIRE(whole.drawn);
  const std::size_t n = std::min(skipped.drawn->periods.size(), whole.drawn->periods.size());
  REQUIRE(n >= 200);
  CHECK(skipped.drawn->simulated_s < 0.2 * whole.drawn->simulated_s);
  CHECK(skipped.drawn->quiet_bad > 0.001);
  double bad = 0, squares = 0, all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const DrawnPeriod &a = skipped.drawn->periods[i], &b = whole.drawn->periods[i];
    REQUIRE(a.faults == b.faults);
    CHECK(a.disturbed_s >= b.disturbed_s);
    bad += a.bad - b.bad;
    squares += (a.bad - b.bad) * (a.bad - b.bad);
    all += b.bad;
  }
  // Paired, three and a half standard errors: one false alarm in 2,000. The quiet share is one
  // number for all weeks, known from about two of them: eight per cent of what is bad, with a
  // standard error of about a tenth of that.
  WARN("relative difference " << bad / all << " +- " << std::sqrt(squares) / all);
  CHECK(std::sqrt(squares) < 0.005 * all);
  CHECK(std::abs(bad) < 3.5 * std::sqrt(squares) + 0.025 * all);
}

TEST_CASE("after a quiet time a fault is as after a skipped one", "[.][weeks-nightly][slow]") {
  // A fault that comes hours after others takes as long to recover from as one that comes a minute
  // after a warmed-up start, which is how it is simulated.
  const Scenario week = load_scenario_text(kWeek, "week.toml", {}, {}).loaded.value().scenario;
  const auto recovery_of = [&](std::vector<FaultSpec> faults, Duration before, std::uint32_t draw) {
    Scenario scenario = week;
    scenario.random_faults.clear();
    scenario.slos.clear();
    scenario.warmup = Duration::seconds(15);
    scenario.faults = std::move(faults);
    for (FaultSpec& f : scenario.faults) f.start = Time::zero() + (f.start - Time::zero() - before);
    const FaultSpec& last = scenario.faults.back();
    scenario.duration = last.start + last.duration + Duration::seconds(1'800) - Time::zero();
    const RunResult run = simulate(scenario, draw);
    return stats::final_recovery(scenario, run, std::nullopt).value().seconds.value_or(1'800);
  };
  double sum = 0, squares = 0, first_sum = 0, n = 0;
  for (std::uint32_t draw = 1; draw <= 1'600; ++draw) {
    const auto faults = draw_faults(week, draw, Duration::seconds(2 * 86'400));
    // The first one after six hours that is far from others.
    for (std::size_t i = 1; i + 1 < faults.size(); ++i) {
      const FaultSpec& f = faults[i];
      const Duration before = Duration::seconds(600), after = Duration::seconds(2'000);
      if (f.start < Time::zero() + Duration::seconds(6 * 3'600)) continue;
      if (f.start - (faults[i - 1].start + faults[i - 1].duration) < before) continue;
      if (faults[i + 1].start - (f.start + f.duration) < after) continue;
      const auto end = faults.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const double whole = recovery_of({faults.begin(), end}, {}, draw);
      const Duration quiet = f.start - Time::zero() - Duration::seconds(75);
      const double skipped = recovery_of({f}, quiet, draw + 10'000);
      sum += skipped - whole;
      squares += (skipped - whole) * (skipped - whole);
      first_sum += whole;
      n += 1;
      break;
    }
  }
  REQUIRE(n >= 1'200);
  // Three and a half standard errors: one false alarm in 2,000.
  WARN("recovery " << first_sum / n << " s, " << sum / n << " +- " << std::sqrt(squares) / n);
  CHECK(std::abs(sum) < 3.5 * std::sqrt(squares));
  CHECK(std::sqrt(squares) < 0.15 * first_sum);
}

TEST_CASE("few requests are no collapse", "[budget_risk]") {
  // One request in 50 s, half of which is lost in 52 faults a year of 20 minutes each; nothing
  // waits, and nothing is left of a fault when it ends. 30 days of 51,840 requests have 4.27
  // faults, in each of which 12 of 24 requests are lost: 51.3, of 51.8 that may be. Over 32 months
  // the mean is right within 15 with a probability of 0.9999.
  const Asked asked(R"(name = "few"
duration = "30d"
interval = "1h"
[service.web]
servers = 2
service_time = "100ms"
[client.c]
arrivals = { process = "poisson", total_rate = 0.02 }
attempt_timeout = "1s"
retry = { mode = "none" }
[fault.net]
per_year = 52
duration = "1200s"
request_loss = 0.5
[slo.avail]
share = 0.999
)");
  const RiskStudy study = asked.find({.event = "slo.avail.budget>1", .precision = 2});
  REQUIRE(study.drawn);
  CHECK(mean_of(*study.drawn, [](auto& p) { return static_cast<double>(p.lasting); }).mean == 0);
  CHECK(mean_of(*study.drawn, [](auto& p) { return p.bad; }).mean == Approx(51.3).margin(15));
  // Until 500 requests have come, at the rate that is seen.
  CHECK(study.drawn->followed.in_seconds() == Approx(25'000).epsilon(0.1));
}

TEST_CASE("a group that hardly comes is not waited for", "[budget_risk]") {
  // Ten requests a second, and a probe that takes 139 hours for 500 of its own.
  const std::string text = kCalm + R"([client.probe]
arrivals = { process = "poisson", total_rate = 0.001 }
attempt_timeout = "100ms"
retry = { mode = "none" }
[fault.outage]
mtbf = "6h"
length = "90s"
unreachable = true
)";
  const RiskStudy study = Asked(text).find({.period = Duration::seconds(86'400), .precision = 2});
  REQUIRE(study.drawn);
  CHECK(study.drawn->followed == Duration::seconds(3'600));
}

TEST_CASE("a collapse that lasts uses up the rest of the period, or until somebody ends it",
          "[budget_risk]") {
  // A first-in first-out queue without a bound: once all clients give up before they are served,
  // the servers work for nobody, and retries without a limit keep it so.
  const std::string text = R"(name = "lasting"
duration = "120s"
recovery = { hold = "5s" }
[service.api]
servers = 4
service_time = "400ms"
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 6 }
attempt_timeout = "2s"
retry = { mode = "legacy", max_attempts = 5 }
[fault.outage]
per_year = 17520
duration = "60s"
capacity = 0
[slo.web]
share = 0.99
)";
  const Asked asked(text);
  const Duration period = Duration::seconds(3 * 3'600);
  const RiskRequest request{.event = "slo.web.budget>0.1", .period = period, .precision = 2};
  const RiskStudy study = asked.find(request);
  RiskRequest repaired = request;
  repaired.repair = Duration::seconds(1'800);
  const RiskStudy shorter = asked.find(repaired);
  REQUIRE(study.drawn);
  const MeanOf lasting =
      mean_of(*study.drawn, [](auto& p) { return static_cast<double>(p.lasting); });
  CHECK(lasting.mean > 0.9);  // one is enough: what follows makes nothing worse
  CHECK(lasting.mean <= 1);
  CHECK(mean_of(*study.drawn, [](auto& p) { return p.availability; }).mean < 0.4);
  const MeanOf ended = mean_of(*shorter.drawn, [](auto& p) { return p.availability; });
  CHECK(ended.mean > 0.35);
  CHECK(mean_of(*shorter.drawn, [](auto& p) { return static_cast<double>(p.lasting); }).mean > 2);
  CHECK(study.probability);
  CHECK(study.probability->mean == 1);
}

TEST_CASE("chances and return levels follow from the periods", "[budget_risk]") {
  DrawnPeriods drawn;
  for (int i = 1; i <= 1000; ++i) {
    DrawnPeriod p;
    p.budget_used = i / 100.0;
    p.outage_s = i;
    drawn.periods.push_back(p);
  }
  const std::vector<ReturnLevel> levels = return_levels(drawn);
  REQUIRE(levels.size() == 6);  // 2, 5, 10, 20, 50, 100: ten periods beyond the last
  CHECK(levels.back().periods == 100);
  CHECK(levels.back().outage_s.mean == 991);
  CHECK(levels.back().outage_s.low == 984);
  CHECK(levels.back().outage_s.high == 997);
  CHECK(levels.front().budget_used.mean == Approx(5.01));
  CHECK(levels.front().outage_s.low == 469);
  CHECK(levels.front().outage_s.high == 532);
}

TEST_CASE("events of budgets are read, and what cannot be asked is refused", "[budget_risk]") {
  const std::string fault =
      "[fault.outage]\nper_year = 12\nduration = \"60s\"\nunreachable = true\n";
  const auto ask = [](const std::string& text, const RiskRequest& request) {
    return Asked(text).find(request);
  };
  const auto event = [](const char* text) {
    RiskRequest request;
    request.event = text;
    request.effort = 20'000'000;
    return request;
  };
  CHECK_THROWS_WITH(ask(kCalm + fault, event("slo.wbe.budget>1")),
                    Catch::Contains("did you mean \"web\""));
  CHECK_THROWS_WITH(ask(kCalm + fault, event("slo.web.budget>x")),
                    Catch::Contains("not a number from 0 to 1e9"));
  CHECK_THROWS_WITH(ask(kCalm + fault, event("slo.web.budget>-1")),
                    Catch::Contains("not a number from 0 to 1e9"));
  CHECK_THROWS_WITH(ask(kCalm + fault, event("slo.web.share>1")),
                    Catch::Contains("expected slo.NAME.budget>X"));
  CHECK_THROWS_WITH(ask(kCalm, event("slo.web.budget>1")),
                    Catch::Contains("no fault that could use the budget"));
  const std::string once =
      "[fault.outage]\nstart = \"20s\"\nduration = \"60s\"\nunreachable = true\n";
  CHECK_THROWS_WITH(ask(kCalm + once, event("slo.web.budget>1")),
                    Catch::Contains("how often does it in a year"));
  RiskRequest frequent = event("slo.web.budget>1");
  frequent.edits = {"slo.web.events_per_year.outage=12"};
  CHECK(ask(kCalm + once, frequent).drawn);
  frequent.edits = {"client.web.arrivals.process=\"on-off\"", "client.web.arrivals.on=\"1s\"",
                    "client.web.arrivals.off=\"1s\""};
  CHECK_THROWS_WITH(ask(kCalm + fault, frequent), Catch::Contains("bursts"));
  RiskRequest plain = event("slo.web.budget>1");
  plain.plain = true;
  CHECK_THROWS_WITH(ask(kCalm + fault, plain), Catch::Contains("no quiet stretch is skipped"));
}

}  // namespace
}  // namespace retrysim

// The figures in verdicts, whatever words are around them; and verdicts on replications of which
// only figures were kept are those on the replications.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "explain/group_case.hpp"
#include "explain/rules.hpp"
#include "scenario_of.hpp"
#include "unit/measure/count_bins.hpp"

namespace retrysim {
namespace {

/// Two layers: with an outage that the queue outlasts, errors, a quota, a limiter and a surge, so
/// that many rules have something to say.
constexpr const char* kFrontAndBack = R"(
name = "layers"
duration = "40s"
replications = 3
recovery = { hold = "5s" }
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "10ms" }
queue = { capacity = 100 }
[service.api.calls.db]
attempt_timeout = "100ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "10ms", cap = "20ms" } }
[service.db]
servers = 2
service_time = "4ms"
errors = { internal = 0.1 }
[fault.dip]
service = "db"
start = "10s"
duration = "3s"
speed = 0.2
[client.web]
calls = "api"
count = 40
arrivals = { process = "poisson", total_rate = 100 }
attempt_timeout = "200ms"
mutating = 0.5
retry = { mode = "standard" }
[client.batch]
calls = "api"
count = 4
arrivals = { process = "poisson", total_rate = 10 }
attempt_timeout = "200ms"
retry = { mode = "adaptive" }
)";

void check_same(const char* text, const std::vector<std::string>& edits) {
  const Scenario scenario = test::scenario_of(text, edits);
  const std::vector<RunResult> runs = run_replications(scenario);
  std::vector<std::vector<double>> figures;
  for (const RunResult& run : runs) figures.push_back(verdict_figures(scenario, run));
  const std::vector<Verdict> whole = verdicts(scenario, runs), kept = verdicts(scenario, figures);
  REQUIRE(!whole.empty());
  REQUIRE(whole.size() == kept.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CAPTURE(whole[i].rule);
    CHECK(whole[i].client == kept[i].client);
    CHECK(whole[i].rule == kept[i].rule);
    CHECK(whole[i].severity == kept[i].severity);
    CHECK(whole[i].sentence == kept[i].sentence);
    REQUIRE(whole[i].evidence.size() == kept[i].evidence.size());
    for (std::size_t k = 0; k < whole[i].evidence.size(); ++k) {
      CHECK(whole[i].evidence[k].name == kept[i].evidence[k].name);
      CHECK(whole[i].evidence[k].value == Approx(kept[i].evidence[k].value).epsilon(1e-9));
    }
  }
}

TEST_CASE("Figures of replications lead to the verdicts that the replications lead to") {
  check_same(kFrontAndBack, {});
  check_same(kFrontAndBack, {"client.web.retry.quota.capacity=10"});
  check_same(kFrontAndBack, {"fault.dip.speed=1"});
  check_same(kFrontAndBack, {"fault.dip.duration=28s", "client.*.retry.max_attempts=6"});
  check_same(kFrontAndBack, {"client.web.arrivals.total_rate=300"});
}

/// A group of 400 requests a second for three servers of 10 ms, replications of 20 s.
struct Group {
  Scenario scenario;

  Group() {
    scenario.services.resize(1);
    scenario.services[0].servers = 3;
    scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(10));
    scenario.clients.resize(1);
    scenario.duration = Duration::seconds(20);
  }

  void add_fault(std::int64_t start_s, std::int64_t end_s, double capacity, double speed) {
    FaultSpec fault;
    fault.name = "fault" + std::to_string(scenario.faults.size());
    fault.start = Time::zero() + Duration::seconds(start_s);
    fault.duration = Duration::seconds(end_s - start_s);
    fault.capacity = capacity;
    fault.speed = speed;
    scenario.faults.push_back(fault);
  }

  RunResult run(std::uint64_t requests_per_s) const {
    RunResult result;
    result.interval = Duration::seconds(1);
    result.window_end = Time::zero() + scenario.duration;
    result.services.resize(1);
    result.services[0].bins.resize(20);
    result.clients.resize(scenario.clients.size());
    result.clients[0].requests = result.clients[0].attempts = 20 * requests_per_s;
    result.clients[0].bins.resize(20);
    for (ClientBin& bin : result.clients[0].bins) {
      bin.flow.requests = bin.flow.attempts = bin.flow.arrivals = requests_per_s;
    }
    result.all_bins = result.clients[0].bins;
    for (const Phase& phase : phases_of(scenario)) {
      PhaseResult part;
      part.start = phase.start;
      part.end = phase.end;
      const double requests = static_cast<double>(requests_per_s) * phase_seconds(part);
      part.flow.requests = part.flow.attempts = static_cast<std::uint64_t>(requests);
      for (ClientResult& client : result.clients) client.phases.push_back(part);
    }
    return result;
  }

  static double phase_seconds(const PhaseResult& part) {
    return (part.end - part.start).in_seconds();
  }

  explain::GroupCase of(const std::vector<RunResult>& runs) const {
    return explain::group_case(scenario, runs, 0);
  }
};

/// The figure of a rule that applies to the group; -1 if the rule does not apply.
double figure(const explain::GroupCase& group, std::string_view rule, std::string_view name) {
  for (const auto rules : {explain::graph_rules(), explain::overload_rules()}) {
    for (const explain::Rule& r : rules) {
      if (r.about.id != rule) continue;
      const auto found = r.find(group);
      if (!found) return -1;
      for (const EvidenceFigure& f : found->evidence) {
        if (f.name == name) return f.value;
      }
    }
  }
  FAIL("there is no " << rule << " with " << name);
  return 0;
}

TEST_CASE_METHOD(Group,
                 "Servers that a load needs: more than the load, which they would never do") {
  const auto needed = [&](std::uint64_t requests_per_s) {
    return figure(of({run(requests_per_s)}), "overload-without-retries", "servers_needed");
  };
  CHECK(needed(299) == -1);  // three servers do 300
  CHECK(needed(305) == -1);  // of 6,000 requests 2.6 % more or fewer may come by chance
  CHECK(needed(310) == 4);
  CHECK(needed(399) == 4);
  CHECK(needed(400) == 5);  // four have no time to spare
  CHECK(needed(401) == 5);
  CHECK(needed(600) == 7);
}

TEST_CASE_METHOD(Group, "Retries above the capacity are told if they last two bins and a second") {
  const auto seconds_told = [&](double bin_s, double seconds) {
    explain::GroupCase group = of({run(100)});
    group.bin_s = bin_s;
    group.retries_above_capacity = {1, seconds, 1.2};
    return figure(group, "retries-above-capacity", "retries_above_capacity_s");
  };
  CHECK(seconds_told(2, 2) == -1);
  CHECK(seconds_told(2, 4) == 4);
  CHECK(seconds_told(1, 1) == -1);
  CHECK(seconds_told(1, 2) == 2);
  CHECK(seconds_told(0.1, 0.9) == -1);
  CHECK(seconds_told(0.1, 1) == 1);
}

TEST_CASE_METHOD(Group,
                 "Of faults at the same time each leaves its share of what the others leave") {
  // Of twenty servers each of these shares is a whole number.
  scenario.services[0].servers = 20;
  const auto left = [&] { return of({}).capacity.left; };
  CHECK(left() == 1);
  add_fault(2, 10, 1, 0.5);
  CHECK(left() == Approx(0.5));
  add_fault(5, 7, 0.4, 1);
  CHECK(left() == Approx(0.2));
  add_fault(6, 7, 0.5, 0.5);
  CHECK(left() == Approx(0.05));
  scenario.faults[2].start = Time::zero() + Duration::seconds(10);  // when the first one ends
  CHECK(left() == Approx(0.2));
  scenario.faults[2].start = Time::zero() + Duration::seconds(9);
  CHECK(left() == Approx(0.125));
  scenario.services.resize(2);
  scenario.faults[0].service = 1;
  CHECK(left() == Approx(0.25));
  // A stretch without any capacity says nothing of the others.
  scenario.faults[1].unreachable = true;
  CHECK(left() == Approx(0.25));
  scenario.faults.resize(2);
  CHECK(left() == 1);
}

TEST_CASE_METHOD(Group, "What a fault leaves of the servers is a whole number of them") {
  add_fault(5, 10, 0.4, 1);  // 1.2 of three
  CHECK(of({}).capacity.left == Approx(1.0 / 3));
  scenario.faults[0].capacity = 0.5;  // halves are rounded up
  CHECK(of({}).capacity.left == Approx(2.0 / 3));
  add_fault(5, 10, 0.5, 0.5);  // of both 0.75 servers are left, not half of two
  CHECK(of({}).capacity.left == Approx(1.0 / 6));
}

TEST_CASE_METHOD(Group, "The load in a disturbance is that of the capacity that is left") {
  scenario.services[0].servers = 4;
  add_fault(5, 10, 0.5, 1);
  add_fault(5, 10, 1, 0.5);
  // 320 a second are 0.8 of 400, and 3.2 times 100.
  const explain::GroupCase group = of({run(320)});
  CHECK(figure(group, "overload-by-disturbance", "new_load_ratio") == Approx(3.2));
  CHECK(figure(group, "overload-by-disturbance", "capacity_left_share") == Approx(0.25));
}

TEST_CASE_METHOD(Group, "The longest queue of replications is that of the worst of them") {
  std::vector<RunResult> runs = {run(100), run(100), run(100)};
  // 10 ms each for three servers: 6 s, 4.5 s, 0.3 s of work, in whatever order.
  runs[0].services[0].bins[7].queue_max = 1800;
  runs[1].services[0].bins[3].queue_max = 1350;
  runs[2].services[0].bins[19].queue_max = 90;
  for (int order = 0; order < 3; ++order) {
    std::rotate(runs.begin(), runs.begin() + 1, runs.end());
    CHECK(of(runs).capacity.largest_queue_s == Approx(6));
    std::vector<std::vector<double>> figures;
    explain::CaseFacts facts(scenario);
    for (const RunResult& r : runs) figures.push_back(explain::figures_of(facts, r, 0));
    const std::vector<std::span<const double>> kept(figures.begin(), figures.end());
    CHECK(explain::group_case(facts, kept, 0).capacity.largest_queue_s == Approx(6));
  }
}

TEST_CASE_METHOD(Group, "Patience is the timeout without the network both ways and the service") {
  scenario.network.latency = Distribution::constant(Duration::milliseconds(100));
  CHECK(of({}).capacity.patience_s == std::numeric_limits<double>::infinity());
  scenario.clients[0].timeouts.has_attempt = true;
  scenario.clients[0].timeouts.attempt = Distribution::constant(Duration::seconds(1));
  CHECK(of({}).capacity.timeout_s == 1);
  CHECK(of({}).capacity.patience_s == Approx(0.79));
}

TEST_CASE_METHOD(Group, "Each bin is before, in or after the disturbances") {
  // Bins of a second: those that a fault touches are in it, those that begin after its end behind.
  add_fault(5, 8, 0.5, 1);
  scenario.faults[0].start = Time::zero() + Duration::milliseconds(5500);
  scenario.faults[0].duration = Duration::seconds(2);
  const explain::GroupCase c = of({run(10)});
  CHECK(c.all.seconds == 20);
  CHECK(c.before.seconds == 5);
  CHECK(c.during.seconds == 3);
  CHECK(c.after.seconds == 12);
  CHECK(c.trouble.seconds == 15);
  CHECK(c.before.group.requests == 50);
  CHECK(c.before.first_work_s == Approx(0.5));
  // A second one 4 s later: what is between is neither, and the last end counts.
  add_fault(12, 14, 0.5, 1);
  const explain::GroupCase two = of({run(10)});
  CHECK(two.before.seconds == 5);
  CHECK(two.during.seconds == 5);
  CHECK(two.after.seconds == 6);
  CHECK(two.disturbances.first_start_s == 5.5);
  CHECK(two.disturbances.last_end_s == 14);
  // One inside another ends with that.
  scenario.faults[1].start = Time::zero() + Duration::seconds(6);
  scenario.faults[1].duration = Duration::milliseconds(500);
  CHECK(of({run(10)}).disturbances.last_end_s == 7.5);
  CHECK(of({run(10)}).during.seconds == 3);
  // Of two replications there is twice as much.
  CHECK(of({run(10), run(10)}).during.seconds == 6);
}

TEST_CASE_METHOD(Group, "The backlog is that of the second half, from its first bin on") {
  // Of 100 requests a second 90 are answered.
  RunResult one = run(100);
  for (ClientBin& bin : one.all_bins) bin.flow.successes = 90;
  one = with_counts(one);
  const auto backlog = [&] { return of({one}).backlog; };
  CHECK(backlog().made == 1000);
  CHECK(backlog().start == 0);
  CHECK(backlog().middle == 100);
  CHECK(backlog().end == 200);
  CHECK(backlog().first_most == 100);
  CHECK(backlog().last_most == 200);
  one.window_start = Time::zero() + Duration::seconds(4);
  CHECK(backlog().made == 800);
  CHECK(backlog().start == 40);
  CHECK(backlog().middle == 120);
  // Until the first disturbance; of an odd number of bins the one in the middle is included.
  add_fault(9, 12, 0.5, 1);
  CHECK(backlog().made == 300);
  CHECK(backlog().middle == 60);
  CHECK(backlog().end == 90);
  CHECK(of({one, one}).backlog.made == 600);
}

TEST_CASE_METHOD(Group,
                 "The work that a service is asked for is that of all groups, by their share") {
  // The second group sends every other request to the service, and asks half as much of it.
  scenario.services.resize(2);
  scenario.clients.resize(2);
  scenario.clients[1].more_services = {1};
  RunResult one = run(100);
  one.services.resize(2);
  one.clients[1] = one.clients[0];
  for (ClientBin& bin : one.clients[1].bins) {
    bin.flow.attempts = 130;
    bin.flow.retries = 30;
  }
  const explain::GroupCase c = of({one});
  CHECK(c.all.first_work_s == Approx(20 * 0.01 * (100 + 50)));
  CHECK(c.all.retry_work_s == Approx(20 * 0.01 * 15));
}

TEST_CASE_METHOD(Group, "A quota is dry from the first bin on from which it refuses a tenth") {
  add_fault(5, 10, 0.5, 1);
  scenario.clients[0].retry.quota.enabled = true;
  RunResult one = run(100);
  for (ClientBin& bin : one.clients[0].bins) bin.flow.retries = 45;
  const auto deny = [&](std::size_t first, std::size_t last, std::uint64_t denied) {
    for (std::size_t bin = first; bin < last; ++bin) {
      one.clients[0].bins[bin].flow.quota_denied = denied;
    }
  };
  deny(6, 20, 4);  // 4 of 49
  CHECK(of({one}).quota_dry.runs == 0);
  deny(3, 4, 20);  // one bin is not enough
  CHECK(of({one}).quota_dry.runs == 0);
  deny(7, 20, 5);  // exactly a tenth of 50
  deny(3, 4, 0);
  CHECK(of({one}).quota_dry.runs == 1);
  CHECK(of({one}).quota_dry.seconds == 7);
  CHECK(of({one}).quota_dry.ratio == Approx(0.1));
  deny(19, 20, 50);  // not from the last bin on, in which it refuses half of them
  CHECK(of({one}).quota_dry.seconds == 7);
  // Most of them is said rather than some of them.
  deny(11, 20, 45);  // exactly half
  CHECK(of({one}).quota_dry.seconds == 11);
  CHECK(of({one}).quota_dry.ratio == Approx(0.5));
  // The mean of the replications that have it.
  RunResult other = run(100);
  std::swap(one, other);
  deny(13, 20, 40);
  CHECK(of({one, other, run(100)}).quota_dry.runs == 2);
  CHECK(of({one, other, run(100)}).quota_dry.seconds == 12);
  CHECK(of({one, other, run(100)}).quota_dry.times == std::vector<double>{11, 13});
  CHECK_FALSE(of({one, other, run(100), run(100)}).quota_dry.in_most_of(4));  // half is not most
  CHECK(of({one, other, run(100)}).quota_dry.in_most_of(3));
}

TEST_CASE_METHOD(Group, "Retries are above the capacity from exactly the capacity on") {
  // Three servers of 10 ms do 300 a second.
  RunResult one = run(400);
  const auto retry = [&](std::size_t bin, std::uint64_t retries) {
    one.clients[0].bins[bin].flow.retries = retries;
  };
  retry(2, 299);
  CHECK(of({one}).retries_above_capacity.runs == 0);
  retry(3, 300);
  retry(4, 390);
  CHECK(of({one}).retries_above_capacity.seconds == 2);
  CHECK(of({one}).retries_above_capacity.ratio == Approx(1.15));
}

TEST_CASE_METHOD(Group, "The retries of layers multiply along the longest chain") {
  scenario.services.resize(4);
  scenario.services[2].name = "deep";
  scenario.clients.resize(4);
  scenario.calls = {{0, 1}, {1, 2}, {0, 3}};
  for (const CallSpec& call : scenario.calls) {
    ClientSpec& client = scenario.clients[call.client];
    client.arrivals.process = ArrivalProcess::kCalls;
    client.service = call.client;
  }
  explain::GroupCase c = of({});
  c.total.requests = 10;
  c.total.attempts = 15;
  c.volumes = {{10, 15}, {15, 30}, {30, 90}, {15, 70}};
  // 1.5 x 2 x 3 at the third layer, 1.5 x 4.67 beside it.
  CHECK(figure(c, "layers-multiply", "attempts_per_request_ratio") == Approx(9));
  CHECK(figure(c, "layers-multiply", "layers") == 3);
  // Without the retries of the third layer, if each of the others made all of its three attempts,
  // and each of those all of its calls.
  for (std::uint32_t i = 0; i < 4; ++i) scenario.clients[i].retry.max_attempts = 2 + i;
  explain::GroupCase fewer = of({});
  fewer.total = c.total;
  fewer.volumes = {{10, 15}, {12, 30}, {24, 90}, {15, 15}};  // 0.8 calls for each attempt
  CHECK(figure(fewer, "layers-multiply", "attempts_per_request_ratio") == Approx(9));
  CHECK(figure(fewer, "layers-multiply", "without_inner_retries_ratio") == 2 * 3);
  c.volumes[2] = {30, 30};
  CHECK(figure(c, "layers-multiply", "attempts_per_request_ratio") == Approx(7));
  CHECK(figure(c, "layers-multiply", "layers") == 2);
}

TEST_CASE_METHOD(Group, "What the drain adds is the successes after the load has stopped") {
  explain::GroupCase c = of({run(100)});
  c.total.requests = 1000;
  c.total.outcomes[static_cast<std::size_t>(Outcome::kSuccess)] = 950;
  c.total.successes_within = 700;
  c.total.ended_within = 800;
  CHECK(figure(c, "drain-hides-overload", "success_within_duration_share") == Approx(0.7));
  CHECK(figure(c, "drain-hides-overload", "success_share") == Approx(0.95));
  c.total.successes_within = 945;
  CHECK(figure(c, "drain-hides-overload", "success_share") == -1);
}

TEST_CASE_METHOD(Group, "A quota that ran dry behind the fault is told from its end") {
  add_fault(5, 10, 0.5, 1);
  explain::GroupCase c = of({run(100)});
  c.runs = c.recoveries.gone = 1;
  const auto told = [&](double seconds) -> explain::Finding {
    c.quota_dry = {1, seconds, 0.7, {seconds}};
    for (const explain::Rule& r : explain::client_rules()) {
      if (r.about.id == "quota-ran-dry-in-vain") return r.find(c).value();
    }
    return {};
  };
  const auto starts = [](const std::string& words) { return Catch::StartsWith(words); };
  CHECK_THAT(told(0).sentence.text(),
             starts("at the start, 5 s before the fault, the retry quota ran out"));
  CHECK_THAT(told(2).sentence.text(),
             starts("2 s into the run, 3 s before the fault, the retry quota"));
  CHECK_THAT(told(5).sentence.text(), starts("at the start of the fault the"));
  CHECK_THAT(told(9).sentence.text(), starts("4 s into the fault the"));
  CHECK_THAT(told(10).sentence.text(), starts("at the end of the fault the"));
  CHECK_THAT(told(13).sentence.text(), starts("3 s after the fault the"));
  CHECK(told(13).evidence.at(0).value == 13);
}

TEST_CASE_METHOD(Group,
                 "Goodput that is back after exactly as long as the fault took is not late") {
  const auto answer = [&](double mean_s) -> std::string {
    add_fault(5, 8, 0.5, 1);
    explain::GroupCase c = of({});
    scenario.faults.clear();
    c.runs = 2;
    c.total.requests = 300;
    c.made.before = c.made.after = {100, 100, 100, 1};
    c.made.during = {100, 0, 100, 100};
    c.recoveries.back = 2;
    c.recoveries.mean_s = mean_s;
    c.recoveries.least_s = mean_s - 1;
    c.recoveries.most_s = mean_s + 1;
    c.recoveries.late_s = {mean_s - 1, mean_s + 1};
    c.recoveries.watched_s = 12;
    for (const explain::Rule& r : explain::answer_rules()) {
      if (r.find(c)) return std::string(r.about.id);
    }
    return "";
  };
  CHECK(answer(3) == "recovers");
  CHECK(answer(3.001) == "recovers-late");
}

TEST_CASE_METHOD(Group, "Requests succeed as often as before within noise only") {
  add_fault(5, 8, 0.5, 1);
  explain::GroupCase c = of({run(100)});
  c.recoveries = {};
  c.recoveries.back = 3;
  c.recoveries.watched_s = 12;
  c.during.group.successes = 3500;  // most of them are answered while it is on
  const auto answer = [&](double succeeded, double latency_s) -> std::string {
    c.made.before = c.made.after = {12000, 12000, 12000, 12000 * 0.08, ""};
    c.made.during = {4000, succeeded, 4000, 4000 * latency_s, ""};
    for (const explain::Rule& r : explain::answer_rules()) {
      if (const auto found = r.find(c)) return found->sentence.text();
    }
    return "";
  };
  // Three standard errors of a difference of that many requests are about 2 of 4000.
  CHECK(answer(3999, 0.46) ==
        "only slower: requests made during the fault succeed as often as before, but take 0.46 s "
        "on average instead of 80 ms");
  CHECK(answer(3964, 0.46) ==
        "slower: 99.1 % of the requests made during the fault succeed instead of 100 %; they "
        "take 0.46 s on average instead of 80 ms");
  CHECK(answer(3999, 0.08) ==
        "unaffected: 99.98 % of the requests made during the fault succeed, as before");
  CHECK(answer(3964, 0.08) ==
        "hardly affected: 99.1 % of the requests made during the fault succeed instead of 100 %");
}

TEST_CASE_METHOD(Group, "What is wrong although requests succeed counts from a limit on") {
  const auto steady = [&] {
    explain::GroupCase c = of({run(100)});
    c.total.outcomes[static_cast<std::size_t>(Outcome::kSuccess)] = c.total.requests;  // 2,000
    c.total.latency_m.count = c.total.requests;
    c.total.latency_m.sum_ns = static_cast<WideNanoseconds>(c.total.requests) * 100'000'000;
    return c;
  };
  const auto severity = [](const explain::GroupCase& c) {
    Severity found = Severity::kBad;
    REQUIRE(explain::answer_of(c, found) != nullptr);
    return found;
  };
  CHECK(severity(steady()) == Severity::kGood);
  SECTION("one in a thousand that takes effect twice is bad") {
    explain::GroupCase c = steady();
    c.total.mutating = 10000;
    c.total.duplicated = 9;
    CHECK(severity(c) == Severity::kGood);
    c.total.duplicated = 10;
    CHECK(severity(c) == Severity::kBad);
  }
  SECTION("a quarter of the latency that is waiting for a connection, bad from a second on") {
    explain::GroupCase c = steady();
    const auto waits = [&](double of_100_ms) {
      c.total.connection_wait_ns =
          static_cast<WideNanoseconds>(of_100_ms * 1e8 * static_cast<double>(c.total.requests));
      return severity(c);
    };
    CHECK(waits(0.24) == Severity::kGood);
    CHECK(waits(0.26) == Severity::kInfo);
    c.total.latency_m.sum_ns *= 20;  // 2 s
    CHECK(waits(9.9) == Severity::kInfo);
    CHECK(waits(10.1) == Severity::kBad);
  }
  SECTION("one in a hundred answers that is degraded") {
    explain::GroupCase c = steady();
    c.total.degradable = 2000;
    c.total.degraded = 19;
    CHECK(severity(c) == Severity::kGood);
    c.total.degraded = 20;
    CHECK(severity(c) == Severity::kInfo);
  }
  SECTION("half as many attempts again as requests") {
    explain::GroupCase c = steady();
    c.total.attempts = 2999;
    CHECK(severity(c) == Severity::kGood);
    c.total.attempts = 3000;
    CHECK(severity(c) == Severity::kInfo);
    c.total.attempts = 9999;
    CHECK(severity(c) == Severity::kInfo);
    c.total.attempts = 10000;
    CHECK(severity(c) == Severity::kBad);
  }
  SECTION("a storm that goes on, of a group that has a part in it") {
    explain::GroupCase c = steady();
    c.lasting_storms = 1;
    c.total.attempts = 2099;
    CHECK(severity(c) == Severity::kGood);
    c.total.attempts = 2100;
    CHECK(severity(c) == Severity::kBad);
  }
}

TEST_CASE("Figures of another scenario are refused") {
  const Scenario scenario = test::scenario_of(kFrontAndBack, {"duration=5s"});
  std::vector<std::vector<double>> figures = {
      verdict_figures(scenario, run_replications(scenario).front())};
  figures.front().pop_back();
  CHECK_THROWS_AS(verdicts(scenario, figures), std::invalid_argument);
  CHECK(verdicts(scenario, std::vector<std::vector<double>>{}).empty());
}

}  // namespace
}  // namespace retrysim

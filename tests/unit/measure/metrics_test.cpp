// Each metric's formula on counts filled in by hand; the comments work out the expected number.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <string>

using namespace retrysim;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kSecondF = 1e9;

std::uint64_t& outcome(ClientResult& c, Outcome o) {
  return c.outcomes[static_cast<std::size_t>(o)];
}
std::uint64_t& result(ClientResult& c, AttemptResult r) {
  return c.results[static_cast<std::size_t>(r)];
}

/// 100 requests in a window of 50 s; 90 succeed.
ClientResult web_result() {
  ClientResult c;
  c.requests = 100;
  outcome(c, Outcome::kSuccess) = 90;
  outcome(c, Outcome::kMaxAttemptsExceeded) = 1;
  outcome(c, Outcome::kQuotaExceeded) = 3;
  outcome(c, Outcome::kNotRetryable) = 1;
  outcome(c, Outcome::kNoSendToken) = 1;
  outcome(c, Outcome::kDeadlineExceeded) = 2;
  outcome(c, Outcome::kUnfinished) = 2;
  c.attempts = 150;
  c.attempts_squared = 300;
  result(c, AttemptResult::kSuccess) = 90;
  result(c, AttemptResult::kThrottled) = 15;
  result(c, AttemptResult::kError) = 30;
  result(c, AttemptResult::kTimeout) = 12;
  result(c, AttemptResult::kAbandoned) = 3;
  c.rejected = 24;
  c.dropped = 6;
  c.gave_up = 18;
  c.late = 9;
  c.executed = 99;
  c.waited = 40;
  c.admitted = 160;
  c.send_wait_ns = 20 * kSecond;
  c.by_attempt.resize(2);
  c.by_attempt[0].sent = 98;  // two requests never sent anything
  c.by_attempt[1].sent = 52;
  c.window.requests = 100;
  c.window.arrivals = 140;
  c.window.successes = 85;
  c.window.in_backoff_ns = 25 * kSecondF;
  c.quota_mean = 400;
  c.has_quota = true;
  return c;
}

struct Fixture {
  Scenario scenario;
  RunResult run;

  Fixture() {
    scenario.duration = Duration::seconds(60);
    scenario.warmup = Duration::seconds(10);
    scenario.services.resize(1);
    scenario.services[0].name = "api";
    scenario.clients.resize(1);
    scenario.clients[0].name = "web";
    scenario.clients[0].count = 3;
    run.window_start = Time::zero() + scenario.warmup;
    run.window_end = Time::zero() + scenario.duration;
    run.interval = Duration::seconds(1);
    run.clients.push_back(web_result());
    ServiceResult service;
    service.nominal_servers = 4;
    service.window.completions = 120;
    service.window.queue_ns = 100 * kSecondF;
    service.window.busy_ns = 150 * kSecondF;
    service.window.in_system_ns = 250 * kSecondF;
    service.window.in_system_squared_ns = 2000 * kSecondF;
    service.window.all_busy_ns = 10 * kSecondF;
    service.window.queue_max = 17;
    service.wasted_after_give_up_ns = 20 * kSecondF;
    service.wasted_full_ns = 30 * kSecondF;
    run.services.push_back(service);
  }

  std::optional<double> value(std::string_view name, std::optional<std::size_t> client = {}) const {
    const MetricInfo* metric = find_metric(name);
    REQUIRE(metric != nullptr);
    return metric_value(*metric, scenario, run, client);
  }
  double number(std::string_view name, std::optional<std::size_t> client = {}) const {
    CAPTURE(std::string(name));
    const auto v = value(name, client);
    REQUIRE(v.has_value());
    return *v;
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "counts of the cohort") {
  CHECK(number("requests") == 100);
  CHECK(number("attempts") == 150);
  CHECK(number("retries") == 52);  // 150 - 98 first attempts; not 150 - 100
  CHECK(number("successes") == 90);
  CHECK(number("failures") == 8);  // 1 + 3 + 1 + 1 + 2; the 2 unfinished are apart
  CHECK(number("unfinished") == 2);
  CHECK(number("executed") == 99);
}

TEST_CASE_METHOD(Fixture, "shares of requests and attempts") {
  CHECK(number("success_rate") == 0.9);
  CHECK(number("attempt_success_rate") == 0.6);        // 90 / 150
  CHECK(number("amplification") == 1.5);               // 150 / 100
  CHECK(number("throttled_share") == 0.1);             // 15 / 150
  CHECK(number("error_share") == 0.2);                 // 30 / 150
  CHECK(number("timeout_share") == 0.08);              // 12 / 150
  CHECK(number("rejected_share") == 0.16);             // 24 / 150
  CHECK(number("dropped_share") == 0.04);              // 6 / 150
  CHECK(number("abandoned_share") == 0.12);            // 18 / 150
  CHECK(number("late_share") == 0.06);                 // 9 / 150
  CHECK(number("quota_denied_share") == 0.03);         // 3 / 100
  CHECK(number("no_send_token_share") == 0.01);        // 1 / 100
  CHECK(number("deadline_exceeded_share") == 0.02);    // 2 / 100
  CHECK(number("wait_probability") == 0.25);           // 40 / 160
  CHECK(number("send_wait_mean") == 0.2);              // 20 s / 100
  CHECK(number("attempts_variance") == Approx(0.75));  // 300/100 - 1.5^2
}

TEST_CASE_METHOD(Fixture, "rates and levels divide by the window, not by the duration") {
  CHECK(number("offered_load") == 2);    // 100 / 50 s
  CHECK(number("attempt_rate") == 2.8);  // 140 / 50 s
  CHECK(number("goodput") == 1.7);       // 85 / 50 s, not the 90 of the cohort
  CHECK(number("throughput") == 2.4);    // 120 / 50 s
  CHECK(number("in_backoff_mean") == 0.5);
  CHECK(number("queue_mean") == 2);
  CHECK(number("queue_max") == 17);
  CHECK(number("in_system_mean") == 5);
  CHECK(number("in_system_variance") == 15);  // 2000/50 - 5^2
  CHECK(number("all_busy_share") == 0.2);
}

TEST_CASE_METHOD(Fixture, "capacity shares refer to the nominal servers") {
  CHECK(number("utilization") == 0.75);                // 150 / (4 * 50)
  CHECK(number("wasted_share") == 0.15);               // 30 / 200
  CHECK(number("wasted_after_give_up_share") == 0.1);  // 20 / 200
  CHECK(number("wasted_s") == 30);
}

TEST_CASE_METHOD(Fixture, "capacity shares count servers beyond the nominal ones") {
  run.services[0].window.extra_servers_ns = 100e9;
  CHECK(number("utilization") == 0.5);   // 150 / (200 + 100)
  CHECK(number("wasted_share") == 0.1);  // 30 / 300
  CHECK(number("wasted_after_give_up_share") == 20. / 300);
}

TEST_CASE_METHOD(Fixture, "an unlimited service has no utilization but still wastes time") {
  run.services[0].unlimited = true;
  for (const char* name :
       {"utilization", "wasted_share", "wasted_after_give_up_share", "all_busy_share"}) {
    CAPTURE(name);
    CHECK(!value(name));
  }
  CHECK(number("wasted_s") == 30);
  CHECK(number("queue_mean") == 2);
}

TEST_CASE_METHOD(Fixture, "several services add up where that means something") {
  ServiceResult second = run.services[0];
  second.nominal_servers = 1;
  second.window.busy_ns = 50 * kSecondF;
  second.window.queue_max = 5;
  run.services.push_back(second);
  CHECK(number("utilization") == 0.8);  // (150 + 50) / (5 * 50)
  CHECK(number("queue_mean") == 4);
  CHECK(number("queue_max") == 17);
  CHECK(number("throughput") == 4.8);
  CHECK(!value("in_system_variance"));
  CHECK(!value("all_busy_share"));
}

TEST_CASE_METHOD(Fixture, "a group that shares its service has no service metrics") {
  scenario.clients.resize(2);
  run.clients.push_back(run.clients[0]);
  CHECK(!own_service(scenario, 0));
  for (const char* name : {"throughput", "utilization", "queue_mean", "queue_max", "in_system_mean",
                           "in_system_variance", "all_busy_share", "wasted_share",
                           "wasted_after_give_up_share", "wasted_s", "completion_time_s"}) {
    CAPTURE(name);
    CHECK(!value(name, 0));
    CHECK(!value(name, 1));
  }
  CHECK(number("goodput", 0) == 1.7);
}

TEST_CASE_METHOD(Fixture, "a group that alone calls a service has the metrics of that one") {
  scenario.services.resize(2);
  scenario.clients.resize(3);
  scenario.clients[0].service = 1;
  run.clients.resize(3);
  ServiceResult second = run.services[0];
  second.nominal_servers = 1;
  second.window.busy_ns = 45 * kSecondF;
  second.window.completions = 200;
  second.window.queue_max = 5;
  second.wasted_full_ns = 10 * kSecondF;
  second.wasted_after_give_up_ns = 5 * kSecondF;
  run.services.push_back(second);
  CHECK(own_service(scenario, 0) == 1);
  CHECK(number("utilization", 0) == 0.9);  // 45 / (1 * 50)
  CHECK(number("throughput", 0) == 4);
  CHECK(number("queue_max", 0) == 5);
  CHECK(number("wasted_share", 0) == 0.2);
  CHECK(number("wasted_after_give_up_share", 0) == 0.1);
  CHECK(number("wasted_s", 0) == 10);
  // What does not add up over services exists for the one of the group.
  CHECK(number("all_busy_share", 0) == 0.2);
  CHECK(number("in_system_variance", 0) == 15);  // 2000 / 50 - 5^2
  CHECK(!value("all_busy_share"));
  CHECK(!value("completion_time_s", 0));
  // The other two groups share the first service.
  CHECK(!value("utilization", 1));
  CHECK(!value("utilization", 2));
  run.services[1].unlimited = true;
  CHECK(!value("utilization", 0));
  CHECK(number("throughput", 0) == 4);
}

TEST_CASE_METHOD(Fixture, "metrics of nothing do not exist") {
  run.clients[0] = ClientResult();
  for (const char* name : {"success_rate",        "attempt_success_rate",
                           "amplification",       "throttled_share",
                           "quota_mean",          "wait_probability",
                           "latency_mean",        "latency_sd",
                           "latency_p50",         "backoff_time_mean",
                           "send_wait_mean",      "connection_wait_mean",
                           "backoff_wait_mean",   "answer_wait_mean",
                           "no_send_token_share", "deadline_exceeded_share",
                           "attempts_variance",   "completion_time_s",
                           "jain_index",          "recovery_s",
                           "recovered",           "peak_attempt_rate",
                           "peak_amplification",  "disturbed_success_rate"}) {
    CAPTURE(name);
    CHECK(!value(name));
  }
  CHECK(number("requests") == 0);
  CHECK(number("retries") == 0);
  CHECK(number("goodput") == 0);
}

TEST_CASE_METHOD(Fixture, "moments of durations, in seconds") {
  ClientResult& c = run.clients[0];
  for (const int s : {1, 2, 3, 6}) {
    c.latency_m.add(Duration::seconds(s));
    c.latency_ok_m.add(Duration::seconds(2 * s));
    c.attempt_latency_m.add(Duration::seconds(3 * s));
    c.service_latency_m.add(Duration::seconds(4 * s));
    c.queueing_time_m.add(Duration::seconds(5 * s));
    c.backoff_time_m.add(Duration::seconds(6 * s));
  }
  // Mean 3; squared deviations 4 + 1 + 0 + 9 = 14; over n = 4: variance 3.5.
  CHECK(number("latency_mean") == 3);
  CHECK(number("latency_sd") == Approx(std::sqrt(3.5)));
  CHECK(number("latency_ok_mean") == 6);
  CHECK(number("attempt_latency_mean") == 9);
  CHECK(number("service_latency_mean") == 12);
  CHECK(number("queueing_time_mean") == 15);
  CHECK(number("queueing_time_sd") == Approx(5 * std::sqrt(3.5)));
  CHECK(number("backoff_time_mean") == 18);
  CHECK(number("backoff_time_sd") == Approx(6 * std::sqrt(3.5)));
}

TEST_CASE_METHOD(Fixture, "equal durations have no spread, however large they are") {
  for (int i = 0; i < 1000; ++i) {
    run.clients[0].latency_m.add(Duration::nanoseconds(86'400'123'456'789));
  }
  CHECK(number("latency_sd") == 0);
}

TEST_CASE("a quantile exists once a value is to be expected beyond it") {
  Histogram h;
  const auto fill_to = [&](std::uint64_t n) {
    while (h.count() < n) h.add(1'000'000);
  };
  const auto exists = [&](double p) { return quantile_seconds(h, p).has_value(); };
  fill_to(1);
  CHECK(!exists(0.5));
  fill_to(2);
  CHECK(exists(0.5));
  fill_to(9);
  CHECK(!exists(0.9));
  fill_to(10);
  CHECK(exists(0.9));
  CHECK(exists(0.1));
  CHECK(!exists(0.05));
  fill_to(99);
  CHECK(!exists(0.99));
  fill_to(100);
  CHECK(exists(0.99));
  fill_to(999);
  CHECK(!exists(0.999));
  CHECK(!quantile_is_well_supported(h, 0.9));
  fill_to(1000);
  CHECK(exists(0.999));
  CHECK(quantile_is_well_supported(h, 0.9));  // 1000 * 0.1 = 100
  CHECK(!quantile_is_well_supported(h, 0.99));
}

TEST_CASE_METHOD(Fixture, "each quantile metric reads its own histogram") {
  ClientResult& c = run.clients[0];
  const auto fill = [](Histogram& h, std::uint64_t unit_ns) {
    for (std::uint64_t i = 1; i <= 1000; ++i) h.add(i * unit_ns);
  };
  fill(c.latency, 1'000'000);
  fill(c.latency_ok, 2'000'000);
  fill(c.attempt_latency, 3'000'000);
  fill(c.service_latency, 4'000'000);
  fill(c.queueing_time, 5'000'000);
  // 1 to 1000 units: the p quantile is 1000 p units, within a bucket (0.4 %).
  const struct {
    const char* family;
    double unit_s;
  } families[] = {{"latency", 0.001},
                  {"latency_ok", 0.002},
                  {"attempt_latency", 0.003},
                  {"service_latency", 0.004},
                  {"queueing_time", 0.005}};
  const struct {
    const char* suffix;
    double rank;
  } quantiles[] = {{"_p50", 500}, {"_p90", 900}, {"_p99", 990}, {"_p999", 999}};
  for (const auto& family : families) {
    for (const auto& q : quantiles) {
      CHECK(number(std::string(family.family) + q.suffix) ==
            Approx(q.rank * family.unit_s).epsilon(0.005));
    }
  }
}

TEST_CASE_METHOD(Fixture, "all together merges the groups") {
  scenario.clients.resize(2);
  scenario.clients[1].name = "batch";
  scenario.clients[1].count = 1;
  ClientResult batch;
  batch.requests = 300;
  batch.attempts = 300;
  outcome(batch, Outcome::kSuccess) = 300;
  batch.window.requests = 300;
  batch.latency_m.add(Duration::seconds(1));
  batch.latency.add(kSecond);
  batch.latency.add(kSecond);
  batch.by_attempt.resize(1);
  batch.by_attempt[0].sent = 300;
  run.clients.push_back(batch);
  run.clients[0].latency_m.add(Duration::seconds(4));
  CHECK(number("requests") == 400);
  CHECK(number("success_rate") == 0.975);   // 390 / 400: weighted by requests
  CHECK(number("amplification") == 1.125);  // 450 / 400
  CHECK(number("retries") == 52);
  CHECK(number("offered_load") == 8);  // 400 / 50 s
  CHECK(number("latency_mean") == 2.5);
  CHECK(number("latency_p50") == Approx(1).epsilon(0.005));
  CHECK(number("success_rate", 1) == 1);
  CHECK(number("quota_mean") == 400);  // only web has a quota
}

TEST_CASE_METHOD(Fixture, "the mean quota weighs groups by their buckets") {
  scenario.clients.resize(2);
  scenario.clients[1].count = 1;
  ClientResult other;
  other.has_quota = true;
  other.quota_mean = 0;
  run.clients.push_back(other);
  CHECK(number("quota_mean") == 300);  // (3 * 400 + 1 * 0) / 4 buckets
  scenario.clients[0].retry.quota.scope = RetryScope::kGroup;
  CHECK(number("quota_mean") == 200);  // one bucket each
}

TEST_CASE_METHOD(Fixture, "Jain's index of the goodput of the clients") {
  ClientResult& c = run.clients[0];
  CHECK(!value("jain_index"));  // not recorded
  c.successes_per_client = {1, 2, 3};
  CHECK(number("jain_index") == Approx(36.0 / 42));  // 6^2 / (3 * 14)
  c.successes_per_client = {0, 0, 7, 0};
  CHECK(number("jain_index") == 0.25);  // one of four has all
  c.successes_per_client = {0, 0};
  CHECK(number("jain_index") == 1);  // nobody has anything: equal
}

TEST_CASE_METHOD(Fixture, "Jain's index of the success rate does not mind who asks more") {
  ClientResult& c = run.clients[0];
  CHECK(!value("jain_index_success_rate"));
  c.successes_per_client = {1, 50, 0};
  c.ended_per_client = {2, 100, 0};
  CHECK(number("jain_index_success_rate") == 1);  // the third has asked nothing
  c.ended_per_client = {1, 100, 0};
  CHECK(number("jain_index_success_rate") == Approx(0.9));  // 1.5^2 / (2 * 1.25)
}

TEST_CASE_METHOD(Fixture, "completion time is that of the last request") {
  run.last_request_end = Time::from_nanoseconds(61'500'000'000);
  CHECK(number("completion_time_s") == 61.5);
}

TEST_CASE_METHOD(Fixture, "peaks come from whole bins inside the window") {
  run.all_bins.resize(70);
  for (ClientBin& bin : run.all_bins) {
    bin.flow.requests = 10;
    bin.flow.arrivals = 10;
  }
  run.all_bins[5].flow.arrivals = 500;   // warm-up
  run.all_bins[65].flow.arrivals = 400;  // drain
  run.all_bins[30].flow.arrivals = 60;
  run.clients[0].bins = run.all_bins;
  CHECK(number("peak_attempt_rate") == 60);
  // The rolling window has 10 bins: (60 + 9 * 10) / (10 * 10).
  CHECK(number("peak_amplification") == 1.5);
  CHECK(number("peak_amplification", 0) == 1.5);
  run.interval = Duration::milliseconds(500);
  run.window_start = Time::zero();
  run.window_end = Time::zero() + Duration::seconds(20);
  CHECK(number("peak_attempt_rate") == 1000);  // 500 in half a second
}

TEST_CASE_METHOD(Fixture, "all values at once are the same as one by one") {
  const auto all = metric_values(scenario, run, std::nullopt);
  const auto group = metric_values(scenario, run, 0);
  const auto table = metric_table();
  REQUIRE(all.size() == table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    CAPTURE(std::string(table[i].name));
    CHECK(all[i] == metric_value(table[i], scenario, run, std::nullopt));
    CHECK(group[i] == metric_value(table[i], scenario, run, 0));
  }
}

TEST_CASE_METHOD(Fixture, "retries, and attempts per success") {
  CHECK(number("retry_share") == Approx(52.0 / 150));
  CHECK(number("attempts_per_success") == Approx(150.0 / 90));
  run.clients[0].window.attempts = 145;
  CHECK(number("send_rate") == Approx(145.0 / 50));
}

TEST_CASE_METHOD(Fixture, "cost: attempts at the prices of their service") {
  // 39 refused of 150 attempts, whatever their clients heard of it.
  run.clients[0].refused = 39;
  CHECK(number("cost") == 150);
  scenario.services[0].price = 2;
  scenario.services[0].rejection.price = 0.5;
  CHECK(number("cost", 0) == 2 * 111 + 0.5 * 39);
  CHECK(number("cost_per_success") == Approx((2 * 111 + 0.5 * 39) / 90));
}

TEST_CASE_METHOD(Fixture, "the work that arrives, and the work that was for nothing") {
  // 600 attempts of 0.5 s each in 50 s, 4 servers.
  scenario.services[0].service_time = Distribution::exponential(0.5);
  run.clients[0].window.arrivals = 600;
  CHECK(number("work_load") == Approx(600 * 0.5 / 50 / 4));
  scenario.clients[0].operations = {{"read", 3, 1}, {"scan", 1, 9}};  // three times the work
  CHECK(number("work_load", 0) == Approx(3 * 600 * 0.5 / 50 / 4));
  scenario.services[0].model = ServiceModelKind::kOcc;  // each attempt reads and writes
  CHECK(number("work_load", 0) == Approx(2 * 3 * 600 * 0.5 / 50 / 4));
  run.services[0].unused = 20;
  run.services[0].failed = 5;
  CHECK(number("badput") == Approx(0.5));
  run.services[0].unlimited = true;
  CHECK_FALSE(value("work_load"));
}

TEST_CASE_METHOD(Fixture, "bursts of attempts") {
  // Ten attempts in every fifth second, in the window as outside of it: 100 in 50 s.
  auto& bins = run.clients[0].bins;
  bins.resize(60);
  for (std::size_t i = 0; i < 60; i += 5) bins[i].flow.arrivals = 10;
  run.all_bins = bins;
  run.clients[0].window.arrivals = 100;
  CHECK(number("peak_to_mean") == Approx(10 / 2.0));
  // Mean 2, variance (10 * 64 + 40 * 4) / 49.
  CHECK(number("dispersion_index") == Approx(800.0 / 49 / 2));
  CHECK(number("autocorrelation", 0) == Approx(0.9));
  CHECK(number("autocorrelation_lag_s", 0) == 5);
  CHECK_FALSE(value("spectral_peak_ratio"));  // a pure comb: nothing but lines
  bins[12].flow.arrivals = bins[33].flow.arrivals = 1;
  bins[21].flow.arrivals = 2;
  CHECK(number("spectral_peak_ratio", 0) > 10);
  // A comb of single bins has its lines at 0.2 and 0.4 per second alike.
  const double lines = number("spectral_peak_frequency", 0) / 0.2;
  CHECK((lines == Approx(1) || lines == Approx(2)));
  CHECK(number("spectral_p_value", 0) < 0.01);
}

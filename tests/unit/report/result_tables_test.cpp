// The CSV tables, compared whole or, where a table has every metric, row by row.
//
// SPDX-License-Identifier: MIT
#include "report/run/tables.hpp"

#include "sample_result.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/graph.hpp"
#include "report/run/text.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

using namespace retrysim;
using namespace retrysim::report;

namespace {

struct Sample {
  LoadedScenario loaded = sample_scenario();
  ResultSet set{loaded, "base", {sample_run(0, 2), sample_run(1, 4)}};

  /// The file, which is the same from a whole table and from batches.
  std::string text(TableSource (*source)(Evaluations)) const {
    const Evaluation evaluation(set);
    StringSink sink;
    write_csv(sink, source({&evaluation, 1}));
    CHECK(to_csv(table_of(source({&evaluation, 1}))) == sink.text());
    return sink.text();
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_line(const std::string& text, const std::string& line) {
  const auto lines = lines_of(text);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_CASE_METHOD(Sample, "summary.csv") {
  const std::string csv = text(summary_table);
  const auto lines = lines_of(csv);
  CHECK(lines.at(0) ==
        "scenario,variant,client,metric,unit,mean,ci_low,ci_high,stddev,min,max,replications");
  // Amplification 1.2 and 1.4: mean 1.3, sd sqrt(0.02), half-width 12.706 sd / sqrt(2) = 1.2706.
  const auto row = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("sample,base,web,amplification,1,");
  });
  REQUIRE(row != lines.end());
  std::vector<double> cells;
  std::istringstream in(row->substr(std::string("sample,base,web,amplification,1,").size()));
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(std::stod(cell));
  REQUIRE(cells.size() == 7);
  CHECK(cells[0] == Approx(1.3));
  CHECK(cells[1] == Approx(1.3 - 1.2706205).margin(1e-6));
  CHECK(cells[2] == Approx(1.3 + 1.2706205).margin(1e-6));
  CHECK(cells[3] == Approx(0.141421));
  CHECK(cells[4] == 1.2);
  CHECK(cells[5] == 1.4);
  CHECK(cells[6] == 2);
  CHECK(has_line(csv, "sample,base,web,requests,requests,10,10,10,0,10,10,2"));
  CHECK(has_line(csv, "sample,base,\"a \"\"b\"\", c\",requests,requests,20,20,20,0,20,20,2"));
  CHECK(has_line(csv, "sample,base,all,requests,requests,30,30,30,0,30,30,2"));
  CHECK(csv.find("recovery_s") == std::string::npos);  // no trigger: no row
  CHECK(csv.find("web,utilization") == std::string::npos);
}

TEST_CASE_METHOD(Sample, "burstiness.csv") {
  // 64 bins in which 6 and 2 attempts arrive by turns, and in the second run 60 and 20.
  for (std::size_t r = 0; r < 2; ++r) {
    RunResult& run = set.runs.own()[r];
    run.window_end = Time::zero() + Duration::seconds(64);
    std::vector<ClientBin> bins(64);
    for (std::size_t i = 0; i < 64; ++i) {
      bins[i].flow.arrivals = (i % 2 == 0 ? 6U : 2U) * (r == 0 ? 1U : 10U);
    }
    run.clients[0].bins = run.clients[1].bins = run.all_bins = bins;
  }
  const std::string csv = text(burstiness_table);
  CHECK(lines_of(csv).at(0) == "scenario,variant,client,statistic,scale_s,mean,ci_low,ci_high");
  // Variance over mean: 4 * 64 / 63 / 4, and ten times that; pairs of bins are all alike.
  CHECK(csv.find("\nsample,base,web,dispersion_index,1,5.58730158730158") != std::string::npos);
  CHECK(has_line(csv, "sample,base,web,dispersion_index,2,0,0,0"));
  CHECK(csv.find("dispersion_index,4,") == std::string::npos);  // 16 windows are too few
  const auto lines = lines_of(csv);
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.starts_with("sample,base,all,autocorrelation,");
        }) == 16);
  const auto second = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("sample,base,all,autocorrelation,2,");
  });
  REQUIRE(second != lines.end());
  CHECK(std::stod(second->substr(std::string("sample,base,all,autocorrelation,2,").size())) ==
        Approx(62.0 / 64));
}

TEST_CASE_METHOD(Sample, "one replication leaves the interval cells empty") {
  set.runs.own().pop_back();
  CHECK(has_line(text(summary_table), "sample,base,web,amplification,1,1.2,,,,1.2,1.2,1"));
}

TEST_CASE_METHOD(Sample, "replications.csv") {
  const std::string csv = text(replications_table);
  CHECK(lines_of(csv).at(0) == "scenario,variant,replication,seed,client,metric,value");
  CHECK(has_line(csv, "sample,base,0,7,web,amplification,1.2"));
  CHECK(has_line(csv, "sample,base,1,7,web,amplification,1.4"));
  CHECK(has_line(csv, "sample,base,1,7,all,retries,4"));
  CHECK(has_line(csv, "sample,base,0,7,all,utilization,0.125"));  // 0.5 / (2 * 2)
}

TEST_CASE_METHOD(Sample, "timeseries.csv has the groups, then all") {
  set.runs.own().pop_back();
  // Levels: 250 ms / 1 s = 0.25.
  CHECK(text(timeseries_table) ==
        "scenario,variant,replication,client,time_s,requests,attempts,retries,successes,failures,"
        "throttled,errors,timeouts,quota_denied,limiter_waiting,in_backoff,in_flight,"
        "latency_p50_s,latency_p99_s,breaker_refused,breakers_open\n"
        "sample,base,0,web,0,10,12,2,10,0,2,0,0,0,0,0.25,0.5,0.1,0.3,0,0\n"
        "sample,base,0,web,1,0,0,0,0,0,0,0,0,0,0,0,0,,,0,0\n"
        "sample,base,0,\"a \"\"b\"\", c\",0,20,20,0,20,0,0,0,0,0,0,0.25,0.5,0.1,0.3,0,0\n"
        "sample,base,0,\"a \"\"b\"\", c\",1,0,0,0,0,0,0,0,0,0,0,0,0,,,0,0\n"
        "sample,base,0,all,0,30,32,2,30,0,2,0,0,0,0,0.25,0.5,0.1,0.3,0,0\n"
        "sample,base,0,all,1,0,0,0,0,0,0,0,0,0,0,0,0,,,0,0\n");
}

TEST_CASE_METHOD(Sample, "times of bins are decimals, not sums of roundings") {
  set.runs.own().pop_back();
  set.runs.own()[0].interval = Duration::milliseconds(100);
  set.runs.own()[0].window_end = Time::zero() + Duration::milliseconds(400);
  set.runs.own()[0].clients[0].bins.assign(4, ClientBin());
  CHECK(has_line(text(timeseries_table), "sample,base,0,web,0.3,0,0,0,0,0,0,0,0,0,0,0,0,,,0,0"));
}

TEST_CASE_METHOD(Sample, "service.csv") {
  set.runs.own().pop_back();
  // The run ends within the second bin, but levels are recorded to the end of it.
  set.runs.own()[0].window_end = Time::from_nanoseconds(1'500'000'000);
  set.runs.own()[0].services[0].bins[1].servers_ns = 2e9;
  const std::string header =
      "scenario,variant,replication,service,time_s,arrivals,admitted,rejected,throttled,"
      "completions,wasted,queue_mean,queue_max,busy_mean,servers,in_service_mean,errors\n";
  CHECK(text(service_table) == header +
                                   "sample,base,0,api,0,32,30,0,2,30,0,1.5,5,0.5,2,0.5,0\n"
                                   "sample,base,0,api,1,0,0,0,0,0,0,0,0,0,2,0,0\n");
  set.runs.own()[0].services[0].unlimited = true;
  CHECK(text(service_table) == header +
                                   "sample,base,0,api,0,32,30,0,2,30,0,1.5,5,0.5,,0.5,0\n"
                                   "sample,base,0,api,1,0,0,0,0,0,0,0,0,0,,0,0\n");
}

TEST_CASE_METHOD(Sample, "latency.csv pools the replications") {
  const std::string csv = text(latency_table);
  const auto lines = lines_of(csv);
  CHECK(lines.at(0) == "scenario,variant,client,kind,quantile,latency_s,ci_low_s,ci_high_s");
  // web: 20 values pooled: quantiles from 0.05 to 0.95 exist; no interval with 10 a replication.
  const auto count = [&](const std::string& prefix) {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.starts_with(prefix); });
  };
  CHECK(count("sample,base,web,request,") == 11);
  CHECK(count("sample,base,web,request,0.02,") == 0);
  CHECK(count("sample,base,web,request,0.05,") == 1);
  CHECK(count("sample,base,web,request,0.95,") == 1);
  CHECK(count("sample,base,all,request,0.98,") == 1);  // 60 values
  CHECK(count("sample,base,web,attempt,") == 0);
  const auto median = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("sample,base,web,request,0.5,");
  });
  REQUIRE(median != lines.end());
  CHECK(median->ends_with(",,"));
}

TEST_CASE_METHOD(Sample, "latency.csv has intervals where each replication has 100 values beyond") {
  for (RunResult& run : set.runs.own()) {
    // Medians of 1000 ns and 2000 ns; that of all is 1000 ns. Distances from it 0 and 1000 ns, so
    // S = 1000 ns and the half-width 12.7062 * 1000 ns / sqrt(2) = 8984.6 ns.
    for (int i = 0; i < 1000; ++i) run.clients[0].attempt_latency.add(1000 * (run.replication + 1));
  }
  const auto lines = lines_of(text(latency_table));
  const auto row = [&](const std::string& prefix) {
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.starts_with(prefix);
    });
    REQUIRE(found != lines.end());
    return found->substr(prefix.size());
  };
  const std::string median = row("sample,base,web,attempt,0.5,");
  std::istringstream in(median);
  std::string value, low, high;
  std::getline(in, value, ',');
  std::getline(in, low, ',');
  std::getline(in, high, ',');
  CHECK(std::stod(value) == Approx(1e-6).epsilon(0.01));
  CHECK(std::stod(low) == 0);  // Student's interval would begin at 1e-6 - 8.9846e-6
  CHECK(std::stod(high) == Approx(1e-6 + 8.9846e-6).epsilon(0.01));
  CHECK(!row("sample,base,web,attempt,0.9,").ends_with(",,"));
  CHECK(row("sample,base,web,attempt,0.95,").ends_with(",,"));  // 50 beyond
}

TEST_CASE_METHOD(Sample, "attempts.csv has means over the replications") {
  // web: 10 first attempts, retries 2 and 4; backoff 0.5 s of 2 s. All: peaks are not known. The
  // interval of two values is their mean +- 12.706 half differences, but nothing is below zero.
  const auto lines = lines_of(text(attempts_table));
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] ==
        "scenario,variant,client,attempt,sent,successes,throttled,errors,timeouts,"
        "peak_sends_100ms,in_backoff_mean,sent_ci_low,sent_ci_high,successes_ci_low,"
        "successes_ci_high,throttled_ci_low,throttled_ci_high,errors_ci_low,errors_ci_high,"
        "timeouts_ci_low,timeouts_ci_high,peak_sends_100ms_ci_low,peak_sends_100ms_ci_high,"
        "in_backoff_mean_ci_low,in_backoff_mean_ci_high");
  CHECK(lines[1] ==
        "sample,base,web,1,10,7,3,0,0,4,0,10,10,0,19.7062047362,0,15.7062047362,0,0,0,0,4,4,0,0");
  CHECK(lines[2] ==
        "sample,base,web,2,3,3,0,0,0,1,0.25,0,15.7062047362,0,15.7062047362,0,0,0,0,0,0,1,1,"
        "0.25,0.25");
  CHECK(lines[3].starts_with("sample,base,\"a \"\"b\"\", c\",1,20,20,0,0,0,4,0,20,20,"));
  CHECK(lines[4].starts_with("sample,base,\"a \"\"b\"\", c\",2,0,0,0,0,0,1,0.25,0,0,"));
  CHECK(lines[5].starts_with("sample,base,all,1,30,27,3,0,0,,0,30,30,"));
  CHECK(lines[6].starts_with("sample,base,all,2,3,3,0,0,0,,0.5,0,15.7062047362,"));
  set.runs.own().pop_back();
  CHECK(lines_of(text(attempts_table))[1] == "sample,base,web,1,10,8,2,0,0,4,0,,,,,,,,,,,,,,");
}

TEST_CASE_METHOD(Sample, "storms.csv") {
  const std::string header =
      "scenario,variant,replication,storm,onset_s,end_s,peak_attempt_rate,peak_amplification,"
      "extra_attempts,trigger_end_s,recovery_s,verdict,duration_s,peak_load_ratio,"
      "predicted_drain_s,recovery_ratio,offered_work,twin_recovery_s\n";
  CHECK(text(storms_table) == header);
  Evaluation evaluation(set);
  stats::Storm storm;
  storm.onset_s = 61;
  storm.peak_attempt_rate = 2000;
  storm.peak_amplification = 2.5;
  storm.extra_attempts = 12345.5;
  storm.trigger_end_s = 90;
  storm.window_s = 4;
  storm.peak_load_ratio = 3.5;
  storm.aftermath.predicted_drain_s = 5;
  storm.aftermath.offered_work = 0.75;
  storm.verdict = stats::StormVerdict::kMetastable;
  storm.twin_recovery_s = 6;
  stats::Storm short_one = storm;
  short_one.end_s = 120;
  short_one.recovery_s = 10.25;
  short_one.twin_recovery_s.reset();
  short_one.verdict = stats::StormVerdict::kTransient;
  evaluation.storms = {{}, {short_one, storm}};
  StringSink sink;
  write_csv(sink, storms_table({&evaluation, 1}));
  CHECK(sink.text() ==
        header +
            "sample,base,1,1,61,120,2000,2.5,12345.5,90,10.25,transient,59,3.5,5,2.05,"
            "0.75,\n"
            "sample,base,1,2,61,,2000,2.5,12345.5,90,,metastable,,3.5,5,,0.75,6\n");
}

TEST_CASE_METHOD(Sample, "several variants share a table") {
  const ResultSet other{loaded, "seed=8", {sample_run(0, 0)}};
  const std::vector<Evaluation> both = {Evaluation(set), Evaluation(other)};
  StringSink sink;
  write_csv(sink, summary_table(both));
  CHECK(has_line(sink.text(), "sample,base,web,requests,requests,10,10,10,0,10,10,2"));
  CHECK(has_line(sink.text(), "sample,seed=8,web,requests,requests,10,,,,10,10,1"));
}

TEST_CASE_METHOD(Sample,
                 "the row of a client and a metric is that of the summary, also in a copy") {
  const std::vector<Evaluation> copied = {Evaluation(set)};
  const Evaluation& evaluation = copied.front();
  for (const SummaryRow& row : evaluation.summary) {
    CHECK(evaluation.row(row.client, row.metric->name) == &row);
  }
  CHECK(evaluation.row("nobody", "requests") == nullptr);
  CHECK(evaluation.row("web", "nothing") == nullptr);
  CHECK(evaluation.row("web", "utilization") == nullptr);  // which only "all" has
}

TEST_CASE_METHOD(Sample, "result.json") {
  loaded.scenario.expectations = {{"works", "success_rate", "web", std::nullopt, 0.5}};
  loaded.scenario.faults.resize(1);
  loaded.scenario.faults[0].name = "dip";
  loaded.scenario.faults[0].start = Time::zero() + Duration::seconds(1);
  loaded.scenario.faults[0].duration = Duration::milliseconds(500);
  const Evaluation evaluation(set);
  StringSink sink;
  run_document(evaluation).write_json(sink, "", {{"summary.csv", 12, 0xABC}});
  const auto json = nlohmann::json::parse(sink.text());
  CHECK(json["program"] == "retrysim");
  CHECK(json["scenario"] == "sample");
  CHECK(json["seed"] == 7);
  CHECK(json["replications"] == 2);
  CHECK(json["files"] == nlohmann::json({"summary.csv", "result.json"}));
  CHECK(json["checksums"]["summary.csv"]["crc32"] == "00000abc");
  const auto& variant = json["variants"][0];
  CHECK(variant["keys"]["duration"] == "\"2s\"");
  CHECK(variant["services"][0]["capacity_per_s"] == 200);  // 2 / 10 ms
  using Steps = nlohmann::json;
  CHECK(variant["services"][0]["capacity_steps"] == Steps({{0, 200}}));
  CHECK(variant["services"][0]["throttle_per_s"].is_null());
  CHECK(variant["disturbances"][0]["name"] == "dip");
  CHECK(variant["disturbances"][0]["end_s"] == 1.5);
  CHECK(json["summary"].size() == evaluation.summary.size());
  CHECK(json["summary"][0]["client"] == "web");
  CHECK(json["summary"][0]["mean"] == 10);
  CHECK(json["expectations"][0]["passed"] == true);
  CHECK(json["expectations"][0]["verdict"] == "holds");
  CHECK(json["expectations"][0]["at_most"].is_null());
  // Keys keep the order in which they are explained.
  CHECK(sink.text().find("\"program\"") < sink.text().find("\"version\""));
}

TEST_CASE_METHOD(Sample, "result.json has the capacity at each exact moment") {
  const auto fault = [&](const char* name, double start, double length) -> FaultSpec& {
    FaultSpec& f = loaded.scenario.faults.emplace_back();
    f.name = name;
    f.start = Time::zero() + Duration::from_seconds(start);
    f.duration = Duration::from_seconds(length);
    return f;
  };
  const auto service = [&] { return graph_json(loaded.scenario)["services"][0]; };
  using Steps = std::vector<std::pair<double, double>>;
  const auto steps = [&] { return service()["capacity_steps"].get<Steps>(); };
  REQUIRE(loaded.scenario.services[0].servers == 2);
  loaded.scenario.faults.clear();
  fault("half", 0.3, 1.21).capacity = 0.5;
  CHECK(steps() == Steps{{0, 200}, {0.3, 100}, {1.51, 200}});
  fault("slow", 1.01, 100).speed = 0.25;  // while the first goes on, and beyond the end of the run
  CHECK(steps() == Steps{{0, 200}, {0.3, 100}, {1.01, 25}, {1.51, 50}, {101.01, 200}});
  fault("loss", 0.1, 0.1).request_loss = 1;  // leaves the servers alone
  fault("late", 0.2, 0.1).latency = Duration::seconds(1);
  CHECK(steps().size() == 5);
  fault("cut", 0, 0.05).unreachable = true;
  CHECK(steps().front() == std::pair(0.0, 0.0));
  CHECK(steps()[1] == std::pair(0.05, 200.0));
  loaded.scenario.services[0].throttle.rate = 120;
  CHECK(steps() == Steps{{0, 0}, {0.05, 120}, {0.3, 100}, {1.01, 25}, {1.51, 50}, {101.01, 120}});
  CHECK(service()["throttle_per_s"] == 120);
  CHECK_FALSE(service().contains("autoscaled"));
  loaded.scenario.services[0].autoscaling.target = 0.5;
  CHECK(service()["autoscaled"] == true);
  // Whole servers: a third of two is one.
  loaded.scenario.faults.clear();
  loaded.scenario.services[0].throttle.rate = 0;
  fault("third", 1, 1).capacity = 0.3;
  CHECK(steps()[1] == std::pair(1.0, 100.0));
  loaded.scenario.services[0].servers = ServiceSpec::kUnlimited;
  CHECK(service()["capacity_steps"].is_null());
  for (int i = 0; i < 600; ++i) fault("again", 10 + 2 * i, 1).speed = 0.5;
  CHECK_FALSE(service().contains("capacity_steps"));
}

TEST_CASE_METHOD(Sample, "The box of a service names who is turned away first") {
  ServiceSpec& service = loaded.scenario.services[0];
  const auto has = [&](const std::string& line) {
    const auto lines = graph_json(loaded.scenario)["services"][0]["lines"];
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  const std::string leaves = "when full: the lowest priority leaves";
  CHECK_FALSE(has(leaves));
  service.queue.capacity = 5;
  service.queue.when_full = WhenFull::kEvictLowest;
  CHECK(has(leaves));
  service.concurrency.partitions = {{"live", 2, 0.8}, {"bulk", 0, PartitionSpec::kNone, 0.4}};
  CHECK_FALSE(has("live: priority 2, a share of 80 %"));  // of no limit
  service.concurrency.limit = 10;
  CHECK(has("live: priority 2, a share of 80 %"));
  CHECK(has("bulk: priority 0, refused from 40 % of the limit"));
}

TEST_CASE_METHOD(Sample, "instances.csv") {
  CHECK(lines_of(text(instances_table)).size() == 1);
  loaded.scenario.services[0].instances.count = 2;
  const double window_ns =
      static_cast<double>((set.runs.own()[1].window_end - set.runs.own()[1].window_start).count());
  set.runs.own()[1].services[0].instances = {{},
                                             {.attempts = 15,
                                              .results = {1, 2, 3, 4, 5},
                                              .busy_ns = window_ns / 2,
                                              .in_system_ns = window_ns * 2,
                                              .queue_ns = window_ns * 1.25,
                                              .out_ns = window_ns / 4,
                                              .queue_max = 9}};
  const auto lines = lines_of(text(instances_table));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] ==
        "scenario,variant,replication,service,instance,attempts,successes,throttled,errors,"
        "timeouts,abandoned,busy_mean,in_service_mean,queue_mean,queue_max,out_of_rotation_share");
  CHECK(lines[1] == "sample,base,1,api,1,0,0,0,0,0,0,0,0,0,0,0");
  CHECK(lines[2] == "sample,base,1,api,2,15,1,2,3,4,5,0.5,0.75,1.25,9,0.25");
}

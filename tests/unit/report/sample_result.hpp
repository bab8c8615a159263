// A small result with numbers chosen by hand, for the tests of files and tables: two client groups,
// one service, two replications of 2 s in bins of 1 s.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/document/document.hpp"
#include "report/run/evaluation.hpp"

#include <cstdint>
#include <string>

namespace retrysim::report {

inline ClientBin sample_bin(std::uint64_t requests, std::uint64_t retries) {
  ClientBin bin;
  bin.flow.requests = requests;
  bin.flow.attempts = requests + retries;
  bin.flow.arrivals = requests + retries;
  bin.flow.retries = retries;
  bin.flow.successes = requests;
  bin.flow.throttled = retries;
  bin.flow.in_backoff_ns = 250e6;
  bin.flow.in_flight_ns = 500e6;
  bin.latency_count = requests;
  bin.latency_p50_s = 0.1;
  bin.latency_p99_s = 0.3;
  return bin;
}

inline ClientResult sample_client(std::uint64_t requests, std::uint64_t retries) {
  ClientResult c;
  c.requests = requests;
  c.outcomes[static_cast<std::size_t>(Outcome::kSuccess)] = requests;
  c.ended_within = c.successes_within = requests;
  c.attempts = requests + retries;
  c.attempts_squared = requests + 3 * retries;
  c.results[static_cast<std::size_t>(AttemptResult::kSuccess)] = requests;
  c.results[static_cast<std::size_t>(AttemptResult::kThrottled)] = retries;
  c.by_attempt.resize(2);
  c.by_attempt[0].sent = requests;
  c.by_attempt[0].results = {requests - retries, retries, 0, 0, 0};
  c.by_attempt[0].peak_sends_100ms = 4;
  c.by_attempt[1].sent = retries;
  c.by_attempt[1].results = {retries, 0, 0, 0, 0};
  c.by_attempt[1].peak_sends_100ms = 1;
  c.by_attempt[1].in_backoff_ns = 500e6;
  for (std::uint64_t i = 0; i < requests; ++i) {
    c.latency.add(64);  // a bucket of its own width: quantiles are near 64 ns
    c.latency_m.add(Duration::nanoseconds(64));
  }
  c.window.requests = requests;
  c.window.arrivals = requests + retries;
  c.window.successes = requests;
  c.bins = {sample_bin(requests, retries), ClientBin()};
  return c;
}

inline RunResult sample_run(std::uint32_t replication, std::uint64_t retries) {
  RunResult run;
  run.seed = 7;
  run.replication = replication;
  run.window_end = Time::zero() + Duration::seconds(2);
  run.interval = Duration::seconds(1);
  run.ended = Time::from_nanoseconds(1'500'000'000);
  run.last_request_end = run.ended;
  run.clients = {sample_client(10, retries), sample_client(20, 0)};
  run.all_bins = {sample_bin(30, retries), ClientBin()};
  ServiceResult service;
  service.nominal_servers = 2;
  service.bins.resize(2);
  ServiceFlow& bin = service.bins[0];
  bin.arrivals = 30 + retries;
  bin.admitted = 30;
  bin.throttled = retries;
  bin.completions = 30;
  bin.queue_ns = 1.5e9;
  bin.queue_max = 5;
  bin.busy_ns = 0.5e9;
  bin.in_system_ns = 2e9;
  bin.servers_ns = 2e9;
  service.bins[1].servers_ns = 1e9;
  service.window = service.bins[0];
  run.services = {service};
  return run;
}

/// A scenario called `name` whose second group has a name that needs quotes in CSV.
inline LoadedScenario sample_scenario(const std::string& name = "sample") {
  LoadedScenario loaded;
  Scenario& s = loaded.scenario;
  s.name = name;
  s.description = "A sample";
  s.duration = Duration::seconds(2);
  s.seed = 7;
  s.replications = 2;
  s.services.resize(1);
  s.services[0].name = "api";
  s.services[0].servers = 2;
  s.services[0].service_time = Distribution::constant(Duration::milliseconds(10));
  s.clients.resize(2);
  s.clients[0].name = "web";
  s.clients[1].name = "a \"b\", c";
  loaded.keys.push_back({"duration", "\"2s\"", Origin::kScenario, "sample.toml:1"});
  return loaded;
}

/// A part of a text, without the empty line in front.
inline std::string part_of_text(void (*describe)(Document&, const Evaluation&),
                                const Evaluation& e) {
  Document document;
  describe(document, e);
  StringSink sink;
  document.write_text(sink, kNarrowColumns);
  return sink.text().substr(sink.text().empty() ? 0 : 1);
}

}  // namespace retrysim::report

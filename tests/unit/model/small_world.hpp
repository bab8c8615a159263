// A minimal scenario to build test worlds from: one service, one client group, everything constant.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace retrysim::test {

inline Duration ms(std::int64_t n) { return Duration::milliseconds(n); }

inline Scenario small_world() {
  Scenario s;
  s.name = "test";
  s.duration = Duration::seconds(100);
  s.drain_limit = Duration::seconds(1000);
  ServiceSpec service;
  service.name = "api";
  service.service_time = Distribution::constant(ms(100));
  s.services.push_back(service);
  ClientSpec client;
  client.name = "web";
  client.arrivals.process = ArrivalProcess::kOnce;
  client.retry.mode = RetryMode::kCustom;
  client.retry.max_attempts = 3;
  s.clients.push_back(client);
  return s;
}

/// Makes a client group that of the calls of a service, in place of requests of its own.
inline void make_calls(Scenario& s, std::size_t group, std::size_t caller) {
  s.clients[group].arrivals = {};
  s.clients[group].arrivals.process = ArrivalProcess::kCalls;
  s.calls.push_back({.caller = caller, .client = group});
}
/// The same for a group that is to be added.
inline void add_call(Scenario& s, std::size_t caller, ClientSpec client) {
  s.clients.push_back(std::move(client));
  make_calls(s, s.clients.size() - 1, caller);
}

inline void set_timeout(ClientSpec& client, Duration timeout) {
  client.timeouts.has_attempt = true;
  client.timeouts.attempt = Distribution::constant(timeout);
}

inline std::uint64_t count(const ClientResult& c, Outcome o) {
  return c.outcomes[static_cast<std::size_t>(o)];
}
inline std::uint64_t count(const ClientResult& c, AttemptResult r) {
  return c.results[static_cast<std::size_t>(r)];
}

/// Flow counts of all bins together, the drain included.
inline ServiceFlow total(const ServiceResult& s) {
  ServiceFlow t;
  for (const ServiceFlow& b : s.bins) t.merge(b);
  return t;
}
inline ClientFlow total(const ClientResult& c) {
  ClientFlow t;
  for (const ClientBin& b : c.bins) t.merge(b.flow);
  return t;
}

/// A metric of all clients together, which must exist.
inline double metric(std::string_view name, const Scenario& s, const RunResult& r) {
  return metric_value(*find_metric(name), s, r, std::nullopt).value();
}

}  // namespace retrysim::test

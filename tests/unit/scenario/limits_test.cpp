// How many groups, instances and answers a scenario may have: one more is an error with its place,
// in a file and in C++, and what is allowed takes neither a deep stack nor every path through the
// services.
//
// SPDX-License-Identifier: MIT
#include "scenario/limits.hpp"
#include "flow/calls.hpp"
#include "flow/demand.hpp"
#include "loading.hpp"

#include <retrysim/prediction.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

using namespace retrysim;
using scenario::kMaxAnswers;
using scenario::kMaxGroups;
using scenario::kMaxInstances;

namespace {

constexpr std::size_t kOfOneService = 1000;  // of one service

// Layers of services, each of which calls all of the next layer.
Scenario layers(std::size_t count, std::size_t width) {
  Scenario s = load(kSmall).scenario;
  ServiceSpec service = s.services[0];
  service.servers = ServiceSpec::kUnlimited;
  s.services.clear();
  for (std::size_t i = 0; i < count * width; ++i) {
    s.services.push_back(service);
    s.services.back().name = "s" + std::to_string(i);
    if (i < width) continue;
    const std::size_t above = (i / width - 1) * width;
    for (std::size_t caller = above; caller < above + width; ++caller) {
      ClientSpec call;
      call.name = s.services[caller].name + "." + s.services[i].name;
      call.arrivals.process = ArrivalProcess::kCalls;
      call.service = i;
      s.calls.push_back({.caller = caller, .client = s.clients.size()});
      s.clients.push_back(call);
    }
  }
  return s;
}

}  // namespace

TEST_CASE("the calls of services count as client groups") {
  std::string text = kSmall;
  for (std::size_t i = 0; i + 1 < kMaxGroups; ++i) {
    text += "[service.api.calls.s" + std::to_string(i) + "]\n";
  }
  const std::size_t lines = 7 + kMaxGroups - 1;
  CHECK_THAT(errors_of(text + "[service.api.calls.more]\n[service.api.calls.last]\n"),
             Catch::StartsWith("demo.toml:" + std::to_string(lines + 1) + ":") &&
                 Catch::Contains("service.api.calls.more: with the calls of services there are "
                                 "more than 65535 client groups"));
}

TEST_CASE("all services together have so many instances") {
  std::string text = kSmall;
  for (std::size_t i = 0; i < kMaxInstances / kOfOneService; ++i) {
    text += "[service.s" + std::to_string(i) + "]\nservice_time = 1\ninstances = 1000\n";
  }
  const Edits calls = {"client.web.calls=api"};
  CHECK(errors_of(text, calls).empty());
  text += "[service.last]\nservice_time = 1\n";
  CHECK(errors_of(text + "instances = 534\n", calls).empty());
  CHECK_THAT(errors_of(text + "instances = 535\n", calls),
             Catch::Contains("service.last: with its instances there are 65536; expected at most "
                             "65535 of all services together"));
}

TEST_CASE("services and faults have so many different answers", "[slow]") {
  std::string text = kSmall + "[fault.few]\nstart = 1\nduration = 1\nerrors = { 429 = 0.1 }\n" +
                     "[fault.many]\nstart = 1\nduration = 1\n[fault.many.errors]\n";
  for (std::size_t i = 0; i < kMaxAnswers; ++i)
    text += "\"500:C" + std::to_string(i) + "\" = 1e-9\n";
  CHECK_THAT(errors_of(text), Catch::StartsWith("demo.toml:15:13: ") &&
                                  Catch::Contains("fault.many: with its answers there are more "
                                                  "than 65000 different ones"));
}

TEST_CASE("what is too much for the numbers of a simulation is refused in C++, too") {
  Scenario s = load(kSmall).scenario;
  s.services[0].instances.count = kOfOneService;
  s.services.resize(kMaxInstances / kOfOneService + 1, s.services[0]);
  CHECK_THROWS_AS(simulate(s, 0, {}), std::invalid_argument);
  s = load(kSmall).scenario;
  for (std::size_t i = 0; i <= kMaxGroups; ++i) {
    s.services[0].errors.push_back({{500, "C" + std::to_string(i)}, 0});
  }
  CHECK_THROWS_AS(simulate(s, 0, {}), std::invalid_argument);
  s = load(kSmall).scenario;
  s.clients.resize(kMaxGroups + 1, s.clients[0]);
  CHECK_THROWS_AS(simulate(s, 0, {}), std::invalid_argument);
}

TEST_CASE("what services ask of each other does not depend on the number of ways between them") {
  const Scenario s = layers(40, 2);
  const flow::Demand demand = flow::demand_of(s, flow::Attempts::kFirst);
  CHECK(demand.services[0].requests == Approx(5));
  CHECK_NOTHROW(facts_of(s));
}

TEST_CASE("chains of calls may be long") {
  const Scenario s = layers(30'000, 1);
  const flow::Demand demand = flow::demand_of(s, flow::Attempts::kFirst);
  CHECK(demand.services.back().requests == Approx(5));
  const std::vector<std::size_t> order = flow::callers_first(s);
  CHECK(order.size() == s.services.size());
  CHECK(order.front() == 0);
  CHECK(order.back() == s.services.size() - 1);
}

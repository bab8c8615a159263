// The figures of the Markov chain as `predict` gives them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <variant>
#include "prediction/chain/markov_chain.hpp"
#include "scenario_of.hpp"

namespace retrysim {
namespace {

using test::scenario_of;

const char* const kBounded =
    "name = \"chain\"\nduration = 10\n[service.api]\n"
    "service_time = { distribution = \"exponential\", mean = 0.2 }\nqueue.capacity = 12\n"
    "[client.web]\ncount = 100\narrivals = { process = \"poisson\", total_rate = 3 }\n"
    "attempt_timeout = 1\nretry = { mode = \"custom\", max_attempts = 3, delays = [0.5] }\n";

double figure(const Prediction& p, const char* name) {
  INFO(name);
  const Figure* f = p.find("chain", "service.api", name);
  REQUIRE(f);
  return f->value;
}

TEST_CASE("The figures of the chain are those of its law") {
  const Scenario scenario = scenario_of(kBounded);
  auto queue = std::get<RetrialQueue>(chain_of(scenario, 0));
  CHECK(queue.arrival_rate == Approx(3));
  CHECK(queue.service_rate == Approx(5));
  CHECK(queue.places == 13);  // with the one in service
  const RetrialQueueLaw law = solve_with_orbit(queue);
  CHECK(law.at_most_orbit < 1e-10);

  const Prediction p = predict(scenario, {.fluid = false});
  CHECK(p.find("fluid", "service.api", "load") == nullptr);
  CHECK(figure(p, "mean_queue") == Approx(law.mean_queue));
  CHECK(figure(p, "mean_orbit") == Approx(law.mean_orbit));
  CHECK(figure(p, "late_share") == Approx(law.beyond_timeout));
  CHECK(figure(p, "empty_share") == Approx(law.empty));
  CHECK(figure(p, "collapse_time") == Approx(law.collapse_time));
  CHECK(figure(p, "recovery_time") == Approx(law.recovery_time));
  CHECK(figure(p, "orbit") == queue.orbit);
}

TEST_CASE("Where costly refusals decide, two runs of the fluid show the phase") {
  // 600 services a second; a full queue is 0.3 s of work, and a refusal half a service: 1,200 a
  // second leave nothing for what waits. Three attempts of each of 509 requests are more than that.
  const auto phase = [](double rate) -> std::string {
    const Prediction p = predict(scenario_of(
        "name = \"costly\"\nduration = 75\n[service.api]\nservers = 30\nservice_time = "
        "\"50ms\"\nqueue.capacity = 180\nreject_cost = \"25ms\"\n[client.web]\ncount = 100\n"
        "attempt_timeout = \"600ms\"\nretry = { mode = \"custom\", max_attempts = 3, backoff = { "
        "base = \"300ms\", factor = 1, jitter = \"none\" } }\n"
        "arrivals = { process = \"poisson\", total_rate = " +
        std::to_string(rate) + " }\n"));
    const Figure* f = p.find("fluid", "service.api", "phase");
    return f ? f->text : "";
  };
  CHECK(phase(509) == "vulnerable");
  CHECK(phase(630) == "dead");
  CHECK(phase(594) == "");  // chance decides
  CHECK(phase(606) == "");
}

TEST_CASE("What the fluid does not follow has no answer") {
  const auto predicted = [](const std::string& fault) {
    return predict(scenario_of(
        "name = \"fault\"\nduration = 60\n[service.api]\nservers = 40\nservice_time = "
        "{ distribution = \"exponential\", mean = \"10ms\" }\n[fault.f]\nstart = \"20s\"\n" +
        fault +
        "[client.web]\ncount = 200\narrivals = { process = \"poisson\", total_rate = 2400 }\n"
        "attempt_timeout = \"1s\"\nretry = { mode = \"custom\", max_attempts = 2, backoff.base = "
        "\"100ms\" }\n"));
  };
  const auto after = [](const Prediction& p) -> std::string {
    const Figure* f = p.find("fluid", "service.api", "after_disturbance");
    return f ? f->text : "";
  };
  const auto refuses = [](const Prediction& p, const std::string& why) {
    return std::ranges::any_of(
        p.refusals, [&](const auto& r) { return r.text.find(why) != std::string::npos; });
  };
  // When the latency is over, what was sent with it arrives together with what is sent without.
  const Prediction wave = predicted("duration = \"3s\"\nlatency = \"1s\"\n");
  CHECK(after(wave).empty());
  CHECK(wave.find("fluid", "service.api", "recovery") == nullptr);
  CHECK(refuses(wave, "cannot model faults that add much latency"));
  CHECK(wave.find("fluid", "service.api", "phase") != nullptr);
  CHECK_FALSE(after(predicted("duration = \"3s\"\nlatency = \"10ms\"\n")).empty());
  CHECK_FALSE(after(predicted("duration = \"3s\"\ncapacity = 0\n")).empty());
  // There is no time after a fault that lasts as long as the run.
  const Prediction to_end = predicted("duration = \"40s\"\nunreachable = true\n");
  CHECK(after(to_end).empty());
  CHECK(refuses(to_end, "lasts until the run ends"));
  CHECK_FALSE(after(predicted("duration = \"39s\"\nunreachable = true\n")).empty());
}

TEST_CASE("The orbit of the chain can be chosen, up to what can be solved") {
  const Scenario scenario = scenario_of(kBounded);
  const Prediction found = predict(scenario, {.fluid = false});
  const int more = static_cast<int>(figure(found, "orbit")) + 20;
  const Prediction chosen = predict(scenario, {.fluid = false, .orbit = more});
  CHECK(figure(chosen, "orbit") == more);
  CHECK(figure(chosen, "mean_queue") == Approx(figure(found, "mean_queue")).epsilon(1e-6));

  const Prediction refused = predict(scenario, {.fluid = false, .orbit = 1'000'000});
  CHECK(refused.find("chain", "service.api", "orbit") == nullptr);
  REQUIRE(refused.refusals.size() == 1);
  CHECK(refused.refusals[0].part == "chain");
  CHECK(refused.refusals[0].text ==
        "No collapse time for service.api: an orbit of 1,000,000 requests makes 14,000,014 "
        "states, too many to solve; choose a smaller one");
}

}  // namespace
}  // namespace retrysim

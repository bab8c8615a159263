// Load ramps: plans them, makes the scenario, and runs the loop of all replications.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>

#include "experiment/load_ramp.hpp"
#include "measure/analyse/recovery.hpp"
#include "measure/analyse/storms.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace retrysim::experiment {

Scenario with_load_ramp(Scenario scenario, const std::vector<std::size_t>& clients,
                        const LoadRamp& ramp) {
  RateProfile profile;
  for (std::size_t step = 0; step < ramp.steps(); ++step) {
    profile.times.push_back(Time::zero() + ramp.dwell * static_cast<std::int64_t>(step));
    profile.rates.push_back(ramp.load(step) / ramp.loads.front());
  }
  for (const std::size_t client : clients) scenario.clients[client].arrivals.profile = profile;
  for (ClientSpec& client : scenario.clients) client.arrivals.surges.clear();
  scenario.faults.clear();
  scenario.expectations.clear();
  scenario.warmup = Duration::zero();
  scenario.duration = ramp.duration();
  scenario.drain = false;
  return scenario;
}

}  // namespace retrysim::experiment

namespace retrysim {

namespace {

std::string hysteresis_part() { return RequestError::part("hysteresis"); }
constexpr std::size_t kMaxLoads = 1000;
constexpr int kDwellWindows = 20;

/// The client groups whose rate the key sets. Throws RequestError if a group's rate has a profile
/// of its own.
std::vector<std::size_t> groups_of(const LoadKey& key, const Scenario& scenario) {
  std::vector<std::size_t> groups;
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    const ClientSpec& client = scenario.clients[c];
    if (client.makes_calls() || (key.client != "*" && client.name != key.client)) continue;
    if (client.arrivals.profile) {
      throw RequestError(fmt::format("{}: the rate of {} has a profile of its own",
                                     hysteresis_part(), client.name));
    }
    groups.push_back(c);
  }
  return groups;
}

std::vector<std::string> notes_on_loop(const Scenario& scenario, const std::vector<RampRun>& runs) {
  std::vector<std::string> notes;
  const bool surges = std::any_of(scenario.clients.begin(), scenario.clients.end(),
                                  [](const ClientSpec& c) { return !c.arrivals.surges.empty(); });
  if (!scenario.faults.empty() || surges) {
    notes.emplace_back("faults and surges of the scenario are left out");
  }
  const auto tipped = std::count_if(runs.begin(), runs.end(),
                                    [](const RampRun& run) { return run.tip_load.has_value(); });
  const auto recovered = std::count_if(
      runs.begin(), runs.end(), [](const RampRun& run) { return run.recover_load.has_value(); });
  if (tipped > recovered) {
    notes.push_back(fmt::format(
        "{} that {} still down at the end; try a lower LO, a longer time at each step or a queue "
        "with a limited capacity (an unlimited queue has to drain first)",
        scenario::said_part(static_cast<std::size_t>(tipped - recovered),
                            static_cast<std::size_t>(tipped), "replication"),
        tipped == 1               ? "tips is"
        : tipped - recovered == 1 ? "tip is"
                                  : "tip are"));
  }
  return notes;
}

}  // namespace

LoadKey parse_load(const std::string& text) {
  const VariationResult result = parse_variation(text);
  if (!result.variation) {
    throw RequestError(fmt::format("{}: {}", hysteresis_part(), result.error->message));
  }
  const Variation& variation = *result.variation;
  LoadKey key;
  key.path = variation.paths.front();
  const std::string_view path = key.path;
  constexpr std::string_view kGroup = "client.";
  const std::size_t end = path.find('.', kGroup.size());
  const bool is_rate =
      end != std::string_view::npos &&
      (path.substr(end) == ".arrivals.rate" || path.substr(end) == ".arrivals.total_rate");
  if (variation.paths.size() != 1 || !path.starts_with(kGroup) || !is_rate) {
    throw RequestError(fmt::format(
        "{}: '{}' is not the rate of a client group, such as client.web.arrivals.total_rate",
        hysteresis_part(), key.path));
  }
  key.client = path.substr(kGroup.size(), end - kGroup.size());
  for (const std::vector<std::string>& choice : variation.choices) {
    const std::string& value = choice.front();
    double load = 0;
    const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), load);
    if (error != std::errc() || rest != value.data() + value.size() || !(load > 0)) {
      throw RequestError(fmt::format("{}: '{}' is not a load above 0", hysteresis_part(), value));
    }
    key.loads.push_back(load);
  }
  if (key.loads.size() < 2 || key.loads.size() > kMaxLoads ||
      std::adjacent_find(key.loads.begin(), key.loads.end(), std::greater_equal<>()) !=
          key.loads.end()) {
    throw RequestError(fmt::format("{}: expected LO:HI:STEP with 2 to {} rising loads",
                                   hysteresis_part(), kMaxLoads));
  }
  return key;
}

LoadResult load_at(const std::filesystem::path& file, const std::vector<std::string>& edits,
                   const LoadKey& key) {
  const Trigger rate{key.path, key.loads.front(), key.loads.back(), false, false, key.unit};
  return load_at(file, edits, rate, key.loads.front(), "hysteresis");
}

LoadRamp plan_ramp(const Scenario& steady, const LoadKey& key, std::optional<Duration> dwell) {
  const auto window = static_cast<std::int64_t>(stats::amplification_window(steady, {}));
  const LoadRamp ramp{key.loads, dwell.value_or(steady.interval * (window * kDwellWindows))};
  if (ramp.dwell < steady.interval * 4) {
    throw RequestError(fmt::format("{}: {} is shorter than four bins of {} (interval)",
                                   RequestError::part("dwell"), scenario::to_text(ramp.dwell),
                                   scenario::to_text(steady.interval)));
  }
  groups_of(key, steady);
  if (ramp.duration() > kLongestDuration) {
    throw RequestError(RequestError::part("dwell") +
                       ": all steps together would take more than 1e9 s");
  }
  return ramp;
}

HysteresisLoop find_hysteresis(const Scenario& steady, const LoadKey& key,
                               const HysteresisOptions& options) {
  HysteresisLoop loop;
  loop.ramp = plan_ramp(steady, key, options.dwell);
  const Scenario ramped = experiment::with_load_ramp(steady, groups_of(key, steady), loop.ramp);
  for (const RunResult& run : run_replications(ramped, options.run)) {
    loop.runs.push_back(stats::measure_ramp(ramped, loop.ramp, run));
  }
  loop.notes = notes_on_loop(steady, loop.runs);
  return loop;
}

}  // namespace retrysim

// SPDX-License-Identifier: MIT
#include "scenario/output_keys.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/steady_state.hpp>

#include "scenario/suggestions.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace retrysim::scenario {
namespace {

// Fewer replications tell too little of their own spread to stop by it.
constexpr int kFewestForPrecision = 10;
// Twenty batches of five.
constexpr std::int64_t kFewestBinsForWarmup = 100;

std::vector<std::string> names_in(std::string_view list) {
  constexpr std::string_view kBetween = ", \t\n";
  std::vector<std::string> names;
  while (true) {
    const std::size_t from = list.find_first_not_of(kBetween);
    if (from == std::string_view::npos) return names;
    const std::size_t to = std::min(list.find_first_of(kBetween, from), list.size());
    names.emplace_back(list.substr(from, to - from));
    list.remove_prefix(to);
  }
}

void read_metrics(const KeyResolution& keys, Scenario& scenario, Problems& problems) {
  scenario.precision.metrics = names_in(keys.text_of("precision_metrics"));
  const Place place = keys.place_of("precision_metrics");
  if (scenario.precision.metrics.empty()) {
    problems.add(place, "precision_metrics names no metric; expected some, with commas between");
  }
  for (const std::string& name : scenario.precision.metrics) {
    if (find_metric(name) != nullptr) continue;
    problems.add(place, "precision_metrics: " + unknown_metric(name));
  }
}

}  // namespace

std::string unknown_metric(std::string_view name) {
  const std::string_view near = nearest(name, metric_names());
  return in_quotes(name) + " is unknown; " +
         (near.empty() ? std::string("`retrysim list metrics` shows all of them")
                       : "did you mean \"" + std::string(near) + "\"?");
}

void prepare_precision(KeyResolution& keys, const Node& root) {
  const Member* precision = root.find("precision");
  if (precision == nullptr || precision->value.is_text()) return;
  keys.set_default("replications", std::to_string(kFewestForPrecision));
}

void read_precision(const KeyResolution& keys, Scenario& scenario, Problems& problems) {
  if (!keys.has("precision") || scenario.precision.target <= 0) return;
  if (keys.has("precision_metrics")) read_metrics(keys, scenario, problems);
  if (!keys.has("replications")) return;
  if (scenario.replications < kFewestForPrecision) {
    problems.add(keys.place_of("replications"),
                 "replications = " + std::to_string(scenario.replications) +
                     " are too few to judge a precision by; expected at least " +
                     std::to_string(kFewestForPrecision) + ", or no precision");
  }
  if (keys.has("max_replications") && scenario.precision.max_replications < scenario.replications) {
    problems.add(keys.place_of("max_replications"),
                 "max_replications = " + std::to_string(scenario.precision.max_replications) +
                     " is below replications = " + std::to_string(scenario.replications) +
                     ", the fewest; expected at least that");
  }
}

void check_steady_state(const Scenario& scenario, Place warmup_place, Problems& problems) {
  if (!scenario.warmup_is_auto) return;
  if (const auto why = why_transient(scenario)) {
    problems.add(warmup_place, "warmup = \"auto\" needs a steady state, but " + *why +
                                   "; expected a duration, such as \"30s\"");
  }
  if (scenario.duration > Duration::zero() && scenario.interval > Duration::zero() &&
      scenario.duration.count() / scenario.interval.count() < kFewestBinsForWarmup) {
    problems.add(warmup_place,
                 "warmup = \"auto\" looks at the time series, and a duration of " +
                     to_text(scenario.duration) + " has fewer than 100 bins of the interval " +
                     to_text(scenario.interval) + "; expected a shorter interval or a longer run");
  }
}

}  // namespace retrysim::scenario

// SPDX-License-Identifier: MIT
#include "report/run/evaluation.hpp"

#include "flow/calls.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <utility>

namespace retrysim::report {
namespace {

bool is_listed(const std::vector<Layer>& layers, std::size_t group) {
  return std::any_of(layers.begin(), layers.end(),
                     [&](const Layer& layer) { return layer.group == group; });
}

void add_layers(const Scenario& scenario, const flow::CallGraph& calls, std::size_t group,
                std::size_t depth, std::vector<Layer>& layers) {
  layers.push_back({group, depth});
  for (const std::size_t g : calls.groups_of(scenario.clients[group].service)) {
    if (!is_listed(layers, g)) add_layers(scenario, calls, g, depth + 1, layers);
  }
}

}  // namespace

ResultSet result_set_of(const ComparedVariant& variant) {
  ResultSet set{variant.loaded, variant.name, Runs::of(variant.runs)};
  set.storms_with_twins = variant.storms;
  set.values = variant.values;
  return set;
}

Evaluation::Evaluation(const ResultSet& results)
    : set(results),
      values(results.values ? *results.values
                            : MetricValues(results.scenario.scenario, results.runs)),
      summary(summarize(results.scenario.scenario, values)),
      phases(summarize_phases(results.scenario.scenario,
                              PhaseValues(results.scenario.scenario, results.runs))),
      bistability(stats::find_bistability(results.scenario.scenario, results.runs, values)) {
  if (results.runs.size() == 1) {
    single_run = stats::add_batch_means(scenario(), results.runs.front(), summary);
  }
  for (std::size_t r = 0; r < summary.size(); ++r) {  // rows of a client follow each other
    if (r == 0 || summary[r].client != summary[r - 1].client) {
      stop_point();
      first_rows_.try_emplace(summary[r].client, r);
    }
  }
  slos = stats::summarize_slos(scenario(), results.runs);
  verdicts = retrysim::verdicts(scenario(), results.runs);
  verdicts.insert(verdicts.end(), results.twin_verdicts.begin(), results.twin_verdicts.end());
  expectations = judge_expectations(scenario(), summary, results.runs.size());
  if (results.storms_with_twins) {
    storms = *results.storms_with_twins;
    return;
  }
  for (const RunResult& run : results.runs) {
    storms.push_back(stats::detect_storms(scenario(), run));
  }
}

std::string Evaluation::client_name(std::size_t client) const {
  return client < scenario().clients.size() ? scenario().clients[client].name : "all";
}

const SummaryRow* Evaluation::row(std::string_view client, std::string_view metric) const {
  const auto first = first_rows_.find(client);
  if (first == first_rows_.end()) return nullptr;
  for (std::size_t r = first->second; r < summary.size() && summary[r].client == client; ++r) {
    if (summary[r].metric->name == metric) return &summary[r];
  }
  return nullptr;
}

std::vector<const LoadedScenario*> scenarios_of(std::span<const Evaluation> evaluations) {
  std::vector<const LoadedScenario*> scenarios;
  for (const Evaluation& e : evaluations) scenarios.push_back(&e.set.scenario);
  return scenarios;
}

std::vector<Layer> call_order(const Scenario& scenario) {
  const flow::CallGraph calls(scenario);
  std::vector<Layer> layers;
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    if (!scenario.clients[g].makes_calls()) add_layers(scenario, calls, g, 0, layers);
  }
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {  // whose service nobody calls
    if (!is_listed(layers, g)) add_layers(scenario, calls, g, 0, layers);
  }
  return layers;
}

}  // namespace retrysim::report

// A set of replications and everything computed from it.
//
// SPDX-License-Identifier: MIT
#include "report/evaluation.hpp"

#include <algorithm>
#include <utility>

namespace retrysim::report {

ResultSet result_set_of(ComparedVariant& variant) {
  ResultSet set{variant.loaded, variant.name, std::move(variant.runs)};
  set.storms_with_twins = variant.storms;
  set.values = std::move(variant.values);
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
  verdicts = retrysim::verdicts(scenario(), results.runs);
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

bool Evaluation::all_expectations_hold() const {
  return std::all_of(expectations.begin(), expectations.end(),
                     [](const ExpectationResult& e) { return e.passed; });
}

}  // namespace retrysim::report

// The first example of include/retrysim/README.md, which shows these lines from the includes on.
//
// SPDX-License-Identifier: MIT
#include <retrysim/experiment.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/verdict.hpp>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto result = retrysim::load_scenario_file(argv[1], {"client.*.retry.max_attempts=1"});
  for (const auto& error : result.errors) std::cerr << to_string(error) << '\n';
  if (!result.loaded) return 3;

  retrysim::Scenario scenario = result.loaded->scenario;
  const auto experiment = retrysim::run_experiment(scenario, {.jobs = 2});
  for (const auto& verdict : retrysim::verdicts(scenario, experiment.runs)) {
    std::cout << verdict.client << ": " << verdict.sentence << '\n';
  }
}

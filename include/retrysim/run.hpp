// The replications of one scenario, with everything that a command says of them: verdicts and
// tables.
//
//     const Run r = run(load("deploy.toml"), {.jobs = 2});
//     for (const Verdict& v : verdicts(r)) ... v.client ... v.sentence ...
//     const Table summary = tables(r)["summary"];
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/verdict.hpp>

#include <optional>
#include <vector>

namespace retrysim {

class Tables;

struct Run {
  LoadedScenario scenario;                   ///< with the warm-up found, if it asked for one
  std::vector<RunResult> replications;       ///< in the order of their numbers
  std::optional<FoundWarmup> warmup;         ///< if it was looked for
  std::optional<PrecisionReport> precision;  ///< if there is a target
};

/// Simulates the replications of a scenario: as many as it says, or as its precision needs (see
/// `run_experiment`). Throws `Interrupted`, `LimitExceeded`, `WarmupNotFound`, and
/// std::invalid_argument for a scenario made by hand that is not valid.
Run run(LoadedScenario scenario, const ReplicationOptions& options = {});

/// How each client group fared and why; see `verdicts` in verdict.hpp.
std::vector<Verdict> verdicts(const Run& run);

/// summary, replications, timeseries, service, latency, attempts, burstiness, storms,
/// mean_timeseries, mean_service; phases, if there is a fault, a surge or a phase of the scenario's
/// own; and instances, if a service has several. The run must outlive them.
Tables tables(const Run& run);

}  // namespace retrysim

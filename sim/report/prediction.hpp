// A prediction as files.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/fluid.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/scenario_file.hpp>

#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {

struct PredictionReport {
  const LoadedScenario& scenario;
  const Prediction& prediction;
  std::vector<std::pair<std::string, PhasePlane>> planes;  ///< by the name of the service
};

/// One row a figure, doubt, part that does not apply or warning.
void write_prediction_csv(Sink& sink, const Prediction& prediction);
std::string prediction_json(const Scenario& scenario, const Prediction& prediction);

/// One row a point of a trajectory. `time_s` begins at the end of the trigger.
void write_trajectories_csv(Sink& sink, const PredictionReport& report);
/// One row an equilibrium; an empty backlog grows for ever.
void write_equilibria_csv(Sink& sink, const PredictionReport& report);

/// Writes prediction.csv, trajectories.csv, equilibria.csv, scenario.toml with its inputs and
/// result.json, and commits.
void write_prediction_files(ResultFolder& folder, const PredictionReport& report);

// What `retrysim predict` says, as a terminal shows it.

/// The figures by part and subject, what does not apply or is doubtful, and warnings, in lines of
/// so many columns.
std::string prediction_text(const Prediction& prediction, std::size_t columns);

}  // namespace retrysim::report

// What `retrysim predict` says.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>
#include <retrysim/scenario.hpp>

#include "report/document/document.hpp"

#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {

/// Phase planes by the name of the service.
using Planes = std::vector<std::pair<std::string, PhasePlane>>;

/// The figures by part and subject, what does not apply or is doubtful, and warnings.
Document prediction_document(const Prediction& prediction);
/// The prediction for programs, as standard output has it.
std::string prediction_json(const LoadedScenario& loaded, const Prediction& prediction);

/// The prediction as a result, with the phase planes.
Document prediction_document(const LoadedScenario& scenario, const Prediction& prediction,
                             const Planes& planes);

/// The phase planes of the services to which the fluid applies.
Planes planes_of(const Scenario& scenario);

/// prediction.csv, and with phase planes trajectories.csv and equilibria.csv.
std::vector<TableSource> prediction_tables(const Prediction& prediction, const Planes& planes);

}  // namespace retrysim::report

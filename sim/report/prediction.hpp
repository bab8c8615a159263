// The output of `retrysim predict`.
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

/// Phase planes, each with the name of its service.
using Planes = std::vector<std::pair<std::string, PhasePlane>>;

/// The document on a prediction: the figures by part and subject, parts that do not apply or are
/// doubtful, and warnings.
Document prediction_document(const Prediction& prediction);
/// The prediction for programs, as JSON on standard output.
std::string prediction_json(const LoadedScenario& loaded, const Prediction& prediction);

/// The document of a prediction as a result, with the phase planes.
Document prediction_document(const LoadedScenario& scenario, const Prediction& prediction,
                             const Planes& planes);

/// The phase planes of the services to which the fluid model applies.
Planes planes_of(const Scenario& scenario);

/// The table prediction.csv, and with phase planes trajectories.csv and equilibria.csv.
std::vector<TableSource> prediction_tables(const Prediction& prediction, const Planes& planes);

}  // namespace retrysim::report

// The output of `retrysim map`: a map of phases and its confirmed points.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>
#include <retrysim/scenario.hpp>

#include "report/document/document.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

struct MapReport {
  const LoadedScenario& scenario;   ///< the scenario without the values of the plane
  std::vector<std::string> varied;  ///< what --vary was given, as the user wrote it
  const PhaseMap& map;
  std::size_t asked = 0;  ///< points to confirm, as given to --confirm
  std::vector<MapConfirmation> confirmed;
};

/// The document on a map: a picture, and the results of the points that were simulated.
Document map_document(const MapReport& report);

/// The table map.csv, and confirm.csv if there are confirmations.
std::vector<TableSource> map_tables(const PhaseMap& map,
                                    const std::vector<MapConfirmation>& confirmed);

}  // namespace retrysim::report

// A map of phases and its confirmed points: tables, JSON, and what a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/phase_map.hpp>
#include <retrysim/scenario_file.hpp>

#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <optional>
#include <string>
#include <vector>

namespace retrysim::report {

struct MapReport {
  const LoadedScenario& scenario;   ///< as it is without the values of the plane
  std::vector<std::string> varied;  ///< as given to --vary
  const PhaseMap& map;
  std::size_t asked = 0;  ///< points to confirm, as given to --confirm
  std::vector<MapConfirmation> confirmed;
};

/// One row a point: phase, loads, and whether the quota is why it is safe.
void write_map_csv(Sink& sink, const MapReport& report);
/// One row a confirmed point. `share_down` is that of the replications, with Wilson's interval.
void write_confirm_csv(Sink& sink, const MapReport& report);
void write_map_json(Sink& sink, const MapReport& report, const std::vector<FileRecord>& files);
/// In lines of at most `columns`, of which the picture shows every second value of the first key,
/// or every third ..., where it has more.
void write_map_text(Sink& sink, const MapReport& report, std::size_t columns);

/// Writes map.csv, confirm.csv (if points were confirmed), scenario.toml with its inputs and
/// result.json, and commits.
void write_map_files(ResultFolder& folder, const MapReport& report);

}  // namespace retrysim::report

// The names of the files in result folders, in one table. A scenario's CSV inputs are copied into
// the same folder, and programs that read a result go by these names, so no input may have one of
// them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace retrysim::scenario {

/// Names of the tables and documents of all commands. Scenarios of further variants are
/// "scenario-2.toml", ...
inline constexpr std::array<std::string_view, 45> kResultFiles = {
    "against.csv",      "advice.csv",       "attempts.csv",     "backtest.csv",
    "burstiness.csv",   "choose.csv",       "compare.csv",      "confirm.csv",
    "curve.csv",        "durations.csv",    "equilibria.csv",   "fit.csv",
    "hysteresis.csv",   "incidents.csv",    "instances.csv",    "latency.csv",
    "laws.csv",         "map.csv",          "mean_service.csv", "mean_timeseries.csv",
    "path.csv",         "phases.csv",       "points.csv",       "prediction.csv",
    "race.csv",         "replications.csv", "result.json",      "risk.csv",
    "scenario.toml",    "service.csv",      "slo.csv",          "storms.csv",
    "summary.csv",      "thresholds.csv",   "timeseries.csv",   "tip.csv",
    "trajectories.csv", "uncertain.csv",    "upgrade.csv",      "verdicts.csv",
    "size.csv",         "frontier.csv",     "variants.csv",     "periods.csv",
    "levels.csv"};

/// Names of pictures that scripts/plot.py puts beside the data, each in one of `kPictureFormats`.
inline constexpr std::array<std::string_view, 17> kPictures = {
    "advise", "glance",        "fit",       "overview",  "latency",    "compare",
    "sweep",  "sweep_clients", "tip",       "tip_curve", "hysteresis", "choose",
    "map",    "phase_plane",   "uncertain", "size",      "risk"};
inline constexpr std::array<std::string_view, 3> kPictureFormats = {".png", ".svg", ".pdf"};

/// The page that `retrysim report` puts into a result folder.
inline constexpr std::string_view kReportPage = "report.html";

/// Prefix of the names of folders in which a result is collected.
inline constexpr std::string_view kStagingMark = ".retrysim-new-";

/// The folder beside results in which commands keep finished replications.
inline constexpr std::string_view kStoreFolder = ".retrysim-runs";

/// Whether a command writes a file of this name as a part of its result.
inline bool is_result_file(std::string_view name) {
  if (std::find(kResultFiles.begin(), kResultFiles.end(), name) != kResultFiles.end()) return true;
  constexpr std::string_view kFirst = "scenario-", kLast = ".toml";
  if (!name.starts_with(kFirst) || !name.ends_with(kLast)) return false;
  if (name.size() <= kFirst.size() + kLast.size()) return false;
  name.remove_prefix(kFirst.size());
  name.remove_suffix(kLast.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether `name` is that of a picture or of the page, which are made from a result.
inline bool is_made_from_result(std::string_view name) {
  if (name == kReportPage) return true;
  return std::any_of(kPictureFormats.begin(), kPictureFormats.end(), [&](std::string_view format) {
    return name.ends_with(format) &&
           std::find(kPictures.begin(), kPictures.end(),
                     name.substr(0, name.size() - format.size())) != kPictures.end();
  });
}

/// Whether an input file must not have this name.
inline bool is_taken_by_results(std::string_view name) {
  return is_result_file(name) || is_made_from_result(name) || name.starts_with(kStagingMark);
}

}  // namespace retrysim::scenario

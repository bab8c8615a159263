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

/// Tables and documents of all commands. Those of further variants are "scenario-2.toml", ...
inline constexpr std::array<std::string_view, 34> kResultFiles = {
    "advice.csv",     "attempts.csv",   "backtest.csv",     "burstiness.csv",      "choose.csv",
    "compare.csv",    "confirm.csv",    "curve.csv",        "durations.csv",       "equilibria.csv",
    "fit.csv",        "hysteresis.csv", "incidents.csv",    "instances.csv",       "latency.csv",
    "laws.csv",       "map.csv",        "mean_service.csv", "mean_timeseries.csv", "phases.csv",
    "points.csv",     "prediction.csv", "race.csv",         "replications.csv",    "result.json",
    "scenario.toml",  "service.csv",    "storms.csv",       "summary.csv",         "thresholds.csv",
    "timeseries.csv", "tip.csv",        "trajectories.csv", "verdicts.csv"};

/// The journals of a sweep, a search for tipping points and a race of policies under way. They do
/// not belong to another result, and are never replaced with one.
struct Journal {
  std::string_view name, of;
};
inline constexpr std::array<Journal, 3> kJournals = {{{"sweep.journal", "sweep"},
                                                      {"tip.journal", "search for a tipping point"},
                                                      {"choose.journal", "race of policies"}}};
inline constexpr std::string_view kSweepJournal = kJournals[0].name;
inline constexpr std::string_view kTipJournal = kJournals[1].name;
inline constexpr std::string_view kChoiceJournal = kJournals[2].name;

inline bool is_journal(std::string_view name) {
  return std::any_of(kJournals.begin(), kJournals.end(),
                     [&](const Journal& journal) { return journal.name == name; });
}

/// Pictures that scripts/plot.py puts beside the data, each in one of the formats.
inline constexpr std::array<std::string_view, 12> kPictures = {
    "advise", "overview",  "latency",    "compare", "sweep", "sweep_clients",
    "tip",    "tip_curve", "hysteresis", "choose",  "map",   "phase_plane"};
inline constexpr std::array<std::string_view, 3> kPictureFormats = {".png", ".svg", ".pdf"};

/// The page that `retrysim report` puts there.
inline constexpr std::string_view kReportPage = "report.html";

/// How the names of folders begin in which a result is collected.
inline constexpr std::string_view kStagingMark = ".retrysim-new-";

/// Whether a command writes a file of this name as a part of its result, or keeps a journal in it.
inline bool is_result_file(std::string_view name) {
  if (std::find(kResultFiles.begin(), kResultFiles.end(), name) != kResultFiles.end()) return true;
  if (is_journal(name)) return true;
  constexpr std::string_view kFirst = "scenario-", kLast = ".toml";
  if (!name.starts_with(kFirst) || !name.ends_with(kLast)) return false;
  if (name.size() <= kFirst.size() + kLast.size()) return false;
  name.remove_prefix(kFirst.size());
  name.remove_suffix(kLast.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether it is the name of a picture or of the page, which are made from a result.
inline bool is_made_from_result(std::string_view name) {
  if (name == kReportPage) return true;
  return std::any_of(kPictureFormats.begin(), kPictureFormats.end(), [&](std::string_view format) {
    return name.ends_with(format) &&
           std::find(kPictures.begin(), kPictures.end(),
                     name.substr(0, name.size() - format.size())) != kPictures.end();
  });
}

/// Whether an input file must not be called so.
inline bool is_taken_by_results(std::string_view name) {
  return is_result_file(name) || is_made_from_result(name) || name.starts_with(kStagingMark);
}

}  // namespace retrysim::scenario

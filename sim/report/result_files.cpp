// Writing a complete result folder.
//
// SPDX-License-Identifier: MIT
#include "report/result_files.hpp"

#include <retrysim/scenario_file.hpp>

#include "report/mean_series_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace retrysim::report {

namespace {

/// Writes the resolved scenario and copies its inputs, but those in `copied`.
void write_scenario(ResultFolder& folder, const std::string& name, const LoadedScenario& loaded,
                    const std::string& comment, std::vector<std::filesystem::path>& copied) {
  folder.write(name, [&](Sink& sink) { sink.write(comment + to_toml(loaded, false)); });
  for (const std::filesystem::path& input : loaded.input_files) {
    // A file that several keys name is copied once; two files of one name are an error.
    if (std::find(copied.begin(), copied.end(), input) != copied.end()) continue;
    folder.copy(input);
    copied.push_back(input);
  }
}

}  // namespace

void write_result_files(ResultFolder& folder, Evaluations evaluations,
                        const ResultAdditions& additions) {
  struct Table {
    const char* name;
    void (*write)(Sink&, Evaluations);
  };
  constexpr Table kTables[] = {
      {"summary.csv", write_summary_csv},       {"replications.csv", write_replications_csv},
      {"timeseries.csv", write_timeseries_csv}, {"service.csv", write_service_csv},
      {"latency.csv", write_latency_csv},       {"attempts.csv", write_attempts_csv},
      {"burstiness.csv", write_burstiness_csv}, {"storms.csv", write_storms_csv},
  };
  for (const Table& table : kTables) {
    folder.write(table.name, [&](Sink& sink) { table.write(sink, evaluations); });
  }
  StringSink mean_service;  // small: a few hundred bins for each service
  folder.write(std::string(kMeanTimeseries),
               [&](Sink& sink) { write_mean_series_csv(sink, mean_service, evaluations); });
  folder.write(std::string(kMeanService), [&](Sink& sink) { sink.write(mean_service.text()); });
  const bool has_phases = std::any_of(evaluations.begin(), evaluations.end(),
                                      [](const Evaluation& e) { return !e.phases.empty(); });
  if (has_phases) {
    folder.write("phases.csv", [&](Sink& sink) { write_phases_csv(sink, evaluations); });
  }
  const bool several = std::any_of(evaluations.begin(), evaluations.end(), [](const Evaluation& e) {
    return std::any_of(e.scenario().services.begin(), e.scenario().services.end(),
                       [](const ServiceSpec& s) { return s.instances.count > 1; });
  });
  if (several) {
    folder.write("instances.csv", [&](Sink& sink) { write_instances_csv(sink, evaluations); });
  }
  for (const ResultAdditions::Table& table : additions.tables) {
    folder.write(table.name, table.write);
  }
  std::vector<std::filesystem::path> copied;
  for (std::size_t v = 0; v < evaluations.size(); ++v) {
    write_scenario(folder, v == 0 ? "scenario.toml" : fmt::format("scenario-{}.toml", v + 1),
                   evaluations[v].set.scenario,
                   additions.comment ? additions.comment(evaluations[v]) : "", copied);
  }
  folder.write("result.json", [&](Sink& sink) {
    write_result_json(sink, evaluations, folder.files(), additions.sections);
  });
  folder.commit();
}

void write_scenario_files(ResultFolder& folder, const LoadedScenario& loaded) {
  std::vector<std::filesystem::path> copied;
  write_scenario(folder, "scenario.toml", loaded, "", copied);
}

}  // namespace retrysim::report

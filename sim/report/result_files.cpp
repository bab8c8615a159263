// Writing a complete result folder.
//
// SPDX-License-Identifier: MIT
#include "report/result_files.hpp"

#include "report/result_json.hpp"

#include <retrysim/scenario_file.hpp>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace retrysim::report {

void write_scenario(ResultFolder& folder, const LoadedScenario& loaded) {
  folder.write("scenario.toml", [&](Sink& sink) { sink.write(to_toml(loaded, false)); });
  std::vector<std::filesystem::path> copied;
  for (const std::filesystem::path& input : loaded.input_files) {
    // A file that several keys name is copied once; two files of one name are an error.
    if (std::find(copied.begin(), copied.end(), input) != copied.end()) continue;
    folder.copy(input);
    copied.push_back(input);
  }
}

void write_result_files(ResultFolder& folder, Evaluations evaluations) {
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
  write_scenario(folder, evaluations.front().set.scenario);
  std::vector<std::string> files = folder.files();
  files.emplace_back("result.json");
  folder.write("result.json", [&](Sink& sink) { write_result_json(sink, evaluations, files); });
  folder.commit();
}

}  // namespace retrysim::report

// Writing a complete result folder.
//
// SPDX-License-Identifier: MIT
#include "report/result_files.hpp"

#include <retrysim/scenario_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace retrysim::report {

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
  for (const ResultAdditions::Table& table : additions.tables) {
    folder.write(table.name, table.write);
  }
  std::vector<std::filesystem::path> copied;
  for (std::size_t v = 0; v < evaluations.size(); ++v) {
    const LoadedScenario& loaded = evaluations[v].set.scenario;
    const std::string comment = additions.comment ? additions.comment(evaluations[v]) : "";
    folder.write(v == 0 ? "scenario.toml" : fmt::format("scenario-{}.toml", v + 1),
                 [&](Sink& sink) { sink.write(comment + to_toml(loaded, false)); });
    for (const std::filesystem::path& input : loaded.input_files) {
      // A file that several keys name is copied once; two files of one name are an error.
      if (std::find(copied.begin(), copied.end(), input) != copied.end()) continue;
      folder.copy(input);
      copied.push_back(input);
    }
  }
  std::vector<std::string> files = folder.files();
  files.emplace_back("result.json");
  folder.write("result.json", [&](Sink& sink) {
    write_result_json(sink, evaluations, files, additions.sections);
  });
  folder.commit();
}

}  // namespace retrysim::report

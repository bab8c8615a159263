// SPDX-License-Identifier: MIT
#include "cli/hysteresis.hpp"

#include <retrysim/hysteresis.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "report/hysteresis_report.hpp"
#include "report/progress_bar.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/terminal.hpp"

#include <optional>

namespace retrysim::cli {

int hysteresis(const HysteresisCommand& options, const Session& session) {
  const LoadKey key = parse_load(options.load);
  const LoadResult result = load_at(options.scenario, options.edits, key);
  session.print_errors(result.errors);
  if (!result.loaded) return kBadInput;
  const LoadedScenario& loaded = *result.loaded;
  session.print_notes(loaded);
  session.agree_on(loaded);
  if (loaded.scenario.precision.target > 0) {
    session.print_note(
        "precision has no effect on a hysteresis loop: it has the number of replications that the "
        "scenario gives");
  }
  std::optional<Duration> dwell;
  if (options.dwell) dwell = duration_above_zero("dwell", *options.dwell);
  const LoadRamp ramp = plan_ramp(loaded.scenario, key, dwell);
  const auto folder = session.result_folder(report::identity_of(
      {&loaded}, "tip",
      {report::hysteresis_request(key.path, ramp.loads, ramp.dwell.in_seconds())}));
  report::ProgressBar bar = session.progress_bar(loaded.scenario.name);
  HysteresisLoop loop;
  session.simulate(loaded.scenario.name, bar, [&](const ReplicationOptions& run) {
    loop = find_hysteresis(loaded.scenario, key, {dwell, run});
  });
  if (!session.leads()) return kDone;
  const report::HysteresisReport found{loaded, key, loop};
  report::write_hysteresis_files(*folder, found);
  print_result(options, {folder->path(), "hysteresis.csv", [&](report::Sink& sink) {
                           report::write_hysteresis_text(sink, found, report::output_columns());
                         }});
  return kDone;
}

}  // namespace retrysim::cli

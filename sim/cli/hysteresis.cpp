// SPDX-License-Identifier: MIT
#include "cli/hysteresis.hpp"

#include <retrysim/scenario_file.hpp>
#include <retrysim/variation.hpp>

#include "cli/commands.hpp"
#include "cli/trigger.hpp"
#include "experiment/load_ramp.hpp"
#include "report/hysteresis_report.hpp"
#include "report/progress_bar.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/sink.hpp"
#include "report/terminal.hpp"
#include "scenario/values.hpp"
#include "stats/hysteresis.hpp"
#include "stats/storms.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOption = "--hysteresis";
constexpr std::size_t kMostLoads = 1000;
constexpr int kDwellWindows = 20;

/// The loads, and the key that takes them.
struct LoadKey {
  std::string path;
  std::string client;  ///< name of the group, or "*"
  std::vector<double> loads;
};

LoadKey parse_load(const std::string& text) {
  VariationResult result = parse_variation(text);
  if (!result.variation) {
    throw UsageError(fmt::format("{}: {}", kOption, result.error->message));
  }
  const Variation& variation = *result.variation;
  LoadKey key;
  key.path = variation.paths.front();
  const std::string_view path = key.path;
  constexpr std::string_view kGroup = "client.";
  const std::size_t end = path.find('.', kGroup.size());
  const bool is_rate =
      end != std::string_view::npos &&
      (path.substr(end) == ".arrivals.rate" || path.substr(end) == ".arrivals.total_rate");
  if (variation.paths.size() != 1 || !path.starts_with(kGroup) || !is_rate) {
    throw UsageError(fmt::format(
        "{}: '{}' is not the rate of a client group, such as client.web.arrivals.total_rate",
        kOption, key.path));
  }
  key.client = path.substr(kGroup.size(), end - kGroup.size());
  for (const std::vector<std::string>& choice : variation.choices) {
    const std::string& value = choice.front();
    double load = 0;
    const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), load);
    if (error != std::errc() || rest != value.data() + value.size() || !(load > 0)) {
      throw UsageError(fmt::format("{}: '{}' is not a load above 0", kOption, value));
    }
    key.loads.push_back(load);
  }
  if (key.loads.size() < 2 || key.loads.size() > kMostLoads ||
      std::adjacent_find(key.loads.begin(), key.loads.end(), std::greater_equal<>()) !=
          key.loads.end()) {
    throw UsageError(
        fmt::format("{}: expected LO:HI:STEP with 2 to {} rising loads", kOption, kMostLoads));
  }
  return key;
}

/// The client groups whose rate the key is. Throws UsageError where a ramp cannot be.
std::vector<std::size_t> groups_of(const LoadKey& key, const Scenario& scenario) {
  std::vector<std::size_t> groups;
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    const ClientSpec& client = scenario.clients[c];
    if (client.caller || (key.client != "*" && client.name != key.client)) continue;
    if (client.arrivals.profile) {
      throw UsageError(
          fmt::format("{}: the rate of {} has a profile of its own", kOption, client.name));
    }
    groups.push_back(c);
  }
  return groups;
}

Duration dwell_of(const HysteresisOptions& options, const Scenario& scenario) {
  const auto window = static_cast<std::int64_t>(stats::amplification_window(scenario, {}));
  Duration dwell = scenario.interval * (window * kDwellWindows);
  if (options.dwell) dwell = duration_above_zero("dwell", *options.dwell);
  if (dwell < scenario.interval * 4) {
    throw UsageError(fmt::format("--dwell: {} is shorter than four bins of {} (interval)",
                                 scenario::to_text(dwell), scenario::to_text(scenario.interval)));
  }
  return dwell;
}

std::vector<std::string> notes_on(const Scenario& scenario,
                                  const std::vector<stats::RampRun>& runs) {
  std::vector<std::string> notes;
  const bool surges = std::any_of(scenario.clients.begin(), scenario.clients.end(),
                                  [](const ClientSpec& c) { return !c.arrivals.surges.empty(); });
  if (!scenario.faults.empty() || surges) {
    notes.emplace_back("faults and surges of the scenario are left out");
  }
  const auto tipped = std::count_if(runs.begin(), runs.end(),
                                    [](const auto& run) { return run.tip_load.has_value(); });
  const auto recovered = std::count_if(
      runs.begin(), runs.end(), [](const auto& run) { return run.recover_load.has_value(); });
  if (tipped > recovered) {
    notes.push_back(
        fmt::format("{} of {} replications that tip are still down at the end; try a lower LO, a "
                    "longer --dwell or a queue with a limited capacity (an unlimited queue has to "
                    "drain first)",
                    tipped - recovered, tipped));
  }
  return notes;
}

void print_result(const HysteresisOptions& options, const report::HysteresisResult& result,
                  const report::ResultFolder& folder) {
  if (options.quiet) return;
  report::StandardOutput out(options.format);
  if (options.format == "csv") {
    report::write_hysteresis_csv(out, result);
  } else if (options.format == "json") {
    report::write_hysteresis_json(out, result, folder.files());
  } else {
    report::write_hysteresis_text(out, result);
    out.write(fmt::format("\nResult files: {}\n", folder.path().string()));
  }
  out.flush();
}

}  // namespace

int find_hysteresis(const HysteresisOptions& options, const Session& session) {
  const LoadKey key = parse_load(options.load);
  const TriggerRange range{key.path, key.loads.front(), key.loads.back(), false, false, "1/s"};
  const LoadResult loaded =
      load_at(options.scenario, options.edits, range, key.loads.front(), kOption);
  session.print_errors(loaded.errors);
  if (!loaded.loaded) return kBadInput;
  session.print_notes(*loaded.loaded);
  session.agree_on(*loaded.loaded);
  const Scenario& steady = loaded.loaded->scenario;
  if (steady.precision > 0) {
    session.print_note(
        "precision has no effect on a hysteresis loop: it has the number of replications that the "
        "scenario gives");
  }
  const stats::LoadRamp ramp{key.loads, dwell_of(options, steady)};
  const Scenario scenario = experiment::with_load_ramp(steady, groups_of(key, steady), ramp);
  if (scenario.duration > kLongestDuration) {
    throw UsageError("--dwell: all steps together would take more than 1e9 s");
  }
  const auto folder = session.result_folder(report::identity_of(
      {&*loaded.loaded}, "tip",
      {report::hysteresis_request(key.path, ramp.loads, ramp.dwell.in_seconds())}));
  report::ProgressBar bar = session.progress_bar(steady.name);
  const auto runs = session.run_replications(scenario, bar);
  bar.clear();
  if (!session.leads()) return kDone;
  report::HysteresisResult result{*loaded.loaded, key.path, range.unit, ramp, {}, {}};
  for (const RunResult& run : runs) {
    result.runs.push_back(stats::measure_ramp(scenario, ramp, run));
  }
  result.notes = notes_on(steady, result.runs);
  report::write_hysteresis_files(*folder, result);
  print_result(options, result, *folder);
  return kDone;
}

}  // namespace retrysim::cli

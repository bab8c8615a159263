// SPDX-License-Identifier: MIT
#include "fit/whole_fit.hpp"

#include <retrysim/simulation.hpp>
#include <retrysim/words.hpp>

#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

namespace retrysim::fit {

namespace {

/// Simulates a fit of the first half of the log, and compares it with the second half.
std::optional<Backtest> backtest(const Log& log, const Fit& whole, std::string& why_not) {
  std::optional<BacktestPlan> plan = BacktestPlan::of(log, whole, why_not);
  if (!plan) return std::nullopt;
  InputTexts inputs;
  for (auto& [file, content] : plan->files()) inputs[file] = std::move(content);
  const LoadResult result = load_scenario_with_inputs(inputs["scenario.toml"], "backtest", inputs);
  if (!result.loaded) {
    why_not = fmt::format("the scenario of the first half does not load: {}",
                          result.errors.front().message);
    return std::nullopt;
  }
  for (std::uint32_t run = 0; run < plan->runs(); ++run) {
    std::vector<Observation> answers;
    SimulationOptions options;
    options.access_log = [&](const AccessLogEntry& entry) {
      answers.push_back(Observation::of(entry.answered.count() - entry.duration.count(),
                                        entry.duration.count(), entry.status));
    };
    simulate(result.loaded->scenario, run, options);
    plan->add_run(std::move(answers));
  }
  return plan->result();
}

}  // namespace

WholeFit fit_files(const std::vector<std::string>& logs, const LogOptions& options) {
  WholeFit whole;
  whole.log = read_log(logs, options);
  whole.fit = fit_log(whole.log);
  whole.backtest = backtest(whole.log, whole.fit, whole.why_untested);
  // With a coarse clock the arrivals of the scenario differ slightly from those of the log.
  if (whole.backtest && !whole.log.is_coarse) {
    if (const std::optional<std::string> why = whole.backtest->refusal(whole.fit)) {
      refuse_service_time(whole.fit, *why);
    }
  }
  return whole;
}

std::string source_of(const std::vector<std::string>& logs, const Log& log) {
  std::string source = fmt::format("Fitted by retrysim {} from", RETRYSIM_VERSION);
  for (const std::string& file : logs) {
    source += " " + (file == "-" ? "standard input" : scenario::printable_line(file));
  }
  return source + fmt::format(" ({} lines).", scenario::grouped(log.lines));
}

LoadedScenario load_files(const std::vector<std::pair<std::string, std::string>>& files) {
  InputTexts inputs(files.begin(), files.end());
  LoadResult result = load_scenario_with_inputs(inputs["scenario.toml"], "scenario.toml", inputs);
  if (result.loaded) return *std::move(result.loaded);
  throw BadLog(fmt::format("no scenario that loads can be made of this log: {}",
                           to_string(result.errors.front())));
}

}  // namespace retrysim::fit

namespace retrysim {

namespace {

fit::LogOptions log_options(const FitOptions& options) {
  fit::LogOptions log;
  log.format = options.format;
  for (const auto& [role, column] : options.columns) {
    const std::vector<std::string_view> words = scenario::split_words(kWords<fit::Role>);
    const auto word = std::find(words.begin(), words.end(), role);
    if (word == words.end()) {
      throw RequestError(fmt::format("{}: there is no '{}'; {}", RequestError::part("columns"),
                                     scenario::printable_line(role),
                                     scenario::suggestion(role, words, "expected one of")));
    }
    log.columns[static_cast<fit::Role>(word - words.begin())] = column;
  }
  log.duration_unit_s = options.duration_unit_s;
  log.time_is_start = options.time_is_start;
  log.service = options.service;
  log.bad_lines = options.allow_bad_lines;
  return log;
}

}  // namespace

FittedLog fit_log(const std::vector<std::filesystem::path>& logs, const FitOptions& options) {
  if (!scenario::can_name_scenario(options.name)) {
    throw RequestError(fmt::format("{}: \"{}\" {}", RequestError::part("name"),
                                   scenario::printable_line(options.name),
                                   scenario::kNoScenarioName));
  }
  auto details = std::make_shared<FittedLog::Details>();
  details->name = options.name;
  for (const std::filesystem::path& log : logs) details->logs.push_back(log.string());
  details->whole = fit::fit_files(details->logs, log_options(options));
  FittedLog fitted;
  fitted.files = fit::scenario_files(details->whole.fit, details->name,
                                     fit::source_of(details->logs, details->whole.log));
  fitted.scenario = fit::load_files(fitted.files);
  fitted.notes = details->whole.fit.notes;
  fitted.why_untested = details->whole.why_untested;
  fitted.details = std::move(details);
  return fitted;
}

}  // namespace retrysim

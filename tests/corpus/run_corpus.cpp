// Runs the scenarios of the corpus, one after the other, and prints checksums of what each does;
// see corpus.py, which draws them, keeps the checksums and says what has changed.
//
// Usage: run_corpus SCENARIOS [--metrics FILE] [--full] [NUMBER...]
//
// SCENARIOS holds each scenario below a line "=== NUMBER [VARIABLE=VALUE...]", and its CSV inputs
// below lines "--- NAME". FILE names the metrics that count, separated by white space; without it
// all do. --full prints what the checksums are made of instead.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>

#include "experiment/twins.hpp"
#include "report/document/csv_writer.hpp"
#include "report/folder/manifest.hpp"
#include "report/prediction.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/tables.hpp"
#include "report/run/text.hpp"
#include "temporary_folder.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {
namespace {

constexpr std::size_t kColumns = 80;
/// The scenarios of the corpus have far fewer, unless a change makes one run for ever.
constexpr std::uint64_t kMaxEvents = 30'000;

struct Entry {
  std::string number;
  std::vector<std::string> environment;  ///< "AWS_MAX_ATTEMPTS=2"
  std::string scenario;
  std::vector<std::pair<std::string, std::string>> files;  ///< name and text
};

std::vector<Entry> read_entries(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path.string() + ": cannot be read");
  std::vector<Entry> entries;
  std::string line;
  std::string* text = nullptr;
  while (std::getline(in, line)) {
    if (line.rfind("=== ", 0) == 0) {
      std::istringstream words(line.substr(4));
      Entry& entry = entries.emplace_back();
      words >> entry.number;
      for (std::string word; words >> word;) entry.environment.push_back(word);
      text = &entry.scenario;
    } else if (line.rfind("--- ", 0) == 0 && !entries.empty()) {
      text = &entries.back().files.emplace_back(line.substr(4), "").second;
    } else if (text != nullptr) {
      *text += line + '\n';
    }
  }
  return entries;
}

/// What is looked at. A change of words must not look like one of figures, so each has a checksum.
enum Part : std::size_t { kEvents, kFigures, kTables, kWords, kPredictions, kParts };
constexpr std::array<const char*, kParts> kPartNames = {"events", "figures", "tables", "words",
                                                        "predictions"};

/// What a result may show, by name: a metric with a value other than zero, a verdict.
using Shown = std::map<std::string, bool>;

struct Outcome {
  std::array<std::string, kParts> texts;
  Shown shown;
  std::uint64_t events = 0;
};

using report::StringSink;

/// Metrics and phases: only of the metrics that count, so that a new one changes nothing.
std::string figures_of(const report::Evaluation& e, const std::set<std::string_view>& metrics) {
  const auto counts = [&](const MetricInfo& metric) {
    return metrics.empty() || metrics.count(metric.name) > 0;
  };
  StringSink sink;
  std::vector<SummaryRow> rows = e.summary;
  std::erase_if(rows, [&](const SummaryRow& row) { return !counts(*row.metric); });
  const auto write_rows = [&](std::vector<ColumnInfo> columns, auto add) {
    report::TableBuilder table(std::move(columns));
    add(table);
    report::CsvWriter(sink).rows(table.finish());
  };
  write_rows(report::summary_columns(),
             [&](auto& table) { report::add_summary_rows(table, "", "", rows); });
  std::vector<PhaseSummary> phases = e.phases;
  for (PhaseSummary& phase : phases) {
    std::erase_if(phase.metrics, [&](const PhaseEstimate& row) { return !counts(*row.metric); });
  }
  write_rows(report::phases_columns(),
             [&](auto& table) { report::add_phases_rows(table, "", "", phases); });
  for (const ExpectationResult& expectation : e.expectations) {
    sink.write(expectation.holds() ? "met\n" : expectation.fails() ? "not met\n" : "uncertain\n");
  }
  return sink.text();
}

std::string tables_of(const report::Evaluation& e) {
  StringSink sink;
  const report::Evaluations all(&e, 1);
  report::write_csv(sink, report::timeseries_table(all));
  report::write_csv(sink, report::service_table(all));
  report::write_csv(sink, report::latency_table(all));
  report::write_csv(sink, report::attempts_table(all));
  report::write_csv(sink, report::burstiness_table(all));
  report::write_csv(sink, report::storms_table(all));
  report::write_csv(sink, report::instances_table(all));
  return sink.text();
}

/// Without the empty line in front.
std::string part_of_text(void (*describe)(report::Document&, const report::Evaluation&),
                         const report::Evaluation& e) {
  report::Document document;
  describe(document, e);
  StringSink sink;
  document.write_text(sink, kColumns);
  return sink.text().substr(sink.text().empty() ? 0 : 1);
}

std::string words_of(const report::Evaluation& e) {
  std::string text = part_of_text(report::say_answer, e) + part_of_text(report::show_phases, e);
  for (const Verdict& v : e.verdicts) {
    text += fmt::format("{} {} {}: {}\n", v.client, v.rule, name(v.severity), v.sentence);
    for (const EvidenceFigure& f : v.evidence) {
      text += fmt::format("{} {}\n", f.name, report::number(f.value));
    }
  }
  return text;
}

std::string predictions_of(const Scenario& scenario, bool with_fluid) {
  PredictionOptions options;
  options.fluid = with_fluid;
  options.orbit = 20;  // the search for the right size takes most of the time
  const Prediction prediction = predict(scenario, options);
  StringSink sink;
  const report::Document document = report::prediction_document(prediction);
  document.write_file(sink, "prediction.csv");
  document.write_text(sink, kColumns);
  return sink.text();
}

Shown nothing_shown() {
  Shown shown;
  for (const MetricInfo& metric : metric_table()) shown["metric " + std::string(metric.name)];
  for (const MetricInfo* metric : phase_metrics()) shown["metric " + std::string(metric->name)];
  for (const VerdictRule& rule : verdict_rules()) shown["verdict " + std::string(rule.id)];
  return shown;
}

Shown shown_by(const report::Evaluation& e) {
  Shown shown = nothing_shown();
  for (const SummaryRow& row : e.summary) {
    if (row.estimate.max != 0) shown["metric " + std::string(row.metric->name)] = true;
  }
  for (const PhaseSummary& phase : e.phases) {
    for (const PhaseEstimate& row : phase.metrics) {
      if (row.estimate.max != 0) shown["metric " + std::string(row.metric->name)] = true;
    }
  }
  for (const Verdict& v : e.verdicts) shown["verdict " + std::string(v.rule)] = true;
  return shown;
}

std::string fingerprints(std::span<const RunResult> runs, std::uint64_t& events) {
  std::string text;
  for (const RunResult& run : runs) {
    text += fmt::format("{} {:016x} {}\n", run.replication, run.fingerprint, run.ended.count());
    events += run.events;
  }
  return text;
}

std::string all_errors(const std::vector<Diagnostic>& errors) {
  std::string text;
  for (const Diagnostic& error : errors) {
    text +=
        fmt::format("{}{}:{}: {}", text.empty() ? "" : "; ", error.file, error.line, error.message);
  }
  return text;
}

/// The fluid takes longer than all else, so only some scenarios have theirs looked at.
bool has_fluid(const Entry& entry) { return std::stoul(entry.number) % 8 == 0; }

Outcome run_entry(const Entry& entry, const std::set<std::string_view>& metrics) {
  const test::TemporaryFolder folder;
  for (const auto& [name, text] : entry.files) folder.write(name, text);
  for (const std::string& assignment : entry.environment) {
    const std::size_t equals = assignment.find('=');
    ::setenv(assignment.substr(0, equals).c_str(), assignment.substr(equals + 1).c_str(), 1);
  }
  LoadResult result = load_scenario_text(entry.scenario, entry.number, folder.path());
  for (const std::string& assignment : entry.environment) {
    ::unsetenv(assignment.substr(0, assignment.find('=')).c_str());
  }
  if (!result.loaded) throw std::runtime_error("not valid: " + all_errors(result.errors));
  LoadedScenario& loaded = *result.loaded;
  Outcome outcome;
  outcome.texts[kPredictions] = predictions_of(loaded.scenario, has_fluid(entry));
  ReplicationOptions options;
  options.fingerprint = true;
  options.max_events = kMaxEvents;
  Experiment experiment = run_experiment(loaded.scenario, options);
  report::ResultSet set{loaded, "base", std::move(experiment.runs)};
  set.storms_with_twins = std::make_shared<const std::vector<std::vector<stats::Storm>>>(
      experiment::storms_with_twins(loaded.scenario, set.runs.own(), options));
  outcome.texts[kEvents] = fingerprints(set.runs, outcome.events);
  const report::Evaluation evaluation(set);
  outcome.texts[kFigures] = figures_of(evaluation, metrics);
  outcome.texts[kTables] = tables_of(evaluation);
  outcome.texts[kWords] = words_of(evaluation);
  outcome.shown = shown_by(evaluation);
  return outcome;
}

/// A message on one line.
std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

/// A line: the number, then the number of events, what is shown as a row of 0 and 1, and the
/// checksums; or "error" and what it is.
void print(const Entry& entry, const Outcome& outcome, bool full) {
  std::string line = fmt::format("{}\t{}\t", entry.number, outcome.events);
  for (const auto& [name, is_shown] : outcome.shown) line += is_shown ? '1' : '0';
  if (full) std::cout << "=== " << entry.number << '\n';
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::string& text = outcome.texts[part];
    if (full) std::cout << "--- " << kPartNames[part] << '\n' << text;
    line += fmt::format("\t{:08x}", report::crc32(text));
  }
  if (!full) std::cout << line << '\n';
}

int main_of(std::span<char*> arguments) {
  std::filesystem::path scenarios;
  std::string metric_names;
  std::set<std::string> numbers;
  bool full = false;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument == "--full") {
      full = true;
    } else if (argument == "--metrics") {
      metric_names = test::content_of(arguments[++i]);
    } else if (scenarios.empty()) {
      scenarios = argument;
    } else {
      numbers.insert(argument);
    }
  }
  std::set<std::string_view> metrics;
  std::istringstream words(metric_names);
  const std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
  metrics.insert(names.begin(), names.end());
  if (!full) {  // what the rows of 0 and 1 are about
    for (const auto& [name, is_shown] : nothing_shown()) std::cout << "shown\t" << name << '\n';
  }
  for (const Entry& entry : read_entries(scenarios)) {
    if (!numbers.empty() && numbers.count(entry.number) == 0) continue;
    try {
      print(entry, run_entry(entry, metrics), full);
    } catch (const std::exception& e) {
      std::cout << (full ? "=== " : "") << entry.number << "\terror\t" << on_one_line(e.what())
                << '\n';
    }
  }
  return 0;
}

}  // namespace
}  // namespace retrysim

int main(int argc, char** argv) {
  // Each run takes and returns the same megabytes: not from and to the system.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::setenv("AWS_CONFIG_FILE", "/dev/null", 1);
  ::unsetenv("AWS_MAX_ATTEMPTS");
  ::unsetenv("AWS_RETRY_MODE");
  try {
    return retrysim::main_of({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& e) {
    std::cerr << "run_corpus: error: " << e.what() << '\n';
    return 1;
  }
}

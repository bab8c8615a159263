// result.json.
//
// SPDX-License-Identifier: MIT
#include "report/run/files.hpp"

#include <retrysim/scenario_file.hpp>

#include "report/document/json.hpp"
#include "report/run/tables.hpp"
#include "report/run/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

Json window_json(std::string_view kind, const std::string& name, Time start, Duration duration) {
  Json json;
  json["kind"] = kind;
  json["name"] = name;
  json["start_s"] = seconds(start.count());
  json["end_s"] = seconds((start + duration).count());
  return json;
}

Json variant_json(const Evaluation& e) {
  const Scenario& scenario = e.scenario();
  Json json;
  json["variant"] = e.set.variant;
  json["seed"] = scenario.seed;
  json["replications"] = e.set.runs.size();
  json["window_start_s"] = seconds(scenario.warmup.count());
  json["window_end_s"] = seconds(scenario.duration.count());
  json["interval_s"] = seconds(scenario.interval.count());
  add_certainty(json, e);
  json["scenario_notes"] = distinct_notes(e.set.scenario);
  json["notes"] = result_notes(e);
  json["services"] = services_json(scenario);
  json["disturbances"] = Json::array();
  for (const FaultSpec& fault : scenario.faults) {
    Json window = window_json("fault", fault.name, fault.start, fault.duration);
    window["service"] = scenario.services[fault.service].name;
    if (fault.instance != FaultSpec::kAllInstances) {
      window["instance"] = fault.instance;
      window["instances"] = fault.instances;
    }
    window["capacity"] = fault.capacity;
    window["speed"] = fault.speed;
    json["disturbances"].push_back(std::move(window));
  }
  for (const ClientSpec& client : scenario.clients) {
    for (const SurgeSpec& surge : client.arrivals.surges) {
      Json window = window_json("surge", surge.name, surge.start, surge.duration);
      window["client"] = client.name;
      window["factor"] = surge.factor;
      json["disturbances"].push_back(std::move(window));
    }
  }
  return json;
}

void write_variant(JsonText& text, const Evaluation& e) {
  text.begin_object().members(variant_json(e)).key("keys").begin_object();
  for (const ResolvedKey& key : e.set.scenario.keys) text.key(key.path).text(key.toml);
  text.end_object().end_object();
}

void write_summary(JsonText& text, const Evaluation& e) {
  for (const SummaryRow& row : e.summary) {
    text.begin_object();
    text.key("variant").text(e.set.variant);
    text.key("client").text(row.client);
    text.key("metric").text(row.metric->name);
    text.key("unit").text(row.metric->unit);
    text.key("mean").real(row.estimate.mean);
    text.key("ci_low").real(row.estimate.ci_low);
    text.key("ci_high").real(row.estimate.ci_high);
    text.key("stddev").real(row.estimate.stddev);
    text.key("min").real(row.estimate.min);
    text.key("max").real(row.estimate.max);
    text.key("replications").integer(row.estimate.count);
    text.end_object();
  }
}

void write_phases(JsonText& text, const Evaluation& e) {
  for (const PhaseSummary& phase : e.phases) {
    text.begin_object();
    text.key("variant").text(e.set.variant);
    text.key("client").text(phase.client);
    text.key("phase").text(phase.phase.name);
    text.key("kind").text(name(phase.phase.kind));
    text.key("start_s").real(phase.start_s);
    text.key("end_s").real(phase.end_s);
    text.key("replications").integer(phase.replications);
    text.key("metrics").begin_object();
    for (const PhaseEstimate& row : phase.metrics) {
      text.key(row.metric->name).begin_object();
      text.key("mean").real(row.estimate.mean);
      text.key("ci_low").real(row.estimate.ci_low);
      text.key("ci_high").real(row.estimate.ci_high);
      text.key("replications").integer(row.estimate.count);
      text.end_object();
    }
    text.end_object().end_object();
  }
}

Json expectation_json(const Evaluation& e, const ExpectationResult& result) {
  Json json;
  json["variant"] = e.set.variant;
  json["name"] = result.expectation.name;
  json["metric"] = result.expectation.metric;
  json["client"] = result.expectation.client;
  json["at_most"] = optional_json(result.expectation.at_most);
  json["at_least"] = optional_json(result.expectation.at_least);
  json["passed"] = result.passed;
  json["reason"] = result.reason;
  return json;
}

Json verdict_json(const Evaluation& e, const Verdict& verdict) {
  Json json;
  json["variant"] = e.set.variant;
  json["client"] = verdict.client;
  json["rule"] = verdict.rule;
  json["severity"] = name(verdict.severity);
  json["sentence"] = verdict.sentence;
  json["evidence"] = Json::object();
  for (const EvidenceFigure& f : verdict.evidence) json["evidence"][f.name] = f.value;
  return json;
}

}  // namespace

void write_result_json(Sink& sink, Evaluations evaluations, const std::vector<FileRecord>& files,
                       const std::vector<JsonSection>& sections) {
  const Evaluation& first = evaluations.front();
  JsonText text;
  text.begin_object().members(result_head("", first.scenario(), first.set.runs.size()));
  text.key("variants").begin_array();
  for (const Evaluation& e : evaluations) write_variant(text, e);
  text.end_array().key("verdicts").begin_array();
  for (const Evaluation& e : evaluations) {
    for (const Verdict& v : e.verdicts) text.json(verdict_json(e, v));
  }
  text.end_array().key("summary").begin_array();
  for (const Evaluation& e : evaluations) write_summary(text, e);
  text.end_array().key("phases").begin_array();
  for (const Evaluation& e : evaluations) write_phases(text, e);
  text.end_array().key("expectations").begin_array();
  for (const Evaluation& e : evaluations) {
    for (const ExpectationResult& result : e.expectations) text.json(expectation_json(e, result));
  }
  text.end_array();
  for (const JsonSection& section : sections) {
    text.key(section.name).json(Json::parse(section.json));
  }
  sink.write(sealed(std::move(text), files));
}

// Writing a complete result folder.

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

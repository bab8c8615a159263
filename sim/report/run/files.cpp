// SPDX-License-Identifier: MIT
#include "report/run/files.hpp"

#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>

#include "report/graph.hpp"
#include "report/run/answer.hpp"
#include "report/run/edges.hpp"
#include "report/run/tables.hpp"
#include "report/run/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

Json variant_json(const Evaluation& e) {
  const Scenario& scenario = e.scenario();
  Json json;
  json["variant"] = e.set.variant;
  json["seed"] = scenario.seed;
  json["replications"] = e.set.runs.size();
  json["interval_s"] = seconds(scenario.interval.count());
  add_certainty(json, e);
  json["scenario_notes"] = distinct_notes(e.set.scenario);
  json["notes"] = result_notes(e);
  json.update(graph_json(scenario, e.set.scenario.keys));
  if (!scenario.calls.empty()) json["edges"] = edges_json(e);
  return json;
}

void write_variant(JsonText& text, const Evaluation& e) {
  text.begin_object().members(variant_json(e)).key("keys").begin_object();
  for (const ResolvedKey& key : e.set.scenario.keys) text.key(key.path).text(key.toml);
  text.end_object().end_object();
}

void write_mean(JsonText& text, const Estimate& e) {
  text.key("mean").real(e.mean).key("ci_low").real(e.ci_low).key("ci_high").real(e.ci_high);
}

void write_summary(JsonText& text, const Evaluation& e) {
  for (const SummaryRow& row : e.summary) {
    text.begin_object();
    text.key("variant").text(e.set.variant);
    text.key("client").text(row.client);
    text.key("metric").text(row.metric->name);
    text.key("unit").text(row.metric->unit);
    write_mean(text, row.estimate);
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
      write_mean(text, row.estimate);
      text.key("replications").integer(row.estimate.count);
      text.end_object();
    }
    text.end_object().end_object();
  }
}

/// A row of slo.csv as JSON, without values that can be read off the scenario.
Json slo_json(const Evaluation& e, const stats::SloSummary& row) {
  const stats::SloFigures& m = row.mean;
  Json json;
  json["variant"] = e.set.variant;
  json["slo"] = row.slo->name;
  json["event"] = row.event.name;
  json["start_s"] = row.event.start.in_seconds();
  json["end_s"] = m.end_s;
  json["share"] = row.slo->share;
  const bool any = row.slo->latency == Duration::max();
  json["latency_s"] = any ? Json() : Json(row.slo->latency.in_seconds());
  json["window_s"] = row.slo->window.in_seconds();
  json["budget"] = m.budget;
  json["requests"] = m.requests;
  json["bad"] = m.bad;
  json["failed"] = m.failed;
  json["slow"] = m.slow;
  json["budget_used"] = {{"mean", row.used.mean},
                         {"ci_low", optional_json(row.used.ci_low)},
                         {"ci_high", optional_json(row.used.ci_high)}};
  json["burn_rate"] = m.burn_rate;
  json["outage_s"] = m.outage_s;
  json["users"] = row.users;
  json["users_hurt"] = optional_json(m.users_hurt);
  json["retries_cost"] = m.retries_cost;
  json["events_per_year"] = optional_json(row.per_year);
  json["year_budget_used"] = optional_json(row.year_used());
  json["ended"] = row.ended;
  json["replications"] = row.runs;
  return json;
}

Json expectation_json(const Evaluation& e, const ExpectationResult& result) {
  Json json;
  json["variant"] = e.set.variant;
  json["name"] = result.expectation.name;
  json["metric"] = result.expectation.metric;
  json["client"] = result.expectation.client;
  json["at_most"] = optional_json(result.expectation.at_most);
  json["at_least"] = optional_json(result.expectation.at_least);
  json["passed"] = !result.fails();
  json["verdict"] = name(result.verdict);
  json["reason"] = result.reason;
  return json;
}

/// The source of a figure in a sentence (sim/explain/README.md).
Json source_json(const FigureSource& source) {
  using Kind = FigureSource::Kind;
  Json json;
  switch (source.kind) {
    case Kind::kUnknown:
      json["not_in_files"] = source.text;
      break;
    case Kind::kNumber:
      if (source.text.empty()) {
        json["number"] = source.number;
      } else {
        json["text"] = source.text;
      }
      break;
    case Kind::kKey:
      json["key"] = source.text;
      if (!source.of.empty()) json["client"] = source.of;
      break;
    case Kind::kCells:
      json["file"] = source.file;
      json["column"] = source.column;
      if (source.file == "slo.csv") {
        json["slo"] = source.of;
        json["event"] = source.text;
        json["over"] = source.over;
        break;
      }
      json[source.file == "service.csv" || source.file == "work" ? "service" : "client"] =
          source.of;
      if (!source.weight.empty()) json["weight"] = source.weight;
      if (source.window == "phases") {
        json["phases"] = source.text;
      } else {
        if (!source.window.empty()) json["window"] = source.window;
        if (!source.window.empty() && !source.text.empty()) json["window_of"] = source.text;
      }
      if (source.to_s > 0) {
        json["from_s"] = source.from_s;
        json["to_s"] = source.to_s;
      }
      json["over"] = source.over;
      if (source.above >= 0) json["above"] = source.above;
      break;
    case Kind::kFormula:
      json["formula"] = source.formula;
      for (const FigureSource& part : source.parts) json["of"].push_back(source_json(part));
      break;
  }
  return json;
}

Json verdict_json(const Evaluation& e, const Verdict& verdict) {
  Json json;
  json["variant"] = e.set.variant;
  json["client"] = verdict.client;
  json["rule"] = verdict.rule;
  json["severity"] = name(verdict.severity);
  json["sentence"] = verdict.sentence;
  if (!verdict.culprits.empty()) json["culprits"] = verdict.culprits;
  if (verdict.culprits.size() == 1) json["culprit"] = verdict.culprits.front();
  if (!verdict.fate.empty()) json["fate"] = verdict.fate;
  json["evidence"] = Json::object();
  for (const EvidenceFigure& f : verdict.evidence) json["evidence"][f.name] = f.value;
  json["figures"] = Json::array();
  for (const SaidFigure& f : verdict.figures) {
    json["figures"].push_back(
        Json{{"said", f.text}, {"value", f.value}, {"source", source_json(f.source)}});
  }
  return json;
}

}  // namespace

namespace {

/// An array with the JSON that `write` writes for each evaluation.
JsonMember array_of(Evaluations evaluations, void (*write)(JsonText&, const Evaluation&)) {
  return [evaluations, write](JsonText& text) {
    text.begin_array();
    for (const Evaluation& e : evaluations) write(text, e);
    text.end_array();
  };
}

}  // namespace

void add_results(Document& d, Evaluations evaluations) {
  const Evaluation& first = evaluations.front();
  d.tables(run_tables(evaluations));
  d.head("", heading_of(scenarios_of(evaluations)), first.scenario(), first.set.runs.size());
  d.streamed_member("variants", array_of(evaluations, write_variant));
  d.streamed_member("verdicts", array_of(evaluations, [](JsonText& text, const Evaluation& e) {
                      for (const Verdict& v : e.verdicts) text.json(verdict_json(e, v));
                    }));
  d.streamed_member("answers", array_of(evaluations, [](JsonText& text, const Evaluation& e) {
                      Json answer = {{"variant", e.set.variant}};
                      answer.update(json_of(answer_of(e)));
                      text.json(answer);
                    }));
  d.streamed_member("summary", array_of(evaluations, write_summary));
  d.streamed_member("phases", array_of(evaluations, write_phases));
  d.streamed_member("expectations", array_of(evaluations, [](JsonText& text, const Evaluation& e) {
                      for (const auto& result : e.expectations) {
                        text.json(expectation_json(e, result));
                      }
                    }));
  const auto has_slos = [](const Evaluation& e) { return !e.slos.empty(); };
  if (std::any_of(evaluations.begin(), evaluations.end(), has_slos)) {
    d.streamed_member("slos", array_of(evaluations, [](JsonText& text, const Evaluation& e) {
                        for (const auto& row : e.slos) text.json(slo_json(e, row));
                      }));
  }
}

}  // namespace retrysim::report

namespace retrysim {

namespace {

/// Everything that the tables of a run are made from.
struct EvaluatedRun {
  explicit EvaluatedRun(const Run& run)
      : set{run.scenario, "base", report::Runs::of(run.replications)}, evaluation(set) {}

  report::ResultSet set;
  report::Evaluation evaluation;
};

}  // namespace

Tables tables(const Run& run) {
  const auto evaluated = std::make_shared<const EvaluatedRun>(run);
  return Tables(report::kept_with(evaluated, report::run_tables({&evaluated->evaluation, 1})));
}

std::vector<Verdict> verdicts(const Run& run) {
  return verdicts(run.scenario.scenario, run.replications);
}

}  // namespace retrysim

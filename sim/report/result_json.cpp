// result.json.
//
// SPDX-License-Identifier: MIT
#include "report/result_json.hpp"

#include "report/certainty.hpp"
#include "report/json_parts.hpp"
#include "report/json_text.hpp"
#include "report/text_table.hpp"
#include "scenario/derived.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

Json service_json(const Scenario& scenario, std::size_t index) {
  const ServiceSpec& service = scenario.services[index];
  const bool limited = service.servers != ServiceSpec::kUnlimited;
  const scenario::Demand demand = scenario::demand_of(scenario, scenario::Attempts::kFirst);
  const double capacity = scenario::answerable_rate(scenario, index, scenario::servers_of(service));
  Json json;
  json["name"] = service.name;
  json["servers"] = limited ? Json(service.servers) : Json();
  if (service.instances.count > 1) json["instances"] = service.instances.count;
  json["mean_service_time_s"] = demand.services[index].own_time;
  json["capacity_per_s"] = limited && capacity < scenario::kNoLimit ? Json(capacity) : Json();
  return json;
}

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
  json["notes"] = result_notes(e);
  json["services"] = Json::array();
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    json["services"].push_back(service_json(scenario, s));
  }
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
  json["keys"] = keys_json(e.set.scenario);
  return json;
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
  for (const Evaluation& e : evaluations) text.json(variant_json(e));
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

}  // namespace retrysim::report

// result.json.
//
// SPDX-License-Identifier: MIT
#include "report/result_json.hpp"

#include "report/certainty.hpp"
#include "report/json_parts.hpp"
#include "report/text_table.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

Json service_json(const ServiceSpec& service) {
  const double demand = service.service_time.mean_seconds();
  const bool limited = service.servers != ServiceSpec::kUnlimited;
  Json json;
  json["name"] = service.name;
  json["servers"] = limited ? Json(service.servers) : Json();
  if (service.instances.count > 1) json["instances"] = service.instances.count;
  json["mean_service_time_s"] = demand;
  json["capacity_per_s"] =
      limited && demand > 0 ? Json(static_cast<double>(service.all_servers()) / demand) : Json();
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
  for (const ServiceSpec& service : scenario.services) {
    json["services"].push_back(service_json(service));
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

Json summary_json(const Evaluation& e, const SummaryRow& row) {
  Json json;
  json["variant"] = e.set.variant;
  json["client"] = row.client;
  json["metric"] = row.metric->name;
  json["unit"] = row.metric->unit;
  json["mean"] = row.estimate.mean;
  json["ci_low"] = optional_json(row.estimate.ci_low);
  json["ci_high"] = optional_json(row.estimate.ci_high);
  json["stddev"] = optional_json(row.estimate.stddev);
  json["min"] = row.estimate.min;
  json["max"] = row.estimate.max;
  json["replications"] = row.estimate.count;
  return json;
}

Json phase_json(const Evaluation& e, const PhaseSummary& phase) {
  Json json;
  json["variant"] = e.set.variant;
  json["client"] = phase.client;
  json["phase"] = phase.phase.name;
  json["kind"] = name(phase.phase.kind);
  json["start_s"] = phase.start_s;
  json["end_s"] = phase.end_s;
  json["replications"] = phase.replications;
  json["metrics"] = Json::object();
  for (const PhaseEstimate& row : phase.metrics) {
    json["metrics"][std::string(row.metric->name)] = {
        {"mean", row.estimate.mean},
        {"ci_low", optional_json(row.estimate.ci_low)},
        {"ci_high", optional_json(row.estimate.ci_high)},
        {"replications", row.estimate.count}};
  }
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
  Json json = result_head("", first.scenario(), first.set.runs.size());
  json["variants"] = Json::array();
  json["verdicts"] = Json::array();
  json["summary"] = Json::array();
  json["phases"] = Json::array();
  json["expectations"] = Json::array();
  for (const Evaluation& e : evaluations) {
    json["variants"].push_back(variant_json(e));
    for (const Verdict& v : e.verdicts) json["verdicts"].push_back(verdict_json(e, v));
    for (const SummaryRow& row : e.summary) json["summary"].push_back(summary_json(e, row));
    for (const PhaseSummary& phase : e.phases) json["phases"].push_back(phase_json(e, phase));
    for (const ExpectationResult& result : e.expectations) {
      json["expectations"].push_back(expectation_json(e, result));
    }
  }
  for (const JsonSection& section : sections) json[section.name] = Json::parse(section.json);
  sink.write(sealed(std::move(json), files));
}

}  // namespace retrysim::report

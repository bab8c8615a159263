// SPDX-License-Identifier: MIT
#include "report/choice_report.hpp"

#include "report/csv_writer.hpp"
#include "report/json_parts.hpp"
#include "report/result_files.hpp"
#include "report/sweep_files.hpp"

#include <retrysim/summary.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view outcome_of(const PolicyChoice& choice, std::size_t policy) {
  switch (choice.policies[policy].fate) {
    case SelectionFate::kRacing:
      return choice.best == policy ? "chosen" : "undecided";
    case SelectionFate::kBeaten:
      return "beaten";
    case SelectionFate::kAsGood:
      return "as_good";
    case SelectionFate::kSame:
      return "same";
    case SelectionFate::kBreaksLimit:
      return "breaks_limit";
    case SelectionFate::kDropped:
      return "no_value";
  }
  return "";
}

/// The policy, the limit or the metric because of which one left; empty if it did not.
std::string reason_of(const PolicyChoice& choice, std::size_t policy) {
  const ChoicePolicy& p = choice.policies[policy];
  switch (p.fate) {
    case SelectionFate::kRacing:
      break;
    case SelectionFate::kBeaten:
    case SelectionFate::kAsGood:
    case SelectionFate::kSame:
      return choice.policies[p.by].name;
    case SelectionFate::kBreaksLimit:
      return choice.limits[p.by].text();
    case SelectionFate::kDropped:
      return std::string(p.missing->name);
  }
  return {};
}

/// Of the first `count` observations, or all that there are.
std::optional<Estimate> estimate_of(const std::vector<double>& observations,
                                    const MetricInfo& metric, std::size_t count) {
  auto e = estimate(std::span(observations).first(std::min(count, observations.size())));
  if (e) respect_range(*e, metric.range);
  return e;
}

void write_estimate(CsvWriter& csv, const std::optional<Estimate>& e) {
  csv.real(e ? std::optional(e->mean) : std::nullopt);
  csv.real(e ? e->ci_low : std::nullopt).real(e ? e->ci_high : std::nullopt);
}

std::string_view kept(const ChoicePolicy& policy, std::size_t limit) {
  if (limit < policy.keeps.size() && policy.keeps[limit]) return "yes";
  return policy.fate == SelectionFate::kBreaksLimit && policy.by == limit ? "no" : "";
}

Json estimate_json(const std::optional<Estimate>& e) {
  Json json;
  json["mean"] = optional_json(e ? std::optional(e->mean) : std::nullopt);
  json["ci_low"] = optional_json(e ? e->ci_low : std::nullopt);
  json["ci_high"] = optional_json(e ? e->ci_high : std::nullopt);
  return json;
}

Json policy_json(const ChoiceReport& report, std::size_t policy) {
  const PolicyChoice& choice = report.found;
  const ChoicePolicy& p = choice.policies[policy];
  Json json;
  json["variant"] = p.name;
  json["outcome"] = outcome_of(choice, policy);
  const std::string reason = reason_of(choice, policy);
  json["by"] = reason.empty() ? Json() : Json(reason);
  json["stage"] = p.stage;
  json["replications"] = p.replications;
  json["not_recovered"] = p.not_recovered;
  json.update(estimate_json(estimate_of(p.aim, *choice.aim.metric, p.aim.size())));
  for (std::size_t l = 0; l < p.limited.size(); ++l) {
    const MetricInfo& metric = *choice.limits[l].metric;
    Json limited = {{"metric", metric.name}};
    limited.update(estimate_json(estimate_of(p.limited[l], metric, p.limited[l].size())));
    json["limits"].push_back(std::move(limited));
  }
  return json;
}

Json choice_json(const ChoiceReport& report) {
  const PolicyChoice& choice = report.found;
  const auto name_of = [&](const std::optional<std::size_t>& policy) {
    return policy ? Json(choice.policies[*policy].name) : Json();
  };
  Json json;
  json["id"] = fmt::format("{:016x}", report.id);
  json["requests"] = report.requests;
  json["outcome"] = name(choice.outcome);
  json["best"] = name_of(choice.best);
  json["nearest"] = name_of(choice.nearest);
  json["metric"] = choice.aim.metric->name;
  json["unit"] = choice.aim.metric->unit;
  json["label"] = choice.aim.metric->label();
  json["direction"] = choice.aim.maximize ? "maximize" : "minimize";
  json["client"] = choice.aim.client;
  json["limits"] = Json::array();
  for (const ChoiceLimit& limit : choice.limits) {
    json["limits"].push_back({{"metric", limit.metric->name},
                              {"at_least", limit.at_least},
                              {"bound", limit.bound},
                              {"tolerance", *limit.tolerance}});
  }
  json["confidence"] = choice.confidence;
  json["indifference"] = choice.indifference;
  json["indifference_from_first_stage"] = choice.from_first_stage;
  json["procedure"] = name(choice.procedure);
  json["leader"] = name_of(choice.leader);
  json["margin"] = choice.leader ? Json(choice.margin) : Json();
  json["batch"] = choice.batch;
  json["stages"] = choice.stages;
  json["replications"] = choice.replications;
  json["equal_allocation"] = choice.equal_allocation;
  json["sentences"] = choice_sentences(choice);
  json["terms"] = choice_terms(choice);
  json["notes"] = choice.notes;
  return json;
}

}  // namespace

void write_choose_csv(Sink& sink, const ChoiceReport& report) {
  const PolicyChoice& choice = report.found;
  CsvWriter csv(sink);
  csv.text("scenario").text("variant");
  for (const std::string& path : report.paths) csv.text(path);
  for (const char* column : {"outcome", "by", "stage", "replications", "client", "metric", "unit",
                             "mean", "ci_low", "ci_high"}) {
    csv.text(column);
  }
  for (const ChoiceLimit& limit : choice.limits) {
    const std::string name(limit.metric->name);
    csv.text(name).text(name + "_ci_low").text(name + "_ci_high").text(name + "_kept");
  }
  csv.end_row();
  for (std::size_t i = 0; i < choice.policies.size(); ++i) {
    const ChoicePolicy& p = choice.policies[i];
    csv.text(p.loaded.scenario.name).text(p.name);
    if (i < report.values.size()) {
      for (const std::string& value : report.values[i]) csv.text(key_cell(value));
    }
    csv.text(outcome_of(choice, i)).text(reason_of(choice, i)).integer(p.stage);
    csv.integer(p.replications).text(choice.aim.client);
    csv.text(choice.aim.metric->name).text(choice.aim.metric->unit);
    write_estimate(csv, estimate_of(p.aim, *choice.aim.metric, p.aim.size()));
    for (std::size_t l = 0; l < choice.limits.size(); ++l) {
      const auto limited =
          l < p.limited.size()
              ? estimate_of(p.limited[l], *choice.limits[l].metric, p.limited[l].size())
              : std::nullopt;
      write_estimate(csv, limited);
      csv.text(kept(p, l));
    }
    csv.end_row();
  }
}

void write_race_csv(Sink& sink, const ChoiceReport& report) {
  const PolicyChoice& choice = report.found;
  CsvWriter csv(sink);
  csv.header({"scenario", "variant", "stage", "replications", "mean", "ci_low", "ci_high",
              "outcome", "by"});
  for (std::size_t stage = 1; stage <= choice.stages.size(); ++stage) {
    const std::size_t replications = choice.stages[stage - 1];
    for (std::size_t i = 0; i < choice.policies.size(); ++i) {
      const ChoicePolicy& p = choice.policies[i];
      if (p.stage < stage) continue;
      csv.text(p.loaded.scenario.name).text(p.name).integer(stage).integer(replications);
      write_estimate(csv, estimate_of(p.aim, *choice.aim.metric, replications / choice.batch));
      if (p.stage == stage) {
        csv.text(outcome_of(choice, i)).text(reason_of(choice, i));
      } else {
        csv.text("racing").empty();
      }
      csv.end_row();
    }
  }
}

void write_choice_json(Sink& sink, const ChoiceReport& report,
                       const std::vector<FileRecord>& files) {
  const Scenario& scenario = shown_policy(report.found).loaded.scenario;
  Json json = result_head("choose", scenario, static_cast<std::size_t>(scenario.replications));
  json["choice"] = choice_json(report);
  json["policies"] = Json::array();
  for (std::size_t i = 0; i < report.found.policies.size(); ++i) {
    json["policies"].push_back(policy_json(report, i));
  }
  json["services"] = services_json(scenario);
  json["keys"] = Json::object();
  for (const auto& [path, value] : report.keys) append_member(json["keys"], path, value);
  sink.write(sealed(json, files));
}

const ChoicePolicy& shown_policy(const PolicyChoice& choice) {
  return choice.policies[choice.best ? *choice.best : choice.nearest.value_or(0)];
}

void write_choice_files(ResultFolder& folder, const ChoiceReport& report) {
  folder.write("choose.csv", [&](Sink& sink) { write_choose_csv(sink, report); });
  folder.write("race.csv", [&](Sink& sink) { write_race_csv(sink, report); });
  write_scenario_files(folder, shown_policy(report.found).loaded);
  folder.write("result.json", [&](Sink& sink) { write_choice_json(sink, report, folder.files()); });
  folder.commit();
}

}  // namespace retrysim::report

// compare.csv, and the same in JSON.
//
// SPDX-License-Identifier: MIT
#include "report/comparison_table.hpp"

#include "report/comparison_words.hpp"
#include "report/csv_writer.hpp"
#include "report/json_parts.hpp"
#include "report/metric_json.hpp"

#include <nlohmann/json.hpp>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> low(const std::optional<Interval>& interval) {
  return interval ? std::optional(interval->low) : std::nullopt;
}

std::optional<double> high(const std::optional<Interval>& interval) {
  return interval ? std::optional(interval->high) : std::nullopt;
}

/// A number of the pairs; there is none without a pair.
std::optional<double> of_pairs(const PairedDifference& d, double value) {
  return d.pairs > 0 ? std::optional(value) : std::nullopt;
}

Json row_json(const ComparisonReport& comparison, const ComparisonRow& row) {
  const PairedDifference& d = row.difference;
  Json json;
  json["variant"] = comparison.evaluations[row.variant].set.variant;
  json["client"] = row.client;
  json["metric"] = row.metric->name;
  json["unit"] = row.metric->unit;
  json["mean"] = optional_json(of_pairs(d, d.mean));
  json["baseline_mean"] = optional_json(of_pairs(d, d.baseline_mean));
  json["difference"] = optional_json(of_pairs(d, d.difference));
  json["ci_low"] = optional_json(low(d.interval));
  json["ci_high"] = optional_json(high(d.interval));
  json["relative_difference"] = optional_json(d.relative);
  json["relative_ci_low"] = optional_json(low(d.relative_interval));
  json["relative_ci_high"] = optional_json(high(d.relative_interval));
  json["p_value"] = optional_json(d.p_value);
  json["p_holm"] = optional_json(d.p_holm);
  json["significant"] = d.p_holm ? Json(d.significant) : Json();
  json["correlation"] = optional_json(d.correlation);
  json["variance_reduction"] = optional_json(d.variance_reduction);
  json["pairs"] = d.pairs;
  return json;
}

}  // namespace

void write_comparison_csv(Sink& sink, const ComparisonReport& comparison) {
  CsvWriter csv(sink);
  csv.header({"scenario",
              "variant",
              "baseline",
              "client",
              "metric",
              "unit",
              "mean",
              "baseline_mean",
              "difference",
              "ci_low",
              "ci_high",
              "relative_difference",
              "relative_ci_low",
              "relative_ci_high",
              "p_value",
              "p_holm",
              "significant",
              "correlation",
              "variance_reduction",
              "pairs"});
  const std::string& baseline = comparison.baseline().set.variant;
  for (const ComparisonRow& row : comparison.found.rows) {
    const Evaluation& e = comparison.evaluations[row.variant];
    const PairedDifference& d = row.difference;
    csv.text(e.scenario().name).text(e.set.variant).text(baseline);
    csv.text(row.client).text(row.metric->name).text(row.metric->unit);
    csv.real(of_pairs(d, d.mean)).real(of_pairs(d, d.baseline_mean));
    csv.real(of_pairs(d, d.difference)).real(low(d.interval)).real(high(d.interval));
    csv.real(d.relative).real(low(d.relative_interval)).real(high(d.relative_interval));
    csv.real(d.p_value).real(d.p_holm);
    csv.text(!d.p_holm ? "" : d.significant ? "yes" : "no");
    csv.real(d.correlation).real(d.variance_reduction).integer(d.pairs).end_row();
  }
}

std::string comparison_json(const ComparisonReport& comparison) {
  Json json;
  json["baseline"] = comparison.baseline().set.variant;
  json["vary"] = comparison.vary;
  json["family_error"] = kFamilyError;
  json["metrics"] = metrics_json(comparison.found.metrics);
  json["rows"] = Json::array();
  for (const ComparisonRow& row : comparison.found.rows)
    json["rows"].push_back(row_json(comparison, row));
  json["effects"] = Json::array();
  for (const KeyEffect& e : comparison.found.effects) {
    const PairedDifference& d = e.difference;
    json["effects"].push_back(
        {{"key", e.key},
         {"value", e.value},
         {"instead_of", e.base_value},
         {"metric", e.metric->name},
         {"difference", d.difference},
         {"ci_low", optional_json(d.interval ? std::optional(d.interval->low) : std::nullopt)},
         {"ci_high", optional_json(d.interval ? std::optional(d.interval->high) : std::nullopt)},
         {"significant", d.significant},
         {"combinations", e.combinations},
         {"least", e.least},
         {"most", e.most}});
  }
  json["sentences"] = sentences(comparison);
  json["notes"] = comparison_notes(comparison);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace retrysim::report

// compare.csv, and the same in JSON.
//
// SPDX-License-Identifier: MIT
#include "report/comparison_table.hpp"

#include "report/comparison_words.hpp"
#include "report/csv_writer.hpp"
#include "report/metric_json.hpp"

#include <nlohmann/json.hpp>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> low(const std::optional<stats::Interval>& interval) {
  return interval ? std::optional(interval->low) : std::nullopt;
}

std::optional<double> high(const std::optional<stats::Interval>& interval) {
  return interval ? std::optional(interval->high) : std::nullopt;
}

/// A number of the pairs; there is none without a pair.
std::optional<double> of_pairs(const stats::PairedDifference& d, double value) {
  return d.pairs > 0 ? std::optional(value) : std::nullopt;
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json row_json(const Comparison& comparison, const ComparisonRow& row) {
  const stats::PairedDifference& d = row.difference;
  Json json;
  json["variant"] = comparison.evaluations[row.variant].set.variant;
  json["client"] = row.client;
  json["metric"] = row.metric->name;
  json["unit"] = row.metric->unit;
  json["mean"] = number_or_null(of_pairs(d, d.mean));
  json["baseline_mean"] = number_or_null(of_pairs(d, d.baseline_mean));
  json["difference"] = number_or_null(of_pairs(d, d.difference));
  json["ci_low"] = number_or_null(low(d.interval));
  json["ci_high"] = number_or_null(high(d.interval));
  json["relative_difference"] = number_or_null(d.relative);
  json["relative_ci_low"] = number_or_null(low(d.relative_interval));
  json["relative_ci_high"] = number_or_null(high(d.relative_interval));
  json["p_value"] = number_or_null(d.p_value);
  json["p_holm"] = number_or_null(d.p_holm);
  json["significant"] = d.p_holm ? Json(d.significant) : Json();
  json["correlation"] = number_or_null(d.correlation);
  json["variance_reduction"] = number_or_null(d.variance_reduction);
  json["pairs"] = d.pairs;
  return json;
}

}  // namespace

void write_comparison_csv(Sink& sink, const Comparison& comparison) {
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
  for (const ComparisonRow& row : comparison.rows) {
    const Evaluation& e = comparison.evaluations[row.variant];
    const stats::PairedDifference& d = row.difference;
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

std::string comparison_json(const Comparison& comparison) {
  Json json;
  json["baseline"] = comparison.baseline().set.variant;
  json["vary"] = comparison.vary;
  json["family_error"] = stats::kFamilyError;
  json["metrics"] = metrics_json(comparison.metrics);
  json["rows"] = Json::array();
  for (const ComparisonRow& row : comparison.rows)
    json["rows"].push_back(row_json(comparison, row));
  json["sentences"] = sentences(comparison);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace retrysim::report

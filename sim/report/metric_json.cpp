// SPDX-License-Identifier: MIT
#include "report/metric_json.hpp"

#include "report/comparison_words.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace retrysim::report {
namespace {

std::string_view direction_name(MetricBetter better) {
  switch (better) {
    case MetricBetter::kLower:
      return "lower";
    case MetricBetter::kHigher:
      return "higher";
    case MetricBetter::kNeither:
      break;
  }
  return "";
}

}  // namespace

nlohmann::ordered_json metrics_json(const std::vector<const MetricInfo*>& metrics) {
  auto json = nlohmann::ordered_json::object();
  for (const MetricInfo* metric : metrics) {
    nlohmann::ordered_json& of_metric = json[std::string(metric->name)];
    of_metric["label"] = metric->label();
    of_metric["unit"] = metric->unit;
    of_metric["percentage"] = shown_as_percentage(*metric);
    of_metric["better"] = direction_name(metric->display.better);
  }
  return json;
}

}  // namespace retrysim::report

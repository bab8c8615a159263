// SPDX-License-Identifier: MIT
#include "model_families.hpp"

#include <retrysim/metrics.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace retrysim::validation {
namespace {

/// Theory's units: of time the unit above, of rates events in it.
double in_theory_units(double value, std::string_view unit) {
  if (unit == "s") return value / kUnitSeconds;
  if (unit == "1/s") return value * kUnitSeconds;
  return value;
}

template <class Named>
const Named* find_by(std::span<const Named> all, std::string_view Named::*member,
                     std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& n) { return n.*member == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> joined;
    for (const auto part : {queue_families(), feedback_families(), strategy_families(),
                            limiter_families(), overload_families(), client_throttle_families(),
                            contention_families(), zombie_families(), rejection_families()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

const Family& find_family(std::string_view model) {
  if (const Family* found = find_by(std::span(families()), &Family::model, model)) return *found;
  throw std::runtime_error("unknown model: '" + std::string(model) + "'");
}

const Quantity& find_quantity(const Family& family, std::string_view name) {
  if (const Quantity* found = find_by(family.quantities, &Quantity::name, name)) return *found;
  throw std::runtime_error("model " + std::string(family.model) + " has no quantity '" +
                           std::string(name) + "'");
}

double measure(const Quantity& quantity, const Observation& observation) {
  if (quantity.formula != nullptr) return quantity.formula(observation);
  const MetricInfo* metric = find_metric(quantity.metric);
  if (metric == nullptr) {
    throw std::runtime_error("unknown metric: '" + std::string(quantity.metric) + "'");
  }
  const std::optional<double> value =
      metric_value(*metric, observation.scenario, observation.run, std::nullopt);
  if (!value) throw std::runtime_error("the run has no " + std::string(metric->name));
  return in_theory_units(*value, metric->unit);
}

}  // namespace retrysim::validation

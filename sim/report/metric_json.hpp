// What result.json says about metrics themselves, for the scripts that draw them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace retrysim::report {

/// By name: label, unit, whether people read it as a percentage, and the better direction ("lower",
/// "higher" or "").
nlohmann::ordered_json metrics_json(const std::vector<const MetricInfo*>& metrics);

}  // namespace retrysim::report

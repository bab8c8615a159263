// What Envoy's configuration has in common with those that end as one: Istio's, Envoy Gateway's.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "import/policy.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::imports {

/// Names the conditions of `retry_on` that differ from what is retried in the simulation.
void compare_conditions(const Field& retry_on, const std::vector<std::string>& conditions);

/// Delays from `base` up to `longest`, which Envoy makes ten times `base` where it is absent.
/// `base_name` is what the file calls the former.
void set_envoy_backoff(ImportedPolicy& p, const Field& base, const std::optional<Field>& longest,
                       std::string_view base_name);

/// Envoy's budget, and Istio's with the names that it has there.
void read_retry_budget(ImportedPolicy& p, const Field& budget);

}  // namespace retrysim::imports

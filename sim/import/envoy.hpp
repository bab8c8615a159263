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

/// What is retried by the conditions of `retry_on`. `status_list` counts with
/// retriable-status-codes.
void set_conditions(ImportedPolicy& p, const Field& retry_on, const Field& status_list);

/// Delays from `base` up to `longest`, which Envoy makes ten times `base` where it is absent.
/// `base_name` is what the file calls the former.
void set_envoy_backoff(ImportedPolicy& p, const Field& base, const std::optional<Field>& longest,
                       std::string_view base_name);

/// Envoy's budget, and Istio's with the names that it has there.
void read_retry_budget(ImportedPolicy& p, const Field& budget);

/// Policies of routes, wherever they stand in the documents, and of the clusters that they send to.
void import_envoy(const Documents& documents, Reading& reading, ImportedConfiguration& result);

}  // namespace retrysim::imports

// Common parts of Envoy's configuration and of those that are translated to it: Istio's, Envoy
// Gateway's.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "import/policy.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::imports {

/// Sets the retried errors by the conditions of `retry_on`. `status_list` counts with
/// retriable-status-codes.
void set_conditions(ImportedPolicy& p, const Field& retry_on, const Field& status_list);

/// Sets delays from `base` up to `longest`, which by Envoy's default is ten times `base`.
/// `base_name` is the name of `base` in the file.
void set_envoy_backoff(ImportedPolicy& p, const Field& base, const std::optional<Field>& longest,
                       std::string_view base_name);

/// Reads the retry budget of Envoy, or of Istio with Istio's names.
void read_retry_budget(ImportedPolicy& p, const Field& budget);

/// Adds the policies of routes, wherever these are in the documents, and of the clusters that they
/// send to.
void import_envoy(const Documents& documents, Reading& reading, ImportedConfiguration& result);

}  // namespace retrysim::imports

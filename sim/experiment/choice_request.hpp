// Whether a choice can be made as it is asked for, before anything is simulated.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/choose.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace retrysim::experiment {

/// Throws RequestError.
void check_choice(const std::vector<NamedScenario>& policies, const ChooseOptions& options);

/// The limits, each with a tolerance. Throws RequestError if there is none for a bound.
std::vector<ChoiceLimit> with_tolerances(std::vector<ChoiceLimit> limits);

/// Between which values every replication's value of the metric lies, if there is an upper bound.
std::optional<SelectionRange> range_of(const MetricInfo& metric);

/// Where `MetricValues` keeps a client group, or "all".
std::size_t place_of_client(const Scenario& scenario, std::string_view client);

}  // namespace retrysim::experiment

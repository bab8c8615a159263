// Arrival processes: rates, profiles and traces, from what the keys and CSV files say.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/csv_inputs.hpp"
#include "scenario/keys.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// A key that turned out not to apply once the CSV file was known, and why.
struct Withdrawn {
  std::string_view key;  ///< "arrivals.bucket"
  std::string reason;
};

/// Completes `client.arrivals`, whose other members are filled in. `path` is "client.web" and
/// `place` where that is written. Gaps in traces are told in `notes`.
std::vector<Withdrawn> resolve_arrivals(const ArrivalInputs& inputs, const std::string& path,
                                        Place place, ClientSpec& client, CsvFiles& files,
                                        std::vector<std::string>& notes);

}  // namespace retrysim::scenario

// What `retrysim choose` finds: the best of many policies.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include "report/document/document.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {

/// A race and what was asked for.
struct ChoiceReport {
  const PolicyChoice& found;
  std::vector<std::string> requests;  ///< those of `ResultIdentity`
  /// The keys that all policies share, and their values as TOML.
  std::vector<std::pair<std::string, std::string>> keys;
  std::uint64_t id = 0;                          ///< of the race (`id_of_choice`)
  std::vector<std::string> scenario_notes = {};  ///< that were printed when the policies were read
};

/// The assumptions, the table of policies that left, when and because of which other, and a
/// sentence that names the best. The result has the scenario of the best policy, else of the one
/// nearest to the limits, else of the first.
Document choice_document(const ChoiceReport& report);

/// choose.csv and race.csv.
std::vector<TableSource> choice_tables(const PolicyChoice& choice);

}  // namespace retrysim::report

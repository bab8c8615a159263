// The output of `retrysim choose`: the best of many policies.
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

/// A race, and what the user asked for.
struct ChoiceReport {
  const PolicyChoice& found;
  std::vector<std::string> requests;  ///< requests as in `ResultIdentity`
  /// The keys that all policies share, and their values as TOML.
  std::vector<std::pair<std::string, std::string>> keys;
  std::uint64_t id = 0;                          ///< id of the race (`id_of_choice`)
  std::vector<std::string> scenario_notes = {};  ///< notes printed when policies were read
};

/// The document on a race: its assumptions, a table of the policies, with when and because of which
/// other they left, and a sentence that names the best. The result has the scenario of the best
/// policy, else of the one nearest to the limits, else of the first.
Document choice_document(const ChoiceReport& report);

/// The tables choose.csv and race.csv.
std::vector<TableSource> choice_tables(const PolicyChoice& choice);

}  // namespace retrysim::report

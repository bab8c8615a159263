// The table of rules, in two halves: what became of a group, and why.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/verdict.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explain/group_case.hpp"

namespace retrysim::explain {

/// What a rule says of a group to which it applies.
struct Finding {
  std::string sentence;
  std::vector<EvidenceFigure> evidence;
  std::optional<Severity> severity = {};  ///< if it is not that of the rule
};

struct Rule {
  VerdictRule about;
  /// Empty if the rule does not apply.
  std::optional<Finding> (*find)(const GroupCase&);
};

/// Exactly one of them applies to a group that sent requests: the first whose `find` gives one.
std::span<const Rule> answer_rules();

/// Any of them may apply.
std::span<const Rule> overload_rules();  ///< why it was too much
std::span<const Rule> client_rules();    ///< what the clients' rules made of it

/// What is different without a part of the scenario.
Finding compared(const GroupCase& with, const GroupCase& without, std::string_view part);

/// "the fault ends", "the last surge ends".
std::string its_end(const GroupCase& c);
/// "the fault", "the surges".
std::string its_name(const GroupCase& c);

}  // namespace retrysim::explain

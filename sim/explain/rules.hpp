// The table of rules behind verdicts, in two halves: how a group fared, and why. Also figures as
// sentences show them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/verdict.hpp>

#include "explain/group_case.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::explain {

/// A time with three significant digits, or two: "78 ms", "0.125 s", "8.5 minutes". Not negative.
std::string spoken_time(double seconds);
std::string roughly_spoken_time(double seconds);

/// A share as a percentage; one that is not whole is never called 100 %, nor 0 % if it is not zero.
std::string spoken_share(double share);

/// A number of things with three significant digits, or so many: "3120", "0.5".
std::string spoken_count(double number, int digits = 3);

/// A multiple of something: "1.9 times".
std::string spoken_times(double ratio);

/// "1 attempt", "1.24 attempts".
std::string spoken_attempts(double attempts);

// --- The rules -----------------------------------------------------------------------------------

/// The verdict of a rule on a group to which it applies.
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

/// The rule that gives the answer of a group, and how good the news is; null: none does.
const VerdictRule* answer_of(const GroupCase& c, Severity& severity);

/// Whether others wait so that this group does not.
bool is_served_first(const GroupCase& c);
/// That first attempts alone need the capacity or more.
std::optional<Finding> overload_without_retries(const GroupCase& c);

/// A call that fails without failing the attempt that it is made for.
struct DegradedCalls {
  const CallSpec* call;
  const GraphStretch* when;
  double share;         ///< of the attempts at the caller: calls of this kind that failed
  double before_share;  ///< the same before the disturbance
};
/// The most of them on the way of the group's requests, if there are more than before; empty: none.
std::optional<DegradedCalls> degraded_calls(const GroupCase& c);

/// Any of them may apply.
std::span<const Rule> graph_rules();  ///< which of the services that call each other is the cause
std::span<const Rule> overload_rules();  ///< why it was too much
std::span<const Rule> client_rules();    ///< what the clients' rules made of it

/// The differences without a part of the scenario.
Finding compared(const GroupCase& with, const GroupCase& without, std::string_view part);

/// "the fault ends", "the last surge ends".
std::string its_end(const GroupCase& c);
/// "the fault", "the surges".
std::string its_name(const GroupCase& c);

}  // namespace retrysim::explain

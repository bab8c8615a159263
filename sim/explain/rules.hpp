// The table of rules behind verdicts, in two halves: how a group fared, and why.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run.hpp>

#include "estimate/slos.hpp"
#include "explain/group_case.hpp"
#include "explain/said.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::explain {

// --- The rules -----------------------------------------------------------------------------------

/// The verdict of a rule on a group to which it applies.
struct Finding {
  Sentence sentence;
  std::vector<EvidenceFigure> evidence;
  std::optional<Severity> severity = {};  ///< empty: the severity of the rule
};

struct Rule {
  VerdictRule about;
  /// Returns empty if the rule does not apply.
  std::optional<Finding> (*find)(const GroupCase&);
  /// A cause that only the disturbance can bring. Where the group fares badly before it already,
  /// such causes come after those that hold all along.
  bool of_disturbance = false;
};

/// The rules that give a group its answer. Exactly one applies: the first whose `find` gives one.
std::span<const Rule> answer_rules();

/// The rule that gives the answer of a group, and its severity; null if no rule applies.
const VerdictRule* answer_of(const GroupCase& c, Severity& severity);

/// What became of a group, in few words taken from its answer: what its users lost and when it was
/// back. Without a disturbance, or if the rule has no such words, the beginning of the answer.
std::string fate_of(const GroupCase& c, const Verdict& answer);

/// Whether priority makes other groups wait, or be turned away, instead of this one.
bool is_served_first(const GroupCase& c);
/// Whether the balancer of a service prefers instances that answer, or refuse, sooner than others.
bool prefers_idle(const ServiceSpec& service);
/// The finding that first attempts alone need the whole capacity or more.
std::optional<Finding> overload_without_retries(const GroupCase& c);

/// The limits of a client on what it has under way at which attempts may have to wait or fail. A
/// bulkhead with no more places than there are connections lets none wait for one of these.
struct ScarceLimits {
  bool connections = false, places = false;
};
ScarceLimits scarce_limits(const ClientSpec& client);
/// "a connection", "a place in the bulkhead", or either.
Words what_is_scarce(const GroupCase& c);
/// "each client has one", with the limits that may be what attempts wait for.
Sentence who_has_how_many(const GroupCase& c);

/// The finding that first attempts ask for more than a service below can do.
std::optional<Finding> overload_below(const GroupCase& c);
/// Whether attempts of the group at `service`, which it calls itself, make calls of that group:
/// some are made for single operations only.
bool leads_to(const GroupCase& c, std::size_t service, std::size_t group);

/// A call that fails without failing the attempt that it is made for.
struct DegradedCalls {
  const CallSpec* call;
  const GraphStretch* when;
  double share;         ///< failed calls of this kind per attempt at the caller
  double before_share;  ///< this share before the disturbance
};
/// The calls on the way of the group's requests that fail most often; empty if no kind of call
/// fails more often than before.
std::optional<DegradedCalls> degraded_calls(const GroupCase& c);

/// A service that is shown to be a cause of a group's trouble, with what is wrong with it.
struct Culprit {
  std::size_t service;
  Sentence words;            ///< "is out of capacity"
  const GraphStretch* when;  ///< where it is worst
  /// " during the fault", " around the fault" where a bin is longer; empty if `when` is the whole
  /// window.
  Sentence during;
  bool may_be_effect;  ///< may be the effect of another culprit: overloaded by retries only, or a
                       ///< full queue
};
/// The culprits of a group's trouble, the deepest service first; empty for a group that fares well,
/// or that makes calls.
std::vector<Culprit> culprits_of(const GroupCase& c);
/// " during the fault", by its name where there are several faults; empty for the whole window.
Sentence when_of(const GroupCase& c, const GraphStretch& s);

/// Whether requests or calls above a service are tried again, so that first attempts there contain
/// what retries ask for.
bool is_repeated_above(const GroupCase& c, std::size_t service);

/// What a group loses, in few words for a sentence about several: "fails (1.2 % succeed)".
/// `during_is_said`: the sentence has said that it is about the time of the disturbance. Empty if
/// there are too few requests to tell.
Sentence loss_of(const GroupCase& c, bool during_is_said);
/// Whether the answer is that it fares badly before the disturbance already.
bool is_sick_before_it(const GroupCase& c);

/// The first line of services and client groups that have to do with each other: which services are
/// the cause, and what each group loses.
struct Headline {
  Finding finding;
  std::vector<std::string> culprits = {};  ///< names; empty: no service is shown to be the cause
};
/// The first lines, one for each service that is a cause, in the order of the groups; empty if all
/// groups fare well, or if each calls a service of its own that calls no other.
std::vector<Headline> headlines(std::span<const GroupCase> groups);
extern const VerdictRule kHeadlineRule;

/// What the faults and surges use of the error budgets of the scenario, after everything else; of a
/// single client group if the SLO is about one, else of all together.
std::vector<Verdict> error_budgets(const Scenario& scenario,
                                   std::span<const stats::SloSummary> slos);
extern const VerdictRule kErrorBudgetRule;

/// Rules about causes; any number of them may apply to a group.
std::span<const Rule> graph_rules();  ///< which of the services that call each other is the cause
std::span<const Rule> overload_rules();  ///< why it was too much
std::span<const Rule> client_rules();    ///< what the clients' rules made of it

/// The finding of a twin run: what differs when a part of the scenario is left out.
Finding compared(const GroupCase& with, const GroupCase& without, std::string_view part);

/// "the fault ends", "the last surge ends".
Sentence its_end(const GroupCase& c);
/// "the fault", "the surges".
Sentence its_name(const GroupCase& c);
/// "fault", "surge", or "disturbance" where there are both.
Words kind_of(const GroupCase& c);
/// The claim "not all answers", with the counts that show it where they exist.
Figure not_all_answers();

}  // namespace retrysim::explain

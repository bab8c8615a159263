// The first line of a graph: which service is the cause, and what the users lose.
//
// A service is named with the client groups of whose trouble it is shown to be the only cause; two
// or three together, where several faults meet, say. One that only retries overload, or whose queue
// is full because it waits for calls, does not count beside another, which may have caused that.
//
// SPDX-License-Identifier: MIT
#include "explain/rules.hpp"
#include "explain/sources.hpp"
#include "flow/calls.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::explain {
namespace {

/// The services that are causes for a group, without those that may be effects of others or are
/// left from the time of a disturbance, if there are others.
std::vector<Culprit> culprits_for(const GroupCase& c) {
  std::vector<Culprit> all = culprits_of(c);
  if (std::ranges::any_of(all, [](const Culprit& one) { return !one.may_be_effect; })) {
    std::erase_if(all, [](const Culprit& one) { return one.may_be_effect; });
  }
  // Trouble after the disturbance is a remainder of the trouble during it.
  const auto is_during = [](const Culprit& one) { return one.when->kind == PhaseKind::kDuring; };
  if (std::ranges::any_of(all, is_during)) {
    std::erase_if(all, [](const Culprit& one) { return one.when->kind == PhaseKind::kRecovering; });
  }
  return all;
}

/// One line: a service and the groups of whose trouble it is the only cause; or a few services,
/// each of which is a cause; or groups whose cause is one of a few services, it is not shown which.
struct Line {
  std::vector<Culprit> culprits;
  std::vector<const GroupCase*> lose;
  std::vector<const GroupCase*> unaffected = {};
};

bool loses_something(const GroupCase& c) {
  Severity severity = Severity::kGood;
  return answer_of(c, severity) != nullptr && severity != Severity::kGood;
}

/// Whether the group's requests succeed as usual; other flaws, such as effects that happen twice,
/// do not count here.
bool succeeds_as_usual(const GroupCase& c) {
  Severity severity = Severity::kGood;
  const VerdictRule* const answer = answer_of(c, severity);
  if (answer == nullptr || degraded_calls(c)) return false;
  return answer->id == "all-well" || answer->id == "not-all-well" || answer->id == "unaffected";
}

/// Whether the losses of the group may be chance.
bool has_too_few_requests(const GroupCase& c) {
  Severity severity = Severity::kGood;
  const VerdictRule* const answer = answer_of(c, severity);
  return answer != nullptr && answer->id == "too-few-to-tell";
}

bool is_told_once(const GroupCase& c, const Culprit& culprit) {
  return c.disturbances.count == 1 && culprit.when->kind == PhaseKind::kDuring &&
         culprit.during.text() == when_of(c, *culprit.when).text();
}

/// The names of a few groups, "search and ads"; of more, their number.
Sentence names_of(const std::vector<const GroupCase*>& groups) {
  constexpr std::size_t kMost = 4;
  if (groups.size() > kMost) {
    return say("{} other groups",
               whole(static_cast<double>(groups.size()), not_in_files(kByScenario)));
  }
  std::vector<Sentence> names;
  for (const GroupCase* c : groups) names.push_back(Name{c->client.name});
  return joined(names);
}

/// The services that attempts of a group and the calls for them go to.
std::vector<bool> reach_of(const GroupCase& c) {
  std::vector<bool> reached(c.scenario.services.size(), false);
  const std::vector<std::size_t> entries = called_services(c.client);
  for (const std::size_t s : entries) reached[s] = true;
  if (!c.graph) return reached;
  for (const std::size_t s : flow::callers_first(c.scenario)) {
    if (!reached[s]) continue;
    for (const std::size_t g : c.graph->calls.groups_of(s)) {
      if (std::ranges::count(entries, s) > 0 && !leads_to(c, s, g)) continue;
      for (const std::size_t t : called_services(c.scenario.clients[g])) reached[t] = true;
    }
  }
  return reached;
}

/// How many services are reached in both sets.
std::size_t have_in_common(const std::vector<bool>& a, const std::vector<bool>& b) {
  std::size_t common = 0;
  for (std::size_t s = 0; s < a.size(); ++s) common += a[s] && b[s];
  return common;
}

/// The lines. Groups that fare well are named in the line with which they have the most services in
/// common; if there is only one line, in that one.
std::vector<Line> lines_of(const std::vector<const GroupCase*>& groups) {
  std::vector<Line> lines;
  for (const GroupCase* c : groups) {
    if (!loses_something(*c) || loss_of(*c, false).empty()) continue;
    stop_point();
    constexpr std::size_t kMost = 3;
    std::vector<Culprit> found = culprits_for(*c);
    if (found.size() != 1 && (succeeds_as_usual(*c) || has_too_few_requests(*c))) continue;
    if (found.size() > kMost) found.clear();
    const auto known = std::ranges::find_if(lines, [&](const Line& line) {
      return std::ranges::equal(line.culprits, found, {}, &Culprit::service, &Culprit::service);
    });
    if (known == lines.end()) {
      lines.push_back({std::move(found), {c}});
    } else {
      known->lose.push_back(c);
    }
  }
  if (lines.empty()) return lines;
  std::vector<std::vector<std::vector<bool>>> reached(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const GroupCase* other : lines[i].lose) reached[i].push_back(reach_of(*other));
  }
  for (const GroupCase* c : groups) {
    if (loses_something(*c)) continue;
    const std::vector<bool> own = reach_of(*c);
    std::size_t most = 0;
    Line* beside = lines.size() == 1 ? &lines.front() : nullptr;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const std::vector<bool>& theirs : reached[i]) {
        const std::size_t common = have_in_common(own, theirs);
        if (common > most) most = common, beside = &lines[i];
      }
    }
    if (beside) beside->unaffected.push_back(c);
  }
  return lines;
}

Headline said(const Line& line) {
  const GroupCase& first = *line.lose.front();
  Severity worst = Severity::kGood;
  std::vector<Sentence> parts;
  constexpr std::size_t kMost = 8;  // nine are all named: "1 other group" would be no shorter
  const std::size_t told = line.lose.size() > kMost + 1 ? kMost : line.lose.size();
  for (std::size_t i = 0; i < line.lose.size(); ++i) {
    const GroupCase* const c = line.lose[i];
    Severity severity = Severity::kGood;
    if (answer_of(*c, severity) != nullptr) worst = std::max(worst, severity);
    if (i >= told) continue;
    parts.push_back(
        say("{} {}", Name{c->client.name},
            loss_of(*c, line.culprits.size() == 1 && is_told_once(*c, line.culprits.front()))));
  }
  if (told < line.lose.size()) {
    parts.push_back(
        say("{} other groups have trouble, too",
            whole(static_cast<double>(line.lose.size() - told), not_in_files(kByScenario))));
  }
  if (!line.unaffected.empty()) {
    parts.push_back(say("{} {} not affected", names_of(line.unaffected),
                        line.unaffected.size() == 1 ? Words("is") : Words("are")));
  }
  const Sentence losses = joined(parts, ", ", ", ");
  std::vector<EvidenceFigure> evidence = {
      {"losing_groups", static_cast<double>(line.lose.size())},
      {"unaffected_groups", static_cast<double>(line.unaffected.size())}};
  if (line.culprits.empty()) {
    return {{say("no single service is shown to be the cause: {}", losses), std::move(evidence),
             worst}};
  }
  const bool earlier =
      std::ranges::all_of(line.lose, [](const GroupCase* c) { return is_sick_before_it(*c); });
  std::vector<Sentence> causes;
  for (const Culprit& one : line.culprits) {
    causes.push_back(say("{} {}{}", Name{first.scenario.services[one.service].name}, one.words,
                         earlier ? Sentence() : one.during));
  }
  std::vector<std::string> names;
  for (const Culprit& one : line.culprits) {
    names.push_back(first.scenario.services[one.service].name);
  }
  return {{say("{}: {}", joined(causes, ", ", ", and "), losses), std::move(evidence), worst},
          std::move(names)};
}

}  // namespace

const VerdictRule kHeadlineRule = {
    "culprit", Severity::kBad, false,
    "several services or client groups have to do with each other, and one of the groups has "
    "trouble: the service that is the cause, or two or three of which each is one, as far as that "
    "is "
    "shown, and what each group loses; first of all lines, of the group all"};

std::vector<Headline> headlines(std::span<const GroupCase> groups) {
  std::vector<Headline> lines;
  if (groups.empty() || !groups.front().graph) return lines;
  std::vector<const GroupCase*> users;
  for (const GroupCase& c : groups) {
    if (!c.client.makes_calls() && c.total.requests > 0) users.push_back(&c);
  }
  // Lines with a known cause come first.
  std::vector<Line> all = lines_of(users);
  std::stable_partition(all.begin(), all.end(),
                        [](const Line& line) { return !line.culprits.empty(); });
  for (const Line& line : all) lines.push_back(said(line));
  return lines;
}

}  // namespace retrysim::explain

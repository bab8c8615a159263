// SPDX-License-Identifier: MIT
#include "report/answer_text.hpp"

#include "report/display.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace retrysim::report {
namespace {

/// Verdicts on one client group: the answer, then its causes.
struct Group {
  const Verdict* answer;
  std::vector<const Verdict*> causes;
  bool is_service = false;  ///< the calls that a service makes
};

/// In the order of calls.
std::vector<Group> groups_of(const Evaluation& e) {
  std::vector<Group> groups;
  for (const Layer& layer : call_order(e.scenario())) {
    const ClientSpec& client = e.scenario().clients[layer.group];
    bool is_first = true;
    for (const Verdict& v : e.verdicts) {
      if (v.client != client.name) continue;
      if (is_first) {
        groups.push_back({&v, {}, client.caller.has_value()});
      } else {
        groups.back().causes.push_back(&v);
      }
      is_first = false;
    }
  }
  return groups;
}

bool says(const Group& group, const std::string& sentence) {
  return std::any_of(group.causes.begin(), group.causes.end(),
                     [&](const Verdict* v) { return v->sentence == sentence; });
}

/// Takes out of the groups what all of them say.
std::vector<const Verdict*> take_common_causes(std::vector<Group>& groups) {
  std::vector<const Verdict*> common;
  if (groups.size() < 2) return common;
  for (const Verdict* cause : groups.front().causes) {
    const bool shared = std::all_of(groups.begin(), groups.end(),
                                    [&](const Group& g) { return says(g, cause->sentence); });
    if (shared) common.push_back(cause);
  }
  for (Group& group : groups) {
    std::erase_if(group.causes, [&](const Verdict* v) {
      return std::any_of(common.begin(), common.end(),
                         [&](const Verdict* c) { return c->sentence == v->sentence; });
    });
  }
  return common;
}

}  // namespace

std::string answer_text(const Evaluation& e, std::size_t columns) {
  std::vector<Group> groups = groups_of(e);
  // What a service gets from those below it matters where something is wrong with it.
  std::erase_if(groups, [](const Group& g) {
    return g.is_service && g.causes.empty() && g.answer->severity == Severity::kGood;
  });
  const std::vector<const Verdict*> common = take_common_causes(groups);
  std::string text;
  const auto add_cause = [&](const Verdict* cause) {
    text += wrapped(cause->sentence + ".", {columns, "  - ", "    "});
  };
  for (const Group& group : groups) {
    const std::string name = group.answer->client + ": ";
    text += wrapped(group.answer->sentence + ".", {columns, name, "  "});
    for (const Verdict* cause : group.causes) add_cause(cause);
  }
  if (!common.empty()) text += "all of them:\n";
  for (const Verdict* cause : common) add_cause(cause);
  return text;
}

}  // namespace retrysim::report

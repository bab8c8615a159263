// Kubernetes' Gateway API: retries and timeouts of routes, and budgets of backends.
//
// GEP-1731 (HTTPRoute retries; one that names no codes retries broken connections and timeouts) and
// GEP-1742 (timeouts; zero is none); GEP-3388 (retry budgets: 20 % in 10 s, and 10 a second at
// least; with the names of its first version, too: budgetPercent, budgetInterval).
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace retrysim::imports {

namespace {

void read_gateway_rule(ImportedPolicy& p, const Field& rule) {
  begin(p, "", "");
  const Field retry = rule["retry"].map(), timeouts = rule["timeouts"].map(),
              attempts = retry["attempts"], codes = retry["codes"], backoff = retry["backoff"];
  if (attempts) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(attempts.count())), attempts);
  } else {
    set(p, "retry.max_retries", retry ? "1" : "0",
        retry ? "the number is left to the gateway" : "the rule has no retry");
  }
  if (codes) {
    set_statuses(p, codes);
  } else if (retry) {
    set(p, "retry.status_429", text_in_toml("not-retryable"), "the rule names no codes");
    codes.leave_in_part(fmt::format(
        "without codes gateways retry only broken connections and timeouts; {}", kRetriedHere));
  }
  if (backoff) {
    set_backoff(p, backoff.duration(), 1, std::nullopt, "none", backoff.path());
    backoff.leave_in_part("is the least pause: gateways grow and spread it, each in its way");
  }
  set_timeout(p, "attempt_timeout", timeouts["backend_request"]);
  set_timeout(p, "deadline", timeouts["request"]);
}

void read_retry_constraint(ImportedPolicy& p, const Field& constraint) {
  const Field budget = constraint["budget"].map(), rate = constraint["min_retry_rate"].map();
  const Field percent = budget ? budget["percent"] : constraint["budget_percent"],
              interval = budget ? budget["interval"] : constraint["budget_interval"],
              least = rate["count"], each = rate["interval"];
  const auto positive = [](const Field& f, Duration otherwise) {
    const Duration d = f ? f.duration() : otherwise;
    if (d <= Duration::zero()) f.fail("expected a duration above zero");
    return d;
  };
  const std::string otherwise = "GEP-3388's default";
  const double share = (percent ? percent.number(0, 100) : 20) / 100;
  const double minimum =
      (least ? least.number() : 10) / positive(each, Duration::seconds(1)).in_seconds();
  set(p, "retry.budget.kind", text_in_toml("window"), constraint);
  set(p, "retry.budget.share", in_toml(share), percent ? percent.path() : otherwise);
  set(p, "retry.budget.minimum", in_toml(minimum), least || each ? rate.path() : otherwise);
  set(p, "retry.budget.window", in_toml(positive(interval, Duration::seconds(10))),
      interval ? interval.path() : otherwise);
}

/// The names of the objects that `references` point to.
std::set<std::string> names_in(const Field& references) {
  std::set<std::string> names;
  for (const Field& reference : references.items()) {
    if (const Field name = reference["name"]; name) names.insert(name.text());
  }
  return names;
}

}  // namespace

void import_gateway_api(const Documents& documents, Reading& reading,
                        ImportedConfiguration& result) {
  const bool budgets = std::ranges::any_of(
      documents, [](const Field& d) { return bool(d.at("spec.retry_constraint")); });
  std::vector<std::set<std::string>>
      backends;  // of the policies, if a budget may be meant for them
  for (const Field& d : documents) {
    const Field route_name = d.at("metadata.name");
    for (const Field& rule : d.at("spec.rules").items()) {
      if (!rule["retry"] && !rule["timeouts"]) continue;
      rule["retry"].block();
      rule["timeouts"].block();
      ImportedPolicy p;
      p.name = group_name(route_name ? route_name.text() : "");
      p.from = rule.path();
      read_gateway_rule(p, rule);
      if (budgets) backends.push_back(names_in(rule["backend_refs"]));
      result.policies.push_back(std::move(p));
    }
  }
  const bool routes = !result.policies.empty();
  std::map<std::string, std::vector<std::size_t>> by_backend;  // "": those that name none
  for (const Field& d : documents) {
    const Field constraint = d.at("spec.retry_constraint").map();
    if (!constraint) continue;
    constraint.block();
    const std::set<std::string> targets = names_in(d.at("spec.target_refs"));
    if (!routes) {
      const Field name = d.at("metadata.name");
      ImportedPolicy p;
      p.name = group_name(name ? name.text() : "");
      p.from = constraint.path();
      begin(p, "", "");
      read_retry_constraint(p, constraint);
      result.policies.push_back(std::move(p));
      continue;
    }
    std::set<std::size_t> meant;
    if (targets.empty()) {
      for (std::size_t i = 0; i < backends.size(); ++i) meant.insert(meant.end(), i);
    } else {
      if (by_backend.empty()) {
        for (std::size_t i = 0; i < backends.size(); ++i) {
          if (backends[i].empty()) by_backend[""].push_back(i);
          for (const std::string& name : backends[i]) by_backend[name].push_back(i);
        }
      }
      const auto add = [&](const std::string& name) {
        const auto found = by_backend.find(name);
        if (found == by_backend.end()) return;
        for (const std::size_t i : found->second) {
          reading.count_match();
          meant.insert(i);
        }
      };
      add("");
      for (const std::string& name : targets) add(name);
    }
    for (const std::size_t i : meant) {
      reading.count_match();
      read_retry_constraint(result.policies[i], constraint);
    }
    const bool used = !meant.empty();
    if (!used) constraint.leave("no rule with retries or timeouts sends to its targetRefs");
  }
}

}  // namespace retrysim::imports

// Linkerd: annotations of Services and routes, and ServiceProfiles.
//
// linkerd.io/2/reference: retries, timeouts, circuit-breaking; service-profiles (retryBudget).
// linkerd2 policy-controller: k8s/index/src/outbound/index/http.rs (a limit or timeout of 0 is
// none), grpc/src/outbound/http.rs (backoff); linkerd2-proxy
// app/outbound/src/http/logical/policy/route/ retry.rs (timeouts are retried without a condition,
// too) and app/outbound/src/http/retry.rs (ServiceProfile: at once, as its budget permits).
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <utility>

namespace retrysim::imports {

namespace {

void read_linkerd_annotations(ImportedPolicy& p, const Field& annotations) {
  const auto annotation = [&](std::string_view name) { return annotations[name]; };
  const Field http = annotation("retry.linkerd.io/http"),
              grpc = annotation("retry.linkerd.io/grpc"),
              limit = annotation("retry.linkerd.io/limit"),
              timeout = annotation("retry.linkerd.io/timeout");
  const bool on_answers = bool(http) || bool(grpc);
  if (!on_answers && !limit && !timeout) {
    set(p, "retry.max_retries", "0", "without a retry annotation nothing is retried");
  } else if (limit && limit.count() > 0) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(limit.count())), limit);
  } else {
    set(p, "retry.max_retries", "1", "Linkerd's default for retry.linkerd.io/limit");
  }
  if (!on_answers && (limit || timeout)) {
    (limit ? limit : timeout)
        .leave_in_part(
            fmt::format("without retry.linkerd.io/http or grpc Linkerd retries only timeouts and "
                        "endpoints that cannot be reached; {}",
                        kRetriedHere));
  }
  for (const Field& on : {http, grpc}) {
    if (!on) continue;
    on.use();
    on.leave_in_part(std::string(kRetriedHere));
  }
  const auto set_unless_zero = [&](std::string_view key, const Field& f) {
    if (f && f.duration() > Duration::zero()) set(p, key, in_toml(f.duration()), f);
  };
  set_unless_zero("attempt_timeout", timeout);
  // A request ends with the first of its timeouts.
  const Field response = annotation("timeout.linkerd.io/response"),
              request = annotation("timeout.linkerd.io/request");
  const auto length = [](const Field& f) { return f ? f.duration() : Duration::zero(); };
  const bool both = length(response) > Duration::zero() && length(request) > Duration::zero();
  const bool response_first = both && length(response) < length(request);
  if (both) {
    (response_first ? request : response)
        .leave_in_part(fmt::format("{} is not longer, and ends the request before",
                                   (response_first ? response : request).path()));
  }
  if (!both || response_first) set_unless_zero("deadline", response);
  if (!response_first) set_unless_zero("deadline", request);
  annotation("timeout.linkerd.io/idle").leave("answers come whole");
  for (const auto& [name, member] : annotations.members()) {
    if (!name.starts_with("balancer.linkerd.io/")) continue;
    member.leave("a rule of the service's instances: see service.*.ejection in the list of keys");
  }
}

/// Routes of a ServiceProfile with equal settings, which give one policy.
struct ProfileRoutes {
  bool retryable = false;
  std::optional<Duration> timeout;
  std::vector<Field> routes = {};
};

std::vector<ProfileRoutes> kinds_of_routes(const Field& routes) {
  std::vector<ProfileRoutes> kinds;
  for (const Field& route : routes.list().items()) {
    ProfileRoutes kind;
    if (const Field f = route["is_retryable"]; f) kind.retryable = f.flag();
    if (const Field f = route["timeout"]; f) kind.timeout = f.duration();
    const auto known = std::ranges::find_if(kinds, [&](const ProfileRoutes& k) {
      return k.retryable == kind.retryable && k.timeout == kind.timeout;
    });
    ProfileRoutes& its = known != kinds.end() ? *known : kinds.emplace_back(kind);
    its.routes.push_back(route);
    route["response_classes"].leave(std::string(kRetriedHere));
  }
  return kinds;
}

void read_budget(ImportedPolicy& p, const Field& budget) {
  constexpr std::string_view kDefault = "Linkerd's default";
  set(p, "retry.budget.of", text_in_toml("successes"), "Linkerd's rules");
  set(p, "retry.budget.kind", text_in_toml("window"),
      budget ? budget.path() : std::string(kDefault));
  const Field ratio = budget["retry_ratio"], least = budget["min_retries_per_second"],
              ttl = budget["ttl"];
  set(p, "retry.budget.share", in_toml(ratio ? ratio.number() : 0.2),
      ratio ? ratio.path() : std::string(kDefault));
  set(p, "retry.budget.minimum", in_toml(least ? least.number() : 10),
      least ? least.path() : std::string(kDefault));
  set(p, "retry.budget.window", in_toml(ttl ? ttl.duration() : Duration::seconds(10)),
      ttl ? ttl.path() : std::string(kDefault));
  set(p, "retry.budget.slices", "11", "Linkerd's rules");
}

/// `any_retryable`: another route of the profile may be sent again, and has the budget.
void read_profile(ImportedPolicy& p, const Field& budget, const ProfileRoutes& kind,
                  bool any_retryable) {
  const bool none = !kind.routes.empty() && !kind.retryable;
  set(p, "retry.max_retries", none ? "0" : text_in_toml("unlimited"),
      none ? "no isRetryable" : "only the budget limits them");
  if (none) {
    if (!any_retryable) budget.leave("no route has isRetryable");
  } else {
    set_backoff(p, Duration::zero(), 1, std::nullopt, "none", "Linkerd retries at once");
    read_budget(p, budget);
  }
  for (const Field& route : kind.routes) {
    if (const Field f = route["is_retryable"]; f) f.use();
    if (const Field f = route["timeout"]; f) set(p, "deadline", in_toml(f.duration()), f);
    if (const Field f = route["name"]; f) f.use();
  }
}

}  // namespace

void import_linkerd(const Documents& documents, Reading&, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    const Field annotations = d.at("metadata.annotations") ? d.at("metadata.annotations") : d;
    const bool about_retries = std::ranges::any_of(annotations.members(), [](const auto& member) {
      const std::string& name = member.first;
      return name.starts_with("retry.linkerd.io/") || name.starts_with("timeout.linkerd.io/") ||
             name.starts_with("balancer.linkerd.io/");
    });
    const Field budget = d.at("spec.retry_budget").map().block(), name = d.at("metadata.name");
    const std::string own = group_name(name ? name.text() : "");
    if (about_retries) {
      ImportedPolicy p = new_policy(own, annotations.path());
      begin(p, "linkerd", "Linkerd");
      read_linkerd_annotations(p, annotations);
      if (budget) read_budget(p, budget);
      result.policies.push_back(std::move(p));
    }
    if (!about_retries) {
      const std::vector<ProfileRoutes> kinds = kinds_of_routes(d.at("spec.routes"));
      const bool says = budget || std::ranges::any_of(kinds, [](const ProfileRoutes& kind) {
                          return kind.retryable || kind.timeout;
                        });
      if (!says) continue;
      const bool any_retryable = std::ranges::any_of(kinds, &ProfileRoutes::retryable);
      const auto add = [&](const ProfileRoutes& kind, const std::string& its_name) {
        ImportedPolicy p = new_policy(its_name, budget ? budget.path() : d["spec"].path());
        begin(p, "linkerd", "Linkerd");
        read_profile(p, budget, kind, any_retryable);
        result.policies.push_back(std::move(p));
      };
      if (kinds.empty()) add({}, own);
      for (const ProfileRoutes& kind : kinds) {
        const Field first = kind.routes.front()["name"];
        add(kind, kinds.size() == 1 || !first ? own : group_name(own + "-" + first.text()));
      }
    }
    for (const Field& rule : d.at("spec.rules").items())
      rule["timeouts"].leave("of one rule: write a deadline");
  }
}

}  // namespace retrysim::imports

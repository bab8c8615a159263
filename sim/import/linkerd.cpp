// Linkerd: annotations of Services and routes, and ServiceProfiles.
//
// linkerd.io/2/reference: retries, timeouts, circuit-breaking; service-profiles (retryBudget).
// linkerd2 policy-controller: k8s/index/src/outbound/index/http.rs (a limit of 0 is none),
// grpc/src/outbound/http.rs (backoff); linkerd2-proxy app/outbound/src/http/logical/policy/route/
// retry.rs (timeouts are retried without a condition, too) and app/outbound/src/http/retry.rs
// (ServiceProfile: at once, as its budget permits).
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
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
  if (timeout) set(p, "attempt_timeout", in_toml(timeout.duration()), timeout);
  if (const Field f = annotation("timeout.linkerd.io/response"); f)
    set(p, "deadline", in_toml(f.duration()), f);
  if (const Field f = annotation("timeout.linkerd.io/request"); f)
    set(p, "deadline", in_toml(f.duration()), f);
  annotation("timeout.linkerd.io/idle").leave("answers come whole");
  for (const auto& [name, member] : annotations.members()) {
    if (!name.starts_with("balancer.linkerd.io/")) continue;
    member.leave("a rule of the service's instances: see service.*.ejection in the list of keys");
  }
}

}  // namespace

void import_linkerd(const Documents& documents, Reading&, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    const Field annotations = d.at("metadata.annotations") ? d.at("metadata.annotations") : d;
    const bool about_retries = std::ranges::any_of(annotations.members(), [](const auto& member) {
      return member.first.find(".linkerd.io/") != std::string::npos;
    });
    const Field budget = d.at("spec.retry_budget").map(), name = d.at("metadata.name");
    const std::vector<Field> routes = d.at("spec.routes").items();
    const bool retryable = std::ranges::any_of(routes, [](const Field& route) {
      const Field f = route["is_retryable"];
      return f && f.flag();
    });
    if (!about_retries && !budget && !retryable) continue;
    ImportedPolicy p;
    p.name = group_name(name ? name.text() : "");
    p.from = about_retries ? annotations.path() : budget ? budget.path() : d["spec"].path();
    begin(p, "linkerd", "Linkerd");
    if (about_retries) read_linkerd_annotations(p, annotations);
    if (budget || retryable) {
      budget.block();
      if (!about_retries) {
        const bool none = !routes.empty() && !retryable;
        set(p, "retry.max_retries", none ? "0" : text_in_toml("unlimited"),
            none ? "no route has isRetryable" : "only the budget limits them");
        set_backoff(p, Duration::zero(), 1, std::nullopt, "none", "Linkerd retries at once");
      }
      set(p, "retry.budget.of", text_in_toml("successes"), "Linkerd's rules");
      set(p, "retry.budget.kind", text_in_toml("window"),
          budget ? budget.path() : "Linkerd's default");
      const Field ratio = budget["retry_ratio"], least = budget["min_retries_per_second"],
                  ttl = budget["ttl"];
      set(p, "retry.budget.share", in_toml(ratio ? ratio.number() : 0.2),
          ratio ? ratio.path() : "Linkerd's default");
      set(p, "retry.budget.minimum", in_toml(least ? least.number() : 10),
          least ? least.path() : "Linkerd's default");
      set(p, "retry.budget.window", in_toml(ttl ? ttl.duration() : Duration::seconds(10)),
          ttl ? ttl.path() : "Linkerd's default");
      set(p, "retry.budget.slices", "11", "Linkerd's rules");
    }
    for (const Field& route : routes) {
      if (const Field f = route["is_retryable"]; f) {
        f.use();
        f.leave_in_part("the requests of a client group are retried, or none of them");
      }
      route["timeout"].leave("of one route: write a deadline");
      route["response_classes"].leave(std::string(kRetriedHere));
    }
    for (const Field& rule : d.at("spec.rules").items())
      rule["timeouts"].leave("of one rule: write a deadline");
    result.policies.push_back(std::move(p));
  }
}

}  // namespace retrysim::imports

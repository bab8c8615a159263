// Kubernetes' Gateway API: retries and timeouts of routes, budgets of backends, and Envoy Gateway's
// policies.
//
// GEP-1731 (HTTPRoute retries; one that names no codes retries broken connections and timeouts) and
// GEP-1742 (timeouts; zero is none); GEP-3388 (retry budgets: 20 % in 10 s, and 10 a second at
// least; with the names of its first version, too: budgetPercent, budgetInterval).
// Envoy Gateway: api/v1alpha1 backendtrafficpolicy_types.go, retry_types.go,
// circuitbreaker_types.go, timeout_types.go; internal/xds/translator (as many retries at once as
// requests: 1024; a policy of a route takes the place of that of its gateway; the retries of a rule
// go before both).
//
// SPDX-License-Identifier: MIT
#include "import/envoy.hpp"
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
    set_errors(p, {"timeout", "connection"}, "without codes gateways retry only these");
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

// --- Envoy Gateway -------------------------------------------------------------------------------

constexpr FieldRow kBreakerFields[] = {
    {"max_connections", "max_connections", As::kConnections},
    {"max_parallel_requests", "bulkhead.max_concurrent", As::kConnections},
    left_out("max_requests_per_connection", "connections are kept"),
    left_out("per_endpoint", "hosts have no limits of their own"),
};
constexpr FieldRow kTimeoutFields[] = {
    {"tcp.connect_timeout", "connect_timeout", As::kTimeout},
    left_out("http.connection_idle_timeout", "connections are kept"),
    left_out("http.max_connection_duration", "connections are kept"),
    left_out("http.max_stream_duration", "is the same as requestTimeout: write deadline"),
};

/// Leaves out the settings of a policy that are for the service, with the lines to write there.
void leave_for_service(const Field& policy) {
  for (const Field& rule : policy.at("rate_limit.local.rules").items()) {
    const Field requests = rule.at("limit.requests"), unit = rule.at("limit.unit");
    if (!requests || !unit || rule["client_selectors"]) continue;
    constexpr std::pair<std::string_view, double> kRateUnits[] = {
        {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}};
    for (const auto& [name, seconds] : kRateUnits) {
      if (plain_name(unit.text()) != name) continue;
      const double count = requests.number();
      rule.leave(
          fmt::format("of the service, for each proxy: write throttle.rate = {} and "
                      "throttle.burst = {} there",
                      in_toml(count / seconds), in_toml(count)));
    }
  }
  policy["rate_limit"].leave(
      "a throttle of the service: see service.*.throttle in the list of keys");
  const Field passive = policy.at("health_check.passive");
  if (passive) {
    constexpr std::pair<const char*, const char*> kEjection[] = {
        {"interval", "interval"},
        {"base_ejection_time", "base_ejection_time"},
        {"consecutive_5xx_errors", "consecutive_5xx"},
        {"consecutive_gateway_errors", "consecutive_gateway_failure"},
        {"max_ejection_percent", "max_ejection_percent"}};
    std::string lines;
    for (const auto& [name, key] : kEjection) {
      const Field f = passive[name];
      if (!f) continue;
      const bool is_time = std::string_view(name).find("consecutive") == std::string_view::npos &&
                           std::string_view(name) != "max_ejection_percent";
      lines += fmt::format("{}{} = {}", lines.empty() ? "" : ", ", key,
                           is_time ? in_toml(f.duration()) : in_toml(f.number()));
    }
    passive.leave(fmt::format("of the service's instances: write ejection.{{ {} }} there", lines));
  }
  policy.at("health_check.active")
      .leave("health checks: see service.*.health_check in the list of keys");
}

bool is_of_envoy_gateway(const Field& d) {
  if (d["kind"].plain() != "BackendTrafficPolicy" || d.at("spec.retry_constraint")) return false;
  const Field version = d["api_version"];
  return !version || version.plain().starts_with("gateway.envoyproxy.io/");
}

/// Reads the retries that a policy of Envoy Gateway gives to routes.
void read_envoy_gateway(ImportedPolicy& p, const Field& policy, bool has_own_retries) {
  const Field retry = policy["retry"].map().block(), breaker = policy["circuit_breaker"].map(),
              timeout = policy["timeout"].map(), per_retry = retry["per_retry"].map(),
              backoff = per_retry["back_off"].map(), on = retry["retryOn"].map();
  breaker.block();
  timeout.block();
  if (has_own_retries) {
    retry.leave("the retries of the route's rule take its place");
  } else if (!retry) {
    set(p, "retry.max_retries", "0", "the policy has no retry");
  } else {
    const Field retries = retry["num_retries"], triggers = on["triggers"],
                codes = on["http_status_codes"];
    set(p, "retry.sdk", text_in_toml("envoy"), "Envoy's rules");
    set(p, "retry.max_retries", retries ? in_toml(static_cast<double>(retries.count())) : "2",
        retries ? retries.path() : "Envoy Gateway's default");
    if (triggers) {
      set_conditions(p, triggers, codes);
    } else {
      set_errors(p, {"connection", "503", "499"}, "Envoy Gateway's default");
      codes.leave("Envoy reads it only if triggers name retriable-status-codes");
    }
    set_timeout(p, "attempt_timeout", per_retry["timeout"]);
    set_envoy_backoff(p, backoff["base_interval"], backoff["max_interval"], "baseInterval");
    set(p, "retry.avoid_hosts", "5", "Envoy Gateway's default");
    if (retry.members().empty()) retry.use();
  }
  if (retry || has_own_retries) {
    const Field most = breaker["max_parallel_retries"], budget = breaker["retry_budget"];
    if (budget) {
      const Field percent = budget["percent"], whole = percent["denominator"],
                  least = budget["min_retry_concurrency"];
      const double share = percent["numerator"]
                               ? percent["numerator"].number() / (whole ? whole.number(1) : 100)
                               : 0.2;
      set_active_budget(p, share, least ? least.number() : 3, budget.path());
      most.leave("retryBudget takes its place");
    } else {
      set_active_budget(p, 0, most ? most.number() : 1024,
                        most ? most.path() : "Envoy Gateway's default");
    }
  } else {
    breaker["max_parallel_retries"].leave("the policy has no retry");
    breaker["retry_budget"].leave("the policy has no retry");
  }
  read_fields(p, breaker, kBreakerFields);
  set_pending(p, breaker["max_pending_requests"]);
  read_fields(p, timeout, kTimeoutFields);
  const auto known = std::ranges::find(p.keys, "deadline", &ImportedKey::path);
  const Field request = timeout.at("http.request_timeout");
  if (known == p.keys.end()) {
    if (request) {
      set_timeout(p, "deadline", request);
    } else {
      set(p, "deadline", in_toml(Duration::seconds(15)), "Envoy's default for a route's timeout");
    }
  } else {
    request.leave("the timeout of the route's rule takes its place");
  }
  leave_for_service(policy);
}

/// Whether a kind of routes, with or without a name behind it, has streams instead of requests.
bool is_of_streams(const std::string& kind) {
  return kind.starts_with("TCPRoute") || kind.starts_with("UDPRoute") ||
         kind.starts_with("TLSRoute");
}

/// The targets of a policy, such as "HTTPRoute web": each of targetRefs, and targetRef, as before
/// version 1.1.
std::vector<std::string> targets_of(const Field& spec) {
  std::vector<Field> references = spec["target_refs"].items();
  if (const Field one = spec["target_ref"]; one) references.push_back(one);
  std::vector<std::string> targets;
  for (const Field& r : references) {
    const Field kind = r["kind"], name = r["name"];
    if (kind && name) targets.push_back(fmt::format("{} {}", kind.text(), name.text()));
  }
  return targets;
}

/// The policies of Envoy Gateway by their targets.
class EnvoyGatewayPolicies {
 public:
  explicit EnvoyGatewayPolicies(const Documents& documents) {
    for (const Field& d : documents) {
      if (!is_of_envoy_gateway(d)) continue;
      policies.push_back({d, false});
      for (const std::string& target : targets_of(d["spec"])) {
        by_target_.try_emplace(target, policies.size() - 1);
      }
    }
  }
  /// The policy of a route, else that of one of its gateways; null if there is none.
  const Field* find(const Field& route) {
    if (policies.empty()) return nullptr;
    std::vector<std::string> names;
    if (const Field name = route.at("metadata.name"); name) {
      const Field kind = route["kind"];
      names.push_back(fmt::format("{} {}", kind ? kind.text() : "HTTPRoute", name.text()));
    }
    for (const std::string& name : names_in(route.at("spec.parent_refs"))) {
      names.push_back("Gateway " + name);
    }
    for (const std::string& name : names) {
      const auto found = by_target_.find(name);
      if (found == by_target_.end()) continue;
      policies[found->second].is_used = true;
      return &policies[found->second].document;
    }
    return nullptr;
  }

  struct Policy {
    Field document;
    bool is_used;
  };
  std::vector<Policy> policies;

 private:
  std::map<std::string, std::size_t> by_target_;
};

}  // namespace

void import_gateway_api(const Documents& documents, Reading& reading,
                        ImportedConfiguration& result) {
  EnvoyGatewayPolicies envoy_gateway(documents);
  const bool budgets = std::ranges::any_of(
      documents, [](const Field& d) { return bool(d.at("spec.retry_constraint")); });
  std::vector<std::set<std::string>> backends;  // backends of each policy, if a budget is for them
  for (const Field& d : documents) {
    const Field route_name = d.at("metadata.name");
    const Field* const policy = d.at("spec.rules").is_list() ? envoy_gateway.find(d) : nullptr;
    if (is_of_streams(std::string(d["kind"].plain()))) continue;
    for (const Field& rule : d.at("spec.rules").items()) {
      if (!rule["retry"] && !rule["timeouts"] && policy == nullptr) continue;
      rule["retry"].block();
      rule["timeouts"].block();
      ImportedPolicy p = new_policy(group_name(route_name ? route_name.text() : ""), rule.path());
      read_gateway_rule(p, rule);
      if (policy != nullptr) read_envoy_gateway(p, (*policy)["spec"], bool(rule["retry"]));
      if (budgets) backends.push_back(names_in(rule["backend_refs"]));
      result.policies.push_back(std::move(p));
    }
  }
  const bool routes = !result.policies.empty();
  for (const auto& [document, is_used] : envoy_gateway.policies) {
    const Field spec = document["spec"].map();
    if (is_used || !spec) continue;
    const std::vector<std::string> targets = targets_of(spec);
    const Field own = document.at("metadata.name");
    std::string name = own ? own.text() : "";
    if (!targets.empty() && std::ranges::all_of(targets, is_of_streams)) {
      spec.leave("is for streams, which have no requests");
      continue;
    }
    if (targets.size() == 1) name = targets.front().substr(targets.front().find(' ') + 1);
    ImportedPolicy p = new_policy(group_name(name), spec.path());
    begin(p, "", "");
    read_envoy_gateway(p, spec, false);
    backends.emplace_back();
    result.policies.push_back(std::move(p));
  }
  // Policies by backend; "": without a backend.
  std::map<std::string, std::vector<std::size_t>> by_backend;
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

// Envoy: routes with retry policies, and the clusters that they send to.
//
// Fields and defaults: envoy/config/route/v3/route_components.proto (RetryPolicy, HedgePolicy),
// envoy/config/cluster/v3/circuit_breaker.proto,
// envoy/extensions/filters/http/adaptive_concurrency/v3/adaptive_concurrency.proto.
//
// SPDX-License-Identifier: MIT
#include "import/envoy.hpp"

#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace retrysim::imports {

constexpr std::string_view kByList = "retriable-status-codes";

namespace {

/// The errors that a condition stands for; empty for an unknown condition.
std::vector<std::string> errors_of(const std::string& condition) {
  struct Condition {
    std::string_view name;
    std::vector<std::string> errors;
  };
  // The first three conditions also retry a request without any answer (a reset, a timeout).
  static const std::vector<Condition> kConditions = {
      {"5xx", {"5xx", "timeout", "connection"}},
      {"gateway-error", {"502", "503", "504", "timeout", "connection"}},
      {"reset", {"timeout", "connection"}},
      {"reset-before-request", {"connection"}},
      {"connect-failure", {"connection"}},
      {"refused-stream", {"connection"}},
      {"retriable-4xx", {"409"}},
      // Conditions of gRPC, by the HTTP statuses that stand for these codes.
      {"cancelled", {"499"}},
      {"deadline-exceeded", {"504"}},
      {"internal", {"500"}},
      {"resource-exhausted", {"429"}},
      {"unavailable", {"503"}},
  };
  for (const Condition& c : kConditions) {
    if (c.name == condition) return c.errors;
  }
  // Istio allows statuses in this list, too.
  const std::optional<double> status = number_in(condition);
  if (status && *status >= 400 && *status < 600) return {condition};
  return {};
}

}  // namespace

void set_conditions(ImportedPolicy& p, const Field& retry_on, const Field& status_list) {
  const std::vector<std::string> conditions = retry_on.words();
  const bool reads_list = std::ranges::count(conditions, kByList) > 0;
  std::vector<std::string> errors, unknown;
  const auto add = [&](const std::string& condition) {
    const std::vector<std::string> its = errors_of(condition);
    errors.insert(errors.end(), its.begin(), its.end());
    if (its.empty() && condition != kByList) unknown.push_back(condition);
  };
  for (const std::string& c : conditions) add(c);
  if (status_list && reads_list) {
    for (const std::string& status : status_list.words()) add(status);
  }
  if (!unknown.empty()) {
    retry_on.leave_in_part(fmt::format("no counterpart: {}", fmt::join(unknown, ", ")));
  }
  if (errors.empty()) {
    set(p, "retry.max_retries", "0", retry_on.path() + " asks for nothing that fails here");
  } else {
    set_errors(p, errors, retry_on.path());
  }
  if (status_list && !reads_list) {
    status_list.leave("Envoy reads it only if retry_on names retriable-status-codes");
  }
}

void set_envoy_backoff(ImportedPolicy& p, const Field& base, const std::optional<Field>& longest,
                       std::string_view base_name) {
  if (!base) return;
  const Duration interval = base.duration();
  if (interval <= Duration::zero()) base.fail("Envoy expects a duration above zero");
  set(p, "retry.backoff.base", in_toml(interval), base);
  set(p, "retry.backoff.throttle_base", in_toml(interval), base);
  const bool has_longest = longest && *longest;
  if (has_longest && longest->duration() < interval) {
    longest->fail(fmt::format("Envoy expects at least {}", base_name));
  }
  set(p, "retry.backoff.cap", in_toml(has_longest ? longest->duration() : interval * 10),
      has_longest ? longest->path() : fmt::format("ten times {}, Envoy's default", base_name));
}

void read_retry_budget(ImportedPolicy& p, const Field& budget) {
  const Field share = budget["budget_percent"],
              percent = share ? share["value"] : budget["percent"],
              least = budget["min_retry_concurrency"], interval = budget["budget_interval"];
  constexpr double kEnvoysShare = 20, kEnvoysMinimum = 3;
  set_active_budget(p, (percent ? percent.number(0, 100) : kEnvoysShare) / 100,
                    least ? least.number() : kEnvoysMinimum, budget.path());
  if (budget.members().empty()) budget.use();
  if (!interval) return;
  if (const Duration d = interval.duration(); d > Duration::zero()) {
    set(p, "retry.budget.kind", text_in_toml("interval"), interval);
    set(p, "retry.budget.window", in_toml(d), interval);
  }
}

namespace {

constexpr FieldRow kPolicyFields[] = {
    left_out("host_selection_retry_max_attempts", "goes with the host predicate previous_hosts"),
    left_out("retry_priority", "hosts have no priorities"),
    left_out("per_try_idle_timeout", "answers come whole"),
};
// Fields of RateLimitedRetryBackOff. A delay in one of the headers takes the place of the backoff,
// up to half of it longer (JitteredLowerBoundBackOffStrategy), unless it is beyond max_interval.
constexpr FieldRow kRateLimitedBackoffFields[] = {
    {"max_interval", "retry.retry_after_max", As::kDuration, "", "\"300s\""},
    left_out("reset_headers", "every suggested delay is taken for one in such a header"),
};
constexpr FieldRow kHedgeFields[] = {
    left_out("initial_requests", "Envoy itself does not implement it"),
    left_out("additional_request_chance", "Envoy itself does not implement it"),
};
constexpr FieldRow kConnectionFields[] = {
    {"max_connections", "max_connections", As::kConnections},
};
// Fields of a circuit breaker's thresholds. An attempt beyond a limit fails at once and is not
// retried (retry_state_impl.cc, 01c2c1f: never after an overflow), as retry.on says.
constexpr FieldRow kThresholdFields[] = {
    {"max_requests", "bulkhead.max_concurrent", As::kConnections},
    left_out("track_remaining", "is about statistics"),
};

void read_envoy_policy(ImportedPolicy& p, const Field& policy) {
  policy.block();
  begin(p, "envoy", "Envoy");
  const Field retries = policy["num_retries"], on = policy["retry_on"];
  if (on) {
    set(p, "retry.max_retries", retries ? in_toml(static_cast<double>(retries.count())) : "1",
        retries ? retries.path() : "Envoy's default for num_retries");
  } else {
    set(p, "retry.max_retries", "0", "without retry_on Envoy retries nothing");
    retries.leave("retry_on is missing, so that Envoy retries nothing");
  }
  set_timeout(p, "attempt_timeout", policy["per_try_timeout"]);
  const Field backoff = policy["retry_back_off"].map();
  set_envoy_backoff(p, backoff["base_interval"], backoff["max_interval"], "base_interval");
  if (const Field f = policy["rate_limited_retry_back_off"].map(); f) {
    set(p, "retry.retry_after", text_in_toml("replace"), f);
    read_fields(p, f, kRateLimitedBackoffFields, "Envoy");
    set(p, "retry.retry_after_over", text_in_toml("backoff"), "Envoy's rules");
    set(p, "retry.retry_after_jitter", "0.5", "Envoy's rules");
  }
  const Field statuses = policy["retriable_status_codes"];
  if (on) {
    set_conditions(p, on, statuses);
  } else {
    statuses.leave("retry_on is missing, so that Envoy retries nothing");
  }
  const Field predicates = policy["retry_host_predicate"],
              tries = policy["host_selection_retry_max_attempts"];
  for (const Field& predicate : predicates.list().items()) {
    const Field name = predicate["name"], type = predicate.at("typed_config.@type");
    const bool named = name && name.text().find("previous_hosts") != std::string::npos;
    const bool typed = type && type.text().find("PreviousHosts") != std::string::npos;
    if (!named && !typed) {
      predicate.leave("hosts differ in nothing but that they were tried before");
      continue;
    }
    set(p, "retry.avoid_hosts", tries ? in_toml(static_cast<double>(tries.count())) : "1",
        tries ? tries.path() : "Envoy's default for host_selection_retry_max_attempts");
  }
  read_fields(p, policy, kPolicyFields);
}

void read_hedge_policy(ImportedPolicy& p, const Field& hedge, const Field& policy) {
  if (!hedge) return;
  const Field on_timeout = hedge["hedge_on_per_try_timeout"], timeout = policy["per_try_timeout"];
  if (on_timeout && on_timeout.flag() && timeout) {
    // With hedging the first attempt goes on, so that no timeout ends it.
    set(p, "retry.hedging.delay", in_toml(timeout.duration()),
        on_timeout.path() + " with " + timeout.path());
    remove(p, "attempt_timeout");
  }
  read_fields(p, hedge, kHedgeFields);
}

/// Leaves out settings of the service's instances, whose table an import does not have, with the
/// line to write there. Percentages are in common.proto and endpoint.proto.
void leave_panic(const Field& cluster) {
  const auto leave = [](const Field& field, std::string_view key, const std::string& value) {
    field.leave(fmt::format("of the service's instances: write {} = {} there", key, value));
  };
  const Field panic = cluster.at("common_lb_config.healthy_panic_threshold");
  if (panic) {
    const Field percent = panic.map()["value"];
    leave(panic, "panic_threshold", in_toml(percent ? percent.number(0, 100) / 100 : 0));
  }
  const Field policy = cluster.at("load_assignment.policy");
  if (const Field factor = policy["overprovisioning_factor"]; factor) {
    leave(policy, "panic_overprovisioning", in_toml(factor.number(100, 100'000) / 100));
  }
}

/// Leaves out the filter that limits the attempts at a service, with the line to write there.
void leave_adaptive_concurrency(const Field& filter) {
  const Field gradient = filter["gradient_controller_config"];
  const Field enabled = filter.at("enabled.default_value");
  if (enabled && !enabled.flag()) return gradient.leave("the filter is switched off");
  std::string keys = "control = " + text_in_toml("envoy");
  const auto add = [&](std::string_view key, const std::string& value) {
    keys += fmt::format(", {} = {}", key, value);
  };
  const auto add_count = [&](std::string_view key, const Field& f) {
    if (f) add(key, in_toml(static_cast<double>(f.count())));
  };
  const auto add_time = [&](std::string_view key, const Field& f) {
    if (f) add(key, in_toml(f.duration()));
  };
  const auto add_percent = [&](std::string_view key, const Field& f) {
    if (const Field value = f.map()["value"]; value) add(key, in_toml(value.number(0, 100) / 100));
  };
  const Field limits = gradient["concurrency_limit_params"].map(),
              best = gradient["min_rtt_calc_params"].map();
  add_percent("percentile", gradient["sample_aggregate_percentile"]);
  add_time("interval", limits["concurrency_update_interval"]);
  const Field least = limits["min_concurrency_limit"];
  add_count("min", least ? least : best["min_concurrency"]);
  add_count("max", limits["max_concurrency_limit"]);
  add_percent("min_rtt_buffer", best["buffer"]);
  if (const Field fixed = best["fixed_value"]; fixed) {
    add_time("min_rtt", fixed);
  } else {
    add_time("min_rtt_interval", best["interval"]);
    add_percent("min_rtt_jitter", best["jitter"]);
    add_count("min_rtt_requests", best["request_count"]);
    if (least) add("measure_at_min", "false");
  }
  gradient.leave(fmt::format("of the service: write concurrency = {{ {} }} there", keys));
  const Field status = filter["concurrency_limit_exceeded_status"];
  if (const Field code = status["code"]; code) {
    status.leave(
        fmt::format("of the service: write answers.limit = {} there", text_in_toml(code.text())));
  }
}

void read_envoy_cluster(ImportedPolicy& p, const Field& cluster) {
  cluster["circuit_breakers"].block();
  cluster["outlier_detection"].block();
  if (const Field f = cluster["connect_timeout"]; f)
    set(p, "connect_timeout", in_toml(f.duration()), f);
  if (const Field f = cluster["name"]; f) f.use();
  for (const Field& t : cluster["circuit_breakers"].map()["thresholds"].list().items()) {
    if (const Field priority = t["priority"]; priority && priority.text() != "DEFAULT") {
      t.leave("requests have no routing priority");
      continue;
    }
    read_fields(p, t, kConnectionFields);
    if (const Field f = t["retry_budget"].map(); f) {
      read_retry_budget(p, f);
      t["max_retries"].leave("retry_budget takes its place");
    } else if (const Field most = t["max_retries"]; most) {
      set_active_budget(p, 0, most.number(), most.path());
    }
    read_fields(p, t, kThresholdFields);
    set_pending(p, t["max_pending_requests"]);
  }
  cluster["outlier_detection"].leave(std::string(kOfInstances));
  leave_panic(cluster);
}

/// The names of the clusters that a route sends to; empty if it names none.
std::vector<std::string> clusters_of(const Field& route) {
  if (const Field cluster = route["cluster"]; cluster) return {cluster.text()};
  std::vector<std::string> names;
  for (const Field& weighted : route.at("weighted_clusters.clusters").items()) {
    if (const Field name = weighted["name"]; name) names.push_back(name.text());
  }
  return names;
}

bool is_of_istio(std::string_view cluster) {
  return cluster.starts_with("outbound|") || cluster.starts_with("inbound|");
}

/// A name for a cluster's client group. Istio's clusters are called
/// outbound|80|v1|reviews.shop.svc.cluster.local: direction, port, subset, host.
std::string name_of_cluster(const std::string& cluster) {
  if (!is_of_istio(cluster)) return group_name(cluster);
  const std::size_t last = cluster.rfind('|');
  const std::string host = cluster.substr(last + 1);
  const std::size_t before = cluster.rfind('|', last - 1);
  const std::string subset = cluster.substr(before + 1, last - before - 1);
  const std::string name = host.substr(0, host.find('.'));
  return group_name(subset.empty() ? name : name + "-" + subset);
}

void set_default_budget(ImportedPolicy& p, const std::string& cluster) {
  if (is_of_istio(cluster)) {
    set(p, "retry.budget.kind", text_in_toml("none"), "Istio's default for maxRetries");
  } else {
    set_active_budget(p, 0, 3, "Envoy's default: 3 retries under way at once");
  }
}

/// Policies of a file, each with the cluster that it is for.
struct Routes {
  ImportedConfiguration* result;
  std::vector<std::string> targets;  // targets of the policies; empty: not known

  void add(const Field& policy, const Field& route, const Field& hedging) {
    const std::vector<std::string> clusters = clusters_of(route);
    targets.push_back(clusters.empty() ? "" : clusters.front());
    ImportedPolicy p = new_policy(name_of_cluster(targets.back()), policy.path());
    read_envoy_policy(p, policy.map());
    set_default_budget(p, targets.back());
    read_hedge_policy(p, hedging["hedge_policy"].map(), policy);
    if (const Field f = route["timeout"]; f) {
      set_timeout(p, "deadline", f);
    } else if (!clusters.empty() || route["cluster_header"]) {
      set(p, "deadline", in_toml(Duration::seconds(15)), "Envoy's default for a route's timeout");
    }
    if (clusters.size() > 1) {
      route["weighted_clusters"].leave_in_part(
          fmt::format("the client group stands for the first of them, {}", clusters.front()));
    }
    result->policies.push_back(std::move(p));
  }

  /// Adds policies for the routes of a virtual host, which have its policy unless they have their
  /// own. Routes to the same cluster with the same timeout give one policy.
  bool add_inherited(const Field& host) {
    const Field policy = host["retry_policy"];
    std::set<std::pair<std::string, std::string>> known;
    for (const Field& item : host["routes"].list().items()) {
      const Field route = item["route"], timeout = route["timeout"];
      const std::vector<std::string> clusters = clusters_of(route);
      if (clusters.empty() || route["retry_policy"]) continue;
      if (!known.emplace(clusters.front(), timeout ? timeout.text() : "").second) continue;
      add(policy, route, route["hedge_policy"] ? route : host);
    }
    return !known.empty();
  }
};

}  // namespace

void import_envoy(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  Routes routes{&result, {}};
  std::vector<Field> clusters;
  for (const Field& d : documents) {
    each_map(d, [&](const Field& map) {
      if (const Field policy = map["retry_policy"]; policy) {
        // Filters have policies for their own requests (core.v3.RetryPolicy), without conditions.
        const bool of_routes = map.path() == d.path() || map["routes"] || map["cluster_header"] ||
                               policy["retry_on"] || !clusters_of(map).empty();
        if (!of_routes) {
          policy.leave("is for requests that the proxy makes itself");
        } else if (!map["routes"] || !routes.add_inherited(map))
          routes.add(policy, map, map);
      } else if (map.path() == d.path() && (map["retry_on"] || map["num_retries"])) {
        routes.add(map, map, map);
      }
      if (map["gradient_controller_config"]) leave_adaptive_concurrency(map);
      if (map["circuit_breakers"] || map["outlier_detection"] ||
          (map["name"] && map["connect_timeout"])) {
        clusters.push_back(map);
      }
    });
  }
  const auto speaks = [](const Field& cluster) {
    return cluster["circuit_breakers"] || cluster["outlier_detection"];
  };
  if (result.policies.empty()) {
    for (const Field& c : clusters) {
      if (!speaks(c)) continue;
      const Field name = c["name"];
      routes.targets.push_back(name ? name.text() : "");
      ImportedPolicy p = new_policy(name_of_cluster(routes.targets.back()), c.path());
      begin(p, "envoy", "Envoy");
      set(p, "retry.max_retries", "1", "Envoy's default: the routes, which say it, are not here");
      set_default_budget(p, routes.targets.back());
      result.policies.push_back(std::move(p));
    }
  }
  // A policy without a target is for the only cluster, if there is just one.
  const PoliciesByName by_target(routes.targets);
  const bool is_alone = std::ranges::count_if(clusters, speaks) == 1;
  for (const Field& c : clusters) {
    const Field name = c["name"];
    std::vector<std::size_t> meant;
    if (name.is_text()) meant = by_target.of(std::string(name.plain()));
    if (is_alone && speaks(c)) {
      const std::vector<std::size_t> open = by_target.of("");
      meant.insert(meant.end(), open.begin(), open.end());
      if (!name) {
        meant.resize(result.policies.size());
        std::iota(meant.begin(), meant.end(), 0);
      }
    }
    for (const std::size_t i : meant) {
      reading.count_match();
      read_envoy_cluster(result.policies[i], c);
    }
    if (!meant.empty()) continue;
    constexpr const char* kNoRoute = "no route with retries leads to this cluster";
    c["circuit_breakers"].leave(kNoRoute);
    c["outlier_detection"].leave(kNoRoute);
  }
}

}  // namespace retrysim::imports

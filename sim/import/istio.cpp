// Istio: VirtualServices, and the DestinationRules of the hosts that they send to.
//
// Fields and defaults: networking/v1 virtual_service.proto and destination_rule.proto.
//
// SPDX-License-Identifier: MIT
#include "import/envoy.hpp"
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace retrysim::imports {

namespace {

constexpr FieldRow kPoolFields[] = {
    {"tcp.max_connections", "max_connections", As::kCount},
    {"tcp.connect_timeout", "connect_timeout", As::kDuration},
    left_out("http.http1_max_pending_requests", "any number of attempts wait for a connection"),
    left_out("http.http2_max_requests", kNoLimitOfRequests),
    left_out("http.max_requests_per_connection", "connections are kept"),
};

void read_istio_route(ImportedPolicy& p, const Field& http) {
  const Field retries = http["retries"].map().block();
  begin(p, "envoy", "Envoy");
  const Field attempts = retries["attempts"], on = retries["retryOn"];
  // istio/pilot/pkg/networking/core/route/retry/retry.go: without attempts there is no policy.
  const bool off = retries && (!attempts || attempts.count() == 0);
  if (attempts) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(attempts.count())), attempts);
  } else {
    set(p, "retry.max_retries", off ? "0" : "2",
        off ? "retries without attempts are none to Istio" : "Istio's default");
  }
  set(p, "retry.budget.kind", text_in_toml("none"), "Istio's default for maxRetries");
  if (on) {
    const std::vector<std::string> conditions = on.words();
    compare_conditions(on, conditions);
    const bool throttled = std::ranges::count(conditions, "429") > 0;
    set(p, "retry.status_429", text_in_toml(throttled ? "transient" : "not-retryable"), on);
  } else if (!off) {
    on.leave_in_part(fmt::format(
        "Istio's default is connect-failure, refused-stream, unavailable, cancelled; {}",
        kRetriedHere));
  }
  if (off) {
    retries["per_try_timeout"].leave("Istio has it for retries only, and here there are none");
  } else {
    set_timeout(p, "attempt_timeout", retries["per_try_timeout"]);
  }
  set_envoy_backoff(p, retries["backoff"], std::nullopt, "backoff");
  retries["retry_remote_localities"].leave("hosts have no localities");
  const Field ignore = retries["retry_ignore_previous_hosts"];
  const bool avoids = !ignore || ignore.flag();
  set(p, "retry.avoid_hosts", avoids ? "5" : "0", ignore ? ignore.path() : "Istio's default");
  set_timeout(p, "deadline", http["timeout"]);
}

void read_istio_pool(ImportedPolicy& p, const Field& policy) {
  const Field pool = policy["connection_pool"].map(), http = pool["http"].map();
  pool["tcp"].map();
  policy.block();
  if (const Field f = policy["retry_budget"].map(); f) {
    read_retry_budget(p, f);
    http["max_retries"].leave("retryBudget takes its place");
  } else if (const Field most = http["max_retries"]; most) {
    set_active_budget(p, 0, most.number(), most.path());
  }
  read_fields(p, pool, kPoolFields);
  policy["outlier_detection"].leave(std::string(kOfInstances));
}

}  // namespace

void import_istio(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  std::vector<std::string> hosts;  // of the policies
  for (const Field& d : documents) {
    for (const Field& http : d.at("spec.http").items()) {
      if (!http.map()) continue;
      std::string host;
      for (const Field& route : http["route"].items()) {
        if (const Field f = route.at("destination.host"); f && host.empty()) host = f.text();
      }
      ImportedPolicy p = new_policy(group_name(host.substr(0, host.find('.'))), http.path());
      read_istio_route(p, http);
      hosts.push_back(host);
      result.policies.push_back(std::move(p));
    }
  }
  std::optional<PoliciesByName> by_host;
  for (const Field& d : documents) {
    const Field policy = d.at("spec.traffic_policy").map(), host = d.at("spec.host");
    if (!policy) continue;
    const std::string name = host ? host.text() : "";
    if (result.policies.empty()) {
      ImportedPolicy p = new_policy(group_name(name.substr(0, name.find('.'))), policy.path());
      begin(p, "envoy", "Envoy");
      set(p, "retry.max_retries", "2", "Istio's default");
      hosts.push_back(name);
      result.policies.push_back(std::move(p));
    }
    // The places are those in `hosts`, which grows only before the first of them is looked up.
    if (!by_host) by_host.emplace(hosts);
    std::vector<std::size_t> meant;
    if (name.empty()) {
      for (std::size_t i = 0; i < result.policies.size(); ++i) meant.push_back(i);
    } else {
      std::ranges::merge(by_host->of(name), by_host->of(""), std::back_inserter(meant));
    }
    for (const std::size_t i : meant) {
      reading.count_match();
      read_istio_pool(result.policies[i], policy);
    }
  }
  for (const Field& d : documents) {
    for (const Field& subset : d.at("spec.subsets").items()) {
      subset["traffic_policy"].leave("of one subset: import it by itself, as the policy of a host");
    }
    d.at("spec.traffic_policy.port_level_settings")
        .leave("of one port: import it by itself, as the policy of a host");
  }
}

}  // namespace retrysim::imports

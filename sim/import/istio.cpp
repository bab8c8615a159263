// Istio: VirtualServices, the DestinationRules of the hosts that they send to, the mesh's default,
// and what `istioctl proxy-config ... -o json` prints.
//
// Fields and defaults: networking/v1 virtual_service.proto and destination_rule.proto; which rule
// and which of its levels counts: pilot/pkg/model/push_context.go (the most specific host) and
// destination_rule.go (MergeTrafficPolicy: a subset's or a port's connection pool takes the place
// of that of the host, but a port keeps the retry budget). Of a pool, zeros are not set
// (cluster_traffic_policy.go, applyConnectionPool).
//
// SPDX-License-Identifier: MIT
#include "import/envoy.hpp"
#include "import/families.hpp"
#include "import/policy.hpp"
#include "import/tree.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace retrysim::imports {

namespace {

constexpr FieldRow kPoolFields[] = {
    {"tcp.max_connections", "max_connections", As::kConnections},
    {"tcp.connect_timeout", "connect_timeout", As::kDuration},
    {"http.http2_max_requests", "bulkhead.max_concurrent", As::kConnections},
    left_out("http.max_requests_per_connection", "connections are kept"),
};

/// A field of a pool; absent if it is zero, with the reason, because Istio takes no zero.
Field limit_in(const Field& pool, std::string_view path) {
  const Field field = pool.at(path);
  if (number_in(field.plain()) != 0.0) return field;
  field.leave("zero is not set to Istio: there is no limit");
  return pool["-"];
}

// --- Hosts ---------------------------------------------------------------------------------------

/// A host named in a file. Names without a dot are services in the namespace of the object.
struct Host {
  std::string full;        // the name in full: "orders.shop.svc.cluster.local", "api.example.com"
  std::string service;     // name of a service of Kubernetes: "orders"
  bool has_space = false;  // the namespace is known

  static Host of(const std::string& name, const std::string& space) {
    if (name.find('.') == std::string::npos) {
      if (space.empty() || name.empty() || name == "*") return {name, name, false};
      return {fmt::format("{}.{}.svc.cluster.local", name, space), name, true};
    }
    const std::size_t dot = name.find('.');
    const std::string rest = name.substr(dot + 1);
    const std::size_t next = std::min(rest.find('.'), rest.size());
    const bool is_service =
        rest.compare(next, std::string::npos, ".svc") == 0 || rest.compare(next, 5, ".svc.") == 0;
    if (!is_service) return {name, "", true};
    const std::string full = rest.ends_with(".svc") ? fmt::format("{}.cluster.local", name) : name;
    return {full, name.substr(0, dot), true};
  }
  /// The name of the host's client group.
  std::string group() const {
    std::string_view name = full;
    if (name.starts_with("*.")) name.remove_prefix(2);
    if (!service.empty() && service != "*") name = service;
    if (service.empty() && !full.starts_with("*")) name = name.substr(0, name.find('.'));
    return group_name(name);
  }
};

/// The destination of requests.
struct Destination {
  Host host;
  std::string subset, port;
};

std::string text_of(const Field& f) { return f ? f.text() : std::string(); }

// --- Rules ---------------------------------------------------------------------------------------

/// A DestinationRule, or several for one host, joined.
struct Rule {
  Host host;
  Field policy;
  std::vector<Field> subsets = {};
  std::map<std::string, std::vector<std::size_t>> by_subset = {};
  bool is_used = false;
  std::set<std::string> used_subsets = {}, used_ports = {};
  std::vector<Field> overridden = {};  // parts in whose place those of a subset or a port count

  void add_subsets(const Field& list) {
    for (const Field& subset : list.list().items()) {
      by_subset[std::string(subset["name"].plain())].push_back(subsets.size());
      subsets.push_back(subset);
    }
  }
};

/// The parts of a traffic policy that count: the connection pool and the budget of a subset replace
/// the host's, and the pool of a port replaces both.
struct Effective {
  std::vector<Field> pools, budgets, outliers;  // at most one each
  std::vector<Field> overridden;

  /// Takes the parts of a level. Those that a port does not have are not inherited.
  void take(const Field& policy, bool is_port) {
    const auto replace = [&](std::vector<Field>& known, const Field& field) {
      if (!field && !is_port) return;
      overridden.insert(overridden.end(), known.begin(), known.end());
      known.clear();
      if (field) known.push_back(field);
    };
    replace(pools, policy["connection_pool"].map());
    replace(outliers, policy["outlier_detection"]);
    if (!is_port && policy["retry_budget"].map()) replace(budgets, policy["retry_budget"]);
  }
  bool is_empty() const { return pools.empty() && budgets.empty() && outliers.empty(); }
};

std::string port_of(const Field& settings) { return text_of(settings.at("port.number")); }

Effective effective(Rule& rule, const Destination& destination) {
  Effective result;
  const auto add = [&](const Field& policy) {
    if (!policy) return;
    policy.map().block();
    result.take(policy, false);
    if (destination.port.empty()) return;
    for (const Field& level : policy["port_level_settings"].items()) {
      if (port_of(level) != destination.port) continue;
      rule.used_ports.insert(destination.port);
      result.take(level.block(), true);
    }
  };
  add(rule.policy);
  if (const auto named = rule.by_subset.find(destination.subset);
      !destination.subset.empty() && named != rule.by_subset.end()) {
    rule.used_subsets.insert(destination.subset);
    for (const std::size_t i : named->second) {
      rule.subsets[i]["name"].use();
      add(rule.subsets[i]["traffic_policy"]);
    }
  }
  rule.overridden.insert(rule.overridden.end(), result.overridden.begin(), result.overridden.end());
  return result;
}

void apply(ImportedPolicy& p, const Effective& effective) {
  for (const Field& pool : effective.pools) {
    pool["http"].map();
    pool["tcp"].map();
    if (const Field most = limit_in(pool, "http.max_retries"); most) {
      if (effective.budgets.empty()) {
        set_active_budget(p, 0, most.number(), most.path());
      } else {
        most.leave("retryBudget takes its place");
      }
    }
    read_fields(
        p,
        [&](std::string_view path) {
          return path == "tcp.connect_timeout" ? pool.at(path) : limit_in(pool, path);
        },
        kPoolFields);
    set_pending(p, limit_in(pool, "http.http1_max_pending_requests"));
  }
  for (const Field& budget : effective.budgets) read_retry_budget(p, budget);
  for (const Field& outlier : effective.outliers) outlier.leave(std::string(kOfInstances));
}

/// The rules of a file by their hosts. A search takes as many steps as the host has dots.
class Rules {
 public:
  explicit Rules(const Documents& documents) {
    for (const Field& d : documents) {
      const Field policy = d.at("spec.traffic_policy"), subsets = d.at("spec.subsets");
      if (!d.at("spec.host") && !policy && !subsets) continue;
      policy.map();
      const Host host = Host::of(text_of(d.at("spec.host")), text_of(d.at("metadata.namespace")));
      const auto [place, is_new] = by_name_.try_emplace(host.full, rules.size());
      if (is_new) {
        rules.push_back({host, policy});
        rules.back().add_subsets(subsets);
        if (!host.service.empty()) by_service_[host.service].push_back(place->second);
        continue;
      }
      Rule& known = rules[place->second];  // Istio joins the rules of one host
      if (known.policy) {
        policy.leave("the first rule of this host has a trafficPolicy, which counts");
      } else {
        known.policy = policy;
      }
      known.add_subsets(subsets);
    }
  }

  /// The rule for a host: its own, else the one of the longest wildcard; null if there is none.
  Rule* find(const Host& host) {
    if (const auto own = by_name_.find(host.full); own != by_name_.end())
      return &rules[own->second];
    // If one of the two does not give its namespace, the service's name decides.
    if (const auto same = by_service_.find(host.service);
        !host.service.empty() && same != by_service_.end()) {
      for (const std::size_t i : same->second) {
        if (!host.has_space || !rules[i].host.has_space) return &rules[i];
      }
    }
    for (std::size_t dot = host.full.find('.'); dot != std::string::npos;
         dot = host.full.find('.', dot + 1)) {
      const auto wide = by_name_.find("*" + host.full.substr(dot));
      if (wide != by_name_.end()) return &rules[wide->second];
    }
    for (const char* any : {"*", ""}) {
      if (const auto all = by_name_.find(any); all != by_name_.end()) return &rules[all->second];
    }
    return nullptr;
  }

  std::vector<Rule> rules;

 private:
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, std::vector<std::size_t>> by_service_;
};

// --- Routes --------------------------------------------------------------------------------------

/// Reads the retries of a route from its `own` settings, or else from the mesh's default,
/// `otherwise`. Both may be absent.
void read_retries(ImportedPolicy& p, const Field& own, const Field& otherwise) {
  const Field& retries = own ? own.map().block() : otherwise.map().block();
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
    set_conditions(p, on, retries["-"]);
  } else if (!off) {
    set_errors(p, {"connection", "503", "499"}, "Istio's default");
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
}

/// The first destination of a route; a remark names the others.
Destination destination_of(const Field& http, const std::string& space) {
  const std::vector<Field> all = http["route"].items();
  Destination first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Field to = all[i]["destination"], host = to["host"];
    if (i > 0) {
      all[i].leave("the client group stands for the route's first destination");
      continue;
    }
    first.host = Host::of(text_of(host), space);
    if (const Field subset = to["subset"]; subset) first.subset = subset.plain();
    if (const Field port = to.at("port.number"); port) first.port = port.plain();
  }
  return first;
}

/// MeshConfig.defaultHttpRetryPolicy, in a MeshConfig or in an IstioOperator.
Field mesh_default(const Documents& documents, Tree& nested, Reading& reading) {
  for (const Field& d : documents) {
    // The ConfigMap of the mesh contains it as a text.
    if (const Field mesh = d.at("data.mesh"); mesh.is_text()) {
      Tree tree = read_yaml(fmt::format("{}, {}", reading.file, mesh.path()), mesh.text());
      if (tree.documents.empty()) continue;
      nested = std::move(tree);
      const Field inside(nested.documents.front(), mesh.path(), reading);
      if (const Field f = inside["default_http_retry_policy"]; f) return f;
    }
    for (const char* path :
         {"spec.mesh_config.default_http_retry_policy", "mesh_config.default_http_retry_policy",
          "spec.values.mesh_config.default_http_retry_policy", "default_http_retry_policy"}) {
      if (const Field f = d.at(path); f) return f;
    }
  }
  return documents.front()["-"];
}

/// Adds policies for a rule that no route of the file leads to: one for the host, and one for each
/// subset and port with its own settings.
void add_alone(Rule& rule, const Field& otherwise, ImportedConfiguration& result) {
  const auto add = [&](const Destination& destination, const std::string& name, const Field& from) {
    const Effective counts = effective(rule, destination);
    if (counts.is_empty()) return;
    ImportedPolicy p = new_policy(name, from.path());
    read_retries(p, otherwise["-"], otherwise);
    apply(p, counts);
    result.policies.push_back(std::move(p));
  };
  const std::string name = rule.host.group();
  add({rule.host, "", ""}, name, rule.policy);
  for (const Field& subset : rule.subsets) {
    if (!subset["traffic_policy"]) continue;
    const std::string its_name(subset["name"].plain());
    add({rule.host, its_name, ""}, group_name(name + "-" + its_name), subset);
  }
  for (const Field& level : rule.policy["port_level_settings"].items()) {
    const std::string port = port_of(level);
    add({rule.host, "", port}, group_name(name + "-" + port), level);
  }
}

/// Leaves out subsets and ports that no route uses, of rules that are used, with the reason.
void leave_unused(const Rule& rule) {
  for (const Field& subset : rule.subsets) {
    if (rule.used_subsets.contains(std::string(subset["name"].plain()))) continue;
    subset["traffic_policy"].leave("no route sends to this subset");
  }
  for (const Field& level : rule.policy["port_level_settings"].items()) {
    if (!rule.used_ports.contains(port_of(level))) level.leave("no route names this port");
  }
}

/// Says of parts that count for no destination what counts in their place.
void leave_overridden(const Rule& rule, const Reading& reading) {
  for (const Field& part : rule.overridden) {
    const std::string below = part.path() + ".";
    const auto next = reading.used.lower_bound(below);
    if (next != reading.used.end() && next->first.starts_with(below)) continue;
    part.leave("that of the subset or port counts in its place");
  }
}

/// Whether a document is the configuration of a proxy in the mesh, whose clusters are called
/// outbound|80||reviews.shop.svc.cluster.local.
bool is_of_proxy(const Field& document) {
  bool found = false;
  each_map(document, [&](const Field& map) {
    for (const char* name : {"cluster", "name"}) {
      const std::string_view text = map[name].plain();
      found = found || text.starts_with("outbound|") || text.starts_with("inbound|");
    }
  });
  return found;
}

}  // namespace

void import_istio(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  if (documents.empty()) return;
  Tree nested;
  const Field otherwise = mesh_default(documents, nested, reading);
  Rules rules(documents);
  for (const Field& d : documents) {
    const std::string space = text_of(d.at("metadata.namespace"));
    for (const Field& http : d.at("spec.http").items()) {
      if (!http.map() || http["redirect"] || http["direct_response"]) continue;
      const Destination to = destination_of(http, space);
      ImportedPolicy p = new_policy(to.host.group(), http.path());
      read_retries(p, http["retries"], otherwise);
      set_timeout(p, "deadline", http["timeout"]);
      if (Rule* rule = rules.find(to.host); rule != nullptr) {
        rule->is_used = true;
        apply(p, effective(*rule, to));
        if (rule->used_subsets.contains(to.subset)) {
          http["route"].items().front().at("destination.subset").use();
        }
      }
      result.policies.push_back(std::move(p));
    }
  }
  for (Rule& rule : rules.rules) {
    if (rule.is_used) {
      leave_unused(rule);
    } else {
      add_alone(rule, otherwise, result);
    }
    leave_overridden(rule, reading);
  }
  if (result.policies.empty() && std::ranges::any_of(documents, is_of_proxy)) {
    import_envoy(documents, reading, result);
  }
}

}  // namespace retrysim::imports

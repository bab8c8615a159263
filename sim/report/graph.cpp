// SPDX-License-Identifier: MIT
#include "report/graph.hpp"

#include "flow/calls.hpp"
#include "flow/capacity.hpp"
#include "flow/demand.hpp"
#include "kernel/stop.hpp"
#include "report/document/text.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;

std::string figure(double value) { return format_plain(value, 3); }

std::string time(Duration duration) {
  const DisplayUnit unit = display_unit(duration.in_seconds(), "s");
  return figure(duration.in_seconds() * unit.scale) + std::string(unit.name);
}

std::string count_of(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", scenario::grouped(count), one, count == 1 ? "" : "s");
}

/// The keys whose values are texts.
class Texts {
 public:
  explicit Texts(std::span<const ResolvedKey> keys) {
    for (const ResolvedKey& key : keys) {
      const std::string_view value = key.toml;
      if (value.size() < 2 || value.front() != '"') continue;
      values_.emplace(key.path, value.substr(1, value.size() - 2));
    }
  }
  /// The text of a key without quotes; empty if there is none.
  std::string of(const std::string& path) const {
    const auto found = values_.find(path);
    return found == values_.end() ? "" : std::string(found->second);
  }

 private:
  std::unordered_map<std::string_view, std::string_view> values_;
};

// --- Clients and calls ---------------------------------------------------------------------------

/// A line on what all clients of a group send together.
std::string arrivals_line(const ClientSpec& client) {
  const ArrivalSpec& a = client.arrivals;
  const std::string rate = figure(a.rate * client.count);
  switch (a.process) {
    case ArrivalProcess::kOnce:
      return "all at once";
    case ArrivalProcess::kClosed:
      return "closed loop";
    case ArrivalProcess::kPoll:
      return rate + " jobs/s, polling";
    case ArrivalProcess::kTrace:
      return a.rows.empty() ? "rates from a file" : "times from a file";
    default:
      return fmt::format("{} requests/s, {}", rate, name(a.process));
  }
}

/// Adds lines on how a client protects its requests.
void add_retries(Lines& lines, const ClientSpec& client, const std::string& sdk) {
  const RetryRules& retry = client.retry;
  if (client.strategy) {
    lines.push_back("retries: a custom strategy");
  } else if (retry.mode == RetryMode::kNone) {
    lines.push_back("no retries");
  } else {
    lines.push_back(
        fmt::format("retries: {}{}", name(retry.mode), sdk.empty() ? "" : " (" + sdk + ")"));
    lines.push_back(retry.max_attempts == RetryRules::kUnlimited
                        ? "any number of attempts"
                        : count_of(retry.max_attempts, "attempt"));
    if (client.retry_only_at == RetryOnlyAt::kEdge) lines.back() = "retries only at the edge";
    if (client.retry_only_at == RetryOnlyAt::kFirstAttempt) {
      lines.push_back("no retries of calls made for a retry");
    }
  }
  if (retry.quota.enabled) lines.push_back(fmt::format("retry quota {}", retry.quota.capacity));
  const TimeoutSpec& timeouts = client.timeouts;
  if (timeouts.has_attempt) {
    lines.push_back(timeouts.attempt.is_constant()
                        ? "timeout " + time(timeouts.attempt.constant_value())
                        : "timeout varies");
  }
  if (timeouts.deadline != Duration::max()) lines.push_back("deadline " + time(timeouts.deadline));
  if (timeouts.deadline_of_caller) lines.push_back("deadline of the caller");
}

Json names_of(const Scenario& scenario, const std::vector<std::size_t>& services) {
  Json names = Json::array();
  for (const std::size_t s : services) names.push_back(scenario.services[s].name);
  return names;
}

/// Adds when a call is made and what its failure does, for calls that are not plain.
void add_call(Json& json, Lines& lines, const CallSpec& call) {
  if (call.stage > 0) json["stage"] = call.stage;
  if (!call.one_of.empty()) json["one_of"] = call.one_of;
  if (!call.one_of.empty()) {
    json["weight"] = call.share;
    lines.push_back(fmt::format("one of {}, weight {}", call.one_of, figure(call.share)));
  } else if (call.share < 1) {
    json["share"] = call.share;
    lines.push_back("for " + percent(call.share) + " of the requests");
  }
  if (!call.operations.empty()) {
    json["operations"] = call.operations;
    lines.push_back(fmt::format("for {}", fmt::join(call.operations, ", ")));
  }
  const bool several = call.count != 1 || call.random_count;
  if (several) {
    const double mean = call.random_count ? call.random_count->mean_seconds() : call.count;
    json[call.random_count ? "mean_count" : "count"] = mean;
    lines.push_back((call.random_count ? "about " : "") + figure(mean) + " at once");
  }
  if (call.cache.hit > 0) lines.push_back("a cache saves " + percent(call.cache.hit));
  if (call.cache.keeps_answers()) {
    const bool all = call.cache.capacity == CacheSpec::kUnlimited;
    lines.push_back("cache of " + (all ? "all answers" : count_of(call.cache.capacity, "answer")));
    if (call.cache.ttl != Duration::max()) lines.back() += " for " + time(call.cache.ttl);
  }
  if (call.need != CallSpec::kAll) {
    json["need"] = call.need;
    lines.push_back(fmt::format("{} must succeed", call.need));
  }
  if (call.on_failure == CallFailure::kIgnore) {
    json["on_failure"] = "ignore";
    lines.push_back("failures are ignored");
  } else if (call.on_failure == CallFailure::kFallback) {
    const std::string name = call.fallback.substr(call.fallback.find('.') + 1);
    json["on_failure"] = "fallback";
    json["fallback"] = name;
    lines.push_back("falls back on " + name);
  }
}

Json group_json(const Scenario& scenario, std::size_t group, std::optional<std::size_t> caller,
                const Texts& texts) {
  const ClientSpec& client = scenario.clients[group];
  const std::string path = scenario::path_of(client);
  Json json;
  json["name"] = client.name;
  Lines lines;
  if (caller) {
    json["caller"] = scenario.services[*caller].name;
    const auto call = std::ranges::find(scenario.calls, group, &CallSpec::client);
    if (call != scenario.calls.end()) add_call(json, lines, *call);
  } else {
    if (client.count > 1) lines.push_back(count_of(client.count, "client"));
    lines.push_back(arrivals_line(client));
    for (const char* key : {".arrivals.file", ".arrivals.profile"}) {
      const std::string file = texts.of(path + key);
      if (!file.empty()) lines.push_back(file);
    }
  }
  add_retries(lines, client, texts.of(path + ".retry.sdk"));
  json["calls"] = names_of(scenario, called_services(client));
  json["lines"] = lines;
  return json;
}

// --- Services ------------------------------------------------------------------------------------

std::string limit_text(double rate, Duration window) {
  if (window <= Duration::zero()) return figure(rate) + " /s";
  return figure(rate * window.in_seconds()) + " per " + time(window);
}

void add_throttle(Lines& lines, const ThrottleSpec& throttle) {
  if (throttle.rate > 0) {
    std::string line = "throttle " + limit_text(throttle.rate, throttle.window);
    if (throttle.scope != ThrottleScope::kService) {
      line += fmt::format(" each {}", name(throttle.scope));
    }
    lines.push_back(std::move(line));
  }
  for (const ThrottleLimit& limit : throttle.operations) {
    lines.push_back(
        fmt::format("throttle of {}: {}", limit.name, limit_text(limit.rate, limit.window)));
  }
}

/// Adds lines on partitions: "critical: priority 2, a share of 80 %", "bulk: priority 0, refused
/// from 40 % of the limit".
void add_partitions(Lines& lines, const std::vector<PartitionSpec>& partitions) {
  for (const PartitionSpec& p : partitions) {
    std::string line = fmt::format("{}: priority {}", p.name, p.priority);
    if (p.share >= 0) line += fmt::format(", a share of {}", percent(p.share));
    if (p.refuse_from < 1)
      line += fmt::format(", refused from {} of the limit", percent(p.refuse_from));
    lines.push_back(line);
  }
}

Lines service_lines(const ServiceSpec& service, double time_s, double capacity) {
  Lines lines;
  const auto of_time = [](double s) { return time(Duration::from_seconds(s)); };
  const std::uint32_t instances = service.instances.count;
  const bool limited = service.servers != ServiceSpec::kUnlimited;
  if (limited) {
    std::string line = instances > 1 ? count_of(instances, "instance") + " × " : "";
    line += count_of(static_cast<std::uint64_t>(service.servers), "server");
    lines.push_back(line + " × " + of_time(time_s));
    if (capacity < flow::kNoLimit) lines.push_back("capacity " + figure(capacity) + " /s");
    const std::int64_t places = service.queue.capacity;
    lines.push_back(fmt::format("queue: {}, {}", name(service.queue.discipline),
                                places == ServiceSpec::kUnlimited
                                    ? "unlimited"
                                    : count_of(static_cast<std::uint64_t>(places), "place")));
    if (service.queue.evicts()) lines.emplace_back("when full: the lowest priority leaves");
  } else {
    lines.push_back(time_s > 0 ? "any number of servers × " + of_time(time_s) : "answers at once");
  }
  if (service.slowdown.enabled()) lines.push_back("slower the more attempts are in service");
  add_throttle(lines, service.throttle);
  if (service.concurrency.control != ConcurrencyControl::kFixed) {
    lines.push_back(fmt::format("concurrency limit: {}", name(service.concurrency.control)));
  } else if (service.concurrency.limit != ServiceSpec::kUnlimited) {
    lines.push_back(fmt::format("at most {} at once", service.concurrency.limit));
  }
  if (service.concurrency.in_use()) add_partitions(lines, service.concurrency.partitions);
  return lines;
}

/// Most steps: more could not be told apart in a picture, and make large files of long profiles.
constexpr std::size_t kMaxSteps = 1000;

/// The attempts per second that a service can serve or lets in, as steps that begin where this
/// changes; null if nothing limits it. `nominal`: capacity without profile and faults.
Json capacity_steps(const Scenario& scenario, std::size_t service, const Json& nominal,
                    const Json& throttle, std::span<const Time> changes) {
  if (nominal.is_null() && throttle.is_null()) return {};
  Json steps = Json::array();
  const auto begin = [&](Time t) {
    double rate = flow::kNoLimit;
    if (!nominal.is_null()) {
      rate = nominal.get<double>() * capacity_left(scenario, service, t).share();
    }
    if (!throttle.is_null()) rate = std::min(rate, throttle.get<double>());
    if (steps.empty() || steps.back()[1] != rate) steps.push_back({t.in_seconds(), rate});
  };
  begin(Time::zero());
  for (const Time t : changes) {
    if (t > Time::zero()) begin(t);
  }
  return steps;
}

Json service_json(const Scenario& scenario, const flow::Demand& demand, std::size_t index) {
  const ServiceSpec& service = scenario.services[index];
  const double capacity = flow::answerable_rate(scenario, index, flow::servers_of(service));
  const bool limited = service.servers != ServiceSpec::kUnlimited;
  const double own_time = demand.services[index].own_time;
  Json json;
  json["name"] = service.name;
  json["servers"] = limited ? Json(service.servers) : Json();
  if (service.instances.count > 1) {
    json["instances"] = service.instances.count;
    json["balancing"] = name(service.instances.balancing);
  }
  json["mean_service_time_s"] = own_time;
  json["capacity_per_s"] = limited && capacity < flow::kNoLimit ? Json(capacity) : Json();
  const bool throttled =
      service.throttle.rate > 0 && service.throttle.scope == ThrottleScope::kService;
  json["throttle_per_s"] = throttled ? Json(service.throttle.rate) : Json();
  const std::vector<Time> changes = capacity_changes(scenario, index);
  if (changes.size() <= kMaxSteps) {
    json["capacity_steps"] =
        capacity_steps(scenario, index, json["capacity_per_s"], json["throttle_per_s"], changes);
  }
  if (service.autoscaling.target > 0) json["autoscaled"] = true;
  json["lines"] = service_lines(service, own_time, capacity);
  return json;
}

// --- Disturbances --------------------------------------------------------------------------------

std::string fault_text(const FaultSpec& fault) {
  Lines effects;
  if (fault.instance != FaultSpec::kAllInstances) {
    effects.push_back(count_of(fault.instances, "instance"));
  }
  if (fault.unreachable) effects.push_back("unreachable");
  if (fault.black_hole) effects.push_back("never answers");
  if (fault.cold_restart) effects.push_back("restarts");
  if (fault.crash) effects.push_back("crashes");
  double errors = 0;
  for (const RandomError& e : fault.errors) errors += e.probability;
  if (errors > 0) {
    effects.push_back(errors >= 1 ? "answers errors only" : percent(errors) + " errors");
  }
  if (fault.latency > Duration::zero()) effects.push_back(time(fault.latency) + " later");
  const double loss = std::max(fault.request_loss, fault.response_loss);
  if (loss > 0) effects.push_back(percent(loss) + " lost");
  if (fault.capacity == 0) effects.push_back("no servers");
  if (fault.capacity > 0 && fault.capacity != 1) {
    effects.push_back(percent(fault.capacity) + " of the servers");
  }
  if (fault.speed != 1) effects.push_back("speed × " + figure(fault.speed));
  return fmt::format("{}", fmt::join(effects, ", "));
}

Json window_json(std::string_view kind, const std::string& name, Time start, Duration duration) {
  Json json;
  json["kind"] = kind;
  json["name"] = name;
  json["start_s"] = start.in_seconds();
  json["end_s"] = (start + duration).in_seconds();
  return json;
}

Json disturbances_json(const Scenario& scenario) {
  Json all = Json::array();
  for (const FaultSpec& fault : scenario.faults) {
    Json window = window_json("fault", fault.name, fault.start, fault.duration);
    window["service"] = scenario.services[fault.service].name;
    if (fault.instance != FaultSpec::kAllInstances) {
      window["instance"] = fault.instance;
      window["instances"] = fault.instances;
    }
    window["capacity"] = fault.capacity;
    window["speed"] = fault.speed;
    window["what"] = fault_text(fault);
    all.push_back(std::move(window));
  }
  for (const ClientSpec& client : scenario.clients) {
    for (const SurgeSpec& surge : client.arrivals.surges) {
      Json window = window_json("surge", surge.name, surge.start, surge.duration);
      window["client"] = client.name;
      window["factor"] = surge.factor;
      window["what"] = "load × " + figure(surge.factor);
      all.push_back(std::move(window));
    }
  }
  return all;
}

}  // namespace

Json graph_json(const Scenario& scenario, std::span<const ResolvedKey> keys) {
  Json graph;
  graph["window_start_s"] = scenario.warmup.in_seconds();
  graph["window_end_s"] = scenario.duration.in_seconds();
  const flow::Demand demand = flow::demand_of(scenario, flow::Attempts::kFirst);
  graph["services"] = Json::array();
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    graph["services"].push_back(service_json(scenario, demand, s));
  }
  const Texts texts(keys);
  graph["clients"] = graph["calls"] = Json::array();
  const flow::CallGraph calls(scenario);
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    stop_point();
    const std::optional<std::size_t> caller = calls.caller_of(g);
    graph[caller ? "calls" : "clients"].push_back(group_json(scenario, g, caller, texts));
  }
  graph["disturbances"] = disturbances_json(scenario);
  return graph;
}

}  // namespace retrysim::report

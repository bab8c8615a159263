// What a run takes, from the code that takes it: each large array is sized by a function that also
// counts (kernel/memory.hpp). Only the number of requests under way is a guess, by Little's law.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>

#include "flow/calls.hpp"
#include "flow/demand.hpp"
#include "flow/rates.hpp"
#include "kernel/stop.hpp"
#include "kernel/timer_queue.hpp"
#include "measure/analyse/series.hpp"
#include "measure/record/phase_log.hpp"
#include "measure/record/recorder.hpp"
#include "model/client/arrivals.hpp"
#include "model/client/clients.hpp"
#include "model/client/gates.hpp"
#include "model/client/workload.hpp"
#include "model/effects/effects.hpp"
#include "model/network/balancer.hpp"
#include "model/run/request.hpp"
#include "model/service/cache.hpp"
#include "model/service/instance.hpp"
#include "model/service/servers.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"

#include <retrysim/error.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/retry_strategy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace retrysim {
namespace {

// The blocks of a histogram of latencies that spread over some powers of two, and how many
// histograms a group has.
constexpr std::uint64_t kHistogramBytes = 10 * sizeof(std::uint64_t) * Histogram::kSubBuckets;
constexpr std::uint64_t kHistograms = 5;
// Vectors that grow have twice the room, for a moment three times.
constexpr double kGrowth = 2;

double seconds(Duration d) { return d.in_seconds(); }

/// Requests over the run, and how many are under way at once.
class Traffic {
 public:
  explicit Traffic(const Scenario& scenario)
      : scenario_(scenario),
        demand_(flow::demand_of(scenario, flow::Attempts::kFirst,
                                {.surges = true, .loops_wait = true})) {}

  /// Requests per second, on average over the duration.
  double rate_of(std::size_t group) const { return demand_.groups[group].requests; }

  double offered_at(std::size_t service) const { return demand_.services[service].requests; }

  /// Requests of a group under way at once.
  double under_way(std::size_t group) const {
    double sum = 0;
    for (const auto& [s, share] : service_shares(scenario_.clients[group])) {
      sum += under_way(group, s, share);
    }
    return sum;
  }

  /// Timers of a group under way at once: of clients that think, of jobs between two checks.
  double waiting(std::size_t group) const {
    const ClientSpec& c = scenario_.clients[group];
    const ArrivalSpec& a = c.arrivals;
    if (a.process == ArrivalProcess::kClosed) {
      // Think times that end after the run are not kept.
      const double ending = seconds(scenario_.duration) / std::max(think_s(c), 1e-9);
      return slots(c) * std::min(1.0, ending);
    }
    if (a.process == ArrivalProcess::kPoll) return job_rate(c) * a.job_time.mean_seconds();
    return 0;
  }

  double events() const {
    const double duration_s = seconds(scenario_.duration);
    const bool travels = scenario_.network.latency.mean_seconds() > 0 ||
                         scenario_.network.connect.mean_seconds() > 0;
    double events = 2 * static_cast<double>(scenario_.faults.size());
    for (const ServiceSpec& s : scenario_.services) {
      if (s.instances.count == 1 || !s.instances.health_check.enabled()) continue;
      const double checks = duration_s / std::max(seconds(s.instances.health_check.interval), 1e-9);
      events += 2 * s.instances.count * checks;  // each begins, and ends
    }
    for (std::size_t i = 0; i < scenario_.services.size(); ++i) {
      const InstancesSpec& spec = scenario_.services[i].instances;
      if (spec.count == 1 || !spec.ejection.enabled()) continue;
      const double looks = duration_s / std::max(seconds(spec.ejection.interval), 1e-9);
      events += looks * static_cast<double>(model::Balancer::count_of(scenario_, i));
    }
    for (std::size_t g = 0; g < scenario_.clients.size(); ++g) {
      const ClientSpec& c = scenario_.clients[g];
      const double requests = requests_of(g, duration_s);
      // To a row under optimistic concurrency control: read, write. A read before a retry is left
      // out, as the retry is.
      double calls = 0;
      for (const auto& [s, share] : service_shares(c)) {
        const bool twice = scenario_.services[s].model == ServiceModelKind::kOcc;
        calls += share * (twice ? 2 : 1);
      }
      const double begins =
          c.makes_calls() ? 0 : 1;  // an arrival, the end of a think time, a check due
      events += requests * (begins + calls * (travels ? 3 : 1));
      if (c.arrivals.process == ArrivalProcess::kPoll) {
        events += job_rate(c) * duration_s;
      }
    }
    return events;
  }

 private:
  /// Requests that a group has under way at one of its services, which gets this share of them.
  double under_way(std::size_t group, std::size_t service, double its_share) const {
    const ClientSpec& c = scenario_.clients[group];
    const double rate = its_share * rate_of(group);
    const double passing = rate * seconds_under_way(service);
    if (c.makes_calls()) return passing;
    if (c.arrivals.process == ArrivalProcess::kClosed) {
      const double all = its_share * slots(c);
      return std::clamp(all - rate * think_s(c), std::min(passing, all), all);
    }
    const double share = rate / std::max(offered_at(service), 1e-300);
    if (c.arrivals.process == ArrivalProcess::kOnce) {
      const double all = its_share * c.count;
      const double spread_s = seconds(c.arrivals.spread);
      const double served = spread_s > 0 ? demand_.services[service].throughput() * spread_s : 0;
      return std::clamp(all - served, std::min(passing, all), all);
    }
    return passing + share * backlog_at(service);
  }

  double requests_of(std::size_t group, double duration_s) const {
    const ClientSpec& c = scenario_.clients[group];
    if (c.arrivals.process == ArrivalProcess::kOnce) return c.count;
    if (!c.arrivals.rows.empty()) return static_cast<double>(c.arrivals.rows.size());
    return rate_of(group) * duration_s;
  }

  double job_rate(const ClientSpec& c) const { return flow::mean_job_rate(scenario_, c, true); }

  static double think_s(const ClientSpec& c) { return c.arrivals.think_time.mean_seconds(); }

  static double slots(const ClientSpec& c) {
    return static_cast<double>(c.count) * c.arrivals.concurrency;
  }

  double seconds_under_way(std::size_t service) const {
    return demand_.services[service].held_time + 2 * scenario_.network.latency.mean_seconds();
  }

  /// What waits at the end of the run if more arrives than can be served.
  double backlog_at(std::size_t service) const {
    const ServiceSpec& s = scenario_.services[service];
    const flow::ServiceDemand& demand = demand_.services[service];
    const double too_much = std::min(demand.served, offered_at(service)) - demand.throughput();
    if (!(too_much > 0)) return 0;
    const double places = static_cast<double>(s.queue.capacity) * s.instances.count;
    return std::min(too_much * seconds(scenario_.duration), places);
  }

  const Scenario& scenario_;
  flow::Demand demand_;
};

std::uint64_t rounded(double bytes) {
  return bytes < 1e18 ? static_cast<std::uint64_t>(bytes) : std::uint64_t{1000000000000000000};
}

std::string key_of(const ClientSpec& c, std::string_view key) {
  return fmt::format("client.{}.{}", c.name, key);
}

/// Their retry state, with the queues for send tokens; where it is shared, of the group that holds
/// it for all.
std::uint64_t bytes_of_states(const Scenario& scenario, const ClientSpec& c) {
  std::uint32_t count = c.count;
  for (const ClientSpec& other : scenario.clients) {
    if (c.retryer.empty()) break;
    if (other.retryer != c.retryer || other.strategy) continue;
    if (other.name < c.name) return 0;
    count = std::max(count, other.count);
  }
  const QuotaRules& quota = c.retry.quota;
  const SendRateRules& limiter = c.retry.rate_limit;
  const bool apart = std::max(quota.scope, limiter.scope) > RetryScope::kGroup;
  const StateCounts counts = apart ? state_counts(scenario) : StateCounts{};
  kernel::Tally tally;
  if (limiter.enabled) {
    const std::size_t limiters = RetryStates::states_of(limiter.scope, count, counts);
    model::SendGate::Queues().take_memory(limiters, tally);
  }
  return tally.bytes() + RetryStates::bytes(c.retry, count, counts);
}

/// The state of the clients themselves, and the stream of their requests.
std::uint64_t bytes_of_clients(const Scenario& scenario, const ClientSpec& c) {
  kernel::Tally tally;
  model::ClosedLoop::OfGroup().take_memory(c, tally);
  model::Effects::LastTokens().take_memory(c, tally);
  model::Connections::Pools().take_memory(scenario, c, tally);
  model::SendGate::Permits().take_memory(c, tally);
  model::RetryDecisions::OfGroup().take_memory(c, tally);
  std::uint64_t bytes =
      tally.bytes() + model::KeyChoice::bytes(c.keys) + model::Breakers::bytes_of(scenario, c);
  if (!c.strategy) bytes += bytes_of_states(scenario, c);
  const bool open = c.arrivals.process != ArrivalProcess::kClosed && !c.makes_calls();
  if (open) bytes += model::ArrivalStream::bytes(c);
  for (const auto& [s, share] : service_shares(c)) {
    const ThrottleSpec& throttle = scenario.services[s].throttle;
    if (throttle.rate <= 0) continue;
    const std::uint64_t limits = 1 + throttle.operations.size() + throttle.keys.size();
    const std::uint64_t allowance = limits * sizeof(model::Allowances::Allowance);
    if (throttle.scope == ThrottleScope::kClient) bytes += c.count * allowance;
    if (throttle.scope == ThrottleScope::kKey) bytes += c.keys.count * allowance;
  }
  return bytes;
}

std::uint64_t bytes_of_requests(Traffic& traffic, std::size_t group, bool avoids_hosts) {
  constexpr double kRequest = sizeof(model::Request) + sizeof(model::Attempt);
  constexpr double kTimer = sizeof(kernel::TimerEntry) * kGrowth;
  constexpr double kFreeSlots = 2 * sizeof(std::uint32_t) * kGrowth;
  // Where it has been: a few instances, in a block of their own.
  constexpr double kEarlier = (sizeof(std::vector<model::InstanceId>) + 16) * kGrowth;
  const double earlier = avoids_hosts ? kEarlier : 0;
  return rounded(traffic.under_way(group) * (kRequest + kFreeSlots + earlier) +
                 traffic.waiting(group) * kTimer);
}

void add(std::vector<MemoryPart>& parts, std::string what, std::string keys, std::uint64_t bytes) {
  if (bytes > 0) parts.push_back({std::move(what), std::move(keys), bytes});
}

std::vector<MemoryPart> cache_parts(const Scenario& scenario) {
  std::vector<MemoryPart> parts;
  std::vector<std::uint32_t> keys;
  for (const CallSpec& call : scenario.calls) {
    if (!call.cache.keeps_answers()) continue;
    if (keys.empty()) keys = flow::keys_at(scenario);
    const ClientSpec& client = scenario.clients[call.client];
    add(parts, fmt::format("caches of {}", client.name),
        fmt::format("{}.cache, client.*.keys.count", scenario::path_of(client)),
        client.count * model::Cache::bytes(keys[call.caller]));
  }
  return parts;
}

std::vector<MemoryPart> client_parts(const Scenario& scenario) {
  std::vector<MemoryPart> parts;
  for (const ClientSpec& c : scenario.clients) {
    const bool listed = !c.arrivals.rows.empty();
    add(parts, fmt::format("clients of {}", c.name), key_of(c, listed ? "arrivals.file" : "count"),
        bytes_of_clients(scenario, c));
  }
  return parts;
}

/// Beyond one for each service.
std::vector<MemoryPart> instance_parts(const Scenario& scenario) {
  std::vector<MemoryPart> parts;
  for (const ServiceSpec& s : scenario.services) {
    if (s.instances.count == 1) continue;
    constexpr std::uint64_t kInstance = sizeof(model::Instance) + 2 * sizeof(InstanceResult);
    const std::uint64_t each = kInstance + model::CompletionSet::bytes_of_few();
    add(parts, fmt::format("instances of {}", s.name), fmt::format("service.{}.instances", s.name),
        s.instances.count * each);
    const auto service = static_cast<std::size_t>(&s - scenario.services.data());
    add(parts, fmt::format("balancers of {}", s.name),
        fmt::format("service.{0}.instances, service.{0}.balancer, client.*.count", s.name),
        model::Balancer::bytes_of(scenario, service));
  }
  return parts;
}

std::vector<MemoryPart> request_parts(const Scenario& scenario, Traffic& traffic) {
  std::vector<MemoryPart> parts;
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    const ClientSpec& c = scenario.clients[g];
    const bool closed = c.arrivals.process == ArrivalProcess::kClosed;
    std::string keys = key_of(c, closed ? "count" : "arrivals");
    if (closed && c.arrivals.concurrency > 1) keys += ", " + key_of(c, "arrivals.concurrency");
    add(parts, fmt::format("requests of {} under way", c.name),
        keys + fmt::format(", service.{}.queue.capacity", scenario.services[c.service].name),
        bytes_of_requests(traffic, g, c.retry.avoid_hosts > 0));
  }
  return parts;
}

std::vector<MemoryPart> result_parts(const Scenario& scenario, Traffic& traffic) {
  std::vector<MemoryPart> parts;
  const stats::Recorder::Memory recorded = stats::Recorder::memory(scenario);
  add(parts, "time-series bins", "interval, duration", recorded.bins);
  add(parts, "counts of each client", "client.*.count", recorded.clients);
  std::uint64_t histograms = 0;
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    // No more blocks than there are values.
    const double requests = traffic.rate_of(g) * seconds(scenario.duration);
    constexpr double kBlock = sizeof(std::uint64_t) * Histogram::kSubBuckets;
    histograms += rounded(std::min<double>(kHistogramBytes, (requests + 1) * kBlock)) * kHistograms;
  }
  add(parts, "latency histograms", "client.*", histograms);
  return parts;
}

stats::PhaseLog::Memory phase_memory(const Scenario& scenario, Traffic& traffic) {
  std::vector<double> requests;
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    requests.push_back(traffic.rate_of(g) * seconds(scenario.duration));
  }
  return stats::PhaseLog::memory(scenario, requests);
}

MemoryPart analysis_part(const Scenario& scenario) {
  const std::int64_t width = std::max<std::int64_t>(scenario.interval.count(), 1);
  const auto bins = static_cast<std::size_t>(scenario.duration.count() / width + 1);
  // Three rolling rates of storms, of which two are sorted in copies; counts of arrivals. Later the
  // series of one group after the other.
  constexpr std::size_t kBytesOfBin = std::max<std::size_t>(6, stats::kClientSums) * sizeof(double);
  return {"statistics over time", "interval, duration", bins * kBytesOfBin};
}

void add_all(std::vector<MemoryPart>& to, const std::vector<MemoryPart>& parts, std::uint64_t times,
             std::string_view further_key) {
  std::map<std::string, std::size_t, std::less<>> places;
  for (std::size_t i = 0; i < to.size(); ++i) places.emplace(to[i].what, i);
  for (const MemoryPart& part : parts) {
    stop_point();
    const std::string keys = times > 1 ? fmt::format("{}, {}", part.keys, further_key) : part.keys;
    const auto [place, added] = places.emplace(part.what, to.size());
    if (added) {
      to.push_back({part.what, keys, part.bytes * times});
    } else {
      MemoryPart& same = to[place->second];
      same.bytes += part.bytes * times;
      if (keys.size() > same.keys.size()) same.keys = keys;
    }
  }
}

/// Which scenario how often: many replications share one.
std::vector<std::pair<RunNeeds, std::size_t>> needs_of_all(std::span<const Scenario* const> runs) {
  std::map<const Scenario*, std::size_t> places;
  std::vector<std::pair<RunNeeds, std::size_t>> needs;
  for (const Scenario* scenario : runs) {
    const auto [at, added] = places.emplace(scenario, needs.size());
    if (added) needs.emplace_back(needs_of(*scenario), 0);
    ++needs[at->second].second;
  }
  return needs;
}

[[noreturn]] void refuse(std::vector<MemoryPart> parts, std::uint64_t limit) {
  const std::uint64_t total = total_bytes(parts);
  std::sort(parts.begin(), parts.end(),
            [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
  std::string text = fmt::format("this takes about {} of memory, but only {} may be used",
                                 to_text_of_bytes(total), to_text_of_bytes(limit));
  constexpr std::size_t kMaxParts = 6;
  constexpr double kLarge = 0.02;
  for (std::size_t i = 0; i < std::min(kMaxParts, parts.size()); ++i) {
    if (static_cast<double>(parts[i].bytes) < kLarge * static_cast<double>(total)) break;
    text += fmt::format("\n  {:>9}  {}; see {}", to_text_of_bytes(parts[i].bytes), parts[i].what,
                        parts[i].keys);
  }
  throw LimitExceeded(text, LimitKind::kMemory);
}

}  // namespace

std::uint64_t total_bytes(std::span<const MemoryPart> parts) {
  std::uint64_t sum = 0;
  for (const MemoryPart& p : parts) sum += p.bytes;
  return sum;
}

std::string to_text_of_bytes(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return value >= 100 ? fmt::format("{:.0f} {}", value, kUnits[unit])
                      : fmt::format("{} {}", scenario::said_number(value), kUnits[unit]);
}

RunNeeds needs_of(const Scenario& scenario) {
  Traffic traffic(scenario);
  RunNeeds needs;
  needs.clients = client_parts(scenario);
  for (MemoryPart& part : cache_parts(scenario)) needs.clients.push_back(std::move(part));
  for (MemoryPart& part : instance_parts(scenario)) needs.clients.push_back(std::move(part));
  needs.requests = request_parts(scenario, traffic);
  needs.result = result_parts(scenario, traffic);
  const stats::PhaseLog::Memory phases = phase_memory(scenario, traffic);
  add(needs.clients, "phases while they last", "fault.*, phase.*", phases.log);
  add(needs.result, "phases", "fault.*, phase.*", phases.result);
  needs.analysis = analysis_part(scenario);
  needs.events = traffic.events();
  return needs;
}

MemoryPlan plan_memory(std::span<const Scenario* const> runs, std::size_t jobs, std::uint64_t limit,
                       std::uint64_t kept) {
  const auto needs = needs_of_all(runs);
  MemoryPlan plan;
  std::uint64_t metrics = 0, analysis = 0;
  const RunNeeds* largest = nullptr;
  const auto running_bytes = [](const RunNeeds& n) {
    return total_bytes(n.clients) + total_bytes(n.requests);
  };
  for (const auto& [one, times] : needs) {
    add_all(plan.parts, one.result, times, "replications");
    metrics += times * metric_table().size() * sizeof(std::optional<double>);
    analysis = std::max(analysis, one.analysis.bytes);
    if (largest == nullptr || running_bytes(one) > running_bytes(*largest)) largest = &one;
  }
  add(plan.parts, "statistics over time", "interval, duration", analysis);
  add(plan.parts, "metrics", "replications", metrics);
  add(plan.parts, "results so far", "replications", kept);
  const std::uint64_t fixed = total_bytes(plan.parts);
  const std::uint64_t running = largest == nullptr ? 0 : running_bytes(*largest);
  plan.at_once = std::clamp<std::size_t>(jobs, 1, std::max<std::size_t>(runs.size(), 1));
  const std::uint64_t left = limit > fixed ? limit - fixed : 0;
  const std::uint64_t fits = running > 0 ? left / running : plan.at_once;
  const bool too_much = fixed > limit || fits == 0;
  plan.at_once = too_much ? 1 : std::min<std::uint64_t>(plan.at_once, fits);
  if (largest != nullptr) {
    add_all(plan.parts, largest->clients, plan.at_once, "jobs");
    add_all(plan.parts, largest->requests, plan.at_once, "jobs");
  }
  plan.total = total_bytes(plan.parts);
  if (too_much) refuse(plan.parts, limit);
  if (limit != ~std::uint64_t{0} && largest != nullptr) {
    plan.each = left / plan.at_once - total_bytes(largest->clients);
  }
  return plan;
}

}  // namespace retrysim

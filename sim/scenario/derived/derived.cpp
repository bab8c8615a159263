// Demand on services, capacity left by profiles and faults, and consistency between the parts of a
// scenario.
//
// SPDX-License-Identifier: MIT
#include "scenario/derived/derived.hpp"

#include <retrysim/response.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/service_spec.hpp>
#include <retrysim/simulation.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace retrysim::scenario {

namespace {

/// Even where one is infinite: nothing of infinitely many is nothing.
double product(double share, double rate) { return share <= 0 ? 0 : share * rate; }

double profile_at(const RateProfile& p, double t, bool before) {
  const auto is_past = [&](Time at) { return before ? at.in_seconds() < t : at.in_seconds() <= t; };
  const auto next = static_cast<std::size_t>(
      std::partition_point(p.times.begin(), p.times.end(), is_past) - p.times.begin());
  if (next == 0) return p.rates.front();
  if (!p.linear || next == p.times.size()) return p.rates[next - 1];
  const double from = p.times[next - 1].in_seconds(), to = p.times[next].in_seconds();
  return p.rates[next - 1] + (p.rates[next] - p.rates[next - 1]) * (t - from) / (to - from);
}

/// Mean over the duration of what profile and surges make of a rate of 1: linear between edges.
double mean_factor(const Scenario& scenario, const ArrivalSpec& a, bool with_surges) {
  const double end = scenario.duration.in_seconds();
  const bool surges = with_surges && !a.surges.empty();
  if ((!a.profile && !surges) || end <= 0) return 1;
  std::vector<double> edges = {0, end};
  const auto add = [&](Time t) {
    if (t.in_seconds() > 0 && t.in_seconds() < end) edges.push_back(t.in_seconds());
  };
  if (a.profile) std::ranges::for_each(a.profile->times, add);
  if (surges) {
    for (const SurgeSpec& s : a.surges) add(s.start), add(s.start + s.duration);
  }
  std::ranges::sort(edges);
  std::vector<std::size_t> by_start;  // surges
  for (std::size_t i = 0; surges && i < a.surges.size(); ++i) by_start.push_back(i);
  std::ranges::stable_sort(by_start, {}, [&](std::size_t i) { return a.surges[i].start; });
  auto next = by_start.begin();
  std::set<std::size_t> begun;  // and not ended
  double sum = 0;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    stop_point();
    const double from = edges[i - 1], to = edges[i], middle = (from + to) / 2;
    double factor = 1;
    if (a.profile) {
      factor = (profile_at(*a.profile, from, false) + profile_at(*a.profile, to, true)) / 2;
    }
    while (next != by_start.end() && a.surges[*next].start.in_seconds() <= middle) {
      begun.insert(*next++);
    }
    std::erase_if(begun, [&](std::size_t s) {
      return (a.surges[s].start + a.surges[s].duration).in_seconds() <= middle;
    });
    for (const std::size_t s : begun) factor *= a.surges[s].factor;
    sum += factor * (to - from);
  }
  return sum / end;
}

/// Checks of a polling job, without jitter, of which the last one finds it done.
double checks_of(const ArrivalSpec& a) {
  constexpr int kMost = 1000;
  const double job_s = a.job_time.mean_seconds();
  double pause_s = a.poll.base.in_seconds(), waited_s = 0, checks = 0;
  while (checks < std::min<double>(kMost, a.poll.max_checks)) {
    waited_s += std::min(pause_s, a.poll.cap.in_seconds());
    pause_s *= a.poll.factor;
    ++checks;
    if (waited_s >= job_s) break;
  }
  return checks;
}

double passes(const ServiceSpec& service) {
  return service.model == ServiceModelKind::kOcc ? 2 : 1;
}

double error_share(const ServiceSpec& service) {
  double share = 0;
  for (const RandomError& e : service.errors) share += e.probability;
  return share;
}

/// What becomes of one attempt at an idle service.
struct AttemptFate {
  double success = 0;
  double again = 0;  // fails, and the client would send another one
  double cost = 0;   // of that one, in tokens of its quota, times `again`

  void add(double share, const ClientSpec& client, const ErrorInfo& info) {
    if (info.success()) success += share;
    if (!info.retryable()) return;
    const QuotaRules& quota = client.retry.quota;
    const double retried = share * client.retry.probability;
    again += retried;
    const bool throttling = info.response_class == ResponseClass::kThrottling;
    cost += retried * (info.timeout ? quota.timeout_cost
                       : throttling ? quota.throttle_cost
                                    : quota.cost);
  }
  void add(double share, const ClientSpec& client, const ErrorAnswer& answer) {
    Response response{.status = answer.status, .code = answer.code};
    response.traits = answer.traits;
    add(share, client, classify(client.retry.errors, client.retry.api, response));
  }
  /// No answer comes: a client without a timeout waits for ever.
  void lose(double share, const ClientSpec& client) {
    if (share <= 0 || !client.timeouts.has_attempt) return;
    Response response;
    response.status = 0;
    response.transport = TransportError::kTimeout;
    add(share, client, classify(client.retry.errors, client.retry.api, response));
  }
};

/// Attempts, `most` at most, of which each is followed by another one with probability `again`.
double in_a_row(double again, double most) {
  if (again >= 1) return most;
  return (1 - (most == kNoLimit ? 0 : std::pow(again, most))) / (1 - again);
}

/// Attempts per request, `most` at most, and the share of requests that succeed. `fate` is that of
/// the first attempt, `later` that of the others, if it differs.
std::pair<double, double> needed(const ClientSpec& client, double most, const AttemptFate& fate,
                                 const AttemptFate* later = nullptr) {
  const double again = std::min(fate.again, 1.0);
  double attempts = 1;
  if (later == nullptr) {
    attempts = in_a_row(again, most);
  } else if (most > 1) {
    attempts = 1 + product(again, in_a_row(std::min(later->again, 1.0), most - 1));
  }
  attempts = 1 + product(1 - client.unrepeatable, attempts - 1);
  const QuotaRules& quota = client.retry.quota;
  if (quota.enabled && fate.cost > 0 && attempts > 1 && quota.refill_rate == 0) {
    // In the long run tokens earned are tokens spent: credits of first-try successes pay for the
    // retries that fail.
    const double credit =
        quota.credit_on == CreditOn::kStart ? quota.credit : quota.credit * fate.success;
    const double price = fate.cost / fate.again;
    const double failing = quota.refund != Refund::kNone ? 1 - fate.success : 1;
    if (failing > 0) attempts = std::min(attempts, 1 + credit / (price * failing));
  }
  if (attempts == kNoLimit) return {attempts, 0};
  const double success = later == nullptr
                             ? attempts * fate.success
                             : fate.success + (attempts - 1) * later->success;
  return {attempts, std::min(1.0, success)};
}

class DemandFinder {
 public:
  DemandFinder(const Scenario& scenario, Attempts attempts, const DemandOptions& options)
      : scenario_(scenario), attempts_(attempts), options_(options), calls_(scenario) {
    demand_.groups.resize(scenario.clients.size());
    demand_.services.resize(scenario.services.size());
    callers_.resize(scenario.services.size());
    below_.resize(scenario.services.size());
    of_retries_.resize(scenario.clients.size());
    marks_retries_ = std::ranges::any_of(scenario.clients, [](const ClientSpec& c) {
      return c.retry_only_at == RetryOnlyAt::kFirstAttempt;
    });
    made_for_first_.assign(scenario.clients.size(), 1);
    for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
      called_.push_back(service_shares(scenario.clients[g]));
      for (const auto& [s, share] : called_.back()) callers_[s].push_back({g, share});
    }
  }

  Demand all() {
    const std::vector<std::size_t> order = callers_first(scenario_);
    for (auto s = order.rbegin(); s != order.rend(); ++s) look_below(*s);
    for (std::size_t g = 0; g < scenario_.clients.size(); ++g) {
      const ClientSpec& c = scenario_.clients[g];
      if (!c.makes_calls()) find_attempts(g), demand_.groups[g].requests = own_requests(g);
    }
    for (const std::size_t s : order) ask(s);
    return std::move(demand_);
  }

 private:
  struct Caller {
    std::size_t group;
    double share;  // of its requests
  };
  /// What the calls of one service come to.
  struct Below {
    double success = 1;           // all calls succeed
    double success_of_retry = 1;  // the same of an attempt whose calls are made for a retry
    double time = 0;              // that a served attempt waits for them, s
  };

  /// Services below have been looked at; they do not call each other in a circle.
  void look_below(std::size_t s) {
    Below found;
    for (const std::size_t call : calls_.calls_of(s)) {
      const std::size_t g = scenario_.calls[call].client;
      const ClientSpec& c = scenario_.clients[g];
      double time = 0;
      for (const auto& [to, share] : called_[g]) {
        time += share * time_at(c, to);
      }
      find_attempts(g);
      const GroupDemand& calls = demand_.groups[g];
      if (attempts_ == Attempts::kNeeded) time *= std::min(calls.attempts, 1e6);
      const bool together = scenario_.services[s].parallel_calls;
      found.time = together ? std::max(found.time, time) : found.time + found.success * time;
      found.success *= calls.success;
      found.success_of_retry *= of_retries_[g].success;
    }
    below_[s] = found;
  }

  /// Round trip, service and calls of an attempt.
  double time_at(const ClientSpec& c, std::size_t s) const {
    const ServiceSpec& spec = scenario_.services[s];
    return 2 * scenario_.network.latency.mean_seconds() +
           (1 - free_error_share(spec)) * (service_seconds_at(scenario_, c, s) + below_[s].time);
  }

  AttemptFate fate_at(const ClientSpec& c, std::size_t s, bool is_retry) const {
    const double below = is_retry ? below_[s].success_of_retry : below_[s].success;
    const ServiceSpec& spec = scenario_.services[s];
    AttemptFate fate;
    const double arrives = 1 - scenario_.network.request_loss;
    const double answered = arrives * (1 - scenario_.network.response_loss);
    double errors = 0;
    for (const RandomError& e : spec.errors) {
      fate.add(answered * e.probability, c, e.answer);
      errors += e.probability;
    }
    const double served = std::max(0.0, 1 - errors);
    fate.success += answered * served * below;
    const double failed = answered * served * (1 - below);
    if (failed > 0) fate.add(failed, c, answers_of(spec).call_failed.error);
    fate.lose(1 - answered, c);
    return fate;
  }

  /// Of the attempts of a group, once the services that it calls have been looked at.
  void find_attempts(std::size_t g) {
    const ClientSpec& c = scenario_.clients[g];
    GroupDemand& group = demand_.groups[g];
    GroupDemand& of_retries = of_retries_[g];
    const bool once = c.retry_only_at == RetryOnlyAt::kFirstAttempt;  // if made for a retry
    const double most = most_attempts(c);
    if (attempts_ == Attempts::kMost) {
      group.attempts = most;
      of_retries.attempts = once ? 1 : most;
    }
    if (attempts_ != Attempts::kNeeded) return;
    const AttemptFate first = fate_of_attempt(g, false);
    if (!marks_retries_) {
      std::tie(group.attempts, group.success) = needed(c, most, first);
      return;
    }
    const AttemptFate later = fate_of_attempt(g, true);
    std::tie(group.attempts, group.success) = needed(c, most, first, &later);
    std::tie(of_retries.attempts, of_retries.success) = needed(c, once ? 1 : most, later);
  }

  /// `is_retry`: of one whose calls are made for a retry.
  AttemptFate fate_of_attempt(std::size_t g, bool is_retry) const {
    const ClientSpec& c = scenario_.clients[g];
    AttemptFate fate;
    for (const auto& [s, share] : called_[g]) {
      stop_point();
      const AttemptFate there = fate_at(c, s, is_retry);
      fate.success += share * there.success;
      fate.again += share * there.again;
      fate.cost += share * there.cost;
    }
    if (c.strategy) fate.again = 0;  // unknown
    return fate;
  }

  double own_requests(std::size_t g) const {
    const ClientSpec& c = scenario_.clients[g];
    const ArrivalSpec& a = c.arrivals;
    if (a.process != ArrivalProcess::kClosed)
      return mean_request_rate(scenario_, c, options_.surges);
    constexpr double kShortestCycle = 1e-9;  // s, where nothing is to be infinite
    double answer = 0, most = kNoLimit;
    for (const auto& [s, share] : called_[g]) {
      answer += share * time_at(c, s);
      const double held = service_seconds_at(scenario_, c, s) + below_[s].time;
      if (held > 0) most = std::min(most, servers_of(scenario_.services[s]) / held / share);
    }
    const double think = a.think_time.mean_seconds();
    double cycle = a.think_from_start ? std::max(think, answer) : think + answer;
    if (options_.loops_wait) cycle = std::max(cycle, kShortestCycle);
    const double slots = c.count * static_cast<double>(a.concurrency);
    const double rate = cycle > 0 ? slots / cycle : kNoLimit;
    return options_.loops_wait ? std::min(rate, most) : rate;
  }

  /// Its callers have been asked.
  void ask(std::size_t s) {
    const ServiceSpec& spec = scenario_.services[s];
    ServiceDemand& d = demand_.services[s];
    d.capacity = servers_of(spec);
    const double arrives = 1 - scenario_.network.request_loss;
    const double not_free = 1 - free_error_share(spec);
    std::vector<double> passing, seconds;
    double all = 0, first = 0;
    for (const auto& [g, share] : callers_[s]) {
      stop_point();
      const ClientSpec& c = scenario_.clients[g];
      const GroupDemand& group = demand_.groups[g];
      const double requests = product(share, group.requests);
      const double attempts = product(requests * arrives, group.attempts);
      d.requests += requests;
      d.attempts += attempts;
      first += product(requests * arrives, made_for_first_[g]);
      const double past_errors = product(not_free, attempts);
      all += past_errors;
      passing.push_back(throttled_by_client(spec)
                            ? std::min(past_errors, spec.throttle.rate * c.count)
                            : past_errors);
      seconds.push_back(service_seconds_at(scenario_, c, s));
    }
    const double granted = throttled_as_one(spec) ? spec.throttle.rate : kNoLimit;
    const double scale = all > granted ? granted / all : 1;
    double sum = 0, own = 0, weight = 0;
    for (std::size_t i = 0; i < passing.size(); ++i) {
      const double served = scale == 0 ? granted * callers_[s][i].share : passing[i] * scale;
      sum += served;
      // Of infinitely many requests nothing is known but that they are alike.
      const double its = served == kNoLimit ? 1 : all == kNoLimit && scale == 1 ? 0 : served;
      own += its * seconds[i];
      weight += its;
    }
    d.served = sum;
    d.own_time = weight > 0 ? own / weight : spec.service_time.mean_seconds() * passes(spec);
    d.calls_time = below_[s].time;
    d.held_time = d.own_time + (has_queue(spec.queue.discipline) ? d.calls_time : 0);
    d.work = product(d.held_time, d.served);
    const double refused = all - sum;
    if (refused > 0) d.work += product(spec.rejection.cost.in_seconds(), refused);
    double calls = std::min(d.served, d.throughput());
    if (!spec.errors_at.on_arrival()) {  // those that fail later make none
      calls *= std::max(0.0, 1 - error_share(spec)) / std::max(not_free, 1e-300);
    }
    if (marks_retries_) mark_calls(s, d.attempts, first);
    for (const std::size_t call : calls_.calls_of(s)) {
      const std::size_t g = scenario_.calls[call].client;
      demand_.groups[g].requests += calls;
      if (!spec.parallel_calls) calls = product(demand_.groups[g].success, calls);
    }
  }

  /// So many of the attempts at a service are `first` ones, whose calls are not made for a retry.
  void mark_calls(std::size_t s, double attempts, double first) {
    const double share = attempts > 0 && attempts < kNoLimit ? std::min(1.0, first / attempts) : 1;
    for (const std::size_t g : calls_.groups_of(s)) {
      GroupDemand& group = demand_.groups[g];
      const GroupDemand& of_retries = of_retries_[g];
      made_for_first_[g] = share;
      group.attempts = product(share, group.attempts) + product(1 - share, of_retries.attempts);
      group.success = share * group.success + (1 - share) * of_retries.success;
    }
  }

  static bool throttled_as_one(const ServiceSpec& s) {
    return s.throttle.rate > 0 && s.throttle.scope == ThrottleScope::kService &&
           !s.throttle.has_limits();
  }
  static bool throttled_by_client(const ServiceSpec& s) {
    return s.throttle.rate > 0 && s.throttle.scope == ThrottleScope::kClient &&
           !s.throttle.has_limits();
  }

  const Scenario& scenario_;
  Attempts attempts_;
  DemandOptions options_;
  Demand demand_;
  CallGraph calls_;
  std::vector<std::vector<ServiceShare>> called_;  // services that a group calls
  std::vector<std::vector<Caller>> callers_;       // groups that call a service
  std::vector<Below> below_;
  bool marks_retries_ = false;           // some calls are retried only if not made for a retry
  std::vector<GroupDemand> of_retries_;  // calls that are: their attempts and successes
  std::vector<double> made_for_first_;   // share of a group's requests that are not
};

}  // namespace

Demand demand_of(const Scenario& scenario, Attempts attempts, const DemandOptions& options) {
  return DemandFinder(scenario, attempts, options).all();
}

double mean_job_rate(const Scenario& scenario, const ClientSpec& client, bool surges) {
  const ArrivalSpec& a = client.arrivals;
  const double duration = scenario.duration.in_seconds();
  const double each = duration > 0 ? 1 / duration : 0;
  if (client.makes_calls() || a.process == ArrivalProcess::kClosed) return 0;
  if (a.process == ArrivalProcess::kOnce) return client.count * each;
  if (a.process == ArrivalProcess::kTrace && !a.profile) {
    return static_cast<double>(a.rows.size()) * each;
  }
  const double rate = a.process == ArrivalProcess::kTrace ? 1 : a.rate * client.count;
  return rate * mean_factor(scenario, a, surges);
}

double mean_request_rate(const Scenario& scenario, const ClientSpec& client, bool surges) {
  const double jobs = mean_job_rate(scenario, client, surges);
  return client.arrivals.process == ArrivalProcess::kPoll ? jobs * checks_of(client.arrivals)
                                                          : jobs;
}

double most_attempts(const ClientSpec& client) {
  if (client.retry_only_at == RetryOnlyAt::kEdge) return 1;
  return client.retry.max_attempts == RetryRules::kUnlimited ? kNoLimit : client.retry.max_attempts;
}

double servers_of(const ServiceSpec& service) {
  return service.servers == ServiceSpec::kUnlimited ? kNoLimit
                                                    : static_cast<double>(service.all_servers());
}

double free_error_share(const ServiceSpec& service) {
  if (service.model == ServiceModelKind::kIndependent) return 0;
  const double saved = service.errors_at.on_arrival() ? 1 : 1 - service.errors_at.share;
  return std::min(1.0, error_share(service)) * saved;
}

double service_seconds_at(const Scenario& scenario, const ClientSpec& client, std::size_t service) {
  const ServiceSpec& spec = scenario.services[service];
  const double share = share_of_calls(client, service);
  const double work = share > 0 ? mean_work(client, service) / share : 1;
  return spec.service_time.mean_seconds() * passes(spec) * work;
}

double seconds_at(const Scenario& scenario, const ClientSpec& client, std::size_t service) {
  return service_seconds_at(scenario, client, service) *
         (1 - free_error_share(scenario.services[service]));
}

double held_seconds_at(const Scenario& scenario, const Demand& demand, const ClientSpec& client,
                       std::size_t service) {
  const ServiceSpec& spec = scenario.services[service];
  double held = service_seconds_at(scenario, client, service);
  if (has_queue(spec.queue.discipline)) held += demand.services[service].calls_time;
  return held * (1 - free_error_share(spec));
}

double answerable_rate(const Scenario& scenario, std::size_t service, double servers) {
  const ServiceDemand demand = demand_of(scenario, Attempts::kFirst).services[service];
  const double each = demand.held_time * (1 - free_error_share(scenario.services[service]));
  return each > 0 ? servers / each : kNoLimit;
}

double granted_rate(const Scenario& scenario, std::size_t service) {
  const ThrottleSpec& t = scenario.services[service].throttle;
  if (t.rate <= 0 || t.scope > ThrottleScope::kClient || t.has_limits()) return kNoLimit;
  if (t.scope == ThrottleScope::kService) return t.rate;
  double clients = 0;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) > 0) clients += c.count;
  }
  return t.rate * clients;
}

bool is_called_by_services_only(const Scenario& scenario, std::size_t service) {
  bool called = false;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    if (!c.makes_calls()) return false;
    called = true;
  }
  return called;
}

std::string path_of(const ClientSpec& client) {
  const std::size_t dot = client.name.find('.');  // names of services have none
  if (dot == std::string::npos) return "client." + client.name;
  return "service." + client.name.substr(0, dot) + ".calls." + client.name.substr(dot + 1);
}

// --- Calls between services ----------------------------------------------------------------------

CallGraph::CallGraph(const Scenario& scenario)
    : calls_(scenario.services.size()),
      groups_(scenario.services.size()),
      callers_(scenario.clients.size()) {
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    const std::size_t caller = scenario.calls[i].caller, group = scenario.calls[i].client;
    if (caller >= calls_.size() || group >= callers_.size()) {
      throw std::invalid_argument("a call names a service or a client group that there is not");
    }
    std::optional<std::size_t>& known = callers_[group];
    if (!scenario.clients[group].makes_calls() || (known && known != caller)) {
      throw std::invalid_argument("client " + scenario.clients[group].name +
                                  " does not make the calls of one service, and no others");
    }
    calls_[caller].push_back(i);
    if (!known) groups_[caller].push_back(group);
    known = caller;
  }
  for (std::size_t g = 0; g < callers_.size(); ++g) {
    if (!scenario.clients[g].makes_calls() || callers_[g]) continue;
    throw std::invalid_argument("client " + scenario.clients[g].name + " has no calls to make");
  }
}

bool calls_others(const Scenario& scenario, std::size_t service) {
  return std::ranges::any_of(scenario.calls,
                             [&](const CallSpec& call) { return call.caller == service; });
}

std::vector<std::size_t> callers_first(const Scenario& scenario) {
  std::vector<std::vector<std::size_t>> callees(scenario.services.size());
  std::vector<std::size_t> callers(scenario.services.size());  // that are not in the order yet
  for (const CallSpec& call : scenario.calls) {
    const std::size_t callee = scenario.clients[call.client].service;
    callees[call.caller].push_back(callee);
    ++callers[callee];
  }
  std::vector<std::size_t> order;
  order.reserve(scenario.services.size());
  for (std::size_t s = 0; s < callers.size(); ++s) {
    if (callers[s] == 0) order.push_back(s);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::size_t s : callees[order[next]]) {
      if (--callers[s] == 0) order.push_back(s);
    }
  }
  return order;
}

}  // namespace retrysim::scenario

namespace retrysim {

// --- Capacity ------------------------------------------------------------------------------------

// What profiles and faults leave of a service's capacity at a moment. Faults of some instances
// leave the others alone.

namespace {

bool is_on(const FaultSpec& fault, std::size_t service, Time at) {
  return fault.service == service && at >= fault.start && at < fault.start + fault.duration;
}

double profile_factor_at(const ServiceSpec& spec, Time at) {
  if (!spec.profile) return 1;
  const auto after = std::upper_bound(spec.profile->times.begin(), spec.profile->times.end(), at);
  return spec.profile->factors[static_cast<std::size_t>(after - spec.profile->times.begin()) - 1];
}

/// As servers are whole ones.
double working_share(const ServiceSpec& spec, double factor) {
  if (spec.servers == ServiceSpec::kUnlimited) return factor > 0 ? 1 : 0;
  if (spec.servers <= 0) return factor;
  const auto servers = static_cast<double>(spec.servers);
  return std::round(servers * factor) / servers;
}

/// With these faults.
CapacityLeft left_with(const ServiceSpec& spec, const std::vector<const FaultSpec*>& on, Time at) {
  const double profile = profile_factor_at(spec, at);
  // Instances with the same faults are alike: from where one begins or ends to the next.
  const std::uint32_t count = spec.instances.count;
  std::vector<std::uint32_t> edges = {0, count};
  for (const FaultSpec* f : on) {
    if (f->instance == FaultSpec::kAllInstances) continue;
    edges.push_back(std::min(f->instance - 1, count));
    edges.push_back(std::min(f->instance - 1 + f->instances, count));
  }
  std::sort(edges.begin(), edges.end());
  double servers = 0, power = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i] == edges[i + 1]) continue;
    double capacity = profile, speed = 1;
    for (const FaultSpec* f : on) {
      if (!f->concerns(edges[i])) continue;
      capacity *= f->capacity;
      speed *= f->unreachable || f->black_hole ? 0 : f->speed;
    }
    const double part = working_share(spec, capacity) * (edges[i + 1] - edges[i]);
    servers += part;
    power += part * speed;
  }
  return {servers / count, servers > 0 ? power / servers : 0};
}

}  // namespace

CapacityLeft capacity_left(const Scenario& scenario, std::size_t service, Time at) {
  std::vector<const FaultSpec*> on;
  for (const FaultSpec& f : scenario.faults) {
    if (is_on(f, service, at)) on.push_back(&f);
  }
  return left_with(scenario.services[service], on, at);
}

std::vector<Time> capacity_changes(const Scenario& scenario, std::size_t service) {
  std::vector<Time> times;
  for (const FaultSpec& f : scenario.faults) {
    if (f.service != service) continue;
    times.push_back(f.start);
    times.push_back(f.start + f.duration);
  }
  if (const auto& profile = scenario.services[service].profile) {
    times.insert(times.end(), profile->times.begin(), profile->times.end());
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

double mean_capacity_left(const Scenario& scenario, std::size_t service, Time from, Time to) {
  // Of many faults few concern a short time.
  std::vector<const FaultSpec*> concerned, on;
  std::vector<Time> changes;
  for (const FaultSpec& f : scenario.faults) {
    if (f.service != service || f.start >= to || f.start + f.duration <= from) continue;
    concerned.push_back(&f);
    changes.push_back(f.start);
    changes.push_back(f.start + f.duration);
  }
  const ServiceSpec& spec = scenario.services[service];
  if (spec.profile) {
    const std::vector<Time>& times = spec.profile->times;
    changes.insert(changes.end(), std::upper_bound(times.begin(), times.end(), from),
                   std::lower_bound(times.begin(), times.end(), to));
  }
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  double sum = 0;
  auto next = std::upper_bound(changes.begin(), changes.end(), from);
  for (Time at = from; at < to;) {
    stop_point();
    const Time end = next == changes.end() ? to : std::min(*next++, to);
    on.clear();
    std::ranges::copy_if(concerned, std::back_inserter(on),
                         [&](const FaultSpec* f) { return is_on(*f, service, at); });
    sum += left_with(spec, on, at).share() * (end - at).in_seconds();
    at = end;
  }
  return to > from ? sum / (to - from).in_seconds() : 1;
}

}  // namespace retrysim

namespace retrysim::scenario {

// --- Consistency ---------------------------------------------------------------------------------

namespace {

bool turns_attempts_away(const ServiceSpec& service) {
  if (service.concurrency.control != ConcurrencyControl::kFixed ||
      service.concurrency.limit != ServiceSpec::kUnlimited) {
    return true;
  }
  return service.servers != ServiceSpec::kUnlimited &&
         (service.queue.capacity != ServiceSpec::kUnlimited ||
          service.queue.discipline == Discipline::kCodel);
}

}  // namespace

// A depth-first search with a stack of its own: chains of calls may be long.
std::vector<std::size_t> circle_of_calls(const Scenario& scenario) {
  std::vector<std::vector<std::size_t>> called(scenario.services.size());
  for (const CallSpec& call : scenario.calls) {
    called[call.caller].push_back(scenario.clients[call.client].service);
  }
  enum class State : std::uint8_t { kNew, kOnPath, kDone };
  std::vector<State> states(called.size());
  std::vector<std::size_t> path, next(called.size());  // next: call of each service to be looked at
  for (std::size_t start = 0; start < called.size(); ++start) {
    if (states[start] != State::kNew) continue;
    path.push_back(start);
    while (!path.empty()) {
      const std::size_t at = path.back();
      states[at] = State::kOnPath;
      if (next[at] == called[at].size()) {
        states[at] = State::kDone;
        path.pop_back();
        continue;
      }
      const std::size_t callee = called[at][next[at]++];
      if (states[callee] == State::kOnPath) {
        const auto first = std::find(path.begin(), path.end(), callee);
        std::rotate(first, std::min_element(first, path.end()), path.end());
        return {first, path.end()};
      }
      if (states[callee] == State::kNew) path.push_back(callee);
    }
  }
  return {};
}

std::string cause_of_lost_messages(const Scenario& scenario, const ClientSpec& client) {
  const NetworkSpec& network = scenario.network;
  if (network.request_loss > 0)
    return fmt::format("network.request_loss = {:.6g}", network.request_loss);
  if (network.response_loss > 0) {
    return fmt::format("network.response_loss = {:.6g}", network.response_loss);
  }
  const std::vector<std::size_t> called = called_services(client);
  for (const FaultSpec& f : scenario.faults) {
    if (!f.black_hole && f.request_loss <= 0 && f.response_loss <= 0) continue;
    if (!std::ranges::binary_search(called, f.service)) continue;
    if (f.black_hole) return "fault." + f.name + " answers nothing";
    return "fault." + f.name + " loses messages";
  }
  for (const std::size_t s : called) {
    const ServiceSpec& service = scenario.services[s];
    if (service.rejection.overflow == Overflow::kDrop && turns_attempts_away(service)) {
      return "service." + service.name + ".overflow = \"drop\"";
    }
  }
  return "";
}

}  // namespace retrysim::scenario

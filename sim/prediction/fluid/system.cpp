// From a scenario to the numbers of the fluid.
//
// SPDX-License-Identifier: MIT
#include "prediction/fluid/system.hpp"

#include "flow/demand.hpp"
#include "flow/rates.hpp"
#include "kernel/stop.hpp"
#include "prediction/facts/delay_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace retrysim::prediction {
namespace {

double quota_price(const QuotaRules& quota, const ErrorInfo& error) {
  if (!quota.enabled) return 0;
  if (error.timeout) return quota.timeout_cost;
  return error.response_class == ResponseClass::kThrottling ? quota.throttle_cost : quota.cost;
}

FateRules rules_for(const ClientSpec& client, const ErrorInfo& error) {
  return {error.retryable() ? 1.0 : 0.0, quota_price(client.retry.quota, error),
          error.response_class == ResponseClass::kThrottling};
}

ErrorInfo transport(const ClientSpec& client, TransportError error) {
  Response response;
  response.status = 0;
  response.transport = error;
  return classify(client.retry.errors, client.retry.api, response);
}

std::array<FateRules, kFates> fates_of(const ServiceSpec& service, const ClientSpec& client) {
  const auto answer = [&](const ServiceAnswer& a) {
    Response response{.status = a.error.status, .code = a.error.code};
    response.traits = a.error.traits;
    return rules_for(client, classify(client.retry.errors, client.retry.api, response));
  };
  const ServiceAnswers answers = answers_of(service);
  const FateRules late = rules_for(client, transport(client, TransportError::kTimeout));
  const bool by_age = service.queue.max_age != Duration::max();
  const FateRules turned_away = service.rejection.overflow == Overflow::kDrop
                                    ? late
                                    : answer(by_age ? answers.shed : answers.overflow);
  FateRules error = answer({{500, "InternalError"}});
  error.retryable = 1;  // ErrorShares says which errors are retryable
  return {late,
          turned_away,
          answer(answers.throttled),
          rules_for(client, transport(client, TransportError::kConnection)),
          error,
          answer({{400, "ThrottlingException"}})};
}

/// Adds errors that occur independently of each other.
void add_errors(ErrorShares& shares, const ClientSpec& client,
                const std::vector<RandomError>& errors) {
  double none = 1 - shares.error - shares.throttling;
  const double before = none;
  double retryable = shares.error * shares.error_retryable;
  for (const RandomError& e : errors) {
    Response response{.status = e.answer.status, .code = e.answer.code};
    response.traits = e.answer.traits;
    const ErrorInfo info = classify(client.retry.errors, client.retry.api, response);
    const double share = before * e.probability;
    if (info.success()) continue;
    if (info.response_class == ResponseClass::kThrottling) {
      shares.throttling += share;
    } else {
      shares.error += share;
      if (info.retryable()) retryable += share;
    }
    none -= share;
  }
  shares.error_retryable = shares.error > 0 ? retryable / shares.error : 1;
}

FluidClients clients_of(const Scenario& scenario, std::size_t index) {
  constexpr std::size_t kMaxStreams = 16;
  constexpr int kPieces = 16;
  const ClientSpec& c = scenario.clients[index];
  const ServiceSpec& service = scenario.services[c.service];
  FluidClients g;
  g.client = index;
  g.clients = c.count;
  g.timeout = mean_timeout(c);
  g.deadline = in_seconds(c.timeouts.deadline);
  g.service_time = flow::service_seconds_at(scenario, c, c.service);
  g.round_trip = 2 * scenario.network.latency.mean_seconds();
  const RetryRules& retry = c.retry;
  g.retry_probability = retry.probability;
  g.attempts = retry.max_attempts == RetryRules::kUnlimited
                   ? kForever
                   : static_cast<double>(retry.max_attempts);
  g.streams = static_cast<std::size_t>(std::min<double>(g.attempts, kMaxStreams));
  g.fates = fates_of(service, c);
  for (const bool throttling : {false, true}) {
    BackoffLaws laws(retry.backoff, throttling);
    for (std::size_t i = 1; i <= g.streams; ++i) {
      g.backoff[throttling].push_back(coarsened(laws.next(), kPieces));
    }
  }
  g.suggested_delay =
      in_seconds(answers_of(service).throttled.retry_after.value_or(Duration::zero()));
  g.retry_after = retry.retry_after;
  g.suggestion_limit = in_seconds(retry.suggestion_limit());
  const ArrivalSpec& a = c.arrivals;
  g.closed = a.process == ArrivalProcess::kClosed;
  g.slots = static_cast<double>(c.count) * a.concurrency;
  g.think = coarsened(law_of(a.think_time), kPieces);
  g.think_mean = a.think_time.mean_seconds();
  g.think_is_exponential = a.think_time.kind() == Distribution::Kind::kExponential;
  g.think_from_start = a.think_from_start;
  return g;
}

struct Window {
  double start, end;
  bool holds(double t) const { return t >= start && t < end; }
};

Window window_of(const FaultSpec& fault) {
  return {fault.start.in_seconds(), (fault.start + fault.duration).in_seconds()};
}

double profile_at(const std::optional<CapacityProfile>& profile, double t) {
  if (!profile) return 1;
  double factor = 1;
  for (std::size_t i = 0; i < profile->times.size(); ++i) {
    if (profile->times[i].in_seconds() <= t) factor = profile->factors[i];
  }
  return factor;
}

FluidStretch calm_stretch(const Scenario& scenario, const FluidSystem& system,
                          std::size_t service) {
  FluidStretch stretch;
  stretch.request_loss = scenario.network.request_loss;
  stretch.response_loss = scenario.network.response_loss;
  for (const FluidClients& g : system.groups) {
    ErrorShares shares;
    add_errors(shares, scenario.clients[g.client], scenario.services[service].errors);
    stretch.errors.push_back(shares);
  }
  return stretch;
}

FluidStretch stretch_at(const Scenario& scenario, const FluidSystem& system, std::size_t service,
                        double t) {
  const ServiceSpec& spec = scenario.services[service];
  FluidStretch stretch = system.calm;
  stretch.start = t;
  stretch.capacity = profile_at(spec.profile, t);
  double through = 1 - stretch.request_loss, back = 1 - stretch.response_loss;
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service != service) continue;
    if (fault.cold_restart && fault.start.in_seconds() == t) stretch.restart = true;
    if (!window_of(fault).holds(t)) continue;
    stretch.capacity *= fault.capacity * fault.speed;
    stretch.latency += 2 * fault.latency.in_seconds();
    through *= fault.black_hole ? 0 : 1 - fault.request_loss;
    back *= 1 - fault.response_loss;
    stretch.unreachable = stretch.unreachable || fault.unreachable;
    for (std::size_t g = 0; g < system.groups.size(); ++g) {
      add_errors(stretch.errors[g], scenario.clients[system.groups[g].client], fault.errors);
    }
  }
  stretch.request_loss = 1 - through;
  stretch.response_loss = 1 - back;
  return stretch;
}

void add_disturbances(const Scenario& scenario, std::size_t service, FluidSystem& system) {
  system.first_disturbance = kForever;
  const auto disturbs = [&](Window w) {
    if (w.start >= system.duration) return;
    system.disturbed = true;
    system.first_disturbance = std::min(system.first_disturbance, w.start);
    system.disturbance_end = std::max(system.disturbance_end, w.end);
  };
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service == service) disturbs(window_of(fault));
  }
  for (const FluidClients& g : system.groups) {
    for (const SurgeSpec& surge : scenario.clients[g.client].arrivals.surges) {
      disturbs({surge.start.in_seconds(), (surge.start + surge.duration).in_seconds()});
    }
  }
}

double surge_factor(const ArrivalSpec& arrivals, double t) {
  double factor = 1;
  for (const SurgeSpec& s : arrivals.surges) {
    if (Window{s.start.in_seconds(), (s.start + s.duration).in_seconds()}.holds(t)) {
      factor *= s.factor;
    }
  }
  return factor;
}

/// Reads a profile in the order of time.
class ProfileReader {
 public:
  explicit ProfileReader(const std::optional<RateProfile>& profile) : profile_(profile) {}

  double at(double t) {
    if (!profile_) return 1;
    const RateProfile& p = *profile_;
    while (next_ < p.times.size() && p.times[next_].in_seconds() <= t) ++next_;
    if (next_ == 0) return p.rates.front();
    if (!p.linear || next_ == p.times.size()) return p.rates[next_ - 1];
    const double from = p.times[next_ - 1].in_seconds(), to = p.times[next_].in_seconds();
    return p.rates[next_ - 1] + (p.rates[next_] - p.rates[next_ - 1]) * (t - from) / (to - from);
  }

 private:
  const std::optional<RateProfile>& profile_;
  std::size_t next_ = 0;
};

}  // namespace

double mean_timeout(const ClientSpec& client) {
  const double attempt =
      client.timeouts.has_attempt ? client.timeouts.attempt.mean_seconds() : kForever;
  const bool once = client.retry.max_attempts == 1 && client.timeouts.deadline != Duration::max();
  return once ? std::min(attempt, client.timeouts.deadline.in_seconds()) : attempt;
}

std::vector<double> arrival_rates(const Scenario& scenario, std::size_t client, double step,
                                  std::size_t steps) {
  const ClientSpec& c = scenario.clients[client];
  const ArrivalSpec& a = c.arrivals;
  std::vector<double> rates(steps);
  const double end = scenario.duration.in_seconds();
  const auto put = [&](double time, double requests) {
    const auto at = static_cast<std::size_t>(time / step);
    if (time < end && at < steps) rates[at] += requests / step;
  };
  if (a.process == ArrivalProcess::kClosed) return rates;
  if (a.process == ArrivalProcess::kOnce) {
    constexpr int kParts = 10'000;
    const double spread = a.spread.in_seconds();
    for (int i = 0; i < kParts; ++i) {
      put(a.start.in_seconds() + spread * (i + 0.5) / kParts,
          c.count / static_cast<double>(kParts));
    }
    return rates;
  }
  if (a.process == ArrivalProcess::kTrace && !a.profile) {
    StopCounter<> stop;
    for (const Time t : a.rows) {
      stop.count();
      put(t.in_seconds(), 1);
    }
    return rates;
  }
  const double rate = a.process == ArrivalProcess::kTrace ? 1 : a.rate * c.count;
  ProfileReader profile(a.profile);
  for (std::size_t k = 0; k < steps; ++k) {
    const double from = static_cast<double>(k) * step, middle = from + step / 2;
    if (from >= end) break;
    rates[k] = rate * profile.at(middle);
    if (!a.surges.empty()) {
      stop_point();  // there may be thousands
      // If a surge begins or ends within the bin, its part of the bin counts.
      constexpr int kParts = 16;
      double factor = 0;
      const double first = surge_factor(a, from), last = surge_factor(a, from + step);
      if (first == last) {
        factor = first;
      } else {
        for (int i = 0; i < kParts; ++i) {
          factor += surge_factor(a, from + step * (i + 0.5) / kParts) / kParts;
        }
      }
      rates[k] *= factor;
    }
    if (from + step > end) rates[k] *= (end - from) / step;
  }
  return rates;
}

FluidSystem fluid_system(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& spec = scenario.services[service];
  FluidSystem system;
  system.duration = scenario.duration.in_seconds();
  system.warmup = scenario.warmup.in_seconds();
  system.drain = scenario.drain ? scenario.drain_limit.in_seconds() : 0;
  const bool unlimited = spec.servers == ServiceSpec::kUnlimited;
  system.servers = unlimited ? kForever : static_cast<double>(spec.servers);
  system.slowdown = spec.slowdown.per_attempt;
  system.service_law = spec.service_time;
  system.throttling = spec.rejection.cost.in_seconds();
  system.zombies = spec.abandoned == Abandoned::kServe && !spec.queue.drop_expired;
  system.drops = spec.rejection.overflow == Overflow::kDrop;
  system.turning_away = system.drops ? 0 : spec.rejection.cost.in_seconds();
  system.errors_at_door = spec.model != ServiceModelKind::kIndependent;
  system.throttle_rate = spec.throttle.rate;
  system.throttle_burst = spec.throttle.burst;
  system.throttle_by_client = spec.throttle.scope == ThrottleScope::kClient;
  system.shortest_timeout = kForever;
  double work = 0, weight = 0;
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    if (scenario.clients[i].service != service) continue;
    system.groups.push_back(clients_of(scenario, i));
    const FluidClients& g = system.groups.back();
    system.shortest_timeout = std::min(system.shortest_timeout, g.timeout);
    const double rate = std::max(1e-9, flow::mean_request_rate(scenario, scenario.clients[i]));
    work += rate * g.service_time;
    weight += rate;
    for (const auto& laws : g.backoff) {
      for (const DelayLaw& law : laws) {
        if (g.streams > 1) system.most_backoff = std::max(system.most_backoff, most_of(law));
      }
    }
    if (g.suggested_delay < 1e9) system.most_backoff += g.suggested_delay;
    if (g.closed) system.most_backoff = std::max(system.most_backoff, most_of(g.think));
  }
  const double mean = weight > 0 ? work / weight : spec.service_time.mean_seconds();
  double places = spec.queue.capacity == ServiceSpec::kUnlimited
                      ? kForever
                      : static_cast<double>(spec.queue.capacity);
  if (!unlimited && spec.concurrency.limit != std::numeric_limits<std::int64_t>::max()) {
    places = std::min(places,
                      std::max(0.0, static_cast<double>(spec.concurrency.limit) - system.servers));
  }
  system.room = unlimited ? kForever : places * mean / system.servers;
  // A fifo queue shows an attempt how long it will wait. If the queue has no room for so long a
  // wait, the maximum age does not matter.
  const double age = in_seconds(spec.queue.max_age);
  system.max_age = age < system.room && !unlimited ? age : kForever;
  system.room = std::min(system.room, system.max_age);
  add_disturbances(scenario, service, system);

  std::set<double> starts = {0};
  if (spec.profile) {
    for (const Time t : spec.profile->times) starts.insert(t.in_seconds());
  }
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service != service) continue;
    starts.insert(window_of(fault).start);
    starts.insert(window_of(fault).end);
  }
  system.calm = calm_stretch(scenario, system, service);
  for (const double t : starts) {
    stop_point();
    system.stretches.push_back(stretch_at(scenario, system, service, t));
  }
  return system;
}

}  // namespace retrysim::prediction

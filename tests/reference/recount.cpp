// SPDX-License-Identifier: MIT
#include "reference/recount.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace retrysim::reference {
namespace {

using model::Step;
using model::TraceStep;

/// Of equal durations nothing is lost, so sums are compared to the nanosecond.
struct Lengths {
  std::uint64_t count = 0;
  double sum_ns = 0;

  void add(Time from, Time to) {
    ++count;
    sum_ns += static_cast<double>((to - from).count());
  }
};

/// The attempts with one number.
struct OfNumber {
  std::uint64_t sent = 0;                        ///< of the cohort
  std::map<std::int64_t, std::uint64_t> tenths;  ///< of the window, by tenth of a second
};

struct OfGroup {
  ClientFlow window;
  std::vector<ClientFlow> bins;
  // The cohort.
  std::uint64_t requests = 0, attempts = 0, arrivals = 0, executed = 0, late = 0, abandoned = 0,
                degraded = 0;
  std::array<std::uint64_t, kOutcomeCount> outcomes{};
  Lengths latency, latency_ok, attempt_latency, service_latency;
  std::map<std::uint32_t, OfNumber> numbers;
};

struct OfService {
  ServiceFlow window;
  std::vector<ServiceFlow> bins;
};

using RequestName = std::pair<std::uint16_t, std::uint64_t>;
using AttemptName = std::tuple<std::uint16_t, std::uint64_t, std::uint32_t>;

struct OneAttempt {
  std::size_t service = 0;
  Time sent, arrived;
  std::optional<Time> queued, taken;  // since when it waits, or has a server
  bool degraded = false;              // it succeeds, but one of its calls has failed
};

class Recount {
 public:
  Recount(const Scenario& scenario, const std::vector<TraceStep>& steps)
      : scenario_(scenario),
        from_(Time::zero() + scenario.warmup),
        to_(Time::zero() + scenario.duration),
        groups_(scenario.clients.size()),
        services_(scenario.services.size()) {
    for (std::size_t s = 0; s < scenario.services.size(); ++s) {
      service_of_.insert(service_of_.end(), scenario.services[s].instances.count, s);
    }
    for (const TraceStep& step : steps) take(step);
    for (auto& [name, attempt] : attempts_) {
      if (under_way_.contains(name))
        groups_[std::get<0>(name)].window.in_flight_ns += inside(attempt.sent, to_);
      leave_queue(attempt, to_);
      leave_server(attempt, to_);
    }
  }

  std::string compare(const RunResult& result) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      where_ = "client " + scenario_.clients[g].name;
      compare_group(groups_[g], result.clients[g], scenario_.clients[g].makes_calls());
    }
    for (std::size_t s = 0; s < services_.size(); ++s) {
      where_ = "service " + scenario_.services[s].name;
      const ServiceResult& r = result.services[s];
      compare_flow(services_[s].window, r.window);
      for (std::size_t b = 0; b < services_[s].bins.size(); ++b) {
        same("arrivals of a bin", services_[s].bins[b].arrivals, r.bins[b].arrivals);
        same("completions of a bin", services_[s].bins[b].completions, r.bins[b].completions);
      }
    }
    return difference_;
  }

 private:
  double inside(Time from, Time to) const {
    const Time a = std::max(from, from_), b = std::min(to, to_);
    return a < b ? static_cast<double>((b - a).count()) : 0;
  }
  bool in_window(Time t) const { return from_ <= t && t < to_; }

  /// Adds one to a count of the window and of the bin of this moment.
  template <class Of, class Flow>
  void count(Of& of, Time now, std::uint64_t Flow::*field) {
    const auto bin = static_cast<std::size_t>(now.count() / scenario_.interval.count());
    if (bin >= of.bins.size()) of.bins.resize(bin + 1);
    ++(of.bins[bin].*field);
    if (in_window(now)) ++(of.window.*field);
  }

  void leave_queue(OneAttempt& a, Time now) {
    if (!a.queued) return;
    ServiceFlow& flow = services_[a.service].window;
    flow.queue_ns += inside(*a.queued, now);
    flow.in_system_ns += inside(*a.queued, now);
    a.queued.reset();
  }
  void leave_server(OneAttempt& a, Time now) {
    if (!a.taken) return;
    ServiceFlow& flow = services_[a.service].window;
    flow.busy_ns += inside(*a.taken, now);
    flow.in_system_ns += inside(*a.taken, now);
    a.taken.reset();
  }

  void take(const TraceStep& step) {
    OfGroup& group = groups_[step.group];
    const RequestName request{step.group, step.entity};
    const Time now = step.time;
    if (step.attempt > 0) return take_attempt(step, group, cohort_.contains(request));
    if (step.step == Step::kSubmitted) {
      count(group, now, &ClientFlow::requests);
      submitted_[request] = now;
      if (in_window(now)) cohort_.insert(request);
      group.requests += in_window(now);
    }
    if (step.step != Step::kEnded) return;
    const bool success = step.first == static_cast<int>(Outcome::kSuccess);
    count(group, now, success ? &ClientFlow::successes : &ClientFlow::failures);
    if (!cohort_.contains(request)) return;
    ++group.outcomes[static_cast<std::size_t>(step.first)];
    group.latency.add(submitted_[request], now);
    if (success) group.latency_ok.add(submitted_[request], now);
  }

  void take_attempt(const TraceStep& step, OfGroup& group, bool in_cohort) {
    const Time now = step.time;
    const AttemptName name{step.group, step.entity, step.attempt};
    OneAttempt& a = attempts_[name];
    OfService& service = services_[a.service];
    const auto ended = [&] {
      under_way_.erase(name);
      group.window.in_flight_ns += inside(a.sent, now);
      if (in_cohort) group.attempt_latency.add(a.sent, now);
    };
    const auto executed = [&] {
      const bool in_vain = !under_way_.contains(name);
      count(service, now, &ServiceFlow::completions);
      if (in_vain) count(service, now, &ServiceFlow::wasted);
      group.executed += in_cohort;
      group.late += in_cohort && in_vain;
      if (in_cohort) group.service_latency.add(a.arrived, now);
    };
    switch (step.step) {
      case Step::kSent:
        a.service = service_of_[static_cast<std::size_t>(step.first)];
        a.sent = now;
        under_way_.insert(name);
        count(group, now, &ClientFlow::attempts);
        if (step.attempt > 1) count(group, now, &ClientFlow::retries);
        group.attempts += in_cohort;
        group.numbers[step.attempt].sent += in_cohort;
        if (in_window(now)) ++group.numbers[step.attempt].tenths[now.count() / 100'000'000];
        break;
      case Step::kArrived:
        a.arrived = now;
        count(group, now, &ClientFlow::arrivals);
        count(service, now, &ServiceFlow::arrivals);
        group.arrivals += in_cohort;
        break;
      case Step::kQueued:
        a.queued = now;
        break;
      case Step::kWorking:
      case Step::kHolding:
        leave_queue(a, now);
        if (!a.taken) a.taken = now;
        break;
      case Step::kLeftQueue:
        leave_queue(a, now);
        break;
      case Step::kServed:
        leave_server(a, now);
        if (step.first != 0) executed();
        break;
      case Step::kCalled:
        leave_server(a, now);
        a.degraded = step.first != 0;
        executed();
        break;
      case Step::kAborted:
        leave_server(a, now);
        break;
      case Step::kDelivered:
        ended();
        group.degraded += in_cohort && a.degraded;
        break;
      case Step::kGivenUp:
        ended();
        group.abandoned += in_cohort && step.first == static_cast<int>(AttemptResult::kAbandoned);
        break;
      default:
        break;
    }
  }

  template <class A, class B>
  void same(std::string_view what, A counted, B recorded) {
    const auto x = static_cast<double>(counted), y = static_cast<double>(recorded);
    if (!difference_.empty() || std::abs(x - y) <= 1e-9 * std::max(1.0, std::abs(x))) return;
    difference_ = fmt::format("{}, {}: {} counted, {} recorded", where_, what, x, y);
  }
  void same(const std::string& what, const Lengths& counted, const DurationMoments& recorded) {
    same(what + " (number)", counted.count, recorded.count);
    same(what + " (sum)", counted.sum_ns, recorded.sum_ns);
  }
  void compare_flow(const ServiceFlow& a, const ServiceFlow& b) {
    same("arrivals", a.arrivals, b.arrivals);
    same("completions", a.completions, b.completions);
    same("wasted", a.wasted, b.wasted);
    same("queue_ns", a.queue_ns, b.queue_ns);
    same("busy_ns", a.busy_ns, b.busy_ns);
    same("in_system_ns", a.in_system_ns, b.in_system_ns);
  }

  // The cohort of groups that services call with is that of their attempts, which the steps do not
  // say.
  void compare_group(const OfGroup& a, const ClientResult& b, bool inner) {
    const ClientFlow& x = a.window;
    const ClientFlow& y = b.window;
    same("requests of the window", x.requests, y.requests);
    same("attempts of the window", x.attempts, y.attempts);
    same("retries of the window", x.retries, y.retries);
    same("successes of the window", x.successes, y.successes);
    same("failures of the window", x.failures, y.failures);
    same("arrivals of the window", x.arrivals, y.arrivals);
    same("in_flight_ns", x.in_flight_ns, y.in_flight_ns);
    for (std::size_t i = 0; i < a.bins.size(); ++i) {
      same("requests of a bin", a.bins[i].requests, b.bins[i].flow.requests);
      same("attempts of a bin", a.bins[i].attempts, b.bins[i].flow.attempts);
      same("successes of a bin", a.bins[i].successes, b.bins[i].flow.successes);
    }
    for (const auto& [number, counted] : a.numbers) {
      if (number > b.by_attempt.size()) continue;
      const AttemptNumberCounts& recorded = b.by_attempt[number - 1];
      std::uint64_t peak = 0;
      for (const auto& [tenth, sends] : counted.tenths) peak = std::max(peak, sends);
      same(fmt::format("peak of attempts {}", number), peak, recorded.peak_sends_100ms);
      if (!inner) same(fmt::format("attempts {}", number), counted.sent, recorded.sent);
    }
    if (inner) return;
    same("requests", a.requests, b.requests);
    for (const Outcome o : {Outcome::kSuccess, Outcome::kMaxAttemptsExceeded,
                            Outcome::kQuotaExceeded, Outcome::kNotRetryable, Outcome::kNoSendToken,
                            Outcome::kDeadlineExceeded, Outcome::kBreakerOpen}) {
      const auto i = static_cast<std::size_t>(o);
      same(name(o), a.outcomes[i], b.outcomes[i]);
    }
    same("attempts", a.attempts, b.attempts);
    same("abandoned", a.abandoned, b.results[static_cast<std::size_t>(AttemptResult::kAbandoned)]);
    same("arrivals", a.arrivals, b.arrivals);
    same("executed", a.executed, b.executed);
    same("late", a.late, b.late);
    same("degraded", a.degraded, b.degraded);
    same("latency", a.latency, b.latency_m);
    same("latency_ok", a.latency_ok, b.latency_ok_m);
    same("attempt_latency", a.attempt_latency, b.attempt_latency_m);
    same("service_latency", a.service_latency, b.service_latency_m);
  }

  const Scenario& scenario_;
  const Time from_, to_;
  std::vector<std::size_t> service_of_;  // by instance
  std::vector<OfGroup> groups_;
  std::vector<OfService> services_;
  std::map<RequestName, Time> submitted_;
  std::set<RequestName> cohort_;
  std::map<AttemptName, OneAttempt> attempts_;
  std::set<AttemptName> under_way_;
  std::string where_, difference_;
};

}  // namespace

std::string recount(const Scenario& scenario, const std::vector<TraceStep>& steps,
                    const RunResult& result) {
  return Recount(scenario, steps).compare(result);
}

}  // namespace retrysim::reference

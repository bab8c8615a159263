// Demand on services, capacity left by profiles and faults, and consistency between the parts of a
// scenario.
//
// SPDX-License-Identifier: MIT
#include "scenario/derived/derived.hpp"

#include <retrysim/response.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/service_spec.hpp>
#include <retrysim/simulation.hpp>

#include "scenario/derived/caches.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// Mean over a stretch of what profile and surges make of a rate of 1: linear between edges.
double mean_factor(const ArrivalSpec& a, double start, double end, bool with_surges) {
  const bool surges = with_surges && !a.surges.empty();
  if ((!a.profile && !surges) || end <= start) return 1;
  std::vector<double> edges = {start, end};
  const auto add = [&](Time t) {
    if (t.in_seconds() > start && t.in_seconds() < end) edges.push_back(t.in_seconds());
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
  return sum / (end - start);
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
  const double success =
      later == nullptr ? attempts * fate.success : fate.success + (attempts - 1) * later->success;
  return {attempts, std::min(1.0, success)};
}

// --- Which calls are made

/// One operation among the requests at a service.
struct OperationShare {
  double share = 0, work = 0;  // work: the sum of their factors, times their shares
};
/// By name; requests without one have the empty name.
using OperationMix = std::map<std::string_view, OperationShare>;

bool permits(const CallSpec& call, std::string_view operation) {
  return call.operations.empty() ||
         std::ranges::find(call.operations, operation) != call.operations.end();
}

/// How likely requests at each service are to have which operation, and so to make which calls. The
/// groups that call a service count by their rates (closed loops, whose rates are not known yet, by
/// their clients).
class CallChances {
 public:
  CallChances(const Scenario& scenario, const CallGraph& calls)
      : scenario_(scenario), made_(scenario.calls.size(), 1) {
    bool by_operation = false;
    for (const CallSpec& c : scenario.calls) {
      by_operation |= !c.operations.empty() || c.callers_operation;
    }
    if (by_operation) {
      mixes_.resize(scenario.services.size());
      weights_.resize(scenario.services.size());
      for (const ClientSpec& c : scenario.clients) {
        if (!c.makes_calls()) add_outside(c);
      }
    }
    for (const std::size_t s : callers_first(scenario)) {
      for (const std::vector<std::size_t>& stage : calls.stages_of(s)) find_stage(s, stage);
      for (const std::size_t i : calls.calls_of(s)) {
        if (const auto other = calls.fallback_of(i)) {
          made_[*other] = mean_over(s, [&](std::string_view o) {
            return permits(scenario_.calls[*other], o) ? scenario_.calls[*other].share : 0;
          });
        }
      }
      if (by_operation) {
        for (const std::size_t i : calls.calls_of(s)) pass_on(s, scenario.calls[i], made_[i]);
      }
    }
  }

  /// Probability that an attempt at the caller makes the call, or falls back on it.
  double made(std::size_t call) const {
    return copies(scenario_.calls[call]) > 0 ? made_[call] : 0;
  }
  /// Requests that it then sends.
  static double copies(const CallSpec& call) {
    if (!call.random_count) return call.count;
    return std::min<double>(call.random_count->mean_seconds(), CallSpec::kMostCopies);
  }
  /// The mean factor on the service time of the callee that comes from the caller's operation.
  double work(const CallSpec& call) const {
    if (!call.callers_operation || mixes_.empty()) return 1;
    double sum = 0, work = 0;
    for (const auto& [name, o] : mixes_[call.caller]) {
      if (!permits(call, name)) continue;
      sum += o.share;
      work += o.work;
    }
    return sum > 0 ? work / sum : 1;
  }

 private:
  void add_outside(const ClientSpec& c) {
    const double rate = mean_request_rate(scenario_, c);
    const double slots = static_cast<double>(c.count) * c.arrivals.concurrency;
    for (const auto& [s, share] : service_shares(c)) {
      const double weight = share * (rate > 0 ? rate : slots);
      weights_[s] += weight;
      if (c.operations.empty()) add(s, "", weight, weight);
      double of_all = 0;
      for (const OperationSpec& o : c.operations) {
        if (!o.service || *o.service == s) of_all += o.share;
      }
      for (const OperationSpec& o : c.operations) {
        if (o.service && *o.service != s) continue;
        const double its = weight * o.share / of_all;
        add(s, o.name, its, its * o.work);
      }
    }
  }
  void add(std::size_t s, std::string_view name, double share, double work) {
    OperationShare& there = mixes_[s][name];
    there.share += share;
    there.work += work;
  }
  void pass_on(std::size_t s, const CallSpec& call, double made) {
    const std::size_t callee = scenario_.clients[call.client].service;
    const double weight = weights_[s] * made * copies(call);
    weights_[callee] += weight;
    if (!call.callers_operation) return add(callee, "", weight, weight);
    double all = 0;
    for (const auto& [name, o] : mixes_[s]) all += permits(call, name) ? o.share : 0;
    if (all <= 0) return;
    for (const auto& [name, o] : mixes_[s]) {
      if (permits(call, name)) add(callee, name, weight * o.share / all, weight * o.work / all);
    }
  }

  /// The mean over the operations of requests at a service.
  template <class Function>
  double mean_over(std::size_t s, Function function) const {
    if (mixes_.empty() || mixes_[s].empty()) return function("");
    double sum = 0, all = 0;
    for (const auto& [name, o] : mixes_[s]) {
      sum += o.share * function(name);
      all += o.share;
    }
    return all > 0 ? sum / all : function("");
  }

  void find_stage(std::size_t s, const std::vector<std::size_t>& stage) {
    std::map<std::string_view, std::vector<const CallSpec*>> alternatives;
    for (const std::size_t i : stage) {
      const CallSpec& call = scenario_.calls[i];
      if (!call.one_of.empty()) alternatives[call.one_of].push_back(&call);
    }
    // Of those that an operation permits, added up once for each operation.
    std::map<std::pair<std::string_view, std::string_view>, double> weights;
    for (const std::size_t i : stage) {
      stop_point();
      const CallSpec& call = scenario_.calls[i];
      made_[i] = mean_over(s, [&](std::string_view o) {
        if (!permits(call, o)) return 0.0;
        if (call.one_of.empty()) return call.share;
        const auto [sum, is_new] = weights.try_emplace({call.one_of, o}, 0.0);
        if (is_new) {
          for (const CallSpec* c : alternatives[call.one_of]) {
            if (permits(*c, o)) sum->second += c->share;
          }
        }
        return call.share / sum->second;
      });
    }
  }

  const Scenario& scenario_;
  std::vector<double> made_;  // by call
  std::vector<OperationMix> mixes_;
  std::vector<double> weights_;  // of the mixes
};

/// The keys that attempts at a service ask for.
class KeyMixes {
 public:
  explicit KeyMixes(std::size_t services) : mixes_(services) {}

  const std::vector<KeyMix>& at(std::size_t service) const { return mixes_[service]; }
  void add(std::size_t service, const KeySpec& keys, double rate) {
    if (rate <= 0) return;
    for (KeyMix& m : mixes_[service]) {
      const KeySpec& k = m.keys;
      if (std::tie(k.count, k.popularity, k.exponent, k.hot_share) !=
          std::tie(keys.count, keys.popularity, keys.exponent, keys.hot_share)) {
        continue;
      }
      m.share += rate;
      return;
    }
    mixes_[service].push_back({keys, rate});
  }

 private:
  std::vector<std::vector<KeyMix>> mixes_;
};

/// By call: the share of the attempts that would make it which need not, as a cache has the answer.
/// In the long run, and at the rates of first attempts (of closed loops one a second for each
/// client, as their rates are not known yet).
std::vector<double> hits_of_caches(const Scenario& scenario, const CallGraph& calls,
                                   const CallChances& chances) {
  std::vector<double> hits(scenario.calls.size());
  const bool some =
      std::ranges::any_of(scenario.calls, [](const CallSpec& c) { return c.cache.in_use(); });
  if (!some) return hits;
  std::vector<double> rates(scenario.services.size());
  KeyMixes mixes(scenario.services.size());
  for (const ClientSpec& c : scenario.clients) {
    if (c.makes_calls()) continue;
    double rate = mean_request_rate(scenario, c);
    if (rate <= 0) rate = static_cast<double>(c.count) * c.arrivals.concurrency;
    for (const auto& [s, share] : service_shares(c)) {
      rates[s] += share * rate;
      mixes.add(s, c.keys, share * rate);
    }
  }
  for (const std::size_t s : callers_first(scenario)) {
    for (const std::size_t i : calls.calls_of(s)) {
      const CallSpec& call = scenario.calls[i];
      const double made = rates[s] * chances.made(i);
      hits[i] = call.cache.hit;
      if (call.cache.keeps_answers() && made > 0) {
        hits[i] = hit_share(call.cache, mixes.at(s), made / scenario.services[s].instances.count);
      }
      const double rate = made * CallChances::copies(call) * (1 - hits[i]);
      const ClientSpec& client = scenario.clients[call.client];
      rates[client.service] += rate;
      if (!call.callers_key) {
        mixes.add(client.service, client.keys, rate);
        continue;
      }
      const std::vector<KeyMix> own = mixes.at(s);
      for (const KeyMix& m : own) mixes.add(client.service, m.keys, rate * m.share / rates[s]);
    }
  }
  return hits;
}

/// Probability that at most `most` of `n` happen, each with probability `p` <= 0.5.
double at_most(std::uint32_t most, std::uint32_t n, double p) {
  double one = std::pow(1 - p, n), sum = one;
  for (std::uint32_t k = 0; k < most; ++k) {
    one *= p / (1 - p) * (n - k) / (k + 1);
    sum += one;
  }
  return std::min(1.0, sum);
}

/// Probability that at least `need` of `copies` succeed, each with probability `p`.
double at_least(std::uint32_t need, std::uint32_t copies, double p) {
  if (need > copies) return 0;
  if (need == 0) return 1;
  return p > 0.5 ? at_most(copies - need, copies, 1 - p) : 1 - at_most(need - 1, copies, p);
}

class DemandFinder {
 public:
  DemandFinder(const Scenario& scenario, Attempts attempts, const DemandOptions& options)
      : scenario_(scenario),
        attempts_(attempts),
        options_(options),
        calls_(scenario),
        chances_(scenario, calls_),
        hits_(hits_of_caches(scenario, calls_, chances_)) {
    for (std::size_t i = 0; i < hits_.size(); ++i) {
      // At worst the caches are cold.
      if (attempts == Attempts::kMost && scenario.calls[i].cache.keeps_answers()) hits_[i] = 0;
    }
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
  /// What calls come to: those of one service, or one of them.
  struct Below {
    double success = 1;           // all calls succeed that have to
    double time = 0;              // that a served attempt waits for them, s
    double success_of_retry = 1;  // the first of an attempt whose calls are made for a retry
  };

  /// Services below have been looked at; they do not call each other in a circle.
  void look_below(std::size_t s) {
    for (const std::size_t call : calls_.calls_of(s)) find_attempts(scenario_.calls[call].client);
    Below found;
    for (const std::vector<std::size_t>& calls : calls_.stages_of(s)) {
      const Below stage = look_at_stage(calls);
      found.time += found.success * stage.time;
      found.success *= stage.success;
      if (marks_retries_) found.success_of_retry *= look_at_stage(calls, true).success;
    }
    below_[s] = found;
  }

  /// The calls of a stage are made together, and the slowest of those that are made counts, by its
  /// mean time. `of_retry`: of calls that are made for a retry.
  Below look_at_stage(const std::vector<std::size_t>& calls, bool of_retry = false) const {
    struct Part {  // a call, or the alternatives together
      double made = 0, success = 0, time = 0;
    };
    std::vector<Part> parts;
    std::map<std::string_view, std::size_t> alternatives;
    for (const std::size_t call : calls) {
      const double made = made_without_cache(call);
      const Below below = look_at_call(call, of_retry);
      const std::string& one_of = scenario_.calls[call].one_of;
      const auto [at, is_new] = alternatives.try_emplace(one_of, parts.size());
      const bool alone = one_of.empty();
      if (alone || is_new) parts.emplace_back();
      Part& part = alone ? parts.back() : parts[at->second];
      part.made += made;
      part.success += made * below.success;
      part.time += made * below.time;
    }
    Below stage;
    for (Part& p : parts) {
      stage.success *= std::clamp(1 - p.made + p.success, 0.0, 1.0);
      if (p.made > 0) p.time /= p.made;
    }
    std::ranges::stable_sort(parts, [](const Part& a, const Part& b) { return a.time > b.time; });
    double slower_not_made = 1;
    for (const Part& p : parts) {
      stage.time += product(slower_not_made * p.made, p.time);
      slower_not_made *= std::max(0.0, 1 - p.made);
    }
    return stage;
  }

  /// A call that is made, with what follows its failure.
  Below look_at_call(std::size_t call, bool of_retry) const {
    const CallSpec& spec = scenario_.calls[call];
    const double success = success_of(call, of_retry);
    Below found{success, time_of(call), success};
    if (spec.on_failure == CallFailure::kIgnore) found.success = 1;
    if (const auto other = calls_.fallback_of(call)) {
      const double instead = (1 - success) * made_without_cache(*other);
      const Below below = look_at_call(*other, of_retry);
      found.success += instead * below.success;
      found.success += (1 - success) * (chances_.made(*other) - made_without_cache(*other));
      found.time += product(instead, below.time);
    }
    return found;
  }

  /// Probability that the call is made, and not saved by a cache.
  double made_without_cache(std::size_t call) const {
    return hits_[call] > 0 ? chances_.made(call) * (1 - hits_[call]) : chances_.made(call);
  }

  static std::uint32_t copies_of(const CallSpec& call) {
    return static_cast<std::uint32_t>(std::max(1.0, std::round(CallChances::copies(call))));
  }
  static std::uint32_t needed_of(const CallSpec& call) {
    return std::min(call.need, copies_of(call));
  }

  /// That enough of its copies succeed.
  double success_of(std::size_t call, bool of_retry = false) const {
    const CallSpec& spec = scenario_.calls[call];
    const double one = (of_retry ? of_retries_ : demand_.groups)[spec.client].success;
    return copies_of(spec) == 1 ? one : at_least(needed_of(spec), copies_of(spec), one);
  }

  /// Until enough of its copies have ended: exact for the fastest k of n exponential times; where
  /// the service time of the callee is constant all end together.
  double time_of(std::size_t call) const {
    const CallSpec& spec = scenario_.calls[call];
    const ClientSpec& c = scenario_.clients[spec.client];
    double time = 0;
    bool constant = true;
    for (const auto& [to, share] : called_[spec.client]) {
      time += share * time_at(c, to);
      constant &= scenario_.services[to].service_time.is_constant();
    }
    if (attempts_ == Attempts::kNeeded) {
      time *= std::min(demand_.groups[spec.client].attempts, 1e6);
    }
    if (constant) return time;
    double factor = 0;
    const std::uint32_t copies = copies_of(spec);
    for (std::uint32_t i = 0; i < needed_of(spec); ++i) factor += 1.0 / (copies - i);
    return time * factor;
  }

  /// `rate`: attempts per second that make the call if their request does, or fall back on it.
  void ask_for_call(std::size_t call, double rate) {
    const CallSpec& spec = scenario_.calls[call];
    rate = product(made_without_cache(call), rate);
    demand_.groups[spec.client].requests += product(CallChances::copies(spec), rate);
    const auto other = calls_.fallback_of(call);
    if (!other) return;
    const double failed = attempts_ == Attempts::kMost ? 1 : 1 - success_of(call);
    if (failed > 0) ask_for_call(*other, product(failed, rate));
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
    for (const std::vector<std::size_t>& stage : calls_.stages_of(s)) {
      for (const std::size_t call : stage) ask_for_call(call, calls);
      calls = product(look_at_stage(stage).success, calls);
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
  CallChances chances_;
  std::vector<double> hits_;                       // of caches, by call
  std::vector<std::vector<ServiceShare>> called_;  // services that a group calls
  std::vector<std::vector<Caller>> callers_;       // groups that call a service
  std::vector<Below> below_;
  bool marks_retries_ = false;           // some calls are retried only if not made for a retry
  std::vector<GroupDemand> of_retries_;  // calls that are: their attempts and successes
  std::vector<double> made_for_first_;   // share of a group's requests that are not
};

/// The mean factor on the service time that the calls of a group take over from their callers.
double work_of_callers(const Scenario& scenario, const ClientSpec& client) {
  const auto group = static_cast<std::size_t>(&client - scenario.clients.data());
  // The loader puts calls in the order of their groups.
  auto call = std::ranges::lower_bound(scenario.calls, group, {}, &CallSpec::client);
  if (call == scenario.calls.end() || call->client != group) {
    call = std::ranges::find(scenario.calls, group, &CallSpec::client);
  }
  if (call == scenario.calls.end() || !call->callers_operation) return 1;
  return CallChances(scenario, CallGraph(scenario)).work(*call);
}

}  // namespace

std::vector<double> calls_per_attempt(const Scenario& scenario) {
  const CallGraph calls(scenario);
  const CallChances chances(scenario, calls);
  const std::vector<double> hits = hits_of_caches(scenario, calls, chances);
  std::vector<double> all(scenario.clients.size());
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    for (const std::vector<std::size_t>& stage : calls.stages_of(s)) {
      for (const std::size_t i : stage) {
        const CallSpec& call = scenario.calls[i];
        all[call.client] += chances.made(i) * CallChances::copies(call) * (1 - hits[i]);
      }
    }
  }
  return all;
}

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
  return rate * mean_factor(a, 0, duration, surges);
}

double mean_request_rate(const Scenario& scenario, const ClientSpec& client, bool surges) {
  const double jobs = mean_job_rate(scenario, client, surges);
  return client.arrivals.process == ArrivalProcess::kPoll ? jobs * checks_of(client.arrivals)
                                                          : jobs;
}

double due_in_window(const Scenario& scenario, const ClientSpec& client) {
  const ArrivalSpec& a = client.arrivals;
  const Time from = Time::zero() + scenario.warmup, to = Time::zero() + scenario.duration;
  if (client.makes_calls() || a.process == ArrivalProcess::kClosed) return 0;
  if (a.process == ArrivalProcess::kOnce) {
    const double first_s = std::max(a.start, from).in_seconds();
    const double last_s = std::min(a.start + a.spread, to).in_seconds();
    if (a.spread > Duration::zero()) {
      return client.count * std::max(0.0, last_s - first_s) / a.spread.in_seconds();
    }
    return a.start >= from && a.start < to ? client.count : 0;
  }
  if (a.process == ArrivalProcess::kTrace && !a.profile) {
    return static_cast<double>(
        std::ranges::count_if(a.rows, [&](Time row) { return row >= from && row < to; }));
  }
  const double rate = a.process == ArrivalProcess::kTrace ? 1 : a.rate * client.count;
  const double window_s = (to - from).in_seconds();
  return rate * mean_factor(a, from.in_seconds(), to.in_seconds(), true) * window_s;
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
  double work = share > 0 ? mean_work(client, service) / share : 1;
  if (client.makes_calls()) work *= work_of_callers(scenario, client);
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
      stages_(scenario.services.size()),
      callers_(scenario.clients.size()),
      fallbacks_(scenario.calls.size()) {
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
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    find_fallbacks(scenario, s);
    find_stages(scenario, s);
  }
}

void CallGraph::find_fallbacks(const Scenario& scenario, std::size_t service) {
  const auto name_of = [&](std::size_t call) -> const std::string& {
    return scenario.clients[scenario.calls[call].client].name;
  };
  std::map<std::string_view, std::size_t> by_name;
  for (const std::size_t i : calls_[service]) by_name.try_emplace(name_of(i), i);
  for (const std::size_t i : calls_[service]) {
    const CallSpec& call = scenario.calls[i];
    const bool none = call.need == 0 || call.count > CallSpec::kMostCopies ||
                      (!call.random_count && call.need != CallSpec::kAll && call.need > call.count);
    const bool wrong_share =
        call.one_of.empty() ? !(call.share >= 0 && call.share <= 1) : !(call.share > 0);
    if (none || wrong_share) {
      throw std::invalid_argument("the count, need or share of call " + name_of(i) +
                                  " is out of range");
    }
    if (call.on_failure != CallFailure::kFallback) continue;
    const auto other = by_name.find(call.fallback);
    if (other == by_name.end() || !scenario.calls[other->second].one_of.empty()) {
      throw std::invalid_argument("call " + name_of(i) +
                                  " falls back on a call that is not there, or is an alternative");
    }
    fallbacks_[i] = other->second;
  }
  std::set<std::size_t> ends;  // a chain from there comes to its end
  for (const std::size_t i : calls_[service]) {
    std::size_t steps = 0;
    std::vector<std::size_t> chain{i};
    for (auto at = fallbacks_[i]; at && !ends.contains(*at); at = fallbacks_[*at]) {
      chain.push_back(*at);
      if (++steps <= calls_[service].size()) continue;
      throw std::invalid_argument("calls of " + name_of(i) +
                                  " fall back on each other in a circle");
    }
    ends.insert(chain.begin(), chain.end());
  }
}

void CallGraph::find_stages(const Scenario& scenario, std::size_t service) {
  std::set<std::size_t> fallbacks;
  for (const std::size_t i : calls_[service]) {
    if (fallbacks_[i]) fallbacks.insert(*fallbacks_[i]);
  }
  std::map<std::uint32_t, std::vector<std::size_t>> stages;
  std::map<std::string_view, std::uint32_t> of_alternatives;
  std::uint32_t place = 0;
  for (const std::size_t i : calls_[service]) {
    ++place;
    const CallSpec& call = scenario.calls[i];
    if (fallbacks.count(i) > 0) continue;
    const auto known = of_alternatives.find(call.one_of);
    std::uint32_t stage = call.stage;
    if (stage == 0) {
      stage = scenario.services[service].parallel_calls ? 1
              : known != of_alternatives.end()          ? known->second
                                                        : place;
    }
    if (!call.one_of.empty() &&
        of_alternatives.try_emplace(call.one_of, stage).first->second != stage) {
      throw std::invalid_argument("alternatives among the calls of service " +
                                  scenario.services[service].name + " are in different stages");
    }
    stages[stage].push_back(i);
  }
  for (auto& [number, calls] : stages) {
    std::ranges::stable_sort(calls, {}, [&](std::size_t i) -> const std::string& {
      return scenario.clients[scenario.calls[i].client].name;
    });
    stages_[service].push_back(std::move(calls));
  }
}

std::vector<std::uint32_t> keys_at(const Scenario& scenario) {
  std::vector<std::uint32_t> keys(scenario.services.size(), 1);
  const auto add = [&](std::size_t service, std::uint32_t count) {
    keys[service] = std::max(keys[service], count);
  };
  for (const ClientSpec& c : scenario.clients) {
    for (const std::size_t s : called_services(c)) add(s, c.keys.count);
  }
  std::vector<std::vector<std::size_t>> passing(scenario.services.size());
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    if (scenario.calls[i].callers_key) passing[scenario.calls[i].caller].push_back(i);
  }
  for (const std::size_t s : callers_first(scenario)) {
    for (const std::size_t i : passing[s]) {
      add(scenario.clients[scenario.calls[i].client].service, keys[s]);
    }
  }
  return keys;
}

std::vector<std::set<std::string_view>> operations_at(const Scenario& scenario) {
  std::vector<std::set<std::string_view>> all(scenario.services.size());
  for (const ClientSpec& c : scenario.clients) {
    const std::vector<std::size_t> called = called_services(c);
    for (const OperationSpec& o : c.operations) {
      for (const std::size_t s : called) {
        if (!o.service || *o.service == s) all[s].insert(o.name);
      }
    }
  }
  std::vector<std::vector<std::size_t>> passing(scenario.services.size());
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    if (scenario.calls[i].callers_operation) passing[scenario.calls[i].caller].push_back(i);
  }
  for (const std::size_t s : callers_first(scenario)) {
    for (const std::size_t i : passing[s]) {
      const CallSpec& call = scenario.calls[i];
      std::set<std::string_view>& there = all[scenario.clients[call.client].service];
      for (const std::string_view name : all[s]) {
        const bool made = call.operations.empty() ||
                          std::ranges::find(call.operations, name) != call.operations.end();
        if (made) there.insert(name);
      }
    }
  }
  return all;
}

bool is_plain(const CallSpec& call) {
  return call.share >= 1 && call.one_of.empty() && call.operations.empty() && call.count == 1 &&
         !call.random_count && call.on_failure == CallFailure::kFail && !call.cache.in_use();
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
          service.queue.discipline == Discipline::kCodel ||
          service.queue.max_age != Duration::max());
}

}  // namespace

// A depth-first search with a stack of its own: chains of calls may be long.
Duration longest_backoff(const RetryRules& rules) {
  if (rules.max_attempts < 2 || rules.mode == RetryMode::kNone) return Duration::zero();
  const BackoffRules& backoff = rules.backoff;
  if (!backoff.delays.empty()) {
    double longest = 0;
    for (const Distribution& d : backoff.delays) longest = std::max(longest, d.mean_seconds());
    return Duration::from_seconds(longest);
  }
  const Duration base = std::max(backoff.base, backoff.throttle_base);
  const bool decorrelated =
      backoff.jitter == Jitter::kDecorrelated || backoff.throttle_jitter == Jitter::kDecorrelated;
  // Decorrelated jitter draws up to three times the last delay.
  const double factor = decorrelated ? 3 : std::max(backoff.factor, 1.0);
  const std::uint64_t steps = static_cast<std::uint64_t>(std::max(backoff.first_exponent, 0)) +
                              (rules.max_attempts - 2) + (decorrelated ? 1 : 0);
  double longest = static_cast<double>(base.count());
  const double cap = static_cast<double>(backoff.cap.count());
  for (std::uint64_t i = 0; i < steps && factor > 1 && longest > 0 && longest < cap; ++i) {
    longest *= factor;
  }
  longest = std::min(longest, cap);
  const bool proportional =
      backoff.jitter == Jitter::kProportional || backoff.throttle_jitter == Jitter::kProportional;
  if (proportional && !backoff.jitter_before_cap) longest *= 1 + backoff.jitter_share;
  return Duration::from_nanoseconds(longest);
}

Duration longest_pause(const Scenario& scenario) {
  constexpr std::uint32_t kAttempts = 10;
  constexpr Duration kMostUncapped = Duration::seconds(300);
  Duration longest;
  for (const ClientSpec& client : scenario.clients) {
    RetryRules rules = client.retry;
    const bool capped = rules.backoff.cap != Duration::max() || !rules.backoff.delays.empty();
    if (!capped) rules.max_attempts = std::min(rules.max_attempts, kAttempts);
    Duration pause = longest_backoff(rules);
    if (!capped) pause = std::min(pause, kMostUncapped);
    if (client.timeouts.has_attempt) {
      pause += Duration::from_seconds(client.timeouts.attempt.mean_seconds());
    }
    longest = std::max(longest, pause);
  }
  return longest;
}

Duration default_hold(const Scenario& scenario) {
  return std::max(RecoverySpec().hold, longest_pause(scenario));
}

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

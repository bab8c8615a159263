// The demand of a scenario: services are visited callees first to find how attempts fare, then
// callers first to find how many there are.
//
// SPDX-License-Identifier: MIT
#include "flow/demand.hpp"

#include "flow/attempt.hpp"
#include "flow/caches.hpp"
#include "flow/calls.hpp"
#include "flow/capacity.hpp"
#include "flow/rates.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace retrysim::flow {

namespace {

/// `share` times `rate`; 0 for a share of 0, even of an infinite rate.
double product(double share, double rate) { return share <= 0 ? 0 : share * rate; }

// --- Which calls are made

/// One operation among the requests at a service.
struct OperationShare {
  double share = 0, work = 0;  // work: the sum of their factors, times their shares
};
/// Operations by name; requests without one have the empty name.
using OperationMix = std::map<std::string_view, OperationShare>;

bool permits(const CallSpec& call, std::string_view operation) {
  return call.operations.empty() ||
         std::ranges::find(call.operations, operation) != call.operations.end();
}

/// The probabilities that requests at each service have an operation, and so make a call. The
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
  /// The number of requests that a call sends when it is made.
  static double copies(const CallSpec& call) {
    if (!call.random_count) return call.count;
    return std::min<double>(call.random_count->mean_seconds(), CallSpec::kMaxCopies);
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
    // Sums of the weights of the calls that an operation permits, computed once for each operation.
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
  std::vector<double> made_;  // probability by call
  std::vector<OperationMix> mixes_;
  std::vector<double> weights_;  // weights of the operation mixes
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

/// For each call, the share of the attempts that need not make it because a cache has the answer.
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
      // In the worst case the caches are cold.
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
    double share;  // share of the group's requests
  };
  /// The outcome of the calls of a service, or of one call.
  struct Below {
    double success = 1;  // probability that all calls succeed that must
    double time = 0;     // time that a served attempt waits for them, s
    // `success` of the first attempts of calls that are made for a retry.
    double success_of_retry = 1;
  };

  /// Finds what an attempt at the service meets, after the services below; calls form no circle.
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

  /// The outcome of a call that is made, including its fallback.
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

  /// Probability that enough copies of the call succeed.
  double success_of(std::size_t call, bool of_retry = false) const {
    const CallSpec& spec = scenario_.calls[call];
    const double one = (of_retry ? of_retries_ : demand_.groups)[spec.client].success;
    return copies_of(spec) == 1 ? one : at_least(needed_of(spec), copies_of(spec), one);
  }

  /// Time until enough copies of the call have ended: exact for the fastest k of n exponential
  /// times; with a constant service time of the callee all end together.
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

  /// Adds the requests of a call; `rate`: attempts per second whose request may make the call or
  /// fall back on it.
  void ask_for_call(std::size_t call, double rate) {
    const CallSpec& spec = scenario_.calls[call];
    rate = product(made_without_cache(call), rate);
    demand_.groups[spec.client].requests += product(CallChances::copies(spec), rate);
    const auto other = calls_.fallback_of(call);
    if (!other) return;
    const double failed = attempts_ == Attempts::kMost ? 1 : 1 - success_of(call);
    if (failed > 0) ask_for_call(*other, product(failed, rate));
  }

  /// The time of an attempt: round trip, service and calls, s.
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

  /// Finds the attempts per request of a group; the services that it calls must have been done
  /// before.
  void find_attempts(std::size_t g) {
    const ClientSpec& c = scenario_.clients[g];
    GroupDemand& group = demand_.groups[g];
    GroupDemand& of_retries = of_retries_[g];
    // One attempt only, if made for a retry.
    const bool once = c.retry_only_at == RetryOnlyAt::kFirstAttempt;
    const double most = most_attempts(c);
    if (attempts_ == Attempts::kMost) {
      group.attempts = most;
      of_retries.attempts = once ? 1 : most;
    }
    if (attempts_ != Attempts::kNeeded) return;
    const AttemptFate first = fate_of_attempt(g, false);
    if (!marks_retries_) {
      take(attempts_needed(c, most, first), group);
      return;
    }
    const AttemptFate later = fate_of_attempt(g, true);
    take(attempts_needed(c, most, first, &later), group);
    take(attempts_needed(c, once ? 1 : most, later), of_retries);
  }
  static void take(const AttemptsNeeded& needed, GroupDemand& group) {
    group.attempts = needed.attempts;
    group.success = needed.success;
  }

  /// How an attempt ends; `is_retry`: its calls are made for a retry.
  AttemptFate fate_of_attempt(std::size_t g, bool is_retry) const {
    const ClientSpec& c = scenario_.clients[g];
    AttemptFate fate;
    for (const auto& [s, share] : called_[g]) {
      stop_point();
      const AttemptFate there = fate_at(c, s, is_retry);
      fate.success += share * there.success;
      fate.again += share * there.again;
      fate.price += share * there.price;
    }
    if (c.strategy) fate.again = 0;  // unknown
    return fate;
  }

  double own_requests(std::size_t g) const {
    const ClientSpec& c = scenario_.clients[g];
    const ArrivalSpec& a = c.arrivals;
    if (a.process != ArrivalProcess::kClosed)
      return mean_request_rate(scenario_, c, options_.surges);
    constexpr double kShortestCycle = 1e-9;  // s; keeps rates of loops without any pause finite
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

  /// Finds the demand on a service, after that on all its callers.
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
      // Of infinitely many requests only the mix is known.
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
    if (!spec.errors_at.on_arrival()) {  // attempts that fail later make no calls
      calls *= std::max(0.0, 1 - error_share(spec)) / std::max(not_free, 1e-300);
    }
    if (marks_retries_) mark_calls(s, d.attempts, first);
    for (const std::vector<std::size_t>& stage : calls_.stages_of(s)) {
      for (const std::size_t call : stage) ask_for_call(call, calls);
      calls = product(look_at_stage(stage).success, calls);
    }
  }

  /// Notes for the calls of a service that `first` of its `attempts` are first attempts, whose
  /// calls are not made for a retry.
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
  std::vector<double> hits_;                       // hits of caches, by call
  std::vector<std::vector<ServiceShare>> called_;  // services that a group calls
  std::vector<std::vector<Caller>> callers_;       // groups that call a service
  std::vector<Below> below_;
  bool marks_retries_ = false;  // some calls are retried only if not made for a retry
  // Attempts and successes of calls that are made for a retry.
  std::vector<GroupDemand> of_retries_;
  std::vector<double> made_for_first_;  // share of a group's requests that are not made for a retry
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

}  // namespace retrysim::flow

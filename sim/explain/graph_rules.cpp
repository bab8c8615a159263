// Which of the services that call each other is the cause, which only wait for it, and where
// attempts multiply.
//
// A cause is found in three steps. Where trouble is felt: along the edges on which attempts fail
// more often, or take longer, than before; what retries below make good is not felt above. What is
// wrong with a service itself: that its own work is more than its servers can do, even if the
// services below answered as idle ones do; errors of its own; a longer service time; a fault that
// keeps attempts away. And who only waits: services on the way there that have none of this, and
// whose servers would have room, or as much of it as before, if the services below were idle.
//
// SPDX-License-Identifier: MIT

#include "explain/rules.hpp"
#include "explain/sources.hpp"
#include "flow/calls.hpp"
#include "flow/demand.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::explain {
namespace {

using Found = std::optional<Finding>;

double part_of(double a, double b) { return b > 0 ? a / b : 0; }
double number_of(std::uint64_t count) { return static_cast<double>(count); }

// --- What is wrong with a service itself ---------------------------------------------------------

enum class Ill : std::uint8_t {
  kUnreachable,
  kSilent,
  kBlocked,
  kCapacity,
  kErrors,
  kThrottle,
  kSlow,
  kFar,
  kLoss,
  kTurnsAway,
  kPool,
  kSendRate,
  kTooLong,
};

/// Whether this kind of trouble makes attempts fail rather than wait.
bool fails_attempts(Ill ill) {
  return ill == Ill::kUnreachable || ill == Ill::kErrors || ill == Ill::kThrottle ||
         ill == Ill::kLoss || ill == Ill::kTurnsAway;
}

struct Reason {
  Ill ill;
  double size = 0;  ///< severity, in the unit of its kind: the greater, the worse
  const GraphStretch* when = nullptr;
  double first_load = 0;        ///< kCapacity: the load without retries
  std::uint32_t instances = 0;  ///< faults of some instances: how many
  /// Servers of its callers (kPool: of its own) are held by calls, so that these ask for no more.
  bool held_back = false;
  bool unsent = false;          ///< kCapacity: requests wait at their clients, and ask for more
  bool hedged = false;          ///< kCapacity: not only retries follow first attempts
  bool by_fault_below = false;  ///< kPool: there would be enough, if calls took as long as usual
  /// The most attempts that can fail for this reason; infinite: unknown, because they wait.
  double failed = std::numeric_limits<double>::infinity();
  /// The stretches in which it is seen, with its size in each; includes `when` and `size`.
  std::vector<std::pair<const GraphStretch*, double>> seen = {};
};

/// A service that is a cause.
struct Suspect {
  std::size_t service;
  std::vector<Reason> reasons;
};

constexpr double kPoint = 0.01;         ///< a percentage point
constexpr double kLongerShare = 0.5;    ///< longer by this share of the time before
constexpr double kLeavesNoRoom = 0.95;  ///< a load that leaves a service no room
constexpr double kLeavesHardlyAny = 0.9;
constexpr double kLeavesRoom = 0.7;  ///< a load at which attempts hardly wait
constexpr double kMoreLoad = 1.2;    ///< times the load before
constexpr double kMinAttempts = 5;   ///< attempts

/// Whether a share has grown by a point and by more than three standard errors.
bool has_grown(double now, double of_now, double before, double of_before) {
  constexpr double kDeviations = 3;
  if (of_now < kMinAttempts) return false;
  const double share = now / of_now, earlier = part_of(before, of_before);
  if (share - earlier < kPoint) return false;
  const double p = (now + before + 1) / (of_now + of_before + 2);
  const double each = 1 / of_now + (of_before > 0 ? 1 / of_before : 0);
  return share - earlier > kDeviations * std::sqrt(p * (1 - p) * each);
}

class CauseFinder {
 public:
  /// `compares`: the time before the disturbance was a good one. `degraded`: a call whose failures
  /// do not fail the attempts that it is made for, but are looked into; may be null.
  CauseFinder(const GroupCase& c, bool compares, const CallSpec* degraded)
      : c_(c), g_(*c.graph), before_(compares ? g_.before() : nullptr), degraded_(degraded) {
    for (const GraphStretch& s : g_.stretches) {
      if (s.seconds <= 0 || (compares && !is_in_trouble(s))) continue;
      trouble_.push_back(&s);
    }
    order_ = flow::callers_first(c.scenario);
  }

  void find() {
    felt_.assign(g_.scenario.services.size(), false);
    std::vector<std::vector<Reason>> reasons(felt_.size());
    std::vector<std::vector<bool>> felt_in;
    for (const GraphStretch* s : trouble_) {
      felt_in.push_back(felt_services(*s));
      for (std::size_t i = 0; i < felt_.size(); ++i) {
        if (!felt_in.back()[i]) continue;
        stop_point();
        felt_[i] = true;
        for (const Reason& r : reasons_of(i, *s)) keep_worst(reasons[i], r);
      }
    }
    // The deepest services come first.
    for (auto s = order_.rbegin(); s != order_.rend(); ++s) {
      if (reasons[*s].empty()) continue;
      // A slow service below makes the services that call it slow.
      const bool by_calls = reasons[*s].size() == 1 && reasons[*s].front().ill == Ill::kTooLong &&
                            !g_.calls.groups_of(*s).empty();
      if (!by_calls || suspects_.empty()) suspects_.push_back({*s, std::move(reasons[*s])});
    }
    for (std::size_t t = 0; t < trouble_.size(); ++t) find_waiting(felt_in[t], *trouble_[t]);
    for (auto s = order_.rbegin(); s != order_.rend(); ++s) {
      if (waits(*s)) waiting_.push_back(*s);
    }
  }

  const std::vector<Suspect>& suspects() const { return suspects_; }
  /// Requests of the group that fail in the time of trouble.
  double failed_requests() const {
    double failed = 0;
    for (const GraphStretch* s : trouble_) failed += number_of(s->groups[c_.index].failures);
    return failed;
  }
  /// Services that only wait for the suspects, the nearest to them first.
  const std::vector<std::size_t>& waiting() const { return waiting_; }
  /// The greatest share of the server time of a service that calls hold in a stretch.
  double held_share(std::size_t service) const {
    double most = 0;
    for (const GraphStretch* s : trouble_) {
      most = std::max(most, part_of(g_.held_s(*s, service), available_s(*s, service)));
    }
    return std::min(1.0, most);
  }
  bool is_limited(std::size_t service) const {
    return g_.scenario.services[service].servers != ServiceSpec::kUnlimited;
  }
  /// Whether most of the time for which calls hold the servers of a service is waiting until they
  /// are tried again.
  bool waits_to_retry(std::size_t service) const {
    double held_s = 0, backoff_s = 0;
    for (const GraphStretch* s : trouble_) {
      held_s += g_.held_s(*s, service);
      for (const std::size_t g : g_.calls.groups_of(service)) {
        backoff_s += s->groups[g].in_backoff_ns / 1e9;
      }
    }
    return held_s > 0 && backoff_s > held_s / 2;
  }
  /// Whether calls of a service that fail, to a suspect or on the way there, fail the attempts that
  /// they are made for.
  bool passes_failures(std::size_t service) const {
    return std::ranges::any_of(g_.calls.calls_of(service), [&](std::size_t i) {
      const CallSpec& call = g_.scenario.calls[i];
      return call.on_failure == CallFailure::kFail &&
             std::ranges::any_of(called(call.client),
                                 [&](std::size_t t) { return is_suspect(t) || leads_[t]; });
    });
  }

 private:
  /// Whether a stretch has enough trouble to look for its cause. The rest of a disturbance takes
  /// some time, too, and has no cause of its own.
  bool is_in_trouble(const GraphStretch& s) const {
    constexpr double kMuch = 0.5;
    if (s.kind == PhaseKind::kDuring || s.kind == PhaseKind::kBetween) {
      // Disturbances elsewhere do not count.
      return s.end_s > c_.disturbances.first_start_s && s.start_s < c_.disturbances.last_end_s;
    }
    double during_s = 0;
    for (const GraphStretch& d : g_.stretches) {
      if (d.kind == PhaseKind::kDuring) during_s += d.seconds;
    }
    return s.kind == PhaseKind::kRecovering && s.seconds >= kMuch * during_s;
  }

  static void keep_worst(std::vector<Reason>& reasons, const Reason& r) {
    const auto known = std::ranges::find(reasons, r.ill, &Reason::ill);
    if (known == reasons.end()) {
      reasons.push_back(r);
      reasons.back().seen = {{r.when, r.size}};
      return;
    }
    std::vector<std::pair<const GraphStretch*, double>> seen = std::move(known->seen);
    seen.emplace_back(r.when, r.size);
    if (known->size < r.size && known->when->kind != PhaseKind::kBefore) {
      *known = r;  // what is wrong already before the disturbance is not due to it
    }
    known->seen = std::move(seen);
  }

  double available_s(const GraphStretch& s, std::size_t service) const {
    return is_limited(service) ? s.services[service].available_s() : 0;
  }
  double load(const GraphStretch& s, std::size_t service) const {
    return is_limited(service) ? s.services[service].load() : 0;
  }
  /// The services that a group sends its attempts to.
  std::vector<std::size_t> called(std::size_t group) const {
    return called_services(g_.scenario.clients[group]);
  }

  /// The time of an attempt at an idle service, with its calls, s.
  double idle_time(std::size_t service) const {
    const flow::ServiceDemand& d = g_.demand.services[service];
    return 2 * g_.scenario.network.latency.mean_seconds() + d.own_time + d.calls_time;
  }
  /// How much longer the faults `on` make that time, s.
  double longer_by_faults(std::size_t service, const std::vector<const FaultSpec*>& on) const {
    double messages_s = 0, speed = 1;
    for (const FaultSpec* f : on) {
      if (f->instance != FaultSpec::kAllInstances) continue;
      messages_s += 2 * f->latency.in_seconds();
      speed *= f->speed;
    }
    const double own_s = g_.demand.services[service].own_time;
    return messages_s + (speed > 0 ? own_s / speed - own_s : 0);
  }

  /// Whether the attempts of a group fare worse than before; if the time before is not known, worse
  /// than at idle services.
  bool feels(std::size_t group, const GraphStretch& s) const { return feels(group, s, before_); }
  bool feels(std::size_t group, const GraphStretch& s, const GraphStretch* before) const {
    constexpr double kDeviations = 3;
    const ClientFlow& now = s.groups[group];
    const auto failed = [](const ClientFlow& f) {
      return number_of(f.errors + f.throttled + f.timeouts);
    };
    const auto ended = [&](const ClientFlow& f) { return failed(f) + number_of(f.successes); };
    const auto time_s = [](const ClientFlow& f) {
      return part_of(f.in_flight_ns / 1e9, number_of(f.attempts));
    };
    if (number_of(now.attempts) < kMinAttempts) return now.attempts > 0 && ended(now) == 0;
    const ClientFlow none;
    const ClientFlow& then = before ? before->groups[group] : none;
    if (has_grown(failed(now), ended(now), failed(then), ended(then))) return true;
    // A deadline ends requests without any attempt that fails.
    const auto requests = [](const ClientFlow& f) { return number_of(f.failures + f.successes); };
    if (g_.scenario.clients[group].timeouts.deadline != Duration::max() &&
        has_grown(number_of(now.failures), requests(now), number_of(then.failures),
                  requests(then))) {
      return true;
    }
    double noise = kDeviations / std::sqrt(number_of(now.attempts)), usual_s = 0;
    if (number_of(then.attempts) >= kMinAttempts) {
      usual_s = time_s(then);
      noise += kDeviations / std::sqrt(number_of(then.attempts));
    } else {
      for (const std::size_t t : called(group)) {
        usual_s += share_of_calls(g_.scenario.clients[group], t) * idle_time(t);
      }
    }
    return time_s(now) > (1 + kLongerShare + noise) * usual_s;
  }

  /// Whether the trouble of a service comes from a group of its calls: the group fares worse than
  /// before; or the calls hold nearly all servers, so that no more can be made, and take longer
  /// than at idle services.
  bool comes_from(std::size_t service, std::size_t group, const GraphStretch& s) const {
    return feels(group, s) || (is_held(service, s) && feels(group, s, nullptr));
  }

  /// Whether attempts of the client group make the calls of group `calls`, or wait for the servers
  /// that these hold. A service may make some calls only for operations of other groups.
  bool is_on_the_way(std::size_t service, std::size_t calls, const GraphStretch& s) const {
    return share_of_calls(c_.client, service) <= 0 || leads_to(c_, service, calls) ||
           is_held(service, s);
  }

  /// The services that the trouble of the group leads to, along edges on which it is felt.
  std::vector<bool> felt_services(const GraphStretch& s) const {
    std::vector<bool> felt(g_.scenario.services.size(), false);
    const auto mark = [&](std::size_t group) {
      for (const std::size_t t : called(group)) felt[t] = true;
    };
    if (feels(c_.index, s)) mark(c_.index);
    if (degraded_ && feels(degraded_->client, s)) mark(degraded_->client);
    for (const std::size_t service : order_) {
      if (!felt[service]) continue;
      stop_point();
      for (const std::size_t g : g_.calls.groups_of(service)) {
        if (is_on_the_way(service, g, s) && comes_from(service, g, s)) mark(g);
      }
    }
    return felt;
  }

  // --- Its reasons

  std::vector<const FaultSpec*> faults_on(std::size_t service, const GraphStretch& s) const {
    std::vector<const FaultSpec*> on;
    if (s.kind != PhaseKind::kDuring) return on;
    for (const FaultSpec& f : g_.scenario.faults) {
      const double start_s = f.start.in_seconds();
      if (f.service != service || start_s >= s.end_s) continue;
      if (start_s + f.duration.in_seconds() > s.start_s) on.push_back(&f);
    }
    return on;
  }

  /// Error answers of the service that no failed call explains.
  double own_errors(const GraphStretch& s, std::size_t service) const {
    double of_calls = 0;
    std::size_t counted = g_.scenario.clients.size();  // no group
    for (const std::size_t i : g_.calls.calls_of(service)) {
      const CallSpec& call = g_.scenario.calls[i];
      if (call.on_failure != CallFailure::kFail || call.client == counted) continue;
      counted = call.client;
      of_calls += number_of(s.groups[counted].failures);
    }
    double answered = number_of(s.services[service].flow.errors);
    if (g_.scenario.services[service].model == ServiceModelKind::kIndependent) {
      answered = 0;  // such a service decides about an error when it answers
      for (std::size_t g = 0; g < s.groups.size(); ++g) {
        const double share = share_of_calls(g_.scenario.clients[g], service);
        answered += share * number_of(s.groups[g].errors + s.groups[g].throttled);
      }
    }
    return std::max(0.0, answered - of_calls);
  }

  /// Mean time that an attempt waits for a server at the service, s.
  double wait_s(const GraphStretch& s, std::size_t service) const {
    const ServiceFlow& f = s.services[service].flow;
    const bool lines_up = has_queue(g_.scenario.services[service].queue.discipline);
    return part_of((lines_up ? f.queue_ns : f.in_system_ns) / 1e9, number_of(f.arrivals));
  }

  /// Whether anything can make the service's own work take longer at one time than at another.
  bool may_work_longer(std::size_t service, const std::vector<const FaultSpec*>& on) const {
    const ServiceSpec& spec = g_.scenario.services[service];
    return spec.slowdown.enabled() || spec.model == ServiceModelKind::kOcc ||
           spec.queue.discipline == Discipline::kProcessorSharing ||
           std::ranges::any_of(on, [](const FaultSpec* f) { return f->speed < 1; });
  }

  /// The factor by which its work on an attempt takes longer. If only faults change it, the factor
  /// follows from the speed that they leave, because unfinished work is not in the measurements.
  double times_as_long(std::size_t service, const std::vector<const FaultSpec*>& on,
                       double measured) const {
    if (may_work_longer(service, {})) return measured;
    double speed = 1;
    for (const FaultSpec* f : on) {
      if (f->speed <= 0 || f->instance != FaultSpec::kAllInstances) return measured;
      speed *= f->speed;
    }
    return speed < 1 ? 1 / speed : measured;
  }

  /// Upper bound on the executions whose own work was done. Calls come after the own work, so
  /// executions that wait for a call when the stretch ends have done it, although they have not
  /// ended.
  double works_done(const GraphStretch& s, std::size_t service) const {
    const ServiceFlow& f = s.services[service].flow;
    double begun = 0;
    std::vector<double> calls_of(s.groups.size());  // plain calls per attempt, by group
    for (const std::size_t i : g_.calls.calls_of(service)) {
      const CallSpec& call = g_.scenario.calls[i];
      const bool falls_back = std::ranges::any_of(g_.scenario.calls, [&](const CallSpec& other) {
        return other.on_failure == CallFailure::kFallback &&
               other.fallback == g_.scenario.clients[call.client].name;
      });
      if (falls_back || !flow::is_plain(call)) continue;
      ++calls_of[call.client];
    }
    const double ended = number_of(f.completions);
    for (std::size_t g = 0; g < calls_of.size(); ++g) {
      if (calls_of[g] > 0) begun = std::max(begun, number_of(s.groups[g].requests) / calls_of[g]);
    }
    if (std::ranges::any_of(calls_of, [](double n) { return n > 0; })) {
      return std::max(ended, begun);
    }
    if (g_.calls.groups_of(service).empty()) return ended;
    // Unfinished executions count up to the number that the servers can hold.
    const ServiceSpec& spec = g_.scenario.services[service];
    const double held = is_limited(service)
                            ? static_cast<double>(spec.all_servers()) * static_cast<double>(c_.runs)
                            : number_of(f.admitted);
    return std::max(ended, std::min(number_of(f.admitted), ended + held));
  }

  /// Own server time of an execution, as far as it is known.
  double own_time_s(const GraphStretch& s, std::size_t service) const {
    const ServiceFlow& f = s.services[service].flow;
    double calls_ns = 0;
    for (const std::size_t g : g_.calls.groups_of(service)) {
      const ClientFlow& its = s.groups[g];
      calls_ns +=
          its.in_flight_ns + its.in_backoff_ns + its.limiter_waiting_ns + its.connection_waiting_ns;
    }
    if (number_of(f.completions) < kMinAttempts) return 0;
    return std::max(0.0, f.busy_ns - calls_ns) / 1e9 / works_done(s, service);
  }

  /// The share of first attempts in the load of a service: in its own work; if it has none, in the
  /// attempts that are sent there, each of which makes the same calls.
  double first_part(std::size_t service, const GraphStretch& s) const {
    const ServicePart& part = s.services[service];
    if (part.own_s() > 0) return part.first_s / part.own_s();
    double first = 0;
    for (std::size_t g = 0; g < s.groups.size(); ++g) {
      first += share_of_calls(g_.scenario.clients[g], service) *
               number_of(s.groups[g].attempts - s.groups[g].retries);
    }
    return part_of(first, sent_to(service, s));
  }

  bool turns_away(const GraphStretch& s, std::size_t service) const {
    const ServiceFlow& now = s.services[service].flow;
    const ServiceFlow none;
    const ServiceFlow& then = before_ ? before_->services[service].flow : none;
    return has_grown(number_of(now.rejected), number_of(now.arrivals), number_of(then.rejected),
                     number_of(then.arrivals));
  }

  /// Whether its own load is high and higher than before.
  bool has_less_room(const GraphStretch& s, std::size_t service) const {
    const double now = load(s, service);
    return now > kLeavesRoom && (!before_ || now > kMoreLoad * load(*before_, service));
  }

  /// The load of a connection pool: the time for which calls would keep connections busy at idle
  /// services, as a share of the available; 0: no limit. `usually`: without the faults on these
  /// services.
  double pool_load(std::size_t group, const GraphStretch& s, bool usually) const {
    const ClientSpec& spec = g_.scenario.clients[group];
    if (spec.max_connections == ClientSpec::kUnlimited || s.seconds <= 0) return 0;
    double idle_s = 0;
    for (const std::size_t t : called(group)) {
      const double longer_s = usually ? 0 : longer_by_faults(t, faults_on(t, s));
      idle_s += share_of_calls(spec, t) * (idle_time(t) + longer_s);
    }
    const double connections = double{1} * spec.max_connections * spec.count;
    return number_of(s.groups[group].requests) * idle_s / (connections * s.seconds);
  }
  static double pool_wait_s(std::size_t group, const GraphStretch& s) {
    const ClientFlow& f = s.groups[group];
    return part_of(f.connection_waiting_ns / 1e9, number_of(f.requests));
  }

  /// The calls to be made, as a multiple of what the callers' limit on the send rate lets pass; 0:
  /// no limit, or calls do not wait for it.
  static double send_rate_load(const ClientSpec& spec, double requests, double seconds) {
    const SendRateSpec& limit = spec.send_rate;
    if (!limit.in_use() || limit.on_empty != SendRateOnEmpty::kWait || seconds <= 0) return 0;
    return requests / (limit.rate * spec.count * seconds);
  }
  static double send_wait_s(std::size_t group, const GraphStretch& s) {
    const ClientFlow& f = s.groups[group];
    return part_of(f.limiter_waiting_ns / 1e9, number_of(f.requests));
  }

  /// Whether calls hold nearly all servers of a service, so that it makes no more of them.
  bool is_held(std::size_t service, const GraphStretch& s) const {
    constexpr double kNearlyAll = 0.9, kMost = 0.5;
    const double busy_s = s.services[service].flow.busy_ns / 1e9;
    return is_limited(service) && busy_s >= kNearlyAll * available_s(s, service) &&
           g_.held_s(s, service) >= kMost * busy_s;
  }
  /// Whether `is_held` is true of a service that calls this one.
  bool are_callers_held(std::size_t service, const GraphStretch& s) const {
    for (std::size_t g = 0; g < s.groups.size(); ++g) {
      const auto caller = g_.calls.caller_of(g);
      if (!caller || share_of_calls(g_.scenario.clients[g], service) <= 0) continue;
      if (is_held(*caller, s)) return true;
    }
    return false;
  }

  /// Attempts that were sent to the service.
  double sent_to(std::size_t service, const GraphStretch& s) const {
    double sent = 0;
    for (std::size_t g = 0; g < s.groups.size(); ++g) {
      sent += share_of_calls(g_.scenario.clients[g], service) * number_of(s.groups[g].attempts);
    }
    return sent;
  }

  /// The time of an attempt at idle services as a multiple of the time that a group waits for it
  /// (timeout or deadline), if most of the group's attempts end that way; otherwise 0.
  double times_too_long(std::size_t service, const GraphStretch& s) const {
    constexpr double kMost = 0.5;
    double most = 0;
    for (std::size_t g = 0; g < s.groups.size(); ++g) {
      const ClientSpec& spec = g_.scenario.clients[g];
      double timeout_s = spec.timeouts.has_attempt ? spec.timeouts.attempt.mean_seconds() : 0;
      if (spec.timeouts.deadline != Duration::max()) {
        const double deadline_s = spec.timeouts.deadline.in_seconds();
        timeout_s = timeout_s > 0 ? std::min(timeout_s, deadline_s) : deadline_s;
      }
      if (share_of_calls(spec, service) <= 0 || !calls_one_service(spec) || timeout_s <= 0)
        continue;
      const ClientFlow& f = s.groups[g];
      const double answered = number_of(f.successes + f.errors + f.throttled);
      // An attempt that its deadline ends is no timeout, but its request fails.
      const double late = std::max(number_of(f.timeouts),
                                   number_of(f.failures) - number_of(f.errors + f.throttled));
      const double ended = answered + late;
      if (ended < kMinAttempts || late < kMost * ended) continue;
      most = std::max(most, idle_time(service) / timeout_s);
    }
    return most > 1 ? most : 0;
  }

  bool has_error_source(std::size_t service, const std::vector<const FaultSpec*>& on) const {
    return !g_.scenario.services[service].errors.empty() ||
           std::ranges::any_of(on, [](const FaultSpec* f) {
             return !f->errors.empty() || f->crash || f->cold_restart;
           });
  }

  std::vector<Reason> reasons_of(std::size_t service, const GraphStretch& s) const {
    std::vector<Reason> found;
    const ServicePart& part = s.services[service];
    const ServiceFlow none;
    const ServiceFlow& then = before_ ? before_->services[service].flow : none;
    const double came = number_of(part.flow.arrivals), came_before = number_of(then.arrivals);
    const std::vector<const FaultSpec*> on = faults_on(service, s);
    const auto add = [&](Ill ill, double size) -> Reason& {
      found.push_back({ill, size, &s});
      return found.back();
    };
    for (const FaultSpec* f : on) {
      if (!f->unreachable && !f->black_hole) continue;
      Reason& r = add(f->unreachable ? Ill::kUnreachable : Ill::kSilent, 1);
      if (f->instance == FaultSpec::kAllInstances) return {r};
      r.instances = f->instances;
      r.size = part_of(f->instances, g_.scenario.services[service].instances.count);
    }
    if (part.blocked_s >= s.seconds / 2) return {{Ill::kBlocked, 1, &s}};
    const double waits_s = wait_s(s, service);
    const double longer_s = waits_s - (before_ ? wait_s(*before_, service) : 0);
    const double least_s = kLongerShare * idle_time(service);
    // An attempt may take no time at all.
    const auto is_noticed = [&](double seconds) { return seconds > 0 && seconds >= least_s; };
    const double its_load = load(s, service);
    const double first_load = its_load * first_part(service, s);
    const bool refuses = turns_away(s, service);
    const bool has_less = has_less_room(s, service);
    // Callers whose servers are all held send no more than it can do, and it waits as before.
    const bool leaves_none =
        its_load >= kLeavesNoRoom || (has_less && its_load >= kLeavesHardlyAny);
    const bool is_out = leaves_none && (refuses || is_noticed(has_less ? waits_s : longer_s));
    // At a lower load, attempts must wait because of the service's own load.
    const auto groups = g_.calls.groups_of(service);
    const bool is_short =
        has_less && first_load > kLeavesRoom && (refuses || is_noticed(longer_s)) &&
        std::ranges::none_of(groups, [&](std::size_t g) { return comes_from(service, g, s); });
    const bool full = is_out || is_short;
    constexpr double kMinForLoad = 20;
    if (full && came >= kMinForLoad) {
      Reason& r = add(Ill::kCapacity, its_load);
      r.first_load = first_load;
      r.held_back = are_callers_held(service, s);
      // Requests that wait for a connection or a token have not sent an attempt yet.
      double made = 0, begun = 0;
      for (std::size_t g = 0; g < s.groups.size(); ++g) {
        const double share = share_of_calls(g_.scenario.clients[g], service);
        made += share * number_of(s.groups[g].requests);
        begun += share * number_of(s.groups[g].attempts - s.groups[g].retries);
      }
      constexpr double kMore = 1.05;
      if (begun > 0 && made > kMore * begun) {
        r.first_load *= made / begun;
        r.held_back = r.unsent = true;
      }
      for (const ClientSpec& client : g_.scenario.clients) {
        r.hedged =
            r.hedged || (client.retry.hedging.enabled && share_of_calls(client, service) > 0);
      }
    }
    if (has_error_source(service, on)) {
      const double own = own_errors(s, service);
      const double own_before = before_ ? own_errors(*before_, service) : 0;
      if (has_grown(own, came, own_before, came_before)) {
        add(Ill::kErrors, part_of(own, came)).failed = own;
      }
    }
    if (has_grown(number_of(part.flow.throttled), came, number_of(then.throttled), came_before)) {
      add(Ill::kThrottle, part_of(number_of(part.flow.throttled), came)).failed =
          number_of(part.flow.throttled);
    }
    double later_s = 0, loss = 0;
    for (const FaultSpec* f : on) {
      later_s += 2 * f->latency.in_seconds();
      loss = 1 - (1 - loss) * (1 - f->request_loss) * (1 - f->response_loss);
    }
    if (is_noticed(later_s)) add(Ill::kFar, later_s);
    if (loss >= kPoint) add(Ill::kLoss, loss).failed = loss * sent_to(service, s);
    for (const std::size_t g : groups) {
      const double pooled = pool_load(g, s, false);
      if (pooled < kLeavesNoRoom || !is_noticed(pool_wait_s(g, s))) continue;
      Reason& r = add(Ill::kPool, pooled);
      r.by_fault_below = pool_load(g, s, true) < kLeavesNoRoom;
      r.held_back = is_held(service, s);
    }
    for (const std::size_t g : groups) {
      const double sent =
          send_rate_load(g_.scenario.clients[g], number_of(s.groups[g].requests), s.seconds);
      if (sent < kLeavesNoRoom || !is_noticed(send_wait_s(g, s))) continue;
      add(Ill::kSendRate, sent).held_back = is_held(service, s);
    }
    if (full) return found;
    const double usual_s = before_ && number_of(then.completions) >= kMinAttempts
                               ? own_time_s(*before_, service)
                               : g_.demand.services[service].own_time;
    const double now_s = own_time_s(s, service);
    const double noise = 3 / std::sqrt(std::max(1.0, number_of(part.flow.completions)));
    if (may_work_longer(service, on) && is_noticed(now_s - usual_s) &&
        now_s >= (1 + kLongerShare + noise) * usual_s) {
      add(Ill::kSlow, times_as_long(service, on, part_of(now_s, usual_s)));
    } else if (refuses && g_.held_s(s, service) < available_s(s, service) / 2) {
      add(Ill::kTurnsAway, part_of(number_of(part.flow.rejected), came)).failed =
          number_of(part.flow.rejected);
    }
    if (found.empty()) {
      if (const double ratio = times_too_long(service, s); ratio > 0) add(Ill::kTooLong, ratio);
    }
    return found;
  }

  // --- Who only waits

  bool is_suspect(std::size_t service) const {
    return std::ranges::find(suspects_, service, &Suspect::service) != suspects_.end();
  }

  void find_waiting(const std::vector<bool>& felt, const GraphStretch& s) {
    leads_.resize(felt.size());
    has_no_room_.resize(felt.size());
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      if (!felt[*at]) continue;
      for (const std::size_t g : g_.calls.groups_of(*at)) {
        if (!is_on_the_way(*at, g, s) || !comes_from(*at, g, s)) continue;
        for (const std::size_t t : called(g)) {
          if (is_suspect(t) || leads_[t]) leads_[*at] = true;
        }
      }
      if (load(s, *at) >= kLeavesNoRoom || has_less_room(s, *at)) has_no_room_[*at] = true;
    }
  }

  bool waits(std::size_t service) const {
    return service < leads_.size() && leads_[service] && !has_no_room_[service] &&
           !is_suspect(service);
  }

  const GroupCase& c_;
  const GraphCase& g_;
  const GraphStretch* before_;
  const CallSpec* degraded_;
  std::vector<const GraphStretch*> trouble_;
  std::vector<std::size_t> order_;  // service indices, callers first
  std::vector<bool> felt_;
  std::vector<bool> leads_, has_no_room_;  // leads to a suspect; has no room in some stretch
  std::vector<Suspect> suspects_;
  std::vector<std::size_t> waiting_;
};

// --- In words ------------------------------------------------------------------------------------

/// The name of the stretch, made of the disturbances that may reach the group.
std::string name_of(const GroupCase& c, const GraphStretch& s) {
  const auto own = std::ranges::find(c.disturbed_stretches, s.start_s, &DisturbedStretch::start_s);
  return own == c.disturbed_stretches.end() ? s.name : own->name;
}

/// Whether the group's disturbed stretches have different names. Disturbances elsewhere may divide
/// one into stretches of the same name.
bool has_several_names(const GroupCase& c) {
  return std::ranges::any_of(c.disturbed_stretches, [&](const DisturbedStretch& d) {
    return d.name != c.disturbed_stretches.front().name;
  });
}

/// `during`: the word for a stretch in which disturbances are on.
Sentence when_of(const GroupCase& c, const GraphStretch& s, Words during) {
  if (!c.disturbed()) return {};
  switch (s.kind) {
    case PhaseKind::kBefore:
      return say(" before {}", its_name(c));
    case PhaseKind::kDuring:
      return say(" {} {}", during,
                 has_several_names(c) ? Sentence(Name{name_of(c, s)}) : its_name(c));
    case PhaseKind::kBetween:
      return say(" between {}", its_name(c));
    default:
      return say(" after {}", its_name(c));
  }
}

}  // namespace

Sentence when_of(const GroupCase& c, const GraphStretch& s) { return when_of(c, s, "during"); }

namespace {

/// Whether what is said of a stretch was counted in the bins that it touches, because no whole bin
/// lies in it: most of that may have come before it or after it.
bool is_counted_around(const GroupCase& c, const Reason& r) {
  constexpr double kLonger = 1.01;
  const bool by_fault = r.ill == Ill::kUnreachable || r.ill == Ill::kSilent ||
                        r.ill == Ill::kBlocked || r.ill == Ill::kFar || r.ill == Ill::kLoss;
  const double planned_s = (r.when->end_s - r.when->start_s) * static_cast<double>(c.runs);
  return !by_fault && r.when->kind == PhaseKind::kDuring && r.when->seconds > kLonger * planned_s;
}

/// The stretches of disturbances in which it is nearly as bad as where it is worst; of other
/// disturbances, which do not overlap with that one, those in which it is worst.
std::vector<const GraphStretch*> worst_of(const Reason& r) {
  constexpr double kNearly = 0.9;
  std::vector<std::pair<const GraphStretch*, double>> seen = r.seen;
  std::erase_if(seen, [](const auto& s) { return s.first->kind != PhaseKind::kDuring; });
  std::ranges::sort(seen, {}, [](const auto& s) { return s.first->start_s; });
  std::vector<const GraphStretch*> worst;
  for (auto first = seen.begin(); first != seen.end();) {
    double end_s = first->first->end_s, most = 0;
    auto last = first;
    for (; last != seen.end() && last->first->start_s <= end_s; ++last) {
      end_s = std::max(end_s, last->first->end_s);
      most = std::max(most, last->second);
    }
    for (; first != last; ++first) {
      if (first->second >= kNearly * most) worst.push_back(first->first);
    }
  }
  return worst;
}

/// " during one, two and both", " during the faults" if these are all.
Sentence when_of(const GroupCase& c, const Reason& r) {
  constexpr std::size_t kMost = 4;
  const std::vector<const GraphStretch*> worst = worst_of(r);
  if (!c.disturbed() || r.when->kind != PhaseKind::kDuring || worst.size() < 2) {
    return when_of(c, *r.when, is_counted_around(c, r) ? Words("around") : Words("during"));
  }
  // A disturbance all of whose stretches are among them is said by its name.
  for (const stats::Disturbance& d : stats::disturbances(c.scenario)) {
    const auto is_on = [&](const GraphStretch& s) {
      return s.kind == PhaseKind::kDuring && s.seconds > 0 &&
             s.start_s < (d.end - Time::zero()).in_seconds() &&
             s.end_s > (d.start - Time::zero()).in_seconds();
    };
    const auto on = std::ranges::count_if(c.graph->stretches, is_on);
    const bool same = static_cast<std::size_t>(on) == worst.size() &&
                      std::ranges::all_of(worst, [&](const GraphStretch* s) { return is_on(*s); });
    if (same && c.disturbances.count > 1) return say(" during {}", Name{std::string(d.name)});
  }
  std::vector<std::string> names, all;
  const auto add = [](std::vector<std::string>& to, const std::string& name) {
    if (std::ranges::count(to, name) == 0) to.push_back(name);
  };
  for (const DisturbedStretch& d : c.disturbed_stretches) add(all, d.name);
  for (const GraphStretch* s : worst) add(names, name_of(c, *s));
  if (names.size() == all.size() || names.size() > kMost) return say(" during {}", its_name(c));
  std::vector<Sentence> said;
  for (const std::string& name : names) said.push_back(Name{name});
  return say(" during {}", joined(said));
}

/// "up to " where a figure is that of the worst of several stretches.
Words up_to(const Reason& r) {
  return r.when->kind == PhaseKind::kDuring && worst_of(r).size() > 1 ? Words("up to ") : Words("");
}

}  // namespace

bool leads_to(const GroupCase& c, std::size_t service, std::size_t group) {
  return std::ranges::any_of(c.graph->calls.calls_of(service), [&](std::size_t i) {
    const CallSpec& call = c.scenario.calls[i];
    return call.client == group &&
           (call.operations.empty() ||
            std::ranges::any_of(c.client.operations, [&](const OperationSpec& operation) {
              return std::ranges::count(call.operations, operation.name) > 0;
            }));
  });
}

bool is_repeated_above(const GroupCase& c, std::size_t service) {
  constexpr double kFew = 0.02;
  if (!c.graph) return false;
  const GraphCase& g = *c.graph;
  std::vector<bool> above(c.scenario.services.size(), false);
  above[service] = true;
  const std::vector<std::size_t> order = flow::callers_first(c.scenario);
  for (auto s = order.rbegin(); s != order.rend(); ++s) {
    for (std::size_t group = 0; group < c.scenario.clients.size() && above[*s]; ++group) {
      if (share_of_calls(c.scenario.clients[group], *s) <= 0) continue;
      double attempts = 0, retries = 0;
      for (const GraphStretch* t : g.trouble()) {
        attempts += number_of(t->groups[group].attempts);
        retries += number_of(t->groups[group].retries);
      }
      if (*s != service && retries > kFew * attempts) return true;
      if (const auto caller = g.calls.caller_of(group)) above[*caller] = true;
    }
  }
  return false;
}

namespace {

Sentence capacity_words(const GroupCase& c, std::size_t service, const Reason& r) {
  constexpr double kAll = 1.05, kFewer = 0.9;
  const GraphStretch& s = *r.when;
  const Time start = Time::zero() + Duration::from_seconds(s.start_s);
  const Time end = Time::zero() + Duration::from_seconds(s.end_s);
  const bool is_less = end > start && mean_capacity_left(c.scenario, service, start, end) < 0.995;
  const Words what = is_less ? Words("the capacity that it has left") : Words("its capacity");
  const FigureSource work = need_source(c, service, s, false);
  const FigureSource of_first = need_source(c, service, s, true);
  const bool is_known = work.kind != FigureSource::Kind::kUnknown;
  const Sentence need =
      r.size < kLeavesNoRoom ? say("{} of {}", share(r.size, work), what)
      : r.size < kAll
          ? say("{} of {}", claim("all", is_known ? work >= number(kLeavesNoRoom) : work), what)
          : say("{}{} {}", r.held_back ? Words("at least ") : Words(""), times(r.size, work), what);
  Sentence text =
      say("is {} of capacity: attempts{} need {}{}",
          r.size < kLeavesNoRoom ? Words("short") : Words("out"), when_of(c, r), up_to(r), need);
  if (r.first_load < kFewer * r.size && !r.unsent) {
    const Figure first =
        r.first_load < kAll ? share(r.first_load, of_first) : times(r.first_load, of_first);
    text += is_repeated_above(c, service)
                ? say(" ({} without the {} of its callers)", first,
                      r.hedged ? Words("hedges and retries") : Words("retries"))
                : say(" (first attempts alone {})", first);
  }
  return text;
}

/// A column of service.csv per attempt that arrived at the service, in whole bins of the stretch.
FigureSource per_arrival(const GroupCase& c, std::size_t service, const Reason& r,
                         std::string_view column) {
  const GraphStretch& s = *r.when;
  if (s.kind != PhaseKind::kDuring && s.kind != PhaseKind::kBefore)
    return not_in_files("stretches that end with the recovery");
  const std::string& name = c.scenario.services[service].name;
  return served_by(name, column, s.start_s, s.end_s) /
         served_by(name, "arrivals", s.start_s, s.end_s);
}

Sentence words_of(const GroupCase& c, std::size_t service, const Reason& r) {
  constexpr double kAllOfIt = 1.05;
  const Sentence when = when_of(c, r);
  const Words most = up_to(r);
  const std::string& name = c.scenario.services[service].name;
  const Sentence some = r.instances == 0 ? Sentence()
                                         : say(" at {} of its {} instances",
                                               whole(r.instances, not_in_files(kByScenario)),
                                               whole(c.scenario.services[service].instances.count,
                                                     key("service." + name + ".instances")));
  switch (r.ill) {
    case Ill::kUnreachable:
      return say("cannot be reached{}{}", some, when);
    case Ill::kSilent:
      return say("does not answer{}{}", some, when);
    case Ill::kBlocked:
      return say("has {}{}", claim("no capacity at all", not_in_files(kByScenario)), when);
    case Ill::kCapacity:
      return capacity_words(c, service, r);
    case Ill::kErrors:
      return say(
          "answers {}{} of its attempts with errors of its own{}", most,
          share(r.size, c.graph->calls.calls_of(service).empty() &&
                                c.scenario.services[service].model == ServiceModelKind::kQueue
                            ? per_arrival(c, service, r, "errors")
                            : not_in_files("errors at the service without those of calls")),
          when);
    case Ill::kThrottle:
      return say("throttles {}{} of its attempts{}", most,
                 share(r.size, per_arrival(c, service, r, "throttled")), when);
    case Ill::kSlow:
      return say("works {}{} as long on an attempt{}", most,
                 times(r.size, not_in_files("servers' busy time without that of calls")), when);
    case Ill::kFar:
      return say("is farther away{}: messages there and back take {}{} more", when, most,
                 time(r.size, not_in_files(kByScenario)));
    case Ill::kLoss:
      return say("loses {}{} of its attempts or their answers on the way{}", most,
                 share(r.size, not_in_files(kByScenario)), when);
    case Ill::kTurnsAway:
      return say("turns away {}{} of its attempts{}", most,
                 share(r.size, per_arrival(c, service, r, "rejected")), when);
    case Ill::kPool:
      return say("has too few connections for {}{}: they need {}{} what there is",
                 r.by_fault_below ? Words("calls that take so long") : Words("its calls"), when,
                 r.held_back ? Words("at least ") : Words(""),
                 times(r.size, not_in_files(kByScenario)));
    case Ill::kSendRate:
      return say("has too low a send rate for its calls{}: they need {}{}", when,
                 r.held_back ? Words("at least ") : Words(""),
                 r.size < kAllOfIt ? say("{} of it", claim("all", not_in_files(kByScenario)))
                                   : say("{} as much", times(r.size, not_in_files(kByScenario))));
    case Ill::kTooLong:
      return say("takes longer than its callers wait{}: {} as long, without any waiting", when,
                 times(r.size, not_in_files(kByScenario)));
  }
  return {};
}

/// What is wrong with the service, in few words without figures.
Sentence short_words_of(const Reason& r) {
  constexpr double kFewer = 0.95;
  const bool part = r.instances > 0;
  switch (r.ill) {
    case Ill::kUnreachable:
      return part ? Words("cannot be reached in part") : Words("cannot be reached");
    case Ill::kSilent:
      return part ? Words("does not answer in part") : Words("does not answer");
    case Ill::kBlocked:
      return Words("stands still");
    case Ill::kCapacity:
      if (r.first_load >= kFewer || r.size < kFewer) return Words("is out of capacity");
      return r.hedged ? Words("is out of capacity because of hedges and retries")
                      : Words("is out of capacity because of retries");
    case Ill::kErrors:
      return Words("answers with errors");
    case Ill::kThrottle:
      return Words("throttles");
    case Ill::kSlow:
      return Words("is slow");
    case Ill::kFar:
      return Words("is farther away");
    case Ill::kLoss:
      return Words("loses messages");
    case Ill::kTurnsAway:
      return Words("turns attempts away");
    case Ill::kPool:
      return Words("has too few connections for its calls");
    case Ill::kSendRate:
      return Words("has too low a send rate for its calls");
    case Ill::kTooLong:
      return Words("takes longer than its callers wait");
  }
  return {};
}

std::string_view figure_name(Ill ill) {
  constexpr std::string_view kNames[] = {
      "unreachable_share", "silent_share",    "blocked_share",   "load_ratio",
      "own_errors_share",  "throttled_share", "own_time_ratio",  "farther_s",
      "loss_share",        "rejected_share",  "pool_load_ratio", "send_rate_load_ratio",
      "too_long_ratio"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Ill::kTooLong) + 1);
  return kNames[static_cast<std::size_t>(ill)];
}

/// "api and web only wait for it", with what calls hold of their servers. `fails`: calls there fail
/// rather than wait. Where the failures are passed on, and servers are not held meanwhile, that is
/// said instead; where they only wait until they try again, that.
Sentence waiting_words(const GroupCase& c, const CauseFinder& found, bool fails,
                       std::vector<EvidenceFigure>& evidence) {
  constexpr double kMost = 0.5, kNearlyAll = 0.9;
  const bool passes_on = fails && std::ranges::all_of(found.waiting(), [&](std::size_t s) {
                           return found.passes_failures(s) &&
                                  (!found.is_limited(s) || found.held_share(s) < kNearlyAll);
                         });
  const bool to_retry = fails && std::ranges::all_of(found.waiting(), [&](std::size_t s) {
                          return found.waits_to_retry(s);
                        });
  std::vector<Sentence> names;
  for (const std::size_t s : found.waiting()) {
    const std::string& name = c.scenario.services[s].name;
    const double held = found.is_limited(s) ? found.held_share(s) : 0;
    if (found.is_limited(s)) evidence.push_back({name + ".held_by_calls_share", held});
    names.push_back(held < kMost || passes_on
                        ? Sentence(Name{name})
                        : say("{} ({} of its server time held by calls)", Name{name},
                              share(held, not_in_files("servers' busy time beyond the service's "
                                                       "own work"))));
  }
  const bool one = names.size() == 1;
  const Words them = found.suspects().size() == 1 ? Words("it") : Words("them");
  if (passes_on) {
    return say("{} only {} that on", joined(names), one ? Words("passes") : Words("pass"));
  }
  const Words waits = one ? Words("waits") : Words("wait");
  return to_retry ? say("{} only {} to try again", joined(names), waits)
                  : say("{} only {} for {}", joined(names), waits, them);
}

/// The causes of a group's trouble; empty for a group that fares well.
std::optional<CauseFinder> causes_of(const GroupCase& c, const CallSpec* degraded = nullptr) {
  Severity severity = Severity::kGood;
  const VerdictRule* const answer = answer_of(c, severity);
  if (answer == nullptr || severity == Severity::kGood) return std::nullopt;
  std::optional<CauseFinder> found;
  found.emplace(c, c.disturbed() && !is_sick_before_it(c), degraded);
  found->find();
  return found;
}

/// The suspects without those whose own failures are too few to be why requests of the group fail,
/// where others are not.
std::vector<Suspect> weighty(const CauseFinder& found) {
  constexpr double kLittle = 0.1;  // share of the requests that fail
  const double lost = kLittle * found.failed_requests();
  std::vector<Suspect> all = found.suspects();
  const auto is_weighty = [&](const Suspect& suspect) {
    return std::ranges::any_of(suspect.reasons, [&](const Reason& r) { return r.failed >= lost; });
  };
  if (std::ranges::any_of(all, is_weighty)) std::erase_if(all, std::not_fn(is_weighty));
  return all;
}

Found cause_in_graph(const GroupCase& c) {
  if (!c.graph || c.client.makes_calls()) return std::nullopt;
  const bool calls = std::ranges::any_of(called_services(c.client), [&](std::size_t s) {
    return !c.graph->calls.groups_of(s).empty();
  });
  if (!calls) return std::nullopt;
  const std::optional<CauseFinder> causes = causes_of(c);
  if (!causes || causes->suspects().empty()) return std::nullopt;
  const CauseFinder& found = *causes;
  std::vector<Sentence> parts;
  std::vector<EvidenceFigure> evidence;
  bool fails = true;
  for (const Suspect& suspect : weighty(found)) {
    const std::string& name = c.scenario.services[suspect.service].name;
    std::vector<Sentence> said;
    for (const Reason& r : suspect.reasons) {
      said.push_back(words_of(c, suspect.service, r));
      fails = fails && fails_attempts(r.ill);
      evidence.push_back({name + "." + std::string(figure_name(r.ill)), r.size});
      if (r.ill == Ill::kCapacity) evidence.push_back({name + ".first_load_ratio", r.first_load});
    }
    // Some reasons bring a subject of their own: "attempts need ...".
    parts.push_back(say("{} {}", Name{name}, joined(said, ", and it ", ", and it ")));
  }
  if (!found.waiting().empty()) {
    parts.push_back(waiting_words(c, found, fails, evidence));
  }
  return Finding{joined(parts, "; ", "; "), std::move(evidence),
                 c.disturbed() ? Severity::kInfo : Severity::kBad};
}

// --- Overload and retries at several layers ------------------------------------------------------

}  // namespace

/// Among the services below a group that first attempts overload, the one with the greatest load.
Found overload_below(const GroupCase& c) {
  if (!c.graph || c.client.makes_calls() || c.client.arrivals.process == ArrivalProcess::kOnce) {
    return std::nullopt;
  }
  const flow::Demand& demand = c.graph->demand;
  std::vector<std::size_t> below = called_services(c.client);
  const std::size_t entries = below.size();
  std::optional<std::size_t> most, caller;
  for (std::size_t i = 0; i < below.size(); ++i) {
    for (const std::size_t g : c.graph->calls.groups_of(below[i])) {
      if (i < entries && !leads_to(c, below[i], g)) continue;
      for (const std::size_t callee : called_services(c.scenario.clients[g])) {
        if (std::ranges::count(below, callee) > 0) continue;
        below.push_back(callee);
        const double load = demand.services[callee].load();
        if (load < 1 || (most && load <= demand.services[*most].load())) continue;
        most = callee, caller = below[i];
      }
    }
  }
  if (!most) return std::nullopt;
  const flow::ServiceDemand& there = demand.services[*most];
  const double enough = std::floor(there.work) + 1;
  return Finding{
      say("the first calls of {} alone need {} the capacity of {}, which is an {}; at least {} "
          "needed there",
          Name{c.scenario.services[*caller].name}, times(there.load(), not_in_files(kByScenario)),
          Name{c.scenario.services[*most].name},
          claim("overload without any retry", not_in_files(kByScenario)),
          counted(whole(enough, not_in_files(kByScenario)), "server is", "servers are")),
      {{"new_load_ratio", there.load()}, {"servers", there.capacity}, {"servers_needed", enough}}};
}

namespace {

/// The attempts at a service that one request of a group causes, along the path on which they are
/// most.
struct LayersTo {
  double product = 0;
  std::vector<std::size_t> groups;  ///< client groups along the path, from the top
  /// For each group but the first: its calls per attempt at its service.
  std::vector<double> calls_per_attempt;
};

double attempts_per_request(const GroupCase& c, std::size_t group) {
  const GroupVolume& v = c.volumes[group];
  return v.requests > 0 ? v.attempts / v.requests : 1;
}

/// For each service that the group reaches, the path with most attempts.
std::vector<LayersTo> layers_of(const GroupCase& c) {
  std::vector<LayersTo> to(c.scenario.services.size());
  const auto reach = [&](std::size_t group, const LayersTo& above, double calls) {
    LayersTo path = above;
    path.product *= calls * attempts_per_request(c, group);
    path.groups.push_back(group);
    path.calls_per_attempt.push_back(calls);
    for (const auto& [service, share] : service_shares(c.scenario.clients[group])) {
      if (path.product * share <= to[service].product) continue;
      to[service] = path;
      to[service].product *= share;
    }
  };
  reach(c.index, {1, {}, {}}, 1);
  const flow::CallGraph graph(c.scenario);
  for (const std::size_t service : flow::callers_first(c.scenario)) {
    if (to[service].product <= 0) continue;
    stop_point();
    double attempts = 0;
    for (std::size_t g = 0; g < c.volumes.size(); ++g) {
      attempts += share_of_calls(c.scenario.clients[g], service) * c.volumes[g].attempts;
    }
    for (const std::size_t g : graph.groups_of(service)) {
      if (c.volumes[g].requests > 0 && attempts > 0) {
        reach(g, to[service], c.volumes[g].requests / attempts);
      }
    }
  }
  return to;
}

/// Whether every request makes the calls of the group, once each.
bool are_made_once(const GroupCase& c, std::size_t group) {
  return std::ranges::all_of(c.scenario.calls, [&](const CallSpec& call) {
    const bool falls_back = call.on_failure == CallFailure::kFallback &&
                            call.fallback == c.scenario.clients[group].name;
    return !falls_back && (call.client != group || flow::is_plain(call));
  });
}

constexpr double kMultiplies = 1.1;  ///< attempts per request of a layer that multiplies them

/// Upper bound on the attempts per request that would be left without the retries of the innermost
/// layer that retries; empty if it is not known.
std::optional<double> without_inner_retries(const GroupCase& c, const LayersTo& path,
                                            std::size_t inner) {
  double most = 1;
  for (std::size_t i = 0; i < path.groups.size(); ++i) {
    const ClientSpec& client = c.scenario.clients[path.groups[i]];
    if (client.strategy || client.retry.hedging.enabled) return std::nullopt;
    if (!are_made_once(c, path.groups[i])) return std::nullopt;
    most *= std::max(1.0, path.calls_per_attempt[i]);
    if (i == inner) continue;
    if (client.retry.max_attempts == RetryRules::kUnlimited) return std::nullopt;
    most *= std::max<double>(1, client.retry.max_attempts);
  }
  return most;
}

/// Attempts per request of a group in the time of trouble; without a disturbance in the whole run.
FigureSource attempts_of(const GroupCase& c, std::size_t group) {
  if (c.disturbed()) return not_in_files("stretches that end with the recovery");
  const std::string& name = c.scenario.clients[group].name;
  return metric_of(name, "attempts") / metric_of(name, "requests");
}

/// Calls of the group `i` per attempt of the group above, if that is the only one.
FigureSource calls_per_attempt(const GroupCase& c, const LayersTo& path, std::size_t i) {
  const auto caller = c.graph->calls.caller_of(path.groups[i]);
  const auto callers = std::ranges::count_if(c.scenario.clients, [&](const ClientSpec& client) {
    return caller && share_of_calls(client, *caller) > 0;
  });
  if (c.disturbed() || callers != 1) return not_in_files("calls of several groups together");
  return metric_of(c.scenario.clients[path.groups[i]].name, "requests") /
         metric_of(c.scenario.clients[path.groups[i - 1]].name, "attempts");
}

Found layers_multiply(const GroupCase& c) {
  constexpr double kMuch = 1.5, kLess = 0.9;
  if (c.client.makes_calls() || c.volumes.empty()) return std::nullopt;
  const std::vector<LayersTo> all = layers_of(c);
  const auto deeper = [](const LayersTo& a, const LayersTo& b) { return a.product < b.product; };
  const auto most = std::ranges::max_element(all, deeper);
  const double first = std::max(1.0, attempts_per_request(c, c.index));
  if (most == all.end() || most->groups.size() < 2 || most->product < kMuch * first) {
    return std::nullopt;
  }
  std::size_t multiplying = 0, inner = 0;
  double by_retries = 1;
  bool hedged = false;
  std::vector<Sentence> layers;
  for (std::size_t i = 0; i < most->groups.size(); ++i) {
    const double own = attempts_per_request(c, most->groups[i]);
    if (own >= kMultiplies) {
      ++multiplying, inner = i;
      hedged = hedged || c.scenario.clients[most->groups[i]].retry.hedging.enabled;
    }
    by_retries *= own;
    const double calls = most->calls_per_attempt[i];
    if (i > 0 && std::abs(calls - 1) >= 0.05) {
      layers.push_back(say("{} calls", count(calls, calls_per_attempt(c, *most, i), 2)));
    }
    const ClientSpec& client = c.scenario.clients[most->groups[i]];
    const auto caller = c.graph->calls.caller_of(most->groups[i]);
    layers.push_back(say("{} per {} of {}", count(own, attempts_of(c, most->groups[i]), 2),
                         i == 0 ? Words("request") : Words("call"),
                         Name{caller ? c.scenario.services[*caller].name : client.name}));
  }
  if (multiplying < 2 || by_retries < kMuch * first) return std::nullopt;  // a fan-out is no retry
  const std::size_t deepest = static_cast<std::size_t>(most - all.begin());
  FigureSource product = attempts_of(c, most->groups[0]);
  for (std::size_t i = 1; i < most->groups.size(); ++i) {
    product = product * calls_per_attempt(c, *most, i) * attempts_of(c, most->groups[i]);
  }
  // The last group may send only a share of its attempts there.
  const std::size_t last = most->groups.back();
  if (share_of_calls(c.scenario.clients[last], deepest) < 1) product = not_in_files(kByScenario);
  Sentence sentence =
      say("{} multiply from layer to layer: {}a request becomes {} attempts at {} ({})",
          hedged ? Words("hedges and retries") : Words("retries"),
          c.disturbed() ? say("from the start of {} on ", its_name(c)) : Sentence(),
          count(most->product, product, 2), Name{c.scenario.services[deepest].name},
          joined(layers, ", ", ", "));
  std::vector<EvidenceFigure> evidence = {{"attempts_per_request_ratio", most->product},
                                          {"layers", static_cast<double>(most->groups.size())}};
  if (const auto left = without_inner_retries(c, *most, inner);
      left && *left < kLess * most->product) {
    const auto caller = c.graph->calls.caller_of(most->groups[inner]);
    sentence += say("; without the retries of {} it would be {} at most",
                    Name{caller ? c.scenario.services[*caller].name : c.client.name},
                    count(*left, not_in_files(kByScenario), 2));
    evidence.push_back({"without_inner_retries_ratio", *left});
  }
  return Finding{std::move(sentence), std::move(evidence)};
}

Found degraded_answers(const GroupCase& c) {
  if (c.client.makes_calls()) return std::nullopt;
  const std::optional<DegradedCalls> d = degraded_calls(c);
  if (!d) return std::nullopt;
  const ClientSpec& client = c.scenario.clients[d->call->client];
  const std::string& caller = c.scenario.services[d->call->caller].name;
  const std::string& callee = c.scenario.services[client.service].name;
  const FigureSource calls = not_in_files("failures of calls per attempt at their caller");
  Sentence how = say("without {}{}, which fails", Name{callee}, when_of(c, *d->when));
  if (d->call->on_failure == CallFailure::kFallback) {
    const auto other = std::ranges::find(c.scenario.clients, d->call->fallback, &ClientSpec::name);
    how = say("with the fallback{}{}, because {} fails",
              other == c.scenario.clients.end()
                  ? Sentence()
                  : say(" {}", Name{c.scenario.services[other->service].name}),
              when_of(c, *d->when), Name{callee});
  }
  return Finding{say("{} answers {} of its attempts {}", Name{caller},
                     share(std::min(1.0, d->share), calls), how),
                 {{"degraded_share", d->share}, {"degraded_before_share", d->before_share}}};
}

using enum Severity;
constexpr std::array kGraphRules = {
    Rule{{"cause-in-graph", kInfo, false,
          "services call each other, and one of them or more are the cause: they are out of "
          "capacity for their own work, answer errors of their own, work longer, or cannot be "
          "reached; bad without a disturbance"},
         cause_in_graph},
    Rule{{"overload-below", kBad, false,
          "the first attempts of calls between services ask for at least the capacity of a service "
          "below"},
         overload_below},
    Rule{{"layers-multiply", kBad, false,
          "two layers or more retry, and a service below gets 1.5 times as many attempts per "
          "request as the first one"},
         layers_multiply},
    Rule{{"degraded-answers", kInfo, false,
          "calls fail without failing their attempt, for 1 % of the attempts more than before"},
         degraded_answers},
};

}  // namespace

std::vector<Culprit> culprits_of(const GroupCase& c) {
  std::vector<Culprit> all;
  if (!c.graph || c.client.makes_calls()) return all;
  const std::optional<DegradedCalls> degraded = degraded_calls(c);
  const std::optional<CauseFinder> found = causes_of(c, degraded ? degraded->call : nullptr);
  if (!found) return all;
  const bool is_sick_before = is_sick_before_it(c);
  for (const Suspect& suspect : weighty(*found)) {
    // Reasons that appear later cannot cause earlier losses.
    std::vector<Reason> reasons = suspect.reasons;
    if (is_sick_before) {
      std::erase_if(reasons, [](const Reason& reason) {
        return reason.when != nullptr && reason.when->kind != PhaseKind::kBefore;
      });
    }
    if (reasons.empty()) continue;
    // Kinds of reasons that come earlier in `Ill` explain the later ones.
    const Reason& r = *std::ranges::min_element(reasons, {}, &Reason::ill);
    const bool by_retries = r.ill == Ill::kCapacity && r.first_load < kLeavesRoom;
    const bool may_be_effect =
        reasons.size() == 1 && (by_retries || r.ill == Ill::kTurnsAway || r.by_fault_below);
    all.push_back({suspect.service, short_words_of(r), r.when, when_of(c, r), may_be_effect});
  }
  return all;
}

std::optional<DegradedCalls> degraded_calls(const GroupCase& c) {
  if (!c.graph) return std::nullopt;
  const GraphCase& g = *c.graph;
  std::vector<std::size_t> reached = called_services(c.client);
  const std::size_t entries = reached.size();
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::size_t group : g.calls.groups_of(reached[i])) {
      if (i < entries && !leads_to(c, reached[i], group)) continue;
      for (const std::size_t callee : called_services(c.scenario.clients[group])) {
        if (std::ranges::count(reached, callee) == 0) reached.push_back(callee);
      }
    }
  }
  const auto share = [&](const GraphStretch& s, const CallSpec& call) {
    return part_of(number_of(s.groups[call.client].failures),
                   number_of(s.services[call.caller].flow.arrivals));
  };
  constexpr double kClearly = 1.2;
  const GraphStretch* const before = c.disturbed() ? g.before() : nullptr;
  std::optional<DegradedCalls> most;
  for (const CallSpec& call : c.scenario.calls) {
    if (call.on_failure == CallFailure::kFail || std::ranges::count(reached, call.caller) == 0) {
      continue;
    }
    const double usual = before ? share(*before, call) : 0;
    for (const GraphStretch* s : g.trouble()) {
      stop_point();
      if (number_of(s->services[call.caller].flow.arrivals) < kMinAttempts) continue;
      const double now = share(*s, call);
      // What goes on for a moment after a disturbance began in it.
      const double clearly = s->kind == PhaseKind::kDuring ? 1 : kClearly;
      if (now < usual + kPoint || (most && now <= clearly * most->share)) continue;
      most = {&call, s, now, usual};
    }
  }
  return most;
}

std::span<const Rule> graph_rules() { return kGraphRules; }

}  // namespace retrysim::explain

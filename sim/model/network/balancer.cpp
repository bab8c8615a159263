// SPDX-License-Identifier: MIT
#include "model/network/balancer.hpp"

#include "kernel/functions.hpp"
#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace retrysim::model {

namespace {

constexpr std::uint64_t kPlacesPerUnit = 64;  // that are looked at: a unit of work
constexpr std::uint32_t kLook = 0;            // what a timer is about; above that: 1 + a place

bool has_own_balancers(const ServiceSpec& service) {
  return service.instances.count > 1 && service.instances.balancer == BalancerScope::kClient;
}

/// How many instances each balancer of the service knows.
std::size_t known_to_each(const ServiceSpec& service) {
  const InstancesSpec& spec = service.instances;
  return has_own_balancers(service) ? std::min(spec.subset, spec.count) : spec.count;
}

/// Calls `f` for each group that calls the service, in the order of their names.
template <class F>
void each_caller(const Scenario& scenario, std::size_t service, F&& f) {
  for (const std::size_t g : name_order(scenario.clients)) {
    if (share_of_calls(scenario.clients[g], service) > 0) f(g);
  }
}

}  // namespace

// --- What there is.

void Balancer::prepare() {
  const Instances& instances = state_.instances;
  if (!instances.several()) return;
  const Scenario& scenario = state_.scenario;
  instances_.resize(instances.size());
  services_.resize(instances.services());
  std::uint64_t balancers = 0;
  for (std::size_t i = 0; i < services_.size(); ++i) balancers += count_of(scenario, i);
  all_.reserve(balancers);
  for (const std::size_t at : name_order(scenario.services)) {
    const ServiceId service(at);
    OfService& own = services_[service];
    own.first = static_cast<std::uint32_t>(all_.size());
    const RandomKey& key = state_.streams.of_service(service);
    const auto number_of_key = static_cast<std::uint32_t>(keys_.size());
    if (!has_own_balancers(scenario.services[service])) {
      keys_.push_back(key);
      add(service, ClientId(0), number_of_key);
    } else {
      own.of_group.resize(scenario.clients.size());
      each_caller(scenario, service, [&](std::size_t g) {
        own.of_group[GroupId(g)] = static_cast<std::uint32_t>(all_.size());
        keys_.push_back(key.named("client", scenario.clients[g].name));
        const auto last = static_cast<std::uint32_t>(keys_.size()) - 1;
        for (std::uint32_t k = 0; k < scenario.clients[g].count; ++k) {
          if (k % 1024 == 0) stop_point();
          add(service, ClientId(k), last);
        }
      });
    }
    own.end = static_cast<std::uint32_t>(all_.size());
  }
}

void Balancer::add(ServiceId service, ClientId client, std::uint32_t key) {
  const ServiceSpec& spec = state_.scenario.services[service];
  const std::size_t known = known_to_each(spec);
  One& b = all_.emplace_back();
  b.spec = &spec.instances;
  b.service = service;
  b.client = client;
  b.key = key;
  b.first = state_.instances.first(service);
  if (known < spec.instances.count) b.subset = subset_of(spec.instances, keys_[key], client);
  b.under_way.resize(known);
  if (spec.instances.balancing == Balancing::kPeakEwma) {
    const Duration first = spec.instances.first_latency;
    const auto ns = first == Duration::max() ? 0 : static_cast<double>(first.count());
    b.latencies.resize(known, {.ns = ns, .since = state_.now});
  }
  if (known > 1 && spec.instances.listens()) {
    b.listener = std::make_unique<Listener>();
    Listener& l = *b.listener;
    if (spec.instances.ejection.enabled()) l.outliers.emplace(spec.instances.ejection, known);
    if (spec.instances.accrual.enabled()) l.accrual.emplace(spec.instances.accrual, known);
    l.out.resize(known);
    l.ejected.resize(known);
  }
  for (std::size_t i = 0; i < known; ++i) {
    ++instances_[instance_at(b, static_cast<Place>(i))].known_by;
  }
  rebuild_rotation(b);
}

// Some of all, each choice equally likely: the first ones of a shuffle.
std::vector<Balancer::Place> Balancer::subset_of(const InstancesSpec& spec, const RandomKey& key,
                                                 ClientId client) {
  std::vector<Place> all(spec.count);
  std::iota(all.begin(), all.end(), Place{0});
  Draws draws(key, {client, 0, 0, Purpose::kSubset});
  for (std::uint32_t i = 0; i < spec.subset; ++i) {
    std::swap(all[i], all[i + draws.below(spec.count - i)]);
  }
  all.resize(spec.subset);
  std::sort(all.begin(), all.end());
  return all;
}

std::uint64_t Balancer::count_of(const Scenario& scenario, std::size_t service) {
  if (!has_own_balancers(scenario.services[service])) return 1;
  std::uint64_t count = 0;
  each_caller(scenario, service, [&](std::size_t g) { count += scenario.clients[g].count; });
  return count;
}

std::uint64_t Balancer::bytes_of(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& spec = scenario.services[service];
  const std::size_t known = known_to_each(spec);
  std::uint64_t host = sizeof(std::uint32_t) + sizeof(Place);
  if (known < spec.instances.count) host += sizeof(Place);
  if (spec.instances.balancing == Balancing::kPeakEwma) host += sizeof(Latency);
  std::uint64_t one = sizeof(One);
  if (spec.instances.listens()) {
    one += sizeof(Listener) + sizeof(kernel::TimerEntry);
    host += 2;
    if (spec.instances.ejection.enabled()) host += OutlierDetection::bytes_per_host();
    if (spec.instances.accrual.enabled()) host += FailureAccrual::bytes_per_host();
  }
  return count_of(scenario, service) * (one + known * host);
}

std::uint64_t Balancer::bytes() const {
  return earlier_.bytes() + earlier_bytes_ + timers_.bytes();
}

Balancer::One& Balancer::balancer_of(ServiceId service, GroupId group, ClientId client) {
  const OfService& own = services_[service];
  if (own.of_group.empty()) return all_[own.first];
  return all_[own.of_group[group] + client];
}

InstanceId Balancer::instance_at(const One& b, Place place) {
  return InstanceId(b.first + (b.subset.empty() ? place : b.subset[place]));
}

Balancer::Place Balancer::place_of(const One& b, InstanceId instance) {
  const auto number = static_cast<Place>(instance - b.first);
  if (b.subset.empty()) return number;
  const auto at = std::lower_bound(b.subset.begin(), b.subset.end(), number);
  if (at == b.subset.end() || *at != number) return kNoPlace;
  return static_cast<Place>(at - b.subset.begin());
}

// --- An attempt is sent.

InstanceId Balancer::choose(const Attempt& a) {
  One& b = balancer_of(a);
  const Place chosen =
      name_at(b, {a.clients, b.service, a.client, a.request->id, a.entity, a.number, a.number > 1});
  goes_to(b, a, chosen);
  return instance_at(b, chosen);
}

InstanceId Balancer::name(const Asked& asked) {
  One& b = balancer_of(asked.service, asked.clients->index, asked.client);
  return instance_at(b, name_at(b, asked));
}

void Balancer::goes(const Attempt& a) {
  One& b = balancer_of(a);
  goes_to(b, a, place_of(b, a.at->place.instance));
}

inline Balancer::Place Balancer::name_at(One& b, const Asked& asked) {
  const Group& g = *asked.clients;
  DrawsOnDemand draws(*g.key, {asked.entity, asked.number, 0, Purpose::kBalancing});
  const bool avoids = g.avoid_hosts > 0 && asked.been_somewhere;
  return avoids ? choose_new(b, asked, draws) : pick(b, b.rotation, draws);
}

inline void Balancer::goes_to(One& b, const Attempt& a, Place place) {
  const InstanceId instance = instance_at(b, place);
  ++b.under_way[place];
  state_.instance_log->sent(instance, state_.now);
  if (a.clients->avoid_hosts > 0) remember(a, instance);
  if (b.listener && b.listener->accrual && b.listener->accrual->sent(place)) note_changes(b);
}

void Balancer::remember(const Attempt& a, InstanceId instance) {
  earlier_.reach(a.request->id);
  Earlier& earlier = earlier_[a.request->id];
  if (a.number == 1) earlier.clear();
  if (std::ranges::find(earlier, instance) != earlier.end()) return;
  const std::uint64_t before = kernel::bytes_of(earlier);
  earlier.push_back(instance);
  earlier_bytes_ += kernel::bytes_of(earlier) - before;
}

// Picks again while the chosen instance is one that the request has already been to. With least
// connections the same instance would be picked every time, so it is left out of the next pick.
Balancer::Place Balancer::choose_new(One& b, const Asked& asked, DrawsOnDemand& draws) {
  const Earlier& earlier = earlier_[asked.request];
  const auto has_been_at = [&](Place place) {
    return std::ranges::find(earlier, instance_at(b, place)) != earlier.end();
  };
  const std::uint32_t tries = asked.clients->avoid_hosts;
  candidates_ = b.rotation;
  state_.count_work(candidates_.size() * (earlier.size() + 1) / kPlacesPerUnit);
  if (tries == RetryRules::kUnlimited) {
    std::erase_if(candidates_, has_been_at);
    return pick(b, candidates_.empty() ? b.rotation : candidates_, draws);
  }
  for (std::uint32_t k = 0;; ++k) {
    const Place chosen = pick(b, candidates_, draws);
    if (k == tries || !has_been_at(chosen) || candidates_.size() == 1) return chosen;
    if (b.spec->balancing == Balancing::kLeastConnections) std::erase(candidates_, chosen);
  }
}

Balancer::Place Balancer::pick(One& b, const std::vector<Place>& from, DrawsOnDemand& draws) {
  Place chosen = from.front();
  if (from.size() > 1) {
    switch (b.spec->balancing) {
      case Balancing::kRoundRobin:
        chosen = next_by_turns(from, b.last);
        break;
      case Balancing::kRandom:
        chosen = from[draws.all().below(static_cast<std::uint32_t>(from.size()))];
        break;
      case Balancing::kLeastConnections:
        chosen = least_busy(b, from, draws);
        break;
      case Balancing::kTwoChoices:
      case Balancing::kPeakEwma:
        chosen = better_of_two(b, from, draws);
        break;
    }
  }
  b.last = chosen;
  return chosen;
}

// The one after the last, whichever have left or joined the rotation since.
Balancer::Place Balancer::next_by_turns(const std::vector<Place>& from, Place last) {
  const auto next = std::upper_bound(from.begin(), from.end(), last);
  return next == from.end() ? from.front() : *next;
}

Balancer::Place Balancer::least_busy(const One& b, const std::vector<Place>& from,
                                     DrawsOnDemand& draws) {
  state_.count_work(from.size() / kPlacesPerUnit);
  std::uint32_t least = b.under_way[from.front()];
  equals_.clear();
  for (const Place i : from) {
    const std::uint32_t here = b.under_way[i];
    if (here > least) continue;
    if (here < least) equals_.clear();
    least = here;
    equals_.push_back(i);
  }
  if (equals_.size() == 1 || b.spec->ties == Ties::kFirst) return equals_.front();
  if (b.spec->ties == Ties::kTurns) return next_by_turns(equals_, b.last);
  return equals_[draws.all().below(static_cast<std::uint32_t>(equals_.size()))];
}

Balancer::Place Balancer::better_of_two(One& b, const std::vector<Place>& from,
                                        DrawsOnDemand& draws) {
  const auto n = static_cast<std::uint32_t>(from.size());
  const std::uint32_t first = draws.all().below(n);
  std::uint32_t second = draws.all().below(n - 1);
  if (second >= first) ++second;
  const Place x = from[first], y = from[second];
  const double at_x = cost_of(b, x), at_y = cost_of(b, y);
  if (at_x != at_y) return at_y < at_x ? y : x;
  // The first of the two drawn is each of them with equal chances.
  if (b.spec->ties == Ties::kRandom) return x;
  equals_ = {std::min(x, y), std::max(x, y)};
  return b.spec->ties == Ties::kFirst ? equals_.front() : next_by_turns(equals_, b.last);
}

double Balancer::cost_of(One& b, Place place) const {
  const double under_way = b.under_way[place];
  if (b.spec->balancing == Balancing::kTwoChoices) return under_way;
  Latency& latency = b.latencies[place];
  observe(b, latency, 0);
  // If nothing is known of an instance before its first attempt has ended, avoid sending it more.
  constexpr double kPenalty = 0x1p47 - 1;
  const bool avoids = b.spec->first_latency == Duration::max();
  return avoids && latency.ns == 0 && under_way > 0 ? kPenalty + under_way
                                                    : latency.ns * (under_way + 1);
}

// An average of exponential decay, which a longer latency raises at once.
void Balancer::observe(const One& b, Latency& latency, double ns) const {
  if (ns > latency.ns) {
    latency.ns = ns;
  } else {
    const auto passed = static_cast<double>((state_.now - latency.since).count());
    const double left = kernel::exp(-passed / static_cast<double>(b.spec->decay.count()));
    latency.ns = latency.ns * left + ns * (1 - left);
  }
  latency.since = state_.now;
}

// --- It has ended.

void Balancer::ended(const Attempt& a, AttemptResult result) {
  const InstanceId instance = a.at->place.instance;
  One& b = balancer_of(a);
  const Place place = place_of(b, instance);
  assert(b.under_way[place] > 0);
  --b.under_way[place];
  state_.instance_log->ended(instance, result, state_.now);
  if (!b.latencies.empty()) {
    observe(b, b.latencies[place], static_cast<double>((state_.now - a.sent).count()));
  }
  if (b.listener) listen(b, place, a, result);
}

void Balancer::listen(One& b, Place place, const Attempt& a, AttemptResult result) {
  Verdict verdict = Verdict::kNothing;
  if (!a.given_up()) {
    verdict = verdict_of(state_.answers[a.answer]);
  } else if (result == AttemptResult::kTimeout) {
    verdict = verdict_of(state_.answers[Answers::kNoAnswer]);
  }
  Listener& l = *b.listener;
  bool changed = l.outliers && l.outliers->heard(place, verdict, state_.now);
  if (l.accrual && l.accrual->heard(place, verdict, b.under_way[place] == 0)) {
    changed = true;
    if (l.accrual->is_punished(place)) punish(b, place);
  }
  if (changed) note_changes(b);
}

void Balancer::punish(One& b, Place place) {
  const FailureAccrual& accrual = *b.listener->accrual;
  const InstanceId instance = instance_at(b, place);
  const std::uint64_t entity = std::uint64_t{b.client} << 32 | accrual.penalties(place);
  Draws draws(keys_[b.key], {entity, state_.instances.number_of(instance), 0, Purpose::kPenalty});
  state_.instance_log->ejected(instance, state_.now);
  schedule(static_cast<std::uint32_t>(&b - all_.data()), 1 + std::uint32_t{place},
           accrual.penalty(place, draws.uniform()));
}

// --- Who is in rotation.

void Balancer::rebuild_rotation(One& b) {
  const auto known = static_cast<Place>(b.under_way.size());
  state_.count_work(1 + known / kPlacesPerUnit);
  b.rotation.clear();
  for (Place i = 0; i < known; ++i) {
    const bool out = b.listener && b.listener->out[i];
    if (!out && instances_[instance_at(b, i)].healthy) b.rotation.push_back(i);
  }
  if (!b.rotation.empty() && !b.spec->panics(b.rotation.size(), known)) return;
  b.rotation.resize(known);
  std::iota(b.rotation.begin(), b.rotation.end(), Place{0});
}

// Takes note of what has changed in the opinion of a balancer.
void Balancer::note_changes(One& b) {
  Listener& l = *b.listener;
  state_.count_work(l.out.size() / kPlacesPerUnit);
  for (Place i = 0; i < l.out.size(); ++i) {
    const bool ejected = l.outliers && l.outliers->is_out(i);
    const bool out = ejected || (l.accrual && l.accrual->is_out(i));
    if (ejected == (l.ejected[i] != 0) && out == (l.out[i] != 0)) continue;
    const InstanceId instance = instance_at(b, i);
    if (ejected && l.ejected[i] == 0) state_.instance_log->ejected(instance, state_.now);
    std::uint32_t& out_at = instances_[instance].out_at;
    out_at = out_at + std::uint32_t{out} - l.out[i];
    l.ejected[i] = ejected;
    l.out[i] = out;
    log_rotation(instance);
  }
  rebuild_rotation(b);
}

void Balancer::log_rotation(InstanceId instance) {
  const OfInstance& own = instances_[instance];
  const double share = own.known_by == 0 ? 0 : static_cast<double>(own.out_at) / own.known_by;
  state_.instance_log->out_of_rotation(instance, own.healthy ? share : 1, share, state_.now);
}

void Balancer::set_in_rotation(InstanceId instance, bool in) {
  instances_[instance].healthy = in;
  log_rotation(instance);
  const OfService& own = services_[state_.instances.service_of(instance)];
  for (std::uint32_t i = own.first; i < own.end; ++i) {
    if (i % 8 == 0) state_.count_work();
    if (place_of(all_[i], instance) != kNoPlace) rebuild_rotation(all_[i]);
  }
}

void Balancer::passed_check(InstanceId instance) {
  const OfService& own = services_[state_.instances.service_of(instance)];
  for (std::uint32_t i = own.first; i < own.end; ++i) {
    if (i % 8 == 0) state_.count_work();
    One& b = all_[i];
    if (!b.listener || !b.listener->outliers) continue;
    const Place place = place_of(b, instance);
    if (place == kNoPlace || !b.listener->outliers->passed_check(place, state_.now)) continue;
    note_changes(b);
  }
}

// --- Events.

void Balancer::add_sources() {
  const bool some = std::ranges::any_of(all_, [](const One& b) { return bool(b.listener); });
  if (some) source_ = state_.add_source(EventKind::kEjection);
}

// The looks of a service's balancers are spread evenly over the interval.
void Balancer::start() {
  for (const std::size_t at : name_order(state_.scenario.services)) {
    if (services_.empty()) return;
    const OfService& own = services_[ServiceId(at)];
    const auto interval_ns =
        static_cast<double>(state_.scenario.services[at].instances.ejection.interval.count());
    for (std::uint32_t i = own.first; i < own.end; ++i) {
      if (!all_[i].listener || !all_[i].listener->outliers) continue;
      state_.count_work();
      const double turn = (i - own.first + 1.0) / (own.end - own.first);
      schedule(i, kLook, Duration::from_nanoseconds(interval_ns * turn));
    }
  }
}

void Balancer::schedule(std::uint32_t balancer, std::uint32_t what, Duration after) {
  timers_.push({state_.key_in(after), balancer, what});
  state_.queue.set(source_, timers_.head());
}

void Balancer::due() {
  const kernel::TimerEntry timer = timers_.pop();
  state_.queue.set(source_, timers_.head());
  state_.note_event(EventKind::kEjection, std::uint64_t{timer.kind} << 32 | timer.entity);
  One& b = all_[timer.entity];
  if (timer.kind == kLook) {
    schedule(timer.entity, kLook, b.spec->ejection.interval);
    state_.count_work(b.under_way.size() / 16);
    if (b.listener->outliers->look(state_.now)) note_changes(b);
  } else {
    b.listener->accrual->penalty_over(timer.kind - 1);
    note_changes(b);
  }
}

// --- At the end.

std::uint64_t Balancer::under_way(ServiceId service) const {
  const OfService& own = services_[service];
  std::uint64_t sum = 0;
  for (std::uint32_t i = own.first; i < own.end; ++i) {
    state_.count_work(1 + all_[i].under_way.size() / kPlacesPerUnit);
    for (const std::uint32_t n : all_[i].under_way) sum += n;
  }
  return sum;
}

Balancer::MostEjected Balancer::most_ejected(ServiceId service) const {
  const OfService& own = services_[service];
  MostEjected most;
  for (std::uint32_t i = own.first; i < own.end; ++i) {
    const One& b = all_[i];
    most.known = static_cast<std::uint32_t>(b.under_way.size());
    if (!b.listener || !b.listener->outliers) continue;
    most.ejected = std::max(most.ejected, b.listener->outliers->most_out());
  }
  return most;
}

void Balancer::close(RunResult& result) {
  if (!state_.instance_log) return;
  for (const ServiceId service : Ids<ServiceId>(services_.size())) {
    const Ids<InstanceId> ids = state_.instances.of(service);
    if (ids.size() == 1) continue;
    result.services[service].listens = state_.scenario.services[service].instances.listens();
    for (const InstanceId i : ids)
      result.services[service].instances.push_back(state_.instance_log->close(i));
  }
}

// --- Health checks.

void HealthChecks::add_sources() {
  const std::vector<ServiceSpec>& services = state_.scenario.services;
  const bool some = std::ranges::any_of(services, [](const ServiceSpec& s) {
    return s.instances.count > 1 && s.instances.health_check.enabled();
  });
  if (!some) return;
  source_ = state_.add_source(EventKind::kHealthCheck);
  patients_.resize(state_.instances.size());
  ranks_.resize(services.size());
  std::size_t rank = 0;
  for (const std::size_t i : name_order(services)) ranks_[ServiceId(i)] = rank++;
}

void HealthChecks::start() {
  if (patients_.empty()) return;
  for (const std::size_t at : name_order(state_.scenario.services)) {
    const ServiceSpec& spec = state_.scenario.services[at];
    if (spec.instances.count == 1 || !spec.instances.health_check.enabled()) continue;
    const double pause_ns =
        static_cast<double>(spec.instances.health_check.interval.count()) / spec.instances.count;
    for (const InstanceId i : state_.instances.of(ServiceId(at))) {
      const double turn = state_.instances.number_of(i) + 1.0;
      schedule(i, Step::kBegin, Duration::from_nanoseconds(pause_ns * turn));
    }
  }
}

void HealthChecks::schedule(InstanceId instance, Step step, Duration after) {
  timers_.push({state_.key_in(after), instance, static_cast<std::uint32_t>(step)});
  state_.queue.offer(source_, timers_.head());
}

void HealthChecks::due() {
  const kernel::TimerEntry timer = timers_.pop();
  state_.queue.set(source_, timers_.head());
  const InstanceId instance(timer.entity);
  const std::uint64_t rank = ranks_[state_.instances.service_of(instance)];
  state_.note_event(EventKind::kHealthCheck, rank << 32 | state_.instances.number_of(instance));
  const auto step = static_cast<Step>(timer.kind);
  if (step == Step::kBegin) return begin(instance);
  book(instance, step == Step::kPassed);
}

void HealthChecks::begin(InstanceId instance) {
  const HealthCheckSpec& spec = state_.instances[instance].spec().instances.health_check;
  const Outcome outcome = examine(instance, ++patients_[instance].checks);
  schedule(instance, outcome.step, outcome.after);
  schedule(instance, Step::kBegin, spec.interval);
}

HealthChecks::Outcome HealthChecks::examine(InstanceId instance, std::uint64_t number) const {
  const Instance& s = state_.instances[instance];
  const ServiceSpec& spec = s.spec();
  const Impairment& wrong = s.impairment();
  const Duration timeout = spec.instances.health_check.timeout;
  const Outcome no_answer{Step::kFailed, timeout};
  const RandomKey key = state_.streams.of_instance(state_.instances.service_of(instance),
                                                   state_.instances.number_of(instance));
  Draws draws(key, {number, 0, 0, Purpose::kHealthCheck});
  const bool request_lost = draws.uniform() < wrong.request_loss;
  const bool lost = draws.uniform() < wrong.response_loss || request_lost;
  const double luck = draws.uniform();
  const Distribution& latency = state_.scenario.network.latency;
  const Duration round_trip = latency.sample(draws) + latency.sample(draws) + wrong.latency * 2;
  if (wrong.black_hole || lost) return no_answer;
  const bool refused =
      wrong.unreachable || (!wrong.errors.empty() && luck < wrong.errors.back().first);
  if (refused) return {Step::kFailed, std::min(round_trip, timeout)};
  if (s.power().working_servers() == 0 || wrong.speed == 0) return no_answer;
  const auto work_ns = static_cast<double>(spec.service_time.sample(draws).count());
  Outcome outcome{Step::kPassed, {}};
  double worked = 1;
  const double further_luck = wrong.late_errors.empty() ? 1 : draws.uniform();
  for (const LateError& e : wrong.late_errors) {
    if (further_luck >= e.cumulative) continue;
    outcome.step = Step::kFailed;
    worked = e.share;
    break;
  }
  outcome.after = round_trip + Duration::from_nanoseconds(worked * work_ns / wrong.speed);
  return outcome.after > timeout ? no_answer : outcome;
}

void HealthChecks::book(InstanceId instance, bool passed) {
  const HealthCheckSpec& spec = state_.instances[instance].spec().instances.health_check;
  Patient& patient = patients_[instance];
  patient.passes = passed ? patient.passes + 1 : 0;
  patient.failures = passed ? 0 : patient.failures + 1;
  const bool changes = patient.in_rotation ? patient.failures >= spec.unhealthy_threshold
                                           : patient.passes >= spec.healthy_threshold;
  if (changes) {
    patient.in_rotation = !patient.in_rotation;
    balancer_.set_in_rotation(instance, patient.in_rotation);
  }
  if (passed && patient.in_rotation) balancer_.passed_check(instance);
}

}  // namespace retrysim::model

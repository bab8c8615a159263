// SPDX-License-Identifier: MIT
#include "model/service/outside.hpp"

#include "kernel/stop.hpp"
#include "model/network/network.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"
#include "model/service/services.hpp"

#include <algorithm>

namespace retrysim::model {

void FaultTimeline::sort() {
  StopCounter<> stop;
  std::ranges::stable_sort(changes_, [&](const Change& a, const Change& b) {
    stop.count();
    if (a.time != b.time) return a.time < b.time;
    return scenario_->services[a.service].name < scenario_->services[b.service].name;
  });
}

namespace {

double profile_factor(const std::optional<CapacityProfile>& profile, Time now) {
  if (!profile) return 1;
  const auto after = std::upper_bound(profile->times.begin(), profile->times.end(), now);
  return profile->factors[static_cast<std::size_t>(after - profile->times.begin()) - 1];
}

double either(double a, double b) { return b == 0 ? a : 1 - (1 - a) * (1 - b); }

}  // namespace

// Sources of errors are independent: an attempt that escapes the first may meet the second.
Impairment FaultTimeline::at(std::size_t service, std::uint32_t instance, Time now) const {
  Impairment all;
  all.capacity = profile_factor(scenario_->services[service].profile, now);
  all.request_loss = scenario_->network.request_loss;
  all.response_loss = scenario_->network.response_loss;
  std::vector<const Errors*> late;
  double escaped = 1;
  double up_to = 0;  // rounding must not make it fall
  const auto meet = [&](const Errors& errors, auto&& enter) {
    double hit = 0;
    for (const NumberedError& e : errors.all) {
      hit += e.probability;
      up_to = std::max(up_to, 1 - escaped * (1 - hit));
      enter(up_to, e.answer);
    }
    escaped *= 1 - hit;
  };
  const auto add = [&](const Errors& errors) {
    if (!errors.at.on_arrival()) return late.push_back(&errors);
    meet(errors, [&](double p, std::uint16_t answer) { all.errors.emplace_back(p, answer); });
  };
  add(service_errors_[service]);
  FaultsOfService& faults = faults_of_[service];
  for (; faults.begun < faults.by_start.size(); ++faults.begun) {
    const std::size_t next = faults.by_start[faults.begun];
    if (scenario_->faults[order_[next]].start > now) break;
    faults.on.insert(next);
  }
  std::erase_if(faults.on, [&](std::size_t i) {
    const FaultSpec& f = scenario_->faults[order_[i]];
    return now >= f.start + f.duration;
  });
  for (const std::size_t i : faults.on) {
    const FaultSpec& f = scenario_->faults[order_[i]];
    if (!f.concerns(instance)) continue;
    all.capacity *= f.capacity;
    all.speed *= f.speed;
    all.latency += f.latency;
    all.unreachable |= f.unreachable;
    all.black_hole |= f.black_hole;
    all.request_loss = either(all.request_loss, f.request_loss);
    all.response_loss = either(all.response_loss, f.response_loss);
    add(fault_errors_[i]);
  }
  std::ranges::stable_sort(late, {}, [](const Errors* e) { return e->at.share; });
  escaped = 1;
  up_to = 0;
  for (const Errors* errors : late) {
    meet(*errors, [&](double p, std::uint16_t answer) {
      all.late_errors.push_back({p, answer, errors->at.share});
    });
  }
  return all;
}

// --- What services do about it.

void Services::add_outside_sources() {
  scaling_sources_.assign(state_.instances.services(), kNone);
  for (const ServiceId i : Ids<ServiceId>(scaling_sources_.size())) {
    if (state_.instances[state_.instances.first(i)].autoscaler() == nullptr) continue;
    scaling_sources_[i] = state_.add_source(EventKind::kScaling, i);
  }
  if (faults_.size() > 0) fault_source_ = state_.add_source(EventKind::kFault);
}

void Services::start() {
  for (const std::size_t at : name_order(state_.scenario.services)) {
    const ServiceId i(at);
    if (scaling_sources_[i] == kNone) continue;
    Instance& s = state_.instances[state_.instances.first(i)];
    changed(s);
    state_.queue.offer(scaling_sources_[i], {s.autoscaler()->next(), state_.sequence++});
  }
  if (fault_source_ != kNone) state_.queue.offer(fault_source_, {faults_.next(), faults_begun_});
}

// There may be thousands of faults at once, and of errors.
Impairment Services::impairment_of(InstanceId instance) const {
  constexpr std::uint64_t kPartsPerUnit = 8;
  const Instances& all = state_.instances;
  const ServiceId service = all.service_of(instance);
  Impairment impairment = faults_.at(service, all.number_of(instance), state_.now);
  limits_.count_work(
      (faults_.at_once(service) + impairment.errors.size() + impairment.late_errors.size()) /
      kPartsPerUnit);
  return impairment;
}

void Services::faults_change() {
  const FaultTimeline::Change change = faults_.pop();
  const ServiceId service(change.service);
  state_.note_event(EventKind::kFault, ranks_[service]);
  for (const InstanceId instance : state_.instances.of(service)) {
    if (change.concerns(state_.instances.number_of(instance))) change_instance(instance, change);
  }
  state_.queue.set(fault_source_, {faults_.next(), ++faults_begun_});
}

void Services::change_instance(InstanceId instance, const FaultTimeline::Change& change) {
  limits_.count_work(1);
  Instance& s = state_.instances[instance];
  std::vector<AttemptId> broken_off;
  if (change.cold_restart()) {
    broken_off = break_off(s, s.take_all(state_.now));
  } else if (change.crash()) {
    broken_off = break_off(s, s.in_service.take_all(state_.now));
  }
  s.impair(impairment_of(instance), state_.now);
  connections_break(broken_off);  // the new faults decide whether and when clients learn of it
  if (change.cold_restart()) {
    const bool whole = change.fault->instance == FaultSpec::kAllInstances;
    s.forget(whole, state_.now);
    if (s.traits().calls_others) calls_.forget(instance);
  }
  serve_queue(s);
  changed(s);
}

// The attempts that have been taken out of queue and servers, and those for which a server is held.
std::vector<AttemptId> Services::break_off(Instance& s, const std::vector<std::uint32_t>& taken) {
  std::vector<AttemptId> all;
  for (const std::uint32_t id : taken) all.emplace_back(id);
  for (const AttemptId id : state_.holders.at(s.place.instance)) {
    limits_.count_work(1);
    cancel_wait(id);
    s.in_service.abort(state_.attempts[id], state_.now);
    all.push_back(id);
  }
  return all;
}

void Services::connections_break(const std::vector<AttemptId>& broken_off) {
  for (const AttemptId id : broken_off) {
    limits_.count_work(1);
    Attempt& a = state_.attempts[id];
    watch_.leave(a);
    if (a.given_up()) {
      if (a.stage != Attempt::Stage::kQueued) wasted_work(a);
      a.clients->recorder->passage.dropped(a.in_cohort);
      attempts_.release(a);
    } else {
      a.at->place.recorder->error_answered();
      network_.answer(a, Answers::kConnectionRefused);
    }
  }
}

void Services::scaling_due(ServiceId service) {
  Instance& s = state_.instances[state_.instances.first(service)];
  Autoscaler& scaler = *s.autoscaler();
  state_.note_event(EventKind::kScaling, ranks_[service]);
  scaler.observe(s.servers().busy(), s.power().working_servers(), state_.now);
  scaler.step(state_.now);
  limits_.count_work(s.impairment().errors.size() / 64);  // which are copied
  s.rescale(state_.now);
  serve_queue(s);
  changed(s);
  state_.queue.set(scaling_sources_[service], {scaler.next(), state_.sequence++});
}

}  // namespace retrysim::model

// SPDX-License-Identifier: MIT
#include "model/service/calls.hpp"

#include "flow/calls.hpp"
#include "kernel/stop.hpp"
#include "model/run/state.hpp"
#include "model/service/instance.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace retrysim::model {
namespace {

constexpr std::uint64_t kLooksPerUnit = 8;     // at calls that may be made: a unit of work
constexpr std::uint64_t kEntriesPerUnit = 16;  // of a cache, which are removed

// Of the requests that an attempt makes; fallbacks are named after others.
Draws names_of_calls(const Attempt& a) {
  return Draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kCall});
}

}  // namespace

// --- The plan of a service: stages, and the calls of each.

void Calls::link_services() {
  const std::vector<ClientSpec>& clients = state_.scenario.clients;
  const std::vector<ServiceSpec>& services = state_.scenario.services;
  const flow::CallGraph graph(state_.scenario);
  plans_.resize(services.size());
  const OperationNames names(state_.scenario);
  const bool caches = std::ranges::any_of(
      state_.scenario.calls, [](const CallSpec& call) { return call.cache.keeps_answers(); });
  std::vector<std::uint32_t> keys;  // at each service
  if (caches) keys = flow::keys_at(state_.scenario);
  std::vector<std::uint16_t> places(state_.scenario.calls.size(), kNoCall);
  for (const ServiceId caller : Ids<ServiceId>(services.size())) {
    stop_point();
    if (graph.calls_of(caller).empty()) continue;
    if (services[caller].model == ServiceModelKind::kOcc) {
      throw std::invalid_argument("a service of model \"occ\" makes no calls");
    }
    Plan& plan = plans_[caller];
    const auto add = [&](std::size_t call) {
      if (clients[state_.scenario.calls[call].client].count != services[caller].instances.count) {
        throw std::invalid_argument("a service calls another as one client for each instance");
      }
      places[call] = static_cast<std::uint16_t>(plan.calls.size());
      add_call(plan, call, names, keys);
    };
    for (const std::vector<std::size_t>& calls : graph.stages_of(caller)) {
      Stage& stage = plan.stages.emplace_back();
      stage.first = static_cast<std::uint16_t>(plan.calls.size());
      for (const std::size_t call : calls) add(call);
      stage.end = static_cast<std::uint16_t>(plan.calls.size());
    }
    for (const std::size_t call : graph.calls_of(caller)) {
      if (places[call] == kNoCall) add(call);
    }
    for (const std::size_t call : graph.calls_of(caller)) {
      if (const auto other = graph.fallback_of(call)) {
        plan.calls[places[call]].fallback = places[*other];
      }
    }
    for (const std::size_t call : graph.calls_of(caller)) places[call] = kNoCall;
    for (Stage& stage : plan.stages) {
      std::map<std::string_view, std::uint16_t> choices;  // by name
      stage.first_choice = static_cast<std::uint16_t>(plan.choices.size());
      for (std::uint16_t i = stage.first; i < stage.end; ++i) {
        Call& call = plan.calls[i];
        stage.is_plain &= flow::is_plain(*call.spec);
        stage.orders.push_back({call.group, 1, static_cast<std::uint16_t>(i - stage.first), i});
        if (call.spec->one_of.empty()) continue;
        const auto number = static_cast<std::uint16_t>(plan.choices.size());
        const auto [choice, is_new] = choices.try_emplace(call.spec->one_of, number);
        if (is_new) plan.choices.emplace_back();
        call.choice = choice->second;
        plan.choices[call.choice].push_back(i);
      }
      stage.end_choice = static_cast<std::uint16_t>(plan.choices.size());
      stage.work = 1 + std::uint64_t{stage.end - std::uint32_t{stage.first}} / kLooksPerUnit;
    }
    for (const InstanceId instance : state_.instances.of(caller)) {
      state_.instances[instance].call_others();
    }
  }
  if (!flow::circle_of_calls(state_.scenario).empty()) {
    throw std::invalid_argument("services call each other in a circle");
  }
}

void Calls::add_call(Plan& plan, std::size_t call, const OperationNames& names,
                     std::span<const std::uint32_t> keys) {
  const CallSpec& spec = state_.scenario.calls[call];
  Call added{&spec,
             GroupId(spec.client),
             &state_.streams.of_group(spec.client),
             &state_.streams.of_requests(spec.client),
             {}};
  if (spec.cache.keeps_answers()) {
    if (spec.cache.hit > 0) {
      throw std::invalid_argument("a cache hits by chance or by what it keeps, not both");
    }
    added.caches = static_cast<std::uint32_t>(caches_.size());
    const std::uint32_t instances = state_.scenario.services[spec.caller].instances.count;
    caches_.emplace_back();
    for (std::uint32_t i = 0; i < instances; ++i) {
      stop_point();
      caches_.back().emplace_back(spec.cache, keys[spec.caller]);
    }
  }
  for (const std::string& name : spec.operations) added.operations.push_back(names.number(name));
  std::ranges::sort(added.operations);
  plan.calls.push_back(std::move(added));
}

ServiceId Calls::service_of(const Attempt& a) { return a.at->place.service; }

// --- Which calls are made.

class Calls::Choice {
 public:
  /// In a stage; without one there are no alternatives.
  Choice(const RunState& state, const Attempt& a, const Stage* stage = nullptr)
      : state_(state), a_(a), stage_(stage) {}

  /// The draw for one call, or for the alternatives that begin with it.
  DrawId draw(Purpose purpose) {
    if (!request_) {
      request_ =
          Draws::first_word(*a_.clients->subject_key, {a_.entity, 0, 0, Purpose::kCallChoice});
    }
    return {*request_, 0, 0, purpose};
  }
  double uniform(const Call& call) {
    const std::uint64_t word = Draws::first_word(*call.choice_key, draw(Purpose::kCallChoice));
    return static_cast<double>(word >> 11) * 0x1p-53;
  }
  std::uint32_t operation() {
    if (!operation_) operation_ = state_.operation_of(a_);
    return *operation_;
  }
  /// The alternative that is made: drawn once, when it is asked for the first time.
  std::uint16_t one_of(const Plan& plan, std::uint16_t choice) {
    const std::uint16_t first = stage_->first_choice;
    if (chosen_.empty()) chosen_.resize(std::size_t{stage_->end_choice} - first, kNoCall);
    std::uint16_t& chosen = chosen_[std::size_t{choice} - first];
    if (chosen == kNoCall) chosen = choose(plan, choice);
    return chosen;
  }

 private:
  std::uint16_t choose(const Plan& plan, std::uint16_t choice);

  const RunState& state_;
  const Attempt& a_;
  const Stage* stage_;
  std::optional<std::uint64_t> request_;  // its name
  std::optional<std::uint32_t> operation_;
  std::vector<std::uint16_t> chosen_;  // of the choices of the stage
};

bool Calls::permits(const Call& call, Choice& choice) {
  return call.operations.empty() || std::ranges::binary_search(call.operations, choice.operation());
}

// Each with the chance of its weight among those that are permitted.
std::uint16_t Calls::Choice::choose(const Plan& plan, std::uint16_t choice) {
  const std::vector<std::uint16_t>& all = plan.choices[choice];
  double sum = 0;
  for (const std::uint16_t i : all) {
    if (permits(plan.calls[i], *this)) sum += plan.calls[i].spec->share;
  }
  const double chosen_at = uniform(plan.calls[all.front()]) * sum;
  double up_to = 0;
  std::uint16_t last = kNoCall;
  for (const std::uint16_t i : all) {
    if (!permits(plan.calls[i], *this)) continue;
    up_to += plan.calls[i].spec->share;
    last = i;
    if (chosen_at < up_to) break;
  }
  return last;
}

bool Calls::is_made(const Plan& plan, std::uint16_t call, Choice& choice) {
  const Call& c = plan.calls[call];
  if (!permits(c, choice)) return false;
  if (c.choice == kNoCall) return c.spec->share >= 1 || choice.uniform(c) < c.spec->share;
  return call == choice.one_of(plan, c.choice);
}

// How many requests a call consists of; 0: it is not made.
std::uint16_t Calls::copies_of(const Plan& plan, std::uint16_t call, Choice& choice) {
  if (!is_made(plan, call, choice)) return 0;
  const Call& c = plan.calls[call];
  if (!c.spec->random_count) return static_cast<std::uint16_t>(c.spec->count);
  constexpr std::int64_t kOne = 1'000'000'000;
  const std::int64_t drawn =
      c.spec->random_count->sample(*c.choice_key, choice.draw(Purpose::kCallCount)).count();
  const std::int64_t most = std::min(drawn, CallSpec::kMaxCopies * kOne);
  return static_cast<std::uint16_t>((most + kOne / 2) / kOne);
}

// The first stage from this one on in which calls are made; false if there is none.
bool Calls::find_orders(const Attempt& a, std::size_t stage) {
  const Plan& plan = plan_of(a);
  due_.clear();
  for (; stage < plan.stages.size(); ++stage) {
    due_stage_ = static_cast<std::uint16_t>(stage);
    const Stage& s = plan.stages[stage];
    if (s.is_plain) return true;
    state_.count_work(s.work);
    Choice choice(state_, a, &s);
    for (std::uint16_t i = s.first; i < s.end; ++i) {
      const std::uint16_t copies = copies_of(plan, i, choice);
      if (copies == 0 || look_up(plan.calls[i], a)) continue;
      due_.push_back({plan.calls[i].group, copies, static_cast<std::uint16_t>(due_.size()), i});
    }
    if (!due_.empty()) return true;
  }
  return false;
}

// --- An attempt makes them.

bool Calls::choose_first(const Attempt& a) { return find_orders(a, 0); }

std::span<const Calls::Order> Calls::begin(const Attempt& a) {
  progress_.reach(a.id);
  Progress& p = progress_[a.id];
  ++state_.sequence;
  p = {p.serial, 0, 0, true, false, false, true};
  state_.holders.begin(a.id, a.at->place.instance);
  return enter_stage(a);
}

// That which `find_orders` has found.
std::span<const Calls::Order> Calls::enter_stage(const Attempt& a) {
  Progress& p = progress_[a.id];
  const Plan& plan = plan_of(a);
  const Stage& stage = plan.stages[due_stage_];
  const std::vector<Order>& orders = stage.is_plain ? stage.orders : due_;
  ++p.serial;
  p.stage = due_stage_;
  p.is_plain = stage.is_plain;
  p.open = static_cast<std::uint16_t>(orders.size());
  if (stage.is_plain) return orders;
  slots_.reach(a.id);
  std::vector<Slot>& slots = slots_[a.id];
  slot_bytes_ -= slots.capacity() * sizeof(Slot);
  slots.clear();
  for (const Order& o : orders) {
    const std::uint32_t need = plan.calls[o.call].spec->need;
    Slot& slot = slots.emplace_back();
    slot.call = o.call;
    slot.open = o.copies;
    slot.needed = static_cast<std::uint16_t>(std::min<std::uint32_t>(need, o.copies));
  }
  slot_bytes_ += slots.capacity() * sizeof(Slot);
  return orders;
}

Draws Calls::names_of(const Attempt& a, const Order& order) const {
  if (progress_[a.id].is_plain) return names_of_calls(a);
  return names_of(a, slots_[a.id][order.slot]);
}

// A fallback is named after the call that has failed: if it is that of several calls, it is a
// request of its own for each.
Draws Calls::names_of(const Attempt& a, const Slot& slot) const {
  if (!slot.replaced) return names_of_calls(a);
  return Draws(*plan_of(a).calls[*slot.replaced].key, {slot.name, 0, 0, Purpose::kCall});
}

std::span<const Calls::Order> Calls::next(const Attempt& a, CallId id) {
  Progress& p = progress_[a.id];
  if (!p.is_plain) {
    Slot& slot = slots_[a.id][id.slot];
    if (slot.falls_back) {
      slot.falls_back = false;
      due_.assign(1, {plan_of(a).calls[slot.call].group, slot.open, id.slot, slot.call});
      return due_;
    }
  }
  if (p.failed || !find_orders(a, p.stage + std::size_t{1})) return {};
  return enter_stage(a);
}

bool Calls::ended(CallId id, bool succeeded) {
  if (!is_waiting(id)) return false;  // the attempt is gone
  Progress& p = progress_[id.attempt];
  if (!p.is_plain) return ended_in_slot(id, succeeded);
  p.failed |= !succeeded;
  return --p.open == 0;
}

// A call is decided as soon as enough of its requests have succeeded, or too many have failed.
bool Calls::ended_in_slot(CallId id, bool succeeded) {
  Progress& p = progress_[id.attempt];
  Slot& slot = slots_[id.attempt][id.slot];
  if (slot.decided || slot.call != id.call) return false;
  --slot.open;
  if (succeeded) --slot.needed;
  if (slot.needed > 0) {
    if (slot.open >= slot.needed) return false;
    switch (plan_of(state_.attempts[id.attempt]).calls[slot.call].spec->on_failure) {
      case CallFailure::kFail:
        p.failed = true;
        break;
      case CallFailure::kIgnore:
        p.degraded = true;
        break;
      case CallFailure::kFallback:
        switch (begin_fallback(state_.attempts[id.attempt], slot)) {
          case Instead::kCall:
            p.degraded = true;
            return true;
          case Instead::kCachedAnswer:
            p.degraded = true;
            break;
          case Instead::kNothing:
            p.failed = true;
            break;
        }
        break;
    }
  } else {
    const Attempt& a = state_.attempts[id.attempt];
    keep_answer(plan_of(a).calls[slot.call], a);
  }
  slot.decided = true;
  return --p.open == 0;
}

// Nothing if the request is none of those for which the other call is made.
Calls::Instead Calls::begin_fallback(const Attempt& a, Slot& slot) {
  const Plan& plan = plan_of(a);
  Choice choice(state_, a);
  const std::uint16_t other = plan.calls[slot.call].fallback;
  const std::uint16_t copies = copies_of(plan, other, choice);
  if (copies == 0) return Instead::kNothing;
  if (look_up(plan.calls[other], a)) return Instead::kCachedAnswer;
  const std::uint32_t need = plan.calls[other].spec->need;
  slot.name = names_of(a, slot).next();
  slot.replaced = slot.call;
  slot.call = other;
  slot.open = copies;
  slot.needed = static_cast<std::uint16_t>(std::min<std::uint32_t>(need, copies));
  slot.falls_back = true;
  return Instead::kCall;
}

// --- Caches.

Cache& Calls::cache_of(const Call& call, const Attempt& a) {
  return caches_[call.caches][state_.instances.number_of(a.at->place.instance)];
}

// Whether the answer is there, so that the call is not made. The look-up is counted, and the entry
// becomes the one used last.
bool Calls::look_up(const Call& call, const Attempt& a) {
  const CacheSpec& cache = call.spec->cache;
  if (!cache.in_use()) return false;
  bool hit = false;
  if (cache.keeps_answers()) {
    hit = cache_of(call, a).find(state_.key_of(a), state_.now);
  } else {
    hit = Draws(*call.key, {names_of_calls(a).next(), 0, 0, Purpose::kCache}).uniform() < cache.hit;
  }
  state_.recorder.client(call.group).looked_up(a.in_cohort, hit);
  return hit;
}

// The call has succeeded, and the attempt that it was made for has waited for it.
void Calls::keep_answer(const Call& call, const Attempt& a) {
  if (call.caches == kNone) return;
  cache_of(call, a).store(state_.key_of(a), state_.now);
}

void Calls::forget(InstanceId instance) {
  const std::uint32_t number = state_.instances.number_of(instance);
  for (const Call& call : plans_[state_.instances.service_of(instance)].calls) {
    if (call.caches == kNone) continue;
    Cache& cache = caches_[call.caches][number];
    state_.count_work(1 + cache.size() / kEntriesPerUnit);
    cache.clear();
  }
}

Calls::Outcome Calls::end(AttemptId attempt) {
  Progress& p = progress_[attempt];
  if (p.active) state_.holders.end(attempt);
  p.active = false;
  return {p.failed, p.degraded};
}

}  // namespace retrysim::model

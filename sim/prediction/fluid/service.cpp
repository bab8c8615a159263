// One bin of time at the service.
//
// SPDX-License-Identifier: MIT
#include "prediction/fluid/service.hpp"

#include <algorithm>
#include <cmath>

#include "prediction/facts/delay_law.hpp"

namespace retrysim::prediction {

FluidService::FluidService(const FluidSystem& system, double step, std::size_t steps)
    : system_(system),
      step_(step),
      steps_(steps),
      tokens_(system.throttle_burst),
      shares_(system.groups.size()) {
  using Kind = Distribution::Kind;
  const Kind kind = system.service_law.kind();
  light_ = kind == Kind::kConstant || kind == Kind::kExponential || kind == Kind::kUniform ||
           kind == Kind::kErlang;
  for (const FluidClients& g : system.groups) {
    group_tokens_.push_back(system.throttle_burst * g.clients);
  }
}

void FluidService::begin(double now) {
  now_ = now;
  while (start_of(stretch_ + 1) <= now_ + step_ * 1e-9) {
    ++stretch_;
    if (stretch().restart) work_ = in_service_ = refusals_ = 0;
  }
}

double FluidService::wait(double t, double work, double taken) const {
  double left = work, at = t;
  for (std::size_t j = stretch_;; ++j) {
    const double end = start_of(j + 1), pace = system_.stretches[j].capacity - taken;
    if (end <= at) continue;
    if (left <= 0 || (pace > 0 && left <= pace * (end - at))) {
      return at - t + (left > 0 ? left / pace : 0);
    }
    if (end == kForever) return kForever;
    left -= pace * (end - at);
    at = end;
  }
}

double FluidService::wait_in_queue(double t, double work) const {
  return wait(t, work + refusals_, refusing_);
}

double FluidService::capacity(double from, double to) const {
  double sum = 0;
  for (std::size_t j = stretch_; j < system_.stretches.size() && start_of(j) < to; ++j) {
    const double a = std::max(from, start_of(j)), b = std::min(to, start_of(j + 1));
    if (b > a) sum += system_.stretches[j].capacity * (b - a);
  }
  return sum;
}

double FluidService::room_now() const {
  const double pace = stretch().capacity;
  return std::min(system_.room, pace > 0 ? system_.max_age * pace : system_.max_age);
}

double FluidService::late_share(const FluidClients& g, double first, double last) const {
  if (g.timeout == kForever) return 0;
  const double room = g.timeout - g.round_trip - stretch().latency;
  const double slow = 1 + system_.slowdown * in_service_;
  const double typical = g.service_time * slow;
  const double low = room - std::max(first, last), high = room - std::min(first, last);
  if (high < 0) return 1;
  if (low > 40 * typical && light_) return 0;
  const double scale = slow * g.service_time / system_.service_law.mean_seconds();
  const auto late = [&](double left) {
    if (left < 0) return 1.0;
    if (g.service_time == 0) return 0.0;
    return survival(system_.service_law, left / scale);
  };
  if (high - low < 1e-3 * typical) return late((low + high) / 2);
  if (typical < (high - low) / 4) {
    // Services are short compared with the change of the wait: all attempts are alike.
    const double edge = typical;
    return std::clamp((edge - low) / (high - low), 0.0, 1.0);
  }
  constexpr int kParts = 8;
  double sum = 0;
  for (int i = 0; i < kParts; ++i) sum += late(low + (high - low) * (i + 0.5) / kParts);
  return sum / kParts;
}

double FluidService::late_when_idle(const FluidClients& g) const {
  if (g.timeout == kForever) return 0;
  const double room = g.timeout - g.round_trip - stretch().latency;
  if (room < 0 || g.service_time == 0) return room < 0 ? 1 : 0;
  return survival(system_.service_law, room * system_.service_law.mean_seconds() / g.service_time);
}

void FluidService::serve(std::span<const double> sent) {
  const double through = stretch().unreachable ? 0 : 1 - stretch().request_loss;
  // Random errors answer some of the arrivals at once.
  past_errors_.assign(sent.size(), 0);
  double demand = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    past_errors_[i] = sent[i] * through * (1 - door_errors(i));
    demand += past_errors_[i];
  }
  const double passing = pass(demand);
  const double before = wait_in_queue(now_, work_);
  entering_.assign(sent.size(), 0);
  double inflow = 0, throttling = 0;  // work per second
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const double passes = system_.throttle_by_client ? pass_by_client(i, past_errors_[i]) : passing;
    shares_[i].throttled = 1 - passes;
    entering_[i] = past_errors_[i] * passes;
    inflow += entering_[i] * system_.groups[i].service_time / system_.servers;
    throttling += past_errors_[i] * (1 - passes) * system_.throttling / system_.servers;
  }
  queue(before, inflow, throttling);
  for (std::size_t i = 0; i < sent.size(); ++i) share_out(i, before);
}

double FluidService::door_errors(std::size_t group) const {
  if (!system_.errors_at_door) return 0;
  return stretch().errors[group].error + stretch().errors[group].throttling;
}

double FluidService::pass(double demand) {
  tokens_ =
      std::min(std::max(1.0, system_.throttle_burst), tokens_ + system_.throttle_rate * step_);
  if (system_.throttle_rate <= 0 || system_.throttle_by_client) return 1;
  const double passes = demand * step_ > tokens_ ? tokens_ / (demand * step_) : 1;
  tokens_ -= demand * step_ * passes;
  return passes;
}

double FluidService::pass_by_client(std::size_t group, double demand) {
  if (system_.throttle_rate <= 0) return 1;
  const double n = system_.groups[group].clients;
  double& tokens = group_tokens_[group];
  tokens = std::min(system_.throttle_burst * n, tokens + system_.throttle_rate * n * step_);
  const double wanted = demand * step_;
  const double passes = wanted > tokens ? tokens / wanted : 1;
  tokens -= wanted * passes;
  return passes;
}

double FluidService::drop_late(double before, double inflow, double done) {
  const auto work_after = [&](double useful) { return work_ + useful * step_ - done; };
  const auto kept = [&](double work, std::vector<double>& late) {
    const double after = wait_in_queue(now_ + step_, work);
    double useful = 0;
    for (std::size_t i = 0; i < entering_.size(); ++i) {
      const FluidClients& g = system_.groups[i];
      late[i] = late_share(g, before, after);
      useful += entering_[i] * g.service_time / system_.servers * (1 - late[i]);
    }
    return useful;
  };
  double low = std::max(0.0, work_ - done);
  double high = std::clamp(work_after(inflow), 0.0, room_now());
  const double most = kept(high, late_);
  if (work_after(most) >= high) return most;  // the queue is as long as possible
  std::vector<double> few = late_, many = late_, tried = late_;
  double useful = kept(low, few), useful_of_many = most;
  if (work_after(useful) > low) {
    // The longer the queue, the more attempts are late: there is exactly one consistent length.
    constexpr int kHalvings = 50;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2, u = kept(middle, tried);
      const bool longer = work_after(u) > middle;
      (longer ? low : high) = middle;
      (longer ? few : many).swap(tried);
      (longer ? useful : useful_of_many) = u;
    }
    // If all services take equally long, the attempts of a group would all be late or all in time
    // at this length. The share in time is the one that keeps the length.
    const double wanted = (low - work_ + done) / step_;
    if (useful > useful_of_many) {
      const double part = std::clamp((useful - wanted) / (useful - useful_of_many), 0.0, 1.0);
      for (std::size_t i = 0; i < few.size(); ++i) few[i] += part * (many[i] - few[i]);
      useful += part * (useful_of_many - useful);
    }
  }
  late_ = few;
  return useful;
}

void FluidService::queue(double before, double inflow, double throttling) {
  late_.assign(entering_.size(), 0);
  const auto find_late = [&] {
    for (std::size_t i = 0; i < late_.size(); ++i) {
      late_[i] = late_share(system_.groups[i], before, after_);
    }
  };
  if (system_.servers == kForever) {
    after_ = before;
    turned_away_ = 0;
    crowd();
    find_late();
    return;
  }
  const double can = capacity(now_, now_ + step_);
  const double first = refusals_ + throttling * step_;  // refusals go before
  const double done = std::max(0.0, can - first);
  const double useful = system_.zombies ? inflow : drop_late(before, inflow, done);
  const double next = work_ + useful * step_ - done;
  turned_away_ = 0;
  double price = 0;
  if (next > room_now()) {
    for (const double rate : entering_) price += rate;
    price *= system_.turning_away / system_.servers;
    turned_away_ = useful > price ? (next - room_now()) / (step_ * (useful - price)) : 1;
    turned_away_ = std::min(1.0, turned_away_);
  }
  refused_in_ = refusals_ > 0 ? wait(now_, refusals_) : 0;
  refusing_ = throttling + turned_away_ * price;
  refusals_ = std::max(0.0, refusals_ + refusing_ * step_ - can);
  work_ = std::clamp(next, 0.0, room_now());
  after_ = wait_in_queue(now_ + step_, work_);
  if (system_.zombies) find_late();
}

void FluidService::crowd() {
  if (system_.slowdown == 0) return;
  if (!leaving_) leaving_ = std::make_unique<Flow>(steps_);
  double in = 0;
  for (std::size_t i = 0; i < entering_.size(); ++i) {
    const double service = system_.groups[i].service_time * (1 + system_.slowdown * in_service_);
    leaving_->put(service / step_, entering_[i]);
    in += entering_[i];
  }
  in_service_ = std::max(0.0, in_service_ + (in - leaving_->take()) * step_);
}

void FluidService::share_out(std::size_t group, double before) {
  const FluidClients& c = system_.groups[group];
  const FluidStretch& stretch = this->stretch();
  const ErrorShares& errors = stretch.errors[group];
  Shares& s = shares_[group];
  s = {.throttled = s.throttled};
  const auto at = [](Fate fate) { return static_cast<std::size_t>(fate); };
  const double trip = c.round_trip + stretch.latency;
  const double middle = (before + after_) / 2;
  s.answered = middle + c.service_time * (1 + system_.slowdown * in_service_) + trip;
  s.known = {c.timeout, trip, trip, trip, s.answered, s.answered};
  double rest = 1;
  if (stretch.unreachable) {
    s.fate[at(Fate::kUnreachable)] = 1;
    rest = 0;
  }
  s.fate[at(Fate::kLate)] = rest * stretch.request_loss;
  rest *= 1 - stretch.request_loss;
  s.arriving = rest;
  const auto fail_at_random = [&] {
    s.fate[at(Fate::kError)] = rest * errors.error;
    s.fate[at(Fate::kThrottlingError)] = rest * errors.throttling;
    rest *= 1 - errors.error - errors.throttling;
  };
  // An answer of any kind may be lost on its way back; its client then waits for its timeout.
  const auto lose_answers = [&](Fate fate) {
    const double lost = s.fate[at(fate)] * stretch.response_loss;
    s.fate[at(fate)] -= lost;
    s.fate[at(Fate::kLate)] += lost;
  };
  if (system_.errors_at_door) {
    fail_at_random();
    lose_answers(Fate::kError);
    lose_answers(Fate::kThrottlingError);
    s.known[at(Fate::kError)] = s.known[at(Fate::kThrottlingError)] = std::min(trip, c.timeout);
  }
  s.fate[at(Fate::kThrottled)] = rest * s.throttled;
  rest *= 1 - s.throttled;
  lose_answers(Fate::kThrottled);
  s.fate[at(Fate::kTurnedAway)] = rest * turned_away_;
  rest *= 1 - turned_away_;
  if (!system_.drops) lose_answers(Fate::kTurnedAway);
  const double restart = next_restart();
  if (restart < now_ + middle + c.service_time && restart < now_ + c.timeout) {
    s.fate[at(Fate::kUnreachable)] += rest;
    s.known[at(Fate::kUnreachable)] = restart - now_ + trip;
    rest = 0;
  }
  const double late = late_[group];
  s.strained = late > 0 || turned_away_ > 0 || s.throttled > 0;
  if (s.strained) s.lack = s.throttled + turned_away_ + std::max(0.0, late - late_when_idle(c));
  s.fate[at(Fate::kLate)] += rest * late;
  rest *= 1 - late;
  s.fate[at(Fate::kLate)] += rest * stretch.response_loss;
  rest *= 1 - stretch.response_loss;
  if (!system_.errors_at_door) fail_at_random();
  s.success = rest;
  s.error_retryable = errors.error_retryable;
  s.known[at(Fate::kThrottled)] = std::min(trip, c.timeout);
  if (system_.max_age < kForever) {
    s.known[at(Fate::kTurnedAway)] = std::min(trip + system_.max_age, c.timeout);
  }
  if (system_.drops) s.known[at(Fate::kTurnedAway)] = c.timeout;
  // Refusals wait for a server, too; after the timeout they are no answers any more.
  for (const Fate fate : {Fate::kThrottled, Fate::kTurnedAway}) {
    if (refused_in_ == 0 || (fate == Fate::kTurnedAway && system_.drops)) continue;
    s.known[at(fate)] = std::min(trip + refused_in_, c.timeout);
    if (trip + refused_in_ <= c.timeout) continue;
    s.fate[at(Fate::kLate)] += s.fate[at(fate)];
    s.fate[at(fate)] = 0;
  }
}

double FluidService::next_restart() const {
  for (std::size_t j = stretch_ + 1; j < system_.stretches.size(); ++j) {
    if (system_.stretches[j].restart) return system_.stretches[j].start;
  }
  return kForever;
}

}  // namespace retrysim::prediction

// What a service does with a bin of attempts.
//
// SPDX-License-Identifier: MIT
#include "prediction/fluid_runner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retrysim::prediction {

Runner::Runner(const Scenario& scenario, const FluidSystem& system, double step, std::size_t steps)
    : system_(system), step_(step), steps_(steps) {
  const double longest = memory();
  const auto bins =
      static_cast<std::size_t>(std::min(static_cast<double>(steps), longest / step) + 4);
  groups_.reserve(system.groups.size());
  for (const FluidClients& g : system.groups) {
    groups_.push_back(std::make_unique<GroupState>(g, scenario.clients[g.client], bins, step));
    GroupState& state = *groups_.back();
    state.arrivals = arrival_rates(scenario, g.client, step, steps);
    state.books.client = g.client;
    state.tokens = system.throttle_burst * g.clients;
  }
  using Kind = Distribution::Kind;
  const Kind kind = system.service_law.kind();
  light_ = kind == Kind::kConstant || kind == Kind::kExponential || kind == Kind::kUniform ||
           kind == Kind::kErlang;
  shares_.resize(groups_.size());
  tokens_ = system.throttle_burst;
}

std::vector<FluidGroup> Runner::groups() const {
  std::vector<FluidGroup> result;
  for (const auto& g : groups_) result.push_back(g->books);
  return result;
}

double Runner::memory() const {
  if (system_.shortest_timeout == kForever) return kForever;
  return longest_timeout() + system_.most_backoff + longest_round_trip();
}

bool Runner::is_strained() const {
  return std::any_of(shares_.begin(), shares_.end(), [](const Shares& s) { return s.strained; });
}

bool Runner::all_fail() const {
  return std::all_of(shares_.begin(), shares_.end(),
                     [](const Shares& s) { return s.success == 0; });
}

double Runner::longest_timeout() const {
  double longest = 0;
  for (const FluidClients& g : system_.groups) longest = std::max(longest, g.timeout);
  return longest;
}

double Runner::longest_round_trip() const {
  double longest = 0;
  for (const FluidClients& g : system_.groups) longest = std::max(longest, g.round_trip);
  double fault = 0;
  for (const FluidStretch& s : system_.stretches) fault = std::max(fault, s.latency);
  return longest + fault;
}

double Runner::wait(double t, double work) const {
  double left = work, at = t;
  for (std::size_t j = stretch_;; ++j) {
    const double end = start_of(j + 1), pace = system_.stretches[j].capacity;
    if (end <= at) continue;
    if (left <= pace * (end - at)) return at - t + (left > 0 ? left / pace : 0);
    if (end == kForever) return kForever;
    left -= pace * (end - at);
    at = end;
  }
}

double Runner::capacity(double from, double to) const {
  double sum = 0;
  for (std::size_t j = stretch_; j < system_.stretches.size() && start_of(j) < to; ++j) {
    const double a = std::max(from, start_of(j)), b = std::min(to, start_of(j + 1));
    if (b > a) sum += system_.stretches[j].capacity * (b - a);
  }
  return sum;
}

double Runner::late_share(const FluidClients& g, double first, double last) const {
  if (g.timeout == kForever) return 0;
  const double room = g.timeout - g.round_trip - latency();
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
    // Services are short against the change: all the same.
    const double edge = typical;
    return std::clamp((edge - low) / (high - low), 0.0, 1.0);
  }
  constexpr int kParts = 8;
  double sum = 0;
  for (int i = 0; i < kParts; ++i) sum += late(low + (high - low) * (i + 0.5) / kParts);
  return sum / kParts;
}

FluidSample Runner::advance(std::size_t k) {
  now_ = static_cast<double>(k) * step_;
  while (start_of(stretch_ + 1) <= now_ + step_ * 1e-9) {
    ++stretch_;
    if (system_.stretches[stretch_].restart) work_ = in_service_ = 0;
  }
  FluidSample sample;
  for (auto& g : groups_) send(*g, k, sample);
  serve();
  for (std::size_t i = 0; i < groups_.size(); ++i) settle(*groups_[i], shares_[i], sample);
  for (const auto& g : groups_) sample.retrying += g->retrying;
  sample.backlog = work_;
  return sample;
}

void Runner::serve() {
  const FluidStretch& stretch = system_.stretches[stretch_];
  const double through = stretch.unreachable ? 0 : 1 - stretch.request_loss;
  double demand = 0;
  for (const auto& g : groups_) demand += g->sent * through;
  tokens_ =
      std::min(std::max(1.0, system_.throttle_burst), tokens_ + system_.throttle_rate * step_);
  double pass = 1;
  if (system_.throttle_rate > 0 && !system_.throttle_by_client) {
    pass = demand * step_ > tokens_ ? tokens_ / (demand * step_) : 1;
    tokens_ -= demand * step_ * pass;
  }
  const double before = wait(now_, work_);
  std::vector<double>& entering = entering_;
  entering.assign(groups_.size(), 0);
  double inflow = 0;  // work a second
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    GroupState& g = *groups_[i];
    double passes = pass;
    if (system_.throttle_rate > 0 && system_.throttle_by_client)
      passes = pass_by_client(g, through);
    g.throttled = 1 - passes;
    entering[i] = g.sent * through * passes;
    inflow += entering[i] * g.clients.service_time / system_.servers;
  }
  queue(before, inflow);
  for (std::size_t i = 0; i < groups_.size(); ++i) share_out(i, before);
}

double Runner::pass_by_client(GroupState& g, double through) {
  const double n = g.clients.clients;
  g.tokens = std::min(system_.throttle_burst * n, g.tokens + system_.throttle_rate * n * step_);
  const double wanted = g.sent * through * step_;
  const double passes = wanted > g.tokens ? g.tokens / wanted : 1;
  g.tokens -= wanted * passes;
  return passes;
}

void Runner::queue(double before, double inflow) {
  if (system_.servers == kForever) {
    after_ = before;
    turned_away_ = 0;
    crowd();
    return;
  }
  const double done = capacity(now_, now_ + step_);
  const double guess = std::clamp(work_ + inflow * step_ - done, 0.0, system_.room);
  double after = wait(now_ + step_, guess);
  double useful = inflow;
  if (!system_.zombies) {
    // What will be dropped when its turn comes makes nobody wait.
    useful = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const FluidClients& g = groups_[i]->clients;
      useful +=
          entering_[i] * g.service_time / system_.servers * (1 - late_share(g, before, after));
    }
  }
  const double next = work_ + useful * step_ - done;
  turned_away_ = 0;
  if (next > system_.room) {
    double entering = 0;
    for (const double rate : entering_) entering += rate;
    const double price = entering * system_.turning_away / system_.servers;
    turned_away_ = useful > price ? (next - system_.room) / (step_ * (useful - price)) : 1;
    turned_away_ = std::min(1.0, turned_away_);
  }
  work_ = std::clamp(next, 0.0, system_.room);
  after_ = wait(now_ + step_, work_);
}

void Runner::crowd() {
  if (system_.slowdown == 0) return;
  if (!leaving_) leaving_ = std::make_unique<Flow>(steps_);
  double in = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const double service = groups_[i]->clients.service_time * (1 + system_.slowdown * in_service_);
    leaving_->put(service / step_, entering_[i]);
    in += entering_[i];
  }
  in_service_ = std::max(0.0, in_service_ + (in - leaving_->take()) * step_);
}

void Runner::share_out(std::size_t index, double before) {
  const FluidClients& c = groups_[index]->clients;
  const FluidStretch& stretch = system_.stretches[stretch_];
  const ErrorShares& errors = stretch.errors[index];
  Shares& s = shares_[index];
  s = {};
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
  s.fate[at(Fate::kThrottled)] = rest * groups_[index]->throttled;
  rest *= 1 - groups_[index]->throttled;
  s.fate[at(Fate::kTurnedAway)] = rest * turned_away_;
  rest *= 1 - turned_away_;
  const double restart = next_restart();
  if (restart < now_ + middle + c.service_time && restart < now_ + c.timeout) {
    s.fate[at(Fate::kUnreachable)] += rest;
    s.known[at(Fate::kUnreachable)] = restart - now_ + trip;
    rest = 0;
  }
  const double late = late_share(c, before, after_);
  s.strained = late > 0 || turned_away_ > 0 || groups_[index]->throttled > 0;
  s.fate[at(Fate::kLate)] += rest * late;
  rest *= 1 - late;
  s.fate[at(Fate::kLate)] += rest * stretch.response_loss;
  rest *= 1 - stretch.response_loss;
  s.fate[at(Fate::kError)] = rest * errors.error;
  s.fate[at(Fate::kThrottlingError)] = rest * errors.throttling;
  s.success = rest * (1 - errors.error - errors.throttling);
  s.error_retryable = errors.error_retryable;
  s.known[at(Fate::kThrottled)] = std::min(trip, c.timeout);
  if (system_.drops) s.known[at(Fate::kTurnedAway)] = c.timeout;
}

double Runner::next_restart() const {
  for (std::size_t j = stretch_ + 1; j < system_.stretches.size(); ++j) {
    if (system_.stretches[j].restart) return system_.stretches[j].start;
  }
  return kForever;
}

}  // namespace retrysim::prediction

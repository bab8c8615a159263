// SPDX-License-Identifier: MIT
#include "model/service/servers.hpp"

#include "kernel/functions.hpp"
#include "model/run/state.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace retrysim::model {

namespace {

double from_table(const SlowdownTable& table, double n) {
  const auto after = std::upper_bound(table.in_service.begin(), table.in_service.end(), n);
  const auto i = static_cast<std::size_t>(after - table.in_service.begin());
  if (i == table.in_service.size()) return table.factors.back();
  const double from = table.in_service[i - 1], to = table.in_service[i];
  const double low = table.factors[i - 1], high = table.factors[i];
  return low + (high - low) * ((n - from) / (to - from));
}

double unlimited_factor(const ServiceSpec& spec, double n) {
  if (spec.slowdown.curve == SlowdownCurve::kTable) return from_table(spec.slowdown.table, n);
  if (spec.slowdown.curve == SlowdownCurve::kExponential) {
    return kernel::exp(spec.slowdown.per_attempt * n);
  }
  return n == 0 ? 1 : 1 + spec.slowdown.per_attempt * kernel::pow(n, spec.slowdown.exponent);
}

}  // namespace

double slowdown_factor(const ServiceSpec& spec, std::int64_t others) {
  const auto n = static_cast<double>(others);
  if (spec.slowdown.curve == SlowdownCurve::kLinear) return 1 + spec.slowdown.per_attempt * n;
  constexpr double kMost = 1e12;  // thirty years of a millisecond's work
  return std::min(kMost, unlimited_factor(spec, n));
}

OperationMix::OperationMix(std::size_t service, const std::vector<ClientSpec>& clients) {
  for (std::size_t g = 0; g < clients.size(); ++g) {
    const std::vector<OperationSpec>& operations = clients[g].operations;
    if (operations.empty() || share_of_calls(clients[g], service) <= 0) continue;
    groups_.resize(clients.size());
    groups_[g].choice = OperationChoice(operations);
    for (const OperationSpec& o : operations) groups_[g].work.push_back(o.work);
  }
}

double OperationMix::work(const RandomKey& key, std::uint64_t entity, std::uint16_t group) const {
  const OfGroup& g = groups_[group];
  return g.choice.empty() ? 1 : g.work[g.choice.of(key, entity)];
}

double ServiceDemand::of_read(const Attempt& a) {
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kServiceTime});
  return static_cast<double>(a.clients->spec->side_effects.reconcile_read.sample(draws).count());
}

double ServiceDemand::of_other(const Attempt& a, std::int64_t others) const {
  if (a.is(Attempt::kRejection)) return static_cast<double>(spec_->rejection.cost.count());
  if (a.is(Attempt::kReplay) && is_read(a)) return of_read(a);
  if (a.is(Attempt::kReplay)) return static_cast<double>(spec_->idempotency.replay_cost.count());
  const double own = drawn(a, Purpose::kSecondServiceTime);
  return varies_ ? varied(own, a, others) : own;
}

double ServiceDemand::left_of(const Attempt& a, double left_ns) const {
  const bool has_no_memory = spec_->service_time.kind() == Distribution::Kind::kExponential &&
                             !varies_ && !spec_->queue.drop_expired;
  const bool is_ordinary =
      a.answer == 0 && !a.is(Attempt::kRejection | Attempt::kReplay | Attempt::kSecondMessage);
  return has_no_memory && is_ordinary ? drawn(a, Purpose::kServiceTime) : left_ns;
}

double ServiceDemand::own_or_of_first(double own_ns, const Attempt& a) const {
  if (a.number == 1) return own_ns;
  const RandomKey& key = streams_->of_requests(a.group);
  if (spec_->service_time_repeats < 1) {
    Draws draws(key, {a.entity, a.number, 0, Purpose::kSameWork});
    if (draws.uniform() >= spec_->service_time_repeats) return own_ns;
  }
  const Purpose purpose =
      a.is(Attempt::kSecondMessage) ? Purpose::kSecondServiceTime : Purpose::kServiceTime;
  Draws draws(key, {a.entity, 1, 0, purpose});
  return static_cast<double>(spec_->service_time.sample(draws).count());
}

double ServiceDemand::varied(double own_ns, const Attempt& a, std::int64_t others) const {
  if (spec_->service_time_per == ServiceTimePer::kRequest) own_ns = own_or_of_first(own_ns, a);
  const CallSpec* call = taken_over_ != nullptr ? a.clients->takes_over : nullptr;
  if (call != nullptr && call->callers_operation) {
    own_ns = std::round(own_ns * (*taken_over_)[a.id].work);
  } else if (!operations_.empty()) {
    own_ns =
        std::round(own_ns * operations_.work(streams_->of_requests(a.group), a.entity, a.group));
  }
  if (!spec_->slowdown.enabled()) return own_ns;
  return std::round(own_ns * slowdown_factor(*spec_, others));
}

}  // namespace retrysim::model

// SPDX-License-Identifier: MIT
#include "model/faults.hpp"

#include <algorithm>

namespace retrysim::model {

void FaultTimeline::sort() {
  std::ranges::stable_sort(changes_, {}, [this](const Change& c) {
    return std::tie(c.time, scenario_->services[c.service].name);
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
  double escaped = 1;
  auto add = [&](const Errors& errors) {
    double hit = 0;
    for (const NumberedError& e : errors) {
      hit += e.probability;
      all.errors.emplace_back(1 - escaped * (1 - hit), e.answer);
    }
    escaped *= 1 - hit;
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
  return all;
}

}  // namespace retrysim::model

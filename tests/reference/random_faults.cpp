// SPDX-License-Identifier: MIT
#include "reference/random_faults.hpp"

#include <retrysim/random.hpp>

#include "flow/demand.hpp"
#include "kernel/functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace retrysim::reference {
namespace {

double share(const RandomKey& key, std::uint64_t entity, Purpose purpose, int place = 0) {
  Draws draws(key, {entity, 0, 0, purpose});
  for (int i = 0; i < place; ++i) draws.uniform();
  return draws.uniform();
}

/// The load of the fault's service at a time, from a scenario in which every group has the rate of
/// that time from beginning to end.
double load_at(const Scenario& scenario, std::size_t service, double t) {
  Scenario now = scenario;
  for (ClientSpec& client : now.clients) {
    ArrivalSpec& a = client.arrivals;
    if (a.profile) {
      RateProfile& p = *a.profile;
      std::size_t i = 0;
      while (i + 1 < p.times.size() && p.times[i + 1].in_seconds() <= t) ++i;
      double rate = p.rates[i];
      if (p.linear && i + 1 < p.times.size()) {
        const double from = p.times[i].in_seconds(), to = p.times[i + 1].in_seconds();
        rate += (p.rates[i + 1] - p.rates[i]) * (t - from) / (to - from);
      }
      p = {{Time::zero()}, {rate}, false};
    }
    for (const SurgeSpec& s : a.surges) {
      if (t >= s.start.in_seconds() && t < (s.start + s.duration).in_seconds()) a.rate *= s.factor;
    }
  }
  return flow::demand_of(now, flow::Attempts::kFirst).services[service].load();
}

double highest_load(const Scenario& scenario, std::size_t service) {
  Scenario highest = scenario;
  for (ClientSpec& client : highest.clients) {
    ArrivalSpec& a = client.arrivals;
    if (a.profile) {
      double most = 0;
      for (const double rate : a.profile->rates) most = std::max(most, rate);
      a.profile = RateProfile{{Time::zero()}, {most}, false};
    }
    for (const SurgeSpec& s : a.surges) {
      if (s.factor > 1) a.rate *= s.factor;
    }
  }
  return flow::demand_of(highest, flow::Attempts::kFirst).services[service].load();
}

/// When the fault with this key begins, by number, as far as it is before `end`.
std::map<std::uint64_t, Time> random_starts(const Scenario& scenario, const RandomFault& f,
                                            const RandomKey& key, Time end) {
  std::map<std::uint64_t, Time> starts;
  Time free = f.fault.start;
  const auto likelier = [&](double load) {
    return f.chance.at_load > 0 ? kernel::pow(load / f.chance.at_load, f.chance.load_exponent) : 1;
  };
  const double most = f.chance.at_load > 0 ? likelier(highest_load(scenario, f.fault.service)) : 1;
  if (most <= 0) return starts;
  for (std::uint64_t n = 1;; ++n) {
    Draws gap(key, {n, 0, 0, Purpose::kFaultGap});
    Duration wait;
    if (f.chance.per_year > 0) {
      const double s = unit_exponential(gap) * (365.0 * 24 * 3600) / (f.chance.per_year * most);
      if (s > 9.2e9) return starts;
      wait = Duration::from_seconds(s);
    } else {
      wait = f.chance.mtbf.sample(gap);
    }
    if (wait >= end - free) return starts;
    free = free + wait;
    if (f.chance.per_year > 0) {
      if (f.chance.at_load > 0) {
        const double now = load_at(scenario, f.fault.service, free.in_seconds());
        if (gap.uniform() * most >= likelier(now)) continue;
      }
      starts[n] = free;
      continue;
    }
    starts[n] = free;
    Duration lasts = f.fault.duration;
    if (f.chance.length.mean_seconds() > 0) {
      Draws length(key, {n, 0, 0, Purpose::kFaultLength});
      lasts = std::max(f.chance.length.sample(length), Duration::nanoseconds(1));
    }
    free = free + lasts;
    if (free >= end) return starts;
  }
}

}  // namespace

Scenario with_own_draw(const Scenario& scenario) {
  if (scenario.random_faults.empty() || scenario.fault_draw == 0) return scenario;
  Scenario own = scenario;
  for (const FaultSpec& f : draw_faults(scenario, scenario.fault_draw, scenario.duration)) {
    std::erase_if(own.faults, [&](const FaultSpec& other) { return other.name == f.name; });
  }
  const Time end = Time::zero() + scenario.duration;
  // Those that come with others need the starts of these, so every round knows some more.
  std::map<std::string, std::map<std::uint64_t, Time>> known;
  for (const FaultSpec& f : own.faults) known[f.name] = {{1, f.start}};
  const auto key_of = [&](const RandomFault& f) {
    return RandomKey(scenario.seed, scenario.fault_draw).named("fault", f.fault.name);
  };
  for (std::size_t round = 0; round < scenario.random_faults.size(); ++round) {
    for (const RandomFault& f : scenario.random_faults) {
      if (known.contains(f.fault.name)) continue;
      std::map<std::uint64_t, Time> starts;
      if (!f.chance.with.empty()) {
        if (!known.contains(f.chance.with)) continue;
        std::uint64_t n = 0;
        for (const auto& [number, start] : known[f.chance.with]) {
          ++n;
          if (share(key_of(f), n, Purpose::kFaultJoin) >= f.chance.probability) continue;
          starts[n] = start + (f.fault.start - Time::zero());
        }
      } else if (f.chance.recurs()) {
        starts = random_starts(scenario, f, key_of(f), end);
      } else {
        starts = {{1, f.fault.start}};
      }
      known[f.fault.name] = starts;
    }
  }
  std::vector<FaultSpec> drawn;
  for (const RandomFault& f : scenario.random_faults) {
    std::size_t count = 0;
    for (const auto& [n, start] : known[f.fault.name]) {
      ++count;
      if (start >= end) continue;
      FaultSpec fault = f.fault;
      fault.name += "-" + std::to_string(count);
      fault.start = start;
      if (f.chance.length.mean_seconds() > 0) {
        Draws length(key_of(f), {n, 0, 0, Purpose::kFaultLength});
        fault.duration = std::max(f.chance.length.sample(length), Duration::nanoseconds(1));
      }
      const double first = share(key_of(f), n, Purpose::kFaultDepth);
      const double second = share(key_of(f), n, Purpose::kFaultDepth, 1);
      if (f.chance.capacity_to) {
        fault.capacity += (*f.chance.capacity_to - fault.capacity) * first;
      }
      if (f.chance.speed_to) fault.speed += (*f.chance.speed_to - fault.speed) * second;
      drawn.push_back(fault);
    }
  }
  own.faults.insert(own.faults.end(), drawn.begin(), drawn.end());
  own.random_faults.clear();
  own.fault_draw = 0;
  return own;
}

}  // namespace retrysim::reference

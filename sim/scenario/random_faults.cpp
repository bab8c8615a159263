// Faults that are left to chance: one draw of when they begin, how long they last, how deep they
// are. Each occurrence of each fault has random numbers of its own, so that another fault, or a
// longer time, changes none of them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "flow/load.hpp"
#include "kernel/functions.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace retrysim {
namespace {

constexpr double kYear_s = 365.0 * 86'400;

/// One draw of the faults of a scenario.
class FaultDraw {
 public:
  FaultDraw(const Scenario& scenario, std::uint32_t draw, Duration horizon)
      : scenario_(scenario), key_(scenario.seed, draw), end_(Time::zero() + horizon) {}

  std::vector<FaultSpec> all() {
    std::vector<FaultSpec> all;
    for (const RandomFault& f : scenario_.random_faults) {
      const Occurrences& found = occurrences(f);
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].start >= end_) continue;
        FaultSpec& fault = all.emplace_back(found[i]);
        fault.name = fmt::format("{}-{}", f.fault.name, i + 1);
      }
    }
    std::ranges::sort(all, [](const FaultSpec& a, const FaultSpec& b) {
      return std::tie(a.start, a.name) < std::tie(b.start, b.name);
    });
    return all;
  }

 private:
  using Occurrences = std::vector<FaultSpec>;

  /// The occurrences of a fault up to the end, by number. Those that come with another one have the
  /// numbers of that one's, less those that it does without them.
  const Occurrences& occurrences(const RandomFault& f) {
    const auto [at, added] = found_.try_emplace(f.fault.name);
    if (!added) return at->second;
    Occurrences found;
    const RandomKey key = key_.named("fault", f.fault.name);
    if (!f.chance.with.empty()) {
      found = with_others(f, key);
    } else if (f.chance.recurs()) {
      found = at_random(f, key);
    } else {
      found.push_back(drawn(f, key, 1, f.fault.start));
    }
    return found_[f.fault.name] = std::move(found);
  }

  Occurrences at_random(const RandomFault& f, const RandomKey& key) {
    return f.chance.per_year > 0 ? by_rate(f, key) : one_after_another(f, key);
  }

  /// A Poisson process. Where its rate depends on the load, one of the largest rate of which some
  /// times are left out (thinning); those that stay keep their numbers.
  Occurrences by_rate(const RandomFault& f, const RandomKey& key) {
    std::optional<flow::LoadOverTime> load;
    if (f.chance.at_load > 0) load.emplace(scenario_, f.fault.service);
    const auto rate_at = [&](double at_load) {
      return kernel::pow(at_load / f.chance.at_load, f.chance.load_exponent);
    };
    const double factor = load ? rate_at(load->highest()) : 1;
    const double most_per_year = f.chance.per_year * factor;
    Occurrences found;
    if (most_per_year <= 0) return found;
    Time at = f.fault.start;
    for (std::uint64_t i = 1;; ++i) {
      Draws draws(key, {.entity = i, .purpose = Purpose::kFaultGap});
      const Duration gap = Duration::from_seconds(
          std::min(unit_exponential(draws) * kYear_s / most_per_year, Distribution::kMaxSeconds));
      if (gap >= end_ - at) return found;
      at = at + gap;
      count();
      if (load && draws.uniform() * factor >= rate_at(load->at(at))) continue;
      found.push_back(drawn(f, key, i, at));
    }
  }

  Occurrences one_after_another(const RandomFault& f, const RandomKey& key) {
    Occurrences found;
    Time before = f.fault.start;  // nothing begins earlier than this plus the next gap
    for (std::uint64_t i = 1;; ++i) {
      Draws draws(key, {.entity = i, .purpose = Purpose::kFaultGap});
      const Duration gap = f.chance.mtbf.sample(draws);
      if (gap >= end_ - before) return found;
      count();
      found.push_back(drawn(f, key, i, before + gap));
      before = found.back().start + found.back().duration;
      if (before >= end_) return found;
    }
  }

  Occurrences with_others(const RandomFault& f, const RandomKey& key) {
    Occurrences found;
    std::uint64_t i = 0;
    for (const Time start : starts_of(f.chance.with)) {
      ++i;
      Draws draws(key, {.entity = i, .purpose = Purpose::kFaultJoin});
      if (draws.uniform() >= f.chance.probability) continue;
      count();
      found.push_back(drawn(f, key, i, start + (f.fault.start - Time::zero())));
    }
    return found;
  }

  std::vector<Time> starts_of(const std::string& name) {
    std::vector<Time> starts;
    const auto scripted = std::ranges::find(scenario_.faults, name, &FaultSpec::name);
    if (scripted != scenario_.faults.end()) return {scripted->start};
    const auto random = std::ranges::find(scenario_.random_faults, name,
                                          [](const RandomFault& f) { return f.fault.name; });
    if (random == scenario_.random_faults.end()) return {};
    for (const FaultSpec& f : occurrences(*random)) starts.push_back(f.start);
    return starts;
  }

  /// The fault as it is the `i`-th time, from `start` on.
  static FaultSpec drawn(const RandomFault& f, const RandomKey& key, std::uint64_t i, Time start) {
    FaultSpec fault = f.fault;
    fault.drawn = true;
    fault.start = start;
    if (f.chance.length.mean_seconds() > 0) {
      fault.duration = f.chance.length.sample(key, {.entity = i, .purpose = Purpose::kFaultLength});
      fault.duration = std::max(fault.duration, Duration::nanoseconds(1));
    }
    Draws depths(key, {.entity = i, .purpose = Purpose::kFaultDepth});
    const auto between = [](double from, const std::optional<double>& to, double share) {
      return to ? from + (*to - from) * share : from;
    };
    fault.capacity = between(fault.capacity, f.chance.capacity_to, depths.uniform());
    fault.speed = between(fault.speed, f.chance.speed_to, depths.uniform());
    return fault;
  }

  void count() {
    if (++count_ <= kMaxDrawnFaults) return;
    throw RequestError(fmt::format(
        "the faults at random are more than {} within {}; expected fewer, or a shorter time",
        kMaxDrawnFaults, scenario::to_text(end_ - Time::zero())));
  }

  const Scenario& scenario_;
  const RandomKey key_;
  const Time end_;
  std::map<std::string, Occurrences> found_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<FaultSpec> draw_faults(const Scenario& scenario, std::uint32_t draw, Duration horizon) {
  return FaultDraw(scenario, draw, horizon).all();
}

void check_draw(const Scenario& scenario) {
  if (scenario.random_faults.empty() || scenario.fault_draw > 0) return;
  throw RequestError(fmt::format(
      "fault.{} is left to chance: {} fault_draw=1 plays the first draw of the faults at random, "
      "and `retrysim risk` says what all of them may cost",
      scenario.random_faults.front().fault.name, RequestError::part("set")));
}

Scenario with_drawn_faults(Scenario scenario, std::uint32_t draw) {
  std::vector<FaultSpec> drawn = draw_faults(scenario, draw, scenario.duration);
  scenario.faults.insert(scenario.faults.end(), drawn.begin(), drawn.end());
  scenario.random_faults.clear();
  scenario.fault_draw = 0;
  return scenario;
}

}  // namespace retrysim

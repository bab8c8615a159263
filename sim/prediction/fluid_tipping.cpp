// How long a trigger must last to tip the fluid.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "prediction/delay_law.hpp"
#include "prediction/fluid_run.hpp"
#include "prediction/fluid_system.hpp"

namespace retrysim {
namespace {

using prediction::kForever;

/// The scenario with one disturbance of the service, or none.
struct Probe {
  Scenario scenario;
  Time* start = nullptr;
  Duration* duration = nullptr;
};

void leave_out_disturbances(Scenario& scenario, std::size_t service) {
  std::erase_if(scenario.faults, [&](const FaultSpec& f) { return f.service == service; });
  for (ClientSpec& c : scenario.clients) {
    if (c.service == service) c.arrivals.surges.clear();
  }
}

class Search {
 public:
  Search(const Scenario& scenario, std::size_t service) : service_(service) {
    const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
    unit_ = system.shortest_timeout;
    if (unit_ == kForever) unit_ = system.duration / 100;
  }

  double unit() const { return unit_; }

  /// Whether the service is down long after a disturbance of `seconds`.
  bool tips(Probe& probe, double seconds) const {
    constexpr double kBefore = 10, kAfter = 80;  // timeouts
    Scenario& s = probe.scenario;
    const double start = kBefore * unit_;
    if (probe.start != nullptr) {
      *probe.start = Time::zero() + Duration::from_seconds(start);
      *probe.duration = Duration::from_seconds(seconds);
    }
    s.warmup = Duration::zero();
    s.drain = false;
    s.duration = Duration::from_seconds(start + seconds + std::max(kAfter * unit_, 4 * seconds));
    const prediction::FluidSystem system = prediction::fluid_system(s, service_);
    const double step = std::min(prediction::fluid_step(system, 400), unit_ / 400);
    return prediction::ends_down(s, system, step);
  }

  FluidTippingPoint find(Probe probe, std::string name, double longest, double tolerance) const {
    FluidTippingPoint point{.trigger = std::move(name)};
    if (tips(probe, 0)) {
      point.down_without = true;
      return point;
    }
    double low = 0, high = std::min(longest, 4 * unit_);
    while (!tips(probe, high)) {
      low = high;
      if (high >= longest) {
        point.duration = longest;
        return point;
      }
      high = std::min(longest, 3 * high);
    }
    while (high - low > tolerance * high) {
      const double middle = (low + high) / 2;
      (tips(probe, middle) ? high : low) = middle;
    }
    point.duration = (low + high) / 2;
    point.found = true;
    return point;
  }

 private:
  std::size_t service_;
  double unit_ = 1;
};

}  // namespace

std::vector<FluidTippingPoint> fluid_tipping_points(const Scenario& scenario, std::size_t service,
                                                    double longest, double tolerance) {
  if (const auto why = why_no_fluid(scenario, service)) throw std::domain_error(*why);
  const Search search(scenario, service);
  if (!(longest > 0)) longest = 50 * search.unit();
  std::vector<FluidTippingPoint> points;
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service != service) continue;
    Probe probe{scenario};
    leave_out_disturbances(probe.scenario, service);
    probe.scenario.faults.push_back(fault);
    probe.start = &probe.scenario.faults.back().start;
    probe.duration = &probe.scenario.faults.back().duration;
    points.push_back(search.find(std::move(probe), fmt::format("fault.{}.duration", fault.name),
                                 longest, tolerance));
  }
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    if (scenario.clients[c].service != service) continue;
    for (const SurgeSpec& surge : scenario.clients[c].arrivals.surges) {
      Probe probe{scenario};
      leave_out_disturbances(probe.scenario, service);
      auto& surges = probe.scenario.clients[c].arrivals.surges;
      surges.push_back(surge);
      probe.start = &surges.back().start;
      probe.duration = &surges.back().duration;
      points.push_back(search.find(
          std::move(probe),
          fmt::format("client.{}.surge.{}.duration", scenario.clients[c].name, surge.name), longest,
          tolerance));
    }
  }
  return points;
}

}  // namespace retrysim

// SPDX-License-Identifier: MIT
#include "measure/hysteresis.hpp"

#include "measure/aftermath.hpp"

#include <algorithm>
#include <cstdint>

namespace retrysim::stats {
namespace {

/// Counts of one client group, or of all, over some bins.
ClientFlow flow_of(std::span<const ClientBin> bins, std::size_t from, std::size_t to) {
  ClientFlow sum;
  for (std::size_t i = from; i < std::min(to, bins.size()); ++i) sum.merge(bins[i].flow);
  return sum;
}

StepMeasurement measure_step(const Scenario& scenario, const LoadRamp& ramp, const RunResult& run,
                             std::size_t step) {
  // Whole bins inside the second half.
  const std::int64_t width = run.interval.count(), dwell = ramp.dwell.count();
  const auto index = static_cast<std::int64_t>(step);
  const auto from = static_cast<std::size_t>((index * dwell + dwell / 2 + width - 1) / width);
  const auto to = static_cast<std::size_t>((index + 1) * dwell / width);
  StepMeasurement m;
  if (to <= from) return m;
  const double seconds = static_cast<double>(to - from) * run.interval.in_seconds();
  const ClientFlow flow = flow_of(run.all_bins, from, to);
  m.offered_load = static_cast<double>(flow.requests) / seconds;
  m.goodput = static_cast<double>(flow.successes) / seconds;
  m.attempt_rate = static_cast<double>(flow.arrivals) / seconds;
  m.offered_work =
      offered_work(scenario, run, Time::zero() + run.interval * static_cast<std::int64_t>(from),
                   Time::zero() + run.interval * static_cast<std::int64_t>(to));
  return m;
}

void find_tip_and_recovery(const LoadRamp& ramp, RampRun& result) {
  const std::size_t n = ramp.loads.size();
  for (std::size_t i = 0; i < n && !result.tip_load; ++i) {
    if (!result.steps[i].down) continue;
    result.tip_load = ramp.load(i);
    result.tip_work = result.steps[i].offered_work;
  }
  if (!result.tip_load) return;
  for (std::size_t i = ramp.steps(); i-- > n && !result.steps[i].down;) {
    result.recover_load = ramp.load(i);
    result.recover_work = result.steps[i].offered_work;
  }
}

/// By trapezoids.
void find_loop(const LoadRamp& ramp, RampRun& result) {
  const std::size_t n = ramp.loads.size();
  double up = 0, down = 0;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double width = ramp.loads[i + 1] - ramp.loads[i];
    const auto& back = result.steps;
    up += width * (back[i].goodput + back[i + 1].goodput) / 2;
    const std::size_t mirror = ramp.steps() - 1 - i;
    down += width * (back[mirror].goodput + back[mirror - 1].goodput) / 2;
  }
  result.loop_area = up - down;
  result.loop_share = up > 0 ? result.loop_area / up : 0;
}

}  // namespace

RampRun measure_ramp(const Scenario& scenario, const LoadRamp& ramp, const RunResult& run) {
  RampRun result;
  for (std::size_t step = 0; step < ramp.steps(); ++step) {
    result.steps.push_back(measure_step(scenario, ramp, run, step));
  }
  if (result.steps.empty()) return result;
  const StepMeasurement& first = result.steps.front();
  const double success_rate = first.offered_load > 0 ? first.goodput / first.offered_load : 1;
  for (StepMeasurement& m : result.steps) {
    m.down = m.goodput < scenario.recovery.share * success_rate * m.offered_load;
  }
  find_tip_and_recovery(ramp, result);
  find_loop(ramp, result);
  return result;
}

}  // namespace retrysim::stats

// What a simulation is asked at a point of a map.
//
// SPDX-License-Identifier: MIT
#include <retrysim/phase_map.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "prediction/fluid_probe.hpp"
#include "prediction/fluid_run.hpp"
#include "prediction/fluid_system.hpp"

namespace retrysim {
namespace {

bool is_one_of(MapState state, MapState a, MapState b) { return state == a || state == b; }

Scenario question_scenario(const Scenario& scenario, std::size_t service, MapQuestion question) {
  switch (question) {
    case MapQuestion::kCalm:
      return prediction::calm_scenario(scenario, service);
    case MapQuestion::kPushed:
      return prediction::pushed_scenario(scenario, service);
    case MapQuestion::kScenario:
      break;
  }
  return prediction::long_scenario(scenario, service);
}

}  // namespace

Scenario scenario_of_confirmation(const Scenario& scenario, std::size_t service,
                                  MapQuestion question, double duration) {
  Scenario s = question_scenario(scenario, service, question);
  s.duration = Duration::from_seconds(duration);
  const prediction::FluidSystem system = prediction::fluid_system(s, service);
  // The window is what the answer is about: the last quarter after the last disturbance.
  const double end = std::min(system.disturbance_end, duration);
  s.warmup = Duration::from_seconds(0.75 * duration + 0.25 * end);
  s.warmup_is_auto = false;
  s.drain = false;
  s.precision.target = 0;
  s.expectations.clear();
  return s;
}

MapConfirmation plan_confirmation(const Scenario& scenario, std::size_t service, MapState state,
                                  MapState beyond) {
  MapConfirmation plan;
  plan.state = state;
  plan.beyond = beyond;
  plan.replications = static_cast<std::size_t>(scenario.replications);
  if (state == MapState::kDead || beyond == MapState::kDead) {
    plan.question = MapQuestion::kCalm;
    plan.predicted_down = state == MapState::kDead;
  } else if (state == MapState::kTipped || beyond == MapState::kTipped) {
    plan.question = MapQuestion::kScenario;
    plan.predicted_down = state == MapState::kTipped;
  } else {
    plan.question = MapQuestion::kPushed;
    plan.predicted_down = !is_one_of(state, MapState::kSafe, MapState::kDead);
  }
  for (const std::string& doubt : doubts_of_fluid(scenario, service)) {
    plan.why += (plan.why.empty() ? "" : "; ") + doubt;
  }
  // Near a border everything takes its time.
  constexpr double kStepsPerTimeout = 200, kMargin = 1.5;
  constexpr int kDoublings = 3;
  const double shortest = question_scenario(scenario, service, plan.question).duration.in_seconds();
  double duration = shortest;
  bool settles = false;
  for (int i = 0; i <= kDoublings && !settles; ++i) {
    if (i > 0) duration *= 2;
    const Scenario s = scenario_of_confirmation(scenario, service, plan.question, duration);
    const prediction::FluidSystem system = prediction::fluid_system(s, service);
    const double step = prediction::fluid_step(system, kStepsPerTimeout);
    settles = prediction::run_system(s, system, step, duration).down_at_end == plan.predicted_down;
  }
  plan.duration = settles ? kMargin * duration : shortest;
  if (!settles) {
    plan.why += fmt::format("{}the fluid itself does not come to this in {:.4g} s",
                            plan.why.empty() ? "" : "; ", duration);
  }
  if (!plan.why.empty()) plan.verdict = MapVerdict::kOutsideValidity;
  return plan;
}

}  // namespace retrysim

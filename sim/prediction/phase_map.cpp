// Classifying the points of a plane of two keys, and choosing which of them to simulate.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/run.hpp>

#include "prediction/fluid/run.hpp"
#include "prediction/fluid/system.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

namespace retrysim {

namespace {

std::size_t service_of(const Scenario& scenario, const std::optional<std::string>& service) {
  std::string known;
  for (std::size_t i = 0; i < scenario.services.size(); ++i) {
    if (!service && scenario.services.size() == 1) return i;
    if (service && scenario.services[i].name == *service) return i;
    known += (i > 0 ? ", " : "") + scenario.services[i].name;
  }
  throw RequestError(
      service
          ? fmt::format("there is no service '{}'; services are {}", *service, known)
          : fmt::format("{} is missing; services are {}", RequestError::part("service"), known));
}

}  // namespace

MapState map_state(const Scenario& scenario, std::size_t service,
                   const std::optional<FluidEquilibria>& balance) {
  const FluidPhase phase = balance ? balance->phase : prediction::phase_by_runs(scenario, service);
  switch (phase) {
    case FluidPhase::kSafe:
      return MapState::kSafe;
    case FluidPhase::kOverloaded:
      return MapState::kOverloaded;
    case FluidPhase::kDead:
      return MapState::kDead;
    case FluidPhase::kVulnerable:
      break;
  }
  const bool tips = prediction::has_disturbance(scenario, service) &&
                    prediction::is_down_after_disturbances(scenario, service);
  return tips ? MapState::kTipped : MapState::kVulnerable;
}

PhaseMapResult map_phases(const PhaseMapRequest& request) {
  if (request.plane.size() != 2 || request.plane[0].paths.size() != 1 ||
      request.plane[1].paths.size() != 1) {
    throw RequestError(
        fmt::format("a plane has two keys: {} PATH=... is needed twice, each with one key",
                    RequestError::part("vary")));
  }
  PhaseMap map;
  map.columns = request.plane[0].choices.size();
  map.rows = request.plane[1].choices.size();
  map.keys = {request.plane[0].paths[0], request.plane[1].paths[0]};
  map.names = short_names(map.keys);
  const std::vector<Variant> points = grid(request.plane);
  std::set<std::filesystem::path> inputs;
  for (const Variant& variant : points) {
    if (request.stop && request.stop()) throw Interrupted();
    const LoadResult loaded = load_scenario_file(request.scenario, request.edits, variant.edits);
    if (!loaded.loaded) return {std::nullopt, loaded.errors};
    const Scenario& scenario = loaded.loaded->scenario;
    const std::size_t service = service_of(scenario, request.service);
    map.service = scenario.services[service].name;
    if (const auto why = why_no_fluid(scenario, service)) {
      throw RequestError("the fluid does not apply: " + *why);
    }
    MapPoint point{variant.values, variant.edits, MapState::kSafe, std::nullopt};
    if (!why_no_balance(scenario, service)) point.balance = fluid_equilibria(scenario, service);
    point.state = map_state(scenario, service, point.balance);
    map.has_trigger = map.has_trigger || prediction::has_disturbance(scenario, service);
    map.points.push_back(std::move(point));
    inputs.insert(loaded.loaded->input_files.begin(), loaded.loaded->input_files.end());
    if (request.progress) {
      request.progress(static_cast<double>(map.points.size()) / static_cast<double>(points.size()));
    }
  }
  map.inputs.assign(inputs.begin(), inputs.end());
  return {std::move(map), {}};
}

// --- Sites ---------------------------------------------------------------------------------------

namespace {

struct Candidate {
  std::size_t point = 0;
  int column = 0, row = 0;
  MapState state = MapState::kSafe, beyond = MapState::kSafe;
  int distance = 0;  // cells to the nearest point of another state

  /// The two states at a border, in a fixed order: both sides of it are of one kind.
  std::pair<MapState, MapState> border() const { return std::minmax(state, beyond); }
};

/// The points with a point of another state within the distance `most`.
std::vector<Candidate> near_borders(const PhaseMap& map, int most) {
  std::vector<Candidate> found;
  const int columns = static_cast<int>(map.columns), rows = static_cast<int>(map.rows);
  const auto state_at = [&](int x, int y) {
    return map.at(static_cast<std::size_t>(x), static_cast<std::size_t>(y)).state;
  };
  for (int x = 0; x < columns; ++x) {
    for (int y = 0; y < rows; ++y) {
      const MapState here = state_at(x, y);
      std::optional<MapState> beyond;
      int distance = 0;
      while (!beyond && distance < most) {
        ++distance;
        const auto look = [&](int at_x, int at_y) {
          if (at_x < 0 || at_y < 0 || at_x >= columns || at_y >= rows || beyond) return;
          if (state_at(at_x, at_y) != here) beyond = state_at(at_x, at_y);
        };
        // Along the axes first: a border is nearest there, unless it is met at a corner.
        look(x + distance, y);
        look(x - distance, y);
        look(x, y + distance);
        look(x, y - distance);
        for (int d = 1; d <= distance; ++d) {
          for (const int side : {-distance, distance}) {
            look(x + side, y + d);
            look(x + side, y - d);
            look(x + d, y + side);
            look(x - d, y + side);
          }
        }
      }
      if (!beyond) continue;
      found.push_back({static_cast<std::size_t>(x) * map.rows + static_cast<std::size_t>(y), x, y,
                       here, *beyond, distance});
    }
  }
  return found;
}

/// The squared distance of two points, in shares of the plane's width and height.
double apart(const PhaseMap& map, const Candidate& a, const Candidate& b) {
  const double x = static_cast<double>(a.column - b.column) / static_cast<double>(map.columns);
  const double y = static_cast<double>(a.row - b.row) / static_cast<double>(map.rows);
  return x * x + y * y;
}

}  // namespace

std::vector<MapSite> sites_to_confirm(const PhaseMap& map, std::size_t count) {
  // On a fine grid, chance decides next to a border; a step away from it, the prediction should
  // hold.
  constexpr std::size_t kShareOfPlane = 30;
  const std::size_t longest = std::max(map.columns, map.rows);
  const int away = static_cast<int>(std::max<std::size_t>(1, longest / kShareOfPlane));
  using Border = std::pair<MapState, MapState>;
  std::vector<std::pair<Border, std::vector<Candidate>>> kinds;
  for (const Candidate& c : near_borders(map, away)) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto& k) { return k.first == c.border(); });
    if (kind == kinds.end()) {
      kinds.push_back({c.border(), {c}});
    } else {
      kind->second.push_back(c);
    }
  }
  std::sort(kinds.begin(), kinds.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Candidate> chosen;
  for (bool more = true; more && chosen.size() < count;) {
    more = false;
    for (auto& [border, candidates] : kinds) {
      if (candidates.empty() || chosen.size() >= count) continue;
      // Candidates that keep the distance come first, then those that are far from all others.
      const auto merit = [&](const Candidate& c) {
        double nearest = std::numeric_limits<double>::infinity();
        for (const Candidate& other : chosen) nearest = std::min(nearest, apart(map, c, other));
        return std::pair(c.distance, nearest);
      };
      const auto best = std::max_element(
          candidates.begin(), candidates.end(),
          [&](const Candidate& a, const Candidate& b) { return merit(a) < merit(b); });
      chosen.push_back(*best);
      candidates.erase(best);
      more = true;
    }
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Candidate& a, const Candidate& b) { return a.point < b.point; });
  std::vector<MapSite> sites;
  for (const Candidate& c : chosen) sites.push_back({c.point, c.beyond});
  return sites;
}

// --- Questions to a simulation -------------------------------------------------------------------

namespace {

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
  // The window covers what the answer is about: the last quarter of the time after the last
  // disturbance.
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
  const auto at = [&](MapState one) { return state == one || beyond == one; };
  if (at(MapState::kDead) || at(MapState::kOverloaded)) {
    plan.question = MapQuestion::kCalm;
    plan.predicted_down = state == MapState::kDead;
  } else if (at(MapState::kTipped)) {
    plan.question = MapQuestion::kScenario;
    plan.predicted_down = state == MapState::kTipped;
  } else {
    plan.question = MapQuestion::kPushed;
    plan.predicted_down = state == MapState::kVulnerable;
  }
  for (const std::string& doubt : doubts_of_fluid(scenario, service)) {
    plan.why += (plan.why.empty() ? "" : "; ") + doubt;
  }
  // Near a border everything is slow.
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
    plan.why += fmt::format("{}the fluid itself does not come to this in {}",
                            plan.why.empty() ? "" : "; ", scenario::said_time(duration, 4));
  }
  if (!plan.why.empty()) plan.verdict = MapVerdict::kOutsideValidity;
  return plan;
}

}  // namespace retrysim

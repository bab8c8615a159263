// Simulates points of a map, spread over the executor.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>
#include <retrysim/run.hpp>

#include "execution/units.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace retrysim {
namespace {

/// A confirmation, and the scenario at its point of the map.
struct ConfirmedPoint {
  MapConfirmation confirmation;
  Scenario scenario;
};

Scenario load_point(const PhaseMapRequest& request, const std::vector<std::string>& edits) {
  LoadResult result = load_scenario_file(request.scenario, request.edits, edits);
  if (!result.loaded) throw RequestError(result.errors.front());
  return std::move(result.loaded->scenario);
}

std::size_t service_of(const Scenario& scenario, const std::string& service) {
  const auto found = std::find_if(scenario.services.begin(), scenario.services.end(),
                                  [&](const ServiceSpec& s) { return s.name == service; });
  if (found == scenario.services.end()) throw RequestError("there is no service " + service);
  return static_cast<std::size_t>(found - scenario.services.begin());
}

std::vector<ConfirmedPoint> plan_all(const PhaseMapRequest& request, const PhaseMap& map,
                                     std::size_t count) {
  std::vector<ConfirmedPoint> planned;
  for (const MapSite& site : sites_to_confirm(map, count)) {
    const MapPoint& point = map.points[site.point];
    Scenario scenario = load_point(request, point.edits);
    const std::size_t service = service_of(scenario, map.service);
    ConfirmedPoint one{plan_confirmation(scenario, service, point.state, site.beyond), {}};
    one.scenario = scenario_of_confirmation(scenario, service, one.confirmation.question,
                                            one.confirmation.duration);
    one.confirmation.values = point.values;
    planned.push_back(std::move(one));
  }
  return planned;
}

/// Whether fewer than half of the requests in the window succeed.
bool is_down(const Scenario& scenario, std::size_t service, const RunResult& run) {
  std::uint64_t requests = 0, successes = 0;
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    if (scenario.clients[i].service != service || scenario.clients[i].makes_calls()) continue;
    requests += run.clients[i].window.requests;
    successes += run.clients[i].window.successes;
  }
  return 2 * successes < requests;
}

}  // namespace

std::vector<MapConfirmation> confirm_map(const PhaseMapRequest& request, const PhaseMap& map,
                                         std::size_t count, const ReplicationOptions& options) {
  std::vector<ConfirmedPoint> planned = plan_all(request, map, count);
  std::vector<MapConfirmation> results;
  execution::SideBySide sites;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    MapConfirmation& c = planned[i].confirmation;
    const Scenario& scenario = planned[i].scenario;
    ReplicationOptions run = options;
    if (options.progress) {
      run.progress = [&](double share) {
        options.progress((static_cast<double>(i) + share) / static_cast<double>(planned.size()));
      };
    }
    const std::size_t service = service_of(scenario, map.service);
    std::vector<RunResult> runs;
    if (!sites.add([&] { runs = run_replications(scenario, run); })) continue;
    c.replications = runs.size();
    for (const RunResult& r : runs) c.down += is_down(scenario, service, r) ? 1 : 0;
    const bool as_predicted =
        c.predicted_down ? 2 * c.down > c.replications : 2 * c.down < c.replications;
    if (c.why.empty()) c.verdict = as_predicted ? MapVerdict::kAgree : MapVerdict::kDisagree;
    results.push_back(std::move(c));
  }
  sites.finish();
  return results;
}

}  // namespace retrysim

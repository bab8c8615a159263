// Maps of phases, what is chosen to be confirmed, and the plane of trajectories.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>
#include <retrysim/run.hpp>

#include "scenario_of.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace retrysim {
namespace {

/// Clients that ask at once again after a second; 1,000 services a second; an outage of 1.3 s.
const char* const kScenario =
    "name = \"zombie\"\nduration = 40\nreplications = 4\n"
    "[service.api]\nservice_time = { distribution = \"exponential\", mean = \"1ms\" }\n"
    "[client.web]\ncount = 100\narrivals = { process = \"poisson\", total_rate = 700 }\n"
    "attempt_timeout = 1\nretry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n"
    "[fault.outage]\nstart = 5\nduration = 1.3\ncapacity = 0\n";

struct File {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.write("zombie.toml", kScenario);
};

PhaseMapRequest plane(const File& file, const std::vector<std::string>& varied) {
  VariationsResult read = parse_variations(varied);
  REQUIRE(read.errors.empty());
  PhaseMapRequest request;
  request.scenario = file.path;
  request.plane = std::move(read.variations);
  return request;
}

using test::scenario_of;

TEST_CASE("A map knows what the scenario's trigger does") {
  const File file;
  const PhaseMapResult result = map_phases(plane(
      file, {"client.web.arrivals.total_rate=300,700,1100", "fault.outage.duration=0.5,1.1,1.3"}));
  REQUIRE(result.map);
  const PhaseMap& map = *result.map;
  CHECK(map.has_trigger);
  CHECK(map.service == "api");
  CHECK(map.names == std::vector<std::string>{"total_rate", "duration"});
  REQUIRE(map.points.size() == 9);
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK(map.at(0, row).state == MapState::kSafe);  // 3 x 0.3 < 1
    CHECK(map.at(2, row).state == MapState::kDead);
  }
  // At a load of 0.7 an outage tips it from 1.155 s on.
  CHECK(map.at(1, 0).state == MapState::kVulnerable);
  CHECK(map.at(1, 1).state == MapState::kVulnerable);
  CHECK(map.at(1, 2).state == MapState::kTipped);
  REQUIRE(map.at(1, 1).balance);
  CHECK(map.at(1, 1).balance->load == Approx(0.7));
}

TEST_CASE("A closed loop is mapped by runs, as it has no balance of its own") {
  // Sixty clients that think for a tenth of a second: more than 1 server can serve in time.
  const std::string loop =
      "name = \"loop\"\nduration = 40\n"
      "[service.api]\nservice_time = \"10ms\"\n"
      "[client.web]\ncount = 60\narrivals = { process = \"closed\", think_time = \"1s\" }\n"
      "attempt_timeout = \"300ms\"\nretry = { mode = \"custom\", max_attempts = 3, delays = [0] "
      "}\n";
  const Scenario light = scenario_of(loop);
  CHECK(map_state(light, 0, std::nullopt) != MapState::kDead);
  Scenario heavy = light;
  heavy.clients[0].count = 2000;
  CHECK(map_state(heavy, 0, std::nullopt) == MapState::kDead);
}

TEST_CASE("A closed loop that a queue turns away in part is overloaded") {
  // One server for 100 requests a second, of which 60 clients ask for 60, and 150 for up to 150.
  const auto state = [](int clients) {
    return map_state(
        scenario_of("name = \"loop\"\nduration = 40\n"
                    "[service.api]\nservice_time = \"10ms\"\nqueue.capacity = 20\n"
                    "[client.web]\narrivals = { process = \"closed\", think_time = \"1s\" }\n"
                    "attempt_timeout = \"2s\"\nretry = { mode = \"none\" }\ncount = " +
                    std::to_string(clients) + "\n"),
        0, std::nullopt);
  };
  CHECK(state(60) == MapState::kSafe);
  CHECK(state(150) == MapState::kOverloaded);
  CHECK(state(400) == MapState::kDead);
}

TEST_CASE("A plane needs two keys, and a service the fluid models") {
  const File file;
  CHECK_THROWS_AS(map_phases(plane(file, {"client.web.retry.max_attempts=1,2"})), RequestError);
  CHECK_THROWS_AS(map_phases(plane(file, {"client.web.retry.max_attempts=1,2",
                                          "service.api.queue.discipline=lifo,random"})),
                  RequestError);
  PhaseMapRequest unknown =
      plane(file, {"client.web.retry.max_attempts=1,2", "fault.outage.duration=1,2"});
  unknown.service = "nobody";
  CHECK_THROWS_AS(map_phases(unknown), RequestError);
  const PhaseMapResult wrong =
      map_phases(plane(file, {"client.web.retry.max_attempts=1,0", "fault.outage.duration=1,2"}));
  CHECK_FALSE(wrong.map);
  CHECK_FALSE(wrong.errors.empty());
}

/// Phases by columns, each from its lowest row up.
PhaseMap drawn(const std::vector<std::string>& columns) {
  PhaseMap map;
  map.columns = columns.size();
  map.rows = columns.front().size();
  for (const std::string& column : columns) {
    for (const char mark : column) {
      MapPoint point;
      point.state = mark == '.'   ? MapState::kSafe
                    : mark == 'o' ? MapState::kVulnerable
                    : mark == 'x' ? MapState::kTipped
                                  : MapState::kDead;
      map.points.push_back(point);
    }
  }
  return map;
}

TEST_CASE("Points to confirm lie next to borders, each kind of border in turn") {
  const PhaseMap map = drawn({".....", "..ooo", "..oxx", ".ooxx", "#####"});
  const auto sites = sites_to_confirm(map, 6);
  REQUIRE(sites.size() == 6);
  std::vector<std::pair<MapState, MapState>> borders;
  for (const MapSite& site : sites) {
    const MapState here = map.points[site.point].state;
    CHECK(here != site.beyond);
    borders.push_back(std::minmax(here, site.beyond));
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  // safe-vulnerable, safe-dead, vulnerable-tipped, vulnerable-dead, tipped-dead
  CHECK(borders.size() >= 4);
  CHECK(std::is_sorted(sites.begin(), sites.end(),
                       [](const MapSite& a, const MapSite& b) { return a.point < b.point; }));
  const auto again = sites_to_confirm(map, 6);
  for (std::size_t i = 0; i < sites.size(); ++i) CHECK(again[i].point == sites[i].point);
  CHECK(sites_to_confirm(drawn({"..", ".."}), 3).empty());
  CHECK(sites_to_confirm(drawn({".", "#"}), 9).size() == 2);
}

TEST_CASE("On a fine grid points to confirm keep away from the border") {
  std::vector<std::string> columns(90, std::string(90, '.'));
  for (std::size_t x = 45; x < 90; ++x) columns[x] = std::string(90, '#');
  for (const MapSite& site : sites_to_confirm(drawn(columns), 8)) {
    const std::size_t column = site.point / 90;
    CHECK((column == 42 || column == 47));
  }
}

TEST_CASE("Points to confirm are far from each other") {
  // A single border along the whole map: its ends and its middle.
  const auto sites = sites_to_confirm(drawn({".........", "#########"}), 3);
  REQUIRE(sites.size() == 3);
  std::vector<std::size_t> rows;
  for (const MapSite& site : sites) rows.push_back(site.point % 9);
  std::sort(rows.begin(), rows.end());
  CHECK(rows.front() == 0);
  CHECK(std::abs(static_cast<int>(rows[1]) - 4) <= 1);
  CHECK(rows.back() == 8);
}

TEST_CASE("What a simulation is asked depends on the border") {
  const Scenario scenario = scenario_of(kScenario);
  using enum MapState;
  const auto plan = [&](MapState state, MapState beyond) {
    return plan_confirmation(scenario, 0, state, beyond);
  };
  const MapConfirmation tipped = plan(kTipped, kVulnerable);
  CHECK(tipped.question == MapQuestion::kScenario);
  CHECK(tipped.predicted_down);
  CHECK(tipped.duration >= 40);
  CHECK(tipped.why.empty());
  const MapConfirmation vulnerable = plan(kVulnerable, kSafe);
  CHECK(vulnerable.question == MapQuestion::kPushed);
  CHECK(vulnerable.predicted_down);
  CHECK(plan(kVulnerable, kDead).question == MapQuestion::kCalm);
  CHECK_FALSE(plan(kVulnerable, kDead).predicted_down);
  CHECK(plan(kOverloaded, kSafe).question == MapQuestion::kCalm);
  CHECK_FALSE(plan(kOverloaded, kSafe).predicted_down);
  // It is not dead: the fluid never comes to what is said of this point.
  const MapConfirmation wrong = plan(kDead, kVulnerable);
  CHECK(wrong.verdict == MapVerdict::kOutsideValidity);
  CHECK(wrong.why.find("does not come to this") != std::string::npos);
  Scenario small = scenario;
  small.services[0].service_time = Distribution::constant(Duration::milliseconds(100));
  CHECK(plan_confirmation(small, 0, kVulnerable, kSafe).verdict == MapVerdict::kOutsideValidity);
}

TEST_CASE("Simulations confirm what is far from a border, and deny what is wrong", "[repetitive]") {
  // Fluctuations are 3 % of a timeout, and 20 % of it lie between these points and the border: in
  // none of 10^9 sets of replications would a majority do otherwise.
  const File file;
  const PhaseMapRequest request =
      plane(file, {"client.web.arrivals.total_rate=250,700", "fault.outage.duration=0.9,1.5"});
  PhaseMapResult result = map_phases(request);
  REQUIRE(result.map);
  ReplicationOptions run;
  run.jobs = 2;
  for (const MapConfirmation& c : confirm_map(request, *result.map, 4, run)) {
    INFO(c.values[0] << " " << c.values[1] << " " << name(c.state));
    CHECK(c.replications == 4);
    CHECK(c.verdict == MapVerdict::kAgree);
    CHECK(c.down == (c.predicted_down ? 4 : 0));
  }
  for (MapPoint& point : result.map->points) {
    if (point.state == MapState::kTipped)
      point.state = MapState::kVulnerable;
    else if (point.state == MapState::kVulnerable)
      point.state = MapState::kTipped;
  }
  const auto denied = confirm_map(request, *result.map, 4, run);
  CHECK(std::none_of(denied.begin(), denied.end(), [](const MapConfirmation& c) {
    return c.state == MapState::kTipped && c.verdict == MapVerdict::kAgree;
  }));
}

TEST_CASE("The phase plane has its states, and trajectories on both sides of the separatrix") {
  const PhasePlane plane = phase_plane(scenario_of(kScenario), 0);
  CHECK(plane.trigger == "fault.outage.duration");
  REQUIRE(plane.tipping);
  CHECK(*plane.tipping == Approx(1.155).epsilon(0.01));
  CHECK(plane.timeout == 1);
  REQUIRE(plane.equilibria.size() == 3);
  CHECK(plane.equilibria[1].name == "tipping point");
  REQUIRE(plane.equilibria[1].backlog);
  CHECK(*plane.equilibria[1].backlog == Approx(0.999));
  // 0.7 (1 + p + p^2) = 1, and each retry is on its way for a second.
  const double p = (-1 + std::sqrt(1 + 4 * 0.3 / 0.7)) / 2;
  CHECK(plane.equilibria[1].retrying == Approx(700 * (p + p * p)).epsilon(1e-6));
  CHECK_FALSE(plane.equilibria[2].backlog);  // it grows for ever
  CHECK(plane.equilibria[2].retrying == Approx(1400));
  std::size_t up = 0, down = 0, separatrix = 0;
  for (const PhaseTrajectory& t : plane.trajectories) {
    CHECK(t.stays_down == (t.trigger > *plane.tipping));
    (t.stays_down ? down : up) += 1;
    separatrix += t.separatrix ? 1 : 0;
    REQUIRE_FALSE(t.samples.empty());
    CHECK(t.samples.front().time < 0.1);
    if (t.stays_down) {
      CHECK(t.samples.back().retrying == Approx(1400).epsilon(0.01));
    } else {
      CHECK(t.samples.back().retrying == Approx(0).margin(1));
    }
  }
  CHECK(up == 4);
  CHECK(down == 4);
  CHECK(separatrix == 2);
}

TEST_CASE("The trigger of a phase plane may be a surge, of which the first counts") {
  const std::string outage = "[fault.outage]\nstart = 5\nduration = 1.3\ncapacity = 0\n";
  std::string text = kScenario;
  text.replace(text.find(outage), outage.size(),
               "surge.peak = { start = 5, duration = 1, factor = 2 }\n"
               "surge.later = { start = 25, duration = 1, factor = 9 }\n");
  const PhasePlane plane = phase_plane(scenario_of(text), 0);
  CHECK(plane.trigger == "client.web.surge.peak.duration");
  REQUIRE(plane.tipping);
  CHECK(*plane.tipping == Approx(2.655).epsilon(0.01));  // P117 of the validation
  std::size_t up = 0, down = 0;
  for (const PhaseTrajectory& t : plane.trajectories) {
    CHECK(t.stays_down == (t.trigger > *plane.tipping));
    (t.stays_down ? down : up) += 1;
  }
  CHECK(up == 4);
  CHECK(down == 4);
}

}  // namespace
}  // namespace retrysim

// Shows where in a plane of two keys a service is safe, vulnerable, overloaded or dead
// according to the fluid, and simulates points near the borders to check it.
//
//     PhaseMapResult r = map_phases({.scenario = "zombie.toml", .plane = two_variations});
//     const auto checked = confirm_map(request, *r.map, 12);
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/fluid.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/words.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

class Tables;

enum class MapState : std::uint8_t {
  kSafe,        ///< recovers from everything
  kVulnerable,  ///< another state sustains itself, but the scenario does not lead there
  kTipped,      ///< the same, and the scenario's faults and surges leave it down
  kOverloaded,  ///< short of capacity without any trigger, but at least half of the requests
                ///< succeed
  kDead,        ///< down without any trigger: fewer succeed
};
template <>
inline constexpr std::string_view kWords<MapState> = "safe|vulnerable|tipped|overloaded|dead";
static_assert(words_end_with(MapState::kDead));

struct MapPoint {
  std::vector<std::string> values;  ///< of the key across, then of the key up
  std::vector<std::string> edits;   ///< PATH=VALUE texts that make the scenario of the point
  MapState state = MapState::kSafe;
  /// Empty for closed loops, which have no load of their own: their state comes from two or three
  /// runs of the fluid.
  std::optional<FluidEquilibria> balance;
};

struct PhaseMap {
  std::vector<std::string> keys;   ///< across and up, as written
  std::vector<std::string> names;  ///< the same, short
  std::size_t columns = 0, rows = 0;
  std::vector<MapPoint> points;  ///< column by column, each from its lowest row up
  std::string service;
  bool has_trigger = false;  ///< whether some point has a fault or surge, so that it may be tipped
  std::vector<std::filesystem::path> inputs = {};  ///< the CSV files that any point reads

  const MapPoint& at(std::size_t column, std::size_t row) const {
    return points[column * rows + row];
  }
};

struct PhaseMapRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};      ///< as `load_scenario_file` takes them
  std::vector<Variation> plane = {};        ///< two, each of one key: across, up
  std::optional<std::string> service = {};  ///< its name; may be missing if there is only one
  // Called for each point, in the calling thread; each may be empty.
  std::function<bool()> stop = {};            ///< once it gives true: ends with `Interrupted`
  std::function<void(double)> progress = {};  ///< takes the share done
};

/// A map, or the mistakes of a point's scenario.
struct PhaseMapResult {
  std::optional<PhaseMap> map;
  std::vector<Diagnostic> errors;

  /// The map; throws an InputError with all mistakes if there are any.
  PhaseMap value() && {
    check(errors);
    return *std::move(map);
  }
};

/// Takes a tenth of a millisecond for each point, and up to a millisecond if the scenario has a
/// trigger. Throws RequestError for an invalid plane, for an unknown service, and where the fluid
/// does not apply.
PhaseMapResult map_phases(const PhaseMapRequest& request);

/// The state of one point, as `map_phases` finds it, with the faults and surges of the service.
MapState map_state(const Scenario& scenario, std::size_t service,
                   const std::optional<FluidEquilibria>& balance);

// --- Confirmation --------------------------------------------------------------------------------

/// The question that a simulation answers.
enum class MapQuestion : std::uint8_t {
  kCalm,      ///< is it down without faults and surges?
  kPushed,    ///< does it stay down after an outage (or, if servers are unlimited, a surge) of many
              ///< timeouts?
  kScenario,  ///< do the scenario's faults and surges leave it down?
};
template <>
inline constexpr std::string_view kWords<MapQuestion> = "calm|pushed|scenario";
static_assert(words_end_with(MapQuestion::kScenario));

enum class MapVerdict : std::uint8_t { kAgree, kDisagree, kOutsideValidity };
template <>
inline constexpr std::string_view kWords<MapVerdict> = "agree|disagree|outside validity";
static_assert(words_end_with(MapVerdict::kOutsideValidity));

struct MapConfirmation {
  std::vector<std::string> values;  ///< of the point
  MapState state = MapState::kSafe;
  MapState beyond = MapState::kSafe;  ///< on the other side of the nearest border
  MapQuestion question = MapQuestion::kCalm;
  bool predicted_down = false;
  double duration = 0;  ///< of each run, s
  /// Replications in which fewer than half of the requests succeed in the last quarter of the time
  /// after the last fault or surge.
  std::size_t down = 0;
  std::size_t replications = 0;
  MapVerdict verdict = MapVerdict::kAgree;
  std::string why;  ///< reasons for `kOutsideValidity`: sentences that name the keys
};

/// The points of a map to confirm, by their number in `PhaseMap::points`, with the state beyond the
/// border: near the borders (a thirtieth of the plane away, or next to them if there is no room),
/// each kind of border in turn, as far as possible from those chosen before. The same map gives the
/// same points. Fewer than `count` if the map has fewer.
struct MapSite {
  std::size_t point = 0;
  MapState beyond = MapState::kSafe;
};
std::vector<MapSite> sites_to_confirm(const PhaseMap& map, std::size_t count);

/// What to simulate at a point, and for how long; `why` is set where the fluid is in doubt or
/// cannot predict the result.
MapConfirmation plan_confirmation(const Scenario& scenario, std::size_t service, MapState state,
                                  MapState beyond);

/// The scenario that answers the question of a confirmation.
Scenario scenario_of_confirmation(const Scenario& scenario, std::size_t service,
                                  MapQuestion question, double duration);

/// Simulates `count` points, each with the replications of its scenario. A point agrees if more
/// than half of the replications do what the fluid says. Throws what `simulate_all` throws.
std::vector<MapConfirmation> confirm_map(const PhaseMapRequest& request, const PhaseMap& map,
                                         std::size_t count, const ReplicationOptions& options);

/// map (a row for each point), and confirm if there are confirmations.
Tables tables(const PhaseMap& map, const std::vector<MapConfirmation>& confirmed = {});

}  // namespace retrysim

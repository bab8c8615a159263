// A unit of work: one replication of one scenario, and the part of its result that is kept. Every
// search asks for units and gets their results, in whatever way they come: from the store if they
// are there, else simulated by threads or by the ranks of an MPI job, and then kept in the store.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>
#include <retrysim/time.hpp>

#include "estimate/splitting.hpp"
#include "execution/archive.hpp"
#include "execution/run_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::execution {

// --- What a unit is ------------------------------------------------------------------------------

/// A hash of all sources that decide results, made by the build: the same for any compiler, build
/// type and place.
extern const char* const kSourcesOfResults;

enum class Keep : std::uint8_t {
  kRow,        ///< the row of the table of metrics: `UnitResult`
  kSeries,     ///< the row, and the replication over time
  kWhole,      ///< the whole `RunResult`
  kFate,       ///< the fate after the last disturbance: `UnitFate`
  kSplitting,  ///< a repetition of splitting: `stats::SplittingRun`
  kBudgets,    ///< the parts of error budgets that are used: `UnitBudgets`
};

/// What a repetition of splitting looks for (kSplitting). Its particles are replications of the
/// scenario: those from the unit's replication times `kMostParticles` on.
struct SplittingTask {
  RareEvent event;
  Time from;  ///< the event counts if it happens then or later, and not before
  std::uint32_t particles = 0;
  bool plain = false;  ///< all particles are followed from their starts: `stats::follow_all`
  stats::SplittingLimits limits = {};
};
inline constexpr std::uint32_t kMostParticles = 1 << 16;

struct Unit {
  std::size_t scenario = 0;  ///< the scenario's number in the request
  std::uint32_t replication = 0;
  Time retries_until = Time::max();  ///< no retries are sent from this time on (SimulationOptions)
  SplittingTask splitting = {};
};

/// The fate of a replication after the last disturbance, and of its twin, which sends no retries
/// from the end of the disturbance on. A replication that recovers has no twin.
struct UnitFate {
  TippingResponse response = TippingResponse::kUnknown;
  bool twin_recovered = false;  ///< the twin recovered in time
  bool metastable = false;
  /// Duration that would have let the run be judged; 0 if it was judged.
  double duration_needed_s = 0;
  std::uint64_t events = 0, twin_events = 0;
};

/// What a replication uses of each error budget of its scenario, event by event, as
/// `stats::from_slo_numbers` reads it.
struct UnitBudgets {
  std::vector<double> numbers;
  std::vector<std::uint64_t> bad_since_first;  ///< by SLO: from the first fault to the end
  std::uint64_t events = 0;
};

/// A valid scenario as bytes, and back, without strategies of the user's own.
std::string encode(const Scenario& scenario);
Scenario decode_scenario(std::string_view bytes);

/// A hash of everything that decides the results of a scenario's units: equal for scenarios that
/// differ in name, description, expectations or the number of replications only. `UnitKey()` for a
/// scenario with a strategy of the user's own, whose results are not known by what it says.
UnitKey identity_of(const Scenario& scenario);

/// The key of a unit in a store. `identity` comes from `identity_of`; for `UnitKey()` the key is
/// `UnitKey()`.
UnitKey key_of(const UnitKey& identity, const Unit& unit, Keep keep, std::size_t most_bins = 0);

// --- Getting their results -----------------------------------------------------------------------

/// The units of one request.
struct Units {
  Keep keep = Keep::kRow;
  std::size_t most_bins = 0;  ///< most bins of the series (kSeries)
  std::size_t count = 0;
  /// Returns a unit by its number. Units of one scenario are best in a row. This function,
  /// `scenario` and `name` are called by several threads.
  std::function<Unit(std::size_t number)> unit;
  std::function<std::shared_ptr<const Scenario>(std::size_t scenario)> scenario;
  /// Returns `identity_of` a scenario, if that is known without making the scenario; may be empty.
  std::function<UnitKey(std::size_t scenario)> identity;
  /// Returns the name of a scenario in messages; may be empty.
  std::function<std::string(std::size_t scenario)> name;
  /// Whether a unit over its limit (kRow, kSeries) gives a result that says so; otherwise it ends
  /// the work.
  bool limits_are_results = false;
};

/// Takes the result of a unit as bytes, one at a time and in any order; `kept`: the bytes can be
/// found in the store by the unit's key. Not used for whole results.
using Deliver = std::function<void(std::size_t number, std::string bytes, bool kept)>;

/// Gets all units and returns their keys, none without a store. Whole results go into `whole`,
/// which has a place for each unit. `ReplicationOptions::first` is ignored; `max_events` holds for
/// each unit. A process that is not the executor's owner does not call this but `serve`. Throws
/// what `simulate` throws, for the lowest unit that fails; what the executor throws; and
/// `ShardDone`. What is finished is then in the store.
std::vector<UnitKey> get_units(const Units& units, const ReplicationOptions& options,
                               const Deliver& deliver, std::vector<RunResult>* whole = nullptr);

// A search that is one of several tasks ends with `ShardDone` where results of other tasks are
// missing. The search itself says what it can still do without them, and what would follow.

/// Calls `ask`, on whose results the next units of the search depend.
template <typename Ask>
auto before_more(Ask&& ask) {
  try {
    return ask();
  } catch (ShardDone& done) {
    done.has_rounds = true;
    throw;
  }
}

/// Parts of a search that do not wait for each other: where results of other tasks are missing, the
/// task goes on with the next part.
class SideBySide {
 public:
  /// Calls `part`; false if results are missing.
  template <typename Part>
  bool add(Part&& part) {
    try {
      part();
      return true;
    } catch (const ShardDone& done) {
      if (!missing_) missing_.emplace(0, 0);
      missing_->there += done.there;
      missing_->all += done.all;
      missing_->has_rounds |= done.has_rounds;
      return false;
    }
  }
  /// To be called when all parts have been added. Throws ShardDone for all of them together if
  /// results are missing.
  void finish() const {
    if (missing_) throw ShardDone(*missing_);
  }

 private:
  std::optional<ShardDone> missing_;
};

/// A pointer to a scenario that outlives the request, for `Units::scenario`.
std::shared_ptr<const Scenario> borrowed(const Scenario& scenario);

/// The rows of all units of a request, in the request's order.
std::vector<UnitResult> get_rows(const Units& units, const ReplicationOptions& options);

/// Throws LimitExceeded if all units together took more than `max_events`.
void check_events(std::span<const UnitResult> rows, const ReplicationOptions& options);

/// Repetitions `first` to `first + count - 1` of splitting; fewer than 2^16 in all. `max_events`
/// holds for the sum over them.
std::vector<stats::SplittingRun> get_splittings(const Scenario& scenario, const SplittingTask& task,
                                                std::uint32_t first, std::size_t count,
                                                const ReplicationOptions& options);

/// What all units use of the error budgets of their scenarios. `units.keep` does not matter.
std::vector<UnitBudgets> get_budgets(Units units, const ReplicationOptions& options);

/// The fates of all replications of one scenario. `max_events` holds for the sum over them, and for
/// the sum over their twins.
std::vector<UnitFate> get_fates(const Scenario& scenario, const ReplicationOptions& options);

}  // namespace retrysim::execution

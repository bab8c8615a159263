// How likely is it that a service tips over by itself? The event is so rare that no run shows it: a
// collapse, a backlog, a minute with too few successes, without any fault or surge. How often it
// happens is found by splitting (sim/experiment/README.md): runs that have come nearer to the event
// are continued in several ways. The answer has a 95 % interval from independent repetitions.
//
// And how likely is it that the faults of a month, which come at random times, use more of an error
// budget than there is? Many months are drawn; of each, only the time around its faults is
// simulated.
//
//     RiskPlan plan = plan_risk({.scenario = "mine.toml", .event = "collapse"}).value();
//     const std::vector<RiskStudy> studies = find_risks(plan, {.jobs = 2});
//     if (const auto& rate = studies.front().per_s) ... 1 / rate->mean ... rate->low ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/sweep.hpp>
#include <retrysim/table.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

// --- The question --------------------------------------------------------------------------------

/// The event that a text names, in this scenario:
///   collapse                     of the requests of all clients that end within a window, less
///                                than half succeed; the window is ten times the longest attempt
///                                timeout, and at least 10 s
///   service.NAME.in_system>=K    K attempts are at the service, waiting or in service
///   client.NAME.success_rate<X/W of the group's requests that end within W, such as 60s, less than
///                                the share X succeeds; NAME may be "all"
/// Throws RequestError about the part "event".
RareEvent parse_rare_event(std::string_view text, const Scenario& scenario);

/// More than a share of an error budget is used within the period, by faults that begin at random
/// times ([fault.NAME] with per_year, mtbf or with; or `events_per_year` of the SLO).
struct BudgetEvent {
  std::size_t slo = 0;  ///< index into Scenario::slos
  double above = 1;     ///< as a share of the budget of the SLO's own window
};
/// The event of a text such as "slo.web.budget>1"; none if it does not begin with "slo". Throws
/// RequestError about the part "event".
std::optional<BudgetEvent> parse_budget_event(std::string_view text, const Scenario& scenario);

/// A time above 0, such as "30d", "12h" or "365d". Throws RequestError about `part`.
Duration parse_period(std::string_view text, const char* part = "per");

struct RiskRequest {
  std::filesystem::path scenario = {};
  std::vector<std::string> edits = {};          ///< as `load_scenario_file` takes them
  std::vector<std::string> variant_edits = {};  ///< those of a `Variant`
  std::string event = "collapse";
  Duration period = Duration::seconds(30 * 86'400);  ///< for which the probability is asked
  /// Keys whose values are tried, as `parse_variations` takes them; empty: only the scenario.
  std::vector<std::string> varying = {};
  /// Half the width of the 95 % interval that is aimed at, as a share of the estimate; from 0.01 to
  /// 2.
  double precision = 0.25;
  /// A collapse that does not end by itself is ended by somebody after this time; only for faults
  /// at random times. `max()`: it lasts to the end of the period.
  Duration repair = Duration::max();
  /// Events that may be simulated for each point, roughly; a first look takes a quarter of them at
  /// most. If they are too few, the interval is wider.
  std::uint64_t effort = 5'000'000'000;
  /// No splitting, but as many runs as the effort allows, which show the event or do not.
  bool plain = false;
};

/// A combination of values.
struct RiskPoint {
  std::string name;                 ///< empty if nothing is varied
  std::vector<std::string> values;  ///< by key
  std::shared_ptr<const LoadedScenario> loaded;
  std::shared_ptr<const Scenario> undisturbed;  ///< what is simulated
  RareEvent event;
  std::optional<BudgetEvent> budget;  ///< instead of `event`
};

struct RiskPlan {
  LoadedScenario base;
  std::string event;  ///< as asked
  Duration period;
  double precision = 0;
  Duration repair;
  std::uint64_t effort = 0;
  bool plain = false;
  std::vector<std::string> varying;           ///< as given
  std::vector<std::string> keys;              ///< the varied ones, in order
  std::vector<RiskPoint> points;              ///< at least one
  bool leaves_disturbances_out = false;       ///< some point has faults or surges
  std::vector<std::filesystem::path> inputs;  ///< CSV files read

  /// What the event is, in words: "100 attempts at once at api".
  std::string said_event(const RiskPoint& point) const;
};

using RiskPlanResult = Planned<RiskPlan>;

/// Loads each point. Throws RequestError for a request that makes no sense: an event of another
/// scenario, rates that change over time, so that no time is like another.
RiskPlanResult plan_risk(const RiskRequest& request);

// --- The answer ----------------------------------------------------------------------------------

/// A number above 0 with its 95 % interval.
struct RiskInterval {
  double mean = 0, low = 0, high = 0;
};

/// The probability that an event of this rate happens at least once within the period.
RiskInterval risk_within(const RiskInterval& per_s, Duration period);
/// The mean time until an event of this rate.
RiskInterval mean_time_s(const RiskInterval& per_s);

/// What a system looks like at some time before the event.
struct RiskMoment {
  double time_s = 0;  ///< start of a stretch, relative to the event: below 0
  double requests_per_s = 0, attempts_per_s = 0;
  double in_system = 0;                 ///< attempts at all services, waiting or in service
  std::optional<double> success_share;  ///< of the requests that end; none if none does
};

/// One period that was drawn: what its faults cost.
struct DrawnPeriod {
  std::size_t faults = 0;  ///< those that begin in it
  /// Faults with their aftermaths; of faults simulated together only the last one has one.
  double disturbed_s = 0;
  /// Faults after which the system did not recover by itself, as far as it was followed.
  std::size_t lasting = 0;
  double bad = 0;  ///< requests that failed or were too slow, also while there was no fault
  double availability = 1;  ///< 1 - bad / requests
  double budget_used = 0;   ///< of the budget of the SLO's window
  double outage_s = 0;      ///< a full outage of this length has as many bad requests
};

/// What periods with faults at random times look like.
struct DrawnPeriods {
  double requests_per_s = 0;  ///< requests that the SLO counts, without a fault
  double quiet_bad = 0;       ///< the share of these that is bad
  double quiet_s = 0;         ///< for how long both were measured, in ten runs
  /// A quiet stretch is simulated for this long after the system has recovered; the rest, up to the
  /// next fault, is skipped.
  Duration settle;
  /// A fault after which the system has not recovered by then counts as lasting.
  Duration followed;
  std::vector<DrawnPeriod> periods;  ///< by draw, from 1 on
  std::size_t above = 0;             ///< how many of them use more than the event says
  std::size_t stretches = 0;         ///< simulated: faults close to each other are one
  double simulated_s = 0;
};

/// How bad a period is that comes once in `periods` periods.
struct ReturnLevel {
  double periods = 0;
  RiskInterval budget_used, outage_s;
};
/// The levels for 2, 5, 10, 20, 50, ... periods, as far as there are ten worse ones among those
/// drawn; with 95 % intervals from order statistics.
std::vector<ReturnLevel> return_levels(const DrawnPeriods& drawn);

enum class RiskMethod : std::uint8_t {
  kSplitting,
  kPlain,  ///< it was asked for, or the event is not rare
  kDrawn,  ///< periods with faults at random times
};
template <>
inline constexpr std::string_view kWords<RiskMethod> = "splitting|plain|drawn";
static_assert(words_end_with(RiskMethod::kDrawn));

struct RiskStudy {
  /// How often per second the event happens, from a state without it. Empty if it was not seen
  /// often enough: then only `per_s_below` is known.
  std::optional<RiskInterval> per_s;
  /// It happens less often than that, with 95 % confidence; infinite if too little was simulated to
  /// say so.
  double per_s_below = 0;
  /// How near to the event the nearest particle came; 1: it reached it.
  double level = 0;
  /// With faults at random times: the probability within the period, and what was drawn. `per_s` is
  /// that probability divided by the period.
  std::optional<RiskInterval> probability;
  std::optional<DrawnPeriods> drawn;

  RiskMethod method = RiskMethod::kSplitting;
  Duration horizon;  ///< how long a particle lasts; the event counts in its second half
  std::uint32_t repetitions = 0, particles = 0;  ///< particles of each repetition
  double levels = 0, ancestors = 0;              ///< means over repetitions, as in SplittingRun
  double relative_error = 0;                     ///< standard error of `per_s->mean`, as a share
  /// The variance of the estimate, compared with the least that splitting with as many particles
  /// can have; 0 without an estimate by splitting.
  double excess_variance = 0;
  /// Where in the second half of its time a particle comes to the event, on average: 0.5 if it is
  /// as likely at any time. More: the horizon was too short, and the rate may be too low.
  double position = 0, position_error = 0;
  /// The way to the event, in equal stretches: means over one particle of each repetition, weighted
  /// by the probabilities that these have found. Empty without an estimate by splitting.
  std::vector<RiskMoment> path;
  RiskMoment usual;  ///< the same figures long before the event

  std::uint64_t events = 0;  ///< simulated for the answer, the first looks included
  /// The share of these events that repeat what another particle had done before its branch.
  double repeated = 0;
  double plain_events = 0;  ///< those that plain simulation would need for the same precision

  /// Particles come to the event later than chance would have it.
  bool is_late() const { return per_s && position - 3 * position_error > 0.55; }
  /// The scores lead to the event badly: its variance is several times what it could be.
  bool has_poor_score() const { return excess_variance > 5; }
};

/// Called when the search turns to a stage of a point, such as "first look".
using RiskProgress = std::function<void(const RiskPoint& point, std::string_view stage)>;

/// Finds the risk at each point. All points have the same random numbers. Throws what `simulate`
/// throws, and ShardDone.
std::vector<RiskStudy> find_risks(const RiskPlan& plan, const ReplicationOptions& run = {},
                                  const RiskProgress& progress = {});

/// The tables risk (a row for each point) and path (for each moment of each path).
Tables tables(const RiskPlan& plan, const std::vector<RiskStudy>& studies);

}  // namespace retrysim

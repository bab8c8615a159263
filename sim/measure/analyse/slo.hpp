// What faults and surges use of the error budgets of a scenario ([slo.NAME]).
//
// An event is a fault or surge with its aftermath: the requests made from its start until the
// groups have recovered, or the next one begins. Faults and surges that overlap, or follow each
// other without a gap, are one. A request is bad if it does not end with success, or takes longer
// than the SLO says.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::stats {

/// One or more faults and surges; where nothing disturbs the run, the window, under the name "run".
struct SloEvent {
  std::string name;                ///< "deploy", "dip+rush"
  std::vector<std::string> parts;  ///< the names in it
  Time start, fault_end;           ///< in the window; without the aftermath
};
/// In the order of time, at least one.
std::vector<SloEvent> slo_events(const Scenario& scenario);

/// The groups whose requests count, in their order.
std::vector<std::size_t> slo_groups(const Scenario& scenario, const SloSpec& slo);

/// One event of one replication.
struct SloFigures {
  double end_s = 0;                ///< of the aftermath
  double requests_per_window = 0;  ///< as the SLO says, or at the rate before the event
  double budget = 0;               ///< of these, the ones that may be bad
  double requests = 0;             ///< made in the event
  double bad = 0, failed = 0, slow = 0;
  double budget_used = 0;   ///< bad / budget
  double burn_rate = 0;     ///< share of the requests that are bad, per share that may be
  double outage_s = 0;      ///< a full outage of this length makes as many bad
  double retries = 0;       ///< of these requests
  double retries_cost = 0;  ///< at the mean price of the groups' attempts in the run
  /// Clients with a request that failed in the window; missing above 10^6 clients of a group.
  std::optional<double> users_hurt;
  double over = 0;  ///< 1: it ended in the run
};
/// Empty if there is no budget: no request came before the first event.
std::optional<SloFigures> slo_figures(const Scenario& scenario, const RunResult& run,
                                      std::size_t slo, std::size_t event);

/// The share of the year's budget that this many events use; the year has 365 days.
double year_share(const SloSpec& slo, double budget_used, double per_year);
/// How often the event happens in a year; empty: the SLO does not say.
std::optional<double> per_year(const SloSpec& slo, const SloEvent& event);
/// The clients of the groups.
double users_of(const Scenario& scenario, const SloSpec& slo);
/// Whether attempts have another price than 1.
bool has_prices(const Scenario& scenario);

/// The most that the events of a run use together, of any of the budgets. Empty without an SLO.
std::optional<double> error_budget_used(const Scenario& scenario, const RunResult& run);

// As numbers, so that replications can be judged without keeping their results.

/// Those of `slo_figures` that are never missing.
inline constexpr auto kSloNumbers = std::to_array<double SloFigures::*>(
    {&SloFigures::end_s, &SloFigures::requests_per_window, &SloFigures::budget,
     &SloFigures::requests, &SloFigures::bad, &SloFigures::failed, &SloFigures::slow,
     &SloFigures::budget_used, &SloFigures::burn_rate, &SloFigures::outage_s, &SloFigures::retries,
     &SloFigures::retries_cost, &SloFigures::over});

std::size_t slo_number_count(const Scenario& scenario);
/// By SLO and event: what `slo_figures` gives.
std::vector<double> slo_numbers(const Scenario& scenario, const RunResult& run);
std::vector<std::optional<SloFigures>> from_slo_numbers(std::span<const double> numbers);

}  // namespace retrysim::stats

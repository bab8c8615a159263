// The parts of the error budgets of a scenario ([slo.NAME]) that faults and surges use.
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

/// One or more faults and surges; without disturbances the whole window, under the name "run".
struct SloEvent {
  std::string name;                ///< "deploy", "dip+rush"
  std::vector<std::string> parts;  ///< names of the faults and surges
  Time start, fault_end;  ///< first start, and last end without the aftermath, in the window
};
/// The events of a scenario in the order of time, at least one.
std::vector<SloEvent> slo_events(const Scenario& scenario);

/// The client groups whose requests the SLO counts, in the scenario's order.
std::vector<std::size_t> slo_groups(const Scenario& scenario, const SloSpec& slo);

/// The figures of one event in one replication.
struct SloFigures {
  double end_s = 0;  ///< end of the aftermath, s
  /// Requests per SLO window: as the SLO says, or at the rate before the event.
  double requests_per_window = 0;
  double budget = 0;    ///< number of these that may be bad
  double requests = 0;  ///< made in the event
  double bad = 0, failed = 0, slow = 0;
  double budget_used = 0;  ///< bad / budget
  double burn_rate = 0;    ///< share of bad requests, divided by the share allowed
  double outage_s = 0;     ///< length of a full outage with as many bad requests
  double retries = 0;      ///< retries of the requests made in the event
  /// Cost of the retries, at the mean price of the groups' attempts in the run.
  double retries_cost = 0;
  /// Clients with a request that failed in the window; missing above 10^6 clients of a group.
  std::optional<double> users_hurt;
  double over = 0;  ///< 1 if the event ended within the run
};
/// The figures of an event; empty if there is no budget because no request came before the first
/// event.
std::optional<SloFigures> slo_figures(const Scenario& scenario, const RunResult& run,
                                      std::size_t slo, std::size_t event);

/// The share of a year's budget that `per_year` events use, each `budget_used`; a year has 365
/// days.
double year_share(const SloSpec& slo, double budget_used, double per_year);
/// How often the event happens in a year; empty if the SLO does not say.
std::optional<double> per_year(const SloSpec& slo, const SloEvent& event);
/// The number of clients in the groups that the SLO counts.
double users_of(const Scenario& scenario, const SloSpec& slo);
/// Whether any attempt has another price than 1.
bool has_prices(const Scenario& scenario);

/// The share of its error budget that all events of a run use together, of the SLO for which that
/// is most. Empty without an SLO.
std::optional<double> error_budget_used(const Scenario& scenario, const RunResult& run);

// Figures as plain numbers, so that replications can be judged without keeping their results.

/// The members of SloFigures that are never missing.
inline constexpr auto kSloNumbers = std::to_array<double SloFigures::*>(
    {&SloFigures::end_s, &SloFigures::requests_per_window, &SloFigures::budget,
     &SloFigures::requests, &SloFigures::bad, &SloFigures::failed, &SloFigures::slow,
     &SloFigures::budget_used, &SloFigures::burn_rate, &SloFigures::outage_s, &SloFigures::retries,
     &SloFigures::retries_cost, &SloFigures::over});

std::size_t slo_number_count(const Scenario& scenario);
/// The results of `slo_figures` for every SLO and event, as numbers.
std::vector<double> slo_numbers(const Scenario& scenario, const RunResult& run);
std::vector<std::optional<SloFigures>> from_slo_numbers(std::span<const double> numbers);

}  // namespace retrysim::stats

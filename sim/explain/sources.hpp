// Where the figures of a case are counted: files, columns and windows of the result.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "explain/group_case.hpp"
#include "explain/said.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace retrysim::explain {

/// How a load is worked out, in words: attempts times the server time of each, which the scenario
/// gives.
inline constexpr std::string_view kWork =
    "attempts times the server time that the scenario gives them";
inline constexpr std::string_view kQueueWork =
    "queue_max times the server time that the scenario gives";
inline constexpr std::string_view kByScenario = "worked out from the scenario";

/// A metric of the group in replications.csv; `over` says how the replications become one number.
FigureSource metric(const GroupCase& c, std::string_view name, std::string_view over = "sum");
/// The sum over replications of a metric that is a share or a mean, weighted by the metric that it
/// is a share or a mean of.
FigureSource weighted(const GroupCase& c, std::string_view name, std::string_view weight);
/// A column of timeseries.csv in a window of the group: before, during, trouble, after, window.
FigureSource flow(const GroupCase& c, std::string_view column, std::string_view window);
/// A column of timeseries.csv per second, in the bins of a window.
FigureSource per_second(const GroupCase& c, std::string_view column, std::string_view window);
/// A column of service.csv, summed over the services that the group calls.
FigureSource served(const GroupCase& c, std::string_view column, std::string_view window,
                    std::string_view over = "sum");

/// A metric of the requests `r`, from the phases of phases.csv in which they are made.
FigureSource made(const GroupCase& c, const Requests& r, std::string_view name);
/// The same of another group, in the phases of this one.
FigureSource made_by(const GroupCase& c, const ClientSpec& group, const Requests& r,
                     std::string_view name);
FigureSource successes_of(const GroupCase& c, const Requests& r);
FigureSource latency_of(const GroupCase& c, const Requests& r);

/// The attempts that a load counts.
enum class LoadOf : std::uint8_t { kFirst, kRetries, kAll };
/// The load of the group's service by the attempts of all groups in a window, as a share of the
/// full capacity: the files tell it if every attempt asks for a server, and for just the service
/// time.
FigureSource load_source(const GroupCase& c, LoadOf of, std::string_view window);
/// The load by first attempts in the stretch, as a share of the capacity that the faults leave.
FigureSource load_source(const GroupCase& c, const DisturbedStretch& d);
/// The server time that attempts ask of a service in the stretch, as a share of the available
/// server time; `first`: without retries.
FigureSource need_source(const GroupCase& c, std::size_t service, const GraphStretch& s,
                         bool first);
/// Attempts that a service answers with errors of its own, per attempt that reaches it; in a window
/// of the group, or in a stretch of time.
FigureSource errors_source(const GroupCase& c, std::string_view window);
FigureSource errors_source(const GroupCase& c, const DisturbedStretch& d);
/// From when on the quota of the group is dry, as `quota_dry` of its case says, and the share that
/// it refuses from then on: the mean over replications, or the median of those that have it.
FigureSource quota_dry_source(const GroupCase& c, std::string_view what);
/// The time of an attempt that waits for nothing, in the stretch; null: while no fault is on.
FigureSource least_attempt_source(const GroupCase& c, const DisturbedStretch* d);
/// Whether the scenario states the mean of a time by its key `mean`.
bool has_known_mean(const Distribution& time);
/// The work that first attempts ask for according to the scenario's keys, in busy servers; and the
/// number of servers.
FigureSource planned_work(const GroupCase& c);
FigureSource servers_source(const GroupCase& c);
/// About the bins in which the retries of the groups that call ask for more than the capacity:
/// their load ("mean of means"), or their number ("mean count"), as the mean over replications.
FigureSource retries_above_source(const GroupCase& c, std::string_view over);
/// The load in the bins that are above the capacity: of all attempts; for first attempts only in
/// the time in which nothing is wrong.
FigureSource work_above_source(const GroupCase& c, LoadOf of, std::string_view over);
/// A key of a fault. No file has the values of a drawn one.
FigureSource fault_key(const FaultSpec& fault, std::string_view name);
/// The share of the capacity that the faults of a whole stretch leave, from the keys of the faults.
FigureSource left_source(const GroupCase& c, const DisturbedStretch& d);
/// Time to serve a full queue, and the longest queue that was seen, at full capacity, s.
FigureSource full_queue_source(const GroupCase& c);
FigureSource largest_queue_source(const GroupCase& c);

/// A metric of the client group named `client`.
FigureSource metric_of(const std::string& client, std::string_view name);
/// A column of service.csv of the service named `service`, in the whole bins of a stretch of time.
FigureSource served_by(const std::string& service, std::string_view column, double from_s,
                       double to_s);
/// A column of slo.csv for one event of an SLO.
FigureSource slo_cell(const std::string& slo, const std::string& event, std::string_view column);
/// A column of attempts.csv for first attempts.
FigureSource first_attempt(const GroupCase& c, std::string_view column);

/// The mean `send_wait_mean` or `connection_wait_mean` of the requests that have waited, as
/// GroupCase::waited counts them.
FigureSource wait_source(const GroupCase& c, std::string_view name);
/// Success rate, attempts per request and latency of the requests of all replications.
FigureSource success_source(const GroupCase& c);
FigureSource attempts_per_request(const GroupCase& c);
FigureSource latency_source(const GroupCase& c);
/// Recovery time of each replication that recovered; `above`: only times longer than that.
FigureSource recovery_source(const GroupCase& c, std::string_view over, double above = -1);
/// How many replications recovered, and in how many this can be told.
FigureSource back_source(const GroupCase& c);
FigureSource told_source(const GroupCase& c);
/// "start_s" of the first disturbance that may reach the group, "end_s" of the last one.
FigureSource disturbances_edge(const GroupCase& c, std::string_view edge);
/// The time from the end of the last disturbance to the end of the window.
FigureSource watched_source(const GroupCase& c);

}  // namespace retrysim::explain

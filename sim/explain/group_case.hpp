// The case of one client group: the figures from the runs that the rules of verdicts use.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <retrysim/metrics.hpp>

#include "explain/graph_case.hpp"
#include "flow/demand.hpp"
#include "measure/analyse/recovery.hpp"
#include "prediction/facts/service_load.hpp"

namespace retrysim::explain {

/// What happens in a stretch of time, in all replications together (flow rule).
struct Stretch {
  double seconds = 0;  ///< of all replications together
  ClientFlow group;
  ServiceFlow service;      ///< of the services that the group calls, all together
  double first_work_s = 0;  ///< server time that new requests of all groups ask of the first one,
  double retry_work_s = 0;  ///< and that their retries ask for

  /// Share of attempts without an answer in time, among those that were served in time or not in
  /// time.
  double too_late_share() const;
};

/// The requests made in a part of the run, whenever they end; of all replications together.
struct Requests {
  double made = 0, succeeded = 0;
  double ended = 0, latency_s = 0;  ///< their number, and the sum of their latencies
  std::string_view phases = {};     ///< the kinds of phases that it is made in: "recovering+after"
  bool as_counted = true;           ///< false: without some that were under way at a border

  /// Share of the requests made; 1 if there was none.
  double success_share() const { return made > 0 ? succeeded / made : 1; }
  double mean_latency_s() const { return ended > 0 ? latency_s / ended : 0; }
  void merge(const Requests& o);
};

/// The parts that disturbances divide the run into.
struct RequestsByPart {
  Requests before = {.phases = "before"};
  Requests during = {.phases = "during"};
  Requests between = {.phases = "between"};
  /// From the end of the last disturbance until the group is back, and from then on.
  Requests recovering = {.phases = "recovering"};
  Requests after = {.phases = "after"};

  /// Since the end of the last disturbance.
  Requests since() const;
};

/// Faults and surges that are active throughout one stretch of time.
struct DisturbedStretch {
  std::string name;
  double start_s = 0, end_s = 0;
  double left = 1;           ///< share of the capacity of the group's service; of several, the most
  double seconds = 0;        ///< of all replications together
  double first_work_s = 0;   ///< as in Stretch
  ServiceFlow service = {};  ///< of the group's services, in whole bins inside it
  /// Among the faults of the only service that the group calls, those that are on throughout.
  std::vector<const FaultSpec*> faults = {};
};

/// The disturbances that may reach a part of the scenario (stats::ReachParts), as its groups see
/// them.
struct PartFacts {
  std::vector<stats::Disturbance> all;        ///< also before the window
  std::vector<stats::Disturbance> in_window;  ///< that do not end before it begins
  /// What each phase of the scenario is for them; and with which of these disturbances.
  struct OwnPhase {
    PhaseKind kind;
    std::string name;
  };
  std::vector<OwnPhase> phases;
  bool as_all = true;  ///< the phases are those of the scenario
};

/// Requests under way in the window, or until the first disturbance; sums over the replications.
struct Backlog {
  double start = 0, middle = 0, end = 0;
  double first_most = 0, last_most = 0;  ///< at any moment of the first half, of the second one
  double made = 0;                       ///< requests of the second half,
  double work_s = 0, seconds = 0;  ///< server time that they and others ask for, and its length
  double first_latency_s = 0, first_ended = 0;  ///< of the requests that end in the first quarter
  double last_latency_s = 0, last_ended = 0;    ///< and in the last one
  /// For closed loops: replications in whose last quarter less than half as many requests succeed
  /// as in their best one, and in these together the successes per second of both.
  std::size_t stalled = 0;
  double best_per_s = 0, last_per_s = 0;
};

/// Latencies of the answers given while a disturbance is on: in the first quarter of that time, in
/// the last.
struct Growth {
  double first_latency_s = 0, first_ended = 0;
  double last_latency_s = 0, last_ended = 0;
};

/// Without a disturbance: replications in which nine of ten failures come in a quarter of the
/// window, where few requests do, and the sums of when that begins and ends.
struct Cluster {
  std::size_t runs = 0;
  double from_s = 0, to_s = 0;
};

/// Replications in which requests succeed at first and then hardly any does, to the end of the
/// window or until the first disturbance, and the sum of when that begins.
struct Collapse {
  std::size_t runs = 0;
  double from_s = 0;
};

/// Faults and surges.
struct Disturbances {
  /// "fault", "surge", or "disturbance" where there are both; empty: neither.
  std::string_view kind = {};
  std::size_t count = 0;
  double first_start_s = 0, last_end_s = 0;
};

/// Up to which time after the end of a disturbance a recovery is called one at once, s: the time
/// that goodput is averaged over, but no more than a reader takes for nothing.
double at_once_s(const Scenario& scenario);

/// How the replications fared after the last disturbance.
struct Recoveries {
  std::size_t back = 0;        ///< replications in which the group recovered, and
  std::size_t brief = 0;       ///< those of them in which the run ended before that was confirmed
  std::size_t few = 0;         ///< in which too few requests came to tell
  std::size_t gone = 0;        ///< in which it did not recover, although there was time enough
  std::size_t unknown = 0;     ///< in which it did not, and the run ended too early to tell
  std::size_t metastable = 0;  ///< those gone that would have recovered without retries
  double mean_s = 0;           ///< the time that recoveries took on average,
  double least_s = 0, most_s = 0;
  std::vector<double> late_s = {};  ///< those of replications not back at once, in order
  double watched_s = 0;  ///< from the end of the last disturbance to the end of the window
  /// Replications that were back for all of the hold and collapsed again: how many, how many of
  /// them are back in the end, and the mean time of the collapse after the disturbance.
  std::size_t relapsed = 0, relapsed_and_back = 0;
  double relapse_s = 0;

  /// One that recovered, so long after the end.
  void add_late(double seconds, const Scenario& scenario) {
    if (seconds > at_once_s(scenario)) late_s.push_back(seconds);
  }
  std::size_t runs() const { return back + few + gone + unknown; }
  std::size_t down() const { return gone + unknown; }
  std::size_t at_once() const { return back - late_s.size(); }
};

/// The time between a disturbance and the next one, if it is long enough to tell whether the group
/// recovers in it.
struct Gap {
  std::string name = {}, next = {};  ///< of the disturbances
  double start_s = 0, end_s = 0;     ///< of the time between them
  std::size_t down = 0;              ///< replications that do not recover in it
  double successes = 0;              ///< in these
  double watched_s = 0;              ///< its length in all of these together
};

/// Requests that were under way when the window ended; sums over the replications.
struct Unanswered {
  double all = 0;
  double stuck = 0;    ///< at least this many of them for more than ten times the usual time
  double usual_s = 0;  ///< the usual time, from before the disturbance
};

/// A time in some of the replications: how many have it, and its mean over these.
struct Occurrence {
  std::size_t runs = 0;
  double seconds = 0;
  double ratio = 0;                ///< a size that belongs to it
  std::vector<double> times = {};  ///< of each replication that has it, in order

  bool in_most_of(std::size_t all) const { return 2 * runs > all; }
};

/// Limits of the group's service. Of several services they are not looked at: which of them it was
/// is not known.
struct Capacity {
  bool limited = false;  ///< it has a number of servers, its work is known, and it is the only one
  double servers = 0;    ///< with autoscaling the most that there may be
  double service_time_s = 0;  ///< mean over its attempts
  double server_time_s =
      0;            ///< the same with the calls that its server waits for, if those are idle
  double left = 1;  ///< smallest share of the capacity that faults leave
  double full_queue_s = 0;     ///< work of a full queue at full capacity; infinite: no bound
  double largest_queue_s = 0;  ///< work of the longest queue that there was, at full capacity
  double least_attempt_s = 0;  ///< an attempt that waits for nothing, at the fastest service
  double patience_s = 0;       ///< the longest wait after which an answer is in time; infinite: any
  double timeout_s = 0;
  std::optional<prediction::SteadyNeed> need = {};  ///< of first attempts, by the scenario
};

/// From which work of attempts on a time in which the servers do `offered_s` of it is too short for
/// them; where that is little, by more than chance explains.
double least_work_above_capacity(const Capacity& capacity, double offered_s);
/// As above, but always by more than chance explains.
double sure_work_above_capacity(const Capacity& capacity, double offered_s);

/// Whether priorities decide who is turned away at the service.
bool sheds_by_priority(const ServiceSpec& service);

/// A group at a service that sheds by priority: attempts of all replications together.
struct ShedGroup {
  std::size_t group;
  double attempts = 0, rejected = 0, evicted = 0;  ///< as in ClientResult

  double lost_share() const { return attempts > 0 ? rejected / attempts : 0; }
};

struct GroupCase {
  const Scenario& scenario;
  std::size_t index;
  const ClientSpec& client;
  std::vector<const ServiceSpec*> services;  ///< that it calls, at least one

  std::size_t runs = 0;  ///< replications
  double bin_s = 0;      ///< width of the bins of the time series
  /// If there are services that call others: what is known of all of them together,
  std::shared_ptr<const GraphCase> graph = nullptr;
  std::vector<GroupVolume> volumes = {};  ///< and of each group in the time of trouble.
  Disturbances disturbances = {};

  /// If the group calls one service, which sheds by priority: all groups that call it and no other,
  /// the highest priority first; without calls that have the priorities of their callers. Empty if
  /// all have the same.
  std::vector<ShedGroup> shed = {};
  ClientResult total = {};  ///< cohort counts of all replications together, without time series
  Stretch all = {};         ///< the window
  Stretch before = {};      ///< until the first disturbance; without one the whole window
  Stretch during = {};      ///< while one is on
  Stretch trouble = {};     ///< from the first one until the group is back, or to the end
  Stretch after = {};       ///< from the end of the last one until the group is back, or to the end
  RequestsByPart made = {};
  /// If disturbances elsewhere make these others than the phases of phases.csv: what each of those
  /// is for the group.
  std::vector<std::pair<PhaseKind, std::string>> phases = {};
  /// Requests under way when the first disturbance began that fail after that, or never end.
  double lost_under_way = 0;
  double cut_off = 0;          ///< without a drain: under way at the end of the run, but not stuck
  std::vector<Gap> gaps = {};  ///< the longest first
  Unanswered unanswered = {};
  std::vector<DisturbedStretch> disturbed_stretches = {};  ///< in the order of time
  Backlog backlog = {};
  Growth growth = {};
  Cluster cluster = {};
  LimitCounts limit = {};  ///< of the only service that it calls, if there is one
  Collapse collapse = {};
  /// Without a disturbance: replications in which a retry storm goes on, of all groups together.
  std::size_t lasting_storms = 0;
  Recoveries recoveries = {};
  Capacity capacity = {};
  Occurrence retries_above_capacity =
      {};  ///< seconds in which retries alone ask for more; load ratio
  /// While nothing is wrong: seconds in which first attempts ask for more, by more than chance.
  Occurrence first_above_capacity = {};
  /// From when on the quota refuses most of the retries, or a tenth of them at least, until the
  /// group is back; `seconds`: when, since the start of the run; `ratio`: the share.
  Occurrence quota_dry = {};

  /// Statements about the service are about the only one that the group calls.
  const ServiceSpec& service() const { return *services.front(); }
  bool has_one_service() const { return services.size() == 1; }
  bool disturbed() const { return disturbances.count > 0; }
  /// In every replication in which there are requests enough to tell, and in one at least.
  bool recovers() const { return disturbed() && recoveries.back > 0 && recoveries.down() == 0; }
  /// Requests made before the disturbance, as a measure of that time: without `lost_under_way`, if
  /// these are a fifth of them at most, and 99 % of the others succeed.
  Requests before_it() const;
  /// Whether its requests say little by how many of them succeed: those of a closed loop are not
  /// made while others wait, and without a limit on attempts none fails.
  bool is_told_by_goodput() const;
  /// Successes per second in a stretch of time.
  static double goodput(const Stretch& stretch);
  /// Whether more and more requests are under way while nothing is wrong.
  bool falls_behind() const;
  /// Mean time that a request waits for a send token, for a connection and in the queue.
  double mean_wait_s() const;
  /// The work of a stretch as a share of the full capacity.
  double load(double work_s, double seconds) const;
  double requests() const { return static_cast<double>(total.requests); }
  double share_of_requests(Outcome outcome) const;
  double share_of_attempts(AttemptResult result) const;
  double success_share() const { return share_of_requests(Outcome::kSuccess); }
  double first_attempt_success_share() const;
  double amplification() const;
  /// The share of failed requests that ended so; 0 if no request failed.
  double share_of_failures(Outcome outcome) const;
};

/// The facts behind the cases of all groups of a scenario, found once for all of them. Neither the
/// scenario nor the runs that cases are made of may end before it.
class CaseFacts {
 public:
  explicit CaseFacts(const Scenario& scenario);

  struct Caller {
    std::size_t group;
    double work_s;  ///< of an attempt, on average
  };
  /// The work of a server: not that of attempts which do not reach the service, or which it answers
  /// without one: with random errors on arrival, and with its throttle.
  struct AskedWork {
    double first_s = 0, retry_s = 0;
  };
  /// The groups that call the service.
  std::span<const Caller> callers(std::size_t service) const { return callers_[service]; }
  /// The work that they ask of it in each bin of a run.
  std::span<const AskedWork> work_by_bin(const RunResult& run, std::size_t service);
  /// The work that their first attempts ask of it in each phase of a run.
  std::span<const double> first_work_by_phase(const RunResult& run, std::size_t service);
  /// As the group sees them, without the figures of runs.
  std::vector<DisturbedStretch> disturbed_stretches(std::size_t group);
  const PartFacts& part_of(std::size_t group);
  /// Whether a retry storm goes on when the run ends.
  bool has_lasting_storm(const RunResult& run);
  /// What first attempts ask of it, by the scenario, while nothing is wrong.
  std::optional<prediction::SteadyNeed> need_of(std::size_t service);

  const Scenario& scenario;
  const flow::Demand demand;  ///< of first attempts
  const std::vector<Phase> phases;
  const bool has_graph;  ///< services call each other, or a group several, or groups share one

 private:
  struct OfRun {
    std::optional<std::vector<AskedWork>> bins;
    std::optional<std::vector<double>> phases;
  };
  /// What share of the attempts sent to a service faults and network let ask for a server.
  struct AskingFrom {
    Time time;
    double share;
  };
  const std::vector<AskingFrom>& asking_at(std::size_t service);
  double mean_asking(std::size_t service, Time from, Time to);
  OfRun& of_run(const RunResult& run, std::size_t service);
  const std::vector<DisturbedStretch>& stretches_of(std::size_t service, const PartFacts& part);

  std::vector<DisturbedStretch> find_stretches(std::size_t service, const PartFacts& part) const;

  std::vector<std::vector<Caller>> callers_;  // of each service
  std::map<std::size_t, std::vector<DisturbedStretch>> stretches_;
  const stats::ReachParts parts_;
  std::map<std::size_t, PartFacts> part_facts_;
  std::map<std::size_t, std::vector<AskingFrom>> asking_;
  std::optional<prediction::Demands> demands_;
  std::map<std::size_t, std::optional<prediction::SteadyNeed>> needs_;
  // The answer for the service that was asked about last: groups of one service mostly follow each
  // other.
  std::optional<std::size_t> last_service_;
  std::map<const RunResult*, OfRun> of_runs_;
  std::map<const RunResult*, bool> storms_;
};

/// `graph`: of the same runs.
void set_graph(GroupCase& group, std::shared_ptr<const GraphCase> graph);

/// Without the graph of services.
GroupCase group_case(CaseFacts& facts, std::span<const RunResult> runs, std::size_t group);
/// With it, if there are calls.
GroupCase group_case(const Scenario& scenario, std::span<const RunResult> runs, std::size_t group);

/// The measurements of the group in `run`, as numbers; equally many for every run of the scenario.
std::vector<double> figures_of(CaseFacts& facts, const RunResult& run, std::size_t group);
/// The case of the replications that these are the figures of. Throws std::invalid_argument if
/// there are too many of them or too few.
GroupCase group_case(CaseFacts& facts, std::span<const std::span<const double>> figures_by_run,
                     std::size_t group);
/// How many figures the group has.
std::size_t figure_count(CaseFacts& facts, std::size_t group);

}  // namespace retrysim::explain

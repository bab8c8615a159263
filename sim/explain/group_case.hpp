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

/// What happens in a stretch of time, summed over all replications; events count when they occur
/// (flow rule).
struct Stretch {
  double seconds = 0;  ///< length, summed over all replications
  ClientFlow group;
  ServiceFlow service;  ///< sum over the services that the group calls
  /// Server time, s, that first attempts of all groups ask of the group's first service.
  double first_work_s = 0;
  double retry_work_s = 0;  ///< server time, s, that retries ask of it
};

/// The requests made in a part of the run, whenever they end, summed over all replications.
struct Requests {
  double made = 0, succeeded = 0;
  double ended = 0, latency_s = 0;  ///< number of ended requests, and the sum of their latencies
  std::string_view phases = {};  ///< the kinds of phases in which they are made: "recovering+after"
  bool as_counted = true;        ///< false: some that were under way at a border are left out

  /// Successes as a share of the requests made; 1 if no request was made.
  double success_share() const { return made > 0 ? succeeded / made : 1; }
  double mean_latency_s() const { return ended > 0 ? latency_s / ended : 0; }
  void merge(const Requests& o);
};

/// Requests by the part of the run in which they are made; disturbances divide it into parts.
struct RequestsByPart {
  Requests before = {.phases = "before"};
  Requests during = {.phases = "during"};
  Requests between = {.phases = "between"};
  /// From the end of the last disturbance until the group is back, and from then on.
  Requests recovering = {.phases = "recovering"};
  Requests after = {.phases = "after"};

  /// All requests made since the end of the last disturbance.
  Requests since() const;
};

/// Faults and surges that are active throughout one stretch of time.
struct DisturbedStretch {
  std::string name;
  double start_s = 0, end_s = 0;
  /// Share of its capacity that the group's service keeps; the largest of several services.
  double left = 1;
  double seconds = 0;        ///< length, summed over all replications
  double first_work_s = 0;   ///< as in Stretch, within the stretch of the disturbance
  ServiceFlow service = {};  ///< counts of the group's services, in whole bins inside the stretch
  /// Faults that are on throughout, if the group calls a single service: that service's faults.
  std::vector<const FaultSpec*> faults = {};
};

/// The disturbances that may reach a part of the scenario (stats::ReachParts), as its groups see
/// them.
struct PartFacts {
  std::vector<stats::Disturbance> all;        ///< including those before the window
  std::vector<stats::Disturbance> in_window;  ///< without those that end before the window begins
  /// The kind that a phase of the scenario has for these groups, and the names of the disturbances
  /// that are on.
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
  /// Highest number at any moment of the first half, of the second.
  double first_most = 0, last_most = 0;
  double made = 0;  ///< requests made in the second half
  /// Server time that they and others' requests ask for, and the length of that half.
  double work_s = 0, seconds = 0;
  /// Latency sum and number of the requests that end in the first quarter.
  double first_latency_s = 0, first_ended = 0;
  double last_latency_s = 0, last_ended = 0;  ///< the same for the last quarter
  /// For closed loops: replications in whose last quarter less than half as many requests succeed
  /// as in their best quarter, and the successes per second of both quarters in these replications.
  std::size_t stalled = 0;
  double best_per_s = 0, last_per_s = 0;
};

/// Latencies of the answers given while a disturbance is on: in the first quarter of that time, in
/// the last.
struct Growth {
  double first_latency_s = 0, first_ended = 0;
  double last_latency_s = 0, last_ended = 0;
};

/// Without a disturbance: replications in which nine of ten failures, but few of the requests, come
/// within a quarter of the window, and the sums of the start and end of that time.
struct Cluster {
  std::size_t runs = 0;
  double from_s = 0, to_s = 0;
};

/// Replications in which requests succeed at first, and then hardly any until the end of the window
/// or the first disturbance; and the sum of the times at which that begins.
struct Collapse {
  std::size_t runs = 0;
  double from_s = 0;
};

/// The faults and surges that may reach the group: kind, number and extent in time.
struct Disturbances {
  /// "fault", "surge", or "disturbance" where there are both; empty: neither.
  std::string_view kind = {};
  std::size_t count = 0;
  double first_start_s = 0, last_end_s = 0;
};

/// The longest recovery time that is called "at once", s: the time over which goodput is averaged,
/// limited to what a reader would neglect.
double at_once_s(const Scenario& scenario);

/// How the replications fared after the last disturbance.
struct Recoveries {
  std::size_t back = 0;  ///< replications in which the group recovered
  /// Replications in `back` whose run ended before the recovery was confirmed.
  std::size_t brief = 0;
  std::size_t few = 0;      ///< replications with too few requests to tell
  std::size_t gone = 0;     ///< replications without recovery, although there was time enough
  std::size_t unknown = 0;  ///< replications without recovery, but the run ended too early to tell
  /// Those of `unknown` in which a retry quota that is being used up was not empty yet.
  std::size_t with_quotas = 0;
  std::size_t metastable = 0;  ///< those of `gone` that would have recovered without retries
  double mean_s = 0;           ///< mean recovery time
  double least_s = 0, most_s = 0;
  /// Recovery times of replications that were not back at once, ascending.
  std::vector<double> late_s = {};
  double watched_s = 0;  ///< from the end of the last disturbance to the end of the window
  /// Replications that were back for the whole hold time and collapsed again: how many, how many of
  /// them are back in the end, and the mean time from the disturbance to the collapse.
  std::size_t relapsed = 0, relapsed_and_back = 0;
  double relapse_s = 0;

  /// Adds a replication that recovered `seconds` after the end of the disturbance.
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
  std::string name = {}, next = {};  ///< the disturbance, and the one that follows
  double start_s = 0, end_s = 0;     ///< start and end of the time between them
  std::size_t down = 0;              ///< replications that do not recover in it
  double successes = 0;  ///< successes within the gap, in the replications that are down
  double watched_s = 0;  ///< length of the gap, summed over the replications that are down
};

/// Requests that were under way when the window ended; sums over the replications.
struct Unanswered {
  double all = 0;
  double stuck = 0;    ///< at least this many of them for more than ten times the usual time
  double usual_s = 0;  ///< the usual time, from before the disturbance
};

/// Something that happens in some of the replications: in how many, and when or for how long on
/// average.
struct Occurrence {
  std::size_t runs = 0;
  double seconds = 0;
  double ratio = 0;                ///< mean of a second figure, such as a load ratio
  std::vector<double> times = {};  ///< times of the replications in which it happens, ascending

  bool in_most_of(std::size_t all) const { return 2 * runs > all; }
};

/// Limits of the group's only service. They are not used for several services, because it is not
/// known which of them was the limit.
struct Capacity {
  /// The group calls one service, its servers are limited in number, and its work is known.
  bool limited = false;
  double servers = 0;         ///< with autoscaling the maximum
  double service_time_s = 0;  ///< mean over its attempts
  double server_time_s =
      0;  ///< service time and the time of the calls that the server waits for, at idle services
  double left = 1;  ///< smallest share of the capacity that faults leave, where they leave any
  /// Time to serve a full queue at full capacity; infinite: no limit on the queue.
  double full_queue_s = 0;
  double largest_queue_s = 0;  ///< time to serve the longest queue seen, at full capacity
  /// Time of an attempt that waits for nothing, at the fastest service.
  double least_attempt_s = 0;
  double patience_s = 0;  ///< the longest wait after which an answer is in time; infinite: any
  double timeout_s = 0;
  /// Capacity that first attempts need according to the scenario.
  std::optional<prediction::SteadyNeed> need = {};
};

/// The least work of attempts, s, that is too much for a time in which the servers can do
/// `offered_s` of work; where `offered_s` is small, by more than chance explains.
double least_work_above_capacity(const Capacity& capacity, double offered_s);
/// As `least_work_above_capacity`, but always by more than chance explains.
double sure_work_above_capacity(const Capacity& capacity, double offered_s);

/// Whether priorities decide who is turned away at the service.
bool sheds_by_priority(const ServiceSpec& service);

/// Whether balancers leave out instances of the service because of their answers, so that attempts
/// go to others: which attempts meet a fault is then counted, and does not follow from its share of
/// the instances.
bool leaves_instances_out(const ServiceSpec& service);

/// A group at a service that sheds by priority: attempts of all replications together.
struct ShedGroup {
  std::size_t group;
  /// As in ClientResult; during the faults and surges, if there are any: before and after them
  /// another group may have made most of its attempts.
  double attempts = 0, rejected = 0;
  double evicted = 0;  ///< in the whole run

  double lost_share() const { return attempts > 0 ? rejected / attempts : 0; }
};

struct GroupCase {
  const Scenario& scenario;
  std::size_t index;
  const ClientSpec& client;
  std::vector<const ServiceSpec*> services;  ///< the services that the group calls, at least one

  std::size_t runs = 0;  ///< replications
  double bin_s = 0;      ///< width of the bins of the time series
  /// If services call each other: the case of all services together.
  std::shared_ptr<const GraphCase> graph = nullptr;
  /// Requests and attempts of each group in the time of trouble.
  std::vector<GroupVolume> volumes = {};
  Disturbances disturbances = {};

  /// If the group's only service sheds by priority: all groups that call only this service, the
  /// highest priority first; without calls that inherit the priorities of their callers. Empty if
  /// all have the same priority.
  std::vector<ShedGroup> shed = {};
  ClientResult total = {};  ///< cohort counts of all replications together, without time series
  Stretch all = {};         ///< the window
  Stretch before = {};      ///< until the first disturbance; without disturbances the whole window
  Stretch during = {};      ///< while a disturbance is on
  /// From the first disturbance until the group is back, or to the end of the window.
  Stretch trouble = {};
  /// From the end of the last disturbance until the group is back, or to the end.
  Stretch after = {};
  RequestsByPart made = {};
  /// The kind and name that each phase of phases.csv has for the group. Empty if no disturbance
  /// elsewhere makes them differ.
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
  LimitCounts limit = {};  ///< counts of the adaptive limit, if the group calls one service
  Collapse collapse = {};
  /// Without a disturbance: replications in which a retry storm goes on, of all groups together.
  std::size_t lasting_storms = 0;
  Recoveries recoveries = {};
  Capacity capacity = {};
  Occurrence retries_above_capacity =
      {};  ///< time in which retries alone exceed the capacity, s, and their load
  /// While nothing is wrong: time in which first attempts exceed the capacity by more than chance
  /// explains, s.
  Occurrence first_above_capacity = {};
  /// While a disturbance is on: time, s, in which first attempts exceed by more than chance
  /// explains what the servers that autoscaling has by then can do, and how many times that.
  Occurrence first_above_scaled = {};
  /// Dry retry quota: from some time until the group is back it refuses most of the retries, or at
  /// least a tenth. `seconds`: that time, since the start of the run; `ratio`: the share refused.
  Occurrence quota_dry = {};

  /// The only service that the group calls; call it only if `has_one_service`.
  const ServiceSpec& service() const { return *services.front(); }
  bool has_one_service() const { return services.size() == 1; }
  bool disturbed() const { return disturbances.count > 0; }
  /// Whether the group recovers in every replication that has enough requests to tell, and in at
  /// least one.
  bool recovers() const { return disturbed() && recoveries.back > 0 && recoveries.down() == 0; }
  /// Requests made before the disturbance, as a measure of how the group fares then.
  /// `lost_under_way` is left out if it is at most a fifth of them and 99 % of the others succeed.
  Requests before_it() const;
  /// Whether goodput describes the group better than its success rate: a closed loop makes no
  /// requests while others wait, and without a limit on attempts no request fails.
  bool is_told_by_goodput() const;
  /// Successful requests per second in a stretch of time.
  static double goodput(const Stretch& stretch);
  /// Whether more and more requests are under way while nothing is wrong.
  bool falls_behind() const;
  /// Whether most requests that wait to be sent have stopped waiting because they were sent, and
  /// not because they ended.
  bool has_sent_more_than_ended() const;
  /// Requests whose waits for tokens and connections are over: those that were sent or those that
  /// ended, whichever are more. Requests that still wait when the run ends have no known wait.
  double waited() const;
  /// Mean time that such a request waited for send tokens; for connections and for places in the
  /// bulkhead.
  double mean_send_wait_s() const;
  double mean_connection_wait_s() const;
  /// Mean latency of the requests that ended; 0 if none did.
  double mean_latency_s() const;
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

/// The facts behind the cases of all groups of a scenario, found once for all of them. The scenario
/// and the runs must outlive it.
class CaseFacts {
 public:
  explicit CaseFacts(const Scenario& scenario);

  struct Caller {
    std::size_t group;
    double work_s;  ///< mean work of an attempt, s
  };
  /// Server time asked for, s, by first attempts and retries. Attempts that do not reach the
  /// service, or that it answers without a server (random errors on arrival, throttle), ask for
  /// none.
  struct AskedWork {
    double first_s = 0, retry_s = 0;
  };
  /// The groups that call the service.
  std::span<const Caller> callers(std::size_t service) const { return callers_[service]; }
  /// The work that the groups ask of the service in each bin of a run.
  std::span<const AskedWork> work_by_bin(const RunResult& run, std::size_t service);
  /// The work that first attempts ask of the service in each phase of a run, s.
  std::span<const double> first_work_by_phase(const RunResult& run, std::size_t service);
  /// The stretches of disturbances as the group sees them, without measurements.
  std::vector<DisturbedStretch> disturbed_stretches(std::size_t group);
  const PartFacts& part_of(std::size_t group);
  /// Whether a retry storm goes on when the run ends.
  bool has_lasting_storm(const RunResult& run);
  /// What first attempts ask of the service according to the scenario, while nothing is wrong.
  std::optional<prediction::SteadyNeed> need_of(std::size_t service);

  const Scenario& scenario;
  const flow::Demand demand;  ///< demand of first attempts
  const std::vector<Phase> phases;
  const bool has_graph;  ///< services call each other, a group calls several, or groups share one

 private:
  struct OfRun {
    std::optional<std::vector<AskedWork>> bins;
    std::optional<std::vector<double>> phases;
  };
  /// From `time` on: the share of the attempts sent to a service that reach its servers despite
  /// faults and network.
  struct AskingFrom {
    Time time;
    double share;
  };
  const std::vector<AskingFrom>& asking_at(std::size_t service);
  double mean_asking(std::size_t service, Time from, Time to);
  OfRun& of_run(const RunResult& run, std::size_t service);
  const std::vector<DisturbedStretch>& stretches_of(std::size_t service, const PartFacts& part);

  std::vector<DisturbedStretch> find_stretches(std::size_t service, const PartFacts& part) const;

  std::vector<std::vector<Caller>> callers_;  // callers of each service
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

/// Gives the group the case of all services; `graph` must be made from the same runs.
void set_graph(GroupCase& group, std::shared_ptr<const GraphCase> graph);

/// The case of one group, without the graph of services.
GroupCase group_case(CaseFacts& facts, std::span<const RunResult> runs, std::size_t group);
/// The case of one group, with the graph of services if there are calls.
GroupCase group_case(const Scenario& scenario, std::span<const RunResult> runs, std::size_t group);

/// The measurements of the group in `run`, as numbers; equally many for every run of the scenario.
std::vector<double> figures_of(CaseFacts& facts, const RunResult& run, std::size_t group);
/// The case made from the figures of its replications (`figures_of`). Throws std::invalid_argument
/// if a replication has too many figures or too few.
GroupCase group_case(CaseFacts& facts, std::span<const std::span<const double>> figures_by_run,
                     std::size_t group);
/// The number of figures that `figures_of` returns for the group.
std::size_t figure_count(CaseFacts& facts, std::size_t group);

}  // namespace retrysim::explain

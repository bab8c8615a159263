// Which instance of a service an attempt goes to: the balancers, and the health checks that tell
// them which instances to leave out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/timer_queue.hpp"
#include "measure/record/recorder.hpp"
#include "model/network/ejection.hpp"
#include "model/run/request.hpp"
#include "model/service/instance.hpp"
#include "retry/decision.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace retrysim::model {

struct Group;
struct RunState;

/// Who chooses an instance for each attempt, retries included: one balancer for all clients of the
/// service, or one for each client (`BalancerScope`). A balancer knows the attempts that it has
/// under way at each of its instances, how long others took, what their answers were, and which
/// instances health checks have taken out of rotation.
///
/// An attempt is under way from its send until its client has the answer or stops waiting, which
/// closes the connection. An instance may still be at work on it.
///
/// If too few of its instances are in rotation (`InstancesSpec::panics`), or none is, a
/// balancer sends attempts to all of them, as Envoy does below its panic threshold and AWS's load
/// balancers do if none is left ("fail open": Elastic Load Balancing, Application Load Balancers,
/// "Target group health").
class Balancer {
 public:
  explicit Balancer(RunState& state) : state_(state) {}

  /// The services are known.
  void prepare();
  void add_sources();
  /// Offers the first events.
  void start();

  /// The instance that the attempt goes to, which is under way there from now on.
  [[gnu::noinline]] InstanceId choose(const Attempt& a);
  /// A choice in two steps: the instance that a request's next attempt would go to, and that the
  /// attempt goes to the one it was made for. `number` is that of the question, from 1: it decides
  /// what is drawn. `been_somewhere`: the request has had an attempt.
  struct Asked {
    const Group* clients;
    ServiceId service;
    ClientId client;
    RequestId request;
    std::uint64_t entity;
    std::uint32_t number;
    bool been_somewhere;
  };
  [[gnu::noinline]] InstanceId name(const Asked& asked);
  [[gnu::noinline]] void goes(const Attempt& a);
  /// The attempt is not under way any more.
  [[gnu::noinline]] void ended(const Attempt& a, AttemptResult result);
  /// The event: a balancer looks at its instances, or the penalty of one is over.
  void due();

  /// Health checks take an instance out of rotation, or bring it back.
  void set_in_rotation(InstanceId instance, bool in);
  /// An instance in rotation has passed a health check.
  void passed_check(InstanceId instance);

  /// Attempts under way at all instances of the service.
  std::uint64_t under_way(ServiceId service) const;
  /// The largest number of instances that one balancer of the service had ejected at once, and how
  /// many instances that balancer knows.
  struct MostEjected {
    std::uint32_t ejected = 0, known = 0;
  };
  MostEjected most_ejected(ServiceId service) const;
  /// Enters what is known of single instances into the result of the run.
  void close(RunResult& result);

  /// The memory that grows with the requests under way; of all balancers of a service, and how many
  /// there are.
  std::uint64_t bytes() const;
  static std::uint64_t bytes_of(const Scenario& scenario, std::size_t service);
  static std::uint64_t count_of(const Scenario& scenario, std::size_t service);

 private:
  using Place = std::uint16_t;  // of an instance among those that a balancer knows
  static constexpr Place kNoPlace = 0xffff;

  /// The average latency of an instance, as Finagle's PeakEwma keeps it (finagle-core,
  /// loadbalancer/PeakEwma.scala, release 24.2), and tower's (tower/src/load/peak_ewma.rs,
  /// 8358ee71).
  struct Latency {
    double ns = 0;
    Time since;
  };
  /// What only balancers keep that listen to answers.
  struct Listener {
    std::optional<OutlierDetection> outliers;
    std::optional<FailureAccrual> accrual;
    std::vector<std::uint8_t> out,
        ejected;  // by place: whether one of these, or the first, says so
  };
  struct One {  // balancer
    const InstancesSpec* spec = nullptr;
    ServiceId service;
    ClientId client{0};
    std::uint32_t key = 0;                 // of its draws
    InstanceId first;                      // of the service
    std::vector<Place> subset;             // numbers of the instances that it knows; empty: all
    std::vector<std::uint32_t> under_way;  // by place
    std::vector<Place> rotation;           // all, in a panic
    Place last = kNoPlace;                 // chosen
    std::vector<Latency> latencies;        // of peak-ewma
    std::unique_ptr<Listener> listener;
  };
  struct OfService {
    std::uint32_t first = 0, end = 0;  // its balancers
    ByGroup<std::uint32_t> of_group;   // the first one of a group's clients; empty: all share
  };
  struct OfInstance {
    std::uint32_t known_by = 0;  // balancers
    std::uint32_t out_at = 0;    // of these, because of its answers
    bool healthy = true;         // to health checks
  };
  /// Earlier attempts of a request went there.
  using Earlier = std::vector<InstanceId>;

  void add(ServiceId service, ClientId client, std::uint32_t key);
  One& balancer_of(ServiceId service, GroupId group, ClientId client);
  One& balancer_of(const Attempt& a) { return balancer_of(a.at->place.service, a.group, a.client); }
  static Place place_of(const One& b, InstanceId instance);
  static InstanceId instance_at(const One& b, Place place);
  void rebuild_rotation(One& b);
  void log_rotation(InstanceId instance);
  void note_changes(One& b);
  void schedule(std::uint32_t balancer, std::uint32_t what, Duration after);
  void punish(One& b, Place place);
  static std::vector<Place> subset_of(const InstancesSpec& spec, const RandomKey& key,
                                      ClientId client);

  Place name_at(One& b, const Asked& asked);
  void goes_to(One& b, const Attempt& a, Place place);
  Place choose_new(One& b, const Asked& asked, DrawsOnDemand& draws);
  Place pick(One& b, const std::vector<Place>& from, DrawsOnDemand& draws);
  static Place next_by_turns(const std::vector<Place>& from, Place last);
  Place least_busy(const One& b, const std::vector<Place>& from, DrawsOnDemand& draws);
  Place better_of_two(One& b, const std::vector<Place>& from, DrawsOnDemand& draws);
  double cost_of(One& b, Place place) const;
  void observe(const One& b, Latency& latency, double ns) const;
  void listen(One& b, Place place, const Attempt& a, AttemptResult result);
  void remember(const Attempt& a, InstanceId instance);

  RunState& state_;
  std::vector<One> all_;  // service by service, in the order of their names
  std::vector<RandomKey> keys_;
  ByService<OfService> services_;
  IndexedBy<InstanceId, std::vector<OfInstance>> instances_;
  std::vector<Place> candidates_, equals_;  // while one is chosen
  ByRequest<Earlier> earlier_;              // of groups that avoid these
  std::uint64_t earlier_bytes_ = 0;
  std::uint32_t source_ = 0;
  kernel::TimerQueue timers_;
};

/// Health checks: every `interval` the balancer asks each instance how it is, one instance after
/// the other with equal pauses between them. After `unhealthy_threshold` failures in a row it takes
/// the instance out of rotation, and after `healthy_threshold` passes in a row it brings it back.
/// What is under way at the instance stays there.
///
/// A check is a short message over the network that the attempts use. It fails
///
///   - when a connection would be refused: after a round trip;
///   - when no answer would come (a black hole, a lost message, no working server, a server that
///     stands still), or not within `timeout`: after `timeout`;
///   - when it meets a random error of the service or of a fault: after a round trip, and the share
///     of the service time that the error takes.
///
/// Otherwise it takes a round trip and the time that a free server would take for it, which is
/// drawn from the service time, at the present speed. It neither waits in the queue nor takes a
/// server, and the throttle lets it pass: overload alone takes no instance out.
class HealthChecks {
 public:
  HealthChecks(RunState& state, Balancer& balancer) : state_(state), balancer_(balancer) {}

  void add_sources();
  /// Offers the first events.
  void start();
  /// The event: a check begins, or its outcome is known.
  void due();

 private:
  enum class Step : std::uint8_t { kBegin, kPassed, kFailed };
  struct Outcome {
    Step step = Step::kFailed;
    Duration after;
  };
  struct Patient {  // an instance
    std::uint64_t checks = 0;
    std::uint32_t passes = 0, failures = 0;  // in a row
    bool in_rotation = true;
  };

  void begin(InstanceId instance);
  Outcome examine(InstanceId instance, std::uint64_t number) const;
  void book(InstanceId instance, bool passed);
  void schedule(InstanceId instance, Step step, Duration after);

  RunState& state_;
  Balancer& balancer_;
  std::uint32_t source_ = 0;
  kernel::TimerQueue timers_;
  IndexedBy<InstanceId, std::vector<Patient>> patients_;
  ByService<std::size_t> ranks_;  // places among the names
};

}  // namespace retrysim::model

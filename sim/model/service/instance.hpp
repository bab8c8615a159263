// One instance of a service: which attempts it admits, which of them wait, what its servers do,
// and how many of these work at present.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/memory.hpp"
#include "measure/record/recorder.hpp"
#include "model/effects/effects.hpp"
#include "model/run/request.hpp"
#include "model/run/trace.hpp"
#include "model/service/admission.hpp"
#include "model/service/queue.hpp"
#include "model/service/servers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace retrysim::model {

/// Target tracking: every interval the number of servers is set to what would bring their
/// utilization to the target,
///
///   wanted = ceil(servers x utilization / target)
///
/// unless that is within the tolerance, or a change was made less than the cool-down ago. New
/// servers work after a delay; those that are not needed go at once (each finishes its attempt).
/// Rule and tolerance are those of the Kubernetes Horizontal Pod Autoscaler ("Algorithm details" of
/// its documentation), the cool-down that of EC2 Auto Scaling; utilization is the mean over the
/// interval.
class Autoscaler {
 public:
  Autoscaler(const AutoscalingSpec& spec, std::int64_t servers)
      : spec_(&spec), servers_(servers), next_look_(Time::zero() + spec.interval) {}

  /// Servers that have been started, regardless of faults.
  std::int64_t servers() const { return servers_; }

  /// From `now` on `busy` of `working` servers are busy.
  void observe(std::int64_t busy, std::int64_t working, Time now) {
    const auto elapsed = static_cast<double>((now - since_).count());
    since_ = now;
    busy_ns_ += elapsed * static_cast<double>(busy_);
    working_ns_ += elapsed * static_cast<double>(working_);
    busy_ = busy;
    working_ = working;
  }

  /// When there is something to do: servers begin to work, or it is time to look.
  Time next() const {
    return starting_.empty() ? next_look_ : std::min(next_look_, starting_.front().ready);
  }

  /// Does it. The levels have been observed up to `now`, which is `next()`.
  void step(Time now) {
    while (!starting_.empty() && starting_.front().ready <= now) {
      servers_ += starting_.front().count;
      starting_.pop_front();
    }
    if (now < next_look_) return;
    next_look_ = now + spec_->interval;
    look(now);
  }

 private:
  struct Starting {
    Time ready;
    std::int64_t count;
  };

  void look(Time now) {
    const double utilization = working_ns_ > 0 ? busy_ns_ / working_ns_ : -1;
    busy_ns_ = working_ns_ = 0;
    if (utilization < 0) return;  // no server worked: nothing to go by
    const double ratio = utilization / spec_->target;
    if (std::abs(ratio - 1) <= spec_->tolerance || now < quiet_until_) return;
    // Less than a millionth of a server too few is a matter of rounding.
    const double exact = std::ceil(static_cast<double>(servers_) * ratio - 1e-6);
    const std::int64_t wanted = static_cast<std::int64_t>(
        std::clamp(exact, static_cast<double>(spec_->min), static_cast<double>(spec_->max)));
    std::int64_t all = servers_;
    for (const Starting& s : starting_) all += s.count;
    if (wanted > all) {
      starting_.push_back({now + spec_->delay, wanted - all});
    } else if (wanted < servers_ && starting_.empty()) {
      servers_ = wanted;
    } else {
      return;
    }
    quiet_until_ = now + spec_->cooldown;
  }

  const AutoscalingSpec* spec_;
  std::int64_t servers_;
  std::deque<Starting> starting_;  // in the order in which they will work
  Time next_look_, quiet_until_, since_;
  std::int64_t busy_ = 0, working_ = 0;
  double busy_ns_ = 0, working_ns_ = 0;  // since the last look
};

/// A random error that a server runs into.
struct LateError {
  double cumulative = 0;  ///< probability of this one or an earlier one
  std::uint16_t answer = 0;
  double share = 0;  ///< of the service time
};

/// What is wrong with a service, or the way to it, at present: all active faults together.
struct Impairment {
  double capacity = 1, speed = 1;
  Duration latency;
  double request_loss = 0, response_loss = 0;  ///< the network's own included
  bool unreachable = false, black_hole = false;
  /// Errors on arrival, or at the end of the model "independent": cumulative probability, answer.
  std::vector<std::pair<double, std::uint16_t>> errors;
  /// Errors after a share of the service time, the earliest first.
  std::vector<LateError> late_errors;
};

/// What a service is able to do at present: what is wrong with it, and how many servers work.
class ServicePower {
 public:
  explicit ServicePower(const ServiceSpec& spec) : spec_(&spec), working_(spec.servers) {
    if (spec.autoscaling.target > 0) autoscaler_.emplace(spec.autoscaling, spec.servers);
  }

  const Impairment& impairment() const { return impairment_; }
  std::int64_t working_servers() const { return working_; }
  /// The most servers that ever worked at once.
  std::int64_t most_servers() const { return most_working_; }
  /// Null if the number of servers is fixed.
  Autoscaler* autoscaler() { return autoscaler_ ? &*autoscaler_ : nullptr; }

  /// The faults, or the servers that the autoscaler wants, have changed.
  void set(Impairment impairment) {
    impairment_ = std::move(impairment);
    if (spec_->servers == ServiceSpec::kUnlimited) {
      working_ = impairment_.capacity > 0 ? ServiceSpec::kUnlimited : 0;
    } else {
      // The servers of all instances together still count as an integer.
      constexpr double kMost = 9e18 / InstancesSpec::kMost;
      const auto servers =
          static_cast<double>(autoscaler_ ? autoscaler_->servers() : spec_->servers);
      working_ = std::llround(std::min(kMost, servers * impairment_.capacity));
    }
    most_working_ = std::max(most_working_, working_);
  }

 private:
  const ServiceSpec* spec_;
  std::int64_t working_, most_working_ = 0;
  Impairment impairment_;
  std::optional<Autoscaler> autoscaler_;
};

/// What attempts have to go through at a service. Most services need few of these steps, and a look
/// here tells which ones to skip.
struct ServiceTraits {
  explicit ServiceTraits(const ServiceSpec& spec);
  /// The faults have changed; until this is called for the first time there are none.
  void follow(const ServiceSpec& spec, const Impairment& impairment);

  bool always_succeeds = true;    ///< served attempts succeed unless their server met an error: the
                                  ///< service model is not asked
  bool calls_others = false;      ///< attempts make calls to other services before they are done
  bool screens_arrivals = false;  ///< they may be answered before they are admitted: by random
                                  ///< errors, by a throttle
  bool loses_messages = false;    ///< on the way to it, or back
  bool logs_answers = false;      ///< in the access log
  bool watches_answers = false;   ///< some are lost, or all are logged
  bool obstructs_way = false;     ///< those to it: some get lost, or none comes through
  bool screens_queue = false;     ///< not every attempt that is taken from the queue is served
  bool limits_concurrency = false;
  bool evicts = false;            ///< one that waits may have to leave a full queue for another
  bool watches_attempts = false;  ///< it wants to be told, by `leave`, when an attempt is gone that
                                  ///< it had admitted
  bool takes_no_time = false;     ///< an attempt that finds none there is served at once
  bool times_waits = false;       ///< attempts that wait no longer than `wait_within` are counted
};

/// In nanoseconds; without a sign, which makes sums cheaper.
inline std::uint64_t time_between(Time from, Time to) {
  return static_cast<std::uint64_t>((to - from).count());
}

/// The attempts in service at one service, or at one of its instances: from the moment a server
/// takes an attempt until it has finished or the attempt is aborted. The server works on the
/// attempt, or is held for it while it waits for its calls to other services or for another attempt
/// with its token. Which attempt is served next is decided elsewhere, and so is the outcome of one
/// that has been served.
class AttemptsInService {
 public:
  ServiceDemand demand;

  /// `sequence`: the simulation's counter of scheduled events. `effects` is asked about attempts
  /// with side effects.
  AttemptsInService(const ServiceSpec& spec, const Streams* streams, AttemptPool* attempts,
                    std::uint64_t* sequence, Effects* effects = nullptr)
      : demand(spec, streams),
        attempts_(attempts),
        effects_(effects),
        servers_(spec, attempts, sequence) {}

  const ServerPool& servers() const { return servers_; }

  /// The attempt has waited for another one with its token, which is over.
  void wake(Attempt& a, Time now);
  /// Ends the service (or the turning away) that completes now.
  Attempt& complete(Time now);

  /// The work on the attempt that completes next ends now, but its server is held until `release`
  /// (or `abort`). Where attempts share the servers, it takes nothing from the others meanwhile.
  void hold(Time now);
  void release(Attempt& a, Time now);

  /// The attempt leaves its server before it is done.
  void abort(Attempt& a, Time now);
  /// The client of an attempt that a server works on has given up. True if that changes a level.
  bool given_up(Time now) { return servers_.given_up(now); }

  /// How long the attempt will be in service if it starts now and nothing changes; `speed`: that of
  /// a server.
  Duration time_of(const Attempt& a, double speed) const;

  /// Draws anew what an attempt in the queue will take.
  void draw_demand(AttemptId id) {
    Attempt& a = (*attempts_)[id];
    if (!a.is(Attempt::kRejection)) demand.draw(a);
  }
  /// Draws anew what is left of the work in progress (`ServiceDemand::left_of`).
  void branch(Time now) {
    servers_.set_left(now,
                      [this](const Attempt& a, double left) { return demand.left_of(a, left); });
  }

  // For `Instance`, which has more to do on these occasions; others call its functions `start`,
  // `take_all` and `impair`.
  /// A server, which must be free, takes the attempt: to work on it, or to turn it away.
  void start(Attempt& a, Time now);
  /// Takes out all that servers work on, in order of completion; not those for which one is held.
  std::vector<std::uint32_t> take_all(Time now);
  /// From now on this many servers work, at this speed. Work in progress goes on.
  void set_power(std::int64_t servers, double speed, Time now) {
    servers_.set_power(servers, speed, now);
  }
  /// Attempts started from now on may meet one of these; null: there are none.
  void set_late_errors(const std::vector<LateError>* errors) { late_errors_ = errors; }

  /// How long attempts have been here, summed when they go.
  WideNanoseconds time_spent() const { return time_spent_.value(); }

 private:
  void work_on(Attempt& a, Time now);
  [[gnu::noinline]] void meet_late_error(Attempt& a) const;
  [[gnu::noinline]] void hold_server(Attempt& a);

  AttemptPool* attempts_;
  Effects* effects_;
  ServerPool servers_;
  const std::vector<LateError>* late_errors_ = nullptr;
  stats::TimeSum time_spent_;
};

/// Which instance of which service it is, and what the world calls its completions.
struct InstancePlace {
  InstanceId instance{0};
  ServiceId service{0};
  std::uint32_t completions = kNone;           ///< their source in the event queue
  stats::ServiceRecorder* recorder = nullptr;  ///< of the service
};

/// One service, or one of its instances if it has several: which attempts it admits, which of them
/// wait for a server and for how long, and what faults and the autoscaler do to it. What goes on at
/// the servers is in `AttemptsInService`. An instance knows attempts, but neither clients nor the
/// network: what follows from its decisions is for `Services`.
class Instance {
 public:
  enum class Admission : std::uint8_t { kStarted, kQueued, kFull, kOverLimit };

  // The parts that others use directly.
  InstancePlace place;
  AttemptsInService in_service;
  Throttle throttle;

  /// `key` is for what it draws for itself, `conflict` the number of the answer to a write that
  /// came too late.
  Instance(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
           const Streams* streams, AttemptPool* attempts, std::uint64_t* sequence,
           Effects* effects = nullptr);

  const ServiceSpec& spec() const { return *spec_; }
  const ServiceTraits& traits() const { return traits_; }
  const Impairment& impairment() const { return power_.impairment(); }
  const ServicePower& power() const { return power_; }
  const ServerPool& servers() const { return in_service.servers(); }
  const ServiceQueue& queue() const { return queue_; }

  std::uint64_t queued() const { return queue_.size(); }
  /// Attempts waiting or in service.
  std::uint64_t in_system() const {
    return static_cast<std::uint64_t>(servers().attempts()) + queued();
  }

  /// Starts serving the attempt, queues it, or neither if the queue is full (`kFull`) or the
  /// concurrency limit is reached.
  Admission admit(Attempt& a, Time now) {
    if (traits_.limits_concurrency) return admit_if_concurrency_allows(a, now);
    return admit_if_queue_has_room(a, now);
  }
  /// Another attempt has made room for this one, which the limit on concurrency has let in: it is
  /// not asked again, because it may have changed when the other one left.
  Admission admit_instead(Attempt& a, Time now) {
    if (traits_.limits_concurrency) return enter(a, now);
    return admit_if_queue_has_room(a, now);
  }

  /// The queue has just been found full: takes out the attempt that gives way to this one; null if
  /// none does.
  Attempt* make_room_for(const Attempt& newcomer) {
    Attempt* out = queue_.gives_way_to(newcomer);
    if (out != nullptr) queue_.leave(*out);
    return out;
  }

  /// The attempt, which it had admitted, is gone.
  void leave(const Attempt& a, Time now) {
    if (!traits_.limits_concurrency) return;
    partitions_.leave(a.priority);
    concurrency_.leave(a.id, now - a.arrived, a.is(Attempt::kExecuted | Attempt::kReplay), now);
  }

  /// Turns the attempt away where that costs server time: a free server does it at once; otherwise
  /// it waits, ahead of all attempts that are to be served.
  void turn_away(Attempt& a, Time now);

  /// Its attempts make calls to other services before they are done.
  void call_others() { traits_.calls_others = true; }
  /// Each of its answers is told to `RunState::log_answer`.
  void log_answers() { traits_.logs_answers = traits_.watches_answers = true; }

  /// What a free server does next: the attempt leaves the queue; null if there is no server or no
  /// attempt.
  Attempt* take_from_queue(Time now) { return servers().has_room() ? queue_.take(now) : nullptr; }
  /// Whether this attempt, which has just been taken from the queue, has waited too long.
  bool sheds(const Attempt& a, Time now) { return queue_.sheds(a, now); }
  /// The wait of the attempt is over: a free server takes it.
  void start(Attempt& a, Time now);

  /// The outcome of an attempt that has just been served.
  Reply reply(Attempt& a) {
    return reply_of(model_, a, {streams_->of_group(a.group), impairment().errors});
  }

  /// An attempt leaves the queue before it is served.
  void remove_from_queue(const Attempt& a, Time now);
  /// Counts the time of an attempt that has been taken from the queue but is not started, or that
  /// has arrived but is not admitted.
  void count_wait_of_unserved(const Attempt& a, Time now) {
    time_queued_.add(time_between(a.arrived, now));
  }

  /// Takes out all attempts in service, in order of completion, and then all that wait. Attempts
  /// that only hold a server stay.
  std::vector<std::uint32_t> take_all(Time now);
  /// Returns to the state at the start of the run; the throttle only if `throttle_too`.
  void forget(bool throttle_too, Time now);

  /// The run takes another branch now: what it draws for itself has `key` from now on, and what
  /// has been drawn for attempts that are here is drawn anew as far as nothing is known of it.
  void branch(const RandomKey& key, Time now);

  /// Null if the number of servers is fixed.
  Autoscaler* autoscaler() { return power_.autoscaler(); }
  /// The autoscaler has changed the number of servers.
  void rescale(Time now) { impair(impairment(), now); }
  /// The faults have changed. Work in progress goes on at the new speed.
  void impair(Impairment impairment, Time now);

  /// How long attempts have been in the queue, and in the queue and in service together. Time in
  /// the queue is added when an attempt leaves the queue, time in service when it leaves its
  /// server. For the check at the end of the run.
  struct TimeSpent {
    WideNanoseconds queued = 0, in_system = 0;
  };
  TimeSpent time_spent() const {
    return {time_queued_.value(), time_queued_.value() + in_service.time_spent()};
  }

 private:
  [[gnu::always_inline]] Admission admit_if_queue_has_room(Attempt& a, Time now) {
    if (servers().has_room() && queued() == 0) {
      if (servers().is_full(queue_.capacity())) return Admission::kFull;
      start(a, now);
      return Admission::kStarted;
    }
    if (queue_.is_full()) return Admission::kFull;
    in_service.demand.draw(a);
    queue_.join(a);
    RETRYSIM_TELL(Step::kQueued, now, a, static_cast<std::int64_t>(queued()));
    return Admission::kQueued;
  }
  [[gnu::noinline]] Admission admit_if_concurrency_allows(Attempt& a, Time now);
  Admission enter(Attempt& a, Time now);

  Effects* effects_;
  ServiceTraits traits_;
  const ServiceSpec* spec_;
  const Streams* streams_;
  ServiceQueue queue_;
  stats::TimeSum time_queued_;
  ServicePower power_;
  ServiceModel model_;
  ConcurrencyLimit concurrency_;
  Partitions partitions_;
};

/// The instances of all services, each with servers, queue and limits;
/// those of one service follow each other, in the order of the services. So where every service is
/// a single instance, an instance and its service have the same number.
class Instances {
 public:
  /// The first instance of the next service; `add` gives it further ones. Their addresses are
  /// fixed when all have been added.
  void begin_service() { first_.emplace_back(all_.size()); }
  Instance& add(Instance instance) {
    const ServiceId service(first_.size() - 1);
    instance.place.instance = InstanceId(all_.size());
    instance.place.service = service;
    service_of_.push_back(service);
    return all_.emplace_back(std::move(instance));
  }

  Instance& operator[](InstanceId id) { return all_[id]; }
  const Instance& operator[](InstanceId id) const { return all_[id]; }
  std::size_t size() const { return all_.size(); }
  std::size_t services() const { return first_.size(); }

  Ids<InstanceId> ids() const { return Ids<InstanceId>(all_.size()); }
  Ids<InstanceId> of(ServiceId service) const {
    const bool last = service + std::size_t{1} == first_.size();
    return {first_[service], last ? all_.size() : first_[ServiceId(service + 1)]};
  }
  InstanceId first(ServiceId service) const { return first_[service]; }
  ServiceId service_of(InstanceId id) const { return service_of_[id]; }
  /// Its place among those of its service, counted from 0.
  std::uint32_t number_of(InstanceId id) const {
    return std::uint32_t{id} - std::uint32_t{first_[service_of_[id]]};
  }
  /// Whether some service has more than one.
  bool several() const { return all_.size() > first_.size(); }

 private:
  IndexedBy<InstanceId, std::vector<Instance>> all_;
  ByService<InstanceId> first_;
  IndexedBy<InstanceId, std::vector<ServiceId>> service_of_;
};

}  // namespace retrysim::model

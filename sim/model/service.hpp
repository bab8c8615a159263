// One service, or one of its instances if it has several: which attempts it admits, which of them
// wait for a server and for how long, and what faults and the autoscaler do to it. What goes on at
// the servers is the business of `AttemptsInService`. A service knows attempts, but neither clients
// nor the network; what an attempt's fate means is decided by the simulation.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "measure/record/service_recorder.hpp"
#include "model/attempts_in_service.hpp"
#include "model/concurrency_limit.hpp"
#include "model/request.hpp"
#include "model/server_pool.hpp"
#include "model/service_model.hpp"
#include "model/service_power.hpp"
#include "model/service_queue.hpp"
#include "model/service_traits.hpp"
#include "model/streams.hpp"
#include "model/throttle.hpp"
#include "model/trace.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::model {

/// Which instance of which service it is, and what the world calls its completions.
struct ServicePlace {
  InstanceId instance{0};
  ServiceId service{0};
  std::uint32_t completions = kNone;           ///< their source in the event queue
  stats::ServiceRecorder* recorder = nullptr;  ///< of the service
};

class Service {
 public:
  enum class Admission : std::uint8_t { kStarted, kQueued, kFull, kOverLimit };

  // The parts that others use directly.
  ServicePlace place;
  AttemptsInService in_service;
  Throttle throttle;

  /// `key` is for what it draws for itself, `conflict` the number of the answer to a write that
  /// came too late.
  Service(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
          const Streams* streams, kernel::LinkedPool<Attempt>* attempts, std::uint64_t* sequence);

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
    if (traits_.limits_concurrency) [[unlikely]]
      return admit_if_concurrency_allows(a, now);
    return admit_if_queue_has_room(a, now);
  }

  /// The attempt, which it had admitted, is gone.
  void leave(const Attempt& a, Time now) {
    if (!traits_.limits_concurrency) return;
    concurrency_.leave(a.id, now - a.arrived, a.is(Attempt::kExecuted | Attempt::kReplay));
  }

  /// Turning this attempt away costs server time: a free server begins at once; else that waits,
  /// before any attempt that is to be served.
  void turn_away(Attempt& a, Time now);

  /// Its attempts make calls to other services before they are done.
  void call_others() { traits_.calls_others = true; }

  /// What a free server does next: the attempt leaves the queue; null if there is no server or no
  /// attempt.
  Attempt* take_from_queue() { return servers().has_room() ? queue_.take() : nullptr; }
  /// Whether controlled delay sheds this attempt, which has just been taken from the queue.
  bool sheds(const Attempt& a, Time now) { return queue_.sheds(a, now); }
  /// The wait of the attempt is over: a free server takes it.
  void start(Attempt& a, Time now);

  /// What comes of an attempt that has just been served.
  Reply reply(Attempt& a) {
    return reply_of(model_, a, {streams_->of_group(a.group), impairment().errors});
  }

  /// An attempt leaves the queue before it is served.
  void remove_from_queue(const Attempt& a, Time now);
  /// The same for one that has been taken from the queue, and is not started; or that came, and
  /// does not stay.
  void leave_unserved(const Attempt& a, Time now) { time_queued_ += time_between(a.arrived, now); }

  /// Takes out everything that waits or is in service, this first in order of completion; not what
  /// a server is held for.
  std::vector<std::uint32_t> take_all(Time now);
  /// As it was at the start of the run, with nobody there; the throttle as well if it is to be.
  void forget(bool throttle_too);

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
  TimeSpent time_spent() const { return {time_queued_, time_queued_ + in_service.time_spent()}; }

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

  ServiceTraits traits_;
  const ServiceSpec* spec_;
  const Streams* streams_;
  ServiceQueue queue_;
  WideNanoseconds time_queued_ = 0;
  ServicePower power_;
  ServiceModel model_;
  ConcurrencyLimit concurrency_;
};

}  // namespace retrysim::model

// One service, or one of its instances if it has several: servers, a queue in front of them, a
// throttle before that. Knows attempts, but neither clients nor the network; what an attempt's fate
// means is decided by the simulation.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/event_order.hpp"
#include "kernel/pool.hpp"
#include "measure/service_recorder.hpp"
#include "model/concurrency_limit.hpp"
#include "model/event_loop.hpp"
#include "model/request.hpp"
#include "model/server_pool.hpp"
#include "model/service_demand.hpp"
#include "model/service_model.hpp"
#include "model/service_power.hpp"
#include "model/service_queue.hpp"
#include "model/streams.hpp"
#include "model/throttle.hpp"
#include "model/token_desk.hpp"

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

/// What an attempt has to pass at a service, so that those that have little ask little.
struct ServiceTraits {
  bool always_succeeds = true;    ///< what has been served has succeeded, without more ado
  bool calls_others = false;      ///< attempts make calls to other services before they are done
  bool screens_arrivals = false;  ///< they may be answered before they are admitted: by random
                                  ///< errors, by a throttle
  bool loses_messages = false;    ///< on the way to it, or back
  bool obstructs_way = false;     ///< those to it: some get lost, or none comes through
  bool screens_queue = false;     ///< not every attempt that is taken from the queue is served
  bool limits_concurrency = false;
  bool watches_attempts = false;  ///< it wants to be told, by `leave`, when an attempt is gone that
                                  ///< it had admitted
  bool takes_no_time = false;     ///< whoever finds nobody there is served within the instant
  bool times_waits = false;       ///< attempts that wait no longer than `wait_within` are counted
};

/// In nanoseconds; without a sign, which makes sums cheaper.
inline std::uint64_t time_between(Time from, Time to) {
  return static_cast<std::uint64_t>((to - from).count());
}

class Service {
 public:
  enum class Admission : std::uint8_t { kStarted, kQueued, kFull, kOverLimit };

  // The parts that others use directly.
  ServicePlace place;
  ServiceDemand demand;
  TokenDesk tokens;
  Throttle throttle;

  /// `key` is for what it draws for itself, `conflict` the number of the answer to a write that
  /// came too late.
  Service(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
          const Streams* streams, kernel::LinkedPool<Attempt>* attempts, std::uint64_t* sequence);

  const ServiceSpec& spec() const { return *spec_; }
  const ServiceTraits& traits() const { return traits_; }
  const Impairment& impairment() const { return power_.impairment(); }
  const ServicePower& power() const { return power_; }
  const ServerPool& servers() const { return servers_; }
  const ServiceQueue& queue() const { return queue_; }

  std::uint64_t queued() const { return queue_.size(); }
  /// Attempts waiting or in service.
  std::uint64_t in_system() const {
    return static_cast<std::uint64_t>(servers_.attempts()) + queued();
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

  /// Ends the service (or the turning away) that completes now.
  Attempt& complete(Time now);

  /// Its attempts make calls to other services before they are done.
  void call_others() { traits_.calls_others = true; }
  /// The own work on the attempt that completes next ends now; its server is held until `release`
  /// (or `abort`). Where attempts share the servers, it takes nothing from the others meanwhile.
  void hold(Time now);
  void release(Attempt& a, Time now);

  /// What a free server does next: the attempt leaves the queue; null if there is no server or no
  /// attempt.
  Attempt* take_from_queue() { return servers_.has_room() ? queue_.take() : nullptr; }
  /// Whether controlled delay sheds this attempt, which has just been taken from the queue.
  bool sheds(const Attempt& a, Time now) { return queue_.sheds(a, now); }
  void start(Attempt& a, Time now);
  /// The attempt has waited for another one with its token, which is over.
  void wake(Attempt& a, Time now);

  /// What comes of an attempt that has just been served.
  Reply reply(Attempt& a) {
    return reply_of(model_, a, {streams_->of_group(a.group), impairment().errors});
  }

  /// How long the attempt will be in service if it starts now and nothing changes.
  Duration service_time_of(const Attempt& a) const;

  /// An attempt leaves the queue, or its server, before it is served.
  void remove_from_queue(const Attempt& a, Time now);
  void abort(Attempt& a, Time now);

  /// The same for one that has been taken from the queue, and is not started; or that came, and
  /// does not stay.
  void leave_unserved(const Attempt& a, Time now) {
    time_spent_.queued += time_between(a.arrived, now);
    time_spent_.in_system += time_between(a.arrived, now);
  }

  /// The client of an attempt in service has given up. True if that changes a level.
  bool given_up(Time now) { return servers_.given_up(now); }

  /// Takes out everything that waits or is in service, this first in order of completion; not what
  /// is held.
  std::vector<std::uint32_t> take_all(Time now);
  /// As it was at the start of the run, with nobody there; the throttle as well if it is to be.
  void forget(bool throttle_too);

  /// Null if the number of servers is fixed.
  Autoscaler* autoscaler() { return power_.autoscaler(); }
  /// The autoscaler has changed the number of servers.
  void rescale(Time now) { impair(impairment(), now); }
  /// The faults have changed. Work in progress goes on at the new speed.
  void impair(Impairment impairment, Time now);

  /// How long attempts have been here, from their arrival on: in the queue, summed when they leave
  /// it, and at all, summed when they go. For the check at the end of the run.
  struct TimeSpent {
    WideNanoseconds queued = 0, in_system = 0;
  };
  const TimeSpent& time_spent() const { return time_spent_; }

 private:
  RETRYSIM_IN_LOOP Admission admit_if_queue_has_room(Attempt& a, Time now);
  [[gnu::noinline]] Admission admit_if_concurrency_allows(Attempt& a, Time now);
  void begin_work(Attempt& a, Time now);
  [[gnu::noinline]] void hold_server(Attempt& a);

  ServiceTraits traits_;
  const ServiceSpec* spec_;
  const Streams* streams_;
  kernel::LinkedPool<Attempt>* attempts_;
  ServerPool servers_;
  ServiceQueue queue_;
  TimeSpent time_spent_;
  ServicePower power_;
  ServiceModel model_;
  ConcurrencyLimit concurrency_;
};

}  // namespace retrysim::model

// The attempts in service at one service, or at one of its instances: from the moment a server
// takes an attempt until it has finished or the attempt is aborted. The server works on the
// attempt, or is held for it while it waits for its calls to other services or for another attempt
// with its token. Who is served next is decided elsewhere, as is what becomes of an attempt that
// has been served.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "model/request.hpp"
#include "model/server_pool.hpp"
#include "model/service_demand.hpp"
#include "model/streams.hpp"
#include "model/token_desk.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::model {

/// In nanoseconds; without a sign, which makes sums cheaper.
inline std::uint64_t time_between(Time from, Time to) {
  return static_cast<std::uint64_t>((to - from).count());
}

class AttemptsInService {
 public:
  // The parts that others use directly.
  ServiceDemand demand;
  TokenDesk tokens;

  /// `sequence`: the simulation's counter of scheduled events.
  AttemptsInService(const ServiceSpec& spec, const Streams* streams,
                    kernel::LinkedPool<Attempt>* attempts, std::uint64_t* sequence)
      : demand(spec, streams), attempts_(attempts), servers_(spec, attempts, sequence) {}

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

  // For `Service`, which has more to do on these occasions; others call its functions `start`,
  // `take_all` and `impair`.
  /// A server, which must be free, takes the attempt: to work on it, or to turn it away.
  void start(Attempt& a, Time now);
  /// Takes out all that servers work on, in order of completion; not those for which one is held.
  std::vector<std::uint32_t> take_all(Time now);
  /// From now on so many servers work, at this speed. Work in progress goes on.
  void set_power(std::int64_t servers, double speed, Time now) {
    servers_.set_power(servers, speed, now);
  }

  /// How long attempts have been here, summed when they go.
  WideNanoseconds time_spent() const { return time_spent_; }

 private:
  void work_on(Attempt& a, Time now);
  [[gnu::noinline]] void hold_server(Attempt& a);

  kernel::LinkedPool<Attempt>* attempts_;
  ServerPool servers_;
  WideNanoseconds time_spent_ = 0;
};

}  // namespace retrysim::model

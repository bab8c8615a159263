// The servers of a service, of whichever kind they are: each works for one attempt at a time
// (own_servers.hpp), or all are shared (processor_sharing.hpp). Whatever depends on how servers are
// given to attempts is asked here; the kinds answer, and nobody asks which kind it is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/memory.hpp"
#include "model/own_servers.hpp"
#include "model/processor_sharing.hpp"
#include "model/request.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace retrysim::model {

class ServerPool {
  // Which kind it is takes one comparison, whose result never changes during a run.
  template <class Use>
  [[gnu::always_inline]] auto ask(Use use) const {
    if (shared_ == nullptr) [[likely]]
      return use(own_);
    return use(std::as_const(*shared_));
  }
  template <class Use>
  [[gnu::always_inline]] auto ask(Use use) {
    if (shared_ == nullptr) [[likely]]
      return use(own_);
    return use(*shared_);
  }

 public:
  /// `sequence`: the simulation's counter of scheduled events.
  ServerPool(const ServiceSpec& spec, kernel::LinkedPool<Attempt>* attempts,
             std::uint64_t* sequence)
      : own_(attempts, sequence, spec.servers, spec.autoscaling.max) {
    if (has_queue(spec.queue.discipline)) return;
    shared_ = std::make_unique<SharedServers>(attempts, sequence, spec.servers);
  }

  // What the functions mean that have no comment: own_servers.hpp.

  bool has_room() const {
    return ask([](const auto& s) { return s.has_room(); });
  }
  bool is_full(std::uint64_t capacity) const {
    return ask([=](const auto& s) { return s.is_full(capacity); });
  }
  std::int64_t in_service() const {
    return ask([](const auto& s) { return s.in_service(); });
  }
  std::int64_t attempts() const {
    return ask([](const auto& s) { return s.attempts(); });
  }
  /// Servers that work: shared ones all or none.
  std::int64_t busy() const {
    return ask([](const auto& s) { return s.busy(); });
  }
  bool waste_is_a_level() const {
    return ask([](const auto& s) { return s.waste_is_a_level(); });
  }
  double wasting_servers() const {
    return ask([](const auto& s) { return s.wasting_servers(); });
  }
  Time wasted_since(const Attempt& a) const {
    return ask([&](const auto& s) { return s.wasted_since(a); });
  }
  double server_time_ns(const Attempt& a) const {
    return ask([&](const auto& s) { return s.server_time_ns(a); });
  }

  kernel::EventKey next_completion() const {
    return ask([](const auto& s) { return s.head(); });
  }
  /// The attempt whose service completes next; there must be one.
  std::uint32_t next_to_complete() const {
    return ask([](const auto& s) { return s.front(); });
  }

  void start(Attempt& a, Time now) {
    ask([&](auto& s) __attribute__((always_inline)) { s.start(a, now); });
  }
  std::uint32_t complete(Time now) {
    return ask([=](auto& s) { return s.complete(now); });
  }
  std::uint32_t hold(Time now) {
    return ask([=](auto& s) { return s.hold(now); });
  }
  void take() {
    ask([](auto& s) { s.take(); });
  }
  void let_go() {
    ask([](auto& s) { s.let_go(); });
  }
  void abort(std::uint32_t attempt, Time now) {
    ask([=](auto& s) { s.abort(attempt, now); });
  }
  bool given_up(Time now) {
    return ask([=](auto& s) { return s.given_up(now); });
  }
  std::vector<std::uint32_t> take_all(Time now) {
    return ask([=](auto& s) { return s.take_all(now); });
  }
  void set_power(std::int64_t servers, double speed, Time now) {
    ask([=](auto& s) { s.set_power(servers, speed, now); });
  }
  template <class Visit>
  void for_each(Visit visit) const {
    ask([&](const auto& s) { s.for_each(visit); });
  }

 private:
  std::unique_ptr<SharedServers> shared_;  // if they are shared
  OwnServers own_;                         // idle if they are
};

}  // namespace retrysim::model

// The attempts that wait at a service: those to be served, in the order of the discipline, and
// those that are to be turned away where that takes a server, before all others.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "model/codel.hpp"
#include "model/request.hpp"
#include "model/waiting_line.hpp"

#include <cstdint>

namespace retrysim::model {

class ServiceQueue {
 public:
  ServiceQueue(const ServiceSpec& spec, const RandomKey& key)
      : capacity_(static_cast<std::uint64_t>(spec.queue.capacity)),
        controls_delay_(spec.queue.discipline == Discipline::kCodel),
        line_(spec.queue.discipline, key),
        rejections_(Discipline::kFifo, key),
        codel_(spec.queue.codel) {}

  std::uint64_t size() const { return line_.size() + rejections_.size(); }
  std::uint64_t capacity() const { return capacity_; }
  bool is_full() const { return line_.size() >= capacity_; }

  void join(Attempt& a) {
    a.stage = Attempt::Stage::kQueued;
    (a.is(Attempt::kRejection) ? rejections_ : line_).push(a);
  }
  void leave(const Attempt& a) { (a.is(Attempt::kRejection) ? rejections_ : line_).erase(a); }
  /// Takes out the attempt whose turn it is, now that a server is free; null if nobody waits.
  Attempt* take() {
    if (controls_delay_ && line_.empty()) codel_.queue_is_empty();
    if (!rejections_.empty()) [[unlikely]]
      return &rejections_.pop();
    return line_.empty() ? nullptr : &line_.pop();
  }
  /// Whether controlled delay sheds this attempt, which has just been taken.
  bool sheds(const Attempt& a, Time now) {
    return controls_delay_ && codel_.turns_away(now - a.arrived, line_.size(), now);
  }
  /// Forgets how long attempts have waited.
  void forget(const CodelSpec& spec) { codel_ = Codel(spec); }

  template <class Visit>
  void for_each(Visit visit) const {
    line_.for_each(visit);
    rejections_.for_each(visit);
  }

 private:
  std::uint64_t capacity_;
  bool controls_delay_;
  WaitingLine line_, rejections_;
  Codel codel_;
};

}  // namespace retrysim::model

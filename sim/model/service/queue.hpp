// The attempts that wait for a server: in which order they are taken, and which of them are shed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "model/run/request.hpp"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::model {

/// Controlled delay: sheds load where attempts have waited too long for too long. The rule is that
/// of RFC 8289 (section 5), with attempts for packets: while every attempt that is taken has waited
/// for at least `target` during a whole `interval`, one is turned away, and as long as that goes on
/// another one after interval / sqrt(number turned away).
class Codel {
 public:
  explicit Codel(const CodelSpec& spec) : target_(spec.target), interval_(spec.interval) {}

  /// An attempt is taken that has waited for `waited`, and `left` are still waiting: is it to be
  /// turned away? Asked until the answer is no or the queue is empty.
  bool turns_away(Duration waited, std::uint64_t left, Time now) {
    const bool too_long = waited_too_long(waited, left, now);
    if (deliver_next_) {
      deliver_next_ = false;
      return false;
    }
    if (!shedding_) return too_long && begin(now);
    if (!too_long) return end();
    if (just_shed_) next_ = next_ + pause();
    just_shed_ = false;
    if (now < next_) return false;
    ++count_;
    just_shed_ = true;
    return true;
  }

  /// A server is free and no attempt waits.
  void queue_is_empty() {
    long_from_ = Time::max();
    deliver_next_ = false;
    if (just_shed_) end();
  }

 private:
  // A queue of one attempt is no standing queue, however long it has waited.
  bool waited_too_long(Duration waited, std::uint64_t left, Time now) {
    if (waited < target_ || left <= 1) {
      long_from_ = Time::max();
      return false;
    }
    if (long_from_ == Time::max()) long_from_ = now + interval_;
    return now >= long_from_;
  }

  // If shedding ended not long ago, it goes on at nearly the rate it had then.
  bool begin(Time now) {
    const std::uint64_t added = count_ - count_at_begin_;
    count_ = added > 1 && now - next_ < interval_ * 16 ? added : 1;
    count_at_begin_ = count_;
    next_ = now + pause();
    shedding_ = deliver_next_ = true;
    return true;
  }
  bool end() {
    shedding_ = just_shed_ = false;
    return false;
  }
  Duration pause() const {
    return Duration::from_nanoseconds(static_cast<double>(interval_.count()) /
                                      std::sqrt(static_cast<double>(count_)));
  }

  Duration target_, interval_;
  Time long_from_ = Time::max();  // from then on the queue has been too long for an interval
  Time next_;                     // when the next attempt is turned away
  std::uint64_t count_ = 0, count_at_begin_ = 0;
  bool shedding_ = false;
  bool deliver_next_ = false;  // shedding has just begun: the next one is served
  bool just_shed_ = false;
};

/// The attempts that wait for a server, in the order that the queue discipline gives them: O(1) for
/// each that comes, is taken, or leaves before its turn, without allocation.
class WaitingLine {
 public:
  /// `key`: for the draws of the discipline "random".
  WaitingLine(Discipline discipline, const RandomKey& key) : discipline_(discipline), key_(key) {
    if (discipline == Discipline::kPriority) by_priority_.resize(kPriorities);
  }

  bool empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }

  void push(Attempt& a) {
    ++size_;
    if (!is_one_list()) [[unlikely]]
      return push_elsewhere(a);
    append(line_, a);
  }

  /// Takes out the attempt whose turn it is; there must be one.
  Attempt& pop() {
    Attempt& a = next();
    if (is_one_list() && a.queue.next != nullptr) kernel::prefetch(*a.queue.next);
    erase(a);
    return a;
  }

  void erase(const Attempt& a) {
    assert(size_ > 0);
    --size_;
    if (!is_one_list()) [[unlikely]]
      return erase_elsewhere(a);
    unlink(line_, a);
  }

  /// Visits all, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    const auto walk = [&](const Ends& ends) {
      for (const Attempt* a = ends.first; a != nullptr; a = a->queue.next) visit(*a);
    };
    walk(line_);
    for (const Ends& ends : by_priority_) walk(ends);
    for (const Attempt* a : anywhere_) visit(*a);
  }

 private:
  static constexpr std::size_t kPriorities = std::size_t{kMostPriority} + 1;
  static_assert(kPriorities <= 64);
  struct Ends {
    Attempt* first = nullptr;
    Attempt* last = nullptr;
  };

  bool is_one_list() const {
    return discipline_ != Discipline::kPriority && discipline_ != Discipline::kRandom;
  }

  static void append(Ends& ends, Attempt& a) {
    a.queue = {nullptr, ends.last};
    (ends.last == nullptr ? ends.first : ends.last->queue.next) = &a;
    ends.last = &a;
  }

  static void unlink(Ends& ends, const Attempt& a) {
    const QueueLinks& links = a.queue;
    (links.previous == nullptr ? ends.first : links.previous->queue.next) = links.next;
    (links.next == nullptr ? ends.last : links.next->queue.previous) = links.previous;
  }

  Attempt& next() {
    if (!is_one_list()) [[unlikely]]
      return next_elsewhere();
    return discipline_ == Discipline::kLifo ? *line_.last : *line_.first;
  }

  // The disciplines that need more than one list; not compiled into the path of the others.

  [[gnu::noinline]] void push_elsewhere(Attempt& a) {
    if (discipline_ == Discipline::kPriority) {
      occupied_ |= std::uint64_t{1} << a.priority;
      return append(by_priority_[a.priority], a);
    }
    a.place = anywhere_.size();
    anywhere_.push_back(&a);
  }

  [[gnu::noinline]] void erase_elsewhere(const Attempt& a) {
    if (discipline_ == Discipline::kPriority) {
      Ends& ends = by_priority_[a.priority];
      unlink(ends, a);
      if (ends.first == nullptr) occupied_ &= ~(std::uint64_t{1} << a.priority);
      return;
    }
    Attempt& last = *anywhere_.back();
    anywhere_[a.place] = &last;
    last.place = a.place;
    anywhere_.pop_back();
  }

  [[gnu::noinline]] Attempt& next_elsewhere() {
    if (discipline_ == Discipline::kPriority) {
      return *by_priority_[static_cast<std::size_t>(std::bit_width(occupied_)) - 1].first;
    }
    Draws draws(key_, {picks_++, 0, 0, Purpose::kQueuePick});
    return *anywhere_[draws.below(static_cast<std::uint32_t>(anywhere_.size()))];
  }

  Discipline discipline_;
  Ends line_;
  std::uint64_t size_ = 0;
  // priority: a list for each, and which of them are not empty.
  std::vector<Ends> by_priority_;
  std::uint64_t occupied_ = 0;
  // random: the attempts in no order, each of which knows its place.
  std::vector<Attempt*> anywhere_;
  std::uint64_t picks_ = 0;
  RandomKey key_;
};

/// The attempts that wait at a service: those to be served, in the order of the discipline, and
/// those that are to be turned away where that takes a server, before all others.
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
  /// Takes out the attempt whose turn it is, now that a server is free; null if none waits.
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

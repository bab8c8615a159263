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
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
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
  // A queue of one attempt is not a standing queue, however long it has waited.
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

/// Attempts in the order in which they came, where the queue has no such order. Each is known by a
/// number.
class OrderOfArrival {
 public:
  std::uint64_t push(Attempt& a) {
    line_.push_back(&a);
    return first_ + line_.size() - 1;
  }
  void erase(std::uint64_t number) {
    line_[number - first_] = nullptr;
    for (; !line_.empty() && line_.front() == nullptr; line_.pop_front()) ++first_;
  }
  /// There must be one.
  Attempt& oldest() const { return *line_.front(); }
  std::uint64_t bytes() const { return line_.size() * sizeof(Attempt*); }

 private:
  std::deque<Attempt*> line_;  // null if it has left; the first is never null
  std::uint64_t first_ = 0;    // number of the first one
};

/// The attempts that wait for a server, in the order that the queue discipline gives them: O(1) for
/// each that comes, is taken, or leaves before its turn; without allocation, unless the order is
/// random.
class WaitingLine {
 public:
  /// `lifo_above`: disciplines of one list take the newest attempt while more wait than this, else
  /// the oldest. `key`: for the draws of the discipline "random".
  WaitingLine(Discipline discipline, std::uint64_t lifo_above, const RandomKey& key)
      : discipline_(discipline), lifo_above_(lifo_above), key_(key) {
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

  /// The one that has waited longest; there must be one. Of several that came at the same instant,
  /// the first, or that of the highest priority.
  Attempt& oldest() const { return is_one_list() ? *line_.first : oldest_elsewhere(); }

  void erase(const Attempt& a) {
    assert(size_ > 0);
    --size_;
    if (!is_one_list()) [[unlikely]]
      return erase_elsewhere(a);
    unlink(line_, a);
  }

  std::uint64_t bytes() const { return kernel::bytes_of_growing(anywhere_) + arrivals_.bytes(); }

  /// Visits all, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    const auto walk = [&](const Ends& ends) {
      for (const Attempt* a = ends.first; a != nullptr; a = a->queue.next) visit(*a);
    };
    walk(line_);
    for (const Ends& ends : by_priority_) walk(ends);
    for (const Place& place : anywhere_) visit(*place.attempt);
  }

 private:
  static constexpr std::size_t kPriorities = std::size_t{kMaxPriority} + 1;
  static_assert(kPriorities <= 64);
  struct Ends {
    Attempt* first = nullptr;
    Attempt* last = nullptr;
  };
  struct Place {
    Attempt* attempt;
    std::uint64_t number;  // in the order of arrival
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
    return size_ > lifo_above_ ? *line_.last : *line_.first;
  }

  // The disciplines that need more than one list; not compiled into the path of the others.

  [[gnu::noinline]] void push_elsewhere(Attempt& a) {
    if (discipline_ == Discipline::kPriority) {
      occupied_ |= std::uint64_t{1} << a.priority;
      return append(by_priority_[a.priority], a);
    }
    a.place = anywhere_.size();
    anywhere_.push_back({&a, arrivals_.push(a)});
  }

  [[gnu::noinline]] void erase_elsewhere(const Attempt& a) {
    if (discipline_ == Discipline::kPriority) {
      Ends& ends = by_priority_[a.priority];
      unlink(ends, a);
      if (ends.first == nullptr) occupied_ &= ~(std::uint64_t{1} << a.priority);
      return;
    }
    arrivals_.erase(anywhere_[a.place].number);
    const Place last = anywhere_.back();
    anywhere_[a.place] = last;
    last.attempt->place = a.place;
    anywhere_.pop_back();
  }

  [[gnu::noinline]] Attempt& next_elsewhere() {
    if (discipline_ == Discipline::kPriority) {
      return *by_priority_[static_cast<std::size_t>(std::bit_width(occupied_)) - 1].first;
    }
    Draws draws(key_, {picks_++, 0, 0, Purpose::kQueuePick});
    return *anywhere_[draws.below(static_cast<std::uint32_t>(anywhere_.size()))].attempt;
  }

  [[gnu::noinline]] Attempt& oldest_elsewhere() const {
    if (discipline_ == Discipline::kRandom) return arrivals_.oldest();
    Attempt* oldest = nullptr;
    for (std::size_t priority = kPriorities; priority-- > 0;) {
      Attempt* first = by_priority_[priority].first;
      if (first == nullptr) continue;
      if (oldest == nullptr || first->arrived < oldest->arrived) oldest = first;
    }
    return *oldest;
  }

  Discipline discipline_;
  std::uint64_t lifo_above_;
  Ends line_;
  std::uint64_t size_ = 0;
  // priority: a list for each, and which of them are not empty.
  std::vector<Ends> by_priority_;
  std::uint64_t occupied_ = 0;
  // random: the attempts in no order, each of which knows its place.
  std::vector<Place> anywhere_;
  OrderOfArrival arrivals_;
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
        looks_at_waits_(spec.queue.sheds()),
        max_age_(spec.queue.max_age),
        line_(spec.queue.discipline, lifo_above(spec), key),
        rejections_(Discipline::kFifo, kNever, key),
        codel_(spec.queue.codel) {}

  std::uint64_t size() const { return line_.size() + rejections_.size(); }
  std::uint64_t capacity() const { return capacity_; }
  bool is_full() const { return line_.size() >= capacity_; }

  void join(Attempt& a) {
    a.stage = Attempt::Stage::kQueued;
    (a.is(Attempt::kRejection) ? rejections_ : line_).push(a);
  }
  void leave(const Attempt& a) { (a.is(Attempt::kRejection) ? rejections_ : line_).erase(a); }
  /// Takes out the attempt whose turn it is, now that a server is free, or before that one that
  /// has waited too long; null if none waits.
  Attempt* take(Time now) {
    if (looks_at_waits_) [[unlikely]] {
      if (Attempt* too_old = look_at_waits(now)) return too_old;
    }
    if (!rejections_.empty()) [[unlikely]]
      return &rejections_.pop();
    return line_.empty() ? nullptr : &line_.pop();
  }
  /// Whether this attempt, which has just been taken, is turned away because of its wait: it is too
  /// old, or controlled delay sheds it.
  bool sheds(const Attempt& a, Time now) {
    if (is_too_old(a, now)) return true;
    return controls_delay_ && codel_.turns_away(now - a.arrived, line_.size(), now);
  }
  /// Forgets how long attempts have waited.
  void forget(const CodelSpec& spec) { codel_ = Codel(spec); }

  std::uint64_t bytes() const { return line_.bytes(); }

  template <class Visit>
  void for_each(Visit visit) const {
    line_.for_each(visit);
    rejections_.for_each(visit);
  }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  static std::uint64_t lifo_above(const ServiceSpec& spec) {
    const std::int64_t given = spec.queue.lifo_above;
    switch (spec.queue.discipline) {
      case Discipline::kLifo:
        return 0;
      case Discipline::kAdaptiveLifo:
        return static_cast<std::uint64_t>(given == QueueSpec::kAsServers ? spec.servers : given);
      default:
        return kNever;
    }
  }
  bool is_too_old(const Attempt& a, Time now) const { return now - a.arrived > max_age_; }

  // Takes out the next attempt that has waited too long, if its turn has come to be turned away.
  [[gnu::noinline]] Attempt* look_at_waits(Time now) {
    if (controls_delay_ && line_.empty()) codel_.queue_is_empty();
    if (!rejections_.empty() || line_.empty()) return nullptr;
    Attempt& oldest = line_.oldest();
    if (!is_too_old(oldest, now)) return nullptr;
    line_.erase(oldest);
    return &oldest;
  }

  std::uint64_t capacity_;
  bool controls_delay_, looks_at_waits_;
  Duration max_age_;
  WaitingLine line_, rejections_;
  Codel codel_;
};

}  // namespace retrysim::model

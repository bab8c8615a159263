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

/// A line of attempts; `LinksOf` says where each keeps its neighbours in it.
template <class LinksOf>
struct LinkedLine {
  Attempt* first = nullptr;
  Attempt* last = nullptr;

  void append(Attempt& a, LinksOf of) {
    of(a) = {nullptr, last};
    (last == nullptr ? first : of(*last).next) = &a;
    last = &a;
  }
  void erase(const Attempt& a, LinksOf of) {
    const QueueLinks links = of(a);
    (links.previous == nullptr ? first : of(*links.previous).next) = links.next;
    (links.next == nullptr ? last : of(*links.next).previous) = links.previous;
  }
};

/// Attempts by priority, those of each in the order in which they came: O(1) for each step.
template <class LinksOf>
class LinesByPriority {
 public:
  static constexpr std::size_t kPriorities = std::size_t{kMaxPriority} + 1;
  static_assert(kPriorities <= 64);

  explicit LinesByPriority(LinksOf links = {}) : links_(links) {}

  bool empty() const { return occupied_ == 0; }
  void push(Attempt& a) {
    if (lines_.empty()) lines_.resize(kPriorities);
    occupied_ |= bit(a);
    lines_[a.priority].append(a, links_);
  }
  void erase(const Attempt& a) {
    lines_[a.priority].erase(a, links_);
    if (lines_[a.priority].first == nullptr) occupied_ &= ~bit(a);
  }

  // The first attempt of the highest priority that is there; there must be one.
  Attempt& first_of_highest() const {
    return *lines_[static_cast<std::size_t>(std::bit_width(occupied_)) - 1].first;
  }
  Attempt& last_of_lowest() const {
    return *lines_[static_cast<std::size_t>(std::countr_zero(occupied_))].last;
  }
  /// The one that came first; of several that came at the same instant, that of the highest
  /// priority.
  Attempt& oldest() const {
    Attempt* oldest = nullptr;
    for (std::size_t priority = kPriorities; priority-- > 0;) {
      Attempt* first = lines_[priority].first;
      if (first == nullptr) continue;
      if (oldest == nullptr || first->arrived < oldest->arrived) oldest = first;
    }
    return *oldest;
  }

  template <class Visit>
  void for_each_line(Visit visit) const {
    for (const LinkedLine<LinksOf>& line : lines_) visit(line);
  }

 private:
  static std::uint64_t bit(const Attempt& a) { return std::uint64_t{1} << a.priority; }

  std::vector<LinkedLine<LinksOf>> lines_;  // empty until the first one comes
  std::uint64_t occupied_ = 0;              // by which of them are not empty
  [[no_unique_address]] LinksOf links_;
};

/// The neighbours of an attempt in its queue.
struct LinksInQueue {
  QueueLinks& operator()(Attempt& a) const { return a.queue; }
  const QueueLinks& operator()(const Attempt& a) const { return a.queue; }
};
/// Links among the attempts of one priority, where they are kept beside those of the queue.
struct LinksInRank {
  kernel::BlockArray<QueueLinks>* links = nullptr;  ///< by attempt

  QueueLinks& operator()(const Attempt& a) const {
    links->reach(a.id);
    return (*links)[a.id];
  }
};

/// The attempts that wait for a server, in the order that the queue discipline gives them: O(1) for
/// each that comes, is taken, or leaves before its turn; without allocation, unless the order is
/// random.
class WaitingLine {
 public:
  /// `lifo_above`: disciplines of one list take the newest attempt while more wait than this, else
  /// the oldest. `key`: for the draws of the discipline "random". `ranks`: where attempts may be
  /// asked for by `lowest` (the discipline "priority" does without); else null.
  WaitingLine(Discipline discipline, std::uint64_t lifo_above, const RandomKey& key,
              kernel::BlockArray<QueueLinks>* ranks = nullptr)
      : discipline_(discipline),
        is_plain_(is_one_list() && ranks == nullptr),
        is_ranked_(discipline != Discipline::kPriority && ranks != nullptr),
        lifo_above_(lifo_above),
        by_rank_(LinksInRank{ranks}),
        key_(key) {}

  bool empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }

  void push(Attempt& a) {
    ++size_;
    if (!is_plain_) return push_elsewhere(a);
    line_.append(a, LinksInQueue());
  }

  /// Takes out the attempt whose turn it is; there must be one.
  Attempt& pop() {
    Attempt& a = next();
    if (is_plain_ && a.queue.next != nullptr) kernel::prefetch(*a.queue.next);
    erase(a);
    return a;
  }

  /// The one that has waited longest; there must be one. Of several that came at the same instant,
  /// the first, or that of the highest priority.
  Attempt& oldest() const { return is_one_list() ? *line_.first : oldest_elsewhere(); }

  /// The one of the lowest priority that came last; there must be one, and no other discipline than
  /// "priority" without `ranks`.
  Attempt& lowest() const {
    return is_ranked_ ? by_rank_.last_of_lowest() : by_priority_.last_of_lowest();
  }

  void erase(const Attempt& a) {
    assert(size_ > 0);
    --size_;
    if (!is_plain_) return erase_elsewhere(a);
    line_.erase(a, LinksInQueue());
  }

  /// Draws from now on with this key.
  void branch(const RandomKey& key) { key_ = key; }

  std::uint64_t bytes() const { return kernel::bytes_of_growing(anywhere_) + arrivals_.bytes(); }

  /// Visits all, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    const auto walk = [&](const LinkedLine<LinksInQueue>& line) {
      for (const Attempt* a = line.first; a != nullptr; a = a->queue.next) visit(*a);
    };
    walk(line_);
    by_priority_.for_each_line(walk);
    for (const Place& place : anywhere_) visit(*place.attempt);
  }

 private:
  struct Place {
    Attempt* attempt;
    std::uint64_t number;  // in the order of arrival
  };

  bool is_one_list() const {
    return discipline_ != Discipline::kPriority && discipline_ != Discipline::kRandom;
  }

  Attempt& next() {
    if (!is_plain_) return next_elsewhere();
    return next_of_line();
  }
  Attempt& next_of_line() const { return size_ > lifo_above_ ? *line_.last : *line_.first; }

  // The disciplines that need more than one list, and ranks; not compiled into the path of the
  // others.

  [[gnu::noinline]] void push_elsewhere(Attempt& a) {
    if (is_ranked_) by_rank_.push(a);
    if (is_one_list()) return line_.append(a, LinksInQueue());
    if (discipline_ == Discipline::kPriority) return by_priority_.push(a);
    a.place = anywhere_.size();
    anywhere_.push_back({&a, arrivals_.push(a)});
  }

  [[gnu::noinline]] void erase_elsewhere(const Attempt& a) {
    if (is_ranked_) by_rank_.erase(a);
    if (is_one_list()) return line_.erase(a, LinksInQueue());
    if (discipline_ == Discipline::kPriority) return by_priority_.erase(a);
    arrivals_.erase(anywhere_[a.place].number);
    const Place last = anywhere_.back();
    anywhere_[a.place] = last;
    last.attempt->place = a.place;
    anywhere_.pop_back();
  }

  [[gnu::noinline]] Attempt& next_elsewhere() {
    if (is_one_list()) return next_of_line();
    if (discipline_ == Discipline::kPriority) return by_priority_.first_of_highest();
    Draws draws(key_, {picks_++, 0, 0, Purpose::kQueuePick});
    return *anywhere_[draws.below(static_cast<std::uint32_t>(anywhere_.size()))].attempt;
  }

  [[gnu::noinline]] Attempt& oldest_elsewhere() const {
    return discipline_ == Discipline::kRandom ? arrivals_.oldest() : by_priority_.oldest();
  }

  Discipline discipline_;
  bool is_plain_;   // one list, and nothing beside it
  bool is_ranked_;  // attempts are in `by_rank_`, too
  std::uint64_t lifo_above_;
  LinkedLine<LinksInQueue> line_;
  std::uint64_t size_ = 0;
  LinesByPriority<LinksInQueue> by_priority_;  // of the discipline "priority"
  LinesByPriority<LinksInRank> by_rank_;
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
  /// `ranks`: of all attempts, for queues that evict.
  ServiceQueue(const ServiceSpec& spec, const RandomKey& key, kernel::BlockArray<QueueLinks>* ranks)
      : evicts_(spec.queue.evicts()),
        capacity_(static_cast<std::uint64_t>(spec.queue.capacity)),
        controls_delay_(spec.queue.discipline == Discipline::kCodel),
        looks_at_waits_(spec.queue.sheds()),
        max_age_(spec.queue.max_age),
        line_(spec.queue.discipline, lifo_above(spec), key, evicts_ ? ranks : nullptr),
        rejections_(Discipline::kFifo, kNever, key),
        codel_(spec.queue.codel) {}

  std::uint64_t size() const { return line_.size() + rejections_.size(); }
  std::uint64_t capacity() const { return capacity_; }
  bool is_full() const { return line_.size() >= capacity_; }

  void join(Attempt& a) {
    a.stage = Attempt::Stage::kQueued;
    (a.is(Attempt::kRejection) ? rejections_ : line_).push(a);
  }
  /// The queue is full: the attempt that has to leave it for this one (which it does not yet); null
  /// if none has.
  Attempt* gives_way_to(const Attempt& newcomer) const {
    if (!evicts_ || line_.empty()) return nullptr;
    Attempt& lowest = line_.lowest();
    return lowest.priority < newcomer.priority ? &lowest : nullptr;
  }
  void leave(const Attempt& a) { (a.is(Attempt::kRejection) ? rejections_ : line_).erase(a); }
  /// Takes out the attempt whose turn it is, now that a server is free, or before that one that
  /// has waited too long; null if none waits.
  Attempt* take(Time now) {
    if (looks_at_waits_) {
      if (Attempt* too_old = look_at_waits(now)) return too_old;
    }
    if (!rejections_.empty()) return &rejections_.pop();
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
  /// Draws from now on with this key.
  void branch(const RandomKey& key) { line_.branch(key); }

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

  bool evicts_;
  std::uint64_t capacity_;
  bool controls_delay_, looks_at_waits_;
  Duration max_age_;
  WaitingLine line_, rejections_;
  Codel codel_;
};

}  // namespace retrysim::model

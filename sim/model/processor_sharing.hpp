// Processor sharing: all attempts in service share the servers equally, each at the rate
//
//   working servers x speed / attempts in service,
//
// so that the one with the least work left is the next to finish. Instead of counting down the
// work of all, it counts what each has been given since the server was last idle ("attained"): an
// attempt is done when that has risen by its demand. O(log n) for each that comes or goes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/indexed_heap.hpp"
#include "kernel/memory.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::model {

class ProcessorSharing {
  auto position() {
    return [this](std::uint32_t attempt) -> std::uint32_t& {
      if (attempt >= positions_.size()) [[unlikely]]
        positions_.resize(2 * std::size_t{attempt} + 64, kernel::IndexedHeap::kNotInHeap);
      return positions_[attempt];
    };
  }

 public:
  std::int64_t size() const { return static_cast<std::int64_t>(by_end_.size()); }

  /// The present is `now`; must be called before anything changes.
  void advance(Time now) {
    if (now == now_) return;
    const auto elapsed_ns = static_cast<double>((now - now_).count());
    now_ = now;
    if (by_end_.empty()) return;
    const auto n = static_cast<double>(by_end_.size());
    attained_ns_ += elapsed_ns * servers_ * speed_ / n;
    server_time_ns_ += elapsed_ns * servers_ / n;
  }

  void set_power(std::int64_t servers, double speed) {
    servers_ = static_cast<double>(servers);
    speed_ = speed;
  }

  /// `demand_ns`: what a single server of speed 1 would take. Equal ends come in the order of
  /// insertion.
  void insert(std::uint32_t attempt, double demand_ns) {
    if (by_end_.empty()) attained_ns_ = server_time_ns_ = 0;
    if (attained_ns_ > kMostAttained) start_over();
    by_end_.push(attempt, {as_key(attained_ns_ + demand_ns), sequence_++}, position());
  }
  void erase(std::uint32_t attempt) { by_end_.erase(attempt, position()); }

  /// The attempt that is done first; there must be one.
  std::uint32_t front() const { return by_end_.front(); }
  /// Takes out that attempt.
  std::uint32_t pop() { return by_end_.pop(position()); }

  /// When that is, if nothing changes.
  Time next_end() const {
    if (by_end_.empty()) return Time::max();
    const double left = attained_at(by_end_.head()) - attained_ns_;
    if (left <= 0) return now_;
    const double rate = servers_ * speed_ / static_cast<double>(by_end_.size());
    return rate > 0 ? now_ + Duration::from_nanoseconds(left / rate) : Time::max();
  }

  /// Server time that an attempt in service all along has been given; differences count.
  double server_time_ns() const { return server_time_ns_; }

  template <class Visit>
  void for_each(Visit visit) const {
    by_end_.for_each([&](std::uint32_t attempt, kernel::EventKey) { visit(attempt); });
  }

 private:
  // Beyond this (18 minutes that each attempt was given) the sum would be rounded to more than a
  // thousandth of a nanosecond.
  static constexpr double kMostAttained = 0x1p40;

  // Numbers that are not negative are in the order of their bits.
  static Time as_key(double attained) {
    return Time::from_nanoseconds(std::bit_cast<std::int64_t>(attained));
  }
  static double attained_at(kernel::EventKey key) {
    return std::bit_cast<double>(key.time.count());
  }

  void start_over() {
    std::vector<std::pair<kernel::EventKey, std::uint32_t>> all;
    by_end_.for_each([&](std::uint32_t a, kernel::EventKey key) { all.emplace_back(key, a); });
    while (!by_end_.empty()) by_end_.pop(position());
    for (auto& [key, attempt] : all) {
      key.time = as_key(std::max(0.0, attained_at(key) - attained_ns_));
      by_end_.push(attempt, key, position());
    }
    attained_ns_ = 0;
  }

  kernel::IndexedHeap by_end_;            // by what has been attained when they are done
  std::vector<std::uint32_t> positions_;  // in the heap, by attempt
  std::uint64_t sequence_ = 0;
  double attained_ns_ = 0, server_time_ns_ = 0;
  double servers_ = 0, speed_ = 1;
  Time now_;
};

/// The pool of servers that works in this way, with everything that a service asks of a pool (see
/// own_servers.hpp for what that means). Kept out of the path of the other pool.
class SharedServers {
 public:
  SharedServers(kernel::LinkedPool<Attempt>* attempts, std::uint64_t* sequence,
                std::int64_t servers)
      : attempts_(attempts), sequence_(sequence), working_(servers) {
    sharing_.set_power(servers, 1);
  }

  /// Nobody queues; a capacity limits how many are served.
  static bool has_room() { return true; }
  bool is_full(std::uint64_t capacity) const {
    return static_cast<std::uint64_t>(sharing_.size() - rejections_ + held_) >= capacity;
  }
  std::int64_t in_service() const { return sharing_.size(); }
  std::int64_t attempts() const { return sharing_.size() + held_; }
  std::int64_t busy() const { return sharing_.size() > 0 ? working_ : 0; }
  static bool waste_is_a_level() { return true; }
  double wasting_servers() const {
    if (given_up_ == 0) return 0;
    return static_cast<double>(working_) * static_cast<double>(given_up_) /
           static_cast<double>(sharing_.size());
  }
  static Time wasted_since(const Attempt&) { return Time::max(); }

  static double server_time_ns(const Attempt& a) { return a.work.left_ns; }

  kernel::EventKey head() const { return head_; }
  std::uint32_t front() const { return sharing_.front(); }

  /// From here to its end, the attempt's `work` says what server time the others had been
  /// given when it came; afterwards, what it was given itself.
  [[gnu::noinline]] void start(Attempt& a, Time now) {
    sharing_.advance(now);
    sharing_.insert(a.id, a.work.left_ns);
    a.work.left_ns = sharing_.server_time_ns();
    given_up_ += a.given_up();
    rejections_ += a.is(Attempt::kRejection);
    schedule();
  }
  [[gnu::noinline]] std::uint32_t complete(Time now) {
    sharing_.advance(now);
    const std::uint32_t attempt = sharing_.pop();
    leave(attempt);
    return attempt;
  }
  /// What is held takes nothing from the others.
  std::uint32_t hold(Time now) {
    ++held_;
    return complete(now);
  }
  void take() { ++held_; }
  void let_go() { --held_; }
  [[gnu::noinline]] void abort(std::uint32_t attempt, Time now) {
    sharing_.advance(now);
    sharing_.erase(attempt);
    leave(attempt);
  }
  [[gnu::noinline]] bool given_up(Time now) {
    sharing_.advance(now);
    ++given_up_;
    return true;
  }
  [[gnu::noinline]] std::vector<std::uint32_t> take_all(Time now) {
    std::vector<std::uint32_t> all;
    while (sharing_.size() > 0) all.push_back(complete(now));
    return all;
  }

  [[gnu::noinline]] void set_power(std::int64_t servers, double speed, Time now) {
    working_ = servers;
    sharing_.advance(now);
    sharing_.set_power(servers, speed);
    schedule();
  }

  template <class Visit>
  void for_each(Visit visit) const {
    sharing_.for_each(visit);
  }

 private:
  void leave(std::uint32_t attempt) {
    Attempt& a = (*attempts_)[attempt];
    a.work.left_ns = sharing_.server_time_ns() - a.work.left_ns;
    given_up_ -= a.given_up();
    rejections_ -= a.is(Attempt::kRejection);
    schedule();
  }
  void schedule() { head_ = {sharing_.next_end(), (*sequence_)++}; }

  kernel::LinkedPool<Attempt>* attempts_;
  std::uint64_t* sequence_;
  ProcessorSharing sharing_;
  kernel::EventKey head_ = kernel::EventKey::never();
  std::int64_t working_;
  std::int64_t held_ = 0;
  std::int64_t given_up_ = 0, rejections_ = 0;  // of those in service
};

}  // namespace retrysim::model

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

#include "kernel/event_order.hpp"
#include "kernel/indexed_heap.hpp"

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

}  // namespace retrysim::model

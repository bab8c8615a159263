// Which of a few event sources is next: a winner tree over the sources' earliest keys, in which a
// changed source costs one comparison a level; up to six sources are simply compared. A key may
// lie before the source's true head (the head was cancelled meanwhile): the owner then corrects it
// when the source wins, which costs far less than following every cancellation.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_order.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace retrysim::kernel {

class Tournament {
 public:
  /// `sources` sources, none of which has an event.
  explicit Tournament(std::uint32_t sources)
      : sources_(sources),
        leaves_(std::bit_ceil(std::max(sources, kFew))),
        places_(std::max(leaves_, kSome)),
        winners_(2 * leaves_) {
    for (std::uint32_t i = 0; i < places_.size(); ++i) places_[i] = place(i, EventKey::never());
    for (std::uint32_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::uint32_t node = leaves_ - 1; node > 0; --node) play(node);
  }

  struct Winner {
    std::uint32_t source;
    Time time;  ///< of its key
  };

  /// The source with the smallest key.
  Winner winner() const {
    if (sources_ <= kSome) {
      const Place least = least_of_some();
      return {static_cast<std::uint32_t>(least) & kSlots, time_of(least)};
    }
    return {winners_[1], time_of(places_[winners_[1]])};
  }
  /// The time of that key.
  Time earliest() const { return winner().time; }

  /// The key that the source was given last.
  EventKey key(std::uint32_t source) const {
    const Place p = places_[source];
    if (p == place(source, EventKey::never())) return EventKey::never();
    return {time_of(p), static_cast<std::uint64_t>(p) >> kSlotBits};
  }
  /// Whether `key` is that key.
  bool has_key(std::uint32_t source, EventKey key) const {
    return places_[source] == place(source, key);
  }

  void update(std::uint32_t source, EventKey key) {
    places_[source] = place(source, key);
    if (sources_ <= kSome) return;
    for (std::uint32_t node = (source + leaves_) / 2; node > 0; node /= 2) play(node);
  }
  /// As `update`, if `key` is before the source's.
  void offer(std::uint32_t source, EventKey key) {
    if (place(source, key) < places_[source]) update(source, key);
  }

 private:
  static constexpr std::uint32_t kFew = 4, kSome = 6;
  static constexpr unsigned kSlotBits = 3;
  static constexpr std::uint32_t kSlots = (1 << kSlotBits) - 1;

  // A key as one number, in the lowest bits of which is whose it is: of a few sources the least
  // number says who wins, without a look back at where it was found. (2^61 events are enough.)
  // Which of two keys is first cannot be predicted, so none of this must be a branch; and what the
  // event does waits for the end of the comparisons, so their chain has to be short.
  __extension__ using Place = unsigned __int128;

  static Place place(std::uint32_t source, EventKey key) {
    const std::uint64_t low = key.sequence << kSlotBits | (source & kSlots);
    return static_cast<Place>(static_cast<std::uint64_t>(key.time.count())) << 64 | low;
  }
  static Time time_of(Place p) {
    return Time::from_nanoseconds(static_cast<std::int64_t>(static_cast<std::uint64_t>(p >> 64)));
  }

  void play(std::uint32_t node) {
    const std::uint32_t a = winners_[2 * node], b = winners_[2 * node + 1];
    const auto second = static_cast<std::uint32_t>(places_[b] < places_[a]);
    winners_[node] = a ^ ((a ^ b) & (0u - second));
  }
  [[gnu::always_inline]] Place least_of_some() const {
    const Place* const p = places_.data();
    const Place few = std::min(std::min(p[0], p[1]), std::min(p[2], p[3]));
    return leaves_ == kFew ? few : std::min(few, std::min(p[4], p[5]));
  }

  std::uint32_t sources_, leaves_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> winners_;  // node i has children 2i and 2i + 1; the leaves come last
};

}  // namespace retrysim::kernel

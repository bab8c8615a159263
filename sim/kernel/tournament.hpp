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
        keys_(leaves_),
        winners_(2 * leaves_) {
    for (std::uint32_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::uint32_t node = leaves_ - 1; node > 0; --node) play(node);
  }

  /// The source with the smallest key.
  std::uint32_t winner() const {
    if (leaves_ == kFew) return first_of_few();
    return sources_ <= kSome ? first_of_some() : winners_[1];
  }
  /// The time of that key.
  Time earliest() const {
    if (sources_ > kSome) return keys_[winners_[1]].time;
    Time time =
        std::min(std::min(keys_[0].time, keys_[1].time), std::min(keys_[2].time, keys_[3].time));
    for (std::uint32_t i = kFew; i < sources_; ++i) time = std::min(time, keys_[i].time);
    return time;
  }
  EventKey key(std::uint32_t source) const { return keys_[source]; }

  void update(std::uint32_t source, EventKey key) {
    keys_[source] = key;
    if (sources_ <= kSome) return;
    for (std::uint32_t node = (source + leaves_) / 2; node > 0; node /= 2) play(node);
  }

 private:
  static constexpr std::uint32_t kFew = 4, kSome = 6;

  // Which of two keys is first cannot be predicted, so that must not be a branch.
  std::uint32_t first(std::uint32_t a, std::uint32_t b) const {
    const auto second = static_cast<std::uint32_t>(keys_[b] < keys_[a]);
    return a ^ ((a ^ b) & (0u - second));
  }
  void play(std::uint32_t node) {
    winners_[node] = first(winners_[2 * node], winners_[2 * node + 1]);
  }
  [[gnu::always_inline]] std::uint32_t first_of_few() const {
    return first(first(0, 1), first(2, 3));
  }
  std::uint32_t first_of_some() const {
    std::uint32_t source = first_of_few();
    for (std::uint32_t i = kFew; i < sources_; ++i) source = first(source, i);
    return source;
  }

  std::uint32_t sources_, leaves_;
  std::vector<EventKey> keys_;
  std::vector<std::uint32_t> winners_;  // node i has children 2i and 2i + 1; the leaves come last
};

}  // namespace retrysim::kernel

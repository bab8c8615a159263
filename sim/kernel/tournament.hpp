// Which of a few event sources is next: a winner tree over the sources' earliest keys. A changed
// source costs one comparison a level. A key may lie before the source's true head (the head was
// cancelled meanwhile): the owner then corrects it when the source wins, which costs far less than
// following every cancellation.
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
      : leaves_(std::bit_ceil(std::max(sources, 2u))), keys_(leaves_), winners_(2 * leaves_) {
    for (std::uint32_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::uint32_t node = leaves_ - 1; node > 0; --node) play(node);
  }

  /// The source with the smallest key.
  std::uint32_t winner() const { return winners_[1]; }
  EventKey key(std::uint32_t source) const { return keys_[source]; }

  void update(std::uint32_t source, EventKey key) {
    keys_[source] = key;
    for (std::uint32_t node = (source + leaves_) / 2; node > 0; node /= 2) play(node);
  }

 private:
  void play(std::uint32_t node) {
    const std::uint32_t a = winners_[2 * node], b = winners_[2 * node + 1];
    winners_[node] = keys_[b] < keys_[a] ? b : a;
  }

  std::uint32_t leaves_;
  std::vector<EventKey> keys_;
  std::vector<std::uint32_t> winners_;  // node i has children 2i and 2i + 1; the leaves come last
};

}  // namespace retrysim::kernel

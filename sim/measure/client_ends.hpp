// How many requests of each client have ended in the window, and how many of those have failed: one
// word a client, while there are events.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/prefetch.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::stats {

class ClientEnds {
 public:
  /// `successes` has an element for each client, zero; none, if clients are not counted apart. The
  /// words are kept there until `close`.
  void begin_window(std::vector<double>& successes) {
    words_ = successes.data();
    clients_ = static_cast<std::uint32_t>(successes.size());
  }
  void end_window() { clients_ = 0; }

  /// A request of this client may end soon: its word may be far from the cache.
  [[gnu::always_inline]] void expect(std::uint32_t client) const {
    if (client < clients_) kernel::prefetch(words_[client]);
  }
  void succeeded(std::uint32_t client) { add(client, kEnded); }
  void failed(std::uint32_t client) { add(client, kEnded + kFailed); }

  /// Makes of the words how many requests of each client have succeeded, and have ended.
  static void close(std::vector<double>& successes, std::vector<std::uint32_t>& ended) {
    for (std::size_t c = 0; c < ended.size(); ++c) {
      const auto word = std::bit_cast<std::uint64_t>(successes[c]);
      ended[c] = static_cast<std::uint32_t>(word);
      successes[c] = ended[c] - static_cast<std::uint32_t>(word >> 32);
    }
  }

 private:
  static constexpr std::uint64_t kEnded = 1, kFailed = std::uint64_t{1} << 32;
  void add(std::uint32_t client, std::uint64_t what) {
    if (client >= clients_) return;
    words_[client] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(words_[client]) + what);
  }

  double* words_ = nullptr;
  std::uint32_t clients_ = 0;
};

}  // namespace retrysim::stats

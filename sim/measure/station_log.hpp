// The levels of a service over time: noted down as they change, and integrated in blocks. Integrals
// are doubles: the sums in the order of the changes, each rounded as it comes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace retrysim::stats {

class StationLog {
 public:
  struct Levels {
    std::int64_t busy = 0;       ///< servers
    std::int64_t in_system = 0;  ///< attempts waiting and in service
  };
  /// Time integrals in nanoseconds: of the levels, of the square of `in_system`, and of whether all
  /// servers are busy.
  struct Integrals {
    double busy = 0, in_system = 0, in_system_squared = 0, all_busy = 0;
  };

  /// Levels from `since` on, which is not before that of the levels noted last.
  void note(Time since, Levels levels) {
    if (last_ == kBlock) [[unlikely]]
      integrate();
    ++last_;
    since_[last_] = since.count();
    busy_[last_] = levels.busy;
    in_system_[last_] = levels.in_system;
  }
  Levels now() const { return {busy_[last_], in_system_[last_]}; }

  /// From the levels noted last on, so many busy servers are all of them.
  void set_servers(std::int64_t servers) {
    integrate();
    servers_ = static_cast<double>(servers);
  }

  /// The integrals up to `end`; those of the next segment begin there.
  Integrals fold(Time end);

 private:
  static constexpr std::size_t kBlock = 64;

  /// Up to the levels noted last, which are then the first.
  void integrate();
  /// The same two at a time, in any order; false if a sum is so large that the order matters.
  bool integrate_whole_numbers();
  void integrate_in_order();

  std::size_t last_ = 0;
  double servers_ = 0;
  Integrals sums_;
  // Up to last_; there is one more, so that two can always be taken.
  alignas(16) std::array<std::int64_t, kBlock + 2> since_{};
  alignas(16) std::array<std::int64_t, kBlock + 2> busy_{}, in_system_{};
};

}  // namespace retrysim::stats

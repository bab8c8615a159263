// The levels of a service over time: noted down as they change, and integrated in blocks. Integrals
// are doubles, added up in the order of the changes.
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
    Time since;
    std::int64_t busy = 0;       ///< servers
    std::int64_t in_system = 0;  ///< attempts waiting and in service
  };
  /// Time integrals in nanoseconds: of the levels, of the square of `in_system`, and of whether all
  /// servers are busy.
  struct Integrals {
    double busy = 0, in_system = 0, in_system_squared = 0, all_busy = 0;
  };

  /// Levels from `levels.since` on, which is not before that of the levels noted last.
  void note(Levels levels) {
    if (last_ + 1 == noted_.size()) [[unlikely]]
      integrate();
    noted_[++last_] = levels;
  }
  const Levels& now() const { return noted_[last_]; }

  /// From the levels noted last on, so many busy servers are all of them.
  void set_servers(std::int64_t servers) {
    integrate();
    servers_ = static_cast<double>(servers);
  }

  /// The integrals up to `end`; those of the next segment begin there.
  Integrals fold(Time end) {
    note({end, now().busy, now().in_system});
    integrate();
    const Integrals sums = sums_;
    sums_ = {};
    return sums;
  }

 private:
  // Up to the levels noted last, which are then the first.
  [[gnu::noinline]] void integrate() {
    Integrals sums = sums_;
    for (std::size_t i = 0; i < last_; ++i) {
      const Levels& l = noted_[i];
      const auto dt = static_cast<double>((noted_[i + 1].since - l.since).count());
      const auto busy = static_cast<double>(l.busy);
      const auto in_system = static_cast<double>(l.in_system);
      const double area = in_system * dt;
      sums.busy += busy * dt;
      sums.in_system += area;
      sums.in_system_squared += in_system * area;
      sums.all_busy += busy >= servers_ ? dt : 0;
    }
    sums_ = sums;
    noted_[0] = noted_[last_];
    last_ = 0;
  }

  std::size_t last_ = 0;
  std::array<Levels, 48> noted_;  // up to last_
  double servers_ = 0;
  Integrals sums_;
};

}  // namespace retrysim::stats

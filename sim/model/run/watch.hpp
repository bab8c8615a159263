// Looks at a run after each event: whether something rare has happened, and how near to it the run
// is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "model/run/request.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct RunState;

class Watch {
 public:
  /// The services and client groups of the world must be there. Throws std::invalid_argument if the
  /// event is none of the scenario's.
  Watch(const RareEvent& event, const RunState& state);

  /// To be called after each event; `kHappened` at the first one at which the event has happened.
  NearnessScore look();

 private:
  /// Requests that have ended since the start of the run.
  struct Ends {
    std::uint64_t all = 0, failed = 0;
  };
  /// Where clients wait, what of a service keeps them waiting.
  struct Backlog {
    ServiceId service;
    double seconds_each = 0;  ///< of work, divided by what clients wait for
  };

  std::int64_t attempts_at(ServiceId service) const;
  Ends ends() const;
  double failures_since_window(const Ends& now) const;
  double backlog() const;
  NearnessScore look_at_success();

  static constexpr std::size_t kLooks = 50;  // in a window
  const RareEvent event_;
  const RunState& state_;
  std::vector<GroupId> groups_;
  std::vector<Backlog> backlogs_;
  Duration between_looks_;
  Time next_look_;
  std::size_t looks_ = 0;                // so far
  std::array<Ends, kLooks> at_looks_{};  // the last ones, by number
  Ends last_;                            // at the event before
};

}  // namespace retrysim::model

// Ending work early. Whoever starts long work opens a `StopScope` with a flag that others may set;
// whatever takes long calls `stop_point` now and then. So a reader of files, a simulation and a
// writer of results all end in the same way, without passing the flag from hand to hand.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <stdexcept>

namespace retrysim {

/// The work was asked to stop.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// While it lives, `stop_point` in this thread throws once `*stop` is true. Scopes nest: each one
/// adds its flag to those of the scopes around it. `stop` may be null.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// Whether this scope's flag, or that of one around it, is set.
  bool stopped() const;

 private:
  const std::atomic<bool>* stop_;
  const StopScope* outer_;
};

/// Throws `Interrupted` if a scope of this thread has been asked to stop. Costs a few nanoseconds:
/// call it at least every 100 ms or so of work, not for every item.
void stop_point();

/// Calls `stop_point` at every `Every`-th call: for loops over small items.
template <unsigned Every = 4096>
class StopCounter {
 public:
  void count() {
    if (++calls_ % Every == 0) [[unlikely]]
      stop_point();
  }

 private:
  unsigned calls_ = 0;
};

}  // namespace retrysim

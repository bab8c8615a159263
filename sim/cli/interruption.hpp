// Ending early: Ctrl-C, a polite kill, or a limit on the time by the clock. All three set one flag
// that whatever takes long looks at (retrysim/stop.hpp), so that it ends in order and nothing is
// half written.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/stop.hpp>
#include <retrysim/time.hpp>

#include "execution/time_limit.hpp"

#include <atomic>
#include <functional>
#include <optional>

namespace retrysim::cli {

/// One at a time. While it lives, SIGINT, SIGTERM and SIGHUP set it, and work in the thread that
/// made it ends at its next stop point; a second signal ends the program.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Sets it when this time has passed, from now. At most once.
  void limit(Duration timeout);

  const std::atomic<bool>* flag() const;
  /// The flag was set by the time limit.
  bool timed_out() const { return timer_ && timer_->expired(); }

 private:
  std::optional<execution::StopTimer> timer_;
  StopScope scope_;
};

/// What a command says that --timeout has ended, as `LimitExceeded`.
[[noreturn]] void throw_timed_out();

/// Calls `work`, which simulates nothing, until it is done, interrupted or `timeout` has passed;
/// gives its exit status. Throws what `work` throws; LimitExceeded after the timeout.
int interruptible(std::optional<Duration> timeout, const std::function<int()>& work);

}  // namespace retrysim::cli

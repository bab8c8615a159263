// SPDX-License-Identifier: MIT
#include "execution/time_limit.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace retrysim::execution {

StopTimer::StopTimer(std::atomic<bool>& flag, Duration timeout, const std::atomic<bool>* outer)
    : flag_(flag), outer_(outer), thread_([this, timeout] { wait(timeout); }) {}

StopTimer::~StopTimer() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_all();
}

void StopTimer::wait(Duration timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  // At most a few years: the clock must not overflow.
  const auto end =
      Clock::now() + std::chrono::nanoseconds(std::min(timeout.count(), std::int64_t{1} << 57));
  const auto stopped = [this] { return outer_ != nullptr && outer_->load(); };
  while (Clock::now() < end && !stopped()) {
    const auto until = outer_ == nullptr ? end : std::min(end, Clock::now() + kLook);
    if (done_changed_.wait_until(lock, until, [this] { return done_; })) return;
  }
  expired_ = !stopped();
  flag_ = true;
}

}  // namespace retrysim::execution

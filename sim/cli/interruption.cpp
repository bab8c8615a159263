// SPDX-License-Identifier: MIT
#include "cli/interruption.hpp"

#include <retrysim/simulation.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>

namespace retrysim::cli {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void request_stop(int signal_number) {
  stop_requested = true;
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

Interruption::Interruption() : scope_(&stop_requested) {
  stop_requested = false;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  std::signal(SIGHUP, request_stop);
}

void Interruption::limit(Duration timeout) {
  timer_ = std::jthread([this, timeout] { wait(timeout); });
}

Interruption::~Interruption() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_all();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_DFL);
}

const std::atomic<bool>* Interruption::flag() const { return &stop_requested; }

void Interruption::wait(Duration timeout) {
  std::unique_lock lock(mutex_);
  // At most a few years: the clock must not overflow.
  const auto limit = std::chrono::nanoseconds(std::min(timeout.count(), std::int64_t{1} << 57));
  if (done_changed_.wait_for(lock, limit, [this] { return done_; })) return;
  timed_out_ = true;
  stop_requested = true;
}

void throw_timed_out() {
  throw LimitExceeded("the command took longer than --timeout allows; nothing was written");
}

int interruptible(std::optional<Duration> timeout, const std::function<int()>& work) {
  Interruption interruption;
  if (timeout) interruption.limit(*timeout);
  try {
    return work();
  } catch (const Interrupted&) {
    if (interruption.timed_out()) throw_timed_out();
    throw;
  }
}

}  // namespace retrysim::cli

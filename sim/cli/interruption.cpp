// SPDX-License-Identifier: MIT
#include "cli/interruption.hpp"

#include <retrysim/simulation.hpp>

#include <csignal>

namespace retrysim::cli {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void request_stop(int) { stop_requested = true; }

// The first signal sets the flag and, by SA_RESETHAND, gives way to the default for the second. No
// SA_RESTART: what waits for input is to notice.
void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interruption::Interruption() : scope_(&stop_requested) {
  stop_requested = false;
  handle(request_stop);
}

void Interruption::limit(Duration timeout) { timer_.emplace(stop_requested, timeout); }

Interruption::~Interruption() {
  timer_.reset();
  handle(SIG_DFL);
}

const std::atomic<bool>* Interruption::flag() const { return &stop_requested; }

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

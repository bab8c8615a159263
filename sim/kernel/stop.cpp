// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>

#include "kernel/stop.hpp"

#include <utility>

namespace retrysim {
namespace {

thread_local const StopScope* innermost = nullptr;

}  // namespace

StopScope::StopScope(const std::atomic<bool>* stop)
    : stop_(stop), outer_(std::exchange(innermost, this)) {}

StopScope::~StopScope() { innermost = outer_; }

bool StopScope::stopped() const {
  for (const StopScope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (scope->stop_ != nullptr && scope->stop_->load(std::memory_order_relaxed)) return true;
  }
  return false;
}

void stop_point() {
  if (innermost != nullptr && innermost->stopped()) throw Interrupted();
}

}  // namespace retrysim

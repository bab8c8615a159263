// SPDX-License-Identifier: MIT
#include "model/settlement.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {

// None of these steps takes another of them itself, so the lists take the place of a stack, and
// every turn of an endless chain is counted.
void Settlement::settle() {
  while (!answered_.empty() || !connected_.empty() || !calls_over_.empty()) {
    deliver_answered();
    send_connected();
    go_on_after_calls();
  }
  is_due_ = false;
}

void Settlement::deliver_answered() {
  answering_.swap(answered_);
  for (const AttemptId attempt : answering_) {
    parts_.limits.count_step();
    parts_.delivery.deliver(state_.attempts[attempt]);
  }
  answering_.clear();
}

void Settlement::send_connected() {
  for (std::size_t i = 0; i < connected_.size(); ++i) {
    parts_.limits.count_step();
    parts_.connections.got_one(state_.requests[connected_[i]]);
  }
  connected_.clear();
}

void Settlement::go_on_after_calls() {
  for (std::size_t i = 0; i < calls_over_.size(); ++i) {
    parts_.limits.count_step();
    parts_.call_tree.go_on(calls_over_[i]);
  }
  calls_over_.clear();
}

}  // namespace retrysim::model

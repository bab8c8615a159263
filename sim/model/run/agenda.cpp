// SPDX-License-Identifier: MIT
#include "model/run/agenda.hpp"

#include "model/run/parts.hpp"
#include "model/run/state.hpp"

#include <cstddef>

namespace retrysim::model {

// None of these steps takes another of them itself, so the lists take the place of a stack, and
// every turn of an endless chain is counted.
RETRYSIM_FLATTEN void Settlement::settle() {
  do {
    is_due_ = false;
    deliver_answered();
    if (others_are_due_) [[unlikely]]
      settle_others();
  } while (is_due_);
}

// An answer may bring about others, which wait until the other lists have been gone through.
void Settlement::deliver_answered() {
  const std::size_t count = answered_.size();
  for (std::size_t i = 0; i < count; ++i) {
    parts_.limits.count_step();
    parts_.delivery.deliver_put_down(*answered_[i]);
  }
  if (answered_.size() == count) [[likely]]
    return answered_.clear();
  answered_.erase(answered_.begin(), answered_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Settlement::settle_others() {
  others_are_due_ = false;
  send_connected();
  go_on_after_calls();
  go_on_after_token_waits();
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

void Settlement::go_on_after_token_waits() {
  for (std::size_t i = 0; i < free_tokens_.size(); ++i) {
    parts_.limits.count_step();
    const TokenWaits::Token token = free_tokens_[i];
    parts_.token_waits.go_on(token);
  }
  free_tokens_.clear();
}

}  // namespace retrysim::model

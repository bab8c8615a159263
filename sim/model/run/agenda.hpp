// What an event leaves to be done at the same instant. A step that could lead back to itself (an
// answer that takes no time, the hand-over of a connection, the end of a call) is not taken in the
// midst of another one: it is put down here, and taken when the event is over. So nothing recurses,
// however long a chain of such steps is, and no step finds another one half done.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/effects/effects.hpp"
#include "model/service/calls.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class Settlement {
 public:
  Settlement(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// The attempt's answer is there.
  void answered(Attempt& attempt) {
    answered_.push_back(&attempt);
    is_due_ = true;
  }
  /// The request, which waited for one, has got a connection.
  void connected(RequestId request) {
    connected_.push_back(request);
    is_due_ = others_are_due_ = true;
  }
  /// The calls that an attempt waited for have ended.
  void calls_over(CallTree::CallId id) {
    calls_over_.push_back(id);
    is_due_ = others_are_due_ = true;
  }

  /// The session that attempts with this token waited for has ended.
  void token_free(const TokenWaits::Token& token) {
    free_tokens_.push_back(token);
    is_due_ = others_are_due_ = true;
  }

  /// Whether something has been put down.
  bool is_due() const { return is_due_; }
  [[gnu::noinline]] void settle();

 private:
  void deliver_answered();
  [[gnu::noinline]] void settle_others();
  void send_connected();
  void go_on_after_calls();
  void go_on_after_token_waits();

  RunState& state_;
  Parts& parts_;
  bool is_due_ = false;
  bool others_are_due_ = false;  // other steps than the delivery of answers
  std::vector<Attempt*> answered_;
  std::vector<RequestId> connected_;
  std::vector<CallTree::CallId> calls_over_;
  std::vector<TokenWaits::Token> free_tokens_;
};

}  // namespace retrysim::model

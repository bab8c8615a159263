// What an event leaves to be done at the same instant. A step that could lead back to itself (an
// answer that takes no time, the hand-over of a connection, the end of a call) is not taken in the
// midst of another one: it is put down here, and taken when the event is over. So nothing recurses,
// however long a chain of such steps is, and no step finds another one half done.
//
// Modules put down; only `World::settle` reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/run/request.hpp"

#include <vector>

namespace retrysim::model {

struct Agenda {
  /// The attempt's answer is there.
  void answered(Attempt& attempt) {
    answers.push_back(&attempt);
    is_due = true;
  }
  /// The request, which waited for one, has got a connection.
  void connected(RequestId request) {
    connections.push_back(request);
    is_due = others_are_due = true;
  }
  /// The calls that an attempt waited for have ended.
  void calls_over(CallId id) {
    calls.push_back(id);
    is_due = others_are_due = true;
  }
  /// The session that attempts with this token waited for has ended.
  void token_free(const Token& token) {
    tokens.push_back(token);
    is_due = others_are_due = true;
  }

  bool is_due = false;          ///< something has been put down
  bool others_are_due = false;  ///< other steps than the delivery of answers
  std::vector<Attempt*> answers;
  std::vector<RequestId> connections;
  std::vector<CallId> calls;
  std::vector<Token> tokens;
};

}  // namespace retrysim::model

// What an instance does about idempotency tokens: it looks at that of an attempt when a server
// begins with it, and remembers it with the effect. Idle unless the service remembers tokens.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/idempotency.hpp"
#include "model/request.hpp"
#include "model/side_effects.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace retrysim::model {

class TokenDesk {
 public:
  /// The numbers of the answers to attempts whose token is known.
  struct Answers {
    std::uint16_t already_exists = 0, in_progress = 0, mismatch = 0;
  };

  /// From now on it looks at the tokens of attempts with side effects; instances share what they
  /// remember.
  void open(const IdempotencySpec& rules, Answers answers, std::shared_ptr<Sessions> sessions) {
    rules_ = &rules;
    answers_ = answers;
    sessions_ = std::move(sessions);
  }
  /// Where it finds those tokens; may be null if there are none.
  void keep_books(SideEffects* books) { books_ = books; }

  /// A server begins with the attempt, which has side effects.
  void begin(Attempt& a, Time now) {
    if (sessions_ != nullptr) look_at_token(a, now);
  }
  /// The attempt, which has side effects, has been served to the end.
  void executed(Attempt& a, bool succeeded, Time now);
  /// What the attempt has begun, if anything, comes to nothing.
  void close_session(Attempt& a) {
    if (a.is(Attempt::kHasSession)) drop_session(a);
  }

 private:
  [[gnu::noinline]] void look_at_token(Attempt& a, Time now);
  void drop_session(Attempt& a);

  const IdempotencySpec* rules_ = nullptr;
  Answers answers_;
  std::shared_ptr<Sessions> sessions_;
  SideEffects* books_ = nullptr;
};

}  // namespace retrysim::model

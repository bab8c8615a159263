// What an instance does about idempotency tokens: it looks at that of an attempt when a server
// begins with it, and remembers it with the effect. Idle unless the service remembers tokens, or
// some of its clients ask before they repeat.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/idempotency.hpp"
#include "model/reconciliation.hpp"
#include "model/request.hpp"
#include "model/side_effects.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace retrysim::model {

class TokenWaits;

class TokenDesk {
 public:
  /// The numbers of the answers to attempts whose token is known.
  struct Answers {
    std::uint16_t already_exists = 0, in_progress = 0, mismatch = 0;
  };

  /// From now on it looks at the tokens of attempts with side effects; instances share what they
  /// remember. `waits`: where attempts wait for others with their token; null if they do not.
  void open(const IdempotencySpec& rules, Answers answers, std::shared_ptr<Sessions> sessions,
            TokenWaits* waits) {
    rules_ = &rules;
    answers_ = answers;
    sessions_ = std::move(sessions);
    waits_ = waits;
  }
  void ask_before_retries(const Reconciliation& reads) { reads_ = &reads; }
  /// Where it finds those tokens; may be null if there are none.
  void keep_books(SideEffects* books) { books_ = books; }

  /// Whether the message of this attempt that is under way asks for the effect of earlier ones.
  bool is_read(const Attempt& a) const {
    return reads_ != nullptr && a.is(Attempt::kMutating) && reads_->is_read(a);
  }

  /// A server begins with the attempt, which has side effects. False if that has to wait for
  /// another attempt with its token.
  bool begin(Attempt& a, Time now) {
    return (sessions_ == nullptr && reads_ == nullptr) || begin_mutation(a, now);
  }
  void count_wait(const Attempt& a) { ++books_->of_attempt(a.id).effects.token_waits; }
  /// The attempt, which has side effects, has been served to the end.
  void executed(Attempt& a, bool succeeded, Time now);
  /// What the attempt has begun, if anything, comes to nothing.
  void close_session(Attempt& a) {
    if (a.is(Attempt::kHasSession)) drop_session(a);
  }

 private:
  [[gnu::noinline]] bool begin_mutation(Attempt& a, Time now);
  bool look_at_token(Attempt& a, Time now);
  Time storing_time(const Attempt& a, Time now) const;
  void session_ended(const Attempt& a, const TokenKey& token);
  void drop_session(Attempt& a);

  const IdempotencySpec* rules_ = nullptr;
  Answers answers_;
  std::shared_ptr<Sessions> sessions_;
  SideEffects* books_ = nullptr;
  TokenWaits* waits_ = nullptr;
  const Reconciliation* reads_ = nullptr;
};

}  // namespace retrysim::model

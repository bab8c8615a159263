// SPDX-License-Identifier: MIT
#include "model/token_desk.hpp"

namespace retrysim::model {

// Begins a session for an attempt that is to be executed; decides what another is answered.
void TokenDesk::look_at_token(Attempt& a, Time now) {
  if (a.is(Attempt::kRejection | Attempt::kHasSession)) return;
  SideEffects::Account& account = books_->of_attempt(a.id);
  if (!account.has_token) return;
  switch (sessions_->find(account.token, account.intent, now)) {
    case Sessions::Found::kNothing:
      if (account.effects.effects > 0) ++account.effects.expired_replays;
      a.set(Attempt::kHasSession);
      sessions_->begin(account.token, account.intent);
      return;
    case Sessions::Found::kInProgress:
      if (rules_->in_progress == InProgress::kExecute) return;
      a.answer = answers_.in_progress;
      break;
    case Sessions::Found::kDone:
      ++account.effects.replays;
      a.answer = rules_->replay == IdempotentReplay::kEquivalent ? 0 : answers_.already_exists;
      break;
    case Sessions::Found::kOtherIntent:
      ++account.effects.mismatches;
      a.answer = answers_.mismatch;
      break;
  }
  a.set(Attempt::kReplay);
}

void TokenDesk::executed(Attempt& a, bool succeeded, Time now) {
  if (sessions_ == nullptr) return;
  const SideEffects::Account& account = books_->of_attempt(a.id);
  if (succeeded && account.has_token) {
    a.clear(Attempt::kHasSession);
    sessions_->done(account.token, account.intent, now);
  } else {
    close_session(a);
  }
}

void TokenDesk::drop_session(Attempt& a) {
  a.clear(Attempt::kHasSession);
  sessions_->drop(books_->of_attempt(a.id).token);
}

}  // namespace retrysim::model

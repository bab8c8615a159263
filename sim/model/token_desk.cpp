// SPDX-License-Identifier: MIT
#include "model/token_desk.hpp"

#include "model/client_group.hpp"
#include "model/service.hpp"
#include "model/token_waits.hpp"

namespace retrysim::model {

bool TokenDesk::begin_mutation(Attempt& a, Time now) {
  if (a.is(Attempt::kRejection)) return true;
  a.clear(Attempt::kReplay);
  if (is_read(a)) {
    a.set(Attempt::kReplay);
    a.answer = 0;
    return true;
  }
  return sessions_ == nullptr || look_at_token(a, now);
}

// Begins a session for an attempt that is to be executed; decides what another is answered. False
// if it is to wait.
bool TokenDesk::look_at_token(Attempt& a, Time now) {
  if (a.is(Attempt::kHasSession)) return true;
  SideEffects::Account& account = books_->of_attempt(a.id);
  if (!account.has_token) return true;
  switch (sessions_->find(account.token, account.intent, now)) {
    case Sessions::Found::kNothing:
      if (account.effects.effects > 0) ++account.effects.expired_replays;
      a.set(Attempt::kHasSession);
      sessions_->begin(account.token, account.intent, storing_time(a, now));
      return true;
    case Sessions::Found::kNotStoredYet:
      ++account.effects.token_races;
      a.set(Attempt::kHasSession);
      sessions_->join(account.token, storing_time(a, now));
      return true;
    case Sessions::Found::kOtherNotStoredYet:
      return true;
    case Sessions::Found::kInProgress:
      if (rules_->in_progress == InProgress::kExecute) return true;
      if (rules_->in_progress == InProgress::kWait) {
        waits_->wait(a.id, {account.token, a.at->place.service});
        return false;
      }
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
  return true;
}

// When the token that an attempt has checked now will be there for others to find.
Time TokenDesk::storing_time(const Attempt& a, Time now) const {
  if (!rules_->has_write_delay()) return now;
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kTokenWrite});
  return now + rules_->write_delay.sample(draws);
}

void TokenDesk::executed(Attempt& a, bool succeeded, Time now) {
  if (sessions_ == nullptr) return;
  const SideEffects::Account& account = books_->of_attempt(a.id);
  if (succeeded && account.has_token) {
    a.clear(Attempt::kHasSession);
    sessions_->done(account.token, account.intent, now);
    session_ended(a, account.token);
  } else {
    close_session(a);
  }
}

void TokenDesk::drop_session(Attempt& a) {
  a.clear(Attempt::kHasSession);
  const TokenKey token = books_->of_attempt(a.id).token;
  sessions_->drop(token);
  session_ended(a, token);
}

void TokenDesk::session_ended(const Attempt& a, const TokenKey& token) {
  if (waits_ != nullptr) waits_->session_ended({token, a.at->place.service});
}

}  // namespace retrysim::model

// SPDX-License-Identifier: MIT
#include "model/effects/effects.hpp"

#include "kernel/memory.hpp"
#include "model/client/group.hpp"
#include "model/run/parts.hpp"
#include "model/run/state.hpp"
#include "model/service/instance.hpp"

#include <utility>

namespace retrysim::model {

void TokenWaits::wait(AttemptId attempt, const Token& token) {
  waiting_[token].push_back(attempt);
  places_.reach(attempt);
  places_[attempt] = {token, true};
}

void TokenWaits::wake_later(const Token& token) {
  if (waiting_.contains(token)) parts_.settlement.token_free(token);
}

// The first of them may begin a session of its own, for which the others wait.
void TokenWaits::go_on(const Token& token) {
  const auto at = waiting_.find(token);
  if (at == waiting_.end()) return;  // all of them have left
  const std::vector<AttemptId> all = std::move(at->second);
  waiting_.erase(at);
  for (const AttemptId id : all) {
    places_[id].waits = false;
    Attempt& a = state_.attempts[id];
    a.at->in_service.wake(a, state_.now);
    parts_.serving.changed(*a.at);
  }
}

bool TokenWaits::cancel(AttemptId attempt) {
  if (attempt >= places_.size() || !places_[attempt].waits) return false;
  places_[attempt].waits = false;
  const auto at = waiting_.find(places_[attempt].token);
  std::erase(at->second, attempt);
  if (at->second.empty()) waiting_.erase(at);
  return true;
}

std::vector<AttemptId> TokenWaits::waiting_at(const Service& s) const {
  std::vector<AttemptId> all;
  for (const AttemptId id : Ids<AttemptId>(places_.size())) {
    if (places_[id].waits && state_.attempts[id].at == &s) all.push_back(id);
  }
  return all;
}

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

void Mutations::prepare() {
  const kernel::Claim claim;
  for (const ClientGroup& g : state_.groups) {
    tokens_.emplace_back().take_memory(*g.spec, claim);
    if (g.mutates && !books_) books_.emplace(&state_.recorder);
    if (g.mutates && g.spec->side_effects.reconciles && !reads_)
      reads_.emplace(state_.scenario.clients);
  }
  for (const InstanceId i : state_.instances.ids()) {
    Service& s = state_.instances[i];
    s.in_service.tokens.keep_books(books_ ? &*books_ : nullptr);
    if (!reads_) continue;
    s.in_service.tokens.ask_before_retries(*reads_);
    s.in_service.demand.ask_before_retries(*reads_);
  }
}

void Mutations::decide(ClientGroup& g, Request& r) {
  Draws draws(*g.key, {r.entity, 0, 0, Purpose::kSideEffect});
  r.mutating = draws.uniform() < g.spec->side_effects.mutating;
  if (!r.mutating) return;
  SideEffects::Account account;
  account.intent = r.entity;
  account.token = {r.entity, g.index};
  account.has_token = g.spec->side_effects.idempotency_token;
  account.in_cohort = r.in_cohort;
  ByClient<std::uint64_t>& tokens = tokens_[g.index].last;
  if (!tokens.empty()) {
    std::uint64_t& last = tokens[r.client];
    if (last != kNoToken && draws.uniform() < g.spec->side_effects.token_reuse)
      account.token.token = last;
    last = account.token.token;
  }
  books_->begin(r.id, account);
}

void Mutations::executed(Attempt& a, bool succeeded) {
  books_->of_attempt(a.id).effects.effects += succeeded;
  a.at->in_service.tokens.executed(a, succeeded, state_.now);
}

void Mutations::attempt_gone(Attempt& a) {
  a.at->in_service.tokens.close_session(a);
  books_->attempt_gone(a.id);
}

bool Mutations::reconcile(AttemptId attempt) {
  stats::RequestEffects& effects = books_->of_attempt(attempt).effects;
  ++effects.reconciliations;
  const bool found = effects.effects > 0;
  effects.reconciled += found;
  return found;
}

}  // namespace retrysim::model

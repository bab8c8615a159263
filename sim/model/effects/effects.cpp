// SPDX-License-Identifier: MIT
#include "model/effects/effects.hpp"

#include "kernel/memory.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"
#include "model/service/instance.hpp"

#include <utility>

namespace retrysim::model {

// --- Requests.

Effects::Effects(RunState& state, Agenda& agenda)
    : state_(state),
      agenda_(agenda),
      books_(&state.recorder),
      desks_(state.scenario.services.size()) {
  for (const ClientSpec& c : state.scenario.clients) {
    looks_at_attempts_ |= c.side_effects.mutating > 0 && c.side_effects.reconciles;
  }
}

void Effects::prepare() {
  const kernel::Claim claim;
  for (const ClientSpec& c : state_.scenario.clients) tokens_.emplace_back().take_memory(c, claim);
}

void Effects::begin(const Group& g, Request& r) {
  Draws draws(*g.subject_key, {r.entity, 0, 0, Purpose::kSideEffect});
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
  // Only what it says tells the service one request from another.
  if (g.spec->side_effects.token_from == TokenSource::kContent)
    account.intent = account.token.token;
  books_.begin(r.id, account);
}

void Effects::executed(Attempt& a, bool succeeded) {
  SideEffects::Account& account = books_.of_attempt(a.id);
  account.effects.effects += succeeded;
  Desk& desk = desk_of(a);
  if (desk.sessions == nullptr) return;
  if (succeeded && account.has_token) {
    a.clear(Attempt::kHasSession);
    desk.sessions->done(account.token, account.intent, state_.now);
    session_ended(a, account.token);
  } else if (a.is(Attempt::kHasSession)) {
    drop_session(a);
  }
}

void Effects::attempt_gone(Attempt& a) {
  if (a.is(Attempt::kHasSession)) drop_session(a);
  books_.attempt_gone(a.id);
}

// --- Reads before retries.

bool is_read(const Attempt& a) {
  return a.is(Attempt::kMutating) && a.number > 1 &&
         !a.is(Attempt::kSecondMessage | Attempt::kRejection) &&
         a.clients->spec->side_effects.reconciles;
}

bool Effects::found_effect(AttemptId attempt) {
  stats::RequestEffects& effects = books_.of_attempt(attempt).effects;
  ++effects.reconciliations;
  const bool found = effects.effects > 0;
  effects.reconciled += found;
  return found;
}

// --- Tokens, at the service.

void Effects::remember_tokens(ServiceId service) {
  const IdempotencySpec& rules = state_.scenario.services[service].idempotency;
  if (!rules.remembers()) return;
  Desk& desk = desks_[service];
  desk.rules = &rules;
  desk.sessions = std::make_unique<Sessions>(rules, &of_tokens_);
  desk.already_exists = state_.answers.number({409, "EntityAlreadyExists"});
  desk.in_progress = state_.answers.number({400, "PriorRequestNotComplete"});
  desk.mismatch = state_.answers.number({400, "IdempotentParameterMismatch"});
  looks_at_attempts_ = true;
}

Effects::Desk& Effects::desk_of(const Attempt& a) { return desks_[a.at->place.service]; }

bool Effects::look_at(Attempt& a, Time now) {
  if (a.is(Attempt::kRejection)) return true;
  a.clear(Attempt::kReplay);
  if (is_read(a)) {
    a.set(Attempt::kReplay);
    a.answer = 0;
    return true;
  }
  Desk& desk = desk_of(a);
  return desk.sessions == nullptr || look_at_token(desk, a, now);
}

// Begins a session for an attempt that is to be executed; decides what another is answered. False
// if it is to wait.
bool Effects::look_at_token(Desk& desk, Attempt& a, Time now) {
  if (a.is(Attempt::kHasSession)) return true;
  SideEffects::Account& account = books_.of_attempt(a.id);
  if (!account.has_token) return true;
  const IdempotencySpec& rules = *desk.rules;
  switch (desk.sessions->find(account.token, account.intent, now)) {
    case Sessions::Found::kNothing:
      if (account.effects.effects > 0) ++account.effects.expired_replays;
      a.set(Attempt::kHasSession);
      desk.sessions->begin(account.token, account.intent, storing_time(rules, a, now));
      return true;
    case Sessions::Found::kNotStoredYet:
      ++account.effects.token_races;
      a.set(Attempt::kHasSession);
      desk.sessions->join(account.token, storing_time(rules, a, now));
      return true;
    case Sessions::Found::kOtherNotStoredYet:
      return true;
    case Sessions::Found::kInProgress:
      if (rules.in_progress == InProgress::kExecute) return true;
      if (rules.in_progress == InProgress::kWait) {
        ++state_.sequence;
        waits_.wait(a.id, {account.token, a.at->place.service});
        state_.holders.begin(a.id, a.at->place.instance);
        return false;
      }
      a.answer = desk.in_progress;
      break;
    case Sessions::Found::kDone:
      ++account.effects.replays;
      account.effects.by_another |=
          account.effects.effects == 0 && desk.sessions->has_effect(account.token);
      a.answer = rules.replay == IdempotentReplay::kEquivalent ? 0 : desk.already_exists;
      break;
    case Sessions::Found::kOtherIntent:
      ++account.effects.mismatches;
      a.answer = desk.mismatch;
      break;
  }
  a.set(Attempt::kReplay);
  return true;
}

// When the token that an attempt has checked now will be there for others to find.
Time Effects::storing_time(const IdempotencySpec& rules, const Attempt& a, Time now) {
  if (!rules.has_write_delay()) return now;
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kTokenWrite});
  return now + rules.write_delay.sample(draws);
}

void Effects::drop_session(Attempt& a) {
  a.clear(Attempt::kHasSession);
  const TokenKey key = books_.of_attempt(a.id).token;
  desk_of(a).sessions->drop(key, state_.now);
  session_ended(a, key);
}

// Attempts that wait for this one look at the token again when the event is over: each is answered,
// becomes the one that is executed, or waits on.
void Effects::session_ended(const Attempt& a, const TokenKey& key) {
  const Token token{key, a.at->place.service};
  if (waits_.waits_for(token)) agenda_.token_free(token);
}

// --- Attempts that wait.

void TokenWaits::wait(AttemptId attempt, const Token& token) {
  Ends& ends = waiting_[token];
  places_.reach(attempt);
  places_[attempt] = {token, true, ends.last, {}};
  (ends.last.exists() ? places_[ends.last].next : ends.first) = attempt;
  ends.last = attempt;
}

std::vector<AttemptId> TokenWaits::take(const Token& token) {
  std::vector<AttemptId> all;
  const auto at = waiting_.find(token);
  if (at == waiting_.end()) return all;  // all of them have left
  for (AttemptId a = at->second.first; a.exists(); a = places_[a].next) {
    places_[a].waits = false;
    all.push_back(a);
  }
  waiting_.erase(at);
  return all;
}

bool TokenWaits::cancel(AttemptId attempt) {
  if (attempt >= places_.size() || !places_[attempt].waits) return false;
  Place& own = places_[attempt];
  own.waits = false;
  const auto at = waiting_.find(own.token);
  Ends& ends = at->second;
  (own.previous.exists() ? places_[own.previous].next : ends.first) = own.next;
  (own.next.exists() ? places_[own.next].previous : ends.last) = own.previous;
  if (!ends.first.exists()) waiting_.erase(at);
  return true;
}

std::vector<AttemptId> Effects::take_waiting(const Token& token) {
  std::vector<AttemptId> all = waits_.take(token);
  for (const AttemptId id : all) state_.holders.end(id);
  return all;
}

bool Effects::cancel_wait(AttemptId attempt) {
  if (!waits_.cancel(attempt)) return false;
  state_.holders.end(attempt);
  return true;
}

}  // namespace retrysim::model

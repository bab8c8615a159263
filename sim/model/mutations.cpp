// SPDX-License-Identifier: MIT
#include "model/mutations.hpp"

#include "kernel/memory.hpp"
#include "model/state.hpp"

namespace retrysim::model {

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

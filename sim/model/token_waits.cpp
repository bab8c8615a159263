// SPDX-License-Identifier: MIT
#include "model/token_waits.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

#include <utility>

namespace retrysim::model {

void TokenWaits::wait(AttemptId attempt, const Token& token) {
  waiting_[token].push_back(attempt);
  places_.reach(attempt);
  places_[attempt] = {token, true, state_.sequence++};
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

std::vector<HeldAttempt> TokenWaits::waiting_at(const Service& s) const {
  std::vector<HeldAttempt> all;
  for (const AttemptId id : Ids<AttemptId>(places_.size())) {
    if (!places_[id].waits || state_.attempts[id].at != &s) continue;
    all.push_back({places_[id].since, id});
  }
  return all;
}

}  // namespace retrysim::model

// SPDX-License-Identifier: MIT
#include "model/hedging.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {
namespace {

constexpr std::uint64_t kNoHedge = ~std::uint64_t{0};

/// A hedge needs as many send tokens as a retry after a transient error.
std::uint8_t send_tokens_of_hedge(const SendRateRules& rules) {
  const bool takes_any = rules.enabled && rules.acquire != SendTokenTiming::kFirstAttempt;
  return static_cast<std::uint8_t>(takes_any ? rules.retry_cost : 0);
}

}  // namespace

void Hedging::schedule(ClientGroup& g, Request& r) {
  const RetryRules& rules = g.spec->retry;
  if (sequences_.size() < state_.requests.slots()) sequences_.resize(state_.requests.slots());
  const std::uint32_t attempts = r.progress.attempts;
  if (attempts >= rules.max_attempts && rules.max_attempts != RetryRules::kUnlimited) {
    sequences_[r.id] = kNoHedge;
    return;
  }
  sequences_[r.id] = state_.sequence;
  state_.set_timer(EventKind::kHedgeDue, g.index, r.id, rules.hedging.delay);
}

void Hedging::cancel(RequestId request) {
  if (request < sequences_.size()) sequences_[request] = kNoHedge;
}

void Hedging::due(ClientGroup& g, Request& r, std::uint64_t sequence) {
  if (sequences_[r.id] != sequence) return;  // its attempt has ended, or its request
  if (!r.open || !r.attempt.exists() || state_.retries_are_over()) return;
  if (!parts_.retry_decisions.permit_hedge(g, r)) return;
  r.retrying = true;
  r.send_tokens = send_tokens_of_hedge(g.spec->retry.rate_limit);
  if (parts_.send_gate.pass(g, r)) parts_.transport.send(g, r);
}

}  // namespace retrysim::model

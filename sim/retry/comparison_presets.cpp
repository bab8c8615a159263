// The numbers of the strategies from outside the AWS SDKs.
//
// SPDX-License-Identifier: MIT
#include "retry/comparison_presets.hpp"

#include "retry/preset_concerns.hpp"

namespace retrysim::preset {
namespace {

const QuotaRules kGrpcQuota = with(quota(0, 0, 0, Refund::kCredit), [](QuotaRules& q) {
  q.capacity = q.initial = 10;
  q.credit = 0.1;
  q.failure_cost = 1;
  q.threshold = 5;
});

const Comparison kComparisons[] = {
    {"fixed-delay", "three attempts, one second apart: what is written by hand most often",
     [](RetryRules& r) {
       r.backoff = backoff(ms(1000), ms(1000), kNoCap, Jitter::kNone);
       r.backoff.factor = 1;
     }},
    {"circuit-breaker", "Brooker 2022, Fixing retries with token buckets and circuit breakers",
     [](RetryRules& r) {
       r.backoff = backoff(ms(100), ms(100), kCap, kFull);
       r.breaker = {.enabled = true,
                    .failure_share = 0.1,
                    .min_attempts = 10,
                    .window = ms(10'000),
                    .open = {}};
     }},
    {"grpc", "gRFC A6, client retries: exponential backoff, retry throttling (10 tokens, 0.1)",
     [](RetryRules& r) {
       r.max_attempts = 5;
       r.backoff = backoff(ms(100), ms(100), ms(1000), kFull);
       r.quota = kGrpcQuota;
     }},
    {"finagle", "Finagle RetryBudget: 20 % of the requests of 10 s, and 10 per second",
     [](RetryRules& r) {
       r.backoff = backoff(ms(10), ms(10), ms(1000), kFull);
       r.budget = {BudgetKind::kWindow, 0.2, 10, ms(10'000)};
     }},
    {"envoy", "Envoy retry_budget: 20 % of the requests under way, at least 3 at once",
     [](RetryRules& r) {
       r.max_attempts = 2;
       r.backoff = backoff(ms(25), ms(25), ms(250), kFull);
       r.budget = {BudgetKind::kActive, 0.2, 3, ms(10'000)};
     }},
    {"sre", "Google SRE book, Handling overload: client throttle K = 2 over two minutes",
     [](RetryRules& r) {
       r.backoff = backoff(ms(100), ms(100), kCap, kFull);
       r.budget = {BudgetKind::kWindow, 0.1, 0, ms(120'000)};
       r.throttle.enabled = true;
     }},
    {"hedging", "Dean and Barroso 2013, The tail at scale; gRFC A6, hedging",
     [](RetryRules& r) {
       r.max_attempts = 2;
       r.backoff = kNoBackoff;
       r.hedging = {true, ms(100)};
     }},
};

}  // namespace

std::span<const Comparison> comparisons() { return kComparisons; }

}  // namespace retrysim::preset

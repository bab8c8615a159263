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

void grpc(RetryRules& r) {
  r.max_attempts = 4;
  r.backoff = backoff(ms(100), ms(100), ms(1000), Jitter::kProportional);
  r.backoff.jitter_share = 0.2;
  r.quota = kGrpcQuota;
}

void envoy(RetryRules& r, BudgetKind kind) {
  r.max_attempts = 2;
  r.backoff = backoff(ms(25), ms(25), ms(250), kFull);
  r.budget = {kind, 0.2, 3, ms(10'000)};
}

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
    // The numbers are those of the gRFC's example: a service config has to give its own.
    {"grpc", "gRFC A6, client retries (1fd061a, June 2026; example with 4 attempts)", grpc},
    {"grpc-go", "grpc-go stream.go (4793ad0, August 2026), with the example of gRFC A6", grpc},
    {"grpc-java",
     "grpc-java core RetriableStream.java (5fda0c7, August 2026), with the example of gRFC A6",
     grpc},
    {"grpc-js",
     "grpc-node grpc-js/src/retrying-call.ts (2670b37, April 2026), with the example of gRFC A6",
     grpc},
    // What a client requeues by itself, without a policy of the user: at once, with at most 20 % of
    // the budget for one request, which is 20 of the 100 retries that an idle client has.
    {"finagle",
     "Finagle Retries.scala, RequeueFilter.scala, RetryBudget.scala (4feb34c, October 2024)",
     [](RetryRules& r) {
       r.max_attempts = 21;
       r.backoff = kNoBackoff;
       r.budget = {BudgetKind::kWindow, 0.2, 10, ms(10'000), BudgetOf::kSuccesses};
     }},
    {"envoy",
     "Envoy retry_state_impl.cc, retry_budget: 20 % of the requests under way, at least 3 at once",
     [](RetryRules& r) { envoy(r, BudgetKind::kActive); }},
    {"envoy-interval",
     "Envoy retry_budget with budget_interval (envoy pull request 44147, 2026; 10 s as in Gateway "
     "API GEP-3388)",
     [](RetryRules& r) { envoy(r, BudgetKind::kInterval); }},
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

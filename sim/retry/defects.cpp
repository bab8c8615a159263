// Known defects of SDKs as changes to their rules, so that what their users argue about can be
// shown; and the mode in which each SDK starts.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>

#include <algorithm>
#include <iterator>

namespace retrysim {
namespace {

bool has_quota(const RetryRules& r) { return r.quota.enabled; }
bool has_limiter(const RetryRules& r) { return r.rate_limit.enabled; }

/// What is left of a refund if successes earn no credit.
Refund without_credit(Refund refund) {
  switch (refund) {
    case Refund::kLastAndCredit:
    case Refund::kLastOrCredit:
      return Refund::kLast;
    case Refund::kCredit:
      return Refund::kNone;
    case Refund::kLast:
    case Refund::kCost:
    case Refund::kNone:
    case Refund::kSharedLast:
      break;
  }
  return refund;
}

constexpr Defect kDefects[] = {
    {"quota-never-refilled",
     "No success earns the retry quota a credit; only a retry that succeeds gives its price back.",
     "aws-sdk-go-v2 issue 3550 (its adaptive mode has this by preset)", has_quota,
     [](RetryRules& r) {
       r.quota.refund = without_credit(r.quota.refund);
       r.quota.credit = 0;
     }},
    {"no-quota", "There is no retry quota: only the limit on attempts stops retries.",
     "aws-sdk-rust issue 1234", has_quota, [](RetryRules& r) { r.quota = QuotaRules{}; }},
    {"no-send-token-on-retries", "Only first attempts take a send token; retries go out freely.",
     "smithy-typescript pull request 1974", has_limiter,
     [](RetryRules& r) { r.rate_limit.acquire = SendTokenTiming::kFirstAttempt; }},
    {"send-token-deadlock",
     "Retries cost 5 or 10 send tokens, of which the bucket holds one at low rates: they wait "
     "forever.",
     "smithy-rs pull request 4749", has_limiter,
     [](RetryRules& r) {
       r.rate_limit.acquire = SendTokenTiming::kBeforeSend;
       r.rate_limit.wait = SendTokenWait::kQueue;
       r.rate_limit.retry_cost = 5;
       r.rate_limit.costly_retry_cost = 10;
     }},
    {"send-tokens-overdrawn",
     "Whoever waits has taken its send tokens already, even below zero: the waits of concurrent "
     "requests add up.",
     "smithy-rs pull request 4632 (releases before May 2026)", has_limiter,
     [](RetryRules& r) { r.rate_limit.wait = SendTokenWait::kReserve; }},
};

// --- Default modes -------------------------------------------------------------------------------

struct DefaultMode {
  std::string_view sdk, before, after;
};
constexpr DefaultMode kDefaultModes[] = {
    {"botocore", "legacy", "standard"}, {"java-v1", "legacy", "legacy"},
    {"java-v2", "legacy", "standard"},  {"js-v2", "legacy", "legacy"},
    {"js-v3", "standard", "standard"},  {"cpp", "legacy", "standard"},
    {"dotnet", "standard", "standard"}, {"ruby", "legacy", "standard"},
    {"php", "legacy", "standard"},      {"go-v1", "legacy", "legacy"},
    {"go-v2", "standard", "standard"},  {"rust", "standard", "standard"},
    {"kotlin", "standard", "standard"}, {"c-io", "standard", "standard"},
};

}  // namespace

std::span<const Defect> defects() { return kDefects; }

const Defect* find_defect(std::string_view name) {
  const auto* found = std::find_if(std::begin(kDefects), std::end(kDefects),
                                   [&](const Defect& d) { return d.name == name; });
  return found == std::end(kDefects) ? nullptr : found;
}

std::optional<std::string_view> default_mode(std::string_view sdk, bool after_2026) {
  for (const DefaultMode& row : kDefaultModes) {
    if (row.sdk == canonical_sdk(sdk)) return after_2026 ? row.after : row.before;
  }
  return std::nullopt;
}

}  // namespace retrysim

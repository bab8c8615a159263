// The keys of [client.X.retry]. Their defaults are those of the preset that mode, revision, SDK and
// API choose, so each key can also read its value back out of the rules.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>

#include "scenario/keys.hpp"

#include <cstdint>

namespace retrysim::scenario {
namespace {

constexpr std::string_view kJitterWords = "none|full|equal|decorrelated";
constexpr std::string_view kRefundWords = "last|cost|credit|none";
constexpr std::string_view kQuotaScopeWords = "client|group";
constexpr std::string_view kOnEmptyWords = "block|fail";
constexpr std::string_view kRetryAfterWords = "ignore|minimum|clamp|add|replace";

constexpr std::string_view kFormula = "retry.delays unset";
constexpr std::string_view kHasQuota = "retry.quota.capacity != unlimited";

constexpr ValueRules words(std::string_view list) { return {ValueKind::kWord, {}, list, {}}; }
constexpr ValueRules delay() { return {ValueKind::kDuration, {.min = 0}, {}, {}}; }
constexpr ValueRules tokens() { return {ValueKind::kCount, {.min = 0, .max = 1e9}, {}, {}}; }

// The words of a key stand in the order of its enumerators.
template <class Enum>
std::string word(std::string_view list, Enum value) {
  return render_text(split_words(list)[static_cast<std::size_t>(value)]);
}

std::string duration_text(Duration value) { return render_text(to_text(value)); }

RetryRules& rules(const Slots& s) { return s.client->retry; }

// A member of QuotaRules that counts tokens, as a key.
template <int QuotaRules::*member>
void store_tokens(const Slots& s, const Value& v) {
  rules(s).quota.*member = static_cast<int>(v.count);
}
template <int QuotaRules::*member>
std::string tokens_of(const RetryRules& r) {
  return std::to_string(r.quota.*member);
}

QuotaRules standard_quota() {
  return find_preset("standard", "2.0", "botocore", "default")->rules.quota;
}

std::vector<KeyInfo> preset_keys() {
  return {
      {"retry.mode", words("none|legacy|standard|adaptive|custom"), "", "", true, "",
       "The kind of retry strategy.",
       [](const Slots& s, const Value& v) { s.preset->mode = v.text; }},
      {"retry.revision", ValueRules{ValueKind::kText, {}, {}, {}}, "", R"("2.0")", false,
       "retry.mode = standard|adaptive",
       "The generation of the standard rules: 2.0, or 2.1 of the year 2026.",
       [](const Slots& s, const Value& v) { s.preset->revision = v.text; }},
      {"retry.sdk", ValueRules{ValueKind::kText, {}, {}, {}}, "", R"("botocore")", false,
       "retry.mode = legacy|standard|adaptive",
       "The SDK whose legacy rules, or deviations from the standard ones, apply.",
       [](const Slots& s, const Value& v) { s.preset->sdk = v.text; }},
      {"retry.api", ValueRules{ValueKind::kText, {}, {}, {}}, "", R"("default")", false,
       "retry.mode = legacy|standard|adaptive|custom",
       "The AWS service called, where it has numbers or error codes of its own.",
       [](const Slots& s, const Value& v) { s.preset->api = v.text; }},
      {"retry.max_attempts", ValueRules{ValueKind::kCount, {.min = 1, .max = 4e9}, {}, "unlimited"},
       "", "", false, "retry.mode != none", "Attempts of one request, the first included.",
       [](const Slots& s, const Value& v) {
         rules(s).max_attempts =
             v.is_else_word ? RetryRules::kUnlimited : static_cast<std::uint32_t>(v.count);
       },
       [](const RetryRules& r) {
         return r.max_attempts == RetryRules::kUnlimited ? R"("unlimited")"
                                                         : std::to_string(r.max_attempts);
       }},
      {"retry.probability", ValueRules{ValueKind::kNumber, {.min = 0, .max = 1}, {}, {}}, "", "",
       false, "retry.mode = custom", "Chance that a permitted retry is made.",
       [](const Slots& s, const Value& v) { rules(s).probability = v.number; },
       [](const RetryRules& r) { return render_number(r.probability); }},
      {"retry.delays", ValueRules{ValueKind::kDistributionList, {}, {}, {}}, "s", "", false,
       "retry.mode = custom",
       "Delay before each retry, instead of the backoff formula; the last one is repeated.",
       [](const Slots& s, const Value& v) { rules(s).backoff.delays = v.list; }},
  };
}

std::vector<KeyInfo> backoff_keys() {
  return {
      {"retry.backoff.base", delay(), "s", "", false, kFormula,
       "Backoff before the first retry, before jitter; in mode custom after any error.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.base = v.duration;
         // Without a preset to keep, one base is all that a user of mode custom expects to give.
         if (rules(s).mode == RetryMode::kCustom) rules(s).backoff.throttle_base = v.duration;
       },
       [](const RetryRules& r) { return duration_text(r.backoff.base); }},
      {"retry.backoff.throttle_base", delay(), "s", "", false, kFormula,
       "The same after a throttling error.",
       [](const Slots& s, const Value& v) { rules(s).backoff.throttle_base = v.duration; },
       [](const RetryRules& r) { return duration_text(r.backoff.throttle_base); }},
      {"retry.backoff.factor",
       ValueRules{ValueKind::kNumber, {.min = 0, .above_min = true}, {}, {}}, "", "", false,
       kFormula, "Growth of the backoff from one retry to the next.",
       [](const Slots& s, const Value& v) { rules(s).backoff.factor = v.number; },
       [](const RetryRules& r) { return render_number(r.backoff.factor); }},
      {"retry.backoff.cap", ValueRules{ValueKind::kDuration, {.min = 0}, {}, "none"}, "s", "",
       false, kFormula, "Longest backoff.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.cap = v.is_else_word ? Duration::max() : v.duration;
       },
       [](const RetryRules& r) {
         return r.backoff.cap == Duration::max() ? R"("none")" : duration_text(r.backoff.cap);
       }},
      {"retry.backoff.jitter", words(kJitterWords), "", "", false, kFormula,
       "How the backoff is spread at random; also after throttling errors.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.jitter = static_cast<Jitter>(v.word);
         rules(s).backoff.throttle_jitter = static_cast<Jitter>(v.word);
       },
       [](const RetryRules& r) { return word(kJitterWords, r.backoff.jitter); }},
      {"retry.backoff.throttle_jitter", words(kJitterWords), "", "", false, kFormula,
       "How the backoff after a throttling error is spread.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.throttle_jitter = static_cast<Jitter>(v.word);
       },
       [](const RetryRules& r) { return word(kJitterWords, r.backoff.throttle_jitter); }},
      {"retry.backoff.first_exponent", ValueRules{ValueKind::kCount, {.min = 0, .max = 64}, {}, {}},
       "", "", false, kFormula, "Power of the factor before the first retry.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.first_exponent = static_cast<int>(v.count);
       },
       [](const RetryRules& r) { return std::to_string(r.backoff.first_exponent); }},
      {"retry.backoff.jitter_before_cap", ValueRules{ValueKind::kBoolean, {}, {}, {}}, "", "",
       false, kFormula, "Whether the cap limits the backoff after the jitter instead of before.",
       [](const Slots& s, const Value& v) { rules(s).backoff.jitter_before_cap = v.boolean; },
       [](const RetryRules& r) {
         return std::string(r.backoff.jitter_before_cap ? "true" : "false");
       }},
  };
}

std::vector<KeyInfo> quota_keys() {
  return {
      {"retry.quota.capacity",
       ValueRules{ValueKind::kCount, {.min = 0, .max = 1e9}, {}, "unlimited"}, "tokens", "", false,
       "retry.mode != none", "Size of the bucket of tokens that retries are paid from.",
       [](const Slots& s, const Value& v) {
         QuotaRules& quota = rules(s).quota;
         // Rules without a quota have no prices either; they take those of the standard rules.
         if (!quota.enabled && !v.is_else_word) quota = standard_quota();
         quota.enabled = !v.is_else_word;
         if (quota.enabled) quota.capacity = quota.initial = static_cast<int>(v.count);
       },
       [](const RetryRules& r) {
         return r.quota.enabled ? std::to_string(r.quota.capacity) : R"("unlimited")";
       }},
      {"retry.quota.initial", tokens(), "tokens", "", false, kHasQuota,
       "Tokens at the start; as many as the capacity if only that is given.",
       store_tokens<&QuotaRules::initial>, tokens_of<&QuotaRules::initial>},
      {"retry.quota.cost", tokens(), "tokens", "", false, kHasQuota,
       "Price of a retry after a transient error.", store_tokens<&QuotaRules::cost>,
       tokens_of<&QuotaRules::cost>},
      {"retry.quota.throttle_cost", tokens(), "tokens", "", false, kHasQuota,
       "Price of a retry after a throttling error.", store_tokens<&QuotaRules::throttle_cost>,
       tokens_of<&QuotaRules::throttle_cost>},
      {"retry.quota.timeout_cost", tokens(), "tokens", "", false, kHasQuota,
       "Price of a retry after a timeout.", store_tokens<&QuotaRules::timeout_cost>,
       tokens_of<&QuotaRules::timeout_cost>},
      {"retry.quota.credit", tokens(), "tokens", "", false, kHasQuota,
       "Tokens that a success at the first attempt adds.", store_tokens<&QuotaRules::credit>,
       tokens_of<&QuotaRules::credit>},
      {"retry.quota.refund", words(kRefundWords), "", "", false, kHasQuota,
       "What a success after a retry gives back: the price of the last retry, cost, credit or "
       "none.",
       [](const Slots& s, const Value& v) { rules(s).quota.refund = static_cast<Refund>(v.word); },
       [](const RetryRules& r) { return word(kRefundWords, r.quota.refund); }},
      {"retry.quota.scope", words(kQuotaScopeWords), "", "", false, kHasQuota,
       "Whether each client has a bucket or the group shares one.",
       [](const Slots& s, const Value& v) {
         rules(s).quota.scope = static_cast<QuotaScope>(v.word);
       },
       [](const RetryRules& r) { return word(kQuotaScopeWords, r.quota.scope); }},
      {"retry.rate_limit.on_empty", words(kOnEmptyWords), "", "", false, "retry.mode = adaptive",
       "What an attempt without a send token does: wait or fail.",
       [](const Slots& s, const Value& v) { rules(s).on_empty = static_cast<OnEmpty>(v.word); },
       [](const RetryRules& r) { return word(kOnEmptyWords, r.on_empty); }},
      {"retry.retry_after", words(kRetryAfterWords), "", "", false, "retry.mode != none",
       "What a delay suggested by the service does to the backoff.",
       [](const Slots& s, const Value& v) {
         rules(s).retry_after = static_cast<RetryAfter>(v.word);
       },
       [](const RetryRules& r) { return word(kRetryAfterWords, r.retry_after); }},
  };
}

}  // namespace

std::vector<KeyInfo> retry_keys() {
  std::vector<KeyInfo> all;
  for (const auto& part : {preset_keys(), backoff_keys(), quota_keys()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace retrysim::scenario

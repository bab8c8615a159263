// The keys of [client.X.retry]. Their defaults are those of the preset that mode, revision, SDK and
// API choose, so each key can also read its value back out of the rules.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>

#include "scenario/keys.hpp"

#include <cstdint>
#include <type_traits>

namespace retrysim::scenario {
namespace {

constexpr std::string_view kFormula = "retry.delays unset";
constexpr std::string_view kHasQuota = "retry.quota.capacity != unlimited";
constexpr std::string_view kRetries = "retry.mode != none";
constexpr std::string_view kAdaptive = "retry.mode = adaptive";

constexpr Range kAmount{.min = 0, .max = 1e9};

RetryRules& rules(const Slots& s) { return s.client->retry; }

/// The member of the rules at a path of member pointers: member<&RetryRules::quota, &Q::cost>(r).
template <auto... kPath>
auto& member(RetryRules& r) {
  return (r.*....*kPath);
}
template <auto... kPath>
const auto& member(const RetryRules& r) {
  return (r.*....*kPath);
}

std::string duration_text(Duration value) { return render_text(to_text(value)); }
std::string truth_text(bool value) { return value ? "true" : "false"; }

template <auto... kPath>
KeyInfo word_key(std::string_view key, std::string_view when, std::string_view meaning) {
  using Enum = std::remove_cvref_t<decltype(member<kPath...>(std::declval<RetryRules&>()))>;
  return {key,
          ValueRules{ValueKind::kWord, {}, kWords<Enum>, {}},
          "",
          "",
          false,
          when,
          meaning,
          [](const Slots& s, const Value& v) {
            member<kPath...>(rules(s)) = static_cast<Enum>(v.word);
          },
          [](const RetryRules& r) { return render_text(name(member<kPath...>(r))); }};
}

template <auto... kPath>
KeyInfo count_key(std::string_view key, std::string_view unit, Range range, std::string_view when,
                  std::string_view meaning) {
  return {key,
          ValueRules{ValueKind::kCount, range, {}, {}},
          unit,
          "",
          false,
          when,
          meaning,
          [](const Slots& s, const Value& v) {
            member<kPath...>(rules(s)) = static_cast<int>(v.count);
          },
          [](const RetryRules& r) { return std::to_string(member<kPath...>(r)); }};
}

template <auto... kPath>
KeyInfo tokens_key(std::string_view key, std::string_view meaning) {
  return count_key<kPath...>(key, "tokens", kAmount, kHasQuota, meaning);
}

template <auto... kPath>
KeyInfo number_key(std::string_view key, std::string_view unit, Range range, std::string_view when,
                   std::string_view meaning) {
  return {key,
          ValueRules{ValueKind::kNumber, range, {}, {}},
          unit,
          "",
          false,
          when,
          meaning,
          [](const Slots& s, const Value& v) { member<kPath...>(rules(s)) = v.number; },
          [](const RetryRules& r) { return render_number(member<kPath...>(r)); }};
}

template <auto... kPath>
KeyInfo duration_key(std::string_view key, Range range, std::string_view when,
                     std::string_view meaning) {
  return {key,
          ValueRules{ValueKind::kDuration, range, {}, {}},
          "s",
          "",
          false,
          when,
          meaning,
          [](const Slots& s, const Value& v) { member<kPath...>(rules(s)) = v.duration; },
          [](const RetryRules& r) { return duration_text(member<kPath...>(r)); }};
}

template <auto... kPath>
KeyInfo flag_key(std::string_view key, std::string_view when, std::string_view meaning) {
  return {key,
          ValueRules{ValueKind::kBoolean, {}, {}, {}},
          "",
          "",
          false,
          when,
          meaning,
          [](const Slots& s, const Value& v) { member<kPath...>(rules(s)) = v.boolean; },
          [](const RetryRules& r) { return truth_text(member<kPath...>(r)); }};
}

QuotaRules standard_quota() {
  return find_preset("standard", "2.0", "botocore", "default")->rules.quota;
}

std::string_view defect_words() {
  static const std::string words = [] {
    std::string list = "none";
    for (const Defect& defect : defects()) list.append("|").append(defect.name);
    return list;
  }();
  return words;
}

std::vector<KeyInfo> preset_keys() {
  const ValueRules text{ValueKind::kText, {}, {}, {}};
  return {
      {"retry.from_environment", ValueRules{ValueKind::kBoolean, {}, {}, {}}, "", "false", false,
       "",
       "Mode and attempts that are not written come from AWS_RETRY_MODE, AWS_MAX_ATTEMPTS and "
       "the profile in the shared AWS config file.",
       [](const Slots& s, const Value& v) { s.preset->from_environment = v.boolean; }},
      {"retry.mode", ValueRules{ValueKind::kWord, {}, kWords<RetryMode>, {}}, "", "", true, "",
       "The kind of retry strategy.",
       [](const Slots& s, const Value& v) { s.preset->mode = v.text; }},
      {"retry.revision", text, "", R"("2.0")", false, "retry.mode = standard|adaptive",
       "The generation of the standard rules: 2.0, 2.1 of the year 2026, or smithy and smithy-2.1, "
       "the example in the Smithy guide before and since April 2026.",
       [](const Slots& s, const Value& v) { s.preset->revision = v.text; }},
      {"retry.sdk", text, "", "", false, "retry.mode = legacy|standard|adaptive|custom",
       "The SDK whose legacy rules, or deviations from the standard ones, apply (botocore if not "
       "given); in mode custom other software.",
       [](const Slots& s, const Value& v) { s.preset->sdk = v.text; }},
      {"retry.api", text, "", R"("default")", false, "retry.mode = legacy|standard|adaptive|custom",
       "The AWS service called, where it has numbers or error codes of its own.",
       [](const Slots& s, const Value& v) { s.preset->api = v.text; }},
      {"retry.defect", ValueRules{ValueKind::kWord, {}, defect_words(), {}}, "", R"("none")", false,
       kRetries, "A known defect of an SDK to be switched on.",
       [](const Slots& s, const Value& v) { s.preset->defect = v.text; }},
      {"retry.max_retries", ValueRules{ValueKind::kCount, {.min = 0, .max = 4e9}, {}, "unlimited"},
       "", "", false, kRetries, "Retries of one request, instead of max_attempts; 0: none.",
       [](const Slots& s, const Value& v) {
         rules(s).max_attempts =
             v.is_else_word ? RetryRules::kUnlimited : static_cast<std::uint32_t>(v.count + 1);
       }},
      {"retry.max_attempts", ValueRules{ValueKind::kCount, {.min = 1, .max = 4e9}, {}, "unlimited"},
       "", "", false, "retry.max_retries unset", "Attempts of one request, the first included.",
       [](const Slots& s, const Value& v) {
         rules(s).max_attempts =
             v.is_else_word ? RetryRules::kUnlimited : static_cast<std::uint32_t>(v.count);
       },
       [](const RetryRules& r) {
         return r.max_attempts == RetryRules::kUnlimited ? R"("unlimited")"
                                                         : std::to_string(r.max_attempts);
       }},
      number_key<&RetryRules::probability>("retry.probability", "", kShare, "retry.mode = custom",
                                           "Chance that a permitted retry is made."),
      {"retry.delays", ValueRules{ValueKind::kDistributionList, {}, {}, {}}, "s", "", false,
       "retry.mode = custom",
       "Delay before each retry, instead of the backoff formula; the last one is repeated.",
       [](const Slots& s, const Value& v) { rules(s).backoff.delays = v.list; }},
  };
}

std::vector<KeyInfo> error_keys() {
  return {
      word_key<&RetryRules::errors, &ErrorRules::classifier>(
          "retry.classifier", kRetries, "Whose table of error codes and statuses applies."),
      word_key<&RetryRules::errors, &ErrorRules::status_429>(
          "retry.status_429", kRetries,
          "What a status 429 without a known code is; with classifier cpp also a 509."),
      word_key<&RetryRules::errors, &ErrorRules::timeout_class>(
          "retry.timeout_class", kRetries,
          "Which errors pay the timeout price: none; no-answer: no connection or answer in time; "
          "connections: every transport error; networking: these, RequestTimeout, InternalError; "
          "request-timeout: the code, or status 408, 419, 440, 504, 598, 599 without a known code; "
          "transient: every transient error."),
  };
}

std::vector<KeyInfo> backoff_keys() {
  using B = BackoffRules;
  constexpr auto kB = &RetryRules::backoff;
  return {
      {"retry.backoff.base", ValueRules{ValueKind::kDuration, kNotNegative, {}, {}}, "s", "", false,
       kFormula, "Backoff before the first retry, before jitter; in mode custom after any error.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.base = v.duration;
         // Without a preset to keep, one base is all that a user of mode custom expects to give.
         if (rules(s).mode == RetryMode::kCustom) rules(s).backoff.throttle_base = v.duration;
       },
       [](const RetryRules& r) { return duration_text(r.backoff.base); }},
      duration_key<kB, &B::throttle_base>("retry.backoff.throttle_base", kNotNegative, kFormula,
                                          "The same after a throttling error."),
      number_key<kB, &B::factor>("retry.backoff.factor", "", kPositive, kFormula,
                                 "Growth of the backoff from one retry to the next."),
      {"retry.backoff.cap", ValueRules{ValueKind::kDuration, kNotNegative, {}, "none"}, "s", "",
       false, kFormula, "Longest backoff.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.cap = v.is_else_word ? Duration::max() : v.duration;
       },
       [](const RetryRules& r) {
         return r.backoff.cap == Duration::max() ? R"("none")" : duration_text(r.backoff.cap);
       }},
      {"retry.backoff.jitter", ValueRules{ValueKind::kWord, {}, kWords<Jitter>, {}}, "", "", false,
       kFormula, "How the backoff is spread at random; also after throttling errors.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.jitter = static_cast<Jitter>(v.word);
         rules(s).backoff.throttle_jitter = static_cast<Jitter>(v.word);
       },
       [](const RetryRules& r) { return render_text(name(r.backoff.jitter)); }},
      word_key<kB, &B::throttle_jitter>("retry.backoff.throttle_jitter", kFormula,
                                        "How the backoff after a throttling error is spread."),
      count_key<kB, &B::first_exponent>("retry.backoff.first_exponent", "", {.min = 0, .max = 64},
                                        kFormula, "Power of the factor before the first retry."),
      {"retry.backoff.max_exponent",
       ValueRules{ValueKind::kCount, {.min = 0, .max = 1000}, {}, "unlimited"}, "", "", false,
       kFormula, "Largest power of the factor.",
       [](const Slots& s, const Value& v) {
         rules(s).backoff.max_exponent =
             v.is_else_word ? BackoffRules::kUnlimited : static_cast<int>(v.count);
       },
       [](const RetryRules& r) {
         return r.backoff.max_exponent == BackoffRules::kUnlimited
                    ? R"("unlimited")"
                    : std::to_string(r.backoff.max_exponent);
       }},
      flag_key<kB, &B::jitter_before_cap>(
          "retry.backoff.jitter_before_cap", kFormula,
          "Whether the cap limits the backoff after the jitter instead of before, as in botocore "
          "before 1.34.107."),
      word_key<kB, &B::over_cap>(
          "retry.backoff.over_cap", kFormula,
          "A backoff above the cap: limit, and spread; flat: exactly the cap; redraw: uniform "
          "between half the cap and the cap."),
      count_key<kB, &B::immediate_retries>("retry.backoff.immediate_retries", "",
                                           {.min = 0, .max = 1e9}, kFormula,
                                           "So many first retries are made without delay."),
      duration_key<kB, &B::quantum>("retry.backoff.quantum", kNotNegative, kFormula,
                                    "Delays are whole multiples of this; 0: exact."),
      word_key<kB, &B::rounding>(
          "retry.backoff.rounding", kFormula,
          "How they become so: down; integers: random whole quanta below the backoff; "
          "integers-inclusive: up to it; mantissa: the draw on the base, which then grows."),
      flag_key<kB, &B::decorrelated_from_full>(
          "retry.backoff.decorrelated_from_full", kFormula,
          "Decorrelated jitter as aws-c-io has it: full jitter before the first retry."),
  };
}

std::vector<KeyInfo> quota_keys() {
  using Q = QuotaRules;
  constexpr auto kQ = &RetryRules::quota;
  return {
      {"retry.quota.capacity", ValueRules{ValueKind::kCount, kAmount, {}, "unlimited"}, "tokens",
       "", false, kRetries, "Size of the bucket of tokens that retries are paid from.",
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
      tokens_key<kQ, &Q::initial>("retry.quota.initial",
                                  "Tokens at the start; as many as the capacity if only that is "
                                  "given."),
      tokens_key<kQ, &Q::cost>("retry.quota.cost", "Price of a retry after a transient error."),
      tokens_key<kQ, &Q::throttle_cost>("retry.quota.throttle_cost",
                                        "Price of a retry after a throttling error."),
      tokens_key<kQ, &Q::timeout_cost>("retry.quota.timeout_cost",
                                       "Price of a retry after a timeout."),
      number_key<kQ, &Q::credit>("retry.quota.credit", "tokens", kAmount, kHasQuota,
                                 "Tokens that a success at the first attempt adds; may be a "
                                 "fraction."),
      word_key<kQ, &Q::credit_on>("retry.quota.credit_on", kHasQuota,
                                  "Whether the credit is for a success or for the start of a "
                                  "request."),
      word_key<kQ, &Q::refund>(
          "retry.quota.refund", kHasQuota,
          "What a success after a retry gives back: the price of the last retry, cost, credit, "
          "none, both of last and credit, the larger of them, or the last price of any request."),
      word_key<kQ, &Q::scope>("retry.quota.scope", kHasQuota,
                              "Whether each client has a bucket or the group shares one."),
      word_key<kQ, &Q::order>(
          "retry.quota.order", kHasQuota,
          "When the price is asked: after the limit on attempts, before it, before it with "
          "rollback, or even before errors are classified."),
      flag_key<kQ, &Q::partial>("retry.quota.partial", kHasQuota,
                                "Whether a retry takes what there is, and only zero refuses it."),
      word_key<kQ, &Q::on_empty>("retry.quota.on_empty", kHasQuota,
                                 "Whether a retry without tokens fails or waits for the refill."),
      number_key<kQ, &Q::refill_rate>("retry.quota.refill_rate", "tokens/s", kNotNegative,
                                      kHasQuota, "Tokens that time brings."),
      duration_key<kQ, &Q::refill_interval>("retry.quota.refill_interval", kNotNegative, kHasQuota,
                                            "They come in whole ones of these; 0: continuously."),
      tokens_key<kQ, &Q::failure_cost>("retry.quota.failure_cost",
                                       "Tokens that every retryable failure takes, retried or "
                                       "not."),
      tokens_key<kQ, &Q::threshold>("retry.quota.threshold",
                                    "Retries need more tokens than this in the bucket."),
  };
}

std::vector<KeyInfo> limiter_keys() {
  using L = SendRateRules;
  constexpr auto kL = &RetryRules::rate_limit;
  constexpr Range kSendTokens{.min = 1, .max = 255};
  return {
      word_key<kL, &L::on_empty>("retry.rate_limit.on_empty", kAdaptive,
                                 "What an attempt without a send token does: wait or fail."),
      word_key<kL, &L::acquire>(
          "retry.rate_limit.acquire", kAdaptive,
          "When a retry takes its send tokens: before its send, before its backoff, with the wait "
          "added to the backoff, with the wait instead of the backoff, or never."),
      word_key<kL, &L::wait>("retry.rate_limit.wait", kAdaptive,
                             "Whether waiters queue, by the rate as it changes, or each waits once "
                             "for the time computed at first (reserve: its tokens are taken then, "
                             "even below zero; recheck: if there are none after it, it waits "
                             "again)."),
      word_key<kL, &L::update>("retry.rate_limit.update", kAdaptive,
                               "Which errors change the rate: all, those that will be retried, or "
                               "throttling errors that will be retried."),
      count_key<kL, &L::retry_cost>("retry.rate_limit.retry_cost", "tokens", kSendTokens, kAdaptive,
                                    "Send tokens of a retry after a transient error or a "
                                    "timeout."),
      count_key<kL, &L::costly_retry_cost>("retry.rate_limit.costly_retry_cost", "tokens",
                                           kSendTokens, kAdaptive,
                                           "The same after a throttling error."),
      number_key<kL, &L::initial_fill_rate>(
          "retry.rate_limit.initial_fill_rate", "1/s", {.min = 0, .max = 1e6}, kAdaptive,
          "Rate at which the bucket fills from the start; 0: it fills from the first response on."),
      number_key<kL, &L::min_rate>("retry.rate_limit.min_rate", "1/s", {.min = 1e-6, .max = 1e6},
                                   kAdaptive, "Lowest rate of the limiter."),
      number_key<kL, &L::initial_measured_rate>("retry.rate_limit.initial_measured_rate", "1/s",
                                                {.min = 0, .max = 1e6}, kAdaptive,
                                                "Send rate that is assumed before any is "
                                                "measured."),
      flag_key<kL, &L::round_rates>("retry.rate_limit.round_rates", kAdaptive,
                                    "Whether rates are rounded to eight decimals."),
      word_key<&RetryRules::retry_after>("retry.retry_after", kRetries,
                                         "What a delay suggested by the service does to the "
                                         "backoff."),
      word_key<&RetryRules::long_poll>(
          "retry.long_poll", kRetries,
          "What a long-polling operation does whose retry the quota refuses: return the error, or "
          "wait first (wait-base: by the base of other than throttling errors)."),
  };
}

std::vector<KeyInfo> beyond_keys() {
  constexpr auto kBudget = &RetryRules::budget;
  constexpr auto kBreaker = &RetryRules::breaker;
  constexpr auto kThrottle = &RetryRules::throttle;
  constexpr std::string_view kHasBudget = "retry.budget.kind != none";
  constexpr std::string_view kHasBreaker = "retry.breaker.failure_share != none";
  constexpr std::string_view kHasThrottle = "retry.client_throttle.k != none";
  return {
      word_key<kBudget, &BudgetRules::kind>(
          "retry.budget.kind", kRetries,
          "A budget for retries: a share of the requests in a window (Finagle), or of those under "
          "way (active, Envoy)."),
      number_key<kBudget, &BudgetRules::share>("retry.budget.share", "", kNotNegative, kHasBudget,
                                               "Retries per request."),
      number_key<kBudget, &BudgetRules::minimum>(
          "retry.budget.minimum", "", kNotNegative, kHasBudget,
          "Retries that are always allowed: per second (window), or at once (active)."),
      duration_key<kBudget, &BudgetRules::window>("retry.budget.window", kPositive,
                                                  "retry.budget.kind = window",
                                                  "How far back requests and retries count."),
      {"retry.breaker.failure_share",
       ValueRules{ValueKind::kNumber, {.min = 0, .max = 1, .above_min = true}, {}, "none"}, "", "",
       false, kRetries, "Share of failed attempts from which a circuit breaker stops all retries.",
       [](const Slots& s, const Value& v) {
         rules(s).breaker.enabled = !v.is_else_word;
         if (!v.is_else_word) rules(s).breaker.failure_share = v.number;
       },
       [](const RetryRules& r) {
         return r.breaker.enabled ? render_number(r.breaker.failure_share) : R"("none")";
       }},
      count_key<kBreaker, &BreakerRules::min_attempts>(
          "retry.breaker.min_attempts", "attempts", {.min = 1, .max = 1e9}, kHasBreaker,
          "Attempts in the window that it takes to trip."),
      duration_key<kBreaker, &BreakerRules::window>("retry.breaker.window", kPositive, kHasBreaker,
                                                    "How far back attempts count."),
      duration_key<kBreaker, &BreakerRules::open>("retry.breaker.open", kNotNegative, kHasBreaker,
                                                  "How long it stays open at least."),
      {"retry.client_throttle.k", ValueRules{ValueKind::kNumber, {.min = 1}, {}, "none"}, "", "",
       false, kRetries,
       "Attempts per accepted one above which a client refuses its own attempts (SRE book).",
       [](const Slots& s, const Value& v) {
         rules(s).throttle.enabled = !v.is_else_word;
         if (!v.is_else_word) rules(s).throttle.k = v.number;
       },
       [](const RetryRules& r) {
         return r.throttle.enabled ? render_number(r.throttle.k) : R"("none")";
       }},
      duration_key<kThrottle, &ThrottleRules::window>("retry.client_throttle.window", kPositive,
                                                      kHasThrottle, "How far back attempts count."),
      count_key<kThrottle, &ThrottleRules::window_calls>(
          "retry.client_throttle.window_calls", "attempts", {.min = 0, .max = 1e7}, kHasThrottle,
          "The last so many attempts count instead; 0: those of the window."),
      {"retry.hedging.delay", ValueRules{ValueKind::kDuration, kNotNegative, {}, "none"}, "s", "",
       false, "retry.mode = custom",
       "While no answer has come for so long, the next attempt is sent beside the one under way.",
       [](const Slots& s, const Value& v) {
         rules(s).hedging.enabled = !v.is_else_word;
         if (!v.is_else_word) rules(s).hedging.delay = v.duration;
       },
       [](const RetryRules& r) {
         return r.hedging.enabled ? duration_text(r.hedging.delay) : R"("none")";
       }},
  };
}

}  // namespace

std::vector<KeyInfo> retry_keys() {
  std::vector<KeyInfo> all;
  for (const auto& part :
       {preset_keys(), error_keys(), backoff_keys(), quota_keys(), limiter_keys(), beyond_keys()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace retrysim::scenario

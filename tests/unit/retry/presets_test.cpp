// The table of presets and how it is searched; known defects. That sim/retry/presets.md shows the
// program's numbers is checked by cli/reference_tables.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

using namespace retrysim;

TEST_CASE("every preset is found by its own words, and no two by the same") {
  std::set<std::string> seen;
  for (const Preset& p : presets()) {
    CHECK(find_preset(p.mode, p.revision, p.sdk, p.api) == &p);
    CHECK(name(p.rules.mode) == p.mode);
    CHECK(p.rules.api == p.api);
    CHECK_FALSE(p.source.empty());
    CHECK(seen.insert(fmt::format("{} {} {} {}", p.mode, p.revision, p.sdk, p.api)).second);
  }
}

TEST_CASE("empty words mean revision 2.0, botocore and no API in particular") {
  const Preset* standard = find_preset("standard", "2.0", "botocore", "default");
  REQUIRE(standard != nullptr);
  CHECK(find_preset("standard", "", "", "") == standard);
  CHECK(find_preset("legacy", "", "", "") == find_preset("legacy", "", "botocore", "default"));
}

TEST_CASE("an API without numbers of its own has the default ones") {
  CHECK(find_preset("standard", "2.1", "botocore", "sqs") ==
        find_preset("standard", "2.1", "botocore", "default"));
  CHECK(find_preset("standard", "2.0", "botocore", "dynamodb") ==
        find_preset("standard", "2.0", "botocore", "default"));
  CHECK(find_preset("standard", "2.1", "botocore", "dynamodb")->rules.max_attempts == 4);
}

TEST_CASE("a mode takes any known revision and SDK that do not concern it") {
  CHECK(find_preset("none", "2.1", "java-v1", "default") == find_preset("none", "", "", ""));
  CHECK(find_preset("legacy", "2.1", "botocore", "default") ==
        find_preset("legacy", "", "botocore", "default"));
}

TEST_CASE("combinations that do not exist are not found") {
  CHECK(find_preset("standrad", "2.0", "botocore", "default") == nullptr);
  CHECK(find_preset("", "", "", "") == nullptr);
  CHECK(find_preset("standard", "2.2", "botocore", "default") == nullptr);
  CHECK(find_preset("standard", "2.1", "java-v1", "default") == nullptr);
  CHECK(find_preset("standard", "2.0", "guidance", "default") == nullptr);
  CHECK(find_preset("legacy", "", "rust", "default") == nullptr);
  CHECK(find_preset("adaptive", "2.0", "c-io", "default") == nullptr);
  CHECK(find_preset("adaptive", "smithy", "botocore", "default") == nullptr);
  CHECK(find_preset("standard", "2.0", "grpc", "default") == nullptr);
  CHECK(find_preset("legacy", "3.0", "botocore", "default") == nullptr);
  CHECK(find_preset("none", "", "cobol", "default") == nullptr);
}

TEST_CASE("adaptive is standard plus the send-rate limiter") {
  for (const Preset& p : presets()) {
    if (p.mode != "adaptive") {
      CHECK_FALSE(p.rules.rate_limit.enabled);
      continue;
    }
    const RetryRules& adaptive = p.rules;
    const RetryRules& standard = find_preset("standard", p.revision, p.sdk, p.api)->rules;
    CHECK(adaptive.rate_limit.enabled);
    CHECK(adaptive.max_attempts == standard.max_attempts);
    CHECK(adaptive.errors.classifier == standard.errors.classifier);
    CHECK(adaptive.backoff.base == standard.backoff.base);
    CHECK(adaptive.backoff.throttle_base == standard.backoff.throttle_base);
    CHECK(adaptive.backoff.cap == standard.backoff.cap);
    CHECK(adaptive.quota.cost == standard.quota.cost);
    CHECK(adaptive.quota.timeout_cost == standard.quota.timeout_cost);
    // Java's adaptive strategy has only some of what revision 2.1 brought its standard one.
    const bool java_of_2026 = p.sdk == "java-v2" && p.revision == "2.1";
    CHECK(adaptive.retry_after == (java_of_2026 ? RetryAfter::kMinimum : standard.retry_after));
    CHECK(adaptive.long_poll == (java_of_2026 ? LongPoll::kReturn : standard.long_poll));
    // In aws-sdk-go-v2 no success in adaptive mode earns a credit.
    CHECK(adaptive.quota.credit == (p.sdk == "go-v2" ? 0 : standard.quota.credit));
    CHECK(adaptive.quota.refund == (p.sdk == "go-v2" ? Refund::kLast : standard.quota.refund));
  }
}

TEST_CASE("what is built on an SDK retries as that does") {
  for (const char* name : {"boto3", "cli", "aws-cli"}) {
    CHECK(find_preset("legacy", "", name, "") == find_preset("legacy", "", "botocore", ""));
    CHECK(default_mode(name, false) == default_mode("botocore", false));
    CHECK(find_client_defaults(name) == find_client_defaults("botocore"));
  }
  CHECK(find_preset("adaptive", "2.1", "powershell", "") ==
        find_preset("adaptive", "2.1", "dotnet", ""));
  CHECK(canonical_sdk("cobol") == "cobol");
}

TEST_CASE("the SDKs' own timeouts and connections") {
  REQUIRE(find_client_defaults("botocore") != nullptr);
  CHECK(find_client_defaults("botocore")->attempt_timeout == Duration::seconds(60));
  CHECK(find_client_defaults("botocore")->max_connections == 10);
  CHECK(find_client_defaults("java-v2")->connect_timeout == Duration::seconds(2));
  CHECK(find_client_defaults("js-v3")->attempt_timeout == Duration::max());
  CHECK(find_client_defaults("cpp")->attempt_timeout == Duration::seconds(3));
  CHECK(find_client_defaults("js-v2")->attempt_timeout == Duration::seconds(120));
  CHECK(find_client_defaults("js-v2")->connect_timeout == Duration::max());
  CHECK(find_client_defaults("go-v1")->connect_timeout == Duration::seconds(30));
  CHECK(find_client_defaults("powershell")->attempt_timeout == Duration::seconds(100));
  CHECK(find_client_defaults("php")->connect_timeout == Duration::seconds(300));
  CHECK(find_client_defaults("php")->max_connections == RetryRules::kUnlimited);
  CHECK(find_client_defaults("c-io")->max_connections == 25);
  CHECK(find_client_defaults("swift")->attempt_timeout == Duration::seconds(60));
  CHECK(find_client_defaults("swift")->max_connections == 50);
  CHECK(find_client_defaults("smithy-python")->attempt_timeout == Duration::seconds(300));
  CHECK(find_client_defaults("smithy-python")->max_connections == 100);
  CHECK(find_client_defaults("guidance") == nullptr);  // a text, which has no client
  CHECK(find_client_defaults("") == nullptr);
  // Every SDK has them; what is no SDK has none.
  for (const Preset& p : presets()) {
    const bool is_sdk = default_mode(p.sdk, false).has_value();
    CHECK((find_client_defaults(p.sdk) != nullptr) == is_sdk);
  }
  for (const ClientDefaults& d : client_defaults()) {
    CHECK(find_client_defaults(d.sdk) == &d);
    CHECK_FALSE(d.source.empty());
    CHECK(std::any_of(presets().begin(), presets().end(),
                      [&](const Preset& p) { return p.sdk == d.sdk; }));
  }
}

TEST_CASE("who checks its bucket again after waiting") {
  for (const Preset& p : presets()) {
    if (p.mode != "adaptive") continue;
    const bool rechecks = p.sdk == "js-v3" || p.sdk == "go-v2" || p.sdk == "dotnet" ||
                          p.sdk == "kotlin" || p.sdk == "swift";
    CHECK((p.rules.rate_limit.wait == SendTokenWait::kRecheck) == rechecks);
  }
}

TEST_CASE("only the metadata requests of JavaScript v2 add a suggested delay") {
  const RetryRules& metadata = find_preset("legacy", "", "js-v2", "metadata")->rules;
  CHECK(metadata.retry_after == RetryAfter::kAdd);
  CHECK(metadata.max_attempts == 4);
  CHECK(find_preset("legacy", "", "js-v2", "default")->rules.retry_after == RetryAfter::kIgnore);
}

TEST_CASE("Envoy's budgets are 20 %, at least 3, of what is under way or of ten seconds") {
  const Preset& active = *find_preset("custom", "", "envoy", "");
  const Preset& interval = *find_preset("custom", "", "envoy-interval", "");
  const BudgetRules& budget = active.rules.budget;
  CHECK(budget == BudgetRules{BudgetKind::kActive, 0.2, 3, Duration::seconds(10)});
  CHECK(interval.rules.budget == BudgetRules{BudgetKind::kInterval, 0.2, 3, Duration::seconds(10)});
  // Each comparison names its own source.
  CHECK(active.source.find("20 % of the requests under way") != active.source.npos);
  CHECK(interval.source.find("budget_interval") != interval.source.npos);
}

TEST_CASE("libraries and proxies wait and give up as without a configuration of their own") {
  const auto rules = [](const char* sdk) -> const RetryRules& {
    return find_preset("custom", "", sdk, "")->rules;
  };
  // The first ones, in milliseconds.
  const auto delays = [&](const char* sdk, double draw, std::uint32_t count = 4) {
    std::vector<double> found;
    Draws draws(RandomKey(1, 0), {});
    for (std::uint32_t attempts = 1; attempts <= count; ++attempts) {
      const Duration delay = backoff_delay(rules(sdk).backoff, ResponseClass::kTransient,
                                           {.attempts = attempts}, draws, draw);
      found.push_back(static_cast<double>(delay.count()) / 1e6);
    }
    return found;
  };
  using Delays = std::vector<double>;
  // From 100 ms doubled to a second, by a factor from 0.8 to 1.2 that comes after the limit.
  for (const char* sdk : {"grpc", "grpc-go", "grpc-java"}) {
    INFO(sdk);
    CHECK(rules(sdk).max_attempts == 4);
    CHECK(delays(sdk, 0, 6) == Delays{80, 160, 320, 640, 800, 800});
    CHECK(delays(sdk, 1, 6) == Delays{120, 240, 480, 960, 1200, 1200});
  }
  // Any time up to 25 ms, doubled to 250 ms.
  for (const char* sdk : {"envoy", "envoy-interval"}) {
    INFO(sdk);
    CHECK(rules(sdk).max_attempts == 2);
    CHECK(delays(sdk, 0, 6) == Delays{0, 0, 0, 0, 0, 0});
    CHECK(delays(sdk, 1, 6) == Delays{25, 50, 100, 200, 250, 250});
  }
  CHECK(rules("istio").max_attempts == 3);
  CHECK(rules("istio").avoid_hosts == 5);
  CHECK_FALSE(rules("istio").budget.in_use());
  CHECK(delays("istio", 0.5) == Delays{12.5, 25, 50, 100});
  // From 25 ms doubled to twice that, and never longer than 250 ms.
  CHECK(rules("linkerd").max_attempts == 2);
  CHECK(rules("linkerd").budget.slices == 11);  // none by itself; one that is written is tower's
  CHECK(delays("linkerd", 0) == Delays{25, 50, 100, 200});
  CHECK(delays("linkerd", 0.75) == Delays{43.75, 87.5, 175, 250});
  CHECK(rules("resilience4j").max_attempts == 3);
  CHECK(delays("resilience4j", 0.5) == Delays{500, 500, 500, 500});
  CHECK(rules("polly").max_attempts == 4);
  CHECK(delays("polly", 0.5) == Delays{2000, 2000, 2000, 2000});
  // From 50 ms doubled to 1.99 times that.
  CHECK(rules("tower").max_attempts == RetryRules::kUnlimited);
  CHECK(rules("tower").budget ==
        BudgetRules{BudgetKind::kWindow, 0.2, 10, Duration::seconds(10), BudgetOf::kSuccesses, 11});
  CHECK(rules("finagle").budget ==
        BudgetRules{BudgetKind::kWindow, 0.2, 10, Duration::seconds(10), BudgetOf::kSuccesses, 10});
  const Delays shortest = delays("tower", 0), longest = delays("tower", 1);
  for (std::size_t i = 0; i < shortest.size(); ++i) {
    CHECK(std::abs(shortest[i] - 50 * (1 << i)) < 1e-5);
    CHECK(std::abs(longest[i] - 99.5 * (1 << i)) < 1e-5);
  }
  CHECK(rules("urllib3").max_attempts == 11);
  CHECK(delays("urllib3", 0.5) == Delays{0, 0, 0, 0});
  CHECK(rules("tenacity").max_attempts == RetryRules::kUnlimited);
  CHECK(delays("tenacity", 0.5) == Delays{0, 0, 0, 0});
}

TEST_CASE("outcomes and classes have the names that results use") {
  const std::vector<std::string_view> outcomes = {
      "success",           "retry",         "max_attempts_exceeded",
      "quota_exceeded",    "not_retryable", "no_send_token",
      "deadline_exceeded", "unfinished",    "breaker_open"};
  REQUIRE(outcomes.size() == static_cast<std::size_t>(kOutcomeCount));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CHECK(name(static_cast<Outcome>(i)) == outcomes[i]);
  }
  const std::vector<std::string_view> classes = {"success", "throttling", "transient", "timeout",
                                                 "not_retryable"};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    CHECK(name(static_cast<ResponseClass>(i)) == classes[i]);
  }
}

TEST_CASE("every SDK of the field is there, in the modes it has") {
  const auto exists = [](const char* mode, const char* revision, const char* sdk) {
    return find_preset(mode, revision, sdk, "default") != nullptr;
  };
  for (const char* sdk : {"botocore", "java-v1", "java-v2", "js-v2", "cpp", "dotnet", "ruby", "php",
                          "go-v1", "kotlin", "c-io", "guidance"}) {
    INFO(sdk);
    CHECK(exists("legacy", "", sdk));
  }
  for (const char* sdk : {"botocore", "java-v2", "js-v3", "cpp", "dotnet", "ruby", "php", "go-v2",
                          "rust", "kotlin", "swift"}) {
    INFO(sdk);
    for (const char* revision : {"2.0", "2.1"}) {
      CHECK(exists("standard", revision, sdk));
      CHECK(exists("adaptive", revision, sdk));
    }
  }
  for (const char* revision : {"2.0", "2.1"}) {
    CHECK(exists("standard", revision, "smithy-python"));
    CHECK_FALSE(exists("adaptive", revision, "smithy-python"));
  }
  CHECK(exists("standard", "smithy", ""));
  for (const char* sdk :
       {"fixed-delay", "retry-breaker", "grpc", "grpc-go", "grpc-java", "grpc-js", "finagle",
        "envoy", "envoy-interval", "istio", "linkerd", "resilience4j", "polly", "tower", "urllib3",
        "tenacity", "sre", "retryguard", "hedging"}) {
    CHECK(exists("custom", "", sdk));
  }
}

TEST_CASE("revision 2.1 has numbers of its own for DynamoDB in every SDK") {
  for (const Preset& p : presets()) {
    if (p.revision != "2.1" || p.api != "default") continue;
    for (const char* api : {"dynamodb", "dynamodb-streams"}) {
      const RetryRules& rules = find_preset(p.mode, p.revision, p.sdk, api)->rules;
      CHECK(rules.api == api);
      CHECK(rules.max_attempts == 4);
      CHECK(rules.backoff.base == Duration::milliseconds(25));
      CHECK(rules.backoff.throttle_base == Duration::seconds(1));
    }
  }
}

TEST_CASE("java-v2 has numbers of its own for DynamoDB in every mode before revision 2.1") {
  const auto rules = [](const char* mode, const char* api) -> const RetryRules& {
    return find_preset(mode, "2.0", "java-v2", api)->rules;
  };
  for (const char* mode : {"legacy", "standard", "adaptive"}) {
    INFO(mode);
    CHECK(rules(mode, "dynamodb").api == "dynamodb");
    CHECK(rules(mode, "dynamodb").max_attempts == 9);
    CHECK(rules(mode, "dynamodb").backoff.base == Duration::milliseconds(25));
    CHECK(rules(mode, "dynamodb").backoff.throttle_base ==
          rules(mode, "default").backoff.throttle_base);
    CHECK(rules(mode, "dynamodb").quota.cost == rules(mode, "default").quota.cost);
    CHECK(rules(mode, "default").max_attempts == (std::string(mode) == "legacy" ? 4 : 3));
  }
}

TEST_CASE("C++ waits whole milliseconds under revision 2.1") {
  for (const char* mode : {"standard", "adaptive"}) {
    for (const char* api : {"default", "dynamodb"}) {
      const BackoffRules& rules = find_preset(mode, "2.1", "cpp", api)->rules.backoff;
      const RetryProgress first{.attempts = 1};
      Draws draws(RandomKey(1, 0), {});
      const auto delay = [&](double draw) {
        return backoff_delay(rules, ResponseClass::kTransient, first, draws, draw);
      };
      // 0.99 * 50 ms = 49.5 ms, 0.99 * 25 ms = 24.75 ms
      const bool dynamodb = std::string(api) == "dynamodb";
      CHECK(delay(0.99) == Duration::milliseconds(dynamodb ? 24 : 49));
      CHECK(delay(0.01) == Duration::zero());
    }
  }
}

TEST_CASE("the Smithy reference design differs from standard 2.0 where it says so") {
  const RetryRules& smithy = find_preset("standard", "smithy", "", "")->rules;
  CHECK(smithy.max_attempts == 6);  // it refuses at 5 or more, and counts from 0
  CHECK(smithy.backoff.base == Duration::seconds(1));
  CHECK(smithy.backoff.quantum == Duration::milliseconds(1));
  CHECK(smithy.quota.cost == 5);
  CHECK(smithy.quota.timeout_cost == 10);
  CHECK(smithy.quota.refund == Refund::kCredit);
  CHECK(smithy.quota.credit == 1);
  CHECK(smithy.retry_after == RetryAfter::kMinimum);
  CHECK(smithy.errors.classifier == Classifier::kSmithy);
  // The same example with the numbers of 2026.
  const RetryRules& later = find_preset("standard", "smithy-2.1", "", "")->rules;
  CHECK(later.max_attempts == 6);
  CHECK(later.backoff.base == Duration::milliseconds(50));
  CHECK(later.backoff.throttle_base == Duration::seconds(1));
  CHECK(later.quota.cost == 14);
  CHECK(later.quota.throttle_cost == 5);
  CHECK(later.quota.timeout_cost == 14);
  CHECK(later.quota.refund == Refund::kCredit);
  CHECK(later.retry_after == RetryAfter::kMinimum);
  CHECK(later.long_poll == LongPoll::kWait);
}

TEST_CASE("the Smithy example makes six attempts and gives one token back for a success") {
  for (const char* revision : {"smithy", "smithy-2.1"}) {
    INFO(revision);
    const RetryRules& rules = find_preset("standard", revision, "", "")->rules;
    RetryStrategy strategy(rules, RandomKey(1, 0));
    const Failure failure = strategy.failure_of({.status = 500});
    int attempts = 1;
    RetryToken token = strategy.acquire_initial_token(Time::zero());
    while ((token = strategy.refresh_retry_token(std::move(token), failure, Time::zero()))
               .may_send()) {
      ++attempts;
    }
    CHECK(attempts == 6);
    CHECK(token.outcome() == Outcome::kMaxAttemptsExceeded);
    CHECK(strategy.quota() == 500 - 5 * rules.quota.cost);
    token = strategy.acquire_initial_token(Time::zero());
    token = strategy.refresh_retry_token(std::move(token), failure, Time::zero());
    strategy.record_success(std::move(token), Time::zero());
    CHECK(strategy.quota() == 500 - 6 * rules.quota.cost + 1);
  }
}

TEST_CASE("the Smithy example retries for a server's fault alone, without a suggested delay") {
  const RetryRules& rules = find_preset("standard", "smithy", "", "")->rules;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  strategy.fix_draws(0);
  const auto delay_s = [&](RetrySafety safety) {
    const Failure failure =
        strategy.failure_of({.status = 500,
                             .retry_after = Duration::seconds(3),
                             .traits = {.retry_safety = safety, .timeout = true}});
    const RetryToken token = strategy.refresh_retry_token(
        strategy.acquire_initial_token(Time::zero()), failure, Time::zero());
    CHECK(token.outcome() == Outcome::kRetry);
    return token.delay().in_seconds();
  };
  CHECK(delay_s(RetrySafety::kYes) == 3);
  CHECK(strategy.quota() == 490);  // a timeout
  CHECK(delay_s(RetrySafety::kMaybe) == 3);
  CHECK(strategy.quota() == 480);
  CHECK(delay_s(RetrySafety::kNo) == 0);
  CHECK(strategy.quota() == 475);  // any other error
}

TEST_CASE("a defect changes what it names and nothing else") {
  CHECK(find_defect("nonsense") == nullptr);
  const Defect* never_refilled = find_defect("quota-never-refilled");
  REQUIRE(never_refilled != nullptr);
  struct Row {
    const char *revision, *sdk;
    Refund refund;
  };
  const Row rows[] = {{"2.0", "botocore", Refund::kLast},
                      {"2.0", "go-v2", Refund::kLast},    // the price alone
                      {"2.0", "java-v2", Refund::kLast},  // "or credit"
                      {"2.0", "kotlin", Refund::kLast},
                      {"2.0", "php", Refund::kSharedLast},  // a price, whoever paid it
                      {"smithy", "", Refund::kNone}};
  for (const Row& row : rows) {
    INFO(row.sdk);
    RetryRules rules = find_preset("standard", row.revision, row.sdk, "")->rules;
    REQUIRE(never_refilled->applies(rules));
    never_refilled->apply(rules);
    CHECK(rules.quota.refund == row.refund);
    CHECK(rules.quota.credit == 0);
    CHECK(rules.quota.capacity == 500);
    CHECK(rules.quota.cost == 5);
  }
  // The preset of the SDK that has it is left as it is.
  RetryRules go = find_preset("adaptive", "2.0", "go-v2", "")->rules;
  never_refilled->apply(go);
  CHECK(go.quota.refund == Refund::kLast);
  CHECK(go.quota.credit == 0);
  CHECK(go.quota.timeout_cost == 10);
  CHECK_FALSE(
      find_defect("send-token-deadlock")->applies(find_preset("standard", "", "", "")->rules));
  CHECK_FALSE(find_defect("no-quota")->applies(find_preset("legacy", "", "", "")->rules));
}

TEST_CASE("SDKs start in the mode they are known for") {
  CHECK(default_mode("botocore", false) == "legacy");
  CHECK(default_mode("botocore", true) == "standard");
  CHECK(default_mode("rust", false) == "standard");
  CHECK(default_mode("go-v1", true) == "legacy");
  CHECK(default_mode("guidance", false) == std::nullopt);
  for (const Preset& p : presets()) {
    if (p.mode == "custom" || p.sdk.empty() || p.sdk == "guidance") continue;
    for (const bool after : {false, true}) {
      REQUIRE(default_mode(p.sdk, after).has_value());
      CHECK(find_preset(*default_mode(p.sdk, after), "", p.sdk, "") != nullptr);
    }
  }
}

// The version of an SDK in a scenario: what it chooses, and what goes before it.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

#include "unit/scenario/loading.hpp"

using namespace retrysim;

namespace {

const std::string kBase = R"(name = "small"
duration = "10s"
[service.api]
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", rate = 5 }
)";

std::string with_retry(const std::string& keys) {
  return kBase + "[client.web.retry]\n" + keys + "\n";
}

std::string revision_of(const std::string& keys, const Edits& edits = {}) {
  return value_of(load(with_retry(keys), edits), "client.web.retry.revision");
}

RetryRules rules_of(const std::string& keys, const Edits& edits = {}) {
  return load(with_retry(keys), edits).scenario.clients[0].retry;
}

}  // namespace

TEST_CASE("the version of the SDK chooses the revision") {
  CHECK(revision_of("mode = 'standard'\nsdk = 'botocore'") == "\"2.0\"");
  CHECK(revision_of("mode = 'standard'\nsdk = 'botocore@1.43.0'") == "\"2.0\"");
  CHECK(revision_of("mode = 'standard'\nsdk = 'botocore@1.44.0'") == "\"2.1\"");
  CHECK(revision_of("mode = 'adaptive'\nsdk = 'js-v3@3.1143.0'") == "\"2.1\"");
  CHECK(rules_of("mode = 'standard'\nsdk = 'botocore@1.44.0'").quota.cost == 14);
  CHECK(rules_of("mode = 'standard'\nsdk = 'botocore@1.44.0'\napi = 'dynamodb'").max_attempts == 4);
}

TEST_CASE("the version of the SDK chooses what else depends on it") {
  const std::string old = "mode = 'standard'\nsdk = 'botocore@1.29.27'";
  CHECK(rules_of(old).backoff.jitter_before_cap);
  CHECK_FALSE(rules_of("mode = 'standard'\nsdk = 'botocore'").backoff.jitter_before_cap);
  // Keys that are written go before it, a defect comes after it.
  CHECK_FALSE(rules_of(old + "\nbackoff.jitter_before_cap = false").backoff.jitter_before_cap);
  CHECK_FALSE(rules_of(old + "\ndefect = 'no-quota'").quota.enabled);
  CHECK(rules_of(old + "\ndefect = 'no-quota'").backoff.jitter_before_cap);
  // The resolved scenario says where the value comes from.
  for (const ResolvedKey& key : load(with_retry(old)).keys) {
    if (!key.path.ends_with("jitter_before_cap")) continue;
    CHECK(key.toml == "true");
    CHECK(key.origin_detail == "release botocore@1.29.27");
  }
}

TEST_CASE("the version of the SDK gives the mode where none is written") {
  CHECK(rules_of("sdk = 'botocore@1.44.0'").mode == RetryMode::kStandard);
  CHECK(rules_of("sdk = 'botocore@1.43.0'").mode == RetryMode::kLegacy);
  CHECK(rules_of("sdk = 'grpc-java@1.75.0'").mode == RetryMode::kCustom);
  CHECK(rules_of("sdk = 'grpc-java@1.75.0'").backoff.jitter_share == 0.5);
  CHECK_THAT(errors_of(with_retry("sdk = 'botocore'")), Catch::Contains("client.web.retry.mode"));
}

TEST_CASE("versions may be set and varied") {
  const std::string plain = "mode = 'standard'";
  CHECK(revision_of(plain, {"client.*.retry.sdk=botocore@1.44.0"}) == "\"2.1\"");
  CHECK(revision_of(plain, {"client.web.retry.sdk=\"botocore@1.34.0\""}) == "\"2.0\"");
}

TEST_CASE("a resolved scenario with a version loads back to the same rules") {
  for (const char* sdk : {"botocore@1.29.27", "js-v3@3.700.0", "kotlin@1.0.0", "php@3.403.3"}) {
    INFO(sdk);
    const LoadedScenario first =
        load(with_retry("mode = 'standard'\nsdk = '" + std::string(sdk) + "'"));
    const LoadedScenario again = load(to_toml(first, false));
    CHECK(to_toml(again, false) == to_toml(first, false));
  }
}

TEST_CASE("every preset as it is written with all its keys is read again") {
  for (const Preset& preset : presets()) {
    if (preset.mode == "none" || preset.api != "default") continue;
    std::string keys = "mode = '" + std::string(preset.mode) + "'";
    if (!preset.sdk.empty()) keys += "\nsdk = '" + std::string(preset.sdk) + "'";
    if (!preset.revision.empty()) keys += "\nrevision = '" + std::string(preset.revision) + "'";
    INFO(keys);
    const LoadedScenario first = load(with_retry(keys));
    const LoadedScenario again = load(to_toml(first, false));
    CHECK(to_toml(again, false) == to_toml(first, false));
  }
}

TEST_CASE("a version that is none, or unknown, is an error with its place") {
  for (const char* sdk : {"botocore@", "botocore@latest", "botocore@1.2.0", "guidance@1.0"}) {
    INFO(sdk);
    const std::string errors =
        errors_of(with_retry("mode = 'standard'\nsdk = '" + std::string(sdk) + "'"));
    CHECK_THAT(errors, Catch::Contains("demo.toml:9:"));
    CHECK_THAT(errors, Catch::Contains("client.web.retry.sdk = \"" + std::string(sdk) + "\": "));
  }
  CHECK_THAT(errors_of(with_retry("mode = 'standard'\nsdk = 'botocore@latest'")),
             Catch::Contains("1.34.107 (") && Catch::Contains("1.44.0 ("));
  CHECK_THAT(errors_of(with_retry("mode = 'standard'\nsdk = 'cobol@1.0'")),
             Catch::Contains("no versions of \"cobol\""));
}

TEST_CASE("a revision that the version does not have is an error with its place") {
  const auto errors = [](const char* sdk, const char* revision) {
    return errors_of(with_retry("mode = 'standard'\nsdk = '" + std::string(sdk) +
                                "'\nrevision = '" + revision + "'"));
  };
  CHECK_THAT(errors("botocore@1.34.0", "2.1"),
             Catch::Contains("demo.toml:10:") &&
                 Catch::Contains("client.web.retry.revision = \"2.1\"") &&
                 Catch::Contains("botocore@1.34.0 does not have that revision"));
  CHECK_THAT(errors("botocore@1.44.0", "2.0"), Catch::Contains("does not have that revision"));
  CHECK(errors("botocore@1.43.3", "2.1") == "");  // which AWS_NEW_RETRIES_2026 switches on
  CHECK(errors("botocore@1.43.3", "2.0") == "");
  CHECK(errors("js-v3@3.1143.0", "2.0") == "");  // with the packages of a lock file
}

TEST_CASE("proportional jitter and budgets by interval are keys") {
  const RetryRules rules = rules_of(
      "mode = 'standard'\nbackoff = { jitter = 'proportional', jitter_share = 0.3 }\n"
      "budget = { kind = 'interval', share = 0.25, minimum = 4, window = '5s' }");
  CHECK(rules.backoff.jitter == Jitter::kProportional);
  CHECK(rules.backoff.throttle_jitter == Jitter::kProportional);
  CHECK(rules.backoff.jitter_share == 0.3);
  CHECK(rules.budget.kind == BudgetKind::kInterval);
  CHECK(rules.budget.window == Duration::seconds(5));
  CHECK(rules_of("mode = 'standard'\nbackoff.jitter = 'proportional'").backoff.jitter_share == 0.2);
  CHECK_THAT(errors_of(with_retry("mode = 'standard'\nbackoff.jitter_share = 1.5")),
             Catch::Contains("jitter_share"));
  CHECK(rules_of("mode = 'standard'\nsdk = 'ruby'\nrefreshable_credentials = true")
            .errors.refreshable_credentials);
  CHECK_THAT(errors_of(with_retry("mode = 'standard'\nrefreshable_credentials = true")),
             Catch::Contains("refreshable_credentials"));
}

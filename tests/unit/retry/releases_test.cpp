// What the version of an SDK decides.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

#include <set>
#include <string>

using namespace retrysim;

namespace {

RetryRules rules_of(const char* mode, const char* revision, std::string_view sdk,
                    const char* api = "") {
  const Preset* preset = find_preset(mode, revision, sdk, api);
  REQUIRE(preset != nullptr);
  return rules_of_release(*preset, sdk);
}

}  // namespace

TEST_CASE("every turning point has a version, a change and rows to change") {
  std::set<std::string> seen, names;
  std::string_view last;
  for (const TurningPoint& p : turning_points()) {
    INFO(p.sdk << ' ' << p.version);
    const std::string release = std::string(p.sdk) + "@" + std::string(p.version);
    CHECK(version_problem(release) == "");
    CHECK_FALSE(p.change.empty());
    CHECK(seen.insert(release).second);
    if (p.sdk != last) {
      CHECK(names.insert(std::string(p.sdk)).second);  // those of one name are together
      CHECK_FALSE(p.mode.empty());
      CHECK(p.before == nullptr);
    }
    last = p.sdk;
    // A release starts in rules that exist.
    CHECK(find_preset(release_mode(release), release_revision(release), release, "") != nullptr);
    const std::string later = release + ".1";  // in order
    CHECK(release_revision(later) == release_revision(release));
    CHECK(canonical_sdk(release) == canonical_sdk(p.sdk));
  }
  for (const Preset& p : presets()) {
    const bool is_text = p.sdk == "c-io" || p.sdk == "guidance" || p.mode == "custom";
    CHECK((is_text || p.sdk.empty() || !turning_points(p.sdk).empty()));
  }
}

TEST_CASE("the version decides from which release on revision 2.1 is the default") {
  const auto revision = [](const char* sdk) { return std::string(release_revision(sdk)); };
  CHECK(revision("botocore@1.43.99") == "2.0");
  CHECK(revision("botocore@1.44.0") == "2.1");
  CHECK(revision("botocore@1.44") == "2.1");
  CHECK(revision("botocore@v1.44.0") == "2.1");
  CHECK(revision("botocore@2.0") == "2.1");      // newer than all that are known
  CHECK(revision("botocore@1.100.0") == "2.1");  // numbers, not text
  CHECK(revision("botocore@1.5") != "2.1");
  CHECK(revision("boto3@1.44.0") == "2.1");
  CHECK(revision("cli@2.39.9") == "2.0");
  CHECK(revision("aws-cli@2.40.0") == "2.1");
  CHECK(revision("go-v2@1.47.9") == "2.0");
  CHECK(revision("go-v2@1.48.0") == "2.1");
  CHECK(revision("php@3.403.2") == "2.0");
  CHECK(revision("php@3.403.3") == "2.1");
  CHECK(revision("ruby@3.266.0") == "2.0");
  CHECK(revision("ruby@3.267.0") == "2.1");
  CHECK(revision("cpp@1.11.925") == "2.0");
  CHECK(revision("cpp@1.11.926") == "2.1");
  CHECK(revision("dotnet@4.0.102.9") == "2.0");
  CHECK(revision("dotnet@4.0.103.0") == "2.1");
  CHECK(revision("powershell@5.0.331") == "2.0");
  CHECK(revision("powershell@5.0.332") == "2.1");
  CHECK(revision("rust@1.13.1") == "2.0");
  CHECK(revision("rust@1.13.2") == "2.1");
  CHECK(revision("java-v2@2.99.0") == "2.0");
  CHECK(revision("kotlin@1.9.0") == "2.0");
  CHECK(revision("js-v3@3.700.0") == "2.0");
  CHECK(revision("js-v3@3.1143.0") == "2.1");  // as npm installs it
  CHECK(revision("js-v3@3.1166.0") == "2.1");
  CHECK(revision("smithy-core@3.39.0") == "2.0");
  CHECK(revision("smithy-core@3.40.0") == "2.1");
  CHECK(revision("botocore").empty());
  CHECK(find_preset("standard", "", "botocore@1.44.0", "") ==
        find_preset("standard", "2.1", "botocore", ""));
  CHECK(find_preset("standard", "", "botocore@1.43.0", "") ==
        find_preset("standard", "2.0", "botocore", ""));
}

TEST_CASE("the version decides in which mode an SDK starts") {
  CHECK(release_mode("botocore@1.43.0") == "legacy");
  CHECK(release_mode("botocore@1.44.0") == "standard");
  CHECK(release_mode("aws-cli@1.32.0") == "legacy");
  CHECK(release_mode("aws-cli@2.15.0") == "standard");
  CHECK(release_mode("dotnet@3.7.0") == "legacy");
  CHECK(release_mode("dotnet@4.0.1") == "standard");
  CHECK(release_mode("grpc-go@1.70.0") == "custom");
  CHECK(release_mode("botocore").empty());
}

TEST_CASE("releases before a change have the rules of before") {
  CHECK(rules_of("standard", "", "botocore@1.34.106").backoff.jitter_before_cap);
  CHECK(rules_of("adaptive", "", "botocore@1.29.27").backoff.jitter_before_cap);
  CHECK_FALSE(rules_of("standard", "", "botocore@1.34.107").backoff.jitter_before_cap);
  CHECK_FALSE(rules_of("legacy", "", "botocore@1.29.27").backoff.jitter_before_cap);
  CHECK_FALSE(rules_of("standard", "", "botocore").backoff.jitter_before_cap);

  CHECK(rules_of("standard", "", "js-v3@3.700.0").retry_after == RetryAfter::kIgnore);
  CHECK(rules_of("standard", "", "js-v3@3.700.0").quota.refund == Refund::kCredit);
  CHECK(rules_of("standard", "", "js-v3@3.1143.0").retry_after == RetryAfter::kClamp);
  CHECK(rules_of("standard", "2.0", "js-v3@3.1143.0").retry_after == RetryAfter::kClamp);

  const RetryRules first = rules_of("standard", "", "kotlin@0.20.0");
  CHECK(first.quota.on_empty == QuotaOnEmpty::kWait);
  CHECK(first.quota.refill_rate == 10);
  CHECK(first.quota.refund == Refund::kCredit);
  CHECK(first.backoff.throttle_base == Duration::milliseconds(10));
  const RetryRules later = rules_of("standard", "", "kotlin@1.6.33");
  CHECK(later.quota.on_empty == QuotaOnEmpty::kFail);
  CHECK(later.quota.refund == Refund::kLast);
  CHECK(later.backoff.throttle_base == Duration::milliseconds(10));
  CHECK(rules_of("standard", "", "smithy-kotlin@1.6.14").backoff.throttle_base ==
        Duration::seconds(1));

  CHECK(rules_of("adaptive", "", "rust@1.8.0").rate_limit.wait == SendTokenWait::kReserve);
  CHECK(rules_of("adaptive", "", "rust@1.9.0").rate_limit.wait == SendTokenWait::kQueue);
  CHECK(rules_of("standard", "", "rust@1.8.0").rate_limit.wait ==
        find_preset("standard", "2.0", "rust", "")->rules.rate_limit.wait);
  CHECK(rules_of("adaptive", "", "smithy-kotlin@1.6.8").rate_limit.wait == SendTokenWait::kQueue);
  CHECK(rules_of("adaptive", "", "smithy-kotlin@1.6.9").rate_limit.wait == SendTokenWait::kRecheck);

  const auto grpc = [](const char* sdk) { return rules_of("custom", "", sdk).backoff; };
  CHECK(grpc("grpc-go@1.68.0").jitter == Jitter::kFull);
  CHECK(grpc("grpc-go@1.69.0").jitter == Jitter::kProportional);
  CHECK(grpc("grpc-java@1.70.0").jitter == Jitter::kFull);
  CHECK(grpc("grpc-java@1.70.0").base == Duration::milliseconds(100));
  CHECK(grpc("grpc-java@1.70.0").throttle_base == Duration::milliseconds(100));
  CHECK(grpc("grpc-java@1.70.0").cap == Duration::seconds(1));
  CHECK(grpc("grpc-java@1.80.0").jitter_share == 0.2);
  CHECK(grpc("grpc-js@1.13.4").throttle_jitter == Jitter::kFull);
  CHECK(grpc("grpc-js@1.14.0").throttle_jitter == Jitter::kProportional);
  // By mistake a factor of 0.4 to 1.2: of 100 ms from 40 to 120, of the cap of 1 s up to 1.2 s.
  const BackoffRules wide = grpc("grpc-java@1.71.0");
  CHECK(wide.base * 4 == Duration::milliseconds(320));
  CHECK(wide.jitter_share == 0.5);
  CHECK(wide.cap == Duration::milliseconds(800));
}

TEST_CASE("which revisions a release offers") {
  CHECK_FALSE(release_offers("botocore@1.43.2", "2.1"));
  CHECK(release_offers("botocore@1.43.3", "2.1"));
  CHECK(release_offers("botocore@1.43.3", "2.0"));
  CHECK_FALSE(release_offers("botocore@1.44.0", "2.0"));
  CHECK(release_offers("botocore", "2.1"));
  CHECK(release_offers("js-v3@3.1143.0", "2.0"));
  // No release has a revision, or modes, that came later.
  for (const char* sdk : {"go-v2@1.41.12", "cpp@1.0.0", "php@3.379.9", "rust@1.0.0", "kotlin@1.8.9",
                          "kotlin@1.6.34", "swift@1.8.23", "ruby@3.247.0"}) {
    INFO(sdk);
    CHECK_FALSE(release_offers(sdk, "2.1"));
    CHECK(release_offers(sdk, "2.0"));
  }
  for (const char* sdk : {"go-v2@1.42.0", "php@3.380.0", "kotlin@1.9.0", "rust@1.10.1"}) {
    INFO(sdk);
    CHECK(release_offers(sdk, "2.1"));
    CHECK(release_offers(sdk, "2.0"));
  }
  CHECK_FALSE(release_offers("cpp@1.11.919", "2.1"));
  CHECK(release_offers("cpp@1.11.920", "2.1"));
  CHECK(release_offers("cpp@1.11.920", "2.0"));
  CHECK_FALSE(release_offers("php@3.133.47", "2.0"));
  CHECK(release_offers("php@3.134.0", "2.0"));
  CHECK_FALSE(release_offers("java-v2@2.10.81", "2.0"));
  CHECK(release_offers("java-v2@2.10.82", "2.0"));
  CHECK_FALSE(release_offers("java-v2@2.43.99", "2.1"));
  CHECK_FALSE(release_offers("ruby@3.90.1", "2.0"));
  CHECK(release_offers("ruby@3.91.0", "2.0"));
}

TEST_CASE("an SDK that is not named with a release has the newest rules of all") {
  // The limit of urllib3, as any other rule, is that of the newest release.
  CHECK(rules_of("custom", "", "urllib3").retry_after_max == Duration::seconds(21'600));
  CHECK(rules_of("custom", "", "urllib3@2.6.3").retry_after_max == Duration::seconds(21'600));
  CHECK(rules_of("custom", "", "urllib3@2.6.2").retry_after_max == Duration::max());
  CHECK(rules_of("standard", "2.1", "go-v2").errors.status_429 == Status429::kThrottling);
  CHECK(rules_of("standard", "2.1", "go-v2@1.47.0").errors.status_429 == Status429::kNotRetryable);
  // Standard mode of Java began with the backoff of legacy mode, and then had another one.
  const auto java = [](const char* version, const char* api = "default") {
    return rules_of("standard", "2.0", std::string("java-v2@") + version, api).backoff;
  };
  CHECK(java("2.10.82").base == Duration::milliseconds(100));
  CHECK(java("2.10.82").throttle_base == Duration::milliseconds(500));
  CHECK(java("2.17.16").throttle_jitter == Jitter::kEqual);
  CHECK(java("2.17.16", "dynamodb").base == Duration::milliseconds(25));
  for (const char* version : {"2.17.17", "2.17.57"}) {
    CHECK(java(version).base == Duration::seconds(1));
    CHECK(java(version).throttle_base == Duration::seconds(1));
    CHECK(java(version).throttle_jitter == Jitter::kFull);
    CHECK(java(version, "dynamodb").base == Duration::milliseconds(25));
  }
  CHECK(java("2.17.58").base == Duration::milliseconds(100));
  CHECK(java("2.17.58").throttle_base == Duration::seconds(1));
  CHECK(rules_of("legacy", "", "java-v2@2.0.0").backoff.throttle_jitter == Jitter::kEqual);
  CHECK(rules_of("standard", "", "rust").errors.classifier == Classifier::kStandard);
  CHECK(rules_of("standard", "", "rust@1.8.17").errors.classifier == Classifier::kRustOf2025);
  CHECK(rules_of("legacy", "", "js-v2@2.0.23").backoff.jitter == Jitter::kNone);
  CHECK(rules_of("legacy", "", "js-v2@2.1693.0").backoff.jitter == Jitter::kFull);
}

TEST_CASE("the releases of the announcement have revision 2.1 by default, those before do not") {
  struct Row {
    const char *before, *since;
  };
  for (const Row& row :
       {Row{"botocore@1.43.99", "botocore@1.44.0"}, Row{"cli@2.39.99", "cli@2.40.0"},
        Row{"go-v2@1.47.99", "go-v2@1.48.0"}, Row{"php@3.403.2", "php@3.403.3"},
        Row{"ruby@3.266.9", "ruby@3.267.0"}, Row{"cpp@1.11.925", "cpp@1.11.926"},
        Row{"dotnet@4.0.102", "dotnet@4.0.103.0"}, Row{"swift@1.8.23", "swift@1.8.24"},
        Row{"powershell@5.0.331", "powershell@5.0.332"}, Row{"rust@1.13.1", "rust@1.13.2"}}) {
    INFO(row.since);
    CHECK(release_revision(row.before) == "2.0");
    CHECK(release_revision(row.since) == "2.1");
    CHECK(release_mode(row.since) == "standard");
  }
  CHECK(release_revision("smithy-python@0.7.0") == "2.0");
  CHECK_FALSE(release_offers("smithy-python@0.7.0", "2.1"));
  CHECK(release_revision("smithy-python@0.8.0") == "2.1");
  CHECK_FALSE(release_offers("smithy-python@0.8.0", "2.0"));
  CHECK_FALSE(release_offers("js-v3@3.1166.0", "2.0"));
  CHECK(release_offers("js-v3@3.1165.0", "2.0"));
}

TEST_CASE("a version that is none, or is not known, is told with those that are") {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != text.npos;
  };
  for (const char* sdk : {"botocore@", "botocore@one", "botocore@1..2", "botocore@1.44.0-rc1",
                          "botocore@-1", "botocore@1.", "botocore@1.2.3.4.5.6.7",
                          "botocore@99999999999", "botocore@1.44.0 ", "botocore@v"}) {
    INFO(sdk);
    const std::string problem = version_problem(sdk);
    CHECK(has(problem, "is not a version"));
    CHECK(has(problem, "1.34.107 ("));
    CHECK(has(problem, "1.44.0 ("));
  }
  CHECK(has(version_problem("botocore@1.14.9"), "not known"));
  CHECK(has(version_problem("botocore@1.14.9"), "1.15.0 ("));
  CHECK(has(version_problem("js-v2@3.1.0"), "js-v3@3.1.0"));
  CHECK(has(version_problem("guidance@1.0"), "no versions"));
  CHECK(has(version_problem("cobol@1.0"), "no versions"));
  CHECK(version_problem("botocore") == "");
  CHECK(version_problem("botocore@77.0") == "");
}

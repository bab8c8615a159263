// What an upgrade of an SDK is, and what it changes in one client. Expected numbers follow by hand
// from the rules of the releases (sim/retry/presets.md).
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/sdk_upgrade.hpp>

#include "unit/experiment/request_file.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace retrysim {
namespace {

std::string sides(const std::string& text, std::string_view mode = {}) {
  const SdkUpgrade u = parse_sdk_upgrade(text, mode);
  const auto side = [](const SdkRelease& r) {
    return r.name() + " (" + r.mode + (r.revision.empty() ? "" : " " + r.revision) + ")";
  };
  return side(u.from) + " -> " + side(u.to);
}

std::string mistake(const std::string& text, std::string_view mode = {}) {
  try {
    parse_sdk_upgrade(text, mode);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST_CASE("an upgrade is named by its SDK, its releases, or the change of the defaults",
          "[experiment][upgrade]") {
  CHECK(sides("botocore") == "botocore 1.43.3 (legacy) -> botocore 1.44.0 (standard 2.1)");
  CHECK(sides("botocore@1.43.0..1.44.0") ==
        "botocore 1.43.0 (legacy) -> botocore 1.44.0 (standard 2.1)");
  CHECK(sides("botocore@1.30.0") == "botocore 1.30.0 (legacy) -> botocore 1.44.0 (standard 2.1)");
  CHECK(sides("dotnet") == "dotnet 4.0.4.0 (standard 2.0) -> dotnet 4.0.103.0 (standard 2.1)");
  // Whoever has set the mode keeps it.
  CHECK(sides("botocore", "standard") ==
        "botocore 1.43.3 (standard 2.0) -> botocore 1.44.0 (standard 2.1)");
  CHECK(sides("botocore", "legacy") == "botocore 1.43.3 (legacy) -> botocore 1.44.0 (legacy)");
  // Opting in: asked for by naming a release twice, or because the defaults have not changed.
  CHECK(sides("botocore@1.43.5..1.43.5") ==
        "botocore 1.43.5 (legacy) -> botocore 1.43.5 with AWS_NEW_RETRIES_2026 (standard 2.1)");
  CHECK(sides("java-v2") ==
        "java-v2 2.44.0 (legacy) -> java-v2 2.44.0 with AWS_NEW_RETRIES_2026 (standard 2.1)");
}

TEST_CASE("an upgrade that does not exist is refused with the reason", "[experiment][upgrade]") {
  const auto says = [](const std::string& text, std::string_view what, std::string_view mode = {}) {
    INFO(mistake(text, mode));
    CHECK(mistake(text, mode).find(what) != std::string::npos);
  };
  says("bottocore", "no releases of 'bottocore' are known");
  says("urllib3", "no releases of 'urllib3' are known");
  says("botocore@1.44.0..1.43.0", "is older than");
  says("botocore@1.44.0", "nothing to upgrade to");
  says("botocore@0.1", "are not known");
  says("botocore@new", "is not a version");
  says("botocore", "'fast' is no retry mode", "fast");
  says("java-v2@2.1.0..2.44.0", "has no standard mode", "standard");
}

TEST_CASE("the SDKs whose defaults changed are those of the announcement",
          "[experiment][upgrade]") {
  // Java 2.x and Kotlin had no date yet; smithy-* are for other services than those of AWS.
  std::vector<std::string> sdks = upgraded_sdks();
  for (const char* name : {"botocore", "boto3", "aws-cli", "js-v3", "cpp", "dotnet", "powershell",
                           "ruby", "php", "go-v2", "rust", "swift"}) {
    CAPTURE(name);
    CHECK(std::ranges::count(sdks, name) == 1);
  }
  CHECK(std::ranges::count(sdks, "java-v2") == 0);
  CHECK(std::ranges::count(sdks, "kotlin") == 0);
}

TEST_CASE("the release to stay below is the first without the old rules by default",
          "[experiment][upgrade]") {
  for (const std::string& sdk : upgraded_sdks()) {
    CAPTURE(sdk);
    const SdkUpgrade upgrade = parse_sdk_upgrade(sdk, "standard");
    std::string border;
    for (const std::string& choice : upgrade_choices(upgrade)) {
      const std::string before = "stay below " + sdk + " ";
      const auto at = choice.find(before);
      if (at == choice.npos) continue;
      const auto from = at + before.size();
      border = choice.substr(from, choice.find_first_of(" ,", from) - from);
      if (border.ends_with('.')) border.pop_back();
    }
    REQUIRE(!border.empty());
    const auto points = turning_points(sdk);
    const auto at = std::ranges::find(points, border, &TurningPoint::version);
    REQUIRE(at != points.end());
    CHECK(release_revision(sdk + "@" + border) == "2.1");
    for (auto p = points.begin(); p != at; ++p) {
      CHECK(release_revision(sdk + "@" + std::string(p->version)) == "2.0");
    }
  }
}

TEST_CASE("a fleet keeps its own keys, and what is replaced is said", "[experiment][upgrade]") {
  const auto study = [](const std::string& retry, std::string_view mode = {}) {
    FleetScenario fleet{"fleet.toml", {}, {}};
    const test::RequestFile file(
        "name = \"fleet\"\nduration = \"30s\"\n[service.api]\nservers = 4\n"
        "service_time = \"20ms\"\n[client.web]\narrivals = { process = \"poisson\", total_rate = "
        "50 "
        "}\nattempt_timeout = \"1s\"\nretry = { " +
        retry + " }\n");
    fleet.file = file.scenario();
    return load_upgrade(parse_sdk_upgrade("botocore", mode), fleet);
  };
  const UpgradeStudy own =
      study("mode = \"standard\", sdk = \"botocore@1.43.3\", max_attempts = 7");
  CHECK(own.upgrade.from.rules.max_attempts == 7);
  CHECK(own.upgrade.to.rules.max_attempts == 7);
  CHECK(own.with_other_rules.empty());
  REQUIRE(own.replaced.size() == 1);
  CHECK(
      own.replaced[0] ==
      "client.web: the scenario says standard mode of botocore 1.43.3; compared are legacy mode of "
      "botocore 1.43.3 and standard mode, revision 2.1, of botocore 1.44.0. To keep that, ask for "
      "standard mode.");
  CHECK(study("mode = \"legacy\", sdk = \"botocore@1.43.3\"").replaced.empty());
  CHECK(study("mode = \"standard\", sdk = \"botocore\"", "standard").replaced.empty());
  REQUIRE(study("mode = \"legacy\", sdk = \"botocore@1.30.0\"").replaced.size() == 1);
}

TEST_CASE("the same failures are played by both releases", "[experiment][upgrade]") {
  const SdkUpgrade u = parse_sdk_upgrade("botocore");
  Response unavailable;
  unavailable.status = 503;
  const auto s = [](double seconds) { return Duration::from_seconds(seconds); };

  // Legacy: 5 attempts, U(0, 1) x 2^i s, no quota.
  const PlayedFailures before = play_failures(u.from.rules, unavailable);
  CHECK(before.delays == std::vector<Duration>{s(1), s(2), s(4), s(8)});
  CHECK(before.retries == 4 * kPlayedCalls);
  // Standard 2.1: 3 attempts from 50 ms; 500 tokens pay for 35 retries of 14.
  const PlayedFailures after = play_failures(u.to.rules, unavailable);
  CHECK(after.delays == std::vector<Duration>{s(0.05), s(0.1)});
  CHECK(after.retries == 35);
  // Throttling costs 5 and starts at 1 s.
  Response throttled;
  throttled.status = 400;
  throttled.code = "ThrottlingException";
  const PlayedFailures slow = play_failures(u.to.rules, throttled);
  CHECK(slow.delays == std::vector<Duration>{s(1), s(2)});
  CHECK(slow.retries == 100);
}

TEST_CASE("users are told what opts in, and what keeps the old rules", "[experiment][upgrade]") {
  const std::vector<std::string> choices = upgrade_choices(parse_sdk_upgrade("botocore"));
  REQUIRE(choices.size() == 2);
  CHECK(choices[0] ==
        "To have the new rules now, set AWS_NEW_RETRIES_2026=true; botocore 1.43.3 and later and "
        "before 1.44.0 read it.");
  CHECK(choices[1] ==
        "To keep legacy mode, set AWS_RETRY_MODE=legacy, or retry_mode = legacy in the profile.");
  const std::vector<std::string> standard =
      upgrade_choices(parse_sdk_upgrade("botocore", "standard"));
  REQUIRE(standard.size() == 2);
  CHECK(standard[1] ==
        "To keep the old rules of standard mode, stay below botocore 1.44.0, which has no others.");
}

}  // namespace
}  // namespace retrysim

// Retry settings from the environment: the config file's format, and what goes before what.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/environment.hpp"

#include <catch2/catch.hpp>

#include "unit/scenario/loading.hpp"

#include <cstdlib>
#include <filesystem>

namespace retrysim::scenario {
namespace {

constexpr const char* kConfig =
    "# comment\n"
    "retry_mode = adaptive\n"
    "[default]\n"
    "region = eu-west-1\n"
    "retry_mode = standard   # why not\n"
    "s3 =\n"
    "  max_attempts = 77\n"
    "max_attempts=4\r\n"
    "[profile ci]\n"
    "\tretry_mode = legacy\n"
    "max_attempts = 9\n"
    "[ profile\tspaced ]\n"
    "max_attempts = 2\n"
    "[ci]\n"
    "max_attempts = 99\n"
    "[profiles]\n"
    "max_attempts = 98\n";

/// Sets variables for one test and clears all that concern retries afterwards.
class Variables {
 public:
  Variables() {
    clear();
    setenv("AWS_CONFIG_FILE", "/nonexistent/config", 1);
  }
  ~Variables() { clear(); }
  void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

 private:
  static void clear() {
    for (const char* name : {"AWS_RETRY_MODE", "AWS_MAX_ATTEMPTS", "AWS_CONFIG_FILE", "AWS_PROFILE",
                             "AWS_NEW_RETRIES_2026"}) {
      unsetenv(name);
    }
  }
};

constexpr const char* kScenario =
    "name='e'\nduration='1s'\n[service.s]\nservice_time='1ms'\n[client.c]\n"
    "arrivals={process='poisson', rate=1}\nretry={from_environment=true}\n";

std::string origin_of(const LoadedScenario& loaded, std::string_view path) {
  for (const ResolvedKey& key : loaded.keys) {
    if (key.path == path) return key.origin_detail;
  }
  return "no such key";
}

TEST_CASE("a profile of the shared config file") {
  CHECK(find_in_profile(kConfig, "default", "retry_mode") == "standard");
  CHECK(find_in_profile(kConfig, "default", "max_attempts") == "4");  // not that of s3
  CHECK(find_in_profile(kConfig, "ci", "max_attempts") == "9");       // not that of [ci]
  CHECK(find_in_profile(kConfig, "ci", "retry_mode") == std::nullopt);
  CHECK(find_in_profile(kConfig, "spaced", "max_attempts") == "2");
  CHECK(find_in_profile(kConfig, "s", "max_attempts") == std::nullopt);
  CHECK(find_in_profile(kConfig, "nobody", "max_attempts") == std::nullopt);
  CHECK(find_in_profile("", "default", "retry_mode") == std::nullopt);
  CHECK(find_in_profile("[default", "default", "retry_mode") == std::nullopt);
}

TEST_CASE("without settings an SDK starts in its own mode") {
  Variables variables;
  CHECK(load(kScenario).scenario.clients[0].retry.mode == RetryMode::kLegacy);
  CHECK(load(kScenario, {"client.c.retry.sdk=rust"}).scenario.clients[0].retry.mode ==
        RetryMode::kStandard);
  variables.set("AWS_NEW_RETRIES_2026", "True");
  const LoadedScenario new_rules = load(kScenario);
  CHECK(new_rules.scenario.clients[0].retry.mode == RetryMode::kStandard);
  CHECK(new_rules.scenario.clients[0].retry.quota.cost == 14);
  // SDKs without those rules do not look at the variable; PHP and Go want it exactly so.
  const auto cost = [](const char* sdk) {
    return load(kScenario,
                {std::string("client.c.retry.sdk=") + sdk, "client.c.retry.mode=standard"})
        .scenario.clients[0]
        .retry.quota.cost;
  };
  CHECK(cost("java-v1") == 5);
  CHECK(cost("go-v2") == 5);
  variables.set("AWS_NEW_RETRIES_2026", "true");
  CHECK(cost("go-v2") == 14);
}

TEST_CASE("a config file that cannot be read is no config file") {
  Variables variables;
  variables.set("AWS_CONFIG_FILE", "/");
  CHECK(load(kScenario).scenario.clients[0].retry.mode == RetryMode::kLegacy);
}

TEST_CASE("the scenario goes before variables, and they before the config file") {
  Variables variables;
  const TemporaryFolder folder;
  const auto file = folder.write("config", kConfig);
  variables.set("AWS_CONFIG_FILE", file.string());
  LoadedScenario loaded = load(kScenario);
  const std::string from_file = file.string() + " [default]";
  CHECK(loaded.scenario.clients[0].retry.mode == RetryMode::kStandard);
  CHECK(loaded.scenario.clients[0].retry.max_attempts == 4);
  CHECK(origin_of(loaded, "client.c.retry.mode") == from_file);
  CHECK(origin_of(loaded, "client.c.retry.max_attempts") == from_file);

  variables.set("AWS_MAX_ATTEMPTS", "7");
  variables.set("AWS_RETRY_MODE", "adaptive");
  loaded = load(kScenario);
  CHECK(loaded.scenario.clients[0].retry.mode == RetryMode::kAdaptive);
  CHECK(loaded.scenario.clients[0].retry.max_attempts == 7);
  CHECK(origin_of(loaded, "client.c.retry.mode") == "AWS_RETRY_MODE");
  CHECK(to_toml(loaded, true).find("# environment AWS_MAX_ATTEMPTS") != std::string::npos);

  loaded = load(kScenario, {"client.c.retry.mode=standard", "client.c.retry.max_attempts=2"});
  CHECK(loaded.scenario.clients[0].retry.mode == RetryMode::kStandard);
  CHECK(loaded.scenario.clients[0].retry.max_attempts == 2);

  // What was resolved means the same without the environment.
  const std::string resolved = to_toml(load(kScenario), false);
  variables.set("AWS_RETRY_MODE", "legacy");
  variables.set("AWS_MAX_ATTEMPTS", "1");
  const RetryRules again = load(resolved).scenario.clients[0].retry;
  CHECK(again.mode == RetryMode::kAdaptive);
  CHECK(again.max_attempts == 7);
}

TEST_CASE("wrong settings are reported with their variable") {
  Variables variables;
  variables.set("AWS_RETRY_MODE", "standrad");
  CHECK_THAT(errors_of(kScenario), Catch::Contains("AWS_RETRY_MODE"));
  variables.set("AWS_RETRY_MODE", "standard");
  variables.set("AWS_MAX_ATTEMPTS", "many");
  CHECK_THAT(errors_of(kScenario), Catch::Contains("AWS_MAX_ATTEMPTS"));
  variables.set("AWS_MAX_ATTEMPTS", "unlimited");
  CHECK_THAT(errors_of(kScenario), Catch::Contains("AWS_MAX_ATTEMPTS = \"unlimited\" is wrong"));
  variables.set("AWS_MAX_ATTEMPTS", "3");
  variables.set("AWS_RETRY_MODE", "custom");
  CHECK_THAT(errors_of(kScenario), Catch::Contains("one of legacy, standard, adaptive"));
  variables.set("AWS_RETRY_MODE", "standard");
  variables.set("AWS_MAX_ATTEMPTS", "0");
  CHECK_THAT(errors_of(kScenario), Catch::Contains("AWS_MAX_ATTEMPTS"));
}

}  // namespace
}  // namespace retrysim::scenario

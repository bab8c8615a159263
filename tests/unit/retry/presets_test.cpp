// The table of presets: how it is searched, and that sim/retry/README.md shows the numbers that the
// program uses.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>
#include <retrysim/retry_strategy.hpp>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <fstream>
#include <set>
#include <string>
#include <vector>

using namespace retrysim;

namespace {

std::string or_dash(std::string_view text) { return std::string(text.empty() ? "-" : text); }

std::string length(Duration d) {
  if (d == Duration::max()) return "none";
  if (d.count() % 1'000'000'000 == 0) return fmt::format("{} s", d.count() / 1'000'000'000);
  return fmt::format("{} ms", d.count() / 1'000'000);
}

/// The row of the README's table for a preset.
std::string readme_row(const Preset& p) {
  const RetryRules& r = p.rules;
  const BackoffRules& b = r.backoff;
  const bool retries = r.max_attempts > 1;
  std::string backoff = "-", quota = "-";
  if (retries) {
    backoff = fmt::format("{} / {}, x {}, cap {}, {}", length(b.base), length(b.throttle_base),
                          b.factor, length(b.cap), name(b.jitter));
    if (b.throttle_jitter != b.jitter) backoff += fmt::format(" / {}", name(b.throttle_jitter));
    if (b.quantum > Duration::zero()) backoff += fmt::format(", steps of {}", length(b.quantum));
  }
  if (r.quota.enabled) {
    quota = fmt::format("{}: {} / {} / {}, +{}, {}", r.quota.capacity, r.quota.cost,
                        r.quota.throttle_cost, r.quota.timeout_cost, r.quota.credit,
                        name(r.quota.refund));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |", p.mode,
                     or_dash(p.revision), or_dash(p.sdk), p.api, r.max_attempts, backoff, quota,
                     retries ? name(r.retry_after) : "-", r.limit_send_rate ? "yes" : "no",
                     p.source);
}

std::vector<std::string> readme_lines() {
  std::ifstream file(RETRYSIM_TEST_DATA "/../../../sim/retry/README.md");
  REQUIRE(file.is_open());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the README shows every preset with the program's numbers and no other") {
  std::set<std::string> shown;
  for (const std::string& line : readme_lines()) {
    for (const char* mode : {"none", "legacy", "standard", "adaptive", "custom"}) {
      if (line.starts_with(fmt::format("| {} |", mode))) shown.insert(line);
    }
  }
  std::set<std::string> expected;
  for (const Preset& preset : presets()) expected.insert(readme_row(preset));
  CHECK(shown == expected);
}

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
  CHECK(find_preset("standard", "2.0", "java-v1", "default") == nullptr);
  CHECK(find_preset("legacy", "3.0", "botocore", "default") == nullptr);
  CHECK(find_preset("none", "", "cobol", "default") == nullptr);
}

TEST_CASE("adaptive is standard plus the send-rate limiter") {
  for (const Preset& p : presets()) {
    if (p.mode != "adaptive") {
      CHECK_FALSE(p.rules.limit_send_rate);
      continue;
    }
    const RetryRules& adaptive = p.rules;
    const RetryRules& standard = find_preset("standard", p.revision, p.sdk, p.api)->rules;
    CHECK(adaptive.limit_send_rate);
    CHECK(adaptive.max_attempts == standard.max_attempts);
    CHECK(adaptive.classifier == standard.classifier);
    CHECK(adaptive.backoff.base == standard.backoff.base);
    CHECK(adaptive.backoff.throttle_base == standard.backoff.throttle_base);
    CHECK(adaptive.backoff.cap == standard.backoff.cap);
    CHECK(adaptive.quota.cost == standard.quota.cost);
    CHECK(adaptive.quota.timeout_cost == standard.quota.timeout_cost);
    CHECK(adaptive.retry_after == standard.retry_after);
    CHECK(adaptive.long_poll_wait == standard.long_poll_wait);
  }
}

TEST_CASE("outcomes and classes have the names that results use") {
  const std::vector<std::string_view> outcomes = {
      "success",       "retry",         "max_attempts_exceeded", "quota_exceeded",
      "not_retryable", "no_send_token", "deadline_exceeded",     "unfinished"};
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

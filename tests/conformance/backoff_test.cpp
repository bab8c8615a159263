// Delays before retries: published upper bounds and ranges, and the moments of the jitter families.
// Statistical checks use a fixed seed. A mean of n draws is compared at 6 standard errors, a
// variance likewise (for a uniform law its standard error is the variance times sqrt(0.8 / n)): a
// false alarm at another seed has a probability below 2e-9 each.
//
// SPDX-License-Identifier: MIT
#include "csv_rows.hpp"

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

using namespace retrysim;
using retrysim::conformance::CsvRow;
using retrysim::conformance::read_csv;

namespace {

constexpr double kStandardErrors = 6;

/// The delay before retry `retry` with every uniform draw equal to `draw`.
Duration delay_with_draw(const BackoffRules& rules, ResponseClass response_class, int retry,
                         double draw) {
  RetryProgress token{.attempts = static_cast<std::uint32_t>(retry)};
  Draws draws(RandomKey(1, 0), {});
  return backoff_delay(rules, response_class, token, draws, draw);
}

const BackoffRules& backoff_of(std::string_view mode, std::string_view revision,
                               std::string_view sdk, std::string_view api) {
  const Preset* preset = find_preset(mode, revision, sdk, api);
  REQUIRE(preset != nullptr);
  return preset->rules.backoff;
}

std::vector<ResponseClass> classes_of(const std::string& text) {
  if (text == "throttling") return {ResponseClass::kThrottling};
  if (text == "transient") return {ResponseClass::kTransient, ResponseClass::kTimeout};
  REQUIRE(text == "any");
  return {ResponseClass::kTransient, ResponseClass::kTimeout, ResponseClass::kThrottling};
}

Draws draws_of(std::uint64_t entity, int attempt) {
  return Draws(RandomKey(7, 0), {.entity = entity,
                                 .attempt = static_cast<std::uint32_t>(attempt),
                                 .purpose = Purpose::kBackoff});
}

}  // namespace

TEST_CASE("standard mode's delays have the published upper bounds") {
  const auto rows =
      read_csv("backoff_delays.csv", "revision", "api", "class", "retry", "delay_s", "origin");
  CHECK(rows.size() == 39);
  for (const CsvRow& row : rows) {
    INFO(row.text("revision") << ' ' << row.text("api") << ' ' << row.text("class") << " retry "
                              << row.text("retry"));
    for (const char* mode : {"standard", "adaptive"}) {
      const BackoffRules& rules =
          backoff_of(mode, row.text("revision"), "botocore",
                     row.text("revision") == "2.0" ? "default" : row.text("api"));
      for (const ResponseClass c : classes_of(row.text("class"))) {
        const auto expected = std::llround(row.number("delay_s") * 1e9);
        CHECK(delay_with_draw(rules, c, row.integer("retry"), 1).count() == expected);
        CHECK(delay_with_draw(rules, c, row.integer("retry"), 0.25).count() == expected / 4);
        CHECK(delay_with_draw(rules, c, row.integer("retry"), 0).count() == 0);
      }
    }
  }
}

TEST_CASE("legacy delays have the published ranges") {
  const auto rows = read_csv("legacy_delays.csv", "sdk", "api", "class", "base_ms", "cap_ms",
                             "jitter", "retry", "min_ms", "max_ms", "origin");
  CHECK(rows.size() == 107);
  for (const CsvRow& row : rows) {
    INFO(row.text("sdk") << ' ' << row.text("api") << ' ' << row.text("class") << " retry "
                         << row.text("retry"));
    BackoffRules rules = backoff_of("legacy", "", row.text("sdk"), row.text("api"));
    if (!row.empty("base_ms")) {
      rules.base = rules.throttle_base = Duration::milliseconds(row.integer("base_ms"));
    }
    if (!row.empty("cap_ms")) rules.cap = Duration::milliseconds(row.integer("cap_ms"));
    if (row.text("jitter") == "none") rules.jitter = rules.throttle_jitter = Jitter::kNone;
    const int retry = row.integer("retry");
    const auto min_ns = std::llround(row.number("min_ms") * 1e6);
    const auto max_ns = std::llround(row.number("max_ms") * 1e6);
    for (const ResponseClass c : classes_of(row.text("class"))) {
      CHECK(delay_with_draw(rules, c, retry, 0).count() == min_ns);
      CHECK(delay_with_draw(rules, c, retry, 1).count() == max_ns);
      for (std::uint64_t entity = 0; entity < 200; ++entity) {
        Draws draws = draws_of(entity, retry);
        const RetryProgress token{.attempts = static_cast<std::uint32_t>(retry)};
        const std::int64_t delay = backoff_delay(rules, c, token, draws).count();
        CHECK(delay >= min_ns);
        CHECK(delay <= max_ns);
        if (row.text("sdk") == "java-v1") CHECK(delay % 1'000'000 == 0);
      }
    }
  }
}

TEST_CASE("standard 2.0 delays of SDKs that deviate have the published upper bounds") {
  const auto rows =
      read_csv("sdk_backoff_delays.csv", "sdk", "base_s", "retry", "delay_s", "origin");
  CHECK(rows.size() == 22);
  for (const CsvRow& row : rows) {
    INFO(row.text("sdk") << " retry " << row.text("retry"));
    BackoffRules rules = backoff_of("standard", "2.0", row.text("sdk"), "default");
    if (!row.empty("base_s")) {
      rules.base = rules.throttle_base = Duration::from_seconds(row.number("base_s"));
    }
    const auto delay = [&](double draw) {
      return delay_with_draw(rules, ResponseClass::kTransient, row.integer("retry"), draw).count();
    };
    CHECK(delay(1) == std::llround(row.number("delay_s") * 1e9));
    // aws-sdk-go-v2 waits exactly the cap, without jitter, from the fifth exponent on.
    const bool flat = row.text("sdk") == "go-v2" && row.integer("retry") >= 5;
    CHECK(delay(0) == (flat ? 20'000'000'000 : 0));
  }
}

TEST_CASE("jitter before the cap gives the delays of botocore before 1.34.107") {
  const auto rows = read_csv("botocore_old_delays.csv", "retry", "draw", "delay_s", "origin");
  CHECK(rows.size() == 35);
  BackoffRules rules = backoff_of("standard", "2.0", "botocore", "default");
  const BackoffRules later = rules;
  rules.jitter_before_cap = true;
  for (const CsvRow& row : rows) {
    INFO("retry " << row.text("retry") << ", draw " << row.text("draw"));
    const int retry = row.integer("retry");
    const double draw = row.number("draw"), expected = row.number("delay_s");
    const auto delay = [&](const BackoffRules& r) {
      return delay_with_draw(r, ResponseClass::kTransient, retry, draw).in_seconds();
    };
    CHECK(delay(rules) == expected);
    // The two agree while 2^n is below the cap of 20 s.
    CHECK((delay(later) == expected) == (retry <= 5));
  }
}

TEST_CASE("botocore's legacy helpers") {
  const auto rows = read_csv("botocore_legacy_helpers.csv", "function", "base_s", "factor",
                             "attempts", "min_s", "max_s", "origin");
  CHECK(rows.size() == 3);
  for (const CsvRow& row : rows) {
    BackoffRules rules;
    const bool random = row.text("base_s") == "rand";
    rules.base = random ? Duration::seconds(1) : Duration::seconds(row.integer("base_s"));
    rules.factor = row.number("factor");
    rules.jitter = random ? Jitter::kFull : Jitter::kNone;
    const int attempts = row.integer("attempts");
    const auto delay = [&](double draw) {
      return delay_with_draw(rules, ResponseClass::kTransient, attempts, draw).in_seconds();
    };
    CHECK(delay(0) == Approx(row.number("min_s")));
    CHECK(delay(1) == Approx(row.number("max_s")));
  }
}

TEST_CASE("jitter has the support, mean and variance of its family", "[repetitive]") {
  const auto rows = read_csv("jitter_moments.csv", "jitter", "base_s", "factor", "cap_s", "retry",
                             "min_s", "max_s", "mean_s", "variance_s2", "origin");
  CHECK(rows.size() == 12);
  constexpr int kDraws = 100'000;
  for (const CsvRow& row : rows) {
    INFO(row.text("jitter") << " retry " << row.text("retry"));
    BackoffRules rules;
    rules.base = Duration::from_seconds(row.number("base_s"));
    rules.factor = row.number("factor");
    rules.cap = Duration::from_seconds(row.number("cap_s"));
    for (const Jitter jitter : {Jitter::kNone, Jitter::kFull, Jitter::kEqual}) {
      if (name(jitter) == row.text("jitter")) rules.jitter = jitter;
    }
    REQUIRE(name(rules.jitter) == row.text("jitter"));
    const RetryProgress token{.attempts = static_cast<std::uint32_t>(row.integer("retry"))};
    double sum = 0, squares = 0, smallest = 1e9, largest = 0;
    const double mean = row.number("mean_s");
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      Draws draws = draws_of(i, row.integer("retry"));
      const double delay =
          backoff_delay(rules, ResponseClass::kTransient, token, draws).in_seconds();
      sum += delay;
      squares += (delay - mean) * (delay - mean);
      smallest = std::min(smallest, delay);
      largest = std::max(largest, delay);
    }
    const double variance = row.number("variance_s2");
    const double width = row.number("max_s") - row.number("min_s");
    CHECK(sum / kDraws ==
          Approx(mean).margin(kStandardErrors * std::sqrt(variance / kDraws) + 1e-12));
    CHECK(squares / kDraws ==
          Approx(variance).margin(kStandardErrors * variance * std::sqrt(0.8 / kDraws) + 1e-12));
    CHECK(smallest >= row.number("min_s") - 1e-9);
    CHECK(largest <= row.number("max_s") + 1e-9);
    // The extremes of 100 000 draws come within 1e-3 of the ends; missing one: exp(-100).
    CHECK(smallest <= row.number("min_s") + 1e-3 * width + 1e-12);
    CHECK(largest >= row.number("max_s") - 1e-3 * width - 1e-12);
  }
}

TEST_CASE("decorrelated jitter has the computed moments", "[repetitive]") {
  const auto rows = read_csv("decorrelated_jitter.csv", "base_s", "cap_s", "retry", "quantity",
                             "value", "origin");
  CHECK(rows.size() == 14);
  constexpr int kRequests = 200'000;
  for (const CsvRow& row : rows) {
    INFO("cap " << row.text("cap_s") << ", retry " << row.text("retry") << ", "
                << row.text("quantity"));
    BackoffRules rules;
    rules.base = Duration::from_seconds(row.number("base_s"));
    rules.cap = Duration::from_seconds(row.number("cap_s"));
    rules.jitter = Jitter::kDecorrelated;
    const int retries = row.integer("retry");
    double sum = 0, squares = 0;
    int at_cap = 0;
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      RetryProgress token;
      for (int retry = 1; retry <= retries; ++retry) {
        token.attempts = static_cast<std::uint32_t>(retry);
        Draws draws = draws_of(i, retry);
        token.previous_delay = backoff_delay(rules, ResponseClass::kTransient, token, draws);
      }
      const double delay = token.previous_delay.in_seconds();
      sum += delay;
      squares += delay * delay;
      at_cap += token.previous_delay == rules.cap;
    }
    const double mean = sum / kRequests;
    const double variance = squares / kRequests - mean * mean;
    const double value = row.number("value");
    if (row.text("quantity") == "mean_s") {
      CHECK(mean == Approx(value).margin(kStandardErrors * std::sqrt(variance / kRequests)));
    } else if (row.text("quantity") == "sd_s") {
      // The variance of a bounded law has a standard error of at most range^2 / (2 sqrt(n)).
      const double range = row.number("cap_s") - row.number("base_s");
      CHECK(variance ==
            Approx(value * value)
                .margin(kStandardErrors * range * range / 2 / std::sqrt(double{kRequests})));
    } else {
      REQUIRE(row.text("quantity") == "share_at_cap");
      CHECK(double{1} * at_cap / kRequests ==
            Approx(value).margin(kStandardErrors * std::sqrt(value * (1 - value) / kRequests)));
    }
  }
}

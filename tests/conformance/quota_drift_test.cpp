// Where the retry quota neither fills nor drains. With attempts that fail independently with
// probability p, n attempts at most, and a quota far from both ends, a request changes it by
// 1 - p - c (p^2 + ... + p^n) on average: +1 for a first-try success, -c for each retry but the one
// that is refunded. Where every success earns the credit (aws-sdk-go-v2 before 2026) the first
// terms are 1 - p^n. The strategy itself is run at the published zero of that and on both sides.
//
// SPDX-License-Identifier: MIT
#include "csv_rows.hpp"

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <cmath>

using namespace retrysim;
using retrysim::conformance::CsvRow;
using retrysim::conformance::read_csv;

namespace {

double expected_drift(double p, int cost, int max_attempts, bool credit_for_all) {
  double drift = 1 - (credit_for_all ? std::pow(p, max_attempts) : p);
  double power = p;
  for (int k = 2; k <= max_attempts; ++k) {
    power *= p;
    drift -= cost * power;
  }
  return drift;
}

double root(int cost, int max_attempts, bool credit_for_all) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (expected_drift(middle, cost, max_attempts, credit_for_all) > 0 ? low : high) = middle;
  }
  return low;
}

struct Drift {
  double mean = 0;
  double standard_error = 0;
};

/// The change of the quota per request, measured.
Drift measured_drift(const RetryRules& preset, double p, int cost, int max_attempts) {
  constexpr int kRequests = 200'000;
  constexpr int kHuge = 1'000'000'000;
  RetryRules rules = preset;
  rules.max_attempts = static_cast<std::uint32_t>(max_attempts);
  rules.quota.capacity = kHuge;
  rules.quota.initial = kHuge / 2;
  rules.quota.cost = cost;
  RetryStrategy strategy(rules, RandomKey(11, 0));
  double sum = 0, squares = 0;
  for (std::uint64_t request = 0; request < kRequests; ++request) {
    const int before = *strategy.quota();
    Draws luck(RandomKey(12, 0), {.entity = request, .purpose = Purpose::kServiceError});
    RetryToken token = strategy.acquire_initial_token(Time::zero());
    while (token.may_send()) {
      if (luck.uniform() >= p) {
        strategy.record_success(std::move(token), Time::zero());
      } else {
        token = strategy.refresh_retry_token(std::move(token), {}, Time::zero());
      }
    }
    const double change = *strategy.quota() - before;
    sum += change;
    squares += change * change;
  }
  const double mean = sum / kRequests;
  return {mean, std::sqrt((squares / kRequests - mean * mean) / kRequests)};
}

}  // namespace

TEST_CASE("the retry quota drains above the published failure probability", "[repetitive]") {
  const auto rows = read_csv("quota_drift.csv", "cost", "refund", "max_attempts",
                             "critical_probability", "origin");
  int checked = 0;
  for (const CsvRow& row : rows) {
    const bool credit_for_all = row.text("refund") == "last_cost_plus_1";  // aws-sdk-go-v2 2.0
    const int cost = row.integer("cost");
    const int n = row.integer("max_attempts");
    const RetryRules& preset =
        find_preset("standard", "2.0", credit_for_all ? "go-v2" : "botocore", "default")->rules;
    const double critical = row.number("critical_probability");
    CHECK(root(cost, n, credit_for_all) == Approx(critical).margin(1e-6));
    for (const double p : {critical, critical / 2, 0.6}) {
      INFO("cost " << cost << ", p " << p);
      const Drift drift = measured_drift(preset, p, cost, n);
      // Six standard errors: a false alarm at another seed has a probability below 2e-9.
      CHECK(drift.mean ==
            Approx(expected_drift(p, cost, n, credit_for_all)).margin(6 * drift.standard_error));
    }
    ++checked;
  }
  CHECK(checked == 5);
}

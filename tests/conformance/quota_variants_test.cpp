// Retry quotas that differ from botocore's: aws-c-io's partial consumption and partitions, and
// smithy-rs's fractions of tokens, refill over time and reward.
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

Time at(double seconds) { return Time::zero() + Duration::from_seconds(seconds); }

QuotaRules fractional(int capacity) {
  QuotaRules rules;
  rules.enabled = true;
  rules.capacity = capacity;
  rules.throttle_cost = 5;
  rules.refund = Refund::kCredit;
  return rules;
}

/// A client with such a quota that is empty at the start.
struct Client {
  explicit Client(const QuotaRules& of_client) {
    rules.max_attempts = 100;
    rules.quota = of_client;
  }
  RetryState state() { return {.quota = &quota, .accrual = &accrual}; }
  void succeed(Time now) { record_success(rules, state(), {.attempts = 1}, now); }
  bool retry_after_throttling(Time now) {
    RetryProgress progress{.attempts = 1};
    Draws draws(RandomKey(1, 0), {});
    const Failure failure{.error = {ResponseClass::kThrottling}};
    return refresh_retry_token(rules, state(), progress, failure, now, draws).outcome ==
           Outcome::kRetry;
  }

  RetryRules rules;
  RetryQuota quota;
  QuotaAccrual accrual;
};

}  // namespace

TEST_CASE("aws-c-io takes what there is, for each partition by itself") {
  const auto rows = read_csv("partial_quota.csv", "step", "partition", "initial", "event", "count",
                             "before", "after", "accepted", "origin");
  CHECK(rows.size() == 7);
  RetryRules rules = find_preset("standard", "2.0", "c-io", "default")->rules;
  rules.quota.initial = rows.front().integer("initial");
  rules.quota.capacity = rules.quota.initial;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  const Time now = Time::zero();
  for (const CsvRow& row : rows) {
    INFO("step " << row.text("step"));
    const std::string& partition = row.text("partition");
    CHECK(strategy.quota(partition) == row.integer("before"));
    bool accepted = true;
    for (int i = 0; i < row.integer("count"); ++i) {
      RetryToken token = strategy.acquire_initial_token(now, partition);
      if (row.text("event") == "successes") {
        strategy.record_success(std::move(token), now);
        continue;
      }
      Response response{.status = 500};
      if (row.text("event") == "connect") response.transport = TransportError::kConnection;
      token = strategy.refresh_retry_token(std::move(token), strategy.failure_of(response), now);
      accepted = token.may_send();
    }
    CHECK(accepted == row.boolean("accepted"));
    CHECK(strategy.quota(partition) == row.integer("after"));
  }
}

TEST_CASE("fractions of tokens are kept until they make a whole one") {
  const auto rows = read_csv("fractional_quota.csv", "operation", "tokens", "elapsed_s", "permits",
                             "fraction", "origin");
  CHECK(rows.size() == 13);
  for (const CsvRow& row : rows) {
    INFO(row.text("operation") << ' ' << row.text("tokens") << ' ' << row.text("elapsed_s"));
    QuotaRules rules = fractional(1000);
    RetryQuota quota;
    QuotaAccrual accrual;
    const double tokens = std::stod(row.text("tokens"));
    if (row.text("operation") == "add") {
      accrual.add(tokens, quota, rules.capacity);
    } else {
      rules.refill_rate = tokens;
      rules.refill_interval = Duration::seconds(1);
      accrual.refill(rules, quota, at(row.number("elapsed_s")));
    }
    CHECK(quota.available == row.integer("permits"));
    CHECK(static_cast<double>(accrual.billionths) * 1e-9 ==
          Approx(row.number("fraction")).margin(1e-9));
  }
}

TEST_CASE("a refill by whole seconds ignores the rest of one") {
  QuotaRules rules = fractional(1000);
  rules.refill_rate = 10;
  rules.refill_interval = Duration::seconds(1);
  RetryQuota quota;
  QuotaAccrual accrual;
  accrual.refill(rules, quota, at(1.9));
  CHECK(quota.available == 10);
  accrual.refill(rules, quota, at(2.1));  // counted from 1 s on
  CHECK(quota.available == 20);
  rules.refill_interval = Duration::zero();
  accrual.refill(rules, quota, at(2.35));
  CHECK(quota.available == 23);
}

// The four cases of smithy-rs token_bucket.rs.
TEST_CASE("smithy-rs's bucket with a throttling price of 5 holds two retries in 10 tokens") {
  Client client(fractional(10));
  client.quota.available = 10;
  CHECK(client.retry_after_throttling(at(0)));
  CHECK(client.retry_after_throttling(at(0)));
  CHECK_FALSE(client.retry_after_throttling(at(0)));
}

TEST_CASE("smithy-rs's reward of 0.4 makes one permit of three successes") {
  QuotaRules rules = fractional(10);
  rules.credit = 0.4;
  Client client(rules);
  for (int i = 0; i < 3; ++i) client.succeed(at(0));
  CHECK(client.quota.available == 1);
}

TEST_CASE("smithy-rs's reward and refill add up") {
  QuotaRules rules = fractional(10);
  rules.credit = 0.5;
  rules.refill_rate = 1;
  rules.refill_interval = Duration::seconds(1);
  Client client(rules);
  client.succeed(at(0));
  client.succeed(at(0));
  client.accrual.refill(rules, client.quota, at(2));
  CHECK(client.quota.available == 3);
}

TEST_CASE("smithy-rs's rewards do not go beyond the capacity") {
  QuotaRules rules = fractional(2);
  rules.credit = 0.9;
  Client client(rules);
  for (int i = 0; i < 3; ++i) client.succeed(at(0));
  CHECK(client.quota.available == 2);
  CHECK(client.accrual.billionths == 0);
}

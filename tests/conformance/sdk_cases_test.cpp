// Single SDKs, preset by preset, against what their sources and tests say: outcomes, quota levels
// and delays, response by response.
//
// SPDX-License-Identifier: MIT
#include "csv_rows.hpp"

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <memory>

using namespace retrysim;
using retrysim::conformance::CsvRow;
using retrysim::conformance::read_csv;

namespace {

/// "500", "400:Throttling" or "timeout".
Response response_of(const std::string& text) {
  Response response;
  if (text == "timeout") {
    response.transport = TransportError::kTimeout;
    return response;
  }
  const std::size_t colon = text.find(':');
  response.status = std::stoi(text.substr(0, colon));
  if (colon != std::string::npos) response.code = text.substr(colon + 1);
  return response;
}

/// The preset's rules with the row's quota, its draws all 1.
std::unique_ptr<RetryStrategy> strategy_of(const CsvRow& row) {
  const Preset* preset =
      find_preset(row.text("mode"), row.text("revision"), row.text("sdk"), row.text("api"));
  REQUIRE(preset != nullptr);
  RetryRules rules = rules_of_release(*preset, row.text("sdk"));
  rules.api = row.text("api");
  if (!row.empty("quota")) rules.quota.initial = row.integer("quota");
  auto strategy = std::make_unique<RetryStrategy>(rules, RandomKey(1, 0));
  strategy->fix_draws(1.0);
  return strategy;
}

}  // namespace

TEST_CASE("single SDKs decide, charge and wait as their sources say") {
  const auto rows =
      read_csv("sdk_cases.csv", "sdk", "mode", "revision", "api", "case", "call", "long_poll",
               "quota", "response", "retry_after", "outcome", "quota_after", "delay_ms", "origin");
  std::unique_ptr<RetryStrategy> strategy;
  RetryToken token;
  std::string at_case, at_call;
  for (const CsvRow& row : rows) {
    const std::string case_id = row.text("sdk") + ' ' + row.text("mode") + ' ' +
                                row.text("revision") + ' ' + row.text("api") + ' ' +
                                row.text("case");
    INFO(case_id << ", call " << row.text("call") << ", response " << row.text("response"));
    if (case_id != at_case) strategy = strategy_of(row);
    if (case_id != at_case || row.text("call") != at_call) {
      token = strategy->acquire_initial_token(Time::zero());
      at_case = case_id;
      at_call = row.text("call");
    }
    Response response = response_of(row.text("response"));
    response.retry_after = parse_retry_after(row.text("retry_after"));
    Failure failure = strategy->failure_of(response);
    Outcome outcome = Outcome::kSuccess;
    Duration delay;
    if (failure.error.success()) {
      strategy->record_success(std::move(token), Time::zero());
    } else {
      failure.long_poll = row.boolean("long_poll");
      token = strategy->refresh_retry_token(std::move(token), failure, Time::zero());
      outcome = token.outcome();
      delay = token.delay();
    }
    CHECK(name(outcome) == row.text("outcome"));
    if (!row.empty("quota_after")) CHECK(strategy->quota() == row.integer("quota_after"));
    if (!row.empty("delay_ms")) {
      CHECK(delay.count() == Duration::milliseconds(row.integer("delay_ms")).count());
    } else if (outcome != Outcome::kRetry) {
      CHECK(delay == Duration::zero());
    }
  }
  CHECK(rows.size() == 241);
}

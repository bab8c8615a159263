// The classes of answers against botocore's three checkers, and against the tables of other SDKs.
//
// SPDX-License-Identifier: MIT
#include "csv_rows.hpp"

#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

using namespace retrysim;
using retrysim::conformance::CsvRow;
using retrysim::conformance::read_csv;

TEST_CASE("answers fall into the classes that botocore's checkers give them") {
  const auto rows =
      read_csv("classification.csv", "checker", "status", "code", "transport", "match", "origin");
  int checked = 0;
  for (const CsvRow& row : rows) {
    INFO(row.text("checker") << ": " << row.text("status") << ' ' << row.text("code") << ' '
                             << row.text("transport"));
    Response response;
    response.code = row.text("code");
    if (!row.empty("status")) response.status = row.integer("status");
    if (!row.empty("transport")) response.transport = TransportError::kConnection;
    if (row.text("checker") == "modeled") {
      // What the model adds to what code and status say.
      const bool known = classify({}, "default", response).retryable();
      if (response.code.starts_with("Modeled") || response.code == "ErrorCodeRetryable") {
        response.traits.retry_safety = RetrySafety::kYes;
        response.traits.throttling = response.code == "ModeledThrottlingError";
      }
      const ErrorInfo modelled = classify({}, "default", response);
      CHECK((modelled.retryable() && !known) == row.boolean("match"));
      CHECK((modelled.response_class == ResponseClass::kThrottling) == response.traits.throttling);
      ++checked;
      continue;
    }
    const ResponseClass answer = classify({}, "default", response).response_class;
    if (row.text("checker") == "throttling") {
      CHECK((answer == ResponseClass::kThrottling) == row.boolean("match"));
    } else {
      REQUIRE(row.text("checker") == "transient");
      // One code is in both of botocore's lists. Throttling comes first, and is retried as well.
      const bool also_throttling = response.code == "PriorRequestNotComplete";
      CHECK((answer == ResponseClass::kTransient || also_throttling) == row.boolean("match"));
      if (also_throttling) CHECK(answer == ResponseClass::kThrottling);
    }
    ++checked;
  }
  CHECK(checked == 38);
}

TEST_CASE("answers fall into the classes that each SDK's own tables give them") {
  const auto rows = read_csv("sdk_classes.csv", "sdk", "mode", "revision", "api", "status", "code",
                             "class", "timeout", "origin");
  for (const CsvRow& row : rows) {
    INFO(row.text("sdk") << ' ' << row.text("mode") << ' ' << row.text("revision") << ": "
                         << row.text("status") << ' ' << row.text("code"));
    const Preset* preset =
        find_preset(row.text("mode"), row.text("revision"), row.text("sdk"), row.text("api"));
    REQUIRE(preset != nullptr);
    const Response response{.status = row.integer("status"), .code = row.text("code")};
    const ErrorInfo info = classify(preset->rules.errors, row.text("api"), response);
    CHECK(name(info.response_class) == row.text("class"));
    CHECK(info.timeout == row.boolean("timeout"));
  }
  CHECK(rows.size() == 147);
}

// The classes of answers against botocore's three checkers.
//
// SPDX-License-Identifier: MIT
#include "csv_rows.hpp"

#include <retrysim/response.hpp>

#include <catch2/catch.hpp>

using namespace retrysim;
using retrysim::conformance::CsvRow;
using retrysim::conformance::read_csv;

TEST_CASE("answers fall into the classes that botocore's checkers give them") {
  const auto rows = read_csv("classification.csv", "checker", "status", "code", "transport",
                             "match", "deviation", "origin");
  int checked = 0;
  for (const CsvRow& row : rows) {
    if (!row.empty("deviation")) continue;
    INFO(row.text("checker") << ": " << row.text("status") << ' ' << row.text("code") << ' '
                             << row.text("transport"));
    Response response;
    response.code = row.text("code");
    if (!row.empty("status")) response.status = row.integer("status");
    if (!row.empty("transport")) response.transport = TransportError::kConnection;
    const ResponseClass answer = classify(Classifier::kStandard, "default", response);
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
  CHECK(checked == 33);
}

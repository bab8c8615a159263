// The access log as a file: what a row says, and how a log is told from other files.
//
// SPDX-License-Identifier: MIT
#include "report/run/access_log.hpp"

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace retrysim;

TEST_CASE("a row of the access log has the time of the answer, its duration and who asked") {
  Scenario s;
  s.services.resize(2);
  s.services[1].name = "a,b";
  s.clients.resize(1);
  s.clients[0].name = "web";
  report::StringSink sink;
  report::AccessLogWriter log(sink, s);
  log.write({.answered = Time::zero() + Duration::nanoseconds(1'500'000'001),
             .duration = Duration::microseconds(20'500),
             .status = 503,
             .service = 1,
             .instance = 2,
             .operation = "put",
             .client = 0,
             .request = 255});
  CHECK(sink.text() ==
        "time,duration,status,service,instance,operation,request\n"
        "1.500000001,0.0205,503,\"a,b\",3,put,web-ff\n");
  const test::TemporaryFolder place;
  std::ofstream(place.path() / "log") << sink.text();
  std::ofstream(place.path() / "other") << "time,duration\n1,2\n";
  CHECK(report::is_access_log(place.path() / "log"));
  CHECK_FALSE(report::is_access_log(place.path() / "other"));
  CHECK_FALSE(report::is_access_log(place.path() / "none"));
}

// Scenario keys of bursts, polling loops, operations and prices: values, defaults and mistakes.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/scenario/loading.hpp"

namespace retrysim {
namespace {

ArrivalSpec arrivals(const std::string& keys) {
  return load(kSmall, {"client.web.arrivals={" + keys + "}"}).scenario.clients[0].arrivals;
}

std::string errors(const std::string& keys) {
  return errors_of(kSmall, {"client.web.arrivals={" + keys + "}"});
}

TEST_CASE("bursts") {
  const ArrivalSpec a = arrivals(
      "process='on-off', total_rate=3, on='2s', off={distribution='exponential', mean='4s'}, "
      "phase='aligned'");
  CHECK(a.process == ArrivalProcess::kOnOff);
  CHECK(a.rate == 3);
  CHECK(a.on.constant_value() == Duration::seconds(2));
  CHECK(a.off.mean_seconds() == 4);
  CHECK(a.aligned);
  CHECK_FALSE(arrivals("process='on-off', rate=1, on='1s', off='0s'").aligned);
  CHECK_THAT(errors("process='on-off', rate=1, off='1s'"),
             Catch::Contains("client.web.arrivals.on is missing"));
  CHECK_THAT(errors("process='on-off', rate=1, on='0s', off='1s'"),
             Catch::Contains("client.web.arrivals.on has a mean of 0; expected bursts"));
  CHECK_THAT(errors("process='poisson', rate=1, on='1s'"), Catch::Contains("arrivals.on"));
  CHECK_THAT(errors("process='on-off', on='1s', off='1s'"),
             Catch::Contains("client.web.arrivals.rate is missing"));
}

TEST_CASE("surges apply to bursts and jobs") {
  const Edits surge = {"client.web.arrivals={process='on-off', rate=1, on='1s', off='1s'}",
                       "client.web.surge.x={start='1s', duration='2s', factor=3}"};
  CHECK(load(kSmall, surge).scenario.clients[0].arrivals.surges.size() == 1);
}

TEST_CASE("polling loops: the defaults are those of the guidance") {
  const ArrivalSpec a = arrivals("process='poll', rate=2, job_time='30s'");
  CHECK(a.process == ArrivalProcess::kPoll);
  CHECK(a.rate == 2);
  CHECK(a.job_time.constant_value() == Duration::seconds(30));
  CHECK(a.poll.base == Duration::milliseconds(100));
  CHECK(a.poll.factor == 2);
  CHECK(a.poll.cap == Duration::max());
  CHECK(a.poll.jitter == Jitter::kNone);
  CHECK(a.poll.max_checks == PollSpec::kUnlimited);
  const ArrivalSpec b = arrivals(
      "process='poll', rate=2, job_time='30s', base='1s', factor=1.5, cap='20s', jitter='equal', "
      "max_checks=12");
  CHECK(b.poll.base == Duration::seconds(1));
  CHECK(b.poll.factor == 1.5);
  CHECK(b.poll.cap == Duration::seconds(20));
  CHECK(b.poll.jitter == Jitter::kEqual);
  CHECK(b.poll.max_checks == 12);
  CHECK_THAT(errors("process='poll', rate=2"),
             Catch::Contains("client.web.arrivals.job_time is missing"));
  CHECK_THAT(errors("process='poll', rate=2, job_time='1s', jitter='additive'"),
             Catch::Contains("expected one of none, full, equal, decorrelated"));
  CHECK_THAT(errors("process='poll', rate=2, job_time='1s', base='0s'"),
             Catch::Contains("client.web.arrivals.base"));
  CHECK_THAT(errors("process='pol', rate=2"), Catch::Contains("did you mean \"poll\"?"));
}

TEST_CASE("operations") {
  const LoadedScenario loaded = load(kSmall, {"client.web.operation.read={share=9}",
                                              "client.web.operation.scan={share=1, work=20}"});
  const std::vector<OperationSpec>& operations = loaded.scenario.clients[0].operations;
  REQUIRE(operations.size() == 2);
  CHECK(operations[0].name == "read");
  CHECK(operations[0].share == 9);
  CHECK(operations[0].work == 1);
  CHECK(operations[1].work == 20);
  CHECK(value_of(loaded, "client.web.operation.read.work") == "1.0");
  CHECK_THAT(errors_of(kSmall, {"client.web.operation.read={work=2}"}),
             Catch::Contains("client.web.operation.read.share"));
  CHECK_THAT(errors_of(kSmall, {"client.web.operation.read={share=1, wrok=2}"}),
             Catch::Contains("work"));
  CHECK_THAT(errors_of(kSmall, {"client.web.operation.read={share=0}"}),
             Catch::Contains("client.web.operation.read.share"));
}

TEST_CASE("prices") {
  const ServiceSpec s = load(kSmall, {"service.api.price=0.2", "service.api.rejection_price=0.05"})
                            .scenario.services[0];
  CHECK(s.price == 0.2);
  CHECK(s.rejection.price == 0.05);
}

}  // namespace
}  // namespace retrysim

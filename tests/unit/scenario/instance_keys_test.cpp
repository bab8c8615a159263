// Keys of instances behind a balancer, of faults of single ones, and of curves of slowdown.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

namespace {

std::string after(const std::vector<std::string>& edits) { return errors_of(kSmall, edits); }

const std::string kTen = "service.api.instances=10";

}  // namespace

TEST_CASE("defaults of instances in C++ are those of the table") {
  const ServiceSpec by_hand;
  const ServiceSpec s = load(kSmall).scenario.services[0];
  CHECK(s.instances.count == by_hand.instances.count);
  CHECK(s.instances.balancing == by_hand.instances.balancing);
  CHECK_FALSE(s.instances.health_check.enabled());
  CHECK(s.slowdown.curve == by_hand.slowdown.curve);
  const ServiceSpec checked =
      load(kSmall, {kTen, "service.api.health_check.interval=7s"}).scenario.services[0];
  CHECK(checked.instances.count == 10);
  CHECK(checked.instances.balancing == by_hand.instances.balancing);
  CHECK(checked.instances.health_check.interval == Duration::seconds(7));
  CHECK(checked.instances.health_check.timeout == by_hand.instances.health_check.timeout);
  CHECK(checked.instances.health_check.unhealthy_threshold ==
        by_hand.instances.health_check.unhealthy_threshold);
  CHECK(checked.instances.health_check.healthy_threshold ==
        by_hand.instances.health_check.healthy_threshold);
}

TEST_CASE("keys of balancing need several instances") {
  CHECK(after({kTen, "service.api.balancing=two-choices"}).empty());
  CHECK_FALSE(after({"service.api.instances=0"}).empty());
  CHECK_FALSE(after({"service.api.instances=1001"}).empty());
  CHECK_FALSE(after({kTen, "service.api.balancing=fastest"}).empty());
  CHECK_THAT(after({kTen, "service.api.health_check.timeout=1s"}),
             Catch::Contains("it needs service.api.health_check.interval other than none"));
  CHECK_THAT(after({kTen, "service.api.model=occ"}), Catch::Contains("service.api.instances"));
  CHECK_THAT(after({kTen, "service.api.autoscaling={target=0.5, max=5}"}),
             Catch::Contains("service.api.instances = 10 does not go with autoscaling"));
  // A scenario with them may be run with a single instance for comparison.
  CHECK(after({"service.api.instances=1", "service.api.balancing=random",
               "service.api.health_check={interval=1, timeout=1}"})
            .empty());
}

TEST_CASE("defaults of balancing and ejection in C++ are those of the table") {
  const InstancesSpec by_hand;
  const InstancesSpec s =
      load(kSmall, {kTen, "service.api.balancing=peak-ewma", "service.api.balancer=client",
                    "service.api.ejection.interval=10s", "service.api.accrual.max_failures=7",
                    "client.web.retry.avoid_hosts=unlimited"})
          .scenario.services[0]
          .instances;
  CHECK(s.ties == by_hand.ties);
  CHECK(s.decay == by_hand.decay);
  CHECK(s.first_latency == by_hand.first_latency);
  CHECK(s.subset == by_hand.subset);
  CHECK(s.panic_threshold == by_hand.panic_threshold);
  CHECK(s.panic_overprovisioning == by_hand.panic_overprovisioning);
  CHECK(s.balancer == BalancerScope::kClient);
  CHECK(s.ejection.consecutive_5xx == by_hand.ejection.consecutive_5xx);
  CHECK(s.ejection.consecutive_gateway_failure == by_hand.ejection.consecutive_gateway_failure);
  CHECK(s.ejection.base_ejection_time == by_hand.ejection.base_ejection_time);
  CHECK(s.ejection.max_ejection_time == by_hand.ejection.max_ejection_time);
  CHECK(s.ejection.max_ejection_percent == by_hand.ejection.max_ejection_percent);
  CHECK(s.ejection.success_rate_stdev_factor == by_hand.ejection.success_rate_stdev_factor);
  CHECK(s.ejection.failure_percentage_threshold == by_hand.ejection.failure_percentage_threshold);
  CHECK(s.accrual.max_failures == 7);
  CHECK(s.accrual.min_penalty == by_hand.accrual.min_penalty);
  CHECK(s.accrual.max_penalty == by_hand.accrual.max_penalty);
  CHECK(s.accrual.jitter_ratio == by_hand.accrual.jitter_ratio);
  CHECK(s.accrual.penalties == by_hand.accrual.penalties);
}

TEST_CASE("what balancers are told makes sense") {
  const std::string client = "service.api.balancer=client";
  const std::string ejection = "service.api.ejection.interval=10s";
  CHECK(after({kTen, client, "service.api.balancing_subset=10"}).empty());
  CHECK_THAT(after({kTen, client, "service.api.balancing_subset=11"}),
             Catch::Contains("balancing_subset = 11 is more than the 10 instances"));
  CHECK_THAT(after({kTen, "service.api.balancing_subset=2"}),
             Catch::Contains("it needs service.api.balancer = client"));
  CHECK_THAT(after({kTen, "service.api.balancing_ties=first"}),
             Catch::Contains("it needs service.api.balancing"));
  CHECK(after({kTen, ejection}).empty());
  CHECK_THAT(after({"service.api.instances=9", ejection}),
             Catch::Contains("is less than one of 9 instances"));
  CHECK(after({"service.api.instances=9", ejection,
               "service.api.ejection.always_eject_one_host=true"})
            .empty());
  CHECK_THAT(after({kTen, ejection, client, "service.api.balancing_subset=5"}),
             Catch::Contains("is less than one of 5 instances"));
  CHECK_THAT(after({kTen, ejection, "service.api.ejection.base_ejection_time=301s"}),
             Catch::Contains("max_ejection_time is shorter than base_ejection_time"));
  CHECK_THAT(after({kTen, "service.api.accrual={max_failures=1, min_penalty=61}"}),
             Catch::Contains("max_penalty is shorter than min_penalty"));
  // With a single instance all of this is idle.
  CHECK(after({"service.api.instances=1", ejection, client, "service.api.balancing_subset=2",
               "service.api.accrual.max_failures=3"})
            .empty());
}

TEST_CASE("a fault concerns instances that there are") {
  const std::string fault = "fault.f={start=1, duration=1, speed=0.5, ";
  const auto with = [&](const std::string& more) { return after({kTen, fault + more + "}"}); };
  CHECK(with("instance=10").empty());
  CHECK(with("instance=8, instances=3").empty());
  CHECK(with("instance='all'").empty());
  CHECK_THAT(with("instance=11"), Catch::Contains("fault.f concerns instance 11 of \"api\", which "
                                                  "has 10; expected instances from 1 to 10"));
  CHECK_THAT(with("instance=8, instances=4"), Catch::Contains("concerns instance 8 to 11"));
  CHECK_FALSE(with("instance=0").empty());
  CHECK_THAT(with("instances=2"), Catch::Contains("it needs fault.f.instance other than all"));
  const FaultSpec f = load(kSmall, {kTen, fault + "instance=4, instances=2}"}).scenario.faults[0];
  for (std::uint32_t i = 0; i < 10; ++i) CHECK(f.concerns(i) == (i == 3 || i == 4));
}

TEST_CASE("errors come late at a service with a queue only") {
  const std::string late = "fault.f={start=1, duration=1, errors={internal=0.5, at=0.5}}";
  CHECK(after({late}).empty());
  CHECK(after({"service.api.errors={internal=0.5, at=1}"}).empty());
  CHECK(after({"service.api.errors={internal=0.5, at='arrival'}"}).empty());
  CHECK_THAT(after({"service.api.errors.at=1.5"}), Catch::Contains("or \"arrival\""));
  CHECK_THAT(after({late, "service.api.model=independent"}),
             Catch::Contains("fault.f.errors.at does not apply to \"api\", whose model is "
                             "\"independent\"; expected \"arrival\", or the model \"queue\""));
  CHECK_THAT(after({"service.api.errors.at=1", "service.api.model=independent"}),
             Catch::Contains("service.api.errors.at"));
  const Scenario s = load(kSmall, {late}).scenario;
  CHECK(s.faults[0].errors_at.share == 0.5);
  CHECK(s.services[0].errors_at.on_arrival());
}

TEST_CASE("whose answers disappear in a black hole needs a timeout") {
  const std::string fault = "fault.f={start=1, duration=1, black_hole=true}";
  CHECK_THAT(after({"client.web.attempt_timeout=none", fault}),
             Catch::Contains("fault.f answers nothing"));
  CHECK(after({"client.web.attempt_timeout=1s", fault}).empty());
}

TEST_CASE("each instance of a service that calls another is a client") {
  const Scenario s = load(kSmall, {kTen, "service.db={service_time=1}", "client.web.calls=api",
                                   "service.api.calls.db={retry={mode='none'}}"})
                         .scenario;
  CHECK(s.clients.back().count == 10);
}

TEST_CASE("curves of slowdown") {
  TemporaryFolder folder;
  folder.write("good.csv", "in_service,factor\n0,1\n5,1.5\n9,4\n");
  folder.write("late.csv", "in_service,factor\n1,1\n");
  folder.write("back.csv", "in_service,factor\n0,1\n5,1\n5,2\n");
  folder.write("other.csv", "time_s,capacity\n0,1\n");
  const auto with = [](const std::string& file) {
    return std::vector<std::string>{"service.api.slowdown_curve=table",
                                    "service.api.slowdown_table='" + file + "'"};
  };
  const ServiceSpec s = load(kSmall, with("good.csv"), folder.path()).scenario.services[0];
  CHECK(s.slowdown.table.in_service == std::vector<double>{0, 5, 9});
  CHECK(s.slowdown.table.factors == std::vector<double>{1, 1.5, 4});
  const auto errors = [&](const std::string& file) {
    return errors_of(kSmall, with(file), folder.path());
  };
  CHECK_THAT(errors("late.csv"), Catch::Contains("the first number is 1; expected 0"));
  CHECK_THAT(errors("back.csv"),
             Catch::Contains("in_service: 5 is not larger than the row before"));
  CHECK_THAT(errors("other.csv"), Catch::Contains("needs the columns in_service,factor"));
  std::vector<std::string> both = with("good.csv");
  both.push_back("service.api.slowdown=0.1");
  CHECK_THAT(errors_of(kSmall, both, folder.path()),
             Catch::Contains("service.api.slowdown does not apply when slowdown_curve"));
  CHECK_THAT(after({"service.api.slowdown_curve=table"}),
             Catch::Contains("service.api.slowdown_table is missing"));
  CHECK_THAT(after({"service.api.slowdown_exponent=3"}),
             Catch::Contains("it needs service.api.slowdown_curve = power"));
  CHECK(after({"service.api.slowdown_curve=power", "service.api.slowdown=0.1",
               "service.api.slowdown_exponent=3"})
            .empty());
}

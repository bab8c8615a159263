// The keys of [service.NAME] that say how it is spread over instances, and how its service times
// grow with the load.
//
// SPDX-License-Identifier: MIT
#include "scenario/key_rows.hpp"

namespace retrysim::scenario {
namespace {

constexpr auto kInstances = &ServiceSpec::instances;
constexpr auto kCheck = &InstancesSpec::health_check;
constexpr auto kSlowdown = &ServiceSpec::slowdown;
constexpr Range kInstanceCounts{.min = 1, .max = InstancesSpec::kMost};

constexpr KeyInfo kSlowdownKeys[] = {
    key("slowdown_curve", word(), into<kSlowdown, &SlowdownSpec::curve>,
        {.fallback = "linear", .when = "model != independent"},
        "How service times grow with n, the number of attempts already in service; the factor is "
        "1 + slowdown x n (linear), 1 + slowdown x n^slowdown_exponent (power), "
        "e^(slowdown x n) (exponential), or that of slowdown_table (table)."),
    key("slowdown_exponent", number(kPositive), into<kSlowdown, &SlowdownSpec::exponent>,
        {.fallback = "2.0", .when = "slowdown_curve = power"}, "Exponent of that curve."),
    key("slowdown_table", file(), kNowhere, {.required = true, .when = "slowdown_curve = table"},
        "CSV file with columns in_service,factor: the factor on service times by n, which starts "
        "from 0; linear between the rows, constant beyond the last one."),
};

constexpr KeyInfo kInstanceKeys[] = {
    key("instances", count(kInstanceCounts), into<kInstances, &InstancesSpec::count>,
        {.fallback = "1", .when = "model != occ"},
        "Hosts behind a balancer. Each has servers, a queue, a limit on concurrency and a timeout "
        "of its own; the throttle and idempotency tokens are those of the whole service."),
    key("balancing", word(), into<kInstances, &InstancesSpec::balancing>,
        {.fallback = "round-robin", .when = "instances != 1", .idle_when = "instances = 1"},
        "How the instance for an attempt is chosen, for retries as well; least-connections: the "
        "one "
        "with the fewest attempts under way, whose clients still wait; two-choices: the better of "
        "two that are chosen at random."),
    key("health_check.interval", duration(kPositiveRunLength).or_word("none"),
        into<kInstances, kCheck, &HealthCheckSpec::interval>,
        {.fallback = "none", .when = "instances != 1", .idle_when = "instances = 1"},
        "Time between two checks of an instance. A check sees whatever an attempt would meet, "
        "except "
        "for the queue and the throttle."),
    key("health_check.timeout", request_time(kPositiveRunLength),
        into<kInstances, kCheck, &HealthCheckSpec::timeout>,
        {.fallback = "5s", .when = "health_check.interval != none", .idle_when = "instances = 1"},
        "Time after which a check has failed."),
    key("health_check.unhealthy_threshold", count(kUpToMillion),
        into<kInstances, kCheck, &HealthCheckSpec::unhealthy_threshold>,
        {.fallback = "2", .when = "health_check.interval != none", .idle_when = "instances = 1"},
        "Failed checks in a row after which no attempts are sent to an instance, unless all "
        "instances are sick."),
    key("health_check.healthy_threshold", count(kUpToMillion),
        into<kInstances, kCheck, &HealthCheckSpec::healthy_threshold>,
        {.fallback = "5", .when = "health_check.interval != none", .idle_when = "instances = 1"},
        "Passed checks in a row after which they are sent there again."),
};

}  // namespace

std::span<const KeyInfo> slowdown_keys() { return kSlowdownKeys; }

std::span<const KeyInfo> instance_keys() { return kInstanceKeys; }

}  // namespace retrysim::scenario

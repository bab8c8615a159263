// What `needs_of` and `plan_memory` say against what runs really allocate. Nothing here depends on
// the machine: bytes are counted where they are allocated.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/run.hpp>

#include "measure/analyse/burstiness.hpp"
#include "measure/analyse/series.hpp"
#include "measure/analyse/storms.hpp"

#include <catch2/catch.hpp>

#include <malloc.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string_view>
#include <vector>

// Sanitizers have allocators of their own. GCC tells of them by macros, Clang by features.
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define RETRYSIM_COUNTS_BYTES 1
#else
#define RETRYSIM_COUNTS_BYTES 0
#endif

namespace {

std::atomic<std::int64_t> in_use{0}, peak{0};

}  // namespace

#if RETRYSIM_COUNTS_BYTES
namespace {

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const auto bytes = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t now = in_use += bytes;
  std::int64_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) in_use -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto a = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(a, (size + a - 1) / a * a));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
#endif

namespace retrysim {
namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

Scenario scenario_with(std::uint32_t clients) {
  Scenario s;
  s.name = "needs";
  s.duration = Duration::seconds(1);
  s.interval = Duration::milliseconds(100);
  s.replications = 1;
  ServiceSpec service;
  service.name = "api";
  service.servers = ServiceSpec::kUnlimited;
  service.service_time = Distribution::constant(Duration::milliseconds(10));
  s.services.push_back(service);
  ClientSpec client;
  client.name = "web";
  client.count = clients;
  client.arrivals.rate = 0.01;
  s.clients.push_back(client);
  return s;
}

/// Bytes that are taken at most while `work` runs.
std::uint64_t bytes_of(const std::function<void()>& work) {
  const std::int64_t before = in_use;
  peak = before;
  work();
  return static_cast<std::uint64_t>(peak - before);
}

/// The estimate must lie within a factor of two of what is measured, either way.
void check_estimate(const Scenario& scenario, std::size_t jobs = 1) {
  if (!RETRYSIM_COUNTS_BYTES) return;
  const std::vector<const Scenario*> runs(static_cast<std::size_t>(scenario.replications),
                                          &scenario);
  const MemoryPlan plan = plan_memory(runs, jobs, kUnlimited);
  ReplicationOptions options;
  options.jobs = static_cast<int>(jobs);
  const std::uint64_t measured = bytes_of([&] {
    const std::vector<RunResult> results = run_replications(scenario, options);
    const MetricValues values(scenario, results);
    for (const RunResult& run : results) {
      stats::detect_storms(scenario, run);
      stats::dispersion_ladder(stats::arrival_counts(run, run.all_bins, false));
    }
  });
  INFO("estimate " << plan.total << ", measured " << measured);
  for (const MemoryPart& part : plan.parts) UNSCOPED_INFO(part.what << " " << part.bytes);
  CHECK(plan.total < 2 * measured);
  CHECK(2 * plan.total > measured);
}

RetryRules rules_of(const char* mode) {
  return find_preset(mode, "2.0", "botocore", "default")->rules;
}

TEST_CASE("the estimate of memory fits what open clients take", "[needs]") {
  Scenario s = scenario_with(1'000'000);
  check_estimate(s);
  s.clients[0].retry = rules_of("standard");
  check_estimate(s);
  s.clients[0].retry = rules_of("adaptive");
  check_estimate(s);
}

TEST_CASE("the estimate of memory fits clients with phases, bursts and a common start", "[needs]") {
  Scenario s = scenario_with(300'000);
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  check_estimate(s);
  s.clients[0].arrivals.process = ArrivalProcess::kOnOff;
  s.clients[0].arrivals.on = Distribution::constant(Duration::seconds(1));
  s.clients[0].arrivals.off = Distribution::constant(Duration::seconds(1));
  check_estimate(s);
  s.clients[0].arrivals.process = ArrivalProcess::kOnce;
  check_estimate(s);
}

TEST_CASE("the estimate of memory fits closed loops that think, and ones that wait", "[needs]") {
  Scenario s = scenario_with(1'000'000);
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::exponential(100);
  check_estimate(s);
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::milliseconds(1));
  s.clients[0].count = 300'000;
  s.services[0].servers = 10;
  check_estimate(s);
}

TEST_CASE("the estimate of memory fits a queue that grows", "[needs]") {
  Scenario s = scenario_with(100'000);
  s.clients[0].arrivals.rate = 3;
  s.services[0].servers = 100;  // 10,000 a second of 300,000
  check_estimate(s);
  s.services[0].queue.capacity = 50'000;
  check_estimate(s);
}

TEST_CASE("the estimate of memory fits many bins", "[needs]") {
  Scenario s = scenario_with(100);
  s.drain = false;
  s.interval = Duration::microseconds(3);
  check_estimate(s);
}

TEST_CASE("the estimate of memory fits many replications", "[needs]") {
  Scenario s = scenario_with(1000);
  s.clients[0].arrivals.rate = 10;
  s.services[0].service_time = Distribution::exponential(0.01);
  s.replications = 300;
  check_estimate(s);
  s.interval = Duration::microseconds(100);
  s.replications = 20;
  s.drain = false;
  check_estimate(s);
}

TEST_CASE("the estimate of memory counts what evaluating and writing takes", "[needs]") {
  if (!RETRYSIM_COUNTS_BYTES) return;
  Scenario s = scenario_with(100);
  s.drain = false;
  s.interval = Duration::microseconds(50);
  s.replications = 8;
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "mobile";
  constexpr std::size_t kBinsOfFile = 400;
  const std::vector<const Scenario*> runs(static_cast<std::size_t>(s.replications), &s);
  const std::uint64_t estimate = plan_memory(runs, 1, kUnlimited).total;
  const std::uint64_t measured = bytes_of([&] {
    const std::vector<RunResult> results = run_replications(s);
    const MetricValues values(s, results);
    std::vector<stats::RunSeries> series;
    for (const RunResult& run : results) {
      stats::detect_storms(s, run);
      series.push_back(stats::run_series(s, run, kBinsOfFile));
    }
  });
  INFO("estimate " << estimate << ", measured " << measured);
  CHECK(measured < estimate + estimate / 8);
}

TEST_CASE("the estimate of memory fits several jobs", "[needs]") {
  Scenario s = scenario_with(300'000);
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::exponential(100);
  s.replications = 4;
  check_estimate(s, 2);
  check_estimate(s, 4);
}

TEST_CASE("estimating takes nothing itself", "[needs]") {
  if (!RETRYSIM_COUNTS_BYTES) return;
  Scenario s = scenario_with(4'000'000'000);
  s.interval = Duration::nanoseconds(100);
  CHECK(bytes_of([&] { needs_of(s); }) < 100'000);
}

TEST_CASE("the estimate of events fits runs without retries", "[needs]") {
  Scenario s = scenario_with(1000);
  s.duration = Duration::seconds(20);  // long against the requests under way at its end
  s.clients[0].arrivals.rate = 10;
  const auto check = [&s] {
    const double estimate = needs_of(s).events;
    const auto events = static_cast<double>(simulate(s, 0).events);
    INFO("estimate " << estimate << ", events " << events);
    CHECK(estimate < 1.1 * events);  // 200,000 requests: 0.2 % by chance
    CHECK(1.1 * estimate > events);
  };
  check();
  s.network.latency = Distribution::constant(Duration::milliseconds(1));
  check();
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  check();
  s.clients[0].arrivals.surges.push_back({"peak", Time::zero(), Duration::seconds(10), 3});
  check();
  s.clients[0].arrivals.surges.clear();
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::exponential(0.1);
  check();
  s.services[0].servers = 20;
  check();
  s.clients[0].arrivals.process = ArrivalProcess::kOnce;
  check();
}

TEST_CASE("what does not fit is refused before it begins, with figures and keys", "[needs]") {
  Scenario s = scenario_with(1'000'000'000);
  s.clients[0].retry = rules_of("standard");
  ReplicationOptions options;
  options.max_memory = std::uint64_t{1} << 30;
  try {
    run_replications(s, options);
    FAIL("nothing was thrown");
  } catch (const LimitExceeded& e) {
    CHECK(e.kind() == LimitKind::kMemory);
    using Catch::Contains;
    CHECK_THAT(e.what(), Contains("client.web.count"));
    CHECK_THAT(e.what(), Contains("1 GiB may be used"));
  }
}

TEST_CASE("fewer replications run at once where there is no memory for all", "[needs]") {
  Scenario s = scenario_with(1'000'000);
  s.clients[0].retry = rules_of("standard");
  const std::vector<const Scenario*> runs(8, &s);
  const MemoryPlan all = plan_memory(runs, 8, kUnlimited);
  CHECK(all.at_once == 8);
  const RunNeeds needs = needs_of(s);
  const std::uint64_t each = total_bytes(needs.clients) + total_bytes(needs.requests);
  const MemoryPlan fewer = plan_memory(runs, 8, all.total - 5 * each);
  CHECK(fewer.at_once == 3);
  CHECK(fewer.total <= all.total - 5 * each);
  CHECK(plan_memory(runs, 8, all.total - 7 * each).at_once == 1);
  CHECK_THROWS_AS(plan_memory(runs, 8, all.total - 7 * each - 1), LimitExceeded);
  CHECK_THROWS_AS(plan_memory(runs, 8, all.total - 7 * each, 1), LimitExceeded);
  // The results do not depend on it.
  s = scenario_with(1000);
  s.replications = 4;
  ReplicationOptions options;
  options.jobs = 4;
  const std::vector<RunResult> free = run_replications(s, options);
  const std::vector<const Scenario*> four(4, &s);
  options.max_memory = plan_memory(four, 1, kUnlimited).total;
  CHECK(run_replications(s, options) == free);
}

TEST_CASE("memory names the number of threads only where replications run at once", "[needs]") {
  const Scenario s = scenario_with(1000);
  const auto named = [&](std::size_t replications, std::size_t jobs, std::string_view key) {
    const std::vector<const Scenario*> runs(replications, &s);
    const MemoryPlan plan = plan_memory(runs, jobs, kUnlimited);
    return std::any_of(plan.parts.begin(), plan.parts.end(), [&](const MemoryPart& part) {
      return part.keys.find(key) != std::string::npos;
    });
  };
  CHECK_FALSE(named(1, 1, "jobs"));
  CHECK_FALSE(named(4, 1, "jobs"));
  CHECK(named(4, 4, "jobs"));
}

TEST_CASE("sizes are written with the unit that fits", "[needs]") {
  CHECK(to_text_of_bytes(0) == "0 B");
  CHECK(to_text_of_bytes(1536) == "1.5 KiB");
  CHECK(to_text_of_bytes(std::uint64_t{4} << 30) == "4 GiB");
  CHECK(to_text_of_bytes(std::uint64_t{1000} << 20) == "1000 MiB");
}

}  // namespace
}  // namespace retrysim

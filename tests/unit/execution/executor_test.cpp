// Executors: every unit is done once, whatever the schedule; failures, interruptions and slow
// deliveries end or hold up the work in order.
//
// SPDX-License-Identifier: MIT
#include "execution/executor.hpp"
#include <retrysim/run.hpp>

#include <retrysim/error.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace retrysim::execution {
namespace {

std::string bytes_of(std::size_t unit) { return std::to_string(unit * unit); }

Task squares(std::size_t units, std::vector<std::string>& results) {
  results.assign(units, "");
  Task task;
  task.units = units;
  task.make_work = [] { return [](std::size_t unit) { return bytes_of(unit); }; };
  task.deliver = [&results](std::size_t unit, std::string bytes) {
    REQUIRE(results.at(unit).empty());
    results[unit] = std::move(bytes);
  };
  return task;
}

TEST_CASE("Every unit is done and delivered exactly once for any number of threads") {
  for (const int jobs : {1, 2, 3, 16}) {
    for (const std::size_t units : {0u, 1u, 2u, 17u, 5000u}) {
      std::vector<std::string> results;
      const Task task = squares(units, results);
      make_thread_executor(jobs, nullptr)->run(task);
      for (std::size_t unit = 0; unit < units; ++unit) REQUIRE(results[unit] == bytes_of(unit));
    }
  }
}

TEST_CASE("A thread makes its work once and deliveries come in the calling thread") {
  std::mutex mutex;
  std::set<std::thread::id> makers;
  int made = 0;
  std::vector<std::string> results;
  Task task = squares(2000, results);
  task.make_work = [&] {
    const std::lock_guard lock(mutex);
    makers.insert(std::this_thread::get_id());
    ++made;
    return [](std::size_t unit) { return bytes_of(unit); };
  };
  const auto caller = std::this_thread::get_id();
  task.deliver = [&](std::size_t, const std::string&) {
    REQUIRE(std::this_thread::get_id() == caller);
  };
  make_thread_executor(4, nullptr)->run(task);
  REQUIRE(made <= 4);
  REQUIRE(made == static_cast<int>(makers.size()));
  REQUIRE(makers.count(caller) == 0);
}

TEST_CASE("The failure of the lowest unit is reported and those before it are delivered") {
  for (const int jobs : {1, 2, 5}) {
    std::vector<std::string> results;
    Task task = squares(1000, results);
    task.make_work = [] {
      return [](std::size_t unit) {
        if (unit == 300) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (unit >= 300 && unit % 3 == 0) throw std::runtime_error(bytes_of(unit));
        return bytes_of(unit);
      };
    };
    REQUIRE_THROWS_WITH(make_thread_executor(jobs, nullptr)->run(task), bytes_of(300));
    for (std::size_t unit = 0; unit < 300; ++unit) REQUIRE(results[unit] == bytes_of(unit));
    REQUIRE(results[999].empty());
  }
}

TEST_CASE("A work that cannot be made fails like its first unit") {
  std::vector<std::string> results;
  Task task = squares(10, results);
  task.make_work = []() -> Work { throw std::invalid_argument("no scenario"); };
  REQUIRE_THROWS_AS(make_thread_executor(3, nullptr)->run(task), std::invalid_argument);
}

TEST_CASE("What a delivery throws ends the run") {
  for (const int jobs : {1, 4}) {
    std::vector<std::string> results;
    Task task = squares(100000, results);
    std::size_t delivered = 0;
    task.deliver = [&](std::size_t, const std::string&) {
      if (++delivered == 50) throw std::runtime_error("disk full");
    };
    REQUIRE_THROWS_WITH(make_thread_executor(jobs, nullptr)->run(task), "disk full");
    REQUIRE(delivered == 50);
  }
}

TEST_CASE("Asked to stop it delivers what is finished and says so") {
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> computed{0};
  std::size_t delivered = 0;
  Task task;
  task.units = 1000000;
  task.make_work = [&] {
    return [&](std::size_t unit) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      ++computed;
      return bytes_of(unit);
    };
  };
  task.deliver = [&](std::size_t, const std::string&) { stop = ++delivered >= 20; };
  REQUIRE_THROWS_AS(make_thread_executor(2, &stop)->run(task), Interrupted);
  REQUIRE(delivered == computed);
  REQUIRE(delivered < task.units);
}

TEST_CASE("Work waits for deliveries instead of piling up bytes") {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  std::atomic<std::size_t> computed{0};
  std::size_t delivered = 0, most_ahead = 0;
  Task task;
  task.units = 200;
  task.make_work = [&] {
    return [&](std::size_t) {
      ++computed;
      return std::string(kBytes, 'x');
    };
  };
  task.deliver = [&](std::size_t, const std::string&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    most_ahead = std::max(most_ahead, computed - ++delivered);
  };
  make_thread_executor(2, nullptr)->run(task);
  REQUIRE(delivered == 200);
  // 8 MiB may wait, as much may be under delivery, and a batch for each thread under way.
  REQUIRE(most_ahead < 100);
}

TEST_CASE("It ticks while units take long") {
  int ticks = 0;
  Task task;
  task.units = 1;
  task.make_work = [] {
    return [](std::size_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(550));
      return std::string();
    };
  };
  task.deliver = [](std::size_t, const std::string&) {};
  task.tick = [&] { ++ticks; };
  make_thread_executor(1, nullptr)->run(task);
  REQUIRE(ticks >= 1);
}

TEST_CASE("Batches cover all units in order and grow with their speed") {
  Batches batches(10000, 2, 0.005);
  std::size_t next = 0, largest = 0;
  while (!batches.done()) {
    const Batch batch = batches.next();
    REQUIRE(batch.first == next);
    REQUIRE(batch.count >= 1);
    next += batch.count;
    largest = std::max(largest, batch.count);
    batches.note(batch.count, 50e-6 * static_cast<double>(batch.count));
  }
  REQUIRE(next == 10000);
  REQUIRE(largest >= 90);
  REQUIRE(largest <= 101);
  REQUIRE(batches.next().count == 0);
}

TEST_CASE("Units that take long are handed out one by one") {
  Batches batches(100, 2, 0.005);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(batches.next().count == 1);
    batches.note(1, 1.0);
  }
  REQUIRE(batches.done());
}

}  // namespace
}  // namespace retrysim::execution

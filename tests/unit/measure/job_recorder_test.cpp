// Jobs that are polled for: which of them count, and what is kept of those that succeed.
//
// SPDX-License-Identifier: MIT
#include "measure/record/recorder.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>

using namespace retrysim;

TEST_CASE("jobs belong to the cohort if they begin in the window") {
  stats::JobRecorder jobs;
  CHECK(!jobs.begins());
  jobs.begin_window();
  CHECK(jobs.begins());
  CHECK(jobs.begins());
  jobs.end_window();
  CHECK(!jobs.begins());
  CHECK(jobs.counts().begun == 2);
}

TEST_CASE("every job of the cohort is counted by its end, the checks only of those that succeed") {
  const Time done = Time::zero() + Duration::seconds(3);
  const Time seen = done + Duration::milliseconds(250);
  stats::JobRecorder jobs;
  jobs.ended(
      {.in_cohort = true, .end = JobEnd::kSucceeded, .checks = 4, .done = done, .now = seen});
  jobs.ended({.in_cohort = true, .end = JobEnd::kGivenUp, .checks = 9, .done = done, .now = seen});
  jobs.ended({.in_cohort = true, .end = JobEnd::kUnfinished, .done = done, .now = done});
  jobs.ended(
      {.in_cohort = false, .end = JobEnd::kSucceeded, .checks = 2, .done = done, .now = seen});
  CHECK(jobs.counts().ends == std::array<std::uint64_t, kJobEndCount>{1, 1, 0, 1});
  CHECK(jobs.counts().checks == 4);
  CHECK(jobs.counts().detection_delay_m.count == 1);
  CHECK(jobs.counts().detection_delay_m.sum_ns == 250'000'000);
}

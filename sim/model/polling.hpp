// Clients that wait for asynchronous jobs: each job is asked about again and again, with growing
// pauses, until it is done (the polling loop of the AWS guidance on retries). Every check is a
// request like any other, with the client's retry strategy.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "model/ids.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

struct Job {
  std::uint64_t entity = 0;  ///< names its random draws
  Time done;
  double pause_ns = 0;  ///< before the next check, without jitter; decorrelated: the last pause
  ClientId client{0};
  std::uint32_t checks = 0;  ///< begun
  bool in_cohort = false;
  bool open = false;
};

class Polling {
 public:
  /// `key`: that of the client group.
  Polling(const ArrivalSpec& spec, const RandomKey& key) : spec_(&spec), key_(key) {}

  /// A job of `client` begins; its number.
  std::uint32_t begin(ClientId client, std::uint64_t entity, bool in_cohort, Time now);

  /// The pause before the job's next check.
  Duration next_pause(std::uint32_t job);

  /// The next check of the job begins: its name for random draws.
  std::uint64_t begin_check(std::uint32_t job);
  /// It is this request.
  void attach(RequestId request);
  /// An attempt of the check has succeeded; the service looked at the job's state at `read`.
  void succeeded(RequestId request, Time read) { check_of(request).read = read; }
  /// An attempt of the check has failed.
  void failed(RequestId request, ResponseClass how) { check_of(request).last_failure = how; }

  std::uint32_t job_of(RequestId request) const { return checks_[request].job; }
  /// What follows from a check that ended with `outcome`; empty: another check.
  std::optional<JobEnd> after_check(RequestId request, Outcome outcome) const;

  void end(std::uint32_t job) {
    jobs_[job].open = false;
    jobs_.release(job);
  }
  const Job& job(std::uint32_t job) const { return jobs_[job]; }
  /// Jobs that have not ended.
  std::size_t live() const { return jobs_.live(); }
  std::uint32_t slots() const { return jobs_.slots(); }

 private:
  struct Check {
    Time read;
    std::uint32_t job = 0;
    ResponseClass last_failure = ResponseClass::kNotRetryable;
  };
  Check& check_of(RequestId request) { return checks_[request]; }
  std::uint64_t check_entity(const Job& j) const;

  const ArrivalSpec* spec_;
  RandomKey key_;
  kernel::Pool<Job> jobs_;
  ByRequest<Check> checks_;
  std::uint32_t checking_ = 0;  // the job whose check is about to be submitted
};

}  // namespace retrysim::model

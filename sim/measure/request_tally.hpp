// What the requests and attempts of a client group come to, from the start of the run on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace retrysim::stats {

struct RequestTally {
  using Outcomes = std::array<std::uint64_t, kOutcomeCount>;
  /// What count bins have of it.
  struct Counted {
    std::uint64_t requests = 0, successes = 0, failures = 0, failed_attempts = 0;

    std::uint64_t sum() const { return requests + successes + failures + failed_attempts; }
  };

  std::uint64_t successes() const {
    constexpr auto kSuccess = static_cast<std::size_t>(Outcome::kSuccess);
    return outcomes[0][kSuccess] + outcomes[1][kSuccess];
  }
  std::uint64_t attempts_ended_as(AttemptResult result) const {
    return failed_attempts[static_cast<std::size_t>(result)];
  }
  Counted counted() const {
    return {requests, successes(), failures,
            attempts_ended_as(AttemptResult::kThrottled) +
                attempts_ended_as(AttemptResult::kError) +
                attempts_ended_as(AttemptResult::kTimeout)};
  }

  std::uint64_t requests = 0, retries = 0, failures = 0;
  std::array<Outcomes, 2> outcomes{};  ///< of other requests, and of the cohort
  std::array<std::uint64_t, kAttemptResultCount> failed_attempts{};
};

}  // namespace retrysim::stats

// The decisions of `retrysim strategy` as a table, CSV or JSON.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

enum class DecisionFormat { kTable, kCsv, kJson };

/// One line of the output. What does not apply is left empty.
struct Decision {
  std::size_t call = 0;
  std::uint32_t attempt = 0;
  Time time;
  std::string response;
  std::string_view response_class;
  Outcome decision = Outcome::kRetry;
  std::optional<std::int32_t> quota;
  std::optional<Duration> delay;
  std::optional<double> measured_rate, fill_rate;  // per second
  std::optional<Duration> send_wait;
};

/// One line a decision; columns of the table for people are left out where they are empty.
std::string decision_table(const std::vector<Decision>& decisions, DecisionFormat format);

}  // namespace retrysim::cli

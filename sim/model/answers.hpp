// The answers that a client can get in one world, numbered: what services say to errors of all
// kinds, and what the client's own machine says when there is no connection or no answer.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/response.hpp>
#include <retrysim/scenario.hpp>

#include "scenario/limits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace retrysim::model {

/// Why a service does not take an attempt that its throttle has let pass.
enum class Refusal : std::uint8_t { kQueueFull, kLimit, kShed };

class Answers {
 public:
  static constexpr std::uint16_t kSuccess = 0;
  static constexpr std::uint16_t kConnectionRefused = 1;
  static constexpr std::uint16_t kNoAnswer = 2;  ///< within the time that the client waits

  /// What one service answers to attempts that it does not serve, or whose calls failed.
  struct OfService {
    std::uint16_t throttled = 0, timeout = 0, call_failed = 0, conflict = 0;
    std::array<std::uint16_t, 3> refusals = {};

    std::uint16_t refused(Refusal why) const { return refusals[static_cast<std::size_t>(why)]; }
  };

  Answers();

  /// The number of this answer, which is new or was there before. Throws std::invalid_argument if
  /// there are too many for their numbers; scenario files are checked when they are read.
  std::uint16_t number(const ErrorAnswer& error, std::optional<Duration> retry_after = {});

  /// Adds the answers of the next service, and returns them.
  const OfService& add_service(const ServiceSpec& service);

  const Response& operator[](std::uint16_t answer) const { return all_[answer]; }
  const std::vector<Response>& all() const { return all_; }
  const OfService& of_service(std::size_t service) const { return services_[service]; }

 private:
  std::vector<Response> all_;
  std::map<scenario::AnswerIdentity, std::uint16_t> numbers_;
  std::vector<OfService> services_;
};

}  // namespace retrysim::model

// How many things a simulation can tell apart: it numbers these by 16 bits.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/service_spec.hpp>
#include <retrysim/time.hpp>

#include <cstddef>
#include <optional>
#include <tuple>

namespace retrysim::scenario {

/// Most client groups; each call of a service to another one counts as a group.
inline constexpr std::size_t kMaxGroups = 65'535;
/// Most instances of all services together.
inline constexpr std::size_t kMaxInstances = 65'535;
/// Most different answers of services, beside a few that always exist.
inline constexpr std::size_t kMaxAnswers = 65'000;

/// The members by which answers are told apart.
inline auto identity_of(const ErrorAnswer& e, const std::optional<Duration>& retry_after) {
  const ErrorTraits& t = e.traits;
  return std::tuple(e.status, e.code, t.retry_safety, t.throttling, t.timeout, t.fault,
                    retry_after);
}
using AnswerIdentity = decltype(identity_of({}, {}));

}  // namespace retrysim::scenario

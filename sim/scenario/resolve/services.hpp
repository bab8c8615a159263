// Steps of resolving a service: the answers it gives instead of serving, and the limits of its
// throttle for single operations and keys.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/service_spec.hpp>

#include "scenario/resolve/tables.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace retrysim::scenario {

/// Parses an answer as `retrysim strategy` takes it, "503:SlowDown+throttling+retry-after=2s";
/// otherwise returns what is wrong, as the end of a sentence.
std::variant<ServiceAnswer, std::string> parse_service_answer(std::string_view text);

/// Reads the keys `answers.*` of a service.
void read_answers(Tables& t, const KeyResolution& keys, ServiceSpec& spec);

/// Reads the tables [service.NAME.throttle.operation.*] and [service.NAME.throttle.key.*] of a
/// service whose own keys have been resolved.
void resolve_throttle_limits(Tables& t, const KeyResolution& keys, const Member& service,
                             ServiceSpec& spec);

/// Reports a throttle or limit at `path` whose windows let less than one attempt pass each.
void check_window(Tables& t, const std::string& path, Place place, double rate, Duration window);

/// Reports limits for operations and keys that no client has. All clients must have been resolved.
void check_throttle_limits(Tables& t);
/// Notes what a service does by priority although that changes nothing. All clients must have been
/// resolved.
void note_idle_shedding(Tables& t);

}  // namespace retrysim::scenario

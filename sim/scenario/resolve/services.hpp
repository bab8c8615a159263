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

/// An answer as `retrysim strategy` takes it, "503:SlowDown+throttling+retry-after=2s"; or what is
/// wrong with it, as the end of a sentence.
std::variant<ServiceAnswer, std::string> parse_service_answer(std::string_view text);

/// Reads the keys `answers.*` of a service.
void read_answers(Tables& t, const KeyResolution& keys, ServiceSpec& spec);

/// Reads the tables [service.NAME.throttle.operation.*] and [service.NAME.throttle.key.*] of a
/// service whose own keys have been resolved.
void resolve_throttle_limits(Tables& t, const KeyResolution& keys, const Member& service,
                             ServiceSpec& spec);

/// Whether windows of the throttle or limit at `path` let at least one attempt pass each.
void check_window(Tables& t, const std::string& path, Place place, double rate, Duration window);

/// When the clients are known: whether there are such operations and keys.
void check_throttle_limits(Tables& t);
/// When the clients are known: what a service does by priority although that changes nothing.
void note_idle_shedding(Tables& t);

}  // namespace retrysim::scenario

// What a service answers to attempts that it does not serve: read from its keys.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/service_answers.hpp>

#include "scenario/tables.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace retrysim::scenario {

/// An answer as `retrysim strategy` takes it, "503:SlowDown+throttling+retry-after=2s"; or what is
/// wrong with it, as the end of a sentence.
std::variant<ServiceAnswer, std::string> parse_service_answer(std::string_view text);

/// Reads the keys `answers.*` of a service.
void read_answers(Tables& t, const KeyResolution& keys, ServiceSpec& spec);

}  // namespace retrysim::scenario

// JSON inside a page: short numbers, and texts that no browser takes for markup.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace retrysim::report {

/// Appends `value`, a finite number, rounded to so many significant digits.
void append_compact(std::string& out, double value, int digits);

/// `value` rounded to so many digits, as a whole number where it is one; null if it is not finite.
nlohmann::ordered_json compact(double value, int digits = 6);

/// A JSON string in quotes; bytes that are not UTF-8 are replaced.
std::string json_text(std::string_view text);

/// `json` for a script element: no `<` in it, so that no text ends the element.
std::string json_for_script(const nlohmann::ordered_json& json);

}  // namespace retrysim::report

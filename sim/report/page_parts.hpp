// The style and the script of the page, which CMake puts into the program from sim/report/page.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace retrysim::report {

std::string_view page_style();
std::string_view page_script();
/// SHA-256 of their texts, in hexadecimal digits.
std::string_view page_style_sha256();
std::string_view page_script_sha256();

}  // namespace retrysim::report

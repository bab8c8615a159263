// Which releases of the SDKs the presets have been compared with, call by call: see tests/sdks.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/presets.hpp>

#include <string_view>

namespace retrysim {

/// The release whose decisions agree with those of this preset; empty if it was not compared.
std::string_view compared_release(const Preset& preset);

}  // namespace retrysim

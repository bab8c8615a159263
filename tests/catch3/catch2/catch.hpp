// The single header of Catch2 2 for tests that are built with Catch2 3: all of its headers, and the
// names that have moved. tests/CMakeLists.txt puts this folder on the path if Catch2 is 3.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <catch2/catch_all.hpp>

#include <string>

using Catch::Approx;

namespace Catch {

using namespace Matchers;

// Before that of ranges, which is another one.
inline auto Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }

}  // namespace Catch

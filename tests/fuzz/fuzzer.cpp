// The program of libFuzzer: RETRYSIM_FUZZ names the target.
//
// SPDX-License-Identifier: MIT
#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const retrysim::fuzz::Target* const target = [] {
    const char* name = std::getenv("RETRYSIM_FUZZ");
    return retrysim::fuzz::find_target(name == nullptr ? "" : name);
  }();
  if (target == nullptr) {
    std::fputs("fuzzer: RETRYSIM_FUZZ names no target\n", stderr);
    std::exit(2);
  }
  target->play({reinterpret_cast<const char*>(data), size});
  return 0;
}

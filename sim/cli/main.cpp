// The program `retrysim`.
//
// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "report/document/text.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <new>

namespace {

// A reserve of memory, so that a command whose memory runs out ends with a message. Destructors
// need memory, too: those of JSON do, and must not fail.
constexpr std::size_t kReserve = std::size_t{1} << 20;
std::atomic<void*> reserve = nullptr;

/// The handler for lack of memory, which frees the reserve. Called by any thread, and by several at
/// once.
void use_reserve() {
  std::set_new_handler(nullptr);
  ::operator delete(reserve.exchange(nullptr));
  throw std::bad_alloc();
}

}  // namespace

int main(int argc, char** argv) {
  // A test calls `main` once for each command.
  if (reserve == nullptr) reserve = ::operator new(kReserve, std::nothrow);
  if (reserve == nullptr) {
    std::fputs("retrysim: error: out of memory before anything was done\n", stderr);
    return retrysim::cli::kLimitHit;
  }
  std::set_new_handler(use_reserve);
  retrysim::report::prepare_standard_streams();
  return retrysim::cli::program({argv + std::min(argc, 1), argv + argc});
}

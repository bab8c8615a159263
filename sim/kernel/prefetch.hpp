// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace retrysim::kernel {

/// Starts to load an object of at most two cache lines that will be written soon, where it may be
/// far from the cache: with very many clients nearly everything is. The same results without it.
/// Whatever calls this and does nothing else must be inlined, too: GCC takes such a function for
/// one without effects, and drops calls of it.
template <class T>
[[gnu::always_inline]] inline void prefetch(const T& object) {
  constexpr std::size_t kLine = 64;
  __builtin_prefetch(&object, 1);
  // An object that is not aligned may reach into the next line.
  if constexpr (sizeof(T) > kLine) {
    __builtin_prefetch(reinterpret_cast<const char*>(&object) + sizeof(T) - 1, 1);
  }
}

}  // namespace retrysim::kernel

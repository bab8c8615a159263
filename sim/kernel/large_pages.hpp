// Arrays of many megabytes that are read here and there cost less in large pages: fewer page faults
// when they are filled, and fewer misses of the processor's address cache afterwards. What the
// system makes of the advice changes nothing but the time that a run takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace retrysim::kernel {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

/// The memory will be used, all of it. Call it before the memory is touched for the first time.
inline void use_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  if (bytes < kLargePage) return;
  constexpr std::size_t kPage = 4096;  // advice is for whole pages
  const std::size_t begin = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const std::size_t end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace retrysim::kernel

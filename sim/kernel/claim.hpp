// Large arrays are sized by one piece of code, which runs twice: with a `Tally` before anything is
// taken, to find out how much it will be, and with a `Claim` to take it. So the estimate of a run's
// memory cannot drift from what the run takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/stop.hpp>

#include "kernel/large_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::kernel {

/// Takes the memory; ends with `Interrupted` if asked to stop meanwhile.
struct Claim {
  /// `array` gets `length` elements. Each holds as many further bytes elsewhere.
  template <class T>
  void operator()(std::vector<T>& array, std::size_t length, const T& value = T(),
                  std::size_t /*further_bytes*/ = 0) const {
    constexpr std::size_t kStep = (std::size_t{16} << 20) / sizeof(T) + 1;
    array.reserve(length);
    use_large_pages(array.data(), array.capacity() * sizeof(T));
    while (array.size() < length) {
      stop_point();
      array.resize(std::min(length, array.size() + kStep), value);
    }
  }
  /// Room for `most` elements, of which `expected` will be used.
  template <class T>
  void room(std::vector<T>& array, std::size_t /*expected*/, std::size_t most) const {
    array.reserve(most);  // memory that is not used costs an address, no more
  }
  /// At most a few thousand elements as they are made, none of which is copied from another.
  template <class T>
  void few(std::vector<T>& array, std::size_t length) const {
    array.resize(length);
  }
};

/// Counts what `Claim` would take.
class Tally {
 public:
  template <class T>
  void operator()(std::vector<T>& /*array*/, std::size_t length, const T& /*value*/ = T(),
                  std::size_t further_bytes = 0) {
    bytes_ += std::uint64_t{length} * (sizeof(T) + further_bytes);
  }
  template <class T>
  void room(std::vector<T>& /*array*/, std::size_t expected, std::size_t /*most*/) {
    bytes_ += std::uint64_t{expected} * sizeof(T);
  }
  template <class T>
  void few(std::vector<T>& /*array*/, std::size_t length) {
    bytes_ += std::uint64_t{length} * sizeof(T);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Bytes that a vector holds.
template <class T>
std::uint64_t bytes_of(const std::vector<T>& array) {
  return std::uint64_t{array.capacity()} * sizeof(T);
}

}  // namespace retrysim::kernel

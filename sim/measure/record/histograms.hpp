// A histogram of few values, which takes no more memory than they do. LogLinearHistogram itself is
// declared in retrysim/run_result.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace retrysim::stats {

/// The buckets of a histogram that are not empty.
class SparseHistogram {
 public:
  static constexpr std::size_t kBytesOfBucket = 8;

  SparseHistogram() = default;
  explicit SparseHistogram(const Histogram& histogram);

  /// Adds the values, in any order, which come back sorted.
  void add(std::span<std::uint64_t> values);

  /// All of them together.
  static Histogram sum(std::span<const SparseHistogram* const> parts);

 private:
  using Bucket = std::pair<std::uint32_t, std::uint32_t>;  // which one, and its number of values

  static_assert(sizeof(Bucket) == kBytesOfBucket);

  std::vector<Bucket> counts_;
  std::uint64_t smallest_ = ~std::uint64_t{0}, largest_ = 0;
};

}  // namespace retrysim::stats

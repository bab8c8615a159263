// Histogram of non-negative integers (nanoseconds) with log-linear buckets: values below 2^kBits
// are exact, larger ones fall into buckets 1/2^kBits of their power of two wide. Integer counts:
// merging is exact, associative and order-independent.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retrysim {

template <int kBits>
class LogLinearHistogram {
 public:
  static constexpr std::uint64_t kSubBuckets = std::uint64_t{1} << kBits;
  /// Number of buckets that cover all 64-bit values.
  static constexpr std::size_t kBucketCount = std::size_t{65 - kBits} << kBits;
  /// Largest distance of a quantile from the exact one, relative to it. Exact below 2^(kBits + 1).
  static constexpr double kRelativeError = 1.0 / static_cast<double>(kSubBuckets);

  void add(std::uint64_t value) {
    const std::size_t i = index(value);
    if (i - first_ >= counts_.size()) [[unlikely]] {
      cover(i >> kBits, i >> kBits);
    }
    ++counts_[i - first_];
    ++total_;
    if (value < smallest_) [[unlikely]]
      smallest_ = value;
    if (value > largest_) [[unlikely]]
      largest_ = value;
  }

  /// The same for many values, at less than half the cost for each.
  void add(std::span<const std::uint64_t> values);
  /// `times` times the same value.
  void add(std::uint64_t value, std::uint64_t times);

  // For those who fill several histograms at once: between the extremes so far every bucket has
  // memory, and values from kSubBuckets on, below 2^kPlainBits, are found by a shift.
  static constexpr int kPlainBits = 53;
  /// The values, both included, for which `buckets` may be asked; `low` > `high`: there are none.
  struct PlainRange {
    std::uint64_t low = 1, high = 0;
  };
  PlainRange plain_range() const {
    constexpr std::uint64_t kMost = (std::uint64_t{1} << kPlainBits) - 1;
    return {std::max(smallest_, kSubBuckets), std::min(largest_, kMost)};
  }
  /// The counts, until another value than those is added. The caller says to `counted` by how much
  /// it raised them in all.
  struct Buckets {
    std::uint64_t* counts;
    std::size_t first;
    std::uint64_t& of(std::uint64_t value) const { return counts[plain_index(value) - first]; }
  };
  Buckets buckets() { return {counts_.data(), first_}; }
  void counted(std::uint64_t values) { total_ += values; }

  std::uint64_t count() const { return total_; }
  void merge(const LogLinearHistogram& other);
  void clear();  ///< forgets all values but keeps the memory, for the next time-series bin

  /// The smallest value below or at which a share `p` of the values lies: the ceil(p n)-th smallest
  /// one, where a product that exceeds a whole number by rounding only counts as that number. A
  /// bucket's values are taken as spread evenly over its width, but never outside the smallest and
  /// the largest value. Zero if empty; `p` is clamped to (0, 1], so that 0 gives the first one.
  double quantile(double p) const;

  /// The values between which that value is known to lie, both included: the edges of its bucket,
  /// or the smallest and the largest value where they are nearer. Zeros if empty.
  struct Bounds {
    double low = 0, high = 0;
  };
  Bounds quantile_bounds(double p) const;

  /// Share of values <= `value`, a bucket's values taken as spread evenly over its integers. Zero
  /// if empty or below the smallest value, one from the largest value on.
  double share_at_or_below(double value) const;

  /// Same counts in the same buckets and the same extremes, however much memory either has set
  /// aside.
  bool operator==(const LogLinearHistogram& other) const;

  /// All that a histogram is, to store it or to send it elsewhere.
  struct Parts {
    std::size_t first = 0;              ///< a multiple of 2^kBits
    std::vector<std::uint64_t> counts;  ///< of the buckets from `first` on, in whole 2^kBits
    std::uint64_t smallest = ~std::uint64_t{0}, largest = 0;
  };
  Parts parts() const { return {first_, counts_, smallest_, largest_}; }
  static LogLinearHistogram from_parts(Parts parts);

  /// The bucket of a value.
  static std::size_t index(std::uint64_t v) {
    if (v < kSubBuckets) return v;
    const int shift = 63 - std::countl_zero(v) - kBits;
    return (static_cast<std::size_t>(shift + 1) << kBits) + ((v >> shift) - kSubBuckets);
  }
  /// Smallest value of a bucket, and number of integers in it; `index` < kBucketCount.
  static std::uint64_t lower_bound(std::size_t index);
  static std::uint64_t width(std::size_t index);

 private:
  struct Rank {
    std::size_t bucket = 0;
    std::uint64_t in_bucket = 0;  // from 1
    std::uint64_t bucket_count = 0;
  };
  static constexpr std::size_t kBlocks = kBucketCount >> kBits;  // of kSubBuckets buckets

  // Values from kSubBuckets on, below 2^53: a double holds them exactly, and the first bits of a
  // double are an exponent and a mantissa, as a bucket's number is.
  static std::size_t plain_index(std::uint64_t v) {
    constexpr std::uint64_t kBefore = std::uint64_t{1023 + kBits - 1} << kBits;
    const auto exact = static_cast<double>(static_cast<std::int64_t>(v));
    return (std::bit_cast<std::uint64_t>(exact) >> (52 - kBits)) - kBefore;
  }
  /// Sets memory aside for the values of these blocks, and of those between.
  void cover(std::size_t first_block, std::size_t last_block);
  /// The counts of a block; null if it has no memory, and so no values.
  const std::uint64_t* counts_of(std::size_t block) const;
  Rank rank_of(double p) const;  // not for an empty histogram
  double inside(double value) const;

  // From the smallest to the largest block in use: latencies of some milliseconds need not pay for
  // the nanoseconds below them.
  std::vector<std::uint64_t> counts_;
  std::size_t first_ = 0;  // bucket of counts_[0]
  std::uint64_t total_ = 0;
  std::uint64_t smallest_ = ~std::uint64_t{0}, largest_ = 0;
};

using Histogram = LogLinearHistogram<8>;     ///< whole-run latencies: 0.4 % buckets
using BinHistogram = LogLinearHistogram<6>;  ///< one time-series bin: 1.6 % buckets

extern template class LogLinearHistogram<8>;
extern template class LogLinearHistogram<6>;

}  // namespace retrysim

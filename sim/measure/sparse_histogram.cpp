// SPDX-License-Identifier: MIT
#include "measure/sparse_histogram.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace retrysim::stats {

SparseHistogram::SparseHistogram(const Histogram& histogram) {
  if (histogram.count() == 0) return;
  const Histogram::Parts parts = histogram.parts();
  smallest_ = parts.smallest;
  largest_ = parts.largest;
  // Most buckets are empty: a sum without branches is the faster way past them.
  constexpr std::size_t kStride = 16;
  static_assert(Histogram::kSubBuckets % kStride == 0);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto is_empty = [&](std::size_t from) {
    const auto first = parts.counts.begin() + static_cast<std::ptrdiff_t>(from);
    return std::accumulate(first, first + kStride, std::uint64_t{0}) == 0;
  };
  for (std::size_t i = 0; i < parts.counts.size(); ++i) {
    if (i % kStride == 0 && is_empty(i)) {
      i += kStride - 1;
      continue;
    }
    for (std::uint64_t left = parts.counts[i]; left > 0; left -= std::min(left, kMost)) {
      counts_.emplace_back(static_cast<std::uint32_t>(parts.first + i),
                           static_cast<std::uint32_t>(std::min(left, kMost)));
    }
  }
  counts_.shrink_to_fit();
}

void SparseHistogram::add(std::span<std::uint64_t> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  smallest_ = std::min(smallest_, values.front());
  largest_ = std::max(largest_, values.back());
  // Buckets are in the order of their values; those that are there already come again only where a
  // count would not fit.
  std::vector<Bucket> merged;
  auto old = counts_.begin();
  const auto put = [&](Bucket more) {
    if (!merged.empty() && merged.back().first == more.first &&
        merged.back().second <= std::numeric_limits<std::uint32_t>::max() - more.second) {
      merged.back().second += more.second;
    } else {
      merged.push_back(more);
    }
  };
  for (const std::uint64_t value : values) {
    const auto bucket = static_cast<std::uint32_t>(Histogram::index(value));
    while (old != counts_.end() && old->first <= bucket) put(*old++);
    put({bucket, 1});
  }
  while (old != counts_.end()) put(*old++);
  merged.shrink_to_fit();
  counts_ = std::move(merged);
}

Histogram SparseHistogram::sum(std::span<const SparseHistogram* const> parts) {
  constexpr std::size_t kBlock = Histogram::kSubBuckets;
  std::size_t first = Histogram::kBucketCount, last = 0;
  for (const SparseHistogram* part : parts) {
    if (part->counts_.empty()) continue;
    first = std::min<std::size_t>(first, part->counts_.front().first / kBlock * kBlock);
    last = std::max<std::size_t>(last, (part->counts_.back().first / kBlock + 1) * kBlock);
  }
  if (last == 0) return {};
  Histogram::Parts sum;
  sum.first = first;
  sum.counts.resize(last - first);
  for (const SparseHistogram* part : parts) {
    for (const auto& [bucket, count] : part->counts_) sum.counts[bucket - first] += count;
    sum.smallest = std::min(sum.smallest, part->smallest_);
    sum.largest = std::max(sum.largest, part->largest_);
  }
  return Histogram::from_parts(std::move(sum));
}

}  // namespace retrysim::stats

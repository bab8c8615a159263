// Reading, merging and packing of log-linear histograms. Block 0 holds the values below 2^kBits,
// block b >= 1 those from 2^(kBits + b - 1) on; each block has 2^kBits buckets, so blocks 0 and 1
// are exact and the buckets of block b are 2^(b - 1) wide.
//
// SPDX-License-Identifier: MIT
#include "measure/record/histograms.hpp"

#include <retrysim/run_result.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace retrysim {

template <int kBits>
std::uint64_t LogLinearHistogram<kBits>::lower_bound(std::size_t index) {
  const std::size_t block = index >> kBits;
  if (block == 0) return index;
  return (kSubBuckets + (index & (kSubBuckets - 1))) << (block - 1);
}

template <int kBits>
std::uint64_t LogLinearHistogram<kBits>::width(std::size_t index) {
  const std::size_t block = index >> kBits;
  return block <= 1 ? 1 : std::uint64_t{1} << (block - 1);
}

template <int kBits>
void LogLinearHistogram<kBits>::add(std::span<const std::uint64_t> values) {
  std::size_t i = 0;
  while (i < values.size()) {
    if (const auto [low, high] = plain_range(); low <= high) {
      const std::uint64_t smallest = low, range = high - low;
      const Buckets in = buckets();
      const std::size_t begin = i;
      for (; i < values.size() && values[i] - smallest <= range; ++i) ++in.of(values[i]);
      total_ += i - begin;
    }
    if (i < values.size()) add(values[i++]);
  }
}

template <int kBits>
void LogLinearHistogram<kBits>::add(std::uint64_t value, std::uint64_t times) {
  if (times == 0) return;
  add(value);
  counts_[index(value) - first_] += times - 1;
  total_ += times - 1;
}

template <int kBits>
void LogLinearHistogram<kBits>::cover(std::size_t first_block, std::size_t last_block) {
  const std::size_t begin = first_block << kBits, end = (last_block + 1) << kBits;
  if (counts_.empty()) first_ = begin;
  if (begin < first_) counts_.insert(counts_.begin(), first_ - begin, 0);
  first_ = std::min(first_, begin);
  const std::size_t size = std::max(counts_.size(), end - first_);
  // Latencies grow block by block in a system that fills up.
  if (size > counts_.capacity() && !counts_.empty()) counts_.reserve(size + size / 2);
  counts_.resize(size);
}

template <int kBits>
const std::uint64_t* LogLinearHistogram<kBits>::counts_of(std::size_t block) const {
  const std::size_t begin = block << kBits;
  if (begin - first_ >= counts_.size()) return nullptr;  // below first_ the difference wraps round
  return counts_.data() + (begin - first_);
}

template <int kBits>
LogLinearHistogram<kBits> LogLinearHistogram<kBits>::from_parts(Parts parts) {
  LogLinearHistogram h;
  h.first_ = parts.first;
  h.counts_ = std::move(parts.counts);
  h.total_ = std::accumulate(h.counts_.begin(), h.counts_.end(), std::uint64_t{0});
  h.smallest_ = parts.smallest;
  h.largest_ = parts.largest;
  return h;
}

template <int kBits>
void LogLinearHistogram<kBits>::merge(const LogLinearHistogram& other) {
  if (counts_.empty()) {
    counts_ = other.counts_;
    first_ = other.first_;
  } else if (!other.counts_.empty()) {
    const std::size_t end = other.first_ + other.counts_.size();
    // Sums do not grow any more: no room for that.
    counts_.reserve(std::max(first_ + counts_.size(), end) - std::min(first_, other.first_));
    cover(other.first_ >> kBits, (end - 1) >> kBits);
    const auto own = counts_.begin() + static_cast<std::ptrdiff_t>(other.first_ - first_);
    std::transform(other.counts_.begin(), other.counts_.end(), own, own, std::plus<>());
  }
  total_ += other.total_;
  smallest_ = std::min(smallest_, other.smallest_);
  largest_ = std::max(largest_, other.largest_);
}

template <int kBits>
void LogLinearHistogram<kBits>::clear() {
  if (total_ == 0) return;
  const std::size_t from = index(smallest_) - first_, to = index(largest_) + 1 - first_;
  std::memset(counts_.data() + from, 0, (to - from) * sizeof(std::uint64_t));
  total_ = 0;
  smallest_ = ~std::uint64_t{0};
  largest_ = 0;
}

template <int kBits>
typename LogLinearHistogram<kBits>::Rank LogLinearHistogram<kBits>::rank_of(double p) const {
  // 0.07 * 100 is a little more than 7 in doubles; the factor takes such an excess off again. It is
  // 2^-50, a few roundings wide and far below one in any count.
  const double wanted = std::ceil(p * static_cast<double>(total_) * (1 - 0x1p-50));
  std::uint64_t rank = total_;
  if (wanted < static_cast<double>(total_)) {
    rank = wanted >= 1 ? static_cast<std::uint64_t>(wanted) : 1;
  }
  // Whole strides first: a sum without branches is the faster way past empty buckets. From the end
  // that is nearer.
  constexpr std::size_t kStride = 32;
  static_assert(kSubBuckets % kStride == 0);
  const auto in_stride = [](const std::uint64_t* counts) {
    return std::accumulate(counts, counts + kStride, std::uint64_t{0});
  };
  const auto stride_of = [this](std::uint64_t value) {
    return counts_.data() + (index(value) - first_) / kStride * kStride;
  };
  if (std::uint64_t above = total_ - rank; above < rank) {
    const std::uint64_t* stride = stride_of(largest_);
    for (std::uint64_t n; (n = in_stride(stride)) <= above; stride -= kStride) above -= n;
    const std::uint64_t* bucket = stride + kStride - 1;
    for (; *bucket <= above; --bucket) above -= *bucket;
    return {first_ + static_cast<std::size_t>(bucket - counts_.data()), *bucket - above, *bucket};
  }
  const std::uint64_t* stride = stride_of(smallest_);
  for (std::uint64_t n; (n = in_stride(stride)) < rank; stride += kStride) rank -= n;
  const std::uint64_t* bucket = stride;
  for (; *bucket < rank; ++bucket) rank -= *bucket;
  return {first_ + static_cast<std::size_t>(bucket - counts_.data()), rank, *bucket};
}

template <int kBits>
double LogLinearHistogram<kBits>::inside(double value) const {
  return std::clamp(value, static_cast<double>(smallest_), static_cast<double>(largest_));
}

template <int kBits>
double LogLinearHistogram<kBits>::quantile(double p) const {
  if (total_ == 0) return 0;
  const Rank rank = rank_of(p);
  const auto lower = static_cast<double>(lower_bound(rank.bucket));
  if (width(rank.bucket) == 1) return lower;
  const double place =
      (static_cast<double>(rank.in_bucket) - 0.5) / static_cast<double>(rank.bucket_count);
  return inside(lower + static_cast<double>(width(rank.bucket)) * place);
}

template <int kBits>
typename LogLinearHistogram<kBits>::Bounds LogLinearHistogram<kBits>::quantile_bounds(
    double p) const {
  if (total_ == 0) return {};
  const std::size_t bucket = rank_of(p).bucket;
  const std::uint64_t lower = lower_bound(bucket);
  return {inside(static_cast<double>(lower)),
          inside(static_cast<double>(lower + (width(bucket) - 1)))};
}

template <int kBits>
double LogLinearHistogram<kBits>::share_at_or_below(double value) const {
  if (total_ == 0 || !(value >= static_cast<double>(smallest_))) return 0;
  if (value >= static_cast<double>(largest_)) return 1;
  const auto whole = static_cast<std::uint64_t>(value);
  const std::size_t bucket = index(whole);
  std::uint64_t below = 0;
  for (std::size_t block = 0; block < bucket >> kBits; ++block) {
    if (const std::uint64_t* counts = counts_of(block)) {
      below = std::accumulate(counts, counts + kSubBuckets, below);
    }
  }
  double part = 0;
  if (const std::uint64_t* counts = counts_of(bucket >> kBits)) {
    const std::size_t i = bucket & (kSubBuckets - 1);
    below = std::accumulate(counts, counts + i, below);
    part = static_cast<double>(whole - lower_bound(bucket) + 1) /
           static_cast<double>(width(bucket)) * static_cast<double>(counts[i]);
  }
  return (static_cast<double>(below) + part) / static_cast<double>(total_);
}

template <int kBits>
bool LogLinearHistogram<kBits>::operator==(const LogLinearHistogram& other) const {
  if (total_ != other.total_ || smallest_ != other.smallest_ || largest_ != other.largest_) {
    return false;
  }
  // With equal totals, equal counts in the blocks that both have leave nothing for the others.
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::uint64_t* a = counts_of(block);
    const std::uint64_t* b = other.counts_of(block);
    if (a != nullptr && b != nullptr && !std::equal(a, a + kSubBuckets, b)) return false;
  }
  return true;
}

template class LogLinearHistogram<8>;
template class LogLinearHistogram<6>;

}  // namespace retrysim

namespace retrysim::stats {

// --- Sparse histograms ---------------------------------------------------------------------------

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

// Reading and merging of the log-linear histogram. Block 0 holds the values below 2^kBits, block
// b >= 1 those from 2^(kBits + b - 1) on; each block has 2^kBits buckets, so blocks 0 and 1 are
// exact and the buckets of block b are 2^(b - 1) wide.
//
// SPDX-License-Identifier: MIT
#include <retrysim/histogram.hpp>

#include <algorithm>
#include <cmath>

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
void LogLinearHistogram<kBits>::grow(std::size_t index) {
  counts_.resize(((index >> kBits) + 1) << kBits);
}

template <int kBits>
void LogLinearHistogram<kBits>::merge(const LogLinearHistogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
  smallest_ = std::min(smallest_, other.smallest_);
  largest_ = std::max(largest_, other.largest_);
}

template <int kBits>
void LogLinearHistogram<kBits>::clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
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
  std::size_t i = 0;
  while (rank > counts_[i]) rank -= counts_[i++];
  return {i, rank};
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
      (static_cast<double>(rank.in_bucket) - 0.5) / static_cast<double>(counts_[rank.bucket]);
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
  for (std::size_t i = 0; i < bucket; ++i) below += counts_[i];
  const double part = static_cast<double>(whole - lower_bound(bucket) + 1) /
                      static_cast<double>(width(bucket)) * static_cast<double>(counts_[bucket]);
  return (static_cast<double>(below) + part) / static_cast<double>(total_);
}

template <int kBits>
bool LogLinearHistogram<kBits>::operator==(const LogLinearHistogram& other) const {
  // With equal totals, equal counts in the buckets that both have leave nothing for the others.
  const std::size_t both = std::min(counts_.size(), other.counts_.size());
  const auto end = counts_.begin() + static_cast<std::ptrdiff_t>(both);
  return total_ == other.total_ && smallest_ == other.smallest_ && largest_ == other.largest_ &&
         std::equal(counts_.begin(), end, other.counts_.begin());
}

template class LogLinearHistogram<8>;
template class LogLinearHistogram<6>;

}  // namespace retrysim

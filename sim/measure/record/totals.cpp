// SPDX-License-Identifier: MIT
#include "measure/record/totals.hpp"

#include <retrysim/simulation.hpp>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace retrysim::stats {

// --- Blocks of durations -------------------------------------------------------------------------

namespace {

/// Adds durations to `totals`, and to the bin if there is one, as long as they lie between `low`
/// and `low + range`: within the extremes of the histograms, where nothing needs to be looked at.
/// Returns how many were added.
template <class... Bin>
std::size_t add_plain(std::span<const std::uint64_t> durations_ns, std::uint64_t low,
                      std::uint64_t range, DurationTotals& totals, Bin&... bin) {
  const auto add_to = [](std::uint64_t ns, const auto&... buckets) { (++buckets.of(ns), ...); };
  std::uint64_t sum = 0;
  SquareNanoseconds squares = 0;
  const auto add_all = [&](const auto... buckets) {
    std::size_t i = 0;
    for (; i < durations_ns.size(); ++i) {
      const std::uint64_t ns = durations_ns[i];
      if (ns - low > range) break;
      add_to(ns, buckets...);
      sum += ns;
      squares += static_cast<SquareNanoseconds>(ns) * ns;
    }
    return i;
  };
  const std::size_t added = add_all(totals.histogram.buckets(), bin.histogram.buckets()...);
  totals.histogram.counted(added);
  totals.moments.add(added, sum, squares);
  (bin.histogram.counted(added), ...);
  ((bin.sum_ns += static_cast<WideNanoseconds>(sum)), ...);
  return added;
}

/// Adds durations to `totals`, and to the bin if there is one (`bin`: none or one).
template <class... Bin>
void add_all(std::span<const std::uint64_t> durations_ns, DurationTotals& totals, Bin&... bin) {
  // Sums and sums of squares of a block of such durations fit in 64 and 128 bits.
  static_assert(Histogram::kPlainBits == 53);
  constexpr std::size_t kMost = 1024;
  while (!durations_ns.empty()) {
    const std::span block = durations_ns.first(std::min(durations_ns.size(), kMost));
    const std::uint64_t low =
        std::max({totals.histogram.plain_range().low, bin.histogram.plain_range().low...});
    const std::uint64_t high =
        std::min({totals.histogram.plain_range().high, bin.histogram.plain_range().high...});
    std::size_t done = low <= high ? add_plain(block, low, high - low, totals, bin...) : 0;
    if (done < block.size()) {
      const std::uint64_t ns = block[done++];
      totals.histogram.add(ns);
      totals.moments.add(Duration::nanoseconds(static_cast<std::int64_t>(ns)));
      (bin.histogram.add(ns), ...);
      ((bin.sum_ns += static_cast<WideNanoseconds>(ns)), ...);
    }
    durations_ns = durations_ns.subspan(done);
  }
}

}  // namespace

void BinTotals::describe(ClientBin& row) const {
  row.latency_count = histogram.count();
  row.latency_sum_ns = static_cast<double>(sum_ns);
  if (histogram.count() == 0) return;
  row.latency_p50_s = histogram.quantile(0.50) * 1e-9;
  row.latency_p99_s = histogram.quantile(0.99) * 1e-9;
}

void add_block(std::span<const std::uint64_t> durations_ns, DurationTotals& totals,
               BinTotals* bin) {
  if (bin == nullptr) {
    add_all(durations_ns, totals);
  } else {
    add_all(durations_ns, totals, *bin);
  }
}

void add_block(std::span<const std::uint64_t> durations_ns, BinTotals& bin) {
  bin.histogram.add(durations_ns);
  for (const std::uint64_t ns : durations_ns) bin.sum_ns += static_cast<WideNanoseconds>(ns);
}

void count_slow(std::span<const std::uint64_t> latencies_ns, std::span<const std::uint64_t> limits,
                std::vector<std::uint64_t>& slow) {
  slow.resize(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    slow[i] += static_cast<std::uint64_t>(
        std::count_if(latencies_ns.begin(), latencies_ns.end(),
                      [limit = limits[i]](std::uint64_t latency) { return latency > limit; }));
  }
}

void DurationBooks::open_log(std::size_t set) { by_set_[set] = std::make_unique<Log>(); }

void DurationBooks::add_noted(std::size_t set) {
  Log& log = *by_set_[set];
  const std::span<const std::uint64_t> noted(log.noted.data(), std::exchange(log.count, 0));
  const std::uint64_t zeros = std::exchange(log.zeros, 0);
  BinTotals* const bin = (set & kBin) != 0 ? &bin_ : nullptr;
  if (zeros > 0 && bin != nullptr) bin->add_zeros(zeros);
  if (set == kBin) return add_block(noted, *bin);
  if (!limits_ns_.empty() && (set & kLatencyOk) != 0) count_slow(noted, limits_ns_, log.slow);
  add_block(noted, log.totals, bin);
  if (zeros > 0) log.totals.add_zeros(zeros);
}

void DurationBooks::add_all_noted() {
  settle();
  for (std::size_t set = 0; set < kSets; ++set) {
    if (by_set_[set] != nullptr) add_noted(set);
  }
}

BinTotals& DurationBooks::bin() {
  add_all_noted();
  return bin_;
}

RequestLatencies DurationBooks::take_latencies() {
  add_all_noted();
  RequestLatencies taken;
  for (std::size_t set = 0; set < kSets; ++set) {
    if (by_set_[set] == nullptr || by_set_[set]->totals.moments.count == 0) continue;
    Log& log = *by_set_[set];
    if ((set & kLatency) != 0 && (set & kSameStretch) != 0) {
      taken.parts.push_back({(set & kLatencyOk) != 0, SparseHistogram(log.totals.histogram),
                             log.totals.moments.sum_ns, std::move(log.slow)});
    }
    log.slow.clear();
    log.before.merge(log.totals);
    log.totals = {};
  }
  return taken;
}

DurationTotals DurationBooks::totals(Heading heading) {
  add_all_noted();
  DurationTotals sum;
  // Sets of many headings first: their durations are of single attempts, the shortest. Histograms
  // grow upwards without moving what they have.
  for (std::size_t set = kSets; set-- > 0;) {
    if ((set & heading) == 0 || by_set_[set] == nullptr) continue;
    sum.merge(by_set_[set]->totals);
    sum.merge(by_set_[set]->before);
  }
  return sum;
}

}  // namespace retrysim::stats

namespace retrysim {

namespace {

using Wide = boost::multiprecision::int512_t;

/// The value as a double: the sum of its pieces of 64 bits, from the lowest, each rounded. Releases
/// of Boost round in different ways, so that Debian 13 would have other last digits than 12.
double as_double(Wide value) {
  if (value < 0) return -as_double(-value);
  constexpr std::uint64_t kPiece = std::numeric_limits<std::uint64_t>::max();
  double sum = 0, unit = 1;
  for (; value > 0; value >>= 64) {
    sum += static_cast<double>(static_cast<std::uint64_t>(value & kPiece)) * unit;
    unit *= 0x1p64;
  }
  return sum;
}

}  // namespace

double DurationMoments::standard_deviation_ns() const {
  if (count == 0) return 0;
  // Squared distances from the mean rounded down to q = (sum - r) / count are whole numbers:
  // sum (x - q)^2 = sum x^2 - 2 q sum x + count q^2, of which the mean's (r / count)^2 is to be
  // taken off. The difference of the large numbers is exact; what is left cannot cancel.
  const Wide n = count;
  const Wide sum = sum_ns;
  const Wide q = sum / n;
  const Wide squares = (Wide(sum_squares_carry) << 128) + Wide(sum_squares_ns2);
  const Wide distances = squares - 2 * q * sum + n * q * q;
  const double rest = as_double(sum - q * n) / static_cast<double>(count);
  const double variance = as_double(distances) / static_cast<double>(count) - rest * rest;
  return variance > 0 ? std::sqrt(variance) : 0;
}

// --- Histograms: reading, merging and packing ----------------------------------------------------

// Log-linear: block 0 holds the values below 2^kBits,
// block b >= 1 those from 2^(kBits + b - 1) on; each block has 2^kBits buckets, so blocks 0 and 1
// are exact and the buckets of block b are 2^(b - 1) wide.

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
    // Sums do not grow any more, so no spare capacity is reserved.
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
  // Buckets are sorted by value; a value has two buckets only if one count would not fit.
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

namespace retrysim {

// --- Adding up -----------------------------------------------------------------------------------

// Results of successive stretches of time, or of client groups over the same stretch.

std::uint64_t PhaseRequests::requests() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), std::uint64_t{0});
}

void PhaseRequests::merge(const PhaseRequests& o) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes[i] += o.outcomes[i];
  attempts += o.attempts;
  unsent += o.unsent;
}

void ClientFlow::merge(const ClientFlow& o) { stats::add_fields(*this, o); }

void RequestCounts::merge(const RequestCounts& o) { stats::add_fields(*this, o); }

void JobCounts::merge(const JobCounts& o) { stats::add_fields(*this, o); }
void WaitCounts::merge(const WaitCounts& o) { stats::add_fields(*this, o); }
void CacheCounts::merge(const CacheCounts& o) { stats::add_fields(*this, o); }

void ServiceFlow::merge(const ServiceFlow& o) {
  const std::uint64_t most = std::max(queue_max, o.queue_max);
  stats::add_fields(*this, o);
  queue_max = most;
}

}  // namespace retrysim

// The parts of results, and how they add up: counts, sums and histograms of durations, and all
// other fields. Durations are noted as they come and added up in blocks, which takes a third of the
// instructions of adding them one by one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace retrysim::stats {

// --- Histograms ----------------------------------------------------------------------------------

// SparseHistogram holds few values in little memory. LogLinearHistogram is declared in
// retrysim/simulation.hpp.

/// A histogram that keeps only its buckets that are not empty.
class SparseHistogram {
 public:
  static constexpr std::size_t kBytesOfBucket = 8;

  SparseHistogram() = default;
  explicit SparseHistogram(const Histogram& histogram);

  /// Adds values in any order; `values` is sorted in place.
  void add(std::span<std::uint64_t> values);

  /// The sum of several histograms.
  static Histogram sum(std::span<const SparseHistogram* const> parts);

 private:
  // Index of the bucket, and its number of values.
  using Bucket = std::pair<std::uint32_t, std::uint32_t>;

  static_assert(sizeof(Bucket) == kBytesOfBucket);

  std::vector<Bucket> counts_;
  std::uint64_t smallest_ = ~std::uint64_t{0}, largest_ = 0;
};

// --- Sums of durations ---------------------------------------------------------------------------

/// Distribution, exact sum and sum of squares of durations in nanoseconds.
struct DurationTotals {
  Histogram histogram;
  DurationMoments moments;

  void add_zeros(std::uint64_t times) {
    histogram.add(0, times);
    moments.count += times;
  }
  void merge(const DurationTotals& o) {
    histogram.merge(o.histogram);
    moments.merge(o.moments);
  }
};

/// The durations of a time-series bin. The sum is exact, so that durations may come in any order.
struct BinTotals {
  BinHistogram histogram;
  WideNanoseconds sum_ns = 0;

  void add_zeros(std::uint64_t times) { histogram.add(0, times); }
  void merge(const BinTotals& o) {
    histogram.merge(o.histogram);
    sum_ns += o.sum_ns;
  }
  void clear() {
    histogram.clear();
    sum_ns = 0;
  }
  /// Fills in the latencies of a bin's row.
  void describe(ClientBin& row) const;
};

/// Adds a block of durations to `totals` and to `bin`, which may be null.
void add_block(std::span<const std::uint64_t> durations_ns, DurationTotals& totals, BinTotals* bin);

/// Adds a block of durations to a bin only.
void add_block(std::span<const std::uint64_t> durations_ns, BinTotals& bin);

// --- Booking -------------------------------------------------------------------------------------

// Durations of requests and attempts are booked under up to six headings. For most requests the
// answer to the only attempt ends everything at once, so the durations are the same number and are
// booked once for all headings. Counts and sums are integers, so neither the time nor the order of
// adding matters.

/// Adds how many of the latencies are above each limit.
void count_slow(std::span<const std::uint64_t> latencies_ns, std::span<const std::uint64_t> limits,
                std::vector<std::uint64_t>& slow);

/// Latencies of requests, in parts by whether they ended with success.
struct RequestLatencies {
  struct Part {
    bool ok = false;  ///< whether the requests ended with success
    SparseHistogram histogram;
    WideNanoseconds sum_ns = 0;
    /// Successful requests above each limit; empty if there are no limits.
    std::vector<std::uint64_t> slow = {};
  };
  std::vector<Part> parts;
};

class DurationBooks {
 public:
  /// The headings; any of them together is a set of headings.
  enum Heading : std::uint8_t {
    kBin = 1,              ///< latencies in the running bin, of requests in the cohort or not
    kLatency = 2,          ///< latencies of requests
    kLatencyOk = 4,        ///< latencies of successful requests
    kAttemptLatency = 8,   ///< latencies of attempts as their clients see them
    kServiceLatency = 16,  ///< times of attempts from arrival to the end of service
    kSameStretch = 32,     ///< latencies of requests made after the last call of `take_latencies`
  };

  /// Sets the limits, for each of which successful requests that take longer are counted
  /// (`RequestLatencies`). The limits must outlive this object.
  void set_limits(std::span<const std::uint64_t> limits_ns) { limits_ns_ = limits_ns; }

  /// Books a duration, which is not negative, under each of `headings`.
  [[gnu::always_inline]] void add(unsigned headings, Duration duration) {
    if (duration == pending_ && (headings & pending_headings_) == 0) {
      pending_headings_ |= headings;
      return;
    }
    // Durations of 0 are nearly all of attempts turned away at once, and are counted apart.
    if (duration == Duration::zero()) {
      ++log_of(headings).zeros;
      return;
    }
    settle();
    pending_ = duration;
    pending_headings_ = headings;
  }

  /// The durations booked for the running bin. Clearing it begins the next one.
  BinTotals& bin();

  /// The latencies of requests that were booked under kLatency and kSameStretch since the last
  /// call, or in all.
  RequestLatencies take_latencies();

  /// All durations booked under a heading other than kBin.
  DurationTotals totals(Heading heading);

 private:
  static constexpr std::size_t kSets = 64;

  // Durations booked under one set of headings. Not yet in the totals: the first `count` elements
  // of `noted`, all above zero, and `zeros` durations of zero.
  struct Log {
    std::size_t count = 0;
    std::uint64_t zeros = 0;
    std::array<std::uint64_t, 64> noted;
    DurationTotals totals;  // totals since the last call of `take_latencies`
    DurationTotals before;
    std::vector<std::uint64_t> slow;  // slow requests since that call, by limit
  };

  /// Books the pending duration.
  [[gnu::always_inline]] void settle() {
    if (pending_headings_ == 0) return;
    Log& log = log_of(pending_headings_);
    log.noted[log.count++] = static_cast<std::uint64_t>(pending_.count());
    if (log.count == log.noted.size()) add_noted(pending_headings_);
    pending_headings_ = 0;
  }
  [[gnu::always_inline]] Log& log_of(std::size_t set) {
    if (by_set_[set] == nullptr) open_log(set);
    return *by_set_[set];
  }
  void open_log(std::size_t set);
  void add_noted(std::size_t set);
  void add_all_noted();

  Duration pending_ = Duration::max();  // never zero
  unsigned pending_headings_ = 0;  // headings of the pending duration; 0: no duration is pending
  BinTotals bin_;
  std::span<const std::uint64_t> limits_ns_;
  std::array<std::unique_ptr<Log>, kSets> by_set_;  // null: nothing booked under the set
};

// --- Adding up -----------------------------------------------------------------------------------

// Adding up results field by field, through the lists of fields in simulation.hpp.

/// Whether `T` has a list of its fields.
template <typename T>
concept HasFields = requires(T& of) {
  fields([](auto&...) {}, of);
};

/// Adds the numbers of `from` to those of `into`, field by field, down to the last struct, array
/// and histogram. Vectors, which are series in time or by client, are left as they are. Fields that
/// do not add up (means, maxima) have to be corrected by the caller afterwards.
template <HasFields T>
void add_fields(T& into, const T& from);

/// Adds one field for `add_fields`.
template <typename T>
void add_field(T& into, const T& from) {
  if constexpr (requires { into.merge(from); }) {
    into.merge(from);
  } else if constexpr (HasFields<T>) {
    add_fields(into, from);
  } else if constexpr (std::same_as<T, bool>) {
    into = into || from;
  } else if constexpr (requires { into += from; }) {
    into += from;
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    for (std::size_t i = 0; i < into.size(); ++i) add_field(into[i], from[i]);
  } else {
    static_assert(
        requires { into.push_back(from[0]); }, "say how such fields add up");
  }
}

template <HasFields T>
void add_fields(T& into, const T& from) {
  const auto add_all = [&](auto&... sums) {
    fields([&](const auto&... terms) { (add_field(sums, terms), ...); }, from);
  };
  fields(add_all, into);
}

}  // namespace retrysim::stats

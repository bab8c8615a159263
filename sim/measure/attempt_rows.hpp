// The attempts of a client group by their number: what attempts.csv has.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::stats {

/// The attempts of one number.
class alignas(64) AttemptRow {
 public:
  /// One is sent.
  void sent(bool in_cohort, Time now) {
    if (now >= bin_end_) [[unlikely]]
      begin_bin(now);
    ++sent_[in_cohort];
  }
  /// One of the cohort has ended.
  void ended(AttemptResult result) { ++results_[static_cast<std::size_t>(result)]; }
  void in_backoff(double ns) {
    in_backoff_ns_ += ns;
    had_backoff_ = true;
  }
  /// Whether there was an attempt, or a backoff before one.
  bool is_used() const { return all_sent() > 0 || had_backoff_; }
  std::uint64_t all_sent() const { return sent_[0] + sent_[1]; }

  /// Sends in aligned bins of 100 ms are compared from now on, or no more.
  void begin_window() { bin_end_ = Time(); }
  void end_window() {
    if (bin_end_ != Time()) note_peak();
    bin_end_ = Time::max();
  }

  AttemptNumberCounts counts() const { return {sent_[1], results_, peak_, in_backoff_ns_}; }

 private:
  void note_peak() {
    peak_ = std::max(peak_, all_sent() - before_bin_);
    before_bin_ = all_sent();
  }
  void begin_bin(Time now);

  std::array<std::uint64_t, 2> sent_{};  // of others, and of the cohort
  Time bin_end_ = Time::max();           // zero: none has begun in this window
  std::array<std::uint64_t, kAttemptResultCount> results_{};
  std::uint64_t before_bin_ = 0;  // sent before the running bin of 100 ms
  std::uint64_t peak_ = 0;
  double in_backoff_ns_ = 0;
  bool had_backoff_ = false;
};

/// Those of all numbers.
class AttemptRows {
 public:
  AttemptRow& first() { return few_[0]; }
  /// That of attempts of the number `number`. Clients that never give up make any number of
  /// attempts; their counts need not grow without end.
  AttemptRow& of(std::uint32_t number) {
    if (number > kFew) [[unlikely]]
      return of_later(number);
    return few_[number - 1];
  }
  /// First attempts that were sent, of the cohort or not.
  std::uint64_t first_sent() const { return few_[0].all_sent(); }

  void begin_window();
  void end_window();
  /// The counts of every number that there was.
  std::vector<AttemptNumberCounts> counts() const;

 private:
  static constexpr std::uint32_t kFew = 8;

  [[gnu::noinline]] AttemptRow& of_later(std::uint32_t number) {
    const std::size_t later = std::min(number, kMaxAttemptNumber) - kFew - 1;
    if (later >= later_.size()) [[unlikely]]
      reach(later);
    return later_[later];
  }
  void reach(std::size_t later);

  // By number. Which of the first few is next cannot be predicted: they are not told apart.
  std::array<AttemptRow, kFew> few_;
  std::vector<AttemptRow> later_;
  bool in_window_ = false;
};

}  // namespace retrysim::stats

// The order of events: by time, then by scheduling order. Every event that is scheduled takes the
// next sequence number, so two keys are never equal and a run has exactly one order. (The one
// exception to this order, answers before timeouts, is made by the event queue.)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace retrysim::kernel {

struct EventKey {
  Time time = Time::max();
  std::uint64_t sequence = ~std::uint64_t{0};

  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
  /// The same order as one comparison of 128 bits, without a branch: which of two events is first
  /// is close to a coin toss. Times are not negative.
  friend constexpr bool operator<(const EventKey& a, const EventKey& b) {
    return a.position() < b.position();
  }
  /// The smaller of two keys, without a branch, too.
  friend constexpr EventKey earlier(const EventKey& a, const EventKey& b) {
    const Position first = b.position() < a.position() ? b.position() : a.position();
    const auto ns = static_cast<std::uint64_t>(first >> 64);
    return {Time::from_nanoseconds(static_cast<std::int64_t>(ns)),
            static_cast<std::uint64_t>(first)};
  }
  static constexpr EventKey never() { return {}; }

 private:
  __extension__ using Position = unsigned __int128;
  constexpr Position position() const {
    return static_cast<Position>(static_cast<std::uint64_t>(time.count())) << 64 | sequence;
  }
};

/// A timer was used in a state that does not allow it: a defect of the simulator, found in every
/// build.
class TimerMisused : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn, gnu::cold]] inline void timer_misused(const char* what) { throw TimerMisused(what); }

/// The key of a timer that must be armed.
inline EventKey armed(const std::optional<EventKey>& key) {
  if (!key) [[unlikely]]
    timer_misused("a timer was read that is not armed");
  return *key;
}

}  // namespace retrysim::kernel

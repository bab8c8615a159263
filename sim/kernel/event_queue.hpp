// The pending events of a simulation: finds the next one, and its source. Events are ordered by
// time and then by scheduling order, so a run has exactly one order. The events themselves stay
// with their sources (lanes, heaps, arrival streams), each of which has one next event at a time;
// the queue knows only the keys of those.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::kernel {

/// The place of an event in the order of events. Every scheduled event takes the next sequence
/// number, so two keys are never equal. The event queue makes the one exception to this order:
/// answers go before timeouts.
struct EventKey {
  Time time = Time::max();
  std::uint64_t sequence = ~std::uint64_t{0};

  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
  /// The order of events as one comparison of 128 bits, without a branch: which of two events is
  /// first is close to a coin toss. Times are not negative.
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

/// Thrown if a timer is used in a state that does not allow it: a defect of the simulator, found in
/// every build.
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

/// A winner tree over the earliest keys of a few event sources: it says which source is next. A
/// changed source costs one comparison per level; up to six sources are simply compared. A key may
/// lie before its source's true head (if that was cancelled meanwhile): the owner corrects it when
/// the source wins, which costs far less than following every cancellation.
class Tournament {
 public:
  /// Starts with `sources` sources, none of which has an event.
  explicit Tournament(std::uint32_t sources)
      : sources_(sources),
        leaves_(std::bit_ceil(std::max(sources, kFew))),
        places_(leaves_),
        winners_(2 * leaves_) {
    for (std::uint32_t i = 0; i < kSome; ++i) some_[i] = place(i, EventKey::never());
    for (std::uint32_t i = 0; i < leaves_; ++i) places_[i] = place(0, EventKey::never());
    for (std::uint32_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::uint32_t node = leaves_ - 1; node > 0; --node) play(node);
  }

  /// Adds a source. No source has had an event yet.
  void add_source() {
    if (++sources_ > leaves_) *this = Tournament(sources_);
  }

  struct Winner {
    std::uint32_t source;
    Time time;  ///< time of the winner's key
  };

  /// The source with the smallest key.
  Winner winner() const {
    if (sources_ > kSome) return {winners_[1], time_of(places_[winners_[1]])};
    const Place least = least_of_some();
    return {static_cast<std::uint32_t>(least) & kSlots, time_of(least)};
  }
  /// The time of the smallest key.
  Time earliest() const { return winner().time; }

  /// The key that the source was given last.
  EventKey key(std::uint32_t source) const {
    if (has_key(source, EventKey::never())) return EventKey::never();
    const Place p = place_of(source);
    return {time_of(p), static_cast<std::uint64_t>(p) >> kSlotBits};
  }
  /// Whether the source was given `key` last.
  bool has_key(std::uint32_t source, EventKey key) const {
    return place_of(source) == place(sources_ > kSome ? 0 : source, key);
  }

  void update(std::uint32_t source, EventKey key) {
    if (sources_ > kSome) return update_tree(source, key);
    some_[source] = place(source, key);
  }
  /// As `update`, if `key` is before the source's.
  void offer(std::uint32_t source, EventKey key) {
    if (place(0, key) < place_of(source)) update(source, key);
  }

 private:
  static constexpr std::uint32_t kFew = 4, kSome = 6;
  static constexpr unsigned kSlotBits = 3;
  static constexpr std::uint32_t kSlots = (1 << kSlotBits) - 1;

  // A key as one number, with its source in the lowest bits: among a few sources the least number
  // names the winner, without a look back at where it was found. (2^61 events are enough.) Which of
  // two keys is first cannot be predicted, so no step may be a branch; and the work of the event
  // waits for the end of the comparisons, so their chain has to be short.
  __extension__ using Place = unsigned __int128;

  // `slot`: the source, or 0 in a tree, whose leaves say which source they are.
  static Place place(std::uint32_t slot, EventKey key) {
    const std::uint64_t low = key.sequence << kSlotBits | slot;
    return static_cast<Place>(static_cast<std::uint64_t>(key.time.count())) << 64 | low;
  }
  Place place_of(std::uint32_t source) const {
    return sources_ > kSome ? places_[source] : some_[source];
  }
  static Time time_of(Place p) {
    return Time::from_nanoseconds(static_cast<std::int64_t>(static_cast<std::uint64_t>(p >> 64)));
  }

  void update_tree(std::uint32_t source, EventKey key) {
    places_[source] = place(0, key);
    for (std::uint32_t node = (source + leaves_) / 2; node > 0; node /= 2) play(node);
  }
  void play(std::uint32_t node) {
    const std::uint32_t a = winners_[2 * node], b = winners_[2 * node + 1];
    const auto second = static_cast<std::uint32_t>(places_[b] < places_[a]);
    winners_[node] = a ^ ((a ^ b) & (0u - second));
  }
  [[gnu::always_inline]] Place least_of_some() const {
    const std::array<Place, kSome>& p = some_;
    const Place few = lesser(lesser(p[0], p[1]), lesser(p[2], p[3]));
    return sources_ <= kFew ? few : lesser(few, lesser(p[4], p[5]));
  }
  // By value: with references, as those of std::min, the compiler makes branches of it.
  static Place lesser(Place a, Place b) { return b < a ? b : a; }

  std::uint32_t sources_, leaves_;
  std::array<Place, kSome> some_;       // by source, if there are no more
  std::vector<Place> places_;           // by source, if there are
  std::vector<std::uint32_t> winners_;  // node i has children 2i and 2i + 1; the leaves come last
};

// Two things make a timer differ from other events.
//   - It can be cancelled. The queue is not told: its key may lie before that of the next pending
//     event, but never after it. When such a source seems to be next, the queue asks it for its
//     true head.
//   - A timeout lets answers go first: an answer that arrives at the very instant at which its
//     timeout expires is in time. This is the one exception to the order of `EventKey`.

/// How the queue treats the events of a source.
enum class SourceRole : std::uint8_t {
  kPlain,
  kAnswer,       ///< precedes timeouts of the same instant
  kCancellable,  ///< may have been cancelled
  kTimeout,      ///< may have been cancelled, and lets answers go first
};

class EventQueue {
 public:
  /// Adds a source, without events; returns its number, the first one being 0. All sources are
  /// added before anything else is done, those whose events can be cancelled after the others.
  std::uint32_t add(SourceRole role) {
    const auto source = static_cast<std::uint32_t>(roles_.size());
    const bool is_certain = role < SourceRole::kCancellable;
    assert(!is_certain || certain_ == source);
    certain_ += is_certain;
    roles_.push_back(role);
    if (role == SourceRole::kAnswer) answers_.push_back(source);
    if (source > 0) tournament_.add_source();
    return source;
  }

  /// Tells that the source's next event is at `key`; `EventKey::never()`: it has none.
  void set(std::uint32_t source, EventKey key) { tournament_.update(source, key); }

  /// Tells that the source has got an event at `key`, which need not be its next.
  void offer(std::uint32_t source, EventKey key) { tournament_.offer(source, key); }

  /// The time of the next event, or an earlier one if a timer has been cancelled.
  Time earliest() const { return tournament_.earliest(); }

  struct Next {
    std::uint32_t source = 0;
    Time time;  ///< `Time::max()` if no source has an event
  };

  /// The next event. `true_head(source)` gives the key of the next pending event of a source of
  /// role cancellable or timeout.
  template <class TrueHead>
  Next next(TrueHead&& true_head) {
    for (;;) {
      const auto [source, time] = tournament_.winner();
      if (source < certain_) [[likely]]
        return {source, time};
      const EventKey head = true_head(source);
      if (!tournament_.has_key(source, head)) {
        tournament_.update(source, head);
        continue;
      }
      if (roles_[source] == SourceRole::kCancellable) return {source, time};
      return {answer_at(time, source), time};
    }
  }

 private:
  /// The source of the first answer at `time`, or `otherwise`.
  std::uint32_t answer_at(Time time, std::uint32_t otherwise) const {
    if (time == Time::max()) return otherwise;
    std::uint32_t first = otherwise;
    EventKey first_key = EventKey::never();
    for (const std::uint32_t source : answers_) {
      const EventKey key = tournament_.key(source);
      if (key.time == time && key < first_key) {
        first = source;
        first_key = key;
      }
    }
    return first;
  }

  Tournament tournament_{1};
  std::uint32_t certain_ = 0;  // number of sources, the first ones, without cancelled events
  std::vector<SourceRole> roles_;
  std::vector<std::uint32_t> answers_;
};

// --- Lanes ---------------------------------------------------------------------------------------

// Timeouts and deadlines of one constant length expire in the order in which they were set, so an
// intrusive doubly linked list is all the order they need, however many are pending, and each can
// be cancelled at once.

/// A timer's place in a lane, kept with the object it belongs to. `Owner` names that object: a
/// pointer, or a number.
template <class Owner>
class LaneLink {
 public:
  /// When the timer expires; empty if it is not armed.
  std::optional<EventKey> key() const {
    return armed() ? std::optional<EventKey>(key_) : std::nullopt;
  }

  /// The owner of the next timer in the lane; `none()`: this one is the last.
  Owner next() const { return next_; }
  static constexpr Owner none() {
    if constexpr (std::is_integral_v<Owner>) {
      return std::numeric_limits<Owner>::max();
    } else {
      return Owner();
    }
  }

 private:
  template <class>
  friend class TimerLane;

  bool armed() const { return key_.sequence != EventKey::never().sequence; }

  EventKey key_ = EventKey::never();  // not armed: the sequence number of never()
  Owner previous_ = none(), next_ = none();
};

/// Timers in the order in which they were set. `link(owner)` returns the LaneLink of an owner; it
/// is passed to each call, so that the lane stores nothing but its ends.
template <class Owner>
class TimerLane {
  using Link = LaneLink<Owner>;
  static constexpr Owner none() { return Link::none(); }

 public:
  bool empty() const { return first_ == none(); }
  Owner front() const { return first_; }

  /// Arms the timer of `owner`, which must not be armed. `key` must be larger than that of every
  /// timer in the lane. True if there is no other: the event queue has to be told of it.
  template <class LinkOf>
  [[gnu::always_inline]] bool push_back(Owner owner, EventKey key, LinkOf link) {
    Link& l = link(owner);
    if (l.armed()) [[unlikely]]
      timer_misused("a timer was armed twice");
    assert(empty() || link(last_).key_ < key);
    l.key_ = key;
    l.previous_ = last_;
    l.next_ = none();
    const bool is_first = last_ == none();
    (is_first ? first_ : link(last_).next_) = owner;
    last_ = owner;
    return is_first;
  }

  /// Disarms the timer of `owner`, which must be armed.
  template <class LinkOf>
  [[gnu::always_inline]] void erase(Owner owner, LinkOf link) {
    Link& l = link(owner);
    if (!l.armed()) [[unlikely]]
      timer_misused("a timer was cancelled that is not armed");
    (l.previous_ == none() ? first_ : link(l.previous_).next_) = l.next_;
    (l.next_ == none() ? last_ : link(l.next_).previous_) = l.previous_;
    l.key_.sequence = EventKey::never().sequence;
  }

 private:
  Owner first_ = none(), last_ = none();
};

}  // namespace retrysim::kernel

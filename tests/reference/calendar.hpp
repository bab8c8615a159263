// The pending events: all of them in one map, by time and then in the order in which they were
// scheduled. The one exception: before a client or a service stops waiting, answers that are there
// at the same instant are heard.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace retrysim::reference {

class Calendar {
 public:
  enum class Role : std::uint8_t {
    kPlain,
    kAnswer,   ///< the end of a service, or an answer that arrives at its client
    kTimeout,  ///< somebody stops waiting
  };
  using Key = std::pair<Time, std::uint64_t>;

  Time now;

  Key at(Time time, std::function<void()> event, Role role = Role::kPlain) {
    const Key key{time, scheduled_++};
    events_.emplace(key, Event{role, std::move(event)});
    return key;
  }
  Key in(Duration delay, std::function<void()> event, Role role = Role::kPlain) {
    return at(now + delay, std::move(event), role);
  }
  void cancel(const Key& key) { events_.erase(key); }

  /// When the next event is; `Time::max()`: there is none.
  Time next() const { return events_.empty() ? Time::max() : events_.begin()->first.first; }
  /// Makes it happen.
  void step() {
    auto chosen = events_.begin();
    now = chosen->first.first;
    if (chosen->second.role == Role::kTimeout) {
      for (auto other = chosen; other != events_.end() && other->first.first == now; ++other) {
        if (other->second.role != Role::kAnswer) continue;
        chosen = other;
        break;
      }
    }
    const std::function<void()> event = std::move(chosen->second.happen);
    events_.erase(chosen);
    event();
  }

 private:
  struct Event {
    Role role;
    std::function<void()> happen;
  };
  std::map<Key, Event> events_;
  std::uint64_t scheduled_ = 0;
};

}  // namespace retrysim::reference

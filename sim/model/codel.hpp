// Controlled delay: sheds load where attempts have waited too long for too long. The rule is that
// of RFC 8289 (section 5), with attempts for packets: while every attempt that is taken has waited
// for at least `target` during a whole `interval`, one is turned away, and as long as that goes on
// another one after interval / sqrt(number turned away).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cmath>
#include <cstdint>

namespace retrysim::model {

class Codel {
 public:
  explicit Codel(const CodelSpec& spec) : target_(spec.target), interval_(spec.interval) {}

  /// An attempt is taken that has waited for `waited`, and `left` are still waiting: is it to be
  /// turned away? Asked until the answer is no or the queue is empty.
  bool turns_away(Duration waited, std::uint64_t left, Time now) {
    const bool too_long = waited_too_long(waited, left, now);
    if (deliver_next_) {
      deliver_next_ = false;
      return false;
    }
    if (!shedding_) return too_long && begin(now);
    if (!too_long) return end();
    if (just_shed_) next_ = next_ + pause();
    just_shed_ = false;
    if (now < next_) return false;
    ++count_;
    just_shed_ = true;
    return true;
  }

  /// A server is free and nobody waits.
  void queue_is_empty() {
    long_from_ = Time::max();
    deliver_next_ = false;
    if (just_shed_) end();
  }

 private:
  // A queue of one attempt is no standing queue, however long it has waited.
  bool waited_too_long(Duration waited, std::uint64_t left, Time now) {
    if (waited < target_ || left <= 1) {
      long_from_ = Time::max();
      return false;
    }
    if (long_from_ == Time::max()) long_from_ = now + interval_;
    return now >= long_from_;
  }

  // If shedding ended not long ago, it goes on at nearly the rate it had then.
  bool begin(Time now) {
    const std::uint64_t added = count_ - count_at_begin_;
    count_ = added > 1 && now - next_ < interval_ * 16 ? added : 1;
    count_at_begin_ = count_;
    next_ = now + pause();
    shedding_ = deliver_next_ = true;
    return true;
  }
  bool end() {
    shedding_ = just_shed_ = false;
    return false;
  }
  Duration pause() const {
    return Duration::from_nanoseconds(static_cast<double>(interval_.count()) /
                                      std::sqrt(static_cast<double>(count_)));
  }

  Duration target_, interval_;
  Time long_from_ = Time::max();  // from then on the queue has been too long for an interval
  Time next_;                     // when the next attempt is turned away
  std::uint64_t count_ = 0, count_at_begin_ = 0;
  bool shedding_ = false;
  bool deliver_next_ = false;  // shedding has just begun: the next one is served
  bool just_shed_ = false;
};

}  // namespace retrysim::model

// Target tracking: every interval the number of servers is made what would bring their utilization
// to the target,
//
//   wanted = ceil(servers x utilization / target)
//
// unless that is within the tolerance, or a change was made less than the cool-down ago. New
// servers work after a delay; those that are not needed go at once (each finishes what it is
// doing). Rule and tolerance are those of the Kubernetes Horizontal Pod Autoscaler ("Algorithm
// details" of its documentation), the cool-down that of EC2 Auto Scaling; utilization is the mean
// over the interval.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>

namespace retrysim::model {

class Autoscaler {
 public:
  Autoscaler(const AutoscalingSpec& spec, std::int64_t servers)
      : spec_(&spec), servers_(servers), next_look_(Time::zero() + spec.interval) {}

  /// Servers that have been started, whatever faults do to them.
  std::int64_t servers() const { return servers_; }

  /// From `now` on so many servers are busy, of so many that work.
  void observe(std::int64_t busy, std::int64_t working, Time now) {
    const auto elapsed = static_cast<double>((now - since_).count());
    since_ = now;
    busy_ns_ += elapsed * static_cast<double>(busy_);
    working_ns_ += elapsed * static_cast<double>(working_);
    busy_ = busy;
    working_ = working;
  }

  /// When there is something to do: servers begin to work, or it is time to look.
  Time next() const {
    return starting_.empty() ? next_look_ : std::min(next_look_, starting_.front().ready);
  }

  /// Does it. The levels have been observed up to `now`, which is `next()`.
  void step(Time now) {
    while (!starting_.empty() && starting_.front().ready <= now) {
      servers_ += starting_.front().count;
      starting_.pop_front();
    }
    if (now < next_look_) return;
    next_look_ = now + spec_->interval;
    look(now);
  }

 private:
  struct Starting {
    Time ready;
    std::int64_t count;
  };

  void look(Time now) {
    const double utilization = working_ns_ > 0 ? busy_ns_ / working_ns_ : -1;
    busy_ns_ = working_ns_ = 0;
    if (utilization < 0) return;  // nobody worked: there is nothing to go by
    const double ratio = utilization / spec_->target;
    if (std::abs(ratio - 1) <= spec_->tolerance || now < quiet_until_) return;
    // Less than a millionth of a server too few is a matter of rounding.
    const double exact = std::ceil(static_cast<double>(servers_) * ratio - 1e-6);
    const std::int64_t wanted = static_cast<std::int64_t>(
        std::clamp(exact, static_cast<double>(spec_->min), static_cast<double>(spec_->max)));
    std::int64_t all = servers_;
    for (const Starting& s : starting_) all += s.count;
    if (wanted > all) {
      starting_.push_back({now + spec_->delay, wanted - all});
    } else if (wanted < servers_ && starting_.empty()) {
      servers_ = wanted;
    } else {
      return;
    }
    quiet_until_ = now + spec_->cooldown;
  }

  const AutoscalingSpec* spec_;
  std::int64_t servers_;
  std::deque<Starting> starting_;  // in the order in which they will work
  Time next_look_, quiet_until_, since_;
  std::int64_t busy_ = 0, working_ = 0;
  double busy_ns_ = 0, working_ns_ = 0;  // since the last look
};

}  // namespace retrysim::model

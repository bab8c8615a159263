// The service in the fluid: streams of attempts over time, its backlog, its throttle, and how the
// attempts of each group end.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "prediction/fluid/system.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace retrysim::prediction {

/// A stream of attempts over time, filled in from the past: attempts put in now arrive later, all
/// at once or spread evenly. Time is in bins; rates are of whole bins.
class Flow {
 public:
  /// Holds the arrivals of the next `bins` bins; later ones are dropped.
  explicit Flow(std::size_t bins) {
    std::size_t size = 4;
    while (size < bins + 4) size *= 2;
    mask_ = size - 1;
    single_.resize(size);
    change_.resize(size);
  }

  /// Returns the final rate of the present bin, and moves on to the next bin.
  double take() {
    const std::size_t k = now_ & mask_;
    running_ += change_[k];
    const double rate = single_[k] + running_;
    single_[k] = change_[k] = 0;
    ++now_;
    return rate > 0 ? rate : 0;
  }

  /// Adds arrivals after `delay` bins; at least one bin passes.
  void put(double delay, double rate) {
    delay = std::max(1.0, delay);
    if (delay >= static_cast<double>(mask_ - 1)) return;
    const auto whole = static_cast<std::size_t>(delay);
    const double part = delay - static_cast<double>(whole);
    single_[(now_ + whole - 1) & mask_] += rate * (1 - part);
    single_[(now_ + whole) & mask_] += rate * part;
  }

  /// Adds arrivals spread evenly from `low` to `high` bins from now.
  void spread(double low, double high, double rate) {
    low = std::max(1.0, low);
    if (high - low < 1) return put((low + std::max(low, high)) / 2, rate);
    const double share = rate / (high - low);
    change(low, share);
    change(high, -share);
  }

 private:
  void change(double delay, double by) {
    if (delay >= static_cast<double>(mask_ - 1)) return;
    const auto whole = static_cast<std::size_t>(delay);
    const double part = delay - static_cast<double>(whole);
    change_[(now_ + whole - 1) & mask_] += by * (1 - part);
    change_[(now_ + whole) & mask_] += by * part;
  }

  // `now_` is the bin after the one taken last, which is the present one while rates are put in.
  std::size_t now_ = 0, mask_;
  double running_ = 0;
  std::vector<double> single_, change_;
};

/// Shares of a group's attempts in one bin, by result, and when they know it, in seconds.
struct Shares {
  std::array<double, kFates> fate{};
  std::array<double, kFates> known{};
  double success = 0, answered = 0;
  double arriving = 1;         ///< share of attempts that come to the service
  double error_retryable = 1;  ///< retryable share of error answers
  double throttled = 0;        ///< share of arrivals refused by the service's token bucket
  bool strained = false;       ///< some fail for lack of capacity
  double lack = 0;             ///< share of attempts that would not fail at an idle service
};

class FluidService {
 public:
  /// For `steps` bins of `step` seconds.
  FluidService(const FluidSystem& system, double step, std::size_t steps);

  /// Begins the bin that starts at `now`.
  void begin(double now);
  /// How the attempts that the groups send in this bin end, in attempts per second.
  void serve(std::span<const double> sent);

  /// The results of each group's attempts in the last bin.
  const std::vector<Shares>& shares() const { return shares_; }
  /// Waiting work, in seconds of server time.
  double backlog() const { return work_ + refusals_; }

 private:
  double start_of(std::size_t stretch) const {
    return stretch < system_.stretches.size() ? system_.stretches[stretch].start : kForever;
  }
  const FluidStretch& stretch() const { return system_.stretches[stretch_]; }

  /// Time until work that arrives at `t` behind `work` begins, with the capacity to come, of which
  /// `taken` a second goes to others.
  double wait(double t, double work, double taken = 0) const;
  /// The wait of an attempt in the queue: refusals go before it, both those that wait and those
  /// that come meanwhile, at the present rate.
  double wait_in_queue(double t, double work) const;
  /// Work that can be done in [from, to).
  double capacity(double from, double to) const;
  /// Work that may wait at present. While nothing is served, the work that arrives before attempts
  /// are too old.
  double room_now() const;
  /// Share of attempts whose answer comes too late if their wait grows from `first` to `last`.
  double late_share(const FluidClients& g, double first, double last) const;
  /// The share of attempts whose answer comes too late even at an idle service.
  double late_when_idle(const FluidClients& g) const;
  double next_restart() const;

  /// Share of a group's attempts that random errors answer before anything else does.
  double door_errors(std::size_t group) const;
  /// Share of the attempts that the throttle lets pass: of all, or of one group's where each client
  /// has a bucket of its own. `demand`: attempts per second.
  double pass(double demand);
  double pass_by_client(std::size_t group, double demand);
  /// Moves the backlog on by a bin; finds which attempts are late and how many are turned away.
  /// `throttling`: work of the throttle's refusals, per second.
  void queue(double before, double inflow, double throttling);
  /// For services that drop late attempts when their turn comes, so that they make no others wait:
  /// finds which are dropped, and returns the work of the others, per second. `done`: work that the
  /// bin can do.
  double drop_late(double before, double inflow, double done);
  /// For unlimited servers: computes the attempts in service, for the slowdown.
  void crowd();
  void share_out(std::size_t group, double before);

  const FluidSystem& system_;
  double step_;
  std::size_t steps_;
  bool light_;  // the tail of service times ends before forty means
  double now_ = 0;
  std::size_t stretch_ = 0;
  double work_ = 0, after_ = 0, turned_away_ = 0, in_service_ = 0;
  double refusals_ = 0;    // work of refusals that waits, s; a free server does it before all else
  double refusing_ = 0;    // work of refusals that came in the last bin, per second
  double refused_in_ = 0;  // time until the answer to a refusal sets out, s
  std::unique_ptr<Flow> leaving_;
  double tokens_;                     // tokens of the throttle, if all clients share one bucket
  std::vector<double> group_tokens_;  // otherwise tokens of all clients of a group
  std::vector<double> past_errors_;   // attempts per second that no random error answers
  std::vector<double> entering_;      // attempts per second that pass the throttle
  std::vector<double> late_;          // shares of attempts whose answer comes too late, by group
  std::vector<Shares> shares_;
};

}  // namespace retrysim::prediction

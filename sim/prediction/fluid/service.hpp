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

  /// The rate of the present bin, for good; then the next bin is the present one.
  double take() {
    const std::size_t k = now_ & mask_;
    running_ += change_[k];
    const double rate = single_[k] + running_;
    single_[k] = change_[k] = 0;
    ++now_;
    return rate > 0 ? rate : 0;
  }

  /// `delay` in bins, at least one of which passes.
  void put(double delay, double rate) {
    delay = std::max(1.0, delay);
    if (delay >= static_cast<double>(mask_ - 1)) return;
    const auto whole = static_cast<std::size_t>(delay);
    const double part = delay - static_cast<double>(whole);
    single_[(now_ + whole - 1) & mask_] += rate * (1 - part);
    single_[(now_ + whole) & mask_] += rate * part;
  }

  /// Evenly from `low` to `high` bins from now.
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
  double arriving = 1;         ///< that come to the service
  double error_retryable = 1;  ///< of error answers
  double throttled = 0;        ///< share of arrivals refused by the service's token bucket
  bool strained = false;       ///< some fail for lack of capacity
  double lack = 0;             ///< share of attempts that would not fail at an idle service
};

class FluidService {
 public:
  /// For `steps` bins of `step` seconds.
  FluidService(const FluidSystem& system, double step, std::size_t steps);

  /// The bin that starts at `now` begins.
  void begin(double now);
  /// How the attempts that the groups send in this bin end, in attempts per second.
  void serve(std::span<const double> sent);

  /// By group, in the bin that was served last.
  const std::vector<Shares>& shares() const { return shares_; }
  /// Work that waits, s.
  double backlog() const { return work_ + refusals_; }

 private:
  double start_of(std::size_t stretch) const {
    return stretch < system_.stretches.size() ? system_.stretches[stretch].start : kForever;
  }
  const FluidStretch& stretch() const { return system_.stretches[stretch_]; }

  /// Time until work that arrives at `t` behind `work` begins, with the capacity to come, of which
  /// `taken` a second goes to others.
  double wait(double t, double work, double taken = 0) const;
  /// The same for an attempt that waits in the queue: refusals go before it, those that wait as
  /// well as those that come meanwhile, as many as now.
  double wait_in_queue(double t, double work) const;
  /// Work that can be done in [from, to).
  double capacity(double from, double to) const;
  /// Work that may wait at present. Where nothing is served, as much as comes before it is too old.
  double room_now() const;
  /// Share of attempts whose answer comes too late if their wait grows from `first` to `last`.
  double late_share(const FluidClients& g, double first, double last) const;
  /// The share at a service that has nothing else to do.
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
  /// Where attempts that would be late are dropped when their turn comes, and make no others wait:
  /// finds which are, and the work of the others, per second. `done`: work that the bin can do.
  double drop_late(double before, double inflow, double done);
  /// Servers without limit: attempts in service, for the slowdown.
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
  double tokens_;                     // of the throttle, if all share one
  std::vector<double> group_tokens_;  // else those of all clients of a group
  std::vector<double> past_errors_;   // attempts per second that no random error answers
  std::vector<double> entering_;      // past the throttle, attempts per second
  std::vector<double> late_;          // shares of those whose answer comes too late
  std::vector<Shares> shares_;
};

}  // namespace retrysim::prediction

// The delay equations, bin by bin. What an attempt will come to is known when it arrives, because a
// FIFO queue shows it how long it will wait; so each bin hands its attempts on to the bins in which
// their retries arrive, and no equation looks back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/fluid.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "prediction/bucket_law.hpp"
#include "prediction/client_gates.hpp"
#include "prediction/delay_law.hpp"
#include "prediction/flow.hpp"
#include "prediction/fluid_system.hpp"

namespace retrysim::prediction {

/// Shares of a group's attempts in one bin, by what becomes of them, and when they know, in
/// seconds.
struct Shares {
  std::array<double, kFates> fate{};
  std::array<double, kFates> known{};
  double success = 0, answered = 0;
  double error_retryable = 1;  // of error answers
  bool strained = false;       // some fail for lack of capacity
};

struct GroupState {
  GroupState(const FluidClients& of, const ClientSpec& spec, std::size_t bins, double step)
      : clients(of),
        good(bins),
        thinking(bins),
        ready(bins),
        still_thinks(of.streams, 1),
        age(of.streams),
        rates(of.streams) {
    for (std::size_t i = 0; i < of.streams; ++i) streams.emplace_back(bins);
    const RetryRules& retry = spec.retry;
    if (retry.quota.enabled) bucket.emplace(retry.quota, of.clients);
    if (retry.rate_limit.enabled) limiter.emplace(retry.rate_limit, of.clients, of.streams);
    if (retry.throttle.enabled) throttle.emplace(retry.throttle, of.clients, step);
    pool = of.slots;
    conditional = retry.quota.threshold > 0 || retry.quota.failure_cost > 0;
    pays_for_last = retry.quota.order == QuotaOrder::kBeforeAttempts ||
                    retry.quota.order == QuotaOrder::kBeforeClassification;
  }

  const FluidClients& clients;
  std::vector<Flow> streams;
  Flow good;      // requests that succeed
  Flow thinking;  // closed: requests that have ended
  Flow ready;     // closed: those whose pause was over before the request was
  double pool = 0;
  double retrying = 0;  // requests on their way back
  /// Closed, with pauses that begin with the request: probability that an exponential one is not
  /// over when attempt i is sent.
  std::vector<double> still_thinks;
  std::vector<double> age;    // of the request when attempt i is sent, s
  std::vector<double> rates;  // of attempts that are sent
  std::vector<double> arrivals;
  std::optional<BucketLaw> bucket;
  std::optional<LimiterFleet> limiter;
  std::optional<MeanThrottle> throttle;
  double tokens = 0;     // of the service's throttle, if each client has one
  double throttled = 0;  // share, in the bin before
  double price = 0;      // mean cost of retries granted lately
  double sent = 0, accepted = 0;
  bool conditional = false;    // retries need tokens even where they cost none
  bool pays_for_last = false;  // the quota is asked before the limit on attempts
  FluidGroup books;
};

class Runner {
 public:
  Runner(const Scenario& scenario, const FluidSystem& system, double step, std::size_t steps);

  template <class Visit>  // visit(bin, sample)
  void run(Visit visit) {
    for (std::size_t k = 0; k < steps_; ++k) visit(k, advance(k));
  }
  /// The same until `visit` gives true.
  template <class Visit>
  void run_until(Visit visit) {
    for (std::size_t k = 0; k < steps_; ++k) {
      if (visit(k, advance(k))) return;
    }
  }

  /// In the last bin: whether some attempts failed for lack of capacity, and whether all failed.
  bool is_strained() const;
  bool all_fail() const;
  /// What happened longer ago has no effect on attempts number 2, s.
  double memory() const;

  std::vector<FluidGroup> groups() const;
  double backlog() const { return work_; }

 private:
  double longest_timeout() const;
  double longest_round_trip() const;

  double start_of(std::size_t stretch) const {
    return stretch < system_.stretches.size() ? system_.stretches[stretch].start : kForever;
  }

  /// Time until work that arrives at `t` behind `work` begins, with the capacity to come.
  double wait(double t, double work) const;

  /// Work that can be done in [from, to).
  double capacity(double from, double to) const;

  /// Share of attempts whose answer comes too late if their wait grows from `first` to `last`.
  double late_share(const FluidClients& g, double first, double last) const;

  double latency() const { return system_.stretches[stretch_].latency; }

  FluidSample advance(std::size_t k);

  bool counts() const { return now_ >= system_.warmup; }
  bool inside() const { return counts() && now_ < system_.duration; }

  /// The attempts that leave the clients in this bin.
  void send(GroupState& g, std::size_t k, FluidSample& sample);

  /// Closed loops: clients that have thought.
  double wake(GroupState& g);
  /// Whether the clients that began with a pause have all had it.
  static bool have_begun(const GroupState& g) { return g.pool < 1e-9 * g.clients.slots; }

  /// Requests of a closed loop that end `delay` after their attempt `i` was sent think before they
  /// begin again.
  void end(GroupState& g, std::size_t i, double rate, double delay);

  /// What becomes of the attempts that were sent.
  void serve();

  double pass_by_client(GroupState& g, double through);

  /// Moves the backlog on by a bin; finds who is late and how many are turned away.
  void queue(double before, double inflow);

  /// Servers without limit: who is in service, for the slowdown.
  void crowd();

  void share_out(std::size_t index, double before);

  double next_restart() const;

  /// Books what becomes of a group's attempts, and hands on its retries.
  void settle(GroupState& g, const Shares& s, FluidSample& sample);

  void books(GroupState& g, const Shares& s) const;

  /// Attempts number `i` (from 0) that end as `fate`.
  void fail(GroupState& g, const Shares& s, std::size_t i, Fate fate, double rate);

  /// Probability that an exponential pause outlasts a delay.
  static double lasting(const DelayLaw& law, const FluidClients& c);

  /// What the service's suggestion adds to the backoff; exact where it is added, a bound elsewhere.
  double suggested(const FluidClients& c, Fate fate) const;

  const FluidSystem& system_;
  double step_;
  std::size_t steps_;
  std::vector<std::unique_ptr<GroupState>> groups_;
  std::vector<Shares> shares_;
  std::vector<double> entering_;
  std::unique_ptr<Flow> leaving_;
  bool light_;  // the tail of service times ends before forty means
  double now_ = 0;
  std::size_t stretch_ = 0;
  double work_ = 0, after_ = 0, turned_away_ = 0, in_service_ = 0, tokens_ = 0;
};

}  // namespace retrysim::prediction

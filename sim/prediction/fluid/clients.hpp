// The clients of one group in the fluid: their retry quotas, limiters and throttles, the requests
// they begin and the attempts they send.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>
#include <retrysim/retry_rules.hpp>

#include "prediction/facts/delay_law.hpp"
#include "prediction/fluid/service.hpp"
#include "prediction/fluid/system.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace retrysim::prediction {

/// The retry quota in the mean field: the law of the level of one client's bucket, shared by all
/// clients of a group because none differs from another. Exact for many clients with few requests
/// under way each. A bucket for the whole group has a level instead of a law.
class BucketLaw {
 public:
  BucketLaw(const QuotaRules& rules, double clients);

  /// Share of asked-for retries that the quota pays for at present.
  double granted(double cost);

  // What happens to the buckets of all clients together, in numbers of events since the last call
  // of `advance`.
  void ask(double cost, double events);  ///< for a retry; whoever can pay does
  void fail(double events);              ///< retryable failures (QuotaRules::failure_cost)
  void begin(double events);             ///< requests that begin
  void succeed_first(double events);     ///< on the first attempt
  void succeed_later(double cost, double events);  ///< after a retry at this cost

  void advance(double seconds);

 private:
  void add(double tokens, double events);  // negative: takes what there is
  void flush();
  std::size_t level(double tokens) const;

  QuotaRules rules_;
  double clients_, scale_ = 1;  // levels per token
  bool shared_;
  double shared_level_ = 0;
  std::vector<double> law_, next_;
  std::map<long, double> jumps_;        // by levels: events per client not yet in the law
  std::map<std::size_t, double> asks_;  // the same of retries, by cost in levels
  double pending_ = 0;
  std::vector<std::pair<double, double>> granted_;  // by cost, since the law last changed
};

// --- Limiter and throttle ------------------------------------------------------------------------

// In the mean field, the send-rate limiter of adaptive mode is the mean of a few representatives
// that are throttled one after the other, not together; the client-side throttle of the SRE book
// has the counts of a mean client.

class LimiterFleet {
 public:
  LimiterFleet(const SendRateRules& rules, double clients, std::size_t streams);

  /// Replaces the rates of attempts that want to be sent, by number, by those that are sent within
  /// `step` seconds. `throttled`: share of attempts that the service throttles at present.
  /// `patience`: the longest wait; longer ones are refused, at the rate that is returned.
  double send(double step, double throttled, double patience, std::vector<double>& rates);

 private:
  struct Client {
    double peak = 0, window = 0, since = 0;  // CUBIC: w, K and time since the last throttling
    double fill = 0, measured = 0, tokens = 0;
    bool enabled = false;
    double hazard = 0, next = 0;  // throttling errors expected so far; the next one comes here
    std::vector<double> waiting;  // attempts by number
  };
  void adapt(Client& client, double step, double sent, double throttled);
  double next_gap();

  SendRateRules rules_;
  double share_;  // clients that one representative stands for
  std::vector<Client> fleet_;
  double golden_ = 0.5;
};

class MeanThrottle {
 public:
  MeanThrottle(const ThrottleRules& rules, double clients, double step);

  /// Share of attempts that are refused at present.
  double refused() const;
  /// Once a step: all attempts wanted, and the accepts that come back, per second and all clients.
  void count(double wanted, double accepted);

 private:
  ThrottleRules rules_;
  double clients_, step_, requests_ = 0, accepts_ = 0;
  std::vector<double> wanted_, accepted_;
  std::size_t at_ = 0;
};

// --- Requests, attempts and retries --------------------------------------------------------------

/// A bin of time.
struct FluidBin {
  std::size_t number = 0;
  double step = 0;         ///< its width, s
  bool has_begun = false;  ///< the warm-up is over: what happens is counted
  bool is_over = false;    ///< no more requests begin

  bool in_window() const { return has_begun && !is_over; }
};

/// The clients of a closed loop that have no request under way.
class ThinkingClients {
 public:
  ThinkingClients(const FluidClients& of, std::size_t bins);

  /// Requests that begin in this bin, per second.
  double wake(const FluidBin& bin);
  /// Requests that end `delay` after their attempt `i` was sent, at the age `age`: their clients
  /// think before they begin again.
  void end(std::size_t i, double rate, double age, double delay, double step);
  /// Requests whose attempt `i` was sent `delay` ago make attempt `next` after the backoff.
  void retry(std::size_t i, std::size_t next, double delay, const DelayLaw& backoff);

 private:
  const FluidClients& clients_;
  Flow thinking_;  // requests that have ended
  Flow ready_;     // those whose pause was over before the request was
  double pool_;    // those that think: at first all; later, of exponential pauses, all that do
  // With pauses that begin with the request: probability that an exponential one is not over when
  // attempt i is sent.
  std::vector<double> still_thinks_;
};

class GroupFlows {
 public:
  /// `arrivals`: new requests per second, by bin.
  GroupFlows(const FluidClients& of, const ClientSpec& spec, std::vector<double> arrivals,
             std::size_t bins, double step);

  /// The attempts that leave the clients in this bin. `throttled`: the share of those of the bin
  /// before that the service's throttle refused.
  void send(const FluidBin& bin, double throttled, FluidSample& sample);
  /// Books their results, and hands on their retries.
  void settle(const FluidBin& bin, const Shares& s, FluidSample& sample);

  /// Attempts per second in this bin.
  double sent() const { return sent_; }
  /// Requests on their way back.
  double retrying() const { return retrying_; }
  const FluidGroup& books() const { return books_; }

 private:
  void end(const FluidBin& bin, std::size_t i, double rate, double delay);
  void book(const FluidBin& bin, const Shares& s);
  /// Attempts number `i` (from 0) that end as `fate`.
  void fail(const FluidBin& bin, const Shares& s, std::size_t i, Fate fate, double rate);
  /// How many of `rate` attempts number `i` that have failed and may be tried again are: `in_time`
  /// says whether the deadline lets them, and the limit on attempts and the quota decide here.
  double retries(const FluidBin& bin, std::size_t i, const FateRules& rules, double rate,
                 bool in_time);
  /// Requests whose attempt fails and is followed by another one.
  struct Retries {
    double rate;
    double age;    // of the request when the backoff begins, s
    double delay;  // from the attempt until then, s
    const DelayLaw& backoff;
  };
  void send_again(const FluidBin& bin, std::size_t i, const Retries& retries);
  /// The delay that the service's suggestion adds to the backoff; exact where it is added, a bound
  /// elsewhere.
  double suggested(Fate fate) const;

  const FluidClients& clients_;
  std::vector<double> arrivals_;
  std::vector<Flow> streams_;  // attempts to come, by number
  Flow good_;                  // requests that succeed
  ThinkingClients thinking_;
  double retrying_ = 0;
  std::vector<double> age_;    // of the request when attempt i is sent, s
  std::vector<double> rates_;  // of attempts that are sent
  std::optional<BucketLaw> bucket_;
  std::optional<LimiterFleet> limiter_;
  std::optional<MeanThrottle> throttle_;
  double price_ = 0;  // mean cost of retries granted lately
  double sent_ = 0, accepted_ = 0;
  bool conditional_;    // retries need tokens even where they cost none
  bool pays_for_last_;  // the quota is asked before the limit on attempts
  FluidGroup books_;
};

}  // namespace retrysim::prediction

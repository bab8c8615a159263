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
  void ask(double cost, double events);  ///< retries are asked for; every bucket that can pay does
  void fail(double events);              ///< retryable failures happen (QuotaRules::failure_cost)
  void begin(double events);             ///< requests begin
  void succeed_first(double events);     ///< requests succeed on the first attempt
  void succeed_later(double cost, double events);  ///< requests succeed after a retry at this cost

  void advance(double seconds);

 private:
  void add(double tokens, double events);  // negative: takes tokens, at most what there is
  void flush();
  std::size_t level(double tokens) const;

  QuotaRules rules_;
  double clients_, scale_ = 1;  // levels per token
  bool shared_;
  double shared_level_ = 0;
  std::vector<double> law_, next_;
  std::map<long, double> jumps_;        // by size in levels: events per client not yet in the law
  std::map<std::size_t, double> asks_;  // by cost in levels: retries per client not yet in the law
  double pending_ = 0;
  // Share granted by cost, since the law last changed.
  std::vector<std::pair<double, double>> granted_;
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
  /// `patience`: the longest wait; longer ones are refused, and their rate is returned.
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
  /// Counts a step; to be called once for each: attempts wanted, and accepts that come back, per
  /// second of all clients.
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
  double step = 0;         ///< width of the bin, s
  bool has_begun = false;  ///< the warm-up is over: what happens is counted
  bool is_over = false;    ///< no more requests begin

  bool in_window() const { return has_begun && !is_over; }
};

/// The clients of a closed loop that have no request under way.
class ThinkingClients {
 public:
  ThinkingClients(const FluidClients& of, std::size_t bins);

  /// Returns the requests that begin in this bin, per second.
  double wake(const FluidBin& bin);
  /// Takes in requests that end `delay` after their attempt `i` was sent, at the age `age`: their
  /// clients think before they begin again.
  void end(std::size_t i, double rate, double age, double delay, double step);
  /// Tells that requests whose attempt `i` was sent `delay` ago make attempt `next` after the
  /// backoff.
  void retry(std::size_t i, std::size_t next, double delay, const DelayLaw& backoff);

 private:
  const FluidClients& clients_;
  Flow thinking_;  // requests that have ended
  Flow ready_;     // requests that end after their client's pause is over
  double pool_;    // clients that think: at first all; later only those with exponential pauses
  // If pauses begin with the request: probability that an exponential pause is not over when
  // attempt i is sent.
  std::vector<double> still_thinks_;
};

class GroupFlows {
 public:
  /// `arrivals`: new requests per second, by bin.
  GroupFlows(const FluidClients& of, const ClientSpec& spec, std::vector<double> arrivals,
             std::size_t bins, double step);

  /// Sends the attempts that leave the clients in this bin. `throttled`: share of the previous
  /// bin's attempts that the service's throttle refused.
  void send(const FluidBin& bin, double throttled, FluidSample& sample);
  /// Books the results of this bin's attempts, and schedules their retries.
  void settle(const FluidBin& bin, const Shares& s, FluidSample& sample);

  /// Attempts per second in this bin.
  double sent() const { return sent_; }
  /// Requests that wait for their next attempt.
  double retrying() const { return retrying_; }
  const FluidGroup& books() const { return books_; }

 private:
  void end(const FluidBin& bin, std::size_t i, double rate, double delay);
  void book(const FluidBin& bin, const Shares& s);
  /// Books attempts number `i` (from 0) that end as `fate`.
  void fail(const FluidBin& bin, const Shares& s, std::size_t i, Fate fate, double rate);
  /// How many of `rate` failed attempts number `i` are tried again. `in_time` says whether the
  /// deadline permits it; the limit on attempts and the quota are applied here.
  double retries(const FluidBin& bin, std::size_t i, const FateRules& rules, double rate,
                 bool in_time);
  /// Requests whose attempt fails and is followed by another one.
  struct Retries {
    double rate;
    double age;    // age of the request when the backoff begins, s
    double delay;  // time from sending the attempt to the start of the backoff, s
    const DelayLaw& backoff;
  };
  void send_again(const FluidBin& bin, std::size_t i, const Retries& retries);
  /// The delay that the service's suggestion adds to the backoff; exact if the client adds it,
  /// otherwise a bound.
  double suggested(Fate fate) const;

  const FluidClients& clients_;
  std::vector<double> arrivals_;
  std::vector<Flow> streams_;  // future attempts, by number
  Flow good_;                  // successful requests
  ThinkingClients thinking_;
  double retrying_ = 0;
  std::vector<double> age_;    // age of the request when attempt i is sent, s
  std::vector<double> rates_;  // rates of attempts that are sent
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

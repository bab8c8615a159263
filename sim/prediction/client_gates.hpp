// What holds attempts back at the client in the mean field: the send-rate limiter of adaptive mode,
// as the mean of some representatives that are throttled one after the other and not together, and
// the client-side throttle of the SRE book, whose counts are those of a mean client.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include <cstddef>
#include <vector>

namespace retrysim::prediction {

class LimiterFleet {
 public:
  LimiterFleet(const SendRateRules& rules, double clients, std::size_t streams);

  /// Replaces the rates of attempts that want to be sent, by number, by those that are sent within
  /// `step` seconds. `throttled`: share of attempts that the service throttles at present.
  /// `patience`: the longest wait; what would wait longer is refused, at the rate that is returned.
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

}  // namespace retrysim::prediction

// The retry quota in the mean field: the law of the level of one client's bucket, which all clients
// of a group share because none differs from another. Exact for many clients with few requests
// under way each. A bucket for the whole group has no law but a level.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace retrysim::prediction {

class BucketLaw {
 public:
  BucketLaw(const QuotaRules& rules, double clients);

  /// Share of asked-for retries that the quota pays for at present.
  double granted(double cost);

  // What happens to the buckets of all clients together, in numbers of events since the last call
  // of `advance`.
  void ask(double cost, double events);  ///< for a retry; those that can pay do
  void fail(double events);              ///< retryable failures (QuotaRules::failure_cost)
  void begin(double events);             ///< requests that begin
  void succeed_first(double events);     ///< on the first attempt
  void succeed_later(double cost, double events);  ///< after a retry that cost so much

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

}  // namespace retrysim::prediction

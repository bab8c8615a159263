// Limits on concurrency as other software finds them: Netflix's Vegas, Envoy's gradient, and the
// three that began with the idea of TCP BBR (go-zero, kratos, Sentinel). Each has the arithmetic of
// its source to the bit, oddities included; README.md of the part says which sources.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/service_spec.hpp>
#include <retrysim/time.hpp>

#include <cstdint>
#include <limits>
#include <memory>

namespace retrysim::model {

/// An attempt that has just left.
struct LimitSample {
  Time now;
  Duration time;                 ///< that it has been at the service
  std::int64_t found = 0;        ///< attempts that were there when it came, itself included
  std::int64_t still_there = 0;  ///< that are there now
  bool served = true;            ///< to the end
};

/// How many attempts a service lets in at the same time, found from what it sees. It is told what
/// happens in the order of time, and does whatever its own clocks have asked for until then first.
class LimitLaw {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  /// The law of a spec, as it is when the service starts at `start` with so many servers. The
  /// control is none of fixed, gradient2 and aimd. What it draws has the key of the instance.
  LimitLaw(const ConcurrencySpec& spec, const RandomKey& key, std::int64_t servers, Time start);
  ~LimitLaw();

  /// An attempt that comes now, and finds `present` others, may enter if these are fewer than the
  /// result.
  std::int64_t limit(std::int64_t present, Time now);
  /// An attempt was refused.
  void refused(Time now);
  /// An attempt has entered; with it `present` are there.
  void entered(std::int64_t present, Time now);
  void left(const LimitSample& sample);
  /// `servers` work from now on.
  void set_working(std::int64_t servers, Time now);

 private:
  struct Laws;
  std::unique_ptr<Laws> laws_;
};

/// The law of an adaptive control; null for the other controls.
std::unique_ptr<LimitLaw> make_limit_law(const ConcurrencySpec& spec, const RandomKey& key,
                                         std::int64_t servers, Time start);

}  // namespace retrysim::model

// A service and its clients as the fluid sees them: plain numbers, made from a scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "prediction/facts/delay_law.hpp"

namespace retrysim::prediction {

/// How an attempt fails.
enum class Fate {
  kLate,         ///< no answer in time
  kTurnedAway,   ///< turned away by a full queue
  kThrottled,    ///< throttled by the service's token bucket
  kUnreachable,  ///< no connection
  kError,        ///< an error answer after the service, other than throttling
  kThrottlingError,
};
inline constexpr std::size_t kFates = 6;

/// The client's reaction to a failure.
struct FateRules {
  double retryable = 0;  ///< probability of a retry, apart from limit on attempts and quota
  double cost = 0;       ///< cost of the retry, in tokens of the quota
  bool throttling = false;
};

/// Shares of error answers in a stretch of time, for one group.
struct ErrorShares {
  double error = 0, throttling = 0;
  double error_retryable = 1;  ///< retryable share of `error`
};

/// How long a client waits for an attempt, in seconds: the mean attempt timeout, or the deadline
/// where that comes first and only one attempt is made. Infinite: for ever.
double mean_timeout(const ClientSpec& client);

/// A client group that calls the service.
struct FluidClients {
  std::size_t client = 0;   ///< index into Scenario::clients
  double clients = 1;       ///< number of them
  double timeout = 0;       ///< s; infinite: none
  double deadline = 0;      ///< s; infinite: none
  double service_time = 0;  ///< mean, s
  double round_trip = 0;    ///< s, without faults
  double retry_probability = 1;
  double attempts = 1;      ///< most attempts of a request; may be infinite
  std::size_t streams = 1;  ///< attempts told apart; the last stream feeds itself if there are more
  std::array<FateRules, kFates> fates;
  /// Coarsened laws of the backoff before retry i + 1, after other failures (index 0) or throttling
  /// (1).
  std::array<std::vector<DelayLaw>, 2> backoff;
  double suggested_delay = 0;  ///< delay suggested by the service's throttle, s
  RetryAfter retry_after = RetryAfter::kIgnore;
  double suggestion_limit = 0;
  bool closed = false;
  double slots = 0;  ///< closed loops: clients times requests at once, each under way or thinking
  DelayLaw think;
  double think_mean = 0;
  bool think_is_exponential = false, think_from_start = false;
};

/// The conditions from `start` until the next stretch.
struct FluidStretch {
  double start = 0;
  double capacity = 1;  ///< factor on the work done per second
  double latency = 0;   ///< added to a round trip, s
  double request_loss = 0, response_loss = 0;
  bool unreachable = false;
  bool restart = false;  ///< whether everything in the service is lost at its start
  /// By group; whether on arrival or later, FluidSystem::errors_at_door says.
  std::vector<ErrorShares> errors;
};

struct FluidSystem {
  double duration = 0, warmup = 0, drain = 0;  ///< s
  double servers = 1;                          ///< number of servers; infinite: no attempt waits
  double slowdown = 0;
  double room = 0;     ///< work that may wait, s; infinite: no limit
  double max_age = 0;  ///< s that an attempt may wait until it is turned away; infinite: no limit
  double turning_away = 0;     ///< work of a refusal by a full queue, s of one server
  double throttling = 0;       ///< work of a refusal by the throttle, s of one server
  bool zombies = true;         ///< abandoned attempts are served
  bool drops = false;          ///< rejected attempts get no answer
  bool errors_at_door = true;  ///< errors are answered at once, without a server
  double throttle_rate = 0, throttle_burst = 0;  ///< 0: no throttle
  bool throttle_by_client = false;
  Distribution service_law;
  std::vector<FluidClients> groups;
  std::vector<FluidStretch> stretches;  ///< the first starts at 0
  FluidStretch calm;                    ///< conditions at full capacity, without any fault
  double disturbance_end = 0, first_disturbance = 0;
  bool disturbed = false;
  double most_backoff = 0;      ///< s
  double shortest_timeout = 0;  ///< s; infinite: none
};

/// The fluid's view of a service; takes a scenario that the fluid models.
FluidSystem fluid_system(const Scenario& scenario, std::size_t service);

/// New requests per second of group `client` in each of `steps` bins of `step` seconds; closed
/// groups have none.
std::vector<double> arrival_rates(const Scenario& scenario, std::size_t client, double step,
                                  std::size_t steps);

}  // namespace retrysim::prediction

// Random scenarios for the comparison of the engine with the reference: small ones, in which much
// happens at the same instant, servers are short, and clients lose patience.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/words.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace retrysim::reference {

/// What a scenario may have. Each is drawn by itself: without one, the others are as they were.
enum class Feature : std::uint8_t {
  kSecondGroup,
  kThirdGroup,
  kSecondService,
  kClosed,
  kThinkFromStart,
  kConstantArrivals,
  kHerd,
  kTrace,
  kProfile,
  kSurge,
  kOtherTimes,
  kNoServiceTime,
  kUnlimitedServers,
  kIndependent,
  kSlowdown,
  kLifo,
  kAdaptiveLifo,
  kPriority,
  kBoundedQueue,
  kOverflow,
  kRejectCost,
  kAbandoned,
  kDropExpired,
  kMaxAge,
  kServiceTimeout,
  kConcurrency,
  kThrottle,
  kThrottleWindow,
  kThrottleScope,
  kThrottleLimits,
  kErrors,
  kLateErrors,
  kOwnAnswers,
  kRetryAfter,
  kInstances,
  kCapacityProfile,
  kCalls,
  kSecondCall,
  kParallelCalls,
  kDeadlineOfCaller,
  kRetryOnlyAt,
  kCache,
  kFaults,
  kFaultCapacity,
  kFaultSpeed,
  kFaultLatency,
  kFaultErrors,
  kFaultLoss,
  kFaultUnreachable,
  kFaultBlackHole,
  kFaultRestart,
  kFaultCrash,
  kFaultOfInstance,
  kLatency,
  kRandomLatency,
  kLoss,
  kConnectTime,
  kPool,
  kTimeout,
  kRandomTimeout,
  kConnectTimeout,
  kDeadline,
  kPreset,
  kBackoff,
  kQuantum,
  kDelays,
  kQuota,
  kQuotaRefill,
  kQuotaThreshold,
  kQuotaOrder,
  kLimiter,
  kStateScope,
  kBudget,
  kBreaker,
  kGuard,
  kClientThrottle,
  kHedging,
  kProbability,
  kLongPoll,
  kUnrepeatable,
  kSharedRetryer,
  kOperations,
  kKeys,
  kSeveralTargets,
  kSideEffects,
  kIdempotency,
  kTokenReuse,
  kTokenWait,
  kWriteDelay,
  kTokenFirst,
  kTokenOfContent,
  kNoDrain,
  kBranches,
  kCallsByOperation,
  kTakesOver,
  kFanOut,
  kQuorum,
  kOnFailure,
  kStages,
  kExtraCall,
  kTies,
  kBalancers,
  kPanic,
  kEjection,
  kAccrual,
  kAvoidHosts,
  kCallBreaker,
  kBreakerRules,
  kSuggestionLimit,
  kErrorLists,
  kGrowth,
  kJitterWidth,
  kDelaysGoOn,
  kTimePerRequest,
  kConnectionWait,
  kBulkhead,
  kSendRate,
  kEvictLowest,
  kPartitions,
  kRetryPriority,
  kAdaptiveLimit,
  kRandomFaults,
};
inline constexpr std::size_t kFeatures = static_cast<std::size_t>(Feature::kRandomFaults) + 1;
using Features = std::bitset<kFeatures>;

struct RandomScenario {
  Scenario scenario;
  Features features;  ///< that it has
};

/// The scenario of this seed, without those features that are not `allowed`.
RandomScenario random_scenario(std::uint64_t seed, const Features& allowed);

}  // namespace retrysim::reference

namespace retrysim {

template <>
inline constexpr std::string_view kWords<reference::Feature> =
    "second group|third group|second service|closed loop|think from start|constant arrivals|herd|"
    "trace|rate profile|surge|other distributions|no service time|unlimited servers|"
    "model independent|slowdown|lifo|adaptive lifo|priority|bounded queue|overflow|reject "
    "cost|abandoned work|"
    "drop expired|max age|service timeout|concurrency limit|throttle|throttle window|throttle "
    "scope|"
    "throttle limits|random errors|late errors|own answers|retry-after|instances|capacity "
    "profile|calls|"
    "second call|parallel calls|deadline of the caller|retry only at|cache|faults|fault of "
    "capacity|fault of speed|fault of latency|"
    "fault with errors|fault with loss|fault unreachable|fault black hole|fault with restart|"
    "fault with crash|fault of single instances|latency|random latency|loss|connect "
    "time|connection pool|timeout|"
    "random timeout|connect timeout|deadline|preset|backoff|quantum|delays|quota|quota refill|"
    "quota threshold|quota order|send-rate limiter|scope of states|budget|breaker|"
    "guard|"
    "client throttle|hedging|probability|long poll|unrepeatable|shared retryer|operations|keys|"
    "several targets|side effects|idempotency|token reuse|token wait|write delay|"
    "token first|token of content|no drain|"
    "branches|calls by operation|taken over from the caller|fan-out|quorum|failures of calls|"
    "stages|calls to one service|"
    "ties|balancers of clients|panic threshold|ejection|failure accrual|avoided hosts|"
    "circuit breaker|rules of the breaker|"
    "limited suggestions|lists of errors|growth of backoffs|jitter of constant width|"
    "delays that go on|service time per request|longest wait for a connection|bulkhead|"
    "limit on the send rate|eviction of the lowest|partitions|priority of retries|adaptive limit|"
    "faults at random";
static_assert(words_end_with(reference::Feature::kRandomFaults));

}  // namespace retrysim

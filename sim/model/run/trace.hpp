// The steps of a run one by one, for a comparison with those of another implementation of the same
// rules (tests/reference). Nothing of this is in the program: RETRYSIM_TELL is nothing at all
// unless RETRYSIM_TRACE is defined.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include "model/run/request.hpp"

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#ifdef RETRYSIM_TRACE
#define RETRYSIM_TELL(...) ::retrysim::model::tell(__VA_ARGS__)
#else
#define RETRYSIM_TELL(...) static_cast<void>(0)
#endif

namespace retrysim {
namespace model {

/// What happens to a request or an attempt; behind it, what the two numbers of the step mean.
enum class Step : std::uint8_t {
  kSubmitted,   ///< client
  kSent,        ///< instance, counted through all services
  kArrived,     ///< at the service
  kQueued,      ///< how many wait there now
  kWorking,     ///< a server begins: demand in ns, servers taken besides
  kHolding,     ///< a server is taken, and waits for another attempt with the same token
  kServed,      ///< the server has finished: 1, or 0 if that was no execution
  kCalling,     ///< it has finished its own work, and calls others
  kCalled,      ///< the calls are over: 1 if it succeeds although one of them has failed
  kAborted,     ///< it leaves its server unfinished
  kLeftQueue,   ///< it leaves the queue unserved
  kAnswering,   ///< the service answers: mark of the answer
  kLost,        ///< no answer will come
  kDelivered,   ///< the client has its answer: mark of the answer
  kUnused,      ///< an answer arrives that no client waits for
  kGivenUp,     ///< the client stops waiting: AttemptResult
  kDecided,     ///< after a failure: delay in ns; outcome, and 256 x send tokens
  kRetryState,  ///< level of the quota, bits of the limiter's fill rate
  kWaiting,     ///< to be sent: ns; -1 in the limiter's line; -2 for a connection; -3 for a place
  kNotSent,     ///< the client does not send the attempt: mark of the error
  kEnded,       ///< outcome, attempts
  kAsked,       ///< its circuit breaker: 1 if the call may go; the breaker's state then
};

struct TraceStep {
  Time time;
  Step step = Step::kSubmitted;
  std::uint16_t group = 0;
  std::uint32_t attempt = 0;  ///< its number; 0: the request as a whole
  std::uint64_t entity = 0;   ///< names the request within its group
  std::int64_t first = 0, second = 0;

  bool operator==(const TraceStep&) const = default;
};

/// Where the steps go; null: nowhere.
inline thread_local std::vector<TraceStep>* trace = nullptr;

inline void tell(Step step, Time now, const Attempt& a, std::int64_t first = 0,
                 std::int64_t second = 0) {
  if (trace != nullptr) trace->push_back({now, step, a.group, a.number, a.entity, first, second});
}
inline void tell(Step step, Time now, const Request& r, std::int64_t first = 0,
                 std::int64_t second = 0) {
  if (trace != nullptr) trace->push_back({now, step, r.group, 0, r.entity, first, second});
}

/// A number that tells answers apart, however they are numbered.
inline std::int64_t mark_of(const Response& answer) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&hash](std::uint64_t x) { hash = (hash ^ x) * 0x100000001b3u; };
  for (const char c : answer.code) mix(static_cast<unsigned char>(c));
  if (answer.retry_after) mix(static_cast<std::uint64_t>(answer.retry_after->count()));
  mix(static_cast<std::uint64_t>(answer.transport));
  return static_cast<std::int64_t>(hash % 1'000'000'000) * 1000 + answer.status;
}

/// The fill rate of a limiter, if there is one, to the last bit.
inline std::int64_t bits_of_rate(const SendRateLimiter* limiter) {
  return limiter == nullptr ? 0 : std::bit_cast<std::int64_t>(limiter->fill_rate());
}

}  // namespace model

template <>
inline constexpr std::string_view kWords<model::Step> =
    "submitted|sent|arrived|queued|working|holding|served|calling|called|aborted|left queue|"
    "answering|lost|delivered|unused|given up|decided|retry state|waiting|not sent|ended|asked";
static_assert(words_end_with(model::Step::kAsked));

}  // namespace retrysim

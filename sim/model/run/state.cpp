// SPDX-License-Identifier: MIT
#include "model/run/state.hpp"

#include "kernel/stop.hpp"
#include "model/client/clients.hpp"
#include "model/effects/effects.hpp"
#include "model/network/network.hpp"

#include "model/service/services.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace retrysim::model {
namespace {

constexpr std::uint64_t kMaxEventsPerInstant = 10'000'000;
constexpr std::uint64_t kEventsPerClient = 5;
constexpr std::uint64_t kWorkBetweenChecks = 1 << 13;

}  // namespace

void RunState::log_answer(const Attempt& a, std::uint16_t answer) const {
  const InstanceId instance = a.at->place.instance;
  options.access_log({.answered = now,
                      .duration = now - a.arrived,
                      .status = answers[answer].status,
                      .service = std::size_t{a.at->place.service},
                      .instance = instances.number_of(instance),
                      .operation = operation_names->name(operation_of(a)),
                      .client = std::size_t{a.group},
                      .request = a.entity});
}

void Attempts::discard(Attempt& a) {
  RETRYSIM_TELL(Step::kLost, state_.now, a);
  if (a.given_up()) return release(a);
  a.stage = Attempt::Stage::kNoAnswerWillCome;
}

void Attempts::tell_others(Attempt& a) {
  // Its client has the answer.
  if (a.is(Attempt::kDegraded) && !a.given_up()) a.clients->recorder->passage.degraded(a.in_cohort);
  if (a.is(Attempt::kMutating)) effects_.attempt_gone(a);
}

// --- Limits --------------------------------------------------------------------------------------

RunLimits::RunLimits(RunState& state, const Clients& clients, const Network& network,
                     Services& services, const Effects& effects)
    : state_(state), clients_(clients), network_(network), services_(services), effects_(effects) {
  state.limits = this;
  for (const ClientSpec& c : state.scenario.clients) {
    most_at_once_ += std::uint64_t{c.count} * c.arrivals.concurrency + c.arrivals.rows.size();
  }
}

// Called now and then: checks the limits, reports progress, and lets the caller stop the run.
void RunLimits::check() {
  const SimulationOptions& options = state_.options;
  const std::uint64_t done = work(), counted = this->counted();
  most_between_looks_ = std::max(most_between_looks_, done - looked_at_);
  looked_at_ = done;
  if (counted > options.max_events) {
    throw LimitExceeded(fmt::format("more than {} events: replication {} stopped at {} s",
                                    scenario::grouped(options.max_events), state_.replication,
                                    scenario::said_number(state_.now.in_seconds(), 10)),
                        LimitKind::kEvents);
  }
  // Any number of requests may arrive and be served at one instant. What has to be stopped is a few
  // requests that go round in an endless loop.
  const auto at_instant = static_cast<std::uint64_t>(left_at_instant_ - left_);
  if (at_instant > kMaxEventsPerInstant + kEventsPerClient * most_at_once_) {
    throw LimitExceeded(
        fmt::format("ten million events at {} s of simulated time (replication {}): requests and "
                    "answers go round in a loop that takes no time, or arrive at an impossible "
                    "rate; give the service, network, backoff or think time a positive duration, "
                    "or limit the attempts",
                    scenario::said_number(state_.now.in_seconds(), 10), state_.replication),
        LimitKind::kInstant);
  }
  stop_point();
  check_memory();
  if (options.progress != nullptr) {
    options.progress->store(state_.now.count(), std::memory_order_relaxed);
  }
  const std::uint64_t events_left = options.max_events - counted;
  left_ = static_cast<std::int64_t>(
      std::min(kWorkBetweenChecks, events_left + (events_left < kWorkBetweenChecks)));
  left_at_instant_ = left_ + static_cast<std::int64_t>(at_instant);
  next_check_ = done + static_cast<std::uint64_t>(left_);
}

// What grows with the requests under way: nobody can tell beforehand how many there will be.
void RunLimits::check_memory() const {
  const std::uint64_t most = state_.options.max_memory;
  if (most == ~std::uint64_t{0}) return;
  const std::uint64_t bytes = state_.requests.bytes() + state_.attempts.bytes() +
                              state_.timers.bytes() + clients_.bytes() + network_.bytes() +
                              services_.bytes() + effects_.bytes() + state_.holders.bytes() +
                              state_.taken_over.bytes() + state_.taken_over_by_request.bytes();
  if (bytes <= most) return;
  throw LimitExceeded(
      fmt::format("replication {} at {} s: {} requests and {} attempts in progress take {} MiB, "
                  "which is more than is left; give queues a smaller capacity, "
                  "give clients a lower rate, an attempt_timeout or a deadline, or let the service "
                  "remove abandoned work",
                  state_.replication, scenario::said_number(state_.now.in_seconds(), 10),
                  scenario::grouped(state_.requests.live()),
                  scenario::grouped(state_.attempts.live()), scenario::grouped(bytes >> 20)),
      LimitKind::kMemory);
}

}  // namespace retrysim::model

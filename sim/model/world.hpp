// The simulated world of one replication, and the life of a request in it:
//
//   workload -> submit -> [send token] -> send -> network -> service -> network -> deliver ->
//   finish
//                             ^                                   |  (or: timeout)
//                             +---------- backoff <---- retry? <--+
//
// Every arrow that takes time is an event; arrows that take none are steps within one event.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/send_rate_limiter.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/event_order.hpp"
#include "kernel/fifo_lane.hpp"
#include "kernel/indexed_heap.hpp"
#include "kernel/pool.hpp"
#include "kernel/radix_heap.hpp"
#include "kernel/tournament.hpp"
#include "model/faults.hpp"
#include "model/request.hpp"
#include "model/service.hpp"
#include "model/workload.hpp"
#include "stats/recorder.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

/// One client group as it runs: the rules its clients share and the state that each has of its own,
/// as far as the rules need it.
struct ClientGroup {
  const ClientSpec* spec = nullptr;
  std::uint16_t index = 0;
  std::uint16_t service = 0;
  std::vector<ResponseClass> classes;     ///< of each of the world's answers
  std::optional<ArrivalStream> arrivals;  ///< open processes
  std::vector<std::uint32_t> thinks;      ///< closed loop: think times begun, by client
  std::vector<std::uint32_t> ordinals;    ///< closed loop: requests submitted, by client
  std::vector<RetryQuota> quotas;         ///< one a client, or one for all
  std::vector<SendRateLimiter> limiters;  ///< adaptive mode: one a client
  struct Waiters {                        ///< requests waiting for a send token, first come first
    std::uint32_t first = kNone, last = kNone;
    std::uint32_t wake_position = kNone;
  };
  std::vector<Waiters> waiters;
  kernel::IndexedHeap wakes;  ///< by client: when its first waiter can have a token
  kernel::TimerLane timeouts, deadlines;
  bool constant_timeout = false;
  // Event sources; kNone where the group has no such events.
  std::uint32_t arrival_source = kNone, timeout_source = kNone, deadline_source = kNone,
                wake_source = kNone;

  RetryQuota* quota(std::uint32_t client) {
    if (quotas.empty()) return nullptr;
    return &quotas[quotas.size() == 1 ? 0 : client];
  }
};

class World {
 public:
  World(const Scenario& scenario, std::uint32_t replication, const SimulationOptions& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  RunResult run();

 private:
  enum class EventKind : std::uint8_t {
    kFault,
    kArrival,
    kCompletion,
    kTimeout,
    kDeadline,
    kBackoffEnd,
    kThinkEnd,
    kAttemptArrives,
    kResponseArrives,
    kSendTokenDue,
    kServiceTimeout,
    kScaling,
  };
  struct Source {
    EventKind kind = EventKind::kFault;
    std::uint32_t index = 0;  // of the group or service it belongs to
  };
  // Building.
  void add_group(std::size_t index);
  void add_sources();
  bool messages_take_time() const;
  std::uint16_t answer(const ErrorAnswer& error, Duration retry_after = Duration::zero());
  void start_closed_loops();

  // The main loop.
  bool next_event();
  std::uint32_t next_source();
  kernel::EventKey true_head(std::uint32_t source) const;
  std::uint32_t completion_at(Time now) const;
  void dispatch(std::uint32_t source);
  void change_faults();
  // Nearly every event is one of these two; what they call is compiled into them.
  [[gnu::flatten]] void next_arrival(ClientGroup& g);
  void timer_due();
  void look_around();
  void note_event(EventKind kind, std::uint64_t entity);

  // The life of a request.
  void submit(ClientGroup& g, std::uint32_t client, std::uint64_t entity);
  void begin_attempt(ClientGroup& g, std::uint32_t request);
  void send(ClientGroup& g, std::uint32_t request);
  void arm_timeout(ClientGroup& g, std::uint32_t request);
  void disarm_timeout(ClientGroup& g, std::uint32_t request);
  void travel_to_service(std::uint32_t attempt);
  void arrive(std::uint32_t attempt);
  [[gnu::noinline]] void overflow(std::uint32_t attempt);
  [[gnu::noinline]] void turn_away(std::uint32_t attempt, std::uint16_t answer);
  void answer_with(std::uint32_t attempt, std::uint16_t answer);
  void serve_queue(std::size_t service);
  [[gnu::noinline]] bool would_be_late(std::uint32_t attempt) const;
  [[gnu::flatten]] void complete(std::size_t service);
  void worked_in_vain(const Attempt& a);
  double server_time_ns(const Attempt& a) const;
  [[gnu::noinline]] void enter_service(std::uint32_t attempt);
  void leave_service(std::uint32_t attempt) {
    if (attempts_[attempt].watched) [[unlikely]]
      end_watch(attempt);
  }
  [[gnu::noinline]] void end_watch(std::uint32_t attempt);
  void pass_limit(std::size_t service);
  void restart(std::size_t service);
  void scale(std::size_t service);
  void deliver(std::uint32_t attempt);
  [[gnu::noinline]] void next_call(std::uint32_t attempt);
  void give_up(ClientGroup& g, std::uint32_t request, AttemptResult result);
  void time_out(std::uint32_t request);
  void pass_deadline(std::uint32_t request);
  void fail(ClientGroup& g, std::uint32_t request, ResponseClass response_class,
            std::optional<Duration> retry_after);
  void finish(ClientGroup& g, std::uint32_t request, Outcome outcome);
  void think(ClientGroup& g, std::uint32_t client);
  void discard(std::uint32_t attempt);
  void release_attempt(std::uint32_t attempt);

  // Send tokens (adaptive mode).
  void wait_for_token(ClientGroup& g, std::uint32_t request);
  void stop_waiting(ClientGroup& g, std::uint32_t request);
  void schedule_wake(ClientGroup& g, std::uint32_t client);
  void wake(ClientGroup& g);
  void limiter_sees(ClientGroup& g, std::uint32_t client, bool throttling);

  // Scheduling.
  kernel::EventKey key_in(Duration delay) { return {now_ + delay, sequence_++}; }
  void schedule_timer(EventKind kind, std::uint16_t group, std::uint32_t entity, Duration delay);
  void schedule_response(std::uint32_t attempt, Duration delay);
  Duration network_delay(const Attempt& a, Purpose purpose) const;
  /// The source may have an event at `key`: at the latest then it is looked at.
  void offer(std::uint32_t source, kernel::EventKey key) {
    if (key < tournament_->key(source)) tournament_->update(source, key);
  }
  void service_changed(std::size_t service);
  auto timeout_link() {
    return [this](std::uint32_t r) -> kernel::LaneLink& { return requests_[r].timeout; };
  }
  auto deadline_link() {
    return [this](std::uint32_t r) -> kernel::LaneLink& { return requests_[r].deadline; };
  }
  auto timeout_position() {
    return [this](std::uint32_t r) -> std::uint32_t& { return requests_[r].timeout_position; };
  }
  auto limit_link() {
    return [this](std::uint32_t a) -> kernel::LaneLink& { return attempts_[a].limit; };
  }
  void close_books();
  void check_conservation(const RunResult& result) const;

  const Scenario& scenario_;
  SimulationOptions options_;
  std::uint32_t replication_;
  RandomKey key_;
  stats::Recorder recorder_;
  std::uint64_t sequence_ = 0;
  Time now_;
  Time end_of_submissions_;

  std::vector<Response> answers_;
  std::uint16_t refused_answer_ = 0;
  struct ServiceAnswers {
    std::uint16_t overflow = 0, throttled = 0, timeout = 0;
    bool overflow_is_throttling = false;
  };
  std::vector<ServiceAnswers> service_answers_;
  kernel::Pool<Request> requests_;
  kernel::Pool<Attempt> attempts_;
  std::vector<Service> services_;
  struct ServiceLimits {  // the service's own timeouts
    kernel::TimerLane lane;
    std::uint32_t source = kNone;
  };
  std::vector<ServiceLimits> service_limits_;
  std::vector<std::uint32_t> scaling_sources_;  // by service
  bool some_scale_ = false;
  std::vector<ClientGroup> groups_;
  std::optional<FaultTimeline> faults_;

  kernel::RadixHeap timers_;          // backoffs, think times, requests on the way
  kernel::RadixHeap late_responses_;  // responses of varying delay
  bool network_takes_time_ = false;   // messages are events, not steps
  kernel::MessageLane requests_on_the_way_, responses_on_the_way_;
  kernel::IndexedHeap varying_timeouts_;
  std::vector<Source> sources_;
  std::optional<kernel::Tournament> tournament_;
  // Kinds of events that the scenario cannot have get no source: kNone.
  std::uint32_t fault_source_ = kNone, timer_source_ = kNone, varying_timeout_source_ = kNone,
                request_lane_source_ = kNone, response_lane_source_ = kNone,
                response_heap_source_ = kNone, first_service_source_ = kNone;

  std::uint64_t events_ = 0, fingerprint_ = 0;
  std::uint64_t next_look_ = 0;  // event count at which limits are checked and progress is told
  std::uint64_t instant_events_ = 0;  // event count when this instant began
  std::uint64_t most_at_once_ = 0;    // requests that may rightly be submitted at one instant
  std::uint64_t submitted_ = 0, ended_ = 0;
  std::uint64_t faults_begun_ = 0;
  std::vector<std::uint64_t> open_attempts_;  // at the end of the run: cohort attempts, by group
};

}  // namespace retrysim::model

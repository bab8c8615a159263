// The simulated world of one replication, and the life of a request in it:
//
//   workload -> submit -> [send token, connection] -> send -> network -> service -> network
//                             ^                                                       |
//                             |                                                       v
//                             +------------- backoff <---- retry? <---- deliver (or: timeout)
//                                                            |
//                                                            +----> finish
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

#include "kernel/claim.hpp"
#include "kernel/event_order.hpp"
#include "kernel/event_queue.hpp"
#include "kernel/fifo_lane.hpp"
#include "kernel/indexed_heap.hpp"
#include "kernel/pool.hpp"
#include "kernel/radix_heap.hpp"
#include "measure/recorder.hpp"
#include "model/faults.hpp"
#include "model/polling.hpp"
#include "model/request.hpp"
#include "model/service.hpp"
#include "model/side_effects.hpp"
#include "model/streams.hpp"
#include "model/workload.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The two steps that every request takes are compiled as one function each. Not under sanitizers:
// with their checks that takes the compiler many minutes.
#ifndef RETRYSIM_FLATTEN
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RETRYSIM_FLATTEN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RETRYSIM_FLATTEN
#endif
#endif
#endif
#ifndef RETRYSIM_FLATTEN
#define RETRYSIM_FLATTEN [[gnu::flatten]]
#endif

namespace retrysim::model {

/// One client group as it runs: the rules its clients share and the state that each has of its own,
/// as far as the rules need it.
struct ClientGroup {
  const ClientSpec* spec = nullptr;
  std::uint16_t index = 0;
  std::uint16_t service = 0;
  std::vector<ErrorInfo> errors;          ///< what its clients make of each of the world's answers
  std::optional<ArrivalStream> arrivals;  ///< open processes
  std::optional<Polling> polling;         ///< arrivals are jobs
  std::vector<std::uint32_t> thinks;      ///< closed loop: think times begun, by client
  std::vector<std::uint32_t> ordinals;    ///< closed loop: requests submitted, by client
  /// Closed loop, think time from the start of the request before, one request at a time: when each
  /// client's next request is due, or its present one was.
  std::vector<Time> due;
  RetryStates states;
  std::vector<std::unique_ptr<CustomStrategy>> strategies;  ///< the user's own, one a client
  std::vector<std::uint64_t> strategy_requests;             ///< their requests so far, by client

  struct Waiters {  ///< requests in a queue of their client, first come first
    std::uint32_t first = kNone, last = kNone;
  };
  struct SendQueue : Waiters {  ///< for a send token
    std::uint32_t wake_position = kNone;
  };
  struct Connections : Waiters {
    std::uint32_t open = 0, idle = 0;
  };
  std::vector<SendQueue> send_queues;    ///< adaptive mode: one a client
  std::vector<Connections> connections;  ///< one a client, if connections are simulated
  kernel::IndexedHeap wakes;             ///< by client: when its first waiter can have a token
  kernel::TimerLane timeouts, deadlines;
  bool constant_timeout = false;
  Duration constant_timeout_length;
  Request new_request;  ///< as each of the group's requests begins
  Attempt new_attempt;  ///< as each of their attempts begins
  /// Sending may have to wait, or be refused: a limiter, a throttle, a connection pool, hedging.
  bool gated = false;
  bool hedges = false;
  bool books_successes = false;  ///< the strategy learns of successes
  bool begins_in_steps = false;  ///< there is more to do when a request begins: `open_request`
  bool ends_in_steps = false;    ///< there is more to do when a request ends: `close_request`
  bool closed = false;           ///< each client thinks, asks, thinks ...
  bool mutates = false;          ///< some requests have side effects
  std::vector<std::uint64_t> last_tokens;  ///< if tokens are reused: of each client
  bool counts_requests = false;            ///< the strategy is told when requests begin and end
  /// Of the retry quotas of all its clients, for the check at the end.
  struct TokenBooks {
    std::int64_t refunded = 0;    ///< by successes after retries
    std::int64_t refundable = 0;  ///< what the rules let those give back at most
  } tokens;
  RetryRules last_rules;  ///< from SimulationOptions::retries_until on: one attempt
  /// Sizes the arrays that have an element for each client. `connecting`: it takes time.
  template <class Take>
  void take_memory(const ClientSpec& client, bool connecting, Take& take) {
    const std::size_t count = client.count;
    if (client.token_reuse > 0) take(last_tokens, count, kNoToken);
    if (client.strategy) {
      take(strategy_requests, count);
    } else if (client.retry.rate_limit.enabled) {
      take(send_queues, count);
    }
    if (connecting || client.max_connections != ClientSpec::kUnlimited) take(connections, count);
    if (client.caller || client.arrivals.process != ArrivalProcess::kClosed) return;
    take(thinks, count);
    take(ordinals, count);
    if (client.arrivals.think_from_start && client.arrivals.concurrency == 1) take(due, count);
  }

  // Event sources; kNone where the group has no such events.
  std::uint32_t arrival_source = kNone, timeout_source = kNone, deadline_source = kNone,
                wake_source = kNone;
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
    kSendWaitEnd,
    kHedgeDue,
    kErrorReturned,  ///< long polling: after the delay of a retry that the quota refused
    kServiceTimeout,
    kScaling,
    kCheckDue,
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
  // The one loop of a run: compiled into it.
  [[gnu::always_inline]] inline bool next_event();
  [[gnu::always_inline]] inline void dispatch(std::uint32_t source);
  [[gnu::noinline]] bool is_over(Time next) const;
  kernel::EventKey true_head(std::uint32_t source) const;
  void timeout_fires(std::uint32_t source);
  void attempt_arrives(std::uint32_t source);
  void response_arrives(std::uint32_t source);
  void change_faults();
  // Nearly every event is one of these two; what they call is compiled into them.
  RETRYSIM_FLATTEN void next_arrival(ClientGroup& g);
  void timer_due();
  void look_around();
  /// Work done at an instant besides its events: it counts against the same limits.
  void count_step() {
    if (events_ + ++steps_ >= next_look_) [[unlikely]]
      look_around();
  }
  void check_memory() const;
  void note_event(EventKind kind, std::uint64_t entity);

  // The life of a request.
  /// `caller`: the attempt that a service's own client is to call for; kNone for others.
  void submit(ClientGroup& g, std::uint32_t client, std::uint64_t entity,
              std::uint32_t caller = kNone);
  [[gnu::noinline]] void decide_side_effects(ClientGroup& g, std::uint32_t request);
  [[gnu::noinline]] bool open_request(ClientGroup& g, std::uint32_t request);
  [[gnu::noinline]] void begin_attempt(ClientGroup& g, std::uint32_t request);
  void send(ClientGroup& g, std::uint32_t request, Request& r);
  [[gnu::noinline]] void arm_varying_timeout(ClientGroup& g, std::uint32_t request);
  void disarm_timeout(ClientGroup& g, std::uint32_t request);
  [[gnu::noinline]] void travel_to_service(std::uint32_t attempt);
  void arrive(std::uint32_t attempt, Attempt& a);
  [[gnu::noinline]] bool answered_at_the_door(std::uint32_t attempt);
  [[gnu::noinline]] void overflow(std::uint32_t attempt);
  [[gnu::noinline]] void turn_away(std::uint32_t attempt, std::uint16_t answer);
  void answer_with(std::uint32_t attempt, std::uint16_t answer);
  bool send_answer(std::uint32_t attempt, Attempt& a, std::uint16_t answer);
  [[gnu::noinline]] bool lose_answer(std::uint32_t attempt);
  [[gnu::noinline]] bool answer_travels(std::uint32_t attempt);
  void serve_queue(std::size_t service);
  [[gnu::noinline]] bool would_be_late(std::uint32_t attempt) const;
  kernel::EventKey timeout_of(const ClientGroup& g, std::uint32_t request) const;
  RETRYSIM_FLATTEN void complete(std::size_t service);
  [[gnu::noinline]] void mutation_executed(std::uint32_t attempt, bool succeeded);
  void served(std::size_t service, std::uint32_t id, Attempt& a, Reply reply);
  void worked_in_vain(const Attempt& a);
  double server_time_ns(const Attempt& a) const;
  void answer_unused(const Attempt& a);
  /// What its client makes of this answer.
  bool is_throttling(const Attempt& a, std::uint16_t answer) const {
    return groups_[a.group].errors[answer].response_class == ResponseClass::kThrottling;
  }
  [[gnu::noinline]] void enter_service(std::uint32_t attempt);
  void leave_service(std::uint32_t attempt) {
    if (attempts_[attempt].watched) [[unlikely]]
      end_watch(attempt);
  }
  [[gnu::noinline]] void end_watch(std::uint32_t attempt);
  void pass_limit(std::size_t service);
  void restart(std::size_t service);
  void scale(std::size_t service);
  void deliver(std::uint32_t attempt, const Attempt& a);
  [[gnu::noinline]] void next_call(std::uint32_t attempt);
  [[gnu::noinline]] void give_up(ClientGroup& g, std::uint32_t request, AttemptResult result);
  bool give_up_attempt(ClientGroup& g, const Request& r, std::uint32_t attempt,
                       AttemptResult result);
  void time_out(std::uint32_t request);
  void pass_deadline(std::uint32_t request);
  [[gnu::noinline]] void fail(ClientGroup& g, std::uint32_t request, const ErrorInfo& error,
                              std::optional<Duration> retry_after);
  /// Takes a step of a client's strategy. Every step that may change a retry quota is taken here,
  /// so that the recorder hears of every change. Returns the change, in tokens.
  template <class Step>
  std::int32_t watch_quota(const ClientGroup& g, const RetryState& state, Step&& step) {
    const std::int32_t before = state.quota != nullptr ? state.quota->available : 0;
    step();
    const std::int32_t change = state.quota != nullptr ? state.quota->available - before : 0;
    if (change != 0) recorder_.quota_changed(g.index, change, now_);
    return change;
  }
  RetryDecision decide(ClientGroup& g, std::uint32_t request, const Failure& failure);
  bool retries_are_over() const { return now_ >= options_.retries_until; }
  bool must_not_be_sent(const Request& r) const {
    return retries_are_over() && r.progress.attempts > 0;
  }
  [[gnu::noinline]] void book_success(ClientGroup& g, std::uint32_t request);
  void back_off(ClientGroup& g, std::uint32_t request, Duration delay,
                EventKind then = EventKind::kBackoffEnd);
  void finish(ClientGroup& g, std::uint32_t request, Outcome outcome);
  [[gnu::noinline]] void close_request(ClientGroup& g, std::uint32_t request, Outcome outcome);
  void think(ClientGroup& g, std::uint32_t client, Time last_submitted);
  // Jobs that are polled for: polling.cpp.
  [[gnu::noinline]] void begin_job(ClientGroup& g, std::uint32_t client, std::uint64_t entity);
  void schedule_check(ClientGroup& g, std::uint32_t job);
  [[gnu::noinline]] void check_due(ClientGroup& g, std::uint32_t job);
  [[gnu::noinline]] void check_ended(ClientGroup& g, std::uint32_t request, Outcome outcome);
  bool jobs_are_open() const;
  void close_jobs();
  void discard(std::uint32_t attempt);
  void release_attempt(std::uint32_t attempt);

  // Before an attempt is sent: before_send.cpp. Off the path of most events, and kept out of the
  // functions that are compiled into one.
  [[gnu::noinline]] bool pass_gates(ClientGroup& g, std::uint32_t request);
  [[gnu::noinline]] bool take_send_tokens(ClientGroup& g, std::uint32_t request);
  [[gnu::noinline]] void wait_once(ClientGroup& g, std::uint32_t request, Duration time);
  [[gnu::noinline]] void send_wait_over(ClientGroup& g, std::uint32_t request);
  void go_on_after_send_wait(ClientGroup& g, std::uint32_t request);
  void join_send_queue(ClientGroup& g, std::uint32_t request);
  void leave_send_queue(ClientGroup& g, std::uint32_t request);
  void schedule_wake(ClientGroup& g, std::uint32_t client);
  [[gnu::noinline]] void wake(ClientGroup& g);
  void limiter_changed(ClientGroup& g, std::uint32_t client);
  void join(ClientGroup::Waiters& w, std::uint32_t request);
  void leave(ClientGroup::Waiters& w, std::uint32_t request);
  bool take_connection(ClientGroup& g, std::uint32_t request);
  [[gnu::noinline]] void return_connection(ClientGroup& g, std::uint32_t client, bool reusable);
  [[gnu::noinline]] void send_connected();
  void leave_connection_queue(ClientGroup& g, std::uint32_t request);
  Duration connection_setup(const Attempt& a) const;
  [[gnu::noinline]] void schedule_hedge(ClientGroup& g, std::uint32_t request);
  [[gnu::noinline]] void cancel_hedge(std::uint32_t request);
  [[gnu::noinline]] void hedge_due(ClientGroup& g, std::uint32_t request, std::uint64_t sequence);
  void forget_attempt(Request& r, std::uint32_t attempt);

  // Services that call others: calls.cpp.
  void link_services();
  [[gnu::noinline]] bool begin_calls(std::size_t service);
  void make_calls(std::uint32_t attempt);
  [[gnu::noinline]] bool enter_call(std::uint32_t request, std::uint32_t caller);
  [[gnu::noinline]] void call_ended(std::uint32_t request, bool succeeded);
  [[gnu::noinline]] void cancel_calls(std::uint32_t attempt);
  void go_on_after_calls();
  void end_calls(std::uint32_t attempt);
  std::vector<std::uint32_t> calling_at(std::size_t service) const;

  // What an event leaves to be done at the same instant.
  [[gnu::noinline]] void settle();
  void deliver_answered();

  // Scheduling.
  kernel::EventKey key_in(Duration delay) { return {now_ + delay, sequence_++}; }
  void schedule_timer(EventKind kind, std::uint16_t group, std::uint32_t entity, Duration delay);
  void schedule_response(std::uint32_t attempt, Duration delay);
  Duration network_delay(const Attempt& a, Purpose purpose) const;
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
  /// What must hold of every run, whatever the scenario: conservation.cpp. Throws
  /// InvariantViolated.
  void check_conservation(const RunResult& result) const;
  [[noreturn]] void violated(std::string_view what) const;
  /// The same for levels over time: level_checks.cpp. Returns what is wrong; empty if nothing is.
  std::string wrong_level(const RunResult& result) const;
  std::vector<stats::GroupLevels> group_levels() const;
  Service::TimeSpent time_spent(std::size_t service, Time end) const;

  const Scenario& scenario_;
  SimulationOptions options_;
  std::uint32_t replication_;
  Streams streams_;
  std::vector<std::size_t> groups_by_name_, services_by_name_;
  std::vector<std::size_t> service_ranks_;  // by service: its place among the names
  stats::Recorder recorder_;
  std::uint64_t sequence_ = 0;
  Time now_;
  Time end_of_submissions_;

  std::vector<Response> answers_;
  std::uint16_t refused_answer_ = 0, no_answer_ = 0;
  struct ServiceAnswers {
    std::uint16_t overflow = 0, throttled = 0, timeout = 0, call_failed = 0;
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
  std::optional<SideEffects> side_effects_;  // if a group has such requests
  std::optional<FaultTimeline> faults_;

  kernel::RadixHeap timers_;          // backoffs, think times, requests on the way
  kernel::RadixHeap late_responses_;  // responses of varying delay
  bool network_takes_time_ = false;   // messages are events, not steps
  kernel::MessageLane requests_on_the_way_, responses_on_the_way_;
  kernel::IndexedHeap varying_timeouts_;
  kernel::EventQueue queue_;
  std::vector<Source> sources_;  // of the queue
  // Kinds of events that the scenario cannot have get no source: kNone.
  std::uint32_t fault_source_ = kNone, timer_source_ = kNone, varying_timeout_source_ = kNone,
                request_lane_source_ = kNone, response_lane_source_ = kNone,
                response_heap_source_ = kNone, first_service_source_ = kNone;

  std::uint64_t events_ = 0, fingerprint_ = 0;
  std::uint64_t steps_ = 0;           // in the work lists below, between events
  std::uint64_t next_look_ = 0;       // events and steps at which limits are next checked
  std::uint64_t instant_events_ = 0;  // events and steps when this instant began
  std::uint64_t most_at_once_ = 0;    // requests that may rightly be submitted at one instant
  std::uint64_t submitted_ = 0, ended_ = 0;
  std::uint64_t faults_begun_ = 0;
  // By request: the sequence number of the timer that its next hedge waits for.
  std::vector<std::uint64_t> hedge_sequences_;
  // By request of a group with the user's own strategies: its number at its client.
  std::vector<std::uint64_t> request_numbers_;
  // Work lists. A step that could lead back to itself at the same instant (an answer that takes no
  // time, the hand-over of a connection, the end of a call) is not taken in the midst of another
  // one: it is put down here, and `settle` takes it when the event is over. So nothing recurses,
  // however long a chain of such steps is, and no step finds another one half done.
  bool unsettled_ = false;                           // one of these lists is not empty
  std::vector<std::uint32_t> answered_, answering_;  // attempts whose answer is there
  std::vector<std::uint32_t> connected_;             // requests that got a connection
  bool connections_take_time_ = false;
  // The calls that an attempt waits for, by attempt; `serial` tells them from those of attempts
  // that had the slot before.
  struct Calls {
    std::uint32_t serial = 0;
    std::uint16_t next = 0;  // of its service's callees
    std::uint16_t open = 0;
    bool active = false, failed = false;
  };
  struct CallId {
    std::uint32_t attempt = kNone, serial = 0;
  };
  std::vector<std::vector<std::uint16_t>> callees_;  // by service: its own client groups
  std::vector<Calls> calls_;                         // by attempt
  std::vector<CallId> callers_;                      // by request of those groups
  std::vector<CallId> calls_over_;                   // a work list, see above
  std::vector<std::uint64_t> open_attempts_;  // at the end of the run: cohort attempts, by group
};

}  // namespace retrysim::model

// What all modules of a world see: the scenario, the clock and the pending events, requests and
// attempts, the instances of services, the rules of client groups, the numbers of all answers, and
// the limits of the run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/memory.hpp"
#include "kernel/timer_queue.hpp"
#include "measure/record/recorder.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/service/instance.hpp"
#include "scenario/limits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace retrysim::model {

class Clients;
class Effects;
class Network;
class RunLimits;
class Services;

/// Why a service does not take an attempt that its throttle has let pass.
enum class Refusal : std::uint8_t { kQueueFull, kLimit, kShed };

/// The answers that a client can get in one world, numbered: what services say to errors of all
/// kinds, and what the client's own machine says when there is no connection or no answer.
class Answers {
 public:
  static constexpr std::uint16_t kSuccess = 0;
  static constexpr std::uint16_t kConnectionRefused = 1;
  static constexpr std::uint16_t kNoAnswer = 2;  ///< within the time that the client waits
  // Answers to attempts that the client itself has not sent.
  static constexpr std::uint16_t kNoConnection = 3;
  static constexpr std::uint16_t kBulkheadFull = 4;
  static constexpr std::uint16_t kNotPermitted = 5;

  /// What one service answers to attempts that it does not serve, or whose calls failed.
  struct OfService {
    std::uint16_t throttled = 0, timeout = 0, call_failed = 0, conflict = 0;
    std::array<std::uint16_t, 3> refusals = {};

    std::uint16_t refused(Refusal why) const { return refusals[static_cast<std::size_t>(why)]; }
  };

  Answers();

  /// The number of this answer, which is new or was there before. Throws std::invalid_argument if
  /// there are too many for their numbers; scenario files are checked when they are read.
  std::uint16_t number(const ErrorAnswer& error, std::optional<Duration> retry_after = {});

  /// Adds the answers of the next service, and returns them.
  const OfService& add_service(const ServiceSpec& service);

  const Response& operator[](std::uint16_t answer) const { return all_[answer]; }
  const std::vector<Response>& all() const { return all_; }
  const OfService& of_service(std::size_t service) const { return services_[service]; }

 private:
  std::vector<Response> all_;
  std::map<scenario::AnswerIdentity, std::uint16_t> numbers_;
  std::vector<OfService> services_;
};

inline Answers::Answers() : all_(6) {
  for (std::size_t i = kConnectionRefused; i < all_.size(); ++i) all_[i].status = 0;
  all_[kConnectionRefused].transport = TransportError::kConnection;
  all_[kNoAnswer].transport = TransportError::kTimeout;
  all_[kNoConnection].transport = TransportError::kNoConnection;
  all_[kBulkheadFull].transport = TransportError::kBulkheadFull;
  all_[kNotPermitted].transport = TransportError::kNotPermitted;
}

inline std::uint16_t Answers::number(const ErrorAnswer& error,
                                     std::optional<Duration> retry_after) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  const auto [known, is_new] = numbers_.try_emplace(scenario::identity_of(error, retry_after),
                                                    static_cast<std::uint16_t>(all_.size()));
  if (!is_new) return known->second;
  if (all_.size() > kMost) throw std::invalid_argument("more than 65536 different answers");
  Response r;
  r.status = error.status;
  r.code = error.code;
  r.traits = error.traits;
  r.retry_after = retry_after;
  all_.push_back(std::move(r));
  return known->second;
}

inline const Answers::OfService& Answers::add_service(const ServiceSpec& service) {
  const ServiceAnswers answers = answers_of(service);
  const auto number_of = [this](const ServiceAnswer& a) { return number(a.error, a.retry_after); };
  OfService a;
  a.call_failed = number_of(answers.call_failed);
  a.throttled = number_of(answers.throttled);
  a.refusals = {number_of(answers.overflow), number_of(answers.limit), number_of(answers.shed)};
  if (service.timeout != Duration::max()) a.timeout = number_of(answers.timeout);
  if (service.model == ServiceModelKind::kOcc) a.conflict = number_of(answers.conflict);
  services_.push_back(a);
  return services_.back();
}

/// Whether a new connection takes time.
inline bool connections_take_time(const Scenario& scenario) {
  const Distribution& connect = scenario.network.connect;
  return !connect.is_constant() || connect.constant_value() > Duration::zero();
}

/// A client group as the network and services see it, through `Attempt::clients`. What its clients
/// keep for themselves is in `ClientGroup`, which is one of these.
struct Group {
  const ClientSpec* spec = nullptr;
  const RandomKey* key = nullptr;          ///< names all draws for what happens to its requests
  const RandomKey* subject_key = nullptr;  ///< ... and for what they are: `Streams::of_requests`
  GroupId index;
  stats::ClientRecorder* recorder = nullptr;
  Addressing about;               ///< what its requests are about
  std::vector<ErrorInfo> errors;  ///< how its clients classify each of the world's answers
  bool calls_several = false;     ///< its requests go to different services
  bool balanced = false;          ///< a service that it calls has several instances
  /// Its requests avoid the instances of earlier attempts: RetryRules::avoid_hosts.
  std::uint32_t avoid_hosts = 0;
  bool is_routed = false;  ///< one of the two: for each attempt there is something to choose
  /// The instance that an attempt goes to is named before it is sent, by `Network::name_host`.
  bool host_is_named = false;
  /// Its requests take something over from the attempts that they are calls for; null: nothing.
  const CallSpec* takes_over = nullptr;
};

/// Data only; what happens to it is decided by the modules.
struct RunState {
  RunState(const Scenario& simulated, std::uint32_t number, const SimulationOptions& how)
      : scenario(simulated),
        options(how),
        replication(number),
        streams(simulated, number),
        recorder(simulated, number),
        end_of_submissions(Time::zero() + simulated.duration) {
    if (options.access_log) operation_names.emplace(simulated);
  }

  /// The key of an event `delay` from now, scheduled now.
  kernel::EventKey key_in(Duration delay) { return {now + delay, sequence++}; }

  /// Adds a source to the queue; returns its number.
  std::uint32_t add_source(EventKind kind, std::size_t index = 0,
                           kernel::SourceRole role = kernel::SourceRole::kPlain) {
    sources.push_back({.kind = kind, .index = static_cast<std::uint32_t>(index), .group = nullptr});
    return queue.add(role);
  }

  /// An event of `kind`, which cannot be cancelled, for a request or client of the group.
  void set_timer(EventKind kind, GroupId group, std::uint32_t entity, Duration delay) {
    const bool is_next =
        timers.push({key_in(delay), entity,
                     static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(group) << 8});
    if (is_next) queue.set(timer_source, timers.head());
  }

  /// Enters an event into the fingerprint.
  void note_event(EventKind kind, std::uint64_t entity) {
    if (!options.fingerprint) return;
    mix(static_cast<std::uint64_t>(now.count()));
    mix(static_cast<std::uint64_t>(kind) << 56 ^ entity);
  }

  // What an attempt is about, as its service sees it.
  std::uint32_t operation_of(const Attempt& a) const {
    const CallSpec* call = a.clients->takes_over;
    if (call != nullptr && call->callers_operation) return taken_over[a.id].operation;
    return a.clients->about.operation(*a.clients->subject_key, a.entity);
  }
  std::uint32_t key_of(const Attempt& a) const {
    const CallSpec* call = a.clients->takes_over;
    if (call != nullptr && call->callers_key) return taken_over[a.id].key;
    return a.clients->about.key(*a.clients->subject_key, a.entity);
  }

  /// Its service, which logs its answers, answers the attempt now.
  void log_answer(const Attempt& a, std::uint16_t answer) const;

  /// How its client classifies this answer.
  bool is_throttling(const Attempt& a, std::uint16_t answer) const {
    return a.clients->errors[answer].response_class == ResponseClass::kThrottling;
  }

  /// Work has been done that is no event of its own: for each request or attempt that an event
  /// makes or goes through, and each alternative or instance that it looks at. See `RunLimits`.
  void count_work(std::uint64_t units = 1) const;

  /// `SimulationOptions::retries_until` has come.
  bool retries_are_over() const { return now >= options.retries_until; }
  bool must_not_be_sent(const Request& r) const {
    return retries_are_over() && r.progress.attempts > 0;
  }

  const Scenario& scenario;
  const SimulationOptions options;
  const std::uint32_t replication;
  Streams streams;
  stats::Recorder recorder;
  Time now;
  Time end_of_submissions;
  Answers answers;
  IndexedBy<RequestId, kernel::LinkedPool<Request>> requests;
  AttemptPool attempts;
  Holders holders;
  // What requests and attempts have taken over, for groups that take something over.
  ByRequest<TakenOver> taken_over_by_request;
  ByAttempt<TakenOver> taken_over;
  ByRequest<JobCheck> checks;  ///< of jobs that are polled for
  Instances instances;
  /// Levels of single instances; only where a service has several.
  std::optional<stats::InstanceLog> instance_log;

  std::optional<OperationNames> operation_names;  ///< only for the access log

  std::uint64_t sequence = 0;  ///< counts all events that were ever scheduled
  kernel::EventQueue queue;
  std::vector<EventSource> sources;  ///< of the queue
  kernel::TimerQueue timers;         ///< of clients and requests: backoffs, think times ...
  std::uint32_t timer_source = kNone;
  std::uint64_t fingerprint = 0;
  RunLimits* limits = nullptr;

 private:
  void mix(std::uint64_t x) {
    fingerprint = (fingerprint ^ x) * 0x9e3779b97f4a7c15u;
    fingerprint ^= fingerprint >> 32;
  }
};

/// The end of attempts. The service's side of one may end long before its client stops waiting, or
/// long after; it is released when both have.
class Attempts {
 public:
  Attempts(RunState& state, Effects& effects) : state_(state), effects_(effects) {}

  /// The service's side of an attempt has ended, and no answer is on its way.
  void discard(Attempt& a);
  /// The attempt has ended for both sides.
  [[gnu::always_inline]] void release(Attempt& a) {
    if (a.is(Attempt::kMutating | Attempt::kDegraded)) tell_others(a);
    state_.attempts.release(a);
  }

 private:
  void tell_others(Attempt& a);

  RunState& state_;
  Effects& effects_;
};

// --- Limits --------------------------------------------------------------------------------------

// The limits of a run: events, events at one instant, memory, and a request from outside to stop
// it.
//
// The limits are checked after a certain amount of work. An event is one unit of it, if it does no
// more than an event usually does; what may be dear in a valid scenario counts its own work. A unit
// takes some hundred to a few thousand instructions, as tests/costly finds. What takes memory takes
// a few hundred bytes for a unit (a request and an attempt: 256), in blocks; an array that has to
// be moved when it grows counts as twice as large.

class RunLimits {
 public:
  /// The modules are asked for the memory that they take, and for nothing else.
  RunLimits(RunState& state, const Clients& clients, const Network& network, Services& services,
            const Effects& effects);

  /// The clock has moved on.
  void new_instant() { left_at_instant_ = left_; }
  /// Throws LimitExceeded when a limit has been passed, Interrupted when the run is to stop.
  void count_event() {
    if (--left_ <= 0) check();
  }
  /// Work done at an instant besides its events: it counts against the same limits.
  void count_step() {
    ++steps_;
    count_event();
  }

  /// Other work: it only makes the next look come sooner.
  void count_work(std::uint64_t units) {
    const auto work = static_cast<std::int64_t>(units);
    left_ -= work;
    left_at_instant_ -= work;
    other_ += units;
    if (left_ <= 0) check();
  }

  std::uint64_t events() const { return counted() - steps_; }
  /// For tests: all units of work, and the most between two looks.
  std::uint64_t work() const { return next_check_ - static_cast<std::uint64_t>(left_); }
  std::uint64_t most_between_looks() const { return most_between_looks_; }

 private:
  std::uint64_t counted() const { return work() - other_; }
  [[gnu::noinline]] void check();
  void check_memory() const;

  const RunState& state_;
  const Clients& clients_;
  const Network& network_;
  Services& services_;
  const Effects& effects_;
  // Units of work (events, steps and others) up to the next check, which is the only thing that an
  // event has to count; and the same when this instant began, less the other work since.
  std::int64_t left_ = 0, left_at_instant_ = 0;
  std::uint64_t next_check_ = 0;         // at this number of units in all
  std::uint64_t steps_ = 0, other_ = 0;  // parts of the work
  std::uint64_t looked_at_ = 0, most_between_looks_ = 0;
  std::uint64_t most_at_once_ = 0;  // requests that may rightly be submitted at one instant
};

inline void RunState::count_work(std::uint64_t units) const { limits->count_work(units); }

}  // namespace retrysim::model

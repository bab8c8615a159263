// One service, or one of its instances if it has several: servers, a queue in front of them, a
// throttle before that. Knows attempts, but neither clients nor the network; what an attempt's fate
// means is decided by the simulation.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/event_order.hpp"
#include "kernel/pool.hpp"
#include "model/autoscaler.hpp"
#include "model/codel.hpp"
#include "model/concurrency_limit.hpp"
#include "model/operation_mix.hpp"
#include "model/own_servers.hpp"
#include "model/processor_sharing.hpp"
#include "model/reconciliation.hpp"
#include "model/request.hpp"
#include "model/service_model.hpp"
#include "model/side_effects.hpp"
#include "model/streams.hpp"
#include "model/throttle.hpp"
#include "model/waiting_line.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace retrysim::model {

class TokenWaits;

/// What is wrong with a service, or the way to it, at present: all active faults together.
struct Impairment {
  double capacity = 1, speed = 1;
  Duration latency;
  double request_loss = 0, response_loss = 0;  ///< the network's own included
  bool unreachable = false, black_hole = false;
  std::vector<std::pair<double, std::uint16_t>> errors;  ///< cumulative probability, answer
};

class Service {
  // Which kind of pool it is takes one comparison, whose result never changes during a run.
  using Servers = std::variant<OwnServers, SharedServers>;
  template <class Use>
  auto of_servers(Use use) const {
    if (const auto* own = std::get_if<OwnServers>(&servers_)) [[likely]]
      return use(*own);
    return use(*std::get_if<SharedServers>(&servers_));
  }
  template <class Use>
  auto of_servers(Use use) {
    if (auto* own = std::get_if<OwnServers>(&servers_)) [[likely]]
      return use(*own);
    return use(*std::get_if<SharedServers>(&servers_));
  }
  bool has_room() const {
    return of_servers([](const auto& s) { return s.has_room(); });
  }

 public:
  enum class Admission : std::uint8_t { kStarted, kQueued, kFull };

  /// `key` is for what it draws for itself, `conflict` the number of the answer to a write that
  /// came too late.
  Service(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
          const Streams* streams, kernel::Pool<Attempt>* attempts, std::uint64_t* sequence);

  /// The operations of the groups that call service `index`, whose requests differ in work.
  void set_operations(std::size_t index, const std::vector<ClientSpec>& clients) {
    operations_ = OperationMix(index, clients);
  }

  const ServiceSpec& spec() const { return *spec_; }
  const Impairment& impairment() const { return impairment_; }
  std::int64_t working_servers() const { return working_; }
  bool shares_processor() const { return std::holds_alternative<SharedServers>(servers_); }

  /// Servers that work: under processor sharing all or none.
  std::int64_t busy() const {
    return of_servers([](const auto& s) { return s.busy(); });
  }
  std::uint64_t queued() const { return line_.size() + rejections_.size(); }
  /// Attempts waiting or in service.
  std::uint64_t in_system() const {
    return static_cast<std::uint64_t>(of_servers([](const auto& s) { return s.attempts(); })) +
           queued();
  }
  /// Servers that work for attempts whose clients have given up (processor sharing only).
  double wasting_servers() const {
    return of_servers([](const auto& s) { return s.wasting_servers(); });
  }

  /// Key of the next completion.
  kernel::EventKey next_completion() const {
    return of_servers([](const auto& s) { return s.head(); });
  }

  /// Whether attempts may be answered before they are admitted: by random errors, by a throttle.
  bool screens_arrivals() const { return screens_arrivals_; }
  /// True if the throttle lets an attempt pass: of client `number` of client group `group`; where
  /// operations or keys are throttled, of the operation or key of that number.
  bool pass_throttle(std::uint16_t group, std::uint32_t number, Time now) {
    return spec_->throttle.rate <= 0 || throttle_.pass(group, number, now);
  }

  /// Starts serving the attempt, queues it, or neither if the queue is full or the concurrency
  /// limit is reached.
  Admission admit(std::uint32_t id, Attempt& attempt, Time now);

  /// Whether the service wants to be told, by `leave`, when an attempt is gone that it had
  /// admitted.
  bool watches_attempts() const { return watches_attempts_; }
  void leave(std::uint32_t attempt, Time now) {
    const Attempt& a = (*attempts_)[attempt];
    if (limits_concurrency_) {
      concurrency_.leave(attempt, now - a.arrived, a.executed || a.replay);
    }
  }

  /// Turning this attempt away costs server time: a free server begins at once; else that waits,
  /// before any attempt that is to be served.
  void turn_away(std::uint32_t attempt, Time now);

  /// Ends the service (or the turning away) that completes now.
  std::uint32_t complete(Time now);

  /// Its attempts make calls to other services before they are done.
  void call_others() { calls_others_ = true; }
  bool calls_others() const { return calls_others_; }
  /// The attempt whose service completes next; there must be one.
  std::uint32_t next_to_complete() const {
    return of_servers([](const auto& s) { return s.front(); });
  }
  /// The own work on that attempt ends now; its server is held until `release` (or `abort`). Where
  /// attempts share the servers, it takes nothing from the others meanwhile.
  std::uint32_t hold(Time now);
  void release(std::uint32_t attempt, Time now);

  /// What a free server does next: the attempt leaves the queue; kNone if there is no server or no
  /// attempt.
  std::uint32_t take_from_queue();
  void start(std::uint32_t id, Attempt& attempt, Time now);
  /// The attempt has waited for another one with its token, which is over.
  void wake(std::uint32_t attempt, Time now);

  /// Whether it is counted how many attempts wait no longer than `ServiceSpec::wait_within`.
  bool times_waits() const { return times_waits_; }

  /// Whether controlled delay sheds this attempt, which has just been taken from the queue.
  bool sheds(const Attempt& attempt, Time now) {
    return controls_delay_ && codel_.turns_away(now - attempt.arrived, line_.size(), now);
  }

  /// Whether what has been served has succeeded, without more ado.
  bool always_succeeds() const { return always_succeeds_; }
  /// What comes of an attempt that has just been served.
  Reply reply(Attempt& attempt) {
    return reply_of(model_, attempt, {streams_->of_group(attempt.group), impairment_.errors});
  }

  /// The numbers of the answers to attempts whose token is known.
  struct TokenAnswers {
    std::uint16_t already_exists = 0, in_progress = 0, mismatch = 0;
  };
  /// From now on it looks at the tokens of attempts with side effects; instances share what they
  /// remember.
  void remember_tokens(TokenAnswers answers, std::shared_ptr<Sessions> sessions);
  /// Where attempts wait for others with their token, if they do.
  void wait_for_tokens(TokenWaits* waits) { waits_ = waits; }
  /// Where it finds those tokens; may be null if there are none. `reads`: null unless some clients
  /// ask before they repeat.
  void keep_books(SideEffects* books, const Reconciliation* reads) {
    books_ = books;
    reads_ = reads;
  }
  /// Whether the message of this attempt that is under way is such a question.
  bool is_read(const Attempt& a) const {
    return a.mutating && reads_ != nullptr && reads_->is_read(a);
  }
  /// An attempt with side effects has been served to the end.
  void mutation_executed(std::uint32_t attempt, bool succeeded, Time now);
  /// What an attempt with side effects has begun, if anything, comes to nothing.
  void close_session(std::uint32_t attempt);

  /// How long the attempt will be in service if it starts now and nothing changes.
  Duration service_time_of(std::uint32_t attempt) const;

  /// An attempt leaves the queue, or its server, before it is served.
  void remove_from_queue(std::uint32_t attempt, Time now);
  void abort(std::uint32_t attempt, Time now);

  /// The same for one that has been taken from the queue, and is not started; or that came, and
  /// does not stay.
  void leave_unserved(const Attempt& attempt, Time now) {
    time_spent_.queued += (now - attempt.arrived).count();
    time_spent_.in_system += (now - attempt.arrived).count();
  }

  /// The client of an attempt in service has given up.
  void given_up(Time now) {
    of_servers([now](auto& s) { s.given_up(now); });
  }

  /// Takes out everything that waits or is in service, this first in order of completion; not what
  /// is held.
  std::vector<std::uint32_t> take_all(Time now);
  /// As it was at the start of the run, with nobody there; the throttle as well if it is to be.
  void forget(bool throttle_too);

  /// Null if the number of servers is fixed.
  Autoscaler* autoscaler() { return autoscaler_ ? &*autoscaler_ : nullptr; }
  /// The autoscaler has changed the number of servers.
  void rescale(Time now) { impair(impairment_, now); }

  /// The faults have changed. Work in progress goes on at the new speed.
  void impair(Impairment impairment, Time now);

  template <class Visit>
  void for_each_in_service(Visit visit) const {
    of_servers([&](const auto& s) { s.for_each(visit); });
  }
  template <class Visit>
  void for_each_queued(Visit visit) const {
    line_.for_each(visit);
    rejections_.for_each(visit);
  }

  /// How long attempts have been here, from their arrival on: in the queue, summed when they leave
  /// it, and at all, summed when they go. For the check at the end of the run.
  struct TimeSpent {
    WideNanoseconds queued = 0, in_system = 0;
  };
  const TimeSpent& time_spent() const { return time_spent_; }
  /// The most servers that ever worked at once.
  std::int64_t most_servers() const { return most_working_; }

 private:
  Admission admit_if_queue_has_room(std::uint32_t id, Attempt& attempt, Time now);
  double demand_ns(const Attempt& attempt) const;
  void begin_work(std::uint32_t id, Attempt& attempt, Time now);
  double answered_demand_ns(const Attempt& attempt) const;
  [[gnu::noinline]] bool begin_mutation(std::uint32_t attempt, Time now);
  bool look_at_token(std::uint32_t attempt, Time now);
  void wait_for_token(std::uint32_t attempt, const SideEffects::Account& account);
  Time storing_time(const Attempt& attempt, Time now) const;

  static Servers make_servers(const ServiceSpec& spec, kernel::Pool<Attempt>* attempts,
                              std::uint64_t* sequence);

  const ServiceSpec* spec_;
  const Streams* streams_;
  kernel::Pool<Attempt>* attempts_;
  OperationMix operations_;
  Servers servers_;
  std::uint64_t queue_capacity_;
  std::int64_t working_, most_working_ = 0;
  bool controls_delay_, limits_concurrency_, always_succeeds_;
  bool times_waits_, watches_attempts_, calls_others_ = false, screens_arrivals_ = false;
  ServiceModel model_;
  WaitingLine line_, rejections_;
  Codel codel_;
  std::optional<Autoscaler> autoscaler_;
  ConcurrencyLimit concurrency_;
  TimeSpent time_spent_;
  Impairment impairment_;
  std::shared_ptr<Sessions> sessions_;  // if it remembers tokens
  TokenAnswers token_answers_;
  SideEffects* books_ = nullptr;
  TokenWaits* waits_ = nullptr;
  const Reconciliation* reads_ = nullptr;
  Throttle throttle_;
};

}  // namespace retrysim::model

// Services that call other services: which calls an attempt makes between the end of its own
// service time and its answer, and how far it has got with them. Each call is a request of a client
// group that belongs to the calling service, or several of them, so that it is retried, timed and
// counted as any other request is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "model/run/request.hpp"
#include "model/service/cache.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retrysim::model {

struct RunState;

class Calls {
 public:
  /// Requests to be submitted for one call: of one group, and alike but for their names.
  struct Order {
    GroupId group;
    std::uint16_t copies = 1;
    std::uint16_t slot = 0, call = 0;  ///< as in `CallId`
  };

  explicit Calls(RunState& state) : state_(state) {}

  /// Finds out which services call which; throws std::invalid_argument if they do so in a circle,
  /// and where `flow::CallGraph` does.
  void link_services();

  /// The own work on the attempt is done: chooses the calls of its first stage, which may look into
  /// caches. True if there are any; `begin` must come next.
  bool choose_first(const Attempt& a);
  /// The calls that have been chosen. The orders are valid until the next question.
  std::span<const Order> begin(const Attempt& a);
  /// What `ended` has called for: a call instead of one that has failed, or those of the next
  /// stage. None: the attempt has made all its calls, or one of them has failed for good.
  std::span<const Order> next(const Attempt& a, CallId id);
  /// A request has ended. True if the attempt, which still waits, has to go on: `next`.
  bool ended(CallId id, bool succeeded);
  bool is_waiting(CallId id) const {
    const Progress& p = progress_[id.attempt];
    return p.active && p.serial == id.serial;
  }
  /// The id that the requests of this order carry and hand back when they end.
  CallId id_of(const Attempt& a, const Order& order) const {
    return {a.id, progress_[a.id].serial, order.slot, order.call};
  }
  /// The random words that name the requests of an order, one each. They depend on the attempt
  /// alone, so it makes the same calls whatever else happens. All orders of a stage have the same
  /// names, in different groups.
  Draws names_of(const Attempt& a, const Order& order) const;

  struct Outcome {
    bool failed = false;
    bool degraded = false;  ///< a call has failed that the attempt can do without
  };
  /// The attempt waits for no further calls.
  Outcome end(AttemptId attempt);
  /// The attempt does not wait any more. Calls under way run on to their own end.
  void cancel(AttemptId attempt) { end(attempt); }

  /// The instance has restarted: what it had kept of answers is gone.
  void forget(InstanceId instance);

  std::uint64_t bytes() const { return progress_.bytes() + slots_.bytes() + slot_bytes_; }

 private:
  static constexpr std::uint16_t kNoCall = 0xffff;

  /// A call of a service.
  struct Call {
    const CallSpec* spec;
    GroupId group;
    const RandomKey* key;  // of that group: what is drawn for the call
    const RandomKey*
        choice_key;  // ... for what is the same in all attempts of the caller's request
    std::vector<std::uint32_t> operations;  // for which it is made, in order; none: for all
    std::uint16_t fallback = kNoCall;
    std::uint16_t choice = kNoCall;  // among the plan's, if it is an alternative
    std::uint32_t caches = kNone;    // one for each instance, if it keeps answers
  };
  struct Stage {
    std::uint16_t first = 0, end = 0;  // among the calls of the service
    /// Each call is made once for every attempt, which fails if one of them does.
    bool is_plain = true;
    std::vector<Order> orders;  // of a plain one
    std::uint16_t first_choice = 0, end_choice = 0;
    std::uint64_t work = 0;  // of looking at all of its calls; see `RunLimits`
  };
  struct Plan {
    std::vector<Call> calls;  // those of each stage follow each other; then the fallbacks
    std::vector<Stage> stages;
    std::vector<std::vector<std::uint16_t>> choices;  // calls of which one is made
  };

  /// How far the calls of an attempt have got.
  struct Progress {
    std::uint32_t serial = 0;  // of the stage
    std::uint16_t stage = 0;
    std::uint16_t open = 0;  // calls of the stage that are not decided
    bool active = false, failed = false, degraded = false;
    bool is_plain = true;  // the stage: it needs no slots
  };
  /// One call of the stage that an attempt is in, or the fallback that has taken its place.
  struct Slot {
    std::uint64_t name = 0;                 // of the call whose place this fallback has taken
    std::optional<std::uint16_t> replaced;  // that call; none if this is no fallback
    std::uint16_t call = 0;
    std::uint16_t open = 0;    // requests that have not ended
    std::uint16_t needed = 0;  // successes that are still missing
    bool decided = false;
    bool falls_back = false;  // the requests of a fallback have not been submitted yet
  };
  /// The request that an attempt belongs to chooses for all its attempts.
  class Choice;

  void add_call(Plan& plan, std::size_t call, const OperationNames& names,
                std::span<const std::uint32_t> keys);
  const Plan& plan_of(const Attempt& a) const { return plans_[service_of(a)]; }
  static ServiceId service_of(const Attempt& a);
  bool find_orders(const Attempt& a, std::size_t stage);
  static std::uint16_t copies_of(const Plan& plan, std::uint16_t call, Choice& choice);
  static bool is_made(const Plan& plan, std::uint16_t call, Choice& choice);
  static bool permits(const Call& call, Choice& choice);
  std::span<const Order> enter_stage(const Attempt& a);
  [[gnu::noinline]] bool ended_in_slot(CallId id, bool succeeded);
  enum class Instead : std::uint8_t { kNothing, kCall, kCachedAnswer };
  Instead begin_fallback(const Attempt& a, Slot& slot);
  Draws names_of(const Attempt& a, const Slot& slot) const;
  Cache& cache_of(const Call& call, const Attempt& a);
  bool look_up(const Call& call, const Attempt& a);
  void keep_answer(const Call& call, const Attempt& a);

  RunState& state_;
  ByService<Plan> plans_;
  ByAttempt<Progress> progress_;
  ByAttempt<std::vector<Slot>> slots_;  // where stages are not plain
  std::uint64_t slot_bytes_ = 0;
  std::vector<std::vector<Cache>> caches_;
  // The stage that is entered next: its number, and its orders if it is not plain.
  std::uint16_t due_stage_ = 0;
  std::vector<Order> due_;
};

}  // namespace retrysim::model

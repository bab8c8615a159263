// The servers of a service: what an attempt costs one of them, how it ends when the server has
// worked on it, and how servers are given to attempts.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/indexed_heap.hpp"
#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "model/effects/effects.hpp"
#include "model/run/request.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace retrysim::model {

// --- The work ------------------------------------------------------------------------------------

/// What a service model replies to an attempt, and what it may know for that.
struct Reply {
  std::uint16_t answer = 0;  ///< number of the answer; 0: success
  /// The client answers at once with a further message of the same attempt.
  bool goes_on = false;
};

struct ReplyContext {
  const RandomKey& key;  ///< of the client group
  /// Random errors at present: cumulative probability, answer.
  const std::vector<std::pair<double, std::uint16_t>>& errors;
};

/// Random errors at present: which of them a uniform variate meets, if any. Cumulative
/// probabilities do not fall; there may be thousands.
using ErrorList = std::vector<std::pair<double, std::uint16_t>>;

inline std::optional<std::uint16_t> error_met(const ErrorList& errors, double u) {
  const auto met = std::ranges::upper_bound(errors, u, {}, &ErrorList::value_type::first);
  if (met == errors.end()) return std::nullopt;
  return met->second;
}

/// The model "independent": no queue and no limits. Every attempt is worked on at once and then
/// fails or not, each with the same probability, whatever happens to the others.
class IndependentModel {
 public:
  Reply reply(const Attempt& a, const ReplyContext& context) const {
    if (context.errors.empty()) return {};
    Draws draws(context.key, {a.entity, a.number, 0, Purpose::kServiceError});
    if (a.is(Attempt::kSecondMessage)) draws.next();  // decided what the read before came to
    return {error_met(context.errors, draws.uniform()).value_or(0)};
  }
};

/// The model "occ": one row under optimistic concurrency control, as in the study "Exponential
/// backoff and jitter" (Brooker, AWS Architecture Blog, 2015). An attempt is two calls: it reads
/// the row with its version, and writes it back on condition that the version is still the same. Of
/// all that have read the same version the first write wins; the others conflict, and their clients
/// begin again with a read.
class OccModel {
 public:
  explicit OccModel(std::uint16_t conflict) : conflict_(conflict) {}

  Reply reply(Attempt& attempt, const ReplyContext&) {
    if (!attempt.is(Attempt::kSecondMessage)) {
      attempt.version = version_;
      return {0, true};
    }
    if (attempt.version != version_) return {conflict_};
    ++version_;  // what matters is equality among the attempts under way: it may wrap around
    return {};
  }

 private:
  std::uint16_t conflict_;
  std::uint32_t version_ = 0;
};

/// How an attempt ends that a server has worked on: the models of a service, behind one
/// interface. A model is a class of its own, with
///
///   Reply reply(Attempt& attempt, const ReplyContext& context);
///
/// asked when a server finishes work on an attempt, and again when the attempt has made calls in
/// between; it may keep state if its services make none. To add one: its class, a line in
/// `ServiceModel` and `make_service_model`, a word of `ServiceModelKind`. The model "queue", in
/// which what has been served has succeeded, is asked nothing.
using ServiceModel = std::variant<std::monostate, IndependentModel, OccModel>;

/// `conflict`: the number of the answer to a write that came too late.
inline ServiceModel make_service_model(const ServiceSpec& spec, std::uint16_t conflict) {
  switch (spec.model) {
    case ServiceModelKind::kIndependent:
      return IndependentModel();
    case ServiceModelKind::kOcc:
      return OccModel(conflict);
    case ServiceModelKind::kQueue:
      break;
  }
  return std::monostate();
}

inline Reply reply_of(ServiceModel& model, Attempt& attempt, const ReplyContext& context) {
  return std::visit(
      [&](auto& chosen) {
        if constexpr (std::is_same_v<std::decay_t<decltype(chosen)>, std::monostate>) {
          return Reply();
        } else {
          return chosen.reply(attempt, context);
        }
      },
      model);
}

/// The factor on a service time that begins while `others` attempts are in service; at most
/// 1e12, unless the curve is linear.
double slowdown_factor(const ServiceSpec& spec, std::int64_t others);

/// Requests of different cost: which operation of its client group a request is, and by how much
/// its work differs. A request is the same operation in every attempt, so this is a function of its
/// name and nothing needs to be remembered.
class OperationMix {
 public:
  /// Every request is like the others.
  OperationMix() = default;
  /// The mix of the client groups that call service `service`.
  OperationMix(std::size_t service, const std::vector<ClientSpec>& clients);

  /// Whether all requests are alike.
  bool empty() const { return groups_.empty(); }
  /// Factor on the service time of a request of client group `group`, whose key is `key`.
  double work(const RandomKey& key, std::uint64_t entity, std::uint16_t group) const;

 private:
  struct OfGroup {
    OperationChoice choice;
    std::vector<double> work;  // by operation
  };
  std::vector<OfGroup> groups_;
};

/// What an attempt takes of a server: drawn for it, more for some operations, and more the more
/// attempts are in service.
class ServiceDemand {
 public:
  ServiceDemand(const ServiceSpec& spec, const Streams* streams)
      : spec_(&spec),
        streams_(streams),
        keys_(spec.service_time_per == ServiceTimePer::kRequest ? streams->of_all_requests()
                                                                : streams->of_all_groups()),
        varies_(differs_from_draw(spec)) {}

  /// The operations of the groups that call service `index`, whose requests differ in work.
  void set_operations(std::size_t index, const std::vector<ClientSpec>& clients) {
    operations_ = OperationMix(index, clients);
    varies_ = differs_from_draw(*spec_) || !operations_.empty();
  }
  /// Some attempts have the operation of another one, for which they are calls.
  void take_over(const ByAttempt<TakenOver>& all) {
    taken_over_ = &all;
    varies_ = true;
  }

  /// What a read before a retry takes of a server of speed 1, in nanoseconds.
  static double of_read(const Attempt& a);

  /// Draws for an attempt that has to queue what depends on nothing but the attempt: when its turn
  /// comes, everything waits for its service time.
  [[gnu::always_inline]] void draw(Attempt& a) const {
    a.demand_ns = drawn(a, Purpose::kServiceTime);
  }

  /// Draws anew what is left of the work on an attempt in service, where what has been done says
  /// nothing about it; otherwise it stays. In both cases it has the law that it has to have, given
  /// the past. In nanoseconds, at speed 1.
  double left_of(const Attempt& a, double left_ns) const;

  /// What the attempt takes of a server of speed 1 if it begins while `others` are in service; in
  /// nanoseconds.
  double of(const Attempt& a, std::int64_t others) const {
    if (a.is(Attempt::kRejection | Attempt::kReplay | Attempt::kSecondMessage))
      return of_other(a, others);
    const double own = a.demand_ns >= 0 ? a.demand_ns : drawn(a, Purpose::kServiceTime);
    return varies_ ? varied(own, a, others) : own;
  }

 private:
  /// Whether it is more than the draw for one attempt, whatever the request.
  static bool differs_from_draw(const ServiceSpec& spec) {
    return spec.slowdown.enabled() || spec.service_time_per == ServiceTimePer::kRequest;
  }
  [[gnu::always_inline]] double drawn(const Attempt& a, Purpose purpose) const {
    const DrawId id{a.entity, a.number, 0, purpose};
    return static_cast<double>(spec_->service_time.sample(keys_[a.group], id).count());
  }
  double of_other(const Attempt& a, std::int64_t others) const;
  double varied(double own_ns, const Attempt& a, std::int64_t others) const;
  /// `own_ns`, or the draw of the request's first attempt. Kept out of the common way.
  [[gnu::noinline]] double own_or_of_first(double own_ns, const Attempt& a) const;

  const ServiceSpec* spec_;
  const Streams* streams_;
  /// By group. A service time that belongs to the request is something that the request is.
  const RandomKey* keys_;
  OperationMix operations_;
  const ByAttempt<TakenOver>* taken_over_ = nullptr;  // where operations differ in work
  bool varies_;
};

// --- The servers ---------------------------------------------------------------------------------

// How they are given to attempts: each works for one at a time, or all of them are shared.

/// The services in progress at one service, earliest completion first. Up to some dozens are a
/// sorted array, which grows as needed; more are an indexed heap, until half of that is left.
class CompletionSet {
  // Of an attempt that has been in the heap.
  auto position() {
    return [this](std::uint32_t attempt) -> std::uint32_t& { return (*places_)[attempt].position; };
  }

 public:
  using Places = kernel::BlockArray<AttemptPool::HeapPlace>;
  /// `places`: of all attempts; apart from those, so that moving one in the heap touches four bytes
  /// of it.
  explicit CompletionSet(Places* places) : places_(places) { make_room(kFewest); }

  std::size_t size() const { return sorted_ ? few() : heap_.size(); }
  kernel::EventKey head() const { return earliest_->key; }

  /// The attempt that is done first; there must be one.
  std::uint32_t front() const { return earliest_->attempt; }

  /// `key` is the newest there is: the last of those of its instant.
  void insert(std::uint32_t attempt, kernel::EventKey key) {
    if (earliest_ == last_place_ || key.time == Time::max()) [[unlikely]]
      return insert_elsewhere(attempt, key);
    assert(
        std::all_of(begin(), end(), [&](const One& o) { return o.key.sequence < key.sequence; }));
    One* place = ++earliest_;
    for (; place[-1].key.time <= key.time; --place) *place = place[-1];
    *place = {key, attempt};
  }

  std::uint32_t pop() {
    if (sorted_) return (earliest_--)->attempt;
    const std::uint32_t attempt = heap_.pop(position());
    heap_is_smaller();
    return attempt;
  }

  void erase(std::uint32_t attempt) {
    if (!sorted_) {
      places_->reach(attempt);
      heap_.erase(attempt, position());
      return heap_is_smaller();
    }
    const auto found =
        std::find_if(begin(), end(), [=](const One& o) { return o.attempt == attempt; });
    if (found == end()) kernel::timer_misused("a completion was cancelled that is not due");
    std::copy(found + 1, end(), found);
    --earliest_;
  }

  /// What it has taken beyond `bytes_of_few`.
  std::uint64_t bytes() const {
    return heap_.bytes() + (room_ <= kFew ? 0 : (room_ + 1) * sizeof(One));
  }
  /// What a set of a few takes.
  static std::uint64_t bytes_of_few() { return (kFew + 1) * sizeof(One); }

  /// Takes out everything, in the order of completion.
  std::vector<std::uint32_t> take_all() {
    std::vector<std::uint32_t> attempts;
    StopCounter<> stop;
    for (; size() > 0; stop.count()) attempts.push_back(pop());
    return attempts;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 1; i <= few(); ++i) visit(ones_[i].attempt);
    heap_.for_each([&](std::uint32_t attempt, kernel::EventKey) { visit(attempt); });
  }

 private:
  // An array of 60 takes half of a heap's time where service times are random, and as much where
  // they are constant.
  static constexpr std::uint32_t kFewest = 8, kFew = 16, kMaxSorted = 64;
  struct One {
    kernel::EventKey key = kernel::EventKey::never();
    std::uint32_t attempt = ~std::uint32_t{0};
  };
  One* begin() { return &ones_[1]; }
  One* end() { return earliest_ + 1; }
  std::size_t few() const { return static_cast<std::size_t>(earliest_ - ones_.get()); }

  [[gnu::noinline]] void insert_elsewhere(std::uint32_t attempt, kernel::EventKey key) {
    if (!sorted_) return push(attempt, key);
    if (earliest_ == last_place_) {
      if (room_ == kMaxSorted) {
        enter_heap();
        return push(attempt, key);
      }
      make_room(2 * room_);
    }
    if (key.time != Time::max()) return insert(attempt, key);
    // A service that never ends comes after all others: before them in the array.
    std::copy_backward(begin(), end(), end() + 1);
    ++earliest_;
    *begin() = {key, attempt};
  }

  void push(std::uint32_t attempt, kernel::EventKey key) {
    places_->reach(attempt);
    heap_.push(attempt, key, position());
    *earliest_ = {heap_.head(), heap_.front()};
  }

  void make_room(std::uint32_t room) {
    auto larger = std::make_unique<One[]>(room + 1);
    const std::size_t n = ones_ ? few() : 0;
    if (n > 0) std::copy(begin(), end(), &larger[1]);
    ones_ = std::move(larger);
    earliest_ = &ones_[n];
    last_place_ = &ones_[room];
    room_ = room;
  }

  void enter_heap() {
    sorted_ = false;
    const One* const last = std::exchange(earliest_, ones_.get());
    last_place_ = earliest_;
    for (const One* one = &ones_[1]; one <= last; ++one) push(one->attempt, one->key);
  }

  void heap_is_smaller() {
    if (heap_.size() > kMaxSorted / 2) {
      *earliest_ = {heap_.head(), heap_.front()};
      return;
    }
    *earliest_ = {};
    earliest_ = &ones_[heap_.size()];
    last_place_ = &ones_[room_];
    for (One* place = earliest_; !heap_.empty(); --place) {
      place->key = heap_.head();
      place->attempt = heap_.pop(position());
    }
    sorted_ = true;
  }

  bool sorted_ = true;
  std::uint32_t room_ = 0;
  // Entries from index 1 on, the earliest last. Index 0 is a sentinel later than all entries, and
  // is the head if there are none. Beside the heap it is the first one of that.
  std::unique_ptr<One[]> ones_;
  One* earliest_ = nullptr;
  One* last_place_ = nullptr;  // where the last one would be for which there is room: no further
  kernel::IndexedHeap heap_;
  Places* places_;  // in the heap
};

/// Servers that each work for one attempt at a time: a fixed number with a queue in front of them,
/// or as many as it takes. This is one kind of server pool, `SharedServers` are the other.
/// Both have the same members, and a service asks its pool about everything that depends on how
/// servers are given to attempts.
class OwnServers {
 public:
  /// `sequence`: the simulation's counter of scheduled events. `servers` work at first.
  OwnServers(AttemptPool* attempts, std::uint64_t* sequence, std::int64_t servers)
      : attempts_(attempts),
        sequence_(sequence),
        working_(servers),
        in_service_(&attempts->in_service) {}

  /// Whether an attempt can be served at once; otherwise it has to queue.
  bool has_room() const { return taken_ < working_; }
  /// Whether `capacity` attempts are in service, where that is what the capacity limits.
  static bool is_full(std::uint64_t) { return false; }
  /// How many attempts the service time of the next one depends on.
  std::int64_t in_service() const { return taken_; }
  /// Attempts that are in service or held.
  std::int64_t attempts() const { return taken_; }
  std::int64_t busy() const { return taken_; }
  /// Whether work for clients that have given up is recorded as a level, the number of
  /// `wasting_servers`. Otherwise each such attempt has a server to itself, whose time is wasted
  /// from `wasted_since` on.
  static bool waste_is_a_level() { return false; }
  static double wasting_servers() { return 0; }
  static Time wasted_since(const Attempt& a) { return std::max(a.started, a.gave_up); }
  /// Server time that an attempt was given that has been served.
  static double server_time_ns(const Attempt& a) {
    return static_cast<double>((a.finished - a.started).count());
  }

  /// Key of the next completion, and the attempt it is of; there must be one.
  kernel::EventKey head() const { return in_service_.head(); }
  std::uint32_t front() const { return in_service_.front(); }

  /// Begins with the attempt, whose `work` says how much there is to do.
  void start(Attempt& a, Time now) {
    ++taken_;
    schedule(a, now);
  }
  /// Ends the service that completes now.
  std::uint32_t complete(Time) {
    --taken_;
    return in_service_.pop();
  }
  /// Takes a server for an attempt that does nothing until `let_go`.
  void take() {
    ++taken_;
    ++held_;
  }
  /// Ends the service that completes now, but its server stays taken until `let_go`.
  std::uint32_t hold(Time) {
    ++held_;
    return in_service_.pop();
  }
  void let_go() {
    --held_;
    --taken_;
  }
  /// Ends the service of an attempt that is not done.
  void abort(std::uint32_t attempt, Time) {
    in_service_.erase(attempt);
    --taken_;
  }
  /// The client of an attempt in service has given up. True if that changes a level.
  static bool given_up(Time) { return false; }
  /// Takes out all that are in service, in the order of completion; what is held stays.
  std::vector<std::uint32_t> take_all(Time) {
    taken_ = held_;
    return in_service_.take_all();
  }

  /// From now on this many servers work, at this speed. Work in progress goes on.
  void set_power(std::int64_t servers, double speed, Time now) {
    working_ = servers;
    if (speed == speed_) return;
    const double old_speed = std::exchange(speed_, speed);
    is_unimpaired_ = speed == 1;
    StopCounter<> stop;
    for (const std::uint32_t id : in_service_.take_all()) {
      stop.count();
      Attempt& a = (*attempts_)[AttemptId(id)];
      const auto elapsed = static_cast<double>((now - a.work.since).count());
      a.work.left_ns = std::max(0.0, std::round(a.work.left_ns - elapsed * old_speed));
      schedule(a, now);
    }
  }

  /// Sets what is left of the work on each attempt in service: `left(attempt, left_ns)`.
  template <class Left>
  void set_left(Time now, Left left) {
    StopCounter<> stop;
    for (const std::uint32_t id : in_service_.take_all()) {
      stop.count();
      Attempt& a = (*attempts_)[AttemptId(id)];
      const auto elapsed = static_cast<double>((now - a.work.since).count());
      a.work.left_ns = left(a, std::max(0.0, std::round(a.work.left_ns - elapsed * speed_)));
      schedule(a, now);
    }
  }

  template <class Visit>
  void for_each(Visit visit) const {
    in_service_.for_each(visit);
  }
  std::uint64_t bytes() const { return in_service_.bytes(); }

 private:
  void schedule(Attempt& a, Time now) {
    a.work.since = now;
    constexpr double kNever = 9.2e18;
    Duration left = Duration::max();  // a server that stands still never finishes
    if (is_unimpaired_ && a.work.left_ns < kNever) {
      left = Duration::nanoseconds(static_cast<std::int64_t>(a.work.left_ns));
    } else if (a.work.left_ns == 0) {
      left = Duration::zero();
    } else if (speed_ > 0) {
      left = Duration::from_nanoseconds(a.work.left_ns / speed_);
    }
    in_service_.insert(a.id, {now + left, (*sequence_)++});
  }

  AttemptPool* attempts_;
  std::uint64_t* sequence_;
  std::int64_t taken_ = 0;  // servers, by attempts in service or held
  std::int64_t held_ = 0;
  std::int64_t working_;
  double speed_ = 1;
  bool is_unimpaired_ = true;  // the speed is 1
  CompletionSet in_service_;
};

/// Processor sharing: all attempts in service share the servers equally, each at the rate
///
///   working servers x speed / attempts in service,
///
/// so that the one with the least work left is the next to finish. Instead of counting down the
/// work of all, it counts what each has been given since the server was last idle ("attained"): an
/// attempt is done when that has risen by its demand. O(log n) for each that comes or goes.
class ProcessorSharing {
  auto position() {
    return [this](std::uint32_t attempt) -> std::uint32_t& {
      places_->reach(attempt);
      return (*places_)[attempt].position;
    };
  }

 public:
  using Places = kernel::BlockArray<AttemptPool::HeapPlace>;
  /// `places`: of all attempts.
  explicit ProcessorSharing(Places* places) : places_(places) {}

  std::int64_t size() const { return static_cast<std::int64_t>(by_end_.size()); }
  std::uint64_t bytes() const { return by_end_.bytes(); }

  /// The present is `now`; must be called before anything changes.
  void advance(Time now) {
    if (now == now_) return;
    const auto elapsed_ns = static_cast<double>((now - now_).count());
    now_ = now;
    if (by_end_.empty()) return;
    const auto n = static_cast<double>(by_end_.size());
    attained_ns_ += elapsed_ns * servers_ * speed_ / n;
    server_time_ns_ += elapsed_ns * servers_ / n;
  }

  void set_power(std::int64_t servers, double speed) {
    servers_ = static_cast<double>(servers);
    speed_ = speed;
  }

  /// `demand_ns`: what a single server of speed 1 would take. Equal ends come in the order of
  /// insertion.
  void insert(std::uint32_t attempt, double demand_ns) {
    if (by_end_.empty()) attained_ns_ = server_time_ns_ = 0;
    if (attained_ns_ > kMaxAttained) start_over();
    by_end_.push(attempt, {as_key(attained_ns_ + demand_ns), sequence_++}, position());
  }
  void erase(std::uint32_t attempt) { by_end_.erase(attempt, position()); }

  /// The attempt that is done first; there must be one.
  std::uint32_t front() const { return by_end_.front(); }
  /// Takes out that attempt.
  std::uint32_t pop() { return by_end_.pop(position()); }

  /// When that is, if nothing changes.
  Time next_end() const {
    if (by_end_.empty()) return Time::max();
    const double left = attained_at(by_end_.head()) - attained_ns_;
    if (left <= 0) return now_;
    const double rate = servers_ * speed_ / static_cast<double>(by_end_.size());
    return rate > 0 ? now_ + Duration::from_nanoseconds(left / rate) : Time::max();
  }

  /// Server time that an attempt in service all along has been given; differences count.
  double server_time_ns() const { return server_time_ns_; }

  template <class Visit>
  void for_each(Visit visit) const {
    by_end_.for_each([&](std::uint32_t attempt, kernel::EventKey) { visit(attempt); });
  }

 private:
  // Beyond this (18 minutes that each attempt was given) the sum would be rounded to more than a
  // thousandth of a nanosecond.
  static constexpr double kMaxAttained = 0x1p40;

  // Numbers that are not negative are in the order of their bits.
  static Time as_key(double attained) {
    return Time::from_nanoseconds(std::bit_cast<std::int64_t>(attained));
  }
  static double attained_at(kernel::EventKey key) {
    return std::bit_cast<double>(key.time.count());
  }

  void start_over() {
    std::vector<std::pair<kernel::EventKey, std::uint32_t>> all;
    by_end_.for_each([&](std::uint32_t a, kernel::EventKey key) { all.emplace_back(key, a); });
    StopCounter<> stop;
    for (; !by_end_.empty(); stop.count()) by_end_.pop(position());
    for (auto& [key, attempt] : all) {
      stop.count();
      key.time = as_key(std::max(0.0, attained_at(key) - attained_ns_));
      by_end_.push(attempt, key, position());
    }
    attained_ns_ = 0;
  }

  kernel::IndexedHeap by_end_;  // by what has been attained when they are done
  Places* places_;              // in the heap
  std::uint64_t sequence_ = 0;
  double attained_ns_ = 0, server_time_ns_ = 0;
  double servers_ = 0, speed_ = 1;
  Time now_;
};

/// The pool of servers that works in this way, with everything that a service asks of a pool (see
/// `OwnServers` for what that means). Kept out of the path of the other pool.
class SharedServers {
 public:
  SharedServers(AttemptPool* attempts, std::uint64_t* sequence, std::int64_t servers)
      : attempts_(attempts),
        sequence_(sequence),
        sharing_(&attempts->in_service),
        working_(servers) {
    sharing_.set_power(servers, 1);
  }

  /// No attempt queues; a capacity limits how many are served.
  static bool has_room() { return true; }
  bool is_full(std::uint64_t capacity) const {
    return static_cast<std::uint64_t>(sharing_.size() - rejections_ + held_) >= capacity;
  }
  std::int64_t in_service() const { return sharing_.size(); }
  std::int64_t attempts() const { return sharing_.size() + held_; }
  std::int64_t busy() const { return sharing_.size() > 0 ? working_ : 0; }
  static bool waste_is_a_level() { return true; }
  double wasting_servers() const {
    if (given_up_ == 0) return 0;
    return static_cast<double>(working_) * static_cast<double>(given_up_) /
           static_cast<double>(sharing_.size());
  }
  static Time wasted_since(const Attempt&) { return Time::max(); }

  static double server_time_ns(const Attempt& a) { return a.work.left_ns; }

  kernel::EventKey head() const { return head_; }
  std::uint32_t front() const { return sharing_.front(); }

  /// While the attempt is in service, its `work` holds the server time that each attempt had been
  /// given when it came; afterwards, the server time that it was given itself.
  [[gnu::noinline]] void start(Attempt& a, Time now) {
    sharing_.advance(now);
    sharing_.insert(a.id, a.work.left_ns);
    a.work.left_ns = sharing_.server_time_ns();
    given_up_ += a.given_up();
    rejections_ += a.is(Attempt::kRejection);
    schedule();
  }
  [[gnu::noinline]] std::uint32_t complete(Time now) {
    sharing_.advance(now);
    const std::uint32_t attempt = sharing_.pop();
    leave(attempt);
    return attempt;
  }
  /// A held server takes nothing from the others.
  std::uint32_t hold(Time now) {
    ++held_;
    return complete(now);
  }
  void take() { ++held_; }
  void let_go() { --held_; }
  [[gnu::noinline]] void abort(std::uint32_t attempt, Time now) {
    sharing_.advance(now);
    sharing_.erase(attempt);
    leave(attempt);
  }
  [[gnu::noinline]] bool given_up(Time now) {
    sharing_.advance(now);
    ++given_up_;
    return true;
  }
  [[gnu::noinline]] std::vector<std::uint32_t> take_all(Time now) {
    std::vector<std::uint32_t> all;
    StopCounter<> stop;
    for (; sharing_.size() > 0; stop.count()) all.push_back(complete(now));
    return all;
  }

  [[gnu::noinline]] void set_power(std::int64_t servers, double speed, Time now) {
    working_ = servers;
    sharing_.advance(now);
    sharing_.set_power(servers, speed);
    schedule();
  }

  template <class Visit>
  void for_each(Visit visit) const {
    sharing_.for_each(visit);
  }
  std::uint64_t bytes() const { return sharing_.bytes(); }

 private:
  void leave(std::uint32_t attempt) {
    Attempt& a = (*attempts_)[AttemptId(attempt)];
    a.work.left_ns = sharing_.server_time_ns() - a.work.left_ns;
    given_up_ -= a.given_up();
    rejections_ -= a.is(Attempt::kRejection);
    schedule();
  }
  void schedule() { head_ = {sharing_.next_end(), (*sequence_)++}; }

  AttemptPool* attempts_;
  std::uint64_t* sequence_;
  ProcessorSharing sharing_;
  kernel::EventKey head_ = kernel::EventKey::never();
  std::int64_t working_;
  std::int64_t held_ = 0;
  std::int64_t given_up_ = 0, rejections_ = 0;  // of those in service
};

/// The servers of a service, of whichever kind they are: each works for one attempt at a time
/// (`OwnServers`), or all are shared (`SharedServers`). Everything that depends on how servers are
/// given to attempts is asked here; the kinds answer, and no caller asks which kind it is.
class ServerPool {
  // Which kind it is takes one comparison, whose result never changes during a run.
  template <class Use>
  [[gnu::always_inline]] auto ask(Use use) const {
    if (shared_ == nullptr) return use(own_);
    return use(std::as_const(*shared_));
  }
  template <class Use>
  [[gnu::always_inline]] auto ask(Use use) {
    if (shared_ == nullptr) return use(own_);
    return use(*shared_);
  }

 public:
  /// `sequence`: the simulation's counter of scheduled events.
  ServerPool(const ServiceSpec& spec, AttemptPool* attempts, std::uint64_t* sequence)
      : own_(attempts, sequence, spec.servers) {
    if (has_queue(spec.queue.discipline)) return;
    shared_ = std::make_unique<SharedServers>(attempts, sequence, spec.servers);
  }

  // Functions without a comment are described at `OwnServers`.

  bool has_room() const {
    return ask([](const auto& s) { return s.has_room(); });
  }
  bool is_full(std::uint64_t capacity) const {
    return ask([=](const auto& s) { return s.is_full(capacity); });
  }
  std::int64_t in_service() const {
    return ask([](const auto& s) { return s.in_service(); });
  }
  std::int64_t attempts() const {
    return ask([](const auto& s) { return s.attempts(); });
  }
  /// Servers that work: shared ones all or none.
  std::int64_t busy() const {
    return ask([](const auto& s) { return s.busy(); });
  }
  /// See `OwnServers`; what is left of the work of shared servers stays as it is.
  template <class Left>
  void set_left(Time now, Left left) {
    if (shared_ == nullptr) own_.set_left(now, left);
  }
  bool waste_is_a_level() const {
    return ask([](const auto& s) { return s.waste_is_a_level(); });
  }
  double wasting_servers() const {
    return ask([](const auto& s) { return s.wasting_servers(); });
  }
  Time wasted_since(const Attempt& a) const {
    return ask([&](const auto& s) { return s.wasted_since(a); });
  }
  double server_time_ns(const Attempt& a) const {
    return ask([&](const auto& s) { return s.server_time_ns(a); });
  }

  kernel::EventKey next_completion() const {
    return ask([](const auto& s) { return s.head(); });
  }
  /// Several questions at once, which saves looking each time of which kind the servers are:
  /// `use(servers)` may ask them what `OwnServers` can be asked.
  template <class Use>
  [[gnu::always_inline]] void with(Use use) const {
    ask(use);
  }
  /// The attempt whose service completes next; there must be one.
  std::uint32_t next_to_complete() const {
    return ask([](const auto& s) { return s.front(); });
  }

  void start(Attempt& a, Time now) {
    ask([&](auto& s) __attribute__((always_inline)) { s.start(a, now); });
  }
  std::uint32_t complete(Time now) {
    return ask([=](auto& s) { return s.complete(now); });
  }
  std::uint32_t hold(Time now) {
    return ask([=](auto& s) { return s.hold(now); });
  }
  void take() {
    ask([](auto& s) { s.take(); });
  }
  void let_go() {
    ask([](auto& s) { s.let_go(); });
  }
  void abort(std::uint32_t attempt, Time now) {
    ask([=](auto& s) { s.abort(attempt, now); });
  }
  bool given_up(Time now) {
    return ask([=](auto& s) { return s.given_up(now); });
  }
  std::vector<std::uint32_t> take_all(Time now) {
    return ask([=](auto& s) { return s.take_all(now); });
  }
  void set_power(std::int64_t servers, double speed, Time now) {
    ask([=](auto& s) { s.set_power(servers, speed, now); });
  }
  template <class Visit>
  void for_each(Visit visit) const {
    ask([&](const auto& s) { s.for_each(visit); });
  }
  std::uint64_t bytes() const {
    return ask([](const auto& s) { return s.bytes(); });
  }

 private:
  std::unique_ptr<SharedServers> shared_;  // if they are shared
  OwnServers own_;                         // idle if they are
};

}  // namespace retrysim::model

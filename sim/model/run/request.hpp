// The things that move through the simulated world, requests and attempts; the ids that name them
// and everything else; and what names determine: random numbers, and the subject of a request.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "kernel/indexed_heap.hpp"
#include "kernel/memory.hpp"
#include "kernel/timer_queue.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::model {

struct Group;
struct Request;
class Instance;
struct Attempt;

/// Numbers of requests, attempts, clients, groups and services: a type each, so that mixing them up
/// does not compile. Making an id from a number must be explicit; an id converts to its number
/// implicitly, for parts that know ids only as positions in their arrays.
template <class Tag, class Number>
class Id {
 public:
  /// The id of nothing.
  constexpr Id() = default;
  constexpr explicit Id(std::integral auto number) : number_(static_cast<Number>(number)) {}

  constexpr operator Number() const { return number_; }
  /// Whether it is the id of something.
  constexpr bool exists() const { return number_ != Id().number_; }

  friend constexpr bool operator==(Id a, Id b) { return a.number_ == b.number_; }
  template <class OtherTag, class OtherNumber>
  requires(!std::same_as<Tag, OtherTag>) friend bool operator==(Id,
                                                                Id<OtherTag, OtherNumber>) = delete;

 private:
  Number number_ = static_cast<Number>(~Number{0});
};

using RequestId = Id<struct RequestTag, std::uint32_t>;
using AttemptId = Id<struct AttemptTag, std::uint32_t>;
using ClientId = Id<struct ClientTag, std::uint32_t>;  ///< within its group
using GroupId = Id<struct GroupTag, std::uint16_t>;
using ServiceId = Id<struct ServiceTag, std::uint16_t>;
using InstanceId = Id<struct InstanceTag, std::uint16_t>;  ///< among those of all services

/// An array, or a pool, whose elements are found by ids of one type.
template <class IdType, class Base>
class IndexedBy : public Base {
 public:
  using Base::Base;

  decltype(auto) operator[](IdType id) { return Base::operator[](id); }
  decltype(auto) operator[](IdType id) const { return Base::operator[](id); }
  /// Makes room in an array of blocks for the element `id`.
  void reach(IdType id) { Base::reach(id); }
  // An id of another type, or a bare number, finds nothing.
  template <class Other>
  void operator[](Other) const = delete;
};

template <class T>
using ByRequest = IndexedBy<RequestId, kernel::BlockArray<T>>;
template <class T>
using ByAttempt = IndexedBy<AttemptId, kernel::BlockArray<T>>;
template <class T>
using ByClient = IndexedBy<ClientId, std::vector<T>>;
template <class T>
using ByGroup = IndexedBy<GroupId, std::vector<T>>;
template <class T>
using ByService = IndexedBy<ServiceId, std::vector<T>>;

/// Ids that follow each other, for a loop over them: 0 to `count` - 1, or `first` to `end` - 1.
template <class IdType>
class Ids {
 public:
  explicit Ids(std::size_t count) : end_(count) {}
  Ids(std::size_t first, std::size_t end) : first_(first), end_(end) {}

  std::size_t size() const { return end_ - first_; }

  class Iterator {
   public:
    explicit Iterator(std::size_t at) : at_(at) {}
    IdType operator*() const { return IdType(at_); }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    std::size_t at_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }

 private:
  std::size_t first_ = 0, end_;
};

/// No source, or no place.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A request's place among those whose attempt may time out: in the lane or in the heap.
struct TimeoutPlace {
  kernel::LaneLink<Request*> in_lane;  ///< of its group, if timeouts are constant
  std::uint32_t in_heap = kNone;       ///< of varying timeouts
};

/// A request's neighbours in a client's queue.
struct WaiterLinks {
  RequestId next, previous;
};

/// An attempt's neighbours in a queue.
struct QueueLinks {
  Attempt* next;
  Attempt* previous;
};

/// What an attempt in service demands of its server.
struct ServiceWork {
  double left_ns;  ///< left at `since`, at speed 1; a whole number
  Time since;
};

// The two things that move through the simulated world: a request (one logical call by the
// application) and its attempts (one try on the wire each). An attempt may outlive its request: the
// service goes on with work whose client has given up.
//
// Both fill two cache lines exactly, which also makes finding one in its pool a shift.

struct alignas(64) Request {
  enum class Phase : std::uint8_t {
    kWaitingToSend,         ///< for a send token
    kWaitingForConnection,  ///< or for a place in the bulkhead
    kInFlight,
    kInBackoff
  };

  /// Takes over how request `r` begins. What is always written before it is read keeps its old
  /// value.
  void begin_like(const Request& r) {
    progress = {};
    attempt = {};
    group = r.group;
    phase = Phase::kInFlight;
    open = true;
    retrying = backoff_follows = connecting = mutating = for_retry = false;
    send_tokens = r.send_tokens;
  }

  std::uint64_t entity = 0;  ///< names its random draws
  Time submitted;
  Time phase_since;
  RetryProgress progress;
  union {
    std::int64_t pending_delay_ns;  ///< backoff that follows the wait for a send token
    Request* next_free = nullptr;   ///< in the pool
  };
  ClientId client{0};
  AttemptId attempt;  ///< the attempt under way; the first of them when hedging
  GroupId group{0};
  Phase phase = Phase::kInFlight;
  bool in_cohort = false;
  bool open = false;                 ///< begun and not ended: the slot is in use
  bool retrying : 1 = false;         ///< a retry has been granted
  bool backoff_follows : 1 = false;  ///< after the wait for a send token
  bool connecting : 1 = false;       ///< the attempt to be sent opens a new connection
  bool mutating : 1 = false;         ///< it has side effects
  bool for_retry : 1 = false;        ///< a call made for a retry, or for what was made for one
  // Set in groups that may have to wait before they send an attempt; `Clients::begin_extras` resets
  // them.
  bool at_bulkhead : 1 = false;  ///< what it waits for, or waited for last, is a place there
  bool has_permit : 1 = false;   ///< of the limit on the send rate, for which it has waited
  std::uint8_t send_tokens = 0;  ///< that the next attempt still needs
  RequestId id;                  ///< its place among the requests
  TimeoutPlace timeout;
  WaiterLinks waiting;
};

struct alignas(64) Attempt {
  enum class Stage : std::uint8_t {
    kOnTheWire,  ///< travelling to the service or back
    kQueued,
    kInService,
    kHoldingServer,     ///< its server waits: for other services, or for an attempt with the same
                        ///< token
    kNoAnswerWillCome,  ///< the service's side has ended: lost on its way, or dropped
  };
  /// Most flags are set on few attempts, so a single test often shows that none of several is set.
  enum Flag : std::uint16_t {
    kExecuted = 1 << 0,    ///< served to the end
    kGivenUp = 1 << 1,     ///< its client no longer waits
    kConnecting = 1 << 2,  ///< on a new connection
    kRejection = 1 << 3,   ///< what it waits for, or a server does, is turning it away
    kWatched = 1 << 4,     ///< the service wants to know when it leaves
    kMutating = 1 << 5,    ///< its request has side effects
    kReplay = 1 << 6,      ///< answered because of its token, not executed
    kHasSession = 1 << 7,  ///< its execution is the one that its token stands for
    // The stage of an attempt that consists of two messages (model "occ", a read before a retry).
    kGoesOn = 1 << 8,         ///< the answer under way asks for the second message
    kSecondMessage = 1 << 9,  ///< the first one is answered
    kDegraded = 1 << 10,      ///< it succeeds, but a call that was made for it has failed
    // Set only where calls ask for it (`RetryOnlyAt::kFirstAttempt`).
    kForRetry = 1 << 11,  ///< of a request that is a call made for a retry
  };

  static constexpr double kNotDrawn = -1;

  /// Whether any of these flags is set.
  bool is(unsigned any) const { return (flags & any) != 0; }
  void set(unsigned all) { flags = static_cast<std::uint16_t>(flags | all); }
  void clear(unsigned all) { flags = static_cast<std::uint16_t>(flags & ~all); }
  bool given_up() const { return is(kGivenUp); }

  /// Marks it as served at `now`, in no time. The levels of the service do not show it.
  void pass_within(Time now) {
    started = finished = now;
    set(kExecuted);
  }

  /// Resets from a template; fields that are written before they are first read are skipped.
  void begin_like(const Attempt& a) {
    clients = a.clients;
    at = a.at;
    group = a.group;
    flags = 0;
    answer = 0;
    stage = Stage::kOnTheWire;
    priority = a.priority;
    sibling = {};
    demand_ns = kNotDrawn;
  }

  std::uint64_t entity = 0;  ///< of its request
  Time sent, arrived, started, finished;
  union {
    Request* request = nullptr;  ///< only while its client waits
    Attempt* next_free;          ///< in the pool
  };
  Group* clients = nullptr;  ///< the group of its client
  Instance* at = nullptr;    ///< the instance that it goes to
  AttemptId id;              ///< its place among the attempts
  std::uint32_t number = 1;  ///< 1 for the first attempt of a request
  ClientId client{0};
  GroupId group{0};
  std::uint16_t flags = 0;
  std::uint16_t answer = 0;  ///< index into the world's answers
  Stage stage = Stage::kOnTheWire;
  bool in_cohort = false;
  std::uint8_t priority = 0;
  AttemptId sibling;          ///< hedging: the next attempt of its request under way
  std::uint32_t version = 0;  ///< model "occ": of the row, as read
  union {
    Time gave_up = Time::max();  ///< when its client stopped waiting
    std::int64_t way_back_ns;    ///< before that, if messages take time: of the answer to come
  };
  double demand_ns = kNotDrawn;  ///< of a server of speed 1 that serves no other
  union {
    QueueLinks queue;       ///< while it waits for a server
    std::size_t place;      ///< the same in a queue without order
    ServiceWork work = {};  ///< from then on
  };
};

/// All attempts, with what instances keep of those that are there: an attempt is at one of them, so
/// that this takes no more where there are many.
class AttemptPool : public IndexedBy<AttemptId, kernel::LinkedPool<Attempt>> {
 public:
  /// Where an attempt in service is in the heap of its servers.
  struct HeapPlace {
    std::uint32_t position = kernel::IndexedHeap::kNotInHeap;
  };
  kernel::BlockArray<HeapPlace> in_service;
  /// How many attempts were at a service with an adaptive limit when it came, itself included.
  kernel::BlockArray<std::int64_t> present_at_entry;
  /// The neighbours of an attempt, among those of its priority, in a queue that evicts.
  kernel::BlockArray<QueueLinks> ranks;

  std::uint64_t bytes() const {
    return IndexedBy::bytes() + in_service.bytes() + present_at_entry.bytes() + ranks.bytes();
  }
};

/// Attempts for which a server is held although it does not work on them: by instance, in the order
/// in which that began. All steps take a constant time.
class Holders {
 public:
  /// Adds an attempt that is at this instance and is not in the list yet.
  void begin(AttemptId attempt, InstanceId at) {
    if (at >= ends_.size()) ends_.resize(std::size_t{at} + 1);
    Ends& ends = ends_[at];
    links_.reach(attempt);
    links_[attempt] = {ends.last, {}, at};
    (ends.last.exists() ? links_[ends.last].next : ends.first) = attempt;
    ends.last = attempt;
  }
  /// Takes the attempt out of the list.
  void end(AttemptId attempt) {
    const Link& own = links_[attempt];
    Ends& ends = ends_[own.at];
    (own.previous.exists() ? links_[own.previous].next : ends.first) = own.next;
    (own.next.exists() ? links_[own.next].previous : ends.last) = own.previous;
  }
  std::vector<AttemptId> at(InstanceId instance) const {
    std::vector<AttemptId> all;
    if (instance >= ends_.size()) return all;
    for (AttemptId a = ends_[instance].first; a.exists(); a = links_[a].next) all.push_back(a);
    return all;
  }
  std::uint64_t bytes() const { return links_.bytes(); }

 private:
  struct Link {
    AttemptId previous, next;
    InstanceId at;
  };
  struct Ends {
    AttemptId first, last;
  };
  ByAttempt<Link> links_;
  IndexedBy<InstanceId, std::vector<Ends>> ends_;
};

/// One request of a call to another service: the attempt that makes it, which of the calls of a
/// stage it belongs to, and which call of the service that is (a fallback may have taken its
/// place). `serial` tells the stage from earlier ones, also of attempts that had the slot before.
struct CallId {
  AttemptId attempt;
  std::uint32_t serial = 0;
  std::uint16_t slot = 0, call = 0;
};

/// What a request, or one of its attempts, has taken over from the attempt that it is a call for
/// (`CallSpec::callers_operation` and so on).
struct TakenOver {
  std::uint32_t operation = 0, key = 0;
  double work = 1;  ///< factor of the operation on service times
  std::uint8_t priority = 0;
};

/// A request that looks whether a job is done.
struct JobCheck {
  Time read;  ///< when the service looked
  std::uint32_t job = 0;
  ResponseClass last_failure = ResponseClass::kNotRetryable;
};

/// An idempotency token is unique within a client group.
struct TokenKey {
  std::uint64_t token = 0;
  std::uint16_t group = 0;

  friend bool operator==(const TokenKey&, const TokenKey&) = default;
};

struct TokenKeyHash {
  std::size_t operator()(const TokenKey& key) const {
    const std::uint64_t h = (key.token ^ std::uint64_t{key.group} << 48) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
  }
};

/// A token at one service.
struct Token {
  TokenKey key;
  ServiceId service;

  friend bool operator==(const Token&, const Token&) = default;
};

static_assert(sizeof(Request) == 128 && sizeof(Attempt) == 128);

// --- Names ---------------------------------------------------------------------------------------

// What names alone determine, and nothing else in a scenario: the order in which a world goes
// through groups and services, their random numbers, and what a request is about.

/// Indices of `all` by `name`; those of equal names keep their order. What a world does with all
/// groups, services or faults in turn, it does in this order, so that the order of a scenario's
/// tables does not matter.
template <class Spec>
std::vector<std::size_t> name_order(const std::vector<Spec>& all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) -> const auto& { return all[i].name; });
  return order;
}

/// The random numbers of one world: a stream for each client group and each service, keyed by its
/// name. So a group meets the same traffic wherever its table stands in the scenario, and whichever
/// other groups and services there are.
///
/// What a request is, in all its attempts, does not depend on what happens to it. So a run that
/// takes another branch (`SimulationOptions::branches`) goes on with the same requests: what they
/// are has random numbers that stay, and everything else new ones from that moment on.
class Streams {
 public:
  Streams(const Scenario& scenario, std::uint32_t replication);

  /// For what a request of the group is: its operation, its key, the service that it goes to.
  const RandomKey& of_requests(std::size_t group) const { return requests_[group]; }
  /// For everything that happens to a request of the group, at the service as well.
  const RandomKey& of_group(std::size_t group) const { return groups_[group]; }
  /// The same for all groups, by number; they stay where they are.
  const RandomKey* of_all_requests() const { return requests_.data(); }
  const RandomKey* of_all_groups() const { return groups_.data(); }
  /// For what a service draws for itself.
  const RandomKey& of_service(std::size_t service) const { return services_[service]; }
  /// The key of one of its instances, if it has several; `number` counts them.
  RandomKey of_instance(std::size_t service, std::uint32_t number) const {
    return services_[service].named("instance", std::to_string(number));
  }

  /// From now on everything goes on in this branch. The keys stay where they are.
  void branch(std::uint64_t number);

 private:
  std::vector<RandomKey> requests_, groups_;
  std::vector<RandomKey> first_services_, services_;
};

/// Chooses one of a group's operations by their shares.
class OperationChoice {
 public:
  OperationChoice() = default;
  explicit OperationChoice(const std::vector<OperationSpec>& operations);

  bool empty() const { return choices_.empty(); }
  /// Index of the operation that the request `entity` of the group with this key is.
  std::size_t of(const RandomKey& key, std::uint64_t entity) const;

 private:
  struct Choice {
    double below;  // chosen by a uniform variate below this
    std::size_t operation;
  };
  std::vector<Choice> choices_;
};

/// Chooses a key by its popularity.
class KeyChoice {
 public:
  KeyChoice() = default;
  explicit KeyChoice(const KeySpec& spec);
  /// The memory that it takes.
  static std::uint64_t bytes(const KeySpec& spec);

  std::uint32_t of(const RandomKey& key, std::uint64_t entity) const;

 private:
  KeySpec spec_;
  std::vector<double> up_to_;  // zipf: probability of this key or one before it
};

/// Operations by name, of all groups of a scenario; number 0 stands for requests without one.
class OperationNames {
 public:
  explicit OperationNames(const Scenario& scenario);
  /// The number of a name: that of no request if no group has it.
  std::uint32_t number(std::string_view name) const;
  /// The name of a number; empty for 0.
  std::string_view name(std::uint32_t number) const {
    return number == 0 ? std::string_view() : names_[number - 1];
  }

 private:
  std::vector<std::string_view> names_;
};

/// What a request is about, as far as others ask: which of its group's operations it is, which key
/// it asks for, and which service it goes to. All of this follows from the request's name and is
/// the same in every attempt, so nothing needs to be remembered.
class Addressing {
 public:
  Addressing() = default;
  Addressing(const ClientSpec& client, const OperationNames& names);

  /// Whether requests of the group go to different services.
  bool calls_several() const { return calls_several_; }

  ServiceId service(const RandomKey& key, std::uint64_t entity) const;
  /// By its number among those of all groups.
  std::uint32_t operation(const RandomKey& key, std::uint64_t entity) const;
  /// The operation of a request among those of its group, which has some.
  std::size_t own_operation(const RandomKey& key, std::uint64_t entity) const {
    return choice_.of(key, entity);
  }
  /// The factor of that operation on service times.
  double work(const RandomKey& key, std::uint64_t entity) const;
  std::uint32_t key(const RandomKey& key, std::uint64_t entity) const {
    return keys_.of(key, entity);
  }
  /// Which of a client's states the request uses, where they are kept apart.
  StatePlace place(const RandomKey& random, std::uint64_t entity) const {
    return {service(random, entity), operation(random, entity), key(random, entity)};
  }

 private:
  struct Operation {
    std::uint32_t number = 0;
    double work = 1;
    ServiceId service;  // does not exist: as all requests
  };
  std::vector<ServiceId> services_;
  OperationChoice choice_;
  std::vector<Operation> operations_;
  bool has_services_of_operations_ = false, calls_several_ = false;
  KeyChoice keys_;
};

}  // namespace retrysim::model

// SPDX-License-Identifier: MIT
#include "reference/reference.hpp"

#include <retrysim/random.hpp>
#include <retrysim/simulation.hpp>
#include "kernel/functions.hpp"

#include "reference/arrivals.hpp"
#include "reference/calendar.hpp"
#include "reference/client_rules.hpp"
#include "reference/limits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace retrysim::reference {
namespace {

using model::Step;
using model::TraceStep;

struct Attempt;
struct Balancer;
struct Group;
struct Instance;
struct Request;
struct Service;

// --- What there is in the world

/// An attempt with a token may be the one that the token stands for.
struct Token {
  std::size_t group = 0;
  std::uint64_t name = 0;
  friend auto operator<=>(const Token&, const Token&) = default;
};

struct Request {
  Group* group = nullptr;
  std::uint64_t entity = 0;  ///< names its draws
  std::uint32_t client = 0;
  Time submitted;
  Progress progress;
  enum { kOnItsWay, kWaitingForToken, kWaitingForConnection, kInBackoff, kEnded } phase = kOnItsWay;
  std::list<Attempt*> under_way;  ///< the newest first
  int send_tokens = 0;            ///< that its next attempt needs
  bool retried = false;
  std::optional<Duration> backoff_after_token;
  bool new_connection = false;
  int unsent = 0;  ///< of the attempts in `progress`
  bool at_bulkhead = false, has_permit = false;
  std::optional<Calendar::Key> end_of_wait;  ///< for a place or a connection
  bool mutating = false, has_token = false;
  Token token;
  std::uint64_t content = 0;  ///< what the service takes it for: its own name, or its token's
  std::optional<Calendar::Key> timeout, deadline, hedge;
  std::set<std::uint32_t> been_at;  ///< instances
  Attempt* caller = nullptr;        ///< the attempt that it is a call of
  bool for_retry = false;           ///< that is a retry, or was made for one
  int caller_round = 0;
  std::size_t caller_call = 0;           ///< among those of its stage
  const CallSpec* call = nullptr;        ///< that it is made for
  std::optional<std::string> operation;  ///< of that attempt, if its service sees it
  double work = 1;                       ///< of that operation
  std::optional<std::uint32_t> key, priority;
  std::optional<int> permit;  ///< of its circuit breaker: the state, by number, that gave it
  int refusals = 0;           ///< tries that the breaker did not let go
  Instance* named = nullptr;  ///< where its next attempt would go, with a breaker for each
  ResponseClass last_failure = ResponseClass::kTransient;
};

/// A call in the stage of an attempt.
struct OpenCall {
  const CallSpec* spec = nullptr;
  std::uint64_t name = 0;  ///< of its first request
  std::uint32_t copies = 0, succeeded = 0, failed = 0;
  bool decided = false;
  bool to_be_made = false;          ///< in the place of one that has failed,
  std::optional<Draws> names = {};  ///< by these names

  std::uint32_t needed() const { return std::min(spec->need, copies); }
};

struct Attempt {
  Request* request = nullptr;
  Group* group = nullptr;
  Instance* at = nullptr;
  Balancer* balancer = nullptr;
  Time sent;
  int number = 0;
  bool given_up = false;
  bool new_connection = false;
  int permit = 0;  ///< of its circuit breaker
  Time arrived;
  enum { kTravelling, kQueued, kServed, kHeld, kLost, kGone } stage = kTravelling;
  bool refused = false;     ///< what a server does, or is to do, is turning it away
  bool replayed = false;    ///< its token answers it
  bool in_session = false;  ///< its token stands for it
  bool counted = false;     ///< by the limit on concurrency
  std::int64_t found = 0;   ///< how many it counted then, this one included
  Response answer;
  bool runs_into_error = false;  ///< the answer is the error
  double work_ns = 0;            ///< left since then, for a server of speed 1
  Time worked_since;
  Calendar::Key completion;
  std::optional<Calendar::Key> service_timeout;
  // Its calls to other services.
  bool calling = false, call_failed = false;
  int round = 0;  ///< counts stages
  bool degraded = false;
  std::size_t calls_stage = 0;  ///< the next one
  std::vector<OpenCall> calls;  ///< of the present one
};

/// What is wrong with an instance at present.
struct Impairment {
  double capacity = 1, speed = 1, request_loss = 0, response_loss = 0;
  Duration latency;
  bool unreachable = false, black_hole = false;
  std::vector<std::pair<double, ErrorAnswer>> errors;  ///< by cumulative probability
  /// Those that come after a share of the service time, the earliest first.
  struct Late {
    double share;
    std::vector<RandomError> errors;
  };
  std::vector<Late> late;
};

struct Instance {
  Service* service = nullptr;
  std::uint32_t number = 0;  ///< among those of its service
  std::int64_t id = 0;       ///< among all
  Impairment wrong;
  std::int64_t working = 0;            ///< servers
  std::list<Attempt*> served, held;    ///< each has a server
  std::list<Attempt*> queue, refused;  ///< first come first
  /// There now, of those that the limit on concurrency counts: all of them, by priority.
  std::map<std::uint32_t, std::int64_t> admitted;

  std::int64_t all_admitted() const {
    std::int64_t all = 0;
    for (const auto& [priority, count] : admitted) all += count;
    return all;
  }
  std::unique_ptr<PlainLimit> limit;  ///< null: it is fixed

  std::int64_t taken() const { return static_cast<std::int64_t>(served.size() + held.size()); }
};

/// An instance, as a balancer sees it.
struct Host {
  int under_way = 0;
  double latency_ns = 0;  ///< average, and since when
  Time latency_since;
  // Outlier detection.
  std::uint32_t failures = 0, gateway_failures = 0;  ///< in a row
  int attempts = 0, successes = 0;                   ///< since the last look
  int times = 0;                                     ///< of the base ejection time
  std::optional<Time> ejected, came_back;
  // Failure accrual.
  std::uint32_t accrued = 0, penalties_in_a_row = 0, penalties = 0;
  enum { kTrusted, kPunished, kMayTry, kTries } accrual = kTrusted;

  bool is_in() const { return !ejected && (accrual == kTrusted || accrual == kMayTry); }
};

/// Chooses among the instances of a service, for all clients or for one.
struct Balancer {
  Service* service = nullptr;
  RandomKey key{0, 0};
  std::uint32_t client = 0;
  std::map<std::uint32_t, Host> hosts;  ///< by number
  std::optional<std::uint32_t> last;    ///< chosen
};

struct Session {
  std::uint64_t content = 0;  ///< what it is about, to the service
  Time stored;
  std::optional<Time> expires;  ///< none: in progress
  int executions = 0;
};

struct Allowance {
  double left = 0;
  Time since;
};

struct Service {
  const ServiceSpec* spec = nullptr;
  std::size_t index = 0;
  ServiceAnswers answers;
  std::deque<Instance> instances;
  std::vector<std::vector<const CallSpec*>> stages;  ///< of its calls
  std::deque<Balancer> balancers;
  std::map<std::pair<std::size_t, std::uint32_t>, Balancer*> balancer_of;  ///< group and client
  std::map<std::tuple<std::string, std::size_t, std::string>, Allowance> allowances;
  std::map<Token, Session> sessions;
  std::map<Token, std::list<Attempt*>> token_waits;
};

/// Requests that wait for a send token, and when the first of them can have one.
struct TokenLine {
  Limiter limiter;
  std::list<Request*> line;
  std::optional<Calendar::Key> wake;
};

struct ConnectionPool {
  std::uint32_t open = 0, idle = 0;
  std::list<Request*> line;
};

using StatePlace = std::tuple<std::uint32_t, std::string>;  ///< client, and what it keeps apart
struct States {
  std::map<StatePlace, Quota> quotas;
  std::map<StatePlace, TokenLine> lines;
  std::map<std::uint32_t, Budget> budgets;
  std::map<std::uint32_t, Breaker> breakers;
  std::map<std::uint32_t, Guard> guards;
  std::map<std::uint32_t, ClientThrottle> throttles;
};

struct Group {
  const ClientSpec* spec = nullptr;
  std::size_t index = 0;
  RandomKey key{0, 0};
  Submit submit;
  std::shared_ptr<States> states;
  std::map<std::uint32_t, std::uint32_t> ordinals, thinks;                ///< by client
  std::map<std::uint32_t, std::uint64_t> last_tokens;                     ///< by client
  std::map<std::pair<std::uint32_t, std::size_t>, ConnectionPool> pools;  ///< client, service
  /// By client, and by service or instance.
  std::map<std::pair<std::uint32_t, std::size_t>, CallBreaker> breakers;
  std::map<std::uint32_t, ConnectionPool> bulkheads;  ///< by client
  std::map<std::uint32_t, Allowance> permits;         ///< by client
};

template <class Spec>
std::vector<const Spec*> by_name(const std::vector<Spec>& all) {
  std::vector<const Spec*> order;
  for (const Spec& spec : all) order.push_back(&spec);
  std::ranges::stable_sort(order, {}, [](const Spec* s) { return s->name; });
  return order;
}

std::int64_t bits(double x) { return std::bit_cast<std::int64_t>(x); }

Response response_of(const ErrorAnswer& error, std::optional<Duration> retry_after = {}) {
  Response r;
  r.status = error.status;
  r.code = error.code;
  r.retry_after = retry_after;
  r.traits = error.traits;
  return r;
}
Response response_of(const ServiceAnswer& a) { return response_of(a.error, a.retry_after); }
Response no_response(TransportError transport) {
  Response r;
  r.status = 0;
  r.transport = transport;
  return r;
}

class World {
 public:
  World(const Scenario& scenario, std::uint32_t replication, std::size_t most)
      : scenario_(scenario),
        replication_(replication),
        most_(most),
        end_(Time::zero() + scenario.duration) {
    add_services();
    add_groups(RandomKey(scenario.seed, replication));
    for (Service& s : services_) add_balancers(s, RandomKey(scenario.seed, replication));
    schedule_faults();
    for (const ClientSpec* spec : by_name(scenario.clients)) {
      Group& g = group_of(*spec);
      if (spec->makes_calls() || spec->arrivals.process == ArrivalProcess::kClosed) continue;
      schedule_arrivals(*spec, g.key, end_, calendar_, g.submit);
    }
    schedule_looks();
    for (const ClientSpec* spec : by_name(scenario.clients)) {
      if (spec->arrivals.process != ArrivalProcess::kClosed) continue;
      for (std::uint32_t client = 0; client < spec->count; ++client) {
        for (std::uint32_t k = 0; k < spec->arrivals.concurrency; ++k) {
          think(group_of(*spec), client, Time::zero());
        }
      }
    }
  }

  std::vector<TraceStep> run() {
    const Time last =
        scenario_.drain ? end_ + scenario_.drain_limit : end_ + Duration::nanoseconds(-1);
    while (calendar_.next() <= last && calendar_.next() != Time::max() && steps_.size() < most_) {
      calendar_.step();
      settle();
    }
    return std::move(steps_);
  }

 private:
  Time now() const { return calendar_.now; }
  Group& group_of(const ClientSpec& spec) {
    return groups_[static_cast<std::size_t>(&spec - scenario_.clients.data())];
  }

  void tell(Step step, const Attempt& a, std::int64_t first = 0, std::int64_t second = 0) {
    steps_.push_back({now(), step, static_cast<std::uint16_t>(a.group->index),
                      static_cast<std::uint32_t>(a.number), a.request->entity, first, second});
  }
  void tell(Step step, const Request& r, std::int64_t first = 0, std::int64_t second = 0) {
    steps_.push_back(
        {now(), step, static_cast<std::uint16_t>(r.group->index), 0, r.entity, first, second});
  }

  Draws draws(const Attempt& a, Purpose purpose) const {
    return {a.group->key, {a.request->entity, static_cast<std::uint32_t>(a.number), 0, purpose}};
  }
  Draws draws(const Request& r, Purpose purpose) const {
    return {r.group->key, {r.entity, 0, 0, purpose}};
  }

  // --- The start

  void add_services() {
    std::int64_t id = 0;
    for (const ServiceSpec& spec : scenario_.services) {
      Service& s = services_.emplace_back();
      s.spec = &spec;
      s.index = services_.size() - 1;
      s.answers = answers_of(spec);
      for (std::uint32_t n = 0; n < spec.instances.count; ++n) {
        Instance& i = s.instances.emplace_back();
        i.service = &s;
        i.number = n;
        i.id = id++;
        begin_limit(i);
        impair(i);
      }
    }
  }

  void begin_limit(Instance& i) {
    const ServiceSpec& spec = *i.service->spec;
    RandomKey key = RandomKey(scenario_.seed, replication_).named("service", spec.name);
    if (spec.instances.count > 1) key = key.named("instance", std::to_string(i.number));
    i.limit = plain_limit(spec.concurrency, key, spec.servers, in_ns(now()));
  }
  static Nanoseconds in_ns(Time t) { return t.count(); }

  void add_groups(const RandomKey& key) {
    std::map<std::string, std::shared_ptr<States>> shared;
    groups_.resize(scenario_.clients.size());
    for (Group& g : groups_) {
      g.index = static_cast<std::size_t>(&g - groups_.data());
      g.spec = &scenario_.clients[g.index];
      g.key = key.named("client", g.spec->name);
      g.submit = [this, &g](std::uint32_t client, std::uint64_t entity) {
        submit(g, client, entity, nullptr);
      };
      std::shared_ptr<States> own = std::make_shared<States>();
      g.states = g.spec->retryer.empty() ? own : shared.emplace(g.spec->retryer, own).first->second;
    }
    for (Service& s : services_) order_calls(s);
  }

  const std::string& client_of(const CallSpec& call) const {
    return scenario_.clients[call.client].name;
  }
  const CallSpec* fallback_of(const CallSpec& call) const {
    for (const CallSpec& other : scenario_.calls) {
      const bool is_it = other.caller == call.caller && client_of(other) == call.fallback;
      if (is_it && call.on_failure == CallFailure::kFallback) return &other;
    }
    return nullptr;
  }
  void order_calls(Service& s) {
    std::map<std::uint32_t, std::vector<const CallSpec*>> stages;
    std::map<std::string, std::uint32_t> alternatives;
    std::uint32_t place = 0;
    for (const CallSpec& call : scenario_.calls) {
      if (call.caller != s.index) continue;
      ++place;
      const bool is_fallback = std::ranges::any_of(
          scenario_.calls, [&](const CallSpec& other) { return fallback_of(other) == &call; });
      if (is_fallback) continue;
      std::uint32_t stage = call.stage;
      if (stage == 0) stage = s.spec->parallel_calls ? 1 : place;
      if (!call.one_of.empty()) {
        stage = alternatives.try_emplace(call.one_of, stage).first->second;
      }
      stages[stage].push_back(&call);
    }
    for (auto& [number, calls] : stages) {
      std::ranges::stable_sort(calls, {}, [&](const CallSpec* c) { return client_of(*c); });
      s.stages.push_back(calls);
    }
  }

  // --- Clients that make requests

  void think(Group& g, std::uint32_t client, Time last_submitted) {
    const ArrivalSpec& loop = g.spec->arrivals;
    const std::uint64_t entity = reference::name_of(client, g.thinks[client]++);
    Draws random(g.key, {entity, 0, 0, Purpose::kThinkTime});
    Duration time = loop.think_time.sample(random);
    if (loop.think_from_start) {
      time = std::max(Duration::zero(), time - (now() - last_submitted));
    }
    if (now() + time >= end_) return;
    calendar_.in(time, [this, &g, client] {
      submit(g, client, reference::name_of(client, g.ordinals[client]++), nullptr);
    });
  }

  void tell_of_caller(Request& r, std::size_t call, const CallSpec* spec) {
    const Request& above = *r.caller->request;
    r.caller_round = r.caller->round;
    r.for_retry = r.caller->number > 1 || above.for_retry;
    r.caller_call = call;
    r.call = spec;
    if (r.call->callers_operation) {
      r.operation = operation(above);
      r.work = work_of(above);
    }
    if (r.call->callers_key) r.key = key_asked(above);
    if (r.call->callers_priority) r.priority = priority_of(*r.caller);
  }

  void submit(Group& g, std::uint32_t client, std::uint64_t entity, Attempt* caller,
              std::size_t call = 0, const CallSpec* spec = nullptr) {
    Request& r = requests_.emplace_back();
    r.group = &g;
    r.entity = entity;
    r.client = client;
    r.submitted = now();
    r.caller = caller;
    if (caller != nullptr) tell_of_caller(r, call, spec);
    r.send_tokens = g.spec->retry.rate_limit.enabled ? 1 : 0;
    tell(Step::kSubmitted, r, client);
    decide_effects(r);
    if (g.spec->timeouts.deadline != Duration::max()) {
      r.deadline = calendar_.in(
          g.spec->timeouts.deadline, [this, &r] { deadline_passes(r); }, Calendar::Role::kTimeout);
    }
    bool in_time = true;
    if (g.spec->timeouts.deadline_of_caller) {
      const Time limit = caller->given_up ? now() : end_of_wait(*caller);
      in_time = limit > now();
      if (in_time && limit != Time::max()) {
        r.deadline = calendar_.at(
            limit, [this, &r] { deadline_passes(r); }, Calendar::Role::kTimeout);
      }
    }
    if (in_time && asks_per_request(r) && !may_go(r)) {
      return end(r, Outcome::kBreakerOpen);  // its strategy does not hear of it
    }
    request_begins(g.spec->retry, state_of(r), now());
    if (!in_time) return end(r, Outcome::kDeadlineExceeded);
    begin_attempt(r);
  }

  void decide_effects(Request& r) {
    const SideEffectSpec& spec = r.group->spec->side_effects;
    if (spec.mutating <= 0) return;
    Draws random = draws(r, Purpose::kSideEffect);
    r.mutating = random.uniform() < spec.mutating;
    if (!r.mutating) return;
    r.has_token = spec.idempotency_token;
    r.token = {r.group->index, r.entity};
    r.content = r.entity;
    if (spec.token_reuse <= 0) return;
    const auto last = r.group->last_tokens.find(r.client);
    if (last != r.group->last_tokens.end() && random.uniform() < spec.token_reuse) {
      r.token.name = last->second;
    }
    r.group->last_tokens[r.client] = r.token.name;
    if (spec.token_from == TokenSource::kContent) r.content = r.token.name;
  }

  void end(Request& r, Outcome outcome) {
    Group& g = *r.group;
    tell(Step::kEnded, r, static_cast<int>(outcome), r.progress.attempts);
    r.phase = Request::kEnded;
    if (r.deadline) calendar_.cancel(*r.deadline);
    r.deadline.reset();
    if (asks_per_request(r) && r.permit) {
      if (outcome == Outcome::kNoSendToken) {
        release(breaker_of(r), *r.permit);
      } else {
        const ResponseClass result = outcome == Outcome::kSuccess ? ResponseClass::kSuccess
                                     : outcome == Outcome::kDeadlineExceeded
                                         ? ResponseClass::kTimeout
                                         : r.last_failure;
        record(g.spec->breaker, breaker_of(r), *r.permit, result, now() - r.submitted, now());
      }
    } else if (r.permit) {
      release(breaker_of(r), *r.permit);
    }
    r.permit.reset();
    const bool never_began = asks_per_request(r) && outcome == Outcome::kBreakerOpen;
    if (!never_began) request_ends(state_of(r), r.retried);
    if (r.caller != nullptr) return call_ended(r, outcome == Outcome::kSuccess);
    if (g.spec->arrivals.process == ArrivalProcess::kClosed) think(g, r.client, r.submitted);
  }

  // --- What a request is about: the same in every attempt

  std::uint32_t priority_of(const Attempt& a) const {
    const Request& r = *a.request;
    const std::optional<std::uint8_t>& of_retries = r.group->spec->retry_priority;
    if (a.number > 1 && of_retries) return *of_retries;
    return r.priority.value_or(r.group->spec->priority);
  }
  double work_of(const Request& r) const {
    if (r.operation) return r.work;
    const std::size_t i = operation_index(r);
    return i == kNone ? 1 : r.group->spec->operations[i].work;
  }
  std::string operation(const Request& r) const {
    if (r.operation) return *r.operation;
    const std::size_t i = operation_index(r);
    return i == kNone ? "" : r.group->spec->operations[i].name;
  }
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t operation_index(const Request& r) const {
    const std::vector<OperationSpec>& all = r.group->spec->operations;
    if (all.empty()) return kNone;
    double sum = 0, up_to = 0;
    for (const OperationSpec* o : by_name(all)) sum += o->share;
    const double u = draws(r, Purpose::kServiceTime).uniform();
    const OperationSpec* chosen = nullptr;
    for (const OperationSpec* o : by_name(all)) {
      chosen = o;
      up_to += o->share;
      if (u < up_to / sum) break;
    }
    return static_cast<std::size_t>(chosen - all.data());
  }
  std::uint32_t key_asked(const Request& r) const {
    if (r.key) return *r.key;
    const KeySpec& spec = r.group->spec->keys;
    if (spec.count <= 1) return 0;
    Draws random = draws(r, Purpose::kKey);
    if (spec.popularity == Popularity::kUniform) return random.below(spec.count);
    const double u = random.uniform();
    if (spec.popularity == Popularity::kHot) {
      return u < spec.hot_share ? 0 : 1 + random.below(spec.count - 1);
    }
    std::vector<double> up_to;
    double sum = 0;
    for (std::uint32_t k = 1; k <= spec.count; ++k) {
      sum += kernel::pow(k, -spec.exponent);
      up_to.push_back(sum);
    }
    for (std::uint32_t k = 0; k < spec.count; ++k) {
      if (u < up_to[k] / sum) return k;
    }
    return spec.count - 1;
  }
  Service& service_of(const Request& r) {
    const ClientSpec& spec = *r.group->spec;
    if (const std::size_t i = operation_index(r); i != kNone && spec.operations[i].service) {
      return services_[*spec.operations[i].service];
    }
    if (spec.more_services.empty()) return services_[spec.service];
    Draws random = draws(r, Purpose::kTarget);
    const std::uint32_t chosen =
        random.below(static_cast<std::uint32_t>(spec.more_services.size()) + 1);
    return services_[chosen == 0 ? spec.service : spec.more_services[chosen - 1]];
  }
  /// After this answer, or without one.
  bool is_repeatable(const Request& r, const Response* answer) const {
    const double share = r.group->spec->unrepeatable;
    if (share > 0 && draws(r, Purpose::kBody).uniform() < share) return false;
    const ClientSpec& spec = *r.group->spec;
    if (spec.operations.empty()) return true;
    const OperationSpec& operation = spec.operations[operation_index(r)];
    return !is_final_for(spec.retry, operation.not_retried_on, answer);
  }

  // --- Retry state, and who shares it

  StatePlace place(const Request& r, RetryScope scope) {
    switch (scope) {
      case RetryScope::kClient:
        break;
      case RetryScope::kGroup:
        return {0, ""};
      case RetryScope::kService:
        return {r.client, std::to_string(service_of(r).index)};
      case RetryScope::kOperation:
        return {r.client, operation(r)};
      case RetryScope::kKey:
        return {r.client, std::to_string(key_asked(r))};
    }
    return {r.client, ""};
  }
  TokenLine& line_of(const Request& r) {
    const SendRateRules& rules = r.group->spec->retry.rate_limit;
    return r.group->states->lines.emplace(place(r, rules.scope), TokenLine{Limiter(rules), {}, {}})
        .first->second;
  }
  ClientState state_of(const Request& r) {
    const RetryRules& rules = r.group->spec->retry;
    States& all = *r.group->states;
    ClientState state;
    if (rules.quota.enabled) {
      Quota full{rules.quota.initial * Quota::kToken, {}, 0};
      state.quota = &all.quotas.emplace(place(r, rules.quota.scope), full).first->second;
    }
    if (rules.rate_limit.enabled) state.limiter = &line_of(r).limiter;
    if (rules.budget.kind != BudgetKind::kNone) {
      const Budget fresh{Counts(rules.budget.window, rules.budget.slices)};
      state.budget = &all.budgets.emplace(r.client, fresh).first->second;
    }
    if (rules.retry_breaker.enabled) {
      const Breaker fresh{Counts(rules.retry_breaker.window), {}};
      state.breaker = &all.breakers.emplace(r.client, fresh).first->second;
    }
    if (rules.guard.enabled) state.guard = &all.guards[r.client];
    if (rules.throttle.enabled) {
      const ThrottleRules& t = rules.throttle;
      const ClientThrottle fresh{t.window_calls > 0 ? Counts(t.window_calls) : Counts(t.window)};
      state.throttle = &all.throttles.emplace(r.client, fresh).first->second;
    }
    return state;
  }

  // --- Circuit breakers

  static bool asks_per_attempt(const Request& r) {
    const BreakerRules& rules = r.group->spec->breaker;
    return rules.enabled && rules.order == BreakerOrder::kRetryOutside;
  }
  static bool asks_per_request(const Request& r) {
    return r.group->spec->breaker.enabled && !asks_per_attempt(r);
  }
  static bool has_breaker_for_each_host(const Request& r) {
    return asks_per_attempt(r) && r.group->spec->breaker.scope == BreakerScope::kHost;
  }
  CallBreaker& breaker_of(const Request& r) { return breaker_of(r, r.named); }
  CallBreaker& breaker_of(const Request& r, const Instance* host) {
    switch (r.group->spec->breaker.scope) {
      case BreakerScope::kClient:
        break;
      case BreakerScope::kHost:
        return r.group->breakers[{r.client, static_cast<std::size_t>(host->id)}];
      case BreakerScope::kGroup:
        return r.group->breakers[{0, 0}];
      case BreakerScope::kService:
        return r.group->breakers[{r.client, service_of(r).index}];
    }
    return r.group->breakers[{r.client, 0}];
  }

  bool may_go(Request& r) {
    if (has_breaker_for_each_host(r)) r.named = &name_instance(r);
    CallBreaker& b = breaker_of(r);
    const bool goes = ask(r.group->spec->breaker, b, now());
    tell(Step::kAsked, r, goes, static_cast<int>(b.state));
    r.permit.reset();
    if (goes) r.permit = b.era;
    if (!goes && asks_per_attempt(r)) ++r.refusals;
    return goes;
  }

  // --- Before an attempt is sent: its circuit breaker, the client's throttle, send tokens, a
  // connection

  void begin_attempt(Request& r) {
    const std::size_t others = r.under_way.size();
    if (asks_per_attempt(r) && !may_go(r)) {
      if (others == 0) refused(r);
      return;
    }
    pass_gates(r);
    const bool no_hedge = others > 0 && r.under_way.size() == others;
    if (no_hedge && r.permit && asks_per_attempt(r)) {
      release(breaker_of(r), *r.permit);
      r.permit.reset();
    }
  }

  void refused(Request& r) {
    const RetryRules& rules = r.group->spec->retry;
    if (!r.group->spec->breaker.retry_refused || rules.hedging.enabled) {
      return end(r, Outcome::kBreakerOpen);
    }
    Failure failure{{ResponseClass::kTransient}};
    fail(r, failure, true);
  }

  void pass_gates(Request& r) {
    const RetryRules& rules = r.group->spec->retry;
    if (rules.throttle.enabled) {
      Draws random(r.group->key, {r.entity, static_cast<std::uint32_t>(r.progress.attempts) + 1, 0,
                                  Purpose::kClientThrottle});
      if (!throttle_permits(rules, state_of(r), now(), random.uniform())) {
        if (r.under_way.empty()) end(r, Outcome::kNoSendToken);
        return;
      }
    }
    if (r.send_tokens > 0 && !take_send_tokens(r)) return;
    enter(r);
  }

  /// What comes after the send tokens: a permit, a place, a connection.
  void enter(Request& r) {
    if (take_permit(r) && take_place(r) && take_connection(r)) send(r);
  }

  bool take_permit(Request& r) {
    const SendRateSpec& rules = r.group->spec->send_rate;
    if (rules.rate <= 0 || std::exchange(r.has_permit, false)) return true;
    Allowance& own = r.group->permits.emplace(r.client, Allowance{rules.burst, {}}).first->second;
    const double there =
        std::min(rules.burst, own.left + (now() - own.since).in_seconds() * rules.rate);
    const double missing_ns = (1 - there) / rules.rate * 1e9;
    Duration time;
    if (missing_ns >= 1) time = Duration::from_nanoseconds(std::ceil(missing_ns));
    if (time > Duration() && !r.under_way.empty()) return false;  // a hedge does not wait
    if (time > Duration() &&
        (rules.on_empty == SendRateOnEmpty::kFail || time > rules.longest_wait)) {
      fail_unsent(r, TransportError::kNotPermitted);
      return false;
    }
    if (time > Duration() && is_past_deadline(r, time)) {
      end(r, Outcome::kDeadlineExceeded);
      return false;
    }
    own = {there - 1, now()};
    if (time == Duration()) return true;
    r.phase = Request::kWaitingForToken;
    tell(Step::kWaiting, r, time.count());
    calendar_.in(time, [this, &r] {
      r.has_permit = true;
      enter(r);
    });
    return false;
  }

  void fail_unsent(Request& r, TransportError why) {
    r.phase = Request::kWaitingForConnection;
    ++r.progress.attempts;
    ++r.unsent;
    const Response error = no_response(why);
    tell(Step::kNotSent, r, model::mark_of(error));
    if (asks_per_attempt(r)) {
      const BreakerRules& rules = r.group->spec->breaker;
      const ErrorInfo meaning = what_it_means(r.group->spec->retry, error);
      record(rules, breaker_of(r), *std::exchange(r.permit, std::nullopt), meaning.to_breaker(),
             Duration(), now());
    }
    fail(r, error);
  }

  bool take_place(Request& r) {
    const BulkheadSpec& rules = r.group->spec->bulkhead;
    if (rules.max_concurrent == BulkheadSpec::kUnlimited) return true;
    ConnectionPool& bulkhead = r.group->bulkheads[r.client];
    if (bulkhead.open < rules.max_concurrent) {
      ++bulkhead.open;
      return true;
    }
    if (r.under_way.empty()) {
      wait_in(bulkhead, r, true, rules.longest_wait, rules.queue);
    }
    return false;
  }

  /// In line for a place or a connection, as long as that is allowed.
  void wait_in(ConnectionPool& pool, Request& r, bool at_bulkhead, Duration longest,
               std::uint32_t queue) {
    const auto fails = [this, &r, at_bulkhead] {
      if (!at_bulkhead) leave_bulkhead(r);
      fail_unsent(r, at_bulkhead ? TransportError::kBulkheadFull : TransportError::kNoConnection);
    };
    if (longest == Duration() || pool.line.size() >= queue) return fails();
    r.phase = Request::kWaitingForConnection;
    r.at_bulkhead = at_bulkhead;
    tell(Step::kWaiting, r, at_bulkhead ? -3 : -2);
    pool.line.push_back(&r);
    if (longest == Duration::max()) return;
    r.end_of_wait = calendar_.in(
        longest,
        [&pool, &r, fails] {
          r.end_of_wait.reset();
          pool.line.remove(&r);
          fails();
        },
        Calendar::Role::kTimeout);
  }

  void hand_over(ConnectionPool& pool) {
    Request& next = *pool.line.front();
    pool.line.pop_front();
    stop_waiting(next);
    connected_.push_back(&next);
  }
  void stop_waiting(Request& r) {
    if (r.end_of_wait) calendar_.cancel(*r.end_of_wait);
    r.end_of_wait.reset();
  }

  void leave_bulkhead(const Request& r) {
    if (r.group->spec->bulkhead.max_concurrent == BulkheadSpec::kUnlimited) return;
    ConnectionPool& bulkhead = r.group->bulkheads[r.client];
    if (bulkhead.line.empty()) {
      --bulkhead.open;
    } else {
      hand_over(bulkhead);
    }
  }

  /// What it waited for is there.
  void go_on_with(Request& r) {
    const bool has_place_only = std::exchange(r.at_bulkhead, false);
    if (!has_place_only || take_connection(r)) send(r);
  }

  bool take_send_tokens(Request& r) {
    TokenLine& own = line_of(r);
    const SendRateRules& rules = r.group->spec->retry.rate_limit;
    if (own.line.empty() && own.limiter.take(now(), r.send_tokens)) {
      r.send_tokens = 0;
      return true;
    }
    if (!r.under_way.empty()) {  // a hedge does not wait
      r.send_tokens = 0;
      return false;
    }
    if (rules.on_empty == OnEmpty::kFail) {
      end(r, Outcome::kNoSendToken);
      return false;
    }
    switch (rules.wait) {
      case SendTokenWait::kQueue:
        r.phase = Request::kWaitingForToken;
        tell(Step::kWaiting, r, -1);
        own.line.push_back(&r);
        if (own.line.front() == &r) schedule_wake(own);
        break;
      case SendTokenWait::kOnce:
      case SendTokenWait::kRecheck:
        wait_for_token(r, own.limiter.wait(now(), r.send_tokens));
        break;
      case SendTokenWait::kReserve: {
        const Duration time = own.limiter.reserve(now(), r.send_tokens);
        r.send_tokens = 0;
        wait_for_token(r, time);
        break;
      }
    }
    return false;
  }

  void wait_for_token(Request& r, Duration time) {
    if (is_past_deadline(r, time)) return end(r, Outcome::kDeadlineExceeded);
    r.phase = Request::kWaitingForToken;
    tell(Step::kWaiting, r, time.count());
    calendar_.in(time, [this, &r] {
      Limiter& limiter = line_of(r).limiter;
      const bool recheck = r.group->spec->retry.rate_limit.wait == SendTokenWait::kRecheck;
      if (r.send_tokens > 0 && recheck && !limiter.take(now(), r.send_tokens)) {
        return wait_for_token(r, limiter.wait(now(), r.send_tokens));
      }
      if (r.send_tokens > 0 && !recheck) limiter.reserve(now(), r.send_tokens);
      has_send_tokens(r);
    });
  }

  /// When the first in line can have its tokens, as things stand.
  void schedule_wake(TokenLine& own) {
    if (own.wake) calendar_.cancel(*own.wake);
    own.wake.reset();
    if (own.line.empty() || !own.limiter.can_ever_hold(own.line.front()->send_tokens)) return;
    const Duration time = own.limiter.wait(now(), own.line.front()->send_tokens);
    own.wake = calendar_.in(time, [this, &own] {
      Request& r = *own.line.front();
      own.wake.reset();
      if (!own.limiter.take(now(), r.send_tokens)) return schedule_wake(own);
      leave_token_line(r);
      has_send_tokens(r);
    });
  }

  void leave_token_line(Request& r) {
    TokenLine& own = line_of(r);
    const bool first = own.line.front() == &r;
    own.line.remove(&r);
    if (first) schedule_wake(own);
  }

  void has_send_tokens(Request& r) {
    r.send_tokens = 0;
    if (r.backoff_after_token) {
      return back_off(r, *std::exchange(r.backoff_after_token, std::nullopt));
    }
    enter(r);
  }

  bool counts_connections(const Group& g) const {
    const Distribution& connect = scenario_.network.connect;
    return g.spec->max_connections != ClientSpec::kUnlimited || !connect.is_constant() ||
           connect.constant_value() > Duration::zero();
  }
  ConnectionPool& pool_of(const Request& r) {
    return r.group->pools[{r.client, service_of(r).index}];
  }

  bool take_connection(Request& r) {
    if (!counts_connections(*r.group)) return true;
    ConnectionPool& pool = pool_of(r);
    r.new_connection = pool.idle == 0;
    if (pool.idle > 0) {
      --pool.idle;
      return true;
    }
    if (pool.open < r.group->spec->max_connections) {
      ++pool.open;
      return true;
    }
    const ClientSpec& spec = *r.group->spec;
    if (r.under_way.empty()) {
      wait_in(pool, r, false, spec.connection_wait, spec.connection_queue);
    } else {  // a hedge does not wait
      leave_bulkhead(r);
    }
    return false;
  }

  void give_connection_back(Request& r, bool reusable) {
    if (counts_connections(*r.group)) {
      ConnectionPool& pool = pool_of(r);
      if (!pool.line.empty()) {
        pool.line.front()->new_connection = !reusable;
        hand_over(pool);
      } else if (reusable) {
        ++pool.idle;
      } else {
        --pool.open;
      }
    }
    leave_bulkhead(r);
  }

  // --- On the way

  void send(Request& r) {
    Group& g = *r.group;
    Attempt& a = attempts_.emplace_back();
    r.phase = Request::kOnItsWay;
    a.request = &r;
    a.group = &g;
    a.number = ++r.progress.attempts - r.unsent;
    if (asks_per_attempt(r)) a.permit = *std::exchange(r.permit, std::nullopt);
    a.new_connection = r.new_connection && counts_connections(g);
    r.under_way.push_front(&a);
    set_timeout(r);
    set_hedge(r);
    a.at = has_breaker_for_each_host(r) ? r.named : &choose_instance(a, service_of(r));
    goes_to_instance(a);
    a.sent = now();
    tell(Step::kSent, a, a.at->id);
    travel(a);
  }

  void set_timeout(Request& r) {
    stop_timeout(r);  // it runs from the latest attempt
    if (!r.group->spec->timeouts.has_attempt) return;
    Draws random(r.group->key,
                 {r.entity, static_cast<std::uint32_t>(r.progress.attempts), 0, Purpose::kTimeout});
    r.timeout = calendar_.in(
        r.group->spec->timeouts.attempt.sample(random),
        [this, &r] {
          r.timeout.reset();
          give_up(r, AttemptResult::kTimeout);
          fail(r, no_response(TransportError::kTimeout), true);
        },
        Calendar::Role::kTimeout);
  }
  void stop_timeout(Request& r) {
    if (r.timeout) calendar_.cancel(*r.timeout);
    r.timeout.reset();
  }

  // --- Balancers

  void add_balancers(Service& s, const RandomKey& world) {
    const InstancesSpec& spec = s.spec->instances;
    const RandomKey key = world.named("service", s.spec->name);
    const auto add = [&](const RandomKey& own_key, std::uint32_t client) -> Balancer& {
      Balancer& b = s.balancers.emplace_back();
      b.service = &s;
      b.key = own_key;
      b.client = client;
      std::vector<std::uint32_t> numbers;
      for (std::uint32_t i = 0; i < spec.count; ++i) numbers.push_back(i);
      const bool one_of_many = spec.balancer == BalancerScope::kClient && spec.count > 1;
      if (one_of_many && spec.subset < spec.count) {
        Draws random(own_key, {client, 0, 0, Purpose::kSubset});
        for (std::uint32_t i = 0; i < spec.subset; ++i) {
          std::swap(numbers[i], numbers[i + random.below(spec.count - i)]);
        }
        numbers.resize(spec.subset);
      }
      const bool told = spec.first_latency != Duration::max();
      for (const std::uint32_t number : numbers) {
        b.hosts[number] = {};
        if (told) b.hosts[number].latency_ns = static_cast<double>(spec.first_latency.count());
      }
      return b;
    };
    if (spec.balancer == BalancerScope::kShared || spec.count == 1) {
      Balancer& shared = add(key, 0);
      for (const Group& g : groups_) {
        for (std::uint32_t k = 0; k < g.spec->count; ++k) s.balancer_of[{g.index, k}] = &shared;
      }
      return;
    }
    for (const ClientSpec* c : by_name(scenario_.clients)) {
      const Group& g = group_of(*c);
      if (share_of_calls(*c, s.index) <= 0) continue;
      for (std::uint32_t k = 0; k < c->count; ++k) {
        s.balancer_of[{g.index, k}] = &add(key.named("client", c->name), k);
      }
    }
  }

  void schedule_looks() {
    for (const ServiceSpec* spec : by_name(scenario_.services)) {
      Service& s = services_[static_cast<std::size_t>(spec - scenario_.services.data())];
      if (!spec->instances.ejection.enabled()) continue;
      double turn = 0;
      for (Balancer& b : s.balancers) {
        ++turn;
        if (b.hosts.size() == 1) continue;
        const double ns = static_cast<double>(spec->instances.ejection.interval.count()) *
                          (turn / static_cast<double>(s.balancers.size()));
        calendar_.in(Duration::from_nanoseconds(ns), [this, &b] { look(b); });
      }
    }
  }

  Instance& choose_instance(Attempt& a, Service& s) {
    return choose_instance(*a.request, s, draws(a, Purpose::kBalancing), a.number > 1);
  }
  /// Each try of the request asks anew.
  Instance& name_instance(Request& r) {
    const int number = r.progress.attempts + r.refusals + 1;
    Draws random(r.group->key,
                 {r.entity, static_cast<std::uint32_t>(number), 0, Purpose::kBalancing});
    return choose_instance(r, service_of(r), random, r.progress.attempts > r.unsent);
  }

  Instance& choose_instance(Request& r, Service& s, Draws random, bool been_somewhere) {
    Balancer& b = *s.balancer_of.at({r.group->index, r.client});
    std::vector<std::uint32_t> in;
    for (const auto& [number, host] : b.hosts) {
      if (host.is_in() || b.hosts.size() == 1) in.push_back(number);
    }
    const double share = static_cast<double>(in.size()) / static_cast<double>(b.hosts.size());
    const InstancesSpec& instances = s.spec->instances;
    // Envoy's health in whole percent: at 100 there is no panic.
    const double health =
        std::floor(std::floor(instances.panic_overprovisioning * 100 + 0.5) *
                   static_cast<double>(in.size()) / static_cast<double>(b.hosts.size()));
    if (in.empty() || (share < instances.panic_threshold && health < 100)) {
      in.clear();
      for (const auto& [number, host] : b.hosts) in.push_back(number);
    }
    const std::set<std::uint32_t>& been_at = r.been_at;
    const std::uint32_t tries = been_somewhere ? r.group->spec->retry.avoid_hosts : 0;
    std::vector<std::uint32_t> others;
    for (const std::uint32_t number : in) {
      if (!been_at.contains(number)) others.push_back(number);
    }
    std::uint32_t chosen = 0;
    if (tries == RetryRules::kUnlimited) {
      chosen = pick(b, others.empty() ? in : others, random);
    } else {
      chosen = pick(b, in, random);
      for (std::uint32_t k = 0; k < tries && been_at.contains(chosen) && in.size() > 1; ++k) {
        if (s.spec->instances.balancing == Balancing::kLeastConnections) std::erase(in, chosen);
        chosen = pick(b, in, random);
      }
    }
    return s.instances[chosen];
  }

  void goes_to_instance(Attempt& a) {
    Balancer& b = *a.at->service->balancer_of.at({a.group->index, a.request->client});
    a.balancer = &b;
    a.request->been_at.insert(a.at->number);
    Host& host = b.hosts.at(a.at->number);
    ++host.under_way;
    if (host.accrual == Host::kMayTry) host.accrual = Host::kTries;
  }

  std::uint32_t pick(Balancer& b, const std::vector<std::uint32_t>& from, Draws& random) {
    const InstancesSpec& spec = b.service->spec->instances;
    const auto n = static_cast<std::uint32_t>(from.size());
    const auto next = [&](const std::vector<std::uint32_t>& all) {
      for (const std::uint32_t number : all) {
        if (b.last && number > *b.last) return number;
      }
      return all.front();
    };
    std::uint32_t chosen = from.front();
    if (n > 1) {
      switch (spec.balancing) {
        case Balancing::kRoundRobin:
          chosen = next(from);
          break;
        case Balancing::kRandom:
          chosen = from[random.below(n)];
          break;
        case Balancing::kLeastConnections: {
          int least = b.hosts.at(from[0]).under_way;
          for (const std::uint32_t i : from) least = std::min(least, b.hosts.at(i).under_way);
          std::vector<std::uint32_t> equal;
          for (const std::uint32_t i : from) {
            if (b.hosts.at(i).under_way == least) equal.push_back(i);
          }
          chosen = equal[0];
          if (spec.ties == Ties::kTurns) chosen = next(equal);
          if (spec.ties == Ties::kRandom && equal.size() > 1) {
            chosen = equal[random.below(static_cast<std::uint32_t>(equal.size()))];
          }
          break;
        }
        case Balancing::kTwoChoices:
        case Balancing::kPeakEwma: {
          const std::uint32_t one = random.below(n);
          std::uint32_t two = random.below(n - 1);
          if (two >= one) ++two;
          const std::uint32_t x = from[one], y = from[two];
          const bool by_latency = spec.balancing == Balancing::kPeakEwma;
          const double at_x = by_latency ? cost(b, x) : b.hosts.at(x).under_way;
          const double at_y = by_latency ? cost(b, y) : b.hosts.at(y).under_way;
          chosen = at_y < at_x ? y : x;
          if (at_x != at_y || spec.ties == Ties::kRandom) break;
          chosen =
              spec.ties == Ties::kFirst ? std::min(x, y) : next({std::min(x, y), std::max(x, y)});
          break;
        }
      }
    }
    b.last = chosen;
    return chosen;
  }

  double cost(Balancer& b, std::uint32_t number) {
    Host& h = b.hosts.at(number);
    took(b, h, 0);
    const bool unknown = b.service->spec->instances.first_latency == Duration::max();
    if (unknown && h.latency_ns == 0 && h.under_way > 0) return 140737488355327.0 + h.under_way;
    return h.latency_ns * (h.under_way + 1);
  }
  void took(const Balancer& b, Host& h, double ns) const {
    const auto passed = static_cast<double>((now() - h.latency_since).count());
    const auto decay = static_cast<double>(b.service->spec->instances.decay.count());
    const double left = kernel::exp(-passed / decay);
    h.latency_ns = ns > h.latency_ns ? ns : h.latency_ns * left + ns * (1 - left);
    h.latency_since = now();
  }

  /// The attempt is not under way any more. `answer`: what its client has, or makes of a timeout.
  void not_under_way(const Attempt& a, const Response* answer) {
    Balancer& b = *a.balancer;
    Host& h = b.hosts.at(a.at->number);
    --h.under_way;
    took(b, h, static_cast<double>((now() - a.sent).count()));
    if (b.hosts.size() == 1) return;
    if (answer == nullptr) {
      if (h.accrual == Host::kTries && h.under_way == 0) h.accrual = Host::kMayTry;
      return;
    }
    const bool transport = answer->transport != TransportError::kNone;
    const bool failed = transport || answer->status >= 500;
    const bool gateway =
        transport || answer->status == 502 || answer->status == 503 || answer->status == 504;
    const InstancesSpec& spec = a.at->service->spec->instances;
    if (spec.ejection.enabled()) judge(b, h, failed, gateway);
    if (spec.accrual.enabled()) accrue(b, a.at->number, failed);
  }

  void judge(Balancer& b, Host& h, bool failed, bool gateway) {
    const EjectionSpec& spec = b.service->spec->instances.ejection;
    ++h.attempts;
    if (!failed) ++h.successes;
    h.failures = failed ? h.failures + 1 : 0;
    h.gateway_failures = gateway ? h.gateway_failures + 1 : 0;
    if (gateway && h.gateway_failures == spec.consecutive_gateway_failure && !h.ejected) {
      eject(b, h);
      h.gateway_failures = 0;
    }
    if (failed && h.failures == spec.consecutive_5xx && !h.ejected) {
      eject(b, h);
      h.failures = 0;
    }
  }

  void eject(Balancer& b, Host& h) {
    const EjectionSpec& spec = b.service->spec->instances.ejection;
    if (h.ejected) return;
    double ejected = 1;
    for (const auto& [number, other] : b.hosts) ejected += other.ejected ? 1 : 0;
    const double percent = 100 * ejected / static_cast<double>(b.hosts.size());
    const bool one_at_least = ejected == 1 && spec.always_eject_one_host;
    if (percent > spec.max_ejection_percent + 1e-6 && !one_at_least) return;
    h.ejected = now();
    const double base = spec.base_ejection_time.in_seconds();
    if (h.times * base < spec.max_ejection_time.in_seconds() + base) ++h.times;
  }

  void look(Balancer& b) {
    const EjectionSpec& spec = b.service->spec->instances.ejection;
    calendar_.in(spec.interval, [this, &b] { look(b); });
    for (auto& [number, h] : b.hosts) {
      if (!h.ejected) continue;
      const Duration length = std::min(spec.base_ejection_time * h.times, spec.max_ejection_time);
      if (now() - *h.ejected < length) continue;
      h.ejected.reset();
      h.came_back = now();
      h.failures = h.gateway_failures = 0;
    }
    std::vector<Host*> by_rate, by_percentage;
    const auto rate_of = [](const Host* h) { return 100.0 * h->successes / h->attempts; };
    for (auto& [number, h] : b.hosts) {
      if (h.ejected || h.attempts == 0) continue;
      const auto attempts = static_cast<std::uint32_t>(h.attempts);
      if (attempts >= spec.success_rate_request_volume) by_rate.push_back(&h);
      if (attempts >= spec.failure_percentage_request_volume) by_percentage.push_back(&h);
    }
    const bool rule = spec.success_rate_stdev_factor > 0;
    if (rule && !by_rate.empty() && by_rate.size() >= spec.success_rate_minimum_hosts) {
      const auto n = static_cast<double>(by_rate.size());
      double sum = 0, squares = 0;
      for (const Host* h : by_rate) sum += rate_of(h);
      for (const Host* h : by_rate) squares += (rate_of(h) - sum / n) * (rate_of(h) - sum / n);
      const double least = sum / n - spec.success_rate_stdev_factor / 1000 * std::sqrt(squares / n);
      for (Host* h : by_rate) {
        if (rate_of(h) < least) eject(b, *h);
      }
    }
    const double most = spec.failure_percentage_threshold;
    if (most > 0 && !by_percentage.empty() &&
        by_percentage.size() >= spec.failure_percentage_minimum_hosts) {
      for (Host* h : by_percentage) {
        if (100 - rate_of(h) >= most) eject(b, *h);
      }
    }
    for (auto& [number, h] : b.hosts) {
      h.attempts = h.successes = 0;
      if (h.ejected || !h.came_back || now() - *h.came_back < spec.interval) continue;
      h.times = std::max(0, h.times - 1);
    }
  }

  void accrue(Balancer& b, std::uint32_t number, bool failed) {
    const AccrualSpec& spec = b.service->spec->instances.accrual;
    Host& h = b.hosts.at(number);
    if (h.accrual == Host::kPunished) return;
    if (!failed) {
      h.accrual = Host::kTrusted;
      h.accrued = h.penalties_in_a_row = 0;
      return;
    }
    ++h.accrued;
    if (h.accrual == Host::kTrusted && h.accrued < spec.max_failures) return;
    h.accrued = 0;
    h.accrual = Host::kPunished;
    ++h.penalties;
    const auto longest = static_cast<double>(spec.max_penalty.count());
    const std::uint32_t before = h.penalties_in_a_row++;
    const auto shortest = static_cast<double>(spec.min_penalty.count());
    double base = std::min(shortest * std::pow(2.0, before), longest), ratio = spec.jitter_ratio;
    if (spec.penalties == Penalties::kEqualJittered) {
      if (before > 0) base = std::min(shortest * std::pow(2.0, before - 1), longest);
      ratio = before > 0 ? 1 : 0;
    }
    Draws random(b.key,
                 {std::uint64_t{b.client} << 32 | h.penalties, number, 0, Purpose::kPenalty});
    const double ns = std::min(base * (1 + ratio * random.uniform()), longest);
    calendar_.in(Duration::from_nanoseconds(ns), [&h] { h.accrual = Host::kMayTry; });
  }

  Duration latency(const Attempt& a, Purpose purpose) const {
    Draws random = draws(a, purpose);
    return scenario_.network.latency.sample(random) + a.at->wrong.latency;
  }

  void travel(Attempt& a) {
    const Impairment& wrong = a.at->wrong;
    Duration time = latency(a, Purpose::kNetwork);
    if (a.new_connection) {
      Draws random = draws(a, Purpose::kConnect);
      const Duration setup = scenario_.network.connect.sample(random);
      const Duration limit = a.group->spec->timeouts.connect;
      if (setup > limit || (wrong.black_hole && limit != Duration::max())) {
        return answer_in(a, limit, no_response(TransportError::kTimeout));
      }
      time += setup;
    }
    if (wrong.black_hole) return lose(a);
    if (wrong.unreachable) {
      return answer_in(a, time + latency(a, Purpose::kResponse),
                       no_response(TransportError::kConnection));
    }
    if (draws(a, Purpose::kLoss).uniform() < wrong.request_loss) return lose(a);
    if (time == Duration::zero()) return arrive(a);
    calendar_.in(time, [this, &a] { arrive(a); });
  }

  void answer_in(Attempt& a, Duration time, const Response& answer) {
    a.answer = answer;
    calendar_.in(
        time, [this, &a] { deliver(a); }, Calendar::Role::kAnswer);
  }

  /// The answer sets out. True if it is there at once.
  bool answer(Attempt& a, const Response& response) {
    a.answer = response;
    a.stage = Attempt::kTravelling;
    tell(Step::kAnswering, a, model::mark_of(response));
    Draws random = draws(a, Purpose::kLoss);
    random.uniform();  // was for the way there
    if (random.uniform() < a.at->wrong.response_loss) {
      lose(a);
      return false;
    }
    const Duration time = latency(a, Purpose::kResponse);
    if (time == Duration::zero()) return true;
    answer_in(a, time, response);
    return false;
  }
  /// The same in the midst of an event: the client hears it when that is over.
  void answer_later(Attempt& a, const Response& response) {
    if (answer(a, response)) answered_.push_back(&a);
  }

  void lose(Attempt& a) {
    tell(Step::kLost, a);
    a.stage = Attempt::kLost;
    if (a.given_up) gone(a);
  }

  // --- At the service

  void arrive(Attempt& a) {
    Instance& i = *a.at;
    const ServiceSpec& spec = *i.service->spec;
    a.arrived = now();
    tell(Step::kArrived, a);
    if (a.given_up && spec.abandoned != Abandoned::kServe) return gone(a);
    if (spec.model != ServiceModelKind::kIndependent) {
      if (const ErrorAnswer* error = random_error(a)) return answer_later(a, response_of(*error));
    }
    if (!passes_throttle(a)) return turn_away(a, i.service->answers.throttled);
    if (is_over_limit(a)) {
      if (i.limit) i.limit->refused(in_ns(now()));
      return refuse(a, i.service->answers.limit);
    }
    const bool must_wait = i.taken() >= i.working || !i.queue.empty() || !i.refused.empty();
    if (must_wait && static_cast<std::int64_t>(i.queue.size()) >= spec.queue.capacity) {
      Attempt* const out = gives_way_to(a);
      if (out != nullptr) take_out(*out);
      refuse(out == nullptr ? a : *out, i.service->answers.overflow);
      if (out == nullptr) return;
    }
    a.counted = true;
    ++i.admitted[priority_of(a)];
    a.found = i.all_admitted();
    if (i.limit) i.limit->went_in(a.found, in_ns(now()));
    if (must_wait) {
      join(i.queue, a);
    } else {
      start(a);
    }
    if (spec.timeout == Duration::max()) return;
    a.service_timeout = calendar_.in(
        spec.timeout, [this, &a] { service_times_out(a); }, Calendar::Role::kTimeout);
  }

  /// Below the limit all are let in; from there on those whose partition has places of its own
  /// left. A partition may have a threshold in place of the limit.
  bool is_over_limit(const Attempt& a) const {
    const Instance& i = *a.at;
    const ConcurrencySpec& spec = i.service->spec->concurrency;
    const std::int64_t most = i.limit ? i.limit->limit(i.all_admitted(), in_ns(now())) : spec.limit;
    if (most == PlainLimit::kAny || most == ServiceSpec::kUnlimited) return false;
    const auto limit = static_cast<double>(most);
    double from = limit, own_places = 0;
    for (const PartitionSpec& p : spec.partitions) {
      if (p.priority != priority_of(a)) continue;
      from = p.refuse_from * limit - 1e-7;
      if (p.share >= 0) own_places = std::max(1.0, std::ceil(p.share * limit));
    }
    if (static_cast<double>(i.all_admitted()) < from) return false;
    const auto own = i.admitted.find(priority_of(a));
    return own_places <= (own == i.admitted.end() ? 0 : static_cast<double>(own->second));
  }

  /// Who leaves the full queue for this attempt; null: nobody.
  Attempt* gives_way_to(const Attempt& a) const {
    const Instance& i = *a.at;
    if (i.service->spec->queue.when_full == WhenFull::kRefuseNew) return nullptr;
    Attempt* lowest = nullptr;
    for (Attempt* other : i.queue) {  // the newest last
      if (lowest == nullptr || priority_of(*other) <= priority_of(*lowest)) lowest = other;
    }
    const bool is_lower = lowest != nullptr && priority_of(*lowest) < priority_of(a);
    return is_lower ? lowest : nullptr;
  }

  void join(std::list<Attempt*>& line, Attempt& a) {
    line.push_back(&a);
    a.stage = Attempt::kQueued;
    tell(Step::kQueued, a, static_cast<std::int64_t>(a.at->queue.size() + a.at->refused.size()));
  }

  const ErrorAnswer* random_error(const Attempt& a) const {
    const double u = draws(a, Purpose::kServiceError).uniform();
    for (const auto& [up_to, error] : a.at->wrong.errors) {
      if (u < up_to) return &error;
    }
    return nullptr;
  }

  bool passes_throttle(const Attempt& a) {
    Service& s = *a.at->service;
    const ThrottleSpec& spec = s.spec->throttle;
    if (spec.rate <= 0) return true;
    const Request& r = *a.request;
    double rate = spec.rate, burst = spec.burst;
    Duration window = spec.window;
    std::string limit;
    const auto use_own = [&](const std::vector<ThrottleLimit>& limits, const std::string& about) {
      for (const ThrottleLimit& l : limits) {
        if (l.name != about) continue;
        limit = l.name;
        rate = l.rate;
        burst = l.burst;
        window = l.window;
      }
    };
    use_own(spec.operations, operation(r));
    use_own(spec.keys, std::to_string(key_asked(r) + 1));
    if (rate <= 0) return true;
    std::size_t group = 0;
    std::string who;
    if (spec.scope == ThrottleScope::kClient) group = r.group->index + 1;
    if (spec.scope == ThrottleScope::kClient) who = std::to_string(r.client);
    if (spec.scope == ThrottleScope::kOperation) who = operation(r);
    if (spec.scope == ThrottleScope::kKey) who = std::to_string(key_asked(r));

    const bool windows = window > Duration::zero();
    const double most =
        windows ? std::max(1.0, std::floor(rate * window.in_seconds() * (1 + 1e-9))) : burst;
    Allowance& own =
        s.allowances.emplace(std::tuple(limit, group, who), Allowance{most, {}}).first->second;
    if (!windows) own.left = std::min(most, own.left + (now() - own.since).in_seconds() * rate);
    const auto window_of = [&](Time t) { return t.count() / window.count(); };
    if (windows && window_of(now()) != window_of(own.since)) own.left = most;
    own.since = now();
    if (own.left < 1 - 1e-9) return false;  // less than a billionth of a token may be missing
    own.left = std::max(0.0, own.left - 1);
    return true;
  }

  void refuse(Attempt& a, const ServiceAnswer& response) {
    if (a.at->service->spec->rejection.overflow == Overflow::kDrop) return lose(a);
    turn_away(a, response);
  }
  void turn_away(Attempt& a, const ServiceAnswer& response) {
    if (a.at->service->spec->rejection.cost == Duration::zero()) {
      return answer_later(a, response_of(response));
    }
    a.refused = true;
    a.answer = response_of(response);
    Instance& i = *a.at;
    if (i.taken() < i.working && i.queue.empty() && i.refused.empty()) return start(a);
    join(i.refused, a);
  }

  /// Free servers take what waits.
  void serve_queue(Instance& i) {
    while (i.taken() < i.working && (!i.refused.empty() || !i.queue.empty())) {
      Attempt& a = next_of(i);
      if (!is_dropped(a)) start(a);
    }
  }
  Attempt& next_of(Instance& i) {
    std::list<Attempt*>& line = i.refused.empty() ? i.queue : i.refused;
    const auto next = i.refused.empty() ? next_to_serve(i) : line.begin();
    Attempt& a = **next;
    line.erase(next);
    return a;
  }
  /// Or to be turned away, if it has waited too long.
  std::list<Attempt*>::iterator next_to_serve(Instance& i) {
    std::list<Attempt*>& line = i.queue;
    const ServiceSpec& spec = *i.service->spec;
    const auto priority = [&](const Attempt* a) { return static_cast<int>(priority_of(*a)); };
    // Of those that came at the same instant the queue may only know which is more important.
    const bool is_ordered = spec.queue.discipline == Discipline::kPriority;
    const auto oldest = std::ranges::min_element(line, {}, [&](const Attempt* a) {
      return std::pair(a->arrived, is_ordered ? -priority(a) : 0);
    });
    if (is_too_old(**oldest)) return oldest;
    const std::int64_t limit = spec.queue.lifo_above;
    switch (spec.queue.discipline) {
      case Discipline::kLifo:
        return std::prev(line.end());
      case Discipline::kAdaptiveLifo:
        if (static_cast<std::int64_t>(line.size()) >
            (limit == QueueSpec::kAsServers ? spec.servers : limit)) {
          return std::prev(line.end());
        }
        break;
      case Discipline::kPriority:
        return std::ranges::max_element(line, {}, priority);
      default:
        break;
    }
    return line.begin();
  }
  bool is_too_old(const Attempt& a) const {
    return !a.refused && now() - a.arrived > a.at->service->spec->queue.max_age;
  }
  /// Its turn has come: is it worth serving?
  bool is_dropped(Attempt& a) {
    const ServiceSpec& spec = *a.at->service->spec;
    const bool in_vain = a.given_up && spec.abandoned == Abandoned::kDropAtDequeue;
    const bool late = !a.refused && spec.queue.drop_expired && would_be_late(a);
    const bool too_old = is_too_old(a);
    if (!in_vain && !late && !too_old) return false;
    tell(Step::kLeftQueue, a);
    leave(a);
    if (in_vain) {
      gone(a);
    } else if (late) {
      lose(a);
    } else {
      refuse(a, a.at->service->answers.shed);
    }
    return true;
  }
  Time end_of_wait(const Attempt& a) const {
    const Request& r = *a.request;
    Time end = Time::max();
    if (r.timeout) end = std::min(end, r.timeout->first);
    if (r.deadline) end = std::min(end, r.deadline->first);
    return end;
  }
  bool would_be_late(const Attempt& a) {
    if (a.given_up) return true;
    const Time end = end_of_wait(a);
    if (end == Time::max()) return false;
    const Impairment& wrong = a.at->wrong;
    const Distribution& network = scenario_.network.latency;
    const Duration back =
        network.is_constant() ? network.constant_value() + wrong.latency : Duration::zero();
    return now() + time_at_speed(demand(a), wrong.speed) + back > end;
  }

  void start(Attempt& a) {
    if (!look_at_token(a)) return hold(a);
    work_on(a);
  }
  /// It has a server, which does nothing for it.
  void hold(Attempt& a) {
    tell(Step::kHolding, a);
    a.stage = Attempt::kHeld;
    a.at->held.push_back(&a);
  }
  void work_on(Attempt& a) {
    Instance& i = *a.at;
    a.work_ns = demand(a);
    meet_late_errors(a);
    tell(Step::kWorking, a, static_cast<std::int64_t>(a.work_ns), i.taken());
    a.stage = Attempt::kServed;
    i.served.push_back(&a);
    schedule_completion(a);
  }

  /// Those that come after a share of the service time: of two, the first one counts.
  void meet_late_errors(Attempt& a) {
    a.runs_into_error = false;
    if (a.refused || a.replayed) return;
    const double u = draws(a, Purpose::kLateError).uniform();
    double escaped = 1;
    for (const Impairment::Late& source : a.at->wrong.late) {
      double up_to = 0;
      for (const RandomError& e : source.errors) {
        up_to += e.probability;
        if (u >= 1 - escaped * (1 - up_to)) continue;
        a.runs_into_error = true;
        a.answer = response_of(e.answer);
        a.work_ns = std::round(a.work_ns * source.share);
        return;
      }
      escaped *= 1 - up_to;
    }
  }

  double demand(const Attempt& a) {
    const ServiceSpec& spec = *a.at->service->spec;
    if (a.refused) return static_cast<double>(spec.rejection.cost.count());
    if (a.replayed) return static_cast<double>(spec.idempotency.replay_cost.count());
    Draws random = draws(a, Purpose::kServiceTime);
    auto ns = static_cast<double>(spec.service_time.sample(random).count());
    const bool as_first = spec.service_time_per == ServiceTimePer::kRequest && a.number > 1 &&
                          draws(a, Purpose::kSameWork).uniform() < spec.service_time_repeats;
    if (as_first) {
      Draws of_first(a.group->key, {a.request->entity, 1, 0, Purpose::kServiceTime});
      ns = static_cast<double>(spec.service_time.sample(of_first).count());
    }
    ns = std::round(ns * work_of(*a.request));
    if (spec.slowdown.enabled()) ns = std::round(ns * slowdown(spec.slowdown, a.at->taken()));
    return ns;
  }
  static double slowdown(const SlowdownSpec& spec, std::int64_t others) {
    const auto n = static_cast<double>(others);
    double factor = 1;
    switch (spec.curve) {
      case SlowdownCurve::kLinear:
        return 1 + spec.per_attempt * n;
      case SlowdownCurve::kPower:
        if (n > 0) factor += spec.per_attempt * kernel::pow(n, spec.exponent);
        break;
      case SlowdownCurve::kExponential:
        factor = kernel::exp(spec.per_attempt * n);
        break;
      case SlowdownCurve::kTable: {
        const std::vector<double>& x = spec.table.in_service;
        const std::vector<double>& y = spec.table.factors;
        std::size_t i = 0;
        while (i + 1 < x.size() && x[i + 1] <= n) ++i;
        factor = y[i];
        if (i + 1 < x.size()) factor += (y[i + 1] - y[i]) * ((n - x[i]) / (x[i + 1] - x[i]));
        break;
      }
    }
    return std::min(1e12, factor);
  }
  static Duration time_at_speed(double ns, double speed) {
    if (ns == 0) return Duration::zero();
    return speed > 0 ? Duration::from_nanoseconds(ns / speed) : Duration::max();
  }
  void schedule_completion(Attempt& a) {
    a.worked_since = now();
    a.completion = calendar_.in(
        time_at_speed(a.work_ns, a.at->wrong.speed), [this, &a] { complete(a); },
        Calendar::Role::kAnswer);
  }

  void complete(Attempt& a) {
    Instance& i = *a.at;
    i.served.remove(&a);
    Response response = a.answer;
    const bool executed = !a.refused && !a.replayed;
    if (executed && !a.runs_into_error) response = {};
    if (executed && i.service->spec->model == ServiceModelKind::kIndependent) {
      if (const ErrorAnswer* error = random_error(a)) response = response_of(*error);
    }
    a.calls_stage = 0;
    if (executed && response.status == 200 && choose_calls(a)) {
      tell(Step::kCalling, a);
      a.stage = Attempt::kHeld;
      i.held.push_back(&a);
      a.calling = true;
      a.call_failed = a.degraded = false;
      return make_calls(a);
    }
    tell(Step::kServed, a, executed);
    server_is_free(a, response, executed);
  }

  void server_is_free(Attempt& a, const Response& response, bool executed) {
    a.stage = Attempt::kTravelling;
    leave(a, executed);
    if (executed) close_session(a, response.status == 200);
    serve_queue(*a.at);
    if (a.given_up) return gone(a);
    if (answer(a, response)) deliver(a);
  }

  /// It is not there any more, of those that the limits count.
  void leave(Attempt& a, bool executed = false) {
    if (a.service_timeout) calendar_.cancel(*a.service_timeout);
    a.service_timeout.reset();
    if (!std::exchange(a.counted, false)) return;
    Instance& i = *a.at;
    --i.admitted[priority_of(a)];
    if (!i.limit) return;
    const Nanoseconds time = (now() - a.arrived).count();
    i.limit->went_out({in_ns(now()), time, a.found, i.all_admitted(), executed || a.replayed});
  }
  void gone(Attempt& a) {
    a.stage = Attempt::kGone;
    drop_session(a);
  }

  /// It leaves the queue, or its server, before it is done.
  void take_out(Attempt& a) {
    Instance& i = *a.at;
    leave(a);
    if (a.stage == Attempt::kQueued) {
      tell(Step::kLeftQueue, a);
      i.queue.remove(&a);
      i.refused.remove(&a);
      return;
    }
    tell(Step::kAborted, a);
    if (a.stage == Attempt::kServed) calendar_.cancel(a.completion);
    if (a.stage == Attempt::kHeld) stop_waiting(a);
    i.served.remove(&a);
    i.held.remove(&a);
    drop_session(a);
  }
  void stop_waiting(Attempt& a) {
    a.calling = false;
    for (auto& [token, line] : a.at->service->token_waits) line.remove(&a);
  }

  void service_times_out(Attempt& a) {
    const bool had_server = a.stage != Attempt::kQueued;
    take_out(a);
    if (had_server) serve_queue(*a.at);
    if (a.given_up) return gone(a);
    answer_later(a, response_of(a.at->service->answers.timeout));
  }

  // --- Idempotency tokens

  bool remembers_tokens(const Attempt& a) const {
    const IdempotencySpec& spec = a.at->service->spec->idempotency;
    return a.request->mutating && a.request->has_token && spec.window > Duration::zero() &&
           spec.replay != IdempotentReplay::kNone;
  }

  /// A server begins with it. False if it has to wait for another one.
  bool look_at_token(Attempt& a) {
    if (a.refused || !remembers_tokens(a)) return true;
    Service& s = *a.at->service;
    const IdempotencySpec& spec = s.spec->idempotency;
    const Token& token = a.request->token;
    Draws random = draws(a, Purpose::kTokenWrite);
    const Time stored = now() + spec.write_delay.sample(random);
    std::erase_if(s.sessions, [&](const auto& one) {
      return one.second.expires && *one.second.expires <= now();
    });
    const auto found = s.sessions.find(token);
    a.replayed = false;
    if (found == s.sessions.end()) {
      s.sessions[token] = {a.request->content, stored, {}, 1};
      a.in_session = true;
      return true;
    }
    Session& session = found->second;
    const bool is_other = session.content != a.request->content;
    if (now() < session.stored) {
      if (is_other) return true;
      session.stored = std::min(session.stored, stored);
      ++session.executions;
      a.in_session = true;
      return true;
    }
    if (is_other) {
      a.answer = response_of(ErrorAnswer{400, "IdempotentParameterMismatch"});
    } else if (session.expires) {
      a.answer = {};
      if (spec.replay == IdempotentReplay::kAlreadyExists) {
        a.answer = response_of(ErrorAnswer{409, "EntityAlreadyExists"});
      }
    } else if (spec.in_progress == InProgress::kExecute) {
      return true;
    } else if (spec.in_progress == InProgress::kWait) {
      s.token_waits[token].push_back(&a);
      return false;
    } else {
      a.answer = response_of(ErrorAnswer{400, "PriorRequestNotComplete"});
    }
    a.replayed = true;
    return true;
  }

  /// It has been executed.
  void close_session(Attempt& a, bool succeeded) {
    if (!succeeded) return drop_session(a);
    if (!remembers_tokens(a)) return;
    a.in_session = false;
    Service& s = *a.at->service;
    Session& session = s.sessions[a.request->token];
    session.content = a.request->content;
    session.expires = now() + s.spec->idempotency.window;
    token_is_free(a);
  }
  void drop_session(Attempt& a) {
    if (!std::exchange(a.in_session, false)) return;
    Service& s = *a.at->service;
    const auto found = s.sessions.find(a.request->token);
    const IdempotencySpec& spec = s.spec->idempotency;
    if (found != s.sessions.end() && !found->second.expires && --found->second.executions == 0) {
      if (spec.stored == TokenStored::kBeforeEffect) {
        found->second.expires = now() + spec.window;
      } else {
        s.sessions.erase(found);
      }
    }
    token_is_free(a);
  }
  void token_is_free(const Attempt& a) {
    Service& s = *a.at->service;
    const Token& token = a.request->token;
    if (!s.token_waits[token].empty()) free_tokens_.emplace_back(&s, token);
  }
  void go_on_after_token(Service& s, const Token& token) {
    for (Attempt* a : std::exchange(s.token_waits[token], {})) {
      a->at->held.remove(a);
      start(*a);
    }
  }

  // --- Calls to other services

  /// What a request draws for a call is the same in all its attempts.
  Draws choice(const Attempt& a, const CallSpec& call, Purpose purpose) const {
    const std::uint64_t name = draws(*a.request, Purpose::kCallChoice).next();
    return {groups_[call.client].key, {name, 0, 0, purpose}};
  }
  bool permits(const CallSpec& call, const Attempt& a) const {
    const auto& all = call.operations;
    return all.empty() || std::ranges::find(all, operation(*a.request)) != all.end();
  }
  std::uint32_t copies_of(const CallSpec& call, const Attempt& a) const {
    if (!permits(call, a)) return 0;
    if (call.one_of.empty() && choice(a, call, Purpose::kCallChoice).uniform() >= call.share) {
      return 0;
    }
    if (!call.one_of.empty() && &call != chosen_alternative(call, a)) return 0;
    if (!call.random_count) return call.count;
    Draws random = choice(a, call, Purpose::kCallCount);
    const double s = std::min(call.random_count->sample(random).in_seconds(), 1000.0);
    return static_cast<std::uint32_t>(std::floor(s + 0.5));
  }
  const CallSpec* chosen_alternative(const CallSpec& call, const Attempt& a) const {
    const CallSpec* first = nullptr;
    std::vector<const CallSpec*> all;
    for (const auto& stage : a.at->service->stages) {
      for (const CallSpec* other : stage) {
        if (other->one_of != call.one_of) continue;
        if (first == nullptr) first = other;
        if (permits(*other, a)) all.push_back(other);
      }
    }
    double sum = 0, up_to = 0;
    for (const CallSpec* c : all) sum += c->share;
    const double u = choice(a, *first, Purpose::kCallChoice).uniform() * sum;
    for (const CallSpec* c : all) {
      up_to += c->share;
      if (u < up_to) return c;
    }
    return all.back();
  }

  /// Those of the next stage in which there are some.
  bool choose_calls(Attempt& a) {
    const Service& s = *a.at->service;
    a.calls.clear();
    while (a.calls.empty() && a.calls_stage < s.stages.size()) {
      for (const CallSpec* call : s.stages[a.calls_stage]) {
        const std::uint32_t copies = copies_of(*call, a);
        if (copies > 0 && !is_cached(*call, a))
          a.calls.push_back({call, draws(a, Purpose::kCall).next(), copies});
      }
      ++a.calls_stage;
    }
    return !a.calls.empty();
  }
  void make_calls(Attempt& a) {
    ++a.round;
    for (std::size_t i = 0; i < a.calls.size(); ++i) {
      send_call(a, i, draws(a, Purpose::kCall));
    }
  }
  /// All copies, even if some fail at once, and a fallback takes the place of the call.
  void send_call(Attempt& a, std::size_t i, Draws names) {
    const CallSpec& call = *a.calls[i].spec;
    const std::uint32_t copies = a.calls[i].copies;
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      submit(groups_[call.client], a.at->number, names.next(), &a, i, &call);
    }
  }
  void call_ended(const Request& r, bool succeeded) {
    Attempt& a = *r.caller;
    if (!a.calling || a.round != r.caller_round) return;
    OpenCall& call = a.calls[r.caller_call];
    if (call.decided || call.spec != r.call) return;
    ++(succeeded ? call.succeeded : call.failed);
    if (call.succeeded >= call.needed()) {
      call.decided = true;
      keep_answer(*call.spec, a);
    } else if (call.copies - call.failed < call.needed()) {
      call_fails(a, call);
    } else {
      return;
    }
    const auto decided = [](const OpenCall& c) { return c.decided; };
    if (call.to_be_made || std::ranges::all_of(a.calls, decided)) {
      calls_decided_.emplace_back(&a, a.round, r.caller_call);
    }
  }
  void call_fails(Attempt& a, OpenCall& call) {
    if (call.spec->on_failure == CallFailure::kFallback) {
      const CallSpec* other = fallback_of(*call.spec);
      if (const std::uint32_t copies = copies_of(*other, a); copies > 0) {
        a.degraded = true;
        call.decided = is_cached(*other, a);
        if (call.decided) return;
        const Draws names(groups_[call.spec->client].key, {call.name, 0, 0, Purpose::kCall});
        call = {other, Draws(names).next(), copies};
        call.names = names;
        call.to_be_made = true;
        return;
      }
    }
    call.decided = true;
    (call.spec->on_failure == CallFailure::kIgnore ? a.degraded : a.call_failed) = true;
  }
  /// Answers that an instance keeps of one of its calls, by key.
  struct CachedAnswers {
    std::map<std::uint32_t, Time> stored;
    std::list<std::uint32_t> order;  ///< that which goes first is the first
  };
  bool is_cached(const CallSpec& call, const Attempt& a) {
    if (call.cache.hit > 0) {
      const std::uint64_t name = draws(a, Purpose::kCall).next();
      Draws random(groups_[call.client].key, {name, 0, 0, Purpose::kCache});
      return random.uniform() < call.cache.hit;
    }
    if (call.cache.capacity == 0) return false;
    CachedAnswers& cache = caches_[{&call, a.at}];
    const std::uint32_t key = key_asked(*a.request);
    const auto found = cache.stored.find(key);
    if (found == cache.stored.end()) return false;
    const bool good = call.cache.ttl == Duration::max() || now() - found->second < call.cache.ttl;
    if (good && call.cache.policy == CachePolicy::kFifo) return true;
    cache.order.remove(key);
    if (good) cache.order.push_back(key);
    if (!good) cache.stored.erase(found);
    return good;
  }
  void keep_answer(const CallSpec& call, const Attempt& a) {
    if (call.cache.capacity == 0) return;
    CachedAnswers& cache = caches_[{&call, a.at}];
    const std::uint32_t key = key_asked(*a.request);
    cache.order.remove(key);
    cache.order.push_back(key);
    cache.stored[key] = now();
    if (cache.order.size() <= call.cache.capacity) return;
    cache.stored.erase(cache.order.front());
    cache.order.pop_front();
  }

  void go_on_after_call(Attempt& a, int round, std::size_t i) {
    if (!a.calling || a.round != round) return;
    if (a.calls[i].to_be_made) {
      a.calls[i].to_be_made = false;
      return send_call(a, i, *a.calls[i].names);
    }
    const Service& s = *a.at->service;
    if (!a.call_failed && choose_calls(a)) return make_calls(a);
    a.calling = false;
    a.at->held.remove(&a);
    tell(Step::kCalled, a, a.degraded && !a.call_failed);
    server_is_free(a, a.call_failed ? response_of(s.answers.call_failed) : Response{}, true);
  }

  // --- The client has an answer, or stops waiting

  void deliver(Attempt& a) {
    Request& r = *a.request;
    if (a.given_up) {
      tell(Step::kUnused, a);
      return gone(a);
    }
    const Group& g = *r.group;
    tell(Step::kDelivered, a, model::mark_of(a.answer));
    const ErrorInfo error = what_it_means(g.spec->retry, a.answer);
    r.under_way.remove(&a);
    if (r.under_way.empty()) stop_timeout(r);
    not_under_way(a, &a.answer);
    if (asks_per_attempt(r)) {
      record(g.spec->breaker, breaker_of(r, a.at), a.permit, error.to_breaker(), now() - a.sent,
             now());
    }
    const bool reusable = error.response_class != ResponseClass::kTransient &&
                          error.response_class != ResponseClass::kTimeout;
    give_connection_back(r, reusable);
    gone(a);
    if (!error.success()) return fail(r, a.answer);
    r.progress.attempts += r.refusals;
    request_succeeds(g.spec->retry, state_of(r), r.progress, now());
    r.progress.attempts -= r.refusals;
    limiter_changed(r);
    give_up_rest(r);
    end(r, Outcome::kSuccess);
  }

  void give_up_rest(Request& r) {
    stop_timeout(r);
    give_up(r, AttemptResult::kAbandoned);
  }
  void give_up(Request& r, AttemptResult result) {
    std::vector<Instance*> freed;
    while (!r.under_way.empty()) {
      Attempt& a = *r.under_way.front();
      r.under_way.pop_front();
      tell(Step::kGivenUp, a, static_cast<int>(result));
      a.given_up = true;
      const Response timeout = no_response(TransportError::kTimeout);
      not_under_way(a, result == AttemptResult::kTimeout ? &timeout : nullptr);
      if (asks_per_attempt(r) && result == AttemptResult::kTimeout) {
        record(r.group->spec->breaker, breaker_of(r, a.at), a.permit, ResponseClass::kTimeout,
               now() - a.sent, now());
      } else if (asks_per_attempt(r)) {
        release(breaker_of(r, a.at), a.permit);
      }
      const Abandoned policy = a.at->service->spec->abandoned;
      const bool at_server = a.stage == Attempt::kServed || a.stage == Attempt::kHeld;
      if (a.stage == Attempt::kLost) {
        gone(a);
      } else if (a.stage == Attempt::kQueued &&
                 (policy == Abandoned::kRemove || policy == Abandoned::kAbort)) {
        take_out(a);
        gone(a);
      } else if (at_server && policy == Abandoned::kAbort) {
        take_out(a);
        gone(a);
        if (freed.empty() || freed.back() != a.at) freed.push_back(a.at);
      }
      give_connection_back(r, false);
    }
    for (Instance* i : freed) serve_queue(*i);
  }

  void deadline_passes(Request& r) {
    if (r.phase == Request::kWaitingForToken) leave_token_line(r);
    if (r.phase == Request::kWaitingForConnection) {
      (r.at_bulkhead ? r.group->bulkheads[r.client] : pool_of(r)).line.remove(&r);
      stop_waiting(r);
      if (!r.at_bulkhead) leave_bulkhead(r);
    }
    if (r.phase == Request::kOnItsWay) give_up_rest(r);
    end(r, Outcome::kDeadlineExceeded);
  }

  bool is_past_deadline(const Request& r, Duration delay) const {
    return r.deadline && now() + delay >= r.deadline->first;
  }

  // --- Retries

  void limiter_changed(Request& r) {
    if (!r.group->spec->retry.rate_limit.enabled) return;
    TokenLine& own = line_of(r);
    if (!own.line.empty()) schedule_wake(own);
  }

  /// Of the calls between services, some are not retried.
  bool may_repeat(const Request& r) const {
    const RetryOnlyAt where = r.group->spec->retry_only_at;
    if (where == RetryOnlyAt::kFirstAttempt) return !r.for_retry;
    return where == RetryOnlyAt::kAnywhere;
  }

  void fail(Request& r, const Response& response, bool given_up = false) {
    const RetryRules& rules = r.group->spec->retry;
    fail(r, Failure{what_it_means(rules, response), response.retry_after, r.group->spec->long_poll,
                    is_repeatable(r, &response), given_up});
  }

  /// `refused`: by its circuit breaker.
  void fail(Request& r, const Failure& failure, bool refused = false) {
    RetryRules rules = r.group->spec->retry;
    r.last_failure = failure.error.to_breaker();
    if (!may_repeat(r)) {
      rules.max_attempts = 1;
      rules.quota.order = QuotaOrder::kAfterAttempts;  // it is not charged
    }
    const ClientState state = state_of(r);
    r.progress.attempts += r.refusals;
    const auto attempts = static_cast<std::uint32_t>(r.progress.attempts);
    const Decision decision =
        decide(rules, state, r.progress, failure, now(),
               Draws(r.group->key, {r.entity, attempts, 0, Purpose::kBackoff}));
    r.progress.attempts -= r.refusals;
    if (state.any()) {
      tell(Step::kRetryState, r, state.quota == nullptr ? 0 : state.quota->whole(),
           bits(state.limiter == nullptr ? 0 : state.limiter->fill_rate()));
    }
    limiter_changed(r);
    tell(Step::kDecided, r, decision.delay.count(),
         static_cast<int>(decision.outcome) + 256 * decision.send_tokens);
    if (decision.outcome != Outcome::kRetry) {
      if (refused) return end(r, Outcome::kBreakerOpen);
      if (!r.under_way.empty() && failure.error.retryable()) return;  // another may still succeed
      give_up_rest(r);
      if (decision.delay > Duration::zero()) return back_off(r, decision.delay, true);
      return end(r, decision.outcome);
    }
    r.retried = true;
    r.send_tokens = decision.send_tokens;
    if (rules.hedging.enabled && r.phase == Request::kOnItsWay) return begin_attempt(r);
    if (r.send_tokens > 0 && rules.rate_limit.acquire == SendTokenTiming::kBeforeBackoff) {
      r.backoff_after_token = decision.delay;
      if (!take_send_tokens(r)) return;
      r.backoff_after_token.reset();
    }
    back_off(r, decision.delay);
  }

  void back_off(Request& r, Duration delay, bool then_fail = false) {
    if (is_past_deadline(r, delay)) return end(r, Outcome::kDeadlineExceeded);
    r.phase = Request::kInBackoff;
    backoff_begins(state_of(r));
    calendar_.in(delay, [this, &r, then_fail] {
      backoff_ends(state_of(r));
      if (then_fail) return end(r, Outcome::kQuotaExceeded);
      begin_attempt(r);
    });
  }

  void set_hedge(Request& r) {
    const RetryRules& rules = r.group->spec->retry;
    if (!rules.hedging.enabled) return;
    if (r.hedge) calendar_.cancel(*r.hedge);
    r.hedge.reset();
    if (!may_repeat(r)) return;
    if (rules.max_attempts != RetryRules::kUnlimited &&
        static_cast<std::uint32_t>(r.progress.attempts) >= rules.max_attempts) {
      return;
    }
    r.hedge = calendar_.in(rules.hedging.delay, [this, &r] {
      r.hedge.reset();
      if (r.under_way.empty() || !is_repeatable(r, nullptr)) return;
      if (!permit_hedge(r.group->spec->retry, state_of(r), r.progress, now())) return;
      r.retried = true;
      const SendRateRules& limit = r.group->spec->retry.rate_limit;
      const bool takes_any = limit.enabled && limit.acquire != SendTokenTiming::kFirstAttempt;
      r.send_tokens = takes_any ? limit.retry_cost : 0;
      begin_attempt(r);
    });
  }

  // --- What an event leaves to be done at its instant

  void settle() {
    while (!answered_.empty() || !connected_.empty() || !calls_decided_.empty() ||
           !free_tokens_.empty()) {
      for (Attempt* a : std::exchange(answered_, {})) deliver(*a);
      for (; !connected_.empty(); connected_.pop_front()) go_on_with(*connected_.front());
      for (; !calls_decided_.empty(); calls_decided_.pop_front()) {
        const auto [a, round, call] = calls_decided_.front();
        go_on_after_call(*a, round, call);
      }
      for (; !free_tokens_.empty(); free_tokens_.pop_front()) {
        go_on_after_token(*free_tokens_.front().first, free_tokens_.front().second);
      }
    }
  }

  // --- Faults

  void schedule_faults() {
    struct Change {
      Time time;
      Service* service;
      const FaultSpec* fault;  ///< null: the service's profile
      bool begins;
    };
    std::vector<Change> changes;
    for (const FaultSpec* f : by_name(scenario_.faults)) {
      changes.push_back({f->start, &services_[f->service], f, true});
      changes.push_back({f->start + f->duration, &services_[f->service], f, false});
    }
    for (Service& s : services_) {
      if (!s.spec->profile) continue;
      for (const Time t : s.spec->profile->times) {
        if (t > Time::zero()) changes.push_back({t, &s, nullptr, false});
      }
    }
    std::ranges::stable_sort(
        changes, {}, [](const Change& c) { return std::pair(c.time, c.service->spec->name); });
    for (const Change& c : changes) {
      calendar_.at(c.time, [this, c] {
        for (Instance& i : c.service->instances) {
          if (c.fault != nullptr && !c.fault->concerns(i.number)) continue;
          const bool restarts = c.begins && c.fault->cold_restart;
          std::list<Attempt*> broken_off;
          if (restarts || (c.begins && c.fault->crash)) broken_off = break_off(i, restarts);
          impair(i);
          for (Attempt* a : broken_off) {  // messages of this moment, to which this fault applies
            if (a->given_up) {
              gone(*a);
            } else {
              answer_later(*a, no_response(TransportError::kConnection));
            }
          }
          if (restarts && c.fault->instance == FaultSpec::kAllInstances) {
            i.service->allowances.clear();
          }
          if (restarts) {
            begin_limit(i);
            if (i.limit) i.limit->set_servers(i.working, in_ns(now()));
          }
          std::erase_if(caches_,
                        [&](const auto& one) { return restarts && one.first.second == &i; });
          serve_queue(i);
        }
      });
    }
  }

  /// What is wrong with an instance now: factors multiply, latencies add, probabilities are those
  /// of independent sources.
  void impair(Instance& i) {
    const ServiceSpec& spec = *i.service->spec;
    const Impairment before = std::exchange(i.wrong, {});
    Impairment& wrong = i.wrong;
    if (spec.profile) {
      for (std::size_t k = 0; k < spec.profile->times.size(); ++k) {
        if (spec.profile->times[k] <= now()) wrong.capacity = spec.profile->factors[k];
      }
    }
    double escaped = 1;
    const bool is_queue = spec.model == ServiceModelKind::kQueue;
    const auto add_errors = [&](std::vector<RandomError> errors, ErrorPoint at) {
      std::ranges::stable_sort(errors, {}, [](const RandomError& e) {
        return std::pair(e.answer.status, e.answer.code);
      });
      if (is_queue && !at.on_arrival()) return wrong.late.push_back({at.share, errors});
      double hit = 0;
      for (const RandomError& e : errors) {
        hit += e.probability;
        wrong.errors.emplace_back(1 - escaped * (1 - hit), e.answer);
      }
      escaped *= 1 - hit;
    };
    const auto either = [](double a, double b) { return b == 0 ? a : 1 - (1 - a) * (1 - b); };
    wrong.request_loss = scenario_.network.request_loss;
    wrong.response_loss = scenario_.network.response_loss;
    add_errors(spec.errors, spec.errors_at);
    for (const FaultSpec* f : by_name(scenario_.faults)) {
      if (f->service != i.service->index || !f->concerns(i.number)) continue;
      if (now() < f->start || now() >= f->start + f->duration) continue;
      wrong.capacity *= f->capacity;
      wrong.speed *= f->speed;
      wrong.latency += f->latency;
      wrong.request_loss = either(wrong.request_loss, f->request_loss);
      wrong.response_loss = either(wrong.response_loss, f->response_loss);
      wrong.unreachable |= f->unreachable;
      wrong.black_hole |= f->black_hole;
      add_errors(f->errors, f->errors_at);
    }
    std::ranges::stable_sort(wrong.late, {}, &Impairment::Late::share);
    i.working = spec.servers;
    if (spec.servers != ServiceSpec::kUnlimited) {
      i.working = std::llround(static_cast<double>(spec.servers) * wrong.capacity);
    } else if (wrong.capacity == 0) {
      i.working = 0;
    }
    if (i.limit) i.limit->set_servers(i.working, in_ns(now()));
    if (wrong.speed == before.speed) return;
    for (Attempt* a : in_order_of_completion(i)) {
      calendar_.cancel(a->completion);
      const auto worked_ns = static_cast<double>((now() - a->worked_since).count());
      a->work_ns = std::max(0.0, std::round(a->work_ns - worked_ns * before.speed));
      schedule_completion(*a);
    }
  }
  static std::list<Attempt*> in_order_of_completion(const Instance& i) {
    std::list<Attempt*> all = i.served;
    all.sort([](const Attempt* a, const Attempt* b) { return a->completion < b->completion; });
    return all;
  }

  /// Whose connections break: all who are there, or those with a server.
  std::list<Attempt*> break_off(Instance& i, bool queue_too) {
    std::list<Attempt*> all = in_order_of_completion(i);
    for (Attempt* a : all) take_out(*a);
    while (queue_too && (!i.refused.empty() || !i.queue.empty())) {
      Attempt& a = next_of(i);
      tell(Step::kLeftQueue, a);
      leave(a);
      all.push_back(&a);
    }
    while (!i.held.empty()) {
      all.push_back(i.held.front());
      take_out(*i.held.front());
    }
    return all;
  }

  const Scenario& scenario_;
  const std::uint32_t replication_;
  const std::size_t most_;
  const Time end_;  // of submissions
  Calendar calendar_;
  std::deque<Service> services_;
  std::vector<Group> groups_;
  std::deque<Request> requests_;
  std::deque<Attempt> attempts_;
  std::map<std::pair<const CallSpec*, const Instance*>, CachedAnswers> caches_;
  std::vector<Attempt*> answered_;
  std::deque<Request*> connected_;
  std::deque<std::tuple<Attempt*, int, std::size_t>> calls_decided_;
  std::deque<std::pair<Service*, Token>> free_tokens_;
  std::vector<TraceStep> steps_;
};

}  // namespace

std::vector<TraceStep> simulate(const Scenario& scenario, std::uint32_t replication,
                                std::size_t most) {
  if (const std::string what = not_covered(scenario); !what.empty()) {
    throw std::invalid_argument("the reference does not know " + what);
  }
  return World(scenario, replication, most).run();
}

std::string not_covered(const Scenario& scenario) {
  if (scenario.warmup_is_auto) return "a warm-up that is still to be found";
  for (const ServiceSpec& s : scenario.services) {
    if (s.model == ServiceModelKind::kOcc) return "model occ";
    if (s.autoscaling.target > 0) return "autoscaling";
    if (s.instances.health_check.enabled()) return "health checks";
    if (s.queue.discipline == Discipline::kRandom) return "queue discipline random";
    if (s.queue.discipline == Discipline::kProcessorSharing) return "processor sharing";
    if (s.queue.discipline == Discipline::kCodel) return "controlled delay";
  }
  for (const ClientSpec& c : scenario.clients) {
    if (c.strategy) return "strategies of the user's own";
    if (c.side_effects.reconciles) return "reads before retries";
    if (c.arrivals.process == ArrivalProcess::kOnOff) return "bursts";
    if (c.arrivals.process == ArrivalProcess::kPoll) return "polling";
  }
  return "";
}

}  // namespace retrysim::reference

// SPDX-License-Identifier: MIT
#include "reference/random_scenario.hpp"

#include <retrysim/error.hpp>
#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace retrysim::reference {
namespace {

using enum Feature;

constexpr Duration ms(std::int64_t n) { return Duration::milliseconds(n); }

class Generator {
 public:
  Generator(std::uint64_t seed, const Features& allowed)
      : key_(seed, 77), allowed_(allowed), theme_(seed % 20) {}

  RandomScenario make() {
    scenario_.name = "random";
    scenario_.duration = pick(kNoDrain, {ms(500), ms(1000), ms(2000)});
    scenario_.drain = !on(kNoDrain, 0.1);
    scenario_.drain_limit = Duration::seconds(5);
    scenario_.warmup = pick(kNoDrain, {ms(0), ms(100)});
    scenario_.interval = pick(kNoDrain, {ms(100), Duration::seconds(1)});
    scenario_.seed = draws(kNoDrain).next() >> 40;
    network();
    services();
    calls();
    const std::size_t outside = 1 + on(kSecondGroup, 0.4) + on(kThirdGroup, 0.2);
    for (std::size_t i = 0; i < outside; ++i) group();
    for (std::size_t i = 0; i < 4 && on(kFaults, 0.4); ++i) fault();
    if (on(kRandomFaults, 0.4)) random_faults();
    return {std::move(scenario_), used_};
  }

 private:
  // Half of the scenarios are about one thing, so that what belongs together comes together.
  bool is_in_theme(Feature f) const {
    static const std::vector<std::vector<Feature>> themes = {
        {kSideEffects, kIdempotency, kTokenReuse, kTokenWait, kWriteDelay, kTokenFirst,
         kTokenOfContent, kErrors},
        {kLimiter, kThrottle, kErrors, kSecondGroup, kSharedRetryer, kStateScope},
        {kFaults, kFaultCapacity, kFaultSpeed, kFaultLatency, kSecondService, kInstances},
        {kSecondService, kCalls, kSecondCall, kParallelCalls, kAbandoned, kServiceTimeout,
         kDeadlineOfCaller, kRetryOnlyAt},
        {kHedging, kInstances, kAbandoned, kPool, kSecondGroup},
        {kInstances, kFaults, kFaultErrors, kFaultOfInstance, kTimeout, kAvoidHosts},
        {kInstances, kFaults, kFaultErrors, kErrors, kBalancers, kEjection, kAccrual, kPanic},
        {kPriority, kSecondGroup, kThirdGroup, kBoundedQueue, kRejectCost, kDropExpired, kMaxAge,
         kAdaptiveLifo, kEvictLowest, kPartitions, kRetryPriority},
        {kSecondService, kCalls, kSecondCall, kExtraCall, kBranches, kFanOut, kQuorum, kOnFailure,
         kStages},
        {kSecondService, kCalls, kSecondCall, kExtraCall, kOperations, kKeys, kThrottle,
         kThrottleScope, kThrottleLimits, kCallsByOperation, kTakesOver, kPriority},
        {kPool, kConnectionWait, kBulkhead, kSendRate, kErrors, kErrorLists, kSecondGroup},
        {kAdaptiveLimit, kFaults, kFaultCapacity, kFaultRestart, kInstances, kServiceTimeout},
    };
    return theme_ < themes.size() && std::ranges::find(themes[theme_], f) != themes[theme_].end();
  }

  // Draws of a feature for the group, service or fault that is being made.
  Draws& draws(Feature f) {
    const auto number = static_cast<std::uint64_t>(f);
    const std::uint32_t place = place_;
    const auto [at, is_new] =
        draws_.try_emplace({number, place}, Draws(key_, {number, place, 0, Purpose::kArrival}));
    return at->second;
  }
  bool on(Feature f, double probability) {
    const double raised = is_in_theme(f) ? std::max(probability, 0.7) : probability;
    const bool drawn = draws(f).uniform() < raised;
    const auto i = static_cast<std::size_t>(f);
    if (drawn && allowed_[i]) used_.set(i);
    return drawn && allowed_[i];
  }
  template <class T>
  T pick(Feature f, std::initializer_list<T> values) {
    return values.begin()[draws(f).below(static_cast<std::uint32_t>(values.size()))];
  }
  template <class Enum>
  Enum any(Feature f, Enum last) {
    return static_cast<Enum>(draws(f).below(static_cast<std::uint32_t>(last) + 1));
  }
  Duration time(Feature f) {
    return pick(f, {ms(1), ms(2), ms(5), ms(10), ms(10), ms(20), ms(50), ms(100)});
  }
  /// A length of time: nearly always a round number, or exponential.
  Distribution length(Feature f) {
    const Duration mean = time(f);
    const double s = mean.in_seconds();
    if (on(kOtherTimes, 0.1)) {
      switch (draws(f).below(8)) {
        case 0:
          return Distribution::uniform(s / 2, s * 2);
        case 1:
          return Distribution::erlang(s, 3);
        case 2:
          return Distribution::lognormal(s, 1.5);
        case 3:
          return Distribution::pareto(s, 2.5);
        case 4:
          return Distribution::normal(s, s / 2);
        case 5:
          return Distribution::gamma(s, 0.5);
        case 6:
          return Distribution::hyperexponential_cv(s, 3);
        default:
          return Distribution::empirical({0, s, 2 * s}, {1, 2, 1});
      }
    }
    return draws(f).uniform() < 0.6 ? Distribution::constant(mean) : Distribution::exponential(s);
  }

  void network() {
    NetworkSpec& n = scenario_.network;
    if (on(kLatency, 0.5))
      n.latency = Distribution::constant(pick(kLatency, {ms(1), ms(5), ms(10)}));
    if (on(kRandomLatency, 0.15)) n.latency = length(kRandomLatency);
    if (on(kConnectTime, 0.1)) n.connect = length(kConnectTime);
    if (on(kLoss, 0.1)) n.request_loss = 0.1;
    if (on(kLoss, 0.1)) n.response_loss = 0.1;
  }

  void services() {
    const std::size_t count = 1 + on(kSecondService, 0.3) + on(kCalls, 0.3) + on(kSecondCall, 0.3);
    for (std::size_t i = 0; i < count; ++i) {
      ++place_;
      service();
    }
  }

  void service() {
    ServiceSpec& s = scenario_.services.emplace_back();
    s.name = pick<std::string>(kSecondService, {"a", "b", "x"}) +
             std::to_string(scenario_.services.size());
    s.service_time = length(kNoServiceTime);
    if (on(kNoServiceTime, 0.05)) s.service_time = {};
    if (on(kTimePerRequest, 0.2)) {
      s.service_time_per = ServiceTimePer::kRequest;
      s.service_time_repeats = pick(kTimePerRequest, {1.0, 1.0, 0.5, 0.0});
    }
    s.servers = pick<std::int64_t>(kUnlimitedServers, {1, 1, 2, 2, 3, 5, 30});
    if (on(kUnlimitedServers, 0.05)) s.servers = ServiceSpec::kUnlimited;
    if (on(kErrors, 0.3)) s.errors = errors(kErrors);
    if (on(kLateErrors, 0.3)) s.errors_at.share = pick(kLateErrors, {0.0, 0.3, 0.5, 1.0, 1.0});
    if (on(kIndependent, 0.07)) {
      s.model = ServiceModelKind::kIndependent;
      s.servers = ServiceSpec::kUnlimited;
    }
    if (on(kInstances, 0.25)) {
      s.instances.count = pick<std::uint32_t>(kInstances, {2, 3, 4});
      s.instances.balancing = any(kInstances, Balancing::kPeakEwma);
      balancing(s.instances);
    }
    slowdown(s);
    if (on(kLifo, 0.2)) s.queue.discipline = Discipline::kLifo;
    if (on(kAdaptiveLifo, 0.2)) {
      s.queue.discipline = Discipline::kAdaptiveLifo;
      s.queue.lifo_above = pick<std::int64_t>(kAdaptiveLifo, {0, 1, 2, 5, QueueSpec::kAsServers});
    }
    if (on(kPriority, 0.2)) s.queue.discipline = Discipline::kPriority;
    if (on(kBoundedQueue, 0.5)) s.queue.capacity = pick<std::int64_t>(kBoundedQueue, {0, 1, 5, 20});
    if (on(kDropExpired, 0.15)) s.queue.drop_expired = true;
    if (on(kMaxAge, 0.25)) s.queue.max_age = pick(kMaxAge, {ms(0), ms(5), ms(20), ms(20), ms(100)});
    if (on(kConcurrency, 0.2)) s.concurrency.limit = pick<std::int64_t>(kConcurrency, {1, 3, 10});
    if (on(kEvictLowest, 0.25)) s.queue.when_full = WhenFull::kEvictLowest;
    if (on(kPartitions, 0.15)) partitions(s.concurrency);
    if (on(kAdaptiveLimit, 0.3)) adaptive_limit(s);
    if (on(kOverflow, 0.4)) s.rejection.overflow = any(kOverflow, Overflow::kDrop);
    if (on(kRejectCost, 0.15)) s.rejection.cost = pick(kRejectCost, {ms(1), ms(2), ms(5)});
    if (on(kAbandoned, 0.5)) s.abandoned = any(kAbandoned, Abandoned::kAbort);
    if (on(kServiceTimeout, 0.15)) s.timeout = time(kServiceTimeout);
    throttle(s);
    if (on(kOwnAnswers, 0.15)) s.answers.overflow = ServiceAnswer{{503, "SlowDown"}, ms(30)};
    if (on(kOwnAnswers, 0.15)) s.answers.shed = ServiceAnswer{{429, "Shed"}, {}};
    if (on(kOwnAnswers, 0.15)) s.answers.call_failed = ServiceAnswer{{429, ""}};
    if (on(kCapacityProfile, 0.1) && s.servers != ServiceSpec::kUnlimited) {
      s.profile = {{Time::zero(), Time::zero() + ms(200), Time::zero() + ms(400)},
                   {1, pick(kCapacityProfile, {0.0, 0.5}), pick(kCapacityProfile, {1.0, 2.0})}};
    }
    s.parallel_calls = on(kParallelCalls, 0.5);
    idempotency(s);
  }

  // Of the three priorities that groups have, some.
  void partitions(ConcurrencySpec& c) {
    c.limit = pick<std::int64_t>(kPartitions, {1, 3, 3, 10});
    for (const std::uint8_t priority : {std::uint8_t{2}, std::uint8_t{0}, std::uint8_t{1}}) {
      if (draws(kPartitions).uniform() < 0.3) continue;
      PartitionSpec& p = c.partitions.emplace_back();
      p.name = "p" + std::to_string(priority);
      p.priority = priority;
      p.share = pick(kPartitions, {PartitionSpec::kNone, 0.0, 0.3, 0.5, 1.0});
      p.refuse_from = pick(kPartitions, {1.0, 1.0, 0.7, 0.4});
    }
  }

  // Scenarios are short: clocks and thresholds are such that the limits have something to do.
  void adaptive_limit(ServiceSpec& s) {
    constexpr Feature f = kAdaptiveLimit;
    ConcurrencySpec c = ConcurrencySpec::of(any(f, ConcurrencyControl::kSentinel));
    c.limit = s.concurrency.limit;
    c.min = pick<std::int64_t>(f, {1, 1, 2, 3});
    c.initial = c.min + pick<std::int64_t>(f, {0, 1, 5, 20});
    c.max = c.initial + pick<std::int64_t>(f, {0, 2, 10, 1000});
    c.smoothing = pick(f, {0.2, 0.5, 1.0, 1.0});
    c.slow = pick(f, {ms(5), ms(20), ms(100)});
    c.alpha = pick<std::int64_t>(f, {1, 2, 3});
    c.beta = c.alpha + pick<std::int64_t>(f, {0, 1, 3});
    c.probe_multiplier = pick<std::int64_t>(f, {1, 3, 30});
    c.percentile = pick(f, {0.0, 0.5, 0.5, 0.9, 1.0});
    c.interval = pick(f, {ms(1), ms(10), ms(25), ms(100)});
    c.min_rtt = pick(f, {Duration::max(), Duration::max(), Duration::max(), ms(1), ms(5)});
    c.min_rtt_interval = pick(f, {ms(20), ms(100), ms(300)});
    c.min_rtt_jitter = pick(f, {0.0, 0.15, 1.0});
    c.min_rtt_requests = pick<std::int64_t>(f, {1, 3, 10});
    c.measure_at_min = on(f, 0.7);
    c.cpu = pick(f, {0.0, 0.02, 0.05, 0.1, 0.3});
    c.load = pick(f, {0.0, 0.1, 2.5});
    c.window = pick(f, {ms(20), ms(100), ms(1000)});
    c.buckets = pick<std::int64_t>(f, {1, 2, 5, 20});
    c.partitions = s.concurrency.partitions;
    if (c.needs_servers() && s.servers == ServiceSpec::kUnlimited) return;
    s.concurrency = c;
  }

  void balancing(InstancesSpec& i) {
    if (on(kTies, 0.4)) i.ties = any(kTies, Ties::kTurns);
    if (on(kTies, 0.3)) i.decay = time(kTies);
    if (on(kTies, 0.3)) i.first_latency = pick(kTies, {ms(0), ms(1), ms(30)});
    if (on(kBalancers, 0.4)) i.balancer = BalancerScope::kClient;
    if (on(kBalancers, 0.4)) i.subset = pick<std::uint32_t>(kBalancers, {1, 2, 2});
    if (on(kPanic, 0.3)) {
      i.panic_threshold = pick(kPanic, {0.3, 0.5, 0.5, 1.0});
      i.panic_overprovisioning = pick(kPanic, {1.0, 1.4, 1.4, 2.0});
    }
    if (on(kEjection, 0.4)) {
      EjectionSpec& e = i.ejection;
      e.interval = pick(kEjection, {ms(10), ms(50), ms(100)});
      e.base_ejection_time = pick(kEjection, {ms(1), ms(20), ms(50), ms(200)});
      e.max_ejection_time = e.base_ejection_time * pick(kEjection, {1, 2, 10});
      e.consecutive_5xx = pick<std::uint32_t>(kEjection, {1, 2, 3, EjectionSpec::kNever});
      e.consecutive_gateway_failure =
          pick<std::uint32_t>(kEjection, {1, 2, EjectionSpec::kNever, EjectionSpec::kNever});
      e.max_ejection_percent = pick(kEjection, {10.0, 50.0, 100.0, 100.0});
      e.always_eject_one_host = draws(kEjection).uniform() < 0.5;
      e.success_rate_stdev_factor = pick(kEjection, {0.0, 500.0, 1000.0, 1900.0});
      e.success_rate_minimum_hosts = pick<std::uint32_t>(kEjection, {1, 2, 3});
      e.success_rate_request_volume = pick<std::uint32_t>(kEjection, {1, 3, 5});
      e.failure_percentage_threshold = pick(kEjection, {0.0, 50.0, 85.0});
      e.failure_percentage_minimum_hosts = pick<std::uint32_t>(kEjection, {1, 2});
      e.failure_percentage_request_volume = pick<std::uint32_t>(kEjection, {1, 3});
    }
    if (on(kAccrual, 0.3)) {
      AccrualSpec& a = i.accrual;
      a.max_failures = pick<std::uint32_t>(kAccrual, {1, 2, 3});
      a.min_penalty = pick(kAccrual, {ms(1), ms(10), ms(50)});
      a.max_penalty = a.min_penalty * pick(kAccrual, {1, 3, 50});
      a.jitter_ratio = pick(kAccrual, {0.0, 0.5, 1.0});
      a.penalties = any(kAccrual, Penalties::kEqualJittered);
    }
  }

  std::vector<RandomError> errors(Feature f) {
    std::vector<RandomError> all;
    const double p = pick(f, {0.05, 0.2, 0.4});
    all.push_back({{pick(f, {500, 503, 400, 429}), ""}, p});
    if (draws(f).uniform() < 0.5) all.push_back({{400, "ThrottlingException"}, p / 2});
    return all;
  }

  void slowdown(ServiceSpec& s) {
    if (!on(kSlowdown, 0.15)) return;
    s.slowdown.curve = any(kSlowdown, SlowdownCurve::kTable);
    s.slowdown.per_attempt = 0.25;
    if (s.slowdown.curve == SlowdownCurve::kTable) s.slowdown.table = {{0, 2, 5}, {1, 1.5, 4}};
  }

  void throttle(ServiceSpec& s) {
    if (!on(kThrottle, 0.3)) return;
    ThrottleSpec& t = s.throttle;
    t.rate = pick(kThrottle, {20.0, 100.0, 200.0});
    t.burst = pick(kThrottle, {1.0, 5.0, 20.0});
    if (on(kThrottleWindow, 0.3)) t.window = ms(100);
    if (on(kThrottleScope, 0.4)) t.scope = any(kThrottleScope, ThrottleScope::kKey);
    if (on(kRetryAfter, 0.3)) t.retry_after = time(kRetryAfter);
    if (!on(kThrottleLimits, 0.3)) return;
    const double own = pick(kThrottleLimits, {0.0, 10.0, 50.0});
    if (draws(kThrottleLimits).uniform() < 0.5) {
      t.operations = {{"put", own, 2, {}}, {"get", 40, 5, ms(50)}};
    } else {
      t.keys = {{"1", own, 2, {}}};
    }
  }

  void idempotency(ServiceSpec& s) {
    if (!on(kIdempotency, 0.3)) return;
    IdempotencySpec& i = s.idempotency;
    i.window = pick(kIdempotency, {ms(20), ms(200), Duration::seconds(60)});
    i.replay = any(kIdempotency, IdempotentReplay::kAlreadyExists);
    i.in_progress = any(kIdempotency, InProgress::kExecute);
    if (on(kTokenWait, 0.4)) i.in_progress = InProgress::kWait;
    i.replay_cost = pick(kIdempotency, {Duration::zero(), ms(1)});
    if (on(kWriteDelay, 0.3)) i.write_delay = length(kWriteDelay);
    if (on(kTokenFirst, 0.3)) {
      i.stored = TokenStored::kBeforeEffect;
      i.write_delay = {};
    }
  }

  void fault() {
    ++place_;
    FaultSpec& f = scenario_.faults.emplace_back();
    f.name = pick<std::string>(kFaults, {"p", "q", "r"}) + std::to_string(place_);
    f.service = draws(kFaults).below(static_cast<std::uint32_t>(scenario_.services.size()));
    ServiceSpec& s = scenario_.services[f.service];
    f.start = Time::zero() + pick(kFaults, {ms(0), ms(100), ms(200), ms(250), ms(400)});
    f.duration = pick(kFaults, {ms(50), ms(100), ms(200), ms(500)});
    if (on(kFaultCapacity, 0.4) && s.servers != ServiceSpec::kUnlimited) {
      f.capacity = pick(kFaultCapacity, {0.0, 0.3, 0.5, 2.0});
    }
    if (on(kFaultSpeed, 0.4)) f.speed = pick(kFaultSpeed, {0.0, 0.1, 0.5, 0.7, 2.0});
    if (on(kFaultLatency, 0.3)) f.latency = pick(kFaultLatency, {ms(5), ms(10), ms(50)});
    if (on(kFaultErrors, 0.3)) f.errors = errors(kFaultErrors);
    if (on(kLateErrors, 0.3)) f.errors_at.share = pick(kLateErrors, {0.0, 0.3, 0.5, 1.0, 1.0});
    if (on(kFaultLoss, 0.15)) f.request_loss = 0.3;
    if (on(kFaultLoss, 0.15)) f.response_loss = 0.3;
    if (on(kFaultUnreachable, 0.1)) f.unreachable = true;
    if (on(kFaultBlackHole, 0.1)) f.black_hole = true;
    if (on(kFaultRestart, 0.2)) f.cold_restart = true;
    if (on(kFaultCrash, 0.2)) f.crash = true;
    if (on(kFaultOfInstance, 0.5) && s.instances.count > 1) {
      f.instance = 1 + draws(kFaultOfInstance).below(s.instances.count);
      f.instances = 1 + draws(kFaultOfInstance).below(s.instances.count - f.instance + 1);
    }
  }

  /// Leaves to chance some of the faults, and plays a draw of them.
  void random_faults() {
    Draws& chance = draws(kRandomFaults);
    std::vector<FaultSpec> scripted;
    for (FaultSpec& f : scenario_.faults) {
      if (chance.uniform() < 0.3) {
        scripted.push_back(std::move(f));
        continue;
      }
      RandomFault& random = scenario_.random_faults.emplace_back();
      random.fault = std::move(f);
      FaultChance& c = random.chance;
      const std::uint32_t kind = chance.below(4);
      if (kind == 0) {
        c.per_year = 365.0 * 86'400 / 0.3;
        c.at_load = pick(kRandomFaults, {0.0, 0.5, 1.0});
        c.load_exponent = pick(kRandomFaults, {1.0, 3.0});
      }
      if (kind == 1) c.mtbf = Distribution::exponential(0.2);
      if (kind == 2) c.mtbf = Distribution::uniform(0.05, 0.4);
      const std::string& other = scenario_.random_faults.front().fault.name;
      if (kind == 3 && other != random.fault.name) {
        c.with = scripted.empty() ? other : scripted.front().name;
        c.probability = pick(kRandomFaults, {0.5, 1.0});
      }
      if (kind == 3 || chance.uniform() < 0.5) c.length = Distribution::exponential(0.1);
      if (random.fault.capacity != 1) c.capacity_to = 1.0;
      if (random.fault.speed != 1) c.speed_to = 0.5;
    }
    scenario_.faults = std::move(scripted);
    scenario_.fault_draw = 1 + chance.below(1000);
    std::vector<FaultSpec> drawn;
    try {
      drawn = draw_faults(scenario_, scenario_.fault_draw, scenario_.duration);
    } catch (const RequestError&) {  // too many where the load is many times the servers'
      for (RandomFault& f : scenario_.random_faults) f.chance.at_load = 0;
      drawn = draw_faults(scenario_, scenario_.fault_draw, scenario_.duration);
    }
    for (FaultSpec& f : drawn) scenario_.faults.push_back(std::move(f));
  }

  // Services call only services after them.
  void calls() {
    for (std::size_t caller = 0; caller < scenario_.services.size(); ++caller) {
      for (std::size_t callee = caller + 1; callee < scenario_.services.size(); ++callee) {
        ++place_;
        if (!on(callee == caller + 1 ? kCalls : kSecondCall, 0.6)) continue;
        call(caller, callee);
        if (!on(kExtraCall, 0.3)) continue;
        const std::uint32_t place = std::exchange(place_, place_ + 1000);
        call(caller, callee);
        place_ = place;
      }
      alternatives(caller);
      fallbacks(caller);
    }
  }

  void call(std::size_t caller, std::size_t callee) {
    ClientSpec& c = scenario_.clients.emplace_back();
    c.name = pick<std::string>(kCalls, {"m", "n", "o"}) + std::to_string(place_);
    c.service = callee;
    c.arrivals.process = ArrivalProcess::kCalls;
    CallSpec& call = scenario_.calls.emplace_back();
    call.caller = caller;
    call.client = scenario_.clients.size() - 1;
    c.count = scenario_.services[caller].instances.count;
    if (on(kBranches, 0.2)) call.share = pick(kBranches, {0.0, 0.3, 0.5, 0.9});
    if (on(kCallsByOperation, 0.2)) {
      call.operations = {pick<std::string>(kCallsByOperation, {"get", "put"})};
    }
    if (on(kTakesOver, 0.3)) {
      call.callers_operation = draws(kTakesOver).uniform() < 0.7;
      call.callers_key = draws(kTakesOver).uniform() < 0.7;
      call.callers_priority = draws(kTakesOver).uniform() < 0.7;
    }
    if (on(kFanOut, 0.2)) {
      call.count = pick<std::uint32_t>(kFanOut, {0, 2, 3, 5});
      if (draws(kFanOut).uniform() < 0.3) call.random_count = Distribution::uniform(0, 4);
    }
    if (on(kQuorum, 0.5) && (call.count > 1 || call.random_count)) {
      call.need = 1 + draws(kQuorum).below(call.random_count ? 4 : call.count);
    }
    if (on(kStages, 0.3)) call.stage = 1 + draws(kStages).below(3);
    if (on(kOnFailure, 0.3)) call.on_failure = CallFailure::kIgnore;
    if (on(kCache, 0.3)) cache(call.cache);
    client(c);
    if (on(kDeadlineOfCaller, 0.4)) {
      c.timeouts.deadline = Duration::max();
      c.timeouts.deadline_of_caller = true;
    }
    if (on(kRetryOnlyAt, 0.4)) {
      c.retry_only_at = pick(kRetryOnlyAt, {RetryOnlyAt::kEdge, RetryOnlyAt::kFirstAttempt,
                                            RetryOnlyAt::kFirstAttempt});
    }
  }

  void cache(CacheSpec& cache) {
    if (draws(kCache).uniform() < 0.3) {
      cache.hit = pick(kCache, {0.3, 1.0});
      return;
    }
    cache.capacity = pick(kCache, {1u, 2u, 5u, CacheSpec::kUnlimited});
    cache.policy = any(kCache, CachePolicy::kFifo);
    if (draws(kCache).uniform() < 0.5) cache.ttl = pick(kCache, {ms(10), ms(50), ms(200)});
  }

  std::vector<CallSpec*> calls_of(std::size_t caller) {
    std::vector<CallSpec*> all;
    for (CallSpec& call : scenario_.calls) {
      if (call.caller == caller) all.push_back(&call);
    }
    return all;
  }

  // Some calls of a service, all of one stage.
  void alternatives(std::size_t caller) {
    for (CallSpec* call : calls_of(caller)) {
      if (!on(kBranches, 0.3)) continue;
      call->one_of = "some";
      call->share = pick(kBranches, {0.5, 1.0, 3.0});
      call->stage = 2;
    }
  }

  // A call falls back on one after it that is no alternative.
  void fallbacks(std::size_t caller) {
    const std::vector<CallSpec*> all = calls_of(caller);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i + 1 == all.size() || !on(kOnFailure, 0.4)) continue;
      const std::size_t after = all.size() - i - 1;
      const CallSpec* other =
          all[i + 1 + draws(kOnFailure).below(static_cast<std::uint32_t>(after))];
      if (!other->one_of.empty()) continue;
      all[i]->on_failure = CallFailure::kFallback;
      all[i]->fallback = scenario_.clients[other->client].name;
    }
  }

  void group() {
    ++place_;
    ClientSpec& c = scenario_.clients.emplace_back();
    c.name = pick<std::string>(kSecondGroup, {"g", "h", "z"}) + std::to_string(place_);
    c.count = pick<std::uint32_t>(kSecondGroup, {1, 1, 2, 5, 20});
    c.service = draws(kSecondGroup).below(on(kSecondService, 0.5) ? services_count() : 1);
    if (on(kSeveralTargets, 0.15))
      c.more_services = {draws(kSeveralTargets).below(services_count())};
    arrivals(c);
    operations(c);
    client(c);
  }
  std::uint32_t services_count() const {
    return static_cast<std::uint32_t>(scenario_.services.size());
  }

  void arrivals(ClientSpec& c) {
    ArrivalSpec& a = c.arrivals;
    const double total = pick(kSurge, {20.0, 100.0, 200.0, 400.0});
    a.rate = total / c.count;
    if (on(kConstantArrivals, 0.3)) {
      a.process = ArrivalProcess::kConstant;
      a.aligned = draws(kConstantArrivals).uniform() < 0.5;
    }
    if (on(kProfile, 0.15)) {
      a.profile = {{Time::zero(), Time::zero() + ms(100), Time::zero() + ms(300)},
                   {pick(kProfile, {0.0, 1.0}), 2, pick(kProfile, {0.0, 0.5})},
                   draws(kProfile).uniform() < 0.5};
    }
    if (on(kSurge, 0.15)) a.surges.push_back({"s", Time::zero() + ms(100), ms(100), 3});
    if (on(kSurge, 0.15)) a.surges.push_back({"r", Time::zero() + ms(150), ms(100), 0.5});
    if (on(kClosed, 0.25)) {
      a.process = ArrivalProcess::kClosed;
      a.think_time = length(kClosed);
      a.concurrency = pick<std::uint32_t>(kClosed, {1, 1, 3});
      a.think_from_start = on(kThinkFromStart, 0.3);
    }
    if (on(kHerd, 0.15)) {
      a.process = ArrivalProcess::kOnce;
      c.count = pick<std::uint32_t>(kHerd, {5, 50});
      a.start = Time::zero() + pick(kHerd, {ms(0), ms(100)});
      a.spread = pick(kHerd, {ms(0), ms(0), ms(100)});
    }
    if (!on(kTrace, 0.12)) return;
    a.process = ArrivalProcess::kTrace;
    if (draws(kTrace).uniform() < 0.5) {
      for (int i = 0; i < 60; ++i) a.rows.push_back(Time::zero() + ms(i / 3 * 10));
    } else {
      a.profile = {{Time::zero(), Time::zero() + ms(200)}, {total, total / 2}, false};
      a.even_spacing = draws(kTrace).uniform() < 0.5;
    }
  }

  void operations(ClientSpec& c) {
    if (on(kOperations, 0.25)) {
      c.operations = {{"get", 2, 1, {}, {}}, {"put", 1, 2.5, {}, {}}};
      if (on(kErrorLists, 0.3)) {
        c.operations[1].not_retried_on = {{ErrorPattern::Of::kHundred, 5, ""}};
        if (draws(kErrorLists).uniform() < 0.3) c.operations[1].not_retried_on = {{}};
      }
      if (draws(kOperations).uniform() < 0.3) c.operations[1].service = services_count() - 1;
    }
    if (!on(kKeys, 0.25)) return;
    c.keys.count = pick<std::uint32_t>(kKeys, {2, 5, 20});
    c.keys.popularity = any(kKeys, Popularity::kHot);
    c.keys.exponent = 1.1;
    c.keys.hot_share = 0.4;
  }

  // What outside groups and callers have in common.
  void client(ClientSpec& c) {
    c.priority = static_cast<std::uint8_t>(draws(kPriority).below(3));
    if (on(kRetryPriority, 0.2)) c.retry_priority = pick<std::uint8_t>(kRetryPriority, {0, 1, 2});
    if (on(kTimeout, 0.8)) {
      c.timeouts.has_attempt = true;
      c.timeouts.attempt = Distribution::constant(time(kTimeout));
    }
    if (on(kRandomTimeout, 0.1)) {
      c.timeouts.has_attempt = true;
      c.timeouts.attempt = length(kRandomTimeout);
    }
    if (on(kConnectTimeout, 0.2)) c.timeouts.connect = time(kConnectTimeout);
    if (on(kDeadline, 0.3)) {
      c.timeouts.deadline = pick(kDeadline, {ms(10), ms(50), ms(100), ms(300)});
    }
    if (on(kPool, 0.1)) c.max_connections = pick<std::uint32_t>(kPool, {1, 2, 5});
    if (on(kConnectionWait, 0.5)) {
      c.connection_wait = pick(kConnectionWait, {ms(0), ms(5), ms(20), ms(50), Duration::max()});
      c.connection_queue = pick<std::uint32_t>(kConnectionWait, {0, 2, ClientSpec::kUnlimited});
      if (draws(kConnectionWait).uniform() < 0.3) c.max_connections = 2;
    }
    if (on(kBulkhead, 0.15)) {
      c.bulkhead = {pick<std::uint32_t>(kBulkhead, {1, 2, 5}),
                    pick(kBulkhead, {ms(0), ms(5), ms(20), Duration::max()}),
                    pick<std::uint32_t>(kBulkhead, {0, 3, BulkheadSpec::kUnlimited})};
    }
    if (on(kSendRate, 0.15)) {
      c.send_rate = {pick(kSendRate, {10.0, 50.0, 100.0}), pick(kSendRate, {1.0, 2.0, 10.0}),
                     any(kSendRate, SendRateOnEmpty::kFail),
                     pick(kSendRate, {ms(5), ms(50), Duration::max(), Duration::max()})};
    }
    if (on(kLongPoll, 0.15)) c.long_poll = true;
    if (on(kUnrepeatable, 0.1)) c.unrepeatable = 0.3;
    if (on(kSideEffects, 0.4)) {
      c.side_effects.mutating = pick(kSideEffects, {0.5, 1.0});
      c.side_effects.idempotency_token = draws(kSideEffects).uniform() < 0.9;
      if (on(kTokenReuse, 0.2)) c.side_effects.token_reuse = 0.2;
      if (on(kTokenOfContent, 0.4)) c.side_effects.token_from = TokenSource::kContent;
    }
    strategy(c.retry);
    if (on(kCallBreaker, 0.2)) breaker(c.breaker);
    if (!on(kSharedRetryer, 0.15) || c.makes_calls()) return;
    c.retryer = "shared";
    for (const ClientSpec& other : scenario_.clients) {
      if (&other != &c && other.retryer == c.retryer) c.retry = other.retry;
    }
  }

  void strategy(RetryRules& r) {
    if (on(kPreset, 0.5)) {
      const auto all = presets();
      r = all[draws(kPreset).below(static_cast<std::uint32_t>(all.size()))].rules;
      r.max_attempts = std::min(r.max_attempts, 8u);
    } else {
      r.mode = RetryMode::kCustom;
      r.max_attempts = pick(kPreset, {1u, 2u, 3u, 5u});
      r.backoff.base = r.backoff.throttle_base = time(kPreset);
      r.backoff.cap = ms(100);
    }
    if (on(kBackoff, 0.5)) backoff(r.backoff);
    if (on(kQuota, 0.3)) quota(r.quota);
    if (on(kLimiter, 0.2)) limiter(r.rate_limit);
    if (on(kStateScope, 0.15)) {
      r.quota.scope = any(kStateScope, RetryScope::kKey);
      r.rate_limit.scope = any(kStateScope, RetryScope::kKey);
    }
    if (on(kBudget, 0.1)) {
      r.budget = {any(kBudget, BudgetKind::kInterval), pick(kBudget, {0.2, 0.5, 1.0}),
                  pick(kBudget, {0.0, 1.0}),           ms(100),
                  any(kBudget, BudgetOf::kSuccesses),  pick(kBudget, {10, 11, 3})};
    }
    if (on(kBreaker, 0.1))
      r.retry_breaker = {true, 0.5, 5, ms(100), pick(kBreaker, {ms(0), ms(50)})};
    if (on(kGuard, 0.15)) {
      r.guard = {true, pick(kGuard, {0.2, 0.5}), pick(kGuard, {ms(10), ms(50)}),
                 pick(kGuard, {1, 2, 4}),
                 draws(kGuard).uniform() < 0.5 ? GuardStart::kOff : GuardStart::kOn};
    }
    if (on(kClientThrottle, 0.1)) {
      r.throttle = {true, pick(kClientThrottle, {1.1, 2.0}), ms(200),
                    pick(kClientThrottle, {0, 20})};
    }
    if (on(kHedging, 0.15)) r.hedging = {true, time(kHedging)};
    if (on(kAvoidHosts, 0.3)) {
      r.avoid_hosts = pick<std::uint32_t>(kAvoidHosts, {1, 1, 3, RetryRules::kUnlimited});
    }
    if (on(kProbability, 0.1)) r.probability = 0.6;
    if (on(kRetryAfter, 0.4)) {
      r.retry_after = any(kRetryAfter, RetryAfter::kAddWhenThrottled);
      r.retry_after_max = pick(kRetryAfter, {Duration(), Duration(), ms(60), Duration::max()});
    }
    if (on(kSuggestionLimit, 0.3)) {
      r.retry_after_max = pick(kSuggestionLimit, {ms(5), ms(20), ms(60), Duration::max()});
      r.retry_after_over = any(kSuggestionLimit, RetryAfterOver::kFail);
      r.retry_after_jitter = pick(kSuggestionLimit, {0.0, 0.1, 1.0});
    }
    if (on(kErrorLists, 0.2)) error_lists(r.errors);
    if (on(kLongPoll, 0.3)) r.long_poll = any(kLongPoll, LongPoll::kWaitBase);
  }

  // Breakers of libraries, with numbers that a short run reaches.
  void breaker(BreakerRules& b) {
    const auto all = breaker_presets();
    b = all[draws(kCallBreaker).below(static_cast<std::uint32_t>(all.size()))].rules;
    b.min_calls = pick(kCallBreaker, {0u, 1u, 3u, 10u});
    b.open = pick(kCallBreaker, {ms(20), ms(100), ms(1000)});
    if (b.window_calls > 0) b.window_calls = pick(kCallBreaker, {5u, 20u});
    b.window = pick(kCallBreaker, {ms(50), ms(500)});
    b.slices = std::min(b.slices, 10u);
    b.order = any(kCallBreaker, BreakerOrder::kBreakerOutside);
    b.scope = any(kCallBreaker, b.order == BreakerOrder::kRetryOutside ? BreakerScope::kHost
                                                                       : BreakerScope::kService);
    if (!on(kBreakerRules, 0.5)) return;
    b.failure_share = pick(kBreakerRules, {0.1, 0.5, 1.0});
    b.slow_share = pick(kBreakerRules, {0.0, 0.5});
    b.slow_call = pick(kBreakerRules, {ms(1), ms(20)});
    b.consecutive = pick(kBreakerRules, {0u, 1u, 3u});
    b.above = draws(kBreakerRules).uniform() < 0.5;
    b.slicing = any(kBreakerRules, BreakerSlices::kRing);
    b.judges_successes = draws(kBreakerRules).uniform() < 0.5;
    b.counts_asked = b.window_calls == 0 && draws(kBreakerRules).uniform() < 0.3;
    b.keeps_counts = draws(kBreakerRules).uniform() < 0.3;
    b.counts_probe = draws(kBreakerRules).uniform() < 0.3;
    b.counts_late = draws(kBreakerRules).uniform() < 0.5;
    b.retry_refused = draws(kBreakerRules).uniform() < 0.7;
    if (draws(kBreakerRules).uniform() < 0.3) b.ignored.add(ResponseClass::kThrottling);
    b.open_factor = pick(kBreakerRules, {1.0, 1.5});
    b.open_cap = pick(kBreakerRules, {ms(50), Duration::max()});
    b.probes = pick(kBreakerRules, {1u, 2u, 5u});
    b.close_on = any(kBreakerRules, BreakerClose::kConsecutive);
    b.close_after = pick(kBreakerRules, {1u, 3u});
  }

  void error_lists(ErrorRules& e) {
    using Of = ErrorPattern::Of;
    const std::vector<ErrorPattern> all = {
        {Of::kAny, 0, ""},          {Of::kStatus, 503, ""},
        {Of::kStatus, 400, ""},     {Of::kStatus, 429, ""},
        {Of::kHundred, 5, ""},      {Of::kHundred, 4, ""},
        {Of::kNoConnection, 0, ""}, {Of::kBulkheadFull, 0, ""},
        {Of::kNotPermitted, 0, ""}, {Of::kThrottled, 0, ""},
        {Of::kTimeout, 0, ""},      {Of::kConnection, 0, ""},
        {Of::kCode, 0, "SlowDown"}, {Of::kStatus, 400, "ThrottlingException"}};
    const auto one = [&] {
      return all[draws(kErrorLists).below(static_cast<std::uint32_t>(all.size()))];
    };
    for (std::uint32_t n = draws(kErrorLists).below(5); n > 0; --n) e.on.push_back(one());
    for (std::uint32_t n = draws(kErrorLists).below(3); n > 0; --n) e.not_on.push_back(one());
    for (std::uint32_t n = draws(kErrorLists).below(3); n > 0; --n) {
      e.bases.push_back({one(), time(kErrorLists)});
    }
  }

  void backoff(BackoffRules& b) {
    b.base = time(kBackoff);
    b.throttle_base = time(kBackoff);
    b.factor = pick(kBackoff, {1.0, 1.6, 2.0, 3.0});
    b.cap = pick(kBackoff, {ms(20), ms(100), Duration::max()});
    b.jitter = any(kBackoff, Jitter::kDecorrelatedV2);
    b.throttle_jitter = any(kBackoff, Jitter::kDecorrelatedV2);
    b.jitter_share = pick(kBackoff, {0.0, 0.2, 1.0});
    b.first_exponent = pick(kBackoff, {0, 0, 1, -1});
    b.max_exponent = pick(kBackoff, {2, BackoffRules::kUnlimited});
    b.jitter_before_cap = draws(kBackoff).uniform() < 0.3;
    b.over_cap = any(kBackoff, OverCap::kRedraw);
    if (b.cap == Duration::max()) b.over_cap = OverCap::kLimit;
    b.immediate_retries = pick(kBackoff, {0, 0, 1});
    b.decorrelated_from_full = draws(kBackoff).uniform() < 0.3;
    if (on(kQuantum, 0.3)) {
      b.quantum = pick(kQuantum, {ms(1), ms(3)});
      b.rounding = any(kQuantum, Rounding::kMantissa);
    }
    if (on(kGrowth, 0.3)) {
      b.growth = any(kGrowth, Growth::kPolynomial);
      b.power = pick(kGrowth, {0.0, 0.5, 2.0, 3.0});
    }
    if (on(kJitterWidth, 0.2)) {
      b.jitter_width = pick(kJitterWidth, {ms(0), ms(5), ms(30)});
      b.jitter = pick(kJitterWidth, {Jitter::kPlusWidth, Jitter::kPlusMinusWidth});
      b.throttle_jitter =
          pick(kJitterWidth, {Jitter::kPlusWidth, Jitter::kPlusMinusWidth, Jitter::kFull});
    }
    if (on(kDelays, 0.1)) b.delays = {length(kDelays), length(kDelays)};
    if (on(kDelaysGoOn, 0.5)) {
      b.delays_then = any(kDelaysGoOn, DelaysThen::kGrow);
      b.delays_factor = pick(kDelaysGoOn, {0.5, 1.5, 2.0});
      b.delays_cap = pick(kDelaysGoOn, {ms(20), ms(50), Duration::max()});
    }
  }

  void quota(QuotaRules& q) {
    q = {};
    q.enabled = true;
    q.capacity = pick(kQuota, {5, 20, 100});
    q.initial = pick(kQuota, {0, 5});
    q.cost = pick(kQuota, {1, 5});
    q.throttle_cost = pick(kQuota, {0, 1, 5});
    q.timeout_cost = pick(kQuota, {1, 2, 10});
    q.credit = pick(kQuota, {0.0, 0.1, 1.0});
    q.credit_on = any(kQuota, CreditOn::kStart);
    q.refund = any(kQuota, Refund::kSharedLast);
    q.partial = draws(kQuota).uniform() < 0.2;
    if (on(kQuotaOrder, 0.3)) q.order = any(kQuotaOrder, QuotaOrder::kRollback);
    if (on(kQuotaRefill, 0.3)) {
      q.refill_rate = pick(kQuotaRefill, {1.0, 50.0});
      q.refill_interval = pick(kQuotaRefill, {ms(0), ms(10)});
      q.on_empty = any(kQuotaRefill, QuotaOnEmpty::kWait);
    }
    if (!on(kQuotaThreshold, 0.2)) return;
    q.threshold = q.capacity / 2;
    q.failure_cost = 1;
  }

  void limiter(SendRateRules& l) {
    l = {};
    l.enabled = true;
    l.on_empty = pick(kLimiter, {OnEmpty::kBlock, OnEmpty::kBlock, OnEmpty::kFail});
    l.acquire = any(kLimiter, SendTokenTiming::kFirstAttempt);
    l.wait = any(kLimiter, SendTokenWait::kRecheck);
    l.update = any(kLimiter, LimiterUpdate::kRetriedThrottling);
    l.retry_cost = pick(kLimiter, {1, 1, 5});
    l.costly_retry_cost = pick(kLimiter, {1, 1, 10});
    l.min_rate = pick(kLimiter, {0.5, 5.0, 20.0});
    l.initial_measured_rate = pick(kLimiter, {0.0, 0.5});
    l.initial_fill_rate = pick(kLimiter, {0.0, 1.0});
    l.round_rates = draws(kLimiter).uniform() < 0.3;
  }

  RandomKey key_;
  Features allowed_, used_;
  std::size_t theme_;
  std::uint32_t place_ = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Draws> draws_;
  Scenario scenario_;
};

}  // namespace

RandomScenario random_scenario(std::uint64_t seed, const Features& allowed) {
  return Generator(seed, allowed).make();
}

}  // namespace retrysim::reference

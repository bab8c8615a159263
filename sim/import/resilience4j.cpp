// Resilience4j: the retries, timeouts and limits of Spring Boot's configuration.
//
// resilience4j CommonRetryConfigurationProperties, RetryConfig, IntervalFunction (2.4.0): 3
// attempts, 500 ms; multiplier 1.5, randomization 0.5 where these are switched on. The longest wait
// is read only beside numbers for both. CommonTimeLimiterConfigurationProperties: 1 s.
//
// SPDX-License-Identifier: MIT
#include "import/resilience4j.hpp"

#include "import/families.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace retrysim::imports {

namespace {

/// The settings of an instance: its own, or else those of the configurations that it starts from.
class InstanceSettings {
 public:
  /// `overridden` gets the fields in whose place another one counts.
  InstanceSettings(const Field& instance, const std::string& name, const Field& configs,
                   std::vector<Field>& overridden)
      : chain_{instance}, overridden_(&overridden) {
    std::set<std::string> known;
    while (true) {
      const Field base = chain_.back()["base_config"];
      std::string next;
      if (base) {
        next = base.text();
        if (!configs.named(next)) base.fail("there is no configuration of this name");
      } else if (chain_.size() == 1 && configs.named(name)) {
        next = name;
      } else {
        next = "default";
      }
      if (!known.insert(next).second || !configs.named(next)) {
        if (base && known.contains(next)) base.fail("the configurations start from each other");
        return;
      }
      chain_.push_back(configs.named(next));
    }
  }

  Field operator[](std::string_view name) const {
    std::optional<Field> found;
    for (const Field& part : chain_) {
      const Field own = part[name];
      if (!own) continue;
      if (found) {
        overridden_->push_back(own);
      } else {
        found = own;
      }
    }
    return found ? *found : chain_.front()[name];
  }

 private:
  std::vector<Field> chain_;
  std::vector<Field>* overridden_;
};

constexpr std::string_view kOfExceptions[] = {"retry_exceptions", "ignore_exceptions",
                                              "retry_exception_predicate", "result_predicate"};

constexpr std::string_view kSettings[] = {"max_attempts",
                                          "max_retry_attempts",
                                          "wait_duration",
                                          "enable_exponential_backoff",
                                          "exponential_backoff_multiplier",
                                          "exponential_max_wait_duration",
                                          "enable_randomized_wait",
                                          "randomized_wait_factor",
                                          "timeout_duration",
                                          "base_config"};

void read_retry(ImportedPolicy& p, const InstanceSettings& settings) {
  begin(p, "", "");
  const Field now = settings["max_attempts"], before = settings["max_retry_attempts"],
              most = now ? now : before, wait = settings["wait_duration"];
  if (now) before.leave("the name of maxAttempts before version 1.7");
  set(p, "retry.max_attempts", most ? in_toml(static_cast<double>(most.count())) : "3",
      most ? most.source() : "Resilience4j's default");
  const Duration base = wait ? wait.spring_duration() : Duration::milliseconds(500);
  const std::string origin = wait ? wait.source() : "Resilience4j's default";
  const Field grows = settings["enable_exponential_backoff"],
              factor = settings["exponential_backoff_multiplier"],
              cap = settings["exponential_max_wait_duration"];
  const Field spreads = settings["enable_randomized_wait"],
              share = settings["randomized_wait_factor"];
  const bool exponential = grows && grows.flag(), spread = spreads && spreads.flag();
  set_backoff(p, base, 1, std::nullopt, "none", origin);
  if (grows) set(p, "retry.backoff.factor", "1", grows);
  if (spreads) set(p, "retry.backoff.jitter", text_in_toml("none"), spreads);
  if (exponential) {
    set(p, "retry.backoff.factor", factor ? in_toml(factor.number(1, 1e6)) : "1.5",
        factor ? paths({grows, factor}) : grows.path() + ", Resilience4j's default");
    if (cap && factor && (share || !spread)) {
      set(p, "retry.backoff.cap", in_toml(cap.spring_duration()), cap);
      if (spread) set(p, "retry.backoff.jitter_before_cap", "true", cap);
    } else {
      cap.leave(factor ? "Resilience4j needs randomizedWaitFactor for it"
                       : "Resilience4j needs exponentialBackoffMultiplier for it");
    }
  } else {
    factor.leave("enableExponentialBackoff is off");
    cap.leave("enableExponentialBackoff is off");
  }
  if (spread) {
    set(p, "retry.backoff.jitter", text_in_toml("proportional"), spreads);
    set(p, "retry.backoff.jitter_share", share ? in_toml(share.number(0, 1)) : "0.5",
        share ? share.source() : "Resilience4j's default");
  } else {
    share.leave("enableRandomizedWait is off");
  }
  for (const std::string_view list : kOfExceptions) {
    settings[list].leave(fmt::format("exceptions of Java have no counterpart; {}", kRetriedHere));
  }
  settings["fail_after_max_attempts"].leave("a request fails after its last attempt");
}

constexpr std::string_view
    kNoExceptions = "exceptions of Java have no counterpart; each error is a failure here",
    kIsShown = "changes what is shown, not what is called";

constexpr FieldRow kResilience4jBreaker[] = {
    {"failure_rate_threshold", "breaker.failure_share", As::kPercent},
    {"slow_call_rate_threshold", "breaker.slow_share", As::kPercent},
    {"slow_call_duration_threshold", "breaker.slow_call", As::kMillis},
    {"minimum_number_of_calls", "breaker.min_calls", As::kCount},
    {"permitted_number_of_calls_in_half_open_state", "breaker.probes", As::kCount}};
constexpr FieldRow kResilience4jBreakerLeftOut[] = {
    left_out("automatic_transition_from_open_to_half_open_enabled",
             "the first call after the wait is a probe either way"),
    left_out("max_wait_duration_in_half_open_state", "probes are waited for"),
    left_out("record_exceptions", kNoExceptions),
    left_out("ignore_exceptions", kNoExceptions),
    left_out("record_failure_predicate", kNoExceptions),
    left_out("ignore_exception_predicate", kNoExceptions),
    left_out("record_result_predicate", kNoExceptions),
    left_out("register_health_indicator", kIsShown),
    left_out("event_consumer_buffer_size", kIsShown),
    left_out("writable_stack_trace_enabled", kIsShown),
    left_out("allow_health_indicator_to_fail", kIsShown)};

/// Reads how long a breaker stays open. CommonCircuitBreakerConfigurationProperties (2.4.0,
/// configureCircuitBreakerOpenStateIntervalFunction): nothing of it counts without a wait above
/// zero, the longest wait only beside a multiplier; growth and jitter together are refused.
void read_open_time(ImportedPolicy& p, const InstanceSettings& settings) {
  const Field wait = settings["wait_duration_in_open_state"],
              grows = settings["enable_exponential_backoff"],
              factor = settings["exponential_backoff_multiplier"],
              cap = settings["exponential_max_wait_duration_in_open_state"],
              spreads = settings["enable_randomized_wait"],
              share = settings["randomized_wait_factor"];
  const auto is_on = [](const Field& f) { return f && f.flag(); };
  if (!wait || spring_seconds_in(wait.plain()) == 0.0) {
    wait.leave("Resilience4j reads it only above zero");
    for (const Field& f : {grows, factor, cap, spreads, share}) {
      f.leave("Resilience4j reads it only beside waitDurationInOpenState");
    }
    return;
  }
  set(p, "breaker.open", in_toml(wait.spring_duration()), wait);
  const bool exponential = is_on(grows), spread = is_on(spreads);
  if (exponential && spread) {
    spreads.fail("Resilience4j refuses it together with enableExponentialBackoff");
  }
  if (exponential) {
    set(p, "breaker.open_factor", factor ? in_toml(factor.number(1, 1e6)) : "1.5",
        factor ? factor.source() : grows.path() + ", Resilience4j's default");
  }
  if (exponential && factor && cap) {
    set(p, "breaker.open_cap", in_toml(cap.spring_duration()), cap);
  } else if (exponential) {
    cap.leave("Resilience4j needs exponentialBackoffMultiplier for it");
  } else {
    factor.leave("enableExponentialBackoff is off");
    cap.leave("enableExponentialBackoff is off");
  }
  if (spread) {
    spreads.leave_in_part("the breaker stays open for the mean of what is drawn there");
    if (share) share.use();
  } else {
    share.leave("enableRandomizedWait is off");
  }
}

// Reads a circuit breaker: CircuitBreakerConfig, CommonCircuitBreakerConfigurationProperties
// (2.4.0).
void read_breaker(ImportedPolicy& p, const InstanceSettings& settings) {
  const Field type = settings["sliding_window_type"], size = settings["sliding_window_size"];
  const bool by_time = type && plain_name(type.text()) == "timebased";
  set(p, "breaker.preset", text_in_toml(by_time ? "resilience4j-time" : "resilience4j"),
      type ? type.source() : "Resilience4j's default");
  if (size && by_time) {
    set(p, "breaker.window", in_toml(Duration::seconds(size.count())), size);
    set(p, "breaker.slices", in_toml(static_cast<double>(size.count())), size);
  } else if (size) {
    set(p, "breaker.window_calls", in_toml(static_cast<double>(size.count())), size);
  }
  const auto setting = [&](std::string_view key) { return settings[key]; };
  read_fields(p, setting, kResilience4jBreaker);
  read_open_time(p, settings);
  read_fields(p, setting, kResilience4jBreakerLeftOut);
}

// Fields of CommonBulkheadConfigurationProperties, BulkheadConfig.
constexpr FieldRow kResilience4jBulkhead[] = {
    {"max_concurrent_calls", "bulkhead.max_concurrent", As::kCount, "", "25"},
    {"max_wait_duration", "bulkhead.longest_wait", As::kMillis, "", "\"0s\""}};

void read_bulkhead(ImportedPolicy& p, const InstanceSettings& settings) {
  read_fields(
      p, [&](std::string_view name) { return settings[name]; }, kResilience4jBulkhead,
      "Resilience4j");
}

constexpr FieldRow kResilience4jPoolLeftOut[] = {
    left_out("keep_alive_duration", "threads cost nothing here"),
    left_out("event_consumer_buffer_size", kIsShown),
    left_out("writable_stack_trace_enabled", kIsShown), left_out("context_propagators", "is code")};

// Reads a thread pool: CommonThreadPoolBulkheadConfigurationProperties, ThreadPoolBulkheadConfig;
// by default a queue of 100, and threads by the number of processors. Java's ThreadPoolExecutor
// begins a thread beyond the core only when the queue is full; so the calls that it refuses are
// those beyond its most threads and its queue, but it has fewer of them under way before.
void read_thread_pool(ImportedPolicy& p, const InstanceSettings& settings, const Field& instance) {
  const Field most = settings["max_thread_pool_size"], core = settings["core_thread_pool_size"],
              queue = settings["queue_capacity"];
  const Field& threads = most ? most : core;
  if (!threads) {
    return instance.leave("has a thread for each processor: write bulkhead.max_concurrent");
  }
  if (most && core && core.count() > most.count()) {
    core.fail("Resilience4j expects at most maxThreadPoolSize");
  }
  const std::int64_t places = queue ? queue.count() : 100;
  set(p, "bulkhead.max_concurrent", in_toml(static_cast<double>(threads.count())), threads);
  if (places > 0) {
    set(p, "bulkhead.queue", in_toml(static_cast<double>(places)),
        queue ? queue.source() : "Resilience4j's default");
  }
  set(p, "bulkhead.longest_wait", text_in_toml(places > 0 ? "none" : "0s"),
      "a pool's queue has no limit of time");
  if (!most) {
    core.leave_in_part("a full queue lets the pool grow to the number of processors");
  } else if (places > 0 && (!core || core.count() < most.count())) {
    most.leave_in_part(
        "a pool begins threads beyond coreThreadPoolSize only when its queue is full");
  }
  read_fields(
      p, [&](std::string_view name) { return settings[name]; }, kResilience4jPoolLeftOut);
}

// Reads a rate limiter: CommonRateLimiterConfigurationProperties, RateLimiterConfig; by default 50
// calls in 500 ns, and a wait of 5 s.
void read_rate_limiter(ImportedPolicy& p, const InstanceSettings& settings) {
  const Field limit = settings["limit_for_period"], period = settings["limit_refresh_period"],
              wait = settings["timeout_duration"];
  const double calls = limit ? static_cast<double>(limit.count()) : 50;
  const Duration length = period ? period.spring_duration() : Duration::nanoseconds(500);
  if (length <= Duration::zero()) period.fail("Resilience4j expects a duration above zero");
  const std::string from = limit ? limit.source() : "Resilience4j's default";
  set(p, "send_rate.rate", in_toml(calls / length.in_seconds()), from);
  set(p, "send_rate.burst", in_toml(calls), from);
  set(p, "send_rate.longest_wait", in_toml(wait ? wait.spring_duration() : Duration::seconds(5)),
      wait ? wait.source() : "Resilience4j's default");
  if (period) period.leave_in_part("permits come evenly, not all when a period begins");
}

/// The settings of one kind: below the prefix, or, in a part of a file, at the top.
Field settings_of(const Field& document, std::string_view kind) {
  const Field root = document["resilience4j"];
  if (root || !document[kind]) return root[kind];
  return document[kind];
}

/// The members of `instances`, or of `backends`, their name before version 1.0. If there are none,
/// the configurations: the code names its instances.
std::vector<std::pair<std::string, Field>> instances_of(const Field& settings) {
  for (const char* name : {"instances", "backends"}) {
    if (settings[name].is_map()) return settings[name].members();
  }
  return settings["configs"].members();
}

}  // namespace

/// The limits of a document by their kinds and names.
class Resilience4j::Parts {
 public:
  explicit Parts(const Field& document)
      : retries_(settings_of(document, "retry")),
        limiters_(settings_of(document, "timelimiter")),
        breakers_(settings_of(document, "circuitbreaker")),
        bulkheads_(settings_of(document, "bulkhead")),
        pools_(settings_of(document, "thread-pool-bulkhead")),
        rates_(settings_of(document, "ratelimiter")),
        retry_order_(retries_["retry_aspect_order"]),
        breaker_order_(breakers_["circuit_breaker_aspect_order"]) {}

  void read_filter(ImportedPolicy& p, const std::string& name, bool is_outside, bool is_limited);
  void add_policies(const std::string& profile, std::vector<ImportedPolicy>& policies);
  void leave_unused();

 private:
  InstanceSettings settings(const Field& kind, const Field& instance, const std::string& name) {
    instance.block();
    return {instance, name, kind["configs"], overridden_};
  }
  void set_order(ImportedPolicy& p);
  void read_time_limit(ImportedPolicy& p, const std::string& name);
  void read_limits(ImportedPolicy& p, const std::string& name);

  Field retries_, limiters_, breakers_, bulkheads_, pools_, rates_;
  Field retry_order_, breaker_order_;
  std::set<std::string> done_;  // names that have a policy
  std::set<std::string> of_filters_;
  std::vector<Field> overridden_;  // fields of configurations in whose place another one counts
};

/// Sets the order of Spring Boot's aspects: the one with the lower number is outside. By default
/// retries are around the breaker (RetryConfigurationProperties: Ordered.LOWEST_PRECEDENCE - 5;
/// CircuitBreakerConfigurationProperties: LOWEST_PRECEDENCE - 4).
void Resilience4j::Parts::set_order(ImportedPolicy& p) {
  if (!retry_order_ && !breaker_order_) return;
  constexpr double kLeast = -2'147'483'648., kLowestPrecedence = 2'147'483'647;
  const double retry =
      retry_order_ ? retry_order_.number(kLeast, kLowestPrecedence) : kLowestPrecedence - 5;
  const double breaker =
      breaker_order_ ? breaker_order_.number(kLeast, kLowestPrecedence) : kLowestPrecedence - 4;
  set(p, "breaker.order", text_in_toml(breaker < retry ? "breaker-outside" : "retry-outside"),
      paths({breaker_order_, retry_order_}));
}

void Resilience4j::Parts::read_time_limit(ImportedPolicy& p, const std::string& name) {
  const Field limited = limiters_["instances"].named(name);
  if (!limited && !limiters_["configs"]) return;
  if (const Field f = settings(limiters_, limited, name)["timeout_duration"]; f) {
    set(p, "attempt_timeout", in_toml(f.spring_duration()), f);
  } else if (limited.is_map()) {
    set(p, "attempt_timeout", text_in_toml("1s"), "Resilience4j's default");
  }
}

void Resilience4j::Parts::read_limits(ImportedPolicy& p, const std::string& name) {
  const Field bulkhead = bulkheads_["instances"].named(name),
              pool = pools_["instances"].named(name), rate = rates_["instances"].named(name);
  if (bulkhead) {
    read_bulkhead(p, settings(bulkheads_, bulkhead, name));
    pool.leave("the bulkhead of this name counts");
  } else if (pool) {
    read_thread_pool(p, settings(pools_, pool, name), pool);
  }
  if (rate) read_rate_limiter(p, settings(rates_, rate, name));
  read_time_limit(p, name);
}

void Resilience4j::Parts::add_policies(const std::string& profile,
                                       std::vector<ImportedPolicy>& policies) {
  const auto full_name = [&](const std::string& name) {
    return group_name(profile.empty() ? name : name + "-" + profile);
  };
  for (const auto& [name, instance] : instances_of(retries_)) {
    done_.insert(name);
    retries_.block();
    if (instance.map().members().empty()) instance.use();
    ImportedPolicy p = new_policy(full_name(name), instance.path());
    read_retry(p, settings(retries_, instance, name));
    if (const Field own = breakers_["instances"].named(name); own) {
      breakers_.block();
      read_breaker(p, settings(breakers_, own, name));
      set_order(p);
    }
    read_limits(p, name);
    policies.push_back(std::move(p));
  }
  // A limit without a retry makes a policy of its own: its calls are not retried.
  const auto add_alone = [&](const std::string& name, const Field& instance) {
    if (instance.map().members().empty()) instance.use();
    ImportedPolicy p = new_policy(full_name(name), instance.path());
    begin(p, "", "");
    set(p, "retry.max_attempts", "1", "there is no retry of this name");
    return p;
  };
  for (const auto& [name, instance] : instances_of(breakers_)) {
    if (of_filters_.contains(name) || !done_.insert(name).second) continue;
    breakers_.block();
    ImportedPolicy p = add_alone(name, instance);
    read_breaker(p, settings(breakers_, instance, name));
    read_limits(p, name);
    policies.push_back(std::move(p));
  }
  for (const Field& kind : {bulkheads_, pools_, rates_}) {
    for (const auto& [name, instance] : kind["instances"].members()) {
      if (!done_.insert(name).second) continue;
      ImportedPolicy p = add_alone(name, instance);
      read_limits(p, name);
      policies.push_back(std::move(p));
    }
  }
}

void Resilience4j::Parts::leave_unused() {
  for (const Field& f : overridden_) f.use();
  for (const Field& f : {retry_order_, breaker_order_}) {
    f.leave("no name has both a retry and a breaker");
  }
  for (const auto& [name, limited] : limiters_["instances"].members()) {
    if (const Field f = limited["timeout_duration"]; f && !f.is_used()) {
      f.leave("no instance of retry has this name: write attempt_timeout where it belongs");
    }
  }
  for (const Field& kind : {retries_, limiters_}) {
    for (const auto& [name, config] : kind["configs"].members()) {
      for (const std::string_view setting : kSettings) {
        if (const Field f = config[setting]; f && !f.is_used()) f.leave("no instance uses it");
      }
    }
  }
}

void Resilience4j::Parts::read_filter(ImportedPolicy& p, const std::string& name, bool is_outside,
                                      bool is_limited) {
  of_filters_.insert(name);
  breakers_.block();
  read_breaker(p, settings(breakers_, breakers_["instances"].named(name), name));
  set(p, "breaker.order", text_in_toml(is_outside ? "breaker-outside" : "retry-outside"),
      "the order of the filters");
  if (!is_limited) return;
  // ReactiveResilience4JCircuitBreaker: a limit of time around all that the breaker is around.
  const Field limit =
      settings(limiters_, limiters_["instances"].named(name), name)["timeout_duration"];
  const Duration most = limit ? limit.spring_duration() : Duration::seconds(1);
  const std::string_view key = is_outside ? "deadline" : "attempt_timeout";
  const auto known = std::ranges::find(p.keys, key, &ImportedKey::path);
  if (known != p.keys.end()) {
    const std::optional<double> earlier =
        seconds_in(std::string_view(known->value).substr(1, known->value.size() - 2), 1);
    if (earlier && *earlier < most.in_seconds()) return;
  }
  set(p, key, in_toml(most), limit ? limit.source() : "Spring Cloud CircuitBreaker's default");
}

Resilience4j::Resilience4j(const Field& document) : parts_(std::make_unique<Parts>(document)) {}
Resilience4j::~Resilience4j() = default;

void Resilience4j::read_filter(ImportedPolicy& p, const std::string& name, bool is_outside,
                               bool is_limited) {
  parts_->read_filter(p, name, is_outside, is_limited);
}

void Resilience4j::add_policies(const std::string& profile, std::vector<ImportedPolicy>& policies) {
  parts_->add_policies(profile, policies);
  parts_->leave_unused();
}

void import_resilience4j(const Documents& documents, Reading&, ImportedConfiguration& result) {
  constexpr std::string_view kProfile = "profile ";
  std::map<std::string, std::vector<ImportedKey>> without;  // keys without a profile, by instance
  for (const Field& d : documents) {
    const std::string profile =
        d.path().starts_with(kProfile) ? d.path().substr(kProfile.size()) : "";
    std::vector<ImportedPolicy> policies;
    Resilience4j(d).add_policies(profile, policies);
    for (ImportedPolicy& p : policies) {
      // Instances that a profile does not change need no group of their own.
      const auto same = [](const ImportedKey& a, const ImportedKey& b) {
        return a.path == b.path && a.value == b.value;
      };
      const std::string name =
          profile.empty() ? p.name : p.name.substr(0, p.name.size() - profile.size() - 1);
      if (profile.empty()) {
        without[name] = p.keys;
      } else if (const auto known = without.find(name);
                 known != without.end() && std::ranges::equal(known->second, p.keys, same)) {
        continue;
      }
      result.policies.push_back(std::move(p));
    }
  }
}

}  // namespace retrysim::imports

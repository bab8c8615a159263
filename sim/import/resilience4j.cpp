// Resilience4j: the retries, timeouts and circuit breakers of Spring Boot's configuration.
//
// resilience4j CommonRetryConfigurationProperties, RetryConfig, IntervalFunction (2.4.0): 3
// attempts, 500 ms; multiplier 1.5, randomization 0.5 where these are switched on. The longest wait
// is read only beside numbers for both. CommonTimeLimiterConfigurationProperties: 1 s.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <utility>

namespace retrysim::imports {

namespace {

/// An instance, followed by the configurations that it starts from.
std::vector<Field> chain_of(const Field& instance, const std::string& name, const Field& configs) {
  std::vector<Field> chain = {instance};
  std::set<std::string> known;
  while (true) {
    const Field base = chain.back()["base_config"];
    std::string next;
    if (base) {
      next = base.text();
      if (!configs.named(next)) base.fail("there is no configuration of this name");
    } else if (chain.size() == 1 && configs.named(name)) {
      next = name;
    } else {
      next = "default";
    }
    if (!known.insert(next).second || !configs.named(next)) {
      if (base && known.contains(next)) base.fail("the configurations start from each other");
      return chain;
    }
    chain.push_back(configs.named(next));
  }
}

/// A setting of an instance, or else of the configurations that it starts from.
Field setting_of(const std::vector<Field>& chain, std::string_view name) {
  for (const Field& part : chain) {
    if (const Field own = part[name]; own) return own;
  }
  return chain.front()[name];
}

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

void read_retry(ImportedPolicy& p, const std::vector<Field>& chain) {
  begin(p, "", "");
  const auto setting = [&](std::string_view key) { return setting_of(chain, key); };
  const Field now = setting("max_attempts"), before = setting("max_retry_attempts"),
              most = now ? now : before, wait = setting("wait_duration");
  if (now) before.leave("the name of maxAttempts before version 1.7");
  set(p, "retry.max_attempts", most ? in_toml(static_cast<double>(most.count())) : "3",
      most ? most.source() : "Resilience4j's default");
  const Duration base = wait ? wait.duration(1e-3) : Duration::milliseconds(500);
  const std::string origin = wait ? wait.source() : "Resilience4j's default";
  const Field grows = setting("enable_exponential_backoff"),
              factor = setting("exponential_backoff_multiplier"),
              cap = setting("exponential_max_wait_duration");
  const Field spreads = setting("enable_randomized_wait"),
              share = setting("randomized_wait_factor");
  const bool exponential = grows && grows.flag(), spread = spreads && spreads.flag();
  set_backoff(p, base, 1, std::nullopt, "none", origin);
  if (grows) set(p, "retry.backoff.factor", "1", grows);
  if (spreads) set(p, "retry.backoff.jitter", text_in_toml("none"), spreads);
  if (exponential) {
    set(p, "retry.backoff.factor", factor ? in_toml(factor.number(1, 1e6)) : "1.5",
        factor ? paths({grows, factor}) : grows.path() + ", Resilience4j's default");
    if (cap && factor && (share || !spread)) {
      set(p, "retry.backoff.cap", in_toml(cap.duration(1e-3)), cap);
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
    setting(list).leave(fmt::format("exceptions of Java have no counterpart; {}", kRetriedHere));
  }
  setting("fail_after_max_attempts").leave("a request fails after its last attempt");
}

constexpr std::string_view
    kNoExceptions = "exceptions of Java have no counterpart; each error is a failure here",
    kIsShown = "changes what is shown, not what is called";

constexpr FieldRow kResilience4jBreaker[] = {
    {"failure_rate_threshold", "breaker.failure_share", As::kPercent},
    {"slow_call_rate_threshold", "breaker.slow_share", As::kPercent},
    {"slow_call_duration_threshold", "breaker.slow_call", As::kMillis},
    {"minimum_number_of_calls", "breaker.min_calls", As::kCount},
    {"wait_duration_in_open_state", "breaker.open", As::kMillis},
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

// Reads a circuit breaker: CircuitBreakerConfig, CommonCircuitBreakerConfigurationProperties
// (2.4.0). Retries are around the breaker, as in the order of Spring Boot's aspects.
void read_breaker(ImportedPolicy& p, const std::vector<Field>& chain) {
  const auto setting = [&](std::string_view key) { return setting_of(chain, key); };
  const Field type = setting("sliding_window_type"), size = setting("sliding_window_size");
  const bool by_time = type && plain_name(type.text()) == "timebased";
  set(p, "breaker.preset", text_in_toml(by_time ? "resilience4j-time" : "resilience4j"),
      type ? type.source() : "Resilience4j's default");
  if (size && by_time) {
    set(p, "breaker.window", in_toml(Duration::seconds(size.count())), size);
    set(p, "breaker.slices", in_toml(static_cast<double>(size.count())), size);
  } else if (size) {
    set(p, "breaker.window_calls", in_toml(static_cast<double>(size.count())), size);
  }
  read_fields(p, setting, kResilience4jBreaker);
  const Field grows = setting("enable_exponential_backoff"),
              factor = setting("exponential_backoff_multiplier"),
              cap = setting("exponential_max_wait_duration_in_open_state");
  if (grows && grows.flag()) {
    set(p, "breaker.open_factor", factor ? in_toml(factor.number(1, 1e6)) : "1.5",
        factor ? factor.source() : grows.path() + ", Resilience4j's default");
    if (cap) set(p, "breaker.open_cap", in_toml(cap.duration(1e-3)), cap);
  } else {
    factor.leave("enableExponentialBackoff is off");
    cap.leave("enableExponentialBackoff is off");
  }
  read_fields(p, setting, kResilience4jBreakerLeftOut);
}

// Fields of CommonBulkheadConfigurationProperties, BulkheadConfig.
constexpr FieldRow kResilience4jBulkhead[] = {
    {"max_concurrent_calls", "bulkhead.max_concurrent", As::kCount, "", "25"},
    {"max_wait_duration", "bulkhead.longest_wait", As::kMillis, "", "\"0s\""}};

void read_bulkhead(ImportedPolicy& p, const std::vector<Field>& chain) {
  read_fields(
      p, [&](std::string_view name) { return setting_of(chain, name); }, kResilience4jBulkhead,
      "Resilience4j");
}

// Reads a rate limiter: CommonRateLimiterConfigurationProperties, RateLimiterConfig; by default 50
// calls in 500 ns, and a wait of 5 s.
void read_rate_limiter(ImportedPolicy& p, const std::vector<Field>& chain) {
  const Field limit = setting_of(chain, "limit_for_period"),
              period = setting_of(chain, "limit_refresh_period"),
              wait = setting_of(chain, "timeout_duration");
  const double calls = limit ? static_cast<double>(limit.count()) : 50;
  const Duration length = period ? period.duration(1e-3) : Duration::nanoseconds(500);
  if (length <= Duration::zero()) period.fail("Resilience4j expects a duration above zero");
  const std::string from = limit ? limit.source() : "Resilience4j's default";
  set(p, "send_rate.rate", in_toml(calls / length.in_seconds()), from);
  set(p, "send_rate.burst", in_toml(calls), from);
  set(p, "send_rate.longest_wait", in_toml(wait ? wait.duration(1e-3) : Duration::seconds(5)),
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

/// Adds the policies of one document. `profile` is appended to their names.
void import_document(const Field& document, const std::string& profile,
                     std::vector<ImportedPolicy>& policies) {
  const Field retry = settings_of(document, "retry"),
              limiter = settings_of(document, "timelimiter"),
              breaker = settings_of(document, "circuitbreaker"),
              bulkheads = settings_of(document, "bulkhead"),
              rates = settings_of(document, "ratelimiter");
  const Field configs = retry["configs"], limit_configs = limiter["configs"],
              breaker_configs = breaker["configs"];
  const auto full_name = [&](const std::string& name) {
    return group_name(profile.empty() ? name : name + "-" + profile);
  };
  const auto read_time_limit = [&](ImportedPolicy& p, const std::string& name) {
    const Field limited = limiter["instances"].named(name);
    const std::vector<Field> limits =
        limited || limit_configs ? chain_of(limited, name, limit_configs) : std::vector<Field>();
    if (!limits.empty()) {
      limited.block();
      if (const Field f = setting_of(limits, "timeout_duration"); f) {
        set(p, "attempt_timeout", in_toml(f.duration(1e-3)), f);
      } else if (limited.is_map()) {
        set(p, "attempt_timeout", text_in_toml("1s"), "Resilience4j's default");
      }
    }
  };
  const auto read_limits = [&](ImportedPolicy& p, const std::string& name) {
    const auto own = [&name](const Field& kind) {
      const Field its = kind["instances"].named(name);
      if (!its) return std::vector<Field>();
      its.block();
      return chain_of(its, name, kind["configs"]);
    };
    if (const std::vector<Field> chain = own(bulkheads); !chain.empty()) read_bulkhead(p, chain);
    if (const std::vector<Field> chain = own(rates); !chain.empty()) read_rate_limiter(p, chain);
    read_time_limit(p, name);
  };
  std::set<std::string> with_policy;
  for (const auto& [name, instance] : instances_of(retry)) {
    retry.block();
    if (instance.map().members().empty()) instance.use();
    with_policy.insert(name);
    ImportedPolicy p = new_policy(full_name(name), instance.path());
    read_retry(p, chain_of(instance, name, configs));
    if (const Field own = breaker["instances"].named(name); own) {
      breaker.block();
      own.block();
      read_breaker(p, chain_of(own, name, breaker_configs));
    }
    read_limits(p, name);
    policies.push_back(std::move(p));
  }
  // A breaker without a retry makes a policy of its own: its calls are not retried.
  for (const auto& [name, instance] : instances_of(breaker)) {
    if (!with_policy.insert(name).second) continue;
    breaker.block();
    if (instance.map().members().empty()) instance.use();
    ImportedPolicy p = new_policy(full_name(name), instance.path());
    begin(p, "", "");
    set(p, "retry.max_attempts", "1", "there is no retry of this name");
    read_breaker(p, chain_of(instance, name, breaker_configs));
    read_limits(p, name);
    policies.push_back(std::move(p));
  }
  for (const auto& [name, limited] : limiter["instances"].members()) {
    if (const Field f = limited["timeout_duration"]; f && !f.is_used()) {
      f.leave("no instance of retry has this name: write attempt_timeout where it belongs");
    }
  }
  for (const Field& kind : {bulkheads, rates}) {
    for (const auto& [name, instance] : kind["instances"].members()) {
      if (!with_policy.contains(name)) instance.leave("no retry has this name");
    }
  }
  for (const Field& all : {configs, limit_configs}) {
    for (const auto& [name, config] : all.members()) {
      for (const std::string_view setting : kSettings) {
        if (const Field f = config[setting]; f && !f.is_used()) f.leave("no instance uses it");
      }
    }
  }
  settings_of(document, "thread-pool-bulkhead")
      .leave("limits requests, whereas limits of clients are on retries");
}

}  // namespace

void import_resilience4j(const Documents& documents, Reading&, ImportedConfiguration& result) {
  constexpr std::string_view kProfile = "profile ";
  std::map<std::string, std::vector<ImportedKey>> without;  // keys without a profile, by instance
  for (const Field& d : documents) {
    const std::string profile =
        d.path().starts_with(kProfile) ? d.path().substr(kProfile.size()) : "";
    std::vector<ImportedPolicy> policies;
    import_document(d, profile, policies);
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

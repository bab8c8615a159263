// Resilience4j: the retries and timeouts of Spring Boot's application.yml.
//
// resilience4j CommonRetryConfigurationProperties, RetryConfig, IntervalFunction (2.4.0): 3
// attempts, 500 ms; multiplier 1.5, randomization 0.5 where these are switched on. The longest wait
// is read only beside numbers for both.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace retrysim::imports {

namespace {

/// A setting of an instance, or of the configuration that it starts from.
Field inherited(const Field& instance, const Field& configs, std::string_view name) {
  if (const Field own = instance[name]; own) return own;
  const Field base = instance["base_config"];
  const Field from = configs[base ? base.text() : "default"];
  return from ? inherited(from, configs["-"], name) : instance[name];
}

}  // namespace

void import_resilience4j(const Documents& documents, Reading&, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    const Field dotted = d["resilience4j.retry"];
    const Field root = d["resilience4j"];
    const Field retry = dotted ? dotted : root ? root["retry"] : d["retry"];
    const Field limiter = root ? root["timelimiter"] : d["resilience4j.timelimiter"];
    const Field configs = retry["configs"];
    const Field limits = limiter["instances"], limit_configs = limiter["configs"];
    for (const auto& member : retry["instances"].members()) {
      const std::string& name = member.first;
      const Field& instance = member.second;
      retry.block();
      ImportedPolicy p;
      p.name = group_name(name);
      p.from = instance.path();
      if (instance.map().members().empty()) instance.use();
      begin(p, "", "");
      const auto setting = [&](std::string_view key) { return inherited(instance, configs, key); };
      const Field now = setting("max_attempts"), before = setting("max_retry_attempts"),
                  most = now ? now : before, wait = setting("wait_duration");
      if (now) before.leave("the name of maxAttempts before version 1.7");
      set(p, "retry.max_attempts", most ? in_toml(static_cast<double>(most.count())) : "3",
          most ? most.path() : "Resilience4j's default");
      const Duration base = wait ? wait.duration(1e-3) : Duration::milliseconds(500);
      const std::string origin = wait ? wait.path() : "Resilience4j's default";
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
            share ? share.path() : "Resilience4j's default");
      } else {
        share.leave("enableRandomizedWait is off");
      }
      for (const char* list : {"retry_exceptions", "ignore_exceptions", "retry_exception_predicate",
                               "result_predicate"}) {
        setting(list).leave(
            fmt::format("exceptions of Java have no counterpart; {}", kRetriedHere));
      }
      setting("fail_after_max_attempts").leave("a request fails after its last attempt");
      const Field limited = limits[name];
      limited.block();
      if (const Field f = inherited(limited, limit_configs, "timeout_duration"); f) {
        set(p, "attempt_timeout", in_toml(f.duration(1e-3)), f);
      }
      result.policies.push_back(std::move(p));
    }
    for (const char* other :
         {"circuitbreaker", "bulkhead", "thread-pool-bulkhead", "ratelimiter"}) {
      constexpr std::string_view kWhy = "limits requests, whereas limits of clients are on retries";
      root[other].leave(std::string(kWhy));
      d[std::string("resilience4j.") + other].leave(std::string(kWhy));
    }
  }
}

}  // namespace retrysim::imports

// The table of keys is complete and consistent, and its defaults are those that are documented.
//
// SPDX-License-Identifier: MIT
#include "scenario/keys/keys.hpp"

#include <retrysim/retry_rules.hpp>

#include "loading.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace retrysim;
using namespace retrysim::scenario;

TEST_CASE("keys are unique, documented, and have at most one source of a default") {
  std::set<std::string> seen;
  for (const KeyScope& scope : key_scopes()) {
    for (const KeyInfo& key : scope.keys) {
      const std::string pattern = key_pattern(scope, key);
      INFO(pattern);
      CHECK(seen.insert(pattern).second);
      CHECK(key.meaning.ends_with('.'));
      CHECK(key.access.store != nullptr);
      CHECK((key.required ? 1 : 0) + (key.fallback ? 1 : 0) +
                (key.access.from_rules == nullptr ? 0 : 1) <=
            1);
      CHECK((key.idle_when.empty() || !key.when.empty()));
      CHECK((key.fallback_when.empty() || key.fallback));
      const bool word = key.rules.kind == ValueKind::kWord;
      CHECK(word == !key.rules.words.empty());
    }
  }
}

TEST_CASE("the condition of a key is about a key above it, so that it is known in time") {
  for (const KeyScope& scope : key_scopes()) {
    std::set<std::string_view> above;
    for (const KeyInfo& key : scope.keys) {
      for (const std::string_view when : {key.when, key.idle_when, key.fallback_when}) {
        INFO(key_pattern(scope, key) << " when " << when);
        CHECK((when.empty() || above.count(when.substr(0, when.find(' '))) == 1));
      }
      above.insert(key.name);
    }
  }
}

TEST_CASE("the words of retry keys stand in the order of their enumerators") {
  const auto words = [](std::string_view name) {
    const auto& keys = key_scope("client.*").keys;
    return split_words(std::find_if(keys.begin(), keys.end(), [&](const KeyInfo& k) {
                         return k.name == name;
                       })->rules.words);
  };
  const auto check = [&](std::string_view key, auto first) {
    using Enum = decltype(first);
    const auto list = words(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      CHECK(list[i] == name(static_cast<Enum>(i)));
    }
  };
  check("retry.mode", RetryMode::kNone);
  check("retry.backoff.jitter", Jitter::kNone);
  check("retry.backoff.throttle_jitter", Jitter::kNone);
  check("retry.quota.refund", Refund::kLast);
  check("retry.quota.scope", RetryScope::kClient);
  check("retry.rate_limit.on_empty", OnEmpty::kBlock);
  check("retry.retry_after", RetryAfter::kIgnore);
}

TEST_CASE("the words of service and arrival keys choose their enumerators") {
  const auto overflow = [](const std::string& word) {
    return load(kSmall, {"service.api.overflow=" + word, "client.web.deadline=1s"})
        .scenario.services[0]
        .rejection.overflow;
  };
  CHECK(overflow("unavailable") == Overflow::kUnavailable);
  CHECK(overflow("throttled") == Overflow::kThrottled);
  CHECK(overflow("invalid") == Overflow::kInvalid);
  CHECK(overflow("drop") == Overflow::kDrop);
  const auto discipline = [](const std::string& word) {
    return load(kSmall, {"service.api.queue.discipline=" + word})
        .scenario.services[0]
        .queue.discipline;
  };
  CHECK(discipline("fifo") == Discipline::kFifo);
  CHECK(discipline("lifo") == Discipline::kLifo);
  CHECK(discipline("adaptive-lifo") == Discipline::kAdaptiveLifo);
  CHECK(discipline("random") == Discipline::kRandom);
  CHECK(discipline("priority") == Discipline::kPriority);
  CHECK(discipline("processor-sharing") == Discipline::kProcessorSharing);
  CHECK(discipline("codel") == Discipline::kCodel);
  const auto control = [](const std::string& word) {
    return load(kSmall, {"service.api.concurrency.control=" + word})
        .scenario.services[0]
        .concurrency;
  };
  CHECK(control("fixed").control == ConcurrencyControl::kFixed);
  CHECK(control("gradient2").control == ConcurrencyControl::kGradient2);
  CHECK(control("aimd").control == ConcurrencyControl::kAimd);
  const ConcurrencySpec by_hand, gradient = control("gradient2"), aimd = control("aimd");
  CHECK(gradient.initial == by_hand.initial);
  CHECK(gradient.min == by_hand.min);
  CHECK(gradient.max == by_hand.max);
  CHECK(gradient.smoothing == by_hand.smoothing);
  CHECK(gradient.headroom == by_hand.headroom);
  CHECK(gradient.tolerance == by_hand.tolerance);
  CHECK(gradient.long_window == by_hand.long_window);
  CHECK(aimd.backoff_ratio == by_hand.backoff_ratio);
  CHECK(aimd.slow == by_hand.slow);
  using enum ConcurrencyControl;
  for (const ConcurrencyControl c : {kVegas, kEnvoy, kGoZero, kKratos, kSentinel}) {
    CAPTURE(name(c));
    const ConcurrencySpec its = ConcurrencySpec::of(c);
    const ConcurrencySpec read = control("'" + std::string(name(c)) + "'");
    CHECK(read.control == c);
    if (!its.needs_servers()) {
      CHECK(read.min == its.min);
      CHECK(read.max == its.max);
    }
    if (c == kVegas) {
      CHECK(read.initial == its.initial);
      CHECK(read.smoothing == its.smoothing);
      CHECK(read.alpha == its.alpha);
      CHECK(read.beta == its.beta);
      CHECK(read.probe_multiplier == its.probe_multiplier);
    } else if (c == kEnvoy) {
      CHECK(read.percentile == its.percentile);
      CHECK(read.interval == its.interval);
      CHECK(read.min_rtt == its.min_rtt);
      CHECK(read.min_rtt_interval == its.min_rtt_interval);
      CHECK(read.min_rtt_jitter == its.min_rtt_jitter);
      CHECK(read.min_rtt_requests == its.min_rtt_requests);
      CHECK(read.min_rtt_buffer == its.min_rtt_buffer);
      CHECK(read.measure_at_min == its.measure_at_min);
    } else {
      CHECK(read.cpu == its.cpu);
      CHECK(read.load == its.load);
      CHECK(read.window == its.window);
      CHECK(read.buckets == its.buckets);
    }
  }
  const auto abandoned = [](const std::string& word) {
    return load(kSmall, {"service.api.abandoned=" + word}).scenario.services[0].abandoned;
  };
  CHECK(abandoned("serve") == Abandoned::kServe);
  CHECK(abandoned("drop-at-dequeue") == Abandoned::kDropAtDequeue);
  CHECK(abandoned("remove") == Abandoned::kRemove);
  CHECK(abandoned("abort") == Abandoned::kAbort);
  const auto scope = [](const std::string& word) {
    return load(kSmall, {"service.api.throttle={rate=1, scope='" + word + "'}"})
        .scenario.services[0]
        .throttle.scope;
  };
  CHECK(scope("service") == ThrottleScope::kService);
  CHECK(scope("client") == ThrottleScope::kClient);
}

TEST_CASE("the documented defaults") {
  const std::map<std::string, std::string> documented = {
      {"description", "\"\""},
      {"warmup", "\"0s\""},
      {"drain", "true"},
      {"drain_limit", "\"300s\""},
      {"seed", "1"},
      {"replications", "20"},
      {"precision", "\"none\""},
      {"precision_metrics", "\"goodput, success_rate, amplification, latency_mean\""},
      {"max_replications", "1000"},
      {"interval", "\"1s\""},
      {"recovery.share", "0.95"},
      {"recovery.hold", "\"30s\""},
      {"recovery.window", "\"1s\""},
      {"network.latency", "\"0s\""},
      {"network.connect", "\"0s\""},
      {"network.request_loss", "0.0"},
      {"network.response_loss", "0.0"},
      {"service.*.model", "\"queue\""},
      {"service.*.servers", "1"},
      {"service.*.autoscaling.target", "\"none\""},
      {"service.*.autoscaling.min", "1"},
      {"service.*.autoscaling.interval", "\"60s\""},
      {"service.*.autoscaling.delay", "\"120s\""},
      {"service.*.autoscaling.cooldown", "\"300s\""},
      {"service.*.autoscaling.tolerance", "0.1"},
      {"service.*.slowdown", "0.0"},
      {"service.*.slowdown_curve", "\"linear\""},
      {"service.*.slowdown_exponent", "2.0"},
      {"service.*.instances", "1"},
      {"service.*.balancing", "\"round-robin\""},
      {"service.*.balancing_ties", "\"random\""},
      {"service.*.balancing_decay", "\"10s\""},
      {"service.*.balancing_first_latency", "\"none\""},
      {"service.*.balancer", "\"shared\""},
      {"service.*.balancing_subset", "\"all\""},
      {"service.*.panic_threshold", "0.0"},
      {"service.*.panic_overprovisioning", "1.4"},
      {"service.*.health_check.interval", "\"none\""},
      {"service.*.health_check.timeout", "\"5s\""},
      {"service.*.health_check.unhealthy_threshold", "2"},
      {"service.*.health_check.healthy_threshold", "5"},
      {"service.*.ejection.interval", "\"none\""},
      {"service.*.ejection.consecutive_5xx", "5"},
      {"service.*.ejection.consecutive_gateway_failure", "\"none\""},
      {"service.*.ejection.base_ejection_time", "\"30s\""},
      {"service.*.ejection.max_ejection_time", "\"300s\""},
      {"service.*.ejection.max_ejection_percent", "10.0"},
      {"service.*.ejection.always_eject_one_host", "false"},
      {"service.*.ejection.success_rate_stdev_factor", "1900.0"},
      {"service.*.ejection.success_rate_minimum_hosts", "5"},
      {"service.*.ejection.success_rate_request_volume", "100"},
      {"service.*.ejection.failure_percentage_threshold", "\"none\""},
      {"service.*.ejection.failure_percentage_minimum_hosts", "5"},
      {"service.*.ejection.failure_percentage_request_volume", "50"},
      {"service.*.accrual.max_failures", "\"none\""},
      {"service.*.accrual.min_penalty", "\"1s\""},
      {"service.*.accrual.max_penalty", "\"60s\""},
      {"service.*.accrual.penalties", "\"exponential\""},
      {"service.*.accrual.jitter_ratio", "0.5"},
      {"service.*.queue.discipline", "\"fifo\""},
      {"service.*.queue.when_full", "\"refuse-new\""},
      {"service.*.queue.target", "\"5ms\""},
      {"service.*.queue.interval", "\"100ms\""},
      {"service.*.queue.lifo_above", "\"servers\""},
      {"service.*.queue.max_age", "\"none\""},
      {"service.*.queue.drop_expired", "false"},
      {"service.*.wait_within", "\"none\""},
      {"service.*.queue.capacity", "\"unlimited\""},
      {"service.*.price", "1.0"},
      {"service.*.rejection_price", "1.0"},
      {"service.*.overflow", "\"unavailable\""},
      {"service.*.concurrency.control", "\"fixed\""},
      {"service.*.concurrency.limit", "\"unlimited\""},
      {"service.*.concurrency.initial", "20"},
      {"service.*.concurrency.headroom", "4.0"},
      {"service.*.concurrency.tolerance", "1.5"},
      {"service.*.concurrency.long_window", "600.0"},
      {"service.*.concurrency.backoff_ratio", "0.9"},
      {"service.*.concurrency.slow", "\"5s\""},
      {"service.*.concurrency.partitions.*.share", "\"none\""},
      {"service.*.concurrency.partitions.*.refuse_from", "1.0"},
      {"service.*.concurrency.alpha", "3"},
      {"service.*.concurrency.beta", "6"},
      {"service.*.concurrency.probe_multiplier", "30"},
      {"service.*.concurrency.percentile", "0.5"},
      {"service.*.concurrency.interval", "\"100ms\""},
      {"service.*.concurrency.min_rtt", "\"measured\""},
      {"service.*.concurrency.min_rtt_interval", "\"60s\""},
      {"service.*.concurrency.min_rtt_jitter", "0.15"},
      {"service.*.concurrency.min_rtt_requests", "50"},
      {"service.*.concurrency.measure_at_min", "true"},
      {"service.*.concurrency.min_rtt_buffer", "0.25"},
      {"service.*.concurrency.load", "2.5"},
      {"service.*.service_time_per", "\"attempt\""},
      {"service.*.service_time_repeats", "1.0"},
      {"service.*.reject_cost", "\"0s\""},
      {"service.*.timeout", "\"none\""},
      {"service.*.abandoned", "\"serve\""},
      {"service.*.parallel_calls", "false"},
      {"service.*.idempotency.window", "\"none\""},
      {"service.*.idempotency.replay", "\"equivalent\""},
      {"service.*.idempotency.in_progress", "\"error\""},
      {"service.*.idempotency.replay_cost", "\"0s\""},
      {"service.*.idempotency.stored", "\"with-effect\""},
      {"service.*.idempotency.write_delay", "\"0s\""},
      {"service.*.throttle.rate", "\"unlimited\""},
      {"service.*.throttle.burst", "1"},
      {"service.*.throttle.scope", "\"service\""},
      {"service.*.throttle.retry_after", "\"0s\""},
      {"service.*.throttle.window", "\"none\""},
      {"service.*.errors.at", "\"arrival\""},
      {"service.*.errors.internal", "0.0"},
      {"service.*.errors.unavailable", "0.0"},
      {"service.*.errors.throttled", "0.0"},
      {"service.*.errors.invalid", "0.0"},
      {"fault.*.capacity", "1.0"},
      {"fault.*.speed", "1.0"},
      {"fault.*.latency", "\"0s\""},
      {"fault.*.request_loss", "0.0"},
      {"fault.*.response_loss", "0.0"},
      {"fault.*.cold_restart", "false"},
      {"fault.*.crash", "false"},
      {"fault.*.unreachable", "false"},
      {"fault.*.black_hole", "false"},
      {"fault.*.instance", "\"all\""},
      {"fault.*.instances", "1"},
      {"fault.*.errors.at", "\"arrival\""},
      {"fault.*.errors.internal", "0.0"},
      {"fault.*.errors.unavailable", "0.0"},
      {"fault.*.errors.throttled", "0.0"},
      {"fault.*.errors.invalid", "0.0"},
      {"client.*.count", "1"},
      {"client.*.priority", "0"},
      {"client.*.arrivals.phase", "\"random\""},
      {"client.*.arrivals.start", "\"0s\""},
      {"client.*.arrivals.spread", "\"0s\""},
      {"client.*.arrivals.concurrency", "1"},
      {"client.*.arrivals.think_time", "\"0s\""},
      {"client.*.arrivals.think_from", "\"end\""},
      {"client.*.arrivals.speed_up", "1.0"},
      {"client.*.arrivals.scale", "1.0"},
      {"client.*.arrivals.spacing", "\"poisson\""},
      {"client.*.arrivals.interpolate", "\"linear\""},
      {"client.*.arrivals.base", "\"100ms\""},
      {"client.*.arrivals.factor", "2.0"},
      {"client.*.arrivals.cap", "\"none\""},
      {"client.*.arrivals.jitter", "\"none\""},
      {"client.*.arrivals.max_checks", "\"unlimited\""},
      {"client.*.operation.*.work", "1.0"},
      {"client.*.attempt_timeout", "\"none\""},
      {"client.*.deadline", "\"none\""},
      {"client.*.connect_timeout", "\"none\""},
      {"client.*.max_connections", "\"unlimited\""},
      {"client.*.connection_wait", "\"none\""},
      {"client.*.connection_queue", "\"unlimited\""},
      {"client.*.breaker.preset", "\"none\""},
      {"client.*.bulkhead.max_concurrent", "\"unlimited\""},
      {"client.*.bulkhead.longest_wait", "\"0s\""},
      {"client.*.bulkhead.queue", "\"unlimited\""},
      {"client.*.send_rate.rate", "\"unlimited\""},
      {"client.*.send_rate.burst", "1.0"},
      {"client.*.send_rate.on_empty", "\"wait\""},
      {"client.*.send_rate.longest_wait", "\"none\""},
      {"client.*.long_poll", "false"},
      {"client.*.mutating", "0.0"},
      {"client.*.idempotency_token", "true"},
      {"client.*.reconcile_read", "\"none\""},
      {"client.*.token_reuse", "0.0"},
      {"client.*.token_from", "\"request\""},
      {"client.*.retry.from_environment", "false"},
      {"client.*.keys.count", "1"},
      {"client.*.keys.popularity", "\"uniform\""},
      {"client.*.keys.exponent", "1.0"},
      {"client.*.unrepeatable", "0.0"},
      {"client.*.retry.defect", "\"none\""},
      {"client.*.retry.retryer", "\"none\""},
      {"client.*.retry.priority", "\"same\""},
      {"client.*.retry.revision", "\"2.0\""},
      {"client.*.retry.api", "\"default\""},
      {"service.*.calls.*.share", "1.0"},
      {"service.*.calls.*.callee_operation", "\"own\""},
      {"service.*.calls.*.callee_key", "\"own\""},
      {"service.*.calls.*.count", "1"},
      {"service.*.calls.*.need", "\"all\""},
      {"service.*.calls.*.on_failure", "\"fail\""},
      {"service.*.calls.*.attempt_timeout", "\"none\""},
      {"service.*.calls.*.deadline", "\"none\""},
      {"service.*.calls.*.connect_timeout", "\"none\""},
      {"service.*.calls.*.max_connections", "\"unlimited\""},
      {"service.*.calls.*.connection_wait", "\"none\""},
      {"service.*.calls.*.connection_queue", "\"unlimited\""},
      {"service.*.calls.*.breaker.preset", "\"none\""},
      {"service.*.calls.*.bulkhead.max_concurrent", "\"unlimited\""},
      {"service.*.calls.*.bulkhead.longest_wait", "\"0s\""},
      {"service.*.calls.*.bulkhead.queue", "\"unlimited\""},
      {"service.*.calls.*.send_rate.rate", "\"unlimited\""},
      {"service.*.calls.*.send_rate.burst", "1.0"},
      {"service.*.calls.*.send_rate.on_empty", "\"wait\""},
      {"service.*.calls.*.send_rate.longest_wait", "\"none\""},
      {"service.*.calls.*.priority", "0"},
      {"service.*.calls.*.mutating", "0.0"},
      {"service.*.calls.*.idempotency_token", "true"},
      {"service.*.calls.*.reconcile_read", "\"none\""},
      {"service.*.calls.*.retry.from_environment", "false"},
      {"service.*.calls.*.keys.count", "1"},
      {"service.*.calls.*.keys.popularity", "\"uniform\""},
      {"service.*.calls.*.keys.exponent", "1.0"},
      {"service.*.calls.*.unrepeatable", "0.0"},
      {"service.*.calls.*.retry_only_at", "\"anywhere\""},
      {"service.*.calls.*.cache.capacity", "\"none\""},
      {"service.*.calls.*.cache.policy", "\"lru\""},
      {"service.*.calls.*.cache.ttl", "\"none\""},
      {"service.*.calls.*.cache_hit", "0.0"},
      {"service.*.calls.*.retry.defect", "\"none\""},
      {"service.*.calls.*.retry.retryer", "\"none\""},
      {"service.*.calls.*.retry.priority", "\"same\""},
      {"service.*.calls.*.retry.revision", "\"2.0\""},
      {"service.*.calls.*.retry.api", "\"default\""},
      {"phase.*.start", "\"0s\""},
      {"slo.*.latency", "\"any\""},
      {"slo.*.window", "\"720h\""},
      {"expect.*.client", "\"all\""},
      {"uncertain.*.certainty", "0.95"}};
  std::map<std::string, std::string> table;
  for (const KeyScope& scope : key_scopes()) {
    for (const KeyInfo& key : scope.keys) {
      if (key.fallback && key.fallback_when.empty()) {
        table[key_pattern(scope, key)] = *key.default_toml();
      }
    }
  }
  CHECK(table == documented);
}

TEST_CASE("defaults in C++ are those of the table") {
  const Scenario by_hand;
  const Scenario s = load(kSmall).scenario;
  CHECK(s.warmup == by_hand.warmup);
  CHECK(s.drain == by_hand.drain);
  CHECK(s.drain_limit == by_hand.drain_limit);
  CHECK(s.seed == by_hand.seed);
  CHECK(s.replications == by_hand.replications);
  CHECK(s.interval == by_hand.interval);
  CHECK(s.recovery.share == by_hand.recovery.share);
  CHECK(s.recovery.hold == by_hand.recovery.hold);
  CHECK(s.recovery.window == by_hand.recovery.window);
  CHECK(s.services[0].servers == ServiceSpec().servers);
  CHECK(s.services[0].queue.capacity == ServiceSpec().queue.capacity);
  CHECK(s.services[0].rejection.overflow == ServiceSpec().rejection.overflow);
  CHECK(s.services[0].abandoned == ServiceSpec().abandoned);
  CHECK(s.services[0].queue.discipline == ServiceSpec().queue.discipline);
  CHECK(s.services[0].queue.drop_expired == ServiceSpec().queue.drop_expired);
  CHECK(s.services[0].concurrency.limit == ServiceSpec().concurrency.limit);
  CHECK(s.services[0].slowdown.per_attempt == ServiceSpec().slowdown.per_attempt);
  CHECK(s.services[0].rejection.cost == ServiceSpec().rejection.cost);
  CHECK(s.services[0].timeout == ServiceSpec().timeout);
  CHECK(s.services[0].throttle.rate == ThrottleSpec().rate);
  CHECK(s.clients[0].count == ClientSpec().count);
  CHECK(s.clients[0].priority == ClientSpec().priority);
  CHECK(s.clients[0].timeouts.has_attempt == ClientSpec().timeouts.has_attempt);
  CHECK(s.clients[0].timeouts.deadline == ClientSpec().timeouts.deadline);
}

TEST_CASE("a resolved scenario lists every key that applies, and no other") {
  const LoadedScenario loaded = load(kSmall, {"client.web.retry.mode=standard"});
  std::set<std::string> listed;
  for (const ResolvedKey& k : loaded.keys) listed.insert(k.path);
  CHECK(listed.size() == loaded.keys.size());
  CHECK(listed.count("client.web.calls") == 1);
  CHECK(listed.count("client.web.retry.quota.timeout_cost") == 1);
  CHECK(listed.count("client.web.arrivals.think_time") == 0);
  CHECK(listed.count("client.web.retry.probability") == 0);
  CHECK(listed.count("service.api.throttle.burst") == 0);
  CHECK(listed.count("client.web.arrivals.interpolate") == 0);
}

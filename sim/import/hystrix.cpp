// Hystrix: commands and thread pools of Archaius' or Spring Boot's properties.
//
// Hystrix 1.5 (7c03baf) HystrixCommandProperties.java, HystrixThreadPoolProperties.java,
// HystrixCircuitBreaker.java, AbstractCommand.java: the breaker is asked first, then the place in a
// pool or of a semaphore is taken, and the timeout runs from there. A command has the thread pool
// of its group, which code names; nothing is tried again.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::imports {

namespace {

constexpr const char* kDefaults = "default";
constexpr const char* kHystrixsDefault = "Hystrix's default";

/// The settings of a command or a pool: its own, or those of `default` for all.
class Settings {
 public:
  Settings(Field own, Field of_all) : own_(std::move(own)), of_all_(std::move(of_all)) {}
  Field operator[](std::string_view path) const {
    const Field own = own_.at(path);
    return own ? own : of_all_.at(path);
  }

 private:
  Field own_, of_all_;
};

std::string source_of(const Field& field) { return field ? field.source() : kHystrixsDefault; }

/// The field that takes the command's breaker away, if there is one; says so of the others.
Field no_breaker(const Settings& command) {
  const Field enabled = command["circuit_breaker.enabled"],
              forced_open = command["circuit_breaker.force_open"],
              forced_closed = command["circuit_breaker.force_closed"];
  const bool is_off = enabled && !enabled.flag();
  // A breaker that is held open counts before one that is held closed (allowRequest).
  const bool is_open = !is_off && forced_open && forced_open.flag();
  if (is_open)
    forced_open.leave_in_part("every call would be refused: no breaker here is held open");
  const bool is_closed = !is_off && !is_open && forced_closed && forced_closed.flag();
  if (!is_off && !is_closed) {
    if (forced_closed) forced_closed.use();
    return command["-"];
  }
  for (const char* path :
       {"circuit_breaker.request_volume_threshold", "circuit_breaker.error_threshold_percentage",
        "circuit_breaker.sleep_window_in_milliseconds", "circuit_breaker.force_open",
        "circuit_breaker.force_closed"}) {
    command[path].leave("the command has no breaker");
  }
  return is_off ? enabled : forced_closed;
}

void read_breaker(ImportedPolicy& p, const Settings& command) {
  if (const Field by = no_breaker(command); by) {
    return set(p, "breaker.preset", text_in_toml("none"), by);
  }
  const Field enabled = command["circuit_breaker.enabled"];
  set(p, "breaker.preset", text_in_toml("hystrix"), source_of(enabled));
  const Field least = command["circuit_breaker.request_volume_threshold"],
              percent = command["circuit_breaker.error_threshold_percentage"],
              open = command["circuit_breaker.sleep_window_in_milliseconds"],
              window = command["metrics.rolling_stats.time_in_milliseconds"],
              snapshot = command["metrics.health_snapshot.interval_in_milliseconds"];
  if (percent) set(p, "breaker.failure_share", in_toml(percent.number(0, 100) / 100), percent);
  if (least) set(p, "breaker.min_calls", in_toml(static_cast<double>(least.count())), least);
  if (open) set(p, "breaker.open", in_toml(open.spring_duration()), open);
  if (window || snapshot) {
    const Duration length = window ? window.spring_duration() : Duration::seconds(10);
    const Duration slice = snapshot ? snapshot.spring_duration() : Duration::milliseconds(500);
    if (slice <= Duration::zero()) snapshot.fail("expected a time above zero");
    const std::int64_t slices = std::max<std::int64_t>(1, length.count() / slice.count());
    set(p, "breaker.window", in_toml(length), source_of(window));
    set(p, "breaker.slices", in_toml(static_cast<double>(slices)), paths({window, snapshot}));
  }
}

void read_semaphore(ImportedPolicy& p, const Settings& command) {
  const Field most = command["execution.isolation.semaphore.max_concurrent_requests"];
  set(p, "bulkhead.max_concurrent", most ? in_toml(static_cast<double>(most.count())) : "10",
      source_of(most));
  set(p, "bulkhead.longest_wait", text_in_toml("0s"), "a semaphore has no queue");
}

/// Reads a thread pool. Java's ThreadPoolExecutor begins a thread beyond the core only when its
/// queue is full, which it never is where Hystrix refuses before (isQueueSpaceAvailable).
void read_pool(ImportedPolicy& p, const Settings& pool) {
  const Field core = pool["core_size"], most = pool["maximum_size"],
              diverges = pool["allow_maximum_size_to_diverge_from_core_size"],
              queue = pool["max_queue_size"], rejects = pool["queue_size_rejection_threshold"];
  const bool may_diverge = diverges && diverges.flag();
  const double places = queue ? queue.number(-1, 1e9) : -1;
  // Without a queue, the rejection threshold has no meaning.
  const double limit = places <= 0 ? 1 : rejects ? static_cast<double>(rejects.count()) : 5;
  const bool may_grow = may_diverge && most && places < limit;
  std::int64_t threads = core ? core.count() : 10;
  const bool grows = may_grow && most.count() > threads;
  if (grows) threads = most.count();
  if (!may_diverge) {
    most.leave("allowMaximumSizeToDivergeFromCoreSize is off");
  } else if (!may_grow) {
    most.leave("queueSizeRejectionThreshold refuses calls before the queue is full");
  } else if (grows && places > 0) {
    most.leave_in_part("a pool begins threads beyond coreSize only when its queue is full");
  }
  set(p, "bulkhead.max_concurrent", in_toml(static_cast<double>(threads)),
      grows ? most.source() : source_of(core));
  if (places <= 0) {
    set(p, "bulkhead.longest_wait", text_in_toml("0s"), source_of(queue));
    rejects.leave("the pool has no queue");
    return;
  }
  set(p, "bulkhead.queue", in_toml(std::min(places, limit)),
      places <= limit ? queue.source() : source_of(rejects));
  set(p, "bulkhead.longest_wait", text_in_toml("none"), "a pool's queue has no limit of time");
}

ImportedPolicy read_command(const std::string& name, const Field& own, const Field& of_all,
                            const Field& pools) {
  ImportedPolicy p = new_policy(group_name(name), own.path());
  own.block();
  if (own.map().members().empty()) own.use();
  const Settings command(own, of_all);
  begin(p, "", "");
  set(p, "retry.max_attempts", "1", "Hystrix tries nothing again");
  const Field limited = command["execution.timeout.enabled"],
              limit = command["execution.isolation.thread.timeout_in_milliseconds"];
  if (limited && !limited.flag()) {
    set(p, "attempt_timeout", text_in_toml("none"), limited);
    limit.leave("execution.timeout.enabled is off");
  } else {
    set(p, "attempt_timeout", in_toml(limit ? limit.spring_duration() : Duration::seconds(1)),
        source_of(limit));
  }
  read_breaker(p, command);
  const Field strategy = command["execution.isolation.strategy"];
  const std::string kind = strategy ? plain_name(strategy.text()) : "thread";
  if (kind == "semaphore") {
    read_semaphore(p, command);
  } else if (kind == "thread") {
    command["execution.isolation.semaphore.max_concurrent_requests"].leave(
        "the command has a thread pool");
    const Field own_pool = pools.named(name);
    if (own_pool) own_pool.block();
    read_pool(p, {own_pool, pools.named(kDefaults)});
  } else {
    strategy.fail("expected THREAD or SEMAPHORE");
  }
  for (const char* fallback :
       {"fallback.enabled", "fallback.isolation.semaphore.max_concurrent_requests"}) {
    command[fallback].leave("what answers instead: see on_failure of a call between services");
  }
  for (const char* shown :
       {"metrics.rolling_stats.num_buckets", "metrics.rolling_percentile.enabled",
        "metrics.rolling_percentile.time_in_milliseconds", "metrics.rolling_percentile.num_buckets",
        "metrics.rolling_percentile.bucket_size", "request_log.enabled"}) {
    command[shown].leave("changes what is shown, not what is called");
  }
  command["request_cache.enabled"].leave("answers of one request's own calls are not kept");
  return p;
}

}  // namespace

void import_hystrix(const Documents& documents, Reading&, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    const Field root = d["hystrix"];
    const Field commands = root["command"], pools = root["threadpool"];
    const Field of_all = commands.named(kDefaults);
    bool any = false;
    for (const auto& [name, command] : commands.members()) {
      if (name == kDefaults) continue;
      any = true;
      result.policies.push_back(read_command(name, command, of_all, pools));
    }
    if (!any && of_all) result.policies.push_back(read_command(kDefaults, of_all, of_all, pools));
    if (result.policies.empty()) continue;
    for (const auto& [name, pool] : pools.members()) {
      if (name == kDefaults || commands.named(name)) continue;
      pool.leave("no command has this name: the group of a command is named in code");
    }
  }
}

}  // namespace retrysim::imports

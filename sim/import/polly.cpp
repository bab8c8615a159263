// Polly: options of a pipeline, or of the standard handler for HTTP.
//
// Polly.Retry.RetryStrategyOptions (v8; delays: RetryHelper.cs, RetryResilienceStrategy.cs
// of 8.7.0, 173d6d1d) and Microsoft.Extensions.Http.Resilience (HttpRetryStrategyOptions.cs), whose
// standard handler has its strategies under these names and defaults of its own. What Polly
// refuses: the attributes Range of RetryStrategyOptions.TResult.cs,
// CircuitBreakerStrategyOptions.TResult.cs. Limiters are those of System.Threading.RateLimiting,
// for which files have no fixed names.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::imports {

namespace {

/// Share by which jitter moves constant and linear delays at most.
constexpr double kPollysShare = 0.25;

/// The backoff type in lower case; .NET also reads an enumeration's numbers.
std::string backoff_type(const std::string& text) {
  if (text == "0") return "constant";
  if (text == "1") return "linear";
  if (text == "2") return "exponential";
  return plain_name(text);
}

constexpr std::string_view kIsCode = "is code, or a name";

/// Refuses, at its place, what Polly refuses: a number, or a time in seconds, below `least`.
void check_least(const Field& field, double least, bool is_time = false) {
  const std::optional<double> value =
      is_time ? timespan_in(field.plain()) : number_in(field.plain());
  if (!value || *value >= least) return;
  field.fail(fmt::format("Polly expects at least {}",
                         is_time ? fmt::format("{} ms", least * 1e3) : fmt::format("{}", least)));
}

// Fields of CircuitBreakerStrategyOptions.
constexpr FieldRow kPollysBreaker[] = {{"failure_ratio", "breaker.failure_share", As::kShare},
                                       {"minimum_throughput", "breaker.min_calls", As::kCount},
                                       {"sampling_duration", "breaker.window", As::kTimeSpan},
                                       {"break_duration", "breaker.open", As::kTimeSpan},
                                       left_out("break_duration_generator", kIsCode),
                                       left_out("should_handle", kIsCode),
                                       left_out("on_opened", kIsCode),
                                       left_out("on_closed", kIsCode),
                                       left_out("on_half_opened", kIsCode),
                                       left_out("manual_control", kIsCode),
                                       left_out("state_provider", kIsCode),
                                       left_out("name", kIsCode)};

// Fields of RetryStrategyOptions without a key.
constexpr FieldRow kPollysRetry[] = {left_out("delay_generator", kIsCode),
                                     left_out("on_retry", kIsCode), left_out("name", kIsCode)};

// Reads a breaker. The standard handler always has one, inside its retries.
void read_breaker(ImportedPolicy& p, const Field& breaker, bool standard) {
  if (!breaker.is_map() && !standard) return;
  set(p, "breaker.preset", text_in_toml("polly"),
      breaker.is_map() ? breaker.path() : "the handler's default");
  if (standard) {
    // Errors that are not retried count as successes.
    set(p, "breaker.failures", "[\"throttling\", \"transient\", \"timeout\"]",
        "the default for HTTP");
    set(p, "breaker.retry_refused", "false", "the default for HTTP");
  }
  if (!breaker.is_map()) return;
  breaker.block();
  check_least(breaker["minimum_throughput"], 2);
  check_least(breaker["sampling_duration"], 0.5, true);
  check_least(breaker["break_duration"], 0.5, true);
  read_fields(p, breaker, kPollysBreaker);
}

// Sets the errors that the standard handler's retries and its breaker count:
// HttpClientResiliencePredicates.cs (dotnet/extensions, 5862342).
void set_errors_of_http(ImportedPolicy& p) {
  set_errors(p, {"5xx", "408", "429", "timeout", "connection"}, "the default for HTTP");
}

// Reads a limiter that permits so many calls in a window. Those that wait go as permits come.
void read_rate(ImportedPolicy& p, const Field& most, const Field& window, const Field& queue) {
  const Duration length = window.timespan();
  if (length <= Duration::zero()) window.fail("the limiter expects a duration above zero");
  const double permits = static_cast<double>(most.count()), rate = permits / length.in_seconds();
  set(p, "send_rate.rate", in_toml(rate), paths({most, window}));
  set(p, "send_rate.burst", in_toml(permits), most);
  const double places = queue ? static_cast<double>(queue.count()) : 0;
  if (places > 0 && rate > 0) {
    set(p, "send_rate.longest_wait", in_toml(Duration::from_seconds(places / rate)), queue);
  } else {
    set(p, "send_rate.on_empty", text_in_toml("fail"),
        queue ? queue.path() : "the limiter has no queue");
  }
  window.leave_in_part("permits come evenly, not all when a window begins");
}

// Reads a limiter: RateLimiterStrategyOptions, by default 1,000 calls at once and no queue, or the
// options of a limiter themselves. The standard handler has it around all other strategies.
void read_limiter(ImportedPolicy& p, const Field& limiter, bool standard) {
  if (!limiter.is_map()) return limiter.leave("expected its options");
  limiter.block();
  if (limiter.members().empty()) limiter.use();
  const Field nested = limiter["default_rate_limiter_options"].map();
  const Field& options = nested ? nested : limiter;
  const Field most = options["permit_limit"], queue = options["queue_limit"],
              window = options["window"];
  for (const char* name : {"rate_limiter", "on_rejected", "name"}) {
    limiter[name].leave(std::string(kIsCode));
  }
  options["queue_processing_order"].leave("those that wait go first come, first served");
  for (const char* name : {"auto_replenishment", "segments_per_window"}) {
    options[name].leave("permits come evenly");
  }
  if (options["token_limit"]) {
    return limiter.leave("a bucket of tokens: write send_rate, with burst for TokenLimit");
  }
  if (window && most) return read_rate(p, most, window, queue);
  const std::string origin = limiter.path() + ", Polly's default";
  set(p, "bulkhead.max_concurrent", most ? in_toml(static_cast<double>(most.count())) : "1000",
      most ? most.path() : origin);
  set(p, "bulkhead.queue", queue ? in_toml(static_cast<double>(queue.count())) : "0",
      queue  ? queue.path()
      : most ? "the limiter has no queue"
             : origin);
  set(p, "bulkhead.longest_wait", text_in_toml("none"), "its queue has no limit of time");
  if (standard) {
    limiter.leave_in_part(
        "it holds the attempts under way, there whole requests with their delays");
  }
}

}  // namespace

void import_polly(const Documents& documents, Reading&, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    std::vector<std::pair<std::string, Field>> pipelines;
    each_map(d, [&](const Field& map) {
      if (map["retry"].is_map()) pipelines.emplace_back("pipeline", map);
    });
    if (pipelines.empty() && (d["max_retry_attempts"] || d["backoff_type"]))
      pipelines.emplace_back("retry", d);
    for (const auto& found : pipelines) {
      const std::string& what = found.first;
      const Field& pipeline = found.second;
      const Field retry = what == "retry" ? pipeline : pipeline["retry"];
      const bool standard =
          pipeline["attempt_timeout"].is_map() || pipeline["total_request_timeout"].is_map();
      const bool of_http = standard || bool(retry["should_retry_after_header"]);
      pipeline.block();
      ImportedPolicy p;
      const std::size_t dot = pipeline.path().rfind('.');
      p.name = group_name(
          dot == std::string::npos ? pipeline.path() : pipeline.path().substr(dot + 1), "imported");
      p.from = pipeline.path();
      begin(p, "", "");
      const Field most = retry["max_retry_attempts"], delay = retry["delay"],
                  type = retry["backoff_type"], jitter = retry["use_jitter"],
                  cap = retry["max_delay"];
      check_least(most, 1);
      set(p, "retry.max_retries", most ? in_toml(static_cast<double>(most.count())) : "3",
          most ? most.path() : "Polly's default");
      const Duration base = delay ? delay.timespan() : Duration::seconds(2);
      const std::string kind = type      ? backoff_type(type.text())
                               : of_http ? "exponential"
                                         : "constant";
      const bool spread = jitter ? jitter.flag() : of_http;
      const std::optional<Duration> longest = cap ? std::optional(cap.timespan()) : std::nullopt;
      const std::string origin = delay ? delay.path() : "Polly's default";
      if (kind == "linear") {
        const LinearDelays list =
            linear_delays(base, base, most ? most.count() : 3, longest, spread ? kPollysShare : 0);
        set(p, "retry.delays", list.text, paths({type, delay, cap}));
        if (jitter) p.keys.back().source += ", " + jitter.path();
        if (list.cut) cap.leave_in_part("delays that it may cut are drawn up to it instead");
      } else if (kind == "exponential") {
        set_backoff(p, base, 2, longest, spread ? "decorrelated-v2" : "none", origin);
      } else if (kind == "constant") {
        set_backoff(p, base, 1, longest, spread ? "proportional" : "none", origin);
        if (spread) {
          set(p, "retry.backoff.jitter_share", in_toml(kPollysShare),
              "Polly's jitter of constant delays");
          if (cap) set(p, "retry.backoff.jitter_before_cap", "true", cap);
        }
      } else {
        type.fail("expected Constant, Linear or Exponential");
      }
      const auto show = [&](std::string_view key, const Field& from, std::string_view otherwise) {
        const auto made = std::ranges::find(p.keys, key, &ImportedKey::path);
        if (made == p.keys.end()) return;
        if (from || !otherwise.empty()) made->source = from ? from.path() : otherwise;
      };
      const std::string_view otherwise = of_http ? "the default for HTTP" : "";
      show("retry.backoff.factor", type, otherwise);
      show("retry.backoff.jitter", jitter, otherwise);
      show("retry.backoff.cap", cap, "");
      if (of_http) set_errors_of_http(p);
      retry["should_handle"].leave(std::string(of_http ? kIsCode : kRetriedHere));
      read_fields(p, retry, kPollysRetry);
      // The suggested delay replaces the computed one, even above MaxDelay.
      const Field after = retry["should_retry_after_header"];
      if (after || standard) {
        const bool replaces = after ? after.flag() : true;
        set(p, "retry.retry_after", text_in_toml(replaces ? "replace" : "ignore"),
            after ? after.path() : "the handler's default");
        if (replaces) {
          set(p, "retry.retry_after_max", text_in_toml("none"), "Polly bounds no suggestions");
        }
      }
      const auto timeout_of = [&](std::string_view name) {
        const Field f = pipeline[name];
        return f.is_map() ? f["timeout"] : f;
      };
      if (standard) {
        set(p, "attempt_timeout", text_in_toml("10s"), "the handler's default");
        set(p, "deadline", text_in_toml("30s"), "the handler's default");
      }
      if (const Field f = timeout_of("attempt_timeout"); f)
        set(p, "attempt_timeout", in_toml(f.timespan()), f);
      if (const Field f = timeout_of("total_request_timeout"); f)
        set(p, "deadline", in_toml(f.timespan()), f);
      if (what != "retry") {
        if (const Field f = timeout_of("timeout"); f)
          set(p, "attempt_timeout", in_toml(f.timespan()), f);
      }
      pipeline["hedging"].leave(
          "retries and hedges in one pipeline have no counterpart: write retry.hedging.delay");
      read_breaker(p, pipeline["circuit_breaker"], standard);
      read_limiter(p, pipeline["concurrency_limiter"], standard);
      read_limiter(p, pipeline["rate_limiter"], standard);
      result.policies.push_back(std::move(p));
    }
  }
}

}  // namespace retrysim::imports

// The keys of [client.NAME]: who sends, how requests arrive, and how they are retried. Some of them
// are also keys of [service.NAME.calls.NAME], where a service is the client of another one.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include "scenario/keys/key_rows.hpp"

#include <cstdint>

namespace retrysim::scenario {

namespace {

using A = ArrivalSpec;
constexpr auto kArrivals = &ClientSpec::arrivals;
constexpr auto kTimeouts = &ClientSpec::timeouts;
constexpr auto kSideEffects = &ClientSpec::side_effects;

constexpr std::string_view kHasRate = "arrivals.process = poisson|constant|on-off|poll";
constexpr std::string_view kOnce = "arrivals.process = once";
constexpr std::string_view kClosed = "arrivals.process = closed";
constexpr std::string_view kTrace = "arrivals.process = trace";
constexpr std::string_view kOnOff = "arrivals.process = on-off";
constexpr std::string_view kPoll = "arrivals.process = poll";

/// Value of the deadline of a call that means: the time left until the caller's deadline.
constexpr std::string_view kOfTheCaller = "caller";

void store_attempt_timeout(const Slots& s, const Value& v) {
  TimeoutSpec& timeouts = s.to<ClientSpec>().timeouts;
  timeouts.has_attempt = !v.is_else_word;
  timeouts.attempt = v.distribution;
}

void store_reconcile_read(const Slots& s, const Value& v) {
  SideEffectSpec& side_effects = s.to<ClientSpec>().side_effects;
  side_effects.reconciles = !v.is_else_word;
  side_effects.reconcile_read = v.distribution;
}

constexpr KeyInfo kGroupKeys[] = {
    key("calls", names(), into<&ServiceNames::names>, {.required = true},
        "The service called; may be left out if there is only one. Of several, each request calls "
        "one, all equally likely (a name that is given twice counts twice)."),
    key("count", count(kUpToBillion), into<&ClientSpec::count>, {.fallback = "1"},
        "Virtual clients in the group, each with its own retry state."),
};

constexpr KeyInfo kPriorityKeys[] = {
    key("priority", count({.min = 0, .max = kMaxPriority}), into<&ClientSpec::priority>,
        {.fallback = "0"},
        "Attempts of higher priority are served first where queue.discipline is priority, and "
        "turned away last where queue.when_full is evict-lowest; concurrency.partitions go by it, "
        "too."),
};

using C = CallSpec;

void store_call_count(const Slots& s, const Value& v) {
  C& call = s.to<C>();
  if (v.is_constant) {
    call.count = static_cast<std::uint32_t>(v.count);
  } else {
    call.random_count = v.distribution;
  }
}

void store_call_priority(const Slots& s, const Value& v) {
  s.to<C>().callers_priority = v.is_else_word;
  if (!v.is_else_word) s.to<ClientSpec>().priority = static_cast<std::uint8_t>(v.count);
}

// Keys for when a call is made, and what its result means for the caller.
constexpr KeyInfo kCallKeys[] = {
    key("service", text(), into<&ServiceName::name>, {},
        "The service called; if not given, the one that the call is named after."),
    key("stage", count(kUpToMillion), into<&C::stage>, {},
        "Stages come in ascending order, the calls of a stage are made together, and the next "
        "stage "
        "begins when all of them are decided. If not given: the call's place in the file, counted "
        "from 1 (with one_of that of the first alternative); with parallel_calls: 1."),
    key("share", number({.min = 0, .max = 1e6}), into<&C::share>, {.fallback = "1.0"},
        "Share of the requests for which the call is made, at most 1; with one_of its weight among "
        "the alternatives. A request chooses once for all its attempts."),
    key("one_of", text().of(Quantity::kName), into<&C::one_of>, {},
        "Calls of one stage that give the same name here are alternatives: of those that the "
        "request's operation permits exactly one is made."),
    key("operation", names(), into<&C::operations>, {},
        "The call is made only for requests with this operation, or with one of these; if not "
        "given, for all."),
    key("callee_operation", word("own|caller"), into<&C::callers_operation>, {.fallback = "own"},
        "Whether the callee sees no operation, or the operation of the attempt for which the call "
        "is made: for its throttle, its own calls, and the work of the operation."),
    key("callee_key", word("own|caller"), into<&C::callers_key>, {.fallback = "own"},
        "Whether the callee sees one of the keys of the call (keys.count), or the key of the "
        "attempt for which the call is made."),
    key("priority", count({.min = 0, .max = kMaxPriority}).or_word("caller"),
        Access{store_call_priority}.used_as(into<&ClientSpec::priority>), {.fallback = "0"},
        "As client.*.priority; \"caller\": the priority of the attempt for which the call is "
        "made."),
    key("count", count_distribution({.min = 0, .max = C::kMaxCopies}),
        Access{store_call_count}.used_if(
            [](const FilledSlots& s) { return s.to<C>().count != 1 || s.to<C>().random_count; }),
        {.fallback = "1"},
        "Requests that are sent together (fan-out): a number, or a distribution whose values are "
        "rounded to a whole one, at most 1000. Each is a request of its own; 0: none."),
    key("need", count(kUpToMillion).or_word("all"), into<&C::need>, {.fallback = "all"},
        "The call has succeeded as soon as so many of them have (a quorum), and failed as soon as "
        "that cannot happen any more. The others run on to their own end."),
    key("on_failure", word(), into<&C::on_failure>, {.fallback = "fail"},
        "What a failed call does: fail: the attempt fails, too; ignore: it goes on without, and "
        "its "
        "answer is degraded; fallback: another call is made instead, and the answer is degraded."),
    key("fallback", text(), into<&C::fallback>, {.required = true, .when = "on_failure = fallback"},
        "The call of the same service that is made instead. It is made for nothing else."),
};

constexpr KeyInfo kArrivalKeys[] = {
    key("arrivals.process", word(), into<kArrivals, &A::process>,
        {.required = true,
         .decides = true,
         .thing = "Poisson arrivals|arrivals that are not Poisson|a herd|a closed loop|a "
                  "trace|bursts of single clients|polling"},
        "How requests arrive."),
    key("arrivals.rate", number(kPositive).in("1/s"), into<&ArrivalInputs::rate>,
        {.when = kHasRate}, "Requests per second of each client."),
    key("arrivals.total_rate", number(kPositive).in("1/s"), into<&ArrivalInputs::total_rate>,
        {.when = kHasRate}, "Requests per second of the group together."),
    key("arrivals.phase", word("random|aligned"), into<kArrivals, &A::aligned>,
        {.fallback = "random", .when = "arrivals.process = constant|on-off"},
        "Whether each client acts at its own times or all act together."),
    key("arrivals.start", duration(kNotNegative), into<kArrivals, &A::start>,
        {.fallback = "0s", .when = kOnce}, "When every client submits its one request."),
    key("arrivals.spread", duration(kNotNegative), into<kArrivals, &A::spread>,
        {.fallback = "0s", .when = kOnce}, "Those requests are spread uniformly over this time."),
    key("arrivals.concurrency", count(kUpToMillion), into<kArrivals, &A::concurrency>,
        {.fallback = "1", .when = kClosed}, "Requests that each client keeps in progress."),
    key("arrivals.think_time", distribution(), into<kArrivals, &A::think_time>,
        {.fallback = "0s", .when = kClosed}, "Pause before each request; the run starts with one."),
    key("arrivals.think_from", word("end|start"), into<kArrivals, &A::think_from_start>,
        {.fallback = "end", .when = kClosed},
        "Whether that pause counts from the end of the previous request or from its start; in the "
        "latter case a request that took longer than the pause is followed at once."),
    key("arrivals.file", file(), into<&ArrivalInputs::file>, {.required = true, .when = kTrace},
        "CSV file with columns timestamp,value (a monitoring export) or time_s,rate (the group's "
        "rate) or time_s (one row per request)."),
    key("arrivals.speed_up", number(kPositive), into<&ArrivalInputs::speed_up>,
        {.fallback = "1.0", .when = kTrace},
        "Factor by which time in the file passes faster than simulated time."),
    key("arrivals.scale", number(kPositive), into<&ArrivalInputs::scale>,
        {.fallback = "1.0", .when = kTrace}, "Factor on the file's rates."),
    key("arrivals.bucket", duration(kPositive), into<&ArrivalInputs::bucket>, {.when = kTrace},
        "Width of a monitoring export's bucket; without it the most common spacing of the rows."),
    key("arrivals.spacing", word("poisson|even"), into<kArrivals, &A::even_spacing>,
        {.fallback = "poisson", .when = kTrace},
        "Whether requests come at random or evenly at the file's rate."),
    key("arrivals.profile", file(), into<&ArrivalInputs::profile>.used_if([](const FilledSlots& s) {
      return s.to<ClientSpec>().arrivals.profile.has_value();
    }),
        {.when = kHasRate, .thing = "a load profile"},
        "CSV file with columns time_s,rate: a factor on the rate, or the group's rate if none is "
        "given."),
    key("arrivals.interpolate", word("linear|step"), into<&ArrivalInputs::step>,
        {.fallback = "linear", .when = "arrivals.process = poisson|constant|trace|on-off|poll"},
        "Whether the rate of a time_s,rate file changes linearly between rows or in steps."),
};

void store_deadline_of_call(const Slots& s, const Value& v) {
  TimeoutSpec& timeouts = s.to<ClientSpec>().timeouts;
  timeouts.deadline = v.is_else_word ? Duration::max() : v.duration;
  timeouts.deadline_of_caller = v.is_else_word && v.text == kOfTheCaller;
}

constexpr KeyInfo kTimeoutKeys[] = {
    key("attempt_timeout",
        distribution().of(Quantity::kRequestTime).or_word("none").or_as_the_sdk(),
        Access{store_attempt_timeout}.used_as(into<kTimeouts, &TimeoutSpec::has_attempt>),
        {.fallback = "none"},
        "How long an attempt waits for its answer; \"sdk\": as long as the clients of retry.sdk do "
        "by default."),
};

constexpr std::string_view kDeadline = "a deadline";

constexpr KeyInfo kDeadlineKeys[] = {
    key("deadline", request_time(kPositive).or_word("none"),
        into<kTimeouts, &TimeoutSpec::deadline>, {.fallback = "none", .thing = kDeadline},
        "Longest time for a whole request, waiting and backoff included."),
};

constexpr KeyInfo kDeadlineOfCallKeys[] = {
    key("deadline", request_time(kPositive).or_word("none").or_also_word(kOfTheCaller),
        Access{store_deadline_of_call}.used_if([](const FilledSlots& s) {
          const TimeoutSpec& t = s.to<ClientSpec>().timeouts;
          return t.deadline != Duration::max() || t.deadline_of_caller;
        }),
        {.fallback = "none", .thing = kDeadline},
        "Longest time for a whole call, waiting and backoff included; \"caller\": until the client "
        "of the attempt that the call is made for stops waiting."),
};

constexpr std::string_view kPooled = "max_connections != unlimited";
constexpr std::string_view kUnsent = "attempts that find no connection in time";
constexpr Range kUpToBillionOrNone{.min = 0, .max = 1e9};

constexpr KeyInfo kConnectionKeys[] = {
    key("connect_timeout", request_time(kPositive).or_word("none").or_as_the_sdk(),
        into<kTimeouts, &TimeoutSpec::connect>, {.fallback = "none"},
        "How long an attempt waits for a new connection."),
    key("max_connections", count(kUpToBillion).or_word("unlimited").or_as_the_sdk(),
        into<&ClientSpec::max_connections>, {.fallback = "unlimited"},
        "Connections of each client, one attempt at a time on each; further attempts wait in "
        "order."),
    key("connection_wait", request_time(kNotNegative).or_word("none").or_as_the_sdk(),
        into<&ClientSpec::connection_wait>, {.fallback = "none", .when = kPooled, .thing = kUnsent},
        "The longest wait for a connection; then the attempt fails unsent (no-connection), and the "
        "retry strategy decides. \"sdk\" if max_connections is."),
    key("connection_queue", count(kUpToBillionOrNone).or_word("unlimited"),
        into<&ClientSpec::connection_queue>,
        {.fallback = "unlimited", .when = kPooled, .thing = kUnsent},
        "Attempts of each client that may wait for a connection; further ones fail at once."),
};

constexpr auto kBulkhead = &ClientSpec::bulkhead;
constexpr std::string_view kHasBulkhead = "bulkhead.max_concurrent != unlimited";
constexpr auto kSendRate = &ClientSpec::send_rate;
constexpr std::string_view kHasSendRate = "send_rate.rate != unlimited";

constexpr KeyInfo kOwnLimitKeys[] = {
    key("bulkhead.max_concurrent", count(kUpToBillion).or_word("unlimited").in("attempts"),
        into<kBulkhead, &BulkheadSpec::max_concurrent>,
        {.fallback = "unlimited", .thing = "bulkheads"},
        "Attempts that each client has under way at once; a backoff takes no place."),
    key("bulkhead.longest_wait", request_time(kNotNegative).or_word("none"),
        into<kBulkhead, &BulkheadSpec::longest_wait>,
        {.fallback = "0s", .when = kHasBulkhead, .thing = "bulkheads"},
        "The longest wait for a place; then the attempt fails unsent (bulkhead-full), and the "
        "retry strategy decides."),
    key("bulkhead.queue", count(kUpToBillionOrNone).or_word("unlimited").in("attempts"),
        into<kBulkhead, &BulkheadSpec::queue>,
        {.fallback = "unlimited", .when = kHasBulkhead, .thing = "bulkheads"},
        "Attempts of each client that may wait for a place; further ones fail at once."),
    key("send_rate.rate", number(kPositive).or_word("unlimited").in("1/s"),
        into<kSendRate, &SendRateSpec::rate>,
        {.fallback = "unlimited", .thing = "limits on the send rate"},
        "Attempts per second that each client lets itself send, first ones and retries."),
    key("send_rate.burst", number({.min = 1, .max = 1e9}), into<kSendRate, &SendRateSpec::burst>,
        {.fallback = "1.0", .when = kHasSendRate, .thing = "limits on the send rate"},
        "Attempts that it may send at once after a pause."),
    key("send_rate.on_empty", word(), into<kSendRate, &SendRateSpec::on_empty>,
        {.fallback = "wait", .when = kHasSendRate, .thing = "limits on the send rate"},
        "What an attempt above the rate does: wait its turn, or fail unsent (not-permitted), so "
        "that the retry strategy decides."),
    key("send_rate.longest_wait", request_time(kNotNegative).or_word("none"),
        into<kSendRate, &SendRateSpec::longest_wait>,
        {.fallback = "none",
         .when = "send_rate.on_empty = wait",
         .thing = "limits on the send rate"},
        "An attempt that would have to wait longer fails at once."),
};

using R = BreakerRules;
constexpr auto kBr = &ClientSpec::breaker;
constexpr std::string_view kHasBreaker = "breaker.preset != none";
constexpr std::string_view kNoBreaker = "breaker.preset = none";
constexpr std::string_view kBreakers = "circuit breakers that refuse calls";
constexpr KeyTraits kOfBreaker{.when = kHasBreaker, .idle_when = kNoBreaker, .thing = kBreakers};

std::string_view breaker_words() {
  static const std::string words = [] {
    std::string list = "none";
    for (const BreakerPreset& preset : breaker_presets()) list.append("|").append(preset.name);
    return list;
  }();
  return words;
}

void store_breaker_preset(const Slots& s, const Value& v) {
  const BreakerPreset* preset = find_breaker_preset(v.text);
  s.to<ClientSpec>().breaker = preset == nullptr ? BreakerRules() : preset->rules;
}

void store_consecutive(const Slots& s, const Value& v) {
  s.to<ClientSpec>().breaker.consecutive = v.is_else_word ? 0 : static_cast<std::uint32_t>(v.count);
}

// A window of time replaces a window of calls.
void store_breaker_window(const Slots& s, const Value& v) {
  s.to<ClientSpec>().breaker.window = v.duration;
  s.to<ClientSpec>().breaker.window_calls = 0;
}

template <auto kClasses>
void store_error_classes(const Slots& s, const Value& v) {
  ErrorClasses& classes = s.to<ClientSpec>().breaker.*kClasses;
  classes = {};
  for (const std::string& word : v.names) {
    if (const auto c = error_class(word)) classes.add(*c);
  }
}

template <auto kClasses>
bool has_own_classes(const FilledSlots& s) {
  const R& breaker = s.to<ClientSpec>().breaker;
  return breaker.in_use() && breaker.*kClasses != R().*kClasses;
}

std::vector<KeyInfo> breaker_keys() {
  constexpr KeyTraits of_breaker = kOfBreaker;
  return {
      key("breaker.preset", word(breaker_words()),
          Access{store_breaker_preset}.used_as(into<kBr, &R::enabled>),
          {.fallback = "none", .thing = kBreakers},
          "Circuit breaker that refuses calls, first attempts too: that of a library, with its "
          "defaults, or custom; custom is also what a table with other keys alone begins with."),
      key("breaker.order", word(), into<kBr, &R::order>, of_breaker,
          "retry-outside: each attempt asks the breaker and is recorded; breaker-outside: each "
          "request asks once and is recorded once, with all its attempts (retry-outside if not "
          "given)."),
      key("breaker.scope", word(), into<kBr, &R::scope>, of_breaker,
          "One breaker for each virtual client, for the whole group, or, for each client, one for "
          "each service that it calls or for each instance of these (client if not given)."),
      key("breaker.failure_share", number(kPositiveShare).or_word("none"),
          into<kBr, &R::failure_share>, of_breaker,
          "Share of failed calls in the window at which it opens."),
      key("breaker.slow_share", number(kPositiveShare).or_word("none"), into<kBr, &R::slow_share>,
          of_breaker, "Share of slow calls in the window at which it opens; slow probes fail."),
      key("breaker.slow_call", request_time(kNotNegative).or_word("none"), into<kBr, &R::slow_call>,
          of_breaker, "A call that takes longer is slow."),
      key("breaker.opens", word("at|above"), into<kBr, &R::above>, of_breaker,
          "Whether a share opens it when it is reached, or only when it is exceeded."),
      key("breaker.consecutive", count(kUpToBillion).or_word("none").in("calls"),
          Access{store_consecutive}.used_as(into<kBr, &R::consecutive>), of_breaker,
          "Failures in a row that open it."),
      key("breaker.min_calls", count({.min = 0, .max = 1e9}).in("calls"), into<kBr, &R::min_calls>,
          of_breaker, "Least number of calls in the window before a share opens it."),
      key("breaker.window", duration(kPositive),
          Access{store_breaker_window}.used_as(into<kBr, &R::window>), of_breaker,
          "How far back calls count."),
      key("breaker.window_calls", count(kUpToMillion).in("calls"), into<kBr, &R::window_calls>,
          {.when = "breaker.window unset", .idle_when = kNoBreaker, .thing = kBreakers},
          "Count so many last calls instead."),
      key("breaker.slices", count({.min = 1, .max = 1000}), into<kBr, &R::slices>, of_breaker,
          "Slices into which the time of the window is cut."),
      key("breaker.slicing", word(), into<kBr, &R::slicing>, of_breaker,
          "grid: slices begin at multiples of their length; calls: with the first call after the "
          "end of the one before (Polly); ring: likewise, but they leave only when the next one "
          "begins (cockatiel)."),
      key("breaker.judged", word("failures|results"), into<kBr, &R::judges_successes>, of_breaker,
          "Whether only failures open it, or also a success that completes min_calls."),
      key("breaker.counted", word("results|calls"), into<kBr, &R::counts_asked>, of_breaker,
          "Whether calls count when they end, or when they ask, refused ones included (opossum)."),
      key("breaker.keeps_counts", boolean(), into<kBr, &R::keeps_counts>, of_breaker,
          "Whether the window goes on through all states, or begins anew when it closes."),
      key("breaker.counts_probe", boolean(), into<kBr, &R::counts_probe>, of_breaker,
          "Whether the probe that closes it is the first call of the new window."),
      key("breaker.failures", names().or_word("none"),
          Access{store_error_classes<&R::failures>}.used_if(has_own_classes<&R::failures>),
          of_breaker,
          "Errors that are failures to the breaker: throttling, transient, timeout, not-retryable, "
          "as the retry strategy classifies them, whatever retry.on and retry.not_on make final; "
          "others are successes."),
      key("breaker.ignored", names().or_word("none"),
          Access{store_error_classes<&R::ignored>}.used_if(has_own_classes<&R::ignored>),
          of_breaker, "Errors that are neither: to the breaker the call has not been made."),
      key("breaker.open", duration(kNotNegative), into<kBr, &R::open>, of_breaker,
          "How long it stays open before it lets probes pass."),
      key("breaker.open_factor", number({.min = 1, .max = 1e6}), into<kBr, &R::open_factor>,
          of_breaker, "Growth of that time each time in a row that the probes fail."),
      key("breaker.open_cap", duration(kPositive).or_word("none"), into<kBr, &R::open_cap>,
          of_breaker, "Longest time that it stays open."),
      key("breaker.probes", count(kUpToMillion).in("calls"), into<kBr, &R::probes>, of_breaker,
          "Calls that a half-open breaker lets pass; with close_on = consecutive, at once."),
      key("breaker.close_on", word(), into<kBr, &R::close_on>, of_breaker,
          "What closes it: all: no probe fails; share: when they have ended, or min_calls of them, "
          "less than what opens it; consecutive: close_after successes in a row."),
      key("breaker.close_after", count(kUpToMillion).in("calls"), into<kBr, &R::close_after>,
          {.when = "breaker.close_on = consecutive", .idle_when = kNoBreaker, .thing = kBreakers},
          "Successes in a row that close it."),
      key("breaker.counts_late", boolean(), into<kBr, &R::counts_late>, of_breaker,
          "Whether results of calls that began in an earlier state of the breaker count."),
      key("breaker.retry_refused", boolean(), into<kBr, &R::retry_refused>, of_breaker,
          "Whether a refused call is an error that may be retried, after a backoff; if not, its "
          "request ends with breaker_open."),
  };
}

using K = KeySpec;
constexpr auto kKeys = &ClientSpec::keys;

constexpr KeyInfo kKeyKeys[] = {
    key("keys.count", count(kUpToMillion), into<kKeys, &K::count>, {.fallback = "1"},
        "Number of different keys (rows, partitions, tables) that requests ask for; throttles, "
        "quotas and limiters may be kept apart by key."),
    key("keys.popularity", word(), into<kKeys, &K::popularity>,
        {.fallback = "uniform", .when = "keys.count != 1"},
        "How often each of them is requested: zipf: the k-th in proportion to k^-exponent; hot: "
        "the first more often, the others equally often."),
    key("keys.exponent", number({.min = 0, .max = 20}), into<kKeys, &K::exponent>,
        {.fallback = "1.0", .when = "keys.popularity = zipf"}, "Exponent of that law."),
    key("keys.hot_share", number(kShare), into<kKeys, &K::hot_share>,
        {.required = true, .when = "keys.popularity = hot"},
        "Share of the requests that ask for the first key."),
};

constexpr KeyInfo kRepeatKeys[] = {
    key("unrepeatable", number(kShare), into<&ClientSpec::unrepeatable>,
        {.fallback = "0.0", .thing = "requests that are not retried"},
        "Share of the requests whose body cannot be sent again, such as a stream: they are neither "
        "retried nor hedged."),
};

constexpr std::string_view kKeepsAnswers = "cache.capacity != none";

void store_cache_capacity(const Slots& s, const Value& v) {
  const std::uint32_t most = v.text == "none" ? 0 : CacheSpec::kUnlimited;
  s.to<C>().cache.capacity = v.is_else_word ? most : static_cast<std::uint32_t>(v.count);
}

constexpr std::string_view kCaches = "calls that a cache saves";

constexpr KeyInfo kCacheKeys[] = {
    key("cache.capacity", count(kUpToBillion).or_word("none").or_also_word("unlimited"),
        Access{store_cache_capacity}.used_as(into<&C::cache, &CacheSpec::capacity>),
        {.fallback = "none", .thing = kCaches},
        "Answers that each instance of the caller keeps in a cache, by the key of the attempt that "
        "the call is made for. A hit needs no call."),
    key("cache.policy", word(), into<&C::cache, &CacheSpec::policy>,
        {.fallback = "lru", .when = kKeepsAnswers},
        "Which answer goes when the cache is full: lru: the one not used for the longest time; "
        "fifo: the one stored first."),
    key("cache.ttl", duration(kPositive).or_word("none"), into<&C::cache, &CacheSpec::ttl>,
        {.fallback = "none", .when = kKeepsAnswers},
        "How long an answer is good, from when it has come."),
    key("cache_hit", number(kShare), into<&C::cache, &CacheSpec::hit>,
        {.fallback = "0.0", .when = "cache.capacity = none", .thing = kCaches},
        "Share of the attempts that need no call, by chance."),
};

constexpr KeyInfo kRetryPlaceKeys[] = {
    key("retry_only_at", word(), into<&ClientSpec::retry_only_at>,
        {.fallback = "anywhere", .thing = "calls of which some are not retried"},
        "Which calls are retried and hedged: anywhere: all, as retry says; edge: none, so that "
        "only the clients outside retry; first-attempt: those that are not made for a retry, of "
        "whatever layer above."),
};

constexpr KeyInfo kSideEffectKeys[] = {
    key("mutating", number(kShare), into<kSideEffects, &SideEffectSpec::mutating>,
        {.fallback = "0.0"}, "Share of the requests that have side effects."),
    key("idempotency_token", boolean(), into<kSideEffects, &SideEffectSpec::idempotency_token>,
        {.fallback = "true"}, "Whether those carry a token that is the same in every attempt."),
    key("reconcile_read", distribution().of(Quantity::kRequestTime).or_word("none"),
        Access{store_reconcile_read}.used_as(into<kSideEffects, &SideEffectSpec::reconciles>),
        {.fallback = "none"},
        "Before a retry of such a request the client asks the service whether it has taken effect, "
        "and sends it again only if not: server time of that read. Read and request are one "
        "attempt, with one attempt_timeout. Not with retry.hedging or model = occ."),
};

constexpr KeyInfo kOtherKeys[] = {
    key("token_reuse", number(kShare), into<kSideEffects, &SideEffectSpec::token_reuse>,
        {.fallback = "0.0", .when = "idempotency_token = true"},
        "Share of those that carry the token of their client's previous one: wrongly, so that the "
        "service refuses them, or because they say the same (token_from = content)."),
    key("token_from", word(), into<kSideEffects, &SideEffectSpec::token_from>,
        {.fallback = "request", .when = "idempotency_token = true"},
        "What the token is made from: request: it belongs to one request; content: from what the "
        "request says, so that the service takes another request that says the same for a "
        "repetition (how many do: token_reuse)."),
    key("long_poll", boolean(), into<&ClientSpec::long_poll>, {.fallback = "false"},
        "Whether the requests are long-polling operations, such as SQS ReceiveMessage."),
    key("like", text(), kNowhere, {.role = KeyRole::kBase},
        "Another client group that this one starts from."),
};

constexpr KeyInfo kBurstAndPollKeys[] = {
    key("arrivals.on", distribution(), into<kArrivals, &A::on>, {.required = true, .when = kOnOff},
        "Length of a burst."),
    key("arrivals.off", distribution(), into<kArrivals, &A::off>,
        {.required = true, .when = kOnOff},
        "Length of the pause after it. rate is the mean over both: during a burst the rate is rate "
        "* (on + off) / on."),
    key("arrivals.job_time", distribution(), into<kArrivals, &A::job_time>,
        {.required = true, .when = kPoll},
        "How long a job takes. rate counts jobs; each is checked until it is done, or given up at "
        "the first check that ends with anything but success or a throttling error."),
    key("arrivals.base", duration(kPositive), into<kArrivals, &A::poll, &PollSpec::base>,
        {.fallback = "100ms", .when = kPoll}, "Pause before the first check of a job."),
    key("arrivals.factor", number(kUpToMillion), into<kArrivals, &A::poll, &PollSpec::factor>,
        {.fallback = "2.0", .when = kPoll}, "Growth of the pause from check to check."),
    key("arrivals.cap", duration(kPositive).or_word("none"),
        into<kArrivals, &A::poll, &PollSpec::cap>, {.fallback = "none", .when = kPoll},
        "Longest pause between checks."),
    key("arrivals.jitter", word(words_up_to(Jitter::kDecorrelated)),
        into<kArrivals, &A::poll, &PollSpec::jitter>, {.fallback = "none", .when = kPoll},
        "How the pause is spread at random."),
    key("arrivals.max_checks", count(kUpToMillion).or_word("unlimited"),
        into<kArrivals, &A::poll, &PollSpec::max_checks>, {.fallback = "unlimited", .when = kPoll},
        "Checks after which a job is given up."),
};

constexpr std::string_view kSurges = "surges";

constexpr KeyInfo kSurgeKeys[] = {
    key("start", duration(kNotNegative), into<&SurgeSpec::start>,
        {.required = true, .thing = kSurges}, "When the surge begins."),
    key("duration", duration(kPositive), into<&SurgeSpec::duration>,
        {.required = true, .thing = kSurges}, "How long it lasts."),
    key("factor", number(kFactorRange), into<&SurgeSpec::factor>,
        {.required = true, .thing = kSurges}, "Factor on the arrival rate."),
};

constexpr std::string_view kOperations = "operations";

constexpr KeyInfo kOperationKeys[] = {
    key("share", number(kPositive),
        into<&OperationSpec::share>.used_if([](const FilledSlots&) { return true; }),
        {.required = true, .thing = kOperations},
        "Share of the group's requests that are of this kind, relative to its other operations."),
    key("work", number({.min = 0, .max = 1e6}), into<&OperationSpec::work>,
        {.fallback = "1.0", .thing = kOperations}, "Factor on the service time of their attempts."),
    key("calls", text(), into<&ServiceName::name>, {},
        "The service that they call; if not given, that of the group's other requests."),
    key("retry_not_on", names(), into<&ErrorTexts::not_on>.used_if([](const FilledSlots& s) {
      return !s.to<OperationSpec>().not_retried_on.empty();
    }),
        {.thing = "operations that are not retried"},
        "Errors after which these requests are not retried, written as in retry.on; any: they are "
        "neither retried nor hedged."),
};

}  // namespace

std::vector<KeyInfo> client_keys() {
  return joined_keys({kGroupKeys, kPriorityKeys, kArrivalKeys, kTimeoutKeys, kDeadlineKeys,
                      kConnectionKeys, kOwnLimitKeys, kSideEffectKeys, kOtherKeys,
                      kBurstAndPollKeys, kKeyKeys, kRepeatKeys, breaker_keys(), retry_keys()});
}

std::vector<KeyInfo> call_keys() {
  return joined_keys({kCallKeys, kTimeoutKeys, kDeadlineOfCallKeys, kConnectionKeys, kOwnLimitKeys,
                      kSideEffectKeys, kKeyKeys, kRepeatKeys, kRetryPlaceKeys, kCacheKeys,
                      breaker_keys(), retry_keys()});
}

std::span<const KeyInfo> surge_keys() { return kSurgeKeys; }

std::span<const KeyInfo> operation_keys() { return kOperationKeys; }

// --- Retries -------------------------------------------------------------------------------------

// The first keys choose a preset by mode, revision, SDK and API; the others are its rules, so each
// of them can also read its default back out of the preset.

namespace {

constexpr std::string_view kNoRetries = "retry.mode = none";
constexpr std::string_view kRetries = "retry.mode != none";
constexpr std::string_view kCustom = "retry.mode = custom";
constexpr std::string_view kAdaptive = "retry.mode = adaptive";
constexpr std::string_view kHasPresets = "retry.mode = legacy|standard|adaptive|custom";
constexpr std::string_view kFormula = "retry.delays unset";
constexpr std::string_view kHasQuota = "retry.quota.capacity != unlimited";

constexpr std::string_view kReadsSuggestions = "retry.retry_after != ignore";

constexpr Range kAmount{.min = 0, .max = 1e9};

// The mode from the environment, or else the mode in which the SDK starts.
std::optional<EnvironmentSetting> mode_from(const EnvironmentQuery& query) {
  if (query.environment.mode) return query.environment.mode;
  const bool after_2026 =
      query.environment.new_retries_for(query.sdk) && release_offers(query.sdk, "2.1");
  // The preset of the release says the mode.
  if (has_version(query.sdk) && !after_2026) return std::nullopt;
  const auto mode = default_mode(query.sdk, after_2026);
  if (!mode) return std::nullopt;
  return EnvironmentSetting{std::string(*mode), ""};
}

std::optional<EnvironmentSetting> revision_from(const EnvironmentQuery& query) {
  if (!query.environment.new_retries_for(query.sdk)) return std::nullopt;
  if (!release_offers(query.sdk, "2.1") || release_revision(query.sdk) == "2.1") {
    return std::nullopt;
  }
  if (find_preset(query.mode, "2.1", query.sdk, "default") == nullptr) return std::nullopt;
  return EnvironmentSetting{"2.1", "AWS_NEW_RETRIES_2026"};
}

std::optional<EnvironmentSetting> max_attempts_from(const EnvironmentQuery& query) {
  return query.environment.max_attempts;
}

std::string_view defect_words() {
  static const std::string words = [] {
    std::string list = "none";
    for (const Defect& defect : defects()) list.append("|").append(defect.name);
    return list;
  }();
  return words;
}

void store_retryer(const Slots& s, const Value& v) {
  s.to<ClientSpec>().retryer = v.is_else_word ? "" : v.text;
}

void store_retry_priority(const Slots& s, const Value& v) {
  auto& priority = s.to<ClientSpec>().retry_priority;
  priority.reset();
  if (!v.is_else_word) priority = static_cast<std::uint8_t>(v.count);
}

std::vector<KeyInfo> preset_keys() {
  return {
      key("retry.from_environment", boolean(), into<&PresetChoice::from_environment>,
          {.fallback = "false", .role = KeyRole::kReplaced},
          "Take the mode and the number of attempts, where not given here, from AWS_RETRY_MODE, "
          "AWS_MAX_ATTEMPTS and the profile in the shared AWS config file."),
      key("retry.mode", word(kWords<RetryMode>), into<&PresetChoice::mode>,
          {.required = true,
           .decides = true,
           .role = KeyRole::kPresetChoice,
           .environment = {mode_from, "legacy|standard|adaptive"}},
          "The kind of retry strategy."),
      key("retry.revision", text(), into<&PresetChoice::revision>,
          {.fallback = "2.0",
           .when = "retry.mode = standard|adaptive",
           .role = KeyRole::kPresetChoice,
           .environment = {revision_from}},
          "Revision of the standard rules: 2.0; 2.1, from 2026; smithy and smithy-2.1: the example "
          "in the Smithy guide before and since April 2026."),
      key("retry.sdk", text(), into<&PresetChoice::sdk>,
          {.fallback = "botocore",
           .fallback_when = "retry.mode != custom",
           .when = kHasPresets,
           .role = KeyRole::kPresetChoice},
          "The SDK whose legacy rules, or deviations from the standard rules, apply (botocore if "
          "not given); in mode custom, other software. With its version, as in "
          "\"botocore@1.44.0\", the rules are those of that release, which also gives mode and "
          "revision where they are not written."),
      key("retry.api", text(), into<&PresetChoice::api>,
          {.fallback = "default", .when = kHasPresets, .role = KeyRole::kPresetChoice},
          "The AWS service called, if it has numbers or error codes of its own."),
      key("retry.defect", word(defect_words()), into<&PresetChoice::defect>,
          {.fallback = "none", .when = kRetries}, "Known defect of an SDK to switch on."),
      key("retry.retryer", text().of(Quantity::kName).or_word("none"),
          Access{store_retryer}.used_as(into<&ClientSpec::retryer>),
          {.fallback = "none", .when = kRetries},
          "A name: groups with the same one share retry quota, send-rate limiter, budget, "
          "retry breaker, guard and client throttle, client by client, like the SDK clients of one "
          "process that use the same retryer. A circuit breaker that refuses calls (breaker) is "
          "not "
          "shared with it."),
      key("retry.priority", count({.min = 0, .max = kMaxPriority}).or_word("same"),
          Access{store_retry_priority}.used_if(
              [](const FilledSlots& s) { return s.to<ClientSpec>().retry_priority.has_value(); }),
          {.fallback = "same", .when = kRetries, .thing = "retries with a priority of their own"},
          "Priority of all attempts after the first one, retries and hedges, instead of that of "
          "the group: a lower one lets a service shed retries first."),
  };
}

using B = BackoffRules;
constexpr auto kB = &RetryRules::backoff;

void store_max_retries(const Slots& s, const Value& v) {
  s.to<RetryRules>().max_attempts =
      v.is_else_word ? RetryRules::kUnlimited : static_cast<std::uint32_t>(v.count + 1);
}

void store_base(const Slots& s, const Value& v) {
  auto& rules = s.to<RetryRules>();
  rules.backoff.base = v.duration;
  // In mode custom there is no preset to keep: one base is meant for all errors.
  if (rules.mode == RetryMode::kCustom) rules.backoff.throttle_base = v.duration;
}

void store_jitter(const Slots& s, const Value& v) {
  BackoffRules& backoff = s.to<RetryRules>().backoff;
  backoff.jitter = backoff.throttle_jitter = static_cast<Jitter>(v.word);
}

void store_capacity(const Slots& s, const Value& v) {
  QuotaRules& quota = s.to<RetryRules>().quota;
  // Rules without a quota have no prices either; they take those of the standard rules.
  if (!quota.enabled && !v.is_else_word) {
    quota = find_preset("standard", "2.0", "botocore", "default")->rules.quota;
  }
  quota.enabled = !v.is_else_word;
  if (quota.enabled) quota.capacity = quota.initial = static_cast<int>(v.count);
}

void store_retry_after_max(const Slots& s, const Value& v) {
  const Duration limit = v.text == "none" ? Duration::max() : Duration::zero();
  s.to<RetryRules>().retry_after_max = v.is_else_word ? limit : v.duration;
}

std::string retry_after_max_of(const RetryRules& r, std::string_view else_word) {
  const bool by_cap =
      r.retry_after == RetryAfter::kReplace || r.retry_after == RetryAfter::kMinimumCapped;
  if (by_cap && r.retry_after_max == Duration::zero()) return render_text(else_word);
  return toml_of(r.suggestion_limit(), "none");
}

std::string capacity_of(const RetryRules& r, std::string_view else_word) {
  return r.quota.enabled ? std::to_string(r.quota.capacity) : render_text(else_word);
}

/// Access to a part of the rules that a word switches off in place of the value.
template <auto kPart, auto kValue>
constexpr Access into_switched = Access{
    [](const Slots& s, const Value& v) {
      auto& part = s.to<RetryRules>().*kPart;
      part.enabled = !v.is_else_word;
      if (part.enabled) store_in(part.*kValue, v);
    },
    [](const RetryRules& r, std::string_view else_word) {
      const auto& part = r.*kPart;
      return part.enabled ? toml_of(part.*kValue, else_word) : render_text(else_word);
    }}.used_if([](const FilledSlots& s) { return (s.to<RetryRules>().*kPart).enabled; });

constexpr KeyInfo kAttemptKeys[] = {
    key("retry.max_retries", count({.min = 0, .max = 4e9}).or_word("unlimited"),
        Access{store_max_retries}.used_as(into<&RetryRules::max_attempts>), {.when = kRetries},
        "Retries of one request, instead of max_attempts; 0: none."),
    key("retry.max_attempts", count({.min = 1, .max = 4e9}).or_word("unlimited"),
        into<&RetryRules::max_attempts>,
        {.when = "retry.max_retries unset", .environment = {max_attempts_from}},
        "Attempts of one request, the first included."),
    key("retry.probability", number(kShare), into<&RetryRules::probability>, {.when = kCustom},
        "Chance that a permitted retry is made."),
    key("retry.delays", distributions().of(Quantity::kRequestTime), into<kB, &B::delays>,
        {.when = kCustom}, "Delay before each retry, instead of the backoff formula."),
    key("retry.delays_then", word(), into<kB, &B::delays_then>,
        {.when = kCustom, .thing = "lists of delays that go on"},
        "How the list of delays goes on: last: with its last one; repeat: from its first one "
        "again; grow: with its last one, which grows."),
    key("retry.delays_factor", number(kPositive), into<kB, &B::delays_factor>,
        {.when = "retry.delays_then = grow", .thing = "lists of delays that go on"},
        "That growth, from one retry to the next."),
    key("retry.delays_cap", request_time(kNotNegative).or_word("none"), into<kB, &B::delays_cap>,
        {.when = "retry.delays_then = grow", .thing = "lists of delays that go on"},
        "The longest of the delays that have grown."),
};

constexpr KeyInfo kErrorClassKeys[] = {
    key("retry.on", names(), into<&ErrorTexts::on>.used_if([](const FilledSlots& s) {
      return !s.to<RetryRules>().errors.on.empty();
    }),
        {.when = kRetries},
        "The errors that are retried, in place of those of the classifier, each of them one of: "
        "503; 5xx; SlowDown (a code); 503:SlowDown; internal (500); unavailable (503); throttled; "
        "timeout; connection; no-connection, bulkhead-full and not-permitted (what the client does "
        "not "
        "send); any."),
    key("retry.not_on", names(), into<&ErrorTexts::not_on>.used_if([](const FilledSlots& s) {
      return !s.to<RetryRules>().errors.not_on.empty();
    }),
        {.when = kRetries}, "Errors that are not retried, written as in retry.on; goes before it."),
    key("retry.base_after", names(), into<&ErrorTexts::bases>.used_if([](const FilledSlots& s) {
      return !s.to<RetryRules>().errors.bases.empty();
    }),
        {.when = kFormula, .thing = "backoffs that depend on the error"},
        "Another base after some errors, such as [\"429=5s\", \"timeout=0s\"]: an error as in "
        "retry.on, and the base after it. The first that fits counts."),
    key("retry.classifier", word(), into<&RetryRules::errors, &ErrorRules::classifier>,
        {.when = kRetries}, "Whose table of error codes and statuses applies."),
    key("retry.status_429", word(), into<&RetryRules::errors, &ErrorRules::status_429>,
        {.when = kRetries},
        "The class of a status 429 without a known code; with classifier cpp also of a 509."),
    key("retry.refreshable_credentials", boolean(),
        into<&RetryRules::errors, &ErrorRules::refreshable_credentials>,
        {.when = "retry.classifier = ruby"},
        "Whether expired credentials can be replaced: only then are errors that report them, "
        "such as ExpiredToken, retried."),
    key("retry.timeout_class", word(), into<&RetryRules::errors, &ErrorRules::timeout_class>,
        {.when = kRetries},
        "Which errors pay the timeout price: none; no-answer: no connection, or no answer in "
        "time; connections: every transport error; networking: those, RequestTimeout and "
        "InternalError; request-timeout: that code, or status 408, 419, 440, 504, 598 or 599 "
        "without a known code; transient: every transient error; listed: the same, except those "
        "that only the model of the service calls retryable."),
};

constexpr KeyInfo kBackoffKeys[] = {
    key("retry.backoff.base", request_time(kNotNegative),
        Access{store_base, into<kB, &B::base>.from_rules}.used_as(into<kB, &B::base>),
        {.when = kFormula},
        "Backoff before the first retry, before jitter; in mode custom after any error."),
    key("retry.backoff.throttle_base", request_time(kNotNegative), into<kB, &B::throttle_base>,
        {.when = kFormula}, "The same after a throttling error."),
    key("retry.backoff.factor", number(kPositive), into<kB, &B::factor>, {.when = kFormula},
        "Growth of the backoff from one retry to the next."),
    key("retry.backoff.growth", word(), into<kB, &B::growth>, {.when = kFormula},
        "How the backoff grows: exponential: by the factor from retry to retry; linear: each retry "
        "adds factor - 1 times the base; fibonacci: 1, 1, 2, 3, 5, ... times the base; polynomial: "
        "the number of the retry, to a power, times the base."),
    key("retry.backoff.power", number({.min = 0, .max = 100}), into<kB, &B::power>,
        {.when = "retry.backoff.growth = polynomial"}, "That power."),
    key("retry.backoff.cap", request_time(kNotNegative).or_word("none"), into<kB, &B::cap>,
        {.when = kFormula}, "Longest backoff."),
    key("retry.backoff.jitter", word(),
        Access{store_jitter, into<kB, &B::jitter>.from_rules, kWords<Jitter>}.used_as(
            into<kB, &B::jitter>),
        {.when = kFormula},
        "How the backoff is spread at random; also after throttling errors. proportional: by a "
        "factor from 1 - jitter_share to 1 + jitter_share, applied after the cap; "
        "decorrelated-v2: Polly's, which doubles whatever the factor; plus-width: by up to "
        "jitter_width more; plus-minus-width: by up to that more or less."),
    key("retry.backoff.throttle_jitter", word(), into<kB, &B::throttle_jitter>, {.when = kFormula},
        "How the backoff after a throttling error is spread."),
    key("retry.backoff.jitter_share", number(kShare), into<kB, &B::jitter_share>,
        {.when = kFormula},
        "How far jitter \"proportional\" moves the backoff up or down, as a share of it."),
    key("retry.backoff.jitter_width", request_time(kNotNegative), into<kB, &B::jitter_width>,
        {.when = kFormula},
        "How far jitter of constant width moves the backoff, after the cap (with "
        "jitter_before_cap: before it)."),
    key("retry.backoff.first_exponent", count({.min = 0, .max = 64}), into<kB, &B::first_exponent>,
        {.when = kFormula}, "Power of the factor before the first retry."),
    key("retry.backoff.max_exponent", count({.min = 0, .max = 1000}).or_word("unlimited"),
        into<kB, &B::max_exponent>, {.when = kFormula}, "Largest power of the factor."),
    key("retry.backoff.jitter_before_cap", boolean(), into<kB, &B::jitter_before_cap>,
        {.when = kFormula},
        "Whether the cap limits the backoff after the jitter instead of before, as in botocore "
        "before 1.34.107."),
    key("retry.backoff.over_cap", word(), into<kB, &B::over_cap>, {.when = kFormula},
        "What happens to a backoff above the cap: limit: it is capped and then spread; flat: it is "
        "exactly the cap; redraw: it is drawn uniformly between half the cap and the cap."),
    key("retry.backoff.immediate_retries", count({.min = 0, .max = 1e9}),
        into<kB, &B::immediate_retries>, {.when = kFormula},
        "Number of first retries that are made without delay."),
    key("retry.backoff.quantum", request_time(kNotNegative), into<kB, &B::quantum>,
        {.when = kFormula}, "Delays are whole multiples of this; 0: not rounded."),
    key("retry.backoff.rounding", word(), into<kB, &B::rounding>, {.when = kFormula},
        "How delays become whole multiples: down: rounded down; integers: a random number of "
        "quanta below the backoff; integers-inclusive: up to the backoff; mantissa: the base is "
        "drawn and then grows."),
    key("retry.backoff.decorrelated_from_full", boolean(), into<kB, &B::decorrelated_from_full>,
        {.when = kFormula},
        "Decorrelated jitter as in aws-c-io: full jitter before the first retry."),
};

using Q = QuotaRules;
constexpr auto kQ = &RetryRules::quota;

constexpr KeyInfo kQuotaKeys[] = {
    key("retry.quota.capacity", count(kAmount).or_word("unlimited").in("tokens"),
        Access{store_capacity, capacity_of}.used_as(into<kQ, &Q::enabled>),
        {.when = kRetries, .thing = "a retry quota"},
        "Size of the bucket of tokens that retries are paid from."),
    key("retry.quota.initial", count(kAmount).in("tokens"), into<kQ, &Q::initial>,
        {.when = kHasQuota}, "Tokens at the start; equal to the capacity if only that is given."),
    key("retry.quota.cost", count(kAmount).in("tokens"), into<kQ, &Q::cost>, {.when = kHasQuota},
        "Price of a retry after a transient error."),
    key("retry.quota.throttle_cost", count(kAmount).in("tokens"), into<kQ, &Q::throttle_cost>,
        {.when = kHasQuota}, "Price of a retry after a throttling error."),
    key("retry.quota.timeout_cost", count(kAmount).in("tokens"), into<kQ, &Q::timeout_cost>,
        {.when = kHasQuota}, "Price of a retry after a timeout."),
    key("retry.quota.credit", number(kAmount).in("tokens"), into<kQ, &Q::credit>,
        {.when = kHasQuota}, "Tokens that a success at the first attempt adds; may be a fraction."),
    key("retry.quota.credit_on", word(), into<kQ, &Q::credit_on>, {.when = kHasQuota},
        "Whether the credit is for a success or for the start of a request."),
    key("retry.quota.refund", word(), into<kQ, &Q::refund>, {.when = kHasQuota},
        "What a success after a retry gives back: the price of the last retry, cost, credit, none, "
        "both of last and credit, the larger of them, or the last price of any request."),
    key("retry.quota.scope", word(), into<kQ, &Q::scope>,
        {.when = kHasQuota, .thing = "quotas of single services, operations or keys"},
        "Whether each client has one bucket, or one for each service, operation or key that it "
        "calls, or the whole group shares one."),
    key("retry.quota.order", word(), into<kQ, &Q::order>, {.when = kHasQuota},
        "When the price is charged: after the limit on attempts is checked, before it, before it "
        "with rollback, or even before errors are classified."),
    key("retry.quota.partial", boolean(), into<kQ, &Q::partial>,
        {.when = kHasQuota, .thing = "a retry quota that takes the remaining tokens"},
        "Whether a retry takes the remaining tokens and is refused only if there are none."),
    key("retry.quota.on_empty", word(), into<kQ, &Q::on_empty>,
        {.when = kHasQuota, .thing = "a retry quota that makes clients wait"},
        "Whether a retry without tokens fails or waits for the refill; with hedging it fails."),
    key("retry.quota.refill_rate", number(kNotNegative).in("tokens/s"), into<kQ, &Q::refill_rate>,
        {.when = kHasQuota}, "Tokens added per second."),
    key("retry.quota.refill_interval", duration(kNotNegative), into<kQ, &Q::refill_interval>,
        {.when = kHasQuota},
        "Refilled tokens are added once in each of these intervals; 0: continuously."),
    key("retry.quota.failure_cost", count(kAmount).in("tokens"), into<kQ, &Q::failure_cost>,
        {.when = kHasQuota}, "Tokens that every retryable failure takes, retried or not."),
    key("retry.quota.threshold", count(kAmount).in("tokens"), into<kQ, &Q::threshold>,
        {.when = kHasQuota}, "Retries need more tokens than this in the bucket."),
};

using L = SendRateRules;
constexpr auto kL = &RetryRules::rate_limit;
constexpr std::string_view kAdaptiveMode = "adaptive mode";
constexpr Range kSendTokens{.min = 1, .max = 255};

constexpr KeyInfo kLimiterKeys[] = {
    key("retry.rate_limit.on_empty", word(), into<kL, &L::on_empty>,
        {.when = kAdaptive, .thing = kAdaptiveMode},
        "What an attempt without a send token does: wait or fail."),
    key("retry.rate_limit.acquire", word(), into<kL, &L::acquire>,
        {.when = kAdaptive, .thing = kAdaptiveMode},
        "When a retry takes its send tokens: before it is sent; before its backoff; with the wait "
        "added to the backoff; with the wait replacing the backoff; or never."),
    key("retry.rate_limit.wait", word(), into<kL, &L::wait>,
        {.when = kAdaptive, .thing = kAdaptiveMode},
        "How attempts wait for send tokens: queue: in line, at the rate as it changes; once: for "
        "the time computed at the start; reserve: likewise, but their tokens are taken at once, "
        "even below zero; recheck: likewise, and if there are none then, again."),
    key("retry.rate_limit.update", word(), into<kL, &L::update>,
        {.when = kAdaptive, .thing = kAdaptiveMode},
        "Which errors change the rate: all, those that will be retried, or throttling errors that "
        "will be retried."),
    key("retry.rate_limit.retry_cost", count(kSendTokens).in("tokens"), into<kL, &L::retry_cost>,
        {.when = kAdaptive, .thing = kAdaptiveMode},
        "Send tokens of a retry after a transient error or a timeout."),
    key("retry.rate_limit.costly_retry_cost", count(kSendTokens).in("tokens"),
        into<kL, &L::costly_retry_cost>, {.when = kAdaptive, .thing = kAdaptiveMode},
        "The same after a throttling error."),
    key("retry.rate_limit.initial_fill_rate", number({.min = 0, .max = 1e6}).in("1/s"),
        into<kL, &L::initial_fill_rate>, {.when = kAdaptive, .thing = kAdaptiveMode},
        "Rate at which the bucket fills from the start; 0: it starts to fill with the first "
        "response."),
    key("retry.rate_limit.min_rate", number({.min = 1e-6, .max = 1e6}).in("1/s"),
        into<kL, &L::min_rate>.used_as(into<kL, &L::enabled>),
        {.when = kAdaptive, .thing = kAdaptiveMode}, "Lowest rate of the limiter."),
    key("retry.rate_limit.initial_measured_rate", number({.min = 0, .max = 1e6}).in("1/s"),
        into<kL, &L::initial_measured_rate>, {.when = kAdaptive, .thing = kAdaptiveMode},
        "Send rate that is assumed before any is measured."),
    key("retry.rate_limit.round_rates", boolean(), into<kL, &L::round_rates>,
        {.when = kAdaptive, .thing = kAdaptiveMode},
        "Whether rates are rounded to eight decimals."),
    key("retry.rate_limit.scope", word(), into<kL, &L::scope>,
        {.when = kAdaptive, .thing = "limiters that are not one for each client"},
        "Whether each client has one limiter, or one for each service, operation or key that it "
        "calls, or the whole group shares one."),
    key("retry.retry_after", word(), into<&RetryRules::retry_after>, {.when = kRetries},
        "How a delay suggested by the service changes the backoff."),
    key("retry.retry_after_max", request_time(kPositive).or_word("cap").or_also_word("none"),
        Access{store_retry_after_max, retry_after_max_of}.used_as(
            into<&RetryRules::retry_after_max>),
        {.when = kReadsSuggestions},
        "The longest suggested delay that is obeyed; cap: that of the backoff, only with replace "
        "and minimum-capped."),
    key("retry.retry_after_over", word(), into<&RetryRules::retry_after_over>,
        {.when = kReadsSuggestions, .thing = "suggested delays that are not obeyed as they are"},
        "What a client does when a longer delay is suggested: limit: it waits as long as it obeys; "
        "backoff: it ignores the suggestion; fail: it does not retry."),
    key("retry.retry_after_jitter", number({.min = 0, .max = 10}),
        into<&RetryRules::retry_after_jitter>,
        {.when = kReadsSuggestions, .thing = "suggested delays that are not obeyed as they are"},
        "Largest share by which an obeyed suggestion is lengthened, at random."),
    key("retry.long_poll", word(), into<&RetryRules::long_poll>, {.when = kRetries},
        "What a long-polling operation does if the quota refuses its retry: return: return the "
        "error; wait: wait first; wait-base: wait with the base for non-throttling errors."),
};

constexpr auto kBudget = &RetryRules::budget;
constexpr auto kRetryBreaker = &RetryRules::retry_breaker;
constexpr auto kClientThrottle = &RetryRules::throttle;
constexpr std::string_view kHasBudget = "retry.budget.kind != none";
constexpr std::string_view kHasRetryBreaker = "retry.retry_breaker.failure_share != none";
constexpr auto kGuard = &RetryRules::guard;
constexpr std::string_view kHasGuard = "retry.guard.failure_share != none";
constexpr std::string_view kHasThrottle = "retry.client_throttle.k != none";

constexpr KeyInfo kBeyondKeys[] = {
    key("retry.budget.kind", word(), into<kBudget, &BudgetRules::kind>, {.when = kRetries},
        "Budget for retries: window: a share of the requests in a window (Finagle); active: "
        "retries in progress, as a share of the requests in progress that are not in a backoff "
        "(Envoy); interval: retries in progress, as a share of the attempts in a window (Envoy "
        "with budget_interval)."),
    key("retry.budget.share", number(kNotNegative), into<kBudget, &BudgetRules::share>,
        {.when = kHasBudget}, "Retries per request."),
    key("retry.budget.minimum", number(kNotNegative), into<kBudget, &BudgetRules::minimum>,
        {.when = kHasBudget},
        "Retries that are always allowed: per second (window), or at once (active, interval)."),
    key("retry.budget.window", duration(kPositive), into<kBudget, &BudgetRules::window>,
        {.when = "retry.budget.kind = window|interval"},
        "How far back requests and retries count."),
    key("retry.budget.of", word(), into<kBudget, &BudgetRules::of>,
        {.when = "retry.budget.kind = window"},
        "The base of the share: requests, as they begin, or successes."),
    key("retry.budget.slices", count({.min = 1, .max = 1000}), into<kBudget, &BudgetRules::slices>,
        {.when = "retry.budget.kind = window|interval"},
        "Tenths of the window that count, with the present one, which is not over yet (Finagle: "
        "10; tower and Linkerd: 11)."),
    key("retry.retry_breaker.failure_share", number(kPositiveShare).or_word("none"),
        into_switched<kRetryBreaker, &RetryBreakerRules::failure_share>,
        {.when = kRetries, .thing = "retry breakers"},
        "Share of failed attempts at which a circuit breaker stops all retries; first attempts "
        "are sent. One that refuses them, too: breaker."),
    key("retry.retry_breaker.min_attempts", count(kUpToBillion).in("attempts"),
        into<kRetryBreaker, &RetryBreakerRules::min_attempts>, {.when = kHasRetryBreaker},
        "Least number of attempts in the window for the breaker to trip."),
    key("retry.retry_breaker.window", duration(kPositive),
        into<kRetryBreaker, &RetryBreakerRules::window>, {.when = kHasRetryBreaker},
        "How far back attempts count."),
    key("retry.retry_breaker.open", duration(kNotNegative),
        into<kRetryBreaker, &RetryBreakerRules::open>, {.when = kHasRetryBreaker},
        "Shortest time that it stays open."),
    key("retry.guard.failure_share", number(kPositiveShare).or_word("none"),
        into_switched<kGuard, &GuardRules::failure_share>,
        {.when = kRetries, .thing = "retry guards"},
        "Share of failed attempts above which, sample by sample, a controller switches retries "
        "off, and below which it switches them on again (RetryGuard)."),
    key("retry.guard.sample", duration(kPositive), into<kGuard, &GuardRules::sample>,
        {.when = kHasGuard}, "Length of a sample."),
    key("retry.guard.samples", count({.min = 1, .max = 1e9}).in("samples"),
        into<kGuard, &GuardRules::samples>, {.when = kHasGuard},
        "Successive samples above the share that switch retries off; as many below it switch them "
        "on again."),
    key("retry.guard.starts", word(), into<kGuard, &GuardRules::starts>, {.when = kHasGuard},
        "Whether retries are switched on when the run begins."),
    key("retry.client_throttle.k", number({.min = 1}).or_word("none"),
        into_switched<kClientThrottle, &ThrottleRules::k>,
        {.when = kRetries, .thing = "a client-side throttle"},
        "Attempts per accepted one above which a client refuses its own attempts (SRE book)."),
    key("retry.client_throttle.window", duration(kPositive),
        into<kClientThrottle, &ThrottleRules::window>, {.when = kHasThrottle},
        "How far back attempts count."),
    key("retry.client_throttle.window_calls", count({.min = 0, .max = 1e7}).in("attempts"),
        into<kClientThrottle, &ThrottleRules::window_calls>, {.when = kHasThrottle},
        "Count this many last attempts instead; 0: those of the window."),
    key("retry.hedging.delay", request_time(kNotNegative).or_word("none"),
        into_switched<&RetryRules::hedging, &HedgingRules::delay>,
        {.when = kCustom, .thing = "hedging"},
        "If no answer has come after this time, the next attempt is sent while the first is still "
        "in progress."),
    key("retry.avoid_hosts", count({.min = 0, .max = 100}).or_word("unlimited").in("tries"),
        into<&RetryRules::avoid_hosts>, {.when = kRetries},
        "How often the balancer is asked again for the instance of a retry or hedge while it names "
        "one that an earlier attempt of the request went to (Envoy's previous_hosts); unlimited: "
        "it names a new one if there is one in rotation."),
};

}  // namespace

std::vector<KeyInfo> retry_keys() {
  std::vector<KeyInfo> rules = joined_keys(
      {kAttemptKeys, kErrorClassKeys, kBackoffKeys, kQuotaKeys, kLimiterKeys, kBeyondKeys});
  for (KeyInfo& rule : rules) rule.role = KeyRole::kPresetRule;
  std::vector<KeyInfo> all = joined_keys({preset_keys(), rules});
  // A strategy is often compared with mode "none": all other retry keys may stay then.
  for (KeyInfo& key : all) {
    if (!key.when.empty()) key.idle_when = kNoRetries;
  }
  return all;
}

}  // namespace retrysim::scenario

// The keys of [client.NAME], except for its retries: who sends, and how requests arrive. Some of
// them are also those of [service.NAME.calls.NAME], where a service is the client of another one.
//
// SPDX-License-Identifier: MIT
#include "scenario/key_rows.hpp"

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
        "Virtual clients in the group, each with retry state of its own."),
};

constexpr KeyInfo kPriorityKeys[] = {
    key("priority", count({.min = 0, .max = kMostPriority}), into<&ClientSpec::priority>,
        {.fallback = "0"},
        "Attempts of higher priority are served first where queue.discipline is priority."),
};

constexpr KeyInfo kArrivalKeys[] = {
    key("arrivals.process", word(), into<kArrivals, &A::process>,
        {.required = true, .decides = true}, "How requests arrive."),
    key("arrivals.rate", number(kPositive).in("1/s"), into<&ArrivalInputs::rate>,
        {.when = kHasRate}, "Requests per second of each client."),
    key("arrivals.total_rate", number(kPositive).in("1/s"), into<&ArrivalInputs::total_rate>,
        {.when = kHasRate}, "Requests per second of the group together."),
    key("arrivals.phase", word("random|aligned"), into<kArrivals, &A::aligned>,
        {.fallback = "random", .when = "arrivals.process = constant|on-off"},
        "Whether each client acts at times of its own or all act together."),
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
    key("arrivals.profile", file(), into<&ArrivalInputs::profile>, {.when = kHasRate},
        "CSV file with columns time_s,rate: a factor on the rate, or the group's rate if none is "
        "given."),
    key("arrivals.interpolate", word("linear|step"), into<&ArrivalInputs::step>,
        {.fallback = "linear", .when = "arrivals.process = poisson|constant|trace|on-off|poll"},
        "Whether the rate of a time_s,rate file changes linearly between rows or in steps."),
};

constexpr KeyInfo kSendingKeys[] = {
    key("attempt_timeout",
        distribution().of(Quantity::kRequestTime).or_word("none").or_as_the_sdk(),
        Access{store_attempt_timeout}, {.fallback = "none"},
        "How long an attempt waits for its answer; \"sdk\": as long as the clients of retry.sdk do "
        "by default."),
    key("deadline", request_time(kPositive).or_word("none"),
        into<kTimeouts, &TimeoutSpec::deadline>, {.fallback = "none"},
        "Longest time for a whole request, waiting and backoff included."),
    key("connect_timeout", request_time(kPositive).or_word("none").or_as_the_sdk(),
        into<kTimeouts, &TimeoutSpec::connect>, {.fallback = "none"},
        "How long an attempt waits for a new connection."),
    key("max_connections", count(kUpToBillion).or_word("unlimited").or_as_the_sdk(),
        into<&ClientSpec::max_connections>, {.fallback = "unlimited"},
        "Connections of each client, one attempt at a time on each; further attempts wait in "
        "order."),
};

using K = KeySpec;
constexpr auto kKeys = &ClientSpec::keys;

constexpr KeyInfo kKeyKeys[] = {
    key("keys.count", count(kUpToMillion), into<kKeys, &K::count>, {.fallback = "1"},
        "Number of different keys (rows, partitions, tables) that requests ask for; throttles, "
        "quotas and limiters may be kept apart by key."),
    key("keys.popularity", word(), into<kKeys, &K::popularity>,
        {.fallback = "uniform", .when = "keys.count != 1"},
        "How often each of them is asked for: zipf: the k-th in proportion to k^-exponent; hot: "
        "the first more often than the others, which are all alike."),
    key("keys.exponent", number({.min = 0, .max = 20}), into<kKeys, &K::exponent>,
        {.fallback = "1.0", .when = "keys.popularity = zipf"}, "Exponent of that law."),
    key("keys.hot_share", number(kShare), into<kKeys, &K::hot_share>,
        {.required = true, .when = "keys.popularity = hot"},
        "Share of the requests that ask for the first key."),
};

constexpr KeyInfo kRepeatKeys[] = {
    key("unrepeatable", number(kShare), into<&ClientSpec::unrepeatable>, {.fallback = "0.0"},
        "Share of the requests whose body cannot be sent again, such as a stream: they are neither "
        "retried nor hedged."),
};

constexpr KeyInfo kSideEffectKeys[] = {
    key("mutating", number(kShare), into<kSideEffects, &SideEffectSpec::mutating>,
        {.fallback = "0.0"}, "Share of the requests that have side effects."),
    key("idempotency_token", boolean(), into<kSideEffects, &SideEffectSpec::idempotency_token>,
        {.fallback = "true"}, "Whether those carry a token that is the same in every attempt."),
    key("reconcile_read", distribution().of(Quantity::kRequestTime).or_word("none"),
        Access{store_reconcile_read}, {.fallback = "none"},
        "Before a retry of such a request the client asks the service whether it has taken effect, "
        "and sends it again only if not: server time of that read. Read and request are one "
        "attempt, with one attempt_timeout. Not with retry.hedging or model = occ."),
};

constexpr KeyInfo kOtherKeys[] = {
    key("token_reuse", number(kShare), into<kSideEffects, &SideEffectSpec::token_reuse>,
        {.fallback = "0.0", .when = "idempotency_token = true"},
        "Share of those that wrongly carry the token of their client's previous one."),
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

constexpr KeyInfo kSurgeKeys[] = {
    key("start", duration(kNotNegative), into<&SurgeSpec::start>, {.required = true},
        "When the surge begins."),
    key("duration", duration(kPositive), into<&SurgeSpec::duration>, {.required = true},
        "How long it lasts."),
    key("factor", factor(), into<&SurgeSpec::factor>, {.required = true},
        "Factor on the arrival rate."),
};

constexpr KeyInfo kOperationKeys[] = {
    key("share", number(kPositive), into<&OperationSpec::share>, {.required = true},
        "How much of the group's requests are of this kind, relative to its other operations."),
    key("work", number({.min = 0, .max = 1e6}), into<&OperationSpec::work>, {.fallback = "1.0"},
        "Factor on the service time of their attempts."),
    key("calls", text(), into<&ServiceName::name>, {},
        "The service that they call; if not given, as the group's other requests."),
};

}  // namespace

std::vector<KeyInfo> client_keys() {
  return joined_keys({kGroupKeys, kPriorityKeys, kArrivalKeys, kSendingKeys, kSideEffectKeys,
                      kOtherKeys, kBurstAndPollKeys, kKeyKeys, kRepeatKeys, retry_keys()});
}

std::vector<KeyInfo> call_keys() {
  return joined_keys(
      {kSendingKeys, kPriorityKeys, kSideEffectKeys, kKeyKeys, kRepeatKeys, retry_keys()});
}

std::span<const KeyInfo> surge_keys() { return kSurgeKeys; }

std::span<const KeyInfo> operation_keys() { return kOperationKeys; }

}  // namespace retrysim::scenario

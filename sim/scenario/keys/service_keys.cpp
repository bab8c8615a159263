// The keys of [service.NAME] and [fault.NAME].
//
// SPDX-License-Identifier: MIT
#include "scenario/keys/key_rows.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

namespace {

constexpr auto kScaling = &ServiceSpec::autoscaling;
constexpr auto kQueue = &ServiceSpec::queue;
constexpr auto kRejection = &ServiceSpec::rejection;
constexpr auto kLimit = &ServiceSpec::concurrency;
constexpr auto kThrottle = &ServiceSpec::throttle;
constexpr std::string_view kOfNetflix = "concurrency.control = gradient2|aimd",
                           kBetweenLimits = "concurrency.control = gradient2|aimd|vegas|envoy",
                           kVegas = "concurrency.control = vegas",
                           kEnvoy = "concurrency.control = envoy",
                           kMeasuresTime = "concurrency.min_rtt = measured",
                           kByLoad = "concurrency.control = go-zero|kratos|sentinel";
constexpr Range kMeasuredWindow{.min = 0.001, .max = kLongestDuration.in_seconds()};
constexpr auto kIdempotency = &ServiceSpec::idempotency;

void add_error(const Slots& s, ErrorAnswer answer, double probability) {
  if (probability > 0) s.to<std::vector<RandomError>>().push_back({std::move(answer), probability});
}

bool is_answer(const RandomError& error, int status, std::string_view code) {
  return error.answer.status == status && error.answer.code == code;
}

constexpr char kInternal[] = "InternalError", kUnavailable[] = "ServiceUnavailable",
               kThrottled[] = "ThrottlingException", kInvalid[] = "ValidationException";

/// Access that stores the probability of a certain answer.
template <int kStatus, auto& kCode>
constexpr Access kErrorAnswer = Access{[](const Slots& s, const Value& v) {
                                  add_error(s, {kStatus, kCode}, v.number);
                                }}.used_if([](const FilledSlots& s) {
  return std::ranges::any_of(s.to<std::vector<RandomError>>(),
                             [](const RandomError& e) { return is_answer(e, kStatus, kCode); });
});

void store_named_error(const Slots& s, const Value& v) {
  add_error(s, *parse_error_answer(v.text), v.number);
}

/// Whether a service has a random error without a key of its own.
bool has_named_error(const FilledSlots& s) {
  return std::ranges::any_of(s.to<std::vector<RandomError>>(), [](const RandomError& e) {
    return !is_answer(e, 500, kInternal) && !is_answer(e, 503, kUnavailable) &&
           !is_answer(e, 400, kThrottled) && !is_answer(e, 400, kInvalid);
  });
}

void store_model(const Slots& s, const Value& v) {
  auto& service = s.to<ServiceSpec>();
  service.model = static_cast<ServiceModelKind>(v.word);
  if (service.model == ServiceModelKind::kIndependent) service.servers = ServiceSpec::kUnlimited;
}

void store_window(const Slots& s, const Value& v) {
  s.to<ServiceSpec>().throttle.window = v.is_else_word ? Duration::zero() : v.duration;
}

void store_token_window(const Slots& s, const Value& v) {
  s.to<ServiceSpec>().idempotency.window = v.is_else_word ? Duration::zero() : v.duration;
}

constexpr KeyInfo kServiceKeys[] = {
    key("model", word(),
        Access{store_model, nullptr, kWords<ServiceModelKind>}.used_as(into<&ServiceSpec::model>),
        {.fallback = "queue",
         .thing = "a queue|a service without a queue|optimistic concurrency control"},
        kMeaning<ServiceModelKind>),
    key("servers", count(kUpToBillion).or_word("unlimited"), into<&ServiceSpec::servers>,
        {.fallback = "1", .when = "model != independent"},
        "Attempts served at the same time; of each instance, if there are several."),
    key("profile", file(), kNowhere.used_if([](const FilledSlots& s) {
      return s.to<ServiceSpec>().profile.has_value();
    }),
        {.when = "model != independent", .thing = "a capacity profile"},
        "CSV file with columns time_s,capacity: a factor on the number of servers, in force from "
        "each time on."),
    key("autoscaling.target", number(kPositiveShare).or_word("none"),
        into<kScaling, &AutoscalingSpec::target>,
        {.fallback = "none", .when = "servers != unlimited", .thing = "autoscaling"},
        "Utilization at which the number of servers is kept; servers is the initial number."),
    key("autoscaling.max", count(kUpToBillion), into<kScaling, &AutoscalingSpec::max>,
        {.required = true, .when = "autoscaling.target != none"}, "Largest number of servers."),
    key("autoscaling.min", count(kUpToBillion), into<kScaling, &AutoscalingSpec::min>,
        {.fallback = "1", .when = "autoscaling.target != none"}, "Smallest number of servers."),
    key("autoscaling.interval", duration(kPositiveRunLength),
        into<kScaling, &AutoscalingSpec::interval>,
        {.fallback = "60s", .when = "autoscaling.target != none"},
        "Time between two evaluations of the mean utilization since the previous one."),
    key("autoscaling.delay", duration(kRunLength), into<kScaling, &AutoscalingSpec::delay>,
        {.fallback = "120s", .when = "autoscaling.target != none"},
        "Time until a new server starts to work."),
    key("autoscaling.cooldown", duration(kRunLength), into<kScaling, &AutoscalingSpec::cooldown>,
        {.fallback = "300s", .when = "autoscaling.target != none"},
        "Shortest time between two changes."),
    key("autoscaling.tolerance", number(kNotNegative), into<kScaling, &AutoscalingSpec::tolerance>,
        {.fallback = "0.1", .when = "autoscaling.target != none"},
        "Deviation from the target that is tolerated, as a share of the target."),
    key("service_time", distribution().of(Quantity::kRequestTime), into<&ServiceSpec::service_time>,
        {.required = true}, "Time a server works on one attempt."),
    key("service_time_per", word(), into<&ServiceSpec::service_time_per>,
        {.fallback = "attempt", .thing = "service times that stay with a request"},
        "Whether each attempt draws a service time of its own, or the attempts of a request share "
        "one: then a slow request is slow again when it is retried or hedged."),
    key("service_time_repeats", number(kShare), into<&ServiceSpec::service_time_repeats>,
        {.fallback = "1.0",
         .when = "service_time_per = request",
         .thing = "service times that stay with a request"},
        "Chance that a later attempt takes the service time of the first one, and so their "
        "correlation; otherwise it draws its own."),
    key("slowdown", number(kNotNegative), into<&ServiceSpec::slowdown, &SlowdownSpec::per_attempt>,
        {.fallback = "0.0", .when = "model != independent", .thing = "a slowdown"},
        "Extra service time per attempt already in service, as a fraction of the attempt's own."),
    key("queue.discipline", word(), into<kQueue, &QueueSpec::discipline>,
        {.fallback = "fifo", .when = "model != independent", .thing = "a queue other than fifo"},
        kMeaning<Discipline>),
    key("queue.capacity", count(kNotNegative).or_word("unlimited"),
        into<kQueue, &QueueSpec::capacity>,
        {.fallback = "unlimited", .when = "model != independent"},
        "Attempts that may wait, not counting those in service; with processor-sharing attempts in "
        "service."),
    key("queue.when_full", word(), into<kQueue, &QueueSpec::when_full>,
        {.fallback = "refuse-new",
         .when = "queue.discipline != processor-sharing",
         .thing = "attempts that leave a full queue for others"},
        "Who is turned away when an attempt comes to a full queue: refuse-new: that one; "
        "evict-lowest: the newest of those that wait with the lowest priority, if it is lower than "
        "that of the one that comes."),
    key("queue.target", request_time(kNotNegative),
        into<kQueue, &QueueSpec::codel, &CodelSpec::target>,
        {.fallback = "5ms", .when = "queue.discipline = codel"},
        "Acceptable waiting time (RFC 8289)."),
    key("queue.interval", request_time(kPositive),
        into<kQueue, &QueueSpec::codel, &CodelSpec::interval>,
        {.fallback = "100ms", .when = "queue.discipline = codel"},
        "How long the target may be exceeded before attempts are shed; they get the overflow "
        "answer."),
    key("queue.lifo_above", count(kNotNegative).or_word("servers"),
        into<kQueue, &QueueSpec::lifo_above>,
        {.fallback = "servers", .when = "queue.discipline = adaptive-lifo"},
        "While more attempts wait than this, the newest one is served next, else the oldest; "
        "servers: as many as the key of that name says, which clear that many in about one "
        "service time."),
    key("queue.max_age", request_time(kNotNegative).or_word("none"),
        into<kQueue, &QueueSpec::max_age>,
        {.fallback = "none",
         .when = "queue.discipline != processor-sharing",
         .thing = "attempts that are turned away when they have waited too long"},
        "Longest time that an attempt may have waited when it is served: before a free server "
        "takes an attempt, it turns away those that have waited longer, the oldest first; they "
        "get the overflow answer."),
    key("queue.drop_expired", boolean(), into<kQueue, &QueueSpec::drop_expired>,
        {.fallback = "false",
         .when = "queue.discipline != processor-sharing",
         .thing = "attempts that are dropped when they would be late"},
        "When the turn of a waiting attempt comes, drop it if its answer could not arrive before "
        "its client's timeout or deadline; its service time is assumed to be known. An attempt "
        "that finds a free server is always served."),
    key("wait_within", request_time(kNotNegative).or_word("none"), into<&ServiceSpec::wait_within>,
        {.fallback = "none"},
        "Longest time in the queue that counts as prompt, for the metrics service_level and "
        "wait_within_share; it changes nothing else."),
    key("concurrency.control", word(), into<kLimit, &ConcurrencySpec::control>,
        {.fallback = "fixed",
         .when = "model != independent",
         .thing = "an adaptive concurrency limit"},
        "How the limit on attempts waiting and in service together is set. gradient2, aimd and "
        "vegas adapt it to how long attempts take, as Netflix's concurrency-limits library does, "
        "and envoy as Envoy's adaptive concurrency filter does; go-zero, kratos and sentinel limit "
        "attempts while the servers are busy, as the software of that name does."),
    key("concurrency.limit", count(kAtLeastOne).or_word("unlimited"),
        into<kLimit, &ConcurrencySpec::limit>,
        {.fallback = "unlimited", .when = "concurrency.control = fixed"},
        "That limit; attempts beyond it get the overflow answer."),
    key("concurrency.initial", count(kUpToBillion), into<kLimit, &ConcurrencySpec::initial>,
        {.fallback = "20", .when = "concurrency.control = gradient2|aimd|vegas"}, "Initial limit."),
    key("concurrency.min", count(kUpToBillion), into<kLimit, &ConcurrencySpec::min>,
        {.fallback = "20", .fallback_when = kOfNetflix, .when = kBetweenLimits},
        "Smallest limit, with envoy also the initial one; by default 20, vegas: 1, envoy: 3."),
    key("concurrency.max", count(kUpToBillion), into<kLimit, &ConcurrencySpec::max>,
        {.fallback = "200", .fallback_when = kOfNetflix, .when = kBetweenLimits},
        "Largest limit; by default 200, vegas and envoy: 1000."),
    key("concurrency.smoothing", number(kPositiveShare), into<kLimit, &ConcurrencySpec::smoothing>,
        {.fallback = "0.2",
         .fallback_when = "concurrency.control = gradient2",
         .when = "concurrency.control = gradient2|vegas"},
        "Weight of a new limit relative to the one before; by default 0.2, vegas: 1."),
    key("concurrency.headroom", number(kNotNegative).in("attempts"),
        into<kLimit, &ConcurrencySpec::headroom>,
        {.fallback = "4.0", .when = "concurrency.control = gradient2"},
        "Growth of the limit while attempts do not take longer."),
    key("concurrency.tolerance", number(kAtLeastOne), into<kLimit, &ConcurrencySpec::tolerance>,
        {.fallback = "1.5", .when = "concurrency.control = gradient2"},
        "How many times the long-term average an attempt may take before the limit shrinks."),
    key("concurrency.long_window", number(kAtLeastOne).in("attempts"),
        into<kLimit, &ConcurrencySpec::long_window>,
        {.fallback = "600.0", .when = "concurrency.control = gradient2"},
        "Length of that average."),
    key("concurrency.backoff_ratio", number({.min = 0.5, .max = 1}),
        into<kLimit, &ConcurrencySpec::backoff_ratio>,
        {.fallback = "0.9", .when = "concurrency.control = aimd"},
        "Factor on the limit after an attempt that was slow or not served to the end."),
    key("concurrency.slow", request_time(kPositive), into<kLimit, &ConcurrencySpec::slow>,
        {.fallback = "5s", .when = "concurrency.control = aimd"},
        "Time at the service from which an attempt counts as slow."),
    key("concurrency.alpha", count(kUpToMillion), into<kLimit, &ConcurrencySpec::alpha>,
        {.fallback = "3", .when = kVegas},
        "The limit grows while fewer attempts than this seem to queue, times the logarithm of the "
        "limit to base 10, rounded down."),
    key("concurrency.beta", count(kUpToMillion), into<kLimit, &ConcurrencySpec::beta>,
        {.fallback = "6", .when = kVegas},
        "The limit shrinks when more attempts than this seem to queue, times that logarithm."),
    key("concurrency.probe_multiplier", count(kUpToBillion),
        into<kLimit, &ConcurrencySpec::probe_multiplier>, {.fallback = "30", .when = kVegas},
        "The time without a queue is measured anew after this times the limit of attempts, or "
        "after "
        "down to half as many."),
    key("concurrency.percentile", number(kShare), into<kLimit, &ConcurrencySpec::percentile>,
        {.fallback = "0.5", .when = kEnvoy},
        "The quantile of the times of attempts that stands for all (sample_aggregate_percentile)."),
    key("concurrency.interval", duration(kPositiveRunLength),
        into<kLimit, &ConcurrencySpec::interval>, {.fallback = "100ms", .when = kEnvoy},
        "Time between changes of the limit (concurrency_update_interval)."),
    key("concurrency.min_rtt", request_time(kPositive).or_word("measured"),
        into<kLimit, &ConcurrencySpec::min_rtt>, {.fallback = "measured", .when = kEnvoy},
        "The time of an attempt that nothing delays (minRTT)."),
    key("concurrency.min_rtt_interval", duration(kPositiveRunLength),
        into<kLimit, &ConcurrencySpec::min_rtt_interval>,
        {.fallback = "60s", .when = kMeasuresTime}, "Time from one measurement to the next."),
    key("concurrency.min_rtt_jitter", number(kShare),
        into<kLimit, &ConcurrencySpec::min_rtt_jitter>, {.fallback = "0.15", .when = kMeasuresTime},
        "Share of that time by which it may be longer."),
    key("concurrency.min_rtt_requests", count(kUpToBillion),
        into<kLimit, &ConcurrencySpec::min_rtt_requests>, {.fallback = "50", .when = kMeasuresTime},
        "Attempts that a measurement takes (request_count)."),
    key("concurrency.measure_at_min", boolean(), into<kLimit, &ConcurrencySpec::measure_at_min>,
        {.fallback = "true", .when = kMeasuresTime},
        "Whether the smallest limit holds during a measurement; false: the limit stays, as with a "
        "min_concurrency_limit."),
    key("concurrency.min_rtt_buffer", number(kShare),
        into<kLimit, &ConcurrencySpec::min_rtt_buffer>, {.fallback = "0.25", .when = kEnvoy},
        "Share of that time that attempts may take longer before the limit shrinks."),
    key("concurrency.cpu", number(kShare), into<kLimit, &ConcurrencySpec::cpu>,
        {.fallback = "0.9", .fallback_when = "concurrency.control = go-zero", .when = kByLoad},
        "Use of the servers, as the source averages it, from which on attempts are refused; "
        "sentinel: above which all are. By default 0.9, kratos: 0.8, sentinel: 1, which is never."),
    key("concurrency.load", number(kNotNegative), into<kLimit, &ConcurrencySpec::load>,
        {.fallback = "2.5", .when = "concurrency.control = sentinel"},
        "Attempts waiting and in service for each server, on the average of a minute that Linux "
        "calls load, above which attempts are refused."),
    key("concurrency.window", duration(kMeasuredWindow), into<kLimit, &ConcurrencySpec::window>,
        {.fallback = "5s", .fallback_when = "concurrency.control = go-zero", .when = kByLoad},
        "How long the best throughput and time are remembered; by default 5s, kratos: 10s, "
        "sentinel: 1s."),
    key("concurrency.buckets", count({.min = 1, .max = 10'000}),
        into<kLimit, &ConcurrencySpec::buckets>,
        {.fallback = "50", .fallback_when = "concurrency.control = go-zero", .when = kByLoad},
        "In how many parts; by default 50, kratos: 100, sentinel: 2."),
    key("price", number(kNotNegative), into<&ServiceSpec::price>, {.fallback = "1.0"},
        "Price of an attempt, in any unit, for the metric cost."),
    key("rejection_price", number(kNotNegative), into<kRejection, &RejectionSpec::price>,
        {.fallback = "1.0"},
        "Price of an attempt that the throttle, limit or queue refuses, or that gets another "
        "throttling error, whether or not the answer reaches its client."),
    key("overflow", word(), into<kRejection, &RejectionSpec::overflow>,
        {.fallback = "unavailable", .when = "model != independent"},
        "Answer of a full queue or of the concurrency limit; drop: no answer."),
    key("reject_cost", request_time(kRunLength), into<kRejection, &RejectionSpec::cost>,
        {.fallback = "0s", .when = "model != independent", .thing = "rejections that cost"},
        "Server time that turning an attempt away (throttle or overflow) takes, before any other "
        "work; the answer is sent at its end. A drop costs nothing."),
    key("abandoned", word(), into<&ServiceSpec::abandoned>,
        {.fallback = "serve",
         .when = "model != independent",
         .thing = "abandoned attempts that leave"},
        "What happens to an attempt whose client has given up; remove takes it out of the queue, "
        "abort also out of service."),
    key("timeout", request_time(kPositive).or_word("none"), into<&ServiceSpec::timeout>,
        {.fallback = "none",
         .when = "model != independent",
         .thing = "a time limit of the service"},
        "The service's own limit on the time of an attempt in queue and service together, after "
        "which it answers 504 GatewayTimeout and abandons the work."),
    key("throttle.rate", number(kPositive).or_word("unlimited").in("1/s"),
        into<kThrottle, &ThrottleSpec::rate>,
        {.fallback = "unlimited", .when = "model != independent", .thing = "a throttle"},
        "Rate of the token bucket that lets attempts through."),
    key("throttle.burst", number(kAtLeastOne).in("tokens"), into<kThrottle, &ThrottleSpec::burst>,
        {.fallback = "1", .when = "throttle.rate != unlimited"},
        "Capacity of that bucket, which starts full."),
    key("throttle.scope", word(), into<kThrottle, &ThrottleSpec::scope>,
        {.fallback = "service",
         .when = "throttle.rate != unlimited",
         .thing = "a throttle that keeps operations or keys apart"},
        "Whether there is one bucket for all, or one for each client, for each operation (by "
        "name, across groups) or for each requested key (client.*.keys)."),
    key("throttle.retry_after", request_time(kNotNegative),
        into<kThrottle, &ThrottleSpec::retry_after>,
        {.fallback = "0s", .when = "throttle.rate != unlimited"},
        "Delay suggested to throttled clients; 0: none."),
    key("throttle.window", duration(kPositiveRunLength).or_word("none"),
        Access{store_window}.used_as(into<kThrottle, &ThrottleSpec::window>),
        {.fallback = "none",
         .when = "throttle.rate != unlimited",
         .thing = "a throttle with windows"},
        "Instead of a bucket, a quota in fixed windows: rate * window attempts, rounded down, "
        "pass in each stretch of this length, counted from time zero; burst then has no effect."),
    key("parallel_calls", boolean(), into<&ServiceSpec::parallel_calls>, {.fallback = "false"},
        "Whether the calls of [service.*.calls.*] are made together instead of in the order "
        "written."),
    key("idempotency.window", duration(kPositiveRunLength).or_word("none"),
        Access{store_token_window}.used_as(into<kIdempotency, &IdempotencySpec::window>),
        {.fallback = "none"},
        "How long the service remembers the idempotency token of a request after its effect; "
        "attempts that arrive later are executed again."),
    key("idempotency.stored", word(), into<kIdempotency, &IdempotencySpec::stored>,
        {.fallback = "with-effect", .when = "idempotency.window != none"},
        "When the token is stored: with-effect: together with the effect, so that an attempt that "
        "fails leaves none; before-effect: when a server begins with the attempt, by a write of "
        "its "
        "own, so that it stays whatever becomes of the attempt, and a retry is answered as if the "
        "effect had happened."),
    key("idempotency.replay", word(), into<kIdempotency, &IdempotencySpec::replay>,
        {.fallback = "equivalent", .when = "idempotency.window != none"},
        "Answer to an attempt whose token shows that the effect has happened: equivalent: success; "
        "already-exists: 409 EntityAlreadyExists; none: tokens are ignored."),
    key("idempotency.in_progress", word(), into<kIdempotency, &IdempotencySpec::in_progress>,
        {.fallback = "error", .when = "idempotency.window != none"},
        "What happens to an attempt while another one with its token is in service: error: 400 "
        "PriorRequestNotComplete; execute: it is executed as well; wait: it keeps its server until "
        "that one is done, and is then answered as replay says, or executed if that one failed."),
    key("idempotency.replay_cost", request_time(kNotNegative),
        into<kIdempotency, &IdempotencySpec::replay_cost>,
        {.fallback = "0s", .when = "idempotency.window != none"},
        "Server time of an attempt that is answered because of its token."),
    key("idempotency.write_delay", distribution().of(Quantity::kRequestTime),
        into<kIdempotency, &IdempotencySpec::write_delay>,
        {.fallback = "0s", .when = "idempotency.stored = with-effect"},
        "Time from the check of a token, when a server begins with an attempt, until the token is "
        "stored. Attempts with the same token that are checked in between do not find it and are "
        "executed as well; 0: check and storing are one atomic step."),
    key("like", text(), kNowhere, {.role = KeyRole::kBase},
        "Another service that this one starts from."),
};

constexpr std::string_view kPartitions = "a limit on concurrency with partitions";

constexpr KeyInfo kPartitionKeys[] = {
    key("priority", count({.min = 0, .max = kMaxPriority}),
        into<&PartitionSpec::priority>.used_if([](const FilledSlots&) { return true; }),
        {.required = true, .thing = kPartitions},
        "Priority of the attempts that the partition is for; attempts of other priorities have no "
        "places of their own."),
    key("share", number(kShare).or_word("none"),
        Access{[](const Slots& s, const Value& v) {
          s.to<PartitionSpec>().share = v.is_else_word ? PartitionSpec::kNone : v.number;
        }}.used_as(into<&PartitionSpec::share>),
        {.fallback = "none"},
        "Places of its own, as a share of the limit, rounded up and at least one: while fewer of "
        "its attempts are there, they are let in even if the limit is reached. Below the limit all "
        "are let in."),
    key("refuse_from", number(kPositiveShare), into<&PartitionSpec::refuse_from>,
        {.fallback = "1.0"},
        "Share of the limit, in use by all, from which on its attempts are refused (unless they "
        "have places of their own left): a fixed threshold for this priority."),
};

constexpr KeyInfo kFaultKeys[] = {
    key("service", text(), into<&ServiceName::name>, {.required = true},
        "The affected service; may be left out if there is only one."),
    key("instance", count(kAtLeastOne).or_word("all"), into<&FaultSpec::instance>,
        {.fallback = "all"},
        "The affected instance of the service, counted from 1; the first one if there are "
        "several."),
    key("instances", count(kAtLeastOne), into<&FaultSpec::instances>,
        {.fallback = "1", .when = "instance != all"},
        "How many instances are affected, from that one on."),
    key("per_year", number(kPositive), into<&FaultChance::per_year>, {},
        "How often it begins in a year of 365 days, on average: at random times, independently of "
        "each other (a Poisson process)."),
    key("mtbf", distribution(), into<&FaultChance::mtbf>, {.when = "per_year unset"},
        "Mean time between failures: the time from its end until it begins again, and before the "
        "first time. A plain time is the mean of an exponential law."),
    key("at_load", number(kPositiveShare), into<&FaultChance::at_load>, {.when = "mtbf unset"},
        "With per_year: how often that is at this load of the service, and more often at a higher "
        "one. The load is what first attempts take of its servers, with profiles and surges."),
    key("load_exponent", number(Range{.min = 0, .max = 100}), into<&FaultChance::load_exponent>, {},
        "With at_load: at twice the load it comes 2^load_exponent times as often; as often as the "
        "load says, if not given."),
    key("with", text(), into<&FaultChance::with>, {.when = "mtbf unset"},
        "The fault that it comes with: it begins each time that that one does."),
    key("probability", number(kPositiveShare), into<&FaultChance::probability>, {},
        "With `with`: how likely it comes along; always, if not given."),
    key("start", duration(kNotNegative), into<&FaultSpec::start>, {.required = true},
        "When the fault begins. At random times, the time before which it does not (default 0s); "
        "with another fault, how long after it."),
    key("length", distribution(), into<&FaultChance::length>, {},
        "How long it lasts, if that is drawn each time; instead of duration."),
    key("duration", duration(kPositive), into<&FaultSpec::duration>,
        {.required = true, .when = "length unset"}, "How long it lasts."),
    key("capacity", factor(), into<&FaultSpec::capacity>, {.fallback = "1.0"},
        "Factor on the number of working servers; work in progress is finished."),
    key("capacity_to", factor(), into<&FaultChance::capacity_to>, {},
        "The factor is drawn each time, uniformly between capacity and this one."),
    key("speed", factor(), into<&FaultSpec::speed>, {.fallback = "1.0"},
        "Factor on the speed of each server."),
    key("speed_to", factor(), into<&FaultChance::speed_to>, {},
        "The factor is drawn each time, uniformly between speed and this one."),
    key("latency", request_time(kNotNegative), into<&FaultSpec::latency>, {.fallback = "0s"},
        "Delay added to the network, each way."),
    key("request_loss", number(kShare), into<&FaultSpec::request_loss>, {.fallback = "0.0"},
        "Probability that an attempt never reaches the service; adds to the network's."),
    key("response_loss", number(kShare), into<&FaultSpec::response_loss>, {.fallback = "0.0"},
        "Probability that the work is done but its answer is lost; adds to the network's."),
    key("cold_restart", boolean(), into<&FaultSpec::cold_restart>, {.fallback = "false"},
        "When the fault begins, the queue and the work in progress are lost, and their clients get "
        "a connection error."),
    key("crash", boolean(), into<&FaultSpec::crash>, {.fallback = "false"},
        "When the fault begins, the work in progress is lost, and its clients get a connection "
        "error; attempts that wait stay in the queue and are served as soon as servers are free."),
    key("unreachable", boolean(), into<&FaultSpec::unreachable>, {.fallback = "false"},
        "Connections are refused after one round trip."),
    key("black_hole", boolean(), into<&FaultSpec::black_hole>, {.fallback = "false"},
        "Nothing comes back: an attempt that opens a connection ends at connect_timeout, any other "
        "one at attempt_timeout or deadline."),
};

void store_error_point(const Slots& s, const Value& v) {
  s.to<ErrorPoint>().share = v.is_else_word ? ErrorPoint::kOnArrival : v.number;
}

constexpr Access kErrorPoint = Access{store_error_point}.used_if([](const FilledSlots& s) {
  return !s.to<std::vector<RandomError>>().empty() && !s.to<ErrorPoint>().on_arrival();
});
constexpr std::string_view kLateErrors = "random errors after a share of the service time";

constexpr KeyInfo kErrorPointKey[] = {
    key("errors.at", number(kShare).or_word("arrival"), kErrorPoint,
        {.fallback = "arrival", .when = "model = queue", .thing = kLateErrors},
        "When the attempt gets its error: on arrival, so that it takes no server; or after this "
        "share of its service time, which its server has spent in vain by then (1: at its end)."),
};
constexpr KeyInfo kFaultErrorPointKey[] = {
    key("errors.at", number(kShare).or_word("arrival"), kErrorPoint,
        {.fallback = "arrival", .thing = kLateErrors},
        "When attempts get the errors of this fault: on arrival, or after this share of their "
        "service time (1: at its end); later than on arrival only where the service's model is "
        "queue."),
};

// Keys of the random answers of a service, and of those that a fault adds.
constexpr std::string_view kErrors = "random errors";
constexpr KeyInfo kErrorKeys[] = {
    key("errors.internal", number(kShare), kErrorAnswer<500, kInternal>,
        {.fallback = "0.0", .thing = kErrors}, "Probability of the answer 500 InternalError."),
    key("errors.unavailable", number(kShare), kErrorAnswer<503, kUnavailable>,
        {.fallback = "0.0", .thing = kErrors}, "Probability of the answer 503 ServiceUnavailable."),
    key("errors.throttled", number(kShare), kErrorAnswer<400, kThrottled>,
        {.fallback = "0.0", .thing = kErrors},
        "Probability of the answer 400 ThrottlingException."),
    key("errors.invalid", number(kShare), kErrorAnswer<400, kInvalid>,
        {.fallback = "0.0", .thing = kErrors},
        "Probability of the answer 400 ValidationException, which is not retried."),
    key("errors.*", number(kShare), Access{store_named_error}.used_if(has_named_error),
        {.role = KeyRole::kErrorAnswer, .thing = kErrors},
        "Probability of the answer that the key names: 429, or \"503:SlowDown\" with a code; its "
        "traits in the service's Smithy model may follow, as in "
        "\"400:Busy+retryable+throttling\" (retryable, not-retryable, maybe-retryable, "
        "throttling, timeout, client-fault, server-fault)."),
};

}  // namespace

std::vector<KeyInfo> service_keys() {
  return joined_keys(
      {kServiceKeys, answer_keys(), slowdown_keys(), instance_keys(), kErrorPointKey, kErrorKeys});
}

std::span<const KeyInfo> partition_keys() { return kPartitionKeys; }

std::vector<KeyInfo> fault_keys() {
  std::vector<KeyInfo> keys = joined_keys({kFaultKeys, kFaultErrorPointKey, kErrorKeys});
  for (KeyInfo& key : keys) {
    if (key.thing != kLateErrors) key.thing = key.name == "crash" ? "crashes" : "faults";
  }
  return keys;
}

// --- Answers and limits --------------------------------------------------------------------------

// What a service answers instead of serving, and how many attempts its throttle passes for single
// operations and keys.

namespace {

template <auto kAnswer>
constexpr Access kOwnAnswer = kNowhere.used_if([](const FilledSlots& s) {
  return (s.to<ServiceSpec>().answers.*kAnswer).has_value();
});

constexpr KeyInfo kAnswerKeys[] = {
    key("answers.throttled", text(), kOwnAnswer<&OwnAnswers::throttled>,
        {.when = "throttle.rate != unlimited"},
        "Answer of the throttle instead of 400:ThrottlingException, written as for retrysim "
        "strategy: a status, perhaps a code, the traits of the error in the service's Smithy "
        "model, and a suggested delay, as in \"503:SlowDown+throttling+retry-after=2s\"."),
    key("answers.overflow", text(), kOwnAnswer<&OwnAnswers::overflow>, {.when = "overflow != drop"},
        "Answer of a full queue, written in the same way; it replaces the answer that overflow "
        "names."),
    key("answers.limit", text(), kOwnAnswer<&OwnAnswers::limit>,
        {.when = "overflow != drop",
         .idle_when = "concurrency.limit = unlimited",
         .thing = "an answer of its own for the concurrency limit"},
        "Answer to an attempt beyond the limit on concurrency; if not given, that of a full "
        "queue."),
    key("answers.shed", text(), kOwnAnswer<&OwnAnswers::shed>,
        {.when = "queue.discipline != processor-sharing", .idle_when = "overflow = drop"},
        "Answer to an attempt that has waited too long, by the rules of codel or for longer than "
        "queue.max_age; if not given, that of a full queue."),
    key("answers.timeout", text(), kOwnAnswer<&OwnAnswers::timeout>, {.when = "timeout != none"},
        "Answer when timeout expires, instead of 504:GatewayTimeout."),
    key("answers.call_failed", text(), kOwnAnswer<&OwnAnswers::call_failed>, {},
        "Answer to an attempt for which a call to another service has failed, instead of "
        "503:ServiceUnavailable."),
    key("answers.conflict", text(), kOwnAnswer<&OwnAnswers::conflict>, {.when = "model = occ"},
        "Answer to a write that another one has overtaken, instead of "
        "503:TransactionConflictException."),
};

constexpr KeyInfo kLimitKeys[] = {
    key("rate", number(kPositive).or_word("unlimited").in("1/s"),
        into<&ThrottleLimit::rate>.used_if([](const FilledSlots&) { return true; }),
        {.required = true, .thing = "limits of single operations or keys"},
        "The rate of this operation or key, instead of throttle.rate."),
    key("burst", number(kAtLeastOne).in("tokens"), into<&ThrottleLimit::burst>,
        {.when = "rate != unlimited"},
        "Capacity of its bucket; if not given, that of throttle.burst."),
    key("window", duration(kPositiveRunLength).or_word("none"),
        Access{[](const Slots& s, const Value& v) {
          s.to<ThrottleLimit>().window = v.is_else_word ? Duration::zero() : v.duration;
        }}.used_as(into<&ThrottleLimit::window>),
        {.when = "rate != unlimited"},
        "Length of its windows; if not given, that of throttle.window."),
};

}  // namespace

std::span<const KeyInfo> answer_keys() { return kAnswerKeys; }

std::span<const KeyInfo> throttle_limit_keys() { return kLimitKeys; }

// --- Instances and slowdown ----------------------------------------------------------------------

// How a service is spread over instances, and how its service times grow with load.

namespace {

constexpr auto kInstances = &ServiceSpec::instances;
constexpr auto kCheck = &InstancesSpec::health_check;
constexpr auto kEjection = &InstancesSpec::ejection;
constexpr auto kAccrual = &InstancesSpec::accrual;
constexpr auto kSlowdown = &ServiceSpec::slowdown;
constexpr Range kInstanceCounts{.min = 1, .max = InstancesSpec::kMost};
constexpr Range kPercentage{.min = 0, .max = 100};
constexpr Range kPositivePercentage{.min = 0, .max = 100, .above_min = true};
constexpr std::string_view kOfOne = "instances = 1";
constexpr std::string_view kEjects = "ejection.interval != none";
constexpr std::string_view kLeftOut = "instances that are left out because of their answers";
constexpr std::string_view kAccrues = "accrual.max_failures != none";

constexpr KeyInfo kSlowdownKeys[] = {
    key("slowdown_curve", word(), into<kSlowdown, &SlowdownSpec::curve>,
        {.fallback = "linear",
         .when = "model != independent",
         .thing = "a slowdown that is not linear"},
        "How service times grow with n, the number of attempts already in service; the factor is "
        "1 + slowdown x n (linear), 1 + slowdown x n^slowdown_exponent (power), "
        "e^(slowdown x n) (exponential), or that of slowdown_table (table)."),
    key("slowdown_exponent", number(kPositive), into<kSlowdown, &SlowdownSpec::exponent>,
        {.fallback = "2.0", .when = "slowdown_curve = power"}, "Exponent of that curve."),
    key("slowdown_table", file(), kNowhere.used_if([](const FilledSlots& s) {
      return s.to<ServiceSpec>().slowdown.curve == SlowdownCurve::kTable;
    }),
        {.required = true, .when = "slowdown_curve = table"},
        "CSV file with columns in_service,factor: the factor on service times by n, which starts "
        "from 0; linear between the rows, constant beyond the last one."),
};

constexpr KeyInfo kInstanceKeys[] = {
    key("instances", count(kInstanceCounts), into<kInstances, &InstancesSpec::count>,
        {.fallback = "1", .when = "model != occ", .thing = "several instances"},
        "Hosts behind a balancer. Each has servers, a queue, a limit on concurrency and a timeout "
        "of its own; the throttle and idempotency tokens are those of the whole service."),
    key("balancing", word(), into<kInstances, &InstancesSpec::balancing>,
        {.fallback = "round-robin", .when = "instances != 1", .idle_when = "instances = 1"},
        "How the instance for an attempt is chosen, for retries as well; least-connections: the "
        "one "
        "with the fewest attempts under way, whose clients still wait; two-choices: the better of "
        "two that are chosen at random; peak-ewma: the one of the two whose average latency, times "
        "its attempts under way and one, is lower."),
    key("balancing_ties", word(), into<kInstances, &InstancesSpec::ties>,
        {.fallback = "random",
         .when = "balancing = least-connections|two-choices|peak-ewma",
         .idle_when = kOfOne},
        "Which of several equally good instances is chosen: each with equal chances, the first in "
        "the list, or the next one in turn after the last one chosen."),
    key("balancing_decay", duration(kPositiveRunLength), into<kInstances, &InstancesSpec::decay>,
        {.fallback = "10s", .when = "balancing = peak-ewma", .idle_when = kOfOne},
        "Time constant with which the average latency forgets."),
    key("balancing_first_latency", duration(kRunLength).or_word("none"),
        into<kInstances, &InstancesSpec::first_latency>,
        {.fallback = "none", .when = "balancing = peak-ewma", .idle_when = kOfOne},
        "Average latency of each instance at the start (Linkerd: 30 ms); none: while no attempt "
        "has ended at an instance that has some under way, it is avoided (Finagle)."),
    key("balancer", word(), into<kInstances, &InstancesSpec::balancer>,
        {.fallback = "shared", .when = "instances != 1", .idle_when = kOfOne},
        "Who chooses: one balancer for all clients; or each client, which knows its own attempts "
        "only, takes its own turns and ejects for itself."),
    key("balancing_subset", count(kInstanceCounts).or_word("all"),
        into<kInstances, &InstancesSpec::subset>,
        {.fallback = "all", .when = "balancer = client", .idle_when = kOfOne},
        "How many of the instances each client knows, chosen at random once for all."),
    key("panic_threshold", number(kShare), into<kInstances, &InstancesSpec::panic_threshold>,
        {.fallback = "0.0", .when = "instances != 1", .idle_when = kOfOne},
        "Share of instances in rotation below which attempts go to all of them (Envoy: 0.5); they "
        "do so in any case if none is in rotation."),
    key("panic_overprovisioning", number({.min = 1, .max = 1000}),
        into<kInstances, &InstancesSpec::panic_overprovisioning>,
        {.fallback = "1.4", .when = "instances != 1", .idle_when = kOfOne},
        "They do not while the share of instances in rotation, times this, is 1 or more (Envoy: "
        "1.4, so that no threshold is effective above 5 of 7 instances); with 1 the threshold "
        "alone decides, as in AWS's load balancers."),
    key("health_check.interval", duration(kPositiveRunLength).or_word("none"),
        into<kInstances, kCheck, &HealthCheckSpec::interval>,
        {.fallback = "none", .when = "instances != 1", .idle_when = "instances = 1"},
        "Time between two checks of an instance. A check sees whatever an attempt would meet, "
        "except "
        "for the queue and the throttle."),
    key("health_check.timeout", request_time(kPositiveRunLength),
        into<kInstances, kCheck, &HealthCheckSpec::timeout>,
        {.fallback = "5s", .when = "health_check.interval != none", .idle_when = "instances = 1"},
        "Time after which a check has failed."),
    key("health_check.unhealthy_threshold", count(kUpToMillion),
        into<kInstances, kCheck, &HealthCheckSpec::unhealthy_threshold>,
        {.fallback = "2", .when = "health_check.interval != none", .idle_when = "instances = 1"},
        "Failed checks in a row after which no attempts are sent to an instance, unless all "
        "instances are sick."),
    key("health_check.healthy_threshold", count(kUpToMillion),
        into<kInstances, kCheck, &HealthCheckSpec::healthy_threshold>,
        {.fallback = "5", .when = "health_check.interval != none", .idle_when = "instances = 1"},
        "Passed checks in a row after which they are sent there again."),
    key("ejection.interval", duration(kPositiveRunLength).or_word("none"),
        into<kInstances, kEjection, &EjectionSpec::interval>,
        {.fallback = "none", .when = "instances != 1", .idle_when = kOfOne, .thing = kLeftOut},
        "Time between two looks of Envoy's outlier detection (10s there), which leaves out "
        "instances because of their answers."),
    key("ejection.consecutive_5xx", count(kUpToMillion).or_word("none"),
        into<kInstances, kEjection, &EjectionSpec::consecutive_5xx>,
        {.fallback = "5", .when = kEjects, .idle_when = kOfOne},
        "Failures in a row that eject an instance: answers of 500 and above, connection errors and "
        "timeouts."),
    key("ejection.consecutive_gateway_failure", count(kUpToMillion).or_word("none"),
        into<kInstances, kEjection, &EjectionSpec::consecutive_gateway_failure>,
        {.fallback = "none", .when = kEjects, .idle_when = kOfOne},
        "The same for 502, 503, 504, connection errors and timeouts alone (Envoy: 5, but not "
        "enforced)."),
    key("ejection.base_ejection_time", duration(kPositiveRunLength),
        into<kInstances, kEjection, &EjectionSpec::base_ejection_time>,
        {.fallback = "30s", .when = kEjects, .idle_when = kOfOne},
        "Length of an ejection, times the number of ejections of late; it ends at a look."),
    key("ejection.max_ejection_time", duration(kPositiveRunLength),
        into<kInstances, kEjection, &EjectionSpec::max_ejection_time>,
        {.fallback = "300s", .when = kEjects, .idle_when = kOfOne}, "Longest ejection."),
    key("ejection.max_ejection_percent", number(kPercentage).in("%"),
        into<kInstances, kEjection, &EjectionSpec::max_ejection_percent>,
        {.fallback = "10.0", .when = kEjects, .idle_when = kOfOne},
        "The most instances that are ejected at once, in percent of those that the balancer "
        "knows."),
    key("ejection.always_eject_one_host", boolean(),
        into<kInstances, kEjection, &EjectionSpec::always_eject_one_host>,
        {.fallback = "false", .when = kEjects, .idle_when = kOfOne},
        "Whether one instance may be ejected even if that is a larger percentage."),
    key("ejection.success_rate_stdev_factor", number(kPositive).or_word("none"),
        into<kInstances, kEjection, &EjectionSpec::success_rate_stdev_factor>,
        {.fallback = "1900.0", .when = kEjects, .idle_when = kOfOne},
        "At a look, instances are ejected whose success rate since the look before lies below the "
        "mean of all by more than this many thousandths of the standard deviation."),
    key("ejection.success_rate_minimum_hosts", count(kUpToMillion),
        into<kInstances, kEjection, &EjectionSpec::success_rate_minimum_hosts>,
        {.fallback = "5", .when = kEjects, .idle_when = kOfOne},
        "Least number of instances with enough attempts for that."),
    key("ejection.success_rate_request_volume", count(kUpToBillion),
        into<kInstances, kEjection, &EjectionSpec::success_rate_request_volume>,
        {.fallback = "100", .when = kEjects, .idle_when = kOfOne},
        "Attempts since the look before that are enough."),
    key("ejection.failure_percentage_threshold",
        number(kPositivePercentage).or_word("none").in("%"),
        into<kInstances, kEjection, &EjectionSpec::failure_percentage_threshold>,
        {.fallback = "none", .when = kEjects, .idle_when = kOfOne},
        "At a look, instances are ejected of whose attempts since the look before at least this "
        "percentage failed (Envoy: 85, but not enforced)."),
    key("ejection.failure_percentage_minimum_hosts", count(kUpToMillion),
        into<kInstances, kEjection, &EjectionSpec::failure_percentage_minimum_hosts>,
        {.fallback = "5", .when = kEjects, .idle_when = kOfOne},
        "Least number of instances with enough attempts for that."),
    key("ejection.failure_percentage_request_volume", count(kUpToBillion),
        into<kInstances, kEjection, &EjectionSpec::failure_percentage_request_volume>,
        {.fallback = "50", .when = kEjects, .idle_when = kOfOne},
        "Attempts since the look before that are enough."),
    key("accrual.max_failures", count(kUpToMillion).or_word("none"),
        into<kInstances, kAccrual, &AccrualSpec::max_failures>,
        {.fallback = "none", .when = "instances != 1", .idle_when = kOfOne, .thing = kLeftOut},
        "Failures in a row, as above, after which an instance is left out for a penalty, and then "
        "has to pass one attempt (Linkerd: 7; Finagle: 5)."),
    key("accrual.min_penalty", duration(kPositiveRunLength),
        into<kInstances, kAccrual, &AccrualSpec::min_penalty>,
        {.fallback = "1s", .when = kAccrues, .idle_when = kOfOne},
        "The first penalty; each further one, if that attempt fails, is twice as long."),
    key("accrual.max_penalty", duration(kPositiveRunLength),
        into<kInstances, kAccrual, &AccrualSpec::max_penalty>,
        {.fallback = "60s", .when = kAccrues, .idle_when = kOfOne}, "The longest penalty."),
    key("accrual.penalties", word(), into<kInstances, kAccrual, &AccrualSpec::penalties>,
        {.fallback = "exponential", .when = kAccrues, .idle_when = kOfOne},
        "How penalties grow: exponential: from the first on a random part is added (Linkerd); "
        "equal-jittered: the first has none, and each later one is drawn between that of an "
        "exponential growth before it and its own: 5, 5 to 10, 10 to 20 s (Finagle, which "
        "has 5 s and 300 s)."),
    key("accrual.jitter_ratio", number(kFactorRange),
        into<kInstances, kAccrual, &AccrualSpec::jitter_ratio>,
        {.fallback = "0.5", .when = "accrual.penalties = exponential", .idle_when = kOfOne},
        "The most that is added to a penalty at random, as a share of it."),
};

}  // namespace

std::span<const KeyInfo> slowdown_keys() { return kSlowdownKeys; }

std::span<const KeyInfo> instance_keys() { return kInstanceKeys; }

}  // namespace retrysim::scenario

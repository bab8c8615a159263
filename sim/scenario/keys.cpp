// The table of keys, except those of [client.X.retry]: retry_keys.cpp.
//
// SPDX-License-Identifier: MIT
#include "scenario/keys.hpp"

#include "scenario/workload_keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace retrysim::scenario {
namespace {

constexpr Range kNotNegative{.min = 0};
constexpr Range kPositive{.min = 0, .above_min = true};
constexpr Range kShare{.min = 0, .max = 1};
// Thirty years: all sums of such times fit into 64 bits of nanoseconds.
constexpr double kLongest = kLongestDuration.in_seconds();
constexpr Range kRunLength{.min = 0, .max = kLongest};
constexpr Range kPositiveRunLength{.min = 0, .max = kLongest, .above_min = true};
constexpr Range kAtLeastOne{.min = 1};
// Enough for any study, and few enough that the memory for the clients can be had.
constexpr Range kClientCount{.min = 1, .max = 1e9};
constexpr Range kLimit{.min = 1, .max = 1e9};
constexpr Range kServerCount{.min = 1, .max = 1e9};

constexpr ValueRules duration(Range range, std::string_view else_word = {}) {
  return {ValueKind::kDuration, range, {}, else_word};
}
constexpr ValueRules number(Range range, std::string_view else_word = {}) {
  return {ValueKind::kNumber, range, {}, else_word};
}
constexpr ValueRules count(Range range, std::string_view else_word = {}) {
  return {ValueKind::kCount, range, {}, else_word};
}
constexpr ValueRules words(std::string_view list) { return {ValueKind::kWord, {}, list, {}}; }
constexpr ValueRules distribution(std::string_view else_word = {}) {
  return {ValueKind::kDistribution, {}, {}, else_word};
}
constexpr ValueRules text() { return {ValueKind::kText, {}, {}, {}}; }
constexpr ValueRules file() { return {ValueKind::kFile, {}, {}, {}}; }
constexpr ValueRules boolean() { return {ValueKind::kBoolean, {}, {}, {}}; }

const KeyInfo kTopKeys[] = {
    {"name", text(), "", "", true, "", "Name of the scenario and of its result folder.",
     [](const Slots& s, const Value& v) { s.scenario->name = v.text; }},
    {"description", text(), "", R"("")", false, "", "What the scenario shows.",
     [](const Slots& s, const Value& v) { s.scenario->description = v.text; }},
    {"duration", duration(kPositiveRunLength), "s", "", true, "",
     "Simulated time in which requests are submitted.",
     [](const Slots& s, const Value& v) { s.scenario->duration = v.duration; }},
    {"warmup", duration(kRunLength, "auto"), "s", R"("0s")", false, "",
     "Start of the run, which the summary leaves out and the time series keep. auto finds its "
     "length in pilot runs (MSER-5); for steady states only.",
     [](const Slots& s, const Value& v) {
       s.scenario->warmup = v.duration;
       s.scenario->warmup_is_auto = v.is_else_word;
     }},
    {"drain", boolean(), "", "true", false, "",
     "After the duration no new requests start, but those in flight may finish.",
     [](const Slots& s, const Value& v) { s.scenario->drain = v.boolean; }},
    {"drain_limit", duration(kRunLength), "s", R"("300s")", false, "",
     "Longest drain; requests not finished then count as unfinished.",
     [](const Slots& s, const Value& v) { s.scenario->drain_limit = v.duration; }},
    {"seed", count(kNotNegative), "", "1", false, "",
     "Seed of all random draws; equal seeds give equal results.",
     [](const Slots& s, const Value& v) {
       s.scenario->seed = static_cast<std::uint64_t>(v.count);
     }},
    {"replications", count({.min = 1, .max = 1e6}), "", "20", false, "",
     "Number of independent runs that the summary is based on; with a precision the least number "
     "(10 if not given).",
     [](const Slots& s, const Value& v) { s.scenario->replications = static_cast<int>(v.count); }},
    {"precision", number({.min = 0, .max = 1, .above_min = true}, "none"), "", R"("none")", false,
     "",
     "Largest relative error of the means: replications are added (10, 15, 20, 30, 45, ... in all) "
     "until the 95 % intervals are that narrow.",
     [](const Slots& s, const Value& v) { s.scenario->precision = v.is_else_word ? 0 : v.number; }},
    {"precision_metrics", text(), "", R"("goodput, success_rate, amplification, latency_mean")",
     false, "precision != none",
     "Metrics of all clients together that must reach that precision; for shares below 0.1, and "
     "rates below a tenth of the offered load, it is relative to these values.",
     [](const Slots&, const Value&) {}},  // read by the resolver
    {"max_replications", count({.min = 1, .max = 1e6}), "", "1000", false, "precision != none",
     "Number of replications at which adding stops, whether or not the target is met.",
     [](const Slots& s, const Value& v) {
       s.scenario->max_replications = static_cast<int>(v.count);
     }},
    {"interval", duration(kPositiveRunLength), "s", R"("1s")", false, "",
     "Width of a time-series bin.",
     [](const Slots& s, const Value& v) { s.scenario->interval = v.duration; }},
    {"recovery.share", number({.min = 0, .max = 1, .above_min = true}), "", "0.95", false, "",
     "The system counts as recovered when goodput reaches this share of the offered load times the "
     "success rate before the first fault or surge.",
     [](const Slots& s, const Value& v) { s.scenario->recovery_share = v.number; }},
    {"recovery.hold", duration(kNotNegative), "s", R"("30s")", false, "",
     "How long goodput must stay there; extended where too few requests arrive to tell.",
     [](const Slots& s, const Value& v) { s.scenario->recovery_hold = v.duration; }},
    {"recovery.window", duration(kPositive), "s", R"("1s")", false, "",
     "Lapses that average out over this time, or that chance explains, are no relapse.",
     [](const Slots& s, const Value& v) { s.scenario->recovery_window = v.duration; }},
    {"network.latency", distribution(), "s", R"("0s")", false, "",
     "One-way delay between clients and services.",
     [](const Slots& s, const Value& v) { s.scenario->network.latency = v.distribution; }},
    {"network.connect", distribution(), "s", R"("0s")", false, "",
     "Extra time of an attempt that cannot reuse a connection of its client.",
     [](const Slots& s, const Value& v) { s.scenario->network.connect = v.distribution; }},
    {"network.request_loss", number(kShare), "", "0.0", false, "",
     "Probability that an attempt never reaches the service.",
     [](const Slots& s, const Value& v) { s.scenario->network.request_loss = v.number; }},
    {"network.response_loss", number(kShare), "", "0.0", false, "",
     "Probability that the work is done but its answer is lost.",
     [](const Slots& s, const Value& v) { s.scenario->network.response_loss = v.number; }},
};

template <int kStatus>
void store_error(const Slots& s, const Value& v, std::string_view code) {
  if (v.number > 0) s.errors->push_back({{kStatus, std::string(code)}, v.number});
}

// Random errors of a service and of a fault.
const KeyInfo kErrorKeys[] = {
    {"errors.internal", number(kShare), "", "0.0", false, "",
     "Probability of the answer 500 InternalError.",
     [](const Slots& s, const Value& v) { store_error<500>(s, v, "InternalError"); }},
    {"errors.unavailable", number(kShare), "", "0.0", false, "",
     "Probability of the answer 503 ServiceUnavailable.",
     [](const Slots& s, const Value& v) { store_error<503>(s, v, "ServiceUnavailable"); }},
    {"errors.throttled", number(kShare), "", "0.0", false, "",
     "Probability of the answer 400 ThrottlingException.",
     [](const Slots& s, const Value& v) { store_error<400>(s, v, "ThrottlingException"); }},
    {"errors.invalid", number(kShare), "", "0.0", false, "",
     "Probability of the answer 400 ValidationException, which is not retried.",
     [](const Slots& s, const Value& v) { store_error<400>(s, v, "ValidationException"); }},
    // The last part of the path comes in the value's text.
    {"errors.*", number(kShare), "", "", false, "",
     "Probability of the answer that the key names: 429, or \"503:SlowDown\" with a code.",
     [](const Slots& s, const Value& v) {
       if (v.number > 0) s.errors->push_back({*parse_error_answer(v.text), v.number});
     }},
};

const KeyInfo kServiceKeys[] = {
    {"model", words("queue|independent|occ"), "", R"("queue")", false, "",
     "How the service works: a queue in front of servers; independent: every attempt is served at "
     "once and fails with the probabilities of errors; occ: a queue in front of a row that each "
     "attempt reads, and then writes unless somebody else has done so meanwhile (queueing_time and "
     "wait_probability count both passes, service_latency only the write).",
     [](const Slots& s, const Value& v) {
       s.service->model = static_cast<ServiceModelKind>(v.word);
       if (s.service->model == ServiceModelKind::kIndependent) {
         s.service->servers = ServiceSpec::kUnlimited;
       }
     }},
    {"servers", count(kServerCount, "unlimited"), "", "1", false, "model != independent",
     "Attempts served at the same time.",
     [](const Slots& s, const Value& v) {
       s.service->servers = v.is_else_word ? ServiceSpec::kUnlimited : v.count;
     }},
    {"profile", file(), "", "", false, "model != independent",
     "CSV file with columns time_s,capacity: a factor on the number of servers, in force from each "
     "time on.",
     [](const Slots&, const Value&) {}},  // read by the resolver
    {"autoscaling.target",
     ValueRules{ValueKind::kNumber, {.min = 0, .max = 1, .above_min = true}, {}, "none"}, "",
     R"("none")", false, "servers != unlimited",
     "Utilization at which the number of servers is kept; servers is the initial number.",
     [](const Slots& s, const Value& v) {
       s.service->autoscaling.target = v.is_else_word ? 0 : v.number;
     }},
    {"autoscaling.max", count(kServerCount), "", "", true, "autoscaling.target != none",
     "Largest number of servers.",
     [](const Slots& s, const Value& v) { s.service->autoscaling.max = v.count; }},
    {"autoscaling.min", count(kServerCount), "", "1", false, "autoscaling.target != none",
     "Smallest number of servers.",
     [](const Slots& s, const Value& v) { s.service->autoscaling.min = v.count; }},
    {"autoscaling.interval", duration(kPositiveRunLength), "s", R"("60s")", false,
     "autoscaling.target != none",
     "Time between two looks at the mean utilization since the last one.",
     [](const Slots& s, const Value& v) { s.service->autoscaling.interval = v.duration; }},
    {"autoscaling.delay", duration(kRunLength), "s", R"("120s")", false,
     "autoscaling.target != none", "Time until a new server starts to work.",
     [](const Slots& s, const Value& v) { s.service->autoscaling.delay = v.duration; }},
    {"autoscaling.cooldown", duration(kRunLength), "s", R"("300s")", false,
     "autoscaling.target != none", "Shortest time between two changes.",
     [](const Slots& s, const Value& v) { s.service->autoscaling.cooldown = v.duration; }},
    {"autoscaling.tolerance", number(kNotNegative), "", "0.1", false, "autoscaling.target != none",
     "Deviation from the target that is tolerated, as a share of the target.",
     [](const Slots& s, const Value& v) { s.service->autoscaling.tolerance = v.number; }},
    {"service_time", distribution(), "s", "", true, "", "Time a server works on one attempt.",
     [](const Slots& s, const Value& v) { s.service->service_time = v.distribution; }},
    {"slowdown", number(kNotNegative), "", "0.0", false, "model != independent",
     "Extra service time per attempt already in service, as a fraction of the attempt's own.",
     [](const Slots& s, const Value& v) { s.service->slowdown = v.number; }},
    {"queue.discipline", words("fifo|lifo|random|priority|processor-sharing|codel"), "",
     R"("fifo")", false, "model != independent",
     "Which waiting attempt is served next: priority: that of the client group with the highest "
     "priority; processor-sharing: all are served at once; codel: fifo, but attempts that wait too "
     "long are shed.",
     [](const Slots& s, const Value& v) {
       s.service->discipline = static_cast<Discipline>(v.word);
     }},
    {"queue.capacity", count(kNotNegative, "unlimited"), "", R"("unlimited")", false,
     "model != independent",
     "Attempts that may wait, not counting those in service; with processor-sharing attempts in "
     "service.",
     [](const Slots& s, const Value& v) {
       s.service->queue_capacity = v.is_else_word ? ServiceSpec::kUnlimited : v.count;
     }},
    {"queue.target", duration(kNotNegative), "s", R"("5ms")", false, "queue.discipline = codel",
     "Acceptable waiting time (RFC 8289).",
     [](const Slots& s, const Value& v) { s.service->codel.target = v.duration; }},
    {"queue.interval", duration(kPositive), "s", R"("100ms")", false, "queue.discipline = codel",
     "How long the target may be exceeded before attempts are shed; they get the overflow answer.",
     [](const Slots& s, const Value& v) { s.service->codel.interval = v.duration; }},
    {"queue.drop_expired", boolean(), "", "false", false, "queue.discipline != processor-sharing",
     "When the turn of a waiting attempt comes, drop it if its answer could not arrive before its "
     "client's timeout or deadline; its service time is assumed to be known. An attempt that finds "
     "a free server is always served.",
     [](const Slots& s, const Value& v) { s.service->drop_expired = v.boolean; }},
    {"concurrency.control", words("fixed|gradient2|aimd"), "", R"("fixed")", false,
     "model != independent",
     "How the limit on attempts waiting and in service together is set: gradient2 and aimd adapt "
     "it to how long attempts take, as Netflix's concurrency-limits library does.",
     [](const Slots& s, const Value& v) {
       s.service->concurrency.control = static_cast<ConcurrencyControl>(v.word);
     }},
    {"concurrency.limit", count(kAtLeastOne, "unlimited"), "", R"("unlimited")", false,
     "concurrency.control = fixed", "That limit; attempts beyond it get the overflow answer.",
     [](const Slots& s, const Value& v) {
       s.service->concurrency.limit = v.is_else_word ? ServiceSpec::kUnlimited : v.count;
     }},
    {"concurrency.initial", count(kLimit), "", "20", false, "concurrency.control = gradient2|aimd",
     "Initial limit.",
     [](const Slots& s, const Value& v) { s.service->concurrency.initial = v.count; }},
    {"concurrency.min", count(kLimit), "", "20", false, "concurrency.control = gradient2|aimd",
     "Smallest limit.",
     [](const Slots& s, const Value& v) { s.service->concurrency.min = v.count; }},
    {"concurrency.max", count(kLimit), "", "200", false, "concurrency.control = gradient2|aimd",
     "Largest limit.",
     [](const Slots& s, const Value& v) { s.service->concurrency.max = v.count; }},
    {"concurrency.smoothing", number({.min = 0, .max = 1, .above_min = true}), "", "0.2", false,
     "concurrency.control = gradient2", "Weight of a new limit relative to the one before.",
     [](const Slots& s, const Value& v) { s.service->concurrency.smoothing = v.number; }},
    {"concurrency.headroom", number(kNotNegative), "attempts", "4.0", false,
     "concurrency.control = gradient2", "Growth of the limit while attempts do not take longer.",
     [](const Slots& s, const Value& v) { s.service->concurrency.headroom = v.number; }},
    {"concurrency.tolerance", number(kAtLeastOne), "", "1.5", false,
     "concurrency.control = gradient2",
     "How many times the long-term average an attempt may take before the limit shrinks.",
     [](const Slots& s, const Value& v) { s.service->concurrency.tolerance = v.number; }},
    {"concurrency.long_window", number(kAtLeastOne), "attempts", "600.0", false,
     "concurrency.control = gradient2", "Length of that average.",
     [](const Slots& s, const Value& v) { s.service->concurrency.long_window = v.number; }},
    {"concurrency.backoff_ratio", number({.min = 0.5, .max = 1}), "", "0.9", false,
     "concurrency.control = aimd",
     "Factor on the limit after an attempt that was slow or not served to the end.",
     [](const Slots& s, const Value& v) { s.service->concurrency.backoff_ratio = v.number; }},
    {"concurrency.slow", duration(kPositive), "s", R"("5s")", false, "concurrency.control = aimd",
     "Time at the service from which an attempt counts as slow.",
     [](const Slots& s, const Value& v) { s.service->concurrency.slow = v.duration; }},
    {"price", number(kNotNegative), "", "1.0", false, "",
     "Price of an attempt, in any unit, for the metric cost.",
     [](const Slots& s, const Value& v) { s.service->price = v.number; }},
    {"rejection_price", number(kNotNegative), "", "1.0", false, "",
     "Price of an attempt that the throttle, limit or queue refuses, or that gets another "
     "throttling error, whether or not the answer reaches its client.",
     [](const Slots& s, const Value& v) { s.service->rejection_price = v.number; }},
    {"overflow", words("unavailable|throttled|invalid|drop"), "", R"("unavailable")", false,
     "model != independent", "Answer of a full queue or of the concurrency limit; drop: no answer.",
     [](const Slots& s, const Value& v) { s.service->overflow = static_cast<Overflow>(v.word); }},
    {"reject_cost", duration(kRunLength), "s", R"("0s")", false, "model != independent",
     "Server time that turning an attempt away (throttle or overflow) takes, before any other "
     "work; the answer is sent at its end. A drop costs nothing.",
     [](const Slots& s, const Value& v) { s.service->reject_cost = v.duration; }},
    {"abandoned", words("serve|drop-at-dequeue|remove|abort"), "", R"("serve")", false,
     "model != independent",
     "What happens to an attempt whose client has given up; remove takes it out of the queue, "
     "abort also out of service.",
     [](const Slots& s, const Value& v) { s.service->abandoned = static_cast<Abandoned>(v.word); }},
    {"timeout", ValueRules{ValueKind::kDuration, kPositive, {}, "none"}, "s", R"("none")", false,
     "model != independent",
     "The service's own limit on the time of an attempt in queue and service together, after which "
     "it answers 504 GatewayTimeout and abandons the work.",
     [](const Slots& s, const Value& v) {
       s.service->timeout = v.is_else_word ? Duration::max() : v.duration;
     }},
    {"throttle.rate", ValueRules{ValueKind::kNumber, kPositive, {}, "unlimited"}, "1/s",
     R"("unlimited")", false, "model != independent",
     "Rate of the token bucket that lets attempts through.",
     [](const Slots& s, const Value& v) { s.service->throttle.rate = v.number; }},
    {"throttle.burst", number(kAtLeastOne), "tokens", "1", false, "throttle.rate != unlimited",
     "Capacity of that bucket, which starts full.",
     [](const Slots& s, const Value& v) { s.service->throttle.burst = v.number; }},
    {"throttle.scope", words("service|client"), "", R"("service")", false,
     "throttle.rate != unlimited", "Whether there is one bucket, or one for each client.",
     [](const Slots& s, const Value& v) {
       s.service->throttle.scope = static_cast<ThrottleScope>(v.word);
     }},
    {"throttle.retry_after", duration(kNotNegative), "s", R"("0s")", false,
     "throttle.rate != unlimited", "Delay suggested to throttled clients; 0: none.",
     [](const Slots& s, const Value& v) { s.service->throttle.retry_after = v.duration; }},
    {"parallel_calls", boolean(), "", "false", false, "",
     "Whether the calls of [service.*.calls.*] are made together instead of in the order written.",
     [](const Slots& s, const Value& v) { s.service->parallel_calls = v.boolean; }},
    {"idempotency.window",
     ValueRules{ValueKind::kDuration, {.min = 0, .max = kLongest, .above_min = true}, {}, "none"},
     "s", R"("none")", false, "",
     "How long the service remembers the idempotency token of a request after its effect; attempts "
     "that arrive later are executed again.",
     [](const Slots& s, const Value& v) {
       s.service->idempotency.window = v.is_else_word ? Duration::zero() : v.duration;
     }},
    {"idempotency.replay", words("equivalent|already-exists|none"), "", R"("equivalent")", false,
     "idempotency.window != none",
     "Answer to an attempt whose token shows that the effect has happened: equivalent: success; "
     "already-exists: 409 EntityAlreadyExists; none: tokens are ignored.",
     [](const Slots& s, const Value& v) {
       s.service->idempotency.replay = static_cast<IdempotentReplay>(v.word);
     }},
    {"idempotency.in_progress", words("error|execute"), "", R"("error")", false,
     "idempotency.window != none",
     "What happens to an attempt while another one with its token is in service: error: 400 "
     "PriorRequestNotComplete; execute: it is executed as well.",
     [](const Slots& s, const Value& v) {
       s.service->idempotency.in_progress = static_cast<InProgress>(v.word);
     }},
    {"idempotency.replay_cost", duration(kNotNegative), "s", R"("0s")", false,
     "idempotency.window != none",
     "Server time of an attempt that is answered because of its token.",
     [](const Slots& s, const Value& v) { s.service->idempotency.replay_cost = v.duration; }},
    {"like", text(), "", "", false, "", "Another service that this one starts from.",
     [](const Slots&, const Value&) {}},
};

const KeyInfo kFaultKeys[] = {
    {"service", text(), "", "", true, "",
     "The service concerned; may be left out if there is only one.",
     [](const Slots& s, const Value& v) { *s.service_name = v.text; }},
    {"start", duration(kNotNegative), "s", "", true, "", "When the fault begins.",
     [](const Slots& s, const Value& v) { s.fault->start = Time::zero() + v.duration; }},
    {"duration", duration(kPositive), "s", "", true, "", "How long it lasts.",
     [](const Slots& s, const Value& v) { s.fault->duration = v.duration; }},
    {"capacity", number(kNotNegative), "", "1.0", false, "",
     "Factor on the number of working servers; work in progress is finished.",
     [](const Slots& s, const Value& v) { s.fault->capacity = v.number; }},
    {"speed", number(kNotNegative), "", "1.0", false, "", "Factor on the speed of each server.",
     [](const Slots& s, const Value& v) { s.fault->speed = v.number; }},
    {"latency", duration(kNotNegative), "s", R"("0s")", false, "",
     "Delay added to the network, each way.",
     [](const Slots& s, const Value& v) { s.fault->latency = v.duration; }},
    {"request_loss", number(kShare), "", "0.0", false, "",
     "Probability that an attempt never reaches the service; adds to the network's.",
     [](const Slots& s, const Value& v) { s.fault->request_loss = v.number; }},
    {"response_loss", number(kShare), "", "0.0", false, "",
     "Probability that the work is done but its answer is lost; adds to the network's.",
     [](const Slots& s, const Value& v) { s.fault->response_loss = v.number; }},
    {"cold_restart", boolean(), "", "false", false, "",
     "When the fault begins, the queue and the work in progress are lost, and their clients get a "
     "connection error.",
     [](const Slots& s, const Value& v) { s.fault->cold_restart = v.boolean; }},
    {"unreachable", boolean(), "", "false", false, "",
     "Connections are refused after one round trip.",
     [](const Slots& s, const Value& v) { s.fault->unreachable = v.boolean; }},
};

const KeyInfo kClientKeys[] = {
    {"calls", text(), "", "", true, "", "The service called; may be left out if there is only one.",
     [](const Slots& s, const Value& v) { *s.service_name = v.text; }},
    {"count", count(kClientCount), "", "1", false, "",
     "Virtual clients in the group, each with retry state of its own.",
     [](const Slots& s, const Value& v) { s.client->count = static_cast<std::uint32_t>(v.count); }},
    {"priority", count({.min = 0, .max = kMostPriority}), "", "0", false, "",
     "Attempts of higher priority are served first where queue.discipline is priority.",
     [](const Slots& s, const Value& v) {
       s.client->priority = static_cast<std::uint8_t>(v.count);
     }},
    {"arrivals.process", words("poisson|constant|once|closed|trace|on-off|poll"), "", "", true, "",
     "How requests arrive.",
     [](const Slots& s, const Value& v) {
       s.client->arrivals.process = static_cast<ArrivalProcess>(v.word);
     }},
    {"arrivals.rate", number(kPositive), "1/s", "", false,
     "arrivals.process = poisson|constant|on-off|poll", "Requests per second of each client.",
     [](const Slots& s, const Value& v) { s.arrivals->rate = v; }},
    {"arrivals.total_rate", number(kPositive), "1/s", "", false,
     "arrivals.process = poisson|constant|on-off|poll",
     "Requests per second of the group together.",
     [](const Slots& s, const Value& v) { s.arrivals->total_rate = v; }},
    {"arrivals.phase", words("random|aligned"), "", R"("random")", false,
     "arrivals.process = constant|on-off",
     "Whether each client acts at times of its own or all act together.",
     [](const Slots& s, const Value& v) { s.client->arrivals.aligned = v.word == 1; }},
    {"arrivals.start", duration(kNotNegative), "s", R"("0s")", false, "arrivals.process = once",
     "When every client submits its one request.",
     [](const Slots& s, const Value& v) { s.client->arrivals.start = Time::zero() + v.duration; }},
    {"arrivals.spread", duration(kNotNegative), "s", R"("0s")", false, "arrivals.process = once",
     "Those requests are spread uniformly over this time.",
     [](const Slots& s, const Value& v) { s.client->arrivals.spread = v.duration; }},
    {"arrivals.concurrency", count({.min = 1, .max = 1e6}), "", "1", false,
     "arrivals.process = closed", "Requests that each client keeps in progress.",
     [](const Slots& s, const Value& v) {
       s.client->arrivals.concurrency = static_cast<std::uint32_t>(v.count);
     }},
    {"arrivals.think_time", distribution(), "s", R"("0s")", false, "arrivals.process = closed",
     "Pause before each request; the run starts with one.",
     [](const Slots& s, const Value& v) { s.client->arrivals.think_time = v.distribution; }},
    {"arrivals.think_from", words("end|start"), "", R"("end")", false, "arrivals.process = closed",
     "Whether that pause counts from the end of the previous request or from its start; in the "
     "latter case a request that took longer than the pause is followed at once.",
     [](const Slots& s, const Value& v) { s.client->arrivals.think_from_start = v.word == 1; }},
    {"arrivals.file", file(), "", "", true, "arrivals.process = trace",
     "CSV file with columns timestamp,value (a monitoring export) or time_s,rate (the group's "
     "rate) or time_s (one row per request).",
     [](const Slots& s, const Value& v) { s.arrivals->file = v; }},
    {"arrivals.speed_up", number(kPositive), "", "1.0", false, "arrivals.process = trace",
     "Factor by which time in the file passes faster than simulated time.",
     [](const Slots& s, const Value& v) { s.arrivals->speed_up = v; }},
    {"arrivals.scale", number(kPositive), "", "1.0", false, "arrivals.process = trace",
     "Factor on the file's rates.", [](const Slots& s, const Value& v) { s.arrivals->scale = v; }},
    {"arrivals.bucket", duration(kPositive), "s", "", false, "arrivals.process = trace",
     "Width of a monitoring export's bucket; without it the most common spacing of the rows.",
     [](const Slots& s, const Value& v) { s.arrivals->bucket = v; }},
    {"arrivals.spacing", words("poisson|even"), "", R"("poisson")", false,
     "arrivals.process = trace", "Whether requests come at random or evenly at the file's rate.",
     [](const Slots& s, const Value& v) { s.client->arrivals.even_spacing = v.word == 1; }},
    {"arrivals.profile", file(), "", "", false, "arrivals.process = poisson|constant|on-off|poll",
     "CSV file with columns time_s,rate: a factor on the rate, or the group's rate if none is "
     "given.",
     [](const Slots& s, const Value& v) { s.arrivals->profile = v; }},
    {"arrivals.interpolate", words("linear|step"), "", R"("linear")", false,
     "arrivals.process = poisson|constant|trace|on-off|poll",
     "Whether the rate of a time_s,rate file changes linearly between rows or in steps.",
     [](const Slots& s, const Value& v) { s.arrivals->step = v.word == 1; }},
    {"attempt_timeout", distribution("none"), "s", R"("none")", false, "",
     "How long an attempt waits for its answer.",
     [](const Slots& s, const Value& v) {
       s.client->has_attempt_timeout = !v.is_else_word;
       s.client->attempt_timeout = v.distribution;
     }},
    {"deadline", ValueRules{ValueKind::kDuration, kPositive, {}, "none"}, "s", R"("none")", false,
     "", "Longest time for a whole request, waiting and backoff included.",
     [](const Slots& s, const Value& v) {
       s.client->deadline = v.is_else_word ? Duration::max() : v.duration;
     }},
    {"connect_timeout", ValueRules{ValueKind::kDuration, kPositive, {}, "none"}, "s", R"("none")",
     false, "", "How long an attempt waits for a new connection.",
     [](const Slots& s, const Value& v) {
       s.client->connect_timeout = v.is_else_word ? Duration::max() : v.duration;
     }},
    {"max_connections", count({.min = 1, .max = 1e9}, "unlimited"), "", R"("unlimited")", false, "",
     "Connections of each client, one attempt at a time on each; further attempts wait in order.",
     [](const Slots& s, const Value& v) {
       s.client->max_connections =
           v.is_else_word ? ClientSpec::kUnlimited : static_cast<std::uint32_t>(v.count);
     }},
    {"mutating", number(kShare), "", "0.0", false, "",
     "Share of the requests that have side effects.",
     [](const Slots& s, const Value& v) { s.client->mutating = v.number; }},
    {"idempotency_token", boolean(), "", "true", false, "",
     "Whether those carry a token that is the same in every attempt.",
     [](const Slots& s, const Value& v) { s.client->idempotency_token = v.boolean; }},
    {"token_reuse", number(kShare), "", "0.0", false, "idempotency_token = true",
     "Share of those that wrongly carry the token of their client's previous one.",
     [](const Slots& s, const Value& v) { s.client->token_reuse = v.number; }},
    {"long_poll", boolean(), "", "false", false, "",
     "Whether the requests are long-polling operations, such as SQS ReceiveMessage.",
     [](const Slots& s, const Value& v) { s.client->long_poll = v.boolean; }},
    {"like", text(), "", "", false, "", "Another client group that this one starts from.",
     [](const Slots&, const Value&) {}},
};

const KeyInfo kExpectationKeys[] = {
    {"metric", text(), "", "", true, "", "The metric of summary.csv that is bounded.",
     [](const Slots& s, const Value& v) { s.expectation->metric = v.text; }},
    {"client", text(), "", R"("all")", false, "", "The client group, or all of them together.",
     [](const Slots& s, const Value& v) { s.expectation->client = v.text; }},
    {"at_most", number({}), "", "", false, "",
     "Largest allowed upper end of the 95 % interval, in the metric's unit.",
     [](const Slots& s, const Value& v) { s.expectation->at_most = v.number; }},
    {"at_least", number({}), "", "", false, "",
     "Smallest allowed lower end of the 95 % interval, in the metric's unit.",
     [](const Slots& s, const Value& v) { s.expectation->at_least = v.number; }},
};

// A service's own client has what other clients have, except for requests of its own.
std::vector<KeyInfo> call_keys() {
  std::vector<KeyInfo> keys;
  for (const std::string_view name :
       {"attempt_timeout", "deadline", "connect_timeout", "max_connections", "priority", "mutating",
        "idempotency_token"}) {
    keys.push_back(*std::find_if(std::begin(kClientKeys), std::end(kClientKeys),
                                 [&](const KeyInfo& key) { return key.name == name; }));
  }
  const std::vector<KeyInfo> retry = retry_keys();
  keys.insert(keys.end(), retry.begin(), retry.end());
  return keys;
}

std::vector<KeyInfo> joined_keys(std::span<const KeyInfo> first, std::span<const KeyInfo> more) {
  std::vector<KeyInfo> all(first.begin(), first.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void insert(NameTree& tree, std::string_view path, const KeyInfo* key) {
  const std::size_t end = std::min(path.find('.'), path.size());
  const std::string_view name = path.substr(0, end);
  auto child = std::find_if(tree.children.begin(), tree.children.end(),
                            [&](const NameTree& c) { return c.name == name; });
  if (child == tree.children.end()) {
    child = tree.children.insert(tree.children.end(), NameTree{name, nullptr, {}});
  }
  if (end == path.size()) {
    child->key = key;
  } else {
    insert(*child, path.substr(end + 1), key);
  }
}

}  // namespace

std::span<const KeyScope> key_scopes() {
  static const std::vector<KeyInfo> service_keys = joined_keys(kServiceKeys, kErrorKeys);
  static const std::vector<KeyInfo> fault_keys = joined_keys(kFaultKeys, kErrorKeys);
  static const std::vector<KeyInfo> client_keys =
      joined_keys(joined_keys(kClientKeys, burst_and_poll_keys()), retry_keys());
  static const std::vector<KeyInfo> keys_of_calls = call_keys();
  static const std::array<KeyScope, 8> scopes{{{"", kTopKeys},
                                               {"service.*", service_keys},
                                               {"fault.*", fault_keys},
                                               {"client.*", client_keys},
                                               {"client.*.surge.*", surge_keys()},
                                               {"client.*.operation.*", operation_keys()},
                                               {"service.*.calls.*", keys_of_calls},
                                               {"expect.*", kExpectationKeys}}};
  return scopes;
}

const KeyScope& key_scope(std::string_view pattern) {
  const auto scopes = key_scopes();
  return *std::find_if(scopes.begin(), scopes.end(),
                       [&](const KeyScope& s) { return s.pattern == pattern; });
}

std::string key_pattern(const KeyScope& scope, const KeyInfo& key) {
  std::string pattern(scope.pattern);
  if (!pattern.empty()) pattern += '.';
  return pattern.append(key.name);
}

const NameTree* NameTree::find(std::string_view child) const {
  const NameTree* any = nullptr;
  for (const NameTree& c : children) {
    if (c.name == child) return &c;
    if (c.name == "*") any = &c;
  }
  return any;
}

const NameTree& name_tree() {
  static const std::vector<std::string> patterns = [] {  // the tree keeps views of them
    std::vector<std::string> all;
    for (const KeyScope& scope : key_scopes()) {
      for (const KeyInfo& key : scope.keys) all.push_back(key_pattern(scope, key));
    }
    return all;
  }();
  static const NameTree tree = [] {
    NameTree root;
    auto pattern = patterns.begin();
    for (const KeyScope& scope : key_scopes()) {
      for (const KeyInfo& key : scope.keys) insert(root, *pattern++, &key);
    }
    return root;
  }();
  return tree;
}

std::optional<ErrorAnswer> parse_error_answer(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view status = name.substr(0, colon);
  ErrorAnswer answer;
  const auto [end, code] =
      std::from_chars(status.data(), status.data() + status.size(), answer.status);
  if (code != std::errc() || end != status.data() + status.size()) return std::nullopt;
  if (answer.status < 400 || answer.status > 599) return std::nullopt;
  if (colon == name.size()) return answer;
  answer.code = name.substr(colon + 1);
  const bool word =
      !answer.code.empty() && std::all_of(answer.code.begin(), answer.code.end(), [](char c) {
        return is_bare_name({&c, 1}) || c == '.' || c == ':';
      });
  if (!word) return std::nullopt;
  return answer;
}

}  // namespace retrysim::scenario

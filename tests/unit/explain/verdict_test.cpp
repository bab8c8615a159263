// The rules of verdicts: for each a short scenario in which it applies, and one that differs in a
// key or two in which it does not. Seeds are fixed; what is decided here is far from any threshold,
// so that other seeds would give the same verdicts.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "experiment/twins.hpp"
#include "explain/rules.hpp"
#include "scenario_of.hpp"

namespace retrysim {
namespace {

using Edits = std::vector<std::string>;

/// Two servers of 10 ms at 60 % load that lose all but 30 % of their speed for two seconds. The
/// queue holds half a second of work, clients wait a fifth, and ask three times at once.
constexpr const char* kDip = R"(
name = "dip"
duration = "40s"
replications = 2
recovery = { hold = "5s" }
[service.api]
servers = 2
service_time = "10ms"
queue = { capacity = 100 }
[fault.dip]
start = "10s"
duration = "2s"
speed = 0.3
[client.web]
count = 40
arrivals = { process = "poisson", total_rate = 120 }
attempt_timeout = "200ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "10ms", cap = "20ms" } }
)";

/// The same service and clients without a fault.
constexpr const char* kSteady = R"(
name = "steady"
duration = "20s"
replications = 2
[service.api]
servers = 2
service_time = "10ms"
queue = { capacity = 100 }
[client.web]
count = 40
arrivals = { process = "poisson", total_rate = 120 }
attempt_timeout = "1s"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "10ms", cap = "20ms" } }
)";

constexpr const char* kHerd = R"(
name = "herd"
duration = "20s"
replications = 2
[service.api]
servers = 2
service_time = "10ms"
queue = { capacity = 20 }
[client.web]
count = 200
arrivals = { process = "once", start = "1s" }
attempt_timeout = "5s"
retry = { mode = "custom", max_attempts = 10, backoff = { base = "100ms", cap = "10s" } }
)";

/// 400 clients that ask again until they are answered: 132 requests a second for 200. If all of
/// them wait at once, they ask 2,000 times a second, and every answer is for an attempt given up.
constexpr const char* kLoop = R"(
name = "loop"
duration = "120s"
replications = 2
[service.api]
servers = 2
service_time = "10ms"
[fault.gone]
start = "20s"
duration = "5s"
black_hole = true
[client.web]
count = 400
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "3s" } }
attempt_timeout = "200ms"
retry = { mode = "custom", max_attempts = "unlimited", delays = [0] }
)";

/// A service in front of a database; both retry.
constexpr const char* kLayers = R"(
name = "layers"
duration = "20s"
replications = 2
[service.front]
servers = 20
service_time = "10ms"
[service.front.calls.db]
retry = { mode = "custom", max_attempts = 3, backoff = { base = "1ms", cap = "1ms" } }
[service.db]
servers = 20
service_time = "5ms"
errors = { unavailable = 0.5 }
[client.web]
calls = "front"
count = 40
arrivals = { process = "poisson", total_rate = 50 }
retry = { mode = "custom", max_attempts = 3, backoff = { base = "1ms", cap = "1ms" } }
)";

std::vector<Verdict> verdicts_on(const char* text, const Edits& edits, bool with_twins = false) {
  const Scenario scenario = test::scenario_of(text, edits);
  std::vector<RunResult> runs = run_replications(scenario);
  if (with_twins) experiment::storms_with_twins(scenario, runs, {});
  return verdicts(scenario, runs);
}

const Verdict* find(const std::vector<Verdict>& all, std::string_view rule) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Verdict& v) { return v.rule == rule; });
  return found == all.end() ? nullptr : &*found;
}

std::string listed(const std::vector<Verdict>& all) {
  std::string text;
  for (const Verdict& v : all) {
    text += "\n  " + v.client + " " + std::string(v.rule) + ": " + v.sentence;
  }
  return text;
}

/// Whether its figures are in the sentence, in their order.
bool figures_in_place(const Verdict& verdict) {
  std::size_t at = 0;
  for (const SaidFigure& f : verdict.figures) {
    at = verdict.sentence.find(f.text, at);
    if (at == std::string::npos) return false;
    at += f.text.size();
  }
  return true;
}

/// When a rule applies and when not.
struct RuleCase {
  const char* rule;
  const char* scenario;
  Edits applies;
  const char* other_scenario;
  Edits does_not;
  const char* sentence;  ///< a part of it
  bool with_twins = false;
};

// What the edits are for: the timeout of a second outlasts the queue, one attempt makes no storm.
const std::string kPatient = "client.web.attempt_timeout=1s",
                  kOnce = "client.web.retry.max_attempts=1",
                  kNoQueue = "service.api.queue.capacity=4", kWeak = "fault.dip.speed=0.9",
                  kOff = "fault.dip.speed=0", kHigh = "client.web.arrivals.total_rate=240",
                  kQuota = "client.web.retry.quota.capacity=10",
                  kBigQuota = "client.web.retry.quota.capacity=1000000",
                  kErrors = "service.api.errors.internal=0.2";
const Edits kRecoverByQuota = {kQuota, "client.web.retry.quota.cost=5",
                               "client.web.retry.quota.timeout_cost=5"};

/// Without what is said of several groups together.
std::vector<Verdict> on_each_group(std::vector<Verdict> all) {
  std::erase_if(all, [](const Verdict& v) { return v.client == "all"; });
  return all;
}

const std::vector<RuleCase>& rule_cases() {
  static const std::vector<RuleCase> cases = {
      {"sent-nothing",
       kHerd,
       {"client.web.arrivals.start=20s"},
       kHerd,
       {"client.web.arrivals.start=19s"},
       "sent nothing, because its requests start at 20 s, and the load stops at 20 s"},
      {"down-before",
       kDip,
       {"client.web.deadline=1us"},
       kDip,
       {},
       "down before the fault begins: no request made until then succeeds"},
      {"never-recovers", kDip, {}, kDip, {kPatient}, "never recovers"},
      {"error-budget",
       kDip,
       {kPatient, R"(slo.good={share=0.99,latency="1s",window="24h",events_per_year={dip=10}})"},
       kDip,
       {kPatient},
       "the error budget of 24 hours (good: 99 % of the requests within 1 s)"},
      {"stuck",
       kLoop,
       {},
       kLoop,
       {"client.web.count=100"},
       "when the load stops, 400 of 400 clients "
       "have been without an answer for more than 0.15 s, 10 times the usual time"},
      {"down-between",
       kLoop,
       {R"(fault.next={start="80s",duration="5s",speed=20,cold_restart=true})"},
       kLoop,
       {R"(fault.next={start="80s",duration="5s",speed=20,cold_restart=true})",
        "client.web.count=100"},
       "does not recover from gone until next begins 55 s later: "},
      {"not-all-well",
       kSteady,
       {"network.response_loss=0.1", "client.web.mutating=1.0"},
       kSteady,
       {},
       "take effect more than once"},
      {"too-few-to-tell",
       kDip,
       {"client.web.arrivals.total_rate=0.02"},
       kDip,
       {},
       "nothing to compare with: no request is made before the fault; of those made during and "
       "after it, 0 of 0 and "},
      {"too-short-to-tell",
       kDip,
       {"duration=16s"},
       kDip,
       {},
       "not recovered when the run ends, 4 s after the fault: no request made since then succeeds; "
       "run longer to see whether it does"},
      {"sometimes-recovers",
       kDip,
       {"client.web.arrivals.total_rate=76", "replications=12"},
       kDip,
       {},
       "of 12 runs"},
      {"unaffected", kDip, {kPatient, "fault.dip.speed=0.99"}, kDip, {}, "unaffected"},
      {"only-slower",
       kDip,
       {kPatient, "fault.dip.speed=0.64"},
       kDip,
       {kPatient, "fault.dip.speed=0.99"},
       "only slower"},
      {"degraded",
       kDip,
       {kNoQueue, kOnce, "fault.dip.speed=0.5"},
       kDip,
       {},
       "; it recovers at once when the fault ends"},
      {"back-at-once",
       kDip,
       {kNoQueue, kOnce, kOff},
       kDip,
       {},
       "; it recovers at once when the fault ends"},
      {"overloaded-before",
       kDip,
       {kHigh, "client.web.attempt_timeout=none", "service.api.queue.capacity=unlimited"},
       kDip,
       {},
       "falls behind before the fault begins"},
      {"failing-before",
       kDip,
       {kOnce, kNoQueue, "service.api.errors.internal=0.1"},
       kDip,
       {kOnce, kNoQueue, kOff},
       "failing before the fault already: "},
      {"still-on",
       kDip,
       {"fault.dip.duration=100s", kOnce},
       kDip,
       {},
       "the fault is still on when the run ends: "},
      {"falls-behind",
       kSteady,
       {kHigh, "client.web.attempt_timeout=none", "service.api.queue.capacity=unlimited"},
       kSteady,
       {},
       "requests are under way when the load stops"},
      {"slow",
       kSteady,
       {"client.web.arrivals={process=\"closed\",think_time=\"0s\"}", "client.web.count=1000",
        "client.web.attempt_timeout=none", "service.api.queue.capacity=unlimited", "warmup=6s"},
       kSteady,
       {},
       "in the queue"},
      {"could-have-been-missed",
       kDip,
       {kOnce, kOff, kNoQueue, "client.web.retry.max_attempts=2", "replications=4"},
       kDip,
       {kPatient, "fault.dip.speed=0.99"},
       "recovers in all 4 runs: the chance of a collapse is below 53 % (95 % confidence)"},
      {"recovers",
       kDip,
       {kOnce, "client.web.arrivals.total_rate=140"},
       kDip,
       {},
       "after the fault ends"},
      {"recovers-late",
       kDip,
       {"client.web.retry.max_attempts=1", "client.web.arrivals.total_rate=180",
        "fault.dip.duration=1s"},
       kDip,
       {},
       "the length of the fault"},
      {"all-well", kSteady, {}, kSteady, {kHigh}, "all is well"},
      {"failing", kSteady, {kHigh}, kSteady, {}, "of the requests fail"},
      {"overload-without-retries",
       kSteady,
       {kHigh},
       kSteady,
       {},
       "need 1.2 times the capacity, which is an overload without any retry; at least"},
      {"timeout-below-service-time",
       kSteady,
       {"client.web.attempt_timeout=8ms"},
       kSteady,
       {},
       "gives up after 8 ms"},
      {"bursts",
       kSteady,
       {kOnce, "service.api.queue.capacity=10",
        "client.web.arrivals={process=\"on-off\",total_rate=120,on=\"2s\",off=\"8s\","
        "phase=\"aligned\"}"},
       kSteady,
       {kOnce, "service.api.errors.internal=0.2"},
       "first attempts alone need 2.9 times the capacity"},
      {"own-timeout",
       kSteady,
       {kOnce, "service.api.servers=20", "service.api.timeout=20ms",
        "service.api.service_time={distribution=\"exponential\",mean=\"10ms\"}"},
       kSteady,
       {kOnce, "service.api.timeout=20ms", kErrors, "service.api.servers=20"},
       "most attempts that fail take longer than 20 ms, after which the service itself gives up"},
      {"slow-or-far",
       kDip,
       {"service.api.servers=200", "fault.dip.speed=1", "fault.dip.latency=50ms"},
       kDip,
       {"service.api.servers=200", "fault.dip.speed=0.9"},
       "during the fault the service is 0.1 s farther away, there and back"},
      {"reused-tokens",
       kSteady,
       {"client.web.mutating=0.5", "client.web.token_reuse=0.1",
        "service.api.idempotency.window=1min"},
       kSteady,
       {"client.web.mutating=0.5", "service.api.idempotency.window=1min", kErrors, kOnce},
       "5 % of the requests carry the token of an earlier one, which the service refuses"},
      {"no-capacity", kDip, {kOff}, kDip, {}, "no capacity at all"},
      {"unreachable",
       kDip,
       {"fault.dip.unreachable=true"},
       kDip,
       {"fault.dip.black_hole=true"},
       "during the fault the service cannot be reached: connections are refused"},
      {"silent",
       kDip,
       {"fault.dip.black_hole=true"},
       kDip,
       {kOff},
       "during the fault the service does not answer"},
      {"answers-errors",
       kDip,
       {kOnce, "fault.dip.speed=1", "fault.dip.errors.internal=1"},
       kDip,
       {kOnce, kNoQueue, kOff},
       "during the fault the service answers 100 % of the attempts that reach it with errors"},
      {"lost-on-the-way",
       kSteady,
       {kOnce, "network.response_loss=0.2", "network.request_loss=0.1"},
       kSteady,
       {kOnce, kHigh},
       "10 % of the attempts and 20 % of the answers are lost on the way"},
      {"hedging-loads",
       kSteady,
       {"client.web.retry={mode=\"custom\",max_attempts=2,hedging={delay=\"0s\"}}",
        "service.api.servers=20"},
       kSteady,
       {kErrors},
       "hedging without a delay makes 2 attempts of each request: first attempts need 5.8 % of the "
       "capacity, "
       "with hedges 12 %"},
      {"overload-by-disturbance",
       kDip,
       {},
       kDip,
       {kWeak},
       "first attempts alone need 2 times the remaining capacity"},
      {"queue-outlasts-timeout",
       kDip,
       {},
       kDip,
       {kPatient},
       "the full queue holds 0.5 s of work; clients wait only 0.2 s: "},
      {"slow-queue-outlasts-timeout",
       kDip,
       {"service.api.queue.capacity=30", "fault.dip.duration=5s"},
       kDip,
       {kPatient},
       "at 30 % of the capacity the full queue holds 0.5 s of work"},
      {"retries-keep-it-down",
       kDip,
       {},
       kDip,
       {kOnce},
       "after the fault first attempts need 59 % of the capacity, with retries 1.8 times "},
      {"retries-above-capacity",
       kDip,
       {},
       kDip,
       {kOnce},
       "retries alone needed 1.2 times the capacity"},
      {"refusals-take-servers",
       kSteady,
       {kHigh, "service.api.reject_cost=4ms", "service.api.queue.capacity=10"},
       kSteady,
       {kHigh, "service.api.reject_cost=4ms", "service.api.queue.capacity=10",
        "service.api.overflow=drop"},
       "refusals "},
      {"herd-is-too-much",
       kHerd,
       {"client.web.attempt_timeout=200ms", "client.web.retry.max_attempts=1",
        "service.api.queue.capacity=unlimited"},
       kHerd,
       {"service.api.queue.capacity=unlimited", "service.api.errors.internal=0.3",
        "client.web.retry.max_attempts=1"},
       "200 requests come together: 1 s of work for the service"},
      {"throttle-is-bottleneck",
       kSteady,
       {"service.api.throttle={rate=20,burst=20,scope=\"key\"}",
        "client.web.keys={count=10,popularity=\"hot\",hot_share=0.5}"},
       kSteady,
       {"client.web.keys={count=10,popularity=\"hot\",hot_share=0.5}"},
       "the throttle lets 20 attempts a second of each key pass and refuses "},
      {"autoscaling-begins-small",
       kSteady,
       {"client.web.arrivals.total_rate=400", "client.web.attempt_timeout=100ms",
        "service.api.autoscaling={target=0.6,min=2,max=10,interval=\"5s\",delay=\"10s\"}"},
       kSteady,
       {"client.web.arrivals.total_rate=400", "client.web.attempt_timeout=100ms",
        "service.api.servers=6", kErrors,
        "service.api.autoscaling={target=0.6,min=2,max=10,interval=\"5s\",delay=\"10s\"}"},
       "autoscaling begins with 2 servers; first attempts alone keep "},
      {"autoscaling-is-late",
       kSteady,
       {"client.web.attempt_timeout=100ms",
        "client.web.surge={s={start=\"5s\",duration=\"5s\",factor=4}}",
        "service.api.autoscaling={target=0.6,min=2,max=10,interval=\"5s\",delay=\"10s\"}"},
       kSteady,
       {"client.web.attempt_timeout=100ms", "service.api.servers=6",
        "client.web.surge={s={start=\"5s\",duration=\"5s\",factor=4}}",
        "service.api.autoscaling={target=0.6,min=6,max=10,interval=\"5s\",delay=\"10s\"}"},
       "busy; autoscaling had 2 on average, of 10 at most"},
      {"metastable", kDip, {}, kDip, {kPatient}, "a metastable failure", true},
      {"cause-in-graph",
       kLayers,
       {"service.db.errors.unavailable=0.9"},
       kLayers,
       {},
       "db answers 90 % of its attempts with errors of its own; front only passes that on"},
      {"overload-below",
       kLayers,
       {"service.db.errors.unavailable=0", "service.db.servers=1", "service.db.service_time=30ms"},
       kLayers,
       {"service.db.errors.unavailable=0"},
       "at least"},
      {"degraded-answers",
       kLayers,
       {"service.front.calls.db.on_failure=ignore", "service.front.calls.db.retry.max_attempts=1"},
       kLayers,
       {},
       "front answers 49 % of its attempts without db, which fails"},
      {"layers-multiply",
       kLayers,
       {},
       kLayers,
       {"service.db.errors.unavailable=0"},
       "retries multiply from layer to layer"},
      {"throttle-is-bottleneck",
       kSteady,
       {"service.api.throttle.rate=80"},
       kSteady,
       {"service.api.throttle.rate=200", "service.api.throttle.burst=100"},
       "the throttle lets 80 attempts a second pass"},
      {"limit-refuses",
       kSteady,
       {"service.api.concurrency.control=vegas", "service.api.servers=1"},
       kSteady,
       {"service.api.concurrency.control=vegas", "service.api.servers=50"},
       "the limit on concurrency of api (vegas) was "},
      {"connections-are-bottleneck",
       kSteady,
       {"client.web.max_connections=1", "client.web.count=2"},
       kSteady,
       {"client.web.max_connections=50"},
       "each client has 1"},
      {"not-sent",
       kSteady,
       {"client.web.bulkhead.max_concurrent=1", "client.web.count=2"},
       kSteady,
       {"client.web.bulkhead.max_concurrent=50"},
       "failed unsent: no place in the bulkhead was free; each client has 1"},
      {"not-sent",
       kSteady,
       {"client.web.bulkhead={max_concurrent=1, longest_wait='5ms', queue=1}",
        "client.web.count=2"},
       kSteady,
       {"client.web.bulkhead.max_concurrent=50"},
       "no place in the bulkhead became free within 0.005 s, or the line was full; each client"},
      {"not-sent",
       kSteady,
       {"client.web.max_connections=1", "client.web.connection_queue=0",
        "client.web.connection_wait='10s'", "client.web.count=2"},
       kSteady,
       {"client.web.max_connections=50"},
       "failed unsent: no connection was free; each client has 1"},
      {"breaker-refused",
       kSteady,
       {"service.api.errors.unavailable=0.7", "client.web.breaker.preset=custom"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "first attempts"},
      {"breaker-never-opened",
       kSteady,
       {"service.api.errors.unavailable=0.7", "client.web.breaker.preset=custom",
        "client.web.breaker.min_calls=1000000"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "of the attempts failed: it judges by 1,000,000 calls at least, and had fewer"},
      {"breaker-never-opened",
       kSteady,
       {"service.api.errors.unavailable=0.7", "client.web.breaker.preset=custom",
        "client.web.breaker.ignored=['throttling', 'transient', 'timeout']"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "its failures are among the errors that it ignores"},
      // 503 is all that comes, and it is no failure to these breakers, each for a reason of its
      // own.
      {"breaker-never-opened",
       kSteady,
       {"service.api.errors.unavailable=0.7", "client.web.breaker.preset=custom",
        "client.web.breaker.failures=['timeout']"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "of the attempts failed: too few of them are failures by its rules"},
      {"breaker-never-opened",
       kSteady,
       {"service.api.errors.unavailable=0.7", "client.web.breaker.preset=gobreaker",
        "client.web.breaker.consecutive=1000"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "of the attempts failed: it opens after 1,000 failures in a row"},
      {"breaker-never-opened",
       kSteady,
       {"service.api.errors.unavailable=0.7",
        "client.web.breaker={failure_share='none', slow_share=0.5, slow_call='100s'}"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "of the attempts failed: only slow calls open it"},
      {"breaker-never-opened",
       kSteady,
       {"service.api.errors.unavailable=0.7", "client.web.breaker={failure_share=0.99}"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "of the attempts failed: it opens from 99 %"},
      {"breaker-never-opened",
       kSteady,
       {"service.api.errors.unavailable=0.7",
        "client.web.breaker={failure_share=1.0, opens='above'}"},
       kSteady,
       {"client.web.breaker.preset=custom"},
       "of the attempts failed: it opens above a share of 100 % only"},
      {"wasted-work",
       kSteady,
       {"client.web.attempt_timeout=8ms"},
       kSteady,
       {"client.web.attempt_timeout=8ms", "service.api.abandoned=abort"},
       "for clients that had given up"},
      {"drain-hides-overload",
       kSteady,
       {kHigh, "client.web.attempt_timeout=none", "service.api.queue.capacity=unlimited"},
       kSteady,
       {},
       "when the load stopped"},
      {"quota-ran-dry",
       kDip,
       kRecoverByQuota,
       kDip,
       {},
       "the retry quota ran out; from then on it refused 87 % of the retries"},
      {"quota-ran-dry-in-vain",
       kDip,
       {"client.web.retry.quota.capacity=10", "client.web.retry.quota.cost=5",
        "client.web.retry.quota.timeout_cost=5", "client.web.arrivals.total_rate=210"},
       kDip,
       kRecoverByQuota,
       "that was not enough"},
      {"culprit",
       kLayers,
       {"service.db.errors.unavailable=0.9"},
       kLayers,
       {},
       "db answers with errors: web loses "},
      {"limit-never-bound",
       kSteady,
       {"service.api.errors.internal=0.2", kBigQuota},
       kSteady,
       {kErrors, kQuota, "client.web.retry.quota.cost=5"},
       "the retry quota has not bound: no retry of "},
      {"quota-never-dry", kDip, {kBigQuota}, kDip, kRecoverByQuota, "refused hardly any retries"},
      {"denied-by-quota",
       kSteady,
       {kErrors, kQuota, "client.web.retry.quota.cost=5"},
       kSteady,
       {kErrors},
       "by the empty retry quota"},
      {"denied-by-client",
       kSteady,
       {kErrors, "client.web.retry.mode=adaptive", "client.web.retry.rate_limit.on_empty=fail",
        "service.api.throttle.rate=40"},
       kSteady,
       {kErrors},
       "the client's send limiter"},
      {"past-deadline",
       kSteady,
       {kHigh, "client.web.deadline=0.3s"},
       kSteady,
       {kHigh},
       "deadline of 0.3 s"},
      {"not-retryable",
       kSteady,
       {"service.api.errors.invalid=0.1"},
       kSteady,
       {kErrors},
       "do not retry"},
      {"limiter-never-woke",
       kSteady,
       {kHigh, "client.web.retry.mode=adaptive"},
       kSteady,
       {kHigh, "client.web.retry.mode=adaptive", "service.api.overflow=throttled"},
       "which it does not count as throttling"},
      {"send-rate-below-demand",
       kSteady,
       {R"(client.web.send_rate={rate=2,burst=1,on_empty="wait"})"},
       kSteady,
       {R"(client.web.send_rate={rate=4,burst=1,on_empty="wait"})"},
       "need 1.5 times the send rate of each client, 2 a second: they wait"},
      {"limiter-held-back",
       kSteady,
       {"client.web.retry.mode=adaptive", "service.api.throttle.rate=80"},
       kSteady,
       {"client.web.retry.mode=adaptive"},
       "on average for a send token"},
      {"retries-helped",
       kSteady,
       {kErrors},
       kSteady,
       {kHigh},
       "instead of the 80 % of the first attempts"},
      {"herd-served-by-retries",
       kHerd,
       {},
       kHerd,
       {"service.api.queue.capacity=1000"},
       "retries spread the herd"},
      {"retries-idle", kSteady, {}, kSteady, {kErrors}, "retries cost"},
      {"duplicates",
       kSteady,
       {"client.web.mutating=1", "network.response_loss=0.2"},
       kSteady,
       {"client.web.mutating=1", "network.response_loss=0.2",
        "service.api.idempotency.window=1min"},
       "took effect more than once: the service knows no tokens"},
      {"duplicates",
       kSteady,
       {"client.web.mutating=1", "network.response_loss=0.2", "client.web.attempt_timeout=100ms",
        "service.api.idempotency.window=1min", "service.api.idempotency.write_delay=1h"},
       kSteady,
       {"client.web.mutating=1", "network.response_loss=0.2", "client.web.attempt_timeout=100ms",
        "service.api.idempotency.window=1min"},
       "retries came before the token of the attempt before them had been stored"},
  };
  return cases;
}

}  // namespace

TEST_CASE("each rule applies where it should, and only there") {
  for (const RuleCase& c : rule_cases()) {
    DYNAMIC_SECTION(c.rule) {
      const std::vector<Verdict> with = verdicts_on(c.scenario, c.applies, c.with_twins);
      INFO("where it applies:" << listed(with));
      const Verdict* verdict = find(with, c.rule);
      REQUIRE(verdict != nullptr);
      CHECK_THAT(verdict->sentence, Catch::Contains(c.sentence));
      CHECK(!verdict->evidence.empty());
      for (const EvidenceFigure& f : verdict->evidence) CHECK(f.value >= 0);
      CHECK(figures_in_place(*verdict));
      const std::vector<Verdict> without = verdicts_on(c.other_scenario, c.does_not, c.with_twins);
      INFO("where it does not:" << listed(without));
      CHECK(find(without, c.rule) == nullptr);
    }
  }
}

/// The quota's buckets are dry before the fault: load 1.5 all the time.
TEST_CASE("A quota that is dry before the fault is not said to run dry in it") {
  const std::vector<Verdict> all =
      verdicts_on(kDip, {"client.web.retry.mode=standard", "client.web.count=4", "duration=60s",
                         "fault.dip.start=40s", "client.web.arrivals.total_rate=300",
                         "service.api.queue.capacity=20"});
  INFO(listed(all));
  CHECK(all[0].rule == "failing-before");
  CHECK(all[0].severity == Severity::kBad);
  const Verdict* quota = find(all, "quota-ran-dry");
  REQUIRE(quota != nullptr);
  CHECK_THAT(quota->sentence, Catch::Contains(" into the run, ") &&
                                  Catch::Contains(" before the fault, the retry quota ran out"));
}

TEST_CASE("Of several faults a cause names the one it is about") {
  // In the first the quota runs dry; the second one hardly matters.
  const Edits first = {"fault.first={start=\"8s\",duration=\"6s\",unreachable=true}",
                       "fault.dip.start=30s", "fault.dip.speed=0.95", "client.web.count=1",
                       "client.web.retry={mode=\"standard\",backoff={base=\"10ms\",cap=\"20ms\"}}"};
  const std::vector<Verdict> all = verdicts_on(kDip, first);
  INFO(listed(all));
  const Verdict* quota = find(all, "quota-ran-dry");
  REQUIRE(quota != nullptr);
  CHECK_THAT(quota->sentence,
             Catch::Contains(" into first the retry quota ran out; from then on it refused"));
  const Verdict* none = find(all, "unreachable");
  REQUIRE(none != nullptr);
  CHECK_THAT(none->sentence, Catch::Contains("during first the service cannot be reached"));
  CHECK(find(all, "no-capacity") == nullptr);
  // The load is above the capacity in the stretch in which both are on, and only there.
  const std::vector<Verdict> both = verdicts_on(
      kDip, {"fault.dip.speed=0.7", "fault.half={start=\"11s\",duration=\"3s\",speed=0.7}",
             "client.web.arrivals.total_rate=130"});
  INFO(listed(both));
  const Verdict* overload = find(both, "overload-by-disturbance");
  REQUIRE(overload != nullptr);
  CHECK_THAT(overload->sentence,
             Catch::Contains("during dip+half first attempts alone need 1.3 times the remaining"));
}

TEST_CASE("Of several faults the answer counts the requests made in all of them") {
  const std::vector<Verdict> both =
      verdicts_on(kDip, {"fault.dip={start=\"10s\",duration=\"2s\",unreachable=true}",
                         "fault.gone={start=\"20s\",duration=\"2s\",unreachable=true}",
                         "client.web.retry={mode=\"none\"}"});
  INFO(listed(both));
  CHECK(both[0].sentence ==
        "all requests made during the faults fail; it recovers at once when the last fault ends");
}

TEST_CASE("A recovery that few requests come to see is one that was not watched for long") {
  const std::vector<Verdict> all =
      verdicts_on(kDip, {"fault.dip={start=\"10s\",duration=\"29900ms\",unreachable=true}",
                         "client.web.retry={mode=\"none\"}"});
  INFO(listed(all));
  CHECK(all[0].rule == "back-at-once");
  CHECK_THAT(all[0].sentence, Catch::EndsWith("; watched for only 0.1 s"));
}

TEST_CASE("First attempts that just fill the capacity are no overload") {
  const Edits even = {"client.web.arrivals={process=\"constant\",total_rate=200}",
                      "client.web.count=1", "client.web.retry={mode=\"none\"}"};
  INFO(listed(verdicts_on(kSteady, even)));
  CHECK(verdicts_on(kSteady, even)[0].rule == "all-well");
  CHECK(find(verdicts_on(kSteady, even), "overload-without-retries") == nullptr);
  Edits more = even;
  more[0] = "client.web.arrivals={process=\"constant\",total_rate=210}";
  const std::vector<Verdict> all = verdicts_on(kSteady, more);
  const Verdict* overload = find(all, "overload-without-retries");
  REQUIRE(overload != nullptr);
  CHECK_THAT(overload->sentence, Catch::Contains("alone need 1.05 times the capacity") ||
                                     Catch::Contains("alone need 1.1 times the capacity"));
}

TEST_CASE("an answer has few words for pictures", "[explain][verdict]") {
  const auto fate = [](const char* scenario, const Edits& edits) {
    const std::vector<Verdict> all = verdicts_on(scenario, edits);
    for (const Verdict& v : all) CHECK(v.fate.empty() == (&v != all.data()));
    return all.front().fate;
  };
  CHECK(fate(kSteady, {}) == "all is well");
  CHECK(fate(kDip, {"fault.dip.speed=0.99"}) == "unaffected");
  CHECK(fate(kDip, {"fault.dip.black_hole=true", "client.web.retry.max_attempts=1"}) ==
        "0 % succeed during the fault, back at once after it");
  // All that the fault has stopped is lost, and it is there to the end.
  CHECK(fate(kDip, {"fault.dip.black_hole=true", "fault.dip.duration=40s",
                    "client.web.retry.max_attempts=1"})
            .ends_with("succeed during the fault, which lasts to the end"));
}

TEST_CASE("A herd asks for more than the capacity at once, which is no load that lasts") {
  // Ten seconds of work for two servers, within three seconds.
  const std::vector<Verdict> herd =
      verdicts_on(kHerd, {"client.web.count=2000", "duration=3s", "service.api.queue.capacity=9"});
  INFO(listed(herd));
  REQUIRE_FALSE(herd.empty());
  CHECK(find(herd, "overload-without-retries") == nullptr);
}

TEST_CASE("A failure is metastable only where a twin without retries was simulated and recovers") {
  CHECK(find(verdicts_on(kDip, {}), "never-recovers") != nullptr);
  CHECK(find(verdicts_on(kDip, {}), "metastable") == nullptr);
  const std::vector<Verdict> with = verdicts_on(kDip, {}, true);
  const Verdict* metastable = find(with, "metastable");
  REQUIRE(metastable != nullptr);
  CHECK_THAT(metastable->sentence, Catch::Contains("each of these 2 runs"));
}

TEST_CASE("clients of a closed loop that are stuck are no recovery") {
  const std::vector<Verdict> all = verdicts_on(kLoop, {});
  INFO(listed(all));
  CHECK(all[0].rule == "never-recovers");
  CHECK(all[0].severity == Severity::kBad);
  CHECK_THAT(all[0].sentence, Catch::Contains("a second succeed in the 95 s after the fault, ") ||
                                  Catch::Contains("no request succeeds in the 95 s after"));
  CHECK_THAT(all[0].sentence, Catch::Contains(" a second before it"));
  CHECK(find(all, "could-have-been-missed") == nullptr);
  // Half as many wait for no more than the queue holds.
  CHECK(verdicts_on(kLoop, {"client.web.count=100"})[0].severity != Severity::kBad);
}

TEST_CASE("a loop that stalls is not well, with a fault or without one") {
  // What others ask for once, at 40 s, is five seconds of work.
  const Edits stall = {"fault.gone.capacity=0.9", "fault.gone.black_hole=false",
                       "fault.gone.start=100s",
                       "client.herd={count=1000,arrivals={process=\"once\",start=\"40s\"},"
                       "retry={mode=\"none\"}}"};
  const std::vector<Verdict> before = on_each_group(verdicts_on(kLoop, stall));
  INFO(listed(before));
  CHECK(before[0].rule == "overloaded-before");
  CHECK_THAT(before[0].sentence, Catch::StartsWith("stalls before the fault begins: "));
  Edits late = stall;
  late.push_back("fault.gone.start=200s");  // after the run
  const std::vector<Verdict> without = verdicts_on(kLoop, late);
  INFO(listed(without));
  const Verdict* stalls = find(without, "falls-behind");
  REQUIRE(stalls != nullptr);
  CHECK(stalls->severity == Severity::kBad);
  CHECK_THAT(stalls->sentence, Catch::StartsWith("stalls: "));
}

TEST_CASE("thousands of requests are not too few, whatever their share") {
  const std::vector<Verdict> all =
      verdicts_on(kDip, {kErrors, kOnce, "fault.dip.speed=1", "fault.dip.errors.internal=0.02"});
  INFO(listed(all));
  CHECK(all[0].rule == "failing-before");
}

TEST_CASE("requests under way when a fault begins are not those of a bad time before it") {
  // A tenth of the requests before the fault are under way when it begins, and are never answered.
  const std::vector<Verdict> all =
      verdicts_on(kDip, {"fault.dip={start=\"10s\",duration=\"5s\",speed=0}",
                         "service.api.servers=unlimited", "service.api.service_time=1s",
                         "client.web.attempt_timeout=2s", "client.web.retry={mode=\"none\"}"});
  INFO(listed(all));
  CHECK(all[0].rule == "back-at-once");
  CHECK_THAT(all[0].sentence,
             Catch::Contains("requests under way when the fault begins do not succeed"));
  // As good as before, but for these.
  const std::vector<Verdict> brief = verdicts_on(
      kDip, {"fault.dip={start=\"10s\",duration=\"100ms\",cold_restart=true,unreachable=true}",
             "service.api.servers=unlimited", "service.api.service_time=1s",
             "client.web.attempt_timeout=2s", "client.web.retry={mode=\"none\"}"});
  INFO(listed(brief));
  CHECK(brief[0].rule != "failing-before");
  CHECK(brief[0].severity != Severity::kGood);
}

TEST_CASE("a throttle that lets 99 of 100 pass makes those fall behind that never give up") {
  const std::vector<Verdict> all = verdicts_on(
      kSteady, {"service.api={servers=\"unlimited\",service_time=\"1ms\",throttle={rate=1000,"
                "window=\"1s\"}}",
                "client.web={arrivals={process=\"constant\",total_rate=1010},"
                "retry={mode=\"custom\",max_attempts=\"unlimited\",delays=[\"1s\"]}}"});
  INFO(listed(all));
  CHECK(all[0].rule == "falls-behind");
}

TEST_CASE("nothing is good that takes effect twice, is degraded, or waits for a connection") {
  struct Flawed {
    Edits edits;
    Severity severity;
    const char* sentence;
  };
  const Flawed cases[] = {
      {{"network.response_loss=0.1", "client.web.mutating=1.0"},
       Severity::kBad,
       "of those with side effects take effect more than once"},
      {{"service.api.servers=50",
        "service.api.calls.b={on_failure=\"ignore\","
        "retry={mode=\"none\"}}",
        "service.b={servers=10,service_time=\"5ms\","
        "errors={internal=0.1}}",
        "client.web.calls=api"},
       Severity::kInfo,
       "of the answers are degraded"},
      {{"client.web.count=1", "client.web.max_connections=2", "service.api.servers=50",
        "service.api.service_time=300ms", "client.web.attempt_timeout=none",
        "client.web.arrivals={process=\"closed\",concurrency=20,think_time=\"0s\"}"},
       Severity::kBad,
       "for a connection, of "},
      {{"service.api.errors.internal=0.5", "client.web.retry.max_attempts=9"},
       Severity::kInfo,
       "they take "},
  };
  for (const Flawed& c : cases) {
    const std::vector<Verdict> all = on_each_group(verdicts_on(kSteady, c.edits));
    INFO(listed(all));
    CHECK(all[0].rule == "not-all-well");
    CHECK(all[0].severity == c.severity);
    CHECK_THAT(all[0].sentence,
               Catch::StartsWith("not all is well: ") && Catch::Contains(c.sentence));
  }
  // A fault that fallbacks answer is not without an effect.
  const std::vector<Verdict> fallback = on_each_group(
      verdicts_on(kDip, {"fault.dip={service=\"b\",start=\"10s\",duration=\"2s\",unreachable=true}",
                         "service.api.servers=50",
                         "service.api.calls.b={on_failure=\"ignore\","
                         "retry={mode=\"none\"}}",
                         "service.b={servers=10,service_time=\"5ms\"}", "client.web.calls=api"}));
  INFO(listed(fallback));
  CHECK(fallback[0].rule == "unaffected");
  CHECK(fallback[0].severity == Severity::kInfo);
  CHECK_THAT(fallback[0].sentence, Catch::Contains("of the answers of the run are degraded"));
}

TEST_CASE("a storm is no good news, however many succeed") {
  // Requests that are asked again until they succeed: a throttle of 80/s for 120/s.
  const std::vector<Verdict> storm = verdicts_on(
      kSteady,
      {"duration=120s", "service.api.servers=20", "service.api.throttle.rate=80",
       "client.web.attempt_timeout=none",
       "client.web.retry={mode=\"custom\",max_attempts=\"unlimited\",delays=[\"100ms\"]}"});
  INFO(listed(storm));
  CHECK(storm[0].severity == Severity::kBad);
  CHECK_THAT(storm[0].sentence, !Catch::StartsWith("all is well"));
}

TEST_CASE("What grows while a disturbance is on is told by its end, not by its mean") {
  // Load 0.6 at half the speed: 20 requests a second more than are served wait for each other.
  const std::vector<Verdict> all = verdicts_on(
      kSteady, {"client.web.attempt_timeout=none", "client.web.retry={mode=\"none\"}",
                "service.api.queue.capacity=1000",
                "fault.slow={service=\"api\",start=\"10s\",duration=\"5s\",speed=0.5}"});
  INFO(listed(all));
  CHECK_THAT(all[0].sentence, Catch::Contains("take longer and longer: ") &&
                                  Catch::Contains(" by the end instead of "));
}

TEST_CASE("Failures that cluster in time are told with when that is") {
  // What others ask for once, at 10 s, is 5 s of work, and 80 a second drain it.
  const std::vector<Verdict> all =
      verdicts_on(kSteady, {"duration=60s", "service.api.queue.capacity=2000",
                            "client.herd={count=1000,arrivals={process=\"once\",start=\"10s\"},"
                            "attempt_timeout=\"60s\",retry={mode=\"none\"}}",
                            "client.web.retry={mode=\"none\"}"});
  INFO(listed(all));
  const Verdict* failing = find(all, "failing");
  REQUIRE(failing != nullptr);
  CHECK(failing->client == "web");
  CHECK_THAT(failing->sentence,
             Catch::Contains("; most of them between 11 s and 20 s after the start"));
}

TEST_CASE("A collapse that no disturbance causes is told with when it begins") {
  // 300 clients that come at 10 s, and ask again as soon as they have waited for 0.2 s.
  const Edits herd = {"duration=40s", "client.web.attempt_timeout=200ms",
                      R"(client.herd={calls="api",count=300,attempt_timeout="200ms",)"
                      R"(arrivals={process="once",start="10s",spread="1s"},)"
                      R"(retry={mode="custom",max_attempts=5,delays=[0]}})"};
  const auto web = [](const std::vector<Verdict>& all) {
    const auto found = std::ranges::find(all, "web", &Verdict::client);
    INFO(listed(all));
    REQUIRE(found != all.end());
    return *found;
  };
  const std::vector<Verdict> collapsed = verdicts_on(kSteady, herd);
  CHECK(web(collapsed).rule == "failing");
  CHECK_THAT(web(collapsed).sentence,
             Catch::Contains("; from 1") && Catch::Contains(" s after the start on, hardly any "));
  REQUIRE(find(collapsed, "culprit"));
  CHECK_THAT(find(collapsed, "culprit")->sentence, Catch::Contains("web fails from 1"));
  Edits with_fault = herd;
  with_fault.emplace_back(R"(fault.late={service="api",start="30s",duration="2s",speed=0.5})");
  CHECK(web(verdicts_on(kSteady, with_fault)).rule == "down-before");
  CHECK_THAT(web(verdicts_on(kSteady, with_fault)).sentence,
             Catch::Contains(" s after the start on, hardly any "));
  Edits always = herd;
  always.back() = "client.web.arrivals.total_rate=400";  // all the time
  CHECK_THAT(web(verdicts_on(kSteady, always)).sentence, !Catch::Contains("after the start on"));
}

TEST_CASE("A collapse begins when it does, however long it lasts") {
  // The successes of the first 10 s are less than one in a hundred of all requests.
  Scenario scenario =
      test::scenario_of(kSteady, {"duration=1200s", "client.web.arrivals.total_rate=5",
                                  "replications=1", "client.web.retry.max_attempts=1"});
  const auto at = [](std::int64_t s) { return Time::zero() + Duration::seconds(s); };
  scenario.services[0].profile = {{at(0), at(10)}, {1, 0}};
  const std::vector<Verdict> all = verdicts(scenario, run_replications(scenario));
  INFO(listed(all));
  CHECK_THAT(all[0].sentence, Catch::Contains("; from 10 s after the start on, hardly any "));
}

TEST_CASE("Few requests that come together and all succeed are not down") {
  // The cache is filled once a minute, by the requests that come meanwhile.
  const std::vector<Verdict> all = verdicts_on(R"(
name = "cache"
duration = "120s"
replications = 4
[service.api]
servers = 60
service_time = "2ms"
[service.db]
servers = 5
service_time = { distribution = "exponential", mean = "20ms" }
[service.api.calls.db]
attempt_timeout = "500ms"
retry = { mode = "none" }
cache = { capacity = 1000, ttl = "60s" }
[client.web]
calls = "api"
arrivals = { process = "poisson", total_rate = 500 }
attempt_timeout = "1s"
retry = { mode = "none" }
[fault.restart]
service = "api"
start = "50s"
duration = "1s"
capacity = 0
cold_restart = true
)",
                                               {});
  INFO(listed(all));
  for (const Verdict& v : all) {
    if (v.client != "api.db") continue;
    CHECK(v.rule != "sometimes-recovers");
    CHECK(v.rule != "too-short-to-tell");
    CHECK(v.rule != "never-recovers");
  }
}

TEST_CASE("Attempts that circuit breakers refuse are counted by run") {
  const std::vector<Verdict> all = verdicts_on(
      kSteady,
      {"service.api.errors.unavailable=0.7", "client.web.breaker.preset=custom", "replications=4"});
  INFO(listed(all));
  const Verdict* refused = find(all, "breaker-refused");
  REQUIRE(refused);
  const auto figure =
      std::ranges::find(refused->evidence, "refused_first_attempts", &EvidenceFigure::name);
  REQUIRE(figure != refused->evidence.end());
  CHECK(figure->value > 0);
  CHECK(figure->value <= 3000);  // a run has 2,400 requests
}

// The breaker of one group refuses many of its requests, which would be sent if there were servers
// for them; so what comes now does not say how many are needed.
TEST_CASE("First attempts that a breaker refuses need capacity, too") {
  constexpr const char* kOverloaded = R"(
name = "s"
duration = "60s"
replications = 4
[service.api]
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", total_rate = 100 }
attempt_timeout = "200ms"
retry = { mode = "none" }
[client.others]
arrivals = { process = "poisson", total_rate = 150 }
attempt_timeout = "200ms"
retry = { mode = "none" }
)";
  const auto needed = [&](const Edits& edits) {
    const std::vector<Verdict> all = verdicts_on(kOverloaded, edits);
    INFO(listed(all));
    const Verdict* v = find(all, "overload-without-retries");
    REQUIRE(v);
    return v->sentence;
  };
  CHECK_THAT(needed({}), Catch::Contains("need 2.5 times the capacity"));
  CHECK(needed({"client.web.breaker={preset='custom', open='200ms'}"}) == needed({}));
}

TEST_CASE("What was finished for other groups was not for clients of this one") {
  const Edits free = {R"(client.free={calls="api",attempt_timeout="300ms",count=40,)"
                      R"(arrivals={process="poisson",total_rate=150},)"
                      R"(retry={mode="custom",max_attempts=3}})",
                      "service.api.queue.discipline=priority", "client.web.priority=2",
                      "client.web.arrivals.total_rate=80", "client.web.attempt_timeout=300ms"};
  const std::vector<Verdict> all = verdicts_on(kSteady, free);
  INFO(listed(all));
  const auto of_web = std::ranges::find_if(
      all, [](const Verdict& v) { return v.client == "web" && v.rule == "wasted-work"; });
  REQUIRE(of_web != all.end());
  CHECK_THAT(of_web->sentence, Catch::Contains("for clients of other groups"));
}

TEST_CASE("Requests that the end of the run cuts off have not failed") {
  // Two seconds of work for each, and a run of 40 s: one request in twenty is under way at its end.
  const std::vector<Verdict> all = verdicts_on(
      kSteady, {"drain=false", "service.api.service_time=2s", "service.api.servers=\"unlimited\"",
                "client.web.attempt_timeout=none"});
  INFO(listed(all));
  CHECK(all[0].rule == "all-well");
  CHECK(figures_in_place(all[0]));
}

TEST_CASE("A recovery is shown with how many replications were watched, and how many are back") {
  const std::vector<Verdict> all = verdicts_on(kDip, kRecoverByQuota);
  INFO(listed(all));
  const auto figure = [&](std::string_view name) {
    for (const EvidenceFigure& f : all[0].evidence) {
      if (f.name == name) return f.value;
    }
    return -1.0;
  };
  CHECK(figure("replications") == 2);
  CHECK(figure("recovered") == 2);
  CHECK(figure("recovery_least_s") <= figure("recovery_mean_s"));
  CHECK(figure("recovery_mean_s") <= figure("recovery_most_s"));
}

TEST_CASE("Requests are slow where they wait longest") {
  // Of three requests that each of 400 clients has, so many wait in the queue as may be sent.
  const auto slow = [](const std::string& connections) -> std::string {
    const std::vector<Verdict> all = verdicts_on(
        kSteady,
        {"client.web.arrivals={process=\"closed\",think_time=\"0s\",concurrency=3}",
         "client.web.count=400", "client.web.attempt_timeout=none", "warmup=6s",
         "service.api.queue.capacity=unlimited", "client.web.max_connections=" + connections});
    const Verdict* verdict = find(all, "slow");
    return verdict == nullptr ? listed(all) : verdict->sentence;
  };
  CHECK_THAT(slow("3"), Catch::Contains("in the queue"));
  CHECK_THAT(slow("2"), Catch::Contains("in the queue"));  // one of three waits for a connection
  CHECK_THAT(slow("1"), Catch::Contains("for a connection"));
}

TEST_CASE("A throttle in front of servers that are all busy is not said to leave them idle") {
  const auto said = [](const Edits& edits) -> std::string {
    const std::vector<Verdict> all = verdicts_on(kSteady, edits);
    const Verdict* verdict = find(all, "throttle-is-bottleneck");
    return verdict == nullptr ? listed(all) : verdict->sentence;
  };
  Edits edits = {"service.api.throttle.rate=300", "warmup=5s", "client.web.retry={mode=\"none\"}",
                 "client.web.arrivals={process=\"constant\",total_rate=600}"};
  CHECK_THAT(said(edits), Catch::Contains("300 attempts a second pass") &&
                              !Catch::Contains("of the servers' time"));
  edits[0] = "service.api.throttle.rate=100";
  CHECK_THAT(said(edits), Catch::Contains(" % of the servers' time is busy"));
}

TEST_CASE("What holds all along comes before what the disturbance adds to it") {
  constexpr const char* kSale = R"(
name = "sale"
duration = "60s"
replications = 2
[service.api]
servers = 20
service_time = { distribution = "exponential", mean = "20ms" }
concurrency = { control = "vegas" }
[client.web]
count = 100
arrivals = { process = "poisson", total_rate = 700 }
attempt_timeout = "500ms"
surge = { sale = { start = "20s", duration = "20s", factor = 2 } }
retry = { mode = "standard" }
)";
  const auto order = [](const std::vector<Verdict>& all) {
    const Verdict* surge = find(all, "overload-by-disturbance");
    const Verdict* limit = find(all, "limit-refuses");
    INFO(listed(all));
    REQUIRE((surge != nullptr && limit != nullptr));
    return surge < limit ? "surge, limit" : "limit, surge";
  };
  // A limit of 6 or so lets 300/s pass: too few before the surge already.
  const std::vector<Verdict> sick = verdicts_on(kSale, {});
  CHECK(sick.front().rule == "down-before");
  CHECK(order(sick) == std::string("limit, surge"));
  const std::vector<Verdict> well =
      verdicts_on(kSale, {"client.web.arrivals.total_rate=250", "client.web.surge.sale.factor=5"});
  CHECK(well.front().rule != "down-before");
  CHECK(order(well) == std::string("surge, limit"));
}

TEST_CASE("Instances without a fault keep their capacity") {
  // A fifth of 200/s is 20 times slower: 162/s is left.
  const Edits one = {"service.api.servers=1",         "service.api.instances=5",
                     "service.api.service_time=25ms", "fault.dip.instance=2",
                     "fault.dip.speed=0.05",          "client.web.arrivals.total_rate=150"};
  INFO(listed(verdicts_on(kDip, one)));
  CHECK(find(verdicts_on(kDip, one), "overload-by-disturbance") == nullptr);
  Edits gone = one;
  gone.push_back("fault.dip.capacity=0");
  CHECK(find(verdicts_on(kDip, gone), "no-capacity") == nullptr);
  Edits more = one;
  more.push_back("client.web.arrivals.total_rate=200");
  const std::vector<Verdict> all = verdicts_on(kDip, more);
  INFO(listed(all));
  const Verdict* overload = find(all, "overload-by-disturbance");
  REQUIRE(overload != nullptr);
  CHECK_THAT(overload->sentence, Catch::Contains("1.2 times the remaining capacity"));
}

TEST_CASE("All limits that may have refused retries are named") {
  const std::vector<Verdict> all = verdicts_on(
      kSteady,
      {kErrors, kQuota, "client.web.retry.quota.cost=5", "client.web.retry.budget.kind=window",
       "client.web.retry.budget.share=0.01", "client.web.retry.guard.failure_share=0.2"});
  const Verdict* denied = find(all, "denied-by-quota");
  REQUIRE(denied != nullptr);
  CHECK_THAT(denied->sentence, Catch::Contains("by the retry budget, the retry guard or the empty "
                                               "retry quota"));
}

TEST_CASE("A twin without a part tells what is different") {
  const Scenario scenario = test::scenario_of(kDip, kRecoverByQuota);
  const std::vector<RunResult> runs = run_replications(scenario);
  const auto parts = experiment::twin_parts();
  const auto twin_of = [&](std::string_view word) {
    Scenario twin = scenario;
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.word == word; });
    REQUIRE(part != parts.end());
    if (!part->remove(twin)) return std::vector<Verdict>();
    return twin_verdicts(scenario, runs, twin, experiment::simulate_twin(twin, runs, {}),
                         part->words);
  };
  const std::vector<Verdict> quota = twin_of("quota");
  REQUIRE(quota.size() == 1);
  CHECK_THAT(quota[0].sentence,
             Catch::StartsWith("without the retry quota 0 of 2 runs recover (with it 2)"));
  CHECK(twin_of("limiter").empty());  // there is none
  CHECK(twin_of("queue-bound").size() == 1);
}

TEST_CASE("every rule has its scenarios, and an id of its own") {
  std::set<std::string_view> rules, tested;
  for (const VerdictRule& rule : verdict_rules()) {
    CHECK(rules.insert(rule.id).second);
    CHECK(!rule.when.empty());
  }
  for (const RuleCase& c : rule_cases()) tested.insert(c.rule);
  tested.insert("profile-takes-capacity");  // its profile is a file: causes_test.cpp
  tested.insert("shed-first");              // there, too
  CHECK(rules == tested);
}

TEST_CASE("each group has one answer, which comes first") {
  std::set<std::string_view> answers;
  for (const VerdictRule& rule : verdict_rules()) {
    if (rule.is_answer) answers.insert(rule.id);
  }
  const std::vector<Verdict> all = verdicts_on(kLayers, {});
  std::string client;
  for (const Verdict& v : all) {
    CHECK(answers.count(v.rule) == (v.client == client ? 0U : 1U));
    client = v.client;
  }
  CHECK(client != "");
  const std::vector<Verdict> none =
      verdicts_on(kHerd, {"client.web.arrivals.start=19s", "warmup=19500ms"});
  CHECK(none.size() == 1);
}

/// At 0.001/s the chance of a request in a second is below one in a thousand.
TEST_CASE("a group that sends nothing is told why, as far as that is known") {
  const auto said = [](const char* scenario, const Edits& edits, std::string_view client = "web") {
    for (const Verdict& v : verdicts_on(scenario, edits)) {
      CHECK(figures_in_place(v));
      if (v.client != client) continue;
      CHECK(v.rule == "sent-nothing");
      const bool good = v.sentence.find("only when") != v.sentence.npos;
      CHECK(v.severity == (good ? Severity::kGood : Severity::kInfo));
      return v.sentence;
    }
    return std::string("no verdict");
  };
  CHECK(said(kHerd, {"client.web.arrivals.start=1s", "warmup=2s"}) ==
        "sent nothing, because its requests come before the warm-up ends at 2 s");
  const std::string rate = "client.web.arrivals.total_rate=0.001";
  CHECK(said(kSteady, {rate, "duration=1s"}) ==
        "sent nothing, because at its rate, 0.001 requests are due on average between 0 s and 1 s");
  const std::string off = R"(client.web.surge.off={start="0s",duration="20s",factor=0})";
  CHECK(said(kSteady, {off}) == "sent nothing, because its rate is zero between 0 s and 20 s");
  const std::string from_5 = R"(client.web.surge.off={start="5s",duration="20s",factor=0})";
  CHECK(said(kSteady, {from_5, "warmup=6s"}) ==
        "sent nothing, because its rate is zero between 6 s and 20 s");
  CHECK(said(kLoop, {"client.web.arrivals.think_time=1h"}) ==
        "sent nothing, because none of its clients began a request between 0 s and 2 minutes");
  const Edits silent = {"fault.gone.start=0s", "fault.gone.duration=120s",
                        "client.web.arrivals.think_time=0s", "warmup=1s"};
  CHECK(said(kLoop, silent) ==
        "sent nothing, because its clients were still waiting for the answers to earlier requests");
  CHECK(said(kLayers, {"service.front.calls.db.share=0"}, "front.db") ==
        "sent nothing, because its share or its count is zero");
  CHECK(said(kLayers, {rate, "duration=1s"}, "front.db") ==
        "sent nothing, because no attempt at front led to this call");
  CHECK(said(kLayers,
             {"service.db.errors.unavailable=0", "service.front.calls.db.on_failure=fallback",
              "service.front.calls.db.fallback=spare", R"(service.spare={service_time="1ms"})",
              R"(service.front.calls.spare={retry={mode="none"}})"},
             "front.spare") == "sent nothing, because it is called only when front.db fails");
}

TEST_CASE("a figure says where it is counted, and so does a claim") {
  using Kind = FigureSource::Kind;
  const std::vector<Verdict> all =
      verdicts_on(kDip, {kNoQueue, kOnce, "fault.dip.unreachable=true"});
  REQUIRE(all[0].rule == "back-at-once");
  REQUIRE(all[0].figures.size() == 2);
  const SaidFigure &none = all[0].figures[0], &back = all[0].figures[1];
  CHECK(back.text == "at once");
  CHECK(back.source.formula == "<=");  // the longest recovery
  CHECK(back.source.parts.at(0).column == "recovery_s");
  CHECK(back.source.parts.at(0).over == "max");
  CHECK(none.text == "all");
  CHECK(none.source.formula == "==");
  CHECK(none.source.parts.at(0).file == "phases.csv");
  CHECK(none.source.parts.at(0).window == "during");
  CHECK(none.source.parts.at(0).of == "web");
  // What the throttle refuses is counted at the service.
  const std::vector<Verdict> throttled = verdicts_on(kSteady, {"service.api.throttle.rate=80"});
  const Verdict* throttle = find(throttled, "throttle-is-bottleneck");
  REQUIRE(throttle != nullptr);
  REQUIRE(throttle->figures.size() == 3);
  CHECK(throttle->figures[0].source.kind == Kind::kKey);
  CHECK(throttle->figures[0].source.text == "service.api.throttle.rate");
  CHECK(throttle->figures[1].source.parts.at(0).file == "service.csv");
  CHECK(throttle->figures[1].source.parts.at(1).column == "arrivals");
}

TEST_CASE("a scripted fault with a name like that of a drawn one has keys, a drawn one has none") {
  using Kind = FigureSource::Kind;
  const auto delay_of = [](const std::string& faults) {
    const std::string scenario = R"(name = "names"
duration = "100s"
replications = 2
fault_draw = 1
[service.api]
servers = 100
service_time = "10ms"
[client.web]
count = 50
arrivals = { process = "poisson", total_rate = 50 }
attempt_timeout = "5s"
retry = { mode = "none" }
)";
    const std::vector<Verdict> all = verdicts_on((scenario + faults).c_str(), {});
    const Verdict* far = find(all, "slow-or-far");
    REQUIRE(far != nullptr);
    return far->figures.at(0);
  };
  const std::string rare = "[fault.outage]\nper_year = 0.001\nduration = \"1s\"\ncapacity = 0\n";
  const SaidFigure scripted = delay_of(
      rare + "[fault.outage-x]\nstart = \"20s\"\nduration = \"20s\"\nlatency = \"300ms\"\n");
  CHECK(scripted.text == "0.6 s");
  CHECK(scripted.source.parts.at(1).kind == Kind::kKey);
  CHECK(scripted.source.parts.at(1).text == "fault.outage-x.latency");
  const SaidFigure drawn =
      delay_of("[fault.outage]\nmtbf = \"20s\"\nduration = \"20s\"\nlatency = \"300ms\"\n");
  CHECK(drawn.text == "0.6 s");
  CHECK(drawn.source.parts.at(1).kind == Kind::kUnknown);
}

TEST_CASE("figures are spoken with the digits that they deserve") {
  using namespace explain;
  const auto said = [](const explain::Figure& figure) { return figure.said().text; };
  const FigureSource any = number(0);
  CHECK(said(explain::time(0.78, any)) == "0.78 s");
  CHECK(said(explain::time(0.0123, any)) == "12.3 ms");
  CHECK(said(explain::time(0, any)) == "0 s");
  CHECK(said(explain::time(12.34, any)) == "12.3 s");
  CHECK(said(roughly(12.34, any)) == "12 s");
  CHECK(said(explain::time(99.96, any)) == "100 s");
  CHECK(said(explain::time(510, any)) == "8.5 minutes");
  CHECK(said(explain::time(7200, any)) == "2 hours");
  CHECK(said(explain::share(0, any)) == "0 %");
  CHECK(said(explain::share(0.00001, any)) == "less than 0.01 %");
  CHECK(said(explain::share(0.0312, any)) == "3.1 %");
  CHECK(said(explain::share(0.5, any)) == "50 %");
  CHECK(said(explain::share(0.9996, any)) == "99.96 %");
  CHECK(said(explain::share(0.999999, any)) == "more than 99.99 %");
  CHECK(said(explain::share(1, any)) == "100 %");
  CHECK(said(explain::times(1.94, any)) == "1.9 times");
  CHECK(said(explain::times(12.3, any)) == "12 times");
  CHECK(attempts(1, any).text() == "1 attempt");
  CHECK(attempts(1.2345, any).text() == "1.234 attempts");
  CHECK(said(explain::count(12.34, any)) == "12.3");
  CHECK(said(explain::count(999, any)) == "999");
  CHECK(said(explain::count(1234, any)) == "1230");
  CHECK(said(explain::count(5'678'912, any)) == "5.68 million");
}

}  // namespace retrysim

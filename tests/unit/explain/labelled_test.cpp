// Verdicts against the law of the case: scenarios whose outcome follows from arithmetic, each with
// the answers that are right. The labels come from the law beside them and not from the program.
// Near misses of a rule stand next to the cases in which it applies. Seeds are fixed; cases are far
// from their thresholds, so that hardly any other seed would give another answer.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>

#include <fmt/format.h>

#include "scenario_of.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace retrysim::labelled {
namespace {

using Edits = std::vector<std::string>;

/// Two servers of 10 ms, 200/s, and 120 requests/s.
constexpr const char* kSteady = R"(
name = "steady"
duration = "40s"
replications = 2
[service.api]
servers = 2
service_time = "10ms"
[client.web]
count = 40
arrivals = { process = "poisson", total_rate = 120 }
retry = { mode = "none" }
)";

/// The same with a fault that does nothing yet from 10 s to 15 s.
constexpr const char* kFault = R"(
name = "fault"
duration = "40s"
replications = 2
recovery = { hold = "5s" }
[service.api]
servers = 2
service_time = "10ms"
[fault.f]
start = "10s"
duration = "5s"
capacity = 1
[client.web]
count = 40
arrivals = { process = "poisson", total_rate = 120 }
retry = { mode = "none" }
)";

/// A request every 50 s, and a fault of 100 s.
constexpr const char* kRare = R"(
name = "rare"
duration = "1000s"
replications = 6
[service.api]
servers = 2
service_time = "10ms"
[fault.f]
start = "400s"
duration = "100s"
unreachable = true
[client.web]
count = 4
arrivals = { process = "poisson", total_rate = 0.02 }
retry = { mode = "none" }
)";

/// A client whose requests are all handed on to a second service.
std::vector<std::string> calling(const std::string& below, Edits more = {}) {
  more.insert(more.begin(),
              {R"(client.web.calls="api")", "service.api.servers=unlimited",
               "service.b={" + below + "}", R"(service.api.calls.b={retry={mode="none"}})"});
  return more;
}

std::string surge(const std::string& factor) {
  return R"(client.web.surge={s={start="10s",duration="5s",factor=)" + factor + "}}";
}

/// In step, four seconds on and four off.
std::string bursts(const std::string& rate) {
  return R"(client.web.arrivals={process="on-off",on="4s",off="4s",phase="aligned",total_rate=)" +
         rate + "}";
}

std::string closed(const std::string& think_time) {
  return R"(client.web.arrivals={process="closed",think_time=")" + think_time + "\"}";
}

const std::string
    kRate = "client.web.arrivals.total_rate=",
    kTimeout = "client.web.attempt_timeout=", kQueue = "service.api.queue.capacity=",
    kExponential = R"(service.api.service_time={distribution="exponential",mean="10ms"})",
    kGone = "fault.f.capacity=0", kRefused = "fault.f.unreachable=true",
    kErrors = "fault.f.errors.internal=",
    kThrice = R"(client.web.retry={mode="custom",max_attempts=3,backoff={base="1ms",cap="1ms"}})",
    kStubborn = R"(client.web.retry={mode="custom",max_attempts=5,backoff={base="1ms",cap="1ms"}})",
    kPatient = R"(client.web.retry={mode="custom",max_attempts=3,delays=["10s"]})",
    kAdaptive = R"(client.web.retry={mode="adaptive"})";

struct Labelled {
  const char* law;      ///< why
  const char* answers;  ///< rules that say it, with bars between them
  const char* scenario;
  Edits edits;
};

const std::vector<Labelled>& labelled_cases() {
  static const std::vector<Labelled> cases = {
      // Nothing is wrong.
      {"load 0.6", "all-well", kSteady, {}},
      {"load 0.6, and a timeout of 100 service times", "all-well", kSteady, {kTimeout + "1s"}},
      {"M/M/2 at load 0.9: a wait of 43 ms", "all-well", kSteady, {kExponential, kRate + "180"}},
      {"M/M/2 at load 0.95, ten times as long: a wait of 93 ms",
       "all-well",
       kSteady,
       {kExponential, kRate + "190", "duration=400s"}},
      {"unlimited servers take 2 s, and no request waits",
       "all-well",
       kSteady,
       {"service.api.servers=unlimited", "service.api.service_time=2s"}},
      {"one request in 200 fails", "all-well", kSteady, {"service.api.errors.internal=0.005"}},
      {"0.2^3 of the requests fail, 0.8 %",
       "all-well",
       kSteady,
       {"service.api.errors.internal=0.2", kThrice}},
      {"two seconds of load 0.6, then two of none",
       "all-well",
       kSteady,
       {R"(client.web.arrivals={process="on-off",total_rate=60,on="2s",off="2s"})"}},
      {"the run ends with two requests under way", "all-well", kSteady, {"drain=false"}},
      {"40 clients without a pause wait 190 ms each",
       "all-well",
       kSteady,
       {R"(client.web.arrivals={process="closed",think_time="0s"})"}},
      {"200 clients at once, served in a second",
       "all-well",
       kSteady,
       {R"(client.web.arrivals={process="once",start="1s"})", "client.web.count=200"}},
      {"a throttle of twice the rate",
       "all-well",
       kSteady,
       {"service.api.throttle.rate=240", "service.api.throttle.burst=240"}},
      {"adaptive mode, and nothing fails", "all-well", kSteady, {kAdaptive}},
      // Something is.
      {"load 1.2 with a full queue: a sixth fails",
       "failing",
       kSteady,
       {kRate + "240", kQueue + "50"}},
      {"a timeout below the service time", "failing", kSteady, {kTimeout + "8ms"}},
      {"every fifth request fails", "failing", kSteady, {"service.api.errors.internal=0.2"}},
      {"2 % of the requests fail", "failing", kSteady, {"service.api.errors.internal=0.02"}},
      {"80/s without a burst: 48 of 120/s pass",
       "failing",
       kSteady,
       {"service.api.throttle.rate=80"}},
      {"an unbounded queue, waits longer than the timeout",
       "failing",
       kSteady,
       {kRate + "240", kTimeout + "100ms"}},
      {"load 1.4, no timeout, no bound", "falls-behind", kSteady, {kRate + "280"}},
      {"load 1.1", "falls-behind", kSteady, {kRate + "220"}},
      {"load 1.03", "falls-behind", kSteady, {kRate + "206", "duration=200s"}},
      {"load 1.1 in one run only", "falls-behind", kSteady, {kRate + "220", "replications=1"}},
      {"two clients with a connection each: load 1.2",
       "falls-behind",
       kSteady,
       {"client.web.count=2", "client.web.max_connections=1", kRate + "240"}},
      {"adaptive mode holds 120/s back to the 100/s that are granted; nothing fails",
       "falls-behind|slow",
       kSteady,
       {"drain_limit=20min", "service.api.throttle.rate=100", "service.api.throttle.burst=100",
        "client.web.count=1",
        R"(client.web.retry={mode="adaptive",max_attempts=20,quota={capacity=1000000}})"}},
      {"40 clients send 2.5/s each of 120/s, and the others wait",
       "falls-behind|slow",
       kSteady,
       {R"(client.web.send_rate={rate=2.5,burst=1,on_empty="wait"})"}},
      {"1000 clients without a pause: each waits 5 s, as long as the others take",
       "slow",
       kSteady,
       {R"(client.web.arrivals={process="closed",think_time="0s"})", "client.web.count=1000",
        "warmup=10s"}},
      // A fault that does no harm.
      {"half the capacity is enough at load 0.3",
       "unaffected",
       kFault,
       {"fault.f.capacity=0.5", kRate + "60"}},
      {"0.9 of the speed", "unaffected", kFault, {"fault.f.speed=0.9"}},
      {"the same, with a hold longer than the run",
       "unaffected",
       kFault,
       {"fault.f.speed=0.9", "recovery.hold=30s"}},
      {"0.3^5 of the requests fail, 0.2 %, and retries take 3 ms",
       "unaffected",
       kFault,
       {kErrors + "0.3", kStubborn}},
      {"one error in 200, as before", "unaffected", kFault, {"service.api.errors.internal=0.005"}},
      {"a surge to 0.78 of the capacity",
       "unaffected",
       kSteady,
       {R"(client.web.surge={s={start="10s",duration="5s",factor=1.3}})", "recovery.hold=5s"}},
      // Nobody fails, but all wait.
      {"all servers gone for 5 s: waits of 2.5 s and more", "only-slower", kFault, {kGone}},
      {"the same, with a hold longer than the run",
       "only-slower",
       kFault,
       {kGone, "recovery.hold=30s"}},
      {"100 ms more each way", "only-slower", kFault, {"fault.f.latency=100ms"}},
      {"0.64 of the speed is load 0.94", "only-slower|unaffected", kFault, {"fault.f.speed=0.64"}},
      {"retries wait out the fault",
       "only-slower",
       kFault,
       {kRefused, "fault.f.duration=2s", kPatient}},
      // Some fail.
      {"a third of the requests fail", "degraded", kFault, {kErrors + "0.33"}},
      {"5 % of the requests fail", "degraded", kFault, {kErrors + "0.05"}},
      {"0.5 of the capacity for load 0.6, a short queue: a sixth fails",
       "degraded",
       kFault,
       {"fault.f.speed=0.5", kQueue + "4"}},
      {"connections refused", "back-at-once", kFault, {kRefused}},
      {"connections refused, hold longer than the run",
       "back-at-once",
       kFault,
       {kRefused, "recovery.hold=24s"}},
      {"0.5 % errors all the time, and connections refused",
       "back-at-once",
       kFault,
       {kRefused, "service.api.errors.internal=0.005"}},
      {"two faults, the second of which fails all that come in its half of the time",
       "degraded|back-at-once",
       kFault,
       {"fault.f.speed=0.95", R"(fault.g={start="20s",duration="5s",unreachable=true})"}},
      {"from the start on: compared with the time after it",
       "back-at-once",
       kFault,
       {kRefused, "fault.f.start=0s"}},
      {"nine tenths of the errors go, one stays",
       "back-at-once|degraded",
       kFault,
       {kErrors + "0.9"}},
      // It takes time.
      {"what waits is 600 requests; 80/s drain them in 7.5 s, all too late",
       "recovers-late",
       kFault,
       {kGone, kTimeout + "200ms"}},
      {"a queue of 300 takes 1.5 s, all of it too late",
       "recovers",
       kFault,
       {kGone, kTimeout + "200ms", kQueue + "300"}},
      {"the same, and goodput is averaged over 5 s",
       "recovers",
       kFault,
       {kGone, kTimeout + "200ms", kQueue + "300", "recovery.window=5s"}},
      {"five attempts make load 3, and the queue 0.5 s of a timeout of 0.2 s",
       "never-recovers",
       kFault,
       {kGone, kTimeout + "200ms", kQueue + "100", kStubborn, "duration=120s"}},
      {"the same in a short run",
       "too-short-to-tell",
       kFault,
       {kGone, kTimeout + "200ms", kQueue + "100", kStubborn, "duration=25s"}},
      {"a fault that lasts to the end, and fails all",
       "still-on",
       kFault,
       {kRefused, "fault.f.duration=60s"}},
      {"a fault that lasts to the end, and does nothing",
       "unaffected",
       kFault,
       {"fault.f.speed=0.95", "fault.f.duration=60s"}},
      {"it ends before the window begins", "all-well", kFault, {kRefused, "warmup=20s"}},
      // It was not well before.
      {"load 1.5, a full queue: a third fails before, too",
       "failing-before",
       kFault,
       {kRate + "300", kQueue + "50", "fault.f.speed=0.1"}},
      {"a fifth fails all the time",
       "failing-before",
       kFault,
       {"service.api.errors.internal=0.2", kRefused}},
      {"2 % fail all the time, and the fault does nothing",
       "failing-before",
       kFault,
       {"service.api.errors.internal=0.02"}},
      {"a deadline that nothing meets", "down-before", kFault, {"client.web.deadline=1us"}},
      {"load 1.4 without a bound before the fault",
       "overloaded-before",
       kFault,
       {kRate + "280", kGone}},
      // Too few requests.
      {"eight before, two in the fault, ten after it, in each of six",
       "too-few-to-tell|back-at-once",
       kRare,
       {}},
      {"one run of it: two in the fault", "too-few-to-tell", kRare, {"replications=1"}},
      {"ten times as many, and the fault fails all", "back-at-once", kRare, {kRate + "0.5"}},
      {"three requests", "too-few-to-tell", kSteady, {kRate + "0.05", "replications=1"}},
      {"no request before", "too-few-to-tell", kRare, {kRate + "0.001", "replications=1"}},
      // Near the capacity.
      {"M/D/2 at load 0.97", "all-well", kSteady, {kRate + "194", "duration=100s"}},
      {"D/D/2 at load 1: each finds a server",
       "all-well",
       kSteady,
       {R"(client.web.arrivals={process="constant",total_rate=200})", "client.web.count=1"}},
      {"load 1.02: 1600 requests in 400 s",
       "falls-behind",
       kSteady,
       {kRate + "204", "duration=400s"}},
      {"bursts of load 1.8 and pauses in which they are served; the run ends with a burst",
       "all-well|slow",
       kSteady,
       {bursts("180"), "duration=36s"}},
      {"bursts of load 2.2, of which the pauses leave 160 each; the run ends with a pause",
       "falls-behind",
       kSteady,
       {bursts("220"), "duration=80s"}},
      // Near the end of the run.
      {"the last second fails",
       "still-on",
       kFault,
       {kRefused, "fault.f.start=39s", "fault.f.duration=1s"}},
      {"12 requests come after the fault",
       "back-at-once|too-few-to-tell",
       kFault,
       {kRefused, "fault.f.duration=29900ms"}},
      // What changes is for the better.
      {"load 1.5 with a full queue, and a surge to 0.45",
       "failing-before",
       kSteady,
       {kRate + "300", kQueue + "50", surge("0.3"), "recovery.hold=5s"}},
      {"1.5 % fail all the time, and all in the fault",
       "failing-before",
       kFault,
       {"service.api.errors.internal=0.015", kRefused}},
      // At low load.
      {"half the capacity at load 0.1",
       "unaffected",
       kFault,
       {"fault.f.capacity=0.5", kRate + "20"}},
      {"a fifth of the speed at load 0.1: 50 ms for 10",
       "only-slower",
       kFault,
       {"fault.f.speed=0.2", kRate + "20"}},
      // Latency against the timeout.
      {"200 ms more, and a timeout of 300",
       "only-slower",
       kFault,
       {"fault.f.latency=100ms", kTimeout + "300ms"}},
      {"400 ms more, and a timeout of 300",
       "back-at-once",
       kFault,
       {"fault.f.latency=200ms", kTimeout + "300ms"}},
      {"the same with three attempts: load 1.8, which the late answers sustain",
       "never-recovers|too-short-to-tell",
       kFault,
       {"fault.f.latency=200ms", kTimeout + "300ms", kThrice}},
      {"the same at a load of 0.75 with all retries",
       "back-at-once",
       kFault,
       {"fault.f.latency=200ms", kTimeout + "300ms", kThrice, kRate + "50"}},
      // Surges.
      {"a surge to 0.96 of the capacity",
       "unaffected|only-slower",
       kSteady,
       {surge("1.6"), "recovery.hold=5s"}},
      {"a surge to 1.5, and no client gives up",
       "only-slower",
       kSteady,
       {surge("2.5"), "recovery.hold=5s"}},
      {"a surge to 1.5 leaves 500 requests, which 80/s drain",
       "recovers|recovers-late",
       kSteady,
       {surge("2.5"), "recovery.hold=5s", kTimeout + "200ms"}},
      {"a surge to 1.5, a short queue: a third fails",
       "degraded",
       kSteady,
       {surge("2.5"), "recovery.hold=5s", kQueue + "10"}},
      // Closed loops.
      {"40 clients with a pause of 0.2 s ask for at most 190/s",
       "all-well",
       kSteady,
       {closed("200ms")}},
      {"600 clients with a pause of 1 s wait 2 s",
       "slow",
       kSteady,
       {closed("1s"), "client.web.count=600", "warmup=10s"}},
      {"a closed loop waits for the servers", "only-slower", kFault, {closed("200ms"), kGone}},
      {"a closed loop that is refused", "back-at-once", kFault, {closed("200ms"), kRefused}},
      {"a closed loop, a third fails", "degraded", kFault, {closed("200ms"), kErrors + "0.33"}},
      // Retries against the capacity.
      {"three attempts make load 0.9: the backlog of 5 s drains",
       "recovers-late",
       kFault,
       {kGone, kTimeout + "200ms", kThrice, kRate + "60", "duration=120s"}},
      {"three attempts make load 1.08, for ever",
       "never-recovers|too-short-to-tell",
       kFault,
       {kGone, kTimeout + "200ms", kThrice, kRate + "72", "duration=120s"}},
      {"an outage shorter than the timeout",
       "only-slower",
       kFault,
       {kGone, "fault.f.duration=800ms", kTimeout + "900ms", kThrice, "duration=60s"}},
      {"the first fault is harmless, the second one is not",
       "never-recovers|too-short-to-tell",
       kFault,
       {"fault.f.speed=0.95", R"(fault.g={start="20s",duration="5s",capacity=0})",
        kTimeout + "200ms", kThrice, "duration=60s"}},
      {"the newest first: requests made after the fault are served at once",
       "back-at-once",
       kFault,
       {kGone, kTimeout + "200ms", "service.api.queue.discipline=lifo"}},
      {"attempts of clients that give up leave the queue",
       "back-at-once",
       kFault,
       {kGone, kTimeout + "200ms", "service.api.abandoned=remove"}},
      // Adaptive mode at a throttle.
      {"110/s are granted of 120/s, and one client holds them back",
       "falls-behind|slow",
       kSteady,
       {"service.api.throttle.rate=110", "service.api.throttle.burst=10", "client.web.count=1",
        kAdaptive, "drain_limit=20min"}},
      // A service below.
      {"a service below does 100/s of 120/s", "falls-behind", kSteady,
       calling(R"(servers=1,service_time="10ms")")},
      {"the same with a short queue: a sixth fails", "failing", kSteady,
       calling(R"(servers=1,service_time="10ms",queue={capacity=20})")},
      {"a service below does 125/s of 120/s", "all-well", kSteady,
       calling(R"(servers=1,service_time="8ms")")},
      {"a service below refuses", "back-at-once", kFault,
       calling(R"(servers=2,service_time="10ms")", {"fault.f.service=b", kRefused})},
      {"a service without clients refuses",
       "all-well",
       kFault,
       {R"(client.web.calls="api")", R"(service.b={servers=1,service_time="10ms"})",
        "fault.f.service=b", kRefused}},
  };
  return cases;
}

bool is_among(std::string_view answer, std::string_view answers) {
  return ("|" + std::string(answers) + "|").find("|" + std::string(answer) + "|") !=
         std::string::npos;
}

std::vector<Verdict> verdicts_of(const char* text, const Edits& edits) {
  const Scenario scenario = test::scenario_of(text, edits);
  return verdicts(scenario, run_replications(scenario));
}

}  // namespace

TEST_CASE("answers are those that follow from the law of the case", "[labelled]") {
  CHECK(labelled_cases().size() >= 40);
  for (const Labelled& c : labelled_cases()) {
    std::vector<Verdict> all = verdicts_of(c.scenario, c.edits);
    std::erase_if(all, [](const Verdict& v) { return v.rule == "culprit"; });
    REQUIRE(!all.empty());
    INFO(c.law << "; expected " << c.answers << "; " << all[0].rule << ": " << all[0].sentence);
    CHECK(is_among(all[0].rule, c.answers));
    CHECK((all[0].severity == Severity::kGood) ==
          (all[0].rule == "all-well" || all[0].rule == "unaffected"));
  }
}

// Not a test: prints the table of tests/verdicts/README.md.
TEST_CASE("the table of labelled cases", "[.table]") {
  for (const Labelled& c : labelled_cases()) {
    const std::vector<Verdict> all = verdicts_of(c.scenario, c.edits);
    std::string answers = c.answers;
    for (std::size_t bar = 0; (bar = answers.find('|', bar)) != std::string::npos; bar += 4) {
      answers.replace(bar, 1, " or ");
    }
    fmt::print("| {} | {} | {} |\n", c.law, answers, all[0].sentence);
  }
}

}  // namespace retrysim::labelled

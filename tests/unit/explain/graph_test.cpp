// Verdicts on services that call each other against the law of the case: which services are the
// cause and which only wait follows from arithmetic, and so do the labels beside each case. Near
// misses stand next to the cases. Seeds are fixed; cases are far from their thresholds, so that
// hardly any other seed would give another answer.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>

#include "scenario_of.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace retrysim::graph_labels {
namespace {

using Edits = std::vector<std::string>;
using Names = std::vector<std::string>;

/// 120 requests/s through front (40 servers of 2 ms) and api (20 of 5 ms) to db: 4 servers of 10
/// ms, 400/s. A request takes 17 ms; api needs 1.8 of its servers and front 2. The fault, from 10 s
/// to 20 s, does nothing yet.
constexpr const char* kChain = R"(
name = "chain"
duration = "40s"
replications = 2
recovery = { hold = "5s" }
[service.front]
servers = 40
service_time = "2ms"
queue = { capacity = 400 }
[service.front.calls.api]
attempt_timeout = "1s"
retry = { mode = "none" }
[service.api]
servers = 20
service_time = "5ms"
queue = { capacity = 200 }
[service.api.calls.db]
attempt_timeout = "1s"
retry = { mode = "none" }
[service.db]
servers = 4
service_time = "10ms"
queue = { capacity = 100 }
[fault.f]
service = "db"
start = "10s"
duration = "10s"
[client.web]
calls = "front"
count = 40
arrivals = { process = "poisson", total_rate = 120 }
attempt_timeout = "1s"
retry = { mode = "none" }
)";

/// The same with a service beside api, which front calls at the same time: 10 servers of 5 ms; and
/// with clients of another service that calls db, too.
constexpr const char* kTree = R"(
name = "tree"
duration = "40s"
replications = 2
recovery = { hold = "5s" }
[service.front]
servers = 40
service_time = "2ms"
parallel_calls = true
[service.front.calls.api]
attempt_timeout = "1s"
retry = { mode = "none" }
[service.front.calls.side]
attempt_timeout = "1s"
retry = { mode = "none" }
[service.api]
servers = 20
service_time = "5ms"
[service.api.calls.db]
attempt_timeout = "1s"
retry = { mode = "none" }
[service.side]
servers = 10
service_time = "5ms"
[service.reports]
servers = 20
service_time = "5ms"
[service.reports.calls.db]
attempt_timeout = "1s"
retry = { mode = "none" }
[service.db]
servers = 4
service_time = "10ms"
queue = { capacity = 100 }
[fault.f]
service = "db"
start = "10s"
duration = "10s"
[client.web]
calls = "front"
count = 40
arrivals = { process = "poisson", total_rate = 120 }
attempt_timeout = "1s"
retry = { mode = "none" }
[client.batch]
calls = "reports"
count = 10
arrivals = { process = "poisson", total_rate = 20 }
attempt_timeout = "1s"
retry = { mode = "none" }
)";

const std::string kThrice = R"({mode="custom",max_attempts=3,backoff={base="1ms",cap="1ms"}})";

std::string surge(const std::string& factor) {
  return R"(client.web.surge={s={start="10s",duration="10s",factor=)" + factor + "}}";
}

struct Labelled {
  const char* law;  ///< why
  const char* scenario;
  Edits edits;
  Names causes;           ///< services, the deepest first; none: no cause is named
  Names waiting;          ///< services that only wait for them or pass their errors on
  const char* says = "";  ///< a part of the sentence
  const char* client = "web";
};

const std::vector<Labelled>& labelled_graphs() {
  static const std::vector<Labelled> cases = {
      // The bottom.
      {"db takes 20 ms instead of 10, a load of 0.6: nobody lines up, each waits longer",
       kChain,
       {"fault.f.speed=0.5"},
       {"db"},
       {"api", "front"},
       "db works 2 times as long on an attempt during the fault"},
      {"db does 80/s of 120/s; api waits with all of its servers, and needs 1.8 of 20",
       kChain,
       {"fault.f.speed=0.2"},
       {"db"},
       {"api", "front"},
       "of its server time held by calls"},
      {"api has 30 servers for 1.8, and so db gets what it can do: no more than it has left",
       kChain,
       {"fault.f.speed=0.2", "service.api.servers=30"},
       {"db"},
       {"api", "front"},
       "db is out of capacity: attempts during the fault need all of the capacity that it has "
       "left"},
      {"api and front have any number of servers: 120/s for 80/s",
       kChain,
       {"fault.f.speed=0.2", "service.api.servers=unlimited", "service.front.servers=unlimited"},
       {"db"},
       {"api", "front"},
       "db is out of capacity: attempts during the fault need 1.5 times the capacity that it has "
       "left; api and front only wait for it"},
      {"a surge to 480/s: 1.2 of db, 0.36 of api, 0.2 of front",
       kChain,
       {"fault.f.speed=1", surge("4"), "service.api.servers=unlimited"},
       {"db"},
       {"api", "front"},
       "db is out of capacity"},
      {"a surge to 360/s: a load of 0.9, at which M/M/4 waits 20 ms for 10 ms of work",
       kChain,
       {"fault.f.speed=1", surge("3"),
        R"(service.db.service_time={distribution="exponential",mean="10ms"})"},
       {"db"},
       {"api", "front"}},
      {"db has no servers for half a second, less than an interval of the recorder",
       kChain,
       {"fault.f.capacity=0", "fault.f.start=10.2s", "fault.f.duration=500ms", "interval=1s"},
       {"db"},
       {"api", "front"},
       "db has no capacity at all during the fault"},
      {"db has no servers",
       kChain,
       {"fault.f.capacity=0"},
       {"db"},
       {"api", "front"},
       "db has no "
       "capacity at all during the fault"},
      {"db is 100 ms away",
       kChain,
       {"fault.f.latency=100ms"},
       {"db"},
       {"api", "front"},
       "messages there and back take 0.2 s more"},
      {"from 1.2 of db on, without a fault",
       kChain,
       {"fault.f.service=front", "fault.f.start=39s", "fault.f.duration=500ms",
        "service.db.servers=1"},
       {"db"},
       {"api", "front"}},
      // Errors of the bottom are answered as failed calls.
      {"db refuses connections",
       kChain,
       {"fault.f.unreachable=true"},
       {"db"},
       {"api", "front"},
       "db cannot be reached during the fault; api and front only pass that on"},
      {"half of the attempts at db fail",
       kChain,
       {"fault.f.errors.internal=0.5"},
       {"db"},
       {"api", "front"},
       "of its attempts with errors of its own during the fault; api and front only pass that on"},
      {"one in 200 attempts at api fails at all times, and half of those at db: more errors of api "
       "are db's",
       kChain,
       {"service.api.errors.internal=0.005", "fault.f.errors.internal=0.5"},
       {"db"},
       {"api", "front"},
       "of its attempts with errors of its own during the fault; api and front only pass that on"},
      {"0.05^3 of the calls fail: the retries of api make it good",
       kChain,
       {"fault.f.errors.internal=0.05", "service.api.calls.db.retry=" + kThrice},
       {},
       {}},
      // The middle.
      {"half of the attempts at api fail",
       kChain,
       {"fault.f.service=api", "fault.f.errors.internal=0.5"},
       {"api"},
       {"front"},
       "front only passes that on"},
      {"api has a server left and needs 1.8, of which front lets it have what its 40 servers wait "
       "for",
       kChain,
       {"fault.f.service=api", "fault.f.capacity=0.05"},
       {"api"},
       {"front"},
       "api is out of capacity: attempts during the fault need at least 1.1 times the capacity "
       "that it has "
       "left"},
      {"api needs 30 ms of 4 servers at 240/s: 7.2; db, with 0.6, gets 133/s",
       kChain,
       {"fault.f.speed=1", surge("2"), "service.api.servers=4", "service.api.service_time=20ms"},
       {"api"},
       {"front"},
       "api is out of capacity"},
      {"api has one server for 120/s of 15 ms, without a fault",
       kChain,
       {"fault.f.service=front", "fault.f.start=39s", "fault.f.duration=500ms",
        "service.api.servers=1"},
       {"api"},
       {"front"}},
      {"the top: front does 20/s",
       kChain,
       {"fault.f.service=front", "fault.f.capacity=0.01"},
       {"front"},
       {}},
      // Both, one after the other, or elsewhere.
      {"db does 80/s of 120/s, and api has errors of its own",
       kChain,
       {"fault.f.speed=0.2",
        R"(fault.g={service="api",start="10s",duration="10s",errors={internal=0.3}})"},
       {"db", "api"},
       {"front"},
       "api answers"},
      {"db does 80/s of 120/s, and then api 67/s",
       kChain,
       {"fault.f.speed=0.2", "fault.f.duration=5s",
        R"(fault.g={service="api",start="22s",duration="5s",capacity=0.05})"},
       {"db", "api"},
       {"front"},
       "api is out of capacity: attempts during g need"},
      {"nothing is wrong", kChain, {}, {}, {}},
      {"the fault takes a fifth of db: a load of 0.375", kChain, {"fault.f.speed=0.8"}, {}, {}},
      // A branch at the side.
      {"side takes 25 ms instead of 5, as api takes 15",
       kTree,
       {"fault.f.service=side", "fault.f.speed=0.1"},
       {"side"},
       {"front"},
       "side works 10 times as long"},
      {"side refuses, and api is well",
       kTree,
       {"fault.f.service=side", "fault.f.unreachable=true"},
       {"side"},
       {"front"}},
      {"the clients of reports do not call side",
       kTree,
       {"fault.f.service=side", "fault.f.unreachable=true"},
       {},
       {},
       "",
       "batch"},
      // Shares, numbers, copies and caches of calls: what arrives below is not what arrives above.
      {"half of 120/s call db, which does 40/s; enough runs that chance leaves the figure",
       kChain,
       {"fault.f.speed=0.1", "service.api.calls.db.share=0.5", "service.api.servers=unlimited",
        "service.front.servers=unlimited", "replications=20"},
       {"db"},
       {"api", "front"},
       "db is out of capacity: attempts during the fault need 1.5 times the capacity that it has "
       "left"},
      // A surge of 1.6 times the capacity, and three attempts: both figures are above one.
      {"a surge to 640/s of 400/s, asked for up to three times",
       kChain,
       {"fault.f.speed=1", surge("5.333"), "service.api.calls.db.retry=" + kThrice,
        "service.api.servers=unlimited", "service.front.servers=unlimited",
        "service.db.queue.capacity=20"},
       {"db"},
       {"api", "front"},
       "(first attempts alone 1.6 times); api and front only wait for it"},
      {"a surge to 480/s, of which a quarter call db: 120/s of 400/s",
       kChain,
       {"fault.f.speed=1", surge("4"), "service.api.calls.db.share=0.25"},
       {},
       {}},
      {"two copies of each call: 240/s for 200/s",
       kChain,
       {"fault.f.speed=0.5", "service.api.calls.db.count=2", "service.api.servers=unlimited",
        "service.front.servers=unlimited"},
       {"db"},
       {"api", "front"},
       "db is out of capacity: attempts during the fault need 1.2 times the capacity that it has "
       "left"},
      {"three copies of which all are needed: 1 - 0.8^3 of the calls fail",
       kChain,
       {"fault.f.errors.internal=0.2", "service.api.calls.db.count=3", "service.db.servers=12"},
       {"db"},
       {"api", "front"},
       "of its attempts with errors of its own during the fault; api and front only pass that on"},
      {"three copies of which one is needed: 0.05^3 of the calls fail",
       kChain,
       {"fault.f.errors.internal=0.05", "service.api.calls.db.count=3",
        "service.api.calls.db.need=1", "service.db.servers=12"},
       {},
       {}},
      {"a cache answers nine of ten calls, and the tenth fails",
       kChain,
       {"fault.f.unreachable=true", "service.api.calls.db.cache_hit=0.9"},
       {"db"},
       {"api", "front"},
       "db cannot be reached during the fault; api and front only pass that on"},
      {"a cache answers nine of ten of 480/s: 48/s of 400/s",
       kChain,
       {"fault.f.speed=1", surge("4"), "service.api.calls.db.cache_hit=0.9"},
       {},
       {}},
      {"db cannot be reached, and api answers without it",
       kChain,
       {"fault.f.unreachable=true", "service.api.calls.db.on_failure=ignore"},
       {},
       {}},
      {"one of two: the half that goes to side fails",
       kTree,
       {"fault.f.service=side", "fault.f.unreachable=true",
        "service.front.calls.api.one_of=backend", "service.front.calls.api.share=0.5",
        "service.front.calls.side.one_of=backend", "service.front.calls.side.share=0.5"},
       {"side"},
       {"front"},
       "side cannot be reached during the fault; front only passes that on"},
      // Clients that have no part in it.
      {"web comes with 480/s, and db does 400/s: batch waits with it",
       kTree,
       {"fault.f.speed=1", surge("4")},
       {"db"},
       {"reports"},
       "db is out of capacity",
       "batch"},
      {"db does 80/s of 140/s for both",
       kTree,
       {"fault.f.speed=0.2"},
       {"db"},
       {"reports"},
       "",
       "batch"},
      {"api waits 5 ms for what takes db 10",
       kChain,
       {"service.api.calls.db.attempt_timeout=5ms"},
       {"db"},
       {"api", "front"},
       "db takes longer than its callers wait before the fault: 2 times as long"},
      {"one connection for 120/s of 10 ms: 1.2",
       kChain,
       {"service.api.calls.db.max_connections=1"},
       {"api"},
       {"front"},
       "api has too few connections for its calls"},
      {"two connections are enough for 1.2",
       kChain,
       {"service.api.calls.db.max_connections=2"},
       {},
       {}},
  };
  return cases;
}

std::vector<Verdict> graph_verdicts(const char* text, const Edits& edits) {
  const Scenario scenario = test::scenario_of(text, edits);
  return verdicts(scenario, run_replications(scenario));
}

const Verdict* verdict_of(const std::vector<Verdict>& all, std::string_view client,
                          std::string_view rule) {
  const auto found = std::ranges::find_if(
      all, [&](const Verdict& v) { return v.client == client && v.rule == rule; });
  return found == all.end() ? nullptr : &*found;
}

/// Services that have figures other than what calls hold of them.
Names causes_in(const Verdict* verdict) {
  Names names;
  if (verdict == nullptr) return names;
  for (const EvidenceFigure& f : verdict->evidence) {
    const std::size_t dot = f.name.find('.');
    const std::string name = f.name.substr(0, dot);
    if (f.name.substr(dot + 1) == "held_by_calls_share") continue;
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

/// "api (98 % of ...) and front only wait for it": the names.
Names waiting_in(const Verdict* verdict) {
  Names names;
  if (verdict == nullptr) return names;
  const std::string& s = verdict->sentence;
  const std::size_t part = s.rfind("; "), only = s.rfind(" only ");
  if (part == std::string::npos || only == std::string::npos || only < part) return names;
  std::string text = s.substr(part + 2, only - part - 2);
  for (std::size_t open = text.find(" ("); open != std::string::npos; open = text.find(" (")) {
    text.erase(open, text.find(')', open) + 1 - open);
  }
  for (std::size_t and_at = text.find(" and "); and_at != std::string::npos;) {
    text.replace(and_at, 5, ", ");
    and_at = text.find(" and ");
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return names;
}

}  // namespace

TEST_CASE("The services that are the cause, and those that only wait, follow from the law",
          "[labelled]") {
  CHECK(labelled_graphs().size() >= 20);
  for (const Labelled& c : labelled_graphs()) {
    const std::vector<Verdict> all = graph_verdicts(c.scenario, c.edits);
    const Verdict* const answer = verdict_of(all, c.client, all.front().rule);
    const Verdict* const cause = verdict_of(all, c.client, "cause-in-graph");
    INFO(c.law << "; expected " << fmt::format("{} / {}", c.causes, c.waiting) << "; "
               << (answer ? answer->sentence : "") << "; "
               << (cause ? cause->sentence : std::string("no cause")));
    CHECK(causes_in(cause) == c.causes);
    CHECK(waiting_in(cause) == c.waiting);
    if (cause == nullptr) continue;
    CHECK_THAT(cause->sentence, Catch::Contains(c.says));
    for (const EvidenceFigure& e : cause->evidence) CHECK_FALSE(e.name.ends_with('.'));
  }
}

TEST_CASE("The first line names the only cause of a group's trouble", "[labelled]") {
  std::size_t named = 0;
  for (const Labelled& c : labelled_graphs()) {
    if (c.causes.size() != 1) continue;
    const std::vector<Verdict> all = graph_verdicts(c.scenario, c.edits);
    REQUIRE_FALSE(all.empty());
    const Verdict& first = all.front();
    INFO(c.law << ": " << first.sentence);
    CHECK(first.rule == "culprit");
    CHECK(first.client == "all");
    CHECK(first.culprits == c.causes);
    CHECK_THAT(first.sentence, Catch::StartsWith(c.causes.front() + " "));
    ++named;
  }
  CHECK(named >= 20);
}

TEST_CASE("The first line says what each group loses, or that no single cause is shown") {
  const auto first = [](const char* scenario, const Edits& edits) {
    return graph_verdicts(scenario, edits).front();
  };
  const Verdict refuses = first(kTree, {"fault.f.unreachable=true"});
  CHECK(refuses.culprits == std::vector<std::string>{"db"});
  CHECK(refuses.sentence ==
        "db cannot be reached during the fault: web fails (0.17 % succeed), batch fails (no "
        "request succeeds)");
  const Verdict beside = first(kTree, {"fault.f.unreachable=true", "fault.f.service=side"});
  CHECK(beside.culprits == std::vector<std::string>{"side"});
  CHECK_THAT(beside.sentence, Catch::EndsWith("batch is not affected"));
  // Two services are wrong: neither is named.
  const Verdict two =
      first(kChain, {"fault.f.unreachable=true", R"(service.api.errors={"internal"=0.5})"});
  CHECK(two.rule == "culprit");
  // A group that is well has no such line.
  CHECK(first(kTree, {}).rule != "culprit");
}

TEST_CASE("Attempts multiply where several layers retry, and the product is named", "[labelled]") {
  const std::string at_web = "client.web.retry=" + kThrice,
                    at_api = "service.api.calls.db.retry=" + kThrice,
                    at_front = "service.front.calls.api.retry=" + kThrice,
                    refused = "fault.f.unreachable=true";
  const auto said = [&](Edits edits) -> std::string {
    const std::vector<Verdict> all = graph_verdicts(kChain, edits);
    const Verdict* const found = verdict_of(all, "web", "layers-multiply");
    return found == nullptr ? "" : found->sentence;
  };
  // The fault of ten seconds ends at once for new requests.
  CHECK(said({refused, at_web, at_api}) ==
        "retries multiply from layer to layer: from the start of the fault on a request becomes 9 "
        "attempts at db (3 per request of web, 1 per call of front, 3 per call of api); without "
        "the retries of api it would be 3 at most");
  CHECK_THAT(said({refused, at_web, at_front, at_api}),
             Catch::Contains("a request becomes 27 attempts at db") &&
                 Catch::EndsWith("without the retries of api it would be 9 at most"));
  // One layer alone multiplies nothing, and without a fault nobody retries.
  CHECK(said({refused, at_web}).empty());
  CHECK(said({refused, at_api}).empty());
  CHECK(said({at_web, at_api}).empty());
}

// Not a test: prints the table of tests/verdicts/README.md.
TEST_CASE("the table of labelled graphs", "[.graphs]") {
  for (const Labelled& c : labelled_graphs()) {
    const std::vector<Verdict> all = graph_verdicts(c.scenario, c.edits);
    const Verdict* const cause = verdict_of(all, c.client, "cause-in-graph");
    fmt::print("| {} | {} | {} | {} |\n", c.law,
               c.causes.empty() ? "none" : fmt::format("{}", fmt::join(c.causes, ", ")),
               fmt::join(c.waiting, ", "), cause ? cause->sentence : "");
  }
}

}  // namespace retrysim::graph_labels

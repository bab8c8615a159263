// What a scenario must mean: one test for each rule, with the message that names the mistake.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

#include <retrysim/retry_rules.hpp>

#include <utility>

using namespace retrysim;

namespace {

// The errors after one edit of a scenario that is right.
std::string after(const std::string& edit) { return errors_of(kSmall, {edit}); }

}  // namespace

TEST_CASE("numbers out of range are refused") {
  for (const char* edit : {"duration=0s",
                           "duration=-1",
                           "duration=nan",
                           "duration=inf",
                           "duration=1e300",
                           "duration=0.1ns",
                           "warmup=auto",
                           "drain_limit=-1s",
                           "seed=-1",
                           "seed=1.5",
                           "replications=0",
                           "replications=2000000",
                           "interval=0",
                           "recovery.share=0",
                           "recovery.share=1.1",
                           "recovery.window=0s",
                           "network.latency=-1ms",
                           "network.request_loss=-0.1",
                           "network.request_loss=1.1",
                           "network.response_loss=nan",
                           "service.api.servers=0",
                           "service.api.servers=2.5",
                           "service.api.servers=none",
                           "service.api.queue.capacity=-1",
                           "service.api.throttle.rate=0",
                           "service.api.throttle.rate=inf",
                           "service.api.errors.internal=1.5",
                           "client.web.count=0",
                           "client.web.count=1e3",
                           "client.web.arrivals.rate=0",
                           "client.web.arrivals.rate=nan",
                           "client.web.deadline=0s",
                           "drain=yes",
                           "description=3.0.0.0.[",
                           "name={a=1}"}) {
    INFO(edit);
    CHECK_FALSE(after(edit).empty());
  }
}

TEST_CASE("numbers at the edge of their range are accepted") {
  for (const char* edit :
       {"duration=1ns", "warmup=9.999s", "drain_limit=0s", "seed=0", "seed=9223372036854775807",
        "replications=1", "recovery.share=1", "recovery.hold=0s", "service.api.queue.capacity=0",
        "service.api.servers=unlimited", "service.api.errors.internal=1",
        "client.web.arrivals.rate=1e-9"}) {
    INFO(edit);
    CHECK(errors_of(kSmall, edit == std::string("duration=1ns")
                                ? Edits{edit, "drain_limit=0", "interval=1ns"}
                                : Edits{edit}) == "");
  }
}

TEST_CASE("the warm-up must leave something of the duration") {
  CHECK(after("warmup=10s") ==
        "set: error: warmup = 10s leaves nothing of the duration of 10s; expected less\n"
        "warmup=10s\n"
        "       ^\n");
}

TEST_CASE("the number of bins has a limit") {
  CHECK_THAT(after("interval=1us"), Catch::Contains("more than ten million bins"));
}

TEST_CASE("the name must be fit for a folder") {
  for (const char* name : {"", "a/b", "..", ".hidden", "a\\b"}) {
    INFO(name);
    CHECK_THAT(errors_of("name = '" + std::string(name) + "'\n" + kSmall.substr(15)),
               Catch::Contains("cannot name a folder"));
  }
  CHECK(errors_of("name = 'A dip, at 80 %'\n" + kSmall.substr(15)) == "");
  // The message names what is wrong, whatever it is.
  const std::string expected =
      "expected 1 to 100 bytes of UTF-8 text, not only blanks, without /, \\ and control "
      "characters, not "
      "starting with";
  for (const std::string& name : {std::string(101, 'x'), std::string("a\\nb")}) {
    CHECK_THAT(errors_of("name = \"" + name + "\"\n" + kSmall.substr(15)),
               Catch::Contains(expected));
  }
  CHECK(errors_of("name = '" + std::string(100, 'x') + "'\n" + kSmall.substr(15)) == "");
}

TEST_CASE("error probabilities add up to at most one") {
  CHECK_THAT(after("service.api.errors={internal=0.7, \"429\"=0.4}"),
             Catch::Contains("service.api.errors add up to 1.1; expected"));
  CHECK(after("service.api.errors={internal=0.7, invalid=0.2, throttled=0.1}") == "");
  CHECK_THAT(errors_of(kSmall, {"fault.f={start=1, duration=1, errors={internal=0.6, "
                                "unavailable=0.6}}"}),
             Catch::Contains("fault.f.errors add up to 1.2"));
}

TEST_CASE("error answers are named by word or by status and code") {
  for (const char* name : {"intrnal", "200", "600", "42x", "503:", "\"503:a b\""}) {
    INFO(name);
    CHECK_FALSE(after("service.api.errors." + std::string(name) + "=0.1").empty());
  }
  CHECK_THAT(after("service.api.errors.intrnal=0.1"),
             Catch::Contains("did you mean \"internal\"?"));
}

TEST_CASE("services and clients that are named must exist") {
  CHECK_THAT(after("client.web.calls=apo"),
             Catch::Contains("client.web.calls = \"apo\": there is no such service; did you mean "
                             "\"api\"?"));
  CHECK_THAT(after("fault.f={start=1, duration=1, service='db'}"),
             Catch::Contains("fault.f.service = \"db\": there is no such service; there are: api"));
  CHECK_THAT(after("expect.e={metric='goodput', at_least=1, client='wbe'}"),
             Catch::Contains("expect.e.client = \"wbe\": there is no such client; did you mean "
                             "\"web\"?"));
}

TEST_CASE("with several services a client must say which it calls") {
  CHECK_THAT(after("service.db.service_time=1ms"),
             Catch::Contains("client.web.calls is missing; the services are: api, db"));
  const LoadedScenario loaded =
      load(kSmall, {"service.db.service_time=1ms", "client.web.calls=db"});
  CHECK(loaded.scenario.clients[0].service == 1);
}

TEST_CASE("arrival keys must belong to the process") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"closed", "rate=1"},        {"once", "total_rate=1"},        {"poisson", "phase='aligned'"},
      {"poisson", "start='1s'"},   {"constant", "spread=1"},        {"once", "concurrency=2"},
      {"poisson", "think_time=1"}, {"closed", "file='a.csv'"},      {"poisson", "speed_up=2"},
      {"constant", "scale=2"},     {"once", "bucket=300"},          {"closed", "spacing='even'"},
      {"once", "profile='a.csv'"}, {"closed", "interpolate='step'"}};
  for (const auto& [process, key] : wrong) {
    INFO(process << " " << key);
    CHECK_THAT(after("client.web.arrivals={process='" + process + "', " + key + "}"),
               Catch::Contains("does not apply here; it needs client.web.arrivals.process = "));
  }
}

TEST_CASE("an open process needs one rate") {
  CHECK_THAT(after("client.web.arrivals.total_rate=3"),
             Catch::Contains("client.web.arrivals has both rate and total_rate; keep one"));
  CHECK_THAT(after("client.web.arrivals={process='constant'}"),
             Catch::Contains("client.web.arrivals.rate is missing"));
}

TEST_CASE("a rate that nothing reads is no rate to interpolate") {
  CHECK_THAT(after("client.web.arrivals.interpolate=step"),
             Catch::Contains("client.web.arrivals.interpolate does not apply here: there is no "
                             "profile"));
}

TEST_CASE("surges need a process with a rate") {
  const std::string surge = "client.web.surge.s={start=1, duration=1, factor=2}";
  CHECK(after(surge) == "");
  CHECK_THAT(errors_of(kSmall, {surge, "client.web.arrivals={process='closed'}"}),
             Catch::Contains("client.web.surge.s cannot apply"));
}

TEST_CASE("requests that can be lost need a way to end") {
  CHECK(after("network.request_loss=0.1") ==
        "demo.toml:5:9: error: client.web: a request that is lost (network.request_loss = 0.1) "
        "would never end; expected an attempt_timeout or a deadline\n"
        "[client.web]\n"
        "        ^\n");
  CHECK_THAT(after("network.response_loss=0.1"), Catch::Contains("would never end"));
  CHECK_THAT(errors_of(kSmall, {"service.api.overflow=drop", "service.api.queue.capacity=5"}),
             Catch::Contains("(service.api.overflow = \"drop\") would never end"));
  CHECK(after("service.api.overflow=drop") == "");  // an unlimited queue never overflows
  CHECK(errors_of(kSmall, {"network.request_loss=0.1", "client.web.attempt_timeout=1s"}) == "");
  CHECK(errors_of(kSmall, {"network.request_loss=0.1", "client.web.deadline=1s"}) == "");
}

TEST_CASE("dropping abandoned work means nothing to clients that never give up") {
  const LoadedScenario loaded = load(kSmall, {"service.api.abandoned=remove"});
  REQUIRE(loaded.notes.size() == 1);
  CHECK_THAT(loaded.notes[0], Catch::Contains("service.api.abandoned has no effect on client.web"));
  CHECK(load(kSmall, {"service.api.abandoned=remove", "client.web.deadline=1s"}).notes.empty());
}

TEST_CASE("a capacity fault needs a number of servers") {
  const std::string fault = "fault.f={start=1, duration=1, capacity=0.5}";
  CHECK(after(fault) == "");
  CHECK_THAT(errors_of(kSmall, {fault, "service.api.servers=unlimited"}),
             Catch::Contains("fault.f.capacity has no meaning for the unlimited servers"));
}

TEST_CASE("a fault that loses messages needs clients that give up") {
  const std::string fault = "fault.f={start=1, duration=1, response_loss=0.5}";
  CHECK_THAT(after(fault), Catch::Contains("a request that is lost (fault.f loses messages) would "
                                           "never end"));
  CHECK(errors_of(kSmall, {fault, "client.web.deadline=1"}) == "");
}

TEST_CASE("throttle keys need a throttle") {
  CHECK_THAT(after("service.api.throttle.burst=5"),
             Catch::Contains("service.api.throttle.burst does not apply here; it needs "
                             "service.api.throttle.rate other than unlimited"));
}

TEST_CASE("keys of a queue must fit its discipline") {
  CHECK_THAT(after("service.api.queue.target=5"),
             Catch::Contains("it needs service.api.queue.discipline = codel, not fifo"));
  CHECK_THAT(after("service.api={servers='unlimited', queue.discipline='processor-sharing'}"),
             Catch::Contains("processor-sharing\" has no meaning for unlimited servers"));
  CHECK_THAT(after("service.api.queue={discipline='processor-sharing', drop_expired=true}"),
             Catch::Contains("queue.drop_expired does not apply here"));
  CHECK_THAT(after("service.api.queue={discipline='processor-sharing', max_age='1s'}"),
             Catch::Contains("queue.max_age does not apply here"));
  CHECK_THAT(after("service.api.queue={discipline='lifo', lifo_above=3}"),
             Catch::Contains("it needs service.api.queue.discipline = adaptive-lifo, not lifo"));
  CHECK_THAT(after("service.api={overflow='drop', queue.max_age='1s'}"),
             Catch::Contains("would never end"));
  CHECK_THAT(after("service.api.queue.discipline=lifu"), Catch::Contains("did you mean \"lifo\"?"));
  CHECK_THAT(after("service.api={overflow='drop', queue.discipline='codel'}"),
             Catch::Contains("would never end"));
  CHECK_THAT(after("client.web.priority=64"), Catch::Contains("from 0 to 63"));
  CHECK(load(kSmall, {"client.web.priority=3"}).notes.size() == 1);
  CHECK(load(kSmall, {"client.web.priority=3", "service.api.queue.discipline=priority"})
            .notes.empty());
}

TEST_CASE("a service of independent attempts has no queue and no limits") {
  const auto with = [](const std::string& more) {
    return after("service.api={service_time=1, model='independent'" + more + "}");
  };
  CHECK(with("") == "");
  for (const std::string key :
       {"servers=3", "queue.capacity=3", "queue.target=3", "overflow='drop'", "abandoned='abort'",
        "throttle.rate=3", "timeout=3", "concurrency.limit=3", "slowdown=1", "reject_cost=1"}) {
    CHECK_THAT(with(", " + key), Catch::Contains(" does not apply here; it needs service.api."));
  }
  const Edits edits{"service.api.model=independent", "service.api.errors.internal=0.5"};
  const ServiceSpec service = load(kSmall, edits).scenario.services[0];
  CHECK(service.model == ServiceModelKind::kIndependent);
  CHECK(service.servers == ServiceSpec::kUnlimited);
  CHECK(load(kSmall, {"service.api.model=occ"}).scenario.services[0].model ==
        ServiceModelKind::kOcc);
  CHECK(load(kSmall).scenario.services[0].model == ServiceModelKind::kQueue);
}

TEST_CASE("autoscaling needs limits that the servers are within") {
  const auto with = [](const std::string& more, const std::string& servers = "3") {
    return after("service.api={service_time=1, servers=" + servers + ", autoscaling={" + more +
                 "}}");
  };
  CHECK(with("target=0.5, max=3") == "");
  CHECK_THAT(with("target=0.5"), Catch::Contains("service.api.autoscaling.max is missing"));
  CHECK_THAT(with("target=0.5, max=2"),
             Catch::Contains("service.api has servers = 3 and autoscaling from 1 to 2; expected "
                             "min <= servers <= max"));
  CHECK_THAT(with("max=5"), Catch::Contains("it needs service.api.autoscaling.target other than "
                                            "none"));
  CHECK_THAT(with("target=1.5, max=5"), Catch::Contains("above 0, at most 1"));
  CHECK_THAT(with("target=0.5, max=5", "'unlimited'"),
             Catch::Contains("it needs service.api.servers other than unlimited"));
  const AutoscalingSpec by_hand;
  const AutoscalingSpec a = load(kSmall, {"service.api.autoscaling={target=0.5, max=7}"})
                                .scenario.services[0]
                                .autoscaling;
  CHECK(a.target == 0.5);
  CHECK(a.max == 7);
  CHECK(a.min == by_hand.min);
  CHECK(a.interval == by_hand.interval);
  CHECK(a.delay == by_hand.delay);
  CHECK(a.cooldown == by_hand.cooldown);
  CHECK(a.tolerance == by_hand.tolerance);
}

TEST_CASE("a concurrency limit must fit its control") {
  CHECK_THAT(after("service.api.concurrency={control='aimd', initial=10}"),
             Catch::Contains("service.api.concurrency has min = 20, initial = 10, max = 200; "
                             "expected min <= initial <= max"));
  CHECK_THAT(after("service.api.concurrency={control='aimd', limit=10}"),
             Catch::Contains("it needs service.api.concurrency.control = fixed, not aimd"));
  CHECK_THAT(after("service.api.concurrency.smoothing=0.1"),
             Catch::Contains("it needs service.api.concurrency.control = gradient2 or vegas, not "
                             "fixed"));
  CHECK_THAT(after("service.api.concurrency={control='envoy', max=2}"),
             Catch::Contains("service.api.concurrency has min = 3, max = 2; expected min <= max"));
  CHECK(after("service.api.concurrency={control='envoy', min=30, max=40}") == "");
  CHECK(after("service.api.concurrency={control='vegas', initial=1}") == "");
  CHECK_THAT(after("service.api.concurrency={control='vegas', alpha=7}"),
             Catch::Contains("service.api.concurrency has alpha = 7, beta = 6; expected alpha <= "
                             "beta"));
  CHECK_THAT(after("service.api.concurrency={control='envoy', min_rtt='1ms', min_rtt_jitter=0}"),
             Catch::Contains("it needs service.api.concurrency.min_rtt = measured, not 1ms"));
  CHECK_THAT(after("service.api={servers='unlimited', concurrency.control='kratos'}"),
             Catch::Contains("service.api.concurrency.control = \"kratos\" asks how busy the "
                             "servers are, which unlimited servers never are; expected a number of "
                             "servers"));
  CHECK_THAT(after("service.api={overflow='drop', servers='unlimited', concurrency.limit=3}"),
             Catch::Contains("would never end"));
}

TEST_CASE("partitions are of different priorities, and share a limit that there is") {
  const auto with = [](const std::string& partitions, const std::string& limit = "limit=10, ") {
    return "service.api.concurrency={" + limit + "partitions={" + partitions + "}}";
  };
  const LoadedScenario loaded =
      load(kSmall, {with("high={priority=2, share=0.7}, low={priority=0, refuse_from=0.5}"),
                    "client.web.retry={mode='standard', priority=2}"});
  CHECK(loaded.notes.empty());
  const std::vector<PartitionSpec>& p = loaded.scenario.services[0].concurrency.partitions;
  REQUIRE(p.size() == 2);
  CHECK(p[0].name == "high");
  CHECK(p[0].priority == 2);
  CHECK(p[0].share == 0.7);
  CHECK(p[0].refuse_from == 1);
  CHECK(p[1].share == PartitionSpec::kNone);
  CHECK(p[1].refuse_from == 0.5);
  CHECK(load(to_toml(loaded, false)).scenario.services[0].concurrency.partitions.size() == 2);

  CHECK_THAT(after(with("a={priority=0, share=0.7}, b={priority=1, share=0.4}")),
             Catch::Contains("service.api.concurrency.partitions have shares that add up to 1.1; "
                             "expected at most 1 together"));
  CHECK(load(kSmall, {with("a={priority=0, share=0.7}, b={priority=1, share=0.2}, "
                           "c={priority=2, share=0.1}")})
            .scenario.services[0]
            .concurrency.partitions.size() == 3);
  CHECK_THAT(after(with("a={priority=1}, b={priority=1}")),
             Catch::Contains("service.api.concurrency.partitions.b and "
                             "service.api.concurrency.partitions.a have the same priority, 1; "
                             "expected one partition for each priority"));
  CHECK_THAT(after(with("a={share=1}")),
             Catch::Contains("service.api.concurrency.partitions.a.priority is missing"));
  CHECK_THAT(after(with("a={priority=1, refuse_from=0}")), Catch::Contains("refuse_from"));
  CHECK_THAT(after(with("a={priority=1, shar=1}")), Catch::Contains("did you mean \"share\"?"));
  CHECK_THAT(
      load(kSmall, {with("a={priority=0, share=1}", "")}).notes.at(0),
      Catch::Contains("service.api.concurrency.partitions has no effect: there is no limit"));
  CHECK(load(kSmall, {with("a={priority=0, share=1}", "control='aimd', ")}).notes.empty());
  CHECK_THAT(load(kSmall, {with("a={priority=7, share=1}")}).notes.at(0),
             Catch::Contains("service.api.concurrency.partitions.a has no effect: no attempt that "
                             "comes has the priority 7"));
  // A higher priority that is refused first is probably a mistake, unless it has places of its own.
  const auto notes = [&](const std::string& a, const std::string& b) {
    return load(kSmall, {with("a={priority=1, " + a + "}, b={priority=0, " + b + "}"),
                         "client.web.retry={mode='standard', priority=1}"})
        .notes;
  };
  CHECK_THAT(notes("refuse_from=0.2", "share=0.5").at(0),
             Catch::Contains("partitions: a, of priority 1, is refused from 20 % of the limit, b, "
                             "of priority 0, only from 100 %"));
  CHECK(notes("refuse_from=0.8", "refuse_from=0.8").empty());
  CHECK(notes("refuse_from=0.2, share=0.8", "refuse_from=0.8").empty());
}

TEST_CASE("evict-lowest needs a queue that can be full, and more than one priority") {
  const auto notes = [](std::vector<std::string> edits) {
    edits.insert(edits.begin(), "service.api.queue.when_full=evict-lowest");
    return load(kSmall, edits).notes;
  };
  CHECK_THAT(notes({"client.web.retry={mode='standard', priority=1}"}).at(0),
             Catch::Contains("service.api.queue.when_full = \"evict-lowest\" has no effect: the "
                             "queue is never full"));
  CHECK_THAT(notes({"service.api.queue.capacity=0"}).at(0), Catch::Contains("nobody waits"));
  CHECK_THAT(notes({"service.api.queue.capacity=5"}).at(0),
             Catch::Contains("all attempts that come have the same priority"));
  CHECK(notes({"service.api.queue.capacity=5", "client.web.retry={mode='standard', priority=1}"})
            .empty());
  CHECK(notes({"service.api.queue.capacity=5",
               "client.batch={priority=1, arrivals.process='poisson', arrivals.rate=1, "
               "attempt_timeout='1s', retry.mode='none'}"})
            .empty());
  CHECK_THAT(after("service.api={queue.discipline='processor-sharing', "
                   "queue.when_full='evict-lowest'}"),
             Catch::Contains("queue.when_full"));
  CHECK_THAT(load(kSmall, {"client.web.retry={mode='standard', priority=1}"}).notes.at(0),
             Catch::Contains("client.web.retry.priority has no effect: service.api has neither "
                             "queue.discipline = \"priority\""));
}

TEST_CASE("expectations need a metric that exists and a bound") {
  CHECK_THAT(after("expect.e={metric='recovry_s', at_most=1}"),
             Catch::Contains("expect.e.metric = \"recovry_s\" is unknown; did you mean "
                             "\"recovery_s\"?"));
  CHECK_THAT(after("expect.e={metric='goodput'}"), Catch::Contains("expect.e has no bound"));
  CHECK_THAT(after("expect.e={metric='goodput', at_most=1, at_least=2}"),
             Catch::Contains("no value is both"));
}

TEST_CASE("retry keys must fit the mode") {
  const auto with = [](const std::string& retry) {
    return after("client.web.retry={" + retry + "}");
  };
  CHECK_THAT(with("mode='standard', probability=0.5"), Catch::Contains("retry.mode = custom"));
  CHECK_THAT(with("mode='standard', delays=[1]"), Catch::Contains("retry.mode = custom"));
  CHECK_THAT(with("mode='standard', rate_limit={on_empty='fail'}"),
             Catch::Contains("retry.mode = adaptive"));
  CHECK_THAT(with("mode='legacy', revision='2.0'"),
             Catch::Contains("retry.mode = standard or adaptive, not legacy"));
  CHECK_THAT(with("mode='custom', delays=[1], backoff={base=1}"),
             Catch::Contains("client.web.retry.backoff.base does not apply here; keep either it or "
                             "client.web.retry.delays"));
  CHECK_THAT(with("mode='custom', delays=[]"),
             Catch::Contains("client.web.retry.delays = [] is empty; expected a list of at least"));
  CHECK_THAT(with("mode='custom', quota={cost=3}"),
             Catch::Contains("it needs client.web.retry.quota.capacity other than unlimited"));
  CHECK_THAT(with("mode='standard', quota={capacity=5, initial=6}"),
             Catch::Contains("client.web.retry.quota.initial = 6 is more than the capacity of 5"));
  CHECK_THAT(with("mode='standard', max_attempts=0"), Catch::Contains("from 1 to"));
  CHECK_THAT(with("mode='standard', backoff={jitter='ful'}"),
             Catch::Contains("did you mean \"full\"?"));
}

TEST_CASE("a preset that does not exist is an error that lists those that do") {
  CHECK_THAT(
      after("client.web.retry={mode='standard', revision='3.0'}"),
      Catch::Contains(
          "client.web.retry: mode standard does not exist as \"3.0 botocore\"; "
          "it does as: 2.0 botocore, java-v1, java-v2, js-v3, cpp, dotnet, ruby, php, go-v2, "
          "rust, kotlin, swift, smithy-python, c-io; 2.1 botocore, java-v2,"));
  CHECK_THAT(after("client.web.retry={mode='legacy', sdk='cobol'}"),
             Catch::Contains("mode legacy does not exist as \"cobol\"; it does as: botocore"));
}

TEST_CASE("a revision is text in a file, but may be typed bare in an edit") {
  CHECK_THAT(errors_of(kSmall + "retry.revision = 2.0\n"),
             Catch::Contains("expected text in quotes"));
  CHECK(errors_of(kSmall, {"client.web.retry.mode=standard", "client.web.retry.revision=2.1"}) ==
        "");
}

TEST_CASE("what starts after the last request is noted") {
  const auto notes = [](const std::string& more) { return load(kSmall + more).notes; };
  CHECK(notes("[fault.dip]\nstart = 9\nduration = 5\n").empty());
  CHECK(notes("[fault.dip]\nstart = 10\nduration = 5\n") ==
        std::vector<std::string>{"fault.dip starts at 10s, but no request is submitted after the "
                                 "duration of 10s; no new request meets it"});
  CHECK(notes("surge.rush = { start = 12, duration = 1, factor = 2 }\n") ==
        std::vector<std::string>{"client.web.surge.rush starts at 12s, but no request is submitted "
                                 "after the duration of 10s; it changes no rate"});
  const auto herd = [&](const std::string& arrivals) {
    return notes("[client.herd]\nretry.mode = \"none\"\narrivals = { process = \"once\", " +
                 arrivals + " }\n");
  };
  CHECK(herd("start = 4, spread = 6").empty());
  CHECK(herd("start = 4, spread = 7") ==
        std::vector<std::string>{"client.herd.arrivals: the spread ends at 11s; requests after the "
                                 "duration of 10s are not submitted"});
  CHECK(herd("start = 15") ==
        std::vector<std::string>{"client.herd.arrivals starts at 15s, but no request is submitted "
                                 "after the duration of 10s; this group sends nothing"});
}

TEST_CASE("an API for which the preset has no numbers of its own is said, with those that have") {
  const auto notes = [](const std::string& retry) {
    return load(kSmall, {"client.web.retry={" + retry + "}"}).notes;
  };
  // Every preset by itself: silent if it has numbers, a note if it has none.
  for (const Preset& preset : presets()) {
    if (preset.mode == "none" || preset.mode == "custom" || preset.api != "default") continue;
    std::string retry = "mode='" + std::string(preset.mode) + "', api='dynamodb'";
    if (!preset.revision.empty()) retry += ", revision='" + std::string(preset.revision) + "'";
    if (!preset.sdk.empty()) retry += ", sdk='" + std::string(preset.sdk) + "'";
    CAPTURE(retry);
    const bool has_own =
        find_preset(preset.mode, preset.revision, preset.sdk, "dynamodb")->api == "dynamodb";
    CHECK(notes(retry).size() == (has_own ? 0 : 1));
  }
  const auto said = notes("mode='standard', api='dynamodb'");
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0],
             Catch::StartsWith("client.web.retry.api = \"dynamodb\": standard 2.0 botocore has no "
                               "numbers of its own for it and uses those of \"default\"; these "
                               "have: legacy: botocore, java-v1, "));
  CHECK_THAT(said[0], Catch::Contains("standard 2.1: botocore, "));
  // Only error codes are special here, not numbers.
  CHECK(notes("mode='legacy', api='sqs'").empty());
}

TEST_CASE("an SDK without a legacy mode names its predecessor, which has one") {
  CHECK_THAT(after("client.web.retry={mode='legacy', sdk='js-v3'}"),
             Catch::Contains("(js-v3 never had a legacy mode; its predecessor is js-v2)"));
  CHECK_THAT(after("client.web.retry={mode='legacy', sdk='rust'}"),
             !Catch::Contains("predecessor"));
}

// What a user sees when a scenario is wrong: whole messages with place, source line and caret.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

TEST_CASE("an unknown key names the nearest one") {
  CHECK(errors_of("duraton = \"5s\"\n" + kSmall) ==
        "demo.toml:1:1: error: unknown key \"duraton\"; did you mean \"duration\"?\n"
        "duraton = \"5s\"\n"
        "^\n");
  CHECK(errors_of(kSmall + "arivals.rate = 2\n") ==
        "demo.toml:8:1: error: unknown key \"client.web.arivals\"; did you mean \"arrivals\"?\n"
        "arivals.rate = 2\n"
        "^\n");
}

TEST_CASE("a key in the wrong table is shown where it belongs") {
  CHECK(errors_of(kSmall + "max_attempts = 2\n") ==
        "demo.toml:8:1: error: unknown key \"client.web.max_attempts\"; did you mean "
        "\"client.web.retry.max_attempts\"?\n"
        "max_attempts = 2\n"
        "^\n");
}

TEST_CASE("a key that resembles nothing gets the list of those that exist") {
  CHECK(errors_of(kSmall + "[network]\nzzz = 1\n") ==
        "demo.toml:9:1: error: unknown key \"network.zzz\"; known here: latency, connect, "
        "request_loss, "
        "response_loss\n"
        "zzz = 1\n"
        "^\n");
}

TEST_CASE("three mistakes are reported together, by place") {
  CHECK(errors_of(R"(name = "three"
duration = "10 seconds"
[service.api]
service_time = "10ms"
servers = 0
[client.web]
arrivals = { process = "poisson", rate = 5 }
retry.mode = "sometimes"
)") == "demo.toml:2:12: error: duration = \"10 seconds\" is wrong; expected a duration such as "
       "\"250ms\" or a number of seconds above 0, at most 1000000000\n"
       "duration = \"10 seconds\"\n"
       "           ^\n"
       "demo.toml:5:11: error: service.api.servers = 0 is wrong; expected a whole number from 1 to "
       "1000000000, or \"unlimited\"\n"
       "servers = 0\n"
       "          ^\n"
       "demo.toml:8:14: error: client.web.retry.mode = \"sometimes\" is unknown; expected one of "
       "none, legacy, standard, adaptive, custom\n"
       "retry.mode = \"sometimes\"\n"
       "             ^\n");
}

TEST_CASE("a syntax error stops at the first and shows its place") {
  CHECK(errors_of("name = \"a\"\nduration = 10 s\nwarmup = ?\n") ==
        "demo.toml:2:15: error: not valid TOML: Error while parsing key-value pair: expected a "
        "comment or whitespace, saw 's'; text and durations are written in quotes: key = "
        "\"value\"\n"
        "duration = 10 s\n"
        "              ^\n");
}

TEST_CASE("an edit is its own place") {
  CHECK(errors_of(kSmall, {"client.web.cuont=2", "seed = x"}) ==
        "set: error: unknown key \"client.web.cuont\"; did you mean \"count\"?\n"
        "client.web.cuont=2\n"
        "^\n"
        "set: error: seed = \"x\" is wrong; expected a whole number from 0 to "
        "9223372036854775807\n"
        "seed = x\n"
        "       ^\n");
}

TEST_CASE("an empty file misses its keys") {
  CHECK(errors_of("") ==
        "demo.toml:1:1: error: name is missing; expected text in quotes\n"
        "demo.toml:1:1: error: duration is missing; expected a duration such as \"250ms\" or a "
        "number "
        "of seconds above 0, at most 1000000000\n"
        "demo.toml:1:1: error: there is no service; expected a [service.NAME] to call\n"
        "demo.toml:1:1: error: there is no client; expected a [client.NAME] that sends requests\n");
}

TEST_CASE("a missing key is reported at the innermost table that exists") {
  CHECK(errors_of(R"(name = "a"
duration = 1
[service.api]
[client.web]
arrivals = { rate = 5 }
[client.web.retry]
)") == "demo.toml:3:10: error: service.api.service_time is missing; expected a duration such as "
       "\"250ms\", a number of seconds or { distribution = ..., ... }\n"
       "[service.api]\n"
       "         ^\n"
       "demo.toml:5:1: error: client.web.arrivals.process is missing; expected one of poisson, "
       "constant, once, closed, trace, on-off, poll\n"
       "arrivals = { rate = 5 }\n"
       "^\n"
       "demo.toml:6:13: error: client.web.retry.mode is missing; expected one of none, legacy, "
       "standard, adaptive, custom\n"
       "[client.web.retry]\n"
       "            ^\n");
}

TEST_CASE("a key that is missing outside all tables is reported at the first line") {
  CHECK(errors_of("description = \"x\"\n" + kSmall.substr(kSmall.find('\n') + 1)) ==
        "demo.toml:1:1: error: name is missing; expected text in quotes\n"
        "description = \"x\"\n"
        "^\n");
}

TEST_CASE("an interval that is too short for the duration is shown at both") {
  const std::string rest = kSmall.substr(kSmall.find("[service"));
  const std::string message =
      "interval = 1us makes more than ten million bins of duration = 1000s and drain_limit = 300s; "
      "expected a longer interval";
  CHECK(errors_of("name = \"a\"\ninterval = \"1us\"\nduration = 1000\n" + rest) ==
        "demo.toml:2:12: error: " + message +
            "\n"
            "interval = \"1us\"\n"
            "           ^\n"
            "demo.toml:3:12: error: " +
            message +
            " or a shorter duration\n"
            "duration = 1000\n"
            "           ^\n");
}

TEST_CASE("no more than twenty errors, the first by place") {
  std::string text = kSmall;
  for (int i = 0; i < 30; ++i) text += "zzz" + std::to_string(i) + " = 1\n";
  const LoadResult result = load_scenario_text(text, "demo.toml", {});
  REQUIRE(result.errors.size() == 20);
  CHECK(result.errors.front().line == 8);
  CHECK(result.errors.back().line == 27);
}

TEST_CASE("a value where a table belongs is an error, and the other way round") {
  CHECK_THAT(errors_of("client = 3\n"), Catch::Contains("demo.toml:1:10: error: client is a whole "
                                                        "number; expected a table"));
  CHECK_THAT(errors_of("[[client]]\n"), Catch::Contains("client is a list; expected a table"));
  CHECK_THAT(errors_of("[duration]\nx = 1\n"), Catch::Contains("duration = a table is wrong"));
}

TEST_CASE("clients without any service are an error") {
  CHECK_THAT(errors_of("name = \"x\"\nduration = \"9s\"\n[client.web]\ncalls = \"api\"\n"
                       "arrivals = { process = \"once\" }\nkeys = { count = 5 }\n"),
             Catch::Contains("service"));
}

TEST_CASE("names of services and clients fit into paths") {
  CHECK_THAT(errors_of(kSmall + "[client.\"a.b\"]\nlike = \"web\"\n"),
             Catch::Contains("demo.toml:8:9: error: the name \"a.b\" is not possible"));
  CHECK_THAT(errors_of(kSmall + "[client.all]\nlike = \"web\"\n"),
             Catch::Contains("cannot be called \"all\""));
}

TEST_CASE("the caret stays below its place in lines with tabs and UTF-8, and long ones are cut") {
  CHECK(errors_of("\tdescription\t= \"gr\xC3\xBC\xC3\x9F\"; \n") ==
        "demo.toml:1:22: error: not valid TOML: Error while parsing key-value pair: expected a "
        "comment or whitespace, saw ';'; expected lines such as key = \"value\" and [table]\n"
        " description = \"gr\xC3\xBC\xC3\x9F\"; \n"
        "                     ^\n");
  const std::string long_line = "description = \"" + std::string(500, 'x') + "\" oops\n";
  const LoadResult result = load_scenario_text(long_line, "demo.toml", {});
  REQUIRE(result.errors.size() == 1);
  const Diagnostic& d = result.errors[0];
  CHECK(d.column == 518);
  CHECK(d.source_line == "..." + std::string(70, 'x') + "\" oops");
  CHECK(d.source_line[static_cast<std::size_t>(d.caret) - 1] == 'o');
}

TEST_CASE("control characters never reach the terminal") {
  const std::string text = errors_of("x\x1B[31m = 1\n");
  CHECK(text.find('\x1B') == std::string::npos);
}

TEST_CASE("rubbish ends in one clear error, fast") {
  // A second or two even in a debug build; quadratic behaviour would take hours, and hit ctest's
  // limit.
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 37 % 256);
  for (const std::string& text :
       {bytes, std::string("name = \"a\0b\"", 12), std::string("name = \"\xFF\xFE\"\n"),
        std::string(10'000'000, '['), std::string(10'000'000, 'x'),
        "a = " + std::string(10'000'000, '['), "a = \"" + std::string(10'000'000, 'b')}) {
    const LoadResult result = load_scenario_text(text, "demo.toml", {});
    REQUIRE(result.errors.size() == 1);
    CHECK(to_string(result.errors[0]).size() < 600);
    CHECK(result.errors[0].line >= 1);
  }
}

TEST_CASE("names of absurd depth do not overflow the stack") {
  std::string dotted;
  for (int i = 0; i < 1'000'000; ++i) dotted += "a.";
  CHECK_THAT(errors_of(dotted + "a = 1\n"), Catch::Contains("more than 2000 dots"));
  CHECK_THAT(errors_of("[" + dotted.substr(0, 3000) + "a]\n"), Catch::Contains("too deeply"));
  CHECK_THAT(errors_of(kSmall, {dotted + "a=1"}), Catch::Contains("unknown key"));
  CHECK_THAT(errors_of(kSmall, {"name={" + dotted + "a=1}"}),
             Catch::Contains("is not a TOML value"));
}

TEST_CASE("dots that are none of a name are no depth") {
  std::string numbers, dots;
  for (int i = 0; i < 2100; ++i) numbers += "0.5,", dots += "a.";
  CHECK(errors_of(kSmall,
                  {"client.web.retry={mode=\"custom\",max_attempts=3,delays=[" + numbers + "]}",
                   "description=\"" + dots + "\""}) == "");
  CHECK(errors_of("description = '" + dots + "' # " + dots + "\n" + kSmall) == "");
  // Names that come behind what looks like the beginning of a string, or in a header.
  for (const char* before :
       {"a = 'x\"'\n", "a = \"x\\\"'\"\n", "a = \"\"\"x\"y'\"\"\"\n", "# it's\n", "["}) {
    CAPTURE(before);
    CHECK_THAT(errors_of(before + dots + "a = 1\n"), Catch::Contains("more than 2000 dots"));
  }
}

TEST_CASE("files that cannot be read say why") {
  const TemporaryFolder folder;
  const auto text = [](const std::filesystem::path& path) {
    return errors_of(load_scenario_file(path));
  };
  CHECK(text(folder.path() / "no.toml") ==
        (folder.path() / "no.toml").string() +
            ": error: cannot be read: No such file or directory\n");
  CHECK(text(folder.path()) == folder.path().string() + ": error: is a folder; expected a file\n");
  if (::geteuid() != 0) {  // root may read everything
    const auto path = folder.write("secret.toml", kSmall);
    std::filesystem::permissions(path, std::filesystem::perms::none);
    CHECK(text(path) == path.string() + ": error: cannot be read: Permission denied\n");
  }
}

TEST_CASE("a byte order mark and Windows line ends are fine") {
  std::string text = "\xEF\xBB\xBF";
  for (const char c : kSmall) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(load(text).scenario.name == "small");
  CHECK(errors_of(text + "zzz = 1\r\n").find('\r') == std::string::npos);
}

TEST_CASE("a duration that is too short or too long is told the accepted range") {
  const auto error = [](const std::string& edit) { return errors_of(kSmall, {edit}); };
  CHECK(error("duration=\"1e12s\"") ==
        "set: error: duration = \"1e12s\" is out of range; expected a duration from 1ns to "
        "1000000000s\nduration=\"1e12s\"\n         ^\n");
  CHECK_THAT(error("interval=0.1ns"),
             Catch::Contains("\"0.1ns\" is out of range; expected a duration from 1ns to 1000000"));
  CHECK_THAT(error("drain_limit=2e9s"), Catch::Contains("from 0s to 1000000000s"));
  // A clock of 64-bit nanoseconds sets the limit where the key has none.
  CHECK_THAT(error("client.web.deadline=20000000000"),
             Catch::Contains("expected a duration from 1ns to 9000000000s, or \"none\""));
  CHECK_THAT(error("client.web.attempt_timeout=-3"),
             Catch::Contains("= -3 is out of range; expected a duration from 0s to 9000000000s, or "
                             "\"none\", or \"sdk\""));
  CHECK_THAT(error("network.latency={distribution=\"exponential\", mean=1e10}"),
             Catch::Contains("network.latency.mean = 1e+10 is out of range; expected a duration "
                             "from 0s to 9000000000s"));
  CHECK(error("client.web.deadline=9000000000").empty());
  CHECK(error("client.web.deadline=9e9s").empty());
  // What is no duration at all still hears what one looks like.
  CHECK_THAT(error("network.latency=10msec"),
             Catch::Contains("is wrong; expected a duration such"));
}

TEST_CASE("a rate that is wrong is not missing as well") {
  for (const std::string key : {"rate", "total_rate"}) {
    const std::string text = R"(name = "small"
duration = "10s"
[service.api]
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", )" +
                             key + R"( = -5 }
retry.mode = "none"
)";
    const std::string errors = errors_of(text);
    CHECK_THAT(errors, Catch::Contains("arrivals." + key + " = -5 is wrong"));
    CHECK_THAT(errors, !Catch::Contains("is missing"));
  }
}

TEST_CASE("an edit that makes a new table by a misspelt name hears of the near ones") {
  const std::string text = kSmall +
                           "surge.rush = { start = 1, duration = 1 }\n"
                           "[fault.dip]\nstart = 1\nduration = 1\n"
                           "[expect.fast]\nmetric = \"latency_mean\"\nat_most = 1\n";
  const auto error = [&](const std::string& edit) { return errors_of(text, {edit}); };
  CHECK_THAT(error("fault.dpi.capacity=0.5"),
             Catch::Contains("there is no fault \"dpi\"; did you mean \"dip\"? (a new one needs "
                             "fault.dpi.start; expected a duration"));
  CHECK_THAT(error("service.apu.servers=3"),
             Catch::Contains("there is no service \"apu\"; did you mean \"api\"?"));
  CHECK_THAT(error("expect.fats.at_most=2"),
             Catch::Contains("there is no expectation \"fats\"; did you mean \"fast\"?"));
  CHECK_THAT(error("client.web.surge.rsuh.factor=2"),
             Catch::Contains("there is no surge \"rsuh\"; did you mean \"rush\"?"));
  // A name unlike any other may be meant: it hears what is missing, and what there is.
  CHECK_THAT(
      error("fault.outage.capacity=0.5"),
      Catch::Contains("there is no fault \"outage\"; there are: dip (a new one needs "
                      "fault.outage.start; expected a duration such as \"250ms\" or a number "
                      "of seconds >= 0)"));
  CHECK_THAT(errors_of(kSmall, {"fault.outage.capacity=0.5"}), !Catch::Contains("there is no"));
}

TEST_CASE("an absurd number is an error with its place") {
  CHECK_THAT(errors_of(kSmall + "[fault.f]\nstart = 1\nduration = 1\ncapacity = 1e300\n"),
             Catch::StartsWith("demo.toml:11:12: error: fault.f.capacity = 1e+300 is wrong; "
                               "expected a number from 0 to 1000000\n"));
  CHECK_THAT(
      errors_of(kSmall + "[service.api.throttle]\nrate = 1e300\n"),
      Catch::StartsWith("demo.toml:9:8: error: service.api.throttle.rate = 1e+300 is wrong"));
}

TEST_CASE("an empty list is told to be empty") {
  CHECK_THAT(errors_of(kSmall + "retry.delays = []\n", {"client.web.retry.mode=custom"}),
             Catch::StartsWith("demo.toml:8:16: error: client.web.retry.delays = [] is empty; "
                               "expected a list of at least one duration or distribution, such as "
                               "[\"100ms\", \"1s\"]\n"));
  CHECK_THAT(errors_of(kSmall + "calls = []\n"),
             Catch::Contains("client.web.calls = [] is empty; expected text in quotes, or a list"));
  CHECK_THAT(errors_of(kSmall + "calls = [1, 2]\n"),
             Catch::Contains("client.web.calls = [1, 2] is wrong"));
}

TEST_CASE("a percentage where a share is expected is an error with the share") {
  CHECK_THAT(errors_of(kSmall + "[network]\nrequest_loss = 5\n"),
             Catch::Contains("network.request_loss = 5 is wrong; expected a number from 0 to 1; "
                             "did you mean 0.05 (5 %)?"));
  const std::string expect = "[expect.slo]\nmetric = \"success_rate\"\n";
  CHECK_THAT(errors_of(kSmall + expect + "at_least = 99\n"),
             Catch::Contains("demo.toml:10:12: error: expect.slo.at_least = 99 is wrong: "
                             "success_rate is a share; expected a number from 0 to 1; did you "
                             "mean 0.99 (99 %)?"));
  CHECK_THAT(errors_of(kSmall + expect + "at_most = 1.5\n"), Catch::Contains("is a share"));
  CHECK(errors_of(kSmall + "[expect.slo]\nmetric = \"amplification\"\nat_most = 3\n").empty());
}

TEST_CASE("values that are unusual for their kind are noted with the likely meaning") {
  const auto notes = [](const std::string& more, const Edits& edits = {}) {
    std::string all;
    for (const std::string& note : load(kSmall + more, edits).notes) all += note + "\n";
    return all;
  };
  const std::string fault = "[fault.f]\nstart = 1\nduration = 1\n";
  CHECK(notes(fault + "capacity = 50\n") ==
        "fault.f.capacity = 50 is 50 times as much; did you mean 0.5 (50 %)?\n");
  CHECK_THAT(notes(fault + "speed = 20\n"), Catch::Contains("did you mean 0.2 (20 %)?"));
  CHECK(notes(fault + "capacity = 1.5\n").empty());  // scaling out
  CHECK(notes("", {R"(client.web.surge={s={start="1s",duration="1s",factor=12}})"}).empty());
  CHECK(notes("attempt_timeout = 2000\n") ==
        "client.web.attempt_timeout = 2000 is 2000 s, since a number without a unit is in seconds; "
        "did you mean \"2000ms\"?\n");
  CHECK(notes("attempt_timeout = \"2000 s\"\n").empty());
  CHECK(notes("attempt_timeout = 30\n").empty());
  CHECK_THAT(notes("", {"service.api.service_time={distribution='exponential', mean=250}"}),
             Catch::Contains("has 250 s"));
  CHECK(notes("", {"duration=600"}).empty());  // not a time of a request
}

TEST_CASE("a message lists ten names at most") {
  std::string text = "name = \"many\"\nduration = \"1s\"\n";
  for (int i = 0; i < 1010; ++i) {
    text += "[service.s" + std::to_string(i) + "]\nservice_time = \"1ms\"\n";
  }
  text += "[client.c]\narrivals = { process = \"poisson\", rate = 1 }\nretry.mode = \"none\"\n";
  CHECK_THAT(errors_of(text), Catch::Contains("the services are: s0, s1, s2, s3, s4, s5, s6, s7, "
                                              "s8, s9, ... and 1000 more\n"));
  CHECK_THAT(errors_of(text + "calls = \"quite-another-name\"\n"),
             Catch::Contains("there are: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, ... and 1000 "
                             "more\n"));
}

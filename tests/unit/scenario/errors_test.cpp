// What a user sees when a scenario is wrong: whole messages with place, source line and caret.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

#include <chrono>

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
        "demo.toml:9:1: error: unknown key \"network.zzz\"; known here: latency, request_loss, "
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
        "--set: error: unknown key \"client.web.cuont\"; did you mean \"count\"?\n"
        "client.web.cuont=2\n"
        "^\n"
        "--set: error: seed = \"x\" is wrong; expected a whole number >= 0\n"
        "seed = x\n"
        "       ^\n");
}

TEST_CASE("an empty file misses its keys") {
  CHECK(errors_of("") ==
        "demo.toml: error: name is missing; expected text in quotes\n"
        "demo.toml: error: duration is missing; expected a duration such as \"250ms\" or a number "
        "of seconds above 0, at most 1000000000\n"
        "demo.toml: error: there is no service; expected a [service.NAME] to call\n"
        "demo.toml: error: there is no client; expected a [client.NAME] that sends requests\n");
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
       "constant, once, closed, trace\n"
       "arrivals = { rate = 5 }\n"
       "^\n"
       "demo.toml:6:13: error: client.web.retry.mode is missing; expected one of none, legacy, "
       "standard, adaptive, custom\n"
       "[client.web.retry]\n"
       "            ^\n");
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
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 37 % 256);
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& text :
       {bytes, std::string("name = \"a\0b\"", 12), std::string("name = \"\xFF\xFE\"\n"),
        std::string(10'000'000, '['), std::string(10'000'000, 'x'),
        "a = " + std::string(10'000'000, '['), "a = \"" + std::string(10'000'000, 'b')}) {
    const LoadResult result = load_scenario_text(text, "demo.toml", {});
    REQUIRE(result.errors.size() == 1);
    CHECK(to_string(result.errors[0]).size() < 600);
    CHECK(result.errors[0].line >= 1);
  }
  // A second or two even in a debug build; quadratic behaviour would take hours.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
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

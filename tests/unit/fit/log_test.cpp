// Access logs of all formats say the same; what cannot be read is counted and named.
//
// SPDX-License-Identifier: MIT
#include "fit/log.hpp"

#include <retrysim/random.hpp>

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <zlib.h>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

constexpr std::int64_t kMs = 1'000'000;

Log read_text(const std::string& text, const LogOptions& options = {}) {
  const test::TemporaryFolder place;
  return read_log({place.write("log", text).string()}, options);
}

std::string why_not(const std::string& text, const LogOptions& options = {}) {
  try {
    read_text(text, options);
  } catch (const BadLog& bad) {
    return bad.what();
  }
  return "";
}

LogOptions with_columns(std::map<Role, std::string> columns) {
  LogOptions options;
  options.columns = std::move(columns);
  return options;
}

}  // namespace

TEST_CASE("times of logs: since 1970 in any unit, ISO 8601, and the common log format") {
  constexpr std::int64_t kTime = 971'211'336'000 * kMs;  // date -u -d @971211336
  for (const char* text :
       {"971211336", "971211336.000", "971211336000", "971211336000000", "971211336000000000",
        "2000-10-10T20:55:36Z", "2000-10-10 20:55:36", "2000-10-10T22:55:36+02:00",
        "10/Oct/2000:13:55:36 -0700", "10/Oct/2000:20:55:36 +0000", "10/Oct/2000:20:55:36",
        "2000/10/10 20:55:36", "2000-10-10 20:55:36,000"}) {
    CAPTURE(text);
    CHECK(parse_log_time(text) == kTime);
  }
  CHECK(parse_log_time("0.25") == 250 * kMs);
  CHECK(parse_log_time("971211336.123456789") == kTime + 123'456'789);
  CHECK(parse_log_time("971211336123.5") == kTime + 123'500'000);
  CHECK(parse_log_time("1e3") == 1'000'000 * kMs);
  CHECK(parse_log_time("29/Feb/2024:00:00:00 +0000") == 1'709'164'800'000 * kMs);
  for (const char* text :
       {"10/Oct/1012:13:55:36 +0000", "10/Oct/9999:13:55:36 +0000", "1969-12-31 23:59:59", "-1",
        "-0.5", "-99999999999", "", "-1", "x", "31/Feb/2000:13:55:36 -0700",
        "10/Okt/2000:13:55:36 -0700", "10/Oct/2000:13:55:36.", "10/Oct/2000:25:55:36 -0700", "nan",
        "inf", "1e300", "2000-13-10T20:55:36Z", "12 "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_log_time(text));
  }
}

TEST_CASE("a log of more than ten years is refused") {
  const auto lines = [](const std::string& last) {
    return "time,duration\n2020-01-01T00:00:00Z,0.1\n" + last + ",0.1\n";
  };
  CHECK(why_not(lines("2029-12-31T00:00:00Z")) == "");
  CHECK(why_not(lines("2031-01-01T00:00:00Z")).starts_with("the log spans 11 years"));
  CHECK(why_not(lines("7000000000")).starts_with("the log spans 172 years"));
  CHECK(why_not("timestamp,value\n2020-01-01 00:00:00,5\n2031-01-01 00:00:00,5\n")
            .starts_with("the log spans 11 years"));
}

TEST_CASE("client and path stand for the name of a request without one") {
  const Log log = read_text(
      "time,remote_addr,uri,request\n1,a,/x,\n2,b,/x,\n3,a,/x,\n4,a,/y,\n5,-,/x,\n6,a,/x,n\n");
  CHECK(log.has_keys);
  CHECK(log.has_requests);
  REQUIRE(log.rows.size() == 6);
  CHECK(log.rows[0].request == log.rows[2].request);
  for (const std::size_t other : {1u, 3u, 4u, 5u}) {
    CHECK(log.rows[0].request != log.rows[other].request);
  }
  CHECK(Observation::is_key(log.rows[0].request));
  CHECK(log.rows[4].request == 0);
  CHECK_FALSE(Observation::is_key(log.rows[5].request));
}

TEST_CASE("a client is the same from another port") {
  const auto same = [](const std::string& a, const std::string& b) {
    const Log log = read_text("time,remote_addr,uri\n1," + a + ",/x\n2," + b + ",/x\n3,z,/x\n");
    return log.rows[0].request == log.rows[1].request;
  };
  CHECK(same("10.0.0.1:50312", "10.0.0.1:50313"));
  CHECK(same("10.0.0.1:50312", "10.0.0.1"));
  CHECK(same("[2001:db8::1]:50312", "[2001:db8::1]:7"));
  CHECK_FALSE(same("10.0.0.1:50312", "10.0.0.2:50312"));
  CHECK_FALSE(same("2001:db8::1", "2001:db8::2"));  // without brackets that is no port
  CHECK_FALSE(same("host:a", "host:b"));
}

TEST_CASE("a request says the same in every format of log") {
  // It came at 20:55:36 UTC, and was answered with 503 after 250 ms.
  constexpr std::int64_t kStart = 971'211'336'000 * kMs;
  struct Case {
    std::string format, text;
    std::int64_t start;
  };
  const std::string request = R"("GET /a%20\"b\" HTTP/1.1")";
  const std::vector<Case> cases = {
      {"csv", "time,duration,status\n971211336.25,0.25,503\n", kStart},
      {"csv", "status,\"time\",extra,duration_ms\n503,\"971211336.25\",\"a,\"\"b\",250\n", kStart},
      {"csv", "start_time,request_time,code\r\n2000-10-10T20:55:36Z,0.25,503\r\n", kStart},
      {"json", R"({"time": 971211336.25, "duration": 0.25, "status": 503})", kStart},
      {"json", R"({"start_time":"2000-10-10T20:55:36.000Z","response_code":503,"duration":250})",
       kStart},
      {"nginx",
       "1.2.3.4 - ann [10/Oct/2000:13:55:36 -0700] " + request + " 503 12 \"-\" \"me [x]\" 0.250",
       kStart - 250 * kMs},
      {"nginx", "::1 - - [10/Oct/2000:13:55:36 -0700] " + request + " 503 12 \"-\" \"me\" (0.250)",
       kStart - 250 * kMs},
      {"envoy",
       "[2000-10-10T20:55:36.000Z] " + request +
           " 503 UO 0 81 250 - \"-\" \"curl\" \"id-7\" \"api\" \"-\"",
       kStart},
      {"alb",
       "http 2000-10-10T20:55:36.250000Z app/x/1 1.2.3.4:5 10.0.0.1:80 0.000 0.249 0.001 503 503 "
       "34 366 " +
           request +
           " \"curl/7\" - - arn:x \"Root=1-58\" \"-\" \"-\" 0 "
           "2000-10-10T20:55:36.000000Z \"forward\"",
       kStart},
      {"alb",
       "https 2000-10-10T20:55:36.250000Z app/x/1 1.2.3.4:5 - -1 -1 -1 503 - 34 366 " + request +
           " \"curl/7\" - - arn:x \"Root=1-58\" \"-\" \"-\" 0 2000-10-10T20:55:36.000000Z \"-\"",
       kStart}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Log log = read_text(c.text);
    CHECK(log.format == c.format);
    CHECK(log.bad_lines == 0);
    REQUIRE(log.rows.size() == 1);
    CHECK(log.rows[0].start_ns == c.start);
    CHECK(log.rows[0].duration_ns == 250 * kMs);
    CHECK(log.rows[0].status == 503);
    CHECK(log.has_requests == (c.format == "envoy" || c.format == "alb"));
    CHECK(log.has_keys == (c.format == "nginx"));
  }
  LogOptions apache;
  apache.format = "apache";
  const Log log = read_text(
      "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] " + request + " 200 12 \"-\" \"me\" 250000",
      apache);
  CHECK(log.rows.at(0).start_ns == kStart);
  CHECK(log.rows.at(0).duration_ns == 250 * kMs);
}

TEST_CASE("columns can be named, units and times given, services chosen") {
  LogOptions options = with_columns({{Role::kTime, "at"}, {Role::kDuration, "took"}});
  options.duration_unit_s = 1e-3;
  options.time_is_start = true;
  const Log log = read_text("took,at,request\n250,10,a\n100,11,b\n50,12,a\n", options);
  REQUIRE(log.rows.size() == 3);
  CHECK(log.rows[0].start_ns == 10'000 * kMs);
  CHECK(log.rows[0].duration_ns == 250 * kMs);
  CHECK(log.rows[0].request == log.rows[2].request);
  CHECK(log.rows[0].request != log.rows[1].request);
  CHECK_FALSE(log.has_keys);
  CHECK(log.time_resolution_ns == 1'000 * kMs);
  CHECK_FALSE(log.has_statuses);

  const std::string two = "time,duration,service\n1,0.1,api\n2,0.1,db\n3,0.1,api\n";
  LogOptions api;
  api.service = "api";
  CHECK(read_text(two, api).rows.size() == 2);
  CHECK(read_text(two, api).other_services == 1);
  CHECK(why_not(two) == "the log has several services; choose one with service: api, db");
  api.service = "apu";
  CHECK(why_not(two, api) == "the log has no lines of service \"apu\"; did you mean \"api\"?");
  CHECK_THAT(why_not("when,duration\n1,2\n"),
             Catch::EndsWith("log:1: no column is called time; name it with columns time=NAME"));
  CHECK_THAT(
      why_not("time,duration\n1,2\n", with_columns({{Role::kStatus, "durations"}})),
      Catch::EndsWith("log:1: there is no column \"durations\"; did you mean \"duration\"?"));
}

TEST_CASE(
    "lines are put in the order of their starts, and without durations they are still arrivals") {
  const Log log = read_text("time,duration\n10,9\n11,1\n12,8\n");
  CHECK(log.rows[0].start_ns == 1'000 * kMs);
  CHECK(log.rows[1].start_ns == 4'000 * kMs);
  CHECK(log.rows[2].start_ns == 10'000 * kMs);
  CHECK(log.has_durations);
  const Log arrivals = read_text("time\n10\n11.5\n");
  CHECK_FALSE(arrivals.has_durations);
  CHECK(arrivals.rows[1].start_ns == 11'500 * kMs);
  CHECK(arrivals.time_resolution_ns == kMs);
}

TEST_CASE("unreadable lines are counted and named, and more than allowed are an error") {
  std::string text = "time,duration,status\n";
  for (int i = 0; i < 200; ++i) text += fmt::format("{},0.1,200\n", i);
  text += "201,oops,200\n\n203,0.1\n";
  CHECK_THAT(why_not(text + "x,0.1,200\n"),
             Catch::StartsWith("3 of 203 lines cannot be read, more than 1 %:\n") &&
                 Catch::Contains("log:202: \"oops\" is not a duration\n") &&
                 Catch::Contains("log:204: it has 2 fields instead of 3\n") &&
                 Catch::EndsWith("log:205: \"x\" is not a time"));
  const Log log = read_text(text);
  CHECK(log.lines == 202);
  CHECK(log.bad_lines == 2);
  CHECK(log.rows.size() == 200);
  REQUIRE(log.first_bad.size() == 2);
  CHECK(log.first_bad[1].line == 204);
  LogOptions strict;
  strict.bad_lines = 0;
  CHECK_THAT(why_not(text, strict), Catch::StartsWith("2 of 202 lines cannot be read"));
  for (const char* bad : {"1,-1,200", "1,1e300,200", "1,0.1,2000", "1,0.1,-5", "1,\"0.1,200",
                          "1,nan,200", "1,200000,200", "-1,1,200"}) {
    CAPTURE(bad);
    CHECK_THAT(why_not(fmt::format("time,duration,status\n{}\n", bad)),
               Catch::StartsWith("1 of 1 lines cannot be read"));
  }
  CHECK_THAT(why_not(""), Catch::EndsWith("/log: the log has no lines"));
  CHECK_THAT(why_not("time,duration\n"), Catch::EndsWith("/log: the log has no lines"));
}

TEST_CASE("members that the first JSON lines lack are read from where they come") {
  const auto line = [](int i, const std::string& more) {
    return fmt::format("{{\"time\": {}{}}}\n", 1000 + i, more);
  };
  // Many loggers leave out what is null.
  std::string text = line(0, R"(, "duration": 0.1)");
  for (int i = 1; i < 300; ++i) {
    text += line(
        i, fmt::format(R"(, "duration": 0.1, "status": 503, "request": "r{}", "uri": "u")", i / 2));
  }
  const Log log = read_text(text);
  REQUIRE(log.rows.size() == 300);
  CHECK(log.rows[0].status == 0);
  CHECK(log.rows[299].status == 503);
  CHECK(log.has_statuses);
  CHECK(log.has_requests);
  CHECK(read_text(text, with_columns({{Role::kStatus, "status"}})).rows[299].status == 503);
  CHECK_THAT(why_not(text, with_columns({{Role::kStatus, "statuses"}})),
             Catch::EndsWith("log: there is no column \"statuses\"; did you mean \"status\"?"));
  CHECK_THAT(why_not("{\"when\": 1, \"duration\": 2}\n"),
             Catch::EndsWith("log: no column is called time; name it with columns time=NAME"));

  // Lines before the first duration have none.
  text = line(0, R"(, "status": 200)");
  for (int i = 1; i < 300; ++i) text += line(i, R"(, "status": 200, "duration_ms": 250)");
  const Log late = read_text(text);
  REQUIRE(late.rows.size() == 300);
  CHECK(late.bad_lines == 0);
  CHECK(late.has_durations);
  std::size_t without = 0;
  for (const Observation& row : late.rows) {
    CHECK(row.duration_ns == (row.has_duration ? 250 * kMs : 0));
    without += row.has_duration ? 0 : 1;
  }
  CHECK(without == 1);
  CHECK_FALSE(read_text(line(0, "") + line(1, "")).has_durations);

  // With response_code, duration is in Envoy's milliseconds, also in the lines before.
  const Log envoy = read_text(
      "{\"start_time\": 1, \"duration\": 250}\n"
      "{\"start_time\": 2, \"duration\": 250, \"response_code\": 503}\n");
  CHECK(envoy.rows[0].duration_ns == 250 * kMs);
  CHECK(envoy.rows[1].duration_ns == 250 * kMs);

  // Lines without a service are not those of a service that is asked for.
  text = line(0, R"(, "duration": 1)") + line(1, R"(, "duration": 1, "service": "api")");
  CHECK(why_not(text) == "some lines of the log name no service; choose one with service: api");
  LogOptions api;
  api.service = "api";
  CHECK(read_text(text, api).rows.size() == 1);
  CHECK(read_text(text, api).other_services == 1);
  CHECK(why_not(line(0, R"(, "duration": 1, "service": "")"), api) ==
        "the log has no lines of service \"api\"; no line names a service");
}

TEST_CASE("a line that cannot be read names no service") {
  std::string text = "time,duration,service\n";
  for (int i = 0; i < 300; ++i) text += fmt::format("{},0.1,api\n", i + i % 3);
  text += "time,duration,service\n";  // of a second file behind the first one
  CHECK(read_text(text).rows.size() == 300);
  CHECK(read_text(text).bad_lines == 1);
}

TEST_CASE("numbers of requests are finite, and no more than anybody has") {
  const std::string header = "timestamp,value\n1700000000,5\n1700000060,";
  CHECK(read_text(header + "1e12\n").counts.size() == 2);
  for (const char* bad : {"inf", "Inf", "nan", "1e300", "1.1e12", "-1"}) {
    CAPTURE(bad);
    CHECK_THAT(why_not(header + bad + "\n"),
               Catch::Contains(fmt::format("log:3: \"{}\" is not a count", bad)));
  }
}

TEST_CASE("logs may be packed, but a packed log that ends early is an error") {
  const test::TemporaryFolder place;
  std::string text = "time,duration\n";
  for (int i = 0; i < 20'000; ++i) text += fmt::format("{}.5,0.25\n", i - i % 2);
  const std::string packed = (place.path() / "log.gz").string();
  const gzFile file = ::gzopen(packed.c_str(), "wb");
  ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(file);
  const std::string plain = place.write("log", "time,duration\n30000,1\n").string();
  const Log log = read_log({packed, plain}, {});
  CHECK(log.rows.size() == 20'001);
  CHECK(log.rows[19'999].end_ns() == 19'998'500 * kMs);
  const std::string bytes = test::content_of(packed);
  const std::string cut = place.write("cut.gz", bytes.substr(0, bytes.size() / 2)).string();
  CHECK_THROWS_AS(read_log({cut}, {}), BadLog);
  CHECK_THROWS_WITH(read_log({(place.path() / "none").string()}, {}),
                    Catch::EndsWith("none: cannot be read: No such file or directory"));
}

TEST_CASE("damaged lines are counted, whatever is in them") {
  const std::vector<std::string> logs = {
      "time,duration,status,request,service\n1,0.25,200,a,x\n2,\"0.25\",503,b,x\n3,0.1,200,c,x\n",
      "{\"time\": 1, \"duration\": 0.25, \"status\": 200, \"request\": \"a\"}\n"
      "{\"time\": \"2000-10-10T20:55:36Z\", \"duration\": \"0.1\", \"status\": null}\n",
      "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET /\" 200 12 \"-\" \"me\" 0.250\n"
      "1.2.3.4 - - [10/Oct/2000:13:55:37 -0700] \"GET /\" 404 12 \"-\" \"me\" 0.001\n",
      "[2000-10-10T20:55:36.000Z] \"GET / HTTP/2\" 503 UO 0 81 250 - \"-\" \"c\" \"i\" \"a\" "
      "\"-\"\n",
      "http 2000-10-10T20:55:36.250Z app/x/1 1.2.3.4:5 10.0.0.1:80 0.000 0.249 0.001 503 503 34 3 "
      "\"GET / HTTP/1.1\" \"curl/7\" - - arn:x \"Root=1-58\" \"-\" \"-\" 0 2000-10-10T20:55:36Z\n"};
  const test::TemporaryFolder place;
  Draws draws(RandomKey(7, 0), {1, 0, 0, Purpose::kServiceTime});
  LogOptions options;
  options.bad_lines = 1;
  std::size_t bad = 0, good = 0;
  for (int round = 0; round < 400; ++round) {
    for (const std::string& log : logs) {
      std::string text = log + log;
      for (std::uint32_t i = 0; i <= draws.below(3); ++i) {
        const std::size_t at = draws.below(static_cast<std::uint32_t>(text.size()));
        switch (draws.below(4)) {
          case 0:
            text[at] = static_cast<char>(draws.below(256));
            break;
          case 1:
            text.erase(at, 1 + draws.below(20));
            break;
          case 2:
            text.insert(at, 1, "\"[],\\\n -.9e"[draws.below(11)]);
            break;
          default:
            text.resize(at);
        }
      }
      try {
        const Log read = read_log({place.write("log", text).string()}, options);
        CHECK(read.lines == read.rows.size() + read.bad_lines + read.other_services +
                                read.other_lines + read.health_checks + read.no_service);
        for (const Observation& row : read.rows) CHECK(row.duration_ns >= 0);
        bad += read.bad_lines;
        good += read.rows.size();
      } catch (const BadLog&) {  // such as a header that is gone
      }
    }
  }
  CHECK(bad > 300);
  CHECK(good > 1'000);
}

TEST_CASE("rows of many requests are numbers of requests, or no access log") {
  const auto rows = [](const std::string& header, const std::string& values, int step_s = 60) {
    std::string text = header + "\n";
    for (int i = 0; i < 30; ++i) {
      text += fmt::format("{},{}\n", 1'747'130'400 + step_s * i,
                          fmt::format(fmt::runtime(values), 40 + i % 3));
    }
    return text;
  };
  const std::vector<std::tuple<std::string, std::string, CountedIn>> counted = {
      {"timestamp,requests,latency_ms", "{},40", CountedIn::kInterval},
      {"time,duration_ms,count", "40,{}", CountedIn::kInterval},
      {"time,p50,p99,Request Count", "40,180,{}", CountedIn::kInterval},
      {"timestamp,requests_per_second", "{}", CountedIn::kSecond},
      {"timestamp,latency_p99_ms,rps", "180,{}", CountedIn::kSecond},
      {"time,req/s", "{}", CountedIn::kSecond},
      {"time,requestsPerMinute", "{}", CountedIn::kMinute}};
  for (const auto& [header, values, unit] : counted) {
    CAPTURE(header);
    const Log log = read_text(rows(header, values));
    CHECK(log.rows.empty());
    REQUIRE(log.counts.size() == 30);
    CHECK(log.counts[1].requests == 41);
    CHECK(log.counted_in == unit);
  }
  for (const char* header : {"timestamp,avg_latency_ms,p99_latency_ms", "time,latency_p95,errors",
                             "time,maxDuration,duration", "time,duration,95th"}) {
    CAPTURE(header);
    CHECK_THAT(why_not(rows(header, "40,{}")), Catch::Contains("is a figure of many requests"));
  }
  CHECK_THAT(why_not(rows("time,duration_ms,status,count", "40,200,24{}")),
             Catch::Contains("the column \"count\" says how many requests a row is of"));
  CHECK_THAT(why_not(rows("Time,api", "{}")), Catch::Contains("its lines are 60 s apart"));
  CHECK_THAT(why_not(rows("time,latency_ms", "{}")), Catch::Contains("they look like samples"));
  std::string json;
  for (int i = 0; i < 30; ++i) {
    json += fmt::format("{{\"time\":{},\"latency_ms\":{}}}\n", 1'747'130'400 + 15 * i, 40 + i % 3);
  }
  CHECK_THAT(why_not(json), Catch::Contains("its lines are 15 s apart"));

  // Each line is a request: as it says itself, or as the user does.
  CHECK(read_text(rows("time,duration_ms,status", "{},200")).rows.size() == 30);
  CHECK(read_text(rows("time,duration_ms,status,count", "{},200,1")).rows.size() == 30);
  CHECK(read_text(rows("time,client,path,status,max_latency", "a,/x,200,{}")).rows.size() == 30);
  LogOptions csv;
  csv.format = "csv";
  CHECK(read_text(rows("time,latency_ms", "{}"), csv).rows.size() == 30);
  CHECK(read_text(rows("time,duration_ms,count", "{},2"), csv).rows.size() == 30);
  CHECK(read_text(rows("time,duration_ms,count", "{},2"),
                  with_columns({{Role::kDuration, "duration_ms"}}))
            .rows.size() == 30);
  std::string uneven = "time,duration_ms\n";
  for (int i = 0; i < 30; ++i) uneven += fmt::format("{},40\n", 1'747'130'400 + 60 * i + i % 2);
  CHECK(read_text(uneven).rows.size() == 30);
}

TEST_CASE("names that never come twice give way to client and path") {
  const auto text = [](bool again) {
    std::string lines = "time,duration,status,client,path,request_id\n";
    for (int i = 0; i < 40; ++i) {
      lines += fmt::format("{}.5,0.1,200,a,/{},id-{}\n", i * i, i % 5, again && i > 38 ? 3 : i);
    }
    return lines;
  };
  const Log drawn = read_text(text(false));
  CHECK_FALSE(drawn.has_requests);
  CHECK(drawn.has_keys);
  CHECK(Observation::is_key(drawn.rows[0].request));
  CHECK(drawn.rows[0].request == drawn.rows[5].request);
  REQUIRE(drawn.notes.size() == 1);
  CHECK_THAT(drawn.notes[0], Catch::EndsWith("retries are told by client and path instead."));
  CHECK(read_text(text(true)).has_requests);
  // A line that a collector wrote twice is no retry.
  CHECK_FALSE(read_text(text(false) + "9.5,0.1,200,a,/3,id-3\n").has_requests);

  std::string alone = "time,duration,request\n", own = "time,duration,status,service,instance,";
  own += "operation,request\n";
  for (int i = 0; i < 40; ++i) {
    alone += fmt::format("{},0.1,r{}\n", i * i, i);
    own += fmt::format("{},0.1,200,api,1,call,web-{:x}\n", i * i, i);
  }
  const Log unknown = read_text(alone);
  CHECK_FALSE(unknown.has_requests);
  CHECK_FALSE(unknown.has_keys);
  REQUIRE(unknown.notes.size() == 1);
  CHECK_THAT(unknown.notes[0], Catch::EndsWith("names do not tell retries."));
  CHECK(read_text(own).has_requests);  // a simulation's attempts keep the name of their request
}

TEST_CASE("whether durations are cut off is known of some formats") {
  const auto envoy = [](const std::string& took) {
    return "[2000-10-10T20:55:36.000Z] \"GET / HTTP/1.1\" 200 - 0 9 " + took +
           " - \"-\" \"curl\" \"id-7\" \"api\" \"-\"\n";
  };
  CHECK(read_text(envoy("25")).rounding == HowRounded::kCut);
  CHECK(read_text(R"({"start_time":"2000-10-10T20:55:36Z","response_code":200,"duration":25})")
            .rounding == HowRounded::kCut);
  CHECK(read_text("1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET /\" 200 12 \"-\" \"me\" 0.250\n")
            .rounding == HowRounded::kEven);
  CHECK(read_text("time,duration_ms,status\n1,25,200\n").rounding == HowRounded::kUnknown);
}

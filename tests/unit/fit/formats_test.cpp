// What each kind of log says, and what is said of logs that say nothing: formats by their own
// description, what collectors put around lines, units that are not told, load tests.
//
// SPDX-License-Identifier: MIT
#include "fit/formats.hpp"

#include "fit/log.hpp"
#include "fit/wrappers.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

constexpr std::int64_t kMilli = 1'000'000;

Log log_of(const std::string& text, LogOptions options = {}) {
  const test::TemporaryFolder place;
  return read_log({place.write("log", text).string()}, options);
}

LogOptions with_format(std::string format) {
  LogOptions options;
  options.format = std::move(format);
  return options;
}

std::string why_refused(const std::string& text, const LogOptions& options = {}) {
  try {
    log_of(text, options);
  } catch (const BadLog& bad) {
    return bad.what();
  }
  return "";
}

/// `count` lines, one each 100 ms; `line` gets the number and the milliseconds since the beginning.
std::string lines_of(int count, const std::function<std::string(int, int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i, 100 * i) + "\n";
  return text;
}

double mean_ms(const Log& log) {
  double sum = 0, count = 0;
  for (const Observation& row : log.rows) {
    if (!row.has_duration) continue;
    sum += static_cast<double>(row.duration_ns) * 1e-6;
    ++count;
  }
  return sum / count;
}

std::string clf_time(int ms) {
  return fmt::format("01/Jun/2024:00:{:02}:{:02} +0000", ms / 60'000, ms / 1000 % 60);
}

std::string combined(int i, int ms) {
  return fmt::format("10.0.0.{} - - [{}] \"GET /v1/{} HTTP/1.1\" 200 51 \"-\" \"probe\"", i % 9,
                     clf_time(ms), i);
}

}  // namespace

TEST_CASE("a description of a format reads the lines that its server writes") {
  struct Case {
    std::string description, line;
    std::int64_t start_ms, duration_ms;  // of 2024-06-01, UTC
    int status;
  };
  const std::vector<Case> cases = {
      {"log_format timed '$remote_addr [$time_iso8601] '\n   '\"$request\" $status "
       "rt=$request_time';",
       "10.0.0.1 [2024-06-01T02:00:05+02:00] \"GET /a b HTTP/1.1\" 200 rt=0.250", 4750, 250, 200},
      {"$msec ${status}x $upstream_response_time $body_bytes_sent",
       "1717200005.125 502x 0.100, 0.050 : 0.010 7", 4965, 160, 502},
      {"escape=json {\"t\":\"$msec\",\"s\":$status,\"d\":$request_time}",
       "escape=json {\"t\":\"1717200005.125\",\"s\":499,\"d\":1.000}", 4125, 1000, 499},
      {R"(LogFormat "%h %l %u %t \"%r\" %>s %b %D" timed)",
       R"(::1 - ann [01/Jun/2024:00:00:05 +0000] "GET /\"x\" HTTP/1.1" 200 - 250000)", 5000, 250,
       200},
      {R"(%{%d/%b/%Y:%H:%M:%S}t.%{msec_frac}t %{%z}t %{ms}T %!200,304{Referer}i %s)",
       "01/Jun/2024:00:00:05.125 +0000 250 - 404", 5125, 250, 404},
      {"%{begin:msec}t %{us}T %>s", "1717200005125 250500 200", 5125, 250, 200},
      {"tomcat:%t %D %s", "[01/Jun/2024:00:00:05 +0000] 0 200", 5000, 0, 200},
      {"[%START_TIME%] %RESPONSE_CODE% %RESPONSE_FLAGS% %DURATION% \"%REQ(USER-AGENT):20%\"\n",
       "[2024-06-01T00:00:05.125Z] 0 DC 250 \"curl\"", 5125, 250, 499},
      {R"({"start": "%START_TIME%", "in": {"took": "%DURATION%"}, "code": "%RESPONSE_CODE%"})",
       R"({"code":503,"in":{"took":250},"start":"2024-06-01T00:00:05.125Z"})", 5125, 250, 503},
      {R"(%ci:%cp [%tr] %ft %b/%s %Ta %ST %tsc %hr %hs %{+Q}r)",
       R"(10.0.0.1:5 [01/Jun/2024:00:00:05.125] in~ web/srv 250 -1 CD-- {x} "GET / HTTP/1.1")",
       5125, 250, 499},
      {R"(%(h)s %(t)s "%(r)s" %(s)s %(M)s)",
       R"(10.0.0.1 [01/Jun/2024:00:00:05 +0000] "GET /" 200 250)", 4750, 250, 200},
  };
  for (const Case& c : cases) {
    CAPTURE(c.description);
    const Log log = log_of(c.line + "\n", with_format(c.description));
    REQUIRE(log.rows.size() == 1);
    CHECK((log.rows[0].start_ns - 1'717'200'000'000 * kMilli) / kMilli == c.start_ms);
    CHECK(log.rows[0].duration_ns / kMilli == c.duration_ms);
    CHECK(log.rows[0].has_duration);
    CHECK(static_cast<int>(log.rows[0].status) == c.status);
    CHECK(log.rows[0].gave_up == (c.status == 499));
  }
  std::string why_not;
  CHECK_FALSE(described_format("$status $request_time", why_not));
  CHECK_THAT(why_not, Catch::StartsWith("it has no variable for the time"));
  CHECK_THAT(why_refused("1.2.3.4 200\n", with_format("[$time_local] $status")),
             Catch::Contains("do not have the format that format describes"));
}

TEST_CASE("times of several upstreams are one duration, a missing one is none") {
  const std::string format = "$msec $status $upstream_addr $upstream_response_time $request_id";
  const Log log = log_of(
      "10.5 502 10.0.0.1:80, 10.0.0.2:80 0.100, 0.200 r1\n"
      "11.5 200 10.0.0.1:80 : 10.0.0.3:80 0.100 : 0.300 r2\n"
      "12.5 504 10.0.0.1:80, 10.0.0.2:80 -, 0.250 r3\n13.5 400 - - r4\n",
      with_format(format));
  REQUIRE(log.rows.size() == 4);
  CHECK(log.rows[0].duration_ns == 300 * kMilli);
  CHECK(log.rows[1].duration_ns == 400 * kMilli);
  CHECK(log.rows[2].duration_ns == 250 * kMilli);
  CHECK_FALSE(log.rows[3].has_duration);
  CHECK(log.rows[3].start_ns == 13'500 * kMilli);
  CHECK(log.has_requests);
}

TEST_CASE("a unit is guessed only if one of them makes sense") {
  // Mean 35 in the log's unit: milliseconds, because 35 s are longer than the log, and 35 us no
  // server needs.
  const auto with = [](double factor, int decimals) {
    return lines_of(200, [=](int i, int ms) {
      return fmt::format(R"({{"ts": {}, "status": 200, "latency": {:.{}f}}})",
                         1'717'200'000'000 + ms, factor * (10 + i % 51), decimals);
    });
  };
  CHECK(mean_ms(log_of(with(1, 0))) == Approx(34.85).margin(0.5));
  CHECK(mean_ms(log_of(with(1.001, 2))) == Approx(34.85).margin(0.5));
  CHECK(mean_ms(log_of(with(0.001, 6))) == Approx(34.85).margin(0.5));
  CHECK(mean_ms(log_of(with(1000, 0))) == Approx(34.85).margin(0.5));
  CHECK(mean_ms(log_of(with(1'000'000, 0))) == Approx(34.85).margin(0.5));
  CHECK_FALSE(log_of(with(1, 0)).notes.empty());
  // 3.5 s or 3.5 ms are both possible.
  CHECK_THAT(why_refused(with(100, 0)), Catch::Contains("may be ms (mean") &&
                                            Catch::Contains("or us (mean") &&
                                            Catch::EndsWith("give it with duration_unit"));
  LogOptions options;
  options.duration_unit_s = 1e-6;
  CHECK(mean_ms(log_of(with(100, 0), options)) == Approx(3.485).margin(0.05));
  CHECK_THAT(why_refused(with(1e-6, 9)), Catch::Contains("none makes sense"));

  // Behind the common log format a number may be Apache's %D or Tomcat's.
  const auto apache = [](int factor) {
    return lines_of(200, [=](int i, int ms) {
      return fmt::format("{} {}", combined(i, ms), factor * (10 + i % 51));
    });
  };
  const Log micro = log_of(apache(1000)), milli = log_of(apache(1));
  CHECK(mean_ms(micro) == Approx(34.85).margin(0.5));
  CHECK(mean_ms(milli) == Approx(34.85).margin(0.5));
  CHECK(micro.format == "apache");
  CHECK(micro.times_are_starts);
  CHECK(milli.format == "tomcat");
  CHECK_FALSE(milli.times_are_starts);
}

TEST_CASE("durations that name their units") {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"13.49ms", 13'490'000},   {"1m2.5s", 62'500'000'000},
      {"PT0.2S", 200'000'000},   {"PT1M0.5S", 60'500'000'000},
      {"0.5 s", 500'000'000},    {"54.483\xc2\xb5s", 54'483},
      {"120us", 120'000},        {"7ns", 7},
      {"1h", 3'600'000'000'000}, {"20 msec", 20'000'000}};
  for (const auto& [text, ns] : cases) {
    CAPTURE(text);
    CHECK(parse_duration_with_units(text) == ns);
  }
  for (const char* text :
       {"", "ms", "1", "1x", "PT", "PT1", "-1s", "1..2s", "1e400s", "40h", "1s2", "infs"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration_with_units(text));
  }
}

TEST_CASE("clients that gave up are told apart, whatever the server calls it") {
  const auto gave_up = [](const std::string& text, const LogOptions& options = {}) {
    std::string all;
    for (const Observation& row : log_of(text, options).rows) all += row.gave_up ? 'x' : '.';
    return all;
  };
  CHECK(gave_up("time,duration,status\n1,1,499\n2,1,460\n3,1,200\n4,1,504\n") == "xx..");
  const auto envoy = [](const std::string& status, const std::string& flags) {
    return "[2024-06-01T00:00:0" + status.substr(0, 1) + ".000Z] \"GET / HTTP/1.1\" " + status +
           " " + flags + " 0 5 12 11 \"-\" \"curl\" \"id\" \"a\" \"b\"\n";
  };
  CHECK(gave_up(envoy("0", "DC") + envoy("200", "-") + envoy("504", "UT")) == "x..");
  CHECK(gave_up(envoy("0", "-") + envoy("200", "UC,DC")) == "xx");
  CHECK(gave_up(
            "{\"start_time\":1,\"duration\":1,\"response_code\":0,\"response_flags\":\"DC\"}\n") ==
        "x");
  CHECK(gave_up("#Fields: date time sc-status sc-win32-status time-taken\n"
                "2024-06-01 00:00:00 200 64 5\n2024-06-01 00:00:01 200 0 5\n") == "x.");
}

TEST_CASE("what collectors put around lines is taken off") {
  const auto plain = [](int i, int ms) { return combined(i, ms) + " 0.250"; };
  const auto iso = [](int ms) {
    return fmt::format("2024-06-01T00:00:{:02}.{:03}600Z", ms / 1000, ms % 1000);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"docker", lines_of(50,
                          [&](int i, int ms) {
                            std::string text = plain(i, ms), escaped;
                            for (const char c : text)
                              escaped += c == '"' ? "\\\"" : std::string(1, c);
                            return "{\"log\":\"" + escaped +
                                   "\\n\",\"stream\":\"stdout\",\"time\":\"" + iso(ms) + "\"}";
                          })},
      {"CRI", lines_of(50, [&](int i, int ms) { return iso(ms) + " stdout F " + plain(i, ms); })},
      {"compose", lines_of(50, [&](int i, int ms) { return "web_1  | " + plain(i, ms); })},
      {"compose, with times",
       lines_of(50, [&](int i, int ms) { return "web-2 | " + iso(ms) + " " + plain(i, ms); })},
      {"syslog",
       lines_of(50, [&](int i, int ms) { return "Jun  1 00:00:00 lb nginx[7]: " + plain(i, ms); })},
      {"syslog", lines_of(50, [&](int i, int ms) {
         return "<134>1 " + iso(ms) +
                (i % 2 == 0 ? " lb nginx 7 - - " : " lb nginx 7 - [a b=\"c\"] ") + plain(i, ms);
       })}};
  for (const auto& [words, text] : cases) {
    CAPTURE(words, text.substr(0, 120));
    const Log log = log_of(text);
    CHECK(log.format == "nginx, " + words);
    CHECK(log.rows.size() == 50);
    CHECK(log.other_lines + log.bad_lines == 0);
    CHECK(mean_ms(log) == Approx(250));
    // The collector's clock is finer than that of the line.
    const bool has_time = text.find("600Z") != std::string::npos;
    CHECK((log.time_resolution_ns < kMilli) == has_time);
  }
  // A collector that gets lines in bunches, seconds later, does not tell when they were written.
  const Log late = log_of(lines_of(50, [&](int i, int ms) {
    return fmt::format("2024-06-01T00:01:{:02}.123456789Z stdout F {}", i / 10, plain(i, ms));
  }));
  CHECK(late.time_resolution_ns == 1000 * kMilli);
  // uvicorn has no clock of its own.
  const std::string uvicorn = "INFO:     10.0.0.1:5 - \"GET / HTTP/1.1\" 200 OK";
  CHECK_THAT(why_refused(uvicorn + "\n"), Catch::Contains("the lines of uvicorn have no time"));
  CHECK_THAT(
      why_refused(lines_of(20, [&](int, int) { return "Jun  1 00:00:00 web api[7]: " + uvicorn; })),
      Catch::EndsWith("the lines of uvicorn have no time, and what is around them (syslog) "
                      "has none with a year"));
  const Log timed = log_of(iso(100) + " " + uvicorn + "\n" + iso(200) + " " + uvicorn + "\n");
  CHECK(timed.rows.size() == 2);
  CHECK_FALSE(timed.has_durations);
}

TEST_CASE("a number behind the request is a duration only if it may be one") {
  // The size of the answer with its head ($bytes_sent, %O) is the size without, and a little more:
  // a mean of 60,000 would else be taken for 60 ms.
  const auto with_size = [](int i, int ms, int behind) {
    return fmt::format("10.0.0.{} - - [{}] \"GET /v1/{} HTTP/1.1\" 200 {} \"-\" \"probe\" {}",
                       i % 9, clf_time(ms), i, 20'000 + i % 40 * 2'000, behind);
  };
  const Log sizes = log_of(lines_of(
      200, [&](int i, int ms) { return with_size(i, ms, 20'000 + i % 40 * 2'000 + 300 + i % 7); }));
  CHECK(sizes.rows.size() == 200);
  CHECK_FALSE(sizes.has_durations);
  // Apache's combinedio has the length of the request besides.
  CHECK_FALSE(log_of(lines_of(200, [&](int i, int ms) {
                return fmt::format("{} {}", with_size(i, ms, 400 + i % 50),
                                   20'300 + i % 40 * 2'000);
              })).has_durations);
  const Log durations = log_of(
      lines_of(200, [&](int i, int ms) { return with_size(i, ms, 21'000 + i % 29 * 2'000); }));
  CHECK(mean_ms(durations) == Approx(49).margin(2));
  // $gzip_ratio has two decimals, times have three.
  CHECK_FALSE(log_of(lines_of(200, [](int i, int ms) {
                return fmt::format("{} \"{:.2f}\"", combined(i, ms), 2 + i % 300 / 100.0);
              })).has_durations);
  // Lengths of requests may be durations as far as the log tells; the format that is named has
  // none.
  const std::string lengths = lines_of(
      200, [](int i, int ms) { return fmt::format("{} {}", combined(i, ms), 300 + i % 70); });
  CHECK_THAT(why_refused(lengths),
             Catch::EndsWith("give it with duration_unit, or, if the number behind the request "
                             "is no duration, the format with format"));
  CHECK_FALSE(log_of(lengths, with_format("combined")).has_durations);
  CHECK(mean_ms(log_of(lines_of(50, [](int i, int ms) { return combined(i, ms) + " 0.250"; }),
                       with_format("combined"))) == Approx(250));
}

TEST_CASE("loggers of libraries and services") {
  // morgan: ":response-time ms"
  CHECK(mean_ms(log_of(lines_of(50, [](int i, int ms) {
          return fmt::format("{} - {:.3f} ms", combined(i, ms), 12.5);
        }))) == Approx(12.5));
  // Werkzeug
  const Log werkzeug = log_of(lines_of(50, [](int i, int ms) {
    return fmt::format("10.0.0.{} - - [01/Jun/2024 00:00:{:02}] \"GET / HTTP/1.1\" 200 -", i % 9,
                       ms / 1000);
  }));
  CHECK(werkzeug.rows.size() == 50);
  CHECK_FALSE(werkzeug.has_durations);
  const auto json = [](const std::function<std::string(int)>& members) {
    return log_of(lines_of(50, [&](int, int ms) { return "{" + members(ms) + "}"; }));
  };
  const auto epoch = [](int ms) { return std::to_string(1'717'200'000'000 + ms); };
  const Log kong = json([&](int ms) {
    return "\"started_at\":" + epoch(ms) +
           ",\"latencies\":{\"request\":35,\"kong\":1,\"proxy\":34},"
           "\"response\":{\"status\":200},\"request\":{\"uri\":\"/\"}";
  });
  CHECK(mean_ms(kong) == Approx(35));
  CHECK(kong.times_are_starts);
  const Log gateway = json([&](int ms) {
    return "\"requestTime\":\"01/Jun/2024:00:00:0" + std::to_string(ms / 1000) +
           " +0000\",\"requestTimeEpoch\":" + epoch(ms) +
           ",\"status\":\"200\",\"responseLatency\":\"35\"";
  });
  CHECK(mean_ms(gateway) == Approx(35));
  CHECK(gateway.times_are_starts);
  CHECK(gateway.time_resolution_ns == kMilli);
  CHECK(mean_ms(json([&](int ms) {
          return "\"timestamp\":" + epoch(ms) + ",\"status\":200,\"total_ns\":\"35000000\"";
        })) == Approx(35));
  CHECK(mean_ms(json([&](int ms) {
          return "\"@t\":\"2024-06-01T00:00:0" + std::to_string(ms / 1000) +
                 ".5Z\",\"StatusCode\":200,\"Elapsed\":35.5";
        })) == Approx(35.5));
  // nginx writes bytes of a browser's name as they came.
  const Log bytes = json([&](int ms) {
    return "\"msec\":" + epoch(ms) +
           ",\"status\":200,\"request_time\":0.035,\"agent\":\"\xff\xfe\"";
  });
  CHECK(bytes.rows.size() == 50);
  CHECK(bytes.bad_lines == 0);
}

TEST_CASE("an hour that local clocks skip is noted") {
  const auto notes_of = [](const std::string& day, const std::string& offset, int missing) {
    std::string text = "time,duration,status\n";
    for (int minute = 0; minute < 360; ++minute) {
      if (minute / 60 == missing) continue;
      text += fmt::format("{} {:02}:{:02}:{:02}{},0.1,200\n", day, minute / 60, minute % 60,
                          minute * 7 % 60, offset);
    }
    return log_of(text).notes;
  };
  const std::vector<std::string> notes = notes_of("2025-03-30", "", 2);
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::StartsWith("No line is from 02:00 to 03:00 on 2025-03-30, a Sunday"));
  CHECK(notes_of("2025-03-30", "Z", 2).empty());
  CHECK(notes_of("2025-03-30", "", 4).empty());
  CHECK(notes_of("2025-03-31", "", 2).empty());
  CHECK(notes_of("2025-03-30", "", 7).empty());
}

TEST_CASE("the time of an API Gateway is read with an epoch and without") {
  const std::string more = R"("status":"200","responseLatency":"25","ip":"1.2.3.4"})";
  const std::string line =
      R"({"requestId":"a","requestTime":"10/Oct/2000:20:55:36 +0000",)" + more + "\n";
  const Log log = log_of(line + line);
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].start_ns == 971'211'336'000'000'000);
  CHECK(log.times_are_starts);
  const Log epoch = log_of(
      R"({"requestTime":"10/Oct/2000:20:55:36 +0000","requestTimeEpoch":971211336250,)" + more);
  REQUIRE(epoch.rows.size() == 1);
  CHECK(epoch.rows[0].start_ns == 971'211'336'250'000'000);
}

TEST_CASE("columns that another sign separates are named") {
  CHECK_THAT(
      why_refused("time\tduration\tstatus\n1\t0.1\t200\n"),
      Catch::EndsWith("log:1: its columns are separated by tabs; write commas, and points in "
                      "decimals"));
  CHECK_THAT(why_refused("ts;latency;http_status\n1;0,1;200\n"),
             Catch::Contains("separated by semicolons"));
}

TEST_CASE("a report of vegeta is told by its members, in any order") {
  const std::string report =
      R"({"requests":9,"latencies":{"mean":1},"bytes_in":{"total":1},"bytes_out":{"total":1},)"
      R"("success":1,"status_codes":{"200":9},"errors":[]})";
  CHECK_THAT(why_refused(report), Catch::Contains("the report of vegeta"));
  const Log kong =
      log_of(R"({"latencies":{"request":25,"kong":1,"proxy":24},"started_at":971211336000,)"
             R"("response":{"status":200},"request":{"uri":"/a"},"client_ip":"1.2.3.4"})");
  REQUIRE(kong.rows.size() == 1);
  CHECK(kong.rows[0].duration_ns == 25'000'000);
}

TEST_CASE("a clock that is set back by an hour is named") {
  // Six hours of a line each ten seconds; clocks go back at 03:00.
  const auto line = [](int s) {
    return fmt::format(
        "{{\"time\":\"2024-10-27T{:02}:{:02}:{:02}\",\"duration_ms\":5,\"status\":200}}\n",
        s / 3600, s / 60 % 60, s % 60);
  };
  const auto hours = [&](int begin, int end) {
    std::string text;
    for (int s = begin; s < end; s += 10) text += line(s);
    return text;
  };
  constexpr int kHour = 3600;
  CHECK_THAT(
      why_refused(hours(0, 3 * kHour) + hours(2 * kHour, 5 * kHour)),
      Catch::EndsWith("log:1081: the times go back by an hour and go on from there, as at the "
                      "end of summer time, without an offset that would tell both hours "
                      "apart; fit the lines before this one, or those from it on"));
  // Files of an hour put together, files in another order, a request that took an hour.
  CHECK(why_refused(hours(0, kHour) + hours(0, kHour)).empty());
  CHECK(why_refused(hours(2 * kHour, 3 * kHour) + hours(kHour, 2 * kHour)).empty());
  CHECK(why_refused(hours(0, 3 * kHour) + line(2 * kHour) + hours(3 * kHour, 4 * kHour)).empty());
}

TEST_CASE("lines that are no requests are counted apart, those of another format are not") {
  std::string text = lines_of(30, [](int i, int ms) { return combined(i, ms) + " 0.010"; });
  text += "java.lang.IllegalStateException: pool\n\tat com.shop.Pool.take(Pool.java:7)\n";
  text +=
      "10.0.0.7 - - [01/Jun/2024:00:00:05 +0000] \"GET /healthz HTTP/1.1\" 200 2 \"-\" \"x\" "
      "0.001\n";
  text +=
      "10.0.0.7 - - [01/Jun/2024:00:00:05 +0000] \"GET / HTTP/1.1\" 200 2 \"-\" "
      "\"kube-probe/1.29\" 0.001\n";
  const Log log = log_of(text);
  CHECK(log.rows.size() == 30);
  CHECK(log.other_lines == 2);
  CHECK(log.health_checks == 2);
  CHECK(log.bad_lines == 0);
  CHECK(log.first_other.at(0).line == 31);
  // Half of the log in another format is not half of the load.
  CHECK_THAT(why_refused(text + "[01/Jun/2024:00:00:05 +0000] GET shop \"/\" 200 1\n"),
             Catch::Contains("1 of 35 lines cannot be read"));
  CHECK_THAT(why_refused(text + R"({"ts":1,"status":200,"duration":1})" + "\n"),
             Catch::Contains("1 of 35 lines cannot be read"));
  CHECK_THAT(
      why_refused("10.0.0.7 - - [01/Jun/2024:00:00:05 +0000] \"GET /health HTTP/1.1\" 200 2\n"),
      Catch::Contains("1 health checks of load balancers, and no other requests"));

  // JSON lines of another kind.
  const std::string json = lines_of(30, [](int, int ms) {
    return fmt::format(R"({{"ts": {}, "status": 200, "duration": 0.01}})", 1'717'200'000'000 + ms);
  });
  const Log mixed = log_of(json + R"({"ts": 1717200000, "level": "warn", "msg": "rule 942431"})" +
                           "\npanic: no\n");
  CHECK(mixed.rows.size() == 30);
  CHECK(mixed.other_lines == 2);
  CHECK_THAT(why_refused(lines_of(
                 30,
                 [](int i, int) {
                   return fmt::format(R"({{"ts": {}, "msg": "cleaned", "entries": {}}})", i + 1, i);
                 })),
             Catch::Contains("its lines are no requests") && Catch::Contains("entries, msg"));
  CHECK_THAT(why_refused("2024/06/01 00:00:00 [error] 7#7: *1 open() failed\n"),
             Catch::Contains("the format is none that is known"));
  CHECK_THAT(why_refused("<Event xmlns=\"urn:e\"> <Time at='7' zone=\"x\" a=\"b\"/> </Event>\n"),
             Catch::Contains("XML and HTML are not read"));
  // A status that is a word is that of something else, unless the line is one of a request.
  CHECK_THAT(why_refused(lines_of(30,
                                  [](int i, int) {
                                    return fmt::format(
                                        "time={} level=info msg=\"no pod\" status=Pending", i + 1);
                                  })),
             Catch::Contains("30 of 30 lines are no requests"));
  CHECK_THAT(why_refused(lines_of(30,
                                  [](int i, int) {
                                    return fmt::format("time={} path=/a elapsed=2ms status=fine",
                                                       i + 1);
                                  })),
             Catch::Contains("\"fine\" is not a status"));
}

TEST_CASE("a W3C log may have its date in the head alone") {
  const std::string head =
      "#Software: Microsoft Internet Information Services 8.5\n#Version: 1.0\n"
      "#Date: 2024-05-31 23:59:50\n#Fields: time c-ip cs-method cs-uri-stem sc-status time-taken\n";
  const Log log = log_of(head + lines_of(30, [](int i, int) {
                           const int second = (86'390 + i) % 86'400;
                           return fmt::format("{:02}:{:02}:{:02} 10.0.0.1 GET /a{} 200 15",
                                              second / 3600, second / 60 % 60, second % 60, i);
                         }));
  REQUIRE(log.rows.size() == 30);
  CHECK(log.bad_lines == 0);
  // It goes on after midnight.
  const auto [first, last] =
      std::ranges::minmax(log.rows, {}, [](const Observation& row) { return row.end_ns(); });
  CHECK(last.end_ns() - first.end_ns() > 28'000 * kMilli);
  CHECK(last.end_ns() - first.end_ns() < 31'000 * kMilli);
  CHECK(mean_ms(log) == Approx(15));
}

TEST_CASE("pairs of logfmt are members, whatever is between them") {
  const Log log = log_of(
      lines_of(30,
               [](int i, int ms) {
                 return fmt::format(
                     "time=\"2024-06-01T00:00:{:02}.{:03}Z\" level=info msg=\"GET /a b\" status={} "
                     "elapsed=12.5ms",
                     ms / 1000, ms % 1000, i % 10 == 0 ? 503 : 200);
               }) +
      "nothing of that kind\n");
  CHECK(log.format == "logfmt");
  CHECK(log.rows.size() == 30);
  CHECK(log.other_lines == 1);
  CHECK(log.rows[0].status == 503);
  CHECK(mean_ms(log) == Approx(12.5));
  // Heroku calls the duration "service".
  const Log heroku = log_of(lines_of(30, [](int, int ms) {
    return fmt::format(
        "2024-06-01T00:00:{:02}.{:03}000+00:00 heroku[router]: at=info path=\"/\" "
        "dyno=web.1 connect=1ms service=18ms status=200 bytes=13",
        ms / 1000, ms % 1000);
  }));
  CHECK(heroku.rows.size() == 30);
  CHECK(mean_ms(heroku) == Approx(18));
  CHECK_THAT(why_refused("[{\"ts\":1},\n{\"ts\":2}]\n"), Catch::Contains("an array of JSON"));
}

TEST_CASE("a name is that of a request only if it looks like one") {
  const auto with = [](const std::function<std::string(int)>& request) {
    return log_of(lines_of(400, [&](int i, int ms) {
      return fmt::format(
          R"({{"ts": {}, "status": 200, "remote_addr": "10.0.0.{}", "request": {}}})",
          1'717'200'000'000 + ms, i % 7, request(i));
    }));
  };
  // A request line stands for the path.
  const Log lines = with([](int i) { return fmt::format("\"GET /{} HTTP/1.1\"", i % 5); });
  CHECK_FALSE(lines.has_requests);
  CHECK(lines.has_keys);
  CHECK_FALSE(with([](int) { return std::string(R"({"id": "x"})"); }).has_requests);
  CHECK(with([](int i) { return fmt::format("\"r{}\"", i / 3); }).has_requests);
  const Log users = with([](int i) { return fmt::format("\"user{}\"", i % 9); });
  CHECK_FALSE(users.has_requests);
  CHECK(users.notes.size() == 1);
}

TEST_CASE("lines of no service are left out if there are few") {
  const Log log = log_of(lines_of(40, [](int i, int ms) {
    return fmt::format(R"({{"ts": {}, "status": {}, "upstream_cluster": {}}})",
                       1'717'200'000'000 + ms, i % 20 == 0 ? 404 : 200,
                       i % 20 == 0 ? "null" : "\"web\"");
  }));
  CHECK(log.rows.size() == 38);
  CHECK(log.no_service == 2);
  for (const Observation& row : log.rows) CHECK(row.status == 200);
}

TEST_CASE("results of load tests are read as such, or refused by their name") {
  std::string jtl = "timeStamp,elapsed,label,responseCode,responseMessage,success,allThreads\n";
  for (int i = 0; i < 100; ++i) {
    jtl += fmt::format("{},{},get,{},{},true,5\n", 1'717'200'000'000 + 100 * i, 200,
                       i % 10 == 3   ? "Non HTTP response code: java.net.SocketTimeoutException"
                       : i % 10 == 7 ? "Non HTTP response code: java.net.ConnectException"
                                     : "200",
                       i % 10 == 3 ? "Non HTTP response message: Read timed out" : "OK");
  }
  const Log jmeter = log_of(jtl);
  REQUIRE(jmeter.load_test);
  CHECK(jmeter.rows.size() == 100);
  CHECK(jmeter.rows[0].start_ns == 1'717'200'000'000 * kMilli);  // the time of the beginning
  CHECK(jmeter.load_test->users == 5);
  CHECK_FALSE(jmeter.load_test->users_change);
  CHECK(jmeter.load_test->timeouts == 10);
  CHECK(jmeter.load_test->no_answers == 10);
  // Five users make ten requests a second: one each 500 ms, of which it takes 200.
  CHECK(jmeter.load_test->think_s == Approx(0.3).margin(0.01));

  // What a Transaction Controller adds up is no request of its own.
  const std::string sum =
      "1717200009950,800,T,,\"Number of samples in transaction : 4, number of failing samples : "
      "1\",false,5\n1717200009960,800,T,200,\"Number of samples in transaction : 4, number of "
      "failing samples : 0\",true,5\n";
  const Log with_sums = log_of(jtl + sum);
  CHECK(with_sums.rows.size() == 100);
  CHECK(with_sums.other_lines == 2);
  CHECK(with_sums.load_test->no_answers == 10);

  std::string k6 = "metric_name,timestamp,metric_value,error_code,status\n";
  for (int i = 0; i < 60; ++i) {
    k6 += fmt::format("http_reqs,{0},1,,200\nhttp_req_duration,{0},35.5,,200\nvus,{0},3,,\n",
                      1'717'200'000 + i);
  }
  const Log of_k6 = log_of(k6);
  CHECK(of_k6.rows.size() == 60);
  CHECK(of_k6.lines == 60);
  CHECK(of_k6.load_test->users == 3);
  CHECK(mean_ms(of_k6) == Approx(35.5));
  const Log json = log_of(
      R"({"type":"Metric","data":{"name":"http_req_duration"},"metric":"http_req_duration"})"
      "\n"
      R"({"metric":"http_reqs","type":"Point","data":{"time":"2024-06-01T00:00:01Z","value":1)"
      R"(,"tags":{"status":"200"}}})"
      "\n"
      R"({"metric":"http_req_duration","type":"Point","data":{"time":"2024-06-01T00:00:01.5Z")"
      R"(,"value":12.5,"tags":{"status":"503"}}})"
      "\n"
      R"({"metric":"http_req_duration","type":"Point","data":{"time":"2024-06-01T00:00:02Z",")"
      R"(value":60000,"tags":{"status":"0","error_code":"1050"}}})"
      "\n");
  REQUIRE(json.rows.size() == 2);
  CHECK(json.rows[1].duration_ns == 12'500'000);
  CHECK(json.rows[1].status == 503);
  CHECK(json.rows[0].gave_up);

  const Log vegeta = log_of(
      R"({"attack":"","seq":0,"code":200,"timestamp":"2024-06-01T00:00:00.5Z","latency":13490)"
      R"(000,"error":""})"
      "\n");
  CHECK(vegeta.load_test->tool == "vegeta");
  CHECK(vegeta.rows.at(0).duration_ns == 13'490'000);
  const Log encoded = log_of("1717200000500000000,0,13490000,0,0,dial tcp: refused,,,7,GET,u,\n");
  CHECK(encoded.rows.at(0).status == kNoAnswer);
  CHECK(
      log_of("response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,"
             "offset\n0.0134,0,0,0,0,0,200,0.5\n")
          .rows.at(0)
          .duration_ns == 13'400'000);

  const std::vector<std::pair<std::string, std::string>> refused = {
      {"Timestamp,User Count,Type,Name,Requests/s\n1,1,,A,1\n", "history of Locust"},
      {"Type,Name,Request Count,Failure Count\nGET,/,1,0\n", "statistics of Locust"},
      {"Running 30s test @ http://shop\n  2 threads and 10 connections\n", "summary of wrk"},
      {"Requests      [total, rate, throughput]  10, 1, 1\n", "report of vegeta"},
      {"Summary:\n  Success rate:\t100.00%\n", "summary of oha"},
      {"Summary:\n  Total:\t1 secs\n  Requests/sec:\t9\n", "summary of hey"},
      {"This is ApacheBench, Version 2.3\n", "summary of ab"},
      {"<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">\n", "JMeter as XML"},
      {"<testResults version=\"1.2\">\n", "JMeter as XML"},
      {"{\n  \"root_group\": {},\n  \"metrics\": {}\n}\n", "summary of k6"}};
  for (const auto& [text, words] : refused) {
    CAPTURE(text);
    CHECK_THAT(why_refused(text),
               Catch::Contains("this is no access log, but") && Catch::Contains(words));
  }
}

TEST_CASE("hostile lines of the new formats are bad lines") {
  LogOptions lenient;
  lenient.bad_lines = 1;
  const std::string deep = "{\"ts\":1,\"status\":200,\"x\":" + std::string(100'000, '[') +
                           std::string(100'000, ']') + "}\n";
  const std::string good = "{\"ts\":1,\"status\":200,\"d\":{\"duration\":1}}\n";
  CHECK(log_of(good + deep, lenient).bad_lines == 1);
  CHECK(log_of(good + "{\"" + std::string(1'000'000, 'n') + "\":1}\n", lenient).bad_lines == 1);
  CHECK(log_of(good + "{\"ts\":1,\"status\":1000}\n", lenient).bad_lines == 1);
  CHECK(log_of(good + "{\"ts\":1,\"status\":999}\n", lenient).rows.back().status == 999);
  // Docker's wrapping, as deep, around a log that is known.
  const std::string wrapped =
      R"({"log":"10.0.0.1 - - [01/Jun/2024:00:00:05 +0000] \"GET / HTTP/1.1\" 200 5\n",)"
      R"("stream":"stdout","time":"2024-06-01T00:00:05.5Z")";
  const Log log =
      log_of(wrapped + "}\n" + wrapped + "}\n" + wrapped + ",\"x\":" + std::string(100'000, '[') +
                 std::string(100'000, ']') + "}\n",
             lenient);
  CHECK(log.rows.size() == 2);
}

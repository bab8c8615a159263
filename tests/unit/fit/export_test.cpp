// Monitoring exports: counters since their start, and series for each host.
//
// SPDX-License-Identifier: MIT
#include "fit/fit.hpp"

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <string>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

Log read_export(const std::string& text) {
  const test::TemporaryFolder place;
  return read_log({place.write("log", text).string()}, {});
}

std::string why_not_export(const std::string& text) {
  try {
    read_export(text);
  } catch (const BadLog& bad) {
    return bad.what();
  }
  return "";
}

constexpr int kExportBegin = 1'747'130'400;

/// A counter that grows by 600 or 606 in a minute, and begins again in the 30th.
std::string counter_export(const std::string& name) {
  std::string text = "time," + name + "\n";
  int total = 5'000'000;
  for (int i = 0; i < 60; ++i) {
    total += 600 + 6 * (i % 2);
    if (i == 30) total = 300;
    if (i != 40) text += fmt::format("{},{}\n", kExportBegin + 60 * i, total);
  }
  return text;
}

bool export_notes(const Fit& fit, const std::string& what) {
  for (const std::string& note : fit.notes) {
    if (note.find(what) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("what counters have had since their start counts by its differences") {
  for (const char* name : {"total_requests", "http_requests_total", "requestsTotal",
                           "http_request_duration_seconds_count", "request_counter"}) {
    CAPTURE(name);
    const Fit fit = fit_log(read_export(counter_export(name)));
    CHECK(fit.arrivals.rates.front() == Approx(606.0 / 60));
    CHECK(fit.arrivals.peak < 11);
    CHECK(fit.arrivals.rate.value == Approx(10).margin(0.1));
    CHECK(fit.arrivals.span_s == Approx(59 * 60));
    CHECK(export_notes(fit, "their differences; the counter began again once"));
  }
  CHECK_THAT(why_not_export(counter_export("requests")), Catch::Contains("\"requests\" only grow"));
  CHECK_THAT(why_not_export(counter_export("value")),
             Catch::Contains("call the column requests_total"));

  // Numbers of each interval, whatever they are called.
  std::string text = "time,total_requests\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{},{}\n", kExportBegin + 60 * i, 600 + 7 * (i % 5));
  CHECK(fit_log(read_export(text)).arrivals.rate.value == Approx(10.2).margin(0.1));
  std::string constant = "time,requests\n";
  for (int i = 0; i < 60; ++i) constant += fmt::format("{},600\n", kExportBegin + 60 * i);
  CHECK(fit_log(read_export(constant)).arrivals.rate.value == Approx(10));
}

TEST_CASE("series of an export are added up, at the same times or not") {
  const auto series = [](const std::string& header, int late_s, const std::string& first,
                         const std::string& second) {
    std::string text = header + "\n";
    for (int i = 0; i < 40; ++i) {
      text += fmt::format("{},{},{}\n", kExportBegin + 60 * i, first, 600 + i % 3);
      text += fmt::format("{},{},{}\n", kExportBegin + 60 * i + late_s, second, 1200 + i % 5);
    }
    return text;
  };
  for (const int late_s : {0, 7, 29}) {
    CAPTURE(late_s);
    for (const char* header :
         {"time,instance,requests", "time,pod,requests", "time,who,requests"}) {
      CAPTURE(header);
      const Fit fit = fit_log(read_export(series(header, late_s, "a-1", "b-2")));
      CHECK(fit.arrivals.bin_s == Approx(60));
      CHECK(fit.arrivals.rate.value == Approx(30).margin(0.2));
      CHECK(export_notes(fit, "The numbers of 2 series"));
    }
    const Fit addresses = fit_log(
        read_export(series("time,instance,requests", late_s, "10.0.0.1:80", "10.0.0.2:80")));
    CHECK(addresses.arrivals.rate.value == Approx(30).margin(0.2));
    const Fit rates = fit_log(read_export(series("time,host,rps", late_s, "a", "b")));
    CHECK(rates.arrivals.rate.value == Approx(1803).margin(5));
  }
  // Without a name for the series.
  std::string text = "time,requests\n";
  for (int i = 0; i < 80; ++i)
    text += fmt::format("{},{}\n", kExportBegin + 60 * (i / 2), 300 + i % 3);
  const Fit fit = fit_log(read_export(text));
  CHECK(fit.arrivals.rate.value == Approx(10).margin(0.1));
  CHECK(export_notes(fit, "Several numbers of the same time are added up"));

  // Counters of two hosts, of which one begins again.
  std::string counters = "time,host,requests_total\n";
  for (int i = 0; i < 40; ++i) {
    counters += fmt::format("{},a,{}\n", kExportBegin + 60 * i, 1'000'000 + 600 * i);
    counters += fmt::format("{},b,{}\n", kExportBegin + 60 * i, i < 20 ? 300 * i : 300 * (i - 19));
  }
  CHECK(fit_log(read_export(counters)).arrivals.rate.value == Approx(15).margin(0.1));

  CHECK_THAT(why_not_export(series("time,service,requests", 0, "pay", "stock")),
             Catch::Contains("the log has several services"));
}

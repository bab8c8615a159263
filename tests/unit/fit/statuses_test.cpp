// What statuses mean that only the whole log tells, statuses of gRPC, and which column is the path.
//
// SPDX-License-Identifier: MIT
#include "fit/fit.hpp"

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <functional>
#include <string>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

Log read_statuses(const std::string& text, const LogOptions& options = {}) {
  const test::TemporaryFolder place;
  return read_log({place.write("log", text).string()}, options);
}

/// 200 lines, each with the status that its number has.
std::string lines_with(const std::string& column, const std::function<std::string(int)>& status) {
  std::string text = fmt::format("time,duration,{}\n", column);
  for (int i = 0; i < 200; ++i) {
    text +=
        fmt::format("{}.{:03},0.0{},{}\n", 1'747'130'400 + i, 7 * i % 1000, 1 + i % 7, status(i));
  }
  return text;
}

bool status_notes(const Fit& fit, const std::string& what) {
  for (const std::string& note : fit.notes) {
    if (note.find(what) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("where statuses are written for errors only, lines without one are successes") {
  for (const char* nothing : {"", "-", "0"}) {
    CAPTURE(nothing);
    const Fit fit = fit_log(read_statuses(lines_with("status", [&](int i) {
      return std::string(i % 20 == 0 ? "503" : i % 20 == 1 ? "404" : nothing);
    })));
    CHECK(fit.error_share == 0.05);
    CHECK(fit.without_status == 0);
    CHECK(status_notes(fit, "180 of 200 lines have no status, and the others have errors only"));
  }
  // Successes are written, too, or only few lines have no status.
  const Fit some = fit_log(read_statuses(lines_with("status", [&](int i) {
    return std::string(i % 4 == 0 ? "503" : i % 4 == 1 ? "200" : "");
  })));
  CHECK(some.error_share == 0.5);
  CHECK(some.without_status == 100);
  const Fit few = fit_log(read_statuses(
      lines_with("status", [&](int i) { return std::string(i % 4 == 0 ? "" : "503"); })));
  CHECK(few.error_share == 1);
  CHECK(few.without_status == 50);
}

TEST_CASE("statuses of gRPC are read by number and by name") {
  for (const char* column : {"code", "status", "grpc_code", "grpc.code", "grpcStatus"}) {
    for (const char* code : {"14", "UNAVAILABLE", "Unavailable", "StatusCode.UNAVAILABLE"}) {
      CAPTURE(column, code);
      const bool number = code[0] == '1';
      const Log log = read_statuses(lines_with(column, [&](int i) {
        return std::string(i % 20 == 0   ? code
                           : i % 20 == 1 ? (number ? "5" : "NOT_FOUND")
                                         : (number ? "0" : "OK"));
      }));
      const Fit fit = fit_log(log);
      CHECK(fit.error_share == 0.05);
      CHECK(fit.without_status == 0);
      CHECK(log.rows[0].status == 503);
      CHECK(log.rows[1].status == 404);
      CHECK(log.rows[2].status == 200);
    }
  }
  for (const auto& [name, status] : {std::pair{"DeadlineExceeded", 504},
                                     {"deadline_exceeded", 504},
                                     {"Canceled", 499},
                                     {"RESOURCE_EXHAUSTED", 429},
                                     {"8", 429},
                                     {"0", 200},
                                     {"14 UNAVAILABLE", 503}}) {
    CAPTURE(name);
    CHECK(status_of_grpc(name) == status);
  }
  for (const char* none : {"17", "", "-", "200", "Pending", "Code(17)"}) {
    CHECK_FALSE(status_of_grpc(none));
  }
  // All is well; a status of HTTP that is always 0 says nothing.
  const auto zeros = [](const char* column) {
    return read_statuses(lines_with(column, [](int) { return std::string("0"); })).has_statuses;
  };
  CHECK(zeros("code"));
  CHECK(zeros("grpc_status"));
  CHECK_FALSE(zeros("status"));
  // HTTP has 200 for all answers of gRPC.
  std::string json;
  for (int i = 0; i < 40; ++i) {
    json += fmt::format(
        R"({{"time":{},"duration":0.0{},"status":200,"grpc":{{"code":"{}","method":"Get"}}}})"
        "\n",
        1'747'130'400 + i, 1 + i % 7, i % 4 == 0 ? "Unavailable" : "OK");
  }
  CHECK(fit_log(read_statuses(json)).error_share == 0.25);
}

TEST_CASE("a request line is the path, whatever its column is called") {
  const auto keys = [](const std::string& members) {
    std::string json;
    for (int i = 0; i < 40; ++i) {
      json += fmt::format(R"({{"time":{},"request_time":0.0{},"status":200,"remote_addr":"a",)",
                          1'747'130'400 + i, 1 + i % 7) +
              fmt::format(fmt::runtime(members), i) + "}\n";
    }
    return read_statuses(json).has_keys;
  };
  CHECK(keys(R"("request":"GET /x HTTP/1.1","request_id":"id{}")"));
  CHECK(keys(R"("request_id":"id{}","request":"GET /x?a=1 HTTP/1.1","uri":"/x")"));
  CHECK(keys(R"("requestId":"id{}","resourcePath":"/pets/{{id}}")"));
  CHECK(keys(R"("requestId":"id{}","routeKey":"GET /pets")"));
  CHECK_FALSE(keys(R"("request_id":"id{0}","request":"another{0}")"));
}

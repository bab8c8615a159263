// CSV inputs: monitoring exports, profiles, request times, empirical distributions, and the places
// of mistakes in them.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/csv_inputs.hpp"

#include "loading.hpp"
#include "scenario/text/scenario_reader.hpp"

using namespace retrysim;
using namespace retrysim::scenario;

namespace {

struct Loader {
  TemporaryFolder folder;

  // A scenario whose client has the arrivals `keys`, with input.csv of the given content.
  LoadedScenario load(const std::string& csv, const std::string& keys) const {
    folder.write("input.csv", csv);
    return retrysim::load(kSmall, {"client.web.arrivals={" + keys + "}"}, folder.path());
  }
  std::string errors(const std::string& csv, const std::string& keys) const {
    folder.write("input.csv", csv);
    std::string text = errors_of(kSmall, {"client.web.arrivals={" + keys + "}"}, folder.path());
    const std::string prefix = folder.path().string() + "/";
    for (std::size_t at = 0; (at = text.find(prefix)) != std::string::npos;) {
      text.erase(at, prefix.size());
    }
    return text;
  }
};

const std::string kTrace = "process='trace', file='input.csv'";

const std::string kExport =
    "timestamp,value\n"
    "2014-04-10 00:04:00,60\n"
    "2014-04-10 00:09:00,30\n"
    "2014-04-10 00:24:00,90\n"
    "2014-04-10 00:29:00,0\n";

}  // namespace

TEST_CASE("timestamps") {
  CHECK(parse_timestamp("1970-01-01 00:00:00") == 0);
  CHECK(parse_timestamp("1970-01-02T00:00:01Z") == 86'401'000'000'000);
  CHECK(parse_timestamp("2014-04-10 00:04:00") == 1'397'088'240'000'000'000);
  CHECK(parse_timestamp("2014-04-10T02:04:00+02:00") == 1'397'088'240'000'000'000);
  CHECK(parse_timestamp("2014-04-09T19:34:00-0430") == 1'397'088'240'000'000'000);
  CHECK(parse_timestamp("1970-01-01T00:00:00.25Z") == 250'000'000);
  CHECK(parse_timestamp("1970-01-01T00:01") == 60'000'000'000);
  CHECK(parse_timestamp("2016-02-29 00:00:00").has_value());
  for (const char* bad :
       {"", "2014-04-10", "2015-02-29 00:00:00", "2014-13-01 00:00:00", "2014-04-10 24:00:00",
        "2014-04-10 00:60:00", "2014-04-10 00:00:60", "2014-04-10 00:00:00 UTC",
        "2014-04-10 00:00:00.", "14-04-10 00:00:00", "2014-04-10x00:00:00", "0001-01-01 00:00:00",
        "2014-04-10T00:00:00+99:00"}) {
    INFO(bad);
    CHECK_FALSE(parse_timestamp(bad).has_value());
  }
}

TEST_CASE("a monitoring export is a rate over compressed time") {
  const Loader loader;
  const LoadedScenario loaded = loader.load(kExport, kTrace + ", speed_up=100, scale=2");
  const ArrivalSpec& a = loaded.scenario.clients[0].arrivals;
  CHECK(a.process == ArrivalProcess::kTrace);
  REQUIRE(a.profile.has_value());
  CHECK_FALSE(a.profile->linear);
  CHECK_FALSE(a.even_spacing);
  // Offsets 0, 5, 20, 25 min / 100; the last bucket of 5 min ends at 30 min.
  CHECK(a.profile->times == std::vector<Time>{Time::zero(), Time::from_nanoseconds(3'000'000'000),
                                              Time::from_nanoseconds(12'000'000'000),
                                              Time::from_nanoseconds(15'000'000'000),
                                              Time::from_nanoseconds(18'000'000'000)});
  // value / 300 s * 2
  CHECK(a.profile->rates == std::vector<double>{0.4, 0.2, 0.6, 0, 0});
  CHECK(loaded.notes == std::vector<std::string>{
                            "input.csv: 1 gap wider than the bucket of 300s, the first after line "
                            "3; the last value before a gap holds in it"});
  CHECK(loaded.input_files ==
        std::vector<std::filesystem::path>{loader.folder.path() / "input.csv"});
}

TEST_CASE("a gap is reported once, however many groups follow the trace") {
  const Loader loader;
  loader.folder.write("input.csv", kExport);
  const LoadedScenario loaded =
      load(kSmall, {"client.web.arrivals={" + kTrace + "}", "client.more={like='web'}"},
           loader.folder.path());
  CHECK(loaded.notes.size() == 1);
  CHECK(loaded.input_files.size() == 1);
}

TEST_CASE("a compressed export carries the sum of its values, scaled, over the speed") {
  const Loader loader;
  const std::string gapless =
      "timestamp,value\n2014-04-10 00:00:00,60\n2014-04-10 00:05:00,30\n2014-04-10 00:10:00,90\n";
  const RateProfile profile =
      *loader.load(gapless, kTrace + ", speed_up=10, scale=3").scenario.clients[0].arrivals.profile;
  double requests = 0;
  for (std::size_t i = 0; i + 1 < profile.times.size(); ++i) {
    requests += profile.rates[i] * (profile.times[i + 1] - profile.times[i]).in_seconds();
  }
  CHECK(requests == Approx((60 + 30 + 90) * 3 / 10.0));
}

TEST_CASE("bucket and spacing of an export") {
  const Loader loader;
  const ArrivalSpec a =
      loader.load(kExport, kTrace + ", bucket='60s', spacing='even'").scenario.clients[0].arrivals;
  CHECK(a.profile->rates[0] == 1);  // 60 requests / 60 s
  CHECK(a.profile->times.back().count() == (25 * 60 + 60) * 1'000'000'000LL);
  CHECK(a.even_spacing);
  CHECK_THAT(loader.errors("timestamp,value\n2014-04-10 00:00:00,1\n", kTrace),
             Catch::Contains("give arrivals.bucket"));
}

TEST_CASE("the most common spacing, the smaller of equals") {
  CHECK(most_common_spacing({0, 5, 10, 30, 35}) == 5);
  CHECK(most_common_spacing({0, 10, 20, 25, 30}) == 5);
}

TEST_CASE("an export may have other ends of line, quotes, comments and order of columns") {
  const Loader loader;
  const ArrivalSpec a = loader
                            .load(
                                "\xEF\xBB\xBF# from the dashboard\r\nvalue,\"timestamp\"\r\n"
                                "60,\"2014-04-10 00:00:00\"\r\n\r\n30,\"2014-04-10 00:01:00\"",
                                kTrace)
                            .scenario.clients[0]
                            .arrivals;
  CHECK(a.profile->rates == std::vector<double>{1, 0.5, 0});
}

TEST_CASE("every mistake in an export has its place") {
  const Loader loader;
  CHECK(loader.errors("timestamp,value\n"
                      "2014-04-10 00:04:00,\n"
                      "2014-04-10 00:05:00,nan\n"
                      "2014-04-10 00:06:00,-1\n"
                      "2014-04-10 00:07:00\n"
                      "2014-04-10 00:07:00,1,2\n"
                      "yesterday,5\n"
                      "2014-04-10 00:08:00,5\n"
                      "2014-04-10 00:08:00,5\n",
                      kTrace) ==
        "input.csv:2:21: error: value is empty; expected a number >= 0\n"
        "2014-04-10 00:04:00,\n"
        "                    ^\n"
        "input.csv:3:21: error: value: \"nan\" is not a finite number; expected a number >= 0\n"
        "2014-04-10 00:05:00,nan\n"
        "                    ^\n"
        "input.csv:4:21: error: value: -1 is negative; expected a number >= 0\n"
        "2014-04-10 00:06:00,-1\n"
        "                    ^\n"
        "input.csv:5:1: error: too few cells; expected rows of timestamp,value\n"
        "2014-04-10 00:07:00\n"
        "^\n"
        "input.csv:6:1: error: too many cells; expected rows of timestamp,value\n"
        "2014-04-10 00:07:00,1,2\n"
        "^\n"
        "input.csv:7:1: error: timestamp: \"yesterday\" is not a time; expected one such as "
        "2014-04-10 00:04:00\n"
        "yesterday,5\n"
        "^\n"
        "input.csv:9:1: error: timestamp: 2014-04-10 00:08:00 is not later than the row before; "
        "expected increasing times\n"
        "2014-04-10 00:08:00,5\n"
        "^\n");
}

TEST_CASE("the columns decide what a trace is") {
  const Loader loader;
  const ArrivalSpec rates =
      loader.load("time_s,rate\n0,10\n5,20\n", kTrace + ", speed_up=2, scale=3")
          .scenario.clients[0]
          .arrivals;
  CHECK(rates.profile->linear);
  CHECK(rates.profile->times[1].count() == 2'500'000'000);
  CHECK(rates.profile->rates == std::vector<double>{30, 60});
  const ArrivalSpec rows =
      loader.load("time_s\n0.5\n0.5\n1e0\n", kTrace).scenario.clients[0].arrivals;
  CHECK_FALSE(rows.profile.has_value());
  CHECK(rows.rows == std::vector<Time>{Time::from_nanoseconds(500'000'000),
                                       Time::from_nanoseconds(500'000'000),
                                       Time::from_nanoseconds(1'000'000'000)});
  CHECK_THAT(loader.errors("a,b\n1,2\n", kTrace),
             Catch::Contains("input.csv:1:1: error: a trace needs the columns timestamp,value or "
                             "time_s,rate or time_s alone"));
  CHECK_THAT(loader.errors("", kTrace), Catch::Contains("a trace needs the columns"));
}

TEST_CASE("keys that do not fit the file are refused") {
  const Loader loader;
  const std::string rows = "time_s\n1\n";
  for (const char* key : {"scale=2", "bucket='1s'", "spacing='even'", "interpolate='step'"}) {
    INFO(key);
    CHECK_THAT(loader.errors(rows, kTrace + ", " + key),
               Catch::Contains("does not apply here: a file of request times has no rates"));
  }
  CHECK_THAT(loader.errors("time_s,rate\n0,1\n", kTrace + ", bucket='1s'"),
             Catch::Contains("a file of rates has no buckets"));
  CHECK_THAT(loader.errors(kExport, kTrace + ", interpolate='step'"),
             Catch::Contains("a monitoring export has counts"));
  CHECK(value_of(loader.load(rows, kTrace), "client.web.arrivals.scale") == "");
}

TEST_CASE("a profile is a factor on the rate, or the rate of the group") {
  const Loader loader;
  const std::string csv = "time_s,rate\n0,10\n5,20\n10,0\n";
  const std::string keys = "process='poisson', profile='input.csv', ";
  const ArrivalSpec factor =
      loader.load(csv, keys + "rate=3, interpolate='step'").scenario.clients[0].arrivals;
  CHECK(factor.rate == 3);
  CHECK_FALSE(factor.profile->linear);
  CHECK(factor.profile->rates == std::vector<double>{10, 20, 0});
  loader.folder.write("input.csv", csv);
  const LoadedScenario alone =
      load(kSmall,
           {"client.web.arrivals={process='poisson', profile='input.csv'}", "client.web.count=4"},
           loader.folder.path());
  CHECK(alone.scenario.clients[0].arrivals.rate == 0.25);
  CHECK(alone.scenario.clients[0].arrivals.profile->linear);
}

TEST_CASE("mistakes in profiles and request times") {
  const Loader loader;
  const std::string keys = "process='poisson', rate=1, profile='input.csv'";
  CHECK_THAT(loader.errors("time_s,rate\n1,10\n", keys),
             Catch::Contains("input.csv:2:1: error: time_s: the first time is 1; expected 0"));
  CHECK_THAT(loader.errors("time_s,rate\n0,10\n0,11\n", keys),
             Catch::Contains("input.csv:3:1: error: time_s: 0 is not later than the row before"));
  CHECK_THAT(loader.errors("time_s,rate\n", keys),
             Catch::Contains("input.csv:1:1: error: no rows"));
  CHECK_THAT(loader.errors("\n# a note\ntime_s,rate\n", keys),
             Catch::Contains("input.csv:3:1: error: no rows below the header line"));
  CHECK_THAT(loader.errors("", keys), Catch::Contains("input.csv:1:1: error: "));
  CHECK_THAT(loader.errors("time_s\n1\n", keys),
             Catch::Contains("a profile needs the columns time_s,rate"));
  CHECK_THAT(loader.errors("time_s\n2\n1\n", kTrace),
             Catch::Contains("input.csv:3:1: error: time_s: 1 is earlier than the row before"));
  CHECK_THAT(loader.errors("time_s\ninf\n", kTrace), Catch::Contains("is not a finite number"));
  CHECK_THAT(loader.errors("time_s,rate\n0,1\n1,1\n", kTrace + ", speed_up=1e12"),
             Catch::Contains("expected a smaller speed_up"));
}

TEST_CASE("an empirical distribution comes from a file") {
  const Loader loader;
  loader.folder.write("input.csv", "value_s,weight\n0.01,1\n0.03,3\n");
  const Edits edits = {"service.api.service_time={distribution='empirical', file='input.csv'}"};
  const LoadedScenario loaded = load(kSmall, edits, loader.folder.path());
  // (0.01 * 1 + 0.03 * 3) / 4
  CHECK(loaded.scenario.services[0].service_time.mean_seconds() == Approx(0.025));
  loader.folder.write("input.csv", "value_s,weight\n0.01,0\n");
  CHECK_THAT(errors_of(kSmall, edits, loader.folder.path()),
             Catch::Contains("service.api.service_time: empirical: "));
  loader.folder.write("input.csv", "value,weight\n0.01,0\n");
  CHECK_THAT(errors_of(kSmall, edits, loader.folder.path()),
             Catch::Contains("an empirical distribution needs the columns value_s,weight"));
}

TEST_CASE("the variants of a scenario have the same input, whatever becomes of the file") {
  const TemporaryFolder folder;
  const std::string rows = "time_s\n1\n2\n", others = "time_s\n1\nnonsense\n";
  folder.write("input.csv", rows);
  const Edits edits = {"client.web.arrivals={process='trace', file='input.csv'}",
                       "service.api.service_time={distribution='empirical', file='times.csv'}"};
  folder.write("times.csv", "value_s,weight\n0.01,1\n");
  const ScenarioReader reader(kSmall, "small.toml", folder.path(), edits);
  const LoadResult first = reader.load({"client.web.arrivals.speed_up=2"});
  INFO(errors_of(first));
  REQUIRE(first.loaded);
  folder.write("input.csv", others);
  folder.write("times.csv", "value_s,weight\n0.02,1\n");
  const LoadResult second = reader.load();
  INFO(errors_of(second));
  REQUIRE(second.loaded);
  CHECK(first.loaded->scenario.clients[0].arrivals.rows.size() == 2);
  CHECK(second.loaded->scenario.clients[0].arrivals.rows.size() == 2);
  CHECK(second.loaded->scenario.services[0].service_time.mean_seconds() == Approx(0.01));
  // What is wrong is reported for each variant, too.
  const ScenarioReader later(kSmall, "small.toml", folder.path(), edits);
  for (int variant = 0; variant < 2; ++variant) {
    CHECK_THAT(errors_of(later.load()),
               Catch::Contains("input.csv:3:1: ") && Catch::Contains("nonsense"));
    folder.write("input.csv", rows);
  }
}

TEST_CASE("input files that cannot be read are errors of the key that names them") {
  const Loader loader;
  CHECK_THAT(errors_of(kSmall, {"client.web.arrivals={process='trace', file='no.csv'}"},
                       loader.folder.path()),
             Catch::Contains("no.csv\" cannot be read: No such file or directory"));
  CHECK_THAT(
      errors_of(kSmall, {"client.web.arrivals={process='trace', file='.'}"}, loader.folder.path()),
      Catch::Contains("is a folder; expected a file"));
  CHECK_THAT(loader.errors(std::string("time_s\n1\0\n", 10), kTrace),
             Catch::Contains("is not a text file"));
}

TEST_CASE("inputs are named by file name only, so two need two names") {
  const Loader loader;
  std::filesystem::create_directories(loader.folder.path() / "a");
  std::filesystem::create_directories(loader.folder.path() / "b");
  loader.folder.write("a/in.csv", "time_s\n1\n");
  loader.folder.write("b/in.csv", "time_s\n2\n");
  const std::string one = "client.web.arrivals={process='trace', file='a/in.csv'}";
  const LoadedScenario loaded = load(kSmall, {one}, loader.folder.path());
  CHECK(value_of(loaded, "client.web.arrivals.file") == "\"in.csv\"");
  CHECK(load(to_toml(loaded, false), {}, loader.folder.path() / "a")
            .scenario.clients[0]
            .arrivals.rows == loaded.scenario.clients[0].arrivals.rows);
  CHECK_THAT(errors_of(kSmall, {one, "client.b={like='web', arrivals={file='b/in.csv'}}"},
                       loader.folder.path()),
             Catch::Contains("are different files of the same name; rename one"));
}

TEST_CASE("a scenario file names its inputs relative to itself") {
  const TemporaryFolder folder;
  folder.write("in.csv", "time_s\n1\n");
  const auto path = folder.write("s.toml", R"(name = "s"
duration = 10
service.api.service_time = "1ms"
client.web = { arrivals = { process = "trace", file = "in.csv" }, retry = { mode = "none" } }
)");
  const LoadResult result = load_scenario_file(path);
  INFO(errors_of(result));
  REQUIRE(result.loaded.has_value());
  CHECK(result.loaded->scenario.clients[0].arrivals.rows.size() == 1);
}

TEST_CASE("a capacity profile is a factor on the servers over time") {
  const TemporaryFolder folder;
  folder.write("capacity.csv", "time_s,capacity\n0,1\n10,0.5\n20.5,0\n");
  folder.write("rates.csv", "time_s,rate\n0,1\n");
  folder.write("late.csv", "time_s,capacity\n5,1\n");
  folder.write("wrong.csv", "time_s,capacity\n0,1\n10,-1\n10,2\n");
  const auto with = [](const std::string& file) { return "service.api.profile='" + file + "'"; };
  const LoadedScenario loaded = load(kSmall, {with("capacity.csv")}, folder.path());
  const CapacityProfile& profile = loaded.scenario.services[0].profile.value();
  CHECK(profile.times == std::vector<Time>{Time::zero(), Time::zero() + Duration::seconds(10),
                                           Time::zero() + Duration::milliseconds(20'500)});
  CHECK(profile.factors == std::vector<double>{1, 0.5, 0});
  CHECK(loaded.input_files.size() == 1);
  const auto errors = [&](const std::string& file) {
    return errors_of(kSmall, {with(file)}, folder.path());
  };
  CHECK_THAT(errors("rates.csv"), Catch::Contains("needs the columns time_s,capacity"));
  CHECK_THAT(errors("late.csv"),
             Catch::Contains("late.csv:2:1: error: time_s: the first time is 5"));
  CHECK_THAT(errors("wrong.csv"),
             Catch::Contains("wrong.csv:3:4: error: capacity: -1 is negative"));
  CHECK_THAT(errors("missing.csv"), Catch::Contains("cannot be read"));
  CHECK_THAT(
      errors_of(kSmall, {with("capacity.csv"), "service.api.servers=unlimited"}, folder.path()),
      Catch::Contains("service.api.profile has no meaning for unlimited servers"));
}

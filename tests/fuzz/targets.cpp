// SPDX-License-Identifier: MIT
#include "fuzz/targets.hpp"

#include <retrysim/import.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "cli/commands.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "report/folder/manifest.hpp"
#include "temporary_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace retrysim::fuzz {
namespace {

namespace fs = std::filesystem;
using cli::Arguments;

// --- The program in this process -----------------------------------------------------------------

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder one;
  return one;
}

[[noreturn]] void fail(std::string_view what) {
  fmt::print(stderr, "FUZZ: {}\n", what);
  std::fflush(stderr);
  std::abort();
}

void play_command(const Arguments& arguments) {
  constexpr std::array kPromised{cli::kDone,     cli::kExpectationFailed, cli::kBadCommandLine,
                                 cli::kBadInput, cli::kOutputFailed,      cli::kLimitHit};
  const int status = cli::program(arguments);
  if (std::ranges::find(kPromised, status) == kPromised.end()) {
    fail(fmt::format("exit status {} of {}", status, fmt::join(arguments, " ")));
  }
}

std::string file_of(const std::string& name, std::string_view bytes) {
  return folder().write(name, std::string(bytes)).string();
}

std::string place(const std::string& name) { return (folder().path() / name).string(); }

/// An argument of a command ends at the first zero.
std::string argument(std::string_view bytes) {
  return std::string(bytes.substr(0, bytes.find('\0')));
}

/// The first byte chooses one of `choices`, the rest is for it.
template <typename Choices>
auto chosen(const Choices& choices, std::string_view& bytes) {
  const auto number = bytes.empty() ? 0U : static_cast<unsigned char>(bytes.front());
  if (!bytes.empty()) bytes.remove_prefix(1);
  return choices[number % choices.size()];
}

constexpr std::string_view kSmall = R"(name = "small"
duration = "2s"
replications = 2
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "50ms" }
queue.capacity = 10
[fault.dip]
start = "500ms"
duration = "500ms"
capacity = 0.5
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 30 }
attempt_timeout = "200ms"
retry = { mode = "standard" }
[expect.works]
metric = "success_rate"
at_least = 0.1
)";

std::string small_scenario() {
  static const std::string file = file_of("small.toml", kSmall);
  return file;
}

/// Nothing that a fuzzer writes runs for long, or needs much memory.
Arguments brief(Arguments arguments) {
  for (const char* more :
       {"--replications", "1", "--max-events", "2000", "--max-memory", "64MiB", "--jobs", "1",
        "--quiet", "--no-progress", "--no-reuse", "--force", "--timeout", "2", "--out"}) {
    arguments.emplace_back(more);
  }
  arguments.push_back(place("out"));
  return arguments;
}

// --- Seeds ---------------------------------------------------------------------------------------

std::vector<std::string> files_with(const fs::path& below, std::string_view extension) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(below)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> texts;
  for (const fs::path& path : paths) texts.push_back(test::content_of(path));
  return texts;
}

std::vector<std::string> shipped(const fs::path& project) {
  return files_with(project / "scenarios", ".toml");
}

/// Each text behind the number of each choice.
std::vector<std::string> for_choices(std::size_t choices, const std::vector<std::string>& texts) {
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < choices; ++i) {
    for (const std::string& text : texts) seeds.push_back(static_cast<char>(i) + text);
  }
  return seeds;
}

// --- Scenarios and edits -------------------------------------------------------------------------

void play_check(std::string_view bytes) { play_command({"check", file_of("input.toml", bytes)}); }

void play_run(std::string_view bytes) {
  play_command(brief({"run", file_of("input.toml", bytes)}));
}

void play_predict(std::string_view bytes) {
  play_command({"predict", file_of("input.toml", bytes), "--timeout", "2"});
}

void play_set(std::string_view bytes) {
  play_command({"check", small_scenario(), "--set", argument(bytes)});
}

std::vector<std::string> edits(const fs::path&) {
  return {"client.*.retry.max_attempts=5",
          "service.api.service_time={ distribution = \"lognormal\", mean = \"20ms\", cv = 2 }",
          "client.web.retry.backoff.jitter=full",
          "fault.dip.duration=3s",
          "client.web.operation.\"a b\".share=0.5",
          "expect.works.at_least=0.9"};
}

void play_vary(std::string_view bytes) {
  play_command(brief({"sweep", small_scenario(), "--vary", argument(bytes)}));
}

std::vector<std::string> variations(const fs::path&) {
  return {"client.*.retry.max_attempts=1,2,3", "client.web.arrivals.total_rate=10:30:10",
          "fault.dip.duration=100ms:400ms:100ms", "service.api.servers=1:8:log4",
          "client.web.retry.mode=legacy,standard"};
}

void play_trigger(std::string_view bytes) {
  play_command(brief({"tip", small_scenario(), "--trigger", argument(bytes)}));
}

std::vector<std::string> triggers(const fs::path&) {
  return {"fault.dip.duration=0.1s:1s", "client.web.arrivals.total_rate=10:100",
          "fault.dip.capacity=0:1"};
}

// --- Tables --------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kTables{
    "[client.web]\narrivals = { process = \"trace\", file = \"input.csv\" }\n",
    "[client.web]\narrivals = { process = \"poisson\", profile = \"input.csv\" }\n",
    "[client.web]\narrivals = { process = \"poisson\", total_rate = 5 }\n[service.api]\nprofile = "
    "\"input.csv\"\n",
    "[client.web]\narrivals = { process = \"poisson\", total_rate = 5 }\n[service.api]\n"
    "slowdown_curve = \"table\"\nslowdown_table = \"input.csv\"\n",
    "[client.web]\narrivals = { process = \"poisson\", total_rate = 5 }\n[service.api]\n"
    "service_time = { distribution = \"empirical\", file = \"input.csv\" }\n"};

void play_table(std::string_view bytes) {
  std::string text(chosen(kTables, bytes));
  if (text.find("[service.api]") == std::string::npos) text += "[service.api]\n";
  if (text.find("service_time") == std::string::npos) text += "service_time = \"10ms\"\n";
  file_of("input.csv", bytes);
  play_command({"check", file_of("table.toml", "name = \"t\"\nduration = \"5s\"\n" + text)});
}

std::vector<std::string> tables(const fs::path& project) {
  std::vector<std::string> texts = files_with(project / "scenarios", ".csv");
  for (std::string& text : texts) text.resize(std::min<std::size_t>(text.size(), 2000));
  texts.emplace_back("time_s,capacity\n0,1\n2,0.5\n");
  texts.emplace_back("in_service,factor\n0,1\n10,3\n");
  texts.emplace_back("value_s,weight\n0.01,3\n0.5,1\n");
  texts.emplace_back("time_s\n0.1\n0.2\n");
  texts.emplace_back("timestamp,value\n2024-01-01 00:00:00,10\n2024-01-01 00:05:00,20\n");
  return for_choices(kTables.size(), texts);
}

void play_calls(std::string_view bytes) {
  play_command({"strategy", "--mode", "adaptive", "--calls", file_of("calls.csv", bytes)});
}

std::vector<std::string> calls(const fs::path&) {
  return {"call,response\n1,500\n1,200\n",
          "call,response,pause_s,takes_s,draw\n1,503:SlowDown,0,0.1,0.5\n2,timeout,1,2,\n"};
}

void play_responses(std::string_view bytes) {
  constexpr std::array kModes{"legacy", "standard", "adaptive"};
  const std::string mode = chosen(kModes, bytes);
  play_command({"strategy", "--mode", mode, "--responses", argument(bytes)});
}

std::vector<std::string> responses(const fs::path&) {
  return for_choices(3, {"500,500,200;503:SlowDown,timeout,200",
                         "400:ThrottlingException,500+retry-after=1500ms,connect"});
}

// --- Logs and configurations ---------------------------------------------------------------------

void play_fit(std::string_view bytes) {
  fs::remove_all(place("fit"));
  play_command({"fit", file_of("access.log", bytes), "--out", place("fit"), "--force",
                "--allow-bad-lines", "1", "--timeout", "5"});
  if (const std::string scenario = place("fit/scenario.toml");
      fs::exists(scenario) && cli::program({"check", scenario}) != cli::kDone) {
    fail("what fit has written does not load");
  }
}

std::vector<std::string> logs(const fs::path&) {
  std::string csv = "time,duration_ms,status,request\n", nginx, json, alb, envoy;
  for (int i = 0; i < 40; ++i) {
    csv += fmt::format("{}.{:03},{},{},r{}\n", 1700000000 + i / 4, 250 * (i % 4), 10 + i % 7,
                       i % 9 == 0 ? 503 : 200, i);
    const std::string second = fmt::format("{:02}", i);
    nginx += "10.0.0.1 - - [10/Oct/2024:13:55:" + second +
             " +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"curl\" 0.012\n";
    json += "{\"start_time\":\"2024-10-10T13:55:" + second +
            ".000Z\",\"duration\":12,\"response_code\":200}\n";
    alb += "http 2024-10-10T13:55:" + second +
           ".018641Z app/lb/1 10.0.0.1:2817 10.0.0.2:80 0.000 0.001 0.000 200 200 34 366 \"GET "
           "http://example.com:80/ HTTP/1.1\" \"curl\" - -\n";
    envoy += "[2024-10-10T13:55:" + second +
             ".000Z] \"GET /a HTTP/1.1\" 200 - 0 5 12 11 \"-\" \"curl\" \"id\" \"a\" \"b\"\n";
  }
  std::string beyond = csv, deep = json + "{\"start_time\":";
  for (std::size_t at = 0; (at = beyond.find(",503,", at)) != std::string::npos;) {
    beyond.replace(at, 5, ",600,");
  }
  deep += std::string(5000, '[') + std::string(5000, ']') + "}\n";
  std::vector<std::string> all = {csv, nginx, json, alb, envoy, beyond, deep};
  // A line of each further format, 40 times.
  constexpr std::array kLines{
      R"(10.0.0.1 - - [10/Oct/2024:13:55:0$ +0000] "GET /a HTTP/1.1" 200 12 "-" "curl" "-" rt)"
      R"(=0.012 urt="0.001, 0.01")",
      R"(10.0.0.1 - - [10/Oct/2024:13:55:0$ +0000] "GET /a HTTP/1.1" 200 12 0/12345)",
      R"(10.0.0.1 - - [10/Oct/2024:13:55:0$ +0000] "GET /a HTTP/1.1" 200 12 "-" "curl" 7 "r" )"
      R"("u" 12ms)",
      R"(Oct 10 13:55:0$ lb haproxy[7]: 10.0.0.1:7 [10/Oct/2024:13:55:0$.123] in~ b/s 0/0/1/2)"
      R"(/12 200 7 - - CD-- 1/1/1/1/0 0/0 "GET / HTTP/1.1")",
      R"({"log":"10.0.0.1 - - [10/Oct/2024:13:55:0$ +0000] \"GET /a\" 200 12 0.012\n","stream)"
      R"(":"stdout","time":"2024-10-10T13:55:0$.5Z"})",
      R"(2024-10-10T13:55:0$.123456789Z stdout F INFO:     10.0.0.1:7 - "GET / HTTP/1.1" 200 OK)",
      R"(web_1  | {"ts":17000000$.5,"res":{"statusCode":200},"latency":"13.49ms","msg":"m"})",
      R"({"StartUTC":"2024-10-10T13:55:0$.123Z","DownstreamStatus":200,"Duration":12345678,"S)"
      R"(erviceName":"s"})",
      R"({"metric":"http_req_duration","type":"Point","data":{"time":"2024-10-10T13:55:0$Z",")"
      R"(value":12.5,"tags":{"status":"200"}}})",
      R"({"seq":$,"code":200,"timestamp":"2024-10-10T13:55:0$Z","latency":12345678,"attack":")"
      R"(","error":""})",
      R"(170000000000000000$,200,12345678,0,0,,,,7,GET,u,)"};
  const auto repeated = [](std::string_view line) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      for (const char c : line) text += c == '$' ? static_cast<char>('0' + i / 4) : c;
      text += '\n';
    }
    return text;
  };
  for (const std::string_view line : kLines) all.push_back(repeated(line));
  all.push_back("#Fields: date time c-ip sc-status sc-win32-status time-taken\n" +
                repeated("2024-10-10 13:55:0$ 10.0.0.1 200 64 12"));
  all.push_back("timeStamp,elapsed,label,responseCode,allThreads\n" +
                repeated("170000000$000,12,get,200,5"));
  all.push_back("metric_name,timestamp,metric_value,status\n" +
                repeated("http_req_duration,170000000$,12.5,200"));
  return all;
}

/// A description of a format in the first line, and lines behind it.
void play_log_format(std::string_view bytes) {
  const std::string description = argument(bytes.substr(0, bytes.find('\n')));
  bytes.remove_prefix(std::min(bytes.size(), description.size() + 1));
  fs::remove_all(place("described"));
  play_command({"fit", file_of("described.log", bytes), "--out", place("described"), "--force",
                "--log-format", "$" + description, "--allow-bad-lines", "1", "--timeout", "5"});
}

std::vector<std::string> descriptions(const fs::path&) {
  std::vector<std::string> all;
  const auto add = [&all](std::string description, std::string_view line) {
    for (int i = 0; i < 30; ++i) {
      description += '\n';
      for (const char c : line) description += c == '#' ? static_cast<char>('0' + i / 3) : c;
    }
    all.push_back(std::move(description));
  };
  add("time_iso8601 $status \"$request\" $upstream_response_time $request_time",
      "2024-10-10T13:55:0#Z 200 \"GET /\" 0.001, 0.01 : 0.1 0.125");
  add("%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t %>s %D %X", "$10/Oct/2024:13:55:0#.125 +0000 200 7 X");
  add("%START_TIME(%s.%3f)% %RESPONSE_CODE% %RESPONSE_FLAGS% %DURATION%", "$17000000#.125 0 DC 12");
  add("%ci [%tr] %b/%s %Ta %ST %tsc %hr %hs %{+Q}r",
      "$10.0.0.1 [10/Oct/2024:13:55:0#.125] b/s 12 "
      "200 ---- \"GET /\"");
  add("{\"t\":\"$msec\",\"d\":$request_time}", "${\"t\":\"17000000#.5\",\"d\":0.125}");
  add("%(t)s %(s)s %(D)s", "$[10/Oct/2024:13:55:0# +0000] 200 12345");
  return all;
}

void play_import(std::string_view bytes) {
  const std::string kind(chosen(import_kinds(), bytes).name);
  play_command({"import", kind, file_of("configuration", bytes)});
}

std::vector<std::string> configurations(const fs::path&) {
  return for_choices(
      import_kinds().size(),
      {"retry_policy:\n  retry_on: 5xx\n  num_retries: 3\n  per_try_timeout: 0.5s\n",
       "spec:\n  http:\n  - retries:\n      attempts: 3\n      perTryTimeout: 2s\n",
       "{\"methodConfig\":[{\"name\":[{}],\"retryPolicy\":{\"maxAttempts\":4,\"initialBackoff\":"
       "\"0.1s\",\"maxBackoff\":\"1s\",\"backoffMultiplier\":2,\"retryableStatusCodes\":"
       "[\"UNAVAILABLE\"]}}]}",
       "resilience4j.retry:\n  instances:\n    a:\n      maxAttempts: 3\n      waitDuration: 1s\n",
       "[default]\nretry_mode = standard\nmax_attempts = 5\n",
       "retry_policy: {num_retries: 2, num_retries: 9}\n",
       "{\"Retry\": {\"MaxRetryAttempts\": 3, \"Delay\": \"1.5.00:00:00\"}}",
       std::string(3000, '[') + std::string(3000, ']'),
       "{\"total\": 5, \"backoff_factor\": 0.5, \"status_forcelist\": [503]}",
       "kind: DestinationRule\nspec: {host: '*.a', trafficPolicy: {portLevelSettings: [{port: "
       "{number: 80}, connectionPool: {http: {maxRetries: 1}}}]}}\n---\nspec: {http: [{route: "
       "[{destination: {host: b.a, port: {number: 80}}}]}]}\n",
       "kind: BackendTrafficPolicy\nspec: {targetRef: {kind: Gateway, name: g}, retry: {perRetry: "
       "{backOff: {baseInterval: 1s}}}, healthCheck: {passive: {interval: 1s}}}\n",
       "a.b: ${c:${d:1}}\nresilience4j.retry.instances.x.max-attempts: ${a.b}\n---\n"
       "spring.config.activate.on-profile: p | !q\nresilience4j: {retry: {instances: {x: "
       "{waitDuration: 5}}}}\n",
       "resilience4j.retry.instances.x.max-attempts = 3\n#---\na[0].b\\u0041=c\\\n  d\n",
       "spring.cloud.gateway.routes: [{id: a, filters: ['Retry=3,BAD_GATEWAY', {name: Retry, args: "
       "{backoff: {firstBackoff: 1ms}}}]}]\n",
       "spring.cloud.gateway.routes: [{id: a, filters: [CircuitBreaker=b, "
       "Retry=3]}]\nresilience4j: "
       "{circuitbreaker: {circuitBreakerAspectOrder: 1, configs: {c: {slidingWindowSize: 1_0}}, "
       "instances: {b: {baseConfig: c}}}, thread-pool-bulkhead: {instances: {d: "
       "{coreThreadPoolSize: 2}}}}\n",
       "[profile a] # b\nretry_mode = standard ; c\n",
       "export AWS_MAX_ATTEMPTS=\"5\" # x\n",
       "// c\n{\"A\": {\"Retry\": {/* d */ \"MaxDelay\": \"00:01\",}}}",
       "b: &b {num_retries: 1}\nretry_policy: {<<: [*b, {retry_on: 5xx}]}\n",
       "{steps: 4, duration: 10ms, factor: 5, jitter: 0.1, cap: 1s}"});
}

// --- Results and stores --------------------------------------------------------------------------

constexpr std::array kResultFiles{"result.json",      "summary.csv",  "mean_timeseries.csv",
                                  "mean_service.csv", "phases.csv",   "replications.csv",
                                  "verdicts.csv",     "scenario.toml"};

const fs::path& small_result() {
  static const fs::path path = [] {
    const fs::path result = folder().path() / "result";
    play_command({"run", small_scenario(), "--quiet", "--no-progress", "--out", result.string()});
    return result;
  }();
  return path;
}

std::string hexadecimal(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

/// The text of a result.json with the checksums that the files beside it and itself have: otherwise
/// a fuzzer would see but the message that they are wrong. What is no such text stays as it is.
std::string sealed(const std::string& text) {
  constexpr std::string_view kNoDigits = "00000000", kSeal = "crc32_of_this_file";
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return text;
  const auto checksums = json.find("checksums");
  if (checksums != json.end() && checksums->is_object()) {
    for (const char* name : kResultFiles) {
      if (!checksums->contains(name) || !(*checksums)[name].is_object()) continue;
      const std::string content = test::content_of(small_result() / name);
      (*checksums)[name]["bytes"] = content.size();
      (*checksums)[name]["crc32"] = hexadecimal(report::crc32(content));
    }
  }
  json.erase(kSeal);
  json[kSeal] = kNoDigits;
  std::string whole =
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return whole.replace(whole.rfind(kNoDigits), kNoDigits.size(), hexadecimal(report::crc32(whole)));
}

void play_result(std::string_view bytes) {
  static const std::string genuine = test::content_of(small_result() / "result.json");
  const std::string name = chosen(kResultFiles, bytes);
  const std::string before = test::content_of(small_result() / name);
  (void)folder().write("result/" + name, std::string(bytes));
  (void)folder().write("result/result.json",
                       sealed(name == "result.json" ? std::string(bytes) : genuine));
  const std::string result = small_result().string();
  play_command({"verify", result});
  play_command({"report", result, "--out", place("page.html"), "--force"});
  (void)folder().write("result/" + name, before);
  (void)folder().write("result/result.json", genuine);
}

std::vector<std::string> results(const fs::path&) {
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < kResultFiles.size(); ++i) {
    const std::string text = test::content_of(small_result() / kResultFiles[i]);
    seeds.push_back(static_cast<char>(i) + text);
  }
  return seeds;
}

constexpr UnitKey kUnits[] = {{1, 2}, {3, 4}};

/// The checksums of records hide what is in them from a fuzzer: they are made right.
std::string with_right_checksums(std::string bytes) {
  constexpr std::size_t kMagic = 17, kHead = 32;
  for (std::size_t at = kMagic; at + kHead <= bytes.size();) {
    std::string_view rest = std::string_view(bytes).substr(at + 4);
    const std::size_t length = *execution::take<std::uint32_t>(rest);
    std::string sums;
    execution::put(sums, report::crc32(std::string_view(bytes).substr(at, kHead - 8)));
    execution::put(sums, report::crc32(std::string_view(bytes).substr(at + kHead, length)));
    bytes.replace(at + kHead - 8, 8, sums);
    at += kHead + length;
  }
  return bytes;
}

void play_store(std::string_view bytes) {
  fs::create_directories(place("store"));
  file_of("store/input.units", with_right_checksums(std::string(bytes)));
  const auto store = open_store(fs::path(place("store")));
  for (const UnitKey& key : kUnits) {
    const std::string unit = store->find(key).value_or("");
    try {
      (void)execution::decode_run(unit);
    } catch (const std::runtime_error&) {
    }
    try {
      (void)execution::decode_scenario(unit);
    } catch (const std::runtime_error&) {
    }
    std::string_view rest = unit;
    (void)execution::take_series(rest);
    (void)execution::decode(unit);
  }
}

std::vector<std::string> stores(const fs::path&) {
  const LoadResult loaded = load_scenario_text(kSmall, "small.toml", ".");
  if (!loaded.loaded) fail("the small scenario is not valid");
  const fs::path seed = place("seed");
  {
    const auto store = open_store(seed);
    store->add(kUnits[0], execution::encode(simulate(loaded.loaded->scenario, 0)));
    store->add(kUnits[1], execution::encode(loaded.loaded->scenario));
  }
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(seed)) {
    found.push_back(test::content_of(entry.path()));
  }
  return found;
}

constexpr Target kTargets[] = {
    {"check", "the text of a scenario, validated", play_check, shipped},
    {"run", "the text of a scenario, simulated for 2000 events", play_run, shipped},
    {"predict", "the text of a scenario, for predictions", play_predict, shipped},
    {"set", "--set", play_set, edits},
    {"vary", "--vary of a sweep", play_vary, variations},
    {"trigger", "--trigger of tip", play_trigger, triggers},
    {"table", "CSV files that scenarios name", play_table, tables},
    {"calls", "--calls of strategy", play_calls, calls},
    {"responses", "--responses of strategy", play_responses, responses},
    {"fit", "access logs", play_fit, logs},
    {"log-format", "descriptions of formats, and logs", play_log_format, descriptions},
    {"import", "retry configurations of all kinds", play_import, configurations},
    {"result", "files of a result, for verify and report", play_result, results},
    {"store", "stores of replications, and what is in them", play_store, stores},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  const auto* found = std::ranges::find(kTargets, name, &Target::name);
  return found == std::end(kTargets) ? nullptr : found;
}

}  // namespace retrysim::fuzz

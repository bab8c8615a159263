// Asks the questions of a first scenario and writes its file.
//
// SPDX-License-Identifier: MIT
#include "scenario/first_scenario.hpp"

#include <retrysim/retry_rules.hpp>

#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/problems.hpp"
#include "scenario/text/scenario_writer.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

namespace retrysim::scenario {
namespace {

// --- What goes wrong -----------------------------------------------------------------------------

struct Trouble {
  std::string_view word;
  /// Rest of the question "What do clients' retries do to this service ...?".
  std::string_view question;
  std::string_view key;    ///< the key of [fault.*] that is set; empty: no fault
  std::string_view value;  ///< the key's value, as TOML
  std::string_view why;    ///< the comment on the key
};

constexpr std::string_view kSpike = "spike", kNothing = "nothing";
constexpr Trouble kTroubles[] = {
    {"half-the-servers", "when it loses half of its servers for 30 s", "capacity", "0.5",
     "of the servers are left, as in a bad deploy or when a zone is lost"},
    {"outage", "when it is down for 30 s", "capacity", "0",
     "no server works and what arrives waits; instead, unreachable = true: connections are "
     "refused; black_hole = true: nothing is answered"},
    {"refused", "when it refuses connections for 30 s", "unreachable", "true",
     "puts no work on the servers; instead, capacity = 0: no server works and what arrives waits; "
     "black_hole = true: nothing is answered"},
    {"slow", "when every request takes five times as long for 30 s", "speed", "0.2",
     "of the usual speed, as with a database that lacks an index"},
    {"errors", "when a third of all attempts fail for 30 s", "errors", "{ unavailable = 0.33 }",
     "of the attempts get 503 ServiceUnavailable, as with one bad host of three"},
    {kSpike, "when three times as many requests come for 30 s", "", "", ""},
    {kNothing, "while nothing is wrong", "", "", ""}};

constexpr std::string_view kTroubleWords =
    "half-the-servers|outage|refused|slow|errors|spike|nothing";

const Trouble* trouble_named(std::string_view word) {
  const auto found = std::ranges::find(kTroubles, word, &Trouble::word);
  return found == std::end(kTroubles) ? nullptr : found;
}

/// The share of a single server that is left would be the whole server, and nothing would happen.
constexpr Trouble kOnlyServer = {
    "half-the-servers", "when it loses its only server for 30 s", "capacity", "0",
    "of the servers are left, as half of one would still be one; instead, speed = 0.5: it works at "
    "half its speed"};

const Trouble& trouble_of(const FirstAnswers& a) {
  const Trouble& trouble = *trouble_named(a.fault);
  return trouble.word == kOnlyServer.word && a.servers == 1 ? kOnlyServer : trouble;
}

// --- The client library --------------------------------------------------------------------------

/// Whether retries have no limit, no backoff and no budget: requests to a service that refuses at
/// once would go round in no time.
bool retries_at_once_for_ever(const Preset& preset) {
  const RetryRules& rules = preset.rules;
  return rules.max_attempts == RetryRules::kUnlimited && rules.backoff.base == Duration{} &&
         rules.budget.kind == BudgetKind::kNone;
}

std::vector<std::string_view> client_names() {
  std::set<std::string_view> names;
  for (const Preset& preset : presets()) {
    if (!preset.sdk.empty() && !retries_at_once_for_ever(preset)) names.insert(preset.sdk);
  }
  for (const TurningPoint& point : turning_points()) names.insert(point.sdk);
  std::vector<std::string_view> all(names.begin(), names.end());
  all.push_back(kNoRetryClient);
  return all;
}

/// A client library and its retry rules, as a scenario names them.
struct Library {
  std::string mode, sdk;  ///< sdk with the version; empty without retries
  bool newest = false;    ///< the version was not asked for, but is the newest known
};

/// The library of a name from `client_names`, with or without a version; its rules are the defaults
/// of that release, or of the newest known one.
Library library_named(std::string_view client) {
  if (client == kNoRetryClient) return {std::string(client), "", false};
  Library library{"", std::string(client), false};
  if (const auto releases = turning_points(client); !has_version(client) && !releases.empty()) {
    library.sdk += fmt::format("@{}", releases.back().version);
    library.newest = true;
  }
  library.mode = release_mode(library.sdk);
  if (library.mode.empty()) library.mode = default_mode(client, true).value_or("");
  if (library.mode.empty()) {
    for (const Preset& preset : presets()) {
      if (preset.sdk == canonical_sdk(client)) library.mode = preset.mode;
    }
  }
  return library;
}

// --- The questions -------------------------------------------------------------------------------

/// The mean number of busy servers.
double busy_servers(const FirstAnswers& a) { return a.rate * a.service_time.in_seconds(); }

/// Takes over `changed` if the service can serve its requests while nothing is wrong.
void accept(FirstAnswers& answers, const FirstAnswers& changed) {
  const double busy = busy_servers(changed);
  if (changed.servers > 0 && busy >= changed.servers) {
    throw BadAnswer(fmt::format(
        "{} a second of {} each {} {} busy, and there {}: at least {:.0f} are needed, or the "
        "service is overloaded before anything goes wrong",
        scenario::said_things(said_number(changed.rate, 6), "request"),
        to_text(changed.service_time), changed.rate == 1 ? "keeps" : "keep",
        scenario::said_things(said_number(busy, 4), "server"),
        changed.servers == 1 ? "is 1" : fmt::format("are {}", changed.servers),
        std::floor(busy) + 1));
  }
  answers = changed;
}

constexpr double kMaxFirstRate = 1e6;
constexpr std::uint32_t kMaxFirstServers = 10'000'000;

void read_rate(FirstAnswers& answers, std::string_view text) {
  std::string_view digits = trimmed(text);
  double per_second = 1;
  if (digits.ends_with("/s")) {
    digits.remove_suffix(2);
  } else if (digits.ends_with("/min")) {
    digits.remove_suffix(4);
    per_second = 60;
  }
  digits = trimmed(digits);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value) ||
      value <= 0) {
    throw BadAnswer(fmt::format(
        "'{}' is no rate; expected requests per second, such as 200 or 12000/min", text));
  }
  if (value / per_second > kMaxFirstRate) {
    throw BadAnswer(fmt::format(
        "more than {} requests a second take very long to simulate; simulate a part of the "
        "system: divide the rate and the servers by the same number",
        grouped(static_cast<std::size_t>(kMaxFirstRate))));
  }
  FirstAnswers changed = answers;
  changed.rate = value / per_second;
  accept(answers, changed);
}

constexpr double kMaxFirstServiceSeconds = 3600;

/// The TOML table of percentiles that are given as "p50=30ms,p99=400ms".
std::string table_of_percentiles(std::string_view text) {
  std::string table;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string_view part = text.substr(from, to - from);
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = trimmed(part.substr(std::min(equals + 1, part.size())));
    table += fmt::format("{}{} = {}", table.empty() ? "{ " : ", ",
                         render_name(trimmed(part.substr(0, equals))), render_text(value));
    from = to + 1;
  }
  return table + " }";
}

/// The TOML table of a histogram that is given as "buckets=FILE,series=NAME{...}"; a series, which
/// may have commas, comes last.
std::string table_of_buckets(std::string_view text) {
  constexpr std::string_view kSeries = ",series=";
  const std::size_t at = text.find(kSeries);
  std::string table = table_of_percentiles(text.substr(0, at));
  if (at == std::string_view::npos) return table;
  table.resize(table.size() - std::string_view(" }").size());
  return table + ", series = " + render_text(text.substr(at + kSeries.size())) + " }";
}

/// Reads a service time given by percentiles or a histogram.
void read_service_law(FirstAnswers& answers, std::string_view text) {
  FirstAnswers changed = answers;
  changed.service_law =
      text.starts_with("buckets") ? table_of_buckets(text) : table_of_percentiles(text);
  changed.service_percentiles = text;
  Sources sources;
  Problems problems(sources);
  CsvFiles files(".", nullptr, nullptr, sources, problems);
  const int source = sources.add("answer", changed.service_law);
  const auto table = parse_value(changed.service_law, {source, 1, 1});
  const auto law = table ? read_distribution("service time", *table, files) : std::nullopt;
  if (!law) {
    throw BadAnswer(fmt::format("'{}' is no time to serve a request: {}", text,
                                problems.empty() ? "expected percentiles such as p50=30ms,p99=400ms"
                                                 : problems.diagnostics().front().message));
  }
  if (law->mean_seconds() > kMaxFirstServiceSeconds) {
    throw BadAnswer(
        fmt::format("'{}' is no time to serve a request: its mean is more than 1 h", text));
  }
  // The mean is rounded to the digits that are shown.
  changed.service_time =
      Duration::from_seconds(std::stod(fmt::format("{:.4g}", law->mean_seconds())));
  accept(answers, changed);
}

void read_service_time(FirstAnswers& answers, std::string_view text) {
  const std::string_view written = trimmed(text);
  if (written.find('=') != std::string_view::npos) return read_service_law(answers, written);
  const auto time = parse_duration(written);
  if (!time || time->duration <= Duration::zero() ||
      time->duration.in_seconds() > kMaxFirstServiceSeconds) {
    throw BadAnswer(fmt::format(
        "'{}' is no time to serve a request; expected one with its unit (ns us ms s min), at most "
        "1 h, such as 50ms, or percentiles such as p50=30ms,p99=400ms, or buckets=FILE",
        text));
  }
  FirstAnswers changed = answers;
  changed.service_law.clear();
  changed.service_percentiles.clear();
  changed.service_time = time->duration;
  accept(answers, changed);
}

std::string usual_servers(const FirstAnswers& earlier) {
  constexpr double kUsualLoad = 0.7;
  return fmt::format("{:.0f}", std::max(1.0, std::ceil(busy_servers(earlier) / kUsualLoad)));
}

void read_servers(FirstAnswers& answers, std::string_view text) {
  const std::string_view digits = trimmed(text);
  FirstAnswers changed = answers;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), changed.servers);
  if (error != std::errc() || end != digits.data() + digits.size() || changed.servers == 0 ||
      changed.servers > kMaxFirstServers) {
    throw BadAnswer(
        fmt::format("'{}' is no number of servers; expected a whole number from 1 to "
                    "{}",
                    text, grouped(kMaxFirstServers)));
  }
  accept(answers, changed);
}

void read_client(FirstAnswers& answers, std::string_view text) {
  const std::string_view client = trimmed(text);
  const std::string_view name = client.substr(0, client.find('@'));
  const std::vector<std::string_view> names = client_names();
  const auto endless = [&](const Preset& p) {
    return p.sdk == name && retries_at_once_for_ever(p);
  };
  if (std::ranges::any_of(presets(), endless)) {
    throw BadAnswer(fmt::format(
        "'{}' retries at once and for ever unless it is configured, so that what a full queue "
        "refuses would go round in no time; choose none, and write your numbers into the scenario",
        name));
  }
  if (std::ranges::find(names, name) == names.end()) {
    throw BadAnswer(fmt::format(
        "there is no client library '{}'; {}", name,
        suggestion(name, names, fmt::format("'{}' are no retries; others are", kNoRetryClient))));
  }
  if (has_version(client)) {
    const std::string problem = name == kNoRetryClient
                                    ? fmt::format("'{}' has no versions", kNoRetryClient)
                                    : version_problem(client);
    if (!problem.empty()) throw BadAnswer(problem);
  }
  answers.client = client;
}

void read_fault(FirstAnswers& answers, std::string_view text) {
  const std::string_view word = trimmed(text);
  if (trouble_named(word) == nullptr) {
    throw BadAnswer(fmt::format("'{}' is not among what may go wrong; {}", word,
                                suggestion(word, split_words(kTroubleWords), "expected one of")));
  }
  answers.fault = word;
}

std::string nothing_usual(const FirstAnswers&) { return ""; }
std::vector<std::string_view> nothing_to_choose() { return {}; }

constexpr FirstQuestion kQuestions[] = {
    {"rate", "N", "requests per second of all clients together", ", such as 200 or 12000/min",
     nothing_usual, nothing_to_choose, read_rate},
    {"service-time", "D", "mean time to serve a request, without waiting, or its percentiles",
     ", such as 50ms, or p50=30ms,p99=400ms if percentiles are what you know, or buckets=FILE, a "
     "histogram in CSV (le,count) or of Prometheus",
     nothing_usual, nothing_to_choose, read_service_time},
    {"servers", "N", "requests that are served at the same time by all hosts together",
     "; default: as many as are busy for 70 % of the time", usual_servers, nothing_to_choose,
     read_servers},
    {"client", "SDK", "client library",
     ", one of those of `retrysim list sdks`, with or without its version (botocore@1.34.107), or "
     "none, which does not retry; default botocore. Without a version the rules are those of the "
     "newest release known",
     [](const FirstAnswers&) { return std::string("botocore"); }, client_names, read_client},
    {"fault", kTroubleWords, "what goes wrong",
     "; default half-the-servers. For 30 s half of the servers are lost (one of one), or (outage) "
     "no server "
     "works and what arrives waits, or (refused) connections are refused, which puts no work on "
     "the servers, or (slow) requests take five times as long, or (errors) a third of the attempts "
     "fail, or (spike) three times as many requests come",
     [](const FirstAnswers&) { return std::string(kTroubles[0].word); },
     [] { return split_words(kTroubleWords); }, read_fault}};

// --- The file ------------------------------------------------------------------------------------

std::string time_or(Duration time, std::string_view otherwise) {
  return time == Duration::max() ? std::string(otherwise) : to_text(time);
}

std::string rules_in_words(const Library& library) {
  const Preset* preset = find_preset(library.mode, "", library.sdk, "default");
  if (preset == nullptr) return "";
  const RetryRules rules = rules_of_release(*preset, library.sdk);
  std::string text = "at most " + scenario::said_things(rules.max_attempts, "attempt");
  if (rules.backoff.base > Duration::zero()) {
    text += fmt::format(", backoff from {}", to_text(rules.backoff.base));
    if (rules.backoff.cap != Duration::max()) {
      text += fmt::format(" to {}", to_text(rules.backoff.cap));
    }
  }
  if (rules.quota.enabled) text += ", a quota for retries";
  if (rules.has_limits()) text += ", a limit on retries";
  if (rules.hedging.enabled) text += ", hedged";
  return fmt::format("{} ({})", text, preset->source);
}

void add_clients(ScenarioWriter& lines, const FirstAnswers& a) {
  const Library library = library_named(a.client);
  constexpr double kRequestsOfAClient = 10;
  const double clients = std::max(1.0, std::round(a.rate / kRequestsOfAClient));
  lines.key("count", fmt::format("{:.0f}", clients),
            fmt::format("assumed: processes of {} requests a second, each with its retry state",
                        said_number(a.rate / clients)));
  lines.key("arrivals", fmt::format("{{ process = \"poisson\", total_rate = {} }}", a.rate),
            fmt::format("{}; poisson: requests that come independently of each other",
                        a.log.empty() ? "the rate is yours" : "the rate of " + a.log));
  if (const ClientDefaults* defaults = find_client_defaults(library.sdk)) {
    lines.key("attempt_timeout", "\"sdk\"",
              fmt::format("the library's default, {} ({})",
                          time_or(defaults->attempt_timeout, "none: it waits for ever"),
                          defaults->source));
  } else {
    constexpr std::int64_t kServiceTimes = 20;
    lines.key("attempt_timeout",
              fmt::format("\"{}\"",
                          to_text(std::max(Duration::seconds(1), a.service_time * kServiceTimes))),
              "assumed: 1 s, or 20 times the service time if that is longer; what is yours?");
  }
  if (library.sdk.empty()) {
    lines.key("retry", "{ mode = \"none\" }", "yours: each request is one attempt");
    return;
  }
  lines.key("retry",
            fmt::format("{{ mode = \"{}\", sdk = {} }}", library.mode, render_text(library.sdk)),
            fmt::format("{}{}", rules_in_words(library),
                        library.newest ? "; the newest release known: name yours" : ""));
}

}  // namespace

std::span<const FirstQuestion> first_questions() { return kQuestions; }

std::string first_scenario(const FirstAnswers& a, const std::string& name,
                           const std::string& made_by) {
  const Trouble& trouble = trouble_of(a);
  // Lengths of time grow with a service time of seconds: such a service takes as many times longer
  // to settle and to recover.
  const double stretch = std::max(1.0, std::ceil(a.service_time.in_seconds()));
  const auto seconds = [&](double s) { return fmt::format("\"{:.0f}s\"", s * stretch); };

  ScenarioWriter file({.columns = 100, .comments = ScenarioWriter::Comments::kInTable});
  file.comment(fmt::format("What do clients' retries do to this service {}?", trouble.question));
  file.comment(
      "Run it with `retrysim run FILE`, see every value in effect with `retrysim check FILE`.");
  if (!made_by.empty()) file.line("# Made by: " + made_by);
  file.blank();

  file.key("name", fmt::format("{}", render_text(name)));
  file.key(
      "duration", seconds(300),
      a.fault == kNothing
          ? "simulated time"
          : fmt::format("simulated time; what goes wrong begins after {:.0f} s", 60 * stretch));
  file.key("warmup", seconds(30), "left out of the figures, because the queue begins empty");
  constexpr double kBusy = 2000;  // requests per second; 20 runs at a higher rate take long
  file.key("replications", fmt::format("{}", a.rate > kBusy ? 5 : 20),
           "runs with other random numbers; intervals say what is chance");

  file.table("service.api");
  file.key("servers", fmt::format("{}", a.servers),
           fmt::format("requests served at once; busy for {:.0f} % of the time",
                       100 * busy_servers(a) / a.servers));
  file.key("service_time",
           a.service_law.empty()
               ? fmt::format("{{ distribution = \"exponential\", mean = \"{}\" }}",
                             to_text(a.service_time))
               : a.service_law,
           a.service_law.empty()
               ? fmt::format("the mean {}; exponential: 1 in 20 takes three times as long",
                             a.log.empty() ? "is yours" : "of " + a.log)
               : fmt::format("the {} are yours; of the law that has them the mean is {} ms",
                             a.service_law.starts_with("{ buckets") ? "buckets" : "percentiles",
                             said_number(1000 * a.service_time.in_seconds())));
  constexpr std::uint64_t kPlaces = 10;
  file.key("queue", fmt::format("{{ capacity = {} }}", kPlaces * a.servers),
           "assumed: 10 wait for each server, others get 503; \"unlimited\" turns none away");

  if (!a.errors.empty()) {
    file.table("service.api.errors");
    for (const auto& [status, share] : a.errors) {
      file.key(fmt::format("\"{}\"", status), fmt::format("{:.6g}", share),
               "of the requests, as in " + a.log);
    }
  }

  file.table("client.web");
  add_clients(file, a);
  if (a.fault == kSpike) {
    file.key(
        "surge",
        fmt::format("{{ peak = {{ start = {}, duration = \"30s\", factor = 3 }} }}", seconds(60)),
        "three times the usual rate, as after a push message");
  }

  if (!trouble.key.empty()) {
    file.table(fmt::format("fault.{}", trouble.word));
    file.key("start", seconds(60));
    file.key("duration", "\"30s\"", "assumed; `retrysim tip` finds the shortest that does harm");
    file.key(std::string(trouble.key), std::string(trouble.value), std::string(trouble.why));
  }

  if (a.fault == kNothing) {
    file.table("expect.works");
    file.key("metric", "\"success_rate\"", "`retrysim run` ends with status 1 if this fails");
    file.key("at_least", "0.999", "of the requests; choose what you promise your users");
  } else {
    file.table("expect.recovers");
    file.key("metric", "\"recovery_s\"", "`retrysim run` ends with status 1 if this fails");
    file.key("at_most", "30", "seconds after it is over until requests succeed as before");
  }
  return file.text();
}

void name_files_from(FirstAnswers& answers, const std::filesystem::path& folder) {
  auto table = parse_value(answers.service_law, {});
  if (folder.empty() || !table || !table->is_table()) return;
  for (Member& member : table->members) {
    if (member.name != "buckets" && member.name != "before") continue;
    std::error_code error;
    const auto near = std::filesystem::proximate(member.value.text, folder, error);
    if (!error) member.value.text = near.generic_string();
    answers.service_law = render(*table);
  }
}

}  // namespace retrysim::scenario

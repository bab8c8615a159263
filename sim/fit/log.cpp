// SPDX-License-Identifier: MIT
#include "fit/log.hpp"

#include <retrysim/simulation.hpp>

#include "fit/coarse.hpp"
#include "fit/counts.hpp"
#include "fit/formats.hpp"
#include "fit/laws.hpp"
#include "fit/lines.hpp"
#include "fit/members.hpp"
#include "fit/values.hpp"
#include "fit/wrappers.hpp"
#include "kernel/sorting.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace retrysim::fit {
namespace {

constexpr std::int64_t kNsOfSecond = 1'000'000'000;
constexpr std::size_t kBadLinesShown = 10, kOtherLinesShown = 3;
constexpr double kMaxCounted = 1e12;
/// Bytes of a name of a member or a service, which is kept until the end.
constexpr std::size_t kLongestName = 256;

/// What `run --access-log` writes.
constexpr std::string_view kOwnHeader = "time,duration,status,service,instance,operation,request";

using Names = std::set<std::string, std::less<>>;

/// The status of a success.
constexpr int kOk = 200;
/// While a log is read, the status of a line that says 0: that of gRPC's OK, or of no answer.
constexpr int kZero = 1000;
/// The largest status of gRPC.
constexpr int kLastOfGrpc = 16;

constexpr std::size_t index_of(LinePart part) { return static_cast<std::size_t>(part); }

/// What is wrong with a line of a request.
struct Unreadable {
  std::string why;
};

/// Thrown for a line that is not a request, with the reason.
struct NoRequest {
  std::string why;
};

// --- LineValues of lines. ---

bool is_nothing(std::string_view text) { return text.empty() || text == "-"; }

/// A client without the port that it called from, which each connection draws anew: the 50312 of
/// "10.0.0.1:50312" and of "[::1]:50312". What follows the last colon of "::1" is none.
std::string_view without_port(std::string_view client) {
  const std::size_t colon = client.rfind(':');
  if (colon == std::string_view::npos) return client;
  const std::string_view host = client.substr(0, colon), port = client.substr(colon + 1);
  const bool is_one_host = host.ends_with(']') || host.find(':') == std::string_view::npos;
  const bool is_number =
      !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
  return is_one_host && is_number ? host : client;
}

/// Whether a time is one of a calendar, without an offset from UTC.
bool has_no_offset(std::string_view time) {
  constexpr std::size_t kSeconds = 19;  // "2000-10-10 13:55:36"
  return time.find(':') != std::string_view::npos && time.size() >= kSeconds &&
         time.find_first_of("+-Z", kSeconds) == std::string_view::npos;
}

constexpr double unit_in_s(std::uint8_t unit) {
  return unit == kInNs ? 1e-9 : unit == kInUs ? 1e-6 : unit == kInMs ? 1e-3 : 1;
}

constexpr std::string_view unit_name(std::uint8_t unit) {
  return unit == kInNs ? "ns" : unit == kInUs ? "us" : unit == kInMs ? "ms" : "s";
}

bool is_one_unit(std::uint8_t units) { return (units & (units - 1)) == 0; }

/// The status in a text; 0 if it is unknown. Throws Unreadable.
int status_of(std::string_view text) {
  constexpr int kLargest = 999;
  if (std::ranges::any_of(text, [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; })) {
    if (const std::optional<int> of_grpc = status_of_grpc(text)) return *of_grpc;
  }
  if (const std::size_t last = text.find_last_of(", "); last != std::string_view::npos) {
    text = text.substr(last + 1);  // the last of several upstreams
  }
  if (is_nothing(text) || text == "-1") return 0;
  int status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  if (error != std::errc() || end != text.data() + text.size() || status < 0 || status > kLargest) {
    throw Unreadable{fmt::format("\"{}\" is not a status", shown(text))};
  }
  return status;
}

/// Whether a word that says how the request ended means that the client did not wait.
bool flags_say_gave_up(FlagWords words, std::string_view text) {
  switch (words) {
    case FlagWords::kEnvoy:
      while (!text.empty()) {
        const std::string_view flag = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), flag.size() + 1));
        if (flag == "DC" || flag == "DR" || flag == "DownstreamConnectionTermination" ||
            flag == "DownstreamRemoteReset") {
          return true;
        }
      }
      return false;
    case FlagWords::kHaproxy:
      return text.starts_with('C');
    case FlagWords::kApache:
      return text == "X";
    case FlagWords::kNginx:
      return is_nothing(text);
    case FlagWords::kIis:
      return text == "64" || text == "1236";  // the connection was aborted
    case FlagWords::kCloudFront:
      return text == "ClientCommError";
    default:
      return false;
  }
}

/// The path in a request line, a path or an address, without host and query.
std::string_view path_in(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank != std::string_view::npos) {
    text.remove_prefix(blank + 1);
    text = text.substr(0, text.find(' '));
  }
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
    text.remove_prefix(std::min(text.find('/'), text.size()));
  }
  return text.substr(0, text.find_first_of("?#"));
}

/// Whether a load balancer or an orchestrator asks whether the server is well.
bool is_health_check(std::string_view path, std::string_view agent) {
  for (const std::string_view checker :
       {"kube-probe/", "ELB-HealthChecker/", "GoogleHC/", "Envoy/HC", "Consul Health Check",
        "Amazon-Route53-Health-Check"}) {
    if (agent.starts_with(checker)) return true;
  }
  path = path_in(path);
  for (const std::string_view page :
       {"/healthz", "/health", "/livez", "/readyz", "/healthcheck", "/health-check", "/health/live",
        "/health/ready", "/healthz/ready", "/healthz/live", "/-/healthy", "/-/ready", "/_health",
        "/actuator/health", "/actuator/health/liveness", "/actuator/health/readiness"}) {
    if (path == page) return true;
  }
  return false;
}

// --- Units of durations that the format does not tell. ---

struct RawDurations {
  double mean = 0, longest = 0, span_s = 0;  ///< in the log's own unit, except the span
  std::size_t count = 0;
};

/// The only unit of `candidates` in which the durations are those of requests: on average from
/// 0.1 ms to 20 s, and none longer than the log. `preferred` is taken if it is one of several.
/// Throws BadLog if there is no such unit, or more than one.
/// `or_else` is what may be done besides giving the unit.
std::uint8_t unit_that_fits(const RawDurations& durations, std::uint8_t candidates,
                            std::uint8_t preferred, const std::string& file, NameOfPart part,
                            std::string_view or_else) {
  constexpr double kLeastMean = 1e-4, kMaxMean = 20, kSecondMore = 1;
  std::vector<std::uint8_t> fitting;
  std::string words;
  for (const std::uint8_t unit : {kInS, kInMs, kInUs, kInNs}) {
    if ((candidates & unit) == 0) continue;
    const double mean_s = durations.mean * unit_in_s(unit);
    if (mean_s < kLeastMean || mean_s > kMaxMean ||
        durations.longest * unit_in_s(unit) > durations.span_s + kSecondMore) {
      continue;
    }
    fitting.push_back(unit);
    words += fmt::format("{}{} (mean {} s)", words.empty() ? "" : " or ", unit_name(unit),
                         scenario::said_number(mean_s));
  }
  if (fitting.size() == 1) return fitting.front();
  if (std::ranges::find(fitting, preferred) != fitting.end()) return preferred;
  if (fitting.empty()) {
    throw BadLog(fmt::format(
        "{}: the log does not say in which unit its durations are, and none makes sense: "
        "their mean is {}, the longest {}, and the log spans {} s; give it "
        "with {}, or the column with {} duration=NAME",
        file, scenario::said_number(durations.mean, 4), scenario::said_number(durations.longest, 4),
        scenario::said_number(durations.span_s, 4), part("duration_unit"), part("columns")));
  }
  throw BadLog(
      fmt::format("{}: the log does not say in which unit its durations are: they may be {}; give "
                  "it with {}{}",
                  file, words, part("duration_unit"), or_else));
}

// --- A log. ---

/// Lines of files become observations.
class LogParser {
 public:
  LogParser(const LogOptions& options, Log& log) : options_(options), log_(log) {
    if (!is_description(options.format)) return;
    std::string why_not;
    described_ = described_format(options.format, why_not);
    if (!described_) {
      throw BadLog(fmt::format("{}: {}", options.part("format"), why_not));
    }
  }

  void read(const std::string& name) {
    LineReader reader(name);
    file_ = reader.name();
    // The first lines say what the log is.
    constexpr std::size_t kHead = 1000, kHeadBytes = std::size_t{1} << 20;
    std::vector<std::pair<std::uint64_t, std::string>> head;
    std::size_t bytes = 0;
    while (head.size() < kHead && bytes < kHeadBytes) {
      const auto line = reader.next();
      if (!line) break;
      if (is_blank(*line)) continue;
      bytes += line->size();
      head.emplace_back(reader.number(), std::string(*line));
    }
    if (head.empty()) return;
    if (head.front().second.starts_with("\xef\xbb\xbf")) head.front().second.erase(0, 3);
    begin_file(head);
    for (const auto& [number, line] : head) {
      if (number > header_line_) add(line, number);
    }
    head.clear();
    while (const auto line = reader.next()) {
      if (!is_blank(*line)) add(*line, reader.number());
    }
    end_file();
  }

  const Names& services() const { return services_; }
  bool times_are_local() const { return times_are_local_; }

  /// Lines that name no service are left out if they are few and the others name one service.
  void leave_out_unnamed() {
    std::size_t unnamed = 0;
    for (const auto& [begin, end] : unnamed_) unnamed += end - begin;
    if (unnamed == 0 || services_.size() != 2 || !services_.contains("") ||
        2 * unnamed >= log_.rows.size() || !options_.service.empty()) {
      return;
    }
    std::size_t kept = 0, next = 0;
    for (std::size_t i = 0; i < log_.rows.size(); ++i) {
      while (next < unnamed_.size() && i >= unnamed_[next].second) ++next;
      if (next < unnamed_.size() && i >= unnamed_[next].first) continue;
      log_.rows[kept++] = log_.rows[i];
    }
    log_.rows.resize(kept);
    log_.no_service += unnamed;
    services_.erase("");
  }

  /// Makes numbers of requests in intervals out of those that counters have had since their start.
  /// Throws BadLog if numbers only grow, and it is not said that they are a counter's.
  void finish_counts() {
    if (log_.counts.empty()) return;
    // A word of its own in nearly each line tells no series.
    if (2 * series_.size() > log_.counts.size()) {
      for (Count& count : log_.counts) count.series = 0;
      series_.clear();
    }
    const bool added = add_up_same_times(log_.counts);
    const bool is_total = log_.counted_in == CountedIn::kTotal;
    const Steps steps = steps_of(log_.counts);
    if (log_.counted_in == CountedIn::kInterval && steps.only_grow() && 2 * steps.up >= steps.all &&
        steps.down == steps.resets) {
      throw BadLog(fmt::format(
          "the numbers in the column \"{0}\" only grow, like those of a counter since its start; "
          "if "
          "they are, call the column requests_total; if each is the number in its interval, write "
          "it as a rate, requests_per_second",
          shown(count_name_)));
    }
    if (is_total && steps.only_grow()) {
      log_.counts = differences(log_.counts);
      log_.notes.push_back(fmt::format(
          "The numbers in the column {} grow, as those of a counter since its start: what counts "
          "is "
          "their differences{}.",
          shown(count_name_),
          steps.down == 0   ? std::string()
          : steps.down == 1 ? std::string("; the counter began again once")
                            : fmt::format("; counters began again {} times", steps.down)));
    }
    if (is_total) log_.counted_in = CountedIn::kInterval;
    if (series_.size() > 1) {
      log_.notes.push_back(fmt::format("The numbers of {} series (by {}) are added up.",
                                       series_.size(), shown(series_names_)));
    } else if (added) {
      log_.notes.emplace_back("Several numbers of the same time are added up.");
    }
  }

  /// Decides what those statuses mean that only the whole log tells. Numbers up to 16, and no
  /// others, are of gRPC. Where most lines have no status and all others an error, statuses are
  /// written for errors only.
  void finish_statuses() {
    std::size_t none = 0, zero = 0, of_grpc = 0, of_http = 0, good = 0, bad = 0;
    constexpr int kLeastError = 400;
    for (const Observation& row : log_.rows) {
      const auto status = static_cast<int>(row.status);
      if (status == 0) {
        ++none;
      } else if (status == kZero) {
        ++zero;
      } else if (status <= kLastOfGrpc) {
        ++of_grpc;
      } else if (!row.gave_up) {
        ++of_http;
        ++(status < kLeastError ? good : bad);
      }
    }
    const bool is_grpc = of_http == 0 && (of_grpc > 0 || (zero > 0 && zero_is_ok_));
    if (zero > 0 || is_grpc) {
      for (Observation& row : log_.rows) {
        const auto status = static_cast<int>(row.status);
        if (status == kZero) row.status = is_grpc ? kOk : 0;
        if (!is_grpc || status == 0 || status > kLastOfGrpc) continue;
        const int meant = *status_of_grpc(std::to_string(status));
        row.status = meant & 0x3ff;
        row.gave_up = says_gave_up(meant);
        ++(meant < kLeastError ? good : bad);
      }
      if (is_grpc) {
        good += zero;
        log_.notes.emplace_back(
            "Statuses are numbers of gRPC: 0 is a success, and the others count as the statuses of "
            "HTTP that they stand for, such as 14 as 503.");
      } else {
        none += zero;
      }
    }
    if (good == 0 && bad > 0 && none > bad && !log_.load_test) {
      for (Observation& row : log_.rows) {
        if (row.status == 0) row.status = kOk;
      }
      log_.notes.push_back(fmt::format(
          "{} of {} lines have no status, and the others have errors only: statuses are taken to "
          "be written for errors alone, and lines without one to be successes.",
          scenario::grouped(none), scenario::grouped(log_.rows.size())));
    }
    log_.has_statuses = std::ranges::any_of(log_.rows, &Observation::has_status);
  }

  /// What the users of a load test did, by the law of interactive systems: users = rate x (latency
  /// + pause). The number of users must have been the same nearly all the time.
  void finish_load_test() {
    if (!log_.load_test || log_.rows.size() < 2) return;
    LoadTest& test = *log_.load_test;
    test.users_change = 10 * most_users_seen_ < 9 * users_seen_;
    std::string words = fmt::format(
        "These are results of a load test with {}: durations are what its clients saw, with the "
        "network and new connections, and so are failures.",
        test.tool);
    if (test.no_answers > 0) {
      words += fmt::format(
          " {} requests had no answer, such as for lack of a connection: they count as status {}.",
          scenario::grouped(test.no_answers), kNoAnswer);
    }
    if (test.timeouts > 0) {
      words += fmt::format(" {} ended by the timeout of the client: they count as status {}.",
                           test.timeouts, kClientGaveUp);
    }
    log_.notes.push_back(words);
    if (!test.users) {
      log_.notes.push_back(
          "The results do not say how many users there were, nor whether a slower service would "
          "have slowed them down: the scenario has the arrivals of the test.");
      return;
    }
    std::int64_t first = log_.rows.front().start_ns, last = first;
    double latency_s = 0;
    for (const Observation& row : log_.rows) {
      first = std::min(first, row.start_ns);
      last = std::max(last, row.start_ns);
      latency_s += static_cast<double>(row.duration_ns) * 1e-9;
    }
    const auto requests = static_cast<double>(log_.rows.size());
    const double rate = (requests - 1) / (static_cast<double>(last - first) * 1e-9);
    test.think_s = std::max(0.0, static_cast<double>(*test.users) / rate - latency_s / requests);
  }

  /// Names that are all different name lines, as those that a server draws for each: then client
  /// and path are taken, as if there were no names.
  void check_that_names_repeat() {
    constexpr std::size_t kFewest = 20;  // fewest lines that can be fitted
    if (!log_.has_requests || names_are_kept_ || log_.rows.size() < kFewest) return;
    std::vector<std::pair<std::uint64_t, std::size_t>> named;
    for (std::size_t i = 0; i < log_.rows.size(); ++i) {
      const std::uint64_t name = log_.rows[i].request;
      if (name != 0 && !Observation::is_key(name)) named.emplace_back(name, i);
    }
    kernel::sort(named);
    for (std::size_t i = 1, first = 0; i < named.size(); ++i) {
      if (named[i].first != named[first].first) first = i;
      // Collectors write lines twice: those say nothing.
      const Observation &a = log_.rows[named[first].second], &b = log_.rows[named[i].second];
      if (a.start_ns != b.start_ns || a.duration_ns != b.duration_ns) return;
    }
    keys_.resize(log_.rows.size());
    log_.has_requests = false;
    for (std::size_t i = 0; i < log_.rows.size(); ++i) {
      std::uint64_t& request = log_.rows[i].request;
      if (!Observation::is_key(request)) request = keys_[i];
      log_.has_keys |= request != 0;
    }
    keys_ = {};
    log_.notes.push_back(fmt::format(
        "No name of a request comes twice, as if the server drew a new one for each line: {}.",
        log_.has_keys ? "retries are told by client and path instead"
                      : "names do not tell retries"));
  }

  /// A name that many lines share is not the name of a request.
  void check_identity() {
    constexpr std::uint64_t kSample = 15;  // one name of sixteen
    constexpr double kMaxAttempts = 10;
    constexpr std::size_t kFewest = 200;
    if (!log_.has_requests || log_.rows.size() < kFewest) return;
    std::vector<std::uint64_t> names;
    const bool all = log_.rows.size() < 100 * kFewest;
    for (const Observation& row : log_.rows) {
      const std::uint64_t name = row.request;
      if (name == 0 || Observation::is_key(name)) continue;
      if (all || (name >> 20 & kSample) == 0) names.push_back(name);
    }
    const std::size_t lines = names.size();
    kernel::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.empty() ||
        static_cast<double>(lines) <= kMaxAttempts * static_cast<double>(names.size())) {
      return;
    }
    for (Observation& row : log_.rows) {
      if (!Observation::is_key(row.request)) row.request = 0;
    }
    log_.has_requests = false;
    log_.notes.push_back(fmt::format(
        "The column of request names has {} lines for each name: it names something else, and "
        "retries cannot be told by it.",
        scenario::said_number(static_cast<double>(lines) / static_cast<double>(names.size()))));
  }

 private:
  using Head = std::vector<std::pair<std::uint64_t, std::string>>;

  static bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t") == std::string_view::npos;
  }

  // --- Which format. ---

  void begin_file(const Head& head) {
    format_ = Format{};
    wrapping_ = Wrapping{};
    members_.clear();
    shapes_.clear();
    last_shape_ = 0;
    count_.reset();
    header_line_ = 0;
    names_are_kept_ = names_are_kept_ && head.front().second == kOwnHeader;
    first_row_ = log_.rows.size();
    first_line_ = head.front().first;
    takes_wrapper_time_ = is_iis_ = is_logfmt_ = request_time_is_time_ = false;
    path_is_request_ = false;
    w3c_fields_ = 0;
    w3c_date_.clear();
    w3c_days_ns_ = w3c_latest_ns_ = 0;
    first_time_ns_.reset();
    lines_set_back_ = times_set_back_ = 0;
    scale_ = kFineScale;
    any_plain_ = false;
    std::vector<std::string_view> lines;
    for (const auto& [number, line] : head) lines.push_back(line);
    load_test_.reset();
    if (options_.format == "auto" && options_.columns.empty()) {
      load_test_ = load_test_of(lines, file_);
    }
    if (load_test_) {
      begin_load_test();
    } else {
      choose_format(lines);
      if (format_.shape == Shape::kCsv) read_header(lines, first_line_);
    }
    if (format_.shape == Shape::kPattern && !options_.columns.empty()) {
      throw BadLog(
          fmt::format("{}: its format, {}, has no names of columns for {}; describe it with {}",
                      file_, format_.word, options_.part("columns"), options_.part("format")));
    }
    if (options_.duration_unit_s && format_.has(LinePart::kDuration)) apply_unit();
    choose_clock(lines);
    note_paths();
    note_zero();
    log_.format = format_.word;
    if (wrapping_.any()) log_.format += fmt::format(", {}", wrapping_.words());
  }

  void begin_load_test() {
    format_ = load_test_->format;
    if (format_.shape == Shape::kCsv && load_test_->has_header) header_line_ = first_line_;
    if (!log_.load_test) log_.load_test.emplace();
    log_.load_test->tool = tool_name(load_test_->tool);
  }

  void choose_format(const std::vector<std::string_view>& lines) {
    const std::string_view word =
        described_ ? std::string_view("auto") : plain_word(options_.format);
    const auto count_described = [&](const std::vector<std::string_view>& some) {
      std::size_t count = 0;
      for (const std::string_view line : some) count += follows(*described_, line) ? 1 : 0;
      return count;
    };
    const bool may_be_json = !described_ && (word == "auto" || word == "json");
    const bool wants_fields = word == "csv" || word == "json" || word == "w3c";
    std::size_t matched = 0;
    if (described_) {
      matched = count_described(lines);
      format_ = *described_;
    } else if (!wants_fields) {
      if (std::optional<Format> known = known_format(lines, word, matched)) format_ = *known;
    }
    // The inside of a wrapping may look like the same format with more text in front.
    Wrapping wrapping = Wrapping::of(lines, [&](std::string_view inner) {
      if (described_) return follows(*described_, inner);
      std::size_t one = 0;
      return inner.starts_with('{') || known_format({&inner, 1}, "auto", one).has_value();
    });
    if (wrapping.any()) {
      std::vector<std::string> inside;
      for (const std::string_view line : lines) inside.emplace_back(wrapping.unwrap(line).line);
      std::vector<std::string_view> views(inside.begin(), inside.end());
      std::erase_if(views, is_blank);
      std::size_t inner = 0;
      std::optional<Format> known;
      if (described_) {
        inner = count_described(views);
        if (inner > 0) known = described_;
      } else if (!wants_fields) {
        known = known_format(views, word, inner);
      }
      if (const std::size_t objects = count_objects(views); may_be_json && objects > inner) {
        inner = objects;
        known = json_format();
      }
      if (known && inner >= matched) {
        format_ = *known;
        wrapping_ = std::move(wrapping);
        return check_time();
      }
    }
    const std::string_view first = lines.front();
    const std::string place = fmt::format("{}:{}", file_, first_line_);
    if (may_be_json && (first == "[" || first.starts_with("[{"))) {
      throw BadLog(fmt::format(
          "{}: an array of JSON; write each object in a line of its own (jq -c '.[]')", place));
    }
    if (may_be_json && count_objects(lines) > matched) {
      format_ = json_format();
      return;
    }
    if (matched > 0) return check_time();
    if (described_) {
      throw BadLog(
          fmt::format("{}: the first {} lines do not have the format that {} describes: {}", place,
                      lines.size(), options_.part("format"), shown(first)));
    }
    if (word == "w3c" ||
        (word == "auto" && (first.starts_with("#Fields:") || first.starts_with("#Version:") ||
                            first.starts_with("#Software:")))) {
      format_.shape = Shape::kW3c;
      format_.word = "w3c";
      return;
    }
    const bool is_markup = first.size() > 1 && first.front() == '<' &&
                           (first[1] == '?' || first[1] == '!' ||
                            std::isalpha(static_cast<unsigned char>(first[1])) != 0);
    if (word == "auto" && is_markup) {
      throw BadLog(fmt::format(
          "{}: XML and HTML are not read; write the log as text with a line for each request",
          place));
    }
    const auto is_logfmt = [](std::string_view line) {
      constexpr std::size_t kMinPairs = 3;
      return split_logfmt(line, [](auto, auto) {}) >= kMinPairs;
    };
    if (word == "logfmt" || (word == "auto" && 2 * std::ranges::count_if(lines, is_logfmt) >
                                                   static_cast<std::ptrdiff_t>(lines.size()))) {
      format_ = json_format();
      format_.word = "logfmt";
      is_logfmt_ = true;
      wrapping_ = std::move(wrapping);
      return;
    }
    if (word == "json") {
      format_ = json_format();
      return;
    }
    if (word == "csv" || word == "auto") check_commas(place, first);
    if (word == "csv" || (word == "auto" && (looks_like_header(first) || is_header(first)))) {
      format_.shape = Shape::kCsv;
      format_.word = "csv";
      return;
    }
    throw BadLog(fmt::format(
        "{}: {}; describe the lines with {}: the log_format of nginx, the LogFormat of Apache, the "
        "format string of Envoy or HAProxy: {}",
        place,
        word == "auto" ? std::string("the format is none that is known")
                       : fmt::format("the lines are not of the format {}", word),
        options_.part("format"), shown(first)));
  }

  /// Throws BadLog if another sign separates the columns of a header.
  void check_commas(const std::string& place, std::string_view header) const {
    for (const auto& [sign, name] : {std::pair{'\t', "tabs"}, {';', "semicolons"}}) {
      if (header.find(',') != std::string_view::npos || header.find(sign) == header.npos) continue;
      std::string with_commas(header);
      std::ranges::replace(with_commas, sign, ',');
      if (!is_header(with_commas)) continue;
      throw BadLog(
          fmt::format("{}: its columns are separated by {}; write commas, and points in decimals",
                      place, name));
    }
  }

  static std::size_t count_objects(const std::vector<std::string_view>& lines) {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines, [](std::string_view line) { return line.starts_with('{'); }));
  }

  static Format json_format() {
    Format format;
    format.shape = Shape::kJson;
    format.word = "json";
    return format;
  }

  bool is_header(std::string_view line) const {
    std::vector<std::string_view> names;
    if (!split_csv(line, names)) return false;
    return std::ranges::any_of(names, [&](std::string_view name) {
      const auto wanted = options_.columns.find(Role::kTime);
      if (wanted != options_.columns.end() && wanted->second == name) return true;
      return usual_meaning(name).part == LinePart::kTime;
    });
  }

  /// Whether a line looks like a CSV header, even if none of its names is known.
  static bool looks_like_header(std::string_view line) {
    constexpr std::size_t kLongestColumn = 64;
    std::vector<std::string_view> names;
    if (!split_csv(line, names) || names.size() < 2) return false;
    return std::ranges::all_of(names, [](std::string_view name) {
      return !name.empty() && name.size() <= kLongestColumn &&
             std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
             name.find_first_of("[]{}<>\"=|:") == std::string_view::npos;
    });
  }

  bool follows(const Format& format, std::string_view line) const {
    if (format.shape == Shape::kJson) return line.starts_with('{');
    LineValues values;
    return format.pattern.match(line, values) && make_sense(format, values);
  }

  void check_time() const {
    if (format_.has(LinePart::kTime) || wrapping_.any() || format_.shape == Shape::kJson) return;
    throw BadLog(fmt::format(
        "{}: the lines of {} have no time; log them with one, or keep the one that Docker or "
        "Kubernetes puts in front (docker logs --timestamps)",
        file_, format_.word));
  }

  /// A clock that only tells seconds is worse than that of the collector, if the collector gets
  /// lines when they are written.
  void choose_clock(const std::vector<std::string_view>& lines) {
    if (!wrapping_.any()) return;
    if (!format_.has(LinePart::kTime) && format_.shape != Shape::kJson) {
      takes_wrapper_time_ = true;
      if (std::ranges::none_of(lines, [&](std::string_view line) {
            return parse_log_time(wrapping_.unwrap(line).time).has_value();
          })) {
        throw BadLog(fmt::format(
            "{}: the lines of {} have no time, and what is around them ({}) has none with a year",
            file_, format_.word, wrapping_.words()));
      }
      return;
    }
    if (format_.shape != Shape::kPattern) return;
    constexpr std::int64_t kMaxLate = 2 * kNsOfSecond;
    std::size_t known = 0;
    bool fine = false;
    for (const std::string_view line : lines) {
      const Unwrapped said = wrapping_.unwrap(line);
      LineValues values;
      const auto collected = parse_log_time(said.time);
      if (!collected || !format_.pattern.match(said.line, values)) continue;
      const auto own = parse_log_time(values[index_of(LinePart::kTime)]);
      if (!own) continue;
      if (*own % kNsOfSecond != 0) return;
      std::int64_t late = *collected - *own;
      if (format_.meaning(LinePart::kTime).is_start) {
        late -= static_cast<std::int64_t>(
            1e9 * unit_in_s(format_.meaning(LinePart::kDuration).units) *
            parse_number(values[index_of(LinePart::kDuration)]).value_or(0));
      }
      if (late < -kMaxLate || late > kMaxLate) return;
      fine = fine || *collected % kNsOfSecond != 0;
      ++known;
    }
    takes_wrapper_time_ = fine && known > 0;
  }

  // --- Columns and members. ---

  void apply_unit() {
    const double unit = *options_.duration_unit_s;
    format_.meaning(LinePart::kDuration).units = unit < 1e-8   ? kInNs
                                                 : unit < 1e-5 ? kInUs
                                                 : unit < 1e-2 ? kInMs
                                                               : kInS;
  }

  bool is_pending() const {
    if (load_test_) return false;
    if (!format_.has(LinePart::kDuration)) return format_.shape == Shape::kJson;
    return format_.shape == Shape::kJson ||
           !is_one_unit(format_.meaning(LinePart::kDuration).units);
  }

  /// Finds the meanings of columns or members by their names. A name that the user chose stays.
  void choose(const std::vector<std::string_view>& names) {
    std::array<bool, kLineParts> taken{};
    for (std::size_t part = 0; part < kLineParts; ++part) {
      taken[part] = format_.has(static_cast<LinePart>(part));
    }
    const auto take = [&](std::size_t place, const Meaning& meaning) {
      const std::size_t part = index_of(meaning.part);
      if (taken[part] || !format_.offer(meaning)) return;
      format_.names[part] = names[place];
      format_.places[part] = place;
    };
    for (std::size_t place = 0; place < names.size(); ++place) {
      if (names[place] == format_.name(LinePart::kDuration)) continue;
      // In logs of Amazon's API Gateway, this is when the request came.
      if (names[place] == "requestTime" && request_time_is_time_) {
        if (!members_.contains("requestTimeEpoch")) {
          take(place, {LinePart::kTime, kNoUnit, true, 99, FlagWords::kNone, false});
        }
        continue;
      }
      Meaning meaning =
          format_.shape == Shape::kW3c ? w3c_meaning(names[place]) : usual_meaning(names[place]);
      for (const auto& [role, wanted] : options_.columns) {
        if (wanted != names[place]) continue;
        const auto part = static_cast<LinePart>(role);
        if (meaning.part != part) {
          const bool start = meaning.part == LinePart::kTime && meaning.is_start;
          meaning = Meaning{
              part,
              part == LinePart::kDuration ? duration_unit_of(wanted) : std::uint8_t{kNoUnit},
              start,
              0,
              FlagWords::kNone,
              false};
        }
        meaning.rank = 0;
        take(place, meaning);
        meaning = {};
      }
      if (meaning.part == LinePart::kNothing) continue;
      const bool is_role = index_of(meaning.part) < kRoles;
      if (is_role && options_.columns.contains(static_cast<Role>(meaning.part))) continue;
      take(place, meaning);
    }
    // Beside another name of requests, nginx's "request" is the request line.
    constexpr std::uint8_t kLast = 250;
    for (std::size_t place = 0; place < names.size(); ++place) {
      if (names[place] == format_.name(LinePart::kRequest) || !is_request(names[place])) continue;
      take(place, {LinePart::kPath, kNoUnit, false, kLast, FlagWords::kNone, false});
    }
    path_is_request_ =
        is_request(format_.name(LinePart::kPath)) && !options_.columns.contains(Role::kPath);
    if (options_.duration_unit_s && format_.has(LinePart::kDuration)) apply_unit();
  }

  /// Whether a column is called "request", as a request line is, and as a name of one may be.
  static bool is_request(std::string_view name) {
    name = name.substr(name.rfind('.') + 1);
    return name == "request" || name == "Request";
  }

  /// Whether a text is a request line, a path or an address.
  static bool is_request_line(std::string_view text) {
    return text.find(' ') != std::string_view::npos || text.starts_with('/') ||
           text.find("://") != std::string_view::npos;
  }

  void check_columns(const std::string& place, const std::vector<std::string_view>& names) const {
    for (const auto& [role, wanted] : options_.columns) {
      if (format_.name(static_cast<LinePart>(role)) == wanted) continue;
      throw BadLog(fmt::format("{}: there is no column \"{}\"; {}", place, shown(wanted),
                               scenario::suggestion(wanted, names, "columns are")));
    }
    if (!format_.has(LinePart::kTime)) {
      throw BadLog(fmt::format("{}: no column is called time; name it with {} time=NAME", place,
                               options_.part("columns")));
    }
  }

  /// Reads the header of a CSV file, the first of `lines`.
  void read_header(const std::vector<std::string_view>& lines, std::uint64_t number) {
    header_line_ = number;
    const std::string place = fmt::format("{}:{}", file_, number);
    if (!split_csv(lines.front(), fields_)) throw BadLog(place + ": a quote is not closed");
    const std::vector<std::string_view> header = fields_;
    choose(header);
    check_columns(place, header);
    find_counts(place, header, lines);
  }

  /// Whether the user says that each line is a request.
  bool is_said_to_be_requests() const {
    return options_.format != "auto" ||
           std::ranges::any_of(options_.columns,
                               [](const auto& column) { return column.first != Role::kTime; });
  }

  /// Whether lines say what a line of many requests could not: a status, or who asked for what.
  bool says_single_requests() const {
    return format_.has(LinePart::kStatus) || format_.has(LinePart::kGrpc) ||
           format_.has(LinePart::kRequest) || format_.has(LinePart::kPath) ||
           format_.has(LinePart::kClient);
  }

  /// Finds the column with numbers of requests. Throws BadLog if rows are of many requests each,
  /// and nothing says for certain how many there were.
  void find_counts(const std::string& place, const std::vector<std::string_view>& header,
                   const std::vector<std::string_view>& lines) {
    const bool no_roles = !format_.has(LinePart::kDuration) && !format_.has(LinePart::kStatus) &&
                          !format_.has(LinePart::kGrpc) && !format_.has(LinePart::kRequest) &&
                          !format_.has(LinePart::kPath);
    auto at = std::ranges::find_if(
        header, [](std::string_view name) { return counted_in(name) != CountedIn::kNothing; });
    if (no_roles && at == header.end()) at = std::ranges::find(header, "value");
    if (no_roles && at != header.end()) return take_counts(header, lines, at);
    if (is_said_to_be_requests()) return;
    if (at == header.end()) return check_figures(place, {header.begin(), header.end()});
    if (!says_single_requests()) return take_counts(header, lines, at);
    const auto column = static_cast<std::size_t>(at - header.begin());
    const bool always_one = std::ranges::all_of(lines.begin() + 1, lines.end(), [&](auto line) {
      return !split_csv(line, fields_) || fields_.size() <= column || fields_[column] == "1";
    });
    if (always_one) return;
    throw BadLog(fmt::format(
        "{}: the column \"{}\" says how many requests a row is of, so that no row is one; leave "
        "the time and that number, summed up for each time, or, if each row is a request, say so "
        "with {} csv",
        place, shown(*at), options_.part("format")));
  }

  void take_counts(const std::vector<std::string_view>& header,
                   const std::vector<std::string_view>& lines,
                   std::vector<std::string_view>::const_iterator at) {
    count_ = static_cast<std::size_t>(at - header.begin());
    count_name_ = *at;
    const CountedIn counted = *at == "value" ? CountedIn::kInterval : counted_in(*at);
    if (!log_.counts.empty() && log_.counted_in != counted) {
      throw BadLog("some files have numbers of requests, others rates: fit one kind");
    }
    log_.counted_in = counted;
    // A duration beside a number of requests is their average.
    for (std::size_t part = 0; part < kLineParts; ++part) {
      const auto its = static_cast<LinePart>(part);
      if (its != LinePart::kTime && its != LinePart::kService) format_.meanings[part] = {};
    }
    find_series(header, lines);
  }

  /// Finds the columns that tell several series apart: by their names, or since all that is in them
  /// is words.
  void find_series(const std::vector<std::string_view>& header,
                   const std::vector<std::string_view>& lines) {
    constexpr std::size_t kLinesSeen = 100;
    series_columns_.clear();
    series_names_.clear();
    const auto is_word = [](std::string_view text) {
      return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
             !parse_log_time(text);
    };
    for (std::size_t i = 0; i < header.size(); ++i) {
      const bool is_known =
          i == *count_ || i == format_.places[index_of(LinePart::kTime)] ||
          (format_.has(LinePart::kService) && i == format_.places[index_of(LinePart::kService)]);
      if (is_known || usual_meaning(header[i]).part == LinePart::kTime) continue;
      bool are_words = lines.size() > 1;
      for (std::size_t n = 1; n < std::min(lines.size(), kLinesSeen) && are_words; ++n) {
        are_words = split_csv(lines[n], fields_) && fields_.size() > i && is_word(fields_[i]);
      }
      if (!are_words && !is_of_series(header[i])) continue;
      series_columns_.push_back(i);
      series_names_ += fmt::format("{}{}", series_names_.empty() ? "" : ", ", header[i]);
    }
  }

  /// The number of the series that the fields of a line are of.
  std::uint32_t series_of_line() {
    constexpr std::size_t kMost = 10'000;
    std::uint64_t key = 0;
    for (const std::size_t column : series_columns_) {
      key = key * 0x9e3779b97f4a7c15u;
      if (column < fields_.size()) key ^= hash_of(fields_[column]);
    }
    const auto at = series_.find(key);
    if (at != series_.end()) return at->second;
    if (series_.size() >= kMost) return 0;
    const auto next = static_cast<std::uint32_t>(series_.size());
    return series_.emplace(key, next).first->second;
  }

  /// Throws BadLog if columns or members are figures of many requests.
  void check_figures(const std::string& place, const std::vector<std::string>& names) const {
    const bool is_named = format_.has(LinePart::kRequest) ||
                          (format_.has(LinePart::kPath) &&
                           (format_.has(LinePart::kClient) || format_.has(LinePart::kStatus) ||
                            format_.has(LinePart::kGrpc)));
    if (is_said_to_be_requests() || is_named) return;
    const auto at = std::ranges::find_if(names, [&](const std::string& name) {
      const CountedIn counted = counted_in(name);
      return is_of_many(name) || counted == CountedIn::kSecond || counted == CountedIn::kMinute ||
             ((counted == CountedIn::kInterval || counted == CountedIn::kTotal) &&
              !says_single_requests());
    });
    if (at == names.end()) return;
    throw BadLog(fmt::format(
        "{}: \"{}\" is a figure of many requests, so that no line is one: this is no access log; a "
        "monitoring export is read as CSV with a time and a column called requests (numbers in "
        "each interval) or requests_per_second. If each line is a request, say so with {} {}",
        place, shown(*at), options_.part("format"),
        format_.shape == Shape::kCsv ? "csv"
        : is_logfmt_                 ? "logfmt"
                                     : "json"));
  }

  /// Throws BadLog if lines that say nothing of single requests come at equal distances of seconds:
  /// then they are samples of something.
  void check_that_they_are_no_samples() const {
    constexpr std::size_t kFewest = 20;
    constexpr double kNearlyAll = 0.9;
    const auto rows = std::span(log_.rows).subspan(first_row_);
    const bool has_names = format_.shape == Shape::kCsv || format_.shape == Shape::kJson;
    if (!has_names || load_test_ || is_said_to_be_requests() || says_single_requests() ||
        rows.size() < kFewest) {
      return;
    }
    const bool starts = time_is_start();
    const auto time = [&](const Observation& row) { return starts ? row.start_ns : row.end_ns(); };
    const std::int64_t step = time(rows[1]) - time(rows[0]);
    if (step < kNsOfSecond || step % kNsOfSecond != 0) return;
    std::size_t equal = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const std::int64_t distance = time(rows[i]) - time(rows[i - 1]);
      if (distance <= 0 || distance % step != 0) return;
      equal += distance == step ? 1 : 0;
    }
    if (static_cast<double>(equal) < kNearlyAll * static_cast<double>(rows.size() - 1)) return;
    throw BadLog(fmt::format(
        "{}: its lines are {} s apart and say nothing of a single request, neither a status nor a "
        "path: they look like samples. A monitoring export is read as CSV with a time and a column "
        "called requests (numbers in each interval) or requests_per_second. If each line is a "
        "request, say so with {} {}",
        file_, step / kNsOfSecond, options_.part("format"),
        format_.shape == Shape::kCsv ? "csv"
        : is_logfmt_                 ? "logfmt"
                                     : "json"));
  }

  // "#Fields: date time c-ip sc-status time-taken"
  void read_directive(std::string_view line) {
    constexpr std::string_view kFields = "#Fields:", kSoftware = "#Software:", kDate = "#Date:";
    if (line.starts_with(kDate)) {
      const std::string_view rest = line.substr(kDate.size());
      const std::string_view date =
          rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
      w3c_date_ = date.substr(0, date.find(' '));
      w3c_days_ns_ = w3c_latest_ns_ = 0;
    }
    if (line.starts_with(kSoftware)) {
      is_iis_ = line.find("Internet Information Services") != std::string_view::npos;
    }
    if (!line.starts_with(kFields)) return;
    line.remove_prefix(kFields.size());
    while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
    if (!split_blanks(line, fields_)) return;
    const bool had_fields = w3c_fields_ > 0;
    const std::uint8_t units = format_.meaning(LinePart::kDuration).units;
    format_ = Format{};
    format_.shape = Shape::kW3c;
    format_.word = "w3c";
    choose(fields_);
    w3c_fields_ = fields_.size();
    const bool edge = std::ranges::any_of(
        fields_, [](std::string_view field) { return field.starts_with("x-edge"); });
    if (format_.has(LinePart::kDuration) && !options_.duration_unit_s) {
      if (had_fields) {
        format_.meaning(LinePart::kDuration).units = units;
      } else if (is_iis_ || edge) {
        format_.meaning(LinePart::kDuration).units = edge ? kInS : kInMs;
      }
    }
    check_columns(file_, fields_);
  }

  // Many loggers leave out what is null: a member may first come in a later line.
  void learn_members() {
    constexpr std::size_t kMost = 10'000, kMaxShapes = 10'000;
    if (said_.shape() == last_shape_) return;
    last_shape_ = said_.shape();
    if (shapes_.contains(last_shape_)) return;
    if (shapes_.size() < kMaxShapes) shapes_.insert(last_shape_);
    const std::size_t before = members_.size();
    for (const Member& member : said_.all()) {
      if (member.raw_name.size() > kLongestName) {
        throw Unreadable{fmt::format("a member's name has more than {} bytes", kLongestName)};
      }
      if (member.is_nested_value() || members_.size() >= kMost) continue;
      if (member.is_of_line() && member.raw_name == "requestTime") {
        request_time_is_time_ = member.raw_value.find(':') != std::string_view::npos;
      }
      if (std::string name = said_.name(member); name.size() <= kLongestName) {
        members_.insert(std::move(name));
      }
    }
    if (members_.size() == before || described_) return;
    const bool had_service = format_.has(LinePart::kService);
    if (members_.contains("dyno") && members_.contains("connect") &&
        format_.meaning(LinePart::kDuration).part == LinePart::kNothing &&
        !options_.columns.contains(Role::kDuration)) {
      // Heroku's router: "connect=1ms service=18ms".
      format_.meaning(LinePart::kDuration) =
          Meaning{LinePart::kDuration, kInAnyUnit, false, 0, FlagWords::kNone, false};
      format_.names[index_of(LinePart::kDuration)] = "service";
    }
    choose({members_.begin(), members_.end()});
    note_paths();
    note_zero();
    if (!had_service && format_.has(LinePart::kService) && log_.rows.size() > first_row_) {
      // The lines before this one name no service.
      services_.insert("");
      if (options_.service.empty()) {
        unnamed_.emplace_back(first_row_, log_.rows.size());
      } else {
        log_.other_services += log_.rows.size() - first_row_;
        log_.rows.resize(first_row_);
        keys_.resize(std::min(keys_.size(), first_row_));
      }
    }
  }

  /// Notes whether a status of 0 is a success even if all statuses are 0: that of gRPC.
  void note_zero() {
    const std::string& name = format_.name(LinePart::kStatus);
    zero_is_ok_ = zero_is_ok_ || name == "code" || usual_meaning(name).part == LinePart::kGrpc;
  }

  /// Notes the paths of the members that are read.
  void note_paths() {
    for (std::size_t part = 0; part < kLineParts; ++part) {
      const bool has = format_.has(static_cast<LinePart>(part)) && !format_.names[part].empty();
      paths_[part] = has ? Members::path_of(format_.names[part]) : 0;
    }
  }

  // --- Lines. ---

  void add(std::string_view line, std::uint64_t number) {
    if (format_.shape == Shape::kW3c && line.starts_with('#')) return read_directive(line);
    ++log_.lines;
    line_ = number;
    try {
      add_request(line);
    } catch (const Unreadable& bad) {
      ++log_.bad_lines;
      if (log_.first_bad.size() < kBadLinesShown) {
        log_.first_bad.push_back({file_, number, bad.why});
      }
    } catch (const NoRequest& other) {
      ++log_.other_lines;
      if (log_.first_other.size() < kOtherLinesShown) {
        log_.first_other.push_back({file_, number, other.why});
      }
    }
  }

  void add_request(std::string_view line) {
    Unwrapped said;
    said.line = line;
    if (wrapping_.any()) {
      said = wrapping_.unwrap(line);
      if (!said.is_whole) throw NoRequest{"a part of a line that was too long for the collector"};
      if (is_blank(said.line)) throw NoRequest{"an empty line"};
    }
    LineValues values;
    read_values(said.line, values);
    const auto text = [&](LinePart part) { return values[index_of(part)]; };
    if (load_test_ && !is_request_of_test(values)) return;
    if (takes_wrapper_time_ || (!format_.has(LinePart::kTime) && wrapping_.any())) {
      values[index_of(LinePart::kTime)] = said.time;
    }
    std::optional<std::int64_t> time;
    if (format_.shape == Shape::kW3c && !format_.has(LinePart::kDate) && !w3c_date_.empty()) {
      time = time_of_day(text(LinePart::kTime));
    } else if (format_.has(LinePart::kDate)) {
      texts_[0] = fmt::format("{} {}", text(LinePart::kDate), text(LinePart::kTime));
      time = parse_log_time(texts_[0]);
    } else {
      time = parse_log_time(text(LinePart::kTime));
    }
    if (!time) throw Unreadable{fmt::format("\"{}\" is not a time", shown(text(LinePart::kTime)))};
    if (!first_time_ns_ && format_.shape != Shape::kW3c) {
      times_are_local_ |= has_no_offset(text(LinePart::kTime));
    }
    watch_clock(*time);
    if (count_) {
      const std::optional<double> value = parse_number(fields_[*count_]);
      if (!value || *value > kMaxCounted) {
        throw Unreadable{fmt::format("\"{}\" is not a count", shown(fields_[*count_]))};
      }
      if (format_.has(LinePart::kService) && !is_of_service(text(LinePart::kService))) return;
      log_.counts.push_back({*time, *value, series_of_line()});
      return;
    }
    if (text(LinePart::kPath) == "<BADREQ>") throw NoRequest{"no request came over the connection"};
    LoadTestAnswer answer;
    if (load_test_) {
      answer = answer_of(load_test_->tool, text(LinePart::kStatus), text(LinePart::kError));
      log_.load_test->no_answers += answer.status == kNoAnswer ? 1 : 0;
      log_.load_test->timeouts += answer.gave_up ? 1 : 0;
    }
    int status = load_test_ ? answer.status : status_of(text(LinePart::kStatus));
    if (format_.has(LinePart::kGrpc) && !is_nothing(text(LinePart::kGrpc))) {
      const std::optional<int> of_grpc = status_of_grpc(text(LinePart::kGrpc));
      if (!of_grpc) {
        throw Unreadable{
            fmt::format("\"{}\" is not a status of gRPC", shown(text(LinePart::kGrpc)))};
      }
      if (*of_grpc != kOk || status == 0) status = *of_grpc;
    }
    const bool says_nothing = format_.meaning(LinePart::kFlags).flags == FlagWords::kEnvoy ||
                              format_.meaning(LinePart::kFlags).flags == FlagWords::kCloudFront;
    const bool gave_up =
        says_gave_up(status) ||
        (format_.has(LinePart::kFlags) &&
         flags_say_gave_up(format_.meaning(LinePart::kFlags).flags, text(LinePart::kFlags))) ||
        (says_nothing && !is_nothing(text(LinePart::kStatus)) && status == 0);
    if (gave_up && !says_gave_up(status)) status = kClientGaveUp;
    if (!load_test_ && status == 0 && text(LinePart::kStatus).ends_with('0')) status = kZero;
    const std::optional<std::int64_t> duration = duration_of(values, *time);

    if (is_health_check(text(LinePart::kPath), text(LinePart::kAgent))) {
      ++log_.health_checks;
      return;
    }
    std::string_view service = text(LinePart::kService);
    const bool has_service =
        format_.has(LinePart::kService) || (wrapping_.any() && !said.service.empty());
    if (is_nothing(service)) service = format_.has(LinePart::kService) ? "" : said.service;
    if (has_service && !is_of_service(service)) return;

    const bool is_start = time_is_start();
    Observation row = duration ? Observation::of(*time, *duration, status)
                               : Observation::without_duration(*time, status);
    row.gave_up = gave_up;
    if (duration && !is_start && !is_pending()) row.start_ns -= *duration;
    std::string_view request = text(LinePart::kRequest), path = text(LinePart::kPath);
    if (path_is_request_ && !is_request_line(path)) path = "";
    if (is_request_line(request)) {
      if (path.empty()) path = request;
      request = "";
    }
    row.request = hash_of(request) & ~Observation::kKeyBit;
    log_.has_requests |= row.request != 0;
    const std::uint64_t client = hash_of(without_port(text(LinePart::kClient)));
    const std::uint64_t way = hash_of(path);
    if (client != 0 && way != 0) {
      const std::uint64_t key = (client * 0x9e3779b97f4a7c15u ^ way) | Observation::kKeyBit;
      if (row.request != 0) {
        keys_.resize(log_.rows.size());
        keys_.push_back(key);
      } else {
        row.request = key;
        log_.has_keys = true;
      }
    }
    log_.has_durations |= row.has_duration;
    log_.times_are_starts = is_start;
    while (*time % log_.time_resolution_ns != 0) log_.time_resolution_ns /= 1000;
    if (has_service && service.empty()) note_unnamed(log_.rows.size());
    log_.rows.push_back(row);
  }

  /// Notes where times go back and go on from there. A single line with an earlier time is a
  /// request that took long and is logged with its start.
  void watch_clock(std::int64_t time_ns) {
    constexpr std::int64_t kLeastNs = 300 * kNsOfSecond;
    constexpr int kManyLines = 20;
    if (lines_set_back_ > 0) {
      lines_set_back_ = time_ns < set_back_from_ns_ - set_back_by_ns_ / 2 ? lines_set_back_ + 1 : 0;
      if (lines_set_back_ == kManyLines) {
        lines_set_back_ = 0;
        if (++times_set_back_ == 1) first_set_back_ = set_back_;
      }
    } else if (first_time_ns_ && last_time_ns_ - time_ns >= kLeastNs) {
      lines_set_back_ = 1;
      set_back_from_ns_ = last_time_ns_;
      set_back_by_ns_ = last_time_ns_ - time_ns;
      set_back_ = {line_, set_back_by_ns_, time_ns - *first_time_ns_};
    }
    if (!first_time_ns_) first_time_ns_ = time_ns;
    last_time_ns_ = time_ns;
  }

  /// At the end of summer time, clocks without an offset go back by an hour, and the requests of
  /// two hours would be in one. Buffers set times back again and again, and an hourly file behind
  /// another begins where that does. Throws BadLog.
  void check_clock() const {
    constexpr std::int64_t kHourNs = 3600 * kNsOfSecond, kSlackNs = 60 * kNsOfSecond;
    if (times_set_back_ != 1 || std::abs(first_set_back_.by_ns - kHourNs) > kSlackNs ||
        std::abs(first_set_back_.behind_first_ns) < kSlackNs) {
      return;
    }
    throw BadLog(fmt::format(
        "{}:{}: the times go back by an hour and go on from there, as at the end of summer time, "
        "without an offset that would tell both hours apart; fit the lines before this one, or "
        "those from it on",
        file_, first_set_back_.line));
  }

  /// The time in a log whose date stands only in its head; days are counted from there.
  std::optional<std::int64_t> time_of_day(std::string_view text) {
    constexpr std::int64_t kHalfADayNs = 43'200 * kNsOfSecond;
    texts_[0] = fmt::format("{} {}", w3c_date_, text);
    std::optional<std::int64_t> time = parse_log_time(texts_[0]);
    if (!time) return parse_log_time(text);
    if (*time + w3c_days_ns_ < w3c_latest_ns_ - kHalfADayNs) w3c_days_ns_ += 2 * kHalfADayNs;
    *time += w3c_days_ns_;
    w3c_latest_ns_ = *time;
    return time;
  }

  /// Whether a line of a load test is a request; lines of other measurements are not counted.
  /// Throws NoRequest.
  bool is_request_of_test(const LineValues& values) {
    const auto note_users = [&](std::string_view text) {
      const std::optional<double> users = parse_number(text);
      constexpr double kMaxUsers = 1e6;
      if (!users || *users < 1 || *users > kMaxUsers) return;
      const auto count = static_cast<std::size_t>(*users);
      LoadTest& test = *log_.load_test;
      ++users_seen_;
      if (test.users == count) ++most_users_seen_;
      if (!test.users || *test.users < count) {
        test.users = count;
        most_users_seen_ = 1;
      }
    };
    if (format_.has(LinePart::kUsers)) note_users(values[index_of(LinePart::kUsers)]);
    if (is_sum_of_requests(*load_test_, values[index_of(LinePart::kError)])) {
      throw NoRequest{"it sums up the requests of a transaction"};
    }
    if (load_test_->filter.empty()) return true;
    const std::string_view what = values[index_of(LinePart::kFilter)];
    const bool has_time =
        !values[index_of(LinePart::kTime)].empty();  // k6 describes its metrics, too
    if (what == load_test_->filter && has_time) return true;
    if (what == "vus") note_users(values[index_of(LinePart::kDuration)]);
    --log_.lines;
    return false;
  }

  bool time_is_start() const {
    if (takes_wrapper_time_) return false;
    if (options_.time_is_start) return *options_.time_is_start;
    // Google's load balancers and Cloud Run write when the request came.
    if (format_.name(LinePart::kDuration) == "httpRequest.latency") return true;
    return format_.meaning(LinePart::kTime).is_start;
  }

  /// Reads a line. Throws Unreadable, NoRequest.
  void read_values(std::string_view line, LineValues& values) {
    switch (format_.shape) {
      case Shape::kPattern:
        if (format_.pattern.match(line, values)) return;
        if ((format_.has(LinePart::kTime) && parse_log_time(values[index_of(LinePart::kTime)])) ||
            looks_like_request(line)) {
          throw Unreadable{fmt::format("it has another form than the lines of {}", format_.word)};
        }
        throw NoRequest{fmt::format("it is no line of {}", format_.word)};
      case Shape::kJson:
        return read_json(line, values);
      case Shape::kCsv:
        if (!split_csv(line, fields_)) throw Unreadable{"a quote or bracket is not closed"};
        break;
      case Shape::kW3c:
        if (w3c_fields_ == 0) {
          throw BadLog(
              fmt::format("{}: no line \"#Fields: ...\" comes before the first request", file_));
        }
        if (!split_blanks(line, fields_)) throw Unreadable{"a quote is not closed"};
        if (fields_.size() != w3c_fields_) {
          throw Unreadable{
              fmt::format("it has {} fields instead of {}", fields_.size(), w3c_fields_)};
        }
        break;
    }
    const auto need = [&](std::size_t place) {
      if (fields_.size() > place) return;
      throw Unreadable{fmt::format("it has {} fields instead of {}", fields_.size(), place + 1)};
    };
    for (std::size_t part = 0; part < kLineParts; ++part) {
      if (!format_.has(static_cast<LinePart>(part))) continue;
      need(format_.places[part]);
      values[part] = fields_[format_.places[part]];
    }
    if (count_) need(*count_);
  }

  /// Throws Unreadable, NoRequest.
  void read_object(std::string_view line) {
    while (line.starts_with(' ')) line.remove_prefix(1);
    switch (said_.read_json(line)) {
      case Members::Misread::kNone:
        return;
      case Members::Misread::kTooDeep:
        throw Unreadable{fmt::format("its JSON is nested more than {} deep", Members::kDeepest)};
      case Members::Misread::kNoObject:
        break;
    }
    if (line.starts_with('{') || looks_like_request(line)) throw Unreadable{"not a JSON object"};
    throw NoRequest{"not a JSON object"};
  }

  void read_json(std::string_view line, LineValues& values) {
    if (is_logfmt_) {
      said_.read_logfmt(line);
      if (said_.all().empty()) throw NoRequest{"it has no name=value"};
    } else {
      read_object(line);
    }
    if (!load_test_) learn_members();
    for (const Member& member : said_.all()) {
      for (std::size_t part = 0; part < kLineParts; ++part) {
        if (paths_[part] == member.path) values[part] = said_.text(member);
      }
    }
    if (load_test_) return;
    const auto is_there = [&](LinePart part) { return !values[index_of(part)].empty(); };
    if (!is_there(LinePart::kTime) && !wrapping_.any()) {
      throw NoRequest{format_.has(LinePart::kTime)
                          ? fmt::format("it has no \"{}\"", format_.name(LinePart::kTime))
                          : "it has no time"};
    }
    // "status=Pending" is the status of something else.
    const auto says = [&](LinePart part) {
      const std::string_view text = values[index_of(part)];
      return is_there(part) && (part != LinePart::kStatus ||
                                std::isalpha(static_cast<unsigned char>(text.front())) == 0);
    };
    bool expected = false;
    for (const LinePart part :
         {LinePart::kDuration, LinePart::kStatus, LinePart::kGrpc, LinePart::kPath}) {
      if (says(part)) return;
      expected = expected || format_.has(part);
    }
    if (expected) throw NoRequest{"it has neither duration nor status nor path"};
  }

  /// The duration in a line, ns; empty if it has none. Throws Unreadable.
  std::optional<std::int64_t> duration_of(const LineValues& values, std::int64_t time_ns) {
    if (format_.has(LinePart::kFirst)) return sum_of(values, time_ns);
    std::string_view text = values[index_of(LinePart::kDuration)];
    if (!format_.has(LinePart::kDuration) || is_nothing(text)) return std::nullopt;
    if (text == "-1" && format_.shape == Shape::kPattern) return std::nullopt;
    if (text.starts_with('+')) text.remove_prefix(1);  // HAProxy: the answer was not over
    const std::string_view whole = text;
    std::int64_t sum = 0;
    bool any = false;
    while (!text.empty()) {
      const std::string_view one = text.substr(0, text.find_first_of(",:"));
      text.remove_prefix(std::min(text.size(), one.size() + 1));
      const std::size_t begin = one.find_first_not_of(' ');
      if (begin == std::string_view::npos) continue;
      const std::string_view value = one.substr(begin, one.find_last_not_of(' ') + 1 - begin);
      if (is_nothing(value)) continue;  // an upstream that was not reached
      const std::optional<std::int64_t> took = one_duration(value);
      if (!took) throw Unreadable{fmt::format("\"{}\" is not a duration", shown(whole))};
      sum += *took;
      any = true;
    }
    if (!any) return std::nullopt;
    if (sum > Observation::kLongestNs) {
      throw Unreadable{fmt::format("\"{}\" is not a duration", shown(whole))};
    }
    return sum;
  }

  std::optional<std::int64_t> one_duration(std::string_view text) {
    const auto within = [](std::optional<std::int64_t> value) {
      return value && *value >= 0 && *value <= Observation::kLongestNs ? value : std::nullopt;
    };
    if (const std::optional<double> number = parse_number(text)) {
      if (is_pending()) return within(pending(text, *number));
      const double unit_s = options_.duration_unit_s
                                ? *options_.duration_unit_s
                                : unit_in_s(format_.meaning(LinePart::kDuration).units);
      const auto unit_ns = static_cast<std::int64_t>(std::llround(unit_s * 1e9));
      if (const auto exact = parse_decimal(text, unit_ns)) return within(exact);
      if (*number * unit_s * 1e9 > static_cast<double>(Observation::kLongestNs))
        return std::nullopt;
      return std::llround(*number * unit_s * 1e9);
    }
    const std::optional<std::int64_t> ns = parse_duration_with_units(text);
    if (!ns || !is_pending()) return ns;
    // The unit of durations that name none is found at the end; a log must not mix both kinds.
    if (any_plain_) return std::nullopt;
    any_named_ = true;
    return ns;
  }

  /// The duration in a unit that is not known yet, times `scale_`.
  std::optional<std::int64_t> pending(std::string_view text, double number) {
    if (any_named_) return std::nullopt;
    any_plain_ = true;
    if (number * static_cast<double>(scale_) > static_cast<double>(Observation::kLongestNs)) {
      for (std::size_t i = first_row_; i < log_.rows.size(); ++i) {
        log_.rows[i].duration_ns = (log_.rows[i].duration_ns / scale_) & Observation::kLongestNs;
      }
      scale_ = 1;
      if (number > static_cast<double>(Observation::kLongestNs)) return std::nullopt;
    }
    if (const auto exact = parse_decimal(text, scale_)) return exact;
    return std::llround(number * static_cast<double>(scale_));
  }

  // The three times of a request that reached no target are -1: then it took from its creation on.
  std::optional<std::int64_t> sum_of(const LineValues& values, std::int64_t time_ns) const {
    std::int64_t sum = 0;
    bool known = true;
    for (const LinePart part : {LinePart::kFirst, LinePart::kSecond, LinePart::kThird}) {
      const std::string_view text = values[index_of(part)];
      if (text == "-1" || is_nothing(text)) {
        known = false;
        continue;
      }
      const auto took = parse_decimal(text, kNsOfSecond);
      if (!took || *took > Observation::kLongestNs) {
        throw Unreadable{fmt::format("\"{}\" is not a duration", shown(text))};
      }
      sum += *took;
    }
    if (known) return sum;
    const auto begin = parse_log_time(values[index_of(LinePart::kBegan)]);
    if (!begin || *begin > time_ns) return std::nullopt;
    return time_ns - *begin;
  }

  bool is_of_service(std::string_view service) {
    constexpr std::size_t kMost = 50;
    if (service.size() > kLongestName) {
      throw Unreadable{fmt::format("the service's name has more than {} bytes", kLongestName)};
    }
    if (services_.size() < kMost && services_.find(service) == services_.end()) {
      services_.emplace(service);
    }
    if (options_.service.empty() || service == options_.service) return true;
    ++log_.other_services;
    return false;
  }

  void note_unnamed(std::size_t row) {
    constexpr std::size_t kMaxUnnamedRuns = 100'000;
    if (!unnamed_.empty() && unnamed_.back().second == row) {
      ++unnamed_.back().second;
    } else if (unnamed_.size() < kMaxUnnamedRuns) {
      unnamed_.emplace_back(row, row + 1);
    }
  }

  // --- The end of a file. ---

  void end_file() {
    check_clock();
    const bool could_read_none = members_.empty() && log_.bad_lines > 0;  // which is said then
    if (format_.shape == Shape::kJson && !load_test_ && !could_read_none) {
      if (!wrapping_.any() || format_.has(LinePart::kTime)) {
        check_columns(file_, {members_.begin(), members_.end()});
      }
      check_that_they_are_requests();
      check_figures(file_, {members_.begin(), members_.end()});
    }
    if (is_pending() && log_.rows.size() > first_row_) resolve_unit();
    if (!count_) check_that_they_are_no_samples();
    const HowRounded rounding = rounding_of_durations();
    log_.rounding = first_row_ == 0 || log_.rounding == rounding ? rounding : HowRounded::kUnknown;
  }

  /// Whether members have the names that Envoy's operators give them.
  bool is_envoy() const {
    return format_.shape == Shape::kJson && !described_ &&
           !options_.columns.contains(Role::kDuration) &&
           format_.name(LinePart::kDuration) == "duration" &&
           format_.name(LinePart::kTime) == "start_time" &&
           format_.name(LinePart::kStatus) == "response_code";
  }

  HowRounded rounding_of_durations() const {
    return is_envoy() ? HowRounded::kCut : format_.meaning(LinePart::kDuration).rounding;
  }

  void check_that_they_are_requests() const {
    for (const LinePart part :
         {LinePart::kDuration, LinePart::kStatus, LinePart::kGrpc, LinePart::kPath,
          LinePart::kRequest, LinePart::kClient, LinePart::kService}) {
      if (format_.has(part)) return;
    }
    std::vector<std::string> others;
    for (const std::string& name : members_) {
      if (name != format_.name(LinePart::kTime) && others.size() < 5) others.push_back(name);
    }
    if (others.empty()) return;
    throw BadLog(fmt::format(
        "{}: its lines are no requests: they have neither duration nor status nor path, but {}; if "
        "they are, name a column, such as {} duration=NAME",
        file_, shown(fmt::format("{}", fmt::join(others, ", "))), options_.part("columns")));
  }

  /// Converts durations that were kept in an unknown unit to nanoseconds.
  void resolve_unit() {
    const auto rows = std::span(log_.rows).subspan(first_row_);
    double factor = 1;
    if (any_plain_) {
      std::uint8_t unit = format_.meaning(LinePart::kDuration).units;
      factor =
          1e9 / static_cast<double>(scale_) *
          (options_.duration_unit_s ? *options_.duration_unit_s : unit_in_s(unit = unit_of(rows)));
      if (format_.end_if_ms && unit == kInMs) {
        format_.meaning(LinePart::kTime).is_start = false;
        log_.times_are_starts = time_is_start();
        log_.format = "tomcat";
      }
    }
    const bool is_start = time_is_start();
    for (Observation& row : rows) {
      if (!row.has_duration) continue;
      const double ns = static_cast<double>(row.duration_ns) * factor;
      const auto longest = static_cast<double>(Observation::kLongestNs);
      row.duration_ns = std::llround(std::min(ns, longest)) & Observation::kLongestNs;
      if (!is_start) row.start_ns -= row.duration_ns;
    }
    any_named_ = false;
  }

  std::uint8_t unit_of(std::span<const Observation> rows) {
    const std::uint8_t units = format_.meaning(LinePart::kDuration).units;
    const bool json = format_.shape == Shape::kJson;
    const std::string& name = format_.name(LinePart::kDuration);
    std::uint8_t candidates = units, preferred = kNoUnit;
    if (is_envoy()) return kInMs;
    if (json && !described_ && !options_.columns.contains(Role::kDuration)) {
      if (name == "Duration" && members_.contains("DownstreamStatus")) return kInNs;  // Traefik
      if (name == "duration" && units == kInS) {
        candidates = kInAnyUnit;
        preferred = kInS;
      }
      if (name == "responseTime" && members_.contains("res.statusCode")) return kInMs;  // pino
    }
    if (is_one_unit(candidates)) return candidates;
    RawDurations all;
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
    for (const Observation& row : rows) {
      first = std::min(first, row.start_ns);
      last = std::max(last, row.start_ns);
      if (!row.has_duration) continue;
      const double duration = static_cast<double>(row.duration_ns) / static_cast<double>(scale_);
      ++all.count;
      all.mean += (duration - all.mean) / static_cast<double>(all.count);
      all.longest = std::max(all.longest, duration);
    }
    all.span_s = static_cast<double>(last - first) * 1e-9;
    constexpr std::size_t kFewest = 20;  // fewest lines that can be fitted
    if (all.count < kFewest) return preferred != kNoUnit ? preferred : first_of(candidates);
    const std::string or_else =
        format_.shape == Shape::kPattern && !described_
            ? ", or, if the number behind the request is no duration, the format with " +
                  options_.part("format")
            : "";
    const std::uint8_t unit =
        unit_that_fits(all, candidates, preferred, file_, options_.part, or_else);
    if (unit != preferred) {
      log_.notes.push_back(fmt::format(
          "The log does not say in which unit durations are: only in {} do they make sense, with a "
          "mean of {} ms and none longer than the log.",
          unit_name(unit), scenario::said_number(1e3 * all.mean * unit_in_s(unit))));
    }
    return unit;
  }

  static std::uint8_t first_of(std::uint8_t units) {
    for (const std::uint8_t unit : {kInS, kInMs, kInUs, kInNs}) {
      if ((units & unit) != 0) return unit;
    }
    return kInS;
  }

  static constexpr std::size_t kRoles = 7;
  static constexpr std::int64_t kFineScale = 1'000'000;

  const LogOptions& options_;
  Log& log_;
  std::optional<Format> described_;
  Format format_;
  Wrapping wrapping_;
  std::string file_;
  std::optional<LoadTestFormat> load_test_;  // set if the file has results of a load test
  std::size_t users_seen_ = 0, most_users_seen_ = 0;
  std::uint64_t first_line_ = 0, header_line_ = 0, line_ = 0;
  std::size_t first_row_ = 0;  // first row of the file
  bool takes_wrapper_time_ = false, is_iis_ = false, is_logfmt_ = false;
  bool request_time_is_time_ = false;  // JSON: the member requestTime has a time
  bool path_is_request_ = false;       // the path is that of the column "request"
  bool zero_is_ok_ = false;            // a status of 0 is one of gRPC, by its column's name
  bool times_are_local_ = false;       // times of some file have no offset
  std::size_t w3c_fields_ = 0;
  std::string w3c_date_;  // date in the file's head; empty if there is none
  std::int64_t w3c_days_ns_ = 0, w3c_latest_ns_ = 0;  // since then
  std::string count_name_;                            // name of the column with numbers of requests
  std::vector<std::size_t> series_columns_;
  std::string series_names_;
  std::map<std::uint64_t, std::uint32_t> series_;  // by a hash of what these columns have
  std::optional<std::size_t> count_;               // CSV: the column with numbers of requests
  std::optional<std::int64_t> first_time_ns_;      // first time in the file, as lines have it
  struct SetBack {
    std::uint64_t line = 0;
    /// How far the clock went back; how far that is behind the file's first time.
    std::int64_t by_ns = 0, behind_first_ns = 0;
  };
  std::int64_t last_time_ns_ = 0, set_back_from_ns_ = 0, set_back_by_ns_ = 0;
  SetBack set_back_, first_set_back_;
  int lines_set_back_ = 0, times_set_back_ = 0;
  std::int64_t scale_ = kFineScale;  // factor for durations without a unit
  bool any_plain_ = false, any_named_ = false;
  Names members_;                   // JSON: names of members in lines of the file
  std::set<std::uint64_t> shapes_;  // JSON: hashes of the names of members that lines have
  std::vector<std::string_view> fields_;
  Members said_;  // JSON: members of the last line
  std::uint64_t last_shape_ = 0;
  std::array<std::uint64_t, kLineParts> paths_{};  // JSON: path of each part; 0: not in the lines
  std::array<std::string, kLineParts> texts_;
  bool names_are_kept_ = true;       // all files are logs of `run`, in which attempts keep a name
  std::vector<std::uint64_t> keys_;  // client and path of the first rows, where these have names
  Names services_;
  std::vector<std::pair<std::size_t, std::size_t>> unnamed_;  // rows of lines without a service
};

void check_services(const LogOptions& options, const Names& services, const Log& log) {
  std::vector<std::string_view> names(services.begin(), services.end());
  const bool some_have_none = std::erase(names, "") > 0 && !names.empty();
  if (options.service.empty() && services.size() > 1) {
    throw BadLog(fmt::format(
        "{}; choose one with {}: {}",
        some_have_none ? "some lines of the log name no service" : "the log has several services",
        options.part("service"), shown(fmt::format("{}", fmt::join(names, ", ")))));
  }
  if (!options.service.empty() && log.rows.empty() && log.counts.empty() && !services.empty()) {
    throw BadLog(fmt::format("the log has no lines of service \"{}\"; {}", shown(options.service),
                             names.empty()
                                 ? "no line names a service"
                                 : scenario::suggestion(options.service, names, "services are")));
  }
}

/// Throws if hardly any lines are requests: then it is another kind of log.
void check_that_most_are_requests(const Log& log) {
  constexpr std::uint64_t kMaxOthers = 20;
  const std::uint64_t requests = log.rows.size() + log.counts.size() + log.other_services;
  if (log.health_checks > 0 && requests == 0) {
    throw BadLog(
        fmt::format("the log has {} health checks of load balancers, and no other requests",
                    scenario::grouped(log.health_checks)));
  }
  if (log.other_lines <= kMaxOthers * (requests + log.bad_lines)) return;
  std::string message =
      fmt::format("{} of {} lines are no requests:", scenario::grouped(log.other_lines),
                  scenario::grouped(log.lines));
  for (const BadLine& other : log.first_other) {
    message += fmt::format("\n  {}:{}: {}", other.file, other.line, other.why);
  }
  throw BadLog(message);
}

/// Throws for a log of many years, which has times in several units, or a line of another age. Sums
/// and small multiples of shorter spans are within 64-bit range.
void check_span(std::int64_t first_ns, std::int64_t last_ns) {
  constexpr double kYear = 365.25 * 86400e9, kMost = 10;
  const double years = static_cast<double>(last_ns - first_ns) / kYear;
  if (years <= kMost) return;
  throw BadLog(
      fmt::format("the log spans {:.0f} years, more than {:.0f}; are some of its times wrong, "
                  "or in another unit?",
                  years, kMost));
}

/// Notes that no line is of one hour in a night in which clocks are set forward: where local times
/// have no offset, this is no pause. `log.rows` are sorted.
void note_clock_set_forward(Log& log) {
  constexpr std::int64_t kHourNs = 3600 * kNsOfSecond, kNearNs = 600 * kNsOfSecond;
  constexpr double kLinesInHour = 20;
  const auto time = [&](const Observation& row) {
    return log.times_are_starts ? row.start_ns : row.end_ns();
  };
  std::vector<std::int64_t> times;
  times.reserve(log.rows.size());
  for (const Observation& row : log.rows) times.push_back(time(row));
  kernel::sort(times);
  const double hours = static_cast<double>(times.back() - times.front()) / kHourNs;
  if (static_cast<double>(times.size()) < kLinesInHour * hours) return;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const std::int64_t begin_ns = (times[i - 1] + kHourNs - 1) / kHourNs * kHourNs;
    if (times[i] < begin_ns + kHourNs || begin_ns - times[i - 1] > kNearNs ||
        times[i] - begin_ns - kHourNs > kNearNs) {
      continue;
    }
    const std::chrono::sys_days day(std::chrono::days(begin_ns / (24 * kHourNs)));
    const std::chrono::year_month_day date(day);
    const auto month = static_cast<unsigned>(date.month());
    const std::int64_t hour = begin_ns / kHourNs % 24;
    const bool is_spring = month == 3 || month == 9 || month == 10;
    if (std::chrono::weekday(day) != std::chrono::Sunday || !is_spring || hour > 3) continue;
    log.notes.push_back(fmt::format(
        "No line is from {0:02}:00 to {1:02}:00 on {2}-{3:02}-{4:02}, a Sunday in the season in "
        "which clocks are set forward, and times have no offset: if they were set forward then, "
        "this is no pause, and the log is an hour shorter.",
        hour, hour + 1, static_cast<int>(date.year()), month, static_cast<unsigned>(date.day())));
  }
}

/// Spreads lines without durations that share a few distinct times.
void spread_shared_times(Log& log) {
  const auto [first, last] = std::ranges::minmax(log.rows, {}, &Observation::start_ns);
  const std::int64_t steps = (last.start_ns - first.start_ns) / log.time_resolution_ns + 1;
  if (steps < 2 || static_cast<std::int64_t>(log.rows.size()) < steps) return;
  spread_over_steps(log.rows, log.time_resolution_ns, true, true);
}

}  // namespace

void StatusCounter::add(const Observation& row) {
  if (!row.has_status()) return;
  const auto status = static_cast<int>(row.status);
  auto at = std::ranges::lower_bound(counts_, status, {}, &StatusCount::status);
  if (at == counts_.end() || at->status != status) at = counts_.insert(at, {status, 0, 0});
  ++at->lines;
  const double duration_s = static_cast<double>(row.duration_ns) * 1e-9;
  at->mean_s += (duration_s - at->mean_s) / static_cast<double>(at->lines);
}

Log Log::with(std::vector<Observation> other_rows) const {
  Log log;
  log.rows = std::move(other_rows);
  log.has_durations = has_durations;
  log.has_statuses = has_statuses;
  log.has_requests = has_requests;
  log.has_keys = has_keys;
  log.time_resolution_ns = time_resolution_ns;
  log.rounding = rounding;
  log.times_are_starts = times_are_starts;
  log.is_coarse = is_coarse;
  log.is_disordered = is_disordered;
  log.part = part;
  return log;
}

Log read_log(const std::vector<std::string>& files, const LogOptions& options) {
  Log log;
  log.part = options.part;
  log.has_durations = false;
  LogParser parser(options, log);
  for (const std::string& file : files) parser.read(file);
  parser.check_that_names_repeat();
  parser.leave_out_unnamed();
  check_services(options, parser.services(), log);
  check_that_most_are_requests(log);
  const double share =
      log.lines == 0 ? 0 : static_cast<double>(log.bad_lines) / static_cast<double>(log.lines);
  if (share > options.bad_lines) {
    std::string message = fmt::format(
        "{} of {} lines cannot be read, more than {} %:", scenario::grouped(log.bad_lines),
        scenario::grouped(log.lines), scenario::said_number(100 * options.bad_lines));
    for (const BadLine& bad : log.first_bad) {
      message += fmt::format("\n  {}:{}: {}", bad.file, bad.line, bad.why);
    }
    throw BadLog(message);
  }
  if (!log.counts.empty()) {
    if (!log.rows.empty()) {
      throw BadLog("some files are access logs, others have numbers of requests: fit one kind");
    }
    parser.finish_counts();
    kernel::sort(log.counts, {}, &Count::time_ns);
    check_span(log.counts.front().time_ns, log.counts.back().time_ns);
    return log;
  }
  if (log.rows.empty()) {
    const std::string first = files.front() == "-" ? "standard input" : files.front();
    throw BadLog(files.size() == 1 ? fmt::format("{}: the log has no lines", first)
                                   : fmt::format("{} and {} more: the logs have no lines", first,
                                                 files.size() - 1));
  }
  parser.check_identity();
  parser.finish_load_test();
  parser.finish_statuses();
  if (log.has_durations) {
    log.order_factor = factor_by_order(log.rows, log.time_resolution_ns, log.times_are_starts);
  }
  log.is_coarse =
      log.has_durations && is_coarse(log.rows, log.time_resolution_ns, log.times_are_starts);
  if (log.is_coarse) {
    log.is_disordered = are_disordered(log.rows, log.time_resolution_ns, log.times_are_starts);
    spread_over_steps(log.rows, log.time_resolution_ns, log.times_are_starts, log.is_disordered);
  }
  // Without durations, all lines of a step would come at once.
  if (!log.has_durations) spread_shared_times(log);
  // Lines with the same start, as far as the clock tells, are put into arbitrary order: with the
  // shortest first, requests that find few others would be the short ones.
  const auto any_order = [](const Observation& row) {
    return static_cast<std::uint64_t>(row.end_ns()) * 0x9e3779b97f4a7c15u ^ row.request;
  };
  kernel::sort(log.rows, [&](const Observation& a, const Observation& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    return std::tuple(any_order(a), a.end_ns(), a.status, a.request) <
           std::tuple(any_order(b), b.end_ns(), b.status, b.request);
  });
  check_span(log.rows.front().start_ns, log.rows.back().start_ns);
  if (parser.times_are_local()) note_clock_set_forward(log);
  return log;
}

}  // namespace retrysim::fit

// SPDX-License-Identifier: MIT
#include "fit/fit.hpp"

#include "fit/coarse.hpp"
#include "fit/counts.hpp"
#include "fit/laws.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/scenario_writer.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <span>
#include <utility>

namespace retrysim::fit {
namespace {

constexpr std::size_t kMinLines = 20;
constexpr std::size_t kMaxByOrder = 20'000;  // lines whose order is examined
constexpr std::string_view kNoDurations =
    "The log has no durations, so service time and servers are not known.";
/// Largest waiting time as a share of the mean duration: with more, the law of durations differs
/// from that of service times.
constexpr double kMaxWaiting = 0.15;
constexpr double kFast = 0.1;  // share of the median duration: faster errors took no server

std::string lines_words(std::size_t n) { return fmt::format("{} line{}", n, n == 1 ? "" : "s"); }

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// --- Requests and their attempts.

std::vector<std::int64_t> first_times(const Log& log, std::optional<FittedRetries>& retries) {
  const std::vector<bool> first = first_attempts(log, retries);
  std::vector<std::int64_t> times;
  times.reserve(log.rows.size());
  for (std::size_t i = 0; i < log.rows.size(); ++i) {
    if (first[i]) times.push_back(log.rows[i].start_ns);
  }
  return times;
}

/// Counts statuses of the lines outside of incidents.
std::vector<StatusCount> count_statuses(const Log& log, std::span<const Incident> incidents = {}) {
  StatusCounter counter;
  std::size_t at = 0;
  StopCounter<> rows;
  for (const Observation& row : log.rows) {
    rows.count();
    while (at < incidents.size() && incidents[at].when.end_ns <= row.start_ns) ++at;
    if (at == incidents.size() || row.start_ns < incidents[at].when.begin_ns) counter.add(row);
  }
  return counter.counts();
}

/// Whether a line says that its request succeeded: all do in a log that has no statuses at all.
bool is_success(const Log& log, const Observation& row) {
  return !row.failed() && (row.has_status() || !log.has_statuses);
}

/// Counts lines without a status, with their mean duration.
StatusCount count_without_status(const Log& log) {
  StatusCount without;
  for (const Observation& row : log.rows) {
    if (row.has_status() || !row.has_duration) continue;
    ++without.lines;
    without.mean_s +=
        (seconds(row.duration_ns) - without.mean_s) / static_cast<double>(without.lines);
  }
  return without;
}

/// Whether a request took a server's time: it succeeded, or its status usually takes about as long
/// as successes.
bool takes_server(const Log& log, const std::vector<StatusCount>& statuses, const Observation& row,
                  double typical_s) {
  if (!row.has_duration || row.gave_up) return false;
  if (is_success(log, row)) return true;
  const auto at = std::ranges::find(statuses, static_cast<int>(row.status), &StatusCount::status);
  return at != statuses.end() && at->mean_s >= kFast * typical_s;
}

/// A bounded queue that was full.
struct FullQueue {
  std::int64_t first_ns = 0;  ///< when it was first full
  std::size_t under_way = 0;  ///< the requests that it and the servers held then
};

/// Finds a full queue: requests are turned away whenever a certain number is under way, and at no
/// other time. The number may be off by 3 %, since answers may be logged a little late.
std::optional<FullQueue> find_full_queue(const Log& log, const std::vector<Visit>& visits,
                                         const std::vector<bool>& served,
                                         std::size_t most_under_way) {
  constexpr double kAbout = 0.03;
  constexpr std::size_t kFewest = 20;
  constexpr double kHardlyAny = 0.05;  // share of the requests turned away
  // Requests let in, turned away, and first times, by how many were under way.
  std::vector<std::size_t> let_in(most_under_way + 1), turned_away(most_under_way + 1);
  std::vector<std::int64_t> first_ns(most_under_way + 1);
  UnderWay under_way;
  std::size_t next = 0, refused = 0;
  for (std::size_t i = 0; i < log.rows.size(); ++i) {
    if (served[i]) {
      ++let_in[under_way.found_by(visits[next++])];
      continue;
    }
    if (log.rows[i].gave_up || !log.rows[i].has_duration) continue;
    const std::size_t found = under_way.at(log.rows[i].start_ns);
    if (turned_away[found]++ == 0) first_ns[found] = log.rows[i].start_ns;
    ++refused;
  }
  if (refused < kFewest) return std::nullopt;
  const auto often = std::ranges::max_element(turned_away);
  const auto level = static_cast<std::size_t>(often - turned_away.begin());
  const auto margin = static_cast<std::size_t>(kAbout * static_cast<double>(level));
  std::size_t exceptions = 0;
  for (std::size_t i = 0; i < level - margin; ++i) exceptions += turned_away[i];
  for (std::size_t i = level + margin + 1; i < let_in.size(); ++i) exceptions += let_in[i];
  if (static_cast<double>(exceptions) > kHardlyAny * static_cast<double>(refused)) {
    return std::nullopt;
  }
  return FullQueue{first_ns[level], level};
}

/// The number of servers that worked at a time, so that the rest of the requests under way were in
/// the queue; empty if unknown.
std::optional<std::size_t> working_at(std::int64_t time_ns, const Fit& fit) {
  for (const Incident& i : fit.incidents.found) {
    if (i.capacity && i.when.begin_ns <= time_ns && time_ns < i.when.end_ns) return i.servers_left;
  }
  return fit.capacity->servers;
}

/// Whether a status is played as a random error. A status caused by the client's timeout is not:
/// the scenario's timeout causes it again.
bool is_random_error(const Fit& fit, int status) {
  return is_error(status) && !(says_gave_up(status) && fit.gave_up && fit.gave_up->timeout);
}

/// The number of lines outside of incidents whose status is played as a random error.
std::size_t random_errors_of(const Fit& fit) {
  std::size_t lines = 0;
  for (const StatusCount& s : fit.statuses) {
    lines += is_random_error(fit, s.status) ? s.lines : 0;
  }
  return lines;
}

// --- Values of a scenario.

double cv_of_lognormal(double deviation) { return std::sqrt(std::expm1(deviation * deviation)); }

/// A TOML comment, wrapped at 100 columns.
std::string comment(const std::string& text, std::string_view indent = "# ") {
  scenario::ScenarioWriter writer({.columns = 100});
  writer.comment(text, indent, indent);
  return writer.text();
}

/// A number of servers such that requests that found fewer under way did not wait.
std::size_t servers_of(const FittedCapacity& c) {
  return c.servers || c.contradictory ? c.free_below() : std::max<std::size_t>(1, c.most_usual);
}

/// A normal distribution that may be wider on one side.
struct SplitNormal {
  double middle = 0, below = 0, above = 0;  // standard deviations

  double cumulative(double x) const {
    const double deviation = x < middle ? below : above;
    if (deviation <= 0) return x < middle ? 0 : 1;
    return std::erfc((middle - x) / deviation / std::numbers::sqrt2) / 2;
  }
};

/// The p-quantile of a mixture of split normal distributions, weighted by the possible waits.
template <class Part>
double mixture_quantile(std::span<const PossibleWait> waits, double p, Part part) {
  constexpr double kFar = 6;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const PossibleWait& w : waits) {
    const SplitNormal n = part(w);
    low = std::min(low, n.middle - kFar * n.below);
    high = std::max(high, n.middle + kFar * n.above);
  }
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    double below = 0;
    for (const PossibleWait& w : waits) below += w.weight * part(w).cumulative(middle);
    (below < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// The capacity from a log with a coarse clock.
FittedCapacity capacity_by_order(const Log& log, std::span<const Visit> visits,
                                 std::span<const Stretch> left_out) {
  FittedCapacity c = count_under_way(visits, left_out);
  c.by_order = true;
  c.low = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(c.busy)));
  const std::vector<bool> evidence = evidence_in(visits, left_out);
  // Only the lines in the middle of the log are used.
  std::size_t lines = 0;
  for (const bool e : evidence) lines += e ? 1 : 0;
  if (lines < kMinLines) return c;
  const std::size_t skipped = lines > kMaxByOrder ? (lines - kMaxByOrder) / 2 : 0;
  std::vector<Visit> usual;
  usual.reserve(std::min(lines, kMaxByOrder));
  for (std::size_t i = 0, seen = 0; i < visits.size() && usual.size() < kMaxByOrder; ++i) {
    if (evidence[i] && seen++ >= skipped) usual.push_back(visits[i]);
  }
  WaitByOrder wait = wait_by_order(std::move(usual), log);
  c.possible_waits = std::move(wait.possible);
  c.constant_s = wait.constant_s;
  c.contradictory = c.possible_waits.empty();
  if (c.contradictory) return c;
  double mean = 0;
  for (const PossibleWait& w : c.possible_waits) mean += w.weight * w.share;
  const auto share_at = [&](double p) {
    return mixture_quantile(c.possible_waits, p, [](const PossibleWait& w) {
      return SplitNormal{w.share, w.share_error, w.share_error};
    });
  };
  constexpr double kTail = (1 - kCertainty) / 2;
  c.wait_share = {mean, std::clamp(share_at(kTail), 0.0, mean),
                  std::clamp(share_at(1 - kTail), mean, 1.0)};
  if (c.wait_share->high > kMaxWaiting) {  // the share of waiting is not known well enough
    c.low = 1;
    return c;
  }
  // There must be servers for the work itself.
  const double working = std::ceil(c.busy * (1 - c.wait_share->high));
  c.low = std::max<std::size_t>(1, static_cast<std::size_t>(working));
  double sum = 0, most = 0;
  bool is_low = true;
  for (const PossibleWait& w : c.possible_waits) {
    sum += w.weight;
    if (is_low && sum > kTail) {
      c.low = std::max(c.low, w.servers);
      is_low = false;
    }
    if (c.possible_waits.back().weight > kTail) continue;  // there may be any number
    if (!c.high && sum >= 1 - kTail) c.high = std::max(c.low, w.servers);
    if (w.weight > most) most = w.weight, c.servers = w.servers;
  }
  if (c.servers) c.servers = std::clamp(*c.servers, c.low, *c.high);
  return c;
}

/// The largest of 1 s, 100 ms, 10 ms, ... of which all durations are multiples; empty if so few of
/// them differ that they may be multiples by chance.
std::optional<std::int64_t> step_of_durations(std::span<const Visit> visits) {
  constexpr std::size_t kFewest = 10;
  std::int64_t step_ns = 1'000'000'000;
  std::vector<std::int64_t> different;
  for (const Visit& v : visits) {
    const std::int64_t took_ns = v.end_ns - v.start_ns;
    while (took_ns % step_ns != 0) step_ns /= 10;
    if (different.size() < kFewest && std::ranges::count(different, took_ns) == 0) {
      different.push_back(took_ns);
    }
  }
  return different.size() < kFewest ? std::nullopt : std::optional(step_ns);
}

/// The step of durations, if it is a good part of them and one request or more comes within it:
/// then they do not tell who found whom under way. 0: it is short.
double coarse_step(std::span<const Visit> visits) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr double kGoodPart = 0.1;
  const bool whole_seconds = std::ranges::all_of(
      visits, [](const Visit& v) { return (v.end_ns - v.start_ns) % kSecond == 0; });
  const double step_s = seconds(whole_seconds ? kSecond : step_of_durations(visits).value_or(0));
  const double span_s = seconds(visits.back().start_ns - visits.front().start_ns);
  double mean_s = 0;
  for (const Visit& v : visits) {
    mean_s += seconds(v.end_ns - v.start_ns) / static_cast<double>(visits.size());
  }
  const double come = span_s > 0 ? step_s * static_cast<double>(visits.size()) / span_s : 0;
  return come >= 1 && step_s >= kGoodPart * mean_s ? step_s : 0;
}

/// The median of estimates for parts of the log; an incident affects few parts.
std::size_t servers_of_parts(std::span<const Visit> visits, std::int64_t resolution_ns) {
  constexpr std::size_t kPieces = 9, kFewest = 100;
  std::vector<std::size_t> all;
  const std::size_t length = visits.size() / kPieces;
  for (std::size_t i = 0; i < kPieces && length >= kFewest; ++i) {
    const FittedCapacity c = fit_capacity(visits.subspan(i * length, length), resolution_ns);
    if (!c.contradictory) all.push_back(servers_of(c));
  }
  if (all.empty()) return 0;
  std::ranges::sort(all);
  return all[all.size() / 2];
}

/// Finds incidents, and the servers outside of them, by turns: each depends on the other.
void find_capacity(const Log& log, const std::vector<Visit>& visits,
                   const std::vector<bool>& succeeded, const std::vector<bool>& served,
                   const Incidents* known, Fit& fit) {
  const auto same = [](const Stretch& a, const Stretch& b) {
    return a.begin_ns == b.begin_ns && a.end_ns == b.end_ns;
  };
  std::optional<FullQueue> full;
  // The start of a request is as coarse as its duration, if that is coarser than the time.
  const std::int64_t resolution_ns =
      std::max(log.time_resolution_ns, step_of_durations(visits).value_or(1));
  std::vector<Stretch> left_out;
  if (known) left_out = known->left_out();
  constexpr int kMaxRounds = 3;
  for (int round = 0; round < kMaxRounds; ++round) {
    std::size_t servers = 1;
    if (!visits.empty()) {
      fit.capacity = log.is_coarse ? capacity_by_order(log, visits, left_out)
                                   : fit_capacity(visits, resolution_ns, left_out);
      servers = servers_of(*fit.capacity);
      if (round == 0) full = find_full_queue(log, visits, served, fit.capacity->most_under_way);
      if (round == 0 && !known && fit.capacity->contradictory && !log.is_coarse) {
        const std::size_t usual = servers_of_parts(visits, resolution_ns);
        if (usual > 0) servers = usual;
      }
    }
    if (known) {
      fit.incidents.found = known->found;
      fit.incidents.bin_s = known->bin_s;
      break;
    }
    fit.incidents = find_incidents({log, visits, succeeded, served, full.has_value()}, servers);
    std::vector<Stretch> now = fit.incidents.left_out();
    if (visits.empty() || std::ranges::equal(now, left_out, same)) break;
    left_out = std::move(now);
  }
  for (const std::string& note : fit.incidents.notes) fit.notes.push_back(note);
  if (!fit.capacity) return;
  FittedCapacity& c = *fit.capacity;
  c.coarse_step_s = coarse_step(visits);
  for (Incident& i : fit.incidents.found) {
    if (!i.capacity) continue;
    // The capacity left, relative to the number of servers that is played.
    if (!c.servers) c.low = std::max(c.low, i.servers_left + 1);
    i.capacity = static_cast<double>(i.servers_left) / static_cast<double>(c.played());
  }
  if (!full) return;
  if (const std::optional<std::size_t> working = working_at(full->first_ns, fit)) {
    fit.queue_capacity = full->under_way - std::min(full->under_way, *working);
  }
}

/// "seconds": the step of the log's clock, in words.
std::string_view step_words(const Log& log) {
  return log.time_resolution_ns == 1'000'000'000 ? "seconds"
         : log.time_resolution_ns == 1'000'000   ? "milliseconds"
                                                 : "microseconds";
}

/// The service time from a log with a coarse clock: all durations, less the share of waiting.
/// Empty, with a note why, if that share is unknown or large: the law of durations then differs
/// from that of service times.
std::optional<FittedServiceTime> without_waits(const Log& log, std::vector<double> times_s,
                                               double resolution_s, Fit& fit) {
  if (times_s.empty()) return std::nullopt;
  const std::optional<Estimate>& wait = fit.capacity->wait_share;
  if (!wait || wait->high > kMaxWaiting) {
    const std::string how_much =
        !wait
            ? fit.capacity->contradictory
                  ? "the durations of neighbouring lines are alike in a way that no queue explains"
                  : "of too few requests can be told whether they waited"
        : wait->low > kMaxWaiting
            ? fmt::format("more than {:.0f} % of the durations was waiting", 100 * kMaxWaiting)
            : fmt::format("up to {} % of the durations may have been waiting",
                          scenario::said_number(100 * wait->high, 2));
    fit.notes.push_back(fmt::format(
        "The service time cannot be told: times are whole {}, which do not say who waited, and {}. "
        "A finer clock would tell (for nginx $msec, for Apache %{{msec_frac}}t), or a log of a "
        "time "
        "with less load.",
        step_words(log), how_much));
    return std::nullopt;
  }
  const double left = 1 - wait->value;
  if (fit.capacity->constant_s) {
    std::ranges::fill(times_s, *fit.capacity->constant_s);
  } else {
    for (double& t : times_s) t *= left;
  }
  FittedServiceTime s = fit_service_time(std::move(times_s), resolution_s * left, log.rounding);
  s.step_s = resolution_s;
  s.wait_share = wait->value;
  if (fit.capacity->constant_s) return s;
  // The error has two parts: sampling of durations, and the uncertain share of waiting.
  constexpr double kWidth = 1.96, kTail = (1 - kCertainty) / 2;
  const Estimate mean = s.mean;
  const auto bound = [&](double p) {
    return mixture_quantile(fit.capacity->possible_waits, p, [&](const PossibleWait& w) {
      const double factor = (1 - w.share) / left, error = mean.value * w.share_error / left;
      return SplitNormal{mean.value * factor,
                         std::hypot(factor * (mean.value - mean.low) / kWidth, error),
                         std::hypot(factor * (mean.high - mean.value) / kWidth, error)};
    });
  };
  s.mean.low = std::min(mean.value, bound(kTail));
  s.mean.high = std::max(mean.value, bound(1 - kTail));
  return s;
}

/// Says what becomes of durations whose step matters.
void note_rounding(const FittedServiceTime& s, Fit& fit) {
  constexpr double kMatters = 0.02;
  if (s.step_s / 2 < kMatters * s.mean.value || s.rounding == HowRounded::kEven) return;
  const std::string step = time_words(s.step_s), half = time_words(s.step_s / 2);
  fit.notes.push_back(
      s.rounding == HowRounded::kCut
          ? fmt::format("Durations are cut off to multiples of {}: half of that, {}, is added to "
                        "the service time.",
                        step, half)
          : fmt::format("Durations are multiples of {}. Whether they were rounded or cut off is "
                        "not known: the service time may be {} longer, as its interval says.",
                        step, half));
}

/// Makes sure of at least as many servers as are busy on average. If only a lower bound is known,
/// the scenario needs enough servers for the log's load.
void check_servers(Fit& fit) {
  if (!fit.service_time || fit.incidents.left_out().size() > 0) return;
  FittedCapacity& c = *fit.capacity;
  const double served = fit.arrivals.rate.value;
  const double least = served * fit.service_time->mean.low;
  if (c.servers && static_cast<double>(*c.high) < least) {
    fit.notes.push_back(fmt::format(
        "The number of servers is refused: {} requests a second of {} and more keep {} "
        "busy on average, and the durations would be those of {} servers at most. Something else "
        "than a queue makes them longer.",
        scenario::said_number(served), time_words(fit.service_time->mean.low),
        scenario::said_number(least), *c.high));
    c.servers.reset();
    c.high.reset();
    c.contradictory = true;
  }
  if (c.servers) return;
  const auto busy = static_cast<std::size_t>(std::ceil(served * fit.service_time->mean.value));
  c.low = std::max(c.low, busy);
}

/// If requests come at random at a constant rate except in silent incidents, takes the rate outside
/// of these: the incidents are played as faults.
void leave_out_silences(const Log& log, Fit& fit) {
  const std::vector<Incident>& incidents = fit.incidents.found;
  if (std::ranges::none_of(incidents, &Incident::silent)) return;
  std::vector<std::int64_t> times = request_times(log);
  std::int64_t silent_ns = 0;
  std::size_t next = 0;
  for (std::int64_t& t : times) {
    for (; next < incidents.size() && incidents[next].when.end_ns <= t; ++next) {
      const Stretch& when = incidents[next].when;
      if (incidents[next].silent) silent_ns += when.end_ns - when.begin_ns;
    }
    t -= silent_ns;
  }
  FittedArrivals others = fit_arrivals(times, log.time_resolution_ns);
  if (others.kind != ArrivalKind::kPoisson) return;
  others.span_s = fit.arrivals.span_s;
  fit.arrivals = std::move(others);
  fit.arrival_times_s.clear();
}

/// Fits a monitoring export, which tells only when requests arrive.
Fit fit_export(const Log& log) {
  if (log.counts.size() < kMinLines) {
    throw BadLog(fmt::format("the log has {}; {} are needed at least",
                             lines_words(log.counts.size()), kMinLines));
  }
  std::vector<Count> counts = log.counts;
  std::ranges::stable_sort(counts, {}, &Count::series);
  const std::int64_t width = usual_distance(counts);
  if (width <= 0) throw BadLog("all counts of the log have the same time");
  // A rate is that of the whole bucket.
  const double in_unit = log.counted_in == CountedIn::kSecond   ? seconds(width)
                         : log.counted_in == CountedIn::kMinute ? seconds(width) / 60
                                                                : 1;
  Fit fit;
  fit.notes = log.notes;
  fit.origin_ns = log.counts.front().time_ns;
  const bool are_rates =
      log.counted_in == CountedIn::kSecond || log.counted_in == CountedIn::kMinute;
  auto [in_bucket, missing] = bucketed(counts, fit.origin_ns, width, are_rates);
  for (double& number : in_bucket) number *= in_unit;
  if (std::ranges::all_of(in_bucket, [](double n) { return n == 0; })) {
    throw BadLog("the counts of the log are all 0");
  }
  fit.arrivals = fit_counts(std::move(in_bucket), seconds(width));
  fit.notes.push_back(fmt::format(
      "The log has {} for each {}, and nothing of a single one: how they come within that time, "
      "service time, servers, errors and retries are for you to fill in.",
      log.counted_in == CountedIn::kSecond   ? "the requests per second"
      : log.counted_in == CountedIn::kMinute ? "the requests per minute"
                                             : "numbers of requests",
      time_words(seconds(width))));
  if (missing > 0) {
    fit.notes.push_back(
        missing == 1
            ? "1 number is missing: the one before is taken for it."
            : fmt::format("{} numbers are missing: the one before is taken for each.", missing));
  }
  return fit;
}

/// The log without its durations, for all that does not depend on them.
Log without_durations(const Log& log) {
  Log others = log.with(log.rows);
  others.has_durations = false;
  others.notes = log.notes;
  for (Observation& row : others.rows) {
    if (!log.times_are_starts) row.start_ns = row.end_ns();
    row.duration_ns = 0;
    row.has_duration = false;
  }
  std::ranges::sort(others.rows, {}, &Observation::start_ns);
  return others;
}

/// Removes the note that durations are missing: another one says more, or they are not needed.
void forget_missing_durations(Fit& fit) {
  std::erase_if(fit.notes, [](const std::string& note) { return note.starts_with(kNoDurations); });
}

}  // namespace

Fit fit_log(const Log& log, const Incidents* known) {
  if (!log.counts.empty()) return fit_export(log);
  if (log.rows.size() < kMinLines) {
    throw BadLog(fmt::format("the log has {}; {} are needed at least", lines_words(log.rows.size()),
                             kMinLines));
  }
  if (!known && log.has_durations) {
    if (const std::optional<std::string> law = broken_law(log)) {
      Fit fit = fit_log(without_durations(log));
      forget_missing_durations(fit);
      fit.notes.insert(
          fit.notes.begin(),
          "Service time and servers are refused, since the durations break a law. " + *law);
      return fit;
    }
  }
  Fit fit;
  fit.notes = log.notes;
  fit.load_test = log.load_test;
  fit.origin_ns = log.rows.front().start_ns;
  fit.has_statuses = log.has_statuses;
  fit.gave_up = find_timeout(log);
  {
    const std::vector<std::int64_t> times = first_times(log, fit.retries);
    if (times.front() == times.back()) throw BadLog("all requests of the log arrive at once");
    fit.arrivals = fit_arrivals(times, log.time_resolution_ns);
    if (fit.arrivals.kind == ArrivalKind::kOther) {
      for (const std::int64_t t : times) fit.arrival_times_s.push_back(seconds(t - times.front()));
    }
  }
  std::vector<Visit> visits;
  std::vector<bool> served(log.rows.size(), false), succeeded;
  if (log.has_durations) {
    double typical_s = 0;
    std::size_t successes = 0;
    for (const Observation& row : log.rows) {
      if (!is_success(log, row) || !row.has_duration) continue;
      ++successes;
      typical_s += (seconds(row.duration_ns) - typical_s) / static_cast<double>(successes);
    }
    std::vector<StatusCount> statuses = count_statuses(log);
    if (log.has_statuses) statuses.push_back(count_without_status(log));
    std::size_t count = 0;
    StopCounter<> rows;
    for (std::size_t i = 0; i < log.rows.size(); ++i) {
      rows.count();
      served[i] = takes_server(log, statuses, log.rows[i], typical_s);
      count += served[i] ? 1 : 0;
    }
    visits.reserve(count);
    for (std::size_t i = 0; i < log.rows.size(); ++i) {
      if (!served[i]) continue;
      visits.push_back({log.rows[i].start_ns, log.rows[i].end_ns()});
      succeeded.push_back(is_success(log, log.rows[i]));
    }
  }
  find_capacity(log, visits, succeeded, served, known, fit);
  leave_out_silences(log, fit);
  const std::vector<Stretch> left_out = fit.incidents.left_out();
  if (log.has_statuses) fit.statuses = count_statuses(log, fit.incidents.found);
  std::size_t lines = 0, failed = 0;
  for (const StatusCount& s : fit.statuses) {
    lines += s.lines;
    failed += is_error(s.status) ? s.lines : 0;
  }
  if (log.has_statuses) {
    const auto has_none = [](const Observation& row) { return !row.has_status(); };
    fit.without_status = static_cast<std::size_t>(std::ranges::count_if(log.rows, has_none));
  }
  if (fit.without_status > 0) {
    fit.notes.push_back(fmt::format(
        "{} of {} lines have no status: whether they failed is not known. They are among the "
        "arrivals, but neither in the share of errors nor in the service time.",
        scenario::grouped(fit.without_status), scenario::grouped(log.rows.size())));
  }
  if (lines > 0) fit.error_share = static_cast<double>(failed) / static_cast<double>(lines);
  if (!log.has_durations) {
    fit.notes.push_back(
        fmt::format("{} Give the time that a server works on a request, such as {} '30ms', or "
                    "change it in the scenario.",
                    kNoDurations, log.part("service_time")));
    return fit;
  }
  if (visits.empty()) {
    fit.notes.emplace_back(
        "The service time cannot be told: no line is of a request that was served.");
    return fit;
  }
  {
    const std::vector<bool> evidence = evidence_in(visits, left_out);
    std::int64_t resolution_ns = 1'000'000;  // or a thousandth of that, as often as needed
    if (const std::optional<std::int64_t> step_ns = step_of_durations(visits)) {
      resolution_ns = *step_ns;
    } else {
      for (const Visit& v : visits) {
        while ((v.end_ns - v.start_ns) % resolution_ns != 0) resolution_ns /= 1000;
      }
    }
    // The largest error of starts and ends. A request that came within it of another's end may have
    // waited; one that came within it of another's start may have come after it.
    const std::int64_t margin_ns = log.time_resolution_ns + resolution_ns;
    UnderWay under_way;
    std::vector<double> times;
    times.reserve(visits.size());
    std::size_t ahead = 0;
    for (std::size_t i = 0; i < visits.size(); ++i) {
      const std::int64_t start_ns = visits[i].start_ns;
      while (ahead < visits.size() && visits[ahead].start_ns < start_ns + margin_ns) ++ahead;
      const std::size_t with_it = std::max(ahead, i + 1) - i - 1;
      const bool waited = !log.is_coarse &&
                          under_way.found_by({start_ns, visits[i].end_ns + margin_ns}) + with_it >=
                              fit.capacity->free_below();
      if (waited || !succeeded[i] || !evidence[i]) continue;
      times.push_back(seconds(visits[i].end_ns - start_ns));
    }
    if (fit.gave_up) add_given_up(*fit.gave_up, times);
    if (times.empty()) {
      fit.notes.emplace_back(
          "The service time cannot be told: there is no success that certainly did not wait.");
    }
    visits = std::vector<Visit>();
    // If all durations are equal, their step is taken to be that of the clock, if it is finer.
    if (std::ranges::adjacent_find(times, std::ranges::not_equal_to{}) == times.end()) {
      resolution_ns = std::min(resolution_ns, log.time_resolution_ns);
    }
    if (log.is_coarse) {
      fit.service_time = without_waits(log, std::move(times), seconds(resolution_ns), fit);
    } else if (!times.empty()) {
      fit.service_time = fit_service_time(std::move(times), seconds(resolution_ns), log.rounding);
    }
  }
  if (fit.service_time) note_rounding(*fit.service_time, fit);
  check_servers(fit);
  if (fit.capacity->contradictory && !log.is_coarse) {
    fit.notes.push_back(
        "No number of servers behind one queue explains the durations: another resource is shared, "
        "or the service was slower at times, or lines that took no server, such as errors without "
        "a status, are among the others. So the service time is not known, either. The scenario "
        "takes the least number possible.");
  }
  if (random_errors_of(fit) > 0 && !fit.queue_capacity) {
    fit.notes.push_back(
        fit.incidents.found.empty()
            ? "Errors are played at random, at their share of the whole log; in the log they may "
              "have come together."
            : "Errors are played at random, at their share of the log outside of incidents.");
  }
  return fit;
}

void refuse_service_time(Fit& fit, const std::string& why) {
  fit.service_time.reset();
  fit.notes.insert(fit.notes.begin(), why);
}

void give_service_time(Fit& fit, GivenServiceTime given) {
  forget_missing_durations(fit);
  fit.given = std::move(given);
}

std::string known_words(const Fit& fit) {
  std::string known = "arrivals", unknown;
  const auto add = [&](bool is_known, std::string_view what) {
    std::string& list = is_known ? known : unknown;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", what);
  };
  if (!fit.given) add(fit.service_time && fit.is_explained(), "service time");
  add(fit.capacity && fit.capacity->servers, "servers");
  add(fit.has_statuses, "errors");
  add(fit.retries && (fit.retries->any() || fit.retries->by_name), "retries");
  if (fit.gave_up) add(fit.gave_up->timeout.has_value(), "the client's timeout");
  return fmt::format("known: {}{}{}", known, fit.given ? "; given: service time" : "",
                     unknown.empty() ? "" : "; not known: " + unknown);
}

std::vector<std::int64_t> request_times(const Log& log) {
  std::optional<FittedRetries> retries;
  return first_times(log, retries);
}

std::string law_text(const Law& law) {
  const std::vector<double>& a = law.parameters;
  const std::string mean = duration_text(law.mean());
  switch (law.kind) {
    case LawKind::kConstant:
      return fmt::format("\"{}\"", mean);
    case LawKind::kExponential:
      return fmt::format("{{ distribution = \"exponential\", mean = \"{}\" }}", mean);
    case LawKind::kGamma:
      return fmt::format("{{ distribution = \"gamma\", mean = \"{}\", shape = {:.6g} }}", mean,
                         a[0]);
    case LawKind::kLognormal:
      return fmt::format("{{ distribution = \"lognormal\", mean = \"{}\", cv = {:.6g} }}", mean,
                         cv_of_lognormal(a[1]));
    case LawKind::kWeibull:
      return fmt::format("{{ distribution = \"weibull\", mean = \"{}\", shape = {:.6g} }}", mean,
                         a[0]);
    case LawKind::kPareto:
      return fmt::format("{{ distribution = \"pareto\", mean = \"{}\", shape = {:.6g} }}", mean,
                         a[1]);
    case LawKind::kHyperexponential:
      return fmt::format(
          "{{ distribution = \"hyperexponential\", p = {:.6g}, mean1 = \"{}\", mean2 = \"{}\", "
          "factor = 1 }}",
          a[0], duration_text(a[1]), duration_text(a[2]));
    default:
      return "{ distribution = \"empirical\", file = \"service-times.csv\", factor = 1 }";
  }
}

std::string values_words(const FittedServiceTime& s) {
  if (!s.wait_share)
    return fmt::format("{} requests that did not wait", scenario::grouped(s.values));
  constexpr double kHardlyAny = 0.0005;
  if (*s.wait_share < kHardlyAny)
    return fmt::format("{} requests, of which hardly any waited", scenario::grouped(s.values));
  return fmt::format("{} requests, less {} % of waiting", scenario::grouped(s.values),
                     scenario::said_number(100 * *s.wait_share, 2));
}

std::string law_words(const Law& law) {
  const std::vector<double>& a = law.parameters;
  switch (law.kind) {
    case LawKind::kConstant:
      return fmt::format("constant, {}", time_words(a[0]));
    case LawKind::kExponential:
      return fmt::format("exponential with mean {}", time_words(a[0]));
    case LawKind::kGamma:
      return fmt::format("gamma with mean {} and shape {}", time_words(law.mean()),
                         scenario::said_number(a[0]));
    case LawKind::kLognormal:
      return fmt::format("lognormal with mean {} and cv {}", time_words(law.mean()),
                         scenario::said_number(cv_of_lognormal(a[1])));
    case LawKind::kWeibull:
      return fmt::format("Weibull with mean {} and shape {}", time_words(law.mean()),
                         scenario::said_number(a[0]));
    case LawKind::kPareto:
      return fmt::format("Pareto from {} on with shape {}", time_words(a[0]),
                         scenario::said_number(a[1]));
    case LawKind::kHyperexponential:
      return fmt::format("exponential with mean {} ({} %) or {}", time_words(a[1]),
                         scenario::said_number(100 * a[0]), time_words(a[2]));
    case LawKind::kTwoLognormals:
      return fmt::format("lognormal with median {} ({} %) or {}", time_words(a[1]),
                         scenario::said_number(100 * a[0]), time_words(a[3]));
    default:
      return "the durations of the log";
  }
}

std::string capacity_words(const FittedCapacity& c) {
  const auto servers = [](std::size_t n) {
    return fmt::format("{} server{}", n, n == 1 ? "" : "s");
  };
  if (c.by_order && c.contradictory) {
    return fmt::format(
        "No number of servers behind one queue explains the order of the durations: the scenario "
        "has {}.",
        servers(c.low));
  }
  if (c.by_order && c.servers && c.wait_share) {
    return fmt::format(
        "The order of the lines is that of {} with a queue (95 % interval from {} to {}): {} % "
        "of the durations was waiting.",
        servers(*c.servers), c.low, *c.high, scenario::said_number(100 * c.wait_share->value, 2));
  }
  if (c.by_order && c.wait_share && c.wait_share->high > kMaxWaiting) {
    return "The number of servers cannot be told from this log: requests waited, and its clock is "
           "too "
           "coarse "
           "to tell which.";
  }
  if (c.by_order) {
    return fmt::format(
        "The number of servers cannot be told from this log: its clock is too coarse to tell who "
        "waited. "
        "There {} at least {}.",
        c.low == 1 ? "is" : "are", servers(c.low));
  }
  if (c.servers) {
    return fmt::format(
        "The service works like {} with a queue (99 % interval from {} to {}): {} "
        "requests waited.",
        servers(*c.servers), c.low, *c.high, scenario::grouped(c.waited));
  }
  if (c.contradictory) {
    return fmt::format("No number of servers explains the durations: the scenario has {}.",
                       servers(c.low));
  }
  if (c.coarse_step_s > 0) {
    return fmt::format(
        "The number of servers cannot be told from this log: durations are multiples of {}, which "
        "does not say who found the service busy (at most {} were under way at once). There {} at "
        "least {}.",
        time_words(c.coarse_step_s), c.most_under_way, c.low == 1 ? "is" : "are", servers(c.low));
  }
  return fmt::format(
      "The number of servers cannot be told from this log: too few requests found the service busy "
      "(at most "
      "{} were under way at once). There {} at least {}.",
      c.most_under_way, c.low == 1 ? "is" : "are", servers(c.low));
}

std::string arrival_words(const FittedArrivals& a) {
  switch (a.kind) {
    case ArrivalKind::kPoisson:
      if (a.within_bins.degrees == 0) {
        return fmt::format(
            "Requests arrive at {} per second: too few to tell whether at random, as they are "
            "played.",
            scenario::said_number(a.rate.value, 4));
      }
      return fmt::format("Requests arrive at random at a constant rate of {} per second.",
                         scenario::said_number(a.rate.value, 4));
    case ArrivalKind::kVarying:
      if (a.within_bins.degrees == 0) {
        return fmt::format(
            "Requests arrive at a rate that changes from {} to {} per second (in bins of "
            "{} s); within these they are played at random.",
            scenario::said_number(a.trough, 4), scenario::said_number(a.peak, 4),
            scenario::said_number(a.bin_s, 6));
      }
      return fmt::format(
          "Requests arrive at random at a rate that changes from {} to {} per second "
          "(in bins of {} s).",
          scenario::said_number(a.trough, 4), scenario::said_number(a.peak, 4),
          scenario::said_number(a.bin_s, 6));
    case ArrivalKind::kOther:
      break;
  }
  if (a.within_bins.too_low() && a.between_bins.too_high()) {
    return fmt::format(
        "Requests arrive more evenly than at random, at a rate that changes from {} to {} "
        "per second (in bins of {} s): the scenario repeats their times.",
        scenario::said_number(a.trough, 4), scenario::said_number(a.peak, 4),
        scenario::said_number(a.bin_s, 6));
  }
  if (a.within_bins.too_low() || (a.between_bins.too_low() && !a.within_bins.too_high())) {
    return fmt::format(
        "Requests arrive more evenly than at random, at {} per second: the scenario repeats "
        "their times.",
        scenario::said_number(a.rate.value, 4));
  }
  return fmt::format(
      "Requests arrive in bursts, at {} per second on average: the scenario repeats their "
      "times.",
      scenario::said_number(a.rate.value, 4));
}

namespace {

/// The tables of what is not known for sure, from which `run --uncertain` draws.
class Intervals {
 public:
  /// Adds a key with its interval, both ends as TOML; leaves it out if the interval has no width.
  void add(std::string_view path, std::string low, std::string high,
           double certainty = kCertainty) {
    if (low == high) return;
    text_ += fmt::format("\n[uncertain.{}]\nlow = {}\nhigh = {}\n", scenario::render_text(path),
                         low, high);
    if (certainty != kCertainty) text_ += fmt::format("certainty = {}\n", certainty);
  }
  void add_time(std::string_view path, double low_s, double high_s) {
    add(path, scenario::render_text(duration_text(low_s)),
        scenario::render_text(duration_text(high_s)));
  }
  void add_number(std::string_view path, double low, double high) {
    add(path, fmt::format("{:.6g}", low), fmt::format("{:.6g}", high));
  }
  /// Notes something that has no interval to draw from.
  void leave_out(const std::string& why) { left_out_ += comment(why); }

  std::string text() const {
    if (text_.empty() && left_out_.empty()) return "";
    std::string all = "\n";
    if (!text_.empty()) {
      all += comment(
          "What the log leaves open: intervals (95 %, if not said otherwise) from which `retrysim "
          "run` draws if its option uncertain is given. Without it they change nothing.");
    }
    return all + left_out_ + text_;
  }

 private:
  std::string text_, left_out_;
};

void add_service_time(Intervals& intervals, const FittedServiceTime& s) {
  const std::string path = "service.service.service_time";
  const double low = s.mean.low / s.mean.value, high = s.mean.high / s.mean.value;
  if (!(low > 0 && low <= 1 && high >= 1)) return;
  const double mean = s.chosen.mean();
  switch (s.chosen.kind) {
    case LawKind::kConstant:
      return intervals.add_time(path, low * mean, high * mean);
    case LawKind::kExponential:
    case LawKind::kGamma:
    case LawKind::kLognormal:
    case LawKind::kWeibull:
    case LawKind::kPareto:
      return intervals.add_time(path + ".mean", low * mean, high * mean);
    default:
      return intervals.add_number(path + ".factor", low, high);
  }
}

void add_servers(Intervals& intervals, const FittedCapacity& c) {
  if (c.contradictory) {
    return intervals.leave_out(
        "No number of servers explains the durations: neither servers nor service time can be "
        "drawn.");
  }
  if (!c.servers || !c.high) {
    return intervals.leave_out(fmt::format(
        "At least {} server{} is all that the log tells of them: their number cannot be drawn.",
        c.low, c.low == 1 ? "" : "s"));
  }
  constexpr double kOfTest = 0.99;  // FittedCapacity
  intervals.add("service.service.servers", std::to_string(c.low), std::to_string(*c.high),
                c.by_order ? kCertainty : kOfTest);
}

/// Adds the share of lines with a status, with Wilson's interval.
void add_share(Intervals& intervals, const std::string& path, std::size_t some, std::size_t all) {
  constexpr double kWidth = 1.96;
  const auto n = static_cast<double>(all);
  const double p = static_cast<double>(some) / n, z2 = kWidth * kWidth;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kWidth * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  constexpr double kMost = 0.5;  // shares of several statuses must not come to more than 1
  if (p > kMost) return;
  intervals.add_number(path, std::min(p, middle - half), std::max(p, middle + half));
}

void add_rate(Intervals& intervals, const FittedArrivals& arrivals) {
  switch (arrivals.kind) {
    case ArrivalKind::kPoisson:
      return intervals.add_number("client.clients.arrivals.total_rate", arrivals.rate.low,
                                  arrivals.rate.high);
    case ArrivalKind::kVarying: {
      // Changes of the rate are played as they were; only chance is uncertain.
      const double off = 1.96 / std::sqrt(static_cast<double>(arrivals.requests));
      return intervals.add_number("client.clients.arrivals.scale", std::max(0.01, 1 - off),
                                  1 + off);
    }
    case ArrivalKind::kOther:
      return intervals.leave_out("The times of requests are repeated, so no rate can be drawn.");
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> scenario_files(const Fit& fit,
                                                                const std::string& name,
                                                                const std::string& source) {
  std::vector<std::pair<std::string, std::string>> inputs;
  Intervals intervals;
  std::string text = comment(source);
  text += comment(
      "Figures in brackets are 95 % intervals, if not said otherwise. Change what you know better, "
      "and run it: "
      "retrysim run scenario.toml");
  for (const std::string& note : fit.notes) text += comment("NOTE: " + note);
  const double duration = std::max(1.0, std::ceil(fit.arrivals.span_s));
  text +=
      fmt::format("\nname = {}\nduration = \"{:.0f}s\"\n", scenario::render_text(name), duration);
  constexpr double kMaxIntervals = 2000;
  const double interval = std::max(1.0, std::ceil(duration / kMaxIntervals));
  if (interval > 1) text += fmt::format("interval = \"{:.0f}s\"\n", interval);

  const bool lost = fit.gave_up && fit.gave_up->timeout && fit.gave_up->unlike_others;
  if (lost) {
    text += "\n[network]\n" + comment(timeout_words(*fit.gave_up));
    text += fmt::format("response_loss = {:.6g}\n", fit.gave_up->share);
  }

  text += "\n[service.service]\n";
  if (fit.given) {
    text += comment(fmt::format("Given with {}, not from the log.", fit.given->by));
    text += fmt::format("service_time = {}\n", fit.given->text);
  } else if (fit.service_time) {
    const FittedServiceTime& s = *fit.service_time;
    text += comment(
        fit.is_explained()
            ? fmt::format("Of {}: mean {} ({} to {}), median {}, 99 % below {} ({} to {}).",
                          values_words(s), time_words(s.mean.value), time_words(s.mean.low),
                          time_words(s.mean.high), time_words(s.p50.value), time_words(s.p99.value),
                          time_words(s.p99.low), time_words(s.p99.high))
            : fmt::format("If {} requests did not wait: mean {}, median {}, 99 % below {}.",
                          scenario::grouped(s.values), time_words(s.mean.value),
                          time_words(s.p50.value), time_words(s.p99.value)));
    text += comment(s.why);
    if (!s.two_kinds.empty()) text += comment(s.two_kinds);
    text += fmt::format("service_time = {}\n", law_text(s.chosen));
    if (fit.is_explained()) add_service_time(intervals, s);
    if (!s.quantiles_s.empty()) {
      std::string csv = "value_s,weight\n";
      for (const double q : s.quantiles_s) fmt::format_to(std::back_inserter(csv), "{:.6g},1\n", q);
      inputs.emplace_back("service-times.csv", std::move(csv));
    }
  } else {
    text += comment(
        "The log does not tell: put the time that a server works on a request here, such as");
    text += "# service_time = { distribution = \"lognormal\", mean = \"30ms\", cv = 0.8 }\n";
    text += "service_time = \"0s\"\n";
  }
  if (fit.given && !(fit.capacity && fit.capacity->servers)) {
    // Enough servers for the busiest time.
    constexpr double kBusy = 0.7;
    const double rate = std::max(fit.arrivals.peak, fit.arrivals.rate.value);
    const auto servers = std::max(1.0, std::ceil(rate * fit.given->mean_s / kBusy));
    text += comment(fmt::format(
        "The log does not tell the servers: of so many, {:.0f} % are busy at {} requests a "
        "second.",
        100 * std::min(1.0, rate * fit.given->mean_s / servers), scenario::said_number(rate, 4)));
    text += fmt::format("servers = {:.0f}\n", std::min(servers, 1e6));
  } else if (fit.capacity) {
    text += comment(capacity_words(*fit.capacity));
    if (fit.capacity->played() > fit.capacity->free_below()) {
      text += comment("So many requests were under way at once: none of them has to wait.");
    }
    text += fmt::format("servers = {}\n", fit.capacity->played());
    add_servers(intervals, *fit.capacity);
  }
  if (fit.queue_capacity) {
    text += comment("When so many waited, all further requests were turned away.");
    text += fmt::format("queue.capacity = {}\n", *fit.queue_capacity);
  }
  if (!fit.has_statuses) {
    text += comment("The log has no statuses: how many requests fail is not known.");
  }
  std::size_t with_status = 0;
  for (const StatusCount& s : fit.statuses) with_status += s.lines;
  const std::size_t played = random_errors_of(fit);
  const bool random_errors = played > 0 && !fit.queue_capacity;
  if (random_errors) {
    text += "\n[service.service.errors]\n";
    const double all = static_cast<double>(played) / static_cast<double>(with_status);
    text += comment(fmt::format("{} % of the lines.", scenario::said_number(100 * all)));
    // Shares that are rounded up must not come to more than 1.
    double left = 1;
    const auto share_text = [&](std::size_t some) {
      const double share = static_cast<double>(some) / static_cast<double>(with_status);
      std::string words = fmt::format("{:.6g}", share);
      if (std::strtod(words.c_str(), nullptr) > left) {
        words = fmt::format("{:.6f}", std::max(0.0, std::floor(left * 1e6) / 1e6));
      }
      left -= std::strtod(words.c_str(), nullptr);
      return words;
    };
    constexpr int kLastStatus = 599;  // highest status of HTTP, and of a scenario
    std::size_t beyond = 0;
    for (const StatusCount& s : fit.statuses) {
      if (!is_random_error(fit, s.status)) continue;
      if (s.status > kLastStatus) {
        beyond += s.lines;
      } else {
        text += fmt::format("\"{}\" = {}\n", s.status, share_text(s.lines));
        add_share(intervals, fmt::format("service.service.errors.{}", s.status), s.lines,
                  with_status);
      }
    }
    if (beyond > 0) {
      text += comment("Statuses above 599, which HTTP does not have, as internal errors.");
      text += fmt::format("internal = {}\n", share_text(beyond));
    }
  }

  for (std::size_t i = 0; i < fit.incidents.found.size(); ++i) {
    const Incident& incident = fit.incidents.found[i];
    text += fmt::format("\n[fault.incident-{}]\n", i + 1);
    text += comment(incident_words(incident, fit.origin_ns));
    text += fault_text(incident, fit.origin_ns);
  }

  const bool users = fit.load_test && fit.load_test->users && !fit.load_test->users_change;
  const bool has_timeout = fit.gave_up && fit.gave_up->timeout;
  if (users || has_timeout) text += "\n[client.clients]\n";
  if (users) {
    text += comment(fmt::format("The users of the load test with {}.", fit.load_test->tool));
    text += fmt::format("count = {}\n", *fit.load_test->users);
  }
  if (has_timeout) {
    if (!lost) text += comment(timeout_words(*fit.gave_up));
    const Estimate& timeout = *fit.gave_up->timeout;
    text += fmt::format("attempt_timeout = \"{}\"\n", duration_text(timeout.value));
    if (timeout.low > 0) {
      intervals.add_time("client.clients.attempt_timeout", timeout.low, timeout.high);
    }
  }
  text += "\n[client.clients.arrivals]\n";
  if (users) {
    text += comment(
        "Each user waits for its answer before the next request: users = rate x (latency + "
        "pause).");
    text += fmt::format("process = \"closed\"\nthink_time = \"{}\"\n",
                        duration_text(fit.load_test->think_s));
  } else {
    text += comment(arrival_words(fit.arrivals));
    add_rate(intervals, fit.arrivals);
    switch (fit.arrivals.kind) {
      case ArrivalKind::kPoisson:
        text += comment(
            fmt::format("({:.6g} to {:.6g})", fit.arrivals.rate.low, fit.arrivals.rate.high));
        text +=
            fmt::format("process = \"poisson\"\ntotal_rate = {:.6g}\n", fit.arrivals.rate.value);
        break;
      case ArrivalKind::kVarying: {
        text += "process = \"trace\"\nfile = \"rates.csv\"\ninterpolate = \"step\"\n";
        std::string csv = "time_s,rate\n";
        for (std::size_t i = 0; i < fit.arrivals.rates.size(); ++i) {
          fmt::format_to(std::back_inserter(csv), "{:.9g},{:.6g}\n",
                         static_cast<double>(i) * fit.arrivals.bin_s, fit.arrivals.rates[i]);
        }
        inputs.emplace_back("rates.csv", std::move(csv));
        break;
      }
      case ArrivalKind::kOther: {
        text += "process = \"trace\"\nfile = \"arrivals.csv\"\n";
        std::string csv = "time_s\n";
        StopCounter<> times;
        for (const double t : fit.arrival_times_s) {
          times.count();
          fmt::format_to(std::back_inserter(csv), "{:.9f}\n", t);
        }
        inputs.emplace_back("arrivals.csv", std::move(csv));
        break;
      }
    }
  }
  text += "\n[client.clients.retry]\n";
  if (fit.retries && fit.retries->any()) {
    const FittedRetries& r = *fit.retries;
    text += comment(fmt::format(
        "{} The median delay before a retry was {}. What your clients really do, `retrysim import` "
        "takes from their configuration.",
        retry_words(r), time_words(std::max(0.0, r.median_delay_s))));
    text += fmt::format("mode = \"custom\"\nmax_attempts = {}\ndelays = [\"{}\"]\n",
                        r.most_attempts, duration_text(std::max(0.0, r.median_delay_s)));
  } else {
    text += comment(fit.retries
                        ? retry_words(*fit.retries)
                        : "The log does not tell which requests are retries: they are among the "
                          "arrivals above.");
    text += "mode = \"none\"\n";
  }
  text += intervals.text();
  inputs.emplace(inputs.begin(), "scenario.toml", std::move(text));
  return inputs;
}

}  // namespace retrysim::fit

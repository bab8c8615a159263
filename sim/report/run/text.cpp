// SPDX-License-Identifier: MIT
#include "report/run/text.hpp"

#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/answer.hpp"
#include "report/run/edges.hpp"
#include "report/run/files.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

std::string seconds(Duration d) { return scenario::said_decimals(d.in_seconds(), 9) + " s"; }

/// The precision that a metric has reached: "latency_mean 3.1 %".
std::string reached(const MetricPrecision& m) {
  return m.metric + " " + (m.reached ? percent(*m.reached) : "absent");
}

std::string warmup_note(const FoundWarmup& w) {
  const std::string runs =
      fmt::format("the average of {} pilot run{}", w.pilot_runs, w.pilot_runs == 1 ? "" : "s");
  if (w.warmup == Duration::zero()) {
    return "warmup = \"auto\" leaves out nothing (0 % of the run): MSER-5 finds no "
           "warm-up in " +
           runs;
  }
  return fmt::format(
      "warmup = \"auto\" leaves out the first {} ({} of the run), which is where MSER-5 truncates "
      "{} in {}",
      seconds(w.warmup), percent(w.removed_share), w.decided_by, runs);
}

std::string precision_note(const PrecisionReport& p, std::size_t replications) {
  std::string list;
  for (const MetricPrecision& m : p.metrics) {
    if (p.met || !m.met) list += (list.empty() ? "" : ", ") + reached(m);
  }
  if (p.met) {
    return fmt::format("precision {} met with {} replications; half-widths: {}", p.target,
                       replications, list);
  }
  return fmt::format(
      "target not met: precision {} asks for half-widths of at most {}, but after {} replications "
      "(max_replications): {}",
      p.target, percent(p.target / (1 + p.target)), replications, list);
}

std::string single_run_note(const stats::SingleRunIntervals& s) {
  if (s.none_because) {
    return "one replication: there are no intervals, so effects cannot be told from "
           "chance, and there are no batch means because " +
           *s.none_because;
  }
  std::string note =
      "one replication: metrics that are known bin by bin have intervals from batch means";
  if (s.rows > 0) {
    note += s.fewest_batches == s.most_batches
                ? fmt::format(" ({} batches)", s.most_batches)
                : fmt::format(" ({} to {} batches)", s.fewest_batches, s.most_batches);
  }
  if (s.correlated > 0) {
    note += fmt::format(
        "; {} of these {} none because the batches are correlated: the run is too short",
        s.correlated, s.correlated == 1 ? "has" : "have");
  }
  return note;
}

/// A note on changes of mode: how many there are, and when the first ones were.
std::string switches_note(const Evaluation& e) {
  const auto& all = e.bistability->switches;
  constexpr std::size_t kShown = 3;
  std::vector<std::uint32_t> runs;
  for (const stats::ModeSwitch& s : all) {
    if (runs.empty() || runs.back() != s.replication) runs.push_back(s.replication);
  }
  std::string text =
      fmt::format("{} of mode in {}:", scenario::said_things(all.size(), "change"),
                  scenario::said_part(runs.size(), e.set.runs.size(), "replication"));
  for (std::size_t i = 0; i < std::min(kShown, all.size()); ++i) {
    text += fmt::format("{} {} at {} s in replication {}", i == 0 ? "" : ",",
                        all[i].to_low ? "down" : "up", all[i].time_s, all[i].replication);
  }
  return text + (all.size() > kShown ? ", ... (all in result.json)" : "");
}

Json warmup_json(const FoundWarmup& w) {
  Json json;
  json["rule"] = "MSER-5";
  json["removed_s"] = w.warmup.in_seconds();
  json["removed_share"] = w.removed_share;
  json["decided_by"] = w.decided_by;
  json["pilot_runs"] = w.pilot_runs;
  return json;
}

Json precision_json(const PrecisionReport& p) {
  Json json;
  json["target"] = p.target;
  json["met"] = p.met;
  json["metrics"] = Json::array();
  for (const MetricPrecision& m : p.metrics) {
    Json metric;
    metric["metric"] = m.metric;
    metric["relative_half_width"] = optional_json(m.reached);
    metric["met"] = m.met;
    json["metrics"].push_back(std::move(metric));
  }
  return json;
}

Json mode_json(const std::string& name, double goodput,
               const std::optional<stats::ModeDescription>& mode) {
  Json json;
  json["mode"] = name;
  json["goodput_per_s"] = goodput;
  if (!mode) return json;
  json["share"] = mode->share.share;
  json["share_ci_low"] = mode->share.ci_low;
  json["share_ci_high"] = mode->share.ci_high;
  json["replications"] = mode->replications;
  json["means"] = Json::array();
  for (const auto& mean : mode->means) {
    Json row;
    row["metric"] = mean.metric;
    row["mean"] = mean.estimate.mean;
    row["ci_low"] = optional_json(mean.estimate.ci_low);
    row["ci_high"] = optional_json(mean.estimate.ci_high);
    json["means"].push_back(std::move(row));
  }
  return json;
}

Json modes_json(const stats::Bistability& b) {
  Json json;
  json["between"] = b.low ? "replications" : "stretches of a run";
  json["runs_with_both"] = b.low ? Json() : Json(b.runs_with_both);
  json["ended_low"] = b.ended_low;
  json["modes"] = Json::array(
      {mode_json("low", b.low_goodput, b.low), mode_json("high", b.high_goodput, b.high)});
  json["switches"] = Json::array();
  for (const stats::ModeSwitch& s : b.switches) {
    Json one;
    one["replication"] = s.replication;
    one["time_s"] = s.time_s;
    one["to"] = s.to_low ? "low" : "high";
    json["switches"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string interval_line(const Evaluation& e) {
  if (e.set.runs.size() > 1) return "Means over replications ± half the 95 % interval.";
  if (!e.single_run || e.single_run->rows == 0) return "";
  return "One replication ± half the 95 % interval from batch means.";
}

void show_modes(Document& d, const Evaluation& e) {
  if (!e.bistability || !e.bistability->low) return;
  const stats::ModeDescription* modes[] = {&*e.bistability->low, &*e.bistability->high};
  TextTable table;
  table.indent = 2;
  table.columns = {{"", Side::kLeft, 21}, {"low", Side::kRight, 22}, {"high", Side::kRight, 22}};
  TextRow runs{{"replications"}}, shares{{"share (95 % interval)"}};
  for (const auto* mode : modes) {
    runs.cells.emplace_back(n_of(mode->replications.size(), e.set.runs.size()));
    shares.cells.emplace_back(fmt::format("{:.0f} % ({:.0f} to {:.0f})", 100 * mode->share.share,
                                          100 * mode->share.ci_low, 100 * mode->share.ci_high));
  }
  table.rows = {runs, shares};
  for (const auto& mean : modes[0]->means) {
    TextRow& row = table.rows.emplace_back(TextRow{{std::string(mean.metric)}});
    for (const auto* mode : modes) {
      const auto found = std::find_if(mode->means.begin(), mode->means.end(),
                                      [&](const auto& m) { return m.metric == mean.metric; });
      if (found == mode->means.end()) continue;
      row.cells.emplace_back(format_metric(found->estimate, *find_metric(mean.metric)));
    }
  }
  d.lines("\nTwo modes (all clients)\n").show(std::move(table));
}

std::string modes_note(const Evaluation& e) {
  const stats::Bistability& b = *e.bistability;
  const std::string levels =
      fmt::format("goodput is about {} or about {}", format_number(b.low_goodput, "1/s"),
                  format_number(b.high_goodput, "1/s"));
  if (b.low) {
    return "two modes: " + levels +
           " in different replications; a mean over both describes neither, " +
           "and the intervals above belong to such means";
  }
  const stats::Proportion low = stats::wilson(b.ended_low, e.set.runs.size());
  return fmt::format(
      "two modes: {} in different stretches of {} of {} replications; {:.0f} % end in the low one "
      "(95 % interval {:.0f} to {:.0f} %), and the means depend on the length of the run",
      levels, b.runs_with_both, e.set.runs.size(), 100 * low.share, 100 * low.ci_low,
      100 * low.ci_high);
}

std::string short_runs_note(double requests) {
  if (requests >= 10000) return "";
  return fmt::format("short runs: of {} per replication, fewer than 100 lie beyond p99",
                     scenario::said_things(fmt::format("{}", requests), "request"));
}

std::vector<std::string> drain_notes(const Evaluation& e) {
  constexpr double kNoteworthy = 0.01;
  std::vector<std::string> notes;
  for (std::size_t c = 0; c < e.clients(); ++c) {
    const std::string client = e.client_name(c);
    if (client == "all" && e.clients() > 2) continue;  // the groups of "all" are told one by one
    if (client != "all" && e.clients() == 2) continue;
    const SummaryRow* whole = e.row(client, "success_rate");
    const SummaryRow* within = e.row(client, "success_rate_within_duration");
    const SummaryRow* drained = e.row(client, "finished_in_drain");
    if (whole == nullptr || within == nullptr || drained == nullptr) continue;
    if (std::fabs(whole->estimate.mean - within->estimate.mean) <= kNoteworthy) continue;
    notes.push_back(fmt::format(
        "{}{} % of the requests had succeeded by the end of duration; the success "
        "rate of {} % includes the drain, in which {} per replication ended",
        client == "all" ? "" : client + ": ", scenario::said_number(100 * within->estimate.mean, 4),
        scenario::said_number(100 * whole->estimate.mean, 4),
        scenario::said_things(scenario::said_whole(drained->estimate.mean), "request")));
  }
  return notes;
}

std::vector<std::string> certainty_notes(const Evaluation& e) {
  std::vector<std::string> notes;
  if (e.set.warmup) notes.push_back(warmup_note(*e.set.warmup));
  if (e.set.precision) notes.push_back(precision_note(*e.set.precision, e.set.runs.size()));
  if (e.single_run) notes.push_back(single_run_note(*e.single_run));
  if (e.bistability) {
    notes.push_back(modes_note(e));
    if (!e.bistability->switches.empty()) notes.push_back(switches_note(e));
  }
  return notes;
}

void add_certainty(Json& variant, const Evaluation& e) {
  const bool from_batches = e.single_run && e.single_run->rows > 0;
  variant["intervals"] = e.set.runs.size() > 1 ? Json("replications")
                         : from_batches        ? Json("batch means")
                                               : Json();
  variant["warmup"] = e.set.warmup ? warmup_json(*e.set.warmup) : Json();
  variant["precision"] = e.set.precision ? precision_json(*e.set.precision) : Json();
  variant["modes"] = e.bistability ? modes_json(*e.bistability) : Json();
}

void say_answer(Document& d, const Evaluation& e) {
  const Answer answer = answer_of(e);
  if (!answer.blocks.empty()) d.gap();
  for (const Saying& first : answer.first) d.answer(fmt::format("{}.", first.sentence));
  const auto add = [&](const std::string& who, const std::string& sentence) {
    d.say(fmt::format("{}{}.", who, sentence), "  - ", "    ");
  };
  for (const AnswerBlock& block : answer.blocks) {
    d.answer(fmt::format("{}: {}.", fmt::join(block.answer.clients, ", "), block.answer.sentence));
    for (const Saying& cause : block.causes) {
      const bool is_all = cause.clients.size() == block.answer.clients.size();
      add(is_all ? "" : fmt::format("{}: ", fmt::join(cause.clients, ", ")), cause.sentence);
    }
  }
  if (!answer.common.empty()) d.lines("all of them:\n");
  for (const Saying& cause : answer.common) add("", cause.sentence);
}

namespace {

constexpr std::size_t kMaxGroups = 6;
constexpr std::size_t kMaxLines = 12;  // most lines on a group
constexpr std::size_t kMaxNameColumns = 12;

/// A name shortened to `kMaxNameColumns`. Names are ASCII: a byte is a column.
std::string shortened(const std::string& name) {
  const auto others = std::count(name.begin(), name.end(), '+');
  if (others > 0 && name.size() > kMaxNameColumns) {
    return fmt::format("{} at once", others + 1);
  }
  if (name.size() <= kMaxNameColumns) return name;
  return name.substr(0, kMaxNameColumns - 3) + "...";
}

std::string figure(const PhaseSummary& phase, std::string_view metric, std::string_view unit) {
  const Estimate* estimate = phase.find(metric);
  if (estimate == nullptr) return "-";
  return unit == "%" ? percent(estimate->mean) : format_number(estimate->mean, unit);
}

TextRow line_of(const PhaseSummary& phase) {
  return {{"  " + shortened(phase.phase.name), format_plain(phase.start_s) + " s",
           format_plain(phase.end_s) + " s", figure(phase, "success_rate", "%"),
           figure(phase, "goodput", "1/s"), figure(phase, "amplification", ""),
           figure(phase, "latency_ok_p99", "s"), figure(phase, "failures", "")}};
}

void append_group(std::vector<TextRow>& lines, const Evaluation& e, const std::string& client,
                  const std::string& title) {
  lines.push_back({{title}});
  std::size_t phases = 0;
  for (const PhaseSummary& phase : e.phases) {
    if (phase.client == client && ++phases <= kMaxLines) lines.push_back(line_of(phase));
  }
  if (phases > kMaxLines) {
    lines.push_back({{fmt::format("  and {} more", phases - kMaxLines)}});
  }
}

}  // namespace

void show_phases(Document& d, const Evaluation& e) {
  if (e.phases.empty()) return;
  TextTable table;
  table.columns = {{"Phases", Side::kLeft},
                   {"from"},
                   {"to"},
                   {"success"},
                   {"goodput"},
                   {"attempts"},
                   {"p99"},
                   {"failed"}};
  const std::size_t groups = e.clients() - 1;
  if (groups == 1) {  // a single group is the same as all together
    append_group(table.rows, e, "all", e.client_name(0));
  } else {
    const std::size_t first = groups > kMaxGroups ? groups : 0;
    const std::size_t last = groups > kMaxGroups ? e.clients() : groups;
    for (std::size_t c = first; c < last; ++c) {
      append_group(table.rows, e, e.client_name(c), e.client_name(c));
    }
  }
  d.gap().show(std::move(table));
  d.lines("attempts: per request; p99: of successful requests; phases.csv has more\n");
}

namespace {

struct Section {
  std::string_view title;
  MetricList lines;
};

constexpr Section kSections[] = {
    {"Load", MetricList::kLoad},         {"Requests", MetricList::kRequests},
    {"Attempts", MetricList::kAttempts}, {"Latency of requests", MetricList::kLatency},
    {"Service", MetricList::kService},   {"Retries", MetricList::kRetries},
};

std::string format_scaled(const Estimate& e, DisplayUnit unit) {
  const double mean = e.mean * unit.scale;
  const double half = e.half_width().value_or(0) * unit.scale;
  // A smaller interval is nothing but the rounding of equal values.
  if (half <= 1e-9 * std::fabs(mean)) return format_plain(mean) + std::string(unit.name);
  // An interval far narrower than the value needs no more than 6 digits of the value.
  const int decimals = std::min(decimals_for(half, 2), decimals_for(mean == 0 ? half : mean, 6));
  std::string half_text = format_fixed(half, decimals);
  if (half_text.find_first_not_of("0.") == std::string::npos) {
    half_text.back() = '1';
    half_text.insert(0, "<");
  }
  // An interval that is not symmetric, because the metric's range ends it or its estimate is not in
  // the middle, is shown by its ends.
  const double below = (e.mean - *e.ci_low) * unit.scale,
               above = (*e.ci_high - e.mean) * unit.scale;
  if (std::fabs(below - above) > 1e-6 * half) {
    const auto end = [&](double value) {
      return value == 0 || value == 1 ? format_plain(value * unit.scale)
                                      : format_fixed(value * unit.scale, decimals);
    };
    return fmt::format("{} ({}..{}){}", format_fixed(mean, decimals), end(*e.ci_low),
                       end(*e.ci_high), unit.name);
  }
  return fmt::format("{} ± {}{}", format_fixed(mean, decimals), half_text, unit.name);
}

std::string cell(const Evaluation& e, const std::string& client, std::string_view metric) {
  const SummaryRow* row = e.row(client, metric);
  if (row == nullptr) return "";
  const Estimate& estimate = row->estimate;
  std::string text = format_metric(estimate, *row->metric);
  if (estimate.count < e.set.runs.size()) {
    text += fmt::format(" ({} of {})", estimate.count, e.set.runs.size());
  }
  return text;
}

bool zero_for_all(const Evaluation& e, std::string_view metric) {
  return std::all_of(e.summary.begin(), e.summary.end(), [&](const SummaryRow& row) {
    return row.metric->name != metric || (row.estimate.max == 0 && row.estimate.min == 0);
  });
}

struct TableRow {
  std::string label;
  std::vector<std::string> cells;  ///< empty: the line is a title
  std::string_view metric = "";
};

/// Metrics that repeat another metric if the two are equal: the repeating one, and the other.
constexpr std::pair<std::string_view, std::string_view> kRepeats[] = {
    {"error_share", "rejected_share"},        {"late_share", "timeout_share"},
    {"attempt_success_rate", "success_rate"}, {"throughput", "goodput"},
    {"latency_ok_p50", "latency_p50"},        {"latency_ok_p99", "latency_p99"},
    {"peak_amplification", "amplification"},
};

bool says_nothing_new(const std::vector<TableRow>& rows, const TableRow& row) {
  for (const auto& [line, earlier] : kRepeats) {
    if (line != row.metric) continue;
    for (const TableRow& other : rows) {
      if (other.metric == earlier && other.cells == row.cells) return true;
    }
  }
  return false;
}

bool is_hidden(const Evaluation& e, const MetricInfo& metric) {
  // The table of phases has this metric, disturbance by disturbance.
  if (metric.name == "disturbed_success_rate" && !e.phases.empty()) return true;
  switch (metric.display.hide) {
    case MetricHide::kNever:
      return false;
    case MetricHide::kZero:
      return zero_for_all(e, metric.name);
    case MetricHide::kShortDrain:
      return drain_notes(e).empty();
    case MetricHide::kUnpriced:
      return std::all_of(
          e.scenario().services.begin(), e.scenario().services.end(),
          [](const ServiceSpec& s) { return s.price == 1 && s.rejection.price == 1; });
  }
  return false;
}

std::vector<TableRow> table_rows(const Evaluation& e, const std::vector<std::string>& clients) {
  std::vector<TableRow> rows;
  for (const Section& section : kSections) {
    const std::size_t title = rows.size();
    rows.push_back({std::string(section.title), {}});
    for (const MetricInfo* metric : metrics_of(section.lines)) {
      if (is_hidden(e, *metric)) continue;
      stop_point();
      TableRow row{"  " + std::string(metric->display.line_label), {}, metric->name};
      bool something = false;
      for (const std::string& client : clients) {
        row.cells.push_back(cell(e, client, metric->name));
        something = something || !row.cells.back().empty();
      }
      if (something && !says_nothing_new(rows, row)) rows.push_back(std::move(row));
    }
    if (rows.size() == title + 1) rows.pop_back();
  }
  return rows;
}

/// The table of metrics: a column for each client group and one for all together; for a single
/// group one column.
TextTable metrics_table(const Evaluation& e) {
  std::vector<std::string> clients;
  TextTable table;
  table.columns = {{"", Side::kLeft}};
  table.fixed = 1;
  if (e.clients() == 2) {  // one group: the same as all, except that "all" has the service as well
    clients = {"all"};
    table.columns.push_back({e.client_name(0)});
  } else {
    for (const Layer& layer : call_order(e.scenario()))
      clients.push_back(e.client_name(layer.group));
    clients.emplace_back("all");
    for (const std::string& client : clients) table.columns.push_back({client});
  }
  for (const TableRow& row : table_rows(e, clients)) {
    TextRow& line = table.rows.emplace_back(TextRow{{row.label}});
    line.cells.insert(line.cells.end(), row.cells.begin(), row.cells.end());
  }
  return table;
}

void say_storms(Document& d, const Evaluation& e) {
  std::array<std::size_t, stats::kStormVerdictCount> verdicts{};
  std::size_t with_storm = 0;
  for (const auto& of_run : e.storms) {
    with_storm += of_run.empty() ? 0 : 1;
    for (const stats::Storm& storm : of_run) ++verdicts[static_cast<std::size_t>(storm.verdict)];
  }
  if (with_storm == 0) return;
  std::string out = fmt::format("\nRetry storms in {}:",
                                scenario::said_part(with_storm, e.set.runs.size(), "replication"));
  std::string_view separator = " ";
  for (std::size_t v = 0; v < verdicts.size(); ++v) {
    if (verdicts[v] == 0) continue;
    out +=
        fmt::format("{}{} {}", separator, verdicts[v], name(static_cast<stats::StormVerdict>(v)));
    separator = ", ";
  }
  d.lines(out + "\n");
}

/// An estimate with the ends of its interval, which need not be symmetric: "34.7 s, 95 % interval
/// 33.9 to 36.2 s".
std::string with_ends(const Estimate& e, double scale, std::string_view unit) {
  std::string text = format_plain(e.mean * scale) + std::string(unit);
  if (!e.ci_low) return text;
  const std::string high =
      std::isfinite(*e.ci_high) ? format_plain(*e.ci_high * scale) + std::string(unit) : "unknown";
  return text + fmt::format(", 95 % interval {} to {}", format_plain(*e.ci_low * scale), high);
}

bool all_recover(const Evaluation& e) {
  const SummaryRow* row = e.row("all", "recovery_s");
  return row != nullptr && row->estimate.count == e.set.runs.size();
}

/// Adds figures over all replications together: the median recovery, including replications that
/// did not recover, and the probability that retries kept the service down.
void say_probabilities(Document& d, const Evaluation& e) {
  for (const SummaryRow& row : e.summary) {
    if (row.client != "all") continue;
    if (row.metric->name == "recovery_median_s" && !all_recover(e)) {
      d.lines(fmt::format("\nMedian recovery time, including runs that did not recover: {}\n",
                          with_ends(row.estimate, 1, " s")));
    } else if (row.metric->name == "metastable_probability") {
      d.lines(fmt::format("\nProbability of a metastable failure: {}\n",
                          with_ends(row.estimate, 100, " %")));
    }
  }
}

void say_expectations(Document& d, const Evaluation& e) {
  if (e.expectations.empty()) return;
  d.lines("\nExpectations\n");
  for (const ExpectationResult& r : e.expectations) {
    constexpr const char* kHanging = "        ";
    if (r.holds()) {
      d.say(expectation_text(r), "  pass  ", kHanging, Emphasis::kGood);
    } else if (r.fails()) {
      d.say(expectation_text(r), "  FAIL  ", kHanging, Emphasis::kBad);
    } else {
      d.say(expectation_text(r), "  warn  ", kHanging, Emphasis::kUnsure);
    }
  }
}

/// Adds notes on recovery for each group: one may recover, another not.
void append_recovery_notes(std::vector<std::string>& notes, const Evaluation& e) {
  if (stats::triggers(e.scenario()).empty()) return;
  const std::size_t n = e.set.runs.size();
  for (std::size_t c = 0; c + 1 < e.clients(); ++c) {
    const SummaryRow* row = e.row(e.client_name(c), "recovery_s");
    const std::size_t recovered = row == nullptr ? 0 : row->estimate.count;
    if (recovered == n) continue;
    notes.push_back(
        fmt::format("{} did not recover within the run in {}, which therefore {} no recovery_s",
                    e.client_name(c), scenario::said_part(n - recovered, n, "replication"),
                    n - recovered == 1 ? "has" : "have"));
  }
}

}  // namespace

std::string expectation_text(const ExpectationResult& result) {
  const Expectation& wanted = result.expectation;
  const MetricInfo* metric = find_metric(wanted.metric);
  const double typical = result.estimate ? result.estimate->mean
                                         : wanted.at_least.value_or(wanted.at_most.value_or(0));
  const DisplayUnit unit = metric == nullptr            ? DisplayUnit{1, ""}
                           : metric->display.percentage ? DisplayUnit{100, " %"}
                                                        : display_unit(typical, metric->unit);
  const auto number = [&](double value, int digits) {
    return format_plain(value * unit.scale, digits) + std::string(unit.name);
  };
  std::string expected = ", expected ";
  if (wanted.at_least) expected += "at least " + number(*wanted.at_least, 6);
  if (wanted.at_least && wanted.at_most) expected += " and ";
  if (wanted.at_most) expected += "at most " + number(*wanted.at_most, 6);
  if (!result.estimate || !result.judged) return wanted.name + ": " + result.reason + expected;
  const Estimate& e = *result.estimate;
  // Digits are added until no end of the interval looks like a bound that it is not.
  const auto looks_like = [&](double end, const std::optional<double>& bound, int digits) {
    return bound && end != *bound && number(end, digits) == number(*bound, digits);
  };
  int digits = 3;
  while (digits < 9 && (looks_like(e.ci_low.value_or(e.mean), wanted.at_least, digits) ||
                        looks_like(e.ci_high.value_or(e.mean), wanted.at_most, digits))) {
    ++digits;
  }
  std::string text =
      fmt::format("{}: {}{} {}", wanted.name, wanted.metric,
                  wanted.client == "all" ? "" : " of " + wanted.client, number(e.mean, digits));
  if (e.ci_low && e.ci_high) {
    text += fmt::format(" (95 % CI from {} to {})", number(*e.ci_low, digits),
                        number(*e.ci_high, digits));
  }
  return text + expected + (result.holds() || result.fails() ? "" : ": uncertain");
}

std::string format_estimate(const Estimate& estimate, std::string_view unit) {
  return format_scaled(estimate, display_unit(estimate.mean, unit));
}

std::string format_metric(const Estimate& estimate, const MetricInfo& metric) {
  return metric.display.percentage ? format_scaled(estimate, {100, " %"})
                                   : format_estimate(estimate, metric.unit);
}

std::string format_number(double value, std::string_view unit) {
  const DisplayUnit display = display_unit(value, unit);
  return format_plain(value * display.scale) + std::string(display.name);
}

namespace {

/// Notes that are not in any verdict.
std::vector<std::string> further_notes(const Evaluation& e) {
  const std::size_t n = e.set.runs.size();
  std::vector<std::string> notes;
  if (n > 1 && n < 10) {
    notes.push_back(fmt::format("{} replications: intervals are rough; use at least 10", n));
  }
  if (const SummaryRow* row = e.row("all", "unfinished"); row != nullptr && row->estimate.max > 0) {
    notes.push_back(
        row->estimate.max == 1
            ? "short runs: a request was still open when a replication ended; it counts as "
              "unfinished"
            : fmt::format("short runs: up to {} requests in a replication were still open when the "
                          "run ended; they count as unfinished",
                          scenario::said_whole(row->estimate.max)));
  }
  const SummaryRow* requests = e.row("all", "requests");
  if (requests != nullptr && requests->estimate.max == 0) {
    notes.emplace_back(
        "no request was submitted between warmup and duration, so there are no results");
  } else if (requests != nullptr) {
    const std::string note = short_runs_note(requests->estimate.min);
    if (!note.empty()) notes.push_back(note);
  }
  const auto uncertain =
      std::count_if(e.expectations.begin(), e.expectations.end(),
                    [](const ExpectationResult& r) { return !r.holds() && !r.fails(); });
  if (uncertain > 0) {
    notes.push_back(
        fmt::format("{} expectation{} uncertain, because the interval straddles the "
                    "bound; more replications narrow it",
                    uncertain, uncertain == 1 ? " is" : "s are"));
  }
  const std::vector<std::string> how_sure = certainty_notes(e);
  notes.insert(notes.end(), how_sure.begin(), how_sure.end());
  return notes;
}

}  // namespace

std::vector<std::string> result_notes(const Evaluation& e) {
  std::vector<std::string> notes = further_notes(e);
  append_recovery_notes(notes, e);
  for (std::string& note : drain_notes(e)) notes.push_back(std::move(note));
  return notes;
}

Document run_document(const Evaluation& e) {
  const Scenario& s = e.scenario();
  Document d;
  Heading heading = heading_of(e.set.scenario);
  if (e.set.variant != "base") heading.name += " (" + e.set.variant + ")";
  d.say(heading.text());
  say_answer(d, e);
  show_edges(d, e);
  show_phases(d, e);
  say_expectations(d, e);
  std::string how = fmt::format("{} replication{} of {}", e.set.runs.size(),
                                e.set.runs.size() == 1 ? "" : "s", seconds(s.duration));
  if (s.warmup > Duration::zero()) how += fmt::format(", the first {} left out", seconds(s.warmup));
  d.lines(fmt::format("\n{}, seed {}\n", how, s.seed)).say(interval_line(e)).gap();
  d.show(metrics_table(e));
  show_modes(d, e);
  say_storms(d, e);
  say_probabilities(d, e);
  d.notes(further_notes(e));
  add_results(d, {&e, 1});
  return d.scenario_file(e.set.scenario);
}

}  // namespace retrysim::report

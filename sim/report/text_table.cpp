// The summary that a person reads in a terminal.
//
// SPDX-License-Identifier: MIT
#include "report/text_table.hpp"

#include "measure/recovery.hpp"
#include "report/answer_text.hpp"
#include "report/certainty.hpp"
#include "report/display.hpp"
#include "report/phase_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::report {
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
  // Below this an interval is nothing but the rounding of equal values.
  if (half <= 1e-9 * std::fabs(mean)) return format_plain(mean) + std::string(unit.name);
  // An interval far narrower than the value needs no more than 6 digits of the value.
  const int decimals = std::min(decimals_for(half, 2), decimals_for(mean == 0 ? half : mean, 6));
  std::string half_text = fmt::format("{:.{}f}", half, decimals);
  if (half_text.find_first_not_of("0.") == std::string::npos) {
    half_text.back() = '1';
    half_text.insert(0, "<");
  }
  return fmt::format("{:.{}f} ± {}{}", mean, decimals, half_text, unit.name);
}

std::string cell(const Evaluation& e, const std::string& client, std::string_view metric) {
  const SummaryRow* row = find_row(e.summary, client, metric);
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
  std::vector<std::string> cells;  ///< empty: a title
  std::string_view metric = "";
};

/// Lines that say again what another line says wherever the two are equal.
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
  // The phases have it, disturbance by disturbance.
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

/// The columns [from, to) of the rows; lines without a cell there are left out.
std::string block(const std::vector<TableRow>& rows, const std::vector<std::string>& titles,
                  const std::vector<std::size_t>& widths, std::size_t label_width, std::size_t from,
                  std::size_t to) {
  std::string text, section;
  const auto add_line = [&](const std::string& label, const std::vector<std::string>& cells) {
    std::string line = pad_right(label, label_width);
    for (std::size_t i = from; i < to; ++i) line += "  " + pad_left(cells[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line("", titles);
  for (const TableRow& row : rows) {
    if (row.cells.empty()) {
      section = row.label + "\n";
      continue;
    }
    bool something = false;
    for (std::size_t i = from; i < to; ++i) something = something || !row.cells[i].empty();
    if (!something) continue;
    text += section;
    section.clear();
    add_line(row.label, row.cells);
  }
  return text;
}

/// As many columns beside each other as there is room for, the rest in further tables.
void append_tables(std::string& out, const Evaluation& e, std::size_t columns) {
  std::vector<std::string> clients;
  std::vector<std::string> titles;
  if (e.clients() == 2) {  // one group: the same as all, except that all has the service as well
    clients = {"all"};
    titles = {e.client_name(0)};
  } else {
    for (const Layer& layer : call_order(e.scenario()))
      clients.push_back(e.client_name(layer.group));
    clients.emplace_back("all");
    titles = clients;
  }
  const std::vector<TableRow> rows = table_rows(e, clients);
  std::size_t label_width = 0;
  std::vector<std::size_t> widths;
  for (const std::string& title : titles) widths.push_back(columns_of(title));
  for (const TableRow& row : rows) {
    label_width = std::max(label_width, columns_of(row.label));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row.cells[i]));
    }
  }
  for (std::size_t from = 0; from < clients.size();) {
    std::size_t to = from, used = label_width;
    while (to < clients.size() && (to == from || used + 2 + widths[to] <= columns)) {
      used += 2 + widths[to++];
    }
    if (from > 0) out += "\n";
    out += block(rows, titles, widths, label_width, from, to);
    from = to;
  }
}

void append_storms(std::string& out, const Evaluation& e) {
  std::array<std::size_t, stats::kStormVerdictCount> verdicts{};
  std::size_t with_storm = 0;
  for (const auto& of_run : e.storms) {
    with_storm += of_run.empty() ? 0 : 1;
    for (const stats::Storm& storm : of_run) ++verdicts[static_cast<std::size_t>(storm.verdict)];
  }
  if (with_storm == 0) return;
  out += fmt::format("\nRetry storms in {} of {} replications:", with_storm, e.set.runs.size());
  std::string_view separator = " ";
  for (std::size_t v = 0; v < verdicts.size(); ++v) {
    if (verdicts[v] == 0) continue;
    out +=
        fmt::format("{}{} {}", separator, verdicts[v], name(static_cast<stats::StormVerdict>(v)));
    separator = ", ";
  }
  out += "\n";
}

/// "34.7 s, 95 % interval 33.9 to 36.2 s": for intervals that need not have their estimate in the
/// middle.
std::string with_ends(const Estimate& e, double scale, std::string_view unit) {
  std::string text = format_plain(e.mean * scale) + std::string(unit);
  if (!e.ci_low) return text;
  const std::string high =
      std::isfinite(*e.ci_high) ? format_plain(*e.ci_high * scale) + std::string(unit) : "unknown";
  return text + fmt::format(", 95 % interval {} to {}", format_plain(*e.ci_low * scale), high);
}

bool all_recover(const Evaluation& e) {
  const SummaryRow* row = find_row(e.summary, "all", "recovery_s");
  return row != nullptr && row->estimate.count == e.set.runs.size();
}

/// What takes all replications together: the median recovery, those that did not recover
/// included, and the probability that retries kept the service down.
void append_probabilities(std::string& out, const Evaluation& e) {
  for (const SummaryRow& row : e.summary) {
    if (row.client != "all") continue;
    if (row.metric->name == "recovery_median_s" && !all_recover(e)) {
      out += fmt::format("\nMedian recovery time, including runs that did not recover: {}\n",
                         with_ends(row.estimate, 1, " s"));
    } else if (row.metric->name == "metastable_probability") {
      out += fmt::format("\nProbability of a metastable failure: {}\n",
                         with_ends(row.estimate, 100, " %"));
    }
  }
}

void append_expectations(std::string& out, const Evaluation& e, std::size_t columns) {
  if (e.expectations.empty()) return;
  out += "\nExpectations\n";
  for (const ExpectationResult& r : e.expectations) {
    out += wrapped(expectation_text(r), {columns, r.passed ? "  pass  " : "  FAIL  ", "        "});
  }
}

/// Recovery is a matter of each group where there are several: one may recover, another not.
void append_recovery_notes(std::vector<std::string>& notes, const Evaluation& e) {
  if (stats::triggers(e.scenario()).empty()) return;
  const std::size_t n = e.set.runs.size();
  const RowsByClient rows(e.summary);
  for (std::size_t c = 0; c + 1 < e.clients(); ++c) {
    const SummaryRow* row = rows.find(e.client_name(c), "recovery_s");
    const std::size_t recovered = row == nullptr ? 0 : row->estimate.count;
    if (recovered == n) continue;
    notes.push_back(
        fmt::format("{} did not recover within the run in {} of {} replications, which therefore "
                    "have no recovery_s",
                    e.client_name(c), n - recovered, n));
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
  // An end of the interval must not look like a bound that it is not.
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
  return text + expected;
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

/// Notes that no verdict says.
std::vector<std::string> further_notes(const Evaluation& e) {
  const std::size_t n = e.set.runs.size();
  std::vector<std::string> notes;
  if (n > 1 && n < 10) {
    notes.push_back(fmt::format("{} replications: intervals are rough; use at least 10", n));
  }
  if (const SummaryRow* row = find_row(e.summary, "all", "unfinished");
      row != nullptr && row->estimate.max > 0) {
    notes.push_back(
        fmt::format("short runs: up to {} requests in a replication had not ended when the run was "
                    "over; they count as unfinished",
                    row->estimate.max));
  }
  const SummaryRow* requests = find_row(e.summary, "all", "requests");
  if (requests != nullptr && requests->estimate.max == 0) {
    notes.emplace_back(
        "no request was submitted between warmup and duration, so there are no results");
  } else if (requests != nullptr) {
    const std::string note = short_runs_note(requests->estimate.min);
    if (!note.empty()) notes.push_back(note);
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

void write_text_table(Sink& sink, const Evaluation& e, std::size_t columns) {
  const Scenario& s = e.scenario();
  const auto seconds = [](Duration d) { return static_cast<double>(d.count()) / 1e9; };
  std::string title = s.name;
  if (e.set.variant != "base") title += " (" + e.set.variant + ")";
  if (!s.description.empty()) title += ": " + s.description;
  std::string out = wrapped(title, {columns, "", "  "});
  const std::string answer = answer_text(e, columns);
  if (!answer.empty()) out += "\n" + answer;
  if (const std::string phases = phase_table(e); !phases.empty()) out += "\n" + phases;
  append_expectations(out, e, columns);
  std::string how = fmt::format("{} replication{} of {} s", e.set.runs.size(),
                                e.set.runs.size() == 1 ? "" : "s", seconds(s.duration));
  if (s.warmup > Duration::zero())
    how += fmt::format(", the first {} s left out", seconds(s.warmup));
  out += fmt::format("\n{}, seed {}\n", how, s.seed);
  if (const std::string line = interval_line(e); !line.empty()) out += line + "\n";
  out += "\n";
  append_tables(out, e, columns);
  out += modes_table(e);
  append_storms(out, e);
  append_probabilities(out, e);
  out += notes_text(further_notes(e), columns);
  sink.write(out);
}

}  // namespace retrysim::report

// The summary that a person reads in a terminal.
//
// SPDX-License-Identifier: MIT
#include "report/text_table.hpp"

#include "measure/recovery.hpp"
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
};

std::vector<TableRow> table_rows(const Evaluation& e, const std::vector<std::string>& clients) {
  std::vector<TableRow> rows;
  for (const Section& section : kSections) {
    std::vector<TableRow> lines;
    for (const MetricInfo* metric : metrics_of(section.lines)) {
      const MetricDisplay& line = metric->display;
      if (line.hide == MetricHide::kZero && zero_for_all(e, metric->name)) continue;
      if (line.hide == MetricHide::kShortDrain && drain_notes(e).empty()) continue;
      TableRow row{"  " + std::string(line.line_label), {}};
      bool something = false;
      for (const std::string& client : clients) {
        row.cells.push_back(cell(e, client, metric->name));
        something = something || !row.cells.back().empty();
      }
      if (something) lines.push_back(std::move(row));
    }
    if (lines.empty()) continue;
    rows.push_back({std::string(section.title), {}});
    rows.insert(rows.end(), lines.begin(), lines.end());
  }
  return rows;
}

/// One table for at most a few columns, so that lines stay readable.
void append_table(std::string& out, const Evaluation& e, const std::vector<std::string>& clients,
                  const std::vector<std::string>& titles) {
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
  const auto append_line = [&](const std::string& label, const std::vector<std::string>& cells) {
    std::string line = label;
    if (!cells.empty()) line += std::string(label_width - columns_of(label), ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) line += "  " + pad_left(cells[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  append_line("", titles);
  for (const TableRow& row : rows) append_line(row.label, row.cells);
}

void append_tables(std::string& out, const Evaluation& e) {
  constexpr std::size_t kColumns = 4;
  std::vector<std::string> clients;
  std::vector<std::string> titles;
  if (e.clients() == 2) {  // one group: the same as all, except that all has the service as well
    clients = {"all"};
    titles = {e.client_name(0)};
  } else {
    for (std::size_t c = 0; c < e.clients(); ++c) clients.push_back(e.client_name(c));
    titles = clients;
  }
  for (std::size_t from = 0; from < clients.size(); from += kColumns) {
    const auto to = static_cast<std::ptrdiff_t>(std::min(from + kColumns, clients.size()));
    const auto begin = static_cast<std::ptrdiff_t>(from);
    if (from > 0) out += "\n";
    append_table(out, e, {clients.begin() + begin, clients.begin() + to},
                 {titles.begin() + begin, titles.begin() + to});
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

/// What takes all replications together: the median recovery, those that did not recover
/// included, and the probability that retries kept the service down.
void append_probabilities(std::string& out, const Evaluation& e) {
  for (const SummaryRow& row : e.summary) {
    if (row.client != "all") continue;
    if (row.metric->name == "recovery_median_s") {
      out += fmt::format("\nMedian recovery time, including runs that did not recover: {}\n",
                         with_ends(row.estimate, 1, " s"));
    } else if (row.metric->name == "metastable_probability") {
      out += fmt::format("\nProbability of a metastable failure: {}\n",
                         with_ends(row.estimate, 100, " %"));
    }
  }
}

void append_expectations(std::string& out, const Evaluation& e) {
  if (e.expectations.empty()) return;
  out += "\nExpectations\n";
  for (const ExpectationResult& r : e.expectations) {
    const std::string of = r.expectation.client == "all" ? "" : " of " + r.expectation.client;
    out += fmt::format("  {}  {}: {}{}: {}\n", r.passed ? "pass" : "FAIL", r.expectation.name,
                       r.expectation.metric, of, r.reason);
  }
}

/// Recovery is a matter of each group where there are several: one may recover, another not.
void append_recovery_notes(std::vector<std::string>& notes, const Evaluation& e) {
  if (stats::triggers(e.scenario()).empty()) return;
  const std::size_t n = e.set.runs.size();
  for (std::size_t c = 0; c + 1 < e.clients(); ++c) {
    const SummaryRow* row = find_row(e.summary, e.client_name(c), "recovery_s");
    const std::size_t recovered = row == nullptr ? 0 : row->estimate.count;
    if (recovered == n) continue;
    notes.push_back(
        fmt::format("{} did not recover within the run in {} of {} replications, which therefore "
                    "have no recovery_s",
                    e.client_name(c), n - recovered, n));
  }
}

}  // namespace

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

std::vector<std::string> result_notes(const Evaluation& e) {
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
  append_recovery_notes(notes, e);
  for (std::string& note : drain_notes(e)) notes.push_back(std::move(note));
  const std::vector<std::string> how_sure = certainty_notes(e);
  notes.insert(notes.end(), how_sure.begin(), how_sure.end());
  return notes;
}

void write_text_table(Sink& sink, const Evaluation& e) {
  const Scenario& s = e.scenario();
  const auto seconds = [](Duration d) { return static_cast<double>(d.count()) / 1e9; };
  std::string out = s.name;
  if (e.set.variant != "base") out += " (" + e.set.variant + ")";
  out += fmt::format(": {} replication{} of {} s", e.set.runs.size(),
                     e.set.runs.size() == 1 ? "" : "s", seconds(s.duration));
  if (s.warmup > Duration::zero())
    out += fmt::format(", the first {} s left out", seconds(s.warmup));
  out += fmt::format(", seed {}\n", s.seed);
  if (!s.description.empty()) out += s.description + "\n";
  out += interval_line(e);
  out += "\n";
  if (const std::string phases = phase_table(e); !phases.empty()) out += phases + "\n";
  append_tables(out, e);
  out += modes_table(e);
  append_storms(out, e);
  append_probabilities(out, e);
  append_expectations(out, e);
  const std::vector<std::string> notes = result_notes(e);
  if (!notes.empty()) out += "\n";
  for (const std::string& note : notes) out += "note: " + note + "\n";
  sink.write(out);
}

}  // namespace retrysim::report

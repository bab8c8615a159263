// SPDX-License-Identifier: MIT
#include "report/certainty.hpp"

#include "report/display.hpp"
#include "report/json_parts.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string seconds(Duration d) { return fmt::format("{} s", d.in_seconds()); }

/// How one metric stands: "latency_mean 3.1 %".
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

/// Changes of mode: how many, and when the first were.
std::string switches_note(const Evaluation& e) {
  const auto& all = e.bistability->switches;
  constexpr std::size_t kShown = 3;
  std::vector<std::uint32_t> runs;
  for (const stats::ModeSwitch& s : all) {
    if (runs.empty() || runs.back() != s.replication) runs.push_back(s.replication);
  }
  std::string text = fmt::format("{} change{} of mode in {} of {} replications:", all.size(),
                                 all.size() == 1 ? "" : "s", runs.size(), e.set.runs.size());
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

std::string modes_table(const Evaluation& e) {
  if (!e.bistability || !e.bistability->low) return "";
  const stats::ModeDescription* modes[] = {&*e.bistability->low, &*e.bistability->high};
  const auto line = [](std::string_view label, std::string_view low, std::string_view high) {
    return fmt::format("  {:<21}{:>24}{:>24}\n", label, low, high);
  };
  std::string out = "\nTwo modes (all clients)\n" + line("", "low", "high");
  std::vector<std::string> cells;
  for (const auto* mode : modes) {
    cells.push_back(fmt::format("{} of {}", mode->replications.size(), e.set.runs.size()));
  }
  out += line("replications", cells[0], cells[1]);
  cells.clear();
  for (const auto* mode : modes) {
    cells.push_back(fmt::format("{:.0f} % ({:.0f} to {:.0f})", 100 * mode->share.share,
                                100 * mode->share.ci_low, 100 * mode->share.ci_high));
  }
  out += line("share (95 % interval)", cells[0], cells[1]);
  for (const auto& mean : modes[0]->means) {
    const auto other = std::find_if(modes[1]->means.begin(), modes[1]->means.end(),
                                    [&](const auto& m) { return m.metric == mean.metric; });
    out += line(mean.metric, format_metric(mean.estimate, *find_metric(mean.metric)),
                other == modes[1]->means.end()
                    ? ""
                    : format_metric(other->estimate, *find_metric(mean.metric)));
  }
  return out;
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
  return fmt::format("short runs: of {} requests per replication, fewer than 100 lie beyond p99",
                     requests);
}

std::vector<std::string> drain_notes(const Evaluation& e) {
  constexpr double kNoteworthy = 0.01;
  std::vector<std::string> notes;
  const RowsByClient rows(e.summary);
  for (std::size_t c = 0; c < e.clients(); ++c) {
    const std::string client = e.client_name(c);
    if (client == "all" && e.clients() > 2) continue;  // its groups are told of one by one
    if (client != "all" && e.clients() == 2) continue;
    const SummaryRow* whole = rows.find(client, "success_rate");
    const SummaryRow* within = rows.find(client, "success_rate_within_duration");
    const SummaryRow* drained = rows.find(client, "finished_in_drain");
    if (whole == nullptr || within == nullptr || drained == nullptr) continue;
    if (std::fabs(whole->estimate.mean - within->estimate.mean) <= kNoteworthy) continue;
    notes.push_back(
        fmt::format("{}{:.4g} % of the requests had succeeded by the end of duration; the success "
                    "rate of {:.4g} % includes the drain, in which {:.0f} requests per replication "
                    "ended",
                    client == "all" ? "" : client + ": ", 100 * within->estimate.mean,
                    100 * whole->estimate.mean, drained->estimate.mean));
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

}  // namespace retrysim::report

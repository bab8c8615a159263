// SPDX-License-Identifier: MIT
#include "report/fit.hpp"

#include <retrysim/import.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/table.hpp>

#include "fit/whole_fit.hpp"
#include "report/document/text.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

/// `value` with six digits: further digits may depend on the machine's mathematical functions.
double six_digits_of(double value) { return std::stod(fmt::format("{:.6g}", value)); }

/// A figure of the fit.
struct FittedFigure {
  std::string name, unit;
  std::optional<double> value, low, high;
  /// The meaning of `low` and `high`; "chance": what chance alone would give.
  std::string_view range = "95 % interval";
};

std::optional<double> count_as_figure(std::optional<std::size_t> n) {
  if (!n) return std::nullopt;
  return static_cast<double>(*n);
}

std::vector<FittedFigure> fitted_figures(const FitReport& r) {
  std::vector<FittedFigure> all;
  const auto add = [&](std::string name, std::string unit, std::optional<double> value,
                       std::optional<double> low = {}, std::optional<double> high = {}) {
    const auto six_digits = [](std::optional<double> x) {
      return x ? std::optional(six_digits_of(*x)) : x;
    };
    all.push_back(
        {std::move(name), std::move(unit), six_digits(value), six_digits(low), six_digits(high)});
  };
  const auto add_estimate = [&](std::string name, std::string unit, const fit::Estimate& e) {
    add(std::move(name), std::move(unit), e.value, e.low, e.high);
  };
  const fit::FittedArrivals& a = r.fit.arrivals;
  add_estimate("rate", "1/s", a.rate);
  add("rate_peak", "1/s", a.peak);
  add("rate_trough", "1/s", a.trough);
  const auto add_dispersion = [&](std::string name, const fit::Dispersion& d) {
    if (d.degrees == 0) return;
    add(std::move(name), "", d.index, d.low, d.high);
    all.back().range = "chance";
  };
  add_dispersion("dispersion_between_bins", a.between_bins);
  add_dispersion("dispersion_within_bins", a.within_bins);
  if (a.within_bins.degrees > 0) {
    add("lag_correlation", "", a.lag_correlation, -a.lag_limit, a.lag_limit);
    all.back().range = "chance";
  }
  if (r.fit.service_time) {
    const fit::FittedServiceTime& s = *r.fit.service_time;
    const auto add_time = [&](std::string name, const fit::Estimate& e) {
      if (r.fit.is_explained()) return add_estimate(std::move(name), "s", e);
      add(std::move(name), "s", e.value);
    };
    add_time("service_time_mean", s.mean);
    add_time("service_time_p50", s.p50);
    add_time("service_time_p99", s.p99);
    add("service_time_cv", "", s.cv);
  }
  if (r.fit.capacity) {
    const fit::FittedCapacity& c = *r.fit.capacity;
    add("servers", "", count_as_figure(c.servers),
        c.contradictory ? std::nullopt : std::optional(static_cast<double>(c.low)),
        count_as_figure(c.high));
    if (!c.by_order) all.back().range = "99 % interval";
    add("under_way_mean", "", c.busy);
    add("under_way_most", "", static_cast<double>(c.most_under_way));
  }
  add("queue_capacity", "", count_as_figure(r.fit.queue_capacity));
  if (r.log.counts.empty()) {
    add("error_share", "", r.fit.has_statuses ? std::optional(r.fit.error_share) : std::nullopt);
  }
  if (r.fit.gave_up && r.fit.gave_up->timeout) {
    const fit::Estimate& t = *r.fit.gave_up->timeout;
    add("client_timeout", "s", t.value);
  }
  if (r.fit.retries) {
    const auto requests = static_cast<double>(r.fit.retries->requests);
    add("attempts_per_request", "", static_cast<double>(r.fit.retries->attempts) / requests);
  }
  return all;
}

std::string figure_text(const FittedFigure& f) {
  if (!f.value && !f.low) return "not known";
  const auto text = [&](double value) {
    const DisplayUnit unit = display_unit(f.value ? *f.value : *f.low, f.unit);
    return format_plain(value * unit.scale) + std::string(unit.name);
  };
  if (!f.value) return "at least " + text(*f.low);
  return text(*f.value);
}

std::string figure_interval(const FittedFigure& f) {
  if (!f.value || !f.low || !f.high) return "";
  const DisplayUnit unit = display_unit(*f.value, f.unit);
  const auto text = [&](double value) { return format_plain(value * unit.scale); };
  return fmt::format("{}{} to {}{}",
                     f.range == "chance"          ? "by chance "
                     : f.range == "99 % interval" ? "99 %: "
                                                  : "",
                     text(*f.low), text(*f.high), unit.name);
}

CellTable fitted_table(const FitReport& r) {
  Columns<FittedFigure> t;
  t.files("figure", {"", Side::kLeft}, [](auto& f) { return f.name; });
  t.files("unit", [](auto& f) { return f.unit; });
  t.text({"estimate"}, [](auto& f) { return figure_text(f); });
  t.text({"95 % interval"}, [](auto& f) { return figure_interval(f); });
  t.files("value", [](auto& f) { return f.value; });
  t.files("low", [](auto& f) { return f.low; });
  t.files("high", [](auto& f) { return f.high; });
  t.files("range", [](auto& f) { return std::string(f.low ? f.range : ""); });
  return {t, fitted_figures(r)};
}

CellTable laws_table(const FitReport& r) {
  Columns<fit::Law> t;
  const std::vector<fit::Law> none;
  t.files("law", {"service time", Side::kLeft}, [](auto& l) { return fit::law_words(l); });
  const double least = r.fit.service_time && !r.fit.service_time->laws.empty()
                           ? r.fit.service_time->laws.front().aic
                           : 0;
  t.files("aic_above_best", {"AIC above best"}, [least](auto& l) {
     return six_digits_of(l.aic - least);
   }).unit("1");
  t.files("kolmogorov_distance", {"Kolmogorov distance"}, [](auto& l) {
     return six_digits_of(l.distance);
   }).unit("1");
  return {t, r.fit.service_time ? r.fit.service_time->laws : none};
}

CellTable durations_table(const FitReport& r) {
  using Row = fit::DurationAtLoad;
  Columns<Row> t;
  const std::vector<Row> none;
  t.files("under_way_from", [](auto& d) { return d.least; }).unit("requests");
  t.files("under_way_to", [](auto& d) { return d.most; }).unit("requests");
  t.files("requests", [](auto& d) { return d.requests; });
  t.files("duration_mean_s", [](auto& d) { return six_digits_of(d.mean_s); });
  return {t, r.fit.capacity ? r.fit.capacity->durations : none};
}

// --- Incidents.

struct IncidentRow {
  std::string name;
  double begin_s = 0, end_s = 0;
  const fit::Incident* incident = nullptr;
};

std::string kind_words(const fit::Incident& i) {
  if (i.silent) return "no requests";
  std::string words = i.capacity == 0           ? "no server works"
                      : i.capacity              ? "fewer servers"
                      : i.slow && !i.explained  ? "slow, cause not known"
                      : i.slow && !i.told_apart ? "slower or fewer servers"
                      : i.slow                  ? "slower servers"
                                                : "";
  if (!i.added_errors.empty()) words += words.empty() ? "errors" : ", errors";
  return words;
}

std::optional<double> factor_of(std::optional<double> factor) {
  return factor ? std::optional(six_digits_of(*factor)) : factor;
}

std::string duration_words(std::optional<double> value) {
  return value ? fit::time_words(*value) : "";
}

/// Errors by status: "503: 0.2; 429: 0.1".
std::string status_words(const fit::Incident& i) {
  std::string words;
  for (const auto& [status, share] : i.added_errors) {
    words +=
        fmt::format("{}{}: {}", words.empty() ? "" : "; ", status, scenario::said_number(share, 6));
  }
  return words;
}

CellTable incidents_table(const FitReport& r) {
  Columns<IncidentRow> t;
  t.files("incident", {"", Side::kLeft}, [](auto& i) { return i.name; });
  t.files("begin_s", {"from [s]"}, [](auto& i) { return six_digits_of(i.begin_s); });
  t.files("end_s", {"to [s]"}, [](auto& i) { return six_digits_of(i.end_s); });
  t.files("kind", {"kind", Side::kLeft}, [](auto& i) { return kind_words(*i.incident); });
  t.files("lines", [](auto& i) { return i.incident->lines; }).unit("lines");
  t.text({"errors"}, [](auto& i) { return percent(i.incident->errors); });
  t.text({"otherwise"}, [](auto& i) { return percent(i.incident->usual_errors); });
  t.text({"median"}, [](auto& i) { return duration_words(i.incident->median_s); });
  t.text({"otherwise"}, [](auto& i) { return duration_words(i.incident->usual_median_s); });
  t.files("error_share", [](auto& i) { return six_digits_of(i.incident->errors); });
  t.files("usual_error_share", [](auto& i) { return six_digits_of(i.incident->usual_errors); });
  t.files("duration_p50_s", [](auto& i) { return factor_of(i.incident->median_s); });
  t.files("usual_duration_p50_s", [](auto& i) { return factor_of(i.incident->usual_median_s); });
  t.files("capacity", [](auto& i) { return factor_of(i.incident->capacity); }).unit("1");
  t.files("speed", [](auto& i) { return factor_of(i.incident->speed); }).unit("1");
  t.files("added_errors", [](auto& i) { return status_words(*i.incident); });
  std::vector<IncidentRow> rows;
  for (const fit::Incident& i : r.fit.incidents.found) {
    const auto since = [&](std::int64_t time_ns) {
      return static_cast<double>(time_ns - r.fit.origin_ns) * 1e-9;
    };
    rows.push_back({fmt::format("incident-{}", rows.size() + 1), since(i.when.begin_ns),
                    since(i.when.end_ns), &i});
  }
  return {t, rows};
}

// --- The backtest.

struct BacktestRow {
  std::string_view part;  // "all" or "bin"
  double begin_s = 0, end_s = 0;
  fit::BacktestFigure figure = fit::BacktestFigure::kRate;
  fit::ComparedFigure compared;
};

std::string_view unit_in_files(fit::BacktestFigure figure) {
  return figure == fit::BacktestFigure::kRate         ? "1/s"
         : figure == fit::BacktestFigure::kErrorShare ? ""
                                                      : "s";
}

std::string_view agreement_in_files(fit::Agreement agreement) {
  return agreement == fit::Agreement::kMet        ? "met"
         : agreement == fit::Agreement::kByChance ? "chance"
                                                  : "off";
}

std::vector<BacktestRow> backtest_rows(const fit::Backtest& b, bool bins) {
  std::vector<BacktestRow> rows;
  const auto add = [&](std::string_view part, const fit::BacktestStretch& stretch) {
    for (std::size_t i = 0; i < fit::kBacktestFigures; ++i) {
      if (!stretch.figures[i]) continue;
      rows.push_back({part, stretch.begin_s, stretch.end_s, static_cast<fit::BacktestFigure>(i),
                      *stretch.figures[i]});
    }
  };
  add("all", b.all);
  if (!bins) return rows;
  for (const fit::BacktestStretch& bin : b.bins) add("bin", bin);
  return rows;
}

std::string in_unit_of(const BacktestRow& row, double value, bool with_unit = true) {
  if (row.figure == fit::BacktestFigure::kErrorShare) {
    return fmt::format("{}{}", scenario::said_number(100 * value), with_unit ? " %" : "");
  }
  const DisplayUnit unit = display_unit(row.compared.logged, unit_in_files(row.figure));
  return format_plain(value * unit.scale) + std::string(with_unit ? unit.name : "");
}

CellTable backtest_table(const fit::Backtest& b, bool bins) {
  Columns<BacktestRow> t;
  t.files("part", [](auto& r) { return r.part; });
  t.files("begin_s", [](auto& r) { return six_digits_of(r.begin_s); });
  t.files("end_s", [](auto& r) { return six_digits_of(r.end_s); });
  t.files("figure", [](auto& r) { return fit::names_of(r.figure).in_files; });
  t.files("unit", [](auto& r) { return unit_in_files(r.figure); });
  t.text({"", Side::kLeft}, [](auto& r) { return fit::names_of(r.figure).in_words; });
  t.text({"second half"}, [](auto& r) { return in_unit_of(r, r.compared.logged); });
  t.text({"simulated"}, [](auto& r) { return in_unit_of(r, r.compared.simulated); });
  t.text({"runs"}, [](auto& r) {
    return fmt::format("{} to {}", in_unit_of(r, r.compared.low, false),
                       in_unit_of(r, r.compared.high));
  });
  t.text({"difference"}, [](auto& r) {
    const std::optional<double> off = r.compared.off();
    return off ? fmt::format("{:+.1f} %", 100 * *off) : "";
  });
  t.files("logged", [](auto& r) { return six_digits_of(r.compared.logged); });
  t.files("simulated", [](auto& r) { return six_digits_of(r.compared.simulated); });
  t.files("simulated_least", [](auto& r) { return six_digits_of(r.compared.low); });
  t.files("simulated_most", [](auto& r) { return six_digits_of(r.compared.high); });
  t.files("agreement", [](auto& r) { return agreement_in_files(r.compared.agreement); });
  return {t, backtest_rows(b, bins)};
}

std::string backtest_words(const fit::Backtest& b) {
  return fmt::format(
      "Backtest: a scenario fitted to the first half of the log ({} lines), simulated {}, against "
      "the second ({} lines){}{}.",
      scenario::grouped(b.fitted_lines), b.runs == 1 ? "once" : fmt::format("{} times", b.runs),
      scenario::grouped(b.compared_lines),
      b.times_repeated ? "; requests come when those of the log did" : "",
      b.faults == 0   ? ""
      : b.faults == 1 ? "; the incident is played as a fault"
                      : fmt::format("; the {} incidents are played as faults", b.faults));
}

std::string log_words(const fit::Log& log) {
  std::string text = fmt::format("{} lines ({})", scenario::grouped(log.lines), log.format);
  if (log.other_services > 0)
    text += fmt::format(", {} of other services", scenario::grouped(log.other_services));
  if (log.no_service > 0)
    text += fmt::format(", {} of no service", scenario::grouped(log.no_service));
  if (log.health_checks > 0)
    text += fmt::format(", {} health checks", scenario::grouped(log.health_checks));
  if (log.other_lines > 0)
    text += fmt::format(", {} no requests", scenario::grouped(log.other_lines));
  if (log.bad_lines > 0) text += fmt::format(", {} unreadable", scenario::grouped(log.bad_lines));
  std::int64_t span_ns = 0;
  if (!log.counts.empty()) {
    span_ns = log.counts.back().time_ns - log.counts.front().time_ns;
  } else if (!log.rows.empty()) {
    // Only times that the log has are used: if durations have a wrong unit, other times are wrong
    // as well.
    const auto time = [&](const fit::Observation& row) {
      return log.times_are_starts ? row.start_ns : row.end_ns();
    };
    const auto [first, last] = std::ranges::minmax(log.rows, {}, time);
    span_ns = time(last) - time(first);
  }
  const double span_s = static_cast<double>(span_ns) * 1e-9;
  constexpr double kSixDigits = 1e6;
  return text + ", " +
         (span_s < kSixDigits ? scenario::said_number(span_s, 6) : scenario::said_whole(span_s)) +
         " s;";
}

}  // namespace

Document fit_document(const FitReport& r) {
  Document d;
  d.say(fmt::format("{}: {} {}.", r.name, log_words(r.log), fit::known_words(r.fit)));
  d.gap();
  std::vector<std::string> sentences = {fit::arrival_words(r.fit.arrivals)};
  if (r.fit.service_time) {
    const fit::FittedServiceTime& s = *r.fit.service_time;
    sentences.push_back(r.fit.is_explained()
                            ? fmt::format("Service time, of {}: {}. {}", fit::values_words(s),
                                          fit::law_words(s.chosen), s.why)
                            : fmt::format("Service time, if {} requests did not wait: {}. {}",
                                          scenario::grouped(s.values), fit::law_words(s.chosen),
                                          s.why));
    if (!s.two_kinds.empty()) sentences.push_back(s.two_kinds);
  }
  if (r.fit.capacity) sentences.push_back(fit::capacity_words(*r.fit.capacity));
  if (r.fit.queue_capacity) {
    sentences.push_back(
        fmt::format("{} requests may wait; all others were turned away.", *r.fit.queue_capacity));
  }
  const std::vector<fit::Incident>& incidents = r.fit.incidents.found;
  const std::string_view outside = incidents.empty() ? "" : " outside of incidents";
  if (!r.fit.statuses.empty()) {
    sentences.push_back(r.fit.error_share > 0 ? fmt::format("{} of the lines{} are errors.",
                                                            percent(r.fit.error_share), outside)
                                              : fmt::format("No line{} is an error.", outside));
  } else if (r.log.counts.empty()) {
    sentences.emplace_back("The log has no statuses: the share of errors is not known.");
  }
  if (r.fit.gave_up) sentences.push_back(fit::timeout_words(*r.fit.gave_up));
  if (r.fit.retries && (r.fit.retries->any() || !r.fit.retries->by_name)) {
    sentences.push_back(fit::retry_words(*r.fit.retries));
  }
  for (const fit::Incident& incident : incidents) {
    sentences.push_back(fit::incident_words(incident, r.fit.origin_ns));
  }
  for (const std::string& sentence : sentences) d.say(sentence, "- ");
  d.gap();
  if (!incidents.empty()) {
    d.show(shown(incidents_table(r)));
    d.gap();
  }
  d.show(shown(fitted_table(r)));
  if (r.fit.service_time && !r.fit.service_time->laws.empty()) {
    d.gap();
    d.show(shown(laws_table(r)));
  }
  std::vector<std::string> notes = r.fit.notes;
  if (r.backtest) {
    d.gap();
    d.say(backtest_words(*r.backtest));
    d.gap();
    for (const std::string& sentence : r.backtest->verdict) d.say(sentence, "- ");
    d.gap();
    d.show(shown(backtest_table(*r.backtest, false)));
  } else {
    notes.push_back(r.why_untested);
  }
  for (const fit::BadLine& bad : r.log.first_bad) {
    notes.push_back(fmt::format("{}:{}: {}", bad.file, bad.line, bad.why));
  }
  for (const fit::BadLine& other : r.log.first_other) {
    notes.push_back(fmt::format("{}:{}: no request: {}", other.file, other.line, other.why));
  }
  d.notes(notes);

  Scenario scenario;
  scenario.name = r.name;
  d.head("fit", {r.name, r.name, "", {}}, scenario, 0);
  Json log = {{"files", r.files},
              {"format", r.log.format},
              {"lines", r.log.lines},
              {"bad_lines", r.log.bad_lines},
              {"lines_of_other_services", r.log.other_services},
              {"lines_of_no_service", r.log.no_service},
              {"health_checks", r.log.health_checks},
              {"no_requests", r.log.other_lines},
              {"lines_without_status", r.fit.without_status},
              {"time_resolution_s", static_cast<double>(r.log.time_resolution_ns) * 1e-9}};
  d.member("log", log);
  d.member("sentences", sentences);
  d.member("notes", notes);
  d.member("incidents", rows_json(incidents_table(r)));
  d.member("figures", rows_json(fitted_table(r)));
  d.member("laws", rows_json(laws_table(r)));
  d.member("durations", rows_json(durations_table(r)));
  Json statuses = Json::array();
  for (const fit::StatusCount& s : r.fit.statuses) {
    statuses.push_back(
        {{"status", s.status}, {"lines", s.lines}, {"duration_mean_s", six_digits_of(s.mean_s)}});
  }
  d.member("statuses", statuses);
  if (r.backtest) {
    const fit::Backtest& b = *r.backtest;
    d.member("backtest", Json{{"fitted_lines", b.fitted_lines},
                              {"compared_lines", b.compared_lines},
                              {"runs", b.runs},
                              {"times_repeated", b.times_repeated},
                              {"faults", b.faults},
                              {"verdict", b.verdict},
                              {"figures", rows_json(backtest_table(b, true))}});
  }
  return d.tables(fit_tables(r));
}

std::vector<TableSource> fit_tables(const FitReport& r) {
  std::vector<TableSource> tables;
  tables.push_back(source_of("fit", fitted_table(r)));
  tables.push_back(source_of("laws", laws_table(r)));
  tables.push_back(source_of("durations", durations_table(r)));
  if (!r.fit.incidents.found.empty()) tables.push_back(source_of("incidents", incidents_table(r)));
  if (r.backtest) tables.push_back(source_of("backtest", backtest_table(*r.backtest, true)));
  return tables;
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const FittedLog& fitted) {
  const FittedLog::Details& d = *fitted.details;
  return Tables(report::fit_tables(
      {d.whole.fit, d.whole.backtest, d.whole.why_untested, d.whole.log, d.name, d.logs}));
}

}  // namespace retrysim

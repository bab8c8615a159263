// SPDX-License-Identifier: MIT
#include "report/tip_report.hpp"

#include "estimate/proportion.hpp"
#include "report/csv_writer.hpp"
#include "report/display.hpp"
#include "report/json_parts.hpp"
#include "report/result_files.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

/// A share of the replications that could be judged, with Wilson's interval.
struct Share {
  double value, low, high;
};

/// Empty if none could be judged.
std::optional<Share> share_of_judged(const TippingProbe& p, std::size_t count) {
  if (p.judged() == 0) return std::nullopt;
  const stats::ProportionInterval interval = stats::wilson_interval(count, p.judged());
  return Share{static_cast<double>(count) / static_cast<double>(p.judged()), interval.low,
               interval.high};
}

}  // namespace

Json d50_json(const TipResult& found) {
  const TippingPoint& point = found.point;
  if (!point.d50) return {};
  const bool upwards = found.search.last >= found.search.first;
  Json d50;
  d50["value"] = point.d50->middle();
  d50["bracket"] = {point.d50->low, point.d50->high};
  d50["ci_low"] = optional_json(upwards ? point.ci_first : point.ci_last);
  d50["ci_high"] = optional_json(upwards ? point.ci_last : point.ci_first);
  d50["rank"] = point.rank;
  d50["coverage"] = point.coverage;
  return d50;
}

Json trigger_json(const Trigger& trigger, const TippingSearch& search) {
  return {{"path", trigger.path},
          {"unit", trigger.unit},
          {"first", search.first},
          {"last", search.last},
          {"tolerance", search.tolerance}};
}

namespace {

Json probe_json(const TippingProbe& p) {
  Json json;
  json["value"] = p.value;
  json["replications"] = p.judged();
  json["tipped"] = p.tipped();
  json["censored"] = p.count(TippingResponse::kUnknown);
  const auto add_share = [&](const std::string& prefix, std::size_t count) {
    const auto share = share_of_judged(p, count);
    json[prefix + "probability"] = share ? Json(share->value) : Json();
    json[prefix + "ci_low"] = share ? Json(share->low) : Json();
    json[prefix + "ci_high"] = share ? Json(share->high) : Json();
  };
  add_share("", p.tipped());
  json["metastable"] = p.metastable;
  json["twin_recovered"] = p.twin_recovered;
  add_share("metastable_", p.metastable);
  return json;
}

// --- Text ----------------------------------------------------------------------------------------

std::string with_unit(const TipReport& r, double value) {
  return fmt::format("{:.6g}{}", value,
                     r.trigger.unit == "1"     ? ""
                     : r.trigger.unit == "1/s" ? " /s"
                                               : " " + r.trigger.unit);
}

/// As --trigger takes it.
std::string as_written(const TipReport& r, double value) {
  return fmt::format("{:.6g}{}", value, r.trigger.unit == "s" ? "s" : "");
}

void append_probes(std::string& out, const TipReport& r) {
  const std::string title = r.trigger.unit == "1" ? "value" : "value (" + r.trigger.unit + ")";
  out += fmt::format("  {:>12}  {:>14}  {:>10}  P(metastable), 95 % interval\n", title,
                     "do not recover", "metastable");
  const std::size_t nearest = r.found.point.nearest_probe();
  for (std::size_t i = 0; i < r.found.point.probes.size(); ++i) {
    const TippingProbe& p = r.found.point.probes[i];
    out += fmt::format("{} {:>12}  {:>14}  {:>10}", i == nearest ? "*" : " ",
                       fmt::format("{:.6g}", p.value),
                       fmt::format("{} of {}", p.tipped(), p.judged()), p.metastable);
    if (const auto share = share_of_judged(p, p.metastable)) {
      out += fmt::format("  {:>13} ({} to {})", percent(share->value), percent(share->low),
                         percent(share->high));
    }
    out += "\n";
  }
}

std::string interval_text(const TipReport& r) {
  const TippingPoint& point = r.found.point;
  if (point.rank == 0) return " (no interval: it takes at least six replications)";
  const auto end = [&](const std::optional<double>& value, double outermost, bool not_judged) {
    if (value) return with_unit(r, *value);
    return not_judged ? "an end that could not be determined" : "beyond " + with_unit(r, outermost);
  };
  std::string first = end(point.ci_first, r.found.search.first, point.first_end_not_judged());
  std::string last = end(point.ci_last, r.found.search.last, point.last_end_not_judged());
  if (r.found.search.last < r.found.search.first) std::swap(first, last);
  return fmt::format(", 95 % interval {} to {}", first, last);
}

/// Counting those that could not be judged.
bool half_may_tip(const TippingProbe& p) {
  return 2 * (p.tipped() + p.count(TippingResponse::kUnknown)) >= p.responses.size();
}

/// The median of the thresholds, and of whole numbers the first one at which half do not recover.
std::string d50_text(const TipReport& r) {
  const TippingBracket& d50 = *r.found.point.d50;
  const std::string interval = interval_text(r);
  if (r.found.search.whole_numbers) {
    const auto first =
        std::find_if(r.found.point.probes.begin(), r.found.point.probes.end(), half_may_tip);
    const TippingProbe& before = *std::prev(first);
    const bool neighbours = std::fabs(first->value - before.value) == 1;
    if (neighbours && 2 * first->tipped() >= first->responses.size()) {
      return fmt::format(
          "D50 is between {} and {}{}: {} is the first value at which half of the replications do "
          "not recover.",
          with_unit(r, std::min(d50.low, d50.high)), with_unit(r, std::max(d50.low, d50.high)),
          interval, with_unit(r, first->value));
    }
  }
  return fmt::format("D50 = {}{}: half of the replications do not recover.",
                     with_unit(r, d50.middle()), interval);
}

/// "3 of 20 replications", and how many more could not be judged.
std::string replications_text(const TippingProbe& p, std::size_t count) {
  const std::size_t unknown = p.count(TippingResponse::kUnknown);
  return fmt::format("{} of {} replications{}", count, p.judged(),
                     unknown == 0 ? "" : fmt::format(" ({} more could not be judged)", unknown));
}

std::string tipped_text(const TippingProbe& p) { return replications_text(p, p.tipped()); }

/// What kept the search from an answer.
std::string not_judged_text(const TipReport& r) {
  const std::vector<TippingProbe>& probes = r.found.point.probes;
  const auto unclear = std::find_if(probes.begin(), probes.end(), half_may_tip);
  std::string text = fmt::format(
      "Cannot tell whether there is a tipping point in this range: at {}, {} of {} replications "
      "were too short to judge",
      with_unit(r, unclear->value), unclear->count(TippingResponse::kUnknown),
      unclear->responses.size());
  if (unclear != probes.begin()) {
    text += fmt::format("; up to {}, more than half of them recover",
                        with_unit(r, std::prev(unclear)->value));
  }
  return text + ".";
}

std::string answer_of(const TipReport& r) {
  const TippingPoint& point = r.found.point;
  const TippingProbe& first = point.probes.front();
  const TippingProbe& last = point.probes.back();
  switch (point.outcome) {
    case TippingOutcome::kFound:
      return d50_text(r);
    case TippingOutcome::kTipsAtFirst:
      return fmt::format(
          "No tipping point in this range: already at {}, the first value, {} do not recover.",
          with_unit(r, first.value), tipped_text(first));
    case TippingOutcome::kRecoversAtLast:
      return fmt::format("No tipping point in this range: even at {}, the last value, {} recover.",
                         with_unit(r, last.value),
                         replications_text(last, last.judged() - last.tipped()));
    case TippingOutcome::kEndsExchanged:
      return fmt::format(
          "LO and HI seem to be swapped: {} do not recover at {}, but only {} at {}; try {}={}:{}.",
          tipped_text(first), with_unit(r, first.value), tipped_text(last),
          with_unit(r, last.value), r.trigger.path, as_written(r, last.value),
          as_written(r, first.value));
    case TippingOutcome::kNotJudged:
      break;
  }
  return not_judged_text(r);
}

/// What the twins without retries say of the replications that tip nearest to the answer; nothing
/// if none does.
std::string twins_text(const TipReport& r) {
  const TippingProbe& p = r.found.point.probes[r.found.point.nearest_probe()];
  if (p.tipped() == 0) return "";
  const bool all = p.metastable == p.tipped();
  return fmt::format(
      "Of the {} that do not recover at {}, {} would recover without retries{}.", p.tipped(),
      with_unit(r, p.value), p.twin_recovered,
      all ? ": metastable failures" : fmt::format("; {} are metastable", p.metastable));
}

void write_head(CsvWriter& csv, const TipHead& head) {
  csv.text(head.scenario);
  if (head.variant) csv.text(*head.variant);
  csv.text(head.trigger.path);
}

std::vector<std::string> caveats(const TipReport& r) {
  std::vector<std::string> notes = r.found.notes;
  const std::size_t n = r.found.point.not_monotone();
  if (n > 0 && r.found.point.outcome != TippingOutcome::kEndsExchanged) {
    notes.push_back(fmt::format(
        "{} of {} replications are not monotone: they recover from a greater trigger than one that "
        "they do not recover from. They have no threshold, so the interval does not cover them",
        n, r.found.point.thresholds.size()));
  }
  return notes;
}

}  // namespace

void write_probes_header(CsvWriter& csv, bool with_variant) {
  csv.text("scenario");
  if (with_variant) csv.text("variant");
  csv.header({"trigger", "value", "unit", "replications", "tipped", "probability", "ci_low",
              "ci_high", "metastable", "twin_recovered", "censored", "metastable_probability",
              "metastable_ci_low", "metastable_ci_high"});
}

void write_probe_rows(CsvWriter& csv, const TipHead& head, const TipResult& found) {
  const auto share = [&](const std::optional<Share>& s) {
    if (s) {
      csv.real(s->value).real(s->low).real(s->high);
    } else {
      csv.empty().empty().empty();
    }
  };
  for (const TippingProbe& p : found.point.probes) {
    write_head(csv, head);
    csv.real(p.value).text(head.trigger.unit);
    csv.integer(p.judged()).integer(p.tipped());
    share(share_of_judged(p, p.tipped()));
    csv.integer(p.metastable).integer(p.twin_recovered);
    csv.integer(p.count(TippingResponse::kUnknown));
    share(share_of_judged(p, p.metastable));
    csv.end_row();
  }
}

void write_thresholds_header(CsvWriter& csv, bool with_variant) {
  csv.text("scenario");
  if (with_variant) csv.text("variant");
  csv.header({"trigger", "replication", "unit", "recovers_at", "tips_at", "monotone"});
}

void write_threshold_rows(CsvWriter& csv, const TipHead& head, const TipResult& found) {
  for (std::size_t i = 0; i < found.point.thresholds.size(); ++i) {
    const TippingThreshold& t = found.point.thresholds[i];
    write_head(csv, head);
    csv.integer(i).text(head.trigger.unit);
    csv.real(t.low).real(t.high).text(t.monotone ? "true" : "false").end_row();
  }
}

void write_tip_csv(Sink& sink, const TipReport& r) {
  CsvWriter csv(sink);
  write_probes_header(csv, false);
  write_probe_rows(csv, {r.scenario.scenario.name, {}, r.trigger}, r.found);
}

void write_thresholds_csv(Sink& sink, const TipReport& r) {
  CsvWriter csv(sink);
  write_thresholds_header(csv, false);
  write_threshold_rows(csv, {r.scenario.scenario.name, {}, r.trigger}, r.found);
}

void write_tip_json(Sink& sink, const TipReport& r, const std::vector<FileRecord>& files) {
  const Scenario& scenario = r.scenario.scenario;
  Json json = result_head("tip", scenario, r.found.point.thresholds.size());
  json["trigger"] = trigger_json(r.trigger, r.found.search);
  json["search"] = {{"id", fmt::format("{:016x}", r.id)}};
  json["outcome"] = name(r.found.point.outcome);
  json["d50"] = d50_json(r.found);
  json["not_monotone"] = r.found.point.not_monotone();
  json["probes"] = Json::array();
  for (const TippingProbe& p : r.found.point.probes) json["probes"].push_back(probe_json(p));
  json["sentences"] = {answer_of(r)};
  if (const std::string twins = twins_text(r); !twins.empty()) json["sentences"].push_back(twins);
  json["notes"] = caveats(r);
  json["services"] = services_json(r.scenario.scenario);
  json["keys"] = keys_json(r.scenario);
  sink.write(sealed(json, files));
}

void write_tip_text(Sink& sink, const TipReport& r, std::size_t columns) {
  const Scenario& scenario = r.scenario.scenario;
  const std::size_t runs = r.found.point.thresholds.size();
  std::string out = wrapped(
      fmt::format("{}: {} from {} to {}, {} replication{} at each value, seed {}", scenario.name,
                  r.trigger.path, with_unit(r, r.found.search.first),
                  with_unit(r, r.found.search.last), runs, runs == 1 ? "" : "s", scenario.seed),
      {columns});
  if (!scenario.description.empty()) out += wrapped(scenario.description, {columns, "", ""});
  out += "\n" + wrapped(answer_of(r), {columns});
  if (const std::string twins = twins_text(r); !twins.empty()) out += wrapped(twins, {columns});
  out += "\n";
  append_probes(out, r);
  sink.write(out + notes_text(caveats(r), columns));
}

void write_tip_files(ResultFolder& folder, const TipReport& r) {
  folder.write("tip.csv", [&](Sink& sink) { write_tip_csv(sink, r); });
  folder.write("thresholds.csv", [&](Sink& sink) { write_thresholds_csv(sink, r); });
  write_scenario_files(folder, r.scenario);
  folder.write("result.json", [&](Sink& sink) { write_tip_json(sink, r, folder.files()); });
  folder.commit();
}

}  // namespace retrysim::report

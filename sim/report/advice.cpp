// SPDX-License-Identifier: MIT
#include "report/advice.hpp"

#include "estimate/told.hpp"
#include "report/comparison.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/text.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSuccess = 0, kRecovered = 1, kRecoveryTime = 2, kWithin = 3, kLatency = 4,
                      kDisturbed = 5, kConnectionWait = 8;

/// The value of a measure, for people.
std::string value_text(const AdviceMeasure& measure, double value) {
  if (shown_as_percentage(*measure.metric)) return percent(value);
  const DisplayUnit unit = display_unit(value, measure.metric->unit);
  return format_plain(value * unit.scale, 3) + std::string(unit.name);
}

ComparisonRow row_of(const AdviceMeasure& measure, const PairedDifference& difference) {
  return {0, "all", measure.metric, difference};
}

/// A list in words: "three, two and one".
std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string set_options(const std::vector<std::string>& edits) {
  std::string text;
  for (const std::string& edit : edits) {
    text += (text.empty() ? "--set " : " --set ") + shell_word(edit);
  }
  return text;
}

std::string runs_text(double mean, std::size_t pairs) {
  return fmt::format("{} of {}", std::lround(mean * static_cast<double>(pairs)), pairs);
}

/// One row of the files: the scenario as it stands, a remedy that was tried, or one that was not.
struct AdviceRow {
  const Remedy* remedy = nullptr;
  const RemedyTrial* trial = nullptr;
  std::size_t rank = 0;  ///< rank from 1; 0: none
};

class AdviceText {
 public:
  explicit AdviceText(const AdviceReport& report) : report_(report), found_(report.found) {
    rows_.push_back({});
    for (const RemedyTrial& t : found_.trials) rows_.push_back({&t.remedy, &t, rows_.size()});
    for (const Remedy& r : found_.not_tried) rows_.push_back({&r, nullptr, 0});
  }

  void add_to(Document& d) const {
    const Scenario& s = scenario();
    d.say(heading_of(found_.scenario).text());
    d.say(
        fmt::format("What would help most? {} remed{} tried on common random numbers, {} "
                    "replication{}, seed {}.",
                    found_.trials.size(), found_.trials.size() == 1 ? "y" : "ies", s.replications,
                    s.replications == 1 ? "" : "s", s.seed));
    d.gap();
    d.answer_first(sentences());
    const std::string command = first_command();
    if (!command.empty()) d.lines("\n  " + command + "\n");
    if (!found_.trials.empty()) {
      d.gap().say(meaning(), "", "").gap().show(trials_table());
      if (!found_.groups.empty()) {
        d.gap().say("Success of each client group, the highest priority first:", "", "").gap();
        d.show(groups_table());
      }
      const Listing costs = costs_listing();
      if (!costs.rows.empty()) {
        d.gap().say("Worse elsewhere:", "", "").gap();
        d.lines([costs](std::size_t columns) { return listing_text(costs, columns); });
      }
      d.gap().say("The remedies, and the options of retrysim run that make them:", "", "").gap();
      const Listing edits = edits_listing();
      const std::size_t others = found_.trials.size() - edits.rows.size();
      d.lines([edits](std::size_t columns) { return listing_text(edits, columns); });
      if (others > 0) {
        d.gap().say(fmt::format("advice.csv has the options of the other {}, which {} not help.",
                                others, others == 1 ? "does" : "do"),
                    "", "");
      }
    }
    if (!found_.not_tried.empty()) {
      d.gap().say("Not tried:", "", "").gap();
      d.lines(
          [list = reasons_listing()](std::size_t columns) { return listing_text(list, columns); });
    }
    d.notes(notes());
  }

  std::vector<std::string> sentences() const {
    if (found_.trials.empty()) return {"No remedy fits this scenario: there is nothing to try."};
    if (replications() == 1) {
      return {"One replication cannot tell what a remedy does from chance: use at least 10."};
    }
    const std::size_t helping = found_.helping();
    std::vector<std::string> said;
    if (helping == 0) {
      said.push_back("None of the remedies tried helps measurably: " + as_it_stands() + ".");
    } else {
      const RemedyTrial& first = found_.trials.front();
      said.push_back(fmt::format("Best single change: {}. {}.", first.remedy.words,
                                 capital(listed(gains(first)))));
      said.push_back(cost_sentence(first));
      std::vector<std::string> equals;
      std::vector<std::string> lesser;
      std::size_t more = 0;
      for (std::size_t t = 1; t < helping; ++t) {
        const RemedyTrial& other = found_.trials[t];
        if (other.as_good_as_first) {
          equals.emplace_back(other.remedy.name);
        } else if (lesser.size() < kMaxNamed) {
          lesser.push_back(fmt::format("{} ({})", other.remedy.name, main_gain(other)));
        } else {
          ++more;
        }
      }
      if (!equals.empty()) {
        said.push_back(fmt::format("{} {} no worse than that, as far as {} runs can tell.",
                                   listed(equals), equals.size() == 1 ? "is" : "are",
                                   replications()));
      }
      if (!lesser.empty()) {
        if (more > 0) lesser.push_back(fmt::format("{} more", more));
        said.push_back(
            fmt::format("{} {} less.", listed(lesser), lesser.size() == 1 ? "helps" : "help"));
      }
    }
    for (const RemedyTrial& t : found_.trials) {
      const std::string trade = trade_of(t);
      if (t.verdict == RemedyVerdict::kMixed && !trade.empty()) {
        said.push_back(
            fmt::format("{} takes from one group for another: {}.", t.remedy.name, trade));
      }
    }
    std::vector<std::string> harmful;
    for (const RemedyTrial& t : found_.trials) {
      if (t.verdict == RemedyVerdict::kHarms) harmful.emplace_back(t.remedy.name);
    }
    if (!harmful.empty()) {
      said.push_back(fmt::format("Worse than nothing: {}.", listed(harmful)));
    }
    return said;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    const std::size_t n = replications();
    if (const std::size_t untold = this->untold(); untold > 0) {
      notes.push_back(fmt::format(
          "{} too short to tell whether {}, which says nothing for or against a remedy; a "
          "duration of {} would be long enough",
          untold == 1 ? "1 run is" : fmt::format("{} runs are", untold),
          untold == 1 ? "it recovers" : "they recover",
          stats::said_duration(found_.duration_to_judge_s)));
    }
    if (n > 1 && n < 10) {
      notes.push_back(fmt::format("{} replications: intervals are rough; use at least 10", n));
    }
    if (scenario().precision.target > 0) {
      notes.emplace_back(
          "precision has no effect on advice: every remedy has the number of replications that the "
          "scenario gives");
    }
    const auto outside = std::count_if(scenario().clients.begin(), scenario().clients.end(),
                                       [](const ClientSpec& c) { return !c.makes_calls(); });
    if (outside > 1 && found_.groups.empty()) {
      notes.emplace_back(
          "remedies are judged by all client groups together; one that helps some of them may harm "
          "others");
    }
    notes.emplace_back(
        "not tried: several remedies at once, other values of theirs, and more servers");
    if (exists(kWithin)) {
      notes.emplace_back(
          "the success rate includes requests that end in the drain, after the duration; \"in "
          "duration\" leaves them out");
    }
    return notes;
  }

  /// The command that repeats the run of the first remedy; empty if that does not help.
  std::string first_command() const {
    if (found_.helping() == 0) return "";
    return command_of(found_.trials.front().remedy);
  }

  CellTable table() const {
    Columns<AdviceRow> t;
    t.csv("scenario", always(scenario().name));
    t.files("rank", [](auto& r) {
       return r.rank > 0 ? std::optional(r.rank) : std::nullopt;
     }).unit("1");
    t.files("remedy", [](auto& r) {
      return r.remedy == nullptr ? std::string("as-it-stands") : r.remedy->name;
    });
    t.files("words", [](auto& r) {
      return r.remedy == nullptr ? std::string("the scenario as it stands") : r.remedy->words;
    });
    t.files("state",
            [](auto& r) { return r.remedy == nullptr ? Text() : Text(name(r.remedy->state)); });
    t.files("reason", [](auto& r) {
      return r.remedy == nullptr || r.remedy->reason.empty() ? Text() : Text(r.remedy->reason);
    });
    t.files("verdict",
            [](auto& r) { return r.trial == nullptr ? Text() : Text(name(r.trial->verdict)); });
    t.json("effect", [](auto& r) {
      return r.trial == nullptr ? Cell() : Cell(std::string(effect_word(*r.trial)));
    });
    t.csv("as_good_as_first", [](auto& r) {
      return r.trial == nullptr ? "" : r.trial->as_good_as_first ? "yes" : "no";
    });
    t.json("as_good_as_first",
           [](auto& r) { return r.trial == nullptr ? Cell() : Cell(r.trial->as_good_as_first); });
    t.csv("edits", [](auto& r) {
      return r.remedy == nullptr || r.remedy->edits.empty() ? Text()
                                                            : Text(set_options(r.remedy->edits));
    });
    t.json("edits", [](auto& r) {
      return r.remedy == nullptr ? Cell(Json::array()) : Cell(Json(r.remedy->edits));
    });
    t.json("command", [this](auto& r) {
      return r.trial == nullptr ? Cell() : Cell(command_of(r.trial->remedy));
    });
    for (std::size_t m = 0; m < advice_measures().size(); ++m) {
      const std::string name(advice_measures()[m].name);
      const std::string_view unit = advice_measures()[m].metric->unit;
      t.files(name, [this, m](auto& r) { return mean_of(r, m); }).unit(unit);
      t.files(fmt::format("{0}_difference {0}_ci_low {0}_ci_high", name), [m](auto& r) {
         return difference_of(r, m);
       }).unit(unit);
      t.files(name + "_effect", [m](auto& r) { return effect_of(r, m); });
    }
    t.json("groups", [this](auto& r) { return Cell(groups_json(r)); });
    return {t, rows_};
  }

  Json json(const CellTable& table) const {
    Json json;
    json["outcome"] = found_.helping() > 0 ? "helps" : "nothing-helps";
    json["family_error"] = kFamilyError;
    json["measures"] = Json::array();
    for (const AdviceMeasure& m : advice_measures()) {
      json["measures"].push_back({{"name", m.name},
                                  {"label", m.label},
                                  {"unit", m.metric->unit},
                                  {"percentage", shown_as_percentage(*m.metric)},
                                  {"aim", m.is_aim}});
    }
    json["rows"] = rows_json(table);
    json["sentences"] = sentences();
    json["command"] = first_command();
    json["notes"] = notes();
    return json;
  }

 private:
  const Scenario& scenario() const { return found_.scenario.scenario; }
  std::size_t replications() const { return static_cast<std::size_t>(scenario().replications); }

  /// The command that repeats the run of a remedy. A warm-up that was found is given, because the
  /// remedy alone might find another one.
  std::string command_of(const Remedy& remedy) const {
    std::vector<std::string> edits = report_.edits;
    if (found_.warmup) edits.push_back(fmt::format("warmup={}", scenario().warmup.in_seconds()));
    edits.insert(edits.end(), remedy.edits.begin(), remedy.edits.end());
    return fmt::format("retrysim run {} {}", shell_word(report_.scenario), set_options(edits));
  }

  static constexpr std::size_t kMaxNamed = 4;  // most remedies named among those that help less
  static constexpr std::size_t kRunsToTell = 10;

  static std::string capital(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
      text[0] = static_cast<char>(text[0] - 32);
    return text;
  }

  /// A change in words: "success rises from 85 % to 92 % (+7.2 points, 7.1..7.3)".
  static std::string change(const RemedyTrial& trial, std::size_t m, std::string_view label) {
    return change_of(trial.effects[m].difference, m, label);
  }
  static std::string change_of(const PairedDifference& d, std::size_t m, std::string_view label) {
    const AdviceMeasure& measure = advice_measures()[m];
    if (m == kRecovered) {
      const auto runs = [&](double mean) {
        return static_cast<std::size_t>(std::lround(mean * static_cast<double>(d.pairs)));
      };
      return fmt::format("{} {} instead of {}", scenario::said_part(runs(d.mean), d.pairs, "run"),
                         runs(d.mean) == 1 ? "recovers" : "recover", runs(d.baseline_mean));
    }
    const bool is_share = shown_as_percentage(*measure.metric);
    const auto value = [&](double one, double other) {
      return is_share ? telling_percent(one, other) : value_text(measure, one);
    };
    std::string text =
        fmt::format("{} {}{} from {} to {}", label, d.difference > 0 ? "rise" : "fall",
                    label.starts_with("attempts") ? "" : "s", value(d.baseline_mean, d.mean),
                    value(d.mean, d.baseline_mean));
    if (m != kSuccess) return text;
    std::string points = points_text(d);  // "+7.2 (7.1..7.3)"
    if (const auto end = points.find(" ("); end != points.npos) {
      points.replace(end, 2, " points, ");
      points.pop_back();
    }
    return text + " (" + points + ")";
  }

  std::vector<std::string> gains(const RemedyTrial& trial) const {
    std::vector<std::string> parts = changes_of_groups(trial, 1);
    for (const std::size_t m : kGains) {
      if (trial.effects[m].direction > 0) {
        parts.push_back(change(trial, m, advice_measures()[m].label));
      }
    }
    return parts;
  }

  /// The changes of groups whose success changes in `direction`: "success of critical rises from 64
  /// % to 99 % (+35 points, 34..36)".
  std::vector<std::string> changes_of_groups(const RemedyTrial& trial, int direction) const {
    std::vector<std::string> parts;
    for (std::size_t g = 0; g < trial.groups.size(); ++g) {
      const RemedyEffect& effect = trial.groups[g];
      if (effect.direction != direction) continue;
      parts.push_back(
          change_of(effect.difference, kSuccess, "success of " + found_.groups[g].client));
    }
    return parts;
  }

  /// The gains and losses of groups: "critical: 64 to 99 %, background: 46 to 12 %"; empty unless
  /// one group gains and another one loses.
  std::string trade_of(const RemedyTrial& trial) const {
    std::string text;
    bool gains = false, loses = false;
    for (std::size_t g = 0; g < trial.groups.size(); ++g) {
      const auto& [d, direction] = trial.groups[g];
      if (direction == 0) continue;
      (direction > 0 ? gains : loses) = true;
      text += fmt::format("{}{}: {} to {}", text.empty() ? "" : ", ", found_.groups[g].client,
                          telling_percent(d.baseline_mean, d.mean),
                          telling_percent(d.mean, d.baseline_mean));
    }
    return gains && loses ? text : "";
  }

  static constexpr std::size_t kGains[] = {kSuccess,      kWithin,  kDisturbed,     kRecovered,
                                           kRecoveryTime, kLatency, kConnectionWait};

  /// The measure that a remedy improves most: "success 94.7 %".
  std::string main_gain(const RemedyTrial& trial) const {
    const std::string trade = trade_of(trial);
    if (!trade.empty()) return trade;
    for (const std::size_t m : {kSuccess, kWithin, kRecovered, kRecoveryTime, kLatency}) {
      if (trial.effects[m].direction <= 0) continue;
      const AdviceMeasure& measure = advice_measures()[m];
      const PairedDifference& d = trial.effects[m].difference;
      if (m == kRecovered) return runs_text(d.mean, d.pairs) + " runs recover";
      return fmt::format("{} {}", measure.label,
                         shown_as_percentage(*measure.metric)
                             ? telling_percent(d.mean, d.baseline_mean)
                             : value_text(measure, d.mean));
    }
    for (std::size_t g = 0; g < trial.groups.size(); ++g) {
      const auto& [d, direction] = trial.groups[g];
      if (direction <= 0) continue;
      return fmt::format("success of {} {}", found_.groups[g].client,
                         telling_percent(d.mean, d.baseline_mean));
    }
    return "";
  }

  std::string cost_sentence(const RemedyTrial& trial) const {
    std::vector<std::string> costs = changes_of_groups(trial, -1);
    for (std::size_t m = 0; m < advice_measures().size(); ++m) {
      if (trial.effects[m].direction < 0) {
        costs.push_back(change(trial, m, advice_measures()[m].label));
      }
    }
    if (!costs.empty()) return fmt::format("What it costs: {}.", listed(costs));
    return fmt::format("No other metric got significantly worse{}.",
                       replications() < kRunsToTell
                           ? fmt::format(", as far as {} runs can tell", replications())
                           : "");
  }

  /// A sentence on the scenario as it stands: "99.9 % of the requests succeed, and all 3 runs
  /// recover at once: little is left to improve".
  std::string as_it_stands() const {
    constexpr double kNearlyAll = 0.999, kSoon_s = 1;
    std::string text;
    bool well = true;
    const std::size_t success = exists(kWithin) ? kWithin : kSuccess;
    if (const auto& mean = found_.means[success]) {
      well = *mean >= kNearlyAll;
      text = fmt::format("{} of the requests succeed as it stands{}", percent(*mean),
                         exists(kWithin) ? ", within the duration" : "");
    }
    if (const std::size_t untold = replications() - told(nullptr);
        untold > 0 && found_.duration_to_judge_s > 0) {
      well = false;
      text +=
          fmt::format(", and {} too short to tell whether {}",
                      untold == replications() && untold > 1
                          ? fmt::format("all {} runs are", untold)
                          : fmt::format("{} {}", scenario::said_part(untold, replications(), "run"),
                                        untold == 1 ? "is" : "are"),
                      untold == 1 ? "it recovers" : "they recover");
    } else if (const auto& mean = found_.means[kRecovered]) {
      const std::size_t runs = replications();
      const auto back = static_cast<std::size_t>(std::lround(*mean * static_cast<double>(runs)));
      const auto& time = found_.means[kRecoveryTime];
      const bool soon = !time || *time < kSoon_s;
      well = well && back == runs && soon;
      text += back == runs ? fmt::format(", and all {} runs recover", runs)
                           : fmt::format(", and {} {}", scenario::said_part(back, runs, "run"),
                                         back == 1 ? "recovers" : "recover");
      if (back > 0 && time && *time >= kSoon_s) {
        text += " after " + value_text(advice_measures()[kRecoveryTime], *time);
      }
    }
    if (well) return text + "; little is left to improve";
    const std::string unsure = best_by_chance(success);
    return text + (unsure.empty() ? "; what is left is the fault itself, or the number of servers"
                                  : unsure);
  }

  /// How many runs of a remedy, null: of the scenario as it stands, have a value of whether they
  /// recover: all that tell it.
  std::size_t told(const RemedyTrial* trial) const {
    if (trial == nullptr) {
      if (found_.trials.empty()) return found_.means[kRecovered] ? replications() : 0;
      const PairedDifference& d = found_.trials.front().effects[kRecovered].difference;
      return d.pairs + d.only_baseline;
    }
    const PairedDifference& d = trial->effects[kRecovered].difference;
    return d.pairs + d.only_variant;
  }
  /// How many of all runs do not tell whether they recover.
  std::size_t untold() const {
    if (found_.duration_to_judge_s == 0) return 0;
    std::size_t count = replications() - told(nullptr);
    for (const RemedyTrial& trial : found_.trials) count += replications() - told(&trial);
    return count;
  }

  /// A hint at the remedy with which most requests succeed, if these are many more, though not
  /// significantly: "; more than 3 runs would tell: with short-queue 100 % succeed in these".
  std::string best_by_chance(std::size_t success) const {
    constexpr double kMuch = 0.05;
    const RemedyTrial* best = nullptr;
    double most = kMuch;
    for (const RemedyTrial& trial : found_.trials) {
      const double more = trial.effects[success].difference.difference;
      if (more < most) continue;
      best = &trial;
      most = more;
    }
    if (best == nullptr || !best->means[success]) return "";
    return fmt::format("; more than {} runs would tell: with {} {} succeed in these",
                       replications(), best->remedy.name, percent(*best->means[success]));
  }

  /// The other effects of a remedy: "p99 latency +12 %; peak attempt rate +3.1 %"; without the
  /// success rate, which the table has.
  static std::string costs_text(const RemedyTrial& trial) {
    std::string text;
    for (std::size_t m = 0; m < advice_measures().size(); ++m) {
      const RemedyEffect& effect = trial.effects[m];
      if (effect.direction >= 0 || m == kSuccess || m == kRecovered) continue;
      const Amount amount = amount_of(row_of(advice_measures()[m], effect.difference));
      const std::string_view sign = amount.is_factor                   ? ""
                                    : effect.difference.difference > 0 ? "+"
                                                                       : "-";
      text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", advice_measures()[m].label, sign,
                          amount.value);
    }
    return text;
  }

  std::string meaning() const {
    std::string text = "Differences from the scenario as it stands";
    if (replications() > 1) {
      text += fmt::format(
          " with 95 % intervals that hold for {} together. Latency is the mean of successes. A "
          "remedy helps or harms if success, "
          "recovery, the time to recover or the latency of successes differ significantly; without "
          "any effect, the chance "
          "that this is said of any of them is at most 5 %",
          found_.trials.size() == 1 ? "all aims" : "all remedies and aims");
      if (says({"sooner", "later", "faster", "slower"})) {
        text +=
            ". Sooner and later are said of recovery, faster and slower of successes, where "
            "neither success nor the runs that recover have changed";
      }
      if (says({"not clear"})) {
        text +=
            ". Not clear: nothing is significant, but success may differ by more than a point, or "
            "other runs may recover";
      }
      if (!found_.groups.empty()) {
        text +=
            ". Success is that of all requests, and that of the highest priority at which it "
            "changes";
      }
    }
    return text + ".";
  }

  bool exists(std::size_t m) const {
    return found_.means[m] ||
           std::any_of(found_.trials.begin(), found_.trials.end(), [&](const RemedyTrial& t) {
             return t.effects[m].difference.pairs + t.effects[m].difference.only_variant > 0;
           });
  }

  static TextColumn joined(const char* heading) { return {heading, Side::kRight, 0, true}; }

  TextTable trials_table() const {
    TextTable table;
    table.columns = {
        {"remedy", Side::kLeft}, {"effect", Side::kLeft}, {"success"}, joined("points")};
    if (exists(kWithin)) table.columns.push_back({"in duration"});
    table.columns.push_back({"latency"});
    if (exists(kRecovered)) {
      table.columns.push_back({"recover"});
      table.columns.push_back(joined("recovery"));
    }
    for (const AdviceRow& row : rows_) {
      if (row.remedy != nullptr && row.trial == nullptr) continue;
      table.rows.push_back(trial_row(row));
    }
    table.fixed = 1;
    return table;
  }

  TextRow trial_row(const AdviceRow& row) const {
    const auto mean = [&](std::size_t m) {
      const Cell cell = mean_of(row, m);
      const double* value = std::get_if<double>(&cell.value());
      return value == nullptr ? std::string("-") : value_text(advice_measures()[m], *value);
    };
    TextRow cells;
    if (row.trial == nullptr) {
      cells.cells = {"as it stands", "", mean(kSuccess), ""};
    } else {
      cells.cells = {std::string(row.remedy->name), std::string(effect_word(*row.trial)),
                     mean(kSuccess), points_text(row.trial->effects[kSuccess].difference)};
    }
    if (exists(kWithin)) cells.cells.emplace_back(mean(kWithin));
    cells.cells.emplace_back(mean(kLatency));
    if (exists(kRecovered)) {
      const Cell cell = mean_of(row, kRecovered);
      const double* value = std::get_if<double>(&cell.value());
      const std::size_t tell = told(row.trial);
      std::string text = found_.duration_to_judge_s > 0 ? "too short" : "-";
      if (value != nullptr) {
        text = runs_text(*value, tell);
        // What the others would do is not known: all of them may recover, or none.
        if (found_.duration_to_judge_s > 0 && tell < replications()) {
          const auto back =
              static_cast<std::size_t>(std::lround(*value * static_cast<double>(tell)));
          text = fmt::format("{} to {} of {}", back, back + replications() - tell, replications());
        }
      }
      cells.cells.emplace_back(std::move(text));
      cells.cells.emplace_back(mean(kRecoveryTime));
    }
    return cells;
  }

  /// What a remedy does, in a word: where only the time to recover or the latency changes, how.
  static std::string_view effect_word(const RemedyTrial& trial) {
    const auto changes = [&](std::size_t m) { return trial.effects[m].direction != 0; };
    const bool requests_or_runs =
        changes(kSuccess) || changes(kRecovered) || changes(kWithin) ||
        std::any_of(trial.groups.begin(), trial.groups.end(),
                    [](const RemedyEffect& g) { return g.direction != 0; });
    switch (trial.verdict) {
      case RemedyVerdict::kHelps:
        return requests_or_runs ? "helps" : changes(kRecoveryTime) ? "sooner" : "faster";
      case RemedyVerdict::kNotClear:
        return "not clear";
      case RemedyVerdict::kNoDifference:
        return "none";
      case RemedyVerdict::kMixed:
        return "mixed";
      case RemedyVerdict::kHarms:
        break;
    }
    return requests_or_runs ? "harms" : changes(kRecoveryTime) ? "later" : "slower";
  }

  /// Whether one of these is the effect of a remedy.
  bool says(std::initializer_list<std::string_view> words) const {
    return std::ranges::any_of(found_.trials, [&](const RemedyTrial& t) {
      return std::ranges::find(words, effect_word(t)) != words.end();
    });
  }

  TextTable groups_table() const {
    TextTable table;
    table.columns = {{"remedy", Side::kLeft}};
    for (const AdvisedGroup& g : found_.groups) {
      table.columns.push_back({g.client});
      table.columns.push_back(joined("points"));
    }
    table.fixed = 1;
    TextRow as_it_stands;
    as_it_stands.cells = {"as it stands"};
    for (const AdvisedGroup& g : found_.groups) {
      as_it_stands.cells.emplace_back(g.success ? percent(*g.success) : "-");
      as_it_stands.cells.emplace_back("");
    }
    table.rows.push_back(as_it_stands);
    for (const RemedyTrial& t : found_.trials) {
      TextRow row;
      row.cells = {std::string(t.remedy.name)};
      for (const RemedyEffect& g : t.groups) {
        row.cells.emplace_back(g.difference.pairs > 0 ? percent(g.difference.mean) : "-");
        row.cells.emplace_back(points_text(g.difference));
      }
      table.rows.push_back(row);
    }
    return table;
  }

  /// A difference in points, "+7.2 (7.1..7.3)": three significant digits, or fewer if the interval
  /// is wide.
  static std::string points_text(const PairedDifference& d) {
    if (d.pairs == 0) return "-";
    if (d.identical) return "same";
    int decimals = decimals_for(100 * d.difference, 3);
    if (d.interval) {
      const double half = 50 * (d.interval->high - d.interval->low);
      if (half > 0) decimals = std::min(decimals, decimals_for(half, 2));
    }
    decimals = std::min(decimals, 2);
    const auto text = [&](double share, bool plus) {
      std::string digits = fmt::format("{:.{}f}", 100 * share, decimals);
      if (digits.find_first_of("123456789") == digits.npos) {
        return digits.front() == '-' ? digits.substr(1) : digits;
      }
      return plus && share > 0 ? "+" + digits : digits;
    };
    if (!d.interval) return text(d.difference, true);
    return fmt::format("{} ({}..{})", text(d.difference, true), text(d.interval->low, false),
                       text(d.interval->high, false));
  }

  Listing costs_listing() const {
    Listing list{{"remedy", "what is worse"}, {}, 1, "what is worse"};
    for (const RemedyTrial& t : found_.trials) {
      const std::string costs = costs_text(t);
      if (!costs.empty()) list.rows.push_back({std::string(t.remedy.name), costs});
    }
    return list;
  }

  Listing edits_listing() const {
    Listing list{{"remedy", "what it is", "options"}, {}, 1, "what it is"};
    // All of them if they are few; of a graph there may be a hundred.
    constexpr std::size_t kMostListed = 30;
    const bool all = found_.trials.size() <= kMostListed;
    for (const RemedyTrial& t : found_.trials) {
      const bool may_help =
          t.verdict == RemedyVerdict::kHelps || t.verdict == RemedyVerdict::kMixed;
      if (!all && !may_help) continue;
      list.rows.push_back(
          {std::string(t.remedy.name), std::string(t.remedy.words), set_options(t.remedy.edits)});
    }
    return list;
  }

  Listing reasons_listing() const {
    Listing list{{"remedy", "why"}, {}, 1, "why"};
    for (const Remedy& r : found_.not_tried) {
      const std::string_view kind = r.state == RemedyState::kInPlace   ? "in place: "
                                    : r.state == RemedyState::kRefused ? "not valid here: "
                                                                       : "";
      list.rows.push_back({std::string(r.name), std::string(kind) + r.reason});
    }
    return list;
  }

  using Text = std::optional<std::string>;

  std::optional<double> mean_of(const AdviceRow& row, std::size_t m) const {
    if (row.remedy == nullptr) return found_.means[m];
    if (row.trial == nullptr) return {};
    return row.trial->means[m];
  }

  static Ranged difference_of(const AdviceRow& row, std::size_t m) {
    if (row.trial == nullptr) return {};
    const PairedDifference& d = row.trial->effects[m].difference;
    if (d.pairs == 0) return {};
    if (!d.interval) return {d.difference, {}, {}};
    return {d.difference, d.interval->low, d.interval->high};
  }

  static Text effect_of(const AdviceRow& row, std::size_t m) {
    if (row.trial == nullptr || row.trial->effects[m].difference.pairs == 0) return {};
    return std::string(direction_word(row.trial->effects[m].direction));
  }

  /// The success of each group, in the scenario as it stands or with a remedy.
  Json groups_json(const AdviceRow& row) const {
    Json groups = Json::array();
    if (row.remedy != nullptr && row.trial == nullptr) return groups;
    for (std::size_t g = 0; g < found_.groups.size(); ++g) {
      const AdvisedGroup& group = found_.groups[g];
      Json& json = groups.emplace_back();
      json["client"] = group.client;
      json["priority"] = group.priority;
      if (row.trial == nullptr) {
        json["success_rate"] = group.success ? Json(*group.success) : Json();
        continue;
      }
      const auto& [d, direction] = row.trial->groups[g];
      json["success_rate"] = d.pairs > 0 ? Json(d.mean) : Json();
      json["difference"] = d.pairs > 0 ? Json(d.difference) : Json();
      json["ci_low"] = d.interval ? Json(d.interval->low) : Json();
      json["ci_high"] = d.interval ? Json(d.interval->high) : Json();
      json["effect"] = direction_word(direction);
    }
    return groups;
  }

  static std::string_view direction_word(int direction) {
    return direction > 0 ? "better" : direction < 0 ? "worse" : "none";
  }

  const AdviceReport& report_;
  const Advice& found_;
  std::vector<AdviceRow> rows_;
};

}  // namespace

Document advice_document(const AdviceReport& report) {
  const AdviceText text(report);
  const LoadedScenario& scenario = report.found.scenario;
  const CellTable table = text.table();
  Document d;
  text.add_to(d);
  d.head("advise", heading_of(scenario), scenario.scenario,
         static_cast<std::size_t>(scenario.scenario.replications));
  d.member("advice", text.json(table));
  d.scenario_members(scenario);
  return d.table(source_of("advice", table)).scenario_file(scenario);
}

std::vector<TableSource> advice_tables(const Advice& found) {
  return {source_of("advice", AdviceText({found, "", {}}).table())};
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const Advice& advice) { return Tables(report::advice_tables(advice)); }

}  // namespace retrysim

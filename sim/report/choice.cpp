// SPDX-License-Identifier: MIT
#include "report/choice.hpp"

#include <retrysim/summary.hpp>

#include "report/comparison.hpp"
#include "report/document/csv_writer.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/files.hpp"
#include "report/run/text.hpp"
#include "report/sweep.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

namespace retrysim::report {

namespace {

/// Rows that people are shown; choose.csv has them all.
constexpr std::size_t kMostRows = 100;

std::string value_text(double value, const MetricInfo& metric) {
  return metric.display.percentage ? fmt::format("{:.6g} %", 100 * value)
                                   : format_number(value, metric.unit);
}

/// A difference of two values.
std::string difference_text(double value, const MetricInfo& metric) {
  if (!metric.display.percentage) return format_number(value, metric.unit);
  const std::string points = fmt::format("{:.6g}", 100 * value);
  return points + (points == "1" ? " point" : " points");
}

std::string mean_text(const std::vector<double>& observations, const MetricInfo& metric) {
  auto e = estimate(observations);
  if (!e) return "";
  respect_range(*e, metric.range);
  return format_metric(*e, metric);
}

/// Sentences, the later lines indented.
std::string in_lines(std::string_view text, std::size_t columns) {
  return wrapped(text, {columns, "", "  "});
}

std::string plural(std::size_t n, std::string_view noun, std::string_view ending = "s") {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : ending);
}

std::string policies(std::size_t n) { return n == 1 ? "1 policy" : fmt::format("{} policies", n); }

/// "goodput", "goodput of client web".
std::string aim_name(const PolicyChoice& choice) {
  std::string text(choice.aim.metric->label());
  if (choice.aim.client != "all") text += " of client " + choice.aim.client;
  return text;
}

std::string_view superlative(const PolicyChoice& choice) {
  return choice.aim.maximize ? "highest" : "lowest";
}

/// "success rate >= 99 %".
std::string limit_text(const ChoiceLimit& limit) {
  return fmt::format("{} {} {}", limit.metric->label(),
                     limit.at_least ? ">=" : "<=", value_text(limit.bound, *limit.metric));
}

std::string limits_text(const PolicyChoice& choice) {
  std::string text;
  for (std::size_t i = 0; i < choice.limits.size(); ++i) {
    if (i > 0) text += i + 1 == choice.limits.size() ? " and " : ", ";
    text += limit_text(choice.limits[i]);
  }
  return text;
}

/// How many had the very values of the best one.
std::size_t same_as_best(const PolicyChoice& choice) {
  return static_cast<std::size_t>(
      std::count_if(choice.policies.begin(), choice.policies.end(), [&](const ChoicePolicy& p) {
        return p.fate == SelectionFate::kSame && p.by == choice.best;
      }));
}

std::string reason_text(const PolicyChoice& choice, const ChoicePolicy& p, bool is_best) {
  switch (p.fate) {
    case SelectionFate::kRacing:
      return is_best ? "the best" : "still in the race";
    case SelectionFate::kBeaten:
      return "beaten by " + choice.policies[p.by].name;
    case SelectionFate::kAsGood:
      return fmt::format("as good as {} within {}", choice.policies[p.by].name,
                         difference_text(choice.indifference, *choice.aim.metric));
    case SelectionFate::kSame:
      return "the same as " + choice.policies[p.by].name;
    case SelectionFate::kBreaksLimit: {
      const MetricInfo& metric = *choice.limits[p.by].metric;
      return fmt::format("{} {}", metric.label(), mean_text(p.limited[p.by], metric));
    }
    case SelectionFate::kDropped:
      return fmt::format("a replication has no {}", p.missing->name);
  }
  return "";
}

/// The survivors, then those that left, the last ones first.
std::vector<std::size_t> order_of(const PolicyChoice& choice) {
  std::vector<std::size_t> order(choice.policies.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto mean = [&](const ChoicePolicy& p) {
    const auto e = estimate(p.aim);
    return e ? (choice.aim.maximize ? -e->mean : e->mean) : 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const ChoicePolicy &x = choice.policies[a], &y = choice.policies[b];
    const bool x_races = x.fate == SelectionFate::kRacing;
    const bool y_races = y.fate == SelectionFate::kRacing;
    if (x_races != y_races) return x_races;
    if (x.replications != y.replications) return x.replications > y.replications;
    return mean(x) < mean(y);
  });
  return order;
}

void append_head(std::string& out, const PolicyChoice& choice, std::size_t columns) {
  const Scenario& scenario = choice.policies.front().loaded.scenario;
  out += in_lines(fmt::format("{}: the {} {} among {}, seed {}", scenario.name, superlative(choice),
                              aim_name(choice), policies(choice.policies.size()), scenario.seed),
                  columns);
  if (!scenario.description.empty()) out += in_lines(scenario.description, columns);
  for (const std::string& term : choice_terms(choice)) out += in_lines(term, columns);
}

/// A row of the table; where that leaves no room for why, the name has a line of its own.
void append_table(std::string& out, const PolicyChoice& choice, std::size_t columns) {
  const std::vector<std::size_t> order = order_of(choice);
  struct Row {
    std::string replications, name, mean, reason;
  };
  std::vector<Row> rows = {{"replications", "policy", std::string(choice.aim.metric->label()), ""}};
  for (const std::size_t i : order) {
    if (rows.size() > kMostRows) break;
    const ChoicePolicy& p = choice.policies[i];
    rows.push_back({fmt::format("{}", p.replications), p.name, mean_text(p.aim, *choice.aim.metric),
                    reason_text(choice, p, choice.best == i)});
  }
  std::size_t name_width = 0, mean_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, columns_of(row.name));
    mean_width = std::max(mean_width, columns_of(row.mean));
  }
  constexpr std::size_t kNumber = 12, kGap = 2, kNarrowest = 20;
  const bool in_rows = kNumber + name_width + mean_width + 3 * kGap + kNarrowest <= columns;
  out += "\n";
  for (const Row& row : rows) {
    const std::string mean = pad_left(row.mean, mean_width);
    std::string front = in_rows ? fmt::format("{:>12}  {}  {}  ", row.replications,
                                              pad_right(row.name, name_width), mean)
                                : fmt::format("{:>12}  {}  ", row.replications, mean);
    if (!in_rows) out += in_lines(row.name, columns);
    const std::string below(columns_of(front), ' ');
    if (row.reason.empty()) {
      out += front.erase(front.find_last_not_of(' ') + 1) + "\n";
    } else {
      out += wrapped(row.reason, {columns, front, below});
    }
  }
  if (order.size() + 1 > rows.size()) {
    out +=
        fmt::format("{:>12}  and {} more, in choose.csv\n", "...", order.size() + 1 - rows.size());
  }
}

/// "37 of 48 policies were out after 20 replications, the last one after 74."
std::string course_text(const PolicyChoice& choice) {
  const std::size_t all = choice.policies.size(), early = choice.gone_after(1);
  std::string text = fmt::format(
      "{} of {} {} out after {}", early == 0 ? "none" : std::to_string(early), policies(all),
      early <= 1 ? "was" : "were", plural(choice.stages.front(), "replication"));
  if (early + 1 < all) text += fmt::format(", the last one after {}", choice.stages.back());
  return text + ".";
}

/// What an assumption of normality hides. In n runs an event of probability 3 / n is missed with
/// probability 5 % (the rule of three).
std::string unseen_text(const PolicyChoice& choice) {
  const std::size_t runs = choice.policies[*choice.best].replications;
  return fmt::format(
      "In {} runs, a collapse that happens in fewer than {:.2g} % of them could have been missed.",
      runs, std::min(100.0, 300.0 / static_cast<double>(runs)));
}

std::string saving_text(const PolicyChoice& choice) {
  const auto equal = static_cast<double>(choice.equal_allocation * choice.policies.size());
  const double times = equal / static_cast<double>(choice.replications);
  return fmt::format(
      "The race took {}. To promise the same, running all policies equally often (Clark and Yang) "
      "takes {} of each, {:.{}f} times as many.",
      plural(choice.replications, "replication"), choice.equal_allocation, times,
      decimals_for(times, 2));
}

std::string chosen_text(const PolicyChoice& choice) {
  const std::size_t same = same_as_best(choice);
  if (same + 1 == choice.policies.size()) {
    return fmt::format(
        "{} policies have the same {} in every replication: there is nothing to "
        "choose.",
        same == 1 ? "Both" : fmt::format("All {}", same + 1), aim_name(choice));
  }
  std::string text =
      fmt::format("{} has the {} {}", spoken_name(choice.policies[*choice.best].name),
                  superlative(choice), aim_name(choice));
  if (!choice.limits.empty()) text += fmt::format(" of those with {}", limits_text(choice));
  const std::string zone = difference_text(choice.indifference, *choice.aim.metric);
  if (choice.procedure == ChoiceProcedure::kBounds) {
    text += fmt::format(", or one within {} of it, with {:.6g} % confidence", zone,
                        100 * choice.confidence);
  } else {
    text += fmt::format(" with {:.6g} % confidence, unless another policy{} is within {} of it",
                        100 * choice.confidence, same > 0 ? " that differs from it" : "", zone);
    if (!choice.limits.empty()) {
      text += choice.limits.size() == 1 ? " or within the tolerance of the limit"
                                        : " or within the tolerance of a limit";
    }
  }
  text += ": " + course_text(choice);
  if (choice.procedure == ChoiceProcedure::kNormal) text += " " + unseen_text(choice);
  if (same > 0) {
    text += fmt::format(" {} had the same {} in every replication.", policies(same),
                        choice.aim.metric->label());
  }
  return text;
}

std::string none_keeps_text(const PolicyChoice& choice) {
  const ChoicePolicy& p = choice.policies[*choice.nearest];
  std::string means;
  for (std::size_t l = 0; l < choice.limits.size(); ++l) {
    const MetricInfo& metric = *choice.limits[l].metric;
    means +=
        fmt::format("{}{} {}", l == 0 ? "" : ", ", metric.label(), mean_text(p.limited[l], metric));
  }
  return fmt::format("No policy has {}. The nearest one is {}: {}.", limits_text(choice), p.name,
                     means);
}

std::string answer_text(const PolicyChoice& choice) {
  switch (choice.outcome) {
    case ChoiceOutcome::kChosen:
      return chosen_text(choice);
    case ChoiceOutcome::kNoneKeepsLimits:
      return none_keeps_text(choice);
    case ChoiceOutcome::kNoneHasValues:
      return "No policy has a value in every replication: there are no means to compare.";
    case ChoiceOutcome::kUndecided:
      break;
  }
  const std::size_t left = choice.count(SelectionFate::kRacing);
  std::string text =
      fmt::format("Undecided: {} left after {}.", policies(left) + (left == 1 ? " is" : " are"),
                  plural(choice.stages.back(), "replication"));
  if (choice.leader && left > 1) {
    text += fmt::format(" With {:.6g} % confidence none of them is better than {} by more than {}.",
                        100 * choice.confidence, choice.policies[*choice.leader].name,
                        difference_text(choice.margin, *choice.aim.metric));
  }
  if (choice.replications_needed) {
    text += fmt::format(" {}{} of each would decide it{};",
                        choice.procedure == ChoiceProcedure::kBounds ? "About " : "",
                        plural(*choice.replications_needed, "replication"),
                        choice.procedure == ChoiceProcedure::kBounds ? "" : " at the latest");
    return text + " allow more with --max-replications, or give a larger --indifference.";
  }
  return text + " Allow more with --max-replications, or give a larger --indifference.";
}

}  // namespace

std::vector<std::string> choice_terms(const PolicyChoice& choice) {
  const MetricInfo& metric = *choice.aim.metric;
  const std::string assumed =
      choice.procedure == ChoiceProcedure::kBounds
          ? "Nothing is assumed about the distribution of the values."
          : fmt::format("Assumes that {} are normally distributed.",
                        choice.batch == 1
                            ? "the values of the replications"
                            : fmt::format("averages of {} replications", choice.batch));
  std::vector<std::string> terms = {fmt::format(
      "Differences below {} do not matter{}. {}", difference_text(choice.indifference, metric),
      choice.from_first_stage ? " (chosen after the first stage; see --indifference)" : "",
      assumed)};
  for (const ChoiceLimit& limit : choice.limits) {
    terms.push_back(fmt::format("Subject to {}; means within {} of that may be judged either way.",
                                limit_text(limit),
                                difference_text(*limit.tolerance, *limit.metric)));
  }
  return terms;
}

std::vector<std::string> choice_sentences(const PolicyChoice& choice) {
  std::vector<std::string> sentences = {answer_text(choice)};
  if (choice.equal_allocation > 0 && choice.best &&
      same_as_best(choice) + 1 < choice.policies.size()) {
    sentences.push_back(saving_text(choice));
  }
  return sentences;
}

void write_choice_text(Sink& sink, const ChoiceReport& report, std::size_t columns) {
  const PolicyChoice& choice = report.found;
  std::string out;
  append_head(out, choice, columns);
  append_table(out, choice, columns);
  if (!choice.notes.empty()) out += "\n";
  for (const std::string& note : choice.notes) out += in_lines("note: " + note, columns);
  out += "\n";
  for (const std::string& sentence : choice_sentences(choice)) out += in_lines(sentence, columns);
  sink.write(out);
}

namespace {

using Json = nlohmann::ordered_json;

std::string_view outcome_of(const PolicyChoice& choice, std::size_t policy) {
  switch (choice.policies[policy].fate) {
    case SelectionFate::kRacing:
      return choice.best == policy ? "chosen" : "undecided";
    case SelectionFate::kBeaten:
      return "beaten";
    case SelectionFate::kAsGood:
      return "as_good";
    case SelectionFate::kSame:
      return "same";
    case SelectionFate::kBreaksLimit:
      return "breaks_limit";
    case SelectionFate::kDropped:
      return "no_value";
  }
  return "";
}

/// The policy, the limit or the metric because of which one left; empty if it did not.
std::string reason_of(const PolicyChoice& choice, std::size_t policy) {
  const ChoicePolicy& p = choice.policies[policy];
  switch (p.fate) {
    case SelectionFate::kRacing:
      break;
    case SelectionFate::kBeaten:
    case SelectionFate::kAsGood:
    case SelectionFate::kSame:
      return choice.policies[p.by].name;
    case SelectionFate::kBreaksLimit:
      return choice.limits[p.by].text();
    case SelectionFate::kDropped:
      return std::string(p.missing->name);
  }
  return {};
}

/// Of the first `count` observations, or all that there are.
std::optional<Estimate> estimate_of(const std::vector<double>& observations,
                                    const MetricInfo& metric, std::size_t count) {
  auto e = estimate(std::span(observations).first(std::min(count, observations.size())));
  if (e) respect_range(*e, metric.range);
  return e;
}

void write_estimate(CsvWriter& csv, const std::optional<Estimate>& e) {
  csv.real(e ? std::optional(e->mean) : std::nullopt);
  csv.real(e ? e->ci_low : std::nullopt).real(e ? e->ci_high : std::nullopt);
}

std::string_view kept(const ChoicePolicy& policy, std::size_t limit) {
  if (limit < policy.keeps.size() && policy.keeps[limit]) return "yes";
  return policy.fate == SelectionFate::kBreaksLimit && policy.by == limit ? "no" : "";
}

Json estimate_json(const std::optional<Estimate>& e) {
  Json json;
  json["mean"] = optional_json(e ? std::optional(e->mean) : std::nullopt);
  json["ci_low"] = optional_json(e ? e->ci_low : std::nullopt);
  json["ci_high"] = optional_json(e ? e->ci_high : std::nullopt);
  return json;
}

Json policy_json(const ChoiceReport& report, std::size_t policy) {
  const PolicyChoice& choice = report.found;
  const ChoicePolicy& p = choice.policies[policy];
  Json json;
  json["variant"] = p.name;
  json["outcome"] = outcome_of(choice, policy);
  const std::string reason = reason_of(choice, policy);
  json["by"] = reason.empty() ? Json() : Json(reason);
  json["stage"] = p.stage;
  json["replications"] = p.replications;
  json["not_recovered"] = p.not_recovered;
  json.update(estimate_json(estimate_of(p.aim, *choice.aim.metric, p.aim.size())));
  for (std::size_t l = 0; l < p.limited.size(); ++l) {
    const MetricInfo& metric = *choice.limits[l].metric;
    Json limited = {{"metric", metric.name}};
    limited.update(estimate_json(estimate_of(p.limited[l], metric, p.limited[l].size())));
    json["limits"].push_back(std::move(limited));
  }
  return json;
}

Json choice_json(const ChoiceReport& report) {
  const PolicyChoice& choice = report.found;
  const auto name_of = [&](const std::optional<std::size_t>& policy) {
    return policy ? Json(choice.policies[*policy].name) : Json();
  };
  Json json;
  json["id"] = fmt::format("{:016x}", report.id);
  json["requests"] = report.requests;
  json["outcome"] = name(choice.outcome);
  json["best"] = name_of(choice.best);
  json["nearest"] = name_of(choice.nearest);
  json["metric"] = choice.aim.metric->name;
  json["unit"] = choice.aim.metric->unit;
  json["label"] = choice.aim.metric->label();
  json["percentage"] = choice.aim.metric->display.percentage;
  json["direction"] = choice.aim.maximize ? "maximize" : "minimize";
  json["client"] = choice.aim.client;
  json["limits"] = Json::array();
  for (const ChoiceLimit& limit : choice.limits) {
    json["limits"].push_back({{"metric", limit.metric->name},
                              {"at_least", limit.at_least},
                              {"bound", limit.bound},
                              {"tolerance", *limit.tolerance}});
  }
  json["confidence"] = choice.confidence;
  json["indifference"] = choice.indifference;
  json["indifference_from_first_stage"] = choice.from_first_stage;
  json["procedure"] = name(choice.procedure);
  json["leader"] = name_of(choice.leader);
  json["margin"] = choice.leader ? Json(choice.margin) : Json();
  json["batch"] = choice.batch;
  json["stages"] = choice.stages;
  json["replications"] = choice.replications;
  json["equal_allocation"] = choice.equal_allocation;
  json["sentences"] = choice_sentences(choice);
  json["terms"] = choice_terms(choice);
  json["notes"] = choice.notes;
  return json;
}

}  // namespace

void write_choose_csv(Sink& sink, const ChoiceReport& report) {
  const PolicyChoice& choice = report.found;
  CsvWriter csv(sink);
  csv.text("scenario").text("variant");
  for (const std::string& path : report.paths) csv.text(path);
  for (const char* column : {"outcome", "by", "stage", "replications", "client", "metric", "unit",
                             "mean", "ci_low", "ci_high"}) {
    csv.text(column);
  }
  for (const ChoiceLimit& limit : choice.limits) {
    const std::string name(limit.metric->name);
    csv.text(name).text(name + "_ci_low").text(name + "_ci_high").text(name + "_kept");
  }
  csv.end_row();
  for (std::size_t i = 0; i < choice.policies.size(); ++i) {
    const ChoicePolicy& p = choice.policies[i];
    csv.text(p.loaded.scenario.name).text(p.name);
    if (i < report.values.size()) {
      for (const std::string& value : report.values[i]) csv.text(key_cell(value));
    }
    csv.text(outcome_of(choice, i)).text(reason_of(choice, i)).integer(p.stage);
    csv.integer(p.replications).text(choice.aim.client);
    csv.text(choice.aim.metric->name).text(choice.aim.metric->unit);
    write_estimate(csv, estimate_of(p.aim, *choice.aim.metric, p.aim.size()));
    for (std::size_t l = 0; l < choice.limits.size(); ++l) {
      const auto limited =
          l < p.limited.size()
              ? estimate_of(p.limited[l], *choice.limits[l].metric, p.limited[l].size())
              : std::nullopt;
      write_estimate(csv, limited);
      csv.text(kept(p, l));
    }
    csv.end_row();
  }
}

void write_race_csv(Sink& sink, const ChoiceReport& report) {
  const PolicyChoice& choice = report.found;
  CsvWriter csv(sink);
  csv.header({"scenario", "variant", "stage", "replications", "mean", "ci_low", "ci_high",
              "outcome", "by"});
  for (std::size_t stage = 1; stage <= choice.stages.size(); ++stage) {
    const std::size_t replications = choice.stages[stage - 1];
    for (std::size_t i = 0; i < choice.policies.size(); ++i) {
      const ChoicePolicy& p = choice.policies[i];
      if (p.stage < stage) continue;
      csv.text(p.loaded.scenario.name).text(p.name).integer(stage).integer(replications);
      write_estimate(csv, estimate_of(p.aim, *choice.aim.metric, replications / choice.batch));
      if (p.stage == stage) {
        csv.text(outcome_of(choice, i)).text(reason_of(choice, i));
      } else {
        csv.text("racing").empty();
      }
      csv.end_row();
    }
  }
}

void write_choice_json(Sink& sink, const ChoiceReport& report,
                       const std::vector<FileRecord>& files) {
  const Scenario& scenario = shown_policy(report.found).loaded.scenario;
  Json json = result_head("choose", scenario, static_cast<std::size_t>(scenario.replications));
  json["choice"] = choice_json(report);
  json["policies"] = Json::array();
  for (std::size_t i = 0; i < report.found.policies.size(); ++i) {
    json["policies"].push_back(policy_json(report, i));
  }
  json["scenario_notes"] = report.scenario_notes;
  json["services"] = services_json(scenario);
  json["keys"] = Json::object();
  for (const auto& [path, value] : report.keys) append_member(json["keys"], path, value);
  sink.write(sealed(json, files));
}

const ChoicePolicy& shown_policy(const PolicyChoice& choice) {
  return choice.policies[choice.best ? *choice.best : choice.nearest.value_or(0)];
}

void write_choice_files(ResultFolder& folder, const ChoiceReport& report) {
  folder.write("choose.csv", [&](Sink& sink) { write_choose_csv(sink, report); });
  folder.write("race.csv", [&](Sink& sink) { write_race_csv(sink, report); });
  write_scenario_files(folder, shown_policy(report.found).loaded);
  folder.write("result.json", [&](Sink& sink) { write_choice_json(sink, report, folder.files()); });
  folder.commit();
}

}  // namespace retrysim::report

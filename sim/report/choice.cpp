// SPDX-License-Identifier: MIT
#include "report/choice.hpp"

#include <retrysim/metrics.hpp>

#include "report/comparison.hpp"
#include "report/graph.hpp"
#include "report/run/text.hpp"
#include "report/sweep.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

/// Most rows that people are shown; choose.csv has all rows.
constexpr std::size_t kMaxRows = 100;

std::string value_text(double value, const MetricInfo& metric) {
  return metric.display.percentage ? fmt::format("{} %", scenario::said_number(100 * value, 6))
                                   : format_number(value, metric.unit);
}

/// A difference of two values, in words.
std::string difference_text(double value, const MetricInfo& metric) {
  if (!metric.display.percentage) return format_number(value, metric.unit);
  const std::string points = scenario::said_number(100 * value, 6);
  return points + (points == "1" ? " point" : " points");
}

/// A difference behind `words`, " within 0.2 points"; empty if it would be shown as zero.
std::string with_difference(std::string_view words, double value, const MetricInfo& metric) {
  constexpr double kNothing = 1e-9;  // zero in any unit of metrics
  return value < kNothing ? "" : fmt::format("{} {}", words, difference_text(value, metric));
}

/// `value` rounded to three digits.
double rounded_to_three(double value) {
  return std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr);
}

std::string mean_text(const std::vector<double>& observations, const MetricInfo& metric) {
  auto e = estimate(observations);
  if (!e) return "";
  respect_range(*e, metric.range);
  return format_metric(*e, metric);
}

std::string plural(std::size_t n, std::string_view noun, std::string_view ending = "s") {
  return fmt::format("{} {}{}", scenario::grouped(n), noun, n == 1 ? "" : ending);
}

std::string policies_text(std::size_t n) {
  return n == 1 ? "1 policy" : fmt::format("{} policies", n);
}

/// The aim in words: "goodput", "goodput of client web".
std::string aim_name(const PolicyChoice& choice) {
  std::string text(choice.aim.metric->label());
  if (choice.aim.client != "all") text += " of client " + choice.aim.client;
  return text;
}

std::string_view superlative(const PolicyChoice& choice) {
  return choice.aim.maximize ? "highest" : "lowest";
}

/// A limit in words: "success rate >= 99 %".
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

/// The number of policies that had exactly the values of the best one.
std::size_t same_as_best(const PolicyChoice& choice) {
  return static_cast<std::size_t>(
      std::count_if(choice.policies.begin(), choice.policies.end(), [&](const ChoicePolicy& p) {
        return p.fate == SelectionFate::kSame && p.by == choice.best;
      }));
}

bool is_best(const PolicyChoice& choice, const ChoicePolicy& p) {
  return choice.best && &p == &choice.policies[*choice.best];
}

std::string reason_text(const PolicyChoice& choice, const ChoicePolicy& p) {
  switch (p.fate) {
    case SelectionFate::kRacing:
      if (!is_best(choice, p)) return "still in the race";
      return choice.all_within ? "as good as the others" : "the best";
    case SelectionFate::kBeaten:
      return "beaten by " + choice.policies[p.by].name;
    case SelectionFate::kAsGood:
      return "as good as " + choice.policies[p.by].name +
             with_difference(" within", choice.indifference, *choice.aim.metric);
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

/// The places of the policies: the survivors, then those that left, the last ones first.
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

/// The course of the race: "37 of 48 policies were out after 20 replications, the last one after
/// 74."
std::string course_text(const PolicyChoice& choice) {
  const std::size_t all = choice.policies.size(), early = choice.gone_after(1);
  std::string text = fmt::format(
      "{} of {} {} out after {}", early == 0 ? "none" : std::to_string(early), policies_text(all),
      early <= 1 ? "was" : "were", plural(choice.stages.front(), "replication"));
  if (early + 1 < all) text += fmt::format(", the last one after {}", choice.stages.back());
  return text + ".";
}

/// The probability, in percent, up to which an event may have been missed in `runs`: with 3 / runs
/// it is missed in 5 % of cases (the rule of three).
std::string missed_share(std::size_t runs) {
  return fmt::format("{} %",
                     scenario::said_number(std::min(100.0, 300.0 / static_cast<double>(runs)), 2));
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

/// `value` rounded up to two digits; 0 if it is not above 0.
double rounded_up(double value) {
  if (value <= 0) return 0;
  const double scale = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return std::ceil(value / scale * (1 - 1e-9)) * scale;
}

/// Whether the policies differ by less than anybody would care about, not just by less than the
/// zone that so few replications can tell.
bool is_nothing_to_choose(const PolicyChoice& choice) {
  const auto best = estimate(choice.policies[*choice.best].aim);
  PairedDifference d;
  d.difference = *choice.all_within;
  if (best && best->mean != 0) d.relative = *choice.all_within / std::fabs(best->mean);
  return *choice.all_within == 0 || is_negligible(*choice.aim.metric, d);
}

std::string chosen_text(const PolicyChoice& choice) {
  const std::size_t same = same_as_best(choice);
  const std::size_t n = choice.policies.size();
  const std::size_t runs = choice.policies[*choice.best].replications;
  if (same + 1 == n) {
    return fmt::format(
        "{} policies have the same {} in every replication: there is nothing to "
        "choose.",
        same == 1 ? "Both" : fmt::format("All {}", same + 1), aim_name(choice));
  }
  const MetricInfo& metric = *choice.aim.metric;
  const std::string zone = with_difference(", or within", choice.indifference, metric);
  if (choice.all_within) {
    const double within = rounded_up(*choice.all_within);
    std::string text =
        choice.ended_early || is_nothing_to_choose(choice)
            ? fmt::format("{} policies have the same {}{}: there is nothing to choose.",
                          n == 2 ? "Both" : fmt::format("All {}", n), aim_name(choice),
                          with_difference(" within", within, metric))
            : fmt::format(
                  "No policy is better in {} than another{}; a smaller --indifference tells "
                  "smaller "
                  "differences.",
                  aim_name(choice), with_difference(" by more than", within, metric));
    if (choice.ended_early) {
      return text + fmt::format(
                        " That is so in each of {} replications; what differs in fewer "
                        "than {} of them could have been missed. To have it proved, give "
                        "--indifference.",
                        runs, missed_share(runs));
    }
    return text + fmt::format(" With {} % confidence {} is the best{}.",
                              scenario::said_number(100 * choice.confidence, 6),
                              spoken_name(choice.policies[*choice.best].name),
                              zone.empty() ? "" : zone + " of it");
  }
  const bool normal = choice.procedure == ChoiceProcedure::kNormal;
  std::string text =
      fmt::format("{} {}has the {} {}", spoken_name(choice.policies[*choice.best].name),
                  normal ? "probably " : "", superlative(choice), aim_name(choice));
  if (!choice.limits.empty()) text += fmt::format(" of those with {}", limits_text(choice));
  if (!normal) {
    text += fmt::format(
        "{}, with {} % confidence",
        zone.empty() ? ""
                     : with_difference(", or one within", choice.indifference, metric) + " of it",
        scenario::said_number(100 * choice.confidence, 6));
  } else {
    // Reservations come first: no run shows rare events yet.
    text += fmt::format(
        "; what happens in fewer than {} of runs could have been missed ({}). If the values of "
        "runs are normally distributed, the confidence is {} %",
        missed_share(runs),
        metric.unit == "s" ? "a collapse, or a few very slow requests" : "a collapse",
        scenario::said_number(100 * choice.confidence, 6));
    if (!zone.empty()) {
      text +=
          fmt::format(", unless another policy{}{} of it", same > 0 ? " that differs from it" : "",
                      with_difference(" is within", choice.indifference, metric));
    }
    if (!choice.limits.empty()) {
      text += choice.limits.size() == 1 ? " or within the tolerance of the limit"
                                        : " or within the tolerance of a limit";
    }
  }
  text += ": " + course_text(choice);
  if (same > 0) {
    text += fmt::format(" {} had the same {} in every replication.", policies_text(same),
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
  std::string text = fmt::format("Undecided: {} left after {}.",
                                 policies_text(left) + (left == 1 ? " is" : " are"),
                                 plural(choice.stages.back(), "replication"));
  if (choice.unseen > 0) {
    // Slow requests that no run has seen leave the result uncertain.
    text += fmt::format(
        " Slow requests are so rare that in so many runs chance may make up {} of the difference.",
        difference_text(rounded_to_three(choice.unseen), *choice.aim.metric));
  } else if (choice.leader && left > 1) {
    text += fmt::format(
        " With {} % confidence none of them is better than {}{}.",
        scenario::said_number(100 * choice.confidence, 6),
        spoken_name(choice.policies[*choice.leader].name),
        with_difference(" by more than", rounded_to_three(choice.margin), *choice.aim.metric));
  }
  constexpr double kFarMore = 20;
  const std::size_t so_far = choice.stages.back();
  if (choice.replications_needed &&
      static_cast<double>(*choice.replications_needed) > kFarMore * static_cast<double>(so_far)) {
    return text +
           with_difference(" To tell apart policies that differ by", choice.indifference,
                           *choice.aim.metric) +
           " takes far more replications: give a larger --indifference.";
  }
  if (choice.replications_needed) {
    text += fmt::format(" {}{} of each would decide it{};",
                        choice.procedure == ChoiceProcedure::kBounds ? "About " : "",
                        plural(*choice.replications_needed, "replication"),
                        choice.procedure == ChoiceProcedure::kBounds ? "" : " at the latest");
    return text + " allow more with --max-replications, or give a larger --indifference.";
  }
  return text + (choice.unseen > 0 ? " Allow more with --max-replications, or make runs longer."
                                   : " Allow more with --max-replications, or give a larger "
                                     "--indifference.");
}

/// The assumptions of the choice: the zone in which differences do not matter, the distribution,
/// limits.
std::vector<std::string> choice_terms(const PolicyChoice& choice) {
  const MetricInfo& metric = *choice.aim.metric;
  const std::string assumed =
      choice.procedure == ChoiceProcedure::kBounds
          ? "Nothing is assumed about the distribution of the values."
          : fmt::format("Assumes that {} are normally distributed.",
                        choice.batch == 1
                            ? "the values of the replications"
                            : fmt::format("averages of {} replications", choice.batch));
  const std::string zone = with_difference("Differences below", choice.indifference, metric);
  std::vector<std::string> terms = {
      zone.empty() ? assumed
                   : fmt::format("{} do not matter{}. {}", zone,
                                 choice.from_first_stage
                                     ? " (chosen after the first stage; see --indifference)"
                                     : "",
                                 assumed)};
  for (const ChoiceLimit& limit : choice.limits) {
    terms.push_back(fmt::format("Subject to {}; means within {} of that may be judged either way.",
                                limit_text(limit),
                                difference_text(*limit.tolerance, *limit.metric)));
  }
  return terms;
}

/// Sentences on which policy is the best, or why none is, and on what the race saved.
std::vector<std::string> choice_sentences(const PolicyChoice& choice) {
  std::vector<std::string> sentences = {answer_text(choice)};
  constexpr double kWorthSaying = 1.5;
  if (choice.best && same_as_best(choice) + 1 < choice.policies.size() &&
      static_cast<double>(choice.equal_allocation * choice.policies.size()) >=
          kWorthSaying * static_cast<double>(choice.replications)) {
    sentences.push_back(saving_text(choice));
  }
  return sentences;
}

std::string_view outcome_of(const PolicyChoice& choice, const ChoicePolicy& p) {
  switch (p.fate) {
    case SelectionFate::kRacing:
      return is_best(choice, p) ? "chosen" : "undecided";
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

/// The policy, limit or metric that eliminated a policy; empty if it was not eliminated.
std::string reason_of(const PolicyChoice& choice, const ChoicePolicy& p) {
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

/// The mean of the first `count` observations, or of all if there are fewer.
Ranged mean_of(std::span<const double> observations, const MetricInfo& metric,
               std::size_t count = std::dynamic_extent) {
  auto e = estimate(observations.first(std::min(count, observations.size())));
  if (e) respect_range(*e, metric.range);
  return ranged(e);
}

std::string_view kept(const ChoicePolicy& policy, std::size_t limit) {
  if (limit < policy.keeps.size() && policy.keeps[limit]) return "yes";
  return policy.fate == SelectionFate::kBreaksLimit && policy.by == limit ? "no" : "";
}

/// The means of the metrics with limits; discarded JSON if there are no limits.
Json limits_json(const PolicyChoice& choice, const ChoicePolicy& p) {
  Json limits = p.limited.empty() ? Json(Json::value_t::discarded) : Json::array();
  for (std::size_t l = 0; l < p.limited.size(); ++l) {
    const MetricInfo& metric = *choice.limits[l].metric;
    const Ranged mean = mean_of(p.limited[l], metric);
    limits.push_back({{"metric", metric.name},
                      {"mean", optional_json(mean.value)},
                      {"ci_low", optional_json(mean.low)},
                      {"ci_high", optional_json(mean.high)}});
  }
  return limits;
}

/// A policy's value of a varied key; empty if the policy was made by hand.
std::string value_of(const ChoicePolicy& policy, std::size_t key) {
  return key < policy.values.size() ? policy.values[key] : "";
}

/// A row for each policy: the varied keys, its fate, its mean of the aim, and of the metrics with
/// limits.
CellTable policies_table(const PolicyChoice& choice) {
  const MetricInfo& metric = *choice.aim.metric;
  Columns<ChoicePolicy> t;
  t.csv("scenario", [](auto& p) { return p.loaded.scenario.name; });
  t.files("variant", [](auto& p) { return p.name; });
  for (std::size_t k = 0; k < choice.keys.size(); ++k) {
    std::vector<std::string> values;
    for (const ChoicePolicy& p : choice.policies) values.push_back(value_of(p, k));
    t.csv_key(key_column(choice.keys[k], values),
              [k](auto& p) { return key_cell(value_of(p, k)); });
  }
  t.files("outcome", [&](auto& p) { return outcome_of(choice, p); });
  t.files("by", [&](auto& p) {
    const std::string reason = reason_of(choice, p);
    return reason.empty() ? std::nullopt : std::optional(reason);
  });
  t.files("stage", [](auto& p) { return p.stage; }).unit("1");
  t.files("replications", {"replications", Side::kRight, 12},
          [](auto& p) { return p.replications; });
  t.json("not_recovered", [](auto& p) { return p.not_recovered; });
  t.csv("client", always(choice.aim.client));
  t.csv("metric", always(metric.name));
  t.csv("unit", always(metric.unit));
  t.text({"policy", Side::kLeft}, [](auto& p) { return p.name; });
  t.files("mean ci_low ci_high", {std::string(metric.label())}, [&](auto& p) {
     return Shown{mean_of(p.aim, metric), mean_text(p.aim, metric)};
   }).unit(metric.unit);
  t.text({"", Side::kLeft}, [&](auto& p) { return reason_text(choice, p); });
  for (std::size_t l = 0; l < choice.limits.size(); ++l) {
    const MetricInfo& limited = *choice.limits[l].metric;
    t.csv(fmt::format("{0} {0}_ci_low {0}_ci_high", limited.name), [&limited, l](auto& p) {
      return l < p.limited.size() ? mean_of(p.limited[l], limited) : Ranged();
    });
    t.csv(std::string(limited.name) + "_kept", [l](auto& p) { return kept(p, l); });
  }
  t.json("limits", [&](auto& p) { return limits_json(choice, p); });
  return {t, choice.policies};
}

/// A row for each stage and policy in the race: the mean so far, and whether the policy left.
CellTable race_table(const PolicyChoice& choice) {
  struct Stage {
    const ChoicePolicy& policy;
    std::size_t number, replications;
    bool is_last() const { return policy.stage == number; }
  };
  std::vector<Stage> rows;
  for (std::size_t s = 0; s < choice.stages.size(); ++s) {
    for (const ChoicePolicy& p : choice.policies) {
      if (p.stage > s) rows.push_back({p, s + 1, choice.stages[s]});
    }
  }
  Columns<Stage> t;
  t.csv("scenario", [](auto& s) { return s.policy.loaded.scenario.name; });
  t.csv("variant", [](auto& s) { return s.policy.name; });
  t.csv("stage", [](auto& s) { return s.number; }).unit("1");
  t.csv("replications", [](auto& s) { return s.replications; });
  t.csv("mean ci_low ci_high", [&](auto& s) {
     return mean_of(s.policy.aim, *choice.aim.metric, s.replications / choice.batch);
   }).unit(choice.aim.metric->unit);
  t.csv("outcome", [&](auto& s) { return s.is_last() ? outcome_of(choice, s.policy) : "racing"; });
  t.csv("by", [&](auto& s) { return s.is_last() ? reason_of(choice, s.policy) : ""; });
  return {t, rows};
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
  json["all_within"] = optional_json(choice.all_within);
  json["batch"] = choice.batch;
  json["stages"] = choice.stages;
  json["replications"] = choice.replications;
  json["equal_allocation"] = choice.equal_allocation;
  json["sentences"] = choice_sentences(choice);
  json["terms"] = choice_terms(choice);
  json["notes"] = choice.notes;
  return json;
}

/// The policy whose scenario is in the result: the best one, else the one nearest to the limits,
/// else the first.
const ChoicePolicy& shown_policy(const PolicyChoice& choice) {
  return choice.policies[choice.best ? *choice.best : choice.nearest.value_or(0)];
}

}  // namespace

Document choice_document(const ChoiceReport& report) {
  const PolicyChoice& choice = report.found;
  const Scenario& first = choice.policies.front().loaded.scenario;
  std::vector<const LoadedScenario*> variants;
  for (const ChoicePolicy& policy : choice.policies) variants.push_back(&policy.loaded);
  const Heading heading = heading_of(variants);
  const LoadedScenario& chosen = shown_policy(choice).loaded;
  const CellTable policies = policies_table(choice);
  std::vector<std::size_t> order = order_of(choice);
  const std::size_t more = order.size() - std::min(order.size(), kMaxRows);
  order.resize(order.size() - more);
  TextTable table = shown(policies, order);
  table.room = 20;
  table.alone = 1;  // the name has lines of its own

  Document d;
  d.title(heading, fmt::format("the {} {} among {}, seed {}", superlative(choice), aim_name(choice),
                               policies_text(choice.policies.size()), first.seed));
  for (const std::string& term : choice_terms(choice)) d.say(term);
  d.gap().show(std::move(table));
  if (more > 0) d.lines(fmt::format("{:>12}  and {} more, in choose.csv\n", "...", more));
  if (!choice.notes.empty()) d.gap();
  for (const std::string& note : choice.notes) d.say("note: " + note);
  d.gap();
  d.answer_first(choice_sentences(choice));

  d.head("choose", heading, chosen.scenario,
         static_cast<std::size_t>(chosen.scenario.replications));
  d.member("choice", choice_json(report)).member("policies", rows_json(policies));
  d.member("scenario_notes", report.scenario_notes);
  d.members(graph_json(chosen.scenario, chosen.keys));
  Json keys = Json::object();
  for (const auto& [path, value] : report.keys) append_member(keys, path, value);
  d.member("keys", std::move(keys));
  return d.tables(choice_tables(choice)).scenario_file(chosen);
}

std::vector<TableSource> choice_tables(const PolicyChoice& choice) {
  return {source_of("choose", policies_table(choice)), source_of("race", race_table(choice))};
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const PolicyChoice& choice) { return Tables(report::choice_tables(choice)); }

}  // namespace retrysim

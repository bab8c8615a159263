// SPDX-License-Identifier: MIT
#include "report/comparison.hpp"

#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/files.hpp"
#include "report/run/text.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace retrysim::report {

std::vector<stats::ToldRecoveries> told_by(std::span<const Evaluation> evaluations) {
  std::vector<stats::ToldRecoveries> told;
  for (const Evaluation& e : evaluations) {
    stop_point();
    told.emplace_back(e.scenario(), e.set.runs, e.values);
  }
  return told;
}

std::string telling_percent(double share, double other) {
  constexpr int kMaxDecimals = 4;
  constexpr double kPrecision = 0.002, kPrecisionOfRest = 0.05, kPrecisionOfDifference = 0.05;
  const double percentage = 100 * share;
  const double most_off =
      std::min({kPrecision * percentage, kPrecisionOfRest * std::max(0.0, 100 - percentage),
                kPrecisionOfDifference * 100 * std::fabs(share - other)});
  int decimals = 0;
  double rounded = 0;
  for (;; ++decimals) {
    const double scale = std::pow(10.0, decimals);
    rounded = std::round(percentage * scale) / scale;
    if (std::fabs(rounded - percentage) <= most_off || decimals == kMaxDecimals) break;
  }
  return fmt::format("{:.{}f} %", rounded, decimals);
}

namespace {

/// Whether the demand ends by itself, so that the end of the last request is the end of the work.
bool demand_is_finite(const Scenario& scenario) {
  return std::all_of(scenario.clients.begin(), scenario.clients.end(), [](const ClientSpec& c) {
    return c.arrivals.process == ArrivalProcess::kOnce;
  });
}

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && is_letter(text.front()) && text != "true" && text != "false" &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
         });
}

/// The key and the word of a plain KEY=WORD; empty for other names.
std::optional<std::pair<std::string_view, std::string_view>> key_and_word(std::string_view name) {
  const std::size_t equals = name.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view key = name.substr(0, equals);
  const std::string_view word = name.substr(equals + 1);
  if (!is_word(key) || !is_word(word)) return std::nullopt;
  return std::pair(key, word);
}

/// The baseline's name after "than": the word alone if the variant already names the key.
std::string spoken_baseline(std::string_view variant, std::string_view baseline) {
  const auto a = key_and_word(variant);
  const auto b = key_and_word(baseline);
  if (a && b && a->first == b->first && b->second != "none") return std::string(b->second);
  return spoken_name(baseline);
}

std::string joined(const std::vector<std::string>& parts, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? last : std::string_view(", ");
    text += parts[i];
  }
  return text;
}

/// A size with three significant digits, or fewer if the interval is wide: two digits of its half
/// width.
Amount scaled_amount(double size, std::optional<Interval> interval, double scale,
                     std::string_view unit) {
  int decimals = decimals_for(size * scale, 3);
  if (interval) {
    const double half = (interval->high - interval->low) / 2 * scale;
    if (half > 1e-9 * size * scale) decimals = std::min(decimals, decimals_for(half, 2));
  }
  const auto text = [&](double x) {
    std::string digits = format_fixed(x * scale, decimals);
    if (digits.find_first_not_of("-0.") == std::string::npos && digits.front() == '-') {
      digits.erase(0, 1);  // avoids a negative zero
    }
    return digits;
  };
  Amount amount;
  amount.value = text(size) + std::string(unit);
  if (!interval) return amount;
  const std::string low = text(interval->low);
  const std::string high = text(interval->high);
  if (low != high) amount.interval = low + ".." + high;
  return amount;
}

/// The comparatives of a metric that has none in the table: counts are fewer, times shorter.
std::pair<std::string_view, std::string_view> comparatives(const MetricInfo& metric) {
  if (metric.kind == MetricKind::kCount && metric.unit != "s") return {"fewer", "more"};
  if (metric.unit == "s" && metric.kind == MetricKind::kOther) return {"shorter", "longer"};
  return {"lower", "higher"};
}

/// The number of a client group of a scenario, or that of all together.
std::size_t place_of(const Scenario& scenario, std::string_view client) {
  return static_cast<std::size_t>(std::ranges::find(scenario.clients, client, &ClientSpec::name) -
                                  scenario.clients.begin());
}

/// How many replications of a variant do not tell whether a client group recovers.
std::size_t untold_of(const ComparisonReport& comparison, std::size_t variant,
                      std::string_view client) {
  return comparison.told[variant].untold(
      place_of(comparison.evaluations[variant].scenario(), client));
}

/// How many replications tell whether all clients recover, and in how many of these they do.
struct ToldRuns {
  std::size_t count = 0, of = 0;
  double share() const { return static_cast<double>(count) / static_cast<double>(of); }
};
ToldRuns told_runs(const ComparisonReport& comparison, std::size_t variant) {
  const Evaluation& e = comparison.evaluations[variant];
  ToldRuns result;
  for (std::size_t r = 0; r < e.values.runs(); ++r) {
    const auto value = comparison.told[variant].recovered(e.values, r, e.clients() - 1);
    result.of += value ? 1 : 0;
    result.count += value && *value == 1 ? 1 : 0;
  }
  return result;
}

/// A sentence on what one variant does in place of another to one client, from the rows of its
/// metrics. The rule: the first metric of MetricList::kSpoken with a significant difference makes
/// the main clause, the others follow after "with". The client is named unless it is "all".
class Sentence {
 public:
  using Find = std::function<const ComparisonRow*(const MetricInfo&)>;

  Sentence(const ComparisonReport& comparison, std::string name, std::string base, Find find,
           std::string client = "all")
      : comparison_(comparison),
        name_(std::move(name)),
        base_(std::move(base)),
        client_(std::move(client)),
        find_(find) {
    finite_ = demand_is_finite(comparison.baseline().scenario());
    chosen_ = comparison.was_asked_for;
  }

  /// Makes the sentence count runs that recover; not for averages over several variants.
  Sentence& with_recoveries() {
    counts_recoveries_ = true;
    return *this;
  }

  std::string text() {
    for (const MetricInfo* metric : metrics_of(MetricList::kSpoken)) {
      if (is_compared(*metric)) add(*metric);
    }
    for (const MetricInfo* metric : comparison_.found.metrics) {
      if (metric->display.place(MetricList::kSpoken) == 0) add_without_words(*metric);
    }
    const std::string whose = client_ == "all" ? "" : client_ + ": ";
    std::string text = whose + spoken_name(name_);
    const std::string base = spoken_baseline(name_, base_);
    if (!recovery_.empty() && !main_.empty()) {
      text += " " + recovery_ + ". " +
              (main_is_share_ ? capital(main_clause(base)) : "It " + main_clause(base)) + rest();
    } else if (!recovery_.empty()) {
      text += " " + recovery_ + ".";
    } else if (main_is_share_) {
      text = spoken_name(name_) + ": " + (client_ == "all" ? "" : client_ + " ") +
             main_clause(base) + rest();
    } else if (!main_.empty()) {
      text += " " + main_clause(base) + rest();
    } else if (!unclear_.empty()) {
      text +=
          " does not differ significantly from " + base + " in " + joined(unclear_, " or ") + ".";
    } else if (!small_.empty()) {
      text += " is practically the same as " + base + " in " + joined(small_, " and ") + ".";
      return capital_verb(text) + equal_in() + also_recovery_;
    } else if (!equal_.empty()) {
      return capital_verb(text) + " makes no difference to " + joined(equal_, " and ") + "." +
             also_recovery_;
    } else {
      return also_recovery_.empty() ? "" : capital_verb(text) + ":" + also_recovery_;
    }
    if (!small_.empty()) text += " Practically the same: " + joined(small_, " and ") + ".";
    return capital_verb(text) + equal_in() + also_recovery_;
  }

 private:
  static std::string capital(std::string text) {
    if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
  }
  /// Capitalizes a verb that stands for a value at the start of a sentence; a name stays as it is.
  static std::string capital_verb(std::string text) {
    return text.starts_with("sharing one ") ? capital(std::move(text)) : text;
  }

  std::string main_clause(const std::string& base) const {
    if (main_is_share_) {
      return fmt::format("{} {} from {} with {} to {}{}", main_, main_is_more_ ? "rises" : "falls",
                         telling_percent(main_from_, main_to_), base,
                         telling_percent(main_to_, main_from_), main_interval_);
    }
    return main_ + (main_is_factor_ ? " of " : " than ") + base + main_interval_;
  }

  std::string rest() const {
    std::string text = also_.empty() ? "." : ", with " + joined(also_, " and ") + ".";
    if (!unclear_.empty())
      text += " No significant difference in " + joined(unclear_, " or ") + ".";
    return text;
  }

  std::string equal_in() const {
    return equal_.empty() ? "" : " Same " + joined(equal_, " and ") + ".";
  }

  bool is_compared(const MetricInfo& metric) const {
    return std::find(comparison_.found.metrics.begin(), comparison_.found.metrics.end(), &metric) !=
           comparison_.found.metrics.end();
  }

  void add(const MetricInfo& metric) {
    const MetricWords& words = metric.display.words;
    if (metric.name == "success_rate" &&
        is_compared(*find_metric("success_rate_within_duration"))) {
      return;  // successes in the drain are none of the run; a note has the other figure
    }
    if (metric.name == "recovered" && counts_recoveries_) {
      add_recovery(metric);
    } else if (words.less.empty()) {
      if (chosen_) add_without_words(metric);
    } else if (metric.name != "completion_time_s" || finite_ || chosen_) {
      add_difference(
          metric, metric.name == "recovered" ? "probability of recovery" : metric.label(), words);
    }
  }

  /// Adds a metric that has no words of its own: a metric that was asked for gets a sentence.
  void add_without_words(const MetricInfo& metric) {
    const std::string name(metric.label());
    const auto [lower, higher] = comparatives(metric);
    const std::string less = fmt::format("{} {}", lower, name);
    const std::string more = fmt::format("{} {}", higher, name);
    add_difference(metric, name, {less, more});
  }

  /// Adds recovery, in runs rather than percent: "never recovers (0 of 10 runs; no retries 10 of
  /// 10)".
  void add_recovery(const MetricInfo& metric) {
    const ComparisonRow* row = find_(metric);
    if (row == nullptr || row->difference.pairs == 0) return add_untold();
    const PairedDifference& d = row->difference;
    const auto runs = static_cast<double>(d.pairs);
    const auto count = [&](double mean) { return std::lround(mean * runs); };
    const long own = count(d.mean), others = count(d.baseline_mean), all = std::lround(runs);
    const std::string all_runs = scenario::said_things(d.pairs, "run");
    if (d.identical) {
      if (own == all) return;
      also_recovery_ = own == 0 ? fmt::format(" Neither recovers in any of {}.", all_runs)
                                : fmt::format(" Both recover in {} of {} only.", own, all_runs);
    } else if (d.significant) {
      const std::string counts = fmt::format("{} of {}", others, all);
      const std::string base = spoken_baseline(name_, base_);
      recovery_ = own == 0
                      ? fmt::format("never recovers (0 of {}; {} in {})", all_runs, base, counts)
                  : own == all
                      ? fmt::format("recovers in all {} ({} in {})", all_runs, base, counts)
                      : fmt::format("recovers in {} of {} ({} in {})", own, all_runs, base, counts);
    } else {
      also_recovery_ = fmt::format(" Recovers in {} of {}, {} in {}: too few runs to tell apart.",
                                   own, all_runs, spoken_baseline(name_, base_), others);
    }
  }

  /// Adds that there is no pair of runs that tell whether they recover.
  void add_untold() {
    bool own = false, others = false, ends_in_hold = false;
    for (std::size_t v = 0; v < comparison_.evaluations.size(); ++v) {
      const Evaluation& e = comparison_.evaluations[v];
      if ((v > 0 && e.set.variant != name_) || untold_of(comparison_, v, client_) == 0) continue;
      (v == 0 ? others : own) = true;
      ends_in_hold |= !stats::can_confirm_recovery(e.scenario());
    }
    if (!own && !others) return;
    also_recovery_ =
        fmt::format(" Whether {} is not known: the runs {}.",
                    own && others ? "they recover"
                    : own         ? "it recovers"
                                  : spoken_baseline(name_, base_) + " recovers",
                    ends_in_hold ? "end before recovery.hold is over" : "are too short to tell");
  }

  void add_difference(const MetricInfo& metric, std::string_view noun, const MetricWords& words) {
    const ComparisonRow* row = find_(metric);
    if (row == nullptr || !row->difference.interval || is_nothing(row->difference)) return;
    const PairedDifference& d = row->difference;
    if (is_same(d)) {
      equal_.emplace_back(noun);
      return;
    }
    if (!d.significant) {
      unclear_.emplace_back(noun);
      return;
    }
    if (is_negligible(*row)) {
      small_.emplace_back(noun);
      return;
    }
    const Amount amount = amount_of(*row);
    const bool more = d.difference > 0;
    const bool is_points = shown_as_percentage(metric);
    std::string value = amount.value;
    if (is_points) value.insert(value.rfind("points"), "percentage ");
    const std::string what =
        metric.name == "recovery_s" && d.mean == 0 ? "recovery at once instead of later"
        : amount.is_factor                         ? fmt::format("{} the {}", value, noun)
                           : fmt::format("{} {}", value, more ? words.more : words.less);
    if (!main_.empty()) {
      also_.push_back(what + (amount.interval.empty() ? "" : " (" + amount.interval + ")"));
      return;
    }
    main_is_factor_ = amount.is_factor;
    main_is_share_ = is_points;
    main_is_more_ = more;
    main_ =
        is_points ? std::string(metric.name == "success_rate" ? "success" : noun) : "has " + what;
    main_from_ = d.baseline_mean;
    main_to_ = d.mean;
    if (!amount.interval.empty()) {
      main_interval_ = fmt::format(" (95 % CI {}{})", amount.interval, is_points ? " points" : "");
    }
  }

  const ComparisonReport& comparison_;
  std::string name_, base_, client_;
  Find find_;
  bool counts_recoveries_ = false;
  bool finite_ = false;  ///< all demand comes at once
  bool chosen_ = false;  ///< the user chose the metrics
  std::string main_, main_interval_, recovery_, also_recovery_;
  bool main_is_factor_ = false, main_is_share_ = false, main_is_more_ = false;
  double main_from_ = 0, main_to_ = 0;  ///< ends of a share in the main clause
  std::vector<std::string> also_, small_, unclear_, equal_;
};

/// Adds a sentence for each value of a key in place of the baseline's, averaged over the other
/// keys.
void add_effects(std::vector<std::string>& result, const ComparisonReport& comparison) {
  const std::vector<KeyEffect>& effects = comparison.found.effects;
  for (std::size_t from = 0; from < effects.size();) {
    std::size_t to = from;
    std::vector<ComparisonRow> rows;
    for (; to < effects.size() && effects[to].key == effects[from].key &&
           effects[to].value == effects[from].value;
         ++to) {
      rows.push_back({0, "all", effects[to].metric, effects[to].difference});
    }
    const auto find = [&](const MetricInfo& metric) -> const ComparisonRow* {
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const ComparisonRow& r) { return r.metric == &metric; });
      return row == rows.end() ? nullptr : &*row;
    };
    const KeyEffect& first = effects[from];
    std::string text = Sentence(comparison, first.key + "=" + first.value,
                                first.key + "=" + first.base_value, find)
                           .text();
    // If the effect has different signs in different combinations, its mean describes none of them.
    for (std::size_t e = from; e < to; ++e) {
      const KeyEffect& effect = effects[e];
      ComparisonRow least{0, "all", effect.metric, effect.difference}, most = least;
      least.difference.difference = effect.least;
      most.difference.difference = effect.most;
      if (!shown_as_percentage(*effect.metric) || effect.least >= 0 || effect.most <= 0 ||
          is_negligible(least) || is_negligible(most)) {
        continue;
      }
      text += fmt::format(
          " Its effect on {} depends on the other keys: from {} to {}{} percentage points.",
          effect.metric->label(), scenario::said_number(100 * effect.least),
          effect.most > 0 ? "+" : "", scenario::said_number(100 * effect.most));
    }
    if (!text.empty()) result.push_back(std::move(text));
    from = to;
  }
}

}  // namespace

bool is_nothing(const PairedDifference& d) { return d.identical && d.baseline_mean == 0; }

bool is_same(const PairedDifference& d) {
  constexpr double kRounding = 1e-9;
  const auto nothing = [&](double x) { return std::fabs(x) <= kRounding * std::fabs(d.mean); };
  return d.identical || (d.interval && nothing(d.interval->low) && nothing(d.interval->high));
}

std::string spoken_name(std::string_view variant) {
  const auto parts = key_and_word(variant);
  if (!parts) return std::string(variant);
  if (parts->first == "retryer") {
    return parts->second == "none" ? "no shared retryer"
                                   : fmt::format("sharing one retryer ({})", parts->second);
  }
  if (parts->second != "none") return fmt::format("{} {}", parts->second, parts->first);
  // The words "no mode" would not say that there are no retries.
  return parts->first == "mode" ? std::string(variant) : fmt::format("no {}", parts->first);
}

namespace {

/// A difference as a factor, if the value is at least twice the baseline's: people then think in
/// factors.
std::optional<Amount> factor_of(const PairedDifference& d) {
  constexpr double kTwice = 1;  // relative difference
  if (!d.relative || !d.relative_interval || *d.relative < kTwice) return std::nullopt;
  const Interval interval{d.relative_interval->low + 1, d.relative_interval->high + 1};
  Amount amount = scaled_amount(*d.relative + 1, interval, 1, " times");
  amount.is_factor = true;
  return amount;
}

}  // namespace

bool is_negligible(const ComparisonRow& row) {
  return retrysim::is_negligible(*row.metric, row.difference);
}

Amount amount_of(const ComparisonRow& row) {
  const PairedDifference& d = row.difference;
  const auto turned = [&](const std::optional<Interval>& i) {
    return i && d.difference < 0 ? Interval{-i->high, -i->low} : i;
  };
  const double size = std::fabs(d.difference);
  if (shown_as_percentage(*row.metric)) {
    return scaled_amount(size, turned(d.interval), 100, " points");
  }
  if (const auto factor = factor_of(d)) return *factor;
  if (d.relative && d.relative_interval) {
    return scaled_amount(std::fabs(*d.relative), turned(d.relative_interval), 100, " %");
  }
  const DisplayUnit unit = display_unit(size, row.metric->unit);
  return scaled_amount(size, turned(d.interval), unit.scale, unit.name);
}

std::vector<std::string> clients_of(const ComparisonReport& comparison) {
  const Scenario& scenario = comparison.baseline().scenario();
  std::vector<std::string> clients;
  for (const Layer& layer : call_order(scenario)) {
    clients.push_back(scenario.clients[layer.group].name);
  }
  std::erase_if(clients, [&](const std::string& name) {
    const std::vector<std::string>& all = comparison.found.clients;
    return std::find(all.begin(), all.end(), name) == all.end();
  });
  clients.emplace_back("all");
  return clients;
}

namespace {

std::string common_key(const ComparisonReport& comparison);

/// The recovery time of each variant, with equal ones together: "none 6.1 s; standard21 38 s;
/// standard and adaptive 89 s". Empty if all are equal, or if there are too many.
std::string recoveries(const ComparisonReport& comparison) {
  constexpr std::size_t kMaxVariants = 8;
  const Scenario& s = comparison.baseline().scenario();
  const std::vector<const MetricInfo*>& compared = comparison.found.metrics;
  const bool asked = std::ranges::count(compared, find_metric("recovered")) > 0;
  if (!asked || comparison.variants() == 0 || comparison.evaluations.size() > kMaxVariants) {
    return "";
  }
  // The key is left out only before words: a number alone would be read as seconds.
  std::size_t key = common_key(comparison).size();
  for (const Evaluation& e : comparison.evaluations) {
    if (!is_word(std::string_view(e.set.variant).substr(key))) key = 0;
  }
  // A text, and the variants it is for.
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Evaluation& e : comparison.evaluations) {
    const SummaryRow* time = e.row("all", "recovery_s");
    if (e.row("all", "recovered") == nullptr) return "";
    const auto v = static_cast<std::size_t>(&e - comparison.evaluations.data());
    const auto [back, runs] = told_runs(comparison, v);
    std::string said = runs == 0 ? "too short to tell" : "not by the end of the run";
    if (back > 0 && time != nullptr) {
      const DisplayUnit unit = display_unit(time->estimate.mean, "s");
      said = time->estimate.max == 0
                 ? "at once"
                 : format_plain(time->estimate.mean * unit.scale, 2) + std::string(unit.name);
      if (back < runs) said += fmt::format(" in {} of {} runs", back, runs);
    }
    if (const std::size_t untold = e.values.runs() - runs; untold > 0 && runs > 0) {
      said += fmt::format(" ({} too short to tell)", untold);
    }
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](auto& g) { return g.first == said; });
    if (group == groups.end()) group = groups.insert(group, {said, {}});
    group->second.push_back(e.set.variant.substr(key));
  }
  if (groups.size() < 2) return "";
  std::string text;
  for (const auto& [said, names] : groups) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", joined(names, " and "), said);
  }
  const bool surges = std::any_of(s.clients.begin(), s.clients.end(),
                                  [](const ClientSpec& c) { return !c.arrivals.surges.empty(); });
  return fmt::format("Back after the {}: {}.",
                     s.faults.empty() ? "surge"
                     : surges         ? "disturbance"
                                      : "fault",
                     text);
}

/// Adds the share of each error budget that each variant uses: "deploy uses of the error budget of
/// availability: capacity=250 1.7 %; capacity=25 0.94 %." Adds nothing without an objective.
void add_error_budgets(std::vector<std::string>& result, const ComparisonReport& comparison) {
  const auto percent_of = [](double part) { return format_plain(100 * part) + " %"; };
  for (const stats::SloSummary& first : comparison.baseline().slos) {
    std::string text;
    for (const Evaluation& e : comparison.evaluations) {
      const auto same = std::ranges::find_if(e.slos, [&](const stats::SloSummary& row) {
        return row.slo->name == first.slo->name && row.event.name == first.event.name;
      });
      if (same == e.slos.end()) continue;
      text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", e.set.variant,
                          same->ended < same->runs ? "at least " : "",
                          percent_of(same->mean.budget_used));
      if (const auto year = same->year_used()) {
        text += fmt::format(" ({} of a year's)", percent_of(*year));
      }
    }
    result.push_back(fmt::format("{} uses of the error budget of {}: {}.", first.event.name,
                                 first.slo->name, text));
  }
}

}  // namespace

std::vector<std::string> sentences(const ComparisonReport& comparison) {
  constexpr std::size_t kMaxByGroup = 6;
  std::vector<std::string> result;
  if (!comparison.found.effects.empty()) {
    add_effects(result, comparison);
    add_error_budgets(result, comparison);
    return result;
  }
  if (std::string text = recoveries(comparison); !text.empty()) result.push_back(std::move(text));
  add_error_budgets(result, comparison);
  const bool by_group = comparison.variants() * comparison.found.clients.size() <= kMaxByGroup;
  // A single group outside is the same as all clients: the other groups are calls between services.
  const std::vector<ClientSpec>& groups = comparison.baseline().scenario().clients;
  const bool one_outside =
      std::ranges::count_if(groups, [](const ClientSpec& c) { return !c.makes_calls(); }) == 1;
  const auto is_outside = [&](const std::string& name) {
    return std::ranges::any_of(
        groups, [&](const ClientSpec& c) { return c.name == name && !c.makes_calls(); });
  };
  for (const std::string& client : clients_of(comparison)) {
    stop_point();
    if (client != "all" && (!by_group || (one_outside && is_outside(client)))) continue;
    for (std::size_t v = 1; v <= comparison.variants(); ++v) {
      const auto find = [&](const MetricInfo& metric) {
        return comparison.found.find(v, client, metric);
      };
      std::string text = Sentence(comparison, comparison.evaluations[v].set.variant,
                                  comparison.baseline().set.variant, find, client)
                             .with_recoveries()
                             .text();
      if (!text.empty()) result.push_back(std::move(text));
    }
  }
  return result;
}

namespace {

stats::Series series_of_all(const ComparisonReport& comparison, std::size_t variant,
                            const MetricInfo& metric) {
  stats::Series series;
  const MetricValues& values = comparison.found.variants[variant].values;
  const std::size_t all = values.clients() - 1;  // all clients together come last
  for (std::size_t r = 0; r < values.runs(); ++r) {
    series.push_back(metric.name == "recovered" ? comparison.told[variant].recovered(values, r, all)
                                                : values.at(r, all, index_of(metric)));
  }
  return series;
}

/// Sets the standings of the variants in one column. Variants that could not be told from the best
/// one are as good; if that is true of all, none is marked.
void set_standings(std::vector<std::vector<Overview::Cell>>& rows, std::size_t column,
                   const MetricInfo& metric, const ComparisonReport& comparison) {
  const MetricBetter better = metric.display.better;
  if (better == MetricBetter::kNeither) return;
  std::vector<std::size_t> with;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    if (rows[v][column].mean) with.push_back(v);
  }
  if (with.size() < 2) return;
  const auto mean = [&](std::size_t v) {
    return better == MetricBetter::kHigher ? -*rows[v][column].mean : *rows[v][column].mean;
  };
  const std::size_t best = *std::ranges::min_element(with, {}, mean);
  std::vector<stats::Series> others;
  for (const std::size_t v : with) {
    if (v != best) others.push_back(series_of_all(comparison, v, metric));
  }
  const auto differences =
      stats::metric_differences(metric, others, series_of_all(comparison, best, metric));
  std::vector<std::size_t> as_good = {best};
  std::size_t next = 0;
  for (const std::size_t v : with) {
    if (v == best) continue;
    const PairedDifference& d = differences[next++];
    if (!d.significant || retrysim::is_negligible(metric, d)) as_good.push_back(v);
  }
  if (as_good.size() == with.size()) return;
  for (const std::size_t v : as_good) {
    rows[v][column].standing = as_good.size() == 1 ? Standing::kBest : Standing::kAsGood;
  }
}

std::string overview_text(const ComparisonReport& comparison, std::size_t variant,
                          const MetricInfo& metric) {
  const SummaryRow* row = comparison.evaluations[variant].row("all", metric.name);
  if (row == nullptr) return "-";
  if (metric.name == "recovered") {
    const ToldRuns recovered = told_runs(comparison, variant);
    if (recovered.of == 0) return "too short";
    return fmt::format("{} of {}", recovered.count, recovered.of);
  }
  const DisplayUnit unit = shown_as_percentage(metric)
                               ? DisplayUnit{100, " %"}
                               : display_unit(row->estimate.mean, metric.unit);
  return format_plain(row->estimate.mean * unit.scale) + std::string(unit.name);
}

}  // namespace

Overview overview_of(const ComparisonReport& comparison) {
  constexpr std::pair<std::string_view, std::string_view> kColumns[] = {
      {"recovered", "recovered"},        {"success_rate", "success"},
      {"latency_ok_p99", "p99 latency"}, {"amplification", "attempts"},
      {"peak_attempt_rate", "peak"},     {"error_budget_used", "budget used"}};
  Overview overview;
  const MetricInfo* within = find_metric("success_rate_within_duration");
  const bool ends_in_drain = std::ranges::count(comparison.found.metrics, within) > 0;
  for (const auto& [name, title] : kColumns) {
    const bool is_success = name == "success_rate" && ends_in_drain;
    const MetricInfo* metric = is_success ? within : find_metric(name);
    const bool exists = std::ranges::any_of(comparison.evaluations, [&](const Evaluation& e) {
      return e.row("all", metric->name) != nullptr;
    });
    bool is_told = name != "recovered";
    for (std::size_t v = 0; v < comparison.evaluations.size() && !is_told; ++v) {
      is_told = told_runs(comparison, v).of > 0;
    }
    if (exists && is_told) overview.columns.push_back({metric, title});
  }
  for (std::size_t v = 0; v < comparison.evaluations.size(); ++v) {
    std::vector<Overview::Cell>& cells = overview.rows.emplace_back();
    for (const Overview::Column& column : overview.columns) {
      const SummaryRow* row = comparison.evaluations[v].row("all", column.metric->name);
      std::optional<double> mean;
      if (row != nullptr) mean = row->estimate.mean;
      if (column.metric->name == "recovered" && row != nullptr) {
        const ToldRuns recovered = told_runs(comparison, v);
        mean = recovered.of > 0 ? std::optional(recovered.share()) : std::nullopt;
      }
      cells.push_back({mean, overview_text(comparison, v, *column.metric)});
    }
  }
  bool has_best = false, has_ties = false;
  for (std::size_t c = 0; c < overview.columns.size(); ++c) {
    set_standings(overview.rows, c, *overview.columns[c].metric, comparison);
    for (const auto& row : overview.rows) {
      has_best = has_best || row[c].standing == Standing::kBest;
      has_ties = has_ties || row[c].standing == Standing::kAsGood;
    }
  }
  const bool has_latency = std::ranges::any_of(overview.columns, [](const Overview::Column& c) {
    return c.metric->name == "latency_ok_p99";
  });
  if (has_latency) overview.legend = "Latency is that of successes. ";
  if (has_best) overview.legend += "+ is the best of its column";
  if (has_ties) {
    overview.legend += has_best ? "; = are the best" : "= are the best of their column";
    overview.legend += ", which the replications do not tell apart";
  }
  overview.legend += has_best || has_ties ? "." : "The replications tell none of these apart.";
  return overview;
}

namespace {

/// The text up to an equals sign with which all names begin, such as "jitter=", which needs no
/// repeating; empty if they differ.
std::string common_key(const ComparisonReport& comparison) {
  const std::string& first = comparison.baseline().set.variant;
  const std::size_t equals = first.find('=');
  if (equals == std::string::npos || first.find('=', equals + 1) != std::string::npos) return "";
  const std::string key = first.substr(0, equals + 1);
  const bool shared =
      std::all_of(comparison.evaluations.begin(), comparison.evaluations.end(),
                  [&](const Evaluation& e) { return e.set.variant.starts_with(key); });
  return shared ? key : "";
}

std::string baseline_cell(const ComparisonReport& comparison, const std::string& client,
                          const MetricInfo& metric) {
  const Evaluation& e = comparison.baseline();
  const SummaryRow* row = e.row(client, metric.name);
  if (row == nullptr) return "-";
  double mean = row->estimate.mean;
  if (metric.name == "recovered") {
    const std::size_t place = place_of(e.scenario(), client);
    std::vector<double> told;
    for (std::size_t r = 0; r < e.values.runs(); ++r) {
      if (const auto value = comparison.told[0].recovered(e.values, r, place)) {
        told.push_back(*value);
      }
    }
    const auto known = estimate(told);
    if (!known) return "too short";
    mean = known->mean;
  }
  const DisplayUnit unit =
      shown_as_percentage(metric) ? DisplayUnit{100, " %"} : display_unit(mean, metric.unit);
  return format_plain(mean * unit.scale) + std::string(unit.name);
}

}  // namespace

std::string difference_cell(const ComparisonRow* row, std::size_t replications) {
  if (row == nullptr) return "-  ";  // the star of significance has its own place
  const PairedDifference& d = row->difference;
  if (d.pairs == 0) return "no pairs  ";
  const std::string some = d.pairs < replications ? fmt::format(" [{} pairs]", d.pairs) : "";
  if (is_same(d)) return "same" + some + "  ";
  const Amount amount = amount_of(*row);
  const bool rounds_to_zero = amount.value.find_first_of("123456789") == std::string::npos;
  const std::string_view sign = d.difference < 0 ? "-" : "+";
  std::string text(rounds_to_zero || amount.is_factor ? "" : sign);
  text += amount.value;
  if (!amount.interval.empty()) {  // the interval is of the size: its sign is put back
    const std::size_t dots = amount.interval.find("..");
    std::string from = amount.interval.substr(0, dots);
    std::string to = amount.interval.substr(dots + 2);
    const auto with_sign = [&](const std::string& end) {
      if (sign == "+" || end.find_first_not_of("0.") == std::string::npos) return end;
      return end.front() == '-' ? end.substr(1) : "-" + end;
    };
    if (sign == "-") std::swap(from, to);
    text += " (" + with_sign(from) + ".." + with_sign(to) + ")";
  }
  if (!d.significant) return text + some + "  ";
  return text + some + (is_negligible(*row) ? " ~" : " *");
}

namespace {

std::string reduction_cell(const ComparisonRow* row) {
  if (row == nullptr) return "-";
  const PairedDifference& d = row->difference;
  if (d.identical) return "same";
  if (!d.variance_reduction || !d.correlation) return "-";
  const double factor = *d.variance_reduction;
  return fmt::format("{:.{}f} x ({:+.2f})", factor, decimals_for(factor, 2),
                     std::round(*d.correlation * 100) / 100 + 0.0);
}

class ComparisonText {
 public:
  explicit ComparisonText(const ComparisonReport& comparison)
      : comparison_(comparison), key_(common_key(comparison)) {}

  void add_to(Document& d) const {
    add_head(d);
    add_overview(d);
    const std::vector<std::string> said = sentences(comparison_);
    if (!said.empty()) d.gap();
    d.answer_first(said);
    add_differences(d);
  }

  /// Adds the comparison without its head and answer.
  void add_below(Document& d) const {
    d.gap();
    for (const std::string& sentence : sentences(comparison_)) d.say(sentence, "- ");
    add_differences(d);
  }

  /// Notes on limitations of the comparison.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    const std::size_t n = replications();
    if (n == 1) {
      notes.emplace_back(
          "one replication: there are no intervals, so effects cannot be told from chance");
    } else if (n < 10) {
      notes.push_back(fmt::format("{} replications: intervals are rough; use at least 10", n));
    }
    if (!one_seed()) {
      notes.emplace_back(
          "the variants have different seeds and therefore no common random numbers");
    }
    add_untold(notes);
    add_modes(notes);
    add_drains(notes);
    add_short_runs(notes);
    for (const MetricInfo* metric : comparison_.found.metrics) {
      if (!comparison_.was_asked_for || has_rows(*metric)) continue;
      notes.push_back(std::string(metric->name) + ": no variant has it" +
                      (metric->name == "metastable_probability" ? "; --twin measures it" : ""));
    }
    const auto add = [&](const std::string& rows, std::string_view what) {
      if (!rows.empty()) notes.push_back(rows + ": " + std::string(what));
    };
    add(rows_where([](const ComparisonRow& row) {
          return row.difference.only_variant + row.difference.only_baseline > 0;
        }),
        "compared only over replications that have the metric on both sides");
    add(rows_where([](const ComparisonRow& row) {
          const PairedDifference& d = row.difference;
          return d.significant && d.interval->low <= 0 && d.interval->high >= 0;
        }),
        "significant by Holm's test, which is more powerful than the interval; the interval "
        "contains zero");
    if (comparison_.show_variance) {
      add(rows_where([](const ComparisonRow& row) {
            const std::optional<double> correlation = row.difference.correlation;
            return row.client == "all" && correlation && *correlation < -0.005;
          }),
          "negative correlation, so common random numbers widen the interval");
    }
    return notes;
  }

 private:
  bool one_seed() const {
    return std::ranges::all_of(comparison_.evaluations, [&](const Evaluation& e) {
      return e.scenario().seed == comparison_.baseline().scenario().seed;
    });
  }
  const std::string& variant(std::size_t v) const { return comparison_.evaluations[v].set.variant; }
  std::string short_name(std::size_t v) const { return variant(v).substr(key_.size()); }
  std::size_t replications() const { return comparison_.baseline().set.runs.size(); }

  void add_head(Document& d) const {
    const Scenario& s = comparison_.baseline().scenario();
    d.say(heading_of(scenarios_of(comparison_.evaluations)).text());
    const std::size_t n = replications();
    const std::size_t variants = comparison_.variants() + 1;
    const std::string runs = fmt::format("{} replication{}", n, n == 1 ? "" : "s");
    d.say(one_seed() ? fmt::format("{} variant{} on common random numbers, {}, seed {}.", variants,
                                   variants == 1 ? "" : "s", runs, s.seed)
                     : fmt::format("{} variants with different seeds, {}.", variants, runs));
    if (comparison_.variants() == 0) d.lines("One variant: nothing to compare.\n");
  }

  /// Adds a table with a row for each variant, or for the first of many.
  void add_overview(Document& d) const {
    constexpr std::size_t kMostRows = 20;
    constexpr std::string_view kMarks[] = {"  ", " +", " ="};
    if (comparison_.variants() == 0) return;
    const Overview overview = overview_of(comparison_);
    if (overview.columns.empty()) return;
    TextTable table;
    table.columns = {{"variant", Side::kLeft}};
    for (const Overview::Column& column : overview.columns) {
      table.columns.push_back({std::string(column.title) + "  "});
    }
    table.fixed = 1;
    for (std::size_t v = 0; v < std::min(overview.rows.size(), kMostRows); ++v) {
      TextRow& row = table.rows.emplace_back(TextRow{{variant(v)}});
      for (const Overview::Cell& cell : overview.rows[v]) {
        row.cells.emplace_back(cell.text +
                               std::string(kMarks[static_cast<std::size_t>(cell.standing)]));
      }
    }
    d.gap().show(std::move(table));
    if (overview.rows.size() > kMostRows) {
      d.say(fmt::format("... and {}, which result.json has.",
                        scenario::said_things(overview.rows.size() - kMostRows, "more variant")));
    }
    d.say(overview.legend);
  }

  void add_differences(Document& d) const {
    add_layers(d);
    add_meaning(d);
    for (const std::string& client : clients_of(comparison_)) {
      stop_point();
      show(d, differences(client));
    }
    if (comparison_.show_variance) add_reductions(d);
    d.notes(notes());
  }

  void add_meaning(Document& d) const {
    if (comparison_.variants() == 0) return;
    std::string text = fmt::format("Differences from {}", variant(0));
    if (replications() > 1) {
      text += comparison_.variants() > 1
                  ? fmt::format(
                        " with 95 % intervals that hold for all {} variants together; * "
                        "significant at 5 % (Holm's test over the variants)",
                        comparison_.variants())
                  : " with 95 % intervals; * significant at 5 %";
      text += "; ~ significant, but below 1 % (shares: 0.1 points)";
    }
    d.gap().say(text + ".", "", "");
  }

  /// If services call services, adds the attempts per request of each layer; in a layer below, per
  /// request of its own.
  void add_layers(Document& d) const {
    const Scenario& s = comparison_.baseline().scenario();
    const std::vector<Layer> layers = call_order(s);
    if (layers.empty() || layers.size() > s.clients.size()) return;
    if (std::none_of(layers.begin(), layers.end(), [](const Layer& l) { return l.depth > 0; })) {
      return;
    }
    TextTable table;
    table.columns = {{"attempts per request, layer by layer", Side::kLeft}};
    for (std::size_t v = 0; v <= comparison_.variants(); ++v) {
      table.columns.push_back({short_name(v)});
    }
    for (const Layer& layer : layers) {
      const std::string& name = s.clients[layer.group].name;
      TextRow& row =
          table.rows.emplace_back(TextRow{{std::string(2 + 2 * layer.depth, ' ') + name}});
      for (const Evaluation& e : comparison_.evaluations) {
        const SummaryRow* found = e.row(name, "amplification");
        row.cells.emplace_back(found == nullptr ? "-" : format_plain(found->estimate.mean));
      }
    }
    d.gap().show(std::move(table));
  }

  /// Adds a row for each metric and a column for each variant, behind the existing columns.
  template <class MakeCell>
  void add_metrics(TextTable& table, const std::string& client, MakeCell make_cell) const {
    table.fixed = table.columns.size();
    for (std::size_t v = 1; v <= comparison_.variants(); ++v) {
      table.columns.push_back({short_name(v) + "  "});
    }
    for (const MetricInfo* metric : comparison_.found.metrics) {
      if (!comparison_.was_asked_for && metric->name == "latency_ok_mean" &&
          repeats(client, *metric, *find_metric("latency_mean"))) {
        continue;  // the metric repeats the mean latency: nothing fails
      }
      TextRow& row = table.rows.emplace_back(TextRow{{"  " + std::string(metric->name)}});
      if (table.fixed > 1) row.cells.emplace_back(baseline_cell(comparison_, client, *metric));
      for (std::size_t v = 1; v <= comparison_.variants(); ++v) {
        row.cells.push_back(make_cell(comparison_.found.find(v, client, *metric)));
      }
    }
  }

  TextTable differences(const std::string& client) const {
    TextTable table;
    table.columns = {{client == "all" ? "all clients" : "client " + client, Side::kLeft},
                     {short_name(0)}};
    add_metrics(table, client, [&](const ComparisonRow* row) {
      return TextCell(difference_cell(row, replications()),
                      row == nullptr || is_nothing(row->difference));
    });
    return table;
  }

  /// Whether a metric has the values of another one for all variants.
  bool repeats(const std::string& client, const MetricInfo& metric, const MetricInfo& of) const {
    for (std::size_t v = 1; v <= comparison_.variants(); ++v) {
      const ComparisonRow* a = comparison_.found.find(v, client, metric);
      const ComparisonRow* b = comparison_.found.find(v, client, of);
      if ((a == nullptr) != (b == nullptr)) return false;
      if (a == nullptr) continue;
      const PairedDifference &x = a->difference, &y = b->difference;
      if (x.pairs != y.pairs || x.mean != y.mean || x.baseline_mean != y.baseline_mean)
        return false;
    }
    return true;
  }

  void add_reductions(Document& d) const {
    if (replications() < 2) return;
    TextTable table;
    table.columns = {{"variance saved (correlation)", Side::kLeft}};
    add_metrics(table, "all", [](const ComparisonRow* row) {
      return TextCell(reduction_cell(row) + "  ", row == nullptr || !row->difference.correlation);
    });
    const bool pairs =
        std::any_of(comparison_.found.rows.begin(), comparison_.found.rows.end(),
                    [](const ComparisonRow& row) { return row.difference.pairs > 0; });
    if (!show(d, std::move(table)) && pairs) {
      d.lines("\nCommon random numbers save nothing here: one side of each pair does not vary.\n");
    }
  }

  /// Shows a table without the rows that say nothing about any variant; false if no rows are left.
  static bool show(Document& d, TextTable table) {
    std::erase_if(table.rows, [&](const TextRow& row) {
      return std::all_of(row.cells.begin() + static_cast<std::ptrdiff_t>(table.fixed),
                         row.cells.end(), [](const TextCell& cell) { return cell.is_quiet; });
    });
    if (table.rows.empty()) return false;
    d.gap().show(std::move(table));
    return true;
  }

  /// The rows that meet a condition, as a list of "metric of client (variant)"; at most `kMost`.
  template <class Condition>
  std::string rows_where(Condition condition) const {
    constexpr std::size_t kMost = 6;
    std::string text;
    std::size_t count = 0;
    for (const ComparisonRow& row : comparison_.found.rows) {
      if (!condition(row) || ++count > kMost) continue;
      if (!text.empty()) text += ", ";
      text += std::string(row.metric->name);
      if (row.client != "all") text += " of " + row.client;
      text += " (" + short_name(row.variant) + ")";
    }
    if (count > kMost) text += fmt::format(" and {} more", count - kMost);
    return text;
  }

  bool has_rows(const MetricInfo& metric) const {
    return std::any_of(comparison_.found.rows.begin(), comparison_.found.rows.end(),
                       [&](const ComparisonRow& row) { return row.metric == &metric; });
  }

  /// Adds notes on replications that do not tell whether they recover, of all clients together, or
  /// of the groups where those tell.
  void add_untold(std::vector<std::string>& notes) const {
    constexpr std::size_t kMost = 3;
    const auto& metrics = comparison_.found.metrics;
    if (std::ranges::count(metrics, find_metric("recovered")) == 0) return;
    std::size_t count = 0;
    for (std::size_t v = 0; v < comparison_.evaluations.size(); ++v) {
      const Evaluation& e = comparison_.evaluations[v];
      const auto add = [&](std::size_t client) {
        const std::string note =
            stats::untold_note(comparison_.told[v].untold(client), e.values.runs(),
                               comparison_.told[v].duration_s(client));
        if (note.empty()) return false;
        const std::string whose =
            client + 1 == e.clients() ? "" : ", client " + e.client_name(client);
        if (++count <= kMost) notes.push_back(fmt::format("{}{}: {}", variant(v), whose, note));
        return true;
      };
      if (add(e.clients() - 1) || e.clients() == 2) continue;
      for (std::size_t c = 0; c + 1 < e.clients(); ++c) add(c);
    }
    if (count > kMost) {
      notes.push_back(
          fmt::format("{} more of these notes: the other runs are too short, too", count - kMost));
    }
  }

  /// Adds notes on variants with two modes: means over both, and their differences, describe
  /// nothing that happens.
  void add_modes(std::vector<std::string>& notes) const {
    constexpr std::size_t kMost = 3;
    std::size_t count = 0;
    for (const Evaluation& e : comparison_.evaluations) {
      if (!e.bistability || ++count > kMost) continue;
      notes.push_back(e.set.variant + ": " + modes_note(e));
    }
    if (count > kMost) {
      notes.push_back(
          count - kMost == 1
              ? "1 more variant has two modes; result.json describes it"
              : fmt::format("{} more variants have two modes; result.json describes them",
                            count - kMost));
    }
  }

  /// Adds a note on compared rates that the drain has changed.
  void add_drains(std::vector<std::string>& notes) const {
    constexpr std::size_t kMost = 3;
    std::size_t count = 0;
    for (const Evaluation& e : comparison_.evaluations) {
      for (const std::string& note : drain_notes(e)) {
        if (++count <= kMost) notes.push_back(e.set.variant + ": " + note);
      }
    }
    if (count > kMost) {
      notes.push_back(fmt::format("{} more notes on the drain are in result.json", count - kMost));
    }
  }

  void add_short_runs(std::vector<std::string>& notes) const {
    const bool far_quantiles =
        std::any_of(comparison_.found.metrics.begin(), comparison_.found.metrics.end(),
                    [](const MetricInfo* m) { return m->name.find("_p99") != m->name.npos; });
    double fewest = std::numeric_limits<double>::infinity();
    for (const Evaluation& e : comparison_.evaluations) {
      const SummaryRow* requests = e.row("all", "requests");
      if (requests != nullptr) fewest = std::min(fewest, requests->estimate.min);
    }
    const std::string note = short_runs_note(fewest);
    if (far_quantiles && !note.empty()) notes.push_back(note);
  }

  const ComparisonReport& comparison_;
  std::string key_;
};

}  // namespace

std::vector<std::string> comparison_notes(const ComparisonReport& comparison) {
  return ComparisonText(comparison).notes();
}

namespace {

using Json = nlohmann::ordered_json;

Ranged with_interval(std::optional<double> value, const std::optional<Interval>& interval) {
  if (!interval) return {value, {}, {}};
  return {value, interval->low, interval->high};
}

/// A number that exists only if there are pairs.
std::optional<double> of_pairs(const PairedDifference& d, double value) {
  return d.pairs > 0 ? std::optional(value) : std::nullopt;
}

/// A row for each variant, client and metric. Missing values are empty.
CellTable differences_table(const ComparisonReport& comparison) {
  using Row = ComparisonRow;
  const auto of = [&](const Row& r) -> const Evaluation& {
    return comparison.evaluations[r.variant];
  };
  Columns<Row> t;
  t.csv("scenario", [&](auto& r) { return of(r).scenario().name; });
  t.files("variant", [&](auto& r) { return of(r).set.variant; });
  t.csv("baseline", always(comparison.baseline().set.variant));
  t.files("client", [](auto& r) { return r.client; });
  t.files("metric", [](auto& r) { return r.metric->name; });
  t.files("unit", [](auto& r) { return r.metric->unit; });
  t.files("mean", [](auto& r) { return of_pairs(r.difference, r.difference.mean); });
  t.files("baseline_mean",
          [](auto& r) { return of_pairs(r.difference, r.difference.baseline_mean); });
  t.files("difference ci_low ci_high", [](auto& r) {
    return with_interval(of_pairs(r.difference, r.difference.difference), r.difference.interval);
  });
  t.files("relative_difference relative_ci_low relative_ci_high", [](auto& r) {
     return with_interval(r.difference.relative, r.difference.relative_interval);
   }).unit("1");
  t.files("p_value", [](auto& r) { return r.difference.p_value; }).unit("1");
  t.files("p_holm", [](auto& r) { return r.difference.p_holm; }).unit("1");
  t.csv("significant", [](auto& r) {
    return !r.difference.p_holm ? "" : r.difference.significant ? "yes" : "no";
  });
  t.json("significant",
         [](auto& r) { return r.difference.p_holm ? Cell(r.difference.significant) : Cell(); });
  t.files("correlation", [](auto& r) { return r.difference.correlation; });
  t.files("variance_reduction", [](auto& r) { return r.difference.variance_reduction; }).unit("1");
  t.files("pairs", [](auto& r) { return r.difference.pairs; }).unit("replications");
  return {t, comparison.found.rows};
}

/// The overview as JSON, with the figures of summary.csv for all clients together.
Json overview_json(const ComparisonReport& comparison) {
  constexpr std::string_view kStandings[] = {"none", "best", "as_good"};
  const Overview overview = overview_of(comparison);
  Json columns = Json::array(), rows = Json::array();
  for (const Overview::Column& column : overview.columns) {
    columns.push_back({{"metric", column.metric->name}, {"title", column.title}});
  }
  for (std::size_t v = 0; v < overview.rows.size(); ++v) {
    Json cells = Json::array();
    for (const Overview::Cell& cell : overview.rows[v]) {
      Json json;
      json["mean"] = cell.mean ? Json(*cell.mean) : Json();
      json["text"] = cell.text;
      json["standing"] = kStandings[static_cast<std::size_t>(cell.standing)];
      cells.push_back(std::move(json));
    }
    Json row;
    row["variant"] = comparison.evaluations[v].set.variant;
    row["cells"] = std::move(cells);
    rows.push_back(std::move(row));
  }
  Json json;
  json["file"] = "summary.csv";
  json["client"] = "all";
  json["columns"] = std::move(columns);
  json["rows"] = std::move(rows);
  json["legend"] = overview.legend;
  return json;
}

CellTable effects_table(const Comparison& found) {
  using Row = KeyEffect;
  Columns<Row> t;
  t.json("key", [](auto& e) { return e.key; });
  t.json("value", [](auto& e) { return e.value; });
  t.json("instead_of", [](auto& e) { return e.base_value; });
  t.json("metric", [](auto& e) { return e.metric->name; });
  t.json("difference ci_low ci_high",
         [](auto& e) { return with_interval(e.difference.difference, e.difference.interval); });
  t.json("significant", [](auto& e) { return e.difference.significant; });
  t.json("combinations", [](auto& e) { return e.combinations; });
  t.json("least", [](auto& e) { return e.least; });
  t.json("most", [](auto& e) { return e.most; });
  return {t, found.effects};
}

}  // namespace

TableSource comparison_table(const ComparisonReport& comparison) {
  return source_of("compare", differences_table(comparison));
}

namespace {

/// Adds the members of result.json, and the files.
void add_differences_and_results(Document& d, const ComparisonReport& comparison) {
  const CellTable differences = differences_table(comparison);
  Json json;
  json["baseline"] = comparison.baseline().set.variant;
  json["vary"] = comparison.vary;
  json["family_error"] = kFamilyError;
  json["metrics"] = metrics_json(comparison.found.metrics);
  json["rows"] = rows_json(differences);
  json["effects"] = rows_json(effects_table(comparison.found));
  json["overview"] = overview_json(comparison);
  json["sentences"] = sentences(comparison);
  json["notes"] = comparison_notes(comparison);
  add_results(d, comparison.evaluations);
  d.member("comparison", std::move(json)).table(source_of("compare", differences));
}

}  // namespace

Document comparison_document(const ComparisonReport& comparison) {
  Document d;
  ComparisonText(comparison).add_to(d);
  add_differences_and_results(d, comparison);
  return d;
}

void add_comparison(Document& document, const ComparisonReport& comparison) {
  ComparisonText(comparison).add_below(document);
  add_differences_and_results(document, comparison);
}

}  // namespace retrysim::report

namespace retrysim {

namespace {

/// Everything that the tables of a comparison are made from.
struct ComparedRuns {
  explicit ComparedRuns(const Comparison& comparison) {
    for (const ComparedVariant& v : comparison.variants) sets.push_back(report::result_set_of(v));
    for (const report::ResultSet& set : sets) evaluations.emplace_back(set);
  }

  std::vector<report::ResultSet> sets;
  std::vector<report::Evaluation> evaluations;
};

}  // namespace

Tables tables(const Comparison& comparison) {
  const auto runs = std::make_shared<const ComparedRuns>(comparison);
  std::vector<report::TableSource> sources = report::run_tables(runs->evaluations);
  sources.push_back(report::comparison_table({comparison, runs->evaluations}));
  return Tables(report::kept_with(runs, std::move(sources)));
}

}  // namespace retrysim

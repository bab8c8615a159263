// Sentences by rule: the first metric of MetricList::kSpoken with a significant difference makes
// the main clause, the others follow after "with".
//
// SPDX-License-Identifier: MIT
#include "report/comparison_words.hpp"

#include "report/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace retrysim::report {
namespace {

/// Whether the demand ends by itself, so that the time of the last request is that of the work.
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

/// KEY=WORD, both of them plain.
std::optional<std::pair<std::string_view, std::string_view>> key_and_word(std::string_view name) {
  const std::size_t equals = name.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view key = name.substr(0, equals);
  const std::string_view word = name.substr(equals + 1);
  if (!is_word(key) || !is_word(word)) return std::nullopt;
  return std::pair(key, word);
}

/// The baseline after "than": the word alone where the variant has said which key it is.
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

/// Three significant digits, or fewer where the interval is wide: two of half its width.
Amount scaled_amount(double size, std::optional<Interval> interval, double scale,
                     std::string_view unit) {
  int decimals = decimals_for(size * scale, 3);
  if (interval) {
    const double half = (interval->high - interval->low) / 2 * scale;
    if (half > 1e-9 * size * scale) decimals = std::min(decimals, decimals_for(half, 2));
  }
  const auto text = [&](double x) {
    std::string digits = fmt::format("{:.{}f}", x * scale, decimals);
    if (digits.find_first_not_of("-0.") == std::string::npos && digits.front() == '-') {
      digits.erase(0, 1);  // no negative zero
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

/// What one thing does in place of another to one client, from the rows of its metrics.
class Sentence {
 public:
  using Find = std::function<const ComparisonRow*(const MetricInfo&)>;

  Sentence(const ComparisonReport& comparison, std::string name, std::string base, Find find)
      : comparison_(comparison), name_(std::move(name)), base_(std::move(base)), find_(find) {
    finite_ = demand_is_finite(comparison.baseline().scenario());
    chosen_ = comparison.was_asked_for;
  }

  /// Whether runs are counted that recover: not for averages over several variants.
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
    std::string text = spoken_name(name_);
    const std::string base = spoken_baseline(name_, base_);
    if (!recovery_.empty() && !main_.empty()) {
      text += " " + recovery_ + ". It " + main_clause(base) + rest();
    } else if (!recovery_.empty()) {
      text += " " + recovery_ + ".";
    } else if (!main_.empty()) {
      text += " " + main_clause(base) + rest();
    } else if (!unclear_.empty()) {
      text +=
          " does not differ significantly from " + base + " in " + joined(unclear_, " or ") + ".";
    } else if (!small_.empty()) {
      text += " is practically the same as " + base + " in " + joined(small_, " and ") + ".";
      return text + equal_in() + also_recovery_;
    } else if (!equal_.empty()) {
      return text + " makes no difference to " + joined(equal_, " and ") + "." + also_recovery_;
    } else {
      return also_recovery_.empty() ? "" : text + ":" + also_recovery_;
    }
    if (!small_.empty()) text += " Practically the same: " + joined(small_, " and ") + ".";
    return text + equal_in() + also_recovery_;
  }

 private:
  std::string main_clause(const std::string& base) const {
    return main_ +
           (main_is_points_   ? (main_is_more_ ? " over " : " compared with ")
            : main_is_factor_ ? " of "
                              : " than ") +
           base + main_interval_;
  }

  std::string rest() const {
    std::string text = also_.empty() ? "." : ", with " + joined(also_, " and ") + ".";
    if (!unclear_.empty())
      text += " No significant difference in " + joined(unclear_, " or ") + ".";
    return text;
  }

  std::string equal_in() const {
    return equal_.empty() ? "" : " Equal in " + joined(equal_, " and ") + ".";
  }

  bool is_compared(const MetricInfo& metric) const {
    return std::find(comparison_.found.metrics.begin(), comparison_.found.metrics.end(), &metric) !=
           comparison_.found.metrics.end();
  }

  void add(const MetricInfo& metric) {
    const MetricWords& words = metric.display.words;
    if (metric.name == "recovered" && counts_recoveries_) {
      add_recovery(metric);
    } else if (words.less.empty()) {
      if (chosen_) add_without_words(metric);
    } else if (metric.name != "completion_time_s" || finite_ || chosen_) {
      add_difference(
          metric, metric.name == "recovered" ? "probability of recovery" : metric.label(), words);
    }
  }

  /// Whoever asks for a metric gets a sentence about it.
  void add_without_words(const MetricInfo& metric) {
    const std::string name(metric.label());
    const std::string less = "lower " + name;
    const std::string more = "higher " + name;
    add_difference(metric, name, {less, more});
  }

  /// In runs rather than percent: "never recovers (0 of 10 runs; no retries 10 of 10)".
  void add_recovery(const MetricInfo& metric) {
    const ComparisonRow* row = find_(metric);
    if (row == nullptr || row->difference.pairs == 0) return;
    const PairedDifference& d = row->difference;
    const auto runs = static_cast<double>(d.pairs);
    const auto count = [&](double mean) { return std::lround(mean * runs); };
    const long own = count(d.mean), others = count(d.baseline_mean), all = std::lround(runs);
    if (d.identical) {
      if (own == all) return;
      also_recovery_ = own == 0 ? fmt::format(" Neither recovers in any of {} runs.", all)
                                : fmt::format(" Both recover in {} of {} runs only.", own, all);
    } else if (d.significant) {
      const std::string counts = fmt::format("{} of {}", others, all);
      const std::string base = spoken_baseline(name_, base_);
      recovery_ = own == 0
                      ? fmt::format("never recovers (0 of {} runs; {} in {})", all, base, counts)
                  : own == all
                      ? fmt::format("recovers in all {} runs ({} in {})", all, base, counts)
                      : fmt::format("recovers in {} of {} runs ({} in {})", own, all, base, counts);
    } else {
      also_recovery_ = fmt::format(" Recovers in {} of {} runs, {} in {}: too few to tell apart.",
                                   own, all, spoken_baseline(name_, base_), others);
    }
  }

  void add_difference(const MetricInfo& metric, std::string_view noun, const MetricWords& words) {
    const ComparisonRow* row = find_(metric);
    if (row == nullptr || !row->difference.interval || is_nothing(row->difference)) return;
    const PairedDifference& d = row->difference;
    if (d.identical) {
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
    main_is_points_ = is_points;
    main_is_more_ = more;
    main_ = is_points ? fmt::format("{} the {} by {}", more ? "raises" : "lowers", noun, value)
                      : "has " + what;
    if (!amount.interval.empty()) main_interval_ = " (95 % CI " + amount.interval + ")";
  }

  const ComparisonReport& comparison_;
  std::string name_, base_;
  Find find_;
  bool counts_recoveries_ = false;
  bool finite_ = false;  ///< all demand comes at once
  bool chosen_ = false;  ///< the user chose the metrics
  std::string main_, main_interval_, recovery_, also_recovery_;
  bool main_is_factor_ = false, main_is_points_ = false, main_is_more_ = false;
  std::vector<std::string> also_, small_, unclear_, equal_;
};

/// One for each value of a key in place of the baseline's, averaged over the other keys.
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
    // A mean effect that changes its sign describes nobody's.
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
          " Its effect on {} depends on the other keys: from {:.3g} to {:+.3g} percentage points.",
          effect.metric->label(), 100 * effect.least, 100 * effect.most);
    }
    if (!text.empty()) result.push_back(std::move(text));
    from = to;
  }
}

}  // namespace

bool is_proportion(const MetricInfo& metric) {
  return metric.summary == MetricSummary::kProportion;
}

bool shown_as_percentage(const MetricInfo& metric) {
  return is_proportion(metric) || metric.display.percentage;
}

bool is_nothing(const PairedDifference& d) { return d.identical && d.baseline_mean == 0; }

std::string spoken_name(std::string_view variant) {
  const auto parts = key_and_word(variant);
  if (!parts) return std::string(variant);
  if (parts->second != "none") return fmt::format("{} {}", parts->second, parts->first);
  // "no mode" would not say that there are no retries.
  return parts->first == "mode" ? std::string(variant) : fmt::format("no {}", parts->first);
}

namespace {

/// From twice as much on, people think in factors.
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
  constexpr double kShare = 0.001, kRelative = 0.01;
  const PairedDifference& d = row.difference;
  if (shown_as_percentage(*row.metric)) return std::fabs(d.difference) < kShare;
  return d.relative && std::fabs(*d.relative) < kRelative;
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

std::vector<std::string> sentences(const ComparisonReport& comparison) {
  constexpr std::size_t kMostByGroup = 6;
  std::vector<std::string> result;
  if (!comparison.found.effects.empty()) {
    add_effects(result, comparison);
    return result;
  }
  const bool by_group = comparison.variants() * comparison.found.clients.size() <= kMostByGroup;
  for (const std::string& client : clients_of(comparison)) {
    if (client != "all" && !by_group) continue;
    for (std::size_t v = 1; v <= comparison.variants(); ++v) {
      const auto find = [&](const MetricInfo& metric) {
        return comparison.found.find(v, client, metric);
      };
      std::string text = Sentence(comparison, comparison.evaluations[v].set.variant,
                                  comparison.baseline().set.variant, find)
                             .with_recoveries()
                             .text();
      if (text.empty()) continue;
      result.push_back((client == "all" ? "" : client + ": ") + text);
    }
  }
  return result;
}

}  // namespace retrysim::report

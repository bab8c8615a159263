// The text of a comparison.
//
// SPDX-License-Identifier: MIT
#include "report/comparison_table.hpp"

#include "report/certainty.hpp"
#include "report/comparison_words.hpp"
#include "report/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retrysim::report {
namespace {

/// A table of texts: first column to the left, the others to the right.
class Grid {
 public:
  explicit Grid(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool has_rows() const { return rows_.size() > 1; }

  std::size_t width() const {
    std::size_t sum = 0;
    for (const std::size_t width : widths()) sum += width + 2;
    return sum - 2;
  }

  std::string text() const {
    const std::vector<std::size_t> widths = this->widths();
    std::string text;
    for (const auto& row : rows_) {
      std::string line = pad_right(row[0], widths[0]);
      for (std::size_t i = 1; i < row.size(); ++i) line += "  " + pad_left(row[i], widths[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  std::vector<std::size_t> widths() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], columns_of(row[i]));
      }
    }
    return widths;
  }

  std::vector<std::vector<std::string>> rows_;
};

/// What all names have in front in common up to an equals sign: "jitter=" needs no repeating.
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
  const SummaryRow* row = find_row(comparison.baseline().summary, client, metric.name);
  if (row == nullptr) return "-";
  const DisplayUnit unit = shown_as_percentage(metric)
                               ? DisplayUnit{100, " %"}
                               : display_unit(row->estimate.mean, metric.unit);
  return format_plain(row->estimate.mean * unit.scale) + std::string(unit.name);
}

std::string difference_cell(const ComparisonRow* row, std::size_t replications) {
  if (row == nullptr) return "-  ";  // the star of significance has a place of its own
  const PairedDifference& d = row->difference;
  if (d.pairs == 0) return "no pairs  ";
  const std::string some = d.pairs < replications ? fmt::format(" [{} pairs]", d.pairs) : "";
  if (d.identical) return "same" + some + "  ";
  const Amount amount = amount_of(*row);
  const bool rounds_to_zero = amount.value.find_first_of("123456789") == std::string::npos;
  const std::string_view sign = d.difference < 0 ? "-" : "+";
  std::string text(rounds_to_zero || amount.is_factor ? "" : sign);
  text += amount.value;
  if (!amount.interval.empty()) {  // the interval is that of the size; give it its sign back
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

std::string reduction_cell(const ComparisonRow* row) {
  if (row == nullptr) return "-";
  const PairedDifference& d = row->difference;
  if (d.identical) return "same";
  if (!d.variance_reduction || !d.correlation) return "-";
  const double factor = *d.variance_reduction;
  return fmt::format("{:.{}f} x ({:+.2f})", factor, decimals_for(factor, 2),
                     std::round(*d.correlation * 100) / 100 + 0.0);
}

class TableWriter {
 public:
  TableWriter(const ComparisonReport& comparison, std::size_t columns)
      : comparison_(comparison), key_(common_key(comparison)), columns_(columns) {}

  std::string text() {
    append_head();
    append_sentences();
    append_layers();
    append_meaning();
    for (const std::string& client : clients_of(comparison_)) append_differences(client);
    if (comparison_.show_variance) append_reductions();
    out_ += notes_text(notes(), columns_);
    return std::move(out_);
  }

  /// What limits the comparison.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    const std::size_t n = replications();
    if (n == 1) {
      notes.emplace_back(
          "one replication: there are no intervals, so effects cannot be told from chance");
    } else if (n < 10) {
      notes.push_back(fmt::format("{} replications: intervals are rough; use at least 10", n));
    }
    for (const Evaluation& e : comparison_.evaluations) {
      if (e.scenario().seed == comparison_.baseline().scenario().seed) continue;
      notes.emplace_back(
          "the variants have different seeds and therefore no common random numbers");
      break;
    }
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
  const std::string& variant(std::size_t v) const { return comparison_.evaluations[v].set.variant; }
  std::string short_name(std::size_t v) const { return variant(v).substr(key_.size()); }
  std::size_t replications() const { return comparison_.baseline().set.runs.size(); }

  void append_head() {
    const Scenario& s = comparison_.baseline().scenario();
    std::string title = s.name;
    if (!s.description.empty()) title += ": " + s.description;
    out_ += wrapped(title, {columns_, "", "  "});
    const std::size_t n = replications();
    out_ += wrapped(fmt::format("{} variant{} on common random numbers, {} replication{}, seed {}.",
                                comparison_.variants() + 1, comparison_.variants() == 0 ? "" : "s",
                                n, n == 1 ? "" : "s", s.seed),
                    {columns_});
    if (comparison_.variants() == 0) out_ += "One variant: nothing to compare.\n";
  }

  void append_meaning() {
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
    out_ += "\n" + wrapped(text + ".", {columns_, "", ""});
  }

  /// Where services call services: the attempts per request of each layer, those of a layer below
  /// counted for each of its own requests.
  void append_layers() {
    const Scenario& s = comparison_.baseline().scenario();
    const std::vector<Layer> layers = call_order(s);
    if (layers.empty() || layers.size() > s.clients.size()) return;
    if (std::none_of(layers.begin(), layers.end(), [](const Layer& l) { return l.depth > 0; })) {
      return;
    }
    std::vector<std::string> titles = {"attempts per request, layer by layer"};
    for (std::size_t v = 0; v <= comparison_.variants(); ++v) titles.push_back(short_name(v));
    Grid grid(std::move(titles));
    for (const Layer& layer : layers) {
      const std::string& name = s.clients[layer.group].name;
      std::vector<std::string> row = {std::string(2 + 2 * layer.depth, ' ') + name};
      for (const Evaluation& e : comparison_.evaluations) {
        const SummaryRow* found = find_row(e.summary, name, "amplification");
        row.push_back(found == nullptr ? "-" : format_plain(found->estimate.mean));
      }
      grid.add(std::move(row));
    }
    out_ += "\n" + grid.text();
  }

  // Rows are metrics, columns variants. Whether there were any rows.
  template <class MakeRow>
  bool append_grids(const std::string& title, const std::vector<std::string>& fixed_titles,
                    MakeRow make_row) {
    bool any = false;
    for (std::size_t from = 1; from <= comparison_.variants();) {
      // As many variants side by side as there is room for.
      std::size_t to = comparison_.variants() + 1;
      Grid grid = grid_of(title, fixed_titles, from, to, make_row);
      while (to > from + 1 && grid.width() > columns_) {
        grid = grid_of(title, fixed_titles, from, --to, make_row);
      }
      from = to;
      if (!grid.has_rows()) continue;
      out_ += "\n" + grid.text();
      any = true;
    }
    return any;
  }

  template <class MakeRow>
  Grid grid_of(const std::string& title, const std::vector<std::string>& fixed_titles,
               std::size_t from, std::size_t to, MakeRow make_row) const {
    std::vector<std::string> titles = {title};
    titles.insert(titles.end(), fixed_titles.begin(), fixed_titles.end());
    for (std::size_t v = from; v < to; ++v) titles.push_back(short_name(v) + "  ");
    Grid grid(std::move(titles));
    for (const MetricInfo* metric : comparison_.found.metrics) {
      std::vector<std::string> row = make_row(*metric, from, to);
      if (!row.empty()) grid.add(std::move(row));
    }
    return grid;
  }

  void append_differences(const std::string& client) {
    append_grids(client == "all" ? "all clients" : "client " + client, {short_name(0)},
                 [&](const MetricInfo& metric, std::size_t from, std::size_t to) {
                   std::vector<std::string> row = {"  " + std::string(metric.name),
                                                   baseline_cell(comparison_, client, metric)};
                   bool any = false;
                   for (std::size_t v = from; v < to; ++v) {
                     const ComparisonRow* found = comparison_.found.find(v, client, metric);
                     any = any || (found != nullptr && !is_nothing(found->difference));
                     row.push_back(difference_cell(found, replications()));
                   }
                   return any ? row : std::vector<std::string>();
                 });
  }

  void append_reductions() {
    if (replications() < 2) return;
    const bool any =
        append_grids("variance saved (correlation)", {},
                     [&](const MetricInfo& metric, std::size_t from, std::size_t to) {
                       std::vector<std::string> row = {"  " + std::string(metric.name)};
                       bool varies = false;
                       for (std::size_t v = from; v < to; ++v) {
                         const ComparisonRow* found = comparison_.found.find(v, "all", metric);
                         varies = varies || (found != nullptr && found->difference.correlation);
                         row.push_back(reduction_cell(found) + "  ");
                       }
                       return varies ? row : std::vector<std::string>();
                     });
    const bool pairs =
        std::any_of(comparison_.found.rows.begin(), comparison_.found.rows.end(),
                    [](const ComparisonRow& row) { return row.difference.pairs > 0; });
    if (!any && pairs) {
      out_ += "\nCommon random numbers save nothing here: one side of each pair does not vary.\n";
    }
  }

  /// "metric of client (variant)" of the rows that meet a condition, at most some.
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

  /// Means over two modes, and differences between such means, describe nothing that happens.
  void add_modes(std::vector<std::string>& notes) const {
    constexpr std::size_t kMost = 3;
    std::size_t count = 0;
    for (const Evaluation& e : comparison_.evaluations) {
      if (!e.bistability || ++count > kMost) continue;
      notes.push_back(e.set.variant + ": " + modes_note(e));
    }
    if (count > kMost) {
      notes.push_back(fmt::format("{} more variants have two modes; result.json describes them",
                                  count - kMost));
    }
  }

  /// Where rates are compared that the drain has made.
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
      const SummaryRow* requests = find_row(e.summary, "all", "requests");
      if (requests != nullptr) fewest = std::min(fewest, requests->estimate.min);
    }
    const std::string note = short_runs_note(fewest);
    if (far_quantiles && !note.empty()) notes.push_back(note);
  }

  void append_sentences() {
    const std::vector<std::string> found = sentences(comparison_);
    if (!found.empty()) out_ += "\n";
    for (const std::string& sentence : found) out_ += wrapped(sentence, {columns_, "", "  "});
  }

  const ComparisonReport& comparison_;
  std::string key_;
  std::size_t columns_;
  std::string out_;
};

}  // namespace

std::vector<std::string> comparison_notes(const ComparisonReport& comparison) {
  return TableWriter(comparison, kNarrowColumns).notes();
}

void write_comparison_table(Sink& sink, const ComparisonReport& comparison, std::size_t columns) {
  sink.write(TableWriter(comparison, columns).text());
}

}  // namespace retrysim::report

// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/run.hpp>

#include "estimate/paired.hpp"
#include "estimate/told.hpp"
#include "execution/executor.hpp"
#include "execution/units.hpp"
#include "experiment/twins.hpp"
#include "experiment/variants.hpp"
#include "measure/analyse/storms.hpp"
#include "scenario/text/problems.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace retrysim {
namespace {

/// Most variants of a comparison, more than people can read; `sweep` takes more.
constexpr std::size_t kMaxVariants = 1000;

/// A file that is compared with the scenario's: NAME=FILE.
struct VariantFile {
  std::string name;
  std::filesystem::path path;
};

constexpr std::string_view kBaseName = "base";

std::vector<VariantFile> read_variant_files(const std::vector<std::string>& texts) {
  constexpr std::size_t kLongest = 40;
  std::vector<VariantFile> files;
  for (const std::string& text : texts) {
    const auto fail = [&](const std::string& message) {
      throw RequestError(fmt::format("{}: {}", RequestError::part("variant"), message));
    };
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      fail(fmt::format("{} names no file; expected NAME=FILE, such as tomorrow=tomorrow.toml",
                       scenario::in_quotes(text)));
    }
    const std::string name = text.substr(0, equals);
    const bool fits = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("_-+.").find(c) != std::string_view::npos;
    });
    if (!fits || name.empty() || name.size() > kLongest) {
      fail(
          fmt::format("{} cannot be the name of a column; expected up to {} letters, digits, _, "
                      "-, + and .",
                      scenario::in_quotes(name), kLongest));
    }
    if (name == kBaseName) {
      fail(fmt::format("\"{}\" is the scenario itself; choose another name", kBaseName));
    }
    if (std::ranges::find(files, name, &VariantFile::name) != files.end()) {
      fail(fmt::format("{} comes twice; each variant needs a name of its own",
                       scenario::in_quotes(name)));
    }
    files.push_back({name, text.substr(equals + 1)});
  }
  return files;
}

using experiment::VariantSource;

/// Every combination of the files with the values that are varied.
std::vector<VariantSource> combinations(const std::vector<Variation>& variations,
                                        const std::vector<VariantFile>& files) {
  std::vector<VariantSource> planned;
  const std::vector<Variant> points = grid(variations);
  if (files.empty()) {
    for (const Variant& v : points) planned.push_back({v.name, {}, v.edits, v.values});
    return planned;
  }
  for (std::size_t f = 0; f <= files.size(); ++f) {
    const std::string name(f == 0 ? kBaseName : files[f - 1].name);
    for (const Variant& point : points) {
      VariantSource& v = planned.emplace_back();
      v.name = variations.empty() ? name : fmt::format("file={} {}", name, point.name);
      if (f > 0) v.file = files[f - 1].path;
      v.edits = point.edits;
      v.values = point.values;
      v.values.insert(v.values.begin(), name);
    }
  }
  return planned;
}

/// The variants with the baseline first, which may be named by its values alone.
std::vector<VariantSource> baseline_first(std::vector<VariantSource> variants,
                                          const std::string& baseline) {
  if (baseline.empty()) return variants;
  auto found = std::find_if(variants.begin(), variants.end(),
                            [&](const VariantSource& v) { return v.name == baseline; });
  if (found == variants.end()) {
    const auto is_called = [&](const VariantSource& v) {
      return fmt::format("{}", fmt::join(v.values, " ")) == baseline;
    };
    found = std::find_if(variants.begin(), variants.end(), is_called);
  }
  if (found == variants.end()) {
    std::vector<std::string_view> names;
    for (const VariantSource& v : variants) names.push_back(v.name);
    if (names.size() > 10) names.resize(10);
    throw RequestError(fmt::format("{}: there is no variant '{}'; {}",
                                   RequestError::part("baseline"), baseline,
                                   scenario::suggestion(baseline, names, "there are")));
  }
  std::rotate(variants.begin(), found, found + 1);
  return variants;
}

void check_size(const std::vector<Variation>& variations, std::size_t files) {
  std::size_t size = files + 1;
  for (const Variation& v : variations) size = std::min(size * v.choices.size(), kMaxVariants + 1);
  if (size > kMaxVariants) {
    throw RequestError(fmt::format("{} makes more than {} variants; use a sweep",
                                   RequestError::part("vary"), kMaxVariants));
  }
  if (size < 2)
    throw RequestError(RequestError::part("vary") +
                       " makes only one variant; give at least two values");
}

/// Reports different input files of the same name: a result keeps the inputs of all variants in one
/// folder. This is reported before the simulation rather than after it.
void check_inputs(VariantsResult& result) {
  std::map<std::filesystem::path, std::filesystem::path> known;
  for (const NamedScenario& v : result.variants) {
    for (const std::filesystem::path& input : v.loaded.input_files) {
      const auto [other, is_new] = known.emplace(input.filename(), input);
      if (is_new || other->second == input) continue;
      std::string error;
      const auto max = std::numeric_limits<std::uintmax_t>::max();
      if (scenario::read_whole_file(input, max, error) ==
          scenario::read_whole_file(other->second, max, error)) {
        continue;
      }
      Diagnostic& d = result.errors.emplace_back();
      d.file = input.string();
      d.message = fmt::format(
          "the variants also read {}, a different file of the same name, and a result keeps both "
          "in "
          "one folder; rename one",
          scenario::in_quotes(other->second.string()));
      return;
    }
  }
}

/// Finds one warm-up for all variants with `warmup = "auto"`, so that they are measured over the
/// same stretch of time.
void find_common_warmup(std::vector<ComparedVariant>& variants, const ReplicationOptions& run) {
  std::vector<Scenario> scenarios;
  for (const ComparedVariant& v : variants) {
    if (v.loaded.scenario.warmup_is_auto) scenarios.push_back(v.loaded.scenario);
  }
  if (scenarios.empty()) return;
  const FoundWarmup found = find_warmup(scenarios, run);
  for (ComparedVariant& v : variants) {
    if (v.loaded.scenario.warmup_is_auto) take_warmup(v.loaded, found);
  }
}

/// Simulates the replications of all variants, side by side.
void simulate_variants(std::vector<ComparedVariant>& variants, const ReplicationOptions& run) {
  std::vector<RunSpec> specs;
  for (const ComparedVariant& v : variants) {
    for (int r = 0; r < v.loaded.scenario.replications; ++r) {
      specs.push_back({&v.loaded.scenario, static_cast<std::uint32_t>(r)});
    }
  }
  std::vector<RunResult> runs = simulate_all(specs, run);
  auto next = runs.begin();
  for (ComparedVariant& v : variants) {
    const auto end = next + v.loaded.scenario.replications;
    v.runs.assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
}

std::string name_of_client(const Scenario& scenario, std::size_t client) {
  return client < scenario.clients.size() ? scenario.clients[client].name : "all";
}

stats::Series series_of(const ComparedVariant& v, const std::string& client, std::size_t metric) {
  stats::Series series;
  for (std::size_t c = 0; c < v.values.clients(); ++c) {
    if (name_of_client(v.loaded.scenario, c) != client) continue;
    for (std::size_t r = 0; r < v.values.runs(); ++r) series.push_back(v.values.at(r, c, metric));
    break;
  }
  return series;
}

/// The values that are compared: those of `recovered` where a replication tells it.
class ComparedValues {
 public:
  explicit ComparedValues(const std::vector<ComparedVariant>& variants) : variants_(variants) {
    for (const ComparedVariant& v : variants) {
      told_.emplace_back(v.loaded.scenario, v.runs, v.values);
    }
  }

  stats::Series series(std::size_t variant, const std::string& client,
                       const MetricInfo& metric) const {
    const ComparedVariant& v = variants_[variant];
    stats::Series series = series_of(v, client, index_of(metric));
    if (metric.name != "recovered") return series;
    const std::vector<ClientSpec>& groups = v.loaded.scenario.clients;
    const auto place = static_cast<std::size_t>(
        std::ranges::find(groups, client, &ClientSpec::name) - groups.begin());
    for (std::size_t r = 0; r < series.size(); ++r) {
      if (!told_[variant].tells(r, place)) series[r] = std::nullopt;
    }
    return series;
  }

 private:
  const std::vector<ComparedVariant>& variants_;
  std::vector<stats::ToldRecoveries> told_;  // by variant
};

/// The names of all client groups, and "all"; a single group is left out, being the same as all.
std::vector<std::string> clients_of(const std::vector<ComparedVariant>& variants) {
  std::vector<std::string> groups;
  for (const ComparedVariant& v : variants) {
    for (const ClientSpec& client : v.loaded.scenario.clients) {
      if (std::find(groups.begin(), groups.end(), client.name) == groups.end()) {
        groups.push_back(client.name);
      }
    }
  }
  if (groups.size() == 1) groups.clear();
  groups.emplace_back("all");
  return groups;
}

bool has_values(const PairedDifference& d) {
  return d.pairs + d.only_variant + d.only_baseline > 0;
}

/// The keys and values in a name such as "servers=2 jitter=full"; empty if the name has another
/// form.
std::vector<std::pair<std::string, std::string>> keys_of(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find(' ', from), name.size());
    const std::string part = name.substr(from, to - from);
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) return {};
    keys.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    from = to + 1;
  }
  return keys;
}

/// The variants as points of a grid: the value of each key. There are no keys if names have another
/// form.
class Grid {
 public:
  explicit Grid(const std::vector<ComparedVariant>& variants) {
    if (!read(variants)) keys_.clear();
  }
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& value(std::size_t variant, std::size_t key) const {
    return values_[variant][key];
  }
  /// The values of a key in the order of the variants, the baseline's first.
  std::vector<std::string> values_of(std::size_t key) const {
    std::vector<std::string> result;
    for (const auto& values : values_) {
      if (std::find(result.begin(), result.end(), values[key]) == result.end()) {
        result.push_back(values[key]);
      }
    }
    return result;
  }
  /// The variant that differs from `variant` only in the value of `key`, if there is one.
  std::optional<std::size_t> with(std::size_t variant, std::size_t key,
                                  const std::string& value) const {
    std::vector<std::string> wanted = values_[variant];
    wanted[key] = value;
    const auto found = std::find(values_.begin(), values_.end(), wanted);
    if (found == values_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - values_.begin());
  }

 private:
  bool read(const std::vector<ComparedVariant>& variants) {
    for (const ComparedVariant& v : variants) {
      const auto keys = keys_of(v.name);
      std::vector<std::string> names, values;
      for (const auto& [key, value] : keys) {
        names.push_back(key);
        values.push_back(value);
      }
      if (values_.empty()) keys_ = names;
      if (names.empty() || names != keys_) return false;
      values_.push_back(std::move(values));
    }
    return true;
  }

  std::vector<std::string> keys_;
  std::vector<std::vector<std::string>> values_;  // [variant][key]
};

stats::Series average(const std::vector<const stats::Series*>& series) {
  stats::Series result;
  for (std::size_t r = 0; r < series.front()->size(); ++r) {
    double sum = 0;
    bool complete = true;
    for (const stats::Series* s : series) {
      complete = complete && r < s->size() && (*s)[r];
      if (complete) sum += *(*s)[r];
    }
    result.push_back(complete ? std::optional(sum / static_cast<double>(series.size()))
                              : std::nullopt);
  }
  return result;
}

/// Adds the effects of the values of one key on one metric. `series`: the metric's values by
/// variant.
void add_effects(std::vector<KeyEffect>& effects, const Grid& grid, std::size_t key,
                 const MetricInfo& metric, const std::vector<stats::Series>& series) {
  const std::vector<std::string> values = grid.values_of(key);
  for (std::size_t v = 1; v < values.size(); ++v) {
    KeyEffect effect{grid.keys()[key], values[v], values[0], &metric, {}, 0, 0, 0};
    std::vector<const stats::Series*> with, without;
    for (std::size_t base = 0; base < series.size(); ++base) {
      const auto other = grid.with(base, key, values[v]);
      if (grid.value(base, key) != values[0] || !other) continue;
      const auto one = stats::paired_differences(std::span(&series[*other], 1), series[base]);
      if (one.front().pairs == 0) continue;
      const double difference = one.front().difference;
      effect.least = with.empty() ? difference : std::min(effect.least, difference);
      effect.most = with.empty() ? difference : std::max(effect.most, difference);
      with.push_back(&series[*other]);
      without.push_back(&series[base]);
    }
    effect.combinations = with.size();
    if (with.empty()) continue;
    // The interval is as wide as if all values of the key had been compared with the same baseline.
    const std::vector<stats::Series> family(values.size() - 1, average(with));
    effect.difference = stats::paired_differences(family, average(without)).front();
    stats::respect_range(effect.difference, metric.range);
    stats::respect_baseline(effect.difference, metric.range, family.front(), average(without),
                            kFamilyError / static_cast<double>(family.size()));
    if (has_values(effect.difference)) effects.push_back(std::move(effect));
  }
}

constexpr std::size_t kMaxWithoutEffects = 4;  // most variants for which no effects are computed

std::vector<KeyEffect> effects_of(const Comparison& comparison, const ComparedValues& compared) {
  std::vector<KeyEffect> effects;
  if (comparison.variants.size() <= kMaxWithoutEffects) return effects;
  const Grid grid(comparison.variants);
  std::vector<std::size_t> varied;
  for (std::size_t k = 0; k < grid.keys().size(); ++k) {
    if (grid.values_of(k).size() > 1) varied.push_back(k);
  }
  if (varied.size() < 2) return effects;
  for (const std::size_t key : varied) {
    for (const MetricInfo* metric : comparison.metrics) {
      std::vector<stats::Series> series;
      for (std::size_t v = 0; v < comparison.variants.size(); ++v) {
        series.push_back(compared.series(v, "all", *metric));
      }
      add_effects(effects, grid, key, *metric, series);
    }
  }
  // The effects are ordered by value, then by metric.
  std::stable_sort(effects.begin(), effects.end(), [&](const KeyEffect& a, const KeyEffect& b) {
    const auto place = [&](const KeyEffect& e) {
      const auto k = static_cast<std::size_t>(
          std::find(grid.keys().begin(), grid.keys().end(), e.key) - grid.keys().begin());
      const auto values = grid.values_of(k);
      return std::pair(k, std::find(values.begin(), values.end(), e.value) - values.begin());
    };
    return place(a) < place(b);
  });
  return effects;
}

/// Adds the metric `recovered` to the compared metrics, if any run has it.
void add_recovered(std::vector<const MetricInfo*>& metrics,
                   const std::vector<ComparedVariant>& variants) {
  const MetricInfo* recovered = find_metric("recovered");
  const bool exists = std::any_of(variants.begin(), variants.end(), [&](const auto& v) {
    const stats::Series series = series_of(v, "all", index_of(*recovered));
    return std::any_of(series.begin(), series.end(), [](const auto& r) { return r.has_value(); });
  });
  if (exists && std::find(metrics.begin(), metrics.end(), recovered) == metrics.end()) {
    metrics.push_back(recovered);
  }
}

/// Adds the share that succeeded within the duration behind the success rate, if it is another
/// figure because much ends in the drain.
void add_within_duration(std::vector<const MetricInfo*>& metrics,
                         const std::vector<ComparedVariant>& variants,
                         const std::vector<std::string>& clients) {
  const MetricInfo* whole = find_metric("success_rate");
  const MetricInfo* within = find_metric("success_rate_within_duration");
  const auto place = std::find(metrics.begin(), metrics.end(), whole);
  if (place == metrics.end() ||
      std::find(metrics.begin(), metrics.end(), within) != metrics.end()) {
    return;
  }
  constexpr double kNoteworthy = 0.01;
  const bool differs = std::any_of(variants.begin(), variants.end(), [&](const auto& v) {
    return std::any_of(clients.begin(), clients.end(), [&](const std::string& client) {
      const stats::Series a = series_of(v, client, index_of(*whole));
      const stats::Series b = series_of(v, client, index_of(*within));
      const auto d = stats::paired_differences(std::span(&a, 1), b).front();
      return d.pairs > 0 && d.difference > kNoteworthy;
    });
  });
  if (differs) metrics.insert(place + 1, within);
}

/// Adds the metrics that make a success a bad one, if variants differ in them.
void add_bad_successes(std::vector<const MetricInfo*>& metrics,
                       const std::vector<ComparedVariant>& variants,
                       const std::vector<std::string>& clients) {
  for (const std::string_view name : {"degraded_share", "duplicate_share"}) {
    const MetricInfo* metric = find_metric(name);
    if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) continue;
    const bool differs =
        std::any_of(clients.begin(), clients.end(), [&](const std::string& client) {
          const stats::Series base = series_of(variants.front(), client, index_of(*metric));
          return std::any_of(variants.begin(), variants.end(), [&](const ComparedVariant& v) {
            return series_of(v, client, index_of(*metric)) != base;
          });
        });
    if (differs) metrics.push_back(metric);
  }
}

}  // namespace

bool is_negligible(const MetricInfo& metric, const PairedDifference& d) {
  constexpr double kShare = 0.001, kRelative = 0.01;
  if (metric.summary == MetricSummary::kProportion || metric.display.percentage) {
    return std::fabs(d.difference) < kShare;
  }
  return d.relative && std::fabs(*d.relative) < kRelative;
}

std::vector<const MetricInfo*> headline_metrics() { return metrics_of(MetricList::kCompared); }

VariantsResult load_variants(const std::filesystem::path& file,
                             const std::vector<std::string>& edits,
                             const std::vector<std::string>& vary, const std::string& baseline) {
  return experiment::load_variants_and_files(file, edits, vary, baseline, {});
}

experiment::VariantSources experiment::variant_sources(const std::vector<std::string>& vary,
                                                       const std::string& baseline,
                                                       const std::vector<std::string>& files) {
  VariantSources result;
  const std::vector<VariantFile> others = read_variant_files(files);
  VariationsResult parsed = parse_variations(vary);
  if (!parsed.errors.empty()) {
    result.errors = std::move(parsed.errors);
    return result;
  }
  check_size(parsed.variations, others.size());
  if (!others.empty()) result.keys.emplace_back("file");
  for (const Variation& v : parsed.variations) {
    result.keys.insert(result.keys.end(), v.paths.begin(), v.paths.end());
  }
  result.variants = baseline_first(combinations(parsed.variations, others), baseline);
  return result;
}

void experiment::VariantMistakes::add(const VariantSource& variant,
                                      std::vector<Diagnostic> errors) {
  constexpr std::size_t kMost = 20;
  for (Diagnostic& d : errors) {
    const bool is_new = seen_.emplace(d.file, d.line, d.column, d.message).second;
    if (!is_new || all_.size() >= kMost) continue;
    if (!variant.file.empty() && d.in_request) {
      d.message += " (in " + variant.file.string() + ")";
    }
    all_.push_back(std::move(d));
  }
}

VariantsResult experiment::load_variants_and_files(const std::filesystem::path& file,
                                                   const std::vector<std::string>& edits,
                                                   const std::vector<std::string>& vary,
                                                   const std::string& baseline,
                                                   const std::vector<std::string>& files) {
  VariantsResult result;
  VariantSources sources = variant_sources(vary, baseline, files);
  if (!sources.errors.empty()) {
    result.errors = std::move(sources.errors);
    return result;
  }
  VariantMistakes mistakes;
  for (const VariantSource& v : sources.variants) {
    LoadResult one = load_scenario_file_with(file, v.file, edits, v.edits);
    mistakes.add(v, std::move(one.errors));
    if (!one.loaded) continue;
    result.variants.push_back({v.name, std::move(*one.loaded), sources.keys, v.values});
  }
  result.errors = mistakes.all();
  if (result.errors.empty()) check_inputs(result);
  if (!result.errors.empty()) result.variants.clear();
  return result;
}

void take_warmup(LoadedScenario& loaded, const FoundWarmup& found) {
  set_found_warmup(loaded, found.warmup,
                   fmt::format("\"auto\": MSER-5 of {} in {} pilot run{}", found.decided_by,
                               found.pilot_runs, found.pilot_runs == 1 ? "" : "s"));
}

const ComparisonRow* Comparison::find(std::size_t variant, std::string_view client,
                                      const MetricInfo& metric) const {
  const auto of_variant = std::lower_bound(
      rows.begin(), rows.end(), variant,
      [](const ComparisonRow& row, std::size_t wanted) { return row.variant < wanted; });
  const auto found = std::find_if(of_variant, rows.end(), [&](const ComparisonRow& row) {
    return row.variant != variant || (row.client == client && row.metric == &metric);
  });
  return found == rows.end() || found->variant != variant ? nullptr : &*found;
}

Comparison compare_runs(std::vector<ComparedVariant> variants,
                        std::vector<const MetricInfo*> metrics) {
  if (variants.empty()) throw RequestError("there is no variant to compare");
  Comparison comparison;
  comparison.variants = std::move(variants);
  comparison.clients = clients_of(comparison.variants);
  comparison.metrics = std::move(metrics);
  const ComparedValues compared(comparison.variants);
  std::vector<std::vector<ComparisonRow>> by_variant(comparison.variants.size());
  for (const std::string& client : comparison.clients) {
    for (const MetricInfo* metric : comparison.metrics) {
      std::vector<stats::Series> series;
      for (std::size_t v = 0; v < comparison.variants.size(); ++v) {
        series.push_back(compared.series(v, client, *metric));
      }
      const auto differences =
          stats::metric_differences(*metric, std::span(series).subspan(1), series.front());
      for (std::size_t v = 0; v < differences.size(); ++v) {
        if (has_values(differences[v])) {
          by_variant[v + 1].push_back({v + 1, client, metric, differences[v]});
        }
      }
    }
  }
  for (auto& rows : by_variant) {
    std::move(rows.begin(), rows.end(), std::back_inserter(comparison.rows));
  }
  comparison.effects = effects_of(comparison, compared);
  return comparison;
}

Comparison compare(std::vector<NamedScenario> variants, const CompareOptions& options) {
  std::vector<ComparedVariant> compared;
  compared.reserve(variants.size());
  for (NamedScenario& v : variants) {
    compared.push_back({std::move(v.name), std::move(v.loaded), {}, MetricValues(0, 1, {}), {}});
  }
  if (compared.empty()) throw RequestError("there is no variant to compare");
  execution::in_time(options.run, [&](const ReplicationOptions& run) {
    execution::before_more([&] { find_common_warmup(compared, run); });
    if (!options.twin) return simulate_variants(compared, run);
    execution::before_more([&] { simulate_variants(compared, run); });
    execution::SideBySide twins;
    for (ComparedVariant& v : compared) {
      twins.add([&] {
        v.storms = std::make_shared<const std::vector<std::vector<stats::Storm>>>(
            experiment::storms_with_twins(v.loaded.scenario, v.runs, run));
      });
    }
    twins.finish();
  });
  for (ComparedVariant& v : compared) v.values = MetricValues(v.loaded.scenario, v.runs);
  std::vector<const MetricInfo*> metrics = options.metrics;
  const std::vector<const MetricInfo*> headline = headline_metrics();
  if (metrics.empty()) metrics = headline;
  const bool chosen = !std::all_of(headline.begin(), headline.end(), [&](const MetricInfo* m) {
    return std::find(metrics.begin(), metrics.end(), m) != metrics.end();
  });
  if (!chosen) add_bad_successes(metrics, compared, clients_of(compared));
  add_recovered(metrics, compared);
  add_within_duration(metrics, compared, clients_of(compared));
  return compare_runs(std::move(compared), std::move(metrics));
}

}  // namespace retrysim

// Uncertain keys: the law of the draws, their simulation, and which keys decide.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>
#include <retrysim/uncertain.hpp>

#include "estimate/intervals.hpp"
#include "estimate/paired.hpp"
#include "execution/executor.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "experiment/single_run.hpp"
#include "experiment/variants.hpp"
#include "kernel/functions.hpp"
#include "kernel/quantiles.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace retrysim {

// --- The law of the draws ------------------------------------------------------------------------

namespace {

/// The value at `share` of the way from the median to an end of the interval, in the logarithm if
/// `by_ratio`, as in a lognormal law; otherwise linearly, as in a normal one.
double on_the_way(double median, double end, double share, bool by_ratio) {
  if (!by_ratio) return median + (end - median) * share;
  return median * kernel::exp(kernel::log(end / median) * share);
}

/// The nearest value that the scenario's key can have.
double rounded(const UncertainKey& key, double value) {
  if (key.is_whole) return std::floor(value + 0.5);
  if (key.is_duration) return Duration::from_seconds(std::max(0.0, value)).in_seconds();
  return value;
}

bool takes(const UncertainKey& key, double value) {
  return value >= key.least && value <= key.most && !(key.above_least && value <= key.least);
}

}  // namespace

double draw_uncertain(const UncertainKey& key, std::uint64_t seed, std::uint32_t replication) {
  constexpr int kTries = 100;
  Draws draws(RandomKey(seed, replication).named("uncertain", key.path),
              {.purpose = Purpose::kUncertain});
  const double reach = kernel::normal_quantile((1 + key.certainty) / 2);
  const bool by_ratio = key.low > 0;
  for (int i = 0; i < kTries; ++i) {
    const double z = unit_normal(draws) / reach;
    const double value =
        rounded(key, on_the_way(key.value, z < 0 ? key.low : key.high, std::abs(z), by_ratio));
    if (takes(key, value)) return value;
  }
  return key.value;
}

std::string edit_of(const UncertainKey& key, double value) {
  if (key.is_whole) return fmt::format("{}={:.0f}", key.path, value);
  if (key.is_duration) {
    return fmt::format("{}={}", key.path,
                       scenario::render_text(scenario::to_text(Duration::from_seconds(value))));
  }
  return fmt::format("{}={}", key.path, scenario::render_number(value));
}

// --- The plan ------------------------------------------------------------------------------------

namespace {

/// What draws are loaded from.
class UncertainSource {
 public:
  UncertainSource(scenario::FileReader from, std::vector<std::string> variant_edits)
      : from_(std::move(from)), variant_edits_(std::move(variant_edits)) {}

  LoadResult base() const {
    LoadResult result = from_.reader->load(variant_edits_);
    if (result.loaded) result.loaded->file = from_.file;
    return result;
  }
  LoadResult load(const UncertainPlan& plan, std::size_t draw) const {
    std::vector<std::string> edits = variant_edits_;
    for (std::size_t k = 0; k < plan.keys.size(); ++k) {
      edits.push_back(edit_of(plan.keys[k], plan.draws[draw][k]));
    }
    return from_.reader->load(edits);
  }

 private:
  scenario::FileReader from_;
  std::vector<std::string> variant_edits_;
};

/// As many draws as the user asks for.
int draws_asked(const LoadedScenario& loaded) {
  const auto key = std::ranges::find(loaded.keys, "replications", &ResolvedKey::path);
  const bool asked = key != loaded.keys.end() && key->origin == Origin::kSet;
  return asked ? loaded.scenario.replications : kUncertainDraws;
}

[[noreturn]] void refuse_certain(const LoadedScenario& base) {
  throw RequestError(
      base.uncertain.empty()
          ? fmt::format("nothing is uncertain in {}; write the intervals of what you do not know "
                        "for sure: [uncertain.\"service.NAME.servers\"] with low and high",
                        base.scenario.name)
          : fmt::format("nothing is uncertain in {}: each uncertain key is set to a value",
                        base.scenario.name));
}

}  // namespace

UncertainPlanResult plan_uncertain(const UncertainRequest& request) {
  UncertainPlanResult result;
  scenario::FileReader from =
      scenario::reader_of(request.scenario, request.variant_file, request.edits, result.errors);
  if (from.reader == nullptr) return result;
  const auto source =
      std::make_shared<const UncertainSource>(std::move(from), request.variant_edits);
  LoadResult loaded = source->base();
  if (!loaded.loaded) {
    result.errors = std::move(loaded.errors);
    return result;
  }
  auto plan = std::make_shared<UncertainPlan>();
  plan->base = *std::move(loaded.loaded);
  const Scenario& scenario = plan->base.scenario;
  std::ranges::copy_if(plan->base.uncertain, std::back_inserter(plan->keys),
                       [](const UncertainKey& key) { return !key.is_set; });
  if (plan->keys.empty() && !request.may_be_certain) refuse_certain(plan->base);
  if (scenario.warmup_is_auto) {
    throw RequestError(
        fmt::format("{} has warmup = \"auto\", but each draw would need another one; give a time",
                    scenario.name));
  }
  const int draws = request.draws > 0 ? request.draws : draws_asked(plan->base);
  for (int i = 0; i < draws; ++i) {
    stop_point();
    std::vector<double>& values = plan->draws.emplace_back();
    for (const UncertainKey& key : plan->keys) {
      values.push_back(draw_uncertain(key, scenario.seed, static_cast<std::uint32_t>(i)));
    }
    if (plan->keys.empty()) continue;
    LoadResult drawn = source->load(*plan, static_cast<std::size_t>(i));
    if (drawn.loaded) continue;
    result.errors = std::move(drawn.errors);
    for (Diagnostic& d : result.errors) {
      d.message += fmt::format(" (in draw {} of what is uncertain)", i);
    }
    return result;
  }
  const std::shared_ptr<const UncertainPlan> kept = plan;
  result.plan = *plan;
  result.plan->scenario = [source, kept](std::size_t draw) {
    return std::make_shared<const Scenario>(source->load(*kept, draw).value().scenario);
  };
  return result;
}

UncertainVariantsResult plan_uncertain_variants(const UncertainVariantsRequest& request) {
  UncertainVariantsResult result;
  experiment::VariantSources sources =
      experiment::variant_sources(request.vary, request.baseline, request.files);
  if (!sources.errors.empty()) {
    result.errors = std::move(sources.errors);
    return result;
  }
  experiment::VariantMistakes mistakes;
  for (const experiment::VariantSource& v : sources.variants) {
    UncertainPlanResult one = plan_uncertain({.scenario = request.scenario,
                                              .edits = request.edits,
                                              .variant_edits = v.edits,
                                              .draws = request.draws,
                                              .variant_file = v.file,
                                              .may_be_certain = true});
    mistakes.add(v, std::move(one.errors));
    if (one.plan) result.variants.push_back({v.name, *std::move(one.plan)});
  }
  result.errors = mistakes.all();
  if (!result.errors.empty()) {
    result.variants.clear();
    return result;
  }
  const auto plan = [](const UncertainVariant& v) -> const UncertainPlan& { return v.plan; };
  const UncertainPlan& first = result.variants.front().plan;
  if (std::ranges::all_of(result.variants, [&](auto& v) { return plan(v).keys.empty(); })) {
    refuse_certain(first.base);
  }
  const auto is_disturbed = [](const Scenario& s) {
    return stats::least_duration_to_judge_s(s).has_value();
  };
  for (const UncertainVariant& v : result.variants) {
    const Scenario& own = v.plan.base.scenario;
    const Scenario& baseline = first.base.scenario;
    const auto refuse = [&](std::string_view what) {
      throw RequestError(fmt::format("variant {}: {}; the variants have to meet the same draws",
                                     scenario::in_quotes(v.name), what));
    };
    if (own.seed != baseline.seed) refuse("its seed is another one than the baseline's");
    if (own.duration != baseline.duration) {
      refuse("its duration is another one than the baseline's");
    }
    if (v.plan.draws.size() != first.draws.size()) {
      refuse("it has another number of draws than the baseline");
    }
    if (is_disturbed(own) != is_disturbed(baseline)) {
      refuse(is_disturbed(own)
                 ? "it has a fault or surge to recover from, and the baseline has none"
                 : "it has no fault or surge to recover from, and the baseline has one");
    }
  }
  return result;
}

// --- The answer ----------------------------------------------------------------------------------

namespace {

/// The draws that could be judged, ordered by the values of one key.
class OrderedDraws {
 public:
  OrderedDraws(std::span<const std::vector<double>> draws, std::span<const std::size_t> judged,
               std::size_t key) {
    order_.resize(judged.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto value = [&](std::size_t i) { return draws[judged[i]][key]; };
    std::ranges::stable_sort(order_, {}, value);
    for (const std::size_t i : order_) values_.push_back(value(i));
  }

  /// The split at which the shares of `good` draws differ most, as the number of draws below it; 0
  /// if all draws have the same value. `most` is set to chi squared there.
  std::size_t best(const std::vector<char>& good, double& most) const {
    const std::size_t n = order_.size();
    std::size_t hits = 0;
    for (const char g : good) hits += g != 0;
    most = 0;
    std::size_t best = 0, below = 0;
    const auto all = static_cast<double>(n), of_all = static_cast<double>(hits);
    for (std::size_t i = 1; i < n; ++i) {
      below += good[order_[i - 1]] != 0;
      if (values_[i] == values_[i - 1]) continue;
      const auto left = static_cast<double>(i);
      const double off = static_cast<double>(below) * all - left * of_all;
      const double scale = left * (all - left) * of_all * (all - of_all);
      const double chi = scale > 0 ? off * off * all / scale : 0;
      if (chi > most) most = chi, best = i;
    }
    return best;
  }

  UncertainSplit split(const std::vector<char>& good, std::size_t at) const {
    UncertainSplit result;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      UncertainSide& side = i < at ? result.below : result.above;
      ++side.of;
      side.good += good[order_[i]] != 0;
    }
    result.below.end = values_[at - 1];
    result.above.end = values_[at];
    return result;
  }

  double first() const { return values_.front(); }

 private:
  std::vector<std::size_t> order_;
  std::vector<double> values_;
};

/// Permutes the labels; `p` is the number of the permutation.
void shuffle(std::vector<char>& labels, const RandomKey& random, std::uint32_t p) {
  for (std::size_t i = labels.size(); i > 1; --i) {
    const std::uint64_t word =
        Draws::first_word(random, {.entity = i, .attempt = p, .purpose = Purpose::kUncertain});
    std::swap(labels[i - 1], labels[Draws::below(word, static_cast<std::uint32_t>(i))]);
  }
}

constexpr int kPermutations = 999;
constexpr double kSignificant = 0.05;
constexpr std::size_t kMostDeciding = 2;

}  // namespace

UncertainAnswer answer_uncertain(UncertainQuestion question,
                                 std::span<const std::vector<double>> draws,
                                 std::vector<std::optional<bool>> good) {
  UncertainAnswer answer;
  answer.question = question;
  answer.good = std::move(good);
  std::vector<std::size_t> judged;
  std::vector<char> labels;
  for (std::size_t i = 0; i < answer.good.size(); ++i) {
    if (!answer.good[i]) continue;
    judged.push_back(i);
    labels.push_back(*answer.good[i] ? 1 : 0);
    answer.hits += *answer.good[i] ? 1 : 0;
  }
  answer.judged = judged.size();
  const stats::ProportionInterval interval = stats::wilson_interval(answer.hits, answer.judged);
  answer.low = interval.low;
  answer.high = interval.high;
  if (answer.hits == 0 || answer.hits == answer.judged) return answer;

  std::vector<OrderedDraws> keys;
  std::vector<double> observed;
  std::vector<int> as_large(draws.front().size(), 0);
  for (std::size_t k = 0; k < draws.front().size(); ++k) {
    keys.emplace_back(draws, judged, k);
    const std::size_t at = keys[k].best(labels, observed.emplace_back());
    UncertainSplit split;
    if (at == 0) {  // all draws have the same value
      split.below = {keys[k].first(), answer.hits, answer.judged};
    } else {
      split = keys[k].split(labels, at);
    }
    split.key = k;
    answer.splits.push_back(split);
  }
  std::vector<char> permuted = labels;
  const RandomKey random(0, 0);
  for (int p = 0; p < kPermutations; ++p) {
    stop_point();
    shuffle(permuted, random, static_cast<std::uint32_t>(p));
    for (std::size_t k = 0; k < keys.size(); ++k) {
      double most = 0;
      keys[k].best(permuted, most);
      as_large[k] += most >= observed[k] ? 1 : 0;
    }
  }
  for (std::size_t k = 0; k < keys.size(); ++k) {
    answer.splits[k].p = (1.0 + as_large[k]) / (1.0 + kPermutations);
  }
  // Holm's procedure: the surest key must stand the test for all keys, the next one the test for
  // all others, ...
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (answer.splits[a].p != answer.splits[b].p) return answer.splits[a].p < answer.splits[b].p;
    return observed[a] > observed[b];
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    UncertainSplit& split = answer.splits[order[i]];
    if (split.p * static_cast<double>(order.size() - i) > kSignificant) break;
    split.decides = true;
    if (answer.deciding.size() < kMostDeciding) answer.deciding.push_back(order[i]);
  }
  return answer;
}

// --- The simulation ------------------------------------------------------------------------------

namespace {

std::optional<double> median_of_runs(const MetricValues& values, std::size_t metric) {
  std::vector<double> all;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    if (const auto v = values.at(r, values.clients() - 1, metric)) all.push_back(*v);
  }
  if (all.empty()) return std::nullopt;
  std::ranges::sort(all);
  return all[all.size() / 2];
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The runs of a scenario: with its own values, and of its draws.
struct DrawnRuns {
  MetricValues drawn, own;
  /// The success of each run in its first phase, see `success_at_first`.
  std::vector<std::optional<double>> drawn_first, own_first;
};

/// Judges runs by what is usual: the best medians of scenarios with their own values.
class UncertainJudge {
 public:
  /// With the runs of each plan; at least one.
  UncertainJudge(std::span<const UncertainPlan* const> plans, std::span<const DrawnRuns> all)
      : share_(plans.front()->base.scenario.recovery.share) {
    const auto raise = [](std::optional<double>& level, std::optional<double> to) {
      if (to && (!level || *to > *level)) level = to;
    };
    bool recovers = false;
    for (std::size_t p = 0; p < all.size(); ++p) {
      const DrawnRuns& runs = all[p];
      recovers = recovers || median_of_runs(runs.own, recovered_) ||
                 median_of_runs(runs.drawn, recovered_);
      raise(usual_, median_of_runs(runs.own, success_));
      std::vector<double> before;
      if (experiment::begins_undisturbed(plans[p]->base.scenario)) {
        for (const std::optional<double>& s : runs.own_first) {
          if (s) before.push_back(*s);
        }
      }
      if (!before.empty()) raise(usual_before_, median(std::move(before)));
    }
    question_ = recovers ? UncertainQuestion::kRecovers : UncertainQuestion::kKeepsUp;
  }

  UncertainQuestion question() const { return question_; }

  /// Judges the draws and the runs with the own values.
  UncertainStudy study(UncertainPlan plan, DrawnRuns runs) const {
    std::vector<std::optional<bool>> good;
    std::size_t ill = 0;
    const auto base = [&] { return execution::borrowed(plan.base.scenario); };
    for (std::size_t i = 0; i < runs.drawn.runs(); ++i) {
      const auto drawn = [&] { return plan.keys.empty() ? base() : plan.scenario(i); };
      good.push_back(is_good(runs.drawn, i, runs.drawn_first[i], drawn));
      ill += is_ill_before(runs.drawn_first[i], drawn) ? 1 : 0;
    }
    UncertainAnswer answer = answer_uncertain(question_, plan.draws, std::move(good));
    answer.ill_before = ill;
    UncertainStudy study{
        std::move(plan), std::move(runs.drawn), std::move(runs.own), std::move(answer), 0, 0};
    for (std::size_t i = 0; i < study.own.runs(); ++i) {
      const auto its = is_good(study.own, i, runs.own_first[i],
                               [&] { return execution::borrowed(study.plan.base.scenario); });
      study.own_judged += its ? 1 : 0;
      study.own_hits += its && *its ? 1 : 0;
    }
    return study;
  }

 private:
  // `scenario` gives the scenario of the run, and is asked only where its figures do not suffice.
  template <class ScenarioOf>
  bool is_ill_before(std::optional<double> first, const ScenarioOf& scenario) const {
    if (question_ != UncertainQuestion::kRecovers || !usual_before_ || !first) return false;
    return *first < share_ * *usual_before_ && experiment::begins_undisturbed(*scenario());
  }

  template <class ScenarioOf>
  std::optional<bool> is_good(const MetricValues& values, std::size_t run,
                              std::optional<double> first, const ScenarioOf& scenario) const {
    const std::size_t all = values.clients() - 1;
    if (question_ == UncertainQuestion::kRecovers) {
      if (is_ill_before(first, scenario)) return false;
      return experiment::has_recovered(values.at(run, all, recovered_), scenario);
    }
    const auto success = values.at(run, all, success_);
    if (!success || !usual_) return std::nullopt;
    return *success >= share_ * *usual_;
  }

  double share_;
  std::size_t recovered_ = index_of(*find_metric("recovered"));
  std::size_t success_ = index_of(*find_metric("success_rate"));
  UncertainQuestion question_ = UncertainQuestion::kRecovers;
  std::optional<double> usual_, usual_before_;
};

/// Simulates the draws of each plan, and replications with its own values: as many as the scenario
/// says, but no more than draws.
std::vector<DrawnRuns> simulate_draws(std::span<const UncertainPlan* const> plans,
                                      const ReplicationOptions& run) {
  using namespace execution;
  // Scenarios are numbered plan by plan: its draws, and itself.
  struct Place {
    std::size_t first_unit, first_scenario, draws, own;
  };
  std::vector<Place> places;
  std::size_t units = 0, scenarios = 0;
  for (const UncertainPlan* plan : plans) {
    const std::size_t draws = plan->draws.size();
    const auto replications = static_cast<std::size_t>(plan->base.scenario.replications);
    const Place& place =
        places.emplace_back(Place{units, scenarios, draws, std::min(draws, replications)});
    units += place.draws + place.own;
    scenarios += place.draws + 1;
  }
  const auto last_from = [&](std::size_t Place::*first, std::size_t number) {
    const auto after = std::ranges::upper_bound(places, number, {}, first);
    return static_cast<std::size_t>(after - places.begin()) - 1;
  };
  Units wanted;
  wanted.keep = Keep::kRow;
  wanted.count = units;
  wanted.unit = [&](std::size_t i) {
    const Place& p = places[last_from(&Place::first_unit, i)];
    const std::size_t at = i - p.first_unit;
    return at < p.draws
               ? Unit{p.first_scenario + at, static_cast<std::uint32_t>(at)}
               : Unit{p.first_scenario + p.draws, static_cast<std::uint32_t>(at - p.draws)};
  };
  wanted.scenario = [&](std::size_t number) {
    const std::size_t i = last_from(&Place::first_scenario, number);
    const UncertainPlan& plan = *plans[i];
    const std::size_t draw = number - places[i].first_scenario;
    const bool is_drawn = draw < places[i].draws && !plan.keys.empty();
    return is_drawn ? plan.scenario(draw) : borrowed(plan.base.scenario);
  };
  const std::vector<UnitResult> rows = get_rows(wanted, run);
  check_events(rows, run);
  std::vector<DrawnRuns> all;
  for (const Place& p : places) {
    const std::span of_draws = std::span(rows).subspan(p.first_unit, p.draws);
    const std::span of_own = std::span(rows).subspan(p.first_unit + p.draws, p.own);
    DrawnRuns& runs = all.emplace_back(DrawnRuns{combine(of_draws), combine(of_own), {}, {}});
    for (const UnitResult& row : of_draws) {
      runs.drawn_first.push_back(experiment::success_at_first(row));
    }
    for (const UnitResult& row : of_own) {
      runs.own_first.push_back(experiment::success_at_first(row));
    }
  }
  return all;
}

}  // namespace

UncertainStudy study_uncertain(UncertainPlan plan, const ReplicationOptions& run) {
  const UncertainPlan* const plans[] = {&plan};
  std::vector<DrawnRuns> runs = simulate_draws(plans, run);
  const UncertainJudge judge(plans, runs);
  return judge.study(std::move(plan), std::move(runs.front()));
}

// --- Variants ------------------------------------------------------------------------------------

namespace {

stats::Series good_series(const UncertainAnswer& answer) {
  stats::Series series;
  for (const std::optional<bool>& good : answer.good) {
    series.push_back(good ? std::optional<double>(*good ? 1 : 0) : std::nullopt);
  }
  return series;
}

stats::Series drawn_series(const UncertainStudy& study, const MetricInfo& metric) {
  stats::Series series;
  for (std::size_t i = 0; i < study.drawn.runs(); ++i) {
    series.push_back(study.drawn.at(i, study.drawn.clients() - 1, index_of(metric)));
  }
  return series;
}

/// In how many draws the first is good and the second is known not to be.
std::size_t only_first(const UncertainAnswer& first, const UncertainAnswer& second) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < first.good.size(); ++i) {
    count += first.good[i].value_or(false) && !second.good[i].value_or(true) ? 1 : 0;
  }
  return count;
}

}  // namespace

UncertainComparison compare_uncertain(std::vector<UncertainVariant> variants,
                                      const CompareOptions& options) {
  if (variants.empty()) throw RequestError("there is no variant to compare");
  std::vector<const UncertainPlan*> plans;
  for (const UncertainVariant& v : variants) plans.push_back(&v.plan);
  std::vector<DrawnRuns> runs = execution::in_time(
      options.run, [&](const ReplicationOptions& run) { return simulate_draws(plans, run); });
  const UncertainJudge judge(plans, runs);
  UncertainComparison result;
  result.question = judge.question();
  result.metrics = options.metrics.empty() ? headline_metrics() : options.metrics;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    result.names.push_back(std::move(variants[v].name));
    result.studies.push_back(judge.study(std::move(variants[v].plan), std::move(runs[v])));
  }
  const UncertainAnswer& baseline = result.studies.front().answer;
  std::vector<stats::Series> goods;
  for (const UncertainStudy& study : result.studies) goods.push_back(good_series(study.answer));
  result.goods = stats::paired_differences(std::span(goods).subspan(1), goods.front(),
                                           stats::PairedTest::kMcNemar);
  for (std::size_t v = 1; v < result.studies.size(); ++v) {
    const UncertainAnswer& answer = result.studies[v].answer;
    result.only_it.push_back(only_first(answer, baseline));
    result.only_baseline.push_back(only_first(baseline, answer));
  }
  std::vector<std::vector<ComparisonRow>> by_variant(result.studies.size());
  for (const MetricInfo* metric : result.metrics) {
    std::vector<stats::Series> series;
    for (const UncertainStudy& study : result.studies) {
      series.push_back(drawn_series(study, *metric));
    }
    const auto differences =
        stats::metric_differences(*metric, std::span(series).subspan(1), series.front());
    for (std::size_t v = 0; v < differences.size(); ++v) {
      const PairedDifference& d = differences[v];
      if (d.pairs + d.only_variant + d.only_baseline == 0) continue;
      by_variant[v + 1].push_back({v + 1, "all", metric, d});
    }
  }
  for (auto& rows : by_variant) std::ranges::move(rows, std::back_inserter(result.rows));
  return result;
}

}  // namespace retrysim

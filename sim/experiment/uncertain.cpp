// Uncertain keys: the law of the draws, their simulation, and which keys decide.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>
#include <retrysim/uncertain.hpp>

#include "estimate/intervals.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "experiment/success_before.hpp"
#include "kernel/functions.hpp"
#include "kernel/quantiles.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
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

/// The scenario file, from which draws are loaded.
class UncertainSource {
 public:
  UncertainSource(const UncertainRequest& request, std::string_view text)
      : reader_(text, request.scenario.string(), request.scenario.parent_path(), request.edits),
        variant_edits_(request.variant_edits) {}

  LoadResult base() const { return reader_.load(variant_edits_); }
  LoadResult load(const UncertainPlan& plan, std::size_t draw) const {
    std::vector<std::string> edits = variant_edits_;
    for (std::size_t k = 0; k < plan.keys.size(); ++k) {
      edits.push_back(edit_of(plan.keys[k], plan.draws[draw][k]));
    }
    return reader_.load(edits);
  }

 private:
  scenario::ScenarioReader reader_;
  std::vector<std::string> variant_edits_;
};

}  // namespace

UncertainPlanResult plan_uncertain(const UncertainRequest& request) {
  UncertainPlanResult result;
  const auto text = scenario::read_scenario_text(request.scenario, result.errors);
  if (!text) return result;
  const auto source = std::make_shared<const UncertainSource>(request, *text);
  LoadResult loaded = source->base();
  if (!loaded.loaded) {
    result.errors = std::move(loaded.errors);
    return result;
  }
  auto plan = std::make_shared<UncertainPlan>();
  plan->base = *std::move(loaded.loaded);
  plan->base.file = request.scenario;
  const Scenario& scenario = plan->base.scenario;
  std::ranges::copy_if(plan->base.uncertain, std::back_inserter(plan->keys),
                       [](const UncertainKey& key) { return !key.is_set; });
  if (plan->keys.empty()) {
    throw RequestError(
        plan->base.uncertain.empty()
            ? fmt::format("nothing is uncertain in {}; write the intervals of what you do not know "
                          "for sure: [uncertain.\"service.NAME.servers\"] with low and high",
                          scenario.name)
            : fmt::format("nothing is uncertain in {}: each uncertain key is set to a value",
                          scenario.name));
  }
  if (scenario.warmup_is_auto) {
    throw RequestError(
        fmt::format("{} has warmup = \"auto\", but each draw would need another one; give a time",
                    scenario.name));
  }
  for (int i = 0; i < request.draws; ++i) {
    stop_point();
    std::vector<double>& values = plan->draws.emplace_back();
    for (const UncertainKey& key : plan->keys) {
      values.push_back(draw_uncertain(key, scenario.seed, static_cast<std::uint32_t>(i)));
    }
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

/// Judges runs by what is usual with the scenario's own values.
class UncertainJudge {
 public:
  UncertainJudge(const Scenario& scenario, const MetricValues& own, const PhaseValues& own_phases,
                 const MetricValues& drawn)
      : share_(scenario.recovery.share) {
    const auto recovers = [&](const MetricValues& values) {
      return median_of_runs(values, recovered_).has_value();
    };
    question_ = recovers(own) || recovers(drawn) ? UncertainQuestion::kRecovers
                                                 : UncertainQuestion::kKeepsUp;
    usual_ = median_of_runs(own, success_);
    std::vector<double> before;
    for (std::size_t r = 0; r < own.runs(); ++r) {
      if (const auto s = experiment::success_before(own_phases, r)) before.push_back(*s);
    }
    std::ranges::sort(before);
    if (!before.empty()) usual_before_ = before[before.size() / 2];
  }

  UncertainQuestion question() const { return question_; }

  bool is_ill_before(const PhaseValues& phases, std::size_t run) const {
    if (question_ != UncertainQuestion::kRecovers || !usual_before_) return false;
    const auto before = experiment::success_before(phases, run);
    return before && *before < share_ * *usual_before_;
  }

  std::optional<bool> is_good(const MetricValues& values, const PhaseValues& phases,
                              std::size_t run) const {
    const std::size_t all = values.clients() - 1;
    if (question_ == UncertainQuestion::kRecovers) {
      if (is_ill_before(phases, run)) return false;
      const auto recovered = values.at(run, all, recovered_);
      if (!recovered) return std::nullopt;
      return *recovered == 1;
    }
    const auto success = values.at(run, all, success_);
    if (!success || !usual_) return std::nullopt;
    return *success >= share_ * *usual_;
  }

 private:
  double share_;
  std::size_t recovered_ = index_of(*find_metric("recovered"));
  std::size_t success_ = index_of(*find_metric("success_rate"));
  UncertainQuestion question_;
  std::optional<double> usual_, usual_before_;
};

}  // namespace

UncertainStudy study_uncertain(UncertainPlan plan, const ReplicationOptions& run) {
  using namespace execution;
  const Scenario& scenario = plan.base.scenario;
  const std::size_t draws = plan.draws.size();
  const std::size_t own = std::min(draws, static_cast<std::size_t>(scenario.replications));
  Units units;
  units.keep = Keep::kRow;
  units.count = draws + own;
  units.unit = [&](std::size_t i) {
    return i < draws ? Unit{i, static_cast<std::uint32_t>(i)}
                     : Unit{draws, static_cast<std::uint32_t>(i - draws)};
  };
  units.scenario = [&](std::size_t number) {
    return number < draws ? plan.scenario(number) : borrowed(scenario);
  };
  const std::vector<UnitResult> rows = get_rows(units, run);
  check_events(rows, run);

  const std::span of_draws = std::span(rows).first(draws), of_own = std::span(rows).subspan(draws);
  MetricValues drawn = combine(of_draws), own_values = combine(of_own);
  const PhaseValues drawn_phases = combine_phases(of_draws), own_phases = combine_phases(of_own);
  const UncertainJudge judge(scenario, own_values, own_phases, drawn);
  std::vector<std::optional<bool>> good;
  std::size_t ill = 0;
  for (std::size_t i = 0; i < draws; ++i) {
    good.push_back(judge.is_good(drawn, drawn_phases, i));
    ill += judge.is_ill_before(drawn_phases, i) ? 1 : 0;
  }
  UncertainAnswer answer = answer_uncertain(judge.question(), plan.draws, std::move(good));
  answer.ill_before = ill;
  UncertainStudy study{
      std::move(plan), std::move(drawn), std::move(own_values), std::move(answer), 0, 0};
  for (std::size_t i = 0; i < own; ++i) {
    const auto its = judge.is_good(study.own, own_phases, i);
    study.own_judged += its ? 1 : 0;
    study.own_hits += its && *its ? 1 : 0;
  }
  return study;
}

}  // namespace retrysim

// The command `choose`: checks the request, and races the policies stage by stage. The rules of the
// race are in estimate/selection.hpp.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/run.hpp>

#include "estimate/modes.hpp"
#include "estimate/selection.hpp"
#include "execution/executor.hpp"
#include "execution/identity.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "experiment/single_run.hpp"
#include "experiment/unseen.hpp"
#include "kernel/boost_math.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::experiment {

/// Checks a request. Throws RequestError.
void check_choice(const std::vector<NamedScenario>& policies, const ChooseOptions& options);

/// The limits, each with a tolerance. Throws RequestError if a bound gives none.
std::vector<ChoiceLimit> with_tolerances(std::vector<ChoiceLimit> limits);

/// The range in which every replication's value of the metric lies; empty if there is no upper
/// bound.
std::optional<SelectionRange> range_of(const MetricInfo& metric);

/// The index of a client group, or "all", in `MetricValues`.
std::size_t place_of_client(const Scenario& scenario, std::string_view client);

}  // namespace retrysim::experiment

namespace retrysim {

namespace {

std::string limit_part() { return RequestError::part("subject_to"); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

void check_client(const std::vector<NamedScenario>& policies, const std::string& client) {
  if (client == "all") return;
  for (const NamedScenario& p : policies) {
    const Scenario& scenario = p.loaded.scenario;
    if (experiment::place_of_client(scenario, client) < scenario.clients.size()) continue;
    std::vector<std::string_view> names = {"all"};
    for (const ClientSpec& group : scenario.clients) names.push_back(group.name);
    throw RequestError(fmt::format("{}: {} has no client group '{}'; {}",
                                   RequestError::part("client"), p.name, client,
                                   scenario::suggestion(client, names, "there are")));
  }
}

void check_metric(const MetricInfo* metric, const std::string& client, std::string_view option) {
  if (metric == nullptr) throw RequestError("the aim of the choice is missing");
  if (client != "all" && metric->scope == MetricScope::kAllOnly) {
    throw RequestError(fmt::format("{}: {} exists for all clients together only, not for '{}'",
                                   option, metric->name, client));
  }
}

void check_numbers(const ChooseOptions& options) {
  if (options.procedure == ChoiceProcedure::kBounds && !experiment::range_of(*options.aim.metric)) {
    throw RequestError(fmt::format(
        "{} bounds: {} has no upper bound; use it for shares and probabilities, such as "
        "success_rate or recovered",
        RequestError::part("procedure"), options.aim.metric->name));
  }
  if (options.indifference &&
      !(*options.indifference > 0 && std::isfinite(*options.indifference))) {
    throw RequestError(RequestError::part("indifference") + ": a number above 0 is needed");
  }
  if (!(options.confidence > 0.5 && options.confidence < 1)) {
    throw RequestError(RequestError::part("confidence") +
                       ": a number above 0.5 and below 1 is needed");
  }
  if (options.batch < 1) throw RequestError(RequestError::part("batch") + ": at least 1 is needed");
}

void check_policies(const std::vector<NamedScenario>& policies, const ChooseOptions& options) {
  if (policies.size() < 2) throw RequestError("a choice needs at least two policies");
  const int replications = policies.front().loaded.scenario.replications;
  for (const NamedScenario& p : policies) {
    if (p.loaded.scenario.replications != replications) {
      throw RequestError(
          "all policies begin with the same number of replications; do not vary replications");
    }
    if (p.loaded.scenario.warmup_is_auto) {
      throw RequestError(fmt::format(
          "choose does not determine the warm-up of each policy; set one with {} warmup=30s "
          "(retrysim run finds a suitable value)",
          RequestError::part("set")));
    }
  }
  const auto first = static_cast<std::size_t>(replications);
  if (first < 2 * options.batch || first % options.batch != 0) {
    throw RequestError(fmt::format(
        "the first stage has {} replication{}, which do{} not make two or more whole {}; use "
        "{} {}",
        first, first == 1 ? "" : "s", first == 1 ? "es" : "",
        options.batch == 1 ? "observations" : fmt::format("batches of {}", options.batch),
        RequestError::part("replications"), 10 * options.batch));
  }
}

double default_tolerance(const ChoiceLimit& limit) {
  constexpr double kOfShare = 0.1, kOfOther = 0.01;
  const double bound = std::fabs(limit.bound);
  if (limit.metric->range != MetricRange::kShare) return kOfOther * bound;
  return kOfShare * std::min(bound, std::fabs(1 - limit.bound));
}

}  // namespace

std::string ChoiceLimit::text() const {
  return fmt::format("{}{}{}", metric->name, at_least ? ">=" : "<=", bound);
}

ChoiceLimit parse_choice_limit(const std::string& text, const std::string& part) {
  const std::size_t sign = text.find_first_of("<>=");
  const auto wrong = [&](std::string_view why) {
    return RequestError(fmt::format("{} '{}': {}", RequestError::part(part), text, why));
  };
  if (sign == std::string::npos || sign + 1 >= text.size() || text[sign] == '=' ||
      text[sign + 1] != '=') {
    throw wrong("expected METRIC>=VALUE or METRIC<=VALUE, such as success_rate>=0.999");
  }
  ChoiceLimit limit;
  const std::string_view name = trimmed(std::string_view(text).substr(0, sign));
  limit.metric = find_metric(name);
  if (limit.metric == nullptr) {
    const auto names = metric_names();
    throw wrong(fmt::format("there is no metric '{}'; {}", name,
                            scenario::nearest(name, names).empty()
                                ? "`retrysim list metrics` names them"
                                : scenario::suggestion(name, names, "")));
  }
  limit.at_least = text[sign] == '>';
  std::string_view value = std::string_view(text).substr(sign + 2);
  if (const std::size_t at = value.find("+-"); at != std::string_view::npos) {
    limit.tolerance = number_in(trimmed(value.substr(at + 2)));
    if (!limit.tolerance || *limit.tolerance <= 0) {
      throw wrong("the tolerance after +- is a number above 0, in the unit of the metric");
    }
    value = value.substr(0, at);
  }
  const auto bound = number_in(trimmed(value));
  if (!bound) throw wrong("the bound is a number in the unit of the metric, 0.05 for 50 ms");
  limit.bound = *bound;
  if (limit.metric->range == MetricRange::kShare) {
    // A percentage, or a limit that every policy keeps, or none.
    const std::string why = scenario::wrong_share(limit.metric->name, limit.bound);
    if (!why.empty()) throw wrong(why);
  }
  return limit;
}

namespace experiment {

std::optional<SelectionRange> range_of(const MetricInfo& metric) {
  switch (metric.range) {
    case MetricRange::kShare:
      return SelectionRange{0, 1};
    case MetricRange::kCorrelation:
      return SelectionRange{-1, 1};
    case MetricRange::kNotNegative:
      break;
  }
  return std::nullopt;
}

std::size_t place_of_client(const Scenario& scenario, std::string_view client) {
  const auto found = std::find_if(scenario.clients.begin(), scenario.clients.end(),
                                  [&](const ClientSpec& group) { return group.name == client; });
  return static_cast<std::size_t>(found - scenario.clients.begin());
}

std::vector<ChoiceLimit> with_tolerances(std::vector<ChoiceLimit> limits) {
  for (ChoiceLimit& limit : limits) {
    if (!limit.tolerance) limit.tolerance = default_tolerance(limit);
    if (*limit.tolerance > 0) continue;
    throw RequestError(fmt::format(
        "{} '{}': this bound does not imply a precision; add a tolerance, such as {}+-0.01",
        limit_part(), limit.text(), limit.text()));
  }
  return limits;
}

void check_choice(const std::vector<NamedScenario>& policies, const ChooseOptions& options) {
  check_metric(options.aim.metric, options.aim.client,
               RequestError::part(options.aim.maximize ? "maximize" : "minimize"));
  for (const ChoiceLimit& limit : options.limits) {
    check_metric(limit.metric, options.aim.client, limit_part());
  }
  with_tolerances(options.limits);
  check_numbers(options);
  check_policies(policies, options);
  check_client(policies, options.aim.client);
}

}  // namespace experiment

// --- The question --------------------------------------------------------------------------------

namespace {

std::string aim_text(const ChoiceAim& aim) {
  return fmt::format("{} {} of {}", aim.maximize ? "maximize" : "minimize", aim.metric->name,
                     aim.client);
}

execution::Identity identity_of(const std::vector<NamedScenario>& policies,
                                const ChooseOptions& options) {
  std::string names, limits, hash;
  std::set<std::filesystem::path> inputs;
  for (const NamedScenario& p : policies) {
    names += p.name + "\n";
    hash = fmt::format("{:016x}", execution::id_of({{hash, to_toml(p.loaded, false)}}));
    inputs.insert(p.loaded.input_files.begin(), p.loaded.input_files.end());
  }
  for (const ChoiceLimit& limit : options.limits) {
    limits += limit.text() + (limit.tolerance ? fmt::format("+-{}", *limit.tolerance) : "") + "\n";
  }
  return {
      {"the version of retrysim", RETRYSIM_VERSION},
      {"--vary", names},
      {"the resolved scenarios", hash},
      {"--maximize, --minimize or --client", aim_text(options.aim)},
      {"--subject-to", limits},
      {"--indifference", options.indifference ? fmt::format("{}", *options.indifference) : ""},
      {"--procedure", std::string(options.procedure ? name(*options.procedure) : "")},
      {"--confidence", fmt::format("{}", options.confidence)},
      {"--batch", fmt::format("{}", options.batch)},
      {"the CSV inputs", execution::describe_files({inputs.begin(), inputs.end()})},
  };
}

}  // namespace

std::uint64_t id_of_choice(const std::vector<NamedScenario>& policies,
                           const ChooseOptions& options) {
  execution::Identity identity = identity_of(policies, options);
  identity.emplace_back("--max-replications", fmt::format("{}", options.max_replications));
  return execution::id_of(identity);
}

// --- The race ------------------------------------------------------------------------------------

namespace {

/// Runs in which an event that happens in one of twenty is seen with probability 95 %: 0.95^59 <
/// 0.05.
constexpr std::size_t kRunsThatShowRarities = 59;

/// The race of one choice.
class Race {
 public:
  Race(PolicyChoice& choice, const ChooseOptions& options, const ReplicationOptions& run)
      : choice_(choice), options_(options), run_(run) {
    const std::string_view aim = choice_.aim.metric->name;
    if (aim != "latency_mean" && aim != "latency_ok_mean") return;
    for (const ChoicePolicy& p : choice_.policies) unseen_.emplace_back(p.loaded.scenario);
  }

  void run() {
    Selection selection(rules());
    const auto batches = [&](std::size_t n) { return n / options_.batch * options_.batch; };
    const auto first =
        static_cast<std::size_t>(choice_.policies.front().loaded.scenario.replications);
    const std::size_t most = std::max(batches(options_.max_replications), first);
    const std::size_t least = std::min(most, selection.rules().least_observations * options_.batch);
    std::size_t so_far = 0, next = first;
    while (true) {
      run_stage(selection, so_far, next);
      so_far = next;
      if (selection.finished() || so_far >= most) break;
      if (are_equal(selection, so_far)) {
        choice_.ended_early = true;
        break;
      }
      next = std::min(most, so_far + std::max(options_.batch, batches(so_far / 10)));
      next = std::max(next, least);
      if (const auto last = selection.most_observations()) {
        next = std::min(next, *last * options_.batch);
      }
      // The boundaries are closed by then, but each stage must observe at least one more batch.
      next = std::max(next, so_far + options_.batch);
    }
    conclude(selection);
    for (std::size_t i = 0; asks_for_recovery() && i < untold_.size(); ++i) {
      const ChoicePolicy& policy = choice_.policies[i];
      if (untold_[i].runs == 0) continue;
      choice_.notes.push_back(
          policy.name + ": " +
          stats::untold_note(untold_[i].runs, policy.replications, untold_[i].duration_s));
    }
  }

 private:
  /// Whether the aim or a limit is about recovery.
  bool asks_for_recovery() const {
    const auto is_of_recovery = [](const MetricInfo& m) { return m.name.starts_with("recover"); };
    return is_of_recovery(*choice_.aim.metric) ||
           std::ranges::any_of(choice_.limits,
                               [&](const auto& l) { return is_of_recovery(*l.metric); });
  }

  std::optional<SelectionRange> range_of(const MetricInfo& metric) const {
    if (options_.procedure == ChoiceProcedure::kNormal) return std::nullopt;
    return experiment::range_of(metric);
  }

  std::size_t place_of(std::size_t policy) const {
    return experiment::place_of_client(choice_.policies[policy].loaded.scenario,
                                       choice_.aim.client);
  }

  std::optional<double> value_of(const MetricValues& values, std::size_t replication,
                                 std::size_t policy, const MetricInfo& metric) const {
    return values.at(replication, place_of(policy), index_of(metric));
  }

  SelectionRules rules() const {
    SelectionRules rules;
    rules.systems = choice_.policies.size();
    rules.maximize = choice_.aim.maximize;
    rules.indifference = options_.indifference.value_or(0);
    rules.range = range_of(*choice_.aim.metric);
    rules.patience = std::max<std::size_t>(1, options_.max_replications / options_.batch);
    rules.confidence = choice_.confidence;
    // Times have the longest tails: a mean is normal only when it includes some of the long times.
    if (!rules.range && choice_.aim.metric->unit == "s") {
      rules.least_observations =
          std::min(rules.patience, (kRunsThatShowRarities + options_.batch - 1) / options_.batch);
    }
    if (!unseen_.empty()) {
      rules.unseen = [this](std::size_t a, std::size_t b, std::size_t n) {
        return std::max(unseen(a, b, n), options_.indifference ? 0 : by_chance(a, b, n));
      };
    }
    for (const ChoiceLimit& limit : choice_.limits) {
      rules.limits.push_back(
          {limit.bound, limit.at_least, *limit.tolerance, range_of(*limit.metric)});
    }
    return rules;
  }

  /// How much two mean latencies may differ, s, by service times that are too rare to be seen in so
  /// many observations. Times that are equally rare in both make no difference.
  double unseen(std::size_t a, std::size_t b, std::size_t observations) const {
    const std::size_t runs = observations * options_.batch;
    return std::fabs(unseen_[a].in_mean(runs) - unseen_[b].in_mean(runs));
  }

  /// The largest difference of two mean latencies, s, that chance makes in so many observations, by
  /// the laws of their service times, with the promised confidence. A zone that the user gives says
  /// which differences do not matter; the default zone may be as wide as this.
  double by_chance(std::size_t a, std::size_t b, std::size_t observations) const {
    const std::size_t runs = observations * options_.batch;
    const double variance =
        std::fabs(unseen_[a].variance_of_mean(runs) - unseen_[b].variance_of_mean(runs));
    return boost::math::quantile(boost::math::normal(), choice_.confidence) * std::sqrt(variance);
  }

  void run_stage(Selection& selection, std::size_t from, std::size_t until) {
    const std::vector<std::size_t> racing = selection.racing();
    const std::size_t stage = choice_.stages.size() + 1;
    if (options_.stage) options_.stage(stage, racing.size());
    const std::size_t count = until - from;
    const std::vector<execution::UnitResult> rows = rows_of(racing, from, count);
    for (std::size_t k = 0; k < racing.size(); ++k) {
      observe(selection, racing[k], std::span(rows).subspan(k * count, count));
    }
    selection.judge();
    choice_.stages.push_back(until);
    for (const std::size_t i : racing) {
      ChoicePolicy& policy = choice_.policies[i];
      const SelectionState& state = selection.state(i);
      policy.stage = stage;
      policy.replications = until;
      policy.fate = state.fate;
      policy.by = state.by;
      policy.keeps = state.keeps;
      choice_.replications += count;
    }
  }

  /// The rows of replications `from` to `from` + `count` - 1 of the given policies, policy by
  /// policy.
  std::vector<execution::UnitResult> rows_of(const std::vector<std::size_t>& policies,
                                             std::size_t from, std::size_t count) const {
    execution::Units units;
    units.count = policies.size() * count;
    units.unit = [&](std::size_t i) {
      return execution::Unit{policies[i / count], static_cast<std::uint32_t>(from + i % count)};
    };
    units.scenario = [&](std::size_t policy) {
      return execution::borrowed(choice_.policies[policy].loaded.scenario);
    };
    units.name = [&](std::size_t policy) { return choice_.policies[policy].name; };
    return execution::before_more([&] { return execution::get_rows(units, run_); });
  }

  void observe(Selection& selection, std::size_t i, std::span<const execution::UnitResult> rows) {
    ChoicePolicy& policy = choice_.policies[i];
    const MetricValues values = execution::combine(rows);
    const stats::ToldRecoveries told = experiment::told_by(rows);
    const MetricInfo& recovered = *find_metric("recovered");
    for (std::size_t r = 0; r < values.runs(); ++r) {
      policy.not_recovered += told.recovered(values, r, place_of(i)) == 0.0;
    }
    untold_[i].runs += told.untold(place_of(i));
    untold_[i].duration_s = std::max(untold_[i].duration_s, told.duration_s(place_of(i)));
    const auto size = static_cast<double>(options_.batch);
    for (std::size_t r = 0; r < values.runs(); r += options_.batch) {
      const auto average = [&](const MetricInfo& metric) {
        double sum = 0;
        for (std::size_t k = r; k < r + options_.batch; ++k) {
          const auto value = &metric == &recovered ? told.recovered(values, k, place_of(i))
                                                   : value_of(values, k, i, metric);
          if (!value || !std::isfinite(*value)) return std::numeric_limits<double>::quiet_NaN();
          sum += *value;
        }
        return sum / size;
      };
      std::vector<double> numbers = {average(*choice_.aim.metric)};
      for (const ChoiceLimit& limit : choice_.limits) numbers.push_back(average(*limit.metric));
      const auto missing = std::find_if(numbers.begin(), numbers.end(),
                                        [](double number) { return std::isnan(number); });
      if (missing != numbers.end()) {
        const auto place = static_cast<std::size_t>(missing - numbers.begin());
        policy.missing = place == 0 ? choice_.aim.metric : choice_.limits[place - 1].metric;
        selection.drop(i);
        return;
      }
      selection.add(i, numbers[0], std::span(numbers).subspan(1));
      policy.aim.push_back(numbers[0]);
      policy.limited.resize(choice_.limits.size());
      for (std::size_t l = 0; l < choice_.limits.size(); ++l) {
        policy.limited[l].push_back(numbers[l + 1]);
      }
    }
  }

  /// Whether the policies that are left differ by next to nothing in each replication, of which
  /// there are enough. Proof that they are equal would take many more replications; a user who
  /// wants it gives a zone.
  bool are_equal(const Selection& selection, std::size_t replications) const {
    constexpr double kShareOfZone = 0.1;
    const auto leader = selection.leader();
    if (options_.indifference || replications < kRunsThatShowRarities || !leader) return false;
    const std::vector<double>& best = choice_.policies[*leader].aim;
    const std::vector<std::size_t> left = selection.racing();
    return std::all_of(left.begin(), left.end(), [&](std::size_t i) {
      const ChoicePolicy& policy = choice_.policies[i];
      const std::vector<bool>& keeps = policy.keeps;
      if (std::find(keeps.begin(), keeps.end(), false) != keeps.end()) return false;
      if (!unseen_.empty() &&
          unseen(i, *leader, best.size()) > kShareOfZone * selection.rules().indifference) {
        return false;
      }
      for (std::size_t r = 0; r < best.size(); ++r) {
        if (std::fabs(policy.aim[r] - best[r]) > kShareOfZone * selection.rules().indifference) {
          return false;
        }
      }
      return true;
    });
  }

  /// Ends the race early: the policies that are left are as good as the leader.
  void end_early(const Selection& selection) {
    choice_.best = selection.leader();
    const std::vector<double>& best = choice_.policies[*choice_.best].aim;
    for (const std::size_t i : selection.racing()) {
      if (i == *choice_.best) continue;
      ChoicePolicy& policy = choice_.policies[i];
      policy.fate = policy.aim == best ? SelectionFate::kSame : SelectionFate::kAsGood;
      policy.by = *choice_.best;
    }
  }

  /// The largest distance of the best policy from the others, if all of them are as good, within
  /// the zone: of their means, and after an early end of any replication. Empty otherwise.
  std::optional<double> distance_of_equals() const {
    double most = 0;
    const std::vector<double>& best = choice_.policies[*choice_.best].aim;
    for (std::size_t i = 0; i < choice_.policies.size(); ++i) {
      const ChoicePolicy& policy = choice_.policies[i];
      if (i == *choice_.best) continue;
      if (policy.fate != SelectionFate::kSame && policy.fate != SelectionFate::kAsGood) return {};
      double difference = 0;
      const std::size_t common = std::min(policy.aim.size(), best.size());
      for (std::size_t r = 0; r < common; ++r) {
        difference += policy.aim[r] - best[r];
        if (choice_.ended_early) most = std::max(most, std::fabs(policy.aim[r] - best[r]));
      }
      most = std::max(most, std::fabs(difference) / static_cast<double>(common));
    }
    return most <= choice_.indifference ? std::optional(most) : std::nullopt;
  }

  void conclude(const Selection& selection) {
    choice_.best = selection.best();
    if (choice_.ended_early) end_early(selection);
    choice_.indifference = selection.rules().indifference;
    choice_.from_first_stage = !options_.indifference;
    choice_.procedure =
        selection.rules().range ? ChoiceProcedure::kBounds : ChoiceProcedure::kNormal;
    if (selection.first_stage() > 0) {
      choice_.equal_allocation = selection.equal_allocation() * options_.batch;
    }
    if (choice_.best) {
      choice_.outcome = ChoiceOutcome::kChosen;
      choice_.all_within = distance_of_equals();
    } else if (!selection.racing().empty()) {
      choice_.outcome = ChoiceOutcome::kUndecided;
      choice_.leader = selection.leader();
      if (choice_.leader) choice_.margin = selection.margin(*choice_.leader);
      if (choice_.leader && !unseen_.empty()) {
        for (const std::size_t i : selection.racing()) {
          choice_.unseen =
              std::max(choice_.unseen,
                       selection.rules().unseen(*choice_.leader, i,
                                                choice_.policies[*choice_.leader].aim.size()));
        }
      }
      if (const auto needed = selection.most_observations()) {
        choice_.replications_needed = *needed * options_.batch;
      }
    } else if (choice_.count(SelectionFate::kBreaksLimit) == 0) {
      choice_.outcome = ChoiceOutcome::kNoneHasValues;
    } else {
      choice_.outcome = ChoiceOutcome::kNoneKeepsLimits;
      choice_.nearest = nearest(selection);
    }
  }

  /// The policy whose worst limit is broken by least, measured in the limit's tolerance.
  std::size_t nearest(const Selection& selection) const {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < choice_.policies.size(); ++i) {
      if (choice_.policies[i].fate != SelectionFate::kBreaksLimit) continue;
      double worst = -std::numeric_limits<double>::infinity();
      for (std::size_t l = 0; l < choice_.limits.size(); ++l) {
        const ChoiceLimit& limit = choice_.limits[l];
        const double above = selection.limited_mean(i, l) - limit.bound;
        worst = std::max(worst, (limit.at_least ? -above : above) / *limit.tolerance);
      }
      if (worst < least) {
        least = worst;
        best = i;
      }
    }
    return best;
  }

  PolicyChoice& choice_;
  const ChooseOptions& options_;
  const ReplicationOptions& run_;
  /// Replications that are too short to tell whether they recover.
  struct Untold {
    std::size_t runs = 0;
    double duration_s = 0;  ///< with which all would tell
  };
  std::vector<Untold> untold_ = std::vector<Untold>(choice_.policies.size());  // by policy
  // Service times of each policy; only for mean latencies.
  std::vector<experiment::UnseenTimes> unseen_;
};

/// Adds notes on the observations: rare collapses, and numbers that are not normal where that is
/// assumed.
void add_notes(PolicyChoice& choice) {
  for (const ChoicePolicy& p : choice.policies) {
    if (p.not_recovered == 0 || 2 * p.not_recovered >= p.replications) continue;
    choice.notes.push_back(
        fmt::format("{}: {} did not recover", p.name,
                    scenario::said_part(p.not_recovered, p.replications, "replication")));
  }
  if (choice.procedure == ChoiceProcedure::kBounds) return;
  const auto note_proportion = [&](const MetricInfo& metric) {
    if (metric.summary != MetricSummary::kProportion || choice.batch >= 10) return;
    choice.notes.push_back(
        fmt::format("the race assumes normally distributed observations, but {} is 0 or 1 in each "
                    "replication; the procedure \"bounds\" assumes nothing",
                    metric.name));
  };
  note_proportion(*choice.aim.metric);
  for (const ChoiceLimit& limit : choice.limits) note_proportion(*limit.metric);
  std::size_t with_modes = 0;
  for (const ChoicePolicy& policy : choice.policies) {
    with_modes += stats::find_modes(policy.aim).has_value();
  }
  if (with_modes > 0) {
    choice.notes.push_back(fmt::format(
        "the race assumes normally distributed observations, but {} of {} falls into two modes; "
        "averages (in batches of 5, with more replications) are nearer to it",
        choice.aim.metric->name,
        scenario::said_part(with_modes, choice.policies.size(), "policy")));
  }
  const std::size_t observations = choice.stages.empty() ? 0 : choice.stages[0] / choice.batch;
  if (observations > 0 && observations < 10) {
    choice.notes.push_back(fmt::format(
        "a first stage of {} observations tells little about their variance, which makes the race "
        "longer; 10 or more are usual",
        observations));
  }
}

}  // namespace

std::size_t PolicyChoice::count(SelectionFate fate) const {
  return static_cast<std::size_t>(std::count_if(
      policies.begin(), policies.end(), [&](const ChoicePolicy& p) { return p.fate == fate; }));
}

std::size_t PolicyChoice::gone_after(std::size_t number) const {
  return static_cast<std::size_t>(
      std::count_if(policies.begin(), policies.end(), [&](const ChoicePolicy& p) {
        return p.fate != SelectionFate::kRacing && p.stage <= number;
      }));
}

PolicyChoice choose(std::vector<NamedScenario> policies, const ChooseOptions& options) {
  experiment::check_choice(policies, options);
  return execution::in_time(options.run, [&](const ReplicationOptions& run) {
    PolicyChoice choice;
    choice.aim = options.aim;
    choice.limits = experiment::with_tolerances(options.limits);
    choice.confidence = options.confidence;
    choice.batch = options.batch;
    choice.keys = policies.front().keys;
    for (NamedScenario& p : policies) {
      choice.policies.emplace_back();
      choice.policies.back().name = std::move(p.name);
      choice.policies.back().loaded = std::move(p.loaded);
      choice.policies.back().values = std::move(p.values);
    }
    Race(choice, options, run).run();
    add_notes(choice);
    return choice;
  });
}

}  // namespace retrysim

// The size of a key: makes the grid and the plan, in which both ends are validated with each
// disturbance before anything runs, and judges runs. The search itself is in estimate/sizing.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/size.hpp>
#include <retrysim/uncertain.hpp>

#include "estimate/sizing.hpp"
#include "execution/executor.hpp"
#include "execution/identity.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "experiment/single_run.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/changes.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {

// --- The grid ------------------------------------------------------------------------------------

namespace {

constexpr double kStep = 0.8;           // a value, as a share of the next larger one
constexpr double kLeastOfRange = 1e-3;  // the least value above 0, as a share of the largest
constexpr std::size_t kMostValues = 1'000;

/// A value rounded up to three significant digits.
double rounded_up(double value) {
  const double digit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  const double up = std::ceil(value / digit - 1e-9) * digit;
  // Formatting gives 0.123, and not 0.12300000000000001.
  return std::stod(fmt::format("{:.3g}", up));
}

double next_smaller(double value, bool whole) {
  if (!whole) return rounded_up(kStep * value);
  return std::min(value - 1, std::ceil(kStep * value - 1e-9));
}

}  // namespace

std::vector<double> size_grid(double low, double high, bool whole_numbers) {
  std::vector<double> grid = {high};
  const double least = low > 0 ? low : whole_numbers ? 1 : kLeastOfRange * high;
  while (grid.size() < kMostValues) {
    const double next = next_smaller(grid.back(), whole_numbers);
    if (next <= least * (1 + 1e-9) || next >= grid.back()) break;
    grid.push_back(next);
  }
  if (grid.back() > least) grid.push_back(least);
  if (low <= 0) grid.push_back(0);
  std::ranges::reverse(grid);
  return grid;
}

// --- The plan ------------------------------------------------------------------------------------

namespace {

using scenario::ScenarioReader;

std::string what_part() { return RequestError::part("what"); }

/// The scenario's own value of a key; empty if it has none.
std::optional<double> own_value(const LoadedScenario& base, const std::string& path) {
  const auto key = std::ranges::find(base.keys, path, &ResolvedKey::path);
  if (key == base.keys.end()) return std::nullopt;
  const auto node = scenario::parse_value(key->toml, {});
  return node ? scenario::amount_of(*node) : std::nullopt;
}

/// A number in a range as people write it: "0.5s" for durations.
std::string end_text(double value, bool is_duration) {
  return is_duration ? scenario::to_text(Duration::from_seconds(value)) : fmt::format("{}", value);
}

/// A path as "PATH=LO:HI", around the scenario's own value. Throws RequestError if that is
/// impossible.
std::string with_range(const std::string& path, const LoadedScenario& base) {
  constexpr double kFactor = 10;
  const scenario::KeyInfo* key = scenario::find_key(path);
  if (key == nullptr) {
    throw RequestError(
        fmt::format("{}: {} names no key; expected PATH=LO:HI, such as "
                    "service.api.servers=1:100 (`retrysim list keys` names the keys)",
                    what_part(), path));
  }
  parse_trigger(path + "=1:2", "what");  // throws if the key takes no numbers
  const auto own = own_value(base, path);
  if (!own || *own <= 0) {
    throw RequestError(
        fmt::format("{}: the scenario has no value of {} to start from; give a "
                    "range, {}=LO:HI",
                    what_part(), path, path));
  }
  const scenario::Range& range = key->rules.range;
  const bool whole = key->rules.kind == scenario::ValueKind::kCount;
  const bool is_duration = key->rules.kind == scenario::ValueKind::kDuration;
  const bool takes_zero = range.min <= 0 && !range.above_min;
  double low = takes_zero ? 0 : std::max(range.min, *own / kFactor);
  if (whole && !takes_zero) low = std::max(1.0, std::floor(low));
  const double high = std::min(range.max, *own * kFactor);
  return fmt::format("{}={}:{}", path, end_text(low, is_duration), end_text(high, is_duration));
}

Trigger key_of(const std::string& what, const LoadedScenario& base) {
  const Trigger key =
      parse_trigger(what.find('=') == std::string::npos ? with_range(what, base) : what, "what");
  if (key.first < 0 || key.first > key.last) {
    throw RequestError(fmt::format("{}: the range is LO:HI with LO from 0 to HI", what_part()));
  }
  return key;
}

std::vector<Variant> disturbances_of(const std::vector<Variation>& variations, const Trigger& key) {
  constexpr std::size_t kMost = 100;
  for (const Variation& variation : variations) {
    for (const std::string& path : variation.paths) {
      if (!scenario::may_be_same(path, key.path)) continue;
      throw RequestError(fmt::format("{}: {} is the key whose size is searched for",
                                     RequestError::part("disturbance"), path));
    }
  }
  if (variations.empty()) return {Variant()};
  std::vector<Variant> all = grid(variations);
  if (all.size() <= kMost) return all;
  throw RequestError(
      fmt::format("{}: {} combinations; expected at most {}, with each of which every "
                  "run is made",
                  RequestError::part("disturbance"), all.size(), kMost));
}

void check_client(const Scenario& scenario, const std::string& client) {
  std::vector<std::string_view> names = {"all"};
  for (const ClientSpec& group : scenario.clients) names.push_back(group.name);
  if (std::ranges::find(names, client) != names.end()) return;
  throw RequestError(fmt::format("{}: there is no client group '{}'; {}",
                                 RequestError::part("client"), client,
                                 scenario::suggestion(client, names, "there are")));
}

std::vector<SizeLimit> limits_of(const SizeRequest& request, const Scenario& scenario) {
  std::vector<SizeLimit> limits;
  for (const ChoiceLimit& limit : request.limits) {
    if (limit.tolerance) {
      throw RequestError(
          fmt::format("{} '{}': each run keeps a limit or does not; there is no "
                      "tolerance here",
                      RequestError::part("slo"), limit.text()));
    }
    if (request.client != "all" && limit.metric->scope == MetricScope::kAllOnly) {
      throw RequestError(fmt::format("{}: {} exists for all clients together only, not for '{}'",
                                     RequestError::part("slo"), limit.metric->name,
                                     request.client));
    }
    SizeLimit& one = limits.emplace_back();
    one.metric = limit.metric;
    one.client = request.client;
    (limit.at_least ? one.at_least : one.at_most) = limit.bound;
  }
  if (!request.with_expectations) return limits;
  for (const Expectation& e : scenario.expectations) {
    limits.push_back({find_metric(e.metric), e.client, e.at_least, e.at_most});
  }
  return limits;
}

void check_numbers(const SizeRequest& request) {
  const auto fail = [](const char* part, const char* text) {
    throw RequestError(fmt::format("{}: {}", RequestError::part(part), text));
  };
  if (!(request.share > 0 && request.share < 1)) fail("share", "expected above 0 and below 1");
  if (!(request.confidence >= 0.5 && request.confidence < 1)) {
    fail("confidence", "expected from 0.5 to less than 1");
  }
}

/// The scenario file, from which values and disturbances are loaded.
class SizeSource {
 public:
  SizeSource(const ScenarioReader& reader, const SizePlan& plan,
             std::vector<std::string> variant_edits)
      : reader_(reader),
        key_(plan.key),
        grid_(plan.grid),
        variant_edits_(std::move(variant_edits)),
        disturbances_(plan.disturbances),
        drawn_(plan.disturbances.size()) {}

  /// From now on, loads with the disturbance draw these keys.
  void draw(std::size_t disturbance, const LoadedScenario& loaded) {
    drawn_[disturbance].seed = loaded.scenario.seed;
    std::ranges::copy_if(loaded.uncertain, std::back_inserter(drawn_[disturbance].keys),
                         [](const UncertainKey& key) { return !key.is_set; });
  }
  const std::vector<UncertainKey>& drawn(std::size_t disturbance) const {
    return drawn_[disturbance].keys;
  }

  LoadResult load(std::size_t place, std::size_t disturbance, std::uint32_t replication) const {
    std::vector<std::string> edits = variant_edits_;
    const std::vector<std::string>& disturbing = disturbances_[disturbance].edits;
    edits.insert(edits.end(), disturbing.begin(), disturbing.end());
    const Drawn& drawn = drawn_[disturbance];
    for (const UncertainKey& key : drawn.keys) {
      edits.push_back(edit_of(key, draw_uncertain(key, drawn.seed, replication)));
    }
    edits.push_back(key_.edit(grid_[place]));
    LoadResult result = reader_.load(edits);
    for (Diagnostic& d : result.errors) {
      if (d.source_line == edits.back()) {
        d.file = "what";
        d.in_request = true;
      } else if (d.in_request && std::ranges::find(disturbing, d.source_line) != disturbing.end()) {
        d.file = "disturbance";
      }
    }
    return result;
  }

 private:
  const ScenarioReader& reader_;
  Trigger key_;
  std::vector<double> grid_;
  std::vector<std::string> variant_edits_;
  std::vector<Variant> disturbances_;
  struct Drawn {
    std::uint64_t seed = 0;
    std::vector<UncertainKey> keys;
  };
  std::vector<Drawn> drawn_;  // [disturbance]
};

/// Keys that are drawn with some disturbance; throws if there are none.
std::vector<UncertainKey> keys_drawn(const SizeSource& source, const SizePlan& plan) {
  std::vector<UncertainKey> keys;
  for (std::size_t d = 0; d < plan.disturbances.size(); ++d) {
    for (const UncertainKey& key : source.drawn(d)) {
      if (std::ranges::find(keys, key.path, &UncertainKey::path) == keys.end()) keys.push_back(key);
    }
  }
  if (!keys.empty()) return keys;
  throw RequestError(RequestError::part("uncertain") + ": nothing is uncertain in " +
                     plan.base.scenario.name +
                     (plan.base.uncertain.empty()
                          ? "; write the intervals of what you do not know for sure: "
                            "[uncertain.\"service.NAME.servers\"] with low and high"
                          : " but the key whose size is searched for, or what is set to a value"));
}

/// Of the first draws with both ends of the range.
std::vector<Diagnostic> mistakes_of_draws(const SizeSource& source, const SizePlan& plan) {
  for (std::size_t d = 0; d < plan.disturbances.size(); ++d) {
    for (const std::size_t place : {std::size_t{0}, plan.grid.size() - 1}) {
      for (std::uint32_t r = 0; r < plan.search.first_stage; ++r) {
        stop_point();
        LoadResult loaded = source.load(place, d, r);
        if (loaded.loaded) continue;
        for (Diagnostic& mistake : loaded.errors) {
          mistake.message += fmt::format(" (in draw {} of what is uncertain)", r);
        }
        return std::move(loaded.errors);
      }
    }
  }
  return {};
}

}  // namespace

SizePlanResult plan_size(const SizeRequest& request) {
  check_numbers(request);
  SizePlanResult result;
  const auto text = scenario::read_scenario_text(request.scenario, result.errors);
  if (!text) return result;
  VariationsResult parsed = parse_variations(request.disturbances);
  if (!parsed.errors.empty()) {
    for (Diagnostic& d : parsed.errors) d.file = "disturbance";
    result.errors = std::move(parsed.errors);
    return result;
  }
  const auto reader = std::make_shared<const ScenarioReader>(
      *text, request.scenario.string(), request.scenario.parent_path(), request.edits);
  LoadResult base = reader->load(request.variant_edits);
  if (!base.loaded) {
    result.errors = std::move(base.errors);
    return result;
  }
  SizePlan plan;
  plan.base = *std::move(base.loaded);
  plan.base.file = request.scenario;
  const Scenario& scenario = plan.base.scenario;
  if (scenario.warmup_is_auto) {
    throw RequestError(
        fmt::format("{} has warmup = \"auto\", but each value would need another one; set one with "
                    "{} warmup=30s",
                    scenario.name, RequestError::part("set")));
  }
  plan.key = key_of(request.what, plan.base);
  plan.grid = size_grid(plan.key.first, plan.key.last, plan.key.whole_numbers);
  plan.disturbing = request.disturbances;
  plan.disturbances = disturbances_of(parsed.variations, plan.key);
  check_client(scenario, request.client);
  plan.limits = limits_of(request, scenario);
  plan.wants_largest = request.wants_largest;
  plan.search.values = plan.grid.size();
  plan.search.share = request.share;
  plan.search.confidence = request.confidence;
  plan.search.first_stage =
      std::max<std::size_t>(2, static_cast<std::size_t>(scenario.replications));
  plan.search.most_runs = request.most_runs;
  if (const std::size_t least = stats::least_runs(plan.search);
      request.most_runs < std::max(least, plan.search.first_stage)) {
    throw RequestError(fmt::format("{}: at least {} are needed, even if all of them are good",
                                   RequestError::part("max_replications"),
                                   std::max(least, plan.search.first_stage)));
  }

  const auto source = std::make_shared<SizeSource>(*reader, plan, request.variant_edits);
  std::string hash;
  std::set<std::filesystem::path> inputs;
  for (std::size_t d = 0; d < plan.disturbances.size() && result.errors.empty(); ++d) {
    for (const std::size_t place : {std::size_t{0}, plan.grid.size() - 1}) {
      stop_point();
      LoadResult loaded = source->load(place, d, 0);
      if (!loaded.loaded) {
        result.errors = std::move(loaded.errors);
        break;
      }
      if (request.uncertain && place == 0) source->draw(d, *loaded.loaded);
      const Scenario& at_end = loaded.loaded->scenario;
      if (const auto needed_s = stats::least_duration_to_judge_s(at_end)) {
        plan.is_disturbed = true;
        if (*needed_s > at_end.duration.in_seconds()) {
          plan.duration_needed_s = std::max(plan.duration_needed_s.value_or(0), *needed_s);
        }
      }
      hash = fmt::format("{:016x}", execution::id_of({{hash, to_toml(*loaded.loaded, false)}}));
      inputs.insert(loaded.loaded->input_files.begin(), loaded.loaded->input_files.end());
    }
  }
  if (!result.errors.empty()) return result;
  plan.inputs = {inputs.begin(), inputs.end()};
  if (request.uncertain) {
    plan.uncertain = keys_drawn(*source, plan);
    result.errors = mistakes_of_draws(*source, plan);
    if (!result.errors.empty()) return result;
  }
  std::string limits;
  for (const SizeLimit& l : plan.limits) {
    limits += fmt::format("{} {} {} {}\n", l.metric->name, l.client, l.at_least.value_or(-1),
                          l.at_most.value_or(-1));
  }
  plan.id = execution::id_of({
      {"the version of retrysim", RETRYSIM_VERSION},
      {"WHAT", fmt::format("{}={}:{}", plan.key.path, plan.key.first, plan.key.last)},
      {"--slo", limits},
      {"--uncertain", request.uncertain ? "yes" : "no"},
      {"--share, --confidence", fmt::format("{} {}", request.share, request.confidence)},
      {"the scenarios", hash},
      {"the CSV inputs", execution::describe_files(plan.inputs)},
  });
  plan.scenario = [reader, source](std::size_t place, std::size_t disturbance,
                                   std::uint32_t replication) {
    LoadResult loaded = source->load(place, disturbance, replication);
    if (!loaded.loaded) throw RequestError(loaded.errors.front());
    return std::make_shared<const Scenario>(std::move(loaded.loaded->scenario));
  };
  result.plan = std::move(plan);
  return result;
}

// --- Runs, and which of them are good ------------------------------------------------------------

namespace {

using execution::UnitResult;

/// The figures by which one replication with one disturbance is judged.
struct JudgedRun {
  std::optional<double> success, success_before;
  std::optional<bool> recovered;
  bool keeps_limits = true;
  std::size_t breaks = 0;  ///< the first limit that it does not keep
  std::vector<std::optional<double>> figures;
};

/// The runs of all values, simulated on demand.
class SizeRuns {
 public:
  SizeRuns(const SizePlan& plan, const ReplicationOptions& run, const SizeProgress& probing)
      : plan_(plan), run_(run), probing_(probing) {
    // The usual success before anything goes wrong is learnt from runs all over the range.
    for (const std::size_t place : stats::survey_of(plan.search)) {
      simulate(place, plan.search.first_stage);
    }
    for (const auto& [place, runs] : runs_) {
      std::vector<double> before;
      for (const JudgedRun& r : runs) {
        if (r.success_before) before.push_back(*r.success_before);
      }
      if (before.empty()) continue;
      std::ranges::sort(before);
      usual_before_ = std::max(usual_before_, before[before.size() / 2]);
    }
  }

  std::vector<bool> ask(std::size_t place, std::size_t from, std::size_t to) {
    simulate(place, to);
    std::vector<bool> good;
    for (std::size_t r = from; r < to; ++r) good.push_back(is_good(place, r));
    return good;
  }

  SizeReasons reasons(std::size_t place, std::size_t runs) const {
    SizeReasons all;
    all.breaks.resize(plan_.limits.size());
    for (std::size_t r = 0; r < runs; ++r) {
      for (std::size_t d = 0; d < plan_.disturbances.size(); ++d) {
        if (count(run(place, r, d), all)) break;
      }
    }
    return all;
  }

  /// Means of `size_figures` over runs of a value.
  std::vector<std::optional<double>> figures(std::size_t place, std::size_t runs) const {
    std::vector<std::optional<double>> means;
    for (std::size_t f = 0; f < size_figures().size(); ++f) {
      double sum = 0;
      std::size_t count = 0;
      for (std::size_t r = 0; r < runs; ++r) {
        for (std::size_t d = 0; d < plan_.disturbances.size(); ++d) {
          const std::optional<double>& value = run(place, r, d).figures[f];
          if (value) sum += *value, ++count;
        }
      }
      means.push_back(count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt);
    }
    return means;
  }

  std::size_t replications() const { return replications_; }

 private:
  const JudgedRun& run(std::size_t place, std::size_t replication, std::size_t disturbance) const {
    return runs_.at(place)[replication * plan_.disturbances.size() + disturbance];
  }

  bool is_good(std::size_t place, std::size_t replication) const {
    SizeReasons none;
    none.breaks.resize(plan_.limits.size());
    for (std::size_t d = 0; d < plan_.disturbances.size(); ++d) {
      if (count(run(place, replication, d), none)) return false;
    }
    return true;
  }

  /// Counts the reason why a run is not good; false if the run is good.
  bool count(const JudgedRun& r, SizeReasons& reasons) const {
    const double share = plan_.base.scenario.recovery.share;
    if (plan_.is_disturbed) {
      if (r.success_before && *r.success_before < share * usual_before_) {
        ++reasons.ill_before;
        return true;
      }
      if (!r.recovered) {
        ++reasons.too_short;
        return true;
      }
      if (!*r.recovered) {
        ++reasons.not_recovered;
        return true;
      }
    } else if (plan_.limits.empty() && (!r.success || *r.success < share)) {
      ++reasons.not_recovered;
      return true;
    }
    if (r.keeps_limits) return false;
    ++reasons.breaks[r.breaks];
    return true;
  }

  /// Simulates until there are `replications` of a value, each with all disturbances.
  void simulate(std::size_t place, std::size_t replications) {
    const std::size_t kinds = plan_.disturbances.size();
    std::vector<JudgedRun>& runs = runs_[place];
    const std::size_t have = runs.size() / kinds;
    if (have >= replications) return;
    if (probing_) probing_(plan_.grid[place], have);
    std::vector<std::shared_ptr<const Scenario>> scenarios;
    for (std::size_t d = 0; d < kinds; ++d) scenarios.push_back(plan_.scenario(place, d, 0));
    execution::Units units;
    units.keep = execution::Keep::kRow;
    units.count = (replications - have) * kinds;
    // Units are ordered by disturbance: units of one scenario are best in a row.
    const std::size_t more = replications - have;
    const bool draws = !plan_.uncertain.empty();
    const auto replication = [&](std::size_t i) {
      return static_cast<std::uint32_t>(have + i % more);
    };
    units.unit = [&](std::size_t i) {
      return execution::Unit{draws ? i : i / more, replication(i)};
    };
    units.scenario = [&](std::size_t number) {
      return draws ? plan_.scenario(place, number / more, replication(number)) : scenarios[number];
    };
    const std::vector<UnitResult> rows =
        execution::before_more([&] { return execution::get_rows(units, run_); });
    check_events(rows, run_);
    replications_ += rows.size();
    for (std::size_t r = 0; r < more; ++r) {
      for (std::size_t d = 0; d < kinds; ++d) {
        runs.push_back(judged(rows[d * more + r], [&] {
          return draws ? plan_.scenario(place, d, replication(r)) : scenarios[d];
        }));
      }
    }
  }

  /// `scenario` gives the scenario of the run.
  template <class ScenarioOf>
  JudgedRun judged(const UnitResult& row, const ScenarioOf& scenario) const {
    const MetricValues values = execution::combine({&row, 1});
    const std::size_t all = values.clients() - 1;
    JudgedRun run;
    run.success = values.at(0, all, index_of(*find_metric("success_rate")));
    run.recovered =
        experiment::has_recovered(values.at(0, all, index_of(*find_metric("recovered"))), scenario);
    run.success_before = experiment::success_at_first(row);
    if (run.success_before && *run.success_before < 1 &&
        !experiment::begins_undisturbed(*scenario())) {
      run.success_before = std::nullopt;
    }
    for (const MetricInfo* metric : size_figures()) {
      run.figures.push_back(values.at(0, all, index_of(*metric)));
    }
    for (std::size_t i = 0; i < plan_.limits.size() && run.keeps_limits; ++i) {
      const SizeLimit& limit = plan_.limits[i];
      std::size_t client = all;
      const std::vector<ClientSpec>& clients = plan_.base.scenario.clients;
      for (std::size_t c = 0; c < clients.size(); ++c) {
        if (clients[c].name == limit.client) client = c;
      }
      const auto value = values.at(0, client, index_of(*limit.metric));
      run.keeps_limits = value && (!limit.at_least || *value >= *limit.at_least) &&
                         (!limit.at_most || *value <= *limit.at_most);
      run.breaks = i;
    }
    return run;
  }

  const SizePlan& plan_;
  const ReplicationOptions& run_;
  const SizeProgress& probing_;
  std::map<std::size_t, std::vector<JudgedRun>>
      runs_;  // [replication * disturbances + disturbance]
  double usual_before_ = 0;
  std::size_t replications_ = 0;
};

}  // namespace

std::span<const MetricInfo* const> size_figures() {
  static const std::array kFigures = {find_metric("success_rate"), find_metric("amplification"),
                                      find_metric("peak_attempt_rate"),
                                      find_metric("latency_ok_p99")};
  return kFigures;
}

SizeStudy find_size(const SizePlan& plan, const ReplicationOptions& run,
                    const SizeProgress& probing) {
  return execution::in_time(run, [&](const ReplicationOptions& in_time) {
    SizeRuns runs(plan, in_time, probing);
    SizeStudy study;
    study.answer = stats::search_size(plan.search, plan.wants_largest,
                                      [&](std::size_t place, std::size_t from, std::size_t to) {
                                        return runs.ask(place, from, to);
                                      });
    for (const SizeProbe& p : study.answer.probes) {
      study.reasons.push_back(runs.reasons(p.place, p.runs));
      study.figures.push_back(runs.figures(p.place, p.runs));
    }
    study.replications = runs.replications();
    return study;
  });
}

// --- At several values of other keys -------------------------------------------------------------

SizeFrontierPlanResult plan_size_frontier(const SizeRequest& request,
                                          const std::vector<std::string>& varying) {
  constexpr std::size_t kMost = 1'000;
  SizeFrontierPlanResult result;
  VariationsResult parsed = parse_variations(varying);
  if (!parsed.errors.empty()) {
    result.errors = std::move(parsed.errors);
    return result;
  }
  const VariationsResult disturbing = parse_variations(request.disturbances);
  LoadResult base = load_scenario_file(request.scenario, request.edits, request.variant_edits);
  if (!base.loaded) {
    result.errors = std::move(base.errors);
    return result;
  }
  const std::vector<Variant> points = grid(parsed.variations);
  if (points.size() > kMost) {
    throw RequestError(fmt::format("{}: {} combinations; expected at most {}",
                                   RequestError::part("vary"), points.size(), kMost));
  }
  const std::string searched = request.what.substr(0, request.what.find('='));
  SizeFrontierPlan plan;
  plan.base = *std::move(base.loaded);
  plan.varying = varying;
  for (const Variation& v : parsed.variations) {
    for (const std::string& path : v.paths) {
      const auto refuse = [&](const char* why) {
        throw RequestError(fmt::format("{}: {} {}", RequestError::part("vary"), path, why));
      };
      if (scenario::may_be_same(path, searched)) refuse("is the key whose size is searched for");
      for (const Variation& d : disturbing.variations) {
        const auto is_it = [&](const std::string& p) { return scenario::may_be_same(path, p); };
        if (std::ranges::any_of(d.paths, is_it)) {
          refuse(("is a key of " + RequestError::part("disturbance")).c_str());
        }
      }
      plan.keys.push_back(path);
    }
  }
  for (const Variant& point : points) {
    SizeRequest at = request;
    at.variant_edits.insert(at.variant_edits.end(), point.edits.begin(), point.edits.end());
    SizePlanResult one = plan_size(at);
    if (!one.plan) {
      for (Diagnostic& d : one.errors) d.message += fmt::format(" (with {})", point.name);
      result.errors = std::move(one.errors);
      return result;
    }
    plan.points.push_back({point.name, point.values, *std::move(one.plan)});
  }
  result.plan = std::move(plan);
  return result;
}

std::vector<SizeStudy> find_sizes(const SizeFrontierPlan& plan, const ReplicationOptions& run,
                                  const SizeFrontierProgress& probing) {
  return execution::in_time(run, [&](const ReplicationOptions& in_time) {
    std::vector<SizeStudy> studies;
    for (const SizePoint& point : plan.points) {
      SizeProgress at_point;
      if (probing) {
        at_point = [&](double value, std::size_t runs) { probing(point, value, runs); };
      }
      studies.push_back(find_size(point.plan, in_time, at_point));
    }
    return studies;
  });
}

}  // namespace retrysim

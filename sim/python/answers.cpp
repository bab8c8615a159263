// SPDX-License-Identifier: MIT
#include "python/answers.hpp"

#include <retrysim/compare.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/sdk_upgrade.hpp>
#include <retrysim/sweep.hpp>
#include <retrysim/uncertain.hpp>

#include "cli/list.hpp"
#include "experiment/variants.hpp"
#include "report/advice.hpp"
#include "report/choice.hpp"
#include "report/comparison.hpp"
#include "report/document/document.hpp"
#include "report/document/table_builder.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/own_strategy.hpp"
#include "report/prediction.hpp"
#include "report/risk.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/text.hpp"
#include "report/sdk_upgrade.hpp"
#include "report/size.hpp"
#include "report/sweep.hpp"
#include "report/tip.hpp"
#include "report/uncertain.hpp"

#include <fmt/format.h>
#include <atomic>
#include <functional>
#include <span>

namespace retrysim::python {
namespace {

template <class Option>
std::vector<std::string> options_of(std::string_view option, const std::vector<Option>& values) {
  std::vector<std::string> options;
  for (const std::string& value : values) options.push_back(fmt::format("--{} {}", option, value));
  return options;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// A scenario that is a part of what the answer keeps alive.
template <class State>
std::shared_ptr<const LoadedScenario> part_of(const std::shared_ptr<State>& state,
                                              const LoadedScenario& scenario) {
  return {state, &scenario};
}

}  // namespace

// --- Answers -------------------------------------------------------------------------------------

const Tables& Answer::tables() {
  if (!tables_) tables_ = parts_.tables();
  return *tables_;
}

std::shared_ptr<const Table> Answer::table(const std::string& name) {
  return std::make_shared<const Table>(tables()[name]);
}

std::string Answer::text(std::size_t columns) const {
  if (!parts_.document) return {};
  report::StringSink sink;
  parts_.document().write_text(sink, columns);
  return sink.text();
}

std::optional<std::string> Answer::json() const {
  if (!parts_.document || parts_.write) return std::nullopt;
  report::StringSink sink;
  parts_.document().write_json(sink, parts_.identity(), {});
  return sink.text();
}

void Answer::save(const std::filesystem::path& folder, bool force) const {
  if (!parts_.document) {
    throw report::OutputError(folder, "this answer has no folder of its own");
  }
  report::ResultFolder result(folder, parts_.identity(), force);
  if (parts_.write) return parts_.write(result);
  parts_.document().write_files(result);
}

// --- One scenario --------------------------------------------------------------------------------

namespace {

struct FoundRun {
  explicit FoundRun(Run found) : run(std::move(found)) {}

  /// The statistics and verdicts, computed for those who ask.
  const report::Evaluation& evaluation() {
    if (!evaluated) evaluated.emplace(set);
    return *evaluated;
  }

  Run run;
  report::ResultSet set{run.scenario, "base",       report::Runs::of(run.replications), nullptr, {},
                        run.warmup,   run.precision};
  std::optional<report::Evaluation> evaluated;
};

}  // namespace

Answer answer_run(LoadedScenario scenario, const ReplicationOptions& options) {
  const auto state = std::make_shared<FoundRun>(run(std::move(scenario), options));
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->run); },
                 [s = state.get()] {
                   report::Document document = report::run_document(s->evaluation());
                   document.notes(report::notes_on_strategies(s->run.scenario));
                   return document;
                 },
                 [s = state.get()] { return report::identity_of({&s->run.scenario}, "run"); },
                 {},
                 {},
                 part_of(state, state->run.scenario)});
}

namespace {

/// As the command records them, whose number of draws, if it is not the usual one, is a key.
std::vector<std::string> options_of_draws(int draws) {
  constexpr int kUsual = 100;
  std::vector<std::string> options = {"--uncertain"};
  if (draws != kUsual) options.push_back(fmt::format("--replications {}", draws));
  return options;
}

}  // namespace

Answer answer_uncertain(const Source& source, int draws, const ReplicationOptions& options) {
  UncertainPlan plan =
      plan_uncertain({.scenario = source.file, .edits = source.edits, .draws = draws}).value();
  const auto state =
      std::make_shared<const UncertainStudy>(study_uncertain(std::move(plan), options));
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(*s); },
                 [s = state.get()] { return report::uncertain_document(*s); },
                 [s = state.get(), draws] {
                   return report::identity_of({&s->plan.base}, "run", options_of_draws(draws));
                 },
                 {},
                 {},
                 part_of(state, state->plan.base)});
}

Answer answer_predict(LoadedScenario scenario) {
  struct Found {
    LoadedScenario scenario;
    Prediction prediction;
    report::Planes planes;
  };
  Prediction prediction = predict(scenario.scenario);
  report::Planes planes = report::planes_of(scenario.scenario);
  const auto state = std::make_shared<const Found>(
      Found{std::move(scenario), std::move(prediction), std::move(planes)});
  return Answer(
      {state,
       [s = state.get()] { return retrysim::tables(s->prediction, s->scenario.scenario); },
       [s = state.get()] {
         report::Document document =
             report::prediction_document(s->scenario, s->prediction, s->planes);
         document.notes(report::notes_on_strategies(s->scenario));
         return document;
       },
       [s = state.get()] { return report::identity_of({&s->scenario}, "predict"); },
       {},
       {},
       part_of(state, state->scenario)});
}

// --- Several variants ----------------------------------------------------------------------------

namespace {

std::vector<NamedScenario> variants_of(const VariantsAsked& asked) {
  return experiment::load_variants_and_files(asked.source.file, asked.source.edits, asked.vary,
                                             asked.baseline, asked.files)
      .value();
}

std::vector<std::string> options_of(const VariantsAsked& asked) {
  std::vector<std::string> options = options_of("vary", asked.vary);
  append(options, options_of("variant", asked.files));
  if (!asked.baseline.empty()) options.push_back("--baseline " + asked.baseline);
  return options;
}

struct FoundComparison {
  FoundComparison(Comparison compared, const VariantsAsked& of, bool chosen, bool with_twins)
      : comparison(std::move(compared)), asked(of), metrics_given(chosen), twins(with_twins) {
    for (const ComparedVariant& v : comparison.variants) sets.push_back(report::result_set_of(v));
    for (const report::ResultSet& set : sets) evaluations.emplace_back(set);
  }

  report::Document document() const {
    report::Document document =
        report::comparison_document({comparison, evaluations, metrics_given, asked.vary, false});
    if (twins) document.member("twin", true);
    for (const report::Evaluation& e : evaluations) document.scenario_file(e.set.scenario);
    return document;
  }

  Comparison comparison;
  VariantsAsked asked;
  bool metrics_given, twins;
  std::vector<report::ResultSet> sets;
  std::vector<report::Evaluation> evaluations;
};

const MetricInfo* metric_of(const std::string& name) {
  const MetricInfo* metric = find_metric(name);
  if (metric == nullptr) {
    throw RequestError(
        fmt::format("{}: there is no metric \"{}\"; `retrysim list metrics` has "
                    "their names",
                    RequestError::part("metrics"), name));
  }
  return metric;
}

}  // namespace

Answer answer_compare(const VariantsAsked& asked, const std::vector<std::string>& metrics,
                      bool twin, const ReplicationOptions& options) {
  CompareOptions compared{.metrics = {}, .twin = twin, .run = options};
  for (const std::string& name : metrics) compared.metrics.push_back(metric_of(name));
  if (twin && metrics.empty()) {
    compared.metrics = headline_metrics();
    compared.metrics.push_back(find_metric("metastable_probability"));
  }
  const auto state = std::make_shared<const FoundComparison>(compare(variants_of(asked), compared),
                                                             asked, !metrics.empty(), twin);
  std::map<std::string, std::string> facts = {{"baseline", state->comparison.baseline().name}};
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->comparison); },
                 [s = state.get()] { return s->document(); },
                 [s = state.get()] {
                   std::vector<const LoadedScenario*> loaded;
                   for (const ComparedVariant& v : s->comparison.variants) {
                     loaded.push_back(&v.loaded);
                   }
                   std::vector<std::string> asked_for = options_of(s->asked);
                   if (s->twins) asked_for.emplace_back("--twin");
                   return report::identity_of(loaded, "compare", asked_for);
                 },
                 {},
                 std::move(facts),
                 part_of(state, state->comparison.baseline().loaded)});
}

Answer answer_compare_uncertain(const VariantsAsked& asked, int draws,
                                const std::vector<std::string>& metrics,
                                const ReplicationOptions& options) {
  struct Found {
    UncertainComparison comparison;
    VariantsAsked asked;
  };
  CompareOptions compared{.metrics = {}, .twin = false, .run = options};
  for (const std::string& name : metrics) compared.metrics.push_back(metric_of(name));
  std::vector<UncertainVariant> variants = plan_uncertain_variants({.scenario = asked.source.file,
                                                                    .edits = asked.source.edits,
                                                                    .vary = asked.vary,
                                                                    .baseline = asked.baseline,
                                                                    .files = asked.files,
                                                                    .draws = draws})
                                               .value();
  const auto state =
      std::make_shared<const Found>(Found{compare_uncertain(std::move(variants), compared), asked});
  std::map<std::string, std::string> facts = {{"baseline", state->comparison.names.front()}};
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->comparison); },
                 [s = state.get()] { return report::uncertain_comparison_document(s->comparison); },
                 [s = state.get(), draws] {
                   std::vector<const LoadedScenario*> loaded;
                   for (const UncertainStudy& study : s->comparison.studies) {
                     loaded.push_back(&study.plan.base);
                   }
                   std::vector<std::string> asked_for = options_of(s->asked);
                   append(asked_for, options_of_draws(draws));
                   return report::identity_of(loaded, "compare", asked_for);
                 },
                 {},
                 std::move(facts),
                 part_of(state, state->comparison.studies.front().plan.base)});
}

Answer answer_choose(const VariantsAsked& asked, const AimAsked& aim,
                     const ReplicationOptions& options) {
  struct Found {
    PolicyChoice choice;
    std::uint64_t id = 0;
    std::vector<LoadedScenario> policies;
    std::vector<std::string> requests;
  };
  ChooseOptions choosing;
  choosing.aim = {metric_of(aim.metric), aim.maximize, aim.client};
  for (const std::string& limit : aim.limits) {
    choosing.limits.push_back(parse_choice_limit(limit));
  }
  choosing.confidence = aim.confidence;
  choosing.indifference = aim.indifference;
  choosing.max_replications = aim.max_replications;
  choosing.run = options;
  std::vector<NamedScenario> policies = variants_of(asked);
  const auto state = std::make_shared<Found>();
  state->id = id_of_choice(policies, choosing);
  for (const NamedScenario& p : policies) state->policies.push_back(p.loaded);
  state->requests = options_of(asked);
  state->requests.push_back(
      fmt::format("--{} {}", aim.maximize ? "maximize" : "minimize", aim.metric));
  if (aim.client != "all") state->requests.push_back("--client " + aim.client);
  for (const ChoiceLimit& limit : choosing.limits) {
    const std::string tolerance = limit.tolerance ? fmt::format("+-{}", *limit.tolerance) : "";
    state->requests.push_back("--subject-to " + limit.text() + tolerance);
  }
  if (aim.indifference) {
    state->requests.push_back(fmt::format("--indifference {}", *aim.indifference));
  }
  state->requests.push_back(fmt::format("--confidence {}", aim.confidence));
  state->choice = choose(std::move(policies), choosing);
  std::map<std::string, std::string> facts = {
      {"outcome", std::string(name(state->choice.outcome))}};
  if (state->choice.best) facts["best"] = state->choice.policies[*state->choice.best].name;
  const auto identity = [s = state.get()] {
    std::vector<const LoadedScenario*> loaded;
    for (const LoadedScenario& p : s->policies) loaded.push_back(&p);
    return report::identity_of(loaded, "choose", s->requests);
  };
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->choice); },
                 [s = state.get(), identity] {
                   return report::choice_document({s->choice, s->requests, identity().keys, s->id});
                 },
                 identity,
                 {},
                 std::move(facts),
                 part_of(state, state->policies.front())});
}

// --- Along keys ----------------------------------------------------------------------------------

Answer answer_sweep(const Source& source, const std::vector<std::string>& vary,
                    std::shared_ptr<Store> store, const ReplicationOptions& options) {
  struct Found {
    std::shared_ptr<Store> store;  // outlives the sweep
    std::unique_ptr<Sweep> sweep;
    std::filesystem::path file;
    std::vector<std::string> vary;

    SweepPoint operator()(std::size_t number) const { return sweep->point(number); }
  };
  SweepRequest request;
  request.scenario = source.file;
  request.edits = source.edits;
  request.varying = vary;
  request.max_memory = options.max_memory;
  const auto state = std::make_shared<Found>();
  state->store = std::move(store);
  state->file = source.file;
  state->vary = vary;
  // The flag belongs to the caller, the sweep to the answer.
  ReplicationOptions running = options;
  running.store = state->store.get();
  running.stop_flag = nullptr;
  running.progress = {};
  const auto asking = std::make_shared<bool>(true);
  running.stop = [asking, flag = options.stop_flag] {
    return *asking && flag != nullptr && flag->load();
  };
  if (options.progress) {
    running.progress = [asking, progress = options.progress](double share) {
      if (*asking) progress(share);
    };
  }
  state->sweep = std::make_unique<Sweep>(plan_sweep(request).value(), running);
  state->sweep->run();
  *asking = false;
  const auto overview_of = [](const Found& found) {
    report::SweepOverview overview;
    for (const report::TableSource& table :
         report::sweep_tables(found.sweep->plan(), std::cref(found), &overview)) {
      if (table.name == "points") report::table_of(table);  // counts
    }
    return overview;
  };
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(*s->sweep); },
                 [s = state.get(), overview_of] {
                   return report::sweep_document(s->sweep->plan(), overview_of(*s));
                 },
                 [s = state.get()] {
                   std::vector<std::filesystem::path> reads = s->sweep->plan().inputs;
                   reads.push_back(s->file);
                   return report::identity_of(s->sweep->plan().base, reads, "sweep",
                                              options_of("vary", s->vary));
                 },
                 [s = state.get()](report::ResultFolder& folder) {
                   report::write_sweep_files(folder, s->sweep->plan(), std::cref(*s));
                 },
                 {},
                 part_of(state, state->sweep->plan().base)});
}

Answer answer_tip(const Source& source, const std::string& trigger,
                  const std::vector<std::string>& vary, double tolerance,
                  const ReplicationOptions& options) {
  struct Found {
    TipPlan plan;
    std::vector<TipPoint> points;
    std::filesystem::path file;
    std::vector<std::string> requests;
  };
  TipRequest request{.scenario = source.file, .edits = source.edits, .varying = vary};
  request.trigger = parse_trigger(trigger);
  request.tolerance = tolerance;
  const auto state = std::make_shared<Found>();
  state->plan = plan_tip(request).value();
  state->file = source.file;
  const Trigger& t = state->plan.trigger;
  state->requests = options_of("vary", vary);
  state->requests.insert(state->requests.begin(),
                         fmt::format("--trigger {}={}:{}", t.path, t.first, t.last));
  state->requests.push_back(fmt::format("--tolerance {}", tolerance));
  state->points = find_tipping_points(state->plan, {.run = options, .probing = {}});
  std::map<std::string, std::string> facts;
  if (vary.empty()) {
    const TippingPoint& point = state->points.front().found.point;
    facts["outcome"] = std::string(name(point.outcome));
    if (point.d50) facts["d50"] = fmt::format("{}", point.d50->middle());
  }
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->plan, s->points); },
                 [s = state.get()] {
                   return s->plan.variations.empty()
                              ? report::tip_document(s->plan, s->points.front())
                              : report::curve_document(s->plan, s->points);
                 },
                 [s = state.get()] {
                   std::vector<std::filesystem::path> reads = s->plan.inputs;
                   reads.push_back(s->file);
                   return report::identity_of(s->plan.base, reads, "tip", s->requests);
                 },
                 {},
                 std::move(facts),
                 part_of(state, state->plan.base)});
}

namespace {

/// As the command records them.
std::vector<std::string> options_of(const SizeRequest& request, const SizePlan& plan,
                                    const std::vector<std::string>& vary) {
  std::vector<std::string> options = {
      fmt::format("{}={}:{}", plan.key.path, plan.key.first, plan.key.last)};
  append(options, options_of("disturbance", request.disturbances));
  append(options, options_of("vary", vary));
  for (const ChoiceLimit& limit : request.limits) options.push_back("--slo " + limit.text());
  if (request.with_expectations) options.emplace_back("--expectations");
  if (request.uncertain) options.emplace_back("--uncertain");
  if (request.client != "all") options.push_back("--client " + request.client);
  options.push_back(fmt::format("--share {}", request.share));
  options.push_back(fmt::format("--confidence {}", request.confidence));
  if (request.wants_largest) options.emplace_back("--largest");
  return options;
}

report::ResultIdentity identity_of_size(const LoadedScenario& base,
                                        std::vector<std::filesystem::path> reads,
                                        const std::filesystem::path& file,
                                        const std::vector<std::string>& options) {
  reads.push_back(file);
  return report::identity_of(base, reads, "size", options);
}

Answer answer_sizes(const SizeRequest& request, const std::vector<std::string>& vary,
                    const ReplicationOptions& options) {
  struct Found {
    SizeFrontierPlan plan;
    std::vector<SizeStudy> studies;
    std::filesystem::path file;
    std::vector<std::string> requests;
  };
  const auto state = std::make_shared<Found>();
  state->plan = plan_size_frontier(request, vary).value();
  state->file = request.scenario;
  state->requests = options_of(request, state->plan.points.front().plan, vary);
  state->studies = find_sizes(state->plan, options);
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->plan, s->studies); },
                 [s = state.get()] { return report::frontier_document(s->plan, s->studies); },
                 [s = state.get()] {
                   return identity_of_size(s->plan.base, s->plan.points.front().plan.inputs,
                                           s->file, s->requests);
                 },
                 {},
                 {},
                 part_of(state, state->plan.base)});
}

}  // namespace

Answer answer_size(const SizeRequest& request, const std::vector<std::string>& vary,
                   const ReplicationOptions& options) {
  if (!vary.empty()) return answer_sizes(request, vary, options);
  struct Found {
    SizePlan plan;
    SizeStudy study;
    std::filesystem::path file;
    std::vector<std::string> requests;
  };
  const auto state = std::make_shared<Found>();
  state->plan = plan_size(request).value();
  state->file = request.scenario;
  state->requests = options_of(request, state->plan, {});
  state->study = find_size(state->plan, options);
  const SizeAnswer& answer = state->study.answer;
  std::map<std::string, std::string> facts = {{"outcome", std::string(name(answer.outcome))}};
  const auto add = [&](const char* fact, std::optional<std::size_t> place) {
    if (place) facts[fact] = fmt::format("{}", state->plan.grid[*place]);
  };
  add("at", answer.at);
  add("to", answer.to);
  add("beyond", answer.beyond);
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->plan, s->study); },
                 [s = state.get()] { return report::size_document(s->plan, s->study); },
                 [s = state.get()] {
                   return identity_of_size(s->plan.base, s->plan.inputs, s->file, s->requests);
                 },
                 {},
                 std::move(facts),
                 part_of(state, state->plan.base)});
}

// --- Risk ----------------------------------------------------------------------------------------

Answer answer_risk(RiskRequest request, const std::string& per, const std::string& repair,
                   const ReplicationOptions& options) {
  struct Found {
    RiskPlan plan;
    std::vector<RiskStudy> studies;
    std::filesystem::path file;
    std::vector<std::string> requests;
  };
  request.period = parse_period(per);
  if (!repair.empty()) request.repair = parse_period(repair, "repair");
  const auto state = std::make_shared<Found>();
  state->file = request.scenario;
  state->requests = {"--event " + request.event, "--per " + per,
                     fmt::format("--precision {}", request.precision),
                     fmt::format("--effort {}", request.effort)};
  if (request.plain) state->requests.emplace_back("--plain");
  if (!repair.empty()) state->requests.push_back("--repair " + repair);
  append(state->requests, options_of("vary", request.varying));
  state->plan = plan_risk(request).value();
  state->studies = find_risks(state->plan, options);
  std::map<std::string, std::string> facts;
  if (const RiskStudy& only = state->studies.front(); state->studies.size() == 1) {
    const auto add = [&](const char* fact, double value) {
      facts[fact] = fmt::format("{}", value);
    };
    add("per_s_high", only.per_s_below);
    if (only.per_s) {
      add("per_s", only.per_s->mean);
      add("per_s_low", only.per_s->low);
    }
  }
  return Answer({state,
                 [s = state.get()] { return retrysim::tables(s->plan, s->studies); },
                 [s = state.get()] { return report::risk_document(s->plan, s->studies); },
                 [s = state.get()] {
                   std::vector<std::filesystem::path> reads = s->plan.inputs;
                   reads.push_back(s->file);
                   return report::identity_of(s->plan.base, reads, "risk", s->requests);
                 },
                 {},
                 std::move(facts),
                 part_of(state, state->plan.base)});
}

// --- Advice --------------------------------------------------------------------------------------

Answer answer_advise(const Source& source, const ReplicationOptions& options) {
  struct Found {
    Advice advice;
    LoadedScenario scenario;
    Source source;
  };
  RemediesResult read = load_remedies(source.file, source.edits);
  check(read.errors);
  LoadedScenario scenario = *read.scenario;
  const auto state = std::make_shared<const Found>(
      Found{advise(*std::move(read.scenario), std::move(read.remedies), options),
            std::move(scenario), source});
  return Answer(
      {state,
       [s = state.get()] { return retrysim::tables(s->advice); },
       [s = state.get()] {
         return report::advice_document({s->advice, s->source.file.string(), s->source.edits});
       },
       [s = state.get()] { return report::identity_of({&s->scenario}, "advise"); },
       {},
       {},
       part_of(state, state->scenario)});
}

Answer answer_sdk_upgrade(const std::string& upgrade, const Source& source,
                          const ReplicationOptions& options) {
  struct Found {
    UpgradeStudy study;
    UpgradeResult result;
    std::vector<report::ResultSet> sets;
    std::vector<report::Evaluation> evaluations;
    std::vector<report::RuleWords> rules;

    report::UpgradeReport report() const { return {study, result, rules, evaluations}; }
  };
  const auto state = std::make_shared<Found>();
  state->study = load_upgrade(parse_sdk_upgrade(upgrade), {source.file, {}, source.edits});
  state->result = study_upgrade(state->study, options);
  for (const ComparedVariant& v : state->result.comparison.variants) {
    state->sets.push_back(report::result_set_of(v));
  }
  for (const report::ResultSet& set : state->sets) state->evaluations.emplace_back(set);
  state->rules = cli::rules_in_words(state->study.upgrade);
  return Answer(
      {state,
       [s = state.get()] { return retrysim::tables(s->result.comparison); },
       [s = state.get()] {
         report::Document document = report::upgrade_document(s->report());
         for (const report::Evaluation& e : s->evaluations) {
           document.scenario_file(e.set.scenario);
         }
         return document;
       },
       [s = state.get()] {
         return report::identity_of({&s->study.from.loaded, &s->study.to.loaded}, "sdk-upgrade");
       },
       {},
       {{"from", state->study.upgrade.from.name()}, {"to", state->study.upgrade.to.name()}},
       part_of(state, state->study.from.loaded)});
}

}  // namespace retrysim::python

// Searches for tipping points: replications at one size of the trigger with their log, triggers as
// keys of a scenario, and plans, in which every case is validated at both ends of the trigger
// before anything runs.
//
// SPDX-License-Identifier: MIT
#include <retrysim/experiment.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/tip.hpp>

#include "estimate/tipping.hpp"
#include "execution/executor.hpp"
#include "execution/journal.hpp"
#include "experiment/point_errors.hpp"
#include "experiment/tip_probe.hpp"
#include "measure/analyse/storms.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/changes.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
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

namespace {

// How often what is finished is made to survive a crash of the machine, too.
constexpr auto kSyncLogEvery = std::chrono::seconds(5);

/// Simulates one replication and, if it tips, its twin.
ProbeRun simulate_probe(const Scenario& scenario, std::uint32_t replication,
                        SimulationOptions options) {
  const RunResult run = simulate(scenario, replication, options);
  const stats::Fate fate = stats::fate_of(scenario, run);
  ProbeRun result;
  result.events = run.events;
  if (fate.verdict == stats::StormVerdict::kTransient) {
    result.response = TippingResponse::kRecovers;
    return result;
  }
  const stats::Aftermath& after = *fate.aftermath;
  if (fate.verdict != stats::StormVerdict::kSustained) {
    result.duration_needed_s =
        after.trigger.end.in_seconds() + after.patience_s + scenario.recovery.hold.in_seconds();
    return result;
  }
  result.response = TippingResponse::kTips;
  options.retries_until = after.trigger.end;
  options.progress = nullptr;
  const RunResult twin = simulate(scenario, replication, options);
  const auto recovery = stats::twin_recovery(scenario, twin, after);
  result.twin_events = twin.events;
  result.twin_recovered = recovery && *recovery <= after.patience_s;
  result.metastable =
      stats::with_twin(fate.verdict, after, recovery) == stats::StormVerdict::kMetastable;
  return result;
}

/// The replications at one size. A unit of work is a replication with its twin.
class ProbeWork {
 public:
  ProbeWork(std::size_t number, double value, const Scenario& scenario,
            const ReplicationOptions& run, Executor& executor, ProbeLog& log)
      : number_(number),
        value_(value),
        scenario_(scenario),
        run_(run),
        executor_(executor),
        log_(log),
        runs_(static_cast<std::size_t>(scenario.replications)),
        reached_(std::make_unique<std::atomic<std::int64_t>[]>(runs_.size())) {}

  std::vector<ProbeRun> all() {
    const StopScope scope(run_.stop);
    stop_point();
    find_room();
    std::vector<std::uint32_t> missing = recall();
    if (!executor_.is_alone()) missing = shared(std::move(missing));
    if (!missing.empty()) simulate_missing(missing);
    if (!executor_.is_alone()) share_runs();
    if (executor_.is_owner() && run_.progress) run_.progress(1);
    check_events();
    return std::move(runs_);
  }

 private:
  std::uint32_t replication(std::size_t i) const {
    return run_.first + static_cast<std::uint32_t>(i);
  }

  /// Before anything runs; a run and its twin are kept for each thread.
  void find_room() {
    if (run_.max_memory == ~std::uint64_t{0}) return;
    const auto jobs = static_cast<std::size_t>(std::max(1, run_.jobs));
    const std::vector<const Scenario*> scenarios(std::max(runs_.size(), 2 * jobs), &scenario_);
    const MemoryPlan plan = plan_memory(scenarios, jobs, run_.max_memory, run_.kept_memory);
    most_each_ = plan.each;
    if (plan.at_once < std::min(jobs, runs_.size())) gate_.emplace(plan.at_once);
  }

  /// Takes what the log has; gives the places of the others.
  std::vector<std::uint32_t> recall() {
    std::vector<std::uint32_t> missing;
    if (!executor_.is_owner()) return missing;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (const ProbeRun* known = log_.find({number_, value_, replication(i)})) {
        runs_[i] = *known;
        reached_[i] = scenario_.duration.count();
      } else {
        missing.push_back(static_cast<std::uint32_t>(i));
      }
    }
    return missing;
  }

  std::vector<std::uint32_t> shared(std::vector<std::uint32_t> places) {
    execution::unpack(executor_.share(execution::pack(places)), places);
    return places;
  }

  void simulate_missing(const std::vector<std::uint32_t>& missing) {
    Task task;
    task.units = missing.size();
    task.make_work = [&] {
      return [&](std::size_t unit) { return execution::pack(simulate_one(missing[unit])); };
    };
    task.deliver = [&](std::size_t unit, const std::string& bytes) {
      const std::size_t i = missing[unit];
      execution::unpack(bytes, runs_[i]);
      reached_[i] = scenario_.duration.count();
      log_.add({number_, value_, replication(i)}, runs_[i]);
    };
    task.tick = [&] {
      log_.tick();
      if (run_.progress) run_.progress(share_done());
    };
    executor_.run(task);
  }

  ProbeRun simulate_one(std::size_t i) {
    std::optional<execution::Turnstile::Pass> pass;
    if (gate_) pass.emplace(*gate_, 1);
    SimulationOptions options;
    options.max_events = run_.max_events;
    options.max_memory = most_each_;
    options.stop = run_.stop;
    options.progress = &reached_[i];
    return simulate_probe(scenario_, replication(i), options);
  }

  void share_runs() { execution::unpack(executor_.share(execution::pack(runs_)), runs_); }

  double share_done() const {
    double done = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      done += static_cast<double>(reached_[i].load(std::memory_order_relaxed));
    }
    const auto total = static_cast<double>(scenario_.duration.count());
    return std::min(1.0, done / (total * static_cast<double>(runs_.size())));
  }

  void check_events() const {
    std::uint64_t events = 0, twin_events = 0;
    for (const ProbeRun& run : runs_) {
      events += run.events;
      twin_events += run.twin_events;
    }
    if (std::max(events, twin_events) > run_.max_events) {
      throw LimitExceeded("more events than --max-events allows, counted over all replications",
                          LimitKind::kEvents);
    }
  }

  std::size_t number_;
  double value_;
  const Scenario& scenario_;
  const ReplicationOptions& run_;
  Executor& executor_;
  ProbeLog& log_;
  std::vector<ProbeRun> runs_;
  std::unique_ptr<std::atomic<std::int64_t>[]> reached_;  // simulated ns, by replication
  std::uint64_t most_each_ = ~std::uint64_t{0};
  std::optional<execution::Turnstile> gate_;  // if not all threads may run at once
};

}  // namespace

// Its units are the replications in the order in which they were finished: which sizes there will
// be is not known before.
ProbeLog::ProbeLog(const std::filesystem::path& path, const execution::Identity& identity,
                   bool resume) {
  constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
  journal_.emplace(resume ? execution::Journal::resume(path, identity, kAnyNumber)
                          : execution::Journal::begin(path, identity, kAnyNumber));
  for (std::size_t unit = 0; journal_->has(unit); ++unit) {
    std::size_t number = 0;
    double value = 0;
    std::uint32_t replication = 0;
    ProbeRun run;
    try {
      execution::unpack(journal_->read(unit), number, value, replication, run);
    } catch (const execution::ArchiveError&) {
      throw execution::JournalError(path.string() + " does not contain the results of a search");
    }
    runs_.emplace(ProbeKey{number, value, replication}, run);
  }
  found_ = runs_.size();
}

const ProbeRun* ProbeLog::find(const ProbeKey& key) const {
  const auto found = runs_.find(key);
  return found == runs_.end() ? nullptr : &found->second;
}

void ProbeLog::add(const ProbeKey& key, const ProbeRun& run) {
  runs_.emplace(key, run);
  if (!journal_) return;
  // What is finished survives whatever happens to this process.
  const auto& [number, value, replication] = key;
  journal_->append(journal_->count(), execution::pack(number, value, replication, run));
  journal_->flush();
}

void ProbeLog::tick() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sync_ < kSyncLogEvery) return;
  sync();
  last_sync_ = now;
}

void ProbeLog::sync() {
  if (journal_) journal_->sync();
}

void ProbeLog::remove() {
  if (journal_) journal_->remove();
}

std::vector<ProbeRun> probe(std::size_t number, double value, const Scenario& scenario,
                            const ReplicationOptions& run, Executor& executor, ProbeLog& log) {
  return ProbeWork(number, value, scenario, run, executor, log).all();
}

}  // namespace retrysim::experiment

namespace retrysim {

// --- Triggers ------------------------------------------------------------------------------------

namespace {

constexpr const char* kTriggerOption = "--trigger";

/// One end of the range.
struct TriggerEnd {
  double value = 0;
  bool has_unit = false;
  bool whole = false;
};

std::optional<TriggerEnd> parse_trigger_end(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size() && std::isfinite(number)) {
    return TriggerEnd{number, false, text.find_first_of(".eE") == std::string_view::npos};
  }
  const auto duration = scenario::parse_duration(text);
  if (!duration) return std::nullopt;
  return TriggerEnd{duration->seconds, true, false};
}

/// What the table of keys knows of the trigger's.
void take_key(Trigger& trigger, const scenario::KeyInfo& key, bool whole_ends) {
  // Keys of no group say how many runs there are, how long and with which draws: bisection
  // compares the same replications at all values.
  if (trigger.path.find('.') == std::string::npos) {
    throw RequestError(
        fmt::format("{}: {} controls how runs are made and measured, not what happens to the "
                    "system; expected a key of a fault, client group or service",
                    kTriggerOption, trigger.path));
  }
  const scenario::ValueKind kind = key.rules.kind;
  if (kind == scenario::ValueKind::kBoolean || kind == scenario::ValueKind::kWord ||
      kind == scenario::ValueKind::kText || kind == scenario::ValueKind::kFile) {
    throw RequestError(fmt::format("{}: {} does not take numbers", kTriggerOption, trigger.path));
  }
  trigger.whole_numbers = kind == scenario::ValueKind::kCount;
  trigger.is_duration = trigger.is_duration || kind == scenario::ValueKind::kDuration;
  if (!key.rules.unit.empty()) trigger.unit = key.rules.unit;
  if (trigger.whole_numbers && !whole_ends) {
    throw RequestError(
        fmt::format("{}: {} takes only whole numbers", kTriggerOption, trigger.path));
  }
}

}  // namespace

std::string Trigger::edit(double value) const {
  if (!is_duration) return fmt::format("{}={}", path, value);
  // Of one that is too long, the scenario's reader says so.
  constexpr double kMost_s = 9e9;
  if (std::abs(value) > kMost_s) return fmt::format("{}=\"{:.0f}s\"", path, value);
  const Duration duration = Duration::nanoseconds(std::llround(value * 1e9));
  return fmt::format("{}=\"{}\"", path, scenario::to_text(duration));
}

Trigger parse_trigger(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = equals == std::string::npos ? equals : text.find(':', equals);
  if (equals == 0 || colon == std::string::npos) {
    throw RequestError(fmt::format("{}: '{}' is not PATH=LO:HI, such as fault.dip.duration=1s:60s",
                                   kTriggerOption, text));
  }
  Trigger trigger;
  trigger.path = text.substr(0, equals);
  const std::string_view low = std::string_view(text).substr(equals + 1, colon - equals - 1);
  const std::string_view high = std::string_view(text).substr(colon + 1);
  const auto first = parse_trigger_end(low), last = parse_trigger_end(high);
  if (!first || !last) {
    throw RequestError(fmt::format("{}: '{}' is neither a number nor a duration such as 250ms",
                                   kTriggerOption, first ? high : low));
  }
  trigger.first = first->value;
  trigger.last = last->value;
  if (trigger.first == trigger.last) {
    throw RequestError(fmt::format("{}: LO and HI are the same, {}", kTriggerOption, low));
  }
  trigger.is_duration = first->has_unit || last->has_unit;
  if (const scenario::KeyInfo* key = scenario::find_key(trigger.path)) {
    take_key(trigger, *key, first->whole && last->whole);
  }
  if (trigger.is_duration) trigger.unit = "s";
  return trigger;
}

LoadResult load_at(const std::filesystem::path& file, std::vector<std::string> edits,
                   const Trigger& trigger, double value, const std::string& option) {
  edits.push_back(trigger.edit(value));
  LoadResult result = load_scenario_file(file, edits);
  for (Diagnostic& d : result.errors) {
    if (d.source_line == edits.back()) d.file = option;
  }
  return result;
}

ScenarioAt scenarios_of(const std::filesystem::path& file, const std::vector<std::string>& edits,
                        const Trigger& trigger) {
  return [=](double value) {
    LoadResult result = load_at(file, edits, trigger, value);
    if (!result.loaded) throw RequestError(to_string(result.errors.front()));
    return std::move(result.loaded->scenario);
  };
}

// --- Plans and searches --------------------------------------------------------------------------

namespace {

using experiment::PointErrors;
using scenario::ScenarioReader;

constexpr std::size_t kMostCases = 10'000;

/// The combinations of the varied keys. Throws RequestError.
std::vector<Variant> variants_of(const std::vector<Variation>& variations, const Trigger& trigger) {
  for (const Variation& variation : variations) {
    for (const std::string& path : variation.paths) {
      if (!scenario::may_be_same(path, trigger.path)) continue;
      throw RequestError(fmt::format(
          "--vary: {} is the trigger, which is searched for at each point; vary another key",
          path));
    }
  }
  std::size_t cases = 1;
  for (const Variation& variation : variations) {
    cases *= variation.choices.size();
    if (cases <= kMostCases) continue;
    throw RequestError(fmt::format(
        "--vary: more than {} combinations, each of which is a search of its own", kMostCases));
  }
  return grid(variations);
}

/// Loads a case at one size. Mistakes in the size are ascribed to --trigger.
LoadResult load_case(const ScenarioReader& reader, std::vector<std::string> edits,
                     const Trigger& trigger, double value) {
  edits.push_back(trigger.edit(value));
  LoadResult result = reader.load(edits);
  for (Diagnostic& d : result.errors) {
    if (d.source_line == edits.back()) d.file = "--trigger";
  }
  return result;
}

ScenarioAt scenarios_of_case(const std::shared_ptr<const ScenarioReader>& reader,
                             const std::vector<std::string>& edits, const Trigger& trigger) {
  return [=](double value) {
    LoadResult result = load_case(*reader, edits, trigger, value);
    if (!result.loaded) throw RequestError(to_string(result.errors.front()));
    return std::move(result.loaded->scenario);
  };
}

void check_warmup(const LoadedScenario& loaded) {
  if (!loaded.scenario.warmup_is_auto) return;
  throw RequestError(
      "warmup = \"auto\" needs a steady state, which a search for a tipping point is not; set the "
      "warm-up with --set warmup=30s");
}

/// What the cases are, and what is wrong with them.
class Cases {
 public:
  Cases(std::shared_ptr<const ScenarioReader> reader, const TipRequest& request)
      : reader_(std::move(reader)), request_(request) {}

  TipCase add(const Variant& variant) {
    const Trigger& trigger = request_.trigger;
    for (const double value : {trigger.first, trigger.last}) {
      stop_point();
      LoadResult result = load_case(*reader_, variant.edits, trigger, value);
      if (!result.loaded) {
        if (request_.varying.empty()) {
          errors_.insert(errors_.end(), result.errors.begin(), result.errors.end());
        } else {
          point_errors_.add(variant.name, result.errors);
        }
        break;
      }
      check_warmup(*result.loaded);
      hash_ = fmt::format("{:016x}", execution::id_of({{hash_, to_toml(*result.loaded, false)}}));
      inputs_.insert(result.loaded->input_files.begin(), result.loaded->input_files.end());
    }
    return {variant.name, variant.values, scenarios_of_case(reader_, variant.edits, trigger)};
  }

  std::vector<Diagnostic> errors() const {
    return errors_.empty() ? point_errors_.diagnostics() : errors_;
  }
  const std::string& hash() const { return hash_; }
  std::vector<std::filesystem::path> inputs() const { return {inputs_.begin(), inputs_.end()}; }

 private:
  std::shared_ptr<const ScenarioReader> reader_;
  const TipRequest& request_;
  PointErrors point_errors_;
  std::vector<Diagnostic> errors_;
  std::string hash_;
  std::set<std::filesystem::path> inputs_;
};

// Of the scenario only what it resolves to: the scenario.toml of a result asks the same question.
void identify(TipPlan& plan, const TipRequest& request, const Cases& cases) {
  const Trigger& trigger = request.trigger;
  plan.inputs = cases.inputs();
  std::string varying;
  for (const std::string& vary : request.varying) varying += vary + "\n";
  plan.identity = {
      {"the version of retrysim", RETRYSIM_VERSION},
      {"--trigger", fmt::format("{}={}:{}", trigger.path, trigger.first, trigger.last)},
      {"--tolerance", fmt::format("{}", request.tolerance)},
      {"--vary", varying},
      {"the resolved scenario", to_toml(plan.base, false)},
      {"the scenarios of the points", cases.hash()},
      {"the CSV inputs", execution::describe_files(plan.inputs)},
  };
  plan.id = execution::id_of(plan.identity);
}

enum class AxisKind : std::uint8_t { kNumber, kDuration, kNeither };

AxisKind kind_of(std::string_view toml) {
  if (toml.size() >= 2 && (toml.front() == '"' || toml.front() == '\'')) {
    toml = toml.substr(1, toml.size() - 2);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(toml.data(), toml.data() + toml.size(), number);
  if (error == std::errc() && end == toml.data() + toml.size() && std::isfinite(number)) {
    return AxisKind::kNumber;
  }
  return scenario::parse_duration(toml) ? AxisKind::kDuration : AxisKind::kNeither;
}

}  // namespace

std::vector<std::string> TipPlan::paths() const {
  std::vector<std::string> all;
  for (const Variation& v : variations) all.insert(all.end(), v.paths.begin(), v.paths.end());
  return all;
}

std::optional<std::size_t> TipPlan::axis() const {
  for (std::size_t i = 0; i < variations.size(); ++i) {
    const Variation& v = variations[i];
    if (v.paths.size() != 1) continue;
    const AxisKind kind = kind_of(v.choices.front().front());
    const bool all_same = std::all_of(v.choices.begin(), v.choices.end(), [&](const auto& choice) {
      return kind_of(choice.front()) == kind;
    });
    if (kind != AxisKind::kNeither && all_same) return i;
  }
  return std::nullopt;
}

TipPlanResult plan_tip(const TipRequest& request) {
  TipPlanResult result;
  std::string error;
  const auto text =
      scenario::read_whole_file(request.scenario, scenario::kMostScenarioBytes, error);
  if (!text) {
    Diagnostic& d = result.errors.emplace_back();
    d.file = request.scenario.string();
    d.message = error;
    return result;
  }
  VariationsResult parsed = parse_variations(request.varying);
  if (!parsed.errors.empty()) {
    result.errors = std::move(parsed.errors);
    return result;
  }
  const auto reader = std::make_shared<const ScenarioReader>(
      *text, request.scenario.string(), request.scenario.parent_path(), request.edits);
  LoadResult base = reader->load();
  if (!base.loaded) {
    result.errors = std::move(base.errors);
    return result;
  }
  check_warmup(*base.loaded);
  const Trigger& trigger = request.trigger;
  TipPlan plan;
  plan.base = std::move(*base.loaded);
  plan.trigger = trigger;
  plan.search = {trigger.first, trigger.last, request.tolerance, trigger.whole_numbers};
  plan.variations = std::move(parsed.variations);
  Cases cases(reader, request);
  for (const Variant& variant : variants_of(plan.variations, trigger)) {
    plan.cases.push_back(cases.add(variant));
  }
  result.errors = cases.errors();
  if (!result.errors.empty()) return result;
  identify(plan, request, cases);
  result.plan = std::move(plan);
  return result;
}

std::vector<std::string> notes_before(const TipPlan& plan) {
  for (const bool at_first : {true, false}) {
    double longest = 0, duration = 0;
    for (const TipCase& c : plan.cases) {
      const Scenario s = c.scenario(at_first ? plan.search.first : plan.search.last);
      const auto needed = stats::least_duration_to_judge_s(s);
      if (!needed || *needed <= s.duration.in_seconds() || *needed <= longest) continue;
      longest = *needed;
      duration = s.duration.in_seconds();
    }
    if (longest == 0) continue;
    return {fmt::format(
        "runs of {:.4g} s are too short to judge {}; set duration to {:.4g} s or more", duration,
        at_first ? "any value: what does not recover looks like what is slow to"
                 : "the values near HI: the search will look below it",
        std::ceil(longest))};
  }
  return {};
}

namespace {

std::vector<std::string> notes_on_search(const TippingPoint& point, double duration_needed) {
  std::vector<std::string> notes;
  const std::size_t n = point.thresholds.size();
  if (n < 20) {
    notes.push_back(fmt::format("{} replication{}: the result is rough; use at least 20", n,
                                n == 1 ? "" : "s"));
  }
  std::size_t unknown = 0;
  for (const TippingProbe& p : point.probes) unknown += p.count(TippingResponse::kUnknown);
  if (unknown > 0) {
    notes.push_back(
        fmt::format("{} too short to tell whether {}; a duration of {:.4g} s "
                    "would be long enough",
                    unknown == 1 ? "1 run was" : fmt::format("{} runs were", unknown),
                    unknown == 1 ? "it recovers" : "they recover", std::ceil(duration_needed)));
  }
  return notes;
}

/// The search of one case.
class Prober {
 public:
  Prober(std::size_t number, const ReplicationOptions& run, Executor& executor,
         experiment::ProbeLog& log)
      : number_(number), run_(run), executor_(executor), log_(log) {}

  TipResult find(const ScenarioAt& scenario_at, const TippingSearch& search,
                 const std::function<void(int, double)>& probing) {
    TipResult result;
    result.search = search;
    result.point = stats::bisect(search, [&](double value) {
      const Scenario scenario = scenario_at(value);
      if (probing) probing(static_cast<int>(probes_.size()) + 1, value);
      auto& runs = probes_[value] =
          experiment::probe(number_, value, scenario, run_, executor_, log_);
      std::vector<TippingResponse> responses;
      for (const experiment::ProbeRun& run : runs) responses.push_back(run.response);
      return responses;
    });
    for (TippingProbe& probe : result.point.probes) add_twins(probe);
    result.notes = notes_on_search(result.point, duration_needed());
    return result;
  }

 private:
  void add_twins(TippingProbe& probe) const {
    for (const experiment::ProbeRun& run : probes_.at(probe.value)) {
      probe.twin_recovered += run.twin_recovered;
      probe.metastable += run.metastable;
    }
  }

  /// The shortest duration that would have let every run be judged; zero if all were.
  double duration_needed() const {
    double needed = 0;
    for (const auto& [value, runs] : probes_) {
      for (const experiment::ProbeRun& run : runs) needed = std::max(needed, run.duration_needed_s);
    }
    return needed;
  }

  std::size_t number_;
  const ReplicationOptions& run_;
  Executor& executor_;
  experiment::ProbeLog& log_;
  std::map<double, std::vector<experiment::ProbeRun>> probes_;  // by size
};

/// Throws RequestError.
void check_search(const TippingSearch& search) {
  if (!(search.tolerance >= 1e-6 && search.tolerance <= 0.5)) {
    throw RequestError("the tolerance of a search for a tipping point is from 1e-6 to 0.5");
  }
  if (!std::isfinite(search.first) || !std::isfinite(search.last) || search.first == search.last) {
    throw RequestError("a search for a tipping point needs two sizes that differ");
  }
}

/// Calls `work` with the options that are left and the executor.
template <class Work>
auto with_executor(const ReplicationOptions& options, const Work& work) {
  return execution::in_time(options, [&](const ReplicationOptions& run) {
    if (run.executor != nullptr) return work(run, *run.executor);
    return work(run, *make_thread_executor(run.jobs, run.stop));
  });
}

}  // namespace

TipResult find_tipping_point(const ScenarioAt& scenario_at, const TippingSearch& search,
                             const TipOptions& options) {
  check_search(search);
  return with_executor(options.run, [&](const ReplicationOptions& run, Executor& executor) {
    experiment::ProbeLog log;
    return Prober(0, run, executor, log).find(scenario_at, search, options.probing);
  });
}

TipPlan plan_tip(std::vector<TipCase> cases, const TippingSearch& search) {
  if (cases.empty()) throw RequestError("there is nothing to search for");
  check_search(search);
  TipPlan plan;
  plan.search = search;
  plan.cases = std::move(cases);
  return plan;
}

class TipSearches::Progress {
 public:
  Progress(TipPlan plan, TipSearchOptions options)
      : plan_(std::move(plan)), options_(std::move(options)), log_(open(plan_, options_)) {}

  std::vector<TipPoint> run() {
    return with_executor(options_.run, [this](const ReplicationOptions& run, Executor& executor) {
      try {
        std::vector<TipPoint> points = find_all(run, executor);
        log_.sync();
        return points;
      } catch (...) {
        log_.sync();
        throw;
      }
    });
  }

  const TipPlan& plan() const { return plan_; }
  experiment::ProbeLog& log() { return log_; }

 private:
  static experiment::ProbeLog open(const TipPlan& plan, const TipSearchOptions& options) {
    check_search(plan.search);
    if (options.journal.empty()) return {};
    if (plan.identity.empty()) throw RequestError("searches made by hand have no journal");
    return {options.journal, plan.identity, options.resume};
  }

  std::vector<TipPoint> find_all(const ReplicationOptions& run, Executor& executor) {
    std::vector<TipPoint> points;
    for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
      const TipCase& one = plan_.cases[i];
      const auto probing = [&](int probe, double value) {
        if (options_.probing) options_.probing(one.name, probe, value);
      };
      Prober prober(i, run, executor, log_);
      points.push_back({one.name, one.keys, prober.find(one.scenario, plan_.search, probing)});
    }
    return points;
  }

  TipPlan plan_;
  TipSearchOptions options_;
  experiment::ProbeLog log_;
};

TipSearches::TipSearches(TipPlan plan, TipSearchOptions options)
    : progress_(std::make_unique<Progress>(std::move(plan), std::move(options))) {}
TipSearches::TipSearches(TipSearches&&) noexcept = default;
TipSearches::~TipSearches() = default;

std::vector<TipPoint> TipSearches::run() { return progress_->run(); }
const TipPlan& TipSearches::plan() const { return progress_->plan(); }
std::size_t TipSearches::replications_kept() const { return progress_->log().kept(); }
std::size_t TipSearches::replications_found() const { return progress_->log().found(); }
std::uint64_t TipSearches::dropped_bytes() const { return progress_->log().dropped_bytes(); }
void TipSearches::remove_journal() { progress_->log().remove(); }

std::vector<TipPoint> find_tipping_points(TipPlan plan, const TipSearchOptions& options) {
  return TipSearches(std::move(plan), options).run();
}

}  // namespace retrysim

// The risk of something rare: the event and the scenario without disturbances; then, for each
// point, a horizon, a first look, and the repetitions whose answer counts. Splitting itself is in
// estimate/splitting.
//
// SPDX-License-Identifier: MIT
#include <retrysim/risk.hpp>

#include "estimate/intervals.hpp"
#include "estimate/splitting.hpp"
#include "execution/executor.hpp"
#include "execution/units.hpp"
#include "experiment/budget_risk.hpp"
#include "kernel/functions.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace retrysim {

// --- The event -----------------------------------------------------------------------------------

namespace {

std::string event_part() { return RequestError::part("event"); }

[[noreturn]] void refuse_event(std::string_view text, std::string_view why) {
  throw RequestError(fmt::format("{} '{}': {}", event_part(), text, why));
}

constexpr const char* kExpectedEvents =
    "expected collapse, service.NAME.in_system>=K, client.NAME.success_rate<X/60s or "
    "slo.NAME.budget>X";

/// The parts of "KIND.NAME.FIGURE<sign>REST".
struct EventText {
  std::string_view kind, name, figure, rest;
};

std::optional<EventText> parts_of(std::string_view text, std::string_view sign) {
  const std::size_t at = text.find(sign);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view path = text.substr(0, at);
  const std::size_t first = path.find('.'), last = path.rfind('.');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  return EventText{path.substr(0, first), path.substr(first + 1, last - first - 1),
                   path.substr(last + 1), text.substr(at + sign.size())};
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Spec>
std::size_t index_of_name(std::string_view text, std::string_view what, std::string_view name,
                          const std::vector<Spec>& all, bool or_all = false) {
  std::vector<std::string_view> names;
  if (or_all) names.push_back("all");
  for (const Spec& spec : all) names.push_back(spec.name);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    refuse_event(text, fmt::format("there is no {} '{}'; {}", what, name,
                                   scenario::suggestion(name, names, "there are")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

RareEvent backlog_event(std::string_view text, const EventText& parts, const Scenario& scenario) {
  RareEvent event;
  event.service = index_of_name(text, "service", parts.name, scenario.services);
  constexpr std::int64_t kMost = 1'000'000'000;
  const auto count = number_of<std::int64_t>(parts.rest);
  if (!count || *count < 1 || *count > kMost) {
    refuse_event(text, fmt::format("'{}' is not a whole number from 1 to 1e9", parts.rest));
  }
  event.count = *count;
  return event;
}

RareEvent success_event(std::string_view text, const EventText& parts, const Scenario& scenario) {
  RareEvent event{.kind = RareEvent::Kind::kSuccessRate};
  const std::size_t slash = parts.rest.find('/');
  if (slash == std::string_view::npos) {
    refuse_event(text, "the window is missing; expected a share and a window, such as 0.9/60s");
  }
  const std::size_t group = index_of_name(text, "client group", parts.name, scenario.clients, true);
  if (group > 0) event.client = group - 1;
  const auto below = number_of<double>(parts.rest.substr(0, slash));
  if (!below || !(*below > 0 && *below <= 1)) {
    refuse_event(
        text, fmt::format("'{}' is not a share above 0 and up to 1{}", parts.rest.substr(0, slash),
                          below ? scenario::percent_hint(*below) : ""));
  }
  event.below = *below;
  const auto window = scenario::parse_duration(parts.rest.substr(slash + 1));
  constexpr Duration kLeast = Duration::milliseconds(1), kMost = Duration::seconds(1'000'000);
  if (!window || window->duration < kLeast || window->duration > kMost) {
    refuse_event(text, fmt::format("'{}' is not a window from 1ms to 1e6s, such as 60s",
                                   parts.rest.substr(slash + 1)));
  }
  event.window = window->duration;
  return event;
}

RareEvent collapse_of(const Scenario& scenario) {
  RareEvent event{.kind = RareEvent::Kind::kSuccessRate};
  double longest_s = 0;
  for (const ClientSpec& client : scenario.clients) {
    const TimeoutSpec& timeouts = client.timeouts;
    if (timeouts.has_attempt) longest_s = std::max(longest_s, timeouts.attempt.mean_seconds());
  }
  constexpr double kTimeouts = 10, kLeast_s = 10, kMost_s = 3'600;
  event.window = Duration::from_seconds(std::clamp(kTimeouts * longest_s, kLeast_s, kMost_s));
  return event;
}

}  // namespace

RareEvent parse_rare_event(std::string_view text, const Scenario& scenario) {
  if (text == "collapse") return collapse_of(scenario);
  if (const auto parts = parts_of(text, ">=");
      parts && parts->kind == "service" && parts->figure == "in_system") {
    return backlog_event(text, *parts, scenario);
  }
  if (const auto parts = parts_of(text, "<");
      parts && parts->kind == "client" && parts->figure == "success_rate") {
    return success_event(text, *parts, scenario);
  }
  refuse_event(text, kExpectedEvents);
}

std::optional<BudgetEvent> parse_budget_event(std::string_view text, const Scenario& scenario) {
  if (!text.starts_with("slo.")) return std::nullopt;
  const auto parts = parts_of(text, ">");
  if (!parts || parts->figure != "budget") refuse_event(text, "expected slo.NAME.budget>X");
  if (scenario.slos.empty()) {
    refuse_event(text, "the scenario has no error budget; expected a table [slo.NAME]");
  }
  BudgetEvent event{index_of_name(text, "SLO", parts->name, scenario.slos)};
  const auto above = number_of<double>(parts->rest);
  if (!above || !(*above >= 0 && *above <= 1e9)) {
    refuse_event(text, fmt::format("'{}' is not a number from 0 to 1e9, such as 1 for the whole "
                                   "budget",
                                   parts->rest));
  }
  event.above = *above;
  return event;
}

Duration parse_period(std::string_view text, const char* part) {
  const auto period = scenario::parse_duration(text);
  if (period && period->duration > Duration::zero()) return period->duration;
  throw RequestError(fmt::format("{}: '{}' is no time above 0, such as 30d or 12h",
                                 RequestError::part(part), text));
}

std::string RiskPlan::said_event(const RiskPoint& point) const {
  const Scenario& scenario = *point.undisturbed;
  if (point.budget) {
    return fmt::format("more than {} % of the error budget of {}",
                       scenario::said_number(100 * point.budget->above, 4),
                       scenario.slos.front().name);
  }
  const RareEvent& e = point.event;
  if (e.kind == RareEvent::Kind::kInSystem) {
    return fmt::format("{} attempts at once at {}",
                       scenario::grouped(static_cast<std::size_t>(e.count)),
                       scenario.services[e.service].name);
  }
  const std::string of = e.client ? " of " + scenario.clients[*e.client].name : std::string();
  return fmt::format("less than {} % success{} over {}", scenario::said_number(100 * e.below, 4),
                     of, scenario::said_time(e.window.in_seconds()));
}

// --- The plan ------------------------------------------------------------------------------------

namespace {

/// The scenario without faults, surges and warm-up. Throws RequestError if its load changes with
/// time even so.
Scenario undisturbed(const Scenario& given) {
  Scenario scenario = given;
  scenario.faults.clear();
  scenario.random_faults.clear();
  scenario.phases.clear();
  scenario.expectations.clear();
  scenario.warmup = Duration::zero();
  scenario.warmup_is_auto = false;
  scenario.drain = false;
  for (ClientSpec& client : scenario.clients) {
    client.arrivals.surges.clear();
    const ArrivalProcess process = client.arrivals.process;
    const char* changing = client.arrivals.profile             ? "a rate that changes over time"
                           : process == ArrivalProcess::kTrace ? "the requests of a trace"
                           : process == ArrivalProcess::kOnce  ? "requests at one time only"
                                                               : nullptr;
    if (changing == nullptr) continue;
    throw RequestError(
        fmt::format("client.{} has {}: how likely something is within a month can only be said "
                    "of a load that stays; set one with {} client.{}.arrivals.rate=...",
                    client.name, changing, RequestError::part("set"), client.name));
  }
  return scenario;
}

bool is_disturbed(const Scenario& scenario) {
  return !scenario.faults.empty() || !scenario.random_faults.empty() ||
         std::ranges::any_of(scenario.clients, [](const ClientSpec& client) {
           return !client.arrivals.surges.empty();
         });
}

void check_numbers(const RiskRequest& request) {
  const auto fail = [](const char* part, const char* text) {
    throw RequestError(fmt::format("{}: {}", RequestError::part(part), text));
  };
  if (!(request.precision >= 0.01 && request.precision <= 2)) {
    fail("precision", "expected a number from 0.01 to 2");
  }
  if (request.period <= Duration::zero()) fail("per", "expected a time above 0");
  if (request.effort < 1'000'000) fail("effort", "expected at least 1000000 events");
  if (request.repair <= Duration::zero()) fail("repair", "expected a time above 0");
}

}  // namespace

RiskPlanResult plan_risk(const RiskRequest& request) {
  constexpr std::size_t kMost = 1'000;
  check_numbers(request);
  RiskPlanResult result;
  VariationsResult parsed = parse_variations(request.varying);
  if (!parsed.errors.empty()) {
    result.errors = std::move(parsed.errors);
    return result;
  }
  LoadResult base = load_scenario_file(request.scenario, request.edits, request.variant_edits);
  if (!base.loaded) {
    result.errors = std::move(base.errors);
    return result;
  }
  const std::vector<Variant> points =
      parsed.variations.empty() ? std::vector<Variant>{Variant()} : grid(parsed.variations);
  if (points.size() > kMost) {
    throw RequestError(fmt::format("{}: {} combinations; expected at most {}",
                                   RequestError::part("vary"), points.size(), kMost));
  }
  RiskPlan plan;
  plan.base = *std::move(base.loaded);
  plan.event = request.event;
  plan.period = request.period;
  plan.precision = request.precision;
  plan.repair = request.repair;
  plan.effort = request.effort;
  plan.plain = request.plain;
  plan.varying = request.varying;
  for (const Variation& v : parsed.variations) {
    plan.keys.insert(plan.keys.end(), v.paths.begin(), v.paths.end());
  }
  std::set<std::filesystem::path> inputs;
  for (const Variant& point : points) {
    std::vector<std::string> edits = request.variant_edits;
    edits.insert(edits.end(), point.edits.begin(), point.edits.end());
    LoadResult loaded = load_scenario_file(request.scenario, request.edits, edits);
    if (!loaded.loaded) {
      for (Diagnostic& d : loaded.errors) {
        if (!point.name.empty()) d.message += fmt::format(" (with {})", point.name);
      }
      result.errors = std::move(loaded.errors);
      return result;
    }
    const Scenario& scenario = loaded.loaded->scenario;
    inputs.insert(loaded.loaded->input_files.begin(), loaded.loaded->input_files.end());
    const std::optional<BudgetEvent> budget = parse_budget_event(request.event, scenario);
    if (budget && request.plain && request.repair != Duration::max()) {
      throw RequestError(fmt::format(
          "{} has no meaning where no quiet time is skipped ({}): a collapse lasts as long as it "
          "does in what is simulated",
          RequestError::part("repair"), RequestError::part("plain")));
    }
    plan.leaves_disturbances_out |= !budget && is_disturbed(scenario);
    const RareEvent event = budget ? RareEvent() : parse_rare_event(request.event, scenario);
    auto simulated = std::make_shared<const Scenario>(budget ? for_drawn_periods(scenario, *budget)
                                                             : undisturbed(scenario));
    plan.points.push_back({point.name, point.values,
                           std::make_shared<const LoadedScenario>(*std::move(loaded.loaded)),
                           std::move(simulated), event, budget});
  }
  plan.inputs = {inputs.begin(), inputs.end()};
  result.plan = std::move(plan);
  return result;
}

// --- Rates and probabilities ---------------------------------------------------------------------

namespace {

/// 1 - exp(-x) and its inverse, also where x is tiny.
double share_within(double x) { return x < 1e-8 ? x : 1 - kernel::exp(-x); }
double hazard_of(double p) { return p < 1e-8 ? p : -kernel::log1p(-p); }

/// The rate of an event that happens in the second half of twice the time `half`, but not before,
/// with probability `p`: with x = exp(-rate half), p = x - x^2. At most that of p = 1/4.
double rate_of(double p, double half_s) {
  const double root = std::sqrt(std::max(0.0, 1 - 4 * p));
  return hazard_of(std::min(1.0, 2 * p / (1 + root))) / half_s;
}

}  // namespace

RiskInterval risk_within(const RiskInterval& per_s, Duration period) {
  const double s = period.in_seconds();
  return {share_within(per_s.mean * s), share_within(per_s.low * s), share_within(per_s.high * s)};
}

RiskInterval mean_time_s(const RiskInterval& per_s) {
  return {1 / per_s.mean, 1 / per_s.high, 1 / per_s.low};
}

// --- The search ----------------------------------------------------------------------------------

namespace {

// Repetitions of each round: enough for Student's interval of a logarithm.
constexpr std::uint32_t kRepetitions = 32;
constexpr std::uint32_t kFirstParticles = 16;
constexpr std::uint32_t kMostHorizons = 12;
// Below this one (of half a horizon) nobody asks how rare it is: that is once in the age of the
// universe for a horizon of a second.
constexpr double kNever = 1e-18;
// From this probability on an event is not rare: plain runs show it.
constexpr double kCommon = 0.03;

class RiskSearch {
 public:
  RiskSearch(const RiskPlan& plan, const RiskPoint& point, const ReplicationOptions& run,
             const RiskProgress& progress)
      : plan_(plan), point_(point), run_(run), progress_(progress), scenario_(*point.undisturbed) {}

  RiskStudy find() {
    choose_first_horizon();
    if (plan_.plain) {
      conclude(plain_round(plan_.effort), true);
      return study_;
    }
    Round look = first_look();
    if (is_common(look)) {
      conclude(plain_round(plain_effort()), true);
      return study_;
    }
    if (!look.estimate || look.is_unfinished) {
      conclude(look, false);
      return study_;
    }
    say("repetitions");
    Round last = round(particles_after(look), false);
    while (is_late(last) && study_.events + 2 * last.events <= plan_.effort) {
      set_horizon(scenario_.duration * 2);
      last = round(last.particles, false);
    }
    conclude(last, false);
    return study_;
  }

 private:
  /// The repetitions of one round.
  struct Round {
    std::vector<stats::SplittingRun> runs;
    std::uint32_t particles = 0;
    std::optional<stats::PositiveEstimate> estimate;
    double position = 0, position_error = 0;
    bool is_unfinished = false;  // the estimate is more than the probability of the event
    std::uint32_t first = 0;     // number of the first repetition
    double early = 0;            // share of the starts
    double time_s = 0;           // plain: of all particles
    std::uint64_t events = 0;
  };

  static bool is_common(const Round& round) {
    return round.early >= kCommon || (round.estimate && round.estimate->mean >= kCommon);
  }

  static bool is_late(const Round& round) {
    return round.estimate && round.position - 3 * round.position_error > 0.55;
  }

  void say(std::string_view stage) const {
    if (progress_) progress_(point_, stage);
  }
  void set_horizon(Duration horizon) {
    scenario_.duration = scenario_.interval = horizon;
    from_ = Time::zero() + Duration::nanoseconds(horizon.count() / 2);
  }
  double half_s() const { return (scenario_.duration - (from_ - Time::zero())).in_seconds(); }

  /// A horizon with some thousand events, and with room for what the event is counted over.
  void choose_first_horizon() {
    say("horizon");
    constexpr std::uint64_t kEvents = 2'500;
    const bool has_window = point_.event.kind == RareEvent::Kind::kSuccessRate;
    constexpr double kWindows = 12;
    const double least_s = has_window ? kWindows * point_.event.window.in_seconds() : 1e-6;
    constexpr double kMost_s = 1e8;
    for (double horizon_s = least_s;; horizon_s *= 4) {
      set_horizon(Duration::from_seconds(horizon_s));
      SimulationOptions options;
      options.stop = run_.stop_flag;
      const FollowedRun run = follow(scenario_, 0, point_.event, from_, options);
      study_.events += run.events;
      if (run.events >= kEvents || horizon_s >= kMost_s) break;
      if (run.happened || run.happened_before) break;
    }
  }

  /// Plain runs count the event whenever it comes.
  Round round(std::uint32_t particles, bool plain) {
    execution::SplittingTask task{point_.event, plain ? Time::zero() : from_, particles, plain};
    const std::uint64_t left = plan_.effort - std::min(plan_.effort, study_.events);
    // Some repetitions take several times as long as others.
    constexpr std::uint64_t kLonger = 4;
    task.limits = {kNever, std::max<std::uint64_t>(1, left / kRepetitions * kLonger)};
    Round round;
    round.particles = particles;
    round.first = next_repetition_;
    round.runs = execution::before_more([&] {
      return execution::get_splittings(scenario_, task, next_repetition_, kRepetitions, run_);
    });
    next_repetition_ += kRepetitions;
    std::vector<double> probabilities, hits, times;
    double sum = 0, unfinished = 0;
    for (const stats::SplittingRun& r : round.runs) {
      probabilities.push_back(r.probability);
      hits.push_back(r.probability * r.particles);
      times.push_back(r.time_s);
      round.time_s += r.time_s;
      if (r.unfinished) unfinished += r.probability;
      round.early += static_cast<double>(r.early) / r.particles / kRepetitions;
      round.events += r.events;
      sum += r.probability;
      round.position += r.probability * r.position;
      study_.level = std::max(study_.level, level_of(r.nearest));
    }
    study_.events += round.events;
    round.estimate =
        plain ? stats::positive_ratio(hits, times) : stats::positive_mean(probabilities);
    if (!round.estimate) return round;
    // What repetitions that were given up could still add is then too little to matter.
    constexpr double kNegligible = 0.01;
    round.is_unfinished = unfinished > kNegligible * sum;
    round.position /= sum;
    for (const stats::SplittingRun& r : round.runs) {
      const double off = r.probability * (r.position - round.position) / sum;
      round.position_error += off * off;
    }
    round.position_error = std::sqrt(round.position_error);
    return round;
  }

  double level_of(NearnessScore nearest) const {
    if (nearest == kHappened) return 1;
    constexpr double kMostOfShares = 512;
    const bool counts = point_.event.kind == RareEvent::Kind::kInSystem;
    return static_cast<double>(nearest) /
           (counts ? static_cast<double>(point_.event.count) : kMostOfShares);
  }

  /// As many as a part of the effort allows.
  std::uint32_t particles_of_first_look() const {
    constexpr double kPart = 0.25;
    const double each = kRepetitions * events_of_run();
    const double affordable = kPart * static_cast<double>(plan_.effort) / each;
    if (affordable < 2) {
      throw RequestError(
          fmt::format("{}: a first look at {} of {} each takes about {} events",
                      RequestError::part("effort"), scenario::said_things(2 * kRepetitions, "run"),
                      scenario::said_number(scenario_.duration.in_seconds(), 3) + " s",
                      scenario::said_number(2 * each / kPart, 2)));
    }
    return static_cast<std::uint32_t>(std::min<double>(kFirstParticles, affordable));
  }

  /// Looks until the event is seen, and as often in the first as in the last part of the time in
  /// which it counts: then the horizon is long enough. What is found here only says how many
  /// particles are needed.
  Round first_look() {
    std::uint32_t particles = particles_of_first_look();
    for (std::uint32_t i = 0;; ++i) {
      say("first look");
      Round look = round(particles, false);
      const bool is_last = i + 1 == kMostHorizons || study_.events + 4 * look.events > plan_.effort;
      if (is_last) return look;
      const auto seen = static_cast<std::size_t>(std::ranges::count_if(
          look.runs, [](const stats::SplittingRun& r) { return r.probability > 0; }));
      if (is_common(look) || look.is_unfinished) return look;
      if (seen < kRepetitions / 2) {
        particles = std::min(4 * particles, execution::kMostParticles);
        continue;
      }
      if (look.position - look.position_error <= 0.55) return look;
      set_horizon(scenario_.duration * 2);
    }
  }

  /// How many particles the last round needs: the variance of the logarithm of a repetition's
  /// probability is in inverse proportion to their number.
  std::uint32_t particles_after(const Round& look) const {
    const double n = look.particles;
    const double aim = plan_.precision / kStudent / (1 + plan_.precision / 2);
    const double relative = look.estimate->relative_error;
    const double found = n * kernel::log1p(kRepetitions * relative * relative);
    const double least = -kernel::log(look.estimate->mean);
    // The spread that 32 repetitions show is itself uncertain.
    constexpr double kMargin = 1.5;
    const double wanted =
        kMargin * std::max(found, least) / kernel::log1p(kRepetitions * aim * aim);
    const double left = static_cast<double>(plan_.effort) - static_cast<double>(study_.events);
    const double affordable = n * left / static_cast<double>(look.events);
    const double particles = std::min(std::max(wanted, n), std::max(affordable, n));
    return static_cast<std::uint32_t>(
        std::clamp(std::ceil(particles), 2.0, double{execution::kMostParticles - 1}));
  }

  /// Runs that show the event so often that the precision is met.
  double runs_of_precision() const {
    const double aim = plan_.precision / kStudent / 1.5;
    return 1 / (aim * aim);
  }
  /// Enough if a thirtieth of the runs of a first look shows the event, and for that they are then
  /// so much longer that nearly all of them do.
  std::uint64_t plain_effort() const {
    constexpr double kLonger = 5;
    const double events = kLonger * runs_of_precision() / kCommon * events_of_run();
    return static_cast<std::uint64_t>(
        std::min(static_cast<double>(plan_.effort), std::max(1e6, events)));
  }
  double events_of_run() const {
    SimulationOptions options;
    options.stop = run_.stop_flag;
    RareEvent never = point_.event;
    never.kind = RareEvent::Kind::kInSystem;
    never.count = std::numeric_limits<std::int64_t>::max();
    return std::max(1.0, static_cast<double>(follow(scenario_, 0, never, from_, options).events));
  }
  /// Few runs, as long as the effort allows: what leads to the event has to build up first, and
  /// that time must not count for much. A run ends at the event.
  Round plain_round(std::uint64_t effort) {
    say("plain runs");
    constexpr double kFewest = 10, kLongest_s = 1e9;
    const double horizon_s = scenario_.duration.in_seconds(), events = events_of_run();
    const double most = std::floor(static_cast<double>(effort) / kRepetitions / events);
    const double wanted = std::max(kFewest, std::ceil(runs_of_precision() / kRepetitions));
    const double runs =
        std::clamp(std::min(wanted, most), 2.0, double{execution::kMostParticles - 1});
    set_horizon(Duration::from_seconds(
        std::clamp(horizon_s * most / runs, horizon_s, std::max(horizon_s, kLongest_s))));
    return round(static_cast<std::uint32_t>(runs), true);
  }

  void conclude(const Round& last, bool plain) {
    study_.method = plain ? RiskMethod::kPlain : RiskMethod::kSplitting;
    study_.horizon = scenario_.duration;
    study_.repetitions = kRepetitions;
    study_.particles = last.particles;
    for (const stats::SplittingRun& r : last.runs) {
      study_.repeated += static_cast<double>(r.repeated) / static_cast<double>(last.events);
      study_.levels += static_cast<double>(r.levels) / kRepetitions;
      study_.ancestors += static_cast<double>(r.ancestors) / kRepetitions;
    }
    const double trials = double{kRepetitions} * last.particles;
    if (!last.estimate) {
      study_.per_s_below =
          plain ? bound_of_plain(last, trials) : stats::bound_without_hits(trials * half_s());
      return;
    }
    const stats::PositiveEstimate& p = *last.estimate;
    if (last.is_unfinished) {
      study_.per_s_below = rate_of(p.high, half_s());
      return;
    }
    const auto rate = [&](double x) { return plain ? x : rate_of(x, half_s()); };
    study_.per_s = {rate(p.mean), rate(p.low), rate(p.high)};
    study_.per_s_below = study_.per_s->high;
    study_.relative_error = p.relative_error;
    study_.position = last.position;
    study_.position_error = last.position_error;
    if (plain) {
      study_.plain_events = static_cast<double>(last.events);
      return;
    }
    const double variance = kRepetitions * p.relative_error * p.relative_error;
    study_.excess_variance =
        kernel::log1p(variance) * last.particles / -kernel::log(std::min(p.mean, 0.5));
    note_path(last);
    study_.plain_events =
        (1 - p.mean) / (p.mean * p.relative_error * p.relative_error) * events_of_run();
  }

  /// Where at most one of the repetitions has seen the event, which may be several times.
  static double bound_of_plain(const Round& last, double trials) {
    std::size_t hits = 0;
    for (const stats::SplittingRun& r : last.runs) hits += r.ancestors;
    if (hits == 0) return stats::bound_without_hits(last.time_s);
    return stats::exact_interval(hits, static_cast<std::size_t>(trials)).high * trials /
           last.time_s;
  }

  /// Simulates one particle of each repetition once more, to see the way to the event.
  void note_path(const Round& last) {
    say("path");
    constexpr double kWindows = 4, kShareOfHorizon = 0.2, kBefore = 2.5;
    if (point_.event.kind == RareEvent::Kind::kSuccessRate) {
      return note_path(last, kWindows * point_.event.window.in_seconds());
    }
    // So long that it shows how the backlog grows, and what was before.
    double span_s = kShareOfHorizon * scenario_.duration.in_seconds();
    for (int pass = 0; pass < 4; ++pass) {
      note_path(last, span_s);
      const double wanted_s = kBefore * rise_s();
      if (wanted_s <= 0 || wanted_s > span_s / 2) return;
      span_s = wanted_s;
    }
  }

  /// How long before the event attempts begin to be more than a tenth of the way beyond the usual.
  double rise_s() const {
    constexpr double kRisen = 0.1;
    const double usual = study_.usual.in_system, last = study_.path.back().in_system;
    std::size_t k = study_.path.size();
    while (k > 0 && study_.path[k - 1].in_system > usual + kRisen * (last - usual)) --k;
    return k < study_.path.size() ? -study_.path[k].time_s : 0;
  }

  void note_path(const Round& last, double span_s) {
    constexpr std::size_t kStretches = 60;
    study_.path.clear();
    Scenario shown = scenario_;
    shown.interval = Duration::from_seconds(std::min(span_s, half_s()) / kStretches);
    const double stretch_s = shown.interval.in_seconds(), from_s = half_s();
    double all = 0;
    for (const stats::SplittingRun& r : last.runs) all += r.unfinished ? 0 : r.probability;
    std::vector<Means> means(kStretches);
    Means usual;
    for (std::size_t i = 0; i < last.runs.size(); ++i) {
      const stats::SplittingRun& r = last.runs[i];
      if (r.unfinished || r.probability <= 0) continue;
      SimulationOptions options;
      options.stop = run_.stop_flag;
      options.branches = r.branches;
      const std::uint32_t number = (last.first + static_cast<std::uint32_t>(i));
      const RunResult run = simulate(shown, number * execution::kMostParticles + r.root, options);
      const double weight = r.probability / all;
      const auto end = static_cast<std::size_t>((from_s + r.arrives * half_s()) / stretch_s);
      for (std::size_t k = 0; k < kStretches && end >= kStretches; ++k) {
        means[k].add(run, end - kStretches + k, weight);
      }
      const auto before = static_cast<std::size_t>(from_s / stretch_s);
      const std::size_t count = before / 2;
      for (std::size_t k = before - count; k < before; ++k) {
        usual.add(run, k, weight / static_cast<double>(count));
      }
    }
    for (std::size_t k = 0; k < kStretches; ++k) {
      study_.path.push_back(means[k].moment(stretch_s));
      study_.path.back().time_s = (static_cast<double>(k) - kStretches) * stretch_s;
    }
    study_.usual = usual.moment(stretch_s);
  }

  /// Weighted sums over runs, of one stretch of time.
  struct Means {
    double requests = 0, attempts = 0, in_system_ns = 0, successes = 0, ends = 0;

    void add(const RunResult& run, std::size_t bin, double weight) {
      if (bin < run.all_bins.size()) {
        const ClientFlow& flow = run.all_bins[bin].flow;
        requests += weight * static_cast<double>(flow.requests);
        attempts += weight * static_cast<double>(flow.attempts);
        successes += weight * static_cast<double>(flow.successes);
        ends += weight * static_cast<double>(flow.successes + flow.failures);
      }
      for (const ServiceResult& service : run.services) {
        if (bin < service.bins.size()) in_system_ns += weight * service.bins[bin].in_system_ns;
      }
    }
    RiskMoment moment(double seconds) const {
      RiskMoment m;
      m.requests_per_s = requests / seconds;
      m.attempts_per_s = attempts / seconds;
      m.in_system = in_system_ns / (1e9 * seconds);
      if (ends > 0) m.success_share = successes / ends;
      return m;
    }
  };

  static constexpr double kStudent = 2.04;  // of 31 degrees of freedom
  const RiskPlan& plan_;
  const RiskPoint& point_;
  const ReplicationOptions& run_;
  const RiskProgress& progress_;
  Scenario scenario_;
  Time from_;
  std::uint32_t next_repetition_ = 0;
  RiskStudy study_;
};

}  // namespace

std::vector<RiskStudy> find_risks(const RiskPlan& plan, const ReplicationOptions& run,
                                  const RiskProgress& progress) {
  return execution::in_time(run, [&](const ReplicationOptions& in_time) {
    std::vector<RiskStudy> studies;
    for (const RiskPoint& point : plan.points) {
      studies.push_back(point.budget ? study_drawn_periods(plan, point, in_time, progress)
                                     : RiskSearch(plan, point, in_time, progress).find());
    }
    return studies;
  });
}

}  // namespace retrysim

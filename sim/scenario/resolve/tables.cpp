// Resolving a whole scenario: the top level, then services, because faults and clients name them.
// Expectations and phases are resolved here as well.
//
// SPDX-License-Identifier: MIT
#include "scenario/resolve/tables.hpp"

#include <retrysim/metrics.hpp>

#include "flow/attempt.hpp"
#include "scenario/keys/key_rows.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <utility>

namespace retrysim::scenario {

const Node* Tables::of_kind(std::string_view kind) const {
  const Member* member = root.find(kind);
  return member != nullptr && member->value.is_table() ? &member->value : nullptr;
}

KeyResolution Tables::keys_of(std::string_view pattern, const std::string& path,
                              const Member& member, const Node& siblings, const Slots& slots) {
  KeyResolution keys(key_scope(pattern), path, member.value, member.place, slots, files, loaded);
  if (incomplete.count(path) > 0) keys.expect_missing_keys();
  explain_new_entity(keys, key_scope(pattern), member, siblings);
  return keys;
}

bool Tables::is_made_by_edit(const Member& member) const {
  return is_edit(files.sources().file(member.place.source));
}

// Explains missing keys of a table that an edit may have made by accident, through a misspelt name.
void Tables::explain_new_entity(KeyResolution& keys, const KeyScope& scope, const Member& member,
                                const Node& siblings) const {
  if (!is_made_by_edit(member)) return;
  std::vector<std::string_view> others;
  for (const Member& other : siblings.members) {
    if (!is_made_by_edit(other)) others.push_back(other.name);
  }
  if (others.empty()) return;
  keys.set_doubt("there is no " + std::string(scope.noun) + " " + in_quotes(member.name) + "; " +
                 suggestion(member.name, others, "there are"));
}

void Tables::default_service(KeyResolution& keys, std::string_view key) {
  const auto& services = loaded.scenario.services;
  if (services.empty()) {
    keys.set_default(key, render_text(""));  // the missing services have been reported
  } else if (services.size() == 1) {
    keys.set_default(key, render_text(services.front().name));
  } else {
    if (services_text_.empty()) services_text_ = joined_first(service_names());
    keys.set_missing_message(key, "the services are: " + services_text_);
  }
}

std::optional<std::size_t> Tables::find_service(const KeyResolution& keys, std::string_view key,
                                                const std::string& name) {
  if (!keys.has(key) || loaded.scenario.services.empty()) return std::nullopt;
  if (const auto at = index_of_service(name)) return at;
  if (!problems.wants(keys.place_of(key))) return std::nullopt;
  const auto names = service_names();
  problems.add(keys.place_of(key), keys.path() + "." + std::string(key) + " = " + in_quotes(name) +
                                       ": there is no such service; " +
                                       suggestion(name, names, "there are"));
  return std::nullopt;
}

std::optional<std::size_t> Tables::index_of_service(std::string_view name) {
  const std::vector<ServiceSpec>& services = loaded.scenario.services;
  for (std::size_t i = services_by_name_.size(); i < services.size(); ++i) {
    services_by_name_.emplace(services[i].name, i);
  }
  const auto at = services_by_name_.find(name);
  return at == services_by_name_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<std::string_view> Tables::service_names() const {
  std::vector<std::string_view> names;
  for (const ServiceSpec& service : loaded.scenario.services) names.push_back(service.name);
  return names;
}

bool Tables::is_client(std::string_view name) {
  if (clients_.empty()) {
    for (const ClientSpec& client : loaded.scenario.clients) clients_.insert(client.name);
    if (const Node* written = of_kind("client")) {
      for (const Member& client : written->members) clients_.insert(client.name);
    }
  }
  return clients_.contains(name);
}

void Tables::note_if_late(const std::string& path, Time start, std::string_view effect) {
  const Duration duration = loaded.scenario.duration;
  if (start < Time::zero() + duration) return;
  loaded.notes.push_back(path + " starts at " + to_text(start - Time::zero()) +
                         ", but no request is submitted after the duration of " +
                         to_text(duration) + "; " + std::string(effect));
}

// --- The whole scenario --------------------------------------------------------------------------

namespace {

// Most bins: ten million take 0.5 GB for each client group.
constexpr double kMaxBins = 1e7;
// The place reported for missing keys that are in no table.
constexpr Place kTop{0, 1, 1};

// Reports too many bins, which go on through the drain. Either side of the relation may be the
// mistake, so the error is shown at each that is written.
void check_bins(Tables& t, const KeyResolution& keys) {
  const Scenario& s = t.loaded.scenario;
  const double length_s = (s.duration + s.drain_limit).in_seconds();
  if (length_s / s.interval.in_seconds() <= kMaxBins) return;
  const std::string message =
      "interval = " + to_text(s.interval) +
      " makes more than ten million bins of duration = " + to_text(s.duration) +
      " and drain_limit = " + to_text(s.drain_limit) + "; expected a longer interval";
  for (const std::string_view key : {"interval", "duration"}) {
    if (keys.place_of(key) == kTop) continue;
    t.problems.add(keys.place_of(key),
                   key == "interval" ? message : message + " or a shorter duration");
  }
}

void check_name(Tables& t, const KeyResolution& keys) {
  const std::string& name = t.loaded.scenario.name;
  if (can_name_scenario(name)) return;
  t.problems.add(keys.place_of("name"),
                 fmt::format("name = {} {}", in_quotes(name), kNoScenarioName));
}

// Resolves the keys of the top level; returns the place of `warmup`.
Place resolve_top(Tables& t) {
  Scenario& s = t.loaded.scenario;
  KeyResolution keys(key_scope(""), "", t.root, kTop, Slots(&s), t.files, t.loaded);
  prepare_precision(keys, t.root);
  keys.resolve();
  if (keys.has("name")) check_name(t, keys);
  read_precision(keys, s, t.problems);
  const Place warmup_place = keys.place_of("warmup");
  if (!keys.has("duration")) return warmup_place;
  if (keys.has("warmup") && s.warmup >= s.duration) {
    t.problems.add(warmup_place, "warmup = " + to_text(s.warmup) +
                                     " leaves nothing of the duration of " + to_text(s.duration) +
                                     "; expected less");
  }
  if (keys.has("interval") && keys.has("drain_limit")) check_bins(t, keys);
  return warmup_place;
}

void require(Tables& t, std::string_view kind, const std::string& what) {
  const Member* member = t.root.find(kind);
  if (member != nullptr && (!member->value.is_table() || !member->value.members.empty())) return;
  t.problems.add(member == nullptr ? kTop : member->place,
                 "there is no " + std::string(kind) + "; expected " + what);
}

/// Resolves the default of recovery.hold, which depends on all clients. A value that is given
/// stays.
void resolve_hold(LoadedScenario& loaded) {
  const auto key = std::ranges::find(loaded.keys, "recovery.hold", &ResolvedKey::path);
  if (key == loaded.keys.end() || key->origin != Origin::kDefault) return;
  loaded.scenario.recovery.hold = flow::default_hold(loaded.scenario);
  key->toml = render_text(to_text(loaded.scenario.recovery.hold));
}

}  // namespace

LoadedScenario resolve(const Node& root, const std::set<std::string>& incomplete, CsvFiles& files) {
  Tables t(root, incomplete, files);
  const Place warmup_place = resolve_top(t);
  resolve_services(t);
  resolve_faults(t);
  resolve_clients(t);
  resolve_hold(t.loaded);
  resolve_phases(t);
  resolve_slos(t);
  resolve_expectations(t);
  resolve_uncertain(t);
  check_steady_state(t.loaded.scenario, warmup_place, t.problems);
  require(t, "service", "a [service.NAME] to call");
  require(t, "client", "a [client.NAME] that sends requests");
  t.loaded.input_files = files.paths();
  return std::move(t.loaded);
}

// --- [expect.NAME] -------------------------------------------------------------------------------

namespace {

// A number for messages, without the noise of binary fractions.
std::string share_text(double value) { return said_number(value, 6); }

void check_expectation_client(Tables& t, const KeyResolution& keys, const Expectation& spec) {
  if (!keys.has("client") || spec.client == "all") return;
  if (t.is_client(spec.client) || !t.problems.wants(keys.place_of("client"))) return;
  std::vector<std::string_view> names;
  if (const Node* clients = t.of_kind("client")) {
    for (const Member& client : clients->members) names.push_back(client.name);
  }
  for (const ClientSpec& client : t.loaded.scenario.clients) {
    if (client.makes_calls()) names.push_back(client.name);
  }
  names.push_back("all");
  t.problems.add(keys.place_of("client"), keys.path() + ".client = " + in_quotes(spec.client) +
                                              ": there is no such client; " +
                                              suggestion(spec.client, names, "there are"));
}

// Reports a bound on a share that is above 1: it is a percentage, or can never decide anything.
void check_share(Tables& t, const KeyResolution& keys, const Expectation& spec) {
  const MetricInfo* metric = find_metric(spec.metric);
  if (metric == nullptr || metric->range != MetricRange::kShare) return;
  for (const auto& [key, bound] :
       {std::pair("at_least", spec.at_least), {"at_most", spec.at_most}}) {
    const std::string wrong = bound ? wrong_share(spec.metric, *bound) : "";
    if (wrong.empty()) continue;
    t.problems.add(keys.place_of(key),
                   keys.path() + "." + key + " = " + share_text(*bound) + " is wrong: " + wrong);
  }
}

void check_bounds(Tables& t, const KeyResolution& keys, const Expectation& spec,
                  const Member& member) {
  const bool given =
      member.value.find("at_most") != nullptr || member.value.find("at_least") != nullptr;
  if (!given) {
    t.problems.add(member.place,
                   keys.path() + " has no bound; expected at_most or at_least, or both");
  } else if (spec.at_most && spec.at_least && *spec.at_least > *spec.at_most) {
    t.problems.add(keys.place_of("at_least"),
                   keys.path() + ".at_least = " + share_text(*spec.at_least) +
                       " is above at_most = " + share_text(*spec.at_most) + "; no value is both");
  }
}

void resolve_expectation(Tables& t, const Member& member, const Node& siblings) {
  Expectation spec;
  spec.name = member.name;
  const Slots slots(&spec);
  KeyResolution keys = t.keys_of("expect.*", "expect." + member.name, member, siblings, slots);
  keys.resolve();
  if (keys.has("metric") && find_metric(spec.metric) == nullptr) {
    t.problems.add(keys.place_of("metric"),
                   keys.path() + ".metric = " + unknown_metric(spec.metric));
  }
  check_expectation_client(t, keys, spec);
  check_share(t, keys, spec);
  check_bounds(t, keys, spec, member);
  t.loaded.scenario.expectations.push_back(std::move(spec));
  t.loaded.expectation_lines.push_back(t.is_made_by_edit(member) ? 0 : member.place.line);
}

}  // namespace

void resolve_expectations(Tables& t) {
  t.for_each("expect", [&](const Member& m, const Node& all) { resolve_expectation(t, m, all); });
}

// --- [phase.NAME] --------------------------------------------------------------------------------

namespace {

void store_phase_end(const Slots& s, const Value& v) {
  s.to<PhaseEnd>().time = Time::zero() + v.duration;
}

constexpr KeyInfo kPhaseKeys[] = {
    key("start", duration(kNotNegative), into<&PhaseSpec::start>, {.fallback = "0s"},
        "When the phase begins."),
    key("duration", duration(kPositive), into<&PhaseSpec::duration>, {}, "How long it lasts."),
    key("end", duration(kPositive), Access{store_phase_end},
        {.required = true, .when = "duration unset"}, "When it ends."),
};

void resolve_phase(Tables& t, const Member& member, const Node& siblings) {
  PhaseSpec spec;
  spec.name = member.name;
  PhaseEnd end;
  const Slots slots(&spec, &end);
  KeyResolution keys = t.keys_of("phase.*", "phase." + member.name, member, siblings, slots);
  keys.set_missing_message("end", "expected an end or a duration");
  keys.resolve();
  if (end.time) {
    spec.duration = *end.time - spec.start;
    if (spec.duration <= Duration::zero() && keys.has("start")) {
      t.problems.add(keys.place_of("end"),
                     keys.path() + ".end = " + to_text(*end.time - Time::zero()) +
                         " is not after the start of " + to_text(spec.start - Time::zero()));
    }
  }
  t.note_if_late(keys.path(), spec.start, "nothing is measured there");
  t.loaded.scenario.phases.push_back(std::move(spec));
}

}  // namespace

std::span<const KeyInfo> phase_keys() { return kPhaseKeys; }

void resolve_phases(Tables& t) {
  t.for_each("phase", [&](const Member& m, const Node& all) { resolve_phase(t, m, all); });
}

// --- [slo.NAME] ----------------------------------------------------------------------------------

namespace {

void store_frequency(const Slots& s, const Value& v) {
  s.to<SloSpec>().events_per_year.push_back({v.text, v.number});
}

bool has_frequency(const FilledSlots& s) { return !s.to<SloSpec>().events_per_year.empty(); }

/// A share of 1 would leave no error budget.
constexpr Range kSloShare{.min = 0, .max = 1, .above_min = true, .below_max = true};

constexpr KeyInfo kSloKeys[] = {
    key("share", number(kSloShare), into<&SloSpec::share>, {.required = true},
        "Share of the requests that must be good: 0.999. The others are the error budget."),
    key("latency", request_time(kPositive).or_word("any"), into<&SloSpec::latency>,
        {.fallback = "any"},
        "A request that takes longer is bad, as one that fails is; from its beginning to its end, "
        "retries included."),
    key("window", duration(kPositiveRunLength), into<&SloSpec::window>, {.fallback = "720h"},
        "The time that the budget is for; the default is 30 days."),
    key("clients", names(), into<&SloSpec::clients>, {},
        "The client groups whose requests count; without it all, but for calls between services."),
    key("requests_per_window", number(kPositive), into<&SloSpec::requests_per_window>, {},
        "Requests of a whole window, by which the budget is counted. Without it those at the rate "
        "before the first fault or surge."),
    key("events_per_year.*", number(kNotNegative), Access{store_frequency}.used_if(has_frequency),
        {.role = KeyRole::kNamed},
        "How often the fault or surge of that name happens in a year: { deploy = 12 }."),
};

struct Happening {
  std::string_view name;
  Time start, end;
};

std::vector<Happening> happenings(const Scenario& scenario) {
  std::vector<Happening> all;
  for (const FaultSpec& f : scenario.faults) all.push_back({f.name, f.start, f.start + f.duration});
  for (const ClientSpec& client : scenario.clients) {
    for (const SurgeSpec& s : client.arrivals.surges) {
      all.push_back({s.name, s.start, s.start + s.duration});
    }
  }
  return all;
}

void check_slo_clients(Tables& t, const KeyResolution& keys, const SloSpec& spec) {
  std::vector<std::string_view> names;
  for (const ClientSpec& client : t.loaded.scenario.clients) names.push_back(client.name);
  for (const std::string& name : spec.clients) {
    if (t.is_client(name)) continue;
    t.problems.add(keys.place_of("clients"), keys.path() + ".clients = " + in_quotes(name) +
                                                 ": there is no such client; " +
                                                 suggestion(name, names, "there are"));
  }
}

void check_slo_events(Tables& t, const KeyResolution& keys, const SloSpec& spec,
                      const Member& member) {
  std::vector<std::string_view> names;
  for (const Happening& h : happenings(t.loaded.scenario)) names.push_back(h.name);
  for (const SloFrequency& f : spec.events_per_year) {
    if (std::find(names.begin(), names.end(), f.event) != names.end()) continue;
    const Node* faults = t.of_kind("fault");
    // The fault's own mistake is reported elsewhere.
    if (faults != nullptr && faults->find(f.event) != nullptr) continue;
    const Node& given = member.value.find("events_per_year")->value;
    t.problems.add(given.find(f.event)->place,
                   keys.path() + ".events_per_year." + render_name(f.event) +
                       ": there is no such fault or surge; " +
                       (names.empty() ? std::string("expected the name of one")
                                      : suggestion(f.event, names, "there are")));
  }
}

/// Reports an SLO without requests per window if none can be derived from the rate before the first
/// fault or surge.
void check_slo_requests(Tables& t, const KeyResolution& keys, const SloSpec& spec,
                        const Member& member) {
  if (spec.requests_per_window > 0 || keys.is_wrong("requests_per_window")) return;
  const Time begin = Time::zero() + t.loaded.scenario.warmup;
  for (const Happening& h : happenings(t.loaded.scenario)) {
    if (h.start > begin || h.end <= begin) continue;
    t.problems.add(member.place, keys.path() +
                                     ".requests_per_window is missing: " + in_quotes(h.name) +
                                     " begins with the run or its warm-up, so there is no rate "
                                     "before it; expected the requests of a window, or a later "
                                     "start");
    return;
  }
}

void resolve_slo(Tables& t, const Member& member, const Node& siblings) {
  SloSpec spec;
  spec.name = member.name;
  KeyResolution keys = t.keys_of("slo.*", "slo." + member.name, member, siblings, Slots(&spec));
  keys.resolve();
  check_slo_clients(t, keys, spec);
  check_slo_events(t, keys, spec, member);
  check_slo_requests(t, keys, spec, member);
  t.loaded.scenario.slos.push_back(std::move(spec));
}

}  // namespace

std::span<const KeyInfo> slo_keys() { return kSloKeys; }

void resolve_slos(Tables& t) {
  t.for_each("slo", [&](const Member& m, const Node& all) { resolve_slo(t, m, all); });
}

}  // namespace retrysim::scenario

// Resolving a whole scenario: services first, because faults and clients name them.
//
// SPDX-License-Identifier: MIT
#include "scenario/resolve.hpp"

#include <retrysim/metrics.hpp>

#include "scenario/arrivals.hpp"
#include "scenario/consistency.hpp"
#include "scenario/key_resolution.hpp"
#include "scenario/output_keys.hpp"
#include "scenario/suggestions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace retrysim::scenario {
namespace {

// Bins and their memory: ten million are 0.5 GB for each client group.
constexpr double kMostBins = 1e7;
// Attempts name their client group by 16 bits.
constexpr std::size_t kMostClientGroups = 65535;
// Room for the rounding of sums such as 0.7 + 0.2 + 0.1.
constexpr double kMostProbability = 1 + 1e-9;
// Where keys that are in no table have to be.
constexpr Place kTop{0, 1, 1};

// A number in a message, without the noise of binary fractions.
std::string share_text(double value) { return fmt::format("{:.6g}", value); }

class Resolver {
 public:
  Resolver(const Node& root, const std::set<std::string>& incomplete, CsvFiles& files)
      : root_(root), incomplete_(incomplete), files_(files), problems_(files.problems()) {}

  LoadedScenario resolve() {
    resolve_top();
    for_each("service", [this](const Member& m) { resolve_service(m); });
    for_each("fault", [this](const Member& m) { resolve_fault(m); });
    const Node* clients = tables("client");
    if (clients != nullptr && clients->members.size() > kMostClientGroups) {
      problems_.add(root_.find("client")->place,
                    std::to_string(clients->members.size()) +
                        " client groups; expected at most 65535 (use count for many alike)");
    } else {
      for_each("client", [this](const Member& m) { resolve_client(m); });
      for_each("service", [this](const Member& m) { resolve_calls(m); });
      check_circles();
    }
    for_each("expect", [this](const Member& m) { resolve_expectation(m); });
    check_steady_state(loaded_.scenario, warmup_place_, problems_);
    require("service", "a [service.NAME] to call");
    require("client", "a [client.NAME] that sends requests");
    loaded_.input_files = files_.paths();
    return std::move(loaded_);
  }

 private:
  const Node* tables(std::string_view kind) const {
    const Member* member = root_.find(kind);
    return member != nullptr && member->value.is_table() ? &member->value : nullptr;
  }

  template <class Function>
  void for_each(std::string_view kind, Function function) {
    const Node* all = tables(kind);
    if (all == nullptr) return;
    for (const Member& member : all->members) {
      if (member.value.is_table() && is_entity_name(member.name)) function(member);
    }
  }

  void require(std::string_view kind, const std::string& what) {
    const Member* member = root_.find(kind);
    if (member != nullptr && (!member->value.is_table() || !member->value.members.empty())) return;
    problems_.add(member == nullptr ? kTop : member->place,
                  "there is no " + std::string(kind) + "; expected " + what);
  }

  // `siblings` is the table that `member` is in.
  KeyResolution keys_of(std::string_view pattern, const std::string& path, const Member& member,
                        const Node& siblings, const Slots& slots) {
    KeyResolution keys(key_scope(pattern), path, member.value, member.place, slots, files_,
                       loaded_);
    if (incomplete_.count(path) > 0) keys.expect_missing_keys();
    explain_new_entity(keys, key_scope(pattern), member, siblings);
    return keys;
  }

  bool is_made_by_edit(const Member& member) const {
    return is_edit(files_.sources().file(member.place.source));
  }

  // What an edit made by accident, through a misspelt name, misses its keys.
  void explain_new_entity(KeyResolution& keys, const KeyScope& scope, const Member& member,
                          const Node& siblings) const {
    if (!is_made_by_edit(member)) return;
    std::vector<std::string_view> others;
    for (const Member& other : siblings.members) {
      if (!is_made_by_edit(other)) others.push_back(other.name);
    }
    if (others.empty()) return;
    std::string_view kind = scope.pattern;  // "client.*.surge.*"
    kind.remove_suffix(2);
    kind.remove_prefix(kind.rfind('.') + 1);
    if (kind == "calls") kind = "call";
    const bool near = !nearest(member.name, others).empty();
    const std::string hint = "this edit makes a new " +
                             std::string(kind == "expect" ? "expectation" : kind) + "; " +
                             suggestion(member.name, others, "there are");
    for (const KeyInfo& key : scope.keys) {
      if (!key.required) continue;
      keys.set_missing_message(key.name,
                               near ? hint : "expected " + expected(key.rules) + "; " + hint);
    }
  }

  void resolve_top() {
    Scenario& s = loaded_.scenario;
    Slots slots;
    slots.scenario = &s;
    KeyResolution keys(key_scope(""), "", root_, kTop, slots, files_, loaded_);
    prepare_precision(keys, root_);
    keys.resolve();
    if (keys.has("name")) check_name(keys);
    read_precision(keys, s, problems_);
    warmup_place_ = keys.place_of("warmup");
    if (!keys.has("duration")) return;
    if (keys.has("warmup") && s.warmup >= s.duration) {
      problems_.add(keys.place_of("warmup"), "warmup = " + to_text(s.warmup) +
                                                 " leaves nothing of the duration of " +
                                                 to_text(s.duration) + "; expected less");
    }
    if (keys.has("interval") && keys.has("drain_limit")) check_bins(keys);
  }

  // The bins go on through the drain. Either side of the relation may be the mistake, so the error
  // is shown at each that is written.
  void check_bins(const KeyResolution& keys) {
    const Scenario& s = loaded_.scenario;
    const double length_s = (s.duration + s.drain_limit).in_seconds();
    if (length_s / s.interval.in_seconds() <= kMostBins) return;
    const std::string message =
        "interval = " + to_text(s.interval) +
        " makes more than ten million bins of duration = " + to_text(s.duration) +
        " and drain_limit = " + to_text(s.drain_limit) + "; expected a longer interval";
    for (const std::string_view key : {"interval", "duration"}) {
      if (keys.place_of(key) == kTop) continue;
      problems_.add(keys.place_of(key),
                    key == "interval" ? message : message + " or a shorter duration");
    }
  }

  void check_name(const KeyResolution& keys) {
    const std::string& name = loaded_.scenario.name;
    // =, +, - and @ begin a formula in spreadsheets that open the result files.
    constexpr std::string_view kBadStarts = ".=+-@";
    const bool good = !name.empty() && kBadStarts.find(name.front()) == std::string_view::npos &&
                      name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
                        const auto byte = static_cast<unsigned char>(c);
                        return byte >= 0x20 && byte != 0x7F && c != '/' && c != '\\';
                      });
    if (good) return;
    problems_.add(keys.place_of("name"), "name = " + in_quotes(name) +
                                             " cannot name a folder; expected text without / and "
                                             "\\ that does not start with . = + - or @");
  }

  void resolve_service(const Member& member) {
    ServiceSpec spec;
    spec.name = member.name;
    Slots slots;
    slots.service = &spec;
    slots.errors = &spec.errors;
    KeyResolution keys =
        keys_of("service.*", "service." + member.name, member, *tables("service"), slots);
    keys.resolve();
    check_probabilities(keys, spec.errors);
    if (spec.discipline == Discipline::kProcessorSharing &&
        spec.servers == ServiceSpec::kUnlimited) {
      problems_.add(keys.place_of("queue.discipline"),
                    keys.path() +
                        ".queue.discipline = \"processor-sharing\" has no meaning for "
                        "unlimited servers; expected a number of servers");
    }
    check_concurrency(keys, spec.concurrency);
    check_autoscaling(keys, spec);
    read_profile(keys, spec);
    loaded_.scenario.services.push_back(std::move(spec));
  }

  void check_autoscaling(const KeyResolution& keys, const ServiceSpec& spec) {
    const AutoscalingSpec& a = spec.autoscaling;
    if (a.target <= 0 || !keys.has("autoscaling.max")) return;
    if (a.min <= spec.servers && spec.servers <= a.max) return;
    problems_.add(keys.place_of("autoscaling"),
                  keys.path() + " has servers = " + std::to_string(spec.servers) +
                      " and autoscaling from " + std::to_string(a.min) + " to " +
                      std::to_string(a.max) + "; expected min <= servers <= max");
  }

  void read_profile(const KeyResolution& keys, ServiceSpec& spec) {
    if (!keys.has("profile")) return;
    const Place place = keys.place_of("profile");
    if (spec.servers == ServiceSpec::kUnlimited) {
      problems_.add(place, keys.path() +
                               ".profile has no meaning for unlimited servers; expected "
                               "a number of servers");
      return;
    }
    const CsvFile* file = files_.open(std::string(keys.text_of("profile")), place);
    if (file == nullptr) return;
    auto rows = read_capacity_profile(*file, files_);
    if (!rows) return;
    spec.profile.emplace();
    for (const double t : rows->times_s) {
      spec.profile->times.push_back(Time::zero() + Duration::from_seconds(t));
    }
    spec.profile->factors = std::move(rows->factors);
  }

  void check_concurrency(const KeyResolution& keys, const ConcurrencySpec& c) {
    if (c.control == ConcurrencyControl::kFixed) return;
    if (c.min <= c.initial && c.initial <= c.max) return;
    problems_.add(keys.place_of("concurrency"),
                  keys.path() + ".concurrency has min = " + std::to_string(c.min) +
                      ", initial = " + std::to_string(c.initial) +
                      ", max = " + std::to_string(c.max) + "; expected min <= initial <= max");
  }

  void check_probabilities(const KeyResolution& keys, const std::vector<RandomError>& errors) {
    double sum = 0;
    for (const RandomError& error : errors) sum += error.probability;
    if (sum <= kMostProbability) return;
    problems_.add(keys.place_of("errors"), keys.path() + ".errors add up to " + share_text(sum) +
                                               "; expected probabilities of at most 1 together");
  }

  // The service that a fault or client names is known by default while there is only one.
  void default_service(KeyResolution& keys, std::string_view key) {
    const auto& services = loaded_.scenario.services;
    if (services.empty()) {
      keys.set_default(key, render_text(""));  // one mistake, reported once
    } else if (services.size() == 1) {
      keys.set_default(key, render_text(services.front().name));
    } else {
      keys.set_missing_message(key, "the services are: " + joined(names_of(services)));
    }
  }

  template <class Spec>
  static std::vector<std::string_view> names_of(const std::vector<Spec>& specs) {
    std::vector<std::string_view> names;
    for (const Spec& spec : specs) names.push_back(spec.name);
    return names;
  }

  // The index of the service called `name`; an error if there is none.
  std::optional<std::size_t> find_service(const KeyResolution& keys, std::string_view key,
                                          const std::string& name) {
    if (!keys.has(key) || loaded_.scenario.services.empty()) return std::nullopt;
    const auto names = names_of(loaded_.scenario.services);
    const auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    problems_.add(keys.place_of(key), keys.path() + "." + std::string(key) + " = " +
                                          in_quotes(name) + ": there is no such service; " +
                                          suggestion(name, names, "there are"));
    return std::nullopt;
  }

  void resolve_fault(const Member& member) {
    FaultSpec spec;
    spec.name = member.name;
    std::string service;
    Slots slots;
    slots.fault = &spec;
    slots.service_name = &service;
    slots.errors = &spec.errors;
    KeyResolution keys =
        keys_of("fault.*", "fault." + member.name, member, *tables("fault"), slots);
    default_service(keys, "service");
    keys.resolve();
    note_if_late(keys.path(), spec.start, "no new request meets it");
    check_probabilities(keys, spec.errors);
    if (const auto index = find_service(keys, "service", service)) {
      spec.service = *index;
      const ServiceSpec& target = loaded_.scenario.services[*index];
      if (target.servers == ServiceSpec::kUnlimited && spec.capacity != 1) {
        problems_.add(keys.place_of("capacity"),
                      keys.path() + ".capacity has no meaning for the unlimited servers of " +
                          in_quotes(target.name) + "; expected a number of servers there");
      }
    }
    loaded_.scenario.faults.push_back(std::move(spec));
  }

  void resolve_client(const Member& member) {
    ClientSpec spec;
    spec.name = member.name;
    ArrivalInputs arrivals;
    PresetChoice preset;
    std::string service;
    Slots slots;
    slots.client = &spec;
    slots.service_name = &service;
    slots.arrivals = &arrivals;
    slots.preset = &preset;
    KeyResolution keys =
        keys_of("client.*", "client." + member.name, member, *tables("client"), slots);
    default_service(keys, "calls");
    keys.resolve();
    if (member.name == "all") {
      problems_.add(member.place,
                    "a client group cannot be called \"all\", which means all groups together");
    }
    resolve_surges(member, spec);
    resolve_operations(member, spec);
    arrivals.rate_is_wrong = keys.is_wrong("arrivals.rate") ||
                             keys.is_wrong("arrivals.total_rate") ||
                             keys.is_wrong("arrivals.profile");
    note_late_herd(keys.path(), spec.arrivals);
    if (keys.has("arrivals.process") && incomplete_.count(keys.path()) == 0) {
      Place place = keys.place_of("arrivals");
      if (place == Place{}) place = member.place;
      for (const Withdrawn& w :
           resolve_arrivals(arrivals, keys.path(), place, spec, files_, loaded_.notes)) {
        keys.withdraw(w.key, w.reason);
      }
    }
    check_quota(keys, spec);
    if (const auto index = find_service(keys, "calls", service)) {
      spec.service = *index;
      check_end_of_lost_requests(keys, member, spec);
      note_idle_priority(keys, spec);
    }
    loaded_.scenario.clients.push_back(std::move(spec));
  }

  // The calls of one service to others: client groups after those of the user.
  void resolve_calls(const Member& service) {
    const Member* calls = service.value.find("calls");
    if (calls == nullptr || !calls->value.is_table()) return;
    const auto names = names_of(loaded_.scenario.services);
    const auto caller = static_cast<std::size_t>(
        std::find(names.begin(), names.end(), service.name) - names.begin());
    if (loaded_.scenario.services[caller].model == ServiceModelKind::kOcc) {
      problems_.add(calls->place, "service." + service.name +
                                      ".calls does not apply to model = \"occ\"; expected another "
                                      "model, or no calls");
    }
    const std::size_t known = loaded_.keys.size();
    for (const Member& member : calls->value.members) {
      if (!member.value.is_table() || !is_entity_name(member.name)) continue;
      resolve_call(service, caller, member, calls->value);
    }
    move_to_service("service." + service.name + ".", known);
  }

  // Keys from number `first` on go behind the others of their service, to be written in one table.
  void move_to_service(const std::string& prefix, std::size_t first) {
    const auto news = loaded_.keys.begin() + static_cast<std::ptrdiff_t>(first);
    auto at = news;
    while (at != loaded_.keys.begin() && !std::prev(at)->path.starts_with(prefix)) --at;
    std::rotate(at, news, loaded_.keys.end());
  }

  void resolve_call(const Member& service, std::size_t caller, const Member& member,
                    const Node& siblings) {
    ClientSpec spec;
    spec.name = service.name + "." + member.name;
    spec.caller = caller;
    PresetChoice preset;
    Slots slots;
    slots.client = &spec;
    slots.preset = &preset;
    const std::string path = "service." + service.name + ".calls." + member.name;
    KeyResolution keys = keys_of("service.*.calls.*", path, member, siblings, slots);
    if (incomplete_.count("service." + service.name) > 0) keys.expect_missing_keys();
    keys.resolve();
    check_quota(keys, spec);
    const auto names = names_of(loaded_.scenario.services);
    const auto callee = std::find(names.begin(), names.end(), member.name);
    if (callee == names.end()) {
      problems_.add(member.place, path + ": there is no such service to call; " +
                                      suggestion(member.name, names, "there are"));
      return;
    }
    spec.service = static_cast<std::size_t>(callee - names.begin());
    check_end_of_lost_requests(keys, member, spec);
    note_idle_priority(keys, spec);
    call_places_.push_back(member.place);
    loaded_.scenario.clients.push_back(std::move(spec));
  }

  void check_circles() {
    const std::vector<ServiceSpec>& services = loaded_.scenario.services;
    const std::vector<std::size_t> circle = circle_of_calls(loaded_.scenario);
    if (circle.empty()) return;
    std::string text;
    for (const std::size_t i : circle) text += services[i].name + " -> ";
    problems_.add(place_of_call(circle.front(), circle.size() > 1 ? circle[1] : circle.front()),
                  "services call each other in a circle: " + text + services[circle.front()].name +
                      "; one call must go");
  }

  Place place_of_call(std::size_t from, std::size_t to) const {
    const auto& clients = loaded_.scenario.clients;
    const std::size_t first = clients.size() - call_places_.size();
    for (std::size_t i = first; i < clients.size(); ++i) {
      if (clients[i].caller == from && clients[i].service == to) return call_places_[i - first];
    }
    return {};
  }

  void resolve_surges(const Member& client, ClientSpec& spec) {
    const Member* surges = client.value.find("surge");
    if (surges == nullptr || !surges->value.is_table()) return;
    for (const Member& member : surges->value.members) {
      if (!member.value.is_table() || !is_entity_name(member.name)) continue;
      SurgeSpec surge;
      surge.name = member.name;
      Slots slots;
      slots.surge = &surge;
      const std::string path = "client." + client.name + ".surge." + member.name;
      keys_of("client.*.surge.*", path, member, surges->value, slots).resolve();
      note_if_late(path, surge.start, "it changes no rate");
      spec.arrivals.surges.push_back(std::move(surge));
    }
  }

  void resolve_operations(const Member& client, ClientSpec& spec) {
    const Member* operations = client.value.find("operation");
    if (operations == nullptr || !operations->value.is_table()) return;
    for (const Member& member : operations->value.members) {
      if (!member.value.is_table() || !is_entity_name(member.name)) continue;
      OperationSpec operation;
      operation.name = member.name;
      Slots slots;
      slots.operation = &operation;
      const std::string path = "client." + client.name + ".operation." + member.name;
      keys_of("client.*.operation.*", path, member, operations->value, slots).resolve();
      spec.operations.push_back(std::move(operation));
    }
  }

  // What starts after the last request does nothing; mostly it is a mistake.
  void note_if_late(const std::string& path, Time start, std::string_view effect) {
    const Duration duration = loaded_.scenario.duration;
    if (start < Time::zero() + duration) return;
    loaded_.notes.push_back(path + " starts at " + to_text(start - Time::zero()) +
                            ", but no request is submitted after the duration of " +
                            to_text(duration) + "; " + std::string(effect));
  }

  void note_late_herd(const std::string& path, const ArrivalSpec& arrivals) {
    if (arrivals.process != ArrivalProcess::kOnce) return;
    const Time run_end = Time::zero() + loaded_.scenario.duration;
    if (arrivals.start >= run_end) {
      note_if_late(path + ".arrivals", arrivals.start, "this group sends nothing");
    } else if (arrivals.start + arrivals.spread > run_end) {
      loaded_.notes.push_back(path + ".arrivals: the spread ends at " +
                              to_text(arrivals.start + arrivals.spread - Time::zero()) +
                              "; requests after the duration of " +
                              to_text(loaded_.scenario.duration) + " are not submitted");
    }
  }

  void check_quota(const KeyResolution& keys, const ClientSpec& spec) {
    const ThrottleRules& throttle = spec.retry.throttle;
    constexpr double kMostRemembered = 1e8;  // calls, of all clients together: 0.8 GB
    if (throttle.enabled && double{1} * throttle.window_calls * spec.count > kMostRemembered) {
      problems_.add(keys.place_of("retry.client_throttle.window_calls"),
                    keys.path() + ".retry.client_throttle.window_calls times count is more than " +
                        "a hundred million calls to remember; expected fewer, or a window");
    }
    const QuotaRules& quota = spec.retry.quota;
    if (quota.enabled && quota.on_empty == QuotaOnEmpty::kWait && !(quota.refill_rate > 0)) {
      problems_.add(keys.place_of("retry.quota.on_empty"),
                    keys.path() +
                        ".retry.quota.on_empty = \"wait\" would wait forever; expected "
                        "a refill_rate above 0");
    }
    if (quota.enabled && quota.threshold > 0 && quota.threshold >= quota.capacity) {
      problems_.add(keys.place_of("retry.quota.threshold"),
                    keys.path() + ".retry.quota.threshold = " + std::to_string(quota.threshold) +
                        " is never exceeded by a capacity of " + std::to_string(quota.capacity) +
                        "; expected less");
    }
    if (!quota.enabled || quota.initial <= quota.capacity) return;
    problems_.add(keys.place_of("retry.quota.initial"),
                  keys.path() + ".retry.quota.initial = " + std::to_string(quota.initial) +
                      " is more than the capacity of " + std::to_string(quota.capacity) +
                      "; expected at most that");
  }

  // A request whose message is lost ends by a timeout or a deadline, or never.
  void check_end_of_lost_requests(const KeyResolution& keys, const Member& member,
                                  const ClientSpec& spec) {
    if (!keys.has("attempt_timeout") || !keys.has("deadline")) return;
    if (spec.has_attempt_timeout || spec.deadline != Duration::max()) return;
    const ServiceSpec& service = loaded_.scenario.services[spec.service];
    const std::string loss = cause_of_lost_messages(loaded_.scenario, spec);
    if (loss.empty()) {
      if (service.abandoned != Abandoned::kServe) {
        loaded_.notes.push_back("service." + service.name + ".abandoned has no effect on " +
                                keys.path() +
                                ", which has no attempt_timeout and no deadline and so never "
                                "gives up");
      }
      return;
    }
    problems_.add(member.place, keys.path() + ": a request that is lost (" + loss +
                                    ") would never end; expected an attempt_timeout or a deadline");
  }

  void note_idle_priority(const KeyResolution& keys, const ClientSpec& spec) {
    const ServiceSpec& service = loaded_.scenario.services[spec.service];
    if (spec.priority == 0 || service.discipline == Discipline::kPriority) return;
    loaded_.notes.push_back(keys.path() + ".priority has no effect: service." + service.name +
                            ".queue.discipline is not \"priority\"");
  }

  void resolve_expectation(const Member& member) {
    Expectation spec;
    spec.name = member.name;
    Slots slots;
    slots.expectation = &spec;
    KeyResolution keys =
        keys_of("expect.*", "expect." + member.name, member, *tables("expect"), slots);
    keys.resolve();
    const auto metrics = metric_names();
    if (keys.has("metric") &&
        std::find(metrics.begin(), metrics.end(), spec.metric) == metrics.end()) {
      const std::string_view near = nearest(spec.metric, metrics);
      problems_.add(keys.place_of("metric"),
                    keys.path() + ".metric = " + in_quotes(spec.metric) + " is unknown; " +
                        (near.empty() ? std::string("`retrysim list metrics` shows all of them")
                                      : "did you mean \"" + std::string(near) + "\"?"));
    }
    check_expectation_client(keys, spec);
    check_bounds(keys, spec, member);
    loaded_.scenario.expectations.push_back(std::move(spec));
  }

  void check_expectation_client(const KeyResolution& keys, const Expectation& spec) {
    if (!keys.has("client") || spec.client == "all") return;
    std::vector<std::string_view> names;  // as written: a group with mistakes exists, too
    if (const Node* clients = tables("client")) {
      for (const Member& client : clients->members) names.push_back(client.name);
    }
    for (const ClientSpec& client : loaded_.scenario.clients) {
      if (client.caller) names.push_back(client.name);
    }
    if (std::find(names.begin(), names.end(), spec.client) != names.end()) return;
    names.push_back("all");
    problems_.add(keys.place_of("client"), keys.path() + ".client = " + in_quotes(spec.client) +
                                               ": there is no such client; " +
                                               suggestion(spec.client, names, "there are"));
  }

  void check_bounds(const KeyResolution& keys, const Expectation& spec, const Member& member) {
    const bool given =
        member.value.find("at_most") != nullptr || member.value.find("at_least") != nullptr;
    if (!given) {
      problems_.add(member.place,
                    keys.path() + " has no bound; expected at_most or at_least, or both");
    } else if (spec.at_most && spec.at_least && *spec.at_least > *spec.at_most) {
      problems_.add(keys.place_of("at_least"),
                    keys.path() + ".at_least = " + share_text(*spec.at_least) +
                        " is above at_most = " + share_text(*spec.at_most) + "; nothing is both");
    }
  }

  const Node& root_;
  const std::set<std::string>& incomplete_;
  CsvFiles& files_;
  Problems& problems_;
  LoadedScenario loaded_;
  std::vector<Place> call_places_;  // of the client groups that stand for calls: the last ones
  Place warmup_place_;
};

}  // namespace

LoadedScenario resolve(const Node& root, const std::set<std::string>& incomplete, CsvFiles& files) {
  return Resolver(root, incomplete, files).resolve();
}

}  // namespace retrysim::scenario

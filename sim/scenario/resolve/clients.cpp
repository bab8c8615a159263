// Resolving [client.NAME], and [service.NAME.calls.NAME], where a service is the client of another
// one.
//
// SPDX-License-Identifier: MIT
#include "scenario/resolve/clients.hpp"

#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "flow/attempt.hpp"
#include "flow/calls.hpp"
#include "scenario/limits.hpp"
#include "scenario/resolve/key_resolution.hpp"
#include "scenario/resolve/preset_resolution.hpp"
#include "scenario/resolve/services.hpp"
#include "scenario/resolve/tables.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace retrysim::scenario {

namespace {

// Reports too many client groups, and returns false then. Each call of a service to another one
// counts as a group.
bool check_count(Tables& t) {
  const Node* clients = t.of_kind("client");
  std::size_t count = clients == nullptr ? 0 : clients->members.size();
  if (count > kMaxGroups) {
    t.problems.add(t.root.find("client")->place,
                   fmt::format("{} client groups; expected at most {} (use count for many alike)",
                               count, kMaxGroups));
    return false;
  }
  bool few = true;
  t.for_each("service", [&](const Member& service, const Node&) {
    t.for_each_in(service.value, "calls", [&](const Member& call, const Node&) {
      if (++count != kMaxGroups + 1) return;
      t.problems.add(call.place,
                     fmt::format("service.{}.calls.{}: with the calls of services there are more "
                                 "than {} client groups; expected fewer calls or client groups",
                                 service.name, call.name, kMaxGroups));
      few = false;
    });
  });
  return few;
}

void resolve_surges(Tables& t, const Member& client, ClientSpec& spec) {
  t.for_each_in(client.value, "surge", [&](const Member& member, const Node& siblings) {
    SurgeSpec surge;
    surge.name = member.name;
    const std::string path = "client." + client.name + ".surge." + member.name;
    t.keys_of("client.*.surge.*", path, member, siblings, Slots(&surge)).resolve();
    t.note_if_late(path, surge.start, "it changes no rate");
    spec.arrivals.surges.push_back(std::move(surge));
  });
}

constexpr std::string_view kExpectedErrors =
    "a status from 400 to 599, 4xx, 5xx, a code such as SlowDown or 503:SlowDown, internal, "
    "unavailable, throttled, timeout, connection, no-connection, bulkhead-full, not-permitted or "
    "any";

// Reads the errors that a key lists; reports those that cannot be read.
std::vector<ErrorPattern> read_errors(Tables& t, const KeyResolution& keys, std::string_view key,
                                      const std::vector<std::string>& texts) {
  std::vector<ErrorPattern> patterns;
  for (const std::string& text : texts) {
    if (auto pattern = parse_error_pattern(text)) {
      patterns.push_back(std::move(*pattern));
    } else {
      t.problems.add(keys.place_of(key),
                     fmt::format("{}.{} = {} is wrong; expected {}", keys.path(), key,
                                 in_quotes(text), kExpectedErrors));
    }
  }
  return patterns;
}

void read_error_lists(Tables& t, const KeyResolution& keys, const ErrorTexts& texts,
                      RetryRules& rules) {
  constexpr std::string_view kBases = "retry.base_after";
  rules.errors.on = read_errors(t, keys, "retry.on", texts.on);
  rules.errors.not_on = read_errors(t, keys, "retry.not_on", texts.not_on);
  for (const std::string& text : texts.bases) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const auto after = parse_error_pattern(std::string_view(text).substr(0, equals));
    const auto base = equals < text.size()
                          ? parse_duration(std::string_view(text).substr(equals + 1))
                          : std::nullopt;
    if (after && base) {
      rules.errors.bases.push_back({*after, base->duration});
      continue;
    }
    t.problems.add(
        keys.place_of(kBases),
        fmt::format("{}.{} = {} is wrong; expected an error and a time, such as \"429=5s\"",
                    keys.path(), kBases, in_quotes(text)));
  }
  if (rules.errors.bases.size() > ErrorRules::kMaxBases) {
    t.problems.add(keys.place_of(kBases),
                   fmt::format("{}.{} has {} errors; expected at most {}", keys.path(), kBases,
                               rules.errors.bases.size(), ErrorRules::kMaxBases));
  }
  const bool by_cap = keys.text_of("retry.retry_after_max") == "cap";
  if (by_cap && rules.retry_after != RetryAfter::kReplace &&
      rules.retry_after != RetryAfter::kMinimumCapped) {
    t.problems.add(keys.place_of("retry.retry_after_max"),
                   keys.path() +
                       ".retry.retry_after_max = \"cap\" goes with retry_after = replace or "
                       "minimum-capped; expected a time or \"none\"");
  }
}

void resolve_operations(Tables& t, const Member& client, ClientSpec& spec) {
  t.for_each_in(client.value, "operation", [&](const Member& member, const Node& siblings) {
    OperationSpec operation;
    operation.name = member.name;
    const std::string path = "client." + client.name + ".operation." + member.name;
    ServiceName service;
    ErrorTexts errors;
    KeyResolution keys = t.keys_of("client.*.operation.*", path, member, siblings,
                                   Slots(&operation, &service, &errors));
    keys.resolve();
    operation.not_retried_on = read_errors(t, keys, "retry_not_on", errors.not_on);
    if (keys.has("calls")) operation.service = t.find_service(keys, "calls", service.name);
    spec.operations.push_back(std::move(operation));
  });
}

// Finds the services that a group names, and puts them into `spec`. False if one of them does not
// exist.
bool find_services(Tables& t, const KeyResolution& keys, const std::vector<std::string>& names,
                   ClientSpec& spec) {
  bool found = !names.empty();
  for (const std::string& name : names) {
    const auto index = t.find_service(keys, "calls", name);
    if (!index) {
      found = false;
    } else if (&name == &names.front()) {
      spec.service = *index;
    } else {
      spec.more_services.push_back(*index);
    }
  }
  return found;
}

// Refuses rules that do not fit to a read before each retry, which is a message of its own.
void check_reconciliation(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  if (!spec.side_effects.reconciles) return;
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  for (const std::size_t s : called_services(spec)) {
    if (services[s].model != ServiceModelKind::kOcc) continue;
    t.problems.add(keys.place_of("reconcile_read"),
                   keys.path() + ".reconcile_read does not go with service." + services[s].name +
                       ".model = \"occ\", each of whose attempts begins with a read already; "
                       "expected none, or another model");
  }
  if (!spec.retry.hedging.enabled) return;
  t.problems.add(keys.place_of("reconcile_read"),
                 keys.path() +
                     ".reconcile_read does not go with retry.hedging, which does not wait for "
                     "the result of the previous attempt; expected one of them");
}

// Makes a breaker table that names no library's breaker describe one of its own.
void set_default_breaker(KeyResolution& keys, const Member& member) {
  const Member* breaker = member.value.find("breaker");
  const bool is_written =
      breaker != nullptr && breaker->value.is_table() && !breaker->value.members.empty();
  if (is_written) keys.set_default("breaker.preset", render_text("custom"));
}

void check_error_classes(Tables& t, const KeyResolution& keys, std::string_view key) {
  const auto check = [&](const Node& word) {
    if (!word.is_text() || error_class(word.text)) return;
    t.problems.add(word.place, keys.full_path(key) + ": there are no errors called " +
                                   in_quotes(word.text) +
                                   "; expected throttling, transient, timeout or not-retryable");
  };
  const Node* list = keys.find(key);
  if (list == nullptr) return;
  if (list->kind == Node::Kind::kArray) {
    for (const Member& word : list->members) check(word.value);
  } else if (list->text != "none") {
    check(*list);
  }
}

void check_breaker(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  check_error_classes(t, keys, "breaker.failures");
  check_error_classes(t, keys, "breaker.ignored");
  const BreakerRules& b = spec.breaker;
  if (!b.in_use()) return;
  const auto add = [&](std::string_view key, const std::string& text) {
    t.problems.add(keys.place_of(key), keys.full_path(key) + text);
  };
  if (b.failure_share <= 0 && b.consecutive == 0 && !b.judges_slow_calls()) {
    add("breaker",
        ": nothing opens it; expected a failure_share, consecutive failures, or a "
        "slow_share with its slow_call");
  } else if (!b.has_failures() && !b.judges_slow_calls()) {
    t.loaded.notes.push_back(keys.full_path("breaker") +
                             " never opens: no error in breaker.failures is not in "
                             "breaker.ignored, too");
  }
  const auto note = [&](std::string_view key, std::string_view text) {
    t.loaded.notes.push_back(keys.full_path(key) + std::string(text));
  };
  if (b.above && b.failure_share >= 1) {
    note("breaker.failure_share", " opens nothing: no share is above 1; opens = \"at\" does");
  }
  if (b.slow_share > 0 && b.slow_call == Duration::max()) {
    note("breaker.slow_share", " opens nothing without breaker.slow_call");
  } else if (keys.has("breaker.slow_call") && b.slow_share <= 0) {
    note("breaker.slow_call", " has no effect without breaker.slow_share");
  }
  for (const std::string_view key : {"breaker.slices", "breaker.slicing"}) {
    if (keys.has(key) && b.window_calls > 0) note(key, " has no effect on a window of calls");
  }
  if (b.open_cap < b.open) {
    note("breaker.open_cap", " is shorter than breaker.open: the breaker is open for open_cap");
  }
  if (b.counts_asked && b.window_calls > 0) {
    add("breaker.counted", " = \"calls\" does not go with window_calls; expected a window of time");
  }
  if (b.scope == BreakerScope::kHost && b.order == BreakerOrder::kBreakerOutside) {
    add("breaker.scope",
        " = \"host\" does not go with order = \"breaker-outside\": the attempts of a request may "
        "go to several hosts; expected retry-outside, or another scope");
  }
  const BackoffRules& backoff = spec.retry.backoff;
  const bool at_once = backoff.delays.empty()
                           ? backoff.base == Duration::zero()
                           : backoff.delays.back().is_constant() &&
                                 backoff.delays.back().constant_value() == Duration::zero();
  if (b.order == BreakerOrder::kRetryOutside && b.retry_refused && at_once &&
      spec.retry.mode != RetryMode::kNone && spec.retry.max_attempts == RetryRules::kUnlimited &&
      !spec.retry.hedging.enabled) {
    add("breaker",
        ": a refused call would be retried at once, and refused again, for ever; expected "
        "a backoff, a max_attempts, or breaker.retry_refused = false");
  }
  constexpr double kMaxRemembered = 1e8;  // values remembered by all breakers of a group
  const double each = b.window_calls > 0 ? b.window_calls : b.slices;
  const double breakers = b.scope == BreakerScope::kGroup ? 1 : spec.count;
  if (each * breakers > kMaxRemembered) {
    add(b.window_calls > 0 ? "breaker.window_calls" : "breaker.slices",
        " times count is more than a hundred million to remember; expected fewer");
  }
}

/// Notes queues with room in which nobody waits.
void note_idle_queues(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  const auto note = [&](std::string_view queue, std::uint32_t room, std::string_view wait,
                        Duration longest_wait) {
    const bool idle =
        longest_wait == Duration::zero() && room > 0 && room != ClientSpec::kUnlimited;
    if (!idle || !keys.has(queue)) return;
    t.loaded.notes.push_back(fmt::format("{} has no effect: {} is 0 s, so that nothing waits",
                                         keys.full_path(queue), keys.full_path(wait)));
  };
  note("bulkhead.queue", spec.bulkhead.queue, "bulkhead.longest_wait", spec.bulkhead.longest_wait);
  note("connection_queue", spec.connection_queue, "connection_wait", spec.connection_wait);
}

void resolve_client(Tables& t, const Member& member, const Node& siblings) {
  ClientSpec spec;
  spec.name = member.name;
  ArrivalInputs arrivals;
  PresetChoice preset;
  ServiceNames services;
  ErrorTexts errors;
  const Slots slots(&spec, &spec.retry, &services, &arrivals, &preset, &errors);
  KeyResolution keys = t.keys_of("client.*", "client." + member.name, member, siblings, slots);
  t.default_service(keys, "calls");
  set_default_breaker(keys, member);
  follow_pool_of_sdk(keys);
  keys.resolve();
  read_error_lists(t, keys, errors, spec.retry);
  check_breaker(t, keys, spec);
  note_idle_queues(t, keys, spec);
  apply_client_defaults(t, keys, spec);
  if (member.name == "all") {
    t.problems.add(member.place,
                   "a client group cannot be called \"all\", which means all groups together");
  }
  resolve_surges(t, member, spec);
  resolve_operations(t, member, spec);
  arrivals.has_on = keys.has("arrivals.on");
  arrivals.rate_is_wrong = keys.is_wrong("arrivals.rate") || keys.is_wrong("arrivals.total_rate") ||
                           keys.is_wrong("arrivals.profile");
  note_late_herd(t, keys.path(), spec.arrivals);
  if (keys.has("arrivals.process") && t.incomplete.count(keys.path()) == 0) {
    Place place = keys.place_of("arrivals");
    if (place == Place{}) place = member.place;
    for (const Withdrawn& w :
         resolve_arrivals(arrivals, keys.path(), place, spec, t.files, t.loaded.notes)) {
      keys.withdraw(w.key, w.reason);
    }
  }
  check_quota(t, keys, spec);
  if (find_services(t, keys, services.names, spec)) {
    check_prices(t, keys, spec);
    check_reconciliation(t, keys, spec);
    check_end_of_lost_requests(t, keys, member, spec);
    note_idle_priority(t, keys, spec);
  }
  note_idle_content(t, keys, spec);
  t.loaded.scenario.clients.push_back(std::move(spec));
}

// The range that the keys of a service's calls have among all keys.
struct KeysOfCalls {
  std::string prefix;  // how all keys of the service begin
  std::size_t first = 0, last = 0;
};

// Moves the keys of calls behind the other keys of their service, to be written in one table. The
// keys of calls are the last ones, and the services come in the same order as before.
void move_to_services(Tables& t, const std::vector<KeysOfCalls>& calls) {
  if (calls.empty()) return;
  std::vector<ResolvedKey>& keys = t.loaded.keys;
  std::vector<ResolvedKey> in_order;
  in_order.reserve(keys.size());
  auto next = calls.begin();
  const auto take = [&](std::size_t from, std::size_t to) {
    const auto begin = keys.begin();
    in_order.insert(in_order.end(),
                    std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(from)),
                    std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(to)));
  };
  const std::size_t others = calls.front().first;
  for (std::size_t i = 0; i < others; ++i) {
    const bool of_caller = next != calls.end() && keys[i].path.starts_with(next->prefix);
    const bool last = of_caller && (i + 1 == others || !keys[i + 1].path.starts_with(next->prefix));
    take(i, i + 1);
    if (!last) continue;
    take(next->first, next->last);
    ++next;
  }
  for (; next != calls.end(); ++next) take(next->first, next->last);
  keys = std::move(in_order);
}

void resolve_call(Tables& t, const Member& service, std::size_t caller, const Member& member,
                  const Node& siblings) {
  ClientSpec spec;
  spec.name = service.name + "." + member.name;
  spec.arrivals.process = ArrivalProcess::kCalls;
  CallSpec call;
  call.caller = caller;
  call.client = t.loaded.scenario.clients.size();
  ServiceName named;
  PresetChoice preset;
  ErrorTexts errors;
  // Each instance is a client of its own.
  spec.count = t.loaded.scenario.services[caller].instances.count;
  const Slots slots(&spec, &spec.retry, &preset, &call, &named, &errors);
  const std::string path = "service." + service.name + ".calls." + member.name;
  KeyResolution keys = t.keys_of("service.*.calls.*", path, member, siblings, slots);
  if (t.incomplete.count("service." + service.name) > 0) keys.expect_missing_keys();
  set_default_breaker(keys, member);
  follow_pool_of_sdk(keys);
  keys.resolve();
  read_error_lists(t, keys, errors, spec.retry);
  check_breaker(t, keys, spec);
  note_idle_queues(t, keys, spec);
  apply_client_defaults(t, keys, spec);
  check_quota(t, keys, spec);
  if (keys.is_wrong("service")) return;
  const bool is_named = keys.has("service");
  const auto callee = t.index_of_service(is_named ? named.name : member.name);
  if (!callee) {
    const Place place = is_named ? keys.place_of("service") : member.place;
    if (!t.problems.wants(place)) return;
    t.problems.add(
        place, path + (is_named ? ".service = " + in_quotes(named.name) : "") +
                   ": there is no such service to call; " +
                   suggestion(is_named ? named.name : member.name, t.service_names(), "there are"));
    return;
  }
  spec.service = *callee;
  if (!call.fallback.empty()) call.fallback = service.name + "." + call.fallback;
  check_reconciliation(t, keys, spec);
  check_end_of_lost_requests(t, keys, member, spec);
  note_idle_priority(t, keys, spec);
  t.loaded.scenario.calls.push_back(std::move(call));
  t.loaded.scenario.clients.push_back(std::move(spec));
}

// Where a key of a call is written; the call's place if the key is not written.
Place place_of(const Member& call, std::string_view key) {
  const Member* written = call.value.find(key);
  return written == nullptr ? call.place : written->place;
}

// Checks the calls of one service against each other; calls with other mistakes are left out.
class CallChecks {
 public:
  CallChecks(Tables& t, const Member& service, std::size_t first) : t_(t), service_(service) {
    const Scenario& s = t.loaded.scenario;
    for (std::size_t i = first; i < s.calls.size(); ++i) {
      const std::string& name = s.clients[s.calls[i].client].name;
      written_.push_back({&s.calls[i], written().find(name.substr(name.find('.') + 1))});
    }
    for (const Call& c : written_) by_client_.try_emplace(s.clients[c.spec->client].name, &c);
  }

  void check() {
    for (const Call& c : written_) {
      check_share(c);
      check_need(c);
      check_fallback(c);
    }
    check_circles_of_fallbacks();
    check_alternatives();
  }

 private:
  struct Call {
    const CallSpec* spec;
    const Member* member;
  };

  const Node& written() const { return service_.value.find("calls")->value; }
  std::string path_of(const Call& c) const {
    return "service." + service_.name + ".calls." + c.member->name;
  }
  void add(const Call& c, std::string_view key, const std::string& text) {
    t_.problems.add(place_of(*c.member, key), path_of(c) + "." + std::string(key) + text);
  }
  const Call* call_named(const std::string& client) const {
    const auto at = by_client_.find(client);
    return at == by_client_.end() ? nullptr : at->second;
  }

  void check_share(const Call& c) {
    const double share = c.spec->share;
    if (c.spec->one_of.empty() && share > 1) {
      add(c, "share",
          fmt::format(" = {} is above 1; expected a share of the requests, or one_of, with which "
                      "it is a weight{}",
                      said_number(share, 6), percent_hint(share)));
    }
    if (!c.spec->one_of.empty() && share <= 0) {
      add(c, "share", " = 0: an alternative of one_of has a weight above 0");
    }
  }

  void check_need(const Call& c) {
    const CallSpec& call = *c.spec;
    if (call.need == CallSpec::kAll) return;
    const std::uint32_t most = call.random_count ? CallSpec::kMaxCopies : call.count;
    if (call.need <= most) return;
    add(c, "need",
        fmt::format(" = {} is more than {} = {}; expected at most that", call.need,
                    call.random_count ? "the most copies" : "count", most));
  }

  void check_fallback(const Call& c) {
    if (c.spec->fallback.empty()) return;
    const std::string name = c.spec->fallback.substr(c.spec->fallback.find('.') + 1);
    const Member* other = written().find(name);
    if (other == nullptr) {
      std::vector<std::string_view> names;
      for (const Call& o : written_) {
        if (o.member != c.member) names.push_back(o.member->name);
      }
      add(c, "fallback",
          " = " + in_quotes(name) + ": service." + service_.name + " has no such call; " +
              (names.empty() ? "it has no other" : suggestion(name, names, "it has")));
      return;
    }
    const Call* target = call_named(c.spec->fallback);
    if (target == nullptr) return;  // the fallback's own mistakes are reported elsewhere
    for (const std::string_view key : {"one_of", "stage"}) {
      if (target->member->value.find(key) == nullptr) continue;
      add(*target, key,
          " does not apply to a fallback, which is made when " + path_of(c) +
              " fails; expected none");
    }
  }

  void check_circles_of_fallbacks() {
    std::set<const CallSpec*> seen;
    for (const Call& start : written_) {
      std::vector<const Call*> path;
      for (const Call* c = &start; c != nullptr && seen.insert(c->spec).second;) {
        path.push_back(c);
        c = c->spec->fallback.empty() ? nullptr : call_named(c->spec->fallback);
        if (c == nullptr || !seen.contains(c->spec)) continue;
        const auto again = std::ranges::find(path, c);
        if (again == path.end()) continue;
        std::string text;
        for (auto at = again; at != path.end(); ++at) text += (*at)->member->name + " -> ";
        add(**again, "fallback",
            ": calls fall back on each other in a circle: " + text + c->member->name +
                "; one must end in a failure");
      }
    }
  }

  void check_alternatives() {
    const bool parallel =
        t_.loaded.scenario.services[*t_.index_of_service(service_.name)].parallel_calls;
    std::map<std::string_view, std::pair<const Call*, std::size_t>> first;
    std::map<std::string_view, std::uint32_t> stages;
    for (const Call& c : written_) {
      if (c.spec->one_of.empty()) continue;
      const auto [known, is_new] = first.try_emplace(c.spec->one_of, &c, 0);
      ++known->second.second;
      const std::uint32_t stage = c.spec->stage > 0 ? c.spec->stage
                                  : parallel        ? 1
                                  : is_new ? static_cast<std::uint32_t>(&c - written_.data()) + 1
                                           : stages[c.spec->one_of];
      const auto [at, unknown] = stages.try_emplace(c.spec->one_of, stage);
      if (at->second == stage) continue;
      add(c, c.spec->stage > 0 ? "stage" : "one_of",
          fmt::format(": the alternatives {} of one_of = {} must be in one stage, but are in the "
                      "stages {} and {}",
                      known->second.first->member->name + " and " + c.member->name,
                      in_quotes(c.spec->one_of), at->second, stage));
    }
    for (const auto& [name, members] : first) {
      if (members.second > 1) continue;
      t_.loaded.notes.push_back(path_of(*members.first) + ".one_of = " + in_quotes(name) +
                                " has no alternative: the call is always made");
    }
  }

  Tables& t_;
  const Member& service_;
  std::vector<Call> written_;
  std::map<std::string_view, const Call*> by_client_;
};

void resolve_calls(Tables& t, const Member& service, std::vector<KeysOfCalls>& moved) {
  const Member* calls = service.value.find("calls");
  if (calls == nullptr || !calls->value.is_table()) return;
  const std::size_t caller = *t.index_of_service(service.name);
  if (t.loaded.scenario.services[caller].model == ServiceModelKind::kOcc) {
    t.problems.add(calls->place, "service." + service.name +
                                     ".calls does not apply to model = \"occ\"; expected another "
                                     "model, or no calls");
  }
  const std::size_t known = t.loaded.keys.size();
  const std::size_t first = t.loaded.scenario.calls.size();
  t.for_each_in(service.value, "calls", [&](const Member& member, const Node& siblings) {
    resolve_call(t, service, caller, member, siblings);
  });
  CallChecks(t, service, first).check();
  moved.push_back({"service." + service.name + ".", known, t.loaded.keys.size()});
}

// Reports operations of calls that no request at the caller has.
void check_operations_of_calls(Tables& t) {
  const Scenario& s = t.loaded.scenario;
  const bool some =
      std::ranges::any_of(s.calls, [](const CallSpec& c) { return !c.operations.empty(); });
  if (!some) return;
  const std::vector<std::set<std::string_view>> seen = flow::operations_at(s);
  for (const CallSpec& call : s.calls) {
    for (const std::string& operation : call.operations) {
      if (seen[call.caller].count(operation) > 0) continue;
      const std::string& caller = s.services[call.caller].name;
      const std::string& name = s.clients[call.client].name;
      const Member& member = *t.of_kind("service")->find(caller)->value.find("calls")->value.find(
          name.substr(name.find('.') + 1));
      const std::vector<std::string_view> names(seen[call.caller].begin(), seen[call.caller].end());
      t.problems.add(
          place_of(member, "operation"),
          retrysim::scenario::path_of(s.clients[call.client]) + ".operation = " +
              in_quotes(operation) + ": no request at service." + caller + " has that operation; " +
              (names.empty() ? "none has one" : suggestion(operation, names, "there are")));
    }
  }
}

void check_circles(Tables& t) {
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  const std::vector<std::size_t> circle = flow::circle_of_calls(t.loaded.scenario);
  if (circle.empty()) return;
  std::string text;
  for (const std::size_t i : circle) text += services[i].name + " -> ";
  const std::string& first = services[circle.front()].name;
  const std::string& second = services[circle.size() > 1 ? circle[1] : circle.front()].name;
  const Scenario& s = t.loaded.scenario;
  const auto call = std::ranges::find_if(s.calls, [&](const CallSpec& c) {
    return services[c.caller].name == first && services[s.clients[c.client].service].name == second;
  });
  const std::string& name = s.clients[call->client].name;
  const Member* calls = t.of_kind("service")->find(first)->value.find("calls");
  t.problems.add(calls->value.find(name.substr(name.find('.') + 1))->place,
                 "services call each other in a circle: " + text + first + "; one call must go");
}

}  // namespace

void resolve_clients(Tables& t) {
  if (!check_count(t)) return;
  t.for_each("client", [&](const Member& m, const Node& all) { resolve_client(t, m, all); });
  std::vector<KeysOfCalls> moved;
  t.for_each("service", [&](const Member& m, const Node&) { resolve_calls(t, m, moved); });
  move_to_services(t, moved);
  check_circles(t);
  check_calls(t);
  check_operations_of_calls(t);
  check_retryers(t);
  check_throttle_limits(t);
  note_idle_shedding(t);
  note_idle_keys(t);
}

// --- Checks --------------------------------------------------------------------------------------

void note_late_herd(Tables& t, const std::string& path, const ArrivalSpec& arrivals) {
  if (arrivals.process != ArrivalProcess::kOnce) return;
  const Time run_end = Time::zero() + t.loaded.scenario.duration;
  if (arrivals.start >= run_end) {
    t.note_if_late(path + ".arrivals", arrivals.start, "this group sends nothing");
  } else if (arrivals.start + arrivals.spread > run_end) {
    t.loaded.notes.push_back(path + ".arrivals: the spread ends at " +
                             to_text(arrivals.start + arrivals.spread - Time::zero()) +
                             "; requests after the duration of " +
                             to_text(t.loaded.scenario.duration) + " are not submitted");
  }
}

void check_quota(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  const ThrottleRules& throttle = spec.retry.throttle;
  constexpr double kMaxRemembered = 1e8;  // calls remembered by all clients together: 0.8 GB
  if (throttle.enabled && double{1} * throttle.window_calls * spec.count > kMaxRemembered) {
    t.problems.add(keys.place_of("retry.client_throttle.window_calls"),
                   keys.path() + ".retry.client_throttle.window_calls times count is more than " +
                       "a hundred million calls to remember; expected fewer, or a window");
  }
  const QuotaRules& quota = spec.retry.quota;
  if (quota.enabled && quota.on_empty == QuotaOnEmpty::kWait && !(quota.refill_rate > 0)) {
    t.problems.add(keys.place_of("retry.quota.on_empty"),
                   keys.path() +
                       ".retry.quota.on_empty = \"wait\" would wait forever; expected "
                       "a refill_rate above 0");
  }
  if (quota.enabled && quota.threshold > 0 && quota.threshold >= quota.capacity) {
    t.problems.add(keys.place_of("retry.quota.threshold"),
                   keys.path() + ".retry.quota.threshold = " + std::to_string(quota.threshold) +
                       " is never exceeded by a capacity of " + std::to_string(quota.capacity) +
                       "; expected less");
  }
  if (!quota.enabled || quota.initial <= quota.capacity) return;
  t.problems.add(keys.place_of("retry.quota.initial"),
                 keys.path() + ".retry.quota.initial = " + std::to_string(quota.initial) +
                     " is more than the capacity of " + std::to_string(quota.capacity) +
                     "; expected at most that");
}

// Reports groups whose requests never end if a message is lost, for want of a timeout or deadline.
void check_end_of_lost_requests(Tables& t, const KeyResolution& keys, const Member& member,
                                const ClientSpec& spec) {
  if (!keys.has("attempt_timeout") || !keys.has("deadline")) return;
  if (spec.timeouts.deadline_of_caller) return;  // `check_calls` knows the callers
  if (spec.timeouts.has_attempt || spec.timeouts.deadline != Duration::max()) return;
  const ServiceSpec& service = t.loaded.scenario.services[spec.service];
  const std::string loss = flow::cause_of_lost_messages(t.loaded.scenario, spec);
  if (loss.empty()) {
    if (service.abandoned != Abandoned::kServe) {
      t.loaded.notes.push_back("service." + service.name + ".abandoned has no effect on " +
                               keys.path() +
                               ", which has no attempt_timeout and no deadline and so never "
                               "gives up");
    }
    return;
  }
  t.problems.add(member.place, keys.path() + ": a request that is lost (" + loss +
                                   ") would never end; expected an attempt_timeout or a deadline");
}

void note_idle_priority(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  const bool has_own = spec.retry_priority && spec.retry.max_attempts > 1;
  if (spec.priority == 0 && !has_own) return;
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  for (const std::size_t s : called_services(spec)) {
    const ServiceSpec& service = services[s];
    if (service.queue.discipline == Discipline::kPriority || service.queue.evicts() ||
        !service.concurrency.partitions.empty()) {
      return;
    }
  }
  t.loaded.notes.push_back(
      fmt::format("{}.{} has no effect: service.{} has neither queue.discipline = \"priority\" nor "
                  "queue.when_full = \"evict-lowest\" nor concurrency.partitions",
                  keys.path(), spec.priority == 0 ? "retry.priority" : "priority",
                  services[spec.service].name));
}

void note_idle_content(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  if (spec.side_effects.token_from != TokenSource::kContent || spec.side_effects.token_reuse > 0) {
    return;
  }
  t.loaded.notes.push_back(keys.path() +
                           ".token_from has no effect: no two requests say the same, "
                           "since token_reuse is 0");
}

void check_prices(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  const ServiceSpec& first = services[spec.service];
  for (const std::size_t s : called_services(spec)) {
    if (services[s].price == first.price && services[s].rejection.price == first.rejection.price) {
      continue;
    }
    t.problems.add(keys.place_of("calls"),
                   keys.path() + " calls " + in_quotes(first.name) + " and " +
                       in_quotes(services[s].name) +
                       ", which have different prices; expected one group for each, or the same "
                       "price and rejection_price");
    return;
  }
}

namespace {

// Where the table of a group is written.
Place place_of(const Tables& t, const ClientSpec& spec) {
  const std::size_t dot = spec.name.find('.');
  const Member* at = t.root.find(dot == std::string::npos ? "client" : "service");
  if (at != nullptr) at = at->value.find(spec.name.substr(0, dot));
  if (at != nullptr && dot != std::string::npos) {
    at = at->value.find("calls");
    if (at != nullptr) at = at->value.find(spec.name.substr(dot + 1));
  }
  return at == nullptr ? Place{} : at->place;
}

void check_states(Tables& t, const ClientSpec& spec, const StateCounts& counts) {
  constexpr double kMaxStates = 1e8;
  const RetryRules& rules = spec.retry;
  for (const auto& [scope, enabled, name] :
       {std::tuple(rules.quota.scope, rules.quota.enabled, "quota"),
        std::tuple(rules.rate_limit.scope, rules.rate_limit.enabled, "rate_limit")}) {
    if (!enabled || scope <= RetryScope::kGroup) continue;
    const auto states = static_cast<double>(RetryStates::states_of(scope, spec.count, counts));
    if (states <= kMaxStates) continue;
    t.problems.add(place_of(t, spec), path_of(spec) + ".retry." + name +
                                          ".scope = " + in_quotes(retrysim::name(scope)) +
                                          " makes more than a hundred million states of " +
                                          "count clients; expected fewer clients or keys");
  }
}

}  // namespace

void check_retryers(Tables& t) {
  const std::vector<ClientSpec>& clients = t.loaded.scenario.clients;
  const StateCounts counts = state_counts(t.loaded.scenario);
  std::map<std::string_view, std::vector<const ClientSpec*>> sharers;
  for (const ClientSpec& c : clients) {
    check_states(t, c, counts);
    if (!c.retryer.empty()) sharers[c.retryer].push_back(&c);
  }
  for (const auto& [retryer, groups] : sharers) {
    const ClientSpec& first = *groups.front();
    if (groups.size() == 1) {
      t.loaded.notes.push_back(path_of(first) + ".retry.retryer = " + in_quotes(retryer) +
                               " has no effect: no other group names it");
    }
    for (const ClientSpec* c : groups) {
      const std::string_view part = different_state_rules(first.retry, c->retry);
      if (part.empty()) continue;
      t.problems.add(place_of(t, *c), path_of(*c) + " and " + path_of(first) + " share retryer " +
                                          in_quotes(retryer) + ", but not the rules of retry." +
                                          std::string(part) + "; expected the same for both");
    }
  }
}

namespace {

// For each group: whether every request eventually times out, and whether none ever does.
struct Patience {
  std::vector<bool> ends, never_ends;
};

Patience patience_of_groups(const Scenario& s) {
  Patience p;
  for (const ClientSpec& c : s.clients) {
    const bool ends = c.timeouts.has_attempt || c.timeouts.deadline != Duration::max();
    p.ends.push_back(ends);
    p.never_ends.push_back(!ends && !c.timeouts.deadline_of_caller);
  }
  // Callers come before the services that they call, because they pass their deadlines on.
  for (const std::size_t service : flow::callers_first(s)) {
    bool all = true, none = true;
    for (std::size_t g = 0; g < s.clients.size(); ++g) {
      if (share_of_calls(s.clients[g], service) <= 0) continue;
      all = all && p.ends[g];
      none = none && p.never_ends[g];
    }
    for (const CallSpec& call : s.calls) {
      const TimeoutSpec& timeouts = s.clients[call.client].timeouts;
      if (call.caller != service || !timeouts.deadline_of_caller) continue;
      p.ends[call.client] = p.ends[call.client] || all;
      p.never_ends[call.client] = none && !timeouts.has_attempt;
    }
  }
  return p;
}

bool has_end_of_callers(const Scenario& s, const Patience& p, std::size_t caller) {
  for (std::size_t g = 0; g < s.clients.size(); ++g) {
    if (share_of_calls(s.clients[g], caller) > 0 && !p.never_ends[g]) return true;
  }
  return false;
}

}  // namespace

void check_calls(Tables& t) {
  const Scenario& s = t.loaded.scenario;
  const Patience patience = patience_of_groups(s);
  for (const CallSpec& call : s.calls) {
    const ClientSpec& c = s.clients[call.client];
    const std::string& caller = s.services[call.caller].name;
    if (c.timeouts.deadline_of_caller && !has_end_of_callers(s, patience, call.caller)) {
      t.loaded.notes.push_back(path_of(c) + ".deadline = \"caller\" has no effect: no client of " +
                               caller + " has an attempt_timeout or a deadline");
    }
    if (c.timeouts.deadline_of_caller && !patience.ends[call.client]) {
      const std::string loss = flow::cause_of_lost_messages(s, c);
      if (!loss.empty()) {
        t.problems.add(place_of(t, c),
                       path_of(c) + ": a request that is lost (" + loss +
                           ") would never end where the client of " + caller +
                           " waits for ever; expected an attempt_timeout here, or there");
      }
    }
    if (c.retry_only_at != RetryOnlyAt::kAnywhere && c.retry.max_attempts == 1) {
      t.loaded.notes.push_back(path_of(c) + ".retry_only_at has no effect: the rules of its " +
                               "retries allow one attempt");
    }
  }
}

namespace {

// Whether keys of attempts matter at each service: its throttle or cache goes by them, or it passes
// them on to a service where they matter.
std::vector<bool> where_keys_matter(const Scenario& s) {
  std::vector<bool> matter(s.services.size());
  const std::vector<std::size_t> order = flow::callers_first(s);
  std::vector<std::vector<const CallSpec*>> calls(s.services.size());
  for (const CallSpec& call : s.calls) calls[call.caller].push_back(&call);
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    const ThrottleSpec& throttle = s.services[*i].throttle;
    matter[*i] =
        throttle.rate > 0 && (throttle.scope == ThrottleScope::kKey || !throttle.keys.empty());
    for (const CallSpec* call : calls[*i]) {
      const bool below = call->callers_key && matter[s.clients[call->client].service];
      matter[*i] = matter[*i] || call->cache.keeps_answers() || below;
    }
  }
  return matter;
}

void note_cache_of_one_answer(Tables& t) {
  const Scenario& s = t.loaded.scenario;
  std::vector<std::uint32_t> keys;
  for (const CallSpec& call : s.calls) {
    if (!call.cache.keeps_answers()) continue;
    if (keys.empty()) keys = flow::keys_at(s);
    if (keys[call.caller] > 1) continue;
    t.loaded.notes.push_back(
        path_of(s.clients[call.client]) +
        ".cache holds one answer, which is that to every attempt: no client of " +
        s.services[call.caller].name + " has keys.count");
  }
}

}  // namespace

void note_idle_keys(Tables& t) {
  const Scenario& s = t.loaded.scenario;
  note_cache_of_one_answer(t);
  const std::vector<bool> matter = where_keys_matter(s);
  // Groups whose requests have the keys of their callers.
  std::vector<bool> sees_others(s.clients.size());
  for (const CallSpec& call : s.calls) {
    if (call.callers_key && call.client < s.clients.size()) sees_others[call.client] = true;
  }
  for (std::size_t g = 0; g < s.clients.size(); ++g) {
    const ClientSpec& c = s.clients[g];
    bool by_key = (c.retry.quota.enabled && c.retry.quota.scope == RetryScope::kKey) ||
                  (c.retry.rate_limit.enabled && c.retry.rate_limit.scope == RetryScope::kKey);
    for (const std::size_t i : called_services(c)) {
      by_key = by_key || (i < matter.size() && matter[i]);  // the service may not exist
    }
    if (sees_others[g]) continue;
    if (by_key && c.keys.count == 1) {
      t.loaded.notes.push_back(path_of(c) + " has no keys: what is kept apart by key is one for " +
                               "all of its requests");
    } else if (!by_key && c.keys.count > 1) {
      t.loaded.notes.push_back(path_of(c) + ".keys has no effect: no throttle, quota, limiter " +
                               "or cache is kept apart by key");
    }
  }
}

// --- The SDK's own defaults ----------------------------------------------------------------------

namespace {

// The SDK of a client group: the one that is written, even if mode "none" ignores it, or else the
// default.
std::string sdk_of(const KeyResolution& keys) {
  const Node* sdk = keys.find("retry.sdk");
  if (sdk != nullptr && sdk->is_text()) return sdk->text;
  return keys.text_of("retry.mode") == "custom" ? "" : "botocore";
}

std::string known_sdks() {
  std::vector<std::string_view> known;
  for (const ClientDefaults& d : client_defaults()) known.push_back(d.sdk);
  return joined(known);
}

// Writes the value of an SDK's default into the resolved scenario, so that it does not change with
// later defaults.
void write_out(Tables& t, const std::string& path, const std::string& toml, std::string_view sdk) {
  const auto at = std::find_if(t.loaded.keys.rbegin(), t.loaded.keys.rend(),
                               [&](const ResolvedKey& k) { return k.path == path; });
  if (at == t.loaded.keys.rend()) return;
  at->toml = toml;
  at->origin_detail +=
      (at->origin_detail.empty() ? "" : ", ") + std::string("default of ") + std::string(sdk);
}

std::string toml_of_time(Duration time) {
  return render_text(time == Duration::max() ? "none" : to_text(time));
}

}  // namespace

// With max_connections = "sdk", connection_wait defaults to "sdk" as well.
void follow_pool_of_sdk(KeyResolution& keys) {
  const Node* pool = keys.find("max_connections");
  if (pool == nullptr || !pool->is_text() || pool->text != kAsTheSdk) return;
  keys.set_default("connection_wait", render_text(kAsTheSdk));
}

void apply_client_defaults(Tables& t, KeyResolution& keys, ClientSpec& spec) {
  for (const std::string_view key :
       {"attempt_timeout", "connect_timeout", "connection_wait", "max_connections"}) {
    if (keys.text_of(key) != kAsTheSdk) continue;
    const std::string sdk = sdk_of(keys);
    const ClientDefaults* defaults = find_client_defaults(sdk);
    if (defaults == nullptr) {
      t.problems.add(keys.place_of(key),
                     keys.full_path(key) + " = \"sdk\": " +
                         (sdk.empty() ? std::string("there is no retry.sdk")
                                      : "the defaults of " + in_quotes(sdk) + " are not known") +
                         "; known are those of " + known_sdks());
      continue;
    }
    std::string toml;
    if (key == "attempt_timeout") {
      spec.timeouts.has_attempt = defaults->attempt_timeout != Duration::max();
      if (spec.timeouts.has_attempt) {
        spec.timeouts.attempt = Distribution::constant(defaults->attempt_timeout);
      }
      toml = toml_of_time(defaults->attempt_timeout);
    } else if (key == "connect_timeout") {
      spec.timeouts.connect = defaults->connect_timeout;
      toml = toml_of_time(defaults->connect_timeout);
    } else if (key == "connection_wait") {
      spec.connection_wait = defaults->connection_wait;
      toml = toml_of_time(defaults->connection_wait);
    } else {
      spec.max_connections = defaults->max_connections;
      toml = defaults->max_connections == ClientSpec::kUnlimited
                 ? render_text("unlimited")
                 : std::to_string(defaults->max_connections);
    }
    write_out(t, keys.full_path(key), toml, defaults->sdk);
  }
  if (keys.text_of("max_connections") != kAsTheSdk) return;
  if (spec.max_connections != ClientSpec::kUnlimited) return;
  for (const std::string_view key : {"connection_wait", "connection_queue"}) {
    keys.withdraw(key, "the clients of this SDK have as many connections as they need");
  }
}

// --- The preset ----------------------------------------------------------------------------------

namespace {

// The preset's name: "standard 2.0 botocore", with the API if it has numbers of its own.
std::string name_of(const Preset& preset) {
  std::string name;
  for (const std::string_view word : {preset.mode, preset.revision, preset.sdk}) {
    if (word.empty()) continue;
    if (!name.empty()) name += ' ';
    name += word;
  }
  if (preset.api != "default") name.append(" ").append(preset.api);
  return name;
}

// A hint that the SDK's predecessor has the legacy mode that was asked for; empty if it does not
// apply.
std::string legacy_hint(const PresetChoice& choice) {
  const std::string_view before = predecessor(choice.sdk);
  if (before.empty() || choice.mode != "legacy") return "";
  return " (" + choice.sdk + " never had a legacy mode; its predecessor is " + std::string(before) +
         ")";
}

}  // namespace

void PresetResolution::choose() {
  if (std::exchange(chosen_, true)) return;
  if (!check_version()) return;
  for (const KeyInfo& key : keys_.keys()) {
    if (key.role == KeyRole::kPresetChoice && keys_.is_wrong(key.name)) return;
  }
  const auto& choice = slots_.to<PresetChoice>();
  if (!check_revision()) return;
  preset_ = find_preset(choice.mode, choice.revision, choice.sdk, choice.api);
  if (preset_ == nullptr) return report_no_preset();
  name_ = name_of(*preset_);
  slots_.to<RetryRules>() = rules_of_release(*preset_, choice.sdk);
  // An API without numbers of its own may still have its own error codes.
  slots_.to<RetryRules>().api = choice.api;
  check_api();
  if (choice.defect != "none") apply_defect();
}

void PresetResolution::apply_defect() {
  const Defect& defect = *find_defect(slots_.to<PresetChoice>().defect);
  if (defect.applies(slots_.to<RetryRules>())) return defect.apply(slots_.to<RetryRules>());
  problems_.add(keys_.place_of("retry.defect"),
                keys_.full_path("retry.defect") + " = " + in_quotes(defect.name) +
                    " does not apply to " + name_ +
                    ": it has no such part; `retrysim list defects` tells what each is");
}

std::string PresetResolution::reason_for(const KeyInfo& key, const std::string& toml) const {
  const auto& choice = slots_.to<PresetChoice>();
  RetryRules rules = rules_of_release(*preset_, choice.sdk);
  const auto is_behind = [&] { return toml == key.access.from_rules(rules, key.rules.else_word); };
  if (has_version(choice.sdk) && is_behind()) return "release " + choice.sdk;
  const Defect* defect = find_defect(choice.defect);
  if (defect == nullptr) return "";
  defect->apply(rules);
  return is_behind() ? "defect " + std::string(defect->name) : "";
}

std::string_view PresetResolution::written_sdk() const {
  const Node* sdk = keys_.find("retry.sdk");
  return sdk != nullptr && sdk->is_text() ? std::string_view(sdk->text) : std::string_view();
}

bool PresetResolution::check_version() {
  const auto& choice = slots_.to<PresetChoice>();
  const std::string problem = version_problem(choice.sdk);
  if (!problem.empty()) {
    problems_.add(keys_.place_of("retry.sdk"),
                  keys_.full_path("retry.sdk") + " = " + in_quotes(choice.sdk) + ": " + problem);
    return false;
  }
  return true;
}

bool PresetResolution::check_revision() {
  const auto& choice = slots_.to<PresetChoice>();
  if (choice.mode == "legacy" || release_offers(choice.sdk, choice.revision)) return true;
  std::string changes;
  for (const TurningPoint& p : turning_points(choice.sdk)) {
    if (p.revisions.empty()) continue;
    if (!changes.empty()) changes += "; ";
    changes.append(p.version).append(": ").append(p.change);
  }
  problems_.add(keys_.place_of("retry.revision"),
                keys_.full_path("retry.revision") + " = " + in_quotes(choice.revision) + ": " +
                    choice.sdk +
                    " does not have that revision; leave the key out, or name another " +
                    "version (" + changes + ")");
  return false;
}

std::optional<EnvironmentSetting> PresetResolution::from_environment(const KeyInfo& key) {
  const auto& choice = slots_.to<PresetChoice>();
  const std::string_view sdk = written_sdk();
  if (choice.from_environment) {
    if (!environment_) environment_ = read_retry_environment();
    const auto setting =
        key.environment.find({*environment_, sdk.empty() ? "botocore" : sdk, choice.mode});
    if (setting) return setting;
  }
  const std::string_view own = key.name == "retry.mode"       ? release_mode(sdk)
                               : key.name == "retry.revision" ? release_revision(sdk)
                                                              : "";
  return own.empty() ? std::nullopt : std::optional(EnvironmentSetting{std::string(own), ""});
}

Place PresetResolution::environment_place() const {
  return keys_.place_of("retry.from_environment");
}

// Reports an API name that looks misspelt; an API without numbers or error codes of its own is
// fine.
void PresetResolution::check_api() {
  const std::string& api = slots_.to<PresetChoice>().api;
  const auto known = known_apis();
  const std::string path = keys_.full_path("retry.api");
  if (std::find(known.begin(), known.end(), api) != known.end()) {
    // The SDK treats the API like any other, which is no mistake, but may not be what was meant.
    const std::string others = preset_->api == api ? "" : presets_for(api);
    if (!others.empty()) {
      notes_.push_back(path + " = " + in_quotes(api) + ": " + name_ +
                       " has no numbers of its own for it and uses those of \"default\"; "
                       "these have: " +
                       others);
    }
    return;
  }
  const std::vector<std::string_view> words(known.begin(), known.end());
  if (!nearest(api, words).empty()) {
    problems_.add(keys_.place_of("retry.api"), path + " = " + in_quotes(api) + " is unknown; " +
                                                   suggestion(api, words, "there are"));
  } else {
    notes_.push_back(path + " = " + in_quotes(api) +
                     " has no numbers or error codes of its own, so it is as \"default\"; " +
                     "there are: " + joined(words));
  }
}

void PresetResolution::report_no_preset() {
  const PresetChoice& choice = slots_.to<PresetChoice>();
  std::string known;
  std::string_view last_revision;
  for (const Preset& preset : presets()) {
    if (preset.mode != choice.mode || preset.api != "default") continue;
    if (preset.revision.empty() && preset.sdk.empty()) continue;
    const bool same_revision = !known.empty() && preset.revision == last_revision;
    if (!known.empty()) known += same_revision ? ", " : "; ";
    if (!same_revision) known += preset.revision;
    if (!same_revision && !preset.revision.empty() && !preset.sdk.empty()) known += ' ';
    known += preset.sdk;
    last_revision = preset.revision;
  }
  std::string_view at = "retry.mode";
  for (const std::string_view key : {"retry.revision", "retry.sdk"}) {
    if (keys_.find(key) != nullptr) at = key;
  }
  std::string asked = choice.revision;
  if (!asked.empty() && !choice.sdk.empty()) asked += ' ';
  asked += choice.sdk;
  problems_.add(keys_.place_of(at), keys_.full_path("retry") + ": mode " + choice.mode +
                                        " does not exist as " + in_quotes(asked) +
                                        "; it does as: " + known + legacy_hint(choice));
}

}  // namespace retrysim::scenario

// Resolving [service.NAME] and [fault.NAME].
//
// SPDX-License-Identifier: MIT
#include "scenario/resolve/services.hpp"

#include <retrysim/error.hpp>
#include <retrysim/service_spec.hpp>

#include "kernel/stop.hpp"
#include "scenario/limits.hpp"
#include "scenario/resolve/tables.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace retrysim::scenario {

namespace {

// Largest sum of probabilities: 1, with room for the rounding of sums such as 0.7 + 0.2 + 0.1.
constexpr double kMaxProbability = 1 + 1e-9;

void check_probabilities(Tables& t, const KeyResolution& keys,
                         const std::vector<RandomError>& errors) {
  double sum = 0;
  for (const RandomError& error : errors) sum += error.probability;
  if (sum <= kMaxProbability) return;
  t.problems.add(keys.place_of("errors"), keys.path() + ".errors add up to " + said_number(sum, 6) +
                                              "; expected probabilities of at most 1 together");
}

// Sets defaults for an adaptive limit: each source of its rules has its own.
void set_defaults_of_limit(KeyResolution& keys) {
  const Node* control = keys.find("concurrency.control");
  if (control == nullptr || !control->is_text()) return;
  for (const ConcurrencyControl c : {ConcurrencyControl::kVegas, ConcurrencyControl::kEnvoy,
                                     ConcurrencyControl::kKratos, ConcurrencyControl::kSentinel}) {
    if (control->text != name(c)) continue;
    const ConcurrencySpec its = ConcurrencySpec::of(c);
    keys.set_default("concurrency.min", std::to_string(its.min));
    keys.set_default("concurrency.max", std::to_string(its.max));
    keys.set_default("concurrency.smoothing", render_number(its.smoothing));
    keys.set_default("concurrency.cpu", render_number(its.cpu));
    keys.set_default("concurrency.window", render_text(to_text(its.window)));
    keys.set_default("concurrency.buckets", std::to_string(its.buckets));
  }
}

void check_limits(Tables& t, const KeyResolution& keys, const ConcurrencySpec& c) {
  const bool has_initial = c.control != ConcurrencyControl::kEnvoy;
  if (c.min <= c.max && (!has_initial || (c.min <= c.initial && c.initial <= c.max))) return;
  const std::string initial =
      has_initial ? ", initial = " + std::to_string(c.initial) : std::string();
  t.problems.add(keys.place_of("concurrency"),
                 keys.path() + ".concurrency has min = " + std::to_string(c.min) + initial +
                     ", max = " + std::to_string(c.max) +
                     "; expected min <= " + (has_initial ? "initial <= " : "") + "max");
}

void check_concurrency(Tables& t, const KeyResolution& keys, const ServiceSpec& spec) {
  const ConcurrencySpec& c = spec.concurrency;
  if (c.control == ConcurrencyControl::kFixed) return;
  const auto refuse = [&](const std::string& what) {
    t.problems.add(keys.place_of("concurrency"), keys.path() + ".concurrency" + what);
  };
  if (!c.needs_servers()) {
    check_limits(t, keys, c);
  } else if (spec.servers == ServiceSpec::kUnlimited) {
    refuse(".control = " + in_quotes(name(c.control)) +
           " asks how busy the servers are, which unlimited servers never are; expected a number "
           "of servers");
  }
  if (c.control == ConcurrencyControl::kVegas && c.alpha > c.beta) {
    refuse(" has alpha = " + std::to_string(c.alpha) + ", beta = " + std::to_string(c.beta) +
           "; expected alpha <= beta");
  }
}

// Resolves the tables [service.NAME.concurrency.partitions.*].
void resolve_partitions(Tables& t, const KeyResolution& keys, const Member& service,
                        ServiceSpec& spec) {
  const Member* limit = service.value.find("concurrency");
  if (limit == nullptr || !limit->value.is_table()) return;
  ConcurrencySpec& c = spec.concurrency;
  const std::string path = keys.full_path("concurrency.partitions");
  double sum = 0;
  t.for_each_in(limit->value, "partitions", [&](const Member& member, const Node& siblings) {
    PartitionSpec partition;
    partition.name = member.name;
    KeyResolution own = t.keys_of("service.*.concurrency.partitions.*", path + "." + member.name,
                                  member, siblings, Slots(&partition));
    own.resolve();
    sum += std::max(0.0, partition.share);
    for (const PartitionSpec& other : c.partitions) {
      if (other.priority != partition.priority) continue;
      t.problems.add(own.place_of("priority"),
                     fmt::format("{} and {}.{} have the same priority, {}; expected one partition "
                                 "for each priority",
                                 own.path(), path, other.name, other.priority));
    }
    c.partitions.push_back(std::move(partition));
  });
  if (sum > kMaxProbability) {
    t.problems.add(keys.place_of("concurrency.partitions"),
                   fmt::format("{} have shares that add up to {}; expected at most 1 together",
                               path, said_number(sum, 6)));
  }
  if (c.partitions.empty() || c.control != ConcurrencyControl::kFixed ||
      c.limit != ServiceSpec::kUnlimited) {
    return;
  }
  t.loaded.notes.push_back(path +
                           " has no effect: there is no limit (concurrency.limit, or a "
                           "concurrency.control that finds one)");
}

void check_autoscaling(Tables& t, const KeyResolution& keys, const ServiceSpec& spec) {
  const AutoscalingSpec& a = spec.autoscaling;
  if (a.target <= 0 || !keys.has("autoscaling.max")) return;
  if (a.min <= spec.servers && spec.servers <= a.max) return;
  t.problems.add(keys.place_of("autoscaling"),
                 keys.path() + " has servers = " + std::to_string(spec.servers) +
                     " and autoscaling from " + std::to_string(a.min) + " to " +
                     std::to_string(a.max) + "; expected min <= servers <= max");
}

void check_idempotency(Tables& t, const KeyResolution& keys, const ServiceSpec& spec) {
  if (spec.model != ServiceModelKind::kOcc || spec.idempotency.in_progress != InProgress::kWait) {
    return;
  }
  t.problems.add(keys.place_of("idempotency.in_progress"),
                 keys.path() +
                     ".idempotency.in_progress = \"wait\" does not go with model = \"occ\", whose "
                     "second call might not find a server; expected error or execute");
}

void check_instances(Tables& t, const KeyResolution& keys, const ServiceSpec& spec) {
  if (spec.instances.count == 1 || spec.autoscaling.target <= 0) return;
  t.problems.add(keys.place_of("instances"),
                 keys.path() + ".instances = " + std::to_string(spec.instances.count) +
                     " does not go with autoscaling, which adds servers to a single instance; "
                     "expected instances = 1, or no autoscaling");
}

void check_balancing(Tables& t, const KeyResolution& keys, const InstancesSpec& spec) {
  if (spec.count == 1) return;
  const auto refuse = [&](std::string_view key, std::string_view what, std::string_view limit) {
    t.problems.add(keys.place_of(key),
                   fmt::format("{}.{} {}; expected at {}", keys.path(), key, what, limit));
  };
  const bool knows_all = spec.subset == std::numeric_limits<std::uint32_t>::max();
  if (!knows_all && spec.subset > spec.count) {
    refuse(
        "balancing_subset",
        fmt::format("= {} is more than the {} instances that there are", spec.subset, spec.count),
        "most that many");
  }
  const EjectionSpec& ejection = spec.ejection;
  if (ejection.enabled() && ejection.max_ejection_time < ejection.base_ejection_time) {
    refuse("ejection.max_ejection_time", "is shorter than base_ejection_time", "least that time");
  }
  const std::uint32_t known = std::min(spec.subset, spec.count);
  if (ejection.enabled() && ejection.most_of(known) == 0) {
    refuse("ejection.max_ejection_percent",
           fmt::format("= {} is less than one of {} instances, so that none would ever be "
                       "ejected",
                       said_number(ejection.max_ejection_percent, 6), known),
           fmt::format("least {}, or always_eject_one_host = true", said_number(100.0 / known, 6)));
  }
  const AccrualSpec& accrual = spec.accrual;
  if (accrual.enabled() && accrual.max_penalty < accrual.min_penalty) {
    refuse("accrual.max_penalty", "is shorter than min_penalty", "least that time");
  }
}

void note_idle_answer(Tables& t, const KeyResolution& keys, const ServiceSpec& spec) {
  if (!spec.answers.shed || spec.queue.sheds()) return;
  t.loaded.notes.push_back(keys.path() +
                           ".answers.shed has no effect: nothing is turned away because of its "
                           "wait without queue.max_age or queue.discipline = \"codel\"");
}

// Reads the table of a slowdown, which takes the place of the number.
void read_slowdown(Tables& t, const KeyResolution& keys, ServiceSpec& spec) {
  if (spec.slowdown.curve != SlowdownCurve::kTable) return;
  if (spec.slowdown.per_attempt != 0) {
    t.problems.add(keys.place_of("slowdown"),
                   keys.path() +
                       ".slowdown does not apply when slowdown_curve = \"table\"; expected no "
                       "such key");
  }
  if (!keys.has("slowdown_table")) return;
  const CsvFile* file =
      t.files.open(std::string(keys.text_of("slowdown_table")), keys.place_of("slowdown_table"));
  if (file == nullptr) return;
  if (auto rows = read_slowdown_table(*file, t.files)) {
    spec.slowdown.table = {std::move(rows->in_service), std::move(rows->factors)};
  }
}

void read_profile(Tables& t, const KeyResolution& keys, ServiceSpec& spec) {
  if (!keys.has("profile")) return;
  const Place place = keys.place_of("profile");
  if (spec.servers == ServiceSpec::kUnlimited) {
    t.problems.add(place, keys.path() +
                              ".profile has no meaning for unlimited servers; expected "
                              "a number of servers");
    return;
  }
  const CsvFile* file = t.files.open(std::string(keys.text_of("profile")), place);
  if (file == nullptr) return;
  auto rows = read_capacity_profile(*file, t.files);
  if (!rows) return;
  spec.profile.emplace();
  for (const double time_s : rows->times_s) {
    spec.profile->times.push_back(Time::zero() + Duration::from_seconds(time_s));
  }
  spec.profile->factors = std::move(rows->factors);
}

void resolve_service(Tables& t, const Member& member, const Node& siblings) {
  ServiceSpec spec;
  spec.name = member.name;
  const Slots slots(&spec, &spec.errors, &spec.errors_at);
  KeyResolution keys = t.keys_of("service.*", "service." + member.name, member, siblings, slots);
  set_defaults_of_limit(keys);
  keys.resolve();
  check_probabilities(t, keys, spec.errors);
  if (!has_queue(spec.queue.discipline) && spec.servers == ServiceSpec::kUnlimited) {
    t.problems.add(keys.place_of("queue.discipline"),
                   keys.path() + ".queue.discipline = " + in_quotes(name(spec.queue.discipline)) +
                       " has no meaning for unlimited servers; expected a number of servers");
  }
  resolve_partitions(t, keys, member, spec);
  check_concurrency(t, keys, spec);
  check_autoscaling(t, keys, spec);
  check_window(t, keys.full_path("throttle"), keys.place_of("throttle.window"), spec.throttle.rate,
               spec.throttle.window);
  resolve_throttle_limits(t, keys, member, spec);
  read_answers(t, keys, spec);
  note_idle_answer(t, keys, spec);
  check_instances(t, keys, spec);
  check_balancing(t, keys, spec.instances);
  check_idempotency(t, keys, spec);
  read_slowdown(t, keys, spec);
  read_profile(t, keys, spec);
  t.loaded.scenario.services.push_back(std::move(spec));
}

void check_instances_of_all(Tables& t) {
  std::uint64_t sum = 0;
  for (const ServiceSpec& s : t.loaded.scenario.services) {
    sum += s.instances.count;
    if (sum <= kMaxInstances) continue;
    const Member* service = t.of_kind("service")->find(s.name);
    const Member* own = service->value.find("instances");
    t.problems.add(own == nullptr ? service->place : own->place,
                   fmt::format("service.{}: with its instances there are {}; expected at most {} "
                               "of all services together",
                               s.name, sum, kMaxInstances));
    return;
  }
}

// Counts the different answers of services and faults, up to the first that is too many.
class AnswerCount {
 public:
  explicit AnswerCount(Tables& t) : t_(t) {}

  void add(const ServiceSpec& service) {
    const ServiceAnswers a = answers_of(service);
    for (const ServiceAnswer& answer :
         {a.throttled, a.overflow, a.limit, a.shed, a.timeout, a.call_failed, a.conflict}) {
      add("service", service.name, answer);
    }
    add("service", service.name, service.errors);
  }
  void add(const FaultSpec& fault) { add("fault", fault.name, fault.errors); }

 private:
  void add(std::string_view kind, const std::string& name, const std::vector<RandomError>& errors) {
    for (const RandomError& e : errors) add(kind, name, {e.answer});
  }
  void add(std::string_view kind, const std::string& name, const ServiceAnswer& answer) {
    stop_.count();
    if (answers_.size() > kMaxAnswers) return;
    answers_.insert(identity_of(answer.error, answer.retry_after));
    if (answers_.size() <= kMaxAnswers) return;
    const Member* table = t_.of_kind(kind)->find(name);
    const Member* errors = table->value.find("errors");
    t_.problems.add(errors == nullptr ? table->place : errors->place,
                    fmt::format("{}.{}: with its answers there are more than {} different ones; "
                                "expected fewer error codes",
                                kind, name, kMaxAnswers));
  }

  Tables& t_;
  std::set<AnswerIdentity> answers_;
  StopCounter<> stop_;
};

void check_target(Tables& t, const KeyResolution& keys, const FaultSpec& fault,
                  const ServiceSpec& target) {
  if (fault.instance == FaultSpec::kAllInstances) return;
  if (std::uint64_t{fault.instance} + fault.instances - 1 <= target.instances.count) return;
  const std::string last = fault.instances == 1
                               ? std::to_string(fault.instance)
                               : fmt::format("{} to {}", fault.instance,
                                             std::uint64_t{fault.instance} + fault.instances - 1);
  t.problems.add(keys.place_of("instance"),
                 fmt::format("{} concerns instance {} of {}, which has {}; expected instances from "
                             "1 to {}",
                             keys.path(), last, in_quotes(target.name), target.instances.count,
                             target.instances.count));
}

/// Checks what is left to chance of a fault.
void check_chance(Tables& t, const KeyResolution& keys, const Member& fault, FaultChance& chance) {
  const auto wrong = [&](std::string_view key, const std::string& text) {
    t.problems.add(keys.place_of(key), fmt::format("{}.{} {}", keys.path(), key, text));
  };
  const Node* mtbf = keys.find("mtbf");
  if (mtbf != nullptr && keys.has("mtbf")) {
    const double mean_s = chance.mtbf.mean_seconds();
    if (mean_s <= 0) wrong("mtbf", "is no time; expected one above 0");
    // A plain time is the mean of the usual law.
    if (mean_s > 0 && !mtbf->is_table()) chance.mtbf = Distribution::exponential(mean_s);
  }
  if (keys.has("length") && keys.find("length") != nullptr && chance.length.mean_seconds() <= 0) {
    wrong("length", "is no time; expected one above 0");
  }
  if (chance.with.empty() && keys.find("probability") != nullptr) {
    wrong("probability", "has no meaning without `with`, which names the fault that it comes with");
  }
  if (chance.at_load > 0 && keys.find("per_year") == nullptr) {
    wrong("at_load", "has no meaning without per_year, which is how often it comes at that load");
  }
  if (keys.find("load_exponent") != nullptr && keys.find("at_load") == nullptr) {
    wrong("load_exponent", "has no meaning without at_load, the load at which per_year holds");
  }
  for (const auto& [key, to] :
       {std::pair("capacity", chance.capacity_to), {"speed", chance.speed_to}}) {
    if (to && keys.find(key) == nullptr) {
      wrong(std::string(key) + "_to",
            fmt::format("is the upper end of a range whose lower end is {0}; expected {0} as well",
                        key));
    }
  }
  if (keys.find("with") == nullptr || !keys.has("with")) return;
  if (keys.find("per_year") != nullptr) {
    wrong("with", "does not apply here; keep either it or " + keys.full_path("per_year"));
  }
  const Node& faults = *t.of_kind("fault");
  if (chance.with == fault.name) {
    wrong("with", "is the fault itself; expected another one");
  } else if (faults.find(chance.with) == nullptr && t.problems.wants(keys.place_of("with"))) {
    std::vector<std::string_view> names;
    for (const Member& other : faults.members) {
      if (other.name != fault.name) names.push_back(other.name);
    }
    wrong("with", fmt::format("= {}: there is no such fault; {}", in_quotes(chance.with),
                              suggestion(chance.with, names, "there are")));
  }
}

/// Reports faults that come with each other in a circle.
void check_joint_faults(Tables& t) {
  const std::vector<RandomFault>& faults = t.loaded.scenario.random_faults;
  const auto next = [&](const RandomFault& f) {
    return std::ranges::find(faults, f.chance.with,
                             [](const RandomFault& other) { return other.fault.name; });
  };
  for (const RandomFault& f : faults) {
    auto at = next(f);
    for (std::size_t i = 0; i < faults.size() && at != faults.end() && &*at != &f; ++i)
      at = next(*at);
    if (at == faults.end() || &*at != &f || f.chance.with == f.fault.name) continue;
    const Member* written = t.of_kind("fault")->find(f.fault.name);
    t.problems.add(written->place,
                   fmt::format("fault.{} comes with fault.{}, which begins only if it "
                               "does; expected one of them to have per_year, mtbf "
                               "or only a start",
                               f.fault.name, f.chance.with));
    return;
  }
}

/// Puts what the draw gives among the faults that are played.
void play_draw(Tables& t) {
  Scenario& s = t.loaded.scenario;
  if (s.fault_draw == 0 || s.random_faults.empty() || !t.problems.empty()) return;
  std::vector<FaultSpec> drawn;
  try {
    drawn = draw_faults(s, s.fault_draw, s.duration);
  } catch (const RequestError& e) {
    t.problems.add(t.root.find("fault_draw")->place,
                   fmt::format("fault_draw = {}: {}", s.fault_draw, e.what()));
    return;
  }
  for (FaultSpec& fault : drawn) {
    const auto same = std::ranges::find(s.faults, fault.name, &FaultSpec::name);
    if (same != s.faults.end()) {
      t.problems.add(t.of_kind("fault")->find(fault.name)->place,
                     fmt::format("fault.{0} has the name of a drawn one: faults at random are "
                                 "numbered, as in {0}; expected another name",
                                 fault.name));
      return;
    }
    s.faults.push_back(std::move(fault));
  }
}

void resolve_fault(Tables& t, const Member& member, const Node& siblings) {
  FaultSpec spec;
  spec.name = member.name;
  FaultChance chance;
  ServiceName service;
  const Slots slots(&spec, &chance, &service, &spec.errors, &spec.errors_at);
  KeyResolution keys = t.keys_of("fault.*", "fault." + member.name, member, siblings, slots);
  t.default_service(keys, "service");
  if (keys.find("per_year") != nullptr || keys.find("mtbf") != nullptr ||
      keys.find("with") != nullptr) {
    keys.set_default("start", render_text("0s"));
  }
  keys.resolve();
  check_chance(t, keys, member, chance);
  t.note_if_late(keys.path(), spec.start, "no new request meets it");
  check_probabilities(t, keys, spec.errors);
  if (const auto index = t.find_service(keys, "service", service.name)) {
    spec.service = *index;
    const ServiceSpec& target = t.loaded.scenario.services[*index];
    check_target(t, keys, spec, target);
    if (!spec.errors_at.on_arrival() && target.model != ServiceModelKind::kQueue) {
      t.problems.add(keys.place_of("errors.at"),
                     keys.path() + ".errors.at does not apply to " + in_quotes(target.name) +
                         ", whose model is " + in_quotes(name(target.model)) +
                         "; expected \"arrival\", or the model \"queue\" there");
    }
    if (target.servers == ServiceSpec::kUnlimited && (spec.capacity != 1 || chance.capacity_to)) {
      t.problems.add(keys.place_of("capacity"),
                     keys.path() + ".capacity has no meaning for the unlimited servers of " +
                         in_quotes(target.name) + "; expected a number of servers there");
    }
    if (target.servers == ServiceSpec::kUnlimited && chance.at_load > 0) {
      t.problems.add(keys.place_of("at_load"),
                     keys.path() + ".at_load: the unlimited servers of " + in_quotes(target.name) +
                         " are never busy to a share; expected a number of servers there");
    }
  }
  if (chance.is_random()) {
    t.loaded.scenario.random_faults.push_back({std::move(spec), std::move(chance)});
  } else {
    t.loaded.scenario.faults.push_back(std::move(spec));
  }
}

}  // namespace

void resolve_services(Tables& t) {
  t.for_each("service", [&](const Member& m, const Node& all) { resolve_service(t, m, all); });
  check_instances_of_all(t);
}

void resolve_faults(Tables& t) {
  t.for_each("fault", [&](const Member& m, const Node& all) { resolve_fault(t, m, all); });
  AnswerCount answers(t);
  for (const ServiceSpec& s : t.loaded.scenario.services) answers.add(s);
  for (const FaultSpec& f : t.loaded.scenario.faults) answers.add(f);
  for (const RandomFault& f : t.loaded.scenario.random_faults) answers.add(f.fault);
  check_joint_faults(t);
  play_draw(t);
}

// --- Answers -------------------------------------------------------------------------------------

namespace {

constexpr std::string_view kRetryAfter = "retry-after=";

struct AnswerKey {
  std::string_view name;
  std::optional<ServiceAnswer> OwnAnswers::*answer;
};
constexpr AnswerKey kAnswers[] = {
    {"answers.throttled", &OwnAnswers::throttled},
    {"answers.overflow", &OwnAnswers::overflow},
    {"answers.limit", &OwnAnswers::limit},
    {"answers.shed", &OwnAnswers::shed},
    {"answers.timeout", &OwnAnswers::timeout},
    {"answers.call_failed", &OwnAnswers::call_failed},
    {"answers.conflict", &OwnAnswers::conflict},
};

// Reads the delay of an answer, which must be whole milliseconds, as in the header; returns what is
// wrong, as the end of a sentence.
std::string read_retry_after(std::string_view text, ServiceAnswer& answer) {
  const auto written = parse_duration(text);
  if (!written || written->duration.count() % 1'000'000 != 0) {
    return "in " + in_quotes(std::string(kRetryAfter) + std::string(text)) +
           " expected a whole number of milliseconds with a unit, such as 1500ms or 2s";
  }
  answer.retry_after = written->duration;
  return "";
}

std::string read_addition(std::string_view word, ServiceAnswer& answer) {
  if (add_trait(word, answer.error.traits)) return "";
  if (word.starts_with(kRetryAfter)) {
    return read_retry_after(word.substr(kRetryAfter.size()), answer);
  }
  const std::vector<std::string_view> known = {"retryable",    "not-retryable", "maybe-retryable",
                                               "throttling",   "timeout",       "client-fault",
                                               "server-fault", "retry-after=2s"};
  return "unknown addition " + in_quotes(std::string(word)) + "; " +
         suggestion(word, known, "known are");
}

}  // namespace

std::variant<ServiceAnswer, std::string> parse_service_answer(std::string_view text) {
  std::size_t plus = std::min(text.find('+'), text.size());
  const auto error = parse_error_answer(text.substr(0, plus));
  if (!error) {
    return "expected a status from 400 to 599, perhaps with a code and additions, such as 429, "
           "\"503:SlowDown\" or \"400:Busy+retryable+retry-after=2s\"";
  }
  ServiceAnswer answer{*error};
  while (plus < text.size()) {
    const std::size_t begin = plus + 1;
    plus = std::min(text.find('+', begin), text.size());
    std::string wrong = read_addition(text.substr(begin, plus - begin), answer);
    if (!wrong.empty()) return wrong;
  }
  return answer;
}

void read_answers(Tables& t, const KeyResolution& keys, ServiceSpec& spec) {
  for (const AnswerKey& key : kAnswers) {
    if (!keys.has(key.name)) continue;
    const std::string text(keys.text_of(key.name));
    auto read = parse_service_answer(text);
    if (const auto* wrong = std::get_if<std::string>(&read)) {
      t.problems.add(keys.place_of(key.name),
                     keys.full_path(key.name) + " = " + in_quotes(text) + ": " + *wrong);
    } else {
      spec.answers.*key.answer = std::get<ServiceAnswer>(std::move(read));
    }
  }
  const bool suggests_twice = spec.answers.throttled && spec.answers.throttled->retry_after &&
                              spec.throttle.retry_after > Duration::zero();
  if (!suggests_twice) return;
  t.problems.add(keys.place_of("answers.throttled"),
                 keys.full_path("answers.throttled") + " and " +
                     keys.full_path("throttle.retry_after") +
                     " both suggest a delay; expected one of them");
}

// --- Limits of single operations and keys --------------------------------------------------------

namespace {

constexpr std::string_view kOperation = "operation", kKey = "key";

/// The table `throttle` of a service; null if there is none.
const Node* throttle_table(const Node& service) {
  const Member* throttle = service.find("throttle");
  return throttle != nullptr && throttle->value.is_table() ? &throttle->value : nullptr;
}

std::vector<ThrottleLimit> resolve_kind(Tables& t, std::string_view kind, const Node& throttle,
                                        const ServiceSpec& spec) {
  const ThrottleSpec& others = spec.throttle;
  const std::string pattern = "service.*.throttle." + std::string(kind) + ".*";
  const std::string path = "service." + spec.name + ".throttle." + std::string(kind) + ".";
  std::vector<ThrottleLimit> limits;
  t.for_each_in(throttle, kind, [&](const Member& member, const Node& siblings) {
    ThrottleLimit limit;
    limit.name = member.name;
    KeyResolution keys = t.keys_of(pattern, path + member.name, member, siblings, Slots(&limit));
    keys.set_default("burst", render_number(others.burst));
    keys.set_default("window", render_text(others.window > Duration::zero() ? to_text(others.window)
                                                                            : std::string("none")));
    keys.resolve();
    check_window(t, keys.path(), keys.place_of("window"), limit.rate, limit.window);
    limits.push_back(std::move(limit));
  });
  return limits;
}

/// The number that a key is named by; empty if the name is no number.
std::optional<std::uint32_t> number_of_key(std::string_view name) {
  std::uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc{} || rest != end || name.starts_with('0')) return std::nullopt;
  return number;
}

Place place_of_limit(const Tables& t, const ServiceSpec& spec, std::string_view kind,
                     std::string_view name) {
  const Node* throttle = throttle_table(t.of_kind("service")->find(spec.name)->value);
  return throttle->find(kind)->value.find(name)->place;
}

std::vector<std::string_view> operations_of(const Scenario& scenario) {
  std::vector<std::string_view> names;
  for (const ClientSpec& c : scenario.clients) {
    for (const OperationSpec& o : c.operations) names.push_back(o.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void check_operations(Tables& t, const ServiceSpec& spec,
                      const std::vector<std::string_view>& known) {
  for (const ThrottleLimit& limit : spec.throttle.operations) {
    if (std::ranges::binary_search(known, limit.name)) continue;
    t.problems.add(place_of_limit(t, spec, kOperation, limit.name),
                   fmt::format("service.{}.throttle.operation.{}: no client has such an operation; "
                               "{}",
                               spec.name, limit.name,
                               known.empty() ? "expected the name of a [client.*.operation.*]"
                                             : suggestion(limit.name, known, "there are")));
  }
}

void check_keys(Tables& t, const ServiceSpec& spec, std::uint32_t keys) {
  for (const ThrottleLimit& limit : spec.throttle.keys) {
    const auto number = number_of_key(limit.name);
    if (number && *number <= keys) continue;
    t.problems.add(
        place_of_limit(t, spec, kKey, limit.name),
        fmt::format("service.{}.throttle.key.{}: there is no such key; expected a number "
                    "from 1 to {}, the largest keys.count of a client",
                    spec.name, limit.name, keys));
  }
}

}  // namespace

void check_window(Tables& t, const std::string& path, Place place, double rate, Duration window) {
  if (rate <= 0 || window == Duration::zero()) return;
  const double passing = rate * window.in_seconds();
  if (passing >= 1 - 1e-9) return;
  t.problems.add(place, path + " lets " + said_number(passing) + " attempts pass in a window of " +
                            to_text(window) +
                            "; expected a rate and a window that let at least one pass");
}

void resolve_throttle_limits(Tables& t, const KeyResolution& keys, const Member& service,
                             ServiceSpec& spec) {
  const Node* throttle = throttle_table(service.value);
  if (throttle == nullptr) return;
  ThrottleSpec& limited = spec.throttle;
  limited.operations = resolve_kind(t, kOperation, *throttle, spec);
  limited.keys = resolve_kind(t, kKey, *throttle, spec);
  if (!limited.has_limits()) return;
  const std::string path = keys.full_path("throttle");
  if (!limited.operations.empty() && !limited.keys.empty()) {
    t.problems.add(keys.place_of("throttle.key"),
                   path + " has limits for operations and for keys; expected only one of them");
  }
  if (limited.rate > 0 || keys.is_wrong("throttle.rate")) return;
  const std::string_view kind = limited.operations.empty() ? kKey : kOperation;
  t.problems.add(keys.place_of("throttle." + std::string(kind)),
                 fmt::format("{0}.{1} does not apply here; it needs {0}.rate other than unlimited, "
                             "which is the rate of all other {1}s",
                             path, kind));
}

void check_throttle_limits(Tables& t) {
  const Scenario& scenario = t.loaded.scenario;
  const std::vector<std::string_view> operations = operations_of(scenario);
  const std::uint32_t keys = state_counts(scenario).keys;
  for (const ServiceSpec& spec : scenario.services) {
    check_operations(t, spec, operations);
    check_keys(t, spec, keys);
  }
}

// --- Shedding by priority ------------------------------------------------------------------------

namespace {

/// The priorities of the attempts that come to a service; empty if any priority may come, because
/// callers pass theirs on.
std::optional<std::set<std::uint8_t>> priorities_at(const Scenario& scenario, std::size_t service) {
  for (const CallSpec& call : scenario.calls) {
    if (!call.callers_priority || call.client >= scenario.clients.size()) continue;
    if (share_of_calls(scenario.clients[call.client], service) > 0) return std::nullopt;
  }
  std::set<std::uint8_t> priorities;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    priorities.insert(c.priority);
    if (c.retry_priority && c.retry.max_attempts > 1) priorities.insert(*c.retry_priority);
  }
  return priorities;
}

/// Notes a higher priority that is refused at a lower load than a lower one, and has no reserved
/// places that make up for it.
void note_reversed_thresholds(Tables& t, const std::string& path,
                              const std::vector<PartitionSpec>& partitions) {
  const auto percent = [](double share) {
    return fmt::format("{} %", said_number(100 * share, 6));
  };
  for (const PartitionSpec& high : partitions) {
    const auto low = std::ranges::find_if(partitions, [&](const PartitionSpec& p) {
      return p.priority < high.priority && p.refuse_from > std::max(high.refuse_from, high.share);
    });
    if (low == partitions.end()) continue;
    t.loaded.notes.push_back(fmt::format(
        "{}: {}, of priority {}, is refused from {} of the limit, {}, of priority {}, only from {}",
        path, high.name, high.priority, percent(high.refuse_from), low->name, low->priority,
        percent(low->refuse_from)));
  }
}

}  // namespace

void note_idle_shedding(Tables& t) {
  const Scenario& scenario = t.loaded.scenario;
  for (std::size_t i = 0; i < scenario.services.size(); ++i) {
    const ServiceSpec& spec = scenario.services[i];
    const std::vector<PartitionSpec>& partitions = spec.concurrency.partitions;
    if (!spec.queue.evicts() && partitions.empty()) continue;
    const auto priorities = priorities_at(scenario, i);
    const std::string path = "service." + spec.name;
    const auto note = [&](std::string_view key, std::string_view why) {
      t.loaded.notes.push_back(fmt::format("{}.{} has no effect: {}", path, key, why));
    };
    if (spec.queue.evicts()) {
      constexpr std::string_view kEvicts = "queue.when_full = \"evict-lowest\"";
      if (spec.queue.capacity == ServiceSpec::kUnlimited ||
          spec.servers == ServiceSpec::kUnlimited) {
        note(kEvicts, "the queue is never full (queue.capacity)");
      } else if (spec.queue.capacity == 0) {
        note(kEvicts, "nobody waits who could leave (queue.capacity = 0)");
      } else if (priorities && priorities->size() < 2) {
        note(kEvicts, "all attempts that come have the same priority (client.*.priority)");
      }
    }
    note_reversed_thresholds(t, path + ".concurrency.partitions", partitions);
    for (const PartitionSpec& p : partitions) {
      if (!priorities || priorities->contains(p.priority)) continue;
      note("concurrency.partitions." + p.name,
           fmt::format("no attempt that comes has the priority {}", p.priority));
    }
  }
}

}  // namespace retrysim::scenario

// Resolving [service.NAME] and [fault.NAME].
//
// SPDX-License-Identifier: MIT
#include "scenario/service_answers.hpp"
#include "scenario/tables.hpp"
#include "scenario/throttle_limits.hpp"

#include <fmt/format.h>

#include <utility>

namespace retrysim::scenario {
namespace {

// Room for the rounding of sums such as 0.7 + 0.2 + 0.1.
constexpr double kMostProbability = 1 + 1e-9;

void check_probabilities(Tables& t, const KeyResolution& keys,
                         const std::vector<RandomError>& errors) {
  double sum = 0;
  for (const RandomError& error : errors) sum += error.probability;
  if (sum <= kMostProbability) return;
  t.problems.add(keys.place_of("errors"), keys.path() + ".errors add up to " +
                                              fmt::format("{:.6g}", sum) +
                                              "; expected probabilities of at most 1 together");
}

void check_concurrency(Tables& t, const KeyResolution& keys, const ConcurrencySpec& c) {
  if (c.control == ConcurrencyControl::kFixed) return;
  if (c.min <= c.initial && c.initial <= c.max) return;
  t.problems.add(keys.place_of("concurrency"),
                 keys.path() + ".concurrency has min = " + std::to_string(c.min) +
                     ", initial = " + std::to_string(c.initial) +
                     ", max = " + std::to_string(c.max) + "; expected min <= initial <= max");
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

// A table takes the place of the number.
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
  const Slots slots(&spec, &spec.errors);
  KeyResolution keys = t.keys_of("service.*", "service." + member.name, member, siblings, slots);
  keys.resolve();
  check_probabilities(t, keys, spec.errors);
  if (!has_queue(spec.queue.discipline) && spec.servers == ServiceSpec::kUnlimited) {
    t.problems.add(keys.place_of("queue.discipline"),
                   keys.path() + ".queue.discipline = " + in_quotes(name(spec.queue.discipline)) +
                       " has no meaning for unlimited servers; expected a number of servers");
  }
  check_concurrency(t, keys, spec.concurrency);
  check_autoscaling(t, keys, spec);
  check_window(t, keys.full_path("throttle"), keys.place_of("throttle.window"), spec.throttle.rate,
               spec.throttle.window);
  resolve_throttle_limits(t, keys, member, spec);
  read_answers(t, keys, spec);
  check_instances(t, keys, spec);
  check_idempotency(t, keys, spec);
  read_slowdown(t, keys, spec);
  read_profile(t, keys, spec);
  t.loaded.scenario.services.push_back(std::move(spec));
}

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

void resolve_fault(Tables& t, const Member& member, const Node& siblings) {
  FaultSpec spec;
  spec.name = member.name;
  ServiceName service;
  const Slots slots(&spec, &service, &spec.errors);
  KeyResolution keys = t.keys_of("fault.*", "fault." + member.name, member, siblings, slots);
  t.default_service(keys, "service");
  keys.resolve();
  t.note_if_late(keys.path(), spec.start, "no new request meets it");
  check_probabilities(t, keys, spec.errors);
  if (const auto index = t.find_service(keys, "service", service.name)) {
    spec.service = *index;
    const ServiceSpec& target = t.loaded.scenario.services[*index];
    check_target(t, keys, spec, target);
    if (target.servers == ServiceSpec::kUnlimited && spec.capacity != 1) {
      t.problems.add(keys.place_of("capacity"),
                     keys.path() + ".capacity has no meaning for the unlimited servers of " +
                         in_quotes(target.name) + "; expected a number of servers there");
    }
  }
  t.loaded.scenario.faults.push_back(std::move(spec));
}

}  // namespace

void resolve_services(Tables& t) {
  t.for_each("service", [&](const Member& m, const Node& all) { resolve_service(t, m, all); });
}

void resolve_faults(Tables& t) {
  t.for_each("fault", [&](const Member& m, const Node& all) { resolve_fault(t, m, all); });
}

}  // namespace retrysim::scenario

// SPDX-License-Identifier: MIT
#include "scenario/client_checks.hpp"

#include "scenario/consistency.hpp"

namespace retrysim::scenario {

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
  constexpr double kMostRemembered = 1e8;  // calls, of all clients together: 0.8 GB
  if (throttle.enabled && double{1} * throttle.window_calls * spec.count > kMostRemembered) {
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

// A request whose message is lost ends by a timeout or a deadline, or never.
void check_end_of_lost_requests(Tables& t, const KeyResolution& keys, const Member& member,
                                const ClientSpec& spec) {
  if (!keys.has("attempt_timeout") || !keys.has("deadline")) return;
  if (spec.has_attempt_timeout || spec.deadline != Duration::max()) return;
  const ServiceSpec& service = t.loaded.scenario.services[spec.service];
  const std::string loss = cause_of_lost_messages(t.loaded.scenario, spec);
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
  const ServiceSpec& service = t.loaded.scenario.services[spec.service];
  if (spec.priority == 0 || service.discipline == Discipline::kPriority) return;
  t.loaded.notes.push_back(keys.path() + ".priority has no effect: service." + service.name +
                           ".queue.discipline is not \"priority\"");
}

}  // namespace retrysim::scenario

// Why it was too much for the service: load, queue and retries against its capacity.
//
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "explain/rules.hpp"
#include "explain/sources.hpp"
#include "kernel/stop.hpp"

#include "flow/calls.hpp"
#include "scenario/text/names.hpp"

namespace retrysim::explain {
namespace {

using Found = std::optional<Finding>;

constexpr double kMaxAnswers = 0.5;

/// The time in which a cause is looked for: from the first disturbance until the group is back;
/// without a disturbance the whole window.
const Stretch& troubled(const GroupCase& c) { return c.disturbed() ? c.trouble : c.all; }

bool is_herd(const GroupCase& c) { return c.client.arrivals.process == ArrivalProcess::kOnce; }

}  // namespace

/// Whether priority makes other groups wait, or be turned away, instead of this one. False for a
/// group that is often turned away on arrival nevertheless.
bool is_served_first(const GroupCase& c) {
  constexpr double kFew = 0.01;
  const ClientFlow& calm = c.before.group;
  const auto failed = static_cast<double>(calm.failures);
  const bool goes_first = c.service().queue.discipline == Discipline::kPriority;
  if ((!goes_first && !sheds_by_priority(c.service())) ||
      failed > kFew * (failed + static_cast<double>(calm.successes))) {
    return false;
  }
  return std::ranges::any_of(c.scenario.clients, [&](const ClientSpec& other) {
    return share_of_calls(other, c.client.service) > 0 && other.priority < c.client.priority;
  });
}

bool prefers_idle(const ServiceSpec& service) {
  const Balancing b = service.instances.balancing;
  return b != Balancing::kRoundRobin && b != Balancing::kRandom;
}

ScarceLimits scarce_limits(const ClientSpec& client) {
  const bool pool = client.max_connections != ClientSpec::kUnlimited;
  const bool bulkhead = client.bulkhead.in_use();
  return {pool && !(bulkhead && client.bulkhead.max_concurrent <= client.max_connections),
          bulkhead};
}

Words what_is_scarce(const GroupCase& c) {
  const ScarceLimits scarce = scarce_limits(c.client);
  if (scarce.connections && scarce.places) return "a connection or a place in the bulkhead";
  return scarce.places ? Words("a place in the bulkhead") : Words("a connection");
}

Sentence who_has_how_many(const GroupCase& c) {
  const ScarceLimits scarce = scarce_limits(c.client);
  const std::string path = scenario::path_of(c.client);
  const Figure connections = whole(c.client.max_connections, key(path + ".max_connections"));
  const Figure places =
      whole(c.client.bulkhead.max_concurrent, key(path + ".bulkhead.max_concurrent"));
  const Words who = !c.client.makes_calls() ? Words("each client")
                    : c.client.count > 1    ? Words("each instance of its caller")
                                            : Words("its caller");
  if (scarce.connections && scarce.places) {
    return say("{} has {} connections and {} places", who, connections, places);
  }
  return say("{} has {}", who, scarce.places ? places : connections);
}

/// The time in which nothing is wrong.
std::string_view calm_window(const GroupCase& c) { return c.disturbed() ? "before" : "window"; }

/// Whether circuit breakers or few connections keep first attempts away from the group's service;
/// they would come if it had the capacity.
bool clients_hold_back(const GroupCase& c) {
  return std::ranges::any_of(c.scenario.clients, [&](const ClientSpec& other) {
    const bool waits = other.max_connections != ClientSpec::kUnlimited;
    return (other.breaker.in_use() || waits) && share_of_calls(other, c.client.service) > 0;
  });
}

/// Whether requests of the groups that call the service may wait at their clients, unsent, for a
/// connection or a place.
bool requests_wait_unsent(const GroupCase& c) {
  return std::ranges::any_of(c.scenario.clients, [&](const ClientSpec& other) {
    const ScarceLimits scarce = scarce_limits(other);
    return (scarce.connections || scarce.places) && share_of_calls(other, c.client.service) > 0;
  });
}

/// Uses the load that the scenario plans if the measured load differs from it only by chance, or by
/// what clients kept back, so that `check` and the results of runs agree; otherwise the measured
/// load.
Found overload_without_retries(const GroupCase& c) {
  constexpr double kDeviations = 2;  // standard deviations of the number of requests
  constexpr double kRarely = 4;      // one case in 16,000
  constexpr double kAtLimit = 1 + 1e-9;
  const double came = c.load(c.before.first_work_s, c.before.seconds);
  const double made = c.disturbed() ? c.made.before.made : c.requests();
  // The demand of closed loops adapts to the capacity.
  const bool closed = c.client.arrivals.process == ArrivalProcess::kClosed;
  if (made == 0 || is_herd(c) || closed) return std::nullopt;
  const double noise = kDeviations / std::sqrt(made);
  const auto& need = c.capacity.need;
  const bool held_back = need && came > 1 + noise && came < need->load && clients_hold_back(c);
  const bool as_planned =
      held_back || (need && std::abs(came - need->load) <=
                                std::max(kRarely / std::sqrt(made), 0.01) * need->load);
  const double load = as_planned ? need->load : came;
  const double enough =
      as_planned ? need->servers_enough : prediction::servers_that_carry(came * c.capacity.servers);
  Finding f{
      {}, {{"new_load_ratio", load}, {"servers", c.capacity.servers}, {"servers_needed", enough}}};
  const FigureSource planned = planned_work(c);
  const bool in_keys = planned.kind != FigureSource::Kind::kUnknown;
  const FigureSource its_load = !as_planned ? load_source(c, LoadOf::kFirst, calm_window(c))
                                : in_keys   ? planned / servers_source(c)
                                            : planned;
  const bool is_counted = its_load.kind != FigureSource::Kind::kUnknown;
  const Sentence remedy = say(
      "at least {} needed",
      counted(
          whole(enough, is_counted ? whole_part(its_load * servers_source(c), number(1)) + number(1)
                                   : its_load),
          "server is", "servers are"));
  const Figure needed = times(load, its_load);
  const auto if_needed = [&](std::string_view words, double least) {
    return claim(words, is_counted ? its_load >= number(least) : its_load);
  };
  if (as_planned && load >= 1 - 1e-9 && load <= kAtLimit && !need->regular) {
    f.sentence =
        say("first attempts alone need {} of the capacity: the longer the load lasts, the longer "
            "requests wait; {}",
            if_needed("all", 1), remedy);
    f.severity = Severity::kInfo;
    return f;
  }
  if (load < (as_planned ? kAtLimit : 1 + noise)) return std::nullopt;
  if (is_served_first(c)) f.severity = Severity::kInfo;
  f.sentence = is_served_first(c)
                   ? say("first attempts of {} need {} the capacity: this one is {}; {}",
                         if_needed("all groups", 1), needed,
                         sheds_by_priority(c.service())
                             ? Words("turned away after others, which are shed first")
                             : Words("served before others, which wait"),
                         remedy)
                   : say("first attempts alone need {} the capacity, which is an {}; {}", needed,
                         if_needed("overload without any retry", 1), remedy);
  return f;
}

namespace {

using Stretches = std::vector<const DisturbedStretch*>;

/// "the fault", "the faults" if these are all of them; otherwise their names: "one, two and three".
Sentence names_of(const GroupCase& c, const Stretches& which) {
  constexpr std::size_t kMost = 4;
  // Disturbances elsewhere may divide a disturbance into stretches of the same name.
  std::set<std::string_view> of_all;
  for (const DisturbedStretch& d : c.disturbed_stretches) of_all.insert(d.name);
  std::vector<std::string_view> of_which;
  for (const DisturbedStretch* d : which) {
    if (std::ranges::count(of_which, d->name) == 0) of_which.push_back(d->name);
  }
  if (of_which.size() == of_all.size()) return its_name(c);
  std::vector<Sentence> names;
  for (std::size_t i = 0; i < std::min(of_which.size(), kMost); ++i) {
    names.emplace_back(Name{std::string(of_which[i])});
  }
  if (of_which.size() > kMost) {
    names.push_back(say("{} more", whole(static_cast<double>(of_which.size() - kMost),
                                         not_in_files("the scenario's faults that do the same"))));
  }
  return joined(names);
}

template <typename Is>
Stretches stretches_where(const GroupCase& c, Is is) {
  Stretches found;
  for (const DisturbedStretch& d : c.disturbed_stretches) {
    if (is(d)) found.push_back(&d);
  }
  return found;
}

/// Of the stretches with a value of at least `least`: those that have nearly the greatest one, and
/// where stretches of other disturbances, which do not overlap with these, follow, the worst of
/// them.
template <typename Value>
Stretches worst_of_each(const GroupCase& c, double least, Value value) {
  constexpr double kNearly = 0.9;
  Stretches worst;
  const auto& all = c.disturbed_stretches;
  for (auto first = all.begin(); first != all.end();) {
    double end_s = first->end_s, most = 0;
    auto last = first;
    for (; last != all.end() && last->start_s <= end_s; ++last) {
      end_s = std::max(end_s, last->end_s);
      most = std::max<double>(most, value(*last));
    }
    for (; first != last; ++first) {
      const double its = value(*first);
      if (its > 0 && its >= least && its >= kNearly * most) worst.push_back(&*first);
    }
  }
  return worst;
}

/// Whether a surge of any group is on in the stretch.
bool has_surge(const GroupCase& c, const DisturbedStretch& d) {
  return std::ranges::any_of(c.scenario.clients, [&](const ClientSpec& client) {
    return std::ranges::any_of(client.arrivals.surges, [&](const SurgeSpec& surge) {
      const double start_s = surge.start.in_seconds();
      return start_s < d.end_s && start_s + surge.duration.in_seconds() > d.start_s;
    });
  });
}

/// Load of first attempts relative to the remaining capacity, and where it comes from.
struct StretchLoad {
  double value = 0;         ///< 0 if no capacity remains
  bool as_planned = false;  ///< what the scenario plans, because requests wait unsent
};

/// Where connections or places are few, requests wait at their clients for what the service cannot
/// do: what is sent says nothing of what would come.
StretchLoad load_in(const GroupCase& c, const DisturbedStretch& d) {
  if (d.left <= 0) return {};
  const double sent = c.load(d.first_work_s, d.seconds) / d.left;
  const auto& need = c.capacity.need;
  const auto comes_evenly = [](const ClientSpec& client) {
    return client.arrivals.process != ArrivalProcess::kClosed && !client.arrivals.profile;
  };
  const bool is_known = need && d.left < 1 && !has_surge(c, d) &&
                        std::ranges::all_of(c.scenario.clients, comes_evenly);
  const double planned = is_known && requests_wait_unsent(c) ? need->load / d.left : 0;
  return planned > sent ? StretchLoad{planned, true} : StretchLoad{sent};
}

/// The stretches in which first attempts need more than what is left; with few attempts, that may
/// be chance.
Found overload_by_disturbance(const GroupCase& c) {
  constexpr double kDeviations = 2, kEnoughAttempts = 20;
  if (!c.disturbed() || !c.capacity.limited ||
      c.load(c.before.first_work_s, c.before.seconds) >= 1) {
    return std::nullopt;
  }
  const auto overload_in = [&](const DisturbedStretch& d) {
    const double attempts = d.first_work_s / c.capacity.server_time_s;
    const double load = load_in(c, d).value;
    const bool is_sure =
        attempts >= kEnoughAttempts && load * (1 - kDeviations / std::sqrt(attempts)) > 1;
    return is_sure ? load : 0;
  };
  const Stretches such = worst_of_each(c, 1, overload_in);
  if (such.empty()) return std::nullopt;
  const DisturbedStretch& worst = **std::ranges::max_element(
      such, {}, [&](const DisturbedStretch* d) { return overload_in(*d); });
  const StretchLoad load = load_in(c, worst);
  const Words up_to = such.size() > 1 ? Words("up to ") : Words("");
  const Words remaining = worst.left < 1 ? Words("remaining ") : Words("");
  const Figure needed =
      times(load.value, load.as_planned ? not_in_files(kByScenario) : load_source(c, worst));
  return Finding{
      is_repeated_above(c, c.client.service)
          ? say("during {} calls need {}{} the {}capacity even without their own retries",
                names_of(c, such), up_to, needed, remaining)
          : say("during {} first attempts alone need {}{} the {}capacity", names_of(c, such), up_to,
                needed, remaining),
      {{"new_load_ratio", load.value}, {"capacity_left_share", worst.left}}};
}

// --- What faults do to attempts that has nothing to do with load

bool for_all(const FaultSpec& f) { return f.instance == FaultSpec::kAllInstances; }

bool is_cut_off(const DisturbedStretch& d) {
  return std::ranges::any_of(d.faults, [](const FaultSpec* f) {
    return for_all(*f) && (f->unreachable || f->black_hole);
  });
}

/// Whether no request of the group meets the disturbance, as of a herd that comes before it.
bool is_not_there(const GroupCase& c) {
  return c.disturbed() && c.total.requests > 0 && c.made.during.made == 0 &&
         c.during.group.attempts == 0 && c.after.group.attempts == 0;
}

/// The group's only service, by its name where there are others.
Sentence its_service(const GroupCase& c) {
  return c.scenario.services.size() > 1 ? Sentence(Name{c.service().name})
                                        : Sentence(Words("the service"));
}

Found nothing_served(const GroupCase& c) {
  if (is_not_there(c)) return std::nullopt;
  const Stretches none =
      stretches_where(c, [](const DisturbedStretch& d) { return d.left <= 0 && !is_cut_off(d); });
  if (none.empty()) return std::nullopt;
  return Finding{say("during {} {} {}: attempts can only fail or wait", names_of(c, none),
                     c.has_one_service() ? say("{} has", its_service(c))
                                         : Sentence(Words("its services have")),
                     claim("no capacity at all", left_source(c, *none.front()) == number(0))),
                 {{"capacity_left_share", 0}}};
}

/// "during the fault the service cannot be reached", or so many of its instances.
Found cut_off(const GroupCase& c, bool FaultSpec::*how, Words one, Words many, Words effect) {
  if (is_not_there(c)) return std::nullopt;
  std::uint32_t most = 0;
  const std::uint32_t count = c.service().instances.count;
  const auto concerned = [&](const DisturbedStretch& d) {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      n += std::ranges::any_of(d.faults,
                               [&](const FaultSpec* f) { return f->*how && f->concerns(i); });
    }
    return n;
  };
  for (const DisturbedStretch& d : c.disturbed_stretches) most = std::max(most, concerned(d));
  if (most == 0) return std::nullopt;
  const auto who = [&](std::uint32_t n) {
    return n == count ? say("{} {}", its_service(c), one)
                      : say("{} of its {} instances {}", whole(n, not_in_files(kByScenario)),
                            whole(count, key("service." + c.service().name + ".instances")),
                            n == 1 ? one : many);
  };
  const Stretches such =
      stretches_where(c, [&](const DisturbedStretch& d) { return concerned(d) == most; });
  Sentence when = say("during {} {}", names_of(c, such), who(most));
  Stretches others = worst_of_each(c, 1, [&](const DisturbedStretch& d) { return concerned(d); });
  std::erase_if(others, [&](const DisturbedStretch* d) { return concerned(*d) == most; });
  if (!others.empty()) {
    const std::uint32_t then = concerned(**std::ranges::max_element(
        others, {}, [&](const DisturbedStretch* d) { return concerned(*d); }));
    when += say(", and during {} {}{}", names_of(c, others),
                others.size() > 1 ? Words("up to ") : Words(""), who(then));
  }
  return Finding{say("{}: {}", when, effect),
                 {{"instances_share", static_cast<double>(most) / count}}};
}

Found unreachable(const GroupCase& c) {
  Found found = cut_off(c, &FaultSpec::unreachable, "cannot be reached", "cannot be reached",
                        "connections are refused");
  // If nothing else keeps attempts from the service, refused attempts are those that did not reach
  // it.
  constexpr double kAttracted = 1.5;
  const auto refuses = [](const DisturbedStretch& d) {
    return std::ranges::any_of(d.faults, [](const FaultSpec* f) { return f->unreachable; });
  };
  const bool only_refused =
      found && c.has_one_service() && prefers_idle(c.service()) &&
      c.scenario.network.request_loss == 0 &&
      std::ranges::all_of(c.disturbed_stretches, [](const DisturbedStretch& d) {
        return std::ranges::all_of(
            d.faults, [](const FaultSpec* f) { return f->request_loss == 0 && !f->black_hole; });
      });
  const auto callers = std::ranges::count_if(c.scenario.clients, [&](const ClientSpec& other) {
    return share_of_calls(other, c.client.service) > 0;
  });
  const ClientFlow& f = c.during.group;
  if (!only_refused || callers != 1 || f.attempts == 0 || f.arrivals > f.attempts) return found;
  const double refused = 1 - static_cast<double>(f.arrivals) / static_cast<double>(f.attempts);
  const double sick = found->evidence.front().value;
  if (sick >= 1 || refused <= kAttracted * sick) return found;
  const Words it = sick * c.service().instances.count < 1.5 ? Words("it") : Words("them");
  found->sentence += say(
      "; {} of the attempts {}, retries included, go to {}: {} prefers {}, because a refusal comes "
      "soon",
      share(refused, number(1) - served(c, "arrivals", "during") / flow(c, "attempts", "during")),
      std::ranges::all_of(c.disturbed_stretches, refuses) ? Sentence(Words("then"))
                                                          : say("during {}", its_name(c)),
      it, Name{std::string(name(c.service().instances.balancing))}, it);
  found->evidence.push_back({"refused_share", refused});
  return found;
}

Found silent(const GroupCase& c) {
  return cut_off(c, &FaultSpec::black_hole, "does not answer", "do not answer",
                 "attempts there end only when their client gives up");
}

/// Whether requests fail or wait by more than the rule for a good answer lets pass.
bool has_trouble(const GroupCase& c) {
  Severity severity = Severity::kGood;
  return answer_of(c, severity) != nullptr && severity != Severity::kGood;
}

bool any_caller_retries(const GroupCase& c) {
  return std::ranges::any_of(c.scenario.clients, [&](const ClientSpec& client) {
    return share_of_calls(client, c.client.service) > 0 && client.retry.max_attempts > 1;
  });
}

/// The share of ended attempts that ended with an error.
FigureSource errors_to(const GroupCase& c, std::string_view window) {
  const FigureSource errors = flow(c, "errors", window) + flow(c, "throttled", window);
  return errors / (errors + flow(c, "timeouts", window) + flow(c, "successes", window));
}

Found answers_errors(const GroupCase& c) {
  constexpr double kNoticeable = 0.01;
  if (!c.has_one_service() || flow::calls_others(c.scenario, c.client.service)) {
    return std::nullopt;
  }
  const auto answered = [](const ServiceFlow& s) {
    return s.arrivals > 0 ? static_cast<double>(s.errors) / static_cast<double>(s.arrivals) : 0;
  };
  // A service without a queue decides about errors when it answers: they are counted there.
  const bool when_it_answers = c.service().model == ServiceModelKind::kIndependent;
  const auto answered_in = [&](const Stretch& s) {
    const ClientFlow& f = s.group;
    const auto errors = static_cast<double>(f.errors + f.throttled);
    if (!when_it_answers) return answered(s.service);
    const auto others = static_cast<double>(f.timeouts + f.successes);
    return errors > 0 ? errors / (errors + others) : 0;
  };
  const bool always = !c.service().errors.empty();
  const double usual = always ? answered_in(c.before) : 0;
  double most = 0;
  const DisturbedStretch* worst = nullptr;
  const auto answers = [](const DisturbedStretch& d) {
    return std::ranges::any_of(d.faults, [](const FaultSpec* f) { return !f->errors.empty(); });
  };
  for (const DisturbedStretch& d : c.disturbed_stretches) {
    if (!answers(d) || answered(d.service) <= most) continue;
    most = answered(d.service);
    worst = &d;
  }
  if (worst != nullptr && most >= usual + kNoticeable) {
    const Stretches such = worst_of_each(c, usual + kNoticeable, [&](const DisturbedStretch& d) {
      return answers(d) ? answered(d.service) : 0;
    });
    if (!has_trouble(c)) return std::nullopt;
    // A sick host among others is named with how many they are.
    const std::uint32_t count = c.service().instances.count;
    const auto sick_in = [&](const DisturbedStretch* d) {
      std::uint32_t n = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        n += std::ranges::any_of(
            d->faults, [&](const FaultSpec* f) { return !f->errors.empty() && f->concerns(i); });
      }
      return n;
    };
    const auto [fewest, most_sick] = std::ranges::minmax(such, {}, sick_in);
    const std::uint32_t sick = sick_in(most_sick);
    const Words up_to = such.size() > 1 ? Words("up to ") : Words("");
    const Figure most_answered = share(most, errors_source(c, *worst));
    const Sentence before = usual >= kNoticeable
                                ? say(" ({} before)", share(usual, errors_source(c, "before")))
                                : Sentence();
    // An instance that answers sooner than others has fewer attempts under way.
    constexpr double kAttracted = 1.5;
    const Balancing balancing = c.service().instances.balancing;
    const bool attracts =
        sick < count && prefers_idle(c.service()) && most > kAttracted * sick / count;
    const Sentence why =
        attracts ? say("{}: {} prefers {}, because {} soon",
                       any_caller_retries(c) ? Words(", retries included") : Words(""),
                       Name{std::string(name(balancing))}, sick == 1 ? Words("it") : Words("them"),
                       sick == 1 ? Words("it answers") : Words("they answer"))
                 : Sentence();
    return Finding{
        sick < count
            ? say("during {} {}{} of its {} instances {} with errors: {}{} of the attempts that "
                  "reach the service{}{}",
                  names_of(c, such), sick_in(fewest) < sick ? Words("up to ") : Words(""),
                  whole(sick, not_in_files(kByScenario)),
                  whole(count, key("service." + c.service().name + ".instances")),
                  sick == 1 ? Words("answers") : Words("answer"), up_to, most_answered, before, why)
            : say("during {} {} answers {}{} of the attempts that reach it with errors{}",
                  names_of(c, such), its_service(c), up_to, most_answered, before),
        {{"errors_share", most}, {"errors_before_share", usual}}};
  }
  // If most failures are timeouts and refusals, a few errors are not the cause.
  constexpr double kMany = 0.3;
  const ClientFlow& f = troubled(c).group;
  const auto failed = static_cast<double>(f.errors + f.throttled + f.timeouts);
  if (usual < kNoticeable || f.attempts == 0 || !has_trouble(c) ||
      answered_in(troubled(c)) < kMany * failed / static_cast<double>(f.attempts)) {
    return std::nullopt;
  }
  return Finding{
      say("{} answers {} of the attempts {}with errors{}", its_service(c),
          share(usual,
                when_it_answers ? errors_to(c, calm_window(c)) : errors_source(c, calm_window(c))),
          when_it_answers ? Words("") : Words("that reach it "),
          c.disturbed() ? say(", before the {}{} as well",
                              c.disturbances.count > 1 ? Words("first ") : Words(""), kind_of(c))
                        : Sentence()),
      {{"errors_share", usual}}};
}

/// Messages that the network or faults lose.
Found lost_messages(const GroupCase& c) {
  constexpr double kNoticeable = 0.01;
  struct Loss {
    double requests = 0, answers = 0;
    double all() const { return 1 - (1 - requests) * (1 - answers); }
  };
  const Loss usual = {c.scenario.network.request_loss, c.scenario.network.response_loss};
  const auto in = [&](const DisturbedStretch& d) {
    Loss loss = usual;
    for (const FaultSpec* f : d.faults) {
      if (!for_all(*f)) continue;
      loss.requests = 1 - (1 - loss.requests) * (1 - f->request_loss);
      loss.answers = 1 - (1 - loss.answers) * (1 - f->response_loss);
    }
    return loss;
  };
  Loss most = usual;
  const DisturbedStretch* worst = nullptr;
  for (const DisturbedStretch& d : c.disturbed_stretches) {
    if (in(d).all() > most.all()) most = in(d), worst = &d;
  }
  if (most.all() < kNoticeable || !has_trouble(c)) return std::nullopt;
  const bool by_fault = most.all() > usual.all();
  const double least = std::min(most.all(), usual.all() + kNoticeable);
  const Stretches such =
      by_fault ? worst_of_each(c, least, [&](const DisturbedStretch& d) { return in(d).all(); })
               : Stretches();
  const bool varies = std::ranges::any_of(
      such, [&](const DisturbedStretch* d) { return in(*d).all() < most.all(); });
  const Words up_to = varies ? Words("up to ") : Words("");
  const auto lost = [&](double value, std::string_view of) {
    FigureSource passes = number(1) - key("network." + std::string(of));
    if (worst != nullptr) {
      for (const FaultSpec* f : worst->faults) {
        if (!for_all(*f)) continue;
        passes = std::move(passes) * (number(1) - fault_key(*f, of));
      }
    }
    return share(value, number(1) - std::move(passes));
  };
  std::vector<Sentence> what;
  if (most.requests > 0) {
    what.push_back(say("{}{} of the attempts", up_to, lost(most.requests, "request_loss")));
  }
  if (most.answers > 0 && most.requests < 1) {
    what.push_back(say("{}{} of the answers", up_to, lost(most.answers, "response_loss")));
  }
  return Finding{say("{}{} are lost on the way",
                     by_fault ? say("during {} ", names_of(c, such)) : Sentence(), joined(what)),
                 {{"request_loss_share", most.requests}, {"response_loss_share", most.answers}}};
}

/// A capacity profile that leaves the service less than first attempts need, while no fault is on.
Found profile_takes_capacity(const GroupCase& c) {
  const ServiceSpec& s = c.service();
  if (!c.capacity.limited || !s.profile || c.before.seconds <= 0) return std::nullopt;
  const double load = c.load(c.all.first_work_s, c.all.seconds);
  const Time start = Time::zero() + c.scenario.warmup, end = Time::zero() + c.scenario.duration;
  struct Dip {
    double from_s, to_s;
  };
  std::vector<Dip> dips;
  double least = 1;
  const auto& times = s.profile->times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Time from = std::max(times[i], start);
    const Time to = i + 1 < times.size() ? std::min(times[i + 1], end) : end;
    if (to <= from) continue;
    stop_point();
    const double factor = s.profile->factors[i];
    if (factor >= load) continue;
    least = std::min(least, factor);
    const double from_s = (from - Time::zero()).in_seconds();
    const double to_s = (to - Time::zero()).in_seconds();
    if (!dips.empty() && dips.back().to_s == from_s) {
      dips.back().to_s = to_s;
    } else {
      dips.push_back({from_s, to_s});
    }
  }
  if (dips.empty() || !has_trouble(c)) return std::nullopt;
  constexpr std::size_t kMost = 3;
  const FigureSource by_profile = not_in_files("the capacity profile, an input of the scenario");
  std::vector<Sentence> when;
  for (std::size_t i = 0; i < std::min(dips.size(), kMost); ++i) {
    when.push_back(say("from {} s to {} s", count(dips[i].from_s, by_profile, 4),
                       count(dips[i].to_s, by_profile, 4)));
  }
  if (dips.size() > kMost) {
    when.push_back(counted(whole(static_cast<double>(dips.size() - kMost), by_profile), "more time",
                           "more times"));
  }
  return Finding{least > 0
                     ? say("the profile leaves the service only {} of its capacity {}: first "
                           "attempts need {} as much",
                           share(least, by_profile), joined(when),
                           explain::times(load / least, not_in_files(kWork)))
                     : say("the profile leaves the service {} {}: first attempts need {} of it",
                           claim("no capacity at all", by_profile), joined(when),
                           share(load, not_in_files(kWork))),
                 {{"capacity_left_share", least},
                  {"new_load_ratio", load},
                  {"first_dip_s", dips.front().from_s},
                  {"dips", static_cast<double>(dips.size())}}};
}

bool lines_up(const GroupCase& c) {
  return c.capacity.limited && c.capacity.patience_s > 0 &&
         has_queue(c.service().queue.discipline) &&
         c.capacity.timeout_s < std::numeric_limits<double>::infinity();
}

/// Attempts of the group whose requests or answers were lost on the way, as far as faults and the
/// network explain it: they have no answer that could be too late.
double lost_on_the_way(const GroupCase& c, const Stretch& s) {
  const ClientFlow& f = s.group;
  const bool refuses = std::ranges::any_of(
      c.scenario.faults, [](const FaultSpec& fault) { return fault.unreachable; });
  const double unsent = refuses || f.arrivals >= f.attempts
                            ? 0
                            : static_cast<double>(f.attempts) - static_cast<double>(f.arrivals);
  const double usual = c.scenario.network.response_loss;
  double answers = usual * static_cast<double>(f.arrivals);
  const double of_group =
      c.all.service.arrivals > 0
          ? static_cast<double>(c.all.group.arrivals) / static_cast<double>(c.all.service.arrivals)
          : 0;
  for (const DisturbedStretch& d : c.disturbed_stretches) {
    double passes = 1;
    for (const FaultSpec* fault : d.faults) passes *= 1 - fault->response_loss;
    answers += (1 - usual) * (1 - passes) * of_group * static_cast<double>(d.service.arrivals);
  }
  return std::min(static_cast<double>(f.timeouts), unsent + answers);
}

/// Answers that came too late, as a share of these and the answers in time.
double too_late_share(const GroupCase& c, const Stretch& s) {
  const double late = static_cast<double>(s.group.timeouts) - lost_on_the_way(c, s);
  return late > 0 ? late / (late + static_cast<double>(s.group.successes)) : 0;
}

/// That share in the window `window`.
Sentence answers_too_late(const GroupCase& c, const Stretch& s, std::string_view window) {
  constexpr double kNearlyEvery = 0.9999;
  const FigureSource late = flow(c, "timeouts", window), in_time = flow(c, "successes", window);
  const double all_late = static_cast<double>(s.group.timeouts);
  const FigureSource source = lost_on_the_way(c, s) > 0.001 * all_late
                                  ? not_in_files("timeouts without what was lost on the way")
                                  : late / (late + in_time);
  if (s.group.successes == 0) {
    return say("{} came too late", claim("every answer", in_time == number(0)));
  }
  const bool is_known = source.kind != FigureSource::Kind::kUnknown;
  if (too_late_share(c, s) > kNearlyEvery) {
    return say("{} came too late",
               claim("nearly every answer", is_known ? source >= number(kNearlyEvery) : source));
  }
  return say("{} of the answers came too late", share(too_late_share(c, s), source));
}

std::string_view troubled_window(const GroupCase& c) {
  return c.disturbed() ? "trouble" : "window";
}

/// How long clients wait for an answer.
Figure patience(const GroupCase& c) {
  return time(c.capacity.timeout_s, key(scenario::path_of(c.client) + ".attempt_timeout"));
}

/// "at a fifth of the capacity the full queue holds ...": what the queue holds where a fault leaves
/// the service less.
Sentence slow_queue(const GroupCase& c) {
  const Capacity& k = c.capacity;
  const auto least = std::ranges::find(c.disturbed_stretches, k.left, &DisturbedStretch::left);
  const FigureSource left = left_source(c, *least), full = full_queue_source(c);
  const bool is_known =
      left.kind != FigureSource::Kind::kUnknown && full.kind != FigureSource::Kind::kUnknown;
  return say(
      "at {} of the capacity the full queue holds {} of work; clients wait only {}: {}; at "
      "full capacity it holds {}",
      share(k.left, left),
      roughly(k.full_queue_s / k.left, is_known ? full / left : not_in_files(kByScenario)),
      patience(c), answers_too_late(c, c.during, "during"),
      roughly(k.full_queue_s, full_queue_source(c)));
}

/// Whether most answers that come too late do so while a fault leaves the service less capacity.
bool is_late_by_fault(const GroupCase& c) {
  return c.disturbed() && c.capacity.left > 0 && c.capacity.left < 1 &&
         2 * c.during.group.timeouts > c.trouble.group.timeouts &&
         too_late_share(c, c.during) >= kMaxAnswers;
}

Found queue_outlasts_timeout(const GroupCase& c) {
  const Capacity& k = c.capacity;
  const double late = too_late_share(c, troubled(c));
  if (!lines_up(c) || late < kMaxAnswers || k.largest_queue_s <= k.patience_s) return std::nullopt;
  const bool bounded = k.full_queue_s < std::numeric_limits<double>::infinity();
  if (bounded && k.full_queue_s <= k.patience_s) return std::nullopt;
  if (bounded && is_late_by_fault(c)) {
    return Finding{slow_queue(c),
                   {{"queue_work_s", k.full_queue_s / k.left},
                    {"queue_work_at_full_capacity_s", k.full_queue_s},
                    {"timeout_s", k.timeout_s},
                    {"capacity_left_share", k.left},
                    {"too_late_share", too_late_share(c, c.during)}}};
  }
  const Sentence whose =
      c.scenario.services.size() > 1 ? say(" of {}", Name{c.service().name}) : Sentence();
  const Sentence holds = bounded ? say("the full queue{} holds {} of work", whose,
                                       roughly(k.full_queue_s, full_queue_source(c)))
                                 : say("the unbounded queue{} grew to {} of work", whose,
                                       roughly(k.largest_queue_s, largest_queue_source(c)));
  return Finding{say("{}; clients wait only {}: {}", holds, patience(c),
                     answers_too_late(c, troubled(c), troubled_window(c))),
                 {{"queue_work_s", bounded ? k.full_queue_s : k.largest_queue_s},
                  {"timeout_s", k.timeout_s},
                  {"too_late_share", late}}};
}

Found slow_queue_outlasts_timeout(const GroupCase& c) {
  const Capacity& k = c.capacity;
  const double late = too_late_share(c, c.during);
  if (!c.disturbed() || !lines_up(c) || late < kMaxAnswers || k.left <= 0) return std::nullopt;
  const double slow_s = k.full_queue_s / k.left;
  if (k.full_queue_s > k.patience_s || slow_s <= k.patience_s) return std::nullopt;
  if (k.largest_queue_s / k.left <= k.patience_s) return std::nullopt;
  return Finding{slow_queue(c),
                 {{"queue_work_s", slow_s},
                  {"queue_work_at_full_capacity_s", k.full_queue_s},
                  {"timeout_s", k.timeout_s},
                  {"capacity_left_share", k.left},
                  {"too_late_share", late}}};
}

/// Whether more than a few attempts fail, so that retries are among those that follow the first.
bool fails_too(const ClientFlow& f) {
  constexpr double kFew = 0.05;
  const auto failed = static_cast<double>(f.errors + f.throttled + f.timeouts);
  return failed > kFew * static_cast<double>(f.attempts);
}

/// The word for attempts after the first in the groups that call the service.
Words later_attempts(const GroupCase& c) {
  bool hedge = false, retry = false;
  for (const ClientSpec& client : c.scenario.clients) {
    if (share_of_calls(client, c.client.service) <= 0) continue;
    hedge = hedge || client.retry.hedging.enabled;
    retry = retry || !client.retry.hedging.enabled;
  }
  if (!hedge) return Words("retries");
  return retry || fails_too(troubled(c).group) ? Words("hedges and retries") : Words("hedges");
}

Found retries_keep_it_down(const GroupCase& c) {
  constexpr double kWeighty = 0.2;
  if (!c.disturbed() || c.recoveries.gone == 0) return std::nullopt;
  const double fresh = c.load(c.after.first_work_s, c.after.seconds);
  const double retried = c.load(c.after.retry_work_s, c.after.seconds);
  if (fresh <= 0 || fresh >= 1 || fresh + retried < 1 || retried < kWeighty) return std::nullopt;
  return Finding{
      say("after {} first attempts need {} of the capacity, with {} {} the capacity", its_name(c),
          share(fresh, load_source(c, LoadOf::kFirst, "after")), later_attempts(c),
          times(fresh + retried, load_source(c, LoadOf::kAll, "after"))),
      {{"new_load_ratio", fresh}, {"load_with_retries_ratio", fresh + retried}}};
}

Found retries_above_capacity(const GroupCase& c) {
  const Occurrence& o = c.retries_above_capacity;
  if (c.runs == 0 || !o.in_most_of(c.runs)) return std::nullopt;
  const double bin_s = c.bin_s;
  if (o.seconds < std::max(1.0, 2 * bin_s)) return std::nullopt;
  return Finding{say("{} alone needed {} the capacity for {}", later_attempts(c),
                     times(o.ratio, retries_above_source(c, "mean of means")),
                     roughly(o.seconds, retries_above_source(c, "mean count"))),
                 {{"retry_load_ratio", o.ratio},
                  {"retries_above_capacity_s", o.seconds},
                  {"replications", static_cast<double>(o.runs)}}};
}

Found metastable(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (r.metastable == 0) return std::nullopt;
  const auto of_runs = [](std::size_t n) {
    return whole(static_cast<double>(n), not_in_files("the twins without retries"));
  };
  return Finding{
      r.metastable == r.gone
          ? say("without retries {} recovers: a metastable failure",
                r.gone == 1 ? Sentence(Words("the same run"))
                            : say("each of these {} runs", of_runs(r.gone)))
          : say("of the {} runs that do not recover, {} would without retries: a metastable "
                "failure",
                of_runs(r.gone), of_runs(r.metastable)),
      {{"not_recovered", static_cast<double>(r.gone)},
       {"would_recover_without_retries", static_cast<double>(r.metastable)}}};
}

std::size_t index_of(const GroupCase& c, const ServiceSpec* s) {
  return static_cast<std::size_t>(s - c.scenario.services.data());
}

/// The words for whom finished work was done that nobody waited for. With hedges, the client need
/// not have given up.
Words whom_it_was_for(const GroupCase& c) {
  bool hedges = false, others = false;
  for (const ClientSpec& client : c.scenario.clients) {
    const bool calls = std::ranges::any_of(c.services, [&](const ServiceSpec* s) {
      return share_of_calls(client, index_of(c, s)) > 0;
    });
    hedges = hedges || (calls && client.retry.hedging.enabled);
    others = others || (calls && &client != &c.client);
  }
  const bool own = troubled(c).group.timeouts > 0 || c.client.timeouts.deadline != Duration::max();
  if (!hedges && others && !own)
    return Words("was for clients of other groups, which had given up");
  if (!hedges) return Words("was for clients that had given up");
  return others || own ? Words("came when its clients waited for it no longer")
                       : Words("was for requests that another attempt had answered");
}

Found wasted_work(const GroupCase& c) {
  constexpr double kMuch = 0.3;
  const ServiceFlow& s = troubled(c).service;
  if (s.completions == 0) return std::nullopt;
  const double wasted = static_cast<double>(s.wasted) / static_cast<double>(s.completions);
  if (wasted < kMuch || queue_outlasts_timeout(c) || slow_queue_outlasts_timeout(c)) {
    return std::nullopt;
  }
  const std::string_view window = troubled_window(c);
  return Finding{say("{} of what {} finished{} {}",
                     share(wasted, served(c, "wasted", window) / served(c, "completions", window)),
                     c.has_one_service() ? Words("the service") : Words("its services"),
                     c.disturbed() ? Words(" in that time") : Words(""), whom_it_was_for(c)),
                 {{"wasted_share", wasted}}};
}

/// A herd whose work takes longer than its clients wait.
Found herd_is_too_much(const GroupCase& c) {
  constexpr double kMuch = 1.5, kFewestInHerd = 20;
  if (!is_herd(c) || !c.capacity.limited || c.runs == 0 || !has_trouble(c)) return std::nullopt;
  const double requests = c.requests() / static_cast<double>(c.runs);
  const double spread_s = c.client.arrivals.spread.in_seconds();
  const double work_s = requests * c.capacity.server_time_s / c.capacity.servers;
  if (requests < kFewestInHerd || work_s < kMuch * std::max(spread_s, c.capacity.patience_s)) {
    return std::nullopt;
  }
  const Figure number = count(std::round(requests), metric(c, "requests", "mean"));
  const Figure work = roughly(work_s, not_in_files(kWork));
  return Finding{
      spread_s > 0
          ? say("{} requests come within {}: {} of work for the service", number,
                time(spread_s, key(scenario::path_of(c.client) + ".arrivals.spread")), work)
          : say("{} requests come together: {} of work for the service", number, work),
      {{"requests", requests}, {"work_s", work_s}}};
}

/// Autoscaling needs time to add the servers that first attempts need from the start.
Found begins_small(const GroupCase& c) {
  constexpr double kTooFew = 1.05;
  if (!c.capacity.limited || c.service().autoscaling.target <= 0 || !has_trouble(c)) {
    return std::nullopt;
  }
  const double needed =
      // The load is a share of the maximum number of servers.
      c.load(c.before.first_work_s, c.before.seconds) * c.capacity.servers;
  const auto servers =
      static_cast<double>(c.service().servers) * static_cast<double>(c.service().instances.count);
  if (needed < kTooFew * servers || needed >= c.capacity.servers) return std::nullopt;
  return Finding{say("autoscaling begins with {}; first attempts alone keep {} busy",
                     counted(whole(servers, servers_source(c)), "server", "servers"),
                     count(needed, not_in_files(kWork))),
                 {{"servers", servers}, {"servers_needed", needed}}};
}

/// Autoscaling that has added too few servers for what comes during a disturbance, or too late.
Found scales_too_late(const GroupCase& c) {
  constexpr double kTooFew = 1.05;
  if (!c.disturbed() || !c.capacity.limited || c.service().autoscaling.target <= 0 ||
      c.during.seconds <= 0 || !has_trouble(c)) {
    return std::nullopt;
  }
  const double needed = c.during.first_work_s / c.during.seconds;
  const double servers = c.during.service.servers_ns / 1e9 / c.during.seconds;
  if (servers > 0 && needed >= kTooFew * servers && needed < c.capacity.servers) {
    return Finding{
        say("during {} first attempts alone keep {} busy; autoscaling had {} on average, of {} at "
            "most",
            its_name(c), counted(count(needed, not_in_files(kWork)), "server", "servers"),
            count(servers, served(c, "servers", "during", "mean")),
            whole(c.capacity.servers, key("service." + c.service().name + ".autoscaling.max"))),
        {{"servers", servers}, {"servers_needed", needed}}};
  }
  // In a long disturbance autoscaling has servers enough on average, in the end.
  const Occurrence& o = c.first_above_scaled;
  if (!o.in_most_of(c.runs) || o.seconds < std::max(1.0, 2 * c.bin_s)) return std::nullopt;
  return Finding{say("during {} first attempts alone kept {} as many servers busy as autoscaling "
                     "had by then, for {}",
                     its_name(c), times(o.ratio, not_in_files(kWork)),
                     roughly(o.seconds, not_in_files(kWork))),
                 {{"servers_needed_ratio", o.ratio}, {"too_few_s", o.seconds}}};
}

/// The server time that refusals take, by a full queue or a throttle.
Found refusals_take_servers(const GroupCase& c) {
  constexpr double kMuch = 0.2, kAll = 0.995;
  if (!c.capacity.limited || !has_trouble(c)) return std::nullopt;
  const RejectionSpec& rejection = c.service().rejection;
  const ServiceFlow& s = troubled(c).service;
  if (rejection.cost == Duration::zero() || s.servers_ns <= 0) return std::nullopt;
  const bool drops = rejection.overflow == Overflow::kDrop;
  const double refused = static_cast<double>(s.throttled + (drops ? 0 : s.rejected));
  const double load = refused * rejection.cost.in_seconds() / (s.servers_ns / 1e9);
  if (load < kMuch) return std::nullopt;
  const std::string_view window = troubled_window(c);
  FigureSource source = served(c, "throttled", window);
  if (!drops) source = std::move(source) + served(c, "rejected", window);
  source = std::move(source) * key("service." + c.service().name + ".reject_cost") /
           (served(c, "servers", window) * key("interval"));
  const Words when = c.disturbed() ? Words(" in that time") : Words("");
  return Finding{load < kAll
                     ? say("refusals take {} of the servers' time{}", share(load, source), when)
                     : say("refusals alone need {} the capacity{}", times(load, source), when),
                 {{"refusals_load_ratio", load}}};
}

/// "60 % of", "1.2 times".
Sentence of_capacity(double load, const FigureSource& source) {
  return load < 1 ? say("{} of", share(load, source)) : Sentence(times(load, source));
}

/// Hedges are not retries of failed attempts, but a load of their own.
Found hedging_loads(const GroupCase& c) {
  constexpr double kNoticeable = 1.2;
  const ClientFlow& f = c.before.group;
  if (!c.client.retry.hedging.enabled || f.requests == 0 || c.before.seconds <= 0) {
    return std::nullopt;
  }
  const double each = static_cast<double>(f.attempts) / static_cast<double>(f.requests);
  if (each < kNoticeable) return std::nullopt;
  const double fresh = c.load(c.before.first_work_s, c.before.seconds);
  const double total = fresh + c.load(c.before.retry_work_s, c.before.seconds);
  const bool too_much = fresh < 1 && total >= 1;
  const std::string_view window = c.disturbed() ? "before" : "window";
  Finding found{say("{} {} of each request{}",
                    c.client.retry.hedging.delay > Duration::zero()
                        ? fails_too(f) ? Words("hedging and retries make") : Words("hedging makes")
                        : Words("hedging without a delay makes"),
                    attempts(each, flow(c, "attempts", window) / flow(c, "requests", window), 3),
                    c.disturbed() ? Words(" while nothing is wrong") : Words("")),
                {{"attempts_per_request_ratio", each}},
                too_much ? Severity::kBad : Severity::kInfo};
  if (fresh > 0) {
    found.sentence += say(": first attempts need {} the capacity, with {} {}",
                          of_capacity(fresh, load_source(c, LoadOf::kFirst, window)),
                          fails_too(f) ? Words("both") : Words("hedges"),
                          total < 1 ? Sentence(share(total, load_source(c, LoadOf::kAll, window)))
                                    : Sentence(times(total, load_source(c, LoadOf::kAll, window))));
    found.evidence.push_back({"new_load_ratio", fresh});
    found.evidence.push_back({"load_with_hedges_ratio", total});
  }
  return found;
}

/// The number of servers, of a service whose keys give it.
FigureSource number_of_servers(const GroupCase& c) {
  const ServiceSpec& s = c.service();
  if (s.autoscaling.target > 0) return not_in_files("the most servers that autoscaling permits");
  return key("service." + s.name + ".servers") * key("service." + s.name + ".instances");
}

Found throttle_is_bottleneck(const GroupCase& c) {
  constexpr double kNoticeable = 0.05;
  const auto has_throttle = [](const ServiceSpec* s) { return s->throttle.rate > 0; };
  if (std::ranges::none_of(c.services, has_throttle)) return std::nullopt;
  // Counted where it is done, at the service: answers may be lost on their way to the clients, and
  // random errors and full queues may answer as throttles do.
  const auto throttled_in = [](const Stretch& s) {
    return s.service.throttled == 0
               ? 0
               : static_cast<double>(s.service.throttled) / static_cast<double>(s.service.arrivals);
  };
  // The rule says nothing about a time without trouble. What fails before the disturbance may be
  // throttled only then.
  const bool is_before = throttled_in(troubled(c)) < kNoticeable && is_sick_before_it(c);
  const Stretch& then = is_before ? c.before : troubled(c);
  const ServiceFlow& service = then.service;
  const ThrottleSpec& t = c.service().throttle;
  using enum ThrottleScope;
  const Words of_each = t.scope == kClient      ? Words(" of each client")
                        : t.scope == kOperation ? Words(" of each operation")
                        : t.scope == kKey       ? Words(" of each key")
                                                : Words("");
  // Throttles may treat groups differently; to one that none refuses nothing is said.
  // An answer of its own may be an error to them.
  const auto has_answer = [](const ServiceSpec* s) { return s->answers.throttled.has_value(); };
  const auto refusals =
      then.group.throttled +
      (std::ranges::any_of(c.services, has_answer) ? then.group.errors : std::uint64_t{0});
  const double of_group = then.group.attempts > 0 ? static_cast<double>(refusals) /
                                                        static_cast<double>(then.group.attempts)
                                                  : 0;
  const double throttled = throttled_in(then);
  if (throttled < kNoticeable || of_group < kNoticeable) return std::nullopt;
  const std::string_view window = is_before ? "before" : troubled_window(c);
  const Sentence in_it = is_before       ? say(" before {}", its_name(c))
                         : c.disturbed() ? Sentence(Words(" in that time"))
                                         : Sentence();
  const Figure refused =
      share(throttled, served(c, "throttled", window) / served(c, "arrivals", window));
  Sentence sentence =
      !c.has_one_service()
          ? say("throttles refuse {} of the attempts that reach its services{}", refused, in_it)
      : t.has_limits()
          ? say("the throttle refuses {} of the attempts that reach it{}", refused, in_it)
          : say("the throttle lets {} a second{} pass and refuses {} of those that reach it{}",
                attempts(t.rate, key("service." + c.service().name + ".throttle.rate")), of_each,
                refused, in_it);
  std::vector<EvidenceFigure> evidence = {{"throttled_share", throttled}};
  if (c.has_one_service() && !t.has_limits()) {
    evidence.insert(evidence.begin(), {"granted_per_s", t.rate});
  }
  if (c.capacity.limited) {
    const double busy = c.load(service.busy_ns / 1e9, then.seconds);
    if (busy < 1)
      sentence += say(", while {} of the servers' time is busy",
                      share(busy, served(c, "busy_mean", window, "mean") / number_of_servers(c)));
    evidence.push_back({"busy_share", busy});
  }
  return Finding{std::move(sentence), std::move(evidence)};
}

/// The group of lowest priority among those that share a service, if priority made the difference.
Found shed_first(const GroupCase& c) {
  constexpr double kNoticeable = 0.01;
  if (c.shed.empty()) return std::nullopt;
  const ShedGroup& spared = c.shed.front();
  const auto own = std::ranges::find(c.shed, c.index, &ShedGroup::group);
  const ClientSpec& first = c.scenario.clients[spared.group];
  if (own == c.shed.end() || c.client.priority >= first.priority ||
      own->lost_share() < kNoticeable || own->lost_share() <= spared.lost_share()) {
    return std::nullopt;
  }
  const auto lost = [&](const ClientSpec& client) {
    if (c.disturbed()) {
      return made_by(c, client, c.made.during, "rejected") /
             made_by(c, client, c.made.during, "attempts");
    }
    FigureSource rejected = metric_of(client.name, "rejected_share");
    rejected.weight = "attempts";
    return std::move(rejected) / metric_of(client.name, "attempts");
  };
  return Finding{say("it was shed first: {} of its attempts were {}{}; {} lost {}",
                     share(own->lost_share(), lost(c.client)),
                     own->evicted > 0 ? Words("refused or evicted") : Words("refused"),
                     c.disturbed() ? say(" during {}", its_name(c)) : Sentence(), Name{first.name},
                     share(spared.lost_share(), lost(first))),
                 {{"lost_share", own->lost_share()}, {"spared_lost_share", spared.lost_share()}}};
}

/// The value of an adaptive limit on concurrency, and how much it refused.
Found limit_refuses(const GroupCase& c) {
  constexpr double kNoticeable = 0.01;
  constexpr std::string_view kMet = "what attempts met at an adaptive limit";
  const LimitCounts& met = c.limit;
  if (met.arrivals == 0 || met.limited == 0) return std::nullopt;
  const auto arrivals = static_cast<double>(met.arrivals);
  const auto limited = static_cast<double>(met.limited);
  const double refused = static_cast<double>(met.refused) / arrivals;
  if (refused < kNoticeable) return std::nullopt;
  const ConcurrencySpec& spec = c.service().concurrency;
  const double mean = met.sum / limited;
  Sentence sentence =
      say("the limit on concurrency of {} ({}) was {} on average and refused {} of "
          "the attempts",
          Name{c.service().name}, Name{std::string(name(spec.control))},
          count(mean, not_in_files(kMet)), share(refused, not_in_files(kMet)));
  if (spec.needs_servers()) {
    sentence += say("; it held for {} of them, while the servers were busy",
                    share(limited / arrivals, not_in_files(kMet)));
  }
  return Finding{std::move(sentence), {{"limit_mean", mean}, {"refused_share", refused}}};
}

/// Whether the service is overloaded, and its servers are a tighter limit than the connections and
/// places of its only clients: what it cannot do waits for these.
bool more_would_not_help(const GroupCase& c) {
  const bool now_and_then = overload_by_disturbance(c).has_value();
  if (!now_and_then && !overload_without_retries(c)) return false;
  const auto callers = std::ranges::count_if(c.scenario.clients, [&](const ClientSpec& other) {
    return share_of_calls(other, c.client.service) > 0;
  });
  const ScarceLimits scarce = scarce_limits(c.client);
  const std::uint32_t each =
      scarce.connections ? c.client.max_connections : c.client.bulkhead.max_concurrent;
  const double limit_per_s = double{1} * each * c.client.count / c.capacity.least_attempt_s;
  const double left = now_and_then ? c.capacity.left : 1;
  return callers == 1 && limit_per_s >= left * c.capacity.servers / c.capacity.server_time_s;
}

Found connections_are_bottleneck(const GroupCase& c) {
  constexpr double kMuch = 0.25;
  if (c.total.latency_m.count == 0 || c.requests() == 0) return std::nullopt;
  const double wait_s = c.mean_connection_wait_s(), latency_s = c.mean_latency_s();
  if (wait_s <= 0 || wait_s < kMuch * latency_s) return std::nullopt;
  const FigureSource waits = wait_source(c, "connection_wait_mean");
  const Words what = what_is_scarce(c);
  const Sentence who = who_has_how_many(c);
  std::vector<EvidenceFigure> evidence = {{"connection_wait_s", wait_s}, {"latency_s", latency_s}};
  const ScarceLimits scarce = scarce_limits(c.client);
  if (scarce.connections) {
    evidence.push_back({"max_connections", static_cast<double>(c.client.max_connections)});
  }
  if (scarce.places) {
    evidence.push_back({"max_concurrent", static_cast<double>(c.client.bulkhead.max_concurrent)});
  }
  const bool in_vain = more_would_not_help(c);
  // Requests that wait for their answer when the run ends have waited to be sent, but have no
  // latency.
  return Finding{
      say("{}{}",
          wait_s < latency_s
              ? say("{} of the latency is waiting for {}: {}",
                    share(wait_s / latency_s, waits / latency_source(c)), what, who)
              : say("requests wait {} on average for {}: {}", roughly(wait_s, waits), what, who),
          in_vain ? Words("; more would not help, because the service is overloaded") : Words("")),
      std::move(evidence), in_vain ? std::optional(Severity::kInfo) : std::nullopt};
}

/// How faults change an attempt that waits for nothing: added message time, and speed.
struct Undisturbed {
  double messages_s = 0, speed = 1;
  double attempt_s = 0;
};

Undisturbed attempt_in(const GroupCase& c, const DisturbedStretch& d) {
  Undisturbed u;
  for (const FaultSpec* f : d.faults) {
    if (!for_all(*f)) continue;
    u.messages_s += 2 * f->latency.in_seconds();
    u.speed *= f->speed;
  }
  const double work_s = c.capacity.service_time_s;
  u.attempt_s = c.capacity.least_attempt_s + u.messages_s - work_s +
                (u.speed > 0 ? work_s / u.speed : std::numeric_limits<double>::infinity());
  return u;
}

/// The stretch in which an attempt takes longest, if it takes time at all; null: there is none.
const DisturbedStretch* longest_attempts(const GroupCase& c) {
  const DisturbedStretch* longest = nullptr;
  for (const DisturbedStretch& d : c.disturbed_stretches) {
    if (attempt_in(c, d).speed <= 0) continue;
    if (!longest || attempt_in(c, d).attempt_s > attempt_in(c, *longest).attempt_s) longest = &d;
  }
  return longest;
}

Found timeout_below_service_time(const GroupCase& c) {
  constexpr double kMany = 0.3;
  const auto timeouts_of = [](const ClientFlow& f) {
    return f.attempts > 0 ? static_cast<double>(f.timeouts) / static_cast<double>(f.attempts) : 0;
  };
  const double least_s = c.capacity.least_attempt_s, timeout_s = c.capacity.timeout_s;
  const double timeouts = timeouts_of(c.before.group);
  const auto evidence = [&](double attempt_s, double share) -> std::vector<EvidenceFigure> {
    return {{"attempt_s", attempt_s}, {"timeout_s", timeout_s}, {"timeout_share", share}};
  };
  if (timeout_s < least_s && timeouts >= kMany) {
    return Finding{say("an attempt takes {} without any waiting, and the client gives up after {}",
                       time(least_s, least_attempt_source(c, nullptr)), patience(c)),
                   evidence(least_s, timeouts)};
  }
  const DisturbedStretch* const longest = c.has_one_service() ? longest_attempts(c) : nullptr;
  if (longest == nullptr) return std::nullopt;
  const double then_s = attempt_in(c, *longest).attempt_s;
  const double timeouts_then = timeouts_of(c.during.group);
  if (timeout_s >= then_s || timeout_s < least_s || timeouts_then < kMany) return std::nullopt;
  const Stretches such = stretches_where(
      c, [&](const DisturbedStretch& d) { return attempt_in(c, d).attempt_s >= then_s; });
  return Finding{
      say("during {} an attempt takes {} without any waiting, and the client gives up after {}",
          names_of(c, such), time(then_s, least_attempt_source(c, longest)), patience(c)),
      evidence(then_s, timeouts_then), Severity::kInfo};
}

/// "1 of its 3 instances", or the service.
Sentence who_of(const GroupCase& c, const FaultSpec& fault, std::uint32_t concerned) {
  const std::uint32_t count = c.service().instances.count;
  if (concerned == count) return its_service(c);
  return say("{} of its {} instances", whole(concerned, fault_key(fault, "instances")),
             whole(count, key("service." + c.service().name + ".instances")));
}

/// A fault that slows the service or some of its hosts, or delays messages, and no load explains
/// it.
Found slow_or_far(const GroupCase& c) {
  constexpr double kNoticeably = 0.5;
  if (!c.has_one_service() || flow::calls_others(c.scenario, c.client.service) || !has_trouble(c) ||
      overload_by_disturbance(c)) {
    return std::nullopt;
  }
  const auto longer = [&](const FaultSpec& f) {
    const double work_s = c.capacity.service_time_s;
    if (f.speed <= 0 || f.unreachable || f.black_hole) return 0.0;
    return 2 * f.latency.in_seconds() + work_s / f.speed - work_s;
  };
  // An attempt may take no time at all.
  const auto is_noticed = [&](const FaultSpec& f) {
    return longer(f) > 0 && longer(f) >= kNoticeably * c.capacity.least_attempt_s;
  };
  const FaultSpec* worst = nullptr;
  for (const DisturbedStretch& d : c.disturbed_stretches) {
    for (const FaultSpec* f : d.faults) {
      if (!is_noticed(*f)) continue;
      if (worst == nullptr || longer(*f) > longer(*worst)) worst = f;
    }
  }
  if (worst == nullptr) return std::nullopt;
  std::uint32_t concerned = 0;
  for (std::uint32_t i = 0; i < c.service().instances.count; ++i) concerned += worst->concerns(i);
  const auto is_as_bad = [&](const FaultSpec* f) {
    return f->speed == worst->speed && f->latency == worst->latency;
  };
  const Stretches such = stretches_where(
      c, [&](const DisturbedStretch& d) { return std::ranges::any_of(d.faults, is_as_bad); });
  Stretches lesser = worst_of_each(c, 0, [&](const DisturbedStretch& d) {
    double most_s = 0;
    for (const FaultSpec* f : d.faults) most_s = std::max(most_s, is_noticed(*f) ? longer(*f) : 0);
    return most_s;
  });
  // Where the worst one is on, too, nothing else is said.
  std::erase_if(lesser, [&](const DisturbedStretch* d) {
    return std::ranges::any_of(such, [&](const DisturbedStretch* known) {
      return known->name == d->name || (known->start_s <= d->end_s && d->start_s <= known->end_s);
    });
  });
  const bool less_elsewhere =
      std::ranges::any_of(c.disturbed_stretches, [&](const DisturbedStretch& d) {
        if (std::ranges::find(d.faults, worst) == d.faults.end()) return false;
        return std::ranges::any_of(d.faults, [&](const FaultSpec* f) {
          if (!is_noticed(*f)) return false;
          for (std::uint32_t i = 0; i < c.service().instances.count; ++i) {
            if (f->concerns(i) && !worst->concerns(i)) return true;
          }
          return false;
        });
      });
  const bool several = concerned > 1 && concerned < c.service().instances.count;
  std::vector<Sentence> what;
  if (worst->speed < 1) {
    what.push_back(say("{} at {} of {} speed", several ? Words("work") : Words("works"),
                       share(worst->speed, fault_key(*worst, "speed")),
                       several ? Words("their") : Words("its")));
  }
  if (worst->latency > Duration::zero()) {
    const double there_and_back_s = 2 * worst->latency.in_seconds();
    what.push_back(say("{} {} farther away, there and back", several ? Words("are") : Words("is"),
                       time(there_and_back_s, number(2) * fault_key(*worst, "latency"))));
  }
  return Finding{
      say("during {} {} {}{}{}", names_of(c, such), who_of(c, *worst, concerned), joined(what),
          less_elsewhere ? Words("; others are slowed down or delayed less") : Words(""),
          lesser.empty() ? Sentence()
                         : say("; during {} there is less of that", names_of(c, lesser))),
      {{"speed_ratio", worst->speed}, {"farther_s", 2 * worst->latency.in_seconds()}}};
}

/// A load that exceeds the capacity only now and then.
Found bursts(const GroupCase& c) {
  const Occurrence& o = c.first_above_capacity;
  if (c.runs == 0 || !o.in_most_of(c.runs) || o.seconds < std::max(1.0, 2 * c.bin_s) ||
      !has_trouble(c) || overload_without_retries(c) ||
      c.load(c.before.first_work_s, c.before.seconds) >= 1) {
    return std::nullopt;
  }
  return Finding{say("in bursts, for {} altogether, first attempts alone need {} the capacity",
                     roughly(o.seconds, work_above_source(c, LoadOf::kFirst, "mean count")),
                     times(o.ratio, work_above_source(c, LoadOf::kFirst, "mean of means"))),
                 {{"burst_load_ratio", o.ratio}, {"bursts_s", o.seconds}}};
}

/// The service's own limit on the time of an attempt. Its answers are errors that are neither
/// refusals nor drawn at random.
Found own_timeout(const GroupCase& c) {
  constexpr double kMost = 0.5;
  if (!c.has_one_service() || c.service().timeout == Duration::max() || !has_trouble(c) ||
      flow::calls_others(c.scenario, c.client.service) || !c.scenario.faults.empty()) {
    return std::nullopt;
  }
  const ClientFlow& f = c.all.group;
  const ServiceFlow& s = c.all.service;
  const auto failed = static_cast<double>(f.errors + f.throttled + f.timeouts);
  if (failed == 0 || s.arrivals == 0) return std::nullopt;
  double random = 0;
  for (const RandomError& e : c.service().errors) random += e.probability;
  const double others =
      (random + static_cast<double>(s.rejected) / static_cast<double>(s.arrivals)) *
      static_cast<double>(f.arrivals);
  if (static_cast<double>(f.errors) - others < kMost * failed) return std::nullopt;
  const Figure limit =
      time(c.service().timeout.in_seconds(), key("service." + c.service().name + ".timeout"));
  return Finding{say("most attempts that fail take longer than {}, after which the service itself "
                     "gives up",
                     limit),
                 {{"service_timeout_s", c.service().timeout.in_seconds()}}};
}

Found drain_hides_overload(const GroupCase& c) {
  constexpr double kNoteworthy = 0.01;
  // All requests of a herd are in the drain.
  if (c.requests() == 0 || is_herd(c)) return std::nullopt;
  const double within = static_cast<double>(c.total.successes_within) / c.requests();
  if (c.success_share() - within <= kNoteworthy) return std::nullopt;
  const FigureSource by_then =
      weighted(c, "success_rate_within_duration", "requests") / metric(c, "requests");
  const Sentence how_many = within > 0 ? say("only {}", share(within, by_then))
                                       : Sentence(claim("none", by_then == number(0)));
  return Finding{say("{} of the requests had succeeded when the load stopped; {} in the end, after "
                     "it",
                     how_many, share(c.success_share(), success_source(c))),
                 {{"success_within_duration_share", within}, {"success_share", c.success_share()}}};
}

using enum Severity;
constexpr bool kOfDisturbance = true;
constexpr std::array kOverloadRules = {
    Rule{{"overload-without-retries", kBad, false,
          "while nothing is wrong, first attempts ask for more than the capacity, and not by "
          "chance"},
         overload_without_retries},
    Rule{{"timeout-below-service-time", kBad, false,
          "network and service alone take longer than the attempt timeout; info if only a fault "
          "makes it so"},
         timeout_below_service_time},
    Rule{{"bursts", kInfo, false,
          "the answer is not good, and first attempts ask for more than the capacity for two bins "
          "and a second at least, but not on average"},
         bursts},
    Rule{{"own-timeout", kInfo, false,
          "the answer is not good, and most attempts that fail are given up by the service"},
         own_timeout},
    Rule{{"slow-or-far", kInfo, false,
          "the answer is not good, and a fault makes the service or some of its instances slower "
          "or farther away, by half of an attempt at least, and no load explains that"},
         slow_or_far,
         kOfDisturbance},
    Rule{{"no-capacity", kInfo, false, "a fault leaves the service no servers, or no speed"},
         nothing_served,
         kOfDisturbance},
    Rule{{"unreachable", kInfo, false, "a fault makes the service or instances refuse connections"},
         unreachable,
         kOfDisturbance},
    Rule{{"silent", kInfo, false, "a fault makes the service or instances a black hole"},
         silent,
         kOfDisturbance},
    Rule{{"answers-errors", kInfo, false,
          "the answer is not good, and the service answers 1 % of the attempts that reach it or "
          "more with random errors, or so many more during a fault"},
         answers_errors},
    Rule{{"lost-on-the-way", kInfo, false,
          "the answer is not good, and the network or a fault loses 1 % of the attempts or answers "
          "or more"},
         lost_messages},
    Rule{{"profile-takes-capacity", kBad, false,
          "the answer is not good, and the capacity profile leaves less than first attempts need"},
         profile_takes_capacity},
    Rule{{"overload-by-disturbance", kInfo, false,
          "first attempts ask for more than the capacity that the disturbance leaves"},
         overload_by_disturbance,
         kOfDisturbance},
    Rule{{"queue-outlasts-timeout", kBad, false,
          "the queue holds more work than a timeout lasts, and most of what is served is late"},
         queue_outlasts_timeout},
    Rule{{"slow-queue-outlasts-timeout", kInfo, false,
          "the same, but only with the capacity that a fault leaves"},
         slow_queue_outlasts_timeout,
         kOfDisturbance},
    Rule{{"limit-refuses", kInfo, false,
          "an adaptive limit on concurrency refuses 1 % of the attempts or more"},
         limit_refuses},
    Rule{{"retries-keep-it-down", kBad, false,
          "it does not recover, and only with the retries is the load above capacity"},
         retries_keep_it_down},
    Rule{{"retries-above-capacity", kBad, false,
          "for a second or longer, retries alone ask for more than the capacity"},
         retries_above_capacity},
    Rule{{"herd-is-too-much", kInfo, false,
          "the answer is not good, and the requests of a herd are half as much work again as they "
          "come and wait for"},
         herd_is_too_much},
    Rule{{"autoscaling-begins-small", kInfo, false,
          "the answer is not good, and first attempts ask for more servers than autoscaling begins "
          "with"},
         begins_small},
    Rule{{"autoscaling-is-late", kInfo, false,
          "the answer is not good, and during the disturbance first attempts ask for more servers "
          "than autoscaling has by then, and for fewer than it may have"},
         scales_too_late,
         kOfDisturbance},
    Rule{{"refusals-take-servers", kBad, false,
          "refusals that cost server time (reject_cost) ask for a fifth of it or more"},
         refusals_take_servers},
    Rule{{"metastable", kBad, false, "the twin without retries recovers"}, metastable},
    Rule{
        {"throttle-is-bottleneck", kBad, false, "the throttle refuses 5 % of the attempts or more"},
        throttle_is_bottleneck},
    Rule{{"shed-first", kInfo, false,
          "the service sheds by priority, and turned away 1 % of the attempts of a group or more, "
          "and a smaller share of those of the highest priority"},
         shed_first},
    Rule{{"connections-are-bottleneck", kBad, false,
          "a quarter of the latency or more is waiting for a connection"},
         connections_are_bottleneck},
    Rule{{"hedging-loads", kInfo, false,
          "hedging makes 1.2 attempts or more of each request; bad if only that makes the load "
          "more than the capacity"},
         hedging_loads},
    Rule{{"wasted-work", kInfo, false,
          "30 % or more of the completed work is for requests that were already given up, and no "
          "earlier rule blames the queue"},
         wasted_work},
    Rule{{"drain-hides-overload", kInfo, false,
          "more than one percentage point of the success rate comes from requests that finished "
          "after the load stopped (the drain)"},
         drain_hides_overload},
};

}  // namespace

std::span<const Rule> overload_rules() { return kOverloadRules; }

}  // namespace retrysim::explain

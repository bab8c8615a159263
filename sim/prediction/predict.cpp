// Facts, fluid and chain of a scenario together.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "kernel/stop.hpp"
#include "prediction/chain/markov_chain.hpp"
#include "prediction/coverage.hpp"
#include "prediction/facts/service_load.hpp"
#include "prediction/fluid/run.hpp"
#include "scenario/text/text.hpp"

namespace retrysim {
namespace {

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

class Predictor {
 public:
  Predictor(const Scenario& scenario, const PredictionOptions& options)
      : scenario_(scenario), options_(options) {}

  Prediction all() {
    Facts facts = facts_of(scenario_);
    result_.figures = std::move(facts.figures);
    result_.warnings = std::move(facts.warnings);
    for (std::size_t s = 0; options_.fluid && s < scenario_.services.size(); ++s) {
      stop_point();  // services may be many
      fluid(s);
    }
    for (std::size_t s = 0; options_.chain && s < scenario_.services.size(); ++s) {
      stop_point();
      chain(s);
    }
    std::ranges::move(facts.refusals, std::back_inserter(result_.refusals));
    result_.unmodelled = prediction::unmodelled(scenario_);
    return std::move(result_);
  }

 private:
  void add(const char* part, const std::string& subject, std::string name, double value,
           std::string unit, std::string meaning) {
    if (!std::isfinite(value)) return;
    result_.figures.push_back(
        {part, subject, std::move(name), value, std::move(unit), std::move(meaning), ignores_});
  }
  void say(const std::string& subject, std::string name, std::string_view text,
           std::string meaning) {
    result_.figures.push_back({"fluid", subject, std::move(name), 0, "", std::move(meaning),
                               ignores_, std::string(text)});
  }

  /// Notes that a part has no figures, because of a feature of the scenario, or else because of
  /// `why`.
  void refuse(prediction::Theory part, std::size_t s, const std::string& subject,
              std::string_view what, const std::string& why) {
    const bool is_chain = part == prediction::Theory::kChain;
    const auto found = prediction::refusal(part, scenario_, s);
    result_.refusals.push_back(
        {is_chain ? "chain" : "fluid", subject,
         found ? sentence_of(*found, what, is_chain ? "the Markov chain" : "the fluid", subject)
               : fmt::format("No {} for {}: {}", what, subject, why)});
  }

  void fluid(std::size_t s) {
    const std::string subject = "service." + scenario_.services[s].name;
    if (const auto why = why_no_fluid(scenario_, s)) {
      const char* const rest = "goodput, recovery or tipping point";
      bool has_phase = !why_no_balance(scenario_, s);
      if (has_phase) {
        balance(s, subject);
      } else {
        has_phase = phase_without_balance(s, subject);
      }
      refuse(prediction::Theory::kRun, s, subject,
             has_phase ? rest : fmt::format("phase, {}", rest), *why);
      return;
    }
    ignores_ = list_of(ignored_by_fluid(scenario_, s));
    for (std::string& doubt : doubts_of_fluid(scenario_, s)) {
      result_.doubts.push_back({"fluid", subject, std::move(doubt)});
    }
    balance(s, subject);
    const FluidRun run = run_fluid(scenario_, s);
    for (const FluidGroup& g : run.groups) group(g);
    add("fluid", subject, "backlog", run.backlog, "s",
        "work that waits when the drain is over, in seconds at full capacity");
    if (!run.disturbed) return;
    if (end_of_disturbances(s) >= scenario_.duration.in_seconds()) {
      result_.refusals.push_back(
          {"fluid", subject,
           fmt::format("No state after the disturbance and no recovery for {}: the last fault or "
                       "surge lasts until the run ends",
                       subject)});
      tipping(s, subject);
      return;
    }
    say(subject, "after_disturbance", run.down_at_end ? "down" : "up",
        "whether half of the requests succeed in the last quarter of the time after the last fault "
        "or surge");
    if (run.recovery) {
      const std::string kept = ignores_;
      ignores_ += noise_of_recovery(run);
      add("fluid", subject, "recovery", *run.recovery, "s",
          "from the end of the last fault or surge until goodput has recovered for good");
      ignores_ = kept;
    }
    tipping(s, subject);
  }

  /// When the last fault or surge that disturbs a service ends, s.
  double end_of_disturbances(std::size_t s) const {
    double last = 0;
    const auto add = [&](Time start, Duration length) {
      if (start >= Time::zero() + scenario_.duration) return;
      last = std::max(last, (start + length).in_seconds());
    };
    for (const FaultSpec& fault : scenario_.faults) {
      if (fault.service == s) add(fault.start, fault.duration);
    }
    for (const ClientSpec& c : scenario_.clients) {
      if (c.service != s) continue;
      for (const SurgeSpec& surge : c.arrivals.surges) add(surge.start, surge.duration);
    }
    return last;
  }

  /// A note for services with few requests in the window over which lapses average out: chance
  /// alone makes lapses, and a simulated recovery counts from the last of them. Empty if there are
  /// enough requests.
  std::string noise_of_recovery(const FluidRun& run) const {
    double rate = 0;
    for (const FluidGroup& g : run.groups) rate += g.offered;
    const double requests = rate * scenario_.recovery.window.in_seconds();
    const double forgiven = 1 - scenario_.recovery.share;
    if (requests <= 0 || 1 / std::sqrt(requests) <= forgiven) return "";
    return fmt::format(
        "; lapses by chance: in recovery.window there are {} requests, a number that chance "
        "moves by {} %, where recovery.share allows {:.0f} %, so that simulated recoveries "
        "come later",
        scenario::said_count(requests), scenario::said_whole(100 / std::sqrt(requests)),
        100 * forgiven);
  }

  void say_phase(const std::string& subject, FluidPhase phase, double load) {
    say(subject, "phase", name(phase),
        "safe: recovers from everything; vulnerable: healthy, but does not recover once knocked "
        "over; without any trigger the others are overloaded (at least half of the requests "
        "succeed) or dead (fewer do)");
    add("fluid", subject, "load", load, "1", "work of the first attempts per capacity");
  }

  /// Adds a phase if there is no balance: a service may still be too idle to be knocked over, or
  /// have the same phase with any number of retries.
  bool phase_without_balance(std::size_t s, const std::string& subject) {
    const std::string kept = std::exchange(ignores_, "");
    const std::optional<WorstLoad> load = worst_load(scenario_, s);
    const bool idle = load && load->first > 0 && load->worst < 1;
    std::optional<FluidEquilibria> any;
    if (idle) {
      say_phase(subject, FluidPhase::kSafe, load->first);
      add("fluid", subject, "worst_load", load->worst, "1",
          "load if each request makes all of its attempts: below 1 no backlog lasts");
    } else if ((any = balance_with_any_retries(scenario_, s)) && any->load > 0) {
      ignores_ = ignored_by_balance(s);
      say_phase(subject, any->phase, any->load);
    } else if (const auto phase = phase_by_costly_refusals(s)) {
      ignores_ = ignored_by_balance(s);
      say_phase(subject, *phase, prediction::load_of_service(scenario_, s).utilization);
    } else {
      ignores_ = kept;
      return false;
    }
    ignores_ = kept;
    return true;
  }

  /// The phase of a service without balance because refusals take so much of the servers that a
  /// full queue is late: from a run without a disturbance, and one after a long outage. Recovery
  /// from one outage does not make it safe, and near a load of 1 chance decides.
  std::optional<FluidPhase> phase_by_costly_refusals(std::size_t s) const {
    constexpr double kNear = 0.02;
    const auto refused = prediction::refusal(prediction::Theory::kBalance, scenario_, s);
    if (!refused || refused->feature != prediction::kRefusingMakesLate ||
        prediction::refusal(prediction::Theory::kRun, scenario_, s)) {
      return std::nullopt;
    }
    const double load = prediction::load_of_service(scenario_, s).utilization;
    const FluidPhase phase = prediction::phase_by_runs(scenario_, s);
    const bool sure = (phase == FluidPhase::kVulnerable && load < 1 - kNear) ||
                      (phase == FluidPhase::kDead && load > 1 + kNear);
    return sure ? std::optional(phase) : std::nullopt;
  }

  std::string ignored_by_balance(std::size_t s) const {
    std::string text = "chance";
    for (const std::string& what :
         prediction::left_out(prediction::Theory::kBalance, scenario_, s)) {
      text += "; " + what;
    }
    return text;
  }

  void balance(std::size_t s, const std::string& subject) {
    if (const auto why = why_no_balance(scenario_, s)) {
      if (phase_without_balance(s, subject)) return;
      refuse(prediction::Theory::kBalance, s, subject, "phase", *why);
      return;
    }
    const std::string kept = ignores_;
    ignores_ = ignored_by_balance(s);
    {
      const FluidEquilibria e = fluid_equilibria(scenario_, s);
      if (e.load > 0) {
        say_phase(subject, e.phase, e.load);
        add("fluid", subject, "vulnerable_load", e.vulnerable_load, "1",
            "load below which it recovers by itself from everything");
        add("fluid", subject, "tipping_load", e.tipping_load, "1",
            "load from which it is overloaded or dead without any trigger");
        if (e.phase == FluidPhase::kOverloaded || e.phase == FluidPhase::kDead) {
          add("fluid", subject, "settled_success", e.success, "1",
              "share of the requests that succeed where it settles");
        }
        // Beyond the first balance that does not hold, a healthy service does not return; of
        // others, such as those where a quota is half dry, that is not known.
        bool is_first = e.phase == FluidPhase::kVulnerable;
        for (const FluidEquilibria::State& state : e.states) {
          if (state.name == "healthy") continue;
          if (state.name == "dead") {
            add("fluid", subject, "dead_load", state.load, "1",
                "load of all attempts in the dead state");
          } else if (state.stable) {
            add("fluid", subject, "settled_failure_share", state.failure, "1",
                "share of attempts that fail for lack of capacity in the overloaded state");
          } else if (std::exchange(is_first, false)) {
            add("fluid", subject, "tipping_failure_share", state.failure, "1",
                "share of failing attempts beyond which it does not return");
          }
        }
      }
    }
    ignores_ = kept;
  }

  void group(const FluidGroup& g) {
    const std::string subject = "client." + scenario_.clients[g.client].name;
    add("fluid", subject, "offered_load", g.offered, "1/s", "new requests per second");
    add("fluid", subject, "attempt_rate", g.attempt_rate, "1/s",
        "attempts that arrive at the service per second");
    add("fluid", subject, "goodput", g.goodput, "1/s", "requests that succeed per second");
    if (g.requests <= 0) return;
    // Requests under way at the end of the warm-up count only as successes.
    add("fluid", subject, "success_rate", std::min(1.0, g.successes / g.requests), "1",
        "successes per request");
    add("fluid", subject, "amplification", g.attempts / g.requests, "1", "attempts per request");
    if (g.attempts <= 0) return;
    add("fluid", subject, "timeout_share", g.timeouts / g.attempts, "1",
        "attempts without an answer in time, per attempt");
    add("fluid", subject, "rejected_share", g.rejected / g.attempts, "1",
        "attempts turned away by a full queue, per attempt");
    add("fluid", subject, "throttled_share", g.throttled / g.attempts, "1",
        "attempts answered with throttling, per attempt");
    add("fluid", subject, "quota_denied_share", g.quota_denied / g.requests, "1",
        "requests whose retry the quota refuses, per request");
  }

  void tipping(std::size_t s, const std::string& subject) {
    for (const FluidTippingPoint& p : fluid_tipping_points(scenario_, s)) {
      if (p.down_without) {
        say(p.trigger, "d50", "none", "it is down without any trigger");
      } else if (!p.found) {
        say(p.trigger, "d50", "above " + scenario::said_time(p.duration),
            "duration of this trigger alone that " + subject + " does not recover from");
      } else {
        add("fluid", p.trigger, "d50", p.duration, "s",
            "duration of this trigger alone that " + subject + " does not recover from");
      }
    }
  }

  /// Why a chain with the requested orbit is not solved.
  static std::optional<std::string> too_large(const RetrialQueue& queue) {
    constexpr double kMaxCells = 1.3e8;  // cells of 16 bytes (chain/markov_chain.hpp)
    const double states = (queue.places + 1.0) * (queue.orbit + 1.0);
    if (states * (std::min(queue.places, queue.orbit) + 1.0) <= kMaxCells) return std::nullopt;
    return fmt::format(
        "an orbit of {} requests makes {} states, too many to solve; choose a smaller one",
        scenario::grouped(static_cast<std::size_t>(queue.orbit)), scenario::said_whole(states));
  }

  void chain(std::size_t s) {
    const std::string subject = "service." + scenario_.services[s].name;
    ChainOrReason found = chain_of(scenario_, s);
    if (const std::string* why = std::get_if<std::string>(&found)) {
      refuse(prediction::Theory::kChain, s, subject, "collapse time", *why);
      return;
    }
    auto& queue = std::get<RetrialQueue>(found);
    if (options_.orbit > 0) queue.orbit = options_.orbit;
    if (const auto why = too_large(queue)) {
      refuse(prediction::Theory::kChain, s, subject, "collapse time", *why);
      return;
    }
    const RetrialQueueLaw law = solve_with_orbit(queue);
    std::vector<std::string> words = prediction::left_out(prediction::Theory::kChain, scenario_, s);
    words.emplace_back("the exact number of attempts (its mean counts)");
    words.emplace_back("the tendency of neighbouring attempts to time out together");
    const std::string left_out = list_of(words);
    ignores_ = left_out;
    add("chain", subject, "mean_queue", law.mean_queue, "attempts", "waiting and in service");
    add("chain", subject, "mean_orbit", law.mean_orbit, "requests", "on their way back");
    add("chain", subject, "late_share", law.beyond_timeout, "1",
        "share of time with more in the queue than is served in a timeout");
    add("chain", subject, "empty_share", law.empty, "1", "share of time without any request");
    ignores_ =
        left_out +
        (law.by_work
             ? " (of 180 such times nine in ten were right within a factor of 1.5, all within 3; "
               "goodput may last longer where the queue drains again)"
             : " (the chain is too large for the finer one: the time may be six times too long)");
    add("chain", subject, "collapse_time", law.collapse_time, "s",
        fmt::format("mean time from empty until {:.0f} attempts are there by chance",
                    std::ceil(0.9 * queue.places)));
    ignores_ = left_out +
               " (only the order of magnitude is right: simulations took up to four times "
               "as long)";
    add("chain", subject, "recovery_time", law.recovery_time, "s",
        "mean time from full until at most a third of the attempts served in a timeout are left");
    ignores_ = left_out;
    add("chain", subject, "orbit", queue.orbit, "requests",
        fmt::format("largest number on their way back in the chain, reached for {} of the "
                    "time",
                    scenario::said_number(law.at_most_orbit, 2)));
  }

  const Scenario& scenario_;
  const PredictionOptions& options_;
  Prediction result_;
  std::string ignores_;
};

}  // namespace

const Figure* Prediction::find(std::string_view part, std::string_view subject,
                               std::string_view name) const {
  for (const Figure& f : figures) {
    if (f.part == part && f.subject == subject && f.name == name) return &f;
  }
  return nullptr;
}

Prediction predict(const Scenario& scenario, const PredictionOptions& options) {
  return Predictor(scenario, options).all();
}

}  // namespace retrysim

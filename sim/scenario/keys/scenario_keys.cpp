// The keys of the top level, and those of [expect.NAME].
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>

#include "scenario/keys/key_rows.hpp"
#include "scenario/resolve/tables.hpp"
#include "scenario/text/text.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace retrysim::scenario {

namespace {

constexpr auto kNetwork = &Scenario::network;
constexpr auto kPrecision = &Scenario::precision;
constexpr auto kRecovery = &Scenario::recovery;

void store_warmup(const Slots& s, const Value& v) {
  s.to<Scenario>().warmup = v.duration;
  s.to<Scenario>().warmup_is_auto = v.is_else_word;
}

constexpr std::string_view kLosses = "messages that are lost";

constexpr KeyInfo kTopKeys[] = {
    key("name", text(), into<&Scenario::name>, {.required = true},
        "Name of the scenario and of its result folder."),
    key("description", text(), into<&Scenario::description>, {.fallback = ""},
        "What the scenario shows."),
    key("duration", duration(kPositiveRunLength), into<&Scenario::duration>, {.required = true},
        "Simulated time in which requests are submitted."),
    key("warmup", duration(kRunLength).or_word("auto"),
        Access{store_warmup}.used_as(into<&Scenario::warmup>), {.fallback = "0s"},
        "Start of the run, which the summary leaves out and the time series keep. auto finds its "
        "length in pilot runs (MSER-5); for steady states only."),
    key("drain", boolean(), into<&Scenario::drain>, {.fallback = "true"},
        "After the duration no new requests start, but those in flight may finish."),
    key("drain_limit", duration(kRunLength), into<&Scenario::drain_limit>, {.fallback = "300s"},
        "Longest drain; requests not finished then count as unfinished."),
    key("seed", count(kNotNegative), into<&Scenario::seed>, {.fallback = "1"},
        "Seed of all random draws; equal seeds give equal results."),
    key("fault_draw", count({.min = 1, .max = 1e9}), into<&Scenario::fault_draw>, {},
        "Which draw of the faults at random ([fault.NAME] with per_year, mtbf, with, length, ...) "
        "is played; all replications have the same. `retrysim risk` draws them itself."),
    key("replications", count(kUpToMillion), into<&Scenario::replications>, {.fallback = "20"},
        "Number of independent runs that the summary is based on; with a precision the minimum "
        "(10 if not given)."),
    key("precision", number(kPositiveShare).or_word("none"),
        into<kPrecision, &PrecisionSpec::target>, {.fallback = "none"},
        "Largest relative error of the means: replications are added (10, 15, 20, 30, 45, ... in "
        "all) until the 95 % intervals are that narrow."),
    key("precision_metrics", text(), kNowhere,
        {.fallback = "goodput, success_rate, amplification, latency_mean",
         .when = "precision != none"},
        "Metrics of all clients together that must reach that precision; for shares below 0.1, and "
        "rates below a tenth of the offered load, it is relative to these values."),
    key("max_replications", count(kUpToMillion), into<kPrecision, &PrecisionSpec::max_replications>,
        {.fallback = "1000", .when = "precision != none"},
        "Number of replications at which adding stops, whether or not the target is met."),
    key("interval", duration(kPositiveRunLength), into<&Scenario::interval>, {.fallback = "1s"},
        "Width of a time-series bin."),
    key("recovery.share", number(kPositiveShare), into<kRecovery, &RecoverySpec::share>,
        {.fallback = "0.95"},
        "The system counts as recovered when goodput reaches this share of the offered load times "
        "the success rate before the first fault or surge."),
    key("recovery.hold", duration(kNotNegative), into<kRecovery, &RecoverySpec::hold>,
        {.fallback = "30s"},
        "How long goodput must stay there; extended where too few requests arrive to tell. A "
        "longer "
        "default where the longest attempt timeout plus the longest backoff (without a cap: before "
        "the 10th attempt, at most 5 minutes) is more. A later collapse counts in any case."),
    key("recovery.window", duration(kPositive), into<kRecovery, &RecoverySpec::window>,
        {.fallback = "1s"},
        "Dips in goodput that average out over this time, or that chance explains, do not count as "
        "a "
        "relapse."),
    key("network.latency", distribution().of(Quantity::kRequestTime),
        into<kNetwork, &NetworkSpec::latency>, {.fallback = "0s"},
        "One-way delay between clients and services."),
    key("network.connect", distribution().of(Quantity::kRequestTime),
        into<kNetwork, &NetworkSpec::connect>, {.fallback = "0s"},
        "Extra time of an attempt that cannot reuse a connection of its client."),
    key("network.request_loss", number(kShare), into<kNetwork, &NetworkSpec::request_loss>,
        {.fallback = "0.0", .thing = kLosses},
        "Probability that an attempt never reaches the service."),
    key("network.response_loss", number(kShare), into<kNetwork, &NetworkSpec::response_loss>,
        {.fallback = "0.0", .thing = kLosses},
        "Probability that the work is done but its answer is lost."),
};

constexpr KeyInfo kExpectationKeys[] = {
    key("metric", text(), into<&Expectation::metric>, {.required = true},
        "The metric of summary.csv that is bounded."),
    key("client", text(), into<&Expectation::client>, {.fallback = "all"},
        "The client group, or all of them together."),
    key("at_most", number({}), into<&Expectation::at_most>, {},
        "Upper bound, in the metric's unit. The expectation holds if the whole 95 % interval keeps "
        "it, fails if none of it does, and is uncertain in between."),
    key("at_least", number({}), into<&Expectation::at_least>, {},
        "Lower bound, judged in the same way."),
};

}  // namespace

std::span<const KeyInfo> top_keys() { return kTopKeys; }

std::span<const KeyInfo> expectation_keys() { return kExpectationKeys; }

namespace {

// Fewest replications for stopping by precision; fewer tell too little of their own spread.
constexpr int kMinForPrecision = 10;
// Twenty batches of five bins.
constexpr std::int64_t kMinBinsForWarmup = 100;

std::vector<std::string> names_in(std::string_view list) {
  constexpr std::string_view kBetween = ", \t\n";
  std::vector<std::string> names;
  while (true) {
    const std::size_t from = list.find_first_not_of(kBetween);
    if (from == std::string_view::npos) return names;
    const std::size_t to = std::min(list.find_first_of(kBetween, from), list.size());
    names.emplace_back(list.substr(from, to - from));
    list.remove_prefix(to);
  }
}

void read_metrics(const KeyResolution& keys, Scenario& scenario, Problems& problems) {
  scenario.precision.metrics = names_in(keys.text_of("precision_metrics"));
  const Place place = keys.place_of("precision_metrics");
  if (scenario.precision.metrics.empty()) {
    problems.add(place, "precision_metrics names no metric; expected some, with commas between");
  }
  for (const std::string& name : scenario.precision.metrics) {
    if (find_metric(name) != nullptr) continue;
    problems.add(place, "precision_metrics: " + unknown_metric(name));
  }
}

}  // namespace

std::string unknown_metric(std::string_view name) {
  const std::string_view near = nearest(name, metric_names());
  return in_quotes(name) + " is unknown; " +
         (near.empty() ? std::string("`retrysim list metrics` shows all of them")
                       : "did you mean \"" + std::string(near) + "\"?");
}

void prepare_precision(KeyResolution& keys, const Node& root) {
  const Member* precision = root.find("precision");
  if (precision == nullptr || precision->value.is_text()) return;
  keys.set_default("replications", std::to_string(kMinForPrecision));
}

void read_precision(const KeyResolution& keys, Scenario& scenario, Problems& problems) {
  if (!keys.has("precision") || scenario.precision.target <= 0) return;
  if (keys.has("precision_metrics")) read_metrics(keys, scenario, problems);
  if (!keys.has("replications")) return;
  if (scenario.replications < kMinForPrecision) {
    problems.add(keys.place_of("replications"),
                 "replications = " + std::to_string(scenario.replications) +
                     " are too few to judge a precision by; expected at least " +
                     std::to_string(kMinForPrecision) + ", or no precision");
  }
  if (keys.has("max_replications") && scenario.precision.max_replications < scenario.replications) {
    problems.add(keys.place_of("max_replications"),
                 "max_replications = " + std::to_string(scenario.precision.max_replications) +
                     " is below replications = " + std::to_string(scenario.replications) +
                     ", the fewest; expected at least that");
  }
}

void check_steady_state(const Scenario& scenario, Place warmup_place, Problems& problems) {
  if (!scenario.warmup_is_auto) return;
  if (const auto why = why_transient(scenario)) {
    problems.add(warmup_place, "warmup = \"auto\" needs a steady state, but " + *why +
                                   "; expected a duration, such as \"30s\"");
  }
  if (scenario.duration > Duration::zero() && scenario.interval > Duration::zero() &&
      scenario.duration.count() / scenario.interval.count() < kMinBinsForWarmup) {
    problems.add(warmup_place,
                 "warmup = \"auto\" looks at the time series, and a duration of " +
                     to_text(scenario.duration) + " has fewer than 100 bins of the interval " +
                     to_text(scenario.interval) + "; expected a shorter interval or a longer run");
  }
}

}  // namespace retrysim::scenario

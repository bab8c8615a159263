// SPDX-License-Identifier: MIT
#include "experiment/choice_request.hpp"

#include <retrysim/request_error.hpp>

#include "scenario/suggestions.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace retrysim {
namespace {

constexpr std::string_view kOption = "--subject-to";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

void check_client(const std::vector<NamedScenario>& policies, const std::string& client) {
  if (client == "all") return;
  for (const NamedScenario& p : policies) {
    const Scenario& scenario = p.loaded.scenario;
    if (experiment::place_of_client(scenario, client) < scenario.clients.size()) continue;
    std::vector<std::string_view> names = {"all"};
    for (const ClientSpec& group : scenario.clients) names.push_back(group.name);
    throw RequestError(fmt::format("--client: {} has no client group '{}'; {}", p.name, client,
                                   scenario::suggestion(client, names, "there are")));
  }
}

void check_metric(const MetricInfo* metric, const std::string& client, std::string_view option) {
  if (metric == nullptr) throw RequestError("nothing says what the best policy is the best in");
  if (client != "all" && metric->scope == MetricScope::kAllOnly) {
    throw RequestError(fmt::format("{}: {} exists for all clients together only, not for '{}'",
                                   option, metric->name, client));
  }
}

void check_numbers(const ChooseOptions& options) {
  if (options.procedure == ChoiceProcedure::kBounds && !experiment::range_of(*options.aim.metric)) {
    throw RequestError(fmt::format(
        "--procedure bounds: {} has no upper bound; use it for shares and probabilities, such as "
        "success_rate or recovered",
        options.aim.metric->name));
  }
  if (options.indifference &&
      !(*options.indifference > 0 && std::isfinite(*options.indifference))) {
    throw RequestError("--indifference: a number above 0 is needed");
  }
  if (!(options.confidence > 0.5 && options.confidence < 1)) {
    throw RequestError("--confidence: a number above 0.5 and below 1 is needed");
  }
  if (options.batch < 1) throw RequestError("--batch: at least 1 is needed");
}

void check_policies(const std::vector<NamedScenario>& policies, const ChooseOptions& options) {
  if (policies.size() < 2) throw RequestError("a choice needs at least two policies");
  const int replications = policies.front().loaded.scenario.replications;
  for (const NamedScenario& p : policies) {
    if (p.loaded.scenario.replications != replications) {
      throw RequestError(
          "all policies begin with the same number of replications; do not vary replications");
    }
    if (p.loaded.scenario.warmup_is_auto) {
      throw RequestError(
          "choose does not determine the warm-up of each policy; set one with --set warmup=30s "
          "(retrysim run finds a suitable value)");
    }
  }
  const auto first = static_cast<std::size_t>(replications);
  if (first < 2 * options.batch || first % options.batch != 0) {
    throw RequestError(fmt::format(
        "the first stage has {} replication{}, which do{} not make two or more whole {}; use "
        "--replications {}",
        first, first == 1 ? "" : "s", first == 1 ? "es" : "",
        options.batch == 1 ? "observations" : fmt::format("batches of {}", options.batch),
        10 * options.batch));
  }
}

double default_tolerance(const ChoiceLimit& limit) {
  constexpr double kOfShare = 0.1, kOfOther = 0.01;
  const double bound = std::fabs(limit.bound);
  if (limit.metric->range != MetricRange::kShare) return kOfOther * bound;
  return kOfShare * std::min(bound, std::fabs(1 - limit.bound));
}

}  // namespace

std::string ChoiceLimit::text() const {
  return fmt::format("{}{}{}", metric->name, at_least ? ">=" : "<=", bound);
}

ChoiceLimit parse_choice_limit(const std::string& text) {
  const std::size_t sign = text.find_first_of("<>=");
  const auto wrong = [&](std::string_view why) {
    return RequestError(fmt::format("{} '{}': {}", kOption, text, why));
  };
  if (sign == std::string::npos || sign + 1 >= text.size() || text[sign] == '=' ||
      text[sign + 1] != '=') {
    throw wrong("expected METRIC>=VALUE or METRIC<=VALUE, such as success_rate>=0.999");
  }
  ChoiceLimit limit;
  const std::string_view name = trimmed(std::string_view(text).substr(0, sign));
  limit.metric = find_metric(name);
  if (limit.metric == nullptr) {
    const auto names = metric_names();
    throw wrong(fmt::format("there is no metric '{}'; {}", name,
                            scenario::nearest(name, names).empty()
                                ? "`retrysim list metrics` names them"
                                : scenario::suggestion(name, names, "")));
  }
  limit.at_least = text[sign] == '>';
  std::string_view value = std::string_view(text).substr(sign + 2);
  if (const std::size_t at = value.find("+-"); at != std::string_view::npos) {
    limit.tolerance = number_in(trimmed(value.substr(at + 2)));
    if (!limit.tolerance || *limit.tolerance <= 0) {
      throw wrong("the tolerance after +- is a number above 0, in the unit of the metric");
    }
    value = value.substr(0, at);
  }
  const auto bound = number_in(trimmed(value));
  if (!bound) throw wrong("the bound is a number in the unit of the metric, 0.05 for 50 ms");
  limit.bound = *bound;
  return limit;
}

namespace experiment {

std::optional<SelectionRange> range_of(const MetricInfo& metric) {
  switch (metric.range) {
    case MetricRange::kShare:
      return SelectionRange{0, 1};
    case MetricRange::kCorrelation:
      return SelectionRange{-1, 1};
    case MetricRange::kNotNegative:
      break;
  }
  return std::nullopt;
}

std::size_t place_of_client(const Scenario& scenario, std::string_view client) {
  const auto found = std::find_if(scenario.clients.begin(), scenario.clients.end(),
                                  [&](const ClientSpec& group) { return group.name == client; });
  return static_cast<std::size_t>(found - scenario.clients.begin());
}

std::vector<ChoiceLimit> with_tolerances(std::vector<ChoiceLimit> limits) {
  for (ChoiceLimit& limit : limits) {
    if (!limit.tolerance) limit.tolerance = default_tolerance(limit);
    if (*limit.tolerance > 0) continue;
    throw RequestError(fmt::format(
        "{} '{}': this bound says nothing of the precision that is wanted; add a tolerance, such "
        "as {}+-0.01",
        kOption, limit.text(), limit.text()));
  }
  return limits;
}

void check_choice(const std::vector<NamedScenario>& policies, const ChooseOptions& options) {
  check_metric(options.aim.metric, options.aim.client,
               options.aim.maximize ? "--maximize" : "--minimize");
  for (const ChoiceLimit& limit : options.limits) {
    check_metric(limit.metric, options.aim.client, kOption);
  }
  with_tolerances(options.limits);
  check_numbers(options);
  check_policies(policies, options);
  check_client(policies, options.aim.client);
}

}  // namespace experiment
}  // namespace retrysim

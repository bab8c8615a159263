// `retrysim list WHAT`, printed from the tables that the program itself uses, and retry rules in a
// few words.
//
// SPDX-License-Identifier: MIT
#include "cli/list.hpp"

#include <retrysim/breaker.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/run.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "prediction/coverage.hpp"
#include "report/document/document.hpp"
#include "retry/presets.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/keys/schema.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace retrysim::cli {

namespace {

// --- Retry rules in short ------------------------------------------------------------------------

std::string text(Duration d) {
  if (d == Duration::max()) return "none";
  if (d == Duration::zero()) return "0";
  if (d.count() % 1'000'000'000 == 0) return fmt::format("{} s", d.count() / 1'000'000'000);
  return fmt::format("{} ms", static_cast<double>(d.count()) / 1e6);
}

/// Two texts as "a / b", or "a" if both are the same.
std::string pair(const std::string& a, const std::string& b) { return a == b ? a : a + " / " + b; }

std::string text(Jitter jitter, const BackoffRules& rules) {
  if (jitter >= Jitter::kPlusWidth) {
    return fmt::format("{} {}", name(jitter), text(rules.jitter_width));
  }
  if (jitter != Jitter::kProportional) return std::string(name(jitter));
  return fmt::format("{} {} %", name(jitter), scenario::said_number(rules.jitter_share * 100, 4));
}

}  // namespace

std::string describe_backoff(const RetryRules& rules) {
  const BackoffRules& b = rules.backoff;
  std::string result = pair(text(b.base), text(b.throttle_base));
  if (b.base > Duration::zero() || b.throttle_base > Duration::zero()) {
    result += fmt::format(", x {}, cap {}, {}", b.factor, text(b.cap),
                          pair(text(b.jitter, b), text(b.throttle_jitter, b)));
  }
  if (b.growth != Growth::kExponential) result += fmt::format(", {}", name(b.growth));
  if (b.first_exponent != 0) result += fmt::format(", exponent from {}", b.first_exponent);
  if (b.max_exponent != BackoffRules::kUnlimited) {
    result += fmt::format(", exponent up to {}", b.max_exponent);
  }
  if (b.jitter_before_cap) result += ", jitter before cap";
  if (b.over_cap != OverCap::kLimit) result += fmt::format(", above the cap {}", name(b.over_cap));
  if (b.immediate_retries > 0) result += fmt::format(", {} at once", b.immediate_retries);
  if (b.quantum > Duration::zero()) {
    result += fmt::format(", steps of {} ({})", text(b.quantum), name(b.rounding));
  }
  if (rules.hedging.enabled) result += fmt::format(", hedged after {}", text(rules.hedging.delay));
  return result;
}

std::string describe_budget(const RetryRules& rules) {
  const QuotaRules& q = rules.quota;
  std::string result;
  const auto add = [&result](const std::string& part) {
    if (!result.empty()) result += "; ";
    result += part;
  };
  if (q.enabled) {
    add(fmt::format("{}: {} / {} / {}, +{}, {}", q.capacity, q.cost, q.throttle_cost,
                    q.timeout_cost, q.credit, name(q.refund)));
    if (q.credit_on != CreditOn::kSuccess)
      result += fmt::format(", credit on {}", name(q.credit_on));
    if (q.order != QuotaOrder::kAfterAttempts) result += fmt::format(", {}", name(q.order));
    if (q.partial) result += ", partial";
    if (q.refill_rate > 0) result += fmt::format(", refill {}/s", q.refill_rate);
    if (q.on_empty == QuotaOnEmpty::kWait) result += ", waits";
    if (q.failure_cost > 0) result += fmt::format(", failures take {}", q.failure_cost);
    if (q.threshold > 0) result += fmt::format(", above {}", q.threshold);
  }
  if (rules.budget.kind == BudgetKind::kWindow) {
    const int slices = rules.budget.slices;
    add(fmt::format("{} % of {} in {}{}, and {}/s", rules.budget.share * 100, name(rules.budget.of),
                    text(rules.budget.window),
                    slices == 10 ? std::string() : fmt::format(" ({} tenths)", slices),
                    rules.budget.minimum));
  } else if (rules.budget.kind == BudgetKind::kActive) {
    add(fmt::format("{} % of requests under way, at least {}", rules.budget.share * 100,
                    rules.budget.minimum));
  }
  if (rules.budget.kind == BudgetKind::kInterval) {
    add(fmt::format("{} % of attempts in {}, at least {}, under way", rules.budget.share * 100,
                    text(rules.budget.window), rules.budget.minimum));
  }
  if (rules.retry_breaker.enabled) {
    add(fmt::format("no retries above {} % failures of {} in {}",
                    rules.retry_breaker.failure_share * 100, rules.retry_breaker.min_attempts,
                    text(rules.retry_breaker.window)));
  }
  if (rules.guard.enabled) {
    add(fmt::format("off above {} % failures in {} x {}", rules.guard.failure_share * 100,
                    rules.guard.samples, text(rules.guard.sample)));
  }
  return result.empty() ? "-" : result;
}

std::string attempts_text(const RetryRules& rules) {
  return rules.max_attempts == RetryRules::kUnlimited ? "unlimited"
                                                      : std::to_string(rules.max_attempts);
}

std::string describe_versions(std::string_view sdk) {
  std::string result;
  for (const TurningPoint& p : turning_points(sdk)) {
    result.append(result.empty() ? "" : ", ").append(p.version);
  }
  return result.empty() ? "-" : result;
}

std::string version_note(const LoadedScenario& loaded) {
  std::map<std::string_view, std::string_view> values;  // words of the keys that choose the rules
  for (const ResolvedKey& key : loaded.keys) {
    if (key.path.ends_with(".retry.sdk")) values[key.path] = key.toml;
  }
  std::set<std::string> sdks;
  for (const ResolvedKey& key : loaded.keys) {
    constexpr std::string_view kRevision = ".retry.revision";
    if (!key.path.ends_with(kRevision) || key.origin != Origin::kDefault) continue;
    const std::string path = key.path.substr(0, key.path.size() - kRevision.size());
    const auto sdk = values.find(path + ".retry.sdk");
    if (sdk == values.end() || key.toml != "\"2.0\"" || sdk->second.size() < 2) continue;
    const std::string_view name = sdk->second.substr(1, sdk->second.size() - 2);
    if (!has_version(name)) sdks.emplace(name);
  }
  std::string from, example;
  for (const std::string& sdk : sdks) {
    const auto points = turning_points(sdk);
    const auto by_default = std::ranges::find(points, "2.1", &TurningPoint::revision);
    const auto has_both = std::ranges::find(points, "2.0|2.1", &TurningPoint::revisions);
    const auto found = by_default != points.end() ? by_default : has_both;
    if (found == points.end()) continue;
    from += from.empty() ? "" : ", ";
    from += fmt::format("{} {}", sdk, found->version);
    if (found->revision != "2.1") from += " (with AWS_NEW_RETRIES_2026)";
    const auto only = std::ranges::find(points, "2.1", &TurningPoint::revisions);
    if (only != points.end() && only != found) {
      from += fmt::format(" ({} in any case)", only->version);
    }
    if (example.empty()) example = fmt::format("{}@{}", sdk, found->version);
  }
  if (from.empty()) return "";
  return fmt::format(
      "rules of revision 2.0; revision 2.1 applies from {} on: name your version, as in "
      "sdk = \"{}\"",
      from, example);
}

std::string describe_errors(const RetryRules& rules) {
  const ErrorRules& e = rules.errors;
  std::string result(name(e.classifier));
  if (e.status_429 == Status429::kThrottling) result += ", 429";
  if (e.status_429 == Status429::kTransient) result += ", 429 transient";
  if (rules.quota.enabled && rules.quota.timeout_cost != rules.quota.cost) {
    result += fmt::format(", timeouts: {}", name(e.timeout_class));
  }
  return result;
}

std::string describe_retry_after(const RetryRules& rules) {
  std::string result(name(rules.retry_after));
  if (rules.retry_after != RetryAfter::kReplace || rules.retry_after_max == Duration::zero()) {
    return result;
  }
  if (rules.retry_after_max == Duration::max()) return result + ", without limit";
  return result + ", at most " + text(rules.retry_after_max);
}

std::vector<report::RuleWords> rules_in_words(const SdkUpgrade& upgrade) {
  const SdkRelease &from = upgrade.from, &to = upgrade.to;
  const auto mode = [](const SdkRelease& r) {
    return r.revision.empty() ? r.mode : fmt::format("{}, revision {}", r.mode, r.revision);
  };
  const auto attempts = [](const SdkRelease& r) {
    return r.rules.max_attempts == RetryRules::kUnlimited ? std::string("unlimited")
                                                          : std::to_string(r.rules.max_attempts);
  };
  return {{"mode", mode(from), mode(to)},
          {"attempts", attempts(from), attempts(to)},
          {"backoff", describe_backoff(from.rules), describe_backoff(to.rules)},
          {"retry quota", describe_budget(from.rules), describe_budget(to.rules)},
          {"errors retried", describe_errors(from.rules), describe_errors(to.rules)},
          {"suggested delays", describe_retry_after(from.rules), describe_retry_after(to.rules)},
          {"send rate", describe_send_rate(from.rules), describe_send_rate(to.rules)}};
}

std::string describe_send_rate(const RetryRules& rules) {
  const SendRateRules& r = rules.rate_limit;
  if (rules.throttle.enabled) {
    return fmt::format("K = {} over {}", rules.throttle.k, text(rules.throttle.window));
  }
  if (!r.enabled) return "-";
  std::string result = fmt::format("cubic, {}", name(r.acquire));
  if (r.wait == SendTokenWait::kRecheck) {
    result += ", rechecks after waiting";
  } else if (r.wait != SendTokenWait::kQueue) {
    result += fmt::format(", waits {}", name(r.wait));
  }
  if (r.update != LimiterUpdate::kAll) result += fmt::format(", sees {}", name(r.update));
  if (r.retry_cost != 1 || r.costly_retry_cost != 1) {
    result += fmt::format(", retries cost {} / {}", r.retry_cost, r.costly_retry_cost);
  }
  if (r.initial_fill_rate > 0) result += fmt::format(", fills from the start");
  if (r.initial_measured_rate > 0) result += fmt::format(", from {}/s", r.initial_measured_rate);
  if (r.round_rates) result += ", rounded";
  return result;
}

std::string describe_client(std::string_view sdk) {
  const ClientDefaults* d = find_client_defaults(sdk);
  if (d == nullptr) return "-";
  const auto time = [](Duration limit) {
    return limit == Duration::max() ? std::string("none") : text(limit);
  };
  const std::string connections = d->max_connections == RetryRules::kUnlimited
                                      ? "unlimited"
                                      : std::to_string(d->max_connections);
  if (d->connection_wait != Duration::max()) {
    return fmt::format("{} / {} / {} ({})", time(d->attempt_timeout), time(d->connect_timeout),
                       connections, time(d->connection_wait));
  }
  return fmt::format("{} / {} / {}", time(d->attempt_timeout), time(d->connect_timeout),
                     connections);
}

// --- The lists -----------------------------------------------------------------------------------

namespace {

using Table = report::Listing;

constexpr const char* kListUsage =
    "Usage: retrysim list WHAT [--format FORMAT]\n"
    "       retrysim list sdks [NAME] [--details]\n"
    "\n"
    "Prints the available choices. WHAT is one of\n"
    "  modes          retry modes with their revisions, SDKs, and services that have\n"
    "                 numbers of their own\n"
    "  sdks           SDKs, a line each. NAME chooses: of one SDK (botocore) the\n"
    "                 constants of each mode in which it can be simulated, and the\n"
    "                 release that each was compared with; else those whose name has\n"
    "                 NAME in it, or of a language (python) or mode (adaptive)\n"
    "  releases       releases of SDKs at which the rules changed, for\n"
    "                 sdk = \"NAME@VERSION\"\n"
    "  defects        known defects of SDKs that retry.defect switches on\n"
    "  breakers       circuit breakers of libraries, for breaker.preset\n"
    "  distributions  distributions and their parameters\n"
    "  metrics        metrics of summary.csv with unit and meaning\n"
    "  keys           keys of scenario files with type, unit, default and meaning\n"
    "  verdicts       rules that put results into words\n"
    "  theory         features of scenarios, with the parts of theory that model\n"
    "                 them, leave them out, or give no figure because of them\n";

Table list_modes() {
  Table table{{"mode", "revision", "sdk", "api", "source"}, {}, 4};
  for (const Preset& p : presets()) {
    table.rows.push_back({std::string(p.mode), std::string(p.revision), std::string(p.sdk),
                          std::string(p.api), std::string(p.source)});
  }
  return table;
}

Table details_of_sdks(const std::vector<std::string_view>& sdks) {
  Table table{
      {"sdk", "mode", "revision", "api", "attempts", "backoff", "quota", "errors", "retry_after",
       "long_poll", "send_rate", "client", "versions", "compared_with", "source"},
      {},
      4};
  for (const std::string_view sdk : sdks) {
    for (const Preset& p : presets()) {
      if (p.sdk != sdk) continue;
      const RetryRules& r = p.rules;
      const bool retries = r.max_attempts > 1;
      const std::string_view compared = compared_release(p);
      table.rows.push_back({std::string(p.sdk.empty() ? "-" : p.sdk), std::string(p.mode),
                            std::string(p.revision.empty() ? "-" : p.revision), std::string(p.api),
                            attempts_text(r), retries ? describe_backoff(r) : "-",
                            retries ? describe_budget(r) : "-", retries ? describe_errors(r) : "-",
                            describe_retry_after(r), std::string(name(r.long_poll)),
                            describe_send_rate(r), describe_client(p.sdk), describe_versions(p.sdk),
                            compared.empty() ? "-" : std::string(compared), std::string(p.source)});
    }
  }
  return table;
}

/// The programming language of an SDK or policy; "any" if it has none.
std::string_view language_of(std::string_view sdk) {
  constexpr std::pair<std::string_view, std::string_view> kLanguages[] = {
      {"botocore", "Python"},
      {"smithy-python", "Python"},
      {"urllib3", "Python"},
      {"tenacity", "Python"},
      {"java-v1", "Java"},
      {"java-v2", "Java"},
      {"grpc-java", "Java"},
      {"resilience4j", "Java"},
      {"js-v2", "JavaScript"},
      {"js-v3", "JavaScript"},
      {"grpc-js", "JavaScript"},
      {"cpp", "C++"},
      {"dotnet", ".NET"},
      {"polly", ".NET"},
      {"ruby", "Ruby"},
      {"php", "PHP"},
      {"go-v1", "Go"},
      {"go-v2", "Go"},
      {"grpc-go", "Go"},
      {"kotlin", "Kotlin"},
      {"rust", "Rust"},
      {"tower", "Rust"},
      {"linkerd", "Rust"},
      {"swift", "Swift"},
      {"c-io", "C"},
      {"finagle", "Scala"},
      {"envoy", "proxy"},
      {"envoy-interval", "proxy"},
      {"istio", "proxy"}};
  const auto* found =
      std::ranges::find(kLanguages, sdk, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kLanguages) ? "any" : found->second;
}

/// The presets of an SDK; an empty name stands for presets of no SDK in particular.
std::vector<const Preset*> presets_of(std::string_view sdk) {
  std::vector<const Preset*> result;
  for (const Preset& p : presets()) {
    if (p.sdk == sdk) result.push_back(&p);
  }
  return result;
}

std::vector<std::string_view> listed_sdks() {
  std::vector<std::string_view> sdks;
  for (const Preset& p : presets()) {
    if (std::ranges::find(sdks, p.sdk) == sdks.end()) sdks.push_back(p.sdk);
  }
  return sdks;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

/// The SDKs that a word chooses: the one of that name; else those whose names contain it, or of
/// that language or mode. An empty word chooses all.
std::vector<std::string_view> chosen_sdks(std::string_view word) {
  const std::string wanted = in_lower_case(word);
  std::vector<std::string_view> chosen;
  for (const std::string_view sdk : listed_sdks()) {
    if (!wanted.empty() && sdk == wanted) return {sdk};
    const bool has_mode =
        std::ranges::any_of(presets_of(sdk), [&](const Preset* p) { return p->mode == wanted; });
    if (sdk.find(wanted) != sdk.npos || has_mode || in_lower_case(language_of(sdk)) == wanted) {
      chosen.push_back(sdk);
    }
  }
  return chosen;
}

/// A table with a line for each SDK: the last known release at which its rules changed, and its
/// modes with the attempts of a request, by the newest rules of each.
Table list_sdks_in_short(const std::vector<std::string_view>& sdks) {
  Table table{{"sdk", "language", "rules since", "modes (attempts)"}, {}, 1};
  for (const std::string_view sdk : sdks) {
    if (sdk.empty()) continue;  // these rules are of no SDK
    std::vector<std::pair<std::string_view, std::string>> modes;
    for (const Preset* p : presets_of(sdk)) {
      if (p->api != "default") continue;
      const std::string attempts = attempts_text(p->rules);
      if (!modes.empty() && modes.back().first == p->mode) {
        modes.back().second = attempts;
      } else {
        modes.emplace_back(p->mode, attempts);
      }
    }
    std::string text;
    for (const auto& [mode, attempts] : modes) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", mode, attempts);
    }
    const auto points = turning_points(sdk);
    table.rows.push_back({std::string(sdk), std::string(language_of(sdk)),
                          points.empty() ? "-" : std::string(points.back().version), text});
  }
  return table;
}

Table list_releases() {
  Table table{
      {"sdk", "version", "mode", "revision", "revisions", "change", "source"}, {}, 2, "change"};
  std::string mode, revision, revisions;
  for (const TurningPoint& p : turning_points()) {
    const bool oldest = &p == turning_points(p.sdk).data();
    if (oldest) mode = revision = revisions = "";
    if (!p.mode.empty()) mode = p.mode;
    if (!p.revision.empty()) revision = p.revision;
    if (!p.revisions.empty()) revisions = p.revisions;
    std::string offered = revisions;
    if (const auto bar = offered.find('|'); bar != offered.npos) offered.replace(bar, 1, ", ");
    table.rows.push_back({std::string(p.sdk), std::string(p.version), mode, revision, offered,
                          std::string(p.change), std::string(p.source)});
  }
  return table;
}

Table list_defects() {
  Table table{{"defect", "meaning", "source"}, {}, 1, "meaning"};
  for (const Defect& d : defects()) {
    table.rows.push_back({std::string(d.name), std::string(d.meaning), std::string(d.source)});
  }
  return table;
}

std::string when_it_opens(const BreakerRules& b) {
  std::string result;
  const auto add = [&result](const std::string& part) {
    result += (result.empty() ? "" : "; ") + part;
  };
  const std::string_view relation = b.above ? "above " : "";
  const std::string in = b.window_calls > 0 ? fmt::format("in the last {} calls", b.window_calls)
                                            : "in " + text(b.window);
  if (b.failure_share > 0) {
    add(fmt::format("{}{} % failures {}", relation, b.failure_share * 100, in));
  }
  if (b.slow_share > 0) {
    add(fmt::format("{}{} % slower than {}", relation, b.slow_share * 100, text(b.slow_call)));
  }
  if (!result.empty() && b.min_calls > 1) result += fmt::format("; of {} at least", b.min_calls);
  if (b.consecutive == 1) add("one failure");
  if (b.consecutive > 1) add(fmt::format("{} failures in a row", b.consecutive));
  return result;
}

Table list_breakers() {
  Table table{{"breaker", "opens", "open", "probes", "closes", "source"}, {}, 1, "source"};
  for (const BreakerPreset& p : breaker_presets()) {
    const BreakerRules& b = p.rules;
    table.rows.push_back({std::string(p.name), when_it_opens(b), text(b.open),
                          std::to_string(b.probes), std::string(name(b.close_on)),
                          std::string(p.source)});
  }
  return table;
}

Table list_verdicts() {
  Table table{{"verdict", "severity", "of", "when"}, {}, 1, "when"};
  for (const VerdictRule& rule : verdict_rules()) {
    table.rows.push_back({std::string(rule.id), std::string(name(rule.severity)),
                          rule.is_answer ? "answer" : "cause", std::string(rule.when)});
  }
  return table;
}

Table list_theory() {
  Table table{{"feature", "keys", "modelled by", "left out by", "no figure from"}, {}, 2};
  for (const prediction::CoverageRow& row : prediction::coverage_table()) {
    table.rows.push_back({row.feature, row.keys, row.modelled, row.left_out, row.no_figure});
  }
  return table;
}

Table list_distributions() {
  Table table{{"distribution", "parameters", "meaning"}, {}, 1, "meaning"};
  for (const scenario::DistributionForm& form : scenario::distribution_forms()) {
    table.rows.push_back(
        {std::string(form.name), std::string(form.parameters), std::string(form.meaning)});
  }
  table.rows.push_back({"percentiles", "p50 p99",
                        "two or more of p1 to p99, p999 (99.9 %) and so on: lognormal, "
                        "unless distribution names weibull, gamma, pareto, uniform, normal or "
                        "exponential; of three or more the nearest of the first four"});
  table.rows.push_back({"percentiles", "p99 mean", "lognormal; any percentile"});
  table.rows.push_back({"percentiles", "p99 cv", "lognormal; any percentile"});
  table.rows.push_back(
      {"buckets", "buckets",
       "a histogram: a CSV file (columns le,count) or Prometheus' text format; with "
       "series, which of several; before, an earlier scrape to subtract; mean, "
       "where the file has no sum"});
  return table;
}

std::string_view bearer(MetricScope scope) {
  switch (scope) {
    case MetricScope::kGroups:
      return "client groups";
    case MetricScope::kServices:
      return "services";
    case MetricScope::kAllOnly:
      return "the run";
  }
  return "";
}

Table list_metrics() {
  Table table{{"metric", "unit", "of", "meaning"}, {}, 1, "meaning"};
  for (const MetricInfo& m : metric_table()) {
    table.rows.push_back({std::string(m.name), std::string(m.unit), std::string(bearer(m.scope)),
                          std::string(m.meaning)});
  }
  return table;
}

std::string type_of(const scenario::ValueRules& rules) {
  using scenario::ValueKind;
  std::string type;
  switch (rules.kind) {
    case ValueKind::kDuration:
      type = "duration";
      break;
    case ValueKind::kNumber:
      type = "number";
      break;
    case ValueKind::kCount:
      type = "count";
      break;
    case ValueKind::kBoolean:
      type = "true or false";
      break;
    case ValueKind::kWord:
      type = scenario::joined(scenario::split_words(rules.words));
      break;
    case ValueKind::kText:
      type = "text";
      break;
    case ValueKind::kNames:
      type = "text or list of texts";
      break;
    case ValueKind::kFile:
      type = "CSV file";
      break;
    case ValueKind::kDistribution:
      type = "duration or distribution";
      break;
    case ValueKind::kDistributionList:
      type = "list of distributions";
      break;
    case ValueKind::kAmount:
      type = "number or duration";
      break;
    case ValueKind::kCountDistribution:
      type = "whole number or distribution";
      break;
  }
  if (!rules.else_word.empty()) type += fmt::format(" or \"{}\"", rules.else_word);
  if (!rules.also_word.empty()) type += fmt::format(" or \"{}\"", rules.also_word);
  return type;
}

std::string default_of(const scenario::KeyInfo& key) {
  if (key.fallback && key.fallback_when.empty()) return *key.default_toml();
  if (key.access.from_rules != nullptr) return "by preset";
  return key.required ? "required" : "";
}

Table list_keys() {
  Table table{
      {"key", "type", "unit", "range", "default", "applies if", "meaning"}, {}, 1, "meaning"};
  for (const scenario::KeyScope& scope : scenario::key_scopes()) {
    for (const scenario::KeyInfo& key : scope.keys) {
      std::string when(key.when);
      for (std::size_t at = 0; (at = when.find('|', at)) != std::string::npos; at += 4) {
        when.replace(at, 1, " or ");
      }
      table.rows.push_back({scenario::key_pattern(scope, key), type_of(key.rules),
                            std::string(key.rules.unit), to_string(key.rules.range),
                            default_of(key), when, std::string(key.meaning)});
    }
  }
  return table;
}

Table list_sdks() { return details_of_sdks(listed_sdks()); }

struct Topic {
  std::string_view name;
  Table (*make)();
};
constexpr Topic kTopics[] = {{"modes", list_modes},       {"sdks", list_sdks},
                             {"releases", list_releases}, {"defects", list_defects},
                             {"breakers", list_breakers}, {"distributions", list_distributions},
                             {"metrics", list_metrics},   {"keys", list_keys},
                             {"verdicts", list_verdicts}, {"theory", list_theory}};

std::string to_csv(const Table& table) {
  std::string result;
  const auto add = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) result += ',';
      if (row[i].find_first_of(",\"\n") == std::string::npos) {
        result += row[i];
        continue;
      }
      result += '"';
      for (const char c : row[i]) result += c == '"' ? std::string("\"\"") : std::string(1, c);
      result += '"';
    }
    result += '\n';
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  return result;
}

std::string to_json(const Table& table) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object;
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i]] = row[i];
    rows.push_back(std::move(object));
  }
  return rows.dump(2) + "\n";
}

struct ListCommand {
  std::vector<std::string> what;
  bool details = false;
  std::string format = "table";
};

Options<ListCommand> list_options() {
  using C = ListCommand;
  return std::vector<Option<C>>{
      {{"details", "",
        "of sdks: the constants of each mode, as csv and json have them in any case"},
       into(&C::details)},
      {{"format", "FORMAT",
        "how to print: table (default), csv or json; schema: keys as a JSON Schema, for "
        "completion and checks in an editor"},
       [](C& c, const std::string& text) {
         c.format = text == "schema" ? text : format_word(text);
       }}};
}

const Topic& find_topic(const std::vector<std::string>& words) {
  const std::vector<std::string_view> known = listing_topics();
  if (words.empty()) {
    throw UsageError("nothing to list; expected one of " + scenario::joined(known));
  }
  const std::size_t most = words[0] == "sdks" ? 2 : 1;
  if (words.size() > most)
    throw UsageError("only one list at a time; unexpected second word: " + words[most]);
  const auto* topic = std::find_if(std::begin(kTopics), std::end(kTopics),
                                   [&](const Topic& t) { return t.name == words[0]; });
  if (topic == std::end(kTopics)) {
    throw UsageError(fmt::format("there is no list of \"{}\"; {}", words[0],
                                 scenario::suggestion(words[0], known, "expected one of")));
  }
  return *topic;
}

int list_chosen_sdks(const ListCommand& command) {
  if (command.format == "schema") {
    throw UsageError("--format=schema: sdks have no schema; keys have");
  }
  const std::string word = command.what.size() > 1 ? command.what[1] : "";
  const std::vector<std::string_view> sdks = chosen_sdks(word);
  if (sdks.empty()) {
    throw UsageError(
        fmt::format("no SDK is called \"{}\", and none is of that language or mode; {}", word,
                    scenario::suggestion(word, listed_sdks(), "there are")));
  }
  if (command.format != "table") {
    const Table table = details_of_sdks(sdks);
    report::print(command.format == "csv" ? to_csv(table) : to_json(table));
  } else if (command.details || (!word.empty() && sdks.size() == 1)) {
    report::print(report::listing_text(details_of_sdks(sdks), report::output_columns()));
  } else {
    report::print(report::listing_text(list_sdks_in_short(sdks), report::output_columns()));
  }
  return kDone;
}

}  // namespace

std::vector<std::string_view> listing_topics() {
  std::vector<std::string_view> names;
  for (const Topic& topic : kTopics) names.push_back(topic.name);
  return names;
}

namespace {

int list(const Arguments& arguments) {
  const auto command = list_options().read(arguments, kListUsage, "what", &ListCommand::what);
  if (!command) return kDone;
  const Topic& topic = find_topic(command->what);
  if (topic.name == "sdks") return list_chosen_sdks(*command);
  if (command->details) {
    throw UsageError(fmt::format("--details: {} have no more details; sdks have", topic.name));
  }
  if (command->format == "schema") {
    if (topic.name != "keys") {
      throw UsageError(fmt::format("--format=schema: {} have no schema; keys have", topic.name));
    }
    report::print(scenario::json_schema());
  } else if (command->format == "table") {
    report::print(report::listing_text(topic.make(), report::output_columns()));
  } else {
    report::print(command->format == "csv" ? to_csv(topic.make()) : to_json(topic.make()));
  }
  return kDone;
}

constexpr Command kListCommand{
    .name = "list",
    .arguments = "WHAT",
    .purpose = "print modes, sdks, defects, distributions, metrics, keys or verdicts",
    .run = list,
    .after = "check"};
RETRYSIM_COMMAND_ROW list_row = &kListCommand;

}  // namespace
}  // namespace retrysim::cli

// Retry rules in short.
//
// SPDX-License-Identifier: MIT
#include "cli/describe_rules.hpp"

#include <retrysim/presets.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace retrysim::cli {
namespace {

std::string text(Duration d) {
  if (d == Duration::max()) return "none";
  if (d == Duration::zero()) return "0";
  if (d.count() % 1'000'000'000 == 0) return fmt::format("{} s", d.count() / 1'000'000'000);
  return fmt::format("{} ms", static_cast<double>(d.count()) / 1e6);
}

/// "a / b", or "a" if both are the same.
std::string pair(const std::string& a, const std::string& b) { return a == b ? a : a + " / " + b; }

std::string text(Jitter jitter, double share) {
  if (jitter != Jitter::kProportional) return std::string(name(jitter));
  return fmt::format("{} {} %", name(jitter), share * 100);
}

}  // namespace

std::string describe_backoff(const RetryRules& rules) {
  const BackoffRules& b = rules.backoff;
  std::string result = pair(text(b.base), text(b.throttle_base));
  if (b.base > Duration::zero() || b.throttle_base > Duration::zero()) {
    result +=
        fmt::format(", x {}, cap {}, {}", b.factor, text(b.cap),
                    pair(text(b.jitter, b.jitter_share), text(b.throttle_jitter, b.jitter_share)));
  }
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
    add(fmt::format("{} % of {} in {}, and {}/s", rules.budget.share * 100, name(rules.budget.of),
                    text(rules.budget.window), rules.budget.minimum));
  } else if (rules.budget.kind == BudgetKind::kActive) {
    add(fmt::format("{} % of requests under way, at least {}", rules.budget.share * 100,
                    rules.budget.minimum));
  }
  if (rules.budget.kind == BudgetKind::kInterval) {
    add(fmt::format("{} % of attempts in {}, at least {}, under way", rules.budget.share * 100,
                    text(rules.budget.window), rules.budget.minimum));
  }
  if (rules.breaker.enabled) {
    add(fmt::format("open above {} % failures of {} in {}", rules.breaker.failure_share * 100,
                    rules.breaker.min_attempts, text(rules.breaker.window)));
  }
  return result.empty() ? "-" : result;
}

std::string describe_versions(std::string_view sdk) {
  std::string result;
  for (const TurningPoint& p : turning_points(sdk)) {
    result.append(result.empty() ? "" : ", ").append(p.version);
  }
  return result.empty() ? "-" : result;
}

std::string version_note(const LoadedScenario& loaded) {
  std::map<std::string_view, std::string_view> values;  // of the keys that tell
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
    const TurningPoint* found = nullptr;
    for (const TurningPoint& p : turning_points(sdk)) {
      if (p.revision == "2.1" && (found == nullptr || found->revision.empty())) found = &p;
      if (found == nullptr && p.revisions.find("2.1") != p.revisions.npos) found = &p;
    }
    if (found == nullptr) continue;
    from += from.empty() ? "" : ", ";
    from += fmt::format("{} {}", sdk, found->version);
    if (found->revision != "2.1") from += " (with AWS_NEW_RETRIES_2026)";
    const auto points = turning_points(sdk);
    const auto only = std::ranges::find(points, "2.1", &TurningPoint::revisions);
    if (only != points.end() && &*only != found) {
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
  return fmt::format("{} / {} / {}", time(d->attempt_timeout), time(d->connect_timeout),
                     connections);
}

}  // namespace retrysim::cli

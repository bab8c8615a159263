// SPDX-License-Identifier: MIT
#include "scenario/throttle_limits.hpp"

#include "scenario/suggestions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace retrysim::scenario {
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

/// The number that a key is named by, if it is one.
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
  t.problems.add(place, path + " lets " + fmt::format("{:.3g}", passing) +
                            " attempts pass in a window of " + to_text(window) +
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

}  // namespace retrysim::scenario

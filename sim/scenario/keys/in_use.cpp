// Going through the tables of a finished scenario, key by key.
//
// SPDX-License-Identifier: MIT
#include "scenario/keys/in_use.hpp"

#include "kernel/stop.hpp"
#include "scenario/text/names.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

std::string KeyInUse::path() const {
  std::string path = table();
  if (!path.empty()) path += '.';
  const std::string_view name = key().name;
  return path.append(name.substr(0, name.find(".*")));
}

std::string_view KeyInUse::word() const {
  const KeyInfo& info = key();
  if (info.access.word == nullptr) return "";
  const std::vector<std::string_view> words = split_words(info.access.words);
  const std::size_t at = info.access.word(slots);
  return at < words.size() ? words[at] : "";
}

std::string KeyInUse::thing() const {
  const KeyInfo& info = key();
  if (info.thing.empty()) return fmt::format("{} ({})", info.name, info.meaning);
  const std::vector<std::string_view> things = split_words(info.thing);
  if (things.size() == 1) return std::string(info.thing);
  return std::string(things[std::min(info.access.word(slots), things.size() - 1)]);
}

namespace {

/// Whether a key only says when and how to try again, so that clients with one attempt do not use
/// it. A limiter and a client-side throttle hold up first attempts as well.
bool concerns_retries_alone(const KeyInfo& key) {
  if (key.name == "unrepeatable") return true;
  return key.role == KeyRole::kPresetRule && !key.name.starts_with("retry.rate_limit.") &&
         !key.name.starts_with("retry.client_throttle.");
}

class KeysInUse {
 public:
  KeysInUse(const Scenario& scenario, std::size_t service,
            const std::function<bool(const KeyInUse&)>& found)
      : scenario_(scenario), service_(service), found_(found) {}

  bool all() const {
    const std::size_t s = service_;
    const ServiceSpec& spec = scenario_.services[s];
    const std::string path = "service." + spec.name;
    if (!table("", FilledSlots(&scenario_), [] { return std::string(); })) return false;
    const FilledSlots slots(&spec, &spec.errors, &spec.errors_at);
    if (!table("service.*", slots, [&] { return path; })) return false;
    for (const bool of_keys : {false, true}) {
      const std::string kind = of_keys ? ".throttle.key." : ".throttle.operation.";
      for (const ThrottleLimit& limit : of_keys ? spec.throttle.keys : spec.throttle.operations) {
        const auto its_path = [&] { return path + kind + limit.name; };
        if (!table("service.*" + kind + "*", FilledSlots(&limit), its_path)) return false;
      }
    }
    for (const PartitionSpec& p : spec.concurrency.partitions) {
      const auto its_path = [&] { return path + ".concurrency.partitions." + p.name; };
      if (!table("service.*.concurrency.partitions.*", FilledSlots(&p), its_path)) return false;
    }
    static const FaultChance kNoChance{};
    const auto fault = [&](const FaultSpec& f, const FaultChance& chance) {
      if (f.service != s) return true;
      const FilledSlots of_fault(&f, &chance, &f.errors, &f.errors_at);
      return table("fault.*", of_fault, [&] { return "fault." + f.name; });
    };
    for (const FaultSpec& f : scenario_.faults) {
      if (!fault(f, kNoChance)) return false;
    }
    // What a draw has made of them is among the faults.
    for (const RandomFault& f : scenario_.random_faults) {
      if (scenario_.fault_draw == 0 && !fault(f.fault, f.chance)) return false;
    }
    return std::ranges::all_of(scenario_.clients, [&](const ClientSpec& c) {
      return share_of_calls(c, s) <= 0 || client(c);
    });
  }

 private:
  template <class Path>
  bool table(std::string_view pattern, const FilledSlots& slots, Path path) const {
    const KeyScope& scope = key_scope(pattern);
    const ClientSpec* const client = slots.find<ClientSpec>();
    const bool once = client != nullptr && client->retry.max_attempts <= 1;
    const std::function<std::string()> its_path = path;
    for (std::size_t i = 0; i < scope.keys.size(); ++i) {
      const KeyInfo& key = scope.keys[i];
      if (key.access.in_use == nullptr || !key.access.in_use(slots)) continue;
      if (once && concerns_retries_alone(key)) continue;
      if (!found_({scope, i, slots, its_path})) return false;
    }
    return true;
  }

  bool client(const ClientSpec& c) const {
    stop_point();  // there may be many clients
    const auto path = [&] { return path_of(c); };
    static const CallSpec kPlain{};
    const CallSpec* call = &kPlain;
    if (c.makes_calls()) {
      const auto group = static_cast<std::size_t>(&c - scenario_.clients.data());
      const auto its = std::ranges::find(scenario_.calls, group, &CallSpec::client);
      if (its != scenario_.calls.end()) call = &*its;
    }
    const FilledSlots slots(&c, &c.retry, call);
    if (!table(c.makes_calls() ? "service.*.calls.*" : "client.*", slots, path)) return false;
    for (const SurgeSpec& surge : c.arrivals.surges) {
      const auto its_path = [&] { return path_of(c) + ".surge." + surge.name; };
      if (!table("client.*.surge.*", FilledSlots(&surge), its_path)) return false;
    }
    for (const OperationSpec& operation : c.operations) {
      const auto its_path = [&] { return path_of(c) + ".operation." + operation.name; };
      if (!table("client.*.operation.*", FilledSlots(&operation), its_path)) return false;
    }
    return true;
  }

  const Scenario& scenario_;
  std::size_t service_;
  const std::function<bool(const KeyInUse&)>& found_;
};

}  // namespace

void each_key_in_use(const Scenario& scenario, std::size_t service,
                     const std::function<bool(const KeyInUse&)>& found) {
  KeysInUse(scenario, service, found).all();
}

}  // namespace retrysim::scenario

// SPDX-License-Identifier: MIT
#include "scenario/client_defaults.hpp"

#include <retrysim/presets.hpp>

#include "scenario/suggestions.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {
namespace {

// The SDK that is named, also where mode "none" lets it have no effect, or the usual one.
std::string sdk_of(const KeyResolution& keys) {
  const Node* sdk = keys.find("retry.sdk");
  if (sdk != nullptr && sdk->is_text()) return sdk->text;
  return keys.text_of("retry.mode") == "custom" ? "" : "botocore";
}

std::string known_sdks() {
  std::vector<std::string_view> known;
  for (const ClientDefaults& d : client_defaults()) known.push_back(d.sdk);
  return joined(known);
}

// The resolved scenario says the number, so that it stays what it is.
void write_out(Tables& t, const std::string& path, const std::string& toml, std::string_view sdk) {
  const auto at = std::find_if(t.loaded.keys.rbegin(), t.loaded.keys.rend(),
                               [&](const ResolvedKey& k) { return k.path == path; });
  if (at == t.loaded.keys.rend()) return;
  at->toml = toml;
  at->origin_detail +=
      (at->origin_detail.empty() ? "" : ", ") + std::string("default of ") + std::string(sdk);
}

std::string toml_of_time(Duration time) {
  return render_text(time == Duration::max() ? "none" : to_text(time));
}

}  // namespace

void apply_client_defaults(Tables& t, const KeyResolution& keys, ClientSpec& spec) {
  for (const std::string_view key : {"attempt_timeout", "connect_timeout", "max_connections"}) {
    if (keys.text_of(key) != kAsTheSdk) continue;
    const std::string sdk = sdk_of(keys);
    const ClientDefaults* defaults = find_client_defaults(sdk);
    if (defaults == nullptr) {
      t.problems.add(keys.place_of(key),
                     keys.full_path(key) + " = \"sdk\": " +
                         (sdk.empty() ? std::string("there is no retry.sdk")
                                      : "the defaults of " + in_quotes(sdk) + " are not known") +
                         "; known are those of " + known_sdks());
      continue;
    }
    std::string toml;
    if (key == "attempt_timeout") {
      spec.timeouts.has_attempt = defaults->attempt_timeout != Duration::max();
      if (spec.timeouts.has_attempt) {
        spec.timeouts.attempt = Distribution::constant(defaults->attempt_timeout);
      }
      toml = toml_of_time(defaults->attempt_timeout);
    } else if (key == "connect_timeout") {
      spec.timeouts.connect = defaults->connect_timeout;
      toml = toml_of_time(defaults->connect_timeout);
    } else {
      spec.max_connections = defaults->max_connections;
      toml = defaults->max_connections == ClientSpec::kUnlimited
                 ? render_text("unlimited")
                 : std::to_string(defaults->max_connections);
    }
    write_out(t, keys.full_path(key), toml, defaults->sdk);
  }
}

}  // namespace retrysim::scenario

// Timeouts and connection pools of the SDKs' clients, and the names of what is built on an SDK. A
// timeout that restarts with every part of an answer is one on the whole attempt here, because
// answers arrive whole.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>

#include <algorithm>

namespace retrysim {
namespace {

constexpr Duration kNever = Duration::max();
constexpr std::uint32_t kAny = RetryRules::kUnlimited;
constexpr Duration s(int n) { return Duration::seconds(n); }
constexpr Duration ms(int n) { return Duration::milliseconds(n); }

constexpr ClientDefaults kDefaults[] = {
    {"botocore", s(60), s(60), 10, "botocore httpsession.py, endpoint.py (1.29.27 and 1.43.11)"},
    {"java-v1", s(50), s(10), 50, "aws-sdk-java ClientConfiguration.java"},
    {"java-v2", s(30), s(2), 50, "aws-sdk-java-v2 SdkHttpConfigurationOption.java"},
    {"js-v3", kNever, kNever, 50, "smithy-typescript node-http-handler.ts (6815d3e, August 2026)"},
    {"cpp", s(3), s(1), 25, "aws-sdk-cpp ClientConfiguration.cpp"},
    {"ruby", s(60), s(15), kAny, "aws-sdk-ruby seahorse/client/plugins/net_http.rb (core 3.168.1)"},
    {"go-v2", kNever, s(30), 2048, "aws-sdk-go-v2 aws/transport/http/client.go (7eb5996)"},
    {"rust", kNever, ms(3100), kAny,
     "smithy-rs aws-smithy-runtime/src/client/defaults.rs (56ee88c, August 2026)"},
    {"kotlin", s(30), s(2), 16, "smithy-kotlin HttpClientEngineConfig.kt (1a9709f)"},
};

}  // namespace

std::string_view canonical_sdk(std::string_view sdk) {
  if (sdk == "boto3" || sdk == "cli" || sdk == "aws-cli") return "botocore";
  return sdk == "powershell" ? "dotnet" : sdk;
}

std::span<const ClientDefaults> client_defaults() { return kDefaults; }

const ClientDefaults* find_client_defaults(std::string_view sdk) {
  const auto at = std::ranges::find(kDefaults, canonical_sdk(sdk), &ClientDefaults::sdk);
  return at == std::end(kDefaults) ? nullptr : at;
}

}  // namespace retrysim

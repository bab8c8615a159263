// Timeouts and connection pools of the SDKs' clients, and the names of software built on an SDK. A
// timeout that restarts with every part of an answer limits the whole attempt here, because answers
// arrive whole.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <algorithm>

namespace retrysim {
namespace {

constexpr Duration kNever = Duration::max();
constexpr std::uint32_t kAny = RetryRules::kUnlimited;
constexpr Duration s(int n) { return Duration::seconds(n); }
constexpr Duration ms(int n) { return Duration::milliseconds(n); }

constexpr ClientDefaults kDefaults[] = {
    {"botocore", s(60), s(60), 10, "botocore httpsession.py, endpoint.py (1.29.27 and 1.43.11)"},
    {"java-v1", s(50), s(10), 50, "aws-sdk-java ClientConfiguration.java (ea9b5e3)"},
    // The wait for a connection is CONNECTION_ACQUIRE_TIMEOUT.
    {"java-v2", s(30), s(2), 50, "aws-sdk-java-v2 SdkHttpConfigurationOption.java", s(10)},
    // config.js has no connect timeout; http/node.js has the limit, for HTTPS.
    {"js-v2", s(120), kNever, 50, "aws-sdk lib/config.js, lib/http/node.js (2.1693.0)"},
    {"js-v3", kNever, kNever, 50, "smithy-typescript node-http-handler.ts (6815d3e, August 2026)"},
    {"cpp", s(3), s(1), 25, "aws-sdk-cpp ClientConfiguration.cpp (04545bb)"},
    {"ruby", s(60), s(15), kAny, "aws-sdk-ruby seahorse/client/plugins/net_http.rb (core 3.168.1)"},
    // http.DefaultClient of Go, whose transport has a dialer with a timeout.
    {"go-v1", kNever, s(30), kAny,
     "aws-sdk-go aws/defaults/defaults.go (1.44.133), Go 1.19 net/http"},
    {"go-v2", kNever, s(30), 2048, "aws-sdk-go-v2 aws/transport/http/client.go (7eb5996)"},
    {"rust", kNever, ms(3100), kAny,
     "smithy-rs aws-smithy-runtime/src/client/defaults.rs (56ee88c, August 2026)"},
    // Nothing is set, so that the timeout is that of .NET's HttpClient, which the source quotes.
    {"dotnet", s(100), kNever, kAny,
     "aws-sdk-net HttpRequestMessageFactory.cs (13bd83e), DefaultConfigurationProvider.cs "
     "(59c8df1)"},
    // The SDK sets nothing, so that Guzzle's settings of curl hold.
    {"php", kNever, s(300), kAny,
     "aws-sdk-php ClientResolver.php (01911a4), guzzle CurlFactory.php (2779e86)"},
    // The client for S3: a connection that brings nothing for 30 s is given up, and one connection
    // is opened for each 0.4 Gbit/s of 10.
    {"c-io", s(30), s(3), 25, "aws-c-s3 s3_client.c, s3_endpoint.c (226c3e6, August 2026)"},
    // The 50 connections are those of macOS and Linux; on other Apple platforms there are 6.
    {"swift", s(60), kNever, 50, "smithy-swift HttpClientConfiguration.swift (0.246.0, d55aa01)"},
    // smithy-python sets nothing, so that aiohttp's settings hold. Services with streams of events
    // have another client, which waits for ever.
    {"smithy-python", s(300), s(30), 100,
     "smithy-python smithy_http/aio/aiohttp.py (6924bc5), aiohttp client.py, connector.py (3.11)"},
    {"kotlin", s(30), s(2), 16, "smithy-kotlin HttpClientEngineConfig.kt (1a9709f)"},
};

}  // namespace

std::string_view canonical_sdk(std::string_view sdk) {
  sdk = sdk.substr(0, sdk.find('@'));
  if (sdk == "boto3" || sdk == "cli" || sdk == "aws-cli") return "botocore";
  if (sdk == "smithy-core") return "js-v3";
  if (sdk == "smithy-kotlin") return "kotlin";
  if (sdk == "circuit-breaker") return "retry-breaker";  // an earlier name
  return sdk == "powershell" ? "dotnet" : sdk;
}

std::span<const ClientDefaults> client_defaults() { return kDefaults; }

const ClientDefaults* find_client_defaults(std::string_view sdk) {
  const auto at = std::ranges::find(kDefaults, canonical_sdk(sdk), &ClientDefaults::sdk);
  return at == std::end(kDefaults) ? nullptr : at;
}

}  // namespace retrysim

// gRPC: the service config, with a policy for each of its methods.
//
// gRFC A6; grpc/service_config/service_config.proto.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <utility>

namespace retrysim::imports {

namespace {

void read_retry_throttling(ImportedPolicy& p, const Field& throttling) {
  if (!throttling) {
    set(p, "retry.quota.capacity", text_in_toml("unlimited"),
        "without retryThrottling there is no limit");
    return;
  }
  throttling.block();
  const Field most = throttling["max_tokens"], ratio = throttling["token_ratio"];
  if (!most || !ratio) throttling.fail("expected maxTokens and tokenRatio");
  const auto tokens = static_cast<double>(most.count());
  set(p, "retry.quota.capacity", in_toml(tokens), most);
  set(p, "retry.quota.initial", in_toml(tokens), most);
  set(p, "retry.quota.threshold", in_toml(std::floor(tokens / 2)), "half of maxTokens (gRFC A6)");
  if (most.count() % 2 != 0) {
    most.leave_in_part("half of it, the least number of tokens for a retry, is rounded down");
  }
  set(p, "retry.quota.credit", in_toml(ratio.number(0, 1e9)), ratio);
}

/// A method as the name of a group: Stock-Get for "shop.v1.Stock", "Get".
std::string method_name(const Field& name) {
  const Field service = name["service"], method = name["method"];
  std::string text = service ? service.text() : "";
  while (!text.empty() && text.back() == '.') text.pop_back();
  if (const std::size_t dot = text.rfind('.'); dot != std::string::npos) text.erase(0, dot + 1);
  if (method) text += (text.empty() ? "" : "-") + method.text();
  return text;
}

/// The errors that a status code of gRPC stands for: its HTTP status by google/rpc/code.proto, and
/// failures without an answer. Empty for an unknown code.
std::vector<std::string> errors_of_grpc(const std::string& code) {
  struct Code {
    std::string_view name, number;
    std::vector<std::string> errors;
  };
  static const std::vector<Code> kCodes = {
      {"cancelled", "1", {"499"}},          {"unknown", "2", {"500"}},
      {"invalidargument", "3", {"400"}},    {"deadlineexceeded", "4", {"504", "timeout"}},
      {"notfound", "5", {"404"}},           {"alreadyexists", "6", {"409"}},
      {"permissiondenied", "7", {"403"}},   {"resourceexhausted", "8", {"429"}},
      {"failedprecondition", "9", {"400"}}, {"aborted", "10", {"409"}},
      {"outofrange", "11", {"400"}},        {"unimplemented", "12", {"501"}},
      {"internal", "13", {"500"}},          {"unavailable", "14", {"503", "connection"}},
      {"dataloss", "15", {"500"}},          {"unauthenticated", "16", {"401"}},
  };
  const std::string plain = plain_name(code);
  for (const Code& c : kCodes) {
    if (c.name == plain || c.number == plain) return c.errors;
  }
  return {};
}

void read_policy(ImportedPolicy& p, const Field& retry, const Field& hedging) {
  const Field policy = retry ? retry : hedging;
  begin(p, "grpc", "gRPC");
  const Field most = policy["max_attempts"];
  if (!most) policy.fail("expected maxAttempts");
  constexpr std::int64_t kGrpcsMost = 5;
  if (most.count() < 2) most.fail("gRPC expects at least 2");
  set(p, "retry.max_attempts", in_toml(static_cast<double>(std::min(most.count(), kGrpcsMost))),
      most.count() > kGrpcsMost ? most.path() + ", of which gRPC makes 5" : most.path());
  if (retry) {
    const Field first = retry["initial_backoff"], cap = retry["max_backoff"],
                factor = retry["backoff_multiplier"];
    if (!first || !cap || !factor)
      retry.fail("expected initialBackoff, maxBackoff and backoffMultiplier");
    for (const Field& time : {first, cap}) {
      if (time.duration() <= Duration::zero()) time.fail("gRPC expects a duration above zero");
    }
    set(p, "retry.backoff.base", in_toml(first.duration()), first);
    set(p, "retry.backoff.throttle_base", in_toml(first.duration()), first);
    set(p, "retry.backoff.cap", in_toml(cap.duration()), cap);
    set(p, "retry.backoff.factor", in_toml(factor.number(1e-9, 1e9)), factor);
    set_timeout(p, "attempt_timeout", retry["per_attempt_recv_timeout"]);
  } else {
    const Field delay = hedging["hedging_delay"];
    set(p, "retry.hedging.delay", in_toml(delay ? delay.duration() : Duration::zero()),
        delay ? delay.path() : "gRPC's default: at once");
    hedging["non_fatal_status_codes"].leave(std::string(kRetriedHere));
  }
  if (const Field codes = policy["retryable_status_codes"]; codes) {
    std::vector<std::string> errors;
    for (const std::string& code : codes.words()) {
      const std::vector<std::string> its = errors_of_grpc(code);
      if (its.empty()) codes.fail(fmt::format("gRPC has no status code {}", code));
      errors.insert(errors.end(), its.begin(), its.end());
    }
    set_errors(p, errors, codes.path());
  }
}

}  // namespace

void import_grpc(const Documents& documents, Reading&, ImportedConfiguration& result) {
  std::vector<std::pair<Field, BadConfiguration>> bad;  // policies that gRPC would refuse
  for (const Field& d : documents) {
    const Field throttling = d["retry_throttling"].map();
    for (const Field& config : d["method_config"].list().items()) {
      const Field retry = config["retry_policy"].map(), hedging = config["hedging_policy"].map();
      if (!retry && !hedging) continue;
      config.block();
      std::string name;
      bool is_first = true;
      for (const Field& n : config["name"].list().items()) {
        if (!std::exchange(is_first, false)) {
          n.leave("the client group stands for all of these methods, with the name of the first");
          continue;
        }
        if (n.map().members().empty()) n.use();
        name = method_name(n);
      }
      ImportedPolicy p = new_policy(group_name(name), config.path());
      try {
        read_policy(p, retry, hedging);
      } catch (const BadConfiguration& error) {
        bad.emplace_back(retry ? retry : hedging, error);
        continue;
      }
      read_retry_throttling(p, throttling);
      if (const Field f = config["timeout"]; f) set(p, "deadline", in_toml(f.duration()), f);
      config["wait_for_ready"].leave("connections are there or refused");
      result.policies.push_back(std::move(p));
    }
  }
  if (result.policies.empty() && !bad.empty()) throw BadConfiguration(bad.front().second);
  for (const auto& [policy, error] : bad) {
    std::string what = error.diagnostic().message;
    const std::string own = policy.path() + " is wrong; ";
    if (what.starts_with(own)) what.erase(0, own.size());
    policy.leave(what + "; gRPC refuses the whole file for it (gRFC A21)");
  }
}

}  // namespace retrysim::imports

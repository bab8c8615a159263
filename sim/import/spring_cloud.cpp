// Spring Cloud: the filters Retry and CircuitBreaker of the Gateway's routes, the clients of
// OpenFeign, and the limits of Resilience4j beside them.
//
// spring-cloud-gateway RetryGatewayFilterFactory: 3 retries of GET after any 5xx, an IOException or
// a timeout, at once unless there is a backoff of 5 ms and a factor of 2. HttpClientProperties: no
// time limits. On servlets, server.mvc.filter.GatewayRetryFilterFunctions gives the same number to
// Spring Retry's SimpleRetryPolicy, which counts attempts; its delays end at 30 s
// (ExponentialBackOffPolicy). HttpClientFactory: a pool has a limit only if it is FIXED; attempts
// wait for a connection in a line without an end. Filters of one place in the two lists: the
// default one is outside (RouteDefinitionRouteLocator). spring-cloud-openfeign
// FeignClientsConfiguration: Retryer.NEVER_RETRY; feign's Request.Options: 10 s to connect, 60 s to
// read; Retryer.Default: 5 attempts, 150 ms (100 ms times 1.5 to the number of the retry) times 1.5
// up to 1 s, after an IOException, or an answer with Retry-After (ErrorDecoder.Default).
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"
#include "import/resilience4j.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::imports {

namespace {

/// Sets a timeout from a number of milliseconds, or a duration with its unit.
void set_timeout_ms(ImportedPolicy& p, std::string_view key, const Field& from) {
  if (from) set(p, key, in_toml(from.spring_duration()), from);
}

// --- Gateway -------------------------------------------------------------------------------------

/// A status in the form of `retry.on`, from its name or number in Spring; empty if it is no status.
std::optional<std::string> status_of(const std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"badrequest", "400"},
      {"unauthorized", "401"},
      {"forbidden", "403"},
      {"notfound", "404"},
      {"methodnotallowed", "405"},
      {"requesttimeout", "408"},
      {"conflict", "409"},
      {"gone", "410"},
      {"preconditionfailed", "412"},
      {"payloadtoolarge", "413"},
      {"contenttoolarge", "413"},
      {"unprocessableentity", "422"},
      {"unprocessablecontent", "422"},
      {"locked", "423"},
      {"faileddependency", "424"},
      {"tooearly", "425"},
      {"toomanyrequests", "429"},
      {"internalservererror", "500"},
      {"notimplemented", "501"},
      {"badgateway", "502"},
      {"serviceunavailable", "503"},
      {"gatewaytimeout", "504"},
      {"insufficientstorage", "507"},
      {"bandwidthlimitexceeded", "509"}};
  const std::string plain = plain_name(word);
  for (const auto& [name, number] : kNames) {
    if (plain == name) return std::string(number);
  }
  const std::optional<double> number = number_in(word);
  if (number && *number >= 400 && *number < 600) return word;
  return std::nullopt;
}
std::optional<std::string> series_of(const std::string& word) {
  const std::string plain = plain_name(word);
  if (plain == "clienterror" || plain == "4") return "4xx";
  if (plain == "servererror" || plain == "5") return "5xx";
  return std::nullopt;
}

/// The statuses that are retried: listed ones, and those of listed series. By default the series of
/// server errors is listed, even beside a list of statuses.
class RetriedStatuses {
 public:
  void add(const Field& list, const std::vector<std::string>& words,
           std::optional<std::string> (*read)(const std::string&)) {
    std::string others;
    for (const std::string& word : words) {
      if (const auto error = read(word)) {
        errors_.push_back(*error);
      } else {
        others += (others.empty() ? "" : ", ") + word;
      }
    }
    if (!others.empty()) list.leave_in_part("no error here: " + others);
  }
  void add_series() { errors_.insert(errors_.begin(), "5xx"); }
  void set_in(ImportedPolicy& p, const std::string& source) {
    errors_.insert(errors_.end(), {"timeout", "connection"});
    set_errors(p, errors_, source);
  }

 private:
  std::vector<std::string> errors_;
};

void read_statuses(ImportedPolicy& p, const Field& args) {
  const Field statuses = args["statuses"], series = args["series"];
  RetriedStatuses all;
  if (statuses) all.add(statuses, statuses.words(), status_of);
  if (series) {
    all.add(series, series.words(), series_of);
  } else {
    all.add_series();
  }
  all.set_in(p, statuses || series ? paths({statuses, series}) : "the filter's default");
}

/// The kind of server on which the Gateway runs.
enum class Server : std::uint8_t { kWebFlux, kServlets };

/// Sets the retries from the filter's number: of retries, or, on servlets, of attempts.
void set_retries(ImportedPolicy& p, std::int64_t number, const std::string& source, Server server,
                 const Field& field) {
  if (server == Server::kWebFlux) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(number)), source);
    return;
  }
  set(p, "retry.max_attempts", in_toml(static_cast<double>(std::max<std::int64_t>(1, number))),
      source);
  field.leave_in_part(
      "on servlets it counts attempts; without Spring Retry on the class path there is one more, "
      "and without a backoff 1s between them");
}

void read_filter(ImportedPolicy& p, const Field& args, Server server) {
  begin(p, "", "");
  const Field retries = args["retries"], backoff = args["backoff"].map(),
              jitter = args["jitter"].map();
  set_retries(p, retries ? retries.count() : 3, retries ? retries.source() : "the filter's default",
              server, retries);
  read_statuses(p, args);
  if (backoff) {
    const Field first = backoff["first_backoff"], most = backoff["max_backoff"],
                factor = backoff["factor"];
    set_backoff(p, first ? first.spring_duration() : Duration::milliseconds(5),
                factor ? factor.number(1, 1e6) : 2,
                most                          ? std::optional(most.spring_duration())
                : server == Server::kServlets ? std::optional(Duration::seconds(30))
                                              : std::nullopt,
                "none", first ? first.source() : "the filter's default");
    if (factor) set(p, "retry.backoff.factor", in_toml(factor.number(1, 1e6)), factor);
    if (most) set(p, "retry.backoff.cap", in_toml(most.spring_duration()), most);
    if (const Field f = jitter["random_factor"]; f && f.number(0, 1) > 0) {
      set(p, "retry.backoff.jitter", text_in_toml("proportional"), f);
      set(p, "retry.backoff.jitter_share", in_toml(f.number(0, 1)), f);
    }
    backoff["based_on_previous_value"].leave("delays follow from the number of the retry");
    if (backoff.members().empty()) backoff.use();
  } else {
    set_backoff(p, Duration::zero(), 1, std::nullopt, "none",
                "without backoff the filter retries at once");
  }
  if (const Field f = args["methods"]; f) {
    f.leave("is about the requests, not about when to retry");
  } else {
    args["methods"].leave_in_part("by default only GET is retried, here every request");
  }
  args["exceptions"].leave(
      "exceptions of Java have no counterpart; timeouts and broken connections are retried, as by "
      "default");
  if (const Field f = args["timeout"]; f) {
    f.leave("no retry begins later than that: write a deadline");
  }
}

/// Reads a filter in short form, `- Retry=3,SERVICE_UNAVAILABLE,GET,10ms,50ms,2,false`: arguments
/// by their places, the last four not on servlets.
void read_shortcut(ImportedPolicy& p, const Field& filter, Server server) {
  begin(p, "", "");
  const std::string text = filter.text();
  const std::vector<std::string> words =
      split_list(text.substr(std::min(text.find('='), text.size() - 1) + 1));
  const auto retries = words.empty() ? std::optional<double>(3) : number_in(words[0]);
  if (!retries || *retries < 0 || *retries > 1e9 ||
      *retries != static_cast<double>(static_cast<std::int64_t>(*retries))) {
    filter.fail("expected Retry=N, such as Retry=3");
  }
  set_retries(p, static_cast<std::int64_t>(*retries), filter.source(), server, filter);
  // The second word is, on servlets, a series, which replaces the default.
  RetriedStatuses all;
  const bool says_series = words.size() > 1 && server == Server::kServlets;
  if (!says_series) all.add_series();
  if (words.size() > 1) all.add(filter, {words[1]}, says_series ? series_of : status_of);
  all.set_in(p, filter.source());
  constexpr std::size_t kMethods = 2, kFirst = 3, kMost = 4, kFactor = 5;
  const auto seconds_at = [&](std::size_t place) -> std::optional<double> {
    if (words.size() <= place) return std::nullopt;
    const std::optional<double> seconds = spring_seconds_in(words[place]);
    if (!seconds || *seconds < 0 || *seconds > 1e6) {
      filter.fail("expected Retry=retries,statuses,methods,firstBackoff,maxBackoff,factor");
    }
    return seconds;
  };
  if (const std::optional<double> first = seconds_at(kFirst)) {
    const std::optional<double> most = seconds_at(kMost);
    const auto factor = words.size() > kFactor ? number_in(words[kFactor]) : 2;
    if (!factor || *factor < 1 || *factor > 1e6) filter.fail("expected a factor from 1");
    set_backoff(p, Duration::from_seconds(*first), *factor,
                most ? std::optional(Duration::from_seconds(*most)) : std::nullopt, "none",
                filter.source());
  } else {
    set_backoff(p, Duration::zero(), 1, std::nullopt, "none",
                "without backoff the filter retries at once");
  }
  if (words.size() > kMethods) {
    filter.leave_in_part("its methods are about the requests, not about when to retry");
  }
}

/// A filter of a route, and its place from the outside: that in its list, and of one place in both
/// lists the default filter first.
struct Filter {
  Field field;
  std::pair<std::size_t, bool> place;
};

/// Whether a filter has that name, in its short form, `- Retry=3`, or in its long one.
bool is_called(const Field& filter, std::string_view name) {
  const std::string_view text = filter.is_text() ? filter.plain() : filter["name"].plain();
  return (filter.is_text() ? text.substr(0, text.find('=')) : text) == name;
}

/// The first filter of that name in a list, a route's own or that of default filters.
std::optional<Filter> filter_called(std::string_view name, const Field& list, bool is_own) {
  std::size_t i = 0;
  for (const Field& filter : list.items()) {
    if (is_called(filter, name)) return Filter{filter, {i, is_own}};
    ++i;
  }
  return std::nullopt;
}

void read_retry(ImportedPolicy& p, const Field& filter, Server server) {
  if (filter.is_text()) return read_shortcut(p, filter, server);
  filter["name"].use();
  read_filter(p, filter["args"].map().block(), server);
}

/// Reads the filter CircuitBreaker, whose breaker and time limit are Resilience4j's.
void read_breaker(ImportedPolicy& p, const Field& filter, const std::string& route, bool is_outside,
                  bool is_limited, Resilience4j& limits) {
  std::string name = route;
  if (filter.is_text()) {
    const std::string text = filter.text();
    const std::vector<std::string> words =
        split_list(text.substr(std::min(text.find('='), text.size() - 1) + 1));
    if (!words.empty() && text.find('=') != std::string::npos) name = words.front();
  } else {
    filter["name"].use();
    const Field args = filter["args"].map().block();
    if (const Field own = args["name"]; own) name = own.text();
    args["fallback_uri"].leave("what answers instead: see on_failure of a call between services");
    args["status_codes"].leave("each error is a failure to the breaker here");
  }
  limits.read_filter(p, name, is_outside, is_limited);
  if (filter.is_text() || !filter.at("args.status_codes")) {
    filter.leave_in_part(
        "without statusCodes an error status is a success to the breaker there, a failure here");
  }
}

/// Reads the pool of connections, one for each service, of the Gateway on WebFlux.
void read_connections(ImportedPolicy& p, const Field& pool) {
  const Field type = pool["type"], most = pool["max_connections"], wait = pool["acquire_timeout"];
  if (!type || plain_name(type.text()) != "fixed") {
    for (const Field& f : {most, wait}) f.leave("only a pool of type FIXED has a limit");
    return;
  }
  if (!most) return wait.leave("the limit is by the number of processors: write max_connections");
  set(p, "max_connections", in_toml(static_cast<double>(most.count())), most);
  set(p, "connection_wait", in_toml(wait ? wait.spring_duration() : Duration::seconds(45)),
      wait ? wait.source() : "the Gateway's default");
}

/// Adds a policy for each route with the filter Retry or CircuitBreaker, its own or the default
/// one.
void import_gateway(const Field& gateway, Server server, bool is_limited, Resilience4j& limits,
                    std::vector<ImportedPolicy>& policies) {
  const auto set_timeouts = [&](ImportedPolicy& p, const Field& route) {
    const Field client = gateway["httpclient"], data = route["metadata"];  // or spelt http-client
    const Field response = data["response_timeout"], connect = data["connect_timeout"];
    set_timeout_ms(p, "attempt_timeout",
                   response                     ? response
                   : server == Server::kWebFlux ? client["response_timeout"]
                                                : client["read_timeout"]);
    set_timeout_ms(p, "connect_timeout", connect ? connect : client["connect_timeout"]);
    if (server == Server::kWebFlux) read_connections(p, client["pool"]);
  };
  const Field usual = gateway["default_filters"];
  const std::optional<Filter> usual_retry = filter_called("Retry", usual, false),
                              usual_breaker = filter_called("CircuitBreaker", usual, false);
  const auto leave_limiters = [](const Field& filters) {
    for (const Field& filter : filters.items()) {
      if (!is_called(filter, "RequestRateLimiter")) continue;
      filter.leave("limits those who call the Gateway, not what it sends");
    }
  };
  // Adds the policy of a route, which may be absent, so that only default filters count.
  const auto add_route = [&](const Field& route, const std::string& name, const Field& from) {
    const Field own = route["filters"];
    std::optional<Filter> retry = filter_called("Retry", own, true),
                          breaker = filter_called("CircuitBreaker", own, true);
    if (!retry) retry = usual_retry;
    if (!breaker) breaker = usual_breaker;
    if (!retry && !breaker) return;
    ImportedPolicy p = new_policy(group_name(name, "route"), from.path());
    if (retry) {
      read_retry(p, retry->field, server);
    } else {
      begin(p, "", "");
      set(p, "retry.max_attempts", "1", "the route has no filter Retry");
    }
    set_timeouts(p, route);
    if (breaker) {
      const bool is_outside = retry && breaker->place < retry->place;
      read_breaker(p, breaker->field, name, is_outside, is_limited, limits);
    }
    leave_limiters(own);
    policies.push_back(std::move(p));
  };
  std::size_t number = 0;
  for (const Field& route : gateway["routes"].items()) {
    const Field id = route["id"];
    ++number;
    add_route(route, id ? id.text() : fmt::format("route-{}", number), route);
  }
  for (const auto& [name, route] : gateway["routes_map"].members()) {
    const Field id = route["id"];
    add_route(route, id ? id.text() : name, route);
  }
  if (policies.empty()) add_route(gateway["-"], "gateway", usual);
  if (!policies.empty()) leave_limiters(usual);
}

// --- Feign ---------------------------------------------------------------------------------------

constexpr FieldRow kFeignTimeouts[] = {
    {"connect_timeout", "connect_timeout", As::kMillis, "", "\"10s\""},
    {"read_timeout", "attempt_timeout", As::kMillis, "", "\"60s\""}};

void import_feign(const Field& config, std::vector<ImportedPolicy>& policies) {
  const Field usual = config["default"];
  for (const auto& [name, client] : config.members()) {
    if (name == "default" && config.members().size() > 1) continue;
    ImportedPolicy p = new_policy(group_name(name), client.path());
    const auto setting = [&, &own = client](std::string_view key) {
      const Field f = own[key];
      return f ? f : usual[key];
    };
    begin(p, "", "");
    const Field retryer = setting("retryer");
    const std::string_view kind = retryer.plain();
    if (!retryer) {
      set(p, "retry.max_attempts", "1", "OpenFeign's default: Retryer.NEVER_RETRY");
    } else if (kind.ends_with("Retryer.Default") || kind.ends_with("Retryer$Default")) {
      set(p, "retry.max_attempts", "5", retryer);
      set_errors(p, {"timeout", "connection"}, retryer.source());
      set_backoff(p, Duration::milliseconds(150), 1.5, Duration::seconds(1), "none",
                  retryer.source());
      retryer.use();
      retryer.leave_in_part(
          "an answer with Retry-After is retried there, too, after what it suggests, at most 1s");
    } else {
      set(p, "retry.max_attempts", "1", "its retryer is code: write retry");
      retryer.leave_in_part("is a class of yours: write what it does");
      retryer.use();
    }
    read_fields(p, setting, kFeignTimeouts, "Feign");
    policies.push_back(std::move(p));
  }
}

}  // namespace

void import_spring_cloud(const Documents& documents, Reading&, ImportedConfiguration& result) {
  constexpr std::string_view kProfile = "profile ";
  std::vector<ImportedPolicy> usual;  // those without a profile
  const auto changes_nothing = [&](const ImportedPolicy& p) {
    const auto known = std::ranges::find(usual, p.name, &ImportedPolicy::name);
    return known != usual.end() &&
           std::ranges::equal(known->keys, p.keys, [](const ImportedKey& a, const ImportedKey& b) {
             return a.path == b.path && a.value == b.value;
           });
  };
  for (const Field& d : documents) {
    const std::string profile =
        d.path().starts_with(kProfile) ? d.path().substr(kProfile.size()) : "";
    std::vector<ImportedPolicy> policies;
    const Field gateway = d.at("spring.cloud.gateway");
    const Field unlimited = d.at("spring.cloud.circuitbreaker.resilience4j.disable_time_limiter");
    const bool is_limited = !unlimited || !unlimited.flag();
    Resilience4j limits(d);
    // Since 2025.0 the names begin with the kind of server; before, with "mvc" or nothing.
    const Field webflux = gateway.at("server.webflux"), servlets = gateway.at("server.webmvc");
    import_gateway(webflux ? webflux : gateway, Server::kWebFlux, is_limited, limits, policies);
    import_gateway(servlets ? servlets : gateway["mvc"], Server::kServlets, is_limited, limits,
                   policies);
    const auto of_feign = [&](const std::string& path) {
      const Field now = d.at("spring.cloud.openfeign." + path);
      return now ? now : d.at("feign." + path);
    };
    import_feign(of_feign("client.config"), policies);
    if (const Field breakers = of_feign("circuitbreaker.enabled");
        breakers && !policies.empty() && breakers.flag()) {
      breakers.leave_in_part(
          "each method has a breaker of its own around its retries: write breaker");
    }
    // A file without routes and clients is one of Resilience4j.
    if (!policies.empty()) limits.add_policies("", policies);
    if (profile.empty()) usual.insert(usual.end(), policies.begin(), policies.end());
    for (ImportedPolicy& p : policies) {
      if (!profile.empty() && changes_nothing(p)) continue;
      if (!profile.empty()) p.name = group_name(p.name + "-" + profile);
      result.policies.push_back(std::move(p));
    }
  }
}

}  // namespace retrysim::imports

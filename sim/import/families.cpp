// The table of families, and the steps for each: read the text, translate it, list what is left.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"

#include <retrysim/scenario.hpp>

#include "import/envoy.hpp"
#include "import/spring.hpp"
#include "import/tree.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/scenario_writer.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace retrysim::imports {

// These functions are in the files of their names.
void import_istio(const Documents&, Reading&, ImportedConfiguration&);
void import_gateway_api(const Documents&, Reading&, ImportedConfiguration&);
void import_linkerd(const Documents&, Reading&, ImportedConfiguration&);
void import_grpc(const Documents&, Reading&, ImportedConfiguration&);
void import_resilience4j(const Documents&, Reading&, ImportedConfiguration&);
void import_polly(const Documents&, Reading&, ImportedConfiguration&);
void import_spring_cloud(const Documents&, Reading&, ImportedConfiguration&);
void import_hystrix(const Documents&, Reading&, ImportedConfiguration&);
void import_client_go(const Documents&, Reading&, ImportedConfiguration&);
void import_aws(const std::string&, Reading&, ImportedConfiguration&);
void import_finagle(const Documents&, Reading&, ImportedConfiguration&);
void import_tower(const Documents&, Reading&, ImportedConfiguration&);
void import_tenacity(const Documents&, Reading&, ImportedConfiguration&);
void import_urllib3(const Documents&, Reading&, ImportedConfiguration&);

namespace {

// The families. In a text, the first family with a mark there counts, if it can read it.
constexpr Family kFamilies[] = {
    {{"envoy", "routes and clusters, or one retry policy"},
     "a retry_policy or hedge_policy of a route or virtual host, or one retry policy",
     "retry_policy retry_on circuit_breakers virtual_hosts ClustersConfigDump",
     import_envoy},
    {{"istio", "VirtualService, DestinationRule, proxy-config"},
     "a VirtualService with http routes, a DestinationRule with a connectionPool or a retryBudget, "
     "a mesh's defaultHttpRetryPolicy, or istioctl proxy-config",
     "VirtualService DestinationRule defaultHttpRetryPolicy outbound|",
     import_istio},
    {{"gateway-api", "HTTPRoute, budgets of GEP-3388, Envoy Gateway's policies"},
     "retry or timeouts in a rule of an HTTPRoute or GRPCRoute, a retryConstraint, or a "
     "BackendTrafficPolicy with retry, timeout or circuitBreaker",
     "HTTPRoute GRPCRoute BackendTrafficPolicy retryConstraint",
     import_gateway_api},
    {{"linkerd", "annotations of a Service or route, ServiceProfile"},
     "annotations retry.linkerd.io/... or timeout.linkerd.io/..., or a ServiceProfile with a "
     "retryBudget, isRetryable or timeout",
     "retry.linkerd.io timeout.linkerd.io ServiceProfile",
     import_linkerd},
    {{"grpc", "a service config"},
     "a service config: methodConfig with a retryPolicy or hedgingPolicy",
     "methodConfig",
     import_grpc},
    {{"spring-cloud", "routes of the Gateway with Retry, clients of OpenFeign"},
     "the filter Retry or CircuitBreaker in routes or default-filters of spring.cloud.gateway, or "
     "spring.cloud.openfeign.client.config",
     "gateway openfeign feign",
     import_spring_cloud,
     Syntax::kSpring},
    {{"resilience4j", "application.yml or .properties of Spring Boot"},
     "instances or configs below resilience4j.retry or circuitbreaker, or instances of bulkhead, "
     "thread-pool-bulkhead or ratelimiter",
     "resilience4j",
     import_resilience4j,
     Syntax::kSpring},
    {{"hystrix", "commands and thread pools of its properties"},
     "commands below hystrix.command",
     "hystrix",
     import_hystrix,
     Syntax::kSpring},
    {{"polly", "options of Polly 8, or of the standard HTTP handler"},
     "MaxRetryAttempts, or Retry with options of Polly 8",
     "MaxRetryAttempts BackoffType \"Retry\"",
     import_polly,
     Syntax::kComments},
    {{"aws", "the shared config file, or AWS_... variables"},
     "retry_mode or max_attempts of a profile, AWS_RETRY_MODE or AWS_MAX_ATTEMPTS; without them "
     "the SDK's defaults hold (retrysim list sdks)",
     "AWS_ retry_mode max_attempts aws.retryMode",
     nullptr,
     Syntax::kYaml,
     import_aws},
    {{"finagle", "parameters of RetryBudget, Backoff and MethodBuilder"},
     "parameters of RetryBudget, Backoff and MethodBuilder",
     "",
     import_finagle},
    {{"tower", "parameters of TpsBudget and ExponentialBackoffMaker"},
     "parameters of TpsBudget and ExponentialBackoffMaker",
     "",
     import_tower},
    {{"tenacity", "stop and wait parameters"}, "stop and wait parameters", "", import_tenacity},
    {{"urllib3", "parameters of Retry, also of requests"},
     "parameters of Retry",
     "",
     import_urllib3},
    {{"client-go", "parameters of wait.Backoff"},
     "parameters of wait.Backoff",
     "",
     import_client_go},
};

/// Whether the text contains one of the marks, which are separated by blanks.
bool has_mark(std::string_view marks, const std::string& text) {
  for (std::string_view rest = marks; !rest.empty();) {
    const std::string_view mark = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(mark.size() + 1, rest.size()));
    if (text.find(mark) != std::string::npos) return true;
  }
  return false;
}

/// Software with rules for retries that is not imported, and the marks of its files.
struct Stranger {
  std::string_view name, marks;
};
constexpr Stranger kStrangers[] = {
    {"nginx", "proxy_next_upstream proxy_pass"},
    {"HAProxy", "redispatch retry-on"},
    {"Traefik", "traefik.io/ traefik.containo.us/ middlewares: [http.middlewares."},
    {"Kong", "_format_version konghq.com"},
};

/// Makes the names of policies different: a scenario cannot have two groups of one name.
void make_names_unique(std::vector<ImportedPolicy>& policies) {
  std::set<std::string> taken;
  std::map<std::string, int> next;  // next number behind each taken name
  for (ImportedPolicy& p : policies) {
    const std::string wanted = p.name;
    int& n = next.try_emplace(wanted, 2).first->second;
    while (!taken.insert(p.name).second) p.name = fmt::format("{}-{}", wanted, n++);
  }
}

/// Adds a document; in place of a list of Kubernetes, or of a map of such lists, the objects in it.
void add_objects(const Field& document, Documents& documents) {
  const std::size_t before = documents.size();
  const auto add_items = [&](const Field& list) {
    for (const Field& item : list.items()) {
      if (item["kind"].is_text()) documents.push_back(item);
    }
  };
  if (document.is_list()) add_items(document);
  const bool is_list = document["kind"].plain().ends_with("List") || !document["kind"];
  for (const auto& [name, member] : document.members()) {
    if (is_list) add_items(member);
  }
  if (documents.size() == before) documents.push_back(document);
}

void read_documents(const Family& family, const std::string& text, Reading& reading,
                    ImportedConfiguration& result) {
  std::vector<std::string> names;  // names of the documents
  Tree tree;
  if (family.syntax == Syntax::kSpring) {
    tree = read_spring(reading.file, text, names);
  } else {
    const bool may_have_comments = family.syntax == Syntax::kComments;
    tree = read_yaml(reading.file, may_have_comments ? without_json_comments(text) : text);
    for (std::size_t i = 0; i < tree.documents.size(); ++i) {
      names.push_back(tree.documents.size() > 1 ? fmt::format("document {}", i + 1) : "");
    }
  }
  Documents whole, documents;
  for (std::size_t i = 0; i < tree.documents.size(); ++i) {
    whole.emplace_back(tree.documents[i], names[i], reading);
  }
  for (const Field& d : whole) add_objects(d, documents);
  family.from_documents(documents, reading, result);
  if (result.policies.empty()) {
    for (const Field& d : documents) {
      if (d["kind"].plain() != "ConfigMap") continue;
      throw BadConfiguration(
          {.file = reading.file,
           .message =
               "a ConfigMap has files in it: import what is below its data, one by one, from "
               "kubectl get configmap NAME -o 'jsonpath={.data.KEY}'",
           .source_line = {}});
    }
    return;
  }
  for (const Field& d : whole) list_unused(d, reading);
}

/// An error of the loader in terms of the field that the key comes from. The loader's message
/// begins with the key; words that only keys have ("none") are left out. Empty if the error is not
/// about an imported key.
std::optional<Diagnostic> said_of_field(const Diagnostic& error,
                                        const ImportedConfiguration& imported,
                                        const Reading& reading) {
  for (const ImportedPolicy& p : imported.policies) {
    const std::string group = fmt::format("client.{}.", scenario::render_name(p.name));
    if (!error.message.starts_with(group)) continue;
    for (const ImportedKey& key : p.keys) {
      const std::string start = group + key.path;
      const std::size_t verb = error.message.find(" is ", group.size()),
                        expected = error.message.find("expected ");
      // In a list, the loader names the element.
      if (!error.message.starts_with(start) || verb == std::string::npos ||
          expected == std::string::npos ||
          (error.message[start.size()] != ' ' && error.message[start.size()] != '[')) {
        continue;
      }
      const std::string made = error.message.substr(group.size(), verb - group.size());
      const std::string range = error.message.substr(expected);
      Diagnostic said{.file = reading.file,
                      .message = fmt::format("{}, which makes {}, is wrong; {}", key.source, made,
                                             range.substr(0, range.find(", or \""))),
                      .source_line = {}};
      // The place of a map is that of the first field read in it.
      const std::string path = key.source.substr(0, key.source.find(", "));
      if (const auto field = reading.used.lower_bound(path);
          field != reading.used.end() && field->first.starts_with(path)) {
        said.line = field->second.line;
        said.column = field->second.column;
      }
      return said;
    }
  }
  return std::nullopt;
}

/// Checks that the imported keys are valid by loading a scenario with them. Throws
/// BadConfiguration.
void check_that_it_loads(const ImportedConfiguration& imported, const Reading& reading) {
  std::string text =
      "name = \"import\"\nduration = \"1s\"\n[service.api]\nservice_time = \"1ms\"\n" +
      to_toml(imported, {});
  for (const ImportedPolicy& p : imported.policies) {
    text +=
        fmt::format("[client.{}.arrivals]\nprocess = \"once\"\n", scenario::render_name(p.name));
  }
  const LoadResult result = load_scenario_text(text, reading.file, ".");
  if (result.loaded) return;
  const Diagnostic& error = result.errors.front();
  throw BadConfiguration(
      said_of_field(error, imported, reading)
          .value_or(Diagnostic{.file = reading.file,
                               .message = fmt::format("a value is out of range: {}", error.message),
                               .source_line = {}}));
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

}  // namespace retrysim::imports

namespace retrysim {

std::span<const ImportKind> import_kinds() {
  static const std::vector<ImportKind> kinds = [] {
    std::vector<ImportKind> all;
    for (const imports::Family& family : imports::families()) all.push_back(family.kind);
    return all;
  }();
  return kinds;
}

std::string_view import_kind_of(const std::string& text, const std::string& file) {
  std::optional<BadConfiguration> first;
  for (const imports::Family& family : imports::families()) {
    if (!imports::has_mark(family.marks, text)) continue;
    try {
      (void)import_configuration(family.kind.name, text, file);
      return family.kind.name;
    } catch (const BadConfiguration& bad) {
      if (!first) first = bad;
    }
  }
  if (first) throw BadConfiguration(*first);
  for (const auto& [name, marks] : imports::kStrangers) {
    if (!imports::has_mark(marks, text)) continue;
    throw BadConfiguration(
        {.file = file,
         .message = fmt::format("its kind cannot be told; it looks like one of {}, which is not "
                                "read: write its rules as keys of client.*.retry",
                                name),
         .source_line = {}});
  }
  throw BadConfiguration(
      {.file = file, .message = "its kind cannot be told; name it", .source_line = {}});
}

ImportedConfiguration import_configuration(std::string_view kind, const std::string& text,
                                           const std::string& file) {
  const auto all = imports::families();
  const auto family =
      std::ranges::find(all, kind, [](const imports::Family& f) { return f.kind.name; });
  if (family == all.end()) throw std::invalid_argument(fmt::format("no kind '{}'", kind));
  imports::Reading reading(file);
  ImportedConfiguration result;
  if (family->from_text != nullptr) {
    family->from_text(text, reading, result);
  } else {
    imports::read_documents(*family, text, reading, result);
  }
  if (result.policies.empty()) {
    throw BadConfiguration(
        {.file = file,
         .message = fmt::format("no retry configuration found; expected {}", family->needs),
         .source_line = {}});
  }
  imports::make_names_unique(result.policies);
  result.remarks = std::move(reading.remarks);
  imports::check_that_it_loads(result, reading);
  return result;
}

namespace {

/// A field's path relative to the place that the policy comes from: without the names with which
/// both begin, except the last of these.
std::string seen_from(const std::string& place, const std::string& field) {
  std::size_t same = 0, dot = 0, before = 0;
  while (same < place.size() && same < field.size() && place[same] == field[same]) {
    if (field[same++] != '.') continue;
    before = dot;
    dot = same;
  }
  if (same == place.size() && same < field.size() && field[same] == '.') return field.substr(dot);
  return field.substr(before);
}

}  // namespace

std::string to_toml(const ImportedConfiguration& imported, const ImportText& how) {
  using scenario::ScenarioWriter;
  ScenarioWriter writer({.columns = 80, .comments = ScenarioWriter::Comments::kBehind});
  const auto plain = [](const std::string& text) { return scenario::printable_line(text); };
  if (!how.heading.empty()) writer.comment(plain(how.heading));
  constexpr std::string_view kRetry = "retry.";
  for (const ImportedPolicy& p : imported.policies) {
    const std::string name = scenario::render_name(p.name);
    writer.blank();
    if (!p.from.empty()) writer.comment(plain(fmt::format("from {}", p.from)), "# ", "#   ");
    const auto write_keys = [&](bool of_retry) {
      for (const ImportedKey& key : p.keys) {
        if (key.path.starts_with(kRetry) != of_retry) continue;
        writer.key(of_retry ? key.path.substr(kRetry.size()) : key.path, key.value,
                   plain(seen_from(p.from, key.source)));
      }
    };
    writer.section(fmt::format("client.{}", name));
    write_keys(false);
    writer.table(fmt::format("client.{}.retry", name));
    write_keys(true);
  }
  std::size_t unlisted = 0;
  if (!imported.remarks.empty()) {
    writer.blank();
    writer.comment("Left out:");
    for (const ImportRemark& r : imported.remarks) {
      if (r.is_unrelated && !how.lists_unrelated) {
        ++unlisted;
      } else {
        writer.comment(plain(fmt::format("{}: {}", r.field, r.why)), "#   ", "#     ");
      }
    }
  }
  if (unlisted > 0) {
    writer.comment(fmt::format("{} {} not about retries{}", unlisted,
                               unlisted == 1 ? "field is" : "fields are", how.how_to_list),
                   "#   ", "#     ");
  }
  if (!how.closing.empty()) {
    writer.blank();
    writer.comment(plain(how.closing), "# ", "#   ");
  }
  return writer.text();
}

}  // namespace retrysim

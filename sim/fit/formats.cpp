// SPDX-License-Identifier: MIT
#include "fit/formats.hpp"

#include "fit/values.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

namespace retrysim::fit {
namespace {

// --- What variables mean. ---

struct Variable {
  std::string_view name;
  Meaning meaning;
};

constexpr Meaning time_of(bool is_start, std::uint8_t rank = 1) {
  return {LinePart::kTime, kNoUnit, is_start, rank, FlagWords::kNone, false};
}
constexpr Meaning duration_in(std::uint8_t units, std::uint8_t rank = 1, bool multiple = false) {
  return {LinePart::kDuration, units, false, rank, FlagWords::kNone, multiple};
}
constexpr Meaning cut_duration_in(std::uint8_t units, std::uint8_t rank = 1) {
  return {LinePart::kDuration, units, false, rank, FlagWords::kNone, false, HowRounded::kCut};
}
constexpr Meaning even_duration_in(std::uint8_t units, std::uint8_t rank, bool multiple = false) {
  return {LinePart::kDuration, units, false, rank, FlagWords::kNone, multiple, HowRounded::kEven};
}
constexpr Meaning plain(LinePart part, std::uint8_t rank = 1) {
  return {part, kNoUnit, false, rank, FlagWords::kNone, false};
}
constexpr Meaning several(LinePart part, std::uint8_t rank = 1) {
  return {part, kNoUnit, false, rank, FlagWords::kNone, true};
}
constexpr Meaning flags_of(FlagWords words) {
  return {LinePart::kFlags, kNoUnit, false, 1, words, false};
}
constexpr bool kStart = true, kEnd = false;

// nginx sets $time_local and $msec when it writes the line: at the end of the request. Its
// durations are differences of two times that are cut off alike.
constexpr Variable kNginxVariables[] = {
    {"msec", time_of(kEnd, 1)},
    {"time_iso8601", time_of(kEnd, 2)},
    {"time_local", time_of(kEnd, 3)},
    {"request_time", even_duration_in(kInS, 1)},
    {"request_time_msec", even_duration_in(kInMs, 2)},
    {"upstream_response_time", even_duration_in(kInS, 3, true)},
    {"upstream_session_time", even_duration_in(kInS, 4, true)},
    {"status", plain(LinePart::kStatus, 1)},
    {"upstream_status", several(LinePart::kStatus, 9)},
    {"request_id", plain(LinePart::kRequest, 1)},
    {"req_id", plain(LinePart::kRequest, 1)},
    {"http_x_request_id", plain(LinePart::kRequest, 2)},
    {"http_x_correlation_id", plain(LinePart::kRequest, 3)},
    {"remote_addr", plain(LinePart::kClient, 1)},
    {"the_real_ip", plain(LinePart::kClient, 1)},
    {"realip_remote_addr", plain(LinePart::kClient, 3)},
    {"http_x_forwarded_for", several(LinePart::kClient, 4)},
    {"proxy_add_x_forwarded_for", several(LinePart::kClient, 5)},
    {"request", plain(LinePart::kPath, 1)},
    {"request_uri", plain(LinePart::kPath, 2)},
    {"uri", plain(LinePart::kPath, 3)},
    {"http_user_agent", plain(LinePart::kAgent)},
    {"proxy_upstream_name", plain(LinePart::kService, 1)},
    {"request_completion", flags_of(FlagWords::kNginx)},
    {"upstream_addr", several(LinePart::kNothing)},
    {"upstream_response_length", several(LinePart::kNothing)},
    {"upstream_connect_time", several(LinePart::kNothing)},
    {"upstream_header_time", several(LinePart::kNothing)},
    {"upstream_bytes_received", several(LinePart::kNothing)},
    {"upstream_bytes_sent", several(LinePart::kNothing)},
    {"upstream_cache_status", several(LinePart::kNothing)},
};

// Apache's %t is when the request was received. Names are without modifiers ("%>s" is "s").
constexpr Variable kApacheVariables[] = {
    {"t", time_of(kStart, 3)},
    {"D", duration_in(kInUs, 2)},
    {"T", cut_duration_in(kInS, 4)},
    {"{s}T", cut_duration_in(kInS, 4)},
    {"{ms}T", cut_duration_in(kInMs, 3)},
    {"{us}T", duration_in(kInUs, 1)},
    {"{ns}T", duration_in(kInNs, 1)},
    {"s", plain(LinePart::kStatus, 2)},
    {"h", plain(LinePart::kClient, 2)},
    {"a", plain(LinePart::kClient, 1)},
    {"r", plain(LinePart::kPath, 1)},
    {"U", plain(LinePart::kPath, 2)},
    {"X", flags_of(FlagWords::kApache)},
    {"{UNIQUE_ID}e", plain(LinePart::kRequest, 3)},
};

// Tomcat's %t is when the response ended (AbstractAccessLogValve adds the duration, unless the
// format begins with "begin:"). %D is in milliseconds, from 10.1 on in microseconds.
constexpr Variable kTomcatVariables[] = {
    {"t", time_of(kEnd, 3)},
    {"D", duration_in(kInMs | kInUs, 2)},
    {"F", plain(LinePart::kNothing)},
};

// Envoy's START_TIME is when the request came. Durations are cut off to whole milliseconds.
constexpr Variable kEnvoyVariables[] = {
    {"START_TIME", time_of(kStart, 1)},
    {"START_TIME_LOCAL", time_of(kStart, 2)},
    {"EMIT_TIME", time_of(kEnd, 3)},
    {"DURATION", cut_duration_in(kInMs, 2)},
    {"RESPONSE_DURATION", cut_duration_in(kInMs, 5)},
    {"RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)", cut_duration_in(kInMs, 6)},
    {"RESPONSE_CODE", plain(LinePart::kStatus)},
    {"GRPC_STATUS", plain(LinePart::kGrpc, 1)},
    {"GRPC_STATUS_NUMBER", plain(LinePart::kGrpc, 2)},
    {"RESPONSE_FLAGS", flags_of(FlagWords::kEnvoy)},
    {"RESPONSE_FLAGS_LONG", flags_of(FlagWords::kEnvoy)},
    {"REQ(X-REQUEST-ID)", plain(LinePart::kRequest, 1)},
    {"STREAM_ID", plain(LinePart::kRequest, 2)},
    {"UPSTREAM_CLUSTER", plain(LinePart::kService, 1)},
    {"UPSTREAM_CLUSTER_RAW", plain(LinePart::kService, 1)},
    {"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", plain(LinePart::kClient, 1)},
    {"DOWNSTREAM_REMOTE_ADDRESS", plain(LinePart::kClient, 2)},
    {"REQ(X-FORWARDED-FOR)", plain(LinePart::kClient, 3)},
    {"REQ(X-ENVOY-ORIGINAL-PATH?:PATH)", plain(LinePart::kPath, 1)},
    {"REQ(:PATH)", plain(LinePart::kPath, 2)},
    {"PATH", plain(LinePart::kPath, 2)},
    {"REQ(USER-AGENT)", plain(LinePart::kAgent)},
};

// HAProxy's %tr is when the first byte of the request came, %Ta how long it took from then on.
constexpr Variable kHaproxyVariables[] = {
    {"tr", time_of(kStart, 1)},
    {"trl", time_of(kStart, 1)},
    {"trg", time_of(kStart, 1)},
    {"t", time_of(kStart, 2)},
    {"T", time_of(kStart, 3)},
    {"Tl", time_of(kStart, 3)},
    {"Ta", duration_in(kInMs, 1)},
    {"Tt", duration_in(kInMs, 2)},
    {"Tr", duration_in(kInMs, 5)},
    {"ST", plain(LinePart::kStatus)},
    {"ts", flags_of(FlagWords::kHaproxy)},
    {"tsc", flags_of(FlagWords::kHaproxy)},
    {"ci", plain(LinePart::kClient)},
    {"b", plain(LinePart::kService)},
    {"ID", plain(LinePart::kRequest)},
    {"r", plain(LinePart::kPath, 1)},
    {"HU", plain(LinePart::kPath, 2)},
    {"HP", plain(LinePart::kPath, 3)},
};

constexpr Variable kGunicornVariables[] = {
    {"t", time_of(kEnd)},
    {"D", duration_in(kInUs, 1)},
    {"L", duration_in(kInS, 2)},
    {"M", cut_duration_in(kInMs, 3)},
    {"T", cut_duration_in(kInS, 4)},
    {"s", plain(LinePart::kStatus)},
    {"h", plain(LinePart::kClient)},
    {"r", plain(LinePart::kPath, 1)},
    {"U", plain(LinePart::kPath, 2)},
    {"a", plain(LinePart::kAgent)},
    {"{x-request-id}i", plain(LinePart::kRequest)},
};

// Variables used only in the descriptions below, which no server would understand.
constexpr Variable kOwnVariables[] = {
    {"began_at", time_of(kStart)},           {"ended_at", time_of(kEnd)},
    {"creation", plain(LinePart::kBegan)},   {"first_s", plain(LinePart::kFirst)},
    {"second_s", plain(LinePart::kSecond)},  {"third_s", plain(LinePart::kThird)},
    {"duration_ms", cut_duration_in(kInMs)}, {"status", plain(LinePart::kStatus)},
    {"id", plain(LinePart::kRequest)},       {"service", plain(LinePart::kService)},
    {"client", plain(LinePart::kClient)},    {"line", plain(LinePart::kPath)},
    {"agent", plain(LinePart::kAgent)},
};

// Fields of W3C's extended log format, as of IIS and CloudFront.
constexpr Variable kW3cFields[] = {
    {"date", plain(LinePart::kDate)},
    {"time", time_of(kEnd)},
    {"time-taken", duration_in(kInS | kInMs)},
    {"sc-status", plain(LinePart::kStatus)},
    {"c-ip", plain(LinePart::kClient)},
    {"cs-uri-stem", plain(LinePart::kPath, 1)},
    {"cs-uri", plain(LinePart::kPath, 2)},
    {"cs(User-Agent)", plain(LinePart::kAgent)},
    {"sc-win32-status", flags_of(FlagWords::kIis)},
    {"x-edge-detailed-result-type", flags_of(FlagWords::kCloudFront)},
    {"x-edge-request-id", plain(LinePart::kRequest)},
};

// Names of columns and members as people choose them, in lower case and without anything between
// the words. A unit at the end of a duration's name is cut off before.
struct UsualNames {
  Meaning meaning;
  std::string_view names;  // names in order of preference
};
constexpr UsualNames kUsualNames[] = {
    {time_of(kStart), "startutc"},
    {time_of(kEnd), "msec|time|timestamp|ts"},
    {time_of(kStart), "starttime"},
    {time_of(kEnd), "timeiso8601|timelocal|datetime|date|asctime|eventtime|logtime|epoch"},
    {time_of(kStart),
     "requesttimeepoch|startlocal|startedat|starttimestamp|requeststart|begintime|start"},
    {duration_in(kInS), "duration|requesttime|targetresponsetime"},
    {duration_in(kInAnyUnit),
     "latency|responsetime|elapsed|elapsedtime|timetaken|took|totaltime|processingtime|"
     "responseduration|requestduration|requestprocessingtime|responselatency|durations|cost|spent|"
     "rt|runtime|"
     "resptime|reqtime|urt|upstreamresponsetime"},
    {duration_in(kInNs), "event.duration|totalns"},
    {duration_in(kInUs), "totalus"},
    {duration_in(kInMs), "latencies.request|totalms"},
    {duration_in(kInS), "httprequest.latency"},
    {plain(LinePart::kStatus),
     "status|responsecode|statuscode|code|httpstatus|httpstatuscode|downstreamstatus|"
     "responsestatus|res.statuscode|response.status|response.statuscode|scstatus|"
     "http.response.statuscode|http.statuscode|httprequest.status|elbstatuscode|respstatus|"
     "originstatus"},
    {plain(LinePart::kRequest),
     "requestid|xrequestid|reqid|req.id|request|correlationid|xcorrelationid|rid|traceid"},
    {plain(LinePart::kService), "service|upstreamcluster|servicename|proxyupstreamname|svc"},
    {plain(LinePart::kClient),
     "client|clientip|remoteaddr|remoteip|clienthost|downstreamremoteaddress|clientaddr|"
     "remoteaddress|request.remoteip|request.clientip|req.remoteaddress|client.ip|"
     "httprequest.remoteip|xforwardedfor|ip|remotehost"},
    {plain(LinePart::kPath),
     "path|uri|requesturi|url|requestpath|request.uri|req.url|requestline|endpoint|route|"
     "url.path|http.target|httprequest.requesturl|target|resource|resourcepath|routekey"},
    {flags_of(FlagWords::kEnvoy), "responseflags"},
    {flags_of(FlagWords::kNginx), "requestcompletion"},
    {plain(LinePart::kAgent),
     "useragent|httpuseragent|agent|requestuseragent|request.useragent|req.headers.useragent|"
     "httprequest.useragent"},
};

/// Members of these objects count like members of the line itself.
constexpr std::string_view kUsualParents =
    "http|req|request|res|resp|response|context|ctx|fields|data|event|attributes|httprequest|"
    "access|requestcontext|"
    "nginx|jsonpayload|payload|extra|record|log|properties|tags|details|meta|info";

bool is_among(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view next = words.substr(0, words.find('|'));
    if (next == word) return true;
    words.remove_prefix(std::min(words.size(), next.size() + 1));
  }
  return false;
}

/// Cuts the unit off the end of a duration's name.
std::uint8_t unit_at_end(std::string_view& name) {
  constexpr std::pair<std::string_view, std::uint8_t> kEnds[] = {{"_milliseconds", kInMs},
                                                                 {"Milliseconds", kInMs},
                                                                 {"_microseconds", kInUs},
                                                                 {"Microseconds", kInUs},
                                                                 {"_nanoseconds", kInNs},
                                                                 {"Nanoseconds", kInNs},
                                                                 {"_seconds", kInS},
                                                                 {"Seconds", kInS},
                                                                 {"_millis", kInMs},
                                                                 {"Millis", kInMs},
                                                                 {"_micros", kInUs},
                                                                 {"Micros", kInUs},
                                                                 {"_nanos", kInNs},
                                                                 {"Nanos", kInNs},
                                                                 {"_secs", kInS},
                                                                 {"_sec", kInS},
                                                                 {"Sec", kInS},
                                                                 {"_msec", kInMs},
                                                                 {"_usec", kInUs},
                                                                 {"_nsec", kInNs},
                                                                 {"InMs", kInMs},
                                                                 {"_in_ms", kInMs},
                                                                 {"_ms", kInMs},
                                                                 {"Ms", kInMs},
                                                                 {"-ms", kInMs},
                                                                 {".ms", kInMs},
                                                                 {"_us", kInUs},
                                                                 {"Us", kInUs},
                                                                 {"-us", kInUs},
                                                                 {"_ns", kInNs},
                                                                 {"Ns", kInNs},
                                                                 {"-ns", kInNs},
                                                                 {"_s", kInS},
                                                                 {"(ms)", kInMs},
                                                                 {"(us)", kInUs},
                                                                 {"(s)", kInS}};
  for (const auto& [end, unit] : kEnds) {
    if (name.size() <= end.size() || !name.ends_with(end)) continue;
    name.remove_suffix(end.size());
    while (name.ends_with(' ') || name.ends_with('_')) name.remove_suffix(1);
    return unit;
  }
  return kNoUnit;
}

std::string bare(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.') text += c;
  }
  return text;
}

/// Whether a name is that of the status of gRPC: "grpc_code", "grpc.status",
/// "rpc.grpc.status_code", "sent_trailer_grpc_status".
bool is_grpc_status(std::string_view name) {
  const std::string text = bare(name);
  return text.find("grpc") != std::string::npos &&
         (text.ends_with("code") || text.ends_with("status") || text.ends_with("statusnumber"));
}

Meaning meaning_of_bare(std::string_view name) {
  std::array<std::uint8_t, kLineParts> place{};
  for (const UsualNames& row : kUsualNames) {
    std::uint8_t& rank = place[static_cast<std::size_t>(row.meaning.part)];
    for (std::string_view rest = row.names; !rest.empty();) {
      const std::string_view usual = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(rest.size(), usual.size() + 1));
      ++rank;
      if (usual != name) continue;
      Meaning meaning = row.meaning;
      meaning.rank = rank;
      return meaning;
    }
  }
  return {};
}

template <std::size_t N>
const Meaning* find_variable(const Variable (&table)[N], std::string_view name) {
  for (const Variable& variable : table) {
    if (variable.name == name) return &variable.meaning;
  }
  return nullptr;
}

// --- Descriptions become patterns. ---

enum class Dialect : std::uint8_t { kNginx, kApache, kTomcat, kEnvoy, kHaproxy, kGunicorn, kOwn };

constexpr std::pair<std::string_view, Dialect> kDialects[] = {
    {"nginx", Dialect::kNginx},      {"apache", Dialect::kApache}, {"tomcat", Dialect::kTomcat},
    {"envoy", Dialect::kEnvoy},      {"istio", Dialect::kEnvoy},   {"haproxy", Dialect::kHaproxy},
    {"gunicorn", Dialect::kGunicorn}};

/// A piece of a description.
struct Described {
  bool is_value = false;
  std::string text;  ///< a literal text, or the name of a variable
};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void add_text(std::vector<Described>& all, std::string_view text) {
  if (all.empty() || all.back().is_value) all.push_back({});
  all.back().text += text;
}

std::vector<Described> parts_of_nginx(std::string_view text) {
  std::vector<Described> all;
  while (!text.empty()) {
    if (text[0] != '$' || text.size() == 1) {
      add_text(all, text.substr(0, 1));
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    const bool braces = text[0] == '{';
    if (braces) text.remove_prefix(1);
    std::size_t size = 0;
    while (size < text.size() && is_name_character(text[size])) ++size;
    all.push_back({true, std::string(text.substr(0, size))});
    text.remove_prefix(std::min(text.size(), size + (braces ? 1 : 0)));
  }
  return all;
}

// Splits a description of Apache or Tomcat, whose directives are "%>s", "%!200,304{Referer}i",
// "%{begin:msec}t".
std::vector<Described> parts_of_apache(std::string_view text) {
  std::vector<Described> all;
  while (!text.empty()) {
    if (text[0] != '%' || text.size() == 1) {
      add_text(all, text.substr(0, 1));
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    if (text[0] == '%') {
      add_text(all, "%");
      text.remove_prefix(1);
      continue;
    }
    while (!text.empty() && (text[0] == '<' || text[0] == '>' || text[0] == '!' || text[0] == ',' ||
                             (text[0] >= '0' && text[0] <= '9'))) {
      text.remove_prefix(1);
    }
    std::string name;
    if (text.starts_with('{')) {
      const std::size_t size = std::min(text.find('}'), text.size() - 1) + 1;
      name = text.substr(0, size);
      text.remove_prefix(size);
    }
    const std::size_t size = text.starts_with('^') ? 3 : 1;
    name += text.substr(0, size);
    text.remove_prefix(std::min(text.size(), size));
    all.push_back({true, name});
  }
  return all;
}

std::vector<Described> parts_of_envoy(std::string_view text) {
  std::vector<Described> all;
  while (!text.empty()) {
    if (text[0] == '%' && text.size() > 1 && text[1] == '%') {
      add_text(all, "%");
      text.remove_prefix(2);
      continue;
    }
    if (text[0] != '%') {
      add_text(all, text.substr(0, 1));
      text.remove_prefix(1);
      continue;
    }
    // An argument may have percent signs of its own: %START_TIME(%s.%3f)%.
    std::size_t end = 1;
    bool inside = false;
    while (end < text.size() && (inside || text[end] != '%')) {
      if (text[end] == '(') inside = true;
      if (text[end] == ')') inside = false;
      ++end;
    }
    std::string name(text.substr(1, end - 1));
    text.remove_prefix(std::min(text.size(), end + 1));
    if (const std::size_t colon = name.rfind(':');
        colon != std::string::npos && name.find(')', colon) == std::string::npos) {
      name.resize(colon);  // the longest length
    }
    all.push_back({true, name});
  }
  return all;
}

// Splits a description of HAProxy. Captured headers are missing, with the blank in front of them,
// if there are none.
std::vector<Described> parts_of_haproxy(std::string_view text) {
  std::vector<Described> all;
  bool leave_blank = false;
  while (!text.empty()) {
    if (text[0] == '\\' && text.size() > 1) text.remove_prefix(1);
    if (text[0] != '%' || text.size() == 1) {
      if (!(leave_blank && text[0] == ' ')) add_text(all, text.substr(0, 1));
      leave_blank = false;
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    if (text[0] == '%') {
      add_text(all, "%");
      text.remove_prefix(1);
      continue;
    }
    bool quoted = false;
    if (text[0] == '{') {
      const std::size_t size = std::min(text.find('}'), text.size() - 1) + 1;
      quoted = text.substr(0, size).find("+Q") != std::string_view::npos;
      text.remove_prefix(size);
    }
    std::string name;
    if (text.starts_with('[')) {
      const std::size_t size = std::min(text.find(']'), text.size() - 1) + 1;
      name = text.substr(0, size);
      text.remove_prefix(size);
    } else {
      std::size_t size = 0;
      while (size < text.size() && is_name_character(text[size])) ++size;
      name = text.substr(0, size);
      text.remove_prefix(size);
    }
    if (name == "hr" || name == "hs" || name == "hrl" || name == "hsl") {
      leave_blank = true;
      continue;
    }
    if (quoted) add_text(all, "\"");
    all.push_back({true, name});
    if (quoted) add_text(all, "\"");
  }
  return all;
}

// Splits a description of gunicorn: "%(h)s"
std::vector<Described> parts_of_gunicorn(std::string_view text) {
  std::vector<Described> all;
  while (!text.empty()) {
    const std::size_t close = text.starts_with("%(") ? text.find(")s") : std::string_view::npos;
    if (close == std::string_view::npos) {
      add_text(all, text.substr(0, 1));
      text.remove_prefix(1);
      continue;
    }
    all.push_back({true, std::string(text.substr(2, close - 2))});
    text.remove_prefix(close + 2);
  }
  return all;
}

std::vector<Described> parts_of(Dialect dialect, std::string_view text) {
  switch (dialect) {
    case Dialect::kApache:
    case Dialect::kTomcat:
      return parts_of_apache(text);
    case Dialect::kEnvoy:
      return parts_of_envoy(text);
    case Dialect::kHaproxy:
      return parts_of_haproxy(text);
    case Dialect::kGunicorn:
      return parts_of_gunicorn(text);
    default:
      return parts_of_nginx(text);
  }
}

/// The meaning of "%{...}t" of Apache and Tomcat.
Meaning meaning_of_time_format(std::string_view format, bool is_start) {
  if (format == "begin" || format.starts_with("begin:")) {
    is_start = true;
    format.remove_prefix(std::min<std::size_t>(format.size(), 6));
  } else if (format == "end" || format.starts_with("end:")) {
    is_start = false;
    format.remove_prefix(std::min<std::size_t>(format.size(), 4));
  }
  if (format == "msec_frac" || format == "usec_frac" || format == "%z" || format == "Z") return {};
  const bool fine =
      format == "msec" || format == "usec" || format.find("SSS") != std::string_view::npos;
  return time_of(is_start, fine ? 1 : 2);
}

Meaning apache_meaning(std::string_view name, bool tomcat) {
  if (tomcat) {
    if (const Meaning* known = find_variable(kTomcatVariables, name)) return *known;
  }
  if (const Meaning* known = find_variable(kApacheVariables, name)) return *known;
  if (name.size() < 3 || name[0] != '{') return {};
  const std::string_view argument = name.substr(1, name.size() - 3);
  if (name.back() == 't') return meaning_of_time_format(argument, !tomcat);
  if (name.back() == 'a') return plain(LinePart::kClient, 1);
  if (name.back() != 'i' && name.back() != 'o') return {};
  const std::string header = bare(argument);
  if (header == "xrequestid" || header == "xcorrelationid") return plain(LinePart::kRequest, 1);
  if (header == "useragent") return plain(LinePart::kAgent);
  if (header == "xforwardedfor") return several(LinePart::kClient, 4);
  return {};
}

Meaning envoy_meaning(std::string name) {
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (const Meaning* known = find_variable(kEnvoyVariables, name)) return *known;
  const std::string command = name.substr(0, name.find('('));
  if (command == "START_TIME" || command == "START_TIME_LOCAL") return time_of(kStart, 1);
  if (command == "EMIT_TIME") return time_of(kEnd, 3);
  if (command == "GRPC_STATUS") return plain(LinePart::kGrpc, 1);
  if (command == "COMMON_DURATION" && name.find("DS_RX_BEG:DS_TX_END") != std::string::npos) {
    return cut_duration_in(name.ends_with(":NS)") ? kInNs : name.ends_with(":US)") ? kInUs : kInMs);
  }
  return {};
}

Meaning meaning_in(Dialect dialect, const std::string& name) {
  const Meaning* known = nullptr;
  switch (dialect) {
    case Dialect::kApache:
    case Dialect::kTomcat:
      return apache_meaning(name, dialect == Dialect::kTomcat);
    case Dialect::kEnvoy:
      return envoy_meaning(name);
    case Dialect::kHaproxy:
      known = find_variable(kHaproxyVariables, name);
      break;
    case Dialect::kGunicorn:
      known = find_variable(kGunicornVariables, name);
      break;
    case Dialect::kOwn:
      known = find_variable(kOwnVariables, name);
      break;
    default:
      known = find_variable(kNginxVariables, name);
      if (known == nullptr && is_grpc_status(name)) return plain(LinePart::kGrpc);
  }
  return known == nullptr ? Meaning{} : *known;
}

/// Whether what follows a part of a time belongs to it: "%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t".
bool continues_time(Dialect dialect, const std::string& name) {
  if (dialect != Dialect::kApache && dialect != Dialect::kTomcat) return false;
  return name.ends_with("msec_frac}t") || name.ends_with("usec_frac}t") || name.ends_with("%z}t");
}

/// Makes a pattern out of pieces; of several values with the same meaning, the best is read.
Format compiled(Dialect dialect, const std::vector<Described>& described) {
  Format format;
  std::array<std::size_t, kLineParts> at{};
  std::string before;
  bool is_first = true;
  for (std::size_t i = 0; i < described.size(); ++i) {
    if (!described[i].is_value) {
      before += described[i].text;
      continue;
    }
    const std::string& name = described[i].text;
    Pattern& pattern = format.pattern;
    if (continues_time(dialect, name) && !pattern.pieces.empty() &&
        pattern.pieces.back().part == LinePart::kTime) {
      before.clear();
      continue;
    }
    // If nothing separates two values, the second cannot be read.
    if (before.empty() && !is_first) continue;
    is_first = false;
    Meaning meaning = meaning_in(dialect, name);
    // Gunicorn writes the brackets of its time, as Apache's %t does.
    const bool brackets = meaning.part == LinePart::kTime && name == "t" &&
                          (dialect == Dialect::kApache || dialect == Dialect::kTomcat ||
                           dialect == Dialect::kGunicorn);
    if (brackets) before += '[';
    const bool multiple = meaning.multiple;
    const auto part = static_cast<std::size_t>(meaning.part);
    if (meaning.part != LinePart::kNothing) {
      const bool had = format.has(meaning.part);
      if (format.offer(meaning)) {
        if (had) pattern.pieces[at[part]].part = LinePart::kNothing;
        at[part] = pattern.pieces.size();
      } else {
        meaning.part = LinePart::kNothing;
      }
    }
    pattern.pieces.push_back({before, meaning.part, multiple});
    before = brackets ? "]" : "";
  }
  format.pattern.end = before;
  return format;
}

/// Removes what a configuration file has around a description: the directive, its name, quotes of
/// several pieces, the semicolon.
std::string without_directive(std::string_view text) {
  const auto trim = [&] {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t' ||
                             text.front() == '\r')) {
      text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t' ||
                             text.back() == '\r' || text.back() == ';')) {
      text.remove_suffix(1);
    }
  };
  trim();
  for (const std::string_view directive :
       {"log_format ", "LogFormat ", "log-format ", "access_log_format"}) {
    if (!text.starts_with(directive)) continue;
    text.remove_prefix(directive.size());
    const std::size_t quote = text.find_first_of("'\"");
    if (quote != std::string_view::npos) text.remove_prefix(quote);
    trim();
    break;
  }
  // Quoted pieces: 'one' 'two', or a name followed by "one".
  const char quote = text.empty() ? ' ' : text.front();
  if (quote != '\'' && !(quote == '"' && text.size() > 1 && text.find("\\\"") != text.npos) &&
      !(quote == '"' && text.back() == '"' && text.find('"', 1) == text.size() - 1)) {
    return std::string(text);
  }
  std::string all;
  while (!text.empty()) {
    if (text.front() != quote) break;
    std::size_t end = 1;
    while (end < text.size() && text[end] != quote) {
      if (text[end] == '\\' && end + 1 < text.size()) ++end;
      all += text[end++];
    }
    text.remove_prefix(std::min(text.size(), end + 1));
    trim();
  }
  return all;
}

Dialect dialect_of(std::string_view text) {
  if (text.find("%(") != std::string_view::npos && text.find(")s") != std::string_view::npos &&
      text.find("%REQ(") == std::string_view::npos) {
    return Dialect::kGunicorn;
  }
  if (text.find('%') == std::string_view::npos) return Dialect::kNginx;
  for (const Described& piece : parts_of_envoy(text)) {
    if (!piece.is_value) continue;
    std::size_t capitals = 0;
    while (capitals < piece.text.size() &&
           ((piece.text[capitals] >= 'A' && piece.text[capitals] <= 'Z') ||
            piece.text[capitals] == '_')) {
      ++capitals;
    }
    if (capitals >= 3) return Dialect::kEnvoy;
  }
  for (const Described& piece : parts_of_haproxy(text)) {
    if (!piece.is_value) continue;
    for (const std::string_view own : {"ci", "tr", "Ta", "ST", "tsc", "TR", "Tt", "ft", "cp"}) {
      if (piece.text == own) return Dialect::kHaproxy;
    }
  }
  return text.find('$') != std::string_view::npos && text.find("%>") == std::string_view::npos &&
                 text.find("%h") == std::string_view::npos &&
                 text.find("%t") == std::string_view::npos
             ? Dialect::kNginx
             : Dialect::kApache;
}

/// A description that is a JSON object: members may come in any order.
std::optional<Format> described_object(Dialect dialect, std::string_view text) {
  constexpr std::size_t kLongestDescription = 100'000;
  if (!text.starts_with('{') || text.size() > kLongestDescription) return std::nullopt;
  if (std::ranges::count(text, '{') + std::ranges::count(text, '[') > 100) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Format format;
  format.shape = Shape::kJson;
  const auto take = [&](const auto& self, const nlohmann::json& object,
                        const std::string& prefix) -> void {
    for (auto member = object.begin(); member != object.end(); ++member) {
      if (member->is_object()) self(self, *member, prefix + member.key() + ".");
      if (!member->is_string()) continue;
      const std::vector<Described> parts =
          parts_of(dialect, member->template get_ref<const std::string&>());
      if (parts.size() != 1 || !parts[0].is_value) {
        // A member may compose a request line of several values.
        for (const Described& part : parts) {
          const Meaning meaning = part.is_value ? meaning_in(dialect, part.text) : Meaning{};
          if (meaning.part == LinePart::kPath && format.offer(meaning)) {
            format.names[static_cast<std::size_t>(LinePart::kPath)] = prefix + member.key();
          }
        }
        continue;
      }
      const Meaning meaning = meaning_in(dialect, parts[0].text);
      if (meaning.part != LinePart::kNothing && format.offer(meaning)) {
        format.names[static_cast<std::size_t>(meaning.part)] = prefix + member.key();
      }
    }
  };
  take(take, json, "");
  return format;
}

// --- Known formats. ---

struct Known {
  std::string_view word;  ///< name in --log-format
  Dialect dialect;
  std::string_view description;
  std::size_t required;  ///< number of values that a line must have; more may follow
  bool open_end = true;
};

constexpr Known kKnown[] = {
    {"ingress-nginx", Dialect::kNginx,
     "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent "
     "\"$http_referer\" \"$http_user_agent\" $request_length $request_time "
     "[$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr "
     "$upstream_response_length $upstream_response_time $upstream_status $req_id",
     15, true},
    // Before version 0.26: the address in brackets, without the alternative upstream.
    {"ingress-nginx", Dialect::kNginx,
     "$remote_addr - [$the_real_ip] - $remote_user [$time_local] \"$request\" $status "
     "$body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_length $request_time "
     "[$proxy_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time "
     "$upstream_status $req_id",
     15, true},
    {"traefik", Dialect::kOwn,
     "$client - $user [$began_at] \"$line\" $status $size \"$referer\" \"$agent\" $count "
     "\"$service\" \"$url\" ${duration_ms}ms",
     12, false},
    {"envoy", Dialect::kEnvoy,
     "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" "
     "%RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% "
     "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" "
     "\"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\"",
     9, true},
    {"istio", Dialect::kEnvoy,
     "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" "
     "%RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% "
     "%CONNECTION_TERMINATION_DETAILS% \"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" %BYTES_RECEIVED% "
     "%BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" "
     "\"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\" "
     "%UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% "
     "%DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%",
     12, true},
    // Before Istio 1.9.
    {"istio", Dialect::kEnvoy,
     "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" "
     "%RESPONSE_CODE% %RESPONSE_FLAGS% \"%DYNAMIC_METADATA(istio.mixer:status)%\" "
     "\"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% "
     "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" "
     "\"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\" %UPSTREAM_CLUSTER% "
     "%UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% "
     "%REQUESTED_SERVER_NAME% %ROUTE_NAME%",
     11, true},
    {"haproxy", Dialect::kHaproxy,
     "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc "
     "%ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r",
     23, true},
    {"alb", Dialect::kOwn,
     "$type $ended_at $name $client:$port $target $first_s $second_s $third_s $status "
     "$target_status $received $sent \"$line\" \"$agent\" $cipher $protocol $group \"$id\" "
     "\"$domain\" \"$certificate\" $priority $creation \"$actions\"",
     10, true},
    {"elb", Dialect::kOwn,
     "$ended_at $name $client:$port $target $first_s $second_s $third_s $status $target_status "
     "$received $sent \"$line\" \"$agent\" $cipher $protocol",
     12, true},
    {"uvicorn", Dialect::kOwn, "INFO:     $client:$port - \"$line\" $status", 4, true},
};

constexpr std::string_view kFormatWords =
    "auto|csv|json|logfmt|w3c|common|combined|nginx|ingress-nginx|apache|tomcat|envoy|istio|"
    "haproxy|traefik|caddy|iis|cloudfront|alb|elb|gunicorn|uvicorn";

Format compiled(const Known& known) {
  Format format = compiled(known.dialect, parts_of(known.dialect, known.description));
  format.word = known.word;
  format.pattern.required = known.required;
  format.pattern.open_end = known.open_end;
  return format;
}

std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at < text.size() ? at : std::string_view::npos;
}

/// The end of the longest text that is a time, which may have blanks between day and hour, and
/// before the offset.
std::size_t end_of_time(std::string_view line, std::size_t at, std::string_view next) {
  constexpr int kMaxBlanks = 3;
  const std::size_t first = line.find(next, at);
  std::size_t best = first, stop = first;
  for (int i = 0; i < kMaxBlanks && stop != std::string_view::npos; ++i) {
    if (parse_log_time(line.substr(at, stop - at))) best = stop;
    stop = line.find(next, stop + 1);
  }
  return best;
}

bool is_status(std::string_view text) {
  return text.size() == 3 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_none(std::string_view text) { return text.empty() || text == "-"; }

// --- Lines that resemble the common log format, whatever comes behind the request. ---

/// A token behind the request line.
struct Token {
  std::string opening;  ///< text in front of the value: a blank, and: a quote, `rt=`
  std::string_view text;
  std::string_view key;  ///< name of a pair: rt of `rt=0.012`
  char close = ' ';
};

/// What a line says that resembles the common log format.
struct CommonLine {
  std::vector<std::string_view> who;  ///< tokens in front of the time
  std::string_view time, request;
  std::vector<Token> tokens;
};

std::size_t end_of_blank(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != ' ') ++at;
  // "0.1, 0.2 : 0.3" are the times of several upstreams.
  while (at < text.size()) {
    if (text[at - 1] == ',') {
      ++at;
    } else if (text.substr(at).starts_with(" : ")) {
      at += 3;
    } else {
      return at;
    }
    while (at < text.size() && text[at] != ' ') ++at;
  }
  return at;
}

std::optional<CommonLine> common_line(std::string_view line) {
  CommonLine said;
  const std::size_t open = line.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = line.find(']', open);
  if (close == std::string_view::npos || !line.substr(close).starts_with("] \"")) {
    return std::nullopt;
  }
  said.time = line.substr(open + 1, close - open - 1);
  if (said.time.find('/') != 2 || !parse_log_time(said.time)) return std::nullopt;
  for (std::size_t at = 0; at < open;) {
    const std::size_t end = std::min(line.find(' ', at), open);
    said.who.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  if (said.who.empty() || line[open - 1] != ' ') return std::nullopt;
  const std::size_t begin = close + 3, end = end_of_quoted(line, begin);
  if (end == std::string_view::npos) return std::nullopt;
  said.request = line.substr(begin, end - begin);
  for (std::size_t at = end + 1; at < line.size();) {
    Token token;
    if (line[at] != ' ') return std::nullopt;
    token.opening = " ";
    ++at;
    if (at >= line.size()) break;
    const auto key_size = [&] {
      std::size_t size = 0;
      while (at + size < line.size() && (is_name_character(line[at + size]) ||
                                         line[at + size] == '-' || line[at + size] == '.')) {
        ++size;
      }
      return size > 0 && at + size < line.size() && line[at + size] == '=' &&
                     !(line[at] >= '0' && line[at] <= '9')
                 ? size
                 : 0;
    };
    std::size_t from = at;
    if (line[at] == '"') {
      token.close = '"';
      token.opening += '"';
      ++at;
    } else if (line[at] == '(' || line[at] == '[') {
      token.close = line[at] == '(' ? ')' : ']';
      token.opening += line[at];
      ++at;
    }
    if (const std::size_t size = key_size(); size > 0 && size < 30) {
      token.key = line.substr(at, size);
      token.opening += line.substr(at, size + 1);
      at += size + 1;
      if (token.close == ' ' && at < line.size() && line[at] == '"') {
        token.close = '"';
        token.opening += '"';
        ++at;
      }
    }
    from = at;
    std::size_t stop = 0;
    if (token.close == '"') {
      stop = end_of_quoted(line, at);
    } else if (token.close != ' ') {
      stop = line.find(token.close, at);
    } else {
      stop = at < line.size() && line[at] != ' ' ? end_of_blank(line, at + 1) : at;
    }
    if (stop == std::string_view::npos) return std::nullopt;
    token.text = line.substr(from, stop - from);
    if (token.close == ' ' && token.text.ends_with(',')) token.text.remove_suffix(1);
    at = token.close == ' ' ? stop : stop + 1;
    said.tokens.push_back(token);
  }
  return said;
}

enum class Looks : std::uint8_t { kNone, kDecimal, kWhole, kUnits, kPair, kId, kOther };

Looks looks_of(std::string_view text) {
  if (is_none(text)) return Looks::kNone;
  const std::string_view first = text.substr(0, text.find_first_of(", "));
  const auto digits = [](std::string_view some) {
    return !some.empty() && std::ranges::all_of(some, [](char c) { return c >= '0' && c <= '9'; });
  };
  const std::size_t point = first.find('.');
  if (point != std::string_view::npos && digits(first.substr(0, point)) &&
      digits(first.substr(point + 1))) {
    return Looks::kDecimal;
  }
  if (digits(text)) {
    constexpr std::size_t kLongestNumber = 15;
    return text.size() <= kLongestNumber ? Looks::kWhole : Looks::kId;
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && digits(text.substr(0, slash)) &&
      digits(text.substr(slash + 1))) {
    return Looks::kPair;
  }
  if (text[0] >= '0' && text[0] <= '9' && parse_duration_with_units(text)) return Looks::kUnits;
  constexpr std::size_t kHexId = 32, kUuid = 36;
  if ((text.size() == kHexId || text.size() == kUuid) && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
               c == '-';
      })) {
    return Looks::kId;
  }
  return Looks::kOther;
}

/// How a column looks in all lines that have a value there, if they look alike.
Looks looks_of_column(const std::vector<CommonLine>& lines, std::size_t column) {
  Looks all = Looks::kNone;
  for (const CommonLine& line : lines) {
    const Looks one = looks_of(line.tokens[column].text);
    if (one == Looks::kNone) continue;
    if (all != Looks::kNone && all != one) return Looks::kOther;
    all = one;
  }
  return all;
}

/// Among several columns of decimals, the one that is never less than another: a request takes at
/// least as long as its parts.
std::optional<std::size_t> longest_column(const std::vector<CommonLine>& lines,
                                          const std::vector<std::size_t>& columns) {
  for (const std::size_t one : columns) {
    const bool longest = std::ranges::all_of(lines, [&](const CommonLine& line) {
      const auto number = [&](std::size_t column) {
        const std::string_view text = line.tokens[column].text;
        return parse_number(text.substr(0, text.find_first_of(", ")));
      };
      const std::optional<double> own = number(one);
      return std::ranges::all_of(columns, [&](std::size_t other) {
        const std::optional<double> its = number(other);
        constexpr double kStep = 0.0011;  // clocks are read at different times
        return !own || !its || *own + kStep >= *its;
      });
    });
    if (longest) return one;
  }
  return std::nullopt;
}

/// The unit that a column names, if all lines have the same one there: "12.3 ms".
std::uint8_t unit_in_column(const std::vector<CommonLine>& lines, std::size_t column) {
  constexpr std::pair<std::string_view, std::uint8_t> kWords[] = {
      {"ms", kInMs}, {"us", kInUs}, {"\xc2\xb5s", kInUs}, {"s", kInS}, {"sec", kInS}};
  if (column >= lines.front().tokens.size()) return kNoUnit;
  for (const auto& [word, unit] : kWords) {
    if (std::ranges::all_of(lines, [&, text = word](const CommonLine& line) {
          return line.tokens[column].text == text;
        })) {
      return unit;
    }
  }
  return kNoUnit;
}

/// Whether decimals are as fine as those of durations, at least milliseconds; nginx writes
/// $gzip_ratio with two.
bool are_fine(const std::vector<CommonLine>& lines, std::size_t column) {
  constexpr std::size_t kOfMilliseconds = 3;
  return std::ranges::all_of(lines, [column](const CommonLine& line) {
    const std::string_view text = line.tokens[column].text;
    const std::string_view first = text.substr(0, text.find_first_of(", "));
    const std::size_t point = first.find('.');
    return is_none(text) || first.size() > point + kOfMilliseconds;
  });
}

/// Whether a column of numbers is the size of the answer with its head ($bytes_sent, %O): a little
/// more than the size without the head.
bool is_whole_size(const std::vector<CommonLine>& lines, std::size_t column, std::size_t size) {
  constexpr double kLongestHead = 4000, kMoreAlike = 4;
  double least = kLongestHead, most = 0, smallest = 1e18, largest = 0;
  for (const CommonLine& line : lines) {
    const double own = parse_number(line.tokens[column].text).value_or(0),
                 body = parse_number(line.tokens[size].text).value_or(0), head = own - body;
    if (head < 0 || head > kLongestHead) return false;
    least = std::min(least, head);
    most = std::max(most, head);
    smallest = std::min(smallest, body);
    largest = std::max(largest, body);
  }
  return largest - smallest > kMoreAlike * (most - least);
}

/// The meaning of the columns after the request line.
struct Tail {
  std::optional<std::size_t> duration, id, agent;
  std::uint8_t units = kNoUnit;
  bool is_pair = false;  ///< "%T/%D"
};

/// Finds the meaning of the columns; a lone number may be a duration only if `may_guess`.
Tail tail_of(const std::vector<CommonLine>& lines, bool may_guess) {
  Tail tail;
  const std::vector<Token>& tokens = lines.front().tokens;
  std::vector<std::size_t> decimals, wholes;
  std::optional<std::size_t> units, pair;
  std::size_t quoted = 0;
  std::uint8_t best_rank = 255;
  std::optional<std::size_t> size;  // column of the answer's size: the first number
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const Looks looks = looks_of_column(lines, i);
    if (!tokens[i].key.empty()) {
      const Meaning meaning = usual_meaning(tokens[i].key);
      if (meaning.part == LinePart::kRequest && !tail.id) tail.id = i;
      if (meaning.part == LinePart::kDuration && meaning.rank < best_rank &&
          (looks == Looks::kDecimal || looks == Looks::kWhole || looks == Looks::kUnits)) {
        best_rank = meaning.rank;
        tail.duration = i;
        tail.units = meaning.units;
        if (looks == Looks::kDecimal && meaning.units == kInAnyUnit) tail.units = kInS;
      }
      continue;
    }
    if (looks == Looks::kDecimal || (looks == Looks::kWhole && size)) {
      if (const std::uint8_t unit = unit_in_column(lines, i + 1); unit != kNoUnit) {
        tail.duration = i;
        tail.units = unit;
        continue;
      }
    }
    if (tokens[i].close == '"' && ++quoted == 2 && looks != Looks::kDecimal) tail.agent = i;
    switch (looks) {
      case Looks::kDecimal:
        if (are_fine(lines, i)) decimals.push_back(i);
        break;
      case Looks::kWhole:
        if (!size && tokens[i].close == ' ') {
          size = i;
        } else {
          wholes.push_back(i);
        }
        break;
      case Looks::kNone:
        if (!size && tokens[i].close == ' ') size = i;
        break;
      case Looks::kUnits:
        if (!units) units = i;
        break;
      case Looks::kPair:
        pair = i;
        break;
      case Looks::kId:
        if (!tail.id) tail.id = i;
        break;
      default:
        break;
    }
  }
  if (tail.duration) return tail;
  if (units) {
    tail.duration = units;
    tail.units = kInAnyUnit;
  } else if (!decimals.empty()) {
    tail.duration = longest_column(lines, decimals);
    tail.units = kInS;
  } else if (pair) {
    tail.duration = pair;
    tail.is_pair = true;
    tail.units = kInUs;
  } else if (may_guess && wholes.size() == 1 &&
             !(size && is_whole_size(lines, wholes.front(), *size))) {
    tail.duration = wholes.front();
    tail.units = kInS | kInMs | kInUs;
  }
  return tail;
}

bool looks_like_address(std::string_view text) {
  if (text.find(':') != std::string_view::npos && text.find_first_not_of("0123456789abcdefABCDEF:."
                                                                         "[]") == text.npos) {
    return true;
  }
  return std::ranges::count(text, '.') == 3 &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::optional<Format> common_format(std::span<const std::string_view> lines, std::string_view word,
                                    std::size_t& matched) {
  std::vector<CommonLine> all;
  std::map<std::size_t, std::size_t> sizes;
  for (const std::string_view line : lines) {
    std::optional<CommonLine> said = common_line(line);
    if (!said || said->tokens.empty() ||
        !(is_status(said->tokens[0].text) || is_none(said->tokens[0].text))) {
      continue;
    }
    ++sizes[said->tokens.size()];
    all.push_back(std::move(*said));
  }
  matched = 0;
  if (all.empty()) return std::nullopt;
  const auto most =
      std::ranges::max_element(sizes, {}, [](const auto& size) { return size.second; });
  const std::size_t tokens = most->first;
  matched = most->second;
  std::erase_if(all, [&](const CommonLine& line) { return line.tokens.size() != tokens; });
  const std::size_t who = all.front().who.size();

  Format format;
  std::size_t client = 0;
  while (client < who && !looks_like_address(all.front().who[client])) ++client;
  if (client == who) client = 0;
  const auto add = [&](std::string before, const Meaning& meaning) {
    if (meaning.part != LinePart::kNothing) format.offer(meaning);
    format.pattern.pieces.push_back({std::move(before), meaning.part, meaning.multiple});
  };
  // Users and hosts around the address may have blanks, or be missing.
  for (std::size_t i = 0; i <= client; ++i) {
    add(i == 0 ? "" : " ", i == client ? plain(LinePart::kClient) : Meaning{});
  }
  if (client + 1 < who) add(" ", {});
  const Tail tail = tail_of(all, word != "common" && word != "combined");
  const bool apache = word == "apache", tomcat = word == "tomcat", nginx = word == "nginx";
  const bool decimals = tail.duration && looks_of_column(all, *tail.duration) == Looks::kDecimal;
  std::uint8_t units = tail.units;
  if (tail.duration && units != kInUs && units != kInAnyUnit) {
    if (apache || tomcat) units = decimals ? kInS : apache ? kInUs : kInMs | kInUs;
    if (nginx) units = kInS;
  }
  const bool start =
      apache || (!tomcat && !nginx && tail.duration && !decimals && tail.units != kInAnyUnit);
  add(" [", time_of(start));
  add("] \"", plain(LinePart::kPath));
  std::string after = "\"";
  for (std::size_t i = 0; i < tokens; ++i) {
    const Token& token = all.front().tokens[i];
    Meaning meaning;
    if (i == 0) meaning = plain(LinePart::kStatus);
    if (tail.id == i) meaning = plain(LinePart::kRequest);
    if (tail.agent == i) meaning = plain(LinePart::kAgent);
    if (tail.duration == i) meaning = duration_in(units);
    if (tail.duration == i && tail.is_pair) {
      add(after + token.opening, {});
      after = "/";
      add(after, meaning);
    } else {
      meaning.multiple = token.close == ' ';
      add(after + token.opening, meaning);
    }
    after = token.close == ' ' ? "" : std::string(1, token.close);
  }
  format.pattern.end = after;
  const std::size_t quotes =
      static_cast<std::size_t>(std::ranges::count(all.front().tokens, '"', &Token::close));
  format.end_if_ms = !apache && !nginx && (units & kInMs) != 0 && units != kInAnyUnit;
  format.word = word != "auto"                         ? std::string(word)
                : !tail.duration                       ? quotes >= 2 ? "combined" : "common"
                : decimals || tail.units == kInAnyUnit ? "nginx"
                                                       : "apache";
  if (format.word == "nginx" && decimals) {
    format.meaning(LinePart::kDuration).rounding = HowRounded::kEven;
  }
  return format;
}

}  // namespace

bool Format::offer(const Meaning& offered) {
  Meaning& own = meaning(offered.part);
  if (own.part != LinePart::kNothing && own.rank <= offered.rank) return false;
  own = offered;
  return true;
}

bool Pattern::match(std::string_view line, LineValues& values) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (i == 0) {
      if (!line.starts_with(piece.before)) return false;
      at = piece.before.size();
    }
    const bool last = i + 1 == pieces.size();
    const std::string_view next = last ? std::string_view(end) : pieces[i + 1].before;
    const auto give = [&](std::size_t size) {
      if (piece.part == LinePart::kNothing) return;
      values[static_cast<std::size_t>(piece.part)] = line.substr(at, size);
    };
    std::size_t stop = at;
    if (next.empty()) {
      stop = line.size();
      if (open_end) stop = std::min(line.find(' ', at), line.size());
    } else if (next.front() == '"') {
      while (true) {
        stop = end_of_quoted(line, stop);
        if (stop == std::string_view::npos || line.substr(stop).starts_with(next)) break;
        ++stop;
      }
    } else if (piece.part == LinePart::kTime && next.front() == ' ') {
      stop = end_of_time(line, at, next);
    } else {
      while (true) {
        stop = line.find(next, stop);
        if (stop == std::string_view::npos || !piece.multiple || next.front() != ' ') break;
        if (stop > at && line[stop - 1] == ',') {
          ++stop;
        } else if (line.substr(stop).starts_with(" : ")) {
          stop += 3;
        } else {
          break;
        }
      }
    }
    if (stop == std::string_view::npos) {
      if (required == 0 || i + 1 < required) return false;
      stop = std::min(line.find(' ', at), line.size());
      give(stop - at);
      return true;
    }
    give(stop - at);
    at = stop + next.size();
  }
  return open_end || at == line.size() ||
         line.find_first_not_of(" \t", at) == std::string_view::npos;
}

std::string_view format_words() { return kFormatWords; }

std::string_view plain_word(std::string_view word) {
  if (word == "caddy") return "json";
  return word == "iis" || word == "cloudfront" ? "w3c" : word;
}

bool is_description(std::string_view text) { return text.find_first_of("$%") != text.npos; }

std::optional<Format> described_format(std::string_view text, std::string& why_not) {
  std::optional<Dialect> dialect;
  for (const auto& [word, named] : kDialects) {
    if (text.starts_with(word) && text.substr(word.size()).starts_with(':')) {
      dialect = named;
      text.remove_prefix(word.size() + 1);
      break;
    }
  }
  const std::string description = without_directive(text);
  if (!dialect) dialect = dialect_of(description);
  std::optional<Format> format = described_object(*dialect, description);
  if (!format) {
    std::string_view whole = description;
    while (whole.ends_with("\\n")) whole.remove_suffix(2);  // at the end of Envoy's
    format = compiled(*dialect, parts_of(*dialect, whole));
  }
  for (const auto& [word, named] : kDialects) {
    if (named == *dialect) {
      format->word = word;
      break;
    }
  }
  if (!format->has(LinePart::kTime)) {
    why_not =
        "it has no variable for the time, such as $time_iso8601 of nginx, %t of Apache, "
        "%START_TIME% of Envoy";
    return std::nullopt;
  }
  return format;
}

bool looks_like_request(std::string_view line) {
  // "[10/Oct/2000:13:55:36 -0700]", or another time with the request line behind it.
  constexpr std::size_t kShortest = 20, kLongest = 33;
  for (std::size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    const std::size_t close = line.find(']', at);
    if (close == std::string_view::npos) break;
    const std::string_view inside = line.substr(at + 1, close - at - 1);
    if (inside.size() < kShortest || inside.size() > kLongest) continue;
    if ((inside[2] == '/' || line.substr(close).starts_with("] \"")) && parse_log_time(inside)) {
      return true;
    }
  }
  if (!line.starts_with('{')) return false;
  for (const std::string_view member : {"\"status\":", "\"response_code\":", "\"statusCode\":",
                                        "\"status_code\":", "\"DownstreamStatus\":"}) {
    if (line.find(member) != std::string_view::npos) return true;
  }
  return false;
}

bool make_sense(const Format& format, const LineValues& values) {
  const auto value = [&](LinePart part) { return values[static_cast<std::size_t>(part)]; };
  if (format.has(LinePart::kTime) && !format.has(LinePart::kDate) &&
      !parse_log_time(value(LinePart::kTime))) {
    return false;
  }
  if (format.has(LinePart::kStatus)) {
    std::string_view status = value(LinePart::kStatus);
    if (status.starts_with('-')) status.remove_prefix(1);
    if (!std::ranges::all_of(status, [](char c) { return c >= '0' && c <= '9'; })) return false;
  }
  if (format.has(LinePart::kDuration)) {
    std::string_view duration = value(LinePart::kDuration);
    duration = duration.substr(0, duration.find_first_of(", "));
    if (duration.starts_with('+')) duration.remove_prefix(1);
    if (!is_none(duration) && duration != "-1" && !parse_number(duration) &&
        !parse_duration_with_units(duration)) {
      return false;
    }
  }
  for (const LinePart part : {LinePart::kFirst, LinePart::kSecond, LinePart::kThird}) {
    const std::string_view duration = value(part);
    if (format.has(part) && duration != "-1" && duration != "-" && !parse_number(duration)) {
      return false;
    }
  }
  return true;
}

std::optional<Format> known_format(std::span<const std::string_view> lines, std::string_view word,
                                   std::size_t& matched) {
  matched = 0;
  std::optional<Format> best;
  for (const Known& known : kKnown) {
    if (word != "auto" && word != known.word) continue;
    Format format = compiled(known);
    std::size_t count = 0;
    for (const std::string_view line : lines) {
      LineValues values;
      count += format.pattern.match(line, values) && make_sense(format, values) ? 1 : 0;
    }
    if (count <= matched) continue;
    matched = count;
    best = std::move(format);
  }
  constexpr std::string_view kCommonWords = "auto|common|combined|nginx|apache|tomcat|gunicorn";
  if (!is_among(kCommonWords, word)) return best;
  std::size_t count = 0;
  std::optional<Format> common = common_format(lines, word, count);
  if (count <= matched) return best;
  matched = count;
  return common;
}

Meaning usual_meaning(std::string_view name) {
  if (name == "@t") return time_of(kEnd);  // Serilog's
  if (is_grpc_status(name)) return plain(LinePart::kGrpc);
  std::string_view stem = name;
  const std::uint8_t unit = unit_at_end(stem);
  const auto of_whole = [&](std::string_view whole, std::string_view cut) {
    Meaning meaning = meaning_of_bare(bare(whole));
    if (meaning.part != LinePart::kNothing || unit == kNoUnit) return meaning;
    meaning = meaning_of_bare(bare(cut));
    if (meaning.part == LinePart::kDuration) {
      meaning.units = unit;
    } else if (meaning.part != LinePart::kTime) {
      meaning = {};
    }
    return meaning;
  };
  Meaning meaning = of_whole(name, stem);
  if (meaning.part != LinePart::kNothing) return meaning;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view parent = name.substr(0, dot);
  if (!is_among(kUsualParents, bare(parent.substr(parent.rfind('.') + 1)))) return {};
  meaning = of_whole(name.substr(dot + 1), stem.size() > dot ? stem.substr(dot + 1) : "");
  constexpr std::uint8_t kNested = 100;
  meaning.rank = static_cast<std::uint8_t>(meaning.rank + kNested);
  return meaning;
}

CountedIn counted_in(std::string_view name) {
  std::string text(name);
  for (const auto& [sign, word] : {std::pair<std::string_view, std::string_view>{"/s", "persecond"},
                                   {"/sec", "persecond"},
                                   {"/second", "persecond"},
                                   {"/min", "perminute"},
                                   {"/minute", "perminute"}}) {
    if (!name.ends_with(sign)) continue;
    text = std::string(name.substr(0, name.size() - sign.size())) + std::string(word);
  }
  text = bare(text);
  if (is_among("count|requests|requestcount|requestscount|numrequests|numberofrequests|nrequests|"
               "reqcount|reqs",
               text)) {
    return CountedIn::kInterval;
  }
  // Counters as Prometheus names them: "http_requests_total", "request_duration_seconds_count".
  const auto is_about = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(
        words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
  };
  const bool is_total =
      text.starts_with("total") || text.ends_with("total") || text.starts_with("cumulative") ||
      text.ends_with("counter") ||
      (text.ends_with("count") && is_about({"secondscount", "durationcount", "latencycount"}));
  if (is_total && is_about({"request", "req", "queries", "query", "calls", "hits", "handled"}) &&
      !is_about({"fail", "error", "5xx", "4xx", "bytes", "size", "retr", "time", "reject"})) {
    return CountedIn::kTotal;
  }
  for (const auto& [unit, short_name, counted] :
       {std::tuple{std::string_view("second|sec|s"), 's', CountedIn::kSecond},
        {std::string_view("minute|min|m"), 'm', CountedIn::kMinute}}) {
    for (const std::string_view what : {"requests", "request", "reqs", "req", "queries", "query",
                                        "transactions", "calls", "hits"}) {
      if (!text.starts_with(what)) continue;
      const std::string_view per = std::string_view(text).substr(what.size());
      if (per.starts_with("per") && is_among(unit, per.substr(3))) return counted;
    }
    for (const char what : {'r', 'q', 't'}) {
      if (text == std::string{what, 'p', short_name}) return counted;
    }
  }
  return CountedIn::kNothing;
}

bool is_of_series(std::string_view name) {
  const std::string text = bare(name.substr(name.rfind('.') + 1));
  return is_among(
      "host|hostname|instance|instanceid|pod|podname|podid|node|nodename|server|servername|"
      "machine|container|containername|containerid|replica|shard|worker|backend|upstream|target|"
      "zone|region|az|availabilityzone|dc|datacenter|cluster|job|ip|address",
      text);
}

bool is_of_many(std::string_view name) {
  constexpr std::string_view kFigures =
      "avg|average|mean|median|percentile|quantile|stddev|stdev|max|maximum|min|minimum";
  // With these words alone the figure is one of durations.
  constexpr std::string_view kDurations =
      "latency|latencies|duration|durations|response|responses|resp|request|requests|req|time|"
      "times|"
      "elapsed|rt|took|ms|us|ns|s|sec|seconds|millis|milliseconds|micros|service|server|upstream|"
      "target|processing|ttfb|in|of|http";
  bool any_figure = false, any_duration = false, only_extreme = true;
  for (std::size_t at = 0; at < name.size();) {
    const auto is_part = [&](std::size_t i) {
      return is_name_character(name[i]) && name[i] != '_';
    };
    const auto is_capital = [&](std::size_t i) { return name[i] >= 'A' && name[i] <= 'Z'; };
    if (!is_part(at)) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < name.size() && is_part(end) && (!is_capital(end) || is_capital(end - 1))) ++end;
    const std::string word = bare(name.substr(at, end - at));
    at = end;
    const auto digits = [](std::string_view text) {
      return text.size() >= 2 &&
             std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    const std::string_view text = word;
    if ((text.starts_with('p') && digits(text.substr(1))) ||
        (text.ends_with("th") && digits(text.substr(0, text.size() - 2)))) {
      any_figure = true;
      only_extreme = false;
    } else if (is_among(kFigures, text)) {
      any_figure = true;
      only_extreme = only_extreme && (text.starts_with("max") || text.starts_with("min"));
    } else if (is_among(kDurations, text)) {
      any_duration = true;
    } else if (!std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
      return false;
    }
  }
  return any_figure && (any_duration || !only_extreme);
}

std::uint8_t duration_unit_of(std::string_view name) {
  const Meaning meaning = usual_meaning(name);
  if (meaning.part == LinePart::kDuration) return meaning.units;
  const std::uint8_t unit = unit_at_end(name);
  if (unit != kNoUnit) return unit;
  for (const auto& [whole, its] : {std::pair<std::string_view, std::uint8_t>{"s", kInS},
                                   {"ms", kInMs},
                                   {"us", kInUs},
                                   {"ns", kInNs}}) {
    if (name == whole) return its;
  }
  return kInAnyUnit;
}

Meaning w3c_meaning(std::string_view field) {
  const Meaning* known = find_variable(kW3cFields, field);
  return known == nullptr ? Meaning{} : *known;
}

bool split_csv(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    if (!line.empty() && line.front() == '"') {
      std::size_t end = 1;
      while (true) {
        end = line.find('"', end);
        if (end == std::string_view::npos) return false;
        if (end + 1 < line.size() && line[end + 1] == '"') {
          end += 2;
          continue;
        }
        break;
      }
      fields.push_back(line.substr(1, end - 1));
      line.remove_prefix(end + 1);
      if (line.empty()) return true;
      if (line.front() != ',') return false;
      line.remove_prefix(1);
      continue;
    }
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return true;
    line.remove_prefix(comma + 1);
  }
}

bool split_blanks(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  const bool tabs = line.find('\t') != std::string_view::npos;
  std::size_t at = 0;
  while (at < line.size()) {
    if (!tabs && line[at] == ' ') {
      ++at;
      continue;
    }
    if (line[at] == '"') {
      const std::size_t close = line.find('"', at + 1);
      if (close == std::string_view::npos) return false;
      fields.push_back(line.substr(at + 1, close - at - 1));
      at = close + 2;
      continue;
    }
    const std::size_t end = std::min(line.find(tabs ? '\t' : ' ', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return true;
}

}  // namespace retrysim::fit

// SPDX-License-Identifier: MIT
#include "cli/configuration.hpp"

#include <retrysim/simulation.hpp>

#include "report/document/text.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace retrysim::cli {

namespace {

// --- A file, and the record of what has been read of it ------------------------------------------

constexpr std::size_t kMostNodes = 200'000;  // a few aliases can stand for any number of them
constexpr int kDeepest = 60;

/// Names are written in three ways: max_attempts, maxAttempts, max-attempts.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_' && c != '-')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = scenario::trimmed(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1},
                           {"m", 60},    {"min", 60},  {"h", 3600},  {"d", 86400}};

/// "1m30s", "0.25s", "500 ms": numbers with units, added up.
std::optional<double> seconds_with_units(std::string_view text) {
  double sum = 0;
  bool some = false;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return {};
    const auto value = number_in(text.substr(0, digits));
    text.remove_prefix(digits);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::size_t end = std::min(text.find_first_of("0123456789. "), text.size());
    const auto unit = std::ranges::find(kUnits, text.substr(0, end), &Unit::name);
    if (!value || unit == std::end(kUnits)) return {};
    sum += *value * unit->seconds;
    some = true;
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return some ? std::optional(sum) : std::nullopt;
}

/// ISO 8601's "PT1M0.5S".
std::optional<double> iso_seconds(std::string_view text) {
  if (!text.starts_with("PT")) return {};
  std::string lower;
  for (const char c : text.substr(2))
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return seconds_with_units(lower);
}

/// .NET's TimeSpan: [D.]HH:MM[:SS[.FFFFFFF]], hours below 24, minutes and seconds below 60.
std::optional<double> timespan_seconds(std::string_view text) {
  const auto whole = [](std::string_view digits, double below) -> std::optional<double> {
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return {};
    }
    const auto value = number_in(digits);
    return value && *value < below ? value : std::nullopt;
  };
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (parts.size() < 2 || parts.size() > 3) return {};
  std::optional<double> days = 0;
  if (const std::size_t dot = parts[0].find('.'); dot != std::string_view::npos) {
    constexpr double kMostDays = 1e7;
    days = whole(parts[0].substr(0, dot), kMostDays);
    parts[0].remove_prefix(dot + 1);
  }
  std::optional<double> fraction = 0;
  if (const std::size_t dot = parts.back().find('.'); dot != std::string_view::npos) {
    const std::string_view decimals = parts.back().substr(dot + 1);
    constexpr std::size_t kMostDecimals = 7;
    if (parts.size() != 3 || decimals.size() > kMostDecimals || !whole(decimals, 1e7)) return {};
    fraction = number_in(parts.back().substr(dot));
    if (!fraction) fraction = number_in("0" + std::string(parts.back().substr(dot)));
    parts.back() = parts.back().substr(0, dot);
  }
  const auto hours = whole(parts[0], 24), minutes = whole(parts[1], 60);
  const auto seconds = parts.size() == 3 ? whole(parts[2], 60) : std::optional<double>(0);
  if (!days || !hours || !minutes || !seconds || !fraction) return {};
  return *days * 86400 + *hours * 3600 + *minutes * 60 + *seconds + *fraction;
}

struct Reading {
  std::string file;
  std::set<std::string> used;          // paths of fields that keys were made of
  std::set<std::string> opened;        // paths of maps that are read field by field
  std::set<std::string> blocks;        // paths of what is about retries
  std::vector<LeftOutField> left_out;  // with a reason of their own
  std::size_t nodes = 0;
  std::size_t matches = 0;  // of policies with what is said of them elsewhere in the file

  /// Each policy with each rule would be a square.
  void count_match() {
    constexpr std::size_t kMostMatches = 200'000;
    if (++matches <= kMostMatches) return;
    throw BadConfiguration(fmt::format(
        "{}: error: its policies and the rules for them make more than {} pairs; import it in "
        "parts",
        file, kMostMatches));
  }
  void leave(const std::string& path, std::string why) {
    if (used.insert(path).second) left_out.push_back({path, std::move(why)});
  }
  void count_node(int depth) {
    stop_point();
    if (++nodes > kMostNodes || depth > kDeepest) {
      throw BadConfiguration(
          fmt::format("{}: error: the file is nested too deeply, or has more than {} values", file,
                      kMostNodes));
    }
  }
};

/// A value in the file, which may be absent.
class Field {
 public:
  Field(YAML::Node node, std::string path, Reading& reading)
      : node_(std::move(node)), path_(std::move(path)), reading_(&reading) {}

  explicit operator bool() const { return node_.IsDefined() && !node_.IsNull(); }
  const std::string& path() const { return path_; }
  bool is_null() const { return node_.IsDefined() && node_.IsNull(); }
  bool is_map() const { return node_.IsDefined() && node_.IsMap(); }
  bool is_list() const { return node_.IsDefined() && node_.IsSequence(); }
  bool is_scalar() const { return node_.IsDefined() && node_.IsScalar(); }
  /// Its text, which must be there; does not count as use of it.
  const std::string& plain_text() const { return node_.Scalar(); }
  /// Whether its value is that text; does not count as use of it.
  bool is(std::string_view text) const {
    return node_.IsDefined() && node_.IsScalar() && node_.Scalar() == text;
  }

  /// Itself, which must be a map, or a list, if it is there. Throw BadConfiguration.
  const Field& map() const {
    if (*this && !is_map()) fail("expected fields with names");
    reading_->opened.insert(path_);
    return *this;
  }
  const Field& list() const {
    if (*this && !is_list()) fail("expected a list");
    return *this;
  }

  /// The member of that name, in whichever way it is written.
  Field operator[](std::string_view name) const {
    if (is_map()) {
      if (!by_name_) index();
      if (const auto found = by_name_->find(plain_name(name)); found != by_name_->end()) {
        return {found->second.second, below(found->second.first), *reading_};
      }
    }
    return {YAML::Node(YAML::NodeType::Undefined), below(std::string(name)), *reading_};
  }
  std::vector<std::pair<std::string, Field>> members() const {
    std::vector<std::pair<std::string, Field>> all;
    if (!is_map()) return all;
    for (const auto& member : node_) {
      const std::string name = member.first.IsScalar() ? member.first.Scalar() : "?";
      all.emplace_back(name, Field(member.second, below(name), *reading_));
    }
    return all;
  }
  std::vector<Field> items() const {
    std::vector<Field> all;
    if (!is_list()) return all;
    std::size_t i = 0;
    for (const auto& value : node_)
      all.push_back({value, fmt::format("{}[{}]", path_, i++), *reading_});
    return all;
  }

  // Its value, which is thereby used. Throw BadConfiguration.

  std::string text() const {
    if (!node_.IsScalar()) fail("expected a text");
    use();
    return node_.Scalar();
  }
  double number(double least = 0, double most = 1e15) const {
    const auto value =
        node_.IsScalar() ? number_in(scenario::trimmed(node_.Scalar())) : std::nullopt;
    if (!value || *value < least || *value > most) {
      fail(fmt::format("expected a number from {} to {}", least, most));
    }
    use();
    return *value;
  }
  std::int64_t count() const {
    constexpr double kMost = 4e9;
    const double value = number(0, kMost);
    if (value != std::floor(value)) fail("expected a whole number");
    return static_cast<std::int64_t>(value);
  }
  bool flag() const {
    const std::string word = text();
    if (word != "true" && word != "false") fail("expected true or false");
    return word == "true";
  }
  /// Bare numbers are in units of so many seconds.
  Duration duration(double bare_unit = 1) const {
    constexpr double kLongest = 9e8;
    std::optional<double> seconds;
    if (node_.IsScalar()) {
      const std::string_view text = scenario::trimmed(node_.Scalar());
      if (const auto bare = number_in(text)) seconds = *bare * bare_unit;
      if (!seconds) seconds = seconds_with_units(text);
      if (!seconds) seconds = iso_seconds(text);
      if (!seconds) seconds = timespan_seconds(text);
    }
    if (!seconds || *seconds < 0 || *seconds > kLongest) fail("expected a duration such as 250ms");
    use();
    return Duration::from_seconds(*seconds);
  }
  /// A list, or a text with commas.
  std::vector<std::string> words() const {
    if (!is_list()) return split_list(text());
    std::vector<std::string> all;
    for (const Field& item : items()) all.push_back(item.text());
    use();
    return all;
  }

  void use() const { reading_->used.insert(path_); }
  /// It has no counterpart. An absent field is none that could be left out.
  void leave(std::string why) const {
    if (*this) reading_->leave(path_, std::move(why));
  }
  /// A key is made of it, which does not say all that it does, or all that it does if it is absent.
  void leave_in_part(std::string why) const {
    reading_->left_out.push_back({path_ + " in part", std::move(why)});
  }
  [[noreturn]] void fail(const std::string& expected) const {
    const YAML::Mark mark = node_.Mark();
    const std::string value = node_.IsScalar() ? fmt::format(" = \"{}\"", node_.Scalar()) : "";
    throw BadConfiguration(fmt::format(
        "{}:{}:{}: error: {}{} is wrong; {}", reading_->file, mark.line + 1, mark.column + 1,
        scenario::printable_line(path_), scenario::printable_line(value), expected));
  }

 private:
  std::string below(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }

  /// Of two names that are written in different ways, the first one counts.
  void index() const {
    auto names = std::make_shared<Index>();
    for (const auto& member : node_) {
      if (!member.first.IsScalar()) continue;
      const std::string& name = member.first.Scalar();
      names->try_emplace(plain_name(name), name, member.second);
    }
    by_name_ = std::move(names);
  }

  using Index = std::map<std::string, std::pair<std::string, YAML::Node>>;

  YAML::Node node_;
  std::string path_;
  Reading* reading_;
  mutable std::shared_ptr<const Index> by_name_;  // of a map that has been looked into
};

/// `visit` sees all maps, outer ones first.
void each_map(const Field& field, Reading& reading, const std::function<void(const Field&)>& visit,
              int depth = 0) {
  reading.count_node(depth);
  if (field.is_map()) visit(field);
  for (const auto& [name, member] : field.members()) each_map(member, reading, visit, depth + 1);
  for (const Field& item : field.items()) each_map(item, reading, visit, depth + 1);
}

/// Whether it stands below, or has in it, a name with "retry" or "retries" in it.
bool speaks_of_retries(const Field& field, Reading& reading, int depth) {
  reading.count_node(depth);
  const std::string names = plain_name(field.path());
  if (names.find("retry") != std::string::npos || names.find("retries") != std::string::npos)
    return true;
  const auto below = [&](const Field& f) { return speaks_of_retries(f, reading, depth + 1); };
  return std::ranges::any_of(field.members(), [&](const auto& m) { return below(m.second); }) ||
         std::ranges::any_of(field.items(), below);
}

/// Names what has not been read: whole branches of which nothing has.
void list_unused(const Field& field, Reading& reading, int depth = 0, bool in_block = false) {
  reading.count_node(depth);
  const std::string& path = field.path();
  if (reading.used.contains(path)) return;
  in_block = in_block || reading.blocks.contains(path);
  const auto is_used_below = [&](char separator) {
    const std::string start = path + separator;
    const auto next = reading.used.lower_bound(start);
    return next != reading.used.end() && next->starts_with(start);
  };
  const bool touched =
      path.empty() ? !reading.used.empty() : is_used_below('.') || is_used_below('[');
  const bool is_read = (path.empty() || reading.opened.contains(path)) && !field.members().empty();
  if (!touched && !is_read) {
    const char* why = in_block ? "has no counterpart here"
                      : speaks_of_retries(field, reading, depth)
                          ? "may be about retries, but is not known here"
                          : "is not about retries";
    if (field.is_null()) why = "has no value";
    reading.left_out.push_back({path.empty() ? "the file" : path, why});
    return;
  }
  for (const auto& [name, member] : field.members()) {
    list_unused(member, reading, depth + 1, in_block);
  }
  for (const Field& item : field.items()) list_unused(item, reading, depth + 1, in_block);
}

// --- Policies ------------------------------------------------------------------------------------

std::string in_toml(Duration d) { return scenario::render_text(scenario::to_text(d)); }
std::string in_toml(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    return fmt::format("{}", static_cast<std::int64_t>(number));
  }
  return scenario::render_number(number);
}
std::string text_in_toml(std::string_view text) { return scenario::render_text(text); }

void set(ImportedPolicy& p, std::string_view path, std::string value, std::string source) {
  const auto known = std::ranges::find(p.keys, path, &ImportedKey::path);
  if (known != p.keys.end()) {
    known->value = std::move(value);
    known->source = std::move(source);
  } else {
    p.keys.push_back({std::string(path), std::move(value), std::move(source)});
  }
}
void set(ImportedPolicy& p, std::string_view path, std::string value, const Field& from) {
  set(p, path, std::move(value), from.path());
}
void remove(ImportedPolicy& p, std::string_view path) {
  std::erase_if(p.keys, [&](const ImportedKey& key) { return key.path == path; });
}

void set_backoff(ImportedPolicy& p, Duration base, double factor, std::optional<Duration> cap,
                 std::string_view jitter, const std::string& source) {
  set(p, "retry.backoff.base", in_toml(base), source);
  set(p, "retry.backoff.throttle_base", in_toml(base), source);
  set(p, "retry.backoff.factor", in_toml(factor), source);
  set(p, "retry.backoff.cap", cap ? in_toml(*cap) : text_in_toml("none"), source);
  set(p, "retry.backoff.jitter", text_in_toml(jitter), source);
}

/// Lengthens each delay v by up to `share` of it. That is what proportional jitter makes of the
/// middle; the cap comes last.
void lengthen_backoff(ImportedPolicy& p, Duration base, double share, const std::string& source) {
  const std::string middle = in_toml(Duration::from_seconds(base.in_seconds() * (1 + share / 2)));
  set(p, "retry.backoff.base", middle, source + ", with half of the jitter");
  set(p, "retry.backoff.throttle_base", middle, source + ", with half of the jitter");
  set(p, "retry.backoff.jitter", text_in_toml("proportional"), source);
  set(p, "retry.backoff.jitter_share", in_toml(share / (2 + share)), source);
  set(p, "retry.backoff.jitter_before_cap", "true", source);
}

/// Their paths, of those that there are.
std::string paths(const std::vector<Field>& fields) {
  std::string all;
  for (const Field& f : fields) {
    if (f) all += (all.empty() ? "" : ", ") + f.path();
  }
  return all;
}

/// Delays of base, base + step, base + 2 step, ... for so many retries, each drawn from a part
/// `share` of it below to as much above; the last one goes on.
struct LinearDelays {
  std::string text;
  bool cut = false;  ///< the limit cuts a draw, which the list does not show as it is
};
LinearDelays linear_delays(Duration base, Duration step, std::int64_t retries,
                           std::optional<Duration> longest, double share = 0) {
  LinearDelays list;
  const Duration most = longest.value_or(Duration::max());
  Duration delay = base;
  for (std::int64_t i = 0; i < std::clamp<std::int64_t>(retries, 1, 100); ++i, delay += step) {
    const auto part = [&](double of) { return Duration::from_seconds(delay.in_seconds() * of); };
    const Duration low = share > 0 ? part(1 - share) : delay;
    const Duration high = share > 0 ? part(1 + share) : delay;
    list.text += list.text.empty() ? "" : ", ";
    if (low >= most || low == high) {
      list.text += in_toml(std::min(low, most));
    } else {
      list.text += fmt::format("{{ distribution = \"uniform\", min = {}, max = {} }}", in_toml(low),
                               in_toml(std::min(high, most)));
      list.cut = list.cut || high > most;
    }
    if (low >= most) break;
  }
  list.text = "[" + list.text + "]";
  return list;
}

/// A timeout of which zero means that there is none.
void set_timeout(ImportedPolicy& p, std::string_view key, const Field& from) {
  if (!from) return;
  const Duration d = from.duration();
  set(p, key, d > Duration::zero() ? in_toml(d) : text_in_toml("none"), from);
}

void begin(ImportedPolicy& p, std::string_view sdk, std::string_view software) {
  set(p, "retry.mode", text_in_toml("custom"), "the rules below");
  if (!sdk.empty()) set(p, "retry.sdk", text_in_toml(sdk), fmt::format("{}'s rules", software));
}

constexpr std::string_view kRetriedHere =
    "connection errors, timeouts, 500, 502, 503 and 504 are retried here, and throttling codes";

/// What to say of a list of statuses that are retried there.
std::string of_statuses(const std::vector<std::string>& codes) {
  constexpr std::string_view kKnown[] = {"429", "500", "502", "503", "504"};
  std::vector<std::string> others;
  std::ranges::copy_if(codes, std::back_inserter(others), [&](const std::string& code) {
    return std::ranges::count(kKnown, code) == 0;
  });
  std::string why(kRetriedHere);
  if (!others.empty()) why += fmt::format("; no counterpart: {}", fmt::join(others, ", "));
  return why;
}

/// 429 is retried if the list has it. `more` is another sentence on what differs.
void set_statuses(ImportedPolicy& p, const Field& list, std::string_view more = "") {
  const std::vector<std::string> codes = list.words();
  set(p, "retry.status_429",
      text_in_toml(std::ranges::count(codes, "429") > 0 ? "transient" : "not-retryable"), list);
  list.leave_in_part(of_statuses(codes) + std::string(more));
}

// --- Envoy, Istio --------------------------------------------------------------------------------

// Fields and defaults: envoy/config/route/v3/route_components.proto (RetryPolicy, HedgePolicy),
// envoy/config/cluster/v3/circuit_breaker.proto; Istio's networking/v1 virtual_service.proto and
// destination_rule.proto.

/// Names the conditions of `retry_on` that differ from what is retried in the simulation.
void compare_conditions(const Field& retry_on, const std::vector<std::string>& conditions) {
  constexpr std::string_view kOfErrors[] = {"5xx", "gateway-error", "503", "500", "502", "504"};
  constexpr std::string_view kOfConnections[] = {
      "connect-failure",        "reset", "reset-before-request", "refused-stream", "5xx",
      "retriable-status-codes", "429"};
  std::vector<std::string> unknown;
  bool errors = false;
  for (const std::string& c : conditions) {
    const bool of_errors = std::ranges::count(kOfErrors, c) > 0;
    errors |= of_errors || c == "unavailable" || c == "internal";
    if (!of_errors && std::ranges::count(kOfConnections, c) == 0) unknown.push_back(c);
  }
  std::string why(kRetriedHere);
  if (!errors) why += "; the file does not ask for errors of the server";
  if (!unknown.empty()) {
    why += fmt::format("; no counterpart: {}", fmt::join(unknown, ", "));
  }
  if (retry_on) retry_on.leave_in_part(std::move(why));
}

void read_envoy_backoff(ImportedPolicy& p, const Field& backoff) {
  const Field base = backoff["base_interval"], most = backoff["max_interval"];
  if (!base) return;
  const Duration interval = base.duration();
  const Duration cap = most ? most.duration() : interval * 10;
  set(p, "retry.backoff.base", in_toml(interval), base);
  set(p, "retry.backoff.throttle_base", in_toml(interval), base);
  set(p, "retry.backoff.cap", in_toml(cap),
      most ? most.path() : "ten times base_interval, Envoy's default");
}

void read_envoy_policy(ImportedPolicy& p, const Field& policy, Reading& reading) {
  reading.blocks.insert(policy.path());
  begin(p, "envoy", "Envoy");
  const Field retries = policy["num_retries"], on = policy["retry_on"];
  if (on) {
    compare_conditions(on, on.words());
    set(p, "retry.max_retries", retries ? in_toml(static_cast<double>(retries.count())) : "1",
        retries ? retries.path() : "Envoy's default for num_retries");
  } else {
    set(p, "retry.max_retries", "0", "without retry_on Envoy retries nothing");
    retries.leave("retry_on is missing, so that Envoy retries nothing");
  }
  set_timeout(p, "attempt_timeout", policy["per_try_timeout"]);
  read_envoy_backoff(p, policy["retry_back_off"].map());
  if (const Field f = policy["rate_limited_retry_back_off"].map(); f) {
    set(p, "retry.retry_after", text_in_toml("minimum"), f);
    f["reset_headers"].leave("every suggested delay is taken for one in such a header");
    f["max_interval"].leave("suggested delays have no limit here");
  }
  const Field statuses = policy["retriable_status_codes"];
  if (statuses && on && std::ranges::count(on.words(), "retriable-status-codes") > 0) {
    set_statuses(p, statuses);
  } else {
    statuses.leave("Envoy reads it only if retry_on names retriable-status-codes");
  }
  const Field predicates = policy["retry_host_predicate"],
              tries = policy["host_selection_retry_max_attempts"];
  for (const Field& predicate : predicates.list().items()) {
    const Field name = predicate["name"], type = predicate["typed_config"]["@type"];
    const bool named = name && name.text().find("previous_hosts") != std::string::npos;
    const bool typed = type && type.text().find("PreviousHosts") != std::string::npos;
    if (!named && !typed) {
      predicate.leave("hosts differ in nothing but that they were tried before");
      continue;
    }
    set(p, "retry.avoid_hosts", tries ? in_toml(static_cast<double>(tries.count())) : "1",
        tries ? tries.path() : "Envoy's default for host_selection_retry_max_attempts");
  }
  tries.leave("goes with the host predicate previous_hosts");
  policy["retry_priority"].leave("hosts have no priorities");
  policy["per_try_idle_timeout"].leave("answers come whole");
}

void read_hedge_policy(ImportedPolicy& p, const Field& hedge, const Field& policy) {
  if (!hedge) return;
  const Field on_timeout = hedge["hedge_on_per_try_timeout"], timeout = policy["per_try_timeout"];
  if (on_timeout && on_timeout.flag() && timeout) {
    // The first attempt goes on, and so there is no timeout that ends it.
    set(p, "retry.hedging.delay", in_toml(timeout.duration()),
        on_timeout.path() + " with " + timeout.path());
    remove(p, "attempt_timeout");
  }
  hedge["initial_requests"].leave("Envoy itself does not implement it");
  hedge["additional_request_chance"].leave("Envoy itself does not implement it");
}

void set_active_budget(ImportedPolicy& p, double share, double minimum, const std::string& source) {
  set(p, "retry.budget.kind", text_in_toml("active"), source);
  set(p, "retry.budget.share", in_toml(share), source);
  set(p, "retry.budget.minimum", in_toml(minimum), source);
}

/// Envoy's, and Istio's with the names that it has there.
void read_retry_budget(ImportedPolicy& p, const Field& budget) {
  const Field share = budget["budget_percent"],
              percent = share ? share["value"] : budget["percent"],
              least = budget["min_retry_concurrency"], interval = budget["budget_interval"];
  constexpr double kEnvoysShare = 20, kEnvoysMinimum = 3;
  set_active_budget(p, (percent ? percent.number(0, 100) : kEnvoysShare) / 100,
                    least ? least.number() : kEnvoysMinimum, budget.path());
  if (budget.members().empty()) budget.use();
  if (!interval) return;
  if (const Duration d = interval.duration(); d > Duration::zero()) {
    set(p, "retry.budget.kind", text_in_toml("interval"), interval);
    set(p, "retry.budget.window", in_toml(d), interval);
  }
}

/// What belongs to the service's instances, whose table an import does not have, with the line that
/// says it there. Percentages in common.proto and endpoint.proto.
void leave_panic(const Field& cluster) {
  const auto leave = [](const Field& field, std::string_view key, const std::string& value) {
    field.leave(fmt::format("of the service's instances: write {} = {} there", key, value));
  };
  const Field panic = cluster["common_lb_config"]["healthy_panic_threshold"];
  if (panic) {
    const Field percent = panic.map()["value"];
    leave(panic, "panic_threshold", in_toml(percent ? percent.number(0, 100) / 100 : 0));
  }
  const Field policy = cluster["load_assignment"]["policy"];
  if (const Field factor = policy["overprovisioning_factor"]; factor) {
    leave(policy, "panic_overprovisioning", in_toml(factor.number(100, 100'000) / 100));
  }
}

void read_envoy_cluster(ImportedPolicy& p, const Field& cluster, Reading& reading) {
  reading.blocks.insert(cluster["circuit_breakers"].path());
  reading.blocks.insert(cluster["outlier_detection"].path());
  if (const Field f = cluster["connect_timeout"]; f)
    set(p, "connect_timeout", in_toml(f.duration()), f);
  if (const Field f = cluster["name"]; f) f.use();
  for (const Field& t : cluster["circuit_breakers"].map()["thresholds"].list().items()) {
    if (const Field priority = t["priority"]; priority && priority.text() != "DEFAULT") {
      reading.leave(t.path(), "requests have no routing priority");
      continue;
    }
    if (const Field f = t["max_connections"]; f) {
      set(p, "max_connections", in_toml(static_cast<double>(f.count())), f);
    }
    if (const Field f = t["retry_budget"].map(); f) {
      read_retry_budget(p, f);
      t["max_retries"].leave("retry_budget takes its place");
    } else if (const Field most = t["max_retries"]; most) {
      set_active_budget(p, 0, most.number(), most.path());
    }
    t["max_requests"].leave("clients do not limit the requests under way");
    t["max_pending_requests"].leave("any number of attempts wait for a connection");
    t["track_remaining"].leave("is about statistics");
  }
  cluster["outlier_detection"].leave(
      "a rule of the service's instances: see service.*.ejection in the list of keys");
  leave_panic(cluster);
}

/// A name for a client group.
std::string group_name(std::string_view text, std::string_view otherwise) {
  std::string name;
  for (const char c : text) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    if (good) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? std::string(otherwise) : name;
}

/// Which policies belong to a name, in their order.
class PoliciesByName {
 public:
  explicit PoliciesByName(const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) places_[names[i]].push_back(i);
  }
  const std::vector<std::size_t>& of(const std::string& name) const {
    static const std::vector<std::size_t> kNone;
    const auto found = places_.find(name);
    return found == places_.end() ? kNone : found->second;
  }

 private:
  std::map<std::string, std::vector<std::size_t>> places_;
};

/// What a file has, in the order in which converters meet it.
using Documents = std::vector<Field>;

void import_envoy(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  std::vector<Field> clusters, plain_clusters;  // with rules of retries, and without
  std::vector<std::string> targets;             // of the policies: the clusters that they send to
  const auto add = [&](const Field& policy, const Field& route, const Field& hedging) {
    ImportedPolicy p;
    const Field cluster = route["cluster"];
    targets.push_back(cluster ? cluster.text() : "");
    p.name = group_name(targets.back(), "imported");
    p.from = policy.path();
    read_envoy_policy(p, policy.map(), reading);
    set_active_budget(p, 0, 3, "Envoy's default: 3 retries under way at once");
    read_hedge_policy(p, hedging["hedge_policy"].map(), policy);
    if (const Field f = route["timeout"]; f) {
      set_timeout(p, "deadline", f);
    } else if (cluster) {
      set(p, "deadline", in_toml(Duration::seconds(15)), "Envoy's default for a route's timeout");
    }
    result.policies.push_back(std::move(p));
  };
  // The routes of a virtual host have its policy, unless they have their own.
  const auto add_inherited = [&](const Field& host) {
    const Field policy = host["retry_policy"];
    std::set<std::pair<std::string, std::string>> known;
    for (const Field& item : host["routes"].list().items()) {
      const Field route = item["route"];
      const Field cluster = route["cluster"], timeout = route["timeout"];
      if (!cluster || route["retry_policy"]) continue;
      if (!known.emplace(cluster.text(), timeout ? timeout.text() : "").second) continue;
      add(policy, route, route["hedge_policy"] ? route : host);
    }
    return !known.empty();
  };
  for (const Field& d : documents) {
    each_map(d, reading, [&](const Field& map) {
      if (const Field policy = map["retry_policy"]; policy) {
        if (!map["routes"] || !add_inherited(map)) add(policy, map, map);
      } else if (map.path() == d.path() && (map["retry_on"] || map["num_retries"])) {
        add(map, map, map);
      }
      if (map["circuit_breakers"] || map["outlier_detection"]) {
        clusters.push_back(map);
      } else if (map["name"] && map["connect_timeout"]) {
        plain_clusters.push_back(map);
      }
    });
  }
  if (result.policies.empty() && !clusters.empty()) {
    for (const Field& c : clusters) {
      const Field name = c["name"];
      targets.push_back(name ? name.text() : "");
      ImportedPolicy p;
      p.name = group_name(targets.back(), "imported");
      p.from = c.path();
      begin(p, "envoy", "Envoy");
      set_active_budget(p, 0, 3, "Envoy's default: 3 retries under way at once");
      result.policies.push_back(std::move(p));
    }
  }
  const PoliciesByName by_target(targets);
  for (const Field& c : clusters) {
    const Field name = c["name"];
    if (clusters.size() == 1) {
      for (std::size_t i = 0; i < result.policies.size(); ++i) {
        const bool same = name && name.text() == targets[i];
        if (same || !name || targets[i].empty()) read_envoy_cluster(result.policies[i], c, reading);
      }
      continue;
    }
    if (!name) continue;
    for (const std::size_t i : by_target.of(name.text())) {
      reading.count_match();
      read_envoy_cluster(result.policies[i], c, reading);
    }
  }
  for (const Field& c : plain_clusters) {
    const Field name = c["name"];
    if (!name.is_scalar()) continue;
    for (const std::size_t i : by_target.of(name.plain_text())) {
      reading.count_match();
      read_envoy_cluster(result.policies[i], c, reading);
    }
  }
}

void read_istio_route(ImportedPolicy& p, const Field& http, Reading& reading) {
  const Field retries = http["retries"].map();
  if (retries) reading.blocks.insert(retries.path());
  begin(p, "envoy", "Envoy");
  const Field attempts = retries["attempts"], on = retries["retryOn"];
  // istio/pilot/pkg/networking/core/route/retry/retry.go: without attempts there is no policy.
  const bool off = retries && (!attempts || attempts.count() == 0);
  if (attempts) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(attempts.count())), attempts);
  } else {
    set(p, "retry.max_retries", off ? "0" : "2",
        off ? "retries without attempts are none to Istio" : "Istio's default");
  }
  set(p, "retry.budget.kind", text_in_toml("none"), "Istio's default for maxRetries");
  if (on) {
    const std::vector<std::string> conditions = on.words();
    compare_conditions(on, conditions);
    const bool throttled = std::ranges::count(conditions, "429") > 0;
    set(p, "retry.status_429", text_in_toml(throttled ? "transient" : "not-retryable"), on);
  } else if (!off) {
    on.leave_in_part(fmt::format(
        "Istio's default is connect-failure, refused-stream, unavailable, cancelled; {}",
        kRetriedHere));
  }
  if (off) {
    retries["per_try_timeout"].leave("Istio has it for retries only, and here there are none");
  } else {
    set_timeout(p, "attempt_timeout", retries["per_try_timeout"]);
  }
  if (const Field f = retries["backoff"]; f) {
    const Duration base = f.duration();
    set(p, "retry.backoff.base", in_toml(base), f);
    set(p, "retry.backoff.throttle_base", in_toml(base), f);
    set(p, "retry.backoff.cap", in_toml(base * 10), "ten times backoff, Envoy's default");
  }
  retries["retry_remote_localities"].leave("hosts have no localities");
  const Field ignore = retries["retry_ignore_previous_hosts"];
  const bool avoids = !ignore || ignore.flag();
  set(p, "retry.avoid_hosts", avoids ? "5" : "0", ignore ? ignore.path() : "Istio's default");
  set_timeout(p, "deadline", http["timeout"]);
}

void read_istio_pool(ImportedPolicy& p, const Field& policy, Reading& reading) {
  const Field pool = policy["connection_pool"].map(), http = pool["http"].map(),
              tcp = pool["tcp"].map();
  reading.blocks.insert(policy.path());
  if (const Field f = policy["retry_budget"].map(); f) {
    read_retry_budget(p, f);
    http["max_retries"].leave("retryBudget takes its place");
  } else if (const Field most = http["max_retries"]; most) {
    set_active_budget(p, 0, most.number(), most.path());
  }
  if (const Field f = tcp["max_connections"]; f) {
    set(p, "max_connections", in_toml(static_cast<double>(f.count())), f);
  }
  if (const Field f = tcp["connect_timeout"]; f)
    set(p, "connect_timeout", in_toml(f.duration()), f);
  http["http1_max_pending_requests"].leave("any number of attempts wait for a connection");
  http["http2_max_requests"].leave("clients do not limit the requests under way");
  http["max_requests_per_connection"].leave("connections are kept");
  policy["outlier_detection"].leave(
      "a rule of the service's instances: see service.*.ejection in the list of keys");
}

void import_istio(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  std::vector<std::string> hosts;  // of the policies
  for (const Field& d : documents) {
    for (const Field& http : d["spec"]["http"].items()) {
      if (!http.map()) continue;
      ImportedPolicy p;
      std::string host;
      for (const Field& route : http["route"].items()) {
        if (const Field f = route["destination"]["host"]; f && host.empty()) host = f.text();
      }
      p.name = group_name(host.substr(0, host.find('.')), "imported");
      p.from = http.path();
      read_istio_route(p, http, reading);
      hosts.push_back(host);
      result.policies.push_back(std::move(p));
    }
  }
  std::optional<PoliciesByName> by_host;
  for (const Field& d : documents) {
    const Field policy = d["spec"]["traffic_policy"].map(), host = d["spec"]["host"];
    if (!policy) continue;
    const std::string name = host ? host.text() : "";
    if (result.policies.empty()) {
      ImportedPolicy p;
      p.name = group_name(name.substr(0, name.find('.')), "imported");
      p.from = policy.path();
      begin(p, "envoy", "Envoy");
      set(p, "retry.max_retries", "2", "Istio's default");
      hosts.push_back(name);
      result.policies.push_back(std::move(p));
    }
    // The places are those in `hosts`, which grows only before the first of them is looked up.
    if (!by_host) by_host.emplace(hosts);
    std::vector<std::size_t> meant;
    if (name.empty()) {
      for (std::size_t i = 0; i < result.policies.size(); ++i) meant.push_back(i);
    } else {
      std::ranges::merge(by_host->of(name), by_host->of(""), std::back_inserter(meant));
    }
    for (const std::size_t i : meant) {
      reading.count_match();
      read_istio_pool(result.policies[i], policy, reading);
    }
  }
  for (const Field& d : documents) {
    for (const Field& subset : d["spec"]["subsets"].items()) {
      subset["traffic_policy"].leave("of one subset: import it by itself, as the policy of a host");
    }
    d["spec"]["traffic_policy"]["port_level_settings"].leave(
        "of one port: import it by itself, as the policy of a host");
  }
}

// --- Kubernetes Gateway API, Linkerd -------------------------------------------------------------

// GEP-1731 (HTTPRoute retries; one that names no codes retries broken connections and timeouts) and
// GEP-1742 (timeouts; zero is none); GEP-3388 (retry budgets: 20 % in 10 s, and 10 a second at
// least; with the names of its first version, too: budgetPercent, budgetInterval).

void read_gateway_rule(ImportedPolicy& p, const Field& rule) {
  begin(p, "", "");
  const Field retry = rule["retry"].map(), timeouts = rule["timeouts"].map(),
              attempts = retry["attempts"], codes = retry["codes"], backoff = retry["backoff"];
  if (attempts) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(attempts.count())), attempts);
  } else {
    set(p, "retry.max_retries", retry ? "1" : "0",
        retry ? "the number is left to the gateway" : "the rule has no retry");
  }
  if (codes) {
    set_statuses(p, codes);
  } else if (retry) {
    set(p, "retry.status_429", text_in_toml("not-retryable"), "the rule names no codes");
    codes.leave_in_part(fmt::format(
        "without codes gateways retry only broken connections and timeouts; {}", kRetriedHere));
  }
  if (backoff) {
    set_backoff(p, backoff.duration(), 1, std::nullopt, "none", backoff.path());
    backoff.leave_in_part("is the least pause: gateways grow and spread it, each in its way");
  }
  set_timeout(p, "attempt_timeout", timeouts["backend_request"]);
  set_timeout(p, "deadline", timeouts["request"]);
}

void read_retry_constraint(ImportedPolicy& p, const Field& constraint) {
  const Field budget = constraint["budget"].map(), rate = constraint["min_retry_rate"].map();
  const Field percent = budget ? budget["percent"] : constraint["budget_percent"],
              interval = budget ? budget["interval"] : constraint["budget_interval"],
              least = rate["count"], each = rate["interval"];
  const auto positive = [](const Field& f, Duration otherwise) {
    const Duration d = f ? f.duration() : otherwise;
    if (d <= Duration::zero()) f.fail("expected a duration above zero");
    return d;
  };
  const std::string otherwise = "GEP-3388's default";
  const double share = (percent ? percent.number(0, 100) : 20) / 100;
  const double minimum =
      (least ? least.number() : 10) / positive(each, Duration::seconds(1)).in_seconds();
  set(p, "retry.budget.kind", text_in_toml("window"), constraint);
  set(p, "retry.budget.share", in_toml(share), percent ? percent.path() : otherwise);
  set(p, "retry.budget.minimum", in_toml(minimum), least || each ? rate.path() : otherwise);
  set(p, "retry.budget.window", in_toml(positive(interval, Duration::seconds(10))),
      interval ? interval.path() : otherwise);
}

/// The names of the objects that `references` point to.
std::set<std::string> names_in(const Field& references) {
  std::set<std::string> names;
  for (const Field& reference : references.items()) {
    if (const Field name = reference["name"]; name) names.insert(name.text());
  }
  return names;
}

void import_gateway_api(const Documents& documents, Reading& reading,
                        ImportedConfiguration& result) {
  const bool budgets = std::ranges::any_of(
      documents, [](const Field& d) { return bool(d["spec"]["retry_constraint"]); });
  std::vector<std::set<std::string>>
      backends;  // of the policies, if a budget may be meant for them
  for (const Field& d : documents) {
    const Field route_name = d["metadata"]["name"];
    for (const Field& rule : d["spec"]["rules"].items()) {
      if (!rule["retry"] && !rule["timeouts"]) continue;
      reading.blocks.insert(rule["retry"].path());
      reading.blocks.insert(rule["timeouts"].path());
      ImportedPolicy p;
      p.name = group_name(route_name ? route_name.text() : "", "imported");
      p.from = rule.path();
      read_gateway_rule(p, rule);
      if (budgets) backends.push_back(names_in(rule["backend_refs"]));
      result.policies.push_back(std::move(p));
    }
  }
  const bool routes = !result.policies.empty();
  std::map<std::string, std::vector<std::size_t>> by_backend;  // "": those that name none
  for (const Field& d : documents) {
    const Field constraint = d["spec"]["retry_constraint"].map();
    if (!constraint) continue;
    reading.blocks.insert(constraint.path());
    const std::set<std::string> targets = names_in(d["spec"]["target_refs"]);
    if (!routes) {
      const Field name = d["metadata"]["name"];
      ImportedPolicy p;
      p.name = group_name(name ? name.text() : "", "imported");
      p.from = constraint.path();
      begin(p, "", "");
      read_retry_constraint(p, constraint);
      result.policies.push_back(std::move(p));
      continue;
    }
    std::set<std::size_t> meant;
    if (targets.empty()) {
      for (std::size_t i = 0; i < backends.size(); ++i) meant.insert(meant.end(), i);
    } else {
      if (by_backend.empty()) {
        for (std::size_t i = 0; i < backends.size(); ++i) {
          if (backends[i].empty()) by_backend[""].push_back(i);
          for (const std::string& name : backends[i]) by_backend[name].push_back(i);
        }
      }
      const auto add = [&](const std::string& name) {
        const auto found = by_backend.find(name);
        if (found == by_backend.end()) return;
        for (const std::size_t i : found->second) {
          reading.count_match();
          meant.insert(i);
        }
      };
      add("");
      for (const std::string& name : targets) add(name);
    }
    for (const std::size_t i : meant) {
      reading.count_match();
      read_retry_constraint(result.policies[i], constraint);
    }
    const bool used = !meant.empty();
    if (!used) constraint.leave("no rule with retries or timeouts sends to its targetRefs");
  }
}

// linkerd.io/2/reference: retries, timeouts, circuit-breaking; service-profiles (retryBudget).
// linkerd2 policy-controller: k8s/index/src/outbound/index/http.rs (a limit of 0 is none),
// grpc/src/outbound/http.rs (backoff); linkerd2-proxy app/outbound/src/http/logical/policy/route/
// retry.rs (timeouts are retried without a condition, too) and app/outbound/src/http/retry.rs
// (ServiceProfile: at once, as its budget permits).

void read_linkerd_annotations(ImportedPolicy& p, const Field& annotations) {
  const auto annotation = [&](std::string_view name) { return annotations[name]; };
  const Field http = annotation("retry.linkerd.io/http"),
              grpc = annotation("retry.linkerd.io/grpc"),
              limit = annotation("retry.linkerd.io/limit"),
              timeout = annotation("retry.linkerd.io/timeout");
  const bool on_answers = bool(http) || bool(grpc);
  if (!on_answers && !limit && !timeout) {
    set(p, "retry.max_retries", "0", "without a retry annotation nothing is retried");
  } else if (limit && limit.count() > 0) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(limit.count())), limit);
  } else {
    set(p, "retry.max_retries", "1", "Linkerd's default for retry.linkerd.io/limit");
  }
  if (!on_answers && (limit || timeout)) {
    (limit ? limit : timeout)
        .leave_in_part(
            fmt::format("without retry.linkerd.io/http or grpc Linkerd retries only timeouts and "
                        "endpoints that cannot be reached; {}",
                        kRetriedHere));
  }
  for (const Field& on : {http, grpc}) {
    if (!on) continue;
    on.use();
    on.leave_in_part(std::string(kRetriedHere));
  }
  if (timeout) set(p, "attempt_timeout", in_toml(timeout.duration()), timeout);
  if (const Field f = annotation("timeout.linkerd.io/response"); f)
    set(p, "deadline", in_toml(f.duration()), f);
  if (const Field f = annotation("timeout.linkerd.io/request"); f)
    set(p, "deadline", in_toml(f.duration()), f);
  annotation("timeout.linkerd.io/idle").leave("answers come whole");
  for (const auto& [name, member] : annotations.members()) {
    if (!name.starts_with("balancer.linkerd.io/")) continue;
    member.leave("a rule of the service's instances: see service.*.ejection in the list of keys");
  }
}

void import_linkerd(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    const Field annotations = d["metadata"]["annotations"] ? d["metadata"]["annotations"] : d;
    const bool about_retries = std::ranges::any_of(annotations.members(), [](const auto& member) {
      return member.first.find(".linkerd.io/") != std::string::npos;
    });
    const Field budget = d["spec"]["retry_budget"].map(), name = d["metadata"]["name"];
    const std::vector<Field> routes = d["spec"]["routes"].items();
    const bool retryable = std::ranges::any_of(routes, [](const Field& route) {
      const Field f = route["is_retryable"];
      return f && f.flag();
    });
    if (!about_retries && !budget && !retryable) continue;
    ImportedPolicy p;
    p.name = group_name(name ? name.text() : "", "imported");
    p.from = about_retries ? annotations.path() : budget ? budget.path() : d["spec"].path();
    begin(p, "linkerd", "Linkerd");
    if (about_retries) read_linkerd_annotations(p, annotations);
    if (budget || retryable) {
      reading.blocks.insert(budget.path());
      if (!about_retries) {
        const bool none = !routes.empty() && !retryable;
        set(p, "retry.max_retries", none ? "0" : text_in_toml("unlimited"),
            none ? "no route has isRetryable" : "only the budget limits them");
        set_backoff(p, Duration::zero(), 1, std::nullopt, "none", "Linkerd retries at once");
      }
      set(p, "retry.budget.of", text_in_toml("successes"), "Linkerd's rules");
      set(p, "retry.budget.kind", text_in_toml("window"),
          budget ? budget.path() : "Linkerd's default");
      const Field ratio = budget["retry_ratio"], least = budget["min_retries_per_second"],
                  ttl = budget["ttl"];
      set(p, "retry.budget.share", in_toml(ratio ? ratio.number() : 0.2),
          ratio ? ratio.path() : "Linkerd's default");
      set(p, "retry.budget.minimum", in_toml(least ? least.number() : 10),
          least ? least.path() : "Linkerd's default");
      set(p, "retry.budget.window", in_toml(ttl ? ttl.duration() : Duration::seconds(10)),
          ttl ? ttl.path() : "Linkerd's default");
      set(p, "retry.budget.slices", "11", "Linkerd's rules");
    }
    for (const Field& route : routes) {
      if (const Field f = route["is_retryable"]; f) {
        f.use();
        f.leave_in_part("the requests of a client group are retried, or none of them");
      }
      route["timeout"].leave("of one route: write a deadline");
      route["response_classes"].leave(std::string(kRetriedHere));
    }
    for (const Field& rule : d["spec"]["rules"].items())
      rule["timeouts"].leave("of one rule: write a deadline");
    result.policies.push_back(std::move(p));
  }
}

// --- gRPC ----------------------------------------------------------------------------------------

// gRFC A6; grpc/service_config/service_config.proto.

void read_retry_throttling(ImportedPolicy& p, const Field& throttling, Reading& reading) {
  if (!throttling) {
    set(p, "retry.quota.capacity", text_in_toml("unlimited"),
        "without retryThrottling there is no limit");
    return;
  }
  reading.blocks.insert(throttling.path());
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

void import_grpc(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    const Field throttling = d["retry_throttling"].map();
    for (const Field& config : d["method_config"].items()) {
      const Field retry = config["retry_policy"].map(), hedging = config["hedging_policy"].map();
      if (!retry && !hedging) continue;
      reading.blocks.insert(config.path());
      ImportedPolicy p;
      std::string name;
      bool is_first = true;
      for (const Field& n : config["name"].list().items()) {
        const Field service = n["service"], method = n["method"];
        if (!std::exchange(is_first, false)) {
          n.leave("the client group stands for all of these methods, with the name of the first");
          continue;
        }
        if (n.map().members().empty()) n.use();
        if (service) name = service.text();
        if (method) name += "-" + method.text();
      }
      p.name = group_name(name.substr(name.rfind('.') + 1), "imported");
      p.from = config.path();
      const Field policy = retry ? retry : hedging;
      begin(p, "grpc", "gRPC");
      const Field most = policy["max_attempts"];
      if (!most) policy.fail("expected maxAttempts");
      constexpr std::int64_t kGrpcsMost = 5;
      set(p, "retry.max_attempts", in_toml(static_cast<double>(std::min(most.count(), kGrpcsMost))),
          most.count() > kGrpcsMost ? most.path() + ", of which gRPC makes 5" : most.path());
      if (retry) {
        const Field first = retry["initial_backoff"], cap = retry["max_backoff"],
                    factor = retry["backoff_multiplier"];
        if (!first || !cap || !factor)
          retry.fail("expected initialBackoff, maxBackoff and backoffMultiplier");
        set(p, "retry.backoff.base", in_toml(first.duration()), first);
        set(p, "retry.backoff.throttle_base", in_toml(first.duration()), first);
        set(p, "retry.backoff.cap", in_toml(cap.duration()), cap);
        set(p, "retry.backoff.factor", in_toml(factor.number(1e-9, 1e9)), factor);
        set_timeout(p, "attempt_timeout", retry["per_attempt_recv_timeout"]);
      } else {
        const Field delay = hedging["hedging_delay"];
        set(p, "retry.hedging.delay", in_toml(delay ? delay.duration() : Duration::zero()),
            delay ? delay.path() : "gRPC's default: at once");
        hedging["non_fatal_status_codes"].leave(kRetriedHere.data());
      }
      if (const Field codes = policy["retryable_status_codes"]; codes) {
        codes.use();
        codes.leave_in_part(std::string(kRetriedHere));
      }
      read_retry_throttling(p, throttling, reading);
      if (const Field f = config["timeout"]; f) set(p, "deadline", in_toml(f.duration()), f);
      config["wait_for_ready"].leave("connections are there or refused");
      result.policies.push_back(std::move(p));
    }
  }
}

// --- Resilience4j, Polly -------------------------------------------------------------------------

// resilience4j CommonRetryConfigurationProperties, RetryConfig, IntervalFunction (2.4.0): 3
// attempts, 500 ms; multiplier 1.5, randomization 0.5 where these are switched on. The longest wait
// is read only beside numbers for both.

/// A setting of an instance, or of the configuration that it starts from.
Field inherited(const Field& instance, const Field& configs, std::string_view name) {
  if (const Field own = instance[name]; own) return own;
  const Field base = instance["base_config"];
  const Field from = configs[base ? base.text() : "default"];
  return from ? inherited(from, configs["-"], name) : instance[name];
}

void import_resilience4j(const Documents& documents, Reading& reading,
                         ImportedConfiguration& result) {
  for (const Field& d : documents) {
    const Field dotted = d["resilience4j.retry"];
    const Field root = d["resilience4j"];
    const Field retry = dotted ? dotted : root ? root["retry"] : d["retry"];
    const Field limiter = root ? root["timelimiter"] : d["resilience4j.timelimiter"];
    const Field configs = retry["configs"];
    const Field limits = limiter["instances"], limit_configs = limiter["configs"];
    for (const auto& member : retry["instances"].members()) {
      const std::string& name = member.first;
      const Field& instance = member.second;
      reading.blocks.insert(retry.path());
      ImportedPolicy p;
      p.name = group_name(name, "imported");
      p.from = instance.path();
      if (instance.map().members().empty()) instance.use();
      begin(p, "", "");
      const auto setting = [&](std::string_view key) { return inherited(instance, configs, key); };
      const Field now = setting("max_attempts"), before = setting("max_retry_attempts"),
                  most = now ? now : before, wait = setting("wait_duration");
      if (now) before.leave("the name of maxAttempts before version 1.7");
      set(p, "retry.max_attempts", most ? in_toml(static_cast<double>(most.count())) : "3",
          most ? most.path() : "Resilience4j's default");
      const Duration base = wait ? wait.duration(1e-3) : Duration::milliseconds(500);
      const std::string origin = wait ? wait.path() : "Resilience4j's default";
      const Field grows = setting("enable_exponential_backoff"),
                  factor = setting("exponential_backoff_multiplier"),
                  cap = setting("exponential_max_wait_duration");
      const Field spreads = setting("enable_randomized_wait"),
                  share = setting("randomized_wait_factor");
      const bool exponential = grows && grows.flag(), spread = spreads && spreads.flag();
      set_backoff(p, base, 1, std::nullopt, "none", origin);
      if (grows) set(p, "retry.backoff.factor", "1", grows);
      if (spreads) set(p, "retry.backoff.jitter", text_in_toml("none"), spreads);
      if (exponential) {
        set(p, "retry.backoff.factor", factor ? in_toml(factor.number(1, 1e6)) : "1.5",
            factor ? paths({grows, factor}) : grows.path() + ", Resilience4j's default");
        if (cap && factor && (share || !spread)) {
          set(p, "retry.backoff.cap", in_toml(cap.duration(1e-3)), cap);
          if (spread) set(p, "retry.backoff.jitter_before_cap", "true", cap);
        } else {
          cap.leave(factor ? "Resilience4j needs randomizedWaitFactor for it"
                           : "Resilience4j needs exponentialBackoffMultiplier for it");
        }
      } else {
        factor.leave("enableExponentialBackoff is off");
        cap.leave("enableExponentialBackoff is off");
      }
      if (spread) {
        set(p, "retry.backoff.jitter", text_in_toml("proportional"), spreads);
        set(p, "retry.backoff.jitter_share", share ? in_toml(share.number(0, 1)) : "0.5",
            share ? share.path() : "Resilience4j's default");
      } else {
        share.leave("enableRandomizedWait is off");
      }
      for (const char* list : {"retry_exceptions", "ignore_exceptions", "retry_exception_predicate",
                               "result_predicate"}) {
        setting(list).leave(
            fmt::format("exceptions of Java have no counterpart; {}", kRetriedHere));
      }
      setting("fail_after_max_attempts").leave("a request fails after its last attempt");
      const Field limited = limits[name];
      reading.blocks.insert(limited.path());
      if (const Field f = inherited(limited, limit_configs, "timeout_duration"); f) {
        set(p, "attempt_timeout", in_toml(f.duration(1e-3)), f);
      }
      result.policies.push_back(std::move(p));
    }
    for (const char* other :
         {"circuitbreaker", "bulkhead", "thread-pool-bulkhead", "ratelimiter"}) {
      constexpr std::string_view kWhy = "limits requests, whereas limits of clients are on retries";
      root[other].leave(std::string(kWhy));
      d[std::string("resilience4j.") + other].leave(std::string(kWhy));
    }
  }
}

// Polly.Retry.RetryStrategyOptions (v8; delays: RetryHelper.cs, RetryResilienceStrategy.cs
// of 8.7.0, 173d6d1d) and Microsoft.Extensions.Http.Resilience (HttpRetryStrategyOptions.cs), whose
// standard handler has its strategies under these names and defaults of its own.

/// With jitter, constant and linear delays are moved by at most that share.
constexpr double kPollysShare = 0.25;

/// The type in lower case; .NET reads an enumeration's numbers, too.
std::string backoff_type(const std::string& text) {
  if (text == "0") return "constant";
  if (text == "1") return "linear";
  if (text == "2") return "exponential";
  return plain_name(text);
}

void import_polly(const Documents& documents, Reading& reading, ImportedConfiguration& result) {
  for (const Field& d : documents) {
    std::vector<std::pair<std::string, Field>> pipelines;
    each_map(d, reading, [&](const Field& map) {
      if (map["retry"].is_map()) pipelines.emplace_back("pipeline", map);
    });
    if (pipelines.empty() && (d["max_retry_attempts"] || d["backoff_type"]))
      pipelines.emplace_back("retry", d);
    for (const auto& found : pipelines) {
      const std::string& what = found.first;
      const Field& pipeline = found.second;
      const Field retry = what == "retry" ? pipeline : pipeline["retry"];
      const bool standard =
          pipeline["attempt_timeout"].is_map() || pipeline["total_request_timeout"].is_map();
      const bool of_http = standard || bool(retry["should_retry_after_header"]);
      reading.blocks.insert(pipeline.path());
      ImportedPolicy p;
      const std::size_t dot = pipeline.path().rfind('.');
      p.name = group_name(
          dot == std::string::npos ? pipeline.path() : pipeline.path().substr(dot + 1), "imported");
      p.from = pipeline.path();
      begin(p, "", "");
      const Field most = retry["max_retry_attempts"], delay = retry["delay"],
                  type = retry["backoff_type"], jitter = retry["use_jitter"],
                  cap = retry["max_delay"];
      set(p, "retry.max_retries", most ? in_toml(static_cast<double>(most.count())) : "3",
          most ? most.path() : "Polly's default");
      const Duration base = delay ? delay.duration() : Duration::seconds(2);
      const std::string kind = type      ? backoff_type(type.text())
                               : of_http ? "exponential"
                                         : "constant";
      const bool spread = jitter ? jitter.flag() : of_http;
      const std::optional<Duration> longest = cap ? std::optional(cap.duration()) : std::nullopt;
      const std::string origin = delay ? delay.path() : "Polly's default";
      if (kind == "linear") {
        const LinearDelays list =
            linear_delays(base, base, most ? most.count() : 3, longest, spread ? kPollysShare : 0);
        set(p, "retry.delays", list.text, paths({type, delay, cap}));
        if (jitter) p.keys.back().source += ", " + jitter.path();
        if (list.cut) cap.leave_in_part("delays that it may cut are drawn up to it instead");
      } else if (kind == "exponential") {
        set_backoff(p, base, 2, longest, spread ? "decorrelated-v2" : "none", origin);
      } else if (kind == "constant") {
        set_backoff(p, base, 1, longest, spread ? "proportional" : "none", origin);
        if (spread) {
          set(p, "retry.backoff.jitter_share", in_toml(kPollysShare),
              "Polly's jitter of constant delays");
          if (cap) set(p, "retry.backoff.jitter_before_cap", "true", cap);
        }
      } else {
        type.fail("expected Constant, Linear or Exponential");
      }
      const auto show = [&](std::string_view key, const Field& from, std::string_view otherwise) {
        const auto made = std::ranges::find(p.keys, key, &ImportedKey::path);
        if (made == p.keys.end()) return;
        if (from || !otherwise.empty()) made->source = from ? from.path() : otherwise;
      };
      const std::string_view otherwise = of_http ? "the default for HTTP" : "";
      show("retry.backoff.factor", type, otherwise);
      show("retry.backoff.jitter", jitter, otherwise);
      show("retry.backoff.cap", cap, "");
      for (const char* name : {"should_handle", "delay_generator", "on_retry", "name"}) {
        retry[name].leave(name == std::string_view("should_handle") ? kRetriedHere.data()
                                                                    : "is code, or a name");
      }
      // The suggested delay takes the place of the computed one, also above MaxDelay.
      const Field after = retry["should_retry_after_header"];
      if (after || standard) {
        const bool replaces = after ? after.flag() : true;
        set(p, "retry.retry_after", text_in_toml(replaces ? "replace" : "ignore"),
            after ? after.path() : "the handler's default");
        if (replaces && cap) cap.leave_in_part("it bounds suggested delays, too, but not in Polly");
      }
      const auto timeout_of = [&](std::string_view name) {
        const Field f = pipeline[name];
        return f.is_map() ? f["timeout"] : f;
      };
      if (standard) {
        set(p, "attempt_timeout", text_in_toml("10s"), "the handler's default");
        set(p, "deadline", text_in_toml("30s"), "the handler's default");
      }
      if (const Field f = timeout_of("attempt_timeout"); f)
        set(p, "attempt_timeout", in_toml(f.duration()), f);
      if (const Field f = timeout_of("total_request_timeout"); f)
        set(p, "deadline", in_toml(f.duration()), f);
      if (what != "retry") {
        if (const Field f = timeout_of("timeout"); f)
          set(p, "attempt_timeout", in_toml(f.duration()), f);
      }
      pipeline["hedging"].leave(
          "retries and hedges in one pipeline have no counterpart: write retry.hedging.delay");
      pipeline["circuit_breaker"].leave("stops requests, whereas retry.breaker stops retries only");
      pipeline["rate_limiter"].leave("clients do not limit the requests under way");
      result.policies.push_back(std::move(p));
    }
  }
}

// --- Lists of parameters: Finagle, tower, Tenacity, urllib3 --------------------------------------

/// The parameters of a constructor, as a map.
void import_parameters(const Documents& documents, Reading& reading, ImportedConfiguration& result,
                       const std::function<void(ImportedPolicy&, const Field&)>& read) {
  for (const Field& d : documents) {
    if (!d.is_map() || d.members().empty()) continue;
    reading.blocks.insert(d.path());
    ImportedPolicy p;
    p.name = "imported";
    begin(p, "", "");
    read(p, d);
    result.policies.push_back(std::move(p));
  }
}

void set_window_budget(ImportedPolicy& p, const Field& share, const Field& least, const Field& ttl,
                       std::string_view software) {
  const std::string otherwise = fmt::format("{}'s default", software);
  set(p, "retry.budget.kind", text_in_toml("window"), fmt::format("{}'s budget", software));
  set(p, "retry.budget.share", in_toml(share ? share.number() : 0.2),
      share ? share.path() : otherwise);
  set(p, "retry.budget.minimum", in_toml(least ? least.number() : 10),
      least ? least.path() : otherwise);
  set(p, "retry.budget.window", in_toml(ttl ? ttl.duration() : Duration::seconds(10)),
      ttl ? ttl.path() : otherwise);
}

// The parameters of Finagle's RetryBudget.apply, of the functions of Backoff and of MethodBuilder.
// Backoff.scala: the first delay is `start` itself; equal jitter doubles from there as it does
// here.
void read_finagle_backoff(ImportedPolicy& p, const Field& f, std::int64_t retries) {
  const Field start = f["start"], cap = f["maximum"], kind = f["backoff"],
              multiplier = f["multiplier"], offset = f["offset"];
  const std::string word = kind ? plain_name(kind.text()) : "exponentialjittered";
  const Duration first = start.duration();
  const std::optional<Duration> most = cap ? std::optional(cap.duration()) : std::nullopt;
  const std::string origin = paths({kind, start});
  const auto grows = [&](std::string_view jitter) {
    set_backoff(p, first, 2, most, jitter, origin);
    if (most) set(p, "retry.backoff.cap", in_toml(*most), cap);
  };
  if (word == "const" || word == "constant") {
    set_backoff(p, first, 1, std::nullopt, "none", origin);
    cap.leave("a constant delay has no maximum");
  } else if (word == "linear") {
    if (!offset) kind.fail("a linear backoff needs offset");
    set(p, "retry.delays", linear_delays(first, offset.duration(), retries, most).text,
        paths({kind, start, offset, cap}));
  } else if (word == "exponential") {
    grows("none");
    if (multiplier) set(p, "retry.backoff.factor", in_toml(multiplier.number(1, 1e6)), multiplier);
  } else {
    const auto jittered = [&](std::string_view jitter, std::string_view difference) {
      grows(jitter);
      set(p, "retry.backoff.jitter", text_in_toml(jitter),
          kind ? kind.path() : "taken for exponentialJittered, as backoff is missing");
      kind.leave_in_part(
          fmt::format("Finagle's first delay is {} itself, and {}", start.path(), difference));
    };
    if (word == "equaljittered") {
      jittered("equal", "at its maximum it spreads no longer");
    } else if (word == "decorrelatedjittered") {
      jittered("decorrelated", "no delay is shorter than the one before it");
    } else if (word == "exponentialjittered") {
      jittered("full",
               "from the third on it draws up to 4, 8, ... times the delay drawn before; at its "
               "maximum it spreads no longer");
    } else {
      kind.fail(
          "expected constant, linear, exponential, exponentialJittered, equalJittered or "
          "decorrelatedJittered");
    }
  }
  if (word != "exponential") multiplier.leave("only an exponential backoff has it");
  if (word != "linear") offset.leave("only a linear backoff has it");
}

void read_finagle(ImportedPolicy& p, const Field& f) {
  set(p, "retry.sdk", text_in_toml("finagle"), "Finagle's rules");
  set_window_budget(p, f["percent_can_retry"], f["min_retries_per_sec"], f["ttl"], "Finagle");
  set(p, "retry.budget.of", text_in_toml("successes"), "Finagle's rules");
  std::int64_t retries = 20;  // of one request, by Finagle's limit
  if (const Field most = f["max_tries"]; most) {
    set(p, "retry.max_attempts", in_toml(static_cast<double>(most.count())), most);
    retries = most.count() - 1;
    f["max_retries"].leave("maxTries takes its place");
  } else if (const Field again = f["max_retries"]; again) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(again.count())), again);
    retries = again.count();
  }
  if (f["start"]) {
    read_finagle_backoff(p, f, retries);
  } else {
    for (const char* name : {"backoff", "maximum", "multiplier", "offset"})
      f[name].leave("a backoff needs start");
  }
  if (const Field each = f["timeout_per_request"]; each) {
    set_timeout(p, "attempt_timeout", each);
    f["request_timeout"].leave("timeoutPerRequest takes its place");
  } else {
    set_timeout(p, "attempt_timeout", f["request_timeout"]);
  }
  set_timeout(p, "deadline", f["timeout_total"]);
  f["max_extra_load"].leave(
      "backups are sent at a percentile of the latencies: write retry.hedging.delay");
  f["retry_for_classifier"].leave(fmt::format("is code; {}", kRetriedHere));
}

// tower::retry::budget::TpsBudget::new(ttl, min_per_sec, retry_percent) and
// backoff::ExponentialBackoffMaker::new(min, max, jitter).
void read_tower(ImportedPolicy& p, const Field& f) {
  set_window_budget(p, f["retry_percent"], f["min_per_sec"], f["ttl"], "tower");
  set(p, "retry.budget.of", text_in_toml("successes"), "tower's example of a policy");
  set(p, "retry.budget.slices", "11", "tower's rules");
  const Field attempts = f["attempts"], least = f["min"], most = f["max"], jitter = f["jitter"];
  if (attempts) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(attempts.count())), attempts);
  } else {
    set(p, "retry.max_retries", text_in_toml("unlimited"), "the policy decides; give attempts");
  }
  const Duration base = least ? least.duration() : Duration::milliseconds(50);
  const std::string origin = least ? least.path() : "tower's default";
  set_backoff(p, base, 2, most ? std::optional(most.duration()) : std::nullopt, "none", origin);
  if (most) set(p, "retry.backoff.cap", in_toml(most.duration()), most);
  const double longer = jitter ? jitter.number(0, 100) : 0.99;
  if (longer > 0) {
    lengthen_backoff(p, base, longer,
                     origin + (jitter ? " and " + jitter.path() : " and jitter of 0.99"));
  } else {
    set(p, "retry.backoff.jitter", text_in_toml("none"), jitter);
  }
}

/// What it retries beside the list where an answer suggests a delay, and the standard table does
/// not.
std::string suggestions_of_urllib3(const std::vector<std::string>& listed) {
  std::vector<std::string> others;
  for (const char* code : {"413", "429"}) {
    if (std::ranges::count(listed, code) == 0) others.emplace_back(code);
  }
  if (others.empty()) return "";
  return fmt::format("; urllib3 also retries a {} that suggests a delay",
                     fmt::join(others, " or "));
}

/// A suggested delay takes the place of the backoff, up to a limit of its own. Where that is zero,
/// sleep_for_retry finds nothing to wait for, and the backoff stays.
void read_urllib3_suggestions(ImportedPolicy& p, const Field& respect, const Field& limit) {
  constexpr int kHours = 6;  // since urllib3 2.6.3
  const std::string respected = respect ? respect.path() : "urllib3's default";
  if (respect && !respect.flag()) {
    set(p, "retry.retry_after", text_in_toml("ignore"), respected);
    limit.leave("suggested delays are ignored");
    return;
  }
  const Duration longest = limit ? limit.duration() : Duration::seconds(kHours * 3600);
  if (longest == Duration::zero()) {
    set(p, "retry.retry_after", text_in_toml("ignore"), limit);
    return;
  }
  set(p, "retry.retry_after", text_in_toml("replace"), respected);
  set(p, "retry.retry_after_max", in_toml(longest), limit ? limit.path() : "urllib3's default");
}

// urllib3.util.Retry of version 2: the first retry is made at once, then backoff_factor x 2, 4, ...
void read_urllib3(ImportedPolicy& p, const Field& f) {
  const Field total = f["total"], factor = f["backoff_factor"], most = f["backoff_max"],
              jitter = f["backoff_jitter"], respect = f["respect_retry_after_header"],
              statuses = f["status_forcelist"];
  // total = None leaves the other numbers; total = False retries nothing.
  std::string retries = "10", origin = "urllib3's default";
  if (total.is_null()) {
    retries = text_in_toml("unlimited");
    origin = total.path();
    total.use();
    std::int64_t largest = -1;
    for (const char* name : {"connect", "read", "status", "other"}) {
      const Field number = f[name];
      if (!number || plain_name(number.text()) == "false") continue;
      if (number.count() <= largest) continue;
      largest = number.count();
      retries = in_toml(static_cast<double>(largest));
      origin = fmt::format("{}, as total is null", number.path());
    }
  } else if (total) {
    retries =
        plain_name(total.text()) == "false" ? "0" : in_toml(static_cast<double>(total.count()));
    origin = total.path();
  }
  set(p, "retry.max_retries", retries, origin);
  const double base = factor ? factor.number(0, 1e6) : 0;
  set_backoff(p, Duration::from_seconds(base), 2, most ? most.duration() : Duration::seconds(120),
              "none", factor ? factor.path() : "urllib3's default");
  if (most) set(p, "retry.backoff.cap", in_toml(most.duration()), most);
  set(p, "retry.backoff.immediate_retries", "1", "urllib3 makes the first retry at once");
  if (jitter && jitter.number() > 0) {
    jitter.leave_in_part("a spread that does not grow with the delay has no counterpart");
  }
  read_urllib3_suggestions(p, respect, f["retry_after_max"]);
  const bool respects = !respect || respect.flag();
  if (statuses && !statuses.words().empty()) {
    set_statuses(p, statuses, respects ? suggestions_of_urllib3(statuses.words()) : "");
  } else if (respects) {
    set(p, "retry.classifier", text_in_toml("urllib3"),
        "without status_forcelist: 413, 429 and 503 that suggest a delay");
    statuses.use();
  } else {
    respect.leave_in_part(
        "500, 502, 503 and 504 are retried here; without status_forcelist, urllib3 retries no "
        "answer");
  }
  for (const char* name : {"connect", "read", "redirect", "status", "other"}) {
    const Field number = f[name];
    if (number && total.is_null()) {
      number.use();
      number.leave_in_part("one number of retries counts for all causes");
    }
    number.leave("one number of retries counts for all causes");
  }
  for (const char* name : {"allowed_methods", "method_whitelist", "raise_on_status",
                           "raise_on_redirect", "history", "remove_headers_on_redirect"}) {
    f[name].leave("is about the requests, not about when to retry");
  }
}

// tenacity: stop_after_attempt, stop_after_delay, wait_fixed, wait_exponential,
// wait_random_exponential, wait_exponential_jitter.
void read_tenacity(ImportedPolicy& p, const Field& f) {
  const Field stop = f["stop_after_attempt"], delay = f["stop_after_delay"];
  set(p, "retry.max_attempts",
      stop ? in_toml(static_cast<double>(stop.count())) : text_in_toml("unlimited"),
      stop ? stop.path() : "Tenacity's default");
  if (delay) set(p, "deadline", in_toml(delay.duration()), delay);
  set_backoff(p, Duration::zero(), 1, std::nullopt, "none", "Tenacity's default");
  if (const Field w = f["wait_fixed"]; w)
    set_backoff(p, w.duration(), 1, std::nullopt, "none", w.path());
  const auto exponential = [&](const Field& w, std::string_view jitter, std::string_view first) {
    if (w.map().members().empty()) w.use();
    const Field multiplier = w[first], most = w["max"], base = w["exp_base"];
    set_backoff(p, multiplier ? multiplier.duration() : Duration::seconds(1),
                base ? base.number(1, 1e6) : 2,
                most ? std::optional(most.duration()) : std::nullopt, jitter, w.path());
    w["min"].leave("delays have no least length");
  };
  if (const Field w = f["wait_exponential"]; w) exponential(w, "none", "multiplier");
  if (const Field w = f["wait_random_exponential"]; w) exponential(w, "full", "multiplier");
  if (const Field w = f["wait_exponential_jitter"]; w) {
    exponential(w, "none", "initial");
    const Field jitter = w["jitter"];
    if (!jitter || jitter.duration() > Duration::zero()) {
      jitter.leave_in_part(
          "a spread that does not grow with the delay has no counterpart; Tenacity's default is "
          "1s");
    }
  }
  if (const Field w = f["wait_incrementing"]; w) {
    const Field start = w.map()["start"], step = w["increment"], most = w["max"];
    constexpr std::int64_t kWithoutEnd = 100;
    std::erase_if(p.keys,
                  [](const ImportedKey& key) { return key.path.starts_with("retry.backoff."); });
    set(p, "retry.delays",
        linear_delays(start ? start.duration() : Duration::zero(),
                      step ? step.duration() : Duration::seconds(100),
                      stop ? stop.count() - 1 : kWithoutEnd,
                      most ? std::optional(most.duration()) : std::nullopt)
            .text,
        w);
    if (w.members().empty()) w.use();
  }
  f["wait_random"].leave("write retry.delays with a uniform distribution");
  f["wait_chain"].leave("write retry.delays: the last delay goes on");
  f["stop_before_delay"].leave("no retry begins that a wait would make too late: write a deadline");
  for (const char* name : {"retry", "reraise", "before", "after", "before_sleep"})
    f[name].leave("is code");
}

// --- AWS -----------------------------------------------------------------------------------------

// The shared config file (INI) and the environment's variables: AWS SDKs and Tools Reference Guide,
// "Retry behavior".

bool is_blank(std::string_view line) { return scenario::trimmed(line).empty(); }

/// What a mode of defaults has for a connection; the modes but legacy retry as standard does.
struct DefaultsMode {
  std::string_view name, connect_timeout;
};
constexpr DefaultsMode kDefaultsModes[] = {{"legacy", ""},          {"standard", "3100ms"},
                                           {"in-region", "1100ms"}, {"cross-region", "3100ms"},
                                           {"mobile", "30s"},       {"auto", ""}};

/// One setting of the file. `place` names it.
struct AwsSetting {
  std::string value, place;
};

/// What one profile, or the environment, says of retries.
struct AwsProfile {
  std::optional<AwsSetting> mode, attempts, new_retries, defaults;

  bool says_something() const { return mode || attempts || new_retries || defaults; }
};

void add_aws_policy(const AwsProfile& profile, const std::string& section, Reading& reading,
                    ImportedConfiguration& result) {
  if (!profile.says_something()) return;
  ImportedPolicy p;
  p.name = group_name(section, "imported");
  p.from = section;
  const bool is_new = profile.new_retries && profile.new_retries->value == "true";
  const bool has_defaults = profile.defaults && profile.defaults->value != "legacy";
  std::string mode = "legacy", source = "most SDKs' default until November 2026";
  if (profile.mode) {
    mode = profile.mode->value;
    source = profile.mode->place;
  } else if (has_defaults || is_new) {
    mode = "standard";
    source = has_defaults ? profile.defaults->place : profile.new_retries->place;
  } else if (profile.defaults) {
    source = profile.defaults->place;
  }
  set(p, "retry.mode", text_in_toml(mode), source);
  if (const auto& attempts = profile.attempts) {
    set(p, "retry.max_attempts", attempts->value, attempts->place);
  }
  if (const auto& revision = profile.new_retries) {
    if (mode == "legacy") {
      reading.left_out.push_back({revision->place, "mode legacy has no revisions"});
    } else {
      set(p, "retry.revision", text_in_toml(is_new ? "2.1" : "2.0"), revision->place);
    }
  }
  if (has_defaults) {
    const auto* const found =
        std::ranges::find(kDefaultsModes, profile.defaults->value, &DefaultsMode::name);
    std::string why = "the time for TLS has no counterpart";
    if (found->connect_timeout.empty()) {
      why = "the SDK chooses timeouts by where it runs: write connect_timeout";
    } else {
      set(p, "connect_timeout", text_in_toml(found->connect_timeout), profile.defaults->place);
    }
    reading.left_out.push_back({profile.defaults->place + " in part", std::move(why)});
  }
  result.policies.push_back(std::move(p));
}

/// Why a setting that is not used was left out.
std::string_view why_not_for_aws(std::string_view name) {
  if (name.find("metadataservice") != std::string_view::npos)
    return "is about requests for credentials";
  if (name.find("timeout") != std::string_view::npos)
    return "the SDKs take timeouts of requests from code, not from here";
  return "is not about retries";
}

void import_aws(const std::string& file, const std::string& text, Reading& reading,
                ImportedConfiguration& result) {
  AwsProfile profile;
  std::string section;
  bool of_a_profile = true;  // sections such as [services mine] are none
  std::string above;         // a line that is indented belongs to this setting
  std::size_t number = 0;
  std::string_view rest = text;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  const auto say = [&](std::optional<AwsSetting>& setting, AwsSetting value) {
    if (setting) reading.left_out.push_back({setting->place, "a later line takes its place"});
    setting = std::move(value);
  };
  while (!rest.empty()) {
    ++number;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view whole = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string_view line = scenario::trimmed(whole);
    if (is_blank(line) || line.front() == '#' || line.front() == ';') continue;
    for (std::size_t i = 1; i < line.size(); ++i) {  // a comment behind a value
      const bool starts = (line[i] == '#' || line[i] == ';') && is_blank(line.substr(i - 1, 1));
      if (starts) line = scenario::trimmed(line.substr(0, i));
    }
    if (line.front() == '[' && line.back() == ']') {
      add_aws_policy(profile, section, reading, result);
      profile = {};
      section = scenario::trimmed(line.substr(1, line.size() - 2));
      of_a_profile = !section.starts_with("services ") && !section.starts_with("sso-session ");
      if (section.starts_with("profile ")) section = scenario::trimmed(section.substr(8));
      above.clear();
      continue;
    }
    const bool indented = whole.front() == ' ' || whole.front() == '\t';
    if (line.starts_with("export ")) line = scenario::trimmed(line.substr(7));
    const std::size_t equals = line.find('=');
    const auto fail = [&](const std::string& what) {
      throw BadConfiguration(fmt::format("{}:{}: error: {}", file, number, what));
    };
    const bool nested = indented && !above.empty() && !line.starts_with("AWS_");
    if (equals == std::string_view::npos) {
      if (nested) continue;  // the value above goes on
      fail("expected NAME = VALUE");
    }
    const std::string field(scenario::trimmed(line.substr(0, equals)));
    std::string name = plain_name(field);
    std::erase(name, '.');  // aws.retryMode, a property of the JVM
    std::string value(scenario::trimmed(line.substr(equals + 1)));
    if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    const std::string place = section.empty() ? field : fmt::format("[{}] {}", section, field);
    const auto in_lower_case = [&] {
      std::string lower;
      for (const char c : value)
        lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return lower;
    };
    const auto one_of = [&](const std::vector<std::string_view>& words) {
      std::string lower = in_lower_case();
      if (std::ranges::count(words, lower) == 0) {
        fail(fmt::format("{} = {} is wrong; expected one of {}", field,
                         scenario::printable_line(value), fmt::join(words, ", ")));
      }
      return AwsSetting{std::move(lower), place};
    };
    if (!nested) above = place;
    if (name.starts_with("aws")) name.erase(0, 3);
    const bool about_retries = name == "retrymode" || name == "maxattempts" ||
                               name == "newretries2026" || name == "defaultsmode";
    if (nested) {
      if (about_retries)
        reading.left_out.push_back({above + "." + field, "is indented, and so not of the profile"});
    } else if (about_retries && !of_a_profile) {
      reading.left_out.push_back({place, "SDKs read it from profiles only"});
    } else if (name == "retrymode") {
      say(profile.mode, one_of({"legacy", "standard", "adaptive"}));
    } else if (name == "maxattempts") {
      const auto attempts = number_in(value);
      if (!attempts || *attempts < 1 || *attempts > 4e9 || *attempts != std::floor(*attempts)) {
        fail(fmt::format("{} = {} is wrong; expected a whole number from 1", field,
                         scenario::printable_line(value)));
      }
      say(profile.attempts, {in_toml(*attempts), place});
    } else if (name == "newretries2026") {
      say(profile.new_retries, {in_lower_case(), place});  // any word but true is none to SDKs
    } else if (name == "defaultsmode") {
      say(profile.defaults,
          one_of({"legacy", "standard", "in-region", "cross-region", "mobile", "auto"}));
    } else {
      reading.left_out.push_back({place, std::string(why_not_for_aws(name))});
    }
  }
  add_aws_policy(profile, section, reading, result);
}

// --- All kinds -----------------------------------------------------------------------------------

using Converter = void (*)(const Documents&, Reading&, ImportedConfiguration&);

template <void (*read)(ImportedPolicy&, const Field&)>
void with_parameters(const Documents& d, Reading& reading, ImportedConfiguration& result) {
  import_parameters(d, reading, result, read);
}

struct Kind {
  ConfigurationKind text;
  Converter convert;  // null: it is no YAML
};
constexpr Kind kKinds[] = {
    {{"envoy", "routes and clusters, or one retry policy"}, import_envoy},
    {{"istio", "VirtualService and DestinationRule"}, import_istio},
    {{"gateway-api", "HTTPRoute and the policies of GEP-3388"}, import_gateway_api},
    {{"linkerd", "annotations of a Service or route, ServiceProfile"}, import_linkerd},
    {{"grpc", "a service config"}, import_grpc},
    {{"resilience4j", "application.yml of Spring Boot"}, import_resilience4j},
    {{"polly", "options of Polly 8, or of the standard HTTP handler"}, import_polly},
    {{"aws", "the shared config file, or AWS_... variables"}, nullptr},
    {{"finagle", "parameters of RetryBudget, Backoff and MethodBuilder"},
     with_parameters<read_finagle>},
    {{"tower", "parameters of TpsBudget and ExponentialBackoffMaker"}, with_parameters<read_tower>},
    {{"tenacity", "stop and wait parameters"}, with_parameters<read_tenacity>},
    {{"urllib3", "parameters of Retry, also of requests"}, with_parameters<read_urllib3>},
};

/// Throws if a name comes twice in a map, and if a document begins where the one before it did.
/// yaml-cpp (0.7) finds an empty document in front of a character that cannot begin one, such as a
/// comma, does not pass over that character, and so finds documents without end.
class FirstLook final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == begun_) throw YAML::ParserException(mark, "no value can begin here");
    begun_ = mark.pos;
    open_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override { value(); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { value(); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& text) override {
    if (!open_.empty() && open_.back().is_map && open_.back().name_is_next) {
      constexpr std::size_t kLongestName = 512;  // of each value, its path is kept
      if (text.size() > kLongestName) throw YAML::ParserException(mark, "the name is too long");
      if (!open_.back().names.insert(text).second) {
        throw TwiceGiven{mark, text};
      }
    }
    value();
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    value();
    open_.emplace_back();
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    value();
    open_.push_back({.is_map = true, .name_is_next = true, .names = {}});
  }
  void OnMapEnd() override { open_.pop_back(); }

  struct TwiceGiven {
    YAML::Mark mark;
    std::string name;
  };

 private:
  struct Open {
    bool is_map = false, name_is_next = false;
    std::set<std::string> names;
  };

  // In a map, names and values take turns.
  void value() {
    stop_point();
    if (!open_.empty()) open_.back().name_is_next = !open_.back().name_is_next;
  }

  std::vector<Open> open_;
  int begun_ = -1;
};

/// Merge keys (yaml.org/type/merge.html): `<<` stands for the members of the map, or of the maps of
/// a list, that it is given, as far as the map itself or an earlier one has none of that name. A
/// map that stands in several places is merged in the first; `walk` counts what is seen.
void take_merges(YAML::Node node, Reading& walk, int depth = 0) {
  walk.count_node(depth);
  if (node.IsSequence()) {
    for (const auto& item : node) take_merges(item, walk, depth + 1);
  }
  if (!node.IsMap()) return;
  std::set<std::string> names;
  YAML::Node merged;
  for (const auto& member : node) {
    take_merges(member.second, walk, depth + 1);
    if (!member.first.IsScalar()) continue;
    names.insert(member.first.Scalar());
    if (member.first.Scalar() == "<<") merged.reset(member.second);
  }
  std::vector<YAML::Node> bases;
  if (merged.IsMap()) bases.push_back(merged);
  if (merged.IsSequence()) {
    for (const auto& base : merged) bases.push_back(base);
  }
  for (const YAML::Node& base : bases) {
    if (!base.IsMap()) return;  // left as it is, so that it is named
  }
  for (const YAML::Node& base : bases) {
    for (const auto& member : base) {
      walk.count_node(depth);
      if (member.first.IsScalar() && names.insert(member.first.Scalar()).second) {
        node.force_insert(member.first, member.second);
      }
    }
  }
  if (!bases.empty()) node.remove("<<");
}

std::vector<YAML::Node> parse(const std::string& file, const std::string& text) {
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    for (FirstLook look; parser.HandleNextDocument(look);) continue;
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    Reading walk{.file = file, .used = {}, .opened = {}, .blocks = {}, .left_out = {}};
    for (const YAML::Node& document : documents) take_merges(document, walk);
    return documents;
  } catch (const FirstLook::TwiceGiven& twice) {
    throw BadConfiguration(fmt::format("{}:{}:{}: error: {} is given twice; leave one of them",
                                       file, twice.mark.line + 1, twice.mark.column + 1,
                                       scenario::printable_line(twice.name)));
  } catch (const YAML::Exception& e) {
    throw BadConfiguration(fmt::format("{}:{}:{}: error: neither YAML nor JSON: {}", file,
                                       e.mark.line + 1, e.mark.column + 1,
                                       scenario::printable_line(e.msg)));
  }
}

/// Two groups of one name could not stand in one scenario.
void make_names_unique(std::vector<ImportedPolicy>& policies) {
  std::set<std::string> taken;
  std::map<std::string, int> next;  // numbers behind names that are taken
  for (ImportedPolicy& p : policies) {
    const std::string wanted = p.name;
    int& n = next.try_emplace(wanted, 2).first->second;
    while (!taken.insert(p.name).second) p.name = fmt::format("{}-{}", wanted, n++);
  }
}

}  // namespace

std::span<const ConfigurationKind> configuration_kinds() {
  static const std::vector<ConfigurationKind> kinds = [] {
    std::vector<ConfigurationKind> all;
    for (const Kind& k : kKinds) all.push_back(k.text);
    return all;
  }();
  return kinds;
}

ImportedConfiguration import_configuration(std::string_view kind, const std::string& file,
                                           const std::string& text) {
  const auto* const known =
      std::ranges::find(kKinds, kind, [](const Kind& k) { return k.text.name; });
  Reading reading{.file = file, .used = {}, .opened = {}, .blocks = {}, .left_out = {}};
  ImportedConfiguration result;
  if (known->convert == nullptr) {
    import_aws(file, text, reading, result);
  } else {
    Documents whole, documents;
    const std::vector<YAML::Node> nodes = parse(file, text);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string path = nodes.size() > 1 ? fmt::format("document {}", i + 1) : "";
      whole.emplace_back(nodes[i], path, reading);
    }
    for (const Field& d : whole) {  // a list of Kubernetes stands for its items
      const std::vector<Field> items = d["items"].items();
      documents.insert(documents.end(), items.begin(), items.end());
      if (items.empty()) documents.push_back(d);
    }
    known->convert(documents, reading, result);
    if (!result.policies.empty()) {
      for (const Field& d : whole) list_unused(d, reading);
    }
  }
  if (result.policies.empty()) {
    throw BadConfiguration(fmt::format("{}: error: no retry configuration found; expected {}", file,
                                       known->text.reads));
  }
  make_names_unique(result.policies);
  result.left_out = std::move(reading.left_out);
  return result;
}

namespace {

/// The field as seen from the place that the policy comes from: without the names that both have in
/// front, but for the last of them.
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

std::string to_toml(const ImportedConfiguration& imported, std::string_view heading) {
  const auto in_lines = [](const std::string& text, std::string_view first,
                           std::string_view others) {
    return report::wrapped(scenario::printable_line(text), {report::kNarrowColumns, first, others});
  };
  std::string text = in_lines(std::string(heading), "# ", "# ");
  constexpr std::string_view kRetry = "retry.";
  for (const ImportedPolicy& p : imported.policies) {
    const std::string name = scenario::render_name(p.name);
    std::string own, retry;
    for (const ImportedKey& key : p.keys) {
      const bool of_retry = key.path.starts_with(kRetry);
      (of_retry ? retry : own) +=
          fmt::format("{} = {}  # {}\n", of_retry ? key.path.substr(kRetry.size()) : key.path,
                      key.value, scenario::printable_line(seen_from(p.from, key.source)));
    }
    text += "\n";
    if (!p.from.empty()) text += in_lines(fmt::format("from {}", p.from), "# ", "#   ");
    text += fmt::format("[client.{}]\n{}\n[client.{}.retry]\n{}", name, own, name, retry);
  }
  if (imported.left_out.empty()) return text;
  text += "\n# Left out:\n";
  for (const LeftOutField& l : imported.left_out) {
    text += in_lines(fmt::format("{}: {}", l.field, l.why), "#   ", "#     ");
  }
  return text;
}

}  // namespace retrysim::cli

// The table of changes, and its rows in a scenario.
//
// SPDX-License-Identifier: MIT
#include "scenario/since.hpp"

#include <retrysim/error.hpp>
#include <retrysim/retry_rules.hpp>

#include "scenario/text/document.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

namespace retrysim::scenario {

// --- A key and its table -------------------------------------------------------------------------

/// The values of a scenario by their paths.
class ValuesByPath {
 public:
  explicit ValuesByPath(const LoadedScenario& loaded) : loaded_(loaded) {
    for (const ResolvedKey& key : loaded.keys) keys_.emplace(key.path, &key);
  }

  const ResolvedKey* find(const std::string& path) const {
    const auto at = keys_.find(path);
    return at == keys_.end() ? nullptr : at->second;
  }
  const LoadedScenario& loaded() const { return loaded_; }

 private:
  const LoadedScenario& loaded_;
  std::unordered_map<std::string_view, const ResolvedKey*> keys_;
};

/// One key of a scenario, and the others of its table.
class KeyInScenario {
 public:
  KeyInScenario(const ValuesByPath& values, const ResolvedKey& key, std::string_view table)
      : values_(values), key_(key), table_(table) {}

  bool is_given() const {
    return key_.origin == Origin::kScenario || key_.origin == Origin::kSet ||
           key_.origin == Origin::kEnvironment;
  }
  /// Text without quotes; any other value as TOML.
  std::string text() const { return text_of(key_); }
  /// The value of another key of the table; empty if it does not apply.
  std::string text(std::string_view other) const {
    const ResolvedKey* found = find(other);
    return found == nullptr ? std::string() : text_of(*found);
  }
  /// Its number; 0 if it has none.
  double number(std::string_view other) const {
    const ResolvedKey* found = find(other);
    double value = 0;
    if (found != nullptr) {
      std::from_chars(found->toml.data(), found->toml.data() + found->toml.size(), value);
    }
    return value;
  }
  /// Another key of the table; null if it does not apply.
  const ResolvedKey* find(std::string_view key) const {
    std::string path(table_);
    if (!path.empty()) path += '.';
    return values_.find(path.append(key));
  }
  const Scenario& scenario() const { return values_.loaded().scenario; }

 private:
  static std::string text_of(const ResolvedKey& key) {
    const auto node = parse_value(key.toml, Place{});
    return node && node->is_text() ? node->text : key.toml;
  }

  const ValuesByPath& values_;
  const ResolvedKey& key_;
  std::string_view table_;
};

// --- The table -----------------------------------------------------------------------------------

namespace {

constexpr std::string_view kKnownReleases[] = {"0.2.0", "0.3.0"};

/// The SDK of a client group without its version, under its own name.
std::string sdk_of_group(const KeyInScenario& k) {
  return std::string(canonical_sdk(k.text("retry.sdk")));
}

bool has_revision(const KeyInScenario& k, std::string_view revision) {
  return k.text("retry.revision") == revision;
}

/// Whether the group names a release of its SDK before `release` ("js-v2@2.31.0").
bool is_pinned_before(const KeyInScenario& k, std::string_view release) {
  const std::string sdk = k.text("retry.sdk");
  return has_version(sdk) && sdk.substr(0, sdk.find('@')) == release.substr(0, release.find('@')) &&
         version_is_before(sdk, release);
}

bool has_disturbance(const KeyInScenario& k) {
  const Scenario& s = k.scenario();
  return !s.faults.empty() || std::ranges::any_of(s.clients, [](const ClientSpec& c) {
    return !c.arrivals.surges.empty();
  });
}

// clang-format off
constexpr ReleaseChange kReleaseChanges[] = {
  // --- Names
  {.id = "retry-breaker-key", .release = "0.2.0", .kind = ReleaseChangeKind::kName,
   .key = "client.*.retry.breaker",
   .concerns = [](const KeyInScenario&) { return true; },
   .says = "The name is retry.retry_breaker now, because breaker, outside of retry, is a circuit "
           "breaker that refuses first attempts, too. The old name is still read and means the "
           "same."},
  {.id = "retry-breaker-preset", .release = "0.2.0", .kind = ReleaseChangeKind::kName,
   .key = "client.*.retry.sdk",
   .concerns = [](const KeyInScenario& k) { return k.text() == "circuit-breaker"; },
   .says = "The name of this preset is \"retry-breaker\" now. The old name is still read and means "
           "the same."},

  // --- Defaults
  {.id = "recovery-hold", .release = "0.2.0", .kind = ReleaseChangeKind::kDefault,
   .key = "recovery.hold",
   .concerns = [](const KeyInScenario& k) { return !k.is_given() && k.text() != "30s"; },
   .says = "Without a value it is the longest attempt timeout plus the longest backoff, where that "
           "is more than 30 s: clients that wait so long only seem to have recovered before.",
   .was = "\"30s\"", .keeps = "recovery.hold = \"30s\""},
  {.id = "connection-wait", .release = "0.2.0", .kind = ReleaseChangeKind::kDefault,
   .key = "client.*.connection_wait",
   .concerns = [](const KeyInScenario& k) { return !k.is_given() && k.text() != "none"; },
   .says = "With max_connections = \"sdk\", an attempt waits for a connection only as long as the "
           "SDK does (java-v2: 10 s), and then fails.",
   .was = "\"none\"", .keeps = "connection_wait = \"none\""},
  {.id = "panic-overprovisioning", .release = "0.2.0", .kind = ReleaseChangeKind::kDefault,
   .key = "service.*.panic_overprovisioning",
   .concerns = [](const KeyInScenario& k) {
     constexpr double kLeastWithoutPanic = 1 / 1.4;
     return !k.is_given() && k.number("panic_threshold") > kLeastWithoutPanic;
   },
   .says = "The balancer does not panic while the share of instances in rotation, times 1.4, is 1 "
           "or more, as in Envoy: a panic_threshold above 5 of 7 acts as 5 of 7.",
   .was = "1.0", .keeps = "panic_overprovisioning = 1.0"},

  // --- SDKs
  {.id = "php-whole-milliseconds", .release = "0.2.0", .kind = ReleaseChangeKind::kPreset,
   .key = "client.*.retry.backoff.quantum",
   .concerns = [](const KeyInScenario& k) {
     return !k.is_given() && sdk_of_group(k) == "php" && has_revision(k, "2.1");
   },
   .says = "Under revision 2.1, php waits whole milliseconds, as its source does.",
   .was = "\"0s\"", .keeps = "retry.backoff.quantum = \"0s\""},
  {.id = "go-v2-429", .release = "0.2.0", .kind = ReleaseChangeKind::kPreset,
   .key = "client.*.retry.status_429",
   .concerns = [](const KeyInScenario& k) {
     return !k.is_given() && sdk_of_group(k) == "go-v2" && has_revision(k, "2.1") &&
            k.text() == "throttling";
   },
   .says = "Under revision 2.1, go-v2 retries a 429 without a known code, as its release 1.48.0 "
           "does.",
   .was = "\"not-retryable\"", .keeps = "retry.status_429 = \"not-retryable\""},
  {.id = "rust-suggested-delays", .release = "0.2.0", .kind = ReleaseChangeKind::kPreset,
   .key = "client.*.retry.classifier",
   .concerns = [](const KeyInScenario& k) { return !k.is_given() && k.text() == "rust-2025"; },
   .says = "Releases of rust before 1.10.2 obey a suggested delay only beside a code that they "
           "know.",
   .was = "\"standard\"", .keeps = "retry.classifier = \"standard\""},
  {.id = "java-v2-releases", .release = "0.2.0", .kind = ReleaseChangeKind::kPreset,
   .key = "client.*.retry.sdk",
   .concerns = [](const KeyInScenario& k) {
     const bool old = is_pinned_before(k, "java-v2@2.17.17") ||
                      (is_pinned_before(k, "java-v2@2.17.58") && k.text("retry.api") != "dynamodb");
     return old && has_revision(k, "2.0");
   },
   .says = "Releases of java-v2 before 2.17.58 have the backoff of standard and adaptive mode that "
           "they had then; it was that of the newest release.",
   .keeps = "retry.sdk = \"java-v2\""},
  {.id = "js-v2-releases", .release = "0.2.0", .kind = ReleaseChangeKind::kPreset,
   .key = "client.*.retry.sdk",
   .concerns = [](const KeyInScenario& k) {
     return is_pinned_before(k, "js-v2@2.2.35") ||
            (is_pinned_before(k, "js-v2@2.31.0") && k.text("retry.api") == "dynamodb");
   },
   .says = "Releases of js-v2 before 2.31.0 have the delays without jitter that they had then; "
           "they were those of the newest release.",
   .keeps = "retry.sdk = \"js-v2\""},

  // --- Rules
  {.id = "active-budget", .release = "0.2.0", .kind = ReleaseChangeKind::kRule,
   .key = "client.*.retry.budget.kind",
   .concerns = [](const KeyInScenario& k) {
     return k.text() == "active" || k.text() == "interval";
   },
   .says = "A request in its backoff is no longer active, and its retry not under way, as in "
           "Envoy. Of kind active, a share of 20 % permits 3.8 % more attempts, no longer 4.6 %, "
           "one of 50 % 10 %, no longer 18 %.",
   .cannot = "it was a mistake, for which there is no key"},

  // --- Figures
  {.id = "recovery-later-collapse", .release = "0.2.0", .kind = ReleaseChangeKind::kFigure,
   .key = "recovery.hold", .concerns = has_disturbance,
   .says = "A collapse after recovery.hold counts, to the end of the run: in recovered, recovery_s "
           "and what follows from them (phases, storms, tip)."},
  {.id = "recovery-disturbances", .release = "0.2.0", .kind = ReleaseChangeKind::kFigure,
   .key = "recovery.hold",
   .concerns = [](const KeyInScenario& k) {
     return has_disturbance(k) && k.scenario().services.size() > 1;
   },
   .says = "The recovery of a client group counts from the last fault or surge that can reach it, "
           "by calls or by what groups share; those of other services counted, too."},
  {.id = "recovery-bounded-queue", .release = "0.2.0", .kind = ReleaseChangeKind::kFigure,
   .key = "service.*.queue.capacity",
   .concerns = [](const KeyInScenario& k) {
     return has_disturbance(k) && k.text() != "unlimited";
   },
   .says = "Failures that come together because a bounded queue is full now and then are no "
           "relapse, so that recovery_s may be shorter at high loads; of a queue that hardly ever "
           "is full they are one."},
  {.id = "recovery-closed-loop", .release = "0.2.0", .kind = ReleaseChangeKind::kFigure,
   .key = "client.*.arrivals.process",
   .concerns = [](const KeyInScenario& k) { return has_disturbance(k) && k.text() == "closed"; },
   .says = "The clients of a closed loop are due the requests per second that they made before the "
           "disturbance: a loop of which all clients are stuck no longer counts as recovered."},
};
// clang-format on

// --- Which rows concern a scenario ---------------------------------------------------------------

/// A path in two parts: its table ("client.web"; empty: none) and the key in it.
struct PathParts {
  std::string_view table, key;
  std::string_view kind;  ///< "client.*", also of calls; "service.*", ...; empty: no table
};

PathParts parts_of(std::string_view path) {
  const auto dot_after = [&](std::size_t from) { return path.find('.', from); };
  for (const auto& [begin, kind] :
       {std::pair<std::string_view, std::string_view>{"client.", "client.*"},
        {"service.", "service.*"}}) {
    if (!path.starts_with(begin)) continue;
    std::size_t end = dot_after(begin.size());
    if (end == std::string_view::npos) break;
    constexpr std::string_view kCalls = ".calls.";
    const bool is_call = path.substr(end).starts_with(kCalls);
    if (is_call) end = dot_after(end + kCalls.size());
    if (end == std::string_view::npos) break;
    return {path.substr(0, end), path.substr(end + 1), is_call ? "client.*" : kind};
  }
  return {{}, path, {}};
}

bool is_about(const ReleaseChange& row, const PathParts& path) {
  if (path.kind.empty()) return row.key == path.key;
  return row.key.size() == path.kind.size() + 1 + path.key.size() &&
         row.key.starts_with(path.kind) && row.key.ends_with(path.key);
}

/// Where a value comes from, if the file or an edit gives it.
std::string place_of_value(const ResolvedKey* key) {
  if (key == nullptr || (key->origin != Origin::kScenario && key->origin != Origin::kSet))
    return "";
  return key->origin_detail.substr(0, key->origin_detail.find(", "));
}

/// Where the file first gives a key of each table or key that it calls by an old name, by the name
/// of today.
std::unordered_map<std::string_view, std::string> places_of_old_names(
    const LoadedScenario& loaded) {
  std::unordered_map<std::string_view, std::string> places;
  for (const OldKeyName& name : loaded.old_names) places[name.now];
  if (places.empty()) return places;
  for (const ResolvedKey& key : loaded.keys) {
    const std::string_view path = key.path;
    for (std::size_t end = path.find('.'); end < path.size(); end = path.find('.', end + 1)) {
      const auto at = places.find(path.substr(0, end));
      if (at != places.end() && at->second.empty()) at->second = place_of_value(&key);
    }
  }
  return places;
}

/// Numbers with dots between them; nothing if the text is no version.
std::optional<std::array<int, 3>> version_numbers(std::string_view text) {
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t end = std::min(text.find('.'), text.size());
    const auto [rest, error] = std::from_chars(text.data(), text.data() + end, numbers[i]);
    if (error != std::errc{} || rest != text.data() + end || numbers[i] < 0) return std::nullopt;
    if (end == text.size()) return i == 0 ? std::nullopt : std::optional(numbers);
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> known_releases() { return kKnownReleases; }

std::string_view known_release(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    throw RequestError(
        fmt::format("{} = {} {}", RequestError::part("since"), in_quotes(text), why));
  };
  const auto asked = version_numbers(text);
  if (!asked) fail(fmt::format("is no release; expected one such as {}", kKnownReleases[0]));
  for (const std::string_view release : kKnownReleases) {
    if (version_numbers(release) == asked) return release;
  }
  if (*asked > *version_numbers(RETRYSIM_VERSION)) {
    fail(fmt::format("is newer than this program, which is {}", RETRYSIM_VERSION));
  }
  if (*asked < *version_numbers(kKnownReleases[0])) {
    fail(fmt::format("is too old: changes are recorded since {}", kKnownReleases[0]));
  }
  fail(fmt::format("is no release; there are: {}",
                   fmt::join(std::begin(kKnownReleases), std::end(kKnownReleases), ", ")));
  return {};
}

std::span<const ReleaseChange> release_changes() { return kReleaseChanges; }

std::vector<ChangeSince> changes_since(const LoadedScenario& loaded, std::string_view release) {
  const auto since = version_numbers(release);
  std::vector<ChangeSince> found;
  const ValuesByPath values(loaded);
  const auto places = places_of_old_names(loaded);
  const auto add = [&](const ReleaseChange& row, const PathParts& parts, const std::string& path) {
    ChangeSince& change = found.emplace_back();
    change.row = &row;
    change.key = path;
    change.table = parts.table;
    return &change;
  };
  for (const ReleaseChange& row : kReleaseChanges) {
    if (version_numbers(row.release) < since) continue;
    for (const OldKeyName& name : loaded.old_names) {
      const PathParts parts = parts_of(name.before);
      if (!is_about(row, parts)) continue;
      add(row, parts, name.before)->place = places.at(name.now);
    }
    for (const ResolvedKey& key : loaded.keys) {
      const PathParts parts = parts_of(key.path);
      if (!is_about(row, parts)) continue;
      const KeyInScenario here(values, key, parts.table);
      if (!row.concerns(here)) continue;
      ChangeSince* change = add(row, parts, key.path);
      change->value = key.toml;
      change->place =
          place_of_value(row.kind == ReleaseChangeKind::kPreset ? here.find("retry.sdk") : &key);
    }
  }
  std::ranges::stable_sort(found, {}, [](const ChangeSince& c) { return c.row->kind; });
  return found;
}

std::string_view changes_of_all(std::string_view release) {
  if (release != kKnownReleases[0]) {
    return "Everything else is as it was: a run with the same seed has the same results.";
  }
  return "Apart from that, a run with the same seed has the events of 0.2.0; autocorrelation, "
         "spectral_peak_ratio and spectral_p_value may differ in their last digits. Sentences, "
         "predictions, and the intervals of advise, choose and fit may be others: see Changed "
         "results in the changelog.";
}

}  // namespace retrysim::scenario

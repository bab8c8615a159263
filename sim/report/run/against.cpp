// SPDX-License-Identifier: MIT
#include "report/run/against.hpp"

#include "report/document/text.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/csv_library.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kValuesFile = "replications.csv";

// --- The kept run --------------------------------------------------------------------------------

std::optional<double> kept_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The values of replications.csv: empty cells are values that do not exist.
void read_values(const fs::path& file, KeptRun& kept) {
  const std::string text = content_of(file);
  using Reader = io::CSVReader<4, io::trim_chars<>, io::double_quote_escape<',', '"'>,
                               io::throw_on_overflow, io::no_comment>;
  try {
    Reader reader(file.string(), text.data(), text.data() + text.size());
    reader.read_header(io::ignore_extra_column, "replication", "client", "metric", "value");
    const char *number = nullptr, *client = nullptr, *metric = nullptr, *value = nullptr;
    while (reader.read_row(number, client, metric, value)) {
      const auto replication = kept_number(number);
      if (!replication || !(*replication >= 0) ||
          !(*replication < static_cast<double>(kept.replications))) {
        throw DamagedResult(file, "names a replication that result.json does not have");
      }
      stats::Series& series = kept.values[client][metric];
      series.resize(kept.replications);
      series[static_cast<std::size_t>(*replication)] = kept_number(value);
    }
  } catch (const io::error::base& e) {
    throw DamagedResult(file, fmt::format("cannot be read: {}", e.what()));
  }
}

}  // namespace

const stats::Series* KeptRun::find(std::string_view client, std::string_view metric) const {
  const auto group = values.find(client);
  if (group == values.end()) return nullptr;
  const auto series = group->second.find(metric);
  return series == group->second.end() ? nullptr : &series->second;
}

KeptRun read_kept_run(const fs::path& folder) {
  const fs::path file = folder / kResultJson;
  const Json json = read_sealed(folder);
  KeptRun kept;
  kept.folder = folder.string();
  std::string command;
  read_members(file, [&] {
    command = json.at("command").get<std::string>();
    kept.version = json.at("version").get<std::string>();
    kept.seed = json.at("seed").get<std::uint64_t>();
    kept.replications = json.at("replications").get<std::size_t>();
  });
  if (command != "run") {
    throw DamagedResult(file, fmt::format("is a result of {}; expected one of run",
                                          scenario::printable_line(command)));
  }
  const std::vector<FileRecord> records = file_records(json, file);
  const auto record = std::ranges::find(records, kValuesFile, &FileRecord::name);
  if (record == records.end()) {
    throw DamagedResult(file, "has no replications.csv: it is no run of a scenario as it stands");
  }
  if (const std::string fault = fault_of(folder, *record); !fault.empty()) {
    throw DamagedResult(folder / kValuesFile, fault);
  }
  read_values(folder / kValuesFile, kept);
  kept.question = identity_of(json, file);
  return kept;
}

// --- The comparison ------------------------------------------------------------------------------

namespace {

/// What users notice, the most important first; success comes before the latency of successes.
constexpr std::array<std::string_view, 4> kNoticed = {"success_rate", "recovered", "latency_ok_p99",
                                                      "error_budget_used"};

stats::Series own_series(const Evaluation& e, std::size_t client, std::size_t metric) {
  stats::Series series;
  for (std::size_t run = 0; run < e.values.runs(); ++run) {
    series.push_back(e.values.at(run, client, metric));
  }
  return series;
}

/// Whether all metrics of all groups are the same on both sides in the first `pairs` replications.
bool is_identical(const KeptRun& kept, const Evaluation& e, std::size_t pairs) {
  for (std::size_t client = 0; client < e.clients(); ++client) {
    for (const MetricInfo& metric : metric_table()) {
      stats::Series series = own_series(e, client, index_of(metric));
      const stats::Series* before = kept.find(e.client_name(client), metric.name);
      if (before == nullptr) {
        if (std::ranges::any_of(series, [](const auto& v) { return v.has_value(); })) return false;
        continue;
      }
      for (std::size_t k = 0; k < pairs; ++k) {
        if (series[k] != (*before)[k]) return false;
      }
    }
  }
  return true;
}

bool is_loss(const Change& change) {
  const bool rises = change.difference.difference > 0;
  return rises == (change.metric->display.better == MetricBetter::kLower);
}

/// The verdict by the interval that is shown, so that the word never says more than it.
ChangeVerdict verdict_on(const Change& change) {
  const PairedDifference& d = change.difference;
  if (!d.interval || (d.interval->low <= 0 && d.interval->high >= 0)) return ChangeVerdict::kSame;
  if (is_negligible(*change.metric, d)) return ChangeVerdict::kSame;
  return is_loss(change) ? ChangeVerdict::kWorse : ChangeVerdict::kBetter;
}

/// Takes back the verdict on a latency of successes of a group with a better success rate.
void excuse_latency(std::vector<Change>& changes) {
  for (Change& latency : changes) {
    if (latency.metric->name != "latency_ok_p99" || latency.verdict != ChangeVerdict::kWorse) {
      continue;
    }
    const bool more_succeed = std::ranges::any_of(changes, [&](const Change& c) {
      return c.client == latency.client && c.metric->name == "success_rate" &&
             c.verdict == ChangeVerdict::kBetter;
    });
    if (more_succeed) latency.verdict = ChangeVerdict::kSame;
  }
}

// --- What differs from there ---------------------------------------------------------------------

/// The table of a path that has a name of its own: "fault.outage" of "fault.outage.start"; empty if
/// there is none.
std::string_view named_table(std::string_view path) {
  const std::size_t first = path.find('.');
  if (first == std::string_view::npos) return {};
  const std::size_t second = path.find('.', first + 1);
  return second == std::string_view::npos ? std::string_view() : path.substr(0, second);
}

bool has_table(const ResultIdentity& question, std::string_view table) {
  return std::ranges::any_of(question.keys, [&](const auto& key) {
    return key.first.size() > table.size() && key.first.starts_with(table) &&
           key.first[table.size()] == '.';
  });
}

/// A value of a key in a sentence.
std::string shown_key(const std::string& toml) {
  constexpr std::size_t kLongest = 40;
  std::string text = scenario::printable_line(scenario::shown_value(toml));
  return scenario::columns_of(text) > kLongest ? "..." : text;
}

/// Whether a key matters to what is compared.
bool is_compared(std::string_view path) {
  if (path.ends_with(".retry.from_environment")) return false;  // its effect is in other keys
  return path.starts_with("slo.") || scenario::describes_system(path);
}

void compare_keys(Against& found, const Evaluation& e) {
  const LoadedScenario& loaded = e.set.scenario;
  ResultIdentity now = identity_of({&loaded}, "run");
  // A warm-up that the program found is "auto" there, too.
  for (auto& [path, value] : now.keys) {
    if (path == "warmup" && e.set.warmup) value = "\"auto\"";
  }
  const ResultIdentity& before = found.kept.question;
  const bool same_version = found.kept.version == now.version;
  const auto is_given = [&](const KeyDifference& d) {
    return std::ranges::any_of(loaded.keys, [&](const ResolvedKey& key) {
      return key.path == d.path && (key.origin == Origin::kScenario || key.origin == Origin::kSet);
    });
  };
  for (KeyDifference& d : key_differences(before, now)) {
    if (!is_compared(d.path)) continue;
    const bool is_new = d.earlier.empty(), is_gone = d.now.empty();
    // Another version may have other keys, or leave out those without an effect.
    if (!same_version && is_new && !is_given(d)) continue;
    if (!same_version && is_gone && scenario::find_key(d.path) == nullptr) continue;
    const std::string_view table = named_table(d.path);
    if ((is_new && !has_table(before, table)) || (is_gone && !has_table(now, table))) {
      if (!table.empty()) found.tables.emplace(table, is_new);
    }
    found.keys.push_back(std::move(d));
  }
  std::stable_partition(found.keys.begin(), found.keys.end(), is_given);
  for (const FileRecord& file : now.files) {
    const auto other = std::ranges::find(before.files, file.name, &FileRecord::name);
    if (other != before.files.end() && *other != file) found.inputs.push_back(file.name);
  }
}

/// "What differs from kept: service.api.servers = 8 (there 4), fault.deploy (only here)."; of many
/// the first ones. Empty if nothing does.
std::string keys_text(const Against& found) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> said;
  std::vector<std::string_view> tables;
  for (const KeyDifference& d : found.keys) {
    const std::string path = scenario::printable_line(d.path);
    if (const auto table = found.tables.find(named_table(d.path)); table != found.tables.end()) {
      if (std::ranges::find(tables, table->first) != tables.end()) continue;
      tables.push_back(table->first);
      said.push_back(fmt::format("{} (only {})", scenario::printable_line(table->first),
                                 table->second ? "here" : "there"));
    } else if (d.now.empty()) {
      said.push_back(fmt::format("{} unset (there {})", path, shown_key(d.earlier)));
    } else {
      said.push_back(
          fmt::format("{} = {} ({})", path, shown_key(d.now),
                      d.earlier.empty() ? "there unset" : "there " + shown_key(d.earlier)));
    }
  }
  for (const std::string& file : found.inputs) {
    said.push_back("the contents of " + scenario::printable_line(file));
  }
  if (said.empty()) return "";
  const std::size_t more = said.size() > kMost + 1 ? said.size() - kMost : 0;
  said.resize(said.size() - more);
  return fmt::format("What differs from {}: {}{}.", scenario::printable_line(found.kept.folder),
                     fmt::join(said, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

// --- In words ------------------------------------------------------------------------------------

std::string noticed_text(const MetricInfo& metric, double value) {
  if (shown_as_percentage(metric)) return percent(value);
  const DisplayUnit unit = display_unit(value, metric.unit);
  return format_plain(value * unit.scale) + std::string(unit.name);
}

/// The unit of a difference, chosen for values as large as `typical`.
DisplayUnit unit_of_change(const MetricInfo& metric, double typical) {
  return shown_as_percentage(metric) ? DisplayUnit{100, " points"}
                                     : display_unit(typical, metric.unit);
}

/// "success rate of web 97.1 %, kept 99.2 %: 2.1 points lower (1.9 to 2.3)"
std::string change_text(const Change& change) {
  const PairedDifference& d = change.difference;
  const MetricInfo& metric = *change.metric;
  std::string text = fmt::format(
      "{}{} {}, kept {}", metric.label(),
      change.client == "all" ? std::string() : " of " + scenario::printable_line(change.client),
      noticed_text(metric, d.mean), noticed_text(metric, d.baseline_mean));
  if (d.identical || d.difference == 0) return text;
  const DisplayUnit unit =
      unit_of_change(metric, std::max(std::abs(d.mean), std::abs(d.baseline_mean)));
  const auto number = [&](double size) { return format_plain(size * unit.scale, 3); };
  const bool rises = d.difference > 0;
  text += fmt::format(": {}{} {}", number(std::abs(d.difference)), unit.name,
                      rises ? "higher" : "lower");
  if (!d.interval) return text;
  const auto [low, high] = *d.interval;
  return text + (rises ? fmt::format(" ({} to {})", number(low), number(high))
                       : fmt::format(" ({} to {})", number(-high), number(-low)));
}

}  // namespace

std::string_view name(ChangeVerdict verdict) {
  switch (verdict) {
    case ChangeVerdict::kSame:
      return "same";
    case ChangeVerdict::kWorse:
      return "worse";
    case ChangeVerdict::kBetter:
      break;
  }
  return "better";
}

ChangeVerdict Against::verdict() const {
  const auto any = [&](ChangeVerdict verdict) {
    return std::ranges::any_of(changes, [&](const Change& c) { return c.verdict == verdict; });
  };
  if (any(ChangeVerdict::kWorse)) return ChangeVerdict::kWorse;
  return any(ChangeVerdict::kBetter) ? ChangeVerdict::kBetter : ChangeVerdict::kSame;
}

std::vector<std::string> Against::sentences() const {
  const std::string runs = scenario::said_things(pairs, "replication");
  const std::string what = scenario::printable_line(kept.folder);
  const std::string other = keys_text(*this);
  const auto with_keys = [&](std::vector<std::string> sentences) {
    if (!other.empty()) sentences.push_back(other);
    return sentences;
  };
  if (is_identical) {
    return with_keys({fmt::format("Nothing has changed against {}: every metric is the same in {}.",
                                  what, pairs == 1 ? runs : "each of " + runs)});
  }
  if (std::ranges::none_of(changes, [](const Change& c) { return c.difference.pairs > 0; })) {
    return with_keys({fmt::format("Nothing in it can be compared with {}.", what)});
  }
  const ChangeVerdict all = verdict();
  std::vector<std::string> said;
  for (const Change& change : changes) {
    const bool counts = all == ChangeVerdict::kSame || change.verdict == all;
    if (counts && change.difference.pairs > 0) said.push_back(change_text(change));
  }
  const std::string_view word = all == ChangeVerdict::kWorse    ? "It is worse than"
                                : all == ChangeVerdict::kBetter ? "It is better than"
                                                                : "It is no worse than";
  const std::string how_sure =
      all == ChangeVerdict::kSame ? fmt::format(", as far as {} can tell", runs) : "";
  return with_keys(
      {fmt::format("{} {}{}: {}.", word, what, how_sure, fmt::join(said, "; ")),
       fmt::format("Differences are of {} on the same random numbers; all intervals hold together "
                   "with {} confidence.",
                   runs, percent(1 - 2 * kFalseAlarm))});
}

Against against(const KeptRun& kept, const Evaluation& e) {
  Against found{.kept = kept, .changes = {}, .notes = {}, .keys = {}, .tables = {}, .inputs = {}};
  compare_keys(found, e);
  found.pairs = std::min(kept.replications, e.values.runs());
  found.is_identical = is_identical(kept, e, found.pairs);
  struct Both {
    std::size_t client;
    const MetricInfo* metric;
    stats::Series now, before;
  };
  std::vector<Both> compared;
  const auto makes_requests = [](const ClientSpec& c) { return !c.makes_calls(); };
  const std::vector<ClientSpec>& groups = e.scenario().clients;
  const auto first = std::ranges::find_if(groups, makes_requests);
  // A single group says all of the others itself, if both have it.
  const bool one_says_all =
      std::ranges::count_if(groups, makes_requests) == 1 && kept.values.contains(first->name);
  for (std::size_t client = 0; client < e.clients(); ++client) {
    const bool is_all = client + 1 == e.clients();
    if (!is_all && e.scenario().clients[client].makes_calls()) continue;
    if (!is_all && !kept.values.contains(e.client_name(client))) {
      found.notes.push_back(fmt::format("{} has no group {}", scenario::printable_line(kept.folder),
                                        scenario::printable_line(e.client_name(client))));
      continue;
    }
    for (const std::string_view name : kNoticed) {
      const MetricInfo& metric = *find_metric(name);
      if (is_all && one_says_all && metric.scope != MetricScope::kAllOnly) continue;
      const stats::Series* before = kept.find(e.client_name(client), name);
      if (before == nullptr) continue;
      Both both{client, &metric, own_series(e, client, index_of(metric)), *before};
      both.now.resize(found.pairs);
      both.before.resize(found.pairs);
      compared.push_back(std::move(both));
    }
  }
  for (const auto& entry : kept.values) {
    const std::string& client = entry.first;
    if (client == "all" || std::ranges::find(groups, client, &ClientSpec::name) != groups.end()) {
      continue;
    }
    found.notes.push_back(fmt::format("only {} has a group {}",
                                      scenario::printable_line(kept.folder),
                                      scenario::printable_line(client)));
  }
  const double error =
      2 * kFalseAlarm /
      static_cast<double>(std::max<std::size_t>(compared.size(), 1));  // Bonferroni
  for (const Both& both : compared) {
    found.changes.push_back(
        {e.client_name(both.client), both.metric,
         stats::metric_differences(*both.metric, {&both.now, 1}, both.before, error).front()});
  }
  for (Change& change : found.changes) change.verdict = verdict_on(change);
  excuse_latency(found.changes);
  return found;
}

// --- Renderings ----------------------------------------------------------------------------------

void add_against(Document& document, const Against& found) {
  const ChangeVerdict verdict = found.verdict();
  const Emphasis emphasis = verdict == ChangeVerdict::kWorse ? Emphasis::kBad : Emphasis::kGood;
  const std::vector<std::string> sentences = found.sentences();
  document.gap().say(sentences.front(), "", "  ", emphasis);
  for (std::size_t i = 1; i < sentences.size(); ++i) document.say(sentences[i], "  ", "  ");
  document.notes(found.notes);
  Columns<Change> t;
  t.files("client", [](auto& c) { return c.client; });
  t.files("metric", [](auto& c) { return c.metric->name; });
  t.json("unit", [](auto& c) { return c.metric->unit; });
  t.files("pairs", [](auto& c) { return c.difference.pairs; });
  t.files("mean", [](auto& c) { return c.difference.mean; });
  t.files("kept_mean", [](auto& c) { return c.difference.baseline_mean; });
  t.files("difference difference_low difference_high", [](auto& c) {
    const auto& i = c.difference.interval;
    return Ranged{c.difference.difference, i ? std::optional(i->low) : std::nullopt,
                  i ? std::optional(i->high) : std::nullopt};
  });
  t.files("p_value", [](auto& c) { return c.difference.p_value; });
  t.files("verdict", [](auto& c) { return name(c.verdict); });
  const CellTable table(t, found.changes);
  Json keys = Json::array();
  const auto value = [](const std::string& toml) { return toml.empty() ? Json() : Json(toml); };
  for (const KeyDifference& d : found.keys) {
    keys.push_back({{"path", d.path}, {"kept", value(d.earlier)}, {"now", value(d.now)}});
  }
  document.member("against", {{"folder", found.kept.folder},
                              {"version", found.kept.version},
                              {"pairs", found.pairs},
                              {"is_identical", found.is_identical},
                              {"verdict", name(verdict)},
                              {"false_alarm", kFalseAlarm},
                              {"sentences", sentences},
                              {"keys", std::move(keys)},
                              {"changes", rows_json(table)}});
  document.tables({source_of("against", table)});
}

std::vector<Check> checks_of(const Against& found) {
  std::vector<Check> checks;
  if (std::ranges::none_of(found.changes, [](auto& c) { return c.difference.pairs > 0; })) {
    checks.push_back({"no worse", 0, ExpectationVerdict::kUncertain, found.sentences().front()});
  }
  for (const Change& change : found.changes) {
    if (change.difference.pairs == 0) continue;
    const bool worse = change.verdict == ChangeVerdict::kWorse;
    checks.push_back({fmt::format("no worse: {} of {}", change.metric->name, change.client), 0,
                      worse ? ExpectationVerdict::kFails : ExpectationVerdict::kHolds,
                      fmt::format("{} than {}: {}", worse ? "worse" : "no worse", found.kept.folder,
                                  change_text(change))});
  }
  return checks;
}

}  // namespace retrysim::report

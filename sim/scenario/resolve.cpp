// Resolving a whole scenario: the top level, then services, because faults and clients name them.
//
// SPDX-License-Identifier: MIT
#include "scenario/resolve.hpp"

#include "scenario/output_keys.hpp"
#include "scenario/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace retrysim::scenario {
namespace {

// Bins and their memory: ten million are 0.5 GB for each client group.
constexpr double kMostBins = 1e7;
// Where keys that are in no table have to be.
constexpr Place kTop{0, 1, 1};

// The bins go on through the drain. Either side of the relation may be the mistake, so the error
// is shown at each that is written.
void check_bins(Tables& t, const KeyResolution& keys) {
  const Scenario& s = t.loaded.scenario;
  const double length_s = (s.duration + s.drain_limit).in_seconds();
  if (length_s / s.interval.in_seconds() <= kMostBins) return;
  const std::string message =
      "interval = " + to_text(s.interval) +
      " makes more than ten million bins of duration = " + to_text(s.duration) +
      " and drain_limit = " + to_text(s.drain_limit) + "; expected a longer interval";
  for (const std::string_view key : {"interval", "duration"}) {
    if (keys.place_of(key) == kTop) continue;
    t.problems.add(keys.place_of(key),
                   key == "interval" ? message : message + " or a shorter duration");
  }
}

void check_name(Tables& t, const KeyResolution& keys) {
  const std::string& name = t.loaded.scenario.name;
  // =, +, - and @ begin a formula in spreadsheets that open the result files.
  constexpr std::string_view kBadStarts = ".=+-@";
  constexpr std::size_t kMostBytes = 100;
  const bool good = !name.empty() && kBadStarts.find(name.front()) == std::string_view::npos &&
                    name.size() <= kMostBytes && std::all_of(name.begin(), name.end(), [](char c) {
                      const auto byte = static_cast<unsigned char>(c);
                      return byte >= 0x20 && byte != 0x7F && c != '/' && c != '\\';
                    });
  if (good) return;
  t.problems.add(keys.place_of("name"),
                 fmt::format("name = {} cannot name a folder; expected 1 to {} bytes of text "
                             "without /, \\ and control characters, not starting with . = + - or @",
                             in_quotes(name), kMostBytes));
}

// The keys of the top level; returns the place of `warmup`.
Place resolve_top(Tables& t) {
  Scenario& s = t.loaded.scenario;
  KeyResolution keys(key_scope(""), "", t.root, kTop, Slots(&s), t.files, t.loaded);
  prepare_precision(keys, t.root);
  keys.resolve();
  if (keys.has("name")) check_name(t, keys);
  read_precision(keys, s, t.problems);
  const Place warmup_place = keys.place_of("warmup");
  if (!keys.has("duration")) return warmup_place;
  if (keys.has("warmup") && s.warmup >= s.duration) {
    t.problems.add(warmup_place, "warmup = " + to_text(s.warmup) +
                                     " leaves nothing of the duration of " + to_text(s.duration) +
                                     "; expected less");
  }
  if (keys.has("interval") && keys.has("drain_limit")) check_bins(t, keys);
  return warmup_place;
}

void require(Tables& t, std::string_view kind, const std::string& what) {
  const Member* member = t.root.find(kind);
  if (member != nullptr && (!member->value.is_table() || !member->value.members.empty())) return;
  t.problems.add(member == nullptr ? kTop : member->place,
                 "there is no " + std::string(kind) + "; expected " + what);
}

}  // namespace

LoadedScenario resolve(const Node& root, const std::set<std::string>& incomplete, CsvFiles& files) {
  Tables t(root, incomplete, files);
  const Place warmup_place = resolve_top(t);
  resolve_services(t);
  resolve_faults(t);
  resolve_clients(t);
  resolve_phases(t);
  resolve_expectations(t);
  check_steady_state(t.loaded.scenario, warmup_place, t.problems);
  require(t, "service", "a [service.NAME] to call");
  require(t, "client", "a [client.NAME] that sends requests");
  t.loaded.input_files = files.paths();
  return std::move(t.loaded);
}

}  // namespace retrysim::scenario

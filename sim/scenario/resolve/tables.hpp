// A scenario while it is being resolved: the tree as written, the result so far, and how the keys
// of one table are read. `resolve` goes through all tables and checks them against each other.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/resolve/key_resolution.hpp"
#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/problems.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

class Tables {
 public:
  /// `without_base` names the tables whose `like` could not be replaced. Mistakes go to the
  /// problems of `csv_files`.
  Tables(const Node& written, const std::set<std::string>& without_base, CsvFiles& csv_files)
      : root(written), incomplete(without_base), files(csv_files), problems(csv_files.problems()) {}

  /// The table of a kind, "client"; null if there is none.
  const Node* of_kind(std::string_view kind) const;

  /// Calls `function(member, siblings)` for each table in table `kind` of `parent`.
  template <class Function>
  void for_each_in(const Node& parent, std::string_view kind, Function function) const {
    const Member* all = parent.find(kind);
    if (all == nullptr || !all->value.is_table()) return;
    for (const Member& member : all->value.members) {
      if (member.value.is_table() && is_entity_name(member.name)) function(member, all->value);
    }
  }
  template <class Function>
  void for_each(std::string_view kind, Function function) const {
    for_each_in(root, kind, function);
  }

  /// The keys of `member`, a table among `siblings`, whose full name is `path`.
  KeyResolution keys_of(std::string_view pattern, const std::string& path, const Member& member,
                        const Node& siblings, const Slots& slots);

  /// A fault or client group that does not name its service means the only one.
  void default_service(KeyResolution& keys, std::string_view key);
  /// The index of the service called `name`; an error if there is none.
  std::optional<std::size_t> find_service(const KeyResolution& keys, std::string_view key,
                                          const std::string& name);
  /// The index without an error.
  std::optional<std::size_t> index_of_service(std::string_view name);
  std::vector<std::string_view> service_names() const;

  /// Whether there is a client group of that name: as written, even with mistakes, or for the calls
  /// of a service. All have been resolved.
  bool is_client(std::string_view name);

  /// Notes that something starts after the last request and so does nothing, which is mostly a
  /// mistake.
  void note_if_late(const std::string& path, Time start, std::string_view effect);

  /// Whether a table is not in the file: an edit has made it.
  bool is_made_by_edit(const Member& member) const;

  const Node& root;
  const std::set<std::string>& incomplete;
  CsvFiles& files;
  Problems& problems;
  LoadedScenario loaded;

 private:
  std::map<std::string, std::size_t, std::less<>> services_by_name_;  // those known so far
  std::set<std::string_view> clients_;                                // once all are known
  std::string services_text_;  // the first of them, for messages; once all are known
  void explain_new_entity(KeyResolution& keys, const KeyScope& scope, const Member& member,
                          const Node& siblings) const;
};

/// Each resolves all tables of its kind. Services come first, because the others name them.
void resolve_services(Tables& tables);
void resolve_faults(Tables& tables);
/// Also the calls of services to others: client groups after those of the user.
void resolve_clients(Tables& tables);
void resolve_phases(Tables& tables);
void resolve_slos(Tables& tables);
void resolve_expectations(Tables& tables);
/// After all keys: their values are compared with the intervals.
void resolve_uncertain(Tables& tables);

// --- The whole scenario --------------------------------------------------------------------------

/// Resolves a tree whose `like`s are applied; `incomplete` names the tables for which that failed.
/// Mistakes go to the problems of `files`; if there are any, the result is useless.
LoadedScenario resolve(const Node& root, const std::set<std::string>& incomplete, CsvFiles& files);

// --- Checks of the top level ---------------------------------------------------------------------

// Checks of warmup = "auto" and of precision that the table of keys cannot make by itself.

/// "NAME is unknown; ..." for a metric that does not exist, with the nearest one that does.
std::string unknown_metric(std::string_view name);

/// Before the top level is resolved: with a precision the fewest replications are 10.
void prepare_precision(KeyResolution& keys, const Node& root);

/// After it: reads precision_metrics, and checks the keys around precision against each other.
void read_precision(const KeyResolution& keys, Scenario& scenario, Problems& problems);

/// After everything: a warm-up can be found, at `warmup_place`, only where the scenario has a
/// steady state, and in a series long enough.
void check_steady_state(const Scenario& scenario, Place warmup_place, Problems& problems);

}  // namespace retrysim::scenario

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

  /// The table that holds all tables of a kind ("client"); null if there is none.
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

  /// Prepares the resolution of the keys of `member`, a table among `siblings`, whose full name is
  /// `path`.
  KeyResolution keys_of(std::string_view pattern, const std::string& path, const Member& member,
                        const Node& siblings, const Slots& slots);

  /// Sets the default of a fault's or client group's service: the only one, if there is just one.
  void default_service(KeyResolution& keys, std::string_view key);
  /// The index of the service called `name`; an error if there is none.
  std::optional<std::size_t> find_service(const KeyResolution& keys, std::string_view key,
                                          const std::string& name);
  /// The index of the service called `name`; empty, without an error, if there is none.
  std::optional<std::size_t> index_of_service(std::string_view name);
  std::vector<std::string_view> service_names() const;

  /// Whether there is a client group of that name: written, even with mistakes, or for the calls of
  /// a service. All groups must have been resolved.
  bool is_client(std::string_view name);

  /// Notes that something starts after the last request and so does nothing, which is mostly a
  /// mistake.
  void note_if_late(const std::string& path, Time start, std::string_view effect);

  /// Whether an edit has made a table that is not in the file.
  bool is_made_by_edit(const Member& member) const;

  const Node& root;
  const std::set<std::string>& incomplete;
  CsvFiles& files;
  Problems& problems;
  LoadedScenario loaded;

 private:
  std::map<std::string, std::size_t, std::less<>> services_by_name_;  // services resolved so far
  std::set<std::string_view> clients_;  // names of all groups, once resolved
  std::string services_text_;           // the first services, for messages; once all are known
  void explain_new_entity(KeyResolution& keys, const KeyScope& scope, const Member& member,
                          const Node& siblings) const;
};

/// These functions resolve all tables of their kind. Services come first, because the others name
/// them.
void resolve_services(Tables& tables);
void resolve_faults(Tables& tables);
/// Resolves client groups, then the calls of services to others, as further client groups.
void resolve_clients(Tables& tables);
void resolve_phases(Tables& tables);
void resolve_slos(Tables& tables);
void resolve_expectations(Tables& tables);
/// Resolves uncertain keys; called after all others, whose values are compared with the intervals.
void resolve_uncertain(Tables& tables);

// --- The whole scenario --------------------------------------------------------------------------

/// Resolves a tree whose `like`s are applied; `incomplete` names the tables for which that failed.
/// Mistakes go to the problems of `files`; if there are any, the result is useless.
LoadedScenario resolve(const Node& root, const std::set<std::string>& incomplete, CsvFiles& files);

// --- Checks of the top level ---------------------------------------------------------------------

// Checks of warmup = "auto" and of precision that the table of keys cannot make by itself.

/// The message about a metric that does not exist, with the nearest one that does: "NAME is
/// unknown; ...".
std::string unknown_metric(std::string_view name);

/// Sets the fewest replications to 10 if there is a precision; called before the top level is
/// resolved.
void prepare_precision(KeyResolution& keys, const Node& root);

/// Reads precision_metrics, and checks the keys around precision against each other; called after
/// the top level is resolved.
void read_precision(const KeyResolution& keys, Scenario& scenario, Problems& problems);

/// Reports warmup = "auto", written at `warmup_place`, if the scenario has no steady state or its
/// series is too short; called last.
void check_steady_state(const Scenario& scenario, Place warmup_place, Problems& problems);

}  // namespace retrysim::scenario

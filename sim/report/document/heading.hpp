// The title of a result, and its description of the scenario. A result of a changed scenario says
// so in every heading, and never passes for a result of the file: `heading_of` concludes this once,
// and all texts, pages, pictures and reports of tests use it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <span>
#include <string>
#include <vector>

namespace retrysim::report {

struct Heading {
  std::string name;  ///< name of the scenario
  /// The name with the changes: "deploy, with fault.deploy.duration = 90s"; of many changes the
  /// first ones, and the number of the others.
  std::string title;
  /// The scenario's own description; with changes, first these, and then a note that the words are
  /// those of the unchanged file. May be empty.
  std::string description;
  /// All changes of the scenario.
  std::vector<ScenarioChange> changes = {};

  /// Name and description, "deploy: What happens when ...": the description has the changes.
  std::string text() const;
};

/// The heading of a result of one scenario. Keys that the command itself varies are no changes: the
/// paths in `varied`, such as those of --vary and --trigger.
Heading heading_of(const LoadedScenario& scenario, std::span<const std::string> varied = {});

/// The heading of a result of several variants, at least one. The first one gives name and
/// description; changes are those that all of them have. The variants' names say in what they
/// differ.
Heading heading_of(const std::vector<const LoadedScenario*>& variants);

}  // namespace retrysim::report

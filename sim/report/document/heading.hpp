// What a result is called, and what it says of its scenario. A result of a changed scenario says so
// wherever it has a heading, and never passes for one of the file: `heading_of` concludes this
// once, and all texts, pages, pictures and reports of tests take it from there.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <span>
#include <string>
#include <vector>

namespace retrysim::report {

struct Heading {
  std::string name;  ///< of the scenario
  /// The name, with what was changed: "deploy, with fault.deploy.duration = 90s"; of many changes
  /// the first, and the number of the others.
  std::string title;
  /// What the scenario shows, in its own words; with changes, first these, and then that the words
  /// are those of the unchanged file. May be empty.
  std::string description;
  /// All that was changed.
  std::vector<ScenarioChange> changes = {};

  /// "deploy: What happens when ..."; the description has the changes, so the name stands for it.
  std::string text() const;
};

/// The heading of a result of one scenario. What it goes through itself is no change: the paths in
/// `varied`, such as those of --vary and --trigger.
Heading heading_of(const LoadedScenario& scenario, std::span<const std::string> varied = {});

/// The heading of a result of several variants, at least one, the first of which gives name and
/// description: with the changes that they all have. Their names say what they differ in.
Heading heading_of(const std::vector<const LoadedScenario*>& variants);

}  // namespace retrysim::report

// The output of `retrysim sdk-upgrade`: what an upgrade does to the fleet, what it changes in one
// client, and what its users can set.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/sdk_upgrade.hpp>

#include "report/document/document.hpp"
#include "report/run/evaluation.hpp"

#include <span>
#include <string>
#include <vector>

namespace retrysim::report {

/// A rule of one client in words, before and after.
struct RuleWords {
  std::string rule, from, to;
};

struct UpgradeReport {
  const UpgradeStudy& study;
  const UpgradeResult& found;
  std::vector<RuleWords> rules;             ///< rules, including those that do not change
  std::span<const Evaluation> evaluations;  ///< evaluations of the older and the newer release
};

/// The sentences about the fleet, the first of which is the answer.
std::vector<std::string> upgrade_sentences(const UpgradeReport& report);

/// The document on one upgrade: the answer; the rules that change, side by side; the same failures
/// played by both releases; settings for users; and the fleet's figures as in a comparison, with
/// its files. upgrade.csv has one row. Refers to the report.
Document upgrade_document(const UpgradeReport& report);

/// The document on several upgrades: a row for each, also in upgrade.csv, and sentences on what
/// stands out. `name` is that of all of them together.
Document upgrades_document(std::span<const UpgradeReport> reports, const std::string& name);

}  // namespace retrysim::report

// The retry preset that a client group starts from: chosen by the keys for mode, revision, SDK and
// API, and changed by a defect or by the environment.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include "scenario/keys/keys.hpp"
#include "scenario/text/problems.hpp"

#include <optional>
#include <string>
#include <vector>

namespace retrysim::scenario {

class KeyResolution;

class PresetResolution {
 public:
  /// `keys` belong to the table that is being resolved.
  PresetResolution(const KeyResolution& keys, const Slots& slots, Problems& problems,
                   std::vector<std::string>& notes)
      : keys_(keys), slots_(slots), problems_(problems), notes_(notes) {}

  /// Puts the rules of the chosen preset into their slot, once.
  void choose();
  /// The chosen preset; null before `choose`, and if it does not exist.
  const Preset* preset() const { return preset_; }
  /// The preset's name: "standard 2.0 botocore".
  const std::string& name() const { return name_; }
  /// Why the value of a rule differs from the preset's: "release botocore@1.29.27" or "defect
  /// NAME"; empty if neither is the reason.
  std::string reason_for(const KeyInfo& key, const std::string& toml) const;

  /// The value of a key in the environment, if the scenario asks for it, or the SDK's version.
  std::optional<EnvironmentSetting> from_environment(const KeyInfo& key);
  /// Where the scenario asks for values from the environment.
  Place environment_place() const;

 private:
  /// The SDK as it is written; empty if it is not, or is not text.
  std::string_view written_sdk() const;
  /// Reports an unknown version; true if there is none, or it is known.
  bool check_version();
  /// Reports a revision that the SDK's release does not have; true if it has it.
  bool check_revision();
  void apply_defect();
  void check_api();
  void report_no_preset();

  const KeyResolution& keys_;
  const Slots& slots_;
  Problems& problems_;
  std::vector<std::string>& notes_;
  std::optional<RetryEnvironment> environment_;
  const Preset* preset_ = nullptr;
  std::string name_;
  bool chosen_ = false;
};

}  // namespace retrysim::scenario

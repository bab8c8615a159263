// SPDX-License-Identifier: MIT
#include "scenario/preset_resolution.hpp"

#include "scenario/key_resolution.hpp"
#include "scenario/suggestions.hpp"

#include <algorithm>
#include <utility>

namespace retrysim::scenario {
namespace {

// "standard 2.0 botocore"; of an API with numbers of its own that too.
std::string name_of(const Preset& preset) {
  std::string name;
  for (const std::string_view word : {preset.mode, preset.revision, preset.sdk}) {
    if (word.empty()) continue;
    if (!name.empty()) name += ' ';
    name += word;
  }
  if (preset.api != "default") name.append(" ").append(preset.api);
  return name;
}

// Where the SDK's predecessor has what was asked for.
std::string legacy_hint(const PresetChoice& choice) {
  const std::string_view before = predecessor(choice.sdk);
  if (before.empty() || choice.mode != "legacy") return "";
  return " (" + choice.sdk + " never had a legacy mode; its predecessor is " + std::string(before) +
         ")";
}

}  // namespace

void PresetResolution::choose() {
  if (std::exchange(chosen_, true)) return;
  if (!check_version()) return;
  for (const KeyInfo& key : keys_.keys()) {
    if (key.role == KeyRole::kPresetChoice && keys_.is_wrong(key.name)) return;
  }
  const auto& choice = slots_.to<PresetChoice>();
  if (!check_revision()) return;
  preset_ = find_preset(choice.mode, choice.revision, choice.sdk, choice.api);
  if (preset_ == nullptr) return report_no_preset();
  name_ = name_of(*preset_);
  slots_.to<RetryRules>() = rules_of_release(*preset_, choice.sdk);
  // Also a service without numbers of its own may have error codes of its own.
  slots_.to<RetryRules>().api = choice.api;
  check_api();
  if (choice.defect != "none") apply_defect();
}

void PresetResolution::apply_defect() {
  const Defect& defect = *find_defect(slots_.to<PresetChoice>().defect);
  if (defect.applies(slots_.to<RetryRules>())) return defect.apply(slots_.to<RetryRules>());
  problems_.add(keys_.place_of("retry.defect"),
                keys_.full_path("retry.defect") + " = " + in_quotes(defect.name) +
                    " does not apply to " + name_ +
                    ": it has no such part; `retrysim list defects` tells what each is");
}

std::string PresetResolution::reason_for(const KeyInfo& key, const std::string& toml) const {
  const auto& choice = slots_.to<PresetChoice>();
  RetryRules rules = rules_of_release(*preset_, choice.sdk);
  const auto is_behind = [&] { return toml == key.access.from_rules(rules, key.rules.else_word); };
  if (has_version(choice.sdk) && is_behind()) return "release " + choice.sdk;
  const Defect* defect = find_defect(choice.defect);
  if (defect == nullptr) return "";
  defect->apply(rules);
  return is_behind() ? "defect " + std::string(defect->name) : "";
}

std::string_view PresetResolution::written_sdk() const {
  const Node* sdk = keys_.find("retry.sdk");
  return sdk != nullptr && sdk->is_text() ? std::string_view(sdk->text) : std::string_view();
}

bool PresetResolution::check_version() {
  const auto& choice = slots_.to<PresetChoice>();
  const std::string problem = version_problem(choice.sdk);
  if (!problem.empty()) {
    problems_.add(keys_.place_of("retry.sdk"),
                  keys_.full_path("retry.sdk") + " = " + in_quotes(choice.sdk) + ": " + problem);
    return false;
  }
  return true;
}

bool PresetResolution::check_revision() {
  const auto& choice = slots_.to<PresetChoice>();
  if (choice.mode == "legacy" || release_offers(choice.sdk, choice.revision)) return true;
  std::string changes;
  for (const TurningPoint& p : turning_points(choice.sdk)) {
    if (p.revisions.empty()) continue;
    if (!changes.empty()) changes += "; ";
    changes.append(p.version).append(": ").append(p.change);
  }
  problems_.add(keys_.place_of("retry.revision"),
                keys_.full_path("retry.revision") + " = " + in_quotes(choice.revision) + ": " +
                    choice.sdk +
                    " does not have that revision; leave the key out, or name another " +
                    "version (" + changes + ")");
  return false;
}

std::optional<EnvironmentSetting> PresetResolution::from_environment(const KeyInfo& key) {
  const auto& choice = slots_.to<PresetChoice>();
  const std::string_view sdk = written_sdk();
  if (choice.from_environment) {
    if (!environment_) environment_ = read_retry_environment();
    const auto setting =
        key.environment.find({*environment_, sdk.empty() ? "botocore" : sdk, choice.mode});
    if (setting) return setting;
  }
  const std::string_view own = key.name == "retry.mode"       ? release_mode(sdk)
                               : key.name == "retry.revision" ? release_revision(sdk)
                                                              : "";
  return own.empty() ? std::nullopt : std::optional(EnvironmentSetting{std::string(own), ""});
}

Place PresetResolution::environment_place() const {
  return keys_.place_of("retry.from_environment");
}

// An API without numbers or error codes of its own is fine, but not a misspelt one.
void PresetResolution::check_api() {
  const std::string& api = slots_.to<PresetChoice>().api;
  const auto known = known_apis();
  const std::string path = keys_.full_path("retry.api");
  if (std::find(known.begin(), known.end(), api) != known.end()) {
    // Such an SDK calls the API as any other, which is no mistake, but may not be what was meant.
    const std::string others = preset_->api == api ? "" : presets_for(api);
    if (!others.empty()) {
      notes_.push_back(path + " = " + in_quotes(api) + ": " + name_ +
                       " has no numbers of its own for it and uses those of \"default\"; "
                       "these have: " +
                       others);
    }
    return;
  }
  const std::vector<std::string_view> words(known.begin(), known.end());
  if (!nearest(api, words).empty()) {
    problems_.add(keys_.place_of("retry.api"), path + " = " + in_quotes(api) + " is unknown; " +
                                                   suggestion(api, words, "there are"));
  } else {
    notes_.push_back(path + " = " + in_quotes(api) +
                     " has no numbers or error codes of its own, so it is as \"default\"; " +
                     "there are: " + joined(words));
  }
}

void PresetResolution::report_no_preset() {
  const PresetChoice& choice = slots_.to<PresetChoice>();
  std::string known;
  std::string_view last_revision;
  for (const Preset& preset : presets()) {
    if (preset.mode != choice.mode || preset.api != "default") continue;
    if (preset.revision.empty() && preset.sdk.empty()) continue;
    const bool same_revision = !known.empty() && preset.revision == last_revision;
    if (!known.empty()) known += same_revision ? ", " : "; ";
    if (!same_revision) known += preset.revision;
    if (!same_revision && !preset.revision.empty() && !preset.sdk.empty()) known += ' ';
    known += preset.sdk;
    last_revision = preset.revision;
  }
  std::string_view at = "retry.mode";
  for (const std::string_view key : {"retry.revision", "retry.sdk"}) {
    if (keys_.find(key) != nullptr) at = key;
  }
  std::string asked = choice.revision;
  if (!asked.empty() && !choice.sdk.empty()) asked += ' ';
  asked += choice.sdk;
  problems_.add(keys_.place_of(at), keys_.full_path("retry") + ": mode " + choice.mode +
                                        " does not exist as " + in_quotes(asked) +
                                        "; it does as: " + known + legacy_hint(choice));
}

}  // namespace retrysim::scenario

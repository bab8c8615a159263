// Resolving the keys of one scope, in the order of the table of keys.
//
// SPDX-License-Identifier: MIT
#include "scenario/key_resolution.hpp"

#include <retrysim/stop.hpp>

#include "scenario/suggestions.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace retrysim::scenario {
namespace {

// Stands for the value of a key that could not be read: what depends on it is not judged.
const std::string kUnknown(1, '\0');

// "KEY = a|b", "KEY != a" or "KEY unset".
struct Condition {
  std::string_view key, relation, words;

  explicit Condition(std::string_view text) {
    const std::size_t first = text.find(' ');
    const std::size_t second = std::min(text.find(' ', first + 1), text.size());
    key = text.substr(0, first);
    relation = text.substr(first + 1, second - first - 1);
    words = text.substr(std::min(text.size(), second + 1));
  }
};

// Whether `word` is one of "a|b|c".
bool is_among(std::string_view word, std::string_view words) {
  while (words.size() > word.size()) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == word) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
  return words == word;
}

// Defaults are read once, not for each of thousands of client groups.
const Node& parsed_default(const std::string& toml) {
  thread_local std::unordered_map<std::string, Node> cache;
  const auto [at, added] = cache.try_emplace(toml);
  if (added) at->second = *parse_value(toml, Place{});
  return at->second;
}

// What a preset says, written once, not for each of thousands of client groups.
const std::string& rule_of(const Preset& preset, const KeyInfo& key) {
  thread_local std::map<std::pair<const Preset*, const KeyInfo*>, std::string> cache;
  const auto [at, added] = cache.try_emplace({&preset, &key});
  if (added) at->second = key.from_rules(preset.rules);
  return at->second;
}

std::string plain_text(const Node& node) { return node.is_text() ? node.text : render(node); }

constexpr std::string_view kRetry = "retry.";
constexpr std::string_view kMode = "retry.mode";
constexpr std::string_view kFirstRule = "retry.max_retries";

}  // namespace

KeyResolution::KeyResolution(const KeyScope& scope, std::string path, const Node& table,
                             Place place, Slots slots, CsvFiles& files, LoadedScenario& loaded)
    : scope_(scope),
      path_(std::move(path)),
      table_(table),
      place_(place),
      slots_(slots),
      files_(files),
      loaded_(loaded) {}

void KeyResolution::resolve() {
  stop_point();  // once for each table: there may be many
  for (const KeyInfo& key : scope_.keys) {
    if (key.name == kFirstRule) choose_preset();  // what follows changes its rules
    resolve_key(key);
    if (slots_.preset != nullptr && slots_.preset->from_environment && !environment_) {
      environment_ = read_retry_environment();
    }
  }
}

void KeyResolution::resolve_key(const KeyInfo& key) {
  if (key.name == "like") return;  // already replaced by what it stands for
  if (key.name.ends_with(".*")) {
    resolve_named_errors(key);
    return;
  }
  const Applies applies_here = applies(key);
  if (const Node* node = find(key.name)) {
    resolve_given(key, *node, applies_here);
  } else if (applies_here == Applies::kYes) {
    resolve_absent(key);
  }
}

void KeyResolution::resolve_given(const KeyInfo& key, const Node& node, Applies applies_here) {
  const std::string path = full_path(key.name);
  const auto value = read_value(key.rules, path, node, files_);
  if (applies_here == Applies::kNo) {
    report_does_not_apply(key, node);
    return;
  }
  std::string& text = texts_[key.name];
  text = value ? plain_text(node) : kUnknown;
  if (!value) return;
  if (!value->text.empty()) text = value->text;
  key.store(slots_, *value);
  record_given(path, render_value(key.rules, node), node);
}

void KeyResolution::resolve_absent(const KeyInfo& key) {
  if (environment_ && resolve_from_environment(key)) return;
  if (key.name == "retry.sdk") {  // mode custom stands for none of them
    if (slots_.preset->mode != "custom") resolve_default(key, R"("botocore")");
  } else if (const auto own = defaults_.find(key.name); own != defaults_.end()) {
    resolve_default(key, own->second);
  } else if (!key.fallback.empty()) {
    resolve_default(key, std::string(key.fallback));
  } else if (key.from_rules != nullptr) {
    if (preset_ == nullptr) {
      texts_[key.name] = kUnknown;
      return;
    }
    const std::string toml = key.from_rules(slots_.client->retry);
    texts_[key.name] = plain_text(parsed_default(toml));
    // A value that is not the preset's comes with another key that was given, or with a defect.
    if (toml == rule_of(*preset_, key)) {
      record(full_path(key.name), toml, Origin::kPreset, preset_name_);
    } else {
      record(full_path(key.name), toml, Origin::kDefault, defect_behind(key, toml));
    }
  } else if (key.required) {
    texts_[key.name] = kUnknown;
    report_missing(key);
  }
}

// "defect NAME" if that is what makes a key's value differ from the preset's; empty otherwise.
std::string KeyResolution::defect_behind(const KeyInfo& key, const std::string& toml) const {
  const Defect* defect = find_defect(slots_.preset->defect);
  if (defect == nullptr) return "";
  RetryRules rules = preset_->rules;
  defect->apply(rules);
  return toml == key.from_rules(rules) ? "defect " + std::string(defect->name) : "";
}

// Whether the environment, or the SDK's own default mode, gives the key a value.
bool KeyResolution::resolve_from_environment(const KeyInfo& key) {
  const Node* sdk_node = find("retry.sdk");
  const std::string sdk =
      sdk_node != nullptr && sdk_node->is_text() ? sdk_node->text : std::string("botocore");
  if (key.name == kMode) {
    if (environment_->mode) {
      resolve_setting(key, *environment_->mode);
      return true;
    }
    const auto mode = default_mode(sdk, environment_->new_retries_for(sdk));
    if (mode) resolve_default(key, render_text(*mode));
    return mode.has_value();
  }
  if (key.name == "retry.revision" && environment_->new_retries_for(sdk) &&
      find_preset(slots_.preset->mode, "2.1", sdk, "default") != nullptr) {
    resolve_setting(key, {"2.1", "AWS_NEW_RETRIES_2026"});
    return true;
  }
  if (key.name == "retry.max_attempts" && environment_->max_attempts) {
    resolve_setting(key, *environment_->max_attempts);
    return true;
  }
  return false;
}

// Settings of the environment are read as SDKs do: a mode that they know, a decimal number.
void KeyResolution::resolve_setting(const KeyInfo& key, const EnvironmentSetting& setting) {
  const Place place = place_of("retry.from_environment");
  const bool number = key.rules.kind == ValueKind::kCount;
  const bool digits = !setting.text.empty() && setting.text.size() < 10 &&
                      setting.text.find_first_not_of("0123456789") == std::string::npos;
  const bool unknown_mode = key.name == kMode && setting.text != "legacy" &&
                            setting.text != "standard" && setting.text != "adaptive";
  if (unknown_mode || (number && !digits)) {
    files_.problems().add(
        place, setting.origin + " = " + in_quotes(setting.text) + " is wrong; expected " +
                   (number ? "a whole number of attempts" : "one of legacy, standard, adaptive"));
    texts_[key.name] = kUnknown;
    return;
  }
  const std::string toml =
      number ? std::to_string(std::stol(setting.text)) : render_text(setting.text);
  const auto value = read_value(key.rules, setting.origin, *parse_value(toml, place), files_);
  texts_[key.name] = value ? setting.text : kUnknown;
  if (!value) return;
  key.store(slots_, *value);
  record(full_path(key.name), toml, Origin::kEnvironment, setting.origin);
}

void KeyResolution::resolve_default(const KeyInfo& key, const std::string& toml) {
  const Node& node = parsed_default(toml);
  const std::string path = full_path(key.name);
  const auto value = read_value(key.rules, path, node, files_);
  key.store(slots_, *value);
  texts_[key.name] = plain_text(node);
  record(path, toml, Origin::kDefault, "");
}

void KeyResolution::resolve_named_errors(const KeyInfo& key) {
  const Node* errors = find("errors");
  if (errors == nullptr || !errors->is_table()) return;
  for (const Member& member : errors->members) {
    const std::string name = "errors." + member.name;
    const bool own_key = std::any_of(scope_.keys.begin(), scope_.keys.end(),
                                     [&](const KeyInfo& k) { return k.name == name; });
    if (!own_key) read_named_error(key, member);
  }
}

void KeyResolution::read_named_error(const KeyInfo& key, const Member& member) {
  if (!parse_error_answer(member.name)) {
    std::vector<std::string_view> known;
    for (const KeyInfo& k : scope_.keys) {
      constexpr std::string_view kErrors = "errors.";
      if (k.name.starts_with(kErrors) && &k != &key) {
        known.push_back(k.name.substr(kErrors.size()));
      }
    }
    files_.problems().add(
        member.place, "unknown key " + in_quotes(full_path("errors." + render_name(member.name))) +
                          "; " + suggestion(member.name, known, "known here") +
                          " (or an answer such as 429 or \"503:SlowDown\", status 400 to 599)");
    return;
  }
  const std::string path = full_path("errors." + render_name(member.name));
  auto value = read_value(key.rules, path, member.value, files_);
  if (!value) return;
  value->text = member.name;
  key.store(slots_, *value);
  record_given(path, render_value(key.rules, member.value), member.value);
}

// Where the SDK's predecessor has what was asked for.
static std::string legacy_hint(const PresetChoice& choice) {
  const std::string_view before = predecessor(choice.sdk);
  if (before.empty() || choice.mode != "legacy") return "";
  return " (" + choice.sdk + " never had a legacy mode; its predecessor is " + std::string(before) +
         ")";
}

void KeyResolution::choose_preset() {
  const PresetChoice& choice = *slots_.preset;
  preset_name_ = "?";  // decided, whatever comes out
  for (const std::string_view key : {"retry.mode", "retry.revision", "retry.sdk", "retry.api"}) {
    const auto text = texts_.find(key);
    if (text != texts_.end() && text->second == kUnknown) return;
  }
  preset_ = find_preset(choice.mode, choice.revision, choice.sdk, choice.api);
  if (preset_ == nullptr) {
    report_no_preset();
    return;
  }
  preset_name_.clear();
  for (const std::string_view word : {preset_->mode, preset_->revision, preset_->sdk}) {
    if (word.empty()) continue;
    if (!preset_name_.empty()) preset_name_ += ' ';
    preset_name_ += word;
  }
  if (preset_->api != "default") preset_name_.append(" ").append(preset_->api);
  slots_.client->retry = preset_->rules;
  // Also a service without numbers of its own may have error codes of its own.
  slots_.client->retry.api = choice.api;
  check_api();
  if (choice.defect == "none") return;
  const Defect& defect = *find_defect(choice.defect);
  if (defect.applies(slots_.client->retry)) {
    defect.apply(slots_.client->retry);
  } else {
    files_.problems().add(place_of("retry.defect"),
                          full_path("retry.defect") + " = " + in_quotes(defect.name) +
                              " does not apply to " + preset_name_ + ": " +
                              "it has no such part; `retrysim list defects` tells what each is");
  }
}

// An API without numbers or error codes of its own is fine, but not a misspelt one.
void KeyResolution::check_api() {
  const std::string& api = slots_.preset->api;
  const auto known = known_apis();
  const std::string path = full_path("retry.api");
  if (std::find(known.begin(), known.end(), api) != known.end()) {
    // Such an SDK calls the API as any other, which is no mistake, but may not be what was meant.
    const std::string others = presets_with_own_numbers(api);
    if (preset_->api != api && !others.empty()) {
      loaded_.notes.push_back(path + " = " + in_quotes(api) + ": " + preset_name_ +
                              " has no numbers of its own for it and uses those of \"default\"; "
                              "these have: " +
                              others);
    }
    return;
  }
  const std::vector<std::string_view> words(known.begin(), known.end());
  if (!nearest(api, words).empty()) {
    files_.problems().add(place_of("retry.api"), path + " = " + in_quotes(api) + " is unknown; " +
                                                     suggestion(api, words, "there are"));
  } else {
    loaded_.notes.push_back(path + " = " + in_quotes(api) +
                            " has no numbers or error codes of its own, so it is as \"default\"; " +
                            "there are: " + joined(words));
  }
}

void KeyResolution::report_no_preset() {
  const PresetChoice& choice = *slots_.preset;
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
  std::string_view at = kMode;
  for (const std::string_view key : {"retry.revision", "retry.sdk"}) {
    if (find(key) != nullptr) at = key;
  }
  std::string asked = choice.revision;
  if (!asked.empty() && !choice.sdk.empty()) asked += ' ';
  asked += choice.sdk;
  files_.problems().add(place_of(at), full_path(kRetry.substr(0, 5)) + ": mode " + choice.mode +
                                          " does not exist as " + in_quotes(asked) +
                                          "; it does as: " + known + legacy_hint(choice));
}

void KeyResolution::report_missing(const KeyInfo& key) {
  if (!report_missing_) return;
  Place place = place_;
  const Node* table = &table_;  // the innermost table on the way that exists
  std::string_view rest = key.name;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    const Member* member = table->find(rest.substr(0, dot));
    if (member == nullptr) break;
    if (!member->value.is_table()) return;  // reported as such
    place = member->place;
    table = &member->value;
    rest.remove_prefix(dot + 1);
  }
  const auto own = missing_messages_.find(key.name);
  std::string message = full_path(key.name) + " is missing; ";
  message += own != missing_messages_.end() ? own->second : "expected " + expected(key.rules);
  files_.problems().add(place, std::move(message));
}

void KeyResolution::report_does_not_apply(const KeyInfo& key, const Node& node) {
  const std::string path = full_path(key.name);
  const auto mode = texts_.find(kMode);
  if (key.name.starts_with(kRetry) && mode != texts_.end() && mode->second == "none") {
    // No retries is what every strategy is compared with: its other keys may stay where they are.
    loaded_.notes.push_back(path + " has no effect: " + full_path(kMode) + " is \"none\"");
    return;
  }
  const Condition when(key.when);
  std::string message = path + " does not apply here; ";
  if (when.relation == "unset") {
    message += "keep either it or " + full_path(when.key);
  } else {
    const bool is = when.relation == "=";
    message += "it needs " + full_path(when.key) + (is ? " = " : " other than ");
    std::string words(when.words);
    const std::size_t last = words.rfind('|');
    if (last != std::string::npos) words.replace(last, 1, " or ");
    for (std::size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) {
      words.replace(at, 1, ", ");
    }
    message += words;
    const auto text = texts_.find(when.key);
    if (text != texts_.end() && is) message += ", not " + text->second;
  }
  files_.problems().add(node.place, std::move(message));
}

KeyResolution::Applies KeyResolution::applies(const KeyInfo& key) const {
  if (key.when.empty()) return Applies::kYes;
  const auto mode = texts_.find(kMode);
  if (key.name.starts_with(kRetry) && mode != texts_.end() && mode->second == "none") {
    return Applies::kNo;
  }
  const Condition when(key.when);
  const auto text = texts_.find(when.key);
  if (text == texts_.end()) return when.relation == "unset" ? Applies::kYes : Applies::kNo;
  if (text->second == kUnknown) return Applies::kUnknown;
  if (when.relation == "unset") return Applies::kNo;
  return is_among(text->second, when.words) == (when.relation == "=") ? Applies::kYes
                                                                      : Applies::kNo;
}

void KeyResolution::withdraw(std::string_view key, const std::string& reason) {
  const std::string path = full_path(key);
  const auto at = std::find_if(loaded_.keys.rbegin(), loaded_.keys.rend(),
                               [&](const ResolvedKey& k) { return k.path == path; });
  if (at == loaded_.keys.rend()) return;
  const auto info = std::find_if(scope_.keys.begin(), scope_.keys.end(),
                                 [&](const KeyInfo& k) { return k.name == key; });
  if (at->origin != Origin::kDefault && at->toml != info->fallback) {
    files_.problems().add(place_of(key), path + " does not apply here: " + reason);
  }
  loaded_.keys.erase(std::next(at).base());
}

const Node* KeyResolution::find(std::string_view key) const {
  const Node* node = &table_;
  while (true) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    const Member* member = node->find(key.substr(0, dot));
    if (member == nullptr) return nullptr;
    node = &member->value;
    if (dot == key.size()) return node;
    key.remove_prefix(dot + 1);
  }
}

Place KeyResolution::place_of(std::string_view key) const {
  const Node* node = find(key);
  return node == nullptr ? place_ : node->place;
}

bool KeyResolution::has(std::string_view key) const {
  const auto text = texts_.find(key);
  return text != texts_.end() && text->second != kUnknown;
}

bool KeyResolution::is_wrong(std::string_view key) const {
  const auto text = texts_.find(key);
  return text != texts_.end() && text->second == kUnknown;
}

std::string_view KeyResolution::text_of(std::string_view key) const {
  const auto text = texts_.find(key);
  return has(key) ? std::string_view(text->second) : std::string_view();
}

std::string KeyResolution::full_path(std::string_view key) const {
  std::string path;
  path.reserve(path_.size() + 1 + key.size());
  path += path_;
  if (!path.empty()) path += '.';
  return path.append(key);
}

void KeyResolution::record(std::string path, std::string toml, Origin origin, std::string detail) {
  loaded_.keys.push_back({std::move(path), std::move(toml), origin, std::move(detail)});
}

void KeyResolution::record_given(const std::string& path, std::string toml, const Node& node) {
  const Sources& sources = files_.sources();
  const std::string& file = sources.file(node.place.source);
  if (is_edit(file)) {
    record(path, std::move(toml), Origin::kSet, file);
  } else {
    // Without folders, so that the resolved scenario does not depend on where its file lay.
    record(path, std::move(toml), Origin::kScenario,
           std::filesystem::path(file).filename().string() + ":" + std::to_string(node.place.line));
  }
}

}  // namespace retrysim::scenario

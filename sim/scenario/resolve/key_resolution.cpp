// Resolving the keys of one scope, in the order of the table of keys.
//
// SPDX-License-Identifier: MIT
#include "scenario/resolve/key_resolution.hpp"

#include "kernel/stop.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/histograms.hpp"
#include "scenario/text/percentiles.hpp"
#include "scenario/text/text.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace retrysim::scenario {
namespace {

// Stands for the value of a key that could not be read: conditions on it are not judged.
constexpr std::string_view kUnknown("\0", 1);

// The default of a key, read once, not for each of thousands of client groups.
const Node& parsed_default(const std::string& toml) {
  thread_local std::unordered_map<std::string, Node> cache;
  const auto [at, added] = cache.try_emplace(toml);
  if (added) at->second = *parse_value(toml, Place{});
  return at->second;
}

// The value that a preset gives to a rule, written once, not for each of thousands of client
// groups.
const std::string& rule_of(const Preset& preset, const KeyInfo& key) {
  thread_local std::map<std::pair<const Preset*, const KeyInfo*>, std::string> cache;
  const auto [at, added] = cache.try_emplace({&preset, &key});
  if (added) at->second = key.access.from_rules(preset.rules, key.rules.else_word);
  return at->second;
}

std::string plain_text(const Node& node) { return node.is_text() ? node.text : render(node); }

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
  stop_point();  // once a table, of which there may be many
  if (slots_.find<PresetChoice>() != nullptr) {
    preset_.emplace(*this, slots_, files_.problems(), loaded_.notes);
  }
  for (const KeyInfo& key : scope_.keys) {
    // The rules of the preset depend on earlier keys.
    if (key.role == KeyRole::kPresetRule) preset_->choose();
    resolve_key(key);
  }
}

void KeyResolution::resolve_key(const KeyInfo& key) {
  if (key.role == KeyRole::kBase) return;
  if (key.role == KeyRole::kErrorAnswer) return resolve_error_answers(key);
  if (key.role == KeyRole::kNamed) return resolve_named(key);
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
  text = value ? plain_text(node) : std::string(kUnknown);
  if (!value) return;
  if (!value->text.empty()) text = value->text;
  key.access.store(slots_, *value);
  record_given(path, render_value(key.rules, node), node);
  const std::string slip = likely_slip(key.rules, node);
  if (!slip.empty()) loaded_.notes.push_back(path + slip);
  if (key.rules.kind == ValueKind::kDistribution) {
    const std::string doubt =
        median_for_mean_note(node, files_.sources().line(node.place.source, node.place.line));
    if (!doubt.empty()) loaded_.notes.push_back(path + doubt);
  }
  const std::string chosen = percentile_note(node, files_);
  if (!chosen.empty()) loaded_.notes.push_back(path + chosen);
  const std::string open = histogram_note(node, files_);
  if (!open.empty()) loaded_.notes.push_back(path + open);
}

void KeyResolution::resolve_absent(const KeyInfo& key) {
  if (resolve_from_environment(key)) return;
  const auto own = defaults_.find(key.name);
  if (own != defaults_.end()) {
    resolve_default(key, own->second);
  } else if (key.fallback) {
    if (holds(key.fallback_when) == Applies::kYes) resolve_default(key, *key.default_toml());
  } else if (key.access.from_rules != nullptr) {
    resolve_rule(key);
  } else if (key.required) {
    texts_[key.name] = kUnknown;
    report_missing(key);
  }
}

// Resolves a rule that is not written: the preset's value, or what other keys and a defect have
// made of it.
void KeyResolution::resolve_rule(const KeyInfo& key) {
  const Preset* preset = preset_->preset();
  if (preset == nullptr) {
    texts_[key.name] = kUnknown;
    return;
  }
  const std::string toml = key.access.from_rules(slots_.to<RetryRules>(), key.rules.else_word);
  texts_[key.name] = plain_text(parsed_default(toml));
  if (toml == rule_of(*preset, key)) {
    record(full_path(key.name), toml, Origin::kPreset, preset_->name());
  } else {
    record(full_path(key.name), toml, Origin::kDefault, preset_->reason_for(key, toml));
  }
}

// Takes a key's value from the environment, or from the SDK's own default; false if neither has
// one.
bool KeyResolution::resolve_from_environment(const KeyInfo& key) {
  if (key.environment.find == nullptr) return false;
  const auto setting = preset_->from_environment(key);
  if (!setting) return false;
  if (setting->origin.empty()) {
    resolve_default(key, render_text(setting->text));
  } else {
    resolve_setting(key, *setting);
  }
  return true;
}

// Reads a setting of the environment as SDKs do: a word that they know, or a decimal number.
void KeyResolution::resolve_setting(const KeyInfo& key, const EnvironmentSetting& setting) {
  const Place place = preset_->environment_place();
  const auto words = split_words(key.environment.words);
  const bool number = key.rules.kind == ValueKind::kCount;
  const bool digits = !setting.text.empty() && setting.text.size() < 10 &&
                      setting.text.find_first_not_of("0123456789") == std::string::npos;
  const bool known =
      words.empty() || std::find(words.begin(), words.end(), setting.text) != words.end();
  if (!known || (number && !digits)) {
    files_.problems().add(
        place, setting.origin + " = " + in_quotes(setting.text) + " is wrong; expected " +
                   (number ? "a whole number of attempts" : "one of " + joined(words)));
    texts_[key.name] = kUnknown;
    return;
  }
  const std::string toml =
      number ? std::to_string(std::stol(setting.text)) : render_text(setting.text);
  const auto value = read_value(key.rules, setting.origin, *parse_value(toml, place), files_);
  texts_[key.name] = value ? setting.text : std::string(kUnknown);
  if (!value) return;
  key.access.store(slots_, *value);
  record(full_path(key.name), toml, Origin::kEnvironment, setting.origin);
}

void KeyResolution::resolve_default(const KeyInfo& key, const std::string& toml) {
  const Node& node = parsed_default(toml);
  const std::string path = full_path(key.name);
  const auto value = read_value(key.rules, path, node, files_);
  key.access.store(slots_, *value);
  texts_[key.name] = plain_text(node);
  record(path, toml, Origin::kDefault, "");
}

void KeyResolution::resolve_error_answers(const KeyInfo& key) {
  const std::string_view table = key.name.substr(0, key.name.rfind('.'));
  const Node* answers = find(table);
  if (answers == nullptr || !answers->is_table()) return;
  std::vector<std::string_view> own;  // answers that have rows of their own in the table of keys
  for (const KeyInfo& k : scope_.keys) {
    if (&k != &key && k.name.starts_with(table)) own.push_back(k.name.substr(table.size() + 1));
  }
  for (const Member& member : answers->members) {
    if (std::find(own.begin(), own.end(), member.name) != own.end()) continue;
    const std::string path = full_path(std::string(table) + "." + render_name(member.name));
    if (parse_error_answer(member.name)) {
      read_named(key, path, member);
    } else {
      files_.problems().add(member.place, "unknown key " + in_quotes(path) + "; " +
                                              suggestion(member.name, own, "known here") +
                                              " (or an answer such as 429, \"503:SlowDown\" or "
                                              "\"400:Busy+retryable\", status 400 to 599)");
    }
  }
}

void KeyResolution::resolve_named(const KeyInfo& key) {
  const std::string table(key.name.substr(0, key.name.rfind('.')));
  const Node* named = find(table);
  if (named == nullptr || !named->is_table()) return;
  for (const Member& member : named->members) {
    read_named(key, full_path(table + "." + render_name(member.name)), member);
  }
}

void KeyResolution::read_named(const KeyInfo& key, const std::string& path, const Member& member) {
  auto value = read_value(key.rules, path, member.value, files_);
  if (!value) return;
  value->text = member.name;
  key.access.store(slots_, *value);
  record_given(path, render_value(key.rules, member.value), member.value);
}

void KeyResolution::report_missing(const KeyInfo& key) {
  if (!report_missing_) return;
  Place place = place_;
  const Node* table = &table_;  // the innermost existing table on the way
  std::string_view rest = key.name;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    const Member* member = table->find(rest.substr(0, dot));
    if (member == nullptr) break;
    if (!member->value.is_table()) return;  // this mistake is reported elsewhere
    place = member->place;
    table = &member->value;
    rest.remove_prefix(dot + 1);
  }
  const auto own = missing_messages_.find(key.name);
  const std::string wanted =
      own != missing_messages_.end() ? own->second : "expected " + expected(key.rules);
  std::string message =
      doubt_.empty() ? full_path(key.name) + " is missing; " + wanted
                     : doubt_ + " (a new one needs " + full_path(key.name) + "; " + wanted + ")";
  files_.problems().add(place, std::move(message));
}

void KeyResolution::report_does_not_apply(const KeyInfo& key, const Node& node) {
  const std::string path = full_path(key.name);
  if (is_idle(key)) {
    const Condition idle(key.idle_when);
    loaded_.notes.push_back(path + " has no effect: " + full_path(idle.key) + " is \"" +
                            std::string(idle.words) + "\"");
    return;
  }
  const Condition when(key.when);
  std::string message = path + " does not apply here; ";
  if (when.relation == "unset") {
    message += "keep either it or " + full_path(when.key);
  } else {
    const bool is = when.relation == "=";
    message += "it needs " + full_path(when.key) + (is ? " = " : " other than ");
    message += when.words_as_text();
    const auto text = texts_.find(when.key);
    if (text != texts_.end() && is) message += ", not " + text->second;
  }
  const auto varies = [&](const Node* n) {
    return n != nullptr && files_.problems().is_varied(n->place);
  };
  if (const std::string table = full_path(when.key); varies(&node) || varies(find(when.key))) {
    message += "; where each choice has keys of its own, vary the whole table, as in " +
               table.substr(0, table.rfind('.')) + "={...},{...}";
  }
  files_.problems().add(node.place, std::move(message));
}

KeyResolution::Applies KeyResolution::applies(const KeyInfo& key) const {
  return is_idle(key) ? Applies::kNo : holds(key.when);
}

bool KeyResolution::is_idle(const KeyInfo& key) const {
  return !key.idle_when.empty() && holds(key.idle_when) == Applies::kYes;
}

KeyResolution::Applies KeyResolution::holds(std::string_view condition) const {
  if (condition.empty()) return Applies::kYes;
  const Condition when(condition);
  const auto text = texts_.find(when.key);
  if (text == texts_.end()) return when.relation == "unset" ? Applies::kYes : Applies::kNo;
  if (text->second == kUnknown) return Applies::kUnknown;
  return when.holds_for(text->second) ? Applies::kYes : Applies::kNo;
}

void KeyResolution::withdraw(std::string_view key, const std::string& reason) {
  const std::string path = full_path(key);
  const auto at = std::find_if(loaded_.keys.rbegin(), loaded_.keys.rend(),
                               [&](const ResolvedKey& k) { return k.path == path; });
  if (at == loaded_.keys.rend()) return;
  const auto info = std::find_if(scope_.keys.begin(), scope_.keys.end(),
                                 [&](const KeyInfo& k) { return k.name == key; });
  if (at->origin != Origin::kDefault && at->toml != info->default_toml()) {
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
    record(path, std::move(toml), Origin::kSet, "--" + std::string(part_of_edit(file)));
  } else {
    // Files are named without folders, so that the resolved scenario does not depend on where the
    // file lay.
    record(path, std::move(toml), Origin::kScenario,
           std::filesystem::path(file).filename().string() + ":" + std::to_string(node.place.line));
  }
}

}  // namespace retrysim::scenario

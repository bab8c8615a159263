// Shell completion: commands, options, and the keys that may be changed or varied with --set,
// --vary and --trigger.
//
// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>

#include "cli/list.hpp"
#include "fit/formats.hpp"
#include "report/document/text.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/since.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

struct KeyCompletion {
  /// The scenario whose services, clients and faults may be named; empty or not valid: none.
  std::string scenario;
  /// A part of the path that precedes every key without being written, such as "client.*.retry.".
  std::string prefix;
  bool only_numbers = false;  ///< only keys that have an order: numbers, counts and durations

  /// The continuations of `word`, each beginning with `word`: up to the next dot of a path, to its
  /// equals sign, or to the end of a value that is one of a few words.
  std::vector<std::string> candidates(std::string_view word) const;
};

/// The words that a key accepts; empty if its value is not one of a few words.
std::vector<std::string> values_of(const scenario::KeyInfo& key);

namespace {

using scenario::KeyInfo;
using scenario::NameTree;
using scenario::ValueKind;

std::vector<std::string_view> names_in(std::string_view path) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t dot = path.find('.');
    names.push_back(path.substr(0, dot));
    if (dot == path.npos) return names;
    path.remove_prefix(dot + 1);
  }
}

bool is_number(const KeyInfo& key) {
  return key.rules.kind == ValueKind::kDuration || key.rules.kind == ValueKind::kNumber ||
         key.rules.kind == ValueKind::kCount || key.rules.kind == ValueKind::kDistribution ||
         key.rules.kind == ValueKind::kCountDistribution;
}

/// Whether there is a key of interest at or below `tree`.
bool has_keys(const NameTree& tree, bool only_numbers) {
  if (tree.key != nullptr && (!only_numbers || is_number(*tree.key))) return true;
  return std::any_of(tree.children.begin(), tree.children.end(),
                     [&](const NameTree& child) { return has_keys(child, only_numbers); });
}

/// The names that the scenario uses below `parents`, in which a star is any name; and a star
/// itself.
std::set<std::string> entity_names(const std::string& path,
                                   const std::vector<std::string_view>& parents) {
  std::set<std::string> found = {"*"};
  if (path.empty()) return found;
  const LoadResult result = load_scenario_file(path);
  if (!result.loaded) return found;
  for (const ResolvedKey& key : result.loaded->keys) {
    const auto names = names_in(key.path);
    const bool below = names.size() > parents.size() &&
                       std::equal(parents.begin(), parents.end(), names.begin(),
                                  [](std::string_view wanted, std::string_view name) {
                                    return wanted == "*" || wanted == name;
                                  });
    if (below) found.emplace(names[parents.size()]);
  }
  return found;
}

/// The names that presets have for retry.revision, retry.sdk or retry.api.
std::vector<std::string> words_of_presets(std::string_view key) {
  if (key == "retry.api") return {known_apis().begin(), known_apis().end()};
  std::set<std::string> words;
  for (const Preset& preset : presets()) {
    const std::string_view word = key == "retry.sdk"        ? preset.sdk
                                  : key == "retry.revision" ? preset.revision
                                                            : "";
    if (!word.empty()) words.emplace(word);
  }
  if (key == "retry.sdk") {
    for (const TurningPoint& p : turning_points()) {
      words.insert(std::string(p.sdk) + '@' + std::string(p.version));
    }
  }
  return {words.begin(), words.end()};
}

}  // namespace

std::vector<std::string> values_of(const KeyInfo& key) {
  std::vector<std::string> values;
  if (key.role == scenario::KeyRole::kPresetChoice) values = words_of_presets(key.name);
  if (key.rules.kind == ValueKind::kBoolean) values = {"false", "true"};
  for (const std::string_view word : scenario::split_words(key.rules.words)) {
    if (!word.empty()) values.emplace_back(word);
  }
  for (const std::string_view word : {key.rules.else_word, key.rules.also_word}) {
    if (!word.empty()) values.emplace_back(word);
  }
  return values;
}

std::vector<std::string> KeyCompletion::candidates(std::string_view word) const {
  std::vector<std::string> result;
  const std::size_t equals = word.find('=');
  // Only the last of keys that move together (A,B=...), and of values separated by commas, is
  // completed.
  const std::size_t comma = word.find_last_of(",(");
  if (equals != word.npos) {
    const std::string_view paths = word.substr(0, equals);
    const std::string path(paths.substr(paths.rfind(',') + 1));
    const KeyInfo* key = retrysim::scenario::find_key(prefix + path);
    if (key == nullptr) return {};
    const std::size_t start = comma == word.npos || comma < equals ? equals + 1 : comma + 1;
    for (const std::string& value : values_of(*key)) {
      if (value.starts_with(word.substr(start))) {
        result.push_back(std::string(word.substr(0, start)) + value);
      }
    }
    return result;
  }
  const std::size_t start = comma == word.npos ? 0 : comma + 1;
  const std::string path = prefix + std::string(word.substr(start));
  std::vector<std::string_view> parents = names_in(path);
  const std::string_view unfinished = parents.back();
  parents.pop_back();
  const NameTree* tree = &retrysim::scenario::name_tree();
  for (const std::string_view name : parents) {
    tree = tree->find(name);
    if (tree == nullptr) return {};
  }
  const std::string before(word.substr(0, word.size() - unfinished.size()));
  for (const NameTree& child : tree->children) {
    if (!has_keys(child, only_numbers)) continue;
    std::set<std::string> names = {std::string(child.name)};
    if (child.name == "*") names = entity_names(this->scenario, parents);
    for (const std::string& name : names) {
      if (!name.starts_with(unfinished)) continue;
      if (child.key != nullptr && (!only_numbers || is_number(*child.key))) {
        result.push_back(before + name + "=");
      }
      if (!child.children.empty()) result.push_back(before + name + ".");
    }
  }
  return result;
}

// --- Words of the command line -------------------------------------------------------------------

namespace {

/// The text up to the last comma, before the last of several values.
std::string_view before_last_comma(std::string_view text) {
  const std::size_t comma = text.rfind(',');
  return comma == text.npos ? std::string_view() : text.substr(0, comma + 1);
}

/// The candidates for one word.
class Candidates {
 public:
  /// `word` is the text so far; `before` is put before each candidate.
  Candidates(std::string_view word, std::string_view before) : word_(word), before_(before) {}

  void add(std::string_view candidate) {
    if (candidate.starts_with(word_)) text_ += fmt::format("{}{}\n", before_, candidate);
  }
  void add_all(const std::vector<std::string>& candidates) {
    for (const std::string& candidate : candidates) add(candidate);
  }
  void directive(std::string_view what) { text_ += fmt::format(":{}\n", what); }

  const std::string& text() const { return text_; }
  std::string_view word() const { return word_; }

 private:
  std::string_view word_, before_;
  std::string text_;
};

/// The key of [client.NAME.retry] that the value of an option of `strategy` stands for: for MODE
/// `retry.mode`. Null if there is none.
const scenario::KeyInfo* retry_key(std::string kind) {
  for (char& c : kind) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return scenario::find_key("client.*.retry." + kind);
}

/// The first of the words with the name of a scenario file; empty if there is none.
std::string scenario_among(const Arguments& words) {
  const auto found = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.ends_with(".toml") && !word.starts_with('-');
  });
  return found == words.end() ? "" : *found;
}

/// The clients of the scenario if `what` is "client", its services if it is "service", ...
std::vector<std::string> names_in_scenario(const std::string& scenario, const std::string& what) {
  std::vector<std::string> names;
  for (const std::string& path : KeyCompletion{scenario, "", false}.candidates(what + ".")) {
    // Such as "client.web."
    const std::string name = path.substr(what.size() + 1, path.size() - what.size() - 2);
    if (path.ends_with('.') && name != "*") names.push_back(name);
  }
  return names;
}

/// Candidates for the value of an option. They follow from the name of the value in the option's
/// description, such as PATH=VALUE, DIR or table|csv|json.
void add_values(const OptionText& option, const Arguments& words, Candidates& candidates) {
  const std::string& kind = option.value;
  if (kind.starts_with("PATH")) {
    const KeyCompletion keys{scenario_among(words), "", kind.find("LO:HI") != kind.npos};
    candidates.add_all(keys.candidates(candidates.word()));
    candidates.directive("open");
  } else if (kind.starts_with("KEY")) {
    candidates.add_all(KeyCompletion{"", "client.*.retry.", false}.candidates(candidates.word()));
    candidates.directive("open");
  } else if (kind.starts_with("METRIC")) {
    const bool several = kind != "METRIC";
    const std::string_view before = several ? before_last_comma(candidates.word()) : "";
    for (const std::string_view name : metric_names()) {
      candidates.add(fmt::format("{}{}", before, name));
    }
    if (several) candidates.directive("open");
  } else if (kind == "FORMAT" && option.name == "format") {
    for (const char* word : {"table", "csv", "json", "schema"}) candidates.add(word);  // of lists
  } else if (kind == "FORMAT") {
    for (const std::string_view word : scenario::split_words(fit::format_words())) {
      candidates.add(word);
    }
  } else if (kind == "RELEASE") {
    for (const std::string_view release : scenario::known_releases()) candidates.add(release);
  } else if (kind == "NAME") {
    candidates.add_all(names_in_scenario(scenario_among(words), option.name));
  } else if (kind.find('|') != kind.npos || (kind[0] >= 'a' && kind[0] <= 'z')) {
    for (const std::string_view word : scenario::split_words(kind)) candidates.add(word);
  } else if (kind == "DIR") {
    candidates.directive("folders");
  } else if (kind == "FILE" || kind == "NAME=FILE") {
    candidates.directive("files");
  } else if (const auto* key = retry_key(kind); key != nullptr) {
    candidates.add_all(values_of(*key));
  }
}

void add_words(const std::string& positional, const Arguments& words, Candidates& candidates) {
  if (positional == "scenario") candidates.directive("files toml");
  if (positional == "size") {  // first a key, then a scenario
    const bool is_key = words.size() == 1;
    const KeyCompletion keys{"", "", true};
    if (is_key) candidates.add_all(keys.candidates(candidates.word()));
    candidates.directive(is_key ? "open" : "files toml");
  }
  if (positional == "folder") candidates.directive("folders");
  if (positional == "what") {
    for (const std::string_view topic : listing_topics()) candidates.add(topic);
  }
}

/// The candidates for the last of `words`, which follow the name of a command.
std::string complete_command(const CommandHelp& help, const Arguments& words) {
  const auto option_named = [&](std::string_view name) {
    const auto found =
        std::find_if(help.options.begin(), help.options.end(),
                     [&](const OptionText& option) { return name == "--" + option.name; });
    return found == help.options.end() ? nullptr : &*found;
  };
  const std::string& word = words.back();
  if (words.size() > 1) {
    if (const auto* before = option_named(words[words.size() - 2]);
        before && !before->value.empty()) {
      Candidates candidates(word, "");
      add_values(*before, words, candidates);
      return candidates.text();
    }
  }
  if (const std::size_t equals = word.find('='); word.starts_with("--") && equals != word.npos) {
    const std::string_view name = std::string_view(word).substr(0, equals);
    const auto* option = option_named(name);
    if (option == nullptr || option->value.empty()) return "";
    Candidates candidates(std::string_view(word).substr(equals + 1),
                          std::string_view(word).substr(0, equals + 1));
    add_values(*option, words, candidates);
    return candidates.text();
  }
  Candidates candidates(word, "");
  if (word.starts_with('-')) {
    for (const OptionText& option : help.options) candidates.add("--" + option.name);
  } else {
    add_words(help.positional, words, candidates);
  }
  return candidates.text();
}

}  // namespace

int complete(const Arguments& words) {
  if (words.empty()) return kDone;
  const bool asks_for_help = words.size() == 2 && words.front() == "help";
  if (words.size() == 1 || asks_for_help) {
    Candidates candidates(words.back(), "");
    for (const Command& command : commands()) candidates.add(command.name);
    if (!asks_for_help) candidates.add_all({"help", "--help", "--version"});
    report::print(candidates.text());
    return kDone;
  }
  for (const Command& command : commands()) {
    if (command.name != words.front()) continue;
    report::print(complete_command(help_of(command), {words.begin() + 1, words.end()}));
  }
  return kDone;
}

}  // namespace retrysim::cli

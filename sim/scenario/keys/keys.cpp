// Conditions, the scopes of the table of keys, and its names as a tree.
//
// SPDX-License-Identifier: MIT
#include "scenario/keys/keys.hpp"

#include "scenario/keys/key_rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace retrysim::scenario {

namespace {

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

}  // namespace

Condition::Condition(std::string_view text) {
  const std::size_t first = text.find(' ');
  const std::size_t second = std::min(text.find(' ', first + 1), text.size());
  key = text.substr(0, first);
  relation = text.substr(first + 1, second - first - 1);
  words = text.substr(std::min(text.size(), second + 1));
}

bool Condition::holds_for(std::string_view value) const {
  return relation != "unset" && is_among(value, words) == (relation == "=");
}

std::string Condition::words_as_text() const {
  std::string text(words);
  const std::size_t last = text.rfind('|');
  if (last != std::string::npos) text.replace(last, 1, " or ");
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, ", ");
  }
  return text;
}

namespace {

void insert(NameTree& tree, std::string_view path, const KeyInfo* key) {
  const std::size_t end = std::min(path.find('.'), path.size());
  const std::string_view name = path.substr(0, end);
  auto child = std::find_if(tree.children.begin(), tree.children.end(),
                            [&](const NameTree& c) { return c.name == name; });
  if (child == tree.children.end()) {
    child = tree.children.insert(tree.children.end(), NameTree{name, nullptr, {}});
  }
  if (end == path.size()) {
    child->key = key;
  } else {
    insert(*child, path.substr(end + 1), key);
  }
}

}  // namespace

std::span<const KeyScope> key_scopes() {
  static const std::vector<KeyInfo> service = service_keys(), fault = fault_keys(),
                                    client = client_keys(), call = call_keys();
  static const std::array<KeyScope, 14> scopes{
      {{"", "scenario", top_keys()},
       {"service.*", "service", service},
       {"service.*.throttle.operation.*", "limit of an operation", throttle_limit_keys()},
       {"service.*.throttle.key.*", "limit of a key", throttle_limit_keys()},
       {"service.*.concurrency.partitions.*", "partition", partition_keys()},
       {"fault.*", "fault", fault},
       {"client.*", "client", client},
       {"client.*.surge.*", "surge", surge_keys()},
       {"client.*.operation.*", "operation", operation_keys()},
       {"service.*.calls.*", "call", call},
       {"phase.*", "phase", phase_keys()},
       {"slo.*", "objective", slo_keys()},
       {"expect.*", "expectation", expectation_keys()},
       {"uncertain.*", "uncertain key", uncertain_keys()}}};
  return scopes;
}

const KeyScope& key_scope(std::string_view pattern) {
  const auto scopes = key_scopes();
  return *std::find_if(scopes.begin(), scopes.end(),
                       [&](const KeyScope& s) { return s.pattern == pattern; });
}

std::vector<KeyInfo> joined_keys(std::initializer_list<std::span<const KeyInfo>> parts) {
  std::vector<KeyInfo> all;
  std::size_t count = 0;
  for (const auto& part : parts) count += part.size();
  all.reserve(count);
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::optional<std::string> KeyInfo::default_toml() const {
  if (!fallback) return std::nullopt;
  const bool bare = rules.kind == ValueKind::kNumber || rules.kind == ValueKind::kCount ||
                    rules.kind == ValueKind::kCountDistribution ||
                    rules.kind == ValueKind::kBoolean;
  return bare && *fallback != rules.else_word ? std::string(*fallback) : render_text(*fallback);
}

std::string key_pattern(const KeyScope& scope, const KeyInfo& key) {
  std::string pattern(scope.pattern);
  if (!pattern.empty()) pattern += '.';
  return pattern.append(key.name);
}

const NameTree* NameTree::find(std::string_view child) const {
  const NameTree* any = nullptr;
  for (const NameTree& c : children) {
    if (c.name == child) return &c;
    if (c.name == "*") any = &c;
  }
  return any;
}

const NameTree& name_tree() {
  static const std::vector<std::string> patterns = [] {  // the tree keeps views of these texts
    std::vector<std::string> all;
    for (const KeyScope& scope : key_scopes()) {
      for (const KeyInfo& key : scope.keys) all.push_back(key_pattern(scope, key));
    }
    return all;
  }();
  static const NameTree tree = [] {
    NameTree root;
    auto pattern = patterns.begin();
    for (const KeyScope& scope : key_scopes()) {
      for (const KeyInfo& key : scope.keys) insert(root, *pattern++, &key);
    }
    return root;
  }();
  return tree;
}

const KeyInfo* find_key(std::string_view path) {
  const NameTree* node = &name_tree();
  while (node != nullptr) {
    const std::size_t dot = end_of_name(path);
    node = node->find(path.substr(0, dot));
    if (dot == path.size()) break;
    path.remove_prefix(dot + 1);
  }
  return node == nullptr ? nullptr : node->key;
}

namespace {

/// Whether `path` is one of the keys or tables `tops`, or below one of them.
bool is_among(std::string_view path, std::span<const std::string_view> tops) {
  const std::string_view top = path.substr(0, path.find('.'));
  return std::find(tops.begin(), tops.end(), top) != tops.end();
}

}  // namespace

bool changes_a_run(std::string_view path) {
  constexpr std::string_view kOnlyShown[] = {"name",  "description", "expect",
                                             "phase", "slo",         "uncertain"};
  return !is_among(path, kOnlyShown);
}

bool describes_system(std::string_view path) {
  constexpr std::string_view kHowOften[] = {"seed", "replications", "precision",
                                            "precision_metrics", "max_replications"};
  return changes_a_run(path) && !is_among(path, kHowOften);
}

std::optional<ErrorAnswer> parse_error_answer(std::string_view name) {
  ErrorAnswer answer;
  for (std::size_t plus = name.rfind('+'); plus != std::string_view::npos; plus = name.rfind('+')) {
    if (!add_trait(name.substr(plus + 1), answer.traits)) return std::nullopt;
    name = name.substr(0, plus);
  }
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view status = name.substr(0, colon);
  const auto [end, code] =
      std::from_chars(status.data(), status.data() + status.size(), answer.status);
  if (code != std::errc() || end != status.data() + status.size()) return std::nullopt;
  if (answer.status < 400 || answer.status > 599) return std::nullopt;
  if (colon == name.size()) return answer;
  answer.code = name.substr(colon + 1);
  const bool word =
      !answer.code.empty() && std::all_of(answer.code.begin(), answer.code.end(), [](char c) {
        return is_bare_name({&c, 1}) || c == '.' || c == ':';
      });
  if (!word) return std::nullopt;
  return answer;
}

}  // namespace retrysim::scenario

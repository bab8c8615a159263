// Deep merges of tables along chains of `like`.
//
// SPDX-License-Identifier: MIT
#include "scenario/inheritance.hpp"

#include "scenario/keys.hpp"
#include "scenario/suggestions.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace retrysim::scenario {
namespace {

// Whether a table is about something else than the one that it starts from, so that what that says
// means nothing to it: one of the keys that decide this has another value. Of a distribution it is
// the name.
bool is_another_thing(const Node& base, const Node& changes, const NameTree* known) {
  const auto differs = [&](std::string_view name) {
    const Member* old_value = base.find(name);
    const Member* new_value = changes.find(name);
    return new_value != nullptr &&
           (old_value == nullptr || render(old_value->value) != render(new_value->value));
  };
  if (known == nullptr) return false;
  if (known->key != nullptr) return differs("distribution");
  return std::any_of(known->children.begin(), known->children.end(), [&](const NameTree& child) {
    return child.key != nullptr && child.key->decides && differs(child.name);
  });
}

// The base with the changes; `base` is a copy that becomes the result. `known` is what the table of
// keys knows about it, or null.
Node merged(Node base, const Node& changes, const NameTree* known) {
  if (!base.is_table() || !changes.is_table()) return changes;
  if (is_another_thing(base, changes, known)) return changes;
  for (const Member& change : changes.members) {
    if (Member* member = base.find(change.name)) {
      const NameTree* child = known == nullptr ? nullptr : known->find(change.name);
      member->value = merged(std::move(member->value), change.value, child);
      member->place = change.place;
    } else {
      base.members.push_back(change);
    }
  }
  base.place = changes.place;
  return base;
}

class Inheritance {
 public:
  /// `kind` is what the table of keys knows about such tables, `like` the key that names the base.
  Inheritance(std::string kind, std::string_view like, Node& tables, Problems& problems,
              std::set<std::string>& broken)
      : kind_(std::move(kind)),
        like_(like),
        known_(name_tree().find(kind_)->find("*")),
        tables_(tables),
        problems_(problems),
        broken_(broken) {
    for (std::size_t i = 0; i < tables.members.size(); ++i) index_[tables.members[i].name] = i;
    states_.resize(tables.members.size());
  }

  void resolve_all() {
    for (std::size_t i = 0; i < states_.size(); ++i) resolve(i);
  }

 private:
  enum class State : std::uint8_t { kNew, kInProgress, kDone };

  // Follows the chain from member `i` to its end, then merges backwards along it.
  void resolve(std::size_t i) {
    std::vector<std::size_t> chain;
    const Node* like = nullptr;
    bool good = true;
    while (states_[i] == State::kNew) {
      states_[i] = State::kInProgress;
      chain.push_back(i);
      const Member* member = tables_.members[i].value.find(like_);
      like = member == nullptr ? nullptr : &member->value;
      if (like == nullptr) break;
      const auto base = find_base(*like);
      if (!base) {
        good = false;
        break;
      }
      i = *base;
    }
    if (good && like != nullptr && states_[i] == State::kInProgress) {
      report_circle(chain, i, *like);
      good = false;
    }
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
      good = finish(*at, good);
    }
  }

  std::optional<std::size_t> find_base(const Node& like) {
    const std::string name = like.is_text() ? like.text : like.raw;
    const auto found = index_.find(name);
    if (found != index_.end()) return found->second;
    if (name.empty()) {
      problems_.add(like.place, "like is " + std::string(describe(like.kind)) +
                                    "; expected the name of a " + kind_ + " in quotes");
      return std::nullopt;
    }
    std::vector<std::string_view> known;
    for (const Member& member : tables_.members) known.push_back(member.name);
    problems_.add(like.place, "like = " + in_quotes(name) + ": there is no such " + kind_ + "; " +
                                  suggestion(name, known, "there are"));
    return std::nullopt;
  }

  void report_circle(const std::vector<std::size_t>& chain, std::size_t start, const Node& like) {
    std::string circle;
    for (auto at = std::find(chain.begin(), chain.end(), start); at != chain.end(); ++at) {
      circle += tables_.members[*at].name + " -> ";
    }
    circle += tables_.members[start].name;
    problems_.add(like.place, "like goes in a circle: " + circle + "; one must stand alone");
  }

  // Merges member `i` with what it is like; whether it is complete.
  bool finish(std::size_t i, bool good) {
    Member& member = tables_.members[i];
    states_[i] = State::kDone;
    const Member* like = member.value.find(like_);
    if (like == nullptr) return true;
    const std::string path = kind_ + "." + member.name;
    const std::string base = like->value.is_text() ? like->value.text : like->value.raw;
    std::erase_if(member.value.members, [&](const Member& m) { return m.name == like_; });
    if (!good || broken_.count(kind_ + "." + base) > 0) {
      broken_.insert(path);
      return false;
    }
    const Member& from = tables_.members[index_.at(base)];
    member.value = merged(from.value, member.value, known_);
    return true;
  }

  std::string kind_;
  std::string_view like_;
  const NameTree* known_;
  Node& tables_;
  Problems& problems_;
  std::set<std::string>& broken_;
  std::map<std::string, std::size_t> index_;
  std::vector<State> states_;
};

}  // namespace

std::set<std::string> apply_like(Node& root, Problems& problems) {
  std::set<std::string> broken;
  for (const KeyScope& scope : key_scopes()) {
    const auto like = std::find_if(scope.keys.begin(), scope.keys.end(),
                                   [](const KeyInfo& k) { return k.role == KeyRole::kBase; });
    if (like == scope.keys.end()) continue;
    const std::string kind(scope.pattern.substr(0, scope.pattern.find('.')));
    Member* tables = root.find(kind);
    if (tables == nullptr || !tables->value.is_table()) continue;
    Inheritance(kind, like->name, tables->value, problems, broken).resolve_all();
  }
  return broken;
}

}  // namespace retrysim::scenario

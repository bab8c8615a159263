// Applying edits, checking names against the table of keys, and `like`.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/edits.hpp"

#include "scenario/keys/keys.hpp"
#include "scenario/text/histograms.hpp"
#include "scenario/text/percentiles.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace retrysim::scenario {

namespace {

std::string join(const std::string& path, std::string_view name) {
  const std::string last = name == "*" ? std::string(name) : render_name(name);
  return path.empty() ? last : path + "." + last;
}

// Collects the full paths, below `tree`, of keys whose last part is `name`.
void find_leaf(const NameTree& tree, const std::string& path, std::string_view name,
               std::vector<std::string>& found) {
  for (const NameTree& child : tree.children) {
    if (child.name == "*") continue;
    const std::string child_path =
        path.empty() ? std::string(child.name) : path + "." + std::string(child.name);
    if (child.key != nullptr && child.name == name) found.push_back(child_path);
    find_leaf(child, child_path, name, found);
  }
}

// The message about `name`, which is not known below `parent`.
std::string unknown_name(const NameTree& parent, const std::string& path, std::string_view name) {
  std::string message = "unknown key " + in_quotes(path.empty() ? name : join(path, name)) + "; ";
  if (path.starts_with("uncertain.") && path.find('"') == std::string::npos) {
    return message + "write the path of the key in quotes: [uncertain.\"service.api.servers\"]";
  }
  std::vector<std::string_view> known;
  for (const NameTree& child : parent.children) {
    if (child.name != "*") known.push_back(child.name);
  }
  if (!nearest(name, known).empty()) return message + suggestion(name, known, "");
  std::vector<std::string> elsewhere;  // full paths of keys of this name elsewhere
  find_leaf(parent, path, name, elsewhere);
  if (elsewhere.size() == 1) return message + "did you mean \"" + elsewhere.front() + "\"?";
  return message + suggestion(name, known, "known here");
}

std::string bad_entity_name(std::string_view name) {
  return "the name " + in_quotes(name) +
         " is not possible; expected letters, digits, _ and -, not starting with -";
}

// --- Names of earlier versions

/// A table or key of retry rules that had another name in an earlier version.
struct OldName {
  std::string_view before, now, note;
};
constexpr OldName kOldNames[] = {
    {"breaker", "retry_breaker",
     "a breaker that refuses first attempts, too, is breaker, outside of retry"},
};

const OldName* old_name(std::string_view name) {
  const auto* at = std::ranges::find(kOldNames, name, &OldName::before);
  return at == std::end(kOldNames) ? nullptr : at;
}

void add_old_name(const std::string& retry, const OldName& name, std::vector<OldKeyName>& renamed) {
  renamed.push_back({join(retry, name.before), join(retry, name.now)});
}

void rename_in_retry(Node& owner, const std::string& path, std::vector<OldKeyName>& renamed) {
  Member* retry = owner.find("retry");
  if (retry == nullptr || !retry->value.is_table()) return;
  for (Member& member : retry->value.members) {
    const OldName* name = old_name(member.name);
    if (name == nullptr || retry->value.find(name->now) != nullptr) continue;
    add_old_name(join(path, "retry"), *name, renamed);
    member.name = name->now;
  }
}

/// Calls `f` with each member of the table `name` of `owner` that is itself a table.
template <class F>
void for_each_table(Node& owner, std::string_view name, F&& f) {
  Member* tables = owner.find(name);
  if (tables == nullptr || !tables->value.is_table()) return;
  for (Member& member : tables->value.members) {
    if (member.value.is_table()) f(member);
  }
}

/// Replaces names of earlier versions in the path of an edit, whose parts are `names`.
void rename_in_path(std::vector<std::string>& names, std::vector<OldKeyName>& renamed) {
  const bool of_client = names.size() > 3 && names[0] == "client" && names[2] == "retry";
  const bool of_call =
      names.size() > 5 && names[0] == "service" && names[2] == "calls" && names[4] == "retry";
  if (!of_client && !of_call) return;
  const std::size_t at = of_client ? 3 : 5;
  const OldName* name = old_name(names[at]);
  if (name == nullptr) return;
  std::string retry;
  for (std::size_t i = 0; i < at; ++i) retry = join(retry, names[i]);
  add_old_name(retry, *name, renamed);
  names[at] = name->now;
}

class NameChecker {
 public:
  explicit NameChecker(Problems& problems) : problems_(problems) {}

  void check(const Node& table, const NameTree& tree, const std::string& path) {
    for (const Member& member : table.members) {
      const NameTree* child = tree.find(member.name);
      if (child == nullptr) {
        // Looking up a misspelt name is costly: this is done only if the message will be shown.
        if (problems_.wants(member.place)) {
          problems_.add(member.place, unknown_name(tree, path, member.name));
        }
      } else if (child->is_entity() && !tree.holds_paths() && !is_entity_name(member.name)) {
        problems_.add(member.place, bad_entity_name(member.name));
      } else if (child->key == nullptr) {
        check_table(member, *child, path);
      }
    }
  }

 private:
  void check_table(const Member& member, const NameTree& tree, const std::string& path) {
    if (member.value.is_table()) {
      check(member.value, tree, join(path, member.name));
    } else {
      const std::string own = join(path, member.name);
      std::string message =
          own + " is " + std::string(describe(member.value.kind)) + "; expected a table";
      const auto key = std::ranges::find_if(
          tree.children, [](const NameTree& child) { return child.key != nullptr; });
      if (problems_.is_varied(member.value.place) && key != tree.children.end()) {
        message +=
            fmt::format("; whole tables are varied as in {}={{}},{{{}=...}}", own, key->name);
      }
      problems_.add(member.value.place, std::move(message));
    }
  }

  Problems& problems_;
};

class Edit {
 public:
  Edit(Node& root, const Sources& sources, int source, Problems& problems,
       std::vector<OldKeyName>& renamed)
      : root_(root),
        text_(sources.text(source)),
        source_(source),
        problems_(problems),
        renamed_(renamed) {}

  void apply() {
    const std::size_t equals = find_equals(text_);
    if (equals == std::string_view::npos) {
      fail(1,
           in_quotes(text_) + " is not an edit; expected PATH=VALUE, such as client.web.count=10");
      return;
    }
    path_ = text_.substr(0, equals);
    while (path_.ends_with(' ')) path_.remove_suffix(1);
    const auto names = split_path(path_);
    if (!names) {
      fail(1, in_quotes(path_) + " is not a path; expected names with dots between them");
      return;
    }
    names_ = *names;
    rename_in_path(names_, renamed_);
    if (!check_path() || !read_value(text_.substr(equals + 1), equals + 2)) return;
    if (set(root_, 0)) return;
    if (!failed_) fail(1, in_quotes(path_) + " matches nothing; there is no such name yet");
  }

 private:
  Place place(std::size_t column) const { return {source_, 0, static_cast<int>(column)}; }

  void fail(std::size_t column, std::string message) {
    failed_ = true;
    problems_.add(place(column), std::move(message));
  }

  // Whether the table of keys knows the path; otherwise reports it.
  bool check_path() {
    const NameTree* tree = &name_tree();
    std::string path;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = names_[i];
      if (tree->key != nullptr) return check_inside(*tree, path, i);
      const NameTree* child = tree->find(name);
      if (child == nullptr) {
        fail(1, name == "*" ? "\"*\" cannot stand for a name in " + in_quotes(path_) +
                                  "; it stands for that of a service, client, fault or the like"
                            : unknown_name(*tree, path, name));
        return false;
      }
      if (child->is_entity() && !tree->holds_paths() && name != "*" && !is_entity_name(name)) {
        fail(1, bad_entity_name(name));
        return false;
      }
      path = join(path, name);
      tree = child;
    }
    return true;
  }

  // Whether a path may go into the value of a key, a distribution: `service.api.service_time.mean`.
  bool check_inside(const NameTree& tree, const std::string& path, std::size_t i) {
    const auto known = distribution_member_names();
    const ValueKind kind = tree.key->rules.kind;
    const bool distribution =
        kind == ValueKind::kDistribution || kind == ValueKind::kCountDistribution;
    if (distribution && i + 1 == names_.size() &&
        (std::find(known.begin(), known.end(), names_[i]) != known.end() ||
         percentile_share(names_[i]))) {
      return true;
    }
    std::string message = "unknown key " + in_quotes(path_) + "; ";
    message += distribution ? suggestion(names_[i], known, "a distribution has")
                            : path + " has nothing below it";
    fail(1, std::move(message));
    return false;
  }

  bool read_value(std::string_view text, std::size_t column) {
    while (text.starts_with(' ')) {
      text.remove_prefix(1);
      ++column;
    }
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (text.empty()) {
      fail(column, "no value; expected PATH=VALUE, such as client.web.count=10");
      return false;
    }
    value_place_ = place(column);
    if (auto value = parse_value(text, value_place_)) {
      value_ = *std::move(value);
    } else if (text.find_first_of("\"'[]{}#\n\r") != std::string_view::npos) {
      fail(column, in_quotes(text) +
                       " is not a TOML value; inside lists and tables text is written "
                       "in quotes");
      return false;
    } else {  // the value is a word without quotes: text
      value_.kind = Node::Kind::kText;
      value_.text = text;
      value_.place = value_place_;
    }
    value_.raw = text;
    return true;
  }

  bool has_star_from(std::size_t i) const {
    return std::find(names_.begin() + static_cast<std::ptrdiff_t>(i), names_.end(), "*") !=
           names_.end();
  }

  // Sets the value at names_[i...] below `table`; returns whether anything was set.
  bool set(Node& table, std::size_t i) {
    if (!table.is_table()) {
      fail(1, in_quotes(path_) + " goes through " + std::string(describe(table.kind)) +
                  "; expected a table there");
      return false;
    }
    if (names_[i] == "*") {
      bool any = false;
      for (Member& member : table.members) any = set_member(member, i) || any;
      return any;
    }
    Member* member = table.find(names_[i]);
    if (member == nullptr) {
      if (has_star_from(i)) return false;  // nothing to match below a new table
      member = &table.members.emplace_back();
      member->name = names_[i];
      member->place = place(1);
      member->value.place = place(1);
    }
    return set_member(*member, i);
  }

  bool set_member(Member& member, std::size_t i) {
    if (i + 1 < names_.size()) return set(member.value, i + 1);
    member.place = place(1);
    member.value = value_;
    return true;
  }

  Node& root_;
  std::string_view text_;
  std::string_view path_;
  int source_;
  Problems& problems_;
  std::vector<OldKeyName>& renamed_;
  std::vector<std::string> names_;
  Node value_;
  Place value_place_;
  bool failed_ = false;
};

}  // namespace

void rename_old_keys(Node& root, std::vector<OldKeyName>& renamed) {
  for_each_table(root, "client", [&](Member& client) {
    rename_in_retry(client.value, join("client", client.name), renamed);
  });
  for_each_table(root, "service", [&](Member& service) {
    for_each_table(service.value, "calls", [&](Member& call) {
      rename_in_retry(call.value, join(join(join("service", service.name), "calls"), call.name),
                      renamed);
    });
  });
}

std::string note_of(const OldKeyName& name) {
  const OldName* row = old_name(std::string_view(name.before).substr(name.before.rfind('.') + 1));
  return name.before + " is called " + name.now + " now; " + std::string(row->note);
}

void apply_edit(Node& root, const Sources& sources, int source, Problems& problems,
                std::vector<OldKeyName>& renamed) {
  Edit(root, sources, source, problems, renamed).apply();
}

void check_names(const Node& root, Problems& problems) {
  NameChecker(problems).check(root, name_tree(), "");
}

// --- like ----------------------------------------------------------------------------------------

// Deep merges of tables along chains of `like`.

namespace {

// Whether a table describes something other than its base, so that the base's keys mean nothing to
// it: a key that decides this (KeyTraits::decides) has another value. In a distribution, the name,
// percentiles or buckets decide.
bool is_another_thing(const Node& base, const Node& changes, const NameTree* known) {
  const auto differs = [&](std::string_view name) {
    const Member* old_value = base.find(name);
    const Member* new_value = changes.find(name);
    return new_value != nullptr &&
           (old_value == nullptr || render(old_value->value) != render(new_value->value));
  };
  if (known == nullptr) return false;
  if (known->key != nullptr) {
    if (differs("distribution")) return true;
    const bool says_more = std::ranges::any_of(changes.members, [&](const Member& m) {
      return m.name != "distribution" && base.find(m.name) == nullptr;
    });
    return says_more && (has_percentiles(base) != has_percentiles(changes) ||
                         has_buckets(base) != has_buckets(changes));
  }
  return std::any_of(known->children.begin(), known->children.end(), [&](const NameTree& child) {
    return child.key != nullptr && child.key->decides && differs(child.name);
  });
}

// Whether a table says what it describes, so that it replaces its base.
bool is_whole_thing(const Node& base, const Node& changes, const NameTree* known) {
  if (known == nullptr) return false;
  if (known->key != nullptr) {
    return changes.find("distribution") != nullptr || is_another_thing(base, changes, known);
  }
  return std::ranges::any_of(known->children, [&](const NameTree& child) {
    return child.key != nullptr && child.key->decides && changes.find(child.name) != nullptr;
  });
}

using Replaces = bool (*)(const Node& base, const Node& changes, const NameTree* known);

// The base with the changes applied. `known`: the entry for this value in the table of keys, or
// null. `replaces` decides which tables are not merged.
Node merged(Node base, const Node& changes, const NameTree* known, Replaces replaces) {
  if (!base.is_table() || !changes.is_table()) return changes;
  if (replaces(base, changes, known)) return changes;
  for (const Member& change : changes.members) {
    if (Member* member = base.find(change.name)) {
      const NameTree* child = known == nullptr ? nullptr : known->find(change.name);
      member->value = merged(std::move(member->value), change.value, child, replaces);
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
  /// `kind`: path of these tables in the table of keys; `like`: the key that names the base.
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

  // Merges member `i` with its base; returns whether it is complete.
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
    member.value = merged(from.value, member.value, known_, is_another_thing);
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

void merge_file(Node& root, const Node& file, const std::string& scenario, Problems& problems) {
  static constexpr std::string_view kGroups = "client";
  const Member* groups = file.find(kGroups);
  const Member* own = root.find(kGroups);
  if (groups != nullptr && own != nullptr) {
    std::vector<std::string_view> names;
    for (const Member& member : own->value.members) names.push_back(member.name);
    for (const Member& group : groups->value.members) {
      const bool is_whole =
          group.value.find("arrivals") != nullptr || group.value.find("like") != nullptr;
      if (is_whole || own->value.find(group.name) != nullptr) continue;
      problems.add(group.place, join(std::string(kGroups), group.name) + " is no client group of " +
                                    scenario + ", and a new one needs arrivals; " +
                                    suggestion(group.name, names, "it has"));
    }
  }
  root = merged(std::move(root), file, &name_tree(), is_whole_thing);
}

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

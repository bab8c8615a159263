// SPDX-License-Identifier: MIT
#include "import/tree.hpp"

#include <retrysim/import.hpp>

#include "kernel/stop.hpp"
#include "scenario/text/portions.hpp"
#include "scenario/text/text.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace retrysim::imports {

const Value* Value::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &Member::name);
  return kind == Kind::kMap && found != members.end() ? found->value : nullptr;
}

Value& Tree::add(Value value) {
  values_.push_back(std::move(value));
  return values_.back();
}

Value& Tree::add_text(std::string text, int line, int column) {
  Value value;
  value.kind = Value::Kind::kText;
  value.text = std::move(text);
  value.line = line;
  value.column = column;
  return add(std::move(value));
}

namespace {

/// Builds the tree from the events of yaml-cpp, in one pass.
class Builder final : public YAML::EventHandler {
 public:
  Builder(Tree& tree, std::string file, std::string_view text)
      : tree_(tree), file_(std::move(file)), text_(text) {}

  /// Begins a document, if one may begin there. yaml-cpp (0.7) takes a line that is indented less
  /// than the first one for a new document. It also finds an empty document before a character that
  /// cannot begin one, such as a comma, does not skip that character, and so finds documents
  /// without end.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == begun_) fail(mark, "neither YAML nor JSON: no value can begin here");
    if (begun_ >= 0 && !is_begun_at(mark)) {
      const char first = text_[static_cast<std::size_t>(mark.pos)];
      if (first == ',' || first == ']' || first == '}') {
        fail(mark, "neither YAML nor JSON: no value can begin here");
      }
      fail(mark,
           mark.column < begun_column_
               ? "indented less than the first line of this document; begin them in one column"
               : "a second document begins here; put a line --- in front of it");
    }
    begun_ = mark.pos;
    begun_column_ = mark.column;
    open_.clear();
    anchors_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, Value::Kind::kNull, "?");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value& value = add(mark, anchor, Value::Kind::kText, text);
    value.text = text;
    value.is_plain = tag == "?";  // yaml-cpp: of texts with quotes it is "!"
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value* meant = anchors_.at(anchor);
    if (meant == nullptr) fail(mark, "this alias stands inside of what it stands for");
    count_aliased(mark, meant->size);
    put(mark, meant, meant->kind == Value::Kind::kText ? meant->text : "?");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Value::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Value::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Value* value;
    YAML::anchor_t anchor = 0;
    bool name_is_next = false;
    Value::Member next = {};  // the member whose name is known already
    std::set<std::string> names = {};
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
    throw BadConfiguration({.file = file_,
                            .line = mark.line + 1,
                            .column = mark.column + 1,
                            .message = what,
                            .source_line = {}});
  }

  /// Whether a document may begin at a mark: with "---", or behind a line "...".
  bool is_begun_at(const YAML::Mark& mark) const {
    const auto at = static_cast<std::size_t>(mark.pos);
    if (at >= text_.size() || text_.substr(at).starts_with("---")) return true;
    const std::size_t ended = text_.rfind("\n...", at);
    return ended != std::string_view::npos && ended >= static_cast<std::size_t>(begun_);
  }

  Value& add(const YAML::Mark& mark, YAML::anchor_t anchor, Value::Kind kind,
             const std::string& name) {
    Value value;
    value.kind = kind;
    value.line = mark.line + 1;
    value.column = mark.column + 1;
    Value& added = tree_.add(std::move(value));
    note(anchor, &added);
    put(mark, &added, name);
    return added;
  }
  void note(YAML::anchor_t anchor, Value* value) {
    if (anchor == 0) return;
    if (anchors_.size() <= anchor) anchors_.resize(anchor + 1);
    anchors_[anchor] = value;
  }

  /// Puts a value into its place, complete or with members to follow: as a document, an item, the
  /// value of a name, or itself as a name.
  void put(const YAML::Mark& mark, const Value* value, const std::string& as_name) {
    stop_point();
    if (++values_ > kMaxValues) {
      fail(mark, fmt::format("it has more than {} values; import it in parts", kMaxValues));
    }
    if (open_.empty()) {
      tree_.documents.push_back(value);
      return;
    }
    Open& around = open_.back();
    if (around.name_is_next) {
      constexpr std::size_t kLongestName = 512;  // the path of each value is kept
      if (as_name.size() > kLongestName) fail(mark, "the name is too long");
      const bool is_text = value->kind == Value::Kind::kText;
      if (is_text && !around.names.insert(as_name).second) {
        fail(mark, fmt::format("{} is given twice; leave one of them",
                               scenario::printable_line(as_name)));
      }
      around.next = {is_text ? as_name : "?", nullptr, mark.line + 1, mark.column + 1};
    } else {
      around.next.value = value;
      around.value->members.push_back(std::move(around.next));
      around.next = {};
    }
    if (around.value->kind == Value::Kind::kMap) around.name_is_next = !around.name_is_next;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Value::Kind kind) {
    if (open_.size() >= kMaxDepth) {
      fail(mark, fmt::format("nested too deeply: more than {} levels", kMaxDepth));
    }
    Value value;
    value.kind = kind;
    value.line = mark.line + 1;
    value.column = mark.column + 1;
    Value& added = tree_.add(std::move(value));
    note(anchor, nullptr);  // null as long as the value is not complete
    put(mark, &added, "?");
    open_.push_back({.value = &added, .anchor = anchor, .name_is_next = kind == Value::Kind::kMap});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    Value& value = *done.value;
    if (value.kind == Value::Kind::kMap) take_merge(value, done.names);
    for (const Value::Member& m : value.members) {
      value.size += m.value->size;
      value.depth = std::max(value.depth, m.value->depth + 1);
    }
    if (value.depth + static_cast<int>(open_.size()) > kMaxDepth) {
      fail(mark_of(value), fmt::format("nested too deeply: more than {} levels", kMaxDepth));
    }
    note(done.anchor, &value);
  }

  static YAML::Mark mark_of(const Value& value) {
    YAML::Mark mark;
    mark.line = value.line - 1;
    mark.column = value.column - 1;
    return mark;
  }
  void count_aliased(const YAML::Mark& mark, double values) {
    aliased_ += values;
    if (aliased_ > kMaxAliased) {
      fail(mark, fmt::format("the aliases up to here stand for more than {} values", kMaxAliased));
    }
  }

  /// Replaces a merge key (yaml.org/type/merge.html): `<<` stands for the members of the map, or of
  /// the maps in the list, that is its value, unless the map itself or an earlier one has a member
  /// of that name.
  void take_merge(Value& map, std::set<std::string>& names) {
    const auto merge = std::ranges::find(map.members, "<<", &Value::Member::name);
    if (merge == map.members.end()) return;
    std::vector<const Value*> bases;
    if (merge->value->kind == Value::Kind::kMap) bases.push_back(merge->value);
    if (merge->value->kind == Value::Kind::kList) {
      for (const Value::Member& base : merge->value->members) bases.push_back(base.value);
    }
    const auto is_map = [](const Value* base) { return base->kind == Value::Kind::kMap; };
    if (bases.empty() || !std::ranges::all_of(bases, is_map)) return;  // will be listed as left out
    map.members.erase(merge);
    for (const Value* base : bases) {
      count_aliased(mark_of(*base), static_cast<double>(base->members.size()));
      for (const Value::Member& member : base->members) {
        if (names.insert(member.name).second) map.members.push_back(member);
      }
    }
  }

  Tree& tree_;
  std::string file_;
  std::string_view text_;
  std::vector<Open> open_;
  std::vector<Value*> anchors_;  // values by number; null: not complete
  double aliased_ = 0;
  std::size_t values_ = 0;
  int begun_ = -1, begun_column_ = 0;  // place at which the document begins
};

}  // namespace

Tree read_yaml(const std::string& file, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Tree tree;
  try {
    // The library reads the whole text at once, with no other occasion to stop.
    scenario::PortionedStream stream(text);
    YAML::Parser parser(stream);
    for (Builder builder(tree, file, text); parser.HandleNextDocument(builder);) continue;
  } catch (const YAML::Exception& e) {
    throw BadConfiguration({.file = file,
                            .line = e.mark.line + 1,
                            .column = e.mark.column + 1,
                            .message = "neither YAML nor JSON: " + scenario::printable_line(e.msg),
                            .source_line = {}});
  }
  return tree;
}

std::string without_json_comments(std::string_view text) {
  std::string clean(text);
  const std::size_t first = clean.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool may_be_json =
      first != std::string::npos &&
      (clean[first] == '{' || clean[first] == '[' || clean.compare(first, 2, "//") == 0 ||
       clean.compare(first, 2, "/*") == 0);
  if (!may_be_json) return clean;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (clean[i] == '"') {
      for (++i; i < clean.size() && clean[i] != '"'; ++i) i += clean[i] == '\\' ? 1 : 0;
      continue;
    }
    if (clean[i] != '/' || i + 1 >= clean.size()) continue;
    const bool of_line = clean[i + 1] == '/';
    if (!of_line && clean[i + 1] != '*') continue;
    std::size_t end = of_line ? clean.find('\n', i) : clean.find("*/", i + 2);
    if (end == std::string::npos) end = clean.size();
    if (!of_line) end = std::min(clean.size(), end + 2);
    for (; i < end; ++i) {
      if (clean[i] != '\n') clean[i] = ' ';
    }
    --i;
  }
  return clean;
}

}  // namespace retrysim::imports

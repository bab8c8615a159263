// Members of lines of JSON, against a library that reads the same text into a tree.
//
// SPDX-License-Identifier: MIT
#include "fit/members.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

/// Objects of random members, with all that may stand in JSON.
class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed)
      : draws_(RandomKey(seed, 0), {seed, 11, 0, Purpose::kServiceTime}) {}

  std::string object(int depth) {
    std::string text = "{" + blanks();
    const std::size_t count = below(5);
    for (std::size_t i = 0; i < count; ++i) {
      // Names come once: the number is in them.
      text += (i == 0 ? "" : "," + blanks()) + "\"" + characters() + std::to_string(i) + "\"" +
              blanks() + ":" + blanks() + value(depth) + blanks();
    }
    return text + "}";
  }

  /// With a byte that is another, is not there, or comes twice.
  std::string damaged(std::string text) {
    constexpr std::string_view kBytes = "{}[]\",:\\u0e-+.tn \x01z";
    const std::size_t at = below(text.size());
    switch (below(3)) {
      case 0:
        text[at] = kBytes[below(kBytes.size())];
        break;
      case 1:
        text.erase(at, 1);
        break;
      default:
        text.insert(at, 1, kBytes[below(kBytes.size())]);
    }
    return text;
  }

  std::size_t below(std::size_t n) {
    return std::min(n - 1, static_cast<std::size_t>(draws_.uniform() * static_cast<double>(n)));
  }

 private:
  std::string one_of(std::initializer_list<const char*> all) {
    return all.begin()[below(all.size())];
  }
  std::string blanks() { return one_of({"", "", "", " ", "\t", "  "}); }
  std::string characters() {
    std::string text;
    for (std::size_t left = below(12); left > 0; --left) {
      text += one_of({"a", "time", "status", "B", "_", " ", "{", "]", ":", "\\\"", "\\\\", "\\/",
                      "\\n", "\\u00e9", "\\u0041", "\\ud83d\\ude00", "\xc3\xa9", "\\t", ","});
    }
    return text;
  }
  std::string value(int depth) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0:
        return one_of({"0", "-1", "17", "1717200000123", "0.035", "-0.5", "1e3", "1.5E-2", "2e+1"});
      case 1:
      case 2:
        return "\"" + characters() + "\"";
      case 3:
        return one_of({"true", "false", "null"});
      case 4:
        return one_of({"[]", "[ ]", "[1, \"]\"]", "[{\"a\": [{}]}, null]"});
      case 5:
        return "{}";
      default:
        return object(depth - 1);
    }
  }

  Draws draws_;
};

/// Texts and numbers by their names, where they are not in arrays.
void add_values(const nlohmann::json& object, const std::string& prefix,
                std::map<std::string, nlohmann::json>& all) {
  for (auto member = object.begin(); member != object.end(); ++member) {
    if (member->is_object()) add_values(*member, prefix + member.key() + ".", all);
    if (member->is_string() || member->is_number()) all[prefix + member.key()] = *member;
  }
}

}  // namespace

TEST_CASE("members of a line are those that a tree of the same text has") {
  RandomJson random(1);
  Members members;
  int objects = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random.object(3);
    if (random.below(2) == 0) text = random.damaged(text);
    CAPTURE(text);
    const nlohmann::json tree = nlohmann::json::parse(text, nullptr, false);
    const bool is_object = members.read_json(text) == Members::Misread::kNone;
    // Half of a surrogate pair, or half of a character, is none of an object there.
    if (tree.is_object() != is_object) {
      CHECK(is_object);
      CHECK((text.find("\\ud") != std::string::npos ||
             text.find_first_of("\xc3\xa9") != std::string::npos));
      continue;
    }
    if (!is_object) {
      CHECK(members.all().empty());
      continue;
    }
    ++objects;
    std::map<std::string, nlohmann::json> expected;
    add_values(tree, "", expected);
    std::size_t found = 0;
    for (const Member& member : members.all()) {
      const std::string name = members.name(member);
      REQUIRE(Members::path_of(name) == member.path);
      if (member.kind != Member::Kind::kText && member.kind != Member::Kind::kNumber) {
        CHECK(expected.count(name) == 0);
        continue;
      }
      ++found;
      REQUIRE(expected.count(name) == 1);
      const nlohmann::json& value = expected[name];
      if (value.is_string()) {
        CHECK(members.text(member) == value.get<std::string>());
      } else {
        CHECK(nlohmann::json::parse(members.text(member)) == value);
      }
    }
    CHECK(found == expected.size());
  }
  CHECK(objects > 10'000);
}

TEST_CASE("what a line of JSON may have that a library refuses, and how deep it may be") {
  Members members;
  REQUIRE(members.read_json("{\"a\xff\": \"\xfe\\ud800x\", \"b\": {\"c.d\": 1}}") ==
          Members::Misread::kNone);
  CHECK(members.name(members.all()[0]) == "a\xff");
  CHECK(members.text(members.all()[0]) == "\xfe\xef\xbf\xbdx");
  CHECK(members.all()[2].path == Members::path_of("b.c.d"));
  CHECK(members.name(members.all()[2]) == "b.c.d");

  // Objects of the same names have the same shape, in whichever order.
  const auto shape = [&](std::string_view text) {
    CHECK(members.read_json(text) == Members::Misread::kNone);
    return members.shape();
  };
  CHECK(shape("{\"a\": 1, \"b\": 2}") == shape("{\"b\": \"x\", \"a\": null}"));
  CHECK(shape("{\"a\": 1, \"b\": 2}") != shape("{\"a\": 1, \"c\": 2}"));
  CHECK(shape("{\"a\": 1, \"b\": 2}") != shape("{\"a\": 1}"));

  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text = "{\"a\": ";
    for (std::size_t i = 1; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 1; i < depth; ++i) text += close;
    return text + "}";
  };
  for (const auto& [open, close] :
       {std::pair<std::string, std::string>{"[", "]"}, {"{\"a\": ", "}"}, {"[{\"a\": ", "}]"}}) {
    const std::size_t each = open.front() == '[' && open.size() > 1 ? 2 : 1;
    CAPTURE(open);
    CHECK(members.read_json(nested((Members::kDeepest - 1) / each + 1, open, close)) ==
          Members::Misread::kNone);
    CHECK(members.read_json(nested(Members::kDeepest / each + 1 + each, open, close)) ==
          Members::Misread::kTooDeep);
    CHECK(members.read_json(nested(100'000, open, close)) == Members::Misread::kTooDeep);
  }
  for (const std::string_view none :
       {"", "[]", "1", "{", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":01}", "{\"a\":1,}",
        "{\"a\":\"\n\"}", "{'a':1}", "{\"a\":.5}"}) {
    CAPTURE(none);
    CHECK(members.read_json(none) == Members::Misread::kNoObject);
    CHECK(members.all().empty());
  }
}

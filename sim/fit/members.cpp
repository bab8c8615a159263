// SPDX-License-Identifier: MIT
#include "fit/members.hpp"

#include "fit/formats.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace retrysim::fit {
namespace {

// FNV-1a: the hash of a name goes on from that of the object that it is in.
constexpr std::uint64_t kNoPath = 0xcbf29ce484222325u;

constexpr std::uint64_t path_with(std::uint64_t path, char c) {
  return (path ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
}

std::uint64_t path_with(std::uint64_t path, std::string_view text) {
  for (const char c : text) path = path_with(path, c);
  return path;
}

/// Sums of these do not depend on the order.
std::uint64_t mixed(std::uint64_t path) {
  path ^= path >> 32;
  path *= 0x9e3779b97f4a7c15u;
  return path ^ path >> 29;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The code unit of "\u" and four digits, which are known to be there.
std::uint32_t code_unit(std::string_view text) {
  std::uint32_t code = 0;
  for (std::size_t i = 2; i < 6; ++i) {
    code = code * 16 + static_cast<std::uint32_t>(hex_digit(text[i]));
  }
  return code;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
    }
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

/// Removes the escapes of a valid JSON text. Half of a surrogate pair becomes U+FFFD.
void unescape(std::string_view raw, std::string& text) {
  constexpr std::uint32_t kHigh = 0xd800, kLow = 0xdc00, kBehind = 0xe000, kReplacement = 0xfffd;
  constexpr std::size_t kCode = 6;
  text.clear();
  while (!raw.empty()) {
    const std::size_t plain = std::min(raw.find('\\'), raw.size());
    text += raw.substr(0, plain);
    raw.remove_prefix(plain);
    if (raw.empty()) break;
    if (raw[1] != 'u') {
      constexpr std::string_view kEscapes = "bfnrt", kMeanings = "\b\f\n\r\t";
      const std::size_t at = kEscapes.find(raw[1]);
      text += at == std::string_view::npos ? raw[1] : kMeanings[at];
      raw.remove_prefix(2);
      continue;
    }
    std::uint32_t code = code_unit(raw);
    raw.remove_prefix(kCode);
    if (code >= kHigh && code < kBehind) {
      const bool pair = code < kLow && raw.size() >= kCode && raw.starts_with("\\u");
      const std::uint32_t low = pair ? code_unit(raw) : 0;
      if (low >= kLow && low < kBehind) {
        code = 0x10000 + ((code - kHigh) << 10) + (low - kLow);
        raw.remove_prefix(kCode);
      } else {
        code = kReplacement;
      }
    }
    append_utf8(text, code);
  }
}

}  // namespace

/// A recursive parser of one line.
class Members::Reader {
 public:
  Reader(std::string_view line, Members& members)
      : at_(line.data()), end_(line.data() + line.size()), members_(members) {}

  Misread read() {
    skip_blanks();
    if (at_ == end_ || *at_ != '{') return Misread::kNoObject;
    if (!value(kNoPath, SIZE_MAX, 1).has_value()) {
      return too_deep_ ? Misread::kTooDeep : Misread::kNoObject;
    }
    skip_blanks();
    return at_ == end_ ? Misread::kNone : Misread::kNoObject;
  }

 private:
  struct Text {
    std::string_view raw;
    bool escaped = false;
  };

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  /// Whether none of eight bytes ends a text or is invalid in one.
  static bool are_plain(const char* at) {
    constexpr std::uint64_t kOnes = 0x0101010101010101u, kHighs = 0x8080808080808080u;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    const auto zeros = [](std::uint64_t some) { return (some - kOnes) & ~some & kHighs; };
    const std::uint64_t below_blank = (bytes - kOnes * ' ') & ~bytes & kHighs;
    return (zeros(bytes ^ kOnes * '"') | zeros(bytes ^ kOnes * '\\') | below_blank) == 0;
  }

  /// Reads a text after its opening quote. Empty if it is not a valid text.
  std::optional<Text> text() {
    const char* begin = at_;
    bool escaped = false;
    while (true) {
      while (end_ - at_ >= 8 && are_plain(at_)) at_ += 8;
      if (at_ == end_ || static_cast<unsigned char>(*at_) < ' ') return std::nullopt;
      if (*at_ == '"') break;
      if (*at_++ != '\\') continue;
      escaped = true;
      if (at_ == end_) return std::nullopt;
      const char c = *at_++;
      if (c == 'u') {
        for (int i = 0; i < 4; ++i) {
          if (at_ == end_ || hex_digit(*at_++) < 0) return std::nullopt;
        }
      } else if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
        return std::nullopt;
      }
    }
    const Text text{{begin, static_cast<std::size_t>(at_ - begin)}, escaped};
    ++at_;
    return text;
  }

  bool digits() {
    const char* begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    return true;
  }

  /// Reads a value. The members of an object are added, with `place` as the index of the object
  /// (SIZE_MAX: the line's); arrays are skipped. Empty if there is no valid value.
  std::optional<Member::Kind> value(std::uint64_t path, std::size_t place, std::size_t depth,
                                    bool in_array = false) {
    if (at_ == end_) return std::nullopt;
    switch (*at_) {
      case '{':
        ++at_;
        if (!may_descend(depth) || !object(path, place, depth, in_array)) return std::nullopt;
        return Member::Kind::kObject;
      case '[':
        ++at_;
        if (!may_descend(depth) || !array(depth)) return std::nullopt;
        return Member::Kind::kArray;
      case 't':
        return take("true") ? std::optional(Member::Kind::kOther) : std::nullopt;
      case 'f':
        return take("false") ? std::optional(Member::Kind::kOther) : std::nullopt;
      case 'n':
        return take("null") ? std::optional(Member::Kind::kOther) : std::nullopt;
      case '"': {
        ++at_;
        const std::optional<Text> said = text();
        if (!said) return std::nullopt;
        escaped_ = said->escaped;
        return Member::Kind::kText;
      }
      default:
        return number() ? std::optional(Member::Kind::kNumber) : std::nullopt;
    }
  }

  bool may_descend(std::size_t depth) {
    too_deep_ = too_deep_ || depth > kDeepest;
    return !too_deep_;
  }

  bool object(std::uint64_t path, std::size_t place, std::size_t depth, bool in_array) {
    skip_blanks();
    if (take('}')) return true;
    if (place != SIZE_MAX) path = path_with(path, '.');
    do {
      skip_blanks();
      if (!take('"')) return false;
      const std::optional<Text> name = text();
      if (!name) return false;
      skip_blanks();
      if (!take(':')) return false;
      skip_blanks();
      if (in_array) {
        if (!value(path, place, depth + 1, true)) return false;
      } else if (!member(*name, path, place, depth)) {
        return false;
      }
      skip_blanks();
    } while (take(','));
    return take('}');
  }

  bool member(const Text& name, std::uint64_t path, std::size_t outer, std::size_t depth) {
    const std::size_t place = members_.members_.size();
    if (name.escaped) unescape(name.raw, name_);
    const std::uint64_t own = path_with(path, name.escaped ? name_ : name.raw);
    members_.members_.push_back({name.raw, {}, own, outer, Member::Kind::kOther, false});
    members_.shape_ += mixed(own);
    const char* begin = at_;
    escaped_ = false;
    const std::optional<Member::Kind> kind = value(own, place, depth + 1);
    if (!kind) return false;
    Member& added = members_.members_[place];
    added.kind = *kind;
    if (*kind == Member::Kind::kText || *kind == Member::Kind::kNumber) {
      const std::size_t quote = *kind == Member::Kind::kText ? 1 : 0;
      added.raw_value = {begin + quote, static_cast<std::size_t>(at_ - begin) - 2 * quote};
      added.escaped = escaped_;
    }
    return true;
  }

  bool array(std::size_t depth) {
    skip_blanks();
    if (take(']')) return true;
    do {
      skip_blanks();
      if (!value(0, SIZE_MAX, depth + 1, true)) return false;
      skip_blanks();
    } while (take(','));
    return take(']');
  }

  const char *at_, *end_;
  Members& members_;
  bool escaped_ = false;  // whether the last text had escapes
  bool too_deep_ = false;
  std::string name_;
};

Members::Misread Members::read_json(std::string_view line) {
  members_.clear();
  used_ = 0;
  shape_ = 0;
  const Misread misread = Reader(line, *this).read();
  if (misread != Misread::kNone) members_.clear();
  return misread;
}

void Members::read_logfmt(std::string_view line) {
  members_.clear();
  used_ = 0;
  shape_ = 0;
  split_logfmt(line, [&](std::string_view name, std::string_view value) {
    members_.push_back({name, value, path_of(name), SIZE_MAX, Member::Kind::kText, false});
    shape_ += mixed(members_.back().path);
  });
}

std::string Members::name(const Member& member) const {
  std::string own;
  if (member.raw_name.find('\\') == std::string_view::npos) {
    own = member.raw_name;
  } else {
    unescape(member.raw_name, own);
  }
  return member.is_of_line() ? own : name(members_[member.outer]) + "." + own;
}

std::string_view Members::text(const Member& member) {
  if (!member.escaped) return member.raw_value;
  if (used_ == texts_.size()) texts_.emplace_back();
  unescape(member.raw_value, texts_[used_]);
  return texts_[used_++];
}

std::uint64_t Members::path_of(std::string_view name) { return path_with(kNoPath, name); }

}  // namespace retrysim::fit

// SPDX-License-Identifier: MIT
#include "fit/wrappers.hpp"

#include "fit/members.hpp"
#include "fit/values.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace retrysim::fit {
namespace {

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// An ISO 8601 time with a T at the beginning, and a blank behind it.
std::string_view time_in_front(std::string_view line) {
  constexpr std::size_t kShortest = 20, kLongest = 40, kT = 10;
  if (line.size() < kShortest || line[kT] != 'T') return "";
  const std::string_view time = line.substr(0, std::min(line.find(' '), kLongest));
  return time.size() < line.size() && parse_log_time(time) ? time : "";
}

/// The value of the first of several names that a JSON object has: a text, or also a number if
/// `numbers` is true. Empty if it has none of them.
std::optional<std::string_view> member_of(Members& members, std::span<const std::string_view> names,
                                          bool numbers) {
  const Member* best = nullptr;
  std::size_t rank = names.size();
  for (const Member& member : members.all()) {
    if (!member.is_of_line() || !(member.kind == Member::Kind::kText ||
                                  (numbers && member.kind == Member::Kind::kNumber))) {
      continue;
    }
    const auto at =
        static_cast<std::size_t>(std::ranges::find(names, member.raw_name) - names.begin());
    if (at < rank) rank = at, best = &member;
  }
  return best == nullptr ? std::nullopt : std::optional(members.text(*best));
}

/// The length of "<30>Jun  1 00:00:00 host nginx[12]: ", or 0.
std::size_t size_of_syslog(std::string_view line, std::string_view& time) {
  constexpr std::size_t kLongest = 200;
  const std::string_view head = line.substr(0, kLongest);
  std::size_t at = 0;
  bool is_numbered = false;
  if (head.starts_with('<')) {
    at = head.find('>');
    if (at == std::string_view::npos || at > 4) return 0;
    ++at;
    is_numbered = head.substr(at).starts_with("1 ");
    if (is_numbered) at += 2;
  }
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::size_t kDate = 16;  // "Jun  1 00:00:00 "
  const std::string_view rest = head.substr(at);
  std::string_view iso;
  if (rest.size() > kDate && kMonths.find(rest.substr(0, 3)) < kMonths.size() && rest[3] == ' ' &&
      rest[9] == ':' && rest[12] == ':' && rest[15] == ' ') {
    at += kDate;
  } else if (iso = time_in_front(rest); !iso.empty()) {
    at += iso.size() + 1;
  } else {
    return 0;
  }
  time = iso;
  const std::size_t host = head.find(' ', at);
  if (host == std::string_view::npos) return 0;
  std::size_t tag = host + 1;
  while (tag < head.size() && (is_of_word(head[tag]) || head[tag] == '/')) ++tag;
  if (tag == host + 1 || tag >= head.size()) return 0;
  if (is_numbered) {
    // RFC 5424: "HOST APP PROCESS MESSAGE-ID -", or data in brackets.
    std::size_t data = host + 1;
    for (int i = 0; i < 3 && data != 0; ++i) data = head.find(' ', data) + 1;
    if (data != 0 && head.substr(data).starts_with("- ")) return data + 2;
    if (data != 0 && head.substr(data).starts_with("[")) {
      const std::size_t close = line.find("] ", data);
      if (close != std::string_view::npos) return close + 2;
    }
  }
  if (head[tag] == '[') {
    tag = head.find(']', tag);
    if (tag == std::string_view::npos) return 0;
    ++tag;
  }
  return head.substr(tag).starts_with(": ") ? tag + 2 : 0;
}

}  // namespace

bool Wrapping::take_off(Layer layer, Unwrapped& said, Members& members) {
  std::string_view line = said.line;
  switch (layer) {
    case Layer::kDocker:
    case Layer::kMessage: {
      static constexpr std::string_view kLog[] = {"log"},
                                        kMessages[] = {"message", "log", "MESSAGE", "line"},
                                        kTime[] = {"time"},
                                        kTimes[] = {"@timestamp", "timestamp", "time",
                                                    "__REALTIME_TIMESTAMP"};
      const bool docker = layer == Layer::kDocker;
      if (!line.starts_with('{')) return false;
      if (docker && line.find("\"stream\"") == std::string_view::npos) return false;
      if (members.read_json(line) != Members::Misread::kNone) return false;
      const auto one_of = [&](auto& names, bool numbers) {
        return member_of(members, names, numbers);
      };
      std::optional<std::string_view> inner =
          docker ? one_of(kLog, false) : one_of(kMessages, false);
      if (!inner) return false;
      while (inner->ends_with('\n') || inner->ends_with('\r')) inner->remove_suffix(1);
      said.line = *inner;
      const std::optional<std::string_view> time =
          docker ? one_of(kTime, true) : one_of(kTimes, true);
      if (time && !time->empty()) said.time = *time;
      return true;
    }
    case Layer::kCri: {
      const std::string_view time = time_in_front(line);
      if (time.empty()) return false;
      line.remove_prefix(time.size() + 1);
      if (!line.starts_with("stdout ") && !line.starts_with("stderr ")) return false;
      line.remove_prefix(7);
      if (!line.starts_with("F ") && !line.starts_with("P ")) return false;
      said.is_whole &= line.starts_with('F');
      said.line = line.substr(2);
      said.time = time;
      return true;
    }
    case Layer::kTimes: {
      const std::string_view time = time_in_front(line);
      if (time.empty()) return false;
      said.line = line.substr(time.size() + 1);
      said.time = time;
      return true;
    }
    case Layer::kCompose: {
      // "web-1  | ..." of compose, "[pod/web-7d9/nginx] ..." of kubectl.
      std::size_t size = 0;
      std::string_view name;
      if (line.starts_with("[pod/")) {
        size = line.find("] ");
        if (size == std::string_view::npos) return false;
        name = line.substr(1, size - 1);
        name.remove_prefix(name.rfind('/') + 1);
        size += 2;
      } else {
        while (size < line.size() && is_of_word(line[size])) ++size;
        name = line.substr(0, size);
        if (name.empty()) return false;
        while (size < line.size() && line[size] == ' ') ++size;
        if (!line.substr(size).starts_with("| ")) return false;
        size += 2;
        // The number of the replica.
        std::size_t stem = name.size();
        while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9') --stem;
        if (stem > 1 && stem < name.size() && (name[stem - 1] == '_' || name[stem - 1] == '-')) {
          name = name.substr(0, stem - 1);
        }
      }
      said.line = line.substr(size);
      said.service = name;
      return true;
    }
    case Layer::kSyslog: {
      std::string_view time;
      const std::size_t size = size_of_syslog(line, time);
      if (size == 0) return false;
      said.line = line.substr(size);
      while (said.line.starts_with(' ')) said.line.remove_prefix(1);
      if (!time.empty()) said.time = time;
      return true;
    }
  }
  return false;
}

Wrapping Wrapping::of(std::span<const std::string_view> lines,
                      const std::function<bool(std::string_view)>& is_known) {
  constexpr std::size_t kMaxLayers = 3;
  constexpr Layer kLayers[] = {Layer::kDocker, Layer::kCri,   Layer::kCompose,
                               Layer::kSyslog, Layer::kTimes, Layer::kMessage};
  Wrapping all;
  std::vector<std::string> inside(lines.begin(), lines.end());
  while (all.layers_.size() < kMaxLayers) {
    const auto more = [&](Layer layer) {
      std::size_t count = 0, known = 0;
      std::vector<std::string> next;
      for (const std::string& line : inside) {
        Unwrapped said;
        said.line = line;
        Members members;
        if (take_off(layer, said, members)) {
          ++count;
          known += layer == Layer::kMessage && is_known(said.line) ? 1 : 0;
        }
        next.emplace_back(said.line);
      }
      if (count == 0 || 2 * count < inside.size()) return false;
      if (layer == Layer::kMessage && known == 0) return false;
      inside = std::move(next);
      all.layers_.push_back(layer);
      return true;
    };
    if (std::ranges::none_of(kLayers, more)) break;
  }
  all.members_.resize(all.layers_.size());
  return all;
}

std::string Wrapping::words() const {
  constexpr std::string_view kWords[] = {"docker",     "CRI",    "compose",
                                         "with times", "syslog", "in JSON"};
  std::string words;
  for (const Layer layer : layers_) {
    if (!words.empty()) words += ", ";
    words += kWords[static_cast<std::size_t>(layer)];
  }
  return words;
}

Unwrapped Wrapping::unwrap(std::string_view line) {
  Unwrapped said;
  said.line = line;
  for (std::size_t i = 0; i < layers_.size(); ++i) take_off(layers_[i], said, members_[i]);
  return said;
}

}  // namespace retrysim::fit

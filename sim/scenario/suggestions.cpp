// Edit distance with neighbour swaps (optimal string alignment), three rows of the table at a time.
//
// SPDX-License-Identifier: MIT
#include "scenario/suggestions.hpp"

#include <retrysim/presets.hpp>

#include <algorithm>
#include <utility>

namespace retrysim::scenario {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr std::size_t kLongest = 64;  // nothing known is longer, so nothing longer is near
  if (name.size() > kLongest) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    // Something must be left of the word, or "x" would be near to every short name.
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string result;
  for (const std::string_view word : words) {
    if (!result.empty()) result += ", ";
    result += word;
  }
  return result;
}

std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string joined_first(const std::vector<std::string_view>& words) {
  // A long list (thousands of client groups, say) helps nobody.
  constexpr std::size_t kMost = 10;
  if (words.size() <= kMost) return joined(words);
  return joined({words.begin(), words.begin() + kMost}) + ", ... and " +
         grouped(words.size() - kMost) + " more";
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& known,
                       std::string_view prefix) {
  const std::string_view near = nearest(name, known);
  if (!near.empty()) return "did you mean \"" + std::string(near) + "\"?";
  return std::string(prefix) + ": " + joined_first(known);
}

std::string_view predecessor(std::string_view sdk) {
  sdk = canonical_sdk(sdk);
  if (sdk == "js-v3") return "js-v2";
  if (sdk == "java-v2") return "java-v1";
  if (sdk == "go-v2") return "go-v1";
  return {};
}

std::string presets_for(std::string_view api) {
  std::string list, last;
  for (const Preset& preset : presets()) {
    if (preset.api != api) continue;
    std::string kind(preset.mode);
    if (!preset.revision.empty()) kind.append(" ").append(preset.revision);
    const bool same = kind == last;
    if (!same) list += (list.empty() ? "" : "; ") + kind;
    if (!preset.sdk.empty()) list.append(same ? ", " : ": ").append(preset.sdk);
    last = kind;
  }
  return list;
}

}  // namespace retrysim::scenario

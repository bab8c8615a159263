// Answers in few words, short enough for pictures.
//
// SPDX-License-Identifier: MIT
#include "explain/rules.hpp"
#include "scenario/text/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace retrysim::explain {

namespace {

/// The short words for a rule's answers. A name in braces is a figure of the evidence; {what} is
/// the disturbance, {it} the pronoun for it.
struct Fate {
  std::string_view rule, words;
};
constexpr std::array kFates{
    Fate{"never-recovers", "{success_during_share} succeed during {what}, never back"},
    Fate{"too-short-to-tell",
         "{success_during_share} succeed during {what}, not back when the run ends"},
    Fate{
        "sometimes-recovers",
        "{success_during_share} succeed during {what}, back in {recovered} of {replications} runs"},
    Fate{"down-between", "{success_during_share} succeed during {what}, not back between them"},
    Fate{"still-on", "{success_during_share} succeed during {what}, which lasts to the end"},
    Fate{"too-few-to-tell", "{success_during_share} succeed during {what}"},
    Fate{"unaffected", "unaffected"},
    Fate{"only-slower", "{success_during_share} succeed during {what}, more slowly"},
    Fate{"degraded", "{success_during_share} succeed during {what}, back at once after {it}"},
    Fate{"back-at-once", "{success_during_share} succeed during {what}, back at once after {it}"},
    Fate{"recovers",
         "{success_during_share} succeed during {what}, back {recovery_mean_s} after {it}"},
    Fate{"recovers-late",
         "{success_during_share} succeed during {what}, back {recovery_mean_s} after {it}"},
};

std::optional<std::string> figure(const GroupCase& c, const Verdict& answer,
                                  std::string_view name) {
  if (name == "what") return its_name(c).text();
  if (name == "it") return c.disturbances.count > 1 ? "them" : "it";
  const auto found = std::ranges::find(answer.evidence, name, &EvidenceFigure::name);
  if (found == answer.evidence.end()) return std::nullopt;
  if (name.ends_with("_share")) return scenario::said_share(found->value);
  if (name.ends_with("_s")) return scenario::said_time(found->value, 2);
  return scenario::said_count(found->value);
}

/// `words` with its figures filled in; empty if one is missing.
std::optional<std::string> filled_in(const GroupCase& c, const Verdict& answer,
                                     std::string_view words) {
  std::string result;
  while (!words.empty()) {
    const std::size_t begin = std::min(words.find('{'), words.size());
    result += words.substr(0, begin);
    words.remove_prefix(begin);
    if (words.empty()) break;
    const std::size_t end = words.find('}');
    const auto value = figure(c, answer, words.substr(1, end - 1));
    if (!value) return std::nullopt;
    result += *value;
    words.remove_prefix(end + 1);
  }
  return result;
}

/// The part of a sentence before the reasons.
std::string heart_of(const std::string& sentence) {
  std::size_t end = sentence.size();
  for (const std::string_view mark : {": ", "; ", " (", ", with "}) {
    end = std::min(end, sentence.find(mark));
  }
  return sentence.substr(0, end);
}

}  // namespace

std::string fate_of(const GroupCase& c, const Verdict& answer) {
  const auto fate = std::ranges::find(kFates, answer.rule, &Fate::rule);
  if (c.disturbed() && fate != kFates.end()) {
    if (const auto words = filled_in(c, answer, fate->words)) return *words;
  }
  return heart_of(answer.sentence);
}

}  // namespace retrysim::explain

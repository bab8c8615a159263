// SPDX-License-Identifier: MIT
#include "report/page/said.hpp"

#include "report/pictures/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

Json said(std::string_view severity, std::string text, std::string_view who = "",
          bool is_minor = false) {
  Json sentence = {{"severity", severity}, {"text", std::move(text)}};
  if (!who.empty()) sentence["who"] = who;
  if (is_minor) sentence["minor"] = true;
  return sentence;
}

// One sentence about several groups or variants: equal fates are told once.

/// The fate of a client group or variant.
struct Fate {
  std::string name, severity;
  std::string sentence;  ///< the whole verdict
  std::string words;     ///< the main words of the verdict
};

/// The part of a sentence before its reasons.
std::string heart_of(std::string_view sentence) {
  std::size_t end = sentence.size();
  for (const std::string_view reason : {": ", "; ", " (", ", with "}) {
    end = std::min(end, sentence.find(reason));
  }
  return std::string(sentence.substr(0, end));
}

Fate fate_of(std::string name, const Json& verdict) {
  const std::string sentence = verdict.at("sentence");
  const std::string fate = verdict.value("fate", std::string());
  return {std::move(name), verdict.at("severity"), sentence,
          fate.empty() ? heart_of(sentence) : fate};
}

struct UnitOfFigure {
  std::string_view name;
  double size;
};
constexpr std::array<UnitOfFigure, 7> kUnitsOfFigures = {{{"ns", 1e-9},
                                                          {"µs", 1e-6},
                                                          {"ms", 1e-3},
                                                          {"s", 1},
                                                          {"minutes", 60},
                                                          {"hours", 3600},
                                                          {"%", 1}}};

/// Words with the figures between them: "back ", "5.6 s", " after the fault".
struct Figured {
  std::vector<std::string> words = {""}, figures = {};
  std::vector<double> sizes = {};
};

Figured figured(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  Figured all;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_of(kDigits), text.size());
    all.words.back() += text.substr(0, begin);
    text.remove_prefix(begin);
    if (text.empty()) break;
    std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    double size = 0;
    std::from_chars(text.data(), text.data() + end, size);
    for (const auto& [name, factor] : kUnitsOfFigures) {
      const std::string_view rest = text.substr(end);
      if (!rest.starts_with(' ') || !rest.substr(1).starts_with(name)) continue;
      const std::size_t behind = 1 + name.size();
      if (behind < rest.size() && rest[behind] >= 'a' && rest[behind] <= 'z') continue;
      size *= factor;
      end += behind;
      break;
    }
    all.figures.emplace_back(text.substr(0, end));
    all.sizes.push_back(size);
    all.words.emplace_back();
    text.remove_prefix(end);
  }
  return all;
}

/// Groups whose fates have the same words, whatever the figures are.
struct SameFate {
  std::string severity;
  std::vector<std::string> names;
  std::vector<Figured> told;

  /// The fates in words: "back 5.6 s to 88 s after the fault".
  std::string text() const {
    std::string text = told.front().words.front();
    for (std::size_t i = 0; i < told.front().figures.size(); ++i) {
      const auto is_smaller = [&](const Figured& a, const Figured& b) {
        return a.sizes[i] < b.sizes[i];
      };
      const auto [least, most] = std::minmax_element(told.begin(), told.end(), is_smaller);
      text += least->figures[i];
      if (most->figures[i] != least->figures[i]) text += " to " + most->figures[i];
      text += told.front().words[i + 1];
    }
    return text;
  }

  /// The names: "web, batch"; of more than a few "web, batch, cron, 12 more".
  std::string who() const {
    constexpr std::size_t kMax = 4;
    if (names.size() <= kMax) return fmt::format("{}", fmt::join(names, ", "));
    const auto last = names.begin() + static_cast<std::ptrdiff_t>(kMax - 1);
    return fmt::format("{}, {} more", fmt::join(names.begin(), last, ", "),
                       names.size() - (kMax - 1));
  }
};

/// The headline of several fates, the worst first; for a single fate its whole sentence.
Json headline_of_fates(const std::vector<Fate>& fates) {
  if (fates.size() == 1) return said(fates.front().severity, fates.front().sentence);
  std::vector<SameFate> all;
  for (const Fate& fate : fates) {
    Figured own = figured(fate.words);
    auto same = std::find_if(all.begin(), all.end(), [&](const SameFate& one) {
      return one.told.front().words == own.words;
    });
    if (same == all.end()) same = all.insert(all.end(), SameFate{fate.severity, {}, {}});
    same->told.push_back(std::move(own));
    if (std::find(same->names.begin(), same->names.end(), fate.name) == same->names.end()) {
      same->names.push_back(fate.name);
    }
  }
  const auto worth = [](const SameFate& fate) {
    return fate.severity == "good" ? 2 : fate.severity == "info" ? 1 : 0;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const SameFate& a, const SameFate& b) { return worth(a) < worth(b); });
  Json headline = {{"severity", all.front().severity}, {"fates", Json::array()}};
  for (const SameFate& fate : all) {
    headline["fates"].push_back({{"who", fate.who()}, {"text", fate.text()}});
  }
  return headline;
}

/// The sentences of a comparison on each difference.
std::vector<std::string> sentences_of(const Json& comparison) {
  std::vector<std::string> texts;
  for (const Json& one : comparison.value("sentences", Json::array())) {
    texts.push_back(one.is_string() ? one.get<std::string>()
                                    : one.at("sentence").get<std::string>());
  }
  return texts;
}

/// The first sentences on a comparison: the fates of the variants if they differ, else the most
/// important difference.
Json of_comparison(const Json& result) {
  std::set<std::string> own;  // groups that send requests of their own
  const Json variants = result.value("variants", Json::array());
  if (!variants.empty()) {
    for (const Json& client : variants.front().value("clients", Json::array())) {
      own.insert(client.at("name"));
    }
  }
  std::set<std::pair<std::string, std::string>> told, fates;
  std::set<std::string> clients;
  std::vector<std::pair<std::string, Fate>> rows;  // variants and fates, by client
  for (const Json& verdict : result.value("verdicts", Json::array())) {
    const std::string variant = verdict.at("variant"), client = verdict.at("client");
    if (!told.insert({variant, client}).second || !own.contains(client)) continue;
    rows.emplace_back(client, fate_of(variant, verdict));
    fates.insert({client, rows.back().second.words});
    clients.insert(client);
  }
  const std::vector<std::string> texts = sentences_of(result.at("comparison"));
  Json sentences = Json::array();
  for (const std::string& text : texts) sentences.push_back(said("info", text));
  if (texts.empty()) {
    sentences.push_back(said("info", "No difference between the variants is significant."));
  }
  Json headline = sentences.front();
  if (rows.size() == 1 || fates.size() > clients.size()) {
    std::vector<Fate> all;
    for (auto& [client, fate] : rows) {
      if (clients.size() > 1) fate.name += fmt::format(" ({})", client);
      all.push_back(std::move(fate));
    }
    headline = headline_of_fates(all);
  } else if (!texts.empty()) {
    const auto main = std::find_if(texts.begin(), texts.end(), [](const std::string& text) {
      return text.find("success rate by") != text.npos;
    });
    const std::string& text = main == texts.end() ? texts.front() : *main;
    const std::size_t end = text.find("). ");  // end of its first sentence
    headline = said("info", end == text.npos ? text : text.substr(0, end + 1));
  }
  return {{"headline", std::move(headline)}, {"sentences", std::move(sentences)}};
}

/// The first sentences of a result: the first one is the answer, the others explain it.
Json first_of(std::string_view severity, const Json& sentences) {
  Json all = Json::array();
  for (const Json& text : sentences) {
    all.push_back(all.empty() ? said(severity, text) : said("info", text, "", true));
  }
  return all;
}

Json of_tip(const Json& result) {
  const std::string outcome = result.at("outcome");
  const std::string_view severity = outcome == "found"                    ? "info"
                                    : outcome == "recovers_at_last_value" ? "good"
                                                                          : "bad";
  Json all = Json::array();
  for (const Json& text : result.value("sentences", Json::array())) {
    all.push_back(said(severity, text, "", !all.empty()));
  }
  return all;
}

/// The first sentences on a curve: one for each line, which begins with the line's name.
Json of_curve(const Json& curve) {
  const std::string severity = curve.at("found") > 0 ? "info" : "good";
  Json all = Json::array();
  std::vector<Fate> fates;
  for (std::size_t i = 0; i < curve.at("sentences").size(); ++i) {
    const std::string text = curve["sentences"][i], line = curve.at("lines").at(i);
    constexpr std::size_t kColon = 2;
    const std::string of_line = line.empty() ? text : text.substr(line.size() + kColon);
    all.push_back(said(severity, of_line, line));
    fates.push_back({line, severity, text, heart_of(of_line)});
  }
  if (fates.empty()) return {{"sentences", std::move(all)}};
  return {{"headline", headline_of_fates(fates)}, {"sentences", std::move(all)}};
}

std::string with_interval(const Json& figure, const std::string& unit) {
  std::string text = picture_quantity(figure.at("mean"), unit);
  if (!figure.at("ci_low").is_number() || !figure.at("ci_high").is_number()) return text;
  const std::string range = picture_range(figure["ci_low"], figure["ci_high"], unit);
  return range.empty() ? text : fmt::format("{} ({})", text, range);
}

Json of_hysteresis(const Json& result) {
  const Json& load = result.at("load");
  const std::string path = load.at("path"), unit = load.at("unit");
  const Json tip = result.value("tip_load", Json()), back = result.value("recover_load", Json());
  if (tip.is_null()) {
    const std::vector<double> loads = load.at("values");
    const double highest = *std::max_element(loads.begin(), loads.end());
    const std::string most = picture_quantity(highest, unit);
    return Json::array({said("good", fmt::format("Nothing tips up to {} = {}.", path, most))});
  }
  const std::string ends = back.is_null()
                               ? "coming back, it never recovers"
                               : "coming back, it recovers at " + with_interval(back, unit);
  return Json::array({said("bad", fmt::format("Going up, it tips at {} = {}; {}.", path,
                                              with_interval(tip, unit), ends))});
}

std::string_view severity_of(std::string_view phase) {
  return phase == "safe" ? "good" : phase == "vulnerable" ? "info" : "bad";
}

/// The first sentences on a map: how many points are in each phase.
Json of_map(const PictureTables& tables) {
  const PictureRows points(tables("map.csv"));
  const std::string all = counted(points.size(), "point");
  Json sentences = Json::array();
  std::vector<std::string> counts;
  bool is_safe = true;
  for (const auto& [phase, words] : kPhaseWords) {
    std::size_t count = 0;
    for (std::size_t row = 0; row < points.size(); ++row) {
      count += points.text(row, "phase") == phase;
    }
    if (count == 0) continue;
    is_safe = is_safe && phase == "safe";
    const std::string_view verb = !counts.empty() ? "" : count == 1 ? "is " : "are ";
    counts.push_back(fmt::format("{} {}{}", count, verb, phase));
    sentences.push_back(
        said(severity_of(phase), fmt::format("{} of {}: {}", count, all, words), phase));
  }
  return {{"headline",
           said(is_safe ? "good" : "bad", fmt::format("Of {}, {}", all, fmt::join(counts, ", ")))},
          {"sentences", std::move(sentences)}};
}

/// The first sentences on a prediction: a phase is the answer; warnings limit it.
Json of_prediction(const Json& prediction) {
  Json all = Json::array();
  for (const Json& figure : prediction.at("figures")) {
    if (figure.at("name") != "phase") continue;
    const std::string phase = figure.at("value"), subject = figure.at("subject");
    const auto known = std::find_if(kPhaseWords.begin(), kPhaseWords.end(),
                                    [&](const auto& one) { return one.first == phase; });
    const std::string words = known != kPhaseWords.end() ? std::string(known->second)
                                                         : figure.at("meaning").get<std::string>();
    all.push_back(said(severity_of(phase), fmt::format("{}: {}", phase, words),
                       std::string_view(subject).substr(subject.find('.') + 1)));
  }
  if (all.empty()) {
    all.push_back(said("info", "theory gives no phase for this scenario; the reason is below"));
  }
  for (const Json& warning : prediction.at("warnings")) {
    const auto text = [&](const char* name) { return warning.at(name).get<std::string>(); };
    all.push_back(said("bad",
                       fmt::format("{} {} ({})", text("message"), text("remedy"), text("keys")),
                       text("subject")));
  }
  return all;
}

/// The headline of a fit: whether it is any good; if that could not be tested, the first sentence
/// on the log.
Json headline_of_fit(const Json& result) {
  if (!result.contains("backtest")) return said("info", result.at("sentences").at(0));
  const Json& test = result.at("backtest");
  const Json& figures = test.at("figures");
  const bool is_met = std::none_of(figures.begin(), figures.end(), [](const Json& figure) {
    return figure.at("part") == "all" && figure.at("agreement") == "off";
  });
  return said(is_met ? "good" : "bad", test.at("verdict").at(0));
}

}  // namespace

Json said_of(const Json& result, const PictureTables& tables) {
  if (result.contains("map")) return of_map(tables);
  if (result.contains("curve")) return of_curve(result.at("curve"));
  if (result.at("command") == "fit") {
    return {{"headline", headline_of_fit(result)},
            {"sentences", first_of("info", result.at("sentences"))}};
  }
  Json sentences;
  if (result.contains("choice")) {
    const Json& choice = result.at("choice");
    sentences = first_of(choice.at("outcome") == "chosen" ? "good" : "bad",
                         choice.value("sentences", Json::array()));
  } else if (result.contains("advice")) {
    const Json& advice = result.at("advice");
    sentences = first_of(advice.at("outcome") == "helps" ? "good" : "info", advice.at("sentences"));
  } else if (result.contains("uncertain")) {
    const Json& answer = result.at("uncertain");
    sentences = first_of(answer.at("good") == answer.at("judged") ? "good" : "info",
                         result.at("sentences"));
  } else if (result.contains("uncertain_variants")) {
    sentences = first_of("info", result.at("sentences"));
  } else if (result.contains("frontier")) {
    const bool is_bad = result.at("frontier").at("is_safe") == false;
    sentences = first_of(is_bad ? "bad" : "good", result.at("sentences"));
  } else if (result.contains("size")) {
    const bool is_bad = result.at("size").at("is_safe") == false;
    sentences = first_of(is_bad ? "bad" : "good", result.at("sentences"));
  } else if (result.contains("risk")) {
    sentences = first_of("info", result.at("sentences"));
  } else if (result.contains("prediction")) {
    sentences = of_prediction(result.at("prediction"));
  } else if (result.contains("trigger")) {
    sentences = of_tip(result);
  } else if (result.contains("load")) {
    sentences = of_hysteresis(result);
  } else if (result.contains("comparison")) {
    return of_comparison(result);
  } else {
    return {};
  }
  Json all = Json::object();
  if (!sentences.empty()) all["headline"] = sentences.front();
  all["sentences"] = std::move(sentences);
  return all;
}

Json headline_of_run(std::span<const Json* const> verdicts, std::span<const std::string> told,
                     const Json& answer) {
  // In a graph, the answer is the line that names the cause, if there is one for all.
  std::vector<const Json*> of_all;
  std::copy_if(verdicts.begin(), verdicts.end(), std::back_inserter(of_all),
               [](const Json* verdict) { return verdict->at("client") == "all"; });
  const auto as_it_is = [](const Json& one) {
    return said(one.at("severity").get<std::string>(), one.at("sentence"));
  };
  if (of_all.size() == 1) return as_it_is(*of_all.front());
  std::vector<Fate> fates;
  for (const std::string& client : told) {
    const auto first = std::find_if(verdicts.begin(), verdicts.end(), [&](const Json* verdict) {
      return verdict->at("client") == client;
    });
    if (first != verdicts.end()) fates.push_back(fate_of(client, **first));
  }
  if (!fates.empty()) return headline_of_fates(fates);
  for (const char* part : {"first", "blocks", "common"}) {
    if (!answer.at(part).empty()) return as_it_is(answer.at(part).front());
  }
  return {};
}

}  // namespace retrysim::report

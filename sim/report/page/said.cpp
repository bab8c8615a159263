// SPDX-License-Identifier: MIT
#include "report/page/said.hpp"

#include "report/pictures/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
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

/// The first of the sentences is the answer; the others explain it.
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

/// A sentence for each line of the curve, which begins with its name.
Json of_curve(const Json& curve) {
  const std::string_view severity = curve.at("found") > 0 ? "info" : "good";
  Json all = Json::array();
  for (std::size_t i = 0; i < curve.at("sentences").size(); ++i) {
    const std::string text = curve["sentences"][i], line = curve.at("lines").at(i);
    constexpr std::size_t kColon = 2;
    all.push_back(said(severity, line.empty() ? text : text.substr(line.size() + kColon), line));
  }
  return all;
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

/// How many points of the map are in each phase.
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

/// A phase is the answer; warnings limit it.
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

/// Whether the fit is any good; where that could not be tested, what the log says first.
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
  } else if (result.contains("prediction")) {
    sentences = of_prediction(result.at("prediction"));
  } else if (result.contains("curve")) {
    sentences = of_curve(result.at("curve"));
  } else if (result.contains("trigger")) {
    sentences = of_tip(result);
  } else if (result.contains("load")) {
    sentences = of_hysteresis(result);
  } else {
    return {};
  }
  return {{"sentences", std::move(sentences)}};
}

}  // namespace retrysim::report

// SPDX-License-Identifier: MIT
#include "report/pictures/draft.hpp"

#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>

namespace retrysim::report {

// --- Tables --------------------------------------------------------------------------------------

std::string PictureRows::text(std::size_t row, std::string_view column) const {
  const Column* const found = find(column);
  return found == nullptr ? std::string() : text_at(*found, row);
}

std::optional<double> PictureRows::number(std::size_t row, std::string_view column) const {
  const Column* const found = find(column);
  return found == nullptr ? std::nullopt : number_at(*found, row);
}

std::vector<std::string> PictureRows::values(std::string_view column) const {
  std::vector<std::string> found;
  std::set<std::string> known;
  StopCounter<1024> stop;
  for (std::size_t row = 0; row < size(); ++row) {
    stop.count();
    const auto [value, is_new] = known.insert(text(row, column));
    if (is_new) found.push_back(*value);
  }
  return found;
}

const std::map<PictureRows::Texts, std::vector<std::size_t>>& PictureRows::by(
    const Texts& columns) const {
  const auto [found, is_new] = rows_by_.try_emplace(columns);
  if (!is_new) return found->second;
  StopCounter<1024> stop;
  for (std::size_t row = 0; row < size(); ++row) {
    stop.count();
    Texts cells;
    for (const std::string& column : columns) cells.push_back(text(row, column));
    found->second[std::move(cells)].push_back(row);
  }
  return found->second;
}

std::vector<std::size_t> PictureRows::having(const PictureJson& where) const {
  Texts columns, texts;
  std::vector<std::pair<std::string, std::set<std::string>>> any_of;
  for (const auto& [column, wanted] : where.items()) {
    if (wanted.is_string()) {
      columns.push_back(column);
      texts.push_back(wanted);
      continue;
    }
    any_of.emplace_back(column, std::set<std::string>());  // no row has what is no text
    if (!wanted.is_array()) continue;
    for (const PictureJson& text : wanted) {
      if (text.is_string()) any_of.back().second.insert(text.get<std::string>());
    }
  }
  const auto& rows = by(columns);
  const auto found = rows.find(texts);
  if (found == rows.end()) return {};
  std::vector<std::size_t> chosen = found->second;
  std::erase_if(chosen, [&](std::size_t row) {
    return std::ranges::any_of(
        any_of, [&](const auto& c) { return !c.second.contains(text(row, c.first)); });
  });
  return chosen;
}

const PictureRows& PictureResult::table(const std::string& name) const {
  const auto known = read_.find(name);
  return known != read_.end() ? known->second
                              : read_.emplace(name, PictureRows(tables_(name))).first->second;
}

// --- Numbers as texts ----------------------------------------------------------------------------

std::string picture_digits(double value, int significant) {
  constexpr double kBillion = 1e9, kTrillion = 1e12, kSmall = 1e-4, kNothing = 1e-12;
  constexpr int kMaxDecimals = 8, kDecimalsOfSmall = 14;
  if (!std::isfinite(value)) return "–";
  const double size = std::fabs(value);
  if (size < kNothing) return "0";
  if (size >= kTrillion) return picture_digits(value / kTrillion, significant) + " trillion";
  if (size >= kBillion) return picture_digits(value / kBillion, significant) + " billion";
  const int decimals = significant - 1 - static_cast<int>(std::floor(std::log10(size)));
  return scenario::said_decimals(
      value, std::clamp(decimals, 0, size < kSmall ? kDecimalsOfSmall : kMaxDecimals));
}

std::string picture_seconds(double value, int significant) {
  constexpr double kNearlyOne = 0.9995, kTwoHours = 7200, kHour = 3600;
  const double size = std::fabs(value);
  const auto in = [&](double scale, std::string_view unit) {
    return fmt::format("{} {}", picture_digits(value * scale, significant), unit);
  };
  if (size == 0) return "0 s";
  if (size < kNearlyOne * 1e-3) return in(1e6, "µs");
  if (size < kNearlyOne) return in(1e3, "ms");
  return size >= kTwoHours ? in(1 / kHour, "h") : in(1, "s");
}

std::string picture_quantity(double value, std::string_view unit, bool is_share, int significant) {
  constexpr double kNearlyAll = 0.9995;
  if (is_share && value < 1 && value > kNearlyAll) {  // a share below all is not shown as all
    return fmt::format("{:.3f} %", std::floor(value * 1e5) / 1e3);
  }
  if (is_share) return picture_digits(100 * value, significant) + " %";
  if (unit == "s") return picture_seconds(value, significant);
  const std::string text = picture_digits(value, significant);
  if (unit == "1/s") return text + " /s";
  return unit == "1" || unit.empty() ? text : fmt::format("{} {}", text, unit);
}

std::string picture_range(double low, double high, std::string_view unit, bool is_share) {
  constexpr std::array kDigits = {3, 4, 5};
  for (const int digits : kDigits) {
    const std::string a = picture_quantity(low, unit, is_share, digits);
    const std::string b = picture_quantity(high, unit, is_share, digits);
    if (a == b) continue;
    const auto blank = [](const std::string& text) {
      return std::min(text.find(' '), text.size());
    };
    const bool same = low == 0 || a.substr(blank(a)) == b.substr(blank(b));
    return fmt::format("{} to {}", same ? a.substr(0, blank(a)) : a, b);
  }
  return "";
}

std::string counted(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", picture_digits(static_cast<double>(count), 6), one,
                     count == 1 ? "" : "s");
}

std::string unit_words(std::string_view unit, bool is_share) {
  if (is_share || unit == "1" || unit.empty()) return "";
  if (unit == "1/s") return "per second";
  return unit == "s" ? "seconds" : std::string(unit);
}

std::string as_title(std::string label) {
  const auto is = [&](std::size_t i, char low, char high) {
    return label.size() > i && label[i] >= low && label[i] <= high;
  };
  if (is(0, 'a', 'z') && !is(1, '0', '9')) label[0] = static_cast<char>(label[0] - 'a' + 'A');
  return label;
}

std::optional<double> number_in(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 8> kUnits = {{{"ns", 1e-9},
                                                                          {"us", 1e-6},
                                                                          {"ms", 1e-3},
                                                                          {"min", 60},
                                                                          {"s", 1},
                                                                          {"h", 3600},
                                                                          {"d", 86400},
                                                                          {"", 1}}};
  for (const auto& [unit, scale] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view number = scenario::trimmed(text.substr(0, text.size() - unit.size()));
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error == std::errc() && end == number.data() + number.size() && std::isfinite(value)) {
      return value * scale;
    }
  }
  return std::nullopt;
}

// --- Axes ----------------------------------------------------------------------------------------

namespace {

using TextOfTick = std::function<std::string(double)>;

std::vector<double> round_ticks(double low, double high, std::size_t count,
                                std::span<const double> steps = {}) {
  const double span = high - low;
  if (!(span > 0)) return {low};
  const double rough = span / static_cast<double>(count);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * 0.999) step = factor * power;
  }
  for (const double own : steps) {
    if (own < rough) continue;
    step = own;
    break;
  }
  std::vector<double> found;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + span * 1e-9; ++i) {
    found.push_back(i * step + 0.0);
  }
  return found;
}

PictureJson axis_json(const AxisOf& what, std::string_view scale, double low, double high,
                      const std::vector<double>& ticks, const TextOfTick& text) {
  PictureJson axis = {{"label", what.label}, {"unit", what.unit}};
  if (what.is_share) axis["share"] = true;
  axis["scale"] = scale;
  axis["low"] = low;
  axis["high"] = high;
  axis["ticks"] = PictureJson::array();
  for (const double tick : ticks) axis["ticks"].push_back({tick, text(tick)});
  return axis;
}

TextOfTick text_of(const AxisOf& what) {
  if (what.is_share) return [](double x) { return picture_digits(100 * x) + " %"; };
  if (what.unit == "s") return [](double x) { return picture_seconds(x); };
  return [](double x) { return picture_digits(x); };
}

/// Ticks at powers of ten, with 2 and 5 times these if they are few; else at round numbers.
std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  constexpr double kWide = 1000;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high * 1.001;
       power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power;
      if (factor != 1 && high / low > kWide) continue;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  if (ticks.size() < 2) return round_ticks(low, high, 5);
  return ticks;
}

}  // namespace

PictureJson linear_axis(const AxisOf& what, double low, double high, std::size_t count) {
  if (!(high > low)) high = low + 1;
  return axis_json(what, "linear", low, high, round_ticks(low, high, count), text_of(what));
}

PictureJson log_axis(const AxisOf& what, double low, double high) {
  return axis_json(what, "log", low, high, log_ticks(low, high), text_of(what));
}

PictureJson upright_axis(const AxisOf& what, double top, double knee) {
  constexpr double kRoom = 1.06, kFarAbove = 12, kNearKnee = 1.8, kRoomOfShares = 1.03;
  constexpr std::size_t kTicksOfShares = 6;
  if (what.is_share) return linear_axis(what, 0, kRoomOfShares, kTicksOfShares);
  const double high = top > 0 ? top * kRoom : 1;
  if (!(knee > 0 && high > kFarAbove * knee)) return linear_axis(what, 0, high);
  std::vector<double> ticks = {0, knee};
  for (double power = std::pow(10, std::ceil(std::log10(knee * kNearKnee))); power <= high;
       power *= 10) {
    ticks.push_back(power);
  }
  PictureJson axis = axis_json(what, "stretched", 0, high, ticks, text_of(what));
  axis["knee"] = knee;
  return axis;
}

PictureJson time_axis(double low, double high) {
  constexpr std::array<double, 13> kSteps = {15,   30,   60,   120,   300,   600,  900,
                                             1800, 3600, 7200, 14400, 36000, 86400};
  constexpr std::size_t kTicks = 7;
  constexpr double kShort = 10;
  const bool is_long = (high - low) / kTicks > kShort;
  const std::vector<double> ticks =
      is_long ? round_ticks(low, high, kTicks, kSteps) : round_ticks(low, high, kTicks);
  return axis_json({"time, s", "s"}, "linear", low, high, ticks,
                   [](double t) { return picture_digits(t, 6); });
}

PictureJson names_axis(std::string label, const std::vector<std::string>& keys,
                       const std::vector<std::string>& texts) {
  PictureJson axis = {{"label", std::move(label)}, {"names", PictureJson::array()}};
  for (std::size_t i = 0; i < keys.size(); ++i) axis["names"].push_back({keys[i], texts[i]});
  return axis;
}

bool is_geometric(std::span<const double> v) {
  constexpr double kWide = 20, kGrowing = 3;
  return v.size() > 2 && v.front() > 0 && v.back() / v.front() > kWide &&
         v[v.size() - 1] - v[v.size() - 2] > kGrowing * (v[1] - v[0]);
}

PictureJson swept_axis(const AxisOf& what, const std::vector<double>& values) {
  constexpr std::size_t kMaxTicks = 12;
  constexpr double kBetween = 0.02, kCharacter = 0.02, kPadding = 0.04;  // as shares of the axis
  const TextOfTick text = [](double x) { return picture_digits(x, 5); };
  const bool log = is_geometric(values);
  const auto place = [&](double x) { return log ? std::log(x) : x; };
  const auto value = [&](double x) { return log ? std::exp(x) : x; };
  double low = place(values.front()), high = place(values.back());
  const double span = high - low, pad = (span > 0 ? span : 1) * kPadding;
  bool apart = values.size() > 1 && values.size() <= kMaxTicks;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto wide = static_cast<double>(scenario::columns_of(text(values[i - 1])) +
                                          scenario::columns_of(text(values[i]))) /
                      2;
    apart =
        apart && place(values[i]) - place(values[i - 1]) > (kBetween + kCharacter * wide) * span;
  }
  low = value(low - pad);
  high = value(high + pad);
  const bool whole =
      std::all_of(values.begin(), values.end(), [](double v) { return v == std::trunc(v); });
  std::vector<double> ticks = apart || values.size() == 1 ? values
                              : log                       ? log_ticks(low, high)
                                                          : round_ticks(low, high, 7);
  if (whole) std::erase_if(ticks, [](double t) { return t != std::trunc(t); });
  return axis_json(what, log ? "log" : "linear", low, high, ticks, text);
}

// --- Looks ---------------------------------------------------------------------------------------

PictureJson look_of(std::size_t i) {
  static const std::array kColours = {"blue", "red", "green", "purple", "orange", "sky"};
  static const std::array<PictureJson, 4> kDashes = {PictureJson::array(), PictureJson{6, 3},
                                                     PictureJson{2, 3}, PictureJson{9, 3, 2, 3}};
  return {{"colour", kColours[i % kColours.size()]},
          {"dash", kDashes[i / kColours.size() % kDashes.size()]}};
}

PictureJson series_json(std::string name, const PictureJson& look, PictureJson from) {
  PictureJson series = {{"name", std::move(name)}};
  series.update(look);
  if (!from.is_null()) series["from"] = std::move(from);
  return series;
}

PictureJson from_table(std::string_view file, PictureJson where, PictureJson x, PictureJson y,
                       std::string_view low, std::string_view high) {
  PictureJson from = {
      {"file", file}, {"where", std::move(where)}, {"x", std::move(x)}, {"y", std::move(y)}};
  if (!low.empty()) from["low"] = low;
  if (!high.empty()) from["high"] = high;
  return from;
}

PictureJson panel_json(std::string id, std::string title, PictureJson x, PictureJson y) {
  return {{"id", std::move(id)},
          {"title", std::move(title)},
          {"x", std::move(x)},
          {"y", std::move(y)},
          {"series", PictureJson::array()}};
}

PictureJson picture_json(const PictureJson& result, std::string name, std::string_view title,
                         std::vector<std::string> text) {
  const std::string scenario =
      result.value("title", result.value("scenario", std::string("result")));
  PictureJson picture = {{"name", std::move(name)}};
  picture["title"] = title.empty() ? scenario : fmt::format("{}: {}", scenario, title);
  const std::string description = result.value("description", std::string());
  if (!description.empty()) text.insert(text.begin(), description);
  picture["text"] = text;
  picture["alt"] = fmt::format("{}", fmt::join(text, " "));
  picture["panels"] = PictureJson::array();
  return picture;
}

// --- Names of what is varied ---------------------------------------------------------------------

namespace {

/// The parts of a text between separators outside of brackets and quotes.
std::vector<std::string> parts_at(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else {
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    }
    if (c == separator && depth <= 0 && quote == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

using Members = std::vector<std::pair<std::string, std::string>>;

/// The parts of a text before and behind its first equals sign; the first is empty if there is
/// none.
std::pair<std::string, std::string> split_edit(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals + 1 == text.size()) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The members of an inline table; empty for any other value.
std::optional<Members> table_members(std::string_view text) {
  text = scenario::trimmed(text);
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
  Members members;
  for (const std::string& part : parts_at(text.substr(1, text.size() - 2), ',')) {
    const auto [name, value] = split_edit(part);
    if (name.empty()) return std::nullopt;
    std::string_view bare = scenario::trimmed(value);
    if (bare.size() > 1 && bare.front() == bare.back() && (bare[0] == '"' || bare[0] == '\'')) {
      bare = bare.substr(1, bare.size() - 2);
    }
    members.emplace_back(scenario::trimmed(name), bare);
  }
  return members;
}

/// A table in words, "lognormal, cv 2": the kind of a distribution by its name alone.
std::string words_of(const Members& members) {
  std::vector<std::string> words;
  for (const auto& [name, value] : members) {
    words.push_back(name == "distribution" ? value : name + " " + value);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Makes labels different: equal ones get numbers.
void make_different(std::vector<std::string>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto here = labels.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(labels.begin(), here, labels[i]) == here) continue;
    const std::string number = fmt::format(" ({})", i + 1);
    labels[i] = clipped(labels[i], kMaxLabel - number.size()) + number;
  }
}

}  // namespace

std::string clipped(std::string text, std::size_t most) {
  if (scenario::columns_of(text) <= most) return text;
  std::string kept;
  std::string_view rest = text;
  for (std::size_t i = 0; i + 1 < most; ++i) {
    const std::string_view c = scenario::first_character(rest);
    kept += c;
    rest.remove_prefix(c.size());
  }
  kept.erase(kept.find_last_not_of(' ') + 1);
  return kept + "…";
}

std::vector<std::string> value_labels(const std::vector<std::string>& values) {
  std::vector<std::optional<Members>> tables;
  std::vector<const Members*> known;
  for (const std::string& value : values) tables.push_back(table_members(value));
  for (const auto& table : tables) {
    if (table) known.push_back(&*table);
  }
  const auto is_shared = [&](const std::pair<std::string, std::string>& member) {
    return known.size() > 1 && std::all_of(known.begin(), known.end(), [&](const Members* table) {
             return std::find(table->begin(), table->end(), member) != table->end();
           });
  };
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!tables[i]) {
      labels.push_back(clipped(values[i]));
      continue;
    }
    Members differs = *tables[i];
    std::erase_if(differs, is_shared);
    labels.push_back(clipped(words_of(differs.empty() ? *tables[i] : differs)));
  }
  make_different(labels);
  return labels;
}

VariantLabels variant_labels(const std::vector<std::string>& names) {
  std::vector<Members> edits;
  for (const std::string& name : names) {
    Members& own = edits.emplace_back();
    for (const std::string& part : parts_at(name, ' ')) own.push_back(split_edit(part));
  }
  const auto keys_of = [](const Members& own) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : own) keys.push_back(key);
    return keys;
  };
  if (names.empty()) return {};
  const std::vector<std::string> keys = keys_of(edits.front());
  const bool alike = std::all_of(edits.begin(), edits.end(),
                                 [&](const Members& own) { return keys_of(own) == keys; });
  if (!alike || std::find(keys.begin(), keys.end(), "") != keys.end()) {
    return {value_labels(names), {}};
  }
  std::vector<std::string> labels(names.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    std::vector<std::string> values;  // values, each once: equal ones keep one label
    for (const Members& own : edits) {
      if (std::find(values.begin(), values.end(), own[k].second) == values.end()) {
        values.push_back(own[k].second);
      }
    }
    const std::vector<std::string> of_values = value_labels(values);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = std::find(values.begin(), values.end(), edits[i][k].second) - values.begin();
      labels[i] += (k > 0 ? " " : "") + of_values[static_cast<std::size_t>(at)];
    }
  }
  for (std::string& label : labels) label = clipped(label);
  make_different(labels);
  return {labels, keys};
}

}  // namespace retrysim::report

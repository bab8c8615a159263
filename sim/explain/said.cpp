// SPDX-License-Identifier: MIT
#include "explain/said.hpp"

#include <fmt/format.h>

#include <cmath>

namespace retrysim::explain {

namespace {

FigureSource formula(std::string_view of, FigureSource a, FigureSource b) {
  FigureSource source;
  source.kind = FigureSource::Kind::kFormula;
  source.formula = of;
  source.parts = {std::move(a), std::move(b)};
  return source;
}

std::string count_text(double number, int digits) {
  if (number <= 0) return "0";
  const double unit = std::pow(10, std::floor(std::log10(number)) + 1 - digits);
  return unit >= 1 ? fmt::format("{:.0f}", std::round(number / unit) * unit)
                   : fmt::format("{:.{}g}", number, digits);
}

std::string time_text(double seconds, int digits) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return count_text(seconds * 1e6, digits) + " µs";
  if (seconds < 0.0995) return fmt::format("{:.{}g} ms", seconds * 1e3, digits);
  if (seconds < 99.5) return fmt::format("{:.{}g} s", seconds, digits);
  if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
  const double minutes = seconds / 60;
  if (minutes < 9.95) return fmt::format("{:.2g} minutes", minutes);
  if (minutes < 119.5) return fmt::format("{:.0f} minutes", minutes);
  return count_text(minutes / 60, 3) + " hours";
}

std::string share_text(double share) {
  const double percent = 100 * share;
  if (percent <= 0) return "0 %";
  if (percent < 0.01) return "less than 0.01 %";
  if (percent >= 100) return "100 %";
  if (percent > 99.99) return "more than 99.99 %";
  if (percent > 99) return fmt::format("{:.4g} %", percent);
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string times_text(double ratio) {
  if (ratio >= 0.95 && ratio < 1.05) {
    const std::string text = fmt::format("{:.2f} times", ratio);
    return text == "1.00 times" ? "1.0 times" : text;
  }
  return ratio < 9.95 ? fmt::format("{:.2g} times", ratio) : fmt::format("{:.0f} times", ratio);
}

}  // namespace

FigureSource operator+(FigureSource a, FigureSource b) {
  return formula("+", std::move(a), std::move(b));
}
FigureSource operator-(FigureSource a, FigureSource b) {
  return formula("-", std::move(a), std::move(b));
}
FigureSource operator*(FigureSource a, FigureSource b) {
  return formula("*", std::move(a), std::move(b));
}
FigureSource operator/(FigureSource a, FigureSource b) {
  return formula("/", std::move(a), std::move(b));
}
FigureSource power(FigureSource a, FigureSource b) {
  return formula("^", std::move(a), std::move(b));
}
FigureSource whole_part(FigureSource a, FigureSource b) {
  return formula("//", std::move(a), std::move(b));
}
FigureSource operator<=(FigureSource a, FigureSource b) {
  return formula("<=", std::move(a), std::move(b));
}
FigureSource operator>=(FigureSource a, FigureSource b) {
  return formula(">=", std::move(a), std::move(b));
}
FigureSource operator==(FigureSource a, FigureSource b) {
  return formula("==", std::move(a), std::move(b));
}

FigureSource number(double value) {
  FigureSource source;
  source.kind = FigureSource::Kind::kNumber;
  source.number = value;
  return source;
}

FigureSource key(std::string path) {
  FigureSource source;
  source.kind = FigureSource::Kind::kKey;
  source.text = std::move(path);
  return source;
}

FigureSource stated(std::string path, std::string text) {
  FigureSource value = number(0);
  value.text = std::move(text);
  return key(std::move(path)) == std::move(value);
}

FigureSource not_in_files(std::string_view why) {
  FigureSource source;
  source.text = why;
  return source;
}

Figure time(double seconds, FigureSource source) {
  return Figure({time_text(seconds, 3), seconds, std::move(source)});
}
Figure roughly(double seconds, FigureSource source) {
  return Figure({time_text(seconds, 2), seconds, std::move(source)});
}
Figure share(double value, FigureSource source) {
  return Figure({share_text(value), value, std::move(source)});
}
Figure count(double number, FigureSource source, int digits) {
  return Figure({count_text(number, digits), number, std::move(source)});
}
Figure whole(double number, FigureSource source) {
  return Figure({fmt::format("{:.0f}", number), number, std::move(source)});
}
Figure times(double ratio, FigureSource source) {
  return Figure({times_text(ratio), ratio, std::move(source)});
}
Figure claim(std::string_view words, FigureSource condition) {
  return Figure({std::string(words), 1, std::move(condition)});
}

Sentence& Sentence::operator+=(const Sentence& o) {
  text_ += o.text_;
  figures_.insert(figures_.end(), o.figures_.begin(), o.figures_.end());
  return *this;
}

Sentence put_together(std::string_view frame, const Sentence* parts, std::size_t count) {
  Sentence all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = frame.find("{}");
    all += Name{std::string(frame.substr(0, at))};
    all += parts[i];
    frame.remove_prefix(at + 2);
  }
  return all += Name{std::string(frame)};
}

Sentence joined(const std::vector<Sentence>& parts, std::string_view between,
                std::string_view last) {
  Sentence all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) all += Name{std::string(i + 1 == parts.size() ? last : between)};
    all += parts[i];
  }
  return all;
}

Sentence attempts(double number, FigureSource source, int digits) {
  const Sentence said = count(number, std::move(source), digits);
  return said + (number == 1 ? Words(" attempt") : Words(" attempts"));
}

}  // namespace retrysim::explain

// SPDX-License-Identifier: MIT
#include "explain/said.hpp"

#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <utility>

namespace retrysim::explain {

namespace {

FigureSource formula(std::string_view of, FigureSource a, FigureSource b) {
  FigureSource source;
  source.kind = FigureSource::Kind::kFormula;
  source.formula = of;
  source.parts = {std::move(a), std::move(b)};
  return source;
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
  return Figure({scenario::said_time(seconds, 3), seconds, std::move(source)});
}
Figure roughly(double seconds, FigureSource source) {
  return Figure({scenario::said_time(seconds, 2), seconds, std::move(source)});
}
Figure share(double value, FigureSource source) {
  return Figure({scenario::said_share(value), value, std::move(source)});
}
Figure count(double number, FigureSource source, int digits) {
  return Figure({scenario::said_count(number, digits), number, std::move(source)});
}
Figure whole(double number, FigureSource source) {
  return Figure({scenario::said_whole(number), number, std::move(source)});
}
Figure times(double ratio, FigureSource source) {
  return Figure({scenario::said_times(ratio), ratio, std::move(source)});
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

Sentence counted(const Figure& number, Words one, Words many) {
  return say("{} {}", number, number.said().text == "1" ? one : many);
}

Sentence attempts(double number, FigureSource source, int digits) {
  return counted(count(number, std::move(source), digits), "attempt", "attempts");
}

}  // namespace retrysim::explain

// SPDX-License-Identifier: MIT
#include "report/prediction_text.hpp"

#include "report/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {
namespace {

// With less beside the values, meanings stand below them.
constexpr std::size_t kNarrowestMeaning = 24;

std::string value_of(const Figure& f) {
  if (!f.text.empty()) return f.text;
  const std::string number = fmt::format("{:.5g}", f.value);
  return f.unit.empty() || f.unit == "1" ? number : number + " " + f.unit;
}

/// The figures of one part and subject, with what they leave out.
class FigureBlock {
 public:
  FigureBlock(std::vector<const Figure*> figures, std::size_t columns)
      : figures_(std::move(figures)), columns_(columns) {
    for (const Figure* f : figures_) {
      names_ = std::max(names_, columns_of(f->name));
      values_ = std::max(values_, columns_of(value_of(*f)));
    }
  }

  std::string text() const {
    std::string text, ignores;
    // Facts leave out different things; elsewhere one line says it for several figures.
    const bool each = figures_.front()->part == "facts";
    const auto close = [&] {
      if (!ignores.empty()) text += wrapped("leaves out: " + ignores, {columns_, "    ", "      "});
    };
    for (const Figure* f : figures_) {
      if (!each && f->ignores != ignores) {
        close();
        ignores = f->ignores;
      }
      text += line(*f, each && !f->ignores.empty() ? "; leaves out " + f->ignores : "");
    }
    close();
    return text;
  }

 private:
  std::string line(const Figure& f, const std::string& more) const {
    const std::string front =
        fmt::format("    {}  {}  ", pad_right(f.name, names_), pad_right(value_of(f), values_));
    const std::size_t used = columns_of(front);
    if (used + kNarrowestMeaning <= columns_) {
      return wrapped(f.meaning + more, {columns_, front, std::string(used, ' ')});
    }
    return fmt::format("    {}  {}\n", f.name, value_of(f)) +
           wrapped(f.meaning + more, {columns_, "      ", "      "});
  }

  std::vector<const Figure*> figures_;
  std::size_t columns_, names_ = 0, values_ = 0;
};

std::string figures_text(const Prediction& prediction, std::size_t columns) {
  const auto& figures = prediction.figures;
  std::string text;
  for (std::size_t i = 0; i < figures.size();) {
    const Figure& first = figures[i];
    const bool is_new_part = i == 0 || figures[i - 1].part != first.part;
    if (is_new_part) text += fmt::format("{}{}\n", i == 0 ? "" : "\n", first.part);
    std::vector<const Figure*> block;
    for (;
         i < figures.size() && figures[i].part == first.part && figures[i].subject == first.subject;
         ++i) {
      block.push_back(&figures[i]);
    }
    text += fmt::format("  {}\n", first.subject) + FigureBlock(std::move(block), columns).text();
  }
  return text;
}

std::string remarks_text(std::string_view title, const std::vector<Remark>& remarks,
                         std::size_t columns) {
  std::string text = remarks.empty() ? "" : fmt::format("\n{}\n", title);
  for (const Remark& r : remarks) {
    text +=
        wrapped(fmt::format("{} of {}: {}", r.part, r.subject, r.text), {columns, "  ", "    "});
  }
  return text;
}

}  // namespace

std::string prediction_text(const Prediction& prediction, std::size_t columns) {
  std::string text = figures_text(prediction, columns) +
                     remarks_text("does not apply", prediction.refusals, columns) +
                     remarks_text("outside the range where it is good", prediction.doubts, columns);
  if (!prediction.warnings.empty()) text += "\nwarnings\n";
  for (const Warning& w : prediction.warnings) {
    text += wrapped(fmt::format("{}: {} {} ({})", w.subject, w.message, w.remedy, w.keys),
                    {columns, "  ", "    "});
  }
  return text;
}

}  // namespace retrysim::report

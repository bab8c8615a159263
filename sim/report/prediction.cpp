// SPDX-License-Identifier: MIT
#include "report/prediction.hpp"

#include "report/document/csv_writer.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/files.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

/// What the machine's mathematical functions may round differently is not printed.
std::string in_ten_digits(double value) { return fmt::format("{:.10g}", value); }

double rounded(double value) { return std::stod(in_ten_digits(value)); }

Json remarks_json(const std::vector<Remark>& remarks) {
  Json json = Json::array();
  for (const Remark& r : remarks) {
    json.push_back({{"part", r.part}, {"subject", r.subject}, {"reason", r.text}});
  }
  return json;
}

Json parts_json(const Prediction& prediction) {
  Json figures = Json::array(), warnings = Json::array();
  for (const Figure& f : prediction.figures) {
    const Json value = f.text.empty() ? Json(rounded(f.value)) : Json(f.text);
    figures.push_back({{"part", f.part},
                       {"subject", f.subject},
                       {"name", f.name},
                       {"value", value},
                       {"unit", f.unit},
                       {"meaning", f.meaning},
                       {"leaves_out", f.ignores}});
  }
  for (const Warning& w : prediction.warnings) {
    warnings.push_back(
        {{"subject", w.subject}, {"keys", w.keys}, {"message", w.message}, {"remedy", w.remedy}});
  }
  return {{"figures", figures},
          {"does_not_apply", remarks_json(prediction.refusals)},
          {"doubts", remarks_json(prediction.doubts)},
          {"warnings", warnings}};
}

}  // namespace

void write_prediction_csv(Sink& sink, const Prediction& prediction) {
  CsvWriter csv(sink);
  csv.header({"part", "subject", "name", "value", "unit", "meaning", "leaves_out"});
  const auto row = [&](std::initializer_list<std::string_view> cells) {
    for (const std::string_view cell : cells) csv.text(cell);
    csv.end_row();
  };
  for (const Figure& f : prediction.figures) {
    const std::string value = f.text.empty() ? in_ten_digits(f.value) : f.text;
    row({f.part, f.subject, f.name, value, f.unit, f.meaning, f.ignores});
  }
  for (const Remark& r : prediction.refusals) {
    row({r.part, r.subject, "does_not_apply", "", "", r.text, ""});
  }
  for (const Remark& r : prediction.doubts) row({r.part, r.subject, "doubt", "", "", r.text, ""});
  for (const Warning& w : prediction.warnings) {
    const std::string text = fmt::format("{} {} ({})", w.message, w.remedy, w.keys);
    row({"facts", w.subject, "warning", "", "", text, ""});
  }
}

std::string prediction_json(const Scenario& scenario, const Prediction& prediction) {
  Json all = {{"scenario", scenario.name}};
  all.update(parts_json(prediction));
  return all.dump(2) + "\n";
}

void write_trajectories_csv(Sink& sink, const PredictionReport& r) {
  CsvWriter csv(sink);
  csv.header({"service", "trigger", "trigger_s", "outcome", "separatrix", "time_s", "backlog_s",
              "retrying", "goodput"});
  for (const auto& [service, plane] : r.planes) {
    for (const PhaseTrajectory& t : plane.trajectories) {
      for (const FluidSample& s : t.samples) {
        csv.text(service).text(plane.trigger).real(rounded(t.trigger));
        csv.text(t.stays_down ? "down" : "up").text(t.separatrix ? "true" : "false");
        csv.real(rounded(s.time)).real(rounded(s.backlog)).real(rounded(s.retrying));
        csv.real(rounded(s.goodput));
        csv.end_row();
      }
    }
  }
}

void write_equilibria_csv(Sink& sink, const PredictionReport& r) {
  CsvWriter csv(sink);
  csv.header({"service", "name", "stable", "backlog_s", "retrying"});
  for (const auto& [service, plane] : r.planes) {
    for (const PhaseEquilibrium& e : plane.equilibria) {
      csv.text(service).text(e.name).text(e.stable ? "true" : "false");
      if (e.backlog) {
        csv.real(rounded(*e.backlog));
      } else {
        csv.empty();
      }
      csv.real(rounded(e.retrying));
      csv.end_row();
    }
  }
}

void write_prediction_files(ResultFolder& folder, const PredictionReport& r) {
  folder.write("prediction.csv", [&](Sink& sink) { write_prediction_csv(sink, r.prediction); });
  if (!r.planes.empty()) {
    folder.write("trajectories.csv", [&](Sink& sink) { write_trajectories_csv(sink, r); });
    folder.write("equilibria.csv", [&](Sink& sink) { write_equilibria_csv(sink, r); });
  }
  write_scenario_files(folder, r.scenario);
  Json json = result_head("predict", r.scenario.scenario, 0);
  json["prediction"] = parts_json(r.prediction);
  json["planes"] = Json::array();
  for (const auto& [service, plane] : r.planes) {
    json["planes"].push_back({{"service", service},
                              {"trigger", plane.trigger},
                              {"tipping_s", plane.tipping ? Json(rounded(*plane.tipping)) : Json()},
                              {"attempt_timeout_s", plane.timeout}});
  }
  add_scenario(json, r.scenario);
  folder.write("result.json", [&](Sink& sink) { sink.write(sealed(json, folder.files())); });
  folder.commit();
}

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

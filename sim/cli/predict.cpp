// `retrysim predict`: facts, fluid and Markov chain of a scenario, without simulating it.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>
#include <retrysim/scenario_file.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "cli/simulation_options.hpp"
#include "report/csv_writer.hpp"
#include "report/sink.hpp"
#include "report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kPredictUsage =
    "Usage: retrysim predict SCENARIO [options]\n"
    "\n"
    "Says what can be said without a simulation, in milliseconds: facts in closed form with\n"
    "warnings; the fluid (where it settles, what tips it, how long it takes to recover); the "
    "Markov\n"
    "chain (how long until it collapses by chance). For each figure it says what of the scenario\n"
    "is left out, and for each part that does not apply, why. Exit status: 0 done, 3 the scenario\n"
    "is not valid.\n"
    "\n"
    "Example: retrysim predict scenarios/fifo-zombie.toml\n";

po::options_description describe_predict_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
       "change any key before the prediction; TOML syntax, bare words allowed")  //
      ("format", po::value<std::string>()->default_value("table")->value_name("table|csv|json"),
       "how to print: table, csv or json")  //
      ("orbit", po::value<std::string>()->value_name("N"),
       "most requests on their way back in the Markov chain. Default: as many as matter")  //
      ("timeout", po::value<std::string>()->value_name("D"),
       "give up after this time by the clock, such as 10s (exit status 5)");
  return options;
}

std::string value_of(const Figure& f) {
  if (!f.text.empty()) return f.text;
  const std::string number = fmt::format("{:.5g}", f.value);
  return f.unit.empty() || f.unit == "1" ? number : number + " " + f.unit;
}

std::string figures_text(const Prediction& prediction) {
  std::string text, part, subject, ignores;
  const auto close = [&] {
    if (!ignores.empty()) text += fmt::format("    leaves out: {}\n", ignores);
    ignores.clear();
  };
  for (const Figure& f : prediction.figures) {
    if (f.part != part || f.subject != subject || (f.part != "facts" && f.ignores != ignores)) {
      close();
    }
    if (f.part != part) text += fmt::format("{}{}\n", text.empty() ? "" : "\n", f.part);
    if (f.part != part || f.subject != subject) text += fmt::format("  {}\n", f.subject);
    part = f.part;
    subject = f.subject;
    if (part != "facts") ignores = f.ignores;
    text += fmt::format("    {:<36} {:<16} {}{}\n", f.name, value_of(f), f.meaning,
                        part == "facts" && !f.ignores.empty() ? "; leaves out " + f.ignores : "");
  }
  close();
  return text;
}

std::string table_text(const Prediction& prediction) {
  std::string text = figures_text(prediction);
  if (!prediction.refusals.empty()) text += "\ndoes not apply\n";
  for (const Remark& r : prediction.refusals) {
    text += fmt::format("  {} of {}: {}\n", r.part, r.subject, r.text);
  }
  if (!prediction.doubts.empty()) text += "\noutside the range where it is good\n";
  for (const Remark& r : prediction.doubts) {
    text += fmt::format("  {} of {}: {}\n", r.part, r.subject, r.text);
  }
  if (!prediction.warnings.empty()) text += "\nwarnings\n";
  for (const Warning& w : prediction.warnings) {
    text += fmt::format("  {}: {} {} ({})\n", w.subject, w.message, w.remedy, w.keys);
  }
  return text;
}

/// What the machine's mathematical functions may round differently is not printed.
std::string ten_digits(double value) { return fmt::format("{:.10g}", value); }

void write_csv(const Prediction& prediction, report::Sink& sink) {
  report::CsvWriter csv(sink);
  csv.header({"part", "subject", "name", "value", "unit", "meaning", "leaves_out"});
  const auto row = [&](std::initializer_list<std::string_view> cells) {
    for (const std::string_view cell : cells) csv.text(cell);
    csv.end_row();
  };
  for (const Figure& f : prediction.figures) {
    const std::string value = f.text.empty() ? ten_digits(f.value) : f.text;
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

std::string json_text(const Scenario& scenario, const Prediction& prediction) {
  using Json = nlohmann::ordered_json;
  Json figures = Json::array(), refusals = Json::array(), doubts = Json::array(),
       warnings = Json::array();
  for (const Figure& f : prediction.figures) {
    const Json value = f.text.empty() ? Json(std::stod(ten_digits(f.value))) : Json(f.text);
    figures.push_back({{"part", f.part},
                       {"subject", f.subject},
                       {"name", f.name},
                       {"value", value},
                       {"unit", f.unit},
                       {"meaning", f.meaning},
                       {"leaves_out", f.ignores}});
  }
  for (const Remark& r : prediction.refusals) {
    refusals.push_back({{"part", r.part}, {"subject", r.subject}, {"reason", r.text}});
  }
  for (const Remark& r : prediction.doubts) {
    doubts.push_back({{"part", r.part}, {"subject", r.subject}, {"reason", r.text}});
  }
  for (const Warning& w : prediction.warnings) {
    warnings.push_back(
        {{"subject", w.subject}, {"keys", w.keys}, {"message", w.message}, {"remedy", w.remedy}});
  }
  const Json all = {{"scenario", scenario.name},
                    {"figures", figures},
                    {"does_not_apply", refusals},
                    {"doubts", doubts},
                    {"warnings", warnings}};
  return all.dump(2) + "\n";
}

}  // namespace

int predict(const Arguments& arguments) {
  const auto values =
      read_command(arguments, describe_predict_options(), "scenario", kPredictUsage);
  if (!values) return kDone;
  const auto paths = texts(*values, "scenario");
  if (paths.size() != 1) {
    throw UsageError(paths.empty() ? "no scenario given; expected retrysim predict SCENARIO"
                                   : "one scenario at a time; the second is " + paths[1]);
  }
  const auto& format = (*values)["format"].as<std::string>();
  if (format != "table" && format != "csv" && format != "json") {
    throw UsageError("--format: \"" + format + "\" is none of table, csv, json");
  }
  PredictionOptions options;
  if (const auto orbit = text_of(*values, "orbit")) {
    constexpr std::uint64_t kMost = 10'000;
    options.orbit = static_cast<int>(std::min(kMost, whole_number("orbit", *orbit, 1)));
  }
  return interruptible(read_timeout(*values), [&]() -> int {
    const LoadResult loaded = load_scenario_file(paths[0], texts(*values, "set"));
    print_errors(loaded.errors);
    if (!loaded.loaded) return kBadInput;
    print_notes(*loaded.loaded);
    const Scenario& scenario = loaded.loaded->scenario;
    const Prediction prediction = retrysim::predict(scenario, options);
    report::StandardOutput out(format);
    if (format == "csv") {
      write_csv(prediction, out);
    } else {
      out.write(format == "table" ? table_text(prediction) : json_text(scenario, prediction));
    }
    out.flush();
    return kDone;
  });
}

}  // namespace retrysim::cli

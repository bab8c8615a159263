// `retrysim map`: where in a plane of two keys a scenario is safe, vulnerable or dead, by the
// balance of the fluid. Nothing is simulated.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/variation.hpp>

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
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kMapUsage =
    "Usage: retrysim map SCENARIO --vary X=... --vary Y=... [options]\n"
    "\n"
    "Says for each combination of two keys, by the fluid and without a simulation, whether a "
    "service\n"
    "is safe (recovers from everything), vulnerable (a dead state sustains itself, too) or dead\n"
    "(overloaded without any trigger). Faults, surges and profiles are left out. Exit status: 0\n"
    "done, 2 the fluid does not apply, 3 a scenario is not valid.\n"
    "\n"
    "Example: retrysim map scenarios/fifo-zombie.toml\n"
    "             --vary client.web.arrivals.total_rate=50:550:50\n"
    "             --vary client.web.retry.max_attempts=1:6:1\n";

po::options_description describe_map_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("vary", po::value<std::vector<std::string>>()->composing()->value_name("PATH=..."),
       "given twice: the key across the plane, then the key up it, each PATH=V1,V2,... or "
       "PATH=LO:HI:STEP, as for sweep")  //
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
       "change any key before")  //
      ("service", po::value<std::string>()->value_name("NAME"),
       "which service; needed where there are several")  //
      ("format", po::value<std::string>()->default_value("table")->value_name("table|csv|json"),
       "how to print: table (a picture) or csv")  //
      ("timeout", po::value<std::string>()->value_name("D"),
       "give up after this time by the clock, such as 10s (exit status 5)");
  return options;
}

std::string_view phase_word(FluidPhase phase) {
  return phase == FluidPhase::kSafe ? "safe" : phase == FluidPhase::kDead ? "dead" : "vulnerable";
}

char phase_mark(FluidPhase phase) {
  return phase == FluidPhase::kSafe ? '.' : phase == FluidPhase::kDead ? '#' : 'o';
}

/// What is known of one point.
struct MapPoint {
  std::vector<std::string> values;  // of x, then of y
  FluidEquilibria balance;
};

struct Plane {
  std::vector<std::string> names;  // of the keys, short
  std::vector<MapPoint> points;    // y changes fastest
  std::size_t columns = 0, rows = 0;
};

std::size_t service_of(const Scenario& scenario, const std::optional<std::string>& name) {
  std::string known;
  for (std::size_t i = 0; i < scenario.services.size(); ++i) {
    if (!name && scenario.services.size() == 1) return i;
    if (name && scenario.services[i].name == *name) return i;
    known += (i > 0 ? ", " : "") + scenario.services[i].name;
  }
  throw UsageError(name ? fmt::format("there is no service '{}'; services are {}", *name, known)
                        : fmt::format("--service is missing; services are {}", known));
}

/// Nothing if a scenario is not valid, which has then been said.
std::optional<Plane> plane_of(const std::string& path, const std::vector<std::string>& edits,
                              const std::vector<Variation>& variations,
                              const std::optional<std::string>& service) {
  Plane plane;
  plane.columns = variations[0].choices.size();
  plane.rows = variations[1].choices.size();
  std::vector<std::string> paths;
  for (const Variation& v : variations) paths.insert(paths.end(), v.paths.begin(), v.paths.end());
  plane.names = short_names(paths);
  for (const Variant& variant : grid(variations)) {
    const LoadResult loaded = load_scenario_file(path, edits, variant.edits);
    if (!loaded.loaded) {
      print_errors(loaded.errors);
      return std::nullopt;
    }
    const Scenario& scenario = loaded.loaded->scenario;
    try {
      plane.points.push_back(
          {variant.values, fluid_equilibria(scenario, service_of(scenario, service))});
    } catch (const std::domain_error& why) {
      throw UsageError(fmt::format("the fluid does not apply: {}", why.what()));
    }
  }
  return plane;
}

std::string picture_of(const Plane& plane) {
  const auto at = [&](std::size_t x, std::size_t y) -> const MapPoint& {
    return plane.points[x * plane.rows + y];
  };
  std::size_t width = plane.names[1].size();
  for (std::size_t y = 0; y < plane.rows; ++y) width = std::max(width, at(0, y).values[1].size());
  std::string text = fmt::format("{:>{}}\n", plane.names[1], width);
  for (std::size_t y = plane.rows; y-- > 0;) {
    text += fmt::format("{:>{}}  ", at(0, y).values[1], width);
    for (std::size_t x = 0; x < plane.columns; ++x) text += phase_mark(at(x, y).balance.phase);
    text += "\n";
  }
  text += fmt::format("{:>{}}  {}: {} to {}\n", "", width, plane.names[0], at(0, 0).values[0],
                      at(plane.columns - 1, 0).values[0]);
  return text + "\n. safe   o vulnerable   # dead\n";
}

void write_plane(const Plane& plane, report::Sink& sink) {
  report::CsvWriter csv(sink);
  csv.text(plane.names[0]).text(plane.names[1]);
  for (const char* name : {"phase", "load", "vulnerable_load", "tipping_load", "quota_saves"}) {
    csv.text(name);
  }
  csv.end_row();
  for (const MapPoint& p : plane.points) {
    const FluidEquilibria& b = p.balance;
    csv.text(p.values[0]).text(p.values[1]).text(phase_word(b.phase));
    for (const double value : {b.load, b.vulnerable_load, b.tipping_load}) {
      csv.text(fmt::format("{:.10g}", value));
    }
    csv.text(b.quota_saves ? "yes" : "no");
    csv.end_row();
  }
}

}  // namespace

int map(const Arguments& arguments) {
  const auto values = read_command(arguments, describe_map_options(), "scenario", kMapUsage);
  if (!values) return kDone;
  const auto paths = texts(*values, "scenario");
  if (paths.size() != 1)
    throw UsageError("expected retrysim map SCENARIO --vary X=... --vary Y=...");
  const auto& format = (*values)["format"].as<std::string>();
  if (format != "table" && format != "csv") {
    throw UsageError("--format: \"" + format + "\" is none of table, csv");
  }
  const std::vector<std::string> vary = texts(*values, "vary");
  const VariationsResult read = parse_variations(vary);
  print_errors(read.errors);
  if (!read.errors.empty()) return kBadInput;
  if (read.variations.size() != 2 || read.variations[0].paths.size() != 1 ||
      read.variations[1].paths.size() != 1) {
    throw UsageError("a plane has two keys: --vary PATH=... is needed twice, each with one key");
  }
  return interruptible(read_timeout(*values), [&]() -> int {
    const auto plane =
        plane_of(paths[0], texts(*values, "set"), read.variations, text_of(*values, "service"));
    if (!plane) return kBadInput;
    report::StandardOutput out(format);
    if (format == "csv") {
      write_plane(*plane, out);
    } else {
      out.write(picture_of(*plane));
    }
    out.flush();
    return kDone;
  });
}

}  // namespace retrysim::cli
